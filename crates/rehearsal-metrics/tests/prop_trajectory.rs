//! The four ways to compare trajectories agree with what they are defined as.

use std::fmt::Write as _;

use proptest::prelude::*;
use rehearsal_core::{FunctionCall, Ledger, MetricResult};
use rehearsal_metrics::{
    AdkArgs, AdkCall, AdkMatch, Assessment, ExpectedCall, Metric, TrajectoryMetric, adk_trajectory_score,
};
use serde_json::json;

/// A tool and the value of its one argument; few of both, so that calls repeat.
type Call = (char, u8);

fn calls(most: usize) -> impl Strategy<Value = Vec<Call>> {
    prop::collection::vec((prop::char::range('a', 'c'), 0_u8..2), 1..most)
}

fn session(made: &[Call]) -> Ledger {
    let mut description = String::from("user: go");
    for (tool, value) in made {
        let _ = write!(description, " / call {tool} {{\"x\": {value}}}");
    }
    rehearsal_testkit::ledger(&description)
}

fn expecting(expected: &[Call]) -> TrajectoryMetric {
    let calls = expected.iter().map(|(tool, value)| ExpectedCall::new(*tool).args(json!({"x": value})));
    TrajectoryMetric::new("trajectory", calls.collect())
}

fn evaluate(metric: &TrajectoryMetric, ledger: &Ledger) -> MetricResult {
    match metric.evaluate(ledger) {
        Assessment::Done(result) => result,
        Assessment::Ask(_) => panic!("a trajectory needs no judge"),
    }
}

fn adk(expected: &[Call], made: &[Call], kind: AdkMatch) -> bool {
    let calls = |calls: &[Call]| -> Vec<FunctionCall> {
        calls.iter().map(|(tool, value)| FunctionCall::new(*tool, json!({"x": value}))).collect()
    };
    let (expected, made) = (calls(expected), calls(made));
    let expected: Vec<AdkCall<'_>> = expected.iter().map(AdkCall::from).collect();
    let made: Vec<AdkCall<'_>> = made.iter().map(AdkCall::from).collect();
    adk_trajectory_score(&expected, &made, kind, AdkArgs::Compare) > 0.5
}

proptest! {
    #[test]
    fn a_trajectory_passes_when_adk_or_the_definition_says_so(expected in calls(6), made in calls(7)) {
        let ledger = session(&made);
        let metric = expecting(&expected);
        let mut left = expected.clone();
        let within = made.iter().all(|call| {
            let place = left.iter().position(|expected| expected == call);
            place.map(|place| left.remove(place)).is_some()
        });
        for (metric, passes) in [
            (metric.clone().exact(), adk(&expected, &made, AdkMatch::Exact)),
            (metric.clone().in_order(), adk(&expected, &made, AdkMatch::InOrder)),
            (metric.clone().any_order(), adk(&expected, &made, AdkMatch::AnyOrder)),
            (metric.subset(), within),
        ] {
            let result = evaluate(&metric, &ledger);
            prop_assert_eq!(result.passed(), passes, "{:?}", metric);
            let score = result.score.unwrap_or(f64::NAN);
            prop_assert!((0.0..=1.0).contains(&score), "{}", score);
            prop_assert_eq!(score >= 1.0, passes);
        }
    }

    #[test]
    fn evidence_accounts_for_every_call(expected in calls(6), made in calls(7)) {
        let ledger = session(&made);
        let all: Vec<u64> = ledger.calls().map(|call| call.event.seq).collect();
        let metric = expecting(&expected);
        for metric in [metric.clone(), metric.clone().in_order(), metric.clone().any_order(), metric.subset()] {
            let evidence = evaluate(&metric, &ledger).evidence;
            let mut shown: Vec<u64> = evidence.iter().flat_map(|piece| piece.events.clone()).collect();
            shown.sort_unstable();
            prop_assert_eq!(&shown, &all, "{:?}", evidence);
        }
    }
}
