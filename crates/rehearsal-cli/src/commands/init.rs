//! `rehearse init`.

use std::fs;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use clap::Args;
use rehearsal_core::Ledger;
use rehearsal_scenario::{Recorded, scenario_schema};
use rehearsal_store::read_ledger;

use crate::commands::run::show::quoted;
use crate::error::CommandError;
use crate::place::Place;
use crate::{output, shelf};

/// Write a first scenario, or one from a session.
///
/// Writes `hello.scenario.yaml`: small, with a remark on every part, and passing as it is, without a key and without a
/// network. With `--from` it is a session that was recorded: its messages are the steps, what the tools gave are mocks,
/// the calls that were made are what is asked, and what the model answered is its script. `scenario.schema.json` beside
/// it tells editors what a scenario may hold. A file that is there already is never overwritten unless you say so.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  rehearse init scenarios
  rehearse run scenarios

  rehearse init scenarios --from 9d55a1c2
  rehearse init --from 9d55a1c2 --out scenarios/refund.scenario.yaml")]
pub(crate) struct InitArgs {
    /// The folder, which is made where it is missing
    #[arg(value_name = "DIR", default_value = ".")]
    folder: PathBuf,
    /// Make it from this session: its id, or at least 4 characters of its beginning
    #[arg(long, value_name = "SESSION")]
    from: Option<String>,
    /// The file that is written [default: a name made from the scenario's, in DIR]
    #[arg(long, value_name = "FILE", requires = "from", conflicts_with = "folder")]
    out: Option<PathBuf>,
    /// Replace a file that is there already
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    place: Place,
}

/// The file with the schema, beside the scenarios of a folder.
const SCHEMA: &str = "scenario.schema.json";

const NAME: &str = "hello.scenario.yaml";

const HELLO: &str = include_str!("init/hello.scenario.yaml");

pub(crate) fn run(args: &InitArgs) -> Result<(), CommandError> {
    if let Some(session) = &args.from {
        let (ledger, id) = shelf::block_on(async {
            let store = args.place.open_kept().await?;
            let id = shelf::find_session(&*store, session).await?.id;
            let ledger = read_ledger(&*store, &id).await.map_err(CommandError::setup)?;
            Ok((ledger, id))
        })?;
        return write_session(&ledger, id.as_str(), args.out.as_deref(), &args.folder, args.force);
    }
    let folder = &args.folder;
    let path = within(folder, NAME);
    write_with_schema(&path, &format!("{}\n{HELLO}", schema_line()), args.force)?;
    output::data(&next(&path, folder));
    Ok(())
}

/// Writes a session as a scenario, into a file or else into a folder under the scenario's name.
pub(crate) fn write_session(
    ledger: &Ledger,
    session: &str,
    file: Option<&Path>,
    folder: &Path,
    force: bool,
) -> Result<(), CommandError> {
    let recorded = Recorded::from_ledger(ledger, session, Some(&format!("./{SCHEMA}"))).map_err(|why| {
        CommandError::user(why).about(format_args!("no scenario can be made of session `{session}`"))
    })?;
    let path = file.map_or_else(|| within(folder, &file_name(&recorded.name)), Path::to_owned);
    write_with_schema(&path, &recorded.text, force)?;
    for loss in &recorded.losses {
        output::message(&format!("warning: {loss}"));
    }
    let shown = quoted(&path.display().to_string());
    output::data(&format!(
        "wrote {}

What to do next:
  1. Run it; it passes as it is, offline, with the answers that were recorded:
       rehearse run {shown}
  2. Let the agent's model answer, and see whether it still does what it did:
       rehearse run {shown} --model agent=openai:gpt-4o-mini
  3. Ask more of it: its answers stand in the file as remarks.",
        path.display()
    ));
    Ok(())
}

fn within(folder: &Path, name: &str) -> PathBuf {
    if folder == Path::new(".") { PathBuf::from(name) } else { folder.join(name) }
}

/// The name of a file for a scenario.
fn file_name(name: &str) -> String {
    let mut words = String::new();
    for c in name.to_lowercase().chars() {
        match c {
            c if c.is_ascii_alphanumeric() => words.push(c),
            _ if words.is_empty() || words.ends_with('-') => {}
            _ => words.push('-'),
        }
    }
    let words: String = words.chars().take(60).collect();
    let words = words.trim_end_matches('-');
    format!("{}.scenario.yaml", if words.is_empty() { "session" } else { words })
}

/// The line by which editors find the schema.
fn schema_line() -> String {
    format!("# yaml-language-server: $schema=./{SCHEMA}\n")
}

/// Writes a scenario and, where it is not there yet, the schema beside it.
fn write_with_schema(path: &Path, text: &str, force: bool) -> Result<(), CommandError> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(folder)
        .map_err(|error| format!("cannot make the folder `{}`: {error}", folder.display()))
        .map_err(CommandError::setup)?;
    let taken = || {
        let what = format!("`{}` is there already, so nothing was written", path.display());
        let elsewhere = "`rehearse init DIR` writes elsewhere";
        CommandError::user(what).hint(format_args!("`--force` replaces it, and {elsewhere}"))
    };
    if !write(path, text, force)? {
        return Err(taken());
    }
    let schema = rehearsal_core::json::to_string_pretty(&scenario_schema())
        .map_err(|error| CommandError::internal(format_args!("the schema cannot be written: {error}")))?;
    // One that is there is somebody's own, or of this program already.
    write(&folder.join(SCHEMA), &(schema + "\n"), force).map(drop)
}

/// Writes a file; whether it was, since nothing that is there is replaced unless it may be.
fn write(path: &Path, text: &str, force: bool) -> Result<bool, CommandError> {
    let mut options = OpenOptions::new();
    options.write(true);
    if force {
        options.create(true).truncate(true)
    } else {
        options.create_new(true)
    };
    match options.open(path).and_then(|mut file| file.write_all(text.as_bytes())) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(CommandError::setup(format_args!("cannot write `{}`: {error}", path.display()))),
    }
}

fn next(path: &Path, folder: &Path) -> String {
    let folder = quoted(&folder.display().to_string());
    format!(
        "wrote {}

What to do next:
  1. Run it; it passes as it is, offline:
       rehearse run {folder}
  2. In the file, give `models.agent` a real model, such as `openai:gpt-4o-mini`, and run it again.
     Or try one without changing the file:
       rehearse run {folder} --model agent=openai:gpt-4o-mini
  3. Change what is said and what is asked. `rehearse check {folder}` shows what is wrong with a file.

Runs are kept in `.rehearsal/`, which version control ignores: `rehearse runs` lists them.",
        path.display()
    )
}
