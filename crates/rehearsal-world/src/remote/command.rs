//! An agent that is a process and speaks JSON lines on its standard input and output.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::future::FutureExt;
use rehearsal_agent::{Agent, AgentRef, Context, Done, Flow, RunError, ToolRef};
use rehearsal_core::mask::Masker;
use rehearsal_core::{
    CallId, Content, Decision, EventBody, FinishReason, FunctionCall, InvocationId, ModelResponse, Part,
    Role, SessionId, ToolOutcome, Usage, Yield,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::sync::Mutex;

use super::{Conversation, Introduction, decision, scenario, turn_number};
use crate::program::{Launcher, Moment, Spoken, Wire, shortened};

/// The version of the protocol.
const VERSION: u32 = 1;

/// An agent that is a process and speaks JSON lines on its standard input and output.
///
/// The process is started for the first message of a session and stays for all of it; where it is gone, or the session
/// began in another process of ours, a new one is told what was said before. It calls tools by saying so: each call
/// goes through the port, where a mock may answer it. One value serves one session at a time.
#[derive(Debug)]
pub struct CommandAgent {
    name: Arc<str>,
    launcher: Arc<dyn Launcher>,
    tools: Vec<ToolRef>,
    toolset: Option<Toolset>,
    introduction: Introduction,
    masker: Masker,
    /// Empty while a turn is played: a turn that is dropped in the middle takes its process with it.
    live: Mutex<Option<Live>>,
}

impl CommandAgent {
    /// An agent without tools whose process is started by this launcher.
    pub fn new(name: &str, launcher: impl Launcher + 'static) -> Self {
        Self {
            name: name.into(),
            launcher: Arc::new(launcher),
            tools: Vec::new(),
            toolset: None,
            introduction: Introduction::default(),
            masker: Masker::default(),
            live: Mutex::default(),
        }
    }

    /// The same agent with tools it may call.
    #[must_use]
    pub fn tools(mut self, tools: impl IntoIterator<Item = ToolRef>) -> Self {
        self.tools.extend(tools);
        self
    }

    /// The same agent with tools that come and go: what there is is asked whenever the agent is told of them, and at each
    /// of its calls.
    #[must_use]
    pub fn toolset(mut self, tools: impl Fn() -> Vec<ToolRef> + Send + Sync + 'static) -> Self {
        self.toolset = Some(Toolset(Box::new(tools)));
        self
    }

    /// Its tools as they are now.
    fn tools_now(&self) -> Vec<ToolRef> {
        let more = self.toolset.iter().flat_map(|toolset| (toolset.0)());
        self.tools.iter().cloned().chain(more).collect()
    }

    /// Its tools as they are now, as it is told of them.
    fn told_tools(&self) -> Value {
        let tools = self.tools_now();
        let tools = tools.iter().map(|tool| tool.spec().declaration());
        let tools = tools.map(
            |tool| json!({"name": tool.name, "description": tool.description, "parameters": tool.parameters}),
        );
        tools.collect()
    }

    /// The same agent with something to be told when it starts.
    #[must_use]
    pub fn introduction(mut self, introduction: Introduction) -> Self {
        self.introduction = introduction;
        self
    }

    /// The same agent with secrets that are hidden in what it says.
    #[must_use]
    pub fn masker(mut self, masker: Masker) -> Self {
        self.masker = masker;
        self
    }

    /// Tells the process that the session is over, and waits so long for it to end by itself.
    ///
    /// Gives what it said after its last `final`, other than `log`. Without it the process is ended when the agent is
    /// dropped.
    pub async fn close(&self, patience: Duration) -> Option<String> {
        let live = self.live.lock().await.take()?;
        live.wire.close(&json!({"type": "end"}), patience).await
    }

    /// Starts the process and tells it what it has to know.
    async fn start(&self, cx: &Context<'_>, talk: &Conversation, played: u64) -> Result<Live, RunError> {
        let connection =
            self.launcher.start().await.map_err(|why| {
                RunError::agent(&self.name, format!("its process could not be started: {why}"))
            })?;
        let session = cx.ledger().session().clone();
        let mut wire = Wire::new(connection, self.masker.clone());
        let tools = self.told_tools();
        wire.send(&json!({
            "type": "start",
            "version": VERSION,
            "session": session.as_str(),
            "scenario": scenario(cx),
            "plugins": self.introduction.plugins(),
            "tools": tools.clone(),
            "context": self.introduction.context,
        }));
        if !talk.earlier.is_empty() {
            let messages = talk.earlier.iter().map(|said| json!({"role": said.role, "text": said.text}));
            wire.send(&json!({"type": "history", "messages": messages.collect::<Value>()}));
        }
        Ok(Live { session, wire, played, used: BTreeSet::new(), tools, open: None })
    }
}

#[async_trait]
impl Agent for CommandAgent {
    fn name(&self) -> &Arc<str> {
        &self.name
    }

    fn kind(&self) -> &'static str {
        "command"
    }

    async fn run(&self, cx: &mut Context<'_>) -> Result<Flow, RunError> {
        let talk = Conversation::read(cx);
        let turn = turn_number(cx, &self.name);
        let kept = self.live.lock().await.take().filter(|live| live.fits(cx, turn));
        cx.commit().await?;
        let mut live = match kept {
            Some(mut live) => {
                Turn { agent: self, live: &mut live, number: turn }.expect_silence(cx)?;
                live
            }
            None => self.start(cx, &talk, turn - 1).await?,
        };
        let flow =
            Turn { agent: self, live: &mut live, number: turn }.play(cx, talk.message.as_deref()).await?;
        *self.live.lock().await = Some(live);
        Ok(flow)
    }
}

impl From<CommandAgent> for AgentRef {
    fn from(agent: CommandAgent) -> Self {
        Arc::new(agent)
    }
}

/// Tools that come and go.
struct Toolset(Box<dyn Fn() -> Vec<ToolRef> + Send + Sync>);

impl fmt::Debug for Toolset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Toolset").finish_non_exhaustive()
    }
}

/// A process in the middle of a session.
#[derive(Debug)]
struct Live {
    session: SessionId,
    wire: Wire,
    /// The turns that came to their end.
    played: u64,
    /// The ids it gave its calls.
    used: BTreeSet<String>,
    /// The tools it was told of last.
    tools: Value,
    open: Option<Open>,
}

/// A turn that has not come to its end.
#[derive(Debug)]
struct Open {
    invocation: InvocationId,
    /// How many answers it has given.
    rounds: u64,
    /// The call whose result comes from outside: its id there and here.
    awaited: Option<(String, CallId)>,
}

impl Live {
    /// Whether the process knows all that this session holds, and nothing else.
    fn fits(&self, cx: &Context<'_>, turn: u64) -> bool {
        let is_answered = |call: &CallId| cx.ledger().call(call).is_some_and(|view| view.answer.is_some());
        let is_here = match &self.open {
            None => true,
            Some(open) => {
                open.invocation == *cx.invocation()
                    && open.awaited.as_ref().is_some_and(|(_, call)| is_answered(call))
            }
        };
        self.session == *cx.ledger().session() && self.played + 1 == turn && is_here
    }
}

/// What the agent says.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
enum Incoming {
    ToolCall {
        id: String,
        tool: String,
        #[serde(default)]
        args: Map<String, Value>,
    },
    Message {
        text: String,
    },
    Final {
        text: Option<String>,
        output: Option<Value>,
        usage: Option<Usage>,
    },
    Error {
        message: String,
    },
    Log {
        text: String,
    },
}

impl Spoken for Incoming {
    const SPEAKER: &'static str = "an agent";
    const TOO_MUCH: &'static str = "a turn ends with `final`; print what is for people to standard error";

    fn is_last_words(&self) -> bool {
        matches!(self, Self::Error { .. } | Self::Log { .. })
    }
}

/// One turn of a conversation with the process.
struct Turn<'a> {
    agent: &'a CommandAgent,
    live: &'a mut Live,
    number: u64,
}

impl Turn<'_> {
    async fn play(&mut self, cx: &mut Context<'_>, message: Option<&str>) -> Result<Flow, RunError> {
        match self.live.open.as_mut().and_then(|open| open.awaited.take()) {
            Some((id, call)) => self.give_result(cx, &id, &call),
            None => {
                self.live.wire.begin_count();
                self.tell_tools();
                self.live.wire.send(&match message {
                    Some(text) => json!({"type": "message", "turn": self.number, "text": text}),
                    None => json!({"type": "message", "turn": self.number, "text": "", "speak_first": true}),
                });
                let invocation = cx.invocation().clone();
                self.live.open = Some(Open { invocation, rounds: 0, awaited: None });
            }
        }
        loop {
            let clock = cx.session().around().clock.clone();
            let began = clock.now();
            let incoming = self.receive().await.map_err(|why| self.failed(why))?;
            let decision = decision(&self.agent.name, &*clock, began);
            match incoming {
                Incoming::Log { text } => log(cx, &text)?,
                Incoming::Error { message } => {
                    let why = self.live.wire.report(&format!("it reported an error: {message}"), None);
                    return Err(self.failed(why));
                }
                Incoming::Message { text } => {
                    let response = ModelResponse::new(Content::model(text));
                    cx.record_response(self.next_round(), response, decision).await?;
                }
                Incoming::ToolCall { id, tool, args } => {
                    self.take_id(&id)?;
                    let call = FunctionCall { name: tool, args, ..FunctionCall::default() };
                    if let Some(waiting) = self.call(cx, id, call, decision).await? {
                        return Ok(Flow::Waiting(waiting));
                    }
                }
                Incoming::Final { text, output, usage } => {
                    let Some((text, output)) = final_answer(text, output) else {
                        let what = "it sent a `final` with neither `text` nor `output`";
                        return Err(self.failed(self.live.wire.report(what, None)));
                    };
                    let response = ModelResponse {
                        finish: Some(FinishReason::Stop),
                        usage,
                        ..ModelResponse::new(Content::model(text))
                    };
                    cx.record_response(self.next_round(), response, decision).await?;
                    self.live.open = None;
                    self.live.played = self.number;
                    return Ok(Flow::Done(Done::new(output)));
                }
            }
        }
    }

    /// Tells the agent which tools there are, where they are others than it was told of last.
    fn tell_tools(&mut self) {
        if self.agent.toolset.is_none() {
            return;
        }
        let tools = self.agent.told_tools();
        if tools != self.live.tools {
            self.live.wire.send(&json!({"type": "tools", "tools": tools}));
            self.live.tools = tools;
        }
    }

    async fn receive(&mut self) -> Result<Incoming, String> {
        let when = format!("in turn {}", self.number);
        self.live.wire.receive(&Moment { when: &when, unit: "turn", awaited: "final" }).await
    }

    fn take_id(&mut self, id: &str) -> Result<(), RunError> {
        if self.live.used.insert(id.to_owned()) {
            return Ok(());
        }
        let what = format!("it gave two tool calls the id `{}`", shortened(id, 100));
        Err(self.failed(self.live.wire.report(&what, Some("give every call of a session another id"))))
    }

    /// Calls a tool and gives the result to the process; or says what has to be waited for.
    async fn call(
        &mut self,
        cx: &mut Context<'_>,
        id: String,
        call: FunctionCall,
        decision: Decision,
    ) -> Result<Option<Yield>, RunError> {
        let response = ModelResponse::new(Content::new(Role::Model, vec![Part::from(call)]));
        let (turn, response) = cx.record_response(self.next_round(), response, decision).await?;
        let calls: Vec<FunctionCall> = response.content.calls().cloned().collect();
        let pending = cx.call_tools(&turn, &calls, &self.agent.tools_now()).await?;
        let Some(call) = calls.into_iter().find_map(|call| call.id) else {
            unreachable!("calls that are recorded have an id");
        };
        if pending.is_empty() {
            self.give_result(cx, &id, &call);
            return Ok(None);
        }
        if let Some(open) = &mut self.live.open {
            open.awaited = Some((id, call));
        }
        Ok(Some(Yield::Tools { calls: pending }))
    }

    /// Between two turns the agent has nothing to say: what it said there would be taken for its next answer.
    fn expect_silence(&mut self, cx: &mut Context<'_>) -> Result<(), RunError> {
        if self.live.open.is_some() {
            return Ok(());
        }
        while let Some(incoming) = self.receive().now_or_never() {
            match incoming.map_err(|why| self.failed(why))? {
                Incoming::Log { text } => log(cx, &text)?,
                _ => {
                    let what = "it went on after the `final` of its last turn";
                    let hint = "send `final` last and once, then wait for the next `message`";
                    return Err(self.failed(self.live.wire.report(what, Some(hint))));
                }
            }
        }
        Ok(())
    }

    fn give_result(&mut self, cx: &Context<'_>, id: &str, call: &CallId) {
        self.tell_tools();
        let outcome = cx.ledger().call(call).and_then(|view| view.result()).map(|result| &result.outcome);
        self.live.wire.send(&match outcome {
            Some(ToolOutcome::Error(error)) => json!({"type": "tool_result", "id": id, "error": error}),
            Some(ToolOutcome::Output(output)) => json!({"type": "tool_result", "id": id, "output": output}),
            None => unreachable!("a call that does not wait has its result on the ledger"),
        });
    }

    fn next_round(&mut self) -> u64 {
        let Some(open) = &mut self.live.open else { unreachable!("a turn is open while it is played") };
        open.rounds += 1;
        open.rounds - 1
    }

    fn failed(&self, why: String) -> RunError {
        RunError::agent(&self.agent.name, why)
    }
}

fn log(cx: &mut Context<'_>, text: &str) -> Result<(), RunError> {
    cx.append(EventBody::AgentLog { text: text.to_owned() })
}

/// What a final answer says and what it gives: one stands for the other where it is missing.
fn final_answer(text: Option<String>, output: Option<Value>) -> Option<(String, Value)> {
    match (text, output) {
        (Some(text), Some(output)) => Some((text, output)),
        (Some(text), None) => Some((text.clone(), Value::String(text))),
        (None, Some(output)) => Some((rehearsal_core::json::said(&output), output)),
        (None, None) => None,
    }
}
