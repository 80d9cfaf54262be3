//! Writing to standard output and standard error.
//!
//! A reader that went away (`rehearse … | head`) changes nothing but what is written: the exit code still says what
//! was found. No other failure of these writes has a place left to be told either.

use std::borrow::Cow;
use std::io::{self, Write};

/// Writes to standard output, for people: nothing in it acts on a terminal but the colours that we give.
pub(crate) fn data(text: &str) {
    drop(writeln!(io::stdout().lock(), "{}", shown(text, true, &escape)));
}

/// Writes JSON to standard output, for programs: what a terminal would act on stands in it as JSON's own escapes.
pub(crate) fn json(text: &str) {
    drop(writeln!(io::stdout().lock(), "{}", shown(text, false, &json_escape)));
}

/// The same for a piece of JSON, which others follow.
pub(crate) fn json_piece(text: &str) {
    drop(write!(io::stdout().lock(), "{}", shown(text, false, &json_escape)));
}

/// Writes a value to standard output as JSON over several lines.
pub(crate) fn value(value: &serde_json::Value) {
    json(&rehearsal_core::json::to_string_pretty(value).expect("a value is always written"));
}

/// Writes to standard error, as [`data`] does.
pub(crate) fn message(text: &str) {
    drop(writeln!(io::stderr().lock(), "{}", shown(text, true, &escape)));
}

/// Writes a warning to standard error, with what would help.
pub(crate) fn warning(text: impl std::fmt::Display, hint: impl std::fmt::Display) {
    message(&format!("warning: {text}\n\nhint: {hint}"));
}

/// A text without what would move the cursor, change colours, ring, or turn the direction in which text is read: such
/// characters are shown as escapes.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    shown(text, false, &escape)
}

fn is_hidden(c: char) -> bool {
    let is_control = c.is_control() && c != '\n' && c != '\t';
    // Marks, embeddings, overrides and isolates of the bidirectional algorithm, and separators of lines.
    let turns =
        matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    // Tags: letters that nobody sees.
    is_control || turns || matches!(c, '\u{e0000}'..='\u{e007f}')
}

fn escape(c: char) -> String {
    c.escape_default().to_string()
}

/// As JSON has it. Such characters stand only in its texts; those that JSON forbids there are escaped already.
fn json_escape(c: char) -> String {
    let mut units = [0; 2];
    let units = c.encode_utf16(&mut units).iter();
    units.map(|unit| format!("\\u{unit:04x}")).collect::<Vec<_>>().concat()
}

fn shown<'a>(text: &'a str, with_colours: bool, escape: &dyn Fn(char) -> String) -> Cow<'a, str> {
    if !text.contains(is_hidden) {
        return text.into();
    }
    let (mut safe, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(c) = rest.chars().next() {
        let end = match colour(rest).filter(|_| with_colours) {
            Some(end) => {
                safe.push_str(&rest[..end]);
                end
            }
            None => {
                if is_hidden(c) {
                    safe.push_str(&escape(c));
                } else {
                    safe.push(c);
                }
                c.len_utf8()
            }
        };
        rest = &rest[end..];
    }
    safe.into()
}

/// How long the colour is with which a text begins.
fn colour(text: &str) -> Option<usize> {
    let codes = text.strip_prefix("\x1b[")?;
    let end = codes.find(|c: char| !c.is_ascii_digit() && c != ';')?;
    codes[end..].starts_with('m').then_some("\x1b[".len() + end + 1)
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
        assert_eq!(visible("\x1b[31mred"), "\\u{1b}[31mred");
        for turning in ['\u{61c}', '\u{200f}', '\u{2028}', '\u{202e}', '\u{2066}', '\u{e0041}'] {
            assert_eq!(visible(&format!("a{turning}b")), format!("a{}b", turning.escape_unicode()));
        }
    }

    #[test]
    fn colours_of_our_own_are_written() {
        let people = |text| shown(text, true, &escape).into_owned();
        assert_eq!(people("\x1b[1;31mred\x1b[0m"), "\x1b[1;31mred\x1b[0m");
        for acted_on in ["\x1b[2J", "\x1b]0;title\x07", "\x1b[31", "\x1b[31;mK\x1b[K", "\x1bc"] {
            let written = people(acted_on);
            assert!(written.contains("\\u{1b}"), "{written}");
        }
    }

    #[test]
    fn json_stays_json_and_says_the_same() {
        let value = serde_json::json!({"a\u{202e}": "b\u{9b}\u{1b}[2J\u{e0041}\n"});
        let written = shown(&format!("{value:#}"), false, &json_escape).into_owned();
        assert!(!written.contains(is_hidden), "{written}");
        assert_eq!(rehearsal_core::json::from_str::<serde_json::Value>(&written).unwrap(), value);
    }
}
