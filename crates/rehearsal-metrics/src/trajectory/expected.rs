//! A call that is expected, and how one that was made differs from it.

use std::fmt;
use std::sync::Arc;

use rehearsal_core::{Query, json as exact};
use serde_json::{Map, Value};

use crate::equality::is_same;
use crate::evaluator::ArgumentPattern;
use crate::excerpt::{EVIDENCE, excerpt};
use crate::query_evidence::mismatch;

/// A tool call that an agent is expected to make. Any arguments will do unless it says which.
///
/// ```
/// use rehearsal_metrics::ExpectedCall;
/// use serde_json::json;
///
/// let calls = [
///     ExpectedCall::new("search").args(json!({"query": "headache", "limit": 10})),
///     ExpectedCall::new("search").args_partial(json!({"filter": {"region": "london"}})),
///     ExpectedCall::new("ask").args_where(|args| args.contains_key("question"), "asks a question"),
///     ExpectedCall::new("handover"),
/// ];
/// assert_eq!(calls[0].to_string(), r#"search {"query":"headache","limit":10}"#);
/// ```
#[derive(Clone)]
pub struct ExpectedCall {
    tool: String,
    args: ExpectedArgs,
}

impl ExpectedCall {
    /// A call of this tool with any arguments.
    pub fn new(tool: impl Into<String>) -> Self {
        Self { tool: tool.into(), args: ExpectedArgs::Any }
    }

    /// With exactly these arguments; an object. Numbers are the same by value: 10 is 10.0.
    pub fn args(self, args: Value) -> Self {
        self.with(ExpectedArgs::Whole(args))
    }

    /// With at least these arguments; an object.
    ///
    /// Objects inside may hold more too, at any depth. An array has to have the same length, its items are
    /// compared in the same way.
    pub fn args_partial(self, args: Value) -> Self {
        self.with(ExpectedArgs::Part(args))
    }

    /// With arguments for which the closure holds; the description says in evidence what was expected.
    pub fn args_where(
        self,
        holds: impl Fn(&Map<String, Value>) -> bool + Send + Sync + 'static,
        description: impl Into<String>,
    ) -> Self {
        self.with(ExpectedArgs::Where { holds: Arc::new(holds), description: description.into() })
    }

    /// With arguments that match a query.
    pub fn args_matching(self, query: Query) -> Self {
        self.with(ExpectedArgs::Matching(query))
    }

    /// With arguments as a scenario file writes them: values, and queries in place of values.
    pub fn args_like(self, pattern: ArgumentPattern) -> Self {
        self.with(ExpectedArgs::Like(pattern))
    }

    /// With any arguments, as it is from the start.
    pub fn any_args(self) -> Self {
        self.with(ExpectedArgs::Any)
    }

    fn with(mut self, args: ExpectedArgs) -> Self {
        self.args = args;
        self
    }

    pub(super) fn tool(&self) -> &str {
        &self.tool
    }

    /// What makes the expectation meaningless, if something does.
    pub(super) fn problem(&self) -> Option<String> {
        match &self.args {
            ExpectedArgs::Whole(args) | ExpectedArgs::Part(args) if !args.is_object() => Some(format!(
                "the expected arguments of `{}` are not an object: {}",
                self.tool,
                exact::shown(args)
            )),
            _ => None,
        }
    }

    pub(super) fn accepts(&self, args: &Map<String, Value>) -> bool {
        self.differences(args).is_empty()
    }

    /// How the arguments differ from what is expected; empty where they do not.
    pub(super) fn differences(&self, args: &Map<String, Value>) -> Vec<String> {
        let mut found = Vec::new();
        let mut unless = |holds: bool, what: &dyn fmt::Display| {
            if !holds {
                found.push(format!("expected arguments: {what}, got {}", json(args)));
            }
        };
        match &self.args {
            ExpectedArgs::Any => {}
            ExpectedArgs::Where { holds, description } => unless(holds(args), description),
            ExpectedArgs::Like(pattern) => found.extend(pattern.differences(args)),
            ExpectedArgs::Matching(query) => found.extend(mismatch(query, &Value::Object(args.clone()))),
            ExpectedArgs::Whole(Value::Object(expected)) => {
                compare(expected, args, Extra::Reported, "$", &mut found);
            }
            ExpectedArgs::Part(Value::Object(expected)) => {
                compare(expected, args, Extra::Allowed, "$", &mut found);
            }
            ExpectedArgs::Whole(other) | ExpectedArgs::Part(other) => unless(false, &exact::shown(other)),
        }
        found
    }
}

impl fmt::Display for ExpectedCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.tool)?;
        match &self.args {
            ExpectedArgs::Any => f.write_str("with any arguments"),
            ExpectedArgs::Whole(args) => f.write_str(&excerpt(&exact::text(args), EVIDENCE)),
            ExpectedArgs::Part(args) => write!(f, "with at least {}", excerpt(&exact::text(args), EVIDENCE)),
            ExpectedArgs::Where { description, .. } => write!(f, "with arguments: {description}"),
            ExpectedArgs::Like(pattern) => write!(f, "with {}", excerpt(&pattern.to_string(), EVIDENCE)),
            ExpectedArgs::Matching(query) => {
                write!(f, "with arguments that match {}", excerpt(&exact::text(query.source()), EVIDENCE))
            }
        }
    }
}

impl fmt::Debug for ExpectedCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ExpectedCall({self})")
    }
}

type Closure = Arc<dyn Fn(&Map<String, Value>) -> bool + Send + Sync>;

#[derive(Clone)]
enum ExpectedArgs {
    Any,
    Whole(Value),
    Part(Value),
    Where { holds: Closure, description: String },
    Matching(Query),
    Like(ArgumentPattern),
}

/// What to make of keys that are not expected.
#[derive(Clone, Copy)]
enum Extra {
    Reported,
    Allowed,
}

fn compare(
    expected: &Map<String, Value>,
    made: &Map<String, Value>,
    extra: Extra,
    path: &str,
    found: &mut Vec<String>,
) {
    for (key, expected) in expected {
        let path = format!("{path}{}", step(key));
        match made.get(key) {
            Some(made) => compare_values(expected, made, extra, &path, found),
            None => found.push(format!("{path} is missing, expected {}", short(expected))),
        }
    }
    if let Extra::Reported = extra {
        for (key, made) in made.iter().filter(|(key, _)| !expected.contains_key(*key)) {
            found.push(format!("{path}{} is unexpected, got {}", step(key), short(made)));
        }
    }
}

fn compare_values(expected: &Value, made: &Value, extra: Extra, path: &str, found: &mut Vec<String>) {
    match (expected, made) {
        (Value::Object(expected), Value::Object(made)) => compare(expected, made, extra, path, found),
        (Value::Array(expected), Value::Array(made)) if expected.len() == made.len() => {
            for (index, (expected, made)) in expected.iter().zip(made).enumerate() {
                compare_values(expected, made, extra, &format!("{path}[{index}]"), found);
            }
        }
        (expected, made) if is_same(expected, made) => {}
        (expected, made) => found.push(format!("{path} expected {}, got {}", short(expected), short(made))),
    }
}

/// A key as a step of a path: `.limit`, or `["max hits"]` where it is not a plain word.
fn step(key: &str) -> String {
    let is_word =
        !key.is_empty() && key.chars().all(|character| character.is_alphanumeric() || character == '_');
    if is_word { format!(".{key}") } else { format!("[{}]", Value::from(key)) }
}

fn short(value: &Value) -> String {
    excerpt(&exact::text(value), 80)
}

/// Arguments as evidence shows them.
pub(super) fn json(args: &Map<String, Value>) -> String {
    excerpt(&exact::text(&serde_json::json!(args)), EVIDENCE)
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::json;

    use super::*;

    fn check(expected: &ExpectedCall, args: &Value, differences: &Expect) {
        let found = expected.differences(args.as_object().unwrap());
        assert_eq!(expected.accepts(args.as_object().unwrap()), found.is_empty());
        differences.assert_eq(&found.join("\n"));
    }

    fn search() -> ExpectedCall {
        ExpectedCall::new("search")
    }

    #[test]
    fn whole_arguments_differ_in_values_and_keys() {
        let expected = search().args(json!({"query": "a", "limit": 10, "deep": {"x": [1, {"y": 2}]}}));
        check(&expected, &json!({"deep": {"x": [1.0, {"y": 2}]}, "limit": 10.0, "query": "a"}), &expect![""]);
        check(
            &expected,
            &json!({"limit": "10", "deep": {"x": [1, {"y": 3}], "z": 0}, "max hits": null}),
            &expect![[r#"
            $.query is missing, expected "a"
            $.limit expected 10, got "10"
            $.deep.x[1].y expected 2, got 3
            $.deep.z is unexpected, got 0
            $["max hits"] is unexpected, got null"#]],
        );
        check(
            &expected,
            &json!({"query": "a", "limit": 10, "deep": {"x": [1]}}),
            &expect![[r#"$.deep.x expected [1,{"y":2}], got [1]"#]],
        );
    }

    #[test]
    fn partial_arguments_may_be_more_at_any_depth() {
        let expected = search().args_partial(json!({"deep": {"x": [{"y": 2}]}}));
        check(&expected, &json!({"limit": 1, "deep": {"x": [{"y": 2, "more": 1}], "z": 0}}), &expect![""]);
        check(
            &expected,
            &json!({"deep": {"x": [{"y": 2}, 3]}}),
            &expect![[r#"$.deep.x expected [{"y":2}], got [{"y":2},3]"#]],
        );
        check(&expected, &json!({}), &expect![[r#"$.deep is missing, expected {"x":[{"y":2}]}"#]]);
    }

    #[test]
    fn closures_and_queries_decide_themselves() {
        let asks = search().args_where(|args| args.contains_key("question"), "asks a question");
        check(&asks, &json!({"question": 1}), &expect![""]);
        check(
            &asks,
            &json!({"answer": 1}),
            &expect![[r#"expected arguments: asks a question, got {"answer":1}"#]],
        );
        check(&search().any_args(), &json!({"answer": 1}), &expect![""]);
        let few = search().args_matching(Query::parse(&json!({"limit": {"$lte": 10}})).unwrap());
        check(&few, &json!({"limit": 10}), &expect![""]);
        check(&few, &json!({"limit": 11}), &expect![[r#"limit expected {"$lte":10}, got 11"#]]);
    }

    #[test]
    fn arguments_that_are_no_object_are_a_problem() {
        expect!["the expected arguments of `search` are not an object: [1]"]
            .assert_eq(&search().args(json!([1])).problem().unwrap());
        assert_eq!(search().args_partial(json!({})).problem(), None);
    }
}
