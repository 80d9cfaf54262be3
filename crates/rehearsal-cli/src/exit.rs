//! What the exit codes mean.

use std::process::ExitCode;

/// Everything passed.
pub(crate) const PASSED: ExitCode = ExitCode::SUCCESS;

/// The input or the set-up is wrong.
pub(crate) fn bad_input() -> ExitCode {
    ExitCode::from(2)
}
