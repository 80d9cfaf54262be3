//! `file_exists`.

use rehearsal_core::MetricResult;
use rehearsal_core::keys::{Form, Given, Key};
use serde_json::Value;

use super::files::find_file;
use super::{Evaluator, LooksAt};
use crate::Assessment;
use crate::view::View;

/// A file is there when the step ends.
#[derive(Clone, Debug, PartialEq)]
pub struct FileExists {
    /// Its path.
    pub path: String,
}

impl Evaluator for FileExists {
    const TYPE: &'static str = "file_exists";
    const ABOUT: &'static str = "A file is there when the step ends.";
    const LOOKS_AT: LooksAt = LooksAt::Environment;
    const KEYS: &'static [Key] =
        &[Key::required("path", Form::Text, "path: report.md", "The file's path in the environment.")];
    const PAGE: &'static str = "\
Cannot be decided when the file was not kept and there were too many files to keep all.

```yaml
- type: file_exists
  path: report.md
```";

    fn read(given: &mut Given<'_>) -> Self {
        Self { path: given.text("path") }
    }

    fn detail(&self) -> String {
        self.path.clone()
    }

    fn assess(&self, view: &View<'_>) -> Assessment {
        let path = &self.path;
        match find_file(view, path) {
            Ok(Value::Object(kind)) if kind.contains_key("link") || kind.contains_key("special") => {
                let kind = super::object_text(kind);
                MetricResult::unscored(format!("{path} is there, but it is no file of its own: {kind}"))
            }
            Ok(_) => MetricResult::from_pass(true).because_of(format!("{path} is there"), view.end_seq()),
            Err(result) => result,
        }
        .into()
    }
}
