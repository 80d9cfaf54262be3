//! `rehearse eval`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use rehearsal::scenario_models::ModelBuilder;
use rehearsal_adk::{Criteria, EvalRun, EvalSet, Note, conversation_agent};
use rehearsal_agent::AgentRef;
use rehearsal_core::{CaseResult, Clock as _, RepeatStatistics, Summary, SystemClock};
use rehearsal_js::{WorkerCommand, Workers};
use rehearsal_run::RunJournal;
use rehearsal_scenario::{AgentFile, Backstage, Commands, ModelChoice, NamedModel, Reached, compile_agent};
use rehearsal_sim::person::People;
use rehearsal_sim::{Cancel, Case, StandIn, Suite, SuiteEvent, SuiteRun};
use serde::Serialize;

use super::keeping::{Curtain, Keeping};
use super::print::{Detail, Printer};
use super::progress::Progress;
use super::{about, interrupt, this_program, write_file};
use crate::commands::import::read_eval_set;
use crate::error::{CommandError, cannot_start};
use crate::load::{Colour, Selection, role_and_model};
use crate::place::Place;
use crate::variables::Variables;
use crate::{exit, files, output};

/// Run the cases of an ADK `EvalSet` file against an agent.
///
/// The user says what each case's conversation says, message by message, and the criteria of ADK judge what comes of it:
/// the tool calls, and the words of the final responses. No tool runs for real: mocks of the agent's file (`setup.mocks`)
/// answer its calls, and with `--golden-tools` the traces do first. There, a call that nothing answers is an error that
/// the agent is told, and one call more for the criteria; without it, such a call ends its case.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  rehearse eval golden.evalset.json --agent agent.yaml --golden-tools
  rehearse eval golden.evalset.json --agent agent.yaml --criteria test_config.json --model agent=openai:gpt-4o

Exit codes: 0 all passed; 1 something failed, errored or was stopped; 2 the input or set-up is wrong; 130 interrupted.")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct EvalArgs {
    /// The `EvalSet` file, in any form that `rehearse import` reads
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The YAML file with the agent, and mocks of its tools
    #[arg(long, value_name = "FILE")]
    agent: PathBuf,
    /// What the cases have to satisfy, as in ADK's `test_config.json` [default: ADK's own criteria]
    #[arg(long, value_name = "FILE")]
    criteria: Option<PathBuf>,
    /// Let the traces answer tool calls as the tools did
    #[arg(long)]
    golden_tools: bool,
    /// A model for a part, such as `agent=openai:gpt-4o`
    #[arg(long = "model", value_name = "ROLE=SPEC", value_parser = role_and_model)]
    models: Vec<(String, String)>,
    /// A file of NAME=value lines, for keys
    #[arg(long, value_name = "FILE")]
    env_file: Option<PathBuf>,
    /// How many cases run side by side [default: 16]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    jobs: Option<u32>,
    /// Run each case so many times
    #[arg(long, value_name = "K", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    repeat: u32,
    /// Where all chance comes from; the same seed draws the same
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Write the results as JSON to a file, or to standard output with `-`
    #[arg(long, value_name = "FILE|-")]
    json: Option<PathBuf>,
    #[command(flatten)]
    place: Place,
    /// What to call this run in lists
    #[arg(long, value_name = "NAME", value_parser = about::name)]
    name: Option<String>,
    /// Keep nothing in the store, for places that cannot be written
    #[arg(long)]
    no_store: bool,
    /// Print only what did not pass
    #[arg(long, short, conflicts_with = "verbose")]
    quiet: bool,
    /// Print all transcripts and scores
    #[arg(long, short)]
    verbose: bool,
    /// When to use colours
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    color: Colour,
}

/// What a run of an `EvalSet` came to.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct EvalResult {
    version: u32,
    eval_set: String,
    started_at: String,
    duration_ms: u64,
    #[serde(with = "rehearsal_core::json::seed")]
    seed: u64,
    interrupted: bool,
    summary: Summary,
    cases: Vec<CaseResult>,
    repeats: Vec<RepeatStatistics>,
}

pub(crate) fn run(args: &EvalArgs) -> Result<ExitCode, CommandError> {
    let imported = read_eval_set(&args.file)?;
    note(&args.file, &imported.notes);
    let set = imported.set;
    if set.eval_cases.is_empty() {
        return Err(CommandError::user(format_args!("`{}` has no cases", args.file.display())));
    }
    let criteria = match &args.criteria {
        Some(path) => read_criteria(path)?,
        None => Criteria::default(),
    };
    let file = agent_file(args)?;
    refuse_idle_models(args, &file)?;
    let curtain = Curtain::default();
    let agents = agents(args, &set, &file, &curtain)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| cannot_start(&error))?;
    let keeping = if args.no_store {
        None
    } else {
        let title = format!("{} ({})", set.eval_set_id, args.file.display());
        let model = about::model(&file.agent, &file.models);
        let about = about::about(args.name.as_deref(), model.into_iter().collect());
        Some(runtime.block_on(Keeping::begin(&args.place, &title, about))?)
    };
    let (began, reading) = (SystemClock.now(), SystemClock.monotonic());
    let cancel = Cancel::default();
    let progress = Progress::new(args.quiet, set.eval_cases.len() as u64 * u64::from(args.repeat));
    if let Some(keeping) = &keeping {
        curtain.open(keeping, &progress);
    }
    runtime.spawn(interrupt::listen(cancel.clone(), progress.clone()));
    let eval_set = set.eval_set_id.clone();
    let run = eval_run(args, set, agents, criteria);
    let run = runtime.block_on(play(args, &run, keeping.as_ref(), &cancel, &progress));
    progress.close();
    let interrupted = cancel.is_cancelled();
    cancel.cancel();
    let result = EvalResult {
        version: 1,
        eval_set,
        started_at: began.to_string(),
        duration_ms: u64::try_from(SystemClock.since(reading).as_millis()).unwrap_or(u64::MAX),
        seed: args.seed,
        interrupted,
        summary: run.result.summary,
        cases: runtime.block_on(cases(&run, keeping.as_ref())),
        repeats: run.result.repeats.clone(),
    };
    let kept = match &keeping {
        Some(keeping) => runtime.block_on(keeping.end(interrupted, &result.summary, &result)),
        None => Ok(()),
    };
    print(args, &result, &run)?;
    kept?;
    if let Some(keeping) = keeping {
        if !args.quiet {
            output::message(&format!("kept: {}", keeping.command()));
        }
        keeping.leave();
    }
    Ok(if interrupted {
        exit::interrupted()
    } else if run.result.passed() {
        exit::PASSED
    } else {
        exit::not_passed()
    })
}

/// Names what a file says that is not acted on.
fn note(path: &Path, notes: &[Note]) {
    for note in notes {
        let fate = if note.is_dropped { "dropped" } else { "not acted on" };
        let note = output::one_line(&note.to_string());
        output::message(&format!("warning: `{}`: {fate}: {note}", path.display()));
    }
}

fn read_criteria(path: &Path) -> Result<Criteria, CommandError> {
    let text = files::read(path)?;
    let criteria = Criteria::read(&text)
        .map_err(|error| CommandError::user(error).about(format_args!("`{}`", path.display())))?;
    note(path, &criteria.notes);
    Ok(criteria)
}

/// The agent's file.
fn agent_file(args: &EvalArgs) -> Result<AgentFile, CommandError> {
    let selection = Selection {
        paths: Vec::new(),
        filter: None,
        models: Vec::new(),
        agent: None,
        local_code: false,
        compat: None,
        color: args.color,
    };
    let mut file = selection.agent_file(&args.agent)?;
    for (role, spec) in &args.models {
        file.models.retain(|own| own.key != *role);
        file.models.push(NamedModel {
            key: role.clone(),
            model: ModelChoice::named(spec),
            seed: None,
            span: 0..0,
        });
    }
    Ok(file)
}

/// Refuses a model that nobody asks: what is said on the command line is done or refused.
fn refuse_idle_models(args: &EvalArgs, file: &AgentFile) -> Result<(), CommandError> {
    let asked = match &file.agent.reached {
        Reached::Inline(inline) => Some(inline.model.as_str()),
        _ => None,
    };
    match args.models.iter().find(|(role, _)| Some(role.as_str()) != asked) {
        None => Ok(()),
        Some((role, spec)) => {
            let which = asked.map_or_else(|| "none".to_owned(), |key| format!("`{key}`"));
            Err(CommandError::user(format_args!(
                "`--model {role}={spec}` changes nothing: the only model that is asked is {which}"
            )))
        }
    }
}

/// An agent and who plays its tools.
struct Played {
    agent: AgentRef,
    tools: Arc<dyn StandIn>,
    people: Option<Arc<dyn People>>,
}

/// The agent for each case: the people who may play its model are asked for that case.
fn agents(
    args: &EvalArgs,
    set: &EvalSet,
    file: &AgentFile,
    curtain: &Curtain,
) -> Result<BTreeMap<String, Played>, CommandError> {
    let program = this_program()?;
    let hidden = |word: &str| WorkerCommand { program: program.clone(), args: vec![word.to_owned()] };
    let scripts = Workers::new(hidden(crate::JS_WORKER));
    let variables = Variables::with_file(args.env_file.as_deref())?;
    let directory = files::folder(&args.agent)?;
    let models = ModelBuilder::default();
    let mut agents = BTreeMap::new();
    for (index, case) in set.eval_cases.iter().enumerate() {
        let people = (!args.no_store).then(|| curtain.people(index, &case.eval_id));
        let (models_of, builder, read) = (variables.clone(), models.clone(), variables.clone());
        let backstage = Backstage {
            models: Arc::new(move |key, choice| builder.build(key, choice, &|name| models_of.get(name))),
            people: people.clone(),
            scripts: scripts.clone(),
            supervisor: Some(hidden(crate::SUPERVISOR)),
            variables: Arc::new(move |name| read.get(name)),
            directory: directory.clone(),
            live: false,
            keep: false,
            timeout: None,
            // The cases of an EvalSet start none.
            commands: Commands::Refused,
        };
        let compiled = compile_agent(file, backstage);
        let (agent, tools) = compiled.map_err(|why| CommandError::from(why).about(args.agent.display()))?;
        agents.insert(case.eval_id.clone(), Played { agent, tools, people });
    }
    Ok(agents)
}

fn eval_run(args: &EvalArgs, set: EvalSet, agents: BTreeMap<String, Played>, criteria: Criteria) -> EvalRun {
    let run = EvalRun::new(set, move |eval| {
        let Played { agent, tools, people } = &agents[&eval.eval_id];
        let case = Case::new(&eval.eval_id, conversation_agent(agent.clone(), eval));
        let case = case.wrap_stand_in(|_| tools.clone());
        match people {
            Some(people) => case.people(people.clone()),
            None => case,
        }
    });
    let run = run.criteria(criteria);
    if args.golden_tools { run.golden_tools() } else { run }
}

async fn play(
    args: &EvalArgs,
    run: &EvalRun,
    keeping: Option<&Keeping>,
    cancel: &Cancel,
    progress: &Progress,
) -> SuiteRun {
    let mut suite = Suite::new(run.cases()).seed(args.seed).repeat(args.repeat).cancel(cancel.clone());
    if let Some(jobs) = args.jobs {
        suite = suite.jobs(jobs as usize);
    }
    let (shown, kept) = (progress.clone(), keeping.map(|keeping| keeping.run.clone()));
    let suite = suite.journal(move |index, _, options| {
        let (key, shown) = ((index, options.repeat), shown.clone());
        let kept = kept.as_ref().map(|run| run.case(index));
        Arc::new(RunJournal::new(kept, None, move |counts| shown.counted(key, counts)))
    });
    let shown = progress.clone();
    let suite = suite.observe(move |event| match event {
        SuiteEvent::Started { index, name, repeat } => shown.started((index, repeat), &name),
        SuiteEvent::Finished { index, run } => shown.finished((index, run.result.repeat), &run),
        _ => {}
    });
    suite.run().await
}

/// What the cases came to, with the ids of their sessions in the store where they are kept.
async fn cases(run: &SuiteRun, keeping: Option<&Keeping>) -> Vec<CaseResult> {
    let mut cases = Vec::new();
    for (case, place) in run.runs.iter().zip(&run.places) {
        let mut result = case.result.clone();
        if let Some(keeping) = keeping {
            result.sessions = keeping.sessions(*place, case).await;
        }
        cases.push(result);
    }
    cases
}

fn print(args: &EvalArgs, result: &EvalResult, run: &SuiteRun) -> Result<(), CommandError> {
    let detail = match (args.quiet, args.verbose) {
        (true, _) => Detail::Quiet,
        (_, true) => Detail::Verbose,
        _ => Detail::Normal,
    };
    // Standard output is data: when the JSON goes there, nothing else does.
    let to_stdout = args.json.as_deref() == Some(Path::new("-"));
    let (write, colour): (fn(&str), bool) = if to_stdout {
        (output::message, args.color.for_stream(&std::io::stderr()))
    } else {
        (output::data, args.color.for_stream(&std::io::stdout()))
    };
    let printer = Printer { detail, colour };
    for (case, run) in result.cases.iter().zip(&run.runs) {
        if let Some(text) = printer.case(case, &run.main).strip_suffix('\n') {
            write(text);
        }
    }
    let summary = printer.summary(&result.summary, &result.repeats, result.duration_ms);
    write(&summary.replacen("scenario", "case", 1));
    let is_unanswered =
        |case: &CaseResult| case.error.as_ref().is_some_and(|why| why.kind == "unmocked_tool");
    if !args.golden_tools && result.cases.iter().any(is_unanswered) {
        output::message("hint: `--golden-tools` lets the traces answer tool calls");
    }
    let Some(path) = &args.json else { return Ok(()) };
    let json = rehearsal_core::json::to_string_pretty(result).map_err(CommandError::internal)?;
    if to_stdout {
        output::json(&json);
        return Ok(());
    }
    write_file(path, &format!("{json}\n"))
}
