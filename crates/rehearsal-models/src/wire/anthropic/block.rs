//! Blocks, of which messages consist.

use rehearsal_core::{Blob, Content, FileData, FunctionCall, FunctionResponse, Part, PartData, into_object};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::API;
use crate::wire::call_ids::{self, CallIds, ToolNames};
use crate::wire::tagged::tagged;
use crate::wire::{Field, WireError, base64, extra, tool_text};

tagged! {
    /// One block of a message.
    pub enum Block {
        /// Text.
        "text" => Text(TextBlock),
        /// An image.
        "image" => Image(ImageBlock),
        /// The model's reasoning.
        "thinking" => Thinking(ThinkingBlock),
        /// A call the model asks for.
        "tool_use" => ToolUse(ToolUseBlock),
        /// A tool's result.
        "tool_result" => ToolResult(ToolResultBlock),
    }
}

/// A text, or several blocks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum BlockList {
    /// One text.
    Text(String),
    /// Several blocks.
    Blocks(Vec<Block>),
}

/// Text.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TextBlock {
    /// The text.
    pub text: String,
    /// Fields that are not known here, such as `citations`.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// An image.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ImageBlock {
    /// Where it is.
    pub source: ImageSource,
    /// Fields that are not known here.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

tagged! {
    /// Where an image is.
    pub enum ImageSource {
        /// In the message.
        "base64" => Base64(Base64Source),
        /// At an address.
        "url" => Url(UrlSource),
    }
}

/// Bytes in the message.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Base64Source {
    /// Such as `image/png`.
    pub media_type: String,
    /// The bytes, in base64.
    pub data: String,
    /// Fields that are not known here.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// Bytes at an address.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct UrlSource {
    /// The address.
    pub url: String,
    /// Fields that are not known here.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// The model's reasoning.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ThinkingBlock {
    /// The reasoning.
    pub thinking: String,
    /// The provider's signature of it.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub signature: Field<String>,
    /// Fields that are not known here.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// A call the model asks for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolUseBlock {
    /// Joins the call to its result.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments.
    #[serde(default)]
    pub input: Value,
    /// Fields that are not known here.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// A tool's result.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolResultBlock {
    /// The call it answers.
    pub tool_use_id: String,
    /// What it gave.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub content: Field<BlockList>,
    /// Whether the tool failed.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub is_error: Field<bool>,
    /// Fields that are not known here.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl BlockList {
    /// The blocks; a text is one block.
    pub fn blocks(&self) -> Vec<Block> {
        match self {
            Self::Text(text) => vec![Block::text(text)],
            Self::Blocks(blocks) => blocks.clone(),
        }
    }

    /// The texts of the blocks, joined by line breaks.
    pub fn plain_text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Blocks(blocks) => {
                let texts = blocks.iter().filter_map(|block| match block {
                    Block::Text(block) => Some(block.text.as_str()),
                    _ => None,
                });
                texts.collect::<Vec<_>>().join("\n")
            }
        }
    }
}

impl Block {
    /// A block of text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(TextBlock { text: text.into(), extra: Map::new() })
    }

    /// The block, read.
    pub(super) fn to_core(&self, names: &mut ToolNames) -> Part {
        let (part, said) = match self {
            Self::Text(block) => (Part::text(&block.text), &block.extra),
            Self::Image(block) => (image_part(block), &block.extra),
            Self::Thinking(block) => {
                let signature = block.signature.text().map(ToOwned::to_owned);
                (Part { thought_signature: signature, ..Part::thought(&block.thinking) }, &block.extra)
            }
            Self::ToolUse(block) => {
                names.note(&block.id, &block.name);
                (block.to_core().into(), &block.extra)
            }
            Self::ToolResult(block) => (block.to_core(names).into(), &block.extra),
            Self::Other(block) => return noted(Part::default(), block),
        };
        // The API writes `null` for some of what a block does not have; there is nothing to keep in that.
        let said = said.iter().filter(|(_, value)| !value.is_null());
        noted(part, &said.map(|(key, value)| (key.clone(), value.clone())).collect())
    }

    /// A part, written; nothing where the API has no use for it.
    pub(super) fn from_core(part: &Part, ids: &mut CallIds) -> Result<Option<Self>, WireError> {
        let said = extra::noted(&part.extra, API);
        let written = match &part.data {
            PartData::Text(text) if part.thought => match &part.thought_signature {
                Some(signature) => Self::Thinking(ThinkingBlock {
                    thinking: text.clone(),
                    signature: signature.clone().into(),
                    extra: Map::new(),
                }),
                None => return Ok(None),
            },
            PartData::Text(text) => Self::text(text),
            PartData::InlineData(blob) => Self::image(inline_source(blob)?),
            PartData::FileData(file)
                if file.mime_type.as_deref().is_none_or(|mime| mime.starts_with("image/")) =>
            {
                Self::image(ImageSource::Url(UrlSource { url: file.file_uri.clone(), extra: Map::new() }))
            }
            PartData::FunctionCall(call) => Self::ToolUse(ToolUseBlock {
                id: ids.call(call),
                name: call.name.clone(),
                input: Value::Object(call.args.clone()),
                extra: Map::new(),
            }),
            PartData::FunctionResponse(response) => {
                Self::ToolResult(ToolResultBlock::from_core(response, ids.response(response)?)?)
            }
            PartData::Other if said.is_some() => return Ok(said.cloned().map(Self::Other)),
            other => {
                return Err(WireError::unsupported(format!(
                    "messages have no place for {}",
                    shown(other, part)
                )));
            }
        };
        extra::merge(written, said.unwrap_or(&Map::new()), &[]).map(Some)
    }

    fn image(source: ImageSource) -> Self {
        Self::Image(ImageBlock { source, extra: Map::new() })
    }
}

impl ToolUseBlock {
    fn to_core(&self) -> FunctionCall {
        let (args, unreadable) = match &self.input {
            Value::Object(args) => (args.clone(), None),
            Value::Null => (Map::new(), None),
            other => {
                let wrote = rehearsal_core::json::said(other);
                tool_text::unreadable(&wrote, "the arguments are not a JSON object")
            }
        };
        FunctionCall {
            id: call_ids::given(Some(&self.id)),
            name: self.name.clone(),
            args,
            unreadable,
            extra: Map::new(),
        }
    }
}

impl ToolResultBlock {
    fn to_core(&self, names: &ToolNames) -> FunctionResponse {
        let is_error = self.is_error.value() == Some(&true);
        let text = self.content.value().map(BlockList::plain_text).unwrap_or_default();
        let result = tool_text::read_result(&text, if is_error { "error" } else { "result" });
        let mut response = FunctionResponse {
            id: call_ids::given(Some(&self.tool_use_id)),
            name: names.of(&self.tool_use_id),
            response: if self.content.value().is_none() && !is_error { Map::new() } else { result },
            extra: Map::new(),
        };
        if let Some(BlockList::Blocks(blocks)) = self.content.value() {
            // Images and marks inside the blocks would be lost in the text alone.
            let json = serde_json::to_value(blocks).unwrap_or_default();
            extra::note(&mut response.extra, API, &into_object(json, "content"));
        }
        response
    }

    fn from_core(response: &FunctionResponse, id: String) -> Result<Self, WireError> {
        let blocks = extra::noted(&response.extra, API).and_then(|said| said.get("content"));
        let content = match blocks {
            Some(blocks) => {
                rehearsal_core::json::from_value(blocks.clone()).map(BlockList::Blocks).map_err(|error| {
                    WireError::unsupported(format!(
                        "the blocks of the result of `{}` do not fit: {error}",
                        response.name
                    ))
                })?
            }
            None => BlockList::Text(tool_text::write(&response.response)),
        };
        let failed = response.response.len() == 1 && response.response.contains_key("error");
        Ok(Self {
            tool_use_id: id,
            content: content.into(),
            is_error: failed.then_some(true).into(),
            extra: Map::new(),
        })
    }
}

/// The parts of some blocks.
pub(super) fn parts_of(blocks: &[Block], names: &mut ToolNames) -> Vec<Part> {
    blocks.iter().map(|block| block.to_core(names)).collect()
}

/// The blocks of a content. Results come first, since the API wants them at the start of the message.
pub(super) fn blocks_of(content: &Content, ids: &mut CallIds) -> Result<Vec<Block>, WireError> {
    let (results, others): (Vec<&Part>, Vec<&Part>) =
        content.parts.iter().partition(|part| matches!(part.data, PartData::FunctionResponse(_)));
    let mut blocks = Vec::with_capacity(content.parts.len());
    for part in results.into_iter().chain(others).filter(|part| **part != Part::default()) {
        blocks.extend(Block::from_core(part, ids)?);
    }
    // The API refuses empty texts.
    blocks.retain(|block| !matches!(block, Block::Text(text) if text.text.is_empty()));
    Ok(blocks)
}

fn noted(mut part: Part, said: &Map<String, Value>) -> Part {
    extra::note(&mut part.extra, API, said);
    part
}

fn image_part(block: &ImageBlock) -> Part {
    match &block.source {
        ImageSource::Base64(source) => PartData::InlineData(Blob {
            mime_type: Some(source.media_type.clone()),
            data: source.data.clone(),
            extra: Map::new(),
        })
        .into(),
        ImageSource::Url(source) => {
            PartData::FileData(FileData { file_uri: source.url.clone(), ..FileData::default() }).into()
        }
        ImageSource::Other(_) => {
            let whole = serde_json::to_value(Block::Image(block.clone())).unwrap_or_default();
            noted(Part::default(), &into_object(whole, "image"))
        }
    }
}

fn inline_source(blob: &Blob) -> Result<ImageSource, WireError> {
    match blob.mime_type.as_deref() {
        Some(mime) if mime.starts_with("image/") => Ok(ImageSource::Base64(Base64Source {
            media_type: mime.to_owned(),
            data: base64::standard(&blob.data),
            extra: Map::new(),
        })),
        other => Err(WireError::unsupported(format!(
            "of data carried along, only images can be sent, not `{}`",
            other.unwrap_or("data without a type")
        ))),
    }
}

fn shown(data: &PartData, part: &Part) -> String {
    match data {
        PartData::FileData(file) => {
            format!("a file of type `{}`", file.mime_type.as_deref().unwrap_or_default())
        }
        _ => format!("a part with {}", part.extra.keys().cloned().collect::<Vec<_>>().join(", ")),
    }
}
