//! `group`.

use rehearsal_core::keys::{At, Complaint, Form, Given, Key};
use rehearsal_core::{MetricResult, MetricStatus};
use serde_json::{Value, json};

use super::check_program::CheckProgram;
use super::{Check, Evaluator, How, LooksAt, Place};
use crate::judge::answer;
use crate::view::View;
use crate::{Assessment, InvalidAnswer};

/// Enough of several evaluations pass.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// The evaluations.
    pub parts: Vec<Part>,
    /// The share of their weights from which on it passes.
    pub threshold: f64,
}

/// An evaluation of a group.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// What is asked.
    pub check: Check,
    /// How.
    pub how: How,
    /// How much it counts.
    pub weight: f64,
}

impl Evaluator for Group {
    const TYPE: &'static str = "group";
    const ABOUT: &'static str = "Enough of several evaluations pass.";
    const LOOKS_AT: LooksAt = LooksAt::Reply;
    const KEYS: &'static [Key] = &[
        Key::required(
            "evaluations",
            Form::SomeOf(&Form::SomeMap),
            "evaluations: [{type: string_contains, value: hello, weight: 2}]",
            "The evaluations, each with a `weight` where it does not count 1.",
        ),
        Key::or(
            "threshold",
            Form::Number(0.0, 1.0),
            "1",
            "The share of the weights from which on the group passes, above 0.",
        ),
    ];
    const PAGE: &'static str = "\
The score is the weighted mean of the scores of the evaluations: an evaluation without a score of its own has 1 where it passes and 0 \
where it fails. One that cannot be decided leaves the group undecided, unless the others settle it either way. The evidence has a line \
for each.

```yaml
- type: group
  threshold: 0.6
  evaluations:
    - {type: string_contains, value: refund, weight: 2}
    - {type: similar, to: Your money is on its way.}
```";

    fn rules() -> Value {
        json!({"allOf": [{"properties": {"threshold": {"exclusiveMinimum": 0}}}]})
    }

    fn read(given: &mut Given<'_>) -> Self {
        let mut parts = Vec::new();
        let items = match given.value("evaluations") {
            Some(Value::Array(items)) => items,
            _ => Vec::new(),
        };
        if items.is_empty() && given.has("evaluations") {
            let message = "a group of nothing always passes";
            let complaint = Complaint::no_effect("always-true", At::Value("evaluations"), message);
            given.complain(complaint.help("add an evaluation: {type: string_contains, value: hello}"));
        }
        for (number, mut item) in items.into_iter().enumerate() {
            let weight = match item.as_object_mut().and_then(|fields| fields.shift_remove("weight")) {
                None => Some(1.0),
                Some(weight) => {
                    rehearsal_core::json::as_f64(&weight).filter(|weight| *weight > 0.0 && weight.is_finite())
                }
            };
            let at = |key| At::Item("evaluations", number, key);
            let Some(weight) = weight else {
                let message = format!("evaluation {} of the group: a `weight` is a number above 0", number + 1);
                given.complain(Complaint::spoils("bad-evaluation", at("weight"), message).help("write: weight: 2"));
                continue;
            };
            if let Some(fields) = item.as_object_mut() {
                fields.shift_remove("description");
            }
            match Check::asked_from_json(item) {
                Ok((how, check)) => parts.push(Part { check, how, weight }),
                Err(error) => {
                    for problem in error.problems {
                        let message = format!("evaluation {} of the group: {problem}", number + 1);
                        given.complain(Complaint::spoils("bad-evaluation", at("type"), message));
                    }
                }
            }
        }
        let threshold = given.number("threshold").unwrap_or(1.0);
        if threshold <= 0.0 {
            let message = "every score reaches a `threshold` of 0";
            let complaint = Complaint::no_effect("always-true", At::Name("threshold"), message);
            given.complain(complaint.help("write one above 0"));
        }
        Self { parts, threshold }
    }

    fn detail(&self) -> String {
        format!("of {} ≥{}", self.parts.len(), self.threshold)
    }

    fn needs_judge(&self) -> bool {
        self.parts.iter().any(|part| part.check.needs_judge())
    }

    fn judges(&self) -> Vec<Option<&str>> {
        self.parts.iter().flat_map(|part| part.check.judges()).collect()
    }

    fn programs(&self) -> Vec<&CheckProgram> {
        self.parts.iter().flat_map(|part| part.check.programs()).collect()
    }

    fn commands(&self) -> Vec<&str> {
        self.parts.iter().flat_map(|part| part.check.commands()).collect()
    }

    fn world_references(&self) -> Vec<Value> {
        self.parts.iter().flat_map(|part| part.check.world_references()).collect()
    }

    fn parts(&self) -> Vec<&Part> {
        self.parts.iter().collect()
    }

    fn tools(&self) -> Option<Vec<&str>> {
        let named: Vec<Vec<&str>> = self.parts.iter().filter_map(|part| part.check.tools()).collect();
        (!named.is_empty()).then(|| named.into_iter().flatten().collect())
    }

    fn assess(&self, view: &View<'_>) -> Assessment {
        let mut requests = Vec::new();
        for part in &self.parts {
            if let Assessment::Ask(asked) = part.assess(view) {
                requests.extend(asked);
            }
        }
        if !requests.is_empty() {
            return Assessment::Ask(requests);
        }
        let done = self.parts.iter().map(|part| match part.assess(view) {
            Assessment::Done(result) => result,
            Assessment::Ask(_) => unreachable!("nothing was asked"),
        });
        self.sum(&done.collect::<Vec<_>>()).into()
    }

    fn conclude(&self, view: &View<'_>, answers: &[Value]) -> Result<MetricResult, InvalidAnswer> {
        let mut rest = answers;
        let mut results = Vec::new();
        for part in &self.parts {
            results.push(match part.assess(view) {
                Assessment::Done(result) => result,
                Assessment::Ask(asked) => {
                    let (own, others) = rest
                        .split_at_checked(asked.len())
                        .ok_or(InvalidAnswer::Count { questions: asked.len(), answers: rest.len() })?;
                    rest = others;
                    // One that cannot be used leaves its part undecided, and the others what they are.
                    let concluded = part.check.conclude(view, own);
                    part.how.turned(concluded.unwrap_or_else(|why| MetricResult::unscored(why.to_string())))
                }
            });
        }
        answer::all(rest, 0)?;
        Ok(self.sum(&results))
    }
}

impl Part {
    fn assess(&self, view: &View<'_>) -> Assessment {
        if let Err(why) = self.check.allowed_in(Place::of(view)) {
            return MetricResult::unscored(why.to_string()).into();
        }
        self.how.assess(&self.check, view)
    }

    fn label(&self) -> String {
        format!("{}{}", self.how.prefix(), self.check.label())
    }
}

impl Group {
    /// What the evaluations come to together.
    fn sum(&self, results: &[MetricResult]) -> MetricResult {
        let total: f64 = self.parts.iter().map(|part| part.weight).sum();
        let (mut least, mut open) = (0.0, 0.0);
        let mut lines = Vec::new();
        for (part, result) in self.parts.iter().zip(results) {
            let score = result.score.map(|score| score.clamp(0.0, 1.0));
            let (word, score) = match result.status {
                MetricStatus::Passed => ("passed", score.or(Some(1.0))),
                MetricStatus::Failed => ("failed", score.or(Some(0.0))),
                _ => ("undecided", None),
            };
            match score {
                Some(score) => least += score * part.weight,
                None => open += part.weight,
            }
            let why = result.evidence.first().map(|first| format!(": {}", first.text)).unwrap_or_default();
            let events = result.evidence.first().map(|first| first.events.clone()).unwrap_or_default();
            lines.push((format!("{word}: {}{why}", part.label()), events));
        }
        let (least, most) = (least / total, (least + open) / total);
        // Sums of fractions: what is meant to be reached is.
        let reaches = |score: f64| score + 1e-9 >= self.threshold;
        let told = |result: MetricResult, message: String| {
            let result = result.because(message);
            lines.iter().fold(result, |result, (line, events)| result.because_of(line.clone(), events.clone()))
        };
        let threshold = self.threshold;
        if reaches(least) || !reaches(most) {
            let passed = reaches(least);
            let message = format!("the group comes to {least:.2}, and {threshold} was asked for");
            return told(MetricResult::from_pass(passed).score(least.clamp(0.0, 1.0)), message);
        }
        let message = format!(
            "the group comes to {least:.2} to {most:.2}, and {threshold} was asked for: what is undecided decides it"
        );
        told(MetricResult::new(MetricStatus::Unscored), message)
    }
}
