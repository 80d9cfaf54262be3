//! An `EvalSet` as a text: what stands where in it.
//!
//! A file to which a case is added may be of any size. So of its cases only one at a time is read, and what is found are
//! pieces of the text itself.

use serde::de::{Deserializer as _, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::{ImportError, check_ids, conversation, fit_set, no_mark, not_json, numbers, shape};

/// The fields of a JSON object.
pub(crate) struct Outline<'t> {
    /// Each with its text, in order. A name may be there twice.
    fields: Vec<(String, &'t str)>,
}

impl<'t> Outline<'t> {
    /// The fields of an object.
    pub(crate) fn read(text: &'t str) -> Result<Self, ImportError> {
        no_mark(text)?;
        let masked = numbers::masked(text);
        let mut reader = serde_json::Deserializer::from_str(&masked);
        let fields = reader.deserialize_map(FieldsOf).and_then(|fields| reader.end().map(|()| fields));
        let fields = fields.map_err(|error| not_json(&error))?.into_iter();
        Ok(Self { fields: fields.map(|(name, found)| (name, same(found, &masked, text))).collect() })
    }

    /// The text of a field that is there exactly once.
    pub(crate) fn only(&self, field: &str) -> Option<&'t str> {
        let mut found = self.fields.iter().filter(|(name, _)| name == field);
        found.next().filter(|_| found.next().is_none()).map(|(_, text)| *text)
    }

    /// The ids of the cases, when all of it is an `EvalSet`.
    pub(crate) fn case_ids(&self) -> Result<Vec<String>, ImportError> {
        let mut notes = Vec::new();
        let mut top = Map::new();
        let mut cases = Vec::new();
        for (name, text) in &self.fields {
            let items = if name == "eval_cases" { items(text) } else { None };
            let value = match items {
                Some(items) => {
                    cases = items;
                    Value::Array(Vec::new())
                }
                None => numbers::parse(text, "$", &mut notes)?,
            };
            top.insert(name.clone(), value);
        }
        fit_set(Value::Object(top), &mut notes)?;
        let mut ids = Vec::with_capacity(cases.len());
        for (index, text) in cases.into_iter().enumerate() {
            let path = format!("$.eval_cases[{index}]");
            let value = numbers::parse(text, &path, &mut notes)?;
            let case = shape::fit("EvalCase", value, &path, &mut notes)?;
            ids.push(conversation::read_case(&case, &path)?.eval_id);
        }
        check_ids(ids.iter().map(String::as_str), |index| format!("$.eval_cases[{index}].eval_id"))?;
        Ok(ids)
    }
}

/// The texts of a list's items; nothing where it is no list.
pub(crate) fn items(list: &str) -> Option<Vec<&str>> {
    let masked = numbers::masked(list);
    #[expect(clippy::disallowed_methods, reason = "pieces of the text itself are asked for, not values")]
    let items: Vec<&RawValue> = serde_json::from_str(&masked).ok()?;
    Some(items.into_iter().map(|item| same(item.get(), &masked, list)).collect())
}

/// The piece of a text that stands where this piece of its mask stands.
fn same<'t>(piece: &str, masked: &str, text: &'t str) -> &'t str {
    let start = piece.as_ptr().addr() - masked.as_ptr().addr();
    &text[start..start + piece.len()]
}

struct FieldsOf;

impl<'de> Visitor<'de> for FieldsOf {
    type Value = Vec<(String, &'de str)>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut fields = Vec::new();
        while let Some((name, value)) = map.next_entry::<String, &'de RawValue>()? {
            fields.push((name, value.get()));
        }
        Ok(fields)
    }
}
