//! What went wrong, in the API's words.

use serde_json::{Value, json};

use crate::wire::{WireError, shorten};

/// Kinds of errors and the status each has outside a stream.
const KINDS: [(u16, &str); 9] = [
    (400, "invalid_request_error"),
    (401, "authentication_error"),
    (402, "billing_error"),
    (403, "permission_error"),
    (404, "not_found_error"),
    (413, "request_too_large"),
    (429, "rate_limit_error"),
    (504, "timeout_error"),
    (529, "overloaded_error"),
];

/// Reads the body of an answer that is an error. A body of another shape is shown as it is.
pub fn read_error(status: u16, body: &str) -> WireError {
    let parsed: Option<Value> = rehearsal_core::json::from_str(body).ok();
    let message = parsed.as_ref().and_then(|body| body.get("error")?.get("message")?.as_str());
    let message = message.map_or_else(|| shorten(body.trim(), 500), ToOwned::to_owned);
    WireError::Reported { status, message, retry_after_ms: None }
}

/// The body of an answer that is an error.
pub fn write_error(status: u16, message: &str) -> Value {
    let known = KINDS.iter().find(|(known, _)| *known == status);
    let kind =
        known.map_or(if status < 500 { "invalid_request_error" } else { "api_error" }, |(_, kind)| *kind);
    json!({"type": "error", "error": {"type": kind, "message": message}})
}

/// Reads an error that came where a response, or a piece of one, was expected.
pub(super) fn error_in(body: &Value) -> Option<WireError> {
    if body.get("type").and_then(Value::as_str) != Some("error") {
        return None;
    }
    let error = body.get("error").unwrap_or(&Value::Null);
    let kind = error.get("type").and_then(Value::as_str).unwrap_or_default();
    let status = KINDS.iter().find(|(_, known)| *known == kind).map_or(500, |(status, _)| *status);
    let message = error.get("message").and_then(Value::as_str);
    let message = message.map_or_else(|| shorten(&rehearsal_core::json::text(body), 500), ToOwned::to_owned);
    Some(WireError::Reported { status, message, retry_after_ms: None })
}
