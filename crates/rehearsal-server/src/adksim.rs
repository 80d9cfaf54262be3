//! The published simulator's protocol, `adksim.v1` over gRPC: what its plugin sends and expects, and what can be read
//! from it. Only `service` knows a socket.
//!
//! Payloads are kept as the bytes that arrived. [`request_from_wire`] and [`response_from_wire`] give the core's view
//! of them, [`response_to_wire`] and [`request_to_wire`] make bytes for what came another way, and
//! [`events_for_request`] and [`events_for_response`] say what else must have happened.

mod base64;
mod codec;
mod convert;
mod derive;
mod json;
mod part;
mod port;
mod schema;
pub(crate) mod service;

pub use convert::{
    WireError, request_from_wire, request_to_wire, response_from_wire, response_to_wire, unsendable,
    validate_response,
};
pub use derive::{events_for_request, events_for_response};
pub use port::Adksim;

#[expect(clippy::pedantic, clippy::allow_attributes, reason = "generated from proto/, where the words are")]
pub mod wire {
    //! The service `adksim.v1.SimulatorService`: messages, the server's trait and a client.

    tonic::include_proto!("adksim.v1");
}

#[expect(
    clippy::pedantic,
    clippy::enum_variant_names,
    unreachable_pub,
    reason = "generated from proto/, where the words are"
)]
mod genai {
    tonic::include_proto!("google.ai.generativelanguage.v1beta");
}
