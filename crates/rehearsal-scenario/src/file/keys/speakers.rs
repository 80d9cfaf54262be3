//! Who plays the user of a conversation: a script, or a model.

use rehearsal_core::keys::{Form, Key, Table};
use serde_json::json;

use super::users::USER_TOOL;
use crate::personas;

static A_TOOL: Form = Form::Table(&USER_TOOL);

const TOOLS: Key = Key::optional(
    "tools",
    Form::List(&A_TOOL),
    "Tools of the user's own: what a customer can do themselves, such as looking at their phone.",
);

/// A user who follows a script.
pub(crate) static SCRIPTED_USER: Table = Table::new(
    "A user who follows a script.",
    &[
        Key::required(
            "script",
            Form::SomeOf(&Form::OneOf(&[
                Form::About("What is said.", &Form::Text),
                Form::Table(&USERS_CALL),
                Form::Table(&USERS_END),
            ])),
            "script: [Hello, Thank you]",
            "The messages, one after the other, and what is done before them; the conversation ends after the last.",
        ),
        TOOLS,
    ],
);

/// A call in a script.
pub(crate) static USERS_CALL: Table = Table::new(
    "Calls one of the user's tools before the next message.",
    &[
        Key::required("call", Form::Text, "call: restart_phone", "The tool."),
        Key::optional("args", Form::Map, "Its arguments."),
    ],
);

/// An end in a script.
pub(crate) static USERS_END: Table = Table::new(
    "Hangs up: the conversation ends at once, and the agent does not speak any more.",
    &[Key::required("hang_up", Form::Text, "hang_up: Thank you, bye.", "What the user says as they go.")],
);

/// How much a simulated user can know.
pub(crate) const KNOWLEDGE: &[&str] = &["beginner", "intermediate", "expert"];

/// A user that a model plays.
pub(crate) static SIMULATOR: Table = Table::new(
    "A user that a model plays.",
    &[
        Key::unless(
            "persona",
            Form::OneOf(&[Form::About("Who the user is.", &Form::Text), Form::Table(&NAMED_PERSONA)]),
            "persona: who the user is",
            "Who the user is.",
        ),
        Key::unless("objective", Form::Text, "objective: what the user wants", "What the user wants."),
        Key::optional(
            "instructions",
            Form::Length(1, 100_000),
            "All that its model is told, in place of what it would be told otherwise. `${persona}`, `${objective}`, \
             `${style}`, `${emotional_state}`, `${knowledge_level}`, `${constraints}` and `${stop}` are filled in.",
        ),
        Key::optional("model_type", Form::Text, "The key of its model in `models`; `user` unless given."),
        Key::or("temperature", Form::Number(0.0, 2.0), "0.7", "How freely it speaks."),
        Key::or("max_tokens", Form::Whole(1.0, 1e9), "200", "The longest message, in tokens."),
        Key::optional("style", Form::Text, "How it speaks."),
        Key::optional("constraints", Form::Texts, "What it keeps to."),
        Key::optional("emotional_state", Form::Text, "How it feels."),
        Key::or("knowledge_level", Form::Word(KNOWLEDGE), "\"intermediate\"", "How much it knows."),
        Key::optional(
            "stop",
            Form::OneOf(&[
                Form::About("The word.", &Form::Length(1, 200)),
                Form::About("Several of them.", &Form::SomeOf(&Form::Length(1, 200))),
            ]),
            "Stop words: a message that has one ends the conversation at once, and the agent does not get it. Its model \
             is told of them.",
        ),
        Key::or(
            "may_hang_up",
            Form::Flag,
            "false",
            "Whether its model has a tool `hang_up`, which ends the conversation at once.",
        ),
        TOOLS,
    ],
)
.rules(|| json!({"anyOf": [{"required": ["instructions"]}, {"required": ["persona", "objective"]}]}));

/// One of the personas that come with the program.
pub(crate) static NAMED_PERSONA: Table = Table::new(
    "A persona that comes with the program; `rehearse personas` lists them.",
    &[
        Key::required("named", Form::Word(&personas::NAMES), "named: impatient", "Its name."),
        Key::optional(
            "about",
            Form::Text,
            "Who the user is beside that: their name, their order, what they know.",
        ),
    ],
);
