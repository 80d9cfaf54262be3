//! Processes: how they are started, and how every one of them ends.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::io::{self, Write as _};
use std::mem;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rehearsal_core::Clock;
use rehearsal_core::mask::Masker;
use tempfile::NamedTempFile;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::capture::{Captured, Part};
use super::local::{Limits, blocking};
use super::tree::{Pipes, Tree};
use super::{Command, Commands, EnvironmentError, Execution, Language, Program};
use rehearsal_js::WorkerCommand;

/// Code up to this size is an argument; the system refuses arguments of 128 KiB and more.
const ARGUMENT_BYTES: usize = 100 * 1024;

/// Where processes run, and with what.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) folder: PathBuf,
    /// Where code goes that is too long to be an argument.
    pub(super) scripts: PathBuf,
    pub(super) variables: BTreeMap<String, OsString>,
    pub(super) limits: Limits,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) supervisor: Option<WorkerCommand>,
    pub(super) masker: Masker,
    pub(super) commands: Commands,
}

impl Place {
    /// Whether the folder is still there, and has not become a link to another.
    pub(super) fn check(&self) -> Result<(), EnvironmentError> {
        match fs::symlink_metadata(&self.folder) {
            Ok(there) if there.is_dir() => Ok(()),
            _ => Err(EnvironmentError::Gone { folder: self.folder.clone() }),
        }
    }
}

/// Runs a command to its end.
pub(super) async fn run(place: &Place, command: &Command) -> Result<Execution, EnvironmentError> {
    let began = place.clock.monotonic();
    let reads = command.stdin.is_some();
    let start =
        Running::start(place, command.directory.as_deref(), &command.program, &command.variables, reads);
    let (mut running, stdin, pipes) = start.await?;
    let stdout = Captured::new(Part::First, place.limits.output_bytes, place.masker.clone());
    let stderr = Captured::new(Part::First, place.limits.output_bytes, place.masker.clone());
    if let Some(pipe) = pipes.stdout {
        running.pipes.spawn(stdout.clone().read(pipe));
    }
    if let Some(pipe) = pipes.stderr {
        running.pipes.spawn(stderr.clone().read(pipe));
    }
    if let (Some(mut pipe), Some(bytes)) = (stdin, command.stdin.clone()) {
        // A program need not read all it is given.
        running.pipes.spawn(async move { drop(pipe.write_all(&bytes).await) });
    }
    let (status, timed_out) = running.end(&place.limits, command.timeout).await?;
    let (stdout, stdout_omitted) = stdout.text();
    let (stderr, stderr_omitted) = stderr.text();
    Ok(Execution {
        // What a process that was told to end makes of that is not how it ended.
        exit_code: status.and_then(|status| status.code()).filter(|_| !timed_out),
        signal: status.and_then(|status| status.signal()),
        stdout,
        stderr,
        stdout_omitted,
        stderr_omitted,
        timed_out,
        duration: place.clock.since(began),
    })
}

/// Starts a process to talk with.
pub(super) async fn start(
    place: &Place,
    directory: Option<&Path>,
    program: &Program,
    variables: &BTreeMap<String, String>,
) -> Result<Process, EnvironmentError> {
    let (mut running, stdin, pipes) = Running::start(place, directory, program, variables, true).await?;
    let (Some(stdin), Some(stdout), Some(pipe)) = (stdin, pipes.stdout, pipes.stderr) else {
        let source = io::Error::other("it has no pipes");
        return Err(EnvironmentError::Output { program: running.program.clone(), source });
    };
    let stderr = Captured::new(Part::Last, place.limits.errors_bytes, place.masker.clone());
    running.pipes.spawn(stderr.clone().read(pipe));
    let stdout = Lines {
        stream: BufReader::new(stdout),
        line: Vec::new(),
        limit: place.limits.line_bytes,
        program: running.program.clone(),
        masker: place.masker.clone(),
    };
    let background = Background { stderr, running, limits: place.limits.clone() };
    Ok(Process { stdin, stdout, background })
}

/// A running process to talk with, line by line; dropping it ends it and all it started.
///
/// A process that writes much must be read while it is written to, or both wait for each other.
#[derive(Debug)]
pub struct Process {
    /// What it reads.
    pub stdin: ChildStdin,
    /// What it writes.
    pub stdout: Lines,
    background: Background,
}

impl Process {
    /// The end of what it has written as errors so far.
    pub fn stderr(&self) -> String {
        self.background.stderr()
    }

    /// Its input, its output and the process itself.
    pub fn into_parts(self) -> (ChildStdin, BufReader<ChildStdout>, Background) {
        (self.stdin, self.stdout.stream, self.background)
    }

    /// The process alone: it reads nothing, and what it writes is dropped.
    pub fn into_background(self) -> Background {
        let Self { stdin, stdout, mut background } = self;
        drop(stdin);
        background.running.pipes.spawn(Captured::new(Part::First, 0, Masker::default()).read(stdout.stream));
        background
    }

    /// Tells it that nothing more will come, waits for as long as `grace`, then ends it and all it started.
    pub async fn finish(self, grace: Duration) -> Result<Exit, EnvironmentError> {
        // It may have something left to write, and must not wait for a reader.
        self.into_background().finish(grace).await
    }
}

/// A running process that nobody talks with; dropping it ends it and all it started.
#[derive(Debug)]
pub struct Background {
    stderr: Captured,
    running: Running,
    limits: Limits,
}

impl Background {
    /// The end of what it has written as errors so far.
    pub fn stderr(&self) -> String {
        self.stderr.text().0
    }

    /// Waits until it ends by itself.
    pub async fn wait(&mut self) -> Result<Exit, EnvironmentError> {
        self.end(Duration::MAX).await
    }

    async fn finish(mut self, grace: Duration) -> Result<Exit, EnvironmentError> {
        self.end(grace).await
    }

    async fn end(&mut self, patience: Duration) -> Result<Exit, EnvironmentError> {
        let (status, stopped) = self.running.end(&self.limits, patience).await?;
        Ok(Exit {
            exit_code: status.and_then(|status| status.code()),
            signal: status.and_then(|status| status.signal()),
            stderr: self.stderr(),
            stopped,
        })
    }
}

/// How a process that was talked with ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exit {
    /// The code it ended with, unless a signal ended it.
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// The end of what it wrote as errors, up to [`Limits::errors_bytes`].
    pub stderr: String,
    /// It did not end by itself in time.
    pub stopped: bool,
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.exit_code, self.signal) {
            (Some(code), _) => write!(f, "it ended with code {code}"),
            (None, Some(signal)) => write!(f, "signal {signal} ended it"),
            (None, None) => f.write_str("it did not end by itself"),
        }
    }
}

/// What a process writes, line by line.
#[derive(Debug)]
pub struct Lines {
    stream: BufReader<ChildStdout>,
    line: Vec<u8>,
    limit: usize,
    program: String,
    masker: Masker,
}

impl Lines {
    /// The next line without its end, or nothing when there are no more.
    ///
    /// Dropping the future loses nothing: the next call goes on where it was. Bytes that are not UTF-8 are replaced, and secrets
    /// hidden.
    pub async fn next(&mut self) -> Result<Option<String>, EnvironmentError> {
        loop {
            let read = self.stream.fill_buf().await;
            let bytes =
                read.map_err(|source| EnvironmentError::Output { program: self.program.clone(), source })?;
            let end = bytes.iter().position(|byte| *byte == b'\n');
            let piece = &bytes[..end.unwrap_or(bytes.len())];
            if self.line.len() + piece.len() > self.limit {
                return Err(EnvironmentError::LineTooLong {
                    program: self.program.clone(),
                    limit: self.limit,
                });
            }
            self.line.extend_from_slice(piece);
            let (at_end, count) = (bytes.is_empty(), piece.len() + usize::from(end.is_some()));
            self.stream.consume(count);
            if at_end && self.line.is_empty() {
                return Ok(None);
            }
            if at_end || end.is_some() {
                let line = mem::take(&mut self.line);
                let line = line.strip_suffix(b"\r").unwrap_or(&line);
                return Ok(Some(self.masker.mask(&String::from_utf8_lossy(line)).into_owned()));
            }
        }
    }
}

/// Refuses names and values that the system would misread.
pub(super) fn check_variables(variables: &BTreeMap<String, String>) -> Result<(), EnvironmentError> {
    for (name, value) in variables {
        if name.is_empty() || name.contains(['=', '\0']) {
            let what = format!("{name:?} cannot be the name of a variable");
            return Err(EnvironmentError::Unusable { what, hint: "use letters, digits and `_`" });
        }
        if value.contains('\0') {
            let what = format!("the value of the variable `{name}` has a NUL character in it");
            return Err(EnvironmentError::Unusable { what, hint: "remove the character" });
        }
    }
    Ok(())
}

/// A process with all that it started, none of which outlives this value.
#[derive(Debug)]
struct Running {
    program: String,
    tree: Tree,
    pipes: JoinSet<()>,
    /// Code that the process reads; removed with this value.
    _script: Option<NamedTempFile>,
}

impl Running {
    async fn start(
        place: &Place,
        directory: Option<&Path>,
        program: &Program,
        variables: &BTreeMap<String, String>,
        reads: bool,
    ) -> Result<(Self, Option<ChildStdin>, Pipes), EnvironmentError> {
        if place.commands == Commands::Refused {
            let what = "a program would be started, and none may be".to_owned();
            return Err(EnvironmentError::Unusable { what, hint: "leave out `--no-commands`" });
        }
        check_variables(variables)?;
        place.check()?;
        let (argv, script) = arguments(program, place).await?;
        let [program, arguments @ ..] = argv.as_slice() else {
            let what = "a command has no words".to_owned();
            return Err(EnvironmentError::Unusable { what, hint: "name a program" });
        };
        if argv.iter().any(|argument| argument.contains('\0')) {
            let what = format!("what is to be run by {program:?} has a NUL character in it");
            return Err(EnvironmentError::Unusable { what, hint: "remove the character" });
        }
        let supervisor = place.supervisor.as_ref().filter(|_| cfg!(target_os = "linux"));
        let mut command = match supervisor {
            Some(supervisor) => {
                let mut command = tokio::process::Command::new(&supervisor.program);
                command.args(&supervisor.args).arg(program);
                command
            }
            None => tokio::process::Command::new(program),
        };
        command.args(arguments).current_dir(directory.unwrap_or(&place.folder));
        command.env_clear().envs(&place.variables).envs(variables);
        command.stdin(if reads { Stdio::piped() } else { Stdio::null() });
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let started = match supervisor {
            #[cfg(target_os = "linux")]
            Some(_) => Tree::supervise(command, reads).await,
            _ => Tree::start(command),
        };
        let (tree, stdin, pipes) =
            started.map_err(|source| start_error(program, place, directory, source))?;
        let running = Self { program: program.clone(), tree, pipes: JoinSet::new(), _script: script };
        Ok((running, stdin, pipes))
    }

    /// Waits for the process for as long as `patience` and ends whatever is left then; says whether it was stopped.
    async fn end(
        &mut self,
        limits: &Limits,
        patience: Duration,
    ) -> Result<(Option<ExitStatus>, bool), EnvironmentError> {
        let ended = timeout(patience, self.tree.wait()).await;
        let stopped = ended.is_err();
        let status = match ended {
            Ok(status) => Some(status),
            Err(_) => self.stop(limits.grace).await,
        };
        // Output may come from a process that the first one left behind, such as bash's `>(tee log)`.
        self.drained(limits.drain).await;
        self.tree.end().await;
        self.drained(limits.drain).await;
        let status = status.transpose();
        Ok((
            status.map_err(|source| EnvironmentError::Wait { program: self.program.clone(), source })?,
            stopped,
        ))
    }

    /// Asks all processes to end, and ends them when they have not done so after `grace`.
    async fn stop(&mut self, grace: Duration) -> Option<io::Result<ExitStatus>> {
        self.tree.ask();
        let all = async {
            drop(self.tree.wait().await);
            while self.pipes.join_next().await.is_some() {}
        };
        // Whether they have ended or not, what ignored the request is ended now.
        drop(timeout(grace, all).await);
        self.tree.kill().await
    }

    /// Waits until nobody holds the pipes, but not for ever: a process outside the group may never let go.
    async fn drained(&mut self, patience: Duration) {
        drop(timeout(patience, async { while self.pipes.join_next().await.is_some() {} }).await);
    }
}

/// The words to run, and the file that holds the code if it is too long to be one of them.
async fn arguments(
    program: &Program,
    place: &Place,
) -> Result<(Vec<String>, Option<NamedTempFile>), EnvironmentError> {
    let (lang, code) = match program {
        Program::Argv(argv) => return Ok((argv.clone(), None)),
        Program::Shell(line) => (Language::Sh, line),
        Program::Code { lang, code } => (*lang, code),
    };
    let name = lang.program();
    let short = code.len() <= ARGUMENT_BYTES;
    let words = match (lang, short) {
        (Language::Sh | Language::Bash, true) => &[name, "-c", "--"][..],
        (Language::Sh | Language::Bash, false) => &[name, "-c", ". \"$0\""],
        (Language::Python, true) => &[name, "-c"],
        (Language::Python, false) => &[name, "-c", PYTHON_LOADER],
        (Language::Node, true) => &[name, "-e"],
        (Language::Node, false) => &[name, "-e", NODE_LOADER],
    };
    let mut argv: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    if short {
        // Node takes code that begins with `-` for an option.
        let space = if lang == Language::Node && code.starts_with('-') { " " } else { "" };
        argv.push(format!("{space}{code}"));
        return Ok((argv, None));
    }
    let (scripts, code) = (place.scripts.clone(), code.clone());
    let written = blocking(move || {
        let mut script = NamedTempFile::new_in(scripts)?;
        script.write_all(code.as_bytes())?;
        io::Result::Ok(script)
    });
    let script = written.await.flatten().map_err(|source| script_error(name, place, source))?;
    argv.push(script.path().to_string_lossy().into_owned());
    Ok((argv, Some(script)))
}

/// Runs the file named last as if it were the argument of `-c`.
const PYTHON_LOADER: &str =
    r#"exec(compile(open(__import__("sys").argv.pop(), "rb").read(), "<string>", "exec"))"#;

/// Runs the file named last as if it were the argument of `-e`.
const NODE_LOADER: &str = r#"(0, eval)(require("fs").readFileSync(process.argv.pop(), "utf8"))"#;

fn script_error(program: &str, place: &Place, source: io::Error) -> EnvironmentError {
    let why = "its code is too long for an argument and could not be written to a file";
    let hint = format!("make room in `{}`", place.scripts.display());
    EnvironmentError::Start { program: program.to_owned(), why, hint, source }
}

fn start_error(
    program: &str,
    place: &Place,
    directory: Option<&Path>,
    source: io::Error,
) -> EnvironmentError {
    let directory = directory.unwrap_or(&place.folder);
    let is_there = program.contains('/') && directory.join(program).exists();
    let (why, hint) = match source.kind() {
        io::ErrorKind::NotFound if is_there => (
            "the interpreter in its first line was not found",
            "correct the line that begins with `#!`".to_owned(),
        ),
        io::ErrorKind::NotFound => ("it was not found", how_to_get(program)),
        io::ErrorKind::PermissionDenied => {
            ("it may not be run", format!("run `chmod +x` on `{program}`, or name its interpreter first"))
        }
        io::ErrorKind::ArgumentListTooLong => {
            ("its arguments and variables are too long", "hand long text over as input".to_owned())
        }
        _ => ("the system refused", "there may be too many processes or open files; end some".to_owned()),
    };
    EnvironmentError::Start { program: program.to_owned(), why, hint, source }
}

fn how_to_get(program: &str) -> String {
    match program {
        "bash" => "install bash, or write `lang: sh`".to_owned(),
        "node" => "install Node.js, or write the step in another language".to_owned(),
        "python3" => "install Python 3, or write the step in another language".to_owned(),
        name if name.contains('/') => "correct the path; it begins at the scenario's folder".to_owned(),
        name => format!("install `{name}`, or give its full path"),
    }
}
