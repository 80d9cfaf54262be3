//! A run whose ledgers are in the store, and whose people answer there.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures::future::join_all;
use rehearsal_agent::Journal;
use rehearsal_core::{
    CaseResult, Clock, EndReason, Event, EventBody, Failure, Ledger, Phase, SessionId, SessionPart,
};
use rehearsal_sim::person::{People, PersonCue, PersonPart};
use rehearsal_store::{
    Change, CueChange, CueId, CueKind, CueStatus, NewCue, NewEvent, NewSession, Payload, RunAbout, RunLife,
    RunRecord, RunStatus, SessionRecord, SessionSource, SessionStatus, StoreError, StoreRef, StoredEvent,
    Write, event_id, new_id,
};
use serde_json::{Value, json};
use tokio::runtime::Handle;
use tokio::sync::broadcast;
use tokio::task::JoinHandle;
use tokio::time::MissedTickBehavior;

use crate::archive::{Archive, Drafts, Part, Sitting, Taken, line};
use crate::gauge::Gauge;
use crate::reins::{Reins, Told};

/// Events wait so long for others before they are written. Nobody is told of them before.
const GATHER: Duration = Duration::from_millis(200);
/// When so many wait, whoever adds one waits until they are written.
const MOST_PENDING: usize = 4_000;
/// So many events of a session are written at once. What a write has changed so far is looked through at each of its
/// statements in `SQLite`, so that one write of thousands takes seconds.
const MOST_TOGETHER: usize = 256;
/// The heartbeat of cues: how often the store is told that this run still waits for them. See
/// [`CUE_GRACE`](rehearsal_store::CUE_GRACE).
const SIGN_OF_LIFE: Duration = Duration::from_secs(5);
/// How long to wait before the store is asked again when it could not be used for a moment.
const PAUSE: Duration = Duration::from_secs(1);
/// How often, and how far apart, something is tried again while the store is away, such as a database that is started
/// again: for a minute.
const TRIES: (u32, Duration) = (240, Duration::from_millis(250));

/// A run that is kept: its ledgers as they grow, its open cues, its results.
///
/// A run has one process, and what it did is lost with it only when it was written nowhere and nobody was told: events
/// are gathered for a moment and written together, always before a person is asked and before the run's end is known.
/// Once a write has failed, every further event of its case is written at once, so that whoever adds it learns of the
/// failure. What could not be written waits, and is written when the store can be used again. A store that is away for a
/// moment is waited for, by the run as by its people.
#[derive(Debug)]
pub struct KeptRun {
    pub(crate) store: StoreRef,
    pub(crate) clock: Arc<dyn Clock>,
    record: Mutex<RunRecord>,
    pending: Mutex<Vec<(usize, Waiting)>>,
    /// The cases of which something could not be written.
    failing: Mutex<BTreeSet<usize>>,
    sessions: tokio::sync::Mutex<Sessions>,
    /// What is being put away because nobody waits for it any more.
    leaving: Mutex<Vec<JoinHandle<()>>>,
    /// The cases that nobody plays along with.
    pub(crate) archive: Archive,
    /// How far it is.
    pub(crate) gauge: Gauge,
    /// What it is held and ended by, once it runs.
    pub(crate) reins: Mutex<Option<Reins>>,
}

/// One case of a run that is kept: where its events go, and who brings its cues to people.
///
/// Cases that are repeated exactly have the same ids on their ledgers, so each case has sessions of its own.
#[derive(Debug)]
pub struct KeptCase {
    run: Arc<KeptRun>,
    case: usize,
    /// Its place in the archive, unless it is kept by the event from the beginning.
    sitting: Option<Arc<Sitting>>,
}

/// The sessions of a run by the case and by their id on the ledger.
type Sessions = BTreeMap<(usize, SessionId), Kept>;

/// An event that waits to be written, with the id it has in the store, however often that is tried.
#[derive(Clone, Debug)]
struct Waiting {
    event_id: String,
    event: Arc<Event>,
}

/// A session of the run, as far as it is written.
#[derive(Clone, Debug)]
struct Kept {
    id: SessionId,
    made: bool,
    last_seq: u64,
    is_answered: bool,
    is_named: bool,
    /// What went wrong, as sessions tell it.
    failure: Option<Value>,
}

/// How far events of a session were written.
struct Written {
    kept: Kept,
    /// How many of them.
    count: usize,
    /// Why not all.
    failure: Option<StoreError>,
}

impl KeptRun {
    /// Begins to keep a run.
    ///
    /// # Errors
    /// The store cannot be used.
    pub async fn begin(
        store: StoreRef,
        clock: Arc<dyn Clock>,
        title: &str,
        about: RunAbout,
    ) -> Result<Arc<Self>, StoreError> {
        let record = RunRecord {
            id: new_id(),
            started_at: clock.now().as_millisecond(),
            ended_at: None,
            title: title.to_owned(),
            status: RunStatus::Running,
            about,
            result: None,
            life: RunLife { seen_at: Some(clock.now().as_millisecond()), ..RunLife::default() },
        };
        store.put_run(&record).await?;
        Ok(Self::keep(store, clock, record, 0, 0))
    }

    /// Goes on with a run whose next case and block have these numbers.
    pub(crate) fn keep(
        store: StoreRef,
        clock: Arc<dyn Clock>,
        record: RunRecord,
        next_case: u32,
        next_block: u64,
    ) -> Arc<Self> {
        let archive = Archive::new(store.clone(), &record.id, next_case, next_block);
        let run = Arc::new(Self {
            gauge: Gauge::new(&*clock),
            reins: Mutex::default(),
            store,
            clock,
            record: Mutex::new(record),
            pending: Mutex::default(),
            failing: Mutex::default(),
            sessions: tokio::sync::Mutex::default(),
            leaving: Mutex::default(),
            archive,
        });
        let writer = Arc::downgrade(&run);
        let mut told = Told::default();
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(GATHER).await;
                let Some(run) = writer.upgrade() else { return };
                run.tick(&mut told).await;
            }
        });
        run
    }

    /// Where it is kept.
    pub(crate) fn store(&self) -> &StoreRef {
        &self.store
    }

    /// Its id in the store.
    pub fn id(&self) -> String {
        self.record().id.clone()
    }

    /// From now on it can be held and ended by these.
    pub(crate) fn take(&self, reins: Reins) {
        *self.reins.lock().unwrap_or_else(PoisonError::into_inner) = Some(reins);
    }

    /// The case at this place among those of the run. A person may play along: it is kept by the event.
    pub fn case(self: &Arc<Self>, case: usize) -> Arc<KeptCase> {
        Arc::new(KeptCase { run: self.clone(), case, sitting: None })
    }

    /// A repeat of the case at this place, which is kept with others when it has ended. When a person is asked in it, it is
    /// kept by the event from then on.
    pub fn archived(self: &Arc<Self>, case: usize, repeat: u32) -> Arc<KeptCase> {
        let sitting = Some(self.archive.seat(case, repeat));
        Arc::new(KeptCase { run: self.clone(), case, sitting })
    }

    /// The store's id of a session of a case: the one under which it is kept once something of it is written.
    pub async fn session(&self, case: usize, ledger: &SessionId) -> SessionId {
        let mut sessions = self.sessions.lock().await;
        sessions.entry((case, ledger.clone())).or_insert_with(Kept::new).id.clone()
    }

    /// Writes what waits, and the results. No cue of the run stays open.
    ///
    /// # Errors
    /// The store cannot be used, or not all that happened could be written.
    pub async fn end(self: &Arc<Self>, status: RunStatus, result: Value) -> Result<(), StoreError> {
        let leaving = std::mem::take(&mut *self.leaving.lock().unwrap_or_else(PoisonError::into_inner));
        for dismissal in leaving {
            if let Err(error) = dismissal.await {
                tracing::debug!("a cue that nobody waits for stays open: {error}");
            }
        }
        let record = {
            let mut record = self.record();
            record.status = status;
            record.ended_at = Some(self.clock.now().as_millisecond());
            record.result = Some(result);
            record.clone()
        };
        // Whoever interrupts a run does not wait.
        let tries = if status == RunStatus::Interrupted { 0 } else { TRIES.0 };
        // What its cases came to is kept before it counts as ended: one that is killed between the two goes on.
        let written = outlast(tries, || self.flush()).await;
        let (record, tries) = match &written {
            Ok(()) => (record, tries),
            // A run that is not kept whole is none to rely on.
            Err(_) => (RunRecord { status: RunStatus::Error, ..record }, 0),
        };
        let ended = outlast(tries, || self.store.put_run(&record)).await;
        written.and(ended)
    }

    /// Writes what waits. Whoever stops waiting for this stops nothing: it is done all the same.
    ///
    /// # Errors
    /// The store cannot be used; what waits goes on waiting.
    pub async fn flush(self: &Arc<Self>) -> Result<(), StoreError> {
        let live = self.flush_each().await.and_then(|failed| failed.into_values().next().map_or(Ok(()), Err));
        let archived = self.flush_archive().await;
        live.and(archived).and_then(|()| self.archive.refused().map_or(Ok(()), Err))
    }

    async fn flush_archive(self: &Arc<Self>) -> Result<(), StoreError> {
        let run = self.clone();
        let written = tokio::spawn(async move { run.archive.flush(Drafts::All).await });
        written.await.map_err(|error| stopped(&error))?
    }

    /// From now on a case is kept by the event, if it was not before: a person is about to be asked.
    async fn bring_to_life(&self, case: usize, ledger: &SessionId) -> Result<(), StoreError> {
        let Some(sitting) = self.archive.find(case, ledger) else { return Ok(()) };
        let id = |part| self.archive.session(&sitting, part);
        let ids = [id(SessionPart::Main)?, id(SessionPart::User)?, id(SessionPart::Judge)?];
        let mut sessions = self.sessions.lock().await;
        self.archive.bring_to_life(&sitting, |parts| {
            let mut pending = self.pending();
            for Part { ledger, role, events, .. } in parts {
                let id = ids[role as usize].clone();
                sessions.entry((case, ledger)).or_insert_with(|| Kept { id, ..Kept::new() });
                let waiting = |event: Arc<Event>| (case, Waiting { event_id: event_id(event.at), event });
                pending.extend(events.into_iter().map(waiting));
            }
        });
        Ok(())
    }

    /// Writes what waits, and gives the cases of which something could not be written.
    pub(crate) async fn flush_each(self: &Arc<Self>) -> Result<BTreeMap<usize, StoreError>, StoreError> {
        let run = self.clone();
        let written = tokio::spawn(async move {
            let mut sessions = run.sessions.lock().await;
            run.write_pending(&mut sessions).await
        });
        written.await.map_err(|error| stopped(&error))
    }

    async fn write_pending(&self, sessions: &mut Sessions) -> BTreeMap<usize, StoreError> {
        let events = std::mem::take(&mut *self.pending());
        let mut gathered: BTreeMap<(usize, SessionId), BTreeMap<u64, Waiting>> = BTreeMap::new();
        for (case, waiting) in events {
            let key = (case, waiting.event.session.clone());
            // The session has its id before the first try, so that a second one finds what the first has left.
            let kept = sessions.entry(key.clone()).or_insert_with(Kept::new);
            // Whoever was told of a failure brings the same events again.
            if waiting.event.seq > kept.last_seq {
                gathered.entry(key).or_default().entry(waiting.event.seq).or_insert(waiting);
            }
        }
        // All at the same time, so that the store commits them together.
        let writes: Vec<_> = gathered
            .into_iter()
            .map(|(key, events)| {
                let kept = sessions.get(&key).cloned().unwrap_or_else(Kept::new);
                let events: Vec<Waiting> = events.into_values().collect();
                async move {
                    let written = self.write(kept, &events).await;
                    (key, events, written)
                }
            })
            .collect();
        let (mut failed, mut left) = (BTreeMap::new(), Vec::new());
        for (key, events, Written { kept, count, failure }) in join_all(writes).await {
            left.extend(events.into_iter().skip(count).map(|event| (key.0, event)));
            if let Some(error) = failure {
                failed.insert(key.0, error);
            }
            sessions.insert(key, kept);
        }
        *self.failing() = failed.keys().copied().collect();
        if !left.is_empty() {
            let mut pending = self.pending();
            left.append(&mut pending);
            *pending = left;
        }
        failed
    }

    /// Writes events of one session, as far as that can be done.
    async fn write(&self, mut kept: Kept, events: &[Waiting]) -> Written {
        let mut count = 0;
        for some in events.chunks(MOST_TOGETHER) {
            match self.write_some(kept.clone(), some).await {
                Ok(so_far) => kept = so_far,
                Err(error) => return Written { kept, count, failure: Some(error) },
            }
            count += some.len();
        }
        Written { kept, count, failure: None }
    }

    /// Writes events of one session, and gives how far it is written then.
    async fn write_some(&self, mut kept: Kept, events: &[Waiting]) -> Result<Kept, StoreError> {
        let error = match self.append(kept.clone(), events).await {
            Err(error @ (StoreError::Moved { .. } | StoreError::Exists { .. })) => error,
            outcome => return outcome,
        };
        // Only this run writes to its sessions: an earlier try was kept, and the word of it got lost.
        let limit = u32::try_from(events.len()).unwrap_or(u32::MAX).saturating_add(1);
        let there = self.store.events(&kept.id, kept.last_seq, limit).await?;
        let is_same = |(there, new): &(&StoredEvent, &Waiting)| there.event_id == new.event_id;
        let same = there.iter().zip(events).take_while(is_same).count();
        if same < there.len() || (same == 0 && kept.made) {
            return Err(error);
        }
        kept.made = true;
        let mut written = Write::new(kept.id.clone(), 0, kept.last_seq);
        for waiting in &events[..same] {
            kept.hear(&waiting.event, &mut written);
        }
        self.append(kept, &events[same..]).await
    }

    async fn append(&self, mut kept: Kept, events: &[Waiting]) -> Result<Kept, StoreError> {
        let Some(first) = events.first() else { return Ok(kept) };
        let now = self.clock.now().as_millisecond();
        let mut write = Write::new(kept.id.clone(), now, kept.last_seq);
        if !kept.made {
            write.create = Some(self.new_session(&first.event));
        }
        for Waiting { event_id, event } in events {
            kept.hear(event, &mut write);
            let payload = match event.body {
                EventBody::ModelRequest(_) => Payload::Request,
                EventBody::ModelResponse(_) if event.turn.is_some() => Payload::Response,
                _ => Payload::Other,
            };
            write.events.push(NewEvent {
                event_id: event_id.clone(),
                payload,
                event: event.clone(),
                blob: Bytes::new(),
                line: None,
            });
        }
        self.store.write(write).await?;
        kept.made = true;
        Ok(kept)
    }

    fn new_session(&self, first: &Event) -> NewSession {
        let (agent, part, case) = match &first.body {
            EventBody::SessionStarted(started) => {
                (Some(started.agent.to_string()), started.part, started.case.clone())
            }
            _ => (None, SessionPart::Main, None),
        };
        NewSession {
            created_at: first.at.as_millisecond(),
            description: case.map(|case| case.to_string()),
            source: SessionSource::Run,
            agent: agent.filter(|agent| !agent.is_empty()),
            part,
            run: Some(self.id()),
            meta: json!({"ledger": first.session}),
        }
    }

    fn record(&self) -> std::sync::MutexGuard<'_, RunRecord> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn pending(&self) -> std::sync::MutexGuard<'_, Vec<(usize, Waiting)>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn failing(&self) -> std::sync::MutexGuard<'_, BTreeSet<usize>> {
        self.failing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens a cue, after all that happened before it, and gives its session in the store.
    async fn open(&self, case: usize, id: &CueId, cue: PersonCue) -> Result<SessionId, StoreError> {
        let mut sessions = self.sessions.lock().await;
        if let Some(error) = self.write_pending(&mut sessions).await.remove(&case) {
            return Err(error);
        }
        let kept = sessions.entry((case, cue.session.clone())).or_insert_with(Kept::new);
        let now = self.clock.now().as_millisecond();
        let mut write = Write::new(kept.id.clone(), now, kept.last_seq);
        if !kept.made {
            write.create = Some(NewSession {
                created_at: now,
                description: None,
                source: SessionSource::Run,
                agent: Some(cue.agent.clone()).filter(|agent| !agent.is_empty()),
                part: SessionPart::Main,
                run: Some(self.id()),
                meta: json!({"ledger": cue.session}),
            });
        }
        write.cues.push(CueChange::Open(NewCue {
            id: id.clone(),
            kind: match cue.kind {
                PersonPart::Model => CueKind::Model,
                PersonPart::Tool => CueKind::Tool,
                PersonPart::User => CueKind::User,
            },
            agent: cue.agent,
            turn: cue.turn,
            call: cue.call,
            prompt: cue.prompt,
        }));
        match self.store.write(write.clone()).await {
            // An earlier try was kept, and the word of it got lost.
            Err(StoreError::Exists { what: "session", .. }) => {
                write.create = None;
                self.store.write(write).await?;
            }
            Err(StoreError::Exists { what: "cue", .. }) => {}
            outcome => outcome?,
        }
        kept.made = true;
        Ok(kept.id.clone())
    }

    async fn wait(&self, session: &SessionId, id: &CueId) -> Result<Value, Failure> {
        let mut changes = self.store.changes();
        let mut life = tokio::time::interval(SIGN_OF_LIFE);
        life.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let cue = match self.store.cue(id).await {
                // A person may take days to answer; the store need not be there all the time.
                Err(error) if is_passing(&error) => {
                    tracing::warn!("cannot look for the answer to cue {id}; it is tried again: {error}");
                    tokio::time::sleep(PAUSE).await;
                    continue;
                }
                found => found.map_err(|error| failure("store", error.to_string()))?,
            };
            match cue {
                Some(cue) if cue.status == CueStatus::Answered => {
                    return Ok(cue.answer.unwrap_or(Value::Null));
                }
                Some(cue) if cue.status != CueStatus::Dismissed => {}
                _ => {
                    let message = "somebody dismissed what a person was asked, so there will be no answer";
                    return Err(failure("dismissed", message));
                }
            }
            tokio::select! {
                () = changed(&mut changes, session) => {}
                _ = life.tick() => {
                    let now = self.clock.now().as_millisecond();
                    match self.store.touch_cues(std::slice::from_ref(id), now).await {
                        Err(error) if is_passing(&error) => {
                            tracing::debug!("cannot say that somebody waits for cue {id}: {error}");
                        }
                        touched => touched.map_err(|error| failure("store", error.to_string()))?,
                    }
                }
            }
        }
    }
}

/// Whether a store that fails like this may work in a moment.
fn is_passing(error: &StoreError) -> bool {
    matches!(error, StoreError::Unavailable { .. } | StoreError::Locked(_) | StoreError::Full(_))
}

/// Tries again for as long as the store is away, and gives what the last try gave.
async fn outlast<T, F: Future<Output = Result<T, StoreError>>>(
    tries: u32,
    mut attempt: impl FnMut() -> F,
) -> Result<T, StoreError> {
    for _ in 0..tries {
        match attempt().await {
            Err(error @ StoreError::Unavailable { .. }) => {
                tracing::debug!("the store is away; it is tried again: {error}");
                tokio::time::sleep(TRIES.1).await;
            }
            outcome => return outcome,
        }
    }
    attempt().await
}

/// Waits until something may have happened to a session. Whatever is told, even that something was missed, counts.
async fn changed(changes: &mut broadcast::Receiver<Change>, session: &SessionId) {
    loop {
        match changes.recv().await {
            Ok(Change::Session(other)) if other != *session => {}
            Ok(Change::Work(_) | Change::Run(_)) => {}
            _ => return,
        }
    }
}

impl Kept {
    fn new() -> Self {
        Self {
            id: SessionId::new(new_id()),
            made: false,
            last_seq: 0,
            is_answered: false,
            is_named: false,
            failure: None,
        }
    }

    /// Takes in an event that is written, and adds to the write what follows from it.
    fn hear(&mut self, event: &Event, write: &mut Write) {
        self.last_seq = event.seq;
        match &event.body {
            // A loop only keeps the conversation going; the session is of the agent in it.
            EventBody::AgentStarted { kind } if !self.is_named && &**kind != "loop" => {
                self.is_named = true;
                write.agent = Some(event.author.to_string());
            }
            EventBody::FinalResponse { .. } | EventBody::AgentEnded { .. } => self.is_answered = true,
            EventBody::Error(_) => self.failure = SessionRecord::failure_of(event),
            EventBody::SessionEnded { reason } => {
                if *reason == EndReason::Error
                    && let Some(failure) = self.failure.take()
                {
                    write.meta = Some(json!({"ledger": event.session, SessionRecord::FAILURE: failure}));
                }
                let by_itself = matches!(reason, EndReason::Completed | EndReason::StateMatches);
                let completed = by_itself && self.is_answered;
                write.status =
                    Some(if completed { SessionStatus::Completed } else { SessionStatus::Cancelled });
            }
            _ => {}
        }
    }
}

fn failure(kind: &str, message: impl Into<String>) -> Failure {
    Failure { phase: Phase::System, kind: kind.to_owned(), message: message.into() }
}

fn stopped(error: &tokio::task::JoinError) -> StoreError {
    StoreError::Corrupt(format!("what happened could not be written: {error}"))
}

impl KeptCase {
    /// Writes what waits. What became of another case is told to that case, and at the end.
    async fn flush(&self) -> Result<(), StoreError> {
        self.run.flush_each().await?.remove(&self.case).map_or(Ok(()), Err)
    }

    /// The store's id of a session of this case: the one under which it is kept once something of it is written.
    ///
    /// # Errors
    /// The run has more cases than it has ids for.
    pub async fn session(&self, ledger: &Ledger) -> Result<SessionId, StoreError> {
        match &self.sitting {
            Some(sitting) => self.run.archive.session(sitting, ledger.part()),
            None => Ok(self.run.session(self.case, ledger.session()).await),
        }
    }

    /// Takes in what the case came to. It is written with others, in a moment; where the store is slow, this waits.
    ///
    /// # Errors
    /// The store cannot be used. What could not be written waits.
    pub async fn end(&self, result: &CaseResult) -> Result<(), StoreError> {
        let Some(sitting) = &self.sitting else { return Ok(()) };
        let line = match line(result) {
            Ok(line) => line,
            Err(why) => {
                self.run.archive.refuse(why);
                let CaseResult { name, status, seed, repeat, .. } = result;
                line(&CaseResult { repeat: *repeat, ..CaseResult::new(name.as_str(), *status, *seed) })?
            }
        };
        let is_full = self.run.archive.end(sitting, line);
        self.run.gauge.ended(result);
        if is_full { outlast(TRIES.0, || self.run.archive.flush(Drafts::None)).await } else { Ok(()) }
    }
}

#[async_trait]
impl Journal for KeptCase {
    async fn keep(&self, events: &[Arc<Event>]) -> io::Result<()> {
        if let Some(sitting) = &self.sitting
            && matches!(self.run.archive.take(sitting, events), Taken::Gathered)
        {
            // Once a write has failed, whoever adds something waits for the next and learns of its failure.
            if self.run.archive.is_failing() {
                return outlast(TRIES.0, || self.run.flush_archive()).await.map_err(io::Error::other);
            }
            return Ok(());
        }
        let many = {
            let mut pending = self.run.pending();
            let waiting = |event: &Arc<Event>| Waiting { event_id: event_id(event.at), event: event.clone() };
            pending.extend(events.iter().map(|event| (self.case, waiting(event))));
            pending.len() > MOST_PENDING
        };
        let failing = self.run.failing().contains(&self.case);
        if many || failing {
            return outlast(TRIES.0, || self.flush()).await.map_err(io::Error::other);
        }
        Ok(())
    }
}

/// Dismisses a cue when nobody waits for it any more.
struct Dismissal {
    run: Arc<KeptRun>,
    session: SessionId,
    cue: CueId,
    closed: bool,
}

impl Drop for Dismissal {
    fn drop(&mut self) {
        if self.closed {
            return;
        }
        // Where the whole program ends, nobody is left to write: the cue is abandoned after a while.
        let Ok(runtime) = Handle::try_current() else { return };
        let mut write = Write::new(self.session.clone(), self.run.clock.now().as_millisecond(), 0);
        write.cues.push(CueChange::Dismiss { cue: self.cue.clone() });
        let store = self.run.store.clone();
        let dismissal = runtime.spawn(async move {
            // The end of its session closes it too, whichever comes first.
            if let Err(error) = store.write(write).await {
                tracing::debug!("a cue that nobody waits for stays as it is: {error}");
            }
        });
        let mut leaving = self.run.leaving.lock().unwrap_or_else(PoisonError::into_inner);
        leaving.retain(|dismissal| !dismissal.is_finished());
        leaving.push(dismissal);
    }
}

#[async_trait]
impl People for KeptCase {
    async fn ask(&self, cue: PersonCue) -> Result<Value, Failure> {
        let id = CueId::new(new_id());
        // Whoever stops waiting stops no write halfway.
        let (run, case, open) = (self.run.clone(), self.case, id.clone());
        let opening = async move {
            run.bring_to_life(case, &cue.session).await?;
            outlast(TRIES.0, || run.open(case, &open, cue.clone())).await
        };
        let opened = tokio::spawn(opening).await;
        let session = opened
            .unwrap_or_else(|error| Err(stopped(&error)))
            .map_err(|error| failure("store", error.to_string()))?;
        let mut dismissal =
            Dismissal { run: self.run.clone(), session: session.clone(), cue: id.clone(), closed: false };
        let answer = self.run.wait(&session, &id).await?;
        dismissal.closed = true;
        Ok(answer)
    }
}
