//! How far a run is that goes on.

use serde::{Deserialize, Serialize};

use super::{CaseResult, ModelCalls, Spent, Summary};
use crate::Timestamp;

/// How far a run is that goes on. Its process says so from time to time; it may be a little further by now.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunProgress {
    /// When it was so far.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub at: Timestamp,
    /// How many cases it is to run, repeats counted. More where some are repeated.
    pub planned: u64,
    /// How many run now.
    pub running: u64,
    /// What those came to that have ended: `total` is their number.
    pub ended: Summary,
    /// What those used that have ended. Without costs where a model has no price.
    pub spent: Spent,
    /// How many calls to the models of providers are under way.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<ModelCalls>,
    /// Whether no further case starts for now.
    #[serde(default, skip_serializing_if = "is_false")]
    pub held: bool,
    /// How long the rest would take at the pace of those that have ended, in milliseconds; nothing while none has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_ms: Option<u64>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_false(value: &bool) -> bool {
    !value
}

impl RunProgress {
    /// A run of which nothing has begun.
    pub fn new(at: Timestamp) -> Self {
        Self {
            at,
            planned: 0,
            running: 0,
            ended: Summary::default(),
            spent: Spent { tokens: 0, cost: Some(0.0) },
            calls: Vec::new(),
            held: false,
            left_ms: None,
        }
    }

    /// The JSON Schema of what is written.
    #[cfg(feature = "schema")]
    pub fn schema() -> serde_json::Value {
        let settings = schemars::generate::SchemaSettings::draft2020_12().for_serialize();
        settings.into_generator().into_root_schema_for::<Self>().to_value()
    }

    /// Counts one more case that has ended.
    pub fn count(&mut self, result: &CaseResult) {
        self.ended.count(result.status);
        self.ended.invalid += u32::from(!result.is_valid());
        self.spent.tokens = self.spent.tokens.saturating_add(result.token_usage.total());
        self.spent.cost = self.spent.cost.zip(result.cost).map(|(so_far, more)| so_far + more);
    }
}

impl super::TokenUsage {
    /// The tokens of all parts together, read and written.
    pub fn total(&self) -> u64 {
        let parts = [self.agent, self.user, self.judge].into_iter().flatten();
        parts.fold(0, |sum: u64, usage| sum.saturating_add(usage.input).saturating_add(usage.output))
    }
}
