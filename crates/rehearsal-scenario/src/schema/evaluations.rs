//! Evaluations, each type with its own keys.

use serde_json::{Value, json};

use super::{
    Definition, any_map, boolean, either, integer, list, map, not_both, number, share, telling_text,
    telling_texts, temperature, text, with, word,
};

/// The types that look at the reply, the time or the state.
const REPLY: [&str; 7] =
    ["string_contains", "regex_match", "json_path", "answer_schema", "llm_judge", "execution_time", "state"];
/// The types that look at what the agent did.
const AGENT: [&str; 6] =
    ["trajectory_contains_action", "tool_called", "tool_not_called", "step_count", "token_count", "cost"];
/// The types that look at files and commands.
const ENVIRONMENT: [&str; 3] = ["file_exists", "file_contains", "command_exit_code_is"];
/// The types that look at the turns of a conversation.
const CONVERSATION: [&str; 4] =
    ["conversation_length", "conversation_flow", "user_satisfaction", "context_retention"];

/// Every type by its name, and what can be asked where.
pub(super) fn definitions() -> Vec<Definition> {
    let place = |description: &str, groups: &[&[&str]]| {
        let forms: Vec<Value> =
            groups.concat().iter().map(|name| json!({"$ref": format!("#/$defs/{name}")})).collect();
        either(description, &forms)
    };
    let mut definitions = vec![
        ("turn_evaluation", place("Something that is asked of a turn.", &[&REPLY, &AGENT])),
        (
            "input_evaluation",
            place("Something that is asked of a step that says something.", &[&REPLY, &AGENT, &ENVIRONMENT]),
        ),
        (
            "code_evaluation",
            place("Something that is asked of a step that runs code.", &[&REPLY, &ENVIRONMENT]),
        ),
        (
            "conversation_evaluation",
            place(
                "Something that is asked of a conversation.",
                &[&REPLY, &AGENT, &ENVIRONMENT, &CONVERSATION],
            ),
        ),
    ];
    definitions.extend(replies());
    definitions.extend(actions());
    definitions.extend(costs());
    definitions.extend(environment());
    definitions.extend(conversations());
    definitions
}

/// An evaluation of one type.
fn evaluation<const N: usize>(
    name: &'static str,
    description: &str,
    required: &[&str],
    properties: [(&str, Value); N],
) -> Definition {
    let mut schema = map(description, &[&["type"], required].concat(), properties);
    let own = schema["properties"].take();
    schema["properties"] = with(
        json!({
            "type": {"const": name, "description": description},
            "description": text("Why it is asked, in your own words."),
        }),
        own,
    );
    (name, schema)
}

/// A definition with more rules in it.
fn ruled((name, schema): Definition, rules: Value) -> Definition {
    (name, with(schema, rules))
}

fn replies() -> Vec<Definition> {
    vec![
        evaluation(
            "string_contains",
            "The reply contains a text.",
            &["value"],
            [
                ("value", telling_text("The text to look for.")),
                ("case_sensitive", boolean("Whether upper and lower case differ.", false)),
            ],
        ),
        evaluation(
            "regex_match",
            "The reply matches a regular expression somewhere.",
            &["pattern"],
            [
                ("pattern", telling_text("The pattern, in JavaScript's syntax, without slashes.")),
                ("case_sensitive", boolean("Whether upper and lower case differ.", false)),
            ],
        ),
        ruled(
            evaluation(
                "json_path",
                "A value in the final answer is as it should be.",
                &["path"],
                [
                    (
                        "path",
                        telling_text(
                            "Where it stands: `$.items[0].name` or `items.0.name`; `$` is the whole answer.",
                        ),
                    ),
                    ("equals", json!({"description": "The value, which may be null."})),
                    ("matches", any_map("A query on the value, such as `{$gte: 3}`.")),
                    (
                        "exists",
                        json!({"type": "boolean", "description": "`true`: the value is there; `false`: it is not."}),
                    ),
                ],
            ),
            json!({"oneOf": [{"required": ["equals"]}, {"required": ["matches"]}, {"required": ["exists"]}]}),
        ),
        evaluation(
            "answer_schema",
            "The final answer satisfies a JSON Schema.",
            &["schema"],
            [("schema", any_map("The JSON Schema."))],
        ),
        llm_judge(),
        evaluation(
            "state",
            "The state satisfies a query.",
            &["matches"],
            [(
                "matches",
                with(any_map("The query, such as `{session.stage: done}`."), json!({"minProperties": 1})),
            )],
        ),
    ]
}

fn llm_judge() -> Definition {
    let number = "[0-9]+(\\.[0-9]+)?";
    let expected = json!({
        "type": "string",
        "description": "The answer that passes: `yes`, `no`, or a number from 0 to 1 as `0.8+`, `0.3-` or `0.2-0.4`.",
        "anyOf": [
            {"enum": ["yes", "no"]},
            {"pattern": format!("^\\s*([yY][eE][sS]|[nN][oO]|{number}([+-]|-{number})?)\\s*$")},
        ],
    });
    let form = with(
        any_map("The JSON Schema of the judge's answer; it needs a property `judgment`."),
        json!({
            "required": ["properties"],
            "properties": {"properties": {"type": "object", "required": ["judgment"]}},
        }),
    );
    let definition = evaluation(
        "llm_judge",
        "A judge answers a question about the step or turn as expected.",
        &["prompt", "expected"],
        [
            ("prompt", text("The question.")),
            ("expected", expected),
            ("capabilities", telling_texts("What the agent should show, each judged by itself.")),
            ("model_type", text("Another judge, by its key in `models`; `judge` unless given.")),
            ("temperature", temperature("How freely the judge answers; the provider's own unless given.")),
            ("json_schema", form),
        ],
    );
    let two_answers = json!({
        "required": ["capabilities", "json_schema"],
        "properties": {"json_schema": {"properties": {"properties": {"required": ["capabilities"]}}}},
    });
    ruled(definition, json!({"not": two_answers}))
}

fn actions() -> Vec<Definition> {
    let tool = || text("The tool, by its exact name.");
    let args = || {
        any_map("Arguments that the call has at least; a map of operators such as `{$gte: 10}` is a query.")
    };
    let count = |description: &str| integer(description, json!({"minimum": 0, "maximum": 1_000_000_000}));
    let called = evaluation(
        "tool_called",
        "The agent called a tool.",
        &["tool"],
        [
            ("tool", tool()),
            ("args", args()),
            ("count", count("How many such calls there are, exactly.")),
            ("min_count", with(count("How many at least."), json!({"default": 1}))),
            ("max_count", count("How many at most.")),
            ("before", text("Another tool: some such call comes before some call of it.")),
            ("after", text("Another tool: some such call comes after some call of it.")),
            (
                "status",
                with(
                    word("Which calls count.", &["succeeded", "failed", "any"]),
                    json!({"default": "succeeded"}),
                ),
            ),
        ],
    );
    let zero = |key: &str| json!({"required": [key], "properties": {key: {"const": 0}}});
    let called_rules = json!({
        "allOf": [
            not_both("count", "min_count"),
            not_both("count", "max_count"),
            {"if": zero("min_count"), "then": {"required": ["max_count"]}},
            {"if": zero("max_count"), "then": {"required": ["min_count"]}},
            {
                "if": {"anyOf": [zero("count"), zero("max_count")]},
                "then": {"not": {"anyOf": [{"required": ["before"]}, {"required": ["after"]}]}},
            },
        ],
    });
    let steps = evaluation(
        "step_count",
        "The agent made as many tool calls as it should.",
        &[],
        [
            ("min_steps", count("How many at least.")),
            ("max_steps", count("How many at most.")),
            ("target_steps", count("Only reported: how far the number is from it.")),
            ("action_prefix", text("Count only tools whose name begins with this.")),
        ],
    );
    let some = json!({"required": ["min_steps"], "properties": {"min_steps": {"minimum": 1}}});
    vec![
        evaluation(
            "trajectory_contains_action",
            "The agent called a tool, and the call succeeded.",
            &["action"],
            [("action", text("The tool's name, without regard to case, `_` and `-`."))],
        ),
        ruled(called, called_rules),
        evaluation(
            "tool_not_called",
            "The agent did not call a tool, or not with these arguments.",
            &["tool"],
            [("tool", tool()), ("args", args())],
        ),
        ruled(steps, json!({"anyOf": [{"required": ["max_steps"]}, some]})),
    ]
}

fn costs() -> Vec<Definition> {
    let tokens =
        |description: &str| integer(description, json!({"minimum": 0, "maximum": 1_000_000_000_000_000_u64}));
    let millis = |description: &str| number(description, json!({}));
    let keys = ["max_input_tokens", "max_output_tokens", "max_total_tokens"];
    let any: Vec<Value> = keys.iter().map(|key| json!({"required": [key]})).collect();
    vec![
        evaluation(
            "execution_time",
            "The step or turn took as long as it should.",
            &["max_duration_ms"],
            [
                ("max_duration_ms", with(millis("At most, in milliseconds."), json!({"minimum": 0}))),
                ("min_duration_ms", millis("At least, in milliseconds.")),
                ("target_duration_ms", millis("Only reported: how far the time is from it.")),
            ],
        ),
        ruled(
            evaluation(
                "token_count",
                "The agent's models used no more tokens than they should.",
                &[],
                [
                    (keys[0], tokens("Tokens read, at most.")),
                    (keys[1], tokens("Tokens written, at most.")),
                    (keys[2], tokens("Both together, at most.")),
                ],
            ),
            json!({"anyOf": any}),
        ),
        evaluation(
            "cost",
            "The agent's models cost no more than they should, by the `prices` of the file.",
            &["max_cost_usd"],
            [("max_cost_usd", number("US dollars, at most.", json!({"minimum": 0})))],
        ),
    ]
}

fn environment() -> Vec<Definition> {
    let path = || text("The file's path in the environment.");
    vec![
        evaluation("file_exists", "A file is there when the step ends.", &["path"], [("path", path())]),
        evaluation(
            "file_contains",
            "A file contains a text when the step ends.",
            &["path", "value"],
            [
                ("path", path()),
                ("value", telling_text("The text to look for.")),
                ("case_sensitive", boolean("Whether upper and lower case differ.", true)),
            ],
        ),
        evaluation(
            "command_exit_code_is",
            "A command, run when the step ends, ends with a code.",
            &["command", "expected_code"],
            [
                ("command", text("The command, a line for the shell.")),
                ("expected_code", integer("The code.", json!({"minimum": 0, "maximum": 255}))),
            ],
        ),
    ]
}

fn conversations() -> Vec<Definition> {
    let turns = |description: &str| integer(description, json!({"minimum": 1}));
    let range = with(
        list("At least and at most in one, such as `[3, 6]`.", json!({"type": "integer", "minimum": 0})),
        json!({"minItems": 2, "maxItems": 2}),
    );
    let pattern = word(
        "A pattern.",
        &[
            "question_then_answer",
            "problem_then_solution",
            "clarification_cycle",
            "empathy_then_solution",
            "escalation_pattern",
        ],
    );
    let words = map(
        "Words and phrases in place of our own.",
        &[],
        [
            ("positive", telling_texts("Those that show a content user.")),
            ("negative", telling_texts("Those that show the opposite.")),
        ],
    );
    let method = word(
        "`keyword_analysis` counts words of the user, the others ask a judge.",
        &["keyword_analysis", "sentiment_analysis", "llm_judge"],
    );
    vec![
        ruled(
            evaluation(
                "conversation_length",
                "The conversation had as many turns as it should.",
                &[],
                [
                    ("min_turns", turns("At least.")),
                    ("max_turns", turns("At most.")),
                    ("target_range", range),
                    ("optimal_turns", turns("Only reported: how far the number is from it.")),
                ],
            ),
            json!({"anyOf": [{"required": ["min_turns"]}, {"required": ["max_turns"]}, {"required": ["target_range"]}]}),
        ),
        evaluation(
            "conversation_flow",
            "The conversation went through patterns, as a judge sees it.",
            &["required_patterns"],
            [
                ("required_patterns", with(list("The patterns.", pattern), json!({"minItems": 1}))),
                ("flow_quality_threshold", share("The share of them that passes.", 0.7)),
            ],
        ),
        evaluation(
            "user_satisfaction",
            "The user was content.",
            &[],
            [
                ("satisfaction_threshold", share("The score that passes.", 0.7)),
                ("measurement_method", with(method, json!({"default": "llm_judge"}))),
                ("indicators", words),
            ],
        ),
        evaluation(
            "context_retention",
            "The agent remembered what the user said, as a judge sees it.",
            &["test_memory_of"],
            [
                ("test_memory_of", telling_texts("What, in words that the user says.")),
                (
                    "retention_turns",
                    integer(
                        "How many turns after it was said are looked at.",
                        json!({"minimum": 1, "default": 3}),
                    ),
                ),
                ("memory_accuracy_threshold", share("The score that passes.", 0.8)),
            ],
        ),
    ]
}
