//! What went wrong, in the API's words.

use serde_json::{Value, json};

use crate::wire::{WireError, shorten};

/// Reads the body of an answer that is an error. A body of another shape is shown as it is.
pub fn read_error(status: u16, body: &str) -> WireError {
    let parsed: Option<Value> = rehearsal_core::json::from_str(body).ok();
    let error = parsed.as_ref().and_then(|body| body.get("error"));
    let message = error.and_then(message_of).unwrap_or_else(|| shorten(body.trim(), 500));
    WireError::Reported { status, message, retry_after_ms: None }
}

/// The body of an answer that is an error.
pub fn write_error(status: u16, message: &str) -> Value {
    let kind = match status {
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        429 => "rate_limit_error",
        400..=499 => "invalid_request_error",
        _ => "server_error",
    };
    json!({"error": {"message": message, "type": kind, "param": null, "code": null}})
}

/// Reads an error that came where a response, or a piece of one, was expected. Some servers answer so with
/// status 200, and some of them put the error beside or into what the model said before it.
pub(super) fn error_in_answer(body: &Value) -> Option<WireError> {
    if let Some(error) = error_in(body) {
        return Some(error);
    }
    let choice = body.get("choices")?.get(0)?;
    if let Some(error) = error_in(choice) {
        return Some(error);
    }
    let failed = choice.get("finish_reason").and_then(Value::as_str) == Some("error");
    failed.then(|| WireError::Reported {
        status: 500,
        message: "the answer ended with an error that the provider does not describe".to_owned(),
        retry_after_ms: None,
    })
}

fn error_in(body: &Value) -> Option<WireError> {
    let error = body.get("error").filter(|error| !is_blank(error))?;
    let code = error.get("code").and_then(|code| match code {
        Value::String(text) => text.parse().ok(),
        code => code.as_u64(),
    });
    let status = code.and_then(|code| u16::try_from(code).ok()).filter(|code| (400..600).contains(code));
    let message = message_of(error).unwrap_or_else(|| shorten(&rehearsal_core::json::text(error), 500));
    Some(WireError::Reported { status: status.unwrap_or(500), message, retry_after_ms: None })
}

/// Some servers write an error that says nothing where there is none.
fn is_blank(error: &Value) -> bool {
    match error {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Object(members) => members.is_empty(),
        _ => false,
    }
}

fn message_of(error: &Value) -> Option<String> {
    error.as_str().or_else(|| error.get("message")?.as_str()).map(ToOwned::to_owned)
}
