//! Durable appends: what the store's own order and checks cost beside plain inserts of the same rows.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use rehearsal_core::{Content, Event, EventBody, RequestRecord, SessionId, SessionPart, Timestamp, TurnId};
use rehearsal_server::adksim::{request_to_wire, response_to_wire};
use rehearsal_store::{NewEvent, NewSession, Payload, SessionSource, StoreRef, Write, open};
use rusqlite::types::Value as Cell;
use rusqlite::{Connection, params_from_iter};
use serde_json::json;

use crate::asked::{self, AGENT, id};
use crate::figures::{now, per_second};
use crate::machine;

/// Sessions that are written to side by side; each writer waits until its event is on disk before it writes the next.
const WRITERS: usize = 256;
/// Events that each of them appends.
const EVENTS: usize = 32;
const ROUNDS: usize = 3;
const MOMENT: i64 = 1_767_268_800_000;

pub(crate) async fn measure() {
    let (mut ours, mut plain) = (Duration::ZERO, Duration::ZERO);
    let mut size = 0;
    for round in 0..ROUNDS {
        let folder = machine::folder();
        let (kept, copy) = (folder.path().join("kept.db"), folder.path().join("copy.db"));
        let store = opened(&kept).await;
        let writes = begin(&store, round).await;
        ours += append(&store, writes).await;
        drop(store);
        // The other file has the same tables, indexes and sessions; only the events are to come.
        drop(opened(&copy).await);
        let rows = rows(&kept);
        size = rows.iter().map(Vec::as_slice).map(bytes).sum::<usize>() / rows.len();
        plain += insert(&kept, &copy, &rows);
    }
    let count = WRITERS * EVENTS * ROUNDS;
    let (ours, plain) = (per_second(count, ours), per_second(count, plain));
    println!("appends: {count} events of about {size} bytes, durable when acknowledged, {WRITERS} at a time");
    println!("  plain inserts, in transactions of {WRITERS}   {plain:9.0} /s");
    println!("  the store, {WRITERS} writers, one event each   {ours:9.0} /s");
    println!("  ratio                                 {:9.2}      (aim: at least 0.5)", ours / plain);
}

async fn opened(path: &Path) -> StoreRef {
    open(&path.display().to_string()).await.expect("a store can be made")
}

/// Makes the sessions, and what is to be appended to each.
async fn begin(store: &StoreRef, round: usize) -> Vec<Vec<Write>> {
    let request = asked::request();
    let request_body = EventBody::ModelRequest(RequestRecord::new(&request, None));
    let request_blob = Bytes::from(request_to_wire(&request));
    let response_blob = Bytes::from(response_to_wire(&asked::response()));
    let mut all = Vec::with_capacity(WRITERS);
    for writer in 0..WRITERS {
        let session = SessionId::new(id("session", round * WRITERS + writer));
        let event = |seq: usize, turn: Option<TurnId>, payload, body, blob| {
            let name = format!("event-{round}-{writer}");
            let event = Event {
                seq: seq as u64,
                session: session.clone(),
                at: Timestamp::from_millisecond(MOMENT).expect("a moment of this century"),
                author: AGENT.into(),
                invocation: None,
                turn,
                decision: None,
                body,
            };
            NewEvent { event_id: id(&name, seq), payload, event: Arc::new(event), blob, line: None }
        };
        let said = EventBody::UserMessage { content: Arc::new(Content::user("Where is my lamp?")) };
        let mut write = Write::new(session.clone(), MOMENT, 0);
        write.create = Some(NewSession {
            created_at: MOMENT,
            description: None,
            source: SessionSource::Adksim,
            agent: Some(AGENT.to_owned()),
            part: SessionPart::Main,
            run: None,
            meta: json!({}),
        });
        write.events = vec![event(1, None, Payload::Other, said, Bytes::new())];
        store.write(write).await.expect("a session can be made");
        let writes = (0..EVENTS).map(|number| {
            let turn = TurnId::new(id(&format!("turn-{round}-{writer}"), number / 2));
            let new = if number % 2 == 0 {
                event(number + 2, Some(turn), Payload::Request, request_body.clone(), request_blob.clone())
            } else {
                let body = EventBody::ModelResponse(asked::response());
                event(number + 2, Some(turn), Payload::Response, body, response_blob.clone())
            };
            let mut write = Write::new(session.clone(), MOMENT, number as u64 + 1);
            write.events = vec![new];
            write
        });
        all.push(writes.collect());
    }
    all
}

async fn append(store: &StoreRef, writes: Vec<Vec<Write>>) -> Duration {
    let began = now();
    let tasks = writes.into_iter().map(|writes| {
        let store = store.clone();
        tokio::spawn(async move {
            for write in writes {
                store.write(write).await.expect("an event can be appended");
            }
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.expect("no writer fails");
    }
    began.elapsed()
}

const COLUMNS: usize = 11;

/// The events that were appended, in the order in which they were.
fn rows(kept: &Path) -> Vec<Vec<Cell>> {
    let connection = Connection::open(kept).expect("the store's file can be read");
    let mut select = connection
        .prepare(
            "SELECT event_id, session_id, timestamp, turn_id, agent_name, payload_type, proto_blob, seq, kind, call_id, \
             event FROM events WHERE seq > 1 ORDER BY rowid",
        )
        .expect("the table is there");
    let rows = select.query_map([], |row| (0..COLUMNS).map(|at| row.get(at)).collect());
    rows.and_then(Iterator::collect).expect("the rows can be read")
}

fn bytes(row: &[Cell]) -> usize {
    let size = |cell: &Cell| match cell {
        Cell::Text(text) => text.len(),
        Cell::Blob(bytes) => bytes.len(),
        Cell::Integer(_) | Cell::Real(_) => 8,
        Cell::Null => 0,
    };
    row.iter().map(size).sum()
}

/// Inserts the rows with one connection and nothing around it: no trigger and no foreign key is checked.
fn insert(kept: &Path, copy: &Path, rows: &[Vec<Cell>]) -> Duration {
    let mut connection = Connection::open(copy).expect("the file can be opened");
    connection
        .execute_batch(&format!(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 4000; \
             PRAGMA foreign_keys = OFF; ATTACH '{}' AS kept; \
             INSERT INTO main.sessions SELECT * FROM kept.sessions; \
             INSERT INTO main.events SELECT * FROM kept.events WHERE seq = 1; DETACH kept;",
            kept.display()
        ))
        .expect("the sessions can be copied");
    drop_triggers(&connection).expect("the triggers can be dropped");
    let began = now();
    for group in rows.chunks(WRITERS) {
        let transaction = connection.transaction().expect("a transaction can begin");
        {
            let mut statement = transaction
                .prepare_cached(
                    "INSERT INTO events (event_id, session_id, timestamp, turn_id, agent_name, payload_type, proto_blob, \
                     seq, kind, call_id, event) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
                )
                .expect("the table is there");
            for row in group {
                statement.execute(params_from_iter(row)).expect("a row can be inserted");
            }
        }
        transaction.commit().expect("the disk takes it");
    }
    began.elapsed()
}

fn drop_triggers(connection: &Connection) -> rusqlite::Result<()> {
    let mut select = connection.prepare("SELECT name FROM sqlite_schema WHERE type = 'trigger'")?;
    let names = select.query_map([], |row| row.get(0))?.collect::<Result<Vec<String>, _>>()?;
    names.iter().try_for_each(|name| connection.execute_batch(&format!("DROP TRIGGER {name}")))
}
