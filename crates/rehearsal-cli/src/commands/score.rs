//! `rehearse score`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use rehearsal::scenario_models::ModelBuilder;
use rehearsal_core::{
    CaseResult, Clock as _, Ledger, RunResult, SessionId, SessionPart, SuiteResult, SystemClock,
};
use rehearsal_run::KeptCases;
use rehearsal_scenario::{Backstage, BuildModel, Commands, NotScorable, Scenario};
use rehearsal_sim::CaseRun;
use rehearsal_store::read_ledger;

use crate::commands::run::drive::Wings;
use crate::commands::run::show::{Show, Told, quoted};
use crate::commands::runs::of_run;
use crate::commands::sessions::read_file as read;
use crate::error::{CommandError, cannot_start};
use crate::load::{Colour, Compat, Completeness, Loaded, Selection, role_and_model};
use crate::place::Place;
use crate::variables::Variables;
use crate::{exit, shelf};

/// Score the ledgers of earlier runs.
///
/// Asks the evaluations of a scenario file of ledgers that `rehearse run` left, without running anything again: evaluations
/// can be changed, added and tried on what agents did before. With the file of the run, the results are those of the run.
/// Questions for a judge are asked again, through the model that the file or `--model judge=SPEC` names.
///
/// Of a file, only what it asks is taken: its steps must be those of the ledger, and what is not on the ledger, such as a
/// command that no evaluation of the run asked for, cannot be decided. That is never a pass.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  rehearse score 3f2a9c1e --with refund.scenario.yaml
  rehearse score 001-refund.jsonl --with refund.scenario.yaml --model judge=openai:gpt-4o --json -

Exit codes: 0 all passed; 1 something failed, errored, was stopped or was judged by nothing; 2 the input or set-up is \
wrong.")]
pub(crate) struct ScoreArgs {
    /// Runs and sessions that are kept, by id or its beginning; ledgers of agents (`*.jsonl`); or folders. Of runs and
    /// folders those ledgers are taken that are of the scenario
    #[arg(required = true, value_name = "LEDGER")]
    ledgers: Vec<PathBuf>,
    /// The scenario file with the evaluations
    #[arg(long, value_name = "FILE")]
    with: PathBuf,
    /// A model for a judge: `judge`, or another key; such as `judge=openai:gpt-4o`
    #[arg(long = "model", value_name = "ROLE=SPEC", value_parser = role_and_model)]
    models: Vec<(String, String)>,
    /// The YAML file with the agent that the scenario was run with, where it does not bring its own
    #[arg(long, value_name = "FILE")]
    agent: Option<PathBuf>,
    /// Accept the file of another runner; what that one drops silently becomes a warning
    #[arg(long, value_name = "RUNNER")]
    compat: Option<Compat>,
    /// A file of NAME=value lines, for keys
    #[arg(long, value_name = "FILE")]
    env_file: Option<PathBuf>,
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    show: Show,
    /// When to use colours
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    color: Colour,
}

pub(crate) fn run(args: &ScoreArgs) -> Result<ExitCode, CommandError> {
    let cases = load(args)?;
    let ledgers = find_ledgers(args, &cases)?;
    let variables = Variables::with_file(args.env_file.as_deref())?;
    let models = ModelBuilder::default();
    let build = move |key: &str, choice: &_| models.build(key, choice, &|name| variables.get(name));
    let (started_at, reading) = (SystemClock.now(), SystemClock.monotonic());
    let (scenarios, paths, runs) = score(args, ledgers, &build)?;
    let file = args.with.display().to_string();
    let mut suite = SuiteResult::default();
    for ((scenario, path), run) in scenarios.iter().zip(&paths).zip(&runs) {
        suite.summary.count(run.result.status);
        let mut result = scenario.result(&file, run);
        if path.exists() {
            (result.ledgers, result.sessions) = (vec![path.display().to_string()], Vec::new());
        } else {
            result.sessions = vec![SessionId::new(path.display().to_string())];
        }
        suite.results.push(result);
    }
    let result = RunResult {
        duration_ms: u64::try_from(SystemClock.since(reading).as_millis()).unwrap_or(u64::MAX),
        suite,
        ..RunResult::new(started_at, 0)
    };
    args.show.print(args.color, "ledger", &result, &runs, |case| told(args, case))?;
    args.show.write(&result, &runs, |case| told(args, case))?;
    Ok(if result.suite.passed() { exit::PASSED } else { exit::not_passed() })
}

/// Where a ledger was read, and the command that scores just this one again.
fn told(args: &ScoreArgs, case: &CaseResult) -> Told {
    let sessions = case.sessions.iter().map(SessionId::as_str);
    let Some(ledger) = case.ledgers.iter().map(String::as_str).chain(sessions).next() else {
        return Told::default();
    };
    let (path, with) = (quoted(ledger), quoted(&args.with.display().to_string()));
    let again = format!("rehearse score {path} --with {with}{}", args.place.option());
    Told { from: Some(ledger.to_owned()), again: Some(again) }
}

/// The scenario with the evaluations, or the cases that are made of it.
struct Cases {
    name: String,
    all: Vec<Loaded>,
}

impl Cases {
    /// The case that a ledger is of.
    fn of(&self, ledger: &Ledger) -> Result<Arc<Scenario>, NotScorable> {
        let case = ledger.started().and_then(|started| started.case.as_deref());
        let found = self.all.iter().find(|loaded| Some(&*loaded.name) == case || self.all.len() == 1);
        let Some(found) = found.filter(|_| ledger.part() == SessionPart::Main) else {
            let first = self.all.first().map(Loaded::scenario);
            let scenario = self.name.clone();
            let other =
                || NotScorable::Other { found: format!("the case `{}`", case.unwrap_or("?")), scenario };
            return Err(first.and_then(|first| first.fits(ledger).err()).unwrap_or_else(other));
        };
        let scenario = found.scenario();
        scenario.fits(ledger).map(|()| scenario)
    }
}

/// The scenario with the evaluations.
fn load(args: &ScoreArgs) -> Result<Cases, CommandError> {
    let selection = Selection {
        paths: vec![args.with.clone()],
        filter: None,
        cases: Vec::new(),
        models: args.models.clone(),
        agent: args.agent.clone(),
        agent_socket: None,
        local_code: true,
        compat: args.compat,
        color: args.color,
        combinations: None,
        variables: Variables::default(),
    };
    let outcome = selection.load(Completeness::AsWritten)?;
    if outcome.unusable > 0 {
        return Err(CommandError::shown());
    }
    let name =
        outcome.usable.first().map(|loaded| loaded.parts().map_or(loaded.name.to_string(), |(name, _)| name));
    match (name, &outcome.usable[..]) {
        (Some(name), [one, rest @ ..]) if rest.iter().all(|other| other.path == one.path) => {
            Ok(Cases { name, all: outcome.usable })
        }
        _ => Err(CommandError::user(format_args!("`{}` holds several scenarios", args.with.display()))
            .hint("name the file of one")),
    }
}

/// A ledger, where it was read, and the case that it is of.
type Scored = (PathBuf, Ledger, Arc<Scenario>);

/// The ledgers at these paths. What is named itself must be a ledger of the scenario.
fn find_ledgers(args: &ScoreArgs, cases: &Cases) -> Result<Vec<Scored>, CommandError> {
    let mut found = Vec::new();
    let mut problems = Vec::new();
    for path in &args.ledgers {
        if !path.exists() && is_id(path) {
            match shelf::block_on(of_store(args, path, cases)) {
                Ok(ledgers) => found.extend(ledgers),
                Err(problem) => problems.push(problem),
            }
            continue;
        }
        if path.is_dir() {
            match of_folder(path, cases) {
                Ok(ledgers) if ledgers.is_empty() => problems.push(CommandError::user(format_args!(
                    "there is no ledger of the scenario `{}` in `{}`",
                    cases.name,
                    path.display()
                ))),
                Ok(ledgers) => found.extend(ledgers),
                Err(problem) => problems.push(problem),
            }
            continue;
        }
        match read(path) {
            Ok(ledger) => match cases.of(&ledger) {
                Ok(scenario) => found.push((path.clone(), ledger, scenario)),
                Err(why) => problems.push(not_scorable(format_args!("`{}`", path.display()), &why)),
            },
            Err(problem) => problems.push(problem),
        }
    }
    match problems.len() {
        0 => Ok(found),
        1 => Err(problems.remove(0)),
        several => {
            let texts: Vec<String> = problems.iter().map(CommandError::text).collect();
            Err(CommandError::user(format_args!(
                "{several} ledgers cannot be scored\n  {}",
                texts.join("\n  ")
            )))
        }
    }
}

fn not_scorable(what: impl std::fmt::Display, why: &NotScorable) -> CommandError {
    CommandError::user(format_args!("{what} cannot be scored: {why}"))
}

/// The ledgers in a folder and in those below it that are of the scenario.
fn of_folder(folder: &Path, cases: &Cases) -> Result<Vec<Scored>, CommandError> {
    let failed = |error: std::io::Error| {
        CommandError::user(format_args!("cannot read `{}`: {error}", folder.display()))
    };
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        paths.push(entry.map_err(failed)?.path());
    }
    paths.sort();
    let mut found = Vec::new();
    for path in paths {
        if path.is_dir() && !path.is_symlink() {
            found.extend(of_folder(&path, cases)?);
        } else if path.extension().is_some_and(|end| end == "jsonl") {
            let ledger = read(&path)?;
            match cases.of(&ledger) {
                Ok(scenario) => found.push((path, ledger, scenario)),
                Err(NotScorable::Part { .. } | NotScorable::Other { .. }) => {}
                Err(why) => return Err(not_scorable(format_args!("`{}`", path.display()), &why)),
            }
        }
    }
    Ok(found)
}

/// Whether this may be the id of a run or a session, or the beginning of one.
fn is_id(path: &Path) -> bool {
    let text = path.to_string_lossy();
    text == "last" || text.len() >= 4 && text.chars().all(|c| c.is_ascii_hexdigit() || c == '-')
}

/// The ledgers of a run that are of the scenario, or the ledger of a session.
async fn of_store(args: &ScoreArgs, id: &Path, cases: &Cases) -> Result<Vec<Scored>, CommandError> {
    let store = args.place.open_kept().await?;
    let id = id.to_string_lossy();
    let Ok(run) = shelf::find_run(&*store, &id).await else {
        let session = shelf::find_session(&*store, &id).await?.id;
        let ledger = read_ledger(&*store, &session).await.map_err(CommandError::setup)?;
        let scenario =
            cases.of(&ledger).map_err(|why| not_scorable(format_args!("session `{session}`"), &why))?;
        return Ok(vec![(PathBuf::from(session.as_str()), ledger, scenario)]);
    };
    let (mut found, mut seen) = (Vec::new(), BTreeSet::new());
    let mut take = |id: &SessionId, ledger: Ledger| {
        match cases.of(&ledger) {
            Ok(scenario) => found.push((PathBuf::from(id.as_str()), ledger, scenario)),
            Err(NotScorable::Part { .. } | NotScorable::Other { .. }) => {}
            Err(why) => return Err(not_scorable(format_args!("session `{id}`"), &why)),
        }
        Ok(())
    };
    let mut ended = KeptCases::of(&*store, &run).await.map_err(CommandError::setup)?;
    while let Some(case) = ended.next().await.map_err(CommandError::setup)? {
        if let Some(main) = case.main() {
            take(&main.id, main.ledger().map_err(CommandError::setup)?)?;
        }
        seen.extend(case.sessions.into_iter().map(|session| session.id));
    }
    // What came to no end has sessions too.
    for session in of_run(&*store, &run.id).await? {
        if session.part == SessionPart::Main && !seen.contains(&session.id) {
            take(&session.id, read_ledger(&*store, &session.id).await.map_err(CommandError::setup)?)?;
        }
    }
    if found.is_empty() {
        return Err(CommandError::user(format_args!(
            "there is no ledger of the scenario `{}` in run `{}`",
            cases.name, run.id
        )));
    }
    Ok(found)
}

/// The scenarios, where their ledgers were read, and what they came to.
type Runs = (Vec<Arc<Scenario>>, Vec<PathBuf>, Vec<Arc<CaseRun>>);

fn score(args: &ScoreArgs, ledgers: Vec<Scored>, build: &BuildModel) -> Result<Runs, CommandError> {
    let wings = Wings::of_score(args.env_file.as_deref())?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| cannot_start(&error))?;
    let (mut scenarios, mut paths, mut runs) = (Vec::new(), Vec::new(), Vec::new());
    for (path, ledger, scenario) in ledgers {
        let mut judges = scenario.judges(build)?;
        if scenario.evaluations().any(|evaluation| !evaluation.check.programs().is_empty()) {
            let backstage = wings.backstage(&args.with, 0, &scenario.name)?;
            // Who scores with a file lets its checks run.
            let backstage = Backstage { commands: Commands::Allowed, ..backstage };
            judges.checker = Some(scenario.checker(backstage)?);
        }
        let run = runtime.block_on(scenario.score(ledger, &judges));
        let run = run.map_err(|why| not_scorable(format_args!("`{}`", path.display()), &why))?;
        scenarios.push(scenario);
        paths.push(path);
        runs.push(Arc::new(run));
    }
    Ok((scenarios, paths, runs))
}
