//! Reading `EvalSet` files in all the forms in which they are about.

mod conversation;
mod fields;
mod legacy;
mod numbers;
mod outline;

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

use crate::eval_set::{Conversation, ConversationScenario, EvalCase, EvalSet, SessionInput};
use fields::{Field, Fields};
pub(crate) use outline::{Outline, items};

/// The longest file that is read as values, which may take several times as much memory. Adding a case to a file has no
/// such bound.
pub const MAX_BYTES: usize = 1 << 30;

/// An `EvalSet` that was read from a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    /// What the file holds.
    pub set: EvalSet,
    /// The form it was written in.
    pub dialect: Dialect,
    /// What the file says that is not acted on.
    pub notes: Vec<Note>,
}

/// The form of an `EvalSet` file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// An object with `eval_set_id` and `eval_cases`.
    EvalSet,
    /// The older list of cases: `[{"name", "data": [{"query", …}], "initial_session"}]`.
    LegacyCases,
    /// The oldest form, a list of queries that make up one case: `[{"query", "expected_tool_use", "reference"}]`.
    LegacyQueries,
}

/// Something a file says that is not acted on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Where it stands, such as `$.eval_cases[0].rubrics`.
    pub path: String,
    /// Why it is not acted on.
    pub why: String,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.why)
    }
}

/// A file that is not an `EvalSet`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// It is longer than [`MAX_BYTES`].
    #[error(
        "the file is too large: it has {bytes} bytes, and at most {MAX_BYTES} are read\n\nhint: split it into several eval sets"
    )]
    TooLarge {
        /// Its length.
        bytes: u64,
    },
    /// It is not JSON.
    #[error("line {line}, column {column}: {problem}\n\nhint: {remedy}")]
    NotJson {
        /// The line.
        line: usize,
        /// The column.
        column: usize,
        /// What is wrong.
        problem: String,
        /// What to do about it.
        remedy: String,
    },
    /// A value is not what it has to be.
    #[error("{path}: {problem}\n\nhint: {remedy}")]
    At {
        /// Where it stands, such as `$.eval_cases[0].eval_id`.
        path: String,
        /// What is wrong.
        problem: String,
        /// What to do about it.
        remedy: String,
    },
}

impl ImportError {
    fn at(path: impl Into<String>, problem: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::At { path: path.into(), problem: problem.into(), remedy: remedy.into() }
    }
}

impl EvalSet {
    /// Reads an `EvalSet` in any dialect: names in `snake_case` or `camelCase` below the top, intermediate data as lists
    /// of calls and responses or as events, and the two older lists.
    ///
    /// ```
    /// use rehearsal_adk::{Dialect, EvalSet};
    ///
    /// let file = r#"[{"query": "2+2?", "expected_tool_use": [], "reference": "4"}]"#;
    /// let imported = EvalSet::read(file)?;
    /// assert_eq!(imported.dialect, Dialect::LegacyQueries);
    /// assert_eq!(imported.set.eval_cases[0].eval_id, "eval_set");
    /// # Ok::<(), rehearsal_adk::ImportError>(())
    /// ```
    ///
    /// # Errors
    /// The text is not JSON, or not an `EvalSet`. The error says where, and what to do.
    pub fn read(text: &str) -> Result<Imported, ImportError> {
        Self::read_named(text, "eval_set")
    }

    /// Like [`read`](Self::read), with a name for what the older lists leave without one: the eval set, and the case that
    /// a list of queries makes up.
    ///
    /// # Errors
    /// The text is not JSON, or not an `EvalSet`.
    pub fn read_named(text: &str, name: &str) -> Result<Imported, ImportError> {
        if text.len() > MAX_BYTES {
            return Err(ImportError::TooLarge { bytes: text.len() as u64 });
        }
        no_mark(text)?;
        let mut notes = Vec::new();
        let (set, dialect) = match numbers::parse(text, "$", &mut notes)? {
            Value::Array(items) => legacy::read(items, name, &mut notes)?,
            value => (read_set(value, &mut notes)?, Dialect::EvalSet),
        };
        let path = |index| match dialect {
            Dialect::EvalSet => format!("$.eval_cases[{index}].eval_id"),
            _ => format!("$[{index}].name"),
        };
        check_ids(set.eval_cases.iter().map(|case| &*case.eval_id), path)?;
        Ok(Imported { set, dialect, notes })
    }
}

/// Refuses ids that are there twice.
fn check_ids<'i>(
    ids: impl Iterator<Item = &'i str>,
    path: impl Fn(usize) -> String,
) -> Result<(), ImportError> {
    let mut known: BTreeMap<&str, usize> = BTreeMap::new();
    for (index, id) in ids.enumerate() {
        if let Some(first) = known.insert(id, index) {
            let problem = format!("`{id}` is the id of case {first} already");
            let remedy = "give every case an id of its own; `adk eval` runs no such file";
            return Err(ImportError::at(path(index), problem, remedy));
        }
    }
    Ok(())
}

/// JSON, to the letter.
pub(crate) fn parse(text: &str) -> Result<Value, ImportError> {
    no_mark(text)?;
    rehearsal_core::json::from_str(text).map_err(|error| not_json(&error))
}

fn no_mark(text: &str) -> Result<(), ImportError> {
    if !text.starts_with('\u{feff}') {
        return Ok(());
    }
    Err(ImportError::NotJson {
        line: 1,
        column: 1,
        problem: "the file begins with a byte order mark, which ADK refuses".to_owned(),
        remedy: "save it as UTF-8 without a byte order mark".to_owned(),
    })
}

fn not_json(error: &serde_json::Error) -> ImportError {
    ImportError::NotJson {
        line: error.line(),
        column: error.column(),
        problem: format!("not JSON: {error}"),
        remedy: "correct the file; JSON has no comments and no trailing commas".to_owned(),
    }
}

fn read_set(value: Value, notes: &mut Vec<Note>) -> Result<EvalSet, ImportError> {
    let mut fields = Fields::of(value, "$".to_owned())?;
    if !fields.has("eval_cases") && (fields.has("eval_id") || fields.has("evalId")) {
        let remedy = "put it into a set: {\"eval_set_id\": \"my_evals\", \"eval_cases\": [ … ]}";
        return Err(ImportError::at("$", "this is an eval case, not an eval set", remedy));
    }
    let eval_set_id = fields.snake_only("eval_set_id")?.into_text()?;
    let cases = fields.snake_only("eval_cases")?.into_list()?;
    let name = fields.take_plain("name").map(Field::into_optional_text).transpose()?.flatten();
    let description = fields.take_plain("description").map(Field::into_optional_text).transpose()?.flatten();
    let creation_timestamp = fields.take_plain("creation_timestamp").map_or(Ok(0.0), Field::into_seconds)?;
    fields.note_rest(notes);
    let eval_cases = cases.into_iter().map(|field| read_case(field.into_fields()?, notes));
    let eval_cases = eval_cases.collect::<Result<_, _>>()?;
    Ok(EvalSet { eval_set_id, name, description, eval_cases, creation_timestamp })
}

fn read_case(mut fields: Fields, notes: &mut Vec<Note>) -> Result<EvalCase, ImportError> {
    let eval_id = fields.required("eval_id")?.into_text()?;
    let conversation = fields.take_filled("conversation")?;
    let scenario = fields.take_filled("conversation_scenario")?;
    let conversation = match (conversation, scenario) {
        (Some(conversation), None) => {
            let invocations = conversation.into_list()?.into_iter();
            let read = invocations.map(|field| conversation::read_invocation(field.into_fields()?, notes));
            Conversation::Static(read.collect::<Result<_, _>>()?)
        }
        (None, Some(scenario)) => Conversation::Scenario(read_scenario(scenario.into_fields()?, notes)?),
        (found, _) => {
            let what = if found.is_some() { "both" } else { "neither" };
            let problem = format!("has {what} of `conversation` and `conversation_scenario`");
            return Err(ImportError::at(fields.path(), problem, "give exactly one of the two"));
        }
    };
    let session_input = fields.take_filled("session_input")?;
    let session_input =
        session_input.map(|field| read_session_input(field.into_fields()?, notes)).transpose()?;
    let creation_timestamp = fields.take("creation_timestamp")?.map_or(Ok(0.0), Field::into_seconds)?;
    let state = fields.take_filled("final_session_state")?;
    let final_session_state = state.map(Field::into_object).transpose()?.unwrap_or_default();
    fields.note_unless_empty("rubrics", "rubrics need a judge; nothing here reads them", notes)?;
    fields.note_rest(notes);
    Ok(EvalCase { eval_id, conversation, session_input, creation_timestamp, final_session_state })
}

fn read_scenario(mut fields: Fields, notes: &mut Vec<Note>) -> Result<ConversationScenario, ImportError> {
    let scenario = ConversationScenario {
        starting_prompt: fields.required("starting_prompt")?.into_text()?,
        conversation_plan: fields.required("conversation_plan")?.into_text()?,
        user_persona: fields.take_filled("user_persona")?.map(Field::into_value),
    };
    fields.note_rest(notes);
    Ok(scenario)
}

fn read_session_input(mut fields: Fields, notes: &mut Vec<Note>) -> Result<SessionInput, ImportError> {
    let app_name = fields.required("app_name")?.into_text()?;
    let user_id = fields.required("user_id")?.into_text()?;
    let state = fields.take("state")?.map(Field::into_object).transpose()?.unwrap_or_default();
    fields.note_unless_empty("session_id", "sessions get ids of their own", notes)?;
    fields.note_rest(notes);
    Ok(SessionInput { app_name, user_id, state })
}
