//! Substitution: `${row.NAME}` and `${matrix.NAME}` in the scalars of a file become values.
//!
//! A scalar that is nothing but one placeholder becomes the value itself, with its type; inside of other text a value is
//! put in as text. `$${row.NAME}` stands for the characters themselves.

use std::ops::Range;

use indexmap::IndexMap;
use serde_json::{Map, Value};

use crate::Problem;
use crate::read::nearest;
use crate::yaml::{Entry, Node, NodeValue};

/// What placeholders stand for in one case.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Values<'v> {
    /// The row, where the file has rows.
    pub(crate) row: Option<&'v Map<String, Value>>,
    /// The values of the matrix by their axes, where it has one.
    pub(crate) variant: Option<&'v IndexMap<String, (String, Value)>>,
}

/// A placeholder in a text.
#[derive(Clone, Debug, PartialEq)]
struct Placeholder<'t> {
    /// Where it stands, with its `${` and `}`.
    at: Range<usize>,
    root: Root,
    /// What stands behind `row.` or `matrix.`; nothing for all of it.
    path: &'t str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Root {
    Row,
    Matrix,
}

impl Root {
    fn word(self) -> &'static str {
        match self {
            Self::Row => "row",
            Self::Matrix => "matrix",
        }
    }
}

/// A piece of a text.
#[derive(Clone, Debug, PartialEq)]
enum Piece<'t> {
    Text(&'t str),
    Placeholder(Placeholder<'t>),
}

/// The pieces of a text: placeholders, and what stands between them. An escaped placeholder is text without one `$`.
fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let (mut from, mut look) = (0, 0);
    while let Some(found) = text[look..].find("${").map(|at| look + at) {
        look = found + 2;
        let Some(end) = text[look..].find('}').map(|at| look + at) else { break };
        let within = &text[look..end];
        let root = [Root::Row, Root::Matrix].into_iter().find_map(|root| {
            let rest = within.strip_prefix(root.word())?;
            if rest.is_empty() { Some((root, rest)) } else { Some((root, rest.strip_prefix('.')?)) }
        });
        let Some((root, path)) = root else { continue };
        if found > from && text[..found].ends_with('$') {
            pieces.push(Piece::Text(&text[from..found - 1]));
            from = found;
            continue;
        }
        pieces.push(Piece::Text(&text[from..found]));
        pieces.push(Piece::Placeholder(Placeholder { at: found..end + 1, root, path }));
        (from, look) = (end + 1, end + 1);
    }
    pieces.push(Piece::Text(&text[from..]));
    pieces.retain(|piece| *piece != Piece::Text(""));
    pieces
}

/// The columns of rows that a file names, each with the place of the first mention.
pub(crate) fn columns_named(node: &Node, found: &mut IndexMap<String, Range<usize>>) {
    each_text(node, &mut |text, span| {
        for piece in pieces(text) {
            if let Piece::Placeholder(Placeholder { root: Root::Row, path, .. }) = piece {
                found.entry(path.to_owned()).or_insert_with(|| span.clone());
            }
        }
    });
}

fn each_text(node: &Node, tell: &mut dyn FnMut(&str, &Range<usize>)) {
    match &node.value {
        NodeValue::Text(text) => tell(text, &node.span),
        NodeValue::List(items) => items.iter().for_each(|item| each_text(item, tell)),
        NodeValue::Map(entries) => {
            for entry in entries {
                tell(&entry.key, &entry.key_span);
                each_text(&entry.value, tell);
            }
        }
        _ => {}
    }
}

/// The tree with its placeholders filled in.
pub(crate) struct Filling<'f> {
    pub(crate) values: Values<'f>,
    /// The text in which the nodes stand, to mark a placeholder in it.
    pub(crate) source: &'f str,
    pub(crate) problems: Vec<Problem>,
}

impl Filling<'_> {
    pub(crate) fn node(&mut self, node: &Node) -> Node {
        let value = match &node.value {
            NodeValue::Text(text) if text.contains("${") => return self.text(node, text),
            NodeValue::List(items) => NodeValue::List(items.iter().map(|item| self.node(item)).collect()),
            NodeValue::Map(entries) => {
                let mut filled: Vec<Entry> = Vec::with_capacity(entries.len());
                for entry in entries {
                    let key = self.key(entry);
                    if key != entry.key && filled.iter().any(|other| other.key == key) {
                        let message = format!("key `{key}` stands twice in one map");
                        self.problems.push(Problem::error("duplicate", entry.key_span.clone(), message));
                        continue;
                    }
                    let value = self.node(&entry.value);
                    filled.push(Entry { key, key_span: entry.key_span.clone(), value });
                }
                NodeValue::Map(filled)
            }
            other => other.clone(),
        };
        Node { span: node.span.clone(), value }
    }

    fn key(&mut self, entry: &Entry) -> String {
        if !entry.key.contains("${") {
            return entry.key.clone();
        }
        let pieces = pieces(&entry.key);
        self.joined(&pieces, &entry.key, &entry.key_span)
    }

    fn text(&mut self, node: &Node, text: &str) -> Node {
        let pieces = pieces(text);
        if let [Piece::Placeholder(one)] = &pieces[..] {
            return match self.value(one, text, &node.span) {
                Some(value) => from_json(&value, &node.span),
                None => node.clone(),
            };
        }
        let value = NodeValue::Text(self.joined(&pieces, text, &node.span));
        Node { span: node.span.clone(), value }
    }

    fn joined(&mut self, pieces: &[Piece<'_>], text: &str, span: &Range<usize>) -> String {
        let mut joined = String::with_capacity(text.len());
        for piece in pieces {
            match piece {
                Piece::Text(text) => joined.push_str(text),
                Piece::Placeholder(one) => match self.value(one, text, span) {
                    Some(value) => joined.push_str(&as_text(&value)),
                    None => joined.push_str(&text[one.at.clone()]),
                },
            }
        }
        joined
    }

    /// What a placeholder stands for; nothing where it stays as it is.
    fn value(&mut self, one: &Placeholder<'_>, text: &str, span: &Range<usize>) -> Option<Value> {
        let written = &text[one.at.clone()];
        match one.root {
            Root::Row => {
                let row = self.values.row?;
                let found = if one.path.is_empty() {
                    Some(Value::Object(row.clone()))
                } else {
                    within(row, one.path)
                };
                if found.is_none() {
                    let column = one.path.split('.').next().unwrap_or_default();
                    let (what, name) =
                        if row.contains_key(column) { ("value", one.path) } else { ("column", column) };
                    let message = format!("`{written}`: there is no {what} `{name}`");
                    let known = row.keys().map(String::as_str);
                    self.unknown(message, written, span, column, &known.collect::<Vec<_>>());
                }
                found
            }
            Root::Matrix => {
                let variant = self.values.variant?;
                let (axis, rest) = one.path.split_once('.').unwrap_or((one.path, ""));
                let found = variant.get(axis).and_then(|(_, value)| {
                    if rest.is_empty() { Some(value.clone()) } else { below(value, rest).cloned() }
                });
                if found.is_none() {
                    let message = if variant.contains_key(axis) {
                        format!("`{written}`: there is no value `{}`", one.path)
                    } else {
                        format!("`{written}`: the matrix has no axis `{axis}`")
                    };
                    self.unknown(
                        message,
                        written,
                        span,
                        axis,
                        &variant.keys().map(String::as_str).collect::<Vec<_>>(),
                    );
                }
                found
            }
        }
    }

    fn unknown(&mut self, message: String, written: &str, span: &Range<usize>, word: &str, known: &[&str]) {
        let place = match self.source.get(span.clone()).and_then(|source| source.find(written)) {
            Some(at) => span.start + at..span.start + at + written.len(),
            None => span.clone(),
        };
        let problem = Problem::error("unknown-column", place, message);
        self.problems.push(match nearest(word, known.iter().copied().filter(|known| *known != word)) {
            Some(near) => problem.help(format!("did you mean `{near}`?")),
            None if known.is_empty() => problem,
            None => problem.help(format!("there are: {}", listed(known))),
        });
    }
}

/// How many names are said where there are many.
const MAX_NAMED: usize = 20;

pub(crate) fn listed(names: &[&str]) -> String {
    let shown: Vec<String> = names.iter().take(MAX_NAMED).map(|name| format!("`{name}`")).collect();
    let more = names.len().saturating_sub(MAX_NAMED);
    if more > 0 { format!("{} and {more} more", shown.join(", ")) } else { shown.join(", ") }
}

/// The value at a path of a map: a name as it stands, which may have dots, or one name after the other.
fn within(map: &Map<String, Value>, path: &str) -> Option<Value> {
    if let Some(value) = map.get(path) {
        return Some(value.clone());
    }
    path.rmatch_indices('.').find_map(|(at, _)| below(map.get(&path[..at])?, &path[at + 1..]).cloned())
}

fn below<'v>(value: &'v Value, path: &str) -> Option<&'v Value> {
    path.split('.').try_fold(value, |value, step| match value {
        Value::Object(map) => map.get(step),
        Value::Array(items) => items.get(step.parse::<usize>().ok()?),
        _ => None,
    })
}

/// A value inside of other text.
pub(crate) fn as_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => rehearsal_core::json::text(other),
    }
}

/// A value as a node that stands at a place.
pub(crate) fn from_json(value: &Value, span: &Range<usize>) -> Node {
    let value = match value {
        Value::Null => NodeValue::Null,
        Value::Bool(value) => NodeValue::Bool(*value),
        Value::Number(_) => NodeValue::Number(value.clone()),
        Value::String(text) => NodeValue::Text(text.clone()),
        Value::Array(items) => NodeValue::List(items.iter().map(|item| from_json(item, span)).collect()),
        Value::Object(fields) => NodeValue::Map(
            fields
                .iter()
                .map(|(key, value)| Entry {
                    key: key.clone(),
                    key_span: span.clone(),
                    value: from_json(value, span),
                })
                .collect(),
        ),
    };
    Node { span: span.clone(), value }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn filled(text: &str, row: &Value) -> (Value, Vec<String>) {
        let row = row.as_object().unwrap();
        let values = Values { row: Some(row), variant: None };
        let mut filling = Filling { values, source: text, problems: Vec::new() };
        let node = Node { span: 0..text.len(), value: NodeValue::Text(text.to_owned()) };
        let made = filling.node(&node).to_json();
        (made, filling.problems.into_iter().map(|problem| problem.message).collect())
    }

    #[test]
    fn a_value_keeps_its_type_unless_it_stands_in_a_text() {
        let row = json!({"n": 7, "t": "x", "a": {"b": [1, {"c": true}]}, "x.y": 1, "nil": null});
        for (text, expected) in [
            ("${row.n}", json!(7)),
            ("n is ${row.n}", json!("n is 7")),
            ("${row.a.b}", json!([1, {"c": true}])),
            ("${row.a.b.1.c}", json!(true)),
            ("${row.a.b} ${row.t}", json!("[1,{\"c\":true}] x")),
            ("${row.x.y}", json!(1)),
            ("${row.nil}", json!(null)),
            ("<${row.nil}>", json!("<>")),
            ("$${row.n}", json!("${row.n}")),
            ("a $${row.n} ${row.n}", json!("a ${row.n} 7")),
            ("${HOME} ${rows.n} ${row.n", json!("${HOME} ${rows.n} ${row.n")),
            ("${row}", row.clone()),
        ] {
            assert_eq!(filled(text, &row), (expected, Vec::new()), "{text}");
        }
    }

    #[test]
    fn what_is_not_there_is_told() {
        let row = json!({"amount": 7, "deep": {"a": 1}});
        assert_eq!(filled("${row.amout}", &row).1, ["`${row.amout}`: there is no column `amout`"]);
        assert_eq!(filled("${row.deep.b}", &row).1, ["`${row.deep.b}`: there is no value `deep.b`"]);
    }

    proptest! {
        #[test]
        fn it_never_panics_and_leaves_what_is_no_placeholder(text in ".{0,60}", key in "[a-z]{1,5}") {
            let row = json!({key: text.clone()});
            let (made, problems) = filled(&text, &row);
            if !text.contains("${row") && !text.contains("${matrix") {
                prop_assert_eq!(made, json!(text));
                prop_assert!(problems.is_empty());
            }
        }

        #[test]
        fn a_value_comes_out_as_it_went_in(value in prop_oneof![
            any::<i64>().prop_map(|n| json!(n)), any::<bool>().prop_map(|b| json!(b)), ".{0,30}".prop_map(|t| json!(t)),
            prop::collection::vec(any::<u8>(), 0..4).prop_map(|l| json!(l)), Just(json!(null)), Just(json!({"a": {"b": 1}})),
        ], name in "[a-zA-Z][a-zA-Z0-9 _.-]{0,10}") {
            let row = json!({name.clone(): value.clone()});
            prop_assert_eq!(filled(&format!("${{row.{name}}}"), &row), (value, Vec::new()));
        }

        #[test]
        fn braces_in_any_order_are_read(text in "[$ {}.a-z]{0,40}") {
            let row = json!({"a": 1});
            drop(filled(&text, &row));
        }
    }
}
