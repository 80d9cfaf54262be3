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
    fn new(path: &Path, sources: &Sources, problem: &Problem) -> Self {
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
    fn unreadable(error: &ReadError) -> Self {
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
    /// How many problems there are beside those.
    pub(crate) left_out: usize,
}

impl ReadFile {
    /// A file with the problems that are shown of it: who has more is not helped by all of them, and each of them is a
    /// walk through the file.
    pub(crate) fn new(
        path: PathBuf,
        sources: &Sources,
        problems: &[Problem],
        is_usable: bool,
        shown: usize,
    ) -> Self {
        let told = problems.iter().take(shown).map(|problem| Finding::new(&path, sources, problem)).collect();
        Self { problems: told, left_out: problems.len().saturating_sub(shown), path, is_usable }
    }

    /// A file that cannot be read at all.
    pub(crate) fn unreadable(path: PathBuf, error: &ReadError) -> Self {
        Self { path, is_usable: false, problems: vec![Finding::unreadable(error)], left_out: 0 }
    }
}
