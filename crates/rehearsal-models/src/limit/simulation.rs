//! The limiter against providers that are played: how much of what they can do it gets out of them, and how often it is
//! refused. The providers are those of two sets, of which the second was fixed before its figures were looked at; times of
//! answers are drawn (log-normal, a third either way).

use std::collections::BTreeMap;
use std::collections::VecDeque;
use std::time::Duration;

use rehearsal_core::Chance;

use super::{Answer, Governor, Outcome, as_float};

/// A provider: how long it takes, how many it takes at once, and how many in a second.
struct Provider {
    name: &'static str,
    takes: f64,
    at_once: usize,
    per_second: f64,
    /// Beyond so many at once it only becomes slower.
    saturates: usize,
}

const ANY: Provider =
    Provider { name: "", takes: 0.0, at_once: usize::MAX, per_second: 1e9, saturates: usize::MAX };

const FIRST: &[Provider] = &[
    Provider { name: "40 at once, 2 s", takes: 2.0, at_once: 40, ..ANY },
    Provider { name: "10 in a second, 2 s", takes: 2.0, per_second: 10.0, ..ANY },
    Provider { name: "150 at once, 5 s", takes: 5.0, at_once: 150, ..ANY },
    Provider { name: "5 at once, 5 s", takes: 5.0, at_once: 5, ..ANY },
    Provider { name: "3 in a second, 8 s", takes: 8.0, per_second: 3.0, ..ANY },
];

const HELD_OUT: &[Provider] = &[
    Provider { name: "1.5 in a second, 12 s", takes: 12.0, per_second: 1.5, ..ANY },
    Provider { name: "25 in a second, 3 s", takes: 3.0, per_second: 25.0, ..ANY },
    Provider { name: "20 at once, 10 s", takes: 10.0, at_once: 20, ..ANY },
    Provider { name: "saturates at 25, 6 s", takes: 6.0, saturates: 25, ..ANY },
    Provider { name: "80 at once, 1 s", takes: 1.0, at_once: 80, ..ANY },
];

impl Provider {
    /// Answers in a second, at best, for so many callers.
    fn best(&self, callers: usize) -> f64 {
        let at_once = callers.min(self.at_once).min(self.saturates);
        (as_float(at_once) / self.takes).min(self.per_second)
    }
}

/// What came of it: the part of the best, and the part of the calls that was refused later than at first.
struct Played {
    share: f64,
    refused: f64,
}

/// How long it is played, and how long a caller waits that was refused, at first and at most.
const TIME: Duration = Duration::from_mins(10);
const WAIT: (f64, f64) = (1.0, 60.0);

#[derive(Clone, Copy)]
enum Happens {
    Ends { sent: Duration, outcome: Outcome, refusals: u32 },
    ComesAgain { refusals: u32 },
    Wakes,
}

/// Plays so many callers, each with one call after the other, who come again later each time they are refused.
fn play(provider: &Provider, callers: usize, seed: u64) -> Played {
    let mut random = Chance::seeded(seed).rng("provider", 0);
    let mut normal = move || (0..12).map(|_| random.f64()).sum::<f64>() - 6.0;
    let mut governor = Governor::new(1024);
    let mut agenda: BTreeMap<(Duration, u64), Happens> = BTreeMap::new();
    let mut number = 0;
    let mut add = |agenda: &mut BTreeMap<_, _>, at: Duration, what| {
        number += 1;
        agenda.insert((at, number), what);
    };
    let mut waiting: VecDeque<u32> = std::iter::repeat_n(0, callers).collect();
    add(&mut agenda, Duration::ZERO, Happens::Wakes);
    let (mut busy, mut bucket, mut filled) = (0_usize, provider.per_second.min(1e6), Duration::ZERO);
    let mut answered = 0_u64;
    while let Some(((now, _), what)) = agenda.pop_first() {
        if now >= TIME {
            break;
        }
        match what {
            Happens::Wakes => {}
            Happens::ComesAgain { refusals } => waiting.push_back(refusals),
            Happens::Ends { sent, outcome, refusals } => {
                governor.ended(now, sent, outcome);
                if outcome == Outcome::Refused {
                    let wait = (WAIT.0 * 2_f64.powi(i32::try_from(refusals).unwrap().min(10))).min(WAIT.1);
                    let wait = Duration::from_secs_f64(wait * (1.0 + 0.1 * normal().abs()));
                    add(&mut agenda, now + wait, Happens::ComesAgain { refusals: refusals + 1 });
                } else {
                    busy -= 1;
                    answered += 1;
                    waiting.push_back(0);
                }
            }
        }
        while let Some(refusals) = waiting.front().copied() {
            match governor.ask(now) {
                Answer::Go => {}
                Answer::Full => break,
                Answer::Until(then) => {
                    add(&mut agenda, then, Happens::Wakes);
                    break;
                }
            }
            waiting.pop_front();
            // A bucket of one second, at least of one call.
            bucket = (bucket + now.saturating_sub(filled).as_secs_f64() * provider.per_second)
                .min(provider.per_second.max(1.0));
            filled = now;
            let takes = provider.takes * (0.33 * normal()).exp();
            let crowd = (as_float(busy + 1) / as_float(provider.saturates)).max(1.0);
            let (takes, outcome) = if busy >= provider.at_once || bucket < 1.0 {
                (Duration::from_millis(30), Outcome::Refused)
            } else {
                bucket -= 1.0;
                busy += 1;
                let takes = Duration::from_secs_f64(takes * crowd);
                (takes, Outcome::Answered(takes))
            };
            add(&mut agenda, now + takes, Happens::Ends { sent: now, outcome, refusals });
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "few calls")]
    let (answered, refused, sent) = (answered as f64, governor.refused as f64, governor.sent as f64);
    // All are sent at once at first, whatever it takes: what it refuses of these is how it is found out.
    let later = (refused - as_float(callers)).max(0.0);
    Played { share: answered / (provider.best(callers) * TIME.as_secs_f64()), refused: later / sent }
}

/// The mean of some seeds.
fn mean(provider: &Provider, callers: usize) -> Played {
    const SEEDS: u64 = 3;
    let all: Vec<Played> = (0..SEEDS).map(|seed| play(provider, callers, seed)).collect();
    let of = |part: fn(&Played) -> f64| all.iter().map(part).sum::<f64>() / 3.0;
    Played { share: of(|one| one.share), refused: of(|one| one.refused) }
}

fn check(providers: &[Provider], worst: f64, most_refused: f64) {
    let mut lines = Vec::new();
    let mut is_good = true;
    for provider in providers {
        let Played { share, refused } = mean(provider, 200);
        is_good &= share >= worst && refused <= most_refused;
        lines.push(format!(
            "{}: {:.0} % of the best, {:.1} % refused",
            provider.name,
            share * 100.0,
            refused * 100.0
        ));
    }
    assert!(is_good, "{}", lines.join("\n"));
}

#[test]
fn the_first_set_of_providers_is_used_well() {
    check(FIRST, 0.6, 0.1);
}

#[test]
fn the_set_that_was_held_out_is_used_well() {
    check(HELD_OUT, 0.5, 0.1);
}

#[test]
fn a_provider_that_refuses_nothing_gets_everything_at_once() {
    for callers in [16, 200, 1000] {
        let Played { share, refused } = mean(&Provider { name: "any", takes: 5.0, ..ANY }, callers);
        assert!(share > 0.9 && refused == 0.0, "{callers} callers: {share:.2} of the best");
    }
}
