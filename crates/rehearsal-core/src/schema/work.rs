//! How much work it is to check a value against a schema.
//!
//! `{"anyOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/a"}]}` asks for `a` twice; thirty such definitions in a row ask a
//! thousand million times, in a schema of two kilobytes. A validator goes all these ways, and nobody can stop it. So the
//! ways are counted first, with an end.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// So many parts of a schema are put to parts of a value at the most: a tenth of a second's work.
const MOST: usize = 200_000;
/// Deeper than this nobody nests.
const DEEPEST: usize = 512;

/// Where a keyword has its schemas, and what they are put to.
#[derive(Clone, Copy)]
enum Reach {
    /// The value itself, by a reference.
    Reference,
    /// The value itself: one schema.
    Same,
    /// The value itself: a list of them.
    SameList,
    /// The value itself: names for them.
    SameMap,
    /// Every entry of a list or an object.
    Entries,
}

impl Reach {
    fn of(keyword: &str) -> Option<Self> {
        Some(match keyword {
            "$ref" | "$dynamicRef" | "$recursiveRef" => Self::Reference,
            "not" | "if" | "then" | "else" => Self::Same,
            "allOf" | "anyOf" | "oneOf" => Self::SameList,
            "dependentSchemas" | "dependencies" => Self::SameMap,
            "items"
            | "additionalItems"
            | "contains"
            | "unevaluatedItems"
            | "additionalProperties"
            | "unevaluatedProperties"
            | "propertyNames" => Self::Entries,
            _ => return None,
        })
    }
}

/// Whether checking `value` against `schema` ends in reasonable time.
pub(super) fn is_bounded(schema: &Value, value: &Value) -> bool {
    Count { root: schema, named: OnceCell::new(), left: MOST }.visit(schema, value, 0)
}

struct Count<'a> {
    root: &'a Value,
    /// Schemas by the `$anchor` or `$id` they are referred to by, once one is: most schemas refer by pointers alone.
    named: OnceCell<BTreeMap<&'a str, &'a Value>>,
    left: usize,
}

impl<'a> Count<'a> {
    fn named(&self, name: &str) -> Option<&'a Value> {
        let named = self.named.get_or_init(|| {
            let mut named = BTreeMap::new();
            find_names(self.root, 0, &mut named);
            named
        });
        named.get(name).copied()
    }

    fn target(&self, reference: &str) -> Option<&'a Value> {
        match reference.strip_prefix('#') {
            Some("") => Some(self.root),
            Some(pointer) if pointer.starts_with('/') => {
                self.root.pointer(pointer).or_else(|| self.root.pointer(&unescaped(pointer)?))
            }
            Some(anchor) => self.named(anchor),
            None => self.named(reference),
        }
    }

    /// Counts a schema that is put to a value, and all that are put to it or to its parts because of that.
    fn visit(&mut self, schema: &'a Value, value: &Value, depth: usize) -> bool {
        let Value::Object(fields) = schema else { return true };
        if self.left == 0 || depth > DEEPEST {
            return false;
        }
        self.left -= 1;
        let depth = depth + 1;
        let mut every = Vec::new();
        for (keyword, inner) in fields {
            let inside = |inner: &'a Value, count: &mut Self| count.visit(inner, value, depth);
            let is_bounded = match Reach::of(keyword) {
                Some(Reach::Reference) => {
                    let target = inner.as_str().and_then(|reference| self.target(reference));
                    target.is_none_or(|target| inside(target, self))
                }
                Some(Reach::Same) => inside(inner, self),
                Some(Reach::SameList) => {
                    inner.as_array().into_iter().flatten().all(|inner| inside(inner, self))
                }
                Some(Reach::SameMap) => {
                    inner.as_object().into_iter().flat_map(Map::values).all(|inner| inside(inner, self))
                }
                Some(Reach::Entries) => {
                    every.push(inner);
                    true
                }
                None => true,
            };
            if !is_bounded {
                return false;
            }
        }
        self.visit_entries(fields, &every, value, depth)
    }

    fn visit_entries(
        &mut self,
        fields: &'a Map<String, Value>,
        every: &[&'a Value],
        value: &Value,
        depth: usize,
    ) -> bool {
        let of = |key: &str| fields.get(key).and_then(Value::as_object);
        match value {
            Value::Array(items) => {
                let lists = ["items", "prefixItems"].map(|key| fields.get(key).and_then(Value::as_array));
                items.iter().enumerate().all(|(index, item)| {
                    let own = lists.iter().filter_map(|list| list.and_then(|list| list.get(index)));
                    own.chain(every.iter().copied()).all(|inner| self.visit(inner, item, depth))
                })
            }
            Value::Object(entries) => entries.iter().all(|(name, entry)| {
                let own = of("properties").and_then(|named| named.get(name));
                let by_pattern = of("patternProperties").into_iter().flat_map(Map::values);
                let all = own.into_iter().chain(by_pattern).chain(every.iter().copied());
                all.into_iter().all(|inner| self.visit(inner, entry, depth))
            }),
            _ => true,
        }
    }
}

/// Looks for the names that schemas give themselves, wherever they stand.
fn find_names<'a>(at: &'a Value, depth: usize, named: &mut BTreeMap<&'a str, &'a Value>) {
    if depth > DEEPEST {
        return;
    }
    match at {
        Value::Object(fields) => {
            for key in ["$anchor", "$dynamicAnchor", "$id", "id"] {
                if let Some(name) = fields.get(key).and_then(Value::as_str) {
                    named.insert(name.trim_start_matches('#'), at);
                }
            }
            fields.values().for_each(|field| find_names(field, depth + 1, named));
        }
        Value::Array(items) => items.iter().for_each(|item| find_names(item, depth + 1, named)),
        _ => {}
    }
}

/// A pointer that was written as part of an address: `%24defs` for `$defs`.
fn unescaped(pointer: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(pointer.len());
    let mut rest = pointer.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        if *first == b'%' {
            let digits = std::str::from_utf8(rest.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &rest[2..];
        } else {
            bytes.push(*first);
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Definitions of which each refers to the one before in two places.
    fn doubling(levels: usize, step: impl Fn(&str) -> Value) -> Value {
        let mut definitions = Map::from_iter([("a0".to_owned(), json!({"type": "string"}))]);
        for level in 1..=levels {
            definitions.insert(format!("a{level}"), step(&format!("#/$defs/a{}", level - 1)));
        }
        json!({"$defs": definitions, "properties": {"x": {"$ref": format!("#/$defs/a{levels}")}}})
    }

    #[test]
    fn choices_that_double_are_too_much() {
        let twice = |to: &str| json!({"anyOf": [{"$ref": to}, {"$ref": to}]});
        assert!(is_bounded(&doubling(10, twice), &json!({"x": 1})));
        assert!(!is_bounded(&doubling(30, twice), &json!({"x": 1})));
        assert!(is_bounded(&doubling(30, twice), &json!({"y": 1})), "nothing is asked of `x`");
    }

    #[test]
    fn fields_that_double_cost_what_the_value_has() {
        let fields =
            |to: &str| json!({"type": "object", "properties": {"l": {"$ref": to}, "r": {"$ref": to}}});
        assert!(is_bounded(&doubling(30, fields), &json!({"x": {"l": {"r": {}}}})));
    }

    #[test]
    fn a_schema_may_contain_itself_and_may_not_turn_in_a_circle() {
        let tree = json!({"type": "object", "additionalProperties": {"$ref": "#"}});
        assert!(is_bounded(&tree, &json!({"a": {"b": {"c": {}}}})));
        assert!(!is_bounded(&json!({"$ref": "#"}), &json!(1)));
    }

    #[test]
    fn anchors_and_addresses_are_followed() {
        let twice = |to: &str| json!({"allOf": [{"$ref": to.replace("$defs/", "")}, {"$ref": to.replace("$defs/", "")}]});
        let mut schema = doubling(30, twice);
        for (name, definition) in schema["$defs"].as_object_mut().unwrap() {
            definition["$anchor"] = json!(format!("/{name}").trim_start_matches('/'));
        }
        let text = schema.to_string().replace("#/a", "#a");
        assert!(!is_bounded(&crate::json::from_str(&text).unwrap(), &json!({"x": 1})));
        let escaped = text.replace("#a", "#/%24defs/a").replace("\"$anchor\"", "\"x-anchor\"");
        assert!(!is_bounded(&crate::json::from_str(&escaped).unwrap(), &json!({"x": 1})));
    }
}
