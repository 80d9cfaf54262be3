//! What was found in files, as programs read it.

use std::path::{Path, PathBuf};

use rehearsal_scenario::{Problem, Severity, Sources, Style};
use serde::Serialize;

use crate::files::ReadError;

/// What is wrong with a file, as programs read it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Finding {
    severity: String,
    code: &'static str,
    /// The file in which it is, where that is another one, which several share.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<usize>,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<String>,
    /// As a terminal shows it, with the piece of the file.
    shown: String,
}

impl Finding {
    pub(crate) fn new(path: &Path, sources: &Sources, problem: &Problem) -> Self {
        let (home, text, problem) = sources.at_home(problem);
        let (line, column) = problem.place(text);
        Self {
            file: (home != path).then(|| home.display().to_string()),
            severity: problem.severity.to_string(),
            code: problem.code,
            line: Some(line),
            column: Some(column),
            message: problem.message.clone(),
            help: problem.help.clone(),
            shown: problem.render(&home.display().to_string(), text, Style::Plain),
        }
    }

    /// That a file cannot be read at all.
    pub(crate) fn unreadable(error: &ReadError) -> Self {
        let message = error.to_string();
        Self {
            severity: Severity::Error.to_string(),
            code: "unreadable",
            file: None,
            line: None,
            column: None,
            help: None,
            shown: format!("error: {message}"),
            message,
        }
    }
}

/// A file that was read, and what is wrong with it.
#[derive(Clone, Debug)]
pub(crate) struct ReadFile {
    pub(crate) path: PathBuf,
    pub(crate) is_usable: bool,
    pub(crate) problems: Vec<Finding>,
}
