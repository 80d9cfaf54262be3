//! What a metric is.

use std::fmt;
use std::sync::Arc;

use rehearsal_core::{Ledger, MetricResult};
use serde_json::{Map, Value};

use crate::Watcher;
use crate::evaluator::CheckRequest;

/// A metric that several cases share.
pub type MetricRef = Arc<dyn Metric>;

/// A pure function of a ledger.
///
/// A metric reads nothing but the ledger, so it gives the same result for a session that just ended and for one
/// that was stored last year. A metric that needs something from outside does not fetch it: it hands out [`Request`]s (a
/// question to a judge, a call of a tool), whoever runs it has them answered, and [`conclude`](Self::conclude) reads the
/// answers. A metric of which something can be said before the end may also [`watch`](Self::watch).
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

    /// Looks at a ledger: gives a result, or what has to be answered first.
    fn evaluate(&self, ledger: &Ledger) -> Assessment;

    /// Concludes from the answers, in the order of the requests.
    fn conclude(&self, ledger: &Ledger, answers: &[Value]) -> MetricResult {
        let _ = (ledger, answers);
        MetricResult::error(format!("metric `{}` was given answers but asked nothing", self.name()))
    }

    /// Somebody who follows a session while it goes on, where the session shall end at the first event that breaks what
    /// this metric asks. The metric has failed then, with the breach as its evidence.
    ///
    /// ```
    /// use rehearsal_core::{Event, EventBody, Ledger, MetricResult};
    /// use rehearsal_metrics::{Assessment, Breach, Metric, Watcher};
    ///
    /// #[derive(Debug)]
    /// struct NoErrors;
    ///
    /// impl Watcher for NoErrors {
    ///     fn see(&mut self, event: &Event, _: &Ledger) -> Option<Breach> {
    ///         let EventBody::ToolResult(result) = &event.body else { return None };
    ///         let why = format!("{} failed", result.tool);
    ///         result.outcome.is_error().then(|| Breach { why, events: vec![event.seq] })
    ///     }
    /// }
    ///
    /// impl Metric for NoErrors {
    ///     fn name(&self) -> &str {
    ///         "no tool fails"
    ///     }
    ///     fn evaluate(&self, ledger: &Ledger) -> Assessment {
    ///         let breach = ledger.events().iter().find_map(|event| NoErrors.see(event, ledger));
    ///         breach.map_or(MetricResult::from_pass(true), MetricResult::from).into()
    ///     }
    ///     fn watch(&self) -> Option<Box<dyn Watcher>> {
    ///         Some(Box::new(NoErrors))
    ///     }
    /// }
    /// ```
    fn watch(&self) -> Option<Box<dyn Watcher>> {
        None
    }
}

/// What a look at the ledger gave.
#[derive(Clone, Debug, PartialEq)]
pub enum Assessment {
    /// The result.
    Done(MetricResult),
    /// What has to be answered before there is a result; at least one request.
    Ask(Vec<Request>),
}

impl Assessment {
    /// Asks for answers.
    pub fn ask<R: Into<Request>>(requests: impl IntoIterator<Item = R>) -> Self {
        Self::Ask(requests.into_iter().map(R::into).collect())
    }
}

/// Something that a metric needs from outside. Whoever runs the metric performs it, with what the case was given; what
/// cannot be performed is an error of the metric.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Request {
    /// A judge's answer, in the form that the question asks for.
    Judge(Question),
    /// What a check of the author's own answers.
    Check(CheckRequest),
    /// What a tool gives that was handed in for metrics: a look into a database, a check by another program.
    Tool {
        /// The tool, by its name.
        tool: String,
        /// What it is called with.
        args: Map<String, Value>,
    },
}

impl From<Question> for Request {
    fn from(question: Question) -> Self {
        Self::Judge(question)
    }
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
