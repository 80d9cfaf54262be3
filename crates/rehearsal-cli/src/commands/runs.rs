//! `rehearse runs`.

use clap::Args;
use rehearsal_core::{CaseResult, Ledger, RunResult, SessionId, Summary};
use rehearsal_run::KeptCases;
use rehearsal_store::{RunAbout, RunQuery, RunRecord, RunStatus, SessionQuery, SessionRecord, Store};
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
        let counts = summary(run).as_ref().map(counts).or_else(|| far(run)).unwrap_or_default();
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
    let mut described = json!({
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
    });
    if let Some(progress) = run.life.progress.as_ref().filter(|_| run.result.is_none()) {
        described["progress"] = json!(progress);
    }
    described
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

fn counts(summary: &Summary) -> String {
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

/// How far a run is that goes on, or how far it was when its process was last heard.
fn far(run: &RunRecord) -> Option<String> {
    let progress = run.life.progress.as_ref().filter(|_| run.result.is_none())?;
    let (ended, planned) = (progress.ended.total, progress.planned);
    let held = if progress.held { ", held" } else { "" };
    let counts = counts(&progress.ended);
    let counts = if counts.is_empty() { counts } else { format!(": {counts}") };
    Some(format!("{ended}/{planned}{held}{counts}"))
}

async fn show(args: &RunsArgs, store: &dyn Store, id: &str) -> Result<(), CommandError> {
    let run = shelf::find_run(store, id).await?;
    if args.json {
        return as_json(store, &run).await;
    }
    output::data(&format!("run {}  {}", run.id, output::one_line(&run.title)));
    let ended = run.ended_at.map(|at| format!(", ended {}", moment(at))).unwrap_or_default();
    output::data(&format!("{}, began {}{ended}\n", run.status, moment(run.started_at)));
    results(args, store, &run).await?;
    let mut is_first = true;
    each_session(store, &run.id, |session| {
        if std::mem::take(&mut is_first) {
            output::data("sessions:");
        }
        output::data(&format!("  {}", sessions::line(&session)));
    })
    .await
}

/// Prints all that is known of a run as JSON. Its cases and sessions are written as they are read.
async fn as_json(store: &dyn Store, run: &RunRecord) -> Result<(), CommandError> {
    const RESULTS: &str = "\"results\": []";
    const SESSIONS: &str = "\"sessions\": []";
    let mut shown = described(run);
    shown["result"] = run.result.clone().unwrap_or(Value::Null);
    if let Some(results) = shown["result"].get_mut("results") {
        *results = json!([]);
    }
    shown["sessions"] = json!([]);
    let frame = rehearsal_core::json::to_string_pretty(&shown).map_err(CommandError::internal)?;
    // Quotes in a text that somebody wrote are escaped, so these are the lists.
    let (mut rest, mut list) = (&*frame, List::new(3));
    if let Some((before, after)) = rest.split_once(RESULTS) {
        output::json_piece(before);
        output::json_piece("\"results\": [");
        let mut cases = KeptCases::of(store, run).await.map_err(CommandError::setup)?;
        while let Some(case) = cases.next().await.map_err(CommandError::setup)? {
            let result: Value = rehearsal_core::json::from_str(&case.result).map_err(CommandError::setup)?;
            list.add(&result)?;
        }
        list.end();
        rest = after;
    }
    let Some((before, after)) = rest.rsplit_once(SESSIONS) else { unreachable!("they were put there") };
    output::json_piece(before);
    output::json_piece("\"sessions\": [");
    let (mut list, mut written) = (List::new(1), Ok(()));
    each_session(store, &run.id, |session| {
        if written.is_ok() {
            written = list.add(&sessions::described(&session));
        }
    })
    .await?;
    written?;
    list.end();
    output::json(after);
    Ok(())
}

/// A list that is written as its items come, as it would be written at once.
struct List {
    levels: usize,
    is_empty: bool,
}

impl List {
    /// A list whose items stand so deep.
    fn new(levels: usize) -> Self {
        Self { levels, is_empty: true }
    }

    fn add(&mut self, item: &Value) -> Result<(), CommandError> {
        let text = rehearsal_core::json::to_string_pretty_within(self.levels, item)
            .map_err(CommandError::internal)?;
        let comma = if std::mem::take(&mut self.is_empty) { "" } else { "," };
        output::json_piece(&format!("{comma}{}{text}", line_within(self.levels)));
        Ok(())
    }

    fn end(&self) {
        let before = if self.is_empty { String::new() } else { line_within(self.levels - 1) };
        output::json_piece(&(before + "]"));
    }
}

/// The beginning of a line that stands so deep.
fn line_within(levels: usize) -> String {
    format!("\n{}", "  ".repeat(levels))
}

/// Hands over the sessions of a run, oldest first.
async fn each_session(
    store: &dyn Store,
    run: &str,
    mut take: impl FnMut(SessionRecord),
) -> Result<(), CommandError> {
    let mut query = SessionQuery {
        limit: 1000,
        run: Some(run.to_owned()),
        oldest_first: true,
        ..SessionQuery::default()
    };
    loop {
        let page = store.sessions(&query).await.map_err(CommandError::setup)?;
        page.items.into_iter().for_each(&mut take);
        query.page_token = page.next;
        if query.page_token.is_none() {
            return Ok(());
        }
    }
}

/// The sessions of a run, oldest first.
pub(crate) async fn of_run(store: &dyn Store, run: &str) -> Result<Vec<SessionRecord>, CommandError> {
    let mut found = Vec::new();
    each_session(store, run, |session| found.push(session)).await?;
    Ok(found)
}

/// Prints what the run came to, as the run itself printed it.
async fn results(args: &RunsArgs, store: &dyn Store, run: &RunRecord) -> Result<(), CommandError> {
    let Some(result) = &run.result else {
        let why =
            if run.status == RunStatus::Running { "it runs, or was ended from outside" } else { "none" };
        if let Some(far) = far(run) {
            output::data(&format!("so far {far}"));
        }
        output::data(&format!("no results: {why}\n"));
        return Ok(());
    };
    let detail = if args.verbose { Detail::Verbose } else { Detail::Normal };
    let printer = Printer { detail, colour: args.color.for_stream(&std::io::stdout()) };
    let result = RunResult::read(result.clone()).map_err(|error| {
        CommandError::setup(format_args!("the results of this run cannot be read: {error}"))
    })?;
    let mut cases = KeptCases::of(store, run).await.map_err(CommandError::setup)?;
    while let Some(read) = cases.next().await.map_err(CommandError::setup)? {
        let case = read.read_result().map_err(CommandError::setup)?;
        let ledger = match read.main() {
            Some(main) => main.ledger().map_err(CommandError::setup)?,
            None => Ledger::new(SessionId::new("none")),
        };
        if let Some(text) = printer.case(&case, &ledger, &told(&case)).strip_suffix('\n') {
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
