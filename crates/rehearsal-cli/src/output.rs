//! Writing to standard output and standard error.
//!
//! A reader that went away (`rehearse … | head`) changes nothing but what is written: the exit code still says what
//! was found. No other failure of these writes has a place left to be told either.

use std::borrow::Cow;
use std::io::{self, Write};

/// Writes to standard output.
pub(crate) fn data(text: &str) {
    drop(writeln!(io::stdout().lock(), "{text}"));
}

/// Writes to standard error.
pub(crate) fn message(text: &str) {
    drop(writeln!(io::stderr().lock(), "{text}"));
}

/// A text without what would move the cursor, change colours or ring: such characters are shown as escapes.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    let hidden = |c: char| c.is_control() && c != '\n' && c != '\t';
    if !text.contains(hidden) {
        return text.into();
    }
    let shown = |c: char| if hidden(c) { c.escape_default().to_string() } else { c.to_string() };
    text.chars().map(shown).collect()
}

/// A text on one line, without what would move the cursor.
pub(crate) fn one_line(text: &str) -> String {
    visible(text).replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_act_on_is_shown() {
        assert_eq!(visible("plain é\n\ttext"), "plain é\n\ttext");
        assert_eq!(visible("a\u{1b}[2Jb\r\u{7}\u{9b}"), "a\\u{1b}[2Jb\\r\\u{7}\\u{9b}");
        assert_eq!(one_line("a\nb"), "a\\nb");
    }
}
