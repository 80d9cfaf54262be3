//! Tool arguments and results in APIs where they are text.

use rehearsal_core::{Content, FinishReason, into_object};
use serde_json::{Map, Value};

use super::{WireError, shorten};

/// The only argument of a call whose arguments cannot be read: what the model wrote. It goes back to the provider as
/// that, since servers refuse a conversation in which arguments are no object.
const UNREADABLE: &str = "unreadable_arguments";

/// The arguments of a call, and why they are none where they cannot be read. No text at all means no arguments.
pub(crate) fn read_arguments(text: &str) -> (Map<String, Value>, Option<String>) {
    if text.trim().is_empty() {
        return (Map::new(), None);
    }
    match rehearsal_core::json::from_str(text) {
        Ok(Value::Object(arguments)) => (arguments, None),
        Ok(_) => unreadable(text, "the arguments are not a JSON object"),
        Err(error) => unreadable(text, &format!("the arguments are not JSON ({error})")),
    }
}

/// The value that a text is; the text itself where it is not JSON.
pub(crate) fn read(text: &str) -> Value {
    rehearsal_core::json::from_str(text).unwrap_or_else(|_| Value::from(rehearsal_core::json::plain(text)))
}

/// An answer in which the token limit cut a call off is none: the model would only write the same again.
pub(crate) fn not_cut_off(content: &Content, finish: Option<&FinishReason>) -> Result<(), WireError> {
    let Some((call, why)) = content.calls().find_map(|call| Some((call, call.unreadable.as_ref()?))) else {
        return Ok(());
    };
    if finish != Some(&FinishReason::MaxTokens) {
        return Ok(());
    }
    let what = format!("the answer was cut off at the token limit, in the call of `{}`: {why}", call.name);
    Err(WireError::malformed(what))
}

/// Arguments that are none, for this reason.
pub(crate) fn unreadable(text: &str, why: &str) -> (Map<String, Value>, Option<String>) {
    let wrote = Value::from(rehearsal_core::json::plain(text));
    (into_object(wrote, UNREADABLE), Some(format!("{why}: {}", shorten(text, 300))))
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
