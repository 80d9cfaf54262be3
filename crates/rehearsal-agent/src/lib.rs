//! Running an agent.
mod model;
pub use model::{Model, ModelCall, ModelChunk, ModelError};
