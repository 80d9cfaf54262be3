//! `conversation_length`.

use rehearsal_core::MetricResult;
use rehearsal_core::keys::{At, Complaint, Form, Given, Key};
use serde_json::{Value, json};

use super::shown::bounds;
use super::{Evaluator, LooksAt};
use crate::Assessment;
use crate::view::View;

/// The conversation had as many turns as it should.
#[derive(Clone, Debug, PartialEq)]
pub struct ConversationLength {
    /// At least.
    pub min_turns: Option<u64>,
    /// At most.
    pub max_turns: Option<u64>,
    /// At best; only told.
    pub optimal_turns: Option<u64>,
    /// Between these.
    pub target_range: Option<(u64, u64)>,
}

const TURNS: Form = Form::Whole(1.0, f64::INFINITY);

impl ConversationLength {
    fn bounds(&self) -> (Option<u64>, Option<u64>) {
        let (from, to) = self.target_range.unzip();
        (self.min_turns.max(from), [self.max_turns, to].into_iter().flatten().min())
    }
}

impl Evaluator for ConversationLength {
    const TYPE: &'static str = "conversation_length";
    const ABOUT: &'static str = "The conversation had as many turns as it should.";
    const LOOKS_AT: LooksAt = LooksAt::Conversation;
    const KEYS: &'static [Key] = &[
        Key::optional(
            "min_turns",
            TURNS,
            "At least; one of `min_turns`, `max_turns` and `target_range` is needed.",
        ),
        Key::optional("max_turns", TURNS, "At most."),
        Key::optional("target_range", Form::Pair, "At least and at most in one, such as `[3, 6]`."),
        Key::optional("optimal_turns", TURNS, "Only reported: how far the number is from it."),
    ];
    const PAGE: &'static str = "\
A turn is a message of the user and what the agent makes of it.

```yaml
- type: conversation_length
  target_range: [2, 6]
  optimal_turns: 4
```";

    fn rules() -> Value {
        json!({"anyOf": [{"required": ["min_turns"]}, {"required": ["max_turns"]}, {"required": ["target_range"]}]})
    }

    fn read(given: &mut Given<'_>) -> Self {
        // `optimal_turns` is only told.
        if !["min_turns", "max_turns", "target_range"].iter().any(|key| given.has(key)) {
            let message = "every conversation is as long as this asks for";
            let complaint = Complaint::no_effect("always-true", At::Whole, message);
            given.complain(complaint.help("add one of `min_turns`, `max_turns` and `target_range`"));
        }
        let made = Self {
            target_range: given.pair("target_range"),
            min_turns: given.whole("min_turns"),
            max_turns: given.whole("max_turns"),
            optimal_turns: given.whole("optimal_turns"),
        };
        super::bounds::complain(given, made.bounds(), ("min_turns", "max_turns"));
        made
    }

    fn detail(&self) -> String {
        let (low, high) = self.bounds();
        bounds(low, high)
    }

    fn assess(&self, view: &View<'_>) -> Assessment {
        let turns = view.turns().len() as u64;
        let (least, most) = self.bounds();
        let passed = least.is_none_or(|least| turns >= least) && most.is_none_or(|most| turns <= most);
        let asked = match (least, most) {
            (Some(least), Some(most)) => format!("{least} to {most}"),
            (Some(least), None) => format!("at least {least}"),
            (None, Some(most)) => format!("at most {most}"),
            (None, None) => "any number".to_owned(),
        };
        let said = view.turns().iter().filter_map(|turn| turn.user.as_ref().map(|(seq, _)| *seq));
        let message = format!("the conversation had {turns} turns, {asked} asked for");
        let result = MetricResult::from_pass(passed).value(turns).because_of(message, said);
        match self.optimal_turns {
            Some(optimal) => {
                result.because(format!("{} turns from the optimum of {optimal}", turns.abs_diff(optimal)))
            }
            None => result,
        }
        .into()
    }
}
