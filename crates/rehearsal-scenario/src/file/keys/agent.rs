//! The agent under test.

use rehearsal_core::keys::{Form, Key, Part, Table};
use serde_json::{Value, json};

use super::not_both;

/// The longest name of an agent: ledgers are kept under it.
pub(crate) const LONGEST_NAME: usize = 100;

pub(super) static AGENT: Part = Part {
    name: "agent",
    form: Form::About(
        "The agent under test: written here (`instructions`), or reached by `chat`, `http` or `command`.",
        &Form::OneOf(&[
            Form::Table(&INLINE),
            Form::Table(&CHAT_AGENT),
            Form::Table(&HTTP_AGENT),
            Form::Table(&PROGRAM),
        ]),
    ),
};

const NAME: Key = Key::or(
    "name",
    Form::Length(1, LONGEST_NAME),
    "\"agent\"",
    "The agent's name, as ledgers and results show it.",
);
const ABOUT: Key = Key::optional("description", Form::Text, "What it is, for readers of the file.");
const TOOLS: Key = Key::optional(
    "tools",
    Form::List(&A_TOOL),
    "Its tools. Their calls are answered by mocks unless they are let through.",
);

/// An agent that is written in the file.
pub(crate) static INLINE: Table = Table::new(
    "An agent that is written here: instructions, tools and a model.",
    &[
        NAME,
        ABOUT,
        Key::optional("instructions", Form::Text, "What it is told before the conversation."),
        Key::or("model", Form::Text, "\"agent\"", "The key of its model in `models`."),
        TOOLS,
        Key::optional("output_schema", Form::Schema, "The JSON Schema that its answers must satisfy."),
        Key::optional(
            "temperature",
            Form::Number(0.0, 2.0),
            "How freely its model answers; the provider's own unless given.",
        ),
        Key::optional("max_tokens", Form::Whole(1.0, 1e9), "The longest answer of its model, in tokens."),
        Key::optional(
            "max_rounds",
            Form::Whole(1.0, 1000.0),
            "How often it may ask its model for one answer.",
        ),
    ],
);

/// An agent behind a chat endpoint.
pub(crate) static CHAT_AGENT: Table = Table::new(
    "An agent behind an OpenAI-compatible chat endpoint.",
    &[
        NAME,
        ABOUT,
        Key::required("chat", Form::Table(&CHAT), "chat: {url: 'http://127.0.0.1:8080/v1'}", "The endpoint."),
    ],
);

/// An agent behind an HTTP endpoint.
pub(crate) static HTTP_AGENT: Table = Table::new(
    "An agent behind an HTTP endpoint that speaks JSON.",
    &[
        NAME,
        ABOUT,
        Key::required(
            "http",
            Form::Table(&HTTP),
            "http: {url: 'http://127.0.0.1:8080/chat', response: reply}",
            "The endpoint. One message of the user is one request.",
        ),
    ],
);

/// An agent that is a program.
pub(crate) static PROGRAM: Table = Table::new(
    "An agent that is a program and speaks JSON lines.",
    &[
        NAME,
        ABOUT,
        TOOLS,
        Key::required(
            "command",
            Form::Part(&COMMAND),
            "command: python3 agent.py",
            "What starts it; run once for each session, in the folder of this file.",
        ),
    ],
);

const START: Key = Key::optional("start", Form::Part(&SERVER_PART), "What starts its server.");
const HEADERS: Key = Key::optional("headers", Form::Part(&HEADERS_PART), "Headers to send.");
const METHOD: Key = Key::or("method", Form::Word(METHODS), "\"POST\"", "The method of the request.");

/// The methods of requests.
pub(crate) const METHODS: &[&str] = &["POST", "PUT", "PATCH"];

/// A chat endpoint.
pub(crate) static CHAT: Table = Table::new(
    "The endpoint.",
    &[
        Key::required(
            "url",
            Form::Text,
            "url: http://127.0.0.1:8080/v1",
            "Its address up to `/v1`; `${port}` is the port of the server that `start` starts.",
        ),
        Key::or("model", Form::Text, "\"agent\"", "The model's name that is sent."),
        START,
    ],
)
.rules(port_needs_a_server);

/// An HTTP endpoint.
pub(crate) static HTTP: Table = Table::new(
    "The endpoint. One message of the user is one request.",
    &[
        Key::required(
            "url",
            Form::Text,
            "url: http://127.0.0.1:8080/chat",
            "Its address; `${port}` is the port of the server that `start` starts.",
        ),
        METHOD,
        HEADERS,
        Key::optional(
            "request",
            Form::Own(request),
            "The body, with the placeholders ${message}, ${session}, ${turn}, ${scenario}, ${history}, ${plugins} \
             and ${context} in its texts.",
        ),
        Key::required(
            "response",
            Form::Text,
            "response: reply.text",
            "The path of the reply in the answer, such as `reply.text`.",
        ),
        Key::optional("session", Form::Text, "The path of the server's session id in the answer."),
        Key::optional("usage", Form::Table(&PATHS_OF_USAGE), "Where the answer says how many tokens it took."),
        Key::optional(
            "calls",
            Form::Table(&PATHS_OF_CALLS),
            "Where the answer tells which tools the agent called, so that they can be checked.",
        ),
        Key::or(
            "timeout_ms",
            Form::Whole(1.0, 1e9),
            "60000",
            "How long an answer may take, in milliseconds.",
        ),
        START,
    ],
)
.rules(port_needs_a_server);

/// Where tokens stand in an answer.
pub(crate) static PATHS_OF_USAGE: Table = Table::new(
    "Where the answer says how many tokens it took.",
    &[
        Key::required("input", Form::Text, "input: usage.input_tokens", "The path of the tokens read."),
        Key::required("output", Form::Text, "output: usage.output_tokens", "The path of the tokens written."),
    ],
);

/// Where tool calls stand in an answer.
pub(crate) static PATHS_OF_CALLS: Table = Table::new(
    "Where the answer tells which tools the agent called. A path that ends in `?` may lead nowhere.",
    &[
        Key::required("list", Form::Text, "list: tool_calls", "The path of the list of calls in the answer."),
        Key::required(
            "tool",
            Form::Text,
            "tool: name",
            "The path of the tool's name in an item of the list.",
        ),
        Key::required(
            "args",
            Form::Text,
            "args: arguments",
            "The path of the arguments in an item: an object, or one as JSON in a text.",
        ),
        Key::optional(
            "result",
            Form::Text,
            "The path of what the tool gave in an item; nothing is known of it unless given.",
        ),
        Key::optional(
            "error",
            Form::Text,
            "The path of what went wrong in an item: words, an object with a `message`, or `true`. Items without one \
             succeeded.",
        ),
    ],
);

fn request() -> Value {
    json!({
        "type": ["string", "number", "boolean", "array", "object"],
        "default": {"message": "${message}", "session": "${session}"},
    })
}

fn port_needs_a_server() -> Value {
    json!({
        "if": {"required": ["url"], "properties": {"url": {"pattern": "\\$\\{port\\}"}}},
        "then": {"required": ["start"]},
    })
}

pub(super) static HEADERS_PART: Part = Part {
    name: "headers",
    form: Form::About(
        "Headers by name; `${env.NAME}` in a value is taken from the environment. Values are on no ledger.",
        &Form::Names(Some("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$"), &Form::Text),
    ),
};

static SERVER_PART: Part = Part {
    name: "server",
    form: Form::About(
        "A server that is started for the agent and ended with the run.",
        &Form::OneOf(&[
            Form::About("The command; it finds its port in the variable `PORT`.", &Form::Part(&COMMAND)),
            Form::Table(&SERVER),
        ]),
    ),
};

/// A server with settings.
pub(crate) static SERVER: Table = Table::new(
    "A command, and how long it may take.",
    &[
        Key::required(
            "command",
            Form::Part(&COMMAND),
            "command: python3 server.py",
            "The command; it finds its port in the variable `PORT`.",
        ),
        Key::or(
            "ready_within_ms",
            Form::Whole(1.0, 600_000.0),
            "10000",
            "How long it may take until it accepts connections, in milliseconds.",
        ),
    ],
);

pub(super) static COMMAND: Part = Part {
    name: "command_line",
    form: Form::About(
        "A command: a line for the shell, or a program and its arguments.",
        &Form::OneOf(&[
            Form::About("A line for the shell.", &Form::Like("\\S")),
            Form::About("A program and its arguments.", &Form::Own(words)),
        ]),
    ),
};

fn words() -> Value {
    json!({
        "type": "array",
        "minItems": 1,
        "prefixItems": [{"type": "string", "minLength": 1}],
        "items": {"type": "string"},
    })
}

static A_TOOL: Form = Form::Part(&TOOL_PART);
static TOOL_PART: Part = Part { name: "tool", form: Form::Table(&TOOL) };

/// A tool of the agent.
pub(crate) static TOOL: Table = Table::new(
    "A tool of the agent.",
    &[
        Key::required("name", Form::Text, "name: look_up", "Its name, as the model sees it."),
        Key::optional("service", Form::Text, "The service it belongs to, by which mocks may name it."),
        Key::optional("description", Form::Text, "What it does, in words for the model."),
        Key::optional("parameters", Form::Schema, "The JSON Schema of its arguments."),
        Key::optional("output", Form::Schema, "The JSON Schema of its result."),
        Key::optional(
            "command",
            Form::Part(&COMMAND),
            "What it does for real: a command that gets the arguments as JSON on its standard input. Run only with \
             `--live`, or when `passthrough` lists the tool.",
        ),
        Key::optional(
            "http",
            Form::OneOf(&[
                Form::About("The address, which gets a POST.", &Form::Text),
                Form::Table(&HTTP_TOOL),
            ]),
            "Sends the arguments as JSON to this address.",
        ),
    ],
)
.rules(|| not_both("command", "http"));

/// Where a tool sends its arguments.
pub(crate) static HTTP_TOOL: Table = Table::new(
    "The request.",
    &[Key::required("url", Form::Text, "url: https://example.com/tool", "The address."), METHOD, HEADERS],
);
