//! Values as YAML that people like to read: long texts in blocks, everything else as short as it can be.

use rehearsal_core::json;
use serde_json::{Map, Value};

/// What may stand in one line, in characters.
const LINE: usize = 110;

/// A map as a YAML document.
pub(crate) fn document(map: &Map<String, Value>) -> String {
    let mut out = String::new();
    write_map(map, 0, &mut out);
    out
}

fn write_map(map: &Map<String, Value>, indent: usize, out: &mut String) {
    for (index, (name, value)) in map.iter().enumerate() {
        if index > 0 {
            out.push_str(&" ".repeat(indent));
        }
        out.push_str(&key(name));
        out.push(':');
        write_value(value, indent, out);
    }
}

fn write_list(list: &[Value], indent: usize, out: &mut String) {
    for value in list {
        out.push_str(&" ".repeat(indent));
        out.push('-');
        match value {
            Value::Object(map) if flow(value).is_none() => {
                out.push(' ');
                write_map(map, indent + 2, out);
            }
            value => write_value(value, indent, out),
        }
    }
}

/// Writes what stands after `key:` or `-`, with the end of its line.
fn write_value(value: &Value, indent: usize, out: &mut String) {
    if let Some(line) = flow(value) {
        out.push(' ');
        out.push_str(&line);
        out.push('\n');
        return;
    }
    match value {
        Value::Object(map) => {
            out.push('\n');
            out.push_str(&" ".repeat(indent + 2));
            write_map(map, indent + 2, out);
        }
        Value::Array(list) => {
            out.push('\n');
            write_list(list, indent + 2, out);
        }
        text => write_block(text.as_str().unwrap_or_default(), indent + 2, out),
    }
}

/// A value in one line, where it is short enough for it.
fn flow(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => match json::as_text(value) {
            Some(_) if is_block(text) => return None,
            Some(text) => return Some(scalar(text)),
            None => json::text(value),
        },
        Value::Array(list) if list.iter().all(|item| !is_deep(item)) => json::text(value),
        Value::Object(map) if map.values().all(|item| !is_deep(item)) => json::text(value),
        Value::Array(list) if !list.is_empty() => return None,
        Value::Object(map) if !map.is_empty() => return None,
        scalar => json::text(scalar),
    };
    // JSON without spaces is YAML, but not YAML that people write.
    let spaced = spaced(&text);
    (spaced.chars().count() <= LINE || !(value.is_array() || value.is_object())).then_some(spaced)
}

/// Whether a value has lists or maps inside of lists or maps, or a text of several lines anywhere.
fn is_deep(value: &Value) -> bool {
    let is_nested = |item: &Value| item.is_array() || item.is_object() || is_deep(item);
    match value {
        Value::Array(list) => list.iter().any(is_nested),
        Value::Object(map) => map.values().any(is_nested),
        Value::String(text) => is_block(text),
        _ => false,
    }
}

/// JSON with a space after each comma and colon that is not in a text.
fn spaced(text: &str) -> String {
    let (mut out, mut in_text, mut escaped) = (String::new(), false, false);
    for letter in text.chars() {
        out.push(letter);
        if escaped {
            escaped = false;
        } else if in_text && letter == '\\' {
            escaped = true;
        } else if letter == '"' {
            in_text = !in_text;
        } else if !in_text && (letter == ',' || letter == ':') {
            out.push(' ');
        }
    }
    out
}

/// Whether a text is written over several lines.
fn is_block(text: &str) -> bool {
    let fits = !text.contains(['\t', '\r', '\u{feff}']) && text.chars().all(|c| c == '\n' || !c.is_control());
    text.trim_end().contains('\n') && fits && !text.ends_with("\n\n") && !text.starts_with([' ', '\n'])
}

fn write_block(text: &str, indent: usize, out: &mut String) {
    let is_open = text.ends_with('\n');
    out.push_str(if is_open { " |\n" } else { " |-\n" });
    for line in text.strip_suffix('\n').unwrap_or(text).split('\n') {
        if !line.is_empty() {
            out.push_str(&" ".repeat(indent));
            out.push_str(line);
        }
        out.push('\n');
    }
}

fn key(name: &str) -> String {
    scalar(name)
}

/// A text in one line, without quotes where nothing else could be meant.
fn scalar(text: &str) -> String {
    let mut letters = text.chars();
    let begins = letters.next().is_some_and(|letter| letter.is_ascii_alphabetic());
    let goes_on = letters.all(|letter| letter.is_ascii_alphanumeric() || " _.-/()'".contains(letter));
    let is_word = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"]
        .iter()
        .any(|word| text.eq_ignore_ascii_case(word));
    if begins && goes_on && !is_word && !text.ends_with(' ') {
        text.to_owned()
    } else {
        json::text(&text.into())
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::json;

    use super::*;

    #[test]
    fn texts_are_blocks_and_small_things_one_line() {
        let value = json!({
            "name": "tau2 airline 2",
            "yes": "no",
            "policy": "# Rules\n\n- be kind: always\n",
            "world": {"command": ["python3", "world.py", "2"]},
            "run": [{"conversation": {"max_turns": 100, "user": {"text": "a\nb"}}, "list": [{"type": "x"}]}, {"input": "Hi, \"you\""}],
            "empty": [], "big": "1: 2",
        });
        expect![[r#"
            name: tau2 airline 2
            "yes": "no"
            policy: |
              # Rules

              - be kind: always
            world: {"command": ["python3", "world.py", "2"]}
            run:
              - conversation:
                  max_turns: 100
                  user:
                    text: |-
                      a
                      b
                list: [{"type": "x"}]
              - {"input": "Hi, \"you\""}
            empty: []
            big: "1: 2"
        "#]]
        .assert_eq(&document(value.as_object().unwrap()));
    }
}
