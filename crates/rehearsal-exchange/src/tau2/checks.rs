//! What a task asks of the agent, as evaluations.

use serde_json::{Map, Value, json};

use super::{Tau2Options, actions, basis};
use crate::read::{at, items, said};
use crate::report::{Change, Note};

/// The evaluations of a task.
pub(super) fn evaluations(task: &Value, options: &Tau2Options, notes: &mut Vec<Note>) -> Vec<Value> {
    // Some reference actions fail in the original too, which takes no notice of it.
    let mut evaluations =
        vec![json!({"type": "world_state", "after": reference(task), "allow_errors": true})];
    let criteria = at(task, &["evaluation_criteria"]);
    evaluations.extend(assertions(criteria));
    evaluations
        .extend(items(criteria, &["communicate_info"]).iter().filter_map(Value::as_str).map(communicated));
    if basis(task).contains(&"ACTION") {
        let (agents, users): (Vec<&Value>, Vec<&Value>) =
            actions(task).iter().partition(|action| by(action) == "agent");
        evaluations.extend(agents.into_iter().map(called));
        if !users.is_empty() {
            let why = "tau2 asks for these very calls too; here what they change is compared, which the final state shows";
            notes.push(Note::new(Change::Lost, "calls of the user's side", why));
        }
    }
    let judged = items(criteria, &["nl_assertions"]);
    let counts = basis(task).contains(&"NL_ASSERTION");
    if !judged.is_empty() && (counts || !options.basis_only) {
        evaluations.extend(judged.iter().filter_map(Value::as_str).map(asserted));
        if !counts {
            let why = "they are asked of a judge here, and do not count in tau2's own reward for this task; `--basis-only` leaves them out";
            notes.push(Note::new(Change::Stricter, "natural-language assertions", why));
        }
    } else if !judged.is_empty() {
        let why = "those of this task do not count in tau2's own reward";
        notes.push(Note::new(Change::Lost, "natural-language assertions", why));
    }
    evaluations
}

/// The calls that a world is to be compared with.
fn reference(task: &Value) -> Vec<Value> {
    let call = |action: &Value| {
        let mut call = json!({"tool": at(action, &["name"]), "args": at(action, &["arguments"])});
        if by(action) == "user" {
            call["by"] = "user".into();
        }
        call
    };
    actions(task).iter().map(call).collect()
}

fn by(action: &Value) -> &str {
    if said(action, &["requestor"]) == "user" { "user" } else { "agent" }
}

/// What holds of the phone and of the provider's data, as the world's state says it.
fn assertions(criteria: &Value) -> Option<Value> {
    let asserted = items(criteria, &["env_assertions"]);
    let name = |(index, each): (usize, &Value)| {
        let path = format!("world.assertions.{}_{}", index + 1, said(each, &["func_name"]));
        (path, Value::Bool(true))
    };
    let matches: Map<String, Value> = asserted.iter().enumerate().map(name).collect();
    (!matches.is_empty()).then(|| json!({"type": "state", "matches": matches}))
}

/// What the agent has to say at some time: in whatever case, and with or without the commas of large numbers, as tau2
/// compares it.
fn communicated(info: &str) -> Value {
    let is_plain = info.chars().all(|letter| letter.is_ascii_digit()) && info.len() < 4;
    let has_case = info.chars().any(char::is_alphabetic);
    if is_plain || has_case {
        return json!({"type": "string_contains", "in": "any", "value": info});
    }
    let pattern: Vec<String> = info.chars().map(escaped).collect();
    json!({"type": "regex_match", "in": "any", "pattern": pattern.join(",?")})
}

fn escaped(letter: char) -> String {
    if letter.is_ascii_alphanumeric() { letter.to_string() } else { format!("\\{letter}") }
}

/// A call that has to be made; an empty list of arguments to compare means that any will do.
fn called(action: &Value) -> Value {
    let name = at(action, &["name"]).clone();
    let compared = at(action, &["compare_args"]).as_array();
    let is_free = compared.is_some_and(Vec::is_empty) || name == "transfer_to_human_agents";
    if is_free {
        return json!({"type": "tool_called", "tool": name});
    }
    let given = at(action, &["arguments"]).as_object().cloned().unwrap_or_default();
    let is_compared = |key: &String| compared.is_none_or(|keys| keys.iter().any(|each| each == key));
    let args: Map<String, Value> = given.into_iter().filter(|(key, _)| is_compared(key)).collect();
    json!({"type": "tool_called", "tool": name, "args": args, "status": "any"})
}

fn asserted(assertion: &str) -> Value {
    let prompt = format!("Does this hold of the conversation: {assertion}");
    json!({"type": "llm_judge", "prompt": prompt, "expected": "yes"})
}
