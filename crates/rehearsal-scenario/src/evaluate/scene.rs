//! The part of a ledger that an evaluation looks at.

use std::sync::Arc;

use rehearsal_core::{CallView, Event, EventBody, Ledger, Yield};
use serde_json::Value;

use super::EvaluationScope;
use crate::file::Place;
use crate::notes::STEP_ENDED;
use crate::{StepEnded, StepKind, StepView, TurnView};

/// A step, or a turn of one, that came to its end.
pub(super) struct Scene<'a> {
    pub(super) ledger: &'a Ledger,
    pub(super) step: StepView<'a>,
    pub(super) turns: Vec<TurnView<'a>>,
    /// Where in `turns` the turn stands, where one is looked at.
    turn: Option<usize>,
}

impl<'a> Scene<'a> {
    /// Finds what a scope names.
    ///
    /// # Errors
    /// It is not on the ledger, or did not come to its end.
    pub(super) fn find(ledger: &'a Ledger, scope: EvaluationScope) -> Result<Self, String> {
        let number = scope.step;
        let step =
            StepView::nth(ledger, number).ok_or_else(|| format!("step {number} is not on the ledger"))?;
        let turns = step.turns();
        let Some(turn) = scope.turn else {
            let ended = step.ended.is_some();
            return if ended {
                Ok(Self { ledger, step, turns, turn: None })
            } else {
                Err(format!("step {number} did not come to its end"))
            };
        };
        let at = turns.iter().position(|view| view.number == turn);
        let at = at.ok_or_else(|| format!("step {number} has no turn {turn}; it has {}", turns.len()))?;
        if at + 1 == turns.len() && step.ended.is_none() && !came_to_its_end(turns[at].events) {
            return Err(format!("turn {turn} of step {number} did not come to its end"));
        }
        Ok(Self { ledger, step, turns, turn: Some(at) })
    }

    pub(super) fn place(&self) -> Place {
        if self.turn.is_some() { Place::Turn } else { Place::Step(self.step.started.kind) }
    }

    /// What is looked at, in words.
    pub(super) fn name(&self) -> String {
        let step = self.step.started.step;
        match self.turn() {
            Some(turn) => format!("turn {} of step {step}", turn.number),
            None => format!("step {step}"),
        }
    }

    pub(super) fn turn(&self) -> Option<&TurnView<'a>> {
        self.turn.map(|at| &self.turns[at])
    }

    pub(super) fn events(&self) -> &'a [Arc<Event>] {
        self.turn().map_or(self.step.events, |turn| turn.events)
    }

    /// The turns before the one that is looked at.
    pub(super) fn earlier_turns(&self) -> &[TurnView<'a>] {
        &self.turns[..self.turn.unwrap_or(0)]
    }

    /// How the step ended. Evaluations that need it are not asked of turns.
    pub(super) fn ended(&self) -> Result<&StepEnded, String> {
        let unended = || format!("step {} did not come to its end", self.step.started.step);
        self.step.ended.as_ref().ok_or_else(unended)
    }

    /// The number of the event that says how the step ended.
    pub(super) fn end_seq(&self) -> Option<u64> {
        let step = self.step.started.step;
        let ends = |event: &&Arc<Event>| match &event.body {
            EventBody::Note { name, data } => &**name == STEP_ENDED && data["step"] == step,
            _ => false,
        };
        self.ledger.events().iter().rev().find(ends).map(|event| event.seq)
    }

    /// The number of the last event that is looked at.
    pub(super) fn last_seq(&self) -> u64 {
        let last = || self.events().last().map_or(0, |event| event.seq);
        match self.turn {
            Some(_) => last(),
            None => self.end_seq().unwrap_or_else(last),
        }
    }

    /// What a text that is looked at is called.
    pub(super) fn text_name(&self) -> &'static str {
        if self.is_code() { "output" } else { "reply" }
    }

    pub(super) fn is_code(&self) -> bool {
        self.step.started.kind == StepKind::Code
    }

    /// The agent's last reply, or what the code wrote, with the number of its event. An earlier reply does not stand
    /// for a last turn in which the agent said nothing.
    pub(super) fn reply(&self) -> Option<(u64, String)> {
        if self.is_code() {
            return Some((self.end_seq()?, self.step.ended.as_ref()?.stdout.trim().to_owned()));
        }
        let said = match self.last_turn() {
            Some(turn) => turn.agent.clone(),
            None => self.step.reply().and_then(|(seq, text)| Some((seq?, text))),
        };
        said.or_else(|| {
            let (seq, output) = self.output()?;
            Some((
                seq,
                rehearsal_core::json::as_text(output)
                    .map_or_else(|| rehearsal_core::json::text(output), str::to_owned),
            ))
        })
    }

    /// The value the agent came to its end with, where it gave one.
    pub(super) fn output(&self) -> Option<(u64, &'a Value)> {
        let events = self.last_turn().map_or(self.events(), |turn| turn.events);
        events.iter().rev().find_map(|event| match &event.body {
            EventBody::FinalResponse { output } if !output.is_null() => Some((event.seq, output)),
            _ => None,
        })
    }

    fn last_turn(&self) -> Option<&TurnView<'a>> {
        self.turn().or_else(|| self.turns.last())
    }

    /// The tool calls, in the order they were made; also those of agents used as tools.
    pub(super) fn calls(&self) -> Vec<CallView<'a>> {
        let (Some(first), Some(last)) = (self.events().first(), self.events().last()) else {
            return Vec::new();
        };
        let range = first.seq..=last.seq;
        self.ledger.calls().filter(|call| range.contains(&call.event.seq)).collect()
    }
}

/// Whether the events of a last turn show that the agent is done with it.
fn came_to_its_end(events: &[Arc<Event>]) -> bool {
    events.iter().any(|event| {
        matches!(event.body, EventBody::FinalResponse { .. } | EventBody::Yield(Yield::Loop { .. }))
    })
}
