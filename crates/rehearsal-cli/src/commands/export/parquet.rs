//! `rehearse export RUN --parquet DIR`.

use std::path::Path;

use rehearsal_exchange::parquet::{
    ExportError, ExportedCase, ExportedRun, ExportedSession, Replace, Tables, WrittenTable,
};
use rehearsal_run::{KeptCases, ReadCase, ReadSession};
use rehearsal_store::{RunRecord, RunStatus, SessionRecord, Store};
use serde_json::{Value, json};

use super::{ExportArgs, Format};
use crate::commands::run::show::quoted;
use crate::error::{CommandError, Kind, cannot_start, with_causes};
use crate::output;
use crate::shelf::{self, short};
use crate::signals::Signals;

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

/// Hands over all cases of a run, one after the other.
async fn fill(store: &dyn Store, run: &RunRecord, tables: &mut Tables) -> Result<(), CommandError> {
    let mut cases = KeptCases::of(store, run).await.map_err(CommandError::setup)?;
    while let Some(ReadCase { place, result, sessions }) = cases.next().await.map_err(CommandError::setup)? {
        let exported = |ReadSession { id, part, lines }| ExportedSession { id, part, lines };
        let sessions = sessions.into_iter().map(exported).collect();
        let added = tables.add(ExportedCase { place, result, sessions });
        added.map_err(|error| CommandError::setup(with_causes(&error)))?;
    }
    Ok(())
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
