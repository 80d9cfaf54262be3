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
            ("mocks", list("Who answers the agent's tool calls; the first that fits answers.", mock())),
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

fn mock() -> Value {
    let any_list = |description: &str| json!({"type": "array", "description": description});
    let when = map(
        "When it answers: all that is given must hold.",
        &[],
        [
            ("input", any_map("Some of the named arguments.")),
            ("args", any_list("The whole list of arguments.")),
            ("partialArgs", any_list("The first arguments.")),
            (
                "context",
                any_map(
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
            ("delay", number("How long it takes, in milliseconds.", json!({}))),
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
            {
                "if": {"allOf": [{"required": ["error"]}, {"not": sometimes}]},
                "then": {"not": {"anyOf": [{"required": ["response"]}, {"required": ["responseFn"]}]}},
            },
        ],
    });
    with(schema, rules)
}
