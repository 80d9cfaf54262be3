//! Results: what metrics, cases and suites came to.

use std::fmt;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{EndReason, Failure, SessionId, Usage};

/// What a case came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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

/// What a metric came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
pub struct Evidence {
    /// The reason.
    pub text: String,
    /// The numbers of the events it points at.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<u64>,
}

/// What one run of a case came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CaseResult {
    /// The case.
    pub name: String,
    /// Which repeat of it, from 0.
    #[serde(default)]
    pub repeat: u32,
    /// What it came to.
    pub status: Verdict,
    /// What each metric found, in the order the case lists them.
    pub metrics: IndexMap<String, MetricResult>,
    /// How long it took.
    pub duration_ms: u64,
    /// How often the agent yielded and was resumed.
    pub turns: u64,
    /// What its model calls cost.
    pub token_usage: TokenUsage,
    /// What went wrong, if something did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Failure>,
    /// Why it ended before the agent did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub termination_reason: Option<EndReason>,
    /// The seed that repeats it.
    #[serde(with = "crate::json::seed")]
    pub seed: u64,
    /// Its ledgers: the agent's session, then those of its users and its judge where they took part.
    pub sessions: Vec<SessionId>,
}

/// Tokens by the part that used them; nothing where no provider said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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

/// What a suite came to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SuiteResult {
    /// The counts.
    pub summary: Summary,
    /// What each case came to, in the order of the cases, repeats of a case one after the other.
    pub results: Vec<CaseResult>,
    /// Statistics of each case over its repeats, where a case was repeated.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repeats: Vec<RepeatStatistics>,
}

impl SuiteResult {
    /// Whether everything ran and passed.
    pub fn passed(&self) -> bool {
        self.summary.total > 0 && self.summary.passed == self.summary.total
    }
}

/// How many runs came to what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// All of them.
    pub total: u32,
    /// Every metric passed.
    pub passed: u32,
    /// A metric failed.
    pub failed: u32,
    /// Something went wrong.
    pub errors: u32,
    /// Ran into a limit.
    pub terminated: u32,
    /// Had no metrics.
    pub unjudged: u32,
    /// Not started, because an earlier one did not pass.
    pub not_run: u32,
}

impl Summary {
    /// Counts one more run.
    pub fn count(&mut self, verdict: Verdict) {
        self.total += 1;
        *match verdict {
            Verdict::Passed => &mut self.passed,
            Verdict::Failed => &mut self.failed,
            Verdict::Error => &mut self.errors,
            Verdict::Terminated => &mut self.terminated,
            Verdict::Unjudged => &mut self.unjudged,
        } += 1;
    }

    /// Counts runs that were not started.
    pub fn count_not_run(&mut self, runs: u32) {
        self.total += runs;
        self.not_run += runs;
    }
}

/// What the repeats of one case say together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RepeatStatistics {
    /// The case.
    pub name: String,
    /// How often it ran.
    pub runs: u32,
    /// How often it passed.
    pub passed: u32,
    /// For k from 1 to `runs`: the chance that at least one of k runs passes.
    pub pass_at_k: Vec<f64>,
    /// For k from 1 to `runs`: the chance that all of k runs pass.
    pub pass_hat_k: Vec<f64>,
    /// The 95 % Wilson interval of the pass rate.
    pub wilson: (f64, f64),
}
