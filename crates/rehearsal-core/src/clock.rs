//! Time, handed in.

use std::fmt;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};

/// Says what time it is. All code takes its time from one of these, so tests and replays control it.
pub trait Clock: Send + Sync + fmt::Debug {
    /// The present moment, which somebody may set forward or back.
    fn now(&self) -> Timestamp;

    /// The time since some fixed moment, which nobody can set: what limits and durations are measured with.
    fn monotonic(&self) -> Duration;

    /// The time since an earlier reading of [`monotonic`](Self::monotonic).
    fn since(&self, began: Duration) -> Duration {
        self.monotonic().saturating_sub(began)
    }
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

    fn monotonic(&self) -> Duration {
        static FIRST: OnceLock<Instant> = OnceLock::new();
        #[expect(clippy::disallowed_methods, reason = "this is the one place that reads the machine's clock")]
        let now = Instant::now();
        now.saturating_duration_since(*FIRST.get_or_init(|| now))
    }
}

/// Another clock's time, taken once and counted on by what nobody can set: whoever sets the machine's clock while
/// something runs neither ends it nor makes it take longer.
///
/// ```
/// use std::sync::Arc;
/// use std::time::Duration;
///
/// use rehearsal_core::{Clock, FixedClock, SteadyClock};
///
/// let machine = Arc::new(FixedClock::default());
/// let clock = SteadyClock::new(machine.clone());
/// let before = clock.now();
/// machine.set_forward(Duration::from_secs(3600));
/// machine.advance(Duration::from_secs(2));
/// assert_eq!((clock.now() - before).get_seconds(), 2);
/// ```
#[derive(Clone, Debug)]
pub struct SteadyClock {
    clock: Arc<dyn Clock>,
    began: Timestamp,
    reading: Duration,
}

impl SteadyClock {
    /// The same time as this clock has now, going on steadily.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { began: clock.now(), reading: clock.monotonic(), clock }
    }
}

impl Clock for SteadyClock {
    fn now(&self) -> Timestamp {
        let passed = i64::try_from(self.clock.since(self.reading).as_micros()).unwrap_or(i64::MAX);
        self.began.checked_add(SignedDuration::from_micros(passed)).unwrap_or(Timestamp::MAX)
    }

    fn monotonic(&self) -> Duration {
        self.clock.monotonic()
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
    passed: AtomicU64,
}

impl FixedClock {
    /// A clock that shows `at`.
    pub fn at(at: Timestamp) -> Self {
        Self { micros: AtomicI64::new(at.as_microsecond()), passed: AtomicU64::new(0) }
    }

    /// Lets time pass.
    pub fn advance(&self, by: Duration) {
        let passed = u64::try_from(by.as_micros()).unwrap_or(u64::MAX);
        self.passed.fetch_add(passed, Ordering::SeqCst);
        self.set_forward(by);
    }

    /// Sets the clock forward, as somebody does who corrects it: no time passes.
    pub fn set_forward(&self, by: Duration) {
        let by = i64::try_from(by.as_micros()).unwrap_or(i64::MAX);
        self.micros.fetch_add(by, Ordering::SeqCst);
    }
}

impl Default for FixedClock {
    /// Noon, UTC, on the first of January 2026.
    fn default() -> Self {
        Self { micros: AtomicI64::new(1_767_268_800_000_000), passed: AtomicU64::new(0) }
    }
}

impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_microsecond(self.micros.load(Ordering::SeqCst)).unwrap_or(Timestamp::MAX)
    }

    fn monotonic(&self) -> Duration {
        Duration::from_micros(self.passed.load(Ordering::SeqCst))
    }
}

/// The time from `start` to `end`, or zero where the clock went backwards.
///
/// For moments that stand on a ledger; what is measured while it happens uses [`Clock::since`].
pub fn elapsed(start: Timestamp, end: Timestamp) -> Duration {
    let passed: SignedDuration = end.duration_since(start);
    passed.try_into().unwrap_or_default()
}
