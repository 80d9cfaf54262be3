//! `rehearse matrix`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;

use super::RunArgs;
use super::drive::RunOptions;
use super::resume::AgainArgs;
use crate::error::CommandError;
use crate::load::{Colour, Compat, Completeness, Selection, role_and_model};
use crate::times::duration;
use crate::{exit, output};

/// Run a matrix file of the `ElizaOS` runner.
///
/// It names a base scenario and values for places of it; every combination is a case, run `runs_per_combination` times.
/// Mocks of the base scenario answer, its agent comes from `--agent FILE`, and what fails counts: unlike there, a
/// combination has passed only when its judgment says so. `rehearse run --compat elizaos FILE` does the same.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  rehearse matrix personas.matrix.yaml --dry-run
  rehearse matrix personas.matrix.yaml --agent agent.yaml --filter refund --parallel 4

Exit codes: 0 all passed; 1 something failed, errored, was stopped or was judged by nothing; 2 the input or set-up is \
wrong.")]
pub(crate) struct MatrixArgs {
    /// The matrix file
    #[arg(value_name = "FILE")]
    path: PathBuf,
    /// Only list the combinations, and say what is missing to run them
    #[arg(long)]
    dry_run: bool,
    /// How many runs go on side by side, as `--jobs`
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024), conflicts_with = "jobs")]
    parallel: Option<u32>,
    /// Only combinations whose values, as JSON, hold this text; upper and lower case are one
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
    /// A model for a part: `agent`, `user`, `judge`, or another key; such as `judge=openai:gpt-4o`
    #[arg(long = "model", value_name = "ROLE=SPEC", value_parser = role_and_model)]
    models: Vec<(String, String)>,
    /// A YAML file with the `agent`
    #[arg(long, value_name = "FILE")]
    agent: Option<PathBuf>,
    /// Let tools run for real: mocks do not answer
    #[arg(long, short)]
    live: bool,
    /// Run code on this machine also where a file asks for a sandbox (`environment: {type: e2b}`), which is not there
    #[arg(long)]
    local_code: bool,
    /// Stop a run that takes longer, such as `90s`, `5m` or `500ms`
    #[arg(long, value_name = "TIME", value_parser = duration)]
    timeout: Option<Duration>,
    /// When to use colours
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    color: Colour,
    #[command(flatten)]
    options: RunOptions,
}

impl MatrixArgs {
    pub(super) fn options(&mut self) -> &mut RunOptions {
        &mut self.options
    }
}

pub(crate) fn run(args: MatrixArgs) -> Result<ExitCode, CommandError> {
    let selection = Selection {
        paths: vec![args.path],
        filter: None,
        cases: Vec::new(),
        models: args.models,
        agent: args.agent,
        agent_socket: None,
        compat: Some(Compat::ElizaOs),
        local_code: args.local_code,
        color: args.color,
        combinations: args.filter,
        variables: crate::variables::Variables::default(),
    };
    if args.dry_run {
        return list(&selection);
    }
    let mut run = RunArgs {
        selection,
        live: args.live,
        no_commands: false,
        keep_going: false,
        timeout: args.timeout,
        keep: false,
        again: AgainArgs::default(),
        options: args.options.with_jobs(args.parallel),
    };
    super::run(&mut run)
}

/// The most combinations that are listed.
const MAX_LISTED: usize = 1000;

/// Lists the combinations without running any.
fn list(selection: &Selection) -> Result<ExitCode, CommandError> {
    let outcome = selection.load(Completeness::AsWritten)?;
    if outcome.unusable > 0 {
        return Err(CommandError::shown());
    }
    outcome.refuse_nothing_chosen()?;
    let count = outcome.usable.len();
    for (number, loaded) in outcome.usable.iter().take(MAX_LISTED).enumerate() {
        let variant = loaded.parts().map(|(_, variant)| variant).unwrap_or_default();
        let values: Vec<String> = variant.iter().map(|(axis, value)| format!("{axis} = {value}")).collect();
        output::data(&format!("combination {:>3}  {}", number + 1, output::one_line(&values.join(", "))));
    }
    if count > MAX_LISTED {
        output::data(&format!("… and {} more", count - MAX_LISTED));
    }
    let repeat = outcome.usable.first().and_then(crate::load::Loaded::repeat).unwrap_or(1);
    let plural = if count == 1 { "" } else { "s" };
    let total = count as u64 * u64::from(repeat);
    output::data(&format!("{count} combination{plural}, {total} run{}", if total == 1 { "" } else { "s" }));
    let Some(first) = outcome.usable.first() else { return Ok(exit::PASSED) };
    for problem in first.scenario().missing() {
        let help = problem.help.as_deref().and_then(|help| help.lines().last()).unwrap_or_default();
        output::data(&format!("to run them: {} ({help})", problem.message));
    }
    Ok(exit::PASSED)
}
