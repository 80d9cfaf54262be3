//! Running other programs.

use std::env;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Command, ExitStatus, Stdio};

use crate::failure::Failure;

/// The cargo that runs this chore.
pub(crate) fn cargo() -> Command {
    outside_cargo(Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into())))
}

/// The program as a person would start it, for those that call cargo in turn.
pub(crate) fn outside_cargo(mut command: Command) -> Command {
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

/// Runs a program to its end and returns all it wrote, stdout and stderr in the order they came.
pub(crate) fn capture(command: &mut Command) -> Result<(ExitStatus, String), Failure> {
    let lost = |error: io::Error| Failure::new(format!("lost the output of a child process: {error}"));
    let (mut from, to) = io::pipe().map_err(lost)?;
    command.stdin(Stdio::null()).stdout(to.try_clone().map_err(lost)?).stderr(to);
    let spawned = command.spawn();
    // The command keeps our ends of the pipe, and as long as they are open the output has no end.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = spawned.map_err(|error| cannot_start(command, &error))?;
    let mut bytes = Vec::new();
    from.read_to_end(&mut bytes).map_err(lost)?;
    let status = child.wait().map_err(lost)?;
    Ok((status, String::from_utf8_lossy(&bytes).into_owned()))
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
