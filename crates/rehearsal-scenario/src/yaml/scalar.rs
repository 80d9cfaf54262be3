//! What a scalar without quotes means.

use serde_json::Number;

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

fn number(text: &str) -> Option<Number> {
    let (sign, digits) = match text.as_bytes().first()? {
        b'-' => (-1, &text[1..]),
        b'+' => (1, &text[1..]),
        _ => (1, text),
    };
    let radix = [("0x", 16), ("0o", 8), ("0b", 2)].into_iter().find(|(mark, _)| digits.starts_with(mark));
    if let Some((mark, radix)) = radix {
        let value = i64::from_str_radix(digits.strip_prefix(mark)?, radix).ok()?;
        return Some((sign * value).into());
    }
    if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return match digits.parse::<i64>() {
            Ok(value) => Some((sign * value).into()),
            Err(_) => Number::from_f64(text.parse().ok()?),
        };
    }
    let is_float = digits.bytes().all(|byte| byte.is_ascii_digit() || b".eE+-".contains(&byte))
        && digits.bytes().any(|byte| byte.is_ascii_digit())
        && digits.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    if is_float { Number::from_f64(text.parse().ok()?) } else { None }
}

/// `2026-01-01`, also with a time behind it.
fn is_date(text: &str) -> bool {
    let bytes = text.as_bytes();
    let digits = |range: std::ops::Range<usize>| {
        bytes.get(range).is_some_and(|part| part.iter().all(u8::is_ascii_digit))
    };
    digits(0..4)
        && digits(5..7)
        && digits(8..10)
        && bytes[4] == b'-'
        && bytes[7] == b'-'
        && bytes.get(10).is_none_or(|byte| b" tT".contains(byte))
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
    fn quotes_make_text() {
        assert_eq!(resolve("\"12\"", "12".into()), NodeValue::Text("12".into()));
        assert_eq!(resolve("'true'", "true".into()), NodeValue::Text("true".into()));
    }
}
