//! The model seam: who decides.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use futures::stream::{self, BoxStream, StreamExt};
use rehearsal_core::{ModelRequest, ModelResponse, Player, SessionId, TurnId};

use crate::Metering;

/// Somebody who can play the model: a provider, a person, a script, a recording.
///
/// A model keeps nothing between calls. What it needs to know of the past is in the [`ModelCall`], so the same
/// call gives the same answer in whatever process it is asked (as far as the player can promise that at all).
#[async_trait]
pub trait Model: Send + Sync + fmt::Debug {
    /// A name for people and ledgers, such as `openai:gpt-4o`.
    fn name(&self) -> Arc<str>;

    /// What kind of player it is.
    fn player(&self) -> Player {
        Player::Provider
    }

    /// The name the provider knows the model by, to be put into requests; empty for players that need none.
    #[expect(clippy::unnecessary_literal_bound, reason = "others give a name they own")]
    fn model_id(&self) -> &str {
        ""
    }

    /// The seed of its sampling, which goes into requests that have none of their own.
    fn seed(&self) -> Option<i64> {
        None
    }

    /// Says what people know it as, where that is not its name: what was filled in from the environment is not shown.
    fn known_as(&self, name: &str) {
        let _ = name;
    }

    /// Lowers how many calls it is asked at once, for players that have such a limit. All who ask it share it.
    fn limit_calls(&self, most: usize) {
        let _ = most;
    }

    /// Answers a call.
    async fn respond(&self, call: &ModelCall) -> Result<ModelResponse, ModelError>;

    /// Gives what it makes of texts as lists of numbers, one for each text.
    ///
    /// # Errors
    /// It makes none, or did not answer.
    async fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f64>>, ModelError> {
        let _ = texts;
        let why = "it makes no embeddings".to_owned();
        Err(ModelError::Unsupported { model: self.name(), why })
    }

    /// Answers a call piece by piece. The last piece is [`ModelChunk::Done`].
    ///
    /// Players that cannot answer in pieces give the whole at once.
    fn stream<'a>(&'a self, call: &'a ModelCall) -> BoxStream<'a, Result<ModelChunk, ModelError>> {
        stream::once(async move { self.respond(call).await.map(ModelChunk::Done) }).boxed()
    }
}

/// A question to a model.
#[derive(Clone, Debug)]
pub struct ModelCall {
    /// The session that asks.
    pub session: SessionId,
    /// The agent that asks.
    pub agent: Arc<str>,
    /// The model turn.
    pub turn: TurnId,
    /// How many turns of this agent were answered before in this session.
    pub index: u64,
    /// What is asked.
    pub request: ModelRequest,
    /// Who counts what it uses.
    pub metering: Metering,
}

/// A piece of an answer.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ModelChunk {
    /// More text.
    Text(String),
    /// More of the model's reasoning.
    Thought(String),
    /// The whole answer. Always the last piece.
    Done(ModelResponse),
}

/// Why a model did not answer.
///
/// No variant carries a key, and none carries request headers.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// The player has no answer to this request: a script without a matching rule, a recording that ended.
    #[error("{model} has no answer: {why}")]
    NoAnswer {
        /// The model.
        model: Arc<str>,
        /// Why, with the request where that helps.
        why: String,
    },
    /// The key is missing.
    #[error("{model} needs a key\n\nhint: set the environment variable {variable}")]
    MissingKey {
        /// The model.
        model: Arc<str>,
        /// The variable to set.
        variable: String,
    },
    /// The provider said no.
    #[error("{model} answered HTTP {status}: {message}")]
    Status {
        /// The model.
        model: Arc<str>,
        /// The HTTP status.
        status: u16,
        /// The provider's words.
        message: String,
        /// How long the provider asks to wait, in milliseconds.
        retry_after_ms: Option<u64>,
    },
    /// The provider could not be reached, or the connection broke.
    #[error("{model} could not be reached: {why}")]
    Transport {
        /// The model.
        model: Arc<str>,
        /// Why.
        why: String,
    },
    /// The provider did not answer in time.
    #[error("{model} did not answer within {millis} ms")]
    Timeout {
        /// The model.
        model: Arc<str>,
        /// The limit.
        millis: u64,
    },
    /// The provider's answer could not be understood.
    #[error("{model} answered something that cannot be understood: {why}")]
    Malformed {
        /// The model.
        model: Arc<str>,
        /// Why.
        why: String,
    },
    /// The provider was asked more than once, and the last answer was this.
    #[error("{last} (tried {attempts} times in {}.{} s)", millis / 1000, millis % 1000 / 100)]
    Repeated {
        /// Why the last attempt failed.
        last: Box<ModelError>,
        /// How often it was asked.
        attempts: u32,
        /// How long that took, the waits between included.
        millis: u64,
    },
    /// It is not asked, or its answer not taken, because of a budget.
    #[error("{model} {why}")]
    Budget {
        /// The model.
        model: Arc<str>,
        /// Which budget, in words that follow the model.
        why: String,
    },
    /// The request cannot be put to this provider.
    #[error("{model} cannot be asked this: {why}")]
    Unsupported {
        /// The model.
        model: Arc<str>,
        /// Why.
        why: String,
    },
}

impl ModelError {
    /// The name of the model.
    pub fn model_mut(&mut self) -> &mut Arc<str> {
        match self {
            Self::NoAnswer { model, .. }
            | Self::MissingKey { model, .. }
            | Self::Status { model, .. }
            | Self::Transport { model, .. }
            | Self::Timeout { model, .. }
            | Self::Malformed { model, .. }
            | Self::Budget { model, .. }
            | Self::Unsupported { model, .. } => model,
            Self::Repeated { last, .. } => last.model_mut(),
        }
    }

    /// What the other side said, where it said something.
    pub fn words_mut(&mut self) -> Option<&mut String> {
        match self {
            Self::Status { message: words, .. }
            | Self::NoAnswer { why: words, .. }
            | Self::Transport { why: words, .. }
            | Self::Malformed { why: words, .. }
            | Self::Unsupported { why: words, .. } => Some(words),
            Self::Repeated { last, .. } => last.words_mut(),
            Self::MissingKey { .. } | Self::Timeout { .. } | Self::Budget { .. } => None,
        }
    }

    /// Why the last attempt failed, however many there were.
    pub fn last(&self) -> &Self {
        match self {
            Self::Repeated { last, .. } => last.last(),
            other => other,
        }
    }

    /// Whether asking again may help.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Status { status, .. } => matches!(status, 408 | 409 | 429 | 500..=599),
            Self::Transport { .. } | Self::Timeout { .. } => true,
            Self::Repeated { last, .. } => last.is_transient(),
            _ => false,
        }
    }
}
