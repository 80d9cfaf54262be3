//! The agent under test in a scenario file.

use std::ops::Range;
use std::path::PathBuf;

use serde_json::{Map, Value};

use super::keys::{
    CHAT, CHAT_AGENT, HTTP, HTTP_AGENT, HTTP_TOOL, INLINE, LONGEST_NAME, PATHS_OF_CALLS, PATHS_OF_USAGE,
    PROGRAM, SERVER, TOOL,
};
use super::schemas;
use crate::read::{Fields, Reader};
use crate::yaml::{Node, NodeValue};
use crate::{ModelUnusable, Problem};

/// What is under test.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentUnderTest {
    /// Its name.
    pub name: String,
    /// How it is reached.
    pub reached: Reached,
    /// Its tools, where their calls come to us.
    pub tools: Vec<ToolDefinition>,
    /// Where its block stands in the file; empty for one that was not in the file.
    pub span: Range<usize>,
}

/// How an agent is reached.
#[derive(Clone, Debug, PartialEq)]
pub enum Reached {
    /// It is written in the file.
    Inline(InlineAgent),
    /// It answers an OpenAI-compatible chat endpoint.
    Chat {
        /// The model specification of the endpoint.
        specification: String,
        /// What starts its server.
        server: Option<Server>,
    },
    /// It answers JSON over HTTP.
    Http(Box<HttpEndpoint>),
    /// It is a program that speaks JSON lines.
    Command(CommandLine),
    /// It is a program that runs already and speaks the same on a Unix socket. No file says so; whoever runs it does.
    Socket(PathBuf),
}

/// An agent that is written in the file.
#[derive(Clone, Debug, PartialEq)]
pub struct InlineAgent {
    /// The key of its model in `models`.
    pub model: String,
    /// Its instructions.
    pub instructions: String,
    /// What its answers must look like.
    pub output_schema: Option<Value>,
    /// How freely it answers.
    pub temperature: Option<f64>,
    /// The longest answer.
    pub max_tokens: Option<u64>,
    /// How often it may ask its model for one answer.
    pub max_rounds: Option<u64>,
}

/// A JSON endpoint.
#[derive(Clone, Debug, PartialEq)]
pub struct HttpEndpoint {
    /// Its address.
    pub url: String,
    /// The method.
    pub method: String,
    /// Headers; `${env.NAME}` in a value is taken from the environment.
    pub headers: Vec<(String, String)>,
    /// The body, with placeholders.
    pub request: Option<Value>,
    /// Where the reply stands in the answer.
    pub response: String,
    /// Where the session's id stands in the answer.
    pub session: Option<String>,
    /// Where the tokens read and written stand in the answer.
    pub usage: Option<(String, String)>,
    /// Where the calls of its tools stand in the answer.
    pub calls: Option<CallsInAnswer>,
    /// How long it may take to answer.
    pub timeout_ms: Option<u64>,
    /// What starts it.
    pub server: Option<Server>,
}

/// Where the calls of its tools stand in the answer of an agent: paths, of which one that ends in `?` may lead nowhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallsInAnswer {
    /// Their list.
    pub list: String,
    /// The name of the tool, in an item.
    pub tool: String,
    /// The arguments, in an item.
    pub args: String,
    /// What the tool gave, in an item.
    pub result: Option<String>,
    /// What went wrong, in an item.
    pub error: Option<String>,
}

/// A server that a scenario starts for its agent. `${port}` in addresses is the port it was given.
#[derive(Clone, Debug, PartialEq)]
pub struct Server {
    /// The command; it finds its port in the variable `PORT`.
    pub command: CommandLine,
    /// How long it may take until it accepts connections.
    pub ready_within_ms: u64,
}

/// A command as the file writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandLine {
    /// A line for the shell.
    Shell(String),
    /// A program and its arguments.
    Words(Vec<String>),
}

/// A tool of the agent.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolDefinition {
    /// Its name, as the model sees it.
    pub name: String,
    /// The service it belongs to.
    pub service: Option<String>,
    /// What it does.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub parameters: Option<Value>,
    /// The JSON Schema of its result.
    pub output: Option<Value>,
    /// What it does for real.
    pub implementation: Option<Implementation>,
    /// The folder of the file in which it stands, where other scenarios share it: its command runs there.
    pub home: Option<PathBuf>,
    /// Where it stands in the file.
    pub span: Range<usize>,
}

impl ToolDefinition {
    /// The service and the method that mocks know it by.
    pub fn service_and_method(&self) -> (Option<&str>, &str) {
        let dotted =
            self.name.rsplit_once('.').filter(|(service, method)| !service.is_empty() && !method.is_empty());
        match (self.service.as_deref(), dotted) {
            (None, None) => (None, &self.name),
            (None, Some((service, method))) => (Some(service), method),
            (Some(own), Some((service, method))) if own == service => (Some(own), method),
            (Some(own), _) => (Some(own), &self.name),
        }
    }
}

/// What a tool does for real: only under `--live`, or when it is listed in `passthrough`.
#[derive(Clone, Debug, PartialEq)]
pub enum Implementation {
    /// Runs a command that gets the arguments as JSON on its standard input.
    Command(CommandLine),
    /// Sends the arguments as JSON.
    Http {
        /// Where to.
        url: String,
        /// The method.
        method: String,
        /// Headers; `${env.NAME}` in a value is taken from the environment.
        headers: Vec<(String, String)>,
    },
}

const KINDS: &str = "an agent is written inline (`instructions`), or reached by `chat`, `http` or `command`";

pub(crate) fn read(
    reader: &mut Reader<'_>,
    node: &Node,
    specification: &dyn Fn(&str) -> Result<(), ModelUnusable>,
) -> Option<AgentUnderTest> {
    let mut fields = reader.fields_of_one(node, "`agent`", &[&INLINE, &CHAT_AGENT, &HTTP_AGENT, &PROGRAM])?;
    fields.text(reader, "description");
    let name = fields.text(reader, "name").unwrap_or_default();
    if let (Some(node), false) = (fields.get("name"), (1..=LONGEST_NAME).contains(&name.chars().count())) {
        let message =
            format!("an agent's name has 1 to {LONGEST_NAME} characters, not {}", name.chars().count());
        let problem = Problem::error("out-of-range", node.span.clone(), message);
        reader.report(problem.help("give it a shorter one; `description` takes the rest"));
    }
    let tools: Vec<ToolDefinition> =
        fields.list(reader, "tools").iter().filter_map(|node| read_tool(reader, node)).collect();
    report_twice(reader, fields.get("tools"), &tools);
    let (chat, http, command) = (fields.get("chat"), fields.get("http"), fields.get("command"));
    let reached = match (chat, http, command) {
        (None, None, None) => Some(Reached::Inline(read_inline(reader, &mut fields))),
        (Some(node), None, None) => read_chat(reader, node, specification),
        (None, Some(node), None) => read_http(reader, node).map(|endpoint| Reached::Http(Box::new(endpoint))),
        (None, None, Some(node)) => read_command(reader, node, "`command`").map(Reached::Command),
        _ => {
            let problem = Problem::error("two-agents", fields.span(), "this is more than one agent");
            reader.report(problem.help(KINDS));
            None
        }
    };
    if let (Some(place), true) = (fields.key_span("tools"), chat.is_some() || http.is_some()) {
        let message =
            "the tool calls of an agent behind HTTP never reach us, so its tools cannot be played here";
        reader.report(
            Problem::error("no-effect", place, message).help("remove `tools`, or make it a `command` agent"),
        );
    }
    fields.finish(reader);
    Some(AgentUnderTest { name, reached: reached?, tools, span: node.span.clone() })
}

fn report_twice(reader: &mut Reader<'_>, node: Option<&Node>, tools: &[ToolDefinition]) {
    if node.is_none() {
        return;
    }
    for (at, tool) in tools.iter().enumerate() {
        if tools[..at].iter().any(|other| other.name == tool.name) {
            let message = format!("two tools are called `{}`", tool.name);
            let problem = Problem::error("duplicate", tool.span.clone(), message);
            reader.report(problem.help("give them different names"));
        }
    }
}

fn read_inline(reader: &mut Reader<'_>, fields: &mut Fields<'_>) -> InlineAgent {
    InlineAgent {
        model: fields.text(reader, "model").unwrap_or_default(),
        instructions: fields.text(reader, "instructions").unwrap_or_default(),
        output_schema: read_schema(reader, fields, "output_schema"),
        temperature: fields.number(reader, "temperature"),
        max_tokens: fields.integer(reader, "max_tokens"),
        max_rounds: fields.integer(reader, "max_rounds"),
    }
}

/// A JSON Schema; reports one that cannot be used.
pub(super) fn read_schema(
    reader: &mut Reader<'_>,
    fields: &mut Fields<'_>,
    key: &'static str,
) -> Option<Value> {
    let schema = Value::Object(fields.json_map(reader, key)?);
    let is_told = fields.get(key).is_some_and(|node| schemas::report(reader, node, "bad-schema"));
    if let (false, Err(error)) = (is_told, rehearsal_core::Schema::new(schema.clone()).usability()) {
        let place = fields.get(key).map_or(fields.span(), |node| node.span.clone());
        reader.report(Problem::error("bad-schema", place, format!("`{key}` is no JSON Schema: {error}")));
    }
    Some(schema)
}

fn read_chat(
    reader: &mut Reader<'_>,
    node: &Node,
    specification: &dyn Fn(&str) -> Result<(), ModelUnusable>,
) -> Option<Reached> {
    let mut fields = reader.fields(node, "`chat`", &CHAT)?;
    let url = fields.text(reader, "url").unwrap_or_default();
    let model = fields.text(reader, "model").unwrap_or_default();
    let server = fields.get("start").and_then(|node| read_server(reader, node));
    let text = format!("openai-compatible:{model}@{url}");
    if let (Some(node), Err(why)) = (fields.get("url"), specification(&text.replace("${port}", "1")))
        && !text.contains("${env.")
    {
        reader.report(why.into_problem("bad-address", node.span.clone()));
    }
    report_port(reader, &mut fields, &url, server.is_some());
    fields.finish(reader);
    Some(Reached::Chat { specification: text, server })
}

fn report_port(reader: &mut Reader<'_>, fields: &mut Fields<'_>, url: &str, has_server: bool) {
    let Some(node) = fields.get("url") else { return };
    if url.contains("${port}") && !has_server {
        let problem = Problem::error(
            "no-port",
            node.span.clone(),
            "`${port}` is the port of a server that `start` starts",
        );
        reader.report(problem.help("add: start: python3 server.py"));
    }
}

fn read_http(reader: &mut Reader<'_>, node: &Node) -> Option<HttpEndpoint> {
    let mut fields = reader.fields(node, "`http`", &HTTP)?;
    let url = fields.text(reader, "url").unwrap_or_default();
    let server = fields.get("start").and_then(|node| read_server(reader, node));
    report_port(reader, &mut fields, &url, server.is_some());
    report_address(reader, &mut fields, &url);
    let request = fields.get("request").map(Node::to_json);
    #[cfg(feature = "http")]
    if let (Some(node), Some(template)) = (fields.get("request"), &request)
        && let Err(why) = rehearsal_world::remote::HttpAgent::check_template(template)
    {
        reader.report(Problem::error("bad-template", node.span.clone(), why.to_string()));
    }
    let usage = fields.get("usage").and_then(|node| {
        let mut usage = reader.fields(node, "`usage`", &PATHS_OF_USAGE)?;
        let paths = (
            usage.text(reader, "input").unwrap_or_default(),
            usage.text(reader, "output").unwrap_or_default(),
        );
        usage.finish(reader);
        Some(paths)
    });
    let calls = fields.get("calls").and_then(|node| {
        let mut calls = reader.fields(node, "`calls`", &PATHS_OF_CALLS)?;
        let paths = CallsInAnswer {
            list: calls.text(reader, "list").unwrap_or_default(),
            tool: calls.text(reader, "tool").unwrap_or_default(),
            args: calls.text(reader, "args").unwrap_or_default(),
            result: calls.text(reader, "result"),
            error: calls.text(reader, "error"),
        };
        calls.finish(reader);
        Some(paths)
    });
    let endpoint = HttpEndpoint {
        url,
        method: read_method(reader, &mut fields),
        headers: read_headers(reader, &mut fields),
        request,
        response: fields.text(reader, "response").unwrap_or_default(),
        session: fields.text(reader, "session"),
        usage,
        calls,
        timeout_ms: fields.integer(reader, "timeout_ms"),
        server,
    };
    fields.finish(reader);
    Some(endpoint)
}

/// Without HTTP built in nothing is known about addresses; whatever is reached by one is refused before it runs.
#[cfg(not(feature = "http"))]
fn is_address(_: &str) -> bool {
    true
}

#[cfg(feature = "http")]
fn is_address(url: &str) -> bool {
    // What the environment fills in is not known here.
    if url.contains("${env.") {
        return true;
    }
    let parsed = reqwest::Url::parse(&url.replace("${port}", "1"));
    parsed.is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.host().is_some())
}

pub(super) fn report_address(reader: &mut Reader<'_>, fields: &mut Fields<'_>, url: &str) {
    let fine = is_address(url);
    if let (false, Some(node @ Node { value: NodeValue::Text(_), .. })) = (fine, fields.get("url")) {
        let problem = Problem::error("bad-address", node.span.clone(), format!("`{url}` is no HTTP address"));
        reader.report(problem.help("write: url: http://127.0.0.1:8080/chat"));
    }
}

fn read_method(reader: &mut Reader<'_>, fields: &mut Fields<'_>) -> String {
    fields.word(reader, "method").unwrap_or_default().to_owned()
}

pub(super) fn read_headers(reader: &mut Reader<'_>, fields: &mut Fields<'_>) -> Vec<(String, String)> {
    let Some(node) = fields.get("headers") else { return Vec::new() };
    let mut headers = Vec::new();
    for entry in reader.names(node, "`headers`") {
        let what = format!("header `{}`", entry.key);
        let Some(value) = reader.text(&entry.value, &what) else { continue };
        if !is_header_name(&entry.key) {
            let message = format!("`{}` cannot be the name of a header", entry.key);
            reader.report(Problem::error("bad-header", entry.key_span.clone(), message));
        }
        headers.push((entry.key.clone(), value));
    }
    headers
}

#[cfg(not(feature = "http"))]
fn is_header_name(_: &str) -> bool {
    true
}

#[cfg(feature = "http")]
fn is_header_name(name: &str) -> bool {
    reqwest::header::HeaderName::from_bytes(name.as_bytes()).is_ok()
}

/// How long a server may take that says nothing else.
const READY_WITHIN_MS: u64 = 10_000;

fn read_server(reader: &mut Reader<'_>, node: &Node) -> Option<Server> {
    if !matches!(node.value, NodeValue::Map(_)) {
        let command = read_command(reader, node, "`start`")?;
        return Some(Server { command, ready_within_ms: READY_WITHIN_MS });
    }
    let mut fields = reader.fields(node, "`start`", &SERVER)?;
    let command = fields.require(reader, "command");
    let command = command.and_then(|node| read_command(reader, node, "`command`"));
    let ready_within_ms = fields.integer(reader, "ready_within_ms").unwrap_or(READY_WITHIN_MS);
    fields.finish(reader);
    Some(Server { command: command?, ready_within_ms })
}

/// A line for the shell, or a program and its arguments.
pub(crate) fn read_command(reader: &mut Reader<'_>, node: &Node, what: &str) -> Option<CommandLine> {
    let command = match &node.value {
        NodeValue::List(_) => CommandLine::Words(reader.texts(node, what)),
        _ => CommandLine::Shell(reader.text(node, what)?),
    };
    let empty = match &command {
        CommandLine::Shell(line) => line.trim().is_empty(),
        CommandLine::Words(words) => words.first().is_none_or(String::is_empty),
    };
    if empty {
        let problem = Problem::error("empty", node.span.clone(), format!("{what} names no program"));
        reader.report(problem.help("write: python3 agent.py, or [python3, agent.py]"));
        return None;
    }
    Some(command)
}

fn read_tool(reader: &mut Reader<'_>, node: &Node) -> Option<ToolDefinition> {
    let mut fields = reader.fields(node, "a tool", &TOOL)?;
    let name = fields.text(reader, "name").unwrap_or_default();
    let implementation = match (fields.get("command"), fields.get("http")) {
        (Some(node), None) => read_command(reader, node, "`command`").map(Implementation::Command),
        (None, Some(node)) => read_http_tool(reader, node),
        (None, None) => None,
        (Some(_), Some(_)) => {
            let message = format!("tool `{name}` has two implementations, `command` and `http`");
            reader.report(Problem::error("two-actions", fields.span(), message).help("keep one of them"));
            None
        }
    };
    let tool = ToolDefinition {
        service: fields.text(reader, "service"),
        description: fields.text(reader, "description").unwrap_or_default(),
        parameters: read_schema(reader, &mut fields, "parameters"),
        output: read_schema(reader, &mut fields, "output"),
        implementation,
        home: reader.shared_folder(node.span.start),
        span: node.span.clone(),
        name,
    };
    fields.finish(reader);
    Some(tool)
}

fn read_http_tool(reader: &mut Reader<'_>, node: &Node) -> Option<Implementation> {
    if let NodeValue::Text(url) = &node.value {
        if !is_address(url) {
            let problem =
                Problem::error("bad-address", node.span.clone(), format!("`{url}` is no HTTP address"));
            reader.report(problem.help("write: http: https://example.com/tool"));
        }
        return Some(Implementation::Http {
            url: url.clone(),
            method: "POST".to_owned(),
            headers: Vec::new(),
        });
    }
    let mut fields = reader.fields(node, "`http`", &HTTP_TOOL)?;
    let url = fields.text(reader, "url").unwrap_or_default();
    report_address(reader, &mut fields, &url);
    let method = read_method(reader, &mut fields);
    let headers = read_headers(reader, &mut fields);
    fields.finish(reader);
    Some(Implementation::Http { url, method, headers })
}

/// A JSON object, or an empty one.
pub(crate) fn object(schema: Option<&Value>) -> Value {
    schema.cloned().unwrap_or_else(|| Value::Object(Map::new()))
}
