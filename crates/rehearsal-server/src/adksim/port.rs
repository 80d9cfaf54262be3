//! What the desk asks about the published protocol, answered.

use std::error::Error as _;

use bytes::Bytes;
use rehearsal_core::{Decision, Draft, Ledger, ModelRequest, ModelResponse, Timestamp, TurnId};

use super::{convert, derive};
use crate::desk::{CannotDerive, NoRequest, Published, RequestDrafts};

/// The published simulator's protocol, for a [`Desk`](crate::Desk).
#[derive(Clone, Copy, Debug, Default)]
pub struct Adksim;

impl Published for Adksim {
    fn read_request(&self, payload: &[u8]) -> Result<ModelRequest, NoRequest> {
        convert::request_from_wire(payload).map_err(|error| {
            let cause = error.source().map(|why| format!(": {why}")).unwrap_or_default();
            NoRequest { why: format!("{error}{cause}") }
        })
    }

    fn read_response(&self, payload: &[u8]) -> Result<ModelResponse, Vec<String>> {
        convert::validate_response(payload)
    }

    fn request_payload(&self, request: &ModelRequest) -> Bytes {
        convert::request_to_wire(request).into()
    }

    fn response_payload(&self, response: &ModelResponse) -> Bytes {
        convert::response_to_wire(response).into()
    }

    fn unsendable(&self, response: &ModelResponse) -> Vec<String> {
        convert::unsendable(response)
    }

    fn before_request(
        &self,
        ledger: &Ledger,
        at: Timestamp,
        agent: &str,
        turn: &TurnId,
        request: &ModelRequest,
    ) -> Result<RequestDrafts, CannotDerive> {
        derive::events_for_request(ledger, at, agent, turn, request)
    }

    fn after_response(
        &self,
        ledger: &Ledger,
        at: Timestamp,
        turn: &TurnId,
        response: &ModelResponse,
        decision: Decision,
    ) -> Result<Vec<Draft>, CannotDerive> {
        derive::events_for_response(ledger, at, turn, response, decision)
    }
}
