//! Embeddings: what a model makes of texts, as lists of numbers.

use std::sync::Arc;

use rehearsal_agent::{Model as _, ModelError};
use rehearsal_core::TurnId;
use reqwest::Url;
use serde::Deserialize;
use serde_json::json;

use crate::http;
use crate::key::Key;
use crate::{Api, Provider};

/// What a server answers.
#[derive(Deserialize)]
struct Answer {
    data: Vec<Embedding>,
}

#[derive(Deserialize)]
struct Embedding {
    index: usize,
    embedding: Vec<f64>,
}

impl Provider {
    /// Asks for the embeddings of these texts, in their order: OpenAI's models, and those of any server with the same
    /// interface.
    pub(crate) async fn embeddings(&self, texts: &[String]) -> Result<Vec<Vec<f64>>, ModelError> {
        let unsupported = |why: String| ModelError::Unsupported { model: self.name(), why };
        if !matches!(self.spec().api(), Api::OpenAi | Api::OpenAiCompatible) {
            return Err(unsupported(format!(
                "`{}` has no embeddings that are known here; `openai` and `openai-compatible` have",
                self.spec().api().word()
            )));
        }
        let base_url = self.base_url().trim_end_matches('/');
        let url: Url = format!("{base_url}/embeddings")
            .parse()
            .map_err(|error| unsupported(format!("`{base_url}` cannot be asked: {error}")))?;
        let body = json!({"model": self.spec().model(), "input": texts, "encoding_format": "float"});
        let body = rehearsal_core::json::text(&body).into_bytes();
        let request = http::Request {
            address: Arc::new(url.into()),
            body: body.into(),
            header: None,
            key: self.key().map(Key::header),
        };
        let text = self.post(&TurnId::new("embeddings"), &request).await?;
        let invalid = |why: String| ModelError::Malformed { model: self.name(), why };
        let mut answer: Answer = rehearsal_core::json::from_str(&text)
            .map_err(|error| invalid(format!("its embeddings cannot be read: {error}")))?;
        answer.data.sort_by_key(|embedding| embedding.index);
        let indices: Vec<usize> = answer.data.iter().map(|embedding| embedding.index).collect();
        if indices != (0..texts.len()).collect::<Vec<_>>() {
            return Err(invalid(format!("it gave embeddings {indices:?} of {} texts", texts.len())));
        }
        Ok(answer.data.into_iter().map(|embedding| embedding.embedding).collect())
    }
}
