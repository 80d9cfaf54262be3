//! What a run of a scenario came to, for people and programs that read the result.

use std::fmt;
use std::sync::Arc;

use rehearsal_core::{
    CaseResult, EndReason, Event, EventBody, Evidence, Failure, Ledger, Line, LineKind, MetricStatus, Player,
    Timestamp, TokenUsage, ToolOutcome, Usage, Verdict,
};
use rehearsal_sim::CaseRun;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::play::{evaluators, mocks, termination};
use crate::score::MISSING_STEP;
use crate::{Action, Conversation, Evaluation, Prices, Scenario, Scope, Step, StepKind, StepView, TurnView};

/// What a run of a scenario came to.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScenarioResult {
    /// The scenario.
    pub name: String,
    /// What it is about.
    pub description: String,
    /// Words to select it by.
    pub tags: Vec<String>,
    /// Its file.
    pub file: String,
    /// Which repeat of it, from 0.
    pub repeat: u32,
    /// What it came to.
    #[schemars(with = "Word<VerdictWord>")]
    pub verdict: Verdict,
    /// The seed that repeats it, as digits.
    #[serde(with = "rehearsal_core::json::seed")]
    #[schemars(with = "String")]
    pub seed: u64,
    /// How long it took.
    pub duration_ms: u64,
    /// What went wrong, if something did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<FailureForm>")]
    pub error: Option<Failure>,
    /// Why it ended before its steps did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terminated_by: Option<String>,
    /// Its steps, in order.
    pub steps: Vec<StepResult>,
    /// What its mocks did.
    pub mocks: MockReport,
    /// The tokens that were used, by the part that used them; nothing where no provider said.
    #[schemars(with = "Value")]
    pub token_usage: TokenUsage,
    /// The folder of the run, where it was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// Its ledgers, by file, where they were written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ledgers: Vec<String>,
    /// Its sessions in the store, by id, where they were kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sessions: Vec<String>,
}

/// What a step came to.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StepResult {
    /// Its number, from 1.
    pub step: usize,
    /// Its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What it does: `input`, `conversation` or `code`.
    pub kind: String,
    /// What it came to.
    pub status: StepStatus,
    /// What there is to say about that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// How it was executed; nothing for a step that was skipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution: Option<ExecutionResult>,
    /// What its evaluations found.
    pub evaluations: Vec<EvaluationResult>,
    /// Its conversation, where it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<ConversationResult>,
}

/// What a step came to, in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StepStatus {
    /// All its evaluations passed.
    Passed,
    /// One of its evaluations did not pass.
    Failed,
    /// It came to its end, and nothing was asked of it.
    Unjudged,
    /// It did not come to its end.
    Errored,
    /// It was not begun.
    Skipped,
}

/// How a step or a turn was executed.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExecutionResult {
    /// How its code ended; 0 for one that talked and came to its end, nothing for one that did not.
    pub exit_code: Option<i32>,
    /// What its code wrote, or what was said.
    pub stdout: String,
    /// What its code complained of.
    pub stderr: String,
    /// The files in the environment, by path: the text, or an object that says why there is none.
    pub files: Map<String, Value>,
    /// When it began, in milliseconds since 1970.
    pub started_at_ms: i64,
    /// When it ended.
    pub ended_at_ms: i64,
    /// How long it took.
    pub duration_ms: i64,
    /// What the agent did.
    pub trajectory: Vec<TrajectoryStep>,
}

/// Something the agent did or was given.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TrajectoryStep {
    /// `thought`, `action`, `observation` or `message`.
    #[serde(rename = "type")]
    pub kind: String,
    /// When.
    pub timestamp: String,
    /// The number of its event on the ledger.
    pub event: u64,
    /// What.
    pub content: Value,
}

/// What an evaluation found.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EvaluationResult {
    /// Its name in the case.
    pub name: String,
    /// What it asks, without where.
    #[serde(default)]
    pub label: String,
    /// What it looked at.
    #[serde(default)]
    pub scope: EvaluationScope,
    /// Its type, such as `string_contains`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The line it stands at in the file.
    pub line: usize,
    /// Why it is asked, in the words of the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// `passed`, `failed`, `error` or `unscored`.
    #[schemars(with = "Word<StatusWord>")]
    pub status: MetricStatus,
    /// Whether it passed.
    pub success: bool,
    /// What was looked for and what was found.
    pub message: String,
    /// How good, from 0 to 1, where it has degrees.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// The value it looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
    /// Why it came to that, with the numbers of events on the ledger.
    #[schemars(with = "Vec<EvidenceForm>")]
    pub evidence: Vec<Evidence>,
}

/// What an evaluation looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "of", rename_all = "snake_case")]
pub enum EvaluationScope {
    /// The whole session, or what an earlier version did not say.
    #[default]
    Session,
    /// A step.
    Step {
        /// Its number, from 1.
        step: usize,
    },
    /// A turn of a conversation.
    Turn {
        /// The number of the step, from 1.
        step: usize,
        /// The number of the turn in it, from 1.
        turn: usize,
    },
    /// A conversation, when it had ended.
    Final {
        /// The number of the step, from 1.
        step: usize,
    },
}

impl EvaluationScope {
    /// The part of the ledger that is looked at.
    pub(crate) fn scope(self) -> Scope {
        match self {
            Self::Session => Scope::Session,
            Self::Step { step } | Self::Final { step } => Scope::Step(step),
            Self::Turn { step, turn } => Scope::Turn { step, turn },
        }
    }
}

/// Where it stands in the names of a case.
impl fmt::Display for EvaluationScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Session => Ok(()),
            Self::Step { step } => write!(f, "{step}"),
            Self::Turn { step, turn } => write!(f, "{step}.{turn}"),
            Self::Final { step } => write!(f, "{step} final"),
        }
    }
}

/// A conversation and what it came to.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConversationResult {
    /// Its turns, in order.
    pub turns: Vec<ConversationTurn>,
    /// How long it took, in milliseconds.
    pub total_duration: i64,
    /// Whether it ended before the most turns were taken.
    pub terminated_early: bool,
    /// What ended it.
    pub termination_reason: Option<String>,
    /// Why that was found to hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub termination_detail: Option<String>,
    /// What its final evaluations found.
    pub final_evaluations: Vec<EvaluationResult>,
    /// What was said; nothing when the file does not want it exported.
    pub conversation_transcript: Option<String>,
    /// Whether every turn was answered and every turn and final evaluation passed.
    pub success: bool,
    /// Counts and times.
    pub metrics: ConversationMetrics,
}

/// One exchange with the agent.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConversationTurn {
    /// Its number, from 1.
    pub turn_number: usize,
    /// What the user said.
    pub user_input: String,
    /// What the agent answered.
    pub agent_response: String,
    /// The session it belongs to.
    pub room_id: String,
    /// What the agent did.
    pub trajectory: Vec<TrajectoryStep>,
    /// How long it took, in milliseconds.
    pub duration: i64,
    /// How it was executed.
    pub execution_result: ExecutionResult,
    /// What the evaluations of this turn found.
    pub turn_evaluations: Vec<EvaluationResult>,
}

/// Counts and times of a conversation.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConversationMetrics {
    /// How long it took, in milliseconds.
    pub total_duration: i64,
    /// How many turns were taken.
    pub turn_count: usize,
    /// How long a turn took on average, in milliseconds.
    pub avg_turn_duration: f64,
    /// How often models were asked in a turn on average: the agent's, the simulated user's and the judge's.
    pub llm_calls_per_turn: f64,
    /// The tokens that were used; nothing where a provider did not say.
    pub token_usage: ConversationTokens,
}

/// Tokens of a conversation, read and written together; nothing where a provider did not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConversationTokens {
    /// All of them.
    pub total: Option<u64>,
    /// The simulated user's.
    pub user_simulation: Option<u64>,
    /// The agent's.
    pub agent_responses: Option<u64>,
    /// The judge's.
    pub evaluations: Option<u64>,
}

/// What the mocks of a scenario did.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MockReport {
    /// Which mock answered which call.
    pub answered: Vec<MockAnswer>,
    /// The mocks that answered nothing.
    pub unused: Vec<String>,
}

/// A call that a mock or a real tool answered.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MockAnswer {
    /// The number of the result's event on the ledger.
    pub event: u64,
    /// The tool.
    pub tool: String,
    /// The mock; `the real tool` for one that ran.
    pub by: String,
    /// Whether the answer was an error.
    pub failed: bool,
}

/// Stands for a type of another crate in the schema of the result.
#[derive(JsonSchema)]
#[schemars(transparent)]
struct Word<T>(T);

#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case", rename = "Verdict")]
#[expect(dead_code, reason = "only its schema is used")]
enum VerdictWord {
    Passed,
    Failed,
    Error,
    Terminated,
    Unjudged,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case", rename = "EvaluationStatus")]
#[expect(dead_code, reason = "only its schema is used")]
enum StatusWord {
    Passed,
    Failed,
    Error,
    Unscored,
}

#[derive(JsonSchema)]
#[schemars(rename = "Failure")]
#[expect(dead_code, reason = "only its schema is used")]
struct FailureForm {
    /// The part of the run that failed: `system`, `user_agent` or `metric`.
    phase: String,
    /// A word for the kind of failure.
    kind: String,
    /// What went wrong and how to fix it.
    message: String,
}

#[derive(JsonSchema)]
#[schemars(rename = "Evidence")]
#[expect(dead_code, reason = "only its schema is used")]
struct EvidenceForm {
    /// The reason.
    text: String,
    /// The numbers of the events it points at.
    #[schemars(default, skip_serializing_if = "Vec::is_empty")]
    events: Vec<u64>,
}

impl ScenarioResult {
    /// Reads what a run came to from its ledgers.
    pub fn new(scenario: &Scenario, file: &str, run: &CaseRun) -> Self {
        let result = &run.result;
        let reading = Reading { scenario, run, prices: Arc::new(scenario.prices.clone()) };
        Self {
            name: scenario.name.clone(),
            description: scenario.description.clone(),
            tags: scenario.tags.clone(),
            file: file.to_owned(),
            repeat: result.repeat,
            verdict: result.status,
            seed: result.seed,
            duration_ms: result.duration_ms,
            error: result.error.clone(),
            terminated_by: Termination::of(run).map(|termination| termination.to_string()),
            steps: reading.steps(),
            mocks: reading.mocks(),
            token_usage: result.token_usage,
            folder: kept_folder(&run.main),
            ledgers: Vec::new(),
            sessions: Vec::new(),
        }
    }

    /// All evaluations, in the order they were made.
    pub fn evaluations(&self) -> impl Iterator<Item = (&StepResult, &EvaluationResult)> {
        self.steps.iter().flat_map(|step| {
            let conversation = step.conversation.iter().flat_map(|conversation| {
                let turns = conversation.turns.iter().flat_map(|turn| &turn.turn_evaluations);
                turns.chain(&conversation.final_evaluations)
            });
            conversation.chain(&step.evaluations).map(move |evaluation| (step, evaluation))
        })
    }
}

/// What ended a run before its steps did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Termination {
    /// A limit of the file, in its words.
    Limit(String),
    /// The limit of the whole run.
    RunLimit,
    /// Another reason.
    Reason(EndReason),
}

impl Termination {
    /// What ended a run, if something did before its steps.
    pub fn of(run: &CaseRun) -> Option<Self> {
        Some(match run.result.termination_reason? {
            EndReason::MaxDuration => time_limit(&run.main).map_or(Self::RunLimit, Self::Limit),
            reason => Self::Reason(reason),
        })
    }
}

impl fmt::Display for Termination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Limit(limit) => write!(f, "{limit} was reached"),
            Self::RunLimit => f.write_str("the time limit of the run was reached"),
            Self::Reason(reason) => {
                f.write_str(&json!(reason).as_str().unwrap_or_default().replace('_', " "))
            }
        }
    }
}

fn time_limit(main: &Ledger) -> Option<String> {
    main.events().iter().rev().find_map(|event| match &event.body {
        EventBody::TimeLimit(reached) => Some(reached.limit.clone()),
        _ => None,
    })
}

fn kept_folder(main: &Ledger) -> Option<String> {
    main.events().iter().rev().find_map(|event| match &event.body {
        EventBody::FolderKept { folder } => Some(folder.clone()),
        _ => None,
    })
}

struct Reading<'a> {
    scenario: &'a Scenario,
    run: &'a CaseRun,
    prices: Arc<Prices>,
}

impl Reading<'_> {
    fn steps(&self) -> Vec<StepResult> {
        let views = StepView::all(&self.run.main);
        let steps = self.scenario.run.iter().enumerate();
        steps
            .map(|(index, step)| {
                let number = index + 1;
                match views.iter().find(|view| view.started.step == number) {
                    Some(view) => self.step(step, view),
                    None => skipped(step, number, &self.run.result, views.len()),
                }
            })
            .collect()
    }

    fn step(&self, step: &Step, view: &StepView<'_>) -> StepResult {
        let number = view.started.step;
        let evaluations = self.found(&step.evaluations, EvaluationScope::Step { step: number });
        let conversation = match &step.action {
            Action::Conversation { conversation, .. } => Some(self.conversation(conversation, view)),
            _ => None,
        };
        let mut all: Vec<&EvaluationResult> = evaluations.iter().collect();
        if let Some(conversation) = &conversation {
            all.extend(conversation.turns.iter().flat_map(|turn| &turn.turn_evaluations));
            all.extend(&conversation.final_evaluations);
        }
        let is_broken = self.run.result.termination_reason == Some(EndReason::RuleBroken);
        let (status, note) = match &view.ended {
            None if is_broken => (StepStatus::Failed, Some("it was ended by a broken rule".to_owned())),
            None => (StepStatus::Errored, Some("it did not come to its end".to_owned())),
            Some(_) if all.is_empty() => (StepStatus::Unjudged, Some("it has no evaluations".to_owned())),
            Some(_) if all.iter().all(|evaluation| evaluation.success) => (StepStatus::Passed, None),
            Some(_) => (StepStatus::Failed, None),
        };
        StepResult {
            step: number,
            name: step.name.clone(),
            kind: kind(step).to_owned(),
            status,
            note,
            execution: Some(execution(view)),
            evaluations,
            conversation,
        }
    }

    /// What the evaluations of a list found; those that were not made are unscored.
    fn found(&self, evaluations: &[Evaluation], scope: EvaluationScope) -> Vec<EvaluationResult> {
        let named = evaluators(evaluations, scope, &self.prices);
        let pairs = named.iter().zip(evaluations);
        pairs
            .map(|(metric, evaluation)| {
                let found = self.run.result.metrics.get(metric.name());
                let nothing = "it was not evaluated";
                EvaluationResult {
                    name: metric.name().to_owned(),
                    label: evaluation.label(),
                    scope,
                    kind: evaluation.type_name().to_owned(),
                    line: evaluation.line,
                    description: evaluation.description.clone(),
                    status: found.map_or(MetricStatus::Unscored, |found| found.status),
                    success: found.is_some_and(rehearsal_core::MetricResult::passed),
                    message: found
                        .and_then(|found| found.evidence.first())
                        .map_or_else(|| nothing.to_owned(), |evidence| evidence.text.clone()),
                    score: found.and_then(|found| found.score),
                    value: found.and_then(|found| found.value.clone()),
                    evidence: found.map(|found| found.evidence.clone()).unwrap_or_default(),
                }
            })
            .collect()
    }

    fn conversation(&self, conversation: &Conversation, view: &StepView<'_>) -> ConversationResult {
        let number = view.started.step;
        let views = view.turns();
        let turns: Vec<ConversationTurn> = views
            .iter()
            .map(|turn| {
                let scope = EvaluationScope::Turn { step: number, turn: turn.number };
                self.turn(turn, self.found(&conversation.turn_evaluations, scope))
            })
            .collect();
        let scope = EvaluationScope::Final { step: number };
        let final_evaluations = self.found(&conversation.final_evaluations, scope);
        let end = view.ended.as_ref().and_then(|ended| ended.conversation.clone());
        let passed =
            |evaluations: &[EvaluationResult]| evaluations.iter().all(|evaluation| evaluation.success);
        let total_duration = millis(view.started_at, view.ended_at);
        ConversationResult {
            success: end.is_some()
                && views.iter().all(|turn| turn.agent.is_some())
                && turns.iter().all(|turn| passed(&turn.turn_evaluations))
                && passed(&final_evaluations),
            metrics: self.conversation_metrics(view, &turns, total_duration),
            turns,
            total_duration,
            terminated_early: end.as_ref().is_none_or(|end| end.terminated_early),
            termination_reason: end.as_ref().map(|end| end.reason.clone()),
            termination_detail: end.map(|end| end.detail),
            final_evaluations,
            conversation_transcript: conversation
                .export_full_transcript
                .then(|| termination::transcript(&views)),
        }
    }

    fn turn(&self, turn: &TurnView<'_>, turn_evaluations: Vec<EvaluationResult>) -> ConversationTurn {
        let said = |message: &Option<(u64, String)>| {
            message.as_ref().map_or(String::new(), |(_, text)| text.clone())
        };
        let (first, last) = (turn.events.first(), turn.events.iter().rev().find(|event| is_of_agent(event)));
        let began = first.map_or(Timestamp::UNIX_EPOCH, |event| event.at);
        let ended = last.map_or(began, |event| event.at);
        let trajectory = trajectory(turn.events);
        ConversationTurn {
            turn_number: turn.number,
            user_input: said(&turn.user),
            agent_response: said(&turn.agent),
            room_id: self.run.main.session().as_str().to_owned(),
            duration: millis(began, ended),
            execution_result: ExecutionResult {
                exit_code: turn.agent.is_some().then_some(0),
                stdout: said(&turn.agent),
                stderr: String::new(),
                files: Map::new(),
                started_at_ms: began.as_millisecond(),
                ended_at_ms: ended.as_millisecond(),
                duration_ms: millis(began, ended),
                trajectory: trajectory.clone(),
            },
            trajectory,
            turn_evaluations,
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "counts and milliseconds")]
    fn conversation_metrics(
        &self,
        view: &StepView<'_>,
        turns: &[ConversationTurn],
        total_duration: i64,
    ) -> ConversationMetrics {
        let agent = asked(view.events.iter());
        let user = asked(self.simulations(view).into_iter());
        let judging = self.run.judge.iter().flat_map(Ledger::events);
        let judge = asked(judging.filter(|event| step_asked_about(event) == Some(view.started.step)));
        let total = match (agent.1, user.1, judge.1) {
            (Some(agent), Some(user), Some(judge)) => Some(agent + user + judge),
            _ => None,
        };
        let count = turns.len().max(1) as f64;
        ConversationMetrics {
            total_duration,
            turn_count: turns.len(),
            avg_turn_duration: turns.iter().map(|turn| turn.duration as f64).sum::<f64>() / count,
            llm_calls_per_turn: (agent.0 + user.0 + judge.0) as f64 / count,
            token_usage: ConversationTokens {
                total,
                user_simulation: user.1,
                agent_responses: agent.1,
                evaluations: judge.1,
            },
        }
    }

    /// What the simulated user did for the messages of a step.
    ///
    /// Each message is made up in an execution of its own, in the order in which they are said, so it is enough to count
    /// them. A message of a step that did not come to its end may have been made up and never said.
    fn simulations(&self, view: &StepView<'_>) -> Vec<&Arc<Event>> {
        let simulated = |view: &StepView<'_>| view.events.iter().filter(|event| is_simulated(event)).count();
        let steps = StepView::all(&self.run.main);
        let before: usize =
            steps.iter().filter(|other| other.started.step < view.started.step).map(simulated).sum();
        let own = if view.ended.is_some() { simulated(view) } else { usize::MAX };
        let mut executions: Vec<&str> = Vec::new();
        let mut events = Vec::new();
        for event in self.run.users.iter().flat_map(Ledger::events) {
            let Some(execution) = event.invocation.as_ref().map(|path| root(path.as_str())) else { continue };
            if executions.last() != Some(&execution) {
                executions.push(execution);
            }
            let number = executions.len() - 1;
            if number >= before && number - before < own {
                events.push(event);
            }
        }
        events
    }

    fn mocks(&self) -> MockReport {
        let answered: Vec<MockAnswer> =
            self.run.main.events().iter().filter_map(|event| mock_answer(event)).collect();
        // Those of the agent's file are for many scenarios.
        let labels = self.scenario.setup.mocks.iter().enumerate().filter(|(_, mock)| !mock.of_agent);
        let labels = labels.map(|(index, mock)| mocks::label(index, mock));
        let unused = labels.filter(|label| !answered.iter().any(|answer| answer.by == *label)).collect();
        MockReport { answered, unused }
    }
}

fn mock_answer(event: &Event) -> Option<MockAnswer> {
    let (EventBody::ToolResult(result), Some(decision)) = (&event.body, &event.decision) else { return None };
    let by = match (decision.by, &decision.name) {
        (Player::Mock | Player::Person, Some(name)) => name.to_string(),
        (Player::Tool, _) => "the real tool".to_owned(),
        _ => return None,
    };
    Some(MockAnswer {
        event: event.seq,
        tool: result.tool.to_string(),
        by,
        failed: result.outcome.is_error(),
    })
}

fn is_simulated(event: &Event) -> bool {
    let by = event.decision.as_ref().map(|decision| decision.by);
    matches!(event.body, EventBody::UserMessage { .. }) && by == Some(Player::Agent)
}

/// The first step of a path.
fn root(path: &str) -> &str {
    path.split_once('/').map_or(path, |(first, _)| first)
}

/// The step that the judge was asked about: both an evaluation, such as `4-2.1: llm_judge …`, and a condition, such as
/// `condition-2.1-goal_achieved`, have its number after the first dash.
fn step_asked_about(event: &Event) -> Option<usize> {
    let (_, about) = event.invocation.as_ref()?.as_str().split_once('-')?;
    let digits = about.len() - about.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    about[..digits].parse().ok()
}

/// How often models were asked, and the tokens of that; nothing where one answer does not say.
fn asked<'a>(events: impl Iterator<Item = &'a Arc<Event>>) -> (usize, Option<u64>) {
    let answers = events.filter_map(|event| match &event.body {
        EventBody::ModelResponse(response) => Some(response.usage),
        _ => None,
    });
    answers.fold((0, Some(0)), |(count, tokens), usage: Option<Usage>| {
        let more = usage.map(|usage| usage.input.saturating_add(usage.output));
        (count + 1, tokens.zip(more).map(|(a, b): (u64, u64)| a.saturating_add(b)))
    })
}

/// A step that was not begun, when so many were.
fn skipped(step: &Step, number: usize, result: &CaseResult, begun: usize) -> StepResult {
    let why = match (&result.error, begun) {
        (Some(error), _) if error.kind == MISSING_STEP => "not on the ledger",
        (Some(_), 0) => "skipped, because the set-up failed",
        (Some(_), _) => "skipped, because an earlier step did not come to its end",
        (None, _) => "skipped, because the run was ended before",
    };
    StepResult {
        step: number,
        name: step.name.clone(),
        kind: kind(step).to_owned(),
        status: StepStatus::Skipped,
        note: Some(why.to_owned()),
        execution: None,
        evaluations: Vec::new(),
        conversation: None,
    }
}

fn kind(step: &Step) -> &'static str {
    match step.action {
        Action::Input(_) => "input",
        Action::Conversation { .. } => "conversation",
        Action::Code { .. } => "code",
    }
}

fn execution(view: &StepView<'_>) -> ExecutionResult {
    let ended = view.ended.as_ref();
    let reply = || match view.started.kind {
        StepKind::Code => String::new(),
        _ => view.reply().unwrap_or_default(),
    };
    ExecutionResult {
        exit_code: ended.and_then(|ended| ended.exit_code),
        stdout: ended.map_or_else(reply, |ended| ended.stdout.clone()),
        stderr: ended.map_or_else(String::new, |ended| ended.stderr.clone()),
        files: ended.map_or_else(Map::new, |ended| ended.files.clone()),
        started_at_ms: view.started_at.as_millisecond(),
        ended_at_ms: view.ended_at.as_millisecond(),
        duration_ms: millis(view.started_at, view.ended_at),
        trajectory: trajectory(view.events),
    }
}

fn millis(start: Timestamp, end: Timestamp) -> i64 {
    end.as_millisecond() - start.as_millisecond()
}

fn is_of_agent(event: &Event) -> bool {
    matches!(
        event.body,
        EventBody::ModelResponse(_) | EventBody::ToolResult(_) | EventBody::AgentEnded { .. }
    )
}

/// What the agent did: what it said and thought, the tools it called and what they gave.
fn trajectory(events: &[Arc<Event>]) -> Vec<TrajectoryStep> {
    let mut steps = Vec::new();
    for event in events {
        let mut push = |kind: &str, content: Value| {
            let timestamp = event.at.to_string();
            steps.push(TrajectoryStep { kind: kind.to_owned(), timestamp, event: event.seq, content });
        };
        if let EventBody::ModelResponse(response) = &event.body {
            for part in response.content.parts.iter().filter(|part| part.thought) {
                if let Some(text) = part.as_text() {
                    push("thought", text.into());
                }
            }
        }
        match Line::of(event).map(|line| line.kind) {
            Some(LineKind::Agent(text)) => push("message", text.into()),
            Some(LineKind::Call { tool, args }) => {
                push("action", json!({"name": &*tool, "parameters": args}));
            }
            Some(LineKind::Result { tool, outcome }) => {
                let content = match outcome {
                    ToolOutcome::Output(value) => json!({"name": &*tool, "result": value}),
                    ToolOutcome::Error(error) => json!({"name": &*tool, "error": error}),
                };
                push("observation", content);
            }
            _ => {}
        }
    }
    steps
}
