//! Plans of sharding: which part of a run has which run of a case, so that all parts take about as long.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use rehearsal_core::{Chance, Shard};
use rehearsal_sim::{CaseId, case_ids};
use serde::{Deserialize, Serialize};

/// The version of the form in which plans are written.
const VERSION: u32 = 1;

/// Which part of a run has which run of a case, by their names. What it does not name, the hash of the case places.
///
/// ```
/// use rehearsal_core::Shard;
/// use rehearsal_run::Split;
///
/// let names = ["slow", "quick", "brisk"];
/// let split = Split::balanced("an earlier run", 2, &names, 1, |order| [Some(900), Some(300), Some(500)][order]);
/// let turns = |index| split.turns(Shard { index, of: 2 }, &names, 1).unwrap().orders;
/// assert_eq!((turns(1), turns(2)), (vec![0], vec![1, 2]));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Split {
    /// The version of this form.
    version: u32,
    /// How many parts there are.
    shards: u32,
    /// The run whose durations it was made from.
    from: String,
    /// The cases, in the order of their suite.
    cases: Vec<SplitCase>,
}

/// Where the repeats of a case are run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SplitCase {
    name: String,
    /// How many cases before it have the same name.
    #[serde(default, skip_serializing_if = "is_none")]
    namesake: u64,
    /// The part of each repeat, from 1.
    parts: Vec<u32>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_none(count: &u64) -> bool {
    *count == 0
}

/// Why a plan cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SplitError {
    /// It is no plan.
    #[error("it is no plan of the parts of a run: {0}")]
    Form(String),
    /// It has another number of parts.
    #[error("it is for {planned} parts, and this is part {shard}")]
    Parts {
        /// How many it has.
        planned: u32,
        /// Which part was asked for.
        shard: Shard,
    },
    /// It is a plan of something else.
    #[error("it names none of the cases that are run here")]
    Elsewhere,
}

/// What a part of a run has by a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedTurns {
    /// Its runs of cases, by their places among all runs.
    pub orders: Vec<usize>,
    /// How many runs of cases the plan does not name: the hash places them.
    pub new: usize,
    /// How many runs the plan names that there are no more.
    pub gone: usize,
}

impl Split {
    /// Places the runs of cases with these names so that all parts take about as long: the longest first, each to the part
    /// that has least to do. What is not known to have taken any time is taken to last as long as the others do.
    pub fn balanced(
        from: &str,
        shards: u32,
        names: &[impl AsRef<str>],
        repeat: u32,
        duration_ms: impl Fn(usize) -> Option<u64>,
    ) -> Self {
        let repeat = repeat.max(1) as usize;
        let known: Vec<Option<u64>> = (0..names.len() * repeat).map(duration_ms).collect();
        let usual = mean(&known).unwrap_or(1);
        // One case lasts longer than another; that one of its repeats did is chance.
        let of_case = |case: usize| mean(&known[case * repeat..(case + 1) * repeat]).unwrap_or(usual);
        let mut all: Vec<(Reverse<u64>, usize)> = Vec::with_capacity(known.len());
        for case in 0..names.len() {
            let lasts = of_case(case).max(1);
            all.extend((0..repeat).map(|turn| (Reverse(lasts), case * repeat + turn)));
        }
        all.sort_unstable();
        let mut loads: BinaryHeap<Reverse<(u64, u32)>> =
            (1..=shards.max(1)).map(|part| Reverse((0, part))).collect();
        let mut parts = vec![0; known.len()];
        for (Reverse(lasts), order) in all {
            let Some(Reverse((load, part))) = loads.pop() else { break };
            parts[order] = part;
            loads.push(Reverse((load + lasts, part)));
        }
        let ids = case_ids(names.iter().map(AsRef::as_ref), 1);
        let cases = ids.zip(parts.chunks(repeat)).map(|(id, parts)| SplitCase {
            name: id.name.to_owned(),
            namesake: id.namesake,
            parts: parts.to_vec(),
        });
        Self { version: VERSION, shards, from: from.to_owned(), cases: cases.collect() }
    }

    /// Reads a plan.
    ///
    /// # Errors
    /// It is none, or one of a later version.
    pub fn read(text: &str) -> Result<Self, SplitError> {
        let split: Self =
            rehearsal_core::json::from_str(text).map_err(|error| SplitError::Form(error.to_string()))?;
        let wrong = |why: String| Err(SplitError::Form(why));
        if split.version != VERSION {
            return wrong(format!("its version is {}, this program knows {VERSION}", split.version));
        }
        let is_part = |part: &u32| (1..=split.shards).contains(part);
        match split.cases.iter().find(|case| !case.parts.iter().all(is_part)) {
            Some(case) => wrong(format!("`{}` is in a part that there is not", case.name)),
            None => Ok(split),
        }
    }

    /// The plan as the text of a file, a line for each case.
    pub fn text(&self) -> String {
        let lines: Vec<String> = self.cases.iter().map(|case| format!("  {}", line(case))).collect();
        format!(
            "{{\"version\": {}, \"shards\": {}, \"from\": {}, \"cases\": [\n{}\n]}}\n",
            self.version,
            self.shards,
            line(&self.from),
            lines.join(",\n")
        )
    }

    /// Stands for the plan: another one has another.
    pub fn digest(&self) -> String {
        format!("{:016x}", Chance::seeded(0).derive(&self.text(), 0).seed())
    }

    /// What a part has of the runs of cases with these names, each repeated so often.
    ///
    /// # Errors
    /// It is a plan of so many other parts, or of other cases.
    pub fn turns(
        &self,
        shard: Shard,
        names: &[impl AsRef<str>],
        repeat: u32,
    ) -> Result<PlannedTurns, SplitError> {
        if shard.of != self.shards {
            return Err(SplitError::Parts { planned: self.shards, shard });
        }
        let cases = self.cases.iter().map(|case| ((case.name.as_str(), case.namesake), &case.parts[..]));
        let planned: BTreeMap<(&str, u64), &[u32]> = cases.collect();
        let part = |id: CaseId<'_>| {
            let parts = planned.get(&(id.name, id.namesake))?;
            parts.get(usize::try_from(id.repeat).unwrap_or(usize::MAX)).copied()
        };
        let (mut orders, mut new, mut known) = (Vec::new(), 0, 0);
        for (order, id) in case_ids(names.iter().map(AsRef::as_ref), repeat).enumerate() {
            let planned = part(id);
            *(if planned.is_some() { &mut known } else { &mut new }) += 1;
            if planned.unwrap_or_else(|| id.part(shard.of)) == shard.index {
                orders.push(order);
            }
        }
        if known == 0 && new > 0 {
            return Err(SplitError::Elsewhere);
        }
        let all: usize = self.cases.iter().map(|case| case.parts.len()).sum();
        Ok(PlannedTurns { orders, new, gone: all - known })
    }
}

fn line(value: &impl Serialize) -> String {
    rehearsal_core::json::to_string(value).unwrap_or_default()
}

/// The mean of what is known.
fn mean(known: &[Option<u64>]) -> Option<u64> {
    let known: Vec<u64> = known.iter().copied().flatten().collect();
    (!known.is_empty()).then(|| known.iter().sum::<u64>() / known.len() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shard(index: u32, of: u32) -> Shard {
        Shard { index, of }
    }

    #[test]
    fn parts_take_about_as_long_and_have_every_run_once() {
        let names: Vec<String> = (0..40).map(|n| format!("case {}", n / 2)).collect();
        let lasts = |order: usize| [100, 2000, 350, 70, 900][order % 5];
        for of in [1, 2, 3, 7] {
            let split = Split::balanced("r", of, &names, 5, |order| Some(lasts(order)));
            assert_eq!(Split::read(&split.text()).unwrap(), split);
            let parts: Vec<Vec<usize>> =
                (1..=of).map(|index| split.turns(shard(index, of), &names, 5).unwrap().orders).collect();
            let mut all = parts.concat();
            all.sort_unstable();
            assert_eq!(all, (0..200).collect::<Vec<_>>());
            // Each repeat of a case counts as its mean, which is the same for all of these cases.
            let sizes: Vec<usize> = parts.iter().map(Vec::len).collect();
            assert!(sizes.iter().max().unwrap() - sizes.iter().min().unwrap() <= 1, "{sizes:?}");
        }
    }

    #[test]
    fn the_longest_come_first_and_the_unknown_last_as_long_as_usual() {
        let names = ["a", "b", "c", "d", "e"];
        let split =
            Split::balanced("r", 2, &names, 1, |order| [Some(8), Some(7), None, Some(5), Some(4)][order]);
        let turns = |index| split.turns(shard(index, 2), &names, 1).unwrap().orders;
        // 8 | 7, then 6 (as usual) beside the 7, 5 beside the 8, and 4 to the first of two that have as much.
        assert_eq!((turns(1), turns(2)), (vec![0, 3, 4], vec![1, 2]));
    }

    #[test]
    fn new_cases_go_by_their_hash_and_another_suite_is_refused() {
        let split = Split::balanced("r", 2, &["a", "b", "old"], 1, |_| Some(1));
        let names = ["a", "new", "b", "newer", "a"];
        let turns: Vec<PlannedTurns> =
            (1..=2).map(|index| split.turns(shard(index, 2), &names, 1).unwrap()).collect();
        assert_eq!((turns[0].new, turns[0].gone), (3, 1));
        let mut all = [&turns[0].orders[..], &turns[1].orders[..]].concat();
        all.sort_unstable();
        assert_eq!(all, [0, 1, 2, 3, 4]);
        assert!(matches!(split.turns(shard(1, 2), &["x", "y"], 1), Err(SplitError::Elsewhere)));
        assert!(matches!(split.turns(shard(1, 3), &names, 1), Err(SplitError::Parts { planned: 2, .. })));
        for wrong in ["", "{}", &split.text().replace("\"version\": 1", "\"version\": 2")] {
            assert!(matches!(Split::read(wrong), Err(SplitError::Form(_))), "{wrong}");
        }
        assert!(Split::read(&split.text().replace("[1]", "[3]")).is_err());
        assert_ne!(split.digest(), Split::balanced("s", 2, &["a"], 1, |_| Some(1)).digest());
    }
}
