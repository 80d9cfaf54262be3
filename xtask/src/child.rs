//! Running other programs.

use std::env;
use std::io::{self, BufRead, BufReader, Write};
use std::process::{Command, ExitStatus, Stdio};

use crate::failure::Failure;

/// The cargo that runs this chore.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    // `cargo run` describes xtask to its child through these. Handed on, they would differ from what a
    // person's own cargo sees, and build scripts that watch them would run again each time the two take turns.
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&name);
        }
    }
    command
}

/// Runs a program to its end, its output going where ours goes.
pub(crate) fn run(command: &mut Command) -> Result<ExitStatus, Failure> {
    command.status().map_err(|error| cannot_start(command, &error))
}

/// Runs a program and returns what it wrote to stdout, or a failure that shows what it wrote to stderr.
pub(crate) fn read(command: &mut Command) -> Result<String, Failure> {
    let output = command.stdin(Stdio::null()).output().map_err(|error| cannot_start(command, &error))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(Failure::new(format!("`{}` failed ({})\n{}", shown(command), output.status, said.trim_end())))
}

/// Runs a program to its end; its stdout goes where ours goes, and each line of it also to `line`.
pub(crate) fn tee(command: &mut Command, mut line: impl FnMut(&str)) -> Result<ExitStatus, Failure> {
    let mut child = command.stdout(Stdio::piped()).spawn().map_err(|error| cannot_start(command, &error))?;
    let lost = |error: io::Error| Failure::new(format!("lost the output of a child process: {error}"));
    if let Some(stdout) = child.stdout.take() {
        let mut from = BufReader::new(stdout);
        let mut to = io::stdout().lock();
        let mut bytes = Vec::new();
        while from.read_until(b'\n', &mut bytes).map_err(lost)? > 0 {
            to.write_all(&bytes).and_then(|()| to.flush()).map_err(lost)?;
            line(&String::from_utf8_lossy(&bytes));
            bytes.clear();
        }
    }
    child.wait().map_err(lost)
}

/// The command as a person would type it.
pub(crate) fn shown(command: &Command) -> String {
    let program = std::path::Path::new(command.get_program());
    let program = program.file_name().unwrap_or(command.get_program()).to_string_lossy();
    let args = command.get_args().map(|arg| format!(" {}", arg.to_string_lossy()));
    std::iter::once(program.into_owned()).chain(args).collect()
}

fn cannot_start(command: &Command, error: &io::Error) -> Failure {
    let program = command.get_program().to_string_lossy();
    if error.kind() == io::ErrorKind::NotFound {
        return Failure::new(format!("cannot find `{program}`")).hint("install it, or put it on PATH");
    }
    Failure::new(format!("cannot run `{program}`: {error}"))
}
