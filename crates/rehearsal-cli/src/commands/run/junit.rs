//! Results as JUnit XML, which CI systems read.

use std::time::Duration;

use indexmap::IndexMap;
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};
use rehearsal_core::{CaseResult, MetricStatus, RunResult, Verdict};

use crate::error::CommandError;
use crate::output::visible;

/// The results as a JUnit report: a suite for each file, a test for each run of each of its cases.
pub(super) fn report(run: &RunResult) -> Result<String, CommandError> {
    let file_of =
        |case: &'_ CaseResult| case.file.clone().or_else(|| run.eval_set.clone()).unwrap_or_default();
    let mut suites: IndexMap<String, TestSuite> = IndexMap::new();
    for case in &run.suite.results {
        let file = file_of(case);
        let suite = suites.entry(file.clone()).or_insert_with(|| TestSuite::new(visible(&file).into_owned()));
        suite.add_test_case(test_case(case, &file));
    }
    let mut report = Report::new("rehearse");
    report.add_test_suites(suites.into_values());
    report.to_string().map_err(CommandError::internal)
}

fn test_case(result: &CaseResult, file: &str) -> TestCase {
    let status = match result.status {
        Verdict::Passed => TestCaseStatus::success(),
        Verdict::Failed => non_success(NonSuccessKind::Failure, "failed", result),
        Verdict::Error => non_success(NonSuccessKind::Error, "error", result),
        Verdict::Terminated => non_success(NonSuccessKind::Error, "terminated", result),
        Verdict::Unjudged => non_success(NonSuccessKind::Failure, "unjudged", result),
    };
    let name = if result.repeat == 0 {
        result.name.clone()
    } else {
        format!("{} #{}", result.name, result.repeat + 1)
    };
    let mut case = TestCase::new(visible(&name).into_owned(), status);
    case.set_classname(visible(file).into_owned());
    case.set_time(Duration::from_millis(result.duration_ms));
    case
}

fn non_success(kind: NonSuccessKind, word: &str, result: &CaseResult) -> TestCaseStatus {
    let evaluations = result.evaluations().map(|one| (&one.name, &one.metric, one.message.as_str()));
    let metrics = result.metrics.iter().map(|(name, metric)| {
        let why = metric.evidence.first().map_or("no reason given", |evidence| &evidence.text);
        (name, metric, why)
    });
    let not_passed: Vec<_> = evaluations.chain(metrics).filter(|(_, metric, _)| !metric.passed()).collect();
    let of = |decided: bool| {
        let of = not_passed
            .iter()
            .filter(move |(_, metric, _)| decided == (metric.status == MetricStatus::Failed));
        of.map(|(name, _, why)| format!("{name}: {why}"))
    };
    let (failed, undecided): (Vec<String>, Vec<String>) = (of(true).collect(), of(false).collect());
    let mut reasons: Vec<String> = Vec::new();
    if result.status == Verdict::Failed {
        reasons.extend(failed);
        reasons.extend(result.error.as_ref().map(|error| error.message.clone()));
    } else {
        reasons.extend(result.error.as_ref().map(|error| error.message.clone()));
        reasons.extend(result.terminated_by());
        reasons.extend(failed);
    }
    let also = match undecided.len() {
        0 => String::new(),
        _ if result.status != Verdict::Failed => String::new(),
        1 => " (and 1 evaluation could not be decided)".to_owned(),
        count => format!(" (and {count} evaluations could not be decided)"),
    };
    reasons.extend(undecided);
    let reasons: Vec<_> = reasons.iter().map(|reason| visible(reason)).collect();
    let mut status = TestCaseStatus::non_success(kind);
    status.set_type(word);
    let first = reasons.first().and_then(|reason| reason.lines().next()).unwrap_or(word);
    status.set_message(format!("{first}{also}"));
    status.set_description(reasons.join("\n"));
    status
}
