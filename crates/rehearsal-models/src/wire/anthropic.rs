//! Messages: Anthropic's API.
//!
//! How it maps to the core's words:
//!
//! - Calls are `tool_use` blocks, results `tool_result` blocks, thoughts `thinking` blocks with their signature.
//!   The API refuses thoughts that it did not sign, so thoughts without a signature are left out of requests.
//! - A result is written as JSON text. Text that is not a JSON object is read as `{"result": text}`, or as
//!   `{"error": text}` where the result says that it is an error.
//! - Structured output is `output_config.format`. The API knows a part of JSON Schema and refuses the rest: bounds
//!   such as `minimum` are moved into descriptions, and objects are closed.
//! - Sampling settings make a request one for an [older version](SAMPLING_VERSION) of the API, which still has
//!   them.
//! - The API has no seed, and insists on a longest answer: [`DEFAULT_MAX_TOKENS`] where none is set.
//! - Tokens read from a cache or written to one are counted as read.

mod block;
mod error;
mod request;
mod response;
mod schema;
mod stream;

pub use block::{
    Base64Source, Block, BlockList, ImageBlock, ImageSource, TextBlock, ThinkingBlock, ToolResultBlock,
    ToolUseBlock, UrlSource,
};
pub use error::{read_error, write_error};
pub use request::{
    DEFAULT_MAX_TOKENS, Format, JsonSchemaFormat, Message, NamedTool, OutputConfig, Request,
    SAMPLING_VERSION, Tool, ToolChoice, ToolChoiceBody, VERSION,
};
pub use response::{OutputDetails, Response, Usage};
pub use stream::{
    Assembler, BlockDelta, BlockDeltaEvent, BlockStart, BlockStop, Event, JsonDelta, MessageChange,
    MessageDeltaEvent, MessageStart, SignatureDelta, TextDelta, ThinkingDelta,
};

/// The name under which what only this API knows is kept.
const API: &str = "anthropic";
