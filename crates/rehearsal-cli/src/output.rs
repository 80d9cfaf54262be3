//! Writing to standard output and standard error.
//!
//! A reader that went away (`rehearse … | head`) changes nothing but what is written: the exit code still says what
//! was found. No other failure of these writes has a place left to be told either.

use std::io::{self, Write};

/// Writes to standard output.
pub(crate) fn data(text: &str) {
    drop(writeln!(io::stdout().lock(), "{text}"));
}

/// Writes to standard error.
pub(crate) fn message(text: &str) {
    drop(writeln!(io::stderr().lock(), "{text}"));
}
