//! The commands, a file each.

pub(crate) mod check;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod export;
pub(crate) mod gc;
pub(crate) mod import;
pub(crate) mod init;
pub(crate) mod man;
pub(crate) mod personas;
pub(crate) mod plan;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod runs;
pub(crate) mod schema;
pub(crate) mod score;
pub(crate) mod serve;
pub(crate) mod sessions;
