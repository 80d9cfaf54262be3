//! Hosts and what they are to do.

use rehearsal_core::SessionId;

use super::json;
use crate::db::{Db, Op, Row, first};
use crate::{Change, Host, StoreError, Work, WorkOutcome};

const PUT_HOST: &str = "INSERT INTO hosts (id, name, agents, seen_at) VALUES ($1, $2, $3, $4) \
    ON CONFLICT (id) DO UPDATE SET name = excluded.name, agents = excluded.agents, seen_at = excluded.seen_at";
const WORK: &str = "id, host_id, session_id, kind, payload, taken, outcome, created_at";

#[derive(Debug)]
pub(crate) struct PutHost(pub(crate) Host);

impl Op for PutHost {
    type Output = ();

    async fn run<D: Db>(&self, db: &mut D, told: &mut Vec<Change>) -> Result<(), StoreError> {
        let Host { id, name, agents, seen_at } = &self.0;
        let binds = [id.as_str().into(), name.as_str().into(), json(agents)?.into(), (*seen_at).into()];
        db.run(PUT_HOST, &binds).await?;
        told.push(Change::Work(id.clone()));
        Ok(())
    }
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
pub(crate) struct HasWork(pub(crate) String);

impl Op for HasWork {
    type Output = bool;

    async fn run<D: Db>(&self, db: &mut D, _: &mut Vec<Change>) -> Result<bool, StoreError> {
        let sql = "SELECT id FROM work WHERE host_id = $1 AND taken = 0 AND outcome IS NULL LIMIT 1";
        Ok(first(db, sql, &[self.0.as_str().into()]).await?.is_some())
    }
}

#[derive(Debug)]
pub(crate) struct TakeWork(pub(crate) String);

impl Op for TakeWork {
    type Output = Option<Work>;

    async fn run<D: Db>(&self, db: &mut D, _: &mut Vec<Change>) -> Result<Option<Work>, StoreError> {
        let sql = format!("UPDATE work SET taken = 1 WHERE number = ({}) RETURNING {WORK}", D::OLDEST_WORK);
        first(db, &sql, &[self.0.as_str().into()]).await?.map(read).transpose()
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
    pub(crate) kind: String,
}

impl Op for FindDoneWork {
    type Output = Option<Work>;

    async fn run<D: Db>(&self, db: &mut D, _: &mut Vec<Change>) -> Result<Option<Work>, StoreError> {
        let sql = format!(
            "SELECT {WORK} FROM work WHERE session_id = $1 AND kind = $2 AND outcome IS NOT NULL ORDER BY number DESC"
        );
        for row in db.rows(&sql, &[self.session.as_str().into(), self.kind.as_str().into()]).await? {
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
        kind: row.text()?,
        payload: row.json()?,
        taken: row.int()? == 1,
        outcome: row.json_or_none()?,
        created_at: row.int()?,
    })
}
