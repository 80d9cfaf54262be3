//! What stands at a key, and its JSON Schema.

use serde_json::{Value, json};

use super::Key;

/// What stands at a key.
#[derive(Clone, Copy, Debug)]
pub enum Form {
    /// A text.
    Text,
    /// A text that is not empty; where it is, this says why it would say nothing.
    TellingText(&'static str),
    /// A list of texts.
    Texts,
    /// A list of texts that is not empty.
    SomeTexts,
    /// A list, which is not empty, of some of these words; the first text is what one of them is called.
    SomeWords(&'static str, &'static [&'static str]),
    /// One of these words.
    Word(&'static [&'static str]),
    /// True or false.
    Flag,
    /// A whole number between these, both included.
    Whole(f64, f64),
    /// A number between these, both included.
    Number(f64, f64),
    /// Two whole numbers, the smaller one first.
    Pair,
    /// Any map.
    Map,
    /// A JSON Schema.
    Schema,
    /// A map that is not empty.
    SomeMap,
    /// Any value, nothing included.
    Any,
    /// A map with these keys.
    Keys(&'static [Key]),
    /// A list of maps with these keys.
    Items(&'static [Key]),
    /// A text of so many characters, both included.
    Length(usize, usize),
    /// A text that matches this pattern.
    Like(&'static str),
    /// `true`, and nothing else.
    True,
    /// A list of values of a form.
    List(&'static Form),
    /// A list of values of a form that is not empty.
    SomeOf(&'static Form),
    /// A map whose keys are the author's own: a pattern that they match, and the form of the values.
    Names(Option<&'static str>, &'static Form),
    /// A map by a table.
    Table(&'static Table),
    /// Exactly one of several forms.
    OneOf(&'static [Form]),
    /// A form with a sentence about it.
    About(&'static str, &'static Form),
    /// A part that has a name, since it stands in several places or is long.
    Part(&'static Part),
    /// What only a schema of its own can say.
    Own(fn() -> Value),
}

/// A map by a table of its keys.
#[derive(Debug)]
pub struct Table {
    /// What it is, in one sentence.
    pub about: &'static str,
    /// Its keys.
    pub keys: &'static [Key],
    /// What a table cannot say, as members of a JSON Schema: keys that cannot stand together, and the like.
    pub rules: fn() -> Value,
}

/// A part of files that has a name.
#[derive(Debug)]
pub struct Part {
    /// Its name.
    pub name: &'static str,
    /// Its form.
    pub form: Form,
}

impl Table {
    /// A table without rules.
    pub const fn new(about: &'static str, keys: &'static [Key]) -> Self {
        Self { about, keys, rules: Value::default }
    }

    /// The same table with rules.
    #[must_use]
    pub const fn rules(self, rules: fn() -> Value) -> Self {
        Self { rules, ..self }
    }

    /// The JSON Schema of the map.
    pub fn schema(&self) -> Value {
        let mut schema = said(self.about, super::schema(self.keys));
        extend(&mut schema, (self.rules)());
        schema
    }
}

impl Form {
    /// The JSON Schema of what has it. The parts in it are references.
    pub fn schema(self) -> Value {
        let number = |kind: &str, low: f64, high: f64| {
            let mut schema = json!({"type": kind});
            for (word, bound) in [("minimum", low), ("maximum", high)] {
                if bound.is_finite() {
                    schema[word] = shortest(bound);
                }
            }
            schema
        };
        match self {
            Self::Text => json!({"type": "string"}),
            Self::TellingText(_) => json!({"type": "string", "minLength": 1}),
            Self::Texts => json!({"type": "array", "items": {"type": "string"}}),
            Self::SomeTexts => json!({"type": "array", "items": {"type": "string"}, "minItems": 1}),
            Self::SomeWords(_, words) => {
                json!({"type": "array", "items": {"type": "string", "enum": words}, "minItems": 1})
            }
            Self::Word(words) => json!({"type": "string", "enum": words}),
            Self::Flag => json!({"type": "boolean"}),
            Self::Whole(low, high) => number("integer", low, high),
            Self::Number(low, high) => number("number", low, high),
            Self::Pair => {
                let whole = json!({"type": "integer", "minimum": 0});
                json!({"type": "array", "items": whole, "minItems": 2, "maxItems": 2})
            }
            Self::Map | Self::Schema => json!({"type": "object"}),
            Self::SomeMap => json!({"type": "object", "minProperties": 1}),
            Self::Any => json!({}),
            Self::Keys(keys) => super::schema(keys),
            Self::Items(keys) => json!({"type": "array", "items": super::schema(keys)}),
            Self::Length(low, high) => json!({"type": "string", "minLength": low, "maxLength": high}),
            Self::Like(pattern) => json!({"type": "string", "pattern": pattern}),
            Self::True => json!({"const": true}),
            Self::List(form) => json!({"type": "array", "items": form.schema()}),
            Self::SomeOf(form) => json!({"type": "array", "items": form.schema(), "minItems": 1}),
            Self::Names(pattern, form) => {
                let mut schema = json!({"type": "object", "additionalProperties": form.schema()});
                if let Some(pattern) = pattern {
                    schema["propertyNames"] = json!({"pattern": pattern});
                }
                schema
            }
            Self::Table(table) => table.schema(),
            Self::OneOf(forms) => {
                json!({"oneOf": forms.iter().map(|form| form.schema()).collect::<Vec<_>>()})
            }
            Self::About(about, form) => said(about, form.schema()),
            Self::Part(part) => json!({"$ref": format!("#/$defs/{}", part.name)}),
            Self::Own(schema) => schema(),
        }
    }

    /// Names the parts in it, and those in them, each once.
    pub fn parts(self, found: &mut Vec<&'static Part>) {
        let mut of_keys = |keys: &'static [Key]| keys.iter().for_each(|key| key.form.parts(found));
        match self {
            Self::Keys(keys) | Self::Items(keys) => of_keys(keys),
            Self::Table(table) => of_keys(table.keys),
            Self::List(form) | Self::SomeOf(form) | Self::Names(_, form) | Self::About(_, form) => {
                form.parts(found);
            }
            Self::OneOf(forms) => forms.iter().for_each(|form| form.parts(found)),
            Self::Part(part) if !found.iter().any(|known| known.name == part.name) => {
                found.push(part);
                part.form.parts(found);
            }
            _ => {}
        }
    }
}

/// A bound as people write it: a whole one without a fraction.
#[expect(clippy::cast_possible_truncation, reason = "it is whole and small enough")]
fn shortest(bound: f64) -> Value {
    if bound.fract() == 0.0 && bound.abs() < 1e15 + 1.0 { (bound as i64).into() } else { bound.into() }
}

/// A schema with a sentence about it before all else.
fn said(about: &str, schema: Value) -> Value {
    let mut described = json!({"description": about});
    extend(&mut described, schema);
    described["description"] = about.into();
    described
}

fn extend(schema: &mut Value, more: Value) {
    if let (Value::Object(fields), Value::Object(more)) = (schema, more) {
        fields.extend(more);
    }
}
