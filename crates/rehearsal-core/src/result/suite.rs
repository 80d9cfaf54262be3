//! What the cases of a suite came to together.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{CaseResult, CaseTable, Fault, Verdict};

/// What a suite came to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SuiteResult {
    /// The counts.
    pub summary: Summary,
    /// What each case came to, in the order of the cases, repeats of a case one after the other.
    pub results: Vec<CaseResult>,
    /// Statistics of each case over its repeats, where a case was repeated.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repeats: Vec<RepeatStatistics>,
    /// What cases came to by their variants, where a matrix made them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub table: Option<CaseTable>,
}

impl SuiteResult {
    /// Whether everything ran and passed, but for runs in whose place others did.
    pub fn passed(&self) -> bool {
        self.summary.passed > 0 && self.summary.passed + self.summary.replaced == self.summary.total
    }
}

/// How many runs came to what.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    /// Not started, because an earlier one did not pass, a budget was used up or somebody ended the run.
    pub not_run: u32,
    /// Of those that did not pass, how many say nothing about the agent, because that was not its doing. They are not
    /// part of the rate.
    #[serde(default, skip_serializing_if = "is_none")]
    pub invalid: u32,
    /// Of those that say nothing about the agent, how many were followed by others until enough runs of their case did.
    #[serde(default, skip_serializing_if = "is_none")]
    pub replaced: u32,
    /// Those that say nothing about the agent, by whose doing it was.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub faults: BTreeMap<Fault, u32>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_none(count: &u32) -> bool {
    *count == 0
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RepeatStatistics {
    /// The case.
    pub name: String,
    /// How often it ran; where valid runs were wanted, how many of its runs were valid.
    pub runs: u32,
    /// How many valid runs were wanted, where there are fewer although all tries were taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wanted: Option<u32>,
    /// How often it passed.
    pub passed: u32,
    /// For k from 1 to `runs`: the chance that at least one of k runs passes.
    pub pass_at_k: Vec<f64>,
    /// For k from 1 to `runs`: the chance that all of k runs pass.
    pub pass_hat_k: Vec<f64>,
    /// The 95 % Wilson interval of the pass rate.
    pub wilson: (f64, f64),
}
