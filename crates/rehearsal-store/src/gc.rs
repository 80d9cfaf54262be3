//! What to remove, and the space it leaves.

use std::path::Path;

use crate::{StoreError, file_of, sqlite};

/// Which runs and sessions are old enough to go. Active sessions and those with open cues stay,
/// unless what is unfinished goes too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GcPolicy {
    /// Removes what ended before this moment, in milliseconds since 1970.
    pub before: Option<i64>,
    /// Keeps only so many of the newest runs, and so many of the newest ended sessions that belong to no run.
    pub keep: Option<u32>,
    /// Also removes what never came to an end: sessions that are still active though nothing happened in them since
    /// `before`, and runs with such sessions. What waits for somebody who is there stays. Needs `before`.
    pub unfinished: bool,
    /// Only counts what would go.
    pub dry_run: bool,
}

/// Writes what the log beside a store's file holds into the file, so that the file alone is the whole store and can be
/// sent elsewhere. Elsewhere than in `SQLite` there is nothing to do.
///
/// # Errors
/// The store cannot be opened, or others use it.
pub async fn fold(place: &str) -> Result<(), StoreError> {
    match file_of(place) {
        Some(path) => sqlite::fold(Path::new(path)).await,
        None => Ok(()),
    }
}

/// Gives the disk space of what was removed back to the system, and tells how many bytes that is. Servers may use the
/// store meanwhile. `PostgreSQL` does it by itself: there it is nothing.
///
/// # Errors
/// The store cannot be opened, or others keep it busy for too long. What was removed is gone all the same.
pub async fn give_back(place: &str) -> Result<u64, StoreError> {
    match file_of(place) {
        Some(path) => sqlite::give_back(Path::new(path)).await,
        None => Ok(0),
    }
}
