//! The project's file, `rehearsal.yaml`: what holds for all scenarios below its folder.

use std::path::{Path, PathBuf};

use rehearsal_sim::Limits;

use crate::file::keys::{PROJECT, RUN_BUDGET, SCENARIO};
use crate::file::{agent, limits_of, read_models_of, read_prices};
use crate::read::{Fields, Reader, nearest};
use crate::sources::moved;
use crate::yaml::{self, Entry, Node, NodeValue};
use crate::{CheckOptions, Problem, Severity};

/// The name of the project's file.
pub const PROJECT_FILE: &str = "rehearsal.yaml";

/// What a project's file says.
#[derive(Clone, Debug)]
pub struct Project {
    path: PathBuf,
    text: String,
    root: Node,
    /// Where scenarios are, when a command names none: folders, files and patterns, from the folder of the file.
    pub scenarios: Option<Setting<Vec<String>>>,
    /// How many cases run side by side.
    pub jobs: Option<Setting<u32>>,
    /// How many calls each model is asked at once, at most.
    pub max_calls: Option<Setting<usize>>,
    /// What a run may use.
    pub budget: Option<RunBudget>,
    /// Where everything is kept.
    pub store: Option<Setting<String>>,
    /// How long a case may take, as `--timeout` takes it.
    pub timeout: Option<Setting<String>>,
}

/// What a run may use, as a project says it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunBudget {
    /// Tokens and money.
    pub limits: Limits,
    /// The line on which it stands, from 1.
    pub line: usize,
    /// How long it may take, as `--max-time` takes it.
    pub max_time: Option<Setting<String>>,
}

/// A value, and the line on which it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting<T> {
    /// The value.
    pub value: T,
    /// The line, from 1.
    pub line: usize,
}

/// The blocks that a project gives to its scenarios, as they stand among a scenario's files.
#[derive(Default)]
pub(crate) struct Given {
    pub(crate) models: Option<Node>,
    pub(crate) judges: Option<Node>,
    pub(crate) prices: Option<Node>,
    pub(crate) variables: Option<Node>,
    pub(crate) public: Option<Node>,
    pub(crate) defaults: Option<Node>,
    pub(crate) agents: Vec<Entry>,
}

/// Something that a project's file gives to its scenarios, in one line for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gift {
    /// Its key, such as `models.agent`.
    pub key: String,
    /// What it is, as JSON.
    pub value: String,
    /// The line on which it stands, from 1.
    pub line: usize,
}

impl Project {
    /// Reads a project's file, and says all that is wrong with it.
    pub fn read(path: &Path, text: &str, options: &CheckOptions<'_>) -> (Option<Self>, Vec<Problem>) {
        let mut reader = Reader { text, dialect: options.dialect, ..Reader::default() };
        let project = match yaml::parse(text) {
            Ok(root) => read(&mut reader, path, text, root, options),
            Err(problem) => {
                reader.report(problem);
                None
            }
        };
        let mut problems = reader.problems;
        problems.sort_by_key(|problem| (problem.span.start, problem.severity));
        let is_usable = problems.iter().all(|problem| problem.severity != Severity::Error);
        (project.filter(|_| is_usable), problems)
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What stands in it.
    pub fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn given(&self, start: usize) -> Given {
        let mut given = Given::default();
        let NodeValue::Map(entries) = &self.root.value else { return given };
        for entry in entries {
            let node = || Some(moved(entry.value.clone(), start));
            match entry.key.as_str() {
                "models" => given.models = node(),
                "judges" => given.judges = node(),
                "prices" => given.prices = node(),
                "variables" => given.variables = node(),
                "public" => given.public = node(),
                "defaults" => given.defaults = node(),
                "agents" => {
                    if let Some(Node { value: NodeValue::Map(agents), .. }) = node() {
                        given.agents = agents;
                    }
                }
                _ => {}
            }
        }
        given
    }

    /// What it gives to its scenarios, key by key.
    pub fn gifts(&self) -> Vec<Gift> {
        let reader = Reader { text: &self.text, ..Reader::default() };
        let NodeValue::Map(entries) = &self.root.value else { return Vec::new() };
        let mut gifts = Vec::new();
        for entry in entries {
            let is_of_run = ["scenarios", "jobs", "max_calls", "budget", "store", "timeout", "description"]
                .contains(&entry.key.as_str());
            let gift = |key: String, node: &Node, at: usize| Gift {
                key,
                value: rehearsal_core::json::text(&node.to_json()),
                line: reader.line(at),
            };
            match &entry.value.value {
                _ if is_of_run => {}
                NodeValue::Map(inner) => {
                    gifts.extend(inner.iter().map(|one| {
                        gift(format!("{}.{}", entry.key, one.key), &one.value, one.key_span.start)
                    }));
                }
                _ => gifts.push(gift(entry.key.clone(), &entry.value, entry.key_span.start)),
            }
        }
        gifts
    }
}

fn read_budget(reader: &mut Reader<'_>, fields: &mut Fields<'_>) -> Option<RunBudget> {
    let at = fields.key_span("budget").map_or(1, |span| reader.line(span.start));
    let mut budget = reader.fields(fields.get("budget")?, "`budget`", &RUN_BUDGET)?;
    let limits = limits_of(reader, &mut budget);
    let line = budget.key_span("max_time").map_or(1, |span| reader.line(span.start));
    let max_time = budget.text(reader, "max_time").map(|value| Setting { value, line });
    budget.finish(reader);
    Some(RunBudget { limits, line: at, max_time })
}

/// Keys that are a scenario's own.
const NO_DEFAULTS: &[&str] = &["name", "run", "cases", "matrix"];

fn read(
    reader: &mut Reader<'_>,
    path: &Path,
    text: &str,
    root: Node,
    options: &CheckOptions<'_>,
) -> Option<Project> {
    let mut fields = reader.fields(&root, "the project's file", &PROJECT)?;
    let lines = |reader: &Reader<'_>, fields: &crate::read::Fields<'_>, key: &str| {
        fields.key_span(key).map_or(1, |span| reader.line(span.start))
    };
    let scenarios = fields.get("scenarios").is_some().then(|| Setting {
        value: fields.texts(reader, "scenarios"),
        line: lines(reader, &fields, "scenarios"),
    });
    if let (Some(setting), Some(node)) = (&scenarios, fields.get("scenarios"))
        && setting.value.is_empty()
    {
        reader.report(Problem::error("empty", node.span.clone(), "`scenarios` names no place"));
    }
    let jobs = fields.integer(reader, "jobs").and_then(|jobs| u32::try_from(jobs).ok());
    let jobs = jobs.map(|value| Setting { value, line: lines(reader, &fields, "jobs") });
    let max_calls = fields.integer(reader, "max_calls").and_then(|most| usize::try_from(most).ok());
    let max_calls = max_calls.map(|value| Setting { value, line: lines(reader, &fields, "max_calls") });
    let budget = read_budget(reader, &mut fields);
    let store = fields.text(reader, "store");
    let store = store.map(|value| Setting { value, line: lines(reader, &fields, "store") });
    let timeout = fields.text(reader, "timeout");
    let timeout = timeout.map(|value| Setting { value, line: lines(reader, &fields, "timeout") });
    read_models_of(reader, &mut fields, options);
    if let Some(judges) = fields.get("judges") {
        crate::file::read_models(reader, judges, options);
    }
    read_prices(reader, &mut fields);
    crate::file::read_variables(reader, &mut fields);
    if let Some(agents) = fields.get("agents") {
        for entry in reader.names(agents, "`agents`").to_vec() {
            let is_elsewhere = matches!(&entry.value.value, NodeValue::Map(fields)
                if fields.iter().any(|field| ["file", "use"].contains(&field.key.as_str())));
            if !is_elsewhere {
                agent::read(reader, &entry.value, options.specification);
            }
        }
    }
    if let Some(defaults) = fields.get("defaults") {
        let known: Vec<&str> = SCENARIO.keys.iter().map(|key| key.name).collect();
        for entry in reader.names(defaults, "`defaults`").to_vec() {
            let place = entry.key_span.clone();
            if NO_DEFAULTS.contains(&entry.key.as_str()) {
                let message =
                    format!("`{}` is every scenario's own: it cannot stand in `defaults`", entry.key);
                reader.report(Problem::error("no-effect", place, message).help("remove it"));
            } else if !known.contains(&entry.key.as_str()) {
                let message = format!("a scenario has no key `{}`", entry.key);
                let problem = Problem::error("unknown-key", place, message);
                reader.report(match nearest(&entry.key, known.iter().copied()) {
                    Some(near) => problem.help(format!("did you mean `{near}`?")),
                    None => problem,
                });
            }
        }
    }
    fields.finish(reader);
    Some(Project {
        path: path.to_owned(),
        text: text.to_owned(),
        root,
        scenarios,
        jobs,
        max_calls,
        budget,
        store,
        timeout,
    })
}
