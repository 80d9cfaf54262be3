//! What a value in the state came to.

use std::fmt;
use std::sync::Arc;

use rehearsal_core::json::text;
use rehearsal_core::{EventBody, Ledger, MetricResult, Query, QueryError, State};
use serde_json::{Map, Value, json};

use crate::equality::is_same;
use crate::excerpt::{EVIDENCE, excerpt};
use crate::metric::nothing_to_read;
use crate::query_evidence::mismatch;
use crate::{Assessment, Metric};

/// Asserts something about a value in the final state.
///
/// The key may be a path: `escalation.urgency` is the `urgency` of the object `escalation`, `items.0` the first of
/// the array `items`. A key that is written with its dots as it stands in the scope comes first.
///
/// A value that is not there is handed to the assertions as such, so that "was never escalated" can be asserted.
/// Assertions about a value fail then, also where the whole scope was never set: that is more often a misspelt
/// scope than an agent that did well, and a metric that cannot find what it asks about must not pass. Where
/// several assertions are given, all must hold. A metric that asserts nothing is an error.
///
/// ```
/// use rehearsal_metrics::{Assessment, Metric, StateMetric};
/// # use rehearsal_testkit::ledger;
///
/// let metric = StateMetric::new("escalated", "session", "escalation.urgency").equals("emergency_999");
/// let ledger = ledger(r#"user: help / state {"session": {"escalation": {"urgency": "emergency_999"}}} / end"#);
/// let Assessment::Done(result) = metric.evaluate(&ledger) else { unreachable!() };
/// assert!(result.passed());
/// assert_eq!(result.evidence[0].events, [3]);
/// ```
#[derive(Clone, Debug)]
pub struct StateMetric {
    name: String,
    scope: String,
    key: String,
    assertions: Vec<Assertion>,
}

impl StateMetric {
    /// Looks at the value of a key in a scope.
    pub fn new(name: impl Into<String>, scope: impl Into<String>, key: impl Into<String>) -> Self {
        Self { name: name.into(), scope: scope.into(), key: key.into(), assertions: Vec::new() }
    }

    /// Asserts that the closure holds for the value, or for nothing where there is none.
    pub fn assert(self, assertion: impl Fn(Option<&Value>) -> bool + Send + Sync + 'static) -> Self {
        self.with(Assertion::Custom(Arc::new(assertion)))
    }

    /// Asserts that there is this value. Numbers are the same by value: 2 is 2.0.
    pub fn equals(self, value: impl Into<Value>) -> Self {
        self.with(Assertion::Equals(value.into()))
    }

    /// Asserts that the value is an object that matches a query, such as `{"urgency": "999", "score": {"$gt": 3}}`.
    ///
    /// For a value that is no object, or may be missing, see [`satisfies`](Self::satisfies).
    pub fn matches(self, query: Query) -> Self {
        self.with(Assertion::Matches(query))
    }

    /// Asserts what a query can ask of a path: `{"$gte": 3}`, `{"$exists": false}`, or a value to be equal to. A value
    /// that is missing satisfies only conditions that mention `$exists`.
    ///
    /// # Errors
    /// The condition is not understood.
    pub fn satisfies(self, condition: &Value) -> Result<Self, QueryError> {
        let query = Query::parse(&json!({(VALUE): condition}))?;
        Ok(self.with(Assertion::Satisfies(query)))
    }

    fn with(mut self, assertion: Assertion) -> Self {
        self.assertions.push(assertion);
        self
    }

    fn assess(&self, ledger: &Ledger) -> MetricResult {
        if self.assertions.is_empty() {
            return MetricResult::error("no assertion: say what the value should be");
        }
        if let Some(result) = nothing_to_read(ledger) {
            return result;
        }
        let value = self.look_up(ledger.state());
        let broken: Vec<String> =
            self.assertions.iter().filter_map(|assertion| assertion.unmet(value)).collect();
        let mut result = MetricResult::from_pass(broken.is_empty())
            .because_of(self.finding(ledger, value), self.last_change(ledger));
        result.value = value.cloned();
        broken.into_iter().fold(result, MetricResult::because)
    }

    fn finding(&self, ledger: &Ledger, value: Option<&Value>) -> String {
        let Self { scope, key, .. } = self;
        match value {
            Some(value) => {
                format!("{scope}.{key} is {}", excerpt(&rehearsal_core::json::text(value), EVIDENCE))
            }
            None if ledger.state().has_scope(scope) => format!("{scope}.{key} is not set"),
            None => format!("scope `{scope}` was never set"),
        }
    }

    fn look_up<'a>(&self, state: &'a State) -> Option<&'a Value> {
        if let Some(value) = state.get(&self.scope, &self.key) {
            return Some(value);
        }
        let mut steps = self.key.split('.');
        let start = state.get(&self.scope, steps.next()?)?;
        steps.try_fold(start, |value, step| match value {
            Value::Object(fields) => fields.get(step),
            Value::Array(items) => items.get(step.parse::<usize>().ok()?),
            _ => None,
        })
    }

    /// The event after which the value was another one than before; nothing where it never was any.
    fn last_change(&self, ledger: &Ledger) -> Option<u64> {
        let mut state = State::default();
        let mut before = None;
        let mut changed = None;
        for event in ledger.events() {
            match &event.body {
                EventBody::SessionStarted(started) => state = started.state.clone(),
                body if body.changes().is_empty() => continue,
                body => body.changes().iter().for_each(|patch| state.apply(patch)),
            }
            let after = self.look_up(&state);
            if after != before.as_ref() {
                before = after.cloned();
                changed = Some(event.seq);
            }
        }
        changed
    }
}

impl Metric for StateMetric {
    fn name(&self) -> &str {
        &self.name
    }

    fn evaluate(&self, ledger: &Ledger) -> Assessment {
        Assessment::Done(self.assess(ledger))
    }
}

/// The path under which a value stands in the document that a condition is asked about.
const VALUE: &str = "value";

type Closure = Arc<dyn Fn(Option<&Value>) -> bool + Send + Sync>;

#[derive(Clone)]
enum Assertion {
    Equals(Value),
    Matches(Query),
    Satisfies(Query),
    Custom(Closure),
}

impl Assertion {
    /// What was expected where it does not hold.
    fn unmet(&self, value: Option<&Value>) -> Option<String> {
        match self {
            Self::Equals(expected) if value.is_some_and(|value| is_same(value, expected)) => None,
            Self::Equals(expected) => Some(format!("expected {}", excerpt(&text(expected), EVIDENCE))),
            Self::Matches(query) => match value {
                Some(value) if value.is_object() => mismatch(query, value),
                _ => Some(format!(
                    "expected an object that matches {}",
                    excerpt(&text(query.source()), EVIDENCE)
                )),
            },
            // Most conditions say something about a value; of a missing one, `$ne` and its like would hold of anything
            // that was never there, a misspelt scope included.
            Self::Satisfies(query) if value.is_none() && !mentions_existence(&query.source()[VALUE]) => {
                Some(format!(
                    "expected a value that satisfies {}",
                    excerpt(&text(&query.source()[VALUE]), EVIDENCE)
                ))
            }
            Self::Satisfies(query) => {
                let fields = value.map(|value| (VALUE.to_owned(), value.clone()));
                mismatch(query, &Value::Object(Map::from_iter(fields)))
            }
            Self::Custom(assertion) if assertion(value) => None,
            Self::Custom(_) => Some("expected a value for which the assertion holds".to_owned()),
        }
    }
}

fn mentions_existence(condition: &Value) -> bool {
    match condition {
        Value::Object(fields) => {
            fields.iter().any(|(key, value)| key == "$exists" || mentions_existence(value))
        }
        Value::Array(items) => items.iter().any(mentions_existence),
        _ => false,
    }
}

impl fmt::Debug for Assertion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Equals(value) => write!(f, "Equals({})", text(value)),
            Self::Matches(query) => write!(f, "Matches({})", text(query.source())),
            Self::Satisfies(query) => write!(f, "Satisfies({})", text(&query.source()[VALUE])),
            Self::Custom(_) => f.write_str("Custom"),
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use rehearsal_testkit::ledger;
    use serde_json::json;

    use super::*;

    const SESSION: &str = r#"
        start {"session": {"mode": "triage", "a.b": 1}, "patient": {"age": 55}}
        state {"session": {"escalation": {"urgency": "999", "by": ["bot", "nurse"]}}}
        state {"session": {"mode": "done"}}
        state {"session": {"mode": "done"}, "patient": {"age": null}}
        end"#;

    fn check(metric: &StateMetric, expected: &Expect) {
        expected.assert_eq(&crate::testing::outcome(metric, &ledger(SESSION)));
    }

    fn value(scope: &str, key: &str) -> StateMetric {
        StateMetric::new("m", scope, key)
    }

    #[test]
    fn a_value_that_is_as_asserted_passes() {
        check(
            &value("session", "mode").equals("done"),
            &expect![[r#"
            passed, value "done"
            session.mode is "done" [3]"#]],
        );
        check(
            &value("session", "escalation.urgency").assert(|value| value.is_some()),
            &expect![[r#"
            passed, value "999"
            session.escalation.urgency is "999" [2]"#]],
        );
        check(
            &value("session", "escalation.by.1").equals("nurse"),
            &expect![[r#"
            passed, value "nurse"
            session.escalation.by.1 is "nurse" [2]"#]],
        );
        check(
            &value("session", "a.b").equals(json!(1.0)),
            &expect![[r#"
            passed, value 1
            session.a.b is 1 [1]"#]],
        );
        check(
            &value("patient", "age").assert(|value| value.is_none()),
            &expect![[r#"
            passed
            patient.age is not set [4]"#]],
        );
    }

    #[test]
    fn a_value_that_is_not_as_asserted_fails() {
        check(
            &value("session", "mode").equals("triage").assert(|_| false),
            &expect![[r#"
            failed, value "done"
            session.mode is "done" [3]
            expected "triage"
            expected a value for which the assertion holds"#]],
        );
        check(
            &value("patient", "age").equals(55),
            &expect![[r#"
            failed
            patient.age is not set [4]
            expected 55"#]],
        );
        check(
            &value("session", "mode.deeper").equals("done"),
            &expect![[r#"
            failed
            session.mode.deeper is not set
            expected "done""#]],
        );
        check(
            &value("session", "escalation.by.nobody").equals(json!(null)),
            &expect![[r#"
            failed
            session.escalation.by.nobody is not set
            expected null"#]],
        );
    }

    #[test]
    fn a_query_decides_about_an_object() {
        let matching = |key: &str, query: Value| value("session", key).matches(Query::parse(&query).unwrap());
        check(
            &matching("escalation", json!({"urgency": "999", "by": "nurse"})),
            &expect![[r#"
            passed, value {"urgency":"999","by":["bot","nurse"]}
            session.escalation is {"urgency":"999","by":["bot","nurse"]} [2]"#]],
        );
        check(
            &matching("escalation", json!({"urgency": "111", "by": {"$size": 2}, "x": 1})),
            &expect![[r#"
            failed, value {"urgency":"999","by":["bot","nurse"]}
            session.escalation is {"urgency":"999","by":["bot","nurse"]} [2]
            urgency expected "111", got "999"; x expected 1, got nothing"#]],
        );
        check(
            &matching("mode", json!({})),
            &expect![[r#"
            failed, value "done"
            session.mode is "done" [3]
            expected an object that matches {}"#]],
        );
        check(
            &matching("missing", json!({"x": {"$exists": false}})),
            &expect![[r#"
            failed
            session.missing is not set
            expected an object that matches {"x":{"$exists":false}}"#]],
        );
    }

    #[test]
    fn a_condition_decides_about_any_value_and_none() {
        let satisfying = |key: &str, condition: Value| value("session", key).satisfies(&condition).unwrap();
        check(
            &satisfying("mode", json!({"$in": ["done", "closed"]})),
            &expect![[r#"
            passed, value "done"
            session.mode is "done" [3]"#]],
        );
        check(
            &satisfying("missing", json!({"$exists": false})),
            &expect![[r#"
            passed
            session.missing is not set"#]],
        );
        check(
            &satisfying("a.b", json!({"$gt": 1})),
            &expect![[r#"
            failed, value 1
            session.a.b is 1 [1]
            value expected {"$gt":1}, got 1"#]],
        );
        for condition in
            [json!({"$ne": "x"}), json!({"$nin": ["x"]}), json!({"$not": {"$eq": "x"}}), json!(null)]
        {
            for (scope, key) in [("session", "missing"), ("sesion", "mode")] {
                let metric = StateMetric::new("m", scope, key).satisfies(&condition).unwrap();
                let Assessment::Done(result) =
                    metric.evaluate(&ledger(r#"state {"session": {"mode": "a"}} / end"#))
                else {
                    unreachable!()
                };
                assert!(!result.passed(), "{condition} of {scope}.{key}");
            }
        }
        let error = value("session", "mode").satisfies(&json!({"$exist": true})).unwrap_err();
        assert_eq!(error.to_string(), "unknown operator `$exist` at `value`; did you mean `$exists`?");
    }

    #[test]
    fn a_scope_that_was_never_set_fails_what_is_about_a_value() {
        check(
            &value("sesion", "mode").equals("done"),
            &expect![[r#"
            failed
            scope `sesion` was never set
            expected "done""#]],
        );
        check(
            &value("sesion", "mode").assert(|value| value.is_none()),
            &expect![[r#"
            passed
            scope `sesion` was never set"#]],
        );
    }

    #[test]
    fn what_cannot_be_decided_says_why() {
        check(
            &value("session", "mode"),
            &expect![[r#"
            error
            no assertion: say what the value should be"#]],
        );
        let empty = crate::testing::outcome(&value("session", "mode").equals(1), &Ledger::new("s".into()));
        expect![[r#"
            unscored
            the ledger is empty: no session was started"#]]
        .assert_eq(&empty);
    }
}
