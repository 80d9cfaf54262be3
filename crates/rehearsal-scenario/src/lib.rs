//! YAML in, case out: scenario files, their schema and their diagnostics.

mod problem;
pub mod yaml;

pub use problem::{Problem, Severity, Style};
