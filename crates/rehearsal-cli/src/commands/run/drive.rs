//! What `rehearse run` and `rehearse eval` do alike: the options, the store, the run itself, and what is left of it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use rehearsal::scenario_models::ModelBuilder;
use rehearsal_core::{CaseResult, RunResult, Spent, SystemClock};
use rehearsal_js::{WorkerCommand, Workers};
use rehearsal_run::{Audience, CallsNow, Describe, Driver, OutFolder, Outlet, Plan, Replay};
use rehearsal_scenario::{Backstage, Commands, PythonWorkers};
use rehearsal_sim::{Budget, Cancel, CaseMaker, CaseRun, Suite};
use rehearsal_store::RunAbout;
use tokio::runtime::Runtime;
use tokio::sync::watch;

use super::budget::BudgetOptions;
use super::keeping::{Keeping, Onlooker};
use super::outlet::{Again, Left, Wanted, Writer};
use super::print::Printer;
use super::progress::Progress;
use super::recipe::{Ingredients, Times};
use super::resume::Going;
use super::shard::{Sharding, Share};
use super::show::{self, Show};
use super::tally::Tally;
use super::valid::ValidArgs;
use super::{about, budget, calls, interrupt};
use crate::error::{CommandError, cannot_start};
use crate::load::Colour;
use crate::place::Place;
use crate::variables::Variables;
use crate::{exit, files, output, project, words};

/// How cases are run, and what is left of it.
#[derive(Debug, Args)]
pub(crate) struct RunOptions {
    /// A file of NAME=value lines, for keys and for the variables that files name
    #[arg(long, value_name = "FILE", help_heading = "Running")]
    pub(super) env_file: Option<PathBuf>,
    /// How many cases run side by side [default: 16]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024), help_heading = "Running")]
    jobs: Option<u32>,
    /// Run each case so many times [default: 1]
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..=1_000_000), help_heading = "Running")]
    repeat: Option<u32>,
    #[command(flatten)]
    valid: ValidArgs,
    /// Where all chance comes from; the same seed draws the same
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Running")]
    seed: u64,
    /// Repeat exactly one run: its seed, as its result shows it
    #[arg(long, value_name = "N", conflicts_with_all = ["seed", "repeat"], help_heading = "Running")]
    case_seed: Option<u64>,
    /// Start no further case once one did not pass
    #[arg(long, help_heading = "Running")]
    fail_fast: bool,
    #[command(flatten)]
    pub(super) budget: BudgetOptions,
    #[command(flatten)]
    pub(super) sharding: Sharding,
    /// Write the results as JUnit XML to a file
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    junit: Option<PathBuf>,
    /// Also write results and ledgers as files into a folder
    #[arg(long, value_name = "DIR", help_heading = "Results")]
    out: Option<PathBuf>,
    #[command(flatten, next_help_heading = "Results")]
    pub(super) place: Place,
    /// What to call this run in lists, such as `nightly` or `with the new prompt`
    #[arg(long, value_name = "NAME", value_parser = about::name, help_heading = "Results")]
    name: Option<String>,
    /// Keep nothing in the store, for places that cannot be written
    #[arg(long, help_heading = "Results")]
    no_store: bool,
    #[command(flatten, next_help_heading = "Results")]
    pub(super) show: Show,
    /// The words that stand for this run, where they are others than those with which the program was started.
    #[arg(skip)]
    pub(super) words: Option<Vec<String>>,
    /// The run that goes on.
    #[arg(skip)]
    pub(super) going: Option<Going>,
}

/// What cases are made with.
#[derive(Clone)]
pub(crate) struct Wings {
    program: PathBuf,
    pub(super) variables: Variables,
    models: ModelBuilder,
    scripts: Workers,
    python: PythonWorkers,
    /// Without a store there is no place where they could answer.
    audience: Option<Audience>,
}

impl Wings {
    pub(super) fn new(options: &RunOptions) -> Result<Self, CommandError> {
        // Without a store there is no place where people could answer.
        let audience = (!options.no_store).then(Audience::default);
        Self::with(options.env_file.as_deref(), options.budget.models(), audience)
    }

    /// What checks are asked with that judge what was said before.
    pub(crate) fn of_score(env_file: Option<&Path>) -> Result<Self, CommandError> {
        Self::with(env_file, ModelBuilder::default(), None)
    }

    fn with(
        env_file: Option<&Path>,
        models: ModelBuilder,
        audience: Option<Audience>,
    ) -> Result<Self, CommandError> {
        let program = std::env::current_exe()
            .map_err(|error| CommandError::setup(format_args!("this program cannot find itself: {error}")))?;
        let scripts = Workers::new(hidden(&program, crate::JS_WORKER));
        let variables = Variables::with_file(env_file)?;
        let python = PythonWorkers::default();
        Ok(Self { program, variables, models, scripts, python, audience })
    }

    /// What the case at this place is made with, where its file is this one: no tool runs, no program is started.
    pub(crate) fn backstage(&self, file: &Path, place: usize, name: &str) -> Result<Backstage, CommandError> {
        let (builder, variables, read) =
            (self.models.clone(), self.variables.clone(), self.variables.clone());
        Ok(Backstage {
            models: Arc::new(move |key, choice| builder.build(key, choice, &|name| variables.get(name))),
            people: self.audience.as_ref().map(|audience| audience.people(place, name)),
            scripts: self.scripts.clone(),
            python: self.python.clone(),
            supervisor: Some(hidden(&self.program, crate::SUPERVISOR)),
            variables: Arc::new(move |name| read.get(name)),
            directory: files::folder(file)?,
            live: false,
            keep: false,
            timeout: None,
            commands: Commands::Refused,
        })
    }
}

/// This program, started again for what needs a process of its own.
fn hidden(program: &Path, word: &str) -> WorkerCommand {
    WorkerCommand { program: program.to_owned(), args: vec![word.to_owned()] }
}

/// What is run.
pub(super) struct Job {
    /// In words for people.
    pub(super) title: String,
    /// What a case of it is called: `scenario` or `case`.
    pub(super) noun: &'static str,
    pub(super) models: BTreeSet<String>,
    pub(super) ingredients: Ingredients,
    /// The runs of cases that are run, by their places among all runs; nothing when all are.
    pub(super) turns: Option<Arc<[usize]>>,
    pub(super) eval_set: Option<String>,
    pub(super) colour: Colour,
    /// How often its files say that each case is run.
    pub(super) repeat: Option<u32>,
    /// Counts what cases of a matrix come to.
    pub(super) tally: Option<Arc<Tally>>,
}

/// Runs the cases of a job, and keeps, writes and prints what they come to, as they end.
pub(super) fn drive(
    options: &RunOptions,
    job: Job,
    wings: Wings,
    cases: Vec<CaseMaker>,
    describe: Describe,
    again: Again,
) -> Result<RunResult, CommandError> {
    for path in options.show.json_file().into_iter().chain(options.junit.as_deref()) {
        show::writable(path)?;
    }
    let names: Vec<_> = cases.iter().map(|case| case.name().clone()).collect();
    let share = options.sharding.share(&names, options.repeat(job.repeat))?;
    let budget = options.budget.budget()?;
    let out = options.out.as_deref().map(OutFolder::new).transpose();
    let out = out.map_err(|error| CommandError::setup(error).hint("`--out DIR` names another"))?;
    let runtime = Runtime::new().map_err(|error| cannot_start(&error))?;
    let turns = turns(share.as_ref(), job.turns, options)?;
    let mut recipe = job.ingredients.recipe(&options.words(), options.times(job.repeat));
    if let Some(share) = &share {
        share.note(&mut recipe);
    }
    let going = options.going.as_ref();
    going.map_or(Ok(()), |going| going.refuse_other(&recipe))?;
    let about = about::about(options.name.as_deref(), job.models, recipe);
    let title = share.as_ref().map_or_else(|| job.title.clone(), |share| share.title(&job.title));
    let keeping = runtime.block_on(options.keeping(&title, about))?;
    let models = wings.models.clone();
    let calls: CallsNow = Arc::new(move || models.calls());
    let all = cases.len() as u64 * options.runs(job.repeat);
    let count = turns.as_ref().map_or(all, |turns| turns.len() as u64);
    let progress = Progress::new(options.show.quiet, count, calls.clone());
    if let Some(nothing) = share.as_ref().and_then(Share::nothing) {
        output::message(&nothing);
    }
    let mut driver = Driver {
        plan: options.plan(job.repeat),
        turns: turns.clone(),
        earlier: None,
        kept: keeping.as_ref().map(|keeping| keeping.run.clone()),
        out,
        cancel: Cancel::default(),
        watch: Arc::new(Onlooker::new(progress.clone(), &options.place)),
        calls,
        budget,
        clock: Arc::new(SystemClock),
    };
    if let (Some(kept), Some(audience)) = (&driver.kept, wings.audience) {
        audience.open(kept.clone(), driver.watch.clone());
    }
    let (written_all, is_written) = watch::channel(false);
    runtime.spawn(interrupt::listen(driver.cancel.clone(), progress.clone(), is_written));
    let (printer, write) = options.show.printer(job.colour);
    let writer = Arc::new(Writer::new(options.wanted(printer), again, progress.clone(), turns));
    if let (Some(going), Some(kept)) = (going, &driver.kept) {
        let told = Replayed {
            writer: &writer,
            tally: job.tally.as_deref(),
            progress: &progress,
            budget: driver.budget.as_deref(),
            repeat: driver.plan.repeat,
        };
        let known = runtime.block_on(kept.replay(&told.how(cases.len(), driver.out.as_ref()), &told));
        driver.earlier = Some(going.earlier(known.map_err(CommandError::setup)?));
    }
    let mut result = runtime.block_on(driver.run(cases, describe, writer.clone()));
    progress.close();
    result.eval_set = job.eval_set;
    result.shard = options.sharding.shard();
    result.suite.table = job.tally.as_ref().and_then(|tally| tally.table());
    // What a run came to is kept before anything waits for a reader.
    let left =
        Left { out: driver.out.as_ref(), json: options.show.json_file(), junit: options.junit.as_deref() };
    let written = writer.write(&result, left);
    let kept = match &keeping {
        Some(_) => runtime
            .block_on(driver.end(&result))
            .map_err(|error| CommandError::setup(error).about("what this run came to is not kept whole")),
        None => Ok(()),
    };
    written_all.send_replace(true);
    writer.finish(write);
    write(&printer.summary(job.noun, &result.suite, result.duration_ms));
    if options.show.json_to_stdout() {
        let mut json = Vec::new();
        writer.json(&result, &mut json).map_err(CommandError::internal)?;
        output::json(String::from_utf8_lossy(&json).trim_end());
    }
    if !options.show.quiet {
        tell(&result, driver.out.as_ref());
    }
    written?;
    kept?;
    if let Some(keeping) = keeping {
        if !options.show.quiet {
            output::message(&format!("kept: {}", keeping.command()));
        }
        if share.is_some() {
            runtime.block_on(keeping.fold());
        }
        if result.interrupted {
            output::message(&format!("to go on: {}", keeping.resume()));
        }
        runtime.block_on(keeping.leave());
    }
    Ok(result)
}

/// Says what a run used, what models refused, and where its files are.
fn tell(result: &RunResult, out: Option<&OutFolder>) {
    if let Some(line) = budget::told(result.budget.as_ref()) {
        output::message(&line);
    }
    for line in calls::refusals(&result.calls) {
        output::message(&line);
    }
    if let Some(out) = out {
        output::message(&format!("results and ledgers: {}", out.folder().display()));
    }
}

/// The runs of cases that are run here, where that is not all of them: those that are wanted, of those that this part has.
fn turns(
    share: Option<&Share>,
    wanted: Option<Arc<[usize]>>,
    options: &RunOptions,
) -> Result<Option<Arc<[usize]>>, CommandError> {
    let is_part = share.is_some() || wanted.is_some();
    if options.valid.runs().is_some() && is_part {
        let what = if share.is_some() { "a part of a run" } else { "what did not pass" };
        return Err(CommandError::user(format_args!(
            "`--valid` needs all runs of a case, so it cannot go with {what}"
        ))
        .hint("`--repeat K` says how often each case is run"));
    }
    Ok(match (share, wanted) {
        (None, wanted) => wanted,
        (Some(share), None) => Some(share.turns.clone()),
        (Some(share), Some(wanted)) => {
            let own: BTreeSet<usize> = share.turns.iter().copied().collect();
            Some(wanted.iter().copied().filter(|order| own.contains(order)).collect())
        }
    })
}

/// Takes what cases came to before a run went on.
struct Replayed<'r> {
    writer: &'r Writer,
    tally: Option<&'r Tally>,
    progress: &'r Progress,
    budget: Option<&'r Budget>,
    repeat: u32,
}

impl Replayed<'_> {
    fn how<'o>(&self, cases: usize, out: Option<&'o OutFolder>) -> Replay<'o> {
        Replay { cases, repeat: self.repeat as usize, out }
    }
}

impl Outlet for Replayed<'_> {
    fn ended(&self, order: usize, result: CaseResult, run: &CaseRun) {
        if let Some(tally) = self.tally {
            tally.count(order / self.repeat.max(1) as usize, result.status);
        }
        if let Some(budget) = self.budget {
            let mut spent = Spent::default();
            spent.add(&result);
            budget.used_before(spent);
        }
        self.progress.known(result.status);
        self.writer.ended(order, result, run);
    }

    fn reads_ledgers(&self, result: &CaseResult) -> bool {
        self.writer.reads_ledgers(result)
    }
}

/// The exit code that says what a run came to.
pub(super) fn exit_code(result: &RunResult) -> ExitCode {
    if result.interrupted {
        exit::interrupted()
    } else if result.suite.passed() || is_empty_part(result) {
        exit::PASSED
    } else {
        exit::not_passed()
    }
}

/// Whether a part of a run has no case: that is no failure of the part, and whoever merges all parts sees what they are.
fn is_empty_part(result: &RunResult) -> bool {
    result.shard.is_some() && result.suite.summary.total == 0
}

impl RunOptions {
    /// The store's place for a run that begins, or goes on; nothing when it is not kept.
    async fn keeping(&self, title: &str, about: RunAbout) -> Result<Option<Keeping>, CommandError> {
        let keeping = match &self.going {
            _ if self.no_store => return Ok(None),
            None => Keeping::begin(&self.place, title, about).await?,
            Some(going) => Keeping::go_on(&self.place, going, about).await?,
        };
        Ok(Some(keeping))
    }

    /// How often each case is run, where its files say something or nothing.
    pub(super) fn repeat(&self, said: Option<u32>) -> u32 {
        if let Some(tries) = self.valid.tries() {
            return tries;
        }
        // One run that is repeated exactly is one run.
        let said = said.filter(|_| self.case_seed.is_none());
        self.repeat.or(said).unwrap_or(1)
    }

    fn times(&self, said: Option<u32>) -> Times {
        let (repeat, valid) = (self.repeat(said), self.valid.runs());
        Times { repeat, valid, seed: self.seed, exact_seed: self.case_seed }
    }

    /// Whether other words than those of the program began it.
    pub(super) fn is_begun(&self) -> bool {
        self.words.is_some()
    }

    fn words(&self) -> Vec<String> {
        self.words.clone().unwrap_or_else(words::here)
    }

    /// How many runs of each case are wanted.
    fn runs(&self, said: Option<u32>) -> u64 {
        u64::from(self.valid.runs().unwrap_or_else(|| self.repeat(said)))
    }

    /// The same options with another number of cases that run side by side.
    pub(super) fn with_jobs(mut self, jobs: Option<u32>) -> Self {
        self.jobs = jobs.or(self.jobs);
        self
    }

    fn plan(&self, said: Option<u32>) -> Plan {
        Plan {
            seed: self.seed,
            case_seed: self.case_seed,
            repeat: self.repeat(said),
            jobs: self.jobs.or_else(project::jobs).map_or(Suite::DEFAULT_JOBS, |jobs| jobs as usize),
            fail_fast: self.fail_fast,
            valid: self.valid.runs(),
        }
    }

    fn wanted(&self, printer: Printer) -> Wanted {
        Wanted::new(printer, &self.show, self.out.is_some(), self.junit.is_some())
    }
}
