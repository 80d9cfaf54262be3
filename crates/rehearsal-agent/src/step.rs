//! A step: an agent that is a function.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use futures::future::{BoxFuture, FutureExt};
use rehearsal_core::{
    Clock, Content, Decision, EventBody, Ledger, ModelResponse, Player, Snapshot, Timestamp, elapsed,
};
use serde_json::Value;

use crate::agent::micros;
use crate::tool::into_ref;
use crate::{Agent, AgentRef, Context, Done, Flow, RunError, StateAccess};

/// An agent that is a function of the session: a scripted user, a calculation between two other agents.
///
/// ```
/// use rehearsal_agent::{Agent, Step};
///
/// let patient = Step::new("scripted_patient", |cx| {
///     let turn: usize = cx.state.get("turn").unwrap_or(0);
///     cx.state.set("turn", turn + 1);
///     let script = ["I have chest pain", "About 30 minutes", "Yes, very severe"];
///     Ok(cx.respond(*script.get(turn).unwrap_or(&"I don't know")))
/// });
/// assert_eq!(&**patient.name(), "scripted_patient");
/// ```
///
/// A step that was interrupted before its end runs again from the start.
pub struct Step {
    name: Arc<str>,
    run: Box<StepFn>,
}

type StepFn = dyn Fn(StepContext) -> BoxFuture<'static, Result<StepReply, String>> + Send + Sync;

impl Step {
    /// A step from a plain function.
    pub fn new(
        name: &str,
        run: impl Fn(StepContext) -> Result<StepReply, String> + Send + Sync + 'static,
    ) -> Self {
        Self { name: name.into(), run: Box::new(move |cx| futures::future::ready(run(cx)).boxed()) }
    }

    /// A step from an async function.
    pub fn new_async<F>(name: &str, run: impl Fn(StepContext) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<StepReply, String>> + Send + 'static,
    {
        Self { name: name.into(), run: Box::new(move |cx| run(cx).boxed()) }
    }
}

/// What a step may know.
#[derive(Clone, Debug)]
pub struct StepContext {
    /// State, readable and writable.
    pub state: StateAccess,
    /// What was last said to it.
    pub input: String,
    /// How often this step ran before in this session.
    pub index: u64,
    /// The session so far.
    pub so_far: Snapshot,
    clock: Arc<dyn Clock>,
}

impl StepContext {
    /// Says something.
    pub fn respond(&self, text: impl Into<String>) -> StepReply {
        StepReply { text: Some(text.into()), output: None }
    }

    /// Gives a value without saying anything.
    pub fn output(&self, value: impl Into<Value>) -> StepReply {
        StepReply { text: None, output: Some(value.into()) }
    }

    /// The present moment, by the session's clock.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }
}

/// What a step gives.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepReply {
    text: Option<String>,
    output: Option<Value>,
}

#[async_trait]
impl Agent for Step {
    fn name(&self) -> &Arc<str> {
        &self.name
    }

    fn kind(&self) -> &'static str {
        "step"
    }

    async fn run(&self, cx: &mut Context<'_>) -> Result<Flow, RunError> {
        let clock = cx.session().around().clock.clone();
        let began = clock.now();
        let has_spoken = has_spoken(cx);
        let state = StateAccess::new(cx.state().clone());
        let input = last_message(cx.ledger(), cx.invocation().enclosure());
        let index = cx.ledger().answered_turns(&self.name) - u64::from(has_spoken);
        let so_far = cx.ledger().snapshot();
        let step = StepContext { state: state.clone(), input, index, so_far, clock: clock.clone() };
        let reply = (self.run)(step).await.map_err(|why| RunError::agent(&self.name, why))?;
        if let Some(text) = &reply.text
            && !has_spoken
        {
            let micros = micros(elapsed(began, clock.now()));
            let decision = Decision { by: Player::Script, name: Some(self.name.clone()), micros };
            let body = EventBody::ModelResponse(ModelResponse::new(Content::model(text.clone())));
            let draft = cx.draft(None, Some(decision), body);
            cx.session.append_draft(draft)?;
        }
        let output = reply.output.or(reply.text.map(Value::String)).unwrap_or_default();
        Ok(Flow::Done(Done { output, changes: state.changes(), transfer_to: None }))
    }
}

fn has_spoken(cx: &Context<'_>) -> bool {
    let start = cx.ledger().started_at(cx.invocation()).unwrap_or(0);
    cx.ledger().events()[start..].iter().any(|event| {
        event.invocation.as_ref() == Some(cx.invocation())
            && matches!(event.body, EventBody::ModelResponse(_))
    })
}

fn last_message(ledger: &Ledger, enclosure: &str) -> String {
    let heard = ledger.events().iter().rev().find_map(|event| match &event.body {
        EventBody::UserMessage { content }
            if event.invocation.as_ref().map_or("", |path| path.enclosure()) == enclosure =>
        {
            Some(content.text())
        }
        _ => None,
    });
    heard.unwrap_or_default()
}

impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Step").field("name", &self.name).finish_non_exhaustive()
    }
}

into_ref!(AgentRef: Step);
