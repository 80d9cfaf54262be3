//! Results as tests state them.

use std::fmt::Write as _;

use rehearsal_core::{Ledger, MetricResult, MetricStatus};

use crate::{Assessment, Metric};

/// What a metric that asks no judge finds, as text.
pub(crate) fn outcome(metric: &dyn Metric, ledger: &Ledger) -> String {
    match metric.evaluate(ledger) {
        Assessment::Done(result) => shown(&result),
        Assessment::Ask(questions) => format!("asks {} questions", questions.len()),
    }
}

/// A result as text: the status with score and value, then a line for each piece of evidence with its events.
pub(crate) fn shown(result: &MetricResult) -> String {
    let mut text = match result.status {
        MetricStatus::Passed => "passed",
        MetricStatus::Failed => "failed",
        MetricStatus::Error => "error",
        MetricStatus::Unscored => "unscored",
    }
    .to_owned();
    if let Some(score) = result.score {
        let _ = write!(text, ", score {score:.3}");
    }
    if let Some(value) = &result.value {
        let _ = write!(text, ", value {value}");
    }
    for evidence in &result.evidence {
        let _ = write!(text, "\n{}", evidence.text);
        if !evidence.events.is_empty() {
            let _ = write!(text, " {:?}", evidence.events);
        }
    }
    text
}
