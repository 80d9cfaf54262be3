//! An agent that is a model with instructions and tools.

use std::fmt;
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use rehearsal_core::{
    Content, EventBody, FunctionCall, Ledger, ModelRequest, ModelSetup, SESSION, Schema, Settings, State,
    StatePatch, TurnId, Violation, Yield, shorten,
};
use schemars::JsonSchema;
use serde_json::Value;

mod history;
mod team;

pub use history::History;
pub use team::TRANSFER_TOOL;

use crate::tool::{into_ref, schema_of};
use crate::{Agent, AgentRef, Context, Done, Flow, Model, RunError, ToolRef};
use team::Team;

/// An agent that is a model with instructions and tools.
///
/// It asks the model, answers the calls the model makes, and asks again, until the model answers without
/// calling a tool.
///
/// ```
/// # use std::sync::Arc;
/// # use rehearsal_agent::{LlmAgent, Model};
/// # fn agent(model: Arc<dyn Model>) -> LlmAgent {
/// LlmAgent::new("assistant", model)
///     .instruction("You are a careful clinician. Ask before you advise.")
///     .max_rounds(8)
/// # }
/// ```
pub struct LlmAgent {
    name: Arc<str>,
    model: Arc<dyn Model>,
    description: String,
    instruction: Instruction,
    tools: Vec<ToolRef>,
    toolset: Option<Arc<ToolsetFn>>,
    sub_agents: Vec<AgentRef>,
    output: Option<Output>,
    max_rounds: u64,
    reads_fences: bool,
    max_corrections: usize,
    history: History,
    settings: Settings,
    fixed_setup: OnceLock<Arc<ModelSetup>>,
}

enum Instruction {
    Fixed(Option<String>),
    Computed(Box<dyn Fn(&State) -> String + Send + Sync>),
}

type ToolsetFn = dyn Fn(&State) -> Vec<ToolRef> + Send + Sync;

struct Output {
    schema: Option<Schema>,
    key: Option<String>,
}

impl LlmAgent {
    /// An agent that is just a model.
    pub fn new(name: &str, model: Arc<dyn Model>) -> Self {
        Self {
            name: name.into(),
            model,
            description: String::new(),
            instruction: Instruction::Fixed(None),
            tools: Vec::new(),
            toolset: None,
            sub_agents: Vec::new(),
            output: None,
            max_rounds: 16,
            reads_fences: false,
            max_corrections: 2,
            history: History::All,
            settings: Settings::default(),
            fixed_setup: OnceLock::new(),
        }
    }

    /// The same agent with a description that helps others decide when to transfer to it.
    #[must_use]
    pub fn description(mut self, text: impl Into<String>) -> Self {
        self.description = text.into();
        self
    }

    /// The same agent with instructions.
    #[must_use]
    pub fn instruction(mut self, text: impl Into<String>) -> Self {
        self.instruction = Instruction::Fixed(Some(text.into()));
        self
    }

    /// The same agent with instructions that are computed from the state before each question.
    #[must_use]
    pub fn instruction_from(mut self, text: impl Fn(&State) -> String + Send + Sync + 'static) -> Self {
        self.instruction = Instruction::Computed(Box::new(text));
        self
    }

    /// The same agent with one more tool.
    #[must_use]
    pub fn tool(mut self, tool: impl Into<ToolRef>) -> Self {
        self.tools.push(tool.into());
        self
    }

    /// The same agent with more tools.
    #[must_use]
    pub fn tools(mut self, tools: impl IntoIterator<Item = ToolRef>) -> Self {
        self.tools.extend(tools);
        self
    }

    /// The same agent with tools that come and go with the state.
    #[must_use]
    pub fn toolset(mut self, tools: impl Fn(&State) -> Vec<ToolRef> + Send + Sync + 'static) -> Self {
        self.toolset = Some(Arc::new(tools));
        self
    }

    /// The same agent with another agent to which it can hand the conversation.
    #[must_use]
    pub fn sub_agent(mut self, agent: impl Into<AgentRef>) -> Self {
        self.sub_agents.push(agent.into());
        self
    }

    /// The same agent with a type that its final answer must have.
    #[must_use]
    pub fn output<T: JsonSchema>(self) -> Self {
        self.output_schema(schema_of::<T>())
    }

    /// The same agent with a JSON Schema that its final answer must satisfy.
    #[must_use]
    pub fn output_schema(mut self, schema: Value) -> Self {
        self.output.get_or_insert(Output { schema: None, key: None }).schema = Some(Schema::new(schema));
        self
    }

    /// The same agent, storing its final answer in the session state under this key.
    #[must_use]
    pub fn output_key(mut self, key: &str) -> Self {
        self.output.get_or_insert(Output { schema: None, key: None }).key = Some(key.to_owned());
        self
    }

    /// The same agent with another limit of questions to its model in one execution (16 unless told).
    #[must_use]
    pub fn max_rounds(mut self, rounds: u64) -> Self {
        self.max_rounds = rounds;
        self
    }

    /// The same agent with another choice of what it sees of the session.
    #[must_use]
    pub fn history(mut self, history: History) -> Self {
        self.history = history;
        self
    }

    /// The same agent, whose answer may stand in a Markdown code fence, with words around it.
    #[must_use]
    pub fn read_fences(mut self) -> Self {
        self.reads_fences = true;
        self
    }

    /// The same agent with settings for its model.
    #[must_use]
    pub fn settings(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    /// The tools at this state, with the one for transfers where the agent is part of a team.
    fn tools_at(&self, state: &State, team: Option<&Team<'_>>) -> Vec<ToolRef> {
        let mut tools = self.tools.clone();
        if let Some(toolset) = &self.toolset {
            tools.extend(toolset(state));
        }
        tools.extend(team.and_then(|team| team.transfer_tool(&self.name)));
        tools
    }

    fn setup(&self, state: &State, tools: &[ToolRef], team: Option<&Team<'_>>) -> Arc<ModelSetup> {
        let fixed =
            matches!(self.instruction, Instruction::Fixed(_)) && self.toolset.is_none() && team.is_none();
        if fixed {
            return self.fixed_setup.get_or_init(|| Arc::new(self.build_setup(state, tools))).clone();
        }
        Arc::new(self.build_setup(state, tools))
    }

    fn build_setup(&self, state: &State, tools: &[ToolRef]) -> ModelSetup {
        ModelSetup {
            model: self.model.model_id().to_owned(),
            system: match &self.instruction {
                Instruction::Fixed(text) => text.clone(),
                Instruction::Computed(text) => Some(text(state)),
            },
            tools: tools.iter().map(|tool| tool.spec().declaration().clone()).collect(),
            output_schema: self
                .output
                .as_ref()
                .and_then(|output| Some(output.schema.as_ref()?.source().clone())),
            settings: Settings {
                seed: self.settings.seed.or_else(|| self.model.seed()),
                ..self.settings.clone()
            },
        }
    }

    async fn converse(&self, cx: &mut Context<'_>, team: Option<&Team<'_>>) -> Result<Flow, RunError> {
        let Progress { mut rounds, mut corrections, mut answered } = Progress::read(cx);
        loop {
            let (turn, content, tools) = match answered.take() {
                Some((turn, content, state)) => {
                    let tools = self.tools_at(state.as_ref().unwrap_or(cx.state()), team);
                    (turn, content, tools)
                }
                None => {
                    if rounds >= self.max_rounds {
                        let last = last_calls(cx.ledger(), &self.name);
                        return Err(RunError::TooManyRounds { agent: self.name.clone(), rounds, last });
                    }
                    let tools = self.tools_at(cx.state(), team);
                    let request = |cx: &Context<'_>| ModelRequest {
                        setup: self.setup(cx.state(), &tools, team),
                        contents: history::contents(cx, &self.name, &self.history),
                    };
                    let (turn, response) = cx.ask_model(&self.model, rounds, request).await?;
                    rounds += 1;
                    (turn, response.content, tools)
                }
            };
            let calls: Vec<FunctionCall> = content.calls().cloned().collect();
            if calls.is_empty() {
                match self.conclude(cx.state(), &content)? {
                    Ok(done) => return Ok(Flow::Done(done)),
                    Err(violations) if corrections >= self.max_corrections => {
                        return Err(RunError::Output { agent: self.name.clone(), violations });
                    }
                    Err(violations) => {
                        corrections += 1;
                        cx.append(EventBody::OutputRejected { violations })?;
                        continue;
                    }
                }
            }
            let pending = cx.call_tools(&turn, &calls, &tools).await?;
            if !pending.is_empty() {
                return Ok(Flow::Waiting(Yield::Tools { calls: pending }));
            }
            if let Some(to) = team.and_then(|team| team.transferred(cx.ledger(), &calls)) {
                return Ok(Flow::Done(Done { transfer_to: Some(to), ..Done::default() }));
            }
        }
    }

    /// The end that a final answer means, or what is wrong with the answer.
    fn conclude(&self, state: &State, content: &Content) -> Result<Result<Done, Vec<Violation>>, RunError> {
        let text = content.text();
        let Some(Output { schema, key }) = &self.output else { return Ok(Ok(Done::new(text))) };
        let output = match schema {
            None => Value::String(text),
            Some(schema) => {
                let json = if self.reads_fences { unfenced(&text) } else { text.trim() };
                let value = match rehearsal_core::json::from_str::<Value>(json) {
                    Ok(value) => value,
                    Err(error) => {
                        let message = format!("the answer is not JSON: {error}");
                        return Ok(Err(vec![Violation { path: "$".to_owned(), message }]));
                    }
                };
                let checked = schema.check(&value);
                let violations =
                    checked.map_err(|source| RunError::Schema { agent: self.name.clone(), source })?;
                if !violations.is_empty() {
                    return Ok(Err(violations));
                }
                value
            }
        };
        let changes =
            key.iter().map(|key| StatePatch::replacing(state, SESSION, key, output.clone())).collect();
        Ok(Ok(Done { output, changes, transfer_to: None }))
    }
}

/// The last calls of an agent that comes to no answer, as words that follow that sentence: what it repeats, where it does.
fn last_calls(ledger: &Ledger, agent: &str) -> String {
    let mut calls = ledger.calls().rev().filter(|call| &*call.event.author == agent).peekable();
    let Some(last) = calls.peek().copied() else { return String::new() };
    let same = calls.take_while(|call| call.tool == last.tool && call.args == last.args).count();
    let args = rehearsal_core::json::text(&Value::Object((**last.args).clone()));
    let call = format!("`{} {}`", shorten(last.tool, 100), shorten(&args, 200));
    match same {
        1 => format!("; its last call was {call}"),
        same => format!("; its last {same} calls were all {call}"),
    }
}

/// What stands in the only code fence of a text; all of it where there is none, or more than one.
fn unfenced(text: &str) -> &str {
    const FENCE: &str = "```";
    let parts: Vec<&str> = text.split(FENCE).collect();
    let [before, inside, _] = parts.as_slice() else { return text.trim() };
    if before.trim_start().starts_with(['{', '[']) {
        return text.trim();
    }
    // The word behind the fence says what language it is.
    inside.split_once('\n').map_or(*inside, |(_, rest)| rest).trim()
}

/// How far an execution has come, by what is on the ledger.
struct Progress {
    rounds: u64,
    corrections: usize,
    /// The last answer, unless something was made of it already; with the state at its question if the session
    /// has gone on since.
    answered: Option<(TurnId, Arc<Content>, Option<State>)>,
}

impl Progress {
    fn read(cx: &Context<'_>) -> Self {
        let mut progress = Self { rounds: 0, corrections: 0, answered: None };
        let start = cx.ledger().started_at(cx.invocation()).unwrap_or(0);
        let mut asked = 0;
        for event in &cx.ledger().events()[start..] {
            if event.invocation.as_ref() != Some(cx.invocation()) {
                continue;
            }
            match (&event.body, &event.turn) {
                (EventBody::ModelRequest(_), _) => {
                    asked = event.seq;
                    progress.answered = None;
                }
                (EventBody::ModelResponse(response), Some(turn)) => {
                    progress.rounds += 1;
                    progress.answered = Some((turn.clone(), response.content.clone(), None));
                }
                (EventBody::OutputRejected { .. }, _) => {
                    progress.corrections += 1;
                    progress.answered = None;
                }
                _ => {}
            }
        }
        if let Some((_, _, state)) = &mut progress.answered {
            *state = Some(cx.ledger().state_at(asked));
        }
        progress
    }
}

#[async_trait]
impl Agent for LlmAgent {
    fn name(&self) -> &Arc<str> {
        &self.name
    }

    fn kind(&self) -> &'static str {
        "llm"
    }

    async fn run(&self, cx: &mut Context<'_>) -> Result<Flow, RunError> {
        if self.sub_agents.is_empty() {
            return self.converse(cx, None).await;
        }
        Team::of(self)?.run(cx).await
    }

    fn as_llm(&self) -> Option<&LlmAgent> {
        Some(self)
    }
}

impl fmt::Debug for LlmAgent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LlmAgent")
            .field("name", &self.name)
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}

into_ref!(AgentRef: LlmAgent);
