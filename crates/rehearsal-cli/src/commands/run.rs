//! `rehearse run`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use rehearsal_agent::Step;
use rehearsal_core::mask::SHORTEST;
use rehearsal_core::{CaseResult, EndReason};
use rehearsal_scenario::{Backstage, Commands, compile, make};
use rehearsal_sim::{Case, CaseMaker, CaseRun, RunOptions as CaseOptions};

use self::drive::{Job, RunOptions, Wings};
use self::recipe::Ingredients;
use self::resume::AgainArgs;
use self::show::quoted;
use self::tally::Tally;
use crate::error::{CommandError, Kind};
use crate::load::{Completeness, Loaded, Outcome, Selection};
use crate::output;
use crate::times::duration;

pub(crate) mod about;
pub(crate) mod budget;
mod calls;
pub(crate) mod drive;
pub(crate) mod eval;
mod interrupt;
mod junit;
mod keeping;
pub(crate) mod matrix;
pub(crate) mod merge;
mod outlet;
mod parts;
pub(crate) mod print;
mod progress;
mod recipe;
mod resume;
mod shard;
pub(crate) mod show;
mod tally;
mod valid;

/// Run scenarios and judge what came of them.
///
/// Without `--live` no tool runs for real: each call is answered by a mock of the file, or ends its scenario. No model is
/// called that a file or the command line does not name.
///
/// Runs are kept, with all that was said: `rehearse runs` lists them. Where a person plays a part, the run waits until
/// they answer through `rehearse serve` in the same folder.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 all passed; 1 something failed, errored, was stopped or was judged by nothing; \
                        2 the input or set-up is wrong; 130 interrupted."
)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct RunArgs {
    #[command(flatten)]
    selection: Selection,
    /// Let tools run for real: mocks do not answer, and tools with a `command` or `http` do what they do
    #[arg(long, help_heading = "Running")]
    live: bool,
    /// Refuse files that would start a program (code, commands, agents and servers that are started), before anything runs
    #[arg(long, help_heading = "Running")]
    no_commands: bool,
    /// Run what can be used although other files cannot; these are counted, and the exit code is 2
    #[arg(long, help_heading = "Running")]
    keep_going: bool,
    /// Stop a scenario that takes longer, such as `90s`, `5m` or `500ms`
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = "Running")]
    timeout: Option<Duration>,
    /// Keep the folders in which commands ran
    #[arg(long, help_heading = "Running")]
    keep: bool,
    #[command(flatten)]
    again: AgainArgs,
    #[command(flatten)]
    options: RunOptions,
}

impl RunArgs {
    fn commands(&self) -> Commands {
        if self.no_commands { Commands::Refused } else { Commands::Allowed }
    }
}

pub(crate) fn run(args: &mut RunArgs) -> Result<ExitCode, CommandError> {
    if let Some(id) = &args.again.resume {
        return resume::go_on(id, &args.options.place);
    }
    if let Some(id) =
        args.again.failed.as_ref().filter(|_| args.selection.paths.is_empty() && !args.options.is_begun())
    {
        return resume::repeat(id, &args.again.only, &args.options.place);
    }
    if let Some(id) = args.again.failed.clone().filter(|_| !args.options.is_begun()) {
        let (id, words) = resume::named_whole(&id, &args.options.place)?;
        (args.again.failed, args.options.words) = (Some(id), Some(words));
    }
    let completeness = Completeness::Runnable { live: args.live, commands: args.commands() };
    let wings = Wings::new(&args.options)?;
    args.selection.variables = wings.variables.clone();
    let args = &*args;
    let outcome = args.selection.load_some(completeness, args.keep_going)?;
    let is_part = args.options.sharding.shard().is_some();
    if is_part && outcome.unusable > 0 {
        return Err(CommandError::user("a file cannot be used, and a part of a run leaves none out")
            .hint("correct it, or name the files that are to be run: all parts have to be of the same"));
    }
    refuse_unusable(&outcome, args.keep_going)?;
    outcome.refuse_nothing_chosen()?;
    let tally = Arc::new(Tally::new(&outcome.usable));
    let turns = turns(args, &outcome.usable)?;
    let job = Job {
        title: title(args, &outcome.usable),
        noun: if outcome.usable.iter().any(Loaded::is_made) { "case" } else { "scenario" },
        models: about::models(&outcome.usable),
        ingredients: ingredients(args, &outcome, turns.as_deref()),
        turns,
        eval_set: None,
        colour: args.selection.color,
        repeat: repeat(&outcome.usable)?,
        tally: Some(tally.clone()),
    };
    let stage = Arc::new(Stage {
        loaded: outcome.usable,
        live: args.live,
        keep: args.keep,
        timeout: args.timeout,
        commands: args.commands(),
        wings: wings.clone(),
    });
    args.options.budget.refuse_unpriced(&stage.loaded)?;
    let makers = makers(&stage)?;
    let describe = move |place: usize, run: &CaseRun| {
        tally.count(place, run.result.status);
        stage.describe(place, run)
    };
    // An agent that listens somewhere is gone with whoever started it: there is nothing to repeat it with.
    let (repeatable, again) = (args.selection.agent_socket.is_none(), again(args));
    let again = move |case: &CaseResult| repeatable.then(|| again(case));
    let result = drive::drive(&args.options, job, wings, makers, Arc::new(describe), Box::new(again))?;
    if outcome.unusable > 0 {
        let (plural, were) = if outcome.unusable == 1 { ("", "was") } else { ("s", "were") };
        let kind = if result.interrupted { Kind::Interrupted } else { Kind::User };
        let what = format!("{} file{plural} cannot be used and {were} not run", outcome.unusable);
        return Err(CommandError::user(what).kind(kind));
    }
    Ok(drive::exit_code(&result))
}

/// Stops the run where files cannot be used and nobody said to go on without them.
fn refuse_unusable(outcome: &Outcome, keep_going: bool) -> Result<(), CommandError> {
    let (count, plural) = (outcome.unusable, if outcome.unusable == 1 { "" } else { "s" });
    if count == 0 || (keep_going && !outcome.usable.is_empty()) {
        return Ok(());
    }
    let others = (!outcome.usable.is_empty())
        .then_some("`--keep-going` runs the others and says how many were not run");
    let what = format!("{count} file{plural} cannot be used; nothing was run");
    Err(CommandError::user(what).hints(others))
}

/// The runs of cases that did not pass in the run that `--failed` names, by their places among all runs.
fn turns(args: &RunArgs, loaded: &[Loaded]) -> Result<Option<Arc<[usize]>>, CommandError> {
    let Some(id) = &args.again.failed else { return Ok(None) };
    let chosen = resume::not_passed(id, &args.again.only, &args.options.place)?;
    let repeats = args.options.repeat(repeat(loaded)?);
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    let mut turns = Vec::new();
    for (place, one) in loaded.iter().enumerate() {
        let before = seen.entry(&one.name).or_default();
        let is_chosen = |at: &u32| chosen.contains(&(one.name.to_string(), *before, *at));
        turns.extend((0..repeats).filter(is_chosen).map(|at| place * repeats as usize + at as usize));
        *before += 1;
    }
    if turns.len() < chosen.len() {
        let gone = chosen.len() - turns.len();
        let known = |name: &str| loaded.iter().any(|one| *one.name == *name);
        let names: BTreeSet<&str> =
            chosen.iter().map(|(name, _, _)| name.as_str()).filter(|name| !known(name)).collect();
        let names = names.into_iter().take(5).collect::<Vec<_>>().join("`, `");
        let what = format!("{gone} of {} runs that did not pass are not there any more", chosen.len());
        let hint = if names.is_empty() {
            "each case was run more often then: `--repeat` says how often".to_owned()
        } else {
            format!("no case is called `{names}` now")
        };
        return Err(CommandError::user(what).hint(hint));
    }
    Ok(Some(turns.into()))
}

/// What stands for all that is run.
fn ingredients(args: &RunArgs, outcome: &Outcome, turns: Option<&[usize]>) -> Ingredients {
    let usable = &outcome.usable;
    let mut ingredients =
        Ingredients { cases: usable.iter().map(|one| one.name.clone()).collect(), ..Ingredients::default() };
    let mut before: Option<&Path> = None;
    for path in usable.iter().map(|one| &*one.path) {
        // The cases of a file stand together.
        if before != Some(path) {
            let digest = outcome.digests.get(path).cloned().unwrap_or_default();
            ingredients.files.insert(path.display().to_string(), digest);
        }
        before = Some(path);
    }
    if let (Some(path), Some(digest)) = (&args.selection.agent, &outcome.agent_digest) {
        ingredients.files.insert(path.display().to_string(), digest.clone());
    }
    let models = args.selection.models.iter().map(|(role, spec)| format!("{role}={spec}"));
    let mut settings = vec![("models", recipe::listed(models))];
    settings.extend(args.live.then(|| ("live", String::new())));
    settings.extend(args.selection.compat.map(|runner| ("compat", format!("{runner:?}"))));
    settings.extend(args.selection.agent_socket.is_some().then(|| ("agent_socket", String::new())));
    settings.extend(turns.map(|turns| ("turns", format!("{turns:?}"))));
    settings.extend(args.timeout.map(|limit| ("timeout", format!("{limit:?}"))));
    ingredients.settings = settings.into_iter().collect();
    ingredients
}

/// What is run, in words for people.
fn title(args: &RunArgs, loaded: &[Loaded]) -> String {
    match loaded {
        [one] => one.name.to_string(),
        several => {
            let paths: Vec<String> =
                args.selection.paths.iter().map(|path| path.display().to_string()).collect();
            let noun = if several.iter().any(Loaded::is_made) { "cases" } else { "scenarios" };
            let paths = if paths.is_empty() { "rehearsal.yaml".to_owned() } else { paths.join(" ") };
            format!("{} {noun}: {paths}", several.len())
        }
    }
}

/// How often the files say that each case is run.
fn repeat(loaded: &[Loaded]) -> Result<Option<u32>, CommandError> {
    let mut said: Vec<Option<u32>> = loaded.iter().map(Loaded::repeat).collect();
    said.dedup();
    match said[..] {
        [one] => Ok(one),
        _ => Err(CommandError::user("these files say different numbers of runs for each combination")
            .hint("`--repeat K` says one for all of them; or run them one by one")),
    }
}

/// All that cases are made with, when their turn comes.
struct Stage {
    loaded: Vec<Loaded>,
    live: bool,
    keep: bool,
    timeout: Option<Duration>,
    commands: Commands,
    wings: Wings,
}

impl Stage {
    fn timeout(&self, loaded: &Loaded) -> Option<Duration> {
        self.timeout.or(loaded.settings.timeout)
    }

    fn backstage(&self, place: usize) -> Result<Backstage, CommandError> {
        let loaded = &self.loaded[place];
        Ok(Backstage {
            live: self.live,
            keep: self.keep,
            timeout: self.timeout(loaded),
            commands: self.commands,
            ..self.wings.backstage(&loaded.path, place, &loaded.name)?
        })
    }

    fn make(&self, place: usize, options: &CaseOptions) -> Case {
        let loaded = &self.loaded[place];
        match self.backstage(place) {
            Ok(backstage) => make(Arc::unwrap_or_clone(loaded.scenario()), backstage, options),
            Err(why) => {
                Case::new(&loaded.name, Step::new("nobody", |cx| Ok(cx.respond("")))).problem(why.text())
            }
        }
    }

    /// What a run of a scenario came to.
    fn describe(&self, place: usize, run: &CaseRun) -> CaseResult {
        let loaded = &self.loaded[place];
        let mut result = loaded.scenario().result(&loaded.path.display().to_string(), run);
        let from = if self.timeout.is_some() { "--timeout" } else { "timeout" };
        let limit = match (result.termination_reason, self.timeout(loaded)) {
            (Some(EndReason::MaxDuration), Some(limit)) => Some(format!("`{from}` of {limit:?} was reached")),
            (Some(EndReason::Cancelled), _) => Some("it was interrupted".to_owned()),
            _ => None,
        };
        // A limit of the file is named already.
        result.termination_detail = result.termination_detail.or(limit);
        result
    }
}

fn makers(stage: &Arc<Stage>) -> Result<Vec<CaseMaker>, CommandError> {
    let mut makers = Vec::new();
    let mut before: Option<&Path> = None;
    for (place, loaded) in stage.loaded.iter().enumerate() {
        let is_first = before != Some(&*loaded.path);
        before = Some(&loaded.path);
        if loaded.is_made() && !is_first {
            let stage = stage.clone();
            makers.push(CaseMaker::new(&loaded.name, move |options| stage.make(place, options)));
            continue;
        }
        // What would fail in every case of a file is told before the first.
        let (scenario, backstage) = (loaded.scenario(), stage.backstage(place)?);
        too_short(&loaded.path, &scenario.too_short_to_hide(&*backstage.variables));
        let maker = compile(Arc::unwrap_or_clone(scenario), backstage);
        makers.push(maker.map_err(|why| CommandError::from(why).about(loaded.path.display()))?);
    }
    Ok(makers)
}

/// Says which values of the environment cannot be hidden.
pub(crate) fn too_short(path: &Path, names: &[String]) {
    for name in names {
        output::warning(
            format_args!(
                "{}: the value of `{name}` has fewer than {SHORTEST} characters, which cannot be hidden: what a program \
                 shows of it is shown and kept",
                path.display()
            ),
            format_args!(
                "use a longer value, or, if it is no secret, say so in the file: public: [{name}], beside `variables`\n"
            ),
        );
    }
}

/// The command that repeats just one run of a scenario.
fn again(args: &RunArgs) -> impl Fn(&CaseResult) -> String + Send + Sync + 'static {
    let mut words = Vec::new();
    if args.live {
        words.push("--live".to_owned());
    }
    if args.selection.compat.is_some() {
        words.push("--compat elizaos".to_owned());
    }
    if args.no_commands {
        words.push("--no-commands".to_owned());
    }
    if args.selection.local_code {
        words.push("--local-code".to_owned());
    }
    let files = [("--agent", &args.selection.agent), ("--env-file", &args.options.env_file)];
    for (flag, path) in files {
        words.extend(path.as_ref().map(|path| format!("{flag} {}", quoted(&path.display().to_string()))));
    }
    words.extend(args.timeout.map(|limit| format!("--timeout {}ms", limit.as_millis())));
    for (role, spec) in &args.selection.models {
        words.push(format!("--model {}", quoted(&format!("{role}={spec}"))));
    }
    words.insert(0, String::new());
    let words = words.join(" ");
    move |result| {
        let file = quoted(result.file.as_deref().unwrap_or_default());
        let case = match &result.scenario {
            Some(_) => format!(" --case {}", quoted(&result.name)),
            None => String::new(),
        };
        format!("rehearse run {file}{case} --case-seed {}{words}", result.seed)
    }
}
