//! Agents made of agents: one after the other, again and again, side by side.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use futures::stream::{FuturesOrdered, StreamExt};
use rehearsal_core::{State, Yield};
use serde_json::{Map, Value};

use crate::tool::into_ref;
use crate::{Agent, AgentRef, Context, Done, Flow, RunError};

/// Agents that run one after the other. Its output is the last one's.
///
/// ```
/// # use std::sync::Arc;
/// use rehearsal_agent::{Flow, Sequence, Session, Step, Surroundings, run, DirectPort};
/// # use rehearsal_core::State;
///
/// # futures::executor::block_on(async {
/// let collect = Step::new("collect", |cx| {
///     cx.state.set("facts", ["a", "b"]);
///     Ok(cx.output(2))
/// });
/// let report = Step::new("report", |cx| {
///     let facts: Vec<String> = cx.state.get("facts").unwrap_or_default();
///     Ok(cx.respond(format!("{} facts", facts.len())))
/// });
/// let agent = Sequence::new("all", [collect.into(), report.into()]).into();
/// let mut session = Session::new("all", State::default(), Arc::new(Surroundings::seeded(1)))?;
/// let Flow::Done(done) = run(&agent, &mut session, &DirectPort).await? else { panic!() };
/// assert_eq!(done.output, "2 facts");
/// # Ok::<(), rehearsal_agent::RunError>(())
/// # }).unwrap();
/// ```
#[derive(Clone, Debug)]
pub struct Sequence {
    name: Arc<str>,
    agents: Vec<AgentRef>,
}

impl Sequence {
    /// A sequence of these agents.
    pub fn new(name: &str, agents: impl IntoIterator<Item = AgentRef>) -> Self {
        Self { name: name.into(), agents: agents.into_iter().collect() }
    }
}

#[async_trait]
impl Agent for Sequence {
    fn name(&self) -> &Arc<str> {
        &self.name
    }

    fn kind(&self) -> &'static str {
        "sequence"
    }

    async fn run(&self, cx: &mut Context<'_>) -> Result<Flow, RunError> {
        let mut last = Done::default();
        for (index, agent) in self.agents.iter().enumerate() {
            let path = cx.invocation().child(format_args!("{index}-{}", agent.name()));
            match cx.run_child(path, &**agent).await? {
                Flow::Done(done) => last = done,
                waiting @ Flow::Waiting(_) => return Ok(waiting),
            }
        }
        Ok(Flow::Done(Done::new(last.output)))
    }
}

/// An agent that runs again for every message of the user: a conversation.
///
/// ```
/// # use std::sync::Arc;
/// use rehearsal_agent::{DirectPort, Flow, Loop, Session, Step, Surroundings, run};
/// use rehearsal_core::{Content, State};
///
/// # futures::executor::block_on(async {
/// let echo = Step::new("echo", |cx| Ok(cx.respond(cx.input.to_uppercase())));
/// let agent = Loop::new("talk", echo).until(|_state, output| output == "BYE").into();
/// let mut session = Session::new("talk", State::default(), Arc::new(Surroundings::seeded(1)))?;
/// session.say(Content::user("hello"), None)?;
/// assert!(matches!(run(&agent, &mut session, &DirectPort).await?, Flow::Waiting(_)));
/// session.say(Content::user("bye"), None)?;
/// assert!(matches!(run(&agent, &mut session, &DirectPort).await?, Flow::Done(_)));
/// # Ok::<(), rehearsal_agent::RunError>(())
/// # }).unwrap();
/// ```
#[derive(Clone)]
pub struct Loop {
    name: Arc<str>,
    body: AgentRef,
    until: Option<Arc<UntilFn>>,
    max_rounds: Option<u64>,
}

type UntilFn = dyn Fn(&State, &Value) -> bool + Send + Sync;

impl Loop {
    /// A loop that yields for the user after each round of `body`, without end.
    pub fn new(name: &str, body: impl Into<AgentRef>) -> Self {
        Self { name: name.into(), body: body.into(), until: None, max_rounds: None }
    }

    /// The same loop, ending after a round when this holds of the state and the round's output.
    #[must_use]
    pub fn until(mut self, holds: impl Fn(&State, &Value) -> bool + Send + Sync + 'static) -> Self {
        self.until = Some(Arc::new(holds));
        self
    }

    /// The same loop, ending after so many rounds.
    #[must_use]
    pub fn max_rounds(mut self, rounds: u64) -> Self {
        self.max_rounds = Some(rounds);
        self
    }

    fn is_over(&self, rounds: u64, state: &State, output: &Value) -> bool {
        self.max_rounds.is_some_and(|most| rounds >= most)
            || self.until.as_ref().is_some_and(|holds| holds(state, output))
    }
}

#[async_trait]
impl Agent for Loop {
    fn name(&self) -> &Arc<str> {
        &self.name
    }

    fn kind(&self) -> &'static str {
        "loop"
    }

    async fn run(&self, cx: &mut Context<'_>) -> Result<Flow, RunError> {
        for round in 0.. {
            let place = cx.invocation().child(round);
            if cx.ledger().was_spoken_to(&place) {
                continue;
            }
            let done = match cx.run_child(place.child(self.body.name()), &*self.body).await? {
                Flow::Done(done) => done,
                waiting @ Flow::Waiting(_) => return Ok(waiting),
            };
            if self.is_over(round + 1, cx.state(), &done.output) {
                return Ok(Flow::Done(Done::new(done.output)));
            }
            return Ok(Flow::Waiting(Yield::Loop { invocation: place }));
        }
        unreachable!("a loop has more rounds than anybody can play")
    }
}

impl fmt::Debug for Loop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Loop").field("name", &self.name).field("body", &self.body).finish_non_exhaustive()
    }
}

/// Agents that run side by side. Each sees the session as it was when they began, and its own events; what
/// they did is appended in the order in which they stand here. The output is an object of their outputs by name.
///
/// ```
/// # use std::sync::Arc;
/// use rehearsal_agent::{DirectPort, Flow, Parallel, Session, Step, Surroundings, run};
/// # use rehearsal_core::State;
///
/// # futures::executor::block_on(async {
/// let left = Step::new("left", |cx| Ok(cx.output(1)));
/// let right = Step::new("right", |cx| Ok(cx.output(2)));
/// let agent = Parallel::new("both", [left.into(), right.into()]).into();
/// let mut session = Session::new("both", State::default(), Arc::new(Surroundings::seeded(1)))?;
/// let Flow::Done(done) = run(&agent, &mut session, &DirectPort).await? else { panic!() };
/// assert_eq!(done.output, serde_json::json!({"left": 1, "right": 2}));
/// # Ok::<(), rehearsal_agent::RunError>(())
/// # }).unwrap();
/// ```
#[derive(Clone, Debug)]
pub struct Parallel {
    name: Arc<str>,
    agents: Vec<AgentRef>,
}

impl Parallel {
    /// These agents, side by side.
    pub fn new(name: &str, agents: impl IntoIterator<Item = AgentRef>) -> Self {
        Self { name: name.into(), agents: agents.into_iter().collect() }
    }
}

#[async_trait]
impl Agent for Parallel {
    fn name(&self) -> &Arc<str> {
        &self.name
    }

    fn kind(&self) -> &'static str {
        "parallel"
    }

    async fn run(&self, cx: &mut Context<'_>) -> Result<Flow, RunError> {
        let upto = cx.ledger().started_at(cx.invocation()).map_or(0, |at| at + 1);
        let mut running = FuturesOrdered::new();
        for (index, agent) in self.agents.iter().enumerate() {
            let path = cx.invocation().child(format_args!("{index}-{}", agent.name()));
            let mut branch = cx.session().branch(upto, &path);
            let port = cx.port;
            running.push_back(async move {
                let flow = Context::on_branch(&mut branch, port, path, &**agent).run_here(&**agent).await;
                (agent.name(), branch, flow)
            });
        }
        let mut outputs = Map::new();
        let mut pending = Vec::new();
        while let Some((name, branch, flow)) = running.next().await {
            cx.session.join(branch)?;
            cx.session.commit().await?;
            match flow? {
                Flow::Done(done) => drop(outputs.insert(name.to_string(), done.output)),
                Flow::Waiting(Yield::Tools { calls }) => pending.extend(calls),
                Flow::Waiting(Yield::Loop { .. }) => {
                    return Err(RunError::agent(
                        name,
                        "an agent that runs beside others cannot wait for a user message",
                    ));
                }
            }
        }
        if pending.is_empty() {
            return Ok(Flow::Done(Done::new(Value::Object(outputs))));
        }
        Ok(Flow::Waiting(Yield::Tools { calls: pending }))
    }
}

into_ref!(AgentRef: Sequence, Loop, Parallel);
