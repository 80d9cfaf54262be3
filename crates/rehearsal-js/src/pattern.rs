//! JavaScript's regular expressions.

#[cfg(feature = "engine")]
use std::time::Duration;

#[cfg(feature = "engine")]
use rquickjs::{CatchResultExt, CaughtError};

use super::SyntaxError;
use super::engine;
#[cfg(feature = "engine")]
use super::engine::Engine;

#[cfg(feature = "engine")]
const DEADLINE: Duration = Duration::from_secs(1);
#[cfg(feature = "engine")]
const MEMORY: usize = 64 * 1024 * 1024;
#[cfg(feature = "engine")]
const STACK: usize = 256 * 1024;
#[cfg(feature = "engine")]
const LONGEST_PATTERN: usize = 64 * 1024;

/// A regular expression in JavaScript's syntax, with lookaround and backreferences.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    pattern: String,
    flags: String,
}

/// The first match of a [`Pattern`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Match {
    /// Where it begins, in bytes of the text.
    pub index: usize,
    /// What was matched.
    pub text: String,
}

/// Why a pattern gave no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PatternError {
    /// It did not come to an end within a second.
    #[error(
        "the pattern took longer than a second on this text; repetitions within repetitions, such as `(a+)+`, try \
         every way to divide the text"
    )]
    TookTooLong,
    /// It needed more memory than it may use.
    #[error("the pattern needs more than 64 MiB on this text")]
    OutOfMemory,
    /// There is no engine that could look for it.
    #[error("JavaScript is not built in: switch on the feature `javascript`")]
    NoEngine,
}

/// Without an engine there is no pattern.
#[cfg(not(feature = "engine"))]
impl Pattern {
    /// The pattern with its flags, such as `i`.
    pub fn new(_pattern: &str, _flags: &str) -> Result<Self, SyntaxError> {
        Err(engine::absent())
    }

    /// The first match in a text.
    pub fn find(&self, _text: &str) -> Result<Option<Match>, PatternError> {
        Err(PatternError::NoEngine)
    }
}

#[cfg(feature = "engine")]
impl Pattern {
    /// The pattern with its flags, such as `i`.
    pub fn new(pattern: &str, flags: &str) -> Result<Self, SyntaxError> {
        let refused = |message: String| SyntaxError { message, line: 1, column: 1 };
        if pattern.len() > LONGEST_PATTERN {
            return Err(refused("a pattern has at most 64 KiB".into()));
        }
        let engine = Engine::new(MEMORY, STACK, DEADLINE).map_err(|error| refused(error.to_string()))?;
        engine.with(|ctx| match engine::find(&ctx, pattern, flags, None).catch(&ctx) {
            Ok(_) => Ok(Self { pattern: pattern.to_owned(), flags: flags.to_owned() }),
            Err(CaughtError::Exception(error)) => Err(refused(error.message().unwrap_or_default())),
            Err(_) => Err(refused("the pattern needs more than 64 MiB".into())),
        })
    }

    /// The first match in a text.
    ///
    /// A match that begins or ends within a character outside the basic plane, which JavaScript sees as two, is
    /// widened to the whole character.
    pub fn find(&self, text: &str) -> Result<Option<Match>, PatternError> {
        // The text itself takes up to two bytes for each of its own.
        let memory = MEMORY + 4 * text.len();
        let engine = Engine::new(memory, STACK, DEADLINE).map_err(|_| PatternError::OutOfMemory)?;
        let found =
            engine.with(|ctx| engine::find(&ctx, &self.pattern, &self.flags, Some(text)).catch(&ctx).ok());
        match found {
            Some(found) => Ok(found.map(|(start, end)| matched(text, start, end))),
            None if engine.was_interrupted() => Err(PatternError::TookTooLong),
            None => Err(PatternError::OutOfMemory),
        }
    }
}

#[cfg(feature = "engine")]
fn matched(text: &str, start: usize, end: usize) -> Match {
    let mut units = 0;
    let (mut first, mut last) = (text.len(), text.len());
    for (at, next) in text.char_indices() {
        if first == text.len() && start < units + next.len_utf16() {
            first = at;
        }
        if end <= units {
            last = at;
            break;
        }
        units += next.len_utf16();
    }
    Match { index: first, text: text[first..last.max(first)].to_owned() }
}

#[cfg(feature = "engine")]
#[cfg(test)]
mod tests {
    use super::*;

    fn find(pattern: &str, flags: &str, text: &str) -> Option<Match> {
        Pattern::new(pattern, flags).unwrap().find(text).unwrap()
    }

    fn at(index: usize, text: &str) -> Match {
        Match { index, text: text.to_owned() }
    }

    #[test]
    fn it_finds_as_javascript_does() {
        assert_eq!(find("(?<=€)\\d+(?!\\d|%)", "", "10% of €250"), Some(at(10, "250")));
        assert_eq!(find("(\\w)\\1", "i", "Aardvark"), Some(at(0, "Aa")));
        assert_eq!(find("^b$", "m", "a\nb\nc"), Some(at(2, "b")));
        assert_eq!(find("x*", "", "abc"), Some(at(0, "")));
        assert_eq!(find("$", "", "abc"), Some(at(3, "")));
        assert_eq!(find("", "", ""), Some(at(0, "")));
        assert_eq!(find("a", "g", "ba\0a"), Some(at(1, "a")));
        assert_eq!(find("\\p{Lu}", "u", "äÖ"), Some(at(2, "Ö")));
        assert_eq!(find("z", "", "abc"), None);
    }

    #[test]
    fn half_a_character_is_widened_to_the_whole() {
        assert_eq!(find(".", "", "😀!"), Some(at(0, "😀")));
        assert_eq!(find("[\\uDE00]!", "", "a😀!"), Some(at(1, "😀!")));
        assert_eq!(find("!", "", "😀😀!"), Some(at(8, "!")));
        assert_eq!(find("$", "", "😀"), Some(at(4, "")));
    }

    #[test]
    fn what_is_no_pattern_is_refused() {
        assert!(Pattern::new("(?i)a", "").is_err());
        assert!(Pattern::new("(", "").unwrap_err().message.contains("expecting ')'"));
        assert!(Pattern::new("a", "q").unwrap_err().message.contains("flags"));
        assert!(Pattern::new(&"a".repeat(LONGEST_PATTERN + 1), "").is_err());
    }

    #[test]
    fn endless_backtracking_is_stopped() {
        let pattern = Pattern::new("(a+)+$", "").unwrap();
        let text = format!("{}!", "a".repeat(60));
        assert_eq!(pattern.find(&text), Err(PatternError::TookTooLong));
        assert_eq!(pattern.find("aaa").unwrap().unwrap().text, "aaa");
    }

    #[test]
    fn a_pattern_goes_to_other_threads() {
        fn can_be_shared<T: Send + Sync + Clone + std::fmt::Debug>(_: &T) {}
        can_be_shared(&Pattern::new("a", "").unwrap());
    }
}
