//! Hosts and what they are to do.

use rehearsal_core::SessionId;

use super::json;
use crate::db::{Db, Op, Row, first};
use crate::word::Word as _;
use crate::{Change, Host, StoreError, Work, WorkKind, WorkOutcome};

const PUT_HOST: &str = "INSERT INTO hosts (id, name, agents, seen_at) VALUES ($1, $2, $3, $4) \
    ON CONFLICT (id) DO UPDATE SET name = excluded.name, agents = excluded.agents, seen_at = excluded.seen_at";
/// A `run` whose reply got lost looks like this for so long: it was taken, and nothing came of it, not even an event.
/// One that takes longer to begin is given again too; its host knows it by its id.
const LOST: i64 = 15_000;
/// A `run` that was taken before `$1` and has left no trace: the message is still the session's last event.
const LEFT_NO_TRACE: &str = "taken = 1 AND outcome IS NULL AND kind = 'run' AND taken_at < $1 AND host_id = $2 \
    AND EXISTS (SELECT 1 FROM sessions s JOIN events e ON e.session_id = s.id AND e.seq = s.last_seq \
    WHERE s.id = work.session_id AND s.status = 'active' AND e.kind = 'user_message')";
const WORK: &str = "id, host_id, session_id, kind, payload, taken, outcome, created_at";

#[derive(Debug)]
pub(crate) struct PutHost(pub(crate) Host);

impl Op for PutHost {
    type Output = ();

    async fn run<D: Db>(&self, db: &mut D, told: &mut Vec<Change>) -> Result<(), StoreError> {
        let Host { id, name, agents, seen_at } = &self.0;
        let binds = [id.as_str().into(), name.as_str().into(), json(agents)?.into(), (*seen_at).into()];
        let known = first(db, "SELECT seen_at FROM hosts WHERE id = $1", &[id.as_str().into()]).await?;
        let was_alive = match known {
            Some(mut row) => seen_at.saturating_sub(row.int()?) < Host::ALIVE_MS,
            None => false,
        };
        db.run(PUT_HOST, &binds).await?;
        told.push(Change::Work(id.clone()));
        if !was_alive {
            tell_sessions(db, id, told).await?;
        }
        Ok(())
    }
}

/// Says that a host is there now, and whether it is known at all.
#[derive(Debug)]
pub(crate) struct TouchHost {
    pub(crate) id: String,
    pub(crate) now: i64,
}

impl Op for TouchHost {
    type Output = bool;

    async fn run<D: Db>(&self, db: &mut D, told: &mut Vec<Change>) -> Result<bool, StoreError> {
        let Self { id, now } = self;
        let alive = now.saturating_sub(Host::ALIVE_MS);
        let sql = "UPDATE hosts SET seen_at = $1 WHERE id = $2 AND seen_at > $3";
        if db.run(sql, &[(*now).into(), id.as_str().into(), alive.into()]).await? > 0 {
            return Ok(true);
        }
        let sql = "UPDATE hosts SET seen_at = $1 WHERE id = $2";
        let is_known = db.run(sql, &[(*now).into(), id.as_str().into()]).await? > 0;
        if is_known {
            tell_sessions(db, id, told).await?;
        }
        Ok(is_known)
    }
}

/// Says that a host is gone: it counts as one that was not seen for so long that it is not there.
#[derive(Debug)]
pub(crate) struct LoseHost {
    pub(crate) id: String,
    pub(crate) unseen_since: i64,
}

impl Op for LoseHost {
    type Output = bool;

    async fn run<D: Db>(&self, db: &mut D, told: &mut Vec<Change>) -> Result<bool, StoreError> {
        let Self { id, unseen_since } = self;
        let gone = unseen_since.saturating_sub(Host::ALIVE_MS);
        let sql = "UPDATE hosts SET seen_at = $1 WHERE id = $2 AND seen_at <= $3 AND seen_at > $1";
        if db.run(sql, &[gone.into(), id.as_str().into(), (*unseen_since).into()]).await? == 0 {
            return Ok(false);
        }
        tell_sessions(db, id, told).await?;
        Ok(true)
    }
}

/// Whoever looks at a session that this host plays is told that the host has gone or come.
async fn tell_sessions<D: Db>(db: &mut D, host: &str, told: &mut Vec<Change>) -> Result<(), StoreError> {
    let sql = "SELECT id FROM sessions WHERE status <> 'cancelled' AND meta LIKE $1";
    for mut row in db.rows(sql, &[format!("%{host}%").into()]).await? {
        told.push(Change::Session(SessionId::new(row.text()?)));
    }
    Ok(())
}

#[derive(Debug)]
pub(crate) struct FindHosts;

impl Op for FindHosts {
    type Output = Vec<Host>;

    async fn run<D: Db>(&self, db: &mut D, _: &mut Vec<Change>) -> Result<Vec<Host>, StoreError> {
        let rows = db.rows("SELECT id, name, agents, seen_at FROM hosts ORDER BY name, id", &[]).await?;
        let host = |mut row: Row| {
            Ok(Host { id: row.text()?, name: row.text()?, agents: row.json()?, seen_at: row.int()? })
        };
        rows.into_iter().map(host).collect()
    }
}

/// Removes a host. What it has not done will not be done by it, and whoever waits for that is told so.
#[derive(Debug)]
pub(crate) struct DeleteHost(pub(crate) String);

impl Op for DeleteHost {
    type Output = ();

    async fn run<D: Db>(&self, db: &mut D, told: &mut Vec<Change>) -> Result<(), StoreError> {
        let host = &self.0;
        if db.run("DELETE FROM hosts WHERE id = $1", &[host.as_str().into()]).await? == 0 {
            return Err(StoreError::NotFound { what: "host", id: host.clone() });
        }
        let gone = json(&WorkOutcome::Failed(format!("host `{host}` went away before it was done")))?;
        let sql = "UPDATE work SET outcome = $1 WHERE host_id = $2 AND outcome IS NULL";
        db.run(sql, &[gone.into(), host.as_str().into()]).await?;
        told.push(Change::Work(host.clone()));
        Ok(())
    }
}

/// Whether there is work for a host. Hosts ask often and there seldom is, so this is asked first: it needs no writer.
#[derive(Debug)]
pub(crate) struct HasWork {
    pub(crate) host: String,
    pub(crate) now: i64,
}

impl Op for HasWork {
    type Output = bool;

    async fn run<D: Db>(&self, db: &mut D, _: &mut Vec<Change>) -> Result<bool, StoreError> {
        let sql = "SELECT id FROM work WHERE host_id = $1 AND taken = 0 AND outcome IS NULL LIMIT 1";
        if first(db, sql, &[self.host.as_str().into()]).await?.is_some() {
            return Ok(true);
        }
        let sql = format!("SELECT id FROM work WHERE {LEFT_NO_TRACE} LIMIT 1");
        let binds = [self.now.saturating_sub(LOST).into(), self.host.as_str().into()];
        Ok(first(db, &sql, &binds).await?.is_some())
    }
}

/// Takes what nobody has taken, or else what was taken and whose reply got lost.
#[derive(Debug)]
pub(crate) struct TakeWork {
    pub(crate) host: String,
    pub(crate) now: i64,
}

impl Op for TakeWork {
    type Output = Option<Work>;

    async fn run<D: Db>(&self, db: &mut D, _: &mut Vec<Change>) -> Result<Option<Work>, StoreError> {
        let Self { host, now } = self;
        let oldest = D::OLDEST_WORK;
        let sql =
            format!("UPDATE work SET taken = 1, taken_at = $1 WHERE number = ({oldest}) RETURNING {WORK}");
        if let Some(row) = first(db, &sql, &[(*now).into(), host.as_str().into()]).await? {
            return read(row).map(Some);
        }
        let lost = format!("SELECT number FROM work WHERE {LEFT_NO_TRACE} ORDER BY number LIMIT 1");
        let before = now.saturating_sub(LOST);
        let Some(mut row) = first(db, &lost, &[before.into(), host.as_str().into()]).await? else {
            return Ok(None);
        };
        // Two that ask at the same moment do not both get it.
        let again = format!(
            "UPDATE work SET taken_at = $1 WHERE number = $2 AND taken_at < $3 AND outcome IS NULL RETURNING {WORK}"
        );
        first(db, &again, &[(*now).into(), row.int()?.into(), before.into()]).await?.map(read).transpose()
    }
}

/// The runs that a host was given and that have not come to an end.
#[derive(Debug)]
pub(crate) struct FindOpenRuns(pub(crate) String);

impl Op for FindOpenRuns {
    type Output = Vec<Work>;

    async fn run<D: Db>(&self, db: &mut D, _: &mut Vec<Change>) -> Result<Vec<Work>, StoreError> {
        let sql = format!(
            "SELECT {WORK} FROM work WHERE host_id = $1 AND outcome IS NULL AND kind = 'run' ORDER BY number"
        );
        db.rows(&sql, &[self.0.as_str().into()]).await?.into_iter().map(read).collect()
    }
}

#[derive(Debug)]
pub(crate) struct FinishWork {
    pub(crate) id: String,
    pub(crate) outcome: WorkOutcome,
}

impl Op for FinishWork {
    type Output = ();

    async fn run<D: Db>(&self, db: &mut D, told: &mut Vec<Change>) -> Result<(), StoreError> {
        let Self { id, outcome } = self;
        let sql = "UPDATE work SET outcome = $1, taken = 1 WHERE id = $2 AND outcome IS NULL \
            RETURNING host_id, session_id";
        if let Some(mut row) = first(db, sql, &[json(outcome)?.into(), id.as_str().into()]).await? {
            told.push(Change::Work(row.text()?));
            told.push(Change::Session(SessionId::new(row.text()?)));
            return Ok(());
        }
        let mut nothing = Vec::new();
        match FindWork(id.clone()).run(db, &mut nothing).await? {
            None => Err(StoreError::NotFound { what: "piece of work", id: id.clone() }),
            Some(work) if work.outcome.as_ref() == Some(outcome) => Ok(()),
            Some(_) => {
                Err(StoreError::Refused(format!("the piece of work `{id}` has another outcome already")))
            }
        }
    }
}

#[derive(Debug)]
pub(crate) struct FindWork(pub(crate) String);

impl Op for FindWork {
    type Output = Option<Work>;

    async fn run<D: Db>(&self, db: &mut D, _: &mut Vec<Change>) -> Result<Option<Work>, StoreError> {
        let sql = format!("SELECT {WORK} FROM work WHERE id = $1");
        first(db, &sql, &[self.0.as_str().into()]).await?.map(read).transpose()
    }
}

/// The last piece of work of a kind that was done for a session.
#[derive(Debug)]
pub(crate) struct FindDoneWork {
    pub(crate) session: SessionId,
    pub(crate) kind: WorkKind,
}

impl Op for FindDoneWork {
    type Output = Option<Work>;

    async fn run<D: Db>(&self, db: &mut D, _: &mut Vec<Change>) -> Result<Option<Work>, StoreError> {
        let sql = format!(
            "SELECT {WORK} FROM work WHERE session_id = $1 AND kind = $2 AND outcome IS NOT NULL ORDER BY number DESC"
        );
        for row in db.rows(&sql, &[self.session.as_str().into(), self.kind.word().into()]).await? {
            let work = read(row)?;
            if matches!(work.outcome, Some(WorkOutcome::Done(_))) {
                return Ok(Some(work));
            }
        }
        Ok(None)
    }
}

fn read(mut row: Row) -> Result<Work, StoreError> {
    Ok(Work {
        id: row.text()?,
        host: row.text()?,
        session: SessionId::new(row.text()?),
        kind: WorkKind::read(&row.text()?)?,
        payload: row.json()?,
        taken: row.int()? == 1,
        outcome: row.json_or_none()?,
        created_at: row.int()?,
    })
}
