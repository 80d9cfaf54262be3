//! A model with a seed for its sampling.

use std::sync::Arc;

use async_trait::async_trait;
use futures::stream::BoxStream;
use rehearsal_agent::{Model, ModelCall, ModelChunk, ModelError};
use rehearsal_core::{ModelResponse, Player};

/// A model whose requests carry a seed. It stands in them, so ledgers have it too.
#[derive(Debug)]
pub(super) struct Seeded {
    pub(super) model: Arc<dyn Model>,
    pub(super) seed: i64,
}

#[async_trait]
impl Model for Seeded {
    fn name(&self) -> Arc<str> {
        self.model.name()
    }

    fn player(&self) -> Player {
        self.model.player()
    }

    fn model_id(&self) -> &str {
        self.model.model_id()
    }

    fn seed(&self) -> Option<i64> {
        Some(self.seed)
    }

    async fn respond(&self, call: &ModelCall) -> Result<ModelResponse, ModelError> {
        self.model.respond(call).await
    }

    fn stream<'a>(&'a self, call: &'a ModelCall) -> BoxStream<'a, Result<ModelChunk, ModelError>> {
        self.model.stream(call)
    }
}
