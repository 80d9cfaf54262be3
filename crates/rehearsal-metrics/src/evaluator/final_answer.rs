//! Final answers that are JSON.

use std::fmt;

use rehearsal_core::MetricResult;
use serde_json::Value;

use super::shown::{quoted, silent};
use crate::view::View;

/// Where a value stands in a final answer: `$.items[0].name` or `items.0.name`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswerPath {
    text: String,
    steps: Vec<String>,
}

/// A text that is not the path of one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidPath {
    /// There is nothing.
    #[error("it is empty; `$` is the whole answer")]
    Empty,
    /// Something stands where it cannot.
    #[error("{why} at character {at}")]
    Unexpected {
        /// What is wrong.
        why: &'static str,
        /// Where, in characters from 1.
        at: usize,
    },
}

impl AnswerPath {
    /// Reads a path.
    ///
    /// # Errors
    /// It is not the path of one value.
    pub fn parse(text: &str) -> Result<Self, InvalidPath> {
        let text = text.trim();
        let whole = text.chars().next().ok_or(InvalidPath::Empty)?;
        let mut steps = Vec::new();
        let mut rest = if whole == '$' { &text[1..] } else { text };
        while !rest.is_empty() {
            let is_first = rest.len() == text.len();
            let read = match rest.strip_prefix('[') {
                Some(inside) => bracket(inside),
                None => name(rest, is_first),
            };
            let at = text.chars().count() - rest.chars().count() + 1;
            let (step, after) = read.map_err(|why| InvalidPath::Unexpected { why, at })?;
            steps.push(step.to_owned());
            rest = after;
        }
        Ok(Self { text: text.to_owned(), steps })
    }

    /// The path of the whole answer.
    pub(super) fn whole() -> Self {
        Self { text: "$".to_owned(), steps: Vec::new() }
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

/// The final answer as JSON with the number of its event, or the result where it is none.
pub(super) fn read(view: &View<'_>) -> Result<(u64, Value), MetricResult> {
    if let Some((seq, output)) = view.output()
        && rehearsal_core::json::as_text(output).is_none()
    {
        return Ok((seq, output.clone()));
    }
    let (seq, text) = view.reply().ok_or_else(|| silent(view))?;
    match parse(&text) {
        Some(value) => Ok((seq, value)),
        None => {
            let message = format!("the {} is not JSON: {}", view.text_name(), quoted(&text));
            Err(MetricResult::from_pass(false).because_of(message, [seq]))
        }
    }
}

/// A text that is JSON, or the first block of code in it that is.
fn parse(text: &str) -> Option<Value> {
    if let Ok(value) = rehearsal_core::json::from_str(text) {
        return Some(value);
    }
    let blocks = text.split("```").skip(1).step_by(2);
    blocks.into_iter().find_map(|block| {
        let (_language, code) = block.split_once('\n')?;
        rehearsal_core::json::from_str(code).ok()
    })
}
