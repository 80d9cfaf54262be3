//! Models and prices.

use rehearsal_core::keys::{Form, Key, Part, Table};
use serde_json::{Value, json};

use super::not_both;

pub(super) static MODELS: Part = Part {
    name: "models",
    form: Form::About(
        "Models by key. `agent`, `user` and `judge` play those parts; other keys are for `model_type`.",
        &Form::Own(models),
    ),
};

fn models() -> Value {
    let model = |about: &str| json!({"$ref": "#/$defs/model", "description": about});
    json!({
        "type": "object",
        "additionalProperties": model("Which model it is."),
        "properties": {
            "agent": model("The model of the agent under test."),
            "user": model("The model that plays simulated users."),
            "judge": model("The model that judges."),
        },
    })
}

/// Which model plays a part.
pub(crate) static MODEL: Part = Part {
    name: "model",
    form: Form::About(
        "A provider's model, a person, or a script.",
        &Form::OneOf(&[
            Form::About("A provider's model, such as `openai:gpt-4o`, or `person`.", &Form::Text),
            Form::Table(&PROVIDER),
            Form::Table(&SCRIPT),
            Form::Table(&RULES),
        ]),
    ),
};

/// A provider's model.
pub(crate) static PROVIDER: Table = Table::new(
    "A provider's model, with its address.",
    &[
        Key::required(
            "model",
            Form::Text,
            "model: openai:gpt-4o",
            "The model, such as `openai-compatible:qwen2.5`.",
        ),
        Key::optional("base_url", Form::Text, "Where it is, such as `http://127.0.0.1:8080/v1`."),
        Key::optional(
            "seed",
            Form::Whole(0.0, 2_147_483_647.0),
            "The seed of the provider's sampling, for providers that take one.",
        ),
        Key::optional(
            "max_calls",
            MAX_CALLS,
            "How many calls it is asked at once, at most, by all cases of a run.",
        ),
    ],
);

/// The most calls at once to a model.
pub(crate) const MAX_CALLS: Form = Form::Whole(1.0, 1024.0);

/// A model that answers turn after turn.
pub(crate) static SCRIPT: Table = Table::new(
    "A model that answers turn after turn; nothing is called.",
    &[Key::required(
        "script",
        Form::List(&Form::OneOf(&[Form::About("What it says.", &Form::Text), Form::Part(&REPLY_PART)])),
        "script: [{say: Hello}]",
        "Its answers, in order.",
    )],
);

/// A model that answers by what it is asked.
pub(crate) static RULES: Table = Table::new(
    "A model that answers by what it is asked; nothing is called.",
    &[Key::required(
        "rules",
        Form::List(&Form::Part(&RULE_PART)),
        "rules: [{say: Hello}]",
        "The first rule that holds answers.",
    )],
);

static REPLY_PART: Part = Part { name: "reply", form: Form::Table(&REPLY) };
static RULE_PART: Part = Part { name: "rule", form: Form::Table(&RULE) };

const SAY: Key = Key::optional("say", Form::Text, "What it says.");
const JSON: Key = Key::optional("json", Form::Any, "What it says, as JSON.");
const CALL: Key = Key::optional("call", Form::Text, "The tool it calls.");
const ARGS: Key = Key::optional("args", Form::Map, "The arguments of `call`.");
const CALLS: Key = Key::optional("calls", Form::List(&A_CALL), "Several tools it calls at once.");
const INVALID: Key = Key::or(
    "invalid",
    Form::Flag,
    "false",
    "Whether its calls may break the schemas of their tools, to play a model that gets them wrong.",
);
const FAIL: Key =
    Key::optional("fail", Form::Text, "Why it gives no answer; the agent sees a provider that is down.");
const USAGE: Key = Key::optional("usage", Form::Table(&SCRIPTED_USAGE), "The tokens it says it took.");
const WHEN: Key = Key::optional(
    "when",
    Form::Table(&RULE_WHEN),
    "When the rule answers: all that is given must hold. Without it, the rule always answers.",
);

/// An answer of a scripted model.
pub(crate) static REPLY: Table = Table::new(
    "An answer: words, JSON, calls or a failure.",
    &[SAY, JSON, CALL, ARGS, CALLS, INVALID, FAIL, USAGE],
)
.rules(one_answer);

/// A rule, which is an answer with a condition.
pub(crate) static RULE: Table = Table::new(
    "An answer, and when it is given.",
    &[SAY, JSON, CALL, ARGS, CALLS, INVALID, FAIL, USAGE, WHEN],
)
.rules(one_answer);

/// Says something, and only one thing.
fn one_answer() -> Value {
    let calls_something = json!({"required": ["calls"], "properties": {"calls": {"minItems": 1}}});
    let says = ["say", "json", "fail", "call"].map(|key| json!({"required": [key]}));
    let says_something = json!({"anyOf": [says[0], says[1], says[2], says[3], calls_something]});
    json!({
        "dependentRequired": {"args": ["call"]},
        "allOf": [
            says_something,
            not_both("say", "json"),
            not_both("say", "fail"),
            not_both("json", "fail"),
            not_both("fail", "call"),
            {"not": {"allOf": [{"required": ["fail"]}, calls_something]}},
        ],
    })
}

static A_CALL: Form = Form::Table(&SCRIPTED_CALL);

/// A call of a scripted model.
pub(crate) static SCRIPTED_CALL: Table = Table::new(
    "A call.",
    &[
        Key::required("tool", Form::Text, "tool: the tool's name", "The tool."),
        Key::optional("args", Form::Map, "Its arguments."),
    ],
);

/// Tokens of a scripted model.
pub(crate) static SCRIPTED_USAGE: Table = Table::new(
    "The tokens it says it took.",
    &[
        Key::or("input", Form::Whole(0.0, 1e15), "0", "Tokens read."),
        Key::or("output", Form::Whole(0.0, 1e15), "0", "Tokens written."),
    ],
);

/// When a rule answers.
pub(crate) static RULE_WHEN: Table = Table::new(
    "When the rule answers: all that is given must hold. Without it, the rule always answers.",
    &[
        Key::optional("user_contains", Form::Text, "What the user just said contains this."),
        Key::optional("user_matches", Form::Text, "What the user just said matches this regular expression."),
        Key::optional("tool_result", Form::Text, "This tool has just answered."),
        Key::optional("tool_result_contains", Form::Text, "The answer of `tool_result` contains this."),
        Key::optional("system_contains", Form::Text, "The instructions contain this."),
        Key::optional("conversation_contains", Form::Text, "Somebody has said something with this."),
        Key::optional("turn", Form::Whole(1.0, 1e6), "It is this turn of the model, from 1."),
    ],
)
.rules(|| json!({"dependentRequired": {"tool_result_contains": ["tool_result"]}}));

const MAX_TOKENS: Key =
    Key::optional("max_tokens", Form::Whole(1.0, 1e15), "Tokens, read and written, of all models together.");
const MAX_COST: Key =
    Key::optional("max_cost", DOLLARS, "US dollars, of all models together; each of them needs a price.");

/// What a case may use.
pub(crate) static BUDGET: Table =
    Table::new("What a case may use; it ends when that is used up.", &[MAX_TOKENS, MAX_COST]);

/// What a run may use.
pub(crate) static RUN_BUDGET: Table = Table::new(
    "What a run may use; it ends when that is used up.",
    &[MAX_TOKENS, MAX_COST, Key::optional("max_time", Form::Text, "How long it may take, such as `10m`.")],
);

pub(super) static PRICES: Part = Part {
    name: "prices",
    form: Form::About("Prices by model, such as `openai:gpt-4o`.", &Form::Names(None, &Form::Table(&PRICE))),
};

const DOLLARS: Form = Form::Number(0.0, f64::INFINITY);

/// What a model costs.
pub(crate) static PRICE: Table = Table::new(
    "The price of a model, in US dollars for a million tokens.",
    &[
        Key::required("input", DOLLARS, "input: 2.5", "For tokens read."),
        Key::required("output", DOLLARS, "output: 10", "For tokens written."),
        Key::optional("cached", DOLLARS, "For tokens read from a cache; as for others unless given."),
    ],
);
