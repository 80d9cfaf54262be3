//! Where a scenario's commands run: a folder of their own, few variables, and an end for every process.
//!
//! [`LocalEnvironment`] is a fresh temporary folder on this machine. It keeps commands apart and cleans up after
//! them; it does not lock them in. A command has the rights of whoever started it, and a process that leaves its
//! process group (`setsid`) is not ended with the others.
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
//! use rehearsal_world::environment::{Command, Environment, LocalEnvironment, LocalOptions, Program};
//!
//! let environment = LocalEnvironment::new(LocalOptions::default())?;
//! environment.write(&[("notes/a.txt".into(), "hello".into())]).await?;
//! let execution = environment.run(&Command::new(Program::Shell("cat notes/a.txt".into()))).await?;
//! assert_eq!((execution.exit_code, execution.stdout.as_str()), (Some(0), "hello"));
//! environment.close().await?;
//! # Ok::<(), rehearsal_world::environment::EnvironmentError>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod capture;
mod files;
mod local;
mod paths;
mod process;
#[cfg(target_os = "linux")]
mod supervise;
mod tree;

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

pub use files::{File, Files};
pub use local::{Limits, LocalEnvironment, LocalOptions};
pub use paths::{PathProblem, check_path, check_paths};
pub use process::{Background, Exit, Lines, Process};
#[cfg(target_os = "linux")]
pub use supervise::supervise_main;

/// Whether the programs that a file names may be started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Commands {
    /// They may.
    #[default]
    Allowed,
    /// None is started.
    Refused,
}

/// A folder in which commands run.
#[async_trait]
pub trait Environment: Send + Sync + fmt::Debug {
    /// Writes files, each a path inside the folder and a content; nothing is written if a path is unusable.
    async fn write(&self, files: &[(String, String)]) -> Result<(), EnvironmentError>;

    /// Runs a command to its end and ends whatever it left running.
    ///
    /// A command that fails or runs out of time is an [`Execution`]; an error is one that could not be run at all.
    async fn run(&self, command: &Command) -> Result<Execution, EnvironmentError>;

    /// The files as they are now.
    async fn files(&self) -> Result<Files, EnvironmentError>;

    /// Removes the folder; a second time does nothing.
    async fn close(&self) -> Result<(), EnvironmentError>;

    /// The folder itself.
    fn folder(&self) -> &Path;

    /// Starts a process to talk with, in `directory` where that is given; it is ended when it is dropped. An environment
    /// that starts none says so: agents that are programs or need a server do not run in it.
    async fn start(
        &self,
        program: &Program,
        variables: &BTreeMap<String, String>,
        directory: Option<&Path>,
    ) -> Result<Process, EnvironmentError> {
        let _ = (program, variables, directory);
        Err(EnvironmentError::Unusable {
            what: "this environment starts no process to talk with".to_owned(),
            hint: "reach the agent by `http` or `chat`, at an address where it runs already",
        })
    }
}

/// Makes the environments of runs, each run its own.
pub trait EnvironmentProvider: Send + Sync + fmt::Debug {
    /// Makes the environment of a run.
    ///
    /// # Errors
    /// Why it cannot be made.
    fn provide(&self, options: LocalOptions) -> Result<Arc<dyn Environment>, EnvironmentError>;
}

/// Makes temporary folders on this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct LocalProvider;

impl EnvironmentProvider for LocalProvider {
    fn provide(&self, options: LocalOptions) -> Result<Arc<dyn Environment>, EnvironmentError> {
        Ok(Arc::new(LocalEnvironment::new(options)?))
    }
}

/// What to run, and with what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// What is run.
    pub program: Program,
    /// What it reads; nothing unless told.
    pub stdin: Option<Vec<u8>>,
    /// Variables it gets beside those of the environment.
    pub variables: BTreeMap<String, String>,
    /// How long it may take.
    pub timeout: Duration,
    /// Where it runs; in the environment's folder unless told.
    pub directory: Option<PathBuf>,
}

impl Command {
    /// A command that reads nothing and may take a minute.
    pub fn new(program: Program) -> Self {
        Self {
            program,
            stdin: None,
            variables: BTreeMap::new(),
            timeout: Duration::from_mins(1),
            directory: None,
        }
    }
}

/// Something that can be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Program {
    /// A line for `sh`.
    Shell(String),
    /// Code in a language.
    ///
    /// JavaScript of more than 100 KiB runs as a script, never as a module.
    Code {
        /// Its language.
        lang: Language,
        /// The code.
        code: String,
    },
    /// A program and its arguments, without a shell.
    Argv(Vec<String>),
}

/// A language in which code steps are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Language {
    /// Run by `sh`.
    Sh,
    /// Run by `bash`; the language of a step that names none.
    #[default]
    Bash,
    /// JavaScript, run by `node`.
    Node,
    /// Run by `python3`.
    Python,
}

impl Language {
    /// The words [`Language::parse`] knows.
    pub const WORDS: [&str; 6] = ["bash", "sh", "node", "javascript", "python", "python3"];

    /// The language that `word` stands for.
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "sh" => Some(Self::Sh),
            "bash" => Some(Self::Bash),
            "node" | "javascript" => Some(Self::Node),
            "python" | "python3" => Some(Self::Python),
            _ => None,
        }
    }

    /// The program that runs it.
    pub fn program(self) -> &'static str {
        match self {
            Self::Sh => "sh",
            Self::Bash => "bash",
            Self::Node => "node",
            Self::Python => "python3",
        }
    }
}

/// What came of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Execution {
    /// The code it ended with, unless a signal ended it.
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// What it wrote, as it wrote it, up to [`Limits::output_bytes`]; bytes that are not UTF-8 are replaced.
    pub stdout: String,
    /// What it wrote as errors, kept in the same way.
    pub stderr: String,
    /// How many bytes of `stdout` came after the limit and were not kept.
    pub stdout_omitted: u64,
    /// How many bytes of `stderr` came after the limit and were not kept.
    pub stderr_omitted: u64,
    /// It did not end by itself in time.
    pub timed_out: bool,
    /// How long it took.
    pub duration: Duration,
}

/// Why something could not be done in an environment.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EnvironmentError {
    /// The folder could not be made.
    #[error(
        "cannot make a folder for the scenario in `{}`\n\nhint: name a folder that exists and can be written to",
        parent.display()
    )]
    Create {
        /// Where it was to be.
        parent: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The folder is not there any more.
    #[error(
        "the scenario's folder `{}` is gone\n\nhint: a command removed or moved it; let commands work inside it",
        folder.display()
    )]
    Gone {
        /// The folder.
        folder: PathBuf,
    },
    /// A path cannot be written to.
    #[error(transparent)]
    Path(#[from] PathProblem),
    /// A file could not be written.
    #[error(
        "cannot write `{path}` in the scenario's folder\n\nhint: a command may have made a folder on its way read-only"
    )]
    Write {
        /// The file.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// The folder could not be read.
    #[error("cannot read the scenario's folder `{}`", folder.display())]
    Read {
        /// The folder.
        folder: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The folder could not be removed.
    #[error("cannot remove the scenario's folder `{}`\n\nhint: remove it by hand", folder.display())]
    Remove {
        /// The folder.
        folder: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// What is to be run makes no sense.
    #[error("{what}\n\nhint: {hint}")]
    Unusable {
        /// What is wrong.
        what: String,
        /// What would be right.
        hint: &'static str,
    },
    /// The program could not be started.
    #[error("cannot start `{program}`: {why}\n\nhint: {hint}")]
    Start {
        /// The program.
        program: String,
        /// What is wrong.
        why: &'static str,
        /// What to change.
        hint: String,
        /// What the system said.
        source: io::Error,
    },
    /// The system lost track of a program.
    #[error("cannot find out how `{program}` ended")]
    Wait {
        /// The program.
        program: String,
        /// Why.
        source: io::Error,
    },
    /// A line of a program's output is too long to be kept.
    #[error(
        "`{program}` wrote a line of more than {limit} bytes\n\nhint: end every message with a newline, and write logs to stderr"
    )]
    LineTooLong {
        /// The program.
        program: String,
        /// The most a line may have.
        limit: usize,
    },
    /// A program's output could not be read.
    #[error("cannot read what `{program}` writes")]
    Output {
        /// The program.
        program: String,
        /// Why.
        source: io::Error,
    },
}
