//! The tool seam: what acts.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use rehearsal_core::{
    CallId, Chance, Clock, InvocationId, Schema, SessionId, StatePatch, Timestamp, ToolDeclaration,
    ToolError, ToolOutcome, Violation,
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::{AgentRef, StateAccess};

mod elsewhere;
mod function;

pub use elsewhere::{AgentTool, YieldingTool};
pub use function::FunctionTool;

/// A tool that can be shared.
pub type ToolRef = Arc<dyn Tool>;

/// Something an agent can call.
#[async_trait]
pub trait Tool: Send + Sync + fmt::Debug {
    /// What the tool is called, what it is for and what it takes.
    fn spec(&self) -> &ToolSpec;

    /// How a call is answered.
    fn kind(&self) -> ToolKind<'_> {
        ToolKind::Function
    }

    /// Runs the tool. The arguments satisfy the tool's schema.
    async fn call(&self, args: Value, cx: &ToolContext) -> Result<ToolOutput, ToolError>;
}

/// How a call of a tool is answered.
#[derive(Clone, Copy, Debug)]
pub enum ToolKind<'a> {
    /// By running it.
    Function,
    /// By somebody outside: the agent yields until the result is there.
    Yielding,
    /// By running an agent.
    Agent(&'a AgentRef),
    /// By the engine: the tool only says something about the conversation, such as who goes on with it. No tool from
    /// outside can be of this kind, because it is not intercepted.
    Engine(EngineOnly),
}

/// Only the engine has one of these.
#[derive(Clone, Copy, Debug)]
pub struct EngineOnly(());

impl EngineOnly {
    pub(crate) const KIND: ToolKind<'static> = ToolKind::Engine(Self(()));
}

/// A tool's declaration with its compiled schemas.
#[derive(Clone, Debug)]
pub struct ToolSpec {
    declaration: Arc<ToolDeclaration>,
    args: Schema,
    output: Option<Schema>,
}

impl ToolSpec {
    /// The spec of a declaration.
    pub fn new(declaration: ToolDeclaration) -> Self {
        let args = Schema::new(declaration.parameters.clone());
        let output = declaration.output.clone().map(Schema::new);
        Self { declaration: Arc::new(declaration), args, output }
    }

    /// The declaration.
    pub fn declaration(&self) -> &Arc<ToolDeclaration> {
        &self.declaration
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.declaration.name
    }

    /// The schema of the result, where the tool declares one.
    pub fn output(&self) -> Option<&Schema> {
        self.output.as_ref()
    }

    /// Checks arguments against the schema.
    ///
    /// # Errors
    /// An error for the model, with the path of every violation.
    pub fn check_args(&self, args: &Map<String, Value>) -> Result<(), ToolError> {
        let value = Value::Object(args.clone());
        match self.args.check(&value) {
            Ok(violations) if violations.is_empty() => Ok(()),
            Ok(violations) => Err(invalid("InvalidArguments", "arguments", self.name(), violations)),
            Err(error) => Err(ToolError::new("InvalidSchema", format!("tool `{}`: {error}", self.name()))),
        }
    }

    /// Checks a result against the output schema, where the tool declares one.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn check_output(&self, output: &Value) -> Result<(), ToolError> {
        let Some(schema) = &self.output else { return Ok(()) };
        match schema.check(output) {
            Ok(violations) if violations.is_empty() => Ok(()),
            Ok(violations) => Err(invalid("InvalidOutput", "result", self.name(), violations)),
            Err(error) => Err(ToolError::new("InvalidSchema", format!("tool `{}`: {error}", self.name()))),
        }
    }
}

fn invalid(kind: &str, what: &str, tool: &str, violations: Vec<Violation>) -> ToolError {
    let list: Vec<String> = violations.iter().map(ToString::to_string).collect();
    let breaks = if what == "result" { "breaks" } else { "break" };
    let message = format!("the {what} of `{tool}` {breaks} its schema: {}", list.join("; "));
    ToolError { kind: kind.to_owned(), message, violations, ..ToolError::default() }
}

/// What a tool may know while it runs.
#[derive(Clone, Debug)]
pub struct ToolContext {
    /// The session.
    pub session: SessionId,
    /// The call.
    pub call: CallId,
    /// The tool.
    pub tool: Arc<str>,
    /// The agent that calls.
    pub agent: Arc<str>,
    /// The execution of the agent that calls.
    pub invocation: InvocationId,
    /// How many calls of this tool were answered before in this session; calls with wrong arguments do not count.
    pub nth: u64,
    /// State, readable and writable.
    pub state: StateAccess,
    /// Chance that belongs to this call.
    pub chance: Chance,
    pub(crate) clock: Arc<dyn Clock>,
}

impl ToolContext {
    /// The present moment, by the session's clock.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }
}

/// What a tool gives.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolOutput {
    /// The result.
    pub value: Value,
    /// What a user agent's tool wants changed in the main session.
    pub main_changes: Option<StatePatch>,
}

impl ToolOutput {
    /// A result and nothing else.
    pub fn new(value: Value) -> Self {
        Self { value, main_changes: None }
    }
}

/// Wraps a tool's result with state changes for the main session.
///
/// User agents use it to let the agent under test know something: the bridge collects the changes from the
/// tool results and applies them after the user agent has come to its end. In a tool of the main session
/// the changes apply to that session itself.
///
/// ```
/// use rehearsal_agent::with_state_change;
/// use serde_json::json;
///
/// let output = with_state_change(
///     json!({"revealed": "hypertension"}),
///     json!({"patient": {"revealedConditions": ["hypertension"]}}),
/// )?;
/// assert_eq!(output.value["revealed"], "hypertension");
/// # Ok::<(), rehearsal_core::ToolError>(())
/// ```
///
/// # Errors
/// The changes are not an object of scopes, or the result cannot be written as JSON.
pub fn with_state_change(result: impl Serialize, changes: Value) -> Result<ToolOutput, ToolError> {
    let value =
        serde_json::to_value(result).map_err(|error| ToolError::new("InvalidResult", error.to_string()))?;
    let changes = StatePatch::from_value(changes)
        .map_err(|error| ToolError::new("InvalidStateChange", error.to_string()))?;
    Ok(ToolOutput { value, main_changes: Some(changes) })
}

/// What a typed tool function may return.
pub trait IntoToolOutput {
    /// Turns the value into a tool's output.
    ///
    /// # Errors
    /// The tool failed, or its result cannot be written as JSON.
    fn into_tool_output(self) -> Result<ToolOutput, ToolError>;
}

impl IntoToolOutput for ToolOutput {
    fn into_tool_output(self) -> Result<ToolOutput, ToolError> {
        Ok(self)
    }
}

impl IntoToolOutput for Value {
    fn into_tool_output(self) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::new(self))
    }
}

impl<T: IntoToolOutput> IntoToolOutput for Result<T, ToolError> {
    fn into_tool_output(self) -> Result<ToolOutput, ToolError> {
        self.and_then(IntoToolOutput::into_tool_output)
    }
}

/// A result of any type that can be written as JSON: `Json(MyResult { … })`.
#[derive(Clone, Copy, Debug)]
pub struct Json<T>(pub T);

impl<T: Serialize> IntoToolOutput for Json<T> {
    fn into_tool_output(self) -> Result<ToolOutput, ToolError> {
        let value = serde_json::to_value(self.0);
        value.map(ToolOutput::new).map_err(|error| ToolError::new("InvalidResult", error.to_string()))
    }
}

/// The JSON Schema of a type, without the words that only describe the Rust side.
pub fn schema_of<T: JsonSchema>() -> Value {
    let mut schema = schemars::schema_for!(T).to_value();
    if let Value::Object(fields) = &mut schema {
        fields.shift_remove("$schema");
        fields.shift_remove("title");
        if !fields.contains_key("type") && !fields.contains_key("anyOf") && !fields.contains_key("$ref") {
            fields.insert("type".into(), "object".into());
        }
    }
    schema
}

impl From<Result<ToolOutput, ToolError>> for crate::ToolAnswer {
    fn from(result: Result<ToolOutput, ToolError>) -> Self {
        match result {
            Ok(output) => {
                Self { outcome: ToolOutcome::Output(output.value), main_changes: output.main_changes }
            }
            Err(error) => Self { outcome: ToolOutcome::Error(error), main_changes: None },
        }
    }
}

macro_rules! into_ref {
    ($trait_ref:ty: $($tool:ty),+) => {
        $(impl From<$tool> for $trait_ref {
            fn from(value: $tool) -> Self {
                Arc::new(value)
            }
        })+
    };
}
pub(crate) use into_ref;

into_ref!(ToolRef: FunctionTool, YieldingTool, AgentTool);
