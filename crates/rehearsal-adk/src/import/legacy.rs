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

use rehearsal_core::{Content, FunctionCall};
use serde_json::{Map, Value};

use super::fields::{Field, Fields};
use super::{Dialect, ImportError, Note};
use crate::eval_set::{Conversation, EvalCase, EvalSet, IntermediateData, Invocation, SessionInput};

pub(super) fn read(
    items: Vec<Value>,
    name: &str,
    notes: &mut Vec<Note>,
) -> Result<(EvalSet, Dialect), ImportError> {
    let mut rows = Vec::new();
    for (index, item) in items.into_iter().enumerate() {
        rows.push(Fields::of(item, format!("$[{index}]"))?);
    }
    let Some(first) = rows.first() else {
        let remedy = "write {\"eval_set_id\": \"my_evals\", \"eval_cases\": [ … ]}";
        return Err(ImportError::at("$", "an empty list is no eval set", remedy));
    };
    let (eval_cases, dialect) = if first.has("query") {
        let invocations = rows.into_iter().map(|row| read_query(row, notes)).collect::<Result<_, _>>()?;
        (vec![case(name.to_owned(), invocations, None)], Dialect::LegacyQueries)
    } else {
        let cases = rows.into_iter().map(|row| read_case(row, notes)).collect::<Result<_, _>>()?;
        (cases, Dialect::LegacyCases)
    };
    let set = EvalSet {
        eval_set_id: name.to_owned(),
        name: Some(name.to_owned()),
        eval_cases,
        ..EvalSet::default()
    };
    Ok((set, dialect))
}

fn case(eval_id: String, invocations: Vec<Invocation>, session_input: Option<SessionInput>) -> EvalCase {
    EvalCase {
        eval_id,
        conversation: Conversation::Static(invocations),
        session_input,
        creation_timestamp: 0.0,
        final_session_state: Map::new(),
    }
}

fn read_case(mut fields: Fields, notes: &mut Vec<Note>) -> Result<EvalCase, ImportError> {
    if !fields.has("data") {
        let remedy =
            "a list of cases has objects with `name` and `data`, a list of queries has objects with `query`";
        return Err(ImportError::at(fields.path(), "has neither `data` nor `query`", remedy));
    }
    let eval_id = plain(&mut fields, "name")?.into_text()?;
    let rows = plain(&mut fields, "data")?.into_list()?;
    let invocations = rows.into_iter().map(|row| read_query(row.into_fields()?, notes));
    let invocations = invocations.collect::<Result<_, _>>()?;
    let session = fields.take_plain("initial_session").filter(|field| !field.is_empty());
    let session = session.map(|field| read_session(field.into_fields()?, notes)).transpose()?;
    fields.note_rest(notes);
    Ok(case(eval_id, invocations, session))
}

fn read_session(mut fields: Fields, notes: &mut Vec<Note>) -> Result<SessionInput, ImportError> {
    let input = SessionInput {
        app_name: fields.take_plain("app_name").map_or(Ok(String::new()), Field::into_text)?,
        user_id: fields.take_plain("user_id").map_or(Ok(String::new()), Field::into_text)?,
        state: fields.take_plain("state").map_or(Ok(Map::new()), Field::into_object)?,
    };
    fields.note_rest(notes);
    Ok(input)
}

fn read_query(mut fields: Fields, notes: &mut Vec<Note>) -> Result<Invocation, ImportError> {
    let query = plain(&mut fields, "query")?.into_text()?;
    let reference = fields.take_plain("reference").map_or(Ok(String::new()), Field::into_text)?;
    let mut tool_uses = Vec::new();
    let calls = fields.take_plain("expected_tool_use").map_or(Ok(Vec::new()), Field::into_list)?;
    for call in calls {
        let mut call = call.into_fields()?;
        let name = plain(&mut call, "tool_name")?.into_text()?;
        let args = plain(&mut call, "tool_input")?.into_object()?;
        call.note_rest(notes);
        tool_uses.push(FunctionCall { name, args, ..FunctionCall::default() });
    }
    let why = "what is said between calls is not compared";
    fields.note_unless_empty("expected_intermediate_agent_responses", why, notes)?;
    fields.note_rest(notes);
    Ok(Invocation {
        user_content: Content::user(query),
        final_response: Some(Content::model(reference)),
        intermediate_data: IntermediateData { tool_uses, tool_responses: Vec::new() },
        ..Invocation::default()
    })
}

/// A field that has to be there. The older lists know one spelling only.
fn plain(fields: &mut Fields, name: &str) -> Result<Field, ImportError> {
    match fields.take_plain(name) {
        Some(field) => Ok(field),
        None => Err(ImportError::at(
            fields.path(),
            format!("`{name}` is missing"),
            format!("add `\"{name}\": …`"),
        )),
    }
}
