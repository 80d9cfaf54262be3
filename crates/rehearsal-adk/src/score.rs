//! Scoring a session against a golden trace, as ADK does.

use std::sync::Arc;

use indexmap::IndexMap;
use rehearsal_core::{Ledger, MetricResult, shorten};
use rehearsal_metrics::{
    AdkArgs, AdkCall, AdkMatch, Assessment, Metric, MetricRef, StateMetric, adk_text, adk_trajectory_score,
    rouge1, score,
};
use serde_json::{Map, Value};

use crate::criteria::{Criteria, Criterion};
use crate::eval_set::{EvalCase, Invocation, ToolUse};
use crate::state::scope_and_key;
use crate::trace::invocations;

/// How much of a text evidence shows.
const SHOWN: usize = 300;

/// The name of the metric that compares the state at the end with `final_session_state`.
pub const FINAL_STATE: &str = "final_session_state";

/// Scores a session against a golden trace. Nothing is run.
///
/// ```
/// use rehearsal_adk::{Criteria, GoldenTrace, TOOL_TRAJECTORY, TraceOptions, score_ledger};
/// # use rehearsal_testkit::ledger;
///
/// let golden = ledger(r#"user: 2+2? / call add {"a": 2, "b": 2} / result add 4 / agent: It is 4 / end"#);
/// let golden = GoldenTrace::from_ledger(&golden, &TraceOptions::default())?.case;
/// let other = ledger(r#"user: 2+2? / agent: It is 4 / end"#);
/// let scores = score_ledger(&other, &golden, &Criteria::default());
/// assert!(!scores[TOOL_TRAJECTORY].passed());
/// # Ok::<(), rehearsal_adk::NotExportable>(())
/// ```
pub fn score_ledger(ledger: &Ledger, case: &EvalCase, criteria: &Criteria) -> IndexMap<String, MetricResult> {
    score(ledger, &golden_metrics(case, criteria))
}

/// The metrics of an eval case: one for each criterion, and one for the state where the case expects any.
pub fn golden_metrics(case: &EvalCase, criteria: &Criteria) -> Vec<MetricRef> {
    let expected: Option<Arc<[Invocation]>> = case.invocations().map(Arc::from);
    let mut metrics: Vec<MetricRef> = Vec::new();
    for criterion in &criteria.criteria {
        metrics.push(Arc::new(GoldenMetric { criterion: *criterion, expected: expected.clone() }));
    }
    if !case.final_session_state.is_empty() {
        metrics.push(Arc::new(FinalState { expected: case.final_session_state.clone() }));
    }
    metrics
}

/// A criterion on the invocations of a golden trace: the mean of their scores has to reach its threshold.
#[derive(Debug)]
struct GoldenMetric {
    criterion: Criterion,
    /// Nothing where the case has no conversation to compare with.
    expected: Option<Arc<[Invocation]>>,
}

impl Metric for GoldenMetric {
    fn name(&self) -> &str {
        self.criterion.name()
    }

    fn evaluate(&self, ledger: &Ledger) -> Assessment {
        Assessment::Done(self.assess(ledger))
    }
}

impl GoldenMetric {
    fn assess(&self, ledger: &Ledger) -> MetricResult {
        if ledger.started().is_none() {
            return MetricResult::unscored("the ledger is empty: no session was started");
        }
        let Some(expected) = &self.expected else {
            return MetricResult::error("the case has no conversation written out to compare with");
        };
        let actual = invocations(ledger);
        if expected.is_empty() || actual.len() != expected.len() {
            return MetricResult::error(format!(
                "the case has {} user messages and the session {}, so they cannot be compared",
                expected.len(),
                actual.len(),
            ));
        }
        let found: Vec<(f64, String)> =
            expected.iter().zip(&actual).map(|(expected, actual)| self.compare(expected, actual)).collect();
        let mean = mean(found.iter().map(|(score, _)| *score), found.len());
        let threshold = self.criterion.threshold();
        let mut result = MetricResult::from_pass(mean >= threshold)
            .score(mean)
            .because(format!("the mean of {} invocations is {mean}, the threshold {threshold}", found.len()));
        for (index, (score, why)) in found.into_iter().enumerate() {
            result = result.because(format!("invocation {index} scores {score}: {why}"));
        }
        result
    }

    fn compare(&self, expected: &Invocation, actual: &Invocation) -> (f64, String) {
        match self.criterion {
            Criterion::ToolTrajectory { match_type, args, .. } => {
                compare_calls(expected, actual, match_type, args)
            }
            Criterion::ResponseMatch { .. } => {
                let text = |invocation: &Invocation| invocation.final_response.as_ref().map(adk_text);
                let (expected, actual) =
                    (text(expected).unwrap_or_default(), text(actual).unwrap_or_default());
                let score = rouge1(&actual, &expected).f1;
                (
                    score,
                    format!("expected {:?}, got {:?}", shorten(&expected, SHOWN), shorten(&actual, SHOWN)),
                )
            }
        }
    }
}

fn compare_calls(expected: &Invocation, actual: &Invocation, kind: AdkMatch, args: AdkArgs) -> (f64, String) {
    let (expected, actual) = (calls(expected), calls(actual));
    let listed = |calls: &[AdkCall<'_>]| {
        let call = |call: &AdkCall<'_>| match (args, call.args) {
            (AdkArgs::Ignore, _) => call.name.to_owned(),
            (AdkArgs::Compare, Some(args)) => {
                format!("{} {}", call.name, rehearsal_core::json::text(&Value::Object(args.clone())))
            }
            (AdkArgs::Compare, None) => format!("{} with `args` left out, which is not {{}}", call.name),
        };
        let calls: Vec<String> = calls.iter().map(call).collect();
        if calls.is_empty() { "no calls".to_owned() } else { calls.join(", ") }
    };
    let score = adk_trajectory_score(&expected, &actual, kind, args);
    (
        score,
        format!("expected {}, got {}", shorten(&listed(&expected), SHOWN), shorten(&listed(&actual), SHOWN)),
    )
}

fn calls(invocation: &Invocation) -> Vec<AdkCall<'_>> {
    invocation.intermediate_data.tool_uses.iter().map(ToolUse::as_adk).collect()
}

/// The mean as ADK computes it: the scores added one by one, then divided.
#[expect(clippy::cast_precision_loss, reason = "no conversation has 2^53 messages")]
fn mean(scores: impl Iterator<Item = f64>, count: usize) -> f64 {
    scores.fold(0.0, |sum, score| sum + score) / count as f64
}

/// Compares the state at the end with the values that are expected in it; other values may be there too.
#[derive(Debug)]
struct FinalState {
    expected: Map<String, Value>,
}

impl Metric for FinalState {
    fn name(&self) -> &'static str {
        FINAL_STATE
    }

    fn evaluate(&self, ledger: &Ledger) -> Assessment {
        if ledger.started().is_none() {
            return Assessment::Done(MetricResult::unscored("the ledger is empty: no session was started"));
        }
        let results: Vec<MetricResult> =
            self.expected.iter().map(|(key, value)| expect_value(ledger, key, value)).collect();
        let held = results.iter().filter(|result| result.passed());
        let share = mean(held.map(|_| 1.0), results.len());
        let mut result = MetricResult::from_pass(results.iter().all(MetricResult::passed)).score(share);
        result.evidence = results.into_iter().flat_map(|result| result.evidence).collect();
        Assessment::Done(result)
    }
}

fn expect_value(ledger: &Ledger, flat: &str, expected: &Value) -> MetricResult {
    let (scope, key) = scope_and_key(flat);
    let metric = StateMetric::new(flat, scope, key);
    // A value that was set to null is no longer in the state.
    let metric = match expected {
        Value::Null => metric.assert(|value| value.is_none_or(Value::is_null)),
        expected => metric.equals(expected.clone()),
    };
    match metric.evaluate(ledger) {
        Assessment::Done(result) => result,
        Assessment::Ask(_) => MetricResult::error("a value of the state needs no judge"),
    }
}
