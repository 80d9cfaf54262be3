//! Contents and their parts.

use rehearsal_core::{Blob, CallId, Content, FileData, FunctionCall, FunctionResponse, Part, PartData, Role};
use serde_json::{Map, Value, json};

use super::genai::code_execution_result::Outcome;
use super::genai::executable_code::Language;
use super::genai::function_response::Scheduling;
use super::genai::part::Data;
use super::genai::{self, function_response_part};
use super::{base64, json as wire_json};

pub(super) fn content_from_wire(content: genai::Content) -> Content {
    Content {
        role: (!content.role.is_empty()).then(|| Role::from(content.role.as_str())),
        parts: content.parts.into_iter().map(part_from_wire).collect(),
    }
}

pub(super) fn content_to_wire(content: &Content) -> genai::Content {
    genai::Content {
        role: content.role.as_ref().map_or("", Role::as_str).to_owned(),
        parts: content.parts.iter().map(part_to_wire).collect(),
    }
}

/// The pieces that the core has no field for are kept in [`Part::extra`], by the names that JSON has for them.
fn part_from_wire(part: genai::Part) -> Part {
    let mut extra = Map::new();
    let data = match part.data {
        None => PartData::Other,
        Some(Data::Text(text)) => PartData::Text(text),
        Some(Data::InlineData(blob)) => PartData::InlineData(blob_from_wire(blob)),
        Some(Data::FileData(file)) => PartData::FileData(FileData {
            mime_type: non_empty(file.mime_type),
            file_uri: file.file_uri,
            extra: Map::new(),
        }),
        Some(Data::FunctionCall(call)) => PartData::FunctionCall(FunctionCall {
            id: call_id(call.id),
            name: call.name,
            args: call.args.map(wire_json::object_from_wire).unwrap_or_default(),
            unreadable: None,
            extra: Map::new(),
        }),
        Some(Data::FunctionResponse(response)) => PartData::FunctionResponse(response_from_wire(response)),
        Some(Data::ExecutableCode(code)) => {
            let language = code.language().as_str_name();
            extra.insert("executable_code".into(), json!({"language": language, "code": code.code}));
            PartData::Other
        }
        Some(Data::CodeExecutionResult(result)) => {
            let outcome = result.outcome().as_str_name();
            extra
                .insert("code_execution_result".into(), json!({"outcome": outcome, "output": result.output}));
            PartData::Other
        }
    };
    if let Some(metadata) = part.part_metadata {
        extra.insert("part_metadata".into(), wire_json::object_from_wire(metadata).into());
    }
    if let Some(film) = part.video_metadata {
        extra.insert("video_metadata".into(), film_from_wire(film));
    }
    let signature = (!part.thought_signature.is_empty()).then(|| base64::encode(&part.thought_signature));
    Part { data, thought: part.thought, thought_signature: signature, extra }
}

fn part_to_wire(part: &Part) -> genai::Part {
    let data = match &part.data {
        PartData::Text(text) => Some(Data::Text(text.clone())),
        PartData::InlineData(blob) => Some(Data::InlineData(blob_to_wire(blob))),
        PartData::FileData(file) => Some(Data::FileData(genai::FileData {
            mime_type: file.mime_type.clone().unwrap_or_default(),
            file_uri: file.file_uri.clone(),
        })),
        PartData::FunctionCall(call) => Some(Data::FunctionCall(genai::FunctionCall {
            name: call.name.clone(),
            args: Some(wire_json::object_to_wire(&call.args)),
            id: call.id.as_ref().map_or("", CallId::as_str).to_owned(),
        })),
        PartData::FunctionResponse(response) => Some(Data::FunctionResponse(response_to_wire(response))),
        _ => code_to_wire(&part.extra),
    };
    let signature = part.thought_signature.as_deref().and_then(base64::decode).unwrap_or_default();
    let metadata = member(&part.extra, "part_metadata", "partMetadata").and_then(Value::as_object);
    genai::Part {
        data,
        part_metadata: metadata.map(wire_json::object_to_wire),
        thought: part.thought,
        thought_signature: signature.into(),
        video_metadata: member(&part.extra, "video_metadata", "videoMetadata").map(film_to_wire),
    }
}

/// Adds what of a content the wire has no place for, or would change on the way.
pub(super) fn unsendable(content: &Content, found: &mut Vec<String>) {
    for (index, part) in content.parts.iter().enumerate() {
        let place = format!("part {}", index + 1);
        let mut bytes = |name: &str, data: &str| {
            if base64::decode(data).is_none() {
                found.push(format!("{place}: {name} is not base64"));
            }
        };
        if let Some(signature) = &part.thought_signature {
            bytes("thought_signature", signature);
        }
        match &part.data {
            PartData::InlineData(blob) => bytes("inline_data.data", &blob.data),
            PartData::FunctionCall(call) => {
                wire_json::inexact(&call.args, &format!("{place}: args"), found);
            }
            PartData::FunctionResponse(response) => {
                wire_json::inexact(&response.response, &format!("{place}: response"), found);
            }
            PartData::Other if code_to_wire(&part.extra).is_none() => {
                found.push(format!(
                    "{place} is of a kind that cannot be sent; send text, a function call or inline data"
                ));
            }
            _ => {}
        }
    }
}

fn blob_from_wire(blob: genai::Blob) -> Blob {
    Blob { mime_type: non_empty(blob.mime_type), data: base64::encode(&blob.data), extra: Map::new() }
}

fn blob_to_wire(blob: &Blob) -> genai::Blob {
    genai::Blob {
        mime_type: blob.mime_type.clone().unwrap_or_default(),
        data: base64::decode(&blob.data).unwrap_or_default().into(),
    }
}

fn response_from_wire(response: genai::FunctionResponse) -> FunctionResponse {
    let mut extra = Map::new();
    if response.will_continue {
        extra.insert("will_continue".into(), true.into());
    }
    if response.scheduling.is_some() {
        extra.insert("scheduling".into(), response.scheduling().as_str_name().into());
    }
    if !response.parts.is_empty() {
        let part = |part: genai::FunctionResponsePart| match part.data {
            Some(function_response_part::Data::InlineData(blob)) => {
                json!({"inline_data": blob_from_wire(blob)})
            }
            None => json!({}),
        };
        extra.insert("parts".into(), response.parts.into_iter().map(part).collect());
    }
    FunctionResponse {
        id: call_id(response.id),
        name: response.name,
        response: response.response.map(wire_json::object_from_wire).unwrap_or_default(),
        extra,
    }
}

fn response_to_wire(response: &FunctionResponse) -> genai::FunctionResponse {
    let extra = &response.extra;
    let scheduling = member(extra, "scheduling", "scheduling").and_then(Value::as_str);
    let part = |part: &Value| {
        let blob = part.as_object().and_then(|part| member(part, "inline_data", "inlineData"));
        let blob = blob.and_then(|blob| serde_json::from_value::<Blob>(blob.clone()).ok());
        let data = blob.map(|blob| function_response_part::Data::InlineData(blob_to_wire(&blob)));
        genai::FunctionResponsePart { data }
    };
    genai::FunctionResponse {
        name: response.name.clone(),
        response: Some(wire_json::object_to_wire(&response.response)),
        id: response.id.as_ref().map_or("", CallId::as_str).to_owned(),
        will_continue: member(extra, "will_continue", "willContinue") == Some(&Value::Bool(true)),
        scheduling: scheduling.and_then(Scheduling::from_str_name).map(Into::into),
        parts: extra.get("parts").and_then(Value::as_array).into_iter().flatten().map(part).collect(),
    }
}

fn code_to_wire(extra: &Map<String, Value>) -> Option<Data> {
    let text = |value: &Value, name: &str| value[name].as_str().unwrap_or_default().to_owned();
    if let Some(code) = member(extra, "executable_code", "executableCode") {
        let language = Language::from_str_name(&text(code, "language")).unwrap_or_default();
        return Some(Data::ExecutableCode(genai::ExecutableCode {
            language: language.into(),
            code: text(code, "code"),
        }));
    }
    let result = member(extra, "code_execution_result", "codeExecutionResult")?;
    let outcome = Outcome::from_str_name(&text(result, "outcome")).unwrap_or_default();
    Some(Data::CodeExecutionResult(genai::CodeExecutionResult {
        outcome: outcome.into(),
        output: text(result, "output"),
    }))
}

fn film_from_wire(film: genai::VideoMetadata) -> Value {
    let mut out = Map::new();
    for (name, offset) in [("start_offset", film.start_offset), ("end_offset", film.end_offset)] {
        if let Some(offset) = offset {
            out.insert(name.into(), offset.to_string().into());
        }
    }
    if film.fps != 0.0 {
        out.insert("fps".into(), wire_json::number_from_wire(film.fps));
    }
    Value::Object(out)
}

fn film_to_wire(film: &Value) -> genai::VideoMetadata {
    let empty = Map::new();
    let film = film.as_object().unwrap_or(&empty);
    let offset = |snake: &str, camel: &str| member(film, snake, camel)?.as_str()?.parse().ok();
    genai::VideoMetadata {
        start_offset: offset("start_offset", "startOffset"),
        end_offset: offset("end_offset", "endOffset"),
        fps: film.get("fps").and_then(Value::as_f64).unwrap_or_default(),
    }
}

fn member<'a>(object: &'a Map<String, Value>, snake: &str, camel: &str) -> Option<&'a Value> {
    object.get(snake).or_else(|| object.get(camel))
}

fn call_id(id: String) -> Option<CallId> {
    non_empty(id).map(CallId::new)
}

pub(super) fn non_empty(text: String) -> Option<String> {
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(json: Value) {
        let content: Content = serde_json::from_value(json).unwrap();
        assert_eq!(content_from_wire(content_to_wire(&content)), content);
    }

    #[test]
    fn every_kind_of_part_goes_there_and_back() {
        check(json!({"role": "model", "parts": [
            {"text": "hm", "thought": true, "thought_signature": "c2ln"},
            {"text": ""},
            {"inline_data": {"mime_type": "image/png", "data": "aGk="}},
            {"file_data": {"mime_type": "video/mp4", "file_uri": "gs://film"},
             "video_metadata": {"start_offset": "1s", "end_offset": "2.500s", "fps": 0.5}},
            {"function_call": {"id": "c1", "name": "add", "args": {"a": [1, null, {"b": true}], "c": 0.5}}},
            {"function_call": {"name": "now", "args": {}}},
            {"function_response": {"id": "c1", "name": "add", "response": {"result": 3}, "will_continue": true,
             "scheduling": "SILENT", "parts": [{"inline_data": {"mime_type": "image/png", "data": "aGk="}}]}},
            {"executable_code": {"language": "PYTHON", "code": "1 + 1"}},
            {"code_execution_result": {"outcome": "OUTCOME_OK", "output": "2"}},
            {"text": "with words of its own", "part_metadata": {"source": "a", "weight": 2}},
            {},
        ]}));
    }

    #[test]
    fn roles_are_kept_whatever_they_are() {
        check(json!({"role": "function", "parts": []}));
        check(json!({"parts": [{"text": "no role"}]}));
    }

    #[test]
    fn bytes_in_the_other_alphabet_are_sent_as_the_same_bytes() {
        let part = Part::from(PartData::InlineData(Blob { data: "_-8".into(), ..Blob::default() }));
        let wire = part_to_wire(&part);
        assert_eq!(
            part_from_wire(wire).data,
            PartData::InlineData(Blob { data: "/+8=".into(), ..Blob::default() })
        );
    }

    #[test]
    fn what_cannot_be_sent_is_named_with_its_place() {
        let content: Content = serde_json::from_value(json!({"parts": [
            {"text": "fine"},
            {"inline_data": {"data": "???"}},
            {"function_call": {"name": "f", "args": {"id": u64::MAX}}},
            {"hologram": {}},
        ]}))
        .unwrap();
        let mut found = Vec::new();
        unsendable(&content, &mut found);
        assert_eq!(
            found,
            [
                "part 2: inline_data.data is not base64",
                "part 3: args.id: the number 18446744073709551615 is beyond 2^53 and would arrive as another one; send it as text",
                "part 4 is of a kind that cannot be sent; send text, a function call or inline data",
            ]
        );
    }
}
