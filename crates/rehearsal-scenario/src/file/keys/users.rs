//! Who answers tools that ask the user, and what goes to and fro between the agent and its users.

use rehearsal_core::keys::{Form, Key, Part, Table};
use serde_json::{Value, json};

use super::{SCOPES, not_both};

pub(super) static USERS: Part = Part {
    name: "users",
    form: Form::About(
        "Who answers tools that ask the user, by tool: the agent waits until they have.",
        &Form::Names(None, &Form::Part(&USER)),
    ),
};

static USER: Part = Part {
    name: "user",
    form: Form::About(
        "Who answers a tool: a model, a script, or a person.",
        &Form::OneOf(&[
            Form::Table(&SIMULATED_USER),
            Form::Table(&SCRIPTED_ANSWERS),
            Form::About("A person.", &Form::Word(&["person"])),
        ]),
    ),
};

/// A user that a model plays.
pub(crate) static SIMULATED_USER: Table = Table::new(
    "A user that a model plays.",
    &[
        Key::required(
            "instructions",
            Form::Text,
            "instructions: You are the customer, and you answer in a sentence.",
            "Who it is and how it answers, as its model is told.",
        ),
        Key::optional("model_type", Form::Text, "The key of its model in `models`; `user` unless given."),
        Key::optional(
            "temperature",
            Form::Number(0.0, 2.0),
            "How freely it answers; the provider's own unless given.",
        ),
        Key::optional("max_tokens", Form::Whole(1.0, 1e9), "The longest answer, in tokens."),
        Key::optional(
            "tools",
            Form::List(&Form::Table(&USER_TOOL)),
            "Tools of its own, which it may call before it answers.",
        ),
    ],
);

/// A user who follows a script.
pub(crate) static SCRIPTED_ANSWERS: Table = Table::new(
    "A user who follows a script.",
    &[Key::required(
        "script",
        Form::SomeOf(&Form::Any),
        "script: [It hurts here, Since yesterday]",
        "The answers, one after the other; one more than there are is an error.",
    )],
);

/// A tool of a user.
pub(crate) static USER_TOOL: Table = Table::new(
    "A tool of the user's own.",
    &[
        Key::required("name", Form::Text, "name: reveal", "Its name, as the user's model sees it."),
        Key::optional("description", Form::Text, "What it does, in words for the user's model."),
        Key::optional("parameters", Form::Schema, "The JSON Schema of its arguments."),
        Key::optional("response", Form::Any, "What it answers."),
        Key::optional("responseFn", Form::Text, "A JavaScript function that makes its answer."),
        Key::optional(
            "state",
            SCOPES,
            "What changes in the agent's session once the user has answered: scopes, and what is in them.",
        ),
        Key::optional("stateFn", Form::Text, "A JavaScript function that gives what changes there."),
    ],
)
.rules(one_answer);

fn one_answer() -> Value {
    json!({"allOf": [not_both("response", "responseFn"), not_both("state", "stateFn")]})
}

/// What goes to and fro between the agent and its users.
pub(crate) static BRIDGE: Table = Table::new(
    "What goes to and fro between the agent and its users.",
    &[
        Key::optional(
            "prompt",
            Form::Text,
            "What a simulated user is told: a template or JavaScript over `waiting`, `said`, `state` and `prompt`, \
             which is what it would be told otherwise.",
        ),
        Key::optional(
            "response",
            Form::Text,
            "What the agent gets: a template or JavaScript over `output`, which is what the user answered, \
             `waiting`, and `state`, the users' own.",
        ),
    ],
)
.rules(|| json!({"allOf": [{"anyOf": [{"required": ["prompt"]}, {"required": ["response"]}]}]}));
