//! `json_path`.

use std::fmt;

use rehearsal_core::MetricResult;
use rehearsal_core::keys::{At, Complaint, Form, Given, Key};
use serde_json::{Value, json};

use super::final_answer::{self, AnswerPath};
use super::pattern::{ValueQuery, complain_of};
use super::shown::{short, shown};
use super::{Evaluator, LooksAt};
use crate::Assessment;
use crate::equality::is_same;
use crate::view::View;

/// A value in the final answer is as it should be.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonPath {
    /// Where it stands.
    pub path: AnswerPath,
    /// What is asked of it.
    pub check: JsonPathCheck,
}

/// What is asked of a value in a final answer.
#[derive(Clone, Debug, PartialEq)]
pub enum JsonPathCheck {
    /// It is this.
    Equals(Value),
    /// A query accepts it.
    Matches(ValueQuery),
    /// It is there.
    Exists,
    /// It is not there.
    Missing,
}

impl fmt::Display for JsonPathCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Equals(value) => write!(f, "= {}", rehearsal_core::json::shown(value)),
            Self::Matches(query) => write!(f, "matches {query}"),
            Self::Exists => f.write_str("exists"),
            Self::Missing => f.write_str("is missing"),
        }
    }
}

impl JsonPathCheck {
    fn read(given: &mut Given<'_>) -> Self {
        let exists = given.value("exists").and_then(|value| value.as_bool());
        let equals = given.value("equals");
        if let Some(source) = given.map("matches") {
            match ValueQuery::parse(&Value::Object(source), "value") {
                Ok(query) => return Self::Matches(query),
                Err(error) => complain_of(given, "matches", &error),
            }
        }
        match (equals, exists) {
            (Some(value), _) => Self::Equals(value),
            (None, Some(false)) => Self::Missing,
            (None, _) => Self::Exists,
        }
    }
}

impl Evaluator for JsonPath {
    const TYPE: &'static str = "json_path";
    const ABOUT: &'static str = "A value in the final answer is as it should be.";
    const LOOKS_AT: LooksAt = LooksAt::Reply;
    const OF_REPLIES: bool = true;
    const KEYS: &'static [Key] = &[
        Key::required(
            "path",
            Form::Text,
            "path: $.order.id",
            "Where it stands: `$.items[0].name`, `items.0.name` or `$[\"a b\"]`; `$` is the whole answer.",
        ),
        Key::optional(
            "equals",
            Form::Any,
            "The value, which may be null; numbers are compared by value. One of `equals`, `matches` and `exists` is \
             needed.",
        ),
        Key::optional(
            "matches",
            Form::Map,
            "A query on the value: operators such as `{$gte: 3}` ask about the value itself, `{name: ann}` about what \
             is in it.",
        ),
        Key::optional("exists", Form::Flag, "`true`: the value is there; `false`: it is not."),
    ];
    const PAGE: &'static str = "\
The final answer is the value the agent gave at its end, or its reply read as JSON, also out of a code block with three \
backticks. A reply that is not JSON fails.

```yaml
- type: json_path
  path: $.order.total
  matches: {$gte: 10, $lt: 100}
```";

    fn rules() -> Value {
        json!({
            "allOf": [{"properties": {"path": {"minLength": 1}}}],
            "oneOf": [{"required": ["equals"]}, {"required": ["matches"]}, {"required": ["exists"]}],
        })
    }

    fn read(given: &mut Given<'_>) -> Self {
        let path = given.some_text("path").map(|text| {
            AnswerPath::parse(&text).unwrap_or_else(|why| {
                let message = format!("`{text}` is not a path: {why}");
                let complaint = Complaint::spoils("invalid-path", At::Value("path"), message);
                given.complain(complaint.help("write a path such as $.items[0].name or items.0.name"));
                AnswerPath::whole()
            })
        });
        let path = path.unwrap_or_else(AnswerPath::whole);
        let asked: Vec<&'static str> =
            ["equals", "matches", "exists"].into_iter().filter(|key| given.has(key)).collect();
        if asked.len() != 1 {
            let at = asked.get(1).map_or(At::Whole, |key| At::Name(key));
            let message = "`json_path` asks one of `equals`, `matches` and `exists`";
            given
                .complain(Complaint::spoils("missing-key", at, message).help("add, for example: equals: done"));
        }
        Self { path, check: JsonPathCheck::read(given) }
    }

    fn detail(&self) -> String {
        format!("{} {}", self.path, short(&self.check.to_string()))
    }

    fn assess(&self, view: &View<'_>) -> Assessment {
        let (seq, answer) = match final_answer::read(view) {
            Ok(read) => read,
            Err(result) => return result.into(),
        };
        let path = &self.path;
        let found = path.find(&answer);
        let (passed, asked) = match &self.check {
            JsonPathCheck::Equals(expected) => {
                let asked = format!("{path} is {}, {} asked for", shown(found), shown(Some(expected)));
                (found.is_some_and(|found| is_same(expected, found)), asked)
            }
            JsonPathCheck::Matches(query) => {
                let missed = query.unmet(found, &path.to_string());
                let told = format!("{path} is {}, {query} asked for", shown(found));
                (missed.is_empty(), if missed.is_empty() { told } else { missed.join("; ") })
            }
            JsonPathCheck::Exists if found.is_none() => (false, format!("{path} is missing")),
            JsonPathCheck::Exists => (true, format!("{path} is there: {}", shown(found))),
            JsonPathCheck::Missing if found.is_none() => (true, format!("{path} is missing, as asked for")),
            JsonPathCheck::Missing => (false, format!("{path} is {}, nothing asked for", shown(found))),
        };
        let mut result = MetricResult::from_pass(passed).because_of(asked, [seq]);
        result.value = found.cloned();
        result.into()
    }
}
