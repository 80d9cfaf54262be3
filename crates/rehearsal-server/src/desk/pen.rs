//! The unit of work: a pen, and what a decision writes with it, all of it at once or nothing.

use std::sync::Arc;

use bytes::Bytes;
use rehearsal_core::{Draft, Event, EventBody, InvocationId, Ledger, ModelRequest, Timestamp};
use rehearsal_store::{
    CueChange, NewEvent, NewWork, Payload, SessionRecord, SessionSource, SessionStatus, Write,
};

use super::Standing;
use super::failing::{FAILURE, failure_of};
use crate::ids::fresh;
use crate::{Kind, Problem};

/// What a decision writes: it appends to the ledger in memory, and gives the same as one write for the store.
#[derive(Debug)]
pub(crate) struct Pen {
    standing: Standing,
    write: Write,
    now: Timestamp,
}

impl Pen {
    pub(crate) fn new(standing: Standing, now: Timestamp) -> Self {
        let write = Write::new(standing.record.id.clone(), now.as_millisecond(), standing.record.last_seq);
        Self { standing, write, now }
    }

    pub(crate) fn ledger(&self) -> &Ledger {
        &self.standing.ledger
    }

    pub(crate) fn record(&self) -> &SessionRecord {
        &self.standing.record
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.now
    }

    /// Whether nothing was written.
    pub(crate) fn is_clean(&self) -> bool {
        let Write { events, cues, status, agent, meta, work, create, .. } = &self.write;
        events.is_empty()
            && cues.is_empty()
            && status.is_none()
            && agent.is_none()
            && meta.is_none()
            && work.is_empty()
            && create.is_none()
    }

    /// Refuses to write to a session that has ended.
    pub(crate) fn require_active(&self) -> Result<(), Problem> {
        match self.standing.record.status {
            SessionStatus::Active => Ok(()),
            SessionStatus::Completed => Err(ended(&self.standing.record, "completed")),
            SessionStatus::Cancelled => Err(ended(&self.standing.record, "cancelled")),
        }
    }

    /// Refuses to write to a session that a run writes itself.
    pub(crate) fn require_of_no_run(&self) -> Result<(), Problem> {
        if self.standing.record.source == SessionSource::Run {
            let detail = "this session is a case of a run, which alone writes to it; answer its cues";
            return Err(Problem::conflict(Kind::OfARun, detail));
        }
        Ok(())
    }

    /// Refuses to write to a session that has ended, or that a run writes itself.
    pub(crate) fn require_open(&self) -> Result<(), Problem> {
        self.require_of_no_run()?;
        self.require_active()
    }

    /// A draft of now.
    pub(crate) fn draft(&self, author: impl Into<Arc<str>>, body: EventBody) -> Draft {
        Draft::new(self.now, author, body)
    }

    /// Appends an event of the ledger only, and gives its id.
    pub(crate) fn append(&mut self, draft: Draft) -> Result<String, Problem> {
        self.append_as(fresh(), Payload::Other, Bytes::new(), draft)
    }

    /// Appends an event and gives its id.
    pub(crate) fn append_as(
        &mut self,
        event_id: String,
        payload: Payload,
        blob: Bytes,
        draft: Draft,
    ) -> Result<String, Problem> {
        let draft = self.in_order(draft);
        let event = self.standing.ledger.append(draft)?.clone();
        self.keep_failure(&event);
        Ok(self.push(event_id, payload, blob, event))
    }

    /// Keeps with the session that its last run failed, so that lists can say so, until the user speaks again.
    fn keep_failure(&mut self, event: &Event) {
        let failure = match &event.body {
            EventBody::UserMessage { .. } => None,
            _ => match failure_of(event) {
                None => return,
                Some(failure) => serde_json::to_value(failure).ok(),
            },
        };
        let mut meta = self.standing.record.meta.as_object().cloned().unwrap_or_default();
        match failure {
            Some(failure) => drop(meta.insert(FAILURE.to_owned(), failure)),
            None if !meta.contains_key(FAILURE) => return,
            None => drop(meta.shift_remove(FAILURE)),
        }
        self.meta(meta.into());
    }

    /// Keeps the event that was appended last with a long output of which the ledger here has only the beginning.
    pub(crate) fn keep_whole(&mut self, output: &str) {
        let Some(new) = self.write.events.last_mut() else { return };
        if let Some(line) = line_with(&new.event, output) {
            new.line = Some(line.into());
            self.standing.cut.insert(new.event.seq);
        }
    }

    /// Appends a model request and gives its id.
    pub(crate) fn append_request(
        &mut self,
        blob: Bytes,
        draft: Draft,
        request: &ModelRequest,
    ) -> Result<String, Problem> {
        let draft = self.in_order(draft);
        let event = self.standing.ledger.append_request(draft, request)?.clone();
        Ok(self.push(fresh(), Payload::Request, blob, event))
    }

    /// A draft that is not before the last event nor after now, whatever the clock of whoever told it says: events are
    /// in the order of their times.
    fn in_order(&self, draft: Draft) -> Draft {
        let last = self.standing.ledger.events().last().map(|last| last.at);
        let at = draft.at.min(self.now);
        Draft { at: last.map_or(at, |last| at.max(last)), ..draft }
    }

    fn push(&mut self, event_id: String, payload: Payload, blob: Bytes, event: Arc<Event>) -> String {
        self.standing.record.last_seq = event.seq;
        self.standing.record.updated_at = self.now.as_millisecond();
        self.write.events.push(NewEvent { event_id: event_id.clone(), payload, event, blob, line: None });
        event_id
    }

    /// The number of the last event.
    pub(crate) fn last_seq(&self) -> u64 {
        self.standing.record.last_seq
    }

    pub(crate) fn cue(&mut self, change: CueChange) {
        self.write.cues.push(change);
    }

    /// Calls a session that has no description after what it is about.
    pub(crate) fn describe(&mut self, text: String) {
        if self.standing.record.description.is_none() && !text.is_empty() {
            self.standing.record.description = Some(text.clone());
            self.write.describe = Some(text);
        }
    }

    pub(crate) fn status(&mut self, status: SessionStatus) {
        self.standing.record.status = status;
        self.write.status = Some(status);
    }

    pub(crate) fn agent(&mut self, name: &str) {
        self.standing.record.agent = Some(name.to_owned());
        self.write.agent = Some(name.to_owned());
    }

    pub(crate) fn meta(&mut self, meta: serde_json::Value) {
        self.standing.record.meta = meta.clone();
        self.write.meta = Some(meta);
    }

    pub(crate) fn work(&mut self, work: NewWork) {
        self.write.work.push(work);
    }

    pub(crate) fn create(&mut self, new: rehearsal_store::NewSession) {
        self.write.create = Some(new);
    }

    pub(crate) fn finish(self) -> (Standing, Write) {
        (self.standing, self.write)
    }

    pub(crate) fn into_standing(self) -> Standing {
        self.standing
    }

    /// The name of the agent the session is about: the one that was chosen, or the first that asked.
    pub(crate) fn root_agent(&self) -> Option<&str> {
        self.standing.record.agent.as_deref()
    }

    /// Where an event of `agent` belongs: the run of the last user message, and in it the agents used as tools
    /// that stand around it.
    pub(crate) fn place(&self, agent: &str, path: &[String]) -> InvocationId {
        let root = self.root_agent().unwrap_or(agent);
        let run = run_path(root, user_messages(self.ledger()).saturating_sub(1));
        if path.is_empty() {
            return if agent == root { run } else { run.child(agent) };
        }
        let inner = path.iter().fold(run, |outer, call| outer.agent_tool(&call.as_str().into()));
        inner.child(agent)
    }
}

/// The line of an event with this output, which is JSON, in the place of its own.
fn line_with(event: &Event, output: &str) -> Option<String> {
    let mut line = serde_json::to_value(event).ok()?;
    let place = match &event.body {
        EventBody::ToolResult(_) => "/body/outcome/output",
        _ => "/body/data/output",
    };
    let mark = fresh();
    *line.pointer_mut(place)? = mark.as_str().into();
    Some(rehearsal_core::json::text(&line).replacen(&format!("\"{mark}\""), output, 1))
}

/// The run that the `number`-th user message starts.
pub(crate) fn run_path(root: &str, number: usize) -> InvocationId {
    InvocationId::root(root).child(number)
}

/// How many messages the user has said in the conversation itself.
pub(crate) fn user_messages(ledger: &Ledger) -> usize {
    let said = ledger.events().iter().filter(|event| {
        matches!(event.body, EventBody::UserMessage { .. })
            && event.invocation.as_ref().is_none_or(|path| path.enclosure().is_empty())
    });
    said.count()
}

fn ended(record: &SessionRecord, how: &str) -> Problem {
    Problem::conflict(
        Kind::SessionEnded,
        format!("session `{}` is {how}: nothing can be added to it", record.id),
    )
    .with("session", record.id.as_str())
}
