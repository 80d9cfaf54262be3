//! A run whose ledgers are in the store, and whose people answer there.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures::future::join_all;
use rehearsal_agent::Journal;
use rehearsal_core::{Clock, EndReason, Event, EventBody, Failure, Phase, SessionId, SessionPart};
use rehearsal_sim::person::{People, PersonCue, PersonPart};
use rehearsal_store::{
    Change, CueChange, CueId, CueKind, CueStatus, NewCue, NewEvent, NewSession, Payload, RunRecord,
    SessionSource, SessionStatus, StoreError, StoreRef, Write,
};
use serde_json::{Value, json};
use tokio::runtime::Handle;
use tokio::sync::broadcast;
use tokio::task::JoinHandle;

use crate::ids::fresh;

/// Events wait so long for others before they are written. Nobody is told of them before.
const GATHER: Duration = Duration::from_millis(200);
/// When so many wait, whoever adds one waits until they are written.
const MOST_PENDING: usize = 10_000;
/// How often the store is told that this run still waits for its cues.
const SIGN_OF_LIFE: Duration = Duration::from_secs(5);
/// A cue of a run whose asker was seen within this time is never abandoned, however impatient the server is.
pub(crate) const CUE_GRACE: Duration = Duration::from_secs(15);
/// A run that was not seen for so long has gone without a word.
pub const RUN_GONE_AFTER: Duration = Duration::from_mins(10);

/// A run that is kept: its ledgers as they grow, its open cues, its results.
///
/// A run has one process, and what it did is lost with it only when it was written nowhere and nobody was told: events
/// are gathered for a moment and written together, always before a person is asked and before the run's end is known.
/// Once a write has failed, every further event is written at once, so that whoever adds it learns of the failure.
#[derive(Debug)]
pub struct KeptRun {
    store: StoreRef,
    clock: Arc<dyn Clock>,
    record: Mutex<RunRecord>,
    pending: Mutex<Vec<(usize, Arc<Event>)>>,
    failing: AtomicBool,
    sessions: tokio::sync::Mutex<Sessions>,
    /// What is being put away because nobody waits for it any more.
    leaving: Mutex<Vec<JoinHandle<()>>>,
}

/// One case of a run that is kept: where its events go, and who brings its cues to people.
///
/// Cases that are repeated exactly have the same ids on their ledgers, so each case has sessions of its own.
#[derive(Debug)]
pub struct KeptCase {
    run: Arc<KeptRun>,
    case: usize,
}

/// The sessions of a run by the case and by their id on the ledger.
type Sessions = BTreeMap<(usize, SessionId), Kept>;

/// A session of the run, as far as it is written.
#[derive(Clone, Debug)]
struct Kept {
    id: SessionId,
    made: bool,
    last_seq: u64,
    is_answered: bool,
    is_named: bool,
}

impl KeptRun {
    /// Begins to keep a run.
    ///
    /// # Errors
    /// The store cannot be used.
    pub async fn begin(store: StoreRef, clock: Arc<dyn Clock>, title: &str) -> Result<Arc<Self>, StoreError> {
        let record = RunRecord {
            id: fresh(),
            started_at: clock.now().as_millisecond(),
            ended_at: None,
            title: title.to_owned(),
            status: "running".to_owned(),
            result: None,
        };
        store.put_run(&record).await?;
        let run = Arc::new(Self {
            store,
            clock,
            record: Mutex::new(record),
            pending: Mutex::default(),
            failing: AtomicBool::new(false),
            sessions: tokio::sync::Mutex::default(),
            leaving: Mutex::default(),
        });
        let writer = Arc::downgrade(&run);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(GATHER).await;
                let Some(run) = writer.upgrade() else { return };
                // Whoever adds the next event, or ends the run, meets the same failure.
                let _told_later = run.flush().await;
            }
        });
        Ok(run)
    }

    /// Its id in the store.
    pub fn id(&self) -> String {
        self.record().id.clone()
    }

    /// The case at this place among those of the run.
    pub fn case(self: &Arc<Self>, case: usize) -> Arc<KeptCase> {
        Arc::new(KeptCase { run: self.clone(), case })
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
    pub async fn end(self: &Arc<Self>, status: &str, result: Value) -> Result<(), StoreError> {
        let leaving = std::mem::take(&mut *self.leaving.lock().unwrap_or_else(PoisonError::into_inner));
        for dismissal in leaving {
            if let Err(error) = dismissal.await {
                tracing::debug!("a cue that nobody waits for stays open: {error}");
            }
        }
        let record = {
            let mut record = self.record();
            status.clone_into(&mut record.status);
            record.ended_at = Some(self.clock.now().as_millisecond());
            record.result = Some(result);
            record.clone()
        };
        // Both at the same time, so that the store commits them together.
        let (written, ended) = futures::join!(self.flush(), self.store.put_run(&record));
        if written.is_err() {
            // A run that is not kept whole is none to rely on.
            let record = RunRecord { status: "error".to_owned(), ..record };
            let _as_far_as_possible = self.store.put_run(&record).await;
        }
        written.and(ended)
    }

    /// Writes what waits. Whoever stops waiting for this stops nothing: it is done all the same.
    ///
    /// # Errors
    /// The store cannot be used; what waits goes on waiting.
    pub async fn flush(self: &Arc<Self>) -> Result<(), StoreError> {
        let run = self.clone();
        let written = tokio::spawn(async move {
            let mut sessions = run.sessions.lock().await;
            run.write_pending(&mut sessions).await
        });
        written.await.unwrap_or_else(|error| Err(stopped(&error)))
    }

    async fn write_pending(&self, sessions: &mut Sessions) -> Result<(), StoreError> {
        let events = std::mem::take(&mut *self.pending());
        let mut gathered: BTreeMap<(usize, SessionId), Vec<Arc<Event>>> = BTreeMap::new();
        for (case, event) in events {
            gathered.entry((case, event.session.clone())).or_default().push(event);
        }
        // All at the same time, so that the store commits them together.
        let writes = gathered.into_iter().map(|(key, events)| {
            let kept = sessions.get(&key).cloned().unwrap_or_else(Kept::new);
            async move {
                let outcome = self.write(kept, &events).await;
                (key, events, outcome)
            }
        });
        let (mut failed, mut left) = (None, Vec::new());
        for (key, events, outcome) in join_all(writes).await {
            match outcome {
                Ok(kept) => {
                    sessions.insert(key, kept);
                }
                Err(error) => {
                    left.extend(events.into_iter().map(|event| (key.0, event)));
                    failed = Some(error);
                }
            }
        }
        self.failing.store(failed.is_some(), Ordering::Relaxed);
        let Some(error) = failed else { return Ok(()) };
        let mut pending = self.pending();
        left.append(&mut pending);
        *pending = left;
        Err(error)
    }

    /// Writes events of one session, and gives how far it is written then.
    async fn write(&self, mut kept: Kept, events: &[Arc<Event>]) -> Result<Kept, StoreError> {
        let now = self.clock.now().as_millisecond();
        let mut write = Write::new(kept.id.clone(), now, kept.last_seq);
        if !kept.made {
            write.create = events.first().map(|first| self.new_session(first));
        }
        for event in events {
            match &event.body {
                // A loop only keeps the conversation going; the session is of the agent in it.
                EventBody::AgentStarted { kind } if !kept.is_named && &**kind != "loop" => {
                    kept.is_named = true;
                    write.agent = Some(event.author.to_string());
                }
                EventBody::FinalResponse { .. } | EventBody::AgentEnded { .. } => kept.is_answered = true,
                EventBody::SessionEnded { reason } => {
                    let by_itself = matches!(reason, EndReason::Completed | EndReason::StateMatches);
                    let completed = by_itself && kept.is_answered;
                    write.status =
                        Some(if completed { SessionStatus::Completed } else { SessionStatus::Cancelled });
                }
                _ => {}
            }
            let payload = match event.body {
                EventBody::ModelRequest(_) => Payload::Request,
                EventBody::ModelResponse(_) if event.turn.is_some() => Payload::Response,
                _ => Payload::Other,
            };
            write.events.push(NewEvent {
                event_id: fresh(),
                payload,
                event: event.clone(),
                blob: Bytes::new(),
            });
        }
        self.store.write(write).await?;
        kept.made = true;
        kept.last_seq = events.last().map_or(kept.last_seq, |last| last.seq);
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

    fn pending(&self) -> std::sync::MutexGuard<'_, Vec<(usize, Arc<Event>)>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens a cue, after all that happened before it, and gives its session in the store.
    async fn open(&self, case: usize, id: &CueId, cue: PersonCue) -> Result<SessionId, StoreError> {
        let mut sessions = self.sessions.lock().await;
        self.write_pending(&mut sessions).await?;
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
        self.store.write(write).await?;
        kept.made = true;
        Ok(kept.id.clone())
    }

    async fn wait(&self, session: &SessionId, id: &CueId) -> Result<Value, Failure> {
        let mut changes = self.store.changes();
        let mut life = tokio::time::interval(SIGN_OF_LIFE);
        loop {
            let cue = self.store.cue(id).await.map_err(|error| failure("store", error.to_string()))?;
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
                    let touched = self.store.touch_cues(std::slice::from_ref(id), now).await;
                    touched.map_err(|error| failure("store", error.to_string()))?;
                }
            }
        }
    }
}

/// Waits until something may have happened to a session. Whatever is told, even that something was missed, counts.
async fn changed(changes: &mut broadcast::Receiver<Change>, session: &SessionId) {
    loop {
        match changes.recv().await {
            Ok(Change::Session(other)) if other != *session => {}
            Ok(Change::Work(_)) => {}
            _ => return,
        }
    }
}

impl Kept {
    fn new() -> Self {
        Self { id: SessionId::new(fresh()), made: false, last_seq: 0, is_answered: false, is_named: false }
    }
}

fn failure(kind: &str, message: impl Into<String>) -> Failure {
    Failure { phase: Phase::System, kind: kind.to_owned(), message: message.into() }
}

fn stopped(error: &tokio::task::JoinError) -> StoreError {
    StoreError::Corrupt(format!("what happened could not be written: {error}"))
}

#[async_trait]
impl Journal for KeptCase {
    async fn keep(&self, events: &[Arc<Event>]) -> io::Result<()> {
        let many = {
            let mut pending = self.run.pending();
            pending.extend(events.iter().map(|event| (self.case, event.clone())));
            pending.len() > MOST_PENDING
        };
        if many || self.run.failing.load(Ordering::Relaxed) {
            self.run.flush().await.map_err(io::Error::other)?;
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
        let id = CueId::new(fresh());
        // Whoever stops waiting stops no write halfway.
        let (run, case, open) = (self.run.clone(), self.case, id.clone());
        let opened = tokio::spawn(async move { run.open(case, &open, cue).await }).await;
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
