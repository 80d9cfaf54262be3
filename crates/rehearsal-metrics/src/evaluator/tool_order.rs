//! `tool_order`.

use rehearsal_core::keys::{At, Complaint, Form, Given, Key};
use rehearsal_core::{CallView, EventBody, Ledger, MetricResult};
use serde_json::{Value, json};

use super::calls::{CallStatus, times};
use super::{Evaluator, LooksAt};
use crate::Assessment;
use crate::fold::Case;
use crate::view::View;

/// Calls of tools keep a rule on their order.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolOrder {
    /// The tools that the rule is about.
    pub tools: Vec<String>,
    /// The rule.
    pub rule: OrderRule,
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
    ];
    const PAGE: &'static str = "\
A call that failed breaks a rule as one that succeeded does; it does not stand for the other call that a rule asks for. \
What came earlier in the session counts, also in an earlier step. Where no such call is made, the rule is kept. The evidence names the first call that breaks it.

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
        Self { tools: never.or(each).unwrap_or_default(), rule }
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

    fn tools(&self) -> Option<Vec<&str>> {
        let other = match &self.rule {
            OrderRule::NeverBefore(other) | OrderRule::EachWithin { of: other, .. } => Some(other.as_str()),
            OrderRule::NeverAfterUserSays(_) => None,
        };
        Some(self.tools.iter().map(String::as_str).chain(other).collect())
    }

    fn assess(&self, view: &View<'_>) -> Assessment {
        let calls = view.calls();
        let is_meant = |call: &&CallView<'_>| self.tools.iter().any(|tool| **call.tool == **tool);
        let meant: Vec<CallView<'_>> = calls.iter().filter(is_meant).copied().collect();
        let broken = meant.iter().find_map(|call| Some((call, self.broken_by(call, view.ledger)?)));
        let Some((call, (why, others))) = broken else {
            let message = format!("the rule is kept: {}; called {}", self.detail(), times(meant.len() as u64));
            let seqs: Vec<u64> = meant.iter().map(|call| call.event.seq).collect();
            return MetricResult::from_pass(true).value(meant.len()).because_of(message, seqs).into();
        };
        let events = [call.event.seq].into_iter().chain(others);
        MetricResult::from_pass(false).because_of(format!("{} was called {why}", call.tool), events).into()
    }
}

impl ToolOrder {
    /// Why a call breaks the rule, with the events that show it beside the call. What came earlier in the session counts.
    fn broken_by(&self, call: &CallView<'_>, ledger: &Ledger) -> Option<(String, Vec<u64>)> {
        let succeeded_before = |other: &str| {
            let succeeded = ledger.calls().filter(|before| **before.tool == *other);
            let succeeded = succeeded.filter(|before| CallStatus::Succeeded.holds(before));
            let answers = succeeded.filter_map(|before| before.answer.map(|event| event.seq));
            answers.filter(|seq| *seq < call.event.seq).max()
        };
        match &self.rule {
            OrderRule::NeverBefore(other) => succeeded_before(other)
                .is_none()
                .then(|| (format!("before any call of {other} succeeded"), Vec::new())),
            OrderRule::NeverAfterUserSays(text) => {
                let said = messages(ledger).take_while(|(seq, _)| *seq < call.event.seq);
                let mut said = said.filter(|(_, said)| Case::Ignored.contains(said, text));
                said.next().map(|(seq, _)| (format!("after the user said {text:?}"), vec![seq]))
            }
            OrderRule::EachWithin { of, turns } => {
                let Some(last) = succeeded_before(of) else {
                    return Some((format!("before any call of {of} succeeded"), Vec::new()));
                };
                let between = messages(ledger).filter(|(seq, _)| (last..call.event.seq).contains(seq));
                let apart = between.count() as u64;
                (apart > *turns).then(|| {
                    (format!("{apart} turns after {of} succeeded, at most {turns} allowed"), vec![last])
                })
            }
        }
    }
}

/// What the user said in a session, with the numbers of the events; each begins a turn.
fn messages(ledger: &Ledger) -> impl Iterator<Item = (u64, String)> {
    ledger.events().iter().filter_map(|event| match &event.body {
        EventBody::UserMessage { content } => Some((event.seq, content.text())),
        _ => None,
    })
}
