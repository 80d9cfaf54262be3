//! Adding to a JSON text without touching what is there.

use serde::de::{Deserializer as _, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::eval_set::pretty;

/// The text of a JSON object with one more item in its list `field`; nothing where there is not exactly one such list.
///
/// Every byte of the text stays, but for spaces in an empty list. The item is indented as the first one is, and on the same line where that one is.
pub(super) fn append_item(text: &str, field: &str, item: &Value) -> Option<String> {
    let list = find(text, field)?;
    let inner = list.strip_prefix('[')?.strip_suffix(']')?;
    let filled = inner.trim_end();
    // The list is a part of the text, so the distance of their beginnings is its place.
    let start = list.as_ptr().addr() - text.as_ptr().addr();
    let place = start + 1 + filled.len();
    let leading = &inner[..inner.len() - inner.trim_start().len()];
    let (before, after) = text.split_at(place);
    if filled.is_empty() {
        let after = after.trim_start();
        let before = &before[..=start];
        return Some(format!("{before}\n    {}\n  {after}", pretty(item).replace('\n', "\n    ")));
    }
    Some(match leading.rsplit_once('\n') {
        None => format!("{before}, {item}{after}"),
        Some((head, indent)) => {
            let line = if head.ends_with('\r') { "\r\n" } else { "\n" };
            let item = pretty(item).replace('\n', &format!("{line}{indent}"));
            format!("{before},{line}{indent}{item}{after}")
        }
    })
}

/// The text of a list that an object has exactly once.
fn find<'a>(text: &'a str, field: &str) -> Option<&'a str> {
    struct Finder<'f>(&'f str);

    impl<'de> Visitor<'de> for Finder<'_> {
        type Value = Vec<&'de str>;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut found = Vec::new();
            while let Some(key) = map.next_key::<String>()? {
                if key == self.0 {
                    found.push(map.next_value::<&'de RawValue>()?.get());
                } else {
                    map.next_value::<IgnoredAny>()?;
                }
            }
            Ok(found)
        }
    }

    let found = serde_json::Deserializer::from_str(text).deserialize_map(Finder(field)).ok()?;
    match found[..] {
        [list] => Some(list),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(text: &str, expected: Option<&str>) {
        assert_eq!(append_item(text, "a", &json!({"x": [1]})).as_deref(), expected, "{text}");
    }

    #[test]
    fn every_byte_stays() {
        check(
            r#"{"a": [1e2, 3.10], "b": 12345678901234567890123}"#,
            Some(r#"{"a": [1e2, 3.10, {"x":[1]}], "b": 12345678901234567890123}"#),
        );
        check(
            "{\"a\": [\n\t7\n] }\n",
            Some("{\"a\": [\n\t7,\n\t{\n\t  \"x\": [\n\t    1\n\t  ]\n\t}\n] }\n"),
        );
        check(
            "{\r\n \"a\":[\r\n  7\r\n ]}",
            Some("{\r\n \"a\":[\r\n  7,\r\n  {\r\n    \"x\": [\r\n      1\r\n    ]\r\n  }\r\n ]}"),
        );
        check("{\"a\":[ ]}", Some("{\"a\":[\n    {\n      \"x\": [\n        1\n      ]\n    }\n  ]}"));
    }

    #[test]
    fn a_text_without_exactly_one_list_is_refused() {
        for text in ["{}", "[]", "", r#"{"a": 1}"#, r#"{"a": [], "a": []}"#, r#"{"b": {"a": []}}"#] {
            check(text, None);
        }
    }

    #[test]
    fn strings_that_look_like_lists_are_not() {
        check(r#"{"b": "\"a\": []", "a": ["]"]}"#, Some(r#"{"b": "\"a\": []", "a": ["]", {"x":[1]}]}"#));
        check(
            r#"{"\u0061": []}"#,
            Some("{\"\\u0061\": [\n    {\n      \"x\": [\n        1\n      ]\n    }\n  ]}"),
        );
    }
}
