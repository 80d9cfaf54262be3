//! Runs.

use rehearsal_core::{RunProgress, SessionId};

use super::cue::dismiss_all;
use super::session::cut_page;
use super::{block, json, page_size, page_token, read_page_token};
use crate::db::{Cell, Db, Op, Row, first};
use crate::word::Word as _;
use crate::{Change, Page, RunAbout, RunLife, RunQuery, RunRecord, RunStatus, RunWish, StoreError};

const PUT: &str = "INSERT INTO runs (id, started_at, ended_at, title, status, result, about, words, seen_at) \
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (id) DO UPDATE SET started_at = excluded.started_at, \
    ended_at = excluded.ended_at, title = excluded.title, status = excluded.status, result = excluded.result, \
    about = excluded.about, words = excluded.words, seen_at = excluded.seen_at, wish = NULL";
/// What is read of a run before its result.
const COLUMNS: &str = "id, started_at, ended_at, title, status, about, seen_at, progress, wish";

#[derive(Debug)]
pub(crate) struct PutRun(pub(crate) RunRecord);

impl Op for PutRun {
    type Output = ();

    async fn run<D: Db>(&self, db: &mut D, told: &mut Vec<Change>) -> Result<(), StoreError> {
        let RunRecord { id, started_at, ended_at, title, status, about, result, life } = &self.0;
        let binds = [
            id.as_str().into(),
            (*started_at).into(),
            (*ended_at).into(),
            title.as_str().into(),
            status.word().into(),
            result.as_ref().map(json).transpose()?.into(),
            json(about)?.into(),
            self.0.words().into(),
            life.seen_at.into(),
        ];
        db.run(PUT, &binds).await?;
        told.push(Change::Run(id.clone()));
        Ok(())
    }
}

/// Says that the process of a run is there now.
#[derive(Debug)]
pub(crate) struct TouchRun {
    pub(crate) id: String,
    pub(crate) now: i64,
}

impl Op for TouchRun {
    type Output = ();

    async fn run<D: Db>(&self, db: &mut D, _: &mut Vec<Change>) -> Result<(), StoreError> {
        let sql = "UPDATE runs SET seen_at = $1 WHERE id = $2 AND status = 'running'";
        db.run(sql, &[self.now.into(), self.id.as_str().into()]).await?;
        Ok(())
    }
}

/// Says how far a run is, and gives what somebody wants of it.
#[derive(Debug)]
pub(crate) struct PutProgress {
    pub(crate) id: String,
    pub(crate) progress: RunProgress,
    pub(crate) now: i64,
}

impl Op for PutProgress {
    type Output = Option<RunWish>;

    async fn run<D: Db>(&self, db: &mut D, told: &mut Vec<Change>) -> Result<Self::Output, StoreError> {
        let sql = "UPDATE runs SET progress = $1, seen_at = $2 WHERE id = $3 AND status = 'running'";
        db.run(sql, &[json(&self.progress)?.into(), self.now.into(), self.id.as_str().into()]).await?;
        told.push(Change::Run(self.id.clone()));
        wish(db, &self.id).await
    }
}

/// What somebody wants of a run.
#[derive(Debug)]
pub(crate) struct FindWish(pub(crate) String);

impl Op for FindWish {
    type Output = Option<RunWish>;

    async fn run<D: Db>(&self, db: &mut D, _: &mut Vec<Change>) -> Result<Self::Output, StoreError> {
        wish(db, &self.0).await
    }
}

async fn wish<D: Db>(db: &mut D, id: &str) -> Result<Option<RunWish>, StoreError> {
    let row = first(db, "SELECT wish FROM runs WHERE id = $1", &[id.into()]).await?;
    let Some(mut row) = row else { return Ok(None) };
    row.text_or_none()?.map(|word| RunWish::read(&word)).transpose()
}

/// Wants something of a run that goes on, or nothing any more; whether that can still be.
#[derive(Debug)]
pub(crate) struct WishRun {
    pub(crate) id: String,
    pub(crate) wish: Option<RunWish>,
}

impl Op for WishRun {
    type Output = bool;

    async fn run<D: Db>(&self, db: &mut D, told: &mut Vec<Change>) -> Result<bool, StoreError> {
        let sql = "UPDATE runs SET wish = $1 WHERE id = $2 AND status = 'running' \
            AND (wish IS NULL OR wish <> 'stop')";
        let word: Option<&str> = self.wish.map(RunWish::word);
        let taken = db.run(sql, &[word.into(), self.id.as_str().into()]).await? > 0;
        if taken {
            told.push(Change::Run(self.id.clone()));
        }
        Ok(taken)
    }
}

const UNSEEN: &str = "SELECT id FROM runs WHERE status = 'running' AND COALESCE(seen_at, started_at) < $1";
const INTERRUPT: &str = "UPDATE runs SET status = 'interrupted', ended_at = COALESCE(seen_at, started_at) \
    WHERE id = $1 AND status = 'running' AND COALESCE(seen_at, started_at) < $2";
const END_SESSIONS: &str = "UPDATE sessions SET status = 'cancelled' WHERE run_id = $1 AND status = 'active' \
    RETURNING id";

/// Ends the runs whose processes have gone without a word, with their sessions and what people are asked in them.
#[derive(Debug)]
pub(crate) struct InterruptRuns {
    pub(crate) unseen_since: i64,
    pub(crate) now: i64,
}

impl Op for InterruptRuns {
    type Output = Vec<String>;

    async fn run<D: Db>(&self, db: &mut D, told: &mut Vec<Change>) -> Result<Vec<String>, StoreError> {
        let mut interrupted = Vec::new();
        for mut row in db.rows(UNSEEN, &[self.unseen_since.into()]).await? {
            let id = row.text()?;
            if db.run(INTERRUPT, &[id.as_str().into(), self.unseen_since.into()]).await? == 0 {
                continue; // it said something just now
            }
            for mut row in db.rows(END_SESSIONS, &[id.as_str().into()]).await? {
                let session = SessionId::new(row.text()?);
                dismiss_all(db, &session, self.now).await?;
                told.push(Change::Session(session));
            }
            told.push(Change::Run(id.clone()));
            interrupted.push(id);
        }
        Ok(interrupted)
    }
}

#[derive(Debug)]
pub(crate) struct FindRun(pub(crate) String);

impl Op for FindRun {
    type Output = Option<RunRecord>;

    async fn run<D: Db>(&self, db: &mut D, _: &mut Vec<Change>) -> Result<Self::Output, StoreError> {
        let Some(mut run) = frame(db, &self.0).await? else { return Ok(None) };
        if let Some(result) = run.result.take() {
            run.result = Some(block::with_cases(db, &self.0, result).await?);
        }
        Ok(Some(run))
    }
}

/// One run, without what those of its cases came to that are kept apart.
#[derive(Debug)]
pub(crate) struct FindFrame(pub(crate) String);

impl Op for FindFrame {
    type Output = Option<RunRecord>;

    async fn run<D: Db>(&self, db: &mut D, _: &mut Vec<Change>) -> Result<Self::Output, StoreError> {
        frame(db, &self.0).await
    }
}

async fn frame<D: Db>(db: &mut D, id: &str) -> Result<Option<RunRecord>, StoreError> {
    let sql = format!("SELECT {COLUMNS}, result FROM runs WHERE id = $1");
    first(db, &sql, &[id.into()]).await?.map(read).transpose()
}

#[derive(Debug)]
pub(crate) struct FindRuns(pub(crate) RunQuery);

impl Op for FindRuns {
    type Output = Page<RunRecord>;

    async fn run<D: Db>(&self, db: &mut D, _: &mut Vec<Change>) -> Result<Self::Output, StoreError> {
        let mut sql = format!("SELECT {COLUMNS}, {} FROM runs", D::RUN_SUMMARY);
        let mut binds: Vec<Cell> = Vec::new();
        if let Some(text) = self.0.search.as_deref().filter(|text| !text.is_empty()) {
            if text.contains(['\0', '\u{1f}']) {
                return Ok(Page { items: Vec::new(), next: None });
            }
            sql = format!("{sql} WHERE {}(words, $1) > 0", D::FIND);
            binds.push(text.to_lowercase().into());
        }
        if let Some(token) = &self.0.page_token {
            let (time, id) = read_page_token(token)?;
            let (word, n) = (if binds.is_empty() { "WHERE" } else { "AND" }, binds.len());
            sql = format!("{sql} {word} (started_at, id) < (${}, ${})", n + 1, n + 2);
            binds.extend([time.into(), id.into()]);
        }
        let limit = page_size(self.0.limit);
        sql += " ORDER BY started_at DESC, id DESC LIMIT ";
        sql += &(limit + 1).to_string();
        let rows = db.rows(&sql, &binds).await?;
        let mut items = rows.into_iter().map(read).collect::<Result<Vec<_>, _>>()?;
        Ok(Page { next: cut_page(&mut items, limit, |last| page_token(last.started_at, &last.id)), items })
    }
}

#[derive(Debug)]
pub(crate) struct DeleteRun(pub(crate) String);

impl Op for DeleteRun {
    type Output = ();

    async fn run<D: Db>(&self, db: &mut D, told: &mut Vec<Change>) -> Result<(), StoreError> {
        if db.run("DELETE FROM runs WHERE id = $1", &[self.0.as_str().into()]).await? == 0 {
            return Err(StoreError::NotFound { what: "run", id: self.0.clone() });
        }
        told.push(Change::Everything);
        Ok(())
    }
}

fn read(mut row: Row) -> Result<RunRecord, StoreError> {
    Ok(RunRecord {
        id: row.text()?,
        started_at: row.int()?,
        ended_at: row.int_or_none()?,
        title: row.text()?,
        status: RunStatus::read(&row.text()?)?,
        about: about(row.json_or_none()?)?,
        life: RunLife {
            seen_at: row.int_or_none()?,
            progress: row.json_or_none()?,
            wish: row.text_or_none()?.map(|word| RunWish::read(&word)).transpose()?,
        },
        result: row.json_or_none()?.map(rehearsal_core::upgraded),
    })
}

/// What is known of a run; nothing of one that was kept before that was.
fn about(kept: Option<serde_json::Value>) -> Result<RunAbout, StoreError> {
    let Some(kept) = kept else { return Ok(RunAbout::default()) };
    serde_json::from_value(kept).map_err(|error| StoreError::Corrupt(error.to_string()))
}
