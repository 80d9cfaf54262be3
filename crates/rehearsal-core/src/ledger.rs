//! The ledger: the ordered events of a session.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::{
    CallId, Draft, EndReason, Event, EventBody, InvocationId, ModelRequest, ModelResponse, RequestRecord,
    SessionId, SessionPart, SessionStarted, State, ToolResult, TurnId, Usage, Yield,
};

mod file;
mod fold;

pub use file::ReadLedgerError;
pub use fold::Inconsistent;

use fold::{CallPlaces, Fold, resolve};

/// The ordered events of a session.
///
/// What follows from the events (state, open calls, finished executions) is folded as they are appended and can
/// always be rebuilt from them: there is no other memory.
///
/// ```
/// use rehearsal_core::{Clock, Content, Draft, EventBody, FixedClock, Ledger, SessionStarted};
///
/// let clock = FixedClock::default();
/// let mut ledger = Ledger::new("s-1".into());
/// let start = SessionStarted { agent: "triage".into(), ..SessionStarted::default() };
/// ledger.append(Draft::new(clock.now(), "rehearsal", EventBody::SessionStarted(start)))?;
/// let content = Content::user("hello").into();
/// ledger.append(Draft::new(clock.now(), "user", EventBody::UserMessage { content }))?;
///
/// let text = ledger.to_jsonl();
/// assert_eq!(Ledger::from_jsonl(&text)?.events(), ledger.events());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Ledger {
    session: SessionId,
    events: Arc<Vec<Arc<Event>>>,
    fold: Fold,
}

impl Ledger {
    /// An empty ledger.
    pub fn new(session: SessionId) -> Self {
        Self { session, events: Arc::default(), fold: Fold::default() }
    }

    /// The ledger of events that are kept elsewhere.
    ///
    /// # Errors
    /// They are not the events of this session from the first on, or one contradicts those before it. The line of
    /// the error is the number of the event.
    pub fn from_events(
        session: SessionId,
        events: impl IntoIterator<Item = Arc<Event>>,
    ) -> Result<Self, ReadLedgerError> {
        let mut ledger = Self::new(session);
        for event in events {
            ledger.take_kept(event, ledger.events.len() + 1)?;
        }
        Ok(ledger)
    }

    /// The session.
    pub fn session(&self) -> &SessionId {
        &self.session
    }

    /// The events, in order.
    pub fn events(&self) -> &[Arc<Event>] {
        &self.events
    }

    /// The events as they are now, to be kept while the ledger goes on. It costs nothing to take one.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot { events: self.events.clone() }
    }

    /// How the session began, once it has.
    pub fn started(&self) -> Option<&SessionStarted> {
        match &self.events.first()?.body {
            EventBody::SessionStarted(started) => Some(started),
            _ => None,
        }
    }

    /// Appends an event and gives it its number.
    ///
    /// # Errors
    /// The event contradicts what is on the ledger already; it is not appended then.
    pub fn append(&mut self, draft: Draft) -> Result<&Arc<Event>, Inconsistent> {
        let seq = self.events.last().map_or(1, |event| event.seq + 1);
        let Draft { at, author, invocation, turn, decision, body } = draft;
        let session = self.session.clone();
        self.push(Arc::new(Event { seq, session, at, author, invocation, turn, decision, body }))
    }

    /// Appends a model request as its difference from the author's last one.
    ///
    /// # Errors
    /// The event contradicts what is on the ledger already.
    pub fn append_request(
        &mut self,
        mut draft: Draft,
        request: &ModelRequest,
    ) -> Result<&Arc<Event>, Inconsistent> {
        let base = self.fold.requests.get(&draft.author);
        let record = RequestRecord::new(request, base.map(|last| (&last.turn, &*last.request)));
        draft.body = EventBody::ModelRequest(record);
        let (author, at) = (draft.author.clone(), self.events.len());
        self.append(draft)?;
        if let Some(last) = self.fold.requests.get_mut(&author) {
            last.at = Some(at);
        }
        Ok(&self.events[at])
    }

    fn push(&mut self, event: Arc<Event>) -> Result<&Arc<Event>, Inconsistent> {
        self.fold.take(&event, &self.events)?;
        Arc::make_mut(&mut self.events).push(event);
        Ok(self.events.last().expect("an event was just pushed"))
    }

    /// The state after all events.
    pub fn state(&self) -> &State {
        &self.fold.state
    }

    /// The state after the event with this number: any point of the ledger can be looked at.
    pub fn state_at(&self, seq: u64) -> State {
        let mut state = State::default();
        for event in self.events.iter().take_while(|event| event.seq <= seq) {
            if let EventBody::SessionStarted(started) = &event.body {
                state = started.state.clone();
            }
            for patch in event.body.changes() {
                state.apply(patch);
            }
        }
        state
    }

    /// The whole request of a model turn.
    pub fn request(&self, turn: &TurnId) -> Option<ModelRequest> {
        resolve(&self.fold.turns, &self.events, turn)
    }

    /// The response of a model turn.
    pub fn response(&self, turn: &TurnId) -> Option<&ModelResponse> {
        match &self.events[*self.fold.answered_turns.get(turn)?].body {
            EventBody::ModelResponse(response) => Some(response),
            _ => None,
        }
    }

    /// The tool calls, in the order they were made.
    pub fn calls(&self) -> impl DoubleEndedIterator<Item = CallView<'_>> {
        self.fold.calls.iter().map(|(call, places)| self.view(call, places))
    }

    /// How many calls of a tool were answered by the tool, or by whoever played it: those that the engine refused do not
    /// count.
    pub fn reached(&self, tool: &str) -> u64 {
        self.fold.reached.get(tool).copied().unwrap_or(0)
    }

    /// One tool call.
    pub fn call(&self, call: &CallId) -> Option<CallView<'_>> {
        self.fold.calls.get_key_value(call).map(|(call, places)| self.view(call, places))
    }

    fn view<'a>(&'a self, call: &'a CallId, places: &CallPlaces) -> CallView<'a> {
        let event = &self.events[places.made];
        let EventBody::ToolCall { tool, args, .. } = &event.body else {
            unreachable!("the fold notes only tool calls here");
        };
        let result = places.answered.map(|at| &self.events[at]);
        CallView { call, event, tool, args, nth: places.nth, answer: result }
    }

    /// What the session waits for, if it waits.
    pub fn open_yield(&self) -> Option<&Yield> {
        self.fold.open_yield.as_ref()
    }

    /// What is still missing of what the session waits for, if it waits.
    pub fn awaited(&self) -> Option<Yield> {
        let unanswered =
            |call: &CallId| self.fold.calls.get(call).is_none_or(|places| places.answered.is_none());
        match self.fold.open_yield.as_ref()? {
            Yield::Tools { calls } => {
                let calls = calls.iter().filter(|pending| unanswered(&pending.call)).cloned().collect();
                Some(Yield::Tools { calls })
            }
            waiting @ Yield::Loop { .. } => Some(waiting.clone()),
        }
    }

    /// How often the session yielded and was resumed.
    pub fn turns(&self) -> u64 {
        self.fold.resumed
    }

    /// Why the session ended, if it has.
    pub fn end(&self) -> Option<EndReason> {
        self.fold.end
    }

    /// The tokens its model calls cost; nothing where no provider said.
    pub fn usage(&self) -> Option<Usage> {
        self.fold.usage
    }

    /// Where in [`events`](Self::events) an execution began.
    pub fn started_at(&self, invocation: &InvocationId) -> Option<usize> {
        self.fold.started.get(invocation).copied()
    }

    /// The event in which an execution came to its end, if it has.
    pub fn ended(&self, invocation: &InvocationId) -> Option<&Arc<Event>> {
        self.fold.ended.get(invocation).map(|at| &self.events[*at])
    }

    /// Whether a waiting round of a loop got its user message.
    pub fn was_spoken_to(&self, invocation: &InvocationId) -> bool {
        self.fold.spoken.contains(invocation)
    }

    /// The last request of an agent.
    pub fn last_request(&self, author: &str) -> Option<&LastRequest> {
        self.fold.requests.get(author)
    }

    /// How many model turns an agent has had answered.
    pub fn answered_turns(&self, author: &str) -> u64 {
        self.fold.answered.get(author).copied().unwrap_or(0)
    }

    /// What an execution would see that began when `upto` events were on the ledger: those events and its own.
    ///
    /// Executions that run side by side each work on such a branch, so none of them depends on how far another
    /// has come. [`join`](Self::join) brings a branch's new events back.
    #[must_use]
    pub fn branch(&self, upto: usize, own: &InvocationId) -> Self {
        let is_own = |event: &Arc<Event>| event.invocation.as_ref().is_some_and(|path| path.is_within(own));
        if self.events[upto..].iter().all(is_own) {
            return self.clone();
        }
        let mut ledger = Self::new(self.session.clone());
        let visible =
            self.events[..upto].iter().chain(self.events[upto..].iter().filter(|event| is_own(event)));
        for event in visible {
            ledger
                .push(event.clone())
                .unwrap_or_else(|_| unreachable!("a selection of a consistent ledger is consistent"));
        }
        ledger
    }

    /// Appends what a branch added after its first `seen` events.
    ///
    /// # Errors
    /// A new event of the branch contradicts what has come since, such as a call id used in two branches.
    pub fn join(&mut self, branch: Self, seen: usize) -> Result<(), Inconsistent> {
        let Self { events, fold, .. } = branch;
        drop(fold);
        let events = Arc::try_unwrap(events).unwrap_or_else(|shared| (*shared).clone());
        for mut event in events.into_iter().skip(seen) {
            Arc::make_mut(&mut event).seq = self.events.last().map_or(1, |last| last.seq + 1);
            self.push(event)?;
        }
        Ok(())
    }

    /// The ledger as it was when it had `len` events; going on from there is a fork of the session.
    #[must_use]
    pub fn prefix(&self, len: usize) -> Self {
        let mut ledger = Self::new(self.session.clone());
        for event in self.events.iter().take(len) {
            ledger
                .push(event.clone())
                .unwrap_or_else(|_| unreachable!("a prefix of a consistent ledger is consistent"));
        }
        ledger
    }

    /// The part the session plays in its case.
    pub fn part(&self) -> SessionPart {
        self.started().map_or(SessionPart::Main, |started| started.part)
    }
}

/// The last request of an agent.
#[derive(Clone, Debug)]
pub struct LastRequest {
    /// Its turn.
    pub turn: TurnId,
    /// The whole request.
    pub request: Arc<ModelRequest>,
    /// Where in [`Ledger::events`] it stands, if it was made on this ledger itself: then it saw every event
    /// before it. One that came from a file or a branch may have seen less.
    pub at: Option<usize>,
}

/// The events of a ledger at one point; see [`Ledger::snapshot`].
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    events: Arc<Vec<Arc<Event>>>,
}

impl Snapshot {
    /// The events, in order.
    pub fn events(&self) -> &[Arc<Event>] {
        &self.events
    }
}

/// A tool call with its answer.
#[derive(Clone, Copy, Debug)]
pub struct CallView<'a> {
    /// The call's id.
    pub call: &'a CallId,
    /// The event in which it was made.
    pub event: &'a Arc<Event>,
    /// The tool.
    pub tool: &'a Arc<str>,
    /// The arguments.
    pub args: &'a Arc<Map<String, Value>>,
    /// How many calls of the same tool came before it.
    pub nth: u64,
    /// The event in which it was answered.
    pub answer: Option<&'a Arc<Event>>,
}

impl<'a> CallView<'a> {
    /// The answer, if there is one.
    pub fn result(&self) -> Option<&'a ToolResult> {
        match &self.answer?.body {
            EventBody::ToolResult(result) => Some(result),
            _ => None,
        }
    }
}
