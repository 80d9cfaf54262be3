//! What the agent said last.

use regex::Regex;
use rehearsal_core::{Ledger, MetricResult};

use crate::excerpt::{EVIDENCE, excerpt};
use crate::fold::Case;
use crate::metric::nothing_to_read;
use crate::view::View;
use crate::{Assessment, Metric, rouge1};

/// Checks the text of the agent's final response.
///
/// The final response is the reply of the session; see [`View::reply`]. In a session that has not ended it is the last
/// response so far, and the evidence says so.
///
/// Without any response the metric fails when the session has ended, also where it only forbids a text: an agent
/// that says nothing has not answered well. When the session has not ended the answer may still come, so it is
/// unscored. Where several checks are given, all must hold. A metric without a check is an error.
///
/// ```
/// use rehearsal_metrics::{Assessment, FinalResponse, Metric};
/// # use rehearsal_testkit::ledger;
///
/// let metric = FinalResponse::new("advice").contains("call 999").not_contains("aspirin").regex(r"\bnow\b")?;
/// let Assessment::Done(result) = metric.evaluate(&ledger("user: help / agent: Call 999 now! / end")) else {
///     unreachable!()
/// };
/// assert!(result.passed());
/// # Ok::<(), rehearsal_metrics::InvalidPattern>(())
/// ```
#[derive(Clone, Debug)]
pub struct FinalResponse {
    name: String,
    checks: Vec<Check>,
    case: Case,
}

impl FinalResponse {
    /// A metric without checks; add some.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), checks: Vec::new(), case: Case::Ignored }
    }

    /// The response contains this text, in upper or lower case.
    pub fn contains(self, text: impl Into<String>) -> Self {
        self.check(Check::Contains(text.into()))
    }

    /// The response does not contain this text, neither in upper nor in lower case.
    pub fn not_contains(self, text: impl Into<String>) -> Self {
        self.check(Check::NotContains(text.into()))
    }

    /// Makes [`contains`](Self::contains) and [`not_contains`](Self::not_contains) tell upper from lower case.
    pub fn case_sensitive(mut self) -> Self {
        self.case = Case::Matters;
        self
    }

    /// The pattern matches somewhere in the response; it is a pattern of the `regex` crate.
    ///
    /// # Errors
    /// The pattern is not valid.
    pub fn regex(self, pattern: &str) -> Result<Self, InvalidPattern> {
        let regex = Regex::new(pattern)
            .map_err(|source| InvalidPattern { pattern: pattern.to_owned(), source: Box::new(source) })?;
        Ok(self.check(Check::Matches(regex)))
    }

    /// The response is exactly this text, apart from spaces around it.
    pub fn equals(self, text: impl Into<String>) -> Self {
        self.check(Check::Equals(text.into()))
    }

    /// The ROUGE-1 F1 of the response and the expected text is at least `threshold`, as in ADK's
    /// `response_match_score`; see [`rouge1`]. It becomes the metric's score, the lowest where there are several.
    pub fn rouge1(self, expected: impl Into<String>, threshold: f64) -> Self {
        self.check(Check::Rouge { expected: expected.into(), threshold })
    }

    fn check(mut self, check: Check) -> Self {
        self.checks.push(check);
        self
    }

    fn assess(&self, ledger: &Ledger) -> MetricResult {
        if self.checks.is_empty() {
            return MetricResult::error("no assertion: say what the final response should be");
        }
        if let Some(problem) = self.checks.iter().find_map(Check::problem) {
            return MetricResult::error(problem);
        }
        if let Some(result) = nothing_to_read(ledger) {
            return result;
        }
        let Some((seq, text)) = final_response(ledger) else {
            return match ledger.end() {
                Some(_) => MetricResult::from_pass(false).because("the session ended without a response"),
                None => {
                    MetricResult::unscored("the session has not ended and the agent has not responded yet")
                }
            };
        };
        let findings: Vec<Finding> =
            self.checks.iter().map(|check| check.look_at(&text, self.case)).collect();
        let mut result = MetricResult::from_pass(findings.iter().all(|finding| finding.holds));
        result.score = findings.iter().filter_map(|finding| finding.score).reduce(f64::min);
        result =
            result.because_of(format!("the response is {:?}", excerpt(&text, EVIDENCE)), [seq]).value(text);
        for finding in findings {
            result = result.because(finding.text);
        }
        match ledger.end() {
            Some(_) => result,
            None => result.because("the session has not ended; this is the last response so far"),
        }
    }
}

impl Metric for FinalResponse {
    fn name(&self) -> &str {
        &self.name
    }

    fn evaluate(&self, ledger: &Ledger) -> Assessment {
        Assessment::Done(self.assess(ledger))
    }
}

/// A pattern that is not a regular expression.
#[derive(Clone, Debug, thiserror::Error)]
#[error("`{pattern}` is not a regular expression")]
pub struct InvalidPattern {
    /// The pattern.
    pub pattern: String,
    /// What is wrong with it.
    #[source]
    pub source: Box<regex::Error>,
}

/// The final response of a session and the number of its event; [`View::reply`] says which text that is.
pub fn final_response(ledger: &Ledger) -> Option<(u64, String)> {
    View::session(ledger).reply()
}

#[derive(Clone, Debug)]
enum Check {
    Contains(String),
    NotContains(String),
    Matches(Regex),
    Equals(String),
    Rouge { expected: String, threshold: f64 },
}

struct Finding {
    holds: bool,
    score: Option<f64>,
    text: String,
}

impl Check {
    /// What makes the check meaningless, if something does: every text contains the empty one.
    fn problem(&self) -> Option<String> {
        match self {
            Self::Contains(text) | Self::NotContains(text) if text.is_empty() => {
                Some("cannot look for an empty text: every response contains it".to_owned())
            }
            Self::Matches(regex) if regex.as_str().is_empty() => {
                Some("an empty pattern matches every response".to_owned())
            }
            Self::Rouge { threshold: 0.0, .. } => Some("every response reaches a threshold of 0".to_owned()),
            Self::Rouge { threshold, .. } if !(0.0..=1.0).contains(threshold) => {
                Some(format!("threshold {threshold} is not between 0 and 1"))
            }
            _ => None,
        }
    }

    fn look_at(&self, response: &str, case: Case) -> Finding {
        let has = |text: &str| case.contains(response, text);
        let (holds, what) = match self {
            Self::Contains(text) => (has(text), format!("contain {text:?}")),
            Self::NotContains(text) => (!has(text), format!("leave out {text:?}")),
            Self::Matches(regex) => (regex.is_match(response), format!("match the pattern `{regex}`")),
            Self::Equals(text) => {
                (response.trim() == text.trim(), format!("equal {:?}", excerpt(text, EVIDENCE)))
            }
            Self::Rouge { expected, threshold } => {
                let f1 = rouge1(response, expected).f1;
                let text = format!("ROUGE-1 F1 is {f1:.3}, at least {threshold} is asked for");
                return Finding { holds: f1 >= *threshold, score: Some(f1), text };
            }
        };
        let verb = if holds { "does" } else { "does not" };
        Finding { holds, score: None, text: format!("it {verb} {what}") }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use rehearsal_testkit::ledger;

    use super::*;

    fn check(metric: &FinalResponse, description: &str, expected: &Expect) {
        expected.assert_eq(&crate::testing::outcome(metric, &ledger(description)));
    }

    fn new() -> FinalResponse {
        FinalResponse::new("m")
    }

    #[test]
    fn an_earlier_reply_does_not_stand_for_one_that_said_nothing() {
        let silent = "user: help / agent: Call 999. / user: are you sure? / agent:  / end";
        assert_eq!(final_response(&ledger(silent)), None);
        let unanswered = "user: help / agent: Call 999. / user: are you sure? / end";
        assert_eq!(final_response(&ledger(unanswered)).map(|(_, text)| text).as_deref(), Some("Call 999."));
    }

    #[test]
    fn checks_that_always_pass_are_errors() {
        for metric in [new().regex("").unwrap(), new().rouge1("x", 0.0), new().contains("")] {
            let Assessment::Done(result) = metric.evaluate(&ledger("user: hi / agent: bye / end")) else {
                unreachable!()
            };
            assert_eq!(result.status, rehearsal_core::MetricStatus::Error);
        }
    }

    #[test]
    fn each_check_passes_and_fails() {
        let session = "user: hi / agent: Call 999 NOW. / end";
        let rouge = |threshold| new().rouge1("Please call 999 immediately", threshold);
        let all = new()
            .contains("call 999")
            .not_contains("aspirin")
            .regex("(?i)now")
            .unwrap()
            .equals(" Call 999 NOW.");
        check(
            &all,
            session,
            &expect![[r#"
            passed, value "Call 999 NOW."
            the response is "Call 999 NOW." [3]
            it does contain "call 999"
            it does leave out "aspirin"
            it does match the pattern `(?i)now`
            it does equal " Call 999 NOW.""#]],
        );
        let none =
            new().contains("now").not_contains("Call").case_sensitive().regex("now").unwrap().equals("Call");
        check(
            &none,
            session,
            &expect![[r#"
            failed, value "Call 999 NOW."
            the response is "Call 999 NOW." [3]
            it does not contain "now"
            it does not leave out "Call"
            it does not match the pattern `now`
            it does not equal "Call""#]],
        );
        check(
            &rouge(0.5),
            session,
            &expect![[r#"
            passed, score 0.571, value "Call 999 NOW."
            the response is "Call 999 NOW." [3]
            ROUGE-1 F1 is 0.571, at least 0.5 is asked for"#]],
        );
        check(
            &rouge(0.9).rouge1("nothing alike", 0.1),
            session,
            &expect![[r#"
                failed, score 0.000, value "Call 999 NOW."
                the response is "Call 999 NOW." [3]
                ROUGE-1 F1 is 0.571, at least 0.9 is asked for
                ROUGE-1 F1 is 0.000, at least 0.1 is asked for"#]],
        );
    }

    #[test]
    fn upper_and_lower_case_are_one_in_every_script() {
        check(
            &new().contains("strasse").contains("ΟΔΟΣ").contains("CAFE\u{301}"),
            "agent: STRAßE οδος café / end",
            &expect![[r#"
            passed, value "STRAßE οδος café"
            the response is "STRAßE οδος café" [2]
            it does contain "strasse"
            it does contain "ΟΔΟΣ"
            it does contain "CAFE\u{301}""#]],
        );
    }

    #[test]
    fn the_response_is_what_the_agent_said_last() {
        let text = |description: &str| final_response(&ledger(description));
        assert_eq!(text("agent: one / agent: two / user: three / end"), Some((3, "two".to_owned())));
        assert_eq!(text("agent: one / @ helper: two / end"), Some((2, "one".to_owned())));
        assert_eq!(text("agent: one / agent:   / end"), Some((2, "one".to_owned())));
        assert_eq!(text(r#"agent: one / final "two" / end"#), Some((3, "two".to_owned())));
        assert_eq!(text(r#"agent: one / final {"done": true} / end"#), Some((2, "one".to_owned())));
        assert_eq!(
            text(r#"user: one / final {"done": true} / end"#),
            Some((3, r#"{"done":true}"#.to_owned()))
        );
        assert_eq!(text("user: one / final null / end"), None);
        assert_eq!(text(r#"user: one / final "" / end"#), None);
    }

    #[test]
    fn silence_fails_once_the_session_has_ended() {
        check(
            &new().not_contains("aspirin"),
            "user: hi / call ask / end",
            &expect![[r#"
            failed
            the session ended without a response"#]],
        );
        check(
            &new().not_contains("aspirin"),
            "user: hi / call ask",
            &expect![[r#"
            unscored
            the session has not ended and the agent has not responded yet"#]],
        );
        check(
            &new().contains("hello"),
            "user: hi / agent: hello / yield",
            &expect![[r#"
            passed, value "hello"
            the response is "hello" [3]
            it does contain "hello"
            the session has not ended; this is the last response so far"#]],
        );
    }

    #[test]
    fn what_cannot_be_checked_is_an_error() {
        check(
            &new(),
            "agent: hi / end",
            &expect![[r#"
            error
            no assertion: say what the final response should be"#]],
        );
        check(
            &new().contains(""),
            "agent: hi / end",
            &expect![[r#"
            error
            cannot look for an empty text: every response contains it"#]],
        );
        check(
            &new().rouge1("hi", 80.0),
            "agent: hi / end",
            &expect![[r#"
            error
            threshold 80 is not between 0 and 1"#]],
        );
        assert_eq!(new().regex("(").unwrap_err().to_string(), "`(` is not a regular expression");
    }
}
