//! The JSON Schemas of scenario files and agent files, for editors.
//!
//! The readers in `file` decide what a file may hold and say what is wrong with it far better than a schema does. These
//! schemas follow them, so that an editor completes keys and explains them while somebody types. A test changes good
//! files in every place and holds both to the same answer.

use serde_json::{Map, Value, json};

mod agent;
mod evaluations;
mod models;
mod setup;
mod steps;

/// The schema of scenario files, draft 2020-12.
///
/// ```
/// use rehearsal_core::Schema;
/// use serde_json::json;
///
/// let schema = Schema::new(rehearsal_scenario::scenario_schema());
/// assert!(!schema.check(&json!({"name": "greets"})).unwrap().is_empty());
/// ```
pub fn scenario_schema() -> Value {
    let environment = map(
        "Where the code and the commands of the scenario run.",
        &["type"],
        [
            ("type", word("A folder of its own on this machine, which is removed afterwards.", &["local"])),
            ("variables", reference("variables", "The environment variables that commands see.")),
            ("public", reference("public", "Those whose values may be shown.")),
        ],
    );
    let judgment = map(
        "When the scenario has passed.",
        &["strategy"],
        [(
            "strategy",
            word(
                "`all_pass`: every evaluation passes. `any_pass`: at least one does.",
                &["all_pass", "any_pass"],
            ),
        )],
    );
    let body = map(
        "One scenario: what is said to an agent, who plays its tools and its user, and what is asked of it.",
        &["name", "description", "environment", "run", "judgment"],
        [
            ("name", text("What the scenario shows, in a few words.")),
            ("description", text("What the scenario is about, in a sentence or two.")),
            ("tags", texts("Words to select the scenario by, as in `--filter tag:billing`.")),
            ("agent", reference("agent", "What is under test.")),
            ("models", reference("models", "Who plays the agent's model, the simulated user and the judge.")),
            ("prices", reference("prices", "What models cost, for evaluations of type `cost`.")),
            ("plugins", list("Plugins, handed to `http` and `command` agents.", plugin())),
            ("environment", environment),
            ("setup", setup::schema()),
            ("run", with(list("The steps, one after the other.", steps::schema()), json!({"minItems": 1}))),
            ("judgment", judgment),
        ],
    );
    let parts =
        [agent::definitions(), models::definitions(), steps::definitions(), evaluations::definitions()];
    document("Rehearsal scenario", &body, parts.concat())
}

/// The schema of the files that `--agent` names, draft 2020-12.
pub fn agent_schema() -> Value {
    let body = map(
        "An agent for scenarios that do not bring their own.",
        &["agent"],
        [
            ("agent", reference("agent", "What is under test.")),
            ("models", reference("models", "Models for scenarios that have none of that key.")),
            ("prices", reference("prices", "What models cost, for evaluations of type `cost`.")),
            ("variables", reference("variables", "The environment variables that commands see.")),
            ("setup", setup::of_agent()),
            ("public", reference("public", "Those whose values may be shown.")),
        ],
    );
    document("Rehearsal agent", &body, [agent::definitions(), models::definitions()].concat())
}

type Definition = (&'static str, Value);

fn document(title: &str, body: &Value, definitions: Vec<Definition>) -> Value {
    let head = json!({"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title});
    let definitions: Map<String, Value> =
        definitions.into_iter().map(|(name, schema)| (name.to_owned(), schema)).collect();
    with(with(head, body.clone()), json!({"$defs": definitions}))
}

fn plugin() -> Value {
    let name = json!({"type": "string", "pattern": "\\S", "description": "The plugin's name."});
    let settings = map(
        "A plugin with settings.",
        &["name"],
        [
            ("name", name.clone()),
            ("version", text("Its version.")),
            ("enabled", boolean("Whether it is used.", true)),
            ("config", any_map("Its settings.")),
        ],
    );
    either("A plugin: its name, or its name and settings.", &[name, settings])
}

/// A schema with more said in it.
fn with(mut schema: Value, more: Value) -> Value {
    if let (Value::Object(fields), Value::Object(more)) = (&mut schema, more) {
        fields.extend(more);
    }
    schema
}

fn text(description: &str) -> Value {
    json!({"type": "string", "description": description})
}

fn texts(description: &str) -> Value {
    list(description, json!({"type": "string"}))
}

fn telling_texts(description: &str) -> Value {
    with(texts(description), json!({"minItems": 1}))
}

fn list(description: &str, items: Value) -> Value {
    let items = [("items".to_owned(), items)].into_iter().collect::<Map<_, _>>();
    with(json!({"type": "array", "description": description}), Value::Object(items))
}

fn word(description: &str, words: &[&str]) -> Value {
    json!({"type": "string", "enum": words, "description": description})
}

fn boolean(description: &str, default: bool) -> Value {
    json!({"type": "boolean", "default": default, "description": description})
}

fn number(description: &str, bounds: Value) -> Value {
    with(json!({"type": "number", "description": description}), bounds)
}

fn integer(description: &str, bounds: Value) -> Value {
    with(json!({"type": "integer", "description": description}), bounds)
}

fn share(description: &str, default: f64) -> Value {
    number(description, json!({"minimum": 0, "maximum": 1, "default": default}))
}

fn temperature(description: &str) -> Value {
    number(description, json!({"minimum": 0, "maximum": 2}))
}

/// A map of any keys.
fn any_map(description: &str) -> Value {
    json!({"type": "object", "description": description})
}

/// A map with these keys and no others.
fn map<const N: usize>(description: &str, required: &[&str], properties: [(&str, Value); N]) -> Value {
    let mut properties: Map<String, Value> =
        properties.into_iter().map(|(key, schema)| (key.to_owned(), schema)).collect();
    properties.entry("description").or_insert_with(|| text("Why it is there, for readers of the file."));
    let mut schema = json!({
        "type": "object",
        "description": description,
        "properties": properties,
        "additionalProperties": false,
    });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

/// A map whose keys are the author's own.
fn map_of(description: &str, values: &Value) -> Value {
    json!({"type": "object", "description": description, "additionalProperties": values})
}

/// Exactly one of several forms.
fn either(description: &str, forms: &[Value]) -> Value {
    json!({"description": description, "oneOf": forms})
}

fn reference(name: &str, description: &str) -> Value {
    json!({"$ref": format!("#/$defs/{name}"), "description": description})
}

/// Two keys that cannot stand together.
fn not_both(a: &str, b: &str) -> Value {
    json!({"not": {"required": [a, b]}})
}

fn command(description: &str) -> Value {
    reference("command", description)
}
