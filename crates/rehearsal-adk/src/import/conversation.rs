//! Eval cases of a file that fits ADK's models, as values.

use rehearsal_core::{CallId, Content, FunctionResponse, Part, Role};
use serde_json::{Map, Value};

use super::ImportError;
use super::fields::below;
use crate::eval_set::{
    Conversation, ConversationScenario, EvalCase, EvalSet, IntermediateData, Invocation, SessionInput,
    ToolUse,
};

pub(super) fn read_set(value: &Value) -> Result<EvalSet, ImportError> {
    let cases = list(value, "eval_cases").iter().enumerate();
    let eval_cases = cases.map(|(index, case)| read_case(case, &format!("$.eval_cases[{index}]")));
    Ok(EvalSet {
        eval_set_id: text(value, "eval_set_id"),
        name: optional(value, "name"),
        description: optional(value, "description"),
        eval_cases: eval_cases.collect::<Result<_, _>>()?,
        creation_timestamp: number(value, "creation_timestamp"),
    })
}

pub(super) fn read_case(value: &Value, path: &str) -> Result<EvalCase, ImportError> {
    let conversation = match (value.get("conversation"), value.get("conversation_scenario")) {
        (Some(_), None) => Conversation::Static(read_invocations(value, path)?),
        (None, Some(scenario)) => Conversation::Scenario(ConversationScenario {
            starting_prompt: text(scenario, "starting_prompt"),
            conversation_plan: text(scenario, "conversation_plan"),
            user_persona: scenario.get("user_persona").cloned(),
        }),
        (found, _) => {
            let what = if found.is_some() { "both" } else { "neither" };
            let problem = format!("has {what} of `conversation` and `conversation_scenario`");
            return Err(ImportError::at(path, problem, "give exactly one of the two"));
        }
    };
    let session_input = value.get("session_input").map(|input| SessionInput {
        app_name: text(input, "app_name"),
        user_id: text(input, "user_id"),
        state: object(input, "state").unwrap_or_default(),
    });
    Ok(EvalCase {
        eval_id: text(value, "eval_id"),
        conversation,
        session_input,
        creation_timestamp: number(value, "creation_timestamp"),
        final_session_state: object(value, "final_session_state").unwrap_or_default(),
    })
}

fn read_invocations(case: &Value, path: &str) -> Result<Vec<Invocation>, ImportError> {
    let path = below(path, "conversation");
    let read = |(index, value): (usize, &Value)| read_invocation(value, &format!("{path}[{index}]"));
    list(case, "conversation").iter().enumerate().map(read).collect()
}

fn read_invocation(value: &Value, path: &str) -> Result<Invocation, ImportError> {
    let content =
        |name: &str| value.get(name).map(|found| read_content(found, &below(path, name))).transpose();
    Ok(Invocation {
        invocation_id: text(value, "invocation_id"),
        user_content: content("user_content")?.unwrap_or_default(),
        final_response: content("final_response")?,
        intermediate_data: value.get("intermediate_data").map(read_intermediate).unwrap_or_default(),
        creation_timestamp: number(value, "creation_timestamp"),
    })
}

/// Calls and responses, in whichever of the two forms.
fn read_intermediate(value: &Value) -> IntermediateData {
    let said = list(value, "invocation_events").iter().filter_map(|event| event.get("content"));
    let parts: Vec<&Value> = said.flat_map(|content| list(content, "parts")).collect();
    let called = parts.iter().filter_map(|part| part.get("function_call"));
    let given = parts.iter().filter_map(|part| part.get("function_response"));
    IntermediateData {
        tool_uses: list(value, "tool_uses").iter().chain(called).map(read_call).collect(),
        tool_responses: list(value, "tool_responses").iter().chain(given).map(read_response).collect(),
    }
}

fn read_call(value: &Value) -> ToolUse {
    ToolUse { id: id(value), name: text(value, "name"), args: object(value, "args") }
}

fn read_response(value: &Value) -> FunctionResponse {
    let response = Value::Object(object(value, "response").unwrap_or_default());
    FunctionResponse::new(id(value), text(value, "name"), response)
}

fn read_content(value: &Value, path: &str) -> Result<Content, ImportError> {
    let mut parts = Vec::new();
    for (index, part) in list(value, "parts").iter().enumerate() {
        let place = format!("{path}.parts[{index}]");
        for piece in pieces(part) {
            let piece: Part = rehearsal_core::json::from_value(piece).map_err(|error| {
                ImportError::at(&place, error.to_string(), "correct the part, or remove it")
            })?;
            parts.push(piece);
        }
    }
    Ok(Content { role: optional(value, "role").as_deref().map(Role::from), parts })
}

/// A part as several, each of which holds one thing: ADK takes a part with a text and a call.
fn pieces(part: &Value) -> Vec<Value> {
    const HELD: [&str; 5] = ["text", "inline_data", "file_data", "function_call", "function_response"];
    let whole = part.as_object().cloned().unwrap_or_default();
    let mut found: Vec<Value> = Vec::new();
    for (index, name) in HELD.iter().filter(|name| whole.contains_key(**name)).enumerate() {
        let is_own =
            |key: &String| key == name || key == "thought" || (index == 0 && !HELD.contains(&&**key));
        let own =
            whole.iter().filter(|(key, _)| is_own(key)).map(|(key, value)| (key.clone(), value.clone()));
        found.push(Value::Object(own.collect()));
    }
    if found.is_empty() { vec![Value::Object(whole)] } else { found }
}

fn list<'v>(value: &'v Value, name: &str) -> &'v [Value] {
    value.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn optional(value: &Value, name: &str) -> Option<String> {
    value.get(name).and_then(Value::as_str).map(str::to_owned)
}

fn text(value: &Value, name: &str) -> String {
    optional(value, name).unwrap_or_default()
}

fn number(value: &Value, name: &str) -> f64 {
    value.get(name).and_then(Value::as_f64).unwrap_or_default()
}

fn object(value: &Value, name: &str) -> Option<Map<String, Value>> {
    value.get(name).and_then(Value::as_object).cloned()
}

fn id(value: &Value) -> Option<CallId> {
    optional(value, "id").map(CallId::new)
}
