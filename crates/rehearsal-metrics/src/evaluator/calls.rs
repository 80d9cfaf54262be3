//! Calls of tools, as evaluators count and tell of them.

use indexmap::IndexMap;
use rehearsal_core::{CallView, MetricResult, ToolOutcome, edit_distance};
use serde_json::Value;

use super::pattern::ArgumentPattern;
use super::shown::shown;

/// How many calls and tools a result tells of.
const TOLD: usize = 10;

/// Which calls of a tool count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallStatus {
    /// Those that gave something.
    Succeeded,
    /// Those that failed.
    Failed,
    /// All, also those that were never answered.
    Any,
}

impl CallStatus {
    /// The words that stand for them in a file.
    pub(super) const WORDS: &'static [&'static str] = &["succeeded", "failed", "any"];

    pub(super) fn named(word: &str) -> Option<Self> {
        match word {
            "succeeded" => Some(Self::Succeeded),
            "failed" => Some(Self::Failed),
            "any" => Some(Self::Any),
            _ => None,
        }
    }

    pub(crate) fn holds(self, call: &CallView<'_>) -> bool {
        let failed = call.result().map(|result| result.outcome.is_error());
        match self {
            Self::Succeeded => failed == Some(false),
            Self::Failed => failed == Some(true),
            Self::Any => true,
        }
    }
}

/// Tells of calls of the right tool that did not count, each with the reason.
pub(super) fn tell_others(
    result: MetricResult,
    calls: &[CallView<'_>],
    args: Option<&ArgumentPattern>,
) -> MetricResult {
    calls.iter().take(TOLD).fold(result, |result, call| {
        let outcome = match call.result().map(|result| &result.outcome) {
            Some(ToolOutcome::Output(_)) => "succeeded".to_owned(),
            Some(ToolOutcome::Error(error)) => format!("failed: {error}"),
            None => "was not answered".to_owned(),
        };
        let mut reasons = differences(args, call);
        reasons.insert(0, outcome);
        let made = shown(Some(&Value::Object((**call.args).clone())));
        result.because_of(format!("{} {made} {}", call.tool, reasons.join("; ")), [call.event.seq])
    })
}

pub(super) fn differences(args: Option<&ArgumentPattern>, call: &CallView<'_>) -> Vec<String> {
    args.map(|args| args.differences(call.args)).unwrap_or_default()
}

/// The tools that were called, those with a name like `wanted` first.
pub(super) fn called_tools(calls: &[CallView<'_>], wanted: &str) -> String {
    if calls.is_empty() {
        return "no tools were called".to_owned();
    }
    let mut counts: IndexMap<&str, usize> = IndexMap::new();
    for call in calls {
        *counts.entry(call.tool).or_default() += 1;
    }
    counts.sort_by_key(|tool, _| edit_distance(&folded(tool), &folded(wanted)));
    let named = counts.iter().take(TOLD).map(|(tool, count)| match count {
        1 => (*tool).to_owned(),
        _ => format!("{tool} ×{count}"),
    });
    format!("tools called: {}", named.collect::<Vec<_>>().join(", "))
}

/// An action's name as authors of different frameworks would all write it.
pub(super) fn folded(name: &str) -> String {
    name.to_lowercase().replace(['_', '-'], "")
}

pub(super) fn times(count: u64) -> String {
    match count {
        1 => "once".to_owned(),
        _ => format!("{count} times"),
    }
}

pub(super) fn seqs(calls: &[CallView<'_>]) -> Vec<u64> {
    calls.iter().map(|call| call.event.seq).collect()
}
