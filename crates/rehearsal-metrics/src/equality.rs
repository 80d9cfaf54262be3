//! When two JSON values are the same.

use std::cmp::Ordering;

use rehearsal_core::json::{compare_numbers, is_number};
use serde_json::{Map, Value};

/// Whether two values are the same, numbers by their value: 2 is 2.0, as JSON knows one kind of number only.
pub fn is_same(a: &Value, b: &Value) -> bool {
    if let Some(order) = compare_numbers(a, b) {
        return order == Ordering::Equal;
    }
    match (a, b) {
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| is_same(a, b)))
        }
        (a, b) => a == b,
    }
}

/// Whether two values are the same to Python's `==`: also `True` is 1 and `False` is 0.
pub(crate) fn is_same_to_python(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Bool(truth), number) | (number, Value::Bool(truth)) if is_number(number) => {
            is_same(number, &Value::from(u8::from(*truth)))
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same_to_python(a, b))
        }
        (Value::Object(a), Value::Object(b)) => is_same_object_to_python(a, b),
        (a, b) => is_same(a, b),
    }
}

/// [`is_same_to_python`] for two objects; the order of keys does not matter.
pub(crate) fn is_same_object_to_python(a: &Map<String, Value>, b: &Map<String, Value>) -> bool {
    a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| is_same_to_python(a, b)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(a: &Value, b: &Value, [same, to_python]: [bool; 2]) {
        for (a, b) in [(a, b), (b, a)] {
            assert_eq!([is_same(a, b), is_same_to_python(a, b)], [same, to_python], "{a} and {b}");
        }
    }

    #[test]
    fn numbers_are_the_same_by_value_and_nothing_else_changes_its_type() {
        check(&json!(2), &json!(2.0), [true, true]);
        check(&json!(2), &json!(2.5), [false, false]);
        check(&json!(2), &json!("2"), [false, false]);
        check(&json!(1), &json!(true), [false, true]);
        check(&json!(0.0), &json!(false), [false, true]);
        check(&json!(2), &json!(true), [false, false]);
        check(&json!(null), &json!(false), [false, false]);
        check(&json!(0.1), &json!(0.1), [true, true]);
    }

    #[test]
    fn large_whole_numbers_are_not_rounded() {
        check(&json!(9_007_199_254_740_993_u64), &json!(9_007_199_254_740_992.0), [false, false]);
        check(&json!(u64::MAX), &json!(1.844_674_407_370_955_2e19), [false, false]);
        check(&json!(-5), &json!(-5.0), [true, true]);
        let beyond = |digits| rehearsal_core::json::whole(digits).unwrap();
        let odd = beyond("18446744073709551617");
        check(&odd, &json!(1.844_674_407_370_955_2e19), [false, false]);
        check(&beyond("18446744073709551616"), &json!(1.844_674_407_370_955_2e19), [true, true]);
        check(&odd, &beyond("18446744073709551618"), [false, false]);
        check(&odd, &odd, [true, true]);
        check(&odd, &json!("18446744073709551617"), [false, false]);
        check(&odd, &json!(true), [false, false]);
    }

    #[test]
    fn inside_arrays_and_objects_the_same_holds() {
        check(&json!({"a": [1, {"b": 2}], "c": 3}), &json!({"c": 3.0, "a": [1.0, {"b": 2}]}), [true, true]);
        check(&json!({"a": [1]}), &json!({"a": [true]}), [false, true]);
        check(&json!({"a": 1}), &json!({"a": 1, "b": null}), [false, false]);
        check(&json!([1]), &json!([1, 1]), [false, false]);
    }
}
