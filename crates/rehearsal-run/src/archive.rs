//! The archive of a run: its cases that nobody plays along with.
//!
//! While such a case runs, its events are gathered here, and what a slow one did so far is written from time to time as
//! a draft. When it has ended, it goes into a block with others, which is written anew with each case that joins it, until
//! it is full.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::future::join_all;
use rehearsal_core::{EndReason, Event, EventBody, SessionId, SessionPart};
use rehearsal_store::{
    Block, Draft, EndedCase, SessionHead, SessionLines, SessionRecord, SessionStatus, StoreError, StoreRef,
    check_line, session_id,
};

/// The most cases of a block. More hardly make it smaller, and every reader of one of them unpacks it whole.
pub(crate) const CASES: usize = 16;
/// A block with so many bytes of events is full.
pub(crate) const BYTES: usize = 2 << 20;

/// A case that has gone on for fewer looks (see `GATHER`) is quick: most end before anybody could read what they did so far.
const QUICK: u32 = 4;
/// So many full blocks wait to be written together: each time something is written, the disk is flushed.
const WAITING: usize = 4;
/// How long the line of an event usually is.
const USUAL: usize = 400;

/// The cases of a run that nobody plays along with.
#[derive(Debug)]
pub(crate) struct Archive {
    store: StoreRef,
    run: String,
    state: Mutex<State>,
    /// Whoever writes has this, so that no draft is written of a case that is in a block.
    writing: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct State {
    next_case: u32,
    running: BTreeMap<u32, Arc<Sitting>>,
    /// Blocks that are full and wait to be written.
    full: Vec<Arc<Block>>,
    /// The cases of the block that is not full.
    ended: Vec<EndedCase>,
    bytes: usize,
    number: u64,
    /// Whether a case has joined the block since it was written.
    is_new: bool,
    /// Cases whose drafts are to go, because they are kept otherwise.
    gone: Vec<u32>,
    is_failing: bool,
    /// Why something could not be kept that no store would take.
    refused: Option<StoreError>,
}

/// A case that runs.
#[derive(Debug)]
pub(crate) struct Sitting {
    pub(crate) number: u32,
    pub(crate) place: usize,
    pub(crate) repeat: u32,
    form: Mutex<Form>,
}

/// What is known of a case that runs.
#[derive(Debug)]
enum Form {
    /// Its events are gathered here.
    Gathered { parts: Vec<Part>, looks: u32 },
    /// A person plays along: its events are written one by one.
    Live,
    /// It has ended.
    Ended,
}

/// A session of a case that runs.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) ledger: SessionId,
    pub(crate) role: SessionPart,
    pub(crate) events: Vec<Arc<Event>>,
    /// The first of them as lines.
    lines: Vec<u8>,
    /// How many of them are lines.
    lined: usize,
    /// How many of them are written, and how long their lines are.
    drafted: (usize, usize),
    /// Why the next of them is no line.
    refused: Option<StoreError>,
}

impl Part {
    /// Makes lines of those that are none. Each is made once.
    fn line_up(&mut self) {
        if self.refused.is_some() {
            return;
        }
        self.lines.reserve((self.events.len() - self.lined) * USUAL);
        for event in &self.events[self.lined..] {
            if let Err(why) = add_line(&mut self.lines, event) {
                self.refused = Some(why);
                return;
            }
            self.lines.push(b'\n');
            self.lined += 1;
        }
    }
}

/// Where events go.
pub(crate) enum Taken {
    /// They are gathered.
    Gathered,
    /// A person plays along.
    Live,
}

/// Which drafts are written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Drafts {
    /// None: only blocks that are full are written.
    None,
    /// Those of cases that have run for a while: most end before.
    OfSlowCases,
    /// All.
    All,
}

impl Sitting {
    fn form(&self) -> MutexGuard<'_, Form> {
        self.form.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gathers events, unless a person plays along.
    fn take(&self, events: &[Arc<Event>]) -> Taken {
        let mut form = self.form();
        let Form::Gathered { parts, .. } = &mut *form else {
            return if matches!(*form, Form::Live) { Taken::Live } else { Taken::Gathered };
        };
        for event in events {
            let part = match parts.iter_mut().find(|part| part.ledger == event.session) {
                Some(part) => part,
                None => {
                    parts.push(Part {
                        ledger: event.session.clone(),
                        role: part_of(event),
                        events: Vec::new(),
                        lines: Vec::new(),
                        lined: 0,
                        drafted: (0, 0),
                        refused: None,
                    });
                    let Some(part) = parts.last_mut() else { continue };
                    part
                }
            };
            // Whoever was told of a failure brings the same events again.
            if part.events.last().is_none_or(|last| event.seq > last.seq) {
                part.events.push(event.clone());
            }
        }
        Taken::Gathered
    }

    fn drafts(&self, which: Drafts) -> Vec<Draft> {
        let mut drafts = Vec::new();
        let mut form = self.form();
        let Form::Gathered { parts, looks } = &mut *form else { return drafts };
        *looks += 1;
        if *looks <= QUICK && which == Drafts::OfSlowCases {
            return drafts;
        }
        for part in parts.iter_mut().filter(|part| part.events.len() > part.drafted.0) {
            // What cannot be kept is told when the case has ended.
            part.line_up();
            let (drafted, bytes) = part.drafted;
            if part.lined > drafted {
                let head = SessionHead { events: part.lined as u64, ..head(part) };
                let lines = part.lines[bytes..].to_vec();
                drafts.push(Draft { case: self.number, since: drafted as u64, head, lines });
            }
        }
        drafts
    }

    fn drafted(&self, draft: &Draft) {
        if let Form::Gathered { parts, .. } = &mut *self.form()
            && let Some(part) = parts.iter_mut().find(|part| part.role == draft.head.part)
        {
            let events = usize::try_from(draft.head.events).unwrap_or(usize::MAX);
            part.drafted = (events, part.drafted.1 + draft.lines.len());
        }
    }
}

fn part_of(first: &Event) -> SessionPart {
    match &first.body {
        EventBody::SessionStarted(started) => started.part,
        _ => SessionPart::Main,
    }
}

/// Adds a line that can be read again, or nothing.
fn add_line(lines: &mut Vec<u8>, event: &Event) -> Result<(), StoreError> {
    let start = lines.len();
    rehearsal_core::json::append(lines, event).map_err(|error| no_json(&error))?;
    let line = std::str::from_utf8(&lines[start..]);
    let checked = line.map_err(|error| no_json(&error)).and_then(check_line);
    if checked.is_err() {
        lines.truncate(start);
    }
    checked
}

fn no_json(error: &dyn std::error::Error) -> StoreError {
    StoreError::Refused(format!("it cannot be written as JSON: {error}"))
}

/// Something as a line that can be read again.
pub(crate) fn line(value: &impl serde::Serialize) -> Result<String, StoreError> {
    let line = rehearsal_core::json::to_string(value).map_err(|error| no_json(&error))?;
    check_line(&line)?;
    Ok(line)
}

/// What lists show of a session that is not kept by the event.
fn head(part: &Part) -> SessionHead {
    let moment = |event: Option<&Arc<Event>>| event.map_or(0, |event| event.at.as_millisecond());
    let mut head = SessionHead {
        part: part.role,
        created_at: moment(part.events.first()),
        updated_at: moment(part.events.last()),
        status: SessionStatus::Active,
        agent: None,
        description: None,
        failure: None,
        events: part.events.len() as u64,
    };
    let (mut is_named, mut is_answered, mut failure) = (false, false, None);
    for event in &part.events {
        match &event.body {
            EventBody::SessionStarted(started) => {
                head.agent = Some(started.agent.to_string()).filter(|agent| !agent.is_empty());
                head.description = started.case.as_ref().map(ToString::to_string);
            }
            // A loop only keeps the conversation going; the session is of the agent in it.
            EventBody::AgentStarted { kind } if !is_named && &**kind != "loop" => {
                is_named = true;
                head.agent = Some(event.author.to_string());
            }
            EventBody::FinalResponse { .. } | EventBody::AgentEnded { .. } => is_answered = true,
            EventBody::Error(_) => failure = SessionRecord::failure_of(event),
            EventBody::SessionEnded { reason } => {
                head.failure = failure.take().filter(|_| *reason == EndReason::Error);
                let by_itself = matches!(reason, EndReason::Completed | EndReason::StateMatches);
                let completed = by_itself && is_answered;
                head.status = if completed { SessionStatus::Completed } else { SessionStatus::Cancelled };
            }
            _ => {}
        }
    }
    head
}

impl Archive {
    /// The archive of a run whose first cases and blocks have these numbers.
    pub(crate) fn new(store: StoreRef, run: &str, next_case: u32, next_block: u64) -> Self {
        let state = State { next_case, number: next_block, ..State::default() };
        Self { store, run: run.to_owned(), state: Mutex::new(state), writing: tokio::sync::Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A case that is about to run.
    pub(crate) fn seat(&self, place: usize, repeat: u32) -> Arc<Sitting> {
        let mut state = self.state();
        let number = state.next_case;
        state.next_case += 1;
        let form = Mutex::new(Form::Gathered { parts: Vec::new(), looks: 0 });
        Arc::new(Sitting { number, place, repeat, form })
    }

    /// The id of a session of a case.
    pub(crate) fn session(&self, sitting: &Sitting, part: SessionPart) -> Result<SessionId, StoreError> {
        session_id(&self.run, sitting.number, part)
    }

    /// Gathers events of a case.
    pub(crate) fn take(&self, sitting: &Arc<Sitting>, events: &[Arc<Event>]) -> Taken {
        self.state().running.entry(sitting.number).or_insert_with(|| sitting.clone());
        sitting.take(events)
    }

    /// Whether what was written last could not be written.
    pub(crate) fn is_failing(&self) -> bool {
        self.state().is_failing
    }

    /// The case at this place that has this session and runs.
    pub(crate) fn find(&self, place: usize, ledger: &SessionId) -> Option<Arc<Sitting>> {
        let has = |sitting: &Sitting| match &*sitting.form() {
            Form::Gathered { parts, .. } => parts.iter().any(|part| part.ledger == *ledger),
            Form::Live | Form::Ended => false,
        };
        let state = self.state();
        state.running.values().find(|sitting| sitting.place == place && has(sitting)).cloned()
    }

    /// From now on a person plays along with a case: what it did so far is handed to this, before anything else.
    pub(crate) fn bring_to_life(&self, sitting: &Sitting, then: impl FnOnce(Vec<Part>)) {
        let mut form = sitting.form();
        if let Form::Gathered { parts, .. } = &mut *form {
            then(std::mem::take(parts));
            *form = Form::Live;
            drop(form);
            self.state().gone.push(sitting.number);
        }
    }

    /// Takes in what a case came to that has ended. Whether so much waits now that whoever brings more should wait, too.
    pub(crate) fn end(&self, sitting: &Sitting, result: String) -> bool {
        let parts = match std::mem::replace(&mut *sitting.form(), Form::Ended) {
            Form::Gathered { parts, .. } => parts,
            Form::Live | Form::Ended => Vec::new(),
        };
        let mut refused = None;
        let sessions = parts.into_iter().map(|mut part| {
            part.line_up();
            let mut head = SessionHead { events: part.lined as u64, ..head(&part) };
            if head.status == SessionStatus::Active {
                head.status = SessionStatus::Cancelled;
            }
            refused = refused.take().or(part.refused);
            SessionLines { head, lines: part.lines }
        });
        let sessions: Vec<SessionLines> = sessions.collect();
        let bytes = sessions.iter().map(|session| session.lines.len()).sum::<usize>() + result.len();
        let mut state = self.state();
        state.running.remove(&sitting.number);
        state.ended.push(EndedCase {
            number: sitting.number,
            place: sitting.place as u64,
            repeat: sitting.repeat,
            result,
            sessions,
        });
        state.bytes += bytes;
        state.is_new = true;
        let is_full = state.ended.len() >= CASES || state.bytes >= BYTES;
        if is_full {
            let block = Block { number: state.number, cases: std::mem::take(&mut state.ended) };
            state.full.push(Arc::new(block));
            (state.number, state.bytes, state.is_new) = (state.number + 1, 0, false);
        }
        state.refused = state.refused.take().or(refused);
        is_full && state.full.len() >= WAITING
    }

    /// Why something of the run could not be kept, whatever the store does.
    pub(crate) fn refused(&self) -> Option<StoreError> {
        self.state().refused.as_ref().map(|why| StoreError::Refused(why.to_string()))
    }

    /// Notes that something of the run cannot be kept.
    pub(crate) fn refuse(&self, why: StoreError) {
        self.state().refused.get_or_insert(why);
    }

    /// Writes what waits.
    pub(crate) async fn flush(&self, which: Drafts) -> Result<(), StoreError> {
        let _writing = self.writing.lock().await;
        let written = self.write(which).await;
        self.state().is_failing = written.is_err();
        written
    }

    async fn write(&self, which: Drafts) -> Result<(), StoreError> {
        let full = self.state().full.clone();
        // All at the same time, so that the store commits them together.
        let written = join_all(full.iter().map(|block| self.store.put_block(&self.run, block))).await;
        // Nobody takes any away meanwhile, and whatever was added stands behind these.
        let done: Vec<bool> = written.iter().map(Result::is_ok).collect();
        let mut done = done.into_iter();
        self.state().full.retain(|_| !done.next().unwrap_or(false));
        written.into_iter().collect::<Result<(), StoreError>>()?;
        if which == Drafts::None {
            return Ok(());
        }
        let block = {
            let mut state = self.state();
            let is_new = std::mem::take(&mut state.is_new);
            is_new.then(|| Block { number: state.number, cases: state.ended.clone() })
        };
        if let Some(block) = block
            && let Err(error) = self.store.put_block(&self.run, &block).await
        {
            self.state().is_new = true;
            return Err(error);
        }
        self.write_drafts(which).await
    }

    async fn write_drafts(&self, which: Drafts) -> Result<(), StoreError> {
        let (running, gone) = {
            let mut state = self.state();
            (state.running.values().cloned().collect::<Vec<_>>(), std::mem::take(&mut state.gone))
        };
        let mut drafts = Vec::new();
        for sitting in &running {
            drafts.extend(sitting.drafts(which));
        }
        if drafts.is_empty() && gone.is_empty() {
            return Ok(());
        }
        if let Err(error) = self.store.put_drafts(&self.run, &drafts, &gone).await {
            self.state().gone.extend(gone);
            return Err(error);
        }
        let sittings: BTreeMap<u32, &Arc<Sitting>> =
            running.iter().map(|sitting| (sitting.number, sitting)).collect();
        for draft in &drafts {
            if let Some(sitting) = sittings.get(&draft.case) {
                sitting.drafted(draft);
            }
        }
        Ok(())
    }
}
