//! Calls of hosts, and about the agents they can run.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use rehearsal_store::WorkOutcome;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::App;
use super::extract::{Body, Params, Path, wait};
use super::reply::Json;
use super::turns::WaitParams;
use crate::Problem;
use crate::desk::{AgentView, NewHost, WorkView};

/// Registers a host and its agents; again as a sign of life.
#[utoipa::path(put, path = "/v1/hosts/{host_id}", tag = "hosts", params(("host_id" = String, Path, format = Uuid)),
    request_body = NewHost,
    responses((status = 204, description = "It is known.")))]
pub(super) async fn register(
    State(app): State<Arc<App>>,
    Path(host): Path<String>,
    Body(about): Body<NewHost>,
) -> Result<StatusCode, Problem> {
    app.desk.register(&host, about).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// A host goes.
#[utoipa::path(delete, path = "/v1/hosts/{host_id}", tag = "hosts", params(("host_id" = String, Path, format = Uuid)),
    responses((status = 204, description = "It is gone.")))]
pub(super) async fn leave(
    State(app): State<Arc<App>>,
    Path(host): Path<String>,
) -> Result<StatusCode, Problem> {
    app.desk.leave(&host).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Waits for something a host is to do.
#[utoipa::path(get, path = "/v1/hosts/{host_id}/work", tag = "hosts",
    params(("host_id" = String, Path, format = Uuid), WaitParams),
    responses(
        (status = 200, description = "What to do.", body = WorkView),
        (status = 204, description = "Nothing yet; ask again.")))]
pub(super) async fn work(
    State(app): State<Arc<App>>,
    Path(host): Path<String>,
    Params(params): Params<WaitParams>,
) -> Result<Response, Problem> {
    Ok(match app.desk.await_work(&host, wait(params.wait)?).await? {
        Some(work) => Json(work).into_response(),
        None => StatusCode::NO_CONTENT.into_response(),
    })
}

/// What came of a piece of work: exactly one of these.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Outcome {
    /// It was done, with this result.
    Done(Value),
    /// It failed.
    Failed(String),
}

/// Says what came of a piece of work.
#[utoipa::path(post, path = "/v1/hosts/{host_id}/work/{work_id}", tag = "hosts",
    params(("host_id" = String, Path, format = Uuid), ("work_id" = String, Path, format = Uuid)),
    request_body = Outcome,
    responses((status = 204, description = "It is known.")))]
pub(super) async fn finish(
    State(app): State<Arc<App>>,
    Path((host, work)): Path<(String, String)>,
    Body(outcome): Body<Outcome>,
) -> Result<StatusCode, Problem> {
    let outcome = match outcome {
        Outcome::Done(result) => WorkOutcome::Done(result),
        Outcome::Failed(why) => WorkOutcome::Failed(why),
    };
    app.desk.finish_work(&host, &work, outcome).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The agents that hosts can run.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Agents {
    /// By name; those whose host is there come first.
    agents: Vec<AgentView>,
}

/// Lists the agents that hosts can run.
#[utoipa::path(get, path = "/v1/agents", tag = "hosts",
    responses((status = 200, description = "The agents.", body = Agents)))]
pub(super) async fn list(State(app): State<Arc<App>>) -> Result<Json<Agents>, Problem> {
    Ok(Json(Agents { agents: app.desk.agents().await? }))
}

/// Shows an agent.
#[utoipa::path(get, path = "/v1/agents/{name}", tag = "hosts", params(("name" = String, Path)),
    responses((status = 200, description = "The agent.", body = AgentView)))]
pub(super) async fn show(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
) -> Result<Json<AgentView>, Problem> {
    let found = app.desk.agents().await?.into_iter().find(|view| view.agent.name == name);
    found.map(Json).ok_or_else(|| Problem::not_found("agent", name))
}
