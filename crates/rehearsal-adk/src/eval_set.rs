//! What an `EvalSet` file holds, and how ADK writes it.

use rehearsal_core::{Blob, CallId, Content, FileData, FunctionCall, FunctionResponse, Part, PartData};
use rehearsal_metrics::AdkCall;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

/// Eval cases that belong together.
///
/// Written as JSON it has ADK's names and ADK's order of fields, and leaves out what is at its default.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EvalSet {
    /// Its id.
    pub eval_set_id: String,
    /// Its name.
    pub name: Option<String>,
    /// What it is about.
    pub description: Option<String>,
    /// The cases.
    pub eval_cases: Vec<EvalCase>,
    /// When it was made, in seconds since 1970.
    pub creation_timestamp: f64,
}

/// One conversation and what is expected of the agent in it.
#[derive(Clone, Debug, PartialEq)]
pub struct EvalCase {
    /// Its id, unique in its eval set.
    pub eval_id: String,
    /// The conversation.
    pub conversation: Conversation,
    /// What the session begins with.
    pub session_input: Option<SessionInput>,
    /// When it was made, in seconds since 1970.
    pub creation_timestamp: f64,
    /// The values that are expected in the state at the end, in ADK's flat form. ADK declares them and reads them
    /// nowhere; here each of them is compared.
    pub final_session_state: Map<String, Value>,
}

impl EvalCase {
    /// The invocations, where the conversation is written out.
    pub fn invocations(&self) -> Option<&[Invocation]> {
        match &self.conversation {
            Conversation::Static(invocations) => Some(invocations),
            Conversation::Scenario(_) => None,
        }
    }
}

/// How the user's side of a case is given.
#[derive(Clone, Debug, PartialEq)]
pub enum Conversation {
    /// Message by message, with what the agent is expected to do.
    Static(Vec<Invocation>),
    /// As a plan for a simulated user.
    Scenario(ConversationScenario),
}

/// A plan for a simulated user.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConversationScenario {
    /// The first message.
    pub starting_prompt: String,
    /// What the user wants, step by step.
    pub conversation_plan: String,
    /// Who the user is: the id of one of ADK's personas, or a persona written out.
    pub user_persona: Option<Value>,
}

/// One message of the user and what the agent does with it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Invocation {
    /// Its id; may be empty.
    pub invocation_id: String,
    /// What the user says.
    pub user_content: Content,
    /// What the agent answers in the end.
    pub final_response: Option<Content>,
    /// What it does before that.
    pub intermediate_data: IntermediateData,
    /// When the user said it, in seconds since 1970.
    pub creation_timestamp: f64,
}

/// What an agent does before it answers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IntermediateData {
    /// The tools it calls, in order.
    pub tool_uses: Vec<ToolUse>,
    /// What the tools give, in the order they give it.
    pub tool_responses: Vec<FunctionResponse>,
}

/// A call of a tool.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolUse {
    /// Joins the call to its response.
    pub id: Option<CallId>,
    /// The tool.
    pub name: String,
    /// The arguments; nothing where they are left out, which ADK takes for others than none (`{}`).
    pub args: Option<Map<String, Value>>,
}

impl ToolUse {
    pub(crate) fn as_adk(&self) -> AdkCall<'_> {
        AdkCall { name: &self.name, args: self.args.as_ref() }
    }
}

/// What a session begins with.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionInput {
    /// The agent's folder.
    pub app_name: String,
    /// The user.
    pub user_id: String,
    /// The state, in ADK's flat form.
    pub state: Map<String, Value>,
}

impl EvalSet {
    /// The file as ADK writes it: indented by two spaces, without a line break at the end.
    pub fn to_json(&self) -> String {
        pretty(&self.to_value())
    }

    fn to_value(&self) -> Value {
        let mut fields = Map::new();
        put(&mut fields, "eval_set_id", self.eval_set_id.as_str());
        put_some(&mut fields, "name", self.name.as_deref());
        put_some(&mut fields, "description", self.description.as_deref());
        let cases: Vec<Value> = self.eval_cases.iter().map(EvalCase::to_value).collect();
        put(&mut fields, "eval_cases", cases);
        put_time(&mut fields, self.creation_timestamp);
        Value::Object(fields)
    }
}

impl EvalCase {
    pub(crate) fn to_value(&self) -> Value {
        let mut fields = Map::new();
        put(&mut fields, "eval_id", self.eval_id.as_str());
        match &self.conversation {
            Conversation::Static(invocations) => {
                let invocations: Vec<Value> = invocations.iter().map(Invocation::to_value).collect();
                put(&mut fields, "conversation", invocations);
            }
            Conversation::Scenario(scenario) => {
                put(&mut fields, "conversation_scenario", scenario.to_value());
            }
        }
        put_some(&mut fields, "session_input", self.session_input.as_ref().map(SessionInput::to_value));
        put_time(&mut fields, self.creation_timestamp);
        put_filled(&mut fields, "final_session_state", &self.final_session_state);
        Value::Object(fields)
    }
}

impl ConversationScenario {
    fn to_value(&self) -> Value {
        let mut fields = Map::new();
        put(&mut fields, "starting_prompt", self.starting_prompt.as_str());
        put(&mut fields, "conversation_plan", self.conversation_plan.as_str());
        put_some(&mut fields, "user_persona", self.user_persona.clone());
        Value::Object(fields)
    }
}

impl Invocation {
    fn to_value(&self) -> Value {
        let mut fields = Map::new();
        if !self.invocation_id.is_empty() {
            put(&mut fields, "invocation_id", self.invocation_id.as_str());
        }
        put(&mut fields, "user_content", content(&self.user_content));
        put_some(&mut fields, "final_response", self.final_response.as_ref().map(content));
        put(&mut fields, "intermediate_data", self.intermediate_data.to_value());
        put_time(&mut fields, self.creation_timestamp);
        Value::Object(fields)
    }
}

impl IntermediateData {
    fn to_value(&self) -> Value {
        let mut fields = Map::new();
        if !self.tool_uses.is_empty() {
            put(&mut fields, "tool_uses", self.tool_uses.iter().map(ToolUse::to_value).collect::<Vec<_>>());
        }
        if !self.tool_responses.is_empty() {
            put(&mut fields, "tool_responses", self.tool_responses.iter().map(response).collect::<Vec<_>>());
        }
        Value::Object(fields)
    }
}

impl ToolUse {
    fn to_value(&self) -> Value {
        let mut fields = Map::new();
        put_some(&mut fields, "id", self.id.as_ref().map(CallId::as_str));
        put_some(&mut fields, "args", self.args.clone());
        put(&mut fields, "name", self.name.as_str());
        Value::Object(fields)
    }
}

impl SessionInput {
    fn to_value(&self) -> Value {
        let mut fields = Map::new();
        put(&mut fields, "app_name", self.app_name.as_str());
        put(&mut fields, "user_id", self.user_id.as_str());
        put_filled(&mut fields, "state", &self.state);
        Value::Object(fields)
    }
}

impl Serialize for EvalSet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_value().serialize(serializer)
    }
}

impl Serialize for EvalCase {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_value().serialize(serializer)
    }
}

/// JSON over several lines, indented by two spaces.
pub(crate) fn pretty(value: &Value) -> String {
    rehearsal_core::json::to_string_pretty(value).unwrap_or_default()
}

fn put(fields: &mut Map<String, Value>, name: &str, value: impl Into<Value>) {
    fields.insert(name.to_owned(), value.into());
}

fn put_some(fields: &mut Map<String, Value>, name: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        put(fields, name, value);
    }
}

fn put_filled(fields: &mut Map<String, Value>, name: &str, value: &Map<String, Value>) {
    if !value.is_empty() {
        put(fields, name, value.clone());
    }
}

fn put_time(fields: &mut Map<String, Value>, seconds: f64) {
    if seconds != 0.0 {
        put(fields, "creation_timestamp", seconds);
    }
}

/// A content in the order in which ADK declares its fields.
fn content(content: &Content) -> Value {
    let mut fields = Map::new();
    put(&mut fields, "parts", content.parts.iter().map(part).collect::<Vec<_>>());
    put_some(&mut fields, "role", content.role.as_ref().map(rehearsal_core::Role::as_str));
    Value::Object(fields)
}

fn part(part: &Part) -> Value {
    let mut fields = Map::new();
    match &part.data {
        PartData::Text(text) => put(&mut fields, "text", text.as_str()),
        PartData::InlineData(data) => put(&mut fields, "inline_data", blob(data)),
        PartData::FileData(data) => put(&mut fields, "file_data", file(data)),
        PartData::FunctionCall(data) => put(&mut fields, "function_call", call(data)),
        PartData::FunctionResponse(data) => put(&mut fields, "function_response", response(data)),
        _ => {}
    }
    if part.thought {
        put(&mut fields, "thought", true);
    }
    put_some(&mut fields, "thought_signature", part.thought_signature.as_deref());
    fields.extend(part.extra.clone());
    Value::Object(fields)
}

fn blob(blob: &Blob) -> Value {
    let mut fields = Map::new();
    put(&mut fields, "data", blob.data.as_str());
    fields.extend(blob.extra.clone());
    put_some(&mut fields, "mime_type", blob.mime_type.as_deref());
    Value::Object(fields)
}

fn file(file: &FileData) -> Value {
    let mut fields = file.extra.clone();
    put(&mut fields, "file_uri", file.file_uri.as_str());
    put_some(&mut fields, "mime_type", file.mime_type.as_deref());
    Value::Object(fields)
}

/// Arguments are written also when there are none: to ADK, arguments left out are others than no arguments.
fn call(call: &FunctionCall) -> Value {
    let mut fields = Map::new();
    put_some(&mut fields, "id", call.id.as_ref().map(CallId::as_str));
    put(&mut fields, "args", call.args.clone());
    put(&mut fields, "name", call.name.as_str());
    fields.extend(call.extra.clone());
    Value::Object(fields)
}

fn response(response: &FunctionResponse) -> Value {
    let mut fields = response.extra.clone();
    put_some(&mut fields, "id", response.id.as_ref().map(CallId::as_str));
    put(&mut fields, "name", response.name.as_str());
    put(&mut fields, "response", response.response.clone());
    Value::Object(fields)
}
