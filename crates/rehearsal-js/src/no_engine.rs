//! What stands where the engine would be in a build without it: it refuses every source.

use super::program::{Failure, Limits, Program};
use super::{Scope, SyntaxError};

const ABSENT: &str = "JavaScript is not built in: switch on the feature `javascript`";

/// Reads sources without running them; there is none.
pub(super) enum Parser {}

impl Parser {
    pub(super) fn new() -> Result<Self, SyntaxError> {
        Err(absent())
    }

    pub(super) fn expression(&self, _text: &str) -> Result<(), SyntaxError> {
        match *self {}
    }

    pub(super) fn body(&self, _text: &str) -> Result<(), SyntaxError> {
        match *self {}
    }
}

/// Why no source can be read.
pub(super) fn absent() -> SyntaxError {
    SyntaxError { message: ABSENT.to_owned(), line: 1, column: 1 }
}

pub(super) fn run(_: &Program, _: &str, _: &Scope, _: &Limits) -> Result<String, Failure> {
    Err(Failure::Thrown { message: ABSENT.to_owned(), stack: String::new() })
}

#[cfg(test)]
mod tests {
    use crate::{Expression, Pattern, check_expression};

    #[test]
    fn every_source_is_refused_by_name() {
        let refused = [
            check_expression("1 + 1").unwrap_err(),
            Expression::matcher("args[0]").unwrap_err(),
            Pattern::new("a", "").unwrap_err(),
        ];
        assert!(
            refused.iter().all(|error| error.message.contains("the feature `javascript`")),
            "{refused:?}"
        );
    }
}
