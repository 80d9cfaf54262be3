//! Other people's formats: their benchmarks, read as scenario files, and runs as files that their engines read.
//!
//! [`tau2`] reads the tasks of tau2-bench, [`bfcl`] the multi-turn entries of the Berkeley Function-Calling Leaderboard.
//! Both write scenarios whose world is a small program over the *original* tools, which the reader has installed; what
//! could not be carried over as it was stands in the [`Report`], task by task. [`parquet`] writes what a run came to.

pub mod bfcl;
pub mod parquet;
mod read;
mod report;
pub mod tau2;
mod yaml;

use std::path::PathBuf;

pub use read::ImportError;
pub use report::{Change, Note, Report, TaskReport};

/// The name of the file that holds the report.
pub const REPORT_FILE: &str = "loss-report.json";

/// What is to be written.
#[derive(Clone, Debug, PartialEq)]
pub struct Import {
    /// The files, by their paths below the folder they go to.
    pub files: Vec<(PathBuf, String)>,
    /// What was lost or changed.
    pub report: Report,
}

impl Import {
    /// All files, the report among them.
    pub fn into_files(self) -> Vec<(PathBuf, String)> {
        let report = rehearsal_core::json::to_string_pretty(&self.report);
        let report = report.unwrap_or_else(|error| unreachable!("a report is texts and lists: {error}"));
        let mut files = self.files;
        files.push((PathBuf::from(REPORT_FILE), report + "\n"));
        files
    }
}

/// A name for a file, made from that of a task.
fn file_name(task: &str) -> String {
    let mut name = String::new();
    for letter in task.chars() {
        let kept = if letter.is_ascii_alphanumeric() || letter == '_' { letter } else { '-' };
        if kept != '-' || !(name.is_empty() || name.ends_with('-')) {
            name.push(kept);
        }
    }
    name.trim_end_matches('-').to_owned()
}
