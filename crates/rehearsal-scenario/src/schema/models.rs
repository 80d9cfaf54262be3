//! Models and prices.

use serde_json::{Value, json};

use super::{
    Definition, any_map, boolean, either, integer, list, map, map_of, not_both, number, reference, text, with,
};

pub(super) fn definitions() -> Vec<Definition> {
    vec![
        ("models", models()),
        ("model", model()),
        ("reply", reply(false)),
        ("rule", reply(true)),
        ("prices", prices()),
    ]
}

fn models() -> Value {
    let description =
        "Models by key. `agent`, `user` and `judge` play those parts; other keys are for `model_type`.";
    let model = reference("model", "Which model it is.");
    let parts = json!({
        "properties": {
            "agent": reference("model", "The model of the agent under test."),
            "user": reference("model", "The model that plays simulated users."),
            "judge": reference("model", "The model that judges."),
        },
    });
    with(map_of(description, &model), parts)
}

fn model() -> Value {
    let provider = text("A provider's model, such as `openai:gpt-4o`, or `person`.");
    let addressed = map(
        "A provider's model, with its address.",
        &["model"],
        [
            ("model", text("The model, such as `openai-compatible:qwen2.5`.")),
            ("base_url", text("Where it is, such as `http://127.0.0.1:8080/v1`.")),
        ],
    );
    let said = text("What it says.");
    let script = map(
        "A model that answers turn after turn; nothing is called.",
        &["script"],
        [(
            "script",
            list("Its answers, in order.", json!({"oneOf": [said, reference("reply", "An answer.")]})),
        )],
    );
    let rules = map(
        "A model that answers by what it is asked; nothing is called.",
        &["rules"],
        [("rules", list("The first rule that holds answers.", reference("rule", "A rule.")))],
    );
    either("A provider's model, a person, or a script.", &[provider, addressed, script, rules])
}

/// An answer of a scripted model, or a rule, which is an answer with a condition.
fn reply(is_rule: bool) -> Value {
    let call = map("A call.", &["tool"], [("tool", text("The tool.")), ("args", any_map("Its arguments."))]);
    let tokens = |description: &str| {
        integer(description, json!({"minimum": 0, "maximum": 1_000_000_000_000_000_u64, "default": 0}))
    };
    let usage = map(
        "The tokens it says it took.",
        &[],
        [("input", tokens("Tokens read.")), ("output", tokens("Tokens written."))],
    );
    let mut schema = map(
        if is_rule {
            "An answer, and when it is given."
        } else {
            "An answer: words, JSON, calls or a failure."
        },
        &[],
        [
            ("say", text("What it says.")),
            ("json", json!({"description": "What it says, as JSON."})),
            ("call", text("The tool it calls.")),
            ("args", any_map("The arguments of `call`.")),
            ("calls", list("Several tools it calls at once.", call)),
            (
                "invalid",
                boolean(
                    "Whether its calls may break the schemas of their tools, to play a model that gets them wrong.",
                    false,
                ),
            ),
            ("fail", text("Why it gives no answer; the agent sees a provider that is down.")),
            ("usage", usage),
        ],
    );
    if is_rule {
        schema["properties"]["when"] = when();
    }
    let calls_something = json!({"required": ["calls"], "properties": {"calls": {"minItems": 1}}});
    let says = ["say", "json", "fail", "call"].map(|key| json!({"required": [key]}));
    let says_something = json!({"anyOf": [says[0], says[1], says[2], says[3], calls_something]});
    let rules = json!({
        "dependentRequired": {"args": ["call"]},
        "allOf": [
            says_something,
            not_both("say", "json"),
            not_both("say", "fail"),
            not_both("json", "fail"),
            not_both("fail", "call"),
            {"not": {"allOf": [{"required": ["fail"]}, calls_something]}},
        ],
    });
    with(schema, rules)
}

fn when() -> Value {
    let schema = map(
        "When the rule answers: all that is given must hold. Without it, the rule always answers.",
        &[],
        [
            ("user_contains", text("What the user just said contains this.")),
            ("user_matches", text("What the user just said matches this regular expression.")),
            ("tool_result", text("This tool has just answered.")),
            ("tool_result_contains", text("The answer of `tool_result` contains this.")),
            ("system_contains", text("The instructions contain this.")),
            ("conversation_contains", text("Somebody has said something with this.")),
            (
                "turn",
                integer("It is this turn of the model, from 1.", json!({"minimum": 1, "maximum": 1_000_000})),
            ),
        ],
    );
    with(schema, json!({"dependentRequired": {"tool_result_contains": ["tool_result"]}}))
}

fn prices() -> Value {
    let dollars = |description: &str| number(description, json!({"minimum": 0}));
    let price = map(
        "The price of a model, in US dollars for a million tokens.",
        &["input", "output"],
        [
            ("input", dollars("For tokens read.")),
            ("output", dollars("For tokens written.")),
            ("cached", dollars("For tokens read from a cache; as for others unless given.")),
        ],
    );
    map_of("Prices by model, such as `openai:gpt-4o`.", &price)
}
