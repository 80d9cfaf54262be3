//! Answers that come in pieces.

use serde_json::{Map, Value};

use super::content::{Content, Part};
use super::error::error_in;
use super::response::{Candidate, Response};
use crate::wire::{Delta, Field, SseEvent, WireError, parse, sse};

/// Puts a streamed answer together.
///
/// The API has no event that ends a stream: it is complete once the answer has a reason for finishing, or the
/// question was refused.
#[derive(Clone, Debug, Default)]
pub struct Assembler {
    response: Response,
    candidate: Candidate,
    parts: Vec<Part>,
    has_candidate: bool,
}

impl Assembler {
    /// Takes the data of the next event, and gives what it adds that can be shown.
    ///
    /// # Errors
    /// It is not a piece of an answer, or reports an error.
    pub fn push(&mut self, data: &str) -> Result<Vec<Delta>, WireError> {
        let body: Value = parse("a piece of the stream is not JSON", data)?;
        if let Some(error) = error_in(&body) {
            return Err(error);
        }
        let chunk: Response = rehearsal_core::json::from_value(body).map_err(|error| {
            WireError::malformed(format!("a piece of the stream is not as it should be: {error}"))
        })?;
        Ok(self.take(chunk))
    }

    /// Whether the answer is complete. What it cost may still follow.
    pub fn is_done(&self) -> bool {
        self.candidate.finish_reason.text().is_some() || self.response.block_reason().is_some()
    }

    /// The whole answer.
    ///
    /// # Errors
    /// The stream ended too early.
    pub fn finish(mut self) -> Result<Response, WireError> {
        if !self.is_done() {
            return Err(WireError::cut_off("it gave no reason for finishing"));
        }
        if self.has_candidate {
            if !self.parts.is_empty() {
                self.candidate.content.get_or_insert_default().parts = self.parts.into();
            }
            self.response.candidates = vec![self.candidate].into();
        }
        Ok(self.response)
    }

    fn take(&mut self, chunk: Response) -> Vec<Delta> {
        replace(&mut self.response.prompt_feedback, chunk.prompt_feedback);
        replace(&mut self.response.usage_metadata, chunk.usage_metadata);
        replace(&mut self.response.model_version, chunk.model_version);
        replace(&mut self.response.response_id, chunk.response_id);
        self.response.extra.extend(chunk.extra);
        let mut candidates = chunk.candidates.into_value().into_iter().flatten();
        let first = candidates.find(|candidate| candidate.index.value().is_none_or(|index| *index == 0));
        first.map_or_else(Vec::new, |candidate| self.take_candidate(candidate))
    }

    fn take_candidate(&mut self, candidate: Candidate) -> Vec<Delta> {
        self.has_candidate = true;
        replace(&mut self.candidate.finish_reason, candidate.finish_reason);
        replace(&mut self.candidate.finish_message, candidate.finish_message);
        replace(&mut self.candidate.index, candidate.index);
        self.candidate.extra.extend(candidate.extra);
        let Some(content) = candidate.content.into_value() else { return Vec::new() };
        let kept = self.candidate.content.get_or_insert_default();
        replace(&mut kept.role, content.role);
        kept.extra.extend(content.extra);
        let parts = content.parts.into_value().unwrap_or_default();
        let said = parts.iter().filter_map(shown).collect();
        for part in parts {
            self.add(part);
        }
        said
    }

    /// Text goes on where the last part left off, if both are of one kind; all else is a part of its own.
    fn add(&mut self, part: Part) {
        match self.parts.last_mut() {
            Some(last) if goes_on(last, &part) => {
                last.text.get_or_insert_default().push_str(part.text.text().unwrap_or_default());
                replace(&mut last.thought_signature, part.thought_signature);
            }
            _ => self.parts.push(part),
        }
    }
}

fn goes_on(last: &Part, next: &Part) -> bool {
    let is_text = |part: &Part| part.text.value().is_some() && part.extra.is_empty();
    is_text(last)
        && is_text(next)
        && last.thought_signature.text().is_none()
        && is_thought(last) == is_thought(next)
}

fn is_thought(part: &Part) -> bool {
    part.thought.value() == Some(&true)
}

fn shown(part: &Part) -> Option<Delta> {
    let text = part.text.text()?.to_owned();
    Some(if is_thought(part) { Delta::Thought(text) } else { Delta::Text(text) })
}

fn replace<T>(kept: &mut Field<T>, came: Field<T>) {
    if !came.is_missing() {
        *kept = came;
    }
}

impl Response {
    /// The answer as a stream of events.
    pub fn to_events(&self) -> Vec<SseEvent> {
        let Some(candidate) = self.candidates.value().and_then(|candidates| candidates.first()) else {
            return vec![SseEvent::json(self)];
        };
        let content = candidate.content.value();
        let mut pieces: Vec<Part> = Vec::new();
        for part in content.and_then(|content| content.parts.value()).into_iter().flatten() {
            take_apart(part, &mut pieces);
        }
        let mut events = Vec::with_capacity(pieces.len() + 1);
        let last = pieces.pop();
        let role = content.map_or(Field::Missing, |content| content.role.clone());
        for piece in pieces {
            let content = Content { role: role.clone(), parts: vec![piece].into(), extra: Map::new() };
            let part = Candidate { content: content.into(), index: candidate.index, ..Candidate::default() };
            let chunk = Self {
                candidates: vec![part].into(),
                model_version: self.model_version.clone(),
                response_id: self.response_id.clone(),
                ..Self::default()
            };
            events.push(SseEvent::json(&chunk));
        }
        let mut end = candidate.clone();
        if let (Some(content), Some(last)) = (end.content.value_mut(), last) {
            content.parts = vec![last].into();
        }
        events.push(SseEvent::json(&Self { candidates: vec![end].into(), ..self.clone() }));
        events
    }
}

/// Cuts a text part into words; the last carries what else the part says.
fn take_apart(part: &Part, pieces: &mut Vec<Part>) {
    let mut words: Vec<&str> = sse::words(part.text.text().unwrap_or_default()).collect();
    let last = words.pop();
    if part.extra.is_empty() {
        pieces.extend(words.into_iter().map(|word| Part {
            text: word.into(),
            thought: part.thought,
            ..Part::default()
        }));
        pieces.push(match last {
            Some(word) => Part { text: word.into(), ..part.clone() },
            None => part.clone(),
        });
    } else {
        pieces.push(part.clone());
    }
}
