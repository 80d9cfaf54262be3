//! How often something happened.

use std::fmt;
use std::sync::Arc;

use rehearsal_core::{Event, EventBody, Ledger, MetricResult, Yield, edit_distance};

use crate::metric::nothing_to_read;
use crate::{Assessment, Metric};

type Filter = Arc<dyn Fn(&Event) -> bool + Send + Sync>;

/// Counts events of one kind and asserts how many there are.
///
/// The kind is named as the ledger writes it: `tool_call`, `model_response`, `user_message`, … All events of the
/// ledger count, also those inside agents used as tools; [`filter`](Self::filter) takes a selection. Where several
/// assertions are given, all must hold. A kind that does not exist is an error, as is a metric that asserts
/// nothing: counting nothing would let "at most five" pass for the wrong reason.
///
/// ```
/// use rehearsal_metrics::{Assessment, EventCountMetric, Metric};
/// # use rehearsal_testkit::ledger;
///
/// let metric = EventCountMetric::new("question_count", "tool_call").tool("ask").at_most(5);
/// let Assessment::Done(result) = metric.evaluate(&ledger("call ask / result ask / call book / end")) else {
///     unreachable!()
/// };
/// assert!(result.passed());
/// assert_eq!(result.value, Some(1.into()));
/// ```
#[derive(Clone)]
pub struct EventCountMetric {
    name: String,
    kind: String,
    tool: Option<String>,
    filters: Vec<Filter>,
    bounds: Vec<Bound>,
}

impl EventCountMetric {
    /// Counts events of this kind.
    pub fn new(name: impl Into<String>, kind: impl Into<String>) -> Self {
        Self { name: name.into(), kind: kind.into(), tool: None, filters: Vec::new(), bounds: Vec::new() }
    }

    /// Counts only events for which the closure holds.
    pub fn filter(mut self, filter: impl Fn(&Event) -> bool + Send + Sync + 'static) -> Self {
        self.filters.push(Arc::new(filter));
        self
    }

    /// Counts only events of this tool: its calls, its results, or the yields that wait for it.
    pub fn tool(mut self, tool: impl Into<String>) -> Self {
        self.tool = Some(tool.into());
        self
    }

    /// Asserts that the closure holds for the count.
    pub fn assert(mut self, assertion: impl Fn(u64) -> bool + Send + Sync + 'static) -> Self {
        self.bounds.push(Bound::Custom(Arc::new(assertion)));
        self
    }

    /// Asserts that there are no more than this.
    pub fn at_most(mut self, count: u64) -> Self {
        self.bounds.push(Bound::AtMost(count));
        self
    }

    /// Asserts that there are no fewer than this.
    pub fn at_least(mut self, count: u64) -> Self {
        self.bounds.push(Bound::AtLeast(count));
        self
    }

    /// Asserts that there are exactly this many.
    pub fn exactly(mut self, count: u64) -> Self {
        self.bounds.push(Bound::Exactly(count));
        self
    }

    fn assess(&self, ledger: &Ledger) -> MetricResult {
        if let Some(problem) = self.problem() {
            return MetricResult::error(problem);
        }
        nothing_to_read(ledger).unwrap_or_else(|| self.count(ledger.events()))
    }

    /// Counts among these events, of a metric that has no problem.
    fn count(&self, events: &[Arc<Event>]) -> MetricResult {
        let counted: Vec<u64> =
            events.iter().filter(|event| self.counts(event)).map(|event| event.seq).collect();
        let count = counted.len() as u64;
        let broken: Vec<&Bound> = self.bounds.iter().filter(|bound| !bound.holds(count)).collect();
        let mut result = MetricResult::from_pass(broken.is_empty())
            .value(count)
            .because_of(format!("counted {count} {}", self.what()), counted);
        for bound in broken {
            result = result.because(format!("expected {bound}"));
        }
        result
    }

    /// Counts among these events, which are a part of a ledger.
    pub(crate) fn assess_events(&self, events: &[Arc<Event>]) -> MetricResult {
        self.problem().map_or_else(|| self.count(events), MetricResult::error)
    }

    fn problem(&self) -> Option<String> {
        if !EventBody::KINDS.contains(&&*self.kind) {
            let nearest = EventBody::KINDS
                .iter()
                .min_by_key(|known| edit_distance(known, &self.kind.to_lowercase()))
                .copied()
                .unwrap_or_default();
            let known = EventBody::KINDS.join("`, `");
            return Some(format!(
                "there are no events of type `{}`; did you mean `{nearest}`? Known types: `{known}`",
                self.kind
            ));
        }
        if self.tool.is_some() && !OF_TOOLS.contains(&&*self.kind) {
            return Some(format!(
                "`{}` events belong to no tool; count `tool_call` or `tool_result`",
                self.kind
            ));
        }
        self.bounds.is_empty().then(|| "no assertion: say how many events there should be".to_owned())
    }

    fn counts(&self, event: &Event) -> bool {
        event.body.kind() == self.kind
            && self.tool.as_deref().is_none_or(|tool| concerns(&event.body, tool))
            && self.filters.iter().all(|filter| filter(event))
    }

    fn what(&self) -> String {
        let tool = self.tool.as_ref().map_or_else(String::new, |tool| format!(" of `{tool}`"));
        let selection = if self.filters.is_empty() { "" } else { " that pass the filter" };
        format!("`{}` events{tool}{selection}", self.kind)
    }
}

impl Metric for EventCountMetric {
    fn name(&self) -> &str {
        &self.name
    }

    fn evaluate(&self, ledger: &Ledger) -> Assessment {
        Assessment::Done(self.assess(ledger))
    }
}

impl fmt::Debug for EventCountMetric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bounds: Vec<String> = self.bounds.iter().map(Bound::to_string).collect();
        let mut shown = f.debug_struct("EventCountMetric");
        shown.field("name", &self.name).field("kind", &self.kind).field("tool", &self.tool);
        shown.field("filters", &self.filters.len()).field("bounds", &bounds).finish()
    }
}

#[derive(Clone)]
enum Bound {
    AtMost(u64),
    AtLeast(u64),
    Exactly(u64),
    Custom(Arc<dyn Fn(u64) -> bool + Send + Sync>),
}

impl Bound {
    fn holds(&self, count: u64) -> bool {
        match self {
            Self::AtMost(most) => count <= *most,
            Self::AtLeast(least) => count >= *least,
            Self::Exactly(exact) => count == *exact,
            Self::Custom(assertion) => assertion(count),
        }
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtMost(count) => write!(f, "at most {count}"),
            Self::AtLeast(count) => write!(f, "at least {count}"),
            Self::Exactly(count) => write!(f, "exactly {count}"),
            Self::Custom(_) => f.write_str("a count for which the assertion holds"),
        }
    }
}

/// The kinds of events that belong to a tool.
pub(crate) const OF_TOOLS: [&str; 3] = ["tool_call", "tool_result", "yield"];

fn concerns(body: &EventBody, name: &str) -> bool {
    match body {
        EventBody::ToolCall { tool, .. } => **tool == *name,
        EventBody::ToolResult(result) => *result.tool == *name,
        EventBody::Yield(Yield::Tools { calls }) => calls.iter().any(|call| *call.tool == *name),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use rehearsal_core::ToolOutcome;
    use rehearsal_testkit::ledger;

    use super::*;

    const SESSION: &str = r#"user: hi / call ask {"q": 1} / result ask "yes" / call ask {"q": 2} / fail ask no / call book / end"#;

    fn check(metric: &EventCountMetric, description: &str, expected: &Expect) {
        expected.assert_eq(&crate::testing::outcome(metric, &ledger(description)));
    }

    fn asks() -> EventCountMetric {
        EventCountMetric::new("asks", "tool_call").tool("ask")
    }

    #[test]
    fn a_count_within_its_bounds_passes() {
        check(
            &asks().at_least(1).at_most(2),
            SESSION,
            &expect![[r#"
            passed, value 2
            counted 2 `tool_call` events of `ask` [3, 5]"#]],
        );
        check(
            &asks().exactly(0),
            "user: hi / end",
            &expect![[r#"
            passed, value 0
            counted 0 `tool_call` events of `ask`"#]],
        );
        check(
            &EventCountMetric::new("n", "tool_result").tool("ask").assert(|count| count == 2),
            SESSION,
            &expect![[r#"
            passed, value 2
            counted 2 `tool_result` events of `ask` [4, 6]"#]],
        );
    }

    #[test]
    fn a_count_outside_its_bounds_fails_and_says_which_events_were_counted() {
        check(
            &asks().at_most(1).exactly(3).assert(|count| count > 5),
            SESSION,
            &expect![[r#"
            failed, value 2
            counted 2 `tool_call` events of `ask` [3, 5]
            expected at most 1
            expected exactly 3
            expected a count for which the assertion holds"#]],
        );
    }

    #[test]
    fn filters_select_events() {
        let failures = EventCountMetric::new("failures", "tool_result").exactly(1).filter(|event| {
            matches!(&event.body, EventBody::ToolResult(result) if matches!(result.outcome, ToolOutcome::Error(_)))
        });
        check(
            &failures,
            SESSION,
            &expect![[r#"
            passed, value 1
            counted 1 `tool_result` events that pass the filter [6]"#]],
        );
    }

    #[test]
    fn what_cannot_be_counted_is_an_error() {
        check(
            &EventCountMetric::new("n", "toolCall").at_most(5),
            SESSION,
            &expect![[r#"
                error
                there are no events of type `toolCall`; did you mean `tool_call`? Known types: `session_started`, `agent_started`, `agent_ended`, `user_message`, `model_request`, `model_response`, `output_rejected`, `tool_call`, `tool_result`, `yield`, `state_change`, `state_conflict`, `final_response`, `error`, `session_ended`, `step_started`, `step_ended`, `step_commands`, `world_started`, `world_log`, `world_references`, `time_limit`, `folder_kept`, `turn_ended`, `turn_decision`, `user_simulation`, `user_hung_up`, `remote_session`, `agent_log`, `run_failed`, `cue_dismissed`, `late_result`, `repeated_result`, `tool_exception`, `agent_chosen`, `cancel_reason`, `artifact_saved`, `note`"#]],
        );
        check(
            &EventCountMetric::new("n", "user_message").tool("ask").at_most(5),
            SESSION,
            &expect![[r#"
            error
            `user_message` events belong to no tool; count `tool_call` or `tool_result`"#]],
        );
        check(
            &asks(),
            SESSION,
            &expect![[r#"
            error
            no assertion: say how many events there should be"#]],
        );
    }

    #[test]
    fn an_empty_ledger_has_no_count() {
        let found = crate::testing::outcome(&asks().at_most(5), &Ledger::new("s".into()));
        expect![[r#"
            unscored
            the ledger is empty: no session was started"#]]
        .assert_eq(&found);
    }
}
