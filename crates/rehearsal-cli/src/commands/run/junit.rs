//! Results as JUnit XML, which CI systems read.

use std::time::Duration;

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};
use rehearsal_core::{MetricStatus, Verdict};
use rehearsal_scenario::ScenarioResult;

use crate::error::CommandError;
use crate::output::visible;

/// The results as a JUnit report: a suite for each file, a test for each run of its scenario.
pub(super) fn report(results: &[ScenarioResult]) -> Result<String, CommandError> {
    let mut report = Report::new("rehearse");
    let mut files: Vec<&str> = Vec::new();
    for result in results {
        if !files.contains(&result.file.as_str()) {
            files.push(&result.file);
        }
    }
    for file in files {
        let mut suite = TestSuite::new(visible(file).into_owned());
        for result in results.iter().filter(|result| result.file == file) {
            suite.add_test_case(test_case(result));
        }
        report.add_test_suite(suite);
    }
    report.to_string().map_err(CommandError::internal)
}

fn test_case(result: &ScenarioResult) -> TestCase {
    let status = match result.verdict {
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
    case.set_classname(visible(&result.file).into_owned());
    case.set_time(Duration::from_millis(result.duration_ms));
    case
}

fn non_success(kind: NonSuccessKind, word: &str, result: &ScenarioResult) -> TestCaseStatus {
    let of = |decided: bool| {
        let evaluations = result.evaluations().filter(move |(_, evaluation)| {
            !evaluation.success && decided == (evaluation.status == MetricStatus::Failed)
        });
        evaluations.map(|(_, evaluation)| format!("{}: {}", evaluation.name, evaluation.message))
    };
    let (failed, undecided): (Vec<String>, Vec<String>) = (of(true).collect(), of(false).collect());
    let mut reasons: Vec<String> = Vec::new();
    if result.verdict == Verdict::Failed {
        reasons.extend(failed);
        reasons.extend(result.error.as_ref().map(|error| error.message.clone()));
    } else {
        reasons.extend(result.error.as_ref().map(|error| error.message.clone()));
        reasons.extend(result.terminated_by.clone());
        reasons.extend(failed);
    }
    let also = match undecided.len() {
        0 => String::new(),
        _ if result.verdict != Verdict::Failed => String::new(),
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
