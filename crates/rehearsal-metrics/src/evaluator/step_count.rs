//! `step_count`.

use rehearsal_core::MetricResult;
use rehearsal_core::keys::{At, Complaint, Form, Given, Key};
use serde_json::{Value, json};

use super::calls::seqs;
use super::shown::bounds;
use super::{Evaluator, LooksAt};
use crate::Assessment;
use crate::view::View;

/// The agent made as many tool calls as it should.
#[derive(Clone, Debug, PartialEq)]
pub struct StepCount {
    /// At least.
    pub min_steps: Option<u64>,
    /// At most.
    pub max_steps: Option<u64>,
    /// About; only told.
    pub target_steps: Option<u64>,
    /// How the names of the tools that count begin.
    pub action_prefix: Option<String>,
}

/// As many calls as anybody could mean.
const COUNT: Form = Form::Whole(0.0, 1e9);

impl Evaluator for StepCount {
    const TYPE: &'static str = "step_count";
    const ABOUT: &'static str = "The agent made as many tool calls as it should.";
    const LOOKS_AT: LooksAt = LooksAt::Agent;
    const KEYS: &'static [Key] = &[
        Key::optional("min_steps", COUNT, "How many at least; `min_steps` or `max_steps` is needed."),
        Key::optional("max_steps", COUNT, "How many at most."),
        Key::optional("target_steps", COUNT, "Only reported: how far the number is from it."),
        Key::optional("action_prefix", Form::Text, "Count only tools whose name begins with this."),
    ];
    const PAGE: &'static str = "\
```yaml
- type: step_count
  max_steps: 5
  action_prefix: search_
```";

    fn rules() -> Value {
        let some = json!({"required": ["min_steps"], "properties": {"min_steps": {"minimum": 1}}});
        json!({"anyOf": [{"required": ["max_steps"]}, some]})
    }

    fn read(given: &mut Given<'_>) -> Self {
        let (min_steps, max_steps) = (given.whole("min_steps"), given.whole("max_steps"));
        // `target_steps` is only told.
        if min_steps.unwrap_or(0) == 0 && !given.has("max_steps") {
            let message = "any number of steps is what this asks for";
            let complaint = Complaint::no_effect("always-true", At::Whole, message);
            given.complain(complaint.help("add one of `min_steps` and `max_steps`"));
        }
        super::bounds::complain(given, (min_steps, max_steps), ("min_steps", "max_steps"));
        Self {
            min_steps,
            max_steps,
            target_steps: given.whole("target_steps"),
            action_prefix: given.some_text("action_prefix"),
        }
    }

    fn detail(&self) -> String {
        let prefix = self.action_prefix.iter().map(|prefix| format!("{prefix}… "));
        format!("{}{}", prefix.collect::<String>(), bounds(self.min_steps, self.max_steps))
    }

    fn tools(&self) -> Option<Vec<&str>> {
        Some(Vec::new())
    }

    fn assess(&self, view: &View<'_>) -> Assessment {
        let prefix = self.action_prefix.as_deref().unwrap_or_default();
        let calls: Vec<_> = view.calls().into_iter().filter(|call| call.tool.starts_with(prefix)).collect();
        let count = calls.len() as u64;
        let (least, most) = (self.min_steps, self.max_steps);
        let passed = least.is_none_or(|least| count >= least) && most.is_none_or(|most| count <= most);
        let begun = if prefix.is_empty() { String::new() } else { format!(" that begin with {prefix:?}") };
        let asked = match (least, most) {
            (Some(least), Some(most)) => format!("{least} to {most}"),
            (Some(least), None) => format!("at least {least}"),
            (None, most) => format!("at most {}", most.unwrap_or(u64::MAX)),
        };
        let message = format!("{} has {count} tool calls{begun}, {asked} asked for", view.name());
        let result = MetricResult::from_pass(passed).value(count).because_of(message, seqs(&calls));
        match self.target_steps {
            Some(target) => result.because(format!("{} from the target of {target}", count.abs_diff(target))),
            None => result,
        }
        .into()
    }
}
