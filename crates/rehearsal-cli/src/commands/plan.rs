//! `rehearse plan`.

use std::path::PathBuf;

use clap::Args;
use rehearsal_core::{CaseResult, RunResult};
use rehearsal_run::Split;
use rehearsal_store::Store;

use super::run::show::write_file;
use crate::error::CommandError;
use crate::output;
use crate::place::Place;
use crate::shelf::{self, short};

/// How many blocks of cases are read at a time.
const BLOCKS: u64 = 32;

/// Plan the parts of a run so that all take about as long.
///
/// What cases took in an earlier run says how. The file names each case and repeat with its part. It is written once and kept with the cases: every machine that runs
/// a part (`rehearse run PATH --shard I/N --plan FILE`) reads the same. Cases that are new since go by their hash.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  rehearse plan last --shards 5 -o shards.json
  rehearse plan 3f2a9c1e --shards 20 -o shards.json

Exit codes: 0 it was written; 2 there is no such run, or the file cannot be written.")]
pub(crate) struct PlanArgs {
    /// The run whose durations count: its id, at least 4 characters of its beginning, or `last`
    #[arg(value_name = "RUN")]
    run: String,
    /// How many parts there are to be
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    shards: u32,
    /// The file to write; what is in it is replaced
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    #[command(flatten)]
    place: Place,
}

pub(crate) fn run(args: &PlanArgs) -> Result<(), CommandError> {
    let (split, cases) = shelf::block_on(planned(args))?;
    write_file(&args.output, &split.text())?;
    let place = args.output.display();
    output::data(&format!("{cases} runs of cases in {} parts: {place}", args.shards));
    Ok(())
}

/// A case of a run, and how long its repeats took.
#[derive(Default)]
struct Lasted {
    name: Option<String>,
    repeats: Vec<Option<u64>>,
}

async fn planned(args: &PlanArgs) -> Result<(Split, usize), CommandError> {
    let store = args.place.open_kept().await?;
    let id = shelf::find_run_id(&*store, &args.run).await?;
    let run = store.run_frame(&id).await.map_err(CommandError::setup)?;
    let run = run.ok_or_else(|| CommandError::user(format_args!("run `{id}` was removed just now")))?;
    if let Some(shard) = run.about.recipe.as_ref().and_then(|recipe| recipe.shard) {
        return Err(CommandError::user(format_args!("run {} is only part {shard} of a run", short(&id)))
            .hint("`rehearse merge` joins the parts into one run, which can be planned from"));
    }
    let mut cases = read(&*store, &id).await?;
    if cases.is_empty() {
        let result = run.result.and_then(|result| RunResult::read(result).ok());
        cases = earlier(result.map(|result| result.suite.results).unwrap_or_default());
    }
    // Of what never ran nothing is known, not even its name: the hash places it.
    cases.retain(|case| case.name.is_some());
    let repeat = cases.iter().map(|case| case.repeats.len()).max().unwrap_or(0);
    if repeat == 0 {
        return Err(CommandError::user(format_args!("no case of run {} came to its end", short(&id)))
            .hint("a plan is made from a run that did: `rehearse runs` lists them"));
    }
    let names: Vec<&str> = cases.iter().filter_map(|case| case.name.as_deref()).collect();
    let lasted = |order: usize| cases[order / repeat].repeats.get(order % repeat).copied().flatten();
    let times = u32::try_from(repeat).unwrap_or(u32::MAX);
    Ok((Split::balanced(&id, args.shards, &names, times, lasted), names.len() * repeat))
}

/// The cases of a run, by their place.
async fn read(store: &dyn Store, run: &str) -> Result<Vec<Lasted>, CommandError> {
    let (mut cases, mut after) = (Vec::new(), None);
    loop {
        let page = store.case_results(run, after, BLOCKS).await.map_err(CommandError::setup)?;
        let Some(last) = page.last() else { return Ok(cases) };
        after = Some(last.block);
        for kept in page {
            let case: CaseResult = rehearsal_core::json::from_str(&kept.result)
                .map_err(|error| CommandError::setup(format_args!("a result cannot be read: {error}")))?;
            take(&mut cases, usize::try_from(kept.place).unwrap_or(0), case);
        }
    }
}

/// The cases of a run that an earlier version kept: repeats of a case stand together.
fn earlier(results: Vec<CaseResult>) -> Vec<Lasted> {
    let (mut cases, mut place): (Vec<Lasted>, usize) = (Vec::new(), 0);
    let mut before: Option<(String, u32)> = None;
    for case in results {
        if let Some((name, repeat)) = &before
            && (*name != case.name || case.repeat <= *repeat)
        {
            place += 1;
        }
        before = Some((case.name.clone(), case.repeat));
        take(&mut cases, place, case);
    }
    cases
}

fn take(cases: &mut Vec<Lasted>, place: usize, case: CaseResult) {
    let repeat = case.repeat as usize;
    if cases.len() <= place {
        cases.resize_with(place + 1, Lasted::default);
    }
    let own = &mut cases[place];
    if own.repeats.len() <= repeat {
        own.repeats.resize(repeat + 1, None);
    }
    own.repeats[repeat] = Some(case.duration_ms);
    own.name = Some(case.name);
}
