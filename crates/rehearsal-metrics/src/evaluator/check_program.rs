//! Checks that authors write themselves: what they are asked, and what they answer.

use rehearsal_core::MetricResult;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::InvalidAnswer;
use crate::check_record::check_record;
use crate::judge::answer;
use crate::view::View;
use crate::{Assessment, Request};

/// A check that somebody else makes.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum CheckProgram {
    /// A function of Python's, as `module:name`.
    Python {
        /// The function.
        function: String,
    },
    /// An expression or a function of JavaScript's.
    JavaScript {
        /// Its source.
        source: String,
    },
    /// A program that reads the record as JSON and writes its answer as JSON.
    Command {
        /// A line for the shell, or a program and its arguments.
        command: CheckCommand,
        /// How long it may take.
        timeout_ms: u64,
    },
    /// A model that makes embeddings of texts.
    Embedding {
        /// Its specification.
        model: String,
    },
}

/// How a program of a check is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckCommand {
    /// A line for the shell.
    Shell(String),
    /// A program and its arguments.
    Words(Vec<String>),
}

/// Something that a check of the author's own is asked.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckRequest {
    /// Who is asked.
    pub program: CheckProgram,
    /// What the author hands in.
    pub args: Map<String, Value>,
    /// What is asked about.
    pub record: Value,
}

/// Asks a check about what is looked at.
pub(super) fn ask(program: &CheckProgram, args: &Map<String, Value>, view: &View<'_>) -> Assessment {
    let request = CheckRequest { program: program.clone(), args: args.clone(), record: check_record(view) };
    Assessment::ask([Request::Check(request)])
}

/// What a check answers.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    #[serde(default)]
    passed: Option<bool>,
    #[serde(default)]
    score: Option<f64>,
    #[serde(default)]
    reason: Option<String>,
    #[serde(default)]
    events: Vec<u64>,
}

/// What an answer comes to. A score alone passes from `threshold` on.
pub(super) fn conclude(
    view: &View<'_>,
    answers: &[Value],
    threshold: f64,
) -> Result<MetricResult, InvalidAnswer> {
    let [given] = answer::all(answers, 1)? else { unreachable!("it was counted") };
    let read = match given {
        Value::Bool(passed) => {
            Answer { passed: Some(*passed), score: None, reason: None, events: Vec::new() }
        }
        Value::Number(_) => {
            let score = rehearsal_core::json::as_f64(given);
            Answer { passed: None, score, reason: None, events: Vec::new() }
        }
        Value::Object(_) => {
            Answer::deserialize(given).map_err(|error| unusable(&error.to_string(), given))?
        }
        _ => return Err(unusable("it is neither true, false, a number from 0 to 1, nor an object", given)),
    };
    if let Some(score) = read.score.filter(|score| !(0.0..=1.0).contains(score)) {
        return Err(unusable(&format!("its score is {score}, and not from 0 to 1"), given));
    }
    let passed = match (read.passed, read.score) {
        (Some(passed), _) => passed,
        (None, Some(score)) => score >= threshold,
        (None, None) => return Err(unusable("it has neither `passed` nor `score`", given)),
    };
    let last = view.ledger.events().last().map_or(0, |event| event.seq);
    if let Some(event) = read.events.iter().find(|event| **event == 0 || **event > last) {
        return Err(unusable(&format!("it points at event #{event}, and the last one is #{last}"), given));
    }
    let result = MetricResult::from_pass(passed);
    let result = match read.score {
        Some(score) => result.score(score),
        None => result,
    };
    let reason = read.reason.filter(|reason| !reason.trim().is_empty());
    let reason = reason.unwrap_or_else(|| {
        let score = read.score.map(|score| format!(", with a score of {score}")).unwrap_or_default();
        format!("the check says {}{score}", if passed { "yes" } else { "no" })
    });
    Ok(result.because_of(reason, read.events))
}

fn unusable(why: &str, given: &Value) -> InvalidAnswer {
    InvalidAnswer::OfCheck {
        why: why.to_owned(),
        answer: rehearsal_core::shorten(&rehearsal_core::json::text(given), 200),
    }
}
