//! Tool declarations and JSON Schema.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rehearsal_schema::Validator;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

mod exact;
mod genai;
mod plain;
mod usable;
mod work;

use plain::Plain;

pub use genai::{from_genai, to_genai};
pub use usable::Unchecked;

/// What a tool is called, what it is for and what it takes.
///
/// Parameters and output are canonical JSON Schema; [`from_genai`] and [`to_genai`] convert the other form that
/// ADK declarations come in.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolDeclaration {
    /// The name the model calls it by.
    pub name: String,
    /// What it is for, in words for the model.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// JSON Schema of the arguments.
    #[serde(default = "any_object")]
    pub parameters: Value,
    /// JSON Schema of the result, where the tool declares one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
}

impl ToolDeclaration {
    /// A declaration that takes any object.
    pub fn new(name: impl Into<String>, description: impl Into<String>) -> Self {
        Self { name: name.into(), description: description.into(), parameters: any_object(), output: None }
    }

    /// The same declaration with these parameters.
    #[must_use]
    pub fn parameters(mut self, schema: Value) -> Self {
        self.parameters = schema;
        self
    }

    /// The same declaration with this output schema.
    #[must_use]
    pub fn output(mut self, schema: Value) -> Self {
        self.output = Some(schema);
        self
    }
}

fn any_object() -> Value {
    json!({"type": "object"})
}

/// A JSON Schema that values are checked against; compiled on first use.
///
/// ```
/// use rehearsal_core::Schema;
/// use serde_json::json;
///
/// let schema = Schema::new(json!({"type": "object", "properties": {"age": {"type": "integer"}}}));
/// let violations = schema.check(&json!({"age": "old"})).unwrap();
/// assert_eq!(violations[0].to_string(), r#"$.age: "old" is not of type "integer""#);
/// ```
#[derive(Clone)]
pub struct Schema {
    source: Arc<Value>,
    plain: Arc<OnceLock<Option<Plain>>>,
    compiled: Arc<OnceLock<Kept>>,
}

type Compiled = Result<Validator, String>;

/// Why a schema that doubles at each of many levels is not asked.
const TOO_MUCH: &str = "its references and choices multiply so often that checking a value would not end; \
    refer to a part once, or name what tells the choices apart";

/// How many compiled schemas are kept for others of the same text.
const KEPT: usize = 256;

/// Compiles a schema, or gives what was compiled for the same one before: a suite has the same few over and over.
fn compiled(source: &Value) -> Arc<Compiled> {
    static CACHE: Mutex<BTreeMap<String, Arc<Compiled>>> = Mutex::new(BTreeMap::new());
    let key = source.to_string();
    let cache = || CACHE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(found) = cache().get(&key) {
        return found.clone();
    }
    let fresh = Arc::new(Validator::compile(source));
    let mut cache = cache();
    if cache.len() >= KEPT {
        cache.clear();
    }
    cache.insert(key, fresh.clone());
    fresh
}

impl Schema {
    /// A schema, not yet looked at.
    pub fn new(source: impl Into<Arc<Value>>) -> Self {
        Self { source: source.into(), plain: Arc::default(), compiled: Arc::default() }
    }

    /// The schema as JSON.
    pub fn source(&self) -> &Arc<Value> {
        &self.source
    }

    fn plain(&self) -> Option<&Plain> {
        self.plain.get_or_init(|| Plain::of(&self.source)).as_ref()
    }

    /// Whether values can be checked against it at all.
    ///
    /// # Errors
    /// Why not.
    pub fn usability(&self) -> Result<(), InvalidSchema> {
        if self.plain().is_some() {
            return Ok(());
        }
        self.check(&Value::Null).map(drop)
    }

    fn compiled(&self) -> &Kept {
        self.compiled.get_or_init(|| Kept::new(&self.source))
    }

    /// All the ways in which `value` breaks the schema; empty when it satisfies it.
    ///
    /// # Errors
    /// The schema itself is not valid, or it asks so many things of the value that nobody could wait for the answer.
    pub fn check(&self, value: &Value) -> Result<Vec<Violation>, InvalidSchema> {
        if self.plain().is_some_and(|plain| plain.takes(value)) {
            return Ok(Vec::new());
        }
        let compiled = self.compiled();
        if (*compiled.validator).is_ok() && !work::is_bounded(&self.source, value) {
            return Err(InvalidSchema { reason: TOO_MUCH.to_owned() });
        }
        if compiled.has_beyond || exact::has_beyond(value) {
            return self.check_exactly(value);
        }
        violations(&compiled.validator, value)
    }

    /// [`Self::check`] where a number is beyond what the validator knows.
    fn check_exactly(&self, value: &Value) -> Result<Vec<Violation>, InvalidSchema> {
        let labels = exact::Labels::of([&*self.source, value]);
        let mut found = violations(&compiled(&labels.put(&self.source)), &labels.put(value))?;
        for violation in &mut found {
            violation.message = labels.told(std::mem::take(&mut violation.message));
        }
        Ok(found)
    }
}

/// What was compiled of a schema.
struct Kept {
    validator: Arc<Compiled>,
    /// Whether it names a number beyond what validators know.
    has_beyond: bool,
}

impl Kept {
    fn new(source: &Value) -> Self {
        let has_beyond = exact::has_beyond(source);
        Self { validator: compiled(source), has_beyond }
    }
}

fn violations(compiled: &Compiled, value: &Value) -> Result<Vec<Violation>, InvalidSchema> {
    let validator = compiled.as_ref().map_err(|reason| InvalidSchema { reason: reason.clone() })?;
    if validator.is_valid(value) {
        return Ok(Vec::new());
    }
    Ok(validator
        .breaks(value)
        .into_iter()
        .map(|broken| Violation { path: json_path(&broken.pointer), message: broken.message })
        .collect())
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Schema").field(&self.source).finish()
    }
}

impl PartialEq for Schema {
    fn eq(&self, other: &Self) -> bool {
        self.source == other.source
    }
}

/// One place where a value breaks its schema.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Violation {
    /// Where, as a JSON path: `$.items[2].name`.
    pub path: String,
    /// What is wrong there.
    pub message: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.message)
    }
}

/// A schema that cannot be used.
#[derive(Clone, Debug, thiserror::Error)]
#[error("invalid JSON Schema: {reason}")]
pub struct InvalidSchema {
    /// Why.
    pub reason: String,
}

/// Turns a JSON pointer (`/items/2/name`) into a JSON path (`$.items[2].name`).
fn json_path(pointer: &str) -> String {
    let mut path = String::from("$");
    for token in pointer.split('/').skip(1) {
        let token = token.replace("~1", "/").replace("~0", "~");
        if token.bytes().all(|byte| byte.is_ascii_digit()) && !token.is_empty() {
            path.push('[');
            path.push_str(&token);
            path.push(']');
        } else if token.chars().all(|c| c.is_alphanumeric() || c == '_') && !token.is_empty() {
            path.push('.');
            path.push_str(&token);
        } else {
            let _ = write!(path, "[{}]", Value::from(token));
        }
    }
    path
}

/// Copies the members of `from` that `keys` name.
fn pick(from: &Map<String, Value>, keys: &[&str]) -> Map<String, Value> {
    keys.iter().filter_map(|key| Some(((*key).to_owned(), from.get(*key)?.clone()))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn violations_say_where() {
        let schema = Schema::new(json!({
            "type": "object",
            "properties": {"items": {"type": "array", "items": {"type": "object", "required": ["name"]}}}
        }));
        let violations = schema.check(&json!({"items": [{"name": 1}, {}]})).unwrap();
        assert_eq!(violations.len(), 1);
        assert_eq!(violations[0].path, "$.items[1]");
    }

    #[test]
    fn an_invalid_schema_is_an_error_not_a_pass() {
        assert!(Schema::new(json!({"type": "wishful"})).check(&json!(1)).is_err());
    }

    #[test]
    fn whole_numbers_of_any_size_are_checked_exactly() {
        let read = |text: &str| -> Value { crate::json::from_str(text).unwrap() };
        let check = |schema: &str, value: &str| Schema::new(read(schema)).check(&read(value)).unwrap();
        let odd = "18446744073709551617";
        for schema in [
            r#"{"type": "integer"}"#,
            r#"{"type": "number", "minimum": 18446744073709551617}"#,
            r#"{"const": 18446744073709551617}"#,
            r#"{"enum": [1, 18446744073709551617]}"#,
            r#"{"exclusiveMinimum": 18446744073709551616, "exclusiveMaximum": 18446744073709551618}"#,
        ] {
            assert_eq!(check(schema, odd), [], "{schema}");
        }
        for schema in [
            r#"{"type": "string"}"#,
            r#"{"type": ["string", "null"]}"#,
            r#"{"maximum": 18446744073709551616}"#,
            r#"{"const": 18446744073709551616}"#,
            r#"{"const": 18446744073709551616.0}"#,
            r#"{"enum": [18446744073709551615, 18446744073709551618]}"#,
            r#"{"maximum": 5}"#,
        ] {
            let found = check(schema, odd);
            assert_eq!(found.len(), 1, "{schema}");
            assert!(!found[0].message.contains("e19"), "{}", found[0]);
        }
        let below = "-99999999999999999999999";
        assert_eq!(check(r#"{"maximum": -99999999999999999999998, "type": "integer"}"#, below), []);
        assert_eq!(check(r#"{"minimum": -99999999999999999999998}"#, below).len(), 1);
        let huge = "9".repeat(400);
        assert_eq!(check(r#"{"type": "integer", "minimum": 18446744073709551617}"#, &huge), []);
        assert_eq!(check(r#"{"uniqueItems": true}"#, "[18446744073709551617, 18446744073709551618]"), []);
        assert_eq!(check(r#"{"uniqueItems": true}"#, &format!("[{odd}, {odd}]")).len(), 1);
    }

    #[test]
    fn odd_names_are_quoted_in_paths() {
        assert_eq!(json_path("/a~1b/0/c d"), r#"$["a/b"][0]["c d"]"#);
    }
}
