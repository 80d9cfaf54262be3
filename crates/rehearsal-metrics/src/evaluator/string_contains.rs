//! `string_contains`.

use rehearsal_core::MetricResult;
use rehearsal_core::keys::{Form, Given, Key};

use super::shown::{quoted, short, silent};
use super::{Evaluator, LooksAt};
use crate::Assessment;
use crate::fold::Case;
use crate::view::View;

/// The reply contains a text.
#[derive(Clone, Debug, PartialEq)]
pub struct StringContains {
    /// The text.
    pub value: String,
    /// Whether upper and lower case differ.
    pub case_sensitive: bool,
}

impl Evaluator for StringContains {
    const TYPE: &'static str = "string_contains";
    const ABOUT: &'static str = "The reply contains a text.";
    const LOOKS_AT: LooksAt = LooksAt::Reply;
    const OF_REPLIES: bool = true;
    const KEYS: &'static [Key] = &[
        Key::required(
            "value",
            Form::TellingText("every reply contains the empty text"),
            "value: the text to look for",
            "The text to look for.",
        ),
        Key::or("case_sensitive", Form::Flag, "false", "Whether upper and lower case differ."),
    ];
    const PAGE: &'static str = "\
```yaml
- type: string_contains
  value: refund
```";

    fn read(given: &mut Given<'_>) -> Self {
        Self { value: given.text("value"), case_sensitive: given.flag("case_sensitive") }
    }

    fn detail(&self) -> String {
        format!("{:?}", short(&self.value))
    }

    fn assess(&self, view: &View<'_>) -> Assessment {
        let Some((seq, text)) = view.reply() else { return silent(view).into() };
        let (name, value) = (view.text_name(), &self.value);
        if Case::sensitive(self.case_sensitive).contains(&text, value) {
            return MetricResult::from_pass(true)
                .because_of(format!("the {name} contains {value:?}"), [seq])
                .into();
        }
        let message = format!("the {name} does not contain {value:?}: {}", quoted(&text));
        MetricResult::from_pass(false).because_of(message, [seq]).into()
    }
}
