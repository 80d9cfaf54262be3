//! What models cost.

use serde::{Deserialize, Serialize};

use crate::Usage;

/// What a model costs, in US dollars for a million tokens.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ModelPrice {
    /// For tokens read.
    pub input: f64,
    /// For tokens written.
    pub output: f64,
    /// For tokens read from a cache; as for others unless told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached: Option<f64>,
}

impl ModelPrice {
    /// The same price without anything being cheaper for coming from a cache: what a call costs at most.
    #[must_use]
    pub fn without_cache(self) -> Self {
        Self { input: self.input.max(self.cached.unwrap_or(0.0)), cached: None, ..self }
    }

    /// What so many tokens cost, in US dollars.
    #[expect(clippy::cast_precision_loss, reason = "nobody pays for 2^53 tokens")]
    pub fn of(&self, usage: Usage) -> f64 {
        let cached = usage.cached.min(usage.input);
        let read = (usage.input - cached) as f64 * self.input;
        let read_from_cache = cached as f64 * self.cached.unwrap_or(self.input);
        (read + read_from_cache + usage.output as f64 * self.output) / 1e6
    }
}
