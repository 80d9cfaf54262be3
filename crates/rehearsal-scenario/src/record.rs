//! A session that was recorded, as a scenario: played once, asked ever after.
//!
//! What the user said becomes the steps, what the tools gave their mocks, which tools were called the checks, and what
//! the model answered a script, so that the file passes as it is, without a key and without a network.

use std::collections::BTreeSet;
use std::sync::Arc;

use rehearsal_core::{
    CallId, CallView, Content, Event, EventBody, Ledger, ModelResponse, ModelSetup, Player, SCENARIO,
    SessionPart, StatePatch, StepKind, StepStarted, ToolDeclaration, ToolOutcome,
};
use serde_json::{Map, Value};

use crate::{Dialect, check};

mod write;

/// A scenario that was made from a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// The name of the scenario.
    pub name: String,
    /// The file.
    pub text: String,
    /// What of the session is not in it, a sentence each.
    pub losses: Vec<String>,
}

/// Why no scenario can be made of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotRecordable {
    /// It is not that of an agent under test.
    #[error(
        "it is the session of a {}, not of an agent\n\nhint: take the session that it belongs to; `rehearse sessions` lists them",
        if *.0 == SessionPart::User { "simulated user" } else { "judge" }
    )]
    NotMain(SessionPart),
    /// Nobody said anything in it.
    #[error("nothing was said in it, so there is nothing to say again")]
    Silent,
}

impl Recorded {
    /// Makes a scenario of a session that is known as `id`. `schema` is where editors find the schema of scenario files,
    /// from the file.
    ///
    /// # Errors
    /// The session is none of an agent, or nobody said anything in it.
    pub fn from_ledger(ledger: &Ledger, id: &str, schema: Option<&str>) -> Result<Self, NotRecordable> {
        match ledger.part() {
            SessionPart::Main => {}
            other => return Err(NotRecordable::NotMain(other)),
        }
        let mut session = Session::read(ledger, id);
        if session.steps.iter().all(|step| step.said.is_empty()) {
            return Err(NotRecordable::Silent);
        }
        let text = write::file(&session, schema);
        let problems = check(&text, Dialect::Rehearsal);
        if !problems.is_usable() {
            let errors =
                problems.problems.iter().filter(|problem| problem.severity == crate::Severity::Error);
            session
                .losses
                .extend(errors.map(|problem| format!("the file has to be mended: {}", problem.message)));
        }
        Ok(Self { name: session.name, text, losses: session.losses })
    }
}

/// What is taken from a session.
struct Session {
    id: String,
    name: String,
    about: String,
    agent: String,
    /// The name of its model, where one was asked.
    model: Option<String>,
    setup: ModelSetup,
    state: Map<String, Value>,
    steps: Vec<Step>,
    /// The answers of its model.
    script: Vec<Answer>,
    mocks: Vec<Mock>,
    losses: Vec<String>,
}

/// One step: a message, or a conversation.
struct Step {
    name: Option<String>,
    is_conversation: bool,
    /// Whether the agent spoke first.
    agent_opens: bool,
    said: Vec<String>,
    /// What the user said as they hung up.
    farewell: Option<String>,
    calls: Vec<(String, Map<String, Value>)>,
    replies: Vec<String>,
}

/// What a model answered at once.
struct Answer {
    text: String,
    calls: Vec<(String, Map<String, Value>)>,
    /// Whether the engine refused one of the calls.
    is_invalid: bool,
}

/// What a call gave.
#[derive(Clone, PartialEq)]
struct Given {
    outcome: ToolOutcome,
    changes: Map<String, Value>,
}

struct Mock {
    tool: String,
    args: Map<String, Value>,
    /// The step and the turn in it, where the same call gave something else elsewhere.
    place: Option<(usize, usize)>,
    given: Given,
}

/// A call with what it gave and where.
struct Made {
    tool: String,
    args: Map<String, Value>,
    place: (usize, usize),
    given: Given,
}

impl Session {
    fn read(ledger: &Ledger, id: &str) -> Self {
        let started = ledger.started().cloned().unwrap_or_default();
        let at_top = |event: &&Arc<Event>| {
            event.invocation.as_ref().is_none_or(|invocation| invocation.enclosure().is_empty())
        };
        let events: Vec<&Arc<Event>> = ledger.events().iter().filter(at_top).collect();
        let answered = |event: &&&Arc<Event>| matches!(event.body, EventBody::ModelResponse(_));
        let agent =
            events.iter().find(answered).map_or_else(|| started.agent.clone(), |event| event.author.clone());
        let short = id.get(..8).unwrap_or(id);
        let mut session = Self {
            name: match &started.case {
                Some(case) => format!("{case} (recorded)"),
                None => format!("Session {short}"),
            },
            about: format!("What {agent} did in session {short}, and does ever after"),
            agent: agent.to_string(),
            model: None,
            setup: ModelSetup::default(),
            state: without_scenario(started.state.to_value()),
            steps: Vec::new(),
            script: Vec::new(),
            mocks: Vec::new(),
            losses: Vec::new(),
            id: id.to_owned(),
        };
        let mut made = Vec::new();
        let mut step = None;
        let mut others = BTreeSet::new();
        for event in events {
            let own = event.author == agent;
            match &event.body {
                EventBody::StepStarted(started) => {
                    step = Some(started.clone());
                    match started.kind {
                        StepKind::Conversation => session.steps.push(Step::new(started.name.clone(), true)),
                        StepKind::Input => {}
                        StepKind::Code => {
                            session.losses.push(format!("step {} ran code, which is left out", started.step));
                        }
                    }
                }
                EventBody::UserMessage { content } => session.read_message(content, &mut step),
                EventBody::UserHungUp(ended) if !ended.said.is_empty() => {
                    session.step().farewell = Some(ended.said.clone());
                }
                EventBody::ModelRequest(_) if own => session.read_setup(ledger, event),
                EventBody::ModelResponse(response) if own => session.read_answer(ledger, response),
                EventBody::ToolCall { call, .. } if own => {
                    made.extend(ledger.call(call).and_then(|view| session.read_call(&view)));
                }
                EventBody::ModelResponse(_) | EventBody::ToolCall { .. } => {
                    others.insert(event.author.to_string());
                }
                EventBody::Error(failure) => {
                    session
                        .losses
                        .push(format!("the session ended with an error: {}", first_line(&failure.message)));
                }
                _ => {}
            }
        }
        for other in others {
            session.losses.push(format!("what the agent `{other}` did is left out: a file has one agent"));
        }
        session.mocks = mocks(&made, &mut session.losses);
        session.complete_tools();
        session
    }

    fn read_message(&mut self, content: &Content, step: &mut Option<StepStarted>) {
        if step.as_ref().is_none_or(|step| step.kind != StepKind::Conversation) {
            let name = step.as_mut().and_then(|step| step.name.take());
            self.steps.push(Step::new(name, false));
        }
        if content.parts.iter().any(|part| part.as_text().is_none()) {
            self.losses.push("of a message only its text is said".to_owned());
        }
        self.step().said.push(content.text());
    }

    fn read_answer(&mut self, ledger: &Ledger, response: &ModelResponse) {
        let calls: Vec<_> = response.content.calls().collect();
        let refused = |id: &CallId| ledger.call(id).is_some_and(|view| is_refused(&view));
        let answer = Answer {
            text: response.content.text(),
            calls: calls.iter().map(|call| (call.name.clone(), call.args.clone())).collect(),
            is_invalid: calls.iter().any(|call| call.id.as_ref().is_some_and(refused)),
        };
        let step = self.step();
        step.agent_opens |= step.said.is_empty();
        step.replies.extend(Some(&answer.text).filter(|text| !text.is_empty()).cloned());
        self.script.push(answer);
    }

    /// Takes a call; gives what came of it. Of one that the engine refused there is nothing to play and to ask.
    fn read_call(&mut self, view: &CallView<'_>) -> Option<Made> {
        if is_refused(view) {
            return None;
        }
        let (tool, args) = (view.tool.to_string(), (**view.args).clone());
        let place = (self.steps.len(), self.steps.last().map_or(1, Step::turn));
        self.step().calls.push((tool.clone(), args.clone()));
        let Some(result) = view.result() else {
            self.losses.push(format!("a call of `{tool}` had no result"));
            return None;
        };
        let given = Given { outcome: result.outcome.clone(), changes: together(&result.changes) };
        Some(Made { tool, args, place, given })
    }

    /// The step that is played; one is made where the agent speaks first outside of any.
    fn step(&mut self) -> &mut Step {
        if self.steps.is_empty() {
            self.steps.push(Step::new(None, true));
        }
        let last = self.steps.len() - 1;
        &mut self.steps[last]
    }

    /// Takes the agent's setup from a request; tools that come later are tools too.
    fn read_setup(&mut self, ledger: &Ledger, event: &Event) {
        let Some(request) = event.turn.as_ref().and_then(|turn| ledger.request(turn)) else { return };
        let setup = &request.setup;
        if self.model.is_none() {
            self.model = Some(setup.model.clone());
            self.setup = ModelSetup { tools: Vec::new(), ..(**setup).clone() };
        } else if setup.system != self.setup.system
            && !self.losses.iter().any(|loss| loss.contains("instructions"))
        {
            self.losses.push("its instructions changed; those of the first request are written".to_owned());
        }
        for tool in &setup.tools {
            if !self.setup.tools.iter().any(|known| known.name == tool.name) {
                self.setup.tools.push(tool.clone());
            }
        }
    }

    /// Where the agent ran elsewhere, only its calls tell what tools it has.
    fn complete_tools(&mut self) {
        if self.model.is_some() {
            return;
        }
        self.losses.push(
            "the agent ran elsewhere: its instructions and the schemas of its tools are not known".to_owned(),
        );
        for (tool, _) in self.steps.iter().flat_map(|step| &step.calls) {
            if !self.setup.tools.iter().any(|known| known.name == *tool) {
                self.setup.tools.push(Arc::new(ToolDeclaration::new(tool.clone(), "")));
            }
        }
    }

    fn has_tool(&self, name: &str) -> bool {
        self.setup.tools.iter().any(|tool| tool.name == name)
    }
}

impl Step {
    fn new(name: Option<String>, is_conversation: bool) -> Self {
        Self {
            name,
            is_conversation,
            agent_opens: false,
            said: Vec::new(),
            farewell: None,
            calls: Vec::new(),
            replies: Vec::new(),
        }
    }

    /// The turn in which it is.
    fn turn(&self) -> usize {
        (self.said.len() + usize::from(self.agent_opens)).max(1)
    }
}

fn is_refused(view: &CallView<'_>) -> bool {
    let decision = view.answer.and_then(|event| event.decision.as_ref());
    decision.is_some_and(|decision| decision.by == Player::Engine)
}

/// One mock for each call; where the same call gave different things, one for each place.
fn mocks(made: &[Made], losses: &mut Vec<String>) -> Vec<Mock> {
    let same = |a: &Made, b: &Made| a.tool == b.tool && a.args == b.args;
    let mut mocks = Vec::new();
    for (at, call) in made.iter().enumerate() {
        let differs = made.iter().any(|other| same(call, other) && other.given != call.given);
        let earlier = || made[..at].iter().filter(|other| same(call, other));
        if !differs {
            if earlier().next().is_none() {
                mocks.push(Mock::of(call, None));
            }
            continue;
        }
        match earlier().find(|other| other.place == call.place) {
            None => mocks.push(Mock::of(call, Some(call.place))),
            Some(other) if other.given == call.given => {}
            Some(_) => losses.push(format!(
                "the same call of `{}` gave different things within one turn; the first is written",
                call.tool
            )),
        }
    }
    mocks
}

impl Mock {
    fn of(made: &Made, place: Option<(usize, usize)>) -> Self {
        Self { tool: made.tool.clone(), args: made.args.clone(), place, given: made.given.clone() }
    }
}

/// Changes one after the other as one: scopes, and what is in them.
fn together(changes: &[StatePatch]) -> Map<String, Value> {
    let mut all = Map::new();
    let scopes = changes.iter().flat_map(StatePatch::scopes).filter(|(scope, _)| *scope != SCENARIO);
    for (scope, fields) in scopes {
        let fields = Map::from_iter([(scope.to_owned(), Value::Object(fields.clone()))]);
        follow(&mut all, fields);
    }
    all
}

/// What two patches do one after the other; unlike a merged value, it says what is taken out.
fn follow(patch: &mut Map<String, Value>, later: Map<String, Value>) {
    for (key, change) in later {
        match (patch.get_mut(&key), change) {
            (Some(Value::Object(fields)), Value::Object(change)) => follow(fields, change),
            (_, change) => drop(patch.insert(key, change)),
        }
    }
}

fn without_scenario(state: Value) -> Map<String, Value> {
    let Value::Object(mut scopes) = state else { return Map::new() };
    drop(scopes.shift_remove(SCENARIO));
    scopes
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}
