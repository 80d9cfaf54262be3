//! `command`.

use rehearsal_core::MetricResult;
use rehearsal_core::keys::{At, Complaint, Form, Given, Key};
use serde_json::{Map, Value, json};

use super::check_program::{self, CheckCommand, CheckProgram};
use super::python::{ARGS, THRESHOLD};
use super::shown::short;
use super::{Evaluator, LooksAt};
use crate::view::View;
use crate::{Assessment, InvalidAnswer};

/// A program says yes.
#[derive(Clone, Debug, PartialEq)]
pub struct Command {
    /// The program.
    pub program: CheckProgram,
    /// What it is handed beside the record.
    pub args: Map<String, Value>,
    /// The score from which on it passes.
    pub threshold: f64,
}

fn words() -> Value {
    json!({
        "type": "array",
        "minItems": 1,
        "prefixItems": [{"type": "string", "minLength": 1}],
        "items": {"type": "string"},
    })
}

impl Evaluator for Command {
    const TYPE: &'static str = "command";
    const ABOUT: &'static str = "A program says yes.";
    const LOOKS_AT: LooksAt = LooksAt::Reply;
    const KEYS: &'static [Key] = &[
        Key::required(
            "command",
            Form::OneOf(&[
                Form::About("A line for the shell.", &Form::Like("\\S")),
                Form::About("A program and its arguments.", &Form::Own(words)),
            ]),
            "command: [python3, check.py]",
            "The program, run in the folder of the file.",
        ),
        ARGS,
        THRESHOLD,
        Key::or("timeout_ms", Form::Whole(1.0, 3_600_000.0), "60000", "How long it may take, in milliseconds."),
    ];
    const PAGE: &'static str = "\
It reads [the record](check-record.md) as JSON from its standard input, with `args` in it, and writes its answer as JSON to its standard \
output: `true` or `false`, a score from 0 to 1, or an object with some of `passed`, `score`, `reason` and `events`. One that ends with \
another code than 0, takes too long, or answers in another form decides nothing; the end of its standard error is shown then.

```yaml
- type: command
  command: [node, check.mjs]
```";

    fn read(given: &mut Given<'_>) -> Self {
        let command = match given.value("command") {
            Some(Value::String(line)) if !line.trim().is_empty() => Some(CheckCommand::Shell(line)),
            Some(Value::Array(words)) => {
                let words: Option<Vec<String>> =
                    words.iter().map(|word| word.as_str().map(str::to_owned)).collect();
                words.filter(|words| words.first().is_some_and(|word| !word.is_empty())).map(CheckCommand::Words)
            }
            _ => None,
        };
        if command.is_none() && given.has("command") {
            let message = "`command` names no program";
            let complaint = Complaint::spoils("empty", At::Value("command"), message);
            given.complain(complaint.help("write: python3 check.py, or [python3, check.py]"));
        }
        Self {
            program: CheckProgram::Command {
                command: command.unwrap_or(CheckCommand::Shell(String::new())),
                timeout_ms: given.whole("timeout_ms").unwrap_or(60_000),
            },
            args: given.map("args").unwrap_or_default(),
            threshold: given.number("threshold").unwrap_or(1.0),
        }
    }

    fn detail(&self) -> String {
        match &self.program {
            CheckProgram::Command { command: CheckCommand::Shell(line), .. } => short(line),
            CheckProgram::Command { command: CheckCommand::Words(words), .. } => short(&words.join(" ")),
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
