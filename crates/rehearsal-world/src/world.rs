//! Worlds: the tools' side of a case as one living thing.
//!
//! A world lists tools, answers their calls and has a state. It is started for one case and ended with it, so that what one
//! call changes the next one finds. [`ProgramStarter`] starts worlds that are programs and speak JSON lines
//! (docs/reference/world-program.md); whoever casts a world sees nothing but the trait [`World`].

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use rehearsal_core::{SessionId, ToolDeclaration, ToolOutcome};
use serde_json::{Map, Value};

mod mcp;
mod program;
mod wire;

pub use mcp::{McpPlace, McpStarter};
pub use program::ProgramStarter;

/// Plays the tools of one case.
///
/// Whoever uses it makes one call after the other, in the order in which the agent made them.
#[async_trait]
pub trait World: Send + Sync + fmt::Debug {
    /// Its tools as they are now. They may come and go with every call.
    fn tools(&self) -> Arc<[WorldTool]>;

    /// Answers a call. A tool that fails is an answer; an error is a world that cannot go on.
    ///
    /// # Errors
    /// The world is gone, or what it says cannot be understood.
    async fn call(&self, call: &WorldCall) -> Result<WorldAnswer, WorldError>;

    /// Its state now; nothing for a world that has none to show.
    ///
    /// # Errors
    /// The world is gone, or what it says cannot be understood.
    async fn state(&self) -> Result<Option<WorldState>, WorldError>;

    /// What it said for the log since it was last asked.
    fn take_logs(&self) -> Vec<String> {
        Vec::new()
    }

    /// Tells it that the case is over, and waits so long for it to end by itself. Without it the world ends when it is
    /// dropped.
    async fn close(&self, patience: Duration);
}

/// Starts a world for a case.
#[async_trait]
pub trait WorldStarter: Send + Sync + fmt::Debug {
    /// Starts it, and knows its tools when it is done.
    ///
    /// # Errors
    /// Why it could not be started.
    async fn start(&self, occasion: &Occasion) -> Result<Arc<dyn World>, WorldError>;
}

/// The state of a world: a JSON object.
pub type WorldState = Map<String, Value>;

/// The case for which a world is started.
#[derive(Clone, Debug, PartialEq)]
pub struct Occasion {
    /// The session of the agent.
    pub session: SessionId,
    /// The scenario's name, where there is one.
    pub scenario: Option<String>,
    /// The folder of the run.
    pub folder: Option<PathBuf>,
    /// The seed of the run: a world that takes its chance from it does the same in every run with this seed.
    pub seed: u64,
    /// The row that the case was made of, where it was.
    pub row: Option<Value>,
}

/// A tool of a world.
#[derive(Clone, Debug, PartialEq)]
pub struct WorldTool {
    /// What it is called, what it is for, what it takes and gives.
    pub declaration: ToolDeclaration,
    /// Who can call it.
    pub side: Side,
}

/// Whose tool it is, and who calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Side {
    /// The agent's.
    #[default]
    Agent,
    /// The user's: what the user can do that the agent cannot, such as looking at the phone in his hand.
    User,
}

impl Side {
    /// The word for it in messages.
    pub fn word(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::User => "user",
        }
    }
}

/// A call of a tool of a world.
#[derive(Clone, Debug, PartialEq)]
pub struct WorldCall {
    /// The tool.
    pub tool: String,
    /// Its arguments.
    pub args: Map<String, Value>,
    /// Who calls.
    pub by: Side,
}

/// What came of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct WorldAnswer {
    /// The output, or the error that is told to whoever called.
    pub outcome: ToolOutcome,
    /// The whole state after the call, where the world says that it changed.
    pub state: Option<WorldState>,
}

/// Why a world cannot go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WorldError {
    /// It could not be started.
    #[error("the world could not be started: {why}")]
    NotStarted {
        /// Why.
        why: String,
    },
    /// It broke off, or what it says cannot be understood.
    #[error("the world failed: {why}")]
    Failed {
        /// What happened, and what helps.
        why: String,
    },
    /// It said that it cannot go on.
    #[error("the world reported an error: {why}")]
    Reported {
        /// In its words.
        why: String,
    },
    /// It did not answer in time.
    #[error(
        "the world did not answer {what} within {} ms{said}\n\nhint: raise `timeout_ms` of the world, or see why it is slow",
        limit.as_millis()
    )]
    TookTooLong {
        /// What it was asked: `the call of ...`.
        what: String,
        /// How long it may take.
        limit: Duration,
        /// The end of what it complained of, as lines to be added.
        said: String,
    },
    /// It was ended before, and nothing more can be asked of it.
    #[error("the world has ended before{because}")]
    Gone {
        /// Why, as words to be added.
        because: String,
    },
}
