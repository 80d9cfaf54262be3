//! What messages and labels show of values.

use rehearsal_core::{MetricResult, shorten};
use serde_json::Value;

use crate::view::View;

/// How much of a text a message shows.
const TEXT: usize = 200;
/// How much of a value a message shows.
const VALUE: usize = 80;

/// The result for an agent that should have said something.
pub(super) fn silent(view: &View<'_>) -> MetricResult {
    MetricResult::from_pass(false).because(format!("the agent said nothing in {}", view.name()))
}

pub(super) fn quoted(text: &str) -> String {
    format!("{:?}", shorten(text, TEXT))
}

/// A value as messages show it.
pub(super) fn shown(value: Option<&Value>) -> String {
    value.map_or_else(|| "nothing".to_owned(), |value| shorten(&rehearsal_core::json::text(value), VALUE))
}

/// The first line, and no more than 40 characters of it.
pub(super) fn short(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    let mut kept: String = line.chars().take(40).collect();
    if kept.len() < text.trim().len() {
        kept.push('…');
    }
    kept
}

/// Bounds as a label shows them.
pub(super) fn bounds(low: Option<u64>, high: Option<u64>) -> String {
    match (low, high) {
        (Some(low), Some(high)) => format!("{low} to {high}"),
        (Some(low), None) => format!("≥{low}"),
        (None, Some(high)) => format!("≤{high}"),
        (None, None) => String::new(),
    }
}

/// How large a part is of the whole; nothing where there is no whole.
#[expect(clippy::cast_precision_loss, reason = "nobody counts to 2^53")]
pub(super) fn share_of(part: usize, whole: usize) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}
