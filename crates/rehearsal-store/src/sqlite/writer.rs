//! The one thread that writes, and the one that notices what other processes write.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::mpsc::RecvTimeoutError;
use std::thread;
use std::time::Duration;

use rusqlite::Connection;
use tokio::sync::{broadcast, mpsc, oneshot};

use super::db::{SqliteDb, meaning};
use super::run;
use crate::db::Op;
use crate::{Change, StoreError};

/// The most that is committed at once.
const GROUP: usize = 512;
/// How often to look for the commits of other processes.
const LOOK: Duration = Duration::from_millis(50);

/// What the writer is asked.
pub(super) enum Message {
    /// To do something.
    Work(Box<dyn Task>),
    /// To see whether another process has written.
    Look,
}

/// Something to do and somebody to answer.
pub(super) trait Task: Send {
    /// Does it, and says why not if it could not.
    fn run(&mut self, db: &mut SqliteDb<'_>) -> Result<(), StoreError>;
    /// Says that it was undone after all. What failed by itself keeps its own reason.
    fn undo(&mut self, why: &StoreError);
    /// Answers, and says whom to tell.
    fn answer(self: Box<Self>) -> Vec<Change>;
}

/// An operation with whoever waits for it.
pub(super) struct Job<O: Op> {
    op: O,
    told: Vec<Change>,
    result: Option<Result<O::Output, StoreError>>,
    reply: oneshot::Sender<Result<O::Output, StoreError>>,
}

impl<O: Op> Job<O> {
    pub(super) fn new(op: O, reply: oneshot::Sender<Result<O::Output, StoreError>>) -> Self {
        Self { op, told: Vec::new(), result: None, reply }
    }
}

impl<O: Op> Task for Job<O> {
    fn run(&mut self, db: &mut SqliteDb<'_>) -> Result<(), StoreError> {
        let result = run(&self.op, db, &mut self.told);
        let worked = result.as_ref().map(drop).map_err(StoreError::again);
        self.result = Some(result);
        worked
    }

    fn undo(&mut self, why: &StoreError) {
        if !matches!(self.result, Some(Err(_))) {
            self.result = Some(Err(why.again()));
        }
    }

    fn answer(self: Box<Self>) -> Vec<Change> {
        let Self { told, result, reply, .. } = *self;
        let result = result.expect("whatever is answered was run or undone");
        let told = if result.is_ok() { told } else { Vec::new() };
        // Whoever asked may have gone; what was written stays written.
        let _gone = reply.send(result);
        told
    }
}

/// Owns the connection that writes.
pub(super) struct Writer {
    connection: Connection,
    path: PathBuf,
    changes: broadcast::Sender<Change>,
    /// What `PRAGMA data_version` last said: it moves when another connection commits, not with our own commits.
    version: i64,
}

impl Writer {
    pub(super) fn start(
        connection: Connection,
        path: PathBuf,
        messages: mpsc::Receiver<Message>,
        changes: broadcast::Sender<Change>,
    ) -> Result<(), StoreError> {
        let place = path.clone();
        let mut writer = Self { connection, path, changes, version: 0 };
        writer.version = writer.data_version();
        let thread = thread::Builder::new().name("store-writer".to_owned());
        thread.spawn(move || writer.work(messages)).map(drop).map_err(|error| no_thread(&place, &error))
    }

    fn work(mut self, mut messages: mpsc::Receiver<Message>) {
        let mut group = VecDeque::new();
        while let Some(message) = messages.blocking_recv() {
            let mut next = Some(message);
            while let Some(message) = next {
                if let Message::Work(task) = message {
                    group.push_back(task);
                }
                next = if group.len() < GROUP { messages.try_recv().ok() } else { None };
            }
            while !group.is_empty() {
                self.commit(&mut group);
            }
            self.look();
        }
    }

    /// Does as much of the group as one transaction takes, and answers when that is durable.
    fn commit(&mut self, group: &mut VecDeque<Box<dyn Task>>) {
        let mut done = Vec::with_capacity(group.len());
        let outcome = self.transact(group, &mut done);
        if let Err(why) = &outcome {
            // When there was no transaction at all, nobody's work was done.
            if done.is_empty() {
                done.extend(group.drain(..));
            }
            for task in &mut done {
                task.undo(why);
            }
            if !self.connection.is_autocommit() {
                let _undone = self.execute("ROLLBACK");
            }
        }
        for task in done {
            for change in task.answer() {
                let _nobody = self.changes.send(change);
            }
        }
    }

    fn transact(
        &mut self,
        group: &mut VecDeque<Box<dyn Task>>,
        done: &mut Vec<Box<dyn Task>>,
    ) -> Result<(), StoreError> {
        self.execute("BEGIN IMMEDIATE")?;
        while let Some(mut task) = group.pop_front() {
            let worked = match self.execute("SAVEPOINT one") {
                Ok(()) => task.run(&mut SqliteDb::new(&mut self.connection, &self.path)),
                Err(why) => {
                    task.undo(&why);
                    Err(why)
                }
            };
            done.push(task);
            match worked {
                Ok(()) => self.execute("RELEASE one")?,
                // Some failures, such as a full disk, may undo the whole transaction and not only what failed.
                Err(why) if self.connection.is_autocommit() => return Err(why),
                Err(_) => {
                    self.execute("ROLLBACK TO one")?;
                    self.execute("RELEASE one")?;
                }
            }
        }
        self.execute("COMMIT")
    }

    fn execute(&self, sql: &str) -> Result<(), StoreError> {
        let run = self.connection.prepare_cached(sql).and_then(|mut statement| statement.execute([]));
        run.map(drop).map_err(|error| meaning(&error, &self.path).into())
    }

    fn look(&mut self) {
        if self.changes.receiver_count() == 0 {
            return;
        }
        let version = self.data_version();
        if version != self.version {
            self.version = version;
            let _nobody = self.changes.send(Change::Everything);
        }
    }

    fn data_version(&self) -> i64 {
        let read = self.connection.prepare_cached("PRAGMA data_version");
        // What cannot be read now is read the next time, and a number that stays the same tells nobody anything.
        read.and_then(|mut statement| statement.query_row([], |row| row.get(0))).unwrap_or(self.version)
    }
}

/// Asks the writer to look for other processes' commits, again and again, while somebody wants to be told.
/// It ends when what it gives is dropped.
pub(super) fn watch(
    writer: &mpsc::Sender<Message>,
    changes: broadcast::Sender<Change>,
    path: &Path,
) -> Result<std::sync::mpsc::Sender<()>, StoreError> {
    let (stop, stopped) = std::sync::mpsc::channel::<()>();
    // The writer ends when nobody can ask it anything more; the watcher alone must not keep it.
    let writer = writer.downgrade();
    let watch = move || {
        while stopped.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
            if changes.receiver_count() > 0
                && let Some(writer) = writer.upgrade()
            {
                // A writer that has more to do looks by itself.
                let _busy = writer.try_send(Message::Look);
            }
        }
    };
    let thread = thread::Builder::new().name("store-watcher".to_owned());
    thread.spawn(watch).map_err(|error| no_thread(path, &error))?;
    Ok(stop)
}

fn no_thread(path: &Path, error: &std::io::Error) -> StoreError {
    StoreError::Unavailable {
        place: path.display().to_string(),
        why: format!("no thread could be started for it: {error}"),
    }
}
