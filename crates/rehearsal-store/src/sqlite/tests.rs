//! What only this crate can bring about: a full disk, and another program that does not let go.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::future::join_all;
use rehearsal_core::{Event, EventBody, Ids, SessionId, SessionPart, Timestamp};
use rusqlite::Connection;
use serde_json::json;

use super::{Options, Sqlite};
use crate::db::{Db, Op};
use crate::kept::Kept;
use crate::{Change, NewEvent, NewSession, Payload, SessionSource, Store, StoreError, Write};

/// Bounds the file, as a disk does.
struct Bound {
    pages: u32,
}

impl Op for Bound {
    type Output = ();

    async fn run<D: Db>(&self, db: &mut D, _: &mut Vec<Change>) -> Result<(), StoreError> {
        db.rows(&format!("PRAGMA max_page_count = {}", self.pages), &[]).await?;
        Ok(())
    }
}

async fn open(path: &Path) -> Kept<Sqlite> {
    Kept(Sqlite::open(path, Options { busy: Duration::from_millis(50) }).await.unwrap())
}

fn id(name: &str, number: u64) -> SessionId {
    Ids::seeded(5).session(name, number)
}

/// Makes a session with one event of about so many bytes.
fn make(number: u64, size: usize) -> Write {
    let session = id("session", number);
    let mut write = Write::new(session.clone(), 0, 0);
    write.create = Some(NewSession {
        created_at: 0,
        description: None,
        source: SessionSource::Run,
        agent: None,
        part: SessionPart::Main,
        run: None,
        meta: json!({}),
    });
    let event = Event {
        seq: 1,
        session,
        at: Timestamp::UNIX_EPOCH,
        author: "a".into(),
        invocation: None,
        turn: None,
        decision: None,
        body: EventBody::Note { name: "n".into(), data: json!("x".repeat(size)) },
    };
    write.events = vec![NewEvent {
        event_id: id("event", number).to_string(),
        payload: Payload::Other,
        event: Arc::new(event),
        blob: Bytes::new(),
        line: None,
    }];
    write
}

/// Which of the first `count` sessions are kept, each whole.
async fn kept(store: &dyn Store, count: u64) -> Vec<u64> {
    let mut kept = Vec::new();
    for number in 0..count {
        let session = id("session", number);
        if let Some(record) = store.session(&session).await.unwrap() {
            assert_eq!(record.last_seq, 1);
            assert_eq!(store.events(&session, 0, 9).await.unwrap().len(), 1);
            kept.push(number);
        }
    }
    kept
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_loses_nothing_and_writing_goes_on_when_there_is_space() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.db");
    let store = Arc::new(open(&path).await);
    crate::db::Engine::change(&store.0, Bound { pages: 200 }).await.unwrap();

    let mut acknowledged = Vec::new();
    let mut full = 0;
    for round in 0..10 {
        let writes = (0..10).map(|at| {
            let (store, number) = (store.clone(), round * 10 + at);
            async move { (number, store.write(make(number, 20_000)).await) }
        });
        for (number, result) in join_all(writes).await {
            match result {
                Ok(()) => acknowledged.push(number),
                Err(StoreError::Full(why)) => {
                    assert!(why.contains("s.db"), "{why}");
                    full += 1;
                }
                Err(other) => panic!("{other:?}"),
            }
        }
    }
    assert!(full > 0 && !acknowledged.is_empty(), "{full} did not fit, {} did", acknowledged.len());
    assert_eq!(kept(&*store, 100).await, acknowledged);

    crate::db::Engine::change(&store.0, Bound { pages: 1_000_000 }).await.unwrap();
    store.write(make(100, 20_000)).await.unwrap();
    drop(store);
    acknowledged.push(100);
    // The one before may still be closing the file.
    let again = Kept(Sqlite::open(&path, Options::default()).await.unwrap());
    assert_eq!(kept(&again, 101).await, acknowledged);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_another_program_holds_is_locked_and_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.db");
    let store = open(&path).await;
    store.write(make(0, 10)).await.unwrap();
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let results = join_all((1..5).map(|number| store.write(make(number, 10)))).await;
    for result in results {
        let error = result.unwrap_err();
        assert!(matches!(&error, StoreError::Locked(why) if why.contains("s.db")), "{error:?}");
    }
    // Who only reads is not held up.
    assert_eq!(kept(&store, 5).await, [0]);
    other.execute_batch("COMMIT").unwrap();
    store.write(make(5, 10)).await.unwrap();
    assert_eq!(kept(&store, 6).await, [0, 5]);
}

#[tokio::test(flavor = "multi_thread")]
async fn own_commits_are_not_taken_for_those_of_others() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder.path().join("s.db")).await;
    let mut changes = store.changes();
    for number in 0..20 {
        store.write(make(number, 10)).await.unwrap();
        assert_eq!(changes.recv().await.unwrap(), Change::Session(id("session", number)));
    }
}
