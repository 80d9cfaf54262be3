//! A store that fails when a test wants it to.

use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use bytes::Bytes;
use rehearsal_core::{RunProgress, SessionId, TurnId};
use rehearsal_store::{
    Block, Change, Cue, CueId, CueQuery, Draft, FreeNumbers, GcPolicy, Host, KeptResult, LastSeen, Page,
    RunAbout, RunQuery, RunRecord, RunWish, SessionQuery, SessionRecord, Store, StoreError, StoreRef,
    StoredEvent, Work, WorkKind, WorkOutcome, Write,
};
use tokio::sync::broadcast;

/// What becomes of a write.
pub(crate) enum Fate {
    /// It is done.
    Done,
    /// It is not done: another program holds the database.
    Refused,
    /// It is not done: the database is away.
    Away,
    /// It is done, and nobody hears of it.
    DoneUnheard,
}

type OnWrite = Box<dyn FnMut(&Write) -> Fate + Send>;

/// A store before another one.
pub(crate) struct Shaky {
    inner: StoreRef,
    on_write: Mutex<OnWrite>,
    /// Written before events are read the next time.
    pub(crate) between: Mutex<Option<Write>>,
    /// How often events were read.
    pub(crate) read: AtomicUsize,
    /// How often cues cannot be looked at.
    pub(crate) blind: AtomicUsize,
    /// How often runs cannot be written.
    pub(crate) away: AtomicUsize,
}

impl fmt::Debug for Shaky {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Shaky").field(&self.inner).finish()
    }
}

impl Shaky {
    pub(crate) fn new(inner: StoreRef) -> Self {
        Self {
            inner,
            on_write: Mutex::new(Box::new(|_| Fate::Done)),
            between: Mutex::default(),
            read: AtomicUsize::new(0),
            blind: AtomicUsize::new(0),
            away: AtomicUsize::new(0),
        }
    }

    /// Counts a reading, before which somebody else may write.
    async fn meddle(&self) -> Result<(), StoreError> {
        self.read.fetch_add(1, Ordering::SeqCst);
        let between = self.between.lock().unwrap().take();
        match between {
            Some(write) => self.inner.write(write).await,
            None => Ok(()),
        }
    }

    /// Decides about every write from now on.
    pub(crate) fn on_write(&self, decide: impl FnMut(&Write) -> Fate + Send + 'static) {
        *self.on_write.lock().unwrap() = Box::new(decide);
    }
}

fn away() -> StoreError {
    StoreError::Unavailable { place: "here".to_owned(), why: "it is started again".to_owned() }
}

fn locked() -> StoreError {
    StoreError::Locked("for this test".to_owned())
}

#[async_trait]
impl Store for Shaky {
    async fn write(&self, write: Write) -> Result<(), StoreError> {
        let fate = (self.on_write.lock().unwrap())(&write);
        match fate {
            Fate::Done => self.inner.write(write).await,
            Fate::Refused => Err(locked()),
            Fate::Away => Err(away()),
            Fate::DoneUnheard => {
                self.inner.write(write).await?;
                Err(StoreError::Unavailable { place: "here".to_owned(), why: "the word got lost".to_owned() })
            }
        }
    }

    async fn session(&self, id: &SessionId) -> Result<Option<SessionRecord>, StoreError> {
        self.inner.session(id).await
    }

    async fn sessions(&self, query: &SessionQuery) -> Result<Page<SessionRecord>, StoreError> {
        self.inner.sessions(query).await
    }

    async fn delete_session(&self, id: &SessionId) -> Result<(), StoreError> {
        self.inner.delete_session(id).await
    }

    async fn events(
        &self,
        session: &SessionId,
        after: u64,
        limit: u32,
    ) -> Result<Vec<StoredEvent>, StoreError> {
        self.meddle().await?;
        self.inner.events(session, after, limit).await
    }

    async fn glance(
        &self,
        session: &SessionId,
        after: u64,
        limit: u32,
    ) -> Result<Vec<StoredEvent>, StoreError> {
        self.meddle().await?;
        self.inner.glance(session, after, limit).await
    }

    async fn line(&self, session: &SessionId, seq: u64) -> Result<Option<(String, String)>, StoreError> {
        self.inner.line(session, seq).await
    }

    async fn event(&self, session: &SessionId, event_id: &str) -> Result<Option<StoredEvent>, StoreError> {
        self.inner.event(session, event_id).await
    }

    async fn turn(
        &self,
        session: &SessionId,
        turn: &TurnId,
    ) -> Result<(Option<StoredEvent>, Option<StoredEvent>), StoreError> {
        self.inner.turn(session, turn).await
    }

    async fn answer(
        &self,
        session: &SessionId,
        turn: &TurnId,
    ) -> Result<(bool, Option<StoredEvent>), StoreError> {
        self.inner.answer(session, turn).await
    }

    async fn cue(&self, id: &CueId) -> Result<Option<Cue>, StoreError> {
        if self.blind.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok() {
            return Err(locked());
        }
        self.inner.cue(id).await
    }

    async fn cues(&self, query: &CueQuery) -> Result<Vec<Cue>, StoreError> {
        self.inner.cues(query).await
    }

    async fn answered_cue(&self, session: &SessionId, key: &str) -> Result<Option<Cue>, StoreError> {
        self.inner.answered_cue(session, key).await
    }

    async fn touch_cues(&self, cues: &[CueId], now: i64) -> Result<(), StoreError> {
        if self.blind.load(Ordering::SeqCst) > 0 {
            return Err(locked());
        }
        self.inner.touch_cues(cues, now).await
    }

    async fn abandon_cues(&self, unseen_since: i64, of_runs: i64) -> Result<Vec<Cue>, StoreError> {
        self.inner.abandon_cues(unseen_since, of_runs).await
    }

    async fn lose_cues(&self, cues: &[CueId], unseen_since: i64) -> Result<Vec<Cue>, StoreError> {
        self.inner.lose_cues(cues, unseen_since).await
    }

    async fn lose_host(&self, id: &str, unseen_since: i64) -> Result<bool, StoreError> {
        self.inner.lose_host(id, unseen_since).await
    }

    async fn put_host(&self, host: &Host) -> Result<(), StoreError> {
        self.inner.put_host(host).await
    }

    async fn touch_host(&self, id: &str, now: i64) -> Result<bool, StoreError> {
        self.inner.touch_host(id, now).await
    }

    async fn hosts(&self) -> Result<Vec<Host>, StoreError> {
        self.inner.hosts().await
    }

    async fn delete_host(&self, id: &str) -> Result<(), StoreError> {
        self.inner.delete_host(id).await
    }

    async fn take_work(&self, host: &str, now: i64) -> Result<Option<Work>, StoreError> {
        self.inner.take_work(host, now).await
    }

    async fn open_runs(&self, host: &str) -> Result<Vec<Work>, StoreError> {
        self.inner.open_runs(host).await
    }

    async fn finish_work(&self, id: &str, outcome: WorkOutcome) -> Result<(), StoreError> {
        self.inner.finish_work(id, outcome).await
    }

    async fn work(&self, id: &str) -> Result<Option<Work>, StoreError> {
        self.inner.work(id).await
    }

    async fn done_work(&self, session: &SessionId, kind: WorkKind) -> Result<Option<Work>, StoreError> {
        self.inner.done_work(session, kind).await
    }

    async fn put_run(&self, run: &RunRecord) -> Result<(), StoreError> {
        if self.away.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok() {
            return Err(away());
        }
        self.inner.put_run(run).await
    }

    async fn touch_run(&self, id: &str, now: i64) -> Result<(), StoreError> {
        self.inner.touch_run(id, now).await
    }

    async fn put_progress(
        &self,
        id: &str,
        progress: &RunProgress,
        now: i64,
    ) -> Result<Option<RunWish>, StoreError> {
        self.inner.put_progress(id, progress, now).await
    }

    async fn run_wish(&self, id: &str) -> Result<Option<RunWish>, StoreError> {
        self.inner.run_wish(id).await
    }

    async fn wish_run(&self, id: &str, wish: Option<RunWish>) -> Result<bool, StoreError> {
        self.inner.wish_run(id, wish).await
    }

    async fn interrupt_runs(&self, unseen_since: i64, now: i64) -> Result<Vec<String>, StoreError> {
        self.inner.interrupt_runs(unseen_since, now).await
    }

    async fn last_seen(&self, id: &str) -> Result<Option<LastSeen>, StoreError> {
        self.inner.last_seen(id).await
    }

    async fn take_run(
        &self,
        id: &str,
        seen: LastSeen,
        about: &RunAbout,
        now: i64,
    ) -> Result<Option<FreeNumbers>, StoreError> {
        self.inner.take_run(id, seen, about, now).await
    }

    async fn drop_cases(&self, run: &str, block: u64, cases: &[u32]) -> Result<(), StoreError> {
        self.inner.drop_cases(run, block, cases).await
    }

    async fn run(&self, id: &str) -> Result<Option<RunRecord>, StoreError> {
        self.inner.run(id).await
    }

    async fn run_frame(&self, id: &str) -> Result<Option<RunRecord>, StoreError> {
        self.inner.run_frame(id).await
    }

    async fn runs(&self, query: &RunQuery) -> Result<Page<RunRecord>, StoreError> {
        self.inner.runs(query).await
    }

    async fn put_block(&self, run: &str, block: &Block) -> Result<(), StoreError> {
        self.inner.put_block(run, block).await
    }

    async fn put_drafts(&self, run: &str, drafts: &[Draft], gone: &[u32]) -> Result<(), StoreError> {
        self.inner.put_drafts(run, drafts, gone).await
    }

    async fn remove_drafts(&self, run: &str) -> Result<(), StoreError> {
        self.inner.remove_drafts(run).await
    }

    async fn case_results(
        &self,
        run: &str,
        after: Option<u64>,
        blocks: u64,
    ) -> Result<Vec<KeptResult>, StoreError> {
        self.inner.case_results(run, after, blocks).await
    }

    async fn block(&self, run: &str, after: Option<u64>) -> Result<Option<Block>, StoreError> {
        self.inner.block(run, after).await
    }

    async fn case_result(&self, run: &str, number: u32) -> Result<Option<KeptResult>, StoreError> {
        self.inner.case_result(run, number).await
    }

    async fn delete_run(&self, id: &str) -> Result<(), StoreError> {
        self.inner.delete_run(id).await
    }

    async fn put_chunk(&self, upload: &str, offset: u64, bytes: Bytes, now: i64) -> Result<(), StoreError> {
        self.inner.put_chunk(upload, offset, bytes, now).await
    }

    async fn upload(&self, upload: &str) -> Result<Option<Vec<u8>>, StoreError> {
        self.inner.upload(upload).await
    }

    async fn delete_upload(&self, upload: &str) -> Result<(), StoreError> {
        self.inner.delete_upload(upload).await
    }

    async fn delete_uploads(&self, before: i64) -> Result<u64, StoreError> {
        self.inner.delete_uploads(before).await
    }

    async fn gc(&self, policy: GcPolicy) -> Result<(u64, u64), StoreError> {
        self.inner.gc(policy).await
    }

    fn changes(&self) -> broadcast::Receiver<Change> {
        self.inner.changes()
    }

    async fn ready(&self) -> Result<(), StoreError> {
        self.inner.ready().await
    }

    fn place(&self) -> String {
        self.inner.place()
    }
}
