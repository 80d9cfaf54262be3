//! Completing the names of scenarios in a shell.

use std::ffi::OsStr;
use std::path::PathBuf;

use clap_complete::CompletionCandidate;
use rehearsal_scenario::{Dialect, check};

use crate::files;

/// How many files are looked at; a shell does not wait long.
const MAX_FILES: usize = 500;

/// The names and tags of the scenarios below the current folder that begin with what was typed.
pub(crate) fn scenario_names(typed: &OsStr) -> Vec<CompletionCandidate> {
    let typed = typed.to_string_lossy().to_lowercase();
    let typed = typed.trim_start_matches('"');
    let paths = files::find(&[PathBuf::from(".")]).unwrap_or_default();
    let mut words: Vec<(String, String)> = Vec::new();
    for path in paths.iter().take(MAX_FILES) {
        let Ok(text) = files::read(path) else { continue };
        let Some(scenario) = check(&text, Dialect::Rehearsal).scenario else { continue };
        words.push((format!("\"{}\"", scenario.name), path.display().to_string()));
        words.extend(scenario.tags.iter().map(|tag| (format!("tag:{tag}"), "a tag".to_owned())));
    }
    words.sort();
    words.dedup_by(|a, b| a.0 == b.0);
    let begins = |word: &str| word.to_lowercase().trim_start_matches('"').starts_with(typed);
    words
        .into_iter()
        .filter(|(word, _)| begins(word))
        .map(|(word, help)| CompletionCandidate::new(word).help(Some(help.into())))
        .collect()
}
