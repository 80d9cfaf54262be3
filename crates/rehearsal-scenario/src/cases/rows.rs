//! Rows: what `cases` names, each of which makes one case.
//!
//! A row is kept as compactly as it came (a record of CSV, a line of JSON) and becomes a map of values when its case is
//! made.

use std::collections::BTreeSet;
use std::ops::Range;

use indexmap::IndexMap;
use serde_json::{Map, Value};

use super::reuse::{Loader, Reference};
use super::{Origin, RowCommands};
use crate::file::agent::read_command;
use crate::file::keys::CASES;
use crate::read::{Fields, Reader, nearest};
use crate::sources;
use crate::yaml::{self, Node, NodeValue};
use crate::{CommandLine, Problem, Severity};

/// The columns that say something of the case itself.
pub(crate) const RESERVED: &[&str] = &["name", "id", "description", "tags", "expect"];

/// The rows of a file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rows {
    names: Vec<Box<str>>,
    data: Vec<Data>,
    /// The columns of CSV, each with its type.
    columns: Vec<(String, Type)>,
    /// Where they are named.
    pub(crate) place: Range<usize>,
    /// Whether they are known at all: a command that gives them was not run.
    pub(crate) are_known: bool,
    /// Whether texts of them come from CSV, which knows no types.
    pub(crate) is_csv: bool,
}

#[derive(Clone, Debug)]
enum Data {
    /// A record of CSV.
    Record(csv::StringRecord),
    /// An object, as JSON.
    Json(Box<str>),
    /// A map of a YAML file.
    Node(Box<Node>),
}

/// One row.
#[derive(Clone, Debug, Default)]
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) values: Map<String, Value>,
    /// What it expects, as a list of evaluations.
    pub(crate) expect: Option<Node>,
    /// Where it stands, if it stands in a YAML file.
    pub(crate) place: Option<Range<usize>>,
}

/// What the texts of a column of CSV are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Type {
    #[default]
    Text,
    Number,
    Boolean,
    Json,
}

/// The words for types of columns.
pub(crate) const TYPES: &[&str] = &["text", "number", "boolean", "json"];

impl Type {
    fn named(word: &str) -> Option<Self> {
        Some(match word {
            "text" => Self::Text,
            "number" => Self::Number,
            "boolean" => Self::Boolean,
            "json" => Self::Json,
            _ => return None,
        })
    }

    fn read(self, text: &str) -> Result<Value, &'static str> {
        if self != Self::Text && text.trim().is_empty() {
            return Ok(Value::Null);
        }
        let json = || rehearsal_core::json::from_str::<Value>(text.trim());
        match self {
            Self::Text => Ok(Value::String(text.to_owned())),
            Self::Number => match json() {
                Ok(number @ Value::Number(_)) => Ok(number),
                _ => Err("no number"),
            },
            Self::Boolean => match text.trim().to_lowercase().as_str() {
                "true" => Ok(Value::Bool(true)),
                "false" => Ok(Value::Bool(false)),
                _ => Err("neither true nor false"),
            },
            Self::Json => json().map_err(|_| "no JSON"),
        }
    }
}

impl Rows {
    pub(crate) fn len(&self) -> usize {
        self.names.len()
    }

    pub(crate) fn name(&self, at: usize) -> &str {
        &self.names[at]
    }

    /// The row at a place. `takes_expect` says that its column `expect` holds evaluations.
    pub(crate) fn row(&self, at: usize, takes_expect: bool) -> Row {
        let mut row = Row { name: self.names[at].to_string(), ..Row::default() };
        match &self.data[at] {
            Data::Record(record) => {
                let cells = self.columns.iter().zip(record.iter());
                row.values = cells
                    .map(|((column, kind), text)| (column.clone(), kind.read(text).unwrap_or(Value::Null)))
                    .collect();
            }
            Data::Json(text) => {
                if let Ok(Value::Object(fields)) = rehearsal_core::json::from_str(text) {
                    row.values = fields;
                }
            }
            Data::Node(node) => {
                if let Value::Object(fields) = node.to_json() {
                    row.values = fields;
                }
                row.place = Some(node.span.clone());
                if takes_expect && let NodeValue::Map(entries) = &node.value {
                    let expect = entries.iter().find(|entry| entry.key == "expect");
                    row.expect = expect.map(|entry| entry.value.clone());
                }
            }
        }
        if takes_expect && row.expect.is_none() {
            row.expect = row.values.get("expect").and_then(|value| self.expected(value));
        }
        row
    }

    /// The evaluations of a column `expect`: a list, or in CSV a text that is one.
    fn expected(&self, value: &Value) -> Option<Node> {
        match value {
            Value::Null => None,
            Value::String(text) if text.trim().is_empty() => None,
            Value::String(text) if text.trim_start().starts_with('[') => {
                let value = yaml::parse(text.trim()).ok()?.to_json();
                Some(super::fill::from_json(&value, &self.place))
            }
            other => Some(super::fill::from_json(other, &self.place)),
        }
    }

    /// The columns of CSV that nobody names.
    pub(crate) fn unused(&self, named: &IndexMap<String, Range<usize>>) -> Vec<Problem> {
        if named.contains_key("") {
            return Vec::new();
        }
        let is_named = |column: &str| {
            named.keys().any(|path| {
                path == column || path.strip_prefix(column).is_some_and(|rest| rest.starts_with('.'))
            })
        };
        let unused = self.columns.iter().map(|(column, _)| column.as_str());
        let unused = unused.filter(|column| !RESERVED.contains(column) && !is_named(column));
        unused
            .map(|column| {
                let message = format!("nobody uses the column `{column}`");
                let mut problem = Problem::error("unused-column", self.place.clone(), message);
                problem.severity = Severity::Warning;
                problem.help(format!("write ${{row.{column}}} where it goes, or leave the column out"))
            })
            .collect()
    }
}

/// What `cases` says beside its rows.
#[derive(Default)]
struct Choice {
    select: Option<(Vec<String>, Range<usize>)>,
    limit: Option<usize>,
}

/// Reads `cases`.
pub(crate) fn read(reader: &mut Reader<'_>, node: &Node, loader: &mut Loader<'_>) -> Option<Rows> {
    if let NodeValue::List(items) = &node.value {
        let rows = of_nodes(reader, items, node);
        return chosen(reader, rows, &Choice::default());
    }
    let mut fields = reader.fields(node, "`cases`", &CASES)?;
    let kinds = ["csv", "jsonl", "json", "yaml", "command", "rows"];
    let present: Vec<&'static str> = kinds.into_iter().filter(|kind| fields.get(kind).is_some()).collect();
    let select = fields.get("select").map(|node| node.span.clone());
    let choice = Choice {
        select: select.map(|span| (fields.texts(reader, "select"), span)),
        limit: fields.integer(reader, "limit").and_then(|limit| usize::try_from(limit).ok()),
    };
    if let Some((names, span)) = &choice.select
        && names.is_empty()
    {
        reader.report(Problem::error("empty", span.clone(), "`select` of `cases` chooses nothing"));
    }
    let types = read_types(reader, &mut fields);
    if let (Some(place), false) = (fields.key_span("types"), present.contains(&"csv")) {
        let problem =
            Problem::error("no-effect", place, "`types` is for columns of `csv`: other rows have types");
        reader.report(problem.help("remove it"));
    }
    let [kind] = present[..] else {
        let message =
            if present.is_empty() { "`cases` names no rows" } else { "`cases` names rows in two ways" };
        let problem = Problem::error("no-rows", fields.span(), message);
        reader.report(problem.help(
            "write one of: cases: [{question: …}], {csv: rows.csv}, {jsonl: …}, {json: …}, {yaml: …}, {command: […]}",
        ));
        fields.finish(reader);
        return None;
    };
    let at = fields.get(kind)?;
    let rows = match kind {
        "rows" => {
            let items = reader.list(at, "`rows` of `cases`");
            Some(of_nodes(reader, items, at))
        }
        "command" => read_command(reader, at, "`command` of `cases`")
            .and_then(|command| of_command(reader, at, &command, loader.origin)),
        _ => reader.text(at, &format!("`{kind}` of `cases`")).and_then(|path| {
            if loader.origin.is_nowhere() {
                let mut problem = Problem::error(
                    "not-looked-at",
                    at.span.clone(),
                    "the rows are in another file, which is not looked at here",
                );
                problem.severity = Severity::Warning;
                reader.report(problem);
                return Some(Rows { place: at.span.clone(), ..Rows::default() });
            }
            let file = RowFile { reader, node: at, loader, path: &path };
            file.read(kind, &types)
        }),
    };
    fields.finish(reader);
    chosen(reader, rows?, &choice)
}

fn read_types(reader: &mut Reader<'_>, fields: &mut Fields<'_>) -> Vec<(String, Type, Range<usize>)> {
    let Some(node) = fields.get("types") else { return Vec::new() };
    let mut types = Vec::new();
    for entry in reader.names(node, "`types` of `cases`") {
        let Some(word) = reader.text(&entry.value, &format!("the type of column `{}`", entry.key)) else {
            continue;
        };
        match Type::named(&word) {
            Some(kind) => types.push((entry.key.clone(), kind, entry.key_span.clone())),
            None => {
                let message = format!("a column cannot have the type `{word}`");
                let problem = Problem::error("unknown-value", entry.value.span.clone(), message);
                reader.report(match nearest(&word, TYPES.iter().copied()) {
                    Some(near) => problem.help(format!("did you mean `{near}`?")),
                    None => problem.help(format!("it can be: {}", super::fill::listed(TYPES))),
                });
            }
        }
    }
    types
}

/// The name of a row: its `name`, its `id`, or its number.
fn name_of(values: &Map<String, Value>, number: usize) -> String {
    let named = ["name", "id"].into_iter().find_map(|key| match values.get(key)? {
        Value::String(text) if !text.trim().is_empty() => Some(text.trim().to_owned()),
        number @ Value::Number(_) => Some(number.to_string()),
        _ => None,
    });
    named.unwrap_or_else(|| number.to_string())
}

fn of_nodes(reader: &mut Reader<'_>, items: &[Node], whole: &Node) -> Rows {
    let mut rows = Rows { place: whole.span.clone(), are_known: true, ..Rows::default() };
    for item in items {
        let NodeValue::Map(_) = &item.value else {
            reader.wrong_type(item, "a row of `cases`", "a map");
            continue;
        };
        let Value::Object(values) = item.to_json() else { continue };
        rows.names.push(name_of(&values, rows.data.len() + 1).into());
        rows.data.push(Data::Node(Box::new(item.clone())));
    }
    rows
}

fn of_command(
    reader: &mut Reader<'_>,
    node: &Node,
    command: &CommandLine,
    origin: &Origin<'_>,
) -> Option<Rows> {
    let place = node.span.clone();
    let run = match origin.commands {
        RowCommands::Run(run) => run,
        RowCommands::NotRun => {
            let message =
                "the rows are what this command prints, and `check` runs nothing: they are not looked at";
            let mut problem = Problem::error("not-looked-at", place.clone(), message);
            problem.severity = Severity::Warning;
            reader.report(problem);
            return Some(Rows { place, ..Rows::default() });
        }
        RowCommands::Refused => {
            let message = "`cases` runs a command, and `--no-commands` says that none is run";
            let problem = Problem::error("runs-commands", place, message);
            reader.report(problem.help("read what it runs; if you want that, leave out: --no-commands"));
            return None;
        }
    };
    let printed = match run(command, sources::folder(origin.path)) {
        Ok(printed) => printed,
        Err(why) => {
            reader.report(Problem::error("no-rows", place, format!("the command gives no rows: {why}")));
            return None;
        }
    };
    let is_array = printed.trim_start().starts_with('[');
    let read = if is_array { of_json(&printed) } else { of_lines(&printed) };
    match read {
        Ok(rows) => Some(Rows { place, ..rows }),
        Err((line, why)) => {
            let message = format!("what the command prints cannot be read as rows: line {line}: {why}");
            let problem = Problem::error("bad-row", place, message);
            reader.report(problem.help("print a JSON object a line, or one JSON array of them"));
            None
        }
    }
}

type BadRow = (u64, String);

/// Rows as an array of JSON.
fn of_json(text: &str) -> Result<Rows, BadRow> {
    let items: Vec<Value> = rehearsal_core::json::from_str(text)
        .map_err(|error| (error.line() as u64, format!("no JSON array of objects: {error}")))?;
    let mut rows = Rows { are_known: true, ..Rows::default() };
    for (at, item) in items.into_iter().enumerate() {
        let Value::Object(fields) = &item else {
            return Err((1, format!("item {} is no object", at + 1)));
        };
        rows.names.push(name_of(fields, at + 1).into());
        rows.data.push(Data::Json(rehearsal_core::json::text(&item).into()));
    }
    Ok(rows)
}

/// Rows as lines of JSON.
fn of_lines(text: &str) -> Result<Rows, BadRow> {
    let mut rows = Rows { are_known: true, ..Rows::default() };
    for (line, text) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        if text.trim().is_empty() {
            continue;
        }
        let line = line as u64 + 1;
        match rehearsal_core::json::from_str::<Value>(text) {
            Ok(Value::Object(fields)) => {
                rows.names.push(name_of(&fields, rows.data.len() + 1).into());
                rows.data.push(Data::Json(text.trim().into()));
            }
            Ok(_) => return Err((line, "this is no JSON object".to_owned())),
            Err(error) => return Err((line, format!("this is no JSON object: {error}"))),
        }
    }
    Ok(rows)
}

/// A file of rows.
struct RowFile<'a, 't, 'o> {
    reader: &'a mut Reader<'t>,
    node: &'a Node,
    loader: &'a mut Loader<'o>,
    path: &'a str,
}

impl RowFile<'_, '_, '_> {
    fn report(&mut self, code: &'static str, message: String) {
        self.reader.report(Problem::error(code, self.node.span.clone(), message));
    }

    fn read(mut self, kind: &str, types: &[(String, Type, Range<usize>)]) -> Option<Rows> {
        if kind == "yaml" {
            return self.yaml();
        }
        let path = self.loader.path(self.path, self.node.span.start);
        let text = match (self.loader.origin.read)(&path) {
            Ok(text) => text,
            Err(why) => {
                self.report("no-file", format!("`{}` cannot be read: {why}", path.display()));
                return None;
            }
        };
        let read = match kind {
            "csv" => self.csv(&text, types),
            "jsonl" => of_lines(&text),
            _ => of_json(text.trim_start_matches('\u{feff}')),
        };
        match read {
            Ok(rows) => Some(Rows { place: self.node.span.clone(), ..rows }),
            Err((line, why)) => {
                self.report("bad-row", format!("{}:{line}: {why}", path.display()));
                None
            }
        }
    }

    fn yaml(self) -> Option<Rows> {
        let found = match self.loader.load(&Reference::new(self.path, self.node.span.clone())) {
            Ok(found) => found,
            Err(problem) => {
                self.reader.report(*problem);
                return None;
            }
        };
        match &found.value {
            NodeValue::List(items) => {
                let rows = of_nodes(self.reader, items, &found);
                Some(Rows { place: self.node.span.clone(), ..rows })
            }
            _ => {
                self.reader.wrong_type(&found, "a file of rows", "a list of maps");
                None
            }
        }
    }

    fn csv(&mut self, text: &str, types: &[(String, Type, Range<usize>)]) -> Result<Rows, BadRow> {
        let text = text.trim_start_matches('\u{feff}');
        let mut file = csv::ReaderBuilder::new().flexible(true).from_reader(text.as_bytes());
        let wrong = |error: csv::Error| {
            (error.position().map_or(1, csv::Position::line), format!("this is no CSV: {error}"))
        };
        let header = file.headers().map_err(wrong)?.clone();
        let mut rows = Rows { are_known: true, is_csv: true, ..Rows::default() };
        for (at, column) in header.iter().enumerate() {
            let column = column.trim();
            if column.is_empty() {
                return Err((1, format!("column {} has no name", at + 1)));
            }
            if rows.columns.iter().any(|(other, _)| other == column) {
                return Err((1, format!("two columns are called `{column}`")));
            }
            let kind = types.iter().find(|(name, _, _)| name == column).map(|(_, kind, _)| *kind);
            rows.columns.push((column.to_owned(), kind.unwrap_or_default()));
        }
        let known: Vec<&str> = rows.columns.iter().map(|(column, _)| column.as_str()).collect();
        for (name, _, place) in types.iter().filter(|(name, _, _)| !known.contains(&name.as_str())) {
            let message = format!("there is no column `{name}`");
            let problem = Problem::error("unknown-column", place.clone(), message);
            self.reader.report(match nearest(name, known.iter().copied()) {
                Some(near) => problem.help(format!("did you mean `{near}`?")),
                None => problem.help(format!("there are: {}", super::fill::listed(&known))),
            });
        }
        for record in file.into_records() {
            let mut record = record.map_err(wrong)?;
            let line = record.position().map_or(0, csv::Position::line);
            if record.len() != rows.columns.len() {
                let (has, should) = (record.len(), rows.columns.len());
                return Err((
                    line,
                    format!("this row has {has} values, and the first line names {should} columns"),
                ));
            }
            let mut named = Map::new();
            for ((column, kind), text) in rows.columns.iter().zip(record.iter()) {
                let value = kind.read(text);
                let value = value.map_err(|why| (line, format!("`{text}` in column `{column}` is {why}")))?;
                if matches!(column.as_str(), "name" | "id") {
                    named.insert(column.clone(), value);
                }
                let is_list = column == "expect" && text.trim_start().starts_with('[');
                if is_list && let Err(why) = yaml::parse(text.trim()) {
                    return Err((line, format!("what is expected cannot be read: {why}")));
                }
            }
            rows.names.push(name_of(&named, rows.data.len() + 1).into());
            record.set_position(None);
            rows.data.push(Data::Record(record));
        }
        Ok(rows)
    }
}

/// The most names that are said to be there twice.
const MAX_TOLD: usize = 20;

/// The rows that are wanted, of which no two have the same name.
fn chosen(reader: &mut Reader<'_>, mut rows: Rows, choice: &Choice) -> Option<Rows> {
    if !rows.are_known {
        return Some(rows);
    }
    if rows.data.is_empty() {
        let problem =
            Problem::error("no-rows", rows.place.clone(), "there are no rows, so there are no cases");
        reader.report(problem.help("add a row: - {question: …}"));
        return None;
    }
    let mut seen = BTreeSet::new();
    let mut twice: Vec<&str> =
        rows.names.iter().map(|name| &**name).filter(|name| !seen.insert(*name)).collect();
    twice.dedup();
    if !twice.is_empty() {
        let more = twice.len().saturating_sub(MAX_TOLD);
        let more = if more > 0 { format!(", and {more} more") } else { String::new() };
        let names: Vec<String> = twice.iter().take(MAX_TOLD).map(|name| format!("`{name}`")).collect();
        let message = format!("two rows are called {}{more}", names.join(", "));
        let problem = Problem::error("duplicate", rows.place.clone(), message);
        reader.report(
            problem.help("a row is called by its `name`, its `id` or its number: make them different"),
        );
        return None;
    }
    if let Some((select, place)) = &choice.select {
        for name in select.iter().filter(|name| !seen.contains(name.as_str())) {
            let problem = Problem::error("unknown-row", place.clone(), format!("there is no row `{name}`"));
            reader.report(match nearest(name, seen.iter().copied()) {
                Some(near) => problem.help(format!("did you mean `{near}`?")),
                None => problem,
            });
        }
        let mut kept = rows
            .names
            .iter()
            .map(|name| select.iter().any(|one| **one == **name))
            .collect::<Vec<_>>()
            .into_iter();
        rows.data.retain(|_| kept.next() == Some(true));
        rows.names.retain(|name| select.iter().any(|one| **one == **name));
    }
    if let Some(limit) = choice.limit {
        rows.names.truncate(limit);
        rows.data.truncate(limit);
    }
    rows.names.shrink_to_fit();
    rows.data.shrink_to_fit();
    if rows.data.is_empty() { None } else { Some(rows) }
}
