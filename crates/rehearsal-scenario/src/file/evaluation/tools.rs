//! Evaluations of what the agent did.

use std::fmt;

use rehearsal_core::QueryError;
use serde_json::{Map, Value};

use super::value::{is_same, shorten, shown};
use super::{CallStatus, Check, ToolCalled, ValueQuery, report_bounds, report_query};
use crate::Problem;
use crate::read::{Fields, Reader};

/// What arguments should be: at least these, at any depth.
#[derive(Clone, Debug, PartialEq)]
pub struct ArgumentPattern {
    source: Map<String, Value>,
    root: Pattern,
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
    /// Reads what arguments should be.
    ///
    /// # Errors
    /// A map with operators in it is not a query.
    pub fn parse(source: &Map<String, Value>) -> Result<Self, QueryError> {
        Ok(Self { root: Pattern::parse(&Value::Object(source.clone()), "args")?, source: source.clone() })
    }

    /// What they should be, as it was written.
    pub fn source(&self) -> &Map<String, Value> {
        &self.source
    }

    /// How arguments differ from what they should be; empty where they do not.
    pub fn differences(&self, args: &Map<String, Value>) -> Vec<String> {
        let mut found = Vec::new();
        self.root.compare(Some(&Value::Object(args.clone())), "$", &mut found);
        found
    }
}

impl fmt::Display for ArgumentPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&rehearsal_core::json::text(&Value::Object(self.source.clone())))
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

    fn compare(&self, made: Option<&Value>, path: &str, found: &mut Vec<String>) {
        match (self, made) {
            (Self::Query(query), made) => found.extend(query.unmet(made, path)),
            (Self::Map(expected), Some(Value::Object(made))) => {
                for (key, expected) in expected {
                    expected.compare(made.get(key), &format!("{path}.{key}"), found);
                }
            }
            (Self::List(expected), Some(Value::Array(made))) if expected.len() == made.len() => {
                for (index, (expected, made)) in expected.iter().zip(made).enumerate() {
                    expected.compare(Some(made), &format!("{path}[{index}]"), found);
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

pub(super) fn trajectory_contains_action(reader: &mut Reader<'_>, fields: &mut Fields<'_>) -> Check {
    Check::TrajectoryContainsAction { action: fields.require_text(reader, "action", "action: SEND_EMAIL") }
}

pub(super) fn tool_called(reader: &mut Reader<'_>, fields: &mut Fields<'_>) -> Check {
    const STATUSES: [(&str, CallStatus); 3] =
        [("succeeded", CallStatus::Succeeded), ("failed", CallStatus::Failed), ("any", CallStatus::Any)];
    let tool = fields.require_text(reader, "tool", "tool: the tool's name");
    let args = read_args(reader, fields);
    let (min_count, max_count) = read_counts(reader, fields);
    let before = fields.text(reader, "before");
    let after = fields.text(reader, "after");
    let status = fields.choice(reader, "status", &STATUSES).unwrap_or(CallStatus::Succeeded);
    if let (Some(place), Some(0)) =
        (fields.key_span("before").or_else(|| fields.key_span("after")), max_count)
    {
        let message = "a call that is not made comes neither before nor after another";
        let problem = Problem::error("never-true", place, message);
        reader.report_without_effect(problem.help("leave out `before` and `after`"));
    }
    Check::ToolCalled(ToolCalled { tool, args, min_count, max_count, before, after, status })
}

/// How often a tool should be called: at least once unless the author says otherwise.
fn read_counts(reader: &mut Reader<'_>, fields: &mut Fields<'_>) -> (u64, Option<u64>) {
    let any = 0.0..=1e9;
    let count = fields.integer(reader, "count", any.clone());
    let min = fields.integer(reader, "min_count", any.clone());
    let max = fields.integer(reader, "max_count", any);
    if let Some(count) = count {
        for key in ["min_count", "max_count"] {
            if let Some(place) = fields.key_span(key) {
                let problem = Problem::error("no-effect", place, "`count` says already how often exactly");
                reader.report_without_effect(problem.help(format!("leave out `count` or `{key}`")));
            }
        }
        return (count, Some(count));
    }
    if let (Some(place), None, Some(0)) = (fields.key_span("max_count"), min, max) {
        let message = "`tool_called` asks for at least one call unless `min_count` says otherwise";
        let problem = Problem::error("never-true", place, message);
        reader.report_without_effect(problem.help("to ask that there is none, use `tool_not_called`"));
    }
    report_bounds(reader, fields, (min, max), ("min_count", "max_count"));
    if let (Some(place), Some(0), None) = (fields.key_span("min_count"), min, max) {
        let problem = Problem::error("always-true", place, "every tool is called at least 0 times");
        reader.report_without_effect(problem.help("leave out `min_count`, or add `max_count`"));
    }
    (min.unwrap_or(1), max)
}

pub(super) fn tool_not_called(reader: &mut Reader<'_>, fields: &mut Fields<'_>) -> Check {
    let tool = fields.require_text(reader, "tool", "tool: the tool's name");
    Check::ToolNotCalled { tool, args: read_args(reader, fields) }
}

fn read_args(reader: &mut Reader<'_>, fields: &mut Fields<'_>) -> Option<ArgumentPattern> {
    let source = fields.json_map(reader, "args")?;
    let pattern = ArgumentPattern::parse(&source);
    pattern.map_err(|error| report_query(reader, fields.get("args"), &error)).ok()
}

pub(super) fn step_count(reader: &mut Reader<'_>, fields: &mut Fields<'_>) -> Check {
    let any = 0.0..=1e9;
    let min_steps = fields.integer(reader, "min_steps", any.clone());
    let max_steps = fields.integer(reader, "max_steps", any.clone());
    // `target_steps` is only told.
    if min_steps.unwrap_or(0) == 0 && !fields.has("max_steps") {
        let problem =
            Problem::error("always-true", fields.span(), "any number of steps is what this asks for");
        reader.report_without_effect(problem.help("add one of `min_steps` and `max_steps`"));
    }
    report_bounds(reader, fields, (min_steps, max_steps), ("min_steps", "max_steps"));
    Check::StepCount {
        min_steps,
        max_steps,
        target_steps: fields.integer(reader, "target_steps", any),
        action_prefix: fields.text(reader, "action_prefix"),
    }
}
