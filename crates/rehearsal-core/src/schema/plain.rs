//! Schemas that say what nearly all tools say: types, names, lists of words and bounds.
//!
//! To compile a schema takes longer than to run a case, since it is checked against the schema of schemas first. What is
//! plain is valid as it stands, and a value that it takes is taken without a validator. This only ever says yes: whatever
//! is not plain, and whatever a plain schema does not take, goes to the validator, which also has the words for it.

use serde_json::{Map, Value};

use crate::json;

/// Deeper than this nobody nests.
const DEEPEST: usize = 64;

/// Up to here a double tells all whole numbers apart.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// A schema without references and choices.
#[derive(Debug, Default)]
pub(super) struct Plain {
    types: Option<Vec<Type>>,
    properties: Vec<(String, Plain)>,
    required: Vec<String>,
    /// Whether it takes only the properties that it names.
    is_closed: bool,
    items: Option<Box<Plain>>,
    words: Option<Vec<String>>,
    minimum: Option<f64>,
    maximum: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Type {
    Null,
    Boolean,
    Integer,
    Number,
    String,
    Array,
    Object,
}

impl Plain {
    /// The schema, if it is plain.
    pub(super) fn of(schema: &Value) -> Option<Self> {
        Self::read(schema, 0)
    }

    fn read(schema: &Value, depth: usize) -> Option<Self> {
        let fields = schema.as_object().filter(|_| depth < DEEPEST)?;
        let mut plain = Self::default();
        for (key, value) in fields {
            match key.as_str() {
                "title" | "description" => drop(json::as_text(value)?),
                "default" => {}
                "examples" => drop(value.as_array()?),
                "type" => plain.types = Some(types(value)?),
                "properties" => {
                    let read = |(name, schema): (&String, &Value)| {
                        Some((name.clone(), Self::read(schema, depth + 1)?))
                    };
                    plain.properties = value.as_object()?.iter().map(read).collect::<Option<_>>()?;
                }
                "required" => plain.required = texts(value)?,
                "additionalProperties" => plain.is_closed = !value.as_bool()?,
                "items" => plain.items = Some(Box::new(Self::read(value, depth + 1)?)),
                "enum" => plain.words = Some(texts(value).filter(|words| !words.is_empty())?),
                "minimum" => plain.minimum = Some(number(value)?),
                "maximum" => plain.maximum = Some(number(value)?),
                _ => return None,
            }
        }
        Some(plain)
    }

    /// Whether it certainly takes the value.
    pub(super) fn takes(&self, value: &Value) -> bool {
        if self.types.as_ref().is_some_and(|types| !types.iter().any(|one| one.is_of(value))) {
            return false;
        }
        if self.words.as_ref().is_some_and(|words| !is_one_of(words, value)) {
            return false;
        }
        match value {
            Value::Object(fields) => self.takes_fields(fields),
            Value::Array(entries) => {
                self.items.as_ref().is_none_or(|items| entries.iter().all(|entry| items.takes(entry)))
            }
            Value::Number(_) => self.is_within(value),
            // A whole number beyond 64 bits is a text here.
            Value::String(_) => json::as_text(value).is_some(),
            Value::Null | Value::Bool(_) => true,
        }
    }

    fn takes_fields(&self, fields: &Map<String, Value>) -> bool {
        let schema = |name: &str| self.properties.iter().find(|(own, _)| own == name);
        self.required.iter().all(|name| fields.contains_key(name))
            && fields.iter().all(|(name, value)| match schema(name) {
                Some((_, schema)) => schema.takes(value),
                None => !self.is_closed && takes_anything(value),
            })
    }

    fn is_within(&self, value: &Value) -> bool {
        let bounds = self.minimum.unwrap_or(-EXACT)..=self.maximum.unwrap_or(EXACT);
        number(value).is_some_and(|number| bounds.contains(&number))
    }
}

/// Whether there is no number in it that the validator knows nothing of.
fn takes_anything(value: &Value) -> bool {
    !json::has_beyond(value)
}

fn is_one_of(words: &[String], value: &Value) -> bool {
    json::as_text(value).is_some_and(|text| words.iter().any(|word| word == text))
}

/// A number that a double holds exactly.
fn number(value: &Value) -> Option<f64> {
    value.as_number()?.as_f64().filter(|number| number.abs() <= EXACT)
}

/// Texts of which none stands there twice.
fn texts(value: &Value) -> Option<Vec<String>> {
    let mut texts: Vec<String> = Vec::new();
    for text in value.as_array()? {
        let text = json::as_text(text).filter(|text| !texts.iter().any(|other| other == text))?;
        texts.push(text.to_owned());
    }
    Some(texts)
}

fn types(value: &Value) -> Option<Vec<Type>> {
    match value {
        Value::String(name) => Type::of(name).map(|one| vec![one]),
        Value::Array(_) => {
            let names = texts(value).filter(|names| !names.is_empty())?;
            names.iter().map(|name| Type::of(name)).collect()
        }
        _ => None,
    }
}

impl Type {
    fn of(name: &str) -> Option<Self> {
        Some(match name {
            "null" => Self::Null,
            "boolean" => Self::Boolean,
            "integer" => Self::Integer,
            "number" => Self::Number,
            "string" => Self::String,
            "array" => Self::Array,
            "object" => Self::Object,
            _ => return None,
        })
    }

    fn is_of(self, value: &Value) -> bool {
        match (self, value) {
            (Self::Null, Value::Null)
            | (Self::Boolean, Value::Bool(_))
            | (Self::Number, Value::Number(_))
            | (Self::String, Value::String(_))
            | (Self::Array, Value::Array(_))
            | (Self::Object, Value::Object(_)) => true,
            (Self::Integer, Value::Number(number)) => number.is_i64() || number.is_u64(),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(json!(null)),
            any::<bool>().prop_map(Value::from),
            (-3..12_i64).prop_map(Value::from),
            (-4..20_i32).prop_map(|halves| json!(f64::from(halves) / 2.0)),
            "[ab]{0,2}".prop_map(Value::from),
            Just(Value::from("\u{fdd0}123456789012345678901234567890")),
            Just(json!(9_007_199_254_740_995_i64)),
        ];
        leaf.prop_recursive(3, 16, 3, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                prop::collection::btree_map("[abc]", inner, 0..3)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    fn schemas() -> impl Strategy<Value = Value> {
        let name = prop::sample::select(vec![
            json!("null"),
            json!("boolean"),
            json!("integer"),
            json!("number"),
            json!("string"),
            json!("array"),
            json!("object"),
            json!(["string", "integer"]),
            json!(["object", "array"]),
            json!("any"),
            json!([]),
        ]);
        let leaf = prop_oneof![
            Just(json!({})),
            name.clone().prop_map(|name| json!({"type": name})),
            Just(json!({"enum": ["a", "b"]})),
            Just(json!({"type": "number", "minimum": 0, "maximum": 5.5})),
            Just(json!({"type": "string", "description": "a word", "default": 3})),
            Just(json!({"minimum": "low"})),
        ];
        leaf.prop_recursive(3, 12, 3, move |inner| {
            let fields = prop::collection::btree_map("[abc]", inner.clone(), 0..3);
            (name.clone(), fields, inner, any::<bool>(), prop::sample::subsequence(vec!["a", "b", "c"], 0..3))
                .prop_map(|(name, properties, items, open, required)| {
                    json!({
                        "type": name, "properties": properties, "items": items,
                        "additionalProperties": open, "required": required,
                    })
                })
        })
    }

    proptest! {
        #[test]
        fn what_a_plain_schema_takes_a_validator_takes_too(schema in schemas(), value in values()) {
            if let Some(plain) = Plain::of(&schema) {
                let compiled = rehearsal_schema::Validator::compile(&schema);
                prop_assert!(compiled.is_ok(), "{schema}: {:?}", compiled.err());
                if plain.takes(&value) {
                    prop_assert!(compiled.unwrap().is_valid(&value), "{schema}: {value}");
                }
            }
        }
    }

    #[test]
    fn what_tools_say_is_plain() {
        let schema = json!({
            "type": "object",
            "properties": {
                "order": {"type": "string", "description": "its number"},
                "kind": {"enum": ["new", "old"]},
                "lines": {"type": "array", "items": {"type": "integer", "minimum": 1}},
            },
            "required": ["order"],
            "additionalProperties": false,
        });
        let plain = Plain::of(&schema).unwrap();
        assert!(plain.takes(&json!({"order": "A1", "kind": "new", "lines": [1, 2]})));
        for wrong in [
            json!({}),
            json!({"order": 1}),
            json!({"order": "A1", "lines": [0]}),
            json!({"order": "A1", "x": 1}),
        ] {
            assert!(!plain.takes(&wrong), "{wrong}");
        }
        for other in
            [json!({"$ref": "#/$defs/a"}), json!({"anyOf": []}), json!({"type": "wishful"}), json!(true)]
        {
            assert!(Plain::of(&other).is_none(), "{other}");
        }
    }
}
