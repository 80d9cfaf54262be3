//! `rehearse check`.

use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;

use crate::commands::run::show;
use crate::error::CommandError;
use crate::findings::Finding;
use crate::load::{Completeness, Loaded, Outcome, Selection};
use crate::output;

/// Check scenario files without running them.
///
/// Shows every problem of every file: the place, the line with the place marked, and what would be right. Keys that
/// have no effect are errors, because a setting that is accepted but not acted on would be a silent pass.
#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    selection: Selection,
    /// Write what was found as JSON to a file, or to standard output with `-`: the problems of each file, and its cases
    #[arg(long, value_name = "FILE|-")]
    json: Option<PathBuf>,
}

pub(crate) fn run(args: &CheckArgs) -> Result<(), CommandError> {
    let outcome = args.selection.load(Completeness::AsWritten)?;
    let to_stdout = args.json.as_deref() == Some(Path::new("-"));
    match args.json.as_deref() {
        Some(path) if !to_stdout => show::write_file(path, &(text(&outcome)? + "\n"))?,
        Some(_) => output::json(&text(&outcome)?),
        None => {}
    }
    outcome.refuse_nothing_chosen()?;
    let told = summary(&outcome);
    if to_stdout {
        output::message(&told);
    } else {
        output::data(&told);
    }
    if outcome.unusable == 0 { Ok(()) } else { Err(CommandError::shown()) }
}

fn summary(outcome: &Outcome) -> String {
    let cases = outcome.usable.len();
    let mut paths: Vec<&Path> = outcome.usable.iter().map(|loaded| &*loaded.path).collect();
    paths.dedup();
    let (usable, unusable) = (paths.len(), outcome.unusable);
    let mut parts = vec![format!("{usable} can be used")];
    if cases > usable {
        parts[0] = format!("{usable} can be used, with {cases} cases");
    }
    if unusable > 0 {
        parts.push(format!("{unusable} cannot"));
    }
    match outcome.warnings {
        0 => {}
        1 => parts.push("1 warning".to_owned()),
        many => parts.push(format!("{many} warnings")),
    }
    let plural = if usable + unusable == 1 { "" } else { "s" };
    format!("{} file{plural}: {}", usable + unusable, parts.join(", "))
}

/// What was found, as programs read it.
#[derive(Serialize)]
struct Found<'a> {
    version: u32,
    files: Vec<FoundFile<'a>>,
}

#[derive(Serialize)]
struct FoundFile<'a> {
    file: String,
    usable: bool,
    problems: &'a [Finding],
    #[serde(skip_serializing_if = "is_none_left_out")]
    problems_left_out: usize,
    cases: Vec<FoundCase>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_none_left_out(left_out: &usize) -> bool {
    *left_out == 0
}

#[derive(Serialize)]
struct FoundCase {
    name: String,
    line: usize,
    #[serde(skip_serializing_if = "String::is_empty")]
    description: String,
    tags: Vec<String>,
}

fn text(outcome: &Outcome) -> Result<String, CommandError> {
    let files = outcome.files.iter().map(|file| FoundFile {
        file: file.path.display().to_string(),
        usable: file.is_usable,
        problems: &file.problems,
        problems_left_out: file.left_out,
        cases: outcome.usable.iter().filter(|loaded| *loaded.path == file.path).map(FoundCase::of).collect(),
    });
    let found = Found { version: 1, files: files.collect() };
    rehearsal_core::json::to_string_pretty(&found).map_err(CommandError::internal)
}

impl FoundCase {
    fn of(loaded: &Loaded) -> Self {
        let scenario = loaded.scenario();
        Self {
            name: scenario.name.clone(),
            line: loaded.line,
            description: scenario.description.clone(),
            tags: scenario.tags.clone(),
        }
    }
}
