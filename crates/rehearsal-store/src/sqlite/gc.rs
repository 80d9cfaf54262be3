//! Giving disk space back.

use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;

use super::{Options, open, stopped};
use crate::StoreError;

/// How many pages are moved at once: others can write in between.
const PIECE: u32 = 2048;
/// How long to wait for those who still read an older state.
const READERS: Duration = Duration::from_millis(500);
/// A file that has to be written anew for it is, when at least this part of it is free.
const WORTH: u64 = 4;

/// Makes the file as small as what it holds, and tells by how many bytes.
///
/// Files are made such that free pages can be cut off a few at a time. One of an earlier version is written anew once,
/// which keeps other writers waiting; from then on it is like the others.
pub(crate) async fn give_back(path: &Path) -> Result<u64, StoreError> {
    let own = path.to_owned();
    let done = tokio::task::spawn_blocking(move || {
        let connection = open::for_writing(&own, Options::default())?;
        shrink(&connection).map_err(|error| open::failed(&error, &own))
    });
    done.await.map_err(|error| stopped(path, &error))?
}

/// Writes the log back into the file.
pub(crate) async fn fold(path: &Path) -> Result<(), StoreError> {
    let own = path.to_owned();
    let done = tokio::task::spawn_blocking(move || {
        let connection = open::for_writing(&own, Options::default())?;
        let row = |row: &rusqlite::Row<'_>| row.get::<_, i64>(0);
        let is_busy = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], row);
        match is_busy.map_err(|error| open::failed(&error, &own))? {
            0 => Ok(()),
            _ => Err(StoreError::Locked("somebody reads what is in its log".to_owned())),
        }
    });
    done.await.map_err(|error| stopped(path, &error))?
}

fn shrink(connection: &Connection) -> rusqlite::Result<u64> {
    // The copy of a large file has no place in memory.
    connection.pragma_update(None, "temp_store", "DEFAULT")?;
    let before = number(connection, "page_count")?;
    let free = number(connection, "freelist_count")?;
    if number(connection, "auto_vacuum")? == u64::from(open::INCREMENTAL) {
        let (mut left, mut last) = (free, u64::MAX);
        // What others free meanwhile is theirs to give back.
        while left > 0 && left < last {
            step(connection, &format!("PRAGMA incremental_vacuum({PIECE})"))?;
            (left, last) = (number(connection, "freelist_count")?, left);
        }
    } else if free > 0 && free * WORTH >= before {
        connection.pragma_update(None, "auto_vacuum", open::INCREMENTAL)?;
        step(connection, "VACUUM")?;
    }
    // The file itself shrinks when the log is written back. Where somebody reads an older state, that happens later:
    // writers wait with us.
    connection.busy_timeout(READERS)?;
    step(connection, "PRAGMA wal_checkpoint(TRUNCATE)")?;
    let pages = before.saturating_sub(number(connection, "page_count")?);
    Ok(pages * number(connection, "page_size")?)
}

fn number(connection: &Connection, pragma: &str) -> rusqlite::Result<u64> {
    let found: i64 = connection.query_row(&format!("PRAGMA {pragma}"), [], |row| row.get(0))?;
    Ok(u64::try_from(found).unwrap_or_default())
}

/// Runs a statement to its end: each row may be one more page that is done.
fn step(connection: &Connection, sql: &str) -> rusqlite::Result<()> {
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query([])?;
    while rows.next()?.is_some() {}
    Ok(())
}
