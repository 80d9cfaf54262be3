//! The implementation of [`Store`](crate::Store), written once for every database engine.

use async_trait::async_trait;
use bytes::Bytes;
use rehearsal_core::{RunProgress, SessionId, TurnId};
use tokio::sync::broadcast;

use crate::db::Engine;
use crate::ops::{
    AbandonCues, DeleteHost, DeleteRun, DeleteSession, DeleteUpload, DeleteUploads, DropCases, FindAnswer,
    FindAnswered, FindBlock, FindCue, FindCues, FindDoneWork, FindEvent, FindEvents, FindFrame, FindHosts,
    FindLastSeen, FindLine, FindOld, FindOpenRuns, FindResult, FindResults, FindRun, FindRuns, FindSession,
    FindSessions, FindTurn, FindUpload, FindWish, FindWork, FinishWork, GlanceEvents, HasWork, InterruptRuns,
    LoseCues, LoseHost, PutBlock, PutChunk, PutDrafts, PutHost, PutProgress, PutRun, Ready, RemoveContents,
    RemoveDrafts, RemoveOld, TakeRun, TakeWork, TouchCues, TouchHost, TouchRun, WishRun, WriteSession,
};
use crate::{
    Block, Change, Cue, CueId, CueQuery, Draft, FreeNumbers, GcPolicy, Host, KeptResult, LastSeen, Page,
    RunAbout, RunQuery, RunRecord, RunWish, SessionQuery, SessionRecord, Store, StoreError, StoredEvent,
    Work, WorkKind, WorkOutcome, Write,
};

/// A store on an engine.
#[derive(Debug)]
pub(crate) struct Kept<E>(pub(crate) E);

#[async_trait]
impl<E: Engine> Store for Kept<E> {
    async fn write(&self, write: Write) -> Result<(), StoreError> {
        self.0.change(WriteSession::new(write)?).await
    }

    async fn session(&self, id: &SessionId) -> Result<Option<SessionRecord>, StoreError> {
        self.0.look(FindSession(id.clone())).await
    }

    async fn sessions(&self, query: &SessionQuery) -> Result<Page<SessionRecord>, StoreError> {
        self.0.look(FindSessions(query.clone())).await
    }

    async fn delete_session(&self, id: &SessionId) -> Result<(), StoreError> {
        self.0.change(DeleteSession(id.clone())).await
    }

    async fn events(
        &self,
        session: &SessionId,
        after: u64,
        limit: u32,
    ) -> Result<Vec<StoredEvent>, StoreError> {
        self.0.look(FindEvents { session: session.clone(), after, limit }).await
    }

    async fn glance(
        &self,
        session: &SessionId,
        after: u64,
        limit: u32,
    ) -> Result<Vec<StoredEvent>, StoreError> {
        self.0.look(GlanceEvents(FindEvents { session: session.clone(), after, limit })).await
    }

    async fn line(&self, session: &SessionId, seq: u64) -> Result<Option<(String, String)>, StoreError> {
        self.0.look(FindLine { session: session.clone(), seq }).await
    }

    async fn event(&self, session: &SessionId, event_id: &str) -> Result<Option<StoredEvent>, StoreError> {
        self.0.look(FindEvent { session: session.clone(), event_id: event_id.to_owned() }).await
    }

    async fn turn(
        &self,
        session: &SessionId,
        turn: &TurnId,
    ) -> Result<(Option<StoredEvent>, Option<StoredEvent>), StoreError> {
        self.0.look(FindTurn { session: session.clone(), turn: turn.clone() }).await
    }

    async fn answer(
        &self,
        session: &SessionId,
        turn: &TurnId,
    ) -> Result<(bool, Option<StoredEvent>), StoreError> {
        self.0.look(FindAnswer(FindTurn { session: session.clone(), turn: turn.clone() })).await
    }

    async fn cue(&self, id: &CueId) -> Result<Option<Cue>, StoreError> {
        self.0.look(FindCue(id.clone())).await
    }

    async fn cues(&self, query: &CueQuery) -> Result<Vec<Cue>, StoreError> {
        self.0.look(FindCues(query.clone())).await
    }

    async fn answered_cue(&self, session: &SessionId, key: &str) -> Result<Option<Cue>, StoreError> {
        self.0.look(FindAnswered { session: session.clone(), key: key.to_owned() }).await
    }

    async fn touch_cues(&self, cues: &[CueId], now: i64) -> Result<(), StoreError> {
        if cues.is_empty() {
            return Ok(());
        }
        self.0.change(TouchCues { cues: cues.to_vec(), now }).await
    }

    async fn abandon_cues(&self, unseen_since: i64, of_runs: i64) -> Result<Vec<Cue>, StoreError> {
        self.0.change(AbandonCues { unseen_since, of_runs }).await
    }

    async fn lose_cues(&self, cues: &[CueId], unseen_since: i64) -> Result<Vec<Cue>, StoreError> {
        if cues.is_empty() {
            return Ok(Vec::new());
        }
        self.0.change(LoseCues { cues: cues.to_vec(), unseen_since }).await
    }

    async fn put_host(&self, host: &Host) -> Result<(), StoreError> {
        self.0.change(PutHost(host.clone())).await
    }

    async fn touch_host(&self, id: &str, now: i64) -> Result<bool, StoreError> {
        self.0.change(TouchHost { id: id.to_owned(), now }).await
    }

    async fn lose_host(&self, id: &str, unseen_since: i64) -> Result<bool, StoreError> {
        self.0.change(LoseHost { id: id.to_owned(), unseen_since }).await
    }

    async fn hosts(&self) -> Result<Vec<Host>, StoreError> {
        self.0.look(FindHosts).await
    }

    async fn delete_host(&self, id: &str) -> Result<(), StoreError> {
        self.0.change(DeleteHost(id.to_owned())).await
    }

    async fn take_work(&self, host: &str, now: i64) -> Result<Option<Work>, StoreError> {
        if !self.0.look(HasWork { host: host.to_owned(), now }).await? {
            return Ok(None);
        }
        self.0.change(TakeWork { host: host.to_owned(), now }).await
    }

    async fn open_runs(&self, host: &str) -> Result<Vec<Work>, StoreError> {
        self.0.look(FindOpenRuns(host.to_owned())).await
    }

    async fn finish_work(&self, id: &str, outcome: WorkOutcome) -> Result<(), StoreError> {
        self.0.change(FinishWork { id: id.to_owned(), outcome }).await
    }

    async fn work(&self, id: &str) -> Result<Option<Work>, StoreError> {
        self.0.look(FindWork(id.to_owned())).await
    }

    async fn done_work(&self, session: &SessionId, kind: WorkKind) -> Result<Option<Work>, StoreError> {
        self.0.look(FindDoneWork { session: session.clone(), kind }).await
    }

    async fn put_run(&self, run: &RunRecord) -> Result<(), StoreError> {
        self.0.change(PutRun(run.clone())).await
    }

    async fn touch_run(&self, id: &str, now: i64) -> Result<(), StoreError> {
        self.0.change(TouchRun { id: id.to_owned(), now }).await
    }

    async fn put_progress(
        &self,
        id: &str,
        progress: &RunProgress,
        now: i64,
    ) -> Result<Option<RunWish>, StoreError> {
        self.0.change(PutProgress { id: id.to_owned(), progress: progress.clone(), now }).await
    }

    async fn run_wish(&self, id: &str) -> Result<Option<RunWish>, StoreError> {
        self.0.look(FindWish(id.to_owned())).await
    }

    async fn wish_run(&self, id: &str, wish: Option<RunWish>) -> Result<bool, StoreError> {
        self.0.change(WishRun { id: id.to_owned(), wish }).await
    }

    async fn interrupt_runs(&self, unseen_since: i64, now: i64) -> Result<Vec<String>, StoreError> {
        self.0.change(InterruptRuns { unseen_since, now }).await
    }

    async fn last_seen(&self, id: &str) -> Result<Option<LastSeen>, StoreError> {
        self.0.look(FindLastSeen(id.to_owned())).await
    }

    async fn take_run(
        &self,
        id: &str,
        seen: LastSeen,
        about: &RunAbout,
        now: i64,
    ) -> Result<Option<FreeNumbers>, StoreError> {
        self.0.change(TakeRun { id: id.to_owned(), seen, about: about.clone(), now }).await
    }

    async fn drop_cases(&self, run: &str, block: u64, cases: &[u32]) -> Result<(), StoreError> {
        self.0.change(DropCases { run: run.to_owned(), block, cases: cases.to_vec() }).await
    }

    async fn run(&self, id: &str) -> Result<Option<RunRecord>, StoreError> {
        self.0.look(FindRun(id.to_owned())).await
    }

    async fn run_frame(&self, id: &str) -> Result<Option<RunRecord>, StoreError> {
        self.0.look(FindFrame(id.to_owned())).await
    }

    async fn runs(&self, query: &RunQuery) -> Result<Page<RunRecord>, StoreError> {
        self.0.look(FindRuns(query.clone())).await
    }

    async fn put_block(&self, run: &str, block: &Block) -> Result<(), StoreError> {
        self.0.change(PutBlock::new(run, block)?).await
    }

    async fn put_drafts(&self, run: &str, drafts: &[Draft], gone: &[u32]) -> Result<(), StoreError> {
        self.0.change(PutDrafts::new(run, drafts, gone)?).await
    }

    async fn remove_drafts(&self, run: &str) -> Result<(), StoreError> {
        self.0.change(RemoveDrafts(run.to_owned())).await
    }

    async fn case_results(
        &self,
        run: &str,
        after: Option<u64>,
        blocks: u64,
    ) -> Result<Vec<KeptResult>, StoreError> {
        self.0.look(FindResults { run: run.to_owned(), after, blocks }).await
    }

    async fn block(&self, run: &str, after: Option<u64>) -> Result<Option<Block>, StoreError> {
        self.0.look(FindBlock { run: run.to_owned(), after }).await
    }

    async fn case_result(&self, run: &str, number: u32) -> Result<Option<KeptResult>, StoreError> {
        self.0.look(FindResult { run: run.to_owned(), number }).await
    }

    async fn delete_run(&self, id: &str) -> Result<(), StoreError> {
        self.0.change(DeleteRun(id.to_owned())).await
    }

    async fn put_chunk(&self, upload: &str, offset: u64, bytes: Bytes, now: i64) -> Result<(), StoreError> {
        self.0.change(PutChunk { upload: upload.to_owned(), offset, bytes, now }).await
    }

    async fn upload(&self, upload: &str) -> Result<Option<Vec<u8>>, StoreError> {
        self.0.look(FindUpload(upload.to_owned())).await
    }

    async fn delete_upload(&self, upload: &str) -> Result<(), StoreError> {
        self.0.change(DeleteUpload(upload.to_owned())).await
    }

    async fn delete_uploads(&self, before: i64) -> Result<u64, StoreError> {
        self.0.change(DeleteUploads { before }).await
    }

    async fn gc(&self, policy: GcPolicy) -> Result<(u64, u64), StoreError> {
        let old = self.0.look(FindOld(policy)).await?;
        if policy.dry_run {
            return Ok(old.counts());
        }
        let (mut runs, mut sessions) = (0, 0);
        for piece in old.pieces() {
            let removed = self.0.change(RemoveOld(piece)).await?;
            runs += removed.0;
            sessions += removed.1;
        }
        self.0.change(RemoveContents).await?;
        Ok((runs, sessions))
    }

    fn changes(&self) -> broadcast::Receiver<Change> {
        self.0.changes()
    }

    async fn ready(&self) -> Result<(), StoreError> {
        self.0.look(Ready).await
    }

    fn place(&self) -> String {
        self.0.place()
    }
}
