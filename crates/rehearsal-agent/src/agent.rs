//! Agents, how they run, and what they may do while they run.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use rehearsal_core::{
    Content, Decision, Draft, EventBody, Failure, FunctionCall, Inconsistent, InvalidSchema, InvocationId,
    Ledger, ModelRequest, ModelResponse, Part, Phase, Player, RequestRecord, Role, State, StatePatch,
    ToolOutcome, ToolResult, TurnId, Violation, Yield, elapsed,
};
use serde_json::Value;

use crate::{LlmAgent, Metering, Model, ModelCall, ModelError, Port, Refusal, Session};

/// An agent that can be shared.
pub type AgentRef = Arc<dyn Agent>;

/// Something that can play the agent: a model with tools, a step, or a composition of agents.
///
/// An agent keeps nothing between calls. [`run`](Self::run) is entered again from the start whenever a session
/// goes on, after a yield, after a crash, from a fork; what was done already is on the ledger and is not
/// done again.
#[async_trait]
pub trait Agent: Send + Sync + fmt::Debug {
    /// Its name; the author of its events.
    fn name(&self) -> &Arc<str>;

    /// The kind of agent, as the ledger names it.
    fn kind(&self) -> &'static str;

    /// Runs until it is done or has to wait.
    async fn run(&self, cx: &mut Context<'_>) -> Result<Flow, RunError>;

    /// The agent itself, if it is one that can take part in transfers.
    fn as_llm(&self) -> Option<&LlmAgent> {
        None
    }
}

/// How far an agent came.
#[derive(Clone, Debug, PartialEq)]
pub enum Flow {
    /// To its end.
    Done(Done),
    /// To a point where it waits for somebody outside.
    Waiting(Yield),
}

/// What an agent gives at its end.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Done {
    /// Its output: text as a JSON string, structured output as it is.
    pub output: Value,
    /// What it changed.
    pub changes: Vec<StatePatch>,
    /// The agent it hands the conversation to.
    pub transfer_to: Option<Arc<str>>,
}

impl Done {
    /// An end with an output and nothing else.
    pub fn new(output: impl Into<Value>) -> Self {
        Self { output: output.into(), ..Self::default() }
    }
}

/// Runs an agent on a session until it is done or has to wait.
///
/// Call it again after the session was answered, with [`Session::say`] or [`Session::answer`], in this process
/// or another one. A session goes on when all it waits for is there: until then it waits for the rest.
///
/// # Errors
/// What ended the run. What happened until then is on the ledger.
pub async fn run(agent: &AgentRef, session: &mut Session, port: &dyn Port) -> Result<Flow, RunError> {
    if let Some(rest) = session.ledger().awaited() {
        session.commit().await?;
        return Ok(Flow::Waiting(rest));
    }
    session.record_conflicts()?;
    let mut cx =
        Context { session, port, invocation: InvocationId::root(agent.name()), author: agent.name().clone() };
    let flow = cx.run_here(&**agent).await;
    let session = cx.session;
    match &flow {
        Ok(Flow::Done(done)) => {
            let is_final = |body: &EventBody| matches!(body, EventBody::FinalResponse { .. });
            if !session.ledger().events().iter().rev().take(2).any(|event| is_final(&event.body)) {
                let body = EventBody::FinalResponse { output: done.output.clone() };
                let draft = session.draft(agent.name().clone(), body);
                session.append_draft(draft)?;
            }
        }
        Ok(Flow::Waiting(waiting)) => {
            let draft = session.draft(agent.name().clone(), EventBody::Yield(waiting.clone()));
            session.append_draft(draft)?;
        }
        Err(_) => {}
    }
    session.commit().await?;
    flow
}

/// Runs an agent on a session as the execution `path`, one of several that the session holds one after the other.
///
/// Unlike [`run`] it records neither a final response nor a yield: whoever runs several executions on one session
/// decides what an end or a wait means.
///
/// # Errors
/// What ended the run. What happened until then is on the ledger.
pub async fn run_at(
    path: InvocationId,
    agent: &AgentRef,
    session: &mut Session,
    port: &dyn Port,
) -> Result<Flow, RunError> {
    let flow = Context::on_branch(session, port, path, &**agent).run_here(&**agent).await;
    session.commit().await?;
    flow
}

/// What an agent may do while it runs.
pub struct Context<'a> {
    pub(crate) session: &'a mut Session,
    pub(crate) port: &'a dyn Port,
    pub(crate) invocation: InvocationId,
    pub(crate) author: Arc<str>,
}

impl<'a> Context<'a> {
    /// The execution.
    pub fn invocation(&self) -> &InvocationId {
        &self.invocation
    }

    /// The ledger.
    pub fn ledger(&self) -> &Ledger {
        self.session.ledger()
    }

    /// The state now.
    pub fn state(&self) -> &State {
        self.session.state()
    }

    /// The session.
    pub fn session(&self) -> &Session {
        self.session
    }

    /// Runs another agent as the execution `path`, a child of this one; or gives what it gave when it ran before.
    ///
    /// # Errors
    /// What ended that run.
    pub async fn run_child(&mut self, path: InvocationId, agent: &dyn Agent) -> Result<Flow, RunError> {
        let mut child = Context {
            invocation: path,
            author: agent.name().clone(),
            session: &mut *self.session,
            port: self.port,
        };
        child.run_here(agent).await
    }

    /// A context for an execution that works on a branch of the session.
    pub(crate) fn on_branch(
        session: &'a mut Session,
        port: &'a dyn Port,
        invocation: InvocationId,
        agent: &dyn Agent,
    ) -> Self {
        Self { session, port, invocation, author: agent.name().clone() }
    }

    pub(crate) async fn run_here(&mut self, agent: &dyn Agent) -> Result<Flow, RunError> {
        if let Some(event) = self.ledger().ended(&self.invocation)
            && let EventBody::AgentEnded { output, transfer_to, .. } = &event.body
        {
            let (output, transfer_to) = (output.clone(), transfer_to.clone());
            return Ok(Flow::Done(Done { output, transfer_to, changes: Vec::new() }));
        }
        if self.ledger().started_at(&self.invocation).is_none() {
            self.append(EventBody::AgentStarted { kind: agent.kind().into() })?;
        }
        let flow = agent.run(self).await?;
        if let Flow::Done(done) = &flow {
            let Done { output, changes, transfer_to } = done.clone();
            self.append(EventBody::AgentEnded { output, changes, transfer_to })?;
        }
        Ok(flow)
    }

    /// Appends an event of this execution.
    ///
    /// # Errors
    /// The event contradicts the ledger.
    pub fn append(&mut self, body: EventBody) -> Result<(), RunError> {
        let draft = self.draft(None, None, body);
        self.session.append_draft(draft)
    }

    pub(crate) fn draft(&self, turn: Option<&TurnId>, decision: Option<Decision>, body: EventBody) -> Draft {
        let mut draft = self.session.draft(self.author.clone(), body);
        draft.invocation = Some(self.invocation.clone());
        draft.turn = turn.cloned();
        draft.decision = decision;
        draft
    }

    /// Asks a model, as the `round`-th question of this execution.
    ///
    /// A question that is on the ledger without its answer is asked again as it stands there.
    ///
    /// # Errors
    /// The model did not answer.
    pub async fn ask_model(
        &mut self,
        model: &Arc<dyn Model>,
        round: u64,
        request: impl FnOnce(&Self) -> ModelRequest,
    ) -> Result<(TurnId, ModelResponse), RunError> {
        let around = self.session.around().clone();
        let turn = around.ids.turn(self.ledger().session(), &self.invocation, round);
        let request = match self.ledger().request(&turn) {
            Some(asked) => asked,
            None => {
                let request = request(self);
                let draft = self.draft(Some(&turn), None, EventBody::ModelRequest(RequestRecord::default()));
                self.session.append_request(draft, &request)?;
                request
            }
        };
        self.session.commit().await?;
        let call = ModelCall {
            session: self.ledger().session().clone(),
            agent: self.author.clone(),
            turn: turn.clone(),
            index: self.ledger().answered_turns(&self.author),
            request,
            metering: around.meter.clone().map_or_else(Metering::default, Metering::By),
        };
        let began = around.clock.now();
        let answer = self.port.model(&call, model).await;
        let answer = answer.map_err(|source| RunError::Model { agent: self.author.clone(), source })?;
        let micros = micros(elapsed(began, around.clock.now()));
        let decision = Decision { by: answer.by, name: answer.name, micros };
        let response = self.append_response(&turn, answer.value, decision).await?;
        Ok((turn, response))
    }

    /// Records what an agent that runs elsewhere answered, as its `round`-th answer in this execution. Gives the turn and
    /// the answer, whose calls are numbered and can be handed to [`call_tools`](Self::call_tools).
    ///
    /// An answer that is on the ledger already is not recorded again.
    ///
    /// # Errors
    /// The ledger has another answer for this round: the agent did not do again what it did before the session was
    /// interrupted.
    pub async fn record_response(
        &mut self,
        round: u64,
        mut response: ModelResponse,
        decision: Decision,
    ) -> Result<(TurnId, ModelResponse), RunError> {
        let ids = self.session.around().ids;
        let turn = ids.turn(self.ledger().session(), &self.invocation, round);
        let Some(recorded) = self.recorded_response(&turn) else {
            if let Some(meter) = self.session.around().meter.as_ref().filter(|_| decision.by == Player::Agent)
            {
                meter.told(decision.name.as_deref().unwrap_or(&self.author), response.usage);
            }
            let response = self.append_response(&turn, response, decision).await?;
            return Ok((turn, response));
        };
        number_calls(&mut response, |index| ids.call(&turn, index));
        if recorded.content != response.content {
            let why = "the session was resumed, and it did not do again what it did before the interruption";
            return Err(RunError::agent(&self.author, why));
        }
        Ok((turn, recorded))
    }

    /// Records an answer that came from elsewhere with the calls that were made for it there, each with what came of it.
    ///
    /// Nothing is called. All of it is kept at once, so that after an interruption there is all of it or nothing.
    ///
    /// # Errors
    /// The ledger has another answer for this execution.
    pub async fn record_played(
        &mut self,
        calls: Vec<(FunctionCall, ToolOutcome)>,
        response: ModelResponse,
        decision: Decision,
    ) -> Result<(), RunError> {
        let ids = self.session.around().ids;
        let mut round = 0;
        for (call, outcome) in calls {
            let turn = ids.turn(self.ledger().session(), &self.invocation, round);
            let mut asked = ModelResponse::new(Content::new(Role::Model, vec![Part::from(call.clone())]));
            number_calls(&mut asked, |index| ids.call(&turn, index));
            turn_limit(&self.author, &asked)?;
            let id = ids.call(&turn, 0);
            let (tool, args): (Arc<str>, _) = (call.name.into(), Arc::new(call.args));
            let result = ToolResult {
                call: id.clone(),
                tool: tool.clone(),
                outcome,
                changes: Vec::new(),
                main_changes: None,
            };
            // How long each of them took is not known.
            let there = Decision { micros: 0, ..decision.clone() };
            for (decision, body) in [
                (Some(there.clone()), EventBody::ModelResponse(asked)),
                (None, EventBody::ToolCall { call: id, tool, args }),
                (Some(there), EventBody::ToolResult(result)),
            ] {
                let draft = self.draft(Some(&turn), decision, body);
                self.session.append_draft(draft)?;
            }
            round += 1;
        }
        self.record_response(round, response, decision).await.map(drop)
    }

    fn recorded_response(&self, turn: &TurnId) -> Option<ModelResponse> {
        self.ledger().response(turn).cloned()
    }

    async fn append_response(
        &mut self,
        turn: &TurnId,
        mut response: ModelResponse,
        decision: Decision,
    ) -> Result<ModelResponse, RunError> {
        turn_limit(&self.author, &response)?;
        let ids = self.session.around().ids;
        number_calls(&mut response, |index| ids.call(turn, index));
        let draft = self.draft(Some(turn), Some(decision), EventBody::ModelResponse(response.clone()));
        self.session.append_draft(draft)?;
        self.session.commit().await?;
        Ok(response)
    }

    /// Keeps what has not been kept yet, before somebody outside is told about it.
    ///
    /// # Errors
    /// The journal could not keep the events.
    pub async fn commit(&mut self) -> Result<(), RunError> {
        self.session.commit().await
    }
}

impl fmt::Debug for Context<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").field("invocation", &self.invocation).finish_non_exhaustive()
    }
}

pub(crate) fn micros(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

/// The most calls that one model turn may make.
const MAX_CALLS: usize = 1000;
/// The most bytes that one model turn may have.
const MAX_TURN_BYTES: usize = 16 * 1024 * 1024;
/// The most bytes that the name of a called tool may have.
const MAX_NAME_BYTES: usize = 1024;

/// Refuses a model turn that is too large to be worked on: nothing is made of it and nothing called.
#[expect(clippy::disallowed_methods, reason = "the bytes are counted, nobody reads them")]
fn turn_limit(agent: &Arc<str>, response: &ModelResponse) -> Result<(), RunError> {
    let too_large = |what: String| Err(RunError::TurnTooLarge { agent: agent.clone(), what });
    let calls = response.content.calls().count();
    if calls > MAX_CALLS {
        return too_large(format!("it makes {calls} calls; a turn may make {MAX_CALLS}"));
    }
    if let Some(call) = response.content.calls().find(|call| call.name.len() > MAX_NAME_BYTES) {
        let start: String = call.name.chars().take(40).collect();
        let bytes = call.name.len();
        return too_large(format!(
            "it calls a tool whose name, `{start}…`, has {bytes} bytes; a name may have {MAX_NAME_BYTES}"
        ));
    }
    let mut counted = Counted(0);
    if serde_json::to_writer(&mut counted, &response.content).is_err() {
        return too_large(format!("it has more than {MAX_TURN_BYTES} bytes"));
    }
    Ok(())
}

/// Counts what is written and refuses it beyond the limit of a turn.
struct Counted(usize);

impl std::io::Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len();
        if self.0 > MAX_TURN_BYTES { Err(std::io::ErrorKind::FileTooLarge.into()) } else { Ok(bytes.len()) }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Providers may leave call ids out, and a fallback id can repeat, so the engine numbers calls itself.
fn number_calls(response: &mut ModelResponse, id: impl Fn(usize) -> rehearsal_core::CallId) {
    if response.content.calls().next().is_none() {
        return;
    }
    let content = Arc::make_mut(&mut response.content);
    let calls = content.parts.iter_mut().filter_map(|part| match &mut part.data {
        rehearsal_core::PartData::FunctionCall(call) => Some(call),
        _ => None,
    });
    for (index, call) in calls.enumerate() {
        call.id = Some(id(index));
    }
}

/// What ends a run before the agent does.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The port refused an effect.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// A model did not answer.
    #[error("agent `{agent}`: {source}")]
    Model {
        /// The agent that asked.
        agent: Arc<str>,
        /// Why.
        source: ModelError,
    },
    /// An agent kept calling tools.
    #[error(
        "agent `{agent}` asked its model {rounds} times without coming to an answer{last}\n\nhint: raise `max_rounds` if it needs more"
    )]
    TooManyRounds {
        /// The agent.
        agent: Arc<str>,
        /// The limit.
        rounds: u64,
        /// What it did at last, in words that follow the sentence.
        last: String,
    },
    /// A model turn that is too large to be worked on.
    #[error("agent `{agent}`: its model turn is too large: {what}")]
    TurnTooLarge {
        /// The agent.
        agent: Arc<str>,
        /// What there is too much of, and how much there may be.
        what: String,
    },
    /// A final answer that breaks the output schema, also after being asked again.
    #[error("agent `{agent}` gave an answer that breaks its output schema: {}", list(violations))]
    Output {
        /// The agent.
        agent: Arc<str>,
        /// What is wrong with it.
        violations: Vec<Violation>,
    },
    /// An output schema that cannot be used.
    #[error("agent `{agent}` has an output schema that cannot be used")]
    Schema {
        /// The agent.
        agent: Arc<str>,
        /// Why.
        source: InvalidSchema,
    },
    /// An agent's own code failed.
    #[error("agent `{agent}` failed: {why}")]
    Agent {
        /// The agent.
        agent: Arc<str>,
        /// Why.
        why: String,
    },
    /// A message or an answer that nobody waits for.
    #[error("{what}")]
    NotAwaited {
        /// What was given, and what is awaited.
        what: String,
    },
    /// An answer that breaks the output schema of its tool.
    #[error("the answer to `{tool}` breaks its output schema: {}", list(violations))]
    InvalidAnswer {
        /// The tool.
        tool: Arc<str>,
        /// What is wrong with it.
        violations: Vec<Violation>,
    },
    /// Events could not be kept.
    #[error("events could not be kept: {why}")]
    Journal {
        /// Why.
        why: String,
    },
    /// Whoever watches the session has stopped it.
    #[error("the session was stopped: {why}")]
    Stopped {
        /// Why.
        why: String,
    },
    /// An event contradicts the ledger.
    #[error("the ledger refused an event")]
    Ledger(#[from] Inconsistent),
}

impl RunError {
    /// An error of an agent's own code.
    pub fn agent(agent: &Arc<str>, why: impl fmt::Display) -> Self {
        Self::Agent { agent: agent.clone(), why: why.to_string() }
    }

    /// A word for the kind of error.
    pub fn kind(&self) -> &str {
        match self {
            Self::Refused(refusal) => &refusal.kind,
            Self::Model { source: ModelError::Budget { .. }, .. } => Failure::BUDGET,
            Self::Model { .. } => "model",
            Self::TooManyRounds { .. } => "too_many_rounds",
            Self::TurnTooLarge { .. } => "turn_too_large",
            Self::Output { .. } => "invalid_output",
            Self::Schema { .. } => "invalid_schema",
            Self::Agent { .. } => "agent",
            Self::NotAwaited { .. } => "not_awaited",
            Self::InvalidAnswer { .. } => "invalid_answer",
            Self::Journal { .. } => "journal",
            Self::Stopped { .. } => "stopped",
            Self::Ledger(_) => "ledger",
        }
    }

    /// The error as a ledger keeps it.
    pub fn failure(&self, phase: Phase) -> Failure {
        let mut message = self.to_string();
        let mut cause = std::error::Error::source(self);
        while let Some(source) = cause {
            let text = source.to_string();
            if !message.contains(&text) {
                message.push_str(": ");
                message.push_str(&text);
            }
            cause = source.source();
        }
        Failure { phase, kind: self.kind().to_owned(), message }
    }
}

fn list(violations: &[Violation]) -> String {
    violations.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use rehearsal_core::Content;

    use super::*;

    #[test]
    fn a_turn_may_have_so_many_bytes_and_no_more() {
        let check =
            |bytes: usize| turn_limit(&"a".into(), &ModelResponse::new(Content::model("x".repeat(bytes))));
        assert!(check(MAX_TURN_BYTES - 1024).is_ok());
        let refused = check(MAX_TURN_BYTES).err().map(|error| (error.kind().to_owned(), error.to_string()));
        let words = "agent `a`: its model turn is too large: it has more than 16777216 bytes";
        assert_eq!(refused, Some(("turn_too_large".to_owned(), words.to_owned())));
    }
}
