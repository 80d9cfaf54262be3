//! The limit of calls at once to a model: adaptive, so that a provider is asked as often as it answers, and not more.
//!
//! It begins where the caller says. A refusal (429) lowers it by a fifth; calls that were under way together lower it only
//! once, or to as many of them as were not refused. A whole round without a refusal raises it again, by a twentieth. Until
//! it has found its place, it goes down and up by half. Once a provider has refused a call, calls are paced: sent with equal gaps rather than in bursts. A provider
//! that says when to come back is left alone until then. One that becomes slower, as a server does that has too much to
//! do, is asked no more often.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rehearsal_core::ModelCalls;
use tokio::sync::Notify;
use tokio::time::Instant;

/// How much is left of the limit after a refusal, once it has found its place.
const CUT: f64 = 0.8;
/// How much is left of it before that, and how much a round without a refusal adds.
const SEARCH: f64 = 0.5;
/// How much a round without a refusal adds, and the least that it adds.
const GROWTH: (f64, f64) = (0.05, 1.0);
/// The part of the limit that has to be used for it to grow: what nobody needs says nothing.
const USED: f64 = 0.8;
/// A model that is so much slower than it was at its best is asked no more often, or less often.
const SLOW: (f64, f64) = (1.5, 2.0);
/// How much is left of the limit of a model that has become slow.
const SLOW_CUT: f64 = 0.9;
/// A difference that is smaller says nothing about the provider.
const NOTICEABLE: Duration = Duration::from_millis(250);
/// The fewest answers of a round.
const ROUND: usize = 8;
/// The same until the limit has found its place.
const FIRST_ROUND: usize = 2;

/// Lets calls to a model through.
pub(crate) struct Limiter {
    model: Mutex<String>,
    began: Instant,
    governor: Mutex<Governor>,
    /// Whoever is next has this, so that calls are let through in the order in which they came.
    gate: tokio::sync::Mutex<()>,
    changed: Notify,
}

#[expect(
    clippy::disallowed_methods,
    reason = "what waits by tokio's time has to tell time by it, also in tests"
)]
fn instant() -> Instant {
    Instant::now()
}

/// A call that is under way.
pub(crate) struct Permit {
    limiter: Arc<Limiter>,
    sent: Duration,
    outcome: Outcome,
    /// Whether it certainly cost nothing.
    is_free: bool,
}

/// How a call went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// It failed in another way, or was given up.
    Other,
    /// It was answered after so long.
    Answered(Duration),
    /// There were too many.
    Refused,
}

impl Limiter {
    pub(crate) fn new(model: String, most: usize) -> Arc<Self> {
        let (model, governor) = (Mutex::new(model), Mutex::new(Governor::new(most)));
        let (gate, changed) = (tokio::sync::Mutex::default(), Notify::new());
        Arc::new(Self { model, began: instant(), governor, gate, changed })
    }

    /// The time since it was made, by the clock with which it waits.
    fn now(&self) -> Duration {
        instant() - self.began
    }

    fn governor(&self) -> MutexGuard<'_, Governor> {
        self.governor.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn name(&self) -> MutexGuard<'_, String> {
        self.model.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What people know the model as.
    pub(crate) fn known_as(&self, name: &str) {
        name.clone_into(&mut self.name());
    }

    /// Lowers the most calls at once.
    pub(crate) fn at_most(&self, most: usize) {
        let mut governor = self.governor();
        governor.most = governor.most.min(most.max(1));
        governor.limit = governor.limit.min(as_float(governor.most));
    }

    /// Waits until a call may be sent.
    pub(crate) async fn permit(self: &Arc<Self>) -> Permit {
        let _next = self.gate.lock().await;
        loop {
            let now = self.now();
            let answer = self.governor().ask(now);
            match answer {
                Answer::Go => {
                    return Permit {
                        limiter: self.clone(),
                        sent: now,
                        outcome: Outcome::Other,
                        is_free: false,
                    };
                }
                Answer::Full => self.changed.notified().await,
                Answer::Until(then) => {
                    tokio::select! {
                        () = tokio::time::sleep(then.saturating_sub(now)) => {}
                        () = self.changed.notified() => {}
                    }
                }
            }
        }
    }

    /// The provider wants no calls for so long.
    pub(crate) fn pause(&self, time: Duration) {
        let until = self.now().saturating_add(time);
        let mut governor = self.governor();
        governor.paused_until = governor.paused_until.max(until);
    }

    /// How calls went so far.
    pub(crate) fn calls(&self) -> ModelCalls {
        let (now, model) = (self.now(), self.name().clone());
        let governor = self.governor();
        let pause = governor.paused_until.saturating_sub(now).as_millis();
        ModelCalls {
            model,
            sent: governor.sent,
            refused: governor.refused,
            peak: governor.peak,
            now: governor.under_way,
            limit: governor.whole_limit(),
            pause_ms: u64::try_from(pause).ok().filter(|pause| *pause > 0),
        }
    }
}

impl Permit {
    /// The call was answered just now.
    pub(crate) fn answered(&mut self) {
        self.outcome = Outcome::Answered(self.limiter.now().saturating_sub(self.sent));
    }

    /// The provider refused the call, because there are too many.
    pub(crate) fn refused(&mut self) {
        self.outcome = Outcome::Refused;
    }

    /// It was not sent, or refused: it cost nothing.
    pub(crate) fn free(&mut self) {
        self.is_free = true;
    }

    /// Whether it certainly cost nothing.
    pub(crate) fn is_free(&self) -> bool {
        self.is_free
    }

    /// The provider wants no calls for so long.
    pub(crate) fn pause(&self, time: Duration) {
        self.limiter.pause(time);
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let now = self.limiter.now();
        self.limiter.governor().ended(now, self.sent, self.outcome);
        self.limiter.changed.notify_one();
    }
}

/// What becomes of a call that is to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Go,
    /// One that is under way has to end first.
    Full,
    /// It is too early.
    Until(Duration),
}

/// Decides, and knows no time but what it is told.
#[derive(Debug)]
struct Governor {
    most: usize,
    limit: f64,
    under_way: usize,
    sent: u64,
    refused: u64,
    peak: usize,
    /// Calls sent before this lower the limit no further.
    cut_at: Option<Duration>,
    /// How many of the calls that were under way then were not refused.
    spared: usize,
    /// Whether the limit has found its place: it was raised after a refusal until the next one.
    has_settled: bool,
    /// Whether a round went by without a refusal since the last one.
    was_clean: bool,
    paused_until: Duration,
    /// With pacing, the next call is sent then.
    next: Duration,
    /// The mean time of an answer, the newer the heavier, in seconds.
    mean: f64,
    round: Vec<Duration>,
    used_in_round: usize,
    is_clean: bool,
    best: Option<Duration>,
}

impl Governor {
    fn new(most: usize) -> Self {
        let most = most.max(1);
        Self {
            most,
            limit: as_float(most),
            under_way: 0,
            sent: 0,
            refused: 0,
            peak: 0,
            cut_at: None,
            spared: 0,
            has_settled: false,
            was_clean: false,
            paused_until: Duration::ZERO,
            next: Duration::ZERO,
            mean: 0.0,
            round: Vec::new(),
            used_in_round: 0,
            is_clean: true,
            best: None,
        }
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 1 to `most`")]
    fn whole_limit(&self) -> usize {
        (self.limit.floor() as usize).clamp(1, self.most)
    }

    fn ask(&mut self, now: Duration) -> Answer {
        if self.under_way >= self.whole_limit() {
            return Answer::Full;
        }
        let early = self.paused_until.max(self.next);
        if now < early {
            return Answer::Until(early);
        }
        if self.cut_at.is_some() && self.mean > 0.0 {
            self.next = now.saturating_add(Duration::from_secs_f64((self.mean / self.limit).min(60.0)));
        }
        self.under_way += 1;
        self.sent += 1;
        self.peak = self.peak.max(self.under_way);
        self.used_in_round = self.used_in_round.max(self.under_way);
        Answer::Go
    }

    fn ended(&mut self, now: Duration, sent: Duration, outcome: Outcome) {
        let before = self.under_way;
        self.under_way = self.under_way.saturating_sub(1);
        match outcome {
            Outcome::Other => {}
            Outcome::Refused => self.refuse(now, sent, before),
            Outcome::Answered(time) => {
                let seconds = time.as_secs_f64();
                self.mean = if self.mean > 0.0 { self.mean * 0.9 + seconds * 0.1 } else { seconds };
                self.round.push(time);
                // Who looks for its place must not wait for many answers of a model that is asked once at a time.
                let fewest = if self.is_searching() { FIRST_ROUND } else { ROUND };
                if self.round.len() >= self.whole_limit().max(fewest) {
                    self.end_round();
                }
            }
        }
    }

    fn refuse(&mut self, now: Duration, sent: Duration, under_way: usize) {
        self.refused += 1;
        self.is_clean = false;
        if self.cut_at.is_some_and(|cut| sent < cut) {
            // Of calls that were under way together, it takes those that it does not refuse.
            self.spared = self.spared.saturating_sub(1);
            self.limit = self.limit.min(as_float(self.spared)).max(1.0);
            return;
        }
        // The first refusal after a round without one tells where its place is.
        self.has_settled |= self.was_clean && self.cut_at.is_some();
        self.was_clean = false;
        let left = if self.has_settled { CUT } else { SEARCH };
        self.cut_at = Some(now);
        self.spared = under_way.saturating_sub(1);
        // A limit that nobody came near says nothing about the provider; what was under way does.
        self.limit = (self.limit.min(as_float(under_way)) * left).max(1.0);
        self.start_round();
    }

    /// Whether there was a refusal, and the limit has not found its place since.
    fn is_searching(&self) -> bool {
        self.cut_at.is_some() && !self.has_settled
    }

    fn end_round(&mut self) {
        self.round.sort_unstable();
        let median = self.round[self.round.len() / 2];
        let best = self.best.unwrap_or(median);
        // A few answers say nothing about how fast it is.
        let is_enough = self.round.len() >= ROUND;
        if is_enough {
            self.best = Some(best.min(median));
        }
        let slower = |times| is_enough && median > best.mul_f64(times).max(best + NOTICEABLE);
        let is_used = as_float(self.used_in_round) >= USED * as_float(self.whole_limit());
        if is_used && slower(SLOW.1) {
            self.limit = (self.limit * SLOW_CUT).max(1.0);
        } else if self.is_clean && is_used && !slower(SLOW.0) {
            let share = if self.is_searching() { SEARCH } else { GROWTH.0 };
            let more = (self.limit * share).max(GROWTH.1);
            self.limit = (self.limit + more).min(as_float(self.most));
        }
        self.was_clean |= self.is_clean;
        self.start_round();
        self.is_clean = true;
    }

    fn start_round(&mut self) {
        self.round.clear();
        self.used_in_round = self.under_way;
    }
}

#[expect(clippy::cast_precision_loss, reason = "numbers of calls are small")]
fn as_float(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
mod simulation;

#[cfg(test)]
mod tests {
    use super::*;

    /// A provider in a test: how long it takes, how many it takes at once, and how many in each second.
    struct Server {
        takes: Duration,
        at_once: usize,
        per_second: usize,
    }

    /// How a minute with a server went.
    struct Minute {
        answered: usize,
        refused: u64,
        limit: usize,
    }

    const TICK: Duration = Duration::from_millis(10);

    /// Plays `minutes` with so many callers, who come again a second after they were refused.
    fn play(governor: &mut Governor, server: &Server, callers: usize, minutes: u32) -> Vec<Minute> {
        let mut now = Duration::ZERO;
        let mut waiting: Vec<Duration> = vec![now; callers];
        let mut calls: Vec<(Duration, Duration, Outcome)> = Vec::new();
        let mut accepted: Vec<Duration> = Vec::new();
        let mut all = Vec::new();
        for minute in 1..=minutes {
            let (mut answered, refused) = (0, governor.refused);
            while now < Duration::from_mins(1) * minute {
                calls.retain(|(sent, end, outcome)| {
                    if *end <= now {
                        governor.ended(now, *sent, *outcome);
                        answered += usize::from(*outcome != Outcome::Refused);
                        let pause = u64::from(*outcome == Outcome::Refused);
                        waiting.push(now + Duration::from_secs(pause));
                    }
                    *end > now
                });
                accepted.retain(|at| *at + Duration::from_secs(1) > now);
                while let Some(at) = waiting.iter().position(|from| *from <= now) {
                    if governor.ask(now) != Answer::Go {
                        break;
                    }
                    waiting.swap_remove(at);
                    let busy = calls.iter().filter(|call| call.2 != Outcome::Refused).count();
                    if busy >= server.at_once || accepted.len() >= server.per_second {
                        calls.push((now, now + TICK, Outcome::Refused));
                    } else {
                        accepted.push(now);
                        calls.push((now, now + server.takes, Outcome::Answered(server.takes)));
                    }
                }
                now += TICK;
            }
            all.push(Minute { answered, refused: governor.refused - refused, limit: governor.whole_limit() });
        }
        all
    }

    fn check(server: &Server, callers: usize, best_in_a_minute: usize) {
        let minutes = play(&mut Governor::new(callers), server, callers, 5);
        let later = &minutes[1..];
        let answered: usize = later.iter().map(|minute| minute.answered).sum();
        let refused: u64 = later.iter().map(|minute| minute.refused).sum();
        let share = as_float(answered) / as_float(best_in_a_minute * later.len());
        let limits: Vec<_> = minutes.iter().map(|minute| (minute.limit, minute.answered)).collect();
        assert!(share > 0.7, "{share:.2} with {limits:?}");
        assert!(refused * 10 < answered as u64, "{refused} of {answered} with {limits:?}");
    }

    #[test]
    fn a_server_that_refuses_nothing_gets_all_calls_at_once() {
        let server = Server { takes: Duration::from_millis(200), at_once: 1000, per_second: 10_000 };
        let mut governor = Governor::new(200);
        let minutes = play(&mut governor, &server, 200, 1);
        assert_eq!((governor.peak, minutes[0].limit, minutes[0].refused), (200, 200, 0));
    }

    #[test]
    fn a_server_that_takes_so_many_at_once_is_found_out() {
        check(&Server { takes: Duration::from_secs(2), at_once: 40, per_second: 10_000 }, 200, 40 * 30);
        check(&Server { takes: Duration::from_secs(5), at_once: 5, per_second: 10_000 }, 200, 5 * 12);
    }

    #[test]
    fn a_server_that_takes_so_many_in_a_second_is_found_out() {
        check(&Server { takes: Duration::from_secs(2), at_once: 1000, per_second: 10 }, 200, 600);
        check(&Server { takes: Duration::from_secs(8), at_once: 1000, per_second: 3 }, 64, 180);
        check(&Server { takes: Duration::from_secs(3), at_once: 1000, per_second: 25 }, 128, 1500);
    }

    #[test]
    fn calls_that_were_sent_together_tell_how_many_are_taken() {
        let mut governor = Governor::new(100);
        for _ in 0..100 {
            assert_eq!(governor.ask(Duration::ZERO), Answer::Go);
        }
        assert_eq!(governor.ask(Duration::ZERO), Answer::Full);
        let refuse = |governor: &mut Governor| {
            governor.ended(Duration::from_millis(50), Duration::ZERO, Outcome::Refused);
            governor.whole_limit()
        };
        assert_eq!(refuse(&mut governor), 50);
        // It is lowered once, until fewer are left than that.
        assert_eq!((0..49).map(|_| refuse(&mut governor)).last(), Some(50));
        assert_eq!((0..20).map(|_| refuse(&mut governor)).last(), Some(30));
    }

    #[test]
    fn a_server_that_becomes_slow_is_asked_less() {
        let mut governor = Governor::new(20);
        let round = |governor: &mut Governor, at: u64, takes: u64| {
            let (at, takes) = (Duration::from_secs(at), Duration::from_secs(takes));
            let limit = governor.whole_limit();
            (0..limit).for_each(|_| assert_eq!(governor.ask(at), Answer::Go));
            (0..limit).for_each(|_| governor.ended(at + takes, at, Outcome::Answered(takes)));
        };
        round(&mut governor, 0, 1);
        assert_eq!(governor.whole_limit(), 20);
        round(&mut governor, 10, 5);
        assert_eq!(governor.whole_limit(), 18);
        round(&mut governor, 20, 1);
        assert_eq!(governor.whole_limit(), 19);
    }

    #[test]
    fn a_pause_is_kept() {
        let mut governor = Governor::new(2);
        governor.paused_until = Duration::from_secs(5);
        assert_eq!(governor.ask(Duration::from_secs(1)), Answer::Until(Duration::from_secs(5)));
        assert_eq!(governor.ask(Duration::from_secs(5)), Answer::Go);
    }
}
