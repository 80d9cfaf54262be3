//! The matrix: values by axis, and the combinations of them.

use std::collections::BTreeSet;
use std::ops::Range;

use indexmap::IndexMap;
use serde_json::Value;

use super::fill::{as_text, listed};
use crate::Problem;
use crate::file::keys::AXIS_VALUE;
use crate::read::{Reader, nearest};
use crate::yaml::{Entry, Node, NodeValue};

/// The most combinations of a matrix.
const MAX_COMBINATIONS: usize = 100_000;

/// The axes of a matrix, and which combinations of their values there are.
#[derive(Clone, Debug, Default)]
pub(crate) struct Matrix {
    pub(crate) axes: Vec<Axis>,
    /// For each combination, which value of each axis.
    combinations: Vec<Vec<usize>>,
}

/// An axis.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    pub(crate) name: String,
    pub(crate) values: Vec<AxisValue>,
}

/// A value of an axis.
#[derive(Clone, Debug)]
pub(crate) struct AxisValue {
    /// What it is called.
    pub(crate) label: String,
    /// What placeholders stand for.
    pub(crate) value: Value,
    /// What it sets, by paths.
    pub(crate) set: Vec<Set>,
}

/// A value for a place of the scenario.
#[derive(Clone, Debug)]
pub(crate) struct Set {
    pub(crate) path: String,
    pub(crate) value: Node,
    /// Where the path is written.
    pub(crate) place: Range<usize>,
}

impl Matrix {
    /// All combinations of these axes; the last axis changes first.
    pub(crate) fn of(axes: Vec<Axis>) -> Self {
        let mut combinations: Vec<Vec<usize>> = vec![Vec::new()];
        for axis in &axes {
            combinations = combinations
                .iter()
                .flat_map(|so_far| {
                    (0..axis.values.len()).map(|at| [so_far.as_slice(), &[at]].concat()).collect::<Vec<_>>()
                })
                .take(MAX_COMBINATIONS + 1)
                .collect();
        }
        Self { axes, combinations }
    }

    pub(crate) fn len(&self) -> usize {
        self.combinations.len()
    }

    /// The values of a combination, by their axes.
    pub(crate) fn variant(&self, at: usize) -> IndexMap<String, (String, Value)> {
        self.chosen(at)
            .map(|(axis, value)| (axis.name.clone(), (value.label.clone(), value.value.clone())))
            .collect()
    }

    fn chosen(&self, at: usize) -> impl Iterator<Item = (&Axis, &AxisValue)> {
        self.axes.iter().zip(&self.combinations[at]).map(|(axis, value)| (axis, &axis.values[*value]))
    }

    /// A combination in words.
    pub(crate) fn words(&self, at: usize) -> String {
        let words: Vec<String> =
            self.chosen(at).map(|(axis, value)| format!("{}={}", axis.name, value.label)).collect();
        words.join(", ")
    }

    /// Sets what a combination sets.
    pub(crate) fn apply(&self, at: usize, root: &mut Node) {
        for (_, value) in self.chosen(at) {
            for set in &value.set {
                // That the path is there was seen when the file was read.
                if let Ok(place) = at_path(root, &set.path) {
                    *place = set.value.clone();
                }
            }
        }
    }

    /// What is wrong with the paths at which values are set.
    pub(crate) fn report_paths(&self, reader: &mut Reader<'_>, root: &Node) {
        let mut root = root.clone();
        let mut told = BTreeSet::new();
        let values = self.axes.iter().flat_map(|axis| &axis.values);
        for set in values.flat_map(|value| &value.set) {
            let Err(NoPath { at, missing, known }) = at_path(&mut root, &set.path) else { continue };
            if !told.insert((set.path.clone(), set.place.start)) {
                continue;
            }
            let whole = if at.is_empty() { "the scenario".to_owned() } else { format!("`{at}`") };
            let message = format!("`{}`: there is no `{missing}` in {whole}", set.path);
            let problem = Problem::error("no-path", set.place.clone(), message);
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            let word = missing.split('.').next().unwrap_or_default();
            reader.report(match nearest(word, known.iter().copied()) {
                Some(near) => problem.help(format!("did you mean `{near}`?")),
                None if known.is_empty() => problem,
                None => {
                    problem.help(format!("what is set must be there already; there are: {}", listed(&known)))
                }
            });
        }
    }
}

/// Where a path ends, and what there is.
#[derive(Debug)]
struct NoPath {
    /// The path as far as it goes.
    at: String,
    /// The rest of it.
    missing: String,
    known: Vec<String>,
}

/// The value at a path such as `run.0.input` or `run[0].input`.
fn at_path<'n>(root: &'n mut Node, path: &str) -> Result<&'n mut Node, NoPath> {
    let path = path.replace('[', ".").replace(']', "");
    let mut node = root;
    let mut rest = path.trim_start_matches('.');
    let mut gone = String::new();
    while !rest.is_empty() {
        let (step, next) = match &mut node.value {
            NodeValue::Map(entries) => {
                // A key may have dots itself: the longest that is there is meant.
                let found = ends(rest).into_iter().rev().find_map(|end| {
                    let key = rest.get(..end)?;
                    entries.iter().position(|entry| entry.key == key).map(|at| (end, at))
                });
                let Some((end, at)) = found else {
                    let known = entries.iter().map(|entry| entry.key.clone()).collect();
                    return Err(NoPath { at: gone, missing: rest.to_owned(), known });
                };
                (end, &mut entries[at].value)
            }
            NodeValue::List(items) => {
                let end = rest.find('.').unwrap_or(rest.len());
                let count = items.len();
                match rest[..end].parse::<usize>().ok().filter(|at| *at < count) {
                    Some(at) => (end, &mut items[at]),
                    None => {
                        let known = (0..count).map(|at| at.to_string()).collect();
                        return Err(NoPath { at: gone, missing: rest.to_owned(), known });
                    }
                }
            }
            _ => return Err(NoPath { at: gone, missing: rest.to_owned(), known: Vec::new() }),
        };
        if !gone.is_empty() {
            gone.push('.');
        }
        gone.push_str(&rest[..step]);
        rest = rest[step..].trim_start_matches('.');
        node = next;
    }
    Ok(node)
}

/// Where a first key could end: before each dot, and at the end.
fn ends(path: &str) -> Vec<usize> {
    path.match_indices('.').map(|(at, _)| at).chain([path.len()]).collect()
}

/// Reads `matrix`.
pub(crate) fn read(reader: &mut Reader<'_>, node: &Node) -> Option<Matrix> {
    let entries = reader.names(node, "`matrix`").to_vec();
    let before = reader.problems.len();
    let (mut axes, mut exclude, mut include) = (Vec::new(), None, None);
    for entry in &entries {
        match entry.key.as_str() {
            "exclude" => exclude = Some(entry),
            "include" => include = Some(entry),
            _ => axes.push(read_axis(reader, entry)),
        }
    }
    if axes.is_empty() {
        if reader.problems.len() == before {
            let problem =
                Problem::error("no-axes", node.span.clone(), "a matrix without axes multiplies nothing");
            reader.report(problem.help("add an axis: tone: [short, friendly]"));
        }
        return None;
    }
    let mut matrix = Matrix::of(axes);
    if let Some(entry) = exclude {
        leave_out(reader, &mut matrix, entry);
    }
    if let Some(entry) = include {
        add(reader, &mut matrix, entry);
    }
    if matrix.len() == 0 && reader.problems.len() == before {
        let problem = Problem::error("no-axes", node.span.clone(), "`exclude` leaves out every combination");
        reader.report(problem);
    }
    if matrix.len() > MAX_COMBINATIONS {
        let message = format!("the matrix has more than {MAX_COMBINATIONS} combinations");
        reader.report(Problem::error("too-large", node.span.clone(), message));
    }
    (reader.problems.len() == before).then_some(matrix)
}

fn read_axis(reader: &mut Reader<'_>, entry: &Entry) -> Axis {
    let what = format!("axis `{}` of `matrix`", entry.key);
    let items = reader.list(&entry.value, &what);
    if items.is_empty() && matches!(entry.value.value, NodeValue::List(_)) {
        let problem = Problem::error("empty", entry.value.span.clone(), format!("{what} has no values"));
        reader.report(problem.help("give it a value, or remove it"));
    }
    let mut values: Vec<AxisValue> = Vec::new();
    for item in items {
        let Some(value) = read_value(reader, item, &what) else { continue };
        if values.iter().any(|other| other.label == value.label) {
            let message = format!("two values of {what} are called `{}`", value.label);
            reader.report(Problem::error("duplicate", item.span.clone(), message));
        }
        values.push(value);
    }
    Axis { name: entry.key.clone(), values }
}

fn read_value(reader: &mut Reader<'_>, node: &Node, what: &str) -> Option<AxisValue> {
    if is_scalar(node) {
        let value = node.to_json();
        return Some(AxisValue { label: as_text(&value), value, set: Vec::new() });
    }
    if !matches!(node.value, NodeValue::Map(_)) {
        reader.wrong_type(
            node,
            &format!("a value of {what}"),
            "a text, a number, true or false, or a map with a name",
        );
        return None;
    }
    let mut fields = reader.fields(node, format!("a value of {what}"), &AXIS_VALUE)?;
    let label = fields.text(reader, "name");
    if let (Some(label), Some(place)) = (&label, fields.get("name"))
        && !(1..=200).contains(&label.chars().count())
    {
        let message = format!("the name of a value of {what} has 1 to 200 characters");
        reader.report(Problem::error("out-of-range", place.span.clone(), message));
    }
    let value = fields.get_or_null("value").map(Node::to_json);
    let mut set = Vec::new();
    if let Some(node) = fields.get("set") {
        let entries = reader.names(node, "`set`");
        if entries.is_empty() && matches!(node.value, NodeValue::Map(_)) {
            reader.report(Problem::error("empty", node.span.clone(), "`set` sets nothing").help("remove it"));
        }
        set = entries
            .iter()
            .map(|entry| Set {
                path: entry.key.clone(),
                value: entry.value.clone(),
                place: entry.key_span.clone(),
            })
            .collect();
    }
    fields.finish(reader);
    let label = label?;
    Some(AxisValue { value: value.unwrap_or_else(|| Value::String(label.clone())), label, set })
}

fn is_scalar(node: &Node) -> bool {
    matches!(node.value, NodeValue::Text(_) | NodeValue::Number(_) | NodeValue::Bool(_) | NodeValue::Date(_))
}

/// A combination as it is written: labels by axis, each with its place.
fn combination(
    reader: &mut Reader<'_>,
    matrix: &Matrix,
    node: &Node,
) -> Option<Vec<(usize, Value, Range<usize>)>> {
    let entries = reader.names(node, "a combination of `matrix`").to_vec();
    if entries.is_empty() {
        if matches!(node.value, NodeValue::Map(_)) {
            let problem = Problem::error("empty", node.span.clone(), "this combination names no axis");
            reader.report(problem.help("name one and its value"));
        }
        return None;
    }
    let mut named = Vec::new();
    for entry in entries {
        let Some(axis) = matrix.axes.iter().position(|axis| axis.name == entry.key) else {
            let message = format!("the matrix has no axis `{}`", entry.key);
            let problem = Problem::error("unknown-axis", entry.key_span.clone(), message);
            let known: Vec<&str> = matrix.axes.iter().map(|axis| axis.name.as_str()).collect();
            reader.report(match nearest(&entry.key, known.iter().copied()) {
                Some(near) => problem.help(format!("did you mean `{near}`?")),
                None => problem.help(format!("its axes are: {}", listed(&known))),
            });
            return None;
        };
        if !is_scalar(&entry.value) {
            let what = format!("the value of axis `{}`", entry.key);
            reader.wrong_type(&entry.value, &what, "a text, a number, or true or false");
            return None;
        }
        named.push((axis, entry.value.to_json(), entry.value.span.clone()));
    }
    Some(named)
}

fn leave_out(reader: &mut Reader<'_>, matrix: &mut Matrix, entry: &Entry) {
    for item in reader.list(&entry.value, "`exclude` of `matrix`") {
        let Some(named) = combination(reader, matrix, item) else { continue };
        let before = matrix.combinations.len();
        let Matrix { axes, combinations } = matrix;
        let fits = |at: usize, axis: usize, value: &Value| axes[axis].values[at].label == as_text(value);
        combinations.retain(|chosen| !named.iter().all(|(axis, value, _)| fits(chosen[*axis], *axis, value)));
        if combinations.len() == before {
            let problem = Problem::error("no-effect", item.span.clone(), "no combination has these values");
            let unknown = named.iter().find_map(|(axis, value, _)| {
                let labels = axes[*axis].values.iter().map(|one| one.label.as_str());
                let value = as_text(value);
                if axes[*axis].values.iter().any(|one| one.label == value) {
                    None
                } else {
                    nearest(&value, labels)
                }
            });
            reader.report(match unknown {
                Some(near) => problem.help(format!("did you mean `{near}`?")),
                None => problem.help("remove it"),
            });
        }
    }
}

fn add(reader: &mut Reader<'_>, matrix: &mut Matrix, entry: &Entry) {
    for item in reader.list(&entry.value, "`include` of `matrix`") {
        let Some(named) = combination(reader, matrix, item) else { continue };
        let mut chosen = Vec::new();
        for at in 0..matrix.axes.len() {
            let Some((_, value, _)) = named.iter().find(|(axis, _, _)| *axis == at) else {
                let message = format!("this combination has no value for axis `{}`", matrix.axes[at].name);
                let problem = Problem::error("missing-key", item.span.clone(), message);
                reader.report(problem.help(format!("add: {}: …", matrix.axes[at].name)));
                return;
            };
            let (label, values) = (as_text(value), &mut matrix.axes[at].values);
            let known = values.iter().position(|one| one.label == label);
            chosen.push(known.unwrap_or_else(|| {
                values.push(AxisValue { label, value: value.clone(), set: Vec::new() });
                values.len() - 1
            }));
        }
        if matrix.combinations.contains(&chosen) {
            let problem = Problem::error("no-effect", item.span.clone(), "this combination is there already");
            reader.report(problem.help("remove it"));
            continue;
        }
        matrix.combinations.push(chosen);
    }
}
