//! Scoring a ledger again.

use indexmap::IndexMap;
use rehearsal_core::{Ledger, MetricResult};

use crate::{Assessment, MetricRef, Request};

/// Scores a ledger with metrics that need nobody else, in the order given.
///
/// Nothing is run: any stored ledger can be scored again, also with metrics that did not exist when it was
/// written. A metric that asks a judge, or for anything else from outside, is unscored here. Two metrics of one name are an error under that name,
/// because one result would hide the other.
///
/// ```
/// use std::sync::Arc;
///
/// use rehearsal_core::MetricStatus;
/// use rehearsal_metrics::{EventCountMetric, LlmJudge, MetricRef, score};
/// # use rehearsal_testkit::ledger;
///
/// let metrics: [MetricRef; 2] = [
///     Arc::new(EventCountMetric::new("asked", "tool_call").tool("ask").at_least(1)),
///     Arc::new(LlmJudge::new("kind", "Was the agent kind?")),
/// ];
/// let results = score(&ledger("call ask / result ask / agent: bye / end"), &metrics);
/// assert!(results["asked"].passed());
/// assert_eq!(results["kind"].status, MetricStatus::Unscored);
/// ```
pub fn score(ledger: &Ledger, metrics: &[MetricRef]) -> IndexMap<String, MetricResult> {
    let mut results = IndexMap::new();
    for metric in metrics {
        let name = metric.name();
        let result = if results.contains_key(name) {
            MetricResult::error(format!("two metrics are called `{name}`; give each its own name"))
        } else {
            assess(ledger, metric)
        };
        results.insert(name.to_owned(), result);
    }
    results
}

fn assess(ledger: &Ledger, metric: &MetricRef) -> MetricResult {
    match metric.evaluate(ledger) {
        Assessment::Done(result) => result,
        Assessment::Ask(requests) if requests.is_empty() => {
            MetricResult::error("the metric neither decided nor asked anything")
        }
        Assessment::Ask(requests) => MetricResult::unscored(match requests[0] {
            Request::Judge(_) => "needs a judge; run the case, or score it where there is one",
            Request::Check(_) => {
                "needs a check of the author's own; run the case, or score it where it can be asked"
            }
            Request::Tool { .. } => "needs a tool; run the case, or score it where there is one",
        }),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use expect_test::{Expect, expect};
    use rehearsal_testkit::ledger;

    use super::*;
    use crate::{Custom, EventCountMetric, FinalResponse, LlmJudge, Metric};

    fn check(ledger: &Ledger, metrics: &[MetricRef], expected: &Expect) {
        let results = score(ledger, metrics);
        let shown: Vec<_> = results
            .iter()
            .map(|(name, result)| format!("{name}: {}\n", crate::testing::shown(result)))
            .collect();
        expected.assert_eq(&shown.concat());
    }

    fn metrics() -> Vec<MetricRef> {
        vec![
            Arc::new(EventCountMetric::new("asked", "tool_call").at_least(1)),
            Arc::new(LlmJudge::new("kind", "Was it kind?")),
            Arc::new(FinalResponse::new("bye").contains("bye")),
        ]
    }

    #[test]
    fn every_metric_has_a_result_in_the_order_given() {
        check(
            &ledger("call ask / result ask / agent: Bye. / end"),
            &metrics(),
            &expect![[r#"
            asked: passed, value 1
            counted 1 `tool_call` events [2]
            kind: unscored
            needs a judge; run the case, or score it where there is one
            bye: passed, value "Bye."
            the response is "Bye." [4]
            it does contain "bye"
        "#]],
        );
    }

    #[test]
    fn a_ledger_that_cannot_answer_is_unscored() {
        check(
            &Ledger::new("s".into()),
            &metrics(),
            &expect![[r#"
            asked: unscored
            the ledger is empty: no session was started
            kind: unscored
            the ledger is empty: no session was started
            bye: unscored
            the ledger is empty: no session was started
        "#]],
        );
    }

    #[test]
    fn what_is_needed_from_outside_is_not_there() {
        #[derive(Debug)]
        struct Books;
        impl Metric for Books {
            fn name(&self) -> &'static str {
                "books"
            }
            fn evaluate(&self, _: &Ledger) -> Assessment {
                Assessment::ask([Request::Tool { tool: "booking".to_owned(), args: serde_json::Map::new() }])
            }
        }
        check(
            &ledger("end"),
            &[Arc::new(Books)],
            &expect![[r#"
            books: unscored
            needs a tool; run the case, or score it where there is one
        "#]],
        );
    }

    #[test]
    fn a_name_used_twice_is_an_error_whatever_the_results() {
        let passing: MetricRef = Arc::new(Custom::new("same", |_| MetricResult::from_pass(true)));
        check(
            &ledger("end"),
            &[passing.clone(), passing],
            &expect![[r#"
            same: error
            two metrics are called `same`; give each its own name
        "#]],
        );
    }

    #[test]
    fn a_metric_that_says_nothing_is_an_error() {
        #[derive(Debug)]
        struct Silent;
        impl Metric for Silent {
            fn name(&self) -> &'static str {
                "silent"
            }
            fn evaluate(&self, _: &Ledger) -> Assessment {
                Assessment::Ask(Vec::new())
            }
        }
        check(
            &ledger("end"),
            &[Arc::new(Silent)],
            &expect![[r#"
            silent: error
            the metric neither decided nor asked anything
        "#]],
        );
    }
}
