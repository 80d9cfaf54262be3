//! Adding to a JSON text without touching what is there.

use serde_json::Value;

use crate::eval_set::pretty;

/// A JSON text with one more item in a list that is a piece of it; nothing where that is no list.
///
/// Every byte of the text stays, but for spaces in an empty list. The item is indented as the first one is, and on the
/// same line where that one is.
pub(super) fn append_item(text: &str, list: &str, item: &Value) -> Option<String> {
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
        None => format!("{before}, {}{after}", rehearsal_core::json::shown(item)),
        Some((head, indent)) => {
            let line = if head.ends_with('\r') { "\r\n" } else { "\n" };
            let item = pretty(item).replace('\n', &format!("{line}{indent}"));
            format!("{before},{line}{indent}{item}{after}")
        }
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::import::Outline;

    fn check(text: &str, expected: Option<&str>) {
        let list = Outline::read(text).ok().and_then(|outline| outline.only("a"));
        let longer = list.and_then(|list| append_item(text, list, &json!({"x": [1]})));
        assert_eq!(longer.as_deref(), expected, "{text}");
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
    fn numbers_that_json_has_no_word_for_stay_too() {
        check(r#"{"b": NaN, "a": [-Infinity]}"#, Some(r#"{"b": NaN, "a": [-Infinity, {"x":[1]}]}"#));
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
