//! `token_count`.

use rehearsal_core::keys::{At, Complaint, Form, Given, Key};
use rehearsal_core::{MetricResult, Usage};
use serde_json::{Value, json};

use super::usage::spent;
use super::{Evaluator, LooksAt};
use crate::Assessment;
use crate::view::View;

/// The agent's models used no more tokens than they should.
#[derive(Clone, Debug, PartialEq)]
pub struct TokenCount {
    /// Tokens read, at most.
    pub max_input_tokens: Option<u64>,
    /// Tokens written, at most.
    pub max_output_tokens: Option<u64>,
    /// Both together, at most.
    pub max_total_tokens: Option<u64>,
}

const TOKENS: Form = Form::Whole(0.0, 1e15);
const NAMES: [&str; 3] = ["max_input_tokens", "max_output_tokens", "max_total_tokens"];

impl TokenCount {
    fn most(&self) -> [(&'static str, Option<u64>); 3] {
        [("input", self.max_input_tokens), ("output", self.max_output_tokens), ("total", self.max_total_tokens)]
    }
}

impl Evaluator for TokenCount {
    const TYPE: &'static str = "token_count";
    const ABOUT: &'static str = "The agent's models used no more tokens than they should.";
    const LOOKS_AT: LooksAt = LooksAt::Agent;
    const KEYS: &'static [Key] = &[
        Key::optional(NAMES[0], TOKENS, "Tokens read, at most; at least one of the three is needed."),
        Key::optional(NAMES[1], TOKENS, "Tokens written, at most."),
        Key::optional(NAMES[2], TOKENS, "Both together, at most."),
    ];
    const PAGE: &'static str = "\
Tokens of simulated users and judges do not count.

Cannot be decided when an answer does not say what it used, or no model answered.

```yaml
- type: token_count
  max_total_tokens: 20000
```";

    fn rules() -> Value {
        let any: Vec<Value> = NAMES.iter().map(|key| json!({"required": [key]})).collect();
        json!({"anyOf": any})
    }

    fn read(given: &mut Given<'_>) -> Self {
        if !NAMES.iter().any(|key| given.has(key)) {
            let message = "any number of tokens is what this asks for";
            let help = "add one of `max_input_tokens`, `max_output_tokens` and `max_total_tokens`";
            given.complain(Complaint::no_effect("always-true", At::Whole, message).help(help));
        }
        Self {
            max_input_tokens: given.whole(NAMES[0]),
            max_output_tokens: given.whole(NAMES[1]),
            max_total_tokens: given.whole(NAMES[2]),
        }
    }

    fn detail(&self) -> String {
        let parts = self.most().into_iter().filter_map(|(name, most)| Some(format!("{name} ≤{}", most?)));
        parts.collect::<Vec<_>>().join(", ")
    }

    fn assess(&self, view: &View<'_>) -> Assessment {
        let spent = match spent(view) {
            Ok(spent) => spent,
            Err(result) => return result.into(),
        };
        let mut total = Usage::default();
        let mut events = Vec::new();
        for (event, usage) in spent {
            total += usage;
            events.push(event.seq);
        }
        let used = [total.input, total.output, total.input.saturating_add(total.output)];
        let kept = used.iter().zip(self.most()).all(|(used, (_, most))| most.is_none_or(|most| *used <= most));
        let told = used.iter().zip(self.most()).map(|(used, (name, most))| match most {
            Some(most) => format!("{used} {name} tokens of at most {most}"),
            None => format!("{used} {name} tokens"),
        });
        let message = format!("{} used {}", view.name(), told.collect::<Vec<_>>().join(", "));
        MetricResult::from_pass(kept).value(used[2]).because_of(message, events).into()
    }
}
