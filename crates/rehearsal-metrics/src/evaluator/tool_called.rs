//! `tool_called`.

use std::fmt::Write as _;

use rehearsal_core::keys::{At, Complaint, Form, Given, Key};
use rehearsal_core::{CallView, MetricResult};
use serde_json::{Value, json};

use super::calls::{CallStatus, called_tools, differences, seqs, tell_others, times};
use super::pattern::{ArgumentPattern, read_args};
use super::shown::short;
use super::{Evaluator, LooksAt};
use crate::Assessment;
use crate::view::View;

/// The agent called a tool, at least once unless told otherwise.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolCalled {
    /// The tool.
    pub tool: String,
    /// Its arguments; none takes any.
    pub args: Option<ArgumentPattern>,
    /// How often at least.
    pub min_count: u64,
    /// How often at most.
    pub max_count: Option<u64>,
    /// A tool of which a call comes later.
    pub before: Option<String>,
    /// A tool of which a call comes earlier.
    pub after: Option<String>,
    /// Which calls count.
    pub status: CallStatus,
}

/// As many calls as anybody could mean.
const COUNT: Form = Form::Whole(0.0, 1e9);

impl Evaluator for ToolCalled {
    const TYPE: &'static str = "tool_called";
    const ABOUT: &'static str = "The agent called a tool.";
    const LOOKS_AT: LooksAt = LooksAt::Agent;
    const KEYS: &'static [Key] = &[
        Key::required("tool", Form::Text, "tool: the tool's name", "The tool, by its exact name."),
        Key::optional(
            "args",
            Form::Map,
            "Arguments that the call has at least, at any depth; a list must have the same length, and a map of \
             operators such as `{$gte: 10}` is a query.",
        ),
        Key::optional("count", COUNT, "How many such calls there are, exactly."),
        Key::or("min_count", COUNT, "1", "How many at least."),
        Key::optional("max_count", COUNT, "How many at most."),
        Key::optional(
            "before",
            Form::Text,
            "Another tool: some such call comes before some call of it that succeeded (with `status: any`, any call of \
             it).",
        ),
        Key::optional("after", Form::Text, "Another tool: some such call comes after such a call of it."),
        Key::or("status", Form::Word(CallStatus::WORDS), "\"succeeded\"", "Which calls count."),
    ];
    const PAGE: &'static str = "\
```yaml
- type: tool_called
  tool: refund
  args: {order: A-1, amount: {$lte: 50}}
  count: 1
  after: lookup
```";

    fn rules() -> Value {
        let zero = |key: &str| json!({"required": [key], "properties": {key: {"const": 0}}});
        json!({
            "allOf": [
                {"not": {"required": ["count", "min_count"]}},
                {"not": {"required": ["count", "max_count"]}},
                {"if": zero("min_count"), "then": {"required": ["max_count"]}},
                {"if": zero("max_count"), "then": {"required": ["min_count"]}},
                {
                    "if": {"anyOf": [zero("count"), zero("max_count")]},
                    "then": {"not": {"anyOf": [{"required": ["before"]}, {"required": ["after"]}]}},
                },
            ],
        })
    }

    fn read(given: &mut Given<'_>) -> Self {
        let tool = given.text("tool");
        let args = read_args(given);
        let (min_count, max_count) = read_counts(given);
        let before = given.some_text("before");
        let after = given.some_text("after");
        let status = given.some_text("status").and_then(|word| CallStatus::named(&word));
        let ordered = ["before", "after"].into_iter().find(|key| given.has(key));
        if let (Some(key), Some(0)) = (ordered, max_count) {
            let message = "a call that is not made comes neither before nor after another";
            let complaint = Complaint::no_effect("never-true", At::Name(key), message);
            given.complain(complaint.help("leave out `before` and `after`"));
        }
        let status = status.unwrap_or(CallStatus::Succeeded);
        Self { tool, args, min_count, max_count, before, after, status }
    }

    fn detail(&self) -> String {
        let args = self.args.iter().map(|args| short(&args.to_string()));
        let count = match (self.min_count, self.max_count) {
            (1, None) => None,
            (low, Some(high)) if low == high => Some(format!("×{low}")),
            (low, None) => Some(format!("×{low} or more")),
            (low, Some(high)) => Some(format!("×{low} to {high}")),
        };
        let before = self.before.iter().map(|other| format!("before {other}"));
        let after = self.after.iter().map(|other| format!("after {other}"));
        let failed = (self.status == CallStatus::Failed).then(|| "(failed)".to_owned());
        let parts = [self.tool.clone()].into_iter().chain(args).chain(count).chain(before).chain(after);
        parts.chain(failed).collect::<Vec<_>>().join(" ")
    }

    fn tools(&self) -> Option<Vec<&str>> {
        let others = self.before.iter().chain(&self.after);
        Some([&self.tool].into_iter().chain(others).map(String::as_str).collect())
    }

    fn assess(&self, view: &View<'_>) -> Assessment {
        let calls = view.calls();
        let of_tool = calls.iter().filter(|call| **call.tool == *self.tool).copied();
        let counts =
            |call: &CallView<'_>| self.status.holds(call) && differences(self.args.as_ref(), call).is_empty();
        let (counted, others): (Vec<CallView<'_>>, Vec<_>) = of_tool.partition(counts);
        let count = counted.len() as u64;
        let often = count >= self.min_count && self.max_count.is_none_or(|most| count <= most);
        let mut message = format!("{} {} {}", self.tool, self.manner(), times(count));
        if !often {
            let _ = write!(message, ", {} asked for", self.asked());
            if counted.is_empty() && others.is_empty() {
                let _ = write!(message, "; {}", called_tools(&calls, &self.tool));
            }
        }
        let missed = self.missed_order(&calls, &counted).filter(|_| often && count > 0);
        if let Some((word, other)) = &missed {
            let _ = write!(message, ", but never {word} {other}");
            if self.of_other() == CallStatus::Succeeded {
                message.push_str(" succeeded");
            }
        }
        let result = MetricResult::from_pass(often && missed.is_none())
            .value(count)
            .because_of(message, seqs(&counted));
        if let Some((_, other)) = missed {
            let is_unsuccessful =
                |call: &&CallView<'_>| **call.tool == *other && !self.of_other().holds(call);
            let unsuccessful: Vec<_> = calls.iter().filter(is_unsuccessful).copied().collect();
            return tell_others(result, &unsuccessful, None).into();
        }
        let is_too_few = count < self.min_count;
        if is_too_few { tell_others(result, &others, self.args.as_ref()) } else { result }.into()
    }
}

impl ToolCalled {
    /// The order that no two calls keep, with the other tool.
    fn missed_order(&self, calls: &[CallView<'_>], counted: &[CallView<'_>]) -> Option<(&'static str, &str)> {
        let is_kept = |other: &str, is_in_order: fn(u64, u64) -> bool| {
            let mut others =
                calls.iter().filter(|call| **call.tool == *other && self.of_other().holds(call));
            others.any(|other| counted.iter().any(|call| is_in_order(call.event.seq, other.event.seq)))
        };
        let before = self.before.as_deref().filter(|other| !is_kept(other, |call, other| call < other));
        let after = || self.after.as_deref().filter(|other| !is_kept(other, |call, other| call > other));
        before.map(|other| ("before", other)).or_else(|| after().map(|other| ("after", other)))
    }

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

/// How often a tool should be called: at least once unless the author says otherwise.
fn read_counts(given: &mut Given<'_>) -> (u64, Option<u64>) {
    let count = given.whole("count");
    let min = given.whole("min_count").filter(|_| given.has("min_count"));
    let max = given.whole("max_count");
    if let Some(count) = count {
        for key in ["min_count", "max_count"] {
            if given.has(key) {
                let message = "`count` says already how often exactly";
                let complaint = Complaint::no_effect("no-effect", At::Name(key), message);
                given.complain(complaint.help(format!("leave out `count` or `{key}`")));
            }
        }
        return (count, Some(count));
    }
    if let (None, Some(0)) = (min, max) {
        let message = "`tool_called` asks for at least one call unless `min_count` says otherwise";
        let complaint = Complaint::no_effect("never-true", At::Name("max_count"), message);
        given.complain(complaint.help("to ask that there is none, use `tool_not_called`"));
    }
    super::bounds::complain(given, (min, max), ("min_count", "max_count"));
    if let (Some(0), None) = (min, max) {
        let message = "every tool is called at least 0 times";
        let complaint = Complaint::no_effect("always-true", At::Name("min_count"), message);
        given.complain(complaint.help("leave out `min_count`, or add `max_count`"));
    }
    (min.unwrap_or(1), max)
}
