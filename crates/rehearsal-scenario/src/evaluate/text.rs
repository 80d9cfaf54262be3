//! What the agent said.

use rehearsal_core::MetricResult;

use super::scene::Scene;
use crate::file::shorten;
use crate::js::Pattern;

/// How much of a text a message shows.
const SHOWN: usize = 200;

pub(super) fn contains(scene: &Scene<'_>, value: &str, case_sensitive: bool) -> MetricResult {
    let Some((seq, text)) = scene.reply() else { return silent(scene) };
    let name = scene.text_name();
    if has(&text, value, case_sensitive) {
        return MetricResult::from_pass(true).because_of(format!("the {name} contains {value:?}"), [seq]);
    }
    let message = format!("the {name} does not contain {value:?}: {}", quoted(&text));
    MetricResult::from_pass(false).because_of(message, [seq])
}

pub(super) fn matches(scene: &Scene<'_>, pattern: &str, case_sensitive: bool) -> MetricResult {
    let Some((seq, text)) = scene.reply() else { return silent(scene) };
    let flags = if case_sensitive { "" } else { "i" };
    let compiled = match Pattern::new(pattern, flags) {
        Ok(compiled) => compiled,
        Err(error) => {
            return MetricResult::error(format!(
                "/{pattern}/ is not a regular expression: {}",
                error.message
            ));
        }
    };
    let name = scene.text_name();
    match compiled.find(&text) {
        Ok(Some(found)) => {
            let message = format!("the {name} matches /{pattern}/{flags}: {}", quoted(&found.text));
            MetricResult::from_pass(true).value(found.text).because_of(message, [seq])
        }
        Ok(None) => {
            let message = format!("the {name} does not match /{pattern}/{flags}: {}", quoted(&text));
            MetricResult::from_pass(false).because_of(message, [seq])
        }
        Err(error) => MetricResult::error(format!("/{pattern}/{flags} could not be tried: {error}")),
    }
}

/// The result for an agent that should have said something.
pub(super) fn silent(scene: &Scene<'_>) -> MetricResult {
    MetricResult::from_pass(false).because(format!("the agent said nothing in {}", scene.name()))
}

/// Whether a text contains another.
pub(super) fn has(text: &str, value: &str, case_sensitive: bool) -> bool {
    if case_sensitive { text.contains(value) } else { folded(text).contains(&folded(value)) }
}

/// The text in a form in which upper and lower case are one; upper first, because `ß` becomes `SS`.
fn folded(text: &str) -> String {
    text.chars().flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect()
}

pub(super) fn quoted(text: &str) -> String {
    format!("{:?}", shorten(text, SHOWN))
}
