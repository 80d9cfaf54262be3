//! A store in one SQLite file.
//!
//! One thread owns the only connection that writes ([`writer`]); what waits for it is committed together, so that
//! many writers share one flush of the disk. Readers have connections of their own and never wait for it.
//!
//! Other processes may use the same file. The database's own lock keeps writers apart, and their commits are noticed
//! by looking at `PRAGMA data_version` twenty times a second while somebody wants to know.

mod db;
mod gc;
mod open;
#[cfg(test)]
mod tests;
mod writer;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use rusqlite::Connection;
use tokio::sync::{Semaphore, broadcast, mpsc, oneshot};

use crate::db::{Engine, Op};
use crate::{Change, StoreError};
use db::SqliteDb;
pub(crate) use gc::{fold, give_back};
use writer::{Job, Message, Writer};

/// How many connections read at the same time.
const READERS: usize = 4;
/// How many writes may wait for the writer. Whoever comes after that waits to get in.
const WAITING: usize = 1024;
/// How many changes a receiver may be behind before it has to look at everything.
const CHANGES: usize = 4096;

/// How a file is opened.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options {
    /// How long to wait for another program that holds the database.
    pub(crate) busy: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self { busy: Duration::from_secs(5) }
    }
}

/// The engine of a SQLite file.
pub(crate) struct Sqlite {
    path: PathBuf,
    options: Options,
    writer: mpsc::Sender<Message>,
    readers: Arc<Mutex<Vec<Connection>>>,
    reading: Arc<Semaphore>,
    changes: broadcast::Sender<Change>,
    // The watcher ends when this is dropped.
    _watcher: std::sync::mpsc::Sender<()>,
}

impl fmt::Debug for Sqlite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sqlite").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Sqlite {
    /// Opens a file, which is made with its folder when it is not there.
    pub(crate) async fn open(path: &Path, options: Options) -> Result<Self, StoreError> {
        let path = path.to_owned();
        let opened = tokio::task::spawn_blocking(move || {
            let connection = open::for_writing(&path, options)?;
            Ok::<_, StoreError>((path, connection))
        });
        let (path, connection) = opened.await.map_err(|error| stopped(Path::new(""), &error))??;
        let (changes, _) = broadcast::channel(CHANGES);
        let (writer, messages) = mpsc::channel(WAITING);
        Writer::start(connection, path.clone(), messages, changes.clone())?;
        let watcher = writer::watch(&writer, changes.clone(), &path)?;
        Ok(Self {
            path,
            options,
            writer,
            readers: Arc::default(),
            reading: Arc::new(Semaphore::new(READERS)),
            changes,
            _watcher: watcher,
        })
    }
}

impl Engine for Sqlite {
    async fn change<O: Op>(&self, op: O) -> Result<O::Output, StoreError> {
        let (reply, answer) = oneshot::channel();
        let job = Message::Work(Box::new(Job::new(op, reply)));
        self.writer.send(job).await.map_err(|_| stopped(&self.path, &"its writer has stopped"))?;
        answer.await.map_err(|_| stopped(&self.path, &"its writer has stopped"))?
    }

    async fn look<O: Op>(&self, op: O) -> Result<O::Output, StoreError> {
        let permit = self.reading.clone().acquire_owned().await;
        let permit = permit.map_err(|error| stopped(&self.path, &error))?;
        let (readers, path, options) = (self.readers.clone(), self.path.clone(), self.options);
        let read = tokio::task::spawn_blocking(move || {
            let free = readers.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let mut connection = match free {
                Some(connection) => connection,
                None => open::for_reading(&path, options)?,
            };
            let output = run(&op, &mut SqliteDb::new(&mut connection, &path), &mut Vec::new());
            readers.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
            drop(permit);
            output
        });
        read.await.map_err(|error| stopped(&self.path, &error))?
    }

    fn changes(&self) -> broadcast::Receiver<Change> {
        self.changes.subscribe()
    }

    fn place(&self) -> String {
        self.path.display().to_string()
    }
}

/// Runs an operation here and now: SQLite never keeps it waiting.
fn run<O: Op>(op: &O, db: &mut SqliteDb<'_>, told: &mut Vec<Change>) -> Result<O::Output, StoreError> {
    op.run(db, told)
        .now_or_never()
        .expect("an operation waits for nothing but the database, which answers at once")
}

fn stopped(path: &Path, why: &dyn fmt::Display) -> StoreError {
    StoreError::Unavailable {
        place: path.display().to_string(),
        why: format!("{why}; start the program again"),
    }
}
