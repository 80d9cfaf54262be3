//! What is asked.

use std::sync::Arc;

use rehearsal_core::{Content, ModelRequest, ModelSetup, Role, Settings, ToolDeclaration};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value, json};

use super::block::{Block, BlockList, blocks_of, parts_of};
use super::schema::acceptable;
use crate::wire::call_ids::{CallIds, ToolNames};
use crate::wire::tagged::tagged;
use crate::wire::{Field, WireError, extra, parse};

/// The longest answer, in tokens, where a request does not set one; the API insists on one.
pub const DEFAULT_MAX_TOKENS: u64 = 4096;

/// The version of the API that a request is for, unless it needs an [older one](SAMPLING_VERSION).
pub const VERSION: &str = "2026-10-21";

/// The last version of the API that has `temperature`, `top_p` and `top_k`; later ones refuse requests with them.
pub const SAMPLING_VERSION: &str = "2023-06-01";

/// The body of a request to `v1/messages`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// The model.
    pub model: String,
    /// The longest answer, in tokens.
    pub max_tokens: u64,
    /// The instructions.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub system: Field<BlockList>,
    /// The conversation.
    pub messages: Vec<Message>,
    /// The tools it may call.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub tools: Field<Vec<Tool>>,
    /// Whether it may, must or must not call tools.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub tool_choice: Field<ToolChoice>,
    /// The form of the answer.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub output_config: Field<OutputConfig>,
    /// Randomness of the answer; only in [older versions](SAMPLING_VERSION), and newer models refuse it there too.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub temperature: Field<Number>,
    /// Nucleus sampling; as `temperature`.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub top_p: Field<Number>,
    /// Texts that end the answer.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub stop_sequences: Field<Vec<String>>,
    /// Whether the answer is to come in pieces.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub stream: Field<bool>,
    /// Fields that are not known here.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// One message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Who speaks: `user` or `assistant`.
    pub role: String,
    /// What is said.
    pub content: BlockList,
    /// Fields that are not known here.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// A tool the model may call.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tool {
    /// The kind of tool; `custom`, or missing, for tools that the client runs.
    #[serde(rename = "type", default, skip_serializing_if = "Field::is_missing")]
    pub kind: Field<String>,
    /// The name.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub name: Field<String>,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub description: Field<String>,
    /// JSON Schema of the arguments.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub input_schema: Field<Value>,
    /// Fields that are not known here.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

tagged! {
    /// Whether the model may, must or must not call tools.
    pub enum ToolChoice {
        /// It may.
        "auto" => Auto(ToolChoiceBody),
        /// It must call at least one.
        "any" => Any(ToolChoiceBody),
        /// It must not.
        "none" => None(ToolChoiceBody),
        /// It must call a certain one.
        "tool" => Tool(NamedTool),
    }
}

/// A choice that needs no further word.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolChoiceBody {
    /// Fields that are not known here, such as `disable_parallel_tool_use`.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// The choice of a certain tool.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NamedTool {
    /// The tool.
    pub name: String,
    /// Fields that are not known here, such as `disable_parallel_tool_use`.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// The form of an answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OutputConfig {
    /// What the answer must look like.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub format: Field<Format>,
    /// Fields that are not known here, such as `effort`.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

tagged! {
    /// What an answer must look like.
    pub enum Format {
        /// JSON that satisfies a schema.
        "json_schema" => JsonSchema(JsonSchemaFormat),
    }
}

/// JSON that satisfies a schema.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct JsonSchemaFormat {
    /// The schema.
    pub schema: Value,
    /// Fields that are not known here.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl Request {
    /// Reads a request.
    ///
    /// # Errors
    /// It is not JSON, or not a request.
    pub fn parse(text: &str) -> Result<Self, WireError> {
        parse("not a messages request", text)
    }

    /// Writes what a model is asked.
    ///
    /// # Errors
    /// Something in it has no place in this API, such as a seed, or its extra settings contradict others.
    pub fn from_core(request: &ModelRequest) -> Result<Self, WireError> {
        let setup = &request.setup;
        let settings = &setup.settings;
        if settings.seed.is_some() {
            return Err(WireError::unsupported("the setting `seed` has no place in Anthropic's API"));
        }
        let mut ids = CallIds::of(&request.contents);
        let mut messages = Vec::with_capacity(request.contents.len());
        for content in &request.contents {
            messages.extend(Message::from_core(content, &mut ids)?);
        }
        let tools: Vec<_> = setup.tools.iter().map(|tool| Tool::from_core(tool)).collect();
        let written = Self {
            model: setup.model.clone(),
            max_tokens: settings.max_tokens.unwrap_or(DEFAULT_MAX_TOKENS),
            system: setup.system.clone().map(BlockList::Text).into(),
            messages,
            tools: if tools.is_empty() { Field::Missing } else { tools.into() },
            tool_choice: settings.tool_choice.as_ref().map(ToolChoice::from_core).into(),
            output_config: setup.output_schema.as_deref().map(OutputConfig::from_core).into(),
            temperature: extra::number("temperature", settings.temperature)?,
            top_p: extra::number("top_p", settings.top_p)?,
            stop_sequences: (!settings.stop.is_empty()).then(|| settings.stop.clone()).into(),
            ..Self::default()
        };
        extra::merge(written, &settings.extra, &["model", "messages", "system", "stream"])
    }

    /// The version of the API that this request is for, to be sent as the header `anthropic-version`.
    ///
    /// What is set is sent: a request that sets the temperature is for a version that has one.
    pub fn version(&self) -> &'static str {
        let samples =
            !self.temperature.is_missing() || !self.top_p.is_missing() || self.extra.contains_key("top_k");
        if samples { SAMPLING_VERSION } else { VERSION }
    }

    /// The same request for an answer that comes in pieces.
    #[must_use]
    pub fn streaming(mut self) -> Self {
        self.stream = true.into();
        self
    }

    /// Whether the answer is to come in pieces.
    pub fn is_streaming(&self) -> bool {
        self.stream.value() == Some(&true)
    }

    /// Reads what a model is asked.
    ///
    /// # Errors
    /// A message is not as it should be.
    pub fn to_core(&self) -> Result<ModelRequest, WireError> {
        let mut names = ToolNames::default();
        let mut contents = Vec::with_capacity(self.messages.len());
        for message in &self.messages {
            let role = match message.role.as_str() {
                "assistant" => Role::Model,
                other => Role::from(other),
            };
            contents.push(Arc::new(Content::new(role, parts_of(&message.content.blocks(), &mut names))));
        }
        let (declared, others): (Vec<&Tool>, Vec<&Tool>) =
            self.tools.value().into_iter().flatten().partition(|tool| tool.is_custom());
        let output_schema = self.output_config.value().and_then(|config| match config.format.value() {
            Some(Format::JsonSchema(format)) => Some(Arc::new(format.schema.clone())),
            _ => None,
        });
        let setup = ModelSetup {
            model: self.model.clone(),
            system: self.system.value().map(BlockList::plain_text),
            tools: declared.into_iter().map(|tool| Arc::new(tool.to_core())).collect(),
            output_schema,
            settings: self.settings(&others),
        };
        Ok(ModelRequest { setup: Arc::new(setup), contents })
    }

    fn settings(&self, other_tools: &[&Tool]) -> Settings {
        let mut extra = self.extra.clone();
        if !other_tools.is_empty() {
            extra.insert("tools".to_owned(), json!(other_tools));
        }
        if let Some(config) = self.output_config.value() {
            let mut rest = config.extra.clone();
            if let Some(Format::Other(format)) = config.format.value() {
                rest.insert("format".to_owned(), Value::Object(format.clone()));
            }
            if !rest.is_empty() {
                extra.insert("output_config".to_owned(), Value::Object(rest));
            }
        }
        let tool_choice = self.tool_choice.value().and_then(|choice| {
            let (known, rest) = choice.to_core();
            if !rest.is_empty() {
                extra.insert("tool_choice".to_owned(), Value::Object(rest.clone()));
            }
            known
        });
        Settings {
            temperature: self.temperature.value().and_then(Number::as_f64),
            top_p: self.top_p.value().and_then(Number::as_f64),
            max_tokens: Some(self.max_tokens),
            seed: None,
            stop: self.stop_sequences.value().cloned().unwrap_or_default(),
            tool_choice,
            extra,
        }
    }
}

impl Message {
    /// A content, written; nothing where only unsigned thoughts and empty texts were in it.
    fn from_core(content: &Content, ids: &mut CallIds) -> Result<Option<Self>, WireError> {
        let role = match &content.role {
            Some(Role::Model) => "assistant",
            Some(Role::Other(role)) if role == "system" => "system",
            Some(Role::Other(role)) if role != "function" && role != "tool" => {
                return Err(WireError::unsupported(format!(
                    "a message has the role `{role}`, for which messages have no place"
                )));
            }
            _ => "user",
        };
        let blocks = blocks_of(content, ids)?;
        let content = match blocks.as_slice() {
            [] => return Ok(None),
            [Block::Text(block)] if block.extra.is_empty() => BlockList::Text(block.text.clone()),
            _ => BlockList::Blocks(blocks),
        };
        Ok(Some(Self { role: role.to_owned(), content, extra: Map::new() }))
    }
}

impl Tool {
    fn from_core(tool: &ToolDeclaration) -> Self {
        Self {
            name: tool.name.clone().into(),
            description: (!tool.description.is_empty()).then(|| tool.description.clone()).into(),
            input_schema: tool.parameters.clone().into(),
            ..Self::default()
        }
    }

    fn is_custom(&self) -> bool {
        matches!(self.kind.text(), None | Some("custom"))
    }

    fn to_core(&self) -> ToolDeclaration {
        let name = self.name.text().unwrap_or_default();
        let tool = ToolDeclaration::new(name, self.description.text().unwrap_or_default());
        match self.input_schema.value() {
            Some(schema) => tool.parameters(schema.clone()),
            None => tool,
        }
    }
}

impl ToolChoice {
    fn from_core(choice: &rehearsal_core::ToolChoice) -> Self {
        match choice {
            rehearsal_core::ToolChoice::Auto => Self::Auto(ToolChoiceBody::default()),
            rehearsal_core::ToolChoice::Required => Self::Any(ToolChoiceBody::default()),
            rehearsal_core::ToolChoice::None => Self::None(ToolChoiceBody::default()),
            rehearsal_core::ToolChoice::Tool(name) => {
                Self::Tool(NamedTool { name: name.clone(), extra: Map::new() })
            }
        }
    }

    fn to_core(&self) -> (Option<rehearsal_core::ToolChoice>, &Map<String, Value>) {
        match self {
            Self::Auto(body) => (Some(rehearsal_core::ToolChoice::Auto), &body.extra),
            Self::Any(body) => (Some(rehearsal_core::ToolChoice::Required), &body.extra),
            Self::None(body) => (Some(rehearsal_core::ToolChoice::None), &body.extra),
            Self::Tool(body) => (Some(rehearsal_core::ToolChoice::Tool(body.name.clone())), &body.extra),
            Self::Other(whole) => (None, whole),
        }
    }
}

impl OutputConfig {
    fn from_core(schema: &Value) -> Self {
        let format = Format::JsonSchema(JsonSchemaFormat { schema: acceptable(schema), extra: Map::new() });
        Self { format: format.into(), extra: Map::new() }
    }
}
