//! Randomness, handed in.

use crate::id::digest;

/// A seed from which every random choice of a run is drawn.
///
/// Draws are made per purpose, not from one shared stream, so that what happens elsewhere in a run does not
/// change them.
///
/// ```
/// use rehearsal_core::Chance;
///
/// let chance = Chance::seeded(42);
/// assert_eq!(chance.number("mock/send_email", 0), Chance::seeded(42).number("mock/send_email", 0));
/// assert!((0.0..1.0).contains(&chance.fraction("mock/send_email", 1)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chance {
    seed: u64,
}

impl Chance {
    /// The chance that belongs to a seed.
    pub fn seeded(seed: u64) -> Self {
        Self { seed }
    }

    /// The seed itself, to repeat a run.
    pub fn seed(self) -> u64 {
        self.seed
    }

    /// An independent source for a part of the run.
    #[must_use]
    pub fn derive(self, purpose: &str, number: u64) -> Self {
        Self { seed: digest(self.seed, &[purpose], number) }
    }

    /// The `number`-th random value for a purpose.
    pub fn number(self, purpose: &str, number: u64) -> u64 {
        self.rng(purpose, number).u64(..)
    }

    /// The `number`-th random value for a purpose, from 0 up to but not including 1.
    pub fn fraction(self, purpose: &str, number: u64) -> f64 {
        self.rng(purpose, number).f64()
    }

    /// A generator for a purpose that needs many draws.
    pub fn rng(self, purpose: &str, number: u64) -> fastrand::Rng {
        fastrand::Rng::with_seed(digest(self.seed, &[purpose], number))
    }
}
