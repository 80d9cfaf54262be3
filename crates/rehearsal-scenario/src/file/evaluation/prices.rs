//! Evaluations of what models used, and what that costs.

use std::collections::BTreeMap;

use rehearsal_core::Usage;

use super::Check;
use crate::Problem;
use crate::read::{Fields, Reader};
use crate::yaml::{Node, NodeValue};

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
    /// Reads `prices` of a file.
    pub(crate) fn read(reader: &mut Reader<'_>, node: &Node) -> Self {
        let NodeValue::Map(entries) = &node.value else {
            drop(reader.fields(node, "`prices`"));
            return Self::default();
        };
        let mut prices = BTreeMap::new();
        for entry in entries {
            let what = format!("the price of `{}`", entry.key);
            if let Some(price) = Price::read(reader, &entry.value, what) {
                prices.insert(entry.key.clone(), price);
            }
        }
        Self(prices)
    }

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
    fn read(reader: &mut Reader<'_>, node: &Node, what: String) -> Option<Self> {
        let any = 0.0..=f64::INFINITY;
        let mut fields = reader.fields(node, what)?;
        let mut require = |key: &'static str, example: &str| {
            fields.require(reader, key, example)?;
            fields.number(reader, key, any.clone())
        };
        let input = require("input", "input: 2.5");
        let output = require("output", "output: 10");
        let cached = fields.number(reader, "cached", any);
        fields.finish(reader);
        Some(Self { input: input?, output: output?, cached })
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

pub(super) fn token_count(reader: &mut Reader<'_>, fields: &mut Fields<'_>) -> Check {
    let keys = ["max_input_tokens", "max_output_tokens", "max_total_tokens"];
    if !keys.iter().any(|key| fields.has(key)) {
        let problem =
            Problem::error("always-true", fields.span(), "any number of tokens is what this asks for");
        let help = "add one of `max_input_tokens`, `max_output_tokens` and `max_total_tokens`";
        reader.report_without_effect(problem.help(help));
    }
    let mut most = |key: &'static str| fields.integer(reader, key, 0.0..=1e15);
    Check::TokenCount {
        max_input_tokens: most("max_input_tokens"),
        max_output_tokens: most("max_output_tokens"),
        max_total_tokens: most("max_total_tokens"),
    }
}

pub(super) fn cost(reader: &mut Reader<'_>, fields: &mut Fields<'_>) -> Check {
    let there = fields.require(reader, "max_cost_usd", "max_cost_usd: 0.05").is_some();
    let most = if there { fields.number(reader, "max_cost_usd", 0.0..=f64::INFINITY) } else { None };
    Check::Cost { max_cost_usd: most.unwrap_or(0.0) }
}
