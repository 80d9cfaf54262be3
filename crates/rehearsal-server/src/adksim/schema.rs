//! Schemas as the wire has them, and JSON Schema.

use rehearsal_core::schema::{from_genai, to_genai};
use serde_json::{Map, Value};

use super::genai::{Schema, Type};
use super::json::{number_from_wire, value_from_wire, value_to_wire};

/// The JSON Schema that one of the two forms on the wire stands for; JSON Schema itself is taken as it is.
pub(super) fn schema_from_wire(own: Option<Schema>, json: Option<prost_types::Value>) -> Option<Value> {
    let json = json.map(value_from_wire).filter(|schema| !schema.is_null());
    json.or_else(|| own.map(|schema| from_genai(&genai_json(schema))))
}

/// The form in which a JSON Schema is written: the wire's own where it says all of it, else JSON Schema.
pub(super) fn schema_to_wire(schema: &Value) -> (Option<Schema>, Option<prost_types::Value>) {
    let (genai, lost) = to_genai(schema);
    let own = from_genai_json(&genai);
    if lost.is_empty() && schema_from_wire(Some(own.clone()), None).as_ref() == Some(schema) {
        (Some(own), None)
    } else {
        (None, Some(value_to_wire(schema)))
    }
}

/// The schema in the JSON form that the core converts. Zero stands for nothing in fields without presence.
fn genai_json(schema: Schema) -> Value {
    let mut out = Map::new();
    let mut put = |name: &str, value: Value| {
        out.insert(name.to_owned(), value);
    };
    if let Ok(kind) = Type::try_from(schema.r#type)
        && kind != Type::Unspecified
    {
        put("type", kind.as_str_name().into());
    }
    let texts = [
        ("format", schema.format),
        ("title", schema.title),
        ("description", schema.description),
        ("pattern", schema.pattern),
    ];
    for (name, text) in texts.into_iter().filter(|(_, text)| !text.is_empty()) {
        put(name, text.into());
    }
    let counts = [
        ("minProperties", schema.min_properties),
        ("maxProperties", schema.max_properties),
        ("minLength", schema.min_length),
        ("maxLength", schema.max_length),
        ("minItems", schema.min_items),
        ("maxItems", schema.max_items),
    ];
    for (name, count) in counts.into_iter().filter(|(_, count)| *count != 0) {
        put(name, count.into());
    }
    for (name, bound) in [("minimum", schema.minimum), ("maximum", schema.maximum)] {
        if let Some(bound) = bound.filter(|bound| bound.is_finite()) {
            put(name, number_from_wire(bound));
        }
    }
    let lists = [
        ("enum", schema.r#enum),
        ("required", schema.required),
        ("propertyOrdering", schema.property_ordering),
    ];
    for (name, list) in lists.into_iter().filter(|(_, list)| !list.is_empty()) {
        put(name, list.into());
    }
    for (name, value) in [("example", schema.example), ("default", schema.default)] {
        if let Some(value) = value {
            put(name, value_from_wire(value));
        }
    }
    if schema.nullable {
        put("nullable", true.into());
    }
    if let Some(items) = schema.items {
        put("items", genai_json(*items));
    }
    if !schema.properties.is_empty() {
        let properties = schema.properties.into_iter().map(|(name, schema)| (name, genai_json(schema)));
        put("properties", Value::Object(properties.collect()));
    }
    if !schema.any_of.is_empty() {
        put("anyOf", schema.any_of.into_iter().map(genai_json).collect());
    }
    Value::Object(out)
}

/// What of a schema in JSON form the wire has a place for.
fn from_genai_json(json: &Value) -> Schema {
    let text = |name: &str| json[name].as_str().unwrap_or_default().to_owned();
    let count = |name: &str| json[name].as_i64().unwrap_or_default();
    let list = |name: &str| -> Vec<String> {
        json[name].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let properties = json["properties"].as_object().into_iter().flatten();
    Schema {
        r#type: json["type"].as_str().and_then(Type::from_str_name).unwrap_or_default().into(),
        format: text("format"),
        description: text("description"),
        nullable: json["nullable"] == true,
        r#enum: list("enum"),
        items: json.get("items").map(|items| Box::new(from_genai_json(items))),
        properties: properties.map(|(name, schema)| (name.clone(), from_genai_json(schema))).collect(),
        required: list("required"),
        min_properties: count("minProperties"),
        max_properties: count("maxProperties"),
        minimum: json["minimum"].as_f64(),
        maximum: json["maximum"].as_f64(),
        min_length: count("minLength"),
        max_length: count("maxLength"),
        pattern: text("pattern"),
        example: json.get("example").map(value_to_wire),
        any_of: json["anyOf"].as_array().into_iter().flatten().map(from_genai_json).collect(),
        max_items: count("maxItems"),
        min_items: count("minItems"),
        property_ordering: match list("propertyOrdering") {
            named if named.is_empty() => {
                json["properties"].as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect()
            }
            named => named,
        },
        title: text("title"),
        default: json.get("default").map(value_to_wire),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(schema: Schema) -> Value {
        schema_from_wire(Some(schema), None).unwrap()
    }

    #[test]
    fn types_are_lower_case_and_members_keep_their_order() {
        let member = |kind: Type| Schema { r#type: kind.into(), ..Schema::default() };
        let schema = Schema {
            r#type: Type::Object.into(),
            properties: [("a".into(), member(Type::Integer)), ("b".into(), member(Type::Boolean))].into(),
            required: vec!["b".into()],
            property_ordering: vec!["b".into(), "a".into()],
            ..Schema::default()
        };
        assert_eq!(
            read(schema).to_string(),
            r#"{"type":"object","properties":{"b":{"type":"boolean"},"a":{"type":"integer"}},"required":["b"]}"#
        );
    }

    #[test]
    fn bounds_enums_and_null_are_read() {
        let schema = Schema {
            r#type: Type::Array.into(),
            nullable: true,
            min_items: 1,
            max_items: 3,
            items: Some(Box::new(Schema {
                r#type: Type::String.into(),
                r#enum: vec!["x".into(), "y".into()],
                max_length: 1,
                default: Some(value_to_wire(&json!("x"))),
                ..Schema::default()
            })),
            description: "some".into(),
            ..Schema::default()
        };
        assert_eq!(
            read(schema),
            json!({"description": "some", "anyOf": [
                {"type": "array", "minItems": 1, "maxItems": 3,
                 "items": {"type": "string", "enum": ["x", "y"], "maxLength": 1, "default": "x"}},
                {"type": "null"}]})
        );
        let bounded = Schema {
            r#type: Type::Number.into(),
            minimum: Some(0.0),
            maximum: Some(1.5),
            ..Schema::default()
        };
        assert_eq!(read(bounded), json!({"type": "number", "minimum": 0, "maximum": 1.5}));
    }

    #[test]
    fn a_type_of_a_later_version_says_nothing() {
        assert_eq!(read(Schema { r#type: 99, ..Schema::default() }), json!({}));
    }

    #[test]
    fn what_the_wires_own_form_cannot_say_is_written_as_json_schema() {
        let plain = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
        assert!(matches!(schema_to_wire(&plain), (Some(_), None)));
        let odd = json!({"type": "integer", "multipleOf": 5});
        let (own, json) = schema_to_wire(&odd);
        assert_eq!(own, None);
        assert_eq!(schema_from_wire(None, json), Some(odd));
    }
}
