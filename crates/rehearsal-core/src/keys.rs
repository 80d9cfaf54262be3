//! Tables of keys: what a map in a file may hold.
//!
//! A map is described once, as a table of [`Key`]s. What reads it, the JSON Schema for editors and the page of reference
//! come from that table, so that they cannot differ. [`Given`] hands the values to whoever makes something of them, and
//! takes what is wrong with them beyond their form. What no table can say, such as two keys that cannot stand together,
//! stands beside it as the rules of a [`Table`].

use serde_json::{Map, Value, json};

use crate::{Schema, json as text};

mod form;

pub use form::{Form, Part, Table};

/// A key of a map: its name, what stands there, whether it must, and what it means in one sentence.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Its name.
    pub name: &'static str,
    /// What stands there.
    pub form: Form,
    /// Whether it must be there.
    pub need: Need,
    /// What it means, in one sentence.
    pub about: &'static str,
}

/// Whether a key must be there.
#[derive(Clone, Copy, Debug)]
pub enum Need {
    /// It must; this line would add it.
    Required(&'static str),
    /// It may be left out.
    Optional,
    /// It may be left out where another key stands in its place, as the rules of the table say; this line would add it.
    Unless(&'static str),
    /// Left out, it is this, written as JSON.
    Default(&'static str),
}

impl Key {
    /// A key that must be there; `example` is a line that would add it.
    pub const fn required(
        name: &'static str,
        form: Form,
        example: &'static str,
        about: &'static str,
    ) -> Self {
        Self { name, form, need: Need::Required(example), about }
    }

    /// A key that may be left out.
    pub const fn optional(name: &'static str, form: Form, about: &'static str) -> Self {
        Self { name, form, need: Need::Optional, about }
    }

    /// A key that must be there unless another stands in its place; `example` is a line that would add it.
    pub const fn unless(name: &'static str, form: Form, example: &'static str, about: &'static str) -> Self {
        Self { name, form, need: Need::Unless(example), about }
    }

    /// A key that is this, as JSON, where it is left out.
    pub const fn or(name: &'static str, form: Form, default: &'static str, about: &'static str) -> Self {
        Self { name, form, need: Need::Default(default), about }
    }

    /// The JSON Schema of what stands there.
    pub fn schema(&self) -> Value {
        let mut schema = self.form.schema();
        schema["description"] = self.about.into();
        if let Some(default) = self.default() {
            schema["default"] = default;
        }
        schema
    }

    /// What it is where it is left out.
    pub fn default(&self) -> Option<Value> {
        match self.need {
            Need::Default(default) => text::from_str(default).ok(),
            Need::Required(_) | Need::Optional | Need::Unless(_) => None,
        }
    }
}

/// The JSON Schema of a map with these keys and no others.
pub fn schema(keys: &[Key]) -> Value {
    let mut properties: Map<String, Value> =
        keys.iter().map(|key| (key.name.to_owned(), key.schema())).collect();
    properties.entry("description").or_insert_with(
        || json!({"type": "string", "description": "Why it is there, for readers of the file."}),
    );
    let required: Vec<&str> =
        keys.iter().filter(|key| matches!(key.need, Need::Required(_))).map(|key| key.name).collect();
    let mut schema = json!({"type": "object", "properties": properties, "additionalProperties": false});
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

/// Something that is wrong with values, beyond their form.
#[derive(Clone, Debug, PartialEq)]
pub struct Complaint {
    /// A word for what is wrong, such as `never-true`.
    pub code: &'static str,
    /// Where.
    pub at: At,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub help: Option<String>,
    /// A remark at the place itself.
    pub label: Option<&'static str>,
    /// Whether what is wrong spoils the map; else it only has no effect.
    pub spoils: bool,
}

/// Where something is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// In the map as a whole.
    Whole,
    /// At the name of a key.
    Name(&'static str),
    /// At the value of a key.
    Value(&'static str),
    /// In the list at a key: at the value of a key of the item of this number, from 0.
    Item(&'static str, usize, &'static str),
}

impl Complaint {
    /// Something that has no effect: an error, or a warning in files whose runner drops such things.
    pub fn no_effect(code: &'static str, at: At, message: impl Into<String>) -> Self {
        Self { code, at, message: message.into(), help: None, label: None, spoils: false }
    }

    /// Something without which the map cannot be used.
    pub fn spoils(code: &'static str, at: At, message: impl Into<String>) -> Self {
        Self { spoils: true, ..Self::no_effect(code, at, message) }
    }

    /// With what to do.
    #[must_use]
    pub fn help(self, help: impl Into<String>) -> Self {
        Self { help: Some(help.into()), ..self }
    }
}

/// Where values come from: a file with places, or JSON.
pub trait Source {
    /// The value at a key, of its form; nothing where there is none, or one of another form, which is complained about.
    fn value(&mut self, key: &Key) -> Option<Value>;

    /// Whether the key is there, whatever stands at it.
    fn has(&self, name: &str) -> bool;

    /// Takes what is wrong beyond the form.
    fn complain(&mut self, complaint: Complaint);

    /// Whether the values are of a runner that takes what we refuse.
    fn is_lenient(&self) -> bool {
        false
    }
}

/// The values of a map, by the table of its keys.
pub struct Given<'g> {
    keys: &'static [Key],
    source: &'g mut dyn Source,
}

impl std::fmt::Debug for Given<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Given").field("keys", &self.keys).finish_non_exhaustive()
    }
}

impl<'g> Given<'g> {
    /// The values of a source, by this table.
    pub fn new(keys: &'static [Key], source: &'g mut dyn Source) -> Self {
        Self { keys, source }
    }

    /// The value at a key, or its default.
    ///
    /// # Panics
    /// The table has no such key.
    pub fn value(&mut self, name: &'static str) -> Option<Value> {
        let key = self.keys.iter().find(|key| key.name == name).expect("a table has the keys that are read");
        self.source.value(key).or_else(|| key.default())
    }

    /// A text; empty where there is none.
    pub fn text(&mut self, name: &'static str) -> String {
        self.some_text(name).unwrap_or_default()
    }

    /// A text, where there is one.
    pub fn some_text(&mut self, name: &'static str) -> Option<String> {
        match self.value(name)? {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// Several texts, where there is a list.
    pub fn texts(&mut self, name: &'static str) -> Option<Vec<String>> {
        match self.value(name)? {
            Value::Array(items) => Some(items.into_iter().filter_map(into_text).collect()),
            _ => None,
        }
    }

    /// True or false; false where neither is given.
    pub fn flag(&mut self, name: &'static str) -> bool {
        self.value(name) == Some(Value::Bool(true))
    }

    /// A whole number.
    pub fn whole(&mut self, name: &'static str) -> Option<u64> {
        self.value(name)?.as_u64()
    }

    /// A number.
    pub fn number(&mut self, name: &'static str) -> Option<f64> {
        text::as_f64(&self.value(name)?)
    }

    /// Two whole numbers.
    pub fn pair(&mut self, name: &'static str) -> Option<(u64, u64)> {
        match self.value(name)?.as_array()?.as_slice() {
            [low, high] => Some((low.as_u64()?, high.as_u64()?)),
            _ => None,
        }
    }

    /// A map.
    pub fn map(&mut self, name: &'static str) -> Option<Map<String, Value>> {
        match self.value(name)? {
            Value::Object(fields) => Some(fields),
            _ => None,
        }
    }

    /// The maps of a list.
    pub fn items(&mut self, name: &'static str) -> Option<Vec<Map<String, Value>>> {
        let Value::Array(items) = self.value(name)? else { return None };
        let fields = |item| match item {
            Value::Object(fields) => Some(fields),
            _ => None,
        };
        Some(items.into_iter().filter_map(fields).collect())
    }

    /// Whether a key is there, whatever stands at it.
    pub fn has(&self, name: &str) -> bool {
        self.source.has(name)
    }

    /// Says what is wrong beyond the form.
    pub fn complain(&mut self, complaint: Complaint) {
        self.source.complain(complaint);
    }

    /// Whether the values are of a runner that takes what we refuse.
    pub fn is_lenient(&self) -> bool {
        self.source.is_lenient()
    }
}

fn into_text(value: Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text),
        _ => None,
    }
}

/// Values that are JSON already. What is wrong with their form is found by the schema of their table.
#[derive(Debug)]
pub struct JsonSource {
    values: Map<String, Value>,
    complaints: Vec<Complaint>,
}

impl JsonSource {
    /// Reads something by its table.
    ///
    /// # Errors
    /// All that is wrong with the values.
    pub fn read<T>(
        keys: &'static [Key],
        values: Map<String, Value>,
        read: impl FnOnce(&mut Given<'_>) -> T,
    ) -> Result<T, Vec<String>> {
        let values = Value::Object(values);
        let violations = Schema::new(schema(keys)).check(&values).map_err(|error| vec![error.to_string()])?;
        let Value::Object(values) = values else { return Err(Vec::new()) };
        let mut source = Self { values, complaints: Vec::new() };
        let made = read(&mut Given::new(keys, &mut source));
        let complaints = source.complaints.into_iter().map(|complaint| complaint.message);
        let wrong: Vec<String> = violations.iter().map(ToString::to_string).chain(complaints).collect();
        if wrong.is_empty() { Ok(made) } else { Err(wrong) }
    }
}

impl Source for JsonSource {
    fn value(&mut self, key: &Key) -> Option<Value> {
        let value = self.values.get(key.name)?.clone();
        match key.form {
            Form::Whole(..) => whole(&value),
            Form::Any => Some(value),
            _ => Some(value).filter(|value| !value.is_null()),
        }
    }

    fn has(&self, name: &str) -> bool {
        self.values.contains_key(name)
    }

    fn complain(&mut self, complaint: Complaint) {
        self.complaints.push(complaint);
    }
}

/// A whole number as such, also where it is written as `3.0`.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is whole and in range")]
pub fn whole(value: &Value) -> Option<Value> {
    let float = || text::as_f64(value).filter(|value| value.fract() == 0.0 && (0.0..=1e15).contains(value));
    value.as_u64().or_else(|| float().map(|value| value as u64)).map(Value::from)
}
