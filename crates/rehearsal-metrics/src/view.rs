//! What a judgment looks at: a session, one of its steps, or one turn of a step.
//!
//! Every judgment asks the same few things of a ledger: which text is the reply, which calls were made, what came out, how
//! it ended. [`View`] answers them, so that there is one answer.

mod step;

use std::borrow::Cow;
use std::sync::Arc;

use rehearsal_core::{
    CallView, EvaluationScope, Event, EventBody, Ledger, Line, LineKind, StepEnded, StepKind, Timestamp,
    Yield,
};
use serde_json::Value;

use crate::Prices;

pub(crate) use step::acts;
pub use step::{StepView, TurnView};

/// Which part of a ledger is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// All of it.
    Session,
    /// A step of a scenario, by its number from 1.
    Step(usize),
    /// A turn of a step.
    Turn {
        /// The step, by its number from 1.
        step: usize,
        /// The turn in it, by its number from 1.
        turn: usize,
    },
}

/// The part of a ledger that an evaluation of a scenario looks at.
impl From<EvaluationScope> for Scope {
    fn from(scope: EvaluationScope) -> Self {
        match scope {
            EvaluationScope::Session => Self::Session,
            EvaluationScope::Step { step } | EvaluationScope::Final { step } => Self::Step(step),
            EvaluationScope::Turn { step, turn } => Self::Turn { step, turn },
        }
    }
}

/// Why there is nothing to look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotInView {
    /// A step that was never begun.
    #[error("step {step} is not on the ledger")]
    NoStep {
        /// The step.
        step: usize,
    },
    /// A step that has not ended.
    #[error("step {step} did not come to its end")]
    StepUnended {
        /// The step.
        step: usize,
    },
    /// A turn that was never begun.
    #[error("step {step} has no turn {turn}; it has {turns}")]
    NoTurn {
        /// The step.
        step: usize,
        /// The turn.
        turn: usize,
        /// How many turns there are.
        turns: usize,
    },
    /// A turn that has not ended.
    #[error("turn {turn} of step {step} did not come to its end")]
    TurnUnended {
        /// The step.
        step: usize,
        /// The turn.
        turn: usize,
    },
    /// What only steps have, asked of a session.
    #[error("a session has no files and commands of its own; its steps do")]
    OfSteps,
}

/// A session, a step or a turn that came to its end, as judgments look at it.
#[derive(Debug)]
pub struct View<'a> {
    /// All that happened in the session.
    pub ledger: &'a Ledger,
    step: Option<StepView<'a>>,
    turns: Vec<TurnView<'a>>,
    /// Where in `turns` the turn stands, where one is looked at.
    turn: Option<usize>,
    prices: Cow<'a, Prices>,
}

impl<'a> View<'a> {
    /// A whole session, also one that has not ended.
    pub fn session(ledger: &'a Ledger) -> Self {
        let turns = step::turns(ledger.events());
        Self { ledger, step: None, turns, turn: None, prices: Cow::default() }
    }

    /// Finds what a scope names.
    ///
    /// # Errors
    /// It is not on the ledger, or did not come to its end.
    pub fn find(ledger: &'a Ledger, scope: Scope) -> Result<Self, NotInView> {
        let (step, turn) = match scope {
            Scope::Session => return Ok(Self::session(ledger)),
            Scope::Step(step) => (step, None),
            Scope::Turn { step, turn } => (step, Some(turn)),
        };
        let found = StepView::nth(ledger, step).ok_or(NotInView::NoStep { step })?;
        let (all, has_ended) = (found.turns(), found.ended.is_some());
        let view = Self { ledger, step: Some(found), turns: all, turn: None, prices: Cow::default() };
        let Some(turn) = turn else {
            return if has_ended { Ok(view) } else { Err(NotInView::StepUnended { step }) };
        };
        let turns = view.turns.len();
        let at = view.turns.iter().position(|view| view.number == turn);
        let at = at.ok_or(NotInView::NoTurn { step, turn, turns })?;
        if at + 1 == turns && !has_ended && !came_to_its_end(view.turns[at].events) {
            return Err(NotInView::TurnUnended { step, turn });
        }
        Ok(Self { turn: Some(at), ..view })
    }

    /// The same, with what models cost.
    #[must_use]
    pub fn with_prices(self, prices: &'a Prices) -> Self {
        Self { prices: Cow::Borrowed(prices), ..self }
    }

    /// What models cost, as far as an author said so.
    pub fn prices(&self) -> &Prices {
        &self.prices
    }

    /// What is looked at, in words.
    pub fn name(&self) -> String {
        match (&self.step, self.turn()) {
            (None, _) => "the session".to_owned(),
            (Some(step), Some(turn)) => format!("turn {} of step {}", turn.number, step.started.step),
            (Some(step), None) => format!("step {}", step.started.step),
        }
    }

    /// The number of the step that is looked at, or in which the turn is.
    pub(crate) fn step_number(&self) -> Option<usize> {
        self.step.as_ref().map(|step| step.started.step)
    }

    /// The kind of the step that is looked at, or in which the turn is; nothing for a session.
    pub fn kind(&self) -> Option<StepKind> {
        self.step.as_ref().map(|step| step.started.kind)
    }

    /// One of the turns that [`turns`](Self::turns) gives, by its place, from 0.
    ///
    /// # Panics
    /// There is no such turn.
    pub(crate) fn of_turn(&self, at: usize) -> Self {
        assert!(at < self.turns.len(), "there is no turn at this place");
        Self {
            ledger: self.ledger,
            step: self.step.clone(),
            turns: self.turns.clone(),
            turn: Some(at),
            prices: self.prices.clone(),
        }
    }

    /// The turn that is looked at, where one is.
    pub fn turn(&self) -> Option<&TurnView<'a>> {
        self.turn.map(|at| &self.turns[at])
    }

    /// The turns of the step or session, also of one of which a turn is looked at.
    pub fn turns(&self) -> &[TurnView<'a>] {
        &self.turns
    }

    /// The turns before the one that is looked at.
    pub fn earlier_turns(&self) -> &[TurnView<'a>] {
        &self.turns[..self.turn.unwrap_or(0)]
    }

    /// The events that are looked at.
    pub fn events(&self) -> &'a [Arc<Event>] {
        match (self.turn(), &self.step) {
            (Some(turn), _) => turn.events,
            (None, Some(step)) => step.events,
            (None, None) => self.ledger.events(),
        }
    }

    /// How the step ended.
    ///
    /// # Errors
    /// It did not come to its end, or no step is looked at.
    pub fn ended(&self) -> Result<&StepEnded, NotInView> {
        let step = self.step.as_ref().ok_or(NotInView::OfSteps)?;
        step.ended.as_deref().ok_or(NotInView::StepUnended { step: step.started.step })
    }

    /// The number of the event that says how the step, or the session, ended.
    pub fn end_seq(&self) -> Option<u64> {
        let step = self.step.as_ref().map(|step| step.started.step);
        let ends = |event: &&Arc<Event>| match (&event.body, step) {
            (EventBody::StepEnded(ended), Some(step)) => ended.step == step,
            (EventBody::SessionEnded { .. }, None) => true,
            _ => false,
        };
        self.ledger.events().iter().rev().find(ends).map(|event| event.seq)
    }

    /// The number of the last event that is looked at.
    pub fn last_seq(&self) -> u64 {
        let last = || self.events().last().map_or(0, |event| event.seq);
        match self.turn {
            Some(_) => last(),
            None => self.end_seq().unwrap_or_else(last),
        }
    }

    /// When it began and when it ended; nothing for a turn in which nothing followed the user's message.
    pub fn times(&self) -> Option<(Timestamp, Timestamp)> {
        match (self.turn(), &self.step) {
            (None, Some(step)) => Some((step.started_at, step.ended_at)),
            _ => match self.events() {
                [first, .., last] => Some((first.at, last.at)),
                _ => None,
            },
        }
    }

    /// What a text that is looked at is called.
    pub fn text_name(&self) -> &'static str {
        if self.is_code() { "output" } else { "reply" }
    }

    /// Whether it is a step that runs code.
    pub fn is_code(&self) -> bool {
        self.kind() == Some(StepKind::Code)
    }

    /// The reply, with the number of its event.
    ///
    /// It is, in this order: the root agent's answer where that is a text; else what an agent last said, agents used as
    /// tools left out; else the root agent's answer as JSON. Of a step and a turn it is the reply of the last turn: an
    /// earlier one does not stand for a turn in which the agent said nothing. Of a session it is the last reply after the
    /// user's last message, and an earlier one only where the agent had no turn since. Of a step that runs code it is what
    /// the code wrote, without white space around it.
    pub fn reply(&self) -> Option<(u64, String)> {
        if self.is_code() {
            return Some((self.end_seq()?, self.ended().ok()?.stdout.trim().to_owned()));
        }
        reply_in(self.last_events())
    }

    /// The value the agent came to its end with, where it gave one.
    pub fn output(&self) -> Option<(u64, &'a Value)> {
        output_in(self.last_events()).filter(|(_, output)| !output.is_null())
    }

    /// The events of the last turn, or of all where there is none.
    fn last_events(&self) -> &'a [Arc<Event>] {
        if self.step.is_some() {
            return self.turn().or_else(|| self.turns.last()).map_or(self.events(), |turn| turn.events);
        }
        let events = self.ledger.events();
        let is_message =
            |event: &Arc<Event>| matches!(event.body, EventBody::UserMessage { .. }) && !is_nested(event);
        let answers = |event: &Arc<Event>| {
            matches!(event.body, EventBody::ModelResponse(_) | EventBody::FinalResponse { .. })
                && !is_nested(event)
        };
        let asked = events.iter().rposition(is_message).unwrap_or(0);
        if events[asked..].iter().any(answers) { &events[asked..] } else { events }
    }

    /// The tool calls, in the order they were made; also those of agents used as tools.
    pub fn calls(&self) -> Vec<CallView<'a>> {
        let (Some(first), Some(last)) = (self.events().first(), self.events().last()) else {
            return Vec::new();
        };
        let range = first.seq..=last.seq;
        self.ledger.calls().filter(|call| range.contains(&call.event.seq)).collect()
    }
}

fn output_in(events: &[Arc<Event>]) -> Option<(u64, &Value)> {
    events.iter().rev().find_map(|event| match &event.body {
        EventBody::FinalResponse { output } => Some((event.seq, output)),
        _ => None,
    })
}

fn reply_in(events: &[Arc<Event>]) -> Option<(u64, String)> {
    let answer = output_in(events).filter(|(_, output)| !output.is_null());
    let said = last_said(events);
    let Some((seq, output)) = answer else { return said };
    match (rehearsal_core::json::as_text(output), said) {
        // Where the agent also said it, people find it in the transcript.
        (Some(text), Some((seq, said))) if text.trim() == said.trim() => Some((seq, said)),
        (Some(text), said) if text.trim().is_empty() => said,
        (Some(text), _) => Some((seq, text.to_owned())),
        (None, said) => said.or_else(|| Some((seq, rehearsal_core::json::text(output)))),
    }
}

/// The last thing the agent said among these events, agents used as tools left out, with the number of its event.
pub fn last_said(events: &[Arc<Event>]) -> Option<(u64, String)> {
    events.iter().rev().find_map(|event| match Line::of(event)? {
        Line { kind: LineKind::Agent(text), nested: false, seq, .. } if !text.trim().is_empty() => {
            Some((seq, text))
        }
        _ => None,
    })
}

fn is_nested(event: &Event) -> bool {
    event.invocation.as_ref().is_some_and(|path| !path.enclosure().is_empty())
}

/// Whether the events of a last turn show that the agent is done with it.
fn came_to_its_end(events: &[Arc<Event>]) -> bool {
    events.iter().any(|event| {
        matches!(event.body, EventBody::FinalResponse { .. } | EventBody::Yield(Yield::Loop { .. }))
    })
}
