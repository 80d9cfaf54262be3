//! Schemas in the part of JSON Schema that structured output knows.

use serde_json::{Map, Value};

/// Formats of strings that the API can hold an answer to.
const FORMATS: [&str; 10] =
    ["date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"];

/// The schema as the API takes it.
///
/// The API refuses a schema with a keyword that it cannot hold an answer to, such as `minimum`. Those are put
/// into the description, where the model can read them. Objects are closed, since the API refuses open ones, and
/// `oneOf` becomes `anyOf`. A schema that needs none of this stays as it is.
pub(super) fn acceptable(schema: &Value) -> Value {
    let Value::Object(schema) = schema else { return schema.clone() };
    let mut written = Map::new();
    let mut described = Vec::new();
    let is_reference = schema.contains_key("$ref");
    for (key, value) in schema {
        match key.as_str() {
            "$ref" => drop(written.insert(key.clone(), value.clone())),
            "$defs" | "definitions" => drop(written.insert(key.clone(), each_member(value))),
            // Notes to tools, not to the model; and nothing may stand beside a reference.
            "$schema" | "$id" | "$comment" => {}
            _ if is_reference => {}
            "properties" => drop(written.insert(key.clone(), each_member(value))),
            "items" if value.is_object() => drop(written.insert(key.clone(), acceptable(value))),
            "anyOf" | "allOf" => drop(written.insert(key.clone(), each_item(value))),
            "oneOf" if !schema.contains_key("anyOf") => {
                written.insert("anyOf".to_owned(), each_item(value));
            }
            "additionalProperties" if value.is_boolean() => {}
            _ if is_kept(key, value) => drop(written.insert(key.clone(), value.clone())),
            _ => described.push(format!("{key}: {}", shown(value))),
        }
    }
    if !is_reference && is_object(schema) {
        written.insert("additionalProperties".to_owned(), Value::Bool(false));
    }
    if !described.is_empty() {
        let rules = format!("{{{}}}", described.join(", "));
        let description = match written.get("description").and_then(Value::as_str) {
            Some(text) if !text.is_empty() => format!("{text}\n\n{rules}"),
            _ => rules,
        };
        written.insert("description".to_owned(), Value::String(description));
    }
    Value::Object(written)
}

fn is_kept(key: &str, value: &Value) -> bool {
    match key {
        "type" | "description" | "title" | "required" => true,
        "const" => is_primitive(value),
        "enum" => {
            value.as_array().is_some_and(|values| !values.is_empty() && values.iter().all(is_primitive))
        }
        "format" => value.as_str().is_some_and(|format| FORMATS.contains(&format)),
        "minItems" => matches!(value.as_u64(), Some(0 | 1)),
        _ => false,
    }
}

fn is_primitive(value: &Value) -> bool {
    !value.is_array() && !value.is_object()
}

fn is_object(schema: &Map<String, Value>) -> bool {
    match schema.get("type") {
        Some(Value::String(kind)) => kind == "object",
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "object"),
        _ => schema.contains_key("properties"),
    }
}

fn each_member(schemas: &Value) -> Value {
    match schemas {
        Value::Object(schemas) => {
            schemas.iter().map(|(name, schema)| (name.clone(), acceptable(schema))).collect()
        }
        other => other.clone(),
    }
}

fn each_item(schemas: &Value) -> Value {
    match schemas {
        Value::Array(schemas) => schemas.iter().map(acceptable).collect(),
        other => other.clone(),
    }
}

/// Text without its quotation marks, as a person would write it into a description.
fn shown(value: &Value) -> String {
    rehearsal_core::json::as_text(value).map_or_else(|| rehearsal_core::json::text(value), ToOwned::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[expect(clippy::needless_pass_by_value, reason = "schemas are made where they are used")]
    fn check(schema: Value, expected: Value) {
        let written = acceptable(&schema);
        assert_eq!(written, expected, "{schema}");
        assert_eq!(acceptable(&written), written, "what is acceptable stays as it is");
    }

    #[test]
    fn what_the_api_cannot_check_is_put_into_words() {
        check(
            json!({"type": "object", "properties": {
                "passed": {"type": "boolean"},
                "score": {"type": "number", "minimum": 0, "maximum": 1},
                "reasoning": {"type": "string"},
            }, "required": ["passed", "score", "reasoning"], "additionalProperties": false}),
            json!({"type": "object", "properties": {
                "passed": {"type": "boolean"},
                "score": {"type": "number", "description": "{minimum: 0, maximum: 1}"},
                "reasoning": {"type": "string"},
            }, "required": ["passed", "score", "reasoning"], "additionalProperties": false}),
        );
        check(
            json!({"type": "string", "description": "A code", "minLength": 2, "pattern": "^[a-z]+$", "format": "code"}),
            json!({"type": "string", "description": "A code\n\n{minLength: 2, pattern: ^[a-z]+$, format: code}"}),
        );
        check(json!({"type": "string", "format": "date"}), json!({"type": "string", "format": "date"}));
        check(
            json!({"type": "array", "items": {"type": "integer", "multipleOf": 2}, "minItems": 1, "maxItems": 3}),
            json!({"type": "array", "items": {"type": "integer", "description": "{multipleOf: 2}"}, "minItems": 1,
                "description": "{maxItems: 3}"}),
        );
        check(
            json!({"type": "array", "items": {}, "minItems": 2}),
            json!({"type": "array", "items": {}, "description": "{minItems: 2}"}),
        );
        check(
            json!({"enum": ["a", null], "default": "a"}),
            json!({"enum": ["a", null], "description": "{default: a}"}),
        );
    }

    #[test]
    fn objects_are_closed_wherever_they_are() {
        let open = json!({"type": "object", "properties": {"minimum": {"const": 1}}});
        let closed =
            json!({"type": "object", "properties": {"minimum": {"const": 1}}, "additionalProperties": false});
        check(open.clone(), closed.clone());
        check(
            json!({"$schema": "https://json-schema.org/draft/2020-12/schema", "$ref": "#/$defs/a", "$defs": {"a": open}}),
            json!({"$ref": "#/$defs/a", "$defs": {"a": closed}}),
        );
        check(json!({"oneOf": [open, {"type": "null"}]}), json!({"anyOf": [closed, {"type": "null"}]}));
        check(json!({"type": "array", "items": open}), json!({"type": "array", "items": closed}));
        check(
            json!({"type": ["object", "null"], "additionalProperties": {"type": "string"}}),
            json!({"type": ["object", "null"], "additionalProperties": false,
                "description": "{additionalProperties: {\"type\":\"string\"}}"}),
        );
    }
}
