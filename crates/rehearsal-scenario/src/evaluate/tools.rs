//! What the agent did.

use std::fmt::Write as _;

use indexmap::IndexMap;
use rehearsal_core::{CallView, MetricResult, ToolOutcome, edit_distance};

use super::scene::Scene;
use crate::file::{ArgumentPattern, CallStatus, ToolCalled, shown};

/// How many calls and tools a result tells of.
const TOLD: usize = 10;

pub(super) fn contains_action(scene: &Scene<'_>, action: &str) -> MetricResult {
    let calls = scene.calls();
    let is_action = |call: &&CallView<'_>| folded(call.tool) == folded(action);
    let found: Vec<CallView<'_>> = calls.iter().filter(is_action).copied().collect();
    if let Some(call) = found.iter().find(|call| CallStatus::Succeeded.holds(call)) {
        let message = format!("{} was done", call.tool);
        return MetricResult::from_pass(true).because_of(message, [call.event.seq]);
    }
    if found.is_empty() {
        let message = format!("{action} was not done; {}", called_tools(&calls, action));
        return MetricResult::from_pass(false).because_of(message, seqs(&calls));
    }
    let result = MetricResult::from_pass(false)
        .because_of(format!("{action} was found, but it did not succeed"), seqs(&found));
    tell_others(result, &found, None)
}

pub(super) fn called(scene: &Scene<'_>, wanted: &ToolCalled) -> MetricResult {
    let calls = scene.calls();
    let of_tool = calls.iter().filter(|call| **call.tool == *wanted.tool).copied();
    let counts =
        |call: &CallView<'_>| wanted.status.holds(call) && differences(wanted.args.as_ref(), call).is_empty();
    let (counted, others): (Vec<CallView<'_>>, Vec<_>) = of_tool.partition(counts);
    let count = counted.len() as u64;
    let often = count >= wanted.min_count && wanted.max_count.is_none_or(|most| count <= most);
    let mut message = format!("{} {} {}", wanted.tool, wanted.manner(), times(count));
    if !often {
        let _ = write!(message, ", {} asked for", wanted.asked());
        if counted.is_empty() && others.is_empty() {
            let _ = write!(message, "; {}", called_tools(&calls, &wanted.tool));
        }
    }
    let missed = orders(wanted).into_iter().find(|(_, other, is_in_order)| {
        let mut others = calls.iter().filter(|call| **call.tool == ***other && wanted.of_other().holds(call));
        !others.any(|other| counted.iter().any(|call| is_in_order(call.event.seq, other.event.seq)))
    });
    let missed = missed.filter(|_| often && count > 0);
    if let Some((word, other, _)) = &missed {
        let _ = write!(message, ", but never {word} {other}");
        if wanted.of_other() == CallStatus::Succeeded {
            message.push_str(" succeeded");
        }
    }
    let result =
        MetricResult::from_pass(often && missed.is_none()).value(count).because_of(message, seqs(&counted));
    if let Some((_, other, _)) = missed {
        let unsuccessful: Vec<_> = calls
            .iter()
            .filter(|call| **call.tool == **other && !wanted.of_other().holds(call))
            .copied()
            .collect();
        return tell_others(result, &unsuccessful, None);
    }
    if count < wanted.min_count { tell_others(result, &others, wanted.args.as_ref()) } else { result }
}

type InOrder = fn(u64, u64) -> bool;

fn orders(wanted: &ToolCalled) -> Vec<(&'static str, &String, InOrder)> {
    let before: InOrder = |call, other| call < other;
    let after: InOrder = |call, other| call > other;
    let before = wanted.before.iter().map(|other| ("before", other, before));
    before.chain(wanted.after.iter().map(|other| ("after", other, after))).collect()
}

pub(super) fn not_called(scene: &Scene<'_>, tool: &str, args: Option<&ArgumentPattern>) -> MetricResult {
    let calls = scene.calls();
    let of_tool = calls.iter().filter(|call| **call.tool == *tool).copied();
    let (found, others): (Vec<CallView<'_>>, Vec<_>) =
        of_tool.partition(|call| differences(args, call).is_empty());
    let with = args.map(|args| format!(" with {args}")).unwrap_or_default();
    let message = match found.len() as u64 {
        0 => format!("{tool} was not called{with}"),
        count => format!("{tool} was called{with} {}", times(count)),
    };
    let result =
        MetricResult::from_pass(found.is_empty()).value(found.len()).because_of(message, seqs(&found));
    if others.is_empty() {
        return result;
    }
    let message = format!("it was called with other arguments {}", times(others.len() as u64));
    result.because_of(message, seqs(&others))
}

pub(super) fn step_count(
    scene: &Scene<'_>,
    (least, most): (Option<u64>, Option<u64>),
    target: Option<u64>,
    prefix: &str,
) -> MetricResult {
    let calls: Vec<_> = scene.calls().into_iter().filter(|call| call.tool.starts_with(prefix)).collect();
    let count = calls.len() as u64;
    let passed = least.is_none_or(|least| count >= least) && most.is_none_or(|most| count <= most);
    let begun = if prefix.is_empty() { String::new() } else { format!(" that begin with {prefix:?}") };
    let asked = match (least, most) {
        (Some(least), Some(most)) => format!("{least} to {most}"),
        (Some(least), None) => format!("at least {least}"),
        (None, most) => format!("at most {}", most.unwrap_or(u64::MAX)),
    };
    let message = format!("{} has {count} tool calls{begun}, {asked} asked for", scene.name());
    let result = MetricResult::from_pass(passed).value(count).because_of(message, seqs(&calls));
    match target {
        Some(target) => result.because(format!("{} from the target of {target}", count.abs_diff(target))),
        None => result,
    }
}

impl CallStatus {
    fn holds(self, call: &CallView<'_>) -> bool {
        let failed = call.result().map(|result| result.outcome.is_error());
        match self {
            Self::Succeeded => failed == Some(false),
            Self::Failed => failed == Some(true),
            Self::Any => true,
        }
    }
}

impl ToolCalled {
    /// The calls of another tool that count for `before` and `after`: what failed has not happened, unless calls of any
    /// outcome are asked for.
    fn of_other(&self) -> CallStatus {
        if self.status == CallStatus::Any { CallStatus::Any } else { CallStatus::Succeeded }
    }

    fn manner(&self) -> String {
        let args = self.args.as_ref().map(|args| format!(" with {args}")).unwrap_or_default();
        let status = match self.status {
            CallStatus::Succeeded => "succeeded",
            CallStatus::Failed => "failed",
            CallStatus::Any => "was called",
        };
        format!("{status}{args}")
    }

    fn asked(&self) -> String {
        match (self.min_count, self.max_count) {
            (low, Some(high)) if low == high => format!("exactly {low}"),
            (low, Some(high)) => format!("{low} to {high}"),
            (low, None) => format!("at least {low}"),
        }
    }
}

/// Tells of calls of the right tool that did not count, each with the reason.
fn tell_others(result: MetricResult, calls: &[CallView<'_>], args: Option<&ArgumentPattern>) -> MetricResult {
    calls.iter().take(TOLD).fold(result, |result, call| {
        let outcome = match call.result().map(|result| &result.outcome) {
            Some(ToolOutcome::Output(_)) => "succeeded".to_owned(),
            Some(ToolOutcome::Error(error)) => format!("failed: {error}"),
            None => "was not answered".to_owned(),
        };
        let mut reasons = differences(args, call);
        reasons.insert(0, outcome);
        let made = shown(Some(&serde_json::Value::Object((**call.args).clone())));
        result.because_of(format!("{} {made} {}", call.tool, reasons.join("; ")), [call.event.seq])
    })
}

fn differences(args: Option<&ArgumentPattern>, call: &CallView<'_>) -> Vec<String> {
    args.map(|args| args.differences(call.args)).unwrap_or_default()
}

/// The tools that were called, those with a name like `wanted` first.
fn called_tools(calls: &[CallView<'_>], wanted: &str) -> String {
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
fn folded(name: &str) -> String {
    name.to_lowercase().replace(['_', '-'], "")
}

fn times(count: u64) -> String {
    match count {
        1 => "once".to_owned(),
        _ => format!("{count} times"),
    }
}

fn seqs(calls: &[CallView<'_>]) -> Vec<u64> {
    calls.iter().map(|call| call.event.seq).collect()
}
