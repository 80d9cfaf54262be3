//! Large whole numbers in JSON text: marked before it is read, unmarked after it was written.

use std::borrow::Cow;

use memchr::memmem;

use super::MARK;
use super::number::{Limit, is_beyond};

/// The mark as UTF-8.
const MARK_BYTES: &[u8] = "\u{fdd0}".as_bytes();
/// What replaces a mark that came from outside: a text of the same length.
const REPLACED: &str = "\u{fffd}";
/// More digits than this, and a double has no place for the number.
const MOST_OF_A_DOUBLE: usize = 300;

/// The text with its large whole numbers as marked texts, for a reader that takes the text in part. Marks that were in the
/// text are gone from it.
pub fn marked(text: &str) -> Cow<'_, str> {
    rewritten(text).map_or(Cow::Borrowed(text), |rewritten| Cow::Owned(rewritten.marked))
}

/// [`marked`] for a reader whose whole numbers end earlier, such as JavaScript's: at this one, and at its negative.
pub fn marked_beyond<'a>(text: &'a str, largest: &'static str) -> Cow<'a, str> {
    let limit = Limit { above: largest, below: largest };
    rewritten_beyond(text, limit).map_or(Cow::Borrowed(text), |rewritten| Cow::Owned(rewritten.marked))
}

/// JSON text in which something could not be read as it is.
pub(super) struct Rewritten {
    /// With marked texts for large whole numbers.
    pub(super) marked: String,
    /// As long as the text, with doubles for them.
    pub(super) probe: String,
}

/// Nothing for a text that can be read as it is: nearly all of them, which cost a look at every nineteenth byte.
pub(super) fn rewritten(text: &str) -> Option<Rewritten> {
    rewritten_beyond(text, Limit::OURS)
}

fn rewritten_beyond(text: &str, limit: Limit) -> Option<Rewritten> {
    if !has_long_digits(text.as_bytes(), limit.fewest_digits()) && !may_have_marks(text.as_bytes()) {
        return None;
    }
    let mut writer = Writer { text, limit, marked: String::new(), probe: String::new(), copied: 0 };
    writer.write();
    (writer.copied > 0).then(|| {
        writer.copy_to(text.len());
        Rewritten { marked: writer.marked, probe: writer.probe }
    })
}

/// Whether there are so many digits in a row: one of them stands where we look.
fn has_long_digits(bytes: &[u8], fewest: usize) -> bool {
    let mut at = fewest - 1;
    while let Some(byte) = bytes.get(at) {
        if byte.is_ascii_digit() {
            let before = bytes[..at].iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
            let after = bytes[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
            if before + after >= fewest {
                return true;
            }
            at += after;
        }
        at += fewest;
    }
    false
}

fn may_have_marks(bytes: &[u8]) -> bool {
    memmem::find(bytes, MARK_BYTES).is_some()
        || memmem::find_iter(bytes, b"\\u").any(|at| is_escaped_mark(&bytes[at..]))
}

fn is_escaped_mark(bytes: &[u8]) -> bool {
    bytes.get(..6).is_some_and(|escape| escape.eq_ignore_ascii_case(b"\\ufdd0"))
}

struct Writer<'a> {
    text: &'a str,
    limit: Limit,
    marked: String,
    probe: String,
    /// What of the text was written.
    copied: usize,
}

impl Writer<'_> {
    fn write(&mut self) {
        let text = self.text;
        let bytes = text.as_bytes();
        let mut at = 0;
        while let Some(byte) = bytes.get(at) {
            match byte {
                b'"' => at = self.string(at + 1),
                b'-' | b'0'..=b'9' => {
                    let is_of_number = |byte: &&u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
                    let end = at + bytes[at..].iter().take_while(is_of_number).count();
                    if self.limit.is_beyond(&text[at..end]) {
                        self.number(at, end);
                    }
                    at = end;
                }
                _ => at += 1,
            }
        }
    }

    /// Takes the mark from the beginning of a string, and gives where the string ends.
    fn string(&mut self, start: usize) -> usize {
        let bytes = self.text.as_bytes();
        let length = if bytes[start..].starts_with(MARK_BYTES) {
            MARK_BYTES.len()
        } else if is_escaped_mark(&bytes[start..]) {
            6
        } else {
            0
        };
        if length > 0 {
            self.copy_to(start);
            let instead = if length == 6 { "\\ufffd" } else { REPLACED };
            self.marked.push_str(instead);
            self.probe.push_str(instead);
            self.copied = start + length;
        }
        let mut at = start + length;
        while let Some(found) = memchr::memchr2(b'"', b'\\', bytes.get(at..).unwrap_or_default()) {
            at += found;
            if bytes[at] == b'"' {
                return at + 1;
            }
            at += 2;
        }
        bytes.len()
    }

    fn number(&mut self, start: usize, end: usize) {
        self.copy_to(start);
        let digits = &self.text[start..end];
        self.marked.push('"');
        self.marked.push(MARK);
        self.marked.push_str(digits);
        self.marked.push('"');
        if digits.len() <= MOST_OF_A_DOUBLE {
            self.probe.push_str(digits);
        } else {
            let minus = if digits.starts_with('-') { "-" } else { "" };
            self.probe.push_str(minus);
            self.probe.push_str("1.");
            self.probe.extend(std::iter::repeat_n('0', digits.len() - minus.len() - 2));
        }
        self.copied = end;
    }

    fn copy_to(&mut self, end: usize) {
        self.marked.push_str(&self.text[self.copied..end]);
        self.probe.push_str(&self.text[self.copied..end]);
        self.copied = end;
    }
}

/// Whether JSON that was written from a tree may have marked texts.
pub(super) fn has_marks(json: &[u8]) -> bool {
    memmem::find(json, MARK_BYTES).is_some()
}

/// JSON that was written from a tree, with numbers in place of marked texts.
pub(super) fn unmarked(json: String) -> String {
    if !has_marks(json.as_bytes()) {
        return json;
    }
    let bytes = json.as_bytes();
    let mut whole = String::with_capacity(json.len());
    let mut copied = 0;
    for at in memmem::find_iter(bytes, MARK_BYTES) {
        let Some(start) = at.checked_sub(1).filter(|start| is_opening(bytes, *start)) else { continue };
        let first = at + MARK_BYTES.len();
        let Some(length) = memchr::memchr(b'"', &bytes[first..]) else { break };
        let end = first + length;
        // A key is a text whatever it looks like.
        if is_beyond(&json[first..end]) && bytes.get(end + 1) != Some(&b':') {
            whole.push_str(&json[copied..start]);
            whole.push_str(&json[first..end]);
            copied = end + 1;
        }
    }
    whole.push_str(&json[copied..]);
    whole
}

/// Whether the quote at this place opens a text: one that is inside a text has a backslash before it.
fn is_opening(bytes: &[u8], at: usize) -> bool {
    bytes[at] == b'"' && at.checked_sub(1).is_none_or(|before| bytes[before] != b'\\')
}
