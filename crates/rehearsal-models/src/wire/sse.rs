//! Server-sent events, to be written.

use std::fmt;

use serde::Serialize;

/// One event of a stream, as it goes over the wire.
///
/// ```
/// use rehearsal_models::wire::SseEvent;
///
/// assert_eq!(SseEvent::named("ping", "{}").to_string(), "event: ping\ndata: {}\n\n");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SseEvent {
    /// Its name, where the API names its events.
    pub event: Option<String>,
    /// Its data, on one line.
    pub data: String,
}

impl SseEvent {
    /// An event without a name.
    pub fn data(data: impl Into<String>) -> Self {
        Self { event: None, data: data.into() }
    }

    /// An event with a name.
    pub fn named(event: impl Into<String>, data: impl Into<String>) -> Self {
        Self { event: Some(event.into()), data: data.into() }
    }

    pub(crate) fn json(value: &impl Serialize) -> Self {
        Self::data(
            rehearsal_core::json::to_string(value).expect("wire types have text keys and are always written"),
        )
    }
}

impl fmt::Display for SseEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(event) = &self.event {
            writeln!(f, "event: {event}")?;
        }
        for line in self.data.split('\n') {
            writeln!(f, "data: {line}")?;
        }
        writeln!(f)
    }
}

/// Cuts a text into the pieces in which it is streamed: words with the space after them.
pub(crate) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(char::is_whitespace)
}

/// Cuts JSON text into pieces that are not JSON themselves, as providers stream arguments.
pub(crate) fn fragments(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let end = rest.char_indices().nth(12).map_or(rest.len(), |(end, _)| end);
        let (piece, after) = rest.split_at(end);
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
}
