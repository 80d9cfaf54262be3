//! What people answer, and what is wrong with it.

use rehearsal_core::{
    Content, FinishReason, ModelResponse, ModelSetup, Part, PartData, Role, Schema, ToolDeclaration,
    ToolError, ToolOutcome, json,
};
use serde::Deserialize as _;
use serde_json::{Map, Value};

use super::PersonPart;

/// The tool by which some agents take their final answer as structured data.
pub const SET_MODEL_RESPONSE: &str = "set_model_response";

/// What a person does as the user.
#[derive(Clone, Debug, PartialEq)]
pub enum UserReply {
    /// Says something.
    Say(Content),
    /// Has nothing more to say.
    End,
}

type Checked<T> = Result<T, Vec<String>>;

/// Says what is wrong with an answer to a cue with this prompt.
///
/// # Errors
/// All that is wrong with it.
pub fn check_answer(kind: PersonPart, prompt: &Value, answer: &Value) -> Checked<()> {
    match kind {
        PersonPart::Model => {
            let setup = ModelSetup::deserialize(&prompt["request"])
                .map_err(|error| vec![format!("the request of the cue cannot be read: {error}")])?;
            check_model_answer(&setup, answer).map(drop)
        }
        PersonPart::Tool => check_tool_answer(prompt, answer).map(drop),
        PersonPart::User => check_user_answer(answer).map(drop),
    }
}

/// Reads what a person answered as the model: exactly one of `{"text"}`, `{"calls": [{"tool", "args"}], "text"?}`,
/// `{"final": value}`, `{"content": {role, parts}}` and `{"candidates": [{"content"}]}`, of which the first counts.
///
/// ```
/// use rehearsal_core::ModelSetup;
/// use rehearsal_sim::person::check_model_answer;
/// use serde_json::json;
///
/// let said = check_model_answer(&ModelSetup::default(), &json!({"text": "Good morning"})).unwrap();
/// assert_eq!(said.content.text(), "Good morning");
/// let problems = check_model_answer(&ModelSetup::default(), &json!({"calls": [{"tool": "refund"}]})).unwrap_err();
/// assert_eq!(problems, ["`calls[0]`: there is no tool `refund`; the tools are: none"]);
/// ```
///
/// # Errors
/// All that is wrong with it: the form, tools that are not there, arguments that break the schema of their tool, a final
/// answer that breaks the output schema.
pub fn check_model_answer(setup: &ModelSetup, answer: &Value) -> Checked<ModelResponse> {
    const FORMS: [&str; 5] = ["text", "calls", "final", "content", "candidates"];
    let fields = fields(answer, "an answer of the model", &FORMS)?;
    let given: Vec<&str> = FORMS.into_iter().filter(|form| fields.contains_key(*form)).collect();
    match given[..] {
        ["text"] => {
            let text = spoken(&fields["text"])?;
            check_final_text(setup, text)?;
            Ok(response(vec![Part::text(text)], FinishReason::Stop))
        }
        ["calls"] | ["text", "calls"] => check_calls(setup, fields),
        ["final"] => check_final(setup, &fields["final"]),
        ["content"] => {
            let content = check_content(setup, &fields["content"], "content")?;
            let finish = finish_of(&content);
            Ok(ModelResponse { finish: Some(finish), ..ModelResponse::new(content) })
        }
        ["candidates"] => check_candidates(setup, &fields["candidates"]),
        _ => Err(vec![one_of(&FORMS, &given)]),
    }
}

/// Reads what a person answered as a tool: `{"output": value}` or `{"error": {"type", "message"}}`.
///
/// # Errors
/// All that is wrong with it: the form, or an output that breaks the `output_schema` of the prompt.
pub fn check_tool_answer(prompt: &Value, answer: &Value) -> Checked<ToolOutcome> {
    const FORMS: [&str; 2] = ["output", "error"];
    let fields = fields(answer, "an answer of a tool", &FORMS)?;
    match (fields.get("output"), fields.get("error")) {
        (Some(output), None) => {
            if let Some(schema) = prompt.get("output_schema") {
                violations(schema, output, "`output` breaks the output schema of the tool")?;
            }
            Ok(ToolOutcome::Output(output.clone()))
        }
        (None, Some(error)) => {
            let error = self::fields(error, "`error`", &["type", "message"])?;
            let text = |key: &str| match error.get(key).map(|value| json::as_text(value).ok_or(value)) {
                Some(Ok(text)) if !text.trim().is_empty() => Ok(text.to_owned()),
                Some(Ok(_)) => Err(format!("`error.{key}` is empty")),
                Some(Err(other)) => Err(format!("`error.{key}` must be text; this is {}", kind(other))),
                None => Err(format!("`error` needs `{key}`")),
            };
            match (text("type"), text("message")) {
                (Ok(kind), Ok(message)) => Ok(ToolOutcome::Error(ToolError::new(kind, message))),
                (kind, message) => Err([kind.err(), message.err()].into_iter().flatten().collect()),
            }
        }
        (output, error) => {
            let given: Vec<&str> =
                [output.map(|_| "output"), error.map(|_| "error")].into_iter().flatten().collect();
            Err(vec![one_of(&FORMS, &given)])
        }
    }
}

/// Reads what a person answered as the user: `{"text"}`, `{"content"}` or `{"end": true}`.
///
/// # Errors
/// All that is wrong with it.
pub fn check_user_answer(answer: &Value) -> Checked<UserReply> {
    const FORMS: [&str; 3] = ["text", "content", "end"];
    let fields = fields(answer, "an answer of the user", &FORMS)?;
    let given: Vec<&str> = FORMS.into_iter().filter(|form| fields.contains_key(*form)).collect();
    match given[..] {
        ["text"] => Ok(UserReply::Say(Content::user(spoken(&fields["text"])?))),
        ["content"] => {
            let content = read_content(&fields["content"], "content", &Role::User)?;
            let mut problems = Vec::new();
            for (index, part) in content.parts.iter().enumerate() {
                if matches!(part.data, PartData::FunctionCall(_) | PartData::FunctionResponse(_)) {
                    problems.push(format!(
                        "`content.parts[{index}]`: a user calls no tools and answers for none"
                    ));
                }
            }
            if problems.is_empty() { Ok(UserReply::Say(content)) } else { Err(problems) }
        }
        ["end"] if fields["end"] == Value::Bool(true) => Ok(UserReply::End),
        ["end"] => Err(vec!["`end` can only be true; say something with `text` to go on".to_owned()]),
        _ => Err(vec![one_of(&FORMS, &given)]),
    }
}

/// The fields of an object that has no others than these.
fn fields<'a>(value: &'a Value, what: &str, known: &[&str]) -> Checked<&'a Map<String, Value>> {
    let Value::Object(fields) = value else {
        return Err(vec![format!("{what} must be an object of {}; this is {}", list(known), kind(value))]);
    };
    let unknown: Vec<String> = fields
        .keys()
        .filter(|key| !known.contains(&key.as_str()))
        .map(|key| format!("{what} has no `{key}`, only {}", list(known)))
        .collect();
    if unknown.is_empty() { Ok(fields) } else { Err(unknown) }
}

fn one_of(forms: &[&str], given: &[&str]) -> String {
    let given = if given.is_empty() { "nothing".to_owned() } else { list(given) };
    format!("an answer has exactly one of {}; this one has {given}", list(forms))
}

fn list(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    match &quoted[..] {
        [rest @ .., last] if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => quoted.concat(),
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        value if json::is_number(value) => "a number",
        Value::Number(_) | Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// A text in which something is said.
fn spoken(value: &Value) -> Checked<&str> {
    match json::as_text(value) {
        Some(text) if text.trim().is_empty() => Err(vec!["`text` is empty".to_owned()]),
        Some(text) => Ok(text),
        None => Err(vec![format!("`text` must be text; this is {}", kind(value))]),
    }
}

fn violations(schema: &Value, value: &Value, what: &str) -> Checked<()> {
    let found = Schema::new(schema.clone()).check(value).map_err(|error| vec![format!("{what}: {error}")])?;
    if found.is_empty() {
        return Ok(());
    }
    Err(found.iter().map(|violation| format!("{what}: {violation}")).collect())
}

fn response(parts: Vec<Part>, finish: FinishReason) -> ModelResponse {
    ModelResponse { finish: Some(finish), ..ModelResponse::new(Content::new(Role::Model, parts)) }
}

fn finish_of(content: &Content) -> FinishReason {
    if content.calls().next().is_some() { FinishReason::ToolCalls } else { FinishReason::Stop }
}

/// Checks a text without calls beside it: it ends the agent's turn, so the output schema holds for it.
fn check_final_text(setup: &ModelSetup, text: &str) -> Checked<()> {
    let taker = setup.tools.iter().find(|tool| tool.name == SET_MODEL_RESPONSE);
    if taker.is_none() && setup.output_schema.is_none() {
        return Ok(());
    }
    let value: Value = json::from_str(text.trim()).map_err(|error| {
        let way = if taker.is_some() { "; give the value as `final`" } else { "" };
        vec![format!("the agent's answer has an output schema, and this text is not JSON: {error}{way}")]
    })?;
    let what = "the text breaks the output schema";
    match (taker, &setup.output_schema) {
        (Some(tool), _) => final_args(tool, &value, what).map(drop),
        (None, Some(schema)) => violations(schema, &value, what),
        (None, None) => Ok(()),
    }
}

fn check_final(setup: &ModelSetup, value: &Value) -> Checked<ModelResponse> {
    if let Some(tool) = setup.tools.iter().find(|tool| tool.name == SET_MODEL_RESPONSE) {
        let args = final_args(tool, value, "`final` breaks the output schema")?;
        let call = Part::call(SET_MODEL_RESPONSE, args);
        return Ok(response(vec![call], FinishReason::ToolCalls));
    }
    if let Some(schema) = &setup.output_schema {
        violations(schema, value, "`final` breaks the output schema")?;
        return Ok(response(vec![Part::text(json::text(value))], FinishReason::Stop));
    }
    Ok(response(vec![Part::text(json::said(value))], FinishReason::Stop))
}

/// A final value as arguments of the tool that takes it: itself, or under the one name that the tool has for it.
fn final_args(tool: &ToolDeclaration, value: &Value, what: &str) -> Checked<Value> {
    let checked = if value.is_object() {
        violations(&tool.parameters, value, what).map(|()| value.clone())
    } else {
        Err(vec![format!("{what}: it must be an object; this is {}", kind(value))])
    };
    let names: Vec<&String> =
        tool.parameters["properties"].as_object().into_iter().flat_map(Map::keys).collect();
    match (checked, &names[..]) {
        (Err(problems), [name]) => {
            let wrapped = Value::Object(Map::from_iter([((*name).clone(), value.clone())]));
            match violations(&tool.parameters, &wrapped, what) {
                Ok(()) => Ok(wrapped),
                Err(inner) => Err(if value.is_object() { problems } else { inner }),
            }
        }
        (checked, _) => checked,
    }
}

fn check_calls(setup: &ModelSetup, fields: &Map<String, Value>) -> Checked<ModelResponse> {
    let mut parts = Vec::new();
    let mut problems = Vec::new();
    match fields.get("text").map(spoken) {
        Some(Ok(text)) => parts.push(Part::text(text)),
        Some(Err(wrong)) => problems.extend(wrong),
        None => {}
    }
    match &fields["calls"] {
        Value::Array(calls) if calls.is_empty() => problems.push("`calls` is empty".to_owned()),
        Value::Array(calls) => {
            for (index, call) in calls.iter().enumerate() {
                match read_call(setup, call, &format!("calls[{index}]")) {
                    Ok(part) => parts.push(part),
                    Err(wrong) => problems.extend(wrong),
                }
            }
        }
        other => problems.push(format!("`calls` must be a list; this is {}", kind(other))),
    }
    if problems.is_empty() { Ok(response(parts, FinishReason::ToolCalls)) } else { Err(problems) }
}

fn read_call(setup: &ModelSetup, call: &Value, at: &str) -> Checked<Part> {
    let fields = fields(call, &format!("`{at}`"), &["tool", "args"])?;
    let empty = Value::Object(Map::new());
    let (tool, args) = match (fields.get("tool"), fields.get("args").unwrap_or(&empty)) {
        (Some(Value::String(tool)), args) if args.is_object() => (tool, args),
        (Some(Value::String(_)), args) => {
            return Err(vec![format!("`{at}.args` must be an object; this is {}", kind(args))]);
        }
        (Some(other), _) => {
            return Err(vec![format!("`{at}.tool` must be text; this is {}", kind(other))]);
        }
        (None, _) => return Err(vec![format!("`{at}` needs `tool`")]),
    };
    check_call(setup, tool, args, at)?;
    Ok(Part::call(tool.as_str(), args.clone()))
}

fn check_call(setup: &ModelSetup, tool: &str, args: &Value, at: &str) -> Checked<()> {
    let Some(declared) = setup.tools.iter().find(|declared| declared.name == tool) else {
        let known: Vec<&str> = setup.tools.iter().map(|declared| declared.name.as_str()).collect();
        let known = if known.is_empty() { "none".to_owned() } else { list(&known) };
        return Err(vec![format!("`{at}`: there is no tool `{tool}`; the tools are: {known}")]);
    };
    let what = format!("`{at}`: the arguments break the schema of `{tool}`");
    // Whoever answers cannot mend a declaration of which a part cannot be used; all the rest of it holds.
    let (schema, _) = Schema::new(declared.parameters.clone()).usable();
    match schema.check(args) {
        Ok(found) if found.is_empty() => Ok(()),
        Ok(found) => Err(found.iter().map(|violation| format!("{what}: {violation}")).collect()),
        Err(error) => Err(vec![format!("`{at}`: the schema of `{tool}` cannot be used: {error}")]),
    }
}

fn check_candidates(setup: &ModelSetup, candidates: &Value) -> Checked<ModelResponse> {
    let Value::Array(candidates) = candidates else {
        return Err(vec![format!("`candidates` must be a list; this is {}", kind(candidates))]);
    };
    let mut read = Vec::new();
    let mut problems = Vec::new();
    for (index, candidate) in candidates.iter().enumerate() {
        let at = format!("candidates[{index}].content");
        match check_content(setup, &candidate["content"], &at) {
            Ok(content) => {
                let finish = ["finish_reason", "finishReason"].iter().find_map(|key| candidate[key].as_str());
                let finish = finish.map_or_else(|| finish_of(&content), |word| finish_reason(word, &content));
                read.push(ModelResponse { finish: Some(finish), ..ModelResponse::new(content) });
            }
            Err(wrong) => problems.extend(wrong),
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    read.into_iter().next().ok_or_else(|| vec!["`candidates` is empty; one is needed".to_owned()])
}

fn finish_reason(word: &str, content: &Content) -> FinishReason {
    match word {
        "STOP" => finish_of(content),
        "MAX_TOKENS" => FinishReason::MaxTokens,
        "SAFETY" => FinishReason::Safety,
        other => FinishReason::Other(other.to_owned()),
    }
}

/// Reads a content in which something is said by this role.
fn read_content(value: &Value, at: &str, role: &Role) -> Checked<Content> {
    if !value.is_object() {
        return Err(vec![format!(
            "`{at}` must be an object with `role` and `parts`; this is {}",
            kind(value)
        )]);
    }
    let mut content =
        Content::deserialize(value).map_err(|error| vec![format!("`{at}` cannot be read: {error}")])?;
    let mut problems = Vec::new();
    match &content.role {
        None => content.role = Some(role.clone()),
        Some(own) if own == role => {}
        Some(own) => {
            problems.push(format!(
                "`{at}.role` is `{}`, but the {role} speaks",
                own.as_str(),
                role = role.as_str()
            ));
        }
    }
    if content.parts.is_empty() {
        problems.push(format!("`{at}.parts` is empty; one is needed"));
    }
    for (index, part) in content.parts.iter().enumerate() {
        if matches!(part.data, PartData::Other) && part.extra.is_empty() {
            problems.push(format!("`{at}.parts[{index}]` holds nothing"));
        }
    }
    if problems.is_empty() { Ok(content) } else { Err(problems) }
}

/// Reads a content as the model's.
fn check_content(setup: &ModelSetup, value: &Value, at: &str) -> Checked<Content> {
    let content = read_content(value, at, &Role::Model)?;
    let mut problems = Vec::new();
    for (index, part) in content.parts.iter().enumerate() {
        let at = format!("{at}.parts[{index}]");
        match &part.data {
            PartData::FunctionCall(call) => {
                let args = Value::Object(call.args.clone());
                problems.extend(check_call(setup, &call.name, &args, &at).err().into_iter().flatten());
            }
            PartData::FunctionResponse(_) => problems.push(format!("`{at}`: the model answers for no tool")),
            _ => {}
        }
    }
    if content.calls().next().is_none() {
        problems.extend(check_final_text(setup, &content.text()).err().into_iter().flatten());
    }
    if problems.is_empty() { Ok(content) } else { Err(problems) }
}
