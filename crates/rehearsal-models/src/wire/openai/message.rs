//! Messages, in requests and in responses.

use rehearsal_core::{Blob, Content, FileData, FunctionCall, FunctionResponse, Part, PartData, Role};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{API, Dialect};
use crate::wire::call_ids::{self, CallIds, ToolNames};
use crate::wire::tagged::tagged;
use crate::wire::{Field, WireError, base64, extra, tool_text};

/// One message.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Who speaks: `system`, `developer`, `user`, `assistant`, `tool`.
    pub role: String,
    /// What is said.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub content: Field<MessageContent>,
    /// The model's reasoning, from servers that give it.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub reasoning_content: Field<String>,
    /// What the model says when it refuses.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub refusal: Field<String>,
    /// The calls the model asks for.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub tool_calls: Field<Vec<ToolCall>>,
    /// In a tool's message, the call it answers.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub tool_call_id: Field<String>,
    /// Fields that are not known here.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// What a message says: a text, or parts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum MessageContent {
    /// One text.
    Text(String),
    /// Several parts.
    Parts(Vec<ContentPart>),
}

tagged! {
    /// One part of a message.
    pub enum ContentPart {
        /// Text.
        "text" => Text(TextPart),
        /// An image.
        "image_url" => Image(ImagePart),
        /// What the model said when it refused.
        "refusal" => Refusal(RefusalPart),
    }
}

/// A text part.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TextPart {
    /// The text.
    pub text: String,
    /// Fields that are not known here.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// A refusal part.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RefusalPart {
    /// The text.
    pub refusal: String,
    /// Fields that are not known here.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// An image part.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ImagePart {
    /// Where the image is.
    pub image_url: ImageUrl,
    /// Fields that are not known here.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// Where an image is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ImageUrl {
    /// Its address, or the image itself as a `data:` address.
    pub url: String,
    /// Fields that are not known here, such as `detail`.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// A call the model asks for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Joins the call to its result.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub id: Field<String>,
    /// The kind of call: `function`.
    #[serde(rename = "type", default, skip_serializing_if = "Field::is_missing")]
    pub kind: Field<String>,
    /// The function, for calls of that kind.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub function: Field<FunctionText>,
    /// Fields that are not known here.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// A function's name and its arguments as JSON text.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FunctionText {
    /// The tool.
    pub name: String,
    /// The arguments, as JSON text.
    #[serde(default)]
    pub arguments: String,
    /// Fields that are not known here.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl Message {
    /// A message that says one text.
    pub fn text(role: &str, text: impl Into<String>) -> Self {
        Self { role: role.to_owned(), content: MessageContent::Text(text.into()).into(), ..Self::default() }
    }

    /// What the message says, all of it as text.
    pub(super) fn plain_text(&self) -> String {
        match self.content.value() {
            None => String::new(),
            Some(MessageContent::Text(text)) => text.clone(),
            Some(MessageContent::Parts(parts)) => {
                let texts = parts.iter().filter_map(|part| match part {
                    ContentPart::Text(text) => Some(text.text.as_str()),
                    _ => None,
                });
                texts.collect::<Vec<_>>().join("\n")
            }
        }
    }

    /// The message of a model, read.
    pub(super) fn model_parts(&self) -> Result<Vec<Part>, WireError> {
        let mut parts = Vec::new();
        let reasoning = self.reasoning_content.text();
        if let Some(thought) =
            reasoning.or_else(|| self.extra.get("reasoning")?.as_str().filter(|t| !t.is_empty()))
        {
            parts.push(Part::thought(thought));
        }
        let spoken = self.spoken_parts();
        let calls = self.tool_calls.value().map_or(&[][..], Vec::as_slice);
        // Servers send an empty text beside calls, thoughts and refusals where they mean no text.
        let only_text = calls.is_empty() && parts.is_empty() && self.refusal.text().is_none();
        parts.extend(spoken.into_iter().filter(|part| only_text || part.as_text() != Some("")));
        if let Some(refusal) = self.refusal.text() {
            parts.push(refusal_part(refusal));
        }
        for call in calls {
            parts.push(call.to_core()?.into());
        }
        Ok(parts)
    }

    /// What a message says, read.
    pub(super) fn spoken_parts(&self) -> Vec<Part> {
        match self.content.value() {
            None => Vec::new(),
            Some(MessageContent::Text(text)) => vec![Part::text(text)],
            Some(MessageContent::Parts(parts)) => parts.iter().map(ContentPart::to_core).collect(),
        }
    }

    /// The message of a tool, read.
    pub(super) fn tool_response(&self, names: &ToolNames) -> FunctionResponse {
        let id = self.tool_call_id.text();
        let said = self.extra.get("name").and_then(Value::as_str).map(ToOwned::to_owned);
        FunctionResponse {
            id: call_ids::given(id),
            name: said.unwrap_or_else(|| names.of(id.unwrap_or_default())),
            response: tool_text::read_result(&self.plain_text(), "result"),
            extra: Map::new(),
        }
    }
}

/// The messages that say a content.
pub(super) fn messages_of(
    content: &Content,
    ids: &mut CallIds,
    dialect: Dialect,
) -> Result<Vec<Message>, WireError> {
    match &content.role {
        Some(Role::Model) => {
            let calls = content.calls().map(|call| ids.call(call)).collect();
            Ok(vec![model_message(content, calls, Some(dialect))?])
        }
        Some(Role::Other(role)) if role == "system" || role == "developer" => {
            Ok(vec![Message::text(role, content.text())])
        }
        Some(Role::Other(role)) if role != "function" && role != "tool" => Err(WireError::unsupported(
            format!("a message has the role `{role}`, for which chat completions have no place"),
        )),
        _ => user_messages(content, ids),
    }
}

/// A model's message; `calls` are the ids of its calls. Without a dialect it is a response.
pub(super) fn model_message(
    content: &Content,
    calls: Vec<String>,
    dialect: Option<Dialect>,
) -> Result<Message, WireError> {
    let mut message = Message { role: "assistant".to_owned(), ..Message::default() };
    let (mut texts, mut thoughts, mut refusals) = (Vec::new(), Vec::new(), Vec::new());
    let mut tool_calls = Vec::new();
    let mut ids = calls.into_iter();
    for part in &content.parts {
        match &part.data {
            PartData::Text(text) if part.thought => thoughts.push(text.as_str()),
            PartData::Text(text) if is_refusal(part) => refusals.push(text.as_str()),
            PartData::FunctionCall(call) => {
                let id = ids.next().expect("every call was given an id");
                tool_calls.push(ToolCall::from_core(call, id)?);
            }
            _ => texts.push(part),
        }
    }
    message.content = match (texts.as_slice(), dialect) {
        ([], _) if tool_calls.is_empty() && refusals.is_empty() => MessageContent::Text(String::new()).into(),
        ([], _) => Field::Null,
        // A response's text is one string; only requests may hold parts.
        (_, None) => MessageContent::Text(join_texts(&texts)?).into(),
        ([one], _) if one.extra.is_empty() && one.as_text().is_some() => {
            MessageContent::Text(one.as_text().unwrap_or_default().to_owned()).into()
        }
        (_, Some(_)) => MessageContent::Parts(parts_of(texts)?).into(),
    };
    if !refusals.is_empty() {
        message.refusal = refusals.join("\n").into();
    } else if dialect.is_none() {
        message.refusal = Field::Null;
    }
    if !thoughts.is_empty() && dialect != Some(Dialect::OpenAi) {
        message.reasoning_content = thoughts.join("\n").into();
    }
    if !tool_calls.is_empty() {
        message.tool_calls = tool_calls.into();
    }
    Ok(message)
}

fn join_texts(parts: &[&Part]) -> Result<String, WireError> {
    let texts: Option<Vec<&str>> = parts.iter().map(|part| part.as_text()).collect();
    texts.map(|texts| texts.join("\n")).ok_or_else(|| {
        WireError::unsupported("the answer holds something other than text, thoughts and calls")
    })
}

/// Results become messages of their own and come first, since the API wants them right after the calls.
fn user_messages(content: &Content, ids: &mut CallIds) -> Result<Vec<Message>, WireError> {
    let mut messages = Vec::new();
    for response in content.responses() {
        messages.push(Message {
            tool_call_id: ids.response(response)?.into(),
            ..Message::text("tool", tool_text::write(&response.response))
        });
    }
    let spoken: Vec<&Part> =
        content.parts.iter().filter(|part| !matches!(part.data, PartData::FunctionResponse(_))).collect();
    match spoken.as_slice() {
        [] if !messages.is_empty() => {}
        [] => messages.push(Message::text("user", "")),
        [one] if one.extra.is_empty() && one.as_text().is_some() => {
            messages.push(Message::text("user", one.as_text().unwrap_or_default()));
        }
        _ => messages.push(Message {
            role: "user".to_owned(),
            content: MessageContent::Parts(parts_of(spoken)?).into(),
            ..Message::default()
        }),
    }
    Ok(messages)
}

fn parts_of<'a>(parts: impl IntoIterator<Item = &'a Part>) -> Result<Vec<ContentPart>, WireError> {
    parts.into_iter().map(ContentPart::from_core).collect()
}

impl ContentPart {
    fn to_core(&self) -> Part {
        match self {
            Self::Text(part) => noted(Part::text(&part.text), &part.extra),
            Self::Refusal(part) => refusal_part(&part.refusal),
            Self::Image(part) => {
                let mut said = part.extra.clone();
                if !part.image_url.extra.is_empty() {
                    said.insert("image_url".to_owned(), Value::Object(part.image_url.extra.clone()));
                }
                let url = &part.image_url.url;
                let data = match base64::from_data_url(url) {
                    Some((mime, data)) => PartData::InlineData(Blob {
                        mime_type: Some(mime.to_owned()),
                        data: data.to_owned(),
                        extra: Map::new(),
                    }),
                    None => PartData::FileData(FileData { file_uri: url.clone(), ..FileData::default() }),
                };
                noted(data.into(), &said)
            }
            Self::Other(part) => noted(Part::default(), part),
        }
    }

    fn from_core(part: &Part) -> Result<Self, WireError> {
        let said = extra::noted(&part.extra, API);
        let written = match (&part.data, said) {
            (PartData::Text(text), _) if is_refusal(part) => {
                return Ok(Self::Refusal(RefusalPart { refusal: text.clone(), extra: Map::new() }));
            }
            (PartData::Text(text), _) => Self::Text(TextPart { text: text.clone(), extra: Map::new() }),
            (PartData::InlineData(blob), _) => Self::image(image_url(blob)?),
            (PartData::FileData(file), _) if is_image(file.mime_type.as_deref()) => {
                Self::image(file.file_uri.clone())
            }
            (PartData::Other, Some(said)) => return Ok(Self::Other(said.clone())),
            _ => {
                return Err(WireError::unsupported(format!(
                    "chat completions have no place for {}",
                    shown(part)
                )));
            }
        };
        extra::merge(written, said.unwrap_or(&Map::new()), &[])
    }

    fn image(url: String) -> Self {
        Self::Image(ImagePart { image_url: ImageUrl { url, extra: Map::new() }, extra: Map::new() })
    }
}

impl ToolCall {
    fn to_core(&self) -> Result<FunctionCall, WireError> {
        let Some(function) = self.function.value() else {
            let kind = self.kind.text().unwrap_or("unknown");
            return Err(WireError::malformed(format!("a tool call of kind `{kind}` names no function")));
        };
        let (args, unreadable) = tool_text::read_arguments(&function.arguments);
        let mut call = FunctionCall {
            id: call_ids::given(self.id.text()),
            name: function.name.clone(),
            args,
            unreadable,
            extra: Map::new(),
        };
        extra::note(&mut call.extra, API, &self.extra);
        Ok(call)
    }

    fn from_core(call: &FunctionCall, id: String) -> Result<Self, WireError> {
        let function = FunctionText {
            name: call.name.clone(),
            arguments: tool_text::write(&call.args),
            extra: Map::new(),
        };
        let written =
            Self { id: id.into(), kind: "function".into(), function: function.into(), extra: Map::new() };
        extra::merge(
            written,
            extra::noted(&call.extra, API).unwrap_or(&Map::new()),
            &["id", "type", "function"],
        )
    }
}

fn noted(mut part: Part, said: &Map<String, Value>) -> Part {
    extra::note(&mut part.extra, API, said);
    part
}

fn refusal_part(text: &str) -> Part {
    Part { extra: Map::from_iter([(API.to_owned(), json!({"refusal": true}))]), ..Part::text(text) }
}

pub(super) fn is_refusal(part: &Part) -> bool {
    extra::noted(&part.extra, API).is_some_and(|said| said.get("refusal") == Some(&Value::Bool(true)))
}

fn image_url(blob: &Blob) -> Result<String, WireError> {
    match blob.mime_type.as_deref() {
        Some(mime) if mime.starts_with("image/") => {
            Ok(format!("data:{mime};base64,{}", base64::standard(&blob.data)))
        }
        other => Err(WireError::unsupported(format!(
            "of data carried along, only images can be sent, not `{}`",
            other.unwrap_or("data without a type")
        ))),
    }
}

fn is_image(mime: Option<&str>) -> bool {
    mime.is_none_or(|mime| mime.starts_with("image/"))
}

fn shown(part: &Part) -> String {
    match &part.data {
        PartData::FunctionCall(call) => format!("a call of `{}` outside a model's message", call.name),
        PartData::FileData(file) => {
            format!("a file of type `{}`", file.mime_type.as_deref().unwrap_or_default())
        }
        _ => format!("a part with {}", part.extra.keys().cloned().collect::<Vec<_>>().join(", ")),
    }
}
