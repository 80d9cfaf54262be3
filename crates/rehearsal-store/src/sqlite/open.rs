//! Opening the file and bringing it to this version.

use std::fs;
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use super::Options;
use super::db::meaning;
use crate::StoreError;

/// What brings a file from each version to the next.
const MIGRATIONS: &[&str] = &[
    include_str!("schema.sql"),
    include_str!("schema-2.sql"),
    include_str!("schema-3.sql"),
    include_str!("schema-4.sql"),
    include_str!("schema-5.sql"),
    include_str!("schema-6.sql"),
    include_str!("schema-7.sql"),
];

/// `auto_vacuum` with which free pages can be cut off the file while others use it.
pub(super) const INCREMENTAL: u32 = 2;

/// How many statements each connection keeps prepared.
const STATEMENTS: usize = 128;

/// The connection that writes: the file is there afterwards, only its owner can read it, and it has this version.
pub(super) fn for_writing(path: &Path, options: Options) -> Result<Connection, StoreError> {
    make_file(path).map_err(|error| StoreError::Unavailable {
        place: path.display().to_string(),
        why: format!("{error}; see that this user may write the folder, or use another --store"),
    })?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let opened = Connection::open_with_flags(path, flags).and_then(|connection| {
        connection.busy_timeout(options.busy)?;
        Ok(connection)
    });
    let mut connection = opened.map_err(|error| failed(&error, path))?;
    check_version(&connection, path)?;
    set_up(&connection).map_err(|error| failed(&error, path))?;
    migrate(&mut connection, path)?;
    Ok(connection)
}

/// A connection that only reads.
pub(super) fn for_reading(path: &Path, options: Options) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let opened = Connection::open_with_flags(path, flags).and_then(|connection| {
        connection.busy_timeout(options.busy)?;
        connection.set_prepared_statement_cache_capacity(STATEMENTS);
        Ok(connection)
    });
    opened.map_err(|error| failed(&error, path))
}

pub(super) fn failed(error: &rusqlite::Error, path: &Path) -> StoreError {
    meaning(error, path).into()
}

/// What people said to agents is nobody else's business: the file is made for its owner alone.
fn make_file(path: &Path) -> std::io::Result<()> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(folder)?;
    }
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map(drop)
}

fn set_up(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    // How a file gives space back is settled with its first page.
    let pages: i64 = connection.query_row("PRAGMA page_count", [], |row| row.get(0))?;
    if pages == 0 {
        connection.pragma_update(None, "auto_vacuum", INCREMENTAL)?;
    }
    turn_to_wal(connection)?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    // A checkpoint costs two flushes; with the default every thousandth page is one.
    connection.pragma_update(None, "wal_autocheckpoint", 4000)?;
    connection.pragma_update(None, "journal_size_limit", 64 << 20)
}

/// SQLite does not wait for others with this one, so the waiting is done here.
fn turn_to_wal(connection: &Connection) -> rusqlite::Result<()> {
    const TRIES: u32 = 100;
    let mut tries = 0;
    loop {
        let result = connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get::<_, String>(0));
        match result {
            Err(error)
                if tries < TRIES && error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy) =>
            {
                tries += 1;
                std::thread::sleep(Duration::from_millis(20));
            }
            other => return other.map(drop),
        }
    }
}

fn version(connection: &Connection, path: &Path) -> Result<usize, StoreError> {
    let found: i64 = connection
        .query_row("PRAGMA user_version", [], |row| row.get(0))
        .map_err(|error| failed(&error, path))?;
    usize::try_from(found).map_err(|_| newer(path, &found))
}

fn newer(path: &Path, found: &dyn std::fmt::Display) -> StoreError {
    StoreError::Unavailable {
        place: path.display().to_string(),
        why: format!(
            "it has version {found}, this program knows up to {}; update the program or use another --store",
            MIGRATIONS.len()
        ),
    }
}

fn check_version(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    // The tables first: somebody who makes them at this moment has written the version by the time they are seen.
    let tables: i64 = connection
        .query_row("SELECT COUNT(*) FROM sqlite_schema", [], |row| row.get(0))
        .map_err(|error| failed(&error, path))?;
    let found = version(connection, path)?;
    if found > MIGRATIONS.len() {
        return Err(newer(path, &found));
    }
    if found == 0 && tables > 0 {
        return Err(StoreError::Unavailable {
            place: path.display().to_string(),
            why: "it is the database of another program; use another --store".to_owned(),
        });
    }
    Ok(())
}

fn migrate(connection: &mut Connection, path: &Path) -> Result<(), StoreError> {
    if version(connection, path)? == MIGRATIONS.len() {
        return Ok(());
    }
    let failed = |error: rusqlite::Error| failed(&error, path);
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
    // Another process may have done it meanwhile.
    for migration in MIGRATIONS.iter().skip(version(&transaction, path)?) {
        transaction.execute_batch(migration).map_err(failed)?;
    }
    let version = i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX);
    transaction.pragma_update(None, "user_version", version).map_err(failed)?;
    transaction.commit().map_err(failed)
}
