//! How an evaluator is asked: of which replies, and whether it is to hold.

use rehearsal_core::keys::{At, Complaint, Form, Given, Key, whole};
use rehearsal_core::{MetricResult, MetricStatus};
use serde_json::{Value, json};

use super::{Check, Kind, Misplaced, Place};
use crate::Assessment;
use crate::view::View;

/// How an evaluator is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct How {
    /// Whether it passes where the evaluator fails.
    pub negated: bool,
    /// Which replies it looks at.
    pub replies: Replies,
}

/// Which replies an evaluator looks at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Replies {
    /// The last.
    #[default]
    Last,
    /// One of them has to pass.
    Any,
    /// Each of them has to pass.
    All,
    /// That of this turn, from 1.
    Turn(usize),
}

/// The key of those that look at a reply.
const IN: Key = Key::or(
    "in",
    Form::Own(replies),
    "\"last\"",
    "Which reply of a conversation: the `last`, `any` of them, `all` of them, or that of the turn of this number.",
);

/// The key of all.
const NOT: Key = Key::or(
    "not",
    Form::Flag,
    "false",
    "Whether it passes where it would fail, and fails where it would pass.",
);

/// What evaluators that look at a reply have beside their own keys.
pub const OF_REPLIES: &[Key] = &[IN, NOT];

/// What the others have.
pub const OF_ALL: &[Key] = &[NOT];

/// The most turns that a conversation may have.
const MOST_TURNS: u64 = 1_000_000;

/// The number of a turn.
fn turn_number(value: &Value) -> Option<usize> {
    let turn = whole(value)?.as_u64().filter(|turn| (1..=MOST_TURNS).contains(turn))?;
    usize::try_from(turn).ok()
}

fn replies() -> Value {
    json!({"oneOf": [{"enum": ["last", "any", "all"]}, {"type": "integer", "minimum": 1, "maximum": MOST_TURNS}]})
}

impl How {
    /// Reads how a kind of evaluator is asked.
    pub fn read(given: &mut Given<'_>, kind: &Kind) -> Self {
        let replies = match kind.of_replies.then(|| given.value("in")).flatten() {
            None => Replies::Last,
            Some(Value::String(word)) if word == "last" => Replies::Last,
            Some(Value::String(word)) if word == "any" => Replies::Any,
            Some(Value::String(word)) if word == "all" => Replies::All,
            Some(value) => match turn_number(&value) {
                Some(turn) => Replies::Turn(turn),
                None => {
                    let message = "`in` must be last, any, all, or the number of a turn, from 1";
                    given.complain(
                        Complaint::spoils("wrong-type", At::Value("in"), message)
                            .help("it can be: `last`, `any`, `all`, or the number of a turn"),
                    );
                    Replies::Last
                }
            },
        };
        let negated = given.flag("not");
        if negated && given.has("stop") {
            let message = "what shall not hold is known at the end, so that `stop` cannot end a run";
            given.complain(
                Complaint::no_effect("no-effect", At::Name("not"), message).help("remove `stop` or `not`"),
            );
        }
        Self { negated, replies }
    }

    /// Whether it can be asked there.
    ///
    /// # Errors
    /// There is nothing there that it could look at.
    pub fn allowed_in(self, check: &Check, place: Place) -> Result<(), Misplaced> {
        if self.replies != Replies::Last && place == Place::Turn {
            return Err(Misplaced::RepliesOfTurn { name: check.kind().name });
        }
        Ok(())
    }

    /// What is asked, in a few words.
    pub fn label(self, check: &Check) -> String {
        format!("{}{}", self.prefix(), check.label())
    }

    /// The words before the label of an evaluator.
    pub(super) fn prefix(self) -> String {
        let which = match self.replies {
            Replies::Last => String::new(),
            Replies::Any => "any reply: ".to_owned(),
            Replies::All => "all replies: ".to_owned(),
            Replies::Turn(turn) => format!("reply {turn}: "),
        };
        let not = if self.negated { "not " } else { "" };
        format!("{which}{not}")
    }

    /// Looks at what happened.
    pub(super) fn assess(self, check: &Check, view: &View<'_>) -> Assessment {
        match self.replies {
            Replies::Last => match check.assess(view) {
                Assessment::Done(result) => self.turned(result).into(),
                ask @ Assessment::Ask(_) => ask,
            },
            replies => self.of_turns(check, view, replies).into(),
        }
    }

    /// What a result comes to.
    pub(super) fn turned(self, result: MetricResult) -> MetricResult {
        if !self.negated {
            return result;
        }
        let status = match result.status {
            MetricStatus::Passed => MetricStatus::Failed,
            MetricStatus::Failed => MetricStatus::Passed,
            other => return MetricResult { status: other, ..result },
        };
        let score = result.score.map(|score| 1.0 - score);
        MetricResult { status, score, ..result }
    }

    fn of_turns(self, check: &Check, view: &View<'_>, replies: Replies) -> MetricResult {
        let turns = view.turns().len();
        let places: Vec<usize> = match replies {
            Replies::Turn(turn) => (turn - 1..turn).filter(|at| *at < turns).collect(),
            _ => (0..turns).collect(),
        };
        if places.is_empty() {
            let there = match turns {
                0 => "there is none".to_owned(),
                1 => "there is one turn".to_owned(),
                many => format!("there are {many} turns"),
            };
            return match replies {
                // The agent was to say it then, and was never asked.
                Replies::Turn(turn) => MetricResult::from_pass(false)
                    .because(format!("{} has no turn {turn}: {there}", view.name())),
                _ => MetricResult::unscored(format!("{} has no turns", view.name())),
            };
        }
        let results: Vec<(usize, MetricResult)> = places
            .into_iter()
            .map(|at| match check.assess(&view.of_turn(at)) {
                Assessment::Done(result) => (at + 1, self.turned(result)),
                Assessment::Ask(_) => (
                    at + 1,
                    MetricResult::error("what asks somebody else cannot be asked of several replies"),
                ),
            })
            .collect();
        let wanted = match replies {
            Replies::Any => MetricStatus::Passed,
            _ => MetricStatus::Failed,
        };
        let decides = |(_, result): &&(usize, MetricResult)| result.status == wanted;
        let undecided = |(_, result): &&(usize, MetricResult)| {
            !matches!(result.status, MetricStatus::Passed | MetricStatus::Failed)
        };
        let told = |(turn, result): &(usize, MetricResult)| {
            let mut result = result.clone();
            if let (Some(first), true) = (result.evidence.first_mut(), turns > 1) {
                first.text = format!("in turn {turn}, {}", first.text);
            }
            result
        };
        let first =
            results.iter().find(decides).or_else(|| results.iter().find(undecided)).or(results.last());
        let Some(found) = first.map(told) else { return MetricResult::unscored("there are no turns") };
        if results.len() > 1 && replies == Replies::Any && found.status == MetricStatus::Failed {
            let others = results.iter().rev().skip(1).rev().take(4).flat_map(|each| told(each).evidence);
            return MetricResult {
                evidence: others.chain(found.evidence.iter().cloned()).collect(),
                ..found
            };
        }
        found
    }
}
