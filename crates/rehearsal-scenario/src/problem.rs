//! Problems of a file: what is wrong, where, and what would be right.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

/// How bad a problem is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The file cannot be used.
    Error,
    /// The file can be used, but does not do what it seems to say.
    Warning,
}

/// Something that is wrong with a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Problem {
    /// How bad it is.
    pub severity: Severity,
    /// A short name for the kind of problem, such as `unknown-key`.
    pub code: &'static str,
    /// Where in the file, in bytes.
    pub span: Range<usize>,
    /// What is wrong.
    pub message: String,
    /// What is said at the marked place.
    pub label: String,
    /// What would be right.
    pub help: Option<String>,
}

impl Problem {
    /// A problem that makes a file unusable.
    pub fn error(code: &'static str, span: Range<usize>, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            code,
            span,
            message: message.into(),
            label: String::new(),
            help: None,
        }
    }

    /// The same problem with words at the marked place.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// The same problem with what would be right.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// The line and column of its beginning, both from 1; columns count characters.
    pub fn place(&self, text: &str) -> (usize, usize) {
        line_and_column(text, self.span.start)
    }

    /// The problem as people read it: the place, the piece of the file with the place marked, and the help.
    pub fn render(&self, file: &str, text: &str, style: Style) -> String {
        let start = floor(text, self.span.start);
        let (line, column) = self.place(text);
        // Marking the first line of a value is enough to find it, and the renderer is spared the rest of the file.
        let first = text[..start].rfind('\n').map_or(0, |at| at + 1);
        let last = text[start..].find(['\r', '\n']).map_or(text.len(), |at| start + at);
        let end = floor(text, self.span.end.max(start)).min(last);
        let (source, marked) = cut(&text[first..last], start - first..end - first);
        let shown_column = source[..marked.start].chars().count() + 1;
        let level = match self.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
        };
        let annotation = AnnotationKind::Primary.span(marked).label(&self.label);
        let snippet = Snippet::source(&*source).path(file).line_start(line).annotation(annotation);
        let group = Group::with_title(level.primary_title(&self.message).id(self.code)).element(snippet);
        let mut report = vec![group];
        if let Some(help) = &self.help {
            report.push(Group::with_title(Level::HELP.secondary_title(help)));
        }
        let renderer = match style {
            Style::Plain => Renderer::plain(),
            Style::Coloured => Renderer::styled(),
        };
        let text = renderer.render(&report);
        if shown_column == column {
            return text;
        }
        text.replacen(&format!("{file}:{line}:{shown_column}"), &format!("{file}:{line}:{column}"), 1)
    }
}

/// The line and column of a place in a text, both from 1; columns count characters.
pub fn line_and_column(text: &str, at: usize) -> (usize, usize) {
    let before = &text[..floor(text, at)];
    let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    // The mark that some editors put before a file is no column.
    (line, before[start..].trim_start_matches('\u{feff}').chars().count() + 1)
}

/// Whether a rendered problem has colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// No colours.
    Plain,
    /// Colours for a terminal.
    Coloured,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Error => "error",
            Self::Warning => "warning",
        })
    }
}

/// How much of a line is shown before and after the marked place.
const SHOWN: usize = 100;

/// A long line without what is far from the marked place, and the place in what is left.
fn cut(line: &str, marked: Range<usize>) -> (Cow<'_, str>, Range<usize>) {
    if line.len() <= 10 * SHOWN {
        return (line.into(), marked);
    }
    let from = floor(line, marked.start.saturating_sub(SHOWN));
    let to = floor(line, marked.start.saturating_add(2 * SHOWN));
    let before = if from == 0 { "" } else { "…" };
    let after = if to == line.len() { "" } else { "…" };
    let place = |at: usize| at.clamp(from, to) - from + before.len();
    (format!("{before}{}{after}", &line[from..to]).into(), place(marked.start)..place(marked.end))
}

/// The nearest place at or before `at` where a character begins.
fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}
