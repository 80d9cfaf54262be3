//! Results as JUnit XML, which CI systems read.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use indexmap::IndexMap;
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};
use rehearsal_core::{CaseResult, MetricStatus, RunResult, Verdict};

use super::parts::Parts;
use crate::output::visible;

/// A JUnit report: a suite for each file, a test for each run of each of its cases.
#[derive(Default)]
pub(super) struct Junit {
    tests: Parts,
    /// The suite of each test, and how it counts there.
    places: Mutex<BTreeMap<usize, (Arc<str>, Count)>>,
}

#[derive(Clone, Copy, Default)]
struct Count {
    tests: usize,
    failures: usize,
    errors: usize,
}

impl Junit {
    /// Takes in what a case came to.
    pub(super) fn take(&self, order: usize, result: &CaseResult) {
        let file = result.file.clone().unwrap_or_default();
        let (failures, errors) = match result.status {
            Verdict::Passed => (0, 0),
            Verdict::Failed | Verdict::Unjudged => (1, 0),
            Verdict::Error | Verdict::Terminated => (0, 1),
        };
        // The class of a case without a file is known when the run has ended.
        let Some(result) = rehearsal_core::json::to_string(result).ok() else { return };
        self.tests.put(order, result.as_bytes());
        let count = Count { tests: 1, failures, errors };
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        places.insert(order, (file.into(), count));
    }

    /// Writes the report.
    pub(super) fn write(&self, run: &RunResult, mut to: impl Write) -> io::Result<()> {
        let places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        let mut suites: IndexMap<&str, (Count, Vec<usize>)> = IndexMap::new();
        let mut all = Count::default();
        for (order, (file, count)) in &*places {
            let file = if file.is_empty() { run.eval_set.as_deref().unwrap_or_default() } else { &**file };
            let suite = suites.entry(file).or_default();
            suite.1.push(*order);
            for sum in [&mut suite.0, &mut all] {
                sum.tests += count.tests;
                sum.failures += count.failures;
                sum.errors += count.errors;
            }
        }
        let Count { tests, failures, errors } = all;
        writeln!(to, r#"<?xml version="1.0" encoding="UTF-8"?>"#)?;
        writeln!(
            to,
            r#"<testsuites name="rehearse" tests="{tests}" failures="{failures}" errors="{errors}">"#
        )?;
        for (file, (Count { tests, failures, errors }, orders)) in suites {
            let name = quick_junit::XmlString::new(visible(file));
            let name = escaped(name.as_str());
            writeln!(
                to,
                r#"    <testsuite name="{name}" tests="{tests}" disabled="0" errors="{errors}" failures="{failures}">"#
            )?;
            for order in orders {
                let Some(part) = self.tests.get(order) else { continue };
                let case: CaseResult = rehearsal_core::json::from_slice(&part?).map_err(io::Error::other)?;
                to.write_all(test(test_case(&case, file)).map_err(io::Error::other)?.as_bytes())?;
            }
            writeln!(to, "    </testsuite>")?;
        }
        writeln!(to, "</testsuites>")
    }
}

/// A test as it stands in a report, in lines of its own.
fn test(case: TestCase) -> Result<String, quick_junit::SerializeError> {
    let mut suite = TestSuite::new("");
    suite.add_test_case(case);
    let mut report = Report::new("");
    report.add_test_suites([suite]);
    let text = report.to_string()?;
    let start = text.find("        <testcase").unwrap_or(text.len());
    let end = text.rfind("    </testsuite>").unwrap_or(text.len());
    Ok(text.get(start..end).unwrap_or_default().to_owned())
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', "&apos;")
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
    if let Some(fault) = result.fault {
        case.add_property(("fault", fault.to_string().as_str()));
    }
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
