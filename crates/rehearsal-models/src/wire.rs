//! The wire formats of the model APIs, in both directions and without I/O.
//!
//! Each API is a module of its own: [`openai`] (chat completions and whatever is compatible with it),
//! [`anthropic`] (messages) and [`gemini`] (generate content). In each of them
//!
//! - `Request` and `Response` read and write the API's JSON. Fields that are not known here are kept in `extra`
//!   and written back, and a field that was `null` stays `null`: what is read is written as it was.
//! - `from_core` and `to_core` convert them from and to [`ModelRequest`](rehearsal_core::ModelRequest) and
//!   [`ModelResponse`](rehearsal_core::ModelResponse). `from_core` of a request and `to_core` of a response are
//!   what calling a provider needs; the other two are what serving the API to somebody else needs.
//! - `Assembler` puts a streamed response together again, and `Response::to_events` takes one apart.
//! - `read_error` and `write_error` are the API's words for what went wrong.
//!
//! What has no place in the core's words (a citation, a cache mark, a block of a kind that is not known here)
//! stays with its part, under the name of the API in [`Part::extra`](rehearsal_core::Part::extra), and is
//! written back when the part is sent to the same API again.
//!
//! ```
//! use rehearsal_core::{Content, ModelRequest, ModelSetup};
//! use rehearsal_models::wire::openai;
//!
//! let setup = ModelSetup { model: "gpt-4o".into(), system: Some("be brief".into()), ..ModelSetup::default() };
//! let request = ModelRequest { setup: setup.into(), contents: vec![Content::user("hello").into()] };
//!
//! let written = openai::Request::from_core(&request, openai::Dialect::OpenAi)?;
//! assert_eq!(
//!     serde_json::to_value(&written)?,
//!     serde_json::json!({"model": "gpt-4o", "messages": [
//!         {"role": "system", "content": "be brief"},
//!         {"role": "user", "content": "hello"},
//!     ]}),
//! );
//! assert_eq!(written.to_core()?, request);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub(crate) use crate::shorten::shorten;
use std::sync::Arc;

use rehearsal_agent::ModelError;

pub mod anthropic;
mod base64;
mod call_ids;
mod extra;
mod field;
pub mod gemini;
pub mod openai;
mod sse;
mod tagged;
mod tool_text;

pub use field::Field;
pub use sse::SseEvent;

/// A piece of a streamed response that can be shown before the whole is there.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Delta {
    /// More text.
    Text(String),
    /// More of the model's reasoning.
    Thought(String),
}

/// What a response says of itself when it is served.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Envelope {
    /// The response's id.
    pub id: String,
    /// When it was made, in seconds since 1970.
    pub created: i64,
    /// The model that the client asked for; used where the response does not say which one answered.
    pub model: String,
}

/// Why something cannot be read from a wire format or put into it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WireError {
    /// What came is not what the API's reference says.
    #[error("{why}")]
    Malformed {
        /// What is wrong with it.
        why: String,
    },
    /// The wire format has no place for it.
    #[error("{why}")]
    Unsupported {
        /// What has no place.
        why: String,
    },
    /// A stream stopped before it was complete.
    #[error("the stream broke off: {why}")]
    CutOff {
        /// What was missing.
        why: String,
    },
    /// The other side reported an error.
    #[error("HTTP {status}: {message}")]
    Reported {
        /// The HTTP status that it has, or would have had outside a stream.
        status: u16,
        /// Its words.
        message: String,
        /// How long it asks to wait, in milliseconds.
        retry_after_ms: Option<u64>,
    },
}

impl WireError {
    /// The same as the error of a model.
    pub fn of_model(self, model: &Arc<str>) -> ModelError {
        let model = model.clone();
        match self {
            Self::Malformed { why } => ModelError::Malformed { model, why },
            Self::Unsupported { why } => ModelError::Unsupported { model, why },
            Self::CutOff { .. } => ModelError::Transport { model, why: self.to_string() },
            Self::Reported { status, message, retry_after_ms } => {
                ModelError::Status { model, status, message, retry_after_ms }
            }
        }
    }

    pub(crate) fn malformed(why: impl Into<String>) -> Self {
        Self::Malformed { why: why.into() }
    }

    pub(crate) fn unsupported(why: impl Into<String>) -> Self {
        Self::Unsupported { why: why.into() }
    }

    pub(crate) fn cut_off(why: impl Into<String>) -> Self {
        Self::CutOff { why: why.into() }
    }
}

/// Reads JSON; where it is not what was expected, the error shows the text.
pub(crate) fn parse<T: serde::de::DeserializeOwned>(what: &str, text: &str) -> Result<T, WireError> {
    rehearsal_core::json::from_str(text)
        .map_err(|error| WireError::malformed(format!("{what}: {error}: {}", shorten(text, 300))))
}
