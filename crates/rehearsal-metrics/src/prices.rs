//! What models cost.

use std::collections::BTreeMap;

pub use rehearsal_core::ModelPrice as Price;

/// What models cost, by their specification such as `openai:gpt-4o`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prices(pub BTreeMap<String, Price>);

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
