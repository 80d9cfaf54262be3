//! Cues: opened, waited for, answered, put away.

use std::collections::BTreeSet;

use rehearsal_core::{CallId, SessionId, TurnId};

use super::{json, page_size};
use crate::db::{Cell, Db, DbError, Op, Row, first};
use crate::word::Word;
use crate::{Change, Cue, CueChange, CueId, CueKind, CueQuery, CueStatus, NewCue, StoreError};

const COLUMNS: &str = "c.id, c.session_id, c.position, c.kind, c.agent, c.turn_id, c.call_id, c.prompt, c.status, \
    c.opened_at, c.seen_at, c.answer, c.answer_key, c.answer_event, c.closed_at";

// The writer has the session to itself, so the position cannot be taken in between.
const OPEN: &str = "INSERT INTO cues \
    (id, session_id, position, kind, agent, turn_id, call_id, prompt, opened_at, seen_at) \
    VALUES ($1, $2, (SELECT COALESCE(MAX(position), 0) + 1 FROM cues WHERE session_id = $2), \
    $3, $4, $5, $6, $7, $8, $9)";
const ANSWER: &str = "UPDATE cues SET status = 'answered', answer = $1, answer_key = $2, answer_event = $3, \
    closed_at = $4 WHERE id = $5 AND session_id = $6 AND status IN ('open', 'abandoned')";
const DISMISS: &str = "UPDATE cues SET status = 'dismissed', closed_at = $1 \
    WHERE id = $2 AND session_id = $3 AND status IN ('open', 'abandoned')";
const DISMISS_ALL: &str = "UPDATE cues SET status = 'dismissed', closed_at = $1 \
    WHERE session_id = $2 AND status IN ('open', 'abandoned')";
const SEEN: &str = "UPDATE cues SET seen_at = $1 WHERE id = $2 AND status = 'open' AND seen_at < $3";
const REOPEN: &str = "UPDATE cues SET status = 'open', seen_at = $1 WHERE id = $2 AND status = 'abandoned' \
    RETURNING session_id";

pub(super) async fn make_change<D: Db>(
    db: &mut D,
    session: &SessionId,
    at: i64,
    change: &CueChange,
) -> Result<(), StoreError> {
    match change {
        CueChange::Open(new) => open(db, session, at, new).await,
        CueChange::Answer { cue, answer, key, event } => {
            let binds = [
                json(answer)?.into(),
                key.as_deref().into(),
                event.as_deref().into(),
                at.into(),
                cue.as_str().into(),
                session.as_str().into(),
            ];
            match db.run(ANSWER, &binds).await? {
                0 => Err(not_waiting(db, session, cue).await?),
                _ => Ok(()),
            }
        }
        CueChange::Dismiss { cue } => {
            let binds = [at.into(), cue.as_str().into(), session.as_str().into()];
            match db.run(DISMISS, &binds).await? {
                0 => Err(not_waiting(db, session, cue).await?),
                _ => Ok(()),
            }
        }
        CueChange::DismissAll => dismiss_all(db, session, at).await,
    }
}

pub(super) async fn dismiss_all<D: Db>(db: &mut D, session: &SessionId, at: i64) -> Result<(), StoreError> {
    db.run(DISMISS_ALL, &[at.into(), session.as_str().into()]).await?;
    Ok(())
}

async fn open<D: Db>(db: &mut D, session: &SessionId, at: i64, new: &NewCue) -> Result<(), StoreError> {
    let binds = [
        new.id.as_str().into(),
        session.as_str().into(),
        new.kind.word().into(),
        new.agent.as_str().into(),
        new.turn.as_ref().map(TurnId::as_str).into(),
        new.call.as_ref().map(CallId::as_str).into(),
        json(&new.prompt)?.into(),
        at.into(),
        at.into(),
    ];
    db.run(OPEN, &binds).await.map_err(|error| match error {
        DbError::Rule(rule) if rule == "cues_pkey" => {
            StoreError::Exists { what: "cue", id: new.id.to_string() }
        }
        DbError::Rule(rule) if rule == "cues_after_end" => {
            StoreError::Refused(format!("session `{session}` has ended; nobody is asked anything more"))
        }
        other => other.into(),
    })?;
    Ok(())
}

/// Why a cue could be neither answered nor put away.
async fn not_waiting<D: Db>(db: &mut D, session: &SessionId, cue: &CueId) -> Result<StoreError, StoreError> {
    let sql = "SELECT status FROM cues WHERE id = $1 AND session_id = $2";
    Ok(match first(db, sql, &[cue.as_str().into(), session.as_str().into()]).await? {
        None => StoreError::NotFound { what: "cue", id: cue.to_string() },
        Some(mut row) => StoreError::Refused(format!("cue `{cue}` is {} already", row.text()?)),
    })
}

#[derive(Debug)]
pub(crate) struct FindCue(pub(crate) CueId);

impl Op for FindCue {
    type Output = Option<Cue>;

    async fn run<D: Db>(&self, db: &mut D, _: &mut Vec<Change>) -> Result<Self::Output, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM cues c WHERE c.id = $1");
        first(db, &sql, &[self.0.as_str().into()]).await?.map(read).transpose()
    }
}

#[derive(Debug)]
pub(crate) struct FindCues(pub(crate) CueQuery);

impl Op for FindCues {
    type Output = Vec<Cue>;

    async fn run<D: Db>(&self, db: &mut D, _: &mut Vec<Change>) -> Result<Self::Output, StoreError> {
        let CueQuery { session, statuses, limit } = &self.0;
        let mut sql =
            format!("SELECT {COLUMNS} FROM cues c JOIN sessions s ON s.id = c.session_id WHERE 1 = 1");
        let mut binds: Vec<Cell> = Vec::new();
        if let Some(session) = session {
            sql += " AND c.session_id = $1";
            binds.push(session.as_str().into());
        }
        if !statuses.is_empty() {
            // Words of our own, so they need no parameters.
            let words: Vec<String> = statuses.iter().map(|status| format!("'{}'", status.word())).collect();
            sql.extend([" AND c.status IN (", &words.join(", "), ")"]);
        }
        // However many are abandoned, those that somebody waits for are on the first page.
        sql += " ORDER BY CASE c.status WHEN 'abandoned' THEN 1 ELSE 0 END, s.created_ms, s.id, c.position LIMIT ";
        sql += &page_size(*limit).to_string();
        db.rows(&sql, &binds).await?.into_iter().map(read).collect()
    }
}

/// The last cue of a session that was answered with a key.
#[derive(Debug)]
pub(crate) struct FindAnswered {
    pub(crate) session: SessionId,
    pub(crate) key: String,
}

impl Op for FindAnswered {
    type Output = Option<Cue>;

    async fn run<D: Db>(&self, db: &mut D, _: &mut Vec<Change>) -> Result<Self::Output, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM cues c WHERE c.session_id = $1 AND c.answer_key = $2 \
             ORDER BY c.position DESC LIMIT 1"
        );
        first(db, &sql, &[self.session.as_str().into(), self.key.as_str().into()])
            .await?
            .map(read)
            .transpose()
    }
}

#[derive(Debug)]
pub(crate) struct TouchCues {
    pub(crate) cues: Vec<CueId>,
    pub(crate) now: i64,
}

impl Op for TouchCues {
    type Output = ();

    async fn run<D: Db>(&self, db: &mut D, told: &mut Vec<Change>) -> Result<(), StoreError> {
        // In one order, so that two that touch the same cues never wait for each other.
        let cues: BTreeSet<&CueId> = self.cues.iter().collect();
        for cue in cues {
            if db.run(SEEN, &[self.now.into(), cue.as_str().into(), self.now.into()]).await? > 0 {
                continue;
            }
            for mut row in db.rows(REOPEN, &[self.now.into(), cue.as_str().into()]).await? {
                told.push(Change::Session(SessionId::new(row.text()?)));
            }
        }
        Ok(())
    }
}

#[derive(Debug)]
pub(crate) struct AbandonCues {
    pub(crate) unseen_since: i64,
    pub(crate) of_runs: i64,
}

impl Op for AbandonCues {
    type Output = Vec<Cue>;

    async fn run<D: Db>(&self, db: &mut D, told: &mut Vec<Change>) -> Result<Vec<Cue>, StoreError> {
        let sql = format!(
            "UPDATE cues AS c SET status = 'abandoned' WHERE c.status = 'open' AND c.seen_at < $1 \
             AND (c.seen_at < $2 OR NOT EXISTS (SELECT 1 FROM sessions s WHERE s.id = c.session_id \
             AND s.source = 'run')) RETURNING {}",
            COLUMNS.replace("c.", "")
        );
        let rows = db.rows(&sql, &[self.unseen_since.into(), self.of_runs.into()]).await?;
        let mut cues = rows.into_iter().map(read).collect::<Result<Vec<_>, _>>()?;
        cues.sort_by(|a, b| (&a.session, a.position).cmp(&(&b.session, b.position)));
        let sessions: BTreeSet<&SessionId> = cues.iter().map(|cue| &cue.session).collect();
        told.extend(sessions.into_iter().cloned().map(Change::Session));
        Ok(cues)
    }
}

/// Marks cues as abandoned whose asker's connection has broken.
#[derive(Debug)]
pub(crate) struct LoseCues {
    pub(crate) cues: Vec<CueId>,
    pub(crate) unseen_since: i64,
}

impl Op for LoseCues {
    type Output = Vec<Cue>;

    async fn run<D: Db>(&self, db: &mut D, told: &mut Vec<Change>) -> Result<Vec<Cue>, StoreError> {
        let sql = format!(
            "UPDATE cues AS c SET status = 'abandoned' WHERE c.id = $1 AND c.status = 'open' AND c.seen_at <= $2 \
             RETURNING {}",
            COLUMNS.replace("c.", "")
        );
        let mut lost = Vec::new();
        // In one order, so that two that change the same cues never wait for each other.
        for cue in self.cues.iter().collect::<BTreeSet<&CueId>>() {
            if let Some(row) = first(db, &sql, &[cue.as_str().into(), self.unseen_since.into()]).await? {
                let cue = read(row)?;
                told.push(Change::Session(cue.session.clone()));
                lost.push(cue);
            }
        }
        Ok(lost)
    }
}

fn read(mut row: Row) -> Result<Cue, StoreError> {
    Ok(Cue {
        id: CueId::new(row.text()?),
        session: SessionId::new(row.text()?),
        position: row.count()?,
        kind: CueKind::read(&row.text()?)?,
        agent: row.text()?,
        turn: row.text_or_none()?.map(TurnId::new),
        call: row.text_or_none()?.map(CallId::new),
        prompt: row.json()?,
        status: CueStatus::read(&row.text()?)?,
        opened_at: row.int()?,
        seen_at: row.int()?,
        answer: row.json_or_none()?,
        answer_key: row.text_or_none()?,
        answer_event: row.text_or_none()?,
        closed_at: row.int_or_none()?,
    })
}
