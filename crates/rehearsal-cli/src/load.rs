//! Reading scenario files and telling what is wrong with them.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use rehearsal::scenario_models::check_model;
use rehearsal_scenario::{
    AgentFile, CheckOptions, Commands, Dialect, ModelChoice, ModelUnusable, Problem, Scenario, Severity,
    Style, check_agent, check_with, line_and_column,
};

use crate::error::CommandError;
use crate::filter::Filter;
use crate::findings::ReadFile;
use crate::{files, output};

/// What scenarios are read, and what is given to them beside their files.
#[derive(Debug, Args)]
pub(crate) struct Selection {
    /// Scenario files, folders in which every `*.scenario.yaml` and `*.scenario.yml` is taken, or patterns
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Only scenarios that fit: words for names and tags, joined by `and`, `or`, `not`; `tag:WORD`, `name:WORD`
    #[arg(long, value_name = "EXPR", add = clap_complete::ArgValueCompleter::new(crate::complete::scenario_names))]
    pub(crate) filter: Option<Filter>,
    /// Only scenarios with exactly this name; may be given several times
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

/// A scenario that can be used, and where it comes from.
#[derive(Clone, Debug)]
pub(crate) struct Loaded {
    pub(crate) path: PathBuf,
    pub(crate) scenario: Scenario,
    /// The line of its file at which it stands.
    pub(crate) line: usize,
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
        let paths = files::find(&self.paths)?;
        let options = CheckOptions { dialect: self.dialect(), specification: &check_model };
        let agent = match &self.agent {
            None => None,
            Some(path) => Some(self.load_agent(path, &options, completeness)?),
        };
        let mut outcome = Outcome::default();
        let mut idle: Vec<&(String, String)> = self.models.iter().collect();
        let mut unseen: Vec<&String> = self.cases.iter().collect();
        for path in paths {
            let text = match files::read(&path) {
                Ok(text) => text,
                Err(error) => {
                    outcome.files.push(ReadFile::unreadable(path, &error));
                    output::message(&format!("{}\n", CommandError::from(error)));
                    outcome.unusable += 1;
                    continue;
                }
            };
            let checked = check_with(&text, &options);
            let (mut scenario, mut problems) = (checked.scenario, checked.problems);
            if let Some(found) = scenario.take() {
                let found = self.complete(found, agent.as_ref());
                let lenient = completeness == Completeness::AsWritten && self.compat.is_some();
                if let Some(mut problem) = found.escapes_sandbox().filter(|_| !self.local_code) {
                    // Whoever only reads the file runs nothing.
                    if completeness == Completeness::AsWritten {
                        problem.severity = Severity::Warning;
                    }
                    problems.push(problem);
                }
                if !lenient {
                    let live = matches!(completeness, Completeness::Runnable { live: true, .. });
                    problems.extend(found.missing_for(live));
                }
                if completeness == Completeness::AsWritten {
                    problems.extend(found.asks_nothing());
                }
                if let Completeness::Runnable { live, commands: Commands::Refused } = completeness {
                    problems.extend(found.commands(live));
                }
                if self.compat.is_none() && self.agent.is_none() && self.agent_socket.is_none() {
                    problems.extend(found.unused());
                }
                scenario = Some(found);
            }
            problems.sort_by_key(|problem| (problem.span.start, problem.severity));
            self.show(&path, &text, &problems);
            let errors = problems.iter().any(|problem| problem.severity == Severity::Error);
            let is_usable = !errors && scenario.is_some();
            outcome.files.push(ReadFile::new(path.clone(), &text, &problems, is_usable, MAX_SHOWN));
            outcome.warnings +=
                problems.iter().filter(|problem| problem.severity == Severity::Warning).count();
            match scenario.filter(|_| !errors) {
                None => outcome.unusable += 1,
                Some(scenario) => {
                    unseen.retain(|name| **name != scenario.name);
                    if self.chooses(&scenario) {
                        idle.retain(|(role, _)| !uses_model(&scenario, role));
                        let (line, _) = line_and_column(&text, scenario.place.start);
                        outcome.usable.push(Loaded { path, scenario, line });
                    } else {
                        let tags = scenario.tags.iter().map(|tag| format!("tag:{tag}"));
                        let words: Vec<String> = std::iter::once(scenario.name.clone()).chain(tags).collect();
                        outcome.left_out.push(output::one_line(&words.join(" ")));
                    }
                }
            }
        }
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
        self.filter.as_ref().is_none_or(fits)
            && (self.cases.is_empty() || self.cases.contains(&scenario.name))
    }

    /// The agent of a file for `--agent`.
    pub(crate) fn agent_file(&self, path: &Path) -> Result<AgentFile, CommandError> {
        let options = CheckOptions { dialect: self.dialect(), specification: &check_model };
        self.load_agent(path, &options, Completeness::AsWritten)
    }

    fn load_agent(
        &self,
        path: &Path,
        options: &CheckOptions<'_>,
        completeness: Completeness,
    ) -> Result<AgentFile, CommandError> {
        let text = files::read(path)?;
        let (agent, mut problems) = check_agent(&text, options);
        let mut refused = Vec::new();
        if let Completeness::Runnable { commands: Commands::Refused, .. } = completeness {
            refused = agent.as_ref().map(AgentFile::commands).unwrap_or_default();
        }
        let agent = agent.filter(|_| refused.is_empty());
        problems.extend(refused);
        self.show(path, &text, &problems);
        let mut agent = agent.ok_or_else(CommandError::shown)?;
        agent.directory = Some(files::folder(path)?);
        Ok(agent)
    }

    fn complete(&self, scenario: Scenario, agent: Option<&AgentFile>) -> Scenario {
        let scenario = match agent {
            Some(agent) => scenario.with_agent(agent),
            None => scenario,
        };
        let scenario = match &self.agent_socket {
            Some(socket) => scenario.with_agent_at(socket),
            None => scenario,
        };
        self.models
            .iter()
            .fold(scenario, |scenario, (role, spec)| scenario.with_model(role, ModelChoice::named(spec)))
    }

    fn show(&self, path: &Path, text: &str, problems: &[Problem]) {
        let name = path.display().to_string();
        for problem in problems.iter().take(MAX_SHOWN) {
            output::message(&format!("{}\n", problem.render(&name, text, self.style())));
        }
        match problems.len().saturating_sub(MAX_SHOWN) {
            0 => {}
            1 => output::message("… and 1 more problem\n"),
            more => output::message(&format!("… and {more} more problems\n")),
        }
    }
}
