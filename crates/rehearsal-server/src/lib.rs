//! The server: HTTP, SSE and gRPC, and the cues that people answer.
//!
//! An agent that runs elsewhere stops at each model call and waits. What it asks is an event on its session's ledger
//! and a cue for a person; the answer is the next event. [`Desk`] makes every decision, on ledgers alone; [`Server`]
//! lets programs and people reach it.

pub mod adksim;
pub mod desk;
mod first_byte_timeout;
mod history;
mod http;
mod ids;
mod lobby;
mod metrics;
mod presence;
mod problem;
mod report;
mod serve;
mod stream;
mod watch;

pub use desk::Desk;
pub use problem::{Class, Kind, Problem};
pub use report::{ReportError, report_html};
pub use serve::{Server, ServerConfig};

/// The largest body of a call: a model request with its whole conversation.
pub(crate) const LARGEST_BODY: usize = 32 << 20;

/// The description of the HTTP API, as `/openapi.json` serves it.
pub fn openapi_json() -> String {
    http::openapi() + "\n"
}
