//! Tool arguments and results in APIs where they are text.

use rehearsal_core::into_object;
use serde_json::{Map, Value};

use super::{WireError, shorten};

/// Reads the arguments of a call. No text at all means no arguments.
pub(crate) fn read_arguments(tool: &str, text: &str) -> Result<Map<String, Value>, WireError> {
    if text.trim().is_empty() {
        return Ok(Map::new());
    }
    match rehearsal_core::json::from_str(text) {
        Ok(Value::Object(arguments)) => Ok(arguments),
        Ok(_) => Err(WireError::malformed(format!(
            "the arguments of the call of `{tool}` are not a JSON object: {}",
            shorten(text, 300)
        ))),
        Err(error) => Err(WireError::malformed(format!(
            "the arguments of the call of `{tool}` are not JSON ({error}): {}",
            shorten(text, 300)
        ))),
    }
}

/// Writes an object as JSON text.
pub(crate) fn write(object: &Map<String, Value>) -> String {
    rehearsal_core::json::to_string(object).expect("an object with text keys is always written")
}

/// Reads a tool's result: a JSON object as it is, anything else under `key`.
pub(crate) fn read_result(text: &str, key: &str) -> Map<String, Value> {
    match rehearsal_core::json::from_str(text) {
        Ok(Value::Object(result)) => result,
        _ => into_object(Value::from(rehearsal_core::json::plain(text)), key),
    }
}
