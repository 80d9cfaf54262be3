//! What the operations of a store ask of a database.
//!
//! Every operation is written once, on [`Db`], and SQLite and PostgreSQL differ only below it. So both keep the same
//! things by the same rules, in the same words.

use std::fmt;
use std::future::Future;

use bytes::Bytes;
use tokio::sync::broadcast;

use crate::{Change, StoreError};

/// A value on its way into a database or out of it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Cell {
    Null,
    Int(i64),
    Text(String),
    Bytes(Bytes),
}

impl From<i64> for Cell {
    fn from(number: i64) -> Self {
        Self::Int(number)
    }
}

impl From<u64> for Cell {
    fn from(number: u64) -> Self {
        Self::Int(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<Bytes> for Cell {
    fn from(bytes: Bytes) -> Self {
        Self::Bytes(bytes)
    }
}

impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// A row that was read. Columns are taken from the left.
#[derive(Debug)]
pub(crate) struct Row(std::vec::IntoIter<Cell>);

impl Row {
    pub(crate) fn new(cells: Vec<Cell>) -> Self {
        Self(cells.into_iter())
    }

    pub(crate) fn text(&mut self) -> Result<String, StoreError> {
        self.text_or_none()?.ok_or_else(|| odd("nothing where a text should be"))
    }

    pub(crate) fn text_or_none(&mut self) -> Result<Option<String>, StoreError> {
        match self.0.next() {
            Some(Cell::Text(text)) => Ok(Some(text)),
            Some(Cell::Null) => Ok(None),
            other => Err(odd(format!("{other:?} where a text should be"))),
        }
    }

    pub(crate) fn int(&mut self) -> Result<i64, StoreError> {
        self.int_or_none()?.ok_or_else(|| odd("nothing where a number should be"))
    }

    pub(crate) fn int_or_none(&mut self) -> Result<Option<i64>, StoreError> {
        match self.0.next() {
            Some(Cell::Int(number)) => Ok(Some(number)),
            Some(Cell::Null) => Ok(None),
            other => Err(odd(format!("{other:?} where a number should be"))),
        }
    }

    pub(crate) fn count(&mut self) -> Result<u64, StoreError> {
        let number = self.int()?;
        u64::try_from(number).map_err(|_| odd(format!("{number} where a count should be")))
    }

    pub(crate) fn bytes(&mut self) -> Result<Bytes, StoreError> {
        match self.0.next() {
            Some(Cell::Bytes(bytes)) => Ok(bytes),
            other => Err(odd(format!("{other:?} where bytes should be"))),
        }
    }

    pub(crate) fn json<T: serde::de::DeserializeOwned>(&mut self) -> Result<T, StoreError> {
        let text = self.text()?;
        rehearsal_core::json::from_str(&text)
            .map_err(|error| odd(format!("JSON that cannot be read: {error}")))
    }

    pub(crate) fn json_or_none<T: serde::de::DeserializeOwned>(&mut self) -> Result<Option<T>, StoreError> {
        let Some(text) = self.text_or_none()? else { return Ok(None) };
        rehearsal_core::json::from_str(&text)
            .map(Some)
            .map_err(|error| odd(format!("JSON that cannot be read: {error}")))
    }
}

pub(crate) fn odd(what: impl Into<String>) -> StoreError {
    StoreError::Corrupt(what.into())
}

/// Why a statement failed.
#[derive(Debug)]
pub(crate) enum DbError {
    /// A rule of the database is broken: the name of the constraint or trigger, the same in both databases.
    Rule(String),
    /// Anything else.
    Failed(StoreError),
}

impl From<DbError> for StoreError {
    fn from(error: DbError) -> Self {
        match error {
            DbError::Rule(rule) => Self::Refused(format!("it breaks the store's rule `{rule}`")),
            DbError::Failed(error) => error,
        }
    }
}

/// A database in which statements run, one after the other.
///
/// Parameters are written `$1`, `$2`, …, and SQLite numbers them in the order in which they first appear: so they
/// first appear in the order of their numbers.
pub(crate) trait Db: Send {
    /// Reads `last_seq`, `source`, `status` and `description` of a session and keeps other writers away from it.
    const LOCK_SESSION: &'static str;
    /// Reads the size of an upload and keeps other writers away from it.
    const LOCK_UPLOAD: &'static str;
    /// The oldest piece of work for a host (`$2`) that nobody takes at the same time.
    const OLDEST_WORK: &'static str;
    /// What a run came to in short: `{"summary": …}`, or nothing while it has no result.
    const RUN_SUMMARY: &'static str;
    /// The function that finds a text in another.
    const FIND: &'static str;

    /// Runs a statement and gives its rows.
    fn rows<'a>(
        &'a mut self,
        sql: &'a str,
        binds: &'a [Cell],
    ) -> impl Future<Output = Result<Vec<Row>, DbError>> + Send + 'a;

    /// Runs a statement and gives the number of rows it changed.
    fn run<'a>(
        &'a mut self,
        sql: &'a str,
        binds: &'a [Cell],
    ) -> impl Future<Output = Result<u64, DbError>> + Send + 'a;

    /// Runs a statement once for each of these parameters, and tells which of them failed.
    fn run_all<'a>(
        &'a mut self,
        sql: &'a str,
        many: &'a [Vec<Cell>],
    ) -> impl Future<Output = Result<(), (usize, DbError)>> + Send + 'a;
}

/// The first row, if there is one.
pub(crate) async fn first<D: Db>(db: &mut D, sql: &str, binds: &[Cell]) -> Result<Option<Row>, StoreError> {
    Ok(db.rows(sql, binds).await?.into_iter().next())
}

/// Something a store does. It may be tried again from its beginning, and says whom to tell when it is durable.
pub(crate) trait Op: Send + Sync + 'static {
    type Output: Send + 'static;

    fn run<D: Db>(
        &self,
        db: &mut D,
        told: &mut Vec<Change>,
    ) -> impl Future<Output = Result<Self::Output, StoreError>> + Send;
}

/// What runs operations: one that is durable when it answers, and one that only looks.
pub(crate) trait Engine: fmt::Debug + Send + Sync + 'static {
    fn change<O: Op>(&self, op: O) -> impl Future<Output = Result<O::Output, StoreError>> + Send;

    fn look<O: Op>(&self, op: O) -> impl Future<Output = Result<O::Output, StoreError>> + Send;

    fn changes(&self) -> broadcast::Receiver<Change>;

    fn place(&self) -> String;
}
