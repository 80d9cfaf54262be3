//! `rehearse sessions`.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use rehearsal_core::{Clock as _, Ledger, SessionPart, SystemClock, transcript};
use rehearsal_store::{
    CueQuery, CueStatus, Host, NewSession, SessionQuery, SessionRecord, SessionSource, SessionStatus, Store,
    import_ledger, read_ledger,
};
use serde_json::{Value, json};

use crate::error::{CommandError, with_causes};
use crate::output;
use crate::place::Place;
use crate::shelf::{self, short};
use crate::times::{moment, stamp};

/// List and show the sessions that are kept.
///
/// Without an id, lists sessions, newest first: those of runs, those that agents elsewhere play through `rehearse serve`,
/// and imported ones. With an id, or the beginning of one, shows the session with its transcript.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  rehearse sessions --status active
  rehearse sessions --run 3f2a9c1e --search refund
  rehearse sessions 9d55a1c2
  rehearse sessions 9d55a1c2 --ledger > refund.jsonl
  rehearse sessions --import refund.jsonl

Exit codes: 0 it was shown; 2 there is no such session, or the store cannot be used.")]
pub(crate) struct SessionsArgs {
    /// A session: its id, or at least 4 characters of its beginning
    #[arg(value_name = "ID")]
    id: Option<String>,
    /// Only those that stand like this
    #[arg(long, value_name = "STATUS", conflicts_with = "id")]
    status: Option<Status>,
    /// Only those of this agent
    #[arg(long, value_name = "NAME", conflicts_with = "id")]
    agent: Option<String>,
    /// Only those of this run: its id, the beginning of it, or `last`
    #[arg(long, value_name = "ID", conflicts_with = "id")]
    run: Option<String>,
    /// Only those whose id, description or agent contains this
    #[arg(long, value_name = "TEXT", conflicts_with = "id")]
    search: Option<String>,
    /// List at most so many
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: u32,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Print the session's ledger as JSON Lines
    #[arg(long, requires = "id", conflicts_with = "json")]
    ledger: bool,
    /// Keep the ledger of a file (JSON Lines) as a session
    #[arg(long, value_name = "FILE", conflicts_with_all = ["id", "status", "agent", "run", "search"])]
    import: Option<PathBuf>,
    #[command(flatten)]
    place: Place,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Status {
    /// It goes on
    Active,
    /// It ended with a final response
    Completed,
    /// It ended without one
    Cancelled,
}

pub(crate) fn run(args: &SessionsArgs) -> Result<(), CommandError> {
    shelf::block_on(async {
        if let Some(path) = &args.import {
            return import(args, path).await;
        }
        let store = args.place.open_kept().await?;
        match &args.id {
            None => list(args, &*store).await,
            Some(id) => show(args, &*store, id).await,
        }
    })
}

async fn list(args: &SessionsArgs, store: &dyn Store) -> Result<(), CommandError> {
    let run = match &args.run {
        Some(id) => Some(shelf::find_run(store, id).await?.id),
        None => None,
    };
    let query = SessionQuery {
        limit: args.limit,
        statuses: match args.status {
            None => Vec::new(),
            Some(Status::Active) => vec![SessionStatus::Active],
            Some(Status::Completed) => vec![SessionStatus::Completed],
            Some(Status::Cancelled) => vec![SessionStatus::Cancelled],
        },
        agent: args.agent.clone(),
        run,
        search: args.search.clone(),
        ..SessionQuery::default()
    };
    let page = store.sessions(&query).await.map_err(CommandError::setup)?;
    if args.json {
        let sessions: Value = page.items.iter().map(described).collect();
        output::value(&sessions);
        return Ok(());
    }
    if page.items.is_empty() {
        let chosen = args.status.is_some() || args.agent.is_some() || args.run.is_some();
        output::message(if chosen || args.search.is_some() {
            "no session fits; without options all are listed"
        } else {
            "no sessions are kept yet; `rehearse run PATH` and `rehearse serve` keep theirs"
        });
    }
    let (hosts, now) = alive(store).await?;
    for session in &page.items {
        output::data(&line(session));
        if Host::is_program_gone(&hosts, session, now) == Some(true) {
            output::data(GONE_LINE);
        }
    }
    if page.next.is_some() {
        output::message(&format!("… and older ones; `--limit N` lists more than {}", args.limit));
    }
    Ok(())
}

/// Below a session whose program was stopped or killed.
const GONE_LINE: &str = "          its program is gone";

/// The hosts that are known, and the time to compare them with.
async fn alive(store: &dyn Store) -> Result<(Vec<Host>, i64), CommandError> {
    let hosts = store.hosts().await.map_err(CommandError::setup)?;
    Ok((hosts, SystemClock.now().as_millisecond()))
}

/// A session as a line of a list.
pub(crate) fn line(session: &SessionRecord) -> String {
    let agent = session.agent.as_deref().unwrap_or("-");
    let part = match session.part {
        SessionPart::Main => "",
        SessionPart::User => "(its user) ",
        SessionPart::Judge => "(its judge) ",
    };
    let plural = if session.last_seq == 1 { "" } else { "s" };
    let description = session.description.as_deref().unwrap_or_default();
    let line = format!(
        "{}  {}  {:<9}  {:<16}  {:>4} event{plural:<1}  {part}{}",
        short(session.id.as_str()),
        moment(session.created_at),
        if failure(session).is_some() { "failed" } else { word(session.status) },
        output::one_line(agent),
        session.last_seq,
        output::one_line(description)
    );
    let line = line.trim_end();
    match failure(session) {
        Some(why) => format!("{line}\n          {}", output::one_line(&why)),
        None => line.to_owned(),
    }
}

/// Why the last run of a session failed, while nobody has spoken since.
fn failure(session: &SessionRecord) -> Option<String> {
    let failure = session.failure()?;
    let text = |field: &str| failure.get(field).and_then(Value::as_str).unwrap_or_default();
    Some(format!("{}: {}", text("type"), text("message")))
}

fn word(status: SessionStatus) -> &'static str {
    match status {
        SessionStatus::Active => "active",
        SessionStatus::Completed => "completed",
        SessionStatus::Cancelled => "cancelled",
    }
}

/// A session as JSON.
pub(crate) fn described(session: &SessionRecord) -> Value {
    json!({
        "id": session.id,
        "created_at": stamp(session.created_at),
        "updated_at": stamp(session.updated_at),
        "description": session.description,
        "status": session.status,
        "source": session.source,
        "agent": session.agent,
        "part": session.part,
        "run": session.run,
        "last_seq": session.last_seq,
        "last_error": session.meta.get(SessionRecord::FAILURE),
    })
}

async fn show(args: &SessionsArgs, store: &dyn Store, id: &str) -> Result<(), CommandError> {
    let session = shelf::find_session(store, id).await?;
    if args.json {
        output::value(&described(&session));
        return Ok(());
    }
    let ledger = read_ledger(store, &session.id).await.map_err(CommandError::setup)?;
    if args.ledger {
        output::json(ledger.to_jsonl().trim_end());
        return Ok(());
    }
    let description = session.description.as_deref().map(output::one_line).unwrap_or_default();
    output::data(format!("session {}  {description}", session.id).trim_end());
    let agent = session.agent.as_deref().map(|agent| format!("agent {}, ", output::one_line(agent)));
    output::data(&format!(
        "{}, {}{} events, began {}, last written {}",
        if failure(&session).is_some() { "failed" } else { word(session.status) },
        agent.unwrap_or_default(),
        session.last_seq,
        moment(session.created_at),
        moment(session.updated_at)
    ));
    if let Some(why) = failure(&session) {
        output::data(&format!("its last run failed: {}", output::one_line(&why)));
    }
    let (hosts, now) = alive(store).await?;
    if Host::is_program_gone(&hosts, &session, now) == Some(true) {
        output::data(GONE_LINE.trim_start());
    }
    if let Some(run) = &session.run {
        output::data(&format!("of run {run}"));
    }
    let query = CueQuery {
        session: Some(session.id.clone()),
        statuses: vec![CueStatus::Open, CueStatus::Abandoned],
        limit: 100,
    };
    let waiting = store.cues(&query).await.map_err(CommandError::setup)?.len();
    if waiting > 0 {
        output::data(&format!(
            "waits for a person: {waiting} (`rehearse serve` in this folder lets them answer)"
        ));
    }
    output::data("");
    for line in transcript(ledger.events()) {
        let said = line.to_string();
        let said = output::visible(said.trim_end());
        output::data(&format!("{:>4}  {}", line.seq, said.replace('\n', "\n      ")));
    }
    Ok(())
}

async fn import(args: &SessionsArgs, path: &Path) -> Result<(), CommandError> {
    let id = keep_ledger(&args.place, path).await?;
    if args.json {
        output::value(&json!({"session": id}));
    } else {
        output::data(&format!("kept as session {id}"));
    }
    Ok(())
}

/// Keeps the ledger of a file as a session and gives its id.
pub(crate) async fn keep_ledger(place: &Place, path: &Path) -> Result<String, CommandError> {
    let ledger = read_file(path)?;
    let Some(started) = ledger.started() else {
        let what = format!("`{}` is an empty ledger: nothing was kept", path.display());
        return Err(CommandError::user(what));
    };
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
    let first = ledger.events().first().map(|event| event.at);
    let new = NewSession {
        created_at: first.unwrap_or_else(|| SystemClock.now()).as_millisecond(),
        description: started.case.as_ref().map(ToString::to_string).or(name),
        source: SessionSource::Import,
        agent: Some(started.agent.to_string()).filter(|agent| !agent.is_empty()),
        part: started.part,
        run: None,
        meta: json!({}),
    };
    let store = place.open().await?;
    let id = import_ledger(&*store, &ledger, new).await;
    id.map(|id| id.to_string())
        .map_err(|error| CommandError::setup(format_args!("`{}` cannot be kept: {error}", path.display())))
}

/// The ledger of a file.
pub(crate) fn read_file(path: &Path) -> Result<Ledger, CommandError> {
    let file = File::open(path)
        .map_err(|error| CommandError::user(format_args!("cannot read `{}`: {error}", path.display())))?;
    Ledger::read_from(BufReader::new(file)).map_err(|error| {
        CommandError::user(with_causes(&error)).about(format_args!("`{}` is no ledger", path.display()))
    })
}
