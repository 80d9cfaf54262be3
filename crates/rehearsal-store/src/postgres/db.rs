//! Statements on a connection, and what PostgreSQL's errors mean.

use std::error::Error as StdError;
use std::fmt;

use bytes::{Bytes, BytesMut};
use deadpool_postgres::GenericClient;
use futures::future::try_join_all;
use tokio_postgres::Error;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};

use super::address::Address;
use crate::StoreError;
use crate::db::{Cell, Db, DbError, Row};

/// A connection or a transaction in which statements run.
pub(super) struct PostgresDb<'c, C> {
    client: &'c C,
    address: &'c Address,
    failure: Option<Failure>,
}

/// Why a transaction failed.
#[derive(Debug)]
pub(super) enum Failure {
    /// It surely had no effect and may work the next time.
    Again(StoreError),
    /// Trying again would not help, or might do it twice.
    Final(StoreError),
}

impl Failure {
    /// Before a commit nothing has had an effect, so whatever may work on another connection is tried again.
    pub(super) fn of(error: &Error, address: &Address) -> Self {
        if is_lost(error) || is_conflict(error) {
            Self::Again(meaning(error, address).into())
        } else {
            Self::Final(meaning(error, address).into())
        }
    }

    /// Once a commit is on its way, only the database's own word says that it had no effect.
    pub(super) fn of_commit(error: &Error, address: &Address) -> Self {
        if is_conflict(error) {
            return Self::Again(meaning(error, address).into());
        }
        if is_lost(error) {
            return Self::Final(StoreError::Unavailable {
                place: address.place(),
                why: format!(
                    "the connection was lost while something was written ({error}); it is not known whether it is \
                     kept: look, and write again if it is not"
                ),
            });
        }
        Self::Final(meaning(error, address).into())
    }
}

impl<'c, C: GenericClient + Sync> PostgresDb<'c, C> {
    pub(super) fn new(client: &'c C, address: &'c Address) -> Self {
        Self { client, address, failure: None }
    }

    /// Why the last statement failed, unless a rule was broken.
    pub(super) fn failure(self) -> Option<Failure> {
        self.failure
    }

    fn note(&mut self, error: &Error) -> DbError {
        let meaning = meaning(error, self.address);
        if matches!(meaning, DbError::Failed(_)) {
            self.failure = Some(Failure::of(error, self.address));
        }
        meaning
    }

    async fn query(&self, sql: &str, binds: &[Cell]) -> Result<Vec<tokio_postgres::Row>, Error> {
        let statement = self.client.prepare_cached(sql).await?;
        self.client.query(&statement, &parameters(binds)).await
    }

    async fn execute(&self, sql: &str, binds: &[Cell]) -> Result<u64, Error> {
        let statement = self.client.prepare_cached(sql).await?;
        self.client.execute(&statement, &parameters(binds)).await
    }

    /// All are on their way before the first has answered.
    async fn execute_all(&self, sql: &str, many: &[Vec<Cell>]) -> Result<(), (usize, Error)> {
        let statement = self.client.prepare_cached(sql).await.map_err(|error| (0, error))?;
        let statement = &statement;
        let all = many.iter().enumerate().map(|(at, binds)| async move {
            self.client.execute(statement, &parameters(binds)).await.map_err(|error| (at, error))
        });
        try_join_all(all).await.map(drop)
    }
}

impl<C: GenericClient + Sync> Db for PostgresDb<'_, C> {
    const LOCK_SESSION: &'static str =
        "SELECT last_seq, source, status, description FROM sessions WHERE id = $1 FOR UPDATE";
    const LOCK_UPLOAD: &'static str = "SELECT size FROM uploads WHERE id = $1 FOR UPDATE";
    const OLDEST_WORK: &'static str = "SELECT number FROM work WHERE host_id = $2 AND taken = 0 \
        AND outcome IS NULL ORDER BY number LIMIT 1 FOR UPDATE SKIP LOCKED";
    const RUN_SUMMARY: &'static str = "CASE WHEN result IS NULL THEN NULL ELSE \
        json_build_object('summary', result::json -> 'summary', 'duration_ms', \
        coalesce(result::json -> 'duration_ms', result::json -> 'durationMs'))::text END";
    const FIND: &'static str = "strpos";

    async fn rows(&mut self, sql: &str, binds: &[Cell]) -> Result<Vec<Row>, DbError> {
        let rows = self.query(sql, binds).await.map_err(|error| self.note(&error))?;
        rows.iter().map(|row| read(row).map_err(|error| self.note(&error))).collect()
    }

    async fn run(&mut self, sql: &str, binds: &[Cell]) -> Result<u64, DbError> {
        self.execute(sql, binds).await.map_err(|error| self.note(&error))
    }

    async fn run_all(&mut self, sql: &str, many: &[Vec<Cell>]) -> Result<(), (usize, DbError)> {
        self.execute_all(sql, many).await.map_err(|(at, error)| (at, self.note(&error)))
    }
}

fn parameters(binds: &[Cell]) -> Vec<&(dyn ToSql + Sync)> {
    binds.iter().map(|cell| cell as &(dyn ToSql + Sync)).collect()
}

fn read(row: &tokio_postgres::Row) -> Result<Row, Error> {
    let cell = |(at, column): (usize, &tokio_postgres::Column)| {
        Ok(match *column.type_() {
            Type::INT8 => row.try_get::<_, Option<i64>>(at)?.into(),
            Type::BYTEA => row.try_get::<_, Option<&[u8]>>(at)?.map(Bytes::copy_from_slice).into(),
            _ => row.try_get::<_, Option<String>>(at)?.into(),
        })
    };
    row.columns().iter().enumerate().map(cell).collect::<Result<_, _>>().map(Row::new)
}

impl ToSql for Cell {
    fn to_sql(&self, kind: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn StdError + Sync + Send>> {
        match self {
            Self::Null => Ok(IsNull::Yes),
            Self::Int(number) => number.to_sql(kind, out),
            Self::Text(text) => text.to_sql(kind, out),
            Self::Bytes(bytes) => (&**bytes).to_sql(kind, out),
        }
    }

    fn accepts(kind: &Type) -> bool {
        matches!(*kind, Type::INT8 | Type::TEXT | Type::BYTEA)
    }

    to_sql_checked!();
}

fn is_lost(error: &Error) -> bool {
    error.is_closed()
        || error.source().is_some_and(<dyn StdError>::is::<std::io::Error>)
        || error.code().is_some_and(|code| {
            // The server was told to stop, or it is not up yet.
            code.code().starts_with("57P") || code.code().starts_with("08")
        })
}

fn is_conflict(error: &Error) -> bool {
    matches!(error.code(), Some(&SqlState::T_R_SERIALIZATION_FAILURE | &SqlState::T_R_DEADLOCK_DETECTED))
}

/// What an error means for whoever asked.
pub(super) fn meaning(error: &Error, address: &Address) -> DbError {
    let Some(said) = error.as_db_error() else {
        return DbError::Failed(address.unavailable(error));
    };
    let code = said.code();
    let words: &dyn fmt::Display = &said.message();
    DbError::Failed(match code.code() {
        "23503" => return DbError::Rule("foreign_key".to_owned()),
        "23505" | "23514" | "23502" => {
            return DbError::Rule(rule(said.constraint().unwrap_or(said.message())));
        }
        "53100" => StoreError::Full(format!("{}: {words}", address.place())),
        "55P03" => StoreError::Locked(format!("{}: {words}", address.place())),
        // A text the database cannot keep, or one that is too long for an index.
        "22021" | "22P05" | "54000" => StoreError::Refused(format!("the store cannot keep it: {words}")),
        _ => address.unavailable(error),
    })
}

/// The name of a broken rule, where several indexes keep one.
fn rule(constraint: &str) -> String {
    match constraint {
        "events_session_id_event_id_key" => "events_pkey",
        "events_turn_request" | "events_turn_response" => "events_turn",
        "events_call_result" => "events_call",
        other => other,
    }
    .to_owned()
}
