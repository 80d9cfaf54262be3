//! A judge's opinion.

use std::fmt::Write as _;

use rehearsal_core::MetricResult;
use rehearsal_metrics::Question;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::reasoning::{all, cited, object, read, reasoning, share, unusable};
use super::record::{INSTRUCTIONS, Record};
use super::scene::Scene;
use crate::file::{Expectation, JudgeEvaluation, shorten, shown};

pub(super) fn question(scene: &Scene<'_>, judge: &JudgeEvaluation) -> Question {
    let mut parts = vec![format!("QUESTION\n{}", judge.prompt.trim())];
    if let Expectation::Words(words) = &judge.expected
        && !words.trim().is_empty()
    {
        parts.push(format!(
            "EXPECTED\n{}\n\nThe answer is yes where what happened is as expected.",
            words.trim()
        ));
    }
    if !judge.capabilities.is_empty() {
        let list = judge.capabilities.iter().enumerate();
        let list: Vec<String> = list.map(|(index, text)| format!("{}. {text}", index + 1)).collect();
        parts.push(format!(
            "CAPABILITIES\n{}\n\nSay of each by itself, by its exact words, whether the agent showed it.",
            list.join("\n")
        ));
    }
    if let Some(turn) = scene.turn() {
        parts.push(format!("Judge turn {} only. The turns before it show what led to it.", turn.number));
    }
    parts.push(Record::of(scene).fenced());
    parts.push(task(judge).to_owned());
    Question {
        instructions: INSTRUCTIONS.to_owned(),
        prompt: parts.join("\n\n"),
        schema: form(judge),
        judge: judge.model_type.clone(),
        temperature: judge.temperature,
    }
}

fn asks_for_number(judge: &JudgeEvaluation) -> bool {
    judge.expected.holds(0.0).is_some()
}

fn task(judge: &JudgeEvaluation) -> &'static str {
    match (judge.json_schema.is_some(), asks_for_number(judge)) {
        (true, _) => "Answer the question above; `judgment` is your answer.",
        (false, false) => "Answer the question above: is the answer yes or no?",
        (false, true) => {
            "Answer the question above: how far is the answer yes, from 0 (not at all) to 1 (completely)?"
        }
    }
}

/// The form of the answer: the author's, or the usual one.
fn form(judge: &JudgeEvaluation) -> Value {
    let capabilities = (!judge.capabilities.is_empty()).then(|| capabilities_form(&judge.capabilities));
    if let Some(schema) = &judge.json_schema {
        let mut schema = schema.clone();
        require(&mut schema, "judgment", None);
        if let Some(form) = capabilities {
            require(&mut schema, "capabilities", Some(form));
        }
        return Value::Object(schema);
    }
    let mut properties = json!({"reasoning": reasoning()});
    if let Some(form) = capabilities {
        properties["capabilities"] = form;
    }
    if asks_for_number(judge) {
        properties["score"] = json!({"type": "number", "minimum": 0, "maximum": 1});
    } else {
        properties["judgment"] = json!({"type": "string", "enum": ["yes", "no"]});
    }
    let mut form = object(properties);
    if !asks_for_number(judge) {
        // Only told: whatever stands there, or nothing, decides nothing.
        form["properties"]["confidence"] =
            json!({"description": "How sure you are of the judgment, a number from 0 to 1."});
    }
    form
}

/// Makes a form ask for a property, which it may not have had.
fn require(schema: &mut Map<String, Value>, key: &str, form: Option<Value>) {
    if let (Some(form), Some(properties)) =
        (form, schema.get_mut("properties").and_then(Value::as_object_mut))
    {
        properties.insert(key.to_owned(), form);
    }
    let required = schema.entry("required").or_insert_with(|| json!([]));
    if let Some(required) = required.as_array_mut()
        && !required.iter().any(|name| name == key)
    {
        required.push(json!(key));
    }
}

fn capabilities_form(capabilities: &[String]) -> Value {
    json!({
        "type": "array",
        "items": object(json!({
            "capability": {"type": "string", "enum": capabilities},
            "reasoning": reasoning(),
            "achieved": {"type": "boolean"},
        })),
    })
}

#[derive(Deserialize)]
struct Opinion {
    capability: String,
    #[serde(default)]
    reasoning: String,
    achieved: bool,
}

pub(super) fn conclude(
    scene: &Scene<'_>,
    judge: &JudgeEvaluation,
    answers: &[Value],
) -> Result<MetricResult, String> {
    let answer = &all(answers, 1)?[0];
    let capabilities = read_capabilities(judge, answer)?;
    let (agrees, score) = compare(judge, answer)?;
    let achieved = capabilities.iter().filter(|capability| capability.achieved).count();
    let wants_all = matches!(judge.expected, Expectation::Yes | Expectation::Words(_));
    let passed = agrees && !(wants_all && achieved < capabilities.len());
    let mut message = said(judge, answer);
    if !capabilities.is_empty() {
        let _ = write!(message, ", {achieved} of {} capabilities shown", capabilities.len());
    }
    let why = answer["reasoning"].as_str().unwrap_or_default();
    if !why.is_empty() {
        let _ = write!(message, ": {why}");
    }
    let mut result =
        MetricResult::from_pass(passed).value(answer.clone()).because_of(message, cited(why, scene.ledger));
    result.score = score.or_else(|| share_of(achieved, capabilities.len()).filter(|_| wants_all));
    Ok(capabilities.iter().fold(result, |result, capability| {
        let verb = if capability.achieved { "shown" } else { "not shown" };
        let text = format!("{verb}: {}: {}", capability.capability, capability.reasoning);
        result.because_of(text.trim_end_matches(": "), cited(&capability.reasoning, scene.ledger))
    }))
}

/// Whether the answer is the expected one, and its number where that is a score.
fn compare(judge: &JudgeEvaluation, answer: &Value) -> Result<(bool, Option<f64>), String> {
    let judgment = &answer["judgment"];
    let expects_yes = judge.expected != Expectation::No;
    match (asks_for_number(judge), judge.json_schema.is_some()) {
        (true, has_form) => {
            let number = if has_form { judgment } else { &answer["score"] };
            let number = number.as_f64().ok_or_else(|| unusable("it gives no number", answer))?;
            let number = if has_form { number } else { share(number, answer)? };
            let holds = judge.expected.holds(number).unwrap_or(false);
            Ok((holds, Some(number).filter(|number| (0.0..=1.0).contains(number))))
        }
        (false, has_form) => match judgment {
            Value::Bool(judgment) => Ok((*judgment == expects_yes, None)),
            Value::String(judgment) => {
                let is = |word: &str| judgment.trim().eq_ignore_ascii_case(word);
                if !has_form && !is("yes") && !is("no") {
                    return Err(unusable("its `judgment` is neither yes nor no", answer));
                }
                Ok((is(if expects_yes { "yes" } else { "no" }), None))
            }
            _ => Err(unusable("its `judgment` is neither a word nor true or false", answer)),
        },
    }
}

fn said(judge: &JudgeEvaluation, answer: &Value) -> String {
    let key = if asks_for_number(judge) && judge.json_schema.is_none() { "score" } else { "judgment" };
    let said =
        answer[key].as_str().map_or_else(|| shown(Some(&answer[key])), |word| shorten(word.trim(), 80));
    let sure = match answer["confidence"].as_f64() {
        Some(confidence) => format!(" (confidence {confidence})"),
        None => String::new(),
    };
    format!("the judge says {said}{sure}, {} expected", judge.expected)
}

/// What the judge says of each capability.
fn read_capabilities(judge: &JudgeEvaluation, answer: &Value) -> Result<Vec<Opinion>, String> {
    if judge.capabilities.is_empty() {
        return Ok(Vec::new());
    }
    let given: Vec<Opinion> = read(&answer["capabilities"])?;
    let of = |name: &String| {
        let mut given = given.iter().filter(|given| given.capability == *name).peekable();
        let first = given.peek().ok_or_else(|| unusable(&format!("it says nothing of {name:?}"), answer))?;
        let reasoning = first.reasoning.clone();
        Ok(Opinion { capability: name.clone(), reasoning, achieved: given.all(|given| given.achieved) })
    };
    judge.capabilities.iter().map(of).collect()
}

#[expect(clippy::cast_precision_loss, reason = "nobody counts to 2^53")]
pub(super) fn share_of(part: usize, whole: usize) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}
