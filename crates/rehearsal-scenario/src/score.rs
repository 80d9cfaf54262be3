//! Scoring ledgers that were stored with the evaluations of a scenario file.

use std::sync::Arc;

use rehearsal_core::{
    Clock, EndReason, EvaluationScope, EventBody, Failure, Ledger, MetricStatus, Phase, SessionPart,
    SystemClock, Verdict, Yield,
};
use rehearsal_metrics::{Assessment, MetricRef};
use rehearsal_sim::{CaseRun, Checker, Judges, Judgment, judge_ledger};

use crate::compile::Compiled;
use crate::play::evaluators;
use crate::{Action, Backstage, BuildModel, CompileError, Scenario, StepKind, StepView, Strategy, TurnView};

/// The kind of failure of a ledger that lacks a step of the file.
pub(crate) const MISSING_STEP: &str = "missing_step";

/// Why a ledger cannot be scored with a scenario.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotScorable {
    /// It is the ledger of a simulated user or of a judge.
    #[error("it is the ledger of {part}, not of the agent under test")]
    Part {
        /// Whose it is.
        part: &'static str,
    },
    /// It is the ledger of something else.
    #[error("it is a ledger of {found}, not of the scenario `{scenario}`")]
    Other {
        /// What it is of.
        found: String,
        /// The scenario.
        scenario: String,
    },
    /// No step of the scenario was begun.
    #[error("no step of the scenario is on it")]
    NoSteps,
    /// A step does something else than the step of that number in the file.
    #[error("step {step} is {found} on the ledger and {written} in the file")]
    Step {
        /// The step, from 1.
        step: usize,
        /// What it does on the ledger.
        found: &'static str,
        /// What it does in the file.
        written: &'static str,
    },
}

impl Scenario {
    /// The evaluators that a run with this ledger evaluates, in its order: a group for every turn and every step that
    /// came to its end, and those whose broken rule ended the run.
    pub fn evaluators_for(&self, ledger: &Ledger) -> Vec<Vec<MetricRef>> {
        let prices = Arc::new(self.prices.clone());
        let mut groups = Vec::new();
        for view in StepView::all(ledger) {
            let number = view.started.step;
            let Some(step) = number.checked_sub(1).and_then(|at| self.run.get(at)) else { continue };
            let mut last = Vec::new();
            if let Action::Conversation { conversation, .. } = &step.action {
                for turn in view.turns().iter().filter(|turn| came_to_its_end(turn)) {
                    let scope = EvaluationScope::Turn { step: number, turn: turn.number };
                    groups.push(evaluators(&conversation.turn_evaluations, scope, &prices));
                }
                let scope = EvaluationScope::Final { step: number };
                last = evaluators(&conversation.final_evaluations, scope, &prices);
            }
            if view.ended.is_some() {
                let scope = EvaluationScope::Step { step: number };
                last.extend(evaluators(&step.evaluations, scope, &prices));
                groups.push(last);
            } else if ledger.end() == Some(EndReason::RuleBroken) {
                let is_broken = |metric: &MetricRef| {
                    let assessed = metric.evaluate(ledger);
                    matches!(assessed, Assessment::Done(result) if result.status == MetricStatus::Failed)
                };
                groups.push(
                    self.watching_played(number, view.turns().len()).into_iter().filter(is_broken).collect(),
                );
            }
        }
        groups
    }

    /// The models that judge its evaluations.
    ///
    /// # Errors
    /// A judge is needed and not named, or its model cannot be built.
    pub fn judges(&self, build: &BuildModel) -> Result<Judges, CompileError> {
        let mut judges = Judges::default();
        let asked = self
            .evaluations()
            .flat_map(|evaluation| evaluation.judges().into_iter().map(move |judge| (evaluation, judge)));
        for (evaluation, judge) in asked {
            let named = self.judge_of(judge).ok_or_else(|| {
                let key = judge.unwrap_or("judge");
                CompileError::NoJudge { line: evaluation.line, key: key.to_owned() }
            })?;
            match judge {
                Some(key) if !judges.named.contains_key(key) => {
                    judges.named.insert(key.to_owned(), build(&named.key, &named.model)?);
                }
                None if judges.judge.is_none() => judges.judge = Some(build(&named.key, &named.model)?),
                _ => {}
            }
        }
        Ok(judges)
    }

    /// Who is asked what its author checks by programs of their own.
    ///
    /// # Errors
    /// Why it cannot be run: a variable that is not set.
    pub fn checker(&self, backstage: Backstage) -> Result<Arc<dyn Checker>, CompileError> {
        let compiled = Compiled::for_checks(Arc::new(self.clone()), backstage)?;
        Ok(Arc::new(compiled.checks(&(Arc::new(SystemClock) as Arc<dyn Clock>))))
    }

    /// Whether a ledger can be scored with this scenario.
    ///
    /// # Errors
    /// Why it cannot.
    pub fn fits(&self, ledger: &Ledger) -> Result<(), NotScorable> {
        match ledger.part() {
            SessionPart::Main => {}
            SessionPart::User => return Err(NotScorable::Part { part: "a simulated user" }),
            SessionPart::Judge => return Err(NotScorable::Part { part: "a judge" }),
        }
        let case = ledger.started().and_then(|started| started.case.as_deref());
        if case != Some(self.name.as_str()) {
            let found =
                case.map_or_else(|| "no scenario".to_owned(), |name| format!("the scenario `{name}`"));
            return Err(NotScorable::Other { found, scenario: self.name.clone() });
        }
        let views = StepView::all(ledger);
        for view in &views {
            let step = view.started.step;
            let written = step.checked_sub(1).and_then(|at| self.run.get(at));
            let written = written.map_or("missing", |step| word(step.action.kind()));
            let found = word(view.started.kind);
            if found != written {
                return Err(NotScorable::Step { step, found, written });
            }
        }
        if views.is_empty() { Err(NotScorable::NoSteps) } else { Ok(()) }
    }

    /// Scores the ledger of an earlier run with the evaluations of this scenario.
    ///
    /// A step of the file that is not on the ledger of a session that came to its end cannot be decided: the run is an
    /// error then.
    ///
    /// # Errors
    /// The ledger is not one of this scenario.
    pub async fn score(&self, ledger: Ledger, judges: &Judges) -> Result<CaseRun, NotScorable> {
        self.fits(&ledger)?;
        let groups = self.evaluators_for(&ledger);
        let judgment = match self.strategy {
            Strategy::AllPass => Judgment::AllPass,
            Strategy::AnyPass => Judgment::AnyPass,
        };
        let begun = StepView::all(&ledger).len();
        let mut run = judge_ledger(ledger, &groups, judges, judgment).await;
        let is_broken = run.result.termination_reason == Some(EndReason::RuleBroken);
        let is_over = is_broken || matches!(run.result.status, Verdict::Error | Verdict::Terminated);
        if begun < self.run.len() && !is_over {
            let message = format!(
                "the file has {} steps and the ledger {begun}, so not everything that is asked can be decided",
                self.run.len()
            );
            run.result.error = Some(Failure { phase: Phase::Metric, kind: MISSING_STEP.to_owned(), message });
            // What has failed where all has to pass can pass no more, whatever the other steps would show.
            if !(run.result.status == Verdict::Failed && self.strategy == Strategy::AllPass) {
                run.result.status = Verdict::Error;
            }
        }
        Ok(run)
    }
}

impl Action {
    /// What it is, as ledgers name it.
    pub(crate) fn kind(&self) -> StepKind {
        match self {
            Self::Input(_) => StepKind::Input,
            Self::Conversation { .. } => StepKind::Conversation,
            Self::Code { .. } => StepKind::Code,
        }
    }
}

fn word(kind: StepKind) -> &'static str {
    match kind {
        StepKind::Input => "`input`",
        StepKind::Conversation => "a `conversation`",
        StepKind::Code => "`code`",
    }
}

/// Whether the agent was done with a turn, so that its evaluations were asked.
fn came_to_its_end(turn: &TurnView<'_>) -> bool {
    turn.events.iter().any(|event| matches!(event.body, EventBody::Yield(Yield::Loop { .. })))
}
