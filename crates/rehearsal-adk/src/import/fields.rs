//! Objects of a file, read field by field, so that nothing in them is passed over.

use serde_json::{Map, Value};

use super::{ImportError, Note};
use crate::trace::camel_case;

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

    /// A field in either spelling.
    pub(super) fn take(&mut self, name: &str) -> Result<Option<Field>, ImportError> {
        let camel = camel_case(name);
        let other = (camel != name).then(|| self.take_plain(&camel)).flatten();
        match (self.take_plain(name), other) {
            (Some(field), Some(_)) => {
                Err(ImportError::at(field.path, format!("is there as `{camel}` too"), "keep one of the two"))
            }
            (field, other) => Ok(field.or(other)),
        }
    }

    /// A field in this spelling.
    pub(super) fn take_plain(&mut self, name: &str) -> Option<Field> {
        let value = self.rest.shift_remove(name)?;
        Some(Field { path: below(&self.path, name), value })
    }

    /// A field in either spelling that is not null.
    pub(super) fn take_filled(&mut self, name: &str) -> Result<Option<Field>, ImportError> {
        Ok(self.take(name)?.filter(|field| !field.value.is_null()))
    }

    pub(super) fn required(&mut self, name: &str) -> Result<Field, ImportError> {
        self.take(name)?.ok_or_else(|| self.missing(name))
    }

    /// A field that has to be there in snake case: the top of an `EvalSet` knows no other spelling.
    pub(super) fn snake_only(&mut self, name: &str) -> Result<Field, ImportError> {
        let camel = camel_case(name);
        match self.take_plain(name) {
            Some(field) => Ok(field),
            None if self.has(&camel) => Err(ImportError::at(
                below(&self.path, &camel),
                "the top of an EvalSet has snake_case names only",
                format!("rename it to `{name}`"),
            )),
            None => Err(self.missing(name)),
        }
    }

    fn missing(&self, name: &str) -> ImportError {
        ImportError::at(self.path.clone(), format!("`{name}` is missing"), format!("add `\"{name}\": …`"))
    }

    /// Notes a known field that is not acted on, where it says anything.
    pub(super) fn note_unless_empty(
        &mut self,
        name: &str,
        why: &str,
        notes: &mut Vec<Note>,
    ) -> Result<(), ImportError> {
        if let Some(field) = self.take(name)?
            && !field.is_empty()
        {
            notes.push(Note { path: field.path, why: why.to_owned() });
        }
        Ok(())
    }

    /// Notes everything that was not read.
    pub(super) fn note_rest(self, notes: &mut Vec<Note>) {
        for (key, _) in self.rest {
            notes.push(Note { path: below(&self.path, &key), why: "unknown field".to_owned() });
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

    pub(super) fn into_value(self) -> Value {
        self.value
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
        match self.value {
            Value::String(text) => Ok(text),
            other => Err(unexpected(self.path, &other, "a text", "\"…\"")),
        }
    }

    pub(super) fn into_optional_text(self) -> Result<Option<String>, ImportError> {
        if self.value.is_null() { Ok(None) } else { self.into_text().map(Some) }
    }

    /// Seconds since 1970: a number, or a text that holds one, as ADK takes it.
    pub(super) fn into_seconds(self) -> Result<f64, ImportError> {
        let number = match &self.value {
            Value::Number(number) => number.as_f64(),
            Value::String(text) => text.trim().parse().ok(),
            _ => None,
        };
        number.filter(|number| number.is_finite()).ok_or_else(|| {
            unexpected(self.path, &self.value, "a number of seconds since 1970", "1766500200.0")
        })
    }
}

fn unexpected(path: String, found: &Value, expected: &str, example: &str) -> ImportError {
    let found = match found {
        Value::Null => "null",
        Value::Bool(_) => "a truth value",
        Value::Number(_) => "a number",
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
