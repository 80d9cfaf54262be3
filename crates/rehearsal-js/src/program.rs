//! What an engine is given and what it says, whether there is one or not.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// What an evaluation may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Limits {
    pub(super) deadline: Duration,
    pub(super) memory: usize,
    pub(super) stack: usize,
    pub(super) output: usize,
}

/// What the value of an expression is made into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Wanted {
    Truth,
    Value,
}

/// A source made ready to run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Program {
    /// A function of the arguments, the input, the context and the template functions; the author's text begins on
    /// its second line.
    pub(super) code: String,
    /// The author's text, where a function that is the value is called.
    pub(super) function_from: Option<String>,
    pub(super) wanted: Wanted,
}

/// Why an evaluation gave no value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Failure {
    Thrown { message: String, stack: String },
    TookTooLong,
    OutOfMemory,
    NotJson(String),
    TooLarge(usize),
}
