//! What was lost or changed on the way.

use std::fmt;
use std::path::PathBuf;

use serde::Serialize;

/// What came of a piece of the original.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// It is not in the scenario.
    Lost,
    /// It is there in another form.
    Changed,
    /// The scenario asks for more than the original does.
    Stricter,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Lost => "lost",
            Self::Changed => "changed",
            Self::Stricter => "stricter",
        })
    }
}

/// One thing that is not as it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Note {
    /// What came of it.
    pub change: Change,
    /// What it is.
    pub what: String,
    /// Why, and what stands in its place.
    pub why: String,
}

impl Note {
    pub(crate) fn new(change: Change, what: &str, why: impl Into<String>) -> Self {
        Self { change, what: what.to_owned(), why: why.into() }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.change, self.what, self.why)
    }
}

/// What became of one task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TaskReport {
    /// The task, as the original names it.
    pub task: String,
    /// Its scenario; nothing where none could be written.
    pub file: Option<PathBuf>,
    /// What is not as it was, beside what holds for every task.
    pub notes: Vec<Note>,
}

/// What was lost or changed on the way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Where the tasks are from.
    pub source: String,
    /// What holds for every task.
    pub every_task: Vec<Note>,
    /// The tasks, in the order of the original.
    pub tasks: Vec<TaskReport>,
}

impl Report {
    /// How many scenarios were written.
    pub fn written(&self) -> usize {
        self.tasks.iter().filter(|task| task.file.is_some()).count()
    }
}
