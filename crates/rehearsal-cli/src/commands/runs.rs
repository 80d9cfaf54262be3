//! `rehearse runs`.

use std::collections::BTreeMap;

use clap::Args;
use rehearsal_core::{CaseResult, Ledger, RunResult, SessionId, SessionPart, Summary};
use rehearsal_store::{
    RunAbout, RunQuery, RunRecord, RunStatus, SessionQuery, SessionRecord, Store, read_ledger,
};
use serde_json::{Value, json};

use crate::commands::run::print::{Detail, Printer};
use crate::commands::run::show::{Told, quoted};
use crate::commands::sessions;
use crate::error::CommandError;
use crate::load::Colour;
use crate::output;
use crate::place::Place;
use crate::shelf::{self, short};
use crate::times::{moment, stamp};

/// List and show the runs that are kept.
///
/// Without an id, lists runs, newest first. With one, or with the beginning of one, shows what that run came to and its
/// sessions, as `rehearse run` printed it.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  rehearse runs
  rehearse runs --search nightly
  rehearse runs 3f2a9c1e
  rehearse runs 3f2a9c1e --json

Exit codes: 0 it was shown; 2 there is no such run, or the store cannot be used.")]
pub(crate) struct RunsArgs {
    /// A run: its id, at least 4 characters of its beginning, or `last`
    #[arg(value_name = "ID")]
    id: Option<String>,
    /// List at most so many
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: u32,
    /// List only those with this text in their title, name, commit, branch or model
    #[arg(long, value_name = "TEXT", conflicts_with = "id")]
    search: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Print all transcripts and evaluations of a run
    #[arg(long, short, requires = "id")]
    verbose: bool,
    #[command(flatten)]
    place: Place,
    /// When to use colours
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    color: Colour,
}

pub(crate) fn run(args: &RunsArgs) -> Result<(), CommandError> {
    shelf::block_on(async {
        let store = args.place.open_kept().await?;
        match &args.id {
            None => list(args, &*store).await,
            Some(id) => show(args, &*store, id).await,
        }
    })
}

async fn list(args: &RunsArgs, store: &dyn Store) -> Result<(), CommandError> {
    let query = RunQuery { search: args.search.clone(), limit: args.limit, page_token: None };
    let page = store.runs(&query).await.map_err(CommandError::setup)?;
    let runs = page.items;
    if args.json {
        let runs: Vec<Value> = runs.iter().map(described).collect();
        output::value(&Value::Array(runs));
        return Ok(());
    }
    if runs.is_empty() && args.search.is_some() {
        output::message("no run is like that");
    } else if runs.is_empty() {
        output::message("no runs are kept yet; `rehearse run PATH` keeps its runs");
    }
    for run in &runs {
        let counts = summary(run).map(counts).unwrap_or_default();
        let line = format!(
            "{}  {}  {:<11}  {counts:<20}  {}",
            short(&run.id),
            moment(run.started_at),
            run.status,
            output::one_line(&called(run))
        );
        output::data(line.trim_end());
    }
    if page.next.is_some() {
        output::message(&format!("… and older ones; `--limit N` lists more than {}", args.limit));
    }
    Ok(())
}

/// A run as JSON, without what its scenarios came to.
fn described(run: &RunRecord) -> Value {
    json!({
        "id": run.id,
        "title": run.title,
        "name": run.about.name,
        "commit": run.about.commit,
        "branch": run.about.branch,
        "model": run.about.model,
        "status": run.status,
        "started_at": stamp(run.started_at),
        "ended_at": run.ended_at.map(stamp),
        "summary": run.result.as_ref().and_then(|result| result.get("summary")),
    })
}

/// What a run is called, and what it was run from and with, in a line.
fn called(run: &RunRecord) -> String {
    let RunAbout { name, commit, branch, model, recipe: _, process: _ } = &run.about;
    let title = match name {
        Some(name) => format!("{name} ({})", run.title),
        None => run.title.clone(),
    };
    let commit = commit.as_deref().map(|commit| commit.get(..8).unwrap_or(commit));
    let place = [branch.as_deref(), commit].into_iter().flatten().collect::<Vec<_>>().join(" ");
    let known =
        [Some(title), Some(place), model.clone()].into_iter().flatten().filter(|text| !text.is_empty());
    known.collect::<Vec<_>>().join("  ")
}

fn summary(run: &RunRecord) -> Option<Summary> {
    let summary = run.result.as_ref()?.get("summary")?;
    serde_json::from_value(summary.clone()).ok()
}

fn counts(summary: Summary) -> String {
    let all = [
        (summary.passed, "passed"),
        (summary.failed, "failed"),
        (summary.errors, "with an error"),
        (summary.terminated, "stopped"),
        (summary.unjudged, "unjudged"),
        (summary.not_run, "not run"),
    ];
    let parts = all.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}"));
    parts.collect::<Vec<_>>().join(", ")
}

async fn show(args: &RunsArgs, store: &dyn Store, id: &str) -> Result<(), CommandError> {
    let id = shelf::find_run(store, id).await?.id;
    let run = store.run(&id).await.map_err(CommandError::setup)?;
    let run = run.ok_or_else(|| CommandError::user(format_args!("run `{id}` was removed just now")))?;
    let kept = of_run(store, &run.id).await?;
    if args.json {
        let mut shown = described(&run);
        shown["result"] = run.result.unwrap_or(Value::Null);
        shown["sessions"] = kept.iter().map(sessions::described).collect();
        output::value(&shown);
        return Ok(());
    }
    output::data(&format!("run {}  {}", run.id, output::one_line(&run.title)));
    let ended = run.ended_at.map(|at| format!(", ended {}", moment(at))).unwrap_or_default();
    output::data(&format!("{}, began {}{ended}\n", run.status, moment(run.started_at)));
    results(args, store, &run, &kept).await?;
    if !kept.is_empty() {
        output::data("sessions:");
    }
    for session in &kept {
        output::data(&format!("  {}", sessions::line(session)));
    }
    Ok(())
}

/// The sessions of a run, oldest first.
pub(crate) async fn of_run(store: &dyn Store, run: &str) -> Result<Vec<SessionRecord>, CommandError> {
    let mut found = Vec::new();
    let mut query = SessionQuery {
        limit: 1000,
        run: Some(run.to_owned()),
        oldest_first: true,
        ..SessionQuery::default()
    };
    loop {
        let page = store.sessions(&query).await.map_err(CommandError::setup)?;
        found.extend(page.items);
        query.page_token = page.next;
        if query.page_token.is_none() {
            return Ok(found);
        }
    }
}

/// Prints what the run came to, as the run itself printed it.
async fn results(
    args: &RunsArgs,
    store: &dyn Store,
    run: &RunRecord,
    kept: &[SessionRecord],
) -> Result<(), CommandError> {
    let Some(result) = &run.result else {
        let why =
            if run.status == RunStatus::Running { "it runs, or was ended from outside" } else { "none" };
        output::data(&format!("no results: {why}\n"));
        return Ok(());
    };
    let detail = if args.verbose { Detail::Verbose } else { Detail::Normal };
    let printer = Printer { detail, colour: args.color.for_stream(&std::io::stdout()) };
    let parts: BTreeMap<&str, SessionPart> =
        kept.iter().map(|session| (session.id.as_str(), session.part)).collect();
    let result = RunResult::read(result.clone()).map_err(|error| {
        CommandError::setup(format_args!("the results of this run cannot be read: {error}"))
    })?;
    for case in &result.suite.results {
        let main = case.sessions.iter().find(|id| parts.get(id.as_str()) == Some(&SessionPart::Main));
        let ledger = match main {
            Some(id) => read_ledger(store, id).await.map_err(CommandError::setup)?,
            None => Ledger::new(SessionId::new("none")),
        };
        if let Some(text) = printer.case(case, &ledger, &told(case)).strip_suffix('\n') {
            output::data(text);
        }
    }
    let noun = if result.eval_set.is_some() { "case" } else { "scenario" };
    let summary = printer.summary(noun, &result.suite, result.duration_ms);
    output::data(&format!("{summary}\n"));
    Ok(())
}

/// The command that repeats just this run of a scenario; what was run of an `EvalSet` says too little for one.
pub(crate) fn told(case: &CaseResult) -> Told {
    let again =
        case.file.as_ref().map(|file| format!("rehearse run {} --case-seed {}", quoted(file), case.seed));
    Told { from: None, again }
}
