//! The ledger: the ordered events of a session, and what follows from them.

use std::collections::BTreeSet;
use std::io::{self, BufRead, Write};
use std::sync::Arc;

use indexmap::IndexMap;
use serde_json::{Map, Value};

use crate::event::usage_of;
use crate::{
    CallId, Draft, EndReason, Event, EventBody, InvocationId, ModelRequest, ModelResponse, RequestRecord,
    SessionId, SessionPart, SessionStarted, State, ToolResult, TurnId, Usage, Yield,
};

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
        let start = *self.fold.turns.get(turn)?;
        self.events[start..].iter().find_map(|event| match &event.body {
            EventBody::ModelResponse(response) if event.turn.as_ref() == Some(turn) => Some(response),
            _ => None,
        })
    }

    /// The tool calls, in the order they were made.
    pub fn calls(&self) -> impl Iterator<Item = CallView<'_>> {
        self.fold.calls.iter().map(|(call, places)| self.view(call, places))
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

    /// The ledger as JSON Lines, an event a line.
    pub fn to_jsonl(&self) -> String {
        let mut bytes = Vec::new();
        let written = self.write_to(&mut bytes).map(|()| String::from_utf8(bytes));
        match written {
            Ok(Ok(text)) => text,
            _ => unreachable!("memory takes everything, and JSON is UTF-8"),
        }
    }

    /// Writes the ledger as JSON Lines.
    ///
    /// # Errors
    /// The writer fails.
    pub fn write_to(&self, mut writer: impl Write) -> io::Result<()> {
        for event in self.events.iter() {
            serde_json::to_writer(&mut writer, event)?;
            writer.write_all(b"\n")?;
        }
        Ok(())
    }

    /// Reads a ledger from JSON Lines.
    ///
    /// # Errors
    /// A line is not an event, or contradicts the lines before it.
    pub fn from_jsonl(text: &str) -> Result<Self, ReadLedgerError> {
        Self::read_from(text.as_bytes())
    }

    /// Reads a ledger from JSON Lines.
    ///
    /// # Errors
    /// The reader fails, a line is not an event, or a line contradicts the lines before it.
    pub fn read_from(reader: impl BufRead) -> Result<Self, ReadLedgerError> {
        let mut ledger: Option<Self> = None;
        for (index, line) in reader.lines().enumerate() {
            let number = index + 1;
            let line = line.map_err(|source| ReadLedgerError::Read { line: number, source })?;
            if line.trim().is_empty() {
                continue;
            }
            let event: Event = serde_json::from_str(&line).map_err(|source| {
                if source.is_eof() {
                    ReadLedgerError::Torn { line: number }
                } else {
                    ReadLedgerError::Line { line: number, source }
                }
            })?;
            if let EventBody::SessionStarted(started) = &event.body
                && started.version > crate::LEDGER_VERSION
            {
                return Err(ReadLedgerError::Version { found: started.version });
            }
            let ledger = ledger.get_or_insert_with(|| Self::new(event.session.clone()));
            let expected = ledger.events.last().map_or(1, |last| last.seq + 1);
            if event.seq != expected || event.session != ledger.session {
                return Err(ReadLedgerError::Order {
                    line: number,
                    expected,
                    session: ledger.session.clone(),
                });
            }
            ledger
                .push(Arc::new(event))
                .map_err(|source| ReadLedgerError::Inconsistent { line: number, source })?;
        }
        ledger.ok_or(ReadLedgerError::Empty)
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

/// An event that contradicts those before it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Inconsistent {
    /// A session begins once, at its first event.
    #[error("a ledger begins with one `session_started` event")]
    Start,
    /// Nothing follows the end.
    #[error("the session has ended; nothing can be appended")]
    Ended,
    /// Call ids are unique in a session.
    #[error("call id `{call}` is used twice")]
    DuplicateCall {
        /// The id.
        call: CallId,
    },
    /// A result answers a call that was made.
    #[error("a result names call `{call}`, which was never made")]
    UnknownCall {
        /// The id.
        call: CallId,
    },
    /// A call is answered once.
    #[error("call `{call}` has a result already")]
    AnsweredCall {
        /// The id.
        call: CallId,
    },
    /// A turn has one request.
    #[error("model turn `{turn}` has a request already")]
    DuplicateTurn {
        /// The turn.
        turn: TurnId,
    },
    /// A turn has at most one response.
    #[error("model turn `{turn}` has a response already")]
    AnsweredTurn {
        /// The turn.
        turn: TurnId,
    },
    /// A request that continues another names one that is on the ledger.
    #[error("a model request continues turn `{turn}`, which the ledger does not hold or which is too short")]
    UnknownBase {
        /// The turn.
        turn: TurnId,
    },
    /// A request belongs to a turn.
    #[error("a model request must name its turn")]
    NoTurn,
}

/// A ledger file that cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadLedgerError {
    /// The file cannot be read.
    #[error("cannot read line {line}")]
    Read {
        /// The line, from 1.
        line: usize,
        /// Why.
        source: io::Error,
    },
    /// A line is not an event.
    #[error("line {line} is not an event")]
    Line {
        /// The line, from 1.
        line: usize,
        /// Why.
        source: serde_json::Error,
    },
    /// The last line was not written whole.
    #[error("line {line} ends too early; remove it to go on from the event before")]
    Torn {
        /// The line, from 1.
        line: usize,
    },
    /// Event numbers and the session do not go on from the line before.
    #[error("line {line} should be event {expected} of session {session}")]
    Order {
        /// The line, from 1.
        line: usize,
        /// The number it should have.
        expected: u64,
        /// The session it should belong to.
        session: SessionId,
    },
    /// A line contradicts those before it.
    #[error("line {line} contradicts the lines before it")]
    Inconsistent {
        /// The line, from 1.
        line: usize,
        /// How.
        source: Inconsistent,
    },
    /// The file was written by a later version.
    #[error("the ledger has version {found}, this program reads up to {}; update it", crate::LEDGER_VERSION)]
    Version {
        /// Its version.
        found: u32,
    },
    /// There is no event in it.
    #[error("the ledger is empty")]
    Empty,
}

/// What follows from the events so far.
#[derive(Clone, Debug, Default)]
struct Fold {
    state: State,
    started: IndexMap<InvocationId, usize>,
    ended: IndexMap<InvocationId, usize>,
    spoken: BTreeSet<InvocationId>,
    calls: IndexMap<CallId, CallPlaces>,
    tool_counts: IndexMap<Arc<str>, u64>,
    turns: IndexMap<TurnId, usize>,
    answered_turns: BTreeSet<TurnId>,
    requests: IndexMap<Arc<str>, LastRequest>,
    answered: IndexMap<Arc<str>, u64>,
    open_yield: Option<Yield>,
    resumed: u64,
    usage: Option<Usage>,
    end: Option<EndReason>,
}

#[derive(Clone, Debug)]
struct CallPlaces {
    made: usize,
    answered: Option<usize>,
    nth: u64,
}

impl Fold {
    /// Takes one more event in, or refuses it and stays as it was.
    fn take(&mut self, event: &Event, before: &[Arc<Event>]) -> Result<(), Inconsistent> {
        let at = before.len();
        if self.end.is_some() && !matches!(event.body, EventBody::Note { .. }) {
            return Err(Inconsistent::Ended);
        }
        if (at == 0) != matches!(event.body, EventBody::SessionStarted(_)) {
            return Err(Inconsistent::Start);
        }
        match &event.body {
            EventBody::SessionStarted(started) => self.state = started.state.clone(),
            EventBody::AgentStarted { .. } => {
                if let Some(invocation) = &event.invocation {
                    self.started.insert(invocation.clone(), at);
                }
            }
            EventBody::AgentEnded { .. } => {
                if let Some(invocation) = &event.invocation {
                    self.ended.insert(invocation.clone(), at);
                }
            }
            EventBody::UserMessage { .. } => {
                if let Some(invocation) = &event.invocation {
                    self.spoken.insert(invocation.clone());
                }
                if matches!(self.open_yield, Some(Yield::Loop { .. })) {
                    self.close_yield();
                }
            }
            EventBody::ModelRequest(record) => self.take_request(event, record, before)?,
            EventBody::ModelResponse(_) => {
                if let Some(turn) = &event.turn
                    && !self.answered_turns.insert(turn.clone())
                {
                    return Err(Inconsistent::AnsweredTurn { turn: turn.clone() });
                }
                *self.answered.entry(event.author.clone()).or_default() += 1;
            }
            EventBody::ToolCall { call, tool, .. } => {
                if self.calls.contains_key(call) {
                    return Err(Inconsistent::DuplicateCall { call: call.clone() });
                }
                let count = self.tool_counts.entry(tool.clone()).or_default();
                self.calls.insert(call.clone(), CallPlaces { made: at, answered: None, nth: *count });
                *count += 1;
            }
            EventBody::ToolResult(result) => self.take_result(result, at)?,
            EventBody::Yield(waiting) => self.open_yield = Some(waiting.clone()),
            EventBody::SessionEnded { reason } => self.end = Some(*reason),
            _ => {}
        }
        for patch in event.body.changes() {
            self.state.apply(patch);
        }
        if let Some(used) = usage_of(&event.body) {
            *self.usage.get_or_insert_default() += used;
        }
        Ok(())
    }

    fn take_request(
        &mut self,
        event: &Event,
        record: &RequestRecord,
        before: &[Arc<Event>],
    ) -> Result<(), Inconsistent> {
        let turn = event.turn.as_ref().ok_or(Inconsistent::NoTurn)?;
        if self.turns.contains_key(turn) {
            return Err(Inconsistent::DuplicateTurn { turn: turn.clone() });
        }
        let base = match (&record.base, self.requests.get(&event.author)) {
            (None, _) => None,
            (Some(base), Some(last)) if *base == last.turn => Some(last.request.clone()),
            (Some(base), _) => Some(Arc::new(
                resolve(&self.turns, before, base)
                    .ok_or_else(|| Inconsistent::UnknownBase { turn: base.clone() })?,
            )),
        };
        let whole = record.resolve(base.as_deref());
        let whole = whole
            .ok_or_else(|| Inconsistent::UnknownBase { turn: record.base.clone().unwrap_or(turn.clone()) })?;
        self.turns.insert(turn.clone(), before.len());
        let last = LastRequest { turn: turn.clone(), request: Arc::new(whole), at: None };
        self.requests.insert(event.author.clone(), last);
        Ok(())
    }

    fn take_result(&mut self, result: &ToolResult, at: usize) -> Result<(), Inconsistent> {
        let places = self
            .calls
            .get_mut(&result.call)
            .ok_or_else(|| Inconsistent::UnknownCall { call: result.call.clone() })?;
        if places.answered.is_some() {
            return Err(Inconsistent::AnsweredCall { call: result.call.clone() });
        }
        places.answered = Some(at);
        let calls = &self.calls;
        let all_answered = match &self.open_yield {
            Some(Yield::Tools { calls: waiting }) => waiting
                .iter()
                .all(|pending| calls.get(&pending.call).is_some_and(|places| places.answered.is_some())),
            _ => false,
        };
        if all_answered {
            self.close_yield();
        }
        Ok(())
    }

    fn close_yield(&mut self) {
        self.open_yield = None;
        self.resumed += 1;
    }
}

/// Rebuilds a request by following its bases; iterative, because a conversation can be long.
fn resolve(turns: &IndexMap<TurnId, usize>, events: &[Arc<Event>], turn: &TurnId) -> Option<ModelRequest> {
    let mut chain = Vec::new();
    let mut next = Some(turn);
    while let Some(turn) = next {
        let EventBody::ModelRequest(record) = &events.get(*turns.get(turn)?)?.body else { return None };
        chain.push(record);
        next = record.base.as_ref();
    }
    let mut whole: Option<ModelRequest> = None;
    for record in chain.into_iter().rev() {
        whole = Some(record.resolve(whole.as_ref())?);
    }
    whole
}

/// The parts of a session that belong together: what a reader needs to say which one it reads.
pub(crate) fn part_of(ledger: &Ledger) -> SessionPart {
    ledger.started().map_or(SessionPart::Main, |started| started.part)
}
