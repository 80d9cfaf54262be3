//! The tasks of tau2-bench.
//!
//! What is read is the folder `tau2/data` of the Python package `inspect-evals`: the tasks, the policies and what its
//! simulated users are told. The tools stay where they are: a scenario's world is [`WORLD`], which imports them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::read::{self, at, items, said};
use crate::report::{Change, Note, Report, TaskReport};
use crate::{Import, ImportError, file_name, yaml};

mod checks;
mod notes;

/// The world of the scenarios, a program in Python.
pub const WORLD: &str = include_str!("tau2/world.py");

/// The name of its file.
const WORLD_FILE: &str = "tau2_world.py";

/// How many turns a conversation may have: as many messages of the user as tau2's runner allows.
const TURNS: u64 = 100;

/// How often an agent may ask its model for one answer: as many steps as tau2's runner allows in all.
const ROUNDS: u64 = 200;

/// Where the data is below the folder of the package, or the one that it is installed into.
const BELOW: &[&str] = &["data", "tau2/data", "inspect_evals/tau2/data"];

/// What a simulated user says when it leaves.
const STOP: [&str; 3] = ["###STOP###", "###TRANSFER###", "###OUT-OF-SCOPE###"];

/// A domain whose tools the world can play.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Domain {
    /// Its name, which is that of its folder.
    pub name: &'static str,
    /// The file with its tasks.
    tasks: &'static str,
    /// What the agent is told, file by file, each with the words around it.
    policy: &'static [(&'static str, &'static str)],
    /// The file with what a simulated user is told of its part.
    guidelines: &'static str,
}

/// The domains that can be read: of telecom, the small split.
pub const DOMAINS: [Domain; 3] = [
    Domain {
        name: "airline",
        tasks: "tasks.json",
        policy: &[("policy", "policy.txt")],
        guidelines: "simulation_guidelines.txt",
    },
    Domain {
        name: "telecom",
        tasks: "tasks_small.json",
        policy: &[("main_policy", "main_policy.txt"), ("tech_support_policy", "tech_support_manual.txt")],
        guidelines: "simulation_guidelines_tools.txt",
    },
    Domain {
        name: "retail",
        tasks: "tasks.json",
        policy: &[("policy", "policy.txt")],
        guidelines: "simulation_guidelines.txt",
    },
];

/// What is wanted of the tasks.
#[derive(Clone, Debug, Default)]
pub struct Tau2Options {
    /// The domains; airline and telecom where none is named.
    pub domains: Vec<String>,
    /// The tasks, by their ids; all where none is named.
    pub tasks: Vec<String>,
    /// Leaves out the natural-language assertions that do not count in tau2's own reward.
    pub basis_only: bool,
}

/// Reads tasks.
///
/// # Errors
/// The folder is another one, or something in it cannot be read.
pub fn import(folder: &Path, options: &Tau2Options) -> Result<Import, ImportError> {
    let mut files = Vec::new();
    let mut tasks = Vec::new();
    let mut unseen: BTreeSet<&str> = options.tasks.iter().map(String::as_str).collect();
    for domain in chosen(options)? {
        let source = Source::read(folder, domain)?;
        for task in read::list(&source.tasks)? {
            let id = said(&task, &["id"]).to_owned();
            if !options.tasks.is_empty() && !options.tasks.contains(&id) {
                continue;
            }
            unseen.remove(id.as_str());
            let (report, scenario) = convert(&source, &id, &task, options);
            files.extend(report.file.clone().zip(scenario));
            tasks.push(report);
        }
    }
    if let Some(name) = unseen.first() {
        let hint = "the ids are those of the file `tasks.json` of the domain; name the domain too, such as `--domain retail`";
        return Err(ImportError::Unknown { what: "task", name: (*name).to_owned(), hint: hint.to_owned() });
    }
    files.push((PathBuf::from(WORLD_FILE), WORLD.to_owned()));
    let source = "tau2-bench, as the package inspect-evals has it".to_owned();
    Ok(Import { files, report: Report { source, every_task: notes::every_task(), tasks } })
}

fn chosen(options: &Tau2Options) -> Result<Vec<Domain>, ImportError> {
    if options.domains.is_empty() {
        return Ok(DOMAINS[..2].to_vec());
    }
    let find = |name: &String| {
        let found = DOMAINS.iter().find(|domain| domain.name == name).copied();
        let known = DOMAINS.map(|domain| domain.name).join("`, `");
        let hint =
            format!("there are `{known}`; the tools of other domains need more than a world can bring");
        found.ok_or_else(|| ImportError::Unknown { what: "domain", name: name.clone(), hint })
    };
    options.domains.iter().map(find).collect()
}

/// What all tasks of a domain share.
struct Source {
    domain: Domain,
    tasks: PathBuf,
    policy: String,
    guidelines: String,
}

impl Source {
    fn read(folder: &Path, domain: Domain) -> Result<Self, ImportError> {
        let file = format!("domains/{}/{}", domain.name, domain.tasks);
        let folder = &read::home(folder, BELOW, &file);
        let home = folder.join("domains").join(domain.name);
        let tasks = home.join(domain.tasks);
        if !tasks.is_file() {
            return Err(ImportError::Folder {
                folder: folder.to_owned(),
                what: "the data of tau2-bench",
                missing: file,
                hint: "`pip install --no-deps 'inspect-evals==0.26.*'` brings it as `inspect_evals/tau2/data`; \
                       `pip show inspect-evals` says where",
            });
        }
        let part = |(word, file): &(&str, &str)| {
            let text = read::text(&home.join(file))?;
            Ok(format!("<{word}>\n{}\n</{word}>\n", text.trim()))
        };
        let policy = domain.policy.iter().map(part).collect::<Result<String, ImportError>>()?;
        let guidelines = read::text(&folder.join("user_simulator").join(domain.guidelines))?;
        Ok(Self { domain, tasks, policy, guidelines })
    }
}

/// One task as a scenario, where it can be one.
fn convert(source: &Source, id: &str, task: &Value, options: &Tau2Options) -> (TaskReport, Option<String>) {
    let domain = source.domain.name;
    let mut notes = notes::of_task(task);
    let initial = at(task, &["initial_state"]);
    let unfit =
        ["initialization_data", "message_history"].into_iter().find(|key| !at(initial, &[key]).is_null());
    if let Some(key) = unfit {
        notes.push(Note::new(
            Change::Lost,
            "the task",
            format!("its `initial_state` has `{key}`, which no world sets up"),
        ));
        return (TaskReport { task: id.to_owned(), file: None, notes }, None);
    }
    let evaluations = checks::evaluations(task, options, &mut notes);
    let about: Vec<&str> = ["purpose", "relevant_policies", "notes"]
        .into_iter()
        .map(|key| said(task, &["description", key]))
        .filter(|text| !text.is_empty())
        .collect();
    let mut scenario = Map::new();
    let mut add = |key: &str, value: Value| scenario.insert(key.to_owned(), value);
    add("name", format!("tau2 {domain} {id}").into());
    let about = if about.is_empty() { format!("Task {id} of {domain}.") } else { about.join("\n") };
    add("description", about.into());
    add("tags", json!(["tau2", domain]));
    add("environment", json!({"type": "local"}));
    add("world", json!({"command": ["python3", WORLD_FILE, domain, id]}));
    add("agent", json!({"instructions": instructions(source), "max_rounds": ROUNDS}));
    add(
        "run",
        json!([{"conversation": {
            "max_turns": TURNS,
            "timeout_per_turn_ms": 600_000,
            "total_timeout_ms": 3_600_000,
            "user_simulator": {
                "instructions": user(source, task),
                "stop": STOP,
                "temperature": 0,
                "max_tokens": 1000,
            },
            "final_evaluations": evaluations,
        }}]),
    );
    add("judgment", json!({"strategy": "all_pass"}));
    let name = PathBuf::from(format!("{domain}-{}.scenario.yaml", file_name(id)));
    let heading = format!(
        "# Task {id} of tau2-bench, written by `rehearse import --tau2`. `{}` says what is not as it was there.\n",
        crate::REPORT_FILE
    );
    (
        TaskReport { task: format!("{domain} {id}"), file: Some(name), notes },
        Some(heading + &yaml::document(&scenario)),
    )
}

/// What the agent is told: its place, and the policy.
fn instructions(source: &Source) -> String {
    format!(
        "You serve the customers of a company, and follow its policy. In one turn you either write to the customer or call a tool, never both.\n\n{}",
        source.policy
    )
}

/// What the simulated user is told: the guidelines of tau2, and the task's own part.
fn user(source: &Source, task: &Value) -> String {
    let mut parts = vec![format!("{}\n\n<scenario>\n", source.guidelines.trim())];
    let persona = said(task, &["user_scenario", "persona"]).trim();
    if !persona.is_empty() {
        parts.push(format!("Persona:\n{}\n", indented(persona)));
    }
    parts.push("Instructions:\n".to_owned());
    let told = at(task, &["user_scenario", "instructions"]);
    if let Some(told) = told.as_str() {
        parts.push(format!("{}\n", indented(told)));
    }
    for (key, heading) in [
        ("domain", "Domain"),
        ("reason_for_call", "Reason for call"),
        ("known_info", "Known info"),
        ("unknown_info", "Unknown info"),
        ("task_instructions", "Task instructions"),
    ] {
        let part = said(told, &[key]).trim();
        if !part.is_empty() {
            parts.push(format!("  {heading}:\n{}\n", indented(&indented(part))));
        }
    }
    parts.push("</scenario>\n".to_owned());
    parts.concat()
}

fn indented(text: &str) -> String {
    let lines: Vec<String> = text
        .lines()
        .map(|line| if line.trim().is_empty() { String::new() } else { format!("  {line}") })
        .collect();
    lines.join("\n")
}

/// The reference actions of a task.
fn actions(task: &Value) -> &[Value] {
    items(task, &["evaluation_criteria", "actions"])
}

/// What counts in the reward of a task.
fn basis(task: &Value) -> Vec<&str> {
    let named = items(task, &["evaluation_criteria", "reward_basis"]);
    if named.is_empty() {
        vec!["DB", "COMMUNICATE"]
    } else {
        named.iter().filter_map(Value::as_str).collect()
    }
}
