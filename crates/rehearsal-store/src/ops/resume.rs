//! Going on with runs whose processes have gone.

use rehearsal_core::SessionId;

use super::cue::dismiss_all;
use super::json;
use crate::block;
use crate::db::{Db, Op, first};
use crate::word::Word as _;
use crate::{Change, RunAbout, RunStatus, StoreError};

/// How a run stands, and when its process was last seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastSeen {
    /// How it stands.
    pub status: RunStatus,
    /// When its process was last seen, in milliseconds since 1970.
    pub seen_at: i64,
}

/// Numbers that nothing of a run has had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FreeNumbers {
    /// For the next case.
    pub case: u32,
    /// For the next block.
    pub block: u64,
}

/// Looks when the process of a run was last seen.
#[derive(Debug)]
pub(crate) struct FindLastSeen(pub(crate) String);

impl Op for FindLastSeen {
    type Output = Option<LastSeen>;

    async fn run<D: Db>(&self, db: &mut D, _: &mut Vec<Change>) -> Result<Self::Output, StoreError> {
        let sql = "SELECT status, COALESCE(seen_at, started_at) FROM runs WHERE id = $1";
        let Some(mut row) = first(db, sql, &[self.0.as_str().into()]).await? else { return Ok(None) };
        Ok(Some(LastSeen { status: RunStatus::read(&row.text()?)?, seen_at: row.int()? }))
    }
}

const TAKE: &str = "UPDATE runs SET status = 'running', ended_at = NULL, result = NULL, about = $1, seen_at = $2, \
    wish = NULL WHERE id = $3 AND status = $4 AND COALESCE(seen_at, started_at) = $5";
const END_SESSIONS: &str = "UPDATE sessions SET status = 'cancelled' WHERE run_id = $1 AND status = 'active' \
    RETURNING id";

/// Takes a run over, unless it has changed since it was looked at. What its cases did that came to no end is put away.
#[derive(Debug)]
pub(crate) struct TakeRun {
    pub(crate) id: String,
    pub(crate) seen: LastSeen,
    pub(crate) about: RunAbout,
    pub(crate) now: i64,
}

impl Op for TakeRun {
    type Output = Option<FreeNumbers>;

    async fn run<D: Db>(&self, db: &mut D, told: &mut Vec<Change>) -> Result<Self::Output, StoreError> {
        let id = self.id.as_str();
        // Whoever looks at the same moment sees that it has changed.
        let seen_at = self.now.max(self.seen.seen_at + 1);
        let binds = [
            json(&self.about)?.into(),
            seen_at.into(),
            id.into(),
            self.seen.status.word().into(),
            self.seen.seen_at.into(),
        ];
        if db.run(TAKE, &binds).await? == 0 {
            return Ok(None);
        }
        let free = free_numbers(db, id).await?;
        db.run("DELETE FROM drafts WHERE run_id = $1", &[id.into()]).await?;
        for mut row in db.rows(END_SESSIONS, &[id.into()]).await? {
            let session = SessionId::new(row.text()?);
            dismiss_all(db, &session, self.now).await?;
            told.push(Change::Session(session));
        }
        told.push(Change::Everything);
        Ok(Some(free))
    }
}

/// Sessions that people play have rows, and numbers like those of blocks and drafts.
async fn free_numbers<D: Db>(db: &mut D, run: &str) -> Result<FreeNumbers, StoreError> {
    const LAST: &str = "SELECT COALESCE(MAX(last_case), -1), COALESCE(MAX(number), -1), \
        (SELECT COALESCE(MAX(case_number), -1) FROM drafts WHERE run_id = $1) FROM blocks WHERE run_id = $2";
    let (mut case, mut number) = (-1, -1);
    if let Some(mut row) = first(db, LAST, &[run.into(), run.into()]).await? {
        (case, number) = (row.int()?, row.int()?);
        case = case.max(row.int()?);
    }
    for mut row in db.rows("SELECT id FROM sessions WHERE run_id = $1", &[run.into()]).await? {
        let session = SessionId::new(row.text()?);
        let is_of_family = block::family(&session) == run.get(8..);
        if let Some((number, _)) = block::number_of(&session).filter(|_| is_of_family) {
            case = case.max(i64::from(number));
        }
    }
    let odd = |_| StoreError::Refused(format!("run `{run}` has no numbers left for cases"));
    Ok(FreeNumbers {
        case: u32::try_from(case + 1).map_err(odd)?,
        block: u64::try_from(number + 1).map_err(odd)?,
    })
}
