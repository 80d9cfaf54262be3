//! The bridge between the main session and the users' session.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use rehearsal_core::{CallId, EventBody, InvocationId, Ledger, PendingCall};
use rehearsal_metrics::last_said;
use serde_json::{Map, Value};

/// What the main agent waits for.
#[derive(Clone, Debug, PartialEq)]
pub enum YieldInfo {
    /// The next user message.
    Loop {
        /// The round of the loop that waits; nothing for the opening message.
        invocation: Option<InvocationId>,
    },
    /// A tool's result.
    Tool {
        /// The execution that called the tool.
        invocation: InvocationId,
        /// The tool.
        tool: Arc<str>,
        /// The call.
        call: CallId,
        /// The arguments.
        args: Arc<Map<String, Value>>,
    },
}

impl YieldInfo {
    /// Whether the agent stands still until a message of its user comes: not while it waits for a tool, and not before the
    /// conversation has begun.
    pub fn awaiting_input(&self) -> bool {
        matches!(self, Self::Loop { invocation: Some(_) })
    }
}

impl From<&PendingCall> for YieldInfo {
    fn from(pending: &PendingCall) -> Self {
        Self::Tool {
            invocation: pending.invocation.clone(),
            tool: pending.tool.clone(),
            call: pending.call.clone(),
            args: pending.args.clone(),
        }
    }
}

/// Carries what the main agent says to a user agent, and what the user agent gives back to the main agent.
///
/// Both ways have defaults; implement what you want to change.
#[async_trait]
pub trait Bridge: Send + Sync + fmt::Debug {
    /// The prompt that enters the users' session as a user message.
    ///
    /// # Errors
    /// The prompt cannot be made; the case ends in an error of phase `user_agent`.
    async fn format_prompt(&self, main: &Ledger, waiting: &YieldInfo) -> Result<String, String> {
        Ok(default_prompt(main, waiting))
    }

    /// The response that enters the main session, as a message or a tool's result: the user agent's output as it is
    /// unless told otherwise. An agent that gave no output has answered with what it last said.
    ///
    /// # Errors
    /// The response cannot be made; the case ends in an error of phase `user_agent`.
    async fn format_response(
        &self,
        output: Value,
        users: &Ledger,
        waiting: &YieldInfo,
    ) -> Result<Value, String> {
        let _ = (users, waiting);
        Ok(output)
    }
}

/// The bridge with nothing changed.
#[derive(Clone, Copy, Debug, Default)]
pub struct DefaultBridge;

impl Bridge for DefaultBridge {}

/// What a user agent is told when it has to open the conversation and nobody has said anything yet.
pub const OPENING_PROMPT: &str = "(The conversation begins. Say the first thing.)";

/// The default prompt: for a loop yield the last thing the assistant said, for a tool yield the tool and its
/// arguments. Where nothing was said yet it is [`OPENING_PROMPT`].
pub fn default_prompt(main: &Ledger, waiting: &YieldInfo) -> String {
    match waiting {
        YieldInfo::Loop { .. } => last_agent_text(main).unwrap_or_else(|| OPENING_PROMPT.to_owned()),
        YieldInfo::Tool { tool, args, .. } => {
            format!("Tool: {tool}\nArgs: {}", rehearsal_core::json::text(&Value::Object((**args).clone())))
        }
    }
}

/// The last thing an agent said outside of agents used as tools.
pub fn last_agent_text(ledger: &Ledger) -> Option<String> {
    last_said(ledger.events()).map(|(_, text)| text)
}

/// A bridge made of functions.
///
/// ```
/// use rehearsal_sim::{BridgeFns, YieldInfo, default_prompt};
///
/// let bridge = BridgeFns::new().prompt(|main, waiting| match waiting {
///     YieldInfo::Tool { tool, args, .. } if &**tool == "ask" => format!("The clinician asks: {:?}", args.get("question")),
///     _ => default_prompt(main, waiting),
/// });
/// ```
#[derive(Clone, Default)]
pub struct BridgeFns {
    prompt: Option<Arc<PromptFn>>,
    response: Option<Arc<ResponseFn>>,
}

type PromptFn = dyn Fn(&Ledger, &YieldInfo) -> String + Send + Sync;
type ResponseFn = dyn Fn(Value, &Ledger, &YieldInfo) -> Value + Send + Sync;

impl BridgeFns {
    /// A bridge with nothing changed yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same bridge with another way to make prompts from the main session.
    #[must_use]
    pub fn prompt(mut self, prompt: impl Fn(&Ledger, &YieldInfo) -> String + Send + Sync + 'static) -> Self {
        self.prompt = Some(Arc::new(prompt));
        self
    }

    /// The same bridge with another way to make responses from a user agent's output and the users' session.
    #[must_use]
    pub fn response(
        mut self,
        response: impl Fn(Value, &Ledger, &YieldInfo) -> Value + Send + Sync + 'static,
    ) -> Self {
        self.response = Some(Arc::new(response));
        self
    }
}

impl fmt::Debug for BridgeFns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BridgeFns")
            .field("prompt", &self.prompt.is_some())
            .field("response", &self.response.is_some())
            .finish()
    }
}

#[async_trait]
impl Bridge for BridgeFns {
    async fn format_prompt(&self, main: &Ledger, waiting: &YieldInfo) -> Result<String, String> {
        Ok(self.prompt.as_ref().map_or_else(|| default_prompt(main, waiting), |prompt| prompt(main, waiting)))
    }

    async fn format_response(
        &self,
        output: Value,
        users: &Ledger,
        waiting: &YieldInfo,
    ) -> Result<Value, String> {
        Ok(match &self.response {
            Some(response) => response(output, users, waiting),
            None => output,
        })
    }
}

/// The changes for the main session that a user agent's tools asked for, in order.
pub(crate) fn main_changes<'a>(
    users: &'a Ledger,
    path: &'a InvocationId,
) -> impl Iterator<Item = &'a rehearsal_core::StatePatch> {
    let own =
        users.events().iter().filter(|event| event.invocation.as_ref().is_some_and(|at| at.is_within(path)));
    own.filter_map(|event| match &event.body {
        EventBody::ToolResult(result) => result.main_changes.as_ref(),
        _ => None,
    })
}
