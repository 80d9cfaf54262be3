//! Numbers of a tree: which they are, and their order.

use std::cmp::Ordering;

use serde_json::{Number, Value};

use super::MARK;

/// The whole number with these decimal digits: a number of `serde_json`'s where it has one. Nothing for anything else than
/// digits with a minus before them; zeros at the beginning count for nothing.
pub fn whole(digits: &str) -> Option<Value> {
    let (minus, size) = digits.strip_prefix('-').map_or(("", digits), |size| ("-", size));
    if size.is_empty() || !size.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let size = size.trim_start_matches('0');
    let size = if size.is_empty() { "0" } else { size };
    let digits = format!("{minus}{size}");
    if is_beyond(&digits) {
        return Some(Value::String(format!("{MARK}{digits}")));
    }
    let small = digits.parse::<i64>().map(Value::from);
    small.or_else(|_| digits.parse::<u64>().map(Value::from)).ok()
}

/// Whether these are the digits of a whole number beyond 64 bits, written as JSON writes it.
pub(super) fn is_beyond(digits: &str) -> bool {
    Limit::OURS.is_beyond(digits)
}

/// Where somebody's whole numbers end, as digits.
#[derive(Clone, Copy)]
pub(super) struct Limit {
    /// The largest.
    pub(super) above: &'static str,
    /// The size of the smallest.
    pub(super) below: &'static str,
}

impl Limit {
    /// 64 bits, with a sign or without.
    pub(super) const OURS: Self = Self { above: "18446744073709551615", below: "9223372036854775808" };

    /// Whatever is beyond has at least so many digits.
    pub(super) fn fewest_digits(self) -> usize {
        self.above.len().min(self.below.len())
    }

    /// Whether these are the digits of a whole number beyond it, written as JSON writes it.
    pub(super) fn is_beyond(self, digits: &str) -> bool {
        let (size, largest) = match digits.strip_prefix('-') {
            Some(size) => (size, self.below),
            None => (digits, self.above),
        };
        size.len() >= largest.len()
            && !size.starts_with('0')
            && size.bytes().all(|byte| byte.is_ascii_digit())
            && (size.len() > largest.len() || size > largest)
    }
}

/// The digits of a marked text.
pub(super) fn beyond(text: &str) -> Option<&str> {
    text.strip_prefix(MARK).filter(|digits| is_beyond(digits))
}

/// The digits of a whole number beyond 64 bits; nothing for any other value.
pub(crate) fn digits(value: &Value) -> Option<&str> {
    value.as_str().and_then(beyond)
}

/// Whether there is a whole number beyond 64 bits in it.
pub(crate) fn has_beyond(value: &Value) -> bool {
    match value {
        Value::String(_) => digits(value).is_some(),
        Value::Array(items) => items.iter().any(has_beyond),
        Value::Object(fields) => fields.values().any(has_beyond),
        _ => false,
    }
}

/// Whether the value is a number.
pub fn is_number(value: &Value) -> bool {
    value.is_number() || digits(value).is_some()
}

/// Whether the value is a number without a fraction, also where it is written as `2.0`.
pub fn is_whole(value: &Value) -> bool {
    match value {
        Value::Number(number) => {
            !number.is_f64() || number.as_f64().is_some_and(|number| number.fract() == 0.0)
        }
        value => digits(value).is_some(),
    }
}

/// The number as a double, rounded where it has to be; infinite where doubles end.
pub fn as_f64(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| digits(value)?.parse().ok())
}

/// Orders two numbers by value, without rounding either of them; nothing where one is no number.
pub fn compare_numbers(a: &Value, b: &Value) -> Option<Ordering> {
    Some(match (exact(a)?, exact(b)?) {
        (Exact::Whole(a), Exact::Whole(b)) => a.cmp(&b),
        (Exact::Float(a), Exact::Float(b)) => a.partial_cmp(&b).unwrap_or_else(|| a.total_cmp(&b)),
        (Exact::Whole(a), Exact::Float(b)) => order_whole_and_float(a, b),
        (Exact::Float(a), Exact::Whole(b)) => order_whole_and_float(b, a).reverse(),
        (Exact::Beyond(a), Exact::Beyond(b)) => order_digits(a, b),
        (Exact::Beyond(a), Exact::Whole(b)) => order_digits(a, &b.to_string()),
        (Exact::Whole(a), Exact::Beyond(b)) => order_digits(&a.to_string(), b),
        (Exact::Beyond(a), Exact::Float(b)) => order_digits_and_float(a, b),
        (Exact::Float(a), Exact::Beyond(b)) => order_digits_and_float(b, a).reverse(),
    })
}

enum Exact<'a> {
    /// Any `i64` or `u64`.
    Whole(i128),
    Float(f64),
    /// What is beyond them.
    Beyond(&'a str),
}

fn exact(value: &Value) -> Option<Exact<'_>> {
    match value {
        Value::Number(number) => Some(exact_number(number)),
        value => digits(value).map(Exact::Beyond),
    }
}

fn exact_number(number: &Number) -> Exact<'static> {
    let whole = number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from));
    // JSON has no NaN, and without serde_json's `arbitrary_precision` every other number is an `f64`.
    whole.map_or_else(|| Exact::Float(number.as_f64().unwrap_or(f64::NAN)), Exact::Whole)
}

/// Compares without rounding the whole number to a float: 2^53 + 1 is greater than 2^53 as a float.
fn order_whole_and_float(whole: i128, float: f64) -> Ordering {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the cast saturates, and a saturated value lies beyond every `i64` and `u64` on the right side"
    )]
    let truncated = float.trunc() as i128;
    let fraction = float.fract();
    whole.cmp(&truncated).then_with(|| 0.0_f64.partial_cmp(&fraction).unwrap_or(Ordering::Equal))
}

/// Compares a whole number beyond 64 bits with a float: one that is as large has no fraction.
fn order_digits_and_float(digits: &str, float: f64) -> Ordering {
    order_digits(digits, &format!("{:.0}", float.trunc()))
}

/// Orders whole numbers by their digits, which begin with no zero.
fn order_digits(a: &str, b: &str) -> Ordering {
    let size = |a: &str, b: &str| a.len().cmp(&b.len()).then_with(|| a.cmp(b));
    match (a.strip_prefix('-'), b.strip_prefix('-')) {
        (None, None) => size(a, b),
        (Some(a), Some(b)) => size(b, a),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
    }
}
