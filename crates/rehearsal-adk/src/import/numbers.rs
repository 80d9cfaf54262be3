//! The numbers that Python writes into JSON though JSON has no word for them. ADK takes them.

use std::borrow::Cow;

use serde::de::IgnoredAny;
use serde_json::Value;

use super::fields::below;
use super::{ImportError, Note, not_json};

const WORDS: [&str; 3] = ["NaN", "Infinity", "-Infinity"];
/// What stands before such a word where it is a text for a moment. No text that anybody writes begins with it.
const MARK: char = '\0';

/// JSON in which such numbers may stand. They become null, and are noted.
pub(super) fn parse(text: &str, path: &str, notes: &mut Vec<Note>) -> Result<Value, ImportError> {
    let marked = replaced(text, |word| format!("\"\\u0000{word}\""));
    let mut value = rehearsal_core::json::from_str(&marked).map_err(|error| match &marked {
        Cow::Borrowed(_) => not_json(&error),
        // The error's place is told in the text as it is.
        Cow::Owned(_) => {
            not_json(&rehearsal_core::json::from_str::<IgnoredAny>(&masked(text)).err().unwrap_or(error))
        }
    })?;
    if matches!(marked, Cow::Owned(_)) {
        take_out(&mut value, path, notes);
    }
    Ok(value)
}

/// The same text, byte for byte as long, with a text in the place of each such number.
pub(super) fn masked(text: &str) -> Cow<'_, str> {
    replaced(text, |word| format!("\"{}\"", &word[1..word.len() - 1]))
}

fn replaced(text: &str, by: impl Fn(&str) -> String) -> Cow<'_, str> {
    if !text.contains("NaN") && !text.contains("Infinity") {
        return Cow::Borrowed(text);
    }
    let mut whole = String::with_capacity(text.len() + text.len() / 8);
    let (mut at, mut copied, mut in_text) = (0, 0, false);
    while let Some(byte) = text.as_bytes().get(at) {
        let rest = &text.as_bytes()[at..];
        let word = WORDS.iter().find(|word| !in_text && rest.starts_with(word.as_bytes()));
        match (byte, word) {
            (_, Some(word)) => {
                whole.push_str(&text[copied..at]);
                whole.push_str(&by(word));
                copied = at + word.len();
                at = copied;
                continue;
            }
            // What is escaped ends no text.
            (b'\\', _) => at += 1,
            (b'"', _) => in_text = !in_text,
            _ => {}
        }
        at += 1;
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    whole.push_str(&text[copied..]);
    Cow::Owned(whole)
}

fn take_out(value: &mut Value, path: &str, notes: &mut Vec<Note>) {
    match value {
        Value::String(text) => {
            if let Some(word) = text.strip_prefix(MARK).filter(|word| WORDS.contains(word)) {
                let why = format!("`{word}` is no number in JSON; it is read as null");
                notes.push(Note::dropped(path, why));
                *value = Value::Null;
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                take_out(item, &format!("{path}[{index}]"), notes);
            }
        }
        Value::Object(fields) => {
            for (key, field) in fields {
                take_out(field, &below(path, key), notes);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn words_in_the_place_of_numbers_become_null_and_are_named() {
        let mut notes = Vec::new();
        let text =
            r#"{"a": [NaN, 1, -Infinity], "b c": {"d":Infinity}, "NaN": "NaN \" Infinity", "é": "\\"}"#;
        let value = parse(text, "$", &mut notes).unwrap();
        let expected = json!({
            "a": [null, 1, null], "b c": {"d": null}, "NaN": "NaN \" Infinity", "é": "\\",
        });
        assert_eq!(value, expected);
        let told: Vec<String> = notes.iter().map(ToString::to_string).collect();
        assert_eq!(
            told,
            [
                "$.a[0]: `NaN` is no number in JSON; it is read as null",
                "$.a[2]: `-Infinity` is no number in JSON; it is read as null",
                "$[\"b c\"].d: `Infinity` is no number in JSON; it is read as null",
            ]
        );
        assert_eq!(masked(text).len(), text.len());
    }

    #[test]
    fn errors_are_where_they_are() {
        for (text, column) in [("[NaN, ]", 7), ("[1NaN]", 3), ("[-NaN]", 3), ("[NaNs]", 5), ("[nan]", 3)] {
            let error = parse(text, "$", &mut Vec::new()).unwrap_err();
            assert!(
                matches!(error, ImportError::NotJson { line: 1, column: at, .. } if at == column),
                "{error}"
            );
        }
    }
}
