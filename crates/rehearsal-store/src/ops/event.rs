//! Events, read.

use rehearsal_core::{SessionId, TurnId};

use crate::db::{Db, Op, Row, first, odd};
use crate::word::Word;
use crate::{Change, Payload, StoreError, StoredEvent};

const AFTER: &str = "SELECT event_id, timestamp, payload_type, event, proto_blob FROM events \
    WHERE session_id = $1 AND seq > $2 ORDER BY seq LIMIT $3";
const ONE: &str = "SELECT event_id, timestamp, payload_type, event, proto_blob FROM events \
    WHERE session_id = $1 AND event_id = $2";
const LINE: &str = "SELECT event_id, event FROM events WHERE session_id = $1 AND seq = $2";
const OF_TURN: &str = "SELECT kind, event_id, timestamp, payload_type, event, proto_blob FROM events \
    WHERE session_id = $1 AND turn_id = $2 AND kind IN ('model_request', 'model_response')";

const ANSWER: &str = "SELECT event_id, timestamp, payload_type, event, proto_blob FROM events \
    WHERE session_id = $1 AND turn_id = $2 AND kind = 'model_response'";
const ASKED: &str =
    "SELECT seq FROM events WHERE session_id = $1 AND turn_id = $2 AND kind = 'model_request'";

#[derive(Debug)]
pub(crate) struct FindEvents {
    pub(crate) session: SessionId,
    pub(crate) after: u64,
    pub(crate) limit: u32,
}

impl Op for FindEvents {
    type Output = Vec<StoredEvent>;

    async fn run<D: Db>(&self, db: &mut D, _: &mut Vec<Change>) -> Result<Self::Output, StoreError> {
        let binds = [self.session.as_str().into(), self.after.into(), i64::from(self.limit).into()];
        db.rows(AFTER, &binds).await?.into_iter().map(read).collect()
    }
}

/// The same, with the beginnings of long outputs.
#[derive(Debug)]
pub(crate) struct GlanceEvents(pub(crate) FindEvents);

impl Op for GlanceEvents {
    type Output = Vec<StoredEvent>;

    async fn run<D: Db>(&self, db: &mut D, _: &mut Vec<Change>) -> Result<Self::Output, StoreError> {
        let FindEvents { session, after, limit } = &self.0;
        let binds = [session.as_str().into(), (*after).into(), i64::from(*limit).into()];
        db.rows(AFTER, &binds).await?.into_iter().map(glance).collect()
    }
}

/// The line of an event as it is kept, with the event's id.
#[derive(Debug)]
pub(crate) struct FindLine {
    pub(crate) session: SessionId,
    pub(crate) seq: u64,
}

impl Op for FindLine {
    type Output = Option<(String, String)>;

    async fn run<D: Db>(&self, db: &mut D, _: &mut Vec<Change>) -> Result<Self::Output, StoreError> {
        let found = first(db, LINE, &[self.session.as_str().into(), self.seq.into()]).await?;
        found.map(|mut row| Ok((row.text()?, row.text()?))).transpose()
    }
}

#[derive(Debug)]
pub(crate) struct FindEvent {
    pub(crate) session: SessionId,
    pub(crate) event_id: String,
}

impl Op for FindEvent {
    type Output = Option<StoredEvent>;

    async fn run<D: Db>(&self, db: &mut D, _: &mut Vec<Change>) -> Result<Self::Output, StoreError> {
        let binds = [self.session.as_str().into(), self.event_id.as_str().into()];
        first(db, ONE, &binds).await?.map(glance).transpose()
    }
}

#[derive(Debug)]
pub(crate) struct FindTurn {
    pub(crate) session: SessionId,
    pub(crate) turn: TurnId,
}

impl Op for FindTurn {
    type Output = (Option<StoredEvent>, Option<StoredEvent>);

    async fn run<D: Db>(&self, db: &mut D, _: &mut Vec<Change>) -> Result<Self::Output, StoreError> {
        let (mut request, mut response) = (None, None);
        // Events of no turn are kept under the empty one.
        if self.turn.as_str().is_empty() {
            return Ok((request, response));
        }
        for mut row in db.rows(OF_TURN, &[self.session.as_str().into(), self.turn.as_str().into()]).await? {
            match row.text()?.as_str() {
                "model_request" => request = Some(read(row)?),
                _ => response = Some(read(row)?),
            }
        }
        Ok((request, response))
    }
}

/// Whether a turn was asked, and its response. Those who wait ask this again and again, so the request, which is large,
/// is not read for it.
#[derive(Debug)]
pub(crate) struct FindAnswer(pub(crate) FindTurn);

impl Op for FindAnswer {
    type Output = (bool, Option<StoredEvent>);

    async fn run<D: Db>(&self, db: &mut D, _: &mut Vec<Change>) -> Result<Self::Output, StoreError> {
        let FindTurn { session, turn } = &self.0;
        if turn.as_str().is_empty() {
            return Ok((false, None));
        }
        let binds = [session.as_str().into(), turn.as_str().into()];
        if let Some(row) = first(db, ANSWER, &binds).await? {
            return Ok((true, Some(read(row)?)));
        }
        Ok((first(db, ASKED, &binds).await?.is_some(), None))
    }
}

fn read(mut row: Row) -> Result<StoredEvent, StoreError> {
    Ok(StoredEvent {
        event_id: row.text()?,
        timestamp: row.int()?,
        payload: Payload::read(&row.text()?)?,
        event: row.json()?,
        is_cut: false,
        blob: row.bytes()?,
    })
}

fn glance(mut row: Row) -> Result<StoredEvent, StoreError> {
    let (event_id, timestamp, payload) = (row.text()?, row.int()?, Payload::read(&row.text()?)?);
    let (event, is_cut) = crate::truncate::event(&row.text()?)
        .map_err(|error| odd(format!("an event that cannot be read: {error}")))?;
    Ok(StoredEvent { event_id, timestamp, payload, event: event.into(), is_cut, blob: row.bytes()? })
}
