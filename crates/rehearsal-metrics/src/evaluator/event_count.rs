//! `event_count`.

use rehearsal_core::MetricResult;
use rehearsal_core::keys::{At, Complaint, Form, Given, Key};
use serde_json::{Value, json};

use super::shown::bounds;
use super::{Evaluator, LooksAt};
use crate::event_count::OF_TOOLS;
use crate::view::View;
use crate::{Assessment, EventCountMetric};

/// Events of a kind happened as often as they should.
#[derive(Clone, Debug, PartialEq)]
pub struct EventCount {
    /// The kind, as the ledger writes it.
    pub event: String,
    /// The tool whose events count; none where those of all do.
    pub tool: Option<String>,
    /// How many at least.
    pub min_count: Option<u64>,
    /// How many at most.
    pub max_count: Option<u64>,
}

/// As many events as anybody could mean.
const COUNT: Form = Form::Whole(0.0, 1e9);

/// The kinds of events that happen inside of steps: a session begins before its first step and ends after its last one.
const INSIDE: &[&str] = &[
    "agent_started",
    "agent_ended",
    "user_message",
    "model_request",
    "model_response",
    "output_rejected",
    "tool_call",
    "tool_result",
    "yield",
    "state_change",
    "state_conflict",
    "error",
    "world_log",
    "turn_ended",
    "turn_decision",
    "user_simulation",
    "user_hung_up",
    "remote_session",
    "agent_log",
    "run_failed",
    "cue_dismissed",
    "late_result",
    "repeated_result",
    "tool_exception",
    "artifact_saved",
    "note",
];

impl Evaluator for EventCount {
    const TYPE: &'static str = "event_count";
    const ABOUT: &'static str = "Events of a kind happened as often as they should.";
    const LOOKS_AT: LooksAt = LooksAt::Agent;
    const KEYS: &'static [Key] = &[
        Key::required(
            "event",
            Form::Word(INSIDE),
            "event: model_response",
            "The kind of event, as the ledger writes it.",
        ),
        Key::optional(
            "tool",
            Form::Text,
            "Count only events of this tool: its calls, its results, or the yields that wait for it.",
        ),
        Key::optional(
            "count",
            COUNT,
            "How many there are, exactly. One of `count`, `min_count` and `max_count` is needed.",
        ),
        Key::optional("min_count", COUNT, "How many at least."),
        Key::optional("max_count", COUNT, "How many at most."),
    ];
    const PAGE: &'static str = "\
All events of the step or the turn count, also those of agents used as tools.

```yaml
- type: event_count
  event: model_response
  max_count: 4
- type: event_count
  event: tool_call
  tool: ask
  count: 2
```";

    fn rules() -> Value {
        let some = json!({"required": ["min_count"], "properties": {"min_count": {"minimum": 1}}});
        json!({
            "allOf": [
                {"not": {"required": ["count", "min_count"]}},
                {"not": {"required": ["count", "max_count"]}},
                {"anyOf": [{"required": ["count"]}, {"required": ["max_count"]}, some]},
                {"if": {"required": ["tool"]}, "then": {"properties": {"event": {"enum": OF_TOOLS}}}},
            ],
        })
    }

    fn read(given: &mut Given<'_>) -> Self {
        let (event, tool) = (given.text("event"), given.some_text("tool"));
        if tool.is_some() && !event.is_empty() && !OF_TOOLS.contains(&event.as_str()) {
            let message = format!("`{event}` events belong to no tool, so none of them would count");
            let complaint = Complaint::no_effect("no-effect", At::Name("tool"), message);
            given.complain(complaint.help("leave out `tool`, or count `tool_call` or `tool_result`"));
        }
        let (min_count, max_count) = read_counts(given);
        Self { event, tool, min_count, max_count }
    }

    fn detail(&self) -> String {
        let tool = self.tool.as_ref().map(|tool| format!(" of {tool}")).unwrap_or_default();
        let count = match (self.min_count, self.max_count) {
            (Some(low), Some(high)) if low == high => format!("×{low}"),
            (low, high) => bounds(low, high),
        };
        format!("{}{tool} {count}", self.event)
    }

    fn tools(&self) -> Option<Vec<&str>> {
        match &self.tool {
            Some(tool) => Some(vec![tool]),
            None => OF_TOOLS[..2].contains(&self.event.as_str()).then(Vec::new),
        }
    }

    fn assess(&self, view: &View<'_>) -> Assessment {
        let mut metric = EventCountMetric::new(Self::TYPE, &*self.event);
        if let Some(tool) = &self.tool {
            metric = metric.tool(tool.as_str());
        }
        metric = match (self.min_count, self.max_count) {
            (Some(low), Some(high)) if low == high => metric.exactly(low),
            (low, high) => {
                let metric = low.map_or(metric.clone(), |low| metric.at_least(low));
                high.map_or(metric.clone(), |high| metric.at_most(high))
            }
        };
        let result: MetricResult = metric.assess_events(view.events());
        result.into()
    }
}

/// How many events there should be; a count is both bounds.
fn read_counts(given: &mut Given<'_>) -> (Option<u64>, Option<u64>) {
    let count = given.whole("count");
    let (min, max) = (given.whole("min_count"), given.whole("max_count"));
    if given.has("count") {
        for key in ["min_count", "max_count"] {
            if given.has(key) {
                let message = "`count` says already how many exactly";
                let complaint = Complaint::no_effect("no-effect", At::Name(key), message);
                given.complain(complaint.help(format!("leave out `count` or `{key}`")));
            }
        }
        return (count, count);
    }
    if min.unwrap_or(0) == 0 && !given.has("max_count") {
        let message = "any number of events is what this asks for";
        let complaint = Complaint::no_effect("always-true", At::Whole, message);
        given.complain(complaint.help("add one of `count`, `min_count` and `max_count`"));
    }
    super::bounds::complain(given, (min, max), ("min_count", "max_count"));
    (min, max)
}

#[cfg(test)]
mod tests {
    use rehearsal_core::EventBody;

    use super::*;

    #[test]
    fn every_kind_that_happens_inside_of_steps_can_be_counted() {
        let of_steps = ["step_started", "step_ended", "step_commands", "world_references"];
        let of_sessions = [
            "session_started",
            "final_response",
            "session_ended",
            "world_started",
            "time_limit",
            "folder_kept",
            "agent_chosen",
            "cancel_reason",
        ];
        let is_outside = |kind: &&str| of_steps.contains(kind) || of_sessions.contains(kind);
        let inside: Vec<&str> = EventBody::KINDS.into_iter().filter(|kind| !is_outside(kind)).collect();
        assert_eq!(inside, INSIDE);
    }
}
