//! Values: when they are the same, queries on them, and how they are shown.

use std::fmt;

use rehearsal_core::{Query, QueryError};
use serde_json::{Value, json};

/// How much of a value a message shows.
const SHOWN: usize = 80;

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
        write!(f, "{source}")
    }
}

/// What a query asks that a document does not keep, each with its place.
pub(crate) fn unmet(query: &Query, document: &Value, place: impl Fn(&str) -> String) -> Vec<String> {
    let clauses = query.explain(document).into_iter().filter(|clause| !clause.matched);
    let told = clauses.map(|clause| {
        let expected = shown(Some(&clause.expected));
        let actual = shown(clause.actual.as_ref());
        format!("{} expected {expected}, got {actual}", place(&clause.path))
    });
    told.collect()
}

/// A value as messages show it.
pub(crate) fn shown(value: Option<&Value>) -> String {
    value.map_or_else(|| "nothing".to_owned(), |value| shorten(&rehearsal_core::json::text(value), SHOWN))
}

/// The text, or its beginning with a mark where more follows.
pub(crate) fn shorten(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Whether two values are the same, numbers by their value: 2 is 2.0.
pub(crate) fn is_same(a: &Value, b: &Value) -> bool {
    if let Some(order) = rehearsal_core::json::compare_numbers(a, b) {
        return order.is_eq();
    }
    match (a, b) {
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| is_same(a, b)))
        }
        (a, b) => a == b,
    }
}
