//! The desk: every decision about sessions and cues, on their ledgers. It knows no socket and no wire.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use indexmap::IndexMap;
use rehearsal_core::{Clock, Event, Ledger, SessionId, Timestamp, elapsed};
use rehearsal_store::{CUE_GRACE, RUN_GONE_AFTER, SessionRecord, StoreError, StoreRef};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::watch;

use crate::presence::{Presence, Waiting};
use crate::problem::{Class, Kind, Problem};
use crate::watch::{Seat, Topic, Watch};

mod answer;
mod artifacts;
mod cues;
mod export;
mod failing;
mod hosts;
mod observe;
mod pen;
mod published;
mod query;
mod sessions;
mod state;
mod turns;
mod view;

pub use answer::{Answered, NewAnswer};
pub use artifacts::Artifact;
pub use cues::{CueView, SessionCues};
pub use export::Exported;
pub use failing::Failure;
pub use hosts::{AgentView, NewAgent, NewHost, WorkView};
pub use observe::{Observation, Observed, Recorded, ToolFailure};
pub use published::{CannotDerive, NoRequest, Published, PublishedRef, RequestDrafts};
pub use query::QueryRequest;
pub use sessions::{NewSessionRequest, SessionChange};
pub use turns::{AskedModel, Submitted, TurnAnswer, TurnRequest, TurnResponse, TurnView};
pub use view::{RunningCall, SessionState, SessionView};

pub(crate) use pen::Pen;
pub(crate) use view::moment;

/// How many ledgers are kept in memory, of sessions that were written to last.
const KEPT_LEDGERS: usize = 128;
/// A ledger with more events than this is read again when it is needed, rather than kept.
const KEPT_EVENTS: usize = 4096;
/// So is one whose events are longer than this as text.
const KEPT_TEXT: usize = 4 << 20;
/// How often a write is tried again when others keep coming first.
const TRIES: usize = 64;
/// Writers of one session in this process take turns; this many sessions can be written to at once.
const STRIPES: usize = 64;
/// Events are read from the store in pages of this many.
const PAGE: u32 = 500;

/// How often to clean up.
const CLEANING: Duration = Duration::from_mins(5);
/// An upload that nothing was added to for so long is not used any more.
const UPLOAD_AGE: Duration = Duration::from_hours(24);

/// Whoever's connection broke and who does not come back for so long is gone. Clients try again after two seconds at most.
const BROKEN: Duration = Duration::from_secs(5);

/// The largest upload.
const LARGEST_UPLOAD: u64 = 256 << 20;

/// Every decision about sessions and cues.
#[derive(Debug)]
pub struct Desk {
    pub(crate) store: StoreRef,
    pub(crate) clock: Arc<dyn Clock>,
    published: PublishedRef,
    pub(crate) presence: Arc<Presence>,
    watch: Arc<Watch>,
    /// What those waited for whose connections have broken.
    breaks: tokio::sync::Mutex<UnboundedReceiver<Waiting>>,
    grace: Duration,
    kept: Mutex<IndexMap<SessionId, Standing>>,
    stripes: Vec<tokio::sync::Mutex<()>>,
    closing: watch::Sender<bool>,
}

/// A session as it stands.
#[derive(Clone, Debug)]
pub(crate) struct Standing {
    pub(crate) record: SessionRecord,
    /// Of long outputs, it has the beginnings.
    pub(crate) ledger: Ledger,
    /// The events of which something was left out.
    pub(crate) cut: BTreeSet<u64>,
    weight: Weight,
}

/// How long the first events of a ledger are as text.
#[derive(Clone, Copy, Debug, Default)]
struct Weight {
    events: usize,
    bytes: usize,
}

impl Standing {
    pub(crate) fn new(record: SessionRecord) -> Self {
        let ledger = Ledger::new(record.id.clone());
        Self { record, ledger, cut: BTreeSet::new(), weight: Weight::default() }
    }

    /// How long its events are as text; only those are looked at that came since the last time.
    fn weigh(&mut self) -> usize {
        for event in &self.ledger.events()[self.weight.events..] {
            let mut count = Count(0);
            // What cannot be written as text was not written at all.
            #[expect(clippy::disallowed_methods, reason = "it is counted, not kept")]
            let _counted = serde_json::to_writer(&mut count, &**event);
            self.weight.bytes += count.0;
            self.weight.events += 1;
        }
        self.weight.bytes
    }
}

/// Counts what is written.
struct Count(usize);

impl std::io::Write for Count {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn busy(session: &SessionId) -> Problem {
    let detail = format!("session `{session}` is written to all the time; try again");
    Problem::new(Class::Busy, Kind::Busy, detail)
}

impl Desk {
    /// A desk over a store, with what it must know of the published protocol. `grace` is how long the asker of a cue
    /// may be gone before the cue counts as abandoned.
    pub fn new(
        store: StoreRef,
        clock: Arc<dyn Clock>,
        published: PublishedRef,
        grace: Duration,
    ) -> Arc<Self> {
        let (presence, breaks) = Presence::new();
        Arc::new(Self {
            watch: Watch::of(&store),
            store,
            clock,
            published,
            presence,
            breaks: tokio::sync::Mutex::new(breaks),
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
            return Err(Problem::new(Class::TooLarge, Kind::TooLarge, detail));
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
        Err(busy(session))
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
        let (mut events, mut cut) = (Vec::new(), BTreeSet::new());
        let mut tries = 0;
        let record = loop {
            // Of one moment with the events: somebody may write while they are read.
            let record = self.record(session).await?;
            let mut after = events.last().map_or(0, |last: &Arc<Event>| last.seq);
            while after < record.last_seq {
                let page = self.store.glance(session, after, PAGE).await?;
                if page.is_empty() {
                    break;
                }
                cut.extend(page.iter().filter(|stored| stored.is_cut).map(|stored| stored.event.seq));
                events.extend(page.into_iter().map(|stored| stored.event));
                after = events.last().map_or(0, |last| last.seq);
            }
            if after == record.last_seq {
                break record;
            }
            tries += 1;
            if tries == TRIES {
                return Err(busy(session));
            }
        };
        // A run's session has another id in the store than on its ledger.
        let id = events.first().map_or(session, |first| &first.session).clone();
        let ledger = Ledger::from_events(id, events).map_err(|error| {
            let detail = format!("the kept ledger of session `{session}` contradicts itself: {error}");
            Problem::new(Class::Internal, Kind::Corrupt, detail)
        })?;
        Ok(Standing { record, ledger, cut, weight: Weight::default() })
    }

    /// Forgets what is kept in memory of a session.
    pub(crate) fn forget(&self, session: &SessionId) {
        self.lock().shift_remove(session);
    }

    fn take(&self, session: &SessionId) -> Option<Standing> {
        self.lock().swap_remove(session)
    }

    fn keep(&self, mut standing: Standing) {
        if standing.ledger.events().len() > KEPT_EVENTS || standing.weigh() > KEPT_TEXT {
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

    /// Keeps cues open whose askers wait here, marks those as abandoned whose askers have gone, and cleans up now and
    /// then, until the server ends. Right after the start nobody counts as gone: agents need time to come back.
    pub async fn mind_cues(self: Arc<Self>) {
        tokio::join!(self.clone().miss_broken(), self.look_after());
    }

    async fn look_after(&self) {
        let pause = self.sign_of_life();
        let began = self.now();
        let (mut last, mut cleaned) = (began, began);
        loop {
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = self.closed() => return,
            }
            let now = self.now();
            let sweep = elapsed(began, now) > self.grace;
            if let Err(problem) = self.mind_cues_once(sweep).await {
                tracing::warn!(problem = problem.kind.word(), "cannot look after open cues: {problem}");
            }
            // When this machine has slept, others on it may have too: they get the time to say that they live.
            let slept = elapsed(last, now) > pause + CLEANING;
            last = now;
            if sweep && !slept && elapsed(cleaned, now) > CLEANING {
                cleaned = now;
                if let Err(problem) = self.clean().await {
                    tracing::warn!(problem = problem.kind.word(), "cannot clean up: {problem}");
                }
            }
        }
    }

    /// Looks after those whose connections break: a process that is killed says nothing else. Until the server ends.
    async fn miss_broken(self: Arc<Self>) {
        let mut breaks = self.breaks.lock().await;
        let mut missed = tokio::task::JoinSet::new();
        loop {
            tokio::select! {
                Some(waiting) = breaks.recv() => {
                    missed.spawn(self.clone().miss(waiting));
                }
                Some(_) = missed.join_next() => {}
                () = self.closed() => return,
            }
        }
    }

    /// Gives somebody whose connection broke a moment to come back, here or at another server; then they are gone.
    async fn miss(self: Arc<Self>, waiting: Waiting) {
        let broke_at = self.now_ms();
        tokio::time::sleep(BROKEN.min(self.grace)).await;
        if self.presence.has(&waiting) {
            return;
        }
        if let Err(problem) = self.lose(&waiting, broke_at).await {
            // They are missed later, when nobody has seen them for long.
            tracing::warn!(problem = problem.kind.word(), "cannot say who is gone: {problem}");
        }
    }

    async fn lose(&self, waiting: &Waiting, broke_at: i64) -> Result<(), Problem> {
        let cues = match waiting {
            Waiting::Cue(cue) => vec![cue.clone()],
            Waiting::Session(session) => {
                self.unresolved(session).await?.into_iter().map(|cue| cue.id).collect()
            }
            Waiting::Host(host) => {
                if self.store.lose_host(host, broke_at).await? {
                    tracing::info!(host, "its connection broke and it did not come back");
                }
                return Ok(());
            }
        };
        for cue in self.store.lose_cues(&cues, broke_at).await? {
            tracing::info!(cue = %cue.id, session = %cue.session, agent = cue.agent, "its asker's connection broke");
        }
        Ok(())
    }

    /// Puts away what was left by those who went without a word.
    async fn clean(&self) -> Result<(), Problem> {
        let now = self.now_ms();
        self.forget_hosts().await?;
        let before = |age: Duration| now.saturating_sub(i64::try_from(age.as_millis()).unwrap_or(i64::MAX));
        self.store.delete_uploads(before(UPLOAD_AGE)).await?;
        for run in self.store.interrupt_runs(before(RUN_GONE_AFTER), now).await? {
            tracing::info!(run, "its process has gone; it is interrupted");
        }
        Ok(())
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
                Waiting::Host(_) => {} // seen when it asks
            }
        }
        if !seen.is_empty() {
            self.store.touch_cues(&seen, now).await?;
        }
        if sweep {
            let before =
                |grace: Duration| now.saturating_sub(i64::try_from(grace.as_millis()).unwrap_or(i64::MAX));
            let (unseen, of_runs) = (before(self.grace), before(self.grace.max(CUE_GRACE)));
            for cue in self.store.abandon_cues(unseen, of_runs).await? {
                tracing::info!(cue = %cue.id, session = %cue.session, agent = cue.agent, "nobody waits for it any more");
            }
        }
        Ok(())
    }
}
