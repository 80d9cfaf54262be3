//! What went wrong with a chore, and the way out.

use std::fmt;

/// A cause and, where one is known, the exact fix.
#[derive(Debug)]
pub(crate) struct Failure {
    cause: String,
    hint: Option<String>,
}

impl Failure {
    pub(crate) fn new(cause: impl Into<String>) -> Self {
        Self { cause: cause.into(), hint: None }
    }

    /// The same, said of something.
    pub(crate) fn of(self, what: &str) -> Self {
        Self { cause: format!("{what}: {}", self.cause), ..self }
    }

    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", self.cause)?;
        match &self.hint {
            Some(hint) => write!(f, "\n\nhint: {hint}"),
            None => Ok(()),
        }
    }
}
