//! `cargo xtask test`: all that a change has to pass, in one command.

use std::fmt;
use std::io::{self, Write};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};

use crate::failure::Failure;
use crate::workspace::Workspace;
use crate::{child, doors, setup};

/// Set up what the tests need, then run every check.
///
/// All steps run even when one fails. The last line is always `N passed, N failed`: each test counts as one,
/// and so does each step that has no tests, such as fmt. A step whose build fails counts as one failed.
///
/// The tests find the Python with the oracle packages through `REHEARSAL_ORACLE_PYTHON`, which this command
/// sets.
#[derive(Debug, Args)]
pub(crate) struct TestArgs {
    /// Run only this step; may be given several times
    #[arg(long, value_name = "STEP")]
    only: Vec<Step>,
    /// List the steps in the order they run, and do nothing else
    #[arg(long, conflicts_with = "only")]
    list: bool,
}

/// One thing to check. They run in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Step {
    /// The code is formatted
    Fmt,
    /// Clippy has nothing to say
    Clippy,
    /// Crates depend only on those below them
    Doors,
    /// Unit and integration tests
    Test,
    /// The examples in the documentation
    DocTest,
    /// The documentation builds without a warning
    Doc,
}

/// Runs the steps; the exit code is 0 when something ran and nothing failed.
pub(crate) fn run(workspace: &Workspace, args: &TestArgs) -> ExitCode {
    if args.list {
        return list();
    }
    let chosen = |step: &&Step| args.only.is_empty() || args.only.contains(step);
    let steps: Vec<Step> = Step::value_variants().iter().filter(chosen).copied().collect();

    let mut summary = Summary::default();
    if steps.iter().any(|step| step.needs_setup()) {
        summary.time("setup", || setup::install(workspace).map(|()| Counts::default()));
    }
    for step in steps {
        summary.time(&step.name(), || step.run(workspace));
    }
    println!("\n{summary}");
    if summary.is_passed() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn list() -> ExitCode {
    for step in Step::value_variants() {
        let value = step.to_possible_value();
        let help = value.as_ref().and_then(|value| value.get_help()).map(ToString::to_string);
        println!("{:<9} {}", step.name(), help.unwrap_or_default());
    }
    ExitCode::SUCCESS
}

impl Step {
    /// The name as typed after `--only`.
    fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    fn needs_setup(self) -> bool {
        matches!(self, Self::Test | Self::DocTest)
    }

    fn run(self, workspace: &Workspace) -> Result<Counts, Failure> {
        let mut cargo = child::cargo();
        cargo.current_dir(&workspace.root);
        match self {
            Self::Fmt => check(cargo.args(["fmt", "--all", "--check"])),
            Self::Clippy => check(
                cargo
                    .args(["clippy", "--workspace", "--all-targets", "--all-features", "--locked"])
                    .args(["--", "-D", "warnings"]),
            ),
            Self::Doors => Ok(Counts::of_check(doors::run(workspace) == ExitCode::SUCCESS)),
            Self::Test => {
                let targets = ["--lib", "--bins", "--tests", "--examples"];
                let counts = cargo_test(cargo.args(["test", "--workspace"]).args(targets), workspace)?;
                // A run that finds no test to run has shown nothing.
                Ok(if counts.passed == 0 {
                    Counts { failed: counts.failed.max(1), ..counts }
                } else {
                    counts
                })
            }
            Self::DocTest => cargo_test(cargo.args(["test", "--workspace", "--doc"]), workspace),
            Self::Doc => {
                let flags = std::env::var("RUSTDOCFLAGS").unwrap_or_default();
                cargo.env("RUSTDOCFLAGS", format!("{flags} -D warnings").trim_start());
                check(cargo.args(["doc", "--workspace", "--no-deps", "--locked"]))
            }
        }
    }
}

/// A program that has no tests of its own to count: one check.
fn check(command: &mut Command) -> Result<Counts, Failure> {
    Ok(Counts::of_check(child::run(command)?.success()))
}

fn cargo_test(cargo: &mut Command, workspace: &Workspace) -> Result<Counts, Failure> {
    cargo.args(["--locked", "--no-fail-fast"]);
    cargo.env("REHEARSAL_ORACLE_PYTHON", setup::oracle_python(workspace));
    let mut counts = Counts::default();
    let status = child::tee(cargo, |line| {
        if let Some(more) = Counts::parse(line) {
            counts.add(more);
        }
    })?;
    // A build that fails, or a test program that dies, ends without a line to count.
    if !status.success() {
        counts.failed = counts.failed.max(1);
    }
    Ok(counts)
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    passed: usize,
    failed: usize,
    ignored: usize,
}

impl Counts {
    fn of_check(passed: bool) -> Self {
        if passed { Self { passed: 1, ..Self::default() } } else { Self { failed: 1, ..Self::default() } }
    }

    fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.ignored += other.ignored;
    }

    /// Reads the line with which a test program ends: `test result: ok. 3 passed; 0 failed; 1 ignored; …`.
    fn parse(line: &str) -> Option<Self> {
        let line = without_colour(line);
        let (_, counts) = line.strip_prefix("test result: ")?.split_once(". ")?;
        let mut found = Self::default();
        for part in counts.split(';') {
            match part.trim().split_once(' ') {
                Some((count, "passed")) => found.passed = count.parse().ok()?,
                Some((count, "failed")) => found.failed = count.parse().ok()?,
                Some((count, "ignored")) => found.ignored = count.parse().ok()?,
                _ => {}
            }
        }
        Some(found)
    }
}

/// The line without the escape sequences that a test program writes when it is told to use colour.
fn without_colour(line: &str) -> String {
    let mut parts = line.split('\x1b');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |plain, part| {
        let end = part.find(|each: char| each.is_ascii_alphabetic()).map_or(part.len(), |at| at + 1);
        plain + &part[end..]
    })
}

/// What each step came to. Shown as a table with the total as its last line.
#[derive(Debug, Default)]
struct Summary {
    rows: Vec<Row>,
}

#[derive(Debug)]
struct Row {
    name: String,
    counts: Counts,
    took: Duration,
}

impl Summary {
    /// Runs a step between its header and its time. A step that could not be run has failed.
    fn time(&mut self, name: &str, step: impl FnOnce() -> Result<Counts, Failure>) {
        println!("\n=== {name}");
        // What the step writes to stderr must not come before its header.
        drop(io::stdout().flush());
        let start = now();
        let counts = step().unwrap_or_else(|failure| {
            eprintln!("{failure}");
            Counts::of_check(false)
        });
        let row = Row { name: name.to_owned(), counts, took: now().duration_since(start) };
        println!("=== {name}: {} in {:.1} s", row.result(), row.took.as_secs_f64());
        self.rows.push(row);
    }

    fn total(&self) -> Counts {
        let mut total = Counts::default();
        self.rows.iter().for_each(|row| total.add(row.counts));
        total
    }

    fn is_passed(&self) -> bool {
        let total = self.total();
        total.failed == 0 && total.passed > 0
    }
}

impl Row {
    fn result(&self) -> &'static str {
        if self.counts.failed == 0 { "ok" } else { "FAILED" }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for row in &self.rows {
            let Counts { passed, failed, ignored } = row.counts;
            write!(f, "{:<9} {:<6} {:>7.1} s", row.name, row.result(), row.took.as_secs_f64())?;
            write!(f, "  {passed:>5} passed {failed:>5} failed")?;
            if ignored > 0 {
                write!(f, " {ignored:>5} ignored")?;
            }
            writeln!(f)?;
        }
        let Counts { passed, failed, .. } = self.total();
        write!(f, "{passed} passed, {failed} failed")
    }
}

#[expect(clippy::disallowed_methods, reason = "how long a step took is for people; nothing depends on it")]
fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_from_the_last_line_of_a_test_program() {
        let counts = |passed, failed, ignored| Some(Counts { passed, failed, ignored });
        for (line, expected) in [
            (
                "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 3 filtered out\n",
                counts(12, 0, 1),
            ),
            (
                "test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out\n",
                counts(1, 2, 0),
            ),
            ("test result: \x1b[32mok\x1b[m. 4 passed; 0 failed; 0 ignored\n", counts(4, 0, 0)),
            ("test result::parses ... ok\n", None),
            ("running 12 tests\n", None),
        ] {
            assert_eq!(Counts::parse(line), expected, "{line}");
        }
    }

    #[test]
    fn the_last_line_is_the_total() {
        let mut summary = Summary::default();
        summary.time("first", || Ok(Counts { passed: 3, failed: 0, ignored: 2 }));
        assert!(summary.is_passed());
        summary.time("second", || Err(Failure::new("no such program")));
        assert!(!summary.is_passed());
        assert_eq!(summary.to_string().lines().last(), Some("3 passed, 1 failed"));
    }

    #[test]
    fn nothing_run_is_not_passed() {
        assert!(!Summary::default().is_passed());
    }
}
