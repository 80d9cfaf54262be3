//! `tool_order`.

use rehearsal_core::keys::{At, Complaint, Form, Given, Key};
use rehearsal_core::{Event, EventBody, Ledger, MetricResult};
use serde_json::{Value, json};

use super::calls::times;
use super::{Evaluator, LooksAt};
use crate::fold::Case;
use crate::view::View;
use crate::{Assessment, Breach, Watcher};

/// Calls of tools keep a rule on their order.
///
/// ```
/// use rehearsal_metrics::evaluator::{Check, ToolOrder};
/// use rehearsal_metrics::{Metric, Scope, score};
/// # use rehearsal_testkit::ledger;
///
/// let rule = ToolOrder::never_before(["refund"], "verify_identity").stop();
/// let metric = Check::from(rule).scoped("verified first", Scope::Session);
/// assert!(metric.watch().is_some(), "the run ends at the first refund that comes too early");
///
/// let early = ledger("user: hi / call refund / result refund / call verify_identity / end");
/// let results = score(&early, &[std::sync::Arc::new(metric)]);
/// assert_eq!(results["verified first"].evidence[0].events, [3]);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ToolOrder {
    /// The tools that the rule is about.
    pub tools: Vec<String>,
    /// The rule.
    pub rule: OrderRule,
    /// Whether the run ends at the first call that breaks it.
    pub stop: bool,
}

impl ToolOrder {
    /// No call of these tools comes before one of `other` has succeeded.
    pub fn never_before<T: Into<String>>(
        tools: impl IntoIterator<Item = T>,
        other: impl Into<String>,
    ) -> Self {
        Self::new(tools, OrderRule::NeverBefore(other.into()))
    }

    /// No call of these tools comes after the user said this, in upper or lower case.
    pub fn never_after_user_says<T: Into<String>>(
        tools: impl IntoIterator<Item = T>,
        text: impl Into<String>,
    ) -> Self {
        Self::new(tools, OrderRule::NeverAfterUserSays(text.into()))
    }

    /// Each call of these tools comes after one of `of` that succeeded, at most so many turns earlier; 0 is the same turn.
    pub fn each_within<T: Into<String>>(
        tools: impl IntoIterator<Item = T>,
        of: impl Into<String>,
        turns: u64,
    ) -> Self {
        Self::new(tools, OrderRule::EachWithin { of: of.into(), turns })
    }

    /// The same rule, which ends the run at the first call that breaks it.
    #[must_use]
    pub fn stop(self) -> Self {
        Self { stop: true, ..self }
    }

    fn new<T: Into<String>>(tools: impl IntoIterator<Item = T>, rule: OrderRule) -> Self {
        Self { tools: tools.into_iter().map(T::into).collect(), rule, stop: false }
    }
}

/// A rule on the order of calls.
#[derive(Clone, Debug, PartialEq)]
pub enum OrderRule {
    /// No call comes before one of this tool has succeeded.
    NeverBefore(String),
    /// No call comes after the user said this.
    NeverAfterUserSays(String),
    /// Each call comes after one of this tool that succeeded, at most so many turns earlier.
    EachWithin {
        /// The other tool.
        of: String,
        /// How many turns.
        turns: u64,
    },
}

impl Evaluator for ToolOrder {
    const TYPE: &'static str = "tool_order";
    const ABOUT: &'static str = "Calls of tools keep a rule on their order.";
    const LOOKS_AT: LooksAt = LooksAt::Agent;
    const KEYS: &'static [Key] = &[
        Key::optional(
            "never",
            Form::SomeTexts,
            "Tools that are not called there; with `before` or `after_user_says`. One of `never` and `each` is needed.",
        ),
        Key::optional("before", Form::Text, "Not before a call of this tool has succeeded."),
        Key::optional(
            "after_user_says",
            Form::TellingText("every message contains the empty text"),
            "Not after the user said this, in upper or lower case.",
        ),
        Key::optional("each", Form::SomeTexts, "Tools of which each call is preceded by another; with `of`."),
        Key::optional("of", Form::Text, "The tool of which a call has succeeded before."),
        Key::optional(
            "within_turns",
            Form::Whole(0.0, 1e9),
            "How many turns earlier that may be, 0 for the same turn; any number unless given.",
        ),
        Key::or("stop", Form::Flag, "false", "Whether the run ends at the first call that breaks the rule."),
    ];
    const PAGE: &'static str = "\
A call that failed breaks a rule as one that succeeded does; it does not stand for the other call that a rule asks for. \
What came earlier in the session counts, also in an earlier step. Where no such call is made, the rule is kept. The evidence names the first call that breaks it.

With `stop: true` the rule is looked at while the scenario runs, and the run ends at the first call that breaks it, before the tool is asked: \
the run has failed, whatever the other evaluations say and whatever `judgment` asks for, and nothing after it is done or judged. What an agent behind a tool \
does, and agents that run side by side, is looked at when they come back.

```yaml
- type: tool_order
  never: [refund]
  before: verify_identity
- type: tool_order
  each: [book]
  of: confirm
  within_turns: 2
- type: tool_order
  never: [send_email, delete_account]
  after_user_says: stop
  stop: true
```";

    fn rules() -> Value {
        let one = |keys: &[&str], not: &[&str]| {
            let not: Vec<Value> = not.iter().map(|key| json!({"required": [key]})).collect();
            json!({"required": keys, "not": {"anyOf": not}})
        };
        json!({"oneOf": [
            one(&["never", "before"], &["after_user_says", "each", "of", "within_turns"]),
            one(&["never", "after_user_says"], &["before", "each", "of", "within_turns"]),
            one(&["each", "of"], &["never", "before", "after_user_says"]),
        ]})
    }

    fn read(given: &mut Given<'_>) -> Self {
        let (never, each) = (given.texts("never"), given.texts("each"));
        let (before, says) = (given.some_text("before"), given.some_text("after_user_says"));
        let (of, turns) = (given.some_text("of"), given.whole("within_turns"));
        let within = given.has("within_turns");
        let rule = match (&never, before, says, &each, of) {
            (Some(_), Some(other), None, None, None) if !within => Some(OrderRule::NeverBefore(other)),
            (Some(_), None, Some(text), None, None) if !within => Some(OrderRule::NeverAfterUserSays(text)),
            (None, None, None, Some(_), Some(of)) => {
                Some(OrderRule::EachWithin { of, turns: turns.unwrap_or(u64::MAX) })
            }
            _ => None,
        };
        if rule.is_none() {
            let message = "`tool_order` asks one of: `never` with `before`, `never` with `after_user_says`, `each` with `of`";
            let complaint = Complaint::spoils("missing-key", At::Whole, message);
            given.complain(complaint.help("write, for example: never: [refund], before: verify_identity"));
        }
        let rule = rule.unwrap_or_else(|| OrderRule::NeverBefore(String::new()));
        Self { tools: never.or(each).unwrap_or_default(), rule, stop: given.flag("stop") }
    }

    fn detail(&self) -> String {
        let tools = self.tools.join(", ");
        match &self.rule {
            OrderRule::NeverBefore(other) => format!("never {tools} before {other}"),
            OrderRule::NeverAfterUserSays(text) => format!("never {tools} after the user says {text:?}"),
            OrderRule::EachWithin { of, turns: u64::MAX } => format!("each {tools} after {of}"),
            OrderRule::EachWithin { of, turns } => format!("each {tools} within {turns} turns of {of}"),
        }
    }

    fn words_of_user(&self) -> Option<&str> {
        match &self.rule {
            OrderRule::NeverAfterUserSays(words) => Some(words),
            OrderRule::NeverBefore(_) | OrderRule::EachWithin { .. } => None,
        }
    }

    fn tools(&self) -> Option<Vec<&str>> {
        let other = match &self.rule {
            OrderRule::NeverBefore(other) | OrderRule::EachWithin { of: other, .. } => Some(other.as_str()),
            OrderRule::NeverAfterUserSays(_) => None,
        };
        Some(self.tools.iter().map(String::as_str).chain(other).collect())
    }

    fn assess(&self, view: &View<'_>) -> Assessment {
        let (Some(first), Some(last)) = (view.events().first(), view.events().last()) else {
            return self.kept(&[]).into();
        };
        let (mut order, mut calls) = (Order::new(self), Vec::new());
        for event in view.ledger.events().iter().take_while(|event| event.seq <= last.seq) {
            let breach = order.see(event, view.ledger);
            if event.seq < first.seq {
                continue;
            }
            if let Some(breach) = breach {
                return MetricResult::from(breach).into();
            }
            if self.is_about(event).is_some() {
                calls.push(event.seq);
            }
        }
        self.kept(&calls).into()
    }

    fn watch(&self) -> Option<Box<dyn Watcher>> {
        self.stop.then(|| Box::new(Order::new(self)) as Box<dyn Watcher>)
    }
}

impl ToolOrder {
    /// The tool that is called, where the rule is about it.
    fn is_about<'a>(&self, event: &'a Event) -> Option<&'a str> {
        match &event.body {
            EventBody::ToolCall { tool, .. } if self.tools.iter().any(|meant| **meant == **tool) => Some(tool),
            _ => None,
        }
    }

    fn kept(&self, calls: &[u64]) -> MetricResult {
        let message = format!("the rule is kept: {}; called {}", self.detail(), times(calls.len() as u64));
        MetricResult::from_pass(true).value(calls.len()).because_of(message, calls.iter().copied())
    }
}

/// A rule, and what of the events so far it depends on.
#[derive(Debug)]
struct Order {
    rule: ToolOrder,
    /// How many messages of the user there were; each begins a turn.
    turns: u64,
    /// The last result of the other tool that succeeded, and the turn it came in.
    succeeded: Option<(u64, u64)>,
    /// The first message in which the user said it.
    said: Option<u64>,
}

impl Order {
    fn new(rule: &ToolOrder) -> Self {
        Self { rule: rule.clone(), turns: 0, succeeded: None, said: None }
    }

    /// Why a call that is made now breaks the rule, with the events that show it beside the call.
    fn broken(&self) -> Option<(String, Option<u64>)> {
        match &self.rule.rule {
            OrderRule::NeverAfterUserSays(text) => {
                self.said.map(|seq| (format!("after the user said {text:?}"), Some(seq)))
            }
            OrderRule::NeverBefore(other) | OrderRule::EachWithin { of: other, .. } => {
                let Some((seq, turn)) = self.succeeded else {
                    return Some((format!("before any call of {other} succeeded"), None));
                };
                let OrderRule::EachWithin { turns, .. } = &self.rule.rule else { return None };
                let apart = self.turns - turn;
                (apart > *turns).then(|| {
                    (format!("{apart} turns after {other} succeeded, at most {turns} allowed"), Some(seq))
                })
            }
        }
    }
}

impl Watcher for Order {
    fn see(&mut self, event: &Event, _: &Ledger) -> Option<Breach> {
        match (&event.body, &self.rule.rule) {
            (EventBody::UserMessage { content }, rule) => {
                self.turns += 1;
                if let OrderRule::NeverAfterUserSays(text) = rule
                    && self.said.is_none()
                    && Case::Ignored.contains(&content.text(), text)
                {
                    self.said = Some(event.seq);
                }
            }
            (
                EventBody::ToolResult(result),
                OrderRule::NeverBefore(other) | OrderRule::EachWithin { of: other, .. },
            ) if *result.tool == **other && !result.outcome.is_error() => {
                self.succeeded = Some((event.seq, self.turns));
            }
            _ => {}
        }
        let tool = self.rule.is_about(event)?;
        let (why, other) = self.broken()?;
        let events = [event.seq].into_iter().chain(other).collect();
        Some(Breach { why: format!("{tool} was called {why}"), events })
    }
}
