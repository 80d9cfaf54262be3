//! The scenario file: what can stand in it.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::PathBuf;

use indexmap::IndexMap;
use rehearsal_sim::Limits;
use rehearsal_world::environment::Language;
pub use rehearsal_world::remote::Plugin;
use serde_json::{Map, Value};

use self::keys::{AGENT_FILE, AGENT_SETUP, ENVIRONMENT, JUDGMENT};
use crate::cases::{Cases, Opened, Origin};
use crate::read::{Dialect, Fields, Reader, choose};
use crate::yaml::{self, Node, NodeValue};
use crate::{ModelUnusable, Prices, Problem, Severity};

pub(crate) mod agent;
pub(crate) mod conversation;
mod evaluation;
pub(crate) mod keys;
mod mock;
mod models;
pub(crate) mod placeholders;
mod plugin;
mod schemas;
mod setup;
mod step;
mod users;
mod world;

pub use agent::{
    AgentUnderTest, CallsInAnswer, CommandLine, HttpEndpoint, Implementation, InlineAgent, Reached, Server,
    ToolDefinition,
};
pub use conversation::{
    Conversation, ConversationOpening, ConversationUser, Knowledge, LlmCondition, ScriptTurn, ScriptedCall,
    TerminationCondition, TerminationKind, UserSimulator,
};
pub use evaluation::Evaluation;
use mock::calls_elsewhere;
pub use mock::{Mock, MockError, MockWhen};
pub(crate) use mock::{unknown_tool, unreachable_mocks};
pub use models::{ModelChoice, NamedModel, ScriptedCondition, ScriptedReply, ScriptedRule};
pub(crate) use setup::not_runnable;
pub use users::{AnsweredBy, BridgeExpressions, SimulatedUser, ToolUser, UserTool};
pub(crate) use world::unreachable_world;
pub use world::{World, WorldReached};

/// A scenario as it stands in its file.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// Its name.
    pub name: String,
    /// What it is about.
    pub description: String,
    /// What made it one of several cases of its file.
    pub made_from: Option<MadeFrom>,
    /// Words to select it by.
    pub tags: Vec<String>,
    /// What is under test.
    pub agent: Option<AgentUnderTest>,
    /// Who plays its model, its simulated user and its judge.
    pub models: Vec<NamedModel>,
    /// What models cost.
    pub prices: Prices,
    /// What the models of a case may use.
    pub limits: Limits,
    /// Plugins of the agent.
    pub plugins: Vec<Plugin>,
    /// The environment variables that its commands see.
    pub variables: Vec<Variable>,
    /// What plays the tools that no mock plays.
    pub world: Option<World>,
    /// What happens before the first step.
    pub setup: Setup,
    /// Who answers tools that ask the user.
    pub users: Vec<ToolUser>,
    /// What goes to and fro between the agent and its users.
    pub bridge: BridgeExpressions,
    /// The steps.
    pub run: Vec<Step>,
    /// When the scenario has passed.
    pub strategy: Strategy,
    /// The dialect it was read in.
    pub dialect: Dialect,
    /// Where it asks for a sandbox to run in (`environment: {type: e2b}`), which there is none of.
    pub sandbox: Option<Range<usize>>,
    /// Its first line, in bytes: what is wrong with the whole file is said there.
    pub head: Range<usize>,
    /// Where its name stands, in bytes: an editor is sent there for the case.
    pub place: Range<usize>,
    /// The folder in which the agent's commands run, where it is not that of the scenario.
    pub agent_directory: Option<PathBuf>,
    /// The keys of models that come from a file which other scenarios share, and which this one need not use.
    pub shared_models: BTreeSet<String>,
}

/// What made a scenario one of several cases of its file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MadeFrom {
    /// The name of the scenario in its file.
    pub scenario: String,
    /// The row it was made from: its name, and its values by the names of the columns.
    pub row: Option<(String, Map<String, Value>)>,
    /// The values of a matrix, by the names of its axes: in words, and as they are.
    pub variant: IndexMap<String, (String, Value)>,
}

/// An environment variable that commands see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its value; that of the environment in which the scenario is run, unless it is given.
    pub value: Option<String>,
    /// Whether a value from the environment may be shown; otherwise it is hidden in all that programs say.
    pub public: bool,
}

/// What happens before the first step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Setup {
    /// Mocks of tools.
    pub mocks: Vec<Mock>,
    /// Files that are there from the beginning, by path.
    pub virtual_fs: Vec<(String, String)>,
    /// Tools that run for real.
    pub passthrough: Vec<String>,
    /// Commands that fill the environment.
    pub seed: Vec<CommandLine>,
    /// Where those stand in the file.
    pub seed_span: Range<usize>,
    /// The state to begin with: an object of scopes.
    pub state: Map<String, Value>,
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
    /// What is known around its calls.
    pub context: Map<String, Value>,
    /// How long it may take.
    pub timeout_ms: Option<u64>,
    /// The line it begins at.
    pub line: usize,
    /// That line, in bytes.
    pub span: Range<usize>,
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
        /// The language.
        lang: Language,
        /// Another program that runs it as `PROGRAM -c CODE`; only in files of a runner that does so.
        interpreter: Option<String>,
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
    check_with(text, &CheckOptions { dialect, ..CheckOptions::default() })
}

/// What a check needs to know beside the file.
#[derive(Clone, Copy)]
pub struct CheckOptions<'a> {
    /// Which files are accepted.
    pub dialect: Dialect,
    /// Says what is wrong with a model specification such as `openai:gpt-4o`.
    pub specification: &'a dyn Fn(&str) -> Result<(), ModelUnusable>,
}

impl Default for CheckOptions<'_> {
    /// Our dialect, and any specification.
    fn default() -> Self {
        Self { dialect: Dialect::Rehearsal, specification: &|_| Ok(()) }
    }
}

impl std::fmt::Debug for CheckOptions<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CheckOptions").field("dialect", &self.dialect).finish_non_exhaustive()
    }
}

/// Reads a scenario file and says all that is wrong with it, given more to go by. Of a file that makes several cases all
/// are looked at, and the first is given; [`Cases`] has them all.
pub fn check_with(text: &str, options: &CheckOptions<'_>) -> Checked {
    let Opened { cases, mut problems, .. } = Cases::open(text, &Origin::nowhere(), options);
    let Some(cases) = cases else { return Checked { scenario: None, problems } };
    let (mut first, mut gathering) = (None, cases.gathering());
    for place in 0..cases.len() {
        let checked = cases.case(place, options);
        gathering.take(place, checked.problems);
        first = if place == 0 { checked.scenario } else { first };
    }
    problems.extend(cases.gathered(gathering));
    problems.sort_by_key(|problem| (problem.span.start, problem.severity));
    Checked { scenario: first.filter(|_| is_usable(&problems)), problems }
}

/// What a file for `--agent` gives: an agent for scenarios that name none.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentFile {
    /// The agent.
    pub agent: AgentUnderTest,
    /// Models.
    pub models: Vec<NamedModel>,
    /// What models cost.
    pub prices: Prices,
    /// The environment variables that its commands see.
    pub variables: Vec<Variable>,
    /// What plays its tools, for scenarios that have no world of their own.
    pub world: Option<World>,
    /// Mocks of its tools, for scenarios whose own mocks do not answer and for runs without any scenario.
    pub mocks: Vec<Mock>,
    /// The folder of the file, in which its commands run; that of the scenario unless told.
    pub directory: Option<PathBuf>,
}

/// Reads a file for `--agent` and says all that is wrong with it.
pub fn check_agent(text: &str, options: &CheckOptions<'_>) -> (Option<AgentFile>, Vec<Problem>) {
    let (file, mut problems) = read_file(text, options, |reader, node, options| {
        let mut fields = reader.fields(node, "the agent's file", &AGENT_FILE)?;
        let node = fields.require(reader, "agent");
        let agent = node.and_then(|node| agent::read(reader, node, options.specification));
        let models = read_models_of(reader, &mut fields, options);
        let prices = read_prices(reader, &mut fields);
        let variables = read_variables(reader, &mut fields);
        let world = world::read(reader, &mut fields, agent.as_ref());
        let setup = fields.get("setup");
        let known = agent.as_ref().filter(|_| world.is_none());
        let mocks = setup.map(|node| read_agent_setup(reader, node, known)).unwrap_or_default();
        fields.finish(reader);
        Some(AgentFile { agent: agent?, models, prices, variables, world, mocks, directory: None })
    });
    problems.extend(file.iter().flat_map(|file| file.breaks_of_schemas(options.dialect)));
    (file.filter(|_| is_usable(&problems)), problems)
}

/// The mocks of an agent's file. Whatever else a scenario sets up is the scenario's.
fn read_agent_setup(reader: &mut Reader<'_>, node: &Node, agent: Option<&AgentUnderTest>) -> Vec<Mock> {
    let Some(mut fields) = reader.fields(node, "`setup` of an agent's file", &AGENT_SETUP) else {
        return Vec::new();
    };
    let nodes = fields.list(reader, "mocks");
    let mut mocks = Vec::new();
    for node in nodes {
        let Some(mut mock) = mock::read(reader, node, None, agent) else { continue };
        mock.of_agent = true;
        mocks.push(mock);
    }
    mock::report_unreachable(reader, &fields, agent);
    fields.finish(reader);
    mocks
}

fn is_usable(problems: &[Problem]) -> bool {
    problems.iter().all(|problem| problem.severity != Severity::Error)
}

fn read_file<T>(
    text: &str,
    options: &CheckOptions<'_>,
    read: impl FnOnce(&mut Reader<'_>, &Node, &CheckOptions<'_>) -> Option<T>,
) -> (Option<T>, Vec<Problem>) {
    let mut reader = Reader { text, dialect: options.dialect, ..Reader::default() };
    let found = match yaml::parse(text) {
        Ok(node) => {
            placeholders::report(&mut reader, &node, placeholders::Filled::default());
            let node = placeholders::settled(node);
            read(&mut reader, &node, options)
        }
        Err(problem) => {
            reader.report(problem);
            None
        }
    };
    let mut problems = reader.problems;
    problems.sort_by_key(|problem| (problem.span.start, problem.severity));
    (found.filter(|_| is_usable(&problems)), problems)
}

pub(crate) fn read_scenario(
    reader: &mut Reader<'_>,
    node: &Node,
    options: &CheckOptions<'_>,
) -> Option<Scenario> {
    let mut fields = reader.fields(node, "the scenario", &keys::SCENARIO)?;
    let name = fields.text(reader, "name").unwrap_or_default();
    let place = fields.get("name").map_or(0..0, |node| node.span.clone());
    let description = fields.text(reader, "description").unwrap_or_default();
    let tags = fields.texts(reader, "tags");
    let agent = fields.get("agent");
    let agent_directory = agent.and_then(|node| reader.shared_folder(node.span.start));
    let agent = agent.and_then(|node| agent::read(reader, node, options.specification));
    let shared_models = shared_keys(reader, fields.get("models"));
    let models = read_models_of(reader, &mut fields, options);
    let prices = read_prices(reader, &mut fields);
    let limits = read_limits(reader, &mut fields);
    let plugins = plugin::read_all(reader, &mut fields, agent.as_ref());
    let (variables, sandbox) = read_environment(reader, &mut fields);
    let run = fields.require(reader, "run");
    if let Some(Node { span, value: NodeValue::List(steps) }) = run
        && steps.is_empty()
    {
        let problem = Problem::error("no-steps", span.clone(), "a scenario without steps shows nothing");
        reader.report_without_effect(problem.help("add a step: - input: Hello"));
    }
    let steps: &[Node] = run.map_or(&[], |node| reader.list(node, "`run`"));
    let context = context_keys(steps);
    let world = world::read(reader, &mut fields, agent.as_ref());
    let setup = fields.get("setup");
    let tools = setup::Tools { agent: agent.as_ref(), world: world.is_some() };
    let setup = setup.and_then(|node| setup::read(reader, node, &context, tools)).unwrap_or_default();
    let users = fields.get("users").map(|node| users::read_all(reader, node)).unwrap_or_default();
    let bridge = fields.get("bridge").and_then(|node| users::read_bridge(reader, node)).unwrap_or_default();
    let run = steps.iter().enumerate();
    let run = run.filter_map(|(index, node)| step::read(reader, node, index + 1)).collect();
    let strategy = read_judgment(reader, &mut fields);
    fields.finish(reader);
    Some(Scenario {
        name,
        description,
        made_from: None,
        tags,
        agent,
        models,
        prices,
        limits,
        plugins,
        variables,
        world,
        setup,
        users,
        bridge,
        run,
        strategy,
        dialect: reader.dialect,
        sandbox,
        head: reader.line_span(0),
        place,
        agent_directory,
        shared_models,
    })
}

/// The keys of a map that stand in a file which others share.
fn shared_keys(reader: &Reader<'_>, node: Option<&Node>) -> BTreeSet<String> {
    let Some(Node { value: NodeValue::Map(entries), .. }) = node else { return BTreeSet::new() };
    let shared = entries.iter().filter(|entry| reader.shared_file(entry.key_span.start).is_some());
    shared.map(|entry| entry.key.clone()).collect()
}

pub(crate) fn read_models_of(
    reader: &mut Reader<'_>,
    fields: &mut Fields<'_>,
    options: &CheckOptions<'_>,
) -> Vec<NamedModel> {
    let node = fields.get("models");
    node.map(|node| read_models(reader, node, options)).unwrap_or_default()
}

/// Reads models by their keys.
pub(crate) fn read_models(
    reader: &mut Reader<'_>,
    node: &Node,
    options: &CheckOptions<'_>,
) -> Vec<NamedModel> {
    models::read(reader, node, options.specification)
}

fn read_limits(reader: &mut Reader<'_>, fields: &mut Fields<'_>) -> Limits {
    let Some(mut budget) =
        fields.get("budget").and_then(|node| reader.fields(node, "`budget`", &keys::BUDGET))
    else {
        return Limits::default();
    };
    let limits = limits_of(reader, &mut budget);
    budget.finish(reader);
    limits
}

/// What a budget limits beside time.
pub(crate) fn limits_of(reader: &mut Reader<'_>, budget: &mut Fields<'_>) -> Limits {
    Limits { tokens: budget.integer(reader, "max_tokens"), cost: budget.number(reader, "max_cost") }
}

pub(crate) fn read_prices(reader: &mut Reader<'_>, fields: &mut Fields<'_>) -> Prices {
    fields.get("prices").map(|node| evaluation::read_prices(reader, node)).unwrap_or_default()
}

/// The keys that the steps of a scenario give their calls as context.
fn context_keys(steps: &[Node]) -> BTreeSet<String> {
    let mut keys: BTreeSet<String> =
        mock::ALWAYS_IN_CONTEXT.iter().map(|(key, _)| (*key).to_owned()).collect();
    for step in steps {
        let NodeValue::Map(entries) = &step.value else { continue };
        let Some(entry) = entries.iter().find(|entry| entry.key == "context") else { continue };
        if let NodeValue::Map(entries) = &entry.value.value {
            keys.extend(entries.iter().map(|entry| entry.key.clone()));
        }
    }
    keys
}

/// The variables that commands see, and where a sandbox is asked for.
fn read_environment(
    reader: &mut Reader<'_>,
    fields: &mut Fields<'_>,
) -> (Vec<Variable>, Option<Range<usize>>) {
    let node = fields.require(reader, "environment");
    let Some(mut environment) = node.and_then(|node| reader.fields(node, "`environment`", &ENVIRONMENT))
    else {
        return (Vec::new(), None);
    };
    // Older files ask for `e2b`, which the runner replaced by a local environment when it was not there.
    let known: &[(&str, bool)] = match reader.dialect {
        Dialect::Rehearsal => &[("local", false)],
        Dialect::ElizaOs => &[("local", false), ("e2b", true)],
    };
    let written = environment.require(reader, "type");
    let in_sandbox = written.and_then(|node| {
        let what = "`type` of `environment`";
        let text = reader.text(node, what)?;
        choose(reader, node, &text, what, known)
    });
    let variables = read_variables(reader, &mut environment);
    environment.finish(reader);
    (variables, written.filter(|_| in_sandbox == Some(true)).map(|node| node.span.clone()))
}

/// The variables, and which of them may be shown.
pub(crate) fn read_variables(reader: &mut Reader<'_>, fields: &mut Fields<'_>) -> Vec<Variable> {
    let node = fields.get("variables");
    let mut variables = node.map(|node| read_variable_list(reader, node)).unwrap_or_default();
    let Some(public) = fields.get("public") else { return variables };
    for item in reader.list(public, "`public`") {
        let Some(name) = reader.text(item, "a variable") else { continue };
        match variables.iter_mut().find(|variable| variable.name == name && variable.value.is_none()) {
            Some(variable) => variable.public = true,
            None => {
                let message = format!("`variables` takes no `{name}` from the environment");
                let problem = Problem::error("no-effect", item.span.clone(), message);
                reader.report(problem.help(format!("add it: variables: [{name}], or remove it here")));
            }
        }
    }
    variables
}

/// A list of names, or a map of names and values.
fn read_variable_list(reader: &mut Reader<'_>, node: &Node) -> Vec<Variable> {
    let mut variables = Vec::new();
    match &node.value {
        NodeValue::Map(entries) => {
            for entry in entries {
                let what = format!("variable `{}`", entry.key);
                let value = reader.text(&entry.value, &what);
                let value = value.filter(|value| *value != format!("${{env.{}}}", entry.key));
                let variable = Variable { name: entry.key.clone(), value, public: false };
                variables.push((entry.key_span.clone(), variable));
            }
        }
        _ => {
            for item in reader.list(node, "`variables`") {
                if let Some(name) = reader.text(item, "a variable") {
                    variables.push((item.span.clone(), Variable { name, value: None, public: false }));
                }
            }
        }
    }
    for (span, variable) in &variables {
        if variable.name.is_empty() || variable.name.contains(['=', '\0']) {
            let message = format!("`{}` cannot be the name of an environment variable", variable.name);
            reader.report(Problem::error("bad-variable", span.clone(), message));
        }
    }
    variables.into_iter().map(|(_, variable)| variable).collect()
}

fn read_judgment(reader: &mut Reader<'_>, fields: &mut Fields<'_>) -> Strategy {
    let Some(node) = fields.require(reader, "judgment") else { return Strategy::AllPass };
    let Some(mut judgment) = reader.fields(node, "`judgment`", &JUDGMENT) else { return Strategy::AllPass };
    let strategy = judgment.word(reader, "strategy");
    judgment.finish(reader);
    match strategy {
        Some("any_pass") => Strategy::AnyPass,
        _ => Strategy::AllPass,
    }
}
