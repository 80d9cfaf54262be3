//! `tool_not_called`.

use rehearsal_core::keys::{Form, Given, Key};
use rehearsal_core::{CallView, MetricResult};

use super::calls::{differences, seqs, times};
use super::pattern::{ArgumentPattern, read_args};
use super::{Evaluator, LooksAt};
use crate::Assessment;
use crate::view::View;

/// The agent did not call a tool, or not with these arguments.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolNotCalled {
    /// The tool.
    pub tool: String,
    /// The arguments with which it must not be called; none asks that it is not called at all.
    pub args: Option<ArgumentPattern>,
}

impl Evaluator for ToolNotCalled {
    const TYPE: &'static str = "tool_not_called";
    const ABOUT: &'static str = "The agent did not call a tool, or not with these arguments.";
    const LOOKS_AT: LooksAt = LooksAt::Agent;
    const KEYS: &'static [Key] = &[
        Key::required("tool", Form::Text, "tool: the tool's name", "The tool, by its exact name."),
        Key::optional("args", Form::Map, "Arguments that no call has; as for `tool_called`."),
    ];
    const PAGE: &'static str = "\
Calls that failed count.

```yaml
- type: tool_not_called
  tool: delete_account
```";

    fn read(given: &mut Given<'_>) -> Self {
        Self { tool: given.text("tool"), args: read_args(given) }
    }

    fn detail(&self) -> String {
        self.tool.clone()
    }

    fn tools(&self) -> Option<Vec<&str>> {
        Some(vec![&self.tool])
    }

    fn assess(&self, view: &View<'_>) -> Assessment {
        let (tool, args) = (&self.tool, self.args.as_ref());
        let calls = view.calls();
        let of_tool = calls.iter().filter(|call| **call.tool == **tool).copied();
        let (found, others): (Vec<CallView<'_>>, Vec<_>) =
            of_tool.partition(|call| differences(args, call).is_empty());
        let with = args.map(|args| format!(" with {args}")).unwrap_or_default();
        let message = match found.len() as u64 {
            0 => format!("{tool} was not called{with}"),
            count => format!("{tool} was called{with} {}", times(count)),
        };
        let result =
            MetricResult::from_pass(found.is_empty()).value(found.len()).because_of(message, seqs(&found));
        if others.is_empty() {
            return result.into();
        }
        let message = format!("it was called with other arguments {}", times(others.len() as u64));
        result.because_of(message, seqs(&others)).into()
    }
}
