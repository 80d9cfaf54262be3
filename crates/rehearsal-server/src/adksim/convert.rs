//! Requests and responses of a model, from the wire and onto it.

use std::sync::Arc;

use prost::Message;
use rehearsal_core::{
    Content, FinishReason, ModelRequest, ModelResponse, ModelSetup, Role, Settings, ToolChoice,
    ToolDeclaration, Usage,
};
use serde_json::{Map, Value, json};

use super::genai::candidate::FinishReason as WireFinish;
use super::genai::function_calling_config::Mode;
use super::genai::generate_content_response::UsageMetadata;
use super::genai::part::Data;
use super::genai::{self, GenerateContentRequest, GenerateContentResponse, GenerationConfig};
use super::part::{self, content_from_wire, content_to_wire, non_empty};
use super::schema::{schema_from_wire, schema_to_wire};

/// What the wire puts before the names of models.
const MODELS: &str = "models/";

/// The type of answers that satisfy a schema.
const JSON: &str = "application/json";

/// Bytes that are not what they should be.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the bytes are not a `{expected}` of google.ai.generativelanguage.v1beta")]
pub struct WireError {
    /// What they should be.
    pub expected: &'static str,
    /// Why they are not.
    pub source: prost::DecodeError,
}

/// The core's view of a request.
///
/// # Errors
/// The bytes are not a `GenerateContentRequest`.
pub fn request_from_wire(bytes: &[u8]) -> Result<ModelRequest, WireError> {
    let wire: GenerateContentRequest = decode(bytes, "GenerateContentRequest")?;
    let config = wire.generation_config.unwrap_or_default();
    let tools = wire.tools.into_iter().flat_map(|tool| tool.function_declarations);
    let system = wire.system_instruction.map(|content| content_from_wire(content).text());
    let mut settings = settings_from_wire(&config);
    settings.tool_choice = wire.tool_config.and_then(choice_from_wire);
    if let Some(name) = wire.cached_content {
        settings.extra.insert("cached_content".into(), name.into());
    }
    let setup = ModelSetup {
        model: wire.model.strip_prefix(MODELS).unwrap_or(&wire.model).to_owned(),
        system: system.and_then(non_empty),
        tools: tools.map(declaration_from_wire).map(Arc::new).collect(),
        output_schema: schema_from_wire(config.response_schema, config.response_json_schema).map(Arc::new),
        settings,
    };
    let contents = wire.contents.into_iter().map(content_from_wire).map(Arc::new).collect();
    Ok(ModelRequest { setup: Arc::new(setup), contents })
}

/// The bytes of a request, so that those who read the wire see requests that came another way.
///
/// Whole numbers beyond 2^53 are written as the nearest double, the only kind of number the wire has.
pub fn request_to_wire(request: &ModelRequest) -> Vec<u8> {
    let setup = &*request.setup;
    let declarations: Vec<_> = setup.tools.iter().map(|tool| declaration_to_wire(tool)).collect();
    let config = config_to_wire(setup);
    GenerateContentRequest {
        model: match setup.model.as_str() {
            name if name.is_empty() || name.contains('/') => name.to_owned(),
            name => format!("{MODELS}{name}"),
        },
        contents: request.contents.iter().map(|content| content_to_wire(content)).collect(),
        generation_config: (config != GenerationConfig::default()).then_some(config),
        tools: if declarations.is_empty() {
            Vec::new()
        } else {
            vec![genai::Tool { function_declarations: declarations }]
        },
        tool_config: setup.settings.tool_choice.as_ref().map(choice_to_wire),
        system_instruction: setup.system.as_ref().map(|system| genai::Content {
            parts: vec![genai::Part { data: Some(Data::Text(system.clone())), ..genai::Part::default() }],
            role: String::new(),
        }),
        cached_content: text(&setup.settings.extra, "cached_content"),
    }
    .encode_to_vec()
}

/// The core's view of a response: its first candidate, which is the one that agents go on with.
///
/// # Errors
/// The bytes are not a `GenerateContentResponse`.
pub fn response_from_wire(bytes: &[u8]) -> Result<ModelResponse, WireError> {
    decode(bytes, "GenerateContentResponse").map(response_view)
}

/// The bytes of a response, so that an answer that was given another way reaches those who wait on the wire.
///
/// What the wire cannot carry is left out or changed; [`unsendable`] says beforehand what that would be.
pub fn response_to_wire(response: &ModelResponse) -> Vec<u8> {
    let mut content = content_to_wire(&response.content);
    if content.role.is_empty() {
        Role::Model.as_str().clone_into(&mut content.role);
    }
    let candidate = genai::Candidate {
        content: Some(content),
        finish_reason: finish_to_wire(response.finish.as_ref()).into(),
        ..genai::Candidate::default()
    };
    GenerateContentResponse {
        candidates: vec![candidate],
        usage_metadata: response.usage.map(usage_to_wire),
        model_version: response.model_version.clone().unwrap_or_default(),
        response_id: String::new(),
    }
    .encode_to_vec()
}

/// Everything in a response that would not arrive as it is; empty when all of it does.
///
/// Ask before an answer is taken that somebody on the wire waits for: afterwards nobody can change it.
pub fn unsendable(response: &ModelResponse) -> Vec<String> {
    let mut found = Vec::new();
    part::unsendable(&response.content, &mut found);
    if GenerateContentResponse::decode(&*response_to_wire(response)).is_err() {
        found.push("the values are nested too deeply for the wire; make them flatter".into());
    }
    found
}

/// The core's view of a decision, if it decides something: it has a candidate, and every candidate has a part.
///
/// # Errors
/// Everything that is wrong with it.
pub fn validate_response(bytes: &[u8]) -> Result<ModelResponse, Vec<String>> {
    let wire: GenerateContentResponse = decode(bytes, "GenerateContentResponse")
        .map_err(|error: WireError| vec![format!("{error}: {}", error.source)])?;
    let mut problems = Vec::new();
    if wire.candidates.is_empty() {
        problems.push("a decision needs at least one candidate".to_owned());
    }
    for (index, candidate) in wire.candidates.iter().enumerate() {
        let number = index + 1;
        let parts = candidate.content.as_ref().map_or(&[][..], |content| &content.parts);
        if parts.is_empty() {
            problems.push(format!("candidate {number} needs at least one part: text or a function call"));
        }
        for (index, part) in parts.iter().enumerate() {
            if matches!(&part.data, Some(Data::FunctionCall(call)) if call.name.is_empty()) {
                problems
                    .push(format!("candidate {number}, part {}: a function call needs a name", index + 1));
            }
        }
    }
    if problems.is_empty() { Ok(response_view(wire)) } else { Err(problems) }
}

fn decode<M: Message + Default>(bytes: &[u8], expected: &'static str) -> Result<M, WireError> {
    M::decode(bytes).map_err(|source| WireError { expected, source })
}

fn response_view(wire: GenerateContentResponse) -> ModelResponse {
    let candidate = wire.candidates.into_iter().next().unwrap_or_default();
    let reason = candidate.finish_reason;
    let mut content: Content = candidate.content.map(content_from_wire).unwrap_or_default();
    content.role.get_or_insert(Role::Model);
    ModelResponse {
        finish: finish_from_wire(reason, &content),
        content: Arc::new(content),
        usage: wire.usage_metadata.map(usage_from_wire),
        model_version: non_empty(wire.model_version),
    }
}

fn finish_from_wire(reason: i32, content: &Content) -> Option<FinishReason> {
    let Ok(reason) = WireFinish::try_from(reason) else {
        return Some(FinishReason::Other(format!("FINISH_REASON_{reason}")));
    };
    Some(match reason {
        WireFinish::Unspecified => return None,
        WireFinish::Stop if content.calls().next().is_some() => FinishReason::ToolCalls,
        WireFinish::Stop => FinishReason::Stop,
        WireFinish::MaxTokens => FinishReason::MaxTokens,
        WireFinish::Safety
        | WireFinish::Recitation
        | WireFinish::Blocklist
        | WireFinish::ProhibitedContent
        | WireFinish::Spii
        | WireFinish::ImageSafety => FinishReason::Safety,
        other => FinishReason::Other(other.as_str_name().to_owned()),
    })
}

fn finish_to_wire(finish: Option<&FinishReason>) -> WireFinish {
    match finish {
        None | Some(FinishReason::Stop | FinishReason::ToolCalls) => WireFinish::Stop,
        Some(FinishReason::MaxTokens) => WireFinish::MaxTokens,
        Some(FinishReason::Safety) => WireFinish::Safety,
        Some(FinishReason::Other(name)) => WireFinish::from_str_name(name).unwrap_or(WireFinish::Other),
    }
}

fn usage_from_wire(usage: UsageMetadata) -> Usage {
    let count = |tokens: i32| u64::try_from(tokens).unwrap_or(0);
    let thoughts = count(usage.thoughts_token_count);
    Usage {
        input: count(usage.prompt_token_count) + count(usage.tool_use_prompt_token_count),
        output: count(usage.candidates_token_count) + thoughts,
        cached: count(usage.cached_content_token_count),
        thoughts,
    }
}

fn usage_to_wire(usage: Usage) -> UsageMetadata {
    let count = |tokens: u64| i32::try_from(tokens).unwrap_or(i32::MAX);
    UsageMetadata {
        prompt_token_count: count(usage.input),
        candidates_token_count: count(usage.output.saturating_sub(usage.thoughts)),
        total_token_count: count(usage.input.saturating_add(usage.output)),
        cached_content_token_count: count(usage.cached),
        tool_use_prompt_token_count: 0,
        thoughts_token_count: count(usage.thoughts),
    }
}

fn declaration_from_wire(wire: genai::FunctionDeclaration) -> ToolDeclaration {
    let mut declaration = ToolDeclaration::new(wire.name, wire.description);
    if let Some(parameters) = schema_from_wire(wire.parameters, wire.parameters_json_schema) {
        declaration.parameters = parameters;
    }
    declaration.output = schema_from_wire(wire.response, wire.response_json_schema);
    declaration
}

fn declaration_to_wire(tool: &ToolDeclaration) -> genai::FunctionDeclaration {
    let (parameters, parameters_json_schema) = schema_to_wire(&tool.parameters);
    let (response, response_json_schema) = tool.output.as_ref().map(schema_to_wire).unwrap_or_default();
    genai::FunctionDeclaration {
        name: tool.name.clone(),
        description: tool.description.clone(),
        parameters,
        response,
        parameters_json_schema,
        response_json_schema,
    }
}

fn choice_from_wire(config: genai::ToolConfig) -> Option<ToolChoice> {
    let config = config.function_calling_config?;
    match (config.mode(), config.allowed_function_names.as_slice()) {
        (Mode::Unspecified, _) => None,
        (Mode::Auto | Mode::Validated, _) => Some(ToolChoice::Auto),
        (Mode::Any, [only]) => Some(ToolChoice::Tool(only.clone())),
        (Mode::Any, _) => Some(ToolChoice::Required),
        (Mode::None, _) => Some(ToolChoice::None),
    }
}

fn choice_to_wire(choice: &ToolChoice) -> genai::ToolConfig {
    let (mode, names) = match choice {
        ToolChoice::Auto => (Mode::Auto, Vec::new()),
        ToolChoice::Required => (Mode::Any, Vec::new()),
        ToolChoice::None => (Mode::None, Vec::new()),
        ToolChoice::Tool(name) => (Mode::Any, vec![name.clone()]),
    };
    let config = genai::FunctionCallingConfig { mode: mode.into(), allowed_function_names: names };
    genai::ToolConfig { function_calling_config: Some(config) }
}

/// What the core has no field for is kept by the wire's names.
fn settings_from_wire(config: &GenerationConfig) -> Settings {
    let mut extra = Map::new();
    let mut put = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            extra.insert(name.to_owned(), value);
        }
    };
    put("top_k", config.top_k.map(Value::from));
    put("candidate_count", config.candidate_count.map(Value::from));
    put("presence_penalty", config.presence_penalty.and_then(decimal).map(Value::from));
    put("frequency_penalty", config.frequency_penalty.and_then(decimal).map(Value::from));
    // A schema for the answer says as much.
    let is_implied = config.response_mime_type == JSON
        && (config.response_schema.is_some() || config.response_json_schema.is_some());
    let mime_type = non_empty(config.response_mime_type.clone()).filter(|_| !is_implied);
    put("response_mime_type", mime_type.map(Value::from));
    put("thinking_config", config.thinking_config.as_ref().map(thinking_from_wire));
    Settings {
        temperature: config.temperature.and_then(decimal),
        top_p: config.top_p.and_then(decimal),
        max_tokens: config.max_output_tokens.and_then(|tokens| u64::try_from(tokens).ok()),
        seed: config.seed.map(i64::from),
        stop: config.stop_sequences.clone(),
        tool_choice: None,
        extra,
    }
}

fn thinking_from_wire(thinking: &genai::ThinkingConfig) -> Value {
    let mut out = Map::new();
    if let Some(shown) = thinking.include_thoughts {
        out.insert("include_thoughts".into(), json!(shown));
    }
    if let Some(budget) = thinking.thinking_budget {
        out.insert("thinking_budget".into(), json!(budget));
    }
    Value::Object(out)
}

fn config_to_wire(setup: &ModelSetup) -> GenerationConfig {
    let Settings { temperature, top_p, max_tokens, seed, stop, tool_choice: _, extra } = &setup.settings;
    let number = |name: &str| extra.get(name).and_then(Value::as_i64).and_then(|n| i32::try_from(n).ok());
    let penalty = |name: &str| extra.get(name).and_then(Value::as_f64).map(single);
    let schema = setup.output_schema.as_ref().map(|schema| schema_to_wire(schema)).unwrap_or_default();
    GenerationConfig {
        candidate_count: number("candidate_count"),
        stop_sequences: stop.clone(),
        max_output_tokens: max_tokens.map(|tokens| i32::try_from(tokens).unwrap_or(i32::MAX)),
        temperature: temperature.map(single),
        top_p: top_p.map(single),
        top_k: number("top_k"),
        seed: seed.and_then(|seed| i32::try_from(seed).ok()),
        response_mime_type: text(extra, "response_mime_type")
            .or_else(|| setup.output_schema.as_ref().map(|_| JSON.to_owned()))
            .unwrap_or_default(),
        response_schema: schema.0,
        presence_penalty: penalty("presence_penalty"),
        frequency_penalty: penalty("frequency_penalty"),
        thinking_config: extra.get("thinking_config").map(|thinking| genai::ThinkingConfig {
            include_thoughts: thinking["include_thoughts"].as_bool(),
            thinking_budget: thinking["thinking_budget"].as_i64().and_then(|n| i32::try_from(n).ok()),
        }),
        response_json_schema: schema.1,
    }
}

fn text(object: &Map<String, Value>, name: &str) -> Option<String> {
    object.get(name).and_then(Value::as_str).map(str::to_owned)
}

/// The number a person wrote: 0.7 rather than the single nearest to it. Nothing for what is not a number.
fn decimal(number: f32) -> Option<f64> {
    number.to_string().parse().ok().filter(|number: &f64| number.is_finite())
}

fn single(number: f64) -> f32 {
    #[expect(clippy::cast_possible_truncation, reason = "the wire has singles here")]
    return number as f32;
}
