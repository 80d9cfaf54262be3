//! What a metric found.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a metric came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum MetricStatus {
    /// What it asks for holds.
    Passed,
    /// What it asks for does not hold.
    Failed,
    /// It could not be evaluated: a judge that answers garbage, a missing judge, a broken setting.
    Error,
    /// The ledger does not hold what it needs.
    Unscored,
}

/// What a metric found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MetricResult {
    /// What it came to.
    pub status: MetricStatus,
    /// How good, from 0 to 1, where the metric has degrees.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// The value it looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
    /// Why it came to that.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<Evidence>,
}

impl MetricResult {
    /// A result with a status and nothing else.
    pub fn new(status: MetricStatus) -> Self {
        Self { status, score: None, value: None, evidence: Vec::new() }
    }

    /// Passed or failed.
    pub fn from_pass(passed: bool) -> Self {
        Self::new(if passed { MetricStatus::Passed } else { MetricStatus::Failed })
    }

    /// A metric that could not be evaluated.
    pub fn error(why: impl Into<String>) -> Self {
        Self::new(MetricStatus::Error).because(why)
    }

    /// A metric that the ledger cannot answer.
    pub fn unscored(why: impl Into<String>) -> Self {
        Self::new(MetricStatus::Unscored).because(why)
    }

    /// The same result with a score.
    #[must_use]
    pub fn score(mut self, score: f64) -> Self {
        self.score = Some(score);
        self
    }

    /// The same result with the value it looked at.
    #[must_use]
    pub fn value(mut self, value: impl Into<Value>) -> Self {
        self.value = Some(value.into());
        self
    }

    /// The same result with one more piece of evidence.
    #[must_use]
    pub fn because(self, text: impl Into<String>) -> Self {
        self.because_of(text, [])
    }

    /// The same result with one more piece of evidence that points at events.
    #[must_use]
    pub fn because_of(mut self, text: impl Into<String>, events: impl IntoIterator<Item = u64>) -> Self {
        self.evidence.push(Evidence { text: text.into(), events: events.into_iter().collect() });
        self
    }

    /// Whether it passed.
    pub fn passed(&self) -> bool {
        self.status == MetricStatus::Passed
    }
}

/// One reason for a metric's result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Evidence {
    /// The reason.
    pub text: String,
    /// The numbers of the events it points at.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<u64>,
}
