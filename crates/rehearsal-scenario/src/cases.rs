//! The cases of a file: one, or one for each row and each combination of a matrix.
//!
//! A file is read once, as a tree. For each case its placeholders are filled in and the tree is read, when the case's turn
//! comes: what is held between is the tree and the rows as they came.

use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use indexmap::IndexMap;
use serde_json::Value;

use self::fill::{Filling, Values};
use self::matrix::Matrix;
use self::reuse::Loader;
use self::rows::{Row, Rows};
use crate::file::{placeholders, read_scenario};
use crate::project::Project;
use crate::read::{Dialect, Reader};
use crate::sources::Sources;
use crate::yaml::{self, Entry, Node, NodeValue};
use crate::{CheckOptions, Checked, CommandLine, MadeFrom, Problem, Scenario, Severity};

pub(crate) mod elizaos;
mod fill;
mod matrix;
mod reuse;
pub(crate) mod rows;

/// Where a file is, and how what it names is had.
#[derive(Clone, Copy)]
pub struct Origin<'o> {
    /// The file.
    pub path: &'o Path,
    /// Reads a file that it names; the error is in words for people.
    pub read: &'o dyn Fn(&Path) -> Result<String, String>,
    /// What becomes of a command that gives rows.
    pub commands: RowCommands<'o>,
    /// The file of its project.
    pub project: Option<&'o Project>,
}

/// What becomes of a command that gives rows.
#[derive(Clone, Copy)]
pub enum RowCommands<'o> {
    /// It is run in a folder, and gives what it printed.
    Run(&'o dyn Fn(&CommandLine, &Path) -> Result<String, String>),
    /// It is not run, because nothing is: the rows are not known.
    NotRun,
    /// It is refused.
    Refused,
}

impl Origin<'_> {
    /// A text that is no file: rows of other files are not looked at, and nothing can be taken from them.
    pub fn nowhere() -> Self {
        let read = &|_: &Path| Err("this is no file, so it can name no others".to_owned());
        Self { path: Path::new(""), read, commands: RowCommands::NotRun, project: None }
    }

    fn is_nowhere(&self) -> bool {
        self.path.as_os_str().is_empty()
    }
}

impl fmt::Debug for RowCommands<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Run(_) => "Run",
            Self::NotRun => "NotRun",
            Self::Refused => "Refused",
        })
    }
}

impl fmt::Debug for Origin<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Origin").field("path", &self.path).finish_non_exhaustive()
    }
}

/// The cases of a file.
#[derive(Clone)]
pub struct Cases(Arc<Template>);

#[derive(Debug)]
struct Template {
    sources: Sources,
    root: Node,
    /// The scenario's name in the file.
    name: String,
    dialect: Dialect,
    rows: Option<Rows>,
    /// Whether the column `expect` holds evaluations.
    takes_expect: bool,
    matrix: Option<Matrix>,
    /// How often the file itself says that each case is run.
    repeat: Option<u32>,
}

/// A file of cases that was read: they, and all that is wrong with the file as a whole.
#[derive(Debug)]
pub struct Opened {
    /// Its cases, if anything could be read of it.
    pub cases: Option<Cases>,
    /// What is wrong with the file, beside what is wrong with its cases.
    pub problems: Vec<Problem>,
    /// Its text and those of the files that it names, in which the places of problems are.
    pub sources: Sources,
}

/// The most cases that are made of a file.
const MAX_CASES: usize = 1_000_000;

impl Cases {
    /// Reads a file as far as all its cases share it.
    pub fn open(text: &str, origin: &Origin<'_>, options: &CheckOptions<'_>) -> Opened {
        let mut loader = Loader::new(origin, text);
        let mut reader = Reader { text, dialect: options.dialect, ..Reader::default() };
        let root = match yaml::parse(text) {
            Ok(root) => root,
            Err(problem) => {
                return Opened { cases: None, problems: vec![problem], sources: loader.sources };
            }
        };
        if options.dialect == Dialect::ElizaOs {
            placeholders::report(&mut reader, &root, placeholders::Filled::default());
            let problems = reader.problems;
            let cases = Self::whole(loader.sources.clone(), root, options.dialect);
            return Opened { cases: Some(cases), problems, sources: loader.sources };
        }
        let (root, rows, matrix) = parts(&mut reader, &mut loader, root);
        let filled = placeholders::Filled { row: rows.is_some(), matrix: matrix.is_some() };
        let mut problems = std::mem::take(&mut reader.problems);
        let Loader { sources, .. } = loader;
        let mut reader = Reader {
            text: sources.text(),
            dialect: options.dialect,
            sources: Some(&sources),
            ..Reader::default()
        };
        placeholders::report(&mut reader, &root, filled);
        let root = placeholders::settled(root);
        if let Some(Some(matrix)) = &matrix {
            matrix.report_paths(&mut reader, &root);
        }
        let mut named = IndexMap::new();
        fill::columns_named(&root, &mut named);
        if let Some(Some(matrix)) = &matrix {
            let values = matrix.axes.iter().flat_map(|axis| &axis.values).flat_map(|value| &value.set);
            values.for_each(|set| fill::columns_named(&set.value, &mut named));
        }
        let rows = rows.map(Option::unwrap_or_default);
        if let Some(rows) = &rows {
            reader.problems.extend(rows.unused(&named));
        }
        let matrix = matrix.flatten();
        let count = rows
            .as_ref()
            .map_or(1, |rows| rows.len().max(1))
            .saturating_mul(matrix.as_ref().map_or(1, Matrix::len));
        if count > MAX_CASES {
            let message = format!("this file makes {count} cases; at most {MAX_CASES} are made");
            reader.report(Problem::error("too-large", 0..0, message));
        }
        problems.extend(reader.problems);
        let name = name_of(&root);
        let takes_expect = !named.keys().any(|path| path == "expect" || path.starts_with("expect."));
        let template = Template {
            sources: sources.clone(),
            root,
            name,
            dialect: options.dialect,
            rows,
            takes_expect,
            matrix,
            repeat: None,
        };
        Opened { cases: Some(Self(Arc::new(template))), problems, sources }
    }

    fn whole(sources: Sources, root: Node, dialect: Dialect) -> Self {
        let (name, rows, matrix, repeat) = (name_of(&root), None, None, None);
        Self(Arc::new(Template { sources, root, name, dialect, rows, takes_expect: false, matrix, repeat }))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.rows() * self.combinations()
    }

    /// Whether there are none; there is always one at least.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the file says that there may be several.
    pub fn are_made(&self) -> bool {
        self.0.rows.as_ref().is_some_and(|rows| rows.are_known) || self.0.matrix.is_some()
    }

    /// Whether all its cases are known; rows that a command gives are not where it was not run.
    pub fn are_known(&self) -> bool {
        self.0.rows.as_ref().is_none_or(|rows| rows.are_known)
    }

    /// How often the file itself says that each case is run.
    pub fn repeat(&self) -> Option<u32> {
        self.0.repeat
    }

    fn rows(&self) -> usize {
        self.0.rows.as_ref().map_or(1, |rows| rows.len().max(1))
    }

    fn combinations(&self) -> usize {
        self.0.matrix.as_ref().map_or(1, Matrix::len)
    }

    /// The name of the scenario in its file.
    pub fn scenario_name(&self) -> &str {
        &self.0.name
    }

    /// The name of a case without its variant: that of the scenario, and of its row where it has rows.
    pub fn row_name(&self, place: usize) -> String {
        match self.0.rows.as_ref().filter(|rows| rows.len() > 0) {
            Some(rows) => format!("{} [{}]", self.0.name, rows.name(place / self.combinations())),
            None => self.0.name.clone(),
        }
    }

    /// What tells a case from the others of its file: its row and its variant; nothing where it is the only one.
    pub fn suffix(&self, place: usize) -> String {
        let mut suffix = String::new();
        if let Some(rows) = self.0.rows.as_ref().filter(|rows| rows.len() > 0) {
            suffix = format!(" [{}]", rows.name(place / self.combinations()));
        }
        if let Some(matrix) = &self.0.matrix {
            let words = matrix.words(place % matrix.len());
            suffix = format!("{suffix} ({words})");
        }
        suffix
    }

    /// The values of the matrix that a case has, in words, by the names of their axes.
    pub fn variant(&self, place: usize) -> IndexMap<String, (String, Value)> {
        let matrix = self.0.matrix.as_ref();
        matrix.map(|matrix| matrix.variant(place % matrix.len())).unwrap_or_default()
    }

    /// The variables of the environment that the file names and that are not set, each where it is named.
    pub fn unset(&self, variable: &dyn Fn(&str) -> Option<String>, severity: Severity) -> Vec<Problem> {
        let named = placeholders::env(&self.0.root, self.0.sources.text());
        // What a tool needs is told when it runs for real; here it may be mocked.
        let tools = self.place_of_tools().filter(|_| severity == Severity::Error).unwrap_or_default();
        let unset = named.into_iter().filter(|(name, place)| {
            variable(name).is_none() && !(tools.start <= place.start && place.end <= tools.end)
        });
        let mut told: Vec<String> = Vec::new();
        let mut problems = Vec::new();
        for (name, place) in unset {
            if told.contains(&name) {
                continue;
            }
            let message = format!("the environment variable `{name}` is not set");
            let mut problem = Problem::error("unset-variable", place, message);
            problem.severity = severity;
            problems.push(problem.help("set it, or put it into a file for `--env-file`, before this is run"));
            told.push(name);
        }
        problems
    }

    fn place_of_tools(&self) -> Option<Range<usize>> {
        let at = |node: &Node, key: &str| match &node.value {
            NodeValue::Map(entries) => {
                entries.iter().find(|entry| entry.key == key).map(|entry| entry.value.clone())
            }
            _ => None,
        };
        Some(extent(&at(&at(&self.0.root, "agent")?, "tools")?))
    }

    /// Makes a case and says what is wrong with it.
    pub fn case(&self, place: usize, options: &CheckOptions<'_>) -> Checked {
        let template = &*self.0;
        let row = template.rows.as_ref().filter(|rows| rows.len() > 0);
        let row = row.map(|rows| rows.row(place / self.combinations(), template.takes_expect));
        let variant = template.matrix.as_ref().map(|matrix| matrix.variant(place % matrix.len()));
        let mut problems = Vec::new();
        let root = self.root(place, row.as_ref(), &mut problems);
        let filled;
        let root = if row.is_some() || variant.is_some() {
            let values = Values { row: row.as_ref().map(|row| &row.values), variant: variant.as_ref() };
            let source = template.sources.text();
            let mut filling = Filling { values, source, problems: Vec::new() };
            filled = filling.node(root.as_ref().unwrap_or(&template.root));
            problems.append(&mut filling.problems);
            &filled
        } else {
            &template.root
        };
        let mut reader = Reader {
            text: template.sources.text(),
            dialect: template.dialect,
            sources: Some(&template.sources),
            ..Reader::default()
        };
        let scenario = read_scenario(&mut reader, root, options);
        problems.append(&mut reader.problems);
        if !self.are_known() {
            problems.retain(|problem| !self.is_of_placeholder(problem));
        }
        problems.sort_by_key(|problem| (problem.span.start, problem.severity));
        let is_usable = problems.iter().all(|problem| problem.severity != Severity::Error);
        let scenario =
            scenario.filter(|_| is_usable).map(|scenario| self.named(place, scenario, row, variant));
        Checked { scenario, problems }
    }

    /// Whether a problem is that of a value which only a row has.
    fn is_of_placeholder(&self, problem: &Problem) -> bool {
        self.0.sources.text().get(problem.span.clone()).is_some_and(|source| source.contains("${row"))
    }

    /// The tree with what the combination and the row set in it; nothing where they set nothing.
    fn root(&self, place: usize, row: Option<&Row>, problems: &mut Vec<Problem>) -> Option<Node> {
        let template = &*self.0;
        let sets = template.matrix.as_ref().is_some_and(|matrix| {
            matrix.axes.iter().any(|axis| axis.values.iter().any(|value| !value.set.is_empty()))
        });
        let says = row.is_some_and(|row| {
            row.expect.is_some() || ["tags", "description"].iter().any(|key| row.values.contains_key(*key))
        });
        if !sets && !says {
            return None;
        }
        let mut root = template.root.clone();
        if let Some(matrix) = template.matrix.as_ref().filter(|_| sets) {
            matrix.apply(place % matrix.len(), &mut root);
        }
        if let (Some(row), NodeValue::Map(entries)) = (row, &mut root.value) {
            self.take_row(row, entries, problems);
        }
        Some(root)
    }

    /// What a row says of its case: a description, tags, and what it expects.
    fn take_row(&self, row: &Row, entries: &mut Vec<Entry>, problems: &mut Vec<Problem>) {
        let place = row.place.clone();
        let place = place.or_else(|| self.0.rows.as_ref().map(|rows| rows.place.clone())).unwrap_or_default();
        let node = |value: NodeValue, span: &Range<usize>| Node { span: span.clone(), value };
        if let Some(Value::String(text)) = row.values.get("description")
            && !text.is_empty()
        {
            let value = node(NodeValue::Text(text.clone()), &place);
            match entries.iter_mut().find(|entry| entry.key == "description") {
                Some(entry) => entry.value = value,
                None => entries.push(Entry { key: "description".to_owned(), key_span: place.clone(), value }),
            }
        }
        let tags = match row.values.get("tags") {
            Some(Value::String(text)) => text
                .split([',', ' ', ';'])
                .map(str::trim)
                .filter(|tag| !tag.is_empty())
                .map(str::to_owned)
                .collect(),
            Some(Value::Array(items)) => items.iter().map(fill::as_text).collect(),
            _ => Vec::new(),
        };
        if !tags.is_empty() {
            let tags = tags.into_iter().map(|tag| node(NodeValue::Text(tag), &place));
            match entries.iter_mut().find(|entry| entry.key == "tags").map(|entry| &mut entry.value.value) {
                Some(NodeValue::List(own)) => own.extend(tags),
                Some(_) => {}
                None => {
                    let value = node(NodeValue::List(tags.collect()), &place);
                    entries.push(Entry { key: "tags".to_owned(), key_span: place.clone(), value });
                }
            }
        }
        match &row.expect {
            None | Some(Node { value: NodeValue::Null, .. }) => {}
            Some(Node { value: NodeValue::List(items), span }) => {
                let is_asked = reuse::expect_of_last_step(entries, items.clone(), span);
                if !is_asked {
                    let message = "a row expects something, and there is no step of which it could be asked";
                    problems.push(Problem::error("no-steps", span.clone(), message));
                }
            }
            Some(other) => {
                let message = "`expect` of a row must be a list of evaluations";
                let problem = Problem::error("wrong-type", other.span.clone(), message);
                problems.push(problem.help(
                    "write: expect: [{type: string_contains, value: …}]; or use it as a value: ${row.expect}",
                ));
            }
        }
    }

    /// The scenario under the name of its case.
    fn named(
        &self,
        place: usize,
        mut scenario: Scenario,
        row: Option<Row>,
        variant: Option<IndexMap<String, (String, Value)>>,
    ) -> Scenario {
        if let Some(row) = row.as_ref().and_then(|row| row.place.clone()) {
            scenario.place = row;
        }
        let suffix = self.suffix(place);
        if suffix.is_empty() {
            return scenario;
        }
        scenario.name.push_str(&suffix);
        scenario.made_from = Some(MadeFrom {
            scenario: self.0.name.clone(),
            row: row.map(|row| (row.name, row.values)),
            variant: variant.unwrap_or_default(),
        });
        scenario
    }

    /// Gathers what is wrong with the cases, so that what is wrong with many of them is said once.
    pub fn gathering(&self) -> Gathering {
        Gathering { found: IndexMap::new(), places: self.len(), left_out: 0 }
    }

    /// What was gathered, each once, with the cases it is about.
    pub fn gathered(&self, gathering: Gathering) -> Vec<Problem> {
        let Gathering { found, places, left_out } = gathering;
        let mut problems: Vec<Problem> = found
            .into_values()
            // What one case does not ask for, another may.
            .filter(|(problem, _, count)| problem.code != "unused-model" || *count == places)
            .map(|(mut problem, first, count)| {
                let name = self.suffix(first);
                if places > 1 && count < places {
                    let more = match count - 1 {
                        0 => String::new(),
                        1 => " and 1 more".to_owned(),
                        many => format!(" and {many} more"),
                    };
                    problem.message = format!("{}, in{name}{more}", problem.message);
                }
                let is_csv = self.0.rows.as_ref().is_some_and(|rows| rows.is_csv);
                if is_csv
                    && problem.code == "wrong-type"
                    && problem.label == "this is text"
                    && problem.help.is_none()
                {
                    problem.help = Some(
                        "values of CSV are texts; to make a column numbers: types: {COLUMN: number}"
                            .to_owned(),
                    );
                }
                problem
            })
            .collect();
        problems.sort_by_key(|problem| (problem.span.start, problem.severity));
        if left_out > 0 {
            let message = format!("{left_out} more problems of other cases are not shown");
            problems.push(Problem::error("more", 0..0, message));
        }
        problems
    }
}

impl fmt::Debug for Cases {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cases").field("name", &self.0.name).field("cases", &self.len()).finish()
    }
}

/// What tells one problem from another.
type Key = (Severity, &'static str, usize, usize, String);

/// What is wrong with cases.
#[derive(Debug, Default)]
pub struct Gathering {
    found: IndexMap<Key, (Problem, usize, usize)>,
    places: usize,
    left_out: usize,
}

/// The most different problems of a file that are held.
const MAX_HELD: usize = 1000;

impl Gathering {
    /// Takes what is wrong with the case at a place.
    pub fn take(&mut self, place: usize, problems: impl IntoIterator<Item = Problem>) {
        for problem in problems {
            let key = (
                problem.severity,
                problem.code,
                problem.span.start,
                problem.span.end,
                problem.message.clone(),
            );
            if let Some((_, _, count)) = self.found.get_mut(&key) {
                *count += 1;
            } else if self.found.len() < MAX_HELD || self.places <= 1 {
                self.found.insert(key, (problem, place, 1));
            } else {
                self.left_out += 1;
            }
        }
    }
}

/// The rows and the matrix that a file names; nothing inside where they cannot be used.
type Parts = (Node, Option<Option<Rows>>, Option<Option<Matrix>>);

/// Takes apart what makes cases, and puts together what is shared.
fn parts(reader: &mut Reader<'_>, loader: &mut Loader<'_>, mut root: Node) -> Parts {
    let NodeValue::Map(entries) = &mut root.value else { return (root, None, None) };
    let mut take = |key: &str| {
        let at = entries.iter().position(|entry| entry.key == key)?;
        Some(entries.remove(at))
    };
    let (cases, matrix) = (take("cases"), take("matrix"));
    let mut empty = |entry: &Entry| {
        let is_empty = entry.value.value == NodeValue::Null;
        if is_empty {
            let message = format!("`{}` of the scenario is empty", entry.key);
            let problem = Problem::error("empty", entry.key_span.clone(), message);
            reader.report(problem.help("give it a value or remove it"));
        }
        is_empty
    };
    let cases = cases.filter(|entry| !empty(entry));
    let matrix = matrix.filter(|entry| !empty(entry));
    let project = loader.origin.project;
    let root = reuse::assemble(reader, loader, root, project);
    let rows = cases.map(|entry| rows::read(reader, &entry.value, loader));
    let matrix = matrix.map(|entry| matrix::read(reader, &entry.value));
    (root, rows, matrix)
}

/// From where to where a value goes, with all that is in it.
fn extent(node: &Node) -> Range<usize> {
    let below: Vec<Range<usize>> = match &node.value {
        NodeValue::List(items) => items.iter().map(extent).collect(),
        NodeValue::Map(entries) => entries.iter().map(|entry| extent(&entry.value)).collect(),
        _ => Vec::new(),
    };
    let whole =
        |so_far: Range<usize>, next: Range<usize>| so_far.start.min(next.start)..so_far.end.max(next.end);
    below.into_iter().fold(node.span.clone(), whole)
}

fn name_of(root: &Node) -> String {
    let NodeValue::Map(entries) = &root.value else { return String::new() };
    match entries.iter().find(|entry| entry.key == "name").map(|entry| &entry.value.value) {
        Some(NodeValue::Text(name)) => name.clone(),
        _ => String::new(),
    }
}
