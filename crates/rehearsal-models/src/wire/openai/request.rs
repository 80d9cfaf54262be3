//! What is asked.

use std::sync::Arc;

use rehearsal_core::{Content, ModelRequest, ModelSetup, Part, Role, Settings, ToolDeclaration};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value, json};

use super::message::{Message, messages_of};
use crate::wire::call_ids::{CallIds, ToolNames};
use crate::wire::tagged::tagged;
use crate::wire::{Field, WireError, extra, parse};

/// Which server a request is written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// OpenAI's own: `max_completion_tokens`, and no place for the thoughts of earlier turns.
    OpenAi,
    /// A compatible server: `max_tokens`, and thoughts as `reasoning_content`.
    Compatible,
}

/// The body of a request to `chat/completions`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// The model.
    pub model: String,
    /// The conversation, instructions first.
    pub messages: Vec<Message>,
    /// The tools it may call.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub tools: Field<Vec<Tool>>,
    /// Whether it may, must or must not call tools.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub tool_choice: Field<ToolChoice>,
    /// The form of the answer.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub response_format: Field<ResponseFormat>,
    /// Randomness of the answer.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub temperature: Field<Number>,
    /// Nucleus sampling.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub top_p: Field<Number>,
    /// The longest answer, as compatible servers name it.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub max_tokens: Field<u64>,
    /// The longest answer, as OpenAI names it.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub max_completion_tokens: Field<u64>,
    /// A seed.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub seed: Field<i64>,
    /// Texts that end the answer.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub stop: Field<Stop>,
    /// Whether the answer is to come in pieces.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub stream: Field<bool>,
    /// How it is to come in pieces.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub stream_options: Field<Map<String, Value>>,
    /// Fields that are not known here.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

tagged! {
    /// A tool the model may call.
    pub enum Tool {
        /// A function.
        "function" => Function(FunctionTool),
    }
}

/// A function the model may call.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FunctionTool {
    /// The function.
    pub function: Function,
    /// Fields that are not known here.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// What a function is called, what it is for and what it takes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Function {
    /// The name.
    pub name: String,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub description: Field<String>,
    /// JSON Schema of the arguments.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub parameters: Field<Value>,
    /// Fields that are not known here, such as `strict`.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// Whether the model may, must or must not call tools.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ToolChoice {
    /// `auto`, `required` or `none`.
    Mode(String),
    /// A certain tool, or a choice that is not known here.
    Named(Map<String, Value>),
}

/// One text that ends the answer, or several.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Stop {
    /// One.
    One(String),
    /// Several.
    Many(Vec<String>),
}

tagged! {
    /// The form of an answer.
    pub enum ResponseFormat {
        /// JSON that satisfies a schema.
        "json_schema" => JsonSchema(JsonSchemaFormat),
    }
}

/// JSON that satisfies a schema.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct JsonSchemaFormat {
    /// The schema and its name.
    pub json_schema: JsonSchema,
    /// Fields that are not known here.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// A schema and its name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct JsonSchema {
    /// The name.
    pub name: String,
    /// The schema.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub schema: Field<Value>,
    /// Whether the server must hold the model to the schema.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub strict: Field<bool>,
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
        parse("not a chat completions request", text)
    }

    /// Writes what a model is asked.
    ///
    /// # Errors
    /// Something in it has no place in this API, or its extra settings contradict others.
    pub fn from_core(request: &ModelRequest, dialect: Dialect) -> Result<Self, WireError> {
        let setup = &request.setup;
        let settings = &setup.settings;
        let mut messages = Vec::with_capacity(request.contents.len() + 1);
        if let Some(system) = &setup.system {
            messages.push(Message::text("system", system));
        }
        let mut ids = CallIds::of(&request.contents);
        for content in &request.contents {
            messages.extend(messages_of(content, &mut ids, dialect)?);
        }
        let tools: Vec<_> = setup.tools.iter().map(|tool| Tool::from_core(tool)).collect();
        let mut written = Self {
            model: setup.model.clone(),
            messages,
            tools: if tools.is_empty() { Field::Missing } else { tools.into() },
            tool_choice: settings.tool_choice.as_ref().map(ToolChoice::from_core).into(),
            response_format: setup.output_schema.as_deref().map(ResponseFormat::from_core).into(),
            temperature: extra::number("temperature", settings.temperature)?,
            top_p: extra::number("top_p", settings.top_p)?,
            seed: settings.seed.into(),
            stop: if settings.stop.is_empty() {
                Field::Missing
            } else {
                Stop::Many(settings.stop.clone()).into()
            },
            ..Self::default()
        };
        match dialect {
            Dialect::OpenAi => written.max_completion_tokens = settings.max_tokens.into(),
            Dialect::Compatible => written.max_tokens = settings.max_tokens.into(),
        }
        extra::refuse_many_answers("n", settings.extra.get("n"))?;
        extra::merge(written, &settings.extra, &["model", "messages", "stream"])
    }

    /// The same request for an answer that comes in pieces and says at the end what it cost.
    #[must_use]
    pub fn streaming(mut self) -> Self {
        self.stream = true.into();
        let options = self.stream_options.get_or_insert_default();
        options.entry("include_usage").or_insert(Value::Bool(true));
        self
    }

    /// Whether the answer is to come in pieces.
    pub fn is_streaming(&self) -> bool {
        self.stream.value() == Some(&true)
    }

    /// Whether a streamed answer is to say at its end what it cost.
    pub fn includes_usage(&self) -> bool {
        self.stream_options.value().and_then(|options| options.get("include_usage"))
            == Some(&Value::Bool(true))
    }

    /// Reads what a model is asked.
    ///
    /// # Errors
    /// A call's arguments are not JSON, or a message has a role that is not known.
    pub fn to_core(&self) -> Result<ModelRequest, WireError> {
        let leading = self.messages.iter().take_while(|message| is_instruction(message)).count();
        let instructions: Vec<_> = self.messages[..leading].iter().map(Message::plain_text).collect();
        let (tools, other_tools) = self.split_tools();
        let setup = ModelSetup {
            model: self.model.clone(),
            system: (leading > 0).then(|| instructions.join("\n\n")),
            tools,
            output_schema: self.output_schema(),
            settings: self.settings(other_tools),
        };
        Ok(ModelRequest { setup: Arc::new(setup), contents: contents_of(&self.messages[leading..])? })
    }

    fn split_tools(&self) -> (Vec<Arc<ToolDeclaration>>, Vec<Value>) {
        let (mut tools, mut others) = (Vec::new(), Vec::new());
        for tool in self.tools.value().into_iter().flatten() {
            match tool {
                Tool::Function(tool) => tools.push(Arc::new(tool.function.to_core())),
                Tool::Other(other) => others.push(Value::Object(other.clone())),
            }
        }
        (tools, others)
    }

    fn output_schema(&self) -> Option<Arc<Value>> {
        match self.response_format.value()? {
            ResponseFormat::JsonSchema(format) => format.json_schema.schema.value().cloned().map(Arc::new),
            ResponseFormat::Other(_) => None,
        }
    }

    fn settings(&self, other_tools: Vec<Value>) -> Settings {
        let mut extra = self.extra.clone();
        if !other_tools.is_empty() {
            extra.insert("tools".to_owned(), Value::Array(other_tools));
        }
        if let Some(ResponseFormat::Other(format)) = self.response_format.value() {
            extra.insert("response_format".to_owned(), Value::Object(format.clone()));
        }
        let tool_choice = self.tool_choice.value().and_then(|choice| {
            let known = choice.to_core();
            if known.is_none() {
                extra.insert("tool_choice".to_owned(), json!(choice));
            }
            known
        });
        Settings {
            temperature: self.temperature.value().and_then(Number::as_f64),
            top_p: self.top_p.value().and_then(Number::as_f64),
            max_tokens: self.max_completion_tokens.value().or(self.max_tokens.value()).copied(),
            seed: self.seed.value().copied(),
            stop: match self.stop.value() {
                None => Vec::new(),
                Some(Stop::One(text)) => vec![text.clone()],
                Some(Stop::Many(texts)) => texts.clone(),
            },
            tool_choice,
            extra,
        }
    }
}

fn is_instruction(message: &Message) -> bool {
    matches!(message.role.as_str(), "system" | "developer")
}

/// Reads the conversation. Results that follow each other belong to one turn, so they become one content.
fn contents_of(messages: &[Message]) -> Result<Vec<Arc<Content>>, WireError> {
    let mut names = ToolNames::default();
    let mut contents: Vec<Content> = Vec::with_capacity(messages.len());
    let mut after_tool = false;
    for message in messages {
        let is_tool = message.role == "tool";
        match message.role.as_str() {
            "assistant" => {
                let content = Content::new(Role::Model, message.model_parts()?);
                for call in content.calls() {
                    names.note(call.id.as_ref().map_or("", |id| id.as_str()), &call.name);
                }
                contents.push(content);
            }
            "tool" => {
                let part = Part::from(message.tool_response(&names));
                match contents.last_mut() {
                    Some(last) if after_tool => last.parts.push(part),
                    _ => contents.push(Content::new(Role::User, vec![part])),
                }
            }
            "user" => contents.push(Content::new(Role::User, message.spoken_parts())),
            "system" | "developer" => {
                contents.push(Content::new(Role::from(message.role.as_str()), message.spoken_parts()));
            }
            other => return Err(WireError::unsupported(format!("a message has the role `{other}`"))),
        }
        after_tool = is_tool;
    }
    Ok(contents.into_iter().map(Arc::new).collect())
}

impl Tool {
    fn from_core(tool: &ToolDeclaration) -> Self {
        let description = (!tool.description.is_empty()).then(|| tool.description.clone());
        let function = Function {
            name: tool.name.clone(),
            description: description.into(),
            parameters: tool.parameters.clone().into(),
            extra: Map::new(),
        };
        Self::Function(FunctionTool { function, extra: Map::new() })
    }
}

impl Function {
    fn to_core(&self) -> ToolDeclaration {
        let tool = ToolDeclaration::new(&self.name, self.description.text().unwrap_or_default());
        match self.parameters.value() {
            Some(schema) => tool.parameters(schema.clone()),
            None => tool,
        }
    }
}

impl ToolChoice {
    fn from_core(choice: &rehearsal_core::ToolChoice) -> Self {
        let mode = match choice {
            rehearsal_core::ToolChoice::Auto => "auto",
            rehearsal_core::ToolChoice::Required => "required",
            rehearsal_core::ToolChoice::None => "none",
            rehearsal_core::ToolChoice::Tool(name) => {
                let named =
                    [("type".to_owned(), json!("function")), ("function".to_owned(), json!({"name": name}))];
                return Self::Named(Map::from_iter(named));
            }
        };
        Self::Mode(mode.to_owned())
    }

    fn to_core(&self) -> Option<rehearsal_core::ToolChoice> {
        match self {
            Self::Mode(mode) => match mode.as_str() {
                "auto" => Some(rehearsal_core::ToolChoice::Auto),
                "required" => Some(rehearsal_core::ToolChoice::Required),
                "none" => Some(rehearsal_core::ToolChoice::None),
                _ => None,
            },
            Self::Named(choice) => {
                let name = choice.get("function")?.get("name")?.as_str()?;
                Some(rehearsal_core::ToolChoice::Tool(name.to_owned()))
            }
        }
    }
}

impl ResponseFormat {
    /// Not strict: a strict schema may use only a part of JSON Schema, and ours may use all of it. The answer is
    /// checked against it here anyway.
    fn from_core(schema: &Value) -> Self {
        Self::JsonSchema(JsonSchemaFormat {
            json_schema: JsonSchema {
                name: "output".to_owned(),
                schema: schema.clone().into(),
                strict: false.into(),
                extra: Map::new(),
            },
            extra: Map::new(),
        })
    }
}
