//! Checks that authors write themselves: functions in Python and JavaScript, programs, and models that make embeddings.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex as SyncMutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use rehearsal_core::json::{from_str, text};
use rehearsal_core::mask::Masker;
use rehearsal_js::{Expression, Scope, Workers};
use rehearsal_metrics::evaluator::{CheckCommand, CheckProgram, CheckRequest};
use rehearsal_sim::Checker;
use rehearsal_world::environment::{Command, Environment, EnvironmentError, Program};
use rehearsal_world::remote::{Connection, Launcher as _};
use serde_json::{Map, Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::{Mutex, OnceCell};

use super::tools::{Process, Workplace};
use super::{Provide, describe, told};
use crate::compile::BuildModel;
use crate::{CommandLine, ModelChoice};

/// What calls functions of Python's.
const WORKER: &str = include_str!("checks/worker.py");

/// The name of its file.
const WORKER_FILE: &str = "rehearsal_check_worker.py";

/// How long a function of Python's may take.
const PYTHON_TIMEOUT: Duration = Duration::from_mins(2);

/// The longest answer of a function of Python's, in bytes.
const LONGEST_ANSWER: u64 = 8 * 1024 * 1024;

/// The processes that call functions of Python's, for as long as this lives: one for the scenarios of a folder that give
/// their programs the same variables, so that nobody's are seen by another.
#[derive(Clone, Default)]
pub struct PythonWorkers(Arc<SyncMutex<BTreeMap<Surroundings, Arc<PythonWorker>>>>);

/// The folder of scenarios, and the variables that their programs see.
type Surroundings = (PathBuf, BTreeMap<String, String>);

impl fmt::Debug for PythonWorkers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The variables may be secrets.
        f.debug_struct("PythonWorkers").finish_non_exhaustive()
    }
}

impl PythonWorkers {
    fn of(&self, directory: &Path, variables: &BTreeMap<String, String>) -> Arc<PythonWorker> {
        // Nothing that can panic happens while it is held.
        let mut workers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        workers.entry((directory.to_owned(), variables.clone())).or_default().clone()
    }
}

/// Asks the checks of a scenario.
pub(crate) struct Checks {
    /// Evaluates JavaScript.
    pub(crate) scripts: Workers,
    pub(crate) python: PythonWorkers,
    pub(crate) models: Arc<BuildModel>,
    /// Makes a folder for programs.
    pub(crate) provide: Provide,
    pub(crate) folder: OnceCell<Arc<dyn Environment>>,
    /// The folder of the scenario's file.
    pub(crate) directory: PathBuf,
    pub(crate) masker: Masker,
    /// The variables that its programs see.
    pub(crate) variables: BTreeMap<String, String>,
}

impl fmt::Debug for Checks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Checks").field("directory", &self.directory).finish_non_exhaustive()
    }
}

#[async_trait]
impl Checker for Checks {
    async fn check(&self, request: &CheckRequest) -> Result<Value, String> {
        let CheckRequest { program, args, record } = request;
        let mut answer = match program {
            CheckProgram::Python { function } => self.python(function, args, record).await,
            CheckProgram::JavaScript { source } => self.javascript(source, args, record).await,
            CheckProgram::Command { command, timeout_ms } => {
                self.command(command, Duration::from_millis(*timeout_ms), args, record).await
            }
            CheckProgram::Embedding { model } => self.embed(model, record).await,
            other => Err(format!("this program cannot ask {other:?}")),
        }
        .map_err(|why| self.masker.mask(&why).into_owned())?;
        self.masker.mask_value(&mut answer);
        Ok(answer)
    }
}

impl Checks {
    async fn folder(&self) -> Result<&Arc<dyn Environment>, String> {
        let provide = || async { (self.provide.0)() };
        self.folder.get_or_try_init(provide).await.map_err(|error: EnvironmentError| told(&error))
    }

    async fn workplace(&self) -> Result<Workplace, String> {
        let (folder, directory) = (self.folder().await?.clone(), self.directory.clone());
        Ok(Workplace { folder, home: directory.clone(), directory })
    }

    async fn javascript(
        &self,
        source: &str,
        args: &Map<String, Value>,
        record: &Value,
    ) -> Result<Value, String> {
        let expression = Expression::value(source).map_err(|error| error.to_string())?;
        let globals = Map::from_iter([
            ("record".to_owned(), record.clone()),
            ("args".to_owned(), Value::Object(args.clone())),
        ]);
        let scope = Scope {
            // A function is called with what an expression sees.
            handed: Some(vec![record.clone(), Value::Object(args.clone())]),
            globals,
            ..Scope::default()
        };
        let value = self.scripts.evaluate(&expression, scope).await;
        value.map_err(|error| format!("the check failed: {}", told(&error)))
    }

    async fn command(
        &self,
        command: &CheckCommand,
        timeout: Duration,
        args: &Map<String, Value>,
        record: &Value,
    ) -> Result<Value, String> {
        let program = match command {
            CheckCommand::Shell(line) => Program::Shell(line.clone()),
            CheckCommand::Words(words) => Program::Argv(words.clone()),
        };
        let place = self.workplace().await?;
        let mut asked = record.clone();
        asked["args"] = Value::Object(args.clone());
        let command = Command {
            stdin: Some(text(&asked).into_bytes()),
            variables: place.variables(),
            timeout,
            directory: Some(place.home.clone()),
            ..Command::new(program)
        };
        let run = place.folder.run(&command).await.map_err(|error| told(&error))?;
        if run.exit_code != Some(0) || run.timed_out {
            return Err(format!("the check failed: {}", describe(&run)));
        }
        if run.stdout_omitted > 0 {
            return Err("the check wrote more than is kept".to_owned());
        }
        from_str(run.stdout.trim()).map_err(|error| {
            format!(
                "the check wrote no JSON ({error}): {}\n\nhint: its standard output is for its answer, such as \
                 {{\"passed\": true}}; all else belongs on standard error",
                rehearsal_core::shorten(run.stdout.trim(), 200)
            )
        })
    }

    async fn python(
        &self,
        function: &str,
        args: &Map<String, Value>,
        record: &Value,
    ) -> Result<Value, String> {
        let worker = self.python.of(&self.directory, &self.variables);
        let mut live = worker.live.lock().await;
        let mut process = match live.take() {
            Some(process) => process,
            None => self.start_python().await?,
        };
        process.asked += 1;
        let id = process.asked.to_string();
        let asked = json!({"type": "check", "id": id, "function": function, "args": args, "record": record});
        let answered = tokio::time::timeout(PYTHON_TIMEOUT, process.ask(&asked)).await;
        let answer = match answered {
            Ok(Ok(answer)) => answer,
            Ok(Err(why)) => return Err(format!("`{function}`: {why}{}", process.complaint().await)),
            // One that is not waited for any more is ended: what it says next would be taken for something else.
            Err(_) => return Err(format!("`{function}` gave no answer within {PYTHON_TIMEOUT:?}")),
        };
        *live = Some(process);
        match (answer["type"].as_str(), answer["id"].as_str()) {
            (Some("result"), Some(answered)) if answered == id => Ok(of_worker(answer)),
            (Some("failed"), Some(answered)) if answered == id => {
                Err(answer["message"].as_str().unwrap_or("it failed").to_owned())
            }
            _ => {
                *live = None;
                Err(format!("`{function}` wrote something else than its answer: {}", text(&answer)))
            }
        }
    }

    async fn start_python(&self) -> Result<PythonProcess, String> {
        let place = self.workplace().await?;
        let files = [(WORKER_FILE.to_owned(), WORKER.to_owned())];
        place.folder.write(&files).await.map_err(|error| told(&error))?;
        let file = place.folder.folder().join(WORKER_FILE).display().to_string();
        let command = CommandLine::Words(vec!["python3".to_owned(), file]);
        let connection = Process { command, place }.start().await.map_err(|why| {
            format!("Python could not be started: {why}\n\nhint: checks of `type: python` ask for `python3` on the PATH")
        })?;
        let mut process = PythonProcess { connection, asked: 0, _folder: self.folder().await?.clone() };
        let start = json!({"type": "start", "version": 1, "path": [self.directory]});
        match process.ask(&start).await {
            Ok(answer) if answer["type"] == "ready" => Ok(process),
            Ok(answer) => Err(format!("Python did not begin: {}", text(&answer))),
            Err(why) => Err(format!("Python did not begin: {why}{}", process.complaint().await)),
        }
    }

    async fn embed(&self, model: &str, record: &Value) -> Result<Value, String> {
        let built =
            (self.models)("embedding", &ModelChoice::named(model)).map_err(|error| error.to_string())?;
        built.known_as(&self.masker.mask(model));
        let texts = record["texts"].as_array().into_iter().flatten();
        let texts: Vec<String> = texts.filter_map(|text| text.as_str().map(str::to_owned)).collect();
        let embeddings = built.embed(&texts).await.map_err(|error| error.to_string())?;
        Ok(json!({"embeddings": embeddings}))
    }
}

/// What a function answered, without what is the worker's.
fn of_worker(answer: Value) -> Value {
    let Value::Object(mut fields) = answer else { return answer };
    fields.retain(|key, value| !matches!(key.as_str(), "type" | "id") && !value.is_null());
    Value::Object(fields)
}

/// Calls functions of Python's, one after the other.
#[derive(Debug, Default)]
struct PythonWorker {
    live: Mutex<Option<PythonProcess>>,
}

#[derive(Debug)]
struct PythonProcess {
    connection: Connection,
    asked: u64,
    /// Where its file is.
    _folder: Arc<dyn Environment>,
}

impl PythonProcess {
    async fn ask(&mut self, message: &Value) -> Result<Value, String> {
        let Connection { input, output, .. } = &mut self.connection;
        let gone = |error: std::io::Error| format!("its process is gone: {error}");
        let mut line = text(message);
        line.push('\n');
        input.write_all(line.as_bytes()).await.map_err(gone)?;
        input.flush().await.map_err(gone)?;
        let mut answer = String::new();
        let read = output.take(LONGEST_ANSWER).read_line(&mut answer).await.map_err(gone)?;
        if read == 0 || !answer.ends_with('\n') {
            return Err("its process ended, or its answer is too long".to_owned());
        }
        from_str(&answer).map_err(|error| format!("its process wrote no JSON: {error}"))
    }

    /// The end of what it complained of, as lines to be added.
    async fn complaint(&mut self) -> String {
        let guard = &mut self.connection.guard;
        drop(tokio::time::timeout(Duration::from_millis(200), guard.ended()).await);
        let said = guard.stderr_tail();
        let how = guard.exit().map(|exit| format!(" ({exit})")).unwrap_or_default();
        if said.trim().is_empty() { how } else { format!("{how}\n  {}", said.trim().replace('\n', "\n  ")) }
    }
}
