//! What is old, found and removed.

use crate::db::{Cell, Db, Op, first};
use crate::{Change, GcPolicy, StoreError};

/// Runs that are old. One that has not ended, or in which something still goes on or waits, is never old.
fn runs(unfinished: bool) -> String {
    let goes_on = if unfinished {
        "(s.updated_at >= $1 AND s.status = 'active') OR EXISTS \
        (SELECT 1 FROM cues c WHERE c.session_id = s.id AND c.status = 'open')"
    } else {
        "s.status = 'active' OR EXISTS \
        (SELECT 1 FROM cues c WHERE c.session_id = s.id AND c.status IN ('open', 'abandoned'))"
    };
    format!(
        "SELECT r.id, (SELECT COUNT(*) FROM sessions WHERE run_id = r.id) + (SELECT CAST(COALESCE(SUM(b.sessions), 0) \
        AS BIGINT) FROM blocks b WHERE b.run_id = r.id) FROM runs r \
        WHERE r.ended_at IS NOT NULL AND (r.ended_at < $1 OR r.id IN \
        (SELECT id FROM runs ORDER BY started_at DESC, id DESC LIMIT 1000000000 OFFSET $2)) \
        AND NOT EXISTS (SELECT 1 FROM sessions s WHERE s.run_id = r.id AND ({goes_on}))"
    )
}

const SESSIONS_OF: &str = "SELECT (SELECT COUNT(*) FROM sessions WHERE run_id = r.id) + \
    (SELECT CAST(COALESCE(SUM(b.sessions), 0) AS BIGINT) FROM blocks b WHERE b.run_id = r.id) \
    FROM runs r WHERE r.id = $1";

/// Sessions that are old and belong to no run.
const SESSIONS: &str = "SELECT s.id FROM sessions s WHERE s.run_id IS NULL AND s.status <> 'active' \
    AND (s.updated_at < $1 OR s.id IN (SELECT id FROM sessions WHERE run_id IS NULL AND status <> 'active' \
    ORDER BY created_ms DESC, id DESC LIMIT 1000000000 OFFSET $2)) \
    AND NOT EXISTS (SELECT 1 FROM cues c WHERE c.session_id = s.id AND c.status IN ('open', 'abandoned'))";

/// Sessions that never came to an end, and in which nothing has happened for long.
const UNFINISHED: &str = "SELECT s.id FROM sessions s WHERE s.run_id IS NULL AND s.status = 'active' \
    AND s.updated_at < $1 \
    AND NOT EXISTS (SELECT 1 FROM cues c WHERE c.session_id = s.id AND c.status = 'open')";

const REMOVE_RUN: &str = "DELETE FROM runs WHERE id = $1 AND NOT EXISTS \
    (SELECT 1 FROM sessions s WHERE s.run_id = runs.id AND s.status = 'active' AND s.updated_at >= $2)";
const REMOVE_SESSION: &str = "DELETE FROM sessions WHERE id = $1 AND run_id IS NULL \
    AND (status <> 'active' OR updated_at < $2)";

/// What is old.
#[derive(Debug, Default)]
pub(crate) struct Old {
    /// Runs, each with the number of its sessions.
    pub(crate) runs: Vec<(String, u64)>,
    /// Sessions that belong to no run.
    pub(crate) sessions: Vec<String>,
    /// Uploads nobody used.
    pub(crate) uploads: Vec<String>,
    /// What is active goes only if nothing happened in it since then.
    pub(crate) unfinished_before: Option<i64>,
}

impl Old {
    /// The number of runs and of sessions.
    pub(crate) fn counts(&self) -> (u64, u64) {
        let of_runs: u64 = self.runs.iter().map(|(_, sessions)| sessions).sum();
        (self.runs.len() as u64, of_runs + self.sessions.len() as u64)
    }

    /// The same in pieces that are removed one after the other, so that others can write in between.
    pub(crate) fn pieces(&self) -> Vec<Self> {
        const PIECE: usize = 20;
        let piece = || Self { unfinished_before: self.unfinished_before, ..Self::default() };
        let runs = self.runs.chunks(PIECE).map(|runs| Self { runs: runs.to_vec(), ..piece() });
        let sessions = self.sessions.chunks(PIECE).map(|ids| Self { sessions: ids.to_vec(), ..piece() });
        let uploads = self.uploads.chunks(PIECE).map(|ids| Self { uploads: ids.to_vec(), ..piece() });
        runs.chain(sessions).chain(uploads).collect()
    }
}

#[derive(Debug)]
pub(crate) struct FindOld(pub(crate) GcPolicy);

impl Op for FindOld {
    type Output = Old;

    async fn run<D: Db>(&self, db: &mut D, _: &mut Vec<Change>) -> Result<Old, StoreError> {
        let before = self.0.before.unwrap_or(i64::MIN);
        let keep = self.0.keep.map_or(i64::from(u32::MAX), i64::from);
        let which: [Cell; 2] = [before.into(), keep.into()];
        let unfinished_before = self.0.before.filter(|_| self.0.unfinished);
        let mut old = Old { unfinished_before, ..Old::default() };
        for mut row in db.rows(&runs(unfinished_before.is_some()), &which).await? {
            old.runs.push((row.text()?, row.count()?));
        }
        for mut row in db.rows(SESSIONS, &which).await? {
            old.sessions.push(row.text()?);
        }
        if let Some(before) = unfinished_before {
            for mut row in db.rows(UNFINISHED, &[before.into()]).await? {
                old.sessions.push(row.text()?);
            }
        }
        for mut row in db.rows("SELECT id FROM uploads WHERE updated_at < $1", &[before.into()]).await? {
            old.uploads.push(row.text()?);
        }
        Ok(old)
    }
}

/// Removes what was found, unless it has become active since.
#[derive(Debug)]
pub(crate) struct RemoveOld(pub(crate) Old);

impl Op for RemoveOld {
    type Output = (u64, u64);

    async fn run<D: Db>(&self, db: &mut D, told: &mut Vec<Change>) -> Result<(u64, u64), StoreError> {
        let (mut runs, mut sessions) = (0, 0);
        let before = self.0.unfinished_before.unwrap_or(i64::MIN);
        for (id, _) in &self.0.runs {
            let id: [Cell; 1] = [id.as_str().into()];
            let of_run = first(db, SESSIONS_OF, &id).await?;
            let of_run = of_run.map_or(Ok(0), |mut row| row.count())?;
            if db.run(REMOVE_RUN, &[id[0].clone(), before.into()]).await? > 0 {
                runs += 1;
                sessions += of_run;
            }
        }
        for id in &self.0.sessions {
            sessions += db.run(REMOVE_SESSION, &[id.as_str().into(), before.into()]).await?;
        }
        for id in &self.0.uploads {
            db.run("DELETE FROM uploads WHERE id = $1", &[id.as_str().into()]).await?;
        }
        told.push(Change::Everything);
        Ok((runs, sessions))
    }
}
