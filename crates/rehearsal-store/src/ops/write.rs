//! One change of a session.

use rehearsal_core::SessionId;
use serde_json::Value;

use super::cue::{dismiss_all, make_change};
use super::session::{more_words, words};
use super::{json, readable};
use crate::db::{Cell, Db, DbError, Op, first};
use crate::rules::{self, call_of, event_refused};
use crate::word::Word;
use crate::{Change, NewEvent, NewSession, NewWork, SessionSource, SessionStatus, StoreError, Write};

const INSERT_SESSION: &str = "INSERT INTO sessions \
    (id, created_at, description, source, agent, part, run_id, last_seq, created_ms, updated_at, meta, words) \
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)";
const INSERT_EVENT: &str = "INSERT INTO events \
    (event_id, session_id, timestamp, turn_id, agent_name, payload_type, proto_blob, seq, kind, call_id, event) \
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)";
const INSERT_WORK: &str = "INSERT INTO work (id, host_id, session_id, kind, payload, created_at) \
    VALUES ($1, $2, $3, $4, $5, $6)";
const MOVE_ON: &str = "UPDATE sessions SET last_seq = $1, updated_at = $2 WHERE id = $3";
/// A session without a description is called after what it is about.
const DESCRIBE: &str =
    "UPDATE sessions SET description = $1, words = words || $2 WHERE id = $3 AND description IS NULL";
const SET_AGENT: &str = "UPDATE sessions SET agent = $1, words = $2 WHERE id = $3";
const SET_META: &str = "UPDATE sessions SET meta = $1 WHERE id = $2";
const SET_STATUS: &str = "UPDATE sessions SET status = $1, updated_at = $2 WHERE id = $3";

/// A write with its events as the rows they become: that work is done before the database is asked, so that the one
/// writer of SQLite does not do it for everybody.
#[derive(Debug)]
pub(crate) struct WriteSession {
    write: Write,
    rows: Vec<Vec<Cell>>,
}

/// What a writer needs to know of the session.
struct Found {
    last_seq: u64,
    source: SessionSource,
    status: SessionStatus,
    description: Option<String>,
}

impl WriteSession {
    pub(crate) fn new(write: Write) -> Result<Self, StoreError> {
        rules::check_write(&write)?;
        let rows = write.events.iter().map(|new| row(&write.session, new)).collect::<Result<_, _>>()?;
        Ok(Self { write, rows })
    }

    /// Makes the session, or finds it and sees that it is where the writer thinks.
    async fn enter<D: Db>(&self, db: &mut D) -> Result<Found, StoreError> {
        let Write { session, create, after, events, .. } = &self.write;
        let found = match create {
            Some(new) => self.create(db, new).await?,
            None => {
                let row = first(db, D::LOCK_SESSION, &[session.as_str().into()]).await?;
                let Some(mut row) = row else {
                    if super::block::session(db, session).await?.is_some() {
                        return Err(StoreError::Refused(format!(
                            "session `{session}` is of a run in which nobody plays along; its ledger is written by the run"
                        )));
                    }
                    return Err(StoreError::NotFound { what: "session", id: session.to_string() });
                };
                Found {
                    last_seq: row.count()?,
                    source: SessionSource::read(&row.text()?)?,
                    status: SessionStatus::read(&row.text()?)?,
                    description: row.text_or_none()?,
                }
            }
        };
        if !events.is_empty() && found.last_seq != *after {
            return Err(StoreError::Moved { session: session.clone(), last_seq: found.last_seq });
        }
        if rules::is_wire(found.source) {
            rules::check_wire_ids(session, events)?;
        }
        Ok(found)
    }

    async fn create<D: Db>(&self, db: &mut D, new: &NewSession) -> Result<Found, StoreError> {
        let Write { session, at, after, events, .. } = &self.write;
        if *after != 0 && !events.is_empty() {
            return Err(StoreError::Moved { session: session.clone(), last_seq: 0 });
        }
        let description = new.description.as_deref().map(rules::cut);
        let updated_at = if events.is_empty() { new.created_at } else { *at };
        let binds = [
            session.as_str().into(),
            new.created_at.div_euclid(1000).into(),
            description.into(),
            new.source.word().into(),
            new.agent.as_deref().into(),
            new.part.word().into(),
            new.run.as_deref().into(),
            (events.len() as u64).into(),
            new.created_at.into(),
            updated_at.into(),
            object(&new.meta)?.into(),
            words(session, description, new.agent.as_deref()).into(),
        ];
        db.run(INSERT_SESSION, &binds).await.map_err(|error| match error {
            DbError::Rule(rule) if rule == "sessions_pkey" => {
                StoreError::Exists { what: "session", id: session.to_string() }
            }
            DbError::Rule(rule) if rule == "foreign_key" => StoreError::Refused(format!(
                "session `{session}` belongs to run `{}`, which is not kept; keep the run first",
                new.run.as_deref().unwrap_or("")
            )),
            other => other.into(),
        })?;
        Ok(Found {
            last_seq: 0,
            source: new.source,
            status: SessionStatus::Active,
            description: description.map(str::to_owned),
        })
    }

    async fn append<D: Db>(&self, db: &mut D) -> Result<(), StoreError> {
        let Write { session, create, at, after, events, .. } = &self.write;
        if events.is_empty() {
            return Ok(());
        }
        db.run_all(INSERT_EVENT, &self.rows)
            .await
            .map_err(|(at, error)| event_refused(error, session, &events[at]))?;
        // A session that is made by this write is made with the right number.
        if create.is_none() {
            let last_seq = after + events.len() as u64;
            db.run(MOVE_ON, &[last_seq.into(), (*at).into(), session.as_str().into()]).await?;
        }
        Ok(())
    }

    async fn end<D: Db>(&self, db: &mut D, found: &Found) -> Result<(), StoreError> {
        let Write { session, at, status, .. } = &self.write;
        let Some(status) =
            status.filter(|status| *status != SessionStatus::Active || *status != found.status)
        else {
            return Ok(());
        };
        let binds = [status.word().into(), (*at).into(), session.as_str().into()];
        db.run(SET_STATUS, &binds).await.map_err(|error| match error {
            DbError::Rule(rule) if rule == "sessions_status_once" => {
                StoreError::Refused(format!("session `{session}` is {} already", found.status.word()))
            }
            DbError::Rule(rule) if rule == "sessions_no_final_response" => StoreError::Refused(format!(
                "session `{session}` has no final response, so it cannot be completed; cancel it instead"
            )),
            other => other.into(),
        })?;
        dismiss_all(db, session, *at).await
    }

    async fn give_work<D: Db>(&self, db: &mut D, new: &NewWork) -> Result<(), StoreError> {
        let binds = [
            new.id.as_str().into(),
            new.host.as_str().into(),
            self.write.session.as_str().into(),
            new.kind.word().into(),
            json(&new.payload)?.into(),
            self.write.at.into(),
        ];
        db.run(INSERT_WORK, &binds).await.map_err(|error| match error {
            DbError::Rule(rule) if rule == "work_id" => {
                StoreError::Exists { what: "piece of work", id: new.id.clone() }
            }
            other => other.into(),
        })?;
        Ok(())
    }
}

impl Op for WriteSession {
    type Output = ();

    async fn run<D: Db>(&self, db: &mut D, told: &mut Vec<Change>) -> Result<(), StoreError> {
        let Write { session, at, cues, agent, meta, work, describe, .. } = &self.write;
        let mut found = self.enter(db).await?;
        self.append(db).await?;
        for change in cues {
            make_change(db, session, *at, change).await?;
        }
        if let (Some(text), None) = (describe, &found.description) {
            let text = rules::cut(text);
            db.run(DESCRIBE, &[text.into(), more_words(text).into(), session.as_str().into()]).await?;
            found.description = Some(text.to_owned());
        }
        if let Some(agent) = agent {
            let words = words(session, found.description.as_deref(), Some(agent));
            db.run(SET_AGENT, &[agent.as_str().into(), words.into(), session.as_str().into()]).await?;
        }
        if let Some(meta) = meta {
            db.run(SET_META, &[object(meta)?.into(), session.as_str().into()]).await?;
        }
        self.end(db, &found).await?;
        for new in work {
            self.give_work(db, new).await?;
        }
        told.push(Change::Session(session.clone()));
        told.extend(work.iter().map(|new| Change::Work(new.host.clone())));
        Ok(())
    }
}

fn row(session: &SessionId, new: &NewEvent) -> Result<Vec<Cell>, StoreError> {
    let event = &*new.event;
    Ok(vec![
        new.event_id.as_str().into(),
        session.as_str().into(),
        event.at.as_millisecond().into(),
        event.turn.as_ref().map_or("", |turn| turn.as_str()).into(),
        (*event.author).into(),
        new.payload.word().into(),
        new.blob.clone().into(),
        event.seq.into(),
        event.body.kind().into(),
        call_of(&event.body).into(),
        match &new.line {
            Some(line) => readable(line.to_string())?.into(),
            None => json(event)?.into(),
        },
    ])
}

/// An object as it is kept; nothing is an empty one.
fn object(meta: &Value) -> Result<String, StoreError> {
    if meta.is_null() { Ok("{}".to_owned()) } else { json(meta) }
}
