//! What the steps of one run share: the set-up, one database, one build of the program.

use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::child;
use crate::failure::Failure;
use crate::postgres::{ADDRESS, Postgres};
use crate::setup::{Environment, ORACLE};
use crate::workspace::Workspace;

/// Tests that start `rehearse` find it here.
const BINARY: &str = "REHEARSAL_BIN";

/// What the program can do where it is released, beyond what everybody builds.
pub(crate) const RELEASED: &str = "parquet";

/// What is there so far.
#[derive(Debug)]
pub(super) struct Stage<'a> {
    pub(super) workspace: &'a Workspace,
    postgres: Option<Postgres>,
    binary: Option<PathBuf>,
    has_tried_build: bool,
}

impl<'a> Stage<'a> {
    pub(super) fn new(workspace: &'a Workspace) -> Self {
        Self { workspace, postgres: None, binary: None, has_tried_build: false }
    }

    /// Starts the database that all tests share, unless somebody named one.
    pub(super) fn start_postgres(&mut self) -> Result<(), Failure> {
        match env::var(ADDRESS) {
            Ok(address) if !address.is_empty() => println!("{ADDRESS} names the server to use"),
            _ => {
                let postgres = Postgres::start()?;
                println!("{ADDRESS}={}", postgres.address());
                self.postgres = Some(postgres);
            }
        }
        Ok(())
    }

    /// Builds the program that tests start, as `cargo test` builds it.
    pub(super) fn build(&mut self) -> Result<(), Failure> {
        self.has_tried_build = true;
        let mut cargo = child::cargo();
        cargo.current_dir(&self.workspace.root);
        cargo.args(["build", "--locked", "--package", "rehearsal-cli", "--bin", "rehearse"]);
        cargo.args(["--features", RELEASED]);
        cargo.args(["--message-format", "json-render-diagnostics"]);
        // What the compiler has to say is for people, as it comes.
        let messages = child::read(cargo.stderr(Stdio::inherit()))?;
        self.binary = messages.lines().find_map(executable);
        let binary = self.binary.as_ref().ok_or_else(|| Failure::new("cargo built no `rehearse`"))?;
        println!("{BINARY}={}", binary.display());
        Ok(())
    }

    pub(super) fn has_tried_build(&self) -> bool {
        self.has_tried_build
    }

    /// The program that tests start.
    pub(super) fn binary(&self) -> Result<&Path, Failure> {
        self.binary.as_deref().ok_or_else(|| {
            Failure::new("there is no `rehearse` to test").hint("see above why it could not be built")
        })
    }

    /// A folder that this step is about. A step that has nothing to check has not passed.
    pub(super) fn folder(&self, name: &str, with: &str) -> Result<PathBuf, Failure> {
        let folder = self.workspace.root.join(name);
        if folder.join(with).exists() {
            return Ok(folder);
        }
        Err(Failure::new(format!("there is no `{name}/{with}`, which this step checks"))
            .hint("run this where the whole project is checked out"))
    }

    /// A program of a Python environment, which finds the others of that environment on PATH.
    pub(super) fn program(&self, environment: &Environment, name: &str) -> Command {
        environment.command(self.workspace, name)
    }

    /// Tells a command of tests where everything is.
    pub(super) fn equip(&self, command: &mut Command) {
        command.env("REHEARSAL_ORACLE_PYTHON", ORACLE.program(self.workspace, "python"));
        // Hundreds of tests start a Python of their own, whose packages are compiled by the first of them and by no other.
        command.env_remove("PYTHONDONTWRITEBYTECODE");
        command.env("PYTHONPYCACHEPREFIX", self.workspace.target.join("python/bytecode"));
        if let Some(postgres) = &self.postgres {
            command.env(ADDRESS, postgres.address());
        }
        if let Some(binary) = &self.binary {
            command.env(BINARY, binary);
        }
    }
}

/// The path in a message of cargo's that it linked a program.
pub(crate) fn executable(message: &str) -> Option<PathBuf> {
    #[expect(clippy::disallowed_methods, reason = "cargo writes no large numbers")]
    let message: Value = serde_json::from_str(message).ok()?;
    message["executable"].as_str().map(PathBuf::from)
}

/// `cargo xtask setup` as a process of its own, so that it can go on beside steps that do not need it.
#[derive(Debug)]
pub(super) struct Setup {
    process: Child,
    /// What it says, unless it says it to our own output.
    log: Option<PathBuf>,
}

impl Setup {
    /// Starts it, to be heard at once.
    pub(super) fn start() -> Result<Self, Failure> {
        Ok(Self { process: Self::spawn(&mut Self::command()?)?, log: None })
    }

    /// Starts it, to be heard when it is waited for.
    pub(super) fn start_aside(workspace: &Workspace) -> Result<Self, Failure> {
        let folder = workspace.target.join("xtask");
        let log = folder.join("setup.log");
        let cannot = |error| Failure::new(format!("cannot write `{}`: {error}", log.display()));
        fs::create_dir_all(&folder).map_err(cannot)?;
        let file = File::create(&log).map_err(cannot)?;
        let mut command = Self::command()?;
        command.stdout(file.try_clone().map_err(cannot)?).stderr(file);
        Ok(Self { process: Self::spawn(&mut command)?, log: Some(log) })
    }

    pub(super) fn wait(mut self) -> Result<(), Failure> {
        let status = self.process.wait();
        if let Some(log) = &self.log {
            print!("{}", fs::read_to_string(log).unwrap_or_default());
        }
        match status {
            Ok(status) if status.success() => Ok(()),
            Ok(_) => Err(Failure::new("the set-up failed").hint("see above for the cause")),
            Err(error) => Err(Failure::new(format!("lost the set-up: {error}"))),
        }
    }

    fn command() -> Result<Command, Failure> {
        let xtask =
            env::current_exe().map_err(|error| Failure::new(format!("cannot find this program: {error}")))?;
        let mut command = Command::new(xtask);
        command.arg("setup");
        Ok(command)
    }

    fn spawn(command: &mut Command) -> Result<Child, Failure> {
        command.spawn().map_err(|error| Failure::new(format!("cannot start the set-up: {error}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_the_one_that_cargo_linked() {
        let message =
            r#"{"reason":"compiler-artifact","target":{"name":"rehearse"},"executable":"/t/debug/rehearse"}"#;
        assert_eq!(executable(message), Some(PathBuf::from("/t/debug/rehearse")));
        assert_eq!(executable(r#"{"reason":"compiler-artifact","executable":null}"#), None);
        assert_eq!(executable(r#"{"reason":"build-finished","success":true}"#), None);
        assert_eq!(executable("   Compiling rehearsal-cli"), None);
    }
}
