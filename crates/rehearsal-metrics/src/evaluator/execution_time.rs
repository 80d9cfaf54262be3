//! `execution_time`.

use rehearsal_core::MetricResult;
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
Times are those on the ledger; a turn is measured from the user's message to its last event. Bounds are included.

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
        let took = to.duration_since(from).as_micros() as f64 / 1000.0;
        let (most, least) = (self.max_duration_ms, self.min_duration_ms);
        let asked = match least {
            Some(least) => format!("from {least} to {most} ms were asked for"),
            None => format!("at most {most} ms were asked for"),
        };
        let passed = took <= most && least.is_none_or(|least| took >= least);
        let events = [view.events().first(), view.events().last()].into_iter().flatten().map(|event| event.seq);
        let message = format!("{} took {took} ms, {asked}", view.name());
        let result = MetricResult::from_pass(passed).value(took).because_of(message, events);
        match self.target_duration_ms {
            Some(target) => result.because(format!("{:+} ms from the target of {target} ms", took - target)),
            None => result,
        }
        .into()
    }
}
