//! Where the rows of scenarios come from: files, and commands that print them.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Stdio};

use rehearsal_scenario::CommandLine;

/// The largest file of rows, and the most that a command may print.
const MAX_BYTES: u64 = 1 << 30;

/// The text of a file that a scenario names; the error is in words for people.
pub(crate) fn read(path: &Path) -> Result<String, String> {
    let file = File::open(path).map_err(|error| error.to_string())?;
    text_of(file, "it")
}

fn text_of(from: impl std::io::Read, what: &str) -> Result<String, String> {
    let mut bytes = Vec::new();
    from.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(format!("{what} has more than {MAX_BYTES} bytes"));
    }
    String::from_utf8(bytes).map_err(|_| format!("{what} is not text in UTF-8"))
}

/// What a command prints, run in a folder; what it says on standard error goes to ours.
pub(crate) fn run(command: &CommandLine, folder: &Path) -> Result<String, String> {
    let words: Vec<&str> = match command {
        CommandLine::Shell(line) => vec!["sh", "-c", line],
        CommandLine::Words(words) => words.iter().map(String::as_str).collect(),
    };
    let (program, args) = words.split_first().ok_or("it names no program")?;
    let mut command = Command::new(program);
    command.args(args).current_dir(folder).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command.spawn().map_err(|error| format!("`{program}` cannot be started: {error}"))?;
    let printed =
        child.stdout.take().map_or_else(|| Ok(String::new()), |stdout| text_of(stdout, "what it prints"));
    if printed.is_err() {
        // What it goes on to print is for nobody.
        drop(child.kill());
    }
    let ended = child.wait().map_err(|error| error.to_string())?;
    let printed = printed?;
    if ended.success() { Ok(printed) } else { Err(format!("`{program}` ended with {ended}")) }
}
