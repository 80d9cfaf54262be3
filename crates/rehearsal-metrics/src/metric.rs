//! What a metric is.

use std::fmt;
use std::sync::Arc;

use rehearsal_core::{Ledger, MetricResult};
use serde_json::Value;

/// A metric that several cases share.
pub type MetricRef = Arc<dyn Metric>;

/// A pure function of a ledger.
///
/// A metric reads nothing but the ledger, so it gives the same result for a session that just ended and for one
/// that was stored last year. A metric that needs a judge does not call one: it hands out [`Question`]s, whoever
/// runs it has them answered, and [`conclude`](Self::conclude) reads the answers.
///
/// ```
/// use rehearsal_core::{Ledger, MetricResult};
/// use rehearsal_metrics::{Assessment, Metric};
///
/// #[derive(Debug)]
/// struct Completed;
///
/// impl Metric for Completed {
///     fn name(&self) -> &str {
///         "completed"
///     }
///     fn evaluate(&self, ledger: &Ledger) -> Assessment {
///         Assessment::Done(MetricResult::from_pass(ledger.end().is_some()))
///     }
/// }
/// ```
pub trait Metric: Send + Sync + fmt::Debug {
    /// The name its result goes by; unique in a case.
    fn name(&self) -> &str;

    /// Looks at a ledger: gives a result, or the questions a judge has to answer first.
    fn evaluate(&self, ledger: &Ledger) -> Assessment;

    /// Concludes from the judge's answers, in the order of the questions.
    fn conclude(&self, ledger: &Ledger, answers: &[Value]) -> MetricResult {
        let _ = (ledger, answers);
        MetricResult::error(format!("metric `{}` was given a judge's answers but asked nothing", self.name()))
    }
}

/// What a look at the ledger gave.
#[derive(Clone, Debug, PartialEq)]
pub enum Assessment {
    /// The result.
    Done(MetricResult),
    /// Questions that a judge has to answer before there is a result; at least one.
    Ask(Vec<Question>),
}

impl From<MetricResult> for Assessment {
    fn from(result: MetricResult) -> Self {
        Self::Done(result)
    }
}

/// Something a judge is asked.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// How to judge: the system instruction.
    pub instructions: String,
    /// What to judge.
    pub prompt: String,
    /// The JSON Schema of the answer.
    pub schema: Value,
    /// The name of the judge to ask, if the metric names one.
    pub judge: Option<String>,
    /// The temperature to ask at, if the metric says.
    pub temperature: Option<f64>,
}

/// The result for a ledger that holds no session at all: nothing can be said about it.
pub(crate) fn nothing_to_read(ledger: &Ledger) -> Option<MetricResult> {
    ledger.started().is_none().then(|| MetricResult::unscored("the ledger is empty: no session was started"))
}

#[cfg(test)]
mod tests {
    use rehearsal_core::MetricStatus;

    use super::*;
    use crate::Custom;

    #[test]
    fn a_metric_that_asked_nothing_cannot_conclude() {
        let metric = Custom::new("fine", |_| MetricResult::from_pass(true));
        let result = metric.conclude(&Ledger::new("s".into()), &[]);
        assert_eq!(result.status, MetricStatus::Error);
        assert!(result.evidence[0].text.contains("`fine`"), "{result:?}");
    }
}
