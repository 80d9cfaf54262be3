//! Chat completions: OpenAI's API, and that of every server compatible with it.
//!
//! How it maps to the core's words:
//!
//! - The instructions are a `system` message; tool results are `tool` messages, one per result.
//! - A result is written as JSON text. Text that is not a JSON object is read as `{"result": text}`.
//! - Thoughts are `reasoning_content` (`reasoning` is read too). OpenAI itself has no place for them, so
//!   [`Dialect::OpenAi`] leaves the thoughts of earlier turns out.
//! - A refusal is text marked `{"openai": {"refusal": true}}`, and the response's finish is
//!   [`Safety`](rehearsal_core::FinishReason::Safety).
//! - The names of participants and other fields of whole messages have no place in the core.

mod answer;
mod error;
mod message;
mod request;
mod response;
mod stream;

pub(crate) use answer::read;
pub use error::{read_error, write_error};
pub use message::{
    ContentPart, FunctionText, ImagePart, ImageUrl, Message, MessageContent, RefusalPart, TextPart, ToolCall,
};
pub use request::{
    Dialect, Function, FunctionTool, JsonSchema, JsonSchemaFormat, Request, ResponseFormat, Stop, Tool,
    ToolChoice,
};
pub use response::{Choice, CompletionDetails, PromptDetails, Response, Usage};
pub use stream::{Assembler, Chunk, ChunkChoice, FunctionDelta, MessageDelta, ToolCallDelta, UsageInStream};

/// The name under which what only this API knows is kept.
const API: &str = "openai";
