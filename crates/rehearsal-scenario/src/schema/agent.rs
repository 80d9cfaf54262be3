//! The agent under test.

use serde_json::{Value, json};

use super::{
    Definition, any_map, command, either, integer, list, map, map_of, not_both, reference, temperature, text,
    with, word,
};

pub(super) fn definitions() -> Vec<Definition> {
    vec![
        ("agent", agent()),
        ("tool", tool()),
        ("command", command_line()),
        ("headers", headers()),
        ("server", server()),
        ("variables", variables()),
        ("public", public()),
    ]
}

fn agent() -> Value {
    let name = || {
        let bounds = json!({"default": "agent", "minLength": 1, "maxLength": 100});
        with(text("The agent's name, as ledgers and results show it."), bounds)
    };
    let about = || text("What it is, for readers of the file.");
    let tools = || {
        list(
            "Its tools. Their calls are answered by mocks unless they are let through.",
            reference("tool", "A tool."),
        )
    };
    let inline = map(
        "An agent that is written here: instructions, tools and a model.",
        &[],
        [
            ("name", name()),
            ("description", about()),
            ("instructions", text("What it is told before the conversation.")),
            ("model", with(text("The key of its model in `models`."), json!({"default": "agent"}))),
            ("tools", tools()),
            ("output_schema", any_map("The JSON Schema that its answers must satisfy.")),
            ("temperature", temperature("How freely its model answers; the provider's own unless given.")),
            (
                "max_tokens",
                integer(
                    "The longest answer of its model, in tokens.",
                    json!({"minimum": 1, "maximum": 1_000_000_000}),
                ),
            ),
            (
                "max_rounds",
                integer(
                    "How often it may ask its model for one answer.",
                    json!({"minimum": 1, "maximum": 1000}),
                ),
            ),
        ],
    );
    let chat = map(
        "An agent behind an OpenAI-compatible chat endpoint.",
        &["chat"],
        [("name", name()), ("description", about()), ("chat", chat())],
    );
    let http = map(
        "An agent behind an HTTP endpoint that speaks JSON.",
        &["http"],
        [("name", name()), ("description", about()), ("http", http())],
    );
    let program = map(
        "An agent that is a program and speaks JSON lines.",
        &["command"],
        [
            ("name", name()),
            ("description", about()),
            ("tools", tools()),
            ("command", command("What starts it; run once for each session, in the folder of this file.")),
        ],
    );
    let description =
        "The agent under test: written here (`instructions`), or reached by `chat`, `http` or `command`.";
    either(description, &[inline, chat, http, program])
}

fn chat() -> Value {
    let schema = map(
        "The endpoint.",
        &["url"],
        [
            (
                "url",
                text("Its address up to `/v1`; `${port}` is the port of the server that `start` starts."),
            ),
            ("model", with(text("The model's name that is sent."), json!({"default": "agent"}))),
            ("start", reference("server", "What starts its server.")),
        ],
    );
    with(schema, port_needs_a_server())
}

fn http() -> Value {
    let schema = map(
        "The endpoint. One message of the user is one request.",
        &["url", "response"],
        [
            ("url", text("Its address; `${port}` is the port of the server that `start` starts.")),
            ("method", method()),
            ("headers", reference("headers", "Headers to send.")),
            (
                "request",
                json!({
                    "type": ["string", "number", "boolean", "array", "object"],
                    "default": {"message": "${message}", "session": "${session}"},
                    "description": "The body, with the placeholders ${message}, ${session}, ${turn}, ${scenario}, \
                                    ${history}, ${plugins} and ${context} in its texts.",
                }),
            ),
            ("response", text("The path of the reply in the answer, such as `reply.text`.")),
            ("session", text("The path of the server's session id in the answer.")),
            (
                "usage",
                map(
                    "Where the answer says how many tokens it took.",
                    &["input", "output"],
                    [
                        ("input", text("The path of the tokens read.")),
                        ("output", text("The path of the tokens written.")),
                    ],
                ),
            ),
            (
                "timeout_ms",
                integer(
                    "How long an answer may take, in milliseconds.",
                    json!({"minimum": 1, "maximum": 1_000_000_000, "default": 60_000}),
                ),
            ),
            ("start", reference("server", "What starts its server.")),
        ],
    );
    with(schema, port_needs_a_server())
}

fn port_needs_a_server() -> Value {
    json!({
        "if": {"required": ["url"], "properties": {"url": {"pattern": "\\$\\{port\\}"}}},
        "then": {"required": ["start"]},
    })
}

fn method() -> Value {
    with(word("The method of the request.", &["POST", "PUT", "PATCH"]), json!({"default": "POST"}))
}

fn headers() -> Value {
    let description =
        "Headers by name; `${env.NAME}` in a value is taken from the environment. Values are on no ledger.";
    let names = json!({"propertyNames": {"pattern": "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$"}});
    with(map_of(description, &json!({"type": "string"})), names)
}

fn server() -> Value {
    let described = map(
        "A command, and how long it may take.",
        &["command"],
        [
            ("command", command("The command; it finds its port in the variable `PORT`.")),
            (
                "ready_within_ms",
                integer(
                    "How long it may take until it accepts connections, in milliseconds.",
                    json!({"minimum": 1, "maximum": 600_000, "default": 10_000}),
                ),
            ),
        ],
    );
    let line = command("The command; it finds its port in the variable `PORT`.");
    either("A server that is started for the agent and ended with the run.", &[line, described])
}

fn command_line() -> Value {
    let line = json!({"type": "string", "pattern": "\\S", "description": "A line for the shell."});
    let words = json!({
        "type": "array",
        "description": "A program and its arguments.",
        "minItems": 1,
        "prefixItems": [{"type": "string", "minLength": 1}],
        "items": {"type": "string"},
    });
    either("A command: a line for the shell, or a program and its arguments.", &[line, words])
}

fn variables() -> Value {
    let pattern = "^[^=\\u0000]+$";
    let names = list(
        "Names; the values are those of whoever runs the scenario.",
        json!({"type": "string", "pattern": pattern}),
    );
    let values = with(
        map_of("Names and values.", &json!({"type": "string"})),
        json!({"propertyNames": {"pattern": pattern}}),
    );
    either("Environment variables: a list of names, or a map of names and values.", &[names, values])
}

fn public() -> Value {
    list(
        "Variables of the environment whose values may be shown; the others are hidden in all that programs say.",
        json!({"type": "string"}),
    )
}

fn tool() -> Value {
    let http = either(
        "Sends the arguments as JSON to this address.",
        &[
            text("The address, which gets a POST."),
            map(
                "The request.",
                &["url"],
                [
                    ("url", text("The address.")),
                    ("method", method()),
                    ("headers", reference("headers", "Headers to send.")),
                ],
            ),
        ],
    );
    let schema = map(
        "A tool of the agent.",
        &["name"],
        [
            ("name", text("Its name, as the model sees it.")),
            ("service", text("The service it belongs to, by which mocks may name it.")),
            ("description", text("What it does, in words for the model.")),
            ("parameters", any_map("The JSON Schema of its arguments.")),
            ("output", any_map("The JSON Schema of its result.")),
            (
                "command",
                command(
                    "What it does for real: a command that gets the arguments as JSON on its standard input. Run only \
                     with `--live`, or when `passthrough` lists the tool.",
                ),
            ),
            ("http", http),
        ],
    );
    with(schema, not_both("command", "http"))
}
