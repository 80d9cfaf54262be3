//! Results as earlier versions wrote them.
//!
//! Version 1 had two forms: `rehearse run` wrote `scenarios`, `rehearse eval` wrote `cases`, and most keys were in camel
//! case. What it said beside that is what is said today.

use serde_json::{Map, Value, json};

use super::RESULT_VERSION;

/// A result in the form of today, whatever version wrote it.
pub fn upgraded(result: Value) -> Value {
    match result {
        Value::Object(run) if run.get("version").and_then(Value::as_u64) == Some(1) => of_run(run),
        other => other,
    }
}

fn of_run(run: Map<String, Value>) -> Value {
    let mut run = in_snake_case(run);
    run.insert("version".to_owned(), RESULT_VERSION.into());
    seed_as_digits(&mut run);
    let mut results = Vec::new();
    for key in ["scenarios", "cases"] {
        if let Some(Value::Array(cases)) = run.shift_remove(key) {
            results.extend(cases.into_iter().map(|case| within(case, of_case)));
        }
    }
    run.insert("results".to_owned(), Value::Array(results));
    Value::Object(run)
}

fn of_case(case: &mut Map<String, Value>) {
    for (old, new) in [("verdict", "status"), ("terminated_by", "termination_detail")] {
        if let Some(value) = case.shift_remove(old) {
            case.insert(new.to_owned(), value);
        }
    }
    seed_as_digits(case);
    each(case, "steps", |step| {
        each(step, "evaluations", of_evaluation);
        inside(step, "execution", |_| {});
        inside(step, "conversation", of_conversation);
    });
    let exchanges: usize =
        case.get("steps").and_then(Value::as_array).into_iter().flatten().map(exchanges).sum();
    case.entry("turns").or_insert_with(|| exchanges.saturating_sub(1).into());
    for (key, empty) in [("metrics", json!({})), ("steps", json!([])), ("sessions", json!([]))] {
        case.entry(key).or_insert(empty);
    }
}

/// Its first writers wrote seeds as numbers.
fn seed_as_digits(object: &mut Map<String, Value>) {
    if let Some(seed) = object.get_mut("seed").filter(|seed| seed.is_number()) {
        *seed = seed.to_string().into();
    }
}

/// How often the user spoke in a step.
fn exchanges(step: &Value) -> usize {
    match step["conversation"]["turns"].as_array() {
        Some(turns) => turns.len(),
        None => usize::from(step["kind"] == "input" && step["status"] != "skipped"),
    }
}

fn of_conversation(conversation: &mut Map<String, Value>) {
    each(conversation, "turns", |turn| {
        inside(turn, "execution_result", |_| {});
        each(turn, "turn_evaluations", of_evaluation);
    });
    each(conversation, "final_evaluations", of_evaluation);
    inside(conversation, "metrics", |metrics| inside(metrics, "token_usage", |_| {}));
}

/// Its first writers did not say what an evaluation looked at but in its name.
fn of_evaluation(evaluation: &mut Map<String, Value>) {
    let name = evaluation.get("name").cloned().unwrap_or_default();
    evaluation.entry("label").or_insert(name);
    evaluation.entry("scope").or_insert_with(|| json!({"of": "session"}));
}

/// Upgrades each object of a list that stands under a key.
fn each(object: &mut Map<String, Value>, key: &str, upgrade: impl Fn(&mut Map<String, Value>)) {
    if let Some(Value::Array(list)) = object.get_mut(key) {
        for one in list {
            *one = within(std::mem::take(one), &upgrade);
        }
    }
}

/// Upgrades the object that stands under a key.
fn inside(object: &mut Map<String, Value>, key: &str, upgrade: impl Fn(&mut Map<String, Value>)) {
    if let Some(one) = object.get_mut(key) {
        *one = within(std::mem::take(one), upgrade);
    }
}

/// Upgrades an object, whose own keys become those of snake case first; anything else stays as it is.
fn within(value: Value, upgrade: impl Fn(&mut Map<String, Value>)) -> Value {
    let Value::Object(object) = value else { return value };
    let mut object = in_snake_case(object);
    upgrade(&mut object);
    Value::Object(object)
}

/// The keys of an object, and of nothing in it: what people wrote, such as the names of files, is theirs.
fn in_snake_case(object: Map<String, Value>) -> Map<String, Value> {
    object.into_iter().map(|(key, value)| (snake_case(&key), value)).collect()
}

fn snake_case(key: &str) -> String {
    let mut snake = String::new();
    for letter in key.chars() {
        if letter.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}
