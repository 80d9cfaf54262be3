//! How far a run is: what is counted of it while it goes on.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rehearsal_core::{CaseResult, Clock, ModelCalls, RunProgress};

/// Counts the cases of a run. A case is counted as ended once it waits to be written, so that whoever reads this and then
/// writes what waits has written every case that was counted.
#[derive(Debug)]
pub(crate) struct Gauge(Mutex<State>);

#[derive(Debug)]
struct State {
    progress: RunProgress,
    pace: Pace,
}

/// How quickly cases end in this process.
#[derive(Debug, Default)]
struct Pace {
    /// When the first case began.
    began: Option<Duration>,
    ended: u64,
    /// How long the run was held, and since when it is.
    held: Duration,
    held_since: Option<Duration>,
}

impl Pace {
    /// How long the rest takes when it goes on like this. Cases that run are taken for half done: where many run side by
    /// side and the first has just ended, it says little about the others.
    fn left(&self, now: Duration, progress: &RunProgress) -> Option<Duration> {
        let began = self.began.filter(|_| self.ended > 0)?;
        let held = self.held + self.held_since.map_or(Duration::ZERO, |since| now.saturating_sub(since));
        let took = now.saturating_sub(began).saturating_sub(held);
        let half = to_f64(progress.running) / 2.0;
        let rest = progress.planned.saturating_sub(u64::from(progress.ended.total));
        let rest = (to_f64(rest) - half).max(0.0);
        Duration::try_from_secs_f64(took.as_secs_f64() * rest / (to_f64(self.ended) + half)).ok()
    }
}

#[expect(clippy::cast_precision_loss, reason = "an estimate")]
fn to_f64(count: u64) -> f64 {
    count as f64
}

impl Gauge {
    pub(crate) fn new(clock: &dyn Clock) -> Self {
        let progress = RunProgress::new(clock.now());
        Self(Mutex::new(State { progress, pace: Pace::default() }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// So many more cases are to be run.
    pub(crate) fn plan(&self, cases: u64) {
        self.state().progress.planned += cases;
    }

    /// A case ended before this process began.
    pub(crate) fn ended_before(&self, result: &CaseResult) {
        self.state().progress.count(result);
    }

    pub(crate) fn started(&self, clock: &dyn Clock) {
        let mut state = self.state();
        state.pace.began.get_or_insert_with(|| clock.monotonic());
        state.progress.running += 1;
    }

    pub(crate) fn ended(&self, result: &CaseResult) {
        let mut state = self.state();
        state.pace.ended += 1;
        state.progress.running = state.progress.running.saturating_sub(1);
        state.progress.count(result);
    }

    /// How far the run is now.
    pub(crate) fn read(&self, clock: &dyn Clock, held: bool, calls: Vec<ModelCalls>) -> RunProgress {
        let mut state = self.state();
        let now = clock.monotonic();
        match (held, state.pace.held_since) {
            (true, None) => state.pace.held_since = Some(now),
            (false, Some(since)) => {
                state.pace.held += now.saturating_sub(since);
                state.pace.held_since = None;
            }
            _ => {}
        }
        // Of cases that are run until enough of them say something, nobody knows beforehand how many there are.
        let known = u64::from(state.progress.ended.total) + state.progress.running;
        state.progress.planned = state.progress.planned.max(known);
        let left = state.pace.left(now, &state.progress);
        RunProgress {
            at: clock.now(),
            held,
            calls,
            left_ms: left.map(|left| u64::try_from(left.as_millis()).unwrap_or(u64::MAX)),
            ..state.progress.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use rehearsal_core::{FixedClock, Verdict};

    use super::*;

    fn ended(gauge: &Gauge, verdict: Verdict, cost: Option<f64>) {
        gauge.ended(&CaseResult { cost, ..CaseResult::new("c", verdict, 0) });
    }

    #[test]
    fn what_is_left_follows_the_pace_without_the_time_in_which_it_was_held() {
        let clock = FixedClock::default();
        let gauge = Gauge::new(&clock);
        gauge.plan(11);
        gauge.started(&clock);
        assert_eq!(gauge.read(&clock, false, Vec::new()).left_ms, None);
        clock.advance(Duration::from_secs(10));
        ended(&gauge, Verdict::Passed, Some(0.5));
        assert_eq!(gauge.read(&clock, true, Vec::new()).left_ms, Some(100_000));
        clock.advance(Duration::from_secs(1000));
        assert_eq!(gauge.read(&clock, false, Vec::new()).left_ms, Some(100_000));
        // What runs is half done.
        gauge.started(&clock);
        gauge.started(&clock);
        assert_eq!(gauge.read(&clock, false, Vec::new()).left_ms, Some(45_000));
    }

    #[test]
    fn costs_are_known_only_where_all_of_them_are() {
        let clock = FixedClock::default();
        let gauge = Gauge::new(&clock);
        ended(&gauge, Verdict::Passed, Some(0.5));
        ended(&gauge, Verdict::Failed, Some(0.25));
        let so_far = gauge.read(&clock, false, Vec::new());
        assert_eq!((so_far.spent.cost, so_far.ended.total, so_far.ended.failed), (Some(0.75), 2, 1));
        ended(&gauge, Verdict::Error, None);
        assert_eq!(gauge.read(&clock, false, Vec::new()).spent.cost, None);
    }
}
