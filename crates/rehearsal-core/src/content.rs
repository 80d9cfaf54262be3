//! What is said: content and its parts, as Gemini and the ADK shape them.
//!
//! Reading accepts `camelCase` and `snake_case`; writing gives `snake_case`, as ADK files do. Fields that are
//! not known here are kept and written back.

use serde::de::Error as _;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::CallId;

/// Who speaks a content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// The user, and the results of tools.
    User,
    /// The model.
    Model,
    /// Any other role a framework uses, such as `function`.
    Other(String),
}

impl Role {
    /// The role as it is written.
    pub fn as_str(&self) -> &str {
        match self {
            Self::User => "user",
            Self::Model => "model",
            Self::Other(name) => name,
        }
    }
}

impl From<&str> for Role {
    fn from(name: &str) -> Self {
        match name {
            "user" => Self::User,
            "model" => Self::Model,
            other => Self::Other(other.to_owned()),
        }
    }
}

impl Serialize for Role {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Role {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|name| Self::from(name.as_str()))
    }
}

/// One message: a role and its parts.
///
/// ```
/// use rehearsal_core::Content;
///
/// let said: Content = serde_json::from_str(r#"{"role":"user","parts":[{"text":"hello"}]}"#)?;
/// assert_eq!(said, Content::user("hello"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Content {
    /// Who speaks; some files leave it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    /// What is said, in order.
    #[serde(default, deserialize_with = "null_as_default")]
    pub parts: Vec<Part>,
}

impl Content {
    /// A content with these parts.
    pub fn new(role: Role, parts: Vec<Part>) -> Self {
        Self { role: Some(role), parts }
    }

    /// What a user says.
    pub fn user(text: impl Into<String>) -> Self {
        Self::new(Role::User, vec![Part::text(text)])
    }

    /// What a model says.
    pub fn model(text: impl Into<String>) -> Self {
        Self::new(Role::Model, vec![Part::text(text)])
    }

    /// The spoken text: text parts that are not thoughts, joined by line breaks.
    pub fn text(&self) -> String {
        let mut spoken = String::new();
        for text in self.parts.iter().filter(|part| !part.thought).filter_map(Part::as_text) {
            if !spoken.is_empty() {
                spoken.push('\n');
            }
            spoken.push_str(text);
        }
        spoken
    }

    /// The tool calls, in order.
    pub fn calls(&self) -> impl Iterator<Item = &FunctionCall> {
        self.parts.iter().filter_map(|part| match &part.data {
            PartData::FunctionCall(call) => Some(call),
            _ => None,
        })
    }

    /// The tool responses, in order.
    pub fn responses(&self) -> impl Iterator<Item = &FunctionResponse> {
        self.parts.iter().filter_map(|part| match &part.data {
            PartData::FunctionResponse(response) => Some(response),
            _ => None,
        })
    }
}

/// One piece of a content.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Part {
    /// The piece itself.
    pub data: PartData,
    /// Whether it is the model's reasoning rather than something it says.
    pub thought: bool,
    /// The provider's opaque signature of a thought, base64.
    pub thought_signature: Option<String>,
    /// Fields that are not known here (`executable_code`, `video_metadata`, …), kept as they came.
    pub extra: Map<String, Value>,
}

/// What kind of piece a part is.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum PartData {
    /// Text.
    Text(String),
    /// Bytes carried along.
    InlineData(Blob),
    /// Bytes kept elsewhere.
    FileData(FileData),
    /// A call the model asks for.
    FunctionCall(FunctionCall),
    /// A tool's response.
    FunctionResponse(FunctionResponse),
    /// Nothing known here; see [`Part::extra`].
    #[default]
    Other,
}

impl From<PartData> for Part {
    fn from(data: PartData) -> Self {
        Self { data, ..Self::default() }
    }
}

impl From<FunctionCall> for Part {
    fn from(call: FunctionCall) -> Self {
        PartData::FunctionCall(call).into()
    }
}

impl From<FunctionResponse> for Part {
    fn from(response: FunctionResponse) -> Self {
        PartData::FunctionResponse(response).into()
    }
}

impl Part {
    /// A text part.
    pub fn text(text: impl Into<String>) -> Self {
        PartData::Text(text.into()).into()
    }

    /// A piece of the model's reasoning.
    pub fn thought(text: impl Into<String>) -> Self {
        Self { thought: true, ..Self::text(text) }
    }

    /// A call without an id, as a script or a provider without ids makes it.
    pub fn call(name: impl Into<String>, args: Value) -> Self {
        FunctionCall::new(name, args).into()
    }

    /// The text, if this is a text part.
    pub fn as_text(&self) -> Option<&str> {
        match &self.data {
            PartData::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// A call the model asks for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FunctionCall {
    /// Joins the call to its response; providers may leave it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<CallId>,
    /// The tool.
    #[serde(default, deserialize_with = "null_as_default")]
    pub name: String,
    /// The arguments, always an object.
    #[serde(default, deserialize_with = "null_as_default")]
    pub args: Map<String, Value>,
    /// Why what the model wrote as arguments are none: the tool is not asked, the model is told. The text itself is
    /// the only argument.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unreadable: Option<String>,
    /// Fields that are not known here.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl FunctionCall {
    /// A call without an id. Arguments that are not an object are put under `value`.
    pub fn new(name: impl Into<String>, args: Value) -> Self {
        Self { name: name.into(), args: into_object(args, "value"), ..Self::default() }
    }
}

/// A tool's response to a call.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FunctionResponse {
    /// The id of the call it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<CallId>,
    /// The tool.
    #[serde(default, deserialize_with = "null_as_default")]
    pub name: String,
    /// The result, always an object.
    #[serde(default, deserialize_with = "null_as_default")]
    pub response: Map<String, Value>,
    /// Fields that are not known here.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl FunctionResponse {
    /// A response. A result that is not an object is put under `result`, as the ADK does.
    pub fn new(id: Option<CallId>, name: impl Into<String>, result: Value) -> Self {
        Self { id, name: name.into(), response: into_object(result, "result"), extra: Map::new() }
    }
}

/// Bytes with a type.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Blob {
    /// Such as `image/png`.
    #[serde(default, alias = "mimeType", skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// The bytes in base64, standard or URL-safe, as they came.
    #[serde(default, deserialize_with = "null_as_default")]
    pub data: String,
    /// Fields that are not known here.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// Bytes kept elsewhere.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FileData {
    /// Such as `image/png`.
    #[serde(default, alias = "mimeType", skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// Where they are.
    #[serde(default, alias = "fileUri", deserialize_with = "null_as_default")]
    pub file_uri: String,
    /// Fields that are not known here.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl Serialize for Part {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match &self.data {
            PartData::Text(text) => map.serialize_entry("text", text)?,
            PartData::InlineData(blob) => map.serialize_entry("inline_data", blob)?,
            PartData::FileData(file) => map.serialize_entry("file_data", file)?,
            PartData::FunctionCall(call) => map.serialize_entry("function_call", call)?,
            PartData::FunctionResponse(response) => map.serialize_entry("function_response", response)?,
            PartData::Other => {}
        }
        if self.thought {
            map.serialize_entry("thought", &true)?;
        }
        if let Some(signature) = &self.thought_signature {
            map.serialize_entry("thought_signature", signature)?;
        }
        for (key, value) in &self.extra {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Part {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let fields = Map::<String, Value>::deserialize(deserializer)?;
        let mut part = Self::default();
        for (key, value) in fields {
            if value.is_null() {
                continue;
            }
            match key.as_str() {
                "text" => part.set(PartData::Text(read(&key, value)?))?,
                "inline_data" | "inlineData" => part.set(PartData::InlineData(read(&key, value)?))?,
                "file_data" | "fileData" => part.set(PartData::FileData(read(&key, value)?))?,
                "function_call" | "functionCall" => part.set(PartData::FunctionCall(read(&key, value)?))?,
                "function_response" | "functionResponse" => {
                    part.set(PartData::FunctionResponse(read(&key, value)?))?;
                }
                "thought" => part.thought = read(&key, value)?,
                "thought_signature" | "thoughtSignature" => part.thought_signature = Some(read(&key, value)?),
                _ => {
                    part.extra.insert(key, value);
                }
            }
        }
        Ok(part)
    }
}

impl Part {
    fn set<E: serde::de::Error>(&mut self, data: PartData) -> Result<(), E> {
        if self.data != PartData::Other {
            return Err(E::custom(
                "a part holds one of text, inline_data, file_data, function_call and function_response, this one holds two",
            ));
        }
        self.data = data;
        Ok(())
    }
}

fn read<T: serde::de::DeserializeOwned, E: serde::de::Error>(key: &str, value: Value) -> Result<T, E> {
    serde_json::from_value(value).map_err(|error| E::custom(format!("`{key}`: {error}")))
}

fn null_as_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Option::<T>::deserialize(deserializer).map(Option::unwrap_or_default).map_err(D::Error::custom)
}

/// The value itself where it is an object, else an object that holds it under `key`.
pub fn into_object(value: Value, key: &str) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        Value::Null if key == "value" => Map::new(),
        other => Map::from_iter([(key.to_owned(), other)]),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(input: &Value, output: &Value) {
        let content: Content = serde_json::from_value(input.clone()).unwrap();
        assert_eq!(&serde_json::to_value(&content).unwrap(), output);
        let again: Content = serde_json::from_value(output.clone()).unwrap();
        assert_eq!(again, content);
    }

    #[test]
    fn camel_case_is_read_and_snake_case_written() {
        check(
            &json!({"role": "model", "parts": [{"functionCall": {"id": "c1", "name": "add", "args": {"a": 1}}},
                {"inlineData": {"mimeType": "image/png", "data": "aGk="}, "thoughtSignature": "c2ln"}]}),
            &json!({"role": "model", "parts": [{"function_call": {"id": "c1", "name": "add", "args": {"a": 1}}},
                {"inline_data": {"mime_type": "image/png", "data": "aGk="}, "thought_signature": "c2ln"}]}),
        );
    }

    #[test]
    fn unknown_fields_survive() {
        check(
            &json!({"role": "function", "parts": [{"executable_code": {"code": "1+1"}},
                {"function_call": {"name": "f", "args": {}, "will_continue": true}}]}),
            &json!({"role": "function", "parts": [{"executable_code": {"code": "1+1"}},
                {"function_call": {"name": "f", "args": {}, "will_continue": true}}]}),
        );
    }

    #[test]
    fn nulls_and_missing_fields_are_empty() {
        check(&json!({"parts": null}), &json!({"parts": []}));
        check(
            &json!({"parts": [{"functionCall": {"name": "f", "args": null}, "text": null}]}),
            &json!({"parts": [{"function_call": {"name": "f", "args": {}}}]}),
        );
    }

    #[test]
    fn a_part_cannot_be_two_things() {
        let error = serde_json::from_value::<Part>(json!({"text": "a", "function_call": {"name": "f"}}));
        assert!(error.unwrap_err().to_string().contains("this one holds two"));
    }

    #[test]
    fn spoken_text_leaves_thoughts_out() {
        let content = Content::new(Role::Model, vec![Part::thought("hm"), Part::text("a"), Part::text("b")]);
        assert_eq!(content.text(), "a\nb");
    }

    #[test]
    fn results_that_are_not_objects_are_wrapped() {
        assert_eq!(FunctionResponse::new(None, "f", json!([1])).response["result"], json!([1]));
        assert_eq!(FunctionResponse::new(None, "f", json!({"x": 1})).response["x"], json!(1));
    }
}
