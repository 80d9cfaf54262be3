//! The JSON Schemas of scenario files and agent files, for editors: made from the tables of keys.

use rehearsal_core::keys::{Form, Part, Table};
use rehearsal_metrics::evaluator::KINDS;
use serde_json::{Map, Value, json};

use crate::file::keys::{AGENT_FILE, MODEL, PROJECT, SCENARIO};

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
    let mut schema = document("Rehearsal scenario", &SCENARIO);
    for kind in KINDS {
        schema["$defs"][kind.name] = kind.schema();
    }
    schema
}

/// The schema of the files that `--agent` names, draft 2020-12.
pub fn agent_schema() -> Value {
    document("Rehearsal agent", &AGENT_FILE)
}

/// The schema of the project's file, `rehearsal.yaml`, draft 2020-12.
pub fn config_schema() -> Value {
    document("Rehearsal project", &PROJECT)
}

fn document(title: &str, table: &'static Table) -> Value {
    let mut parts = Vec::new();
    Form::Table(table).parts(&mut parts);
    // It stands among the properties of the map of models, which a form does not show.
    Form::Part(&MODEL).parts(&mut parts);
    let definitions: Map<String, Value> =
        parts.iter().map(|part: &&Part| (part.name.to_owned(), part.form.schema())).collect();
    let head = json!({"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title});
    [head, table.schema(), json!({"$defs": definitions})]
        .into_iter()
        .filter_map(|part| part.as_object().cloned())
        .flatten()
        .collect()
}
