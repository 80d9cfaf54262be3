//! Calls of agents that ask their model.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use utoipa::IntoParams;

use super::App;
use super::extract::{Body, Params, Path, wait};
use super::reply::Json;
use crate::Problem;
use crate::desk::{Submitted, TurnAnswer, TurnRequest, TurnView};
use crate::ids;

/// An agent asks its model; a cue is opened for it.
#[utoipa::path(put, path = "/v1/sessions/{id}/turns/{turn_id}", tag = "turns",
    params(("id" = String, Path, format = Uuid), ("turn_id" = String, Path, format = Uuid)),
    request_body = TurnRequest,
    responses(
        (status = 201, description = "It was taken in.", body = Submitted),
        (status = 200, description = "It was there already.", body = Submitted)))]
pub(super) async fn submit(
    State(app): State<Arc<App>>,
    Path((id, turn)): Path<(String, String)>,
    Body(request): Body<TurnRequest>,
) -> Result<(StatusCode, Json<Submitted>), Problem> {
    let submitted = app.desk.submit_turn(&ids::session(&id)?, &turn, request).await?;
    if submitted.repeated {
        return Ok((StatusCode::OK, Json(submitted)));
    }
    app.metrics.turns.inc();
    Ok((StatusCode::CREATED, Json(submitted)))
}

/// Shows what a turn asked its model, whole: the ledger keeps only what is new since an earlier turn.
#[utoipa::path(get, path = "/v1/sessions/{id}/turns/{turn_id}", tag = "turns",
    params(("id" = String, Path, format = Uuid), ("turn_id" = String, Path)),
    responses((status = 200, description = "The turn.", body = TurnView)))]
pub(super) async fn show(
    State(app): State<Arc<App>>,
    Path((id, turn)): Path<(String, String)>,
) -> Result<Json<TurnView>, Problem> {
    Ok(Json(app.desk.turn(&ids::session(&id)?, &turn).await?))
}

/// How long to wait.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct WaitParams {
    /// Holds the call until there is something to say, at most so many seconds (60).
    #[param(minimum = 0)]
    pub(super) wait: Option<f64>,
}

/// Waits for the answer to a turn.
#[utoipa::path(get, path = "/v1/sessions/{id}/turns/{turn_id}/response", tag = "turns",
    params(("id" = String, Path, format = Uuid), ("turn_id" = String, Path, format = Uuid), WaitParams),
    responses(
        (status = 200, description = "The answer.", body = TurnAnswer),
        (status = 204, description = "There is none yet; ask again.")))]
pub(super) async fn response(
    State(app): State<Arc<App>>,
    Path((id, turn)): Path<(String, String)>,
    Params(params): Params<WaitParams>,
) -> Result<Response, Problem> {
    let answer = app.desk.await_turn(&ids::session(&id)?, &turn, wait(params.wait)?).await?;
    Ok(match answer {
        Some(answer) => Json(answer).into_response(),
        None => StatusCode::NO_CONTENT.into_response(),
    })
}
