//! `cost`.

use std::collections::BTreeMap;

use rehearsal_core::keys::{Form, Given, Key};
use rehearsal_core::{MetricResult, Usage};

use super::usage::{spent, undecided};
use super::{Evaluator, LooksAt};
use crate::Assessment;
use crate::view::View;

/// What the agent's models cost, where all of it is known.
pub(crate) fn known_cost(view: &View<'_>) -> Option<f64> {
    let priced = spent(view).ok()?.into_iter().map(|(event, usage)| {
        let model = event.decision.as_ref()?.name.as_deref()?;
        Some(view.prices().0.get(model)?.of(usage))
    });
    priced.sum()
}

/// The agent's models cost no more than they should.
#[derive(Clone, Debug, PartialEq)]
pub struct Cost {
    /// US dollars, at most.
    pub max_cost_usd: f64,
}

impl Evaluator for Cost {
    const TYPE: &'static str = "cost";
    const ABOUT: &'static str = "The agent's models cost no more than they should, by the `prices` of the file.";
    const LOOKS_AT: LooksAt = LooksAt::Agent;
    const KEYS: &'static [Key] = &[Key::required(
        "max_cost_usd",
        Form::Number(0.0, f64::INFINITY),
        "max_cost_usd: 0.05",
        "US dollars, at most.",
    )];
    const PAGE: &'static str = "\
Prices stand at the top of the file: US dollars for a million tokens, by the model's specification. `cached` is the \
price of tokens that were read from a cache; without it they cost as much as others.

Cannot be decided when a model has no price, or an answer does not say what it used. The evidence lists the cost of each \
model.

```yaml
- type: cost
  max_cost_usd: 0.05
```

```yaml
prices:
  openai:gpt-4o: {input: 2.5, output: 10, cached: 1.25}
```";

    fn read(given: &mut Given<'_>) -> Self {
        Self { max_cost_usd: given.number("max_cost_usd").unwrap_or(0.0) }
    }

    fn detail(&self) -> String {
        format!("≤${}", self.max_cost_usd)
    }

    fn assess(&self, view: &View<'_>) -> Assessment {
        let spent = match spent(view) {
            Ok(spent) => spent,
            Err(result) => return result.into(),
        };
        let mut models: BTreeMap<&str, (Usage, Vec<u64>)> = BTreeMap::new();
        for (event, usage) in spent {
            let Some(model) = event.decision.as_ref().and_then(|decision| decision.name.as_deref()) else {
                return undecided("the ledger does not say which model answered", [event.seq]).into();
            };
            let entry = models.entry(model).or_default();
            entry.0 += usage;
            entry.1.push(event.seq);
        }
        let mut total = 0.0;
        let mut parts = Vec::new();
        for (model, (usage, events)) in models {
            let Some(price) = view.prices().0.get(model) else {
                let message = format!(
                    "there is no price for `{model}`; add to the file, in US dollars for a million tokens:\n\
                     prices:\n  {model}: {{input: …, output: …}}"
                );
                return undecided(message, events).into();
            };
            let cost = price.of(usage);
            total += cost;
            let Usage { input, output, cached, .. } = usage;
            let cached = if cached == 0 { String::new() } else { format!(" ({cached} cached)") };
            parts.push((format!("{model}: {input} input{cached}, {output} output tokens: ${cost:.6}"), events));
        }
        let most = self.max_cost_usd;
        let message = format!("{} cost ${total:.6}, at most ${most} asked for", view.name());
        // Adding up may lose a last digit, which must not decide.
        let result = MetricResult::from_pass(total <= most + 1e-12).value(total).because(message);
        parts.into_iter().fold(result, |result, (text, events)| result.because_of(text, events)).into()
    }
}
