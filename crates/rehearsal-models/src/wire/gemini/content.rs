//! Contents and their parts.

use rehearsal_core::{PartData, Role};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::wire::{Field, WireError, call_ids};

/// One message.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Content {
    /// Who speaks: `user` or `model`.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub role: Field<String>,
    /// What is said, in order.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub parts: Field<Vec<Part>>,
    /// Fields that are not known here.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// One piece of a content.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Part {
    /// Text.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub text: Field<String>,
    /// Bytes carried along.
    #[serde(default, alias = "inline_data", skip_serializing_if = "Field::is_missing")]
    pub inline_data: Field<Blob>,
    /// Bytes kept elsewhere.
    #[serde(default, alias = "file_data", skip_serializing_if = "Field::is_missing")]
    pub file_data: Field<FileData>,
    /// A call the model asks for.
    #[serde(default, alias = "function_call", skip_serializing_if = "Field::is_missing")]
    pub function_call: Field<FunctionCall>,
    /// A tool's response.
    #[serde(default, alias = "function_response", skip_serializing_if = "Field::is_missing")]
    pub function_response: Field<FunctionResponse>,
    /// Whether it is the model's reasoning.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub thought: Field<bool>,
    /// The provider's signature of a thought.
    #[serde(default, alias = "thought_signature", skip_serializing_if = "Field::is_missing")]
    pub thought_signature: Field<String>,
    /// Fields that are not known here.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// Bytes with a type.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Blob {
    /// Such as `image/png`.
    #[serde(default, alias = "mime_type", skip_serializing_if = "Field::is_missing")]
    pub mime_type: Field<String>,
    /// The bytes, in base64.
    #[serde(default)]
    pub data: String,
    /// Fields that are not known here.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// Bytes kept elsewhere.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileData {
    /// Such as `image/png`.
    #[serde(default, alias = "mime_type", skip_serializing_if = "Field::is_missing")]
    pub mime_type: Field<String>,
    /// Where they are.
    #[serde(default, alias = "file_uri")]
    pub file_uri: String,
    /// Fields that are not known here.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// A call the model asks for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FunctionCall {
    /// Joins the call to its response; often left out.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub id: Field<String>,
    /// The tool.
    pub name: String,
    /// The arguments.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub args: Field<Map<String, Value>>,
    /// Fields that are not known here.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// A tool's response.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FunctionResponse {
    /// The id of the call it answers.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub id: Field<String>,
    /// The tool.
    pub name: String,
    /// The result.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub response: Field<Map<String, Value>>,
    /// Fields that are not known here.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl Content {
    /// The texts of the parts, joined by line breaks.
    pub(super) fn plain_text(&self) -> String {
        let parts = self.parts.value().into_iter().flatten();
        parts.filter_map(|part| part.text.value()).map(String::as_str).collect::<Vec<_>>().join("\n")
    }

    /// The content, read.
    pub(super) fn to_core(&self) -> Result<rehearsal_core::Content, WireError> {
        let parts = self.parts.value().into_iter().flatten().map(Part::to_core);
        Ok(rehearsal_core::Content {
            role: self.role.value().map(|role| Role::from(role.as_str())),
            parts: parts.collect::<Result<_, _>>()?,
        })
    }

    /// A content, written.
    pub(super) fn from_core(content: &rehearsal_core::Content) -> Result<Self, WireError> {
        let role = match &content.role {
            None => None,
            Some(Role::Other(role)) if role == "function" || role == "tool" => Some("user"),
            Some(Role::Other(role)) => {
                return Err(WireError::unsupported(format!(
                    "a message has the role `{role}`, for which Gemini's API has no place"
                )));
            }
            Some(role) => Some(role.as_str()),
        };
        let parts: Vec<_> = content.parts.iter().map(Part::from_core).collect();
        Ok(Self { role: role.map(ToOwned::to_owned).into(), parts: parts.into(), extra: Map::new() })
    }

    /// The content as a request may hold it; nothing where nothing is left. The API refuses parts and contents
    /// that are empty, such as what a model says that has nothing to say.
    pub(super) fn without_empty_parts(mut self) -> Option<Self> {
        let parts = self.parts.value_mut()?;
        parts.retain(|part| !part.is_empty());
        (!parts.is_empty()).then_some(self)
    }
}

impl Part {
    /// Whether it says nothing. A signature counts as something: it may come with a text that is empty.
    fn is_empty(&self) -> bool {
        let nothing = Self { thought: self.thought, ..Self::default() };
        *self == nothing || *self == Self { text: "".into(), ..nothing }
    }

    pub(super) fn to_core(&self) -> Result<rehearsal_core::Part, WireError> {
        let mut data = Vec::new();
        data.extend(self.text.value().cloned().map(PartData::Text));
        data.extend(self.inline_data.value().map(|blob| PartData::InlineData(blob.to_core())));
        data.extend(self.file_data.value().map(|file| PartData::FileData(file.to_core())));
        if let Some(call) = self.function_call.value() {
            data.push(PartData::FunctionCall(call.to_core()?));
        }
        data.extend(
            self.function_response.value().map(|response| PartData::FunctionResponse(response.to_core())),
        );
        if data.len() > 1 {
            return Err(WireError::malformed("a part holds two things at once"));
        }
        Ok(rehearsal_core::Part {
            data: data.pop().unwrap_or_default(),
            thought: self.thought.value() == Some(&true),
            thought_signature: self.thought_signature.text().map(ToOwned::to_owned),
            extra: self.extra.clone(),
        })
    }

    pub(super) fn from_core(part: &rehearsal_core::Part) -> Self {
        let mut written = Self {
            thought: part.thought.then_some(true).into(),
            thought_signature: part.thought_signature.clone().into(),
            extra: own(&part.extra),
            ..Self::default()
        };
        match &part.data {
            PartData::Text(text) => written.text = text.clone().into(),
            PartData::InlineData(blob) => written.inline_data = Blob::from_core(blob).into(),
            PartData::FileData(file) => written.file_data = FileData::from_core(file).into(),
            PartData::FunctionCall(call) => written.function_call = FunctionCall::from_core(call).into(),
            PartData::FunctionResponse(response) => {
                written.function_response = FunctionResponse::from_core(response).into();
            }
            _ => {}
        }
        written
    }
}

impl Blob {
    fn to_core(&self) -> rehearsal_core::Blob {
        rehearsal_core::Blob {
            mime_type: self.mime_type.value().cloned(),
            data: self.data.clone(),
            extra: self.extra.clone(),
        }
    }

    fn from_core(blob: &rehearsal_core::Blob) -> Self {
        Self { mime_type: blob.mime_type.clone().into(), data: blob.data.clone(), extra: blob.extra.clone() }
    }
}

impl FileData {
    fn to_core(&self) -> rehearsal_core::FileData {
        rehearsal_core::FileData {
            mime_type: self.mime_type.value().cloned(),
            file_uri: self.file_uri.clone(),
            extra: self.extra.clone(),
        }
    }

    fn from_core(file: &rehearsal_core::FileData) -> Self {
        Self {
            mime_type: file.mime_type.clone().into(),
            file_uri: file.file_uri.clone(),
            extra: file.extra.clone(),
        }
    }
}

impl FunctionCall {
    fn to_core(&self) -> Result<rehearsal_core::FunctionCall, WireError> {
        if ["partialArgs", "partial_args"].iter().any(|key| self.extra.contains_key(*key)) {
            return Err(WireError::malformed(format!(
                "the arguments of the call of `{}` come in pieces, which was not asked for",
                self.name
            )));
        }
        Ok(rehearsal_core::FunctionCall {
            id: call_ids::given(self.id.text()),
            name: self.name.clone(),
            args: self.args.value().cloned().unwrap_or_default(),
            unreadable: None,
            extra: self.extra.clone(),
        })
    }

    fn from_core(call: &rehearsal_core::FunctionCall) -> Self {
        Self {
            id: call.id.as_ref().map(ToString::to_string).into(),
            name: call.name.clone(),
            args: call.args.clone().into(),
            extra: own(&call.extra),
        }
    }
}

impl FunctionResponse {
    fn to_core(&self) -> rehearsal_core::FunctionResponse {
        rehearsal_core::FunctionResponse {
            id: call_ids::given(self.id.text()),
            name: self.name.clone(),
            response: self.response.value().cloned().unwrap_or_default(),
            extra: self.extra.clone(),
        }
    }

    fn from_core(response: &rehearsal_core::FunctionResponse) -> Self {
        Self {
            id: response.id.as_ref().map(ToString::to_string).into(),
            name: response.name.clone(),
            response: response.response.clone().into(),
            extra: own(&response.extra),
        }
    }
}

/// What other APIs noted is theirs; this one refuses fields that it does not know.
fn own(extra: &Map<String, Value>) -> Map<String, Value> {
    let kept = extra.iter().filter(|(key, _)| !matches!(key.as_str(), "openai" | "anthropic"));
    kept.map(|(key, value)| (key.clone(), value.clone())).collect()
}
