//! Metrics written as a closure.

use std::fmt;
use std::sync::Arc;

use rehearsal_core::{Ledger, MetricResult};

use crate::{Assessment, Metric};

type Evaluate = Arc<dyn Fn(&Ledger) -> MetricResult + Send + Sync>;

/// A metric written as a closure over the ledger.
///
/// ```
/// use rehearsal_core::MetricResult;
/// use rehearsal_metrics::{Assessment, Custom, Metric};
/// # use rehearsal_testkit::ledger;
///
/// let short = Custom::new("short", |ledger| {
///     MetricResult::from_pass(ledger.turns() <= 1).value(ledger.turns())
/// });
/// let Assessment::Done(result) = short.evaluate(&ledger("user: hi / agent: bye / end")) else { unreachable!() };
/// assert!(result.passed());
/// ```
#[derive(Clone)]
pub struct Custom {
    name: String,
    evaluate: Evaluate,
}

impl Custom {
    /// A metric that gives what the closure gives.
    ///
    /// A closure that panics is not caught.
    pub fn new(
        name: impl Into<String>,
        evaluate: impl Fn(&Ledger) -> MetricResult + Send + Sync + 'static,
    ) -> Self {
        Self { name: name.into(), evaluate: Arc::new(evaluate) }
    }
}

impl Metric for Custom {
    fn name(&self) -> &str {
        &self.name
    }

    fn evaluate(&self, ledger: &Ledger) -> Assessment {
        Assessment::Done((self.evaluate)(ledger))
    }
}

impl fmt::Debug for Custom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Custom").field("name", &self.name).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use rehearsal_core::MetricStatus;
    use rehearsal_testkit::ledger;

    use super::*;

    fn check(description: &str, status: MetricStatus) {
        let metric = Custom::new("polite", |ledger| match ledger.to_transcript() {
            text if text.is_empty() => MetricResult::unscored("nothing was said"),
            text => MetricResult::from_pass(text.contains("please")),
        });
        let Assessment::Done(result) = metric.evaluate(&ledger(description)) else { panic!("asks a judge") };
        assert_eq!(result.status, status);
    }

    #[test]
    fn the_closure_decides() {
        check("agent: sit down, please", MetricStatus::Passed);
        check("agent: sit down", MetricStatus::Failed);
        check("end", MetricStatus::Unscored);
    }
}
