//! `javascript`.

use rehearsal_core::MetricResult;
use rehearsal_core::keys::{At, Complaint, Form, Given, Key};
use serde_json::{Map, Value};

use super::check_program::{self, CheckProgram};
use super::python::{ARGS, THRESHOLD};
use super::shown::short;
use super::{Evaluator, LooksAt};
use crate::view::View;
use crate::{Assessment, InvalidAnswer};

/// An expression or a function in JavaScript says yes.
#[derive(Clone, Debug, PartialEq)]
pub struct JavaScript {
    /// The code.
    pub program: CheckProgram,
    /// What it is handed beside the record.
    pub args: Map<String, Value>,
    /// The score from which on it passes.
    pub threshold: f64,
}

impl Evaluator for JavaScript {
    const TYPE: &'static str = "javascript";
    const ABOUT: &'static str = "An expression or a function in JavaScript says yes.";
    const LOOKS_AT: LooksAt = LooksAt::Reply;
    const KEYS: &'static [Key] = &[
        Key::required(
            "code",
            Form::TellingText("nothing is asked by code that is empty"),
            "code: record.calls.length <= 3",
            "An expression, a function of `(record, args)`, or the body of one with `return`.",
        ),
        ARGS,
        THRESHOLD,
    ];
    const PAGE: &'static str = "\
It sees [the record](check-record.md) as `record`, and `args`. It gives `true` or `false`, a score from 0 to 1, or an object with some of \
`passed`, `score`, `reason` and `events`. What it throws, and any other value, decides nothing. It runs in the built-in engine: no files, no \
network, a quarter of a second.

```yaml
- type: javascript
  code: |
    (record) => {
      const refunds = record.calls.filter(call => call.tool === 'refund');
      return {passed: refunds.length === 1, reason: `${refunds.length} refunds`, events: refunds.map(call => call.event)};
    }
```";

    fn read(given: &mut Given<'_>) -> Self {
        let source = given.text("code");
        if let (true, Err(error)) = (given.has("code"), rehearsal_js::check_expression(&source)) {
            let complaint = Complaint::spoils("bad-expression", At::Value("code"), format!("this is no JavaScript that can be used: {error}"));
            given.complain(complaint.help("write an expression, a function `(record, args) => …`, or a body with `return`"));
        }
        Self {
            program: CheckProgram::JavaScript { source },
            args: given.map("args").unwrap_or_default(),
            threshold: given.number("threshold").unwrap_or(1.0),
        }
    }

    fn detail(&self) -> String {
        match &self.program {
            CheckProgram::JavaScript { source } => short(source),
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
