//! A session while it runs: its ledger, its time, its chance, and where its events are kept.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use rehearsal_core::{
    CallId, Chance, Clock, Content, Decision, Draft, EndReason, Event, EventBody, Failure, Ids, InvocationId,
    LEDGER_VERSION, Ledger, Schema, SessionId, SessionPart, SessionStarted, State, StatePatch, SystemClock,
    ToolOutcome, ToolResult, Yield,
};

use serde_json::Value;

use crate::{Meter, RunError};

/// Who writes events that neither the user nor an agent causes.
pub const ENGINE: &str = "rehearsal";
/// Who writes what the user says.
pub const USER: &str = "user";

/// Keeps events. An event is kept before anybody is told about it.
#[async_trait]
pub trait Journal: Send + Sync + fmt::Debug {
    /// Keeps events durably.
    ///
    /// # Errors
    /// They could not be kept; the session stops then.
    async fn keep(&self, events: &[Arc<Event>]) -> std::io::Result<()>;
}

/// Follows a session while it goes on, and may end it: streaming metrics.
pub trait Watch: Send + Sync + fmt::Debug {
    /// Looks at events that were added and kept, all of them once, in the order of the ledger. Gives why the session has
    /// to stop, if it has to.
    fn see(&mut self, events: &[Arc<Event>], ledger: &Ledger) -> Option<String>;
}

/// What a session takes from outside: time, ids, chance, and where its events go.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Ids.
    pub ids: Ids,
    /// Chance.
    pub chance: Chance,
    /// Where events are kept, besides in memory.
    pub journal: Option<Arc<dyn Journal>>,
    /// Who counts what models use, where there is a budget.
    pub meter: Option<Arc<dyn Meter>>,
}

impl Surroundings {
    /// The machine's clock, and ids and chance from a seed.
    pub fn seeded(seed: u64) -> Self {
        Self {
            clock: Arc::new(SystemClock),
            ids: Ids::seeded(seed),
            chance: Chance::seeded(seed),
            journal: None,
            meter: None,
        }
    }

    /// The same with another clock.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }
}

/// Whether the agents of a session speak as one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Voices {
    /// Each agent is itself: what another agent said is told to it as something another one said.
    #[default]
    Many,
    /// All agents play the same person: what another one said counts as its own words.
    One,
}

/// A session while it runs.
#[derive(Debug)]
pub struct Session {
    ledger: Ledger,
    around: Arc<Surroundings>,
    voices: Voices,
    kept: usize,
    branch_base: Option<usize>,
    watch: Option<Box<dyn Watch>>,
    /// Why it was stopped; it does not go on then.
    stopped: Option<String>,
}

impl Session {
    /// Begins a session.
    ///
    /// # Errors
    /// Never for a new session in practice; the ledger refuses events that contradict it.
    pub fn start(id: SessionId, start: SessionStarted, around: Arc<Surroundings>) -> Result<Self, RunError> {
        let mut session = Self::resume(Ledger::new(id), around);
        let start = SessionStarted { version: LEDGER_VERSION, ..start };
        session.append(ENGINE, EventBody::SessionStarted(start))?;
        session.kept = 0;
        Ok(session)
    }

    /// Begins a session of a main agent with nothing special about it.
    ///
    /// # Errors
    /// See [`start`](Self::start).
    pub fn new(agent: &str, state: State, around: Arc<Surroundings>) -> Result<Self, RunError> {
        let id = around.ids.session(agent, 0);
        let start = SessionStarted {
            agent: agent.into(),
            state,
            part: SessionPart::Main,
            ..SessionStarted::default()
        };
        Self::start(id, start, around)
    }

    /// Goes on with a session from its ledger, in whatever process that was written.
    pub fn resume(ledger: Ledger, around: Arc<Surroundings>) -> Self {
        let kept = ledger.events().len();
        Self { ledger, around, voices: Voices::Many, kept, branch_base: None, watch: None, stopped: None }
    }

    /// The same session with agents that speak as one, or as many.
    #[must_use]
    pub fn voices(mut self, voices: Voices) -> Self {
        self.voices = voices;
        self
    }

    /// Lets somebody follow it from what is kept next. What agents do side by side or behind a tool is seen when it is
    /// joined, because its place on the ledger is not known before.
    pub fn watch(&mut self, watch: Box<dyn Watch>) {
        self.watch = Some(watch);
    }

    /// Is followed by nobody any more, and is not stopped.
    pub fn unwatch(&mut self) {
        (self.watch, self.stopped) = (None, None);
    }

    /// Whether its agents speak as one.
    pub fn has_one_voice(&self) -> bool {
        self.voices == Voices::One
    }

    /// The ledger.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Gives the ledger away.
    pub fn into_ledger(self) -> Ledger {
        self.ledger
    }

    /// What it takes from outside.
    pub fn around(&self) -> &Arc<Surroundings> {
        &self.around
    }

    /// The state now.
    pub fn state(&self) -> &State {
        self.ledger.state()
    }

    /// Says something to the agent: the opening, or the message a loop waits for.
    ///
    /// # Errors
    /// The session has ended, or waits for something else.
    pub fn say(&mut self, content: Content, decision: Option<Decision>) -> Result<(), RunError> {
        let not_awaited =
            |what: &str| Err(RunError::NotAwaited { what: format!("nobody waits for a message: {what}") });
        let began =
            || self.ledger.events().iter().any(|event| matches!(event.body, EventBody::AgentStarted { .. }));
        let invocation = match self.ledger.open_yield() {
            Some(Yield::Loop { invocation }) => Some(invocation.clone()),
            Some(Yield::Tools { .. }) => return not_awaited("the session waits for results of tool calls"),
            None if began() => return not_awaited("the agent has not yielded for one"),
            None => None,
        };
        let body = EventBody::UserMessage { content: Arc::new(content) };
        self.append_draft(Draft { invocation, decision, ..self.draft(USER, body) })
    }

    /// Keeps what stands beside the conversation.
    ///
    /// # Errors
    /// The ledger refused it.
    pub fn tell(&mut self, body: EventBody) -> Result<(), RunError> {
        self.append(ENGINE, body)
    }

    /// Says something to an execution that is about to begin.
    ///
    /// # Errors
    /// The session has ended.
    pub fn say_to(&mut self, invocation: InvocationId, content: Content) -> Result<(), RunError> {
        let body = EventBody::UserMessage { content: Arc::new(content) };
        self.append_draft(Draft { invocation: Some(invocation), ..self.draft(USER, body) })
    }

    /// Answers a call that waits for its result.
    ///
    /// Where the tool declares what it gives, the answer is held to that. When a yield is answered whole, values that
    /// two of its answers set differently are recorded as conflicts.
    ///
    /// # Errors
    /// No such call was made, it has a result already, or the answer breaks the tool's output schema.
    pub fn answer(
        &mut self,
        call: &CallId,
        outcome: ToolOutcome,
        changes: Vec<StatePatch>,
        decision: Option<Decision>,
    ) -> Result<(), RunError> {
        let unknown = || rehearsal_core::Inconsistent::UnknownCall { call: call.clone() };
        let view = self.ledger.call(call).ok_or_else(unknown)?;
        if let (ToolOutcome::Output(value), Some(schema)) = (&outcome, self.output_schema(call)) {
            let violations = Schema::new(schema).check(value);
            let violations =
                violations.map_err(|source| RunError::Schema { agent: view.event.author.clone(), source })?;
            if !violations.is_empty() {
                return Err(RunError::InvalidAnswer { tool: view.tool.clone(), violations });
            }
        }
        let (author, tool) = (view.event.author.clone(), view.tool.clone());
        let (invocation, turn) = (view.event.invocation.clone(), view.event.turn.clone());
        let body = EventBody::ToolResult(ToolResult {
            call: call.clone(),
            tool,
            outcome,
            changes,
            main_changes: None,
        });
        self.append_draft(Draft { invocation, turn, decision, ..self.draft(author, body) })?;
        self.record_conflicts()
    }

    /// The schema that an awaited result must satisfy.
    fn output_schema(&self, call: &CallId) -> Option<Arc<Value>> {
        match self.ledger.open_yield()? {
            Yield::Tools { calls } => {
                calls.iter().find(|pending| pending.call == *call)?.output_schema.clone()
            }
            Yield::Loop { .. } => None,
        }
    }

    /// Says where answers to the last yield overwrote each other's values, once all of them are there. What is on the
    /// ledger already is not said again.
    pub(crate) fn record_conflicts(&mut self) -> Result<(), RunError> {
        let events = self.ledger.events();
        let is_yield = |event: &Arc<Event>| matches!(event.body, EventBody::Yield(_));
        let Some(at) = events.iter().rposition(is_yield) else { return Ok(()) };
        let EventBody::Yield(Yield::Tools { calls }) = &events[at].body else { return Ok(()) };
        if self.ledger.open_yield().is_some() {
            return Ok(());
        }
        let found = conflicts(&self.ledger, calls.iter().map(|pending| &pending.call), |_, _| true);
        let said = |event: &&Arc<Event>| {
            matches!(event.body, EventBody::StateConflict { .. }) && *event.author == *ENGINE
        };
        let said = events[at..].iter().filter(said).count();
        for body in found.into_iter().skip(said) {
            self.append(ENGINE, body)?;
        }
        Ok(())
    }

    /// Changes state from outside.
    ///
    /// # Errors
    /// The session has ended.
    pub fn change(&mut self, changes: StatePatch) -> Result<(), RunError> {
        self.append(ENGINE, EventBody::StateChange { changes })
    }

    /// Records what went wrong and ends the session.
    ///
    /// # Errors
    /// The session has ended already.
    pub fn fail(&mut self, failure: Failure) -> Result<(), RunError> {
        self.append(ENGINE, EventBody::Error(failure))?;
        self.end(EndReason::Error)
    }

    /// Ends the session.
    ///
    /// # Errors
    /// The session has ended already.
    pub fn end(&mut self, reason: EndReason) -> Result<(), RunError> {
        self.append(ENGINE, EventBody::SessionEnded { reason })
    }

    /// Keeps what has not been kept yet, and shows it to whoever watches. A branch keeps nothing itself: its events are
    /// kept when it is joined.
    ///
    /// # Errors
    /// The journal could not keep the events, or whoever watches has stopped the session.
    pub async fn commit(&mut self) -> Result<(), RunError> {
        if self.branch_base.is_some() {
            return Ok(());
        }
        let fresh = &self.ledger.events()[self.kept..];
        if let Some(journal) = &self.around.journal
            && !fresh.is_empty()
        {
            journal.keep(fresh).await.map_err(|error| RunError::Journal { why: error.to_string() })?;
        }
        if let Some(watch) = &mut self.watch
            && self.stopped.is_none()
        {
            self.stopped = watch.see(fresh, &self.ledger);
        }
        self.kept = self.ledger.events().len();
        // Said every time: an agent's own code may have let the first one pass.
        self.stopped.clone().map_or(Ok(()), |why| Err(RunError::Stopped { why }))
    }

    pub(crate) fn draft(&self, author: impl Into<Arc<str>>, body: EventBody) -> Draft {
        Draft::new(self.around.clock.now(), author, body)
    }

    fn append(&mut self, author: &str, body: EventBody) -> Result<(), RunError> {
        self.append_draft(self.draft(author, body))
    }

    pub(crate) fn append_draft(&mut self, draft: Draft) -> Result<(), RunError> {
        self.ledger.append(draft)?;
        Ok(())
    }

    pub(crate) fn append_request(
        &mut self,
        draft: Draft,
        request: &rehearsal_core::ModelRequest,
    ) -> Result<(), RunError> {
        self.ledger.append_request(draft, request)?;
        Ok(())
    }

    /// A session for an execution that runs beside others and sees only its own events from `upto` on.
    pub fn branch(&self, upto: usize, own: &InvocationId) -> Self {
        let ledger = self.ledger.branch(upto, own);
        let seen = ledger.events().len();
        Self { voices: self.voices, branch_base: Some(seen), ..Self::resume(ledger, self.around.clone()) }
    }

    /// Takes over what a branch added.
    ///
    /// # Errors
    /// The branch contradicts what has come since.
    pub fn join(&mut self, branch: Self) -> Result<(), RunError> {
        let seen = branch.branch_base.unwrap_or(0);
        self.ledger.join(branch.ledger, seen)?;
        Ok(())
    }
}

/// The values that calls set differently than calls before them, of those pairs that count.
pub(crate) fn conflicts<'a>(
    ledger: &'a Ledger,
    calls: impl Iterator<Item = &'a CallId>,
    counts: impl Fn(&CallId, &CallId) -> bool,
) -> Vec<EventBody> {
    let changing = |result: &&ToolResult| !result.changes.is_empty();
    let results: Vec<&ToolResult> =
        calls.filter_map(|call| ledger.call(call)?.result()).filter(changing).collect();
    let mut found = Vec::new();
    for (index, later) in results.iter().enumerate() {
        for earlier in results[..index].iter().filter(|earlier| counts(&earlier.call, &later.call)) {
            let pairs = earlier.changes.iter().flat_map(|a| later.changes.iter().map(move |b| (a, b)));
            for overwrite in pairs.flat_map(|(a, b)| a.conflicts_with(b)) {
                let (earlier, later) = (earlier.call.clone(), later.call.clone());
                found.push(EventBody::StateConflict { earlier, later, overwrite });
            }
        }
    }
    found
}
