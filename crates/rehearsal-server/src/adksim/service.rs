//! The service of the published simulator, over the same desk as everything else.

use std::pin::Pin;
use std::sync::Arc;

use axum::Router;
use futures::{Stream, StreamExt as _};
use rehearsal_core::{Ledger, SessionId, Timestamp};
use rehearsal_store::{Payload, SessionQuery, SessionRecord, SessionSource, StoredEvent};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tonic::{Request, Response, Status};

use super::wire::session_event::Payload as WirePayload;
use super::wire::simulator_service_server::{SimulatorService, SimulatorServiceServer};
use super::wire::{
    CreateSessionRequest, CreateSessionResponse, HistoryComplete, ListSessionsRequest, ListSessionsResponse,
    SessionEvent, SimulatorSession, SubmitDecisionRequest, SubmitDecisionResponse, SubmitRequestRequest,
    SubmitRequestResponse, SubscribeRequest, SubscribeResponse,
};
use crate::LARGEST_BODY;
use crate::desk::{Desk, moment};
use crate::ids;
use crate::metrics::Metrics;
use crate::problem::{Class, Kind, Problem};
use crate::stream::{Item, follow_as_agent};

/// The service of the published simulator.
#[derive(Clone, Debug)]
pub(crate) struct SimulatorGrpc {
    desk: Arc<Desk>,
    metrics: Metrics,
    streams: Arc<Semaphore>,
}

impl SimulatorGrpc {
    pub(crate) fn new(desk: Arc<Desk>, metrics: Metrics, streams: Arc<Semaphore>) -> Self {
        Self { desk, metrics, streams }
    }

    /// The service as a part of a router.
    pub(crate) fn router(self) -> Router {
        let service = SimulatorServiceServer::new(self).max_decoding_message_size(LARGEST_BODY);
        tonic::service::Routes::new(service).prepare().into_axum_router().reset_fallback()
    }
}

impl From<Problem> for Status {
    fn from(problem: Problem) -> Self {
        let Problem { class, kind, detail, .. } = problem;
        match class {
            Class::Malformed | Class::Invalid => Self::invalid_argument(detail),
            Class::Unauthorized => Self::unauthenticated(detail),
            Class::Forbidden => Self::permission_denied(detail),
            Class::NotFound => Self::not_found(detail),
            Class::NoSuchMethod => Self::unimplemented(detail),
            Class::Conflict if matches!(kind, Kind::OtherPayload | Kind::Exists) => {
                Self::already_exists(detail)
            }
            Class::Conflict | Class::Gone => Self::failed_precondition(detail),
            Class::TooLarge | Class::Busy => Self::resource_exhausted(detail),
            Class::TooSlow => Self::deadline_exceeded(detail),
            Class::Unavailable => Self::unavailable(detail),
            Class::Internal => Self::internal(detail),
        }
    }
}

type Events = Pin<Box<dyn Stream<Item = Result<SubscribeResponse, Status>> + Send>>;

#[tonic::async_trait]
impl SimulatorService for SimulatorGrpc {
    type SubscribeStream = Events;

    async fn create_session(
        &self,
        request: Request<CreateSessionRequest>,
    ) -> Result<Response<CreateSessionResponse>, Status> {
        let description = Some(request.into_inner().description).filter(|text| !text.is_empty());
        let session = self.desk.create_wire_session(description).await?;
        Ok(Response::new(CreateSessionResponse { session: Some(listed(session)) }))
    }

    async fn subscribe(&self, request: Request<SubscribeRequest>) -> Result<Response<Events>, Status> {
        let asked = request.into_inner();
        let session = ids::session(&asked.session_id)?;
        // Runs and imports are not sent.
        let is_sent = from_elsewhere(self.desk.record(&session).await?.source);
        let permit = self.streams.clone().try_acquire_owned();
        let permit = permit.map_err(|_| Status::resource_exhausted("too many streams are open here"))?;
        tracing::debug!(%session, client = ids::clip(&asked.client_id), "a client follows a session");
        let following = Following {
            events: Box::pin(follow_as_agent(self.desk.clone(), session.clone())),
            desk: self.desk.clone(),
            session,
            id: asked.session_id,
            is_sent,
            history_done: false,
            sent: 0,
            ledger: None,
            _held: permit,
        };
        let events = futures::stream::unfold(following, |mut following| async move {
            let event = following.next().await?;
            let response = event.map(|event| SubscribeResponse { event: Some(event) });
            Some((response.map_err(Status::from), following))
        });
        Ok(Response::new(Box::pin(events)))
    }

    async fn submit_request(
        &self,
        request: Request<SubmitRequestRequest>,
    ) -> Result<Response<SubmitRequestResponse>, Status> {
        let SubmitRequestRequest { session_id, turn_id, agent_name, request } = request.into_inner();
        let session = ids::session(&session_id)?;
        let submitted = self.desk.submit_wire_turn(&session, &turn_id, &agent_name, request).await?;
        if !submitted.repeated {
            self.metrics.turns.inc();
        }
        Ok(Response::new(SubmitRequestResponse { event_id: submitted.event_id }))
    }

    async fn submit_decision(
        &self,
        request: Request<SubmitDecisionRequest>,
    ) -> Result<Response<SubmitDecisionResponse>, Status> {
        let SubmitDecisionRequest { session_id, turn_id, response } = request.into_inner();
        let session = ids::session(&session_id)?;
        let answered = self.desk.decide(&session, &turn_id, response).await?;
        self.metrics.answers.inc();
        Ok(Response::new(SubmitDecisionResponse { event_id: answered.event_id.unwrap_or_default() }))
    }

    async fn list_sessions(
        &self,
        request: Request<ListSessionsRequest>,
    ) -> Result<Response<ListSessionsResponse>, Status> {
        let ListSessionsRequest { page_size, page_token } = request.into_inner();
        let limit = match page_size {
            0 => 100,
            size => u32::try_from(size)
                .map_err(|_| Status::invalid_argument("`page_size` is negative"))?
                .min(1000),
        };
        let query = SessionQuery {
            limit,
            page_token: Some(page_token).filter(|token| !token.is_empty()),
            ..SessionQuery::default()
        };
        let page = self.desk.session_records(&query).await?;
        Ok(Response::new(ListSessionsResponse {
            sessions: page.items.into_iter().map(listed).collect(),
            next_page_token: page.next.unwrap_or_default(),
        }))
    }
}

/// Whether a session's requests and responses came from an agent elsewhere, and so are sent to those who follow it.
fn from_elsewhere(source: SessionSource) -> bool {
    matches!(source, SessionSource::Api | SessionSource::Adksim)
}

fn listed(session: SessionRecord) -> SimulatorSession {
    SimulatorSession {
        id: session.id.to_string(),
        created_at: Some(timestamp(moment(session.created_at))),
        description: session.description.unwrap_or_default(),
    }
}

/// A client that follows a session.
struct Following {
    events: Pin<Box<dyn Stream<Item = Result<Item, Problem>> + Send>>,
    desk: Arc<Desk>,
    session: SessionId,
    /// The session, as the client wrote it.
    id: String,
    is_sent: bool,
    history_done: bool,
    sent: i32,
    /// What payloads are made from that are not kept; only while history is read, which has many of them.
    ledger: Option<Ledger>,
    _held: OwnedSemaphorePermit,
}

impl Following {
    async fn next(&mut self) -> Option<Result<SessionEvent, Problem>> {
        loop {
            match self.events.next().await? {
                Ok(Item::Event(stored)) if !self.is_sent && stored.blob.is_empty() => {}
                Ok(Item::Event(stored)) => match self.wire_event(stored).await {
                    Ok(None) => {}
                    Ok(Some(event)) => {
                        self.sent += 1;
                        return Some(Ok(event));
                    }
                    Err(problem) => return Some(Err(problem)),
                },
                Ok(Item::HistoryComplete) => {
                    self.ledger = None;
                    self.history_done = true;
                    return Some(Ok(history_complete(&self.id, self.sent)));
                }
                Err(problem) => return Some(Err(problem)),
            }
        }
    }

    /// An event as the published protocol has it; nothing for events it has no words for.
    async fn wire_event(&mut self, stored: StoredEvent) -> Result<Option<SessionEvent>, Problem> {
        let as_sent = match stored.payload {
            Payload::Request => WirePayload::LlmRequest,
            Payload::Response => WirePayload::LlmResponse,
            Payload::Other => return Ok(None),
        };
        let payload = self.desk.payload(&self.session, &stored, &mut self.ledger).await?;
        if self.history_done {
            self.ledger = None;
        }
        Ok(Some(SessionEvent {
            event_id: stored.event_id,
            session_id: self.id.clone(),
            timestamp: Some(timestamp(moment(stored.timestamp))),
            turn_id: stored.event.turn.as_ref().map(ToString::to_string).unwrap_or_default(),
            agent_name: stored.event.author.to_string(),
            payload: Some(as_sent(payload)),
        }))
    }
}

fn history_complete(session: &str, event_count: i32) -> SessionEvent {
    SessionEvent {
        session_id: session.to_owned(),
        payload: Some(WirePayload::HistoryComplete(HistoryComplete { event_count })),
        ..SessionEvent::default()
    }
}

fn timestamp(at: Timestamp) -> prost_types::Timestamp {
    prost_types::Timestamp { seconds: at.as_second(), nanos: at.subsec_nanosecond() }
}
