//! The messages of JSON-RPC, and what MCP puts around them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use super::STATELESS;

/// What is sent, and what HTTP says beside it.
#[derive(Debug)]
pub(super) struct Outgoing {
    /// The message.
    pub(super) body: Value,
    /// The revision, where one was agreed on.
    pub(super) version: Option<String>,
    /// The method and the tool, where the revision has them as headers.
    pub(super) routed: Option<(&'static str, Option<String>)>,
    /// The arguments that the tool's schema wants as headers.
    pub(super) headers: Vec<(String, String)>,
}

impl Outgoing {
    /// A message that HTTP says nothing beside.
    pub(super) fn plain(body: Value, version: Option<String>) -> Self {
        Self { body, version, routed: None, headers: Vec::new() }
    }
}

/// What a server says.
#[derive(Debug)]
pub(super) enum Incoming {
    /// The answer to a request.
    Answer { id: Value, result: Result<Value, RpcError> },
    /// An error that does not say which request it is about.
    Lost(RpcError),
    /// It asks something of us.
    Request { id: Value, method: String },
    /// It lets us know something.
    Notification { method: String },
}

/// An error as JSON-RPC has it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RpcError {
    pub(super) code: i64,
    pub(super) message: String,
    pub(super) data: Value,
}

impl Incoming {
    /// Reads a message.
    pub(super) fn read(message: Value) -> Result<Self, String> {
        let Value::Object(mut message) = message else {
            return Err(format!("it sent a message that is no object: {}", shown(&message)));
        };
        let id = message.shift_remove("id").filter(|id| !id.is_null());
        if let Some(method) = message.get("method") {
            let Some(method) = method.as_str() else {
                return Err(format!("it sent a `method` that is no text: {}", shown(method)));
            };
            let method = method.to_owned();
            return Ok(match id {
                Some(id) => Self::Request { id, method },
                None => Self::Notification { method },
            });
        }
        let result = match (message.shift_remove("error"), message.shift_remove("result")) {
            (Some(error), _) => Err(RpcError {
                code: error.get("code").and_then(Value::as_i64).unwrap_or_default(),
                message: error.get("message").and_then(Value::as_str).unwrap_or("(no message)").to_owned(),
                data: error.get("data").cloned().unwrap_or_default(),
            }),
            (None, Some(result)) => Ok(result),
            (None, None) => {
                let what = "it sent a message with neither `method` nor `result` nor `error`";
                return Err(format!("{what}: {}", shown(&Value::Object(message))));
            }
        };
        match (id, result) {
            (Some(id), result) => Ok(Self::Answer { id, result }),
            (None, Err(error)) => Ok(Self::Lost(error)),
            (None, Ok(result)) => Err(format!("it sent a result without an `id`: {}", shown(&result))),
        }
    }
}

fn shown(value: &Value) -> String {
    rehearsal_core::shorten(&rehearsal_core::json::text(value), 300)
}

/// Who we are.
pub(super) fn client_info() -> Value {
    json!({"name": "rehearsal", "version": env!("CARGO_PKG_VERSION")})
}

/// What every request of the stateless revision says about itself. Nothing that a server may ask of a client is done
/// here, so no capability is named.
pub(super) fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": STATELESS,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": client_info(),
    })
}

/// The answer to something that a server asks of us.
pub(super) fn reply(id: &Value, method: &str) -> Value {
    if method == "ping" {
        return json!({"jsonrpc": "2.0", "id": id, "result": {}});
    }
    let message = format!("`{method}` is not offered: a world is asked for tools and for nothing else");
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": message}})
}

/// The arguments that a tool's schema wants as headers (`x-mcp-header`), of those that are given.
pub(super) fn parameter_headers(schema: &Value, args: &Map<String, Value>) -> Vec<(String, String)> {
    let mut headers = Vec::new();
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return headers };
    for (name, property) in properties {
        let Some(value) = args.get(name) else { continue };
        let token = property.get("x-mcp-header").and_then(Value::as_str);
        let text = match value {
            Value::Object(inner) => {
                headers.extend(parameter_headers(property, inner));
                continue;
            }
            Value::Null | Value::Array(_) => continue,
            scalar => rehearsal_core::json::said(scalar),
        };
        if let Some(token) = token {
            headers.push((format!("Mcp-Param-{token}"), header_value(&text)));
        }
    }
    headers
}

/// A text as the value of a header: as it is, or in base64 where a header would not keep it.
pub(super) fn header_value(text: &str) -> String {
    let is_plain = text.bytes().all(|byte| (0x20..=0x7e).contains(&byte)) && text.trim() == text;
    let looks_coded = text.starts_with("=?base64?") && text.ends_with("?=");
    if is_plain && !looks_coded { text.to_owned() } else { format!("=?base64?{}?=", STANDARD.encode(text)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_become_headers_where_the_schema_says_so() {
        let schema = json!({"properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "count": {"type": "integer", "x-mcp-header": "Count"},
            "inner": {"type": "object", "properties": {"on": {"type": "boolean", "x-mcp-header": "On"}}},
            "plain": {"type": "string"},
        }});
        let args = json!({"region": "Köln", "count": 3, "inner": {"on": true}, "plain": "x"});
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            parameter_headers(&schema, args.as_object().unwrap()),
            [
                pair("Mcp-Param-Region", "=?base64?S8O2bG4=?="),
                pair("Mcp-Param-Count", "3"),
                pair("Mcp-Param-On", "true")
            ]
        );
    }

    #[test]
    fn what_is_no_message_is_named() {
        for (message, says) in [
            (json!([]), "it sent a message that is no object: []"),
            (json!({"id": 1}), "it sent a message with neither `method` nor `result` nor `error`: {}"),
            (json!({"result": 3}), "it sent a result without an `id`: 3"),
        ] {
            assert_eq!(Incoming::read(message).unwrap_err(), says);
        }
    }
}
