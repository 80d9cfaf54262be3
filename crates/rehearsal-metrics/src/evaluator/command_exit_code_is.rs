//! `command_exit_code_is`.

use rehearsal_core::MetricResult;
use rehearsal_core::keys::{Form, Given, Key};

use super::shown::{quoted, short};
use super::{Evaluator, LooksAt};
use crate::Assessment;
use crate::view::View;

/// A command, run when the step ends, ends with a code.
#[derive(Clone, Debug, PartialEq)]
pub struct CommandExitCodeIs {
    /// The command, a line for the shell.
    pub command: String,
    /// The code.
    pub expected_code: u64,
}

impl Evaluator for CommandExitCodeIs {
    const TYPE: &'static str = "command_exit_code_is";
    const ABOUT: &'static str = "A command, run when the step ends, ends with a code.";
    const LOOKS_AT: LooksAt = LooksAt::Environment;
    const KEYS: &'static [Key] = &[
        Key::required(
            "command",
            Form::Text,
            "command: test -s report.md",
            "The command, a line for the shell, run in the environment.",
        ),
        Key::required("expected_code", Form::Whole(0.0, 255.0), "expected_code: 0", "The code, 0 to 255."),
    ];
    const PAGE: &'static str = "\
Cannot be decided when the command could not be run, took too long or was ended by a signal.

```yaml
- type: command_exit_code_is
  command: test -s report.md
  expected_code: 0
```";

    fn read(given: &mut Given<'_>) -> Self {
        Self { command: given.text("command"), expected_code: given.whole("expected_code").unwrap_or(0) }
    }

    fn detail(&self) -> String {
        format!("{:?} {}", short(&self.command), self.expected_code)
    }

    fn command(&self) -> Option<&str> {
        Some(&self.command)
    }

    fn assess(&self, view: &View<'_>) -> Assessment {
        let (command, expected) = (&self.command, self.expected_code);
        let ended = match view.ended() {
            Ok(ended) => ended,
            Err(why) => return MetricResult::unscored(why.to_string()).into(),
        };
        let Some(run) = ended.commands.iter().find(|run| run.command == *command) else {
            return MetricResult::unscored(format!("`{command}` was not run when the step ended")).into();
        };
        let Some(code) = run.exit_code else {
            let why = run.problem.as_deref().unwrap_or("it was ended by a signal");
            return MetricResult::unscored(format!("`{command}` has no exit code: {why}"))
                .because_of(format!("it complained: {}", quoted(&run.stderr)), view.end_seq())
                .into();
        };
        let passed = u64::try_from(code) == Ok(expected);
        let message = format!("`{command}` ended with {code}, {expected} was asked for");
        let result = MetricResult::from_pass(passed).value(code).because_of(message, view.end_seq());
        let told = [("wrote", &run.stdout), ("complained", &run.stderr)];
        told.into_iter()
            .filter(|(_, text)| !passed && !text.trim().is_empty())
            .fold(result, |result, (verb, text)| result.because(format!("it {verb}: {}", quoted(text))))
            .into()
    }
}
