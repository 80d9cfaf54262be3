//! What is asked.

use std::sync::Arc;

use rehearsal_core::schema::from_genai;
use rehearsal_core::{ModelRequest, ModelSetup, Settings, ToolChoice, ToolDeclaration};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value, json};

use super::content::{Content, Part};
use crate::wire::{Field, WireError, extra, parse};

/// The body of a request to `models/…:generateContent`. The model is part of the address.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Request {
    /// The instructions.
    #[serde(default, alias = "system_instruction", skip_serializing_if = "Field::is_missing")]
    pub system_instruction: Field<Content>,
    /// The conversation.
    pub contents: Vec<Content>,
    /// The tools it may call.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub tools: Field<Vec<Tool>>,
    /// Whether it may, must or must not call tools.
    #[serde(default, alias = "tool_config", skip_serializing_if = "Field::is_missing")]
    pub tool_config: Field<ToolConfig>,
    /// How it should answer.
    #[serde(default, alias = "generation_config", skip_serializing_if = "Field::is_missing")]
    pub generation_config: Field<GenerationConfig>,
    /// Fields that are not known here.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// Tools the model may call.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Tool {
    /// Functions.
    #[serde(default, alias = "function_declarations", skip_serializing_if = "Field::is_missing")]
    pub function_declarations: Field<Vec<FunctionDeclaration>>,
    /// Fields that are not known here, such as `googleSearch`.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// What a function is called, what it is for and what it takes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FunctionDeclaration {
    /// The name.
    pub name: String,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub description: Field<String>,
    /// JSON Schema of the arguments.
    #[serde(default, alias = "parameters_json_schema", skip_serializing_if = "Field::is_missing")]
    pub parameters_json_schema: Field<Value>,
    /// Schema of the arguments, in the API's own form.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub parameters: Field<Value>,
    /// JSON Schema of the result.
    #[serde(default, alias = "response_json_schema", skip_serializing_if = "Field::is_missing")]
    pub response_json_schema: Field<Value>,
    /// Schema of the result, in the API's own form.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub response: Field<Value>,
    /// Fields that are not known here.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// How tools may be called.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolConfig {
    /// How functions may be called.
    #[serde(default, alias = "function_calling_config", skip_serializing_if = "Field::is_missing")]
    pub function_calling_config: Field<FunctionCallingConfig>,
    /// Fields that are not known here.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// How functions may be called.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FunctionCallingConfig {
    /// `AUTO`, `ANY` or `NONE`.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub mode: Field<String>,
    /// The functions that may be called with `ANY`; all of them where it is missing.
    #[serde(default, alias = "allowed_function_names", skip_serializing_if = "Field::is_missing")]
    pub allowed_function_names: Field<Vec<String>>,
    /// Fields that are not known here.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// How the model should answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GenerationConfig {
    /// Randomness of the answer.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub temperature: Field<Number>,
    /// Nucleus sampling.
    #[serde(default, alias = "top_p", skip_serializing_if = "Field::is_missing")]
    pub top_p: Field<Number>,
    /// The longest answer, in tokens.
    #[serde(default, alias = "max_output_tokens", skip_serializing_if = "Field::is_missing")]
    pub max_output_tokens: Field<u64>,
    /// A seed.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub seed: Field<i64>,
    /// Texts that end the answer.
    #[serde(default, alias = "stop_sequences", skip_serializing_if = "Field::is_missing")]
    pub stop_sequences: Field<Vec<String>>,
    /// The type of the answer, such as `application/json`.
    #[serde(default, alias = "response_mime_type", skip_serializing_if = "Field::is_missing")]
    pub response_mime_type: Field<String>,
    /// JSON Schema of the answer.
    #[serde(default, alias = "response_json_schema", skip_serializing_if = "Field::is_missing")]
    pub response_json_schema: Field<Value>,
    /// Schema of the answer, in the API's own form.
    #[serde(default, alias = "response_schema", skip_serializing_if = "Field::is_missing")]
    pub response_schema: Field<Value>,
    /// Fields that are not known here.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// The type of an answer that must satisfy a schema.
const JSON: &str = "application/json";

impl Request {
    /// Reads a request.
    ///
    /// # Errors
    /// It is not JSON, or not a request.
    pub fn parse(text: &str) -> Result<Self, WireError> {
        parse("not a generate content request", text)
    }

    /// Writes what a model is asked.
    ///
    /// # Errors
    /// Something in it has no place in this API, or its extra settings contradict others.
    pub fn from_core(request: &ModelRequest) -> Result<Self, WireError> {
        let setup = &request.setup;
        let settings = &setup.settings;
        let mut contents = Vec::with_capacity(request.contents.len());
        for content in &request.contents {
            contents.extend(Content::from_core(content)?.without_empty_parts());
        }
        let declarations: Vec<_> =
            setup.tools.iter().map(|tool| FunctionDeclaration::from_core(tool)).collect();
        let tools = vec![Tool { function_declarations: declarations.into(), extra: Map::new() }];
        let generation = GenerationConfig::from_core(setup)?;
        let written = Self {
            system_instruction: setup.system.as_deref().map(instruction).into(),
            contents,
            tools: if setup.tools.is_empty() { Field::Missing } else { tools.into() },
            tool_config: settings.tool_choice.as_ref().map(ToolConfig::from_core).into(),
            generation_config: if generation == GenerationConfig::default() {
                Field::Missing
            } else {
                generation.into()
            },
            extra: Map::new(),
        };
        let asked = settings.extra.get("generationConfig").and_then(|config| config.get("candidateCount"));
        extra::refuse_many_answers("generationConfig.candidateCount", asked)?;
        extra::merge(written, &settings.extra, &["contents", "systemInstruction"])
    }

    /// Reads what a model is asked; `model` comes from the address.
    ///
    /// # Errors
    /// A part is not as it should be.
    pub fn to_core(&self, model: &str) -> Result<ModelRequest, WireError> {
        let contents = self.contents.iter().map(|content| content.to_core().map(Arc::new));
        let generation = self.generation_config.value().cloned().unwrap_or_default();
        let tools = self.tools.value().into_iter().flatten();
        let declared = tools.filter_map(|tool| tool.function_declarations.value()).flatten();
        let setup = ModelSetup {
            model: model.to_owned(),
            system: self.system_instruction.value().map(Content::plain_text),
            tools: declared.map(|tool| Arc::new(tool.to_core())).collect(),
            output_schema: generation.schema().map(Arc::new),
            settings: self.settings(&generation),
        };
        Ok(ModelRequest { setup: Arc::new(setup), contents: contents.collect::<Result<_, _>>()? })
    }

    fn settings(&self, generation: &GenerationConfig) -> Settings {
        let mut extra = self.extra.clone();
        let tools = self.tools.value().into_iter().flatten().filter(|tool| !tool.extra.is_empty());
        let others: Vec<_> = tools.map(|tool| Value::Object(tool.extra.clone())).collect();
        if !others.is_empty() {
            extra.insert("tools".to_owned(), Value::Array(others));
        }
        let mut rest = generation.extra.clone();
        if generation.schema().is_none()
            && let Some(mime) = generation.response_mime_type.value()
        {
            rest.insert("responseMimeType".to_owned(), json!(mime));
        }
        if !rest.is_empty() {
            extra.insert("generationConfig".to_owned(), Value::Object(rest));
        }
        let tool_choice = self.tool_config.value().and_then(|config| {
            let (known, rest) = config.to_core();
            if !rest.is_empty() {
                extra.insert("toolConfig".to_owned(), Value::Object(rest));
            }
            known
        });
        Settings {
            temperature: generation.temperature.value().and_then(Number::as_f64),
            top_p: generation.top_p.value().and_then(Number::as_f64),
            max_tokens: generation.max_output_tokens.value().copied(),
            seed: generation.seed.value().copied(),
            stop: generation.stop_sequences.value().cloned().unwrap_or_default(),
            tool_choice,
            extra,
        }
    }
}

fn instruction(text: &str) -> Content {
    let part = Part { text: text.into(), ..Part::default() };
    Content { parts: vec![part].into(), ..Content::default() }
}

impl GenerationConfig {
    fn from_core(setup: &ModelSetup) -> Result<Self, WireError> {
        let settings = &setup.settings;
        Ok(Self {
            temperature: extra::number("temperature", settings.temperature)?,
            top_p: extra::number("top_p", settings.top_p)?,
            max_output_tokens: settings.max_tokens.into(),
            seed: settings.seed.into(),
            stop_sequences: (!settings.stop.is_empty()).then(|| settings.stop.clone()).into(),
            response_mime_type: setup.output_schema.as_ref().map(|_| JSON.to_owned()).into(),
            response_json_schema: setup.output_schema.as_deref().cloned().into(),
            ..Self::default()
        })
    }

    /// The JSON Schema of the answer, whichever way it was given.
    fn schema(&self) -> Option<Value> {
        let own_form = || self.response_schema.value().map(from_genai);
        self.response_json_schema.value().cloned().or_else(own_form)
    }
}

impl FunctionDeclaration {
    fn from_core(tool: &ToolDeclaration) -> Self {
        Self {
            name: tool.name.clone(),
            description: (!tool.description.is_empty()).then(|| tool.description.clone()).into(),
            parameters_json_schema: tool.parameters.clone().into(),
            response_json_schema: tool.output.clone().into(),
            ..Self::default()
        }
    }

    fn to_core(&self) -> ToolDeclaration {
        let mut tool = ToolDeclaration::new(&self.name, self.description.text().unwrap_or_default());
        let own_form = || self.parameters.value().map(from_genai);
        if let Some(schema) = self.parameters_json_schema.value().cloned().or_else(own_form) {
            tool.parameters = schema;
        }
        tool.output =
            self.response_json_schema.value().cloned().or_else(|| self.response.value().map(from_genai));
        tool
    }
}

impl ToolConfig {
    fn from_core(choice: &ToolChoice) -> Self {
        let (mode, allowed) = match choice {
            ToolChoice::Auto => ("AUTO", None),
            ToolChoice::Required => ("ANY", None),
            ToolChoice::None => ("NONE", None),
            ToolChoice::Tool(name) => ("ANY", Some(vec![name.clone()])),
        };
        let calling = FunctionCallingConfig {
            mode: mode.into(),
            allowed_function_names: allowed.into(),
            extra: Map::new(),
        };
        Self { function_calling_config: calling.into(), extra: Map::new() }
    }

    /// The choice, and what the core has no word for.
    fn to_core(&self) -> (Option<ToolChoice>, Map<String, Value>) {
        let mut rest = self.extra.clone();
        let Some(calling) = self.function_calling_config.value() else {
            return (None, rest);
        };
        let allowed = calling.allowed_function_names.value().map_or(&[][..], Vec::as_slice);
        let choice = match (calling.mode.text().map(str::to_ascii_uppercase).as_deref(), allowed) {
            (Some("AUTO"), []) => Some(ToolChoice::Auto),
            (Some("ANY"), []) => Some(ToolChoice::Required),
            (Some("NONE"), []) => Some(ToolChoice::None),
            (Some("ANY"), [one]) => Some(ToolChoice::Tool(one.clone())),
            _ => None,
        };
        let unknown = if choice.is_some() { json!(calling.extra) } else { json!(calling) };
        if unknown.as_object().is_some_and(|unknown| !unknown.is_empty()) {
            rest.insert("functionCallingConfig".to_owned(), unknown);
        }
        (choice, rest)
    }
}
