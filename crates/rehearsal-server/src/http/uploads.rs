//! Large tool results, which arrive in chunks.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::App;
use super::extract::{Params, Path, Raw};
use super::reply::Json;
use crate::ids::{self, fresh};
use crate::problem::{Class, Kind, Problem};

/// The largest chunk.
const LARGEST_CHUNK: usize = 4 << 20;

/// An upload that has begun.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Upload {
    /// Its id.
    id: String,
}

/// Begins an upload. Its chunks follow; then an event of type `tool_result` names it as its `upload`.
#[utoipa::path(post, path = "/v1/uploads", tag = "uploads",
    responses((status = 201, description = "The upload.", body = Upload)))]
pub(super) async fn begin() -> (StatusCode, Json<Upload>) {
    (StatusCode::CREATED, Json(Upload { id: fresh() }))
}

/// Where a chunk belongs.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ChunkParams {
    /// How many bytes come before it.
    offset: u64,
}

/// Adds a chunk of at most 4 MiB to an upload, which takes 256 MiB in all.
#[utoipa::path(put, path = "/v1/uploads/{id}", tag = "uploads",
    params(("id" = String, Path, format = Uuid), ChunkParams),
    request_body(content = String, content_type = "application/octet-stream"),
    responses((status = 204, description = "It is kept.")))]
pub(super) async fn put(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    Params(params): Params<ChunkParams>,
    Raw(bytes): Raw,
) -> Result<StatusCode, Problem> {
    let id = ids::uuid4("upload id", &id)?;
    if bytes.len() > LARGEST_CHUNK {
        return Err(Problem::new(Class::TooLarge, Kind::TooLarge, "a chunk has at most 4 MiB; send several"));
    }
    if bytes.is_empty() {
        return Err(Problem::invalid(Kind::EmptyChunk, "a chunk has at least one byte"));
    }
    app.desk.put_chunk(&id, params.offset, bytes).await?;
    Ok(StatusCode::NO_CONTENT)
}
