//! A run as Parquet files, for the engines with which people analyse data.
//!
//! [`Tables`] writes four files: `cases`, `evaluations`, `events` and `usage`, with a row for each. Their columns are
//! flat and typed; what has no column of its own stands in the last one, `json`, as the program keeps it. Rows are
//! written as they come, a group at a time, so that a large run takes no more memory than a small one.
//!
//! The feature `parquet` has the writer. Without it [`Tables::create`] says so.

#[cfg(not(feature = "parquet"))]
mod absent;
#[cfg_attr(not(feature = "parquet"), expect(dead_code, reason = "what writes them is not built in"))]
mod columns;
#[cfg(feature = "parquet")]
mod folder;
#[cfg_attr(not(feature = "parquet"), expect(dead_code, reason = "what writes them is not built in"))]
mod rows;
#[cfg(feature = "parquet")]
mod sheet;
mod tables;
#[cfg(feature = "parquet")]
mod write;

use std::error::Error;
use std::path::PathBuf;

use rehearsal_core::{SessionId, SessionPart};

#[cfg(not(feature = "parquet"))]
pub use absent::Tables;
pub use columns::{ColumnAbout, ColumnKind};
pub use tables::{TableAbout, tables};
#[cfg(feature = "parquet")]
pub use write::Tables;

/// The version of the tables, which stands in each file. Columns may be added without a new one.
pub const TABLES_VERSION: u32 = 1;

/// What is known of a run whose cases are exported.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExportedRun {
    /// Its id.
    pub id: String,
    /// What somebody called it.
    pub name: Option<String>,
    /// The commit it was run from.
    pub commit: Option<String>,
    /// The branch it was run from.
    pub branch: Option<String>,
    /// When it began, in milliseconds since 1970.
    pub started_at: i64,
}

/// A case that is exported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportedCase {
    /// Its place in the suite, from 0.
    pub place: u64,
    /// What it came to: a [`CaseResult`](rehearsal_core::CaseResult) as JSON.
    pub result: String,
    /// Its sessions.
    pub sessions: Vec<ExportedSession>,
}

/// A session of a case that is exported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportedSession {
    /// Its id in the store.
    pub id: SessionId,
    /// The part it plays.
    pub part: SessionPart,
    /// Its events, a line of JSON each.
    pub lines: Vec<u8>,
}

/// What may be done with files that are there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replace {
    /// Nothing.
    Nothing,
    /// Those of an earlier export are replaced.
    Exports,
}

/// A table that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenTable {
    /// What it is called.
    pub name: &'static str,
    /// The file.
    pub path: PathBuf,
    /// How many rows it has.
    pub rows: u64,
    /// How many bytes.
    pub bytes: u64,
}

/// Why a run could not be exported.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// What writes Parquet is not built in.
    #[error("this build writes no Parquet: it has not the feature `parquet`")]
    NotBuiltIn,
    /// A file is there already.
    #[error("`{}` is there already", .0.display())]
    Taken(PathBuf),
    /// A file that is there already came from elsewhere.
    #[error("`{}` is no file of an earlier export, so it is not replaced", .0.display())]
    Foreign(PathBuf),
    /// A folder or a file cannot be written.
    #[error("`{}` cannot be written", .path.display())]
    Unwritable {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// A table cannot be written.
    #[error("the table `{table}` cannot be written")]
    Table {
        /// Which.
        table: &'static str,
        /// Why.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// What a case came to cannot be read.
    #[error("the result of the case at place {place} cannot be read")]
    Result {
        /// The place of the case.
        place: u64,
        /// Why.
        #[source]
        source: serde_json::Error,
    },
    /// An event cannot be read.
    #[error("event {number} of session `{session}` cannot be read")]
    Event {
        /// The session.
        session: SessionId,
        /// Which of its lines, from 1.
        number: usize,
        /// Why.
        #[source]
        source: serde_json::Error,
    },
}
