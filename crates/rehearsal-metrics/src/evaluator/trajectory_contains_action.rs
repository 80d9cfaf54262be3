//! `trajectory_contains_action`.

use rehearsal_core::keys::{Form, Given, Key};
use rehearsal_core::{CallView, MetricResult};

use super::calls::{CallStatus, called_tools, folded, seqs, tell_others};
use super::{Evaluator, LooksAt};
use crate::Assessment;
use crate::view::View;

/// The agent called a tool, and the call succeeded.
#[derive(Clone, Debug, PartialEq)]
pub struct TrajectoryContainsAction {
    /// The tool, by any spelling of its name.
    pub action: String,
}

impl Evaluator for TrajectoryContainsAction {
    const TYPE: &'static str = "trajectory_contains_action";
    const ABOUT: &'static str = "The agent called a tool, and the call succeeded.";
    const LOOKS_AT: LooksAt = LooksAt::Agent;
    const KEYS: &'static [Key] = &[Key::required(
        "action",
        Form::Text,
        "action: SEND_EMAIL",
        "The tool's name, without regard to case, `_` and `-`: `SEND_EMAIL` is `sendEmail`.",
    )];
    const PAGE: &'static str = "\
```yaml
- type: trajectory_contains_action
  action: SEND_EMAIL
```";

    fn read(given: &mut Given<'_>) -> Self {
        Self { action: given.text("action") }
    }

    fn detail(&self) -> String {
        self.action.clone()
    }

    fn tools(&self) -> Option<Vec<&str>> {
        Some(Vec::new())
    }

    fn assess(&self, view: &View<'_>) -> Assessment {
        let (calls, action) = (view.calls(), &self.action);
        let is_action = |call: &&CallView<'_>| folded(call.tool) == folded(action);
        let found: Vec<CallView<'_>> = calls.iter().filter(is_action).copied().collect();
        if let Some(call) = found.iter().find(|call| CallStatus::Succeeded.holds(call)) {
            let message = format!("{} was done", call.tool);
            return MetricResult::from_pass(true).because_of(message, [call.event.seq]).into();
        }
        if found.is_empty() {
            let message = format!("{action} was not done; {}", called_tools(&calls, action));
            return MetricResult::from_pass(false).because_of(message, seqs(&calls)).into();
        }
        let result = MetricResult::from_pass(false)
            .because_of(format!("{action} was found, but it did not succeed"), seqs(&found));
        tell_others(result, &found, None).into()
    }
}
