//! The state, and final answers that are JSON.

use rehearsal_core::{MetricResult, Query, Schema};
use serde_json::Value;

use super::scene::Scene;
use super::text::{quoted, silent};
use crate::file::{AnswerPath, JsonPathCheck, is_same, shown, unmet};

/// How many violations of a schema are told.
const TOLD: usize = 10;

pub(super) fn state(scene: &Scene<'_>, query: &Query) -> MetricResult {
    let last = scene.last_seq();
    let state = scene.ledger.state_at(last).to_value();
    let before = scene.ledger.events().iter().take_while(|event| event.seq <= last);
    let changed = before.filter(|event| !event.body.changes().is_empty()).last().map(|event| event.seq);
    let missed = unmet(query, &state, str::to_owned);
    if missed.is_empty() {
        let message = format!("the state matches {}", shown(Some(query.source())));
        return MetricResult::from_pass(true).because_of(message, changed);
    }
    let message = format!("the state does not match: {}", missed.join("; "));
    MetricResult::from_pass(false)
        .because_of(message, changed)
        .because(format!("it is {}", shown(Some(&state))))
}

pub(super) fn json_path(scene: &Scene<'_>, path: &AnswerPath, check: &JsonPathCheck) -> MetricResult {
    let (seq, answer) = match read(scene) {
        Ok(read) => read,
        Err(result) => return result,
    };
    let found = path.find(&answer);
    let (passed, asked) = match check {
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
    result
}

pub(super) fn schema(scene: &Scene<'_>, schema: &Schema) -> MetricResult {
    let (seq, answer) = match read(scene) {
        Ok(read) => read,
        Err(result) => return result,
    };
    let violations = match schema.check(&answer) {
        Ok(violations) => violations,
        Err(error) => return MetricResult::error(error.to_string()),
    };
    let Some(first) = violations.first() else {
        return MetricResult::from_pass(true).because_of("the answer has the form asked for", [seq]);
    };
    let more = violations.len() - 1;
    let message = match more {
        0 => format!("the answer does not have the form asked for: {first}"),
        _ => format!("the answer does not have the form asked for: {first}, and {more} more"),
    };
    let result = MetricResult::from_pass(false).because_of(message, [seq]);
    let rest = violations.iter().skip(1).take(TOLD);
    rest.fold(result, |result, violation| result.because_of(violation.to_string(), [seq]))
}

/// The final answer as JSON with the number of its event, or the result where it is none.
fn read(scene: &Scene<'_>) -> Result<(u64, Value), MetricResult> {
    if let Some((seq, output)) = scene.output()
        && !output.is_string()
    {
        return Ok((seq, output.clone()));
    }
    let (seq, text) = scene.reply().ok_or_else(|| silent(scene))?;
    match parse(&text) {
        Some(value) => Ok((seq, value)),
        None => {
            let message = format!("the {} is not JSON: {}", scene.text_name(), quoted(&text));
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
