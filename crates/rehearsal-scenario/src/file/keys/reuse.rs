//! Rows, variants and what is shared: `cases`, `matrix`, `use`, and the project's file.

use rehearsal_core::keys::{Form, Key, Part, Table};
use serde_json::{Value, json};

use super::agent::{AGENT, COMMAND};
use super::models::{MODEL, MODELS};
use super::{PRICES_KEY, VARIABLES_KEY};
use crate::cases::rows::TYPES;

/// What is under test in a scenario.
pub(super) static AGENT_OF_SCENARIO: Form =
    Form::OneOf(&[Form::Part(&AGENT), Form::Table(&AGENT_BY_FILE), Form::Table(&AGENT_BY_NAME)]);

const ABOUT: Key = Key::optional("description", Form::Text, "What it is, for readers of the file.");

/// An agent of a file of its own.
pub(crate) static AGENT_BY_FILE: Table = Table::new(
    "An agent of a file of its own, as `--agent` takes it.",
    &[
        Key::required(
            "file",
            Form::Text,
            "file: agents/support.yaml",
            "The file, from the folder of this one.",
        ),
        ABOUT,
    ],
);

/// An agent that the project's file names.
pub(crate) static AGENT_BY_NAME: Table = Table::new(
    "An agent that `rehearsal.yaml` names.",
    &[Key::required("use", Form::Text, "use: support", "Its name under `agents`."), ABOUT],
);

pub(super) const USE_KEY: Key = Key::optional(
    "use",
    Form::Texts,
    "Blocks of other files, such as `common.yaml#/mocks/shop`, put where the first word behind `#/` says.",
);
pub(super) const CASES_KEY: Key = Key::optional(
    "cases",
    Form::Part(&CASES_PART),
    "Rows: one case is made of each, with `${row.NAME}` filled in everywhere.",
);
pub(super) const MATRIX_KEY: Key = Key::optional(
    "matrix",
    Form::Part(&MATRIX_PART),
    "Values by axis: every case is made once for each combination, with `${matrix.AXIS}` filled in everywhere.",
);

static CASES_PART: Part = Part {
    name: "cases",
    form: Form::About(
        "Rows, or where they are.",
        &Form::OneOf(&[
            Form::About("Rows, each a map of values.", &Form::SomeOf(&Form::Map)),
            Form::Table(&CASES),
        ]),
    ),
};

/// Where rows are.
pub(crate) static CASES: Table = Table::new(
    "Where the rows are: exactly one of `csv`, `jsonl`, `json`, `yaml`, `command` and `rows`.",
    &[
        Key::unless("csv", Form::Text, "csv: rows.csv", "A CSV file whose first line names the columns."),
        Key::unless("jsonl", Form::Text, "jsonl: rows.jsonl", "A file with a JSON object a line."),
        Key::unless("json", Form::Text, "json: rows.json", "A file with a JSON array of objects."),
        Key::unless(
            "yaml",
            Form::Text,
            "yaml: rows.yaml",
            "A YAML file with a list of maps; `FILE#/KEY` names a list in it.",
        ),
        Key::unless(
            "command",
            Form::Part(&COMMAND),
            "command: [python3, rows.py]",
            "A command that prints a JSON object a line, or one JSON array; run in the folder of this file.",
        ),
        Key::unless("rows", Form::SomeOf(&Form::Map), "rows: [{question: …}]", "Rows, each a map of values."),
        Key::optional("select", Form::SomeTexts, "Only the rows of these names."),
        Key::optional("limit", Form::Whole(1.0, 1e9), "Only so many rows, from the first."),
        Key::optional("types", Form::Own(types), "What the texts of columns of `csv` are; text unless told."),
    ],
)
.rules(|| {
    let kinds = ["csv", "jsonl", "json", "yaml", "command", "rows"];
    let one: Vec<Value> = kinds.iter().map(|kind| json!({"required": [kind]})).collect();
    json!({"oneOf": one, "dependentRequired": {"types": ["csv"]}})
});

fn types() -> Value {
    json!({"type": "object", "additionalProperties": {"type": "string", "enum": TYPES}})
}

static MATRIX_PART: Part = Part {
    name: "matrix",
    form: Form::About(
        "Lists of values by the names of axes. `exclude` leaves combinations out, `include` adds some.",
        &Form::Own(matrix),
    ),
};

fn matrix() -> Value {
    let scalar = json!({"type": ["string", "number", "boolean"]});
    let value = json!({"oneOf": [scalar, AXIS_VALUE.schema()]});
    let combination = json!({"type": "object", "minProperties": 1, "additionalProperties": scalar});
    json!({
        "type": "object",
        "minProperties": 1,
        "properties": {
            "exclude": {"type": "array", "items": combination, "description": "Combinations that are left out: every one that has these values."},
            "include": {"type": "array", "items": combination, "description": "Combinations that are added: a value for each axis, by its name."},
        },
        "propertyNames": {"minLength": 1},
        "additionalProperties": {"type": "array", "minItems": 1, "items": value},
    })
}

/// A value of an axis that does more than stand for itself.
pub(crate) static AXIS_VALUE: Table = Table::new(
    "A value with a name, and what it sets in the scenario.",
    &[
        Key::required("name", Form::Length(1, 200), "name: short", "Its name in the names of cases."),
        Key::optional("value", Form::Any, "What `${matrix.AXIS}` stands for; its name unless given."),
        Key::optional(
            "set",
            Form::SomeMap,
            "Values by their paths in the scenario, such as `agent.instructions` or `run.0.input`.",
        ),
    ],
);

/// The project's file.
pub(crate) static PROJECT: Table = Table::new(
    "What holds for all scenarios below the folder of this file.",
    &[
        Key::optional(
            "scenarios",
            Form::SomeTexts,
            "Where scenarios are when a command names none: folders, files, patterns.",
        ),
        Key::optional("models", Form::Part(&MODELS), "Models for scenarios that have none of that key."),
        Key::optional("judges", Form::Part(&JUDGES), "Judges by name, for the `model_type` of evaluations."),
        PRICES_KEY,
        VARIABLES_KEY,
        super::PUBLIC_KEY,
        Key::optional(
            "agents",
            Form::Names(None, &AGENT_OF_SCENARIO),
            "Agents by name, for `agent: {use: NAME}`.",
        ),
        Key::optional("defaults", Form::Map, "Keys of scenarios, for those that do not have them."),
        Key::optional("jobs", Form::Whole(1.0, 1024.0), "How many cases run side by side."),
        Key::optional("max_calls", super::MAX_CALLS, "How many calls each model is asked at once, at most."),
        Key::optional(
            "budget",
            Form::Table(&super::RUN_BUDGET),
            "What a run may use, all its cases together.",
        ),
        Key::optional("store", Form::Text, "Where everything is kept: a file, or `postgres://…`."),
        Key::optional("timeout", Form::Text, "How long a case may take, such as `90s` or `5m`."),
    ],
);

static JUDGES: Part =
    Part { name: "judges", form: Form::About("Models by name.", &Form::Names(None, &Form::Part(&MODEL))) };

/// A matrix file of the `ElizaOS` runner.
pub(crate) static ELIZAOS_MATRIX: Table = Table::new(
    "A base scenario, and values for places of it.",
    &[
        Key::required("name", Form::Text, "name: What it tries", "What it tries, in a few words."),
        Key::optional("description", Form::Text, "What it is about."),
        Key::required(
            "base_scenario",
            Form::Text,
            "base_scenario: base.scenario.yaml",
            "The scenario, from the folder of this file.",
        ),
        Key::or(
            "runs_per_combination",
            Form::Whole(1.0, 1_000_000.0),
            "1",
            "How often each combination is run.",
        ),
        Key::required(
            "matrix",
            Form::List(&Form::Table(&ELIZAOS_AXIS)),
            "matrix: [{parameter: 'run[0].input', values: [Hello]}]",
            "The axes.",
        ),
    ],
);

/// An axis of it.
pub(crate) static ELIZAOS_AXIS: Table = Table::new(
    "A place of the scenario, and the values that it takes.",
    &[
        Key::required("parameter", Form::Text, "parameter: 'run[0].input'", "The place."),
        Key::required("values", Form::List(&Form::Any), "values: [Hello, Hi]", "The values."),
    ],
);
