//! What a scenario writes on the ledger beside the conversation, and how it is read back.
//!
//! A scenario has steps, and code steps leave output and files. All of it is kept as notes of the agent's session,
//! so that evaluators read nothing but the ledger and give the same for a session that was stored last year.

use std::ops::Range;
use std::sync::Arc;

use jiff::Timestamp;
use rehearsal_core::{Event, EventBody, Ledger, Line, LineKind, Yield};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The name of the note that opens a step.
pub(crate) const STEP_STARTED: &str = "step_started";
/// The name of the note that closes a step.
pub(crate) const STEP_ENDED: &str = "step_ended";
/// The name of the note that says which limit ended a run.
pub(crate) const TIME_LIMIT: &str = "time_limit";
/// The name of the note that says where the folder of a run is, when it stays.
pub(crate) const FOLDER_KEPT: &str = "folder_kept";

/// The name of the note with the commands that the evaluations of a step asked for.
pub(crate) const STEP_COMMANDS: &str = "step_commands";

/// What a step does, as the ledger names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepKind {
    /// Says something to the agent once.
    Input,
    /// Talks to the agent.
    Conversation,
    /// Runs code in the environment.
    Code,
}

/// A step began.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepStarted {
    /// Its number, from 1.
    pub step: usize,
    /// Its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What it does.
    pub kind: StepKind,
    /// What its author says is known around its calls.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub context: Map<String, Value>,
}

/// A step came to its end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepEnded {
    /// Its number, from 1.
    pub step: usize,
    /// How its code ended; 0 for a step that talked and came to its end.
    pub exit_code: Option<i32>,
    /// What its code wrote, or what was said.
    pub stdout: String,
    /// What its code complained of.
    pub stderr: String,
    /// The files in the environment, by path: the text, or an object that says why there is none.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub files: Map<String, Value>,
    /// Files that the snapshot left out, because there were too many.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub files_left_out: usize,
    /// The commands its evaluations asked for, run when it ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<CommandRun>,
    /// How its conversation ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<ConversationEnd>,
}

/// A command that was run for an evaluation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CommandRun {
    /// The command.
    pub command: String,
    /// How it ended; nothing when it was ended by a signal or could not be run.
    pub exit_code: Option<i32>,
    /// What it wrote.
    pub stdout: String,
    /// What it complained of.
    pub stderr: String,
    /// Why it could not be run to its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// How a conversation ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConversationEnd {
    /// Whether it ended before the most turns were taken.
    pub terminated_early: bool,
    /// What ended it: the type of a termination condition, `max_turns_reached`, `script_ended` or
    /// `user_ended`.
    pub reason: String,
    /// Why that was found to hold.
    pub detail: String,
}

/// A step as a ledger shows it.
#[derive(Clone, Debug)]
pub struct StepView<'a> {
    /// How it began.
    pub started: StepStarted,
    /// When it began.
    pub started_at: Timestamp,
    /// How it ended, if it came to its end.
    pub ended: Option<StepEnded>,
    /// When it ended; the time of its last event where it did not come to its end.
    pub ended_at: Timestamp,
    /// Its events, the two notes left out.
    pub events: &'a [Arc<Event>],
}

/// How a step began and ended, with the places of the two notes.
type Found = (StepStarted, usize, Option<(StepEnded, usize)>);

/// One exchange with the agent.
#[derive(Clone, Debug)]
pub struct TurnView<'a> {
    /// Its number in the step, from 1.
    pub number: usize,
    /// What the user said, with the number of its event.
    pub user: Option<(u64, String)>,
    /// The last thing the agent said, with the number of its event.
    pub agent: Option<(u64, String)>,
    /// Its events, the user's message first, up to where the agent waits again. What is written after that belongs to no
    /// turn, so that a turn is the same while it is the last one and ever after.
    pub events: &'a [Arc<Event>],
}

impl<'a> StepView<'a> {
    /// The steps of a session, in order.
    pub fn all(ledger: &'a Ledger) -> Vec<Self> {
        let events = ledger.events();
        let mut steps: Vec<Found> = Vec::new();
        for (at, event) in events.iter().enumerate() {
            let EventBody::Note { name, data } = &event.body else { continue };
            match &**name {
                STEP_STARTED => {
                    if let Ok(started) = StepStarted::deserialize(data) {
                        steps.push((started, at, None));
                    }
                }
                STEP_ENDED => {
                    if let (Ok(ended), Some(step)) = (StepEnded::deserialize(data), steps.last_mut()) {
                        step.2 = Some((ended, at));
                    }
                }
                STEP_COMMANDS => {
                    if let (Ok(commands), Some((_, _, Some((ended, _))))) =
                        (Vec::deserialize(data), steps.last_mut())
                    {
                        ended.commands = commands;
                    }
                }
                _ => {}
            }
        }
        let view = |(started, at, ended): Found| {
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

    /// Its exchanges with the agent, in order.
    pub fn turns(&self) -> Vec<TurnView<'a>> {
        let is_user = |event: &Arc<Event>| matches!(event.body, EventBody::UserMessage { .. });
        let mut starts: Vec<usize> =
            self.events.iter().enumerate().filter(|(_, event)| is_user(event)).map(|(at, _)| at).collect();
        let ends = starts.iter().skip(1).copied().chain([self.events.len()]).collect::<Vec<_>>();
        let waits = |event: &Arc<Event>| matches!(event.body, EventBody::Yield(Yield::Loop { .. }));
        let turn = |(number, range): (usize, Range<usize>)| {
            let events = &self.events[range];
            let events = &events[..events.iter().position(waits).map_or(events.len(), |at| at + 1)];
            TurnView { number, user: said_by_user(events), agent: last_reply(events), events }
        };
        starts
            .drain(..)
            .zip(ends)
            .map(|(from, to)| from..to)
            .enumerate()
            .map(|(n, r)| turn((n + 1, r)))
            .collect()
    }

    /// What evaluators of text read: the agent's last reply, or what the code wrote, without white space around it; with the number of its event
    /// where it has one.
    pub fn reply(&self) -> Option<(Option<u64>, String)> {
        match (self.started.kind, &self.ended) {
            (StepKind::Code, Some(ended)) => Some((None, ended.stdout.trim().to_owned())),
            (StepKind::Code, None) => None,
            _ => last_reply(self.events).map(|(seq, text)| (Some(seq), text)),
        }
    }
}

fn said_by_user(events: &[Arc<Event>]) -> Option<(u64, String)> {
    let event = events.first()?;
    match Line::of(event)?.kind {
        LineKind::User(text) => Some((event.seq, text)),
        _ => None,
    }
}

/// The last thing the agent said outside of agents used as tools.
fn last_reply(events: &[Arc<Event>]) -> Option<(u64, String)> {
    events.iter().rev().find_map(|event| match Line::of(event)? {
        Line { kind: LineKind::Agent(text), nested: false, seq, .. } => Some((seq, text)),
        _ => None,
    })
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}
