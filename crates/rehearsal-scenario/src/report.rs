//! What a run of a scenario came to, read from its ledgers.

use std::collections::BTreeMap;
use std::sync::Arc;

use indexmap::IndexMap;
use rehearsal_core::{
    CaseResult, ConversationMetrics, ConversationResult, ConversationTokens, ConversationTurn, EndReason,
    EvaluationResult, EvaluationScope, Event, EventBody, ExecutionResult, Ledger, Line, LineKind,
    MetricResult, MetricStatus, MockAnswer, MockReport, ModelPrice, Player, StepResult, StepStatus,
    Timestamp, ToolOutcome, TrajectoryKind, TrajectoryStep, Usage,
};
use rehearsal_sim::{CaseRun, question_path};
use serde_json::{Map, Value, json};

use crate::play::{evaluators, mocks, termination};
use crate::score::MISSING_STEP;
use crate::{
    Action, Conversation, Evaluation, MadeFrom, Mock, Prices, Scenario, Step, StepKind, StepView, TurnView,
};

impl Scenario {
    /// What a run of it came to: what the run says, with its steps, as its ledgers show them.
    pub fn result(&self, file: &str, run: &CaseRun) -> CaseResult {
        let reading = Reading { scenario: self, run, prices: Arc::new(self.prices.clone()) };
        let made_from = self.made_from.as_ref();
        let mut result = CaseResult {
            name: self.name.clone(),
            description: self.description.clone(),
            tags: self.tags.clone(),
            file: Some(file.to_owned()),
            scenario: made_from.map(|made| made.scenario.clone()),
            row: made_from.and_then(|made| Some(made.row.as_ref()?.0.clone())),
            variant: made_from.map(MadeFrom::words).unwrap_or_default(),
            // All of them were asked of steps, and stand there.
            metrics: IndexMap::new(),
            steps: reading.steps(),
            mocks: reading.mocks(),
            prices: reading.prices(),
            folder: kept_folder(&run.main),
            ..run.result.clone()
        };
        if result.termination_reason == Some(EndReason::MaxDuration) {
            result.termination_detail = time_limit(&run.main).map(|limit| format!("{limit} was reached"));
        }
        result
    }
}

impl MadeFrom {
    /// The values of a matrix in words, by the names of its axes.
    pub fn words(&self) -> IndexMap<String, String> {
        self.variant.iter().map(|(axis, (words, _))| (axis.clone(), words.clone())).collect()
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
    /// The prices of the models that answered.
    fn prices(&self) -> BTreeMap<String, ModelPrice> {
        let mut prices = BTreeMap::new();
        if self.prices.0.is_empty() {
            return prices;
        }
        for event in self.run.ledgers().flat_map(Ledger::events) {
            let answered =
                matches!(event.body, EventBody::ModelResponse(_)).then_some(event.decision.as_ref());
            let Some(model) = answered.flatten().and_then(|decision| decision.name.as_deref()) else {
                continue;
            };
            if let Some(price) = self.prices.0.get(model) {
                prices.insert(model.to_owned(), *price);
            }
        }
        prices
    }

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
            Action::Conversation { conversation, .. } => {
                Some(self.conversation(conversation, view, &evaluations))
            }
            _ => None,
        };
        let mut result = StepResult {
            step: number,
            name: step.name.clone(),
            kind: step.action.kind(),
            status: StepStatus::Unjudged,
            note: None,
            execution: Some(execution(view)),
            evaluations,
            conversation,
        };
        let mut all = result.evaluations().peekable();
        let is_broken = self.run.result.termination_reason == Some(EndReason::RuleBroken);
        let (status, note) = match &view.ended {
            None if is_broken => (StepStatus::Failed, Some("it was ended by a broken rule".to_owned())),
            None => (StepStatus::Errored, Some("it did not come to its end".to_owned())),
            Some(_) if all.peek().is_none() => {
                (StepStatus::Unjudged, Some("it has no evaluations".to_owned()))
            }
            Some(_) if all.all(|evaluation| evaluation.success) => (StepStatus::Passed, None),
            Some(_) => (StepStatus::Failed, None),
        };
        drop(all);
        (result.status, result.note) = (status, note);
        result
    }

    /// What the evaluations of a list found; those that were not made are unscored.
    fn found(&self, evaluations: &[Evaluation], scope: EvaluationScope) -> Vec<EvaluationResult> {
        let named = evaluators(evaluations, scope, &self.prices);
        let pairs = named.iter().zip(evaluations);
        pairs
            .map(|(metric, evaluation)| {
                let found = self.run.result.metrics.get(metric.name()).cloned();
                let success = found.as_ref().is_some_and(MetricResult::passed);
                let metric_result = found.unwrap_or_else(|| MetricResult::new(MetricStatus::Unscored));
                let message = metric_result.evidence.first().map(|evidence| evidence.text.clone());
                EvaluationResult {
                    name: metric.name().to_owned(),
                    label: evaluation.label(),
                    scope,
                    kind: evaluation.type_name().to_owned(),
                    line: evaluation.line,
                    description: evaluation.description.clone(),
                    success,
                    message: message.unwrap_or_else(|| "it was not evaluated".to_owned()),
                    metric: metric_result,
                }
            })
            .collect()
    }

    fn conversation(
        &self,
        conversation: &Conversation,
        view: &StepView<'_>,
        of_step: &[EvaluationResult],
    ) -> ConversationResult {
        let number = view.started.step;
        let views = view.turns();
        let turns: Vec<ConversationTurn> = views
            .iter()
            .map(|turn| {
                let scope = EvaluationScope::Turn { step: number, turn: turn.number };
                self.turn(number, turn, self.found(&conversation.turn_evaluations, scope))
            })
            .collect();
        let scope = EvaluationScope::Final { step: number };
        let final_evaluations = self.found(&conversation.final_evaluations, scope);
        let end = view.ended.as_ref().and_then(|ended| ended.conversation.clone());
        let passed =
            |evaluations: &[EvaluationResult]| evaluations.iter().all(|evaluation| evaluation.success);
        ConversationResult {
            success: end.is_some()
                && views.iter().all(|turn| turn.agent.is_some())
                && turns.iter().all(|turn| passed(&turn.turn_evaluations))
                && passed(&final_evaluations),
            metrics: self.conversation_metrics(view, &turns, final_evaluations.iter().chain(of_step)),
            turns,
            total_duration: millis(view.started_at, view.ended_at),
            terminated_early: end.as_ref().is_none_or(|end| end.terminated_early),
            termination_reason: end.as_ref().map(|end| end.reason.clone()),
            termination_detail: end.map(|end| end.detail),
            final_evaluations,
            conversation_transcript: conversation
                .export_full_transcript
                .then(|| termination::transcript(&views)),
        }
    }

    fn turn(
        &self,
        step: usize,
        turn: &TurnView<'_>,
        turn_evaluations: Vec<EvaluationResult>,
    ) -> ConversationTurn {
        let said = |message: &Option<(u64, String)>| {
            message.as_ref().map_or(String::new(), |(_, text)| text.clone())
        };
        let (first, last) = (turn.events.first(), turn.events.iter().rev().find(|event| is_of_agent(event)));
        let began = first.map_or(Timestamp::UNIX_EPOCH, |event| event.at);
        let ended = last.map_or(began, |event| event.at);
        let trajectory = trajectory(turn.events);
        let files = self.run.main.events().iter().find_map(|event| match &event.body {
            EventBody::TurnEnded(ended) if (ended.step, ended.turn) == (step, turn.number) => {
                Some(ended.files.clone())
            }
            _ => None,
        });
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
                files: files.unwrap_or_default(),
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
    fn conversation_metrics<'e>(
        &self,
        view: &StepView<'_>,
        turns: &'e [ConversationTurn],
        others: impl Iterator<Item = &'e EvaluationResult>,
    ) -> ConversationMetrics {
        let agent = asked(view.events.iter());
        let user = asked(self.simulations(view).into_iter());
        let evaluations = turns.iter().flat_map(|turn| &turn.turn_evaluations).chain(others);
        let judge = asked(self.questions(view.started.step, evaluations));
        let total = match (agent.1, user.1, judge.1) {
            (Some(agent), Some(user), Some(judge)) => Some(agent + user + judge),
            _ => None,
        };
        let count = turns.len().max(1) as f64;
        ConversationMetrics {
            total_duration: millis(view.started_at, view.ended_at),
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

    /// What the judge did for the evaluations and conditions of a step.
    fn questions<'e>(
        &self,
        step: usize,
        evaluations: impl Iterator<Item = &'e EvaluationResult>,
    ) -> impl Iterator<Item = &Arc<Event>> {
        let metrics = &self.run.result.metrics;
        let of_evaluation = |one: &EvaluationResult| {
            metrics.get_index_of(&one.name).map(|place| question_path(place, &one.name))
        };
        let mut paths = vec![termination::question_path(step)];
        paths.extend(evaluations.filter_map(of_evaluation));
        let is_of_step = move |event: &&Arc<Event>| {
            let path = event.invocation.as_ref();
            path.is_some_and(|path| paths.iter().any(|about| path.is_within(about)))
        };
        self.run.judge.iter().flat_map(Ledger::events).filter(is_of_step)
    }

    fn mocks(&self) -> MockReport {
        let answered: Vec<MockAnswer> =
            self.run.main.events().iter().filter_map(|event| mock_answer(event)).collect();
        // Those of the agent's file, and of others that are shared, are for many scenarios.
        let is_own = |mock: &Mock| !mock.of_agent && mock.shared.is_none();
        let labels = self.scenario.setup.mocks.iter().enumerate().filter(|(_, mock)| is_own(mock));
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
        kind: step.action.kind(),
        status: StepStatus::Skipped,
        note: Some(why.to_owned()),
        execution: None,
        evaluations: Vec::new(),
        conversation: None,
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
        let mut push = |kind: TrajectoryKind, content: Value| {
            steps.push(TrajectoryStep { kind, timestamp: event.at, event: event.seq, content });
        };
        if let EventBody::ModelResponse(response) = &event.body {
            for part in response.content.parts.iter().filter(|part| part.thought) {
                if let Some(text) = part.as_text() {
                    push(TrajectoryKind::Thought, text.into());
                }
            }
        }
        match Line::of(event).map(|line| line.kind) {
            Some(LineKind::Agent(text)) => push(TrajectoryKind::Message, text.into()),
            Some(LineKind::Call { tool, args }) => {
                push(TrajectoryKind::Action, json!({"name": &*tool, "parameters": args}));
            }
            Some(LineKind::Result { tool, outcome }) => {
                let content = match outcome {
                    ToolOutcome::Output(value) => json!({"name": &*tool, "result": value}),
                    ToolOutcome::Error(error) => json!({"name": &*tool, "error": error}),
                };
                push(TrajectoryKind::Observation, content);
            }
            _ => {}
        }
    }
    steps
}
