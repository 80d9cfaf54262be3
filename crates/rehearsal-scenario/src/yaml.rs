//! YAML as a tree in which every value knows where it stands.
//!
//! Scenario files are read in two steps: text becomes a [`Node`], and the node becomes a scenario. Types that are
//! read straight from YAML lose their place in tagged variants and stop at the first error; a tree keeps every
//! place, so all problems of a file can be shown at once.
//!
//! The dialect is the one authors know from JavaScript's YAML libraries: `yes`, `no`, `on` and `off` are text,
//! `0.8+` and `1_000` are text, `012` is twelve; anchors, aliases and merge keys work; a key that stands twice
//! and a second document are errors.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use serde_saphyr::{Location, Spanned};

use crate::Problem;

mod scalar;
mod words;

/// The largest file that is read.
pub const MAX_BYTES: usize = 4 * 1024 * 1024;

/// How deep lists and maps may be nested.
const MAX_DEPTH: usize = 64;

/// How deep they may be nested to be read without a stack of their own.
const SHALLOW: usize = 14;

/// How many values a file may hold, those that aliases stand for included.
const MAX_VALUES: usize = 250_000;

/// How much the parser may meet in a file: values, their ends, and remarks.
const MAX_EVENTS: usize = 1_000_000;

/// How many anchors, aliases and merge keys a file may hold.
const MAX_ALIASES: usize = 50_000;

/// How much text a file may hold, that which aliases stand for included.
const MAX_MEBIBYTES: usize = 64;

/// The stack on which a file is read.
const STACK_BYTES: usize = 16 * 1024 * 1024;

/// The mark that some editors put before a file.
const MARK: char = '\u{feff}';

/// A value and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Where it stands, in bytes.
    pub span: Range<usize>,
    /// The value.
    pub value: NodeValue,
}

/// A value of a YAML file.
#[derive(Clone, Debug, PartialEq)]
pub enum NodeValue {
    /// Nothing.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number, as [`rehearsal_core::json`] holds it.
    Number(Value),
    /// A date without quotes, such as `2026-01-01`.
    Date(String),
    /// Text.
    Text(String),
    /// A list.
    List(Vec<Node>),
    /// A map, in the order of the file.
    Map(Vec<Entry>),
}

impl NodeValue {
    /// What kind of value it is, in words for people.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Null => "nothing",
            Self::Bool(_) => "true or false",
            Self::Number(_) => "a number",
            Self::Date(_) => "a date",
            Self::Text(_) => "text",
            Self::List(_) => "a list",
            Self::Map(_) => "a map",
        }
    }
}

/// A key of a map and its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// Where the key stands.
    pub key_span: Range<usize>,
    /// The value.
    pub value: Node,
}

impl Node {
    /// The value as JSON.
    pub fn to_json(&self) -> Value {
        match &self.value {
            NodeValue::Null => Value::Null,
            NodeValue::Bool(value) => Value::Bool(*value),
            NodeValue::Number(value) => value.clone(),
            NodeValue::Date(text) | NodeValue::Text(text) => Value::String(rehearsal_core::json::plain(text)),
            NodeValue::List(items) => items.iter().map(Self::to_json).collect(),
            NodeValue::Map(entries) => {
                let fields = entries.iter().map(|entry| (entry.key.clone(), entry.value.to_json()));
                Value::Object(fields.collect::<Map<_, _>>())
            }
        }
    }
}

/// Reads a YAML file.
///
/// ```
/// use rehearsal_scenario::yaml::{NodeValue, parse};
///
/// let file = "name: greets\nready: yes\n";
/// let node = parse(file)?;
/// let NodeValue::Map(entries) = &node.value else { panic!() };
/// assert_eq!(&file[entries[1].value.span.clone()], "yes");
/// assert_eq!(entries[1].value.value, NodeValue::Text("yes".into()));
/// # Ok::<(), rehearsal_scenario::Problem>(())
/// ```
///
/// # Errors
/// The file is too large, is not YAML, or holds a key twice.
pub fn parse(text: &str) -> Result<Node, Problem> {
    if text.len() > MAX_BYTES {
        let message = format!("the file has {} bytes, more than the {MAX_BYTES} that are read", text.len());
        return Err(Problem::error("too-large", 0..0, message));
    }
    // Most files are shallow, and starting a thread takes as long as reading one of them. An alias may stand for more
    // levels than its place shows.
    if !text.contains('*') {
        match read(text, SHALLOW) {
            Err(problem) if problem.code == words::TOO_DEEP => {}
            result => return result,
        }
    }
    // The parser calls itself for each level, which is more than the stack of a usual thread holds.
    std::thread::scope(|scope| {
        let reading =
            std::thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, || read(text, MAX_DEPTH));
        match reading.map(std::thread::ScopedJoinHandle::join) {
            Ok(Ok(node)) => node,
            Ok(Err(panic)) => std::panic::resume_unwind(panic),
            Err(error) => {
                let message = format!("the file cannot be read, because no thread can be started: {error}");
                Err(Problem::error("yaml", 0..0, message))
            }
        }
    })
}

fn read(text: &str, max_depth: usize) -> Result<Node, Problem> {
    let options = serde_saphyr::options! {
        strict_booleans: true,
        reject_unsupported_tags: true,
        with_snippet: false,
        budget: serde_saphyr::budget! {
            max_depth: max_depth,
            max_nodes: MAX_VALUES,
            max_events: MAX_EVENTS,
            max_anchors: MAX_ALIASES,
            max_aliases: MAX_ALIASES,
            max_merge_keys: MAX_ALIASES,
            max_total_scalar_bytes: MAX_MEBIBYTES * 1024 * 1024,
            // One anchor may well be used in every step; what aliases can stand for is limited by the rest.
            enforce_alias_anchor_ratio: false,
        },
    };
    let raw: Spanned<Raw> = serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let error = error.without_snippet();
        let place = error.location().map_or(0..0, |location| span_of(text, location));
        words::problem(error, place)
    })?;
    build(text, raw, 0)
}

fn span_of(text: &str, location: Location) -> Range<usize> {
    let span = location.span();
    let at = |offset: u64| usize::try_from(offset).unwrap_or(text.len()).min(text.len());
    match (span.byte_offset(), span.byte_len()) {
        (Some(start), length) => at(start)..at(start + length.unwrap_or(0)),
        // Errors of the scanner know line and column only.
        (None, _) => {
            let line = usize::try_from(location.line()).unwrap_or(1).saturating_sub(1);
            let mark = if line == 0 && text.starts_with(MARK) { MARK.len_utf8() } else { 0 };
            let start = mark + text.split_inclusive('\n').take(line).map(str::len).sum::<usize>();
            let column = usize::try_from(location.column()).unwrap_or(1).saturating_sub(1);
            let within = text[start..].chars().take(column).map(char::len_utf8).sum::<usize>();
            start + within..start + within
        }
    }
}

/// What the parser gives: scalars are looked at again in the source, because their meaning is ours to decide.
enum Raw {
    Scalar(String),
    List(Vec<Spanned<Self>>),
    Map(Vec<(Spanned<Raw>, Spanned<Self>)>),
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RawVisitor)
    }
}

struct RawVisitor;

impl<'de> Visitor<'de> for RawVisitor {
    type Value = Raw;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Raw, E> {
        Ok(Raw::Scalar(String::new()))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Raw, E> {
        Ok(Raw::Scalar(value.to_string()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Raw, E> {
        Ok(Raw::Scalar(value.to_string()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Raw, E> {
        Ok(Raw::Scalar(value.to_string()))
    }

    fn visit_i128<E>(self, value: i128) -> Result<Raw, E> {
        Ok(Raw::Scalar(value.to_string()))
    }

    fn visit_u128<E>(self, value: u128) -> Result<Raw, E> {
        Ok(Raw::Scalar(value.to_string()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Raw, E> {
        Ok(Raw::Scalar(value.to_string()))
    }

    fn visit_str<E>(self, text: &str) -> Result<Raw, E> {
        Ok(Raw::Scalar(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Raw, E> {
        Ok(Raw::Scalar(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Raw, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Raw::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Raw, A::Error> {
        let mut map = Vec::new();
        while let Some(field) = fields.next_entry()? {
            map.push(field);
        }
        Ok(Raw::Map(map))
    }
}

fn build(text: &str, raw: Spanned<Raw>, depth: usize) -> Result<Node, Problem> {
    // A value behind an alias is shown where it is used; its text stands where it was defined.
    let (used, defined) = (span_of(text, raw.referenced), span_of(text, raw.defined));
    if depth > MAX_DEPTH {
        return Err(words::too_deep(used));
    }
    let value = match raw.value {
        Raw::Scalar(read) if is_tagged_as_text(&text[..defined.start]) => NodeValue::Text(read),
        Raw::Scalar(read) if read.is_empty() && scalar::ends_in_block(&text[..defined.start]) => {
            NodeValue::Text(read)
        }
        Raw::Scalar(read) => scalar::resolve(&text[defined.clone()], read),
        Raw::List(items) => {
            let items = items.into_iter().map(|item| build(text, item, depth + 1));
            NodeValue::List(items.collect::<Result<_, _>>()?)
        }
        Raw::Map(fields) => NodeValue::Map(build_map(text, fields, depth)?),
    };
    let span = if used.is_empty() { defined } else { used };
    Ok(Node { span, value })
}

/// Whether what stands before a scalar on its line ends in a tag that makes it text.
fn is_tagged_as_text(before: &str) -> bool {
    let Some(b' ' | b'\t') = before.as_bytes().last() else { return false };
    let mut words = before.rsplit(['\n', ' ', '\t', '[', '{', ',']).filter(|word| !word.is_empty());
    words.find(|word| !word.starts_with('&')).is_some_and(|word| ["!!str", "!"].contains(&word))
}

fn build_map(
    text: &str,
    fields: Vec<(Spanned<Raw>, Spanned<Raw>)>,
    depth: usize,
) -> Result<Vec<Entry>, Problem> {
    let mut entries: Vec<Entry> = Vec::with_capacity(fields.len());
    let mut keys = BTreeSet::new();
    for (key, value) in fields {
        let key_span = span_of(text, key.referenced);
        let is_merged = key_span != span_of(text, key.defined) && key_span == span_of(text, value.referenced);
        let Raw::Scalar(key) = key.value else {
            return Err(Problem::error("key", key_span, "a key must be text"));
        };
        // The parser tells `1` from `"1"`; as keys they are the same.
        if !keys.insert(key.clone()) {
            // What is merged from elsewhere comes last and gives way.
            if is_merged {
                continue;
            }
            return Err(Problem::error("yaml", key_span, format!("key `{key}` stands twice in one map")));
        }
        entries.push(Entry { key, key_span, value: build(text, value, depth + 1)? });
    }
    Ok(entries)
}
