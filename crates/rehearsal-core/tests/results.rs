//! Results as they are written, and as earlier versions wrote them.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use expect_test::expect_file;
use rehearsal_core::{EvaluationScope, RunResult, StepStatus, Verdict, json, upgraded};
use serde_json::Value;

const RUN: &str = include_str!("golden/result-run-1.json");
const EVAL: &str = include_str!("golden/result-eval-1.json");

/// A result of version 1 in the form of today, which reads it and writes the same again.
fn read(text: &str) -> (RunResult, String) {
    let old: Value = json::from_str(text).unwrap();
    let result = RunResult::read(old.clone()).unwrap();
    let written = json::to_string_pretty(&result).unwrap() + "\n";
    let again: Value = json::from_str(&written).unwrap();
    assert_eq!(upgraded(again.clone()), again, "the form of today stays as it is");
    assert_eq!(RunResult::read(again).unwrap(), result);
    (result, written)
}

#[test]
fn a_run_of_version_1_is_read() {
    let (result, written) = read(RUN);
    expect_file!["golden/result-run-2.json"].assert_eq(&written);
    assert_eq!((result.suite.summary.total, result.suite.results.len()), (6, 6));
    let talk = &result.suite.results[0];
    assert_eq!((talk.status, talk.turns), (Verdict::Failed, 1));
    let conversation = talk.steps[0].conversation.as_ref().unwrap();
    assert_eq!(conversation.turns[1].turn_evaluations[0].scope, EvaluationScope::Turn { step: 1, turn: 2 });
    let stopped = &result.suite.results[2];
    assert_eq!(stopped.terminated_by().unwrap(), "`timeout_ms` of step 1 (1000 ms) was reached");
    assert_eq!(stopped.steps[1].status, StepStatus::Skipped);
    // What people named is not renamed.
    assert!(talk.steps[1].execution.as_ref().unwrap().files.contains_key("outFile.txt"));
}

#[test]
fn a_run_of_an_eval_set_of_version_1_is_read() {
    let (result, written) = read(EVAL);
    expect_file!["golden/result-eval-2.json"].assert_eq(&written);
    assert_eq!(result.eval_set.as_deref(), Some("sums"));
    assert_eq!(result.suite.results[0].metrics["response_match_score"].score, Some(1.0));
}

#[test]
fn what_is_no_result_of_version_1_is_left_alone() {
    let other = serde_json::json!({"durationMs": 1, "version": 3});
    assert_eq!(upgraded(other.clone()), other);
    assert!(RunResult::read(other).is_err());
}
