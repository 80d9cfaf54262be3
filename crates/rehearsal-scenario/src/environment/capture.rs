//! What a process writes, read to the end and kept up to a limit.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncRead, AsyncReadExt as _};

/// The first or the last bytes of a stream.
#[derive(Debug)]
pub(super) struct Capture {
    part: Part,
    limit: usize,
    bytes: VecDeque<u8>,
    omitted: u64,
}

/// Which end of a stream is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    First,
    Last,
}

/// A capture that is read while it grows.
#[derive(Clone, Debug)]
pub(super) struct Captured(Arc<Mutex<Capture>>);

impl Captured {
    pub(super) fn new(part: Part, limit: usize) -> Self {
        Self(Arc::new(Mutex::new(Capture { part, limit, bytes: VecDeque::new(), omitted: 0 })))
    }

    /// Reads a stream to its end; what was read stays when this is cancelled.
    pub(super) async fn read(self, mut stream: impl AsyncRead + Unpin) {
        let mut buffer = vec![0; 64 * 1024];
        while let Ok(count @ 1..) = stream.read(&mut buffer).await {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push(&buffer[..count]);
        }
    }

    /// What was kept so far as text, and how many bytes were not kept.
    pub(super) fn text(&self) -> (String, u64) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).text()
    }
}

impl Capture {
    fn push(&mut self, bytes: &[u8]) {
        let before = self.bytes.len();
        match self.part {
            Part::First => self.bytes.extend(&bytes[..bytes.len().min(self.limit - before)]),
            Part::Last => {
                self.bytes.extend(bytes);
                self.bytes.drain(..self.bytes.len().saturating_sub(self.limit));
            }
        }
        self.omitted += (before + bytes.len() - self.bytes.len()) as u64;
    }

    fn text(&mut self) -> (String, u64) {
        let omitted = self.omitted;
        let bytes = self.bytes.make_contiguous();
        // A character that the limit cut in two is left out rather than shown as one that cannot be read.
        let whole = match self.part {
            _ if omitted == 0 => &*bytes,
            Part::First => &bytes[..bytes.len() - cut_at_end(bytes)],
            Part::Last => &bytes[bytes.iter().take(3).take_while(|byte| is_inner(**byte)).count()..],
        };
        let cut = (bytes.len() - whole.len()) as u64;
        (String::from_utf8_lossy(whole).into_owned(), omitted + cut)
    }
}

/// How many bytes at the end begin a character without finishing it.
fn cut_at_end(bytes: &[u8]) -> usize {
    let inner = bytes.iter().rev().take(3).take_while(|byte| is_inner(**byte)).count();
    let Some(first) = bytes.len().checked_sub(inner + 1).map(|at| bytes[at]) else { return 0 };
    let length = match first {
        0xC0..=0xDF => 2,
        0xE0..=0xEF => 3,
        0xF0..=0xF7 => 4,
        _ => 1,
    };
    if inner + 1 < length { inner + 1 } else { 0 }
}

fn is_inner(byte: u8) -> bool {
    byte & 0xC0 == 0x80
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(part: Part, limit: usize, pieces: &[&[u8]], expected: (&str, u64)) {
        let captured = Captured::new(part, limit);
        for piece in pieces {
            captured.0.lock().unwrap().push(piece);
        }
        let (text, omitted) = captured.text();
        assert_eq!((text.as_str(), omitted), expected);
    }

    #[test]
    fn one_end_of_a_stream_is_kept_and_the_rest_counted() {
        check(Part::First, 4, &[b"ab", b"cdef", b"g"], ("abcd", 3));
        check(Part::Last, 4, &[b"ab", b"cdef", b"g"], ("defg", 3));
        check(Part::First, 4, &[b"abcd"], ("abcd", 0));
        check(Part::Last, 0, &[b"abcd"], ("", 4));
    }

    #[test]
    fn a_character_cut_by_the_limit_is_left_out() {
        check(Part::First, 4, &["aé€".as_bytes()], ("aé", 3));
        check(Part::First, 5, &["é€€".as_bytes()], ("é€", 3));
        check(Part::Last, 4, &["é€€".as_bytes()], ("€", 5));
    }

    #[test]
    fn bytes_that_are_not_text_are_replaced() {
        check(Part::First, 9, &[b"a\xFFb\xE2"], ("a\u{FFFD}b\u{FFFD}", 0));
        check(Part::First, 4, &[b"\x80\x80\x80\x80\x80"], ("\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}", 1));
    }
}
