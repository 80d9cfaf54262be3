//! An evaluator is one file and one line: every file of the folder stands in the list once, and no other source file has to
//! know of it.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use rehearsal_metrics::evaluator::KINDS;

/// The places outside of its file where an evaluator is named all the same, each with the reason. An evaluator that is added
/// needs none of them; one that is not in this table and is named elsewhere fails the test, and so does a place that is gone.
const NAMED_ELSEWHERE: [(&str, &str, &str); 11] = [
    ("tool_called", "rehearsal-scenario/src/lint/fits.rs", "its arguments are held to the tool's schema"),
    ("tool_called", "rehearsal-scenario/src/lib.rs", "it is re-exported for the same"),
    ("tool_not_called", "rehearsal-scenario/src/lint/fits.rs", "its arguments are held to the tool's schema"),
    ("state", "rehearsal-scenario/src/lint/fits.rs", "its paths are held to the state that there is"),
    ("file_contains", "rehearsal-scenario/src/file/placeholders.rs", "its text is no template"),
    ("equals", "rehearsal-metrics/src/evaluator/json_path.rs", "what is asked of a value has its name"),
    ("equals", "rehearsal-metrics/src/final_response.rs", "what is asked of a final response has its name"),
    (
        "llm_judge",
        "rehearsal-scenario/src/file/conversation.rs",
        "a key of ends of conversations has its name",
    ),
    ("llm_judge", "rehearsal-scenario/src/file/keys/steps.rs", "the same key"),
    ("llm_judge", "rehearsal-cli/src/commands/import/benchmark.rs", "the command to type next names a judge"),
    (
        "llm_judge",
        "rehearsal-metrics/src/evaluator/user_satisfaction.rs",
        "a method of measurement has its name",
    ),
];

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// The code of a file: without comments that have a line of their own, and without its tests.
fn code(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap();
    let text = text.split("#[cfg(test)]").next().unwrap_or_default();
    text.split_inclusive('\n').filter(|line| !line.trim_start().starts_with("//")).collect()
}

/// The Rust files under a folder, those of tests left out.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let is_test = path.file_stem().is_some_and(|stem| stem == "tests");
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|word| word == "rs") && !is_test {
            found.push(path);
        }
    }
}

/// The list of evaluators as it is written: each with the name of its file and of its type.
fn listed() -> Vec<(String, String)> {
    let source = code(&crates().join("rehearsal-metrics/src/evaluator.rs"));
    let (_, list) = source.split_once("\nevaluators! {\n").unwrap();
    let (list, _) = list.split_once("\n}").unwrap();
    let pair = |line: &str| {
        let (module, kind) = line.trim().trim_end_matches(',').split_once("::").unwrap();
        (module.to_owned(), kind.to_owned())
    };
    list.lines().map(pair).collect()
}

#[test]
fn every_file_with_an_evaluator_is_one_line_of_the_list() {
    let mut files = Vec::new();
    sources(&crates().join("rehearsal-metrics/src/evaluator"), &mut files);
    let is_evaluator = |path: &&PathBuf| code(path).contains("impl Evaluator for ");
    let files: Vec<&PathBuf> = files.iter().filter(is_evaluator).collect();
    let mut names: Vec<&str> = files.iter().map(|path| path.file_stem().unwrap().to_str().unwrap()).collect();
    let listed = listed();
    let mut lines: Vec<&str> = listed.iter().map(|(module, _)| module.as_str()).collect();
    let kinds: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
    assert_eq!(lines, kinds, "a file is named for the `type` of its evaluator");
    names.sort_unstable();
    lines.sort_unstable();
    assert_eq!(names, lines);
    for path in files {
        assert_eq!(code(path).matches("impl Evaluator for ").count(), 1, "{}", path.display());
    }
}

#[test]
fn no_other_source_file_has_to_know_of_an_evaluator() {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(crates()).unwrap() {
        let folder = entry.unwrap().path().join("src");
        // What is written for others to run is a scenario file, which names evaluators as its readers do.
        if folder.is_dir() && !folder.starts_with(crates().join("rehearsal-exchange")) {
            sources(&folder, &mut files);
        }
    }
    assert!(files.len() > 300, "{}", files.len());
    let mut found = BTreeSet::new();
    for path in files {
        let place = path.strip_prefix(crates()).unwrap().to_str().unwrap().to_owned();
        let text = code(&path);
        for (module, kind) in listed() {
            let own = format!("rehearsal-metrics/src/evaluator/{module}.rs");
            if place != own && place != "rehearsal-metrics/src/evaluator.rs" && names(&text, &module, &kind) {
                found.insert((module, place.clone()));
            }
        }
    }
    let known: BTreeSet<(String, String)> =
        NAMED_ELSEWHERE.iter().map(|(name, place, _)| ((*name).to_owned(), (*place).to_owned())).collect();
    assert_eq!(found, known);
}

/// Whether code names an evaluator: its variant, its type by way of the module, or the word under `type`. A word that is
/// one plain noun, such as `state`, says too little to be looked for.
fn names(code: &str, module: &str, kind: &str) -> bool {
    let is_word = |rest: &str| !rest.starts_with(|next: char| next.is_alphanumeric() || next == '_');
    let follows =
        |before: &str| code.match_indices(before).any(|(at, _)| is_word(&code[at + before.len()..]));
    let imported = code.split("evaluator::{").skip(1).any(|rest| {
        let group = rest.split('}').next().unwrap_or_default();
        group.split(',').any(|name| name.trim() == kind)
    });
    let quoted = module.contains('_') && code.contains(&format!("\"{module}\""));
    imported || quoted || follows(&format!("Check::{kind}")) || follows(&format!("evaluator::{kind}"))
}
