//! `rehearse report`.

use std::path::PathBuf;

use clap::Args;
use rehearsal_server::report_html;

use crate::error::CommandError;
use crate::output;
use crate::place::Place;
use crate::shelf::{self, short};

/// Write a run as one HTML file that opens offline.
///
/// The file has the run's results, every metric with its evidence, and all that was said, in the same view that the page
/// of `rehearse serve` has. It needs no server and fetches nothing, so it can be mailed or kept by CI.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  rehearse report 224f22e2 -o report.html
  rehearse report last -o report.html

Exit codes: 0 it was written; 2 there is no such run, or the file cannot be written.")]
pub(crate) struct ReportArgs {
    /// The run: its id, at least 4 characters of its beginning, or `last`
    #[arg(value_name = "RUN")]
    run: String,
    /// The file to write; what is in it is replaced
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    #[command(flatten)]
    place: Place,
}

pub(crate) fn run(args: &ReportArgs) -> Result<(), CommandError> {
    output::data(&shelf::block_on(write(args))?);
    Ok(())
}

async fn write(args: &ReportArgs) -> Result<String, CommandError> {
    let store = args.place.open_kept().await?;
    let id = shelf::find_run(&*store, &args.run).await?.id;
    let html = report_html(&*store, &id).await.map_err(CommandError::setup)?;
    let place = args.output.display();
    std::fs::write(&args.output, &html)
        .map_err(|error| CommandError::setup(format_args!("`{place}` cannot be written: {error}")))?;
    Ok(format!("run {} is in {place} ({} kB)", short(&id), html.len().div_ceil(1024)))
}
