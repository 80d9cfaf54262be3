//! Models in a scenario file: who plays the agent's model, the simulated user and the judge.

use std::ops::Range;

use serde_json::{Map, Value};

use super::keys::{PROVIDER, REPLY, RULE, RULE_WHEN, RULES, SCRIPT, SCRIPTED_CALL, SCRIPTED_USAGE};
use crate::read::{Fields, Reader};
use crate::yaml::{Node, NodeValue};
use crate::{ModelUnusable, Problem};

/// A model of a scenario, by its key.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedModel {
    /// Its key: `agent`, `user`, `judge`, or a name that a `model_type` uses.
    pub key: String,
    /// Which model it is.
    pub model: ModelChoice,
    /// The seed of the provider's sampling.
    pub seed: Option<i64>,
    /// How many calls it is asked at once, at most.
    pub max_calls: Option<usize>,
    /// The line it stands at, in bytes; empty for one that was not in the file.
    pub span: Range<usize>,
}

/// Which model plays a part. The specification is only read here; whoever runs the scenario builds the model.
#[derive(Clone, Debug, PartialEq)]
pub enum ModelChoice {
    /// A provider's model, such as `openai:gpt-4o`.
    Provider(String),
    /// A script that answers turn after turn.
    Script(Vec<ScriptedReply>),
    /// A script that answers by what it is asked.
    Rules(Vec<ScriptedRule>),
    /// A person.
    Person,
}

/// What stands for a person in place of a model.
const PERSON: &str = "person";

impl ModelChoice {
    /// The choice that a specification means: `person`, or a provider's model.
    pub fn named(specification: &str) -> Self {
        match specification.trim() {
            PERSON => Self::Person,
            _ => Self::Provider(specification.to_owned()),
        }
    }
}

/// One answer of a scripted model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScriptedReply {
    /// What it says.
    pub say: Option<String>,
    /// What it says, as JSON.
    pub json: Option<Value>,
    /// The tools it calls, with their arguments.
    pub calls: Vec<(String, Map<String, Value>)>,
    /// Why it gives no answer.
    pub fail: Option<String>,
    /// The tokens it says it took: read and written.
    pub usage: Option<(u64, u64)>,
    /// Whether its calls may break the schemas of their tools: a model that gets them wrong is played.
    pub invalid: bool,
    /// The line it begins at, in bytes.
    pub span: Range<usize>,
}

/// One rule of a scripted model: all conditions must hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScriptedRule {
    /// When it answers; always when there are none.
    pub when: Vec<ScriptedCondition>,
    /// What it answers.
    pub reply: ScriptedReply,
}

/// Something that a rule asks of a model call.
#[derive(Clone, Debug, PartialEq)]
pub enum ScriptedCondition {
    /// What the user just said contains this text.
    UserContains(String),
    /// What the user just said matches this regular expression.
    UserMatches(String),
    /// This tool has just answered.
    ToolResult(String),
    /// A tool has just answered something with this text.
    ToolResultContains(String, String),
    /// The instructions contain this text.
    SystemContains(String),
    /// Somebody has said something with this text.
    ConversationContains(String),
    /// It is this turn of the model, from 1.
    Turn(u64),
}

/// Reads the `models` block. `specification` says what is wrong with a provider's model.
pub(super) fn read(
    reader: &mut Reader<'_>,
    node: &Node,
    specification: &dyn Fn(&str) -> Result<(), ModelUnusable>,
) -> Vec<NamedModel> {
    let entries = reader.names(node, "`models`");
    let read = |reader: &mut Reader<'_>, key: &str, node: &Node| read_model(reader, key, node, specification);
    let models = entries.iter().filter_map(|entry| {
        let read = read(reader, &entry.key, &entry.value)?;
        let (key, span) = (entry.key.clone(), reader.line_span(entry.key_span.start));
        Some(NamedModel { key, model: read.choice, seed: read.seed, max_calls: read.max_calls, span })
    });
    models.collect()
}

/// A model as it stands in a file.
struct ReadModel {
    choice: ModelChoice,
    seed: Option<i64>,
    max_calls: Option<usize>,
}

fn read_model(
    reader: &mut Reader<'_>,
    key: &str,
    node: &Node,
    specification: &dyn Fn(&str) -> Result<(), ModelUnusable>,
) -> Option<ReadModel> {
    if let NodeValue::Text(text) = &node.value {
        let choice = read_provider(reader, node, text.clone(), specification)?;
        return Some(ReadModel { choice, seed: None, max_calls: None });
    }
    let mut fields = reader.fields_of_one(node, format!("model `{key}`"), &[&PROVIDER, &SCRIPT, &RULES])?;
    let script = fields.get("script");
    let rules = fields.get("rules");
    let provider = fields.get("model");
    let base_url = fields.text(reader, "base_url");
    let seed = fields.integer(reader, "seed").and_then(|seed| i64::try_from(seed).ok());
    let max_calls = fields.integer(reader, "max_calls").and_then(|most| usize::try_from(most).ok());
    let choice = match (script, rules, provider) {
        (Some(script), None, None) => {
            let items = reader.list(script, "`script`");
            Some(ModelChoice::Script(items.iter().filter_map(|item| read_reply_item(reader, item)).collect()))
        }
        (None, Some(rules), None) => {
            let items = reader.list(rules, "`rules`");
            Some(ModelChoice::Rules(items.iter().filter_map(|item| read_rule(reader, item)).collect()))
        }
        (None, None, Some(provider)) => reader.text(provider, "`model`").and_then(|mut text| {
            if let Some(url) = &base_url {
                text = format!("{text}@{url}");
            }
            read_provider(reader, provider, text, specification)
        }),
        _ => {
            let message = format!("model `{key}` needs one of `model`, `script` and `rules`");
            let problem = Problem::error("no-model", fields.span(), message);
            reader.report(
                problem.help(format!("write: {key}: openai:gpt-4o, or {key}: {{script: [{{say: Hello}}]}}")),
            );
            None
        }
    };
    if let (Some(place), None) = (fields.key_span("base_url"), provider) {
        let problem = Problem::error("no-effect", place, "`base_url` belongs to `model`");
        reader.report(
            problem.help("write: {model: openai-compatible:NAME, base_url: http://127.0.0.1:8080/v1}"),
        );
    }
    for key in ["seed", "max_calls"] {
        if let Some(place) =
            fields.key_span(key).filter(|_| !matches!(choice, Some(ModelChoice::Provider(_))))
        {
            let problem =
                Problem::error("no-effect", place, format!("`{key}` is for the model of a provider"));
            reader.report(problem.help("remove it"));
        }
    }
    fields.finish(reader);
    choice.map(|choice| ReadModel { choice, seed, max_calls })
}

fn read_provider(
    reader: &mut Reader<'_>,
    node: &Node,
    text: String,
    specification: &dyn Fn(&str) -> Result<(), ModelUnusable>,
) -> Option<ModelChoice> {
    if let ModelChoice::Person = ModelChoice::named(&text) {
        return Some(ModelChoice::Person);
    }
    match specification(&text) {
        // What the environment fills in is not known here.
        Err(_) if text.contains("${env.") => Some(ModelChoice::Provider(text)),
        Ok(()) => Some(ModelChoice::Provider(text)),
        Err(why) => {
            reader.report(why.into_problem("unknown-model", node.span.clone()));
            None
        }
    }
}

fn read_reply_item(reader: &mut Reader<'_>, node: &Node) -> Option<ScriptedReply> {
    if let NodeValue::Text(text) = &node.value {
        return Some(ScriptedReply { say: Some(text.clone()), ..ScriptedReply::default() });
    }
    let mut fields = reader.fields(node, "a turn of a script", &REPLY)?;
    let reply = read_reply(reader, &mut fields);
    fields.finish(reader);
    Some(reply)
}

fn read_rule(reader: &mut Reader<'_>, node: &Node) -> Option<ScriptedRule> {
    let mut fields = reader.fields(node, "a rule of a script", &RULE)?;
    let when = fields.get("when").map(|node| read_conditions(reader, node)).unwrap_or_default();
    let reply = read_reply(reader, &mut fields);
    fields.finish(reader);
    Some(ScriptedRule { when, reply })
}

fn read_reply(reader: &mut Reader<'_>, fields: &mut Fields<'_>) -> ScriptedReply {
    let mut reply = ScriptedReply {
        say: fields.text(reader, "say"),
        json: fields.get_or_null("json").map(Node::to_json),
        fail: fields.text(reader, "fail"),
        invalid: fields.boolean(reader, "invalid") == Some(true),
        span: reader.line_span(fields.span().start),
        ..ScriptedReply::default()
    };
    let tool = fields.text(reader, "call");
    if let (Some(place), None) = (fields.key_span("args"), &tool) {
        let problem = Problem::error("no-effect", place, "`args` are those of `call`, and there is none");
        reader.report(problem.help("add: call: the tool's name"));
    }
    let args = fields.json_map(reader, "args").unwrap_or_default();
    reply.calls.extend(tool.map(|tool| (tool, args)));
    for node in fields.list(reader, "calls") {
        let Some(mut call) = reader.fields(node, "a call", &SCRIPTED_CALL) else { continue };
        let tool = call.text(reader, "tool").unwrap_or_default();
        reply.calls.push((tool, call.json_map(reader, "args").unwrap_or_default()));
        call.finish(reader);
    }
    reply.usage = fields.get("usage").and_then(|node| {
        let mut usage = reader.fields(node, "`usage`", &SCRIPTED_USAGE)?;
        let input = usage.integer(reader, "input");
        let output = usage.integer(reader, "output");
        usage.finish(reader);
        Some((input.unwrap_or_default(), output.unwrap_or_default()))
    });
    let says = [reply.say.is_some(), reply.json.is_some(), reply.fail.is_some()];
    let count = says.iter().filter(|says| **says).count();
    if count == 0 && reply.calls.is_empty() {
        let problem = Problem::error("no-reply", fields.span(), "this turn of the script says nothing");
        reader.report(problem.help("add one of `say`, `json`, `call`, `calls` and `fail`"));
    }
    if count > 1 || (reply.fail.is_some() && !reply.calls.is_empty()) {
        let message = "this turn of the script says several things; only one can be its answer";
        reader.report(Problem::error("two-replies", fields.span(), message));
    }
    reply
}

fn read_conditions(reader: &mut Reader<'_>, node: &Node) -> Vec<ScriptedCondition> {
    let Some(mut fields) = reader.fields(node, "`when`", &RULE_WHEN) else { return Vec::new() };
    let mut conditions = Vec::new();
    conditions.extend(fields.text(reader, "user_contains").map(ScriptedCondition::UserContains));
    if let Some(pattern) = fields.text(reader, "user_matches") {
        if let Err(error) = regex::Regex::new(&pattern) {
            let place = fields.get("user_matches").map_or(fields.span(), |node| node.span.clone());
            let why = error.to_string().lines().last().unwrap_or_default().trim().to_owned();
            reader.report(Problem::error(
                "bad-pattern",
                place,
                format!("`user_matches` is no regular expression: {why}"),
            ));
        }
        conditions.push(ScriptedCondition::UserMatches(pattern));
    }
    let contains = fields.text(reader, "tool_result_contains");
    match (fields.text(reader, "tool_result"), contains) {
        (Some(tool), Some(text)) => conditions.push(ScriptedCondition::ToolResultContains(tool, text)),
        (Some(tool), None) => conditions.push(ScriptedCondition::ToolResult(tool)),
        (None, Some(_)) => {
            let place = fields.key_span("tool_result_contains").unwrap_or(fields.span());
            let problem = Problem::error("missing-key", place, "`tool_result_contains` needs `tool_result`");
            reader.report(problem.help("add: tool_result: the tool's name"));
        }
        (None, None) => {}
    }
    conditions.extend(fields.text(reader, "system_contains").map(ScriptedCondition::SystemContains));
    let conversation = fields.text(reader, "conversation_contains");
    conditions.extend(conversation.map(ScriptedCondition::ConversationContains));
    conditions.extend(fields.integer(reader, "turn").map(ScriptedCondition::Turn));
    fields.finish(reader);
    conditions
}
