//! The files that a scenario is read from: its own, and those that it shares with others.
//!
//! Their texts stand behind each other, as if they were one file, so that the place of a value is one range whatever file
//! it stands in. [`Sources::at_home`] says of a problem which file it is in, and where there.

use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::Problem;
use crate::yaml::{Entry, Node, NodeValue};

/// The texts of a scenario's files; its own is the first.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    text: String,
    files: Vec<Source>,
    /// Where the lines begin, in all of them.
    lines: Vec<usize>,
}

#[derive(Clone, Debug)]
struct Source {
    place: Range<usize>,
    path: PathBuf,
}

impl Sources {
    /// The text of one file.
    pub fn of(path: &Path, text: &str) -> Self {
        Self::new(path, text)
    }

    /// The file of a scenario.
    pub(crate) fn new(path: &Path, text: &str) -> Self {
        let mut sources = Self { lines: vec![0], ..Self::default() };
        sources.add(path, text);
        sources
    }

    /// Adds a file; gives where it begins.
    pub(crate) fn add(&mut self, path: &Path, text: &str) -> usize {
        if !self.files.is_empty() {
            self.text.push('\n');
            self.lines.push(self.text.len());
        }
        let start = self.text.len();
        self.text.push_str(text);
        let breaks =
            text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| start + at + 1);
        self.lines.extend(breaks);
        self.files.push(Source { place: start..self.text.len(), path: path.to_owned() });
        start
    }

    /// All of the texts.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    fn file(&self, at: usize) -> usize {
        self.files.partition_point(|file| file.place.start <= at).saturating_sub(1)
    }

    /// Whether something stands in another file than the scenario's own.
    pub(crate) fn is_shared(&self, at: usize) -> bool {
        self.file(at) > 0
    }

    /// The number of the line at a place, from 1, in its file.
    pub(crate) fn line(&self, at: usize) -> usize {
        let whole = |at: usize| self.lines.partition_point(|start| *start <= at);
        let start = self.files.get(self.file(at)).map_or(0, |file| file.place.start);
        whole(at).saturating_sub(whole(start)) + 1
    }

    /// The folder of another file than the scenario's own, for what stands in it.
    pub(crate) fn folder_of(&self, at: usize) -> Option<PathBuf> {
        let file = self.files.get(self.file(at)).filter(|_| self.is_shared(at))?;
        Some(folder(&file.path).to_owned())
    }

    /// The number of the line at a place, from 1, in its file.
    pub fn line_of(&self, at: usize) -> usize {
        self.line(at)
    }

    /// The path of the file in which a place is.
    pub fn path(&self, at: usize) -> &Path {
        self.files.get(self.file(at)).map_or(Path::new(""), |file| &file.path)
    }

    /// The file of a problem, its text, and the problem as it stands there.
    pub fn at_home(&self, problem: &Problem) -> (&Path, &str, Problem) {
        let Some(file) = self.files.get(self.file(problem.span.start)) else {
            return (Path::new(""), &self.text, problem.clone());
        };
        let within = |at: usize| at.clamp(file.place.start, file.place.end) - file.place.start;
        let span = within(problem.span.start)..within(problem.span.end);
        (&file.path, &self.text[file.place.clone()], Problem { span, ..problem.clone() })
    }
}

/// The folder of a file.
pub(crate) fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The node of a file as it stands among the others.
pub(crate) fn moved(node: Node, by: usize) -> Node {
    let span = node.span.start + by..node.span.end + by;
    let value = match node.value {
        NodeValue::List(items) => NodeValue::List(items.into_iter().map(|item| moved(item, by)).collect()),
        NodeValue::Map(entries) => NodeValue::Map(
            entries
                .into_iter()
                .map(|entry| Entry {
                    key: entry.key,
                    key_span: entry.key_span.start + by..entry.key_span.end + by,
                    value: moved(entry.value, by),
                })
                .collect(),
        ),
        other => other,
    };
    Node { span, value }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_knows_its_file_its_line_and_its_folder() {
        let mut sources = Sources::new(Path::new("a/one.yaml"), "a: 1\nb: 2");
        let start = sources.add(Path::new("b/two.yaml"), "c: 3\nd: 4\n");
        assert_eq!((sources.line(0), sources.line(6)), (1, 2));
        assert_eq!((sources.line(start), sources.line(start + 6)), (1, 2));
        assert_eq!(sources.folder_of(6), None);
        assert_eq!(sources.folder_of(start + 6), Some(PathBuf::from("b")));
        let problem = Problem::error("x", start + 5..start + 6, "wrong");
        let (path, text, problem) = sources.at_home(&problem);
        assert_eq!((path, &text[problem.span]), (Path::new("b/two.yaml"), "d"));
    }
}
