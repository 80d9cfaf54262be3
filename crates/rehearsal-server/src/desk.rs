//! The desk: every decision about sessions and cues, on their ledgers. It knows no socket.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use indexmap::IndexMap;
use rehearsal_core::{Clock, Ledger, SessionId, Timestamp};
use rehearsal_store::{SessionRecord, StoreError, StoreRef};
use tokio::sync::watch;

use crate::presence::{Presence, Waiting};
use crate::problem::{Class, Problem};
use crate::watch::{Seat, Topic, Watch};

mod answer;
mod cues;
mod hosts;
mod observe;
mod pen;
mod query;
mod sessions;
mod state;
mod turns;
mod view;

pub use answer::{Answered, NewAnswer};
pub use cues::{CueView, SessionCues};
pub use hosts::{AgentView, NewAgent, NewHost, WorkView};
pub use observe::{Observation, Observed, Recorded, ToolFailure};
pub use query::QueryRequest;
pub use sessions::{NewSessionRequest, SessionChange};
pub use turns::{AskedModel, Submitted, TurnAnswer, TurnRequest, TurnResponse};
pub use view::{RunningCall, SessionState, SessionView};

pub(crate) use pen::Pen;
pub(crate) use view::moment;

/// How many ledgers are kept in memory, of sessions that were written to last.
const KEPT_LEDGERS: usize = 512;
/// A ledger with more events than this is read again when it is needed, rather than kept.
const KEPT_EVENTS: usize = 4096;
/// How often a write is tried again when others keep coming first.
const TRIES: usize = 64;
/// Writers of one session in this process take turns; this many sessions can be written to at once.
const STRIPES: usize = 64;
/// Events are read from the store in pages of this many.
const PAGE: u32 = 500;

/// The largest upload.
const LARGEST_UPLOAD: u64 = 256 << 20;

/// Every decision about sessions and cues.
#[derive(Debug)]
pub struct Desk {
    pub(crate) store: StoreRef,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) presence: Arc<Presence>,
    watch: Arc<Watch>,
    grace: Duration,
    kept: Mutex<IndexMap<SessionId, Standing>>,
    stripes: Vec<tokio::sync::Mutex<()>>,
    closing: watch::Sender<bool>,
}

/// A session as it stands.
#[derive(Clone, Debug)]
pub(crate) struct Standing {
    pub(crate) record: SessionRecord,
    pub(crate) ledger: Ledger,
}

impl Desk {
    /// A desk over a store. `grace` is how long the asker of a cue may be gone before the cue counts as abandoned.
    pub fn new(store: StoreRef, clock: Arc<dyn Clock>, grace: Duration) -> Arc<Self> {
        Arc::new(Self {
            watch: Watch::of(&store),
            store,
            clock,
            presence: Arc::default(),
            grace,
            kept: Mutex::default(),
            stripes: (0..STRIPES).map(|_| tokio::sync::Mutex::new(())).collect(),
            closing: watch::Sender::new(false),
        })
    }

    /// The store behind it.
    pub fn store(&self) -> &StoreRef {
        &self.store
    }

    /// Sends everybody home who waits here; used when the server ends.
    pub fn close(&self) {
        self.closing.send_replace(true);
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub(crate) fn now_ms(&self) -> i64 {
        self.now().as_millisecond()
    }

    /// Takes a seat at a topic.
    pub(crate) fn sit(&self, topic: Topic) -> Seat {
        self.watch.sit(topic)
    }

    /// Adds a chunk to an upload.
    ///
    /// # Errors
    /// It does not follow the last one, or there is too much.
    pub async fn put_chunk(&self, upload: &str, offset: u64, bytes: bytes::Bytes) -> Result<(), Problem> {
        if offset.saturating_add(bytes.len() as u64) > LARGEST_UPLOAD {
            let detail = format!("an upload has at most {} MiB in all", LARGEST_UPLOAD >> 20);
            return Err(Problem::new(Class::TooLarge, "too_large", detail));
        }
        Ok(self.store.put_chunk(upload, offset, bytes, self.now_ms()).await?)
    }

    /// Ends when the server does.
    pub(crate) async fn closed(&self) {
        let mut closing = self.closing.subscribe();
        if closing.wait_for(|closing| *closing).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Changes a session: `decide` looks at its ledger and writes with the pen; the store takes all of it or nothing.
    /// When somebody else wrote first, it is decided again on the new ledger.
    pub(crate) async fn change<T>(
        &self,
        session: &SessionId,
        mut decide: impl FnMut(&mut Pen) -> Result<T, Problem> + Send,
    ) -> Result<T, Problem> {
        let _turn = self.stripe(session).lock().await;
        for _ in 0..TRIES {
            let (standing, remembered) = match self.take(session) {
                Some(standing) => (standing, true),
                None => (self.load(session).await?, false),
            };
            let known = standing.record.last_seq;
            let mut pen = Pen::new(standing, self.now());
            let value = match decide(&mut pen) {
                Ok(value) => value,
                Err(problem) => {
                    // Nobody is refused for what was remembered when another server has written since.
                    if remembered && self.record(session).await?.last_seq != known {
                        continue;
                    }
                    // What the pen wrote so far was written nowhere else; the ledger is read again when needed.
                    if pen.is_clean() {
                        self.keep(pen.into_standing());
                    }
                    return Err(problem);
                }
            };
            if pen.is_clean() {
                self.keep(pen.into_standing());
                return Ok(value);
            }
            let (standing, write) = pen.finish();
            match self.store.write(write).await {
                Ok(()) => {
                    self.keep(standing);
                    return Ok(value);
                }
                Err(StoreError::Moved { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(Problem::new(
            Class::Busy,
            "busy",
            format!("session `{session}` is written to all the time; try again"),
        ))
    }

    /// A session as it stands now, in the store.
    pub(crate) async fn standing(&self, session: &SessionId) -> Result<Standing, Problem> {
        let record = self.record(session).await?;
        let kept = {
            let kept = self.lock();
            kept.get(session).filter(|standing| standing.record.last_seq == record.last_seq).cloned()
        };
        match kept {
            Some(standing) => Ok(Standing { record, ..standing }),
            None => self.load(session).await,
        }
    }

    /// A session's row.
    pub(crate) async fn record(&self, session: &SessionId) -> Result<SessionRecord, Problem> {
        self.store.session(session).await?.ok_or_else(|| Problem::not_found("session", session))
    }

    async fn load(&self, session: &SessionId) -> Result<Standing, Problem> {
        let mut record = self.record(session).await?;
        let mut events = Vec::new();
        loop {
            let after = events.last().map_or(0, |last: &Arc<rehearsal_core::Event>| last.seq);
            let page = self.store.events(session, after, PAGE).await?;
            let is_last = page.len() < PAGE as usize;
            events.extend(page.into_iter().map(|stored| stored.event));
            if is_last {
                break;
            }
        }
        record.last_seq = events.last().map_or(0, |last| last.seq);
        // A run's session has another id in the store than on its ledger.
        let id = events.first().map_or(session, |first| &first.session).clone();
        let ledger = Ledger::from_events(id, events).map_err(|error| {
            let detail = format!("the kept ledger of session `{session}` contradicts itself: {error}");
            Problem::new(Class::Internal, "corrupt", detail)
        })?;
        Ok(Standing { record, ledger })
    }

    /// Forgets what is kept in memory of a session.
    pub(crate) fn forget(&self, session: &SessionId) {
        self.lock().shift_remove(session);
    }

    fn take(&self, session: &SessionId) -> Option<Standing> {
        self.lock().swap_remove(session)
    }

    fn keep(&self, standing: Standing) {
        if standing.ledger.events().len() > KEPT_EVENTS {
            return;
        }
        let mut kept = self.lock();
        kept.insert(standing.record.id.clone(), standing);
        if kept.len() > KEPT_LEDGERS {
            kept.swap_remove_index(0);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, IndexMap<SessionId, Standing>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stripe(&self, session: &SessionId) -> &tokio::sync::Mutex<()> {
        let mut hasher = DefaultHasher::new();
        session.hash(&mut hasher);
        let at = usize::try_from(hasher.finish() % STRIPES as u64).unwrap_or(0);
        &self.stripes[at]
    }

    /// Keeps cues open whose askers wait here and marks those as abandoned whose askers have gone, until the server
    /// ends. Right after the start nobody counts as gone: agents need time to come back.
    pub async fn mind_cues(self: Arc<Self>) {
        let pause = self.sign_of_life();
        let began = self.now();
        loop {
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = self.closed() => return,
            }
            let sweep = rehearsal_core::elapsed(began, self.now()) > self.grace;
            if let Err(problem) = self.mind_cues_once(sweep).await {
                tracing::warn!(problem = problem.kind, "cannot look after open cues: {problem}");
            }
        }
    }

    /// How often those who wait are to be seen.
    fn sign_of_life(&self) -> Duration {
        (self.grace / 3).max(Duration::from_millis(20))
    }

    pub(crate) fn sign_of_life_ms(&self) -> i64 {
        i64::try_from(self.sign_of_life().as_millis()).unwrap_or(i64::MAX)
    }

    async fn mind_cues_once(&self, sweep: bool) -> Result<(), Problem> {
        let now = self.now_ms();
        let mut seen = Vec::new();
        for waiting in self.presence.all() {
            match waiting {
                Waiting::Cue(cue) => seen.push(cue),
                Waiting::Session(session) => {
                    seen.extend(self.unresolved(&session).await?.into_iter().map(|cue| cue.id));
                }
            }
        }
        if !seen.is_empty() {
            self.store.touch_cues(&seen, now).await?;
        }
        if sweep {
            let grace = i64::try_from(self.grace.as_millis()).unwrap_or(i64::MAX);
            for cue in self.store.abandon_cues(now.saturating_sub(grace)).await? {
                tracing::info!(cue = %cue.id, session = %cue.session, agent = cue.agent, "nobody waits for it any more");
            }
        }
        Ok(())
    }
}
