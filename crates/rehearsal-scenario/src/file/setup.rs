//! What happens before the first step, in a scenario file.

use std::collections::BTreeSet;
use std::ops::Range;

use rehearsal_core::SCENARIO;
use rehearsal_world::environment;
use serde_json::Value;

use super::keys::SETUP;
use super::{AgentUnderTest, Mock, Setup, agent, mock};
use crate::Problem;
use crate::read::{Dialect, Reader, nearest};
use crate::yaml::{Node, NodeValue};

/// What is known of the tools of a scenario.
#[derive(Clone, Copy)]
pub(super) struct Tools<'a> {
    /// The agent that has them.
    pub(super) agent: Option<&'a AgentUnderTest>,
    /// Whether a world has more.
    pub(super) world: bool,
}

pub(super) fn read(
    reader: &mut Reader<'_>,
    node: &Node,
    context: &BTreeSet<String>,
    tools: Tools<'_>,
) -> Option<Setup> {
    let agent = tools.agent;
    // Which tools a world has is known when it runs.
    let known = agent.filter(|_| !tools.world);
    let mut fields = reader.fields(node, "`setup`", &SETUP)?;
    let mocks = fields.list(reader, "mocks");
    let mocks: Vec<Mock> =
        mocks.iter().filter_map(|node| mock::read(reader, node, Some(context), known)).collect();
    if mocks.is_empty() || mocks.iter().any(|mock| mock.shared.is_none()) {
        mock::report_unreachable(reader, &fields, agent);
    }
    let virtual_fs = fields.get("virtual_fs").map(|node| read_files(reader, node)).unwrap_or_default();
    let passthrough = fields.get("passthrough").map(|node| read_passthrough(reader, node, agent));
    let seed_span = fields.get("seed").map(|node| node.span.clone()).unwrap_or_default();
    let seed = match fields.get("seed") {
        None => Vec::new(),
        Some(node) if matches!(node.value, NodeValue::Text(_)) => {
            agent::read_command(reader, node, "`seed`").into_iter().collect()
        }
        Some(node) => {
            let commands = reader.list(node, "`seed`").iter();
            commands.filter_map(|node| agent::read_command(reader, node, "a command of `seed`")).collect()
        }
    };
    let state = fields.json_map(reader, "state").unwrap_or_default();
    if let (Some(node), Err(error)) =
        (fields.get("state"), rehearsal_core::State::from_value(Value::Object(state.clone())))
    {
        let problem = Problem::error("wrong-type", node.span.clone(), error.to_string());
        reader.report(problem.help("write: state: {session: {key: value}}"));
    }
    if let (Some(node), true) =
        (fields.get("state"), state.get(SCENARIO).is_some_and(|own| own["context"] != Value::Null))
    {
        let message = format!("`{SCENARIO}.context` is what calls find around them, and every step sets it");
        let problem = Problem::error("no-effect", node.span.clone(), message);
        reader.report(problem.help("give a step the `context`, or the state another name"));
    }
    fields.finish(reader);
    Some(Setup { mocks, virtual_fs, passthrough: passthrough.unwrap_or_default(), seed, seed_span, state })
}

fn read_files(reader: &mut Reader<'_>, node: &Node) -> Vec<(String, String)> {
    let mut files = Vec::new();
    for entry in reader.names(node, "`virtual_fs`") {
        let what = format!("the content of `{}`", entry.key);
        // The shipped runner takes absolute paths for ones inside the environment.
        let path = match reader.dialect {
            Dialect::Rehearsal => entry.key.clone(),
            Dialect::ElizaOs => entry.key.trim_start_matches('/').to_owned(),
        };
        if let Err(problem) = environment::check_path(&path) {
            reader.report(Problem::error("bad-path", entry.key_span.clone(), problem.to_string()));
        }
        if let Some(content) = reader.text(&entry.value, &what) {
            files.push((path, content));
        }
    }
    files
}

fn read_passthrough(reader: &mut Reader<'_>, node: &Node, agent: Option<&AgentUnderTest>) -> Vec<String> {
    let mut names = Vec::new();
    for item in reader.list(node, "`passthrough`") {
        let Some(name) = reader.text(item, "an item of `passthrough`") else { continue };
        if let Some(problem) = agent.and_then(|agent| not_runnable(&name, agent, item.span.clone())) {
            reader.report(problem);
        }
        names.push(name);
    }
    names
}

/// What is wrong with listing a tool as one that runs for real.
pub(crate) fn not_runnable(name: &str, agent: &AgentUnderTest, place: Range<usize>) -> Option<Problem> {
    let problem = |message: String| Problem::error("no-effect", place, message);
    match agent.tools.iter().find(|tool| tool.name == name) {
        Some(tool) if tool.implementation.is_some() => None,
        Some(_) => {
            let message = format!("tool `{name}` has nothing that could run: no `command` and no `http`");
            let help = "give the tool what it does for real, such as `command: [python3, tool.py]`, or let a mock answer it and leave it out here";
            Some(problem(message).help(help))
        }
        None => {
            let problem = problem(format!("the agent has no tool `{name}`"));
            let known = agent.tools.iter().map(|tool| tool.name.as_str());
            Some(match nearest(name, known) {
                Some(word) => problem.help(format!("did you mean `{word}`?")),
                None => problem,
            })
        }
    }
}
