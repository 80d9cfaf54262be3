//! Events: the facts of a session.

mod beside;

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};

pub use beside::{
    ArtifactSaved, CueDismissed, HangUp, LaterResult, ReachedLimit, Seam, TurnDecision, UserHungUp,
    UserSimulation, WorldReference, WorldStarted,
};

use crate::{
    CallId, CommandRun, Content, InvocationId, ModelRequest, ModelResponse, ModelSetup, Overwrite, SessionId,
    State, StatePatch, StepEnded, StepStarted, TurnEnded, TurnId, Usage, Violation,
};

/// The version of the ledger's JSON, written in its first event. Version 1 had what stands beside the conversation as notes.
pub const LEDGER_VERSION: u32 = 2;

/// One immutable fact on the ledger.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Its number in the session, from 1.
    pub seq: u64,
    /// The session it belongs to.
    pub session: SessionId,
    /// When it happened.
    pub at: Timestamp,
    /// Who caused it: `user`, an agent's name, or `rehearsal`.
    pub author: Arc<str>,
    /// The execution of an agent it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invocation: Option<InvocationId>,
    /// The model turn it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnId>,
    /// For answers: who gave it and how long it took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
    /// What happened.
    #[serde(deserialize_with = "beside::read_body")]
    pub body: EventBody,
}

/// An event that has not been given its number yet.
#[derive(Clone, Debug)]
pub struct Draft {
    /// When it happened.
    pub at: Timestamp,
    /// Who caused it.
    pub author: Arc<str>,
    /// The execution of an agent it belongs to.
    pub invocation: Option<InvocationId>,
    /// The model turn it belongs to.
    pub turn: Option<TurnId>,
    /// Who gave the answer, for answers.
    pub decision: Option<Decision>,
    /// What happened.
    pub body: EventBody,
}

impl Draft {
    /// A draft that belongs to no execution and no turn.
    pub fn new(at: Timestamp, author: impl Into<Arc<str>>, body: EventBody) -> Self {
        Self { at, author: author.into(), invocation: None, turn: None, decision: None, body }
    }
}

/// Who answered an effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// What kind of player it was.
    pub by: Player,
    /// Which one: a model, a mock, a person's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<Arc<str>>,
    /// How long the answer took, in microseconds.
    pub micros: u64,
}

/// Kinds of players that a casting can put at a seam.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Player {
    /// A model provider.
    Provider,
    /// A person.
    Person,
    /// A script.
    Script,
    /// A mock of a tool.
    Mock,
    /// The real tool.
    Tool,
    /// The world of the case, which plays its tools.
    World,
    /// An earlier ledger.
    Recording,
    /// Another agent: a simulated user, or an agent used as a tool.
    Agent,
    /// The engine itself, which refuses arguments that break a schema.
    Engine,
}

impl fmt::Display for Player {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Provider => "provider",
            Self::Person => "person",
            Self::Script => "script",
            Self::Mock => "mock",
            Self::Tool => "tool",
            Self::World => "world",
            Self::Recording => "recording",
            Self::Agent => "agent",
            Self::Engine => "engine",
        })
    }
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum EventBody {
    /// A session began. Always the first event.
    SessionStarted(SessionStarted),
    /// An execution of an agent began.
    AgentStarted {
        /// The kind of agent: `llm`, `step`, `sequence`, `loop`, `parallel`, …
        kind: Arc<str>,
    },
    /// An execution of an agent came to its end.
    AgentEnded {
        /// What it gave.
        output: Value,
        /// What it changed.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        changes: Vec<StatePatch>,
        /// The agent it handed the conversation to, if it did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        transfer_to: Option<Arc<str>>,
    },
    /// The user said something.
    UserMessage {
        /// What was said.
        content: Arc<Content>,
    },
    /// A model was asked.
    ModelRequest(RequestRecord),
    /// A model, or a step in its place, answered.
    ModelResponse(ModelResponse),
    /// The final answer did not satisfy the output schema; the model is asked again.
    OutputRejected {
        /// What is wrong with it.
        violations: Vec<Violation>,
    },
    /// A tool was called.
    ToolCall {
        /// The call.
        call: CallId,
        /// The tool.
        tool: Arc<str>,
        /// Its arguments.
        args: Arc<Map<String, Value>>,
    },
    /// A tool call was answered.
    ToolResult(ToolResult),
    /// The agent handed control out and waits.
    Yield(Yield),
    /// State was changed from outside a tool or an agent.
    StateChange {
        /// The change.
        changes: StatePatch,
    },
    /// Two answers to one yield, or two calls of one model turn, set the same value differently.
    StateConflict {
        /// The call whose value was lost.
        earlier: CallId,
        /// The call whose value was kept.
        later: CallId,
        /// The value.
        overwrite: Overwrite,
    },
    /// The root agent came to its end with this answer.
    FinalResponse {
        /// What it gave.
        output: Value,
    },
    /// Something went wrong that ends the session.
    Error(Failure),
    /// The session ended. Always the last event.
    SessionEnded {
        /// Why.
        reason: EndReason,
    },
    /// A step of a scenario began.
    StepStarted(StepStarted),
    /// A step of a scenario came to its end.
    StepEnded(Box<StepEnded>),
    /// The commands that the evaluations of the last step asked for were run.
    StepCommands {
        /// What came of each.
        commands: Vec<CommandRun>,
    },
    /// The world of the case was started: it plays tools from now on.
    WorldStarted(WorldStarted),
    /// The world of the case said something for the log.
    WorldLog {
        /// What.
        text: String,
    },
    /// The states with which evaluations of the last step compare that of the world.
    WorldReferences {
        /// What came of each.
        references: Vec<WorldReference>,
    },
    /// A limit of time was reached; the session ends.
    TimeLimit(ReachedLimit),
    /// The folder of the run stays when the run is over.
    FolderKept {
        /// Where it is.
        folder: String,
    },
    /// A turn of a conversation came to its end, in an environment that has files.
    TurnEnded(TurnEnded),
    /// A condition that may end a conversation was looked at.
    TurnDecision(TurnDecision),
    /// A simulated user was asked what to say.
    UserSimulation(UserSimulation),
    /// The user of a conversation ended it; the agent does not speak any more.
    UserHungUp(UserHungUp),
    /// An agent elsewhere gave the conversation an id of its own.
    RemoteSession {
        /// The id.
        session: Value,
    },
    /// An agent elsewhere said something for its log.
    AgentLog {
        /// What.
        text: String,
    },
    /// A run of an agent elsewhere ended without a final response.
    RunFailed {
        /// Why.
        error: ToolError,
    },
    /// Somebody put a cue away without an answer.
    CueDismissed(CueDismissed),
    /// A call gave something after nobody waited for it any more.
    LateResult(LaterResult),
    /// A call that was answered was run again, as one is that the user has confirmed.
    RepeatedResult(LaterResult),
    /// A tool raised, and something else was recorded as its result.
    ToolException {
        /// The call.
        call: CallId,
        /// What it raised.
        error: ToolError,
    },
    /// Somebody chose the agent of a session that had none.
    AgentChosen {
        /// The agent.
        agent: Arc<str>,
    },
    /// Why somebody cancels the session.
    CancelReason {
        /// In their words.
        reason: String,
    },
    /// An agent elsewhere saved an artifact.
    ArtifactSaved(Box<ArtifactSaved>),
    /// Something another program wants to keep on the ledger.
    Note {
        /// What kind of note, such as `cue_assigned`.
        name: Arc<str>,
        /// Its content.
        data: Value,
    },
}

impl EventBody {
    /// The names of all kinds, as they are written.
    pub const KINDS: [&str; 38] = [
        "session_started",
        "agent_started",
        "agent_ended",
        "user_message",
        "model_request",
        "model_response",
        "output_rejected",
        "tool_call",
        "tool_result",
        "yield",
        "state_change",
        "state_conflict",
        "final_response",
        "error",
        "session_ended",
        "step_started",
        "step_ended",
        "step_commands",
        "world_started",
        "world_log",
        "world_references",
        "time_limit",
        "folder_kept",
        "turn_ended",
        "turn_decision",
        "user_simulation",
        "user_hung_up",
        "remote_session",
        "agent_log",
        "run_failed",
        "cue_dismissed",
        "late_result",
        "repeated_result",
        "tool_exception",
        "agent_chosen",
        "cancel_reason",
        "artifact_saved",
        "note",
    ];

    /// The name of the kind, as it is written.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::SessionStarted(_) => "session_started",
            Self::AgentStarted { .. } => "agent_started",
            Self::AgentEnded { .. } => "agent_ended",
            Self::UserMessage { .. } => "user_message",
            Self::ModelRequest(_) => "model_request",
            Self::ModelResponse(_) => "model_response",
            Self::OutputRejected { .. } => "output_rejected",
            Self::ToolCall { .. } => "tool_call",
            Self::ToolResult(_) => "tool_result",
            Self::Yield(_) => "yield",
            Self::StateChange { .. } => "state_change",
            Self::StateConflict { .. } => "state_conflict",
            Self::FinalResponse { .. } => "final_response",
            Self::Error(_) => "error",
            Self::SessionEnded { .. } => "session_ended",
            Self::StepStarted(_) => "step_started",
            Self::StepEnded(_) => "step_ended",
            Self::StepCommands { .. } => "step_commands",
            Self::WorldStarted(_) => "world_started",
            Self::WorldLog { .. } => "world_log",
            Self::WorldReferences { .. } => "world_references",
            Self::TimeLimit(_) => "time_limit",
            Self::FolderKept { .. } => "folder_kept",
            Self::TurnEnded(_) => "turn_ended",
            Self::TurnDecision(_) => "turn_decision",
            Self::UserSimulation(_) => "user_simulation",
            Self::UserHungUp(_) => "user_hung_up",
            Self::RemoteSession { .. } => "remote_session",
            Self::AgentLog { .. } => "agent_log",
            Self::RunFailed { .. } => "run_failed",
            Self::CueDismissed(_) => "cue_dismissed",
            Self::LateResult(_) => "late_result",
            Self::RepeatedResult(_) => "repeated_result",
            Self::ToolException { .. } => "tool_exception",
            Self::AgentChosen { .. } => "agent_chosen",
            Self::CancelReason { .. } => "cancel_reason",
            Self::ArtifactSaved(_) => "artifact_saved",
            Self::Note { .. } => "note",
        }
    }

    /// Whether it stands beside the conversation: it tells of a run and is no part of what was said and done in it, so
    /// that it may come before the first message and after the end.
    pub fn is_beside(&self) -> bool {
        match self {
            Self::SessionStarted(_)
            | Self::AgentStarted { .. }
            | Self::AgentEnded { .. }
            | Self::UserMessage { .. }
            | Self::ModelRequest(_)
            | Self::ModelResponse(_)
            | Self::OutputRejected { .. }
            | Self::ToolCall { .. }
            | Self::ToolResult(_)
            | Self::Yield(_)
            | Self::StateChange { .. }
            | Self::StateConflict { .. }
            | Self::FinalResponse { .. }
            | Self::Error(_)
            | Self::SessionEnded { .. } => false,
            Self::StepStarted(_)
            | Self::StepEnded(_)
            | Self::StepCommands { .. }
            | Self::WorldStarted(_)
            | Self::WorldLog { .. }
            | Self::WorldReferences { .. }
            | Self::TimeLimit(_)
            | Self::FolderKept { .. }
            | Self::TurnEnded(_)
            | Self::TurnDecision(_)
            | Self::UserSimulation(_)
            | Self::UserHungUp(_)
            | Self::RemoteSession { .. }
            | Self::AgentLog { .. }
            | Self::RunFailed { .. }
            | Self::CueDismissed(_)
            | Self::LateResult(_)
            | Self::RepeatedResult(_)
            | Self::ToolException { .. }
            | Self::AgentChosen { .. }
            | Self::CancelReason { .. }
            | Self::ArtifactSaved(_)
            | Self::Note { .. } => true,
        }
    }

    /// The state changes it carries, in the order they apply.
    pub fn changes(&self) -> &[StatePatch] {
        match self {
            Self::AgentEnded { changes, .. } => changes,
            Self::ToolResult(result) => &result.changes,
            Self::StateChange { changes } => std::slice::from_ref(changes),
            _ => &[],
        }
    }
}

/// How a session began.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SessionStarted {
    /// The version of the ledger's JSON.
    pub version: u32,
    /// The part the session plays: the agent under test, its users, its judge.
    #[serde(default)]
    pub part: SessionPart,
    /// The root agent.
    pub agent: Arc<str>,
    /// The case it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub case: Option<Arc<str>>,
    /// The row that the case was made from, by the names of its columns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub row: Option<Map<String, Value>>,
    /// The values of the matrix that the case was made with, by the names of its axes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<Map<String, Value>>,
    /// The session it belongs to, for those of users and judges.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<SessionId>,
    /// The seed of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// The state it began with.
    #[serde(default, skip_serializing_if = "State::is_empty")]
    pub state: State,
}

/// The part a session plays in a case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionPart {
    /// The agent under test.
    #[default]
    Main,
    /// The simulated users.
    User,
    /// The judge.
    Judge,
}

/// A model request as the ledger keeps it: what is new since an earlier request of the same agent.
///
/// A conversation's requests repeat all that came before; keeping only the difference makes a ledger grow with
/// the conversation instead of with its square. [`Ledger::request`](crate::Ledger::request) gives the whole.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RequestRecord {
    /// The earlier turn this request continues.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<TurnId>,
    /// How many of the earlier request's contents it repeats.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub keep: usize,
    /// The setup, where it differs from the earlier request's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setup: Option<Arc<ModelSetup>>,
    /// The contents after those repeated.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contents: Vec<Arc<Content>>,
}

impl RequestRecord {
    /// Records `request` as its difference from an earlier one.
    pub fn new(request: &ModelRequest, base: Option<(&TurnId, &ModelRequest)>) -> Self {
        let Some((turn, earlier)) = base else {
            return Self {
                setup: Some(request.setup.clone()),
                contents: request.contents.clone(),
                ..Self::default()
            };
        };
        let pairs = earlier.contents.iter().zip(&request.contents);
        let keep = pairs.take_while(|(a, b)| Arc::ptr_eq(a, b) || a == b).count();
        let same_setup = Arc::ptr_eq(&earlier.setup, &request.setup) || earlier.setup == request.setup;
        Self {
            base: Some(turn.clone()),
            keep,
            setup: (!same_setup).then(|| request.setup.clone()),
            contents: request.contents[keep..].to_vec(),
        }
    }

    /// The whole request again, given the request of its base; nothing when the two do not fit.
    pub fn resolve(&self, base: Option<&ModelRequest>) -> Option<ModelRequest> {
        let setup = match (&self.setup, base) {
            (Some(setup), _) => setup.clone(),
            (None, Some(base)) => base.setup.clone(),
            (None, None) => return None,
        };
        let mut contents = match (self.keep, base) {
            (0, _) => Vec::with_capacity(self.contents.len()),
            (keep, Some(base)) => base.contents.get(..keep)?.to_vec(),
            (_, None) => return None,
        };
        contents.extend(self.contents.iter().cloned());
        Some(ModelRequest { setup, contents })
    }
}

/// A tool call's answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The call.
    pub call: CallId,
    /// The tool.
    pub tool: Arc<str>,
    /// What came of it.
    pub outcome: ToolOutcome,
    /// What it changed in this session's state.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<StatePatch>,
    /// What a user agent's tool wants changed in the main session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub main_changes: Option<StatePatch>,
}

/// What came of a tool call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolOutcome {
    /// It gave this.
    Output(Value),
    /// It failed.
    Error(ToolError),
}

impl ToolOutcome {
    /// The value the model sees: the output, or an object with the error.
    pub fn to_value(&self) -> Value {
        match self {
            Self::Output(value) => value.clone(),
            Self::Error(error) => {
                serde_json::json!({"error": ToolError { traceback: None, ..error.clone() }})
            }
        }
    }

    /// Whether the call failed.
    pub fn is_error(&self) -> bool {
        matches!(self, Self::Error(_))
    }
}

/// Why a tool call failed, as the model sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{kind}: {message}{}", in_words(.status.as_ref()))]
pub struct ToolError {
    /// The kind of error: `InvalidArguments`, `UnknownTool`, or the tool's own word.
    #[serde(rename = "type")]
    pub kind: String,
    /// What went wrong.
    pub message: String,
    /// The number that the service behind the tool gave for it, such as 429.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<Number>,
    /// Where the arguments break the schema.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub violations: Vec<Violation>,
    /// Where it went wrong, in the words of the tool's language. For people: no model sees it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceback: Option<String>,
}

fn in_words(status: Option<&Number>) -> String {
    status.map(|status| format!(" (status {status})")).unwrap_or_default()
}

impl ToolError {
    /// An error with a kind and a message.
    pub fn new(kind: impl Into<String>, message: impl Into<String>) -> Self {
        Self { kind: kind.into(), message: message.into(), ..Self::default() }
    }
}

/// What an agent waits for when it hands control out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Yield {
    /// The next user message, for the loop of this execution.
    Loop {
        /// The round of the loop that waits.
        invocation: InvocationId,
    },
    /// A result for each of these calls.
    Tools {
        /// The calls, in the order they were made.
        calls: Vec<PendingCall>,
    },
}

/// A call that waits for its result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PendingCall {
    /// The call.
    pub call: CallId,
    /// The tool.
    pub tool: Arc<str>,
    /// Its arguments.
    pub args: Arc<Map<String, Value>>,
    /// The execution that made it.
    pub invocation: InvocationId,
    /// The JSON Schema of the result, where the tool declares one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Arc<Value>>,
}

/// Something that went wrong and ended a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[error("{message}")]
pub struct Failure {
    /// The part of the run that failed.
    pub phase: Phase,
    /// A word for the kind of failure, such as `unmocked_tool`.
    pub kind: String,
    /// What went wrong and how to fix it.
    pub message: String,
}

impl Failure {
    /// The kind of a failure because of a budget: it was used up, or could not be kept.
    pub const BUDGET: &str = "budget";
}

/// The part of a run that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// The agent under test.
    System,
    /// A user agent.
    UserAgent,
    /// A metric.
    Metric,
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::System => "system",
            Self::UserAgent => "user_agent",
            Self::Metric => "metric",
        })
    }
}

/// Why a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum EndReason {
    /// The agent came to its end.
    Completed,
    /// The state became what the case was waiting for.
    StateMatches,
    /// It yielded more often than allowed.
    MaxTurns,
    /// It took longer than allowed.
    MaxDuration,
    /// A rule was broken that ends the session at the first breach.
    RuleBroken,
    /// Something went wrong.
    Error,
    /// Somebody ended it.
    Cancelled,
}

/// In words for people.
impl fmt::Display for EndReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Completed => "completed",
            Self::StateMatches => "state matches",
            Self::MaxTurns => "max turns",
            Self::MaxDuration => "the time limit of the run was reached",
            Self::RuleBroken => "a rule was broken",
            Self::Error => "error",
            Self::Cancelled => "cancelled",
        })
    }
}

/// The tokens of a response event, if it has any.
pub(crate) fn usage_of(body: &EventBody) -> Option<Usage> {
    match body {
        EventBody::ModelResponse(response) => response.usage,
        _ => None,
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}
