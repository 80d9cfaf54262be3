//! What one run of a case came to.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use super::{EvaluationResult, Fault, MetricResult, ModelPrice, StepResult};
use crate::{EndReason, Event, Failure, SessionId, Usage};

/// What a case came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Every metric passed.
    Passed,
    /// A metric failed.
    Failed,
    /// Something went wrong: in the agent, a user agent or a metric.
    Error,
    /// The case ran into `max_turns` or `max_duration`.
    Terminated,
    /// Nothing judged it: it has no metrics.
    Unjudged,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Error => "error",
            Self::Terminated => "terminated",
            Self::Unjudged => "unjudged",
        })
    }
}

/// What one run of a case came to: of a case in Rust, of an ADK `EvalSet`, or of a scenario, which has steps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CaseResult {
    /// The case.
    pub name: String,
    /// What it is about.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Words to select it by.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Its file, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The scenario it was made from, where that makes several cases: one for each row and variant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scenario: Option<String>,
    /// The name of the row that it was made from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub row: Option<String>,
    /// The values of the matrix that it was made with, in words, by the names of its axes.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    #[cfg_attr(feature = "schema", schemars(with = "std::collections::BTreeMap<String, String>"))]
    pub variant: IndexMap<String, String>,
    /// Which repeat of it, from 0.
    #[serde(default)]
    pub repeat: u32,
    /// What it came to.
    pub status: Verdict,
    /// The seed that repeats it, as digits.
    #[serde(with = "crate::json::seed")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub seed: u64,
    /// How long it took.
    pub duration_ms: u64,
    /// How often the agent yielded and was resumed.
    pub turns: u64,
    /// What went wrong, if something did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Failure>,
    /// Whose doing it is that it did not pass; nothing where it passed, or where nothing judged it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<Fault>,
    /// Why it ended before the agent or its steps did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub termination_reason: Option<EndReason>,
    /// Which limit that was, in words for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub termination_detail: Option<String>,
    /// What each metric of the whole session found, in the order the case lists them.
    #[cfg_attr(feature = "schema", schemars(with = "std::collections::BTreeMap<String, MetricResult>"))]
    pub metrics: IndexMap<String, MetricResult>,
    /// Its steps, in order; what was asked of them stands with them.
    #[serde(default)]
    pub steps: Vec<StepResult>,
    /// What its mocks did.
    #[serde(default, skip_serializing_if = "MockReport::is_empty")]
    pub mocks: MockReport,
    /// The tokens that were used, by the part that used them.
    pub token_usage: TokenUsage,
    /// What its models cost in US dollars, where every one of them has a price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// What a million tokens of its models cost, by their names, as far as its file says so.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub prices: BTreeMap<String, ModelPrice>,
    /// The folder in which its commands ran, where it was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// Its ledgers, by file, where they were written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ledgers: Vec<String>,
    /// Its sessions: the agent's, then those of its users and its judge where they took part. Where it was kept, these
    /// are their ids in the store.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<String>"))]
    pub sessions: Vec<SessionId>,
    /// The events of these sessions, where they were asked for, in the form of a ledger.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<serde_json::Map<String, serde_json::Value>>"))]
    pub events: Vec<Arc<Event>>,
    /// What people are told of it, as a terminal shows it, where it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<String>,
    /// Its agent's session line by line, as people read it, where it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transcript: Option<String>,
}

impl CaseResult {
    /// The result as JSON over several lines, as a part of something larger: all lines but the first are set in by so many
    /// levels more. It is the same text as that of any other value; a run writes many of them.
    ///
    /// # Errors
    /// It cannot be written as JSON.
    pub fn to_json_within(&self, levels: usize) -> serde_json::Result<String> {
        crate::json::to_string_pretty_within(levels, self)
    }

    /// What a case came to of which nothing else is known.
    pub fn new(name: impl Into<String>, status: Verdict, seed: u64) -> Self {
        Self {
            name: name.into(),
            description: String::new(),
            tags: Vec::new(),
            file: None,
            scenario: None,
            row: None,
            variant: IndexMap::new(),
            repeat: 0,
            status,
            seed,
            duration_ms: 0,
            turns: 0,
            error: None,
            fault: None,
            termination_reason: None,
            termination_detail: None,
            metrics: IndexMap::new(),
            steps: Vec::new(),
            mocks: MockReport::default(),
            token_usage: TokenUsage::default(),
            cost: None,
            prices: BTreeMap::new(),
            folder: None,
            ledgers: Vec::new(),
            sessions: Vec::new(),
            events: Vec::new(),
            report: None,
            transcript: None,
        }
    }

    /// What ended it before its end, in words for people.
    pub fn terminated_by(&self) -> Option<String> {
        let reason = || self.termination_reason.map(|reason| reason.to_string());
        self.termination_detail.clone().or_else(reason)
    }

    /// Whether it says something about the agent: it passed, or that it did not was the agent's doing.
    pub fn is_valid(&self) -> bool {
        self.fault.is_none_or(Fault::is_of_agent)
    }

    /// What was asked of its steps, in the order it was asked.
    pub fn evaluations(&self) -> impl Iterator<Item = &EvaluationResult> {
        self.steps.iter().flat_map(StepResult::evaluations)
    }
}

/// What the mocks of a case did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MockReport {
    /// Which mock answered which call.
    pub answered: Vec<MockAnswer>,
    /// The mocks that answered nothing.
    pub unused: Vec<String>,
}

impl MockReport {
    fn is_empty(&self) -> bool {
        self.answered.is_empty() && self.unused.is_empty()
    }
}

/// A call that a mock, a person or a real tool answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MockAnswer {
    /// The number of the result's event on the ledger.
    pub event: u64,
    /// The tool.
    pub tool: String,
    /// The mock; `the real tool` for one that ran.
    pub by: String,
    /// Whether the answer was an error.
    pub failed: bool,
}

/// Tokens by the part that used them; nothing where no provider said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TokenUsage {
    /// The agent under test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Usage>,
    /// The simulated users.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<Usage>,
    /// The judge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judge: Option<Usage>,
}
