//! Questions for a judge.

use std::fmt;

use rehearsal_core::Schema;
use serde_json::{Map, Value};

use super::{Check, JudgeEvaluation};
use crate::Problem;
use crate::read::{Dialect, Fields, Reader};
use crate::yaml::{Node, NodeValue};

/// The answer of a judge that passes.
#[derive(Clone, Debug, PartialEq)]
pub enum Expectation {
    /// `yes`.
    Yes,
    /// `no`.
    No,
    /// `0.8+` and `0.8`.
    AtLeast(f64),
    /// `0.3-`.
    AtMost(f64),
    /// `0.2-0.4`, both included.
    Between(f64, f64),
    /// What is expected in words; only in files of the `ElizaOS` runner.
    Words(String),
}

impl Expectation {
    fn parse(text: &str) -> Option<Self> {
        let text = text.trim().to_lowercase();
        match text.as_str() {
            "yes" => return Some(Self::Yes),
            "no" => return Some(Self::No),
            _ => {}
        }
        if let Some(low) = text.strip_suffix('+') {
            return number(low).map(Self::AtLeast);
        }
        if let Some(high) = text.strip_suffix('-') {
            return number(high).map(Self::AtMost);
        }
        match text.split_once('-') {
            Some((low, high)) => Some(Self::Between(number(low)?, number(high)?)),
            None => number(&text).map(Self::AtLeast),
        }
    }

    /// Whether a number passes; nothing where no number is asked for.
    pub(crate) fn holds(&self, number: f64) -> Option<bool> {
        match self {
            Self::AtLeast(low) => Some(number >= *low),
            Self::AtMost(high) => Some(number <= *high),
            Self::Between(low, high) => Some((*low..=*high).contains(&number)),
            Self::Yes | Self::No | Self::Words(_) => None,
        }
    }

    /// What is wrong with it where the judge gives a number from 0 to 1: it is kept always, or never.
    fn problem(&self) -> Option<&'static str> {
        let (low, high) = match *self {
            Self::AtLeast(low) => (low, 1.0),
            Self::AtMost(high) => (0.0, high),
            Self::Between(low, high) => (low, high),
            Self::Yes | Self::No | Self::Words(_) => return None,
        };
        if low > high.min(1.0) {
            Some("never-true")
        } else if low <= 0.0 && high >= 1.0 {
            Some("always-true")
        } else {
            None
        }
    }
}

impl fmt::Display for Expectation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Yes => f.write_str("yes"),
            Self::No => f.write_str("no"),
            Self::AtLeast(low) => write!(f, "at least {low}"),
            Self::AtMost(high) => write!(f, "at most {high}"),
            Self::Between(low, high) => write!(f, "from {low} to {high}"),
            Self::Words(text) => write!(f, "{text:?}"),
        }
    }
}

/// Digits with at most one point among them.
fn number(text: &str) -> Option<f64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if is_digits(whole) && is_digits(fraction) { text.parse().ok() } else { None }
}

pub(super) fn llm_judge(reader: &mut Reader<'_>, fields: &mut Fields<'_>) -> Check {
    let capabilities = fields.get("capabilities");
    let list = capabilities.map(|node| reader.texts(node, "`capabilities`")).unwrap_or_default();
    if let (Some(node), true) = (capabilities, list.is_empty()) {
        reader.report(Problem::error("empty", node.span.clone(), "`capabilities` must name at least one"));
    }
    let prompt = fields.require_text(reader, "prompt", "prompt: Did the agent answer the question?");
    let text = fields.require_text(reader, "expected", "expected: \"yes\"");
    let expected = Expectation::parse(&text);
    let model_type = fields.text(reader, "model_type");
    let temperature = fields.number(reader, "temperature", 0.0..=2.0);
    let json_schema = read_schema(reader, fields, &list, expected.as_ref());
    report_expectation(reader, fields, &text, expected.as_ref(), json_schema.is_some());
    let expected = expected.unwrap_or(Expectation::Words(text));
    Check::LlmJudge(JudgeEvaluation {
        prompt,
        expected,
        model_type,
        temperature,
        json_schema,
        capabilities: list,
    })
}

/// Reports an expectation that is none, or that decides nothing.
fn report_expectation(
    reader: &mut Reader<'_>,
    fields: &mut Fields<'_>,
    text: &str,
    expected: Option<&Expectation>,
    has_schema: bool,
) {
    let Some(Node { span, value: NodeValue::Text(_) }) = fields.get("expected") else { return };
    let problem = match expected {
        None => {
            let message = format!("`expected` of a judge cannot be `{text}`");
            let problem = Problem::error("unknown-value", span.clone(), message);
            problem.help("it can be: `yes`, `no`, a number, `0.8+`, `0.3-`, `0.2-0.4`")
        }
        // A form of the author's own may hold other numbers than those from 0 to 1.
        Some(expected) => match expected.problem() {
            Some(code) if !has_schema => {
                let often = if code == "never-true" { "no" } else { "every" };
                let message =
                    format!("a judge gives a number from 0 to 1, and {often} such number is `{text}`");
                Problem::error(code, span.clone(), message).help("write, for example: expected: 0.8+")
            }
            _ => return,
        },
    };
    reader.report_without_effect(problem);
}

fn read_schema(
    reader: &mut Reader<'_>,
    fields: &mut Fields<'_>,
    capabilities: &[String],
    expected: Option<&Expectation>,
) -> Option<Map<String, Value>> {
    let schema = fields.json_map(reader, "json_schema")?;
    let span = fields.get("json_schema")?.span.clone();
    let has = |key: &str| schema.get("properties").and_then(|properties| properties.get(key)).is_some();
    let problem = if let Err(error) = Schema::new(Value::Object(schema.clone())).check(&Value::Null) {
        Problem::error("invalid-schema", span, format!("`json_schema` cannot be used: {error}"))
    } else if !has("judgment") {
        let message =
            "`json_schema` has no property `judgment`, so there is nothing to compare with `expected`";
        Problem::error("no-effect", span, message)
            .help("add to its `properties`: judgment: {type: string, enum: [\"yes\", \"no\"]}")
    } else if has("capabilities") && !capabilities.is_empty() {
        let message = "`json_schema` has a property `capabilities`, which is where the judge answers for each \
                       of the `capabilities` named here";
        Problem::error("no-effect", span, message).help("rename the property or leave `capabilities` out")
    } else if let Some(problem) = mismatch(&schema, expected, span.clone()) {
        problem
    } else {
        return Some(schema);
    };
    // The shipped runner never looks at a form, so there the judge's usual one is asked for.
    let problem = match reader.dialect {
        Dialect::Rehearsal => problem,
        Dialect::ElizaOs => problem.label("it is left out"),
    };
    reader.report_without_effect(problem);
    None
}

/// What is wrong with a form whose `judgment` is never a number where one is expected.
fn mismatch(
    schema: &Map<String, Value>,
    expected: Option<&Expectation>,
    span: std::ops::Range<usize>,
) -> Option<Problem> {
    expected?.holds(0.0)?;
    let judgment = schema.get("properties")?.get("judgment")?;
    let possible = match (judgment.get("enum").and_then(Value::as_array), judgment.get("type")) {
        (Some(values), _) => values.iter().any(Value::is_number),
        (None, Some(Value::String(word))) => is_number_type(word),
        (None, Some(Value::Array(words))) => words.iter().filter_map(Value::as_str).any(is_number_type),
        _ => true,
    };
    let message = "`judgment` of this `json_schema` is never a number, and `expected` is one";
    let help = "give it `judgment: {type: number}`, or write: expected: \"yes\"";
    (!possible).then(|| Problem::error("never-true", span, message).help(help))
}

fn is_number_type(word: &str) -> bool {
    matches!(word, "number" | "integer")
}
