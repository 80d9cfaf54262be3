//! Going on with a run, and running again what did not pass in one.
//!
//! Both take what a run was made from out of the store, go where it was begun, and begin with its words, to which those
//! are added that may be given anew. What is there must be what was there: the digests are compared.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Parser as _, ValueEnum};
use rehearsal_core::{CaseResult, Timestamp, Verdict};
use rehearsal_run::{Earlier, Known, Results, read_result};
use rehearsal_store::{LastSeen, Page, Recipe, RunQuery, RunRecord, RunStatus, Store, StoreError};

use super::drive::RunOptions;
use super::recipe;
use super::show::quoted;
use crate::error::CommandError;
use crate::place::Place;
use crate::process::{self, Fate};
use crate::shelf::{self, block_on, short};
use crate::words::{self, Word};
use crate::{Cli, Command};

/// Options that may be given anew: they say where results go and how fast they come, not what is run.
const ANEW: &[&str] = &[
    "json",
    "events",
    "reports",
    "junit",
    "out",
    "jobs",
    "quiet",
    "verbose",
    "color",
    "name",
    "store",
    "env-file",
    "max-calls",
    "max-cost",
    "max-tokens",
    "max-time",
    "keep",
];
/// Those of them that name a file or a folder.
const PATHS: &[&str] = &["json", "junit", "out", "env-file"];
/// A run on another machine that said nothing for so long, in milliseconds, has gone: it says something far more often.
const GONE_AFTER_MS: i64 = 90_000;

/// Runs that were there before.
#[derive(Debug, Default, Args)]
pub(crate) struct AgainArgs {
    /// Go on with a run that was killed or interrupted, by the beginning of its id, or `last`: what has ended is not run
    /// again, and the result is that of one run. Options that say where results go can be given anew
    #[arg(long, value_name = "RUN", conflicts_with = "failed", help_heading = "Running")]
    pub(super) resume: Option<String>,
    /// Run again, with the same seeds, what did not pass in a run, by the beginning of its id, or `last`; without paths,
    /// with all that it was begun with
    #[arg(long, value_name = "RUN", help_heading = "Running")]
    pub(super) failed: Option<String>,
    /// With `--failed`, only what came to this; may be given several times
    #[arg(long, value_name = "WHAT", value_delimiter = ',', requires = "failed", help_heading = "Running")]
    pub(super) only: Vec<Only>,
}

/// What cases that did not pass have come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Only {
    /// Something went wrong
    Error,
    /// It was judged, and did not pass
    Failed,
    /// It ran into a limit, or was stopped
    Terminated,
    /// Nothing judged it
    Unjudged,
    /// It was not the agent's doing
    Invalid,
}

impl Only {
    fn fits(self, result: &CaseResult) -> bool {
        match self {
            Self::Error => result.status == Verdict::Error,
            Self::Failed => result.status == Verdict::Failed,
            Self::Terminated => result.status == Verdict::Terminated,
            Self::Unjudged => result.status == Verdict::Unjudged,
            Self::Invalid => !result.is_valid(),
        }
    }
}

/// A run that goes on.
#[derive(Clone, Debug)]
pub(crate) struct Going {
    pub(super) record: RunRecord,
    pub(super) seen: LastSeen,
}

impl Going {
    /// Refuses to go on with something else than what was begun.
    pub(super) fn refuse_other(&self, now: &Recipe) -> Result<(), CommandError> {
        let Some(before) = &self.record.about.recipe else { return Err(unknown(&self.record)) };
        if before.digest == now.digest {
            return Ok(());
        }
        let mut told = recipe::difference(before, now);
        if told.is_empty() {
            told.push("the version of this program or something that it reads is another".to_owned());
        }
        let id = short(&self.record.id);
        let what = format!(
            "run `{id}` cannot go on, because it would not be the same run:\n  {}",
            told.join("\n  ")
        );
        let commit = self.record.about.commit.as_deref();
        let commit = commit.map(|commit| format!(" (it was begun at commit {})", short(commit)));
        Err(CommandError::user(what)
            .hint(format_args!("put it back as it was{}", commit.unwrap_or_default()))
            .hint(format_args!("or begin anew: rehearse {}", line(&before.arguments))))
    }

    /// What it has come to before.
    pub(super) fn earlier(&self, known: Known) -> Earlier {
        let started_at = Timestamp::from_millisecond(self.record.started_at).unwrap_or_default();
        Earlier { started_at, duration_ms: self.duration_ms(), known }
    }

    /// How long it ran before, in milliseconds, as far as that is known.
    fn duration_ms(&self) -> u64 {
        let said = self.record.result.as_ref().and_then(|result| result.get("duration_ms")?.as_u64());
        let seen = self.seen.seen_at.saturating_sub(self.record.started_at);
        said.unwrap_or_else(|| u64::try_from(seen).unwrap_or_default())
    }
}

fn line(words: &[String]) -> String {
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

fn unknown(record: &RunRecord) -> CommandError {
    let id = short(&record.id);
    CommandError::user(format_args!("run `{id}` does not know what it was made from"))
        .hint("an earlier version of this program kept it; begin anew with its files")
}

/// Goes on with a run.
pub(super) fn go_on(id: &str, place: &Place) -> Result<ExitCode, CommandError> {
    let given = given(&words::here(), "--resume")?;
    let (record, seen) = block_on(async {
        let store = place.open_kept().await?;
        let record = find(&*store, id).await?;
        let seen = store.last_seen(&record.id).await.map_err(CommandError::setup)?;
        let seen = seen.ok_or_else(|| CommandError::user(format_args!("run `{id}` was removed just now")))?;
        Ok((record, seen))
    })?;
    refuse_to_go_on(&record, seen)?;
    let recipe = record.about.recipe.clone().ok_or_else(|| unknown(&record))?;
    let begun = Begun::new(&recipe, given, place)?;
    let kept = recipe.arguments.clone();
    begin(&begun, |options| {
        options.words = Some(kept);
        options.sharding.set(recipe.shard);
        options.going = Some(Going { record, seen });
    })
}

/// Refuses to go on with a run that goes on by itself, or that has nothing left to do.
fn refuse_to_go_on(record: &RunRecord, seen: LastSeen) -> Result<(), CommandError> {
    let id = short(&record.id);
    match seen.status {
        RunStatus::Running => refuse_running(record, seen),
        RunStatus::Interrupted => Ok(()),
        RunStatus::Passed | RunStatus::Failed | RunStatus::Error => {
            let summary = record.result.as_ref().and_then(|result| result.get("summary"));
            if summary.and_then(|summary| summary.get("not_run")?.as_u64()).unwrap_or_default() > 0 {
                return Ok(());
            }
            let error = CommandError::user(format_args!(
                "run `{id}` has come to its end: there is nothing to go on with"
            ));
            let again = (seen.status != RunStatus::Passed)
                .then(|| format!("`rehearse run --failed {id}` runs again what did not pass"));
            Err(error.hints(again))
        }
    }
}

fn refuse_running(record: &RunRecord, seen: LastSeen) -> Result<(), CommandError> {
    let id = short(&record.id);
    let process = record.about.process.as_ref();
    match process::fate(process) {
        Fate::Gone => Ok(()),
        Fate::Runs => {
            let number = process.map(|process| process.id).unwrap_or_default();
            Err(CommandError::user(format_args!(
                "run `{id}` still runs, in process {number} of this machine"
            ))
            .hint(format_args!("wait for it, or end it: kill -INT {number}")))
        }
        Fate::Unknown => {
            let silent = now().saturating_sub(seen.seen_at);
            if silent >= GONE_AFTER_MS {
                return Ok(());
            }
            let seconds = (GONE_AFTER_MS - silent).max(0) / 1000 + 1;
            Err(CommandError::user(format_args!(
                "run `{id}` may still run on another machine: it was seen {} s ago",
                silent.max(0) / 1000
            ))
            .hint(format_args!("where it has gone, try again in {seconds} s")))
        }
    }
}

fn now() -> i64 {
    use rehearsal_core::Clock as _;
    rehearsal_core::SystemClock.now().as_millisecond()
}

/// Runs again what did not pass in a run, with the words that began that one.
pub(super) fn repeat(id: &str, only: &[Only], place: &Place) -> Result<ExitCode, CommandError> {
    let given = given(&words::here(), "--failed")?;
    let record = block_on(async { find(&*place.open_kept().await?, id).await })?;
    let recipe = record.about.recipe.clone().ok_or_else(|| unknown(&record))?;
    let mut recipe = recipe;
    recipe.arguments = without(&recipe.arguments, &["failed", "only"]);
    let mut begun = Begun::new(&recipe, given, place)?;
    let mut own = vec!["--failed".to_owned(), record.id.clone()];
    for one in only.iter().filter_map(ValueEnum::to_possible_value) {
        own.extend(["--only".to_owned(), one.get_name().to_owned()]);
    }
    let at = begun.words.len().min(1);
    begun.words.splice(at..at, own);
    let kept = begun.words.clone();
    begin(&begun, |options| options.words = Some(kept))
}

/// The words of a command without these options.
fn without(words: &[String], options: &[&str]) -> Vec<String> {
    let Some(command) = words.first() else { return Vec::new() };
    let is_kept = |word: &Word| word.option.as_deref().is_none_or(|option| !options.contains(&option));
    words::join(command, words::of(words).into_iter().filter(is_kept))
}

/// Names the run of `--failed` by its whole id, so that it is the same whenever this run goes on.
pub(super) fn named_whole(id: &str, place: &Place) -> Result<(String, Vec<String>), CommandError> {
    let record = block_on(async { find(&*place.open_kept().await?, id).await })?;
    let mut words = without(&words::here(), &["failed"]);
    let at = words.len().min(1);
    words.splice(at..at, ["--failed".to_owned(), record.id.clone()]);
    Ok((record.id, words))
}

/// The words with which something begins, and where.
struct Begun {
    words: Vec<String>,
    folder: Option<PathBuf>,
    place: Place,
}

impl Begun {
    fn new(recipe: &Recipe, given: Vec<Word>, place: &Place) -> Result<Self, CommandError> {
        let here = std::env::current_dir().map_err(|error| {
            CommandError::setup(format_args!("the current folder cannot be found: {error}"))
        })?;
        // Where it is not there, such as on another machine, the digest says whether this one will do.
        let folder = Some(PathBuf::from(&recipe.folder)).filter(|folder| folder.is_dir() && *folder != here);
        let mut place = place.clone();
        let given = given.into_iter().map(|word| if folder.is_some() { at_home(word, &here) } else { word });
        if folder.is_some() {
            let text = place.text();
            let path = rehearsal_store::file_of(&text).map(|path| here.join(path).display().to_string());
            place.store = Some(path.unwrap_or(text));
        }
        Ok(Self { words: merged(&recipe.arguments, &given.collect::<Vec<_>>()), folder, place })
    }
}

/// A path that was given here, for who goes elsewhere.
fn at_home(word: Word, here: &Path) -> Word {
    let Some(option) = word.option.as_deref().filter(|option| PATHS.contains(option)) else { return word };
    let value = match word.words.as_slice() {
        [_, value] => value.as_str(),
        [one] => one.split_once('=').map_or("-", |(_, value)| value),
        _ => "-",
    };
    let path = if value == "-" { value.to_owned() } else { here.join(value).display().to_string() };
    Word { words: vec![format!("--{option}"), path], option: word.option }
}

/// The words that began a run, with those that are given anew in place of its own.
fn merged(before: &[String], given: &[Word]) -> Vec<String> {
    let Some(command) = before.first() else { return Vec::new() };
    let mut anew: BTreeSet<&str> = given.iter().filter_map(|word| word.option.as_deref()).collect();
    if anew.contains("quiet") || anew.contains("verbose") {
        anew.extend(["quiet", "verbose"]);
    }
    // Those of the run that it repeated, if it did, are its own.
    let is_kept = |word: &Word| {
        let option = word.option.as_deref();
        option.is_none_or(|option| !anew.contains(option))
    };
    let (mut options, mut rest) = (Vec::new(), Vec::new());
    for word in words::of(before).into_iter().filter(is_kept) {
        let behind = word.option.is_none() && word.words.first().is_some_and(|first| first == "--");
        if behind { rest.push(word) } else { options.push(word) }
    }
    options.extend(given.iter().cloned());
    options.extend(rest);
    words::join(command, options)
}

/// What is given anew beside a flag that takes everything else from a run.
fn given(words: &[String], flag: &str) -> Result<Vec<Word>, CommandError> {
    let mut anew = Vec::new();
    for word in words::of(words) {
        match word.option.as_deref() {
            Some("resume" | "failed" | "only") => {}
            Some(option) if ANEW.contains(&option) => anew.push(word),
            _ => {
                let could = ANEW.iter().map(|option| format!("--{option}")).collect::<Vec<_>>().join(", ");
                let what = format!(
                    "`{}` cannot be given with `{flag}`: what is run is what the run was begun with",
                    word.shown()
                );
                return Err(CommandError::user(what).hint(format_args!("these can be given anew: {could}")));
            }
        }
    }
    Ok(anew)
}

/// Begins what these words say.
fn begin(begun: &Begun, set: impl FnOnce(&mut RunOptions)) -> Result<ExitCode, CommandError> {
    if let Some(folder) = &begun.folder {
        std::env::set_current_dir(folder).map_err(|error| {
            CommandError::setup(format_args!("cannot go to `{}`: {error}", folder.display()))
        })?;
    }
    let words = std::iter::once("rehearse").chain(begun.words.iter().map(String::as_str));
    let wrong = |why: &dyn std::fmt::Display| {
        CommandError::user(format_args!("the words that began this run are not understood any more: {why}"))
    };
    let cli = Cli::try_parse_from(words).map_err(|error| wrong(&error))?;
    let store = begun.place.store.clone();
    let prepare = |options: &mut RunOptions| {
        options.place.store = store;
        set(options);
    };
    match cli.command {
        Command::Run(mut args) => {
            prepare(&mut args.options);
            super::run(&mut args)
        }
        Command::Matrix(mut args) => {
            prepare(args.options());
            super::matrix::run(*args)
        }
        Command::Eval(mut args) => {
            prepare(args.options());
            super::eval::run(&args)
        }
        _ => Err(wrong(&line(&begun.words))),
    }
}

/// The run with this id, or the only one that begins so, as lists have it: without what its cases came to.
async fn find(store: &dyn Store, id: &str) -> Result<RunRecord, CommandError> {
    if id == "last" {
        let newest = RunQuery { limit: 1, ..RunQuery::default() };
        let Page { items, .. } = store.runs(&newest).await.map_err(CommandError::setup)?;
        let none = || CommandError::user("no runs are kept yet; `rehearse run PATH` keeps its runs");
        return items.into_iter().next().ok_or_else(none);
    }
    let id = shelf::beginning(id, "run")?;
    let mut query = RunQuery { limit: 1000, search: Some(id.clone()), page_token: None };
    let mut fits = Vec::new();
    loop {
        let page = store.runs(&query).await.map_err(CommandError::setup)?;
        fits.extend(page.items.into_iter().filter(|run| run.id.starts_with(&id)));
        query.page_token = page.next;
        if query.page_token.is_none() {
            break;
        }
    }
    let only = shelf::only(
        &id,
        fits.iter().map(|run| run.id.clone()).collect(),
        "run",
        "`rehearse runs` lists them",
    )?;
    fits.into_iter()
        .find(|run| run.id == only)
        .ok_or_else(|| CommandError::user(format_args!("run `{only}` was removed just now")))
}

/// What did not pass in a run: the name of the case, how many of that name are before it, and which repeat.
pub(super) fn not_passed(
    id: &str,
    only: &[Only],
    place: &Place,
) -> Result<BTreeSet<(String, usize, u32)>, CommandError> {
    block_on(async {
        let store = place.open_kept().await?;
        let record = find(&*store, id).await?;
        let fits = |result: &CaseResult| {
            result.status != Verdict::Passed && (only.is_empty() || only.iter().any(|one| one.fits(result)))
        };
        let (mut places, mut chosen) = (BTreeSet::new(), Vec::new());
        let unreadable = |error: StoreError| CommandError::setup(error);
        let mut results = Results::of(&*store, &record.id);
        loop {
            let some = results.some().await.map_err(unreadable)?;
            if some.is_empty() {
                break;
            }
            for kept in some {
                let result = read_result(&kept).map_err(unreadable)?;
                places.insert((result.name.clone(), kept.place));
                if fits(&result) {
                    chosen.push((result.name, kept.place, kept.repeat));
                }
            }
        }
        let namesakes =
            |name: &str, place: u64| places.range((name.to_owned(), 0)..(name.to_owned(), place)).count();
        let chosen: BTreeSet<_> = chosen
            .into_iter()
            .map(|(name, place, repeat)| (namesakes(&name, place), name, repeat))
            .map(|(before, name, repeat)| (name, before, repeat))
            .collect();
        if chosen.is_empty() {
            let what = if only.is_empty() { "passed" } else { "passed, or came to something else" };
            return Err(CommandError::user(format_args!(
                "all that ended in run `{}` {what}",
                short(&record.id)
            )));
        }
        Ok(chosen)
    })
}
