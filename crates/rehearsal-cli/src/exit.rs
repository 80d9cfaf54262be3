//! What the exit codes mean.

use std::process::ExitCode;

/// Everything passed.
pub(crate) const PASSED: ExitCode = ExitCode::SUCCESS;

/// Something failed, errored, was terminated or was judged by nothing.
pub(crate) fn not_passed() -> ExitCode {
    ExitCode::from(1)
}

/// The input or the set-up is wrong.
pub(crate) fn bad_input() -> ExitCode {
    ExitCode::from(2)
}

/// Somebody pressed Ctrl-C.
pub(crate) fn interrupted() -> ExitCode {
    ExitCode::from(130)
}
