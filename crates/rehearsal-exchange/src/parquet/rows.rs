//! Rows: what is read of a case for the tables.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::str;
use std::sync::Arc;

use rehearsal_core::{
    CaseResult, EvaluationResult, EvaluationScope, Event, EventBody, MetricResult, ModelPrice, SessionPart,
    ToolError, ToolOutcome, Usage,
};
use serde::Serialize;

use super::{ExportError, ExportedCase, ExportedRun, ExportedSession};

/// Which case a row is of.
#[derive(Debug)]
pub(super) struct CaseFacts {
    pub(super) run: Arc<ExportedRun>,
    pub(super) place: u64,
    pub(super) repeat: u32,
    pub(super) name: String,
    /// The agent's session.
    pub(super) session: Option<String>,
    prices: BTreeMap<String, ModelPrice>,
}

/// A row of `cases`.
#[derive(Debug)]
pub(super) struct CaseRow {
    pub(super) of: Arc<CaseFacts>,
    pub(super) result: CaseResult,
    /// The tokens of all its parts.
    pub(super) usage: Option<Usage>,
    pub(super) cost: Option<f64>,
    pub(super) json: String,
}

/// A row of `evaluations`.
#[derive(Debug)]
pub(super) struct EvaluationRow {
    pub(super) of: Arc<CaseFacts>,
    /// Its number in the case, from 0.
    pub(super) number: usize,
    pub(super) name: String,
    /// What it is as an evaluation of a step; nothing for a metric of the case.
    pub(super) step: Option<EvaluationResult>,
    pub(super) metric: MetricResult,
    pub(super) json: String,
}

/// A row of `events`, and of `usage` where a model answered.
#[derive(Debug)]
pub(super) struct EventRow {
    pub(super) of: Arc<CaseFacts>,
    pub(super) session: Arc<str>,
    pub(super) part: SessionPart,
    pub(super) event: Event,
    pub(super) json: String,
}

/// All rows of a case.
#[derive(Debug)]
pub(super) struct Rows {
    pub(super) case: CaseRow,
    pub(super) evaluations: Vec<EvaluationRow>,
    pub(super) events: Vec<EventRow>,
}

impl Rows {
    pub(super) fn of(run: &Arc<ExportedRun>, case: ExportedCase) -> Result<Self, ExportError> {
        let ExportedCase { place, result: json, sessions } = case;
        let result: CaseResult =
            rehearsal_core::json::from_str(&json).map_err(|source| ExportError::Result { place, source })?;
        let main = sessions.iter().find(|session| session.part == SessionPart::Main);
        let session = main.map(|main| &main.id).or(result.sessions.first());
        let of = Arc::new(CaseFacts {
            run: run.clone(),
            place,
            repeat: result.repeat,
            name: result.name.clone(),
            session: session.map(ToString::to_string),
            prices: result.prices.clone(),
        });
        let mut events = Vec::new();
        for session in &sessions {
            add_events(&of, session, &mut events)?;
        }
        let cost = result.cost.or_else(|| cost(&events));
        let usage = usage(&result);
        let evaluations = evaluations(&of, &result);
        Ok(Self { case: CaseRow { of, result, usage, cost, json }, evaluations, events })
    }
}

fn add_events(
    of: &Arc<CaseFacts>,
    session: &ExportedSession,
    events: &mut Vec<EventRow>,
) -> Result<(), ExportError> {
    let id: Arc<str> = session.id.as_str().into();
    let lines = session.lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    for (index, line) in lines.enumerate() {
        let unreadable =
            |source| ExportError::Event { session: session.id.clone(), number: index + 1, source };
        let json = str::from_utf8(line).map_err(|error| {
            unreadable(<serde_json::Error as serde::de::Error>::custom(format_args!(
                "it is no text: {error}"
            )))
        })?;
        let event = rehearsal_core::json::from_str(json).map_err(unreadable)?;
        events.push(EventRow {
            of: of.clone(),
            session: id.clone(),
            part: session.part,
            event,
            json: json.to_owned(),
        });
    }
    Ok(())
}

/// The tokens of all parts of a case; nothing where no provider said any.
fn usage(result: &CaseResult) -> Option<Usage> {
    let parts = result.token_usage;
    let mut said = [parts.agent, parts.user, parts.judge].into_iter().flatten();
    let mut all = said.next()?;
    said.for_each(|usage| all += usage);
    Some(all)
}

/// What the models of a case cost, where that is known of each of their answers.
fn cost(events: &[EventRow]) -> Option<f64> {
    let mut answers = events.iter().filter(|row| row.response().is_some()).peekable();
    answers.peek()?;
    answers.map(EventRow::cost).sum()
}

fn evaluations(of: &Arc<CaseFacts>, result: &CaseResult) -> Vec<EvaluationRow> {
    let metrics =
        result.metrics.iter().map(|(name, metric)| (name.clone(), None, metric.clone(), text(metric)));
    let steps = result
        .evaluations()
        .map(|found| (found.name.clone(), Some(found.clone()), found.metric.clone(), text(found)));
    let all = metrics.chain(steps).enumerate();
    all.map(|(number, (name, step, metric, json))| EvaluationRow {
        of: of.clone(),
        number,
        name,
        step,
        metric,
        json,
    })
    .collect()
}

/// A value as JSON.
pub(super) fn text(value: &impl Serialize) -> String {
    rehearsal_core::json::to_string(value)
        .unwrap_or_else(|error| unreachable!("it was read from JSON: {error}"))
}

/// The word with which a value is written.
pub(super) fn word(value: &impl Serialize) -> Option<Cow<'static, str>> {
    match serde_json::to_value(value).ok()? {
        serde_json::Value::String(word) => Some(Cow::Owned(word)),
        // A reason in the words of a provider.
        serde_json::Value::Object(fields) => {
            fields.into_iter().next().and_then(|(_, value)| value.as_str().map(|word| word.to_owned().into()))
        }
        _ => None,
    }
}

impl EvaluationRow {
    pub(super) fn scope(&self) -> EvaluationScope {
        self.step.as_ref().map_or(EvaluationScope::Session, |step| step.scope)
    }

    pub(super) fn scope_word(&self) -> &'static str {
        match self.scope() {
            EvaluationScope::Session => "session",
            EvaluationScope::Step { .. } => "step",
            EvaluationScope::Turn { .. } => "turn",
            EvaluationScope::Final { .. } => "final",
        }
    }

    /// The step and the turn that it looked at.
    pub(super) fn place(&self) -> (Option<usize>, Option<usize>) {
        match self.scope() {
            EvaluationScope::Session => (None, None),
            EvaluationScope::Step { step } | EvaluationScope::Final { step } => (Some(step), None),
            EvaluationScope::Turn { step, turn } => (Some(step), Some(turn)),
        }
    }

    pub(super) fn message(&self) -> Option<&str> {
        let evidence = || self.metric.evidence.first().map(|evidence| evidence.text.as_str());
        self.step.as_ref().map(|step| step.message.as_str()).or_else(evidence)
    }
}

impl EventRow {
    pub(super) fn part_word(&self) -> &'static str {
        match self.part {
            SessionPart::Main => "main",
            SessionPart::User => "user",
            SessionPart::Judge => "judge",
        }
    }

    pub(super) fn response(&self) -> Option<&rehearsal_core::ModelResponse> {
        match &self.event.body {
            EventBody::ModelResponse(response) => Some(response),
            _ => None,
        }
    }

    pub(super) fn usage(&self) -> Option<Usage> {
        self.response().and_then(|response| response.usage)
    }

    /// Who answered, by name: a model, a mock, a person.
    pub(super) fn player_name(&self) -> Option<&str> {
        self.event.decision.as_ref().and_then(|decision| decision.name.as_deref())
    }

    /// The model that answered.
    pub(super) fn model(&self) -> Option<&str> {
        self.response().and_then(|_| self.player_name())
    }

    /// What the answer of a model cost.
    pub(super) fn cost(&self) -> Option<f64> {
        Some(self.of.prices.get(self.model()?)?.of(self.usage()?))
    }

    pub(super) fn tool(&self) -> Option<&str> {
        match &self.event.body {
            EventBody::ToolCall { tool, .. } => Some(tool),
            EventBody::ToolResult(result) => Some(&result.tool),
            EventBody::LateResult(result) | EventBody::RepeatedResult(result) => Some(&result.tool),
            _ => None,
        }
    }

    pub(super) fn call(&self) -> Option<String> {
        match &self.event.body {
            EventBody::ToolCall { call, .. } | EventBody::ToolException { call, .. } => {
                Some(call.to_string())
            }
            EventBody::ToolResult(result) => Some(result.call.to_string()),
            EventBody::LateResult(result) | EventBody::RepeatedResult(result) => {
                Some(result.call.to_string())
            }
            _ => None,
        }
    }

    /// Whether it tells of something that went wrong; nothing where an event of its kind cannot.
    pub(super) fn failed(&self) -> Option<bool> {
        match &self.event.body {
            EventBody::ToolResult(result) => Some(result.outcome.is_error()),
            EventBody::LateResult(result) | EventBody::RepeatedResult(result) => {
                Some(result.outcome.is_error())
            }
            EventBody::Error(_) | EventBody::RunFailed { .. } | EventBody::ToolException { .. } => Some(true),
            _ => None,
        }
    }

    fn tool_error(&self) -> Option<&ToolError> {
        let outcome = match &self.event.body {
            EventBody::ToolResult(result) => &result.outcome,
            EventBody::LateResult(result) | EventBody::RepeatedResult(result) => &result.outcome,
            EventBody::RunFailed { error } | EventBody::ToolException { error, .. } => return Some(error),
            _ => return None,
        };
        match outcome {
            ToolOutcome::Error(error) => Some(error),
            ToolOutcome::Output(_) => None,
        }
    }

    pub(super) fn error_kind(&self) -> Option<&str> {
        match &self.event.body {
            EventBody::Error(failure) => Some(&failure.kind),
            _ => self.tool_error().map(|error| error.kind.as_str()),
        }
    }

    pub(super) fn error(&self) -> Option<&str> {
        match &self.event.body {
            EventBody::Error(failure) => Some(&failure.message),
            _ => self.tool_error().map(|error| error.message.as_str()),
        }
    }

    /// What was said.
    pub(super) fn said(&self) -> Option<String> {
        let said = match &self.event.body {
            EventBody::UserMessage { content } => content.text(),
            EventBody::ModelResponse(response) => response.content.text(),
            EventBody::FinalResponse { output } => rehearsal_core::json::said(output),
            _ => return None,
        };
        Some(said)
    }
}
