//! Merging the parts of a run that was spread over several processes or machines into one run.
//!
//! [`Merge::of`] looks at all parts before anything is written, and refuses what does not make a whole run.
//! [`Merge::join`] then brings their cases over, a block at a time.

use std::collections::BTreeMap;
use std::fmt;

use rehearsal_core::{RunResult, Shard};
use rehearsal_store::{Recipe, RunRecord, RunStatus, StoreError, StoreRef};

mod join;

pub use join::{Joined, title_of_part};

/// Where a part is kept.
#[derive(Clone, Debug)]
pub enum Source {
    /// In a store that is open.
    Open(StoreRef),
    /// In one that is opened when its turn comes: there may be hundreds.
    Place(String),
}

impl Source {
    async fn open(&self) -> Result<StoreRef, StoreError> {
        match self {
            Self::Open(store) => Ok(store.clone()),
            Self::Place(place) => rehearsal_store::open(place).await,
        }
    }
}

/// A run that may be a part of another, as somebody kept it.
#[derive(Clone, Debug)]
pub struct PartRun {
    /// The store that has it.
    pub source: Source,
    /// What is known of it, without what its cases came to.
    pub run: RunRecord,
    /// Where people find it, in words.
    pub from: String,
}

impl fmt::Display for PartRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = self.run.id.get(..8).unwrap_or(&self.run.id);
        write!(f, "run {id} in {}", self.from)
    }
}

/// Why parts were not merged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MergeError {
    /// There is none.
    #[error("there is no part of a run to merge")]
    Nothing,
    /// A run that is no part.
    #[error("{0} is no part of a run: it was run without a shard")]
    NotAPart(String),
    /// Parts of different runs.
    #[error(
        "{one} and {other} are parts of different runs: their cases, files, models, repeats or seeds differ"
    )]
    Different {
        /// One part.
        one: String,
        /// Another.
        other: String,
    },
    /// Parts that were made in different ways, so that a case may be in none of them or in two.
    #[error("the cases were split in different ways: {one} is {first}, {other} is {second}")]
    OtherSplit {
        /// One part.
        one: String,
        /// How it was made.
        first: String,
        /// Another.
        other: String,
        /// How that was made.
        second: String,
    },
    /// Parts are not there.
    #[error("{} of {of} missing: {}", is_or_are(missing.len()), list(missing))]
    Missing {
        /// Which.
        missing: Vec<Shard>,
        /// How many there should be.
        of: u32,
    },
    /// A part has not come to its end.
    #[error("part {shard} did not come to its end: {run} {}", status_in_words(*status))]
    Unfinished {
        /// Which part.
        shard: Shard,
        /// The run, and where it is.
        run: String,
        /// Its id.
        id: String,
        /// How it stands.
        status: RunStatus,
    },
    /// A case is in two parts.
    #[error("`{name}` #{} is in two parts: {first} and {second}", repeat + 1)]
    Twice {
        /// The case.
        name: String,
        /// Which repeat of it, from 0.
        repeat: u32,
        /// One of them.
        first: Shard,
        /// The other.
        second: Shard,
    },
    /// A part does not have what it says.
    #[error("part {shard} is not whole: {run} says that {said} cases ended, and {kept} are kept")]
    NotWhole {
        /// Which part.
        shard: Shard,
        /// The run, and where it is.
        run: String,
        /// How many it says.
        said: u64,
        /// How many there are.
        kept: u64,
    },
    /// The parts do not have as many cases as the run.
    #[error("the parts have {found} runs of cases together, and the run has {whole}")]
    Gap {
        /// How many they have.
        found: u64,
        /// How many it has.
        whole: u64,
    },
    /// What a part came to cannot be read.
    #[error("what {run} came to cannot be read: {why}")]
    Unreadable {
        /// The run, and where it is.
        run: String,
        /// Why.
        why: String,
    },
    /// A file for a ledger cannot be written.
    #[error("a ledger cannot be written: {0}")]
    File(#[from] std::io::Error),
    /// A store fails.
    #[error(transparent)]
    Store(#[from] StoreError),
}

fn is_or_are(count: usize) -> String {
    if count == 1 { "1 part".to_owned() } else { format!("{count} parts") }
}

fn list(shards: &[Shard]) -> String {
    const MOST: usize = 20;
    let mut named: Vec<String> = shards.iter().take(MOST).map(ToString::to_string).collect();
    if shards.len() > MOST {
        named.push("…".to_owned());
    }
    named.join(", ")
}

fn status_in_words(status: RunStatus) -> &'static str {
    match status {
        RunStatus::Running => "goes on, or was killed",
        RunStatus::Interrupted => "was interrupted",
        RunStatus::Passed | RunStatus::Failed | RunStatus::Error => "has no result",
    }
}

/// The parts of a run, each there once and whole.
#[derive(Debug)]
pub struct Merge {
    /// What the whole run is made from.
    recipe: Recipe,
    parts: Vec<Part>,
}

/// A part that counts.
#[derive(Debug)]
struct Part {
    shard: Shard,
    recipe: Recipe,
    run: PartRun,
    result: RunResult,
    attempts: u32,
}

impl Merge {
    /// Looks at the parts of a run. Of a part that was run more than once, the last that came to its end counts.
    ///
    /// # Errors
    /// They are not all parts of one run, or not all parts of it, or one has not come to its end.
    pub fn of(runs: Vec<PartRun>) -> Result<Self, MergeError> {
        let mut tries: BTreeMap<Shard, BTreeMap<String, PartRun>> = BTreeMap::new();
        let mut first: Option<(Recipe, String)> = None;
        for run in runs {
            let recipe = run.run.about.recipe.as_deref().cloned().unwrap_or_default();
            let shard = recipe.shard.ok_or_else(|| MergeError::NotAPart(run.to_string()))?;
            match &first {
                None => first = Some((recipe, run.to_string())),
                Some((other, name)) => same(other, name, &recipe, &run.to_string())?,
            }
            let tries = tries.entry(shard).or_default();
            // A copy that was made while the run went on is older than the run.
            if tries.get(&run.run.id).is_none_or(|other| order(other) < order(&run)) {
                tries.insert(run.run.id.clone(), run);
            }
        }
        let (recipe, _) = first.ok_or(MergeError::Nothing)?;
        let of = recipe.shard.map_or(0, |shard| shard.of);
        let shards = (1..=of).map(|index| Shard { index, of });
        let missing: Vec<Shard> = shards.filter(|shard| !tries.contains_key(shard)).collect();
        if !missing.is_empty() {
            return Err(MergeError::Missing { missing, of });
        }
        let parts = tries.into_iter().map(|(shard, tries)| part(shard, tries.into_values().collect()));
        let parts = parts.collect::<Result<Vec<_>, _>>()?;
        let found = parts.iter().map(|part| u64::from(part.result.suite.summary.total)).sum();
        let whole = recipe.cases * u64::from(recipe.repeat.max(1));
        if found != whole {
            return Err(MergeError::Gap { found, whole });
        }
        let recipe = Recipe { shard: None, plan: None, machine: None, attempt: None, ..recipe };
        Ok(Self { recipe, parts })
    }

    /// The words that stand for the whole run.
    pub fn set_words(&mut self, words: Vec<String>) {
        self.recipe.arguments = words;
    }

    /// What the whole run is made from. Its words are those of the first part, unless told otherwise.
    pub fn recipe(&self) -> &Recipe {
        &self.recipe
    }

    /// The name that all parts were given, if they were given one.
    pub fn name(&self) -> Option<&str> {
        let name = |part: &Part| part.run.run.about.name.clone();
        let first = self.parts.first()?;
        self.parts.iter().all(|part| name(part) == name(first)).then_some(())?;
        first.run.run.about.name.as_deref()
    }

    /// How many parts there are.
    pub fn shards(&self) -> usize {
        self.parts.len()
    }
}

/// Where a run stands among the tries of a part: those that came to their end come last, the newest of them at the end.
fn order(run: &PartRun) -> (bool, Option<i64>, i64) {
    (is_whole(run), run.run.ended_at, run.run.started_at)
}

fn is_whole(run: &PartRun) -> bool {
    let ended = matches!(run.run.status, RunStatus::Passed | RunStatus::Failed | RunStatus::Error);
    ended && run.run.result.is_some()
}

/// Refuses parts that do not belong together.
fn same(one: &Recipe, first: &str, other: &Recipe, second: &str) -> Result<(), MergeError> {
    let meaning = |recipe: &Recipe| (recipe.digest.clone(), recipe.cases, recipe.repeat, recipe.seed);
    if one.digest.is_empty() || meaning(one) != meaning(other) {
        return Err(MergeError::Different { one: first.to_owned(), other: second.to_owned() });
    }
    let of = |recipe: &Recipe| recipe.shard.map(|shard| shard.of);
    if of(one) == of(other) && one.plan == other.plan {
        return Ok(());
    }
    let split = |recipe: &Recipe| {
        let shard = recipe.shard.map_or_else(String::new, |shard| shard.to_string());
        match &recipe.plan {
            Some(plan) => format!("part {shard} by plan {}", plan.get(..8).unwrap_or(plan)),
            None => format!("part {shard} by hash"),
        }
    };
    Err(MergeError::OtherSplit {
        one: first.to_owned(),
        first: split(one),
        other: second.to_owned(),
        second: split(other),
    })
}

/// The try of a part that counts.
fn part(shard: Shard, mut tries: Vec<PartRun>) -> Result<Part, MergeError> {
    tries.sort_by_key(order);
    let begun = tries.iter().filter_map(|run| run.run.about.recipe.as_ref()?.attempt).max().unwrap_or(1);
    let attempts = begun.max(u32::try_from(tries.len()).unwrap_or(u32::MAX));
    let run = tries.pop().ok_or(MergeError::Nothing)?;
    let named = run.to_string();
    let unfinished = || MergeError::Unfinished {
        shard,
        run: named.clone(),
        id: run.run.id.clone(),
        status: run.run.status,
    };
    let result = run.run.result.clone().filter(|_| is_whole(&run)).ok_or_else(unfinished)?;
    let result = RunResult::read(result);
    let result =
        result.map_err(|error| MergeError::Unreadable { run: named.clone(), why: error.to_string() })?;
    if result.interrupted {
        return Err(unfinished());
    }
    let recipe = run.run.about.recipe.as_deref().cloned().unwrap_or_default();
    Ok(Part { shard, recipe, run, result, attempts })
}
