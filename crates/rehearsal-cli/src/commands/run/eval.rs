//! `rehearse eval`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Args;
use rehearsal_adk::{Criteria, EvalRun, EvalSet, Note, conversation_agent};
use rehearsal_agent::AgentRef;
use rehearsal_scenario::{AgentFile, ModelChoice, NamedModel, Prices, Reached, compile_agent};
use rehearsal_sim::person::People;
use rehearsal_sim::{Case, CaseRun, StandIn};

use super::about;
use super::drive::{self, Job, RunOptions, Wings};
use super::recipe::{self, Ingredients};
use crate::commands::import::read_eval_set;
use crate::error::CommandError;
use crate::load::{Colour, Selection, role_and_model};
use crate::{digest, files, output};

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
    /// When to use colours
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    color: Colour,
    #[command(flatten)]
    options: RunOptions,
}

impl EvalArgs {
    pub(super) fn options(&mut self) -> &mut RunOptions {
        &mut self.options
    }
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
    let wings = Wings::new(&args.options)?;
    let asked = about::model(&file.agent, &file.models).filter(|model| model != "person");
    let unpriced = asked.filter(|model| !file.prices.0.contains_key(model));
    args.options.budget.refuse_unpriced_models(unpriced.as_deref().into_iter())?;
    let prices = Arc::new(file.prices.clone());
    let agents = agents(args, &set, &file, &wings)?;
    let job = Job {
        title: format!("{} ({})", set.eval_set_id, args.file.display()),
        noun: "case",
        models: about::model(&file.agent, &file.models).into_iter().collect(),
        ingredients: ingredients(args, &set)?,
        turns: None,
        eval_set: Some(set.eval_set_id.clone()),
        colour: args.color,
        repeat: None,
        tally: None,
    };
    let cases = eval_run(args, set, agents, prices, criteria).cases();
    let unanswered = Arc::new(AtomicBool::new(false));
    let seen = unanswered.clone();
    let describe = move |_, run: &CaseRun| {
        if run.result.error.as_ref().is_some_and(|why| why.kind == "unmocked_tool") {
            seen.store(true, Ordering::Relaxed);
        }
        run.result.clone()
    };
    let result = drive::drive(&args.options, job, wings, cases, Arc::new(describe), Box::new(|_| None))?;
    if !args.golden_tools && unanswered.load(Ordering::Relaxed) {
        output::message("hint: `--golden-tools` lets the traces answer tool calls");
    }
    Ok(drive::exit_code(&result))
}

/// Names what a file says that is not acted on.
fn note(path: &Path, notes: &[Note]) {
    for note in notes {
        let fate = if note.is_dropped { "dropped" } else { "not acted on" };
        let note = output::one_line(&note.to_string());
        output::message(&format!("warning: `{}`: {fate}: {note}", path.display()));
    }
}

/// What stands for all that is run.
fn ingredients(args: &EvalArgs, set: &EvalSet) -> Result<Ingredients, CommandError> {
    let mut ingredients = Ingredients {
        cases: set.eval_cases.iter().map(|case| case.eval_id.as_str().into()).collect(),
        ..Ingredients::default()
    };
    for path in [Some(&args.file), Some(&args.agent), args.criteria.as_ref()].into_iter().flatten() {
        ingredients.files.insert(path.display().to_string(), digest::of(&files::read(path)?));
    }
    let models = args.models.iter().map(|(role, spec)| format!("{role}={spec}"));
    ingredients.settings.insert("models", recipe::listed(models));
    if args.golden_tools {
        ingredients.settings.insert("golden_tools", String::new());
    }
    Ok(ingredients)
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
        cases: Vec::new(),
        models: Vec::new(),
        agent: None,
        agent_socket: None,
        local_code: false,
        compat: None,
        color: args.color,
        combinations: None,
        variables: crate::variables::Variables::default(),
    };
    let mut file = selection.agent_file(&args.agent)?;
    for (role, spec) in &args.models {
        file.models.retain(|own| own.key != *role);
        file.models.push(NamedModel {
            key: role.clone(),
            model: ModelChoice::named(spec),
            seed: None,
            max_calls: None,
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
    wings: &Wings,
) -> Result<BTreeMap<String, Played>, CommandError> {
    let mut agents = BTreeMap::new();
    for (place, case) in set.eval_cases.iter().enumerate() {
        let backstage = wings.backstage(&args.agent, place, &case.eval_id)?;
        let people = backstage.people.clone();
        let compiled = compile_agent(file, backstage);
        let (agent, tools) = compiled.map_err(|why| CommandError::from(why).about(args.agent.display()))?;
        agents.insert(case.eval_id.clone(), Played { agent, tools, people });
    }
    Ok(agents)
}

fn eval_run(
    args: &EvalArgs,
    set: EvalSet,
    agents: BTreeMap<String, Played>,
    prices: Arc<Prices>,
    criteria: Criteria,
) -> EvalRun {
    let run = EvalRun::new(set, move |eval| {
        let Played { agent, tools, people } = &agents[&eval.eval_id];
        let case = Case::new(&eval.eval_id, conversation_agent(agent.clone(), eval));
        let case = case.wrap_stand_in(|_| tools.clone()).prices(prices.clone());
        match people {
            Some(people) => case.people(people.clone()),
            None => case,
        }
    });
    let run = run.criteria(criteria);
    if args.golden_tools { run.golden_tools() } else { run }
}
