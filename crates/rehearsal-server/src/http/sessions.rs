//! Calls about sessions.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use rehearsal_store::{SessionQuery, SessionStatus};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use super::App;
use super::extract::{Body, OptionalBody, Params, Path, Raw};
use super::reply::{Json, made};
use crate::desk::{Exported, NewSessionRequest, QueryRequest, SessionChange, SessionView};
use crate::ids;
use crate::{Kind, Problem};

/// Makes a session.
#[utoipa::path(post, path = "/v1/sessions", tag = "sessions",
    request_body = NewSessionRequest,
    responses(
        (status = 201, description = "It was made.", body = SessionView),
        (status = 200, description = "It was there already.", body = SessionView)))]
pub(super) async fn create(
    State(app): State<Arc<App>>,
    Body(new): Body<NewSessionRequest>,
) -> Result<(StatusCode, Json<SessionView>), Problem> {
    let (session, made) = app.desk.create_session(new).await?;
    Ok((if made { StatusCode::CREATED } else { StatusCode::OK }, Json(session)))
}

/// Which sessions to list.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ListParams {
    /// At most so many; 50 unless told.
    #[param(minimum = 1, maximum = 1000)]
    page_size: Option<u32>,
    /// Goes on after the page that gave this.
    page_token: Option<String>,
    /// Only `active`, `completed` or `cancelled` ones, or `ended`: either of the last two.
    #[param(value_type = Option<String>)]
    status: Option<Standing>,
    /// Only those of this agent.
    agent: Option<String>,
    /// Only those of this run.
    run: Option<String>,
    /// Only those whose id, description or agent contains this.
    q: Option<String>,
}

/// How sessions stand that are sought.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Standing {
    Active,
    Completed,
    Cancelled,
    Ended,
}

impl Standing {
    fn statuses(self) -> Vec<SessionStatus> {
        match self {
            Self::Active => vec![SessionStatus::Active],
            Self::Completed => vec![SessionStatus::Completed],
            Self::Cancelled => vec![SessionStatus::Cancelled],
            Self::Ended => vec![SessionStatus::Completed, SessionStatus::Cancelled],
        }
    }
}

/// A page of sessions.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Sessions {
    /// The sessions, newest first.
    sessions: Vec<SessionView>,
    /// Asks for the next page, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_page_token: Option<String>,
}

/// Lists sessions, newest first.
#[utoipa::path(get, path = "/v1/sessions", tag = "sessions", params(ListParams),
    responses((status = 200, description = "A page of sessions.", body = Sessions)))]
pub(super) async fn list(
    State(app): State<Arc<App>>,
    Params(params): Params<ListParams>,
) -> Result<Json<Sessions>, Problem> {
    let query = SessionQuery {
        limit: page_size(params.page_size)?,
        page_token: params.page_token,
        statuses: params.status.map(Standing::statuses).unwrap_or_default(),
        agent: params.agent,
        run: params.run,
        search: params.q.filter(|text| !text.is_empty()),
        ..SessionQuery::default()
    };
    let page = app.desk.sessions(&query).await?;
    Ok(Json(Sessions { sessions: page.items, next_page_token: page.next }))
}

/// How many things a page has.
pub(super) fn page_size(asked: Option<u32>) -> Result<u32, Problem> {
    match asked {
        None => Ok(50),
        Some(size @ 1..=1000) => Ok(size),
        Some(size) => Err(Problem::invalid(
            Kind::InvalidParameters,
            format!("`page_size` is {size}; it goes from 1 to 1000"),
        )),
    }
}

/// Shows a session.
#[utoipa::path(get, path = "/v1/sessions/{id}", tag = "sessions", params(("id" = String, Path, format = Uuid)),
    responses((status = 200, description = "The session.", body = SessionView)))]
pub(super) async fn show(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
) -> Result<Json<SessionView>, Problem> {
    Ok(Json(app.desk.session(&ids::session(&id)?).await?))
}

/// Chooses the agent of a session that has none.
#[utoipa::path(patch, path = "/v1/sessions/{id}", tag = "sessions", params(("id" = String, Path, format = Uuid)),
    request_body = SessionChange,
    responses((status = 200, description = "The session.", body = SessionView)))]
pub(super) async fn change(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    Body(change): Body<SessionChange>,
) -> Result<Json<SessionView>, Problem> {
    Ok(Json(app.desk.change_session(&ids::session(&id)?, &change).await?))
}

/// Removes a session with its events.
#[utoipa::path(delete, path = "/v1/sessions/{id}", tag = "sessions", params(("id" = String, Path, format = Uuid)),
    responses((status = 204, description = "It is gone.")))]
pub(super) async fn delete(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
) -> Result<StatusCode, Problem> {
    app.desk.delete(&ids::session(&id)?).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The user says something.
#[utoipa::path(post, path = "/v1/sessions/{id}/query", tag = "sessions", params(("id" = String, Path, format = Uuid)),
    request_body = QueryRequest,
    responses((status = 200, description = "The session.", body = SessionView)))]
pub(super) async fn query(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    Body(query): Body<QueryRequest>,
) -> Result<Json<SessionView>, Problem> {
    Ok(Json(app.desk.query(&ids::session(&id)?, &query).await?))
}

/// Ends a session that has its final response.
#[utoipa::path(post, path = "/v1/sessions/{id}/complete", tag = "sessions", params(("id" = String, Path, format = Uuid)),
    responses((status = 200, description = "The session.", body = SessionView)))]
pub(super) async fn complete(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
) -> Result<Json<SessionView>, Problem> {
    Ok(Json(app.desk.complete(&ids::session(&id)?).await?))
}

/// Why a session is cancelled.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Cancellation {
    /// For the ledger.
    #[serde(default)]
    reason: Option<String>,
}

/// Ends a session without a final response; its cues are dismissed.
#[utoipa::path(post, path = "/v1/sessions/{id}/cancel", tag = "sessions", params(("id" = String, Path, format = Uuid)),
    request_body(content = Option<Cancellation>),
    responses((status = 200, description = "The session.", body = SessionView)))]
pub(super) async fn cancel(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    OptionalBody(why): OptionalBody<Cancellation>,
) -> Result<Json<SessionView>, Problem> {
    Ok(Json(app.desk.cancel(&ids::session(&id)?, why.reason.as_deref()).await?))
}

/// A session's ledger as JSON Lines.
#[utoipa::path(get, path = "/v1/sessions/{id}/ledger", tag = "sessions", params(("id" = String, Path, format = Uuid)),
    responses((status = 200, description = "The ledger.", body = String, content_type = "application/jsonl")))]
pub(super) async fn ledger(State(app): State<Arc<App>>, Path(id): Path<String>) -> Result<Response, Problem> {
    let ledger = app.desk.ledger(&ids::session(&id)?).await?;
    Ok(([(header::CONTENT_TYPE, "application/jsonl")], ledger.to_jsonl()).into_response())
}

/// How an imported session is labelled.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ImportParams {
    /// A label for people.
    description: Option<String>,
}

/// Keeps a ledger from elsewhere as a session.
#[utoipa::path(post, path = "/v1/ledgers", tag = "sessions", params(ImportParams),
    request_body(content = String, content_type = "application/jsonl", description = "A ledger as JSON Lines."),
    responses((status = 201, description = "The session.", body = SessionView)))]
pub(super) async fn import(
    State(app): State<Arc<App>>,
    Params(params): Params<ImportParams>,
    Raw(bytes): Raw,
) -> Result<(StatusCode, Json<SessionView>), Problem> {
    let text = std::str::from_utf8(&bytes)
        .map_err(|error| Problem::invalid(Kind::InvalidLedger, format!("this is no ledger: {error}")))?;
    Ok((StatusCode::CREATED, Json(app.desk.import(text, params.description).await?)))
}

/// What happened, as typed entries.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct History {
    /// User queries, tool calls, tool outputs, tool errors, failed runs and final responses, in order.
    #[schema(value_type = Vec<Object>)]
    entries: Vec<Value>,
}

/// What happened in a session: user queries, tool calls, tool outputs, tool errors, failed runs, final responses.
#[utoipa::path(get, path = "/v1/sessions/{id}/history", tag = "sessions", params(("id" = String, Path, format = Uuid)),
    responses((status = 200, description = "The history.", body = History)))]
pub(super) async fn history(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let standing = app.desk.standing(&ids::session(&id)?).await?;
    made(move || Ok(History { entries: crate::history::entries(&standing) })).await
}

/// How the golden trace is written.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct TraceParams {
    /// Whether the eval id has colons in its time; `adk eval FILE:id` can select only those without. True unless told.
    colons: Option<bool>,
}

/// A completed session's golden trace, as an ADK `EvalCase`.
#[utoipa::path(get, path = "/v1/sessions/{id}/eval-case", tag = "sessions",
    params(("id" = String, Path, format = Uuid), TraceParams),
    responses((status = 200, description = "The EvalCase.", body = Object)))]
pub(super) async fn eval_case(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    Params(params): Params<TraceParams>,
) -> Result<Response, Problem> {
    let ledger = app.desk.ledger(&ids::session(&id)?).await?;
    made(move || crate::history::eval_case(&ledger, params.colons.unwrap_or(true))).await
}

/// How a session is exported.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ExportRequest {
    /// Whether to write it once more when it was written before. Otherwise the earlier export is told again.
    #[serde(default)]
    again: bool,
    /// Whether only the messages before the first one that `adk eval` cannot run are written.
    #[serde(default)]
    runnable: bool,
}

/// Asks the host that plays a completed session to write its golden trace into the agent's `EvalSet` file.
#[utoipa::path(post, path = "/v1/sessions/{id}/export", tag = "sessions", params(("id" = String, Path, format = Uuid)),
    request_body(content = Option<ExportRequest>),
    responses((status = 200, description = "The file and the eval id.", body = Exported)))]
pub(super) async fn export(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    OptionalBody(request): OptionalBody<ExportRequest>,
) -> Result<Json<Exported>, Problem> {
    Ok(Json(app.desk.export(&ids::session(&id)?, request.again, request.runnable).await?))
}
