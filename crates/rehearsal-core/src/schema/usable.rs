//! What can be checked of a schema that cannot be used as a whole.

use serde_json::{Map, Value, json};

use super::{Schema, Violation};

impl Schema {
    /// As [`Self::check`]; of a schema that cannot be used as a whole (a pattern that is none, a reference to nowhere, a
    /// type that does not exist) the names it requires and each property whose own schema can be used. Second, the places
    /// that could not be checked.
    pub fn check_usable(&self, value: &Value) -> (Vec<Violation>, Vec<String>) {
        match self.check(value) {
            Ok(violations) => (violations, Vec::new()),
            Err(_) => part(self.source(), value),
        }
    }
}

fn part(source: &Value, value: &Value) -> (Vec<Violation>, Vec<String>) {
    let mut unchecked = Vec::new();
    let names = |key: &str| source[key].as_array().into_iter().flatten().filter(|name| name.is_string());
    let required: Vec<&Value> = names("required").collect();
    let mut found = checked(&json!({"type": "object", "required": required}), value).unwrap_or_default();
    let properties = source["properties"].as_object().into_iter().flatten();
    for (name, schema) in properties {
        let Some(field) = value.get(name) else { continue };
        let mut whole = Map::new();
        for key in ["$defs", "definitions"] {
            if let Some(defs) = source.get(key) {
                whole.insert(key.to_owned(), defs.clone());
            }
        }
        whole.insert("properties".to_owned(), json!({name: schema}));
        let alone = json!({"properties": {name: schema}});
        let object = json!({name: field});
        match checked(&alone, &object).or_else(|| checked(&Value::Object(whole), &object)) {
            Some(violations) => found.extend(violations),
            None => unchecked.push(format!("$.{name}")),
        }
    }
    if unchecked.is_empty() {
        unchecked.push("$".to_owned());
    }
    (found, unchecked)
}

fn checked(schema: &Value, value: &Value) -> Option<Vec<Violation>> {
    Schema::new(schema.clone()).check(value).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_checked_is_checked_whatever_else_is_wrong() {
        for broken in [
            json!({"type": "wishful"}),
            json!({"pattern": "("}),
            json!({"$ref": "#/$defs/nowhere"}),
            json!({"$ref": "https://example.com/schema.json"}),
        ] {
            let schema = Schema::new(json!({
                "type": "object", "required": ["id", "odd"],
                "properties": {"id": {"type": "integer"}, "odd": broken, "kind": {"$ref": "#/$defs/kind"}},
                "$defs": {"kind": {"enum": ["a", "b"]}},
            }));
            assert!(schema.check(&json!({})).is_err(), "{broken}");
            let told = |value: &Value| {
                let (found, unchecked) = schema.check_usable(value);
                (found.into_iter().map(|violation| violation.path).collect::<Vec<_>>(), unchecked)
            };
            assert_eq!(told(&json!({})).0, ["$", "$"], "{broken}");
            let (found, unchecked) = told(&json!({"id": "x", "odd": 1, "kind": "c"}));
            assert_eq!(found, ["$.id", "$.kind"], "{broken}");
            assert_eq!(unchecked, ["$.odd"], "{broken}");
            assert_eq!(told(&json!({"id": 1, "odd": 1, "kind": "a"})).0, [""; 0], "{broken}");
        }
    }
}
