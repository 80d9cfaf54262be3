//! Generate content: Gemini's API.
//!
//! The core's words are close to this API's, so most of the mapping is a change of case. Besides:
//!
//! - Tools are declared with `parametersJsonSchema`; the older `parameters` are read too.
//! - Structured output is `responseMimeType` with `responseJsonSchema`; the older `responseSchema` is read too.
//! - Extra settings merge into the request, so what belongs into `generationConfig` is set under that name.
//! - The API knows no reason of its own for calls: `STOP` with calls is
//!   [`ToolCalls`](rehearsal_core::FinishReason::ToolCalls).
//! - Fields are read in `camelCase` and `snake_case`, and written in `camelCase`.

mod content;
mod error;
mod request;
mod response;
mod stream;

pub use content::{Blob, Content, FileData, FunctionCall, FunctionResponse, Part};
pub use error::{read_error, write_error};
pub use request::{FunctionCallingConfig, FunctionDeclaration, GenerationConfig, Request, Tool, ToolConfig};
pub use response::{Candidate, PromptFeedback, Response, UsageMetadata};
pub use stream::Assembler;
