//! The published protocol, as far as the desk must know it: a port that whoever speaks the protocol implements.
//!
//! A client of that protocol says what its agent asked, as bytes, and nothing else. The desk keeps the bytes as they
//! came and compares them byte for byte; what they mean, and what else must have happened, it asks here.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use rehearsal_core::{
    Decision, Draft, EventBody, Inconsistent, Ledger, ModelRequest, ModelResponse, SessionId, Timestamp,
    TurnId,
};
use rehearsal_store::StoredEvent;

use super::Desk;
use crate::problem::{Kind, Problem};

/// A payload that is no request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`request` cannot be read: {why}")]
pub struct NoRequest {
    /// Why, as far as its protocol can tell.
    pub why: String,
}

/// What the desk asks about payloads of the published protocol.
pub trait Published: fmt::Debug + Send + Sync {
    /// What a client's agent asks its model.
    ///
    /// # Errors
    /// Why the payload is no request.
    fn read_request(&self, payload: &[u8]) -> Result<ModelRequest, NoRequest>;

    /// What a client decides for a model.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    fn read_response(&self, payload: &[u8]) -> Result<ModelResponse, Vec<String>>;

    /// The payload of a request that came another way.
    fn request_payload(&self, request: &ModelRequest) -> Bytes;

    /// The payload of a response that came another way.
    fn response_payload(&self, response: &ModelResponse) -> Bytes;

    /// Everything in a response that would not arrive as it is; empty when all of it does.
    fn unsendable(&self, response: &ModelResponse) -> Vec<String>;

    /// What to append when a client's agent asks for a model turn.
    ///
    /// # Errors
    /// The session is not open, or the turn was asked before.
    fn before_request(
        &self,
        ledger: &Ledger,
        at: Timestamp,
        agent: &str,
        turn: &TurnId,
        request: &ModelRequest,
    ) -> Result<RequestDrafts, CannotDerive>;

    /// What to append when a model turn is decided: the response, and what follows from it.
    ///
    /// # Errors
    /// The session is not open, the turn was never asked, or it was decided before.
    fn after_response(
        &self,
        ledger: &Ledger,
        at: Timestamp,
        turn: &TurnId,
        response: &ModelResponse,
        decision: Decision,
    ) -> Result<Vec<Draft>, CannotDerive>;
}

/// A shared [`Published`].
pub type PublishedRef = Arc<dyn Published>;

/// Why nothing follows from what was sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CannotDerive {
    /// The ledger is empty.
    #[error("the session has not started")]
    NotStarted,
    /// The session is over.
    #[error("the session has ended")]
    Ended,
    /// The turn was asked before.
    #[error("turn `{turn}` was asked before")]
    Repeated {
        /// The turn.
        turn: TurnId,
    },
    /// The turn was never asked.
    #[error("turn `{turn}` was never asked")]
    Unknown {
        /// The turn.
        turn: TurnId,
    },
    /// The turn was decided before.
    #[error("turn `{turn}` was decided before")]
    Decided {
        /// The turn.
        turn: TurnId,
    },
}

/// What to append for a request.
#[derive(Clone, Debug)]
pub struct RequestDrafts {
    /// What must have happened since the agent was last heard of.
    pub before: Vec<Draft>,
    /// The request itself, without what is asked: that is given to [`Ledger::append_request`].
    pub request: Draft,
}

impl RequestDrafts {
    /// Appends all of it.
    ///
    /// # Errors
    /// The ledger is not the one it was derived from.
    pub fn append_to(self, ledger: &mut Ledger, request: &ModelRequest) -> Result<(), Inconsistent> {
        for draft in self.before {
            ledger.append(draft)?;
        }
        ledger.append_request(self.request, request).map(|_| ())
    }
}

impl From<CannotDerive> for Problem {
    fn from(error: CannotDerive) -> Self {
        let kind = match error {
            CannotDerive::Ended => Kind::SessionEnded,
            CannotDerive::Decided { .. } => Kind::Answered,
            _ => Kind::Contradiction,
        };
        Self::conflict(kind, error.to_string())
    }
}

impl Desk {
    /// The payload of a request or a response: as it came, or made from the ledger where it came another way. `ledger`
    /// is the session's as far as the caller knows it; a newer one is put there when it does not have the turn.
    pub(crate) async fn payload(
        &self,
        session: &SessionId,
        stored: &StoredEvent,
        ledger: &mut Option<Ledger>,
    ) -> Result<Bytes, Problem> {
        // The request with nothing in it has an empty payload, and is made as one.
        if !stored.blob.is_empty() {
            return Ok(stored.blob.clone());
        }
        let turn = match (&stored.event.body, &stored.event.turn) {
            (EventBody::ModelResponse(response), _) => return Ok(self.published.response_payload(response)),
            (EventBody::ModelRequest(_), Some(turn)) => turn,
            _ => return Ok(Bytes::new()),
        };
        let known = ledger.as_ref().and_then(|ledger| ledger.request(turn));
        let request = match known {
            Some(request) => Some(request),
            None => ledger.insert(self.standing(session).await?.ledger).request(turn),
        };
        let request = request.ok_or_else(|| Problem::not_found("turn", turn))?;
        Ok(self.published.request_payload(&request))
    }
}
