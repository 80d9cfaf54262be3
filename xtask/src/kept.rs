//! Programs that live no longer than this one.
//!
//! Each belongs to a shell that reads our end of a pipe. However we end, by Ctrl-C or killed, the pipe closes; the
//! shell then stops the program and removes its folder.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdout, Command, Stdio};

use crate::child;
use crate::failure::Failure;

/// Before the program: a new folder, which goes when the shell does.
pub(crate) const FOLDER: &str = r#"
dir=$(mktemp -d /tmp/rehearsal.XXXXXX) || exit 1
trap 'rm -rf "$dir"' EXIT
"#;

/// After the program, whose process is `$pid`: waits for our end, then stops it. `PostgreSQL` hurries on the first
/// signal; programs that leave it alone do not hear it behind a shell, and stop on the second. None is waited for
/// longer than ten seconds.
pub(crate) const UNTIL_THE_END: &str = r#"
cat >/dev/null
exec 2>/dev/null
kill -INT "$pid"
kill -TERM "$pid"
tenths=0
while kill -0 "$pid" && [ "$tenths" -lt 100 ]; do
    sleep 0.1
    tenths=$((tenths + 1))
done
kill -KILL "$pid"
wait "$pid"
"#;

/// A shell and the program it keeps.
#[derive(Debug)]
pub(crate) struct Kept {
    shell: Child,
    said: BufReader<ChildStdout>,
}

impl Kept {
    /// Starts the shell. `shell` ends with the arguments of `sh` after `-c` and the script.
    pub(crate) fn start(mut shell: Command) -> Result<Self, Failure> {
        // Ctrl-C is for us; the program ends after us, not with us.
        shell.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped());
        let name = child::shown(&shell);
        let name = name.lines().next().unwrap_or_default().to_owned();
        let mut shell =
            shell.spawn().map_err(|error| Failure::new(format!("cannot run `{name}`: {error}")))?;
        let said = shell.stdout.take().ok_or_else(|| Failure::new("a shell without an output"))?;
        Ok(Self { shell, said: BufReader::new(said) })
    }

    /// The next line that the program says; `None` when it has said its last.
    pub(crate) fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        match self.said.read_line(&mut line) {
            Ok(0) | Err(_) => None,
            Ok(_) => Some(line.trim_end().to_owned()),
        }
    }

    /// All that the program still says until it ends by itself.
    pub(crate) fn rest(&mut self) -> String {
        drop(self.shell.stdin.take());
        let lines: Vec<String> = std::iter::from_fn(|| self.line()).collect();
        lines.join("\n")
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        drop(self.shell.stdin.take());
        // The shell is gone or goes now; there is nobody left to tell.
        drop(self.shell.wait());
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn a_program_and_its_folder_go_when_we_let_go() {
        let script = format!("{FOLDER} sleep 600 & pid=$! ; echo $dir ; echo $pid {UNTIL_THE_END}");
        let mut shell = Command::new("sh");
        shell.args(["-c", &script]);
        let mut kept = Kept::start(shell).unwrap();
        let (folder, pid) = (kept.line().unwrap(), kept.line().unwrap());
        let lives = || Command::new("kill").args(["-0", &pid]).stderr(Stdio::null()).status().unwrap();
        assert!(Path::new(&folder).is_dir());
        assert!(lives().success());

        drop(kept);
        assert!(!Path::new(&folder).exists());
        assert!(!lives().success());
    }
}
