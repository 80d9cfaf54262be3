//! What a process writes, read to the end and kept up to a limit.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use rehearsal_core::mask::Masker;
use tokio::io::{AsyncRead, AsyncReadExt as _};

/// The first or the last bytes of a stream.
#[derive(Debug)]
pub(super) struct Capture {
    part: Part,
    limit: usize,
    /// What is kept, and beyond the limit as much as it takes to see whether the cut goes through a secret.
    bytes: VecDeque<u8>,
    total: u64,
    masker: Masker,
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
    pub(super) fn new(part: Part, limit: usize, masker: Masker) -> Self {
        Self(Arc::new(Mutex::new(Capture { part, limit, bytes: VecDeque::new(), total: 0, masker })))
    }

    /// Reads a stream to its end; what was read stays when this is cancelled.
    pub(super) async fn read(self, mut stream: impl AsyncRead + Unpin) {
        let mut buffer = vec![0; 64 * 1024];
        while let Ok(count @ 1..) = stream.read(&mut buffer).await {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push(&buffer[..count]);
        }
    }

    /// What was kept so far as text without secrets, and how many bytes were not kept.
    pub(super) fn text(&self) -> (String, u64) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).text()
    }
}

impl Capture {
    fn push(&mut self, bytes: &[u8]) {
        let most = self.limit + if self.limit == 0 { 0 } else { self.masker.reach() };
        match self.part {
            Part::First => self.bytes.extend(&bytes[..bytes.len().min(most - self.bytes.len())]),
            Part::Last => {
                self.bytes.extend(bytes);
                self.bytes.drain(..self.bytes.len().saturating_sub(most));
            }
        }
        self.total += bytes.len() as u64;
    }

    fn text(&mut self) -> (String, u64) {
        let bytes = self.bytes.make_contiguous();
        let length = bytes.len().min(self.limit);
        let is_cut = self.total > length as u64;
        // A character that the limit cut in two is left out rather than shown as one that cannot be read.
        let whole = match self.part {
            _ if !is_cut => 0..bytes.len(),
            Part::First => 0..length - cut_at_end(&bytes[..length]),
            Part::Last => {
                let start = bytes.len() - length;
                let inner = bytes[start..].iter().take(3).take_while(|byte| is_inner(**byte)).count();
                start + inner..bytes.len()
            }
        };
        let omitted = self.total - whole.len() as u64;
        let [before, shown, after] = [&bytes[..whole.start], &bytes[whole.clone()], &bytes[whole.end..]]
            .map(|part| String::from_utf8_lossy(part));
        let text = format!("{before}{shown}{after}");
        let masked = self.masker.mask_within(&text, before.len()..before.len() + shown.len());
        (masked.into_owned(), omitted)
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
        let captured = Captured::new(part, limit, Masker::default());
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
    fn a_secret_is_hidden_whole_where_it_comes_in_pieces_or_is_cut() {
        let text = "abc hunter2-and-more xyz";
        for part in [Part::First, Part::Last] {
            for limit in 1..text.len() + 2 {
                for piece in [1, 3, 7, 100] {
                    let captured = Captured::new(part, limit, Masker::new(["hunter2-and-more"]));
                    for piece in text.as_bytes().chunks(piece) {
                        captured.0.lock().unwrap().push(piece);
                    }
                    let (shown, omitted) = captured.text();
                    assert!(
                        !["hu", "nte", "r2", "and", "mor", "re"].iter().any(|half| shown.contains(half)),
                        "{part:?} {limit}: {shown}"
                    );
                    assert_eq!(omitted, text.len().saturating_sub(limit) as u64);
                }
            }
        }
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
