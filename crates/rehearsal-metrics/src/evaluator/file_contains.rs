//! `file_contains`.

use rehearsal_core::MetricResult;
use rehearsal_core::keys::{Form, Given, Key};
use serde_json::Value;

use super::files::find_file;
use super::shown::{quoted, short};
use super::{Evaluator, LooksAt};
use crate::Assessment;
use crate::fold::Case;
use crate::view::View;

/// A file contains a text when the step ends.
#[derive(Clone, Debug, PartialEq)]
pub struct FileContains {
    /// Its path.
    pub path: String,
    /// The text.
    pub value: String,
    /// Whether upper and lower case differ.
    pub case_sensitive: bool,
}

impl Evaluator for FileContains {
    const TYPE: &'static str = "file_contains";
    const ABOUT: &'static str = "A file contains a text when the step ends.";
    const LOOKS_AT: LooksAt = LooksAt::Environment;
    const KEYS: &'static [Key] = &[
        Key::required("path", Form::Text, "path: report.md", "The file's path in the environment."),
        Key::required(
            "value",
            Form::TellingText("every file contains the empty text"),
            "value: the text to look for",
            "The text to look for.",
        ),
        Key::or("case_sensitive", Form::Flag, "true", "Whether upper and lower case differ."),
    ];
    const PAGE: &'static str = "\
A file that is not there fails.

Cannot be decided as for `file_exists`, and when the file is not text or too large to be kept.

```yaml
- type: file_contains
  path: report.md
  value: Total
```";

    fn read(given: &mut Given<'_>) -> Self {
        Self {
            path: given.text("path"),
            value: given.text("value"),
            case_sensitive: given.flag("case_sensitive"),
        }
    }

    fn detail(&self) -> String {
        format!("{} {:?}", self.path, short(&self.value))
    }

    fn assess(&self, view: &View<'_>) -> Assessment {
        let (path, value) = (&self.path, &self.value);
        let content = match find_file(view, path) {
            Ok(content) => content,
            Err(result) => return result.into(),
        };
        let Value::String(text) = content else {
            let content = rehearsal_core::json::text(content);
            return MetricResult::unscored(format!("the ledger does not hold the text of {path}: {content}"))
                .into();
        };
        let is_there = Case::sensitive(self.case_sensitive).contains(text, value);
        let message = if is_there {
            format!("{path} contains {value:?}")
        } else {
            format!("{path} does not contain {value:?}: {}", quoted(text))
        };
        MetricResult::from_pass(is_there).because_of(message, view.end_seq()).into()
    }
}
