//! What happens before the first step.

use rehearsal_core::keys::{Form, Key, Table};
use serde_json::{Value, json};

use super::{COMMAND, not_both};

pub(super) const SCOPES: Form = Form::Names(None, &Form::About("The values of a scope.", &Form::Map));

/// What happens before the first step.
pub(crate) static SETUP: Table = Table::new(
    "What happens before the first step.",
    &[
        Key::optional(
            "mocks",
            Form::List(&Form::Table(&MOCK)),
            "Who answers the agent's tool calls; the first that fits answers.",
        ),
        Key::optional(
            "virtual_fs",
            Form::Own(files),
            "Files that are there from the beginning: text by path, inside the environment.",
        ),
        Key::optional("passthrough", Form::Texts, "Tools that run for real, by name."),
        Key::optional(
            "seed",
            Form::OneOf(&[
                Form::About("A line for the shell.", &Form::Like("\\S")),
                Form::About(
                    "Several commands, one after the other.",
                    &Form::List(&Form::About("A command.", &Form::Part(&COMMAND))),
                ),
            ]),
            "Commands that fill the environment; one that fails ends the run.",
        ),
        Key::optional("state", SCOPES, "The state to begin with: scopes, and what is in them."),
    ],
);

/// What the agent's file may set up.
pub(crate) static AGENT_SETUP: Table = Table::new(
    "What answers in place of the tools.",
    &[Key::optional(
        "mocks",
        Form::List(&Form::Table(&AGENT_MOCK)),
        "Who answers the agent's tool calls; the first that fits answers.",
    )],
);

fn files() -> Value {
    json!({
        "type": "object",
        "additionalProperties": {"type": "string"},
        "propertyNames": {"minLength": 1, "not": {"pattern": "^/|(^|/)\\.\\.(/|$)|(^|/)\\.?$|\\u0000"}},
    })
}

const ABOUT: Key = Key::optional("description", Form::Text, "What it is for, for readers of the file.");
const SERVICE: Key = Key::optional("service", Form::Text, "The service of the tool it plays.");
const METHOD: Key = Key::required("method", Form::Text, "method: the tool's name", "The tool it plays.");
const RESPONSE: Key = Key::optional("response", Form::Any, "What it answers.");
const RESPONSE_FN: Key =
    Key::optional("responseFn", Form::Text, "A JavaScript function that makes its answer.");
const ERROR: Key = Key::optional(
    "error",
    Form::Table(&MOCK_ERROR),
    "The error it fails with: always, or as often as `metadata.probability` says.",
);
const METADATA: Key = Key::optional("metadata", Form::Table(&MOCK_METADATA), "How it behaves.");
const PERSON: Key = Key::optional("person", Form::True, "A person answers.");
const STATE: Key = Key::optional(
    "state",
    SCOPES,
    "What changes in the session's state when it answers: scopes, and what is in them.",
);

/// A mock of a scenario.
pub(crate) static MOCK: Table = Table::new(
    "A mock of a tool.",
    &[
        ABOUT,
        SERVICE,
        METHOD,
        Key::optional("when", Form::Table(&MOCK_WHEN), "When it answers: all that is given must hold."),
        RESPONSE,
        RESPONSE_FN,
        ERROR,
        METADATA,
        PERSON,
        STATE,
    ],
)
.rules(one_answer);

/// A mock of an agent's file, which has no steps that give calls their context.
pub(crate) static AGENT_MOCK: Table = Table::new(
    "A mock of a tool.",
    &[
        ABOUT,
        SERVICE,
        METHOD,
        Key::optional("when", Form::Table(&AGENT_MOCK_WHEN), "When it answers: all that is given must hold."),
        RESPONSE,
        RESPONSE_FN,
        ERROR,
        METADATA,
        PERSON,
        STATE,
    ],
)
.rules(one_answer);

/// Answers in one way.
fn one_answer() -> Value {
    let sometimes =
        json!({"required": ["metadata"], "properties": {"metadata": {"required": ["probability"]}}});
    json!({
        "allOf": [
            not_both("response", "responseFn"),
            not_both("person", "response"),
            not_both("person", "responseFn"),
            not_both("person", "error"),
            not_both("person", "metadata"),
            {
                "if": {"allOf": [{"required": ["error"]}, {"not": sometimes}]},
                "then": {"not": {"anyOf": [{"required": ["response"]}, {"required": ["responseFn"]}]}},
            },
        ],
    })
}

const INPUT: Key = Key::optional("input", Form::SomeMap, "Some of the named arguments.");
const ARGS: Key =
    Key::optional("args", Form::List(&Form::Any), "All arguments: by name in one object, or by place.");
const PARTIAL_ARGS: Key = Key::optional(
    "partialArgs",
    Form::Own(|| json!({"type": "array", "minItems": 1, "not": {"const": [{}]}})),
    "Some of the arguments by name in one object, or the first by place.",
);
const CONTEXT: Key = Key::optional(
    "context",
    Form::SomeMap,
    "Some of what is known around the call: `session`, `step`, `turn` and the step's `context`.",
);
const MATCHER: Key =
    Key::optional("matcher", Form::Text, "A condition in JavaScript over `args`, `input` and `context`.");

/// When a mock of a scenario answers.
pub(crate) static MOCK_WHEN: Table = Table::new(
    "When it answers: all that is given must hold.",
    &[INPUT, ARGS, PARTIAL_ARGS, CONTEXT, MATCHER],
);

/// When a mock of an agent's file answers.
pub(crate) static AGENT_MOCK_WHEN: Table =
    Table::new("When it answers: all that is given must hold.", &[INPUT, ARGS, PARTIAL_ARGS, MATCHER]);

/// The error that a mock fails with.
pub(crate) static MOCK_ERROR: Table = Table::new(
    "The error it fails with: always, or as often as `metadata.probability` says.",
    &[
        Key::required("code", Form::Text, "code: API_ERROR", "Its code."),
        Key::required(
            "message",
            Form::Text,
            "message: what went wrong",
            "Its message, which the agent sees.",
        ),
        Key::optional("status", Form::Number(f64::NEG_INFINITY, f64::INFINITY), "Its HTTP status."),
    ],
);

/// The longest delay of a mock: a day.
pub(crate) const MAX_DELAY_MS: f64 = 86_400_000.0;

/// How a mock behaves.
pub(crate) static MOCK_METADATA: Table = Table::new(
    "How it behaves.",
    &[
        Key::optional("delay", Form::Number(0.0, MAX_DELAY_MS), "How long it takes, in milliseconds."),
        Key::optional("probability", Form::Number(0.0, 1.0), "How often it fails."),
    ],
);
