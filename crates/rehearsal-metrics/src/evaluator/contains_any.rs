//! `contains_any`.

use rehearsal_core::MetricResult;
use rehearsal_core::keys::{At, Complaint, Form, Given, Key};
use serde_json::{Value, json};

use super::shown::{quoted, short, silent};
use super::{Evaluator, LooksAt};
use crate::Assessment;
use crate::fold::Case;
use crate::view::View;

/// The reply contains one of several texts.
#[derive(Clone, Debug, PartialEq)]
pub struct ContainsAny {
    /// The texts.
    pub values: Vec<String>,
    /// Whether upper and lower case differ.
    pub case_sensitive: bool,
}

/// The keys of those that look for several texts.
pub(super) const KEYS: &[Key] = &[
    Key::required("values", Form::SomeTexts, "values: [refund, money back]", "The texts to look for."),
    Key::or("case_sensitive", Form::Flag, "false", "Whether upper and lower case differ."),
];

/// No text is empty.
pub(super) fn rules() -> Value {
    json!({"allOf": [{"properties": {"values": {"items": {"minLength": 1}}}}]})
}

/// Reads the texts; an empty one would be in every reply.
pub(super) fn read_values(given: &mut Given<'_>) -> Vec<String> {
    let values = given.texts("values").unwrap_or_default();
    if values.iter().any(String::is_empty) {
        let message = "every reply contains the empty text";
        let complaint = Complaint::no_effect("always-true", At::Value("values"), message);
        given.complain(complaint.help("name the texts to look for"));
    }
    values
}

/// Some texts, as a label shows them.
pub(super) fn listed(values: &[String]) -> String {
    short(&values.iter().map(|value| format!("{value:?}")).collect::<Vec<_>>().join(", "))
}

impl Evaluator for ContainsAny {
    const TYPE: &'static str = "contains_any";
    const ABOUT: &'static str = "The reply contains one of several texts.";
    const LOOKS_AT: LooksAt = LooksAt::Reply;
    const OF_REPLIES: bool = true;
    const KEYS: &'static [Key] = KEYS;
    const PAGE: &'static str = "\
```yaml
- type: contains_any
  values: [refund, money back]
```";

    fn rules() -> Value {
        rules()
    }

    fn read(given: &mut Given<'_>) -> Self {
        Self { values: read_values(given), case_sensitive: given.flag("case_sensitive") }
    }

    fn detail(&self) -> String {
        listed(&self.values)
    }

    fn assess(&self, view: &View<'_>) -> Assessment {
        let Some((seq, text)) = view.reply() else { return silent(view).into() };
        let (name, case) = (view.text_name(), Case::sensitive(self.case_sensitive));
        let found = self.values.iter().find(|value| case.contains(&text, value));
        let message = match found {
            Some(value) => format!("the {name} contains {value:?}"),
            None => format!("the {name} contains none of {}: {}", listed(&self.values), quoted(&text)),
        };
        MetricResult::from_pass(found.is_some()).because_of(message, [seq]).into()
    }
}
