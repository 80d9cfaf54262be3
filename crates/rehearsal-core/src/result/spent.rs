//! What a run used: calls of models, tokens, money.

use serde::{Deserialize, Serialize};

use super::{CaseResult, TokenUsage};

/// How calls to a model went, and how many it was asked at once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ModelCalls {
    /// The model, as people write it.
    pub model: String,
    /// How many calls were sent, each repetition counted.
    pub sent: u64,
    /// How many it refused because there were too many.
    pub refused: u64,
    /// The most that were under way at once.
    pub peak: usize,
    /// How many are under way; none when a run has ended.
    #[serde(default, skip_serializing_if = "is_none")]
    pub now: usize,
    /// How many may be under way at once, as it was found out.
    pub limit: usize,
    /// For so many milliseconds it is left alone, because it said when to come back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause_ms: Option<u64>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_none(count: &usize) -> bool {
    *count == 0
}

/// What was used of something that is limited, and the limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Spent {
    /// Tokens of all models, read and written.
    pub tokens: u64,
    /// What they cost in US dollars, where every model has a price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
}

impl Spent {
    /// Adds what a case used, as far as its result says it.
    pub fn add(&mut self, case: &CaseResult) {
        let TokenUsage { agent, user, judge } = case.token_usage;
        for usage in [agent, user, judge].into_iter().flatten() {
            self.tokens = self.tokens.saturating_add(usage.input).saturating_add(usage.output);
        }
        if let Some(cost) = case.cost {
            self.cost = Some(self.cost.unwrap_or_default() + cost);
        }
    }
}

/// The limits of a run, what it used of them, and which it came to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BudgetReport {
    /// The most tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// The most US dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_cost: Option<f64>,
    /// The longest time, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_time_ms: Option<u64>,
    /// What was used.
    pub spent: Spent,
    /// Which limit ended the run before its cases did, in words for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reached: Option<String>,
}
