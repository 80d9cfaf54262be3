//! The runs of a session: one for each message of the user.

use std::sync::Arc;

use rehearsal_core::{Content, Event, EventBody, InvocationId, Ledger};

use super::enclosure;

/// The runs of the root agent, and what the user said in them.
#[derive(Debug, Default)]
pub(super) struct Runs<'a> {
    /// The agent that was seen first.
    pub(super) root: Option<Arc<str>>,
    /// How many there were.
    pub(super) count: usize,
    /// What the user said in all of them.
    pub(super) said: Vec<&'a Arc<Content>>,
    all: Vec<Run<'a>>,
}

/// One run.
#[derive(Debug)]
pub(super) struct Run<'a> {
    /// The root agent.
    pub(super) root: Arc<str>,
    /// Its path.
    pub(super) invocation: InvocationId,
    /// What the user said last in it.
    pub(super) message: Option<&'a Arc<Content>>,
    /// The agent that spoke last before it ended, if it has.
    pub(super) ended_by: Option<&'a Arc<str>>,
}

impl<'a> Runs<'a> {
    pub(super) fn of(ledger: &'a Ledger) -> Self {
        let mut runs = Self::default();
        let mut speaker = None;
        for event in ledger.events().iter().filter(|event| enclosure(event).is_empty()) {
            match &event.body {
                EventBody::AgentStarted { .. } => runs.begin(event),
                EventBody::UserMessage { content } => {
                    runs.said.push(content);
                    if let Some(run) = runs.all.last_mut() {
                        run.message = Some(content);
                    }
                }
                EventBody::ModelResponse(_) => speaker = Some(&event.author),
                EventBody::AgentEnded { .. } => {
                    let ended = runs.all.iter_mut().rev();
                    let mut ended = ended.filter(|run| event.invocation.as_ref() == Some(&run.invocation));
                    if let Some(run) = ended.next() {
                        run.ended_by = speaker.or(Some(&event.author));
                    }
                }
                _ => {}
            }
        }
        runs
    }

    fn begin(&mut self, event: &'a Event) {
        let Some(invocation) = event.invocation.clone() else { return };
        let is_within_another = self.all.last().is_some_and(|run| invocation.is_within(&run.invocation));
        if is_within_another {
            return;
        }
        let root = self.root.get_or_insert_with(|| event.author.clone()).clone();
        self.count += 1;
        self.all.push(Run { root, invocation, message: None, ended_by: None });
    }

    /// The last one, ended or not.
    pub(super) fn current(&self) -> Option<&Run<'a>> {
        self.all.last()
    }

    /// The one whose conversation an event belongs to; nothing for events inside an agent used as a tool.
    pub(super) fn run_of(&self, event: &Event) -> Option<&Run<'a>> {
        let path = event.invocation.as_ref().filter(|path| path.enclosure().is_empty())?;
        self.all.iter().rev().find(|run| path.is_within(&run.invocation))
    }
}
