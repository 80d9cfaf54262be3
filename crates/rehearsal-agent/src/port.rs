//! Effects and the port: the one way from an agent to the world.

use std::sync::Arc;

use async_trait::async_trait;
use rehearsal_core::{ModelResponse, Player, StatePatch, ToolOutcome};
use serde_json::{Map, Value};

use crate::meter::metered;
use crate::{Metering, Model, ModelCall, ModelError, Tool, ToolContext, ToolKind};

/// Answers an agent's effects.
///
/// An agent never calls a model or a tool itself. It says what it wants as data and the port decides who
/// answers. The third effect, asking the user, has no method here: its answer may take days, so an agent
/// *yields* and the answer arrives as an event (see [`Flow::Waiting`](crate::Flow)).
#[async_trait]
pub trait Port: Send + Sync {
    /// Answers a model call. `own` is the model the agent was built with.
    async fn model(
        &self,
        call: &ModelCall,
        own: &Arc<dyn Model>,
    ) -> Result<Answer<ModelResponse>, ModelError>;

    /// Answers a tool call. `own` is the tool the agent was built with.
    async fn tool(&self, effect: &ToolEffect, own: &Arc<dyn Tool>) -> Result<ToolReply, Refusal>;
}

/// A tool call as an effect.
#[derive(Clone, Debug)]
pub struct ToolEffect {
    /// The arguments; they satisfy the tool's schema.
    pub args: Arc<Map<String, Value>>,
    /// Everything else that is known of the call.
    pub cx: ToolContext,
}

/// An answer and who gave it.
#[derive(Clone, Debug)]
pub struct Answer<T> {
    /// The answer.
    pub value: T,
    /// What kind of player gave it.
    pub by: Player,
    /// Which one.
    pub name: Option<Arc<str>>,
}

/// What a port does with a tool call.
#[derive(Clone, Debug)]
pub enum ToolReply {
    /// It is answered.
    Done(Answer<ToolAnswer>),
    /// It is answered later, from outside: the agent yields.
    Later,
    /// The agent behind the tool runs, through the same port.
    RunAgent,
}

/// What came of a tool call.
#[derive(Clone, Debug)]
pub struct ToolAnswer {
    /// The output or the error.
    pub outcome: ToolOutcome,
    /// What a user agent's tool wants changed in the main session.
    pub main_changes: Option<StatePatch>,
}

/// A port's decision that an effect must not happen. It ends the session: the model never sees it and cannot
/// talk its way around it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// A word for the kind of refusal, such as `unmocked_tool`.
    pub kind: String,
    /// What was refused and how to allow it.
    pub message: String,
}

/// The port that answers every effect with the agent's own model and its own tools.
#[derive(Clone, Copy, Debug, Default)]
pub struct DirectPort;

#[async_trait]
impl Port for DirectPort {
    async fn model(
        &self,
        call: &ModelCall,
        own: &Arc<dyn Model>,
    ) -> Result<Answer<ModelResponse>, ModelError> {
        ask_model(own, call).await
    }

    async fn tool(&self, effect: &ToolEffect, own: &Arc<dyn Tool>) -> Result<ToolReply, Refusal> {
        Ok(match own.kind() {
            ToolKind::Function | ToolKind::Engine(_) => ToolReply::Done(run_tool(effect, own).await),
            ToolKind::Yielding => ToolReply::Later,
            ToolKind::Agent(_) => ToolReply::RunAgent,
        })
    }
}

/// Asks a model and says who it was.
///
/// # Errors
/// The model did not answer.
pub async fn ask_model(
    model: &Arc<dyn Model>,
    call: &ModelCall,
) -> Result<Answer<ModelResponse>, ModelError> {
    let value = match &call.metering {
        Metering::By(meter) => metered(model, meter, call).await?,
        Metering::Free | Metering::Charged(_) => model.respond(call).await?,
    };
    Ok(Answer { value, by: model.player(), name: Some(model.name()) })
}

/// Runs a real tool and says so.
pub async fn run_tool(effect: &ToolEffect, tool: &Arc<dyn Tool>) -> Answer<ToolAnswer> {
    let args = Value::Object((*effect.args).clone());
    let value = tool.call(args, &effect.cx).await.into();
    Answer { value, by: Player::Tool, name: None }
}
