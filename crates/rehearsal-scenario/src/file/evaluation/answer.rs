//! Evaluations of the state and of final answers that are JSON.

use std::fmt;

use rehearsal_core::{Query, Schema};
use serde_json::{Map, Value, json};

use super::{Check, ValueQuery, report_query};
use crate::Problem;
use crate::read::{Fields, Reader};

/// Where a value stands in a final answer: `$.items[0].name` or `items.0.name`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswerPath {
    text: String,
    steps: Vec<String>,
}

impl AnswerPath {
    /// Reads a path.
    ///
    /// # Errors
    /// It is not the path of one value; the text says where and why.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let Some(whole) = text.chars().next() else {
            return Err("it is empty; `$` is the whole answer".to_owned());
        };
        let mut steps = Vec::new();
        let mut rest = if whole == '$' { &text[1..] } else { text };
        while !rest.is_empty() {
            let is_first = rest.len() == text.len();
            let read = match rest.strip_prefix('[') {
                Some(inside) => bracket(inside),
                None => name(rest, is_first),
            };
            let at = text.chars().count() - rest.chars().count() + 1;
            let (step, after) = read.map_err(|why| format!("{why} at character {at}"))?;
            steps.push(step.to_owned());
            rest = after;
        }
        Ok(Self { text: text.to_owned(), steps })
    }

    /// The value that stands there.
    pub fn find<'a>(&self, value: &'a Value) -> Option<&'a Value> {
        self.steps.iter().try_fold(value, |value, step| match value {
            Value::Object(fields) => fields.get(step),
            Value::Array(items) => items.get(step.parse::<usize>().ok()?),
            _ => None,
        })
    }
}

/// A plain name with the point before it, and what follows.
fn name(rest: &str, is_first: bool) -> Result<(&str, &str), &'static str> {
    let name = match rest.strip_prefix('.') {
        Some(name) if !is_first => name,
        None if is_first => rest,
        _ => return Err("a `.` or a `[` is expected"),
    };
    let (name, after) = name.split_at(name.find(['.', '[', ']', '*']).unwrap_or(name.len()));
    match after.chars().next() {
        Some('*') => Err("a path names one value, so there can be no `*`"),
        Some(']') => Err("there is a `]` without its `[`"),
        _ if name.is_empty() => Err("a name is missing"),
        _ => Ok((name, after)),
    }
}

/// A position or a name in quotes, up to its bracket, and what follows.
fn bracket(inside: &str) -> Result<(&str, &str), &'static str> {
    let missing = "a `]` is missing for the `[`";
    let Some(quote) = inside.chars().next().filter(|first| ['"', '\''].contains(first)) else {
        let (digits, after) = inside.split_once(']').ok_or(missing)?;
        let is_position = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        let wrong = "a position or a name in quotes is expected in the `[`";
        return is_position.then_some((digits, after)).ok_or(wrong);
    };
    let (name, after) = inside[1..].split_once(quote).ok_or("a quote is missing in the `[`")?;
    Ok((name, after.strip_prefix(']').ok_or(missing)?))
}

impl fmt::Display for AnswerPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
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

pub(super) fn state(reader: &mut Reader<'_>, fields: &mut Fields<'_>) -> Check {
    let node = fields.require(reader, "matches", "matches: {session.stage: done}");
    let source = fields.json_map(reader, "matches");
    if let (Some(node), Some(true)) = (node, source.as_ref().map(Map::is_empty)) {
        let problem = Problem::error("always-true", node.span.clone(), "an empty `matches` asks for nothing");
        reader.report_without_effect(problem.help("write, for example: {session.stage: done}"));
    }
    let source = Value::Object(source.unwrap_or_default());
    let matches = Query::parse(&source).unwrap_or_else(|error| {
        report_query(reader, node, &error);
        Query::parse(&json!({})).expect("the empty query is one")
    });
    Check::State { matches }
}

pub(super) fn json_path(reader: &mut Reader<'_>, fields: &mut Fields<'_>) -> Check {
    let text = fields.require_text(reader, "path", "path: $.order.id");
    let path = AnswerPath::parse(&text).unwrap_or_else(|why| {
        if let Some(node) = fields.get("path") {
            let problem =
                Problem::error("invalid-path", node.span.clone(), format!("`{text}` is not a path: {why}"));
            reader.report(problem.help("write a path such as $.items[0].name or items.0.name"));
        }
        AnswerPath { text: text.clone(), steps: Vec::new() }
    });
    let given: Vec<&str> =
        ["equals", "matches", "exists"].into_iter().filter(|key| fields.has(key)).collect();
    if given.len() != 1 {
        let message = "`json_path` asks one of `equals`, `matches` and `exists`";
        let place = given.get(1).and_then(|key| fields.key_span(key)).unwrap_or_else(|| fields.span());
        reader.report(Problem::error("missing-key", place, message).help("add, for example: equals: done"));
    }
    Check::JsonPath { path, check: read_check(reader, fields) }
}

fn read_check(reader: &mut Reader<'_>, fields: &mut Fields<'_>) -> JsonPathCheck {
    let exists = fields.boolean(reader, "exists");
    let equals = fields.get_or_null("equals");
    if let Some(source) = fields.json_map(reader, "matches") {
        match ValueQuery::parse(&Value::Object(source), "value") {
            Ok(query) => return JsonPathCheck::Matches(query),
            Err(error) => report_query(reader, fields.get("matches"), &error),
        }
    }
    match (equals, exists) {
        (Some(node), _) => JsonPathCheck::Equals(node.to_json()),
        (None, Some(false)) => JsonPathCheck::Missing,
        (None, _) => JsonPathCheck::Exists,
    }
}

pub(super) fn answer_schema(reader: &mut Reader<'_>, fields: &mut Fields<'_>) -> Check {
    let node = fields.require(reader, "schema", "schema: {type: object}");
    let source = fields.json_map(reader, "schema").unwrap_or_default();
    let schema = Schema::new(Value::Object(source));
    if let (Some(node), Err(error)) = (node, schema.check(&Value::Null)) {
        reader.report(Problem::error("invalid-schema", node.span.clone(), format!("`schema`: {error}")));
    }
    Check::AnswerSchema { schema }
}
