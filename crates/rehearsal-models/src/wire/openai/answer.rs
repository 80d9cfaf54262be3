//! An answer as whoever asked reads it: without what only a server has to write back.
//!
//! A [`Response`] keeps each field that is not known here, which costs more than all the rest of reading it. Nothing that a
//! model says is among them.

use rehearsal_core::ModelResponse;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Number, Value};

use super::message::{Message, MessageContent, ToolCall};
use super::response::{Choice, CompletionDetails, PromptDetails, Response, Usage};
use crate::wire::{Field, WireError};

#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    id: Field<String>,
    #[serde(default)]
    object: Field<String>,
    #[serde(default)]
    created: Field<Number>,
    #[serde(default)]
    model: Field<String>,
    choices: Vec<Said>,
    #[serde(default)]
    usage: Field<Cost>,
    /// Some servers report an error in what should be an answer.
    #[serde(default)]
    error: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct Said {
    #[serde(default)]
    index: u64,
    message: Words,
    #[serde(default)]
    finish_reason: Field<String>,
    #[serde(default)]
    error: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct Words {
    role: String,
    #[serde(default)]
    content: Field<MessageContent>,
    #[serde(default)]
    reasoning_content: Field<String>,
    #[serde(default)]
    reasoning: Option<Value>,
    #[serde(default)]
    refusal: Field<String>,
    #[serde(default)]
    tool_calls: Field<Vec<ToolCall>>,
    #[serde(default)]
    tool_call_id: Field<String>,
}

#[derive(Deserialize)]
struct Cost {
    #[serde(default)]
    prompt_tokens: u64,
    #[serde(default)]
    completion_tokens: u64,
    #[serde(default)]
    total_tokens: Field<u64>,
    #[serde(default)]
    prompt_tokens_details: Field<Cached>,
    #[serde(default)]
    completion_tokens_details: Field<Thought>,
}

#[derive(Deserialize)]
struct Cached {
    #[serde(default)]
    cached_tokens: Field<u64>,
}

#[derive(Deserialize)]
struct Thought {
    #[serde(default)]
    reasoning_tokens: Field<u64>,
}

/// Reads what a model answered.
///
/// # Errors
/// As [`Response::parse`] and [`Response::to_core`].
pub(crate) fn read(text: &str) -> Result<ModelResponse, WireError> {
    let read: Option<Answer> = rehearsal_core::json::from_str(text).ok();
    match read.and_then(Answer::plain) {
        Some(response) => response.to_core(),
        // Whatever is out of the ordinary is told from the whole.
        None => Response::parse(text)?.to_core(),
    }
}

impl Answer {
    /// The answer, if it is one and nothing else.
    fn plain(self) -> Option<Response> {
        let Self { id, object, created, model, choices, usage, error } = self;
        let is_failed = |said: &Said| said.error.is_some() || said.finish_reason.text() == Some("error");
        if error.is_some() || choices.iter().any(is_failed) {
            return None;
        }
        let choices = choices.into_iter().map(Said::plain).collect();
        let usage = mapped(usage, Cost::plain);
        Some(Response { id, object, created, model, choices, usage, extra: Map::new() })
    }
}

impl Said {
    fn plain(self) -> Choice {
        let Words { role, content, reasoning_content, reasoning, refusal, tool_calls, tool_call_id } =
            self.message;
        let extra = reasoning.map(|said| ("reasoning".to_owned(), said)).into_iter().collect();
        let message = Message { role, content, reasoning_content, refusal, tool_calls, tool_call_id, extra };
        Choice { index: self.index, message, finish_reason: self.finish_reason, extra: Map::new() }
    }
}

impl Cost {
    fn plain(self) -> Usage {
        let prompt = |Cached { cached_tokens }| PromptDetails { cached_tokens, extra: Map::new() };
        let thoughts =
            |Thought { reasoning_tokens }| CompletionDetails { reasoning_tokens, extra: Map::new() };
        Usage {
            prompt_tokens: self.prompt_tokens,
            completion_tokens: self.completion_tokens,
            total_tokens: self.total_tokens,
            prompt_tokens_details: mapped(self.prompt_tokens_details, prompt),
            completion_tokens_details: mapped(self.completion_tokens_details, thoughts),
            extra: Map::new(),
        }
    }
}

fn mapped<T, U>(field: Field<T>, to: impl FnOnce(T) -> U) -> Field<U> {
    match field {
        Field::Missing => Field::Missing,
        Field::Null => Field::Null,
        Field::Value(value) => Field::Value(to(value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both ways of reading give the same.
    fn check(text: &str) {
        assert_eq!(read(text), Response::parse(text).and_then(|whole| whole.to_core()), "{text}");
    }

    #[test]
    fn an_answer_is_read_as_it_is_from_the_whole() {
        for text in [
            r#"{"choices": [{"message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"}]}"#,
            r#"{"id": "c", "object": "chat.completion", "created": 1, "model": "m", "service_tier": "x",
                "choices": [{"index": 0, "logprobs": null, "message": {"role": "assistant", "content": null,
                "refusal": null, "reasoning": "well", "tool_calls": [{"id": "1", "type": "function", "more": 7,
                "function": {"name": "f", "arguments": "{\"a\":1}"}}]}, "finish_reason": "tool_calls"}],
                "usage": {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7,
                "prompt_tokens_details": {"cached_tokens": 2, "audio_tokens": 0},
                "completion_tokens_details": {"reasoning_tokens": 1}}}"#,
            r#"{"choices": [{"message": {"role": "assistant", "content": [{"type": "text", "text": "a"},
                {"type": "refusal", "refusal": "no"}], "reasoning_content": "hm", "refusal": "no"}}], "error": null}"#,
            r#"{"choices": [{"message": {"role": "assistant", "content": "half"}, "finish_reason": "error"}]}"#,
            r#"{"choices": [{"message": {"role": "assistant", "content": "half"}, "error": {"message": "x"}}]}"#,
            r#"{"error": {"message": "too much", "code": 429}}"#,
            r#"{"error": "down", "choices": []}"#,
            r#"{"choices": []}"#,
            r#"{"choices": [{"message": {"role": "assistant", "content": 5}}]}"#,
            r#"{"choices": [{"message": {"content": "nobody"}}]}"#,
            r#"{"id": 5, "choices": [{"message": {"role": "assistant", "content": "x"}}]}"#,
            r#"{"choices": [{"message": {"role": "assistant", "content": "x"}}], "usage": {"prompt_tokens": "3"}}"#,
            "[]",
            "",
        ] {
            check(text);
        }
    }
}
