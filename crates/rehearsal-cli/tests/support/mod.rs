//! Running the built command in a folder of its own.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use expect_test::Expect;
use tempfile::TempDir;

/// A folder with files in which commands are run.
pub(crate) struct Folder(TempDir);

/// What a command came to.
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// What the machine of whoever runs the tests may have set, and the command would act on.
const VARIABLES: [&str; 12] = [
    "CI",
    "NO_COLOR",
    "TERM",
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "ANTHROPIC_API_KEY",
    "GEMINI_API_KEY",
    "REHEARSAL_STORE",
    "REHEARSE_ATTEMPT",
    "REHEARSE_NODE",
    "REHEARSE_SHARD",
    "REHEARSAL_TOKEN",
];

impl Folder {
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let folder = Self(TempDir::new().unwrap());
        for (name, content) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        folder
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// The command with these arguments, separated by spaces.
    pub(crate) fn command(&self, args: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rehearse"));
        command.args(args.split(' ')).current_dir(self.path());
        for name in VARIABLES {
            command.env_remove(name);
        }
        command
    }

    pub(crate) fn run(&self, args: &str) -> Ran {
        Ran::of(&mut self.command(args))
    }
}

impl Ran {
    pub(crate) fn of(command: &mut Command) -> Self {
        command.output().unwrap().into()
    }

    /// Compares the exit code and what was written, with placeholders for what differs each time.
    pub(crate) fn check(&self, expected: &Expect) {
        let Self { code, stdout, stderr } = self;
        let text = format!("exit {code}\n--- stdout\n{stdout}--- stderr\n{stderr}");
        expected.assert_eq(&steady(&text));
    }
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        let (stdout, stderr) = (text(output.stdout), text(output.stderr));
        let code = output.status.code().unwrap_or_else(|| panic!("{}\n{stdout}{stderr}", output.status));
        Self { code, stdout, stderr }
    }
}

/// A text with placeholders for times, seeds and ids.
fn steady(text: &str) -> String {
    let text = after_each(text, "--case-seed ", "SEED", |c| c.is_ascii_digit());
    let text = after_each(&text, "rehearse runs ", "RUN", |c| c.is_ascii_hexdigit());
    let text = after_each(&text, "--resume ", "RUN", |c| c.is_ascii_hexdigit());
    let mut steady = String::new();
    let mut rest = text.as_str();
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        let (before, number) = rest.split_at(at);
        let end = number.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(number.len());
        let (number, after) = number.split_at(end);
        steady.push_str(before);
        let unit = [" ms", " s"].into_iter().find(|unit| {
            after.strip_prefix(unit).is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric()))
        });
        steady.push_str(if unit.is_some() { "TIME" } else { number });
        rest = &after[unit.map_or(0, str::len)..];
    }
    steady + rest
}

fn after_each(text: &str, mark: &str, word: &str, belongs: impl Fn(char) -> bool) -> String {
    let mut parts = text.split(mark);
    let mut steady = parts.next().unwrap().to_owned();
    for part in parts {
        let rest = part.trim_start_matches(&belongs);
        let word = if rest.len() == part.len() { "" } else { word };
        steady = format!("{steady}{mark}{word}{rest}");
    }
    steady
}
