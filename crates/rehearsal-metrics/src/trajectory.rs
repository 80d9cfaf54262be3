//! Which tools were called, and how that differs from what was expected.

mod adk;
mod alignment;
mod diff;
mod expected;

use rehearsal_core::{CallView, Ledger, MetricResult};
use serde_json::{Map, Value};

pub use adk::{AdkArgs, AdkCall, AdkMatch, adk_trajectory_score};
pub use expected::ExpectedCall;

use crate::evaluator::CallStatus;
use crate::metric::nothing_to_read;
use crate::{Assessment, Metric};
use diff::Diff;

/// Compares the tool calls of a session with those expected.
///
/// | kind | passes when | score |
/// |---|---|---|
/// | [`exact`](Self::exact), the default | the same calls were made in the same order and no others | 2 × calls in common ÷ (expected + made), in order |
/// | [`in_order`](Self::in_order) | the expected calls were made in that order; others may come between | expected calls made in order ÷ expected |
/// | [`any_order`](Self::any_order) | the expected calls were made; others may come too | expected calls made ÷ expected |
/// | [`subset`](Self::subset) | every call made is an expected one; not all need be made | calls made that are expected ÷ made, 1 if none was made |
///
/// A call made counts for one expected call only: a call expected once and made twice is, to `subset`, unexpected
/// the second time. Where arguments leave a choice, calls are paired such that as many as possible fit.
///
/// Calls inside agents used as tools are left out unless [`include_nested`](Self::include_nested) is set; calls
/// that failed or were not answered count as made unless [`only_successful`](Self::only_successful) is set.
///
/// The evidence is a diff, a line a call, with the number of the call's event: `=` as expected, `~` the right tool
/// with other arguments, `-` expected and not made, `+` made and not expected.
///
/// ```
/// use rehearsal_metrics::{Assessment, ExpectedCall, Metric, TrajectoryMetric};
/// use serde_json::json;
/// # use rehearsal_testkit::ledger;
///
/// let metric = TrajectoryMetric::new("trajectory", vec![
///     ExpectedCall::new("search").args_partial(json!({"limit": 10})),
///     ExpectedCall::new("book"),
/// ]);
/// let ledger = ledger(r#"call search {"query": "gp", "limit": 5} / result search [] / call book {} / end"#);
/// let Assessment::Done(result) = metric.evaluate(&ledger) else { unreachable!() };
/// assert_eq!(result.score, Some(0.5));
/// assert_eq!(result.evidence[0].text, "~ search: $.limit expected 10, got 5");
/// assert_eq!(result.evidence[1].text, "= book {}");
/// ```
#[derive(Clone, Debug)]
pub struct TrajectoryMetric {
    name: String,
    expected: Vec<ExpectedCall>,
    kind: MatchKind,
    threshold: f64,
    nested: Nested,
    status: CallStatus,
}

impl TrajectoryMetric {
    /// Expects these calls, exactly.
    pub fn new(name: impl Into<String>, expected: Vec<ExpectedCall>) -> Self {
        Self {
            name: name.into(),
            expected,
            kind: MatchKind::Exact,
            threshold: 1.0,
            nested: Nested::LeftOut,
            status: CallStatus::Any,
        }
    }

    /// The same calls in the same order and no others.
    pub fn exact(self) -> Self {
        self.kind(MatchKind::Exact)
    }

    /// The expected calls in that order; others may come between.
    pub fn in_order(self) -> Self {
        self.kind(MatchKind::InOrder)
    }

    /// The expected calls in any order; others may come too.
    pub fn any_order(self) -> Self {
        self.kind(MatchKind::AnyOrder)
    }

    /// No calls but the expected ones; not all need be made.
    pub fn subset(self) -> Self {
        self.kind(MatchKind::Subset)
    }

    /// Passes from this score on, from 0 to 1, instead of only when everything is as expected.
    pub fn threshold(mut self, score: f64) -> Self {
        self.threshold = score;
        self
    }

    /// Takes in calls that agents used as tools make.
    pub fn include_nested(mut self) -> Self {
        self.nested = Nested::TakenIn;
        self
    }

    /// Leaves calls out that failed or were not answered.
    pub fn only_successful(self) -> Self {
        self.status(CallStatus::Succeeded)
    }

    /// Takes calls of this outcome only.
    pub(crate) fn status(mut self, status: CallStatus) -> Self {
        self.status = status;
        self
    }

    /// Compares in this way.
    pub fn kind(mut self, kind: MatchKind) -> Self {
        self.kind = kind;
        self
    }

    fn problem(&self) -> Option<String> {
        if let Some(problem) = self.expected.iter().find_map(ExpectedCall::problem) {
            return Some(problem);
        }
        if self.expected.is_empty() && matches!(self.kind, MatchKind::InOrder | MatchKind::AnyOrder) {
            let hint = "to expect that none is made, use `exact`";
            return Some(format!("no calls are expected and any are allowed, so nothing could fail; {hint}"));
        }
        let threshold =
            Some(self.threshold).filter(|threshold| !(0.0..=1.0).contains(threshold) || *threshold == 0.0)?;
        Some(format!("threshold {threshold} is not above 0 and up to 1"))
    }

    fn assess(&self, ledger: &Ledger) -> MetricResult {
        if let Some(problem) = self.problem() {
            return MetricResult::error(problem);
        }
        nothing_to_read(ledger).unwrap_or_else(|| self.compare(ledger.calls()))
    }

    /// Compares with these calls, which are a part of a ledger's.
    pub(crate) fn assess_calls<'a>(&self, calls: impl IntoIterator<Item = CallView<'a>>) -> MetricResult {
        self.problem().map_or_else(|| self.compare(calls), MetricResult::error)
    }

    /// Compares with these calls, of a metric that has no problem.
    fn compare<'a>(&self, calls: impl IntoIterator<Item = CallView<'a>>) -> MetricResult {
        let made: Vec<MadeCall> =
            calls.into_iter().filter(|call| self.takes(call)).map(MadeCall::from).collect();
        let diff = Diff::new(&self.expected, &made, self.kind);
        let score = self.kind.score(diff.matches(), self.expected.len(), made.len());
        let tools: Vec<&str> = made.iter().map(|call| call.tool).collect();
        let mut result = MetricResult::from_pass(score >= self.threshold).score(score).value(tools);
        result.evidence = diff.evidence();
        result
    }

    fn takes(&self, call: &CallView<'_>) -> bool {
        let is_nested = call.event.invocation.as_ref().is_some_and(|path| !path.enclosure().is_empty());
        (self.nested == Nested::TakenIn || !is_nested) && self.status.holds(call)
    }
}

impl Metric for TrajectoryMetric {
    fn name(&self) -> &str {
        &self.name
    }

    fn evaluate(&self, ledger: &Ledger) -> Assessment {
        Assessment::Done(self.assess(ledger))
    }
}

/// How calls are compared with those expected; see [`TrajectoryMetric`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatchKind {
    /// The same calls in the same order and no others.
    Exact,
    /// The expected calls in that order; others may come between.
    InOrder,
    /// The expected calls in any order; others may come too.
    AnyOrder,
    /// No calls but the expected ones; not all need be made.
    Subset,
}

impl MatchKind {
    #[expect(clippy::cast_precision_loss, reason = "no session makes 2^53 calls")]
    fn score(self, matches: usize, expected: usize, made: usize) -> f64 {
        let (part, whole) = match self {
            Self::Exact => (2 * matches, expected + made),
            Self::InOrder | Self::AnyOrder => (matches, expected),
            Self::Subset => (matches, made),
        };
        if whole == 0 { 1.0 } else { part as f64 / whole as f64 }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Nested {
    LeftOut,
    TakenIn,
}

/// A call as the ledger has it.
struct MadeCall<'a> {
    seq: u64,
    tool: &'a str,
    args: &'a Map<String, Value>,
}

impl<'a> From<CallView<'a>> for MadeCall<'a> {
    fn from(call: CallView<'a>) -> Self {
        Self { seq: call.event.seq, tool: call.tool, args: call.args }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use rehearsal_testkit::ledger;
    use serde_json::json;

    use super::*;

    const SESSION: &str = r#"
        user: hi
        call ask {"q": 1} / result ask 1
        call log {}
        call book {"slot": 5} / fail book taken
        call ask {"q": 2} / result ask 2
        end"#;

    fn check(metric: &TrajectoryMetric, expected: &Expect) {
        expected.assert_eq(&crate::testing::outcome(metric, &ledger(SESSION)));
    }

    fn ask(number: u32) -> ExpectedCall {
        ExpectedCall::new("ask").args(json!({"q": number}))
    }

    fn expecting(calls: impl Into<Vec<ExpectedCall>>) -> TrajectoryMetric {
        TrajectoryMetric::new("trajectory", calls.into())
    }

    fn book(slot: u32) -> ExpectedCall {
        ExpectedCall::new("book").args(json!({"slot": slot}))
    }

    fn log() -> ExpectedCall {
        ExpectedCall::new("log")
    }

    #[test]
    fn exact_wants_the_same_calls_and_no_others() {
        check(
            &expecting([ask(1), log(), book(5), ask(2)]),
            &expect![[r#"
            passed, score 1.000, value ["ask","log","book","ask"]
            = ask {"q":1} [3]
            = log {} [5]
            = book {"slot":5} [6]
            = ask {"q":2} [8]"#]],
        );
        check(
            &expecting([ask(1), book(6), ask(2), ask(3)]).exact(),
            &expect![[r#"
            failed, score 0.500, value ["ask","log","book","ask"]
            = ask {"q":1} [3]
            + unexpected log {} [5]
            ~ book: $.slot expected 6, got 5 [6]
            = ask {"q":2} [8]
            - missing ask {"q":3}"#]],
        );
        check(
            &expecting([ask(2), ask(1)]),
            &expect![[r#"
            failed, score 0.333, value ["ask","log","book","ask"]
            - missing ask {"q":2}
            = ask {"q":1} [3]
            + unexpected log {} [5]
            + unexpected book {"slot":5} [6]
            + unexpected ask {"q":2} [8]"#]],
        );
    }

    #[test]
    fn in_order_lets_others_come_between() {
        check(
            &expecting([ask(1), book(5), ask(2)]).in_order(),
            &expect![[r#"
            passed, score 1.000, value ["ask","log","book","ask"]
            = ask {"q":1} [3]
            = book {"slot":5} [6]
            = ask {"q":2} [8]
            other calls, which are allowed: 1 [5]"#]],
        );
        check(
            &expecting([ask(2), book(5)]).in_order(),
            &expect![[r#"
            failed, score 0.500, value ["ask","log","book","ask"]
            ~ ask: $.q expected 2, got 1 [3]
            = book {"slot":5} [6]
            other calls, which are allowed: 2 [5, 8]"#]],
        );
    }

    #[test]
    fn any_order_wants_the_expected_calls_only() {
        check(
            &expecting([ask(2), book(5), ExpectedCall::new("ask")]).any_order(),
            &expect![[r#"
            passed, score 1.000, value ["ask","log","book","ask"]
            = ask {"q":2} [8]
            = book {"slot":5} [6]
            = ask {"q":1} [3]
            other calls, which are allowed: 1 [5]"#]],
        );
        check(
            &expecting([ask(2), ask(2), ExpectedCall::new("cancel")]).any_order(),
            &expect![[r#"
            failed, score 0.333, value ["ask","log","book","ask"]
            = ask {"q":2} [8]
            ~ ask: $.q expected 2, got 1 [3]
            - missing cancel with any arguments
            other calls, which are allowed: 2 [5, 6]"#]],
        );
    }

    #[test]
    fn subset_wants_nothing_unexpected() {
        check(
            &expecting([ask(1), ask(2), ask(3), log(), book(5)]).subset(),
            &expect![[r#"
            passed, score 1.000, value ["ask","log","book","ask"]
            = ask {"q":1} [3]
            = log {} [5]
            = book {"slot":5} [6]
            = ask {"q":2} [8]
            expected calls not made, which is allowed: 1"#]],
        );
        check(
            &expecting([ExpectedCall::new("ask"), book(6)]).subset(),
            &expect![[r#"
            failed, score 0.250, value ["ask","log","book","ask"]
            = ask {"q":1} [3]
            + unexpected log {} [5]
            ~ book: $.slot expected 6, got 5 [6]
            + unexpected ask {"q":2} [8]"#]],
        );
    }

    #[test]
    fn calls_can_be_left_out_and_taken_in() {
        let session = r#"call plan {} / @ call search {} / @ result search 1 / result plan 1 / call book {} / fail book no"#;
        let outcome = |metric: TrajectoryMetric| crate::testing::outcome(&metric, &ledger(session));
        let tools = |names: &[&str]| {
            TrajectoryMetric::new("trajectory", names.iter().map(|name| ExpectedCall::new(*name)).collect())
        };
        assert!(outcome(tools(&["plan", "book"])).starts_with("passed"));
        assert!(outcome(tools(&["plan", "search", "book"]).include_nested()).starts_with("passed"));
        assert!(outcome(tools(&["plan"]).only_successful()).starts_with("passed"));
    }

    #[test]
    fn a_threshold_lets_less_than_everything_pass() {
        let metric = expecting([ask(1), ask(9)]).in_order();
        let outcome =
            |threshold| crate::testing::outcome(&metric.clone().threshold(threshold), &ledger(SESSION));
        assert!(outcome(0.5).starts_with("passed, score 0.500"));
        assert!(outcome(0.6).starts_with("failed, score 0.500"));
    }

    #[test]
    fn evidence_stays_short_enough_to_read() {
        let result =
            TrajectoryMetric::new("trajectory", Vec::new()).assess(&ledger(&"call log {}\n".repeat(300)));
        assert_eq!(result.evidence.len(), 201);
        assert_eq!(result.evidence[200].text, "… and 100 more steps");
        let keys: Map<String, Value> = (0..9).map(|n| (n.to_string(), json!(n))).collect();
        let result = expecting([log().args(keys.into())]).assess(&ledger("call log {}"));
        assert!(result.evidence[0].text.ends_with("; and 4 more differences"), "{:?}", result.evidence);
    }

    #[test]
    fn no_calls_can_be_expected_exactly() {
        let none = expecting([]);
        expect![[r#"
            passed, score 1.000, value []
            no calls were made"#]]
        .assert_eq(&crate::testing::outcome(&none, &ledger("user: hi / end")));
        expect![[r#"
            failed, score 0.000, value ["log"]
            + unexpected log {} [2]"#]]
        .assert_eq(&crate::testing::outcome(&none, &ledger("call log / end")));
        expect![[r#"
            passed, score 1.000, value []
            expected calls not made, which is allowed: 1"#]]
        .assert_eq(&crate::testing::outcome(&expecting([ask(1)]).subset(), &ledger("end")));
    }

    #[test]
    fn what_cannot_be_decided_says_why() {
        check(
            &expecting([]).in_order(),
            &expect![[r#"
            error
            no calls are expected and any are allowed, so nothing could fail; to expect that none is made, use `exact`"#]],
        );
        check(
            &expecting([log().args(json!(1))]),
            &expect![[r#"
            error
            the expected arguments of `log` are not an object: 1"#]],
        );
        check(
            &expecting([log()]).threshold(f64::NAN),
            &expect![[r#"
                error
                threshold NaN is not above 0 and up to 1"#]],
        );
        expect![[r#"
            unscored
            the ledger is empty: no session was started"#]]
        .assert_eq(&crate::testing::outcome(&expecting([log()]), &Ledger::new("s".into())));
    }
}
