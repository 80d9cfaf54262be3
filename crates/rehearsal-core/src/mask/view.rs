//! A text with its escapes read.

use std::ops::Range;

/// The bytes that a text stands for, and where in the text each of them comes from.
pub(super) struct View {
    pub(super) bytes: Vec<u8>,
    /// The part of the text that each byte comes from; nothing where that was not asked for.
    origins: Option<Vec<Range<usize>>>,
}

/// A way to write bytes in other bytes.
#[derive(Clone, Copy)]
enum Escapes {
    /// `\/`, `\u002f`, `\x2f`, `\057`: JSON, shells and the literals of most languages.
    Backslash,
    /// The same where `\xe9` is a letter and not a byte, as in Python and JavaScript.
    Letters,
    /// `%2f`.
    Percent,
    /// `%2f`, and `+` for a space.
    Form,
    /// `&amp;`, `&#47;`, `&#x2f;`.
    Entities,
}

/// What is read, one kind of escapes in the result of the other: JSON in JSON, an address in JSON.
const READINGS: &[&[Escapes]] = &[
    &[],
    &[Escapes::Backslash],
    &[Escapes::Letters],
    &[Escapes::Backslash, Escapes::Letters],
    &[Escapes::Backslash, Escapes::Backslash],
    &[Escapes::Backslash, Escapes::Backslash, Escapes::Backslash],
    &[Escapes::Percent],
    &[Escapes::Form],
    &[Escapes::Percent, Escapes::Percent],
    &[Escapes::Percent, Escapes::Backslash],
    &[Escapes::Form, Escapes::Backslash],
    &[Escapes::Backslash, Escapes::Percent],
    &[Escapes::Backslash, Escapes::Form],
    &[Escapes::Entities],
    &[Escapes::Backslash, Escapes::Entities],
    &[Escapes::Entities, Escapes::Backslash],
];

/// Every reading of a text, without its line breaks.
pub(super) fn of(text: &str, with_origins: bool) -> impl Iterator<Item = View> {
    READINGS.iter().filter_map(move |reading| {
        if reading.first().is_some_and(|escapes| !escapes.are_in(text.as_bytes())) {
            return None;
        }
        let origins = with_origins.then(|| (0..text.len()).map(|at| at..at + 1).collect());
        let mut view = View { bytes: text.as_bytes().to_vec(), origins };
        for escapes in *reading {
            if !escapes.are_in(&view.bytes) {
                return None;
            }
            view = view.read(*escapes);
        }
        Some(view.without_breaks())
    })
}

impl View {
    /// The part of the text that a part of the bytes comes from.
    pub(super) fn source(&self, at: Range<usize>) -> Range<usize> {
        let origin = |at: usize| self.origins.as_ref().map_or(at..at + 1, |origins| origins[at].clone());
        origin(at.start).start..origin(at.end - 1).end
    }

    /// Whether nothing was left out between a byte and the one before it.
    pub(super) fn is_joined(&self, at: usize) -> bool {
        self.origins.as_ref().is_none_or(|origins| origins[at - 1].end >= origins[at].start)
    }

    fn read(&self, escapes: Escapes) -> Self {
        let mut read = Self { bytes: Vec::with_capacity(self.bytes.len()), origins: None };
        let mut origins = Vec::new();
        let mut at = 0;
        while at < self.bytes.len() {
            let (length, byte_or_char) =
                escapes.at_start(&self.bytes[at..]).unwrap_or_else(|| (1, Meaning::Byte(self.bytes[at])));
            let before = read.bytes.len();
            match byte_or_char {
                Meaning::Byte(byte) => read.bytes.push(byte),
                Meaning::Char(c) => read.bytes.extend(c.encode_utf8(&mut [0; 4]).bytes()),
            }
            if self.origins.is_some() {
                let from = self.source(at..at + length);
                origins.resize(origins.len() + read.bytes.len() - before, from);
            }
            at += length;
        }
        read.origins = self.origins.is_some().then_some(origins);
        read
    }

    fn without_breaks(mut self) -> Self {
        let is_break = |byte: &u8| matches!(byte, b'\r' | b'\n');
        if let Some(origins) = &mut self.origins {
            let mut bytes = self.bytes.iter();
            origins.retain(|_| bytes.next().is_some_and(|byte| !is_break(byte)));
        }
        self.bytes.retain(|byte| !is_break(byte));
        self
    }
}

/// What an escape stands for.
enum Meaning {
    Byte(u8),
    Char(char),
}

impl Escapes {
    fn are_in(self, bytes: &[u8]) -> bool {
        match self {
            Self::Backslash | Self::Letters => memchr::memchr(b'\\', bytes).is_some(),
            Self::Percent => memchr::memchr(b'%', bytes).is_some(),
            Self::Form => memchr::memchr(b'+', bytes).is_some(),
            Self::Entities => memchr::memchr(b'&', bytes).is_some(),
        }
    }

    /// How long the escape is with which bytes begin, and what it stands for.
    fn at_start(self, bytes: &[u8]) -> Option<(usize, Meaning)> {
        match (self, bytes.first()?) {
            (Self::Letters, b'\\') if bytes.get(1) == Some(&b'x') => {
                Some((4, Meaning::Char(char::from_u32(number(bytes.get(2..4)?, 16)?)?)))
            }
            (Self::Backslash | Self::Letters, b'\\') => backslash(bytes),
            (Self::Percent | Self::Form, b'%') => {
                Some((3, Meaning::Byte(u8::try_from(number(bytes.get(1..3)?, 16)?).ok()?)))
            }
            (Self::Form, b'+') => Some((1, Meaning::Byte(b' '))),
            (Self::Entities, b'&') => entity(bytes),
            _ => None,
        }
    }
}

fn backslash(bytes: &[u8]) -> Option<(usize, Meaning)> {
    let byte = |length, byte| Some((length, Meaning::Byte(byte)));
    match bytes.get(1)? {
        b'u' if bytes.get(2) == Some(&b'{') => {
            let end = bytes.iter().take(12).position(|byte| *byte == b'}')?;
            Some((end + 1, Meaning::Char(char::from_u32(number(&bytes[3..end], 16)?)?)))
        }
        b'u' => utf16(bytes),
        b'U' => Some((10, Meaning::Char(char::from_u32(number(bytes.get(2..10)?, 16)?)?))),
        b'x' => byte(4, u8::try_from(number(bytes.get(2..4)?, 16)?).ok()?),
        b'0'..=b'3' if bytes.get(1..4).is_some_and(|digits| number(digits, 8).is_some()) => {
            byte(4, u8::try_from(number(&bytes[1..4], 8)?).ok()?)
        }
        b'n' => byte(2, b'\n'),
        b'r' => byte(2, b'\r'),
        b't' => byte(2, b'\t'),
        b'b' => byte(2, 8),
        b'f' => byte(2, 12),
        other => byte(2, *other),
    }
}

/// `\u002f`, or two of them where a character needs two.
fn utf16(bytes: &[u8]) -> Option<(usize, Meaning)> {
    let unit = |at: usize| match bytes.get(at..at + 2)? {
        b"\\u" => u16::try_from(number(bytes.get(at + 2..at + 6)?, 16)?).ok(),
        _ => None,
    };
    let units: Vec<u16> = [unit(0), unit(6)].into_iter().map_while(|unit| unit).collect();
    let c = char::decode_utf16(units).next()?.ok()?;
    Some((6 * c.len_utf16(), Meaning::Char(c)))
}

fn entity(bytes: &[u8]) -> Option<(usize, Meaning)> {
    let end = bytes.iter().take(12).position(|byte| *byte == b';')?;
    let c = match &bytes[1..end] {
        b"amp" => '&',
        b"lt" => '<',
        b"gt" => '>',
        b"quot" => '"',
        b"apos" => '\'',
        [b'#', b'x' | b'X', digits @ ..] => char::from_u32(number(digits, 16)?)?,
        [b'#', digits @ ..] => char::from_u32(number(digits, 10)?)?,
        _ => return None,
    };
    Some((end + 1, Meaning::Char(c)))
}

fn number(digits: &[u8], radix: u32) -> Option<u32> {
    let digits = std::str::from_utf8(digits).ok().filter(|digits| !digits.starts_with('+'))?;
    u32::from_str_radix(digits, radix).ok()
}
