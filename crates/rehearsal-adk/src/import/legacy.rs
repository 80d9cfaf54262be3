//! The two lists that `EvalSet` files were before there were `EvalSet`s.
//!
//! `google-adk` 2.13 still reads both, and names what they leave unnamed:
//!
//! - A list of cases (`LocalEvalSetsManager`, `adk eval`): `[{"name", "data": […], "initial_session": {…}}]`. `name` and
//!   `data` are required. `initial_session` may be missing or empty; of it `app_name`, `user_id` (both `""` when
//!   missing) and `state` are read, anything else is passed over. The eval set's id is what the caller knows the file
//!   by: with `adk eval` its path.
//! - A list of queries (`AgentEvaluator` only, for `*.test.json`): `[{"query", …}, …]` is one case of as many
//!   invocations, with the file's path as its id; its initial session comes from a file of its own, not from the list.
//!
//! A query has `query` (required), `expected_tool_use` (default none; each `{"tool_name", "tool_input"}`, both
//! required), `expected_intermediate_agent_responses` (default none; each `{"author", "text"}`) and `reference`
//! (default `""`, which scores 0 against everything). There are no tool responses.

use serde_json::{Map, Value, json};

use super::fields::{Field, Fields};
use super::{Dialect, ImportError, Note};

/// The list in the present form.
pub(super) fn read(
    items: Vec<Value>,
    name: &str,
    notes: &mut Vec<Note>,
) -> Result<(Value, Dialect), ImportError> {
    let mut rows = Vec::new();
    for (index, item) in items.into_iter().enumerate() {
        rows.push(Fields::of(item, format!("$[{index}]"))?);
    }
    let Some(first) = rows.first() else {
        let remedy = "write {\"eval_set_id\": \"my_evals\", \"eval_cases\": [ … ]}";
        return Err(ImportError::at("$", "an empty list is no eval set", remedy));
    };
    let (cases, dialect) = if first.has("query") {
        let invocations = rows.into_iter().map(|row| read_query(row, notes));
        let invocations: Vec<Value> = invocations.collect::<Result<_, _>>()?;
        (vec![json!({"eval_id": name, "conversation": invocations})], Dialect::LegacyQueries)
    } else {
        let cases = rows.into_iter().map(|row| read_case(row, notes)).collect::<Result<_, _>>()?;
        (cases, Dialect::LegacyCases)
    };
    Ok((json!({"eval_set_id": name, "name": name, "eval_cases": cases}), dialect))
}

fn read_case(mut fields: Fields, notes: &mut Vec<Note>) -> Result<Value, ImportError> {
    if !fields.has("data") {
        let remedy =
            "a list of cases has objects with `name` and `data`, a list of queries has objects with `query`";
        return Err(ImportError::at(fields.path(), "has neither `data` nor `query`", remedy));
    }
    let eval_id = fields.required("name")?.into_text()?;
    let rows = fields.required("data")?.into_list()?;
    let invocations = rows.into_iter().map(|row| read_query(row.into_fields()?, notes));
    let invocations: Vec<Value> = invocations.collect::<Result<_, _>>()?;
    let mut case = json!({"eval_id": eval_id, "conversation": invocations});
    if let Some(session) = fields.take("initial_session").filter(|field| !field.is_empty()) {
        case["session_input"] = read_session(session.into_fields()?, notes)?;
    }
    fields.drop_rest(notes);
    Ok(case)
}

fn read_session(mut fields: Fields, notes: &mut Vec<Note>) -> Result<Value, ImportError> {
    let app_name = fields.take("app_name").map_or(Ok(String::new()), Field::into_text)?;
    let user_id = fields.take("user_id").map_or(Ok(String::new()), Field::into_text)?;
    let state = fields.take("state").map_or(Ok(Map::new()), Field::into_object)?;
    fields.drop_rest(notes);
    let mut input = json!({"app_name": app_name, "user_id": user_id});
    if !state.is_empty() {
        input["state"] = Value::Object(state);
    }
    Ok(input)
}

fn read_query(mut fields: Fields, notes: &mut Vec<Note>) -> Result<Value, ImportError> {
    let query = fields.required("query")?.into_text()?;
    let reference = fields.take("reference").map_or(Ok(String::new()), Field::into_text)?;
    let mut data = Map::new();
    let mut uses: Vec<Value> = Vec::new();
    for call in fields.take("expected_tool_use").map_or(Ok(Vec::new()), Field::into_list)? {
        let mut call = call.into_fields()?;
        let name = call.required("tool_name")?.into_text()?;
        let args = call.required("tool_input")?;
        uses.push(if args.is_null() {
            json!({"name": name})
        } else {
            json!({"args": args.into_object()?, "name": name})
        });
        call.drop_rest(notes);
    }
    if !uses.is_empty() {
        data.insert("tool_uses".to_owned(), uses.into());
    }
    if let Some(responses) =
        fields.take("expected_intermediate_agent_responses").filter(|field| !field.is_empty())
    {
        notes.push(Note::kept(responses.path(), "what is said between calls is not compared"));
        let mut said: Vec<Value> = Vec::new();
        for response in responses.into_list()? {
            let mut response = response.into_fields()?;
            let author = response.required("author")?.into_text()?;
            let text = response.required("text")?.into_text()?;
            said.push(json!([author, [{"text": text}]]));
            response.drop_rest(notes);
        }
        data.insert("intermediate_responses".to_owned(), said.into());
    }
    fields.drop_rest(notes);
    Ok(json!({
        "user_content": {"parts": [{"text": query}], "role": "user"},
        "final_response": {"parts": [{"text": reference}], "role": "model"},
        "intermediate_data": data,
    }))
}
