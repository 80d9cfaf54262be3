//! Times and what they come to.

use std::fmt;
use std::time::{Duration, Instant};

#[expect(clippy::disallowed_methods, reason = "a benchmark measures real time")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// How often something happened in a second.
pub(crate) fn per_second(count: usize, took: Duration) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX)) / took.as_secs_f64()
}

/// How long something took, in the middle and at worst.
pub(crate) struct Spread {
    p50: Duration,
    p99: Duration,
    most: Duration,
    count: usize,
}

impl Spread {
    pub(crate) fn of(mut times: Vec<Duration>) -> Self {
        times.sort();
        let at = |hundredth: usize| times[(times.len() * hundredth / 100).min(times.len() - 1)];
        Self { p50: at(50), p99: at(99), most: at(100), count: times.len() }
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = |time: Duration| time.as_secs_f64() * 1000.0;
        let Self { p50, p99, most, count } = self;
        write!(f, "p50 {:6.2} ms  p99 {:6.2} ms  most {:6.2} ms of {count}", ms(*p50), ms(*p99), ms(*most))
    }
}
