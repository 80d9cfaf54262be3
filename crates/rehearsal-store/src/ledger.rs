//! Whole ledgers, in and out of a store.

use bytes::Bytes;
use rehearsal_core::{EndReason, Event, EventBody, Ledger, SessionId, Timestamp};
use serde_json::Value;
use uuid::Uuid;

use crate::{NewEvent, NewSession, Payload, SessionRecord, SessionStatus, Store, StoreError, Write, rules};
use std::sync::Arc;

/// How many events are read or written at a time.
const BATCH: u32 = 500;

/// The ledger of a session, whole. One that has no events yet is empty.
///
/// Its session is the one its events name, which for a run may be another than the store's id.
///
/// # Errors
/// There is no such session, the store fails, or what it holds is no ledger.
pub async fn read_ledger(store: &dyn Store, session: &SessionId) -> Result<Ledger, StoreError> {
    if store.session(session).await?.is_none() {
        return Err(StoreError::NotFound { what: "session", id: session.to_string() });
    }
    let mut events: Vec<Arc<Event>> = Vec::new();
    loop {
        let after = events.last().map_or(0, |event| event.seq);
        let page = store.events(session, after, BATCH).await?;
        let whole = page.len() < BATCH as usize;
        events.extend(page.into_iter().map(|stored| stored.event));
        if whole {
            break;
        }
    }
    let id = events.first().map_or_else(|| session.clone(), |event| event.session.clone());
    Ledger::from_events(id, events).map_err(|error| {
        StoreError::Corrupt(format!("the events of session `{session}` are no ledger: {error}"))
    })
}

/// Keeps a whole ledger as one session and gives the id it is kept under: its own, or a new one where its own is
/// taken or is no UUIDv4. The events are kept as they are.
///
/// The session is active as long as the ledger has no end. It is completed when it ended by itself and an agent
/// answered, and cancelled otherwise.
///
/// # Errors
/// The store fails or refuses an event; nothing of the ledger is kept then.
pub async fn import_ledger(
    store: &dyn Store,
    ledger: &Ledger,
    new: NewSession,
) -> Result<SessionId, StoreError> {
    let own = ledger.session();
    let id = if rules::is_uuid_v4(own.as_str()) { own.clone() } else { fresh_session() };
    match write_all(store, ledger, &new, &id).await {
        Err(StoreError::Exists { what: "session", .. }) => {
            let id = fresh_session();
            write_all(store, ledger, &new, &id).await?;
            Ok(id)
        }
        Err(error) => Err(error),
        Ok(()) => Ok(id),
    }
}

async fn write_all(
    store: &dyn Store,
    ledger: &Ledger,
    new: &NewSession,
    id: &SessionId,
) -> Result<(), StoreError> {
    let ended = ledger.end().map(|reason| status(ledger, reason));
    let end_at = ledger.events().iter().position(|event| is_end(event));
    let mut batches = ledger.events().chunks(BATCH as usize);
    let (mut done, mut create) = (0, Some(new.clone()));
    loop {
        let batch = batches.next().unwrap_or_default();
        let at = batch.last().map_or(new.created_at, |event| event.at.as_millisecond());
        let mut write = Write::new(id.clone(), at, done as u64);
        write.create = create.take();
        write.events = batch.iter().map(kept).collect();
        // After the end only notes may come, and they may.
        write.status = end_at.filter(|end| (done..done + batch.len()).contains(end)).and(ended);
        if write.status.is_some() && ledger.end() == Some(EndReason::Error) {
            let failure = ledger.events().iter().rev().find_map(|event| SessionRecord::failure_of(event));
            write.meta = failure.map(|failure| with_failure(&new.meta, failure));
        }
        let first = done == 0;
        done += batch.len();
        if let Err(error) = store.write(write).await {
            if !first {
                // Half a ledger is worse than none; what cannot be removed now is at least no lie: it is active.
                let _removed = store.delete_session(id).await;
            }
            return Err(error);
        }
        if done == ledger.events().len() {
            return Ok(());
        }
    }
}

fn kept(event: &Arc<Event>) -> NewEvent {
    NewEvent {
        event_id: event_id(event.at),
        payload: Payload::Other,
        event: event.clone(),
        blob: Bytes::new(),
        line: None,
    }
}

fn with_failure(meta: &Value, failure: Value) -> Value {
    let mut fields = meta.as_object().cloned().unwrap_or_default();
    fields.insert(SessionRecord::FAILURE.to_owned(), failure);
    Value::Object(fields)
}

fn is_end(event: &Event) -> bool {
    matches!(event.body, EventBody::SessionEnded { .. })
}

fn status(ledger: &Ledger, reason: EndReason) -> SessionStatus {
    let by_itself = matches!(reason, EndReason::Completed | EndReason::StateMatches);
    let answered = ledger
        .events()
        .iter()
        .any(|event| matches!(event.body, EventBody::FinalResponse { .. } | EventBody::AgentEnded { .. }));
    if by_itself && answered { SessionStatus::Completed } else { SessionStatus::Cancelled }
}

fn fresh_session() -> SessionId {
    SessionId::new(new_id())
}

/// A new id, a `UUIDv4`, for what is kept in a store: a session, a cue, a run. People see and type the beginnings of these,
/// so they differ there.
pub fn new_id() -> String {
    random().to_string()
}

/// A new id for an event of this time. It has the form of any other id, and those of later events come behind it: an index
/// of them grows at its end, where a random one is changed all over.
pub fn event_id(at: Timestamp) -> String {
    let millis = u64::try_from(at.as_millisecond()).unwrap_or_default();
    let mut bytes = random().into_bytes();
    bytes[..6].copy_from_slice(&millis.to_be_bytes()[2..]);
    Uuid::from_bytes(bytes).to_string()
}

fn random() -> Uuid {
    #[expect(
        clippy::disallowed_methods,
        reason = "what one process names must differ from what any other names"
    )]
    let id = Uuid::new_v4();
    id
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_events_are_ordered_by_time() {
        let at = |millis| Timestamp::from_millisecond(millis).unwrap();
        let ids: Vec<String> =
            [0, 1, 1_000, 1_767_268_800_000, 1_767_268_800_001].map(|millis| event_id(at(millis))).into();
        assert!(ids.is_sorted() && ids.iter().all(|id| crate::rules::is_uuid_v4(id)), "{ids:?}");
        assert_ne!(event_id(at(7)), event_id(at(7)));
    }
}
