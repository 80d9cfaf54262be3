//! What a scalar without quotes means.

use std::ops::RangeInclusive;

use rehearsal_core::json;
use serde_json::{Number, Value};

use super::NodeValue;

/// Decides what a scalar is, from how it stands in the file and what the parser read.
///
/// Quoted scalars and block scalars are text. For plain ones the rules are those of JavaScript's YAML 1.2 core
/// schema: only `true` and `false` (in three spellings each) are booleans, underscores and signs in odd places make
/// text, and a leading zero does not make a number octal.
pub(super) fn resolve(source: &str, read: String) -> NodeValue {
    let plain = source.trim();
    if plain.starts_with(['"', '\'', '|', '>', '!', '&']) {
        return NodeValue::Text(read);
    }
    match plain {
        "" | "~" | "null" | "Null" | "NULL" => NodeValue::Null,
        "true" | "True" | "TRUE" => NodeValue::Bool(true),
        "false" | "False" | "FALSE" => NodeValue::Bool(false),
        _ => match number(plain) {
            Some(number) => NodeValue::Number(number),
            None if is_date(plain) => NodeValue::Date(plain.to_owned()),
            // A plain scalar may go over several lines, which the parser has joined.
            None if plain.contains('\n') => NodeValue::Text(read),
            None => NodeValue::Text(plain.to_owned()),
        },
    }
}

/// Whether a text ends in the mark of a block scalar, such as `|` or `>-`: what follows is text, also when it is empty.
pub(super) fn ends_in_block(before: &str) -> bool {
    let line = before.trim_end().lines().next_back().unwrap_or_default();
    let line = line.split_once(" #").map_or(line, |(line, _)| line).trim_end();
    let mark = line.trim_end_matches(|c: char| c == '-' || c == '+' || c.is_ascii_digit());
    let key = mark.strip_suffix(['|', '>']);
    key.is_some_and(|key| {
        key.ends_with([' ', '\t'])
            && key.trim_end().ends_with([':', '-'])
            && !key.trim_start().starts_with('#')
    })
}

fn number(text: &str) -> Option<Value> {
    let (sign, digits) = match text.as_bytes().first()? {
        b'-' => ("-", &text[1..]),
        b'+' => ("", &text[1..]),
        _ => ("", text),
    };
    let radix = [("0x", 16), ("0o", 8), ("0b", 2)].into_iter().find(|(mark, _)| digits.starts_with(mark));
    if let Some((mark, radix)) = radix {
        return whole(sign, digits.strip_prefix(mark)?, radix);
    }
    if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return json::whole(&format!("{sign}{digits}"));
    }
    let is_float = digits.bytes().all(|byte| byte.is_ascii_digit() || b".eE+-".contains(&byte))
        && digits.bytes().any(|byte| byte.is_ascii_digit())
        && digits.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    if is_float { Number::from_f64(text.parse().ok()?).map(Value::Number) } else { None }
}

/// More digits than this are a text: nobody writes such a number.
const MOST_DIGITS: usize = 4096;

/// A whole number of digits only.
fn whole(sign: &str, digits: &str, radix: u32) -> Option<Value> {
    if digits.is_empty() || digits.len() > MOST_DIGITS || !digits.chars().all(|digit| digit.is_digit(radix)) {
        return None;
    }
    json::whole(&format!("{sign}{}", decimal(digits, radix)))
}

/// The decimal digits of a number in another radix.
fn decimal(digits: &str, radix: u32) -> String {
    const LIMB: u64 = 1_000_000_000;
    // The lowest nine digits first.
    let mut limbs: Vec<u64> = Vec::new();
    for digit in digits.chars().filter_map(|digit| digit.to_digit(radix)) {
        let mut carry = u64::from(digit);
        for limb in &mut limbs {
            let value = *limb * u64::from(radix) + carry;
            (*limb, carry) = (value % LIMB, value / LIMB);
        }
        if carry > 0 {
            limbs.push(carry);
        }
    }
    limbs.iter().rev().fold(String::from("0"), |written, limb| format!("{written}{limb:09}"))
}

/// `2026-01-01`, also with a time and a zone behind it, and nothing else.
fn is_date(text: &str) -> bool {
    let bytes = text.as_bytes();
    let matches = |form: &str| {
        bytes.len() == form.len()
            && bytes.iter().zip(form.bytes()).all(|(byte, mark)| match mark {
                b'0' => byte.is_ascii_digit(),
                mark => *byte == mark,
            })
    };
    matches("0000-00-00") || is_date_and_time(text).is_some()
}

/// `2026-1-1 9:30:00.5 +1:00`; the date and the hour may leave out a leading zero.
fn is_date_and_time(text: &str) -> Option<()> {
    let rest = digits(text, 4..=4)?.strip_prefix('-')?;
    let rest = digits(rest, 1..=2)?.strip_prefix('-')?;
    let rest = digits(rest, 1..=2)?;
    let spaces = rest.trim_start_matches([' ', '\t']);
    let rest = rest.strip_prefix(['T', 't']).or((spaces.len() < rest.len()).then_some(spaces))?;
    let rest = digits(rest, 1..=2)?.strip_prefix(':')?;
    let rest = digits(rest, 2..=2)?.strip_prefix(':')?;
    let rest = digits(rest, 2..=2)?;
    let rest =
        rest.strip_prefix('.').map_or(rest, |rest| rest.trim_start_matches(|c: char| c.is_ascii_digit()));
    if rest.is_empty() {
        return Some(());
    }
    let zone = rest.trim_start_matches([' ', '\t']);
    if zone == "Z" {
        return Some(());
    }
    let rest = digits(zone.strip_prefix(['+', '-'])?, 1..=2)?;
    let rest = if rest.is_empty() { rest } else { digits(rest.strip_prefix(':')?, 2..=2)? };
    rest.is_empty().then_some(())
}

/// What stands behind the digits a text begins with, if there are as many as there should be.
fn digits(text: &str, count: RangeInclusive<usize>) -> Option<&str> {
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
    count.contains(&(text.len() - rest.len())).then_some(rest)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::yaml::Node;

    fn value(plain: &str) -> NodeValue {
        resolve(plain, plain.to_owned())
    }

    fn json_of(plain: &str) -> serde_json::Value {
        Node { span: 0..0, value: value(plain) }.to_json()
    }

    #[test]
    fn plain_scalars_mean_what_authors_expect() {
        for text in
            ["yes", "no", "on", "off", "0.8+", "0.3-", "1_000", "12:30:45", "1.2.3", "-", "e5", "tRue", "0x"]
        {
            assert_eq!(json_of(text), json!(text), "{text}");
        }
        let table = [
            ("012", json!(12)),
            ("0o12", json!(10)),
            ("0x1F", json!(31)),
            ("0b11", json!(3)),
            ("-7", json!(-7)),
        ];
        for (text, expected) in table {
            assert_eq!(json_of(text), expected, "{text}");
        }
        assert_eq!(json_of("0.5"), json!(0.5));
        assert_eq!(json_of("1e3"), json!(1000.0));
        assert_eq!(json_of("~"), json!(null));
        assert_eq!(json_of("True"), json!(true));
        assert_eq!(value("2026-01-01"), NodeValue::Date("2026-01-01".into()));
    }

    #[test]
    fn only_a_whole_timestamp_is_a_date() {
        for text in [
            "2026-01-01",
            "2026-01-01T10:00:00Z",
            "2026-1-1 9:30:00.5 +1:00",
            "2026-01-01t10:00:00-05",
            "2026-01-01  10:00:00.",
        ] {
            assert_eq!(value(text), NodeValue::Date(text.into()), "{text}");
        }
        for text in [
            "2026-01-01 book me a slot",
            "2026-1-1",
            "2026-01-01T",
            "2026-01-01T10:00",
            "2026-01-01 10:00:00 o'clock",
            "2026-01-01T10:00:00Z!",
            "2026-01-01T10:00:00+1:0",
            "2026-01-0é",
        ] {
            assert_eq!(json_of(text), json!(text), "{text}");
        }
    }

    #[test]
    fn a_radix_is_followed_by_its_digits_only() {
        for text in ["0x-5", "0x+5", "-0x-8000000000000000", "0b12", "0o8", "-0x", "0xg"] {
            assert_eq!(json_of(text), json!(text), "{text}");
        }
        assert_eq!(json_of("-0x1F"), json!(-31));
        assert_eq!(json_of("0x8000000000000000"), json!(9_223_372_036_854_775_808_u64));
        assert_eq!(json_of("-0x8000000000000000"), json!(i64::MIN));
    }

    #[test]
    fn quotes_make_text() {
        assert_eq!(resolve("\"12\"", "12".into()), NodeValue::Text("12".into()));
        assert_eq!(resolve("'true'", "true".into()), NodeValue::Text("true".into()));
    }
}
