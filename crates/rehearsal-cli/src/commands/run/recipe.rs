//! What a run is made from: enough to go on with it, to repeat some of it, and to tell whether another is a part of the same.
//!
//! The digest stands for what is run. It is equal exactly where the same cases run with the same seeds: the names of cases
//! in their order, the texts they come from (scenario, blocks, rows as read, what the project gives, the agent's file), the
//! models of the command line, how often, with which seed, and what else changes what a case means. It knows no path, no
//! machine, and nothing of where results go or how fast they come.

use std::collections::BTreeMap;
use std::sync::Arc;

use indexmap::IndexMap;
use rehearsal_store::Recipe;

use crate::digest::{self, Digest};
use crate::words::{self, Word};

/// The form of the digest: what is taken in, in which order.
const FORM: &str = "rehearsal run 1";
/// So many files are told apart by name.
const MOST_FILES: usize = 200;
/// So much of a file's digest is kept beside its name.
const SHORT: usize = 16;

/// Options that do not go with a run: where it is kept, which may hold a password, and which run it goes on with.
const NOT_KEPT: &[&str] = &["store", "resume"];

/// What cases are made of, whoever makes them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ingredients {
    /// The names of the cases, in order.
    pub(crate) cases: Vec<Arc<str>>,
    /// What stands for each file of cases and all that it names, by the name that people know it by.
    pub(crate) files: IndexMap<String, String>,
    /// What else changes what a case means, by name.
    pub(crate) settings: BTreeMap<&'static str, String>,
}

/// How cases are run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    pub(crate) repeat: u32,
    /// How many valid runs are wanted of each, where that is so.
    pub(crate) valid: Option<u32>,
    pub(crate) seed: u64,
    pub(crate) exact_seed: Option<u64>,
}

impl Ingredients {
    /// What a run is made from that these words began.
    pub(crate) fn recipe(&self, words: &[String], times: Times) -> Recipe {
        let folder = std::env::current_dir().map(|folder| folder.display().to_string());
        Recipe {
            arguments: kept(words),
            folder: folder.unwrap_or_default(),
            digest: self.digest(times),
            files: self
                .files
                .iter()
                .take(MOST_FILES)
                .map(|(name, digest)| (name.clone(), short(digest)))
                .collect(),
            cases: self.cases.len() as u64,
            repeat: times.repeat,
            seed: times.exact_seed.unwrap_or(times.seed),
            ..Recipe::default()
        }
    }

    fn digest(&self, Times { repeat, valid, seed, exact_seed }: Times) -> String {
        let mut digest = Digest::default();
        digest.text(FORM);
        digest.texts(self.cases.iter().map(|name| &**name));
        digest.texts(self.files.values().map(String::as_str));
        digest.texts(self.settings.iter().flat_map(|(name, value)| [*name, value.as_str()]));
        digest.text(&format!("{repeat} {valid:?} {seed} {exact_seed:?}"));
        digest.hex()
    }
}

fn short(digest: &str) -> String {
    digest.get(..SHORT).unwrap_or(digest).to_owned()
}

/// The words that begin the same run again, wherever it is kept.
fn kept(words: &[String]) -> Vec<String> {
    let Some(command) = words.first() else { return Vec::new() };
    let is_kept = |word: &Word| word.option.as_deref().is_none_or(|option| !NOT_KEPT.contains(&option));
    words::join(command, words::of(words).into_iter().filter(is_kept))
}

/// What stands for some values of the command line.
pub(crate) fn listed(values: impl IntoIterator<Item = String>) -> String {
    let mut values: Vec<String> = values.into_iter().collect();
    values.sort();
    digest::of(&values.join("\u{1f}"))
}
/// What is said about the difference between what a run was made from and what is there now.
pub(crate) fn difference(before: &Recipe, now: &Recipe) -> Vec<String> {
    let mut told = Vec::new();
    for (name, digest) in &before.files {
        match now.files.get(name) {
            None => told.push(format!("`{name}` is not run any more")),
            Some(other) if other != digest => {
                told.push(format!("`{name}`, or something that it names, has changed"));
            }
            Some(_) => {}
        }
    }
    if before.files.len() < MOST_FILES {
        let new = now.files.keys().filter(|name| !before.files.contains_key(*name));
        told.extend(new.map(|name| format!("`{name}` was not run before")));
    }
    if before.cases != now.cases {
        told.push(format!("it had {} cases and would have {} now", before.cases, now.cases));
    }
    if before.repeat != now.repeat {
        told.push(format!(
            "each case was run {} times and would be run {} times now",
            before.repeat, now.repeat
        ));
    }
    told
}
