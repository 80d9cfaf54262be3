//! Calls about runs.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use rehearsal_core::Timestamp;
use rehearsal_store::{RunQuery, RunRecord};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use super::App;
use super::extract::{Params, Path};
use super::reply::Json;
use super::sessions::page_size;
use crate::Problem;
use crate::desk::moment;

/// Which runs to list.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ListParams {
    /// At most so many; 50 unless told.
    #[param(minimum = 1, maximum = 1000)]
    page_size: Option<u32>,
    /// Goes on after the page that gave this.
    page_token: Option<String>,
}

/// A run of a suite.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RunView {
    /// Its id.
    id: String,
    /// When it began.
    #[schema(value_type = String, format = DateTime)]
    started_at: Timestamp,
    /// When it ended.
    #[schema(value_type = Option<String>, format = DateTime)]
    ended_at: Option<Timestamp>,
    /// What was run.
    title: String,
    /// `running`, `passed`, `failed`, `error` or `interrupted`.
    status: String,
    /// How many of its cases came to what.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<std::collections::BTreeMap<String, Value>>)]
    summary: Option<Value>,
    /// What it came to. Left out in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Value>)]
    result: Option<Value>,
}

impl From<RunRecord> for RunView {
    fn from(run: RunRecord) -> Self {
        Self {
            id: run.id,
            started_at: moment(run.started_at),
            ended_at: run.ended_at.map(moment),
            title: run.title,
            status: run.status,
            summary: run.result.as_ref().and_then(|result| result.get("summary")).cloned(),
            result: run.result,
        }
    }
}

/// A page of runs.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Runs {
    /// The runs, newest first.
    runs: Vec<RunView>,
    /// Asks for the next page, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_page_token: Option<String>,
}

/// Lists runs, newest first.
#[utoipa::path(get, path = "/v1/runs", tag = "runs", params(ListParams),
    responses((status = 200, description = "A page of runs.", body = Runs)))]
pub(super) async fn list(
    State(app): State<Arc<App>>,
    Params(params): Params<ListParams>,
) -> Result<Json<Runs>, Problem> {
    let query = RunQuery { limit: page_size(params.page_size)?, page_token: params.page_token };
    let page = app.desk.runs(&query).await?;
    Ok(Json(Runs {
        runs: page.items.into_iter().map(|run| RunView { result: None, ..run.into() }).collect(),
        next_page_token: page.next,
    }))
}

/// Shows a run with its results.
#[utoipa::path(get, path = "/v1/runs/{id}", tag = "runs", params(("id" = String, Path)),
    responses((status = 200, description = "The run.", body = RunView)))]
pub(super) async fn show(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
) -> Result<Json<RunView>, Problem> {
    let run = app.desk.store().run(&id).await?;
    run.map(|run| Json(run.into())).ok_or_else(|| Problem::not_found("run", id))
}

/// Removes a run with its sessions.
#[utoipa::path(delete, path = "/v1/runs/{id}", tag = "runs", params(("id" = String, Path)),
    responses((status = 204, description = "It is gone.")))]
pub(super) async fn delete(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
) -> Result<StatusCode, Problem> {
    app.desk.store().delete_run(&id).await?;
    Ok(StatusCode::NO_CONTENT)
}
