//! Reading `EvalSet` files in all the forms in which they are about.

mod conversation;
mod fields;
mod legacy;
mod numbers;
mod outline;
mod shape;

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

use crate::eval_set::{EvalSet, pretty};
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
    /// What the file says that is not acted on, and what is dropped of it.
    pub notes: Vec<Note>,
    whole: Value,
}

impl Imported {
    /// The file in the present form, as ADK writes it: with all that it says but what is noted as dropped.
    pub fn to_json(&self) -> String {
        pretty(&self.whole)
    }
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
    /// Whether it is not even kept where the file is written again.
    pub is_dropped: bool,
}

impl Note {
    pub(crate) fn kept(path: impl Into<String>, why: impl Into<String>) -> Self {
        Self { path: path.into(), why: why.into(), is_dropped: false }
    }

    fn dropped(path: impl Into<String>, why: impl Into<String>) -> Self {
        Self { is_dropped: true, ..Self::kept(path, why) }
    }
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
        let (whole, dialect) = match numbers::parse(text, "$", &mut notes)? {
            Value::Array(items) => legacy::read(items, name, &mut notes)?,
            value => (fit_set(value, &mut notes)?, Dialect::EvalSet),
        };
        let set = conversation::read_set(&whole)?;
        let path = |index| match dialect {
            Dialect::EvalSet => format!("$.eval_cases[{index}].eval_id"),
            _ => format!("$[{index}].name"),
        };
        check_ids(set.eval_cases.iter().map(|case| &*case.eval_id), path)?;
        Ok(Imported { set, dialect, notes, whole })
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

/// An eval set that fits ADK's model, in one form.
fn fit_set(value: Value, notes: &mut Vec<Note>) -> Result<Value, ImportError> {
    let has = |name: &str| value.get(name).is_some();
    if !has("eval_cases") && (has("eval_id") || has("evalId")) {
        let remedy = "put it into a set: {\"eval_set_id\": \"my_evals\", \"eval_cases\": [ … ]}";
        return Err(ImportError::at("$", "this is an eval case, not an eval set", remedy));
    }
    shape::fit("EvalSet", value, "$", notes)
}
