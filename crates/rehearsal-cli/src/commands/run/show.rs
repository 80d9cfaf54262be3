//! Showing what cases came to: as text for people, as JSON for programs.

use std::borrow::Cow;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use rehearsal_core::{CaseResult, Ledger, RunResult, transcript};
use rehearsal_sim::CaseRun;

use super::print::{Detail, Printer};
use crate::error::CommandError;
use crate::load::Colour;
use crate::output;

/// How results are shown.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct Show {
    /// Write the results as JSON to a file, or to standard output with `-`
    #[arg(long, value_name = "FILE|-")]
    json: Option<PathBuf>,
    /// Put the events of all sessions into the JSON as well
    #[arg(long, requires = "json")]
    events: bool,
    /// Put what a terminal shows of each case into the JSON as well, and its transcript
    #[arg(long, requires = "json")]
    reports: bool,
    /// Print only what did not pass
    #[arg(long, short, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Print all transcripts and evaluations
    #[arg(long, short)]
    verbose: bool,
}

/// What results have in JSON beside what cases came to.
#[derive(Clone, Copy)]
pub(super) struct More {
    events: bool,
    reports: bool,
}

impl More {
    /// Whether it is read from the ledgers of a case.
    pub(super) fn reads_ledgers(self) -> bool {
        self.events || self.reports
    }

    pub(super) fn add_to(self, case: &mut CaseResult, run: &CaseRun, told: &Told) {
        if self.reports {
            let printer = Printer { detail: Detail::Verbose, colour: false };
            case.report = Some(printer.case(case, &run.main, told));
            let lines: Vec<String> =
                transcript(run.main.events()).iter().map(|line| line.to_string() + "\n").collect();
            case.transcript = Some(lines.concat());
        }
        if self.events {
            case.events = run.ledgers().flat_map(Ledger::events).cloned().collect();
        }
    }
}

/// What is told of a case beside what it came to.
#[derive(Default)]
pub(crate) struct Told {
    /// Where its ledger was read.
    pub(crate) from: Option<String>,
    /// The command that repeats just this.
    pub(crate) again: Option<String>,
}

impl Show {
    pub(super) fn json_to_stdout(&self) -> bool {
        self.json.as_deref() == Some(Path::new("-"))
    }

    /// The file for the JSON, where it goes to one.
    pub(crate) fn json_file(&self) -> Option<&Path> {
        self.json.as_deref().filter(|_| !self.json_to_stdout())
    }

    /// Whether JSON is wanted at all.
    pub(super) fn wants_json(&self) -> bool {
        self.json.is_some()
    }

    /// What the JSON is to have beside what cases came to.
    pub(super) fn more(&self) -> More {
        More { events: self.events, reports: self.reports }
    }

    /// Whether the ledgers of cases that passed are looked at too.
    pub(super) fn looks_at_all(&self) -> bool {
        self.verbose || self.events || self.reports
    }

    /// How what is for people is written, and where: standard output is data.
    pub(super) fn printer(&self, colour: Colour) -> (Printer, fn(&str)) {
        let detail = match (self.quiet, self.verbose) {
            (true, _) => Detail::Quiet,
            (_, true) => Detail::Verbose,
            _ => Detail::Normal,
        };
        let (write, colour): (fn(&str), bool) = if self.json_to_stdout() {
            (output::message, colour.for_stream(&std::io::stderr()))
        } else {
            (output::data, colour.for_stream(&std::io::stdout()))
        };
        (Printer { detail, colour }, write)
    }

    /// Writes the JSON to its file, if it goes to one.
    pub(crate) fn write(
        &self,
        result: &RunResult,
        runs: &[Arc<CaseRun>],
        told: impl Fn(&CaseResult) -> Told,
    ) -> Result<(), CommandError> {
        match self.json_file() {
            Some(path) => write_file(path, &json(&self.with_more(result, runs, told))?),
            None => Ok(()),
        }
    }

    /// Prints what cases, each called a `noun`, came to. Standard output is data: when the JSON goes there, nothing else
    /// does.
    pub(crate) fn print(
        &self,
        colour: Colour,
        noun: &str,
        result: &RunResult,
        runs: &[Arc<CaseRun>],
        told: impl Fn(&CaseResult) -> Told + Copy,
    ) -> Result<(), CommandError> {
        let (printer, write) = self.printer(colour);
        for (case, run) in result.suite.results.iter().zip(runs) {
            if let Some(text) = printer.case(case, &run.main, &told(case)).strip_suffix('\n') {
                write(text);
            }
        }
        write(&printer.summary(noun, &result.suite, result.duration_ms));
        if self.json_to_stdout() {
            output::json(json(&self.with_more(result, runs, told))?.trim_end());
        }
        Ok(())
    }

    /// The results with what was asked for beside them.
    fn with_more<'a>(
        &self,
        result: &'a RunResult,
        runs: &[Arc<CaseRun>],
        told: impl Fn(&CaseResult) -> Told,
    ) -> Cow<'a, RunResult> {
        if !self.events && !self.reports {
            return Cow::Borrowed(result);
        }
        let mut result = result.clone();
        for (case, run) in result.suite.results.iter_mut().zip(runs) {
            let told = told(case);
            self.more().add_to(case, run, &told);
        }
        Cow::Owned(result)
    }
}

/// A result as the text of a file.
pub(crate) fn json(result: &RunResult) -> Result<String, CommandError> {
    match rehearsal_core::json::to_string_pretty(result) {
        Ok(json) => Ok(json + "\n"),
        Err(error) => Err(CommandError::internal(format_args!("the results cannot be written: {error}"))),
    }
}

/// A word as a shell reads it.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=@,+%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// Makes sure that a file can be written, before a long run has come to something that it should hold.
pub(crate) fn writable(path: &Path) -> Result<(), CommandError> {
    let made = path.parent().map_or(Ok(()), fs::create_dir_all);
    let opened = made.and_then(|()| fs::OpenOptions::new().create(true).append(true).open(path));
    opened.map(drop).map_err(|error| cannot_write(path, &error))
}

pub(crate) fn write_file(path: &Path, text: &str) -> Result<(), CommandError> {
    fs::write(path, text).map_err(|error| cannot_write(path, &error))
}

pub(super) fn cannot_write(path: &Path, error: &std::io::Error) -> CommandError {
    CommandError::setup(format_args!("cannot write `{}`: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_a_shell() {
        assert_eq!(quoted("a/b.yaml"), "a/b.yaml");
        assert_eq!(quoted("it's here"), "'it'\\''s here'");
    }
}
