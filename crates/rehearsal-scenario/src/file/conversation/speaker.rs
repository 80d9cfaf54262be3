//! Who plays the user of a conversation.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Map, Value};

use super::super::keys::{NAMED_PERSONA, SCRIPTED_USER, SIMULATOR, USERS_CALL, USERS_END};
use super::super::users::{self, UserTool};
use crate::personas::{Persona, personas};
use crate::read::{Fields, Reader, choose, nearest};
use crate::yaml::{Node, NodeValue};
use crate::{Dialect, Problem};

/// Who plays the user of a conversation.
#[derive(Clone, Debug, PartialEq)]
pub enum ConversationUser {
    /// A model with a persona.
    Simulator(Box<UserSimulator>),
    /// A script; the conversation ends after its last message.
    Script {
        /// What is said and done, turn by turn.
        turns: Vec<ScriptTurn>,
        /// Tools of the user's own.
        tools: Vec<UserTool>,
    },
    /// A person, who says what comes next or ends the conversation.
    Person,
}

/// What a scripted user does in one turn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScriptTurn {
    /// What they do before they speak.
    pub calls: Vec<ScriptedCall>,
    /// What they say; nothing where the script is over after the calls.
    pub says: Option<String>,
    /// Whether they hang up with it.
    pub hangs_up: bool,
}

/// A call of a scripted user.
#[derive(Clone, Debug, PartialEq)]
pub struct ScriptedCall {
    /// The tool.
    pub tool: String,
    /// Its arguments.
    pub args: Map<String, Value>,
    /// The line it stands on, in bytes.
    pub span: Range<usize>,
}

/// A simulated user.
#[derive(Clone, Debug, PartialEq)]
pub struct UserSimulator {
    /// The model that plays it, by its key in `models`; `user` unless told.
    pub model_type: Option<String>,
    /// How freely it speaks.
    pub temperature: f64,
    /// The longest message, in tokens.
    pub max_tokens: u64,
    /// All that its model is told, where it is not what it would be told otherwise; with placeholders.
    pub instructions: Option<String>,
    /// Who it is.
    pub persona: String,
    /// What it wants.
    pub objective: String,
    /// How it speaks.
    pub style: Option<String>,
    /// What it keeps to.
    pub constraints: Vec<String>,
    /// How it feels.
    pub emotional_state: Option<String>,
    /// What it knows.
    pub knowledge_level: Knowledge,
    /// The words that end the conversation.
    pub stop: Vec<String>,
    /// Whether it has a tool that ends the conversation.
    pub may_hang_up: bool,
    /// Its tools.
    pub tools: Vec<UserTool>,
    /// The line it begins at, in bytes.
    pub span: Range<usize>,
}

/// How much a simulated user knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Knowledge {
    /// Little.
    Beginner,
    /// Something.
    Intermediate,
    /// A lot.
    Expert,
}

impl Knowledge {
    /// The word for it in a file.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Beginner => "beginner",
            Self::Intermediate => "intermediate",
            Self::Expert => "expert",
        }
    }
}

impl ConversationUser {
    /// The user's own tools, as the file has them.
    pub fn tools(&self) -> &[UserTool] {
        match self {
            Self::Simulator(simulator) => &simulator.tools,
            Self::Script { tools, .. } => tools,
            Self::Person => &[],
        }
    }

    /// What a script says, in order; nothing where it is no script.
    pub fn script(&self) -> Option<&[ScriptTurn]> {
        match self {
            Self::Script { turns, .. } => Some(turns),
            Self::Simulator(_) | Self::Person => None,
        }
    }
}

/// Reads who plays the user. `given` is how many turns of a conversation are begun by somebody else.
pub(super) fn read(
    reader: &mut Reader<'_>,
    fields: &mut Fields<'_>,
    max_turns: Option<u64>,
    given: u64,
) -> Option<ConversationUser> {
    let Some(node) = fields.get("user") else {
        let node = fields.require(reader, "user_simulator")?;
        return read_simulator(reader, node).map(Box::new).map(ConversationUser::Simulator);
    };
    if let Some(place) = fields.key_span("user_simulator") {
        fields.get("user_simulator");
        let message = "a conversation has one user, `user` or `user_simulator`";
        reader.report(Problem::error("two-users", place, message).help("remove one of them"));
    }
    if let NodeValue::Text(text) = &node.value {
        let word = choose(reader, node, text, "`user` of `conversation`", &[("person", ())]);
        return word.map(|()| ConversationUser::Person);
    }
    let mut user = reader.fields(node, "`user`", &SCRIPTED_USER)?;
    let script = user.require(reader, "script");
    let items = script.map(|node| reader.list(node, "`script`")).unwrap_or_default();
    let read: Vec<ScriptTurn> = read_script(reader, items);
    if let (Some(node @ Node { value: NodeValue::List(_), .. }), true) = (script, items.is_empty()) {
        let problem = Problem::error("empty", node.span.clone(), "a user without a line says nothing");
        reader.report(problem.help("add a line: script: [Hello]"));
    }
    if let Some(turns) = max_turns {
        report_unsaid(reader, items, turns, given);
    }
    let tools = read_tools(reader, &mut user);
    user.finish(reader);
    Some(ConversationUser::Script { turns: read, tools })
}

fn read_tools(reader: &mut Reader<'_>, fields: &mut Fields<'_>) -> Vec<UserTool> {
    let nodes = fields.list(reader, "tools");
    let mut tools: Vec<UserTool> = Vec::new();
    for node in nodes {
        let Some(tool) = users::read_tool(reader, node) else { continue };
        if tools.iter().any(|other| other.name == tool.name) {
            let message =
                format!("this user has two tools `{}`, of which only the first is called", tool.name);
            reader
                .report(Problem::error("no-effect", node.span.clone(), message).help("give it another name"));
        }
        tools.push(tool);
    }
    tools
}

/// Reads the items of a script: what is done belongs to what is said after it.
fn read_script(reader: &mut Reader<'_>, items: &[Node]) -> Vec<ScriptTurn> {
    let mut turns = Vec::new();
    let mut open = ScriptTurn::default();
    for (index, item) in items.iter().enumerate() {
        if let NodeValue::Map(entries) = &item.value {
            let ends = entries.iter().any(|entry| entry.key == "hang_up");
            if !ends {
                open.calls.extend(read_call(reader, item));
                continue;
            }
            open.says = read_end(reader, item);
            open.hangs_up = true;
            if let Some(next) = items.get(index + 1) {
                let message = "the user has hung up before this, so it never happens";
                let problem = Problem::error("no-effect", next.span.clone(), message);
                reader.report(problem.help("remove it, or put `hang_up` last"));
            }
        } else {
            open.says = reader.text(item, "an item of `script`");
        }
        turns.push(std::mem::take(&mut open));
    }
    if !open.calls.is_empty() {
        turns.push(open);
    }
    turns
}

fn read_call(reader: &mut Reader<'_>, node: &Node) -> Option<ScriptedCall> {
    let mut fields = reader.fields(node, "a call of a script", &USERS_CALL)?;
    let tool = fields.text(reader, "call");
    let args = fields.json_map(reader, "args").unwrap_or_default();
    fields.finish(reader);
    Some(ScriptedCall { tool: tool?, args, span: reader.line_span(node.span.start) })
}

fn read_end(reader: &mut Reader<'_>, node: &Node) -> Option<String> {
    let mut fields = reader.fields(node, "an end of a script", &USERS_END)?;
    let says = fields.text(reader, "hang_up");
    fields.finish(reader);
    says
}

/// Reports the first line of a script for which there is no turn.
fn report_unsaid(reader: &mut Reader<'_>, items: &[Node], turns: u64, given: u64) {
    // Neither a call nor an end takes a turn.
    let lines: Vec<&Node> = items.iter().filter(|item| !matches!(item.value, NodeValue::Map(_))).collect();
    let first = turns.checked_sub(given).and_then(|first| usize::try_from(first).ok());
    let Some(line) = first.and_then(|first| lines.get(first)) else { return };
    let needed = lines.len() as u64 + given;
    let message = format!("with `max_turns: {turns}` this line is never said");
    let problem = Problem::error("no-effect", line.span.clone(), message);
    reader.report(problem.help(format!("raise `max_turns` to {needed}, or remove it")));
}

/// Reads who a simulated user is: in the author's words, or one of ours.
fn read_persona(
    reader: &mut Reader<'_>,
    fields: &mut Fields<'_>,
) -> (Option<String>, Option<&'static Persona>) {
    let Some(node) = fields.get("persona") else { return (None, None) };
    if !matches!(node.value, NodeValue::Map(_)) || reader.dialect == Dialect::ElizaOs {
        return (reader.text(node, "`persona` of `user_simulator`"), None);
    }
    let Some(mut named) = reader.fields(node, "`persona`", &NAMED_PERSONA) else { return (None, None) };
    let name = named.word(reader, "named");
    let about = named.text(reader, "about");
    named.finish(reader);
    let persona = personas().iter().find(|persona| Some(persona.name) == name);
    let text = persona.map(|persona| match about {
        Some(about) => format!("{}; you are {}", about.trim_end_matches('.'), persona.persona),
        None => persona.persona.to_owned(),
    });
    (text, persona)
}

fn read_simulator(reader: &mut Reader<'_>, node: &Node) -> Option<UserSimulator> {
    let mut fields = reader.fields(node, "`user_simulator`", &SIMULATOR)?;
    let instructions = fields.text(reader, "instructions");
    if !fields.has("instructions") {
        fields.require(reader, "persona");
        fields.require(reader, "objective");
    }
    let (persona, ours) = read_persona(reader, &mut fields);
    let level = fields.has("knowledge_level").then(|| fields.word(reader, "knowledge_level")).flatten();
    let constraints = fields.texts(reader, "constraints");
    let stop = read_stop(reader, &mut fields);
    if let Some(text) = &instructions {
        report_template(reader, &mut fields, text);
    }
    let simulator = UserSimulator {
        model_type: fields.text(reader, "model_type"),
        temperature: fields.number(reader, "temperature").unwrap_or_default(),
        max_tokens: read_max_tokens(reader, &mut fields),
        persona: persona.unwrap_or_default(),
        objective: fields.text(reader, "objective").unwrap_or_default(),
        style: fields.text(reader, "style").or(ours.map(|ours| ours.style.to_owned())),
        constraints: match ours {
            Some(ours) => ours.constraints.iter().map(|text| (*text).to_owned()).chain(constraints).collect(),
            None => constraints,
        },
        emotional_state: fields
            .text(reader, "emotional_state")
            .or(ours.map(|ours| ours.emotional_state.to_owned())),
        knowledge_level: match (level, ours) {
            (Some("beginner"), _) => Knowledge::Beginner,
            (Some("expert"), _) => Knowledge::Expert,
            (None, Some(ours)) => ours.knowledge_level,
            _ => Knowledge::Intermediate,
        },
        instructions,
        stop,
        may_hang_up: fields.boolean(reader, "may_hang_up").unwrap_or_default(),
        tools: read_tools(reader, &mut fields),
        span: reader.line_span(node.span.start),
    };
    if simulator.may_hang_up
        && let Some(place) = fields.key_span("tools")
        && simulator.tools.iter().any(|tool| tool.name == HANG_UP)
    {
        let message = format!("`{HANG_UP}` is the tool that `may_hang_up` gives this user");
        reader.report(Problem::error("no-effect", place, message).help("give yours another name"));
    }
    fields.finish(reader);
    Some(simulator)
}

/// The name of the tool with which a simulated user ends a conversation.
pub(crate) const HANG_UP: &str = "hang_up";

/// The longest message of a simulated user, in tokens. The `ElizaOS` runner has bounds of its own.
fn read_max_tokens(reader: &mut Reader<'_>, fields: &mut Fields<'_>) -> u64 {
    let tokens = fields.integer(reader, "max_tokens").unwrap_or_default();
    if reader.dialect == Dialect::ElizaOs && !(50..=500).contains(&tokens) {
        let place = fields.get("max_tokens").map_or_else(|| fields.span(), |node| node.span.clone());
        let message = "`max_tokens` of `user_simulator` must be from 50 to 500";
        reader.report(Problem::error("out-of-range", place, message));
    }
    tokens
}

fn read_stop(reader: &mut Reader<'_>, fields: &mut Fields<'_>) -> Vec<String> {
    let Some(node) = fields.get("stop") else { return Vec::new() };
    let words = match &node.value {
        NodeValue::List(_) => reader.texts(node, "`stop`"),
        _ => reader.text(node, "`stop` of `user_simulator`").into_iter().collect(),
    };
    let is_list = matches!(node.value, NodeValue::List(_));
    if words.iter().any(|word| word.trim().is_empty()) || (is_list && words.is_empty()) {
        let message = "a stop word that is empty stands in every message";
        let problem = Problem::error("empty", node.span.clone(), message);
        reader.report(problem.help("write a word that nobody says by chance: stop: \"###STOP###\""));
    }
    words
}

/// Something like `${persona}`.
static PLACEHOLDER: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\$\{([A-Za-z_][A-Za-z0-9_.]*)\}").expect("it is a regular expression"));

/// What is filled in in the instructions of a simulated user, and the key it comes from.
pub(crate) const FILLED: [&str; 7] =
    ["persona", "objective", "style", "emotional_state", "knowledge_level", "constraints", "stop"];

/// Fills in the placeholders of instructions.
pub(crate) fn fill(text: &str, value: impl Fn(&str) -> String) -> String {
    let filled = PLACEHOLDER.replace_all(text, |found: &regex::Captures<'_>| {
        let name = &found[1];
        if FILLED.contains(&name) { value(name) } else { found[0].to_owned() }
    });
    filled.into_owned()
}

/// Reports placeholders that nothing fills in, those for which there is nothing, and keys that have no place.
fn report_template(reader: &mut Reader<'_>, fields: &mut Fields<'_>, text: &str) {
    let Some(node) = fields.get("instructions") else { return };
    let mut used = Vec::new();
    for found in PLACEHOLDER.captures_iter(text) {
        let name = found[1].to_owned();
        let at = reader.text.get(node.span.clone()).and_then(|source| source.find(&found[0]));
        let from = node.span.start + at.unwrap_or_default();
        let place = if at.is_some() { from..from + found[0].len() } else { node.span.clone() };
        if !FILLED.contains(&name.as_str()) {
            let problem =
                Problem::error("not-filled-in", place, format!("`{}` is not filled in here", &found[0]));
            reader.report(match nearest(&name, FILLED.into_iter()) {
                Some(word) => problem.help(format!("did you mean `${{{word}}}`?")),
                None => problem.help(format!("what is filled in: `${{{}}}`", FILLED.join("}`, `${"))),
            });
            continue;
        }
        let has_default = name == "knowledge_level";
        let of_ours = fields.has("persona") && ["style", "emotional_state", "constraints"].contains(&&*name);
        if !fields.has(&name) && !has_default && !of_ours {
            let message = format!("there is no `{name}` to fill in here");
            reader.report(
                Problem::error("not-filled-in", place, message)
                    .help(format!("give `user_simulator` a `{name}`, or remove it")),
            );
        }
        used.push(name);
    }
    // A stop word is looked for, whether its model is told of it or not.
    let told = FILLED.into_iter().filter(|name| *name != "stop" && !used.iter().any(|used| used == name));
    for name in told.collect::<Vec<_>>() {
        if let Some(place) = fields.key_span(name) {
            let message =
                format!("its model is told its `instructions` and nothing else, so `{name}` has no effect");
            let problem = Problem::error("no-effect", place, message);
            reader.report(problem.help(format!("write ${{{name}}} into `instructions`, or remove it")));
        }
    }
}
