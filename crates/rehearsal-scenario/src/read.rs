//! Reading typed values from a tree, collecting every problem on the way.

use std::ops::{Range, RangeInclusive};

use rehearsal_core::edit_distance;

use crate::sources::Sources;
use crate::yaml::{Entry, Node, NodeValue};
use crate::{Problem, Severity};

mod fields;

pub(crate) use fields::Fields;

/// Which files are accepted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dialect {
    /// Ours: what has no effect is an error.
    #[default]
    Rehearsal,
    /// The one of the `ElizaOS` runner: what it drops silently is a warning.
    ElizaOs,
}

/// Collects problems while a file is read.
#[derive(Debug, Default)]
pub(crate) struct Reader<'t> {
    /// The text of the file.
    pub(crate) text: &'t str,
    pub(crate) dialect: Dialect,
    pub(crate) problems: Vec<Problem>,
    /// The files in whose texts places are; nothing where there is one text only.
    pub(crate) sources: Option<&'t Sources>,
    /// Where the lines after the first begin.
    pub(crate) lines: std::cell::OnceCell<Vec<usize>>,
}

impl Reader<'_> {
    pub(crate) fn report(&mut self, problem: Problem) {
        self.problems.push(problem);
    }

    /// Reports something that has no effect: an error, or a warning in a dialect that drops such things.
    pub(crate) fn report_without_effect(&mut self, mut problem: Problem) {
        if self.dialect == Dialect::ElizaOs {
            problem.severity = Severity::Warning;
        }
        self.problems.push(problem);
    }

    /// The number of the line at a place, from 1.
    pub(crate) fn line(&self, at: usize) -> usize {
        if let Some(sources) = self.sources {
            return sources.line(at);
        }
        let starts = self.lines.get_or_init(|| {
            self.text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1).collect()
        });
        starts.partition_point(|start| *start <= at) + 1
    }

    /// The path of the file in which something stands, where that is not the scenario's own.
    pub(crate) fn shared_file(&self, at: usize) -> Option<String> {
        let sources = self.sources.filter(|sources| sources.is_shared(at))?;
        Some(sources.path(at).display().to_string())
    }

    /// The folder of that file.
    pub(crate) fn shared_folder(&self, at: usize) -> Option<std::path::PathBuf> {
        let folder = self.sources?.folder_of(at)?;
        std::path::absolute(&folder).ok().or(Some(folder))
    }

    /// The line at a place, without the white space before it.
    pub(crate) fn line_span(&self, at: usize) -> Range<usize> {
        let before = self.text.get(..at).unwrap_or_default();
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        let rest = &self.text[start..];
        let length = rest.find(['\r', '\n']).unwrap_or(rest.len());
        let indent = length - rest[..length].trim_start().len();
        start + indent..start + length
    }

    pub(crate) fn wrong_type(&mut self, node: &Node, what: &str, expected: &str) {
        let found = node.value.kind();
        let problem = Problem::error("wrong-type", node.span.clone(), format!("{what} must be {expected}"));
        let problem = problem.label(format!("this is {found}"));
        self.report(match (&node.value, expected) {
            (NodeValue::Number(_) | NodeValue::Bool(_) | NodeValue::Date(_), "text") => {
                problem.help(format!("put it in quotes: \"{}\"", self.source(node)))
            }
            _ => problem,
        });
    }

    /// A scalar as its author wrote it; one behind an alias as it was read.
    fn source(&self, node: &Node) -> String {
        match self.text.get(node.span.clone()).map(str::trim) {
            Some(source) if !source.is_empty() && !source.starts_with('*') => source.to_owned(),
            _ => rehearsal_core::json::text(&node.to_json()).trim_matches('"').to_owned(),
        }
    }

    /// The entries of a map whose keys are the author's own; reports a value that is not one.
    pub(crate) fn names<'n>(&mut self, node: &'n Node, what: &str) -> &'n [Entry] {
        match &node.value {
            NodeValue::Map(entries) => entries,
            _ => {
                self.wrong_type(node, what, "a map");
                &[]
            }
        }
    }

    pub(crate) fn text(&mut self, node: &Node, what: &str) -> Option<String> {
        match &node.value {
            NodeValue::Text(text) => Some(text.clone()),
            _ => {
                self.wrong_type(node, what, "text");
                None
            }
        }
    }

    pub(crate) fn list<'n>(&mut self, node: &'n Node, what: &str) -> &'n [Node] {
        match &node.value {
            NodeValue::List(items) => items,
            _ => {
                self.wrong_type(node, what, "a list");
                &[]
            }
        }
    }

    pub(crate) fn texts(&mut self, node: &Node, what: &str) -> Vec<String> {
        let item = format!("an item of {what}");
        self.list(node, what).iter().filter_map(|node| self.text(node, &item)).collect()
    }

    fn number(&mut self, node: &Node, what: &str) -> Option<f64> {
        match &node.value {
            NodeValue::Number(number) => rehearsal_core::json::as_f64(number),
            _ => {
                self.wrong_type(node, what, "a number");
                None
            }
        }
    }

    fn out_of_range(&mut self, node: &Node, what: &str, range: &RangeInclusive<f64>) {
        let (low, high) = (range.start(), range.end());
        let range = match (low.is_finite(), high.is_finite()) {
            (true, true) => format!("from {low} to {high}"),
            (true, false) => format!("at least {low}"),
            _ => format!("at most {high}"),
        };
        self.report(Problem::error("out-of-range", node.span.clone(), format!("{what} must be {range}")));
    }
}

/// Finds the word in a list of words, or reports that it is not there.
pub(crate) fn choose<T: Copy>(
    reader: &mut Reader<'_>,
    node: &Node,
    text: &str,
    what: &str,
    words: &[(&str, T)],
) -> Option<T> {
    let found = words.iter().find(|(word, _)| *word == text);
    if found.is_none() {
        let known = || words.iter().map(|(word, _)| *word);
        let problem =
            Problem::error("unknown-value", node.span.clone(), format!("{what} cannot be `{text}`"));
        reader.report(match nearest(text, known()) {
            Some(word) => problem.help(format!("did you mean `{word}`?")),
            None => problem.help(format!("it can be: {}", list(known()))),
        });
    }
    found.map(|(_, value)| *value)
}

fn list<'a>(words: impl Iterator<Item = &'a str>) -> String {
    words.map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

/// The known word that a word was probably meant to be.
pub(crate) fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let folded = word.to_lowercase().replace(['_', '-'], "");
    let distances =
        known.map(|other| (edit_distance(&folded, &other.to_lowercase().replace(['_', '-'], "")), other));
    let (distance, other) = distances.min_by_key(|(distance, _)| *distance)?;
    (distance <= word.chars().count() / 3).then_some(other)
}
