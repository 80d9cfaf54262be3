//! `contains_all`.

use rehearsal_core::MetricResult;
use rehearsal_core::keys::{Given, Key};
use serde_json::Value;

use super::contains_any::{KEYS, listed, read_values, rules};
use super::shown::{quoted, share_of, silent};
use super::{Evaluator, LooksAt};
use crate::Assessment;
use crate::fold::Case;
use crate::view::View;

/// The reply contains each of several texts.
#[derive(Clone, Debug, PartialEq)]
pub struct ContainsAll {
    /// The texts.
    pub values: Vec<String>,
    /// Whether upper and lower case differ.
    pub case_sensitive: bool,
}

impl Evaluator for ContainsAll {
    const TYPE: &'static str = "contains_all";
    const ABOUT: &'static str = "The reply contains each of several texts.";
    const LOOKS_AT: LooksAt = LooksAt::Reply;
    const OF_REPLIES: bool = true;
    const KEYS: &'static [Key] = KEYS;
    const PAGE: &'static str = "\
The score is the share of the texts that it contains.

```yaml
- type: contains_all
  values: [order 17, \"23.50\"]
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
        let is_missing = |value: &&String| !case.contains(&text, value);
        let missing: Vec<String> = self.values.iter().filter(is_missing).cloned().collect();
        let share = share_of(self.values.len() - missing.len(), self.values.len()).unwrap_or_default();
        let message = if missing.is_empty() {
            format!("the {name} contains {}", listed(&self.values))
        } else {
            format!("the {name} does not contain {}: {}", listed(&missing), quoted(&text))
        };
        MetricResult::from_pass(missing.is_empty()).score(share).because_of(message, [seq]).into()
    }
}
