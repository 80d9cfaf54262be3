//! The store, whatever database is behind it.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use rehearsal_core::{RunProgress, SessionId, TurnId};
use tokio::sync::broadcast;

use crate::kept::Kept;
#[cfg(feature = "postgres")]
use crate::postgres::Postgres;
use crate::sqlite::{self, Sqlite};
use crate::{
    Block, Change, Cue, CueId, CueQuery, Draft, FreeNumbers, GcPolicy, Host, KeptResult, LastSeen, Page,
    RunAbout, RunQuery, RunRecord, RunWish, SessionQuery, SessionRecord, StoreError, StoredEvent, Work,
    WorkKind, WorkOutcome, Write,
};

/// A store that is shared.
pub type StoreRef = Arc<dyn Store>;

/// Keeps ledgers, cues, hosts and runs. What a call has acknowledged is durable.
#[async_trait]
pub trait Store: Send + Sync + fmt::Debug {
    /// Writes a change of a session: all of it or nothing.
    ///
    /// # Errors
    /// [`Moved`](StoreError::Moved), [`Exists`](StoreError::Exists) (the session, an event id, a cue id),
    /// [`NotFound`](StoreError::NotFound), or a rule of what is kept is broken.
    async fn write(&self, write: Write) -> Result<(), StoreError>;

    /// One session.
    async fn session(&self, id: &SessionId) -> Result<Option<SessionRecord>, StoreError>;

    /// Sessions.
    async fn sessions(&self, query: &SessionQuery) -> Result<Page<SessionRecord>, StoreError>;

    /// Removes a session with its events and cues.
    async fn delete_session(&self, id: &SessionId) -> Result<(), StoreError>;

    /// At most `limit` events of a session after the one with this number, in order.
    async fn events(
        &self,
        session: &SessionId,
        after: u64,
        limit: u32,
    ) -> Result<Vec<StoredEvent>, StoreError>;

    /// The same; of a tool's output that is longer than [`LONG`](crate::LONG) as text, only the beginning.
    async fn glance(
        &self,
        session: &SessionId,
        after: u64,
        limit: u32,
    ) -> Result<Vec<StoredEvent>, StoreError>;

    /// The id of the event with this number, and its line as it is kept.
    async fn line(&self, session: &SessionId, seq: u64) -> Result<Option<(String, String)>, StoreError>;

    /// One event of a session by its id; of a long output, only the beginning.
    async fn event(&self, session: &SessionId, event_id: &str) -> Result<Option<StoredEvent>, StoreError>;

    /// The request of a turn and its response.
    async fn turn(
        &self,
        session: &SessionId,
        turn: &TurnId,
    ) -> Result<(Option<StoredEvent>, Option<StoredEvent>), StoreError>;

    /// Whether a turn was asked, and its response.
    async fn answer(
        &self,
        session: &SessionId,
        turn: &TurnId,
    ) -> Result<(bool, Option<StoredEvent>), StoreError>;

    /// One cue.
    async fn cue(&self, id: &CueId) -> Result<Option<Cue>, StoreError>;

    /// Cues, in the order they are to be answered; those that are abandoned come after the others.
    async fn cues(&self, query: &CueQuery) -> Result<Vec<Cue>, StoreError>;

    /// The last cue of a session that was answered with this idempotency key.
    async fn answered_cue(&self, session: &SessionId, key: &str) -> Result<Option<Cue>, StoreError>;

    /// Says that somebody waits for these cues now. Those that were abandoned are open again.
    async fn touch_cues(&self, cues: &[CueId], now: i64) -> Result<(), StoreError>;

    /// Marks open cues as abandoned for which nobody was seen waiting since this moment, and tells which. Those of runs
    /// have a moment of their own: a run is seen from time to time, not all the time.
    async fn abandon_cues(&self, unseen_since: i64, of_runs: i64) -> Result<Vec<Cue>, StoreError>;

    /// Marks those of these cues as abandoned that are open and for which nobody was seen waiting after this moment, and
    /// tells which.
    async fn lose_cues(&self, cues: &[CueId], unseen_since: i64) -> Result<Vec<Cue>, StoreError>;

    /// Keeps a host and its agents, or its newer self.
    async fn put_host(&self, host: &Host) -> Result<(), StoreError>;

    /// Says that a host is there now; false when it is not known.
    async fn touch_host(&self, id: &str, now: i64) -> Result<bool, StoreError>;

    /// Says that a host is gone, unless it was seen after this moment; whether it was there until now.
    async fn lose_host(&self, id: &str, unseen_since: i64) -> Result<bool, StoreError>;

    /// The hosts.
    async fn hosts(&self) -> Result<Vec<Host>, StoreError>;

    /// Removes a host.
    async fn delete_host(&self, id: &str) -> Result<(), StoreError>;

    /// Takes the oldest piece of work that is for this host and that nobody has taken. Where there is none, a `run` is
    /// given again that was taken a while ago and has left no trace: its reply may have got lost. A host knows by its
    /// id that it has it.
    async fn take_work(&self, host: &str, now: i64) -> Result<Option<Work>, StoreError>;

    /// The work of kind `run` that is for this host and has no outcome, taken or not.
    async fn open_runs(&self, host: &str) -> Result<Vec<Work>, StoreError>;

    /// Says what came of a piece of work.
    async fn finish_work(&self, id: &str, outcome: WorkOutcome) -> Result<(), StoreError>;

    /// One piece of work.
    async fn work(&self, id: &str) -> Result<Option<Work>, StoreError>;

    /// The last piece of work of a kind that was done for a session.
    async fn done_work(&self, session: &SessionId, kind: WorkKind) -> Result<Option<Work>, StoreError>;

    /// Keeps a run, or its newer self.
    async fn put_run(&self, run: &RunRecord) -> Result<(), StoreError>;

    /// Says that the process of a run is there now.
    async fn touch_run(&self, id: &str, now: i64) -> Result<(), StoreError>;

    /// Says how far a run is, and that its process is there now; gives what somebody wants of it.
    async fn put_progress(
        &self,
        id: &str,
        progress: &RunProgress,
        now: i64,
    ) -> Result<Option<RunWish>, StoreError>;

    /// What somebody wants of a run.
    async fn run_wish(&self, id: &str) -> Result<Option<RunWish>, StoreError>;

    /// Wants something of a run, or nothing any more. False when it is not running, or when somebody wants it to stop
    /// already.
    async fn wish_run(&self, id: &str, wish: Option<RunWish>) -> Result<bool, StoreError>;

    /// Marks running runs as interrupted whose processes were not seen since this moment, and tells which. What went on
    /// in them is cancelled.
    async fn interrupt_runs(&self, unseen_since: i64, now: i64) -> Result<Vec<String>, StoreError>;

    /// How a run stands, and when its process was last seen.
    async fn last_seen(&self, id: &str) -> Result<Option<LastSeen>, StoreError>;

    /// Takes over a run that somebody wants to go on with, as long as it is as it was when it was looked at; nothing where
    /// somebody else was first. It runs again from now on. The drafts of its cases are removed, and what was open in
    /// sessions that people played is closed.
    async fn take_run(
        &self,
        id: &str,
        seen: LastSeen,
        about: &RunAbout,
        now: i64,
    ) -> Result<Option<FreeNumbers>, StoreError>;

    /// Removes cases from a block of a run, because they are run again.
    async fn drop_cases(&self, run: &str, block: u64, cases: &[u32]) -> Result<(), StoreError>;

    /// One run.
    async fn run(&self, id: &str) -> Result<Option<RunRecord>, StoreError>;

    /// One run, without what its cases came to: of its result all that stands beside that.
    async fn run_frame(&self, id: &str) -> Result<Option<RunRecord>, StoreError>;

    /// Runs; of their results only the summary.
    async fn runs(&self, query: &RunQuery) -> Result<Page<RunRecord>, StoreError>;

    /// Keeps cases of a run that have ended, in place of their drafts. A block with the same number is replaced.
    async fn put_block(&self, run: &str, block: &Block) -> Result<(), StoreError>;

    /// Keeps what cases of a run that go on have done, and removes the drafts of those that are `gone`.
    async fn put_drafts(&self, run: &str, drafts: &[Draft], gone: &[u32]) -> Result<(), StoreError>;

    /// Removes all drafts of a run.
    async fn remove_drafts(&self, run: &str) -> Result<(), StoreError>;

    /// What the cases in blocks of a run came to, of so many blocks after the one with this number.
    async fn case_results(
        &self,
        run: &str,
        after: Option<u64>,
        blocks: u64,
    ) -> Result<Vec<KeptResult>, StoreError>;

    /// A block of a run with its cases whole: the first after the one with this number.
    async fn block(&self, run: &str, after: Option<u64>) -> Result<Option<Block>, StoreError>;

    /// What the case with this number came to, if it is in a block of the run.
    async fn case_result(&self, run: &str, number: u32) -> Result<Option<KeptResult>, StoreError>;

    /// Removes a run with its sessions.
    async fn delete_run(&self, id: &str) -> Result<(), StoreError>;

    /// Adds a chunk to an upload, which begins with offset 0. A chunk that is there already is taken once.
    async fn put_chunk(&self, upload: &str, offset: u64, bytes: Bytes, now: i64) -> Result<(), StoreError>;

    /// An upload, whole.
    async fn upload(&self, upload: &str) -> Result<Option<Vec<u8>>, StoreError>;

    /// Removes an upload.
    async fn delete_upload(&self, upload: &str) -> Result<(), StoreError>;

    /// Removes uploads that nothing was added to since this moment, and gives their number.
    async fn delete_uploads(&self, before: i64) -> Result<u64, StoreError>;

    /// Removes what is old: runs, sessions, uploads nobody used. Gives the number of runs and of sessions.
    async fn gc(&self, policy: GcPolicy) -> Result<(u64, u64), StoreError>;

    /// Tells what changes, in this process and in others.
    fn changes(&self) -> broadcast::Receiver<Change>;

    /// Whether the store can be used now.
    async fn ready(&self) -> Result<(), StoreError>;

    /// Where it is, for people; without any password.
    fn place(&self) -> String;
}

/// Opens a store: a path of a SQLite file, plain or as [`sqlite://…`](file_of), or an address that begins with
/// `postgres://` or `postgresql://`.
///
/// A file is made with its folder when it is not there. An address may say `sslmode=disable`, `prefer` or `require`
/// (`verify-ca` and `verify-full` mean the same), and `sslrootcert=FILE`; certificates are always checked. When it
/// says nothing, connections to this machine are plain and all others encrypted.
///
/// # Errors
/// It cannot be opened, or a newer version of this program made it.
pub async fn open(place: &str) -> Result<StoreRef, StoreError> {
    if place.starts_with("postgres://") || place.starts_with("postgresql://") {
        #[cfg(feature = "postgres")]
        return Ok(Arc::new(Kept(Postgres::open(place).await?)));
        #[cfg(not(feature = "postgres"))]
        return Err(StoreError::Unavailable {
            place: "in PostgreSQL".to_owned(),
            why: "PostgreSQL is not built in: switch on the feature `postgres`".to_owned(),
        });
    }
    let path = file_of(place).ok_or_else(|| no_place(place))?;
    Ok(Arc::new(Kept(Sqlite::open(Path::new(path), sqlite::Options::default()).await?)))
}

/// The path of a store that is a file: what was written, or what an address with `sqlite://` leads to. Nothing for all
/// other addresses, and for what is no place at all.
///
/// Three slashes begin an absolute path, as in `file:///`, and four do as in `SQLAlchemy`; two begin a relative one. After
/// three, `./…`, `../…` and a bare name are relative as well: `SQLAlchemy` reads them so, and nobody keeps a store in the
/// root folder.
pub fn file_of(place: &str) -> Option<&str> {
    const SCHEME: &str = "sqlite://";
    let path = match place.get(..SCHEME.len()) {
        Some(scheme) if scheme.eq_ignore_ascii_case(SCHEME) => {
            let path = &place[SCHEME.len()..];
            match path.strip_prefix('/') {
                _ if path.contains('?') => return None,
                Some(below) if below.starts_with("./") || below.starts_with("../") => below,
                Some(below) if below.starts_with('/') => below,
                Some(below) if !below.contains('/') => below,
                _ => path,
            }
        }
        _ if is_address(place) => return None,
        _ => place,
    };
    (!path.is_empty() && path != ":memory:").then_some(path)
}

/// Whether the place of a store is meant as an address rather than as the path of a file, though it may be misspelt.
fn is_address(place: &str) -> bool {
    let scheme = place.split_once(':').map_or("", |(scheme, _)| scheme);
    let ours = ["postgres", "postgresql", "sqlite"];
    place.contains("://") || ours.iter().any(|ours| scheme.eq_ignore_ascii_case(ours))
}

/// Refuses what is neither a path nor an address that is known. An address may hold a password, so only what comes
/// before it is shown.
fn no_place(place: &str) -> StoreError {
    let shown = match place.split_once(':') {
        Some((scheme, _)) if is_address(place) => format!("`{scheme}:…`"),
        _ => format!("`{place}`"),
    };
    let why =
        "a store is the path of a file, the same as sqlite:///folder/file or sqlite://file, or an address that begins \
         with postgres:// (two slashes), such as postgres://user:password@host/database"
            .to_owned();
    StoreError::Unavailable { place: shown, why }
}
