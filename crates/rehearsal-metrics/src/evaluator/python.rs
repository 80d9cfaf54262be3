//! `python`.

use rehearsal_core::MetricResult;
use rehearsal_core::keys::{Form, Given, Key};
use serde_json::{Map, Value};

use super::check_program::{self, CheckProgram};
use super::{Evaluator, LooksAt};
use crate::view::View;
use crate::{Assessment, InvalidAnswer};

/// A function in Python says yes.
#[derive(Clone, Debug, PartialEq)]
pub struct Python {
    /// The function.
    pub program: CheckProgram,
    /// What it is handed beside the record.
    pub args: Map<String, Value>,
    /// The score from which on it passes.
    pub threshold: f64,
}

/// What all checks of the author's own have.
pub(super) const ARGS: Key =
    Key::optional("args", Form::Map, "What it is handed beside the record, by name.");
/// The score from which on one passes.
pub(super) const THRESHOLD: Key = Key::or(
    "threshold",
    Form::Number(0.0, 1.0),
    "1",
    "The score from which on it passes, where it answers with a score and nothing else.",
);

impl Evaluator for Python {
    const TYPE: &'static str = "python";
    const ABOUT: &'static str = "A function in Python says yes.";
    const LOOKS_AT: LooksAt = LooksAt::Reply;
    const KEYS: &'static [Key] = &[
        Key::required(
            "function",
            Form::Like("^[A-Za-z_][A-Za-z0-9_]*(\\.[A-Za-z_][A-Za-z0-9_]*)*:[A-Za-z_][A-Za-z0-9_]*(\\.[A-Za-z_][A-Za-z0-9_]*)*$"),
            "function: checks:refund_is_right",
            "The function, as `module:name`; modules are looked for in the folder of the file first.",
        ),
        ARGS,
        THRESHOLD,
    ];
    const PAGE: &'static str = "\
The function is called with [the record](check-record.md) and, by name, with `args`. It answers `True` or `False`, a score from 0 to 1, \
or a dict with some of `passed`, `score`, `reason` and `events`; an assertion that fails is a no with its message. What it raises \
otherwise, and any other answer, decides nothing. All functions of a run are called in one process, `python3` as the `PATH` has it.

```yaml
- type: python
  function: checks:refund_is_right
  args: {most: 100}
```";

    fn read(given: &mut Given<'_>) -> Self {
        Self {
            program: CheckProgram::Python { function: given.text("function") },
            args: given.map("args").unwrap_or_default(),
            threshold: given.number("threshold").unwrap_or(1.0),
        }
    }

    fn detail(&self) -> String {
        match &self.program {
            CheckProgram::Python { function } => function.clone(),
            _ => String::new(),
        }
    }

    fn programs(&self) -> Vec<&CheckProgram> {
        vec![&self.program]
    }

    fn assess(&self, view: &View<'_>) -> Assessment {
        check_program::ask(&self.program, &self.args, view)
    }

    fn conclude(&self, view: &View<'_>, answers: &[Value]) -> Result<MetricResult, InvalidAnswer> {
        check_program::conclude(view, answers, self.threshold)
    }
}
