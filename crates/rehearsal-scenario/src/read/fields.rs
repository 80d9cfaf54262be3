//! The fields of a map, read by the tables of its keys.

use std::ops::{Range, RangeInclusive};

use rehearsal_core::keys::{Form, Key, Need, Table};
use serde_json::{Map, Value};

use super::{Dialect, Reader, choose, list, nearest};
use crate::yaml::{Entry, Node, NodeValue};
use crate::{Problem, Severity};

impl Reader<'_> {
    /// The fields of a map by its table; reports a value that is not one.
    pub(crate) fn fields<'n>(
        &mut self,
        node: &'n Node,
        what: impl Into<String>,
        table: &'static Table,
    ) -> Option<Fields<'n>> {
        self.fields_by(node, what, vec![table.keys])
    }

    /// The fields of a map that is of one of several kinds.
    pub(crate) fn fields_of_one<'n>(
        &mut self,
        node: &'n Node,
        what: impl Into<String>,
        tables: &[&'static Table],
    ) -> Option<Fields<'n>> {
        self.fields_by(node, what, tables.iter().map(|table| table.keys).collect())
    }

    /// The fields of a map with the keys of these lists.
    pub(crate) fn fields_by<'n>(
        &mut self,
        node: &'n Node,
        what: impl Into<String>,
        keys: Vec<&'static [Key]>,
    ) -> Option<Fields<'n>> {
        let what = what.into();
        match &node.value {
            NodeValue::Map(entries) => {
                let read = vec![false; entries.len()];
                let settled = read.clone();
                let dropped =
                    entries.iter().map(|entry| is_left_out(self.dialect, &what, &entry.key)).collect();
                let asked = Vec::new();
                Some(Fields { what, span: node.span.clone(), keys, entries, read, settled, dropped, asked })
            }
            _ => {
                self.wrong_type(node, &what, "a map");
                None
            }
        }
    }
}

/// The keys that the `ElizaOS` runner drops unread, by the map they stand in: they are ours alone.
const OURS: &[(&str, &[&str])] = &[
    (
        "the scenario",
        &[
            "tags", "use", "cases", "matrix", "agent", "models", "prices", "budget", "users", "bridge",
            "world",
        ],
    ),
    ("`environment`", &["variables"]),
    ("`setup`", &["passthrough", "seed", "state"]),
    ("step ", &["description", "context", "timeout_ms"]),
    ("`conversation`", &["user", "opening"]),
    ("`user_simulator`", &["instructions", "stop", "may_hang_up", "tools"]),
    ("a termination condition", &["expression", "matches"]),
    ("a mock", &["description", "person", "state"]),
    ("an evaluation", &["description"]),
];

/// Whether a key is not read at all: one of ours that the other runner drops, and that says more than a remark.
fn is_left_out(dialect: Dialect, what: &str, key: &str) -> bool {
    dialect == Dialect::ElizaOs
        && key != "description"
        && OURS.iter().any(|(place, keys)| what.starts_with(place) && keys.contains(&key))
}

/// How many unknown keys of a map get a suggestion: finding one takes a while, and nobody reads thousands.
const MAX_HELPED: usize = 200;

/// The fields of a map while they are read: by the tables of its keys, and by no other key.
#[derive(Debug)]
pub(crate) struct Fields<'n> {
    what: String,
    span: Range<usize>,
    /// Its keys; of several kinds of a map those of each.
    keys: Vec<&'static [Key]>,
    entries: &'n [Entry],
    read: Vec<bool>,
    /// Which entries may be without a value, or were already said to be.
    settled: Vec<bool>,
    /// Which entries are left out, because the runner whose files are read drops them.
    dropped: Vec<bool>,
    /// The keys that were asked for, in that order.
    asked: Vec<&'static str>,
}

impl<'n> Fields<'n> {
    /// Where the map stands.
    pub(crate) fn span(&self) -> Range<usize> {
        self.span.clone()
    }

    /// The same map with more keys.
    pub(crate) fn with(&mut self, keys: &'static [Key]) {
        self.keys.push(keys);
    }

    /// A key of the tables. What a reader asks for and no table has is a mistake of the reader, which any file shows.
    fn key(&self, name: &str) -> &'static Key {
        let found = self.keys.iter().copied().flatten().find(|key| key.name == name);
        found.unwrap_or_else(|| panic!("the table of {} has no key `{name}`", self.what))
    }

    /// One field, if it is there. A field without a value counts as missing here, and [`Fields::finish`] reports it.
    pub(crate) fn get(&mut self, key: &'static str) -> Option<&'n Node> {
        self.ask(key);
        let at = self.at(key)?;
        self.read[at] = true;
        let node = &self.entries[at].value;
        (node.value != NodeValue::Null).then_some(node)
    }

    /// One field for which nothing is a value too.
    pub(crate) fn get_or_null(&mut self, key: &'static str) -> Option<&'n Node> {
        self.ask(key);
        let at = self.settle(key)?;
        self.read[at] = true;
        Some(&self.entries[at].value)
    }

    /// One field, of which it is reported where it must be there and is not.
    pub(crate) fn wanted(&mut self, reader: &mut Reader<'_>, key: &'static str) -> Option<&'n Node> {
        match self.key(key).need {
            Need::Required(_) => self.require(reader, key),
            Need::Optional | Need::Unless(_) | Need::Default(_) => self.get(key),
        }
    }

    fn ask(&mut self, key: &'static str) {
        let name = self.key(key).name;
        if !self.asked.contains(&name) {
            self.asked.push(name);
        }
    }

    /// Where a key is among the entries, unless it is left out.
    fn at(&self, key: &str) -> Option<usize> {
        let at = self.entries.iter().position(|entry| entry.key == key)?;
        (!self.dropped[at]).then_some(at)
    }

    fn settle(&mut self, key: &str) -> Option<usize> {
        let at = self.at(key)?;
        self.settled[at] = true;
        Some(at)
    }

    /// Whether a key is there, with or without a value.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.at(key).is_some()
    }

    /// Where a key stands.
    pub(crate) fn key_span(&self, key: &str) -> Option<Range<usize>> {
        self.at(key).map(|at| self.entries[at].key_span.clone())
    }

    /// One field that must be there.
    pub(crate) fn require(&mut self, reader: &mut Reader<'_>, key: &'static str) -> Option<&'n Node> {
        let node = self.get(key);
        if node.is_none() {
            self.settle(key);
            let place = self.key_span(key).unwrap_or(self.span.start..self.span.start);
            let problem = Problem::error("missing-key", place, format!("{} needs `{key}`", self.what));
            let needs = self.keys.iter().copied().flatten().filter(|known| known.name == key);
            let mut examples = needs.filter_map(|key| match key.need {
                Need::Required(example) | Need::Unless(example) => Some(example),
                Need::Optional | Need::Default(_) => None,
            });
            reader.report(match examples.next() {
                Some(example) => problem.help(format!("add: {example}")),
                None => problem,
            });
        }
        node
    }

    /// Whether the runner whose files are read drops this key unread.
    fn is_dropped(&self, dialect: Dialect, key: &str) -> bool {
        let mut ours = OURS.iter().filter(|(what, _)| self.what.starts_with(what));
        dialect == Dialect::ElizaOs && ours.any(|(_, keys)| keys.contains(&key))
    }

    /// Reads a remark; what is wrong with one that another runner drops unread spoils nothing.
    fn remark<T>(&self, reader: &mut Reader<'_>, key: &str, read: impl FnOnce(&mut Reader<'_>) -> T) -> T {
        let before = reader.problems.len();
        let found = read(reader);
        if self.is_dropped(reader.dialect, key) {
            reader.problems[before..].iter_mut().for_each(|problem| problem.severity = Severity::Warning);
        }
        found
    }

    fn name(&self, key: &str) -> String {
        format!("`{key}` of {}", self.what)
    }

    /// What a key is where it is left out, or cannot be read.
    fn default<T>(&self, key: &str, read: impl FnOnce(&Value) -> Option<T>) -> Option<T> {
        self.key(key).default().as_ref().and_then(read)
    }

    pub(crate) fn text(&mut self, reader: &mut Reader<'_>, key: &'static str) -> Option<String> {
        let node = self.wanted(reader, key);
        let text =
            node.and_then(|node| self.remark(reader, key, |reader| reader.text(node, &self.name(key))));
        text.or_else(|| self.default(key, |value| value.as_str().map(str::to_owned)))
    }

    /// A text, where it is there: also of a key that only other kinds of the map need.
    pub(crate) fn given_text(&mut self, reader: &mut Reader<'_>, key: &'static str) -> Option<String> {
        self.get(key)?;
        self.text(reader, key)
    }

    pub(crate) fn texts(&mut self, reader: &mut Reader<'_>, key: &'static str) -> Vec<String> {
        let Some(node) = self.wanted(reader, key) else { return Vec::new() };
        self.remark(reader, key, |reader| reader.texts(node, &self.name(key)))
    }

    pub(crate) fn list(&mut self, reader: &mut Reader<'_>, key: &'static str) -> &'n [Node] {
        self.wanted(reader, key).map_or(&[], |node| reader.list(node, &self.name(key)))
    }

    pub(crate) fn boolean(&mut self, reader: &mut Reader<'_>, key: &'static str) -> Option<bool> {
        let read = match self.wanted(reader, key) {
            Some(Node { value: NodeValue::Bool(value), .. }) => Some(*value),
            Some(node) => {
                reader.wrong_type(node, &self.name(key), "true or false");
                None
            }
            None => None,
        };
        read.or_else(|| self.default(key, Value::as_bool))
    }

    /// The bounds of a number.
    fn bounds(&self, key: &str) -> RangeInclusive<f64> {
        match self.key(key).form {
            Form::Whole(low, high) | Form::Number(low, high) => low..=high,
            _ => f64::NEG_INFINITY..=f64::INFINITY,
        }
    }

    /// A number, whatever its bounds are.
    pub(crate) fn any_number(&mut self, reader: &mut Reader<'_>, key: &'static str) -> Option<f64> {
        let node = self.wanted(reader, key)?;
        reader.number(node, &self.name(key))
    }

    pub(crate) fn number(&mut self, reader: &mut Reader<'_>, key: &'static str) -> Option<f64> {
        let node = self.wanted(reader, key);
        let read = node.and_then(|node| {
            let value = reader.number(node, &self.name(key))?;
            if !self.bounds(key).contains(&value) {
                reader.out_of_range(node, &self.name(key), &self.bounds(key));
                return None;
            }
            Some(value)
        });
        read.or_else(|| self.default(key, rehearsal_core::json::as_f64))
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is whole and in range")]
    pub(crate) fn integer(&mut self, reader: &mut Reader<'_>, key: &'static str) -> Option<u64> {
        let node = self.wanted(reader, key);
        let read = node.and_then(|node| {
            let name = self.name(key);
            let value = reader.number(node, &name)?;
            if value.fract() != 0.0 {
                reader.wrong_type(node, &name, "a whole number");
                return None;
            }
            if !self.bounds(key).contains(&value) {
                reader.out_of_range(node, &name, &self.bounds(key));
                return None;
            }
            Some(value as u64)
        });
        read.or_else(|| self.default(key, Value::as_u64))
    }

    /// One of the words of a key.
    pub(crate) fn word(&mut self, reader: &mut Reader<'_>, key: &'static str) -> Option<&'static str> {
        let Form::Word(words) = self.key(key).form else { return None };
        let words: Vec<(&str, &'static str)> = words.iter().map(|word| (*word, *word)).collect();
        let read = self.wanted(reader, key).and_then(|node| {
            let text = reader.text(node, &self.name(key))?;
            choose(reader, node, &text, &self.name(key), &words)
        });
        let known = |value: &Value| words.iter().find(|(word, _)| value == word).map(|(_, word)| *word);
        read.or_else(|| self.default(key, known))
    }

    /// Any map, as JSON.
    pub(crate) fn json_map(
        &mut self,
        reader: &mut Reader<'_>,
        key: &'static str,
    ) -> Option<Map<String, Value>> {
        let node = self.wanted(reader, key)?;
        match node.to_json() {
            Value::Object(fields) => Some(fields),
            _ => {
                reader.wrong_type(node, &self.name(key), "a map");
                None
            }
        }
    }

    /// Reports the keys that nobody asked for, and those without a value.
    pub(crate) fn finish(self, reader: &mut Reader<'_>) {
        self.report_empty(reader);
        self.report_left_out(reader);
        // Why something is there may be said anywhere.
        let says_why =
            |entry: &Entry| entry.key == "description" && matches!(entry.value.value, NodeValue::Text(_));
        let taken = self.read.iter().zip(&self.dropped).map(|(read, dropped)| *read || *dropped);
        let known = self.known();
        let unread = self.entries.iter().zip(taken).filter(|(_, taken)| !*taken).map(|(entry, _)| entry);
        for (count, entry) in unread.filter(|entry| !says_why(entry)).enumerate() {
            let message = format!("{} has no key `{}`", self.what, entry.key);
            let problem = Problem::error("unknown-key", entry.key_span.clone(), message);
            if count >= MAX_HELPED {
                reader.report_without_effect(problem);
                continue;
            }
            reader.report_without_effect(match nearest(&entry.key, known.iter().copied()) {
                Some(word) => problem.help(format!("did you mean `{word}`?")),
                None => problem.help(format!("its keys are: {}", list(known.iter().copied()))),
            });
        }
    }

    /// The keys that it may have: those that were asked for, and those of the table whose needed keys are all there.
    fn known(&self) -> Vec<&'static str> {
        let needed = |keys: &[Key]| {
            let needed = keys.iter().filter(|key| matches!(key.need, Need::Required(_)));
            needed.map(|key| self.has(key.name)).try_fold(0, |count, there| there.then_some(count + 1))
        };
        let kinds = self.keys.iter().filter_map(|keys| Some((needed(keys)?, *keys)));
        let kind = match &self.keys[..] {
            [keys] => Some(*keys),
            _ => kinds.max_by_key(|(count, _)| *count).map(|(_, keys)| keys),
        };
        let own = kind.into_iter().flatten().map(|key| key.name);
        let unasked = own.filter(|name| !self.asked.contains(name));
        self.asked.iter().copied().chain(unasked).collect()
    }

    /// Tells which keys of ours another runner drops, and are left out as it would.
    fn report_left_out(&self, reader: &mut Reader<'_>) {
        for (entry, _) in self.entries.iter().zip(&self.dropped).filter(|(_, dropped)| **dropped) {
            let message =
                format!("{} is left out: the runner of these files does not know it", self.name(&entry.key));
            let message = message.replacen(&format!(" of {}", self.what), "", 1);
            let problem = Problem::error("no-effect", entry.key_span.clone(), message);
            let help = match entry.key.as_str() {
                "agent" | "models" | "prices" | "variables" => {
                    "give it in a file of its own: --agent FILE; or run the file as one of ours, without `--compat`"
                }
                _ => "run the file as one of ours, without `--compat`, to have it acted on",
            };
            reader.report_without_effect(problem.help(help));
        }
    }

    fn report_empty(&self, reader: &mut Reader<'_>) {
        for ((entry, read), settled) in self.entries.iter().zip(&self.read).zip(&self.settled) {
            if !*read || *settled || entry.value.value != NodeValue::Null {
                continue;
            }
            let (name, place) = (self.name(&entry.key), entry.key_span.clone());
            let dropped = self.is_dropped(reader.dialect, &entry.key);
            let mut problem = match reader.dialect {
                Dialect::ElizaOs if !dropped => {
                    Problem::error("wrong-type", place, format!("{name} must have a value"))
                }
                _ => Problem::error("empty", place, format!("{name} is empty")),
            };
            if dropped {
                problem.severity = Severity::Warning;
            }
            reader.report(problem.help("give it a value or remove it"));
        }
    }
}
