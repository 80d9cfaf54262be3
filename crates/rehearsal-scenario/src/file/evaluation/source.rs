//! The values of a map in a file, read by a table of keys, with every problem at its place.

use std::ops::Range;

use rehearsal_core::keys::{At, Complaint, Form, Key, Source, whole};
use serde_json::{Map, Value};

use crate::Problem;
use crate::file::schemas;
use crate::read::{Dialect, Fields, Reader, choose};
use crate::yaml::{Node, NodeValue};

/// A map in a file.
pub(super) struct FileSource<'s, 'r, 'n> {
    reader: &'s mut Reader<'r>,
    fields: &'s mut Fields<'n>,
}

impl<'s, 'r, 'n> FileSource<'s, 'r, 'n> {
    pub(super) fn new(reader: &'s mut Reader<'r>, fields: &'s mut Fields<'n>) -> Self {
        Self { reader, fields }
    }

    /// What stands at a key, if something does; reports that it must where it must.
    fn node(&mut self, key: &Key) -> Option<&'n Node> {
        self.fields.wanted(self.reader, key.name)
    }

    fn texts(&mut self, key: &Key) -> Option<Vec<String>> {
        let node = self.node(key)?;
        Some(self.reader.texts(node, &format!("`{}`", key.name)))
    }

    fn words(&mut self, key: &Key, noun: &str, words: &[&str]) -> Option<Vec<String>> {
        let node = self.node(key)?;
        self.report_empty_list(key, node);
        let words: Vec<(&str, &str)> = words.iter().map(|word| (*word, *word)).collect();
        let mut found = Vec::new();
        for item in self.reader.list(node, &format!("`{}`", key.name)) {
            let Some(text) = self.reader.text(item, noun) else { continue };
            found.extend(choose(self.reader, item, &text, noun, &words).map(str::to_owned));
        }
        Some(found)
    }

    fn pair(&mut self, key: &Key) -> Option<Value> {
        let node = self.node(key)?;
        let value = node.to_json();
        let pair = value.as_array().and_then(|items| match items.as_slice() {
            [low, high] => Some([whole(low)?, whole(high)?]),
            _ => None,
        });
        let pair = pair.filter(|[low, high]| low.as_u64() < high.as_u64());
        if pair.is_none() {
            let message = format!("`{}` must be two whole numbers, the smaller one first", key.name);
            self.reader
                .report(Problem::error("wrong-type", node.span.clone(), message).help("write: [3, 6]"));
        }
        pair.map(|pair| pair.into_iter().collect())
    }

    fn keys(&mut self, key: &Key, keys: &'static [Key]) -> Option<Map<String, Value>> {
        let node = self.node(key)?;
        self.map(node, &format!("`{}`", key.name), keys)
    }

    fn items(&mut self, key: &Key, keys: &'static [Key]) -> Option<Vec<Value>> {
        let node = self.node(key)?;
        let what = format!("an item of `{}`", key.name);
        let NodeValue::List(items) = &node.value else {
            self.reader.list(node, &format!("`{}`", key.name));
            return None;
        };
        // An item that cannot be read stays in its place, so that what is said of others names theirs.
        let read = |item| Value::Object(self.map(item, &what, keys).unwrap_or_default());
        Some(items.iter().map(read).collect())
    }

    fn map(&mut self, node: &Node, what: &str, keys: &'static [Key]) -> Option<Map<String, Value>> {
        let mut fields = self.reader.fields_by(node, what, vec![keys])?;
        let mut found = Map::new();
        for key in keys {
            let value = FileSource::new(self.reader, &mut fields).value(key);
            found.extend(value.map(|value| (key.name.to_owned(), value)));
        }
        fields.finish(self.reader);
        Some(found)
    }

    /// Reports a text that would say nothing.
    fn report_empty_text(&mut self, key: &Key, text: &str, always: &str) {
        if text.is_empty()
            && let Some(node) = self.fields.get(key.name)
        {
            let problem = Problem::error("always-true", node.span.clone(), always);
            self.reader.report_without_effect(problem.help("name the text to look for"));
        }
    }

    /// Reports a list that asks for nothing.
    fn report_empty_list(&mut self, key: &Key, node: &Node) {
        if let Node { span, value: NodeValue::List(items) } = node
            && items.is_empty()
        {
            let message = format!("an empty `{}` asks for nothing", key.name);
            let problem = Problem::error("always-true", span.clone(), message);
            self.reader.report_without_effect(problem.help("name at least one"));
        }
    }
}

/// Where the value of a key stands in an item of a list; the item where the key is not there.
fn item_span(list: &Node, number: usize, name: &str) -> Option<Range<usize>> {
    let NodeValue::List(items) = &list.value else { return None };
    let item = items.get(number)?;
    let NodeValue::Map(entries) = &item.value else { return Some(item.span.clone()) };
    let entry = entries.iter().find(|entry| entry.key == name);
    Some(entry.map_or(&item.span, |entry| &entry.value.span).clone())
}

impl Source for FileSource<'_, '_, '_> {
    fn value(&mut self, key: &Key) -> Option<Value> {
        match key.form {
            Form::Text | Form::Length(..) | Form::Like(_) => {
                self.fields.text(self.reader, key.name).map(Value::from)
            }
            Form::TellingText(always) => {
                let text = self.fields.text(self.reader, key.name)?;
                self.report_empty_text(key, &text, always);
                Some(text.into())
            }
            Form::Texts => self.texts(key).map(Value::from),
            Form::SomeTexts => {
                let node = self.node(key)?;
                self.report_empty_list(key, node);
                self.texts(key).map(Value::from)
            }
            Form::SomeWords(noun, words) => self.words(key, noun, words).map(Value::from),
            Form::Word(_) => self.fields.word(self.reader, key.name).map(Value::from),
            Form::Flag | Form::True => self.fields.boolean(self.reader, key.name).map(Value::from),
            Form::Whole(..) => self.fields.integer(self.reader, key.name).map(Value::from),
            Form::Number(..) => self.fields.number(self.reader, key.name).map(Value::from),
            Form::Pair => self.pair(key),
            Form::Map | Form::SomeMap => self.fields.json_map(self.reader, key.name).map(Value::Object),
            Form::Schema => {
                let node = self.node(key)?;
                // What other runners drop unread is told as a whole, by whoever reads it.
                if !self.is_lenient() && schemas::report(self.reader, node, "invalid-schema") {
                    return None;
                }
                self.fields.json_map(self.reader, key.name).map(Value::Object)
            }
            Form::Any => {
                if !self.fields.has(key.name) {
                    self.node(key)?;
                }
                self.fields.get_or_null(key.name).map(Node::to_json)
            }
            // Evaluators have none of these; whoever reads maps that have does it by their tables.
            Form::List(_)
            | Form::SomeOf(_)
            | Form::Names(..)
            | Form::Table(_)
            | Form::OneOf(_)
            | Form::About(..)
            | Form::Part(_)
            | Form::Own(_) => self.node(key).map(Node::to_json),
            Form::Keys(keys) => self.keys(key, keys).map(Value::Object),
            Form::Items(keys) => self.items(key, keys).map(Value::Array),
        }
    }

    fn has(&self, name: &str) -> bool {
        self.fields.has(name)
    }

    fn complain(&mut self, complaint: Complaint) {
        let span = match complaint.at {
            At::Whole => None,
            At::Name(name) => self.fields.key_span(name),
            At::Value(name) => self.fields.get(name).map(|node| node.span.clone()),
            At::Item(list, number, name) => {
                self.fields.get(list).and_then(|node| item_span(node, number, name))
            }
        };
        let span = span.unwrap_or_else(|| self.fields.span());
        let mut problem = Problem::error(complaint.code, span, complaint.message);
        if let Some(label) = complaint.label {
            problem = problem.label(label);
        }
        if let Some(help) = complaint.help {
            problem = problem.help(help);
        }
        if complaint.spoils {
            self.reader.report(problem);
        } else {
            self.reader.report_without_effect(problem);
        }
    }

    fn is_lenient(&self) -> bool {
        self.reader.dialect == Dialect::ElizaOs
    }
}
