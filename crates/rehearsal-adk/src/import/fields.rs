//! Objects of a file, read field by field, so that nothing in them is passed over.

use rehearsal_core::json::as_text;
use serde_json::{Map, Value};

use super::{ImportError, Note};

/// An object of a file and what has not been read of it yet.
pub(super) struct Fields {
    path: String,
    rest: Map<String, Value>,
}

/// A value of a file and where it stands.
pub(super) struct Field {
    path: String,
    value: Value,
}

impl Fields {
    pub(super) fn of(value: Value, path: String) -> Result<Self, ImportError> {
        Field { path, value }.into_fields()
    }

    pub(super) fn path(&self) -> &str {
        &self.path
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.rest.contains_key(name)
    }

    pub(super) fn take(&mut self, name: &str) -> Option<Field> {
        let value = self.rest.shift_remove(name)?;
        Some(Field { path: below(&self.path, name), value })
    }

    pub(super) fn required(&mut self, name: &str) -> Result<Field, ImportError> {
        self.take(name).ok_or_else(|| {
            ImportError::at(&self.path, format!("`{name}` is missing"), format!("add `\"{name}\": …`"))
        })
    }

    /// Notes everything that was not read, which is dropped.
    pub(super) fn drop_rest(self, notes: &mut Vec<Note>) {
        for (key, _) in self.rest {
            notes.push(Note::dropped(below(&self.path, &key), "unknown field, which ADK drops too"));
        }
    }
}

impl Field {
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    pub(super) fn is_empty(&self) -> bool {
        match &self.value {
            Value::Null => true,
            Value::Array(items) => items.is_empty(),
            Value::Object(fields) => fields.is_empty(),
            _ => false,
        }
    }

    pub(super) fn is_null(&self) -> bool {
        self.value.is_null()
    }

    pub(super) fn into_fields(self) -> Result<Fields, ImportError> {
        let path = self.path.clone();
        Ok(Fields { rest: self.into_object()?, path })
    }

    pub(super) fn into_object(self) -> Result<Map<String, Value>, ImportError> {
        match self.value {
            Value::Object(fields) => Ok(fields),
            other => Err(unexpected(self.path, &other, "an object", "{ … }")),
        }
    }

    /// The items, each with its path.
    pub(super) fn into_list(self) -> Result<Vec<Self>, ImportError> {
        match self.value {
            Value::Array(items) => Ok(items
                .into_iter()
                .enumerate()
                .map(|(index, value)| Self { path: format!("{}[{index}]", self.path), value })
                .collect()),
            other => Err(unexpected(self.path, &other, "a list", "[ … ]")),
        }
    }

    pub(super) fn into_text(self) -> Result<String, ImportError> {
        let is_number = as_text(&self.value).is_none();
        match self.value {
            Value::String(text) if !is_number => Ok(text),
            other => Err(unexpected(self.path, &other, "a text", "\"…\"")),
        }
    }
}

pub(super) fn unexpected(path: String, found: &Value, expected: &str, example: &str) -> ImportError {
    let found = match found {
        Value::Null => "null",
        Value::Bool(_) => "a truth value",
        Value::Number(_) => "a number",
        Value::String(_) if as_text(found).is_none() => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    };
    ImportError::at(path, format!("expected {expected}, found {found}"), format!("write it as {example}"))
}

/// The path of a field.
pub(super) fn below(path: &str, key: &str) -> String {
    let is_plain =
        !key.is_empty() && key.chars().all(|character| character.is_ascii_alphanumeric() || character == '_');
    if is_plain { format!("{path}.{key}") } else { format!("{path}[{}]", Value::from(key)) }
}
