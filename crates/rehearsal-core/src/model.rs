//! What a model is asked and what it answers.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Content, ToolDeclaration};

/// Everything a model sees when it is asked to decide.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelRequest {
    /// What stays the same from turn to turn.
    pub setup: Arc<ModelSetup>,
    /// The conversation so far.
    pub contents: Vec<Arc<Content>>,
}

/// The part of a model request that stays the same from turn to turn.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelSetup {
    /// The model's name as its provider knows it; empty where a casting decides.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub model: String,
    /// The instructions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    /// The tools it may call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<Arc<ToolDeclaration>>,
    /// The JSON Schema its final answer must satisfy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Arc<Value>>,
    /// How it should answer.
    #[serde(default, skip_serializing_if = "Settings::is_default")]
    pub settings: Settings,
}

/// How a model should answer. What is not set is left to the provider.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// Randomness of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Nucleus sampling.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    /// The longest answer, in tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// A seed, for providers that take one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<i64>,
    /// Texts that end the answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stop: Vec<String>,
    /// Whether it may, must or must not call tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<ToolChoice>,
    /// Settings of one provider, by its own names.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub extra: Map<String, Value>,
}

impl Settings {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Whether the model may, must or must not call tools.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolChoice {
    /// It may.
    Auto,
    /// It must call at least one.
    Required,
    /// It must not.
    None,
    /// It must call this one.
    Tool(String),
}

/// What a model answered.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelResponse {
    /// What it said and which tools it calls.
    pub content: Arc<Content>,
    /// Why it stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish: Option<FinishReason>,
    /// The tokens it cost, where the provider says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// The exact model that answered, where the provider says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_version: Option<String>,
}

impl ModelResponse {
    /// An answer with this content and nothing else.
    pub fn new(content: Content) -> Self {
        Self { content: Arc::new(content), ..Self::default() }
    }
}

/// Why a model stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// It was done, or a stop text came.
    Stop,
    /// It wants tools to be called.
    ToolCalls,
    /// The answer got too long.
    MaxTokens,
    /// The provider held the answer back.
    Safety,
    /// Another reason, in the provider's words.
    Other(String),
}

/// Tokens that a model call cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Usage {
    /// Tokens read, cached ones included.
    pub input: u64,
    /// Tokens written, thoughts included.
    pub output: u64,
    /// Of the tokens read, those that came from a cache.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cached: u64,
    /// Of the tokens written, those that were thoughts.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub thoughts: u64,
}

impl std::ops::AddAssign for Usage {
    /// Adds up, and stays at the most there is: a server may say anything.
    fn add_assign(&mut self, other: Self) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cached = self.cached.saturating_add(other.cached);
        self.thoughts = self.thoughts.saturating_add(other.thoughts);
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}
