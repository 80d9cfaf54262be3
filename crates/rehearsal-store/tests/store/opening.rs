//! Opening a store: what is made, what is refused.

use futures::future::join_all;
use rehearsal_store::{RunAbout, RunQuery, Store, StoreError, open};

use crate::support::*;

async fn refused(place: &str) -> String {
    match open(place).await {
        Err(error @ (StoreError::Unavailable { .. } | StoreError::Corrupt(_))) => error.to_string(),
        other => panic!("{place}: {other:?}"),
    }
}

behaviours! {
    async fn what_was_written_is_there_when_it_is_opened_again(home: &Home) {
        let session = home.session().await;
        let again = home.again().await;
        assert_eq!(again.session(&session).await.unwrap().unwrap().last_seq, 2);
        again.ready().await.unwrap();
    }

    async fn many_may_open_it_at_once(home: &Home) {
        let opened = join_all((0..6).map(|_| home.again())).await;
        for store in opened {
            store.ready().await.unwrap();
        }
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_file_is_made_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let home = Home::sqlite().await;
    home.session().await;
    let file = std::path::Path::new(home.place());
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(file), mode(file.parent().unwrap())), (0o600, 0o700));
    for beside in ["-wal", "-shm"] {
        assert_eq!(mode(std::path::Path::new(&format!("{}{beside}", home.place()))), 0o600, "{beside}");
    }
}

#[tokio::test]
async fn many_may_make_a_file_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("s.db").display().to_string();
    for store in join_all((0..6).map(|_| open(&place))).await {
        store.unwrap().ready().await.unwrap();
    }
}

/// A run of an earlier version is found by its title, and has nothing else that names it.
async fn assert_found(store: &dyn Store) {
    let query = RunQuery { search: Some("the title".to_owned()), limit: 9, page_token: None };
    let found = store.runs(&query).await.unwrap().items;
    assert_eq!(found.iter().map(|run| run.id.as_str()).collect::<Vec<_>>(), ["r"]);
    assert_eq!(found[0].about, RunAbout::default());
}

#[tokio::test]
async fn a_file_of_the_first_version_is_brought_to_this_one() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("s.db").display().to_string();
    let connection = rusqlite::Connection::open(&place).unwrap();
    connection.execute_batch(include_str!("../../src/sqlite/schema.sql")).unwrap();
    connection
        .execute(
            "INSERT INTO runs (id, started_at, title, status) VALUES ('r', 1, 'The Title', 'running')",
            [],
        )
        .unwrap();
    connection.pragma_update(None, "user_version", 1).unwrap();
    drop(connection);
    let store = open(&place).await.unwrap();
    assert_eq!(store.interrupt_runs(2, 3).await.unwrap(), ["r"]);
    assert_found(&*store).await;
}

#[tokio::test]
async fn a_database_of_the_first_version_is_brought_to_this_one() {
    let database = rehearsal_testkit::postgres::Database::new();
    database.sql(include_str!("../../src/postgres/schema.sql"));
    database.sql("CREATE TABLE rehearsal_version (version BIGINT NOT NULL)");
    database.sql("INSERT INTO rehearsal_version VALUES (1)");
    database.sql("INSERT INTO runs (id, started_at, title, status) VALUES ('r', 1, 'The Title', 'running')");
    let store = open(database.address()).await.unwrap();
    assert_eq!(store.interrupt_runs(2, 3).await.unwrap(), ["r"]);
    assert_found(&*store).await;
}

#[tokio::test]
async fn a_file_of_a_newer_version_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("s.db").display().to_string();
    rusqlite::Connection::open(&place).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let why = refused(&place).await;
    assert!(why.contains("version 99") && why.contains("update the program"), "{why}");
}

#[tokio::test]
async fn a_database_of_a_newer_version_is_refused() {
    let home = Home::postgres().await;
    home.database.as_ref().unwrap().sql("UPDATE rehearsal_version SET version = 99");
    let why = refused(home.place()).await;
    assert!(why.contains("version 99") && why.contains("update the program"), "{why}");
}

/// What `SQLAlchemy`, sqlx and others write for a file is that file.
#[tokio::test]
async fn a_file_may_be_written_as_an_address() {
    let folder = tempfile::tempdir().unwrap();
    let plain = folder.path().join("s.db").display().to_string();
    drop(open(&plain).await.unwrap());
    for address in [format!("sqlite://{plain}"), format!("sqlite:///{plain}"), format!("SQLite://{plain}")] {
        assert!(open(&address).await.unwrap().place().ends_with("/s.db"), "{address}");
        assert_eq!(rehearsal_store::give_back(&address).await.unwrap(), 0, "{address}");
    }
    let files = [
        ("s.db", "s.db"),
        ("sqlite://a/s.db", "a/s.db"),
        ("sqlite:///s.db", "s.db"),
        ("sqlite:///./a/s.db", "./a/s.db"),
        ("sqlite:///../s.db", "../s.db"),
        ("sqlite:///a/s.db", "/a/s.db"),
        ("sqlite:////a/s.db", "/a/s.db"),
    ];
    for (place, path) in files {
        assert_eq!(rehearsal_store::file_of(place), Some(path), "{place}");
    }
    for none in [
        "sqlite://",
        "sqlite:///",
        "sqlite:s.db",
        "sqlite:/s.db",
        "sqlite://:memory:",
        "sqlite://s.db?mode=ro",
    ] {
        assert!(refused(none).await.contains("sqlite:///folder/file"), "{none}");
    }
}

#[tokio::test]
async fn what_is_no_store_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(place("text"), "this is no database, whatever its name says; not at all").unwrap();
    let why = refused(&place("text")).await;
    assert!(why.contains("use another --store"), "{why}");
    rusqlite::Connection::open(place("other")).unwrap().execute("CREATE TABLE t (x)", []).unwrap();
    let why = refused(&place("other")).await;
    assert!(why.contains("another program"), "{why}");
    for odd in ["", ":memory:", "mysql://host/db"] {
        assert!(refused(odd).await.contains("the path of a file"), "{odd}");
    }
    for misspelt in
        ["postgres:/ada:secret@host/db", "postgresql:ada:secret@host/db", "Postgres://ada:secret@host/db"]
    {
        let why = refused(misspelt).await;
        assert!(why.contains("begins with postgres:// (two slashes)") && !why.contains("secret"), "{why}");
    }
    let why = refused("postgres://ada:secret@127.0.0.1:1/db").await;
    assert!(why.contains("postgres://ada@127.0.0.1:1/db") && !why.contains("secret"), "{why}");
}

#[tokio::test]
async fn other_tools_find_the_published_columns() {
    let home = Home::sqlite().await;
    let session = home.session().await;
    let file = rusqlite::Connection::open(home.place()).unwrap();
    let sql = "SELECT s.id, s.created_at, s.status, e.timestamp, e.turn_id, e.agent_name, e.payload_type, \
        e.proto_blob, e.event FROM sessions s JOIN events e ON e.session_id = s.id WHERE e.seq = 2";
    let row = file.query_row(sql, [], |row| {
        let (id, created, status): (String, i64, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let (at, turn, agent): (i64, String, String) = (row.get(3)?, row.get(4)?, row.get(5)?);
        let (payload, blob, line): (String, Vec<u8>, String) = (row.get(6)?, row.get(7)?, row.get(8)?);
        Ok(((id, created, status), (at, turn, agent), (payload, blob, line)))
    });
    let line =
        rehearsal_core::json::to_string(&*home.store.events(&session, 1, 1).await.unwrap()[0].event).unwrap();
    let expected = (
        (session.to_string(), NOW / 1000, "active".to_owned()),
        (NOW + 2, String::new(), "agent".to_owned()),
        ("other".to_owned(), Vec::new(), line),
    );
    assert_eq!(row.unwrap(), expected);
}
