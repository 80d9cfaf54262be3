//! Answering the tool calls of one model turn.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::stream::{FuturesOrdered, StreamExt};
use rehearsal_core::{
    CallId, Content, Decision, Event, EventBody, FunctionCall, InvocationId, PendingCall, Player,
    SessionPart, State, StatePatch, ToolError, ToolOutcome, ToolResult, TurnId, Yield, elapsed,
};
use serde_json::{Map, Value};

use crate::agent::micros;
use crate::session::conflicts;
use crate::{
    Answer, Context, Flow, Port, Refusal, RunError, Session, StateAccess, ToolAnswer, ToolContext,
    ToolEffect, ToolKind, ToolRef, ToolReply,
};

impl Context<'_> {
    /// Calls tools side by side and appends their results in call order. Gives the calls that wait for somebody
    /// outside; empty when all are answered.
    ///
    /// Calls that have a result on the ledger are not made again.
    ///
    /// # Errors
    /// A call was refused, or an agent behind a tool failed.
    pub async fn call_tools(
        &mut self,
        turn: &TurnId,
        calls: &[FunctionCall],
        tools: &[ToolRef],
    ) -> Result<Vec<PendingCall>, RunError> {
        let open = self.record_calls(turn, calls)?;
        self.session.commit().await?;
        let upto = self.after_calls(turn);
        // Calls of one turn all see the state as it was when they were made, also when some of them were
        // answered before a crash and the others are made again.
        let state = match self.ledger().events().get(upto) {
            None => self.state().clone(),
            Some(next) => self.ledger().state_at(next.seq - 1),
        };
        let mut running = FuturesOrdered::new();
        let mut reached = self.reached_before(&open);
        for (call, unreadable) in open {
            let job = self.job(call, unreadable, tools, upto, state.clone(), &mut reached);
            running.push_back(job.run(self.port));
        }
        let mut pending = Vec::new();
        while let Some(finished) = running.next().await {
            let Finished { call, branch, result } = finished;
            if let Some(branch) = branch {
                self.session.join(branch)?;
            }
            match result? {
                Outcome::Answered(answer, changes, micros) => {
                    self.record_result(turn, &call, answer, changes, micros)?;
                    self.session.commit().await?;
                }
                Outcome::Later(calls) => pending.extend(calls),
            }
        }
        if pending.is_empty() {
            self.record_turn_conflicts(turn, calls)?;
        }
        Ok(pending)
    }

    /// Records the calls that are not on the ledger yet; gives those without a result, and why what a model wrote as
    /// their arguments cannot be read.
    fn record_calls(&mut self, turn: &TurnId, calls: &[FunctionCall]) -> Result<Vec<OpenCall>, RunError> {
        let mut open = Vec::new();
        for (index, call) in calls.iter().enumerate() {
            let id = match &call.id {
                Some(id) => id.clone(),
                None => self.session.around().ids.call(turn, index),
            };
            let known = self.ledger().call(&id);
            if known.as_ref().is_some_and(|view| view.answer.is_some()) {
                continue;
            }
            let (tool, args) = match known {
                Some(view) => (view.tool.clone(), view.args.clone()),
                None => {
                    let (tool, args): (Arc<str>, _) =
                        (call.name.as_str().into(), Arc::new(call.args.clone()));
                    let body =
                        EventBody::ToolCall { call: id.clone(), tool: tool.clone(), args: args.clone() };
                    let draft = self.draft(Some(turn), None, body);
                    self.session.append_draft(draft)?;
                    (tool, args)
                }
            };
            let invocation = self.invocation.clone();
            let pending = PendingCall { call: id, tool, args, invocation, output_schema: None };
            open.push((pending, call.unreadable.clone()));
        }
        Ok(open)
    }

    /// The place on the ledger right after the calls of a turn were made.
    fn after_calls(&self, turn: &TurnId) -> usize {
        let is_call = |body: &EventBody| matches!(body, EventBody::ToolCall { .. });
        let last = self.ledger().events().iter().rposition(|event| {
            is_call(&event.body)
                && event.turn.as_ref() == Some(turn)
                && event.invocation.as_ref() == Some(&self.invocation)
        });
        last.map_or(0, |at| at + 1)
    }

    fn job(
        &self,
        mut call: PendingCall,
        unreadable: Option<String>,
        tools: &[ToolRef],
        upto: usize,
        state: State,
        reached: &mut Reached,
    ) -> Job {
        let around = self.session.around();
        let found = tools.iter().find(|tool| tool.spec().name() == &*call.tool);
        let tool = match (found, unreadable) {
            (Some(_), Some(why)) => {
                Err(ToolError::new("InvalidArguments", format!("`{}`: {why}", call.tool)))
            }
            (Some(tool), None) => tool.spec().check_args(&call.args).map(|()| tool.clone()),
            (None, _) => Err(unknown_tool(&call.tool, tools)),
        };
        let nth = reached.nth(&call, tool.is_ok());
        let cx = ToolContext {
            session: self.ledger().session().clone(),
            call: call.call.clone(),
            tool: call.tool.clone(),
            agent: self.author.clone(),
            invocation: self.invocation.clone(),
            nth,
            state: StateAccess::new(state),
            chance: around.chance.derive(call.call.as_str(), nth),
            clock: around.clock.clone(),
        };
        if let Ok(tool) = &tool {
            call.output_schema = tool.spec().output().map(|schema| schema.source().clone());
        }
        // Only an agent behind a tool writes events of its own, and only those need a branch to write to.
        let branch = match &tool {
            Ok(tool) if matches!(tool.kind(), ToolKind::Agent(_)) => {
                let path = self.invocation.agent_tool(&call.call);
                Some((self.session.branch(upto, &path), path))
            }
            _ => None,
        };
        Job { call, tool, cx, branch }
    }

    /// How many earlier calls of the same tool got as far as the tool, for each of these: those that the engine refused do
    /// not count, nor do those of this turn that have no result yet.
    fn reached_before(&self, open: &[OpenCall]) -> Reached {
        let mut open: BTreeSet<&CallId> = open.iter().map(|(pending, _)| &pending.call).collect();
        let mut later: BTreeMap<&str, u64> = BTreeMap::new();
        let mut reached = Reached::default();
        // From the end, where they are: an agent that calls without end must not cost more with every call.
        for view in self.ledger().calls().rev() {
            if open.is_empty() {
                break;
            }
            let later = later.entry(view.tool).or_default();
            if open.remove(view.call) {
                reached.before.insert(view.call.clone(), self.ledger().reached(view.tool) - *later);
            }
            let decision = view.answer.and_then(|event| event.decision.as_ref());
            if view.answer.is_some() && decision.is_none_or(|decision| decision.by != Player::Engine) {
                *later += 1;
            }
        }
        reached
    }

    fn record_result(
        &mut self,
        turn: &TurnId,
        call: &PendingCall,
        answer: Answer<ToolAnswer>,
        mut changes: Vec<StatePatch>,
        micros: u64,
    ) -> Result<(), RunError> {
        let ToolAnswer { outcome, mut main_changes } = answer.value;
        if self.ledger().part() == SessionPart::Main {
            changes.extend(main_changes.take());
        }
        let (call, tool) = (call.call.clone(), call.tool.clone());
        let decision = Decision { by: answer.by, name: answer.name, micros };
        let body = EventBody::ToolResult(ToolResult { call, tool, outcome, changes, main_changes });
        let draft = self.draft(Some(turn), Some(decision), body);
        self.session.append_draft(draft)
    }

    /// Says where calls of one turn overwrote each other's values. Those that were answered by one yield are left out:
    /// they were looked at when it was answered. What is on the ledger already is not said again.
    fn record_turn_conflicts(&mut self, turn: &TurnId, calls: &[FunctionCall]) -> Result<(), RunError> {
        let ledger = self.ledger();
        let yielded = |event: &Arc<Event>| match &event.body {
            EventBody::Yield(Yield::Tools { calls }) => {
                calls.iter().map(|pending| pending.call.clone()).collect()
            }
            _ => Vec::new(),
        };
        let yielded: Vec<CallId> =
            ledger.events()[self.after_calls(turn)..].iter().flat_map(yielded).collect();
        let at_once = |one: &CallId, other: &CallId| !(yielded.contains(one) && yielded.contains(other));
        let found = conflicts(ledger, calls.iter().filter_map(|call| call.id.as_ref()), at_once);
        let said = ledger.events()[self.after_calls(turn)..].iter().filter(|event| {
            matches!(event.body, EventBody::StateConflict { .. }) && event.turn.as_ref() == Some(turn)
        });
        let said = said.count();
        for body in found.into_iter().skip(said) {
            let draft = self.draft(Some(turn), None, body);
            self.session.append_draft(draft)?;
        }
        Ok(())
    }
}

/// A call without a result, and why what a model wrote as its arguments cannot be read.
type OpenCall = (PendingCall, Option<String>);

/// How many calls of each tool got as far as the tool.
#[derive(Default)]
struct Reached {
    /// Before each of the calls that are made now.
    before: BTreeMap<CallId, u64>,
    /// Among those that are made now.
    now: BTreeMap<Arc<str>, u64>,
}

impl Reached {
    /// How many calls of its tool come before a call, which itself gets there or not.
    fn nth(&mut self, call: &PendingCall, gets_there: bool) -> u64 {
        let now = self.now.entry(call.tool.clone()).or_default();
        let nth = self.before.get(&call.call).copied().unwrap_or(0) + *now;
        *now += u64::from(gets_there);
        nth
    }
}

/// One call, with all it needs to be answered beside others.
struct Job {
    call: PendingCall,
    tool: Result<ToolRef, ToolError>,
    cx: ToolContext,
    branch: Option<(Session, InvocationId)>,
}

struct Finished {
    call: PendingCall,
    branch: Option<Session>,
    result: Result<Outcome, RunError>,
}

enum Outcome {
    Answered(Answer<ToolAnswer>, Vec<StatePatch>, u64),
    Later(Vec<PendingCall>),
}

impl Job {
    async fn run(self, port: &dyn Port) -> Finished {
        let Self { call, tool, cx, branch } = self;
        let tool = match tool {
            Ok(tool) => tool,
            Err(error) => {
                let value = ToolAnswer { outcome: ToolOutcome::Error(error), main_changes: None };
                let answer = Answer { value, by: Player::Engine, name: None };
                return Finished { call, branch: None, result: Ok(Outcome::Answered(answer, Vec::new(), 0)) };
            }
        };
        let (clock, state) = (cx.clock.clone(), cx.state.clone());
        let began = clock.now();
        let effect = ToolEffect { args: call.args.clone(), cx };
        let reply = match port.tool(&effect, &tool).await {
            Ok(reply) => reply,
            Err(refusal) => return Finished { call, branch: None, result: Err(refusal.into()) },
        };
        let duration = || micros(elapsed(began, clock.now()));
        match (reply, branch, tool.kind()) {
            (ToolReply::Done(answer), _, _) => {
                // A call that failed has changed nothing.
                let changes = if answer.value.outcome.is_error() { Vec::new() } else { state.changes() };
                Finished { call, branch: None, result: Ok(Outcome::Answered(answer, changes, duration())) }
            }
            (ToolReply::Later, _, _) => {
                let pending = vec![call.clone()];
                Finished { call, branch: None, result: Ok(Outcome::Later(pending)) }
            }
            (ToolReply::RunAgent, Some((mut session, path)), ToolKind::Agent(agent)) => {
                let result = run_agent(&mut session, port, path, agent, &call.args).await;
                let result = result.map(|outcome| match outcome {
                    Outcome::Answered(answer, changes, _) => Outcome::Answered(answer, changes, duration()),
                    later @ Outcome::Later(_) => later,
                });
                Finished { call, branch: Some(session), result }
            }
            (ToolReply::RunAgent, _, _) => {
                let message = format!("the port wants `{}` to run as an agent, which it is not", call.tool);
                let result = Err(Refusal { kind: "not_an_agent".to_owned(), message }.into());
                Finished { call, branch: None, result }
            }
        }
    }
}

async fn run_agent(
    session: &mut Session,
    port: &dyn Port,
    path: InvocationId,
    agent: &crate::AgentRef,
    args: &Map<String, Value>,
) -> Result<Outcome, RunError> {
    let mut cx = Context::on_branch(session, port, path, &**agent);
    if !cx.ledger().was_spoken_to(&cx.invocation) {
        let text = match args.get("request").and_then(rehearsal_core::json::as_text) {
            Some(text) => text.to_owned(),
            None => rehearsal_core::json::text(&Value::Object(args.clone())),
        };
        cx.append(EventBody::UserMessage { content: Arc::new(Content::user(text)) })?;
    }
    match cx.run_here(&**agent).await? {
        Flow::Done(done) => {
            let value = ToolAnswer { outcome: ToolOutcome::Output(done.output), main_changes: None };
            let answer = Answer { value, by: Player::Agent, name: Some(agent.name().clone()) };
            Ok(Outcome::Answered(answer, Vec::new(), 0))
        }
        Flow::Waiting(Yield::Tools { calls }) => Ok(Outcome::Later(calls)),
        Flow::Waiting(Yield::Loop { .. }) => {
            Err(RunError::agent(agent.name(), "an agent used as a tool cannot wait for a user message"))
        }
    }
}

fn unknown_tool(name: &str, tools: &[ToolRef]) -> ToolError {
    let known: Vec<String> = tools.iter().map(|tool| format!("`{}`", tool.spec().name())).collect();
    let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
    ToolError::new("UnknownTool", format!("there is no tool `{name}`; the tools are: {known}"))
}
