//! The grammar of the file: every map of it as a table of its keys.
//!
//! The readers beside it take nothing but the keys of these tables, and the JSON Schemas for editors and the page of
//! reference are made from them. What a table cannot say, such as two keys that cannot stand together, stands beside it
//! as its rules.

use rehearsal_core::keys::{Form, Key, Part, Table};
use serde_json::{Value, json};

mod agent;
mod models;
mod reuse;
mod setup;
mod speakers;
mod steps;
mod users;
mod world;

pub(crate) use agent::*;
pub(crate) use models::*;
pub(crate) use reuse::*;
pub(crate) use setup::*;
pub(crate) use speakers::*;
pub(crate) use steps::*;
pub(crate) use users::*;
pub(crate) use world::*;

/// A whole scenario.
pub(crate) static SCENARIO: Table = Table::new(
    "One scenario: what is said to an agent, who plays its tools and its user, and what is asked of it.",
    &[
        Key::required(
            "name",
            Form::Text,
            "name: what the scenario shows",
            "What the scenario shows, in a few words.",
        ),
        Key::required(
            "description",
            Form::Text,
            "description: in a sentence or two",
            "What the scenario is about, in a sentence or two.",
        ),
        Key::optional("tags", Form::Texts, "Words to select the scenario by, as in `--filter tag:billing`."),
        USE_KEY,
        CASES_KEY,
        MATRIX_KEY,
        Key::optional("agent", AGENT_OF_SCENARIO, "What is under test."),
        Key::optional(
            "models",
            Form::Part(&MODELS),
            "Who plays the agent's model, the simulated user and the judge.",
        ),
        PRICES_KEY,
        Key::optional("budget", Form::Table(&BUDGET), "What the models of a case may use together."),
        Key::optional(
            "plugins",
            Form::List(&Form::OneOf(&[PLUGIN_NAME, Form::Table(&PLUGIN)])),
            "Plugins, handed to `http` and `command` agents.",
        ),
        Key::required(
            "environment",
            Form::Table(&ENVIRONMENT),
            "environment: {type: local}",
            "Where the code and the commands of the scenario run.",
        ),
        WORLD_KEY,
        Key::optional("setup", Form::Table(&SETUP), "What happens before the first step."),
        Key::optional("users", Form::Part(&USERS), "Who answers tools that ask the user, by tool."),
        Key::optional(
            "bridge",
            Form::Table(&BRIDGE),
            "What goes to and fro between the agent and its users.",
        ),
        Key::required(
            "run",
            Form::SomeOf(&Form::Part(&STEP)),
            "run:\n  - input: Hello\n    evaluations: []",
            "The steps, one after the other.",
        ),
        Key::required(
            "judgment",
            Form::Table(&JUDGMENT),
            "judgment: {strategy: all_pass}",
            "When the scenario has passed.",
        ),
    ],
);

/// A file for `--agent`.
pub(crate) static AGENT_FILE: Table = Table::new(
    "An agent for scenarios that do not bring their own.",
    &[
        Key::required(
            "agent",
            Form::Part(&AGENT),
            "agent: {instructions: You are helpful.}",
            "What is under test.",
        ),
        Key::optional("models", Form::Part(&MODELS), "Models for scenarios that have none of that key."),
        PRICES_KEY,
        VARIABLES_KEY,
        WORLD_KEY,
        Key::optional("setup", Form::Table(&AGENT_SETUP), "What answers in place of the tools."),
        PUBLIC_KEY,
    ],
);

const WORLD_KEY: Key =
    Key::optional("world", Form::Part(&WORLD_PART), "A living program that plays the tools of a case.");
const PRICES_KEY: Key = Key::optional(
    "prices",
    Form::Part(&PRICES),
    "What models cost, for budgets and evaluations of type `cost`.",
);
const VARIABLES_KEY: Key =
    Key::optional("variables", Form::Part(&VARIABLES), "The environment variables that commands see.");
const PUBLIC_KEY: Key = Key::optional("public", Form::Part(&PUBLIC), "Those whose values may be shown.");

/// Where code and commands run.
pub(crate) static ENVIRONMENT: Table = Table::new(
    "Where the code and the commands of the scenario run.",
    &[
        Key::required(
            "type",
            Form::Word(&["local"]),
            "type: local",
            "A folder of its own on this machine, which is removed afterwards.",
        ),
        VARIABLES_KEY,
        PUBLIC_KEY,
    ],
);

/// What the name of an environment variable looks like.
const VARIABLE_NAME: &str = "^[^=\\u0000]+$";

static VARIABLES: Part = Part {
    name: "variables",
    form: Form::About(
        "Environment variables: a list of names, or a map of names and values.",
        &Form::OneOf(&[
            Form::About(
                "Names; the values are those of whoever runs the scenario.",
                &Form::List(&Form::Like(VARIABLE_NAME)),
            ),
            Form::About("Names and values.", &Form::Names(Some(VARIABLE_NAME), &Form::Text)),
        ]),
    ),
};

static PUBLIC: Part = Part {
    name: "public",
    form: Form::About(
        "Variables of the environment whose values may be shown; the others are hidden in all that programs say.",
        &Form::Texts,
    ),
};

/// When a scenario has passed.
pub(crate) static JUDGMENT: Table = Table::new(
    "When the scenario has passed.",
    &[Key::required(
        "strategy",
        Form::Word(&["all_pass", "any_pass"]),
        "strategy: all_pass",
        "`all_pass`: every evaluation passes. `any_pass`: at least one does.",
    )],
);

const PLUGIN_NAME: Form = Form::About("The plugin's name.", &Form::Like("\\S"));

/// A plugin with settings.
pub(crate) static PLUGIN: Table = Table::new(
    "A plugin with settings.",
    &[
        Key::required("name", Form::Like("\\S"), "name: the plugin's package", "The plugin's name."),
        Key::optional("version", Form::Text, "Its version."),
        Key::or("enabled", Form::Flag, "true", "Whether it is used."),
        Key::optional("config", Form::Map, "Its settings."),
    ],
);

/// Two keys that cannot stand together.
fn not_both(a: &str, b: &str) -> Value {
    json!({"not": {"required": [a, b]}})
}
