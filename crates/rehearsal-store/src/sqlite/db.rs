//! Statements on a connection, and what SQLite's errors mean.

use std::future::{Future, ready};
use std::path::Path;

use bytes::Bytes;
use rusqlite::types::{ToSql, ToSqlOutput, ValueRef};
use rusqlite::{Connection, Error, ErrorCode, ffi};

use crate::StoreError;
use crate::db::{Cell, Db, DbError, Row};

/// A connection on which statements run.
pub(crate) struct SqliteDb<'c> {
    connection: &'c mut Connection,
    path: &'c Path,
}

impl<'c> SqliteDb<'c> {
    pub(crate) fn new(connection: &'c mut Connection, path: &'c Path) -> Self {
        Self { connection, path }
    }

    fn rows_now(&mut self, sql: &str, binds: &[Cell]) -> Result<Vec<Row>, Error> {
        let mut statement = self.connection.prepare_cached(sql)?;
        bind(&mut statement, binds)?;
        let columns = statement.column_count();
        let mut rows = statement.raw_query();
        let mut all = Vec::new();
        while let Some(row) = rows.next()? {
            let cells = (0..columns).map(|at| cell(row.get_ref(at)?)).collect::<Result<_, Error>>()?;
            all.push(Row::new(cells));
        }
        Ok(all)
    }

    fn run_now(&mut self, sql: &str, binds: &[Cell]) -> Result<u64, Error> {
        let mut statement = self.connection.prepare_cached(sql)?;
        bind(&mut statement, binds)?;
        Ok(statement.raw_execute()? as u64)
    }

    fn run_all_now(&mut self, sql: &str, many: &[Vec<Cell>]) -> Result<(), (usize, Error)> {
        let mut statement = self.connection.prepare_cached(sql).map_err(|error| (0, error))?;
        for (at, binds) in many.iter().enumerate() {
            bind(&mut statement, binds)
                .and_then(|()| statement.raw_execute())
                .map_err(|error| (at, error))?;
        }
        Ok(())
    }
}

impl Db for SqliteDb<'_> {
    const LOCK_SESSION: &'static str =
        "SELECT last_seq, source, status, description FROM sessions WHERE id = $1";
    const LOCK_UPLOAD: &'static str = "SELECT size FROM uploads WHERE id = $1";
    const OLDEST_WORK: &'static str = "SELECT number FROM work WHERE host_id = $2 AND taken = 0 \
        AND outcome IS NULL ORDER BY number LIMIT 1";
    const RUN_SUMMARY: &'static str = "CASE WHEN result IS NULL THEN NULL ELSE json_object('summary', \
        json(coalesce(json_extract(result, '$.summary'), 'null')), \
        'duration_ms', coalesce(json_extract(result, '$.duration_ms'), json_extract(result, '$.durationMs'))) END";
    const FIND: &'static str = "instr";

    fn rows<'a>(
        &'a mut self,
        sql: &'a str,
        binds: &'a [Cell],
    ) -> impl Future<Output = Result<Vec<Row>, DbError>> + Send + 'a {
        ready(self.rows_now(sql, binds).map_err(|error| meaning(&error, self.path)))
    }

    fn run<'a>(
        &'a mut self,
        sql: &'a str,
        binds: &'a [Cell],
    ) -> impl Future<Output = Result<u64, DbError>> + Send + 'a {
        ready(self.run_now(sql, binds).map_err(|error| meaning(&error, self.path)))
    }

    fn run_all<'a>(
        &'a mut self,
        sql: &'a str,
        many: &'a [Vec<Cell>],
    ) -> impl Future<Output = Result<(), (usize, DbError)>> + Send + 'a {
        ready(self.run_all_now(sql, many).map_err(|(at, error)| (at, meaning(&error, self.path))))
    }
}

impl ToSql for Cell {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Int(number) => ValueRef::Integer(*number),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
            Self::Bytes(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

fn bind(statement: &mut rusqlite::Statement<'_>, binds: &[Cell]) -> Result<(), Error> {
    for (at, cell) in binds.iter().enumerate() {
        statement.raw_bind_parameter(at + 1, cell)?;
    }
    Ok(())
}

fn cell(value: ValueRef<'_>) -> Result<Cell, Error> {
    Ok(match value {
        ValueRef::Null => Cell::Null,
        ValueRef::Integer(number) => Cell::Int(number),
        ValueRef::Text(text) => Cell::Text(
            String::from_utf8(text.to_vec()).map_err(|error| Error::Utf8Error(0, error.utf8_error()))?,
        ),
        ValueRef::Blob(bytes) => Cell::Bytes(Bytes::copy_from_slice(bytes)),
        ValueRef::Real(number) => Cell::Text(number.to_string()),
    })
}

/// What an error means for whoever asked.
pub(super) fn meaning(error: &Error, path: &Path) -> DbError {
    let Error::SqliteFailure(failure, message) = error else {
        return DbError::Failed(StoreError::Corrupt(format!("{}: {error}", path.display())));
    };
    let said = message.as_deref().unwrap_or("no more is known");
    let place = || path.display().to_string();
    DbError::Failed(match failure.code {
        ErrorCode::ConstraintViolation => return DbError::Rule(rule(failure.extended_code, said)),
        ErrorCode::DiskFull => StoreError::Full(format!("{}: {said}", place())),
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => {
            StoreError::Locked(format!("{}: {said}", place()))
        }
        ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => StoreError::Corrupt(format!(
            "{}: {said}; it is no database of this program or it is damaged: use another --store or a copy",
            place()
        )),
        ErrorCode::TooBig => StoreError::Refused(format!("it is larger than the store can keep: {said}")),
        ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::CannotOpen => {
            StoreError::Unavailable {
                place: place(),
                why: format!("{said}; see that this user may write the file and its folder"),
            }
        }
        _ => {
            StoreError::Unavailable { place: place(), why: format!("{said}; see that the disk is in order") }
        }
    })
}

/// The name of a broken rule. SQLite names what a broken unique index is made of instead of the index.
fn rule(code: i32, said: &str) -> String {
    if code == ffi::SQLITE_CONSTRAINT_FOREIGNKEY {
        return "foreign_key".to_owned();
    }
    let Some((_, what)) = said.split_once(" constraint failed: ") else { return said.to_owned() };
    match what {
        "events.event_id" | "events.session_id, events.event_id" => "events_pkey",
        "events.session_id, events.seq" => "events_seq",
        "events.session_id, events.turn_id" => "events_turn",
        "events.session_id, events.call_id" => "events_call",
        "sessions.id" => "sessions_pkey",
        "cues.id" => "cues_pkey",
        "work.id" => "work_id",
        other => other,
    }
    .to_owned()
}
