//! Tools that are answered elsewhere: by somebody outside, or by another agent.

use async_trait::async_trait;
use rehearsal_core::{ToolDeclaration, ToolError};
use schemars::JsonSchema;
use serde_json::Value;

use super::{Tool, ToolContext, ToolKind, ToolOutput, ToolSpec, schema_of};
use crate::AgentRef;

/// A tool that is answered from outside: the agent yields until the result is there.
///
/// ```
/// use rehearsal_agent::{Tool, YieldingTool};
/// use schemars::JsonSchema;
/// use serde_json::json;
///
/// #[derive(JsonSchema)]
/// struct Question {
///     question: String,
/// }
///
/// let ask = YieldingTool::new::<Question, String>("ask", "Asks the patient one question");
/// // Whoever answers is held to the output type.
/// assert!(ask.spec().check_output(&json!("since this morning")).is_ok());
/// assert!(ask.spec().check_output(&json!(7)).is_err());
/// ```
#[derive(Clone, Debug)]
pub struct YieldingTool {
    spec: ToolSpec,
}

impl YieldingTool {
    /// A yielding tool that takes `A` and must be answered with `R`.
    pub fn new<A: JsonSchema, R: JsonSchema>(name: &str, description: &str) -> Self {
        let declaration = ToolDeclaration::new(name, description);
        Self::raw(declaration.parameters(schema_of::<A>()).output(schema_of::<R>()))
    }

    /// A yielding tool with a declaration of its own.
    pub fn raw(declaration: ToolDeclaration) -> Self {
        Self { spec: ToolSpec::new(declaration) }
    }
}

#[async_trait]
impl Tool for YieldingTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn kind(&self) -> ToolKind<'_> {
        ToolKind::Yielding
    }

    async fn call(&self, _args: Value, _cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        Err(ToolError::new("Yielding", format!("`{}` is answered from outside", self.spec.name())))
    }
}

/// An agent that another agent can call. It works on its own: it sees the request, not the conversation.
///
/// ```
/// use rehearsal_agent::{AgentTool, Step, Tool};
///
/// let librarian = Step::new("librarian", |cx| Ok(cx.respond(format!("nothing found on {}", cx.input))));
/// let tool = AgentTool::new(librarian, "Looks things up in the library");
/// assert_eq!(tool.spec().name(), "librarian");
/// ```
#[derive(Clone, Debug)]
pub struct AgentTool {
    spec: ToolSpec,
    agent: AgentRef,
}

impl AgentTool {
    /// The agent as a tool of the same name.
    pub fn new(agent: impl Into<AgentRef>, description: &str) -> Self {
        let agent = agent.into();
        let parameters = serde_json::json!({
            "type": "object",
            "properties": {"request": {"type": "string", "description": "What the agent should do."}},
            "required": ["request"],
            "additionalProperties": false,
        });
        let declaration = ToolDeclaration::new(agent.name().to_string(), description).parameters(parameters);
        Self { spec: ToolSpec::new(declaration), agent }
    }
}

#[async_trait]
impl Tool for AgentTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn kind(&self) -> ToolKind<'_> {
        ToolKind::Agent(&self.agent)
    }

    async fn call(&self, _args: Value, _cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        Err(ToolError::new("Agent", format!("`{}` is an agent and runs as one", self.spec.name())))
    }
}
