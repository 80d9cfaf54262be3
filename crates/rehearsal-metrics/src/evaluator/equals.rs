//! `equals`.

use rehearsal_core::MetricResult;
use rehearsal_core::keys::{Form, Given, Key};
use serde_json::Value;

use super::shown::{quoted, short, shown, silent};
use super::{Evaluator, LooksAt};
use crate::Assessment;
use crate::equality::is_same;
use crate::view::View;

/// The reply is this and nothing else.
#[derive(Clone, Debug, PartialEq)]
pub struct Equals {
    /// What it is: a text, or any other value that the reply is as JSON.
    pub value: Value,
}

impl Evaluator for Equals {
    const TYPE: &'static str = "equals";
    const ABOUT: &'static str = "The reply is this and nothing else.";
    const LOOKS_AT: LooksAt = LooksAt::Reply;
    const OF_REPLIES: bool = true;
    const KEYS: &'static [Key] =
        &[Key::required("value", Form::Any, "value: \"yes\"", "What it is: a text, or a value that the reply is as JSON.")];
    const PAGE: &'static str = "\
A text is compared letter by letter, without white space around it; any other value with the reply read as JSON, numbers by their \
value.

```yaml
- type: equals
  value: {order: 17, refunded: true}
```";

    fn read(given: &mut Given<'_>) -> Self {
        Self { value: given.value("value").unwrap_or_default() }
    }

    fn detail(&self) -> String {
        short(&rehearsal_core::json::text(&self.value))
    }

    fn assess(&self, view: &View<'_>) -> Assessment {
        let Some((seq, text)) = view.reply() else { return silent(view).into() };
        let name = view.text_name();
        let wanted = shown(Some(&self.value));
        let result = |passed: bool, message: String| MetricResult::from_pass(passed).because_of(message, [seq]);
        if let Value::String(value) = &self.value {
            let passed = text.trim() == value.trim();
            let is = if passed { "is" } else { "is not" };
            return result(passed, format!("the {name} {is} {wanted}: {}", quoted(&text))).into();
        }
        match rehearsal_core::json::from_str::<Value>(text.trim()) {
            Err(error) => result(false, format!("the {name} is no JSON ({error}): {}", quoted(&text))),
            Ok(found) if is_same(&found, &self.value) => result(true, format!("the {name} is {wanted}")),
            Ok(found) => result(false, format!("the {name} is {}, and not {wanted}", shown(Some(&found)))),
        }
        .into()
    }
}
