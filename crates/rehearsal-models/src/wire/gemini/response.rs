//! What is answered.

use std::sync::Arc;

use rehearsal_core::{FinishReason, ModelResponse, Role};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::content::Content;
use super::error::error_in;
use crate::wire::{Envelope, Field, WireError, parse};

/// The body of an answer of `models/…:generateContent`, and each piece of a streamed one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Response {
    /// The answers; the first counts.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub candidates: Field<Vec<Candidate>>,
    /// Why there is no answer, where the question was refused.
    #[serde(default, alias = "prompt_feedback", skip_serializing_if = "Field::is_missing")]
    pub prompt_feedback: Field<PromptFeedback>,
    /// What it cost.
    #[serde(default, alias = "usage_metadata", skip_serializing_if = "Field::is_missing")]
    pub usage_metadata: Field<UsageMetadata>,
    /// The model that answered.
    #[serde(default, alias = "model_version", skip_serializing_if = "Field::is_missing")]
    pub model_version: Field<String>,
    /// Its id.
    #[serde(default, alias = "response_id", skip_serializing_if = "Field::is_missing")]
    pub response_id: Field<String>,
    /// Fields that are not known here.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// One answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Candidate {
    /// What the model says.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub content: Field<Content>,
    /// Why it stopped.
    #[serde(default, alias = "finish_reason", skip_serializing_if = "Field::is_missing")]
    pub finish_reason: Field<String>,
    /// Why it stopped, in words.
    #[serde(default, alias = "finish_message", skip_serializing_if = "Field::is_missing")]
    pub finish_message: Field<String>,
    /// Its number.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub index: Field<u64>,
    /// Fields that are not known here.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// Why a question was refused.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PromptFeedback {
    /// Why.
    #[serde(default, alias = "block_reason", skip_serializing_if = "Field::is_missing")]
    pub block_reason: Field<String>,
    /// Fields that are not known here.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// What an answer cost.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UsageMetadata {
    /// Tokens read, cached ones included.
    #[serde(default, alias = "prompt_token_count", skip_serializing_if = "Field::is_missing")]
    pub prompt_token_count: Field<u64>,
    /// Tokens written, without thoughts.
    #[serde(default, alias = "candidates_token_count", skip_serializing_if = "Field::is_missing")]
    pub candidates_token_count: Field<u64>,
    /// All together.
    #[serde(default, alias = "total_token_count", skip_serializing_if = "Field::is_missing")]
    pub total_token_count: Field<u64>,
    /// Of the tokens read, those that came from a cache.
    #[serde(default, alias = "cached_content_token_count", skip_serializing_if = "Field::is_missing")]
    pub cached_content_token_count: Field<u64>,
    /// Tokens of thoughts.
    #[serde(default, alias = "thoughts_token_count", skip_serializing_if = "Field::is_missing")]
    pub thoughts_token_count: Field<u64>,
    /// Tokens read from the results of the provider's own tools.
    #[serde(default, alias = "tool_use_prompt_token_count", skip_serializing_if = "Field::is_missing")]
    pub tool_use_prompt_token_count: Field<u64>,
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
            None => parse("the answer is not a generated content", text),
        }
    }

    /// Reads what a model answered.
    ///
    /// # Errors
    /// There is neither an answer nor a refusal in it, or the model's calls could not be understood.
    pub fn to_core(&self) -> Result<ModelResponse, WireError> {
        let (content, finish) = match self.candidates.value().and_then(|candidates| candidates.first()) {
            Some(candidate) => candidate.to_core()?,
            None if self.block_reason().is_some() => (empty(), Some(FinishReason::Safety)),
            None => return Err(WireError::malformed("the answer has no candidates")),
        };
        Ok(ModelResponse {
            content: Arc::new(content),
            finish,
            usage: self.usage_metadata.value().map(UsageMetadata::to_core),
            model_version: self.model_version.text().map(ToOwned::to_owned),
        })
    }

    /// Writes what a model answered.
    ///
    /// # Errors
    /// Something in it has no place in this API.
    pub fn from_core(response: &ModelResponse, envelope: &Envelope) -> Result<Self, WireError> {
        let mut content = Content::from_core(&response.content)?;
        content.role = "model".into();
        let candidate = Candidate {
            content: content.into(),
            finish_reason: write_finish(response).into(),
            index: 0.into(),
            ..Candidate::default()
        };
        let model = response.model_version.as_ref().unwrap_or(&envelope.model);
        Ok(Self {
            candidates: vec![candidate].into(),
            usage_metadata: response.usage.map(UsageMetadata::from_core).into(),
            model_version: model.clone().into(),
            response_id: envelope.id.as_str().into(),
            ..Self::default()
        })
    }

    pub(super) fn block_reason(&self) -> Option<&str> {
        self.prompt_feedback.value().and_then(|feedback| feedback.block_reason.text())
    }
}

impl Candidate {
    fn to_core(&self) -> Result<(rehearsal_core::Content, Option<FinishReason>), WireError> {
        if let Some(reason @ ("MALFORMED_FUNCTION_CALL" | "MALFORMED_RESPONSE")) = self.finish_reason.text() {
            let words = self.finish_message.text().unwrap_or("no further words");
            return Err(WireError::malformed(format!("{reason}: {words}")));
        }
        let mut content = match self.content.value() {
            Some(content) => content.to_core()?,
            None => empty(),
        };
        content.role = Some(Role::Model);
        let finish = self.finish_reason.text().map(|reason| read_finish(reason, &content));
        Ok((content, finish))
    }
}

fn empty() -> rehearsal_core::Content {
    rehearsal_core::Content::new(Role::Model, Vec::new())
}

impl UsageMetadata {
    fn to_core(&self) -> rehearsal_core::Usage {
        let count = |field: &Field<u64>| field.value().copied().unwrap_or(0);
        let thoughts = count(&self.thoughts_token_count);
        rehearsal_core::Usage {
            input: count(&self.prompt_token_count).saturating_add(count(&self.tool_use_prompt_token_count)),
            output: count(&self.candidates_token_count).saturating_add(thoughts),
            cached: count(&self.cached_content_token_count),
            thoughts,
        }
    }

    fn from_core(usage: rehearsal_core::Usage) -> Self {
        let some = |count: u64| if count > 0 { Field::Value(count) } else { Field::Missing };
        Self {
            prompt_token_count: usage.input.into(),
            candidates_token_count: usage.output.saturating_sub(usage.thoughts).into(),
            total_token_count: usage.input.saturating_add(usage.output).into(),
            cached_content_token_count: some(usage.cached),
            thoughts_token_count: some(usage.thoughts),
            ..Self::default()
        }
    }
}

fn read_finish(reason: &str, content: &rehearsal_core::Content) -> FinishReason {
    match reason {
        "STOP" if content.calls().next().is_some() => FinishReason::ToolCalls,
        "STOP" => FinishReason::Stop,
        "MAX_TOKENS" => FinishReason::MaxTokens,
        "SAFETY"
        | "RECITATION"
        | "BLOCKLIST"
        | "PROHIBITED_CONTENT"
        | "SPII"
        | "IMAGE_SAFETY"
        | "IMAGE_PROHIBITED_CONTENT"
        | "IMAGE_RECITATION" => FinishReason::Safety,
        other => FinishReason::Other(other.to_owned()),
    }
}

fn write_finish(response: &ModelResponse) -> &str {
    match &response.finish {
        Some(FinishReason::MaxTokens) => "MAX_TOKENS",
        Some(FinishReason::Safety) => "SAFETY",
        Some(FinishReason::Other(reason)) => reason,
        Some(FinishReason::Stop | FinishReason::ToolCalls) | None => "STOP",
    }
}
