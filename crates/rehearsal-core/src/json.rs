//! JSON in and out, with whole numbers of any size.
//!
//! The tree is `serde_json`'s `Value`, whose numbers end at 64 bits. A whole number beyond them is held in the tree as a
//! *marked* text: U+FDD0, a code point that Unicode keeps out of interchange, and the number's digits. Only this module
//! knows the mark. What reads JSON from outside goes through [`from_str`] or [`from_slice`], what writes it through
//! [`to_string`], [`to_vec`] or [`to_writer`], and people are shown [`text`]; clippy refuses `serde_json`'s own.
//!
//! ```
//! use rehearsal_core::json;
//! use serde_json::Value;
//!
//! let read: Value = json::from_str(r#"{"id": 123456789012345678901234567890}"#)?;
//! assert!(json::is_number(&read["id"]) && json::as_text(&read["id"]).is_none());
//! assert_eq!(json::text(&read), r#"{"id":123456789012345678901234567890}"#);
//! # Ok::<(), serde_json::Error>(())
//! ```
//!
//! See docs/design/numbers.md.
#![expect(clippy::disallowed_methods, reason = "the one place that reads and writes JSON itself")]

mod number;
mod scan;

use std::borrow::Cow;
use std::fmt;
use std::io;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::ser::Formatter;

pub(crate) use number::has_beyond;
pub use number::{as_f64, compare_numbers, is_number, is_whole, whole};
pub use scan::{marked, marked_beyond};

/// What stands before the digits of a whole number that `serde_json` has no number for.
const MARK: char = '\u{fdd0}';

/// Reads JSON.
///
/// # Errors
/// The text is not JSON, or not that of a `T`; the place is that in the text.
pub fn from_str<T: DeserializeOwned>(text: &str) -> serde_json::Result<T> {
    match scan::rewritten(text) {
        None => serde_json::from_str(text),
        // Read twice: a field that is a text takes no number, whatever stands for the number in the tree.
        Some(rewritten) => {
            let plainly = serde_json::from_str(&rewritten.probe)?;
            Ok(serde_json::from_str(&rewritten.marked).unwrap_or(plainly))
        }
    }
}

/// Reads JSON.
///
/// # Errors
/// The bytes are not UTF-8, not JSON, or not that of a `T`.
pub fn from_slice<T: DeserializeOwned>(bytes: &[u8]) -> serde_json::Result<T> {
    match std::str::from_utf8(bytes) {
        Ok(text) => from_str(text),
        Err(_) => serde_json::from_slice(bytes),
    }
}

/// A value of a tree as a `T`.
///
/// # Errors
/// It is not that of a `T`: a number, however large, is no text.
pub fn from_value<T: DeserializeOwned>(value: Value) -> serde_json::Result<T> {
    if has_beyond(&value) { from_str(&text(&value)) } else { serde_json::from_value(value) }
}

/// Writes JSON.
///
/// # Errors
/// The value cannot be written as JSON.
pub fn to_string(value: &(impl Serialize + ?Sized)) -> serde_json::Result<String> {
    serde_json::to_string(value).map(scan::unmarked)
}

/// Writes JSON over several lines, for people.
///
/// # Errors
/// The value cannot be written as JSON.
pub fn to_string_pretty(value: &(impl Serialize + ?Sized)) -> serde_json::Result<String> {
    serde_json::to_string_pretty(value).map(scan::unmarked)
}

/// The same as a part of something larger: all lines but the first are set in by so many levels more.
///
/// # Errors
/// The value cannot be written as JSON.
pub fn to_string_pretty_within(
    levels: usize,
    value: &(impl Serialize + ?Sized),
) -> serde_json::Result<String> {
    let formatter = SetIn { levels, has_value: false };
    let mut text = Vec::new();
    value.serialize(&mut serde_json::Serializer::with_formatter(&mut text, formatter))?;
    let text = String::from_utf8(text).map_err(|error| serde_json::Error::io(io::Error::other(error)))?;
    Ok(scan::unmarked(text))
}

/// Writes JSON.
///
/// # Errors
/// The value cannot be written as JSON.
pub fn to_vec(value: &(impl Serialize + ?Sized)) -> serde_json::Result<Vec<u8>> {
    to_string(value).map(String::into_bytes)
}

/// Writes JSON.
///
/// # Errors
/// The value cannot be written as JSON, or the writer fails.
pub fn to_writer(mut writer: impl io::Write, value: &(impl Serialize + ?Sized)) -> serde_json::Result<()> {
    let text = to_string(value)?;
    writer.write_all(text.as_bytes()).map_err(serde_json::Error::io)
}

/// Writes as `serde_json` does for people, but each line's beginning at once, and from any level on.
struct SetIn {
    levels: usize,
    has_value: bool,
}

impl SetIn {
    fn new_line(&self, writer: &mut (impl io::Write + ?Sized)) -> io::Result<()> {
        const LINE: &[u8] = b"\n                                                                ";
        match LINE.get(..=2 * self.levels) {
            Some(line) => writer.write_all(line),
            None => {
                writer.write_all(b"\n")?;
                (0..self.levels).try_for_each(|_| writer.write_all(b"  "))
            }
        }
    }

    fn begin(&mut self, writer: &mut (impl io::Write + ?Sized), bracket: &[u8]) -> io::Result<()> {
        self.levels += 1;
        self.has_value = false;
        writer.write_all(bracket)
    }

    fn end(&mut self, writer: &mut (impl io::Write + ?Sized), bracket: &[u8]) -> io::Result<()> {
        self.levels = self.levels.saturating_sub(1);
        if self.has_value {
            self.new_line(writer)?;
        }
        writer.write_all(bracket)
    }

    fn next(&self, writer: &mut (impl io::Write + ?Sized), first: bool) -> io::Result<()> {
        if !first {
            writer.write_all(b",")?;
        }
        self.new_line(writer)
    }
}

impl Formatter for SetIn {
    fn begin_array<W: io::Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.begin(writer, b"[")
    }

    fn end_array<W: io::Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.end(writer, b"]")
    }

    fn begin_array_value<W: io::Write + ?Sized>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.next(writer, first)
    }

    fn end_array_value<W: io::Write + ?Sized>(&mut self, _: &mut W) -> io::Result<()> {
        self.has_value = true;
        Ok(())
    }

    fn begin_object<W: io::Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.begin(writer, b"{")
    }

    fn end_object<W: io::Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.end(writer, b"}")
    }

    fn begin_object_key<W: io::Write + ?Sized>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.next(writer, first)
    }

    fn begin_object_value<W: io::Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }

    fn end_object_value<W: io::Write + ?Sized>(&mut self, _: &mut W) -> io::Result<()> {
        self.has_value = true;
        Ok(())
    }
}

/// Writes JSON behind what is there already. Where it cannot be written, nothing is added.
///
/// # Errors
/// The value cannot be written as JSON.
pub fn append(to: &mut Vec<u8>, value: &(impl Serialize + ?Sized)) -> serde_json::Result<()> {
    let start = to.len();
    if let Err(error) = serde_json::to_writer(&mut *to, value) {
        to.truncate(start);
        return Err(error);
    }
    if scan::has_marks(&to[start..]) {
        let text = String::from_utf8_lossy(&to[start..]).into_owned();
        to.truncate(start);
        to.extend_from_slice(scan::unmarked(text).as_bytes());
    }
    Ok(())
}

/// A value as JSON text.
pub fn text(value: &Value) -> String {
    scan::unmarked(value.to_string())
}

/// A value as something to say or to read: a text as it is, anything else as JSON.
pub fn said(value: &Value) -> String {
    as_text(value).map_or_else(|| text(value), str::to_owned)
}

/// A value as JSON text, where something is formatted.
pub fn shown(value: &Value) -> impl fmt::Display {
    Shown(value)
}

struct Shown<'a>(&'a Value);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&text(self.0))
    }
}

/// The text that a value is; nothing for a number, however large.
pub fn as_text(value: &Value) -> Option<&str> {
    value.as_str().filter(|text| number::beyond(text).is_none())
}

/// A text as it is in the tree; of a number beyond 64 bits the digits, where there is no place for all of them.
pub fn text_or_digits(text: &str) -> &str {
    number::beyond(text).unwrap_or(text)
}

/// A text that did not come as JSON (a program's output, a scalar of YAML, a field of protobuf), such that it is a text in
/// the tree too.
pub fn plain<'a>(text: impl Into<Cow<'a, str>>) -> String {
    let mut text = text.into().into_owned();
    if text.starts_with(MARK) {
        text.replace_range(..MARK.len_utf8(), "\u{fffd}");
    }
    text
}

/// A seed as a result has it: a text, since JavaScript would round the number. Both are read.
pub mod seed {
    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serializer};

    /// Writes the digits as a text.
    ///
    /// # Errors
    /// The serializer fails.
    pub fn serialize<S: Serializer>(seed: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(seed)
    }

    /// Reads a number or its digits.
    ///
    /// # Errors
    /// It is neither.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Seed {
            Number(u64),
            Digits(String),
        }
        match Seed::deserialize(deserializer)? {
            Seed::Number(seed) => Ok(seed),
            Seed::Digits(digits) => digits.parse().map_err(D::Error::custom),
        }
    }
}

#[cfg(test)]
mod tests;
