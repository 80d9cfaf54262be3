//! `rehearse export`.

mod parquet;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, ValueEnum};
use rehearsal_adk::{
    EvalSetDefaults, GoldenTrace, TraceOptions, Written, append_once_to_file, append_to_file,
};
use rehearsal_core::{Clock as _, Ledger, SystemClock};
use rehearsal_server::Desk;
use rehearsal_server::adksim::Adksim;
use rehearsal_store::{Store, read_ledger};
use serde_json::json;

use crate::client::Far;
use crate::commands::init;
use crate::error::{CommandError, with_causes};
use crate::place::Place;
use crate::shelf::short;
use crate::{output, shelf};

/// Export a session as an eval case or as a scenario, or a run as Parquet files.
///
/// With `--parquet`, a run becomes four tables for `DuckDB`, Polars, pandas and others: its cases, evaluations, events
/// and what its models used. With `--scenario`, a session is written as `rehearse init --from` does it. With `--evalset`,
/// completed, it becomes an eval case, a golden trace that `adk eval` runs. The file is made where it is missing; what is
/// in it stays as it is. A session that is in the file already is not written a second time.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  rehearse export 9d55a1c2 --evalset math_agent/golden.evalset.json
  rehearse export 9d55a1c2 --evalset golden.evalset.json --complete
  rehearse export 9d55a1c2 --evalset golden.evalset.json --no-colons --app-name math_agent
  rehearse export 9d55a1c2 --evalset golden.evalset.json --server http://127.0.0.1:4200
  rehearse export 9d55a1c2 --scenario scenarios/refund.scenario.yaml
  rehearse export last --parquet tables

Exit codes: 0 it was exported; 2 it was not: the session is not completed, or the file cannot be written; 130 interrupted.")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct ExportArgs {
    /// The session, or with `--parquet` the run: its id, or at least 4 characters of its beginning; `last` is the newest run
    #[arg(value_name = "ID")]
    id: String,
    /// The `EvalSet` file that the case is added to
    #[arg(long, value_name = "FILE", required_unless_present_any = ["scenario", "parquet"])]
    evalset: Option<PathBuf>,
    /// The scenario file that is made of it
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["evalset", "runnable", "again", "no_colons", "app_name", "format"]
    )]
    scenario: Option<PathBuf>,
    /// The folder into which the tables of a run are written: `cases.parquet`, `evaluations.parquet`, `events.parquet`
    /// and `usage.parquet`
    #[arg(
        long,
        value_name = "DIR",
        conflicts_with_all = ["evalset", "scenario", "complete", "runnable", "again", "no_colons", "app_name", "server"]
    )]
    parquet: Option<PathBuf>,
    /// Replace a scenario file that is there already, or the tables of an earlier export
    #[arg(long, conflicts_with = "evalset")]
    force: bool,
    /// Complete the session first, if its agent has answered: sessions of programs with the plugin stay open
    #[arg(long)]
    complete: bool,
    /// Write only the messages before the first one that `adk eval` cannot run
    #[arg(long)]
    runnable: bool,
    /// Write it once more where the file has it already
    #[arg(long)]
    again: bool,
    /// Write the time in the eval id without colons, so that `adk eval FILE:ID` can select the case
    #[arg(long)]
    no_colons: bool,
    /// The agent's folder, as `adk eval` knows it [default: the agent's name in snake case]
    #[arg(long, value_name = "NAME")]
    app_name: Option<String>,
    /// Take the session from a server, with the token of `REHEARSAL_TOKEN`, of `?token=` or, on this machine, of
    /// `.rehearsal/token`
    #[arg(long, value_name = "URL")]
    server: Option<String>,
    /// How to say what was done
    #[arg(long, value_name = "FORM", default_value = "text")]
    format: Format,
    #[command(flatten)]
    place: Place,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people
    Text,
    /// A JSON object: of an `EvalSet` with `path`, `eval_id`, `cases`, `created`, `repeated` and `cautions`, why `adk eval`
    /// cannot run it to its end; of a run with `run`, `folder` and `tables`
    Json,
}

pub(crate) fn run(args: &ExportArgs) -> Result<(), CommandError> {
    if let Some(folder) = &args.parquet {
        return parquet::run(args, folder);
    }
    let ledger = shelf::block_on(ledger(args))?;
    if let Some(path) = &args.scenario {
        return init::write_session(&ledger, &args.id, Some(path), Path::new("."), args.force);
    }
    let Some(evalset) = &args.evalset else { unreachable!("one of the two is required") };
    let options =
        TraceOptions { app_name: args.app_name.clone(), colons: !args.no_colons, ..TraceOptions::default() };
    let trace = GoldenTrace::from_ledger(&ledger, &options).map_err(|why| {
        CommandError::user(why).about(format_args!("session `{}` cannot be exported", args.id))
    })?;
    let trace = warned(args, trace)?;
    let defaults = EvalSetDefaults::for_agent(&trace.agent, evalset, SystemClock.now());
    let append = if args.again { append_to_file } else { append_once_to_file };
    let written =
        append(evalset, &defaults, &trace).map_err(|error| CommandError::setup(with_causes(&error)))?;
    let cautions: Vec<String> = trace.cautions.iter().map(ToString::to_string).collect();
    tell(args, &written, &cautions);
    Ok(())
}

/// Says before anything is written what `adk eval` cannot run, and leaves that out where it is asked to.
fn warned(args: &ExportArgs, trace: GoldenTrace) -> Result<GoldenTrace, CommandError> {
    let Some(first) = trace.cautions.first() else { return Ok(trace) };
    let runnable = trace.runnable();
    if args.runnable {
        let why = format!("nothing of session `{}` can be run: {first}", args.id);
        let refused = || CommandError::user(why).hint("export it without --runnable");
        return trace.into_runnable().ok_or_else(refused);
    }
    for caution in &trace.cautions {
        output::message(&format!("warning: {caution}"));
    }
    if runnable > 0 {
        let plural = if runnable == 1 { "" } else { "s" };
        output::message(&format!(
            "hint: `--runnable` writes only the first {runnable} message{plural}, which `adk eval` can run"
        ));
    }
    Ok(trace)
}

async fn ledger(args: &ExportArgs) -> Result<Ledger, CommandError> {
    if let Some(address) = &args.server {
        let far = Far::new(address)?;
        if args.complete {
            far.complete(&args.id).await?;
        }
        return far.ledger(&args.id).await;
    }
    let store = args.place.open_kept().await?;
    let session = match shelf::find_session(&*store, &args.id).await {
        Err(none) => return Err(named_run(&*store, &args.id).await.unwrap_or(none)),
        Ok(session) => session,
    };
    if args.complete {
        let desk = Desk::new(store.clone(), Arc::new(SystemClock), Arc::new(Adksim), Duration::ZERO);
        desk.complete(&session.id).await.map_err(CommandError::user)?;
    }
    read_ledger(&*store, &session.id).await.map_err(CommandError::setup)
}

/// Says that a run was named where a session is exported, if that is so.
async fn named_run(store: &dyn Store, id: &str) -> Option<CommandError> {
    let run = shelf::find_run(store, id).await.ok()?;
    let id = short(&run.id);
    let told = CommandError::user(format_args!(
        "`{id}` is a run, and `--evalset` and `--scenario` export a session"
    ));
    Some(told.hint(format_args!(
        "`rehearse runs {id}` lists its sessions; `rehearse export {id} --parquet DIR` exports the run"
    )))
}

fn tell(args: &ExportArgs, written: &Written, cautions: &[String]) {
    let path = written.path.display().to_string();
    match args.format {
        Format::Json => {
            let Written { eval_id, cases, is_new, repeated, .. } = written;
            let told = json!({
                "path": path, "eval_id": eval_id, "cases": cases, "created": is_new, "repeated": repeated,
                "cautions": cautions,
            });
            output::json(&rehearsal_core::json::text(&told));
        }
        Format::Text => {
            let plural = if written.cases == 1 { "" } else { "s" };
            let new = match (written.is_new, written.repeated) {
                (true, _) => "new, ",
                (_, true) => "it was there already, nothing was written; ",
                _ => "",
            };
            output::data(&format!("{}  in {path} ({new}{} case{plural})", written.eval_id, written.cases));
        }
    }
    if written.repeated && args.format == Format::Text {
        output::message("hint: `--again` writes it once more");
    }
    for hint in &written.hints {
        output::message(&format!("hint: {hint}"));
    }
}
