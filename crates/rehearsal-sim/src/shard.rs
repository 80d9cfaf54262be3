//! Sharding: which part of a run has which run of a case.

use std::collections::BTreeMap;

use rehearsal_core::Shard;

/// A run of a case by what is the same on every machine and in every version: its name, how many cases before it have
/// that name, and which repeat it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CaseId<'a> {
    /// The name of the case.
    pub name: &'a str,
    /// How many cases before it have the same name.
    pub namesake: u64,
    /// Which repeat of it, from 0.
    pub repeat: u32,
}

impl CaseId<'_> {
    /// The part, of so many, that has this run: from 1, by its hash. It does not depend on what else is run.
    ///
    /// ```
    /// let first = rehearsal_sim::CaseId { name: "greets", namesake: 0, repeat: 0 };
    /// assert_eq!(first.part(1), 1);
    /// assert!((1..=5).contains(&first.part(5)));
    /// ```
    pub fn part(self, of: u32) -> u32 {
        // FNV-1a, its bits then mixed as splitmix64 does. What is written here is a promise: machines with different
        // versions may share a run.
        let name = self.name.bytes().chain([0xff]);
        let bytes = name.chain(self.namesake.to_le_bytes()).chain(self.repeat.to_le_bytes());
        let hash = bytes.fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        let hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let hash = hash ^ (hash >> 31);
        // The upper half of the product is below `of`.
        let place = (u128::from(hash) * u128::from(of)) >> 64;
        u32::try_from(place).unwrap_or(0) + 1
    }
}

/// The runs of cases with these names, each repeated so often, in the order of a suite: those of a case together.
pub fn case_ids<'a>(
    names: impl IntoIterator<Item = &'a str>,
    repeat: u32,
) -> impl Iterator<Item = CaseId<'a>> {
    let mut seen: BTreeMap<&str, u64> = BTreeMap::new();
    names.into_iter().flat_map(move |name| {
        let before = seen.entry(name).or_default();
        let namesake = *before;
        *before += 1;
        (0..repeat.max(1)).map(move |repeat| CaseId { name, namesake, repeat })
    })
}

/// The runs of cases that a part has: their places among all runs in their order, as [`Suite::turns`](crate::Suite::turns)
/// takes them.
pub fn turns_of<'a>(shard: Shard, names: impl IntoIterator<Item = &'a str>, repeat: u32) -> Vec<usize> {
    let all = case_ids(names, repeat).enumerate();
    all.filter(|(_, case)| case.part(shard.of) == shard.index).map(|(order, _)| order).collect()
}
