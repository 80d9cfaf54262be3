//! Mocks in a scenario file.

use std::collections::BTreeSet;
use std::ops::Range;

use rehearsal_core::StatePatch;
use serde_json::{Map, Value};

use super::keys::{AGENT_MOCK, MAX_DELAY_MS, MOCK, MOCK_ERROR, MOCK_METADATA, MOCK_WHEN};
use super::{AgentUnderTest, Reached, ToolDefinition};
use rehearsal_js::{Expression, SyntaxError};

use crate::Problem;
use crate::read::{Dialect, Fields, Reader, nearest};
use crate::yaml::{Node, NodeValue};

/// A mock of a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct Mock {
    /// The service the method belongs to.
    pub service: Option<String>,
    /// The method.
    pub method: String,
    /// When it answers.
    pub when: MockWhen,
    /// What it answers.
    pub response: Option<Value>,
    /// A function that makes its answer, in JavaScript.
    pub response_fn: Option<Expression>,
    /// The error it fails with.
    pub error: Option<MockError>,
    /// How long it takes, in milliseconds.
    pub delay_ms: Option<f64>,
    /// How often it fails, from 0 to 1.
    pub probability: Option<f64>,
    /// What changes in the session's state when it answers: an object of scopes.
    pub state: Option<StatePatch>,
    /// Whether a person answers.
    pub person: bool,
    /// The line it begins at.
    pub line: usize,
    /// That line, in bytes.
    pub span: Range<usize>,
    /// Whether it stands in the agent's file, which is not the scenario's.
    pub of_agent: bool,
    /// The file in which it stands, where other scenarios share it.
    pub shared: Option<String>,
}

/// When a mock answers: all that is given must hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MockWhen {
    /// The whole list of arguments.
    pub args: Option<Vec<Value>>,
    /// Some of the named arguments.
    pub input: Option<Map<String, Value>>,
    /// Some of what is known around the call.
    pub context: Option<Map<String, Value>>,
    /// A condition, in JavaScript.
    pub matcher: Option<Expression>,
    /// The first arguments.
    pub partial_args: Option<Vec<Value>>,
}

/// An error a mock fails with.
#[derive(Clone, Debug, PartialEq)]
pub struct MockError {
    /// Its code.
    pub code: String,
    /// Its message.
    pub message: String,
    /// Its HTTP status.
    pub status: Option<f64>,
}

/// What every call knows around it, and what that is.
pub(super) const ALWAYS_IN_CONTEXT: [(&str, &str); 3] = [
    ("session", "the id of the session"),
    ("step", "the number of the step"),
    ("turn", "the number of the turn"),
];

/// Reads a mock. `context` are the keys that the steps of the scenario give; an agent's file has no steps.
pub(super) fn read(
    reader: &mut Reader<'_>,
    node: &Node,
    context: Option<&BTreeSet<String>>,
    agent: Option<&AgentUnderTest>,
) -> Option<Mock> {
    let mut fields = reader.fields(node, "a mock", if context.is_some() { &MOCK } else { &AGENT_MOCK })?;
    fields.text(reader, "description");
    let service = fields.text(reader, "service");
    let method = fields.text(reader, "method").unwrap_or_default();
    let when = fields.get("when").and_then(|node| read_when(reader, node, context)).unwrap_or_default();
    let response = fields.get_or_null("response").map(Node::to_json);
    let response_fn = fields.get("responseFn").and_then(|node| {
        let source = reader.text(node, "`responseFn` of a mock")?;
        if reader.dialect == Dialect::ElizaOs && Expression::is_plain_text(&source) {
            return read_expression(reader, node, Ok(Expression::verbatim(&source)));
        }
        read_expression(reader, node, Expression::response(&source))
    });
    let error = fields.get("error").and_then(|node| read_error(reader, node));
    let (delay_ms, probability) =
        fields.get("metadata").map_or((None, None), |node| read_metadata(reader, node));
    report_answers(reader, &fields, probability);
    let person = read_person(reader, &mut fields);
    let state = fields.get("state").and_then(|node| read_state(reader, node));
    let (line, span) = (reader.line(node.span.start), reader.line_span(node.span.start));
    let mock = Mock {
        service,
        method,
        when,
        response,
        response_fn,
        error,
        delay_ms,
        probability,
        state,
        person,
        line,
        span,
        of_agent: false,
        shared: reader.shared_file(node.span.start),
    };
    // What is shared may play tools that only other agents have.
    if let (Some(place), Some(agent)) = (fields.key_span("method"), agent.filter(|_| mock.shared.is_none()))
        && let Some(problem) = unknown_tool(&mock, agent, place)
    {
        reader.report_without_effect(problem);
    }
    fields.finish(reader);
    Some(mock)
}

/// Reads what changes in a session's state.
pub(super) fn read_state(reader: &mut Reader<'_>, node: &Node) -> Option<StatePatch> {
    match StatePatch::from_value(node.to_json()) {
        Ok(patch) => Some(patch),
        Err(error) => {
            let problem = Problem::error("wrong-type", node.span.clone(), error.to_string());
            reader.report(problem.help("write: state: {session: {key: value}}"));
            None
        }
    }
}

/// Keeps an expression that can be read, with its place for error messages.
pub(super) fn read_expression(
    reader: &mut Reader<'_>,
    node: &Node,
    expression: Result<Expression, SyntaxError>,
) -> Option<Expression> {
    match expression {
        Ok(expression) => Some(expression.at(format!("line {}", reader.line(node.span.start)))),
        Err(error) => {
            let message = format!("this is no JavaScript that can be used: {}", error.message);
            reader.report(Problem::error("bad-expression", node.span.clone(), message));
            None
        }
    }
}

/// Reports answers that are never given.
fn report_answers(reader: &mut Reader<'_>, fields: &Fields<'_>, probability: Option<f64>) {
    let mut never = |key: &str, message: &str| {
        if let Some(place) = fields.key_span(key) {
            let problem = Problem::error("no-effect", place, message);
            reader.report_without_effect(problem.help("remove one of the two"));
        }
    };
    if fields.has("response") && fields.has("responseFn") {
        never("response", "a mock with `responseFn` never gives its `response`");
    }
    if fields.has("error") && probability.is_none() {
        never(
            "response",
            "a mock with `error` and no `probability` always fails and never gives its `response`",
        );
        never(
            "responseFn",
            "a mock with `error` and no `probability` always fails and never calls its `responseFn`",
        );
    }
}

/// Reads whether a person answers, and reports what is never given then.
fn read_person(reader: &mut Reader<'_>, fields: &mut Fields<'_>) -> bool {
    let person = fields.boolean(reader, "person");
    if let (Some(false), Some(place)) = (person, fields.key_span("person")) {
        let problem = Problem::error("no-effect", place, "`person: false` changes nothing");
        reader.report_without_effect(problem.help("remove it, or write: person: true"));
    }
    if person != Some(true) {
        return false;
    }
    for key in ["response", "responseFn", "error", "metadata"] {
        if let Some(place) = fields.key_span(key) {
            let message = format!("a person answers this call, so its `{key}` has no effect");
            let problem = Problem::error("no-effect", place, message);
            reader.report_without_effect(problem.help(format!("remove `{key}`, or `person: true`")));
        }
    }
    true
}

/// What is wrong with a mock that no tool of the agent can use.
pub(crate) fn unknown_tool(mock: &Mock, agent: &AgentUnderTest, place: Range<usize>) -> Option<Problem> {
    if calls_elsewhere(agent) || agent.tools.iter().any(|tool| mock.plays(tool)) {
        return None;
    }
    let name = match &mock.service {
        Some(service) => format!("{service}.{}", mock.method),
        None => mock.method.clone(),
    };
    let problem =
        Problem::error("never-used", place, format!("the agent has no tool `{name}` that this could play"));
    let known = agent.tools.iter().map(|tool| tool.service_and_method().1);
    Some(match nearest(&mock.method, known) {
        Some(word) if word != mock.method => problem.help(format!("did you mean `{word}`?")),
        Some(_) => problem.help("its tool of that name belongs to another service"),
        None => problem.help("add the tool to `agent.tools`, or remove the mock"),
    })
}

/// Whether the tool calls of an agent never reach us.
pub(super) fn calls_elsewhere(agent: &AgentUnderTest) -> bool {
    matches!(agent.reached, Reached::Http(_) | Reached::Chat { .. })
}

/// What is wrong with mocks for an agent whose tool calls never reach us.
pub(crate) fn unreachable_mocks(agent: &AgentUnderTest, place: Range<usize>) -> Option<Problem> {
    let message = "these mocks can never answer: the tool calls of an agent behind HTTP never reach us";
    let help = "remove them, or reach the agent by `command`, where its tool calls come to us";
    calls_elsewhere(agent).then(|| Problem::error("no-effect", place, message).help(help))
}

/// Reports mocks for an agent whose tool calls never reach us.
pub(super) fn report_unreachable(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
    agent: Option<&AgentUnderTest>,
) {
    if let (Some(agent), Some(place)) = (agent, fields.key_span("mocks"))
        && let Some(problem) = unreachable_mocks(agent, place)
    {
        reader.report(problem);
    }
}

impl Mock {
    /// Whether it can answer for a tool.
    pub fn plays(&self, tool: &ToolDefinition) -> bool {
        let (service, method) = tool.service_and_method();
        match &self.service {
            Some(own) => Some(own.as_str()) == service && self.method == method,
            None => self.method == method || self.method == tool.name,
        }
    }
}

fn read_when(reader: &mut Reader<'_>, node: &Node, known: Option<&BTreeSet<String>>) -> Option<MockWhen> {
    let mut fields = reader.fields(node, "`when`", &MOCK_WHEN)?;
    if let (Some(place), None) = (fields.key_span("context"), known) {
        let message = "an agent's file has no steps, which give calls their `context`";
        let problem = Problem::error("never-true", place, message);
        reader.report(problem.help("write this mock into the scenario, or decide by `input`"));
    }
    if let (Some(Node { value: NodeValue::Map(entries), .. }), Some(known)) = (fields.get("context"), known) {
        for entry in entries.iter().filter(|entry| !known.contains(&entry.key)) {
            let message = format!("no step has `{}` in its context, so this never holds", entry.key);
            let problem = Problem::error("never-true", entry.key_span.clone(), message);
            reader.report_without_effect(match nearest(&entry.key, known.iter().map(String::as_str)) {
                Some(word) => problem.help(format!("did you mean `{word}`?")),
                None => problem.help(format!("add it to a step: context: {{{}: …}}", entry.key)),
            });
        }
    }
    let matcher = fields.get("matcher").and_then(|node| read_matcher(reader, node));
    let list = |node: &Node, reader: &mut Reader<'_>, what: &str| {
        reader.list(node, what).iter().map(Node::to_json).collect::<Vec<Value>>()
    };
    let when = MockWhen {
        args: fields.get("args").map(|node| list(node, reader, "`args`")),
        input: fields.json_map(reader, "input"),
        context: fields.json_map(reader, "context"),
        matcher,
        partial_args: fields.get("partialArgs").map(|node| list(node, reader, "`partialArgs`")),
    };
    report_arguments(reader, &fields, &when);
    fields.finish(reader);
    Some(when)
}

/// Reports conditions on arguments that always hold.
fn report_arguments(reader: &mut Reader<'_>, fields: &Fields<'_>, when: &MockWhen) {
    let mut report = |key: &str, code: &'static str, message: String, help: &str| {
        let place = fields.key_span(key).unwrap_or_else(|| fields.span());
        reader.report_without_effect(Problem::error(code, place, message).help(help));
    };
    for (key, map) in [("input", &when.input), ("context", &when.context)] {
        if map.as_ref().is_some_and(Map::is_empty) {
            report(
                key,
                "always-true",
                format!("an empty `{key}` holds for every call"),
                "name something, or remove it",
            );
        }
    }
    let partial = when.partial_args.as_deref();
    if partial.is_some_and(|list| list.is_empty() || list == [Value::Object(Map::new())]) {
        let message = "an empty `partialArgs` holds for every call".to_owned();
        report("partialArgs", "always-true", message, "name something, or remove it");
    }
}

fn read_matcher(reader: &mut Reader<'_>, node: &Node) -> Option<Expression> {
    let source = reader.text(node, "`matcher` of a mock")?;
    let is_text = reader.dialect == Dialect::ElizaOs && Expression::is_plain_text(&source);
    let read = if is_text { Ok(Expression::always(&source)) } else { Expression::matcher(&source) };
    let matcher = read_expression(reader, node, read)?;
    if let Some(why) = matcher.why_constant() {
        let problem = Problem::error("always-true", node.span.clone(), why);
        reader.report_without_effect(problem.help("compare something of `args`, `input` or `context`"));
    }
    Some(matcher)
}

fn read_error(reader: &mut Reader<'_>, node: &Node) -> Option<MockError> {
    let mut fields = reader.fields(node, "`error`", &MOCK_ERROR)?;
    let error = MockError {
        code: fields.text(reader, "code").unwrap_or_default(),
        message: fields.text(reader, "message").unwrap_or_default(),
        status: fields.number(reader, "status"),
    };
    fields.finish(reader);
    Some(error)
}

fn read_metadata(reader: &mut Reader<'_>, node: &Node) -> (Option<f64>, Option<f64>) {
    let Some(mut fields) = reader.fields(node, "`metadata`", &MOCK_METADATA) else { return (None, None) };
    let delay = fields.any_number(reader, "delay");
    let possible = delay.filter(|delay| (0.0..=MAX_DELAY_MS).contains(delay));
    if let (Some(node), true) = (fields.get("delay"), delay.is_some() && possible.is_none()) {
        let message = format!("`delay` must be from 0 to {MAX_DELAY_MS} milliseconds, a day");
        reader.report_without_effect(Problem::error("out-of-range", node.span.clone(), message));
    }
    let probability = fields.number(reader, "probability");
    fields.finish(reader);
    (possible, probability)
}
