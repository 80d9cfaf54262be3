//! Steps and turns, as a ledger shows them.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use rehearsal_core::{
    Event, EventBody, Ledger, Line, LineKind, StepEnded, StepKind, StepStarted, Timestamp, Yield,
};

/// A step as a ledger shows it.
#[derive(Clone, Debug)]
pub struct StepView<'a> {
    /// How it began.
    pub started: &'a StepStarted,
    /// When it began.
    pub started_at: Timestamp,
    /// How it ended, if it came to its end.
    pub ended: Option<Cow<'a, StepEnded>>,
    /// When it ended; the time of its last event where it did not come to its end.
    pub ended_at: Timestamp,
    /// Its events, the two that open and close it left out.
    pub events: &'a [Arc<Event>],
}

/// How a step began and ended, with the places of the two events.
type Found<'a> = (&'a StepStarted, usize, Option<(Cow<'a, StepEnded>, usize)>);

/// One exchange with the agent.
#[derive(Clone, Debug)]
pub struct TurnView<'a> {
    /// Its number in the step, from 1.
    pub number: usize,
    /// What the user said, with the number of its event; nothing where the agent opened.
    pub user: Option<(u64, String)>,
    /// The last thing the agent said, with the number of its event.
    pub agent: Option<(u64, String)>,
    /// Its events, the user's message first where there is one, up to where the agent waits again. What is written after that belongs to no
    /// turn, so that a turn is the same while it is the last one and ever after.
    pub events: &'a [Arc<Event>],
}

impl<'a> StepView<'a> {
    /// The steps of a session, in order.
    pub fn all(ledger: &'a Ledger) -> Vec<Self> {
        let events = ledger.events();
        let mut steps: Vec<Found<'a>> = Vec::new();
        for (at, event) in events.iter().enumerate() {
            match &event.body {
                EventBody::StepStarted(started) => steps.push((started, at, None)),
                EventBody::StepEnded(ended) => {
                    if let Some(step) = steps.last_mut() {
                        step.2 = Some((Cow::Borrowed(ended), at));
                    }
                }
                EventBody::StepCommands { commands } => {
                    if let Some((_, _, Some((ended, _)))) = steps.last_mut() {
                        ended.to_mut().commands.clone_from(commands);
                    }
                }
                _ => {}
            }
        }
        let view = |(started, at, ended): Found<'a>| {
            let to = ended.as_ref().map_or(events.len(), |(_, at)| *at);
            let last = if ended.is_some() { to } else { to - 1 };
            StepView {
                started,
                started_at: events[at].at,
                ended: ended.map(|(ended, _)| ended),
                ended_at: events[last].at,
                events: &events[at + 1..to],
            }
        };
        steps.into_iter().map(view).collect()
    }

    /// The step with this number, from 1.
    pub fn nth(ledger: &'a Ledger, step: usize) -> Option<Self> {
        Self::all(ledger).into_iter().find(|view| view.started.step == step)
    }

    /// What the agent replied, or what the code wrote; see [`View::reply`](super::View::reply).
    pub fn reply(&self) -> Option<String> {
        if self.started.kind == StepKind::Code {
            return self.ended.as_ref().map(|ended| ended.stdout.trim().to_owned());
        }
        let events = self.turns().last().map_or(self.events, |turn| turn.events);
        super::reply_in(events).map(|(_, text)| text)
    }

    /// Its exchanges with the agent, in order.
    pub fn turns(&self) -> Vec<TurnView<'a>> {
        turns(self.events)
    }
}

/// The exchanges with the agent among these events, in order.
pub(super) fn turns(all: &[Arc<Event>]) -> Vec<TurnView<'_>> {
    let is_user = |event: &Arc<Event>| matches!(event.body, EventBody::UserMessage { .. });
    let said = all.iter().enumerate().filter(|(_, event)| is_user(event)).map(|(at, _)| at);
    let starts: Vec<usize> = opening(all).into_iter().chain(said).collect();
    let ends = starts.iter().skip(1).copied().chain([all.len()]);
    let waits = |event: &Arc<Event>| matches!(event.body, EventBody::Yield(Yield::Loop { .. }));
    let turn = |(number, range): (usize, Range<usize>)| {
        let events = &all[range];
        let events = &events[..events.iter().position(waits).map_or(events.len(), |at| at + 1)];
        TurnView { number, user: said_by_user(events), agent: super::last_said(events), events }
    };
    starts
        .iter()
        .copied()
        .zip(ends)
        .map(|(from, to)| from..to)
        .zip(1..)
        .map(|(range, number)| turn((number, range)))
        .collect()
}

/// Where the agent began to speak, if it did before the user.
fn opening(all: &[Arc<Event>]) -> Option<usize> {
    let is_user = |event: &&Arc<Event>| matches!(event.body, EventBody::UserMessage { .. });
    let before = || all.iter().take_while(|event| !is_user(event));
    before().any(|event| speaks(event)).then(|| before().position(|event| acts(event))).flatten()
}

/// Whether somebody who opens a conversation is at it.
pub(crate) fn acts(event: &Event) -> bool {
    speaks(event) || matches!(event.body, EventBody::AgentStarted { .. } | EventBody::ModelRequest(_))
}

fn speaks(event: &Event) -> bool {
    matches!(
        event.body,
        EventBody::ModelResponse(_) | EventBody::FinalResponse { .. } | EventBody::ToolCall { .. }
    )
}

fn said_by_user(events: &[Arc<Event>]) -> Option<(u64, String)> {
    let event = events.first()?;
    match Line::of(event)?.kind {
        LineKind::User(text) => Some((event.seq, text)),
        _ => None,
    }
}
