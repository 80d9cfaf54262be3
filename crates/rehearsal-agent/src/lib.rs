//! Running an agent: effects and the port, models and tools, agents and yields.
//!
//! An [`Agent`] never calls a model, a tool or a user itself. It asks for effects through a [`Port`], which
//! decides who answers; for the user it *yields*. Everything that crosses is an event on the session's ledger,
//! and the ledger is all an agent knows: [`run`] is the same operation for a new session, after a yield, after
//! a crash and from a fork.
//!
//! ```
//! use std::sync::Arc;
//!
//! use rehearsal_agent::{DirectPort, Flow, Loop, Session, Step, Surroundings, run};
//! use rehearsal_core::{Content, Ledger, State};
//!
//! # futures::executor::block_on(async {
//! let echo = Step::new("echo", |cx| Ok(cx.respond(format!("you said: {}", cx.input))));
//! let agent = Loop::new("conversation", echo).into();
//!
//! let around = Arc::new(Surroundings::seeded(7));
//! let mut session = Session::new("conversation", State::default(), around.clone())?;
//! session.say(Content::user("hello"), None)?;
//! assert!(matches!(run(&agent, &mut session, &DirectPort).await?, Flow::Waiting(_)));
//!
//! // The process may end here: the ledger is all it takes to go on.
//! let file = session.into_ledger().to_jsonl();
//! let mut session = Session::resume(Ledger::from_jsonl(&file)?, around);
//! session.say(Content::user("still there?"), None)?;
//! run(&agent, &mut session, &DirectPort).await?;
//! assert!(session.ledger().to_transcript().contains("you said: still there?"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```

mod agent;
mod calls;
mod compose;
mod llm;
mod meter;
mod model;
mod port;
mod session;
mod state_access;
mod step;
mod tool;

pub use agent::{Agent, AgentRef, Context, Done, Flow, RunError, run, run_at};
pub use compose::{Loop, Parallel, Sequence};
pub use llm::{History, LlmAgent, TRANSFER_TOOL};
pub use meter::{Charge, Meter, Metering};
pub use model::{Model, ModelCall, ModelChunk, ModelError};
pub use port::{Answer, DirectPort, Port, Refusal, ToolAnswer, ToolEffect, ToolReply, ask_model, run_tool};
pub use session::{ENGINE, Journal, Session, Surroundings, USER, Voices, Watch};
pub use state_access::{ScopeAccess, StateAccess};
pub use step::{Step, StepContext, StepReply};
pub use tool::{
    AgentTool, EngineOnly, FunctionTool, IntoToolOutput, Json, Tool, ToolContext, ToolKind, ToolOutput,
    ToolRef, ToolSpec, YieldingTool, schema_of, with_state_change,
};
