//! What went wrong, in the API's words.

use serde_json::{Value, json};

use crate::wire::{WireError, shorten};

/// Reads the body of an answer that is an error. A body of another shape is shown as it is.
pub fn read_error(status: u16, body: &str) -> WireError {
    let parsed: Option<Value> = rehearsal_core::json::from_str(body).ok();
    match parsed.as_ref().and_then(error_in) {
        Some(WireError::Reported { message, retry_after_ms, .. }) => {
            WireError::Reported { status, message, retry_after_ms }
        }
        _ => WireError::Reported { status, message: shorten(body.trim(), 500), retry_after_ms: None },
    }
}

/// The body of an answer that is an error.
pub fn write_error(status: u16, message: &str) -> Value {
    let name = match status {
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        429 => "RESOURCE_EXHAUSTED",
        503 => "UNAVAILABLE",
        504 => "DEADLINE_EXCEEDED",
        400..=499 => "INVALID_ARGUMENT",
        _ => "INTERNAL",
    };
    json!({"error": {"code": status, "message": message, "status": name}})
}

/// Reads an error that came where a response, or a piece of one, was expected.
pub(super) fn error_in(body: &Value) -> Option<WireError> {
    // Errors of the streaming method may come as a list with one member.
    let body = body.as_array().and_then(|list| list.first()).unwrap_or(body);
    let error = body.get("error").filter(|error| !error.is_null())?;
    let code = error.get("code").and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok());
    let message = error.get("message").and_then(Value::as_str);
    let details = error.get("details").and_then(Value::as_array);
    Some(WireError::Reported {
        status: code.unwrap_or(500),
        message: message.map_or_else(|| shorten(&rehearsal_core::json::text(error), 500), ToOwned::to_owned),
        retry_after_ms: details.and_then(|details| details.iter().find_map(retry_delay)),
    })
}

/// The waiting time of a `RetryInfo`, written like `"37.5s"`.
fn retry_delay(detail: &Value) -> Option<u64> {
    let seconds = detail.get("retryDelay")?.as_str()?.strip_suffix('s')?;
    let (whole, fraction) = seconds.split_once('.').unwrap_or((seconds, ""));
    let millis: String = fraction.chars().chain("000".chars()).take(3).collect();
    whole.parse::<u64>().ok()?.checked_mul(1000)?.checked_add(millis.parse().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(delay: &str, millis: Option<u64>) {
        assert_eq!(retry_delay(&json!({"retryDelay": delay})), millis);
    }

    #[test]
    fn retry_delays_are_read() {
        check("37s", Some(37_000));
        check("0.25s", Some(250));
        check("1.123456789s", Some(1_123));
        check("soon", None);
    }
}
