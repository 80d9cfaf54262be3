//! `regex_match`.

use rehearsal_core::MetricResult;
use rehearsal_core::keys::{At, Complaint, Form, Given, Key};
use rehearsal_js::Pattern;

use super::shown::{quoted, short, silent};
use super::{Evaluator, LooksAt};
use crate::Assessment;
use crate::view::View;

/// The reply matches a regular expression somewhere.
#[derive(Clone, Debug, PartialEq)]
pub struct RegexMatch {
    /// The pattern, in JavaScript's syntax.
    pub pattern: String,
    /// Whether upper and lower case differ.
    pub case_sensitive: bool,
}

impl RegexMatch {
    fn flags(&self) -> &'static str {
        if self.case_sensitive { "" } else { "i" }
    }
}

impl Evaluator for RegexMatch {
    const TYPE: &'static str = "regex_match";
    const ABOUT: &'static str = "The reply matches a regular expression somewhere.";
    const LOOKS_AT: LooksAt = LooksAt::Reply;
    const OF_REPLIES: bool = true;
    const KEYS: &'static [Key] = &[
        Key::required(
            "pattern",
            Form::TellingText("every reply matches the empty pattern"),
            "pattern: \"order #\\\\d+\"",
            "The pattern, in JavaScript's syntax, without slashes.",
        ),
        Key::or(
            "case_sensitive",
            Form::Flag,
            "false",
            "Whether upper and lower case differ; where they do not, the pattern has the flag `i`.",
        ),
    ];
    const PAGE: &'static str = "\
Patterns have the syntax of JavaScript, with look-around and back-references; what JavaScript does not know, such as \
`(?i)`, is an error when the file is checked.

Cannot be decided when the pattern takes too long on the reply.

```yaml
- type: regex_match
  pattern: 'order #(\\d+)'
```";

    fn read(given: &mut Given<'_>) -> Self {
        let made = Self { pattern: given.text("pattern"), case_sensitive: given.flag("case_sensitive") };
        if given.has("pattern")
            && let Err(error) = Pattern::new(&made.pattern, made.flags())
        {
            let (message, help) = match inline_flags(&made.pattern) {
                Some(flags) => (
                    format!("`pattern` begins with `{flags}`, which JavaScript's regular expressions do not have"),
                    "leave it out: upper and lower case are one unless `case_sensitive` is true, and `[\\s\\S]` is \
                     any character, also the end of a line",
                ),
                None => (
                    format!("`pattern` is not a regular expression: {}", error.message),
                    "patterns have the syntax of JavaScript, without slashes; upper and lower case are one \
                     unless `case_sensitive` is true",
                ),
            };
            given.complain(Complaint::no_effect("invalid-pattern", At::Value("pattern"), message).help(help));
        }
        made
    }

    fn detail(&self) -> String {
        format!("/{}/", short(&self.pattern))
    }

    fn assess(&self, view: &View<'_>) -> Assessment {
        let Some((seq, text)) = view.reply() else { return silent(view).into() };
        let (pattern, flags, name) = (&self.pattern, self.flags(), view.text_name());
        let compiled = match Pattern::new(pattern, flags) {
            Ok(compiled) => compiled,
            Err(error) => {
                let why = format!("/{pattern}/ is not a regular expression: {}", error.message);
                return MetricResult::error(why).into();
            }
        };
        let result = match compiled.find(&text) {
            Ok(Some(found)) => {
                let message = format!("the {name} matches /{pattern}/{flags}: {}", quoted(&found.text));
                MetricResult::from_pass(true).value(found.text).because_of(message, [seq])
            }
            Ok(None) => {
                let message = format!("the {name} does not match /{pattern}/{flags}: {}", quoted(&text));
                MetricResult::from_pass(false).because_of(message, [seq])
            }
            Err(error) => MetricResult::error(format!("/{pattern}/{flags} could not be tried: {error}")),
        };
        result.into()
    }
}

/// The flags at the beginning of a pattern as Python, Rust and others write them: `(?i)`.
fn inline_flags(pattern: &str) -> Option<&str> {
    let (flags, _) = pattern.strip_prefix("(?")?.split_once(')')?;
    let are_flags = !flags.is_empty() && flags.bytes().all(|flag| b"aimsuxLU-".contains(&flag));
    are_flags.then(|| &pattern[..flags.len() + 3])
}
