//! Events, read.

use std::sync::Arc;

use bytes::Bytes;
use rehearsal_core::{Event, EventBody, SessionId, TurnId};

use super::block;
use crate::block::{event_id, seq_of};
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
        let rows = db.rows(AFTER, &binds).await?;
        if rows.is_empty() {
            return apart(db, self, |seq, line| whole(&self.session, seq, line)).await;
        }
        rows.into_iter().map(read).collect()
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
        let rows = db.rows(AFTER, &binds).await?;
        if rows.is_empty() {
            return apart(db, &self.0, |seq, line| beginning(session, seq, line)).await;
        }
        rows.into_iter().map(glance).collect()
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
        match found {
            Some(mut row) => Ok(Some((row.text()?, row.text()?))),
            None => Ok(nth(db, &self.session, self.seq)
                .await?
                .map(|line| (event_id(&self.session, self.seq), line))),
        }
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
        if let Some(row) = first(db, ONE, &binds).await? {
            return glance(row).map(Some);
        }
        let Some(seq) = seq_of(&self.session, &self.event_id) else { return Ok(None) };
        let line = nth(db, &self.session, seq).await?;
        line.map(|line| beginning(&self.session, seq, &line)).transpose()
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
        let rows = db.rows(OF_TURN, &[self.session.as_str().into(), self.turn.as_str().into()]).await?;
        if rows.is_empty() {
            return turn_apart(db, self).await;
        }
        for mut row in rows {
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
        if first(db, ASKED, &binds).await?.is_some() {
            return Ok((true, None));
        }
        let (request, response) = turn_apart(db, &self.0).await?;
        Ok((request.is_some() || response.is_some(), response))
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

/// Events of a session that has no row, each read by this.
async fn apart<D: Db>(
    db: &mut D,
    wanted: &FindEvents,
    read: impl Fn(u64, &str) -> Result<StoredEvent, StoreError>,
) -> Result<Vec<StoredEvent>, StoreError> {
    let Some(lines) = block::lines(db, &wanted.session).await? else { return Ok(Vec::new()) };
    let after = usize::try_from(wanted.after).unwrap_or(usize::MAX);
    let lines = lines.iter().enumerate().skip(after).take(wanted.limit as usize);
    lines.map(|(at, line)| read(at as u64 + 1, line)).collect()
}

/// The line of the event with this number, of a session that has no row.
async fn nth<D: Db>(db: &mut D, session: &SessionId, seq: u64) -> Result<Option<String>, StoreError> {
    let at = usize::try_from(seq).ok().and_then(|seq| seq.checked_sub(1));
    let lines = block::lines(db, session).await?;
    Ok(lines.zip(at).and_then(|(lines, at)| lines.into_iter().nth(at)))
}

/// The request of a turn and its response, of a session that has no row.
async fn turn_apart<D: Db>(
    db: &mut D,
    wanted: &FindTurn,
) -> Result<(Option<StoredEvent>, Option<StoredEvent>), StoreError> {
    let (mut request, mut response) = (None, None);
    for (at, line) in block::lines(db, &wanted.session).await?.unwrap_or_default().iter().enumerate() {
        if !line.contains(wanted.turn.as_str()) {
            continue;
        }
        let stored = whole(&wanted.session, at as u64 + 1, line)?;
        if stored.event.turn.as_ref() != Some(&wanted.turn) {
            continue;
        }
        match stored.event.body {
            EventBody::ModelRequest(_) => request = Some(stored),
            EventBody::ModelResponse(_) => response = Some(stored),
            _ => {}
        }
    }
    Ok((request, response))
}

fn whole(session: &SessionId, seq: u64, line: &str) -> Result<StoredEvent, StoreError> {
    let event = rehearsal_core::json::from_str(line);
    Ok(stored(
        session,
        seq,
        event.map_err(|error| odd(format!("an event that cannot be read: {error}")))?,
        false,
    ))
}

fn beginning(session: &SessionId, seq: u64, line: &str) -> Result<StoredEvent, StoreError> {
    let read = crate::truncate::event(line);
    let (event, is_cut) = read.map_err(|error| odd(format!("an event that cannot be read: {error}")))?;
    Ok(stored(session, seq, event, is_cut))
}

fn stored(session: &SessionId, seq: u64, event: Event, is_cut: bool) -> StoredEvent {
    StoredEvent {
        event_id: event_id(session, seq),
        timestamp: event.at.as_millisecond(),
        payload: Payload::Other,
        event: Arc::new(event),
        is_cut,
        blob: Bytes::new(),
    }
}
