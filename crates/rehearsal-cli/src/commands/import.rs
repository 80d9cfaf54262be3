//! `rehearse import`.

mod benchmark;

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};

use clap::{ArgGroup, Args};
use rehearsal_adk::{Conversation, Dialect, EvalCase, EvalSet, ImportError, Imported, MAX_BYTES, Note};
use serde_json::{Value, json};

use crate::commands::sessions::keep_ledger;
use crate::error::CommandError;
use crate::place::Place;
use crate::{output, shelf};

/// Read an ADK `EvalSet` file, a benchmark, or keep a ledger.
///
/// Says what an `EvalSet` file holds, in whatever form it is written, and names everything in it that is not acted on.
/// What ADK refuses is refused. `--evalset OUT` writes it in the present form, with all that it says but what is named as
/// dropped; `rehearse eval` runs it. A ledger (`*.jsonl`) is kept as a session.
///
/// `--tau2` and `--bfcl` write the tasks of tau2-bench and the multi-turn entries of the Berkeley Function-Calling
/// Leaderboard as scenario files. Each has a world in Python over the original tools, which are not copied: `python3` has
/// to find them when the scenarios run. What is not as it was there is said, and stands in `loss-report.json`.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("benchmark").args(["tau2", "bfcl"]), after_long_help = "\
Examples:
  rehearse import old.test.json
  rehearse import old.test.json --evalset new.evalset.json
  rehearse import refund.jsonl
  rehearse import --tau2 venv/lib/python3.11/site-packages --to tau2 --domain airline
  rehearse import --bfcl venv/lib/python3.11/site-packages --to bfcl --entry multi_turn_base_0

Exit codes: 0 it can be used; 2 it cannot.")]
pub(crate) struct ImportArgs {
    /// An `EvalSet` file, in the present form or one of the older lists; or a ledger (`*.jsonl`)
    #[arg(value_name = "FILE", required_unless_present_any = ["tau2", "bfcl"], conflicts_with_all = ["tau2", "bfcl"])]
    file: Option<PathBuf>,
    /// Write it as an `EvalSet` of the present form to a new file
    #[arg(long, value_name = "OUT", conflicts_with_all = ["tau2", "bfcl"])]
    evalset: Option<PathBuf>,
    /// tau2-bench: the folder `tau2/data` of the Python package inspect-evals, or one that has it
    #[arg(long, value_name = "DIR", requires = "to", conflicts_with = "bfcl", help_heading = BENCHMARKS)]
    tau2: Option<PathBuf>,
    /// BFCL: the folder `data` of the Python package bfcl-eval, or one that has it
    #[arg(long, value_name = "DIR", requires = "to", help_heading = BENCHMARKS)]
    bfcl: Option<PathBuf>,
    /// Where the scenarios go; the folder is made where it is missing
    #[arg(long, value_name = "FOLDER", requires = "benchmark", help_heading = BENCHMARKS)]
    to: Option<PathBuf>,
    /// Of tau2-bench, only this domain: `airline`, `telecom` (its small split) or `retail`; may be given several times
    /// [default: airline and telecom]
    #[arg(long, value_name = "DOMAIN", requires = "tau2", help_heading = BENCHMARKS)]
    domain: Vec<String>,
    /// Of tau2-bench, only the task with this id; may be given several times
    #[arg(long, value_name = "ID", requires = "tau2", help_heading = BENCHMARKS)]
    task: Vec<String>,
    /// Of tau2-bench, leave out the natural-language assertions that do not count in its own reward
    #[arg(long, requires = "tau2", help_heading = BENCHMARKS)]
    basis_only: bool,
    /// Of BFCL, only the entry with this id; may be given several times
    #[arg(long, value_name = "ID", requires = "bfcl", help_heading = BENCHMARKS)]
    entry: Vec<String>,
    /// Replace files of scenarios that are there already and differ
    #[arg(long, requires = "benchmark", help_heading = BENCHMARKS)]
    force: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    place: Place,
}

/// What the options of benchmarks stand under.
const BENCHMARKS: &str = "Benchmarks";

pub(crate) fn run(args: &ImportArgs) -> Result<(), CommandError> {
    match (&args.tau2, &args.bfcl, &args.file) {
        (Some(folder), _, _) => benchmark::tau2(args, folder),
        (None, Some(folder), _) => benchmark::bfcl(args, folder),
        (None, None, Some(file)) if file.extension().is_some_and(|end| end == "jsonl") => keep(args, file),
        (None, None, Some(file)) => convert(args, file),
        (None, None, None) => Err(CommandError::user("nothing says what is to be read").hint("name a file")),
    }
}

fn keep(args: &ImportArgs, file: &Path) -> Result<(), CommandError> {
    if args.evalset.is_some() {
        let keep = format!("rehearse import {}", file.display());
        let instead = format!("keep it with `{keep}`, then `rehearse export SESSION --evalset FILE`");
        return Err(CommandError::user("a ledger is no EvalSet").hint(instead));
    }
    let id = shelf::block_on(keep_ledger(&args.place, file))?;
    if args.json {
        output::value(&json!({"session": id}));
    } else {
        output::data(&format!("kept as session {id}"));
    }
    Ok(())
}

fn convert(args: &ImportArgs, file: &Path) -> Result<(), CommandError> {
    let imported = read_eval_set(file)?;
    if let Some(path) = &args.evalset {
        write_new(path, &imported.to_json())?;
    }
    if args.json {
        output::value(&described(args, file, &imported));
        return Ok(());
    }
    let cases = &imported.set.eval_cases;
    let plural = if cases.len() == 1 { "" } else { "s" };
    output::data(&format!(
        "{}: {} `{}` with {} case{plural}",
        file.display(),
        form(imported.dialect),
        output::one_line(&imported.set.eval_set_id),
        cases.len()
    ));
    for case in cases {
        output::data(&format!("  {}  {}", output::one_line(&case.eval_id), extent(case)));
    }
    print_notes("not acted on", imported.notes.iter().filter(|note| !note.is_dropped));
    print_notes("dropped", imported.notes.iter().filter(|note| note.is_dropped));
    if let Some(path) = &args.evalset {
        output::data(&format!("wrote {}", path.display()));
    }
    Ok(())
}

fn print_notes<'n>(heading: &str, notes: impl Iterator<Item = &'n Note>) {
    for (index, note) in notes.enumerate() {
        if index == 0 {
            output::data(&format!("{heading}:"));
        }
        output::data(&format!("  {}", output::one_line(&note.to_string())));
    }
}

/// The `EvalSet` of a file; what its older forms leave without a name is named after it.
pub(crate) fn read_eval_set(path: &Path) -> Result<Imported, CommandError> {
    let failed =
        |error: std::io::Error| CommandError::user(format_args!("cannot read `{}`: {error}", path.display()));
    let refused = |error: ImportError| CommandError::user(error).about(format_args!("`{}`", path.display()));
    let mut bytes = Vec::new();
    let file = fs::File::open(path).map_err(failed)?;
    // What is no file, such as a pipe, has no length; there the bound is that of what is read.
    let length = file.metadata().map_err(failed)?.len();
    if length > MAX_BYTES as u64 {
        return Err(refused(ImportError::TooLarge { bytes: length }));
    }
    file.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(failed)?;
    let text = String::from_utf8(bytes)
        .map_err(|_| CommandError::user(format_args!("`{}` is not text in UTF-8", path.display())))?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = name.split('.').next().filter(|name| !name.is_empty()).unwrap_or("eval_set");
    EvalSet::read_named(&text, name).map_err(refused)
}

fn write_new(path: &Path, text: &str) -> Result<(), CommandError> {
    let made = OpenOptions::new().write(true).create_new(true).open(path);
    made.and_then(|mut file| file.write_all(text.as_bytes())).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => {
            CommandError::user(format_args!("`{}` is there already, so nothing was written", path.display()))
                .hint("name a new file")
        }
        _ => CommandError::setup(format_args!("cannot write `{}`: {error}", path.display())),
    })
}

fn form(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::EvalSet => "an EvalSet",
        Dialect::LegacyCases => "an older list of cases",
        Dialect::LegacyQueries => "an older list of queries",
    }
}

fn extent(case: &EvalCase) -> String {
    match &case.conversation {
        Conversation::Scenario(_) => "a plan for a simulated user, which cannot be run here".to_owned(),
        Conversation::Static(invocations) => {
            let calls: usize =
                invocations.iter().map(|invocation| invocation.intermediate_data.tool_uses.len()).sum();
            let counted = |count: usize, what: &str| {
                let plural = if count == 1 { "" } else { "s" };
                format!("{count} {what}{plural}")
            };
            format!("{}, {}", counted(invocations.len(), "message"), counted(calls, "tool call"))
        }
    }
}

fn described(args: &ImportArgs, file: &Path, imported: &Imported) -> Value {
    let cases: Vec<Value> = imported
        .set
        .eval_cases
        .iter()
        .map(|case| {
            let messages = case.invocations().map(<[_]>::len);
            json!({"eval_id": case.eval_id, "messages": messages})
        })
        .collect();
    let notes = |is_dropped: bool| -> Vec<Value> {
        let notes = imported.notes.iter().filter(|note| note.is_dropped == is_dropped);
        notes.map(|note| json!({"path": note.path, "why": note.why})).collect()
    };
    let dialect = match imported.dialect {
        Dialect::EvalSet => "eval_set",
        Dialect::LegacyCases => "legacy_cases",
        Dialect::LegacyQueries => "legacy_queries",
    };
    json!({
        "path": file.display().to_string(),
        "eval_set_id": imported.set.eval_set_id,
        "dialect": dialect,
        "cases": cases,
        "not_acted_on": notes(false),
        "dropped": notes(true),
        "written": args.evalset.as_ref().map(|path| path.display().to_string()),
    })
}
