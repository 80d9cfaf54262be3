//! The world: who plays the tools of a case.

use rehearsal_core::keys::{Form, Key, Part, Table};
use serde_json::{Value, json};

use super::{COMMAND, HEADERS_PART};

pub(super) static WORLD_PART: Part = Part { name: "world", form: Form::Table(&WORLD) };

/// A living program that plays the tools of a case.
pub(crate) static WORLD: Table = Table::new(
    "A living program that plays the tools of a case: one process for each.",
    &[
        Key::unless(
            "command",
            Form::Part(&COMMAND),
            "command: [python3, world.py]",
            "What starts it: a program that speaks JSON lines; run in the folder of this file.",
        ),
        Key::unless(
            "mcp",
            Form::Table(&MCP),
            "mcp: {command: [npx, my-server]}",
            "An MCP server, whose tools are the agent's.",
        ),
        Key::or("scope", Form::Own(scope), "\"world\"", "The scope in which its state stands."),
        Key::or(
            "timeout_ms",
            Form::Whole(1.0, 3_600_000.0),
            "60000",
            "How long its start and each of its answers may take, in milliseconds.",
        ),
    ],
)
.rules(|| json!({"oneOf": [{"required": ["command"]}, {"required": ["mcp"]}]}));

/// An MCP server.
pub(crate) static MCP: Table = Table::new(
    "An MCP server: a process, or an address.",
    &[
        Key::unless(
            "command",
            Form::Part(&COMMAND),
            "command: [npx, my-server]",
            "What starts it; run once for each case, in the folder of this file.",
        ),
        Key::unless(
            "url",
            Form::Text,
            "url: http://127.0.0.1:8080/mcp",
            "Its address (streamable HTTP); each case has a session of its own.",
        ),
        Key::optional("headers", Form::Part(&HEADERS_PART), "Headers to send to the address."),
        Key::or(
            "protocol",
            Form::Word(&["negotiated", "sessions", "stateless"]),
            "\"negotiated\"",
            "Which protocol is spoken: with sessions (up to 2025-11-25), stateless (2026-07-28), or what the server knows.",
        ),
    ],
)
.rules(|| {
    json!({
        "oneOf": [{"required": ["command"]}, {"required": ["url"]}],
        "not": {"required": ["command", "headers"]},
    })
});

fn scope() -> Value {
    json!({"type": "string", "pattern": "^[^.$\\s]+$", "not": {"pattern": "^(session|user|scenario)$"}})
}
