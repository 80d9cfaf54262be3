//! Scenario files in Rust tests.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rehearsal_agent::Model;
use rehearsal_core::CaseResult;
use rehearsal_js::{WorkerCommand, Workers};
use rehearsal_scenario::{
    Backstage, Cases, CheckOptions, Commands, CompileError, Dialect, ModelChoice, Opened, Origin, Problem,
    PythonWorkers, RowCommands, Scenario, Severity, Style, compile,
};
use rehearsal_sim::{CaseMaker, CaseRun, Suite};

use crate::scenario_models::{ModelBuilder, check_model};

/// A scenario file, with what a test gives to it, ready to be run.
///
/// With nothing given: no tool runs for real, no program is started, no variable of the environment is read, and no model
/// is asked but the file's own.
///
/// ```
/// use rehearsal::prelude::*;
///
/// let file = ScenarioFile::parse(
///     "name: greets
/// description: The agent greets people by their names
/// environment: {type: local}
/// agent: {instructions: You are friendly.}
/// run:
///   - input: Hi, I am Ada
///     evaluations: [{type: string_contains, value: Ada}]
/// judgment: {strategy: all_pass}
/// ",
/// )?;
/// let script = ScriptedModel::list("script", [Reply::text("Hello Ada!")]);
/// let played = file.model("agent", script).run_blocking()?;
/// assert_eq!(played.result.status, Verdict::Passed);
/// # Ok::<(), ScenarioFileError>(())
/// ```
#[derive(Clone)]
pub struct ScenarioFile {
    name: String,
    text: String,
    scenario: Scenario,
    directory: PathBuf,
    models: BTreeMap<String, Arc<dyn Model>>,
    variables: BTreeMap<String, String>,
    worker: WorkerCommand,
    commands: Commands,
}

/// Why a scenario file cannot be run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScenarioFileError {
    /// It cannot be read.
    #[error("cannot read `{}`", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is wrong.
    #[error("{}", shown.trim_end())]
    Problems {
        /// All that is wrong with it.
        problems: Vec<Problem>,
        /// The same with its places, for people.
        shown: String,
    },
    /// It makes several cases, and one was asked for.
    #[error("it makes {cases} cases, where one is wanted: `ScenarioFile::cases` has them all")]
    SeveralCases {
        /// How many.
        cases: usize,
    },
    /// Something that it needs is not there.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// There is no runtime to run it on.
    #[error("the runtime cannot be started")]
    Runtime(#[source] io::Error),
}

/// A scenario that was run.
#[derive(Clone, Debug)]
pub struct ScenarioRun {
    /// What it came to, as `rehearse run --json` writes it.
    pub result: CaseResult,
    /// The run itself, with its ledgers.
    pub run: Arc<CaseRun>,
}

impl ScenarioFile {
    /// The scenario of a text.
    ///
    /// # Errors
    /// All that is wrong with it; or it makes several cases, see [`cases`](Self::cases).
    pub fn parse(text: &str) -> Result<Self, ScenarioFileError> {
        Self::one(Self::named("scenario.yaml", text, Path::new("."))?)
    }

    /// The scenario of a file; paths in it begin at its folder.
    ///
    /// # Errors
    /// It cannot be read, or something is wrong with it; or it makes several cases, see [`cases`](Self::cases).
    pub fn read(path: impl AsRef<Path>) -> Result<Self, ScenarioFileError> {
        Self::one(Self::cases(path)?)
    }

    /// The cases of a file: one for each of its rows and each combination of its matrix. Rows that a command gives are
    /// not had.
    ///
    /// # Errors
    /// It cannot be read, or something is wrong with it.
    pub fn cases(path: impl AsRef<Path>) -> Result<Vec<Self>, ScenarioFileError> {
        let path = path.as_ref();
        let failed = |source| ScenarioFileError::Read { path: path.to_owned(), source };
        let text = std::fs::read_to_string(path).map_err(failed)?;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let directory = std::fs::canonicalize(folder).map_err(failed)?;
        Self::named(&path.display().to_string(), &text, &directory)
    }

    /// The only case of a file.
    fn one(mut cases: Vec<Self>) -> Result<Self, ScenarioFileError> {
        match (cases.pop(), cases.len()) {
            (Some(one), 0) => Ok(one),
            (_, more) => Err(ScenarioFileError::SeveralCases { cases: more + 1 }),
        }
    }

    fn named(name: &str, text: &str, directory: &Path) -> Result<Vec<Self>, ScenarioFileError> {
        let options = CheckOptions { dialect: Dialect::Rehearsal, specification: &check_model };
        let read = |path: &Path| std::fs::read_to_string(path).map_err(|error| error.to_string());
        let path = directory.join(Path::new(name).file_name().unwrap_or_default());
        let origin = Origin { path: &path, read: &read, commands: RowCommands::Refused, project: None };
        let Opened { cases, mut problems, sources } = Cases::open(text, &origin, &options);
        let mut scenarios = Vec::new();
        if let Some(cases) = cases {
            let mut gathering = cases.gathering();
            for place in 0..cases.len() {
                let checked = cases.case(place, &options);
                gathering.take(place, checked.problems);
                scenarios.extend(checked.scenario);
            }
            problems.extend(cases.gathered(gathering));
        }
        if problems.iter().any(|problem| problem.severity == Severity::Error) {
            let shown = problems.iter().map(|problem| {
                let (at, text, problem) = sources.at_home(problem);
                let at = if at == path { name.to_owned() } else { at.display().to_string() };
                problem.render(&at, text, Style::Plain)
            });
            let shown = shown.collect::<Vec<_>>().join("\n\n");
            return Err(ScenarioFileError::Problems { problems, shown });
        }
        let file = |scenario| Self {
            name: name.to_owned(),
            text: text.to_owned(),
            scenario,
            directory: directory.to_owned(),
            models: BTreeMap::new(),
            variables: BTreeMap::new(),
            worker: WorkerCommand { program: "rehearse".into(), args: vec!["__js-worker".to_owned()] },
            commands: Commands::Refused,
        };
        Ok(scenarios.into_iter().map(file).collect())
    }

    /// The same with a model for a part: `agent`, `user`, `judge` or another key, in place of what the file names.
    #[must_use]
    pub fn model(mut self, key: &str, model: impl Model + 'static) -> Self {
        let choice = ModelChoice::Provider(model.name().to_string());
        self.scenario = self.scenario.with_model(key, choice);
        self.models.insert(key.to_owned(), Arc::new(model));
        self
    }

    /// The same with a variable of the environment that it may name.
    #[must_use]
    pub fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.insert(name.to_owned(), value.to_owned());
        self
    }

    /// The same where its commands may be started: programs run with the rights of the test.
    #[must_use]
    pub fn allow_commands(mut self) -> Self {
        self.commands = Commands::Allowed;
        self
    }

    /// The same with another program that evaluates its JavaScript than `rehearse`, as it is found on the `PATH`. Files
    /// with JavaScript need the feature `javascript`.
    #[must_use]
    pub fn worker(mut self, worker: WorkerCommand) -> Self {
        self.worker = worker;
        self
    }

    /// The scenario as it was read.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// What makes its cases, for a [`Suite`].
    ///
    /// # Errors
    /// Why it cannot be run.
    pub fn maker(&self) -> Result<CaseMaker, ScenarioFileError> {
        let mut problems = self.scenario.missing_for(false);
        problems.extend(self.scenario.escapes_sandbox());
        if self.commands == Commands::Refused {
            problems.extend(self.scenario.commands(false));
        }
        refuse(&self.name, &self.text, problems)?;
        let (models, builder, keys) = (self.models.clone(), ModelBuilder::default(), self.variables.clone());
        let variables = self.variables.clone();
        let backstage = Backstage {
            python: PythonWorkers::default(),
            models: Arc::new(move |key, choice| match models.get(key) {
                Some(model) => Ok(model.clone()),
                None => builder.build(key, choice, &|name| keys.get(name).cloned()),
            }),
            people: None,
            scripts: Workers::new(self.worker.clone()),
            variables: Arc::new(move |name| variables.get(name).cloned()),
            directory: self.directory.clone(),
            live: false,
            keep: false,
            supervisor: None,
            timeout: None,
            commands: self.commands,
        };
        Ok(compile(self.scenario.clone(), backstage)?)
    }

    /// Runs it once.
    ///
    /// # Errors
    /// Why it cannot be run. What goes wrong while it runs is in its result.
    #[expect(clippy::missing_panics_doc, reason = "a suite of one case runs it")]
    pub async fn run(&self) -> Result<ScenarioRun, ScenarioFileError> {
        let suite = Suite::new([self.maker()?]).run().await;
        let run = suite.runs.into_iter().next().expect("a suite of one case runs it");
        let result = self.scenario.result(&self.name, &run);
        Ok(ScenarioRun { result, run })
    }

    /// Runs it once, outside of any runtime.
    ///
    /// # Errors
    /// See [`run`](Self::run).
    pub fn run_blocking(&self) -> Result<ScenarioRun, ScenarioFileError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.map_err(ScenarioFileError::Runtime)?.block_on(self.run())
    }

    /// Runs it once, outside of any runtime, and panics with what happened unless it passes.
    ///
    /// # Panics
    /// It did not pass, or cannot be run.
    #[track_caller]
    pub fn assert_passes(&self) {
        match self.run_blocking() {
            Ok(played) => assert!(played.run.passed(), "{}", played.run),
            Err(error) => panic!("{error}"),
        }
    }
}

/// Refuses a file with errors; what is only a warning stops no test.
fn refuse(name: &str, text: &str, problems: Vec<Problem>) -> Result<(), ScenarioFileError> {
    let wrong = problems.iter().any(|problem| problem.severity == Severity::Error);
    if wrong { Err(refused(name, text, problems)) } else { Ok(()) }
}

fn refused(name: &str, text: &str, problems: Vec<Problem>) -> ScenarioFileError {
    let shown = problems.iter().map(|problem| problem.render(name, text, Style::Plain));
    let shown = shown.collect::<Vec<_>>().join("\n\n");
    ScenarioFileError::Problems { problems, shown }
}

impl fmt::Debug for ScenarioFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScenarioFile").field("name", &self.name).finish_non_exhaustive()
    }
}
