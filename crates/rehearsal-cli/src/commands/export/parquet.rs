//! `rehearse export RUN --parquet DIR`.

use std::path::Path;

use rehearsal_core::{CaseResult, SessionId};
use rehearsal_exchange::parquet::{
    ExportError, ExportedCase, ExportedRun, ExportedSession, Replace, Tables, WrittenTable,
};
use rehearsal_store::{EndedCase, RunRecord, RunStatus, SessionRecord, Store};
use serde_json::{Value, json};

use super::{ExportArgs, Format};
use crate::commands::run::show::quoted;
use crate::error::{CommandError, Kind, cannot_start, with_causes};
use crate::output;
use crate::shelf::{self, short};
use crate::signals::Signals;

/// How many events are read at a time of a session that is kept by the event.
const BATCH: u32 = 500;

pub(super) fn run(args: &ExportArgs, folder: &Path) -> Result<(), CommandError> {
    shelf::block_on(async {
        let store = args.place.open_kept().await?;
        let run = find(&*store, &args.id).await?;
        if run.status == RunStatus::Running {
            output::warning(
                format_args!("run {} goes on: only cases that have ended are exported", short(&run.id)),
                "export it again with `--force` when it has ended",
            );
        }
        let replace = if args.force { Replace::Exports } else { Replace::Nothing };
        let mut tables = Tables::create(folder, about(&run), replace).map_err(|error| told(&error, args))?;
        let mut signals = Signals::new().map_err(|error| cannot_start(&error))?;
        tokio::select! {
            filled = fill(&*store, &run, &mut tables) => filled?,
            _ = signals.next() => {
                let stopped = CommandError::user("the export was stopped; nothing was written");
                return Err(stopped.kind(Kind::Interrupted));
            }
        }
        let written = tables.finish().map_err(|error| told(&error, args))?;
        tell(args, &run, folder, &written);
        Ok(())
    })
}

/// The run that is meant. A session that was named instead is told.
async fn find(store: &dyn Store, id: &str) -> Result<RunRecord, CommandError> {
    match shelf::find_run(store, id).await {
        Err(none) if id != "last" => match shelf::find_session(store, id).await {
            Ok(session) => Err(is_session(&session)),
            Err(_) => Err(none),
        },
        found => found,
    }
}

fn is_session(session: &SessionRecord) -> CommandError {
    let id = short(session.id.as_str());
    let told = CommandError::user(format_args!("`{id}` is a session, and `--parquet` exports runs"));
    match &session.run {
        Some(run) => told.hint(format_args!("it is of run `{}`", short(run))),
        None => {
            told.hint("`rehearse runs` lists runs; `--evalset FILE` and `--scenario FILE` export a session")
        }
    }
}

fn about(run: &RunRecord) -> ExportedRun {
    ExportedRun {
        id: run.id.clone(),
        name: run.about.name.clone(),
        commit: run.about.commit.clone(),
        branch: run.about.branch.clone(),
        started_at: run.started_at,
    }
}

/// What went wrong, with what would help.
fn told(error: &ExportError, args: &ExportArgs) -> CommandError {
    let told = CommandError::setup(with_causes(error));
    match error {
        ExportError::NotBuiltIn => told
            .hint("build it with `cargo build --release -p rehearsal-cli --features parquet`, or take a released `rehearse`")
            .hint(format_args!(
                "`rehearse runs {} --json` has the results, and DuckDB and Polars read JSON too",
                quoted(&args.id)
            )),
        ExportError::Taken(_) => told.hint("name another folder, or replace an earlier export with `--force`"),
        ExportError::Foreign(_) => told.hint("name another folder"),
        _ => told,
    }
}

/// Hands over all cases of a run, a block at a time.
async fn fill(store: &dyn Store, run: &RunRecord, tables: &mut Tables) -> Result<(), CommandError> {
    let (mut after, mut add) =
        (None, |case| tables.add(case).map_err(|error| CommandError::setup(with_causes(&error))));
    while let Some(block) = store.block(&run.id, after).await.map_err(CommandError::setup)? {
        after = Some(block.number);
        for case in block.cases {
            add(of_block(store, &run.id, case).await?)?;
        }
    }
    if after.is_some() {
        return Ok(());
    }
    // What earlier versions kept stands in the run itself.
    let results = run.result.as_ref().and_then(|result| result.get("results")).and_then(Value::as_array);
    let (mut place, mut last) = (0, None);
    for result in results.into_iter().flatten() {
        let repeat = result.get("repeat").and_then(Value::as_u64).unwrap_or_default();
        if last.is_some_and(|last| repeat <= last) {
            place += 1;
        }
        last = Some(repeat);
        let result = rehearsal_core::json::text(result);
        let sessions = of_rows(store, &result).await?;
        add(ExportedCase { place, result, sessions })?;
    }
    Ok(())
}

/// A case of a block. Where a person played along, its sessions are kept by the event.
async fn of_block(store: &dyn Store, run: &str, case: EndedCase) -> Result<ExportedCase, CommandError> {
    let EndedCase { number, place, result, sessions, .. } = case;
    let id = |part| rehearsal_store::session_id(run, number, part).map_err(CommandError::setup);
    let mut exported = Vec::new();
    for session in sessions {
        let part = session.head.part;
        exported.push(ExportedSession { id: id(part)?, part, lines: session.lines });
    }
    if exported.is_empty() {
        exported = of_rows(store, &result).await?;
    }
    Ok(ExportedCase { place, result, sessions: exported })
}

/// The sessions that a result names. One that somebody removed is not among them.
async fn of_rows(store: &dyn Store, result: &str) -> Result<Vec<ExportedSession>, CommandError> {
    // What cannot be read is told when it is added.
    let result: Option<CaseResult> = rehearsal_core::json::from_str(result).ok();
    let mut sessions = Vec::new();
    for id in result.into_iter().flat_map(|result| result.sessions) {
        if let Some(session) = store.session(&id).await.map_err(CommandError::setup)? {
            sessions.push(ExportedSession { part: session.part, lines: lines(store, &id).await?, id });
        }
    }
    Ok(sessions)
}

/// The events of a session, a line each.
async fn lines(store: &dyn Store, session: &SessionId) -> Result<Vec<u8>, CommandError> {
    let (mut lines, mut after) = (Vec::new(), 0);
    loop {
        let events = store.events(session, after, BATCH).await.map_err(CommandError::setup)?;
        let Some(last) = events.last() else { return Ok(lines) };
        after = last.event.seq;
        for stored in &events {
            let line = rehearsal_core::json::to_string(&*stored.event).map_err(CommandError::internal)?;
            lines.extend_from_slice(line.as_bytes());
            lines.push(b'\n');
        }
    }
}

fn tell(args: &ExportArgs, run: &RunRecord, folder: &Path, written: &[WrittenTable]) {
    if args.format == Format::Json {
        let tables: Vec<Value> = written
            .iter()
            .map(|table| {
                json!({"name": table.name, "path": table.path.display().to_string(), "rows": table.rows, "bytes": table.bytes})
            })
            .collect();
        let folder = folder.display().to_string();
        output::json(&rehearsal_core::json::text(
            &json!({"run": run.id, "folder": folder, "tables": tables}),
        ));
        return;
    }
    output::data(&format!("run {} is in {}", short(&run.id), folder.display()));
    for WrittenTable { name, rows, bytes, .. } in written {
        let plural = if *rows == 1 { "" } else { "s" };
        output::data(&format!(
            "  {:<20}  {rows} row{plural}, {} kB",
            format!("{name}.parquet"),
            bytes.div_ceil(1024)
        ));
    }
}
