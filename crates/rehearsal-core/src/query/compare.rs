//! Equality, order and type of JSON values.

use std::cmp::Ordering;

use serde_json::{Map, Value};

use crate::json;

/// Whether two values are equal: numbers by value (`1` is `1.0`), objects whatever the order of their keys.
pub(super) fn same(a: &Value, b: &Value) -> bool {
    if let Some(order) = json::compare_numbers(a, b) {
        return order == Ordering::Equal;
    }
    match (a, b) {
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| same(a, b)))
        }
        _ => a == b,
    }
}

/// Orders two values of one type; nothing for values of different types, which do not compare.
pub(super) fn order_within_type(a: &Value, b: &Value) -> Option<Ordering> {
    (rank(a) == rank(b)).then(|| order(a, b))
}

/// Orders any two values: by type as Mongo ranks them, then by value.
fn order(a: &Value, b: &Value) -> Ordering {
    if let Some(order) = json::compare_numbers(a, b) {
        return order;
    }
    match (a, b) {
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        _ if rank(a) != rank(b) => rank(a).cmp(&rank(b)),
        (Value::String(a), Value::String(b)) => a.cmp(b),
        (Value::Array(a), Value::Array(b)) => {
            let first_difference = a.iter().zip(b).map(|(a, b)| order(a, b)).find(|order| order.is_ne());
            first_difference.unwrap_or_else(|| a.len().cmp(&b.len()))
        }
        (Value::Object(a), Value::Object(b)) => order_objects(a, b),
        _ => Ordering::Equal,
    }
}

/// Compares the sorted keys first, then the values in the order of the keys: an order that agrees with an
/// equality to which the order of keys does not matter.
fn order_objects(a: &Map<String, Value>, b: &Map<String, Value>) -> Ordering {
    let keys = sorted_keys(a);
    keys.cmp(&sorted_keys(b)).then_with(|| {
        let values = keys.iter().filter_map(|key| Some((a.get(*key)?, b.get(*key)?)));
        values.map(|(a, b)| order(a, b)).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    })
}

fn sorted_keys(fields: &Map<String, Value>) -> Vec<&str> {
    let mut keys: Vec<&str> = fields.keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys
}

fn rank(value: &Value) -> u8 {
    match value {
        Value::Null => 0,
        Value::Number(_) => 1,
        Value::String(_) if json::is_number(value) => 1,
        Value::String(_) => 2,
        Value::Object(_) => 3,
        Value::Array(_) => 4,
        Value::Bool(_) => 5,
    }
}

/// A type that `$type` can ask for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    Number,
    Whole,
    String,
    Object,
    Array,
    Bool,
    Null,
}

impl Kind {
    /// What [`Self::named`] understands, for messages.
    pub(super) const NAMES: &str = "a type that JSON has (`string`, `number`, `double`, `decimal`, `int`, \
                                    `long`, `bool`, `object`, `array`, `null`, or its BSON number)";

    /// Reads an alias such as `"string"` or a BSON type number such as `2`.
    pub(super) fn named(name: &Value) -> Option<Self> {
        if let Value::String(alias) = name {
            return match alias.as_str() {
                "number" | "double" | "decimal" => Some(Self::Number),
                "int" | "long" => Some(Self::Whole),
                "string" => Some(Self::String),
                "object" => Some(Self::Object),
                "array" => Some(Self::Array),
                "bool" | "boolean" => Some(Self::Bool),
                "null" => Some(Self::Null),
                _ => None,
            };
        }
        match whole_number(name)? {
            1 | 19 => Some(Self::Number),
            2 => Some(Self::String),
            3 => Some(Self::Object),
            4 => Some(Self::Array),
            8 => Some(Self::Bool),
            10 => Some(Self::Null),
            16 | 18 => Some(Self::Whole),
            _ => None,
        }
    }

    /// Whether a value is of this type.
    pub(super) fn holds(self, value: &Value) -> bool {
        match self {
            Self::Number => json::is_number(value),
            Self::Whole => json::is_whole(value),
            Self::String => json::as_text(value).is_some(),
            Self::Object => value.is_object(),
            Self::Array => value.is_array(),
            Self::Bool => value.is_boolean(),
            Self::Null => value.is_null(),
        }
    }
}

/// Reads a non-negative whole number, also where it is written as a float such as `2.0`.
pub(super) fn whole_number(value: &Value) -> Option<u32> {
    if let Some(whole) = value.as_u64() {
        return u32::try_from(whole).ok();
    }
    let float = value.as_f64()?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be in range")]
    let whole =
        (float.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&float)).then_some(float as u32);
    whole
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering::{Equal, Greater, Less};

    use serde_json::json;

    use super::{order, same};
    use crate::json::whole;

    fn beyond(digits: &str) -> serde_json::Value {
        whole(digits).unwrap()
    }

    #[test]
    fn orders_values_without_losing_precision() {
        let table = [
            (json!(1), json!(1.0), Equal),
            (json!(-0.0), json!(0), Equal),
            (json!(1), json!(1.5), Less),
            (json!(-1), json!(-1.5), Greater),
            (json!(9_007_199_254_740_993_i64), json!(9_007_199_254_740_992.0), Greater),
            (json!(u64::MAX), json!(i64::MIN), Greater),
            (json!(u64::MAX), json!(18_446_744_073_709_551_616.0), Less),
            (json!(u64::MAX), json!(1e300), Less),
            (json!(i64::MIN), json!(-1e300), Greater),
            (beyond("18446744073709551617"), json!(18_446_744_073_709_551_616.0), Greater),
            (beyond("18446744073709551617"), beyond("18446744073709551618"), Less),
            (beyond("18446744073709551617"), json!("a"), Less),
            (json!([beyond("18446744073709551617")]), json!([u64::MAX]), Greater),
            (json!("a"), json!("b"), Less),
            (json!([1, 2]), json!([1, 2, 0]), Less),
            (json!([2]), json!([1, 9]), Greater),
            (json!({"a": 2}), json!({"b": 1}), Less),
            (json!({"a": 2, "b": 1}), json!({"b": 1, "a": 2.0}), Equal),
            (json!({"a": 1, "b": 3}), json!({"b": 2, "a": 1}), Greater),
            (json!(null), json!(0), Less),
            (json!(false), json!([]), Greater),
        ];
        for (a, b, expected) in table {
            assert_eq!(order(&a, &b), expected, "{a} and {b}");
            assert_eq!(order(&b, &a), expected.reverse(), "{b} and {a}");
            assert_eq!(same(&a, &b), expected == Equal, "{a} and {b}");
        }
    }
}
