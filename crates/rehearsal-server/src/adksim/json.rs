//! JSON as protobuf carries it: `google.protobuf.Struct` and `Value`.

use prost_types::value::Kind;
use prost_types::{ListValue, Struct};
use rehearsal_core::json as exact;
use serde_json::{Map, Number, Value};

/// The whole numbers up to here are all different as doubles.
const EXACT: f64 = 9_007_199_254_740_992.0;

pub(super) fn object_from_wire(object: Struct) -> Map<String, Value> {
    object.fields.into_iter().map(|(name, value)| (name, value_from_wire(value))).collect()
}

/// Numbers are doubles on the wire. Whole ones that a double holds exactly are whole in JSON; those that JSON has no
/// number for are the texts that protobuf's own JSON uses.
pub(super) fn value_from_wire(value: prost_types::Value) -> Value {
    match value.kind {
        None | Some(Kind::NullValue(_)) => Value::Null,
        Some(Kind::NumberValue(number)) => number_from_wire(number),
        Some(Kind::StringValue(text)) => Value::String(exact::plain(text)),
        Some(Kind::BoolValue(truth)) => Value::Bool(truth),
        Some(Kind::StructValue(object)) => Value::Object(object_from_wire(object)),
        Some(Kind::ListValue(list)) => list.values.into_iter().map(value_from_wire).collect(),
    }
}

pub(super) fn number_from_wire(number: f64) -> Value {
    if number.fract() == 0.0 && number.abs() <= EXACT {
        #[expect(clippy::cast_possible_truncation, reason = "it is whole and within what both types hold")]
        return Value::from(number as i64);
    }
    if number.is_nan() {
        return Value::from("NaN");
    }
    let without_end = if number > 0.0 { "Infinity" } else { "-Infinity" };
    Number::from_f64(number).map_or_else(|| Value::from(without_end), Value::Number)
}

pub(super) fn object_to_wire(object: &Map<String, Value>) -> Struct {
    Struct { fields: object.iter().map(|(name, value)| (name.clone(), value_to_wire(value))).collect() }
}

/// Whole numbers beyond 2^53 arrive as the nearest double; [`inexact`] tells where.
pub(super) fn value_to_wire(value: &Value) -> prost_types::Value {
    let kind = match value {
        Value::Null => Kind::NullValue(0),
        Value::Bool(truth) => Kind::BoolValue(*truth),
        Value::Number(number) => Kind::NumberValue(number.as_f64().unwrap_or(f64::NAN)),
        Value::String(text) => match exact::as_f64(value) {
            Some(number) => Kind::NumberValue(number),
            None => Kind::StringValue(text.clone()),
        },
        Value::Array(items) => {
            Kind::ListValue(ListValue { values: items.iter().map(value_to_wire).collect() })
        }
        Value::Object(object) => Kind::StructValue(object_to_wire(object)),
    };
    prost_types::Value { kind: Some(kind) }
}

/// The places below `path` with whole numbers that a double may not hold.
pub(super) fn inexact(object: &Map<String, Value>, path: &str, found: &mut Vec<String>) {
    for (name, value) in object {
        inexact_value(value, &format!("{path}.{name}"), found);
    }
}

fn inexact_value(value: &Value, path: &str, found: &mut Vec<String>) {
    match value {
        number if is_inexact(number) => {
            let number = exact::text(number);
            found.push(format!(
                "{path}: the number {number} is beyond 2^53 and would arrive as another one; send it as text"
            ));
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                inexact_value(item, &format!("{path}[{index}]"), found);
            }
        }
        Value::Object(object) => inexact(object, path, found),
        _ => {}
    }
}

fn is_inexact(value: &Value) -> bool {
    let size = value.as_i64().map(i64::unsigned_abs).or_else(|| value.as_u64());
    size.is_some_and(|size| size > 1 << 53) || (value.is_string() && exact::is_number(value))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn there_and_back(value: &Value) -> Value {
        value_from_wire(value_to_wire(value))
    }

    #[test]
    fn whole_numbers_stay_whole_as_far_as_doubles_are_exact() {
        let exact = 1_i64 << 53;
        for number in [0, 1, -7, exact, -exact] {
            assert_eq!(there_and_back(&json!(number)), json!(number));
        }
        assert_eq!(there_and_back(&json!(2.0)), json!(2));
        assert_eq!(there_and_back(&json!(0.5)), json!(0.5));
        assert_eq!(there_and_back(&json!(1e300)), json!(1e300));
    }

    #[test]
    fn numbers_that_json_does_not_know_are_texts() {
        for (number, text) in
            [(f64::NAN, "NaN"), (f64::INFINITY, "Infinity"), (f64::NEG_INFINITY, "-Infinity")]
        {
            assert_eq!(number_from_wire(number), json!(text));
        }
    }

    #[test]
    fn numbers_that_would_arrive_changed_are_named() {
        let mut found = Vec::new();
        let args = json!({"ok": 9_007_199_254_740_992_i64, "list": [{"id": 9_007_199_254_740_993_i64}], "f": 1e300,
                "large": exact::whole("18446744073709551617").unwrap()});
        inexact(args.as_object().unwrap(), "args", &mut found);
        assert_eq!(
            found,
            [
                "args.list[0].id: the number 9007199254740993 is beyond 2^53 and would arrive as another one; send it as text",
                "args.large: the number 18446744073709551617 is beyond 2^53 and would arrive as another one; send it as text"
            ]
        );
    }

    #[test]
    fn nothing_said_is_null() {
        assert_eq!(value_from_wire(prost_types::Value { kind: None }), Value::Null);
    }
}
