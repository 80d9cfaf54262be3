//! Reading scenario files and telling what is wrong with them.

use std::cell::RefCell;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, ValueEnum};
use indexmap::IndexMap;
use rehearsal::scenario_models::check_model;
use rehearsal_scenario::{
    AgentFile, Cases, CheckOptions, CommandLine, Commands, Dialect, ModelChoice, ModelUnusable, Opened,
    Origin, Problem, RowCommands, Scenario, Severity, Sources, Style, check_agent,
};

use crate::commands::run::about;
use crate::digest::{self, Digest};
use crate::error::CommandError;
use crate::filter::Filter;
use crate::findings::ReadFile;
use crate::project::{self, Projects, Settings};
use crate::variables::Variables;
use crate::{files, output, rows};

/// What scenarios are read, and what is given to them beside their files.
#[derive(Debug, Args)]
pub(crate) struct Selection {
    /// Scenario files, folders in which every `*.scenario.yaml` and `*.scenario.yml` is taken, or patterns; without any,
    /// those that `scenarios` of `rehearsal.yaml` names
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Only scenarios that fit: words for names and tags, joined by `and`, `or`, `not`; `tag:WORD`, `name:WORD`
    #[arg(long, value_name = "EXPR", add = clap_complete::ArgValueCompleter::new(crate::complete::scenario_names))]
    pub(crate) filter: Option<Filter>,
    /// Only scenarios with exactly this name, or of several cases of a file just this one; may be given several times
    #[arg(long = "case", value_name = "NAME")]
    pub(crate) cases: Vec<String>,
    /// A model for a part: `agent`, `user`, `judge`, or another key; such as `judge=openai:gpt-4o`
    #[arg(long = "model", value_name = "ROLE=SPEC", value_parser = role_and_model)]
    pub(crate) models: Vec<(String, String)>,
    /// A YAML file with an `agent` for the scenarios, in place of their own
    #[arg(long, value_name = "FILE")]
    pub(crate) agent: Option<PathBuf>,
    /// A Unix socket on which a program listens that plays the agent, with the tools that the scenario gives it; it
    /// speaks what a command agent speaks, one connection for each session
    #[arg(long, value_name = "PATH")]
    pub(crate) agent_socket: Option<PathBuf>,
    /// Accept the files of another runner; what that one drops silently becomes a warning
    #[arg(long, value_name = "RUNNER")]
    pub(crate) compat: Option<Compat>,
    /// Run code on this machine also where a file asks for a sandbox (`environment: {type: e2b}`), which is not there
    #[arg(long)]
    pub(crate) local_code: bool,
    /// When to use colours
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: Colour,
    /// Only combinations of a matrix whose values, as JSON, hold this text.
    #[arg(skip)]
    pub(crate) combinations: Option<String>,
    /// The variables of the environment, for what files name.
    #[arg(skip)]
    pub(crate) variables: Variables,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Compat {
    /// The scenario runner of `ElizaOS`, 1.5.7 to 1.7.2
    #[value(name = "elizaos")]
    ElizaOs,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Colour {
    Auto,
    Always,
    Never,
}

impl Colour {
    /// Whether what goes to a stream has colours.
    pub(crate) fn for_stream(self, stream: &impl IsTerminal) -> bool {
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto => {
                stream.is_terminal()
                    && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
                    && std::env::var_os("TERM").is_none_or(|value| value != "dumb")
            }
        }
    }
}

/// Whether a scenario asks a model of this key: without it, something would be missing.
fn uses_model(scenario: &Scenario, key: &str) -> bool {
    let mut without = scenario.clone();
    without.models.retain(|model| model.key != key);
    without.missing().len() > scenario.missing().len()
}

/// A text that names no model for a part.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BadModel {
    #[error("write ROLE=SPEC, such as judge=openai:gpt-4o")]
    NoRole,
    #[error("{source}{}", hint_of(source))]
    Specification {
        #[from]
        source: ModelUnusable,
    },
}

/// What would help, as it stands below what is wrong.
fn hint_of(error: &ModelUnusable) -> String {
    error.hint.as_ref().map(|hint| format!("\n\nhint: {hint}")).unwrap_or_default()
}

pub(crate) fn role_and_model(text: &str) -> Result<(String, String), BadModel> {
    let (role, spec) = text.split_once('=').filter(|(role, _)| !role.is_empty()).ok_or(BadModel::NoRole)?;
    check_model(spec)?;
    Ok((role.to_owned(), spec.to_owned()))
}

/// A scenario that can be used, and where it comes from. One of many cases of a file is made when it is asked for.
#[derive(Clone, Debug)]
pub(crate) struct Loaded {
    pub(crate) path: Arc<Path>,
    pub(crate) name: Arc<str>,
    /// Which model plays its agent, where that is known.
    pub(crate) model: Option<Arc<str>>,
    /// The line of its file at which it stands.
    pub(crate) line: usize,
    /// What its file says of runs.
    pub(crate) settings: Arc<Settings>,
    made: Made,
}

#[derive(Clone, Debug)]
enum Made {
    Whole(Arc<Scenario>),
    /// The case at a place of its file.
    Case(Arc<Maker>, usize),
}

/// Makes the cases of a file.
#[derive(Debug)]
struct Maker {
    cases: Cases,
    dialect: Dialect,
    finish: Arc<Finish>,
}

/// What the command line gives to every scenario.
#[derive(Debug)]
struct Finish {
    agent: Option<AgentFile>,
    socket: Option<PathBuf>,
    models: Vec<(String, String)>,
}

impl Finish {
    fn complete(&self, scenario: Scenario) -> Scenario {
        let scenario = match &self.agent {
            Some(agent) => scenario.with_agent(agent),
            None => scenario,
        };
        let scenario = match &self.socket {
            Some(socket) => scenario.with_agent_at(socket),
            None => scenario,
        };
        self.models
            .iter()
            .fold(scenario, |scenario, (role, spec)| scenario.with_model(role, ModelChoice::named(spec)))
    }
}

impl Loaded {
    /// The scenario.
    pub(crate) fn scenario(&self) -> Arc<Scenario> {
        match &self.made {
            Made::Whole(scenario) => scenario.clone(),
            Made::Case(maker, place) => {
                let options = CheckOptions { dialect: maker.dialect, specification: &check_model };
                let scenario = maker.cases.case(*place, &options).scenario;
                // It was made once already, when the file was read.
                Arc::new(maker.finish.complete(scenario.expect("a case that was made is made again")))
            }
        }
    }

    /// Whether it is one of several cases of its file, and made when its turn comes.
    pub(crate) fn is_made(&self) -> bool {
        matches!(self.made, Made::Case(..))
    }

    /// The name of the scenario in its file, and what tells the case from others of it: the row, and the variant.
    pub(crate) fn parts(&self) -> Option<(String, IndexMap<String, String>)> {
        let Made::Case(maker, place) = &self.made else { return None };
        let variant = maker.cases.variant(*place);
        let words = variant.into_iter().map(|(axis, (words, _))| (axis, words)).collect();
        Some((maker.cases.row_name(*place), words))
    }

    /// How often its file says that it is run.
    pub(crate) fn repeat(&self) -> Option<u32> {
        match &self.made {
            Made::Whole(_) => None,
            Made::Case(maker, _) => maker.cases.repeat(),
        }
    }
}

/// What became of the files.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) usable: Vec<Loaded>,
    pub(crate) files: Vec<ReadFile>,
    pub(crate) unusable: usize,
    pub(crate) warnings: usize,
    /// The names and tags of scenarios that could be used and do not fit the filter.
    pub(crate) left_out: Vec<String>,
    /// What stands for each file that can be used, with all that was read for it.
    pub(crate) digests: IndexMap<PathBuf, String>,
    /// What stands for the file of `--agent`.
    pub(crate) agent_digest: Option<String>,
}

/// How many scenarios are named when none fits.
const MAX_NAMED: usize = 10;

impl Outcome {
    /// Refuses a filter that chooses nothing.
    pub(crate) fn refuse_nothing_chosen(&self) -> Result<(), CommandError> {
        if !self.usable.is_empty() || self.unusable > 0 {
            return Ok(());
        }
        let mut named: Vec<&str> = self.left_out.iter().map(String::as_str).take(MAX_NAMED).collect();
        let more = format!("and {} more", self.left_out.len().saturating_sub(MAX_NAMED));
        if self.left_out.len() > MAX_NAMED {
            named.push(&more);
        }
        let there_are = format!("there are:\n  {}", named.join("\n  "));
        Err(CommandError::user("no scenario fits the filter").hint(there_are))
    }
}

/// Which things that a scenario needs may be missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Completeness {
    /// None: it is going to be run.
    Runnable {
        /// Whether its tools run for real.
        live: bool,
        /// Whether programs may be started.
        commands: Commands,
    },
    /// Those that the dialect leaves to whoever runs it.
    AsWritten,
}

/// The most problems of a file that are shown; who has more is not helped by all of them.
const MAX_SHOWN: usize = 100;

impl Selection {
    fn dialect(&self) -> Dialect {
        match self.compat {
            None => Dialect::Rehearsal,
            Some(Compat::ElizaOs) => Dialect::ElizaOs,
        }
    }

    fn style(&self) -> Style {
        if self.color.for_stream(&std::io::stderr()) { Style::Coloured } else { Style::Plain }
    }

    /// Reads the files and shows what is wrong with them; an error when what was asked for cannot be done at all.
    pub(crate) fn load(&self, completeness: Completeness) -> Result<Outcome, CommandError> {
        self.load_some(completeness, false)
    }

    /// The same, where files that cannot be used may be left out.
    pub(crate) fn load_some(
        &self,
        completeness: Completeness,
        keep_going: bool,
    ) -> Result<Outcome, CommandError> {
        let mut projects = Projects::new(self.style());
        let paths = if self.paths.is_empty() { projects.scenarios()? } else { files::find(&self.paths)? };
        let options = CheckOptions { dialect: self.dialect(), specification: &check_model };
        let agent = match &self.agent {
            None => None,
            Some(path) => Some(self.load_agent(path, &options, completeness)?),
        };
        let agent_digest = agent.as_ref().map(|(_, digest)| digest.clone());
        let finish = Finish {
            agent: agent.map(|(agent, _)| agent),
            socket: self.agent_socket.clone(),
            models: self.models.clone(),
        };
        let loading = Loading { selection: self, options, completeness, finish: Arc::new(finish) };
        let mut found = Found {
            outcome: Outcome { agent_digest, ..Outcome::default() },
            idle: self.models.iter().collect(),
            unseen: self.cases.iter().collect(),
        };
        for path in paths {
            loading.file(path, &mut projects, &mut found)?;
        }
        let Found { outcome, idle, unseen } = found;
        if !unseen.is_empty() && outcome.unusable == 0 {
            let unknown = unseen.iter().map(|name| format!("no scenario is called `{name}`")).collect();
            return CommandError::several(unknown).map_or(Ok(outcome), Err);
        }
        if outcome.usable.is_empty() || (outcome.unusable > 0 && !keep_going) {
            return Ok(outcome);
        }
        let changes_nothing = |(role, spec): &&(String, String)| {
            format!("`--model {role}={spec}` changes nothing: no scenario asks a model `{role}`")
        };
        CommandError::several(idle.iter().map(changes_nothing).collect()).map_or(Ok(outcome), Err)
    }

    fn chooses(&self, scenario: &Scenario) -> bool {
        let fits = |filter: &Filter| filter.chooses(&scenario.name, &scenario.tags);
        let is_named = || self.cases.iter().any(|name| is_called(scenario, name));
        self.filter.as_ref().is_none_or(fits)
            && (self.cases.is_empty() || is_named())
            && self.combinations.as_ref().is_none_or(|part| holds(scenario, part))
    }

    /// The agent of a file for `--agent`.
    pub(crate) fn agent_file(&self, path: &Path) -> Result<AgentFile, CommandError> {
        let options = CheckOptions { dialect: self.dialect(), specification: &check_model };
        self.load_agent(path, &options, Completeness::AsWritten).map(|(agent, _)| agent)
    }

    fn load_agent(
        &self,
        path: &Path,
        options: &CheckOptions<'_>,
        completeness: Completeness,
    ) -> Result<(AgentFile, String), CommandError> {
        let text = files::read(path)?;
        let (agent, mut problems) = check_agent(&text, options);
        let mut refused = Vec::new();
        if let Completeness::Runnable { commands: Commands::Refused, .. } = completeness {
            refused = agent.as_ref().map(AgentFile::commands).unwrap_or_default();
        }
        let agent = agent.filter(|_| refused.is_empty());
        problems.extend(refused);
        self.show(&Sources::of(path, &text), &problems);
        let mut agent = agent.ok_or_else(CommandError::shown)?;
        agent.directory = Some(files::folder(path)?);
        Ok((agent, digest::of(&text)))
    }

    fn show(&self, sources: &Sources, problems: &[Problem]) {
        for problem in problems.iter().take(MAX_SHOWN) {
            let (path, text, problem) = sources.at_home(problem);
            let name = path.display().to_string();
            output::message(&format!("{}\n", problem.render(&name, text, self.style())));
        }
        match problems.len().saturating_sub(MAX_SHOWN) {
            0 => {}
            1 => output::message("… and 1 more problem\n"),
            more => output::message(&format!("… and {more} more problems\n")),
        }
    }
}

/// Whether a scenario, or the one it was made from, has a name.
fn is_called(scenario: &Scenario, name: &str) -> bool {
    scenario.name == name || scenario.made_from.as_ref().is_some_and(|made| made.scenario == name)
}

/// Whether the values of a combination, as JSON, hold a text; upper and lower case are one.
fn holds(scenario: &Scenario, part: &str) -> bool {
    let variant = scenario.made_from.iter().flat_map(|made| &made.variant);
    let values: serde_json::Map<String, serde_json::Value> =
        variant.map(|(axis, (_, value))| (axis.clone(), value.clone())).collect();
    let text = rehearsal_core::json::text(&serde_json::Value::Object(values));
    text.to_lowercase().contains(&part.to_lowercase())
}

/// What was found so far.
struct Found<'s> {
    outcome: Outcome,
    /// Models of the command line that no scenario has asked for.
    idle: Vec<&'s (String, String)>,
    /// Names that no scenario has.
    unseen: Vec<&'s String>,
}

/// Reads files one after the other.
struct Loading<'s> {
    selection: &'s Selection,
    options: CheckOptions<'s>,
    completeness: Completeness,
    finish: Arc<Finish>,
}

impl Loading<'_> {
    fn file(
        &self,
        path: PathBuf,
        projects: &mut Projects,
        found: &mut Found<'_>,
    ) -> Result<(), CommandError> {
        let text = match files::read(&path) {
            Ok(text) => text,
            Err(error) => {
                found.outcome.files.push(ReadFile::unreadable(path, &error));
                output::message(&format!("{}\n", CommandError::from(error)));
                found.outcome.unusable += 1;
                return Ok(());
            }
        };
        let project = projects.around(&path)?;
        let (opened, digest) = self.open(&path, &text, project.as_deref());
        let Opened { cases, mut problems, sources } = opened;
        let settings = project.map(|project| project.settings.clone()).unwrap_or_default();
        let mut usable = Vec::new();
        if let Some(cases) = cases {
            let severity = match self.completeness {
                Completeness::Runnable { .. } => Severity::Error,
                Completeness::AsWritten => Severity::Warning,
            };
            problems.extend(cases.unset(&|name| self.selection.variables.get(name), severity));
            self.cases(&path, &cases, &settings, &mut problems, &mut usable, &sources);
        }
        problems.sort_by_key(|problem| (problem.span.start, problem.severity));
        self.selection.show(&sources, &problems);
        let is_usable =
            !problems.iter().any(|problem| problem.severity == Severity::Error) && !usable.is_empty();
        let outcome = &mut found.outcome;
        outcome.files.push(ReadFile::new(path.clone(), &sources, &problems, is_usable, MAX_SHOWN));
        outcome.warnings += problems.iter().filter(|problem| problem.severity == Severity::Warning).count();
        if !is_usable {
            outcome.unusable += 1;
            return Ok(());
        }
        outcome.digests.insert(path, digest);
        for one in usable {
            let is_called = |name: &str| *one.loaded.name == *name || one.base.as_deref() == Some(name);
            found.unseen.retain(|name| !is_called(name));
            if one.is_chosen {
                found.idle.retain(|(role, _)| !one.asks.contains(role));
                found.outcome.usable.push(one.loaded);
            } else {
                found.outcome.left_out.push(one.words);
            }
        }
        Ok(())
    }

    /// Reads a file; gives what stands for it and for all that was read for it, too.
    fn open(&self, path: &Path, text: &str, project: Option<&project::Found>) -> (Opened, String) {
        let digest = RefCell::new(Digest::default());
        let taken = |text: &str| {
            digest.borrow_mut().text(text);
        };
        taken(text);
        taken(project.map_or("", |project| &project.digest));
        let taken_if_read = |text: Result<String, String>| text.inspect(|text| taken(text));
        let read = |path: &Path| taken_if_read(rows::read(path));
        let run = |command: &CommandLine, folder: &Path| taken_if_read(rows::run(command, folder));
        let commands = match self.completeness {
            Completeness::Runnable { commands: Commands::Refused, .. } => RowCommands::Refused,
            Completeness::Runnable { .. } => RowCommands::Run(&run),
            Completeness::AsWritten => RowCommands::NotRun,
        };
        let origin = Origin { path, read: &read, commands, project: project.map(|project| &project.project) };
        let opened = if self.selection.compat.is_some() && Cases::is_elizaos_matrix(text) {
            Cases::open_elizaos_matrix(text, &origin, &self.options)
        } else {
            Cases::open(text, &origin, &self.options)
        };
        let digest = digest.borrow().hex();
        (opened, digest)
    }

    /// Makes every case once, to see what is wrong with it.
    fn cases(
        &self,
        path: &Path,
        cases: &Cases,
        settings: &Arc<Settings>,
        problems: &mut Vec<Problem>,
        usable: &mut Vec<Usable>,
        sources: &Sources,
    ) {
        let path: Arc<Path> = path.into();
        let (is_made, count) = (cases.are_made(), cases.len());
        let maker = Arc::new(Maker {
            cases: cases.clone(),
            dialect: self.options.dialect,
            finish: self.finish.clone(),
        });
        let mut gathering = cases.gathering();
        for place in 0..count {
            let checked = cases.case(place, &self.options);
            let mut own = checked.problems;
            if let Some(scenario) = checked.scenario {
                let scenario = self.finish.complete(scenario);
                own.extend(self.problems_of(&scenario));
                // Whether the file can be used is seen when all its cases are known.
                let made = is_made.then(|| (maker.clone(), place));
                usable.push(self.usable(&path, scenario, settings, sources, made));
            }
            gathering.take(place, own);
        }
        problems.extend(cases.gathered(gathering));
    }

    /// What is wrong with a scenario beyond its file.
    fn problems_of(&self, scenario: &Scenario) -> Vec<Problem> {
        let (selection, completeness) = (self.selection, self.completeness);
        let mut problems = Vec::new();
        if let Some(mut problem) = scenario.escapes_sandbox().filter(|_| !selection.local_code) {
            // Whoever only reads the file runs nothing.
            if completeness == Completeness::AsWritten {
                problem.severity = Severity::Warning;
            }
            problems.push(problem);
        }
        let lenient = completeness == Completeness::AsWritten && selection.compat.is_some();
        if !lenient {
            let live = matches!(completeness, Completeness::Runnable { live: true, .. });
            problems.extend(scenario.missing_for(live));
        }
        if completeness == Completeness::AsWritten {
            problems.extend(scenario.asks_nothing());
        }
        if let Completeness::Runnable { live, commands: Commands::Refused } = completeness {
            problems.extend(scenario.commands(live));
        }
        if selection.compat.is_none() && selection.agent.is_none() && selection.agent_socket.is_none() {
            problems.extend(scenario.unused());
        }
        problems
    }

    fn usable(
        &self,
        path: &Arc<Path>,
        scenario: Scenario,
        settings: &Arc<Settings>,
        sources: &Sources,
        made: Option<(Arc<Maker>, usize)>,
    ) -> Usable {
        let asks = self.selection.models.iter().filter(|(role, _)| uses_model(&scenario, role));
        let asks = asks.map(|(role, _)| role.clone()).collect();
        let model = scenario.agent.as_ref().and_then(|agent| about::model(agent, &scenario.models));
        let is_chosen = self.selection.chooses(&scenario);
        let tags = scenario.tags.iter().map(|tag| format!("tag:{tag}"));
        let words: Vec<String> = std::iter::once(scenario.name.clone()).chain(tags).collect();
        let words = if is_chosen { String::new() } else { output::one_line(&words.join(" ")) };
        let base = scenario.made_from.as_ref().map(|made| made.scenario.clone());
        let loaded = Loaded {
            path: path.clone(),
            name: scenario.name.as_str().into(),
            model: model.map(Into::into),
            line: sources.line_of(scenario.place.start),
            settings: settings.clone(),
            made: match made {
                Some((maker, place)) => Made::Case(maker, place),
                None => Made::Whole(Arc::new(scenario)),
            },
        };
        Usable { loaded, asks, is_chosen, words, base }
    }
}

/// A case that can be used.
struct Usable {
    loaded: Loaded,
    /// The models of the command line that it asks for.
    asks: Vec<String>,
    is_chosen: bool,
    /// Its name and tags, where it is not chosen.
    words: String,
    /// The name of the scenario it was made from.
    base: Option<String>,
}
