//! Which of two lists belong together.

/// Whether the expected call `.0` fits the made call `.1`, for all of both.
pub(super) struct Fits {
    expected: usize,
    made: usize,
    cells: Vec<bool>,
}

impl Fits {
    /// Asks once for each pair.
    pub(super) fn new(expected: usize, made: usize, fits: impl Fn(usize, usize) -> bool) -> Self {
        let cells = (0..expected * made).map(|cell| fits(cell / made, cell % made)).collect();
        Self { expected, made, cells }
    }

    fn at(&self, expected: usize, made: usize) -> bool {
        self.cells[expected * self.made + made]
    }

    /// As many pairs as possible such that both sides keep their order: a longest common subsequence.
    pub(super) fn pairs_in_order(&self) -> Vec<(usize, usize)> {
        // `best` holds for each position of both lists how many pairs the rest allows.
        let width = self.made + 1;
        let mut best = vec![0_u32; (self.expected + 1) * width];
        for expected in (0..self.expected).rev() {
            for made in (0..self.made).rev() {
                let apart = best[(expected + 1) * width + made].max(best[expected * width + made + 1]);
                let joined = best[(expected + 1) * width + made + 1] + u32::from(self.at(expected, made));
                best[expected * width + made] = apart.max(joined);
            }
        }
        let (mut expected, mut made, mut pairs) = (0, 0, Vec::new());
        while expected < self.expected && made < self.made {
            let here = best[expected * width + made];
            if self.at(expected, made) && here == best[(expected + 1) * width + made + 1] + 1 {
                pairs.push((expected, made));
                expected += 1;
                made += 1;
            } else if here == best[(expected + 1) * width + made] {
                expected += 1;
            } else {
                made += 1;
            }
        }
        pairs
    }

    /// As many pairs as possible in any order: a maximum matching, sorted by the expected call.
    ///
    /// Grows the matching along augmenting paths; a greedy choice would let an expectation that takes any
    /// arguments use up the only call another one accepts.
    pub(super) fn pairs_in_any_order(&self) -> Vec<(usize, usize)> {
        let mut owner: Vec<Option<usize>> = vec![None; self.made];
        for start in 0..self.expected {
            // Breadth first: `reached[m]` is the expected call from which the made call `m` was reached.
            let mut reached: Vec<Option<usize>> = vec![None; self.made];
            let mut queue = std::collections::VecDeque::from([start]);
            let free = 'search: loop {
                let Some(expected) = queue.pop_front() else { break None };
                for made in 0..self.made {
                    if reached[made].is_some() || !self.at(expected, made) {
                        continue;
                    }
                    reached[made] = Some(expected);
                    match owner[made] {
                        Some(other) => queue.push_back(other),
                        None => break 'search Some(made),
                    }
                }
            };
            let mut next = free;
            while let Some(made) = next {
                let Some(expected) = reached[made] else { break };
                let given_up = owner.iter().position(|owner| *owner == Some(expected));
                owner[made] = Some(expected);
                next = given_up;
            }
        }
        let mut pairs: Vec<(usize, usize)> = owner
            .iter()
            .enumerate()
            .filter_map(|(made, owner)| owner.map(|expected| (expected, made)))
            .collect();
        pairs.sort_unstable();
        pairs
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The most pairs there can be, by trying everything.
    fn most(fits: &Fits, expected: usize, free: &[bool], ordered: bool) -> usize {
        if expected == fits.expected {
            return 0;
        }
        let mut best = most(fits, expected + 1, free, ordered);
        for made in (0..fits.made).filter(|made| free[*made] && fits.at(expected, *made)) {
            let mut rest = free.to_vec();
            rest[made] = false;
            if ordered {
                rest[..made].fill(false);
            }
            best = best.max(1 + most(fits, expected + 1, &rest, ordered));
        }
        best
    }

    proptest! {
        #[test]
        fn both_find_as_many_pairs_as_there_can_be(
            (expected, made, cells) in (0_usize..5, 0_usize..6).prop_flat_map(|(expected, made)| {
                (Just(expected), Just(made), prop::collection::vec(any::<bool>(), expected * made))
            })
        ) {
            let fits = Fits { expected, made, cells };
            for (pairs, ordered) in [(fits.pairs_in_order(), true), (fits.pairs_in_any_order(), false)] {
                prop_assert_eq!(pairs.len(), most(&fits, 0, &vec![true; made], ordered));
                prop_assert!(pairs.iter().all(|(expected, made)| fits.at(*expected, *made)));
                prop_assert!(pairs.windows(2).all(|two| two[0].0 < two[1].0));
                let mut used: Vec<usize> = pairs.iter().map(|pair| pair.1).collect();
                prop_assert!(!ordered || used.is_sorted());
                used.sort_unstable();
                used.dedup();
                prop_assert_eq!(used.len(), pairs.len());
            }
        }
    }
}
