//! What the agent's models used, as far as the ledger says so.

use std::sync::Arc;

use rehearsal_core::{Event, EventBody, MetricResult, MetricStatus, Player, Usage};

use crate::view::View;

/// The answers of models with what each used, or the result where that is not known.
pub(super) fn spent<'a>(view: &View<'a>) -> Result<Vec<(&'a Event, Usage)>, MetricResult> {
    let mut spent = Vec::new();
    for event in view.events() {
        let EventBody::ModelResponse(response) = &event.body else { continue };
        let Some(usage) = response.usage else {
            if is_told_later(event, view.events()) {
                continue;
            }
            let message = format!("event {} does not say how many tokens its answer used", event.seq);
            return Err(undecided(message, [event.seq]));
        };
        spent.push((&**event, usage));
    }
    if spent.is_empty() {
        return Err(MetricResult::unscored(format!("no model answered in {}", view.name())));
    }
    Ok(spent)
}

pub(super) fn undecided(why: impl Into<String>, events: impl IntoIterator<Item = u64>) -> MetricResult {
    MetricResult::new(MetricStatus::Unscored).because_of(why, events)
}

/// Whether an agent that runs elsewhere said at the end of the same turn what all of it used.
fn is_told_later(event: &Event, events: &[Arc<Event>]) -> bool {
    let elsewhere = event.decision.as_ref().is_some_and(|decision| decision.by == Player::Agent);
    elsewhere
        && events.iter().any(|later| {
            later.seq > event.seq
                && later.invocation == event.invocation
                && matches!(&later.body, EventBody::ModelResponse(response) if response.usage.is_some())
        })
}
