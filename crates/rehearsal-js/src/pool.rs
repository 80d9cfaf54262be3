//! The processes that evaluate, started when needed and killed when they do not answer.

use std::io::{self, BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::Semaphore;

use super::program::{Failure, Limits};
use super::worker::{ENGINE_STACK, READY, Request, Response, received, sent};
use super::{DEADLINE, Expression, JsError, LARGEST_OUTPUT, MEMORY, Scope};

const MOST_WORKERS: usize = 4;
const START_DEADLINE: Duration = Duration::from_secs(30);

/// How to start a process that calls [`super::worker_main`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerCommand {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
}

/// Evaluates expressions in processes of their own; clones share the processes.
///
/// A process starts when it is first needed, with an empty environment, serves one evaluation after the other, and
/// ends with the last clone. One that does not answer, or ends, is replaced by a new one.
#[derive(Clone, Debug)]
pub struct Workers {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    command: WorkerCommand,
    deadline: Duration,
    permits: Arc<Semaphore>,
    idle: Mutex<Vec<Worker>>,
}

impl Workers {
    /// Workers that are started with a command; an evaluation may take 250 ms.
    pub fn new(command: WorkerCommand) -> Self {
        Self::with_deadline(command, DEADLINE)
    }

    /// Workers with another limit of time for an evaluation; the process is killed after twice as long.
    pub fn with_deadline(command: WorkerCommand, deadline: Duration) -> Self {
        let most = thread::available_parallelism().map_or(1, |cores| cores.get().min(MOST_WORKERS));
        let permits = Arc::new(Semaphore::new(most));
        Self { shared: Arc::new(Shared { command, deadline, permits, idle: Mutex::default() }) }
    }

    /// Evaluates an expression that may change one of the names of its scope; gives its value, and what that name stands
    /// for afterwards.
    ///
    /// # Errors
    /// As [`evaluate`](Self::evaluate).
    pub async fn evaluate_keeping(
        &self,
        expression: &Expression,
        scope: Scope,
        name: &str,
    ) -> Result<(Value, Value), JsError> {
        let scope = Scope { kept: Some(name.to_owned()), ..scope };
        let mut both = self.evaluate(expression, scope).await?;
        Ok((both["value"].take(), both["kept"].take()))
    }

    /// Evaluates an expression. An evaluation whose caller has gone away still ends, and its answer is dropped.
    pub async fn evaluate(&self, expression: &Expression, scope: Scope) -> Result<Value, JsError> {
        let lost = |source: io::Error| JsError::Worker { place: expression.place.clone(), source };
        let permit = self
            .shared
            .permits
            .clone()
            .acquire_owned()
            .await
            .map_err(|error| lost(io::Error::other(error)))?;
        let shared = self.shared.clone();
        let asked = expression.clone();
        // The wait is in real time on a thread, so that a runtime whose time is paused does not cut it short.
        let work = tokio::task::spawn_blocking(move || {
            let outcome = shared.evaluate(&asked, scope);
            drop(permit);
            outcome
        });
        work.await.map_err(|error| lost(error.into()))?
    }
}

impl Shared {
    fn evaluate(&self, expression: &Expression, scope: Scope) -> Result<Value, JsError> {
        let deadline = self.deadline;
        let mut request = Request {
            id: 0,
            program: expression.program.clone(),
            place: expression.place.clone(),
            scope,
            limits: Limits { deadline, memory: MEMORY, stack: ENGINE_STACK, output: LARGEST_OUTPUT },
        };
        let lost = |source| JsError::Worker { place: expression.place.clone(), source };
        let mut worker = self.worker().map_err(lost)?;
        match worker.ask(&mut request, deadline * 2).map_err(lost)? {
            Some(response) => {
                self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(worker);
                let text = response.outcome.map_err(|failure| expression.error(failure, deadline))?;
                rehearsal_core::json::from_str(text.get()).map_err(|error| lost(error.into()))
            }
            None => Err(expression.error(Failure::TookTooLong, deadline)),
        }
    }

    /// A worker that lives: one that is idle, or a new one.
    fn worker(&self) -> io::Result<Worker> {
        loop {
            let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let Some(mut worker) = idle else { return Worker::start(&self.command) };
            if matches!(worker.child.try_wait(), Ok(None)) {
                return Ok(worker);
            }
        }
    }
}

#[derive(Debug)]
struct Worker {
    child: Child,
    requests: ChildStdin,
    lines: Receiver<io::Result<String>>,
    asked: u64,
}

impl Worker {
    fn start(command: &WorkerCommand) -> io::Result<Self> {
        let mut process = Command::new(&command.program);
        // Local times would make an expression's value depend on the machine.
        process.args(&command.args).env_clear().env("TZ", "UTC");
        process.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        // A person who interrupts the program interrupts only the program; the worker ends with its input.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut process, 0);
        let mut child = process.spawn().map_err(|error| {
            let program = command.program.display();
            io::Error::new(error.kind(), format!("cannot start `{program}`: {error}"))
        })?;
        let (Some(requests), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::Error::other("the worker has no pipes"));
        };
        let (line, lines) = mpsc::channel();
        let mut worker = Self { child, requests, lines, asked: 0 };
        thread::Builder::new().spawn(move || {
            for read in BufReader::new(output).lines() {
                if line.send(read).is_err() {
                    return;
                }
            }
        })?;
        match worker.line(START_DEADLINE)? {
            Some(line) if line == READY => Ok(worker),
            Some(line) => Err(io::Error::other(format!("the worker began with `{line}`"))),
            None => Err(io::Error::new(io::ErrorKind::TimedOut, "the worker did not start within 30 s")),
        }
    }

    /// The answer, or nothing if there is none in time; after anything but an answer the worker is of no more use.
    fn ask(&mut self, request: &mut Request, patience: Duration) -> io::Result<Option<Response>> {
        self.asked += 1;
        request.id = self.asked;
        let mut line = sent(request)?;
        line.push(b'\n');
        let sent = self.requests.write_all(&line).and_then(|()| self.requests.flush());
        sent.map_err(|error| io::Error::new(error.kind(), format!("the worker ended: {error}")))?;
        let Some(line) = self.line(patience)? else { return Ok(None) };
        let response: Response = received(&line)?;
        if response.id != self.asked {
            return Err(io::Error::other("the worker answered another request"));
        }
        Ok(Some(response))
    }

    /// The next line, or nothing if there is none in time.
    fn line(&mut self, patience: Duration) -> io::Result<Option<String>> {
        match self.lines.recv_timeout(patience) {
            Ok(line) => line.map(Some),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => {
                let status = self.child.wait()?;
                Err(io::Error::new(io::ErrorKind::UnexpectedEof, format!("the worker ended ({status})")))
            }
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // Both fail only for a process that has ended and was waited for.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
