//! Calls about events.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::sse::{Event as SseEvent, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures::Stream;
use rehearsal_core::Timestamp;
use rehearsal_store::{Change, StoredEvent};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::{IntoParams, ToSchema};

use super::App;
use super::extract::{Body, Params, Path};
use super::reply::{Json, made};
use crate::desk::{Observation, Recorded};
use crate::history::event_shown;
use crate::ids;
use crate::problem::{Class, Kind, Problem};
use crate::stream::{Item, follow};

/// Which events to list.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ListParams {
    /// Only those after this number.
    after: Option<u64>,
    /// At most so many; 100 unless told.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<u32>,
}

/// One fact of a session's ledger. This describes it; what is sent is the ledger's own JSON.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Event)]
pub(super) struct EventForm {
    /// Its number in the session, from 1.
    seq: u64,
    /// Its id.
    event_id: String,
    /// The session.
    session: String,
    /// When it happened.
    #[schema(value_type = String, format = DateTime)]
    at: Timestamp,
    /// Who caused it: `user`, an agent's name, or `rehearsal`.
    author: String,
    /// The execution of an agent it belongs to.
    invocation: Option<String>,
    /// The model turn it belongs to.
    turn: Option<String>,
    /// For answers: who gave it and how long it took.
    decision: Option<DecisionForm>,
    /// What happened.
    body: BodyForm,
    /// Whether large values were cut; the event by itself has them whole.
    truncated: Option<bool>,
}

/// Who gave an answer.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Decision)]
struct DecisionForm {
    /// `provider`, `person`, `script`, `mock`, `tool`, `recording`, `agent` or `engine`.
    by: String,
    /// Which one.
    name: Option<String>,
    /// How long the answer took, in microseconds.
    micros: u64,
}

/// What happened: a kind, and the fields of that kind.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = EventBody)]
struct BodyForm {
    /// `session_started`, `agent_started`, `agent_ended`, `user_message`, `model_request`, `model_response`,
    /// `output_rejected`, `tool_call`, `tool_result`, `yield`, `state_change`, `state_conflict`, `final_response`,
    /// `error` or `session_ended`; beside the conversation `step_started`, `step_ended`, `step_commands`, `time_limit`,
    /// `folder_kept`, `turn_ended`, `turn_decision`, `user_simulation`, `remote_session`, `agent_log`, `run_failed`,
    /// `cue_dismissed`, `late_result`, `repeated_result`, `tool_exception`, `agent_chosen`, `cancel_reason`, `artifact_saved`; or, of
    /// another program, `note`.
    r#type: String,
}

/// Events of a session.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Events {
    /// The events, in order. Large values are cut; the event by itself has them whole.
    #[schema(value_type = Vec<EventForm>)]
    events: Vec<Value>,
    /// The number of the session's last event.
    last_seq: u64,
}

/// Lists events of a session.
#[utoipa::path(get, path = "/v1/sessions/{id}/events", tag = "events",
    params(("id" = String, Path, format = Uuid), ListParams),
    responses((status = 200, description = "Events.", body = Events)))]
pub(super) async fn list(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    Params(params): Params<ListParams>,
) -> Result<Response, Problem> {
    let session = ids::session(&id)?;
    let limit = params.limit.unwrap_or(100);
    if !(1..=1000).contains(&limit) {
        return Err(Problem::invalid(
            Kind::InvalidParameters,
            format!("`limit` is {limit}; it goes from 1 to 1000"),
        ));
    }
    let after = number(params.after.unwrap_or(0))?;
    let record = app.desk.record(&session).await?;
    let events = app.desk.events(&session, after, limit).await?;
    // Events may have come since the session was looked at.
    let last_seq = events.last().map_or(0, |last| last.event.seq).max(record.last_seq);
    made(move || Ok(Events { events: events.iter().map(event_shown).collect(), last_seq })).await
}

/// Event numbers as the store counts them.
fn number(number: u64) -> Result<u64, Problem> {
    if i64::try_from(number).is_err() {
        return Err(Problem::invalid(Kind::InvalidParameters, format!("no session has {number} events")));
    }
    Ok(number)
}

/// One event, whole.
#[utoipa::path(get, path = "/v1/sessions/{id}/events/{seq}", tag = "events",
    params(("id" = String, Path, format = Uuid), ("seq" = u64, Path)),
    responses((status = 200, description = "The event.", body = EventForm)))]
pub(super) async fn show(
    State(app): State<Arc<App>>,
    Path((id, seq)): Path<(String, u64)>,
) -> Result<impl IntoResponse, Problem> {
    let session = ids::session(&id)?;
    let seq = number(seq)?;
    let found = app.desk.store().line(&session, seq).await?;
    let (event_id, line) = found.ok_or_else(|| Problem::not_found("event", seq))?;
    // It is long, perhaps; it is not read only to be written again.
    let fields = line.strip_prefix('{').unwrap_or(&line);
    let event = format!("{{\"event_id\":{},{fields}", Value::from(event_id));
    Ok(([(header::CONTENT_TYPE, "application/json")], event))
}

/// What an agent elsewhere did.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Observations {
    /// In order.
    #[schema(max_items = 1000)]
    events: Vec<Observation>,
}

/// What was taken.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct AllRecorded {
    /// The events.
    events: Vec<Recorded>,
}

/// Puts what an agent elsewhere did on its session's ledger: all of it or nothing.
#[utoipa::path(post, path = "/v1/sessions/{id}/events", tag = "events", params(("id" = String, Path, format = Uuid)),
    request_body = Observations,
    responses((status = 200, description = "What is on the ledger.", body = AllRecorded)))]
pub(super) async fn observe(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    Body(observations): Body<Observations>,
) -> Result<Json<AllRecorded>, Problem> {
    let session = ids::session(&id)?;
    if observations.events.len() > 1000 {
        return Err(Problem::new(Class::TooLarge, Kind::TooLarge, "send at most 1000 events in one call"));
    }
    let events = app.desk.observe(&session, observations.events).await?;
    app.metrics.events.inc_by(events.len() as u64);
    Ok(Json(AllRecorded { events }))
}

/// Where a stream begins.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct StreamParams {
    /// Only events after this number. The header Last-Event-ID does the same.
    after: Option<u64>,
}

/// Events of a session as they happen, after those that happened.
#[utoipa::path(get, path = "/v1/sessions/{id}/events/stream", tag = "events",
    params(("id" = String, Path, format = Uuid), StreamParams),
    responses((status = 200, description = "Server-sent events: `id` is the event's number, `event` its kind.",
        body = String, content_type = "text/event-stream")))]
pub(super) async fn stream(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    Params(params): Params<StreamParams>,
    headers: HeaderMap,
) -> Result<Sse<impl Stream<Item = Result<SseEvent, Infallible>>>, Problem> {
    let session = ids::session(&id)?;
    app.desk.record(&session).await?;
    let last =
        headers.get("last-event-id").and_then(|last| last.to_str().ok()).and_then(|last| last.parse().ok());
    let after = number(last.or(params.after).unwrap_or(0))?;
    let permit = app.streams.clone().try_acquire_owned().map_err(|_| too_many())?;
    let items = follow(app.desk.clone(), session, after);
    let stream = async_stream(items, Arc::new(permit));
    Ok(Sse::new(stream).keep_alive(KeepAlive::new().interval(Duration::from_secs(15))))
}

fn async_stream(
    items: impl Stream<Item = Result<Item, Problem>>,
    permit: Arc<tokio::sync::OwnedSemaphorePermit>,
) -> impl Stream<Item = Result<SseEvent, Infallible>> {
    use futures::StreamExt as _;
    items.then(move |item| {
        let held = permit.clone();
        async move {
            let _held = held;
            Ok(match item {
                Ok(Item::Event(stored)) => written(stored).await,
                Ok(Item::HistoryComplete) => SseEvent::default().comment("history complete"),
                Err(problem) => told(&problem),
            })
        }
    })
}

/// An event as the stream has it, cut and written where nobody else waits.
async fn written(stored: StoredEvent) -> SseEvent {
    let begun = SseEvent::default().id(stored.event.seq.to_string()).event(stored.event.body.kind());
    let text = tokio::task::spawn_blocking(move || rehearsal_core::json::text(&event_shown(&stored))).await;
    match text {
        Ok(text) => begun.data(text),
        Err(error) => told(&Problem::new(Class::Internal, Kind::Internal, error.to_string())),
    }
}

fn told(problem: &Problem) -> SseEvent {
    let words = json!({"type": problem.kind.word(), "detail": problem.detail}).to_string();
    SseEvent::default().event("problem").data(words)
}

fn too_many() -> Problem {
    Problem::new(
        Class::Busy,
        Kind::TooManyStreams,
        "too many streams are open here; close some, or use long polls",
    )
}

/// Says whenever a session or a run changed.
#[utoipa::path(get, path = "/v1/changes", tag = "events",
    responses((status = 200, description = "Server-sent events: `session` or `run` with its id, or `everything` when anything may have changed.",
        body = String, content_type = "text/event-stream")))]
pub(super) async fn changes(
    State(app): State<Arc<App>>,
) -> Result<Sse<impl Stream<Item = Result<SseEvent, Infallible>>>, Problem> {
    let permit = app.streams.clone().try_acquire_owned().map_err(|_| too_many())?;
    let receiver = app.desk.store().changes();
    let desk = app.desk.clone();
    let stream =
        futures::stream::unfold((receiver, permit, desk), |(mut receiver, permit, desk)| async move {
            loop {
                let change = tokio::select! {
                    change = receiver.recv() => change,
                    () = desk.closed() => return None,
                };
                let event = match change {
                    Ok(Change::Session(session)) => {
                        SseEvent::default().event("session").data(json!({"session": session}).to_string())
                    }
                    Ok(Change::Run(run)) => {
                        SseEvent::default().event("run").data(json!({"run": run}).to_string())
                    }
                    Ok(Change::Work(_)) => continue,
                    Ok(Change::Everything) | Err(tokio::sync::broadcast::error::RecvError::Lagged(_)) => {
                        SseEvent::default().event("everything").data("{}")
                    }
                    Err(tokio::sync::broadcast::error::RecvError::Closed) => return None,
                };
                return Some((Ok(event), (receiver, permit, desk)));
            }
        });
    Ok(Sse::new(stream).keep_alive(KeepAlive::new().interval(Duration::from_secs(15))))
}
