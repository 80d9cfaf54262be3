//! `python`.

use rehearsal_core::MetricResult;
use rehearsal_core::keys::{At, Complaint, Form, Given, Key};
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

/// Whether a text is `module:name`, both of them words with dots between.
fn is_function(text: &str) -> bool {
    let is_word = |word: &str| {
        word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    let is_path = |path: &str| path.split('.').all(is_word);
    text.split_once(':').is_some_and(|(module, name)| is_path(module) && is_path(name))
}

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
        let function = given.text("function");
        if given.has("function") && !is_function(&function) {
            let message = format!("`{function}` names no function of a module");
            let complaint = Complaint::spoils("bad-function", At::Value("function"), message);
            given.complain(complaint.help("write `module:name`: function: checks:refund_is_right"));
        }
        Self {
            program: CheckProgram::Python { function },
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
