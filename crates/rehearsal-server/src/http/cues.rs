//! Calls of people who answer.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use rehearsal_store::{CueId, CueQuery, CueStatus};
use serde::Deserialize;
use serde_json::{Map, Value};
use utoipa::{IntoParams, ToSchema};

use super::App;
use super::extract::{Body, Params, Path, key};
use super::reply::Json;
use crate::desk::{Answered, CueView, NewAnswer, SessionCues};
use crate::ids;
use crate::{Kind, Problem};

/// Which cues to list.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ListParams {
    /// Only those of this session.
    #[param(format = Uuid)]
    session: Option<String>,
    /// Only `open`, `abandoned`, `answered` or `dismissed` ones; open and abandoned ones unless told.
    #[param(value_type = Option<String>)]
    status: Option<CueStatus>,
    /// At most so many; 100 unless told.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<u32>,
}

/// Lists cues in the order they are to be answered.
#[utoipa::path(get, path = "/v1/cues", tag = "cues", params(ListParams),
    responses((status = 200, description = "The cues.", body = SessionCues)))]
pub(super) async fn list(
    State(app): State<Arc<App>>,
    Params(params): Params<ListParams>,
) -> Result<Json<SessionCues>, Problem> {
    let limit = params.limit.unwrap_or(100);
    if !(1..=1000).contains(&limit) {
        return Err(Problem::invalid(
            Kind::InvalidParameters,
            format!("`limit` is {limit}; it goes from 1 to 1000"),
        ));
    }
    let session = match &params.session {
        Some(id) => Some(ids::session(id)?),
        None => None,
    };
    let statuses = match params.status {
        Some(status) => vec![status],
        None => vec![CueStatus::Open, CueStatus::Abandoned],
    };
    Ok(Json(app.desk.cues(&CueQuery { session, statuses, limit }).await?))
}

/// A cue's id as it is kept: those of the model are turns, whose letters are small.
fn cue_id(id: &str) -> CueId {
    CueId::new(id.to_ascii_lowercase())
}

/// Shows a cue with what is needed to decide.
#[utoipa::path(get, path = "/v1/cues/{id}", tag = "cues", params(("id" = String, Path)),
    responses((status = 200, description = "The cue.", body = CueView)))]
pub(super) async fn show(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
) -> Result<Json<CueView>, Problem> {
    Ok(Json(app.desk.cue(&cue_id(&id)).await?))
}

/// How an answer is taken.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct AnswerParams {
    /// Keeps the answer where nobody waits for it any more, for a program that comes back; without it, such an answer is
    /// refused (409 `agent_gone`).
    #[serde(default)]
    #[param(required = false)]
    anyway: bool,
}

/// Answers a cue: for the model one of `text`, `calls`, `final`, `content`, `candidates`; for a tool `output` or
/// `error`; for the user `text`, `content` or `end`.
#[utoipa::path(post, path = "/v1/cues/{id}/answer", tag = "cues",
    params(("id" = String, Path), AnswerParams, ("Idempotency-Key" = Option<String>, Header, description = "The same answer with the same key is taken once.")),
    request_body(content = Object, example = json!({"calls": [{"tool": "add", "args": {"a": 2, "b": 2}}]})),
    responses((status = 200, description = "It was taken.", body = Answered)))]
pub(super) async fn answer(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    Params(params): Params<AnswerParams>,
    headers: HeaderMap,
    Body(answer): Body<Map<String, Value>>,
) -> Result<Json<Answered>, Problem> {
    let key = key(&headers)?;
    let given = NewAnswer { answer: Value::Object(answer), key, name: None, anyway: params.anyway };
    let answered = app.desk.answer(&cue_id(&id), given).await?;
    app.metrics.answers.inc();
    Ok(Json(answered))
}

/// Puts a cue away; whoever waits is told that no answer will come.
#[utoipa::path(post, path = "/v1/cues/{id}/dismiss", tag = "cues", params(("id" = String, Path)),
    responses((status = 200, description = "The cue.", body = CueView)))]
pub(super) async fn dismiss(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
) -> Result<Json<CueView>, Problem> {
    Ok(Json(app.desk.dismiss(&cue_id(&id)).await?))
}

/// A tool to call.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ToolRequest {
    /// The tool.
    tool: String,
    /// Its arguments.
    #[serde(default)]
    #[schema(value_type = Object)]
    args: Map<String, Value>,
}

/// Calls a tool: answers the session's head cue with one call.
#[utoipa::path(post, path = "/v1/sessions/{id}/calls", tag = "cues",
    params(("id" = String, Path, format = Uuid), ("Idempotency-Key" = Option<String>, Header, description = "The same call with the same key is taken once.")),
    request_body = ToolRequest,
    responses((status = 200, description = "The cue that was answered.", body = Answered)))]
pub(super) async fn call(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    Body(request): Body<ToolRequest>,
) -> Result<Json<Answered>, Problem> {
    let session = ids::session(&id)?;
    let args = Value::Object(request.args);
    let answered = app.desk.call_tool(&session, &request.tool, &args, key(&headers)?).await?;
    app.metrics.answers.inc();
    Ok(Json(answered))
}

/// Asks the session's host to cancel a running tool.
#[utoipa::path(post, path = "/v1/sessions/{id}/calls/{call_id}/cancel", tag = "cues",
    params(("id" = String, Path, format = Uuid), ("call_id" = String, Path)),
    responses((status = 202, description = "The host is asked; the session records a tool error of type `Cancelled`.")))]
pub(super) async fn cancel_call(
    State(app): State<Arc<App>>,
    Path((id, call)): Path<(String, String)>,
) -> Result<StatusCode, Problem> {
    app.desk.cancel_call(&ids::session(&id)?, &call).await?;
    Ok(StatusCode::ACCEPTED)
}
