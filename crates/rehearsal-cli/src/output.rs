//! Writing to standard output and standard error.

use std::io::{self, ErrorKind, Write};

/// Writes to standard output. A reader that went away (`rehearse … | head`) ends the program quietly.
pub(crate) fn data(text: &str) {
    finish(writeln!(io::stdout().lock(), "{text}"));
}

/// Writes to standard error.
pub(crate) fn message(text: &str) {
    finish(writeln!(io::stderr().lock(), "{text}"));
}

fn finish(written: io::Result<()>) {
    if let Err(error) = written
        && error.kind() == ErrorKind::BrokenPipe
    {
        #[expect(clippy::exit, reason = "nobody reads what is written")]
        std::process::exit(0);
    }
    // Any other failure has nowhere left to be told.
}
