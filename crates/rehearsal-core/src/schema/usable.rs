//! Schemas of which only a part can be used.
//!
//! Agents that run elsewhere offer tools with schemas that no validator takes: a pattern of another dialect, a reference to
//! a document that nobody has. Whoever answers cannot mend them. What is wrong is left out, and all the rest holds.

use rehearsal_schema::Validator;
use serde::Serialize;
use serde_json::{Map, Value};

use super::{Schema, json_path};

/// So many parts of a schema are looked at; one that is larger and wrong cannot be used at all.
const MOST: usize = 10_000;

/// A part of a schema that nothing is checked against.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unchecked {
    /// Where it stands in the schema, as a JSON path.
    pub place: String,
    /// Why it cannot be used.
    pub reason: String,
}

/// Keywords whose value is a schema.
const ONE: &[&str] = &[
    "not",
    "if",
    "then",
    "else",
    "items",
    "additionalItems",
    "contains",
    "unevaluatedItems",
    "additionalProperties",
    "unevaluatedProperties",
    "propertyNames",
];
/// Keywords whose value is a list of schemas.
const LIST: &[&str] = &["allOf", "anyOf", "oneOf", "prefixItems"];
/// Keywords whose value has schemas by name.
const NAMED: &[&str] = &["properties", "patternProperties", "dependentSchemas", "$defs", "definitions"];

impl Schema {
    /// What of the schema can be used, and what was left out for that. Where that is nothing, it is the schema itself.
    pub fn usable(&self) -> (Schema, Vec<Unchecked>) {
        if self.plain().is_some() || (*self.compiled().validator).is_ok() {
            return (self.clone(), Vec::new());
        }
        let mut cleaner = Cleaner { root: &self.source, left: MOST, unchecked: Vec::new() };
        let usable = cleaner.schema(&self.source, "");
        (Schema::new(usable), cleaner.unchecked)
    }
}

struct Cleaner<'a> {
    root: &'a Value,
    left: usize,
    unchecked: Vec<Unchecked>,
}

impl Cleaner<'_> {
    fn leave_out(&mut self, pointer: &str, reason: impl Into<String>) {
        self.unchecked.push(Unchecked { place: json_path(pointer), reason: reason.into() });
    }

    /// A schema without what cannot be used in it; `pointer` is where it stands.
    fn schema(&mut self, schema: &Value, pointer: &str) -> Value {
        self.left = self.left.saturating_sub(1);
        match schema {
            // What is left of one that is too large stays as it is, and is refused with it.
            Value::Object(_) | Value::Bool(_) if self.left == 0 => schema.clone(),
            Value::Bool(_) => schema.clone(),
            Value::Object(fields) => Value::Object(
                fields.iter().filter_map(|(key, value)| self.keyword(key, value, pointer)).collect(),
            ),
            _ => {
                self.leave_out(pointer, "a schema is an object, `true` or `false`");
                Value::Bool(true)
            }
        }
    }

    fn keyword(&mut self, key: &str, value: &Value, pointer: &str) -> Option<(String, Value)> {
        let at = format!("{pointer}/{}", escaped(key));
        let value = match (key, value) {
            ("$ref" | "$dynamicRef" | "$recursiveRef", Value::String(reference)) => {
                if !self.leads_somewhere(reference) {
                    self.leave_out(&at, format!("`{reference}` leads nowhere"));
                    return None;
                }
                value.clone()
            }
            ("type", Value::Array(names)) => self.types(names, &at)?,
            ("items", Value::Array(items)) => Value::Array(self.list(items, &at)),
            (_, Value::Array(items)) if LIST.contains(&key) => Value::Array(self.list(items, &at)),
            (_, Value::Object(fields)) if NAMED.contains(&key) => {
                self.named(fields, &at, key == "patternProperties")
            }
            _ if ONE.contains(&key) => self.schema(value, &at),
            _ => {
                let alone = Value::Object(Map::from_iter([(key.to_owned(), value.clone())]));
                if let Err(reason) = Validator::compile(&alone) {
                    self.leave_out(&at, reason);
                    return None;
                }
                value.clone()
            }
        };
        Some((key.to_owned(), value))
    }

    fn list(&mut self, items: &[Value], at: &str) -> Vec<Value> {
        items.iter().enumerate().map(|(index, item)| self.schema(item, &format!("{at}/{index}"))).collect()
    }

    fn named(&mut self, fields: &Map<String, Value>, at: &str, by_pattern: bool) -> Value {
        let mut kept = Map::new();
        for (name, schema) in fields {
            let at = format!("{at}/{}", escaped(name));
            let alone = serde_json::json!({"pattern": name});
            if by_pattern && let Err(reason) = Validator::compile(&alone) {
                self.leave_out(&at, reason);
                continue;
            }
            kept.insert(name.clone(), self.schema(schema, &at));
        }
        Value::Object(kept)
    }

    /// The types that there are. A value of none of them cannot be refused: it may be of the one that nobody knows.
    fn types(&mut self, names: &[Value], at: &str) -> Option<Value> {
        let known = |name: &Value| Validator::compile(&serde_json::json!({"type": name})).is_ok();
        if let Some(unknown) = names.iter().find(|name| !known(name)) {
            self.leave_out(at, format!("{} is no type", crate::json::shown(unknown)));
            return None;
        }
        Some(Value::Array(names.to_vec()))
    }

    fn leads_somewhere(&self, reference: &str) -> bool {
        let alone = Value::Object(Map::from_iter([("$ref".to_owned(), reference.into())]));
        let local = match reference.strip_prefix('#') {
            Some(pointer) if pointer.is_empty() || pointer.starts_with('/') => {
                self.root.pointer(pointer).is_some()
            }
            Some(anchor) => has_anchor(self.root, anchor, 0),
            None => false,
        };
        // Drafts of JSON Schema itself are at hand; nothing else is fetched.
        local || (!reference.starts_with('#') && Validator::compile(&alone).is_ok())
    }
}

fn has_anchor(at: &Value, anchor: &str, depth: usize) -> bool {
    let inside = |value: &Value| depth < 512 && has_anchor(value, anchor, depth + 1);
    match at {
        Value::Object(fields) => {
            let own = ["$anchor", "$dynamicAnchor"]
                .iter()
                .any(|key| fields.get(*key).is_some_and(|name| name == anchor));
            own || fields.values().any(inside)
        }
        Value::Array(items) => items.iter().any(inside),
        _ => false,
    }
}

fn escaped(token: &str) -> String {
    token.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A tool's schema in which one field cannot be read: what is left out, and what is still refused.
    fn check(field: &Value) -> String {
        let schema = json!({
            "type": "object",
            "properties": {"odd": field, "name": {"type": "string"}},
            "required": ["name"]
        });
        let (schema, unchecked) = Schema::new(schema).usable();
        let refused = schema.check(&json!({"odd": 1})).unwrap();
        assert_eq!(refused.len(), 1, "{refused:?}");
        assert!(refused[0].message.contains("\"name\" is a required property"), "{refused:?}");
        assert!(schema.check(&json!({"name": "x"})).unwrap().is_empty());
        unchecked.iter().map(|left| format!("{}: {}", left.place, left.reason)).collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn the_rest_of_a_schema_holds() {
        for (field, said) in [
            (json!({"pattern": "("}), "$.properties.odd.pattern"),
            (json!({"patternProperties": {"(": {}}}), r#"$.properties.odd.patternProperties["("]"#),
            (
                json!({"$ref": "#/$defs/missing"}),
                "$.properties.odd[\"$ref\"]: `#/$defs/missing` leads nowhere",
            ),
            (json!({"$ref": "https://example.com/a.json"}), "leads nowhere"),
            (json!({"$ref": "#nowhere"}), "leads nowhere"),
            (json!({"type": "wishful"}), "$.properties.odd.type"),
            (json!({"type": ["integer", "wishful"]}), "\"wishful\" is no type"),
            (json!({"required": "name"}), "$.properties.odd.required"),
            (json!("string"), "$.properties.odd: a schema is an object"),
            (json!({"items": {"anyOf": [{"minimum": "1"}]}}), "$.properties.odd.items.anyOf[0].minimum"),
        ] {
            let left_out = check(&field);
            assert!(left_out.contains(said), "{field}: {left_out}");
            assert!(!left_out.contains("; "), "only that: {left_out}");
        }
    }

    #[test]
    fn a_schema_in_order_is_itself() {
        let schema = Schema::new(json!({"$ref": "#/$defs/a", "$defs": {"a": {"type": "integer"}}}));
        let (same, unchecked) = schema.usable();
        assert_eq!((same, unchecked), (schema, Vec::new()));
    }
}
