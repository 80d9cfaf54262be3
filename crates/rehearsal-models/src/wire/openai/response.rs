//! What is answered.

use std::sync::Arc;

use rehearsal_core::{Content, FinishReason, ModelResponse, Role};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};

use super::error::error_in_answer;
use super::message::{Message, is_refusal, model_message};
use crate::wire::{Envelope, Field, WireError, call_ids, parse, tool_text};

/// The body of an answer of `chat/completions`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Response {
    /// Its id.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub id: Field<String>,
    /// Always `chat.completion`.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub object: Field<String>,
    /// When it was made, in seconds since 1970.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub created: Field<Number>,
    /// The model that answered.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub model: Field<String>,
    /// The answers; the first counts.
    pub choices: Vec<Choice>,
    /// What it cost.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub usage: Field<Usage>,
    /// Fields that are not known here.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// One answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Choice {
    /// Its number.
    #[serde(default)]
    pub index: u64,
    /// What the model says.
    pub message: Message,
    /// Why it stopped.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub finish_reason: Field<String>,
    /// Fields that are not known here.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// What an answer cost.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens read, cached ones included.
    #[serde(default)]
    pub prompt_tokens: u64,
    /// Tokens written, reasoning included.
    #[serde(default)]
    pub completion_tokens: u64,
    /// Both together.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub total_tokens: Field<u64>,
    /// Of the tokens read, which were what.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub prompt_tokens_details: Field<PromptDetails>,
    /// Of the tokens written, which were what.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub completion_tokens_details: Field<CompletionDetails>,
    /// Fields that are not known here.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// Of the tokens read, which were what.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PromptDetails {
    /// Those that came from a cache.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub cached_tokens: Field<u64>,
    /// Fields that are not known here.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// Of the tokens written, which were what.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CompletionDetails {
    /// Those that were thoughts.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub reasoning_tokens: Field<u64>,
    /// Fields that are not known here.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl Response {
    /// Reads an answer.
    ///
    /// # Errors
    /// It is not JSON, not an answer, or reports an error.
    pub fn parse(text: &str) -> Result<Self, WireError> {
        let body: Value = parse("the answer is not JSON", text)?;
        match error_in_answer(&body) {
            Some(error) => Err(error),
            None => parse("the answer is not a chat completion", text),
        }
    }

    /// Reads what a model answered.
    ///
    /// # Errors
    /// There is no answer in it, or the token limit cut a call's arguments off.
    pub fn to_core(&self) -> Result<ModelResponse, WireError> {
        let choice = self.choices.first().ok_or_else(|| WireError::malformed("the answer has no choices"))?;
        let content = Content::new(Role::Model, choice.message.model_parts()?);
        let finish = choice.finish_reason.text().map(|reason| read_finish(reason, &content));
        tool_text::not_cut_off(&content, finish.as_ref())?;
        Ok(ModelResponse {
            content: Arc::new(content),
            finish,
            usage: self.usage.value().map(Usage::to_core),
            model_version: self.model.text().map(ToOwned::to_owned),
        })
    }

    /// Writes what a model answered.
    ///
    /// # Errors
    /// Something in it has no place in this API.
    pub fn from_core(response: &ModelResponse, envelope: &Envelope) -> Result<Self, WireError> {
        let message = model_message(&response.content, call_ids::of_response(&response.content), None)?;
        let choice = Choice { finish_reason: write_finish(response).into(), message, ..Choice::default() };
        let model = response.model_version.as_ref().unwrap_or(&envelope.model);
        Ok(Self {
            id: envelope.id.as_str().into(),
            object: "chat.completion".into(),
            created: Number::from(envelope.created).into(),
            model: model.clone().into(),
            choices: vec![choice],
            usage: response.usage.map(Usage::from_core).into(),
            extra: Map::new(),
        })
    }
}

impl Usage {
    fn to_core(&self) -> rehearsal_core::Usage {
        let cached = self.prompt_tokens_details.value().and_then(|details| details.cached_tokens.value());
        let thoughts =
            self.completion_tokens_details.value().and_then(|details| details.reasoning_tokens.value());
        rehearsal_core::Usage {
            input: self.prompt_tokens,
            output: self.completion_tokens,
            cached: cached.copied().unwrap_or(0),
            thoughts: thoughts.copied().unwrap_or(0),
        }
    }

    fn from_core(usage: rehearsal_core::Usage) -> Self {
        Self {
            prompt_tokens: usage.input,
            completion_tokens: usage.output,
            total_tokens: usage.input.saturating_add(usage.output).into(),
            prompt_tokens_details: PromptDetails { cached_tokens: usage.cached.into(), extra: Map::new() }
                .into(),
            completion_tokens_details: CompletionDetails {
                reasoning_tokens: usage.thoughts.into(),
                extra: Map::new(),
            }
            .into(),
            extra: Map::new(),
        }
    }
}

/// A refusal and calls count for more than the reason given beside them, which is `stop` with many servers.
fn read_finish(reason: &str, content: &Content) -> FinishReason {
    match reason {
        "stop" if content.parts.iter().any(is_refusal) => FinishReason::Safety,
        "stop" if content.calls().next().is_some() => FinishReason::ToolCalls,
        "stop" => FinishReason::Stop,
        "tool_calls" | "function_call" => FinishReason::ToolCalls,
        "length" => FinishReason::MaxTokens,
        "content_filter" => FinishReason::Safety,
        other => FinishReason::Other(other.to_owned()),
    }
}

fn write_finish(response: &ModelResponse) -> &str {
    match &response.finish {
        Some(FinishReason::Safety) if response.content.parts.iter().any(is_refusal) => "stop",
        Some(FinishReason::ToolCalls) => "tool_calls",
        Some(FinishReason::MaxTokens) => "length",
        Some(FinishReason::Safety) => "content_filter",
        Some(FinishReason::Other(reason)) => reason,
        None if response.content.calls().next().is_some() => "tool_calls",
        Some(FinishReason::Stop) | None => "stop",
    }
}
