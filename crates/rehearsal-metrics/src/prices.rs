//! What models cost.

use std::collections::BTreeMap;

use rehearsal_core::Usage;

/// What models cost, by their specification such as `openai:gpt-4o`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prices(pub BTreeMap<String, Price>);

/// What a model costs, in US dollars for a million tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Price {
    /// For tokens read.
    pub input: f64,
    /// For tokens written.
    pub output: f64,
    /// For tokens read from a cache; as for others unless told.
    pub cached: Option<f64>,
}

impl Prices {
    /// These prices, and those of others for models that these do not name.
    #[must_use]
    pub fn or(mut self, others: &Self) -> Self {
        for (model, price) in &others.0 {
            self.0.entry(model.clone()).or_insert(*price);
        }
        self
    }
}

impl Price {
    /// What so many tokens cost, in US dollars.
    #[expect(clippy::cast_precision_loss, reason = "nobody pays for 2^53 tokens")]
    pub fn of(&self, usage: Usage) -> f64 {
        let cached = usage.cached.min(usage.input);
        let read = (usage.input - cached) as f64 * self.input;
        let read_from_cache = cached as f64 * self.cached.unwrap_or(self.input);
        (read + read_from_cache + usage.output as f64 * self.output) / 1e6
    }
}
