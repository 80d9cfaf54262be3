//! `rehearse run`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use rehearsal::scenario_models::ModelBuilder;
use rehearsal_core::mask::SHORTEST;
use rehearsal_core::{Clock as _, EndReason, RepeatStatistics, Summary, SystemClock};
use rehearsal_js::{WorkerCommand, Workers};
use rehearsal_run::{OutFolder, RunJournal, ledger_path};
use rehearsal_scenario::{Backstage, Commands, ScenarioResult, Termination, compile};
use rehearsal_sim::{Cancel, CaseMaker, OnFirstFailure, Suite, SuiteEvent, SuiteRun};
use schemars::JsonSchema;
use serde::Serialize;

use self::keeping::{Curtain, Keeping};
use self::print::{Detail, Printer};
use self::progress::Progress;
use crate::error::{CommandError, Kind, cannot_start};
use crate::load::{Completeness, Loaded, Outcome, Selection};
use crate::place::Place;
use crate::times::duration;
use crate::variables::Variables;
use crate::{exit, files, output};

mod about;
pub(crate) mod eval;
mod interrupt;
mod junit;
mod keeping;
pub(crate) mod print;
mod progress;

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
    /// A file of NAME=value lines, for keys and for the variables that scenarios name
    #[arg(long, value_name = "FILE", help_heading = "Running")]
    env_file: Option<PathBuf>,
    /// How many scenarios run side by side [default: 16]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024), help_heading = "Running")]
    jobs: Option<u32>,
    /// Run each scenario so many times
    #[arg(long, value_name = "K", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000), help_heading = "Running")]
    repeat: u32,
    /// Where all chance comes from; the same seed draws the same
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Running")]
    seed: u64,
    /// Repeat exactly one run: its seed, as its result shows it
    #[arg(long, value_name = "N", conflicts_with_all = ["seed", "repeat"], help_heading = "Running")]
    case_seed: Option<u64>,
    /// Start no further scenario once one did not pass
    #[arg(long, help_heading = "Running")]
    fail_fast: bool,
    /// Stop a scenario that takes longer, such as `90s`, `5m` or `500ms`
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = "Running")]
    timeout: Option<Duration>,
    /// Write the results as JSON to a file, or to standard output with `-`
    #[arg(long, value_name = "FILE|-", help_heading = "Results")]
    json: Option<PathBuf>,
    /// Write the results as JUnit XML to a file
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    junit: Option<PathBuf>,
    /// Also write results and ledgers as files into a folder
    #[arg(long, value_name = "DIR", help_heading = "Results")]
    out: Option<PathBuf>,
    #[command(flatten, next_help_heading = "Results")]
    place: Place,
    /// What to call this run in lists, such as `nightly` or `with the new prompt`
    #[arg(long, value_name = "NAME", value_parser = about::name, help_heading = "Results")]
    name: Option<String>,
    /// Keep nothing in the store, for places that cannot be written
    #[arg(long, help_heading = "Results")]
    no_store: bool,
    /// Print only what did not pass
    #[arg(long, short, conflicts_with = "verbose", help_heading = "Results")]
    quiet: bool,
    /// Print all transcripts and evaluations
    #[arg(long, short, help_heading = "Results")]
    verbose: bool,
    /// Keep the folders in which commands ran
    #[arg(long, help_heading = "Running")]
    keep: bool,
}

impl RunArgs {
    fn commands(&self) -> Commands {
        if self.no_commands { Commands::Refused } else { Commands::Allowed }
    }

    fn json_to_stdout(&self) -> bool {
        self.json.as_deref() == Some(Path::new("-"))
    }

    fn json_file(&self) -> Option<&Path> {
        self.json.as_deref().filter(|_| !self.json_to_stdout())
    }

    /// The files that are written beside those of `--out`.
    fn files(&self) -> impl Iterator<Item = &Path> {
        self.json_file().into_iter().chain(self.junit.as_deref())
    }
}

/// What a run of scenarios came to, as it is written to files.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RunResult {
    /// The version of this form.
    pub(crate) version: u32,
    /// When it began.
    pub(crate) started_at: String,
    /// How long it took, in milliseconds.
    pub(crate) duration_ms: u64,
    /// Where its chance came from: a number of 64 bits, as digits.
    #[serde(with = "rehearsal_core::json::seed")]
    #[schemars(with = "String")]
    pub(crate) seed: u64,
    /// Whether somebody interrupted it.
    pub(crate) interrupted: bool,
    /// How many runs came to what.
    #[schemars(with = "SummaryForm")]
    pub(crate) summary: Summary,
    /// What each run of each scenario came to.
    pub(crate) scenarios: Vec<ScenarioResult>,
    /// What the repeats of each scenario say together.
    #[schemars(with = "Vec<serde_json::Value>")]
    pub(crate) repeats: Vec<RepeatStatistics>,
}

#[derive(JsonSchema)]
#[schemars(rename = "Summary")]
#[expect(dead_code, reason = "only its schema is used")]
struct SummaryForm {
    total: u32,
    passed: u32,
    failed: u32,
    errors: u32,
    terminated: u32,
    unjudged: u32,
    not_run: u32,
}

pub(crate) fn run(args: &RunArgs) -> Result<ExitCode, CommandError> {
    let completeness = Completeness::Runnable { live: args.live, commands: args.commands() };
    let outcome = args.selection.load_some(completeness, args.keep_going)?;
    refuse_unusable(&outcome, args.keep_going)?;
    outcome.refuse_nothing_chosen()?;
    let variables = Variables::with_file(args.env_file.as_deref())?;
    let curtain = Curtain::default();
    let makers = makers(args, &outcome.usable, &variables, &curtain)?;
    for path in args.files() {
        writable(path)?;
    }
    let out = args
        .out
        .as_deref()
        .map(OutFolder::new)
        .transpose()
        .map_err(|error| CommandError::setup(error).hint("`--out DIR` names another"))?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| cannot_start(&error))?;
    let keeping = if args.no_store {
        None
    } else {
        let about = about::about(args.name.as_deref(), about::models(&outcome.usable));
        Some(runtime.block_on(Keeping::begin(&args.place, &title(args, &outcome.usable), about))?)
    };
    let (began, reading) = (SystemClock.now(), SystemClock.monotonic());
    let cancel = Cancel::default();
    let progress = Progress::new(args.quiet, makers.len() as u64 * u64::from(args.repeat));
    if let Some(keeping) = &keeping {
        curtain.open(keeping, &progress);
    }
    runtime.spawn(interrupt::listen(cancel.clone(), progress.clone()));
    let left = Left { out, keeping };
    let suite_run = runtime.block_on(play(args, makers, &left, &cancel, &progress));
    progress.close();
    let duration_ms = u64::try_from(SystemClock.since(reading).as_millis()).unwrap_or(u64::MAX);
    let interrupted = cancel.is_cancelled();
    // Nothing is left to end, so from here on the listener ends the program itself.
    cancel.cancel();
    let result = RunResult {
        version: 1,
        started_at: began.to_string(),
        duration_ms,
        seed: args.case_seed.unwrap_or(args.seed),
        interrupted,
        summary: suite_run.result.summary,
        repeats: suite_run.result.repeats.clone(),
        scenarios: runtime.block_on(results(args, &outcome.usable, &suite_run, &left)),
    };
    // What a run came to is kept before anything waits for a reader.
    let written = write_results(args, &result, &left);
    let kept = match &left.keeping {
        Some(keeping) => runtime.block_on(keeping.end(interrupted, &result.summary, &result)),
        None => Ok(()),
    };
    print(args, &result, &suite_run, &left)?;
    written?;
    kept?;
    if let Some(keeping) = left.keeping {
        if !args.quiet {
            output::message(&format!("kept: {}", keeping.command()));
        }
        keeping.leave();
    }
    if outcome.unusable > 0 {
        let (plural, were) = if outcome.unusable == 1 { ("", "was") } else { ("s", "were") };
        let kind = if interrupted { Kind::Interrupted } else { Kind::User };
        let what = format!("{} file{plural} cannot be used and {were} not run", outcome.unusable);
        return Err(CommandError::user(what).kind(kind));
    }
    Ok(if interrupted {
        exit::interrupted()
    } else if suite_run.result.passed() {
        exit::PASSED
    } else {
        exit::not_passed()
    })
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

/// What a run leaves: files where they are asked for, and what is in the store.
struct Left {
    out: Option<OutFolder>,
    keeping: Option<Keeping>,
}

/// What is run, in words for people.
fn title(args: &RunArgs, loaded: &[Loaded]) -> String {
    match loaded {
        [one] => one.scenario.name.clone(),
        several => {
            let paths: Vec<String> =
                args.selection.paths.iter().map(|path| path.display().to_string()).collect();
            format!("{} scenarios: {}", several.len(), paths.join(" "))
        }
    }
}

fn makers(
    args: &RunArgs,
    loaded: &[Loaded],
    variables: &Variables,
    curtain: &Curtain,
) -> Result<Vec<CaseMaker>, CommandError> {
    let program = this_program()?;
    let hidden = |word: &str| WorkerCommand { program: program.clone(), args: vec![word.to_owned()] };
    let scripts = Workers::new(hidden(crate::JS_WORKER));
    let models = ModelBuilder::default();
    let mut makers = Vec::new();
    for (index, Loaded { path, scenario }) in loaded.iter().enumerate() {
        let directory = files::folder(path)?;
        let (models_of, builder) = (variables.clone(), models.clone());
        let read = variables.clone();
        let backstage = Backstage {
            models: Arc::new(move |key, choice| builder.build(key, choice, &|name| models_of.get(name))),
            // Without a store there is no place where they could answer.
            people: (!args.no_store).then(|| curtain.people(index, &scenario.name)),
            scripts: scripts.clone(),
            supervisor: Some(hidden(crate::SUPERVISOR)),
            variables: Arc::new(move |name| read.get(name)),
            directory,
            live: args.live,
            keep: args.keep,
            timeout: args.timeout,
            commands: args.commands(),
        };
        too_short(path, &scenario.too_short_to_hide(&*backstage.variables));
        let maker = compile(scenario.clone(), backstage);
        makers.push(maker.map_err(|why| CommandError::from(why).about(path.display()))?);
    }
    Ok(makers)
}

/// This program, which is started again for what needs a process of its own.
fn this_program() -> Result<PathBuf, CommandError> {
    std::env::current_exe()
        .map_err(|error| CommandError::setup(format_args!("this program cannot find itself: {error}")))
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

/// Runs the scenarios.
async fn play(
    args: &RunArgs,
    makers: Vec<CaseMaker>,
    left: &Left,
    cancel: &Cancel,
    progress: &Progress,
) -> SuiteRun {
    let mut suite = Suite::new(makers).seed(args.seed).repeat(args.repeat).cancel(cancel.clone());
    if let Some(jobs) = args.jobs {
        suite = suite.jobs(jobs as usize);
    }
    if args.fail_fast {
        suite = suite.on_first_failure(OnFirstFailure::Stop);
    }
    if let Some(seed) = args.case_seed {
        suite = suite.exact_seed(seed);
    }
    let (shown, stems) = (progress.clone(), left.out.as_ref().map(OutFolder::stems));
    let kept = left.keeping.as_ref().map(|keeping| keeping.run.clone());
    let suite = suite.journal(move |index, name, options| {
        let key = (index, options.repeat);
        let shown = shown.clone();
        let stem = stems.as_ref().map(|stems| stems.stem(index, name, options.repeat));
        let kept = kept.as_ref().map(|run| run.case(index));
        Arc::new(RunJournal::new(kept, stem, move |counts| shown.counted(key, counts)))
    });
    let shown = progress.clone();
    let suite = suite.observe(move |event| match event {
        SuiteEvent::Started { index, name, repeat } => shown.started((index, repeat), &name),
        SuiteEvent::Finished { index, run } => shown.finished((index, run.result.repeat), &run),
        _ => {}
    });
    suite.run().await
}

async fn results(args: &RunArgs, loaded: &[Loaded], run: &SuiteRun, left: &Left) -> Vec<ScenarioResult> {
    let mut results = Vec::new();
    for (case, place) in run.runs.iter().zip(&run.places) {
        let Loaded { path, scenario } = &loaded[*place];
        let mut result = ScenarioResult::new(scenario, &path.display().to_string(), case);
        match (Termination::of(case), args.timeout) {
            (Some(Termination::RunLimit), Some(limit)) => {
                result.terminated_by = Some(format!("`--timeout` of {limit:?} was reached"));
            }
            (Some(Termination::Reason(EndReason::Cancelled)), _) => {
                result.terminated_by = Some("it was interrupted".to_owned());
            }
            _ => {}
        }
        if let Some(out) = &left.out {
            let stem = out.stems().stem(*place, &scenario.name, case.result.repeat);
            let parts = case.ledgers().map(|ledger| ledger_path(&stem, ledger.part()));
            result.ledgers =
                parts.filter(|path| path.exists()).map(|path| path.display().to_string()).collect();
        }
        if let Some(keeping) = &left.keeping {
            let ids = keeping.sessions(*place, case).await;
            result.sessions = ids.iter().map(ToString::to_string).collect();
        }
        results.push(result);
    }
    results
}

fn print(args: &RunArgs, result: &RunResult, run: &SuiteRun, left: &Left) -> Result<(), CommandError> {
    let detail = match (args.quiet, args.verbose) {
        (true, _) => Detail::Quiet,
        (_, true) => Detail::Verbose,
        _ => Detail::Normal,
    };
    // Standard output is data: when the JSON goes there, nothing else does.
    let json_to_stdout = args.json_to_stdout();
    let write = if json_to_stdout { output::message } else { output::data };
    let colour = if json_to_stdout {
        args.selection.color.for_stream(&std::io::stderr())
    } else {
        args.selection.color.for_stream(&std::io::stdout())
    };
    let printer = Printer { detail, colour };
    for (scenario, case) in result.scenarios.iter().zip(&run.runs) {
        let text = printer.scenario(scenario, &case.main, &again(args, scenario));
        if let Some(text) = text.strip_suffix('\n') {
            write(text);
        }
    }
    write(&printer.summary(&result.summary, &result.repeats, result.duration_ms));
    if json_to_stdout {
        output::json(&json(result)?);
    }
    if let Some(out) = left.out.as_ref().filter(|_| !args.quiet) {
        output::message(&format!("results and ledgers: {}", out.folder().display()));
    }
    Ok(())
}

fn json(result: &RunResult) -> Result<String, CommandError> {
    rehearsal_core::json::to_string_pretty(result)
        .map_err(|error| CommandError::internal(format_args!("the results cannot be written: {error}")))
}

/// The command that repeats just this run.
fn again(args: &RunArgs, result: &ScenarioResult) -> String {
    let mut words = vec!["rehearse".to_owned(), "run".to_owned(), quoted(&result.file)];
    words.push(format!("--case-seed {}", result.seed));
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
    let files = [("--agent", &args.selection.agent), ("--env-file", &args.env_file)];
    for (flag, path) in files {
        words.extend(path.as_ref().map(|path| format!("{flag} {}", quoted(&path.display().to_string()))));
    }
    words.extend(args.timeout.map(|limit| format!("--timeout {}ms", limit.as_millis())));
    for (role, spec) in &args.selection.models {
        words.push(format!("--model {}", quoted(&format!("{role}={spec}"))));
    }
    words.join(" ")
}

/// A word as a shell reads it.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=@,+%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

fn write_results(args: &RunArgs, result: &RunResult, left: &Left) -> Result<(), CommandError> {
    let json = format!("{}\n", json(result)?);
    if let Some(out) = &left.out {
        write_file(&out.folder().join("result.json"), &json)?;
    }
    if let Some(path) = args.json_file() {
        write_file(path, &json)?;
    }
    if let Some(path) = &args.junit {
        write_file(path, &junit::report(&result.scenarios)?)?;
    }
    Ok(())
}

/// Makes sure that a file can be written, before a long run has come to something that it should hold.
fn writable(path: &Path) -> Result<(), CommandError> {
    let made = path.parent().map_or(Ok(()), fs::create_dir_all);
    let opened = made.and_then(|()| fs::OpenOptions::new().create(true).append(true).open(path));
    opened.map(drop).map_err(|error| cannot_write(path, &error))
}

pub(crate) fn write_file(path: &Path, text: &str) -> Result<(), CommandError> {
    fs::write(path, text).map_err(|error| cannot_write(path, &error))
}

fn cannot_write(path: &Path, error: &std::io::Error) -> CommandError {
    CommandError::setup(format_args!("cannot write `{}`: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_a_shell() {
        assert_eq!(quoted("a/b.yaml"), "a/b.yaml");
        assert_eq!(quoted("it's here"), "'it'\\''s here'");
    }
}
