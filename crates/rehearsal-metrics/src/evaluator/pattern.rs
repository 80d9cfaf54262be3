//! What arguments and other values should be.

use std::fmt;

use rehearsal_core::keys::{At, Complaint, Given};
use rehearsal_core::{Query, QueryError, shorten};
use serde_json::{Map, Value, json};

use super::shown::shown;
use crate::equality::is_same;
use crate::query_evidence::unmet;

/// A query on any value: operators such as `$gte` ask about the value itself, paths about what is in it.
#[derive(Clone, Debug, PartialEq)]
pub struct ValueQuery {
    query: Query,
    /// The name that the value is put under, where operators ask about the value itself.
    name: Option<String>,
}

impl ValueQuery {
    /// Reads a query; `name` is what errors call the value.
    ///
    /// # Errors
    /// It is not a query.
    pub fn parse(source: &Value, name: &str) -> Result<Self, QueryError> {
        let logic = ["$and", "$or", "$nor"];
        let is_operator = |key: &String| key.starts_with('$') && !logic.contains(&key.as_str());
        if !source.as_object().is_some_and(|fields| fields.keys().any(is_operator)) {
            return Ok(Self { query: Query::parse(source)?, name: None });
        }
        let is_plain = !name.is_empty() && !name.contains('.') && !name.starts_with('$');
        let name = if is_plain { name } else { "value" };
        Ok(Self { query: Query::parse(&json!({name: source}))?, name: Some(name.to_owned()) })
    }

    /// What is asked that a value at `path`, or that nothing stands there, does not keep.
    pub fn unmet(&self, value: Option<&Value>, path: &str) -> Vec<String> {
        let document = match (&self.name, value) {
            (Some(name), Some(value)) => json!({name: value}),
            (Some(_), None) => json!({}),
            (None, value) => value.cloned().unwrap_or_default(),
        };
        let place = |clause: &str| match self.name {
            Some(_) => path.to_owned(),
            None => format!("{path}.{clause}"),
        };
        unmet(&self.query, &document, place)
    }
}

impl fmt::Display for ValueQuery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let source = self.query.source();
        let source = self.name.as_ref().map_or(source, |name| &source[name.as_str()]);
        write!(f, "{}", rehearsal_core::json::shown(source))
    }
}

/// What arguments should be: at least these, or exactly these, at any depth.
#[derive(Clone, Debug, PartialEq)]
pub struct ArgumentPattern {
    source: Map<String, Value>,
    root: Pattern,
    others: Others,
}

/// What to make of keys that a pattern does not name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Others {
    Allowed,
    Differ,
}

/// What a value should be.
#[derive(Clone, Debug, PartialEq)]
enum Pattern {
    /// This value.
    Value(Value),
    /// A list of as many values, each as it should be.
    List(Vec<Pattern>),
    /// A map that has at least these keys.
    Map(Vec<(String, Pattern)>),
    /// Something that a query accepts.
    Query(ValueQuery),
}

impl ArgumentPattern {
    /// Reads what arguments should be at least.
    ///
    /// # Errors
    /// A map with operators in it is not a query.
    pub fn parse(source: &Map<String, Value>) -> Result<Self, QueryError> {
        let root = Pattern::parse(&Value::Object(source.clone()), "args")?;
        Ok(Self { root, source: source.clone(), others: Others::Allowed })
    }

    /// Reads what arguments should be, with no others beside them.
    ///
    /// # Errors
    /// A map with operators in it is not a query.
    pub fn exact(source: &Map<String, Value>) -> Result<Self, QueryError> {
        Ok(Self { others: Others::Differ, ..Self::parse(source)? })
    }

    /// What they should be, as it was written.
    pub fn source(&self) -> &Map<String, Value> {
        &self.source
    }

    /// How arguments differ from what they should be; empty where they do not.
    pub fn differences(&self, args: &Map<String, Value>) -> Vec<String> {
        let mut found = Vec::new();
        self.root.compare(Some(&Value::Object(args.clone())), "$", self.others, &mut found);
        found
    }
}

impl fmt::Display for ArgumentPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let exactly = if self.others == Others::Differ { "exactly " } else { "" };
        write!(f, "{exactly}{}", super::object_text(&self.source))
    }
}

impl Pattern {
    fn parse(source: &Value, name: &str) -> Result<Self, QueryError> {
        Ok(match source {
            Value::Object(fields) if fields.keys().any(|key| key.starts_with('$')) => {
                Self::Query(ValueQuery::parse(source, name)?)
            }
            Value::Object(fields) => {
                let fields = fields.iter().map(|(key, value)| Ok((key.clone(), Self::parse(value, key)?)));
                Self::Map(fields.collect::<Result<_, QueryError>>()?)
            }
            Value::Array(items) => {
                Self::List(items.iter().map(|item| Self::parse(item, name)).collect::<Result<_, _>>()?)
            }
            value => Self::Value(value.clone()),
        })
    }

    fn compare(&self, made: Option<&Value>, path: &str, others: Others, found: &mut Vec<String>) {
        match (self, made) {
            (Self::Query(query), made) => found.extend(query.unmet(made, path)),
            (Self::Map(expected), Some(Value::Object(made))) => {
                for (key, expected) in expected {
                    expected.compare(made.get(key), &format!("{path}.{key}"), others, found);
                }
                let is_other = |key: &&String| expected.iter().all(|(expected, _)| expected != *key);
                let unnamed = made.keys().filter(|_| others == Others::Differ).filter(is_other);
                found.extend(unnamed.map(|key| format!("{path}.{key} is not expected")));
            }
            (Self::List(expected), Some(Value::Array(made))) if expected.len() == made.len() => {
                for (index, (expected, made)) in expected.iter().zip(made).enumerate() {
                    expected.compare(Some(made), &format!("{path}[{index}]"), others, found);
                }
            }
            (Self::Value(expected), Some(made)) if is_same(expected, made) => {}
            (expected, made) => {
                found.push(format!("{path} expected {}, got {}", expected.shown(), shown(made)));
            }
        }
    }

    fn shown(&self) -> String {
        match self {
            Self::Value(value) => shown(Some(value)),
            Self::List(items) => format!("a list of {}", items.len()),
            Self::Map(_) => "a map".to_owned(),
            Self::Query(query) => shorten(&query.to_string(), 80),
        }
    }
}

/// Reads `args`: what the arguments of a call should be.
pub(super) fn read_args(given: &mut Given<'_>) -> Option<ArgumentPattern> {
    let source = given.map("args")?;
    ArgumentPattern::parse(&source).map_err(|error| complain_of(given, "args", &error)).ok()
}

/// Says that what stands at a key is no query, with the cause.
pub(super) fn complain_of(given: &mut Given<'_>, key: &'static str, error: &QueryError) {
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}")).unwrap_or_default();
    given.complain(Complaint::spoils("invalid-query", At::Value(key), format!("{error}{cause}")));
}
