//! What happens before the first step.

use serde_json::{Value, json};

use super::{any_map, command, either, list, map, map_of, not_both, number, text, texts, with};

pub(super) fn schema() -> Value {
    let files = with(
        map_of(
            "Files that are there from the beginning: text by path, inside the environment.",
            &json!({"type": "string"}),
        ),
        json!({"propertyNames": {"minLength": 1, "not": {"pattern": "^/|(^|/)\\.\\.(/|$)|(^|/)\\.?$|\\u0000"}}}),
    );
    let line = json!({"type": "string", "pattern": "\\S", "description": "A line for the shell."});
    let seed = either(
        "Commands that fill the environment; one that fails ends the run.",
        &[line, list("Several commands, one after the other.", command("A command."))],
    );
    map(
        "What happens before the first step.",
        &[],
        [
            ("mocks", mocks(mock())),
            ("virtual_fs", files),
            ("passthrough", texts("Tools that run for real, by name.")),
            ("seed", seed),
            (
                "state",
                map_of(
                    "The state to begin with: scopes, and what is in them.",
                    &any_map("The values of a scope."),
                ),
            ),
        ],
    )
}

/// What the agent's file may set up.
pub(super) fn of_agent() -> Value {
    let mut mock = mock();
    // An agent's file has no steps, which give calls their context.
    if let Some(conditions) = mock["properties"]["when"]["properties"].as_object_mut() {
        conditions.remove("context");
    }
    map("What answers in place of the tools.", &[], [("mocks", mocks(mock))])
}

fn mocks(mock: Value) -> Value {
    list("Who answers the agent's tool calls; the first that fits answers.", mock)
}

fn mock() -> Value {
    let some = |description: &str| with(any_map(description), json!({"minProperties": 1}));
    let when = map(
        "When it answers: all that is given must hold.",
        &[],
        [
            ("input", some("Some of the named arguments.")),
            (
                "args",
                json!({"type": "array", "description": "All arguments: by name in one object, or by place."}),
            ),
            (
                "partialArgs",
                json!({
                    "type": "array",
                    "description": "Some of the arguments by name in one object, or the first by place.",
                    "minItems": 1,
                    "not": {"const": [{}]},
                }),
            ),
            (
                "context",
                some(
                    "Some of what is known around the call: `session`, `step`, `turn` and the step's `context`.",
                ),
            ),
            ("matcher", text("A condition in JavaScript over `args`, `input` and `context`.")),
        ],
    );
    let error = map(
        "The error it fails with: always, or as often as `metadata.probability` says.",
        &["code", "message"],
        [
            ("code", text("Its code.")),
            ("message", text("Its message, which the agent sees.")),
            ("status", number("Its HTTP status.", json!({}))),
        ],
    );
    let metadata = map(
        "How it behaves.",
        &[],
        [
            (
                "delay",
                number("How long it takes, in milliseconds.", json!({"minimum": 0, "maximum": 86_400_000})),
            ),
            ("probability", number("How often it fails.", json!({"minimum": 0, "maximum": 1}))),
        ],
    );
    let schema = map(
        "A mock of a tool.",
        &["method"],
        [
            ("description", text("What it is for, for readers of the file.")),
            ("service", text("The service of the tool it plays.")),
            ("method", text("The tool it plays.")),
            ("when", when),
            ("response", json!({"description": "What it answers."})),
            ("responseFn", text("A JavaScript function that makes its answer.")),
            ("error", error),
            ("metadata", metadata),
            ("person", json!({"const": true, "description": "A person answers."})),
            (
                "state",
                map_of(
                    "What changes in the session's state when it answers: scopes, and what is in them.",
                    &any_map("The values of a scope."),
                ),
            ),
        ],
    );
    let sometimes =
        json!({"required": ["metadata"], "properties": {"metadata": {"required": ["probability"]}}});
    let rules = json!({
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
    });
    with(schema, rules)
}
