//! The other form of schema: `google.genai`'s `Schema`, with upper-case types and `nullable`.

use serde_json::{Map, Value, json};

use super::pick;

/// Pairs of (genai in camelCase, JSON Schema) for keywords whose values need no conversion.
const SAME: [(&str, &str); 13] = [
    ("title", "title"),
    ("description", "description"),
    ("default", "default"),
    ("format", "format"),
    ("pattern", "pattern"),
    ("minimum", "minimum"),
    ("maximum", "maximum"),
    ("minItems", "minItems"),
    ("maxItems", "maxItems"),
    ("minLength", "minLength"),
    ("maxLength", "maxLength"),
    ("minProperties", "minProperties"),
    ("maxProperties", "maxProperties"),
];

/// Reads a `google.genai` schema, in `camelCase` or `snake_case`, as canonical JSON Schema.
///
/// ```
/// use rehearsal_core::schema::from_genai;
/// use serde_json::json;
///
/// assert_eq!(
///     from_genai(&json!({"type": "INTEGER", "nullable": true, "description": "years"})),
///     json!({"description": "years", "anyOf": [{"type": "integer"}, {"type": "null"}]}),
/// );
/// ```
///
/// A schema that is canonical already is returned as it is.
pub fn from_genai(schema: &Value) -> Value {
    let Value::Object(source) = schema else { return schema.clone() };
    let source: Map<String, Value> =
        source.iter().map(|(key, value)| (camel_case(key), value.clone())).collect();
    let mut out = Map::new();
    for (from, to) in SAME {
        if let Some(value) = source.get(from).filter(|value| !value.is_null() || from == "default") {
            out.insert(to.to_owned(), numeric(to, value));
        }
    }
    match source.get("type") {
        Some(Value::String(name)) if name == "TYPE_UNSPECIFIED" => {}
        Some(Value::String(name)) => {
            out.insert("type".into(), name.to_lowercase().into());
        }
        Some(Value::Null) | None => {}
        Some(other) => {
            out.insert("type".into(), other.clone());
        }
    }
    convert_children(&source, &mut out);
    for (from, to) in [("ref", "$ref"), ("enum", "enum"), ("required", "required")] {
        if let Some(value) = source.get(from).filter(|value| !value.is_null()) {
            out.insert(to.into(), value.clone());
        }
    }
    if let Some(example) = source.get("example").filter(|value| !value.is_null()) {
        out.insert("examples".into(), json!([example]));
    }
    for (key, value) in &source {
        let known = SAME.iter().any(|(from, _)| from == key)
            || [
                "type",
                "nullable",
                "properties",
                "items",
                "anyOf",
                "defs",
                "ref",
                "enum",
                "required",
                "example",
            ]
            .contains(&key.as_str())
            || ["propertyOrdering", "additionalProperties", "$defs"].contains(&key.as_str());
        if !known {
            out.insert(key.clone(), value.clone());
        }
    }
    if source.get("nullable") == Some(&Value::Bool(true)) { nullable(out) } else { Value::Object(out) }
}

fn convert_children(source: &Map<String, Value>, out: &mut Map<String, Value>) {
    if let Some(Value::Object(properties)) = source.get("properties") {
        let ordering = source.get("propertyOrdering").and_then(Value::as_array).cloned().unwrap_or_default();
        let named: Vec<&str> = ordering.iter().filter_map(Value::as_str).collect();
        let mut ordered = pick(properties, &named);
        for (name, value) in properties {
            ordered.entry(name.clone()).or_insert_with(|| value.clone());
        }
        let converted = ordered.into_iter().map(|(name, value)| (name, from_genai(&value))).collect();
        out.insert("properties".into(), Value::Object(converted));
    }
    if let Some(items) = source.get("items").filter(|value| !value.is_null()) {
        out.insert("items".into(), from_genai(items));
    }
    if let Some(additional) = source.get("additionalProperties").filter(|value| !value.is_null()) {
        out.insert("additionalProperties".into(), from_genai(additional));
    }
    if let Some(Value::Array(branches)) = source.get("anyOf") {
        out.insert("anyOf".into(), branches.iter().map(from_genai).collect());
    }
    if let Some(Value::Object(defs)) = source.get("defs").or_else(|| source.get("$defs")) {
        let defs = defs.iter().map(|(name, value)| (name.clone(), from_genai(value))).collect();
        out.insert("$defs".into(), Value::Object(defs));
    }
}

/// A schema that also allows null, with the words about it outside the choice.
fn nullable(mut schema: Map<String, Value>) -> Value {
    let nothing = json!({"type": "null"});
    if let Some(Value::Array(branches)) = schema.get_mut("anyOf") {
        if !branches.contains(&nothing) {
            branches.push(nothing);
        }
        return Value::Object(schema);
    }
    let mut outer = pick(&schema, &["title", "description", "default", "examples"]);
    schema.retain(|key, _| !outer.contains_key(key));
    outer.insert("anyOf".into(), json!([schema, nothing]));
    Value::Object(outer)
}

/// Proto JSON writes 64-bit integers as strings.
fn numeric(keyword: &str, value: &Value) -> Value {
    match value {
        Value::String(text) if keyword.starts_with("min") || keyword.starts_with("max") => {
            text.parse::<i64>().map_or_else(|_| value.clone(), Value::from)
        }
        _ => value.clone(),
    }
}

fn camel_case(key: &str) -> String {
    let mut out = String::with_capacity(key.len());
    let mut upper = false;
    for (at, c) in key.char_indices() {
        if c == '_' && at > 0 {
            upper = true;
        } else if upper {
            out.extend(c.to_uppercase());
            upper = false;
        } else {
            out.push(c);
        }
    }
    out
}

/// Writes canonical JSON Schema as a `google.genai` schema in `camelCase`, with the keywords it cannot express.
///
/// What is lost (`multipleOf`, `patternProperties`, …) only widens what the model may send; arguments are
/// still checked against the canonical schema.
///
/// ```
/// use rehearsal_core::schema::to_genai;
/// use serde_json::json;
///
/// let (schema, lost) = to_genai(&json!({"type": ["integer", "null"], "multipleOf": 5}));
/// assert_eq!(schema, json!({"type": "INTEGER", "nullable": true}));
/// assert_eq!(lost, ["$.multipleOf"]);
/// ```
pub fn to_genai(schema: &Value) -> (Value, Vec<String>) {
    let mut writer = Writer { root: schema, lost: Vec::new(), open: Vec::new(), followed: 0 };
    let converted = writer.write(schema, "$");
    (converted, writer.lost)
}

struct Writer<'a> {
    root: &'a Value,
    lost: Vec<String>,
    /// References being followed, to notice a schema that contains itself.
    open: Vec<String>,
    /// How many were followed in all: definitions that name each other twice would double with every one of them.
    followed: usize,
}

/// How many references are followed before the rest is given up as lost.
const MOST_REFERENCES: usize = 1000;

impl Writer<'_> {
    fn write(&mut self, schema: &Value, path: &str) -> Value {
        let source = match schema {
            Value::Object(source) => source.clone(),
            Value::Bool(true) => Map::new(),
            _ => {
                self.lost.push(path.to_owned());
                Map::new()
            }
        };
        if let Some(Value::String(reference)) = source.get("$ref") {
            return self.follow(reference.clone(), &source, path);
        }
        let mut out = Map::new();
        for (key, value) in &source {
            self.keyword(key, value, &mut out, path);
        }
        if let Some(Value::Object(properties)) =
            source.get("properties").filter(|_| out.contains_key("properties"))
            && properties.len() > 1
        {
            out.insert("propertyOrdering".into(), properties.keys().cloned().collect());
        }
        Value::Object(out)
    }

    fn keyword(&mut self, key: &str, value: &Value, out: &mut Map<String, Value>, path: &str) {
        match key {
            "type" => self.types(value, out, path),
            "properties" => {
                let Value::Object(properties) = value else { return };
                let written = properties
                    .iter()
                    .map(|(name, value)| (name.clone(), self.write(value, &format!("{path}.{name}"))))
                    .collect();
                out.insert("properties".into(), Value::Object(written));
            }
            "items" => {
                let items = self.write(value, &format!("{path}[]"));
                out.insert("items".into(), items);
            }
            "anyOf" | "oneOf" => self.choice(value, out, path),
            "enum" => self.choices(value.as_array().map_or(&[][..], Vec::as_slice), out, path),
            "const" => self.choices(std::slice::from_ref(value), out, path),
            "required" => {
                out.insert("required".into(), value.clone());
            }
            "examples" => {
                if let Some(first) = value.as_array().and_then(|all| all.first()) {
                    out.insert("example".into(), first.clone());
                }
            }
            "$defs" | "definitions" | "$schema" | "$id" | "$comment" => {}
            "additionalProperties" if value == &Value::Bool(false) => {}
            _ if SAME.iter().any(|(_, to)| *to == key) => {
                out.insert(key.to_owned(), value.clone());
            }
            _ => self.lost.push(format!("{path}.{key}")),
        }
    }

    fn follow(&mut self, reference: String, source: &Map<String, Value>, path: &str) -> Value {
        let target = reference.strip_prefix('#').and_then(|pointer| self.root.pointer(pointer)).cloned();
        self.followed += 1;
        let can_follow = self.followed <= MOST_REFERENCES && !self.open.contains(&reference);
        let Some(target) = target.filter(|_| can_follow) else {
            self.lost.push(format!("{path}.$ref"));
            return json!({});
        };
        self.open.push(reference);
        let mut written = self.write(&target, path);
        self.open.pop();
        if let Value::Object(out) = &mut written {
            for (key, value) in pick(source, &["title", "description", "default"]) {
                out.insert(key, value);
            }
        }
        written
    }

    fn types(&mut self, value: &Value, out: &mut Map<String, Value>, path: &str) {
        let names: Vec<&str> = match value {
            Value::String(name) => vec![name],
            Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        let (null, rest): (Vec<&str>, Vec<&str>) = names.into_iter().partition(|name| *name == "null");
        match rest.as_slice() {
            [] if null.is_empty() => self.lost.push(format!("{path}.type")),
            [] => {
                out.insert("type".into(), "NULL".into());
                return;
            }
            [name] => {
                out.insert("type".into(), name.to_uppercase().into());
            }
            many => {
                let branches = many.iter().map(|name| json!({"type": name.to_uppercase()})).collect();
                out.insert("anyOf".into(), Value::Array(branches));
            }
        }
        if !null.is_empty() {
            out.insert("nullable".into(), true.into());
        }
    }

    fn choice(&mut self, value: &Value, out: &mut Map<String, Value>, path: &str) {
        let branches = value.as_array().map_or(&[][..], Vec::as_slice);
        let (null, rest): (Vec<&Value>, Vec<&Value>) =
            branches.iter().partition(|branch| branch.get("type") == Some(&"null".into()));
        let written: Vec<Value> = rest.into_iter().map(|branch| self.write(branch, path)).collect();
        match <[Value; 1]>::try_from(written) {
            Ok([Value::Object(only)]) => {
                for (key, value) in only {
                    out.entry(key).or_insert(value);
                }
            }
            Ok([other]) => {
                out.insert("anyOf".into(), json!([other]));
            }
            Err(many) => {
                out.insert("anyOf".into(), many.into());
            }
        }
        if !null.is_empty() {
            out.insert("nullable".into(), true.into());
        }
    }

    fn choices(&mut self, values: &[Value], out: &mut Map<String, Value>, path: &str) {
        if values.iter().any(Value::is_null) {
            out.insert("nullable".into(), true.into());
        }
        let values: Vec<&Value> = values.iter().filter(|value| !value.is_null()).collect();
        if values.is_empty() {
            out.insert("type".into(), "NULL".into());
            out.shift_remove("nullable");
        } else if values.iter().all(|value| crate::json::as_text(value).is_some()) {
            out.entry("type").or_insert_with(|| "STRING".into());
            out.insert("enum".into(), values.into_iter().cloned().collect());
        } else {
            self.lost.push(format!("{path}.enum"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_both_ways(genai: &Value, canonical: &Value) {
        assert_eq!(&from_genai(genai), canonical);
        assert_eq!(to_genai(canonical), (genai.clone(), Vec::new()));
    }

    #[test]
    fn objects_keep_their_property_order() {
        let canonical = from_genai(&json!({
            "type": "OBJECT",
            "properties": {"a": {"type": "STRING"}, "b": {"type": "NUMBER"}},
            "property_ordering": ["b", "a"],
            "required": ["b"],
        }));
        assert_eq!(canonical["properties"].as_object().unwrap().keys().collect::<Vec<_>>(), ["b", "a"]);
        let (again, lost) = to_genai(&canonical);
        assert_eq!(again["propertyOrdering"], json!(["b", "a"]));
        assert!(lost.is_empty());
    }

    #[test]
    fn nullable_becomes_a_choice_and_back() {
        check_both_ways(
            &json!({"description": "d", "type": "STRING", "enum": ["x", "y"], "nullable": true}),
            &json!({"description": "d", "anyOf": [{"type": "string", "enum": ["x", "y"]}, {"type": "null"}]}),
        );
        check_both_ways(
            &json!({"anyOf": [{"type": "STRING"}, {"type": "INTEGER"}], "nullable": true}),
            &json!({"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]}),
        );
    }

    #[test]
    fn limits_written_as_text_are_numbers() {
        assert_eq!(
            from_genai(&json!({"type": "ARRAY", "min_items": "2", "items": {"type": "BOOLEAN"}})),
            json!({"minItems": 2, "type": "array", "items": {"type": "boolean"}}),
        );
    }

    #[test]
    fn canonical_schemas_pass_unchanged() {
        let canonical = json!({"type": "object", "properties": {"a": {"type": "integer", "exclusiveMinimum": 0}},
            "additionalProperties": false, "$defs": {"x": {"type": "string"}}});
        assert_eq!(from_genai(&canonical), canonical);
    }

    #[test]
    fn definitions_that_double_are_given_up_in_time() {
        let mut defs = Map::new();
        for n in 0..40 {
            let next = json!({"$ref": format!("#/$defs/d{}", n + 1)});
            defs.insert(format!("d{n}"), json!({"type": "object", "properties": {"a": next, "b": next}}));
        }
        defs.insert("d40".into(), json!({"type": "string"}));
        let (_, lost) = to_genai(&json!({"$ref": "#/$defs/d0", "$defs": defs}));
        assert!(!lost.is_empty());
    }

    #[test]
    fn only_null_is_the_type_null() {
        assert_eq!(to_genai(&json!({"const": null})).0, json!({"type": "NULL"}));
    }

    #[test]
    fn references_are_followed_until_they_repeat() {
        let (schema, lost) = to_genai(&json!({
            "type": "object",
            "properties": {"next": {"$ref": "#/$defs/node", "description": "the rest"}},
            "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}},
        }));
        assert_eq!(schema["properties"]["next"]["description"], "the rest");
        assert_eq!(schema["properties"]["next"]["type"], "OBJECT");
        assert_eq!(lost, ["$.next.next.$ref"]);
    }
}
