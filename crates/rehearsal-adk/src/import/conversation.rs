//! Invocations: what the user says and what the agent does.

use rehearsal_core::{Content, FunctionCall, FunctionResponse, Part, PartData, Role};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::fields::{Field, Fields, below};
use super::{ImportError, Note};
use crate::eval_set::{IntermediateData, Invocation};
use crate::trace::{PART_FIELDS, camel_case};

const NO_TIMES: &str = "how long something took is not compared";

pub(super) fn read_invocation(mut fields: Fields, notes: &mut Vec<Note>) -> Result<Invocation, ImportError> {
    let invocation_id = fields.take("invocation_id")?.map_or(Ok(String::new()), Field::into_text)?;
    let user_content = read_content(fields.required("user_content")?, notes)?;
    let final_response =
        fields.take_filled("final_response")?.map(|field| read_content(field, notes)).transpose()?;
    let intermediate_data = match fields.take_filled("intermediate_data")? {
        Some(field) => read_intermediate(field.into_fields()?, notes)?,
        None => IntermediateData::default(),
    };
    let creation_timestamp = fields.take("creation_timestamp")?.map_or(Ok(0.0), Field::into_seconds)?;
    for name in ["duration", "model_duration", "tool_duration"] {
        fields.note_unless_empty(name, NO_TIMES, notes)?;
    }
    fields.note_unless_empty("rubrics", "rubrics need a judge; nothing here reads them", notes)?;
    fields.note_unless_empty("app_details", "only judges read what the app was made of", notes)?;
    fields.note_rest(notes);
    Ok(Invocation { invocation_id, user_content, final_response, intermediate_data, creation_timestamp })
}

fn read_intermediate(mut fields: Fields, notes: &mut Vec<Note>) -> Result<IntermediateData, ImportError> {
    let events = fields.take("invocation_events")?;
    let uses = fields.take("tool_uses")?;
    let responses = fields.take("tool_responses")?;
    let mut data = IntermediateData::default();
    if let Some(events) = events {
        if let Some(field) = uses.or(responses) {
            let remedy = "keep either `invocation_events` or `tool_uses` and `tool_responses`";
            return Err(ImportError::at(field.path(), "stands beside `invocation_events`", remedy));
        }
        for event in events.into_list()? {
            read_event(event.into_fields()?, &mut data, notes)?;
        }
    } else {
        for field in uses.map_or(Ok(Vec::new()), Field::into_list)? {
            data.tool_uses.push(read_call(field, notes)?);
        }
        for field in responses.map_or(Ok(Vec::new()), Field::into_list)? {
            data.tool_responses.push(read_response(field, notes)?);
        }
        fields.note_unless_empty(
            "intermediate_responses",
            "what is said between calls is not compared",
            notes,
        )?;
    }
    fields.note_rest(notes);
    Ok(data)
}

fn read_event(
    mut fields: Fields,
    data: &mut IntermediateData,
    notes: &mut Vec<Note>,
) -> Result<(), ImportError> {
    fields.required("author")?.into_text()?;
    if let Some(content) = fields.take_filled("content")? {
        let path = content.path().to_owned();
        let mut is_more = false;
        for part in read_content(content, notes)?.parts {
            match part.data {
                PartData::FunctionCall(call) => data.tool_uses.push(call),
                PartData::FunctionResponse(response) => data.tool_responses.push(response),
                _ => is_more = true,
            }
        }
        if is_more {
            let why = "only its calls and responses are read; what is said between calls is not compared";
            notes.push(Note { path, why: why.to_owned() });
        }
    }
    fields.note_unless_empty("grounding_metadata", "not compared", notes)?;
    fields.note_unless_empty("usage_metadata", "tokens are not compared", notes)?;
    fields.note_unless_empty("model_version", "not compared", notes)?;
    fields.note_rest(notes);
    Ok(())
}

fn read_content(field: Field, notes: &mut Vec<Note>) -> Result<Content, ImportError> {
    let mut fields = field.into_fields()?;
    let role = fields.take_filled("role")?.map(Field::into_text).transpose()?;
    let parts = fields.take_filled("parts")?.map_or(Ok(Vec::new()), Field::into_list)?;
    fields.note_rest(notes);
    let parts = parts.into_iter().map(|field| read_part(field, notes)).collect::<Result<_, _>>()?;
    Ok(Content { role: role.as_deref().map(Role::from), parts })
}

fn read_part(field: Field, notes: &mut Vec<Note>) -> Result<Part, ImportError> {
    let path = field.path().to_owned();
    let part: Part =
        read(field, "a part holds one of text, function_call, function_response, inline_data, file_data")?;
    note_extra(&part.extra, &PART_FIELDS, &path, notes);
    match &part.data {
        PartData::FunctionCall(call) => note_extra(&call.extra, &[], &below(&path, "function_call"), notes),
        PartData::FunctionResponse(response) => {
            note_extra(&response.extra, &[], &below(&path, "function_response"), notes);
        }
        PartData::InlineData(blob) => {
            note_extra(&blob.extra, &["display_name"], &below(&path, "inline_data"), notes);
        }
        PartData::FileData(file) => {
            note_extra(&file.extra, &["display_name"], &below(&path, "file_data"), notes);
        }
        _ => {}
    }
    Ok(part)
}

fn read_call(field: Field, notes: &mut Vec<Note>) -> Result<FunctionCall, ImportError> {
    let path = field.path().to_owned();
    let call: FunctionCall = read(field, "a call is {\"id\": …, \"name\": …, \"args\": { … }}")?;
    note_extra(&call.extra, &[], &path, notes);
    Ok(call)
}

fn read_response(field: Field, notes: &mut Vec<Note>) -> Result<FunctionResponse, ImportError> {
    let path = field.path().to_owned();
    let remedy =
        "a response is {\"id\": …, \"name\": …, \"response\": { … }}; wrap other values as {\"result\": …}";
    let response: FunctionResponse = read(field, remedy)?;
    note_extra(&response.extra, &[], &path, notes);
    Ok(response)
}

fn read<T: DeserializeOwned>(field: Field, remedy: &str) -> Result<T, ImportError> {
    let path = field.path().to_owned();
    let object = Value::Object(field.into_object()?);
    serde_json::from_value(object).map_err(|error| ImportError::at(path, error.to_string(), remedy))
}

/// Notes fields that the core keeps but nobody acts on.
fn note_extra(extra: &Map<String, Value>, carried: &[&str], path: &str, notes: &mut Vec<Note>) {
    for (key, value) in extra {
        let is_carried = carried.iter().any(|name| key == name || *key == camel_case(name));
        if !is_carried && !value.is_null() {
            notes.push(Note { path: below(path, key), why: "carried along, but not compared".to_owned() });
        }
    }
}
