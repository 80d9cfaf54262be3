//! The scenario file: what can stand in it.

use serde_json::{Map, Value};

use crate::read::{Dialect, Fields, Reader};
use crate::yaml::{self, Node, NodeValue};
use crate::{Problem, Severity};

mod conversation;
mod evaluation;
mod mock;

pub use conversation::{
    Conversation, Knowledge, LlmCondition, TerminationCondition, TerminationKind, UserSimulator,
};
pub use evaluation::{Evaluation, FlowPattern, JudgeEvaluation, SatisfactionMethod};
pub use mock::{Mock, MockError, MockWhen};

/// A scenario as it stands in its file.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// Its name.
    pub name: String,
    /// What it is about.
    pub description: String,
    /// Words to select it by.
    pub tags: Vec<String>,
    /// Plugins of the agent.
    pub plugins: Vec<Plugin>,
    /// What happens before the first step.
    pub setup: Setup,
    /// The steps.
    pub run: Vec<Step>,
    /// When the scenario has passed.
    pub strategy: Strategy,
}

/// A plugin of the agent.
#[derive(Clone, Debug, PartialEq)]
pub struct Plugin {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: Option<String>,
    /// Whether it is used.
    pub enabled: bool,
    /// Its settings.
    pub config: Map<String, Value>,
}

/// What happens before the first step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Setup {
    /// Mocks of tools.
    pub mocks: Vec<Mock>,
    /// Files that are there from the beginning, by path.
    pub virtual_fs: Vec<(String, String)>,
}

/// One step.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Its name.
    pub name: Option<String>,
    /// What it is about.
    pub description: Option<String>,
    /// What is done.
    pub action: Action,
    /// What is asked of it.
    pub evaluations: Vec<Evaluation>,
}

/// What a step does.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Says this to the agent.
    Input(String),
    /// Talks to the agent, beginning with this, or with what the simulator makes up.
    Conversation {
        /// The first message.
        input: Option<String>,
        /// How it goes on.
        conversation: Box<Conversation>,
    },
    /// Runs code in the environment.
    Code {
        /// The language; `bash` unless told.
        lang: Option<String>,
        /// The code.
        code: String,
    },
}

/// When a scenario has passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// All evaluations pass.
    AllPass,
    /// At least one evaluation passes.
    AnyPass,
}

/// A file that was read: the scenario, if it can be used, and all that is wrong with it.
#[derive(Clone, Debug)]
pub struct Checked {
    /// The scenario; nothing when there are errors.
    pub scenario: Option<Scenario>,
    /// All problems, in the order of the file.
    pub problems: Vec<Problem>,
}

impl Checked {
    /// Whether the file can be used.
    pub fn is_usable(&self) -> bool {
        self.scenario.is_some()
    }
}

/// Reads a scenario file and says all that is wrong with it.
///
/// ```
/// use rehearsal_scenario::{Dialect, check};
///
/// let checked = check("name: greets\nruns: []\n", Dialect::Rehearsal);
/// let messages: Vec<&str> = checked.problems.iter().map(|problem| problem.message.as_str()).collect();
/// assert!(messages.contains(&"the scenario has no key `runs`"));
/// ```
pub fn check(text: &str, dialect: Dialect) -> Checked {
    let mut reader = Reader { text, dialect, ..Reader::default() };
    let scenario = match yaml::parse(text) {
        Ok(node) => read_scenario(&mut reader, &node),
        Err(problem) => {
            reader.report(problem);
            None
        }
    };
    let mut problems = reader.problems;
    problems.sort_by_key(|problem| (problem.span.start, problem.severity));
    let usable = problems.iter().all(|problem| problem.severity != Severity::Error);
    Checked { scenario: scenario.filter(|_| usable), problems }
}

fn read_scenario(reader: &mut Reader<'_>, node: &Node) -> Option<Scenario> {
    let mut fields = reader.fields(node, "the scenario")?;
    let name = fields.require_text(reader, "name", "name: what the scenario shows");
    let description = fields.require_text(reader, "description", "description: in a sentence or two");
    let tags = fields.texts(reader, "tags");
    let plugins =
        fields.list(reader, "plugins").iter().filter_map(|node| read_plugin(reader, node)).collect();
    read_environment(reader, &mut fields);
    let setup = fields.get("setup").and_then(|node| read_setup(reader, node)).unwrap_or_default();
    let run = fields.require(reader, "run", "run:\n  - input: Hello\n    evaluations: []");
    if let Some(Node { span, value: NodeValue::List(steps) }) = run
        && steps.is_empty()
    {
        let problem = Problem::error("no-steps", span.clone(), "a scenario without steps shows nothing");
        reader.report_without_effect(problem.help("add a step: - input: Hello"));
    }
    let run: &[Node] = run.map_or(&[], |node| reader.list(node, "`run`"));
    let run = run.iter().enumerate().filter_map(|(index, node)| read_step(reader, node, index + 1)).collect();
    let strategy = read_judgment(reader, &mut fields);
    fields.finish(reader);
    Some(Scenario { name, description, tags, plugins, setup, run, strategy })
}

fn read_environment(reader: &mut Reader<'_>, fields: &mut Fields<'_>) {
    let Some(node) = fields.require(reader, "environment", "environment: {type: local}") else { return };
    let Some(mut environment) = reader.fields(node, "`environment`") else { return };
    // Older files ask for `e2b`, which the runner replaced by a local environment when it was not there.
    let known: &[(&str, ())] = match reader.dialect {
        Dialect::Rehearsal => &[("local", ())],
        Dialect::ElizaOs => &[("local", ()), ("e2b", ())],
    };
    if environment.require(reader, "type", "type: local").is_some() {
        environment.choice(reader, "type", known);
    }
    environment.finish(reader);
}

fn read_judgment(reader: &mut Reader<'_>, fields: &mut Fields<'_>) -> Strategy {
    const STRATEGIES: [(&str, Strategy); 2] =
        [("all_pass", Strategy::AllPass), ("any_pass", Strategy::AnyPass)];
    let Some(node) = fields.require(reader, "judgment", "judgment: {strategy: all_pass}") else {
        return Strategy::AllPass;
    };
    let Some(mut judgment) = reader.fields(node, "`judgment`") else { return Strategy::AllPass };
    let there = judgment.require(reader, "strategy", "strategy: all_pass").is_some();
    let strategy = if there { judgment.choice(reader, "strategy", &STRATEGIES) } else { None };
    judgment.finish(reader);
    strategy.unwrap_or(Strategy::AllPass)
}

fn read_plugin(reader: &mut Reader<'_>, node: &Node) -> Option<Plugin> {
    if let NodeValue::Text(name) = &node.value {
        return Some(Plugin { name: name.clone(), version: None, enabled: true, config: Map::new() });
    }
    let mut fields = reader.fields(node, "a plugin")?;
    let plugin = Plugin {
        name: fields.require_text(reader, "name", "name: the plugin's package"),
        version: fields.text(reader, "version"),
        enabled: fields.boolean(reader, "enabled").unwrap_or(true),
        config: fields.json_map(reader, "config").unwrap_or_default(),
    };
    fields.finish(reader);
    Some(plugin)
}

fn read_setup(reader: &mut Reader<'_>, node: &Node) -> Option<Setup> {
    let mut fields = reader.fields(node, "`setup`")?;
    let mocks = fields.list(reader, "mocks").iter().filter_map(|node| mock::read(reader, node)).collect();
    let mut virtual_fs = Vec::new();
    if let Some(node) = fields.get("virtual_fs") {
        match &node.value {
            NodeValue::Map(entries) => {
                for entry in entries {
                    let what = format!("the content of `{}`", entry.key);
                    if let Some(content) = reader.text(&entry.value, &what) {
                        virtual_fs.push((entry.key.clone(), content));
                    }
                }
            }
            _ => drop(reader.fields(node, "`virtual_fs`")),
        }
    }
    fields.finish(reader);
    Some(Setup { mocks, virtual_fs })
}

fn read_step(reader: &mut Reader<'_>, node: &Node, number: usize) -> Option<Step> {
    let mut fields = reader.fields(node, format!("step {number}"))?;
    let name = fields.text(reader, "name");
    let description = fields.text(reader, "description");
    let input = fields.text(reader, "input");
    let lang = fields.text(reader, "lang");
    let code = fields.text(reader, "code");
    let conversation = fields.get("conversation");
    let evaluations = match (fields.get("evaluations"), conversation, reader.dialect) {
        (Some(node), _, _) => evaluation::read_all(reader, node, "`evaluations`"),
        (None, Some(_), Dialect::Rehearsal) => Vec::new(),
        (None, _, _) => {
            fields.require(reader, "evaluations", "evaluations: []");
            Vec::new()
        }
    };
    let conversation = conversation.map(|node| conversation::read(reader, node));
    report_actions(reader, &fields, number, input.as_deref());
    // The order is the one of the shipped runner; in our dialect there is never more than one to choose from.
    let says_nothing = reader.dialect == Dialect::ElizaOs && input.as_deref() == Some("");
    let action = match (conversation, input, code) {
        (Some(conversation), input, _) => conversation
            .map(|conversation| Action::Conversation { input, conversation: Box::new(conversation) }),
        (None, Some(input), _) if !says_nothing => Some(Action::Input(input)),
        (None, _, code) => code.map(|code| Action::Code { lang, code }),
    };
    fields.finish(reader);
    Some(Step { name, description, action: action?, evaluations })
}

/// Reports a step that does nothing, or says more than it does.
fn report_actions(reader: &mut Reader<'_>, fields: &Fields<'_>, number: usize, input: Option<&str>) {
    let place = |key: &str| fields.key_span(key).unwrap_or_else(|| fields.span());
    let (conversation, code) = (fields.has("conversation"), fields.has("code"));
    // The shipped runner takes an empty input for none.
    let says_nothing = reader.dialect == Dialect::ElizaOs && input == Some("");
    if !conversation && !code && (!fields.has("input") || says_nothing) {
        let message = format!("step {number} does nothing");
        let help = "add one of `input`, `conversation` and `code`";
        reader.report(Problem::error("no-action", fields.span(), message).help(help));
    }
    if code && (conversation || fields.has("input")) {
        let message = format!("step {number} has `code` and something to say; only one of them is done");
        let problem = Problem::error("two-actions", place("code"), message).help("make two steps of it");
        reader.report_without_effect(problem);
    }
    if fields.has("lang") && !code {
        let message = format!("step {number} has `lang` but no `code`");
        let problem = Problem::error("no-effect", place("lang"), message);
        reader.report_without_effect(problem.help("add `code` or remove `lang`"));
    }
}
