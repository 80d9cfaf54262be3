//! `rehearse import --tau2` and `--bfcl`: other people's benchmarks as scenario files.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use rehearsal_exchange::bfcl::{self, BfclOptions};
use rehearsal_exchange::tau2::{self, Tau2Options};
use rehearsal_exchange::{Import, ImportError, Note, REPORT_FILE, Report};
use serde_json::{Value, json};

use super::ImportArgs;
use crate::commands::run::show::quoted;
use crate::error::CommandError;
use crate::output;

/// How many files that stand in the way are named.
const SHOWN: usize = 5;

/// Reads the tasks of tau2-bench that are wanted.
pub(super) fn tau2(args: &ImportArgs, folder: &Path) -> Result<(), CommandError> {
    let options =
        Tau2Options { domains: args.domain.clone(), tasks: args.task.clone(), basis_only: args.basis_only };
    keep(args, folder, tau2::import(folder, &options).map_err(|error| refused(&error))?)
}

/// Reads the entries of BFCL that are wanted.
pub(super) fn bfcl(args: &ImportArgs, folder: &Path) -> Result<(), CommandError> {
    let options = BfclOptions { entries: args.entry.clone() };
    keep(args, folder, bfcl::import(folder, &options).map_err(|error| refused(&error))?)
}

/// The models that the scenarios ask for, as the command line names them.
fn parts(files: &[(PathBuf, String)]) -> String {
    let asks = |word: &str| files.iter().any(|(path, text)| is_scenario(path) && text.contains(word));
    let wanted = [("agent", "agent"), ("user", "user_simulator:"), ("judge", "llm_judge")];
    let named = wanted.iter().filter(|(_, word)| asks(word));
    let named: Vec<String> = named.map(|(part, _)| format!(" --model {part}=openai:gpt-4o")).collect();
    named.concat()
}

fn is_scenario(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "yaml")
}

fn refused(error: &ImportError) -> CommandError {
    let refused = match error {
        ImportError::Read { .. } => CommandError::setup(error),
        _ => CommandError::user(error),
    };
    refused.hints(error.hint())
}

/// Writes the files, and says what came of it.
fn keep(args: &ImportArgs, source: &Path, import: Import) -> Result<(), CommandError> {
    let Some(folder) = &args.to else {
        return Err(
            CommandError::user("nothing says where the scenarios go").hint("name a folder: --to FOLDER")
        );
    };
    let report = import.report.clone();
    let files = import.into_files();
    write(folder, &files, args.force)?;
    let next = next(folder, source, &parts(&files));
    if args.json {
        output::value(&described(folder, &report, &next));
    } else {
        tell(folder, &report, &next);
    }
    Ok(())
}

/// Writes all files, or none: what is there already and differs is only replaced where that was asked for.
fn write(folder: &Path, files: &[(PathBuf, String)], force: bool) -> Result<(), CommandError> {
    let failed = |what: &str, path: &Path, error: std::io::Error| {
        CommandError::setup(format_args!("cannot {what} `{}`: {error}", path.display()))
    };
    let mut changed = Vec::new();
    let mut in_the_way = Vec::new();
    for (name, text) in files {
        let path = folder.join(name);
        match fs::read(&path) {
            Ok(there) if there == text.as_bytes() => continue,
            Ok(_) => in_the_way.push(format!("`{}`", path.display())),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(failed("read", &path, error)),
        }
        changed.push((path, text));
    }
    if !in_the_way.is_empty() && !force {
        let more = in_the_way.len().saturating_sub(SHOWN);
        let named = in_the_way.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        let verb = if in_the_way.len() == 1 {
            "is there already and differs"
        } else {
            "are there already and differ"
        };
        return Err(CommandError::user(format_args!("{named}{more} {verb}, so nothing was written"))
            .hint("`--force` replaces what differs, and `--to` names another folder"));
    }
    fs::create_dir_all(folder).map_err(|error| failed("make the folder", folder, error))?;
    for (path, text) in changed {
        fs::write(&path, text).map_err(|error| failed("write", &path, error))?;
    }
    Ok(())
}

/// The command that runs what was written. Worlds are started by `python3`: where the data lies in an environment of
/// Python's own, that is the one.
fn next(folder: &Path, source: &Path, parts: &str) -> String {
    let source = fs::canonicalize(source).unwrap_or_else(|_| source.to_owned());
    let environment = source.ancestors().find(|each| each.join("pyvenv.cfg").is_file());
    let path = environment
        .map(|each| format!("PATH={}:\"$PATH\" ", quoted(&each.join("bin").display().to_string())));
    let folder = quoted(&folder.display().to_string());
    format!("{}rehearse run {folder}{parts}", path.unwrap_or_default())
}

fn tell(folder: &Path, report: &Report, next: &str) {
    let counted = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let written = counted(report.written(), "scenario");
    output::data(&format!("{}: {written} in {}", report.source, folder.display()));
    for task in report.tasks.iter().filter(|task| task.file.is_none()) {
        let why: Vec<String> = task.notes.iter().map(ToString::to_string).collect();
        output::data(&format!("not written: {}: {}", task.task, why.join("; ")));
    }
    print_notes("not as it was, in all of them", report.every_task.iter().map(ToString::to_string));
    let of_some = of_some(report);
    let some =
        of_some.iter().map(|(note, tasks)| format!("{note} (in {})", counted(tasks.len(), "scenario")));
    print_notes("in some of them", some);
    output::data(&format!("task by task: {}", folder.join(REPORT_FILE).display()));
    output::data(&format!("\nnext:\n  {next}"));
}

fn print_notes(heading: &str, notes: impl Iterator<Item = String>) {
    for (index, note) in notes.enumerate() {
        if index == 0 {
            output::data(&format!("{heading}:"));
        }
        output::data(&format!("  {}", output::one_line(&note)));
    }
}

/// What some of the written ones have beside what holds for all, and which ones have it. A number in it does not make
/// it another thing.
fn of_some(report: &Report) -> BTreeMap<String, Vec<&str>> {
    let mut found: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for task in report.tasks.iter().filter(|task| task.file.is_some()) {
        for Note { change, what, why } in &task.notes {
            let what = what.trim_end_matches(|letter: char| letter.is_ascii_digit());
            let tasks = found.entry(format!("{change} {}: {why}", what.trim_end())).or_default();
            if tasks.last() != Some(&task.task.as_str()) {
                tasks.push(&task.task);
            }
        }
    }
    found
}

fn described(folder: &Path, report: &Report, next: &str) -> Value {
    json!({
        "source": report.source,
        "folder": folder.display().to_string(),
        "written": report.written(),
        "report": report,
        "next": next,
    })
}
