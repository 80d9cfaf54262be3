//! Who answers tools that ask the user, and the bridge between the agent and its users.

use rehearsal_core::StatePatch;
use rehearsal_js::Expression;
use serde_json::Value;

use super::agent::read_schema;
use super::keys::{BRIDGE, SCRIPTED_ANSWERS, SIMULATED_USER, USER_TOOL};
use super::mock::{read_expression, read_state};
use crate::Problem;
use crate::read::{Fields, Reader, choose};
use crate::yaml::{Entry, Node, NodeValue};

/// Who answers a tool that asks the user: the agent waits until they have.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolUser {
    /// The tool.
    pub tool: String,
    /// Who answers.
    pub answered_by: AnsweredBy,
    /// Where it stands in the file.
    pub span: std::ops::Range<usize>,
    /// The line it stands at.
    pub line: usize,
}

/// Who answers a tool.
#[derive(Clone, Debug, PartialEq)]
pub enum AnsweredBy {
    /// A model.
    Model(SimulatedUser),
    /// These answers, one after the other.
    Script(Vec<Value>),
    /// A person.
    Person,
}

/// A user that a model plays.
#[derive(Clone, Debug, PartialEq)]
pub struct SimulatedUser {
    /// What the model is told.
    pub instructions: String,
    /// The model that plays it, by its key in `models`; `user` unless told.
    pub model_type: Option<String>,
    /// How freely it answers.
    pub temperature: Option<f64>,
    /// The longest answer, in tokens.
    pub max_tokens: Option<u64>,
    /// Its tools.
    pub tools: Vec<UserTool>,
}

/// A tool of a user's own.
#[derive(Clone, Debug, PartialEq)]
pub struct UserTool {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub parameters: Option<Value>,
    /// What it answers.
    pub response: Option<Value>,
    /// A function that makes its answer, in JavaScript.
    pub response_fn: Option<Expression>,
    /// What changes in the agent's session.
    pub state: Option<StatePatch>,
    /// A function that gives what changes there, in JavaScript.
    pub state_fn: Option<Expression>,
}

/// What goes to and fro between the agent and its users, where it is not as it is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BridgeExpressions {
    /// What a simulated user is told.
    pub prompt: Option<Expression>,
    /// What the agent gets.
    pub response: Option<Expression>,
}

/// Reads `users`.
pub(super) fn read_all(reader: &mut Reader<'_>, node: &Node) -> Vec<ToolUser> {
    reader.names(node, "`users`").iter().filter_map(|entry| read(reader, entry)).collect()
}

fn read(reader: &mut Reader<'_>, entry: &Entry) -> Option<ToolUser> {
    let node = &entry.value;
    let what = format!("the user of `{}`", entry.key);
    let answered_by = if let NodeValue::Text(text) = &node.value {
        choose(reader, node, text, &what, &[("person", ())])?;
        AnsweredBy::Person
    } else {
        let mut fields = reader.fields_of_one(node, what, &[&SIMULATED_USER, &SCRIPTED_ANSWERS])?;
        let by_script = fields.has("script");
        let answered_by = if by_script {
            AnsweredBy::Script(read_script(reader, &mut fields))
        } else {
            AnsweredBy::Model(read_simulated(reader, &mut fields))
        };
        fields.finish(reader);
        answered_by
    };
    let (span, line) = (entry.key_span.clone(), reader.line(entry.key_span.start));
    Some(ToolUser { tool: entry.key.clone(), answered_by, span, line })
}

fn read_script(reader: &mut Reader<'_>, fields: &mut Fields<'_>) -> Vec<Value> {
    let script: Vec<Value> = fields.list(reader, "script").iter().map(Node::to_json).collect();
    if let (Some(node @ Node { value: NodeValue::List(_), .. }), true) =
        (fields.get("script"), script.is_empty())
    {
        let problem = Problem::error("empty", node.span.clone(), "a user without an answer says nothing");
        reader.report(problem.help("add one: script: [Yes]"));
    }
    script
}

fn read_simulated(reader: &mut Reader<'_>, fields: &mut Fields<'_>) -> SimulatedUser {
    SimulatedUser {
        instructions: fields.text(reader, "instructions").unwrap_or_default(),
        model_type: fields.text(reader, "model_type"),
        temperature: fields.number(reader, "temperature"),
        max_tokens: fields.integer(reader, "max_tokens"),
        tools: fields.list(reader, "tools").iter().filter_map(|node| read_tool(reader, node)).collect(),
    }
}

pub(super) fn read_tool(reader: &mut Reader<'_>, node: &Node) -> Option<UserTool> {
    let mut fields = reader.fields(node, "a tool of a user", &USER_TOOL)?;
    for (key, function) in [("response", "responseFn"), ("state", "stateFn")] {
        if let (Some(place), true) = (fields.key_span(key), fields.has(function)) {
            let message = format!("a tool with `{function}` never uses its `{key}`");
            reader.report(Problem::error("no-effect", place, message).help("remove one of the two"));
        }
    }
    let tool = UserTool {
        name: fields.text(reader, "name").unwrap_or_default(),
        description: fields.text(reader, "description").unwrap_or_default(),
        parameters: read_schema(reader, &mut fields, "parameters"),
        response: fields.get_or_null("response").map(Node::to_json),
        response_fn: read_function(reader, &mut fields, "responseFn"),
        state: fields.get("state").and_then(|node| read_state(reader, node)),
        state_fn: read_function(reader, &mut fields, "stateFn"),
    };
    fields.finish(reader);
    Some(tool)
}

fn read_function(reader: &mut Reader<'_>, fields: &mut Fields<'_>, key: &'static str) -> Option<Expression> {
    let source = fields.text(reader, key)?;
    let node = fields.get(key)?;
    read_expression(reader, node, Expression::response(&source))
}

/// Reads `bridge`.
pub(super) fn read_bridge(reader: &mut Reader<'_>, node: &Node) -> Option<BridgeExpressions> {
    let mut fields = reader.fields(node, "`bridge`", &BRIDGE)?;
    let bridge = BridgeExpressions {
        prompt: read_function(reader, &mut fields, "prompt"),
        response: read_function(reader, &mut fields, "response"),
    };
    if !fields.has("prompt") && !fields.has("response") {
        let problem = Problem::error("no-effect", fields.span(), "a `bridge` without keys changes nothing");
        reader.report(problem.help("add `prompt` or `response`, or remove it"));
    }
    fields.finish(reader);
    Some(bridge)
}
