//! What is answered.

use std::sync::Arc;

use rehearsal_core::{Content, FinishReason, ModelResponse, Part, Role};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::block::{Block, ThinkingBlock, parts_of};
use super::error::error_in;
use crate::wire::call_ids::{CallIds, ToolNames};
use crate::wire::{Envelope, Field, WireError, parse, tool_text};

/// The body of an answer of `v1/messages`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Response {
    /// Its id.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub id: Field<String>,
    /// Always `message`.
    #[serde(rename = "type", default, skip_serializing_if = "Field::is_missing")]
    pub kind: Field<String>,
    /// Always `assistant`.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub role: Field<String>,
    /// The model that answered.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub model: Field<String>,
    /// What it says.
    pub content: Vec<Block>,
    /// Why it stopped.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub stop_reason: Field<String>,
    /// The text that ended the answer, if one did.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub stop_sequence: Field<String>,
    /// What it cost.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub usage: Field<Usage>,
    /// Fields that are not known here.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// What an answer cost.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens read, without those from a cache or put into one.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub input_tokens: Field<u64>,
    /// Tokens written.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub output_tokens: Field<u64>,
    /// Tokens read from a cache.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub cache_read_input_tokens: Field<u64>,
    /// Tokens read and put into a cache.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub cache_creation_input_tokens: Field<u64>,
    /// Of the tokens written, which were what.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub output_tokens_details: Field<OutputDetails>,
    /// Fields that are not known here.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// Of the tokens written, which were what.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OutputDetails {
    /// Those that were thoughts.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub thinking_tokens: Field<u64>,
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
        match error_in(&body) {
            Some(error) => Err(error),
            None => parse("the answer is not a message", text),
        }
    }

    /// Reads what a model answered.
    ///
    /// # Errors
    /// The token limit cut a call's arguments off.
    pub fn to_core(&self) -> Result<ModelResponse, WireError> {
        let content = Content::new(Role::Model, parts_of(&self.content, &mut ToolNames::default()));
        let finish = self.stop_reason.text().map(read_finish);
        tool_text::not_cut_off(&content, finish.as_ref())?;
        Ok(ModelResponse {
            content: Arc::new(content),
            finish,
            usage: self.usage.value().map(Usage::to_core),
            model_version: self.model.text().map(ToOwned::to_owned),
        })
    }

    /// Writes what a model answered. Thoughts without a signature get an empty one.
    ///
    /// # Errors
    /// Something in it has no place in this API.
    pub fn from_core(response: &ModelResponse, envelope: &Envelope) -> Result<Self, WireError> {
        let mut ids = CallIds::of(std::slice::from_ref(&response.content));
        let mut content = Vec::with_capacity(response.content.parts.len());
        for part in &response.content.parts {
            content.push(match Block::from_core(part, &mut ids)? {
                Some(block) => block,
                None => unsigned(part),
            });
        }
        let model = response.model_version.as_ref().unwrap_or(&envelope.model);
        Ok(Self {
            id: envelope.id.as_str().into(),
            kind: "message".into(),
            role: "assistant".into(),
            model: model.clone().into(),
            content,
            stop_reason: write_finish(response).into(),
            stop_sequence: Field::Null,
            usage: Usage::from_core(response.usage.unwrap_or_default()).into(),
            extra: Map::new(),
        })
    }
}

fn unsigned(thought: &Part) -> Block {
    let thinking = thought.as_text().unwrap_or_default().to_owned();
    Block::Thinking(ThinkingBlock { thinking, signature: "".into(), extra: Map::new() })
}

impl Usage {
    pub(super) fn to_core(&self) -> rehearsal_core::Usage {
        let count = |field: &Field<u64>| field.value().copied().unwrap_or(0);
        let cached = count(&self.cache_read_input_tokens);
        let thoughts =
            self.output_tokens_details.value().map_or(0, |details| count(&details.thinking_tokens));
        rehearsal_core::Usage {
            input: count(&self.input_tokens)
                .saturating_add(cached)
                .saturating_add(count(&self.cache_creation_input_tokens)),
            output: count(&self.output_tokens),
            cached,
            thoughts,
        }
    }

    fn from_core(usage: rehearsal_core::Usage) -> Self {
        let details = OutputDetails { thinking_tokens: usage.thoughts.into(), extra: Map::new() };
        Self {
            input_tokens: usage.input.saturating_sub(usage.cached).into(),
            output_tokens: usage.output.into(),
            cache_read_input_tokens: usage.cached.into(),
            cache_creation_input_tokens: 0.into(),
            output_tokens_details: if usage.thoughts > 0 { details.into() } else { Field::Missing },
            extra: Map::new(),
        }
    }
}

fn read_finish(reason: &str) -> FinishReason {
    match reason {
        "end_turn" | "stop_sequence" => FinishReason::Stop,
        "tool_use" => FinishReason::ToolCalls,
        "max_tokens" => FinishReason::MaxTokens,
        "refusal" => FinishReason::Safety,
        other => FinishReason::Other(other.to_owned()),
    }
}

fn write_finish(response: &ModelResponse) -> &str {
    match &response.finish {
        Some(FinishReason::ToolCalls) => "tool_use",
        Some(FinishReason::MaxTokens) => "max_tokens",
        Some(FinishReason::Safety) => "refusal",
        Some(FinishReason::Other(reason)) => reason,
        None if response.content.calls().next().is_some() => "tool_use",
        Some(FinishReason::Stop) | None => "end_turn",
    }
}
