//! Time, handed in.

use std::fmt;
use std::sync::atomic::{AtomicI64, Ordering};

use jiff::{SignedDuration, Timestamp};

/// Says what time it is. All code takes its time from one of these, so tests and replays control it.
pub trait Clock: Send + Sync + fmt::Debug {
    /// The present moment.
    fn now(&self) -> Timestamp;
}

/// The machine's own clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        #[expect(clippy::disallowed_methods, reason = "this is the one place that reads the machine's clock")]
        let now = Timestamp::now();
        // The ledger keeps microseconds; reading back what was written must give the same instant.
        Timestamp::from_microsecond(now.as_microsecond()).unwrap_or(now)
    }
}

/// A clock that stands still until it is moved.
///
/// ```
/// use rehearsal_core::{Clock, FixedClock};
///
/// let clock = FixedClock::default();
/// let before = clock.now();
/// assert_eq!(clock.now(), before);
/// clock.advance(std::time::Duration::from_secs(90));
/// assert_eq!((clock.now() - before).get_seconds(), 90);
/// ```
#[derive(Debug)]
pub struct FixedClock {
    micros: AtomicI64,
}

impl FixedClock {
    /// A clock that shows `at`.
    pub fn at(at: Timestamp) -> Self {
        Self { micros: AtomicI64::new(at.as_microsecond()) }
    }

    /// Moves the clock forward.
    pub fn advance(&self, by: std::time::Duration) {
        let by = i64::try_from(by.as_micros()).unwrap_or(i64::MAX);
        self.micros.fetch_add(by, Ordering::SeqCst);
    }
}

impl Default for FixedClock {
    /// Noon, UTC, on the first of January 2026.
    fn default() -> Self {
        Self { micros: AtomicI64::new(1_767_268_800_000_000) }
    }
}

impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_microsecond(self.micros.load(Ordering::SeqCst)).unwrap_or(Timestamp::MAX)
    }
}

/// The time from `start` to `end`, or zero where the clock went backwards.
pub fn elapsed(start: Timestamp, end: Timestamp) -> std::time::Duration {
    let passed: SignedDuration = end.duration_since(start);
    passed.try_into().unwrap_or_default()
}
