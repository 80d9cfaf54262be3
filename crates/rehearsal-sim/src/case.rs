//! Cases: one thing to run and judge.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use rehearsal_agent::{AgentRef, Model, ToolRef};
use rehearsal_core::query::Query;
use rehearsal_core::{Content, State};
use rehearsal_metrics::{Metric, MetricRef, Prices};
use serde_json::{Map, Value};

use crate::person::{People, PersonUser};
use crate::{Bridge, Casting, Checker, DefaultBridge, Judges, Limits, LoopUser, Mock, StandIn, UserAgent};

/// One thing to run and judge: an agent, who plays its parts, how it begins and ends, and what is asked of it.
///
/// Cases are isolated from each other: each run has its own sessions and its own state.
///
/// ```
/// use rehearsal_agent::{Loop, Step};
/// use rehearsal_metrics::EventCountMetric;
/// use rehearsal_sim::Case;
///
/// let echo = Step::new("echo", |cx| Ok(cx.respond(cx.input.clone())));
/// let user = Step::new("user", |cx| Ok(cx.respond("and again")));
/// let case = Case::new("echo", Loop::new("conversation", echo).max_rounds(2))
///     .first_message("hello")
///     .loop_user(user)
///     .metric(EventCountMetric::new("two messages", "user_message").exactly(2));
/// let run = case.run_blocking();
/// assert!(run.passed(), "{run}");
/// ```
#[derive(Clone, Debug)]
pub struct Case {
    pub(crate) name: Arc<str>,
    pub(crate) description: String,
    /// The row and the values of a matrix that it was made from.
    pub(crate) row: Option<Map<String, Value>>,
    pub(crate) variant: Option<Map<String, Value>>,
    pub(crate) agent: AgentRef,
    pub(crate) casting: Casting,
    pub(crate) users: UserAgents,
    pub(crate) bridge: Arc<dyn Bridge>,
    pub(crate) initial_state: State,
    pub(crate) opening: Opening,
    pub(crate) termination: Termination,
    pub(crate) metrics: Vec<MetricRef>,
    /// Metrics that only watch: whoever plays the user has them evaluated.
    pub(crate) watching: Vec<MetricRef>,
    pub(crate) judgment: Judgment,
    pub(crate) judges: Judges,
    pub(crate) user_timeout: Duration,
    /// What its models may use.
    pub(crate) limits: Limits,
    /// What they cost.
    pub(crate) prices: Arc<Prices>,
    /// What is wrong with the case itself; it is not run then.
    pub(crate) problems: Vec<String>,
}

/// How a conversation opens.
#[derive(Clone, Debug, PartialEq)]
pub enum Opening {
    /// With this message of the user.
    Message(Content),
    /// With a message that the user agent for the loop makes up.
    User,
    /// With the agent, which runs without having been told anything.
    Agent,
}

/// The user agents of a case. All share one session, so they know what the others asked and answered.
#[derive(Clone, Debug, Default)]
pub struct UserAgents {
    pub(crate) for_loop: Option<Arc<dyn LoopUser>>,
    pub(crate) for_tools: BTreeMap<Arc<str>, AgentRef>,
}

/// Which metrics have to pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Judgment {
    /// Every one of them.
    #[default]
    AllPass,
    /// At least one of them. What could not be decided does not count as a pass, nor as an error when another passes.
    AnyPass,
}

/// When a case ends before its agent does.
#[derive(Clone, Debug)]
pub struct Termination {
    /// After so many yields that were resumed.
    pub max_turns: u64,
    /// After so much time.
    pub max_duration: Option<Duration>,
    /// When the state, an object of scopes, matches.
    pub state_matches: Option<Query>,
}

impl Termination {
    /// The turns a case may take unless it says otherwise.
    pub const DEFAULT_MAX_TURNS: u64 = 50;
}

impl Default for Termination {
    fn default() -> Self {
        Self { max_turns: Self::DEFAULT_MAX_TURNS, max_duration: None, state_matches: None }
    }
}

impl Case {
    /// A case that runs this agent. Nothing is cast: any tool it calls ends the case.
    pub fn new(name: &str, agent: impl Into<AgentRef>) -> Self {
        Self {
            name: name.into(),
            description: String::new(),
            row: None,
            variant: None,
            agent: agent.into(),
            casting: Casting::default(),
            users: UserAgents::default(),
            bridge: Arc::new(DefaultBridge),
            initial_state: State::default(),
            opening: Opening::Agent,
            termination: Termination::default(),
            metrics: Vec::new(),
            watching: Vec::new(),
            judgment: Judgment::AllPass,
            judges: Judges::default(),
            user_timeout: Duration::from_mins(2),
            limits: Limits::default(),
            prices: Arc::default(),
            problems: Vec::new(),
        }
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the case is about.
    pub fn about(&self) -> &str {
        &self.description
    }

    /// The same case with words on what it is about.
    #[must_use]
    pub fn description(mut self, text: impl Into<String>) -> Self {
        self.description = text.into();
        self
    }

    /// The same case, known to be made from this row; it is written to the ledger.
    #[must_use]
    pub fn row(mut self, values: Map<String, Value>) -> Self {
        self.row = Some(values);
        self
    }

    /// The same case, known to be made with these values of a matrix; they are written to the ledger.
    #[must_use]
    pub fn variant(mut self, values: Map<String, Value>) -> Self {
        self.variant = Some(values);
        self
    }

    /// The same case with a mock for a tool.
    #[must_use]
    pub fn mock(mut self, tool: &str, mock: Mock) -> Self {
        self.casting.mock(tool, mock);
        self
    }

    /// The same case with a real tool, which runs when it is called. Hand in only tools without side effects
    /// outside the session.
    #[must_use]
    pub fn real_tool(mut self, tool: impl Into<ToolRef>) -> Self {
        self.casting.real_tool(tool.into());
        self
    }

    /// The same case with another model for one of its agents.
    #[must_use]
    pub fn model_for(mut self, agent: &str, model: Arc<dyn Model>) -> Self {
        self.casting.model(agent, model);
        self
    }

    /// The same case with a person for the model of one of its agents.
    #[must_use]
    pub fn model_by_person(mut self, agent: &str) -> Self {
        self.casting.person_for_model(agent);
        self
    }

    /// The same case with a person for a tool.
    #[must_use]
    pub fn tool_by_person(mut self, tool: &str) -> Self {
        self.casting.person_for_tool(tool);
        self
    }

    /// The same case with a person for the user of the loop.
    #[must_use]
    pub fn user_by_person(self) -> Self {
        self.loop_played_by(PersonUser)
    }

    /// The same case with those who bring to people what they are asked. Without them, a case in which a person plays a
    /// part is not run.
    #[must_use]
    pub fn people(mut self, people: Arc<dyn People>) -> Self {
        self.casting.people(people);
        self
    }

    /// The parts that people play, in words for people; empty when there is somebody who can ask them.
    pub(crate) fn parts_nobody_can_play(&self) -> Vec<String> {
        if !self.casting.people_at_hand().is_empty() {
            return Vec::new();
        }
        let mut parts = self.casting.parts_of_people();
        if self.users.for_loop.as_ref().is_some_and(|user| user.needs_people()) {
            parts.push("the user".to_owned());
        }
        parts
    }

    /// The same case with somebody who plays all tools that nobody else is cast for.
    #[must_use]
    pub fn stand_in(mut self, stand_in: impl StandIn + 'static) -> Self {
        self.casting.stand_in(Arc::new(stand_in));
        self
    }

    /// The same case with somebody in place of whoever plays all tools that nobody else is cast for.
    #[must_use]
    pub fn wrap_stand_in(mut self, wrap: impl FnOnce(Option<Arc<dyn StandIn>>) -> Arc<dyn StandIn>) -> Self {
        self.casting.wrap_stand_in(wrap);
        self
    }

    /// The same case with a user agent that says the next message when a loop yields.
    #[must_use]
    pub fn loop_user(self, agent: impl Into<AgentRef>) -> Self {
        self.loop_played_by(UserAgent::new(agent))
    }

    /// The same case with somebody who plays the user of the loop: says the next message, or ends the case.
    #[must_use]
    pub fn loop_played_by(mut self, user: impl LoopUser + 'static) -> Self {
        self.users.for_loop = Some(Arc::new(user));
        self
    }

    /// The same case with a user agent that gives the result when this tool yields.
    #[must_use]
    pub fn tool_user(mut self, tool: &str, agent: impl Into<AgentRef>) -> Self {
        self.users.for_tools.insert(tool.into(), agent.into());
        self
    }

    /// The same case with another bridge between the agent and its users.
    #[must_use]
    pub fn bridge(mut self, bridge: impl Bridge + 'static) -> Self {
        self.bridge = Arc::new(bridge);
        self
    }

    /// The same case with state to begin with: an object of scopes such as `{"patient": {"age": 55}}`.
    #[must_use]
    pub fn initial_state(mut self, state: Value) -> Self {
        match State::from_value(state) {
            Ok(state) => self.initial_state = state,
            Err(error) => self.problems.push(format!("initial_state: {error}")),
        }
        self
    }

    /// The same case, opened with this message.
    #[must_use]
    pub fn first_message(mut self, text: impl Into<String>) -> Self {
        self.opening = Opening::Message(Content::user(text));
        self
    }

    /// The same case, opened in this way.
    #[must_use]
    pub fn opening(mut self, opening: Opening) -> Self {
        self.opening = opening;
        self
    }

    /// The same case with another limit of yields that are resumed (50 unless told). When the agent yields once
    /// more, the case is terminated.
    #[must_use]
    pub fn max_turns(mut self, turns: u64) -> Self {
        self.termination.max_turns = turns;
        self
    }

    /// The same case with a limit of time; a case that takes longer is terminated.
    #[must_use]
    pub fn max_duration(mut self, duration: Duration) -> Self {
        self.termination.max_duration = Some(duration);
        self
    }

    /// The same case, ending when the state matches this query: an object of scopes such as
    /// `{"session": {"escalation": {"$exists": true}}}`. This is a normal end: the metrics decide.
    #[must_use]
    pub fn state_matches(mut self, query: &Value) -> Self {
        match Query::parse(query) {
            Ok(query) => self.termination.state_matches = Some(query),
            Err(error) => self.problems.push(format!("state_matches: {error}")),
        }
        self
    }

    /// The same case with one more metric. One that watches ends the case at the first event that breaks what it asks; see
    /// [`Metric::watch`].
    #[must_use]
    pub fn metric(mut self, metric: impl Metric + 'static) -> Self {
        self.metrics.push(Arc::new(metric));
        self
    }

    /// The same case with more metrics.
    #[must_use]
    pub fn metrics(mut self, metrics: impl IntoIterator<Item = MetricRef>) -> Self {
        self.metrics.extend(metrics);
        self
    }

    /// The same case with metrics that watch it, and which the user of the loop has evaluated where their time has come; see
    /// [`Scene::evaluate`](crate::Scene::evaluate).
    #[must_use]
    pub fn watching(mut self, metrics: impl IntoIterator<Item = MetricRef>) -> Self {
        self.watching.extend(metrics);
        self
    }

    /// The same case with a tool that metrics may ask for; no agent can call it. See
    /// [`Request::Tool`](rehearsal_metrics::Request::Tool).
    #[must_use]
    pub fn metric_tool(mut self, tool: impl Into<ToolRef>) -> Self {
        let tool = tool.into();
        self.judges.tools.insert(tool.spec().name().to_owned(), tool);
        self
    }

    /// The same case with somebody who asks checks that authors write themselves.
    #[must_use]
    pub fn checker(mut self, checker: Arc<dyn Checker>) -> Self {
        self.judges.checker = Some(checker);
        self
    }

    /// The same case with another rule on which metrics have to pass (all of them unless told).
    #[must_use]
    pub fn judgment(mut self, judgment: Judgment) -> Self {
        self.judgment = judgment;
        self
    }

    /// The same case with a model that judges.
    #[must_use]
    pub fn judge(mut self, model: Arc<dyn Model>) -> Self {
        self.judges.judge = Some(model);
        self
    }

    /// The same case, in which all models together may use no more than this; nothing limits them unless told.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// The same case with what models cost, for limits of it and of the whole run.
    #[must_use]
    pub fn prices(mut self, prices: Arc<Prices>) -> Self {
        self.prices = prices;
        self
    }

    /// The same case with a judge that metrics can ask for by name.
    #[must_use]
    pub fn named_judge(mut self, name: &str, model: Arc<dyn Model>) -> Self {
        self.judges.named.insert(name.to_owned(), model);
        self
    }

    /// The same case, which cannot be run, and why.
    #[must_use]
    pub fn problem(mut self, why: impl Into<String>) -> Self {
        self.problems.push(why.into());
        self
    }

    /// The same case with another limit of time for each answer of a user agent (two minutes unless told).
    #[must_use]
    pub fn user_timeout(mut self, timeout: Duration) -> Self {
        self.user_timeout = timeout;
        self
    }

    /// The same case with another limit of time for each answer of a judge (two minutes unless told).
    #[must_use]
    pub fn judge_timeout(mut self, timeout: Duration) -> Self {
        self.judges.timeout = timeout;
        self
    }
}
