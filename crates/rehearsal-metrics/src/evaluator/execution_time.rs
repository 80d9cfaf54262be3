//! `execution_time`.

use std::sync::Arc;

use rehearsal_core::{Event, MetricResult, Player, Timestamp};
use rehearsal_core::keys::{At, Complaint, Form, Given, Key};
use serde_json::{Value, json};

use super::{Evaluator, LooksAt};
use crate::Assessment;
use crate::view::View;

/// The step or turn took as long as it should.
#[derive(Clone, Debug, PartialEq)]
pub struct ExecutionTime {
    /// At most, in milliseconds.
    pub max_duration_ms: f64,
    /// At least.
    pub min_duration_ms: Option<f64>,
    /// About; only told.
    pub target_duration_ms: Option<f64>,
}

const MILLIS: Form = Form::Number(f64::NEG_INFINITY, f64::INFINITY);

impl Evaluator for ExecutionTime {
    const TYPE: &'static str = "execution_time";
    const ABOUT: &'static str = "The step or turn took as long as it should.";
    const LOOKS_AT: LooksAt = LooksAt::Reply;
    const KEYS: &'static [Key] = &[
        Key::required("max_duration_ms", MILLIS, "max_duration_ms: 5000", "At most, in milliseconds."),
        Key::optional("min_duration_ms", MILLIS, "At least, in milliseconds."),
        Key::optional("target_duration_ms", MILLIS, "Only reported: how far the time is from it."),
    ];
    const PAGE: &'static str = "\
Times are those on the ledger; a turn is measured from the user's message to its last event. Bounds are included. The time in which a person played the model, a tool or the user is left out.

Cannot be decided of a turn in which nothing followed the user's message.

```yaml
- type: execution_time
  max_duration_ms: 5000
```";

    fn rules() -> Value {
        json!({"allOf": [{"properties": {"max_duration_ms": {"minimum": 0}}}]})
    }

    fn read(given: &mut Given<'_>) -> Self {
        let max = given.number("max_duration_ms");
        let min = given.number("min_duration_ms");
        let wrong = max.and_then(|max| {
            let never = "nothing takes less than no time".to_owned();
            let crossed = |min| format!("nothing takes at least {min} ms and at most {max} ms");
            if max < 0.0 { Some(never) } else { min.filter(|min| *min > max).map(crossed) }
        });
        if let Some(message) = wrong {
            let complaint = Complaint::no_effect("never-true", At::Value("max_duration_ms"), message);
            given.complain(complaint.help("write: max_duration_ms: 5000"));
        }
        Self {
            max_duration_ms: max.unwrap_or(0.0),
            min_duration_ms: min,
            target_duration_ms: given.number("target_duration_ms"),
        }
    }

    fn detail(&self) -> String {
        format!("≤{} ms", self.max_duration_ms)
    }

    fn assess(&self, view: &View<'_>) -> Assessment {
        let Some((from, to)) = view.times() else {
            return MetricResult::unscored(format!("nothing happened in {}", view.name())).into();
        };
        #[expect(clippy::cast_precision_loss, reason = "no step takes 2^53 microseconds")]
        let millis = |micros: i128| micros as f64 / 1000.0;
        let people = of_people(view.events(), from, to);
        let took = millis(to.duration_since(from).as_micros() - people);
        let (most, least) = (self.max_duration_ms, self.min_duration_ms);
        let asked = match least {
            Some(least) => format!("from {least} to {most} ms were asked for"),
            None => format!("at most {most} ms were asked for"),
        };
        let passed = took <= most && least.is_none_or(|least| took >= least);
        let events = [view.events().first(), view.events().last()].into_iter().flatten().map(|event| event.seq);
        let without = match people {
            0 => String::new(),
            people => format!(" without the {} ms that people took", millis(people)),
        };
        let message = format!("{} took {took} ms{without}, {asked}", view.name());
        let result = MetricResult::from_pass(passed).value(took).because_of(message, events);
        match self.target_duration_ms {
            Some(target) => result.because(format!("{:+} ms from the target of {target} ms", took - target)),
            None => result,
        }
        .into()
    }
}

/// The microseconds between two moments in which somebody waited for a person. People may be asked side by side: what
/// two of them took at the same time counts once.
fn of_people(events: &[Arc<Event>], from: Timestamp, to: Timestamp) -> i128 {
    let micros = |at: Timestamp| i128::from(at.as_microsecond());
    let (from, to) = (micros(from), micros(to));
    let answers = events.iter().filter_map(|event| {
        let decision = event.decision.as_ref().filter(|decision| decision.by == Player::Person)?;
        let end = micros(event.at);
        Some(((end - i128::from(decision.micros)).max(from), end.min(to)))
    });
    let mut waits: Vec<(i128, i128)> = answers.collect();
    waits.sort_unstable();
    let (mut total, mut until) = (0, from);
    for (start, end) in waits {
        total += (end - start.max(until)).max(0);
        until = until.max(end);
    }
    total
}

#[cfg(test)]
mod tests {
    use rehearsal_core::{Decision, EventBody, SessionId};

    use super::*;

    fn event(second: i64, by: Player, micros: u64) -> Arc<Event> {
        let decision = Some(Decision { by, name: None, micros });
        let body = EventBody::AgentLog { text: String::new() };
        let at = Timestamp::from_second(second).expect("a moment");
        let session = SessionId::from("s");
        Arc::new(Event { seq: 1, session, at, author: "a".into(), invocation: None, turn: None, decision, body })
    }

    #[test]
    fn what_people_take_counts_once_and_only_inside() {
        let at = |second| Timestamp::from_second(second).expect("a moment");
        let events = [
            event(12, Player::Person, 5_000_000),  // began before
            event(20, Player::Provider, 3_000_000),
            event(30, Player::Person, 6_000_000),
            event(31, Player::Person, 4_000_000),  // side by side with the last
            event(45, Player::Person, 6_000_000),  // ends afterwards
        ];
        assert_eq!(of_people(&events, at(10), at(40)), 2_000_000 + 7_000_000 + 1_000_000);
        assert_eq!(of_people(&[], at(10), at(40)), 0);
    }
}
