//! What the agent's models used, and what that costs.

use std::collections::BTreeMap;
use std::sync::Arc;

use rehearsal_core::{Event, EventBody, MetricResult, MetricStatus, Player, Usage};

use super::scene::Scene;
use crate::file::Prices;

pub(super) fn token_count(scene: &Scene<'_>, most: [Option<u64>; 3]) -> MetricResult {
    let mut total = Usage::default();
    let mut events = Vec::new();
    let spent = match spent(scene) {
        Ok(spent) => spent,
        Err(result) => return result,
    };
    for (event, usage) in spent {
        total += usage;
        events.push(event.seq);
    }
    let used = [total.input, total.output, total.input.saturating_add(total.output)];
    let kept = used.iter().zip(most).all(|(used, most)| most.is_none_or(|most| *used <= most));
    let told =
        ["input", "output", "total"].iter().zip(used).zip(most).map(|((name, used), most)| match most {
            Some(most) => format!("{used} {name} tokens of at most {most}"),
            None => format!("{used} {name} tokens"),
        });
    let message = format!("{} used {}", scene.name(), told.collect::<Vec<_>>().join(", "));
    MetricResult::from_pass(kept).value(used[2]).because_of(message, events)
}

pub(super) fn cost(scene: &Scene<'_>, most: f64, prices: &Prices) -> MetricResult {
    let spent = match spent(scene) {
        Ok(spent) => spent,
        Err(result) => return result,
    };
    let mut models: BTreeMap<&str, (Usage, Vec<u64>)> = BTreeMap::new();
    for (event, usage) in spent {
        let Some(model) = event.decision.as_ref().and_then(|decision| decision.name.as_deref()) else {
            return undecided("the ledger does not say which model answered", [event.seq]);
        };
        let entry = models.entry(model).or_default();
        entry.0 += usage;
        entry.1.push(event.seq);
    }
    let mut total = 0.0;
    let mut parts = Vec::new();
    for (model, (usage, events)) in models {
        let Some(price) = prices.0.get(model) else {
            let message = format!(
                "there is no price for `{model}`; add to the file, in US dollars for a million tokens:\n\
                 prices:\n  {model}: {{input: …, output: …}}"
            );
            return undecided(message, events);
        };
        let cost = price.of(usage);
        total += cost;
        let Usage { input, output, cached, .. } = usage;
        let cached = if cached == 0 { String::new() } else { format!(" ({cached} cached)") };
        parts.push((format!("{model}: {input} input{cached}, {output} output tokens: ${cost:.6}"), events));
    }
    // Adding up may lose a last digit, which must not decide.
    let message = format!("{} cost ${total:.6}, at most ${most} asked for", scene.name());
    let result = MetricResult::from_pass(total <= most + 1e-12).value(total).because(message);
    parts.into_iter().fold(result, |result, (text, events)| result.because_of(text, events))
}

/// The answers of models with what each used, or the result where that is not known.
fn spent<'a>(scene: &Scene<'a>) -> Result<Vec<(&'a Event, Usage)>, MetricResult> {
    let mut spent = Vec::new();
    for event in scene.events() {
        let EventBody::ModelResponse(response) = &event.body else { continue };
        let Some(usage) = response.usage else {
            if is_told_later(event, scene.events()) {
                continue;
            }
            let message = format!("event {} does not say how many tokens its answer used", event.seq);
            return Err(undecided(message, [event.seq]));
        };
        spent.push((&**event, usage));
    }
    if spent.is_empty() {
        return Err(MetricResult::unscored(format!("no model answered in {}", scene.name())));
    }
    Ok(spent)
}

fn undecided(why: impl Into<String>, events: impl IntoIterator<Item = u64>) -> MetricResult {
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
