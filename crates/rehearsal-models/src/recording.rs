//! A model that answers as it did before.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use rehearsal_agent::{Model, ModelCall, ModelError};
use rehearsal_core::{Content, EventBody, Ledger, ModelRequest, ModelResponse, ModelSetup, Player};

use crate::request_text;

/// A model that answers with what an earlier session's ledger holds: the third turn of an agent gets what the
/// third turn of that agent got then.
///
/// It answers only what it was asked then. Where a request differs from the recorded one, the error shows the
/// first difference, since an answer to another question would prove nothing; [`lenient`](Self::lenient) lifts
/// that. Which model was asked does not count as a difference.
///
/// ```
/// use rehearsal_core::{Clock, Draft, EventBody, FixedClock, Ledger, SessionStarted};
/// use rehearsal_models::Recording;
///
/// let mut ledger = Ledger::new("s-1".into());
/// let start = SessionStarted { agent: "triage".into(), ..SessionStarted::default() };
/// ledger.append(Draft::new(FixedClock::default().now(), "rehearsal", EventBody::SessionStarted(start)))?;
/// let model = Recording::from_ledger(&ledger);
/// # drop(model);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Recording {
    name: Arc<str>,
    turns: Arc<BTreeMap<Arc<str>, Vec<Turn>>>,
    comparison: Comparison,
}

/// What was asked and what was answered. Steps answer in a model's place without being asked.
#[derive(Debug)]
struct Turn {
    request: Option<ModelRequest>,
    response: ModelResponse,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    Exact,
    Lenient,
}

impl Recording {
    /// The model turns of a session.
    pub fn from_ledger(ledger: &Ledger) -> Self {
        let mut turns: BTreeMap<Arc<str>, Vec<Turn>> = BTreeMap::new();
        for event in ledger.events() {
            if let EventBody::ModelResponse(response) = &event.body {
                let request = event.turn.as_ref().and_then(|turn| ledger.request(turn));
                turns
                    .entry(event.author.clone())
                    .or_default()
                    .push(Turn { request, response: response.clone() });
            }
        }
        let name = format!("recording of {}", ledger.session());
        Self { name: name.into(), turns: Arc::new(turns), comparison: Comparison::Exact }
    }

    /// The same, but it also answers requests that differ from those recorded.
    pub fn lenient(self) -> Self {
        Self { comparison: Comparison::Lenient, ..self }
    }

    fn answer(&self, call: &ModelCall) -> Result<ModelResponse, String> {
        let turns = self.turns.get(&call.agent).ok_or_else(|| {
            let known: Vec<_> = self.turns.keys().map(|agent| format!("`{agent}`")).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            format!("it holds no turns of agent `{}`; it holds turns of: {known}", call.agent)
        })?;
        let turn = usize::try_from(call.index).ok().and_then(|index| turns.get(index)).ok_or_else(|| {
            format!(
                "it holds {} turns of agent `{}`, which asks for turn {}\n\n{}",
                turns.len(),
                call.agent,
                call.index + 1,
                request_text::last(&call.request)
            )
        })?;
        if self.comparison == Comparison::Exact
            && let Some(recorded) = &turn.request
            && let Some(difference) = difference(recorded, &call.request)
        {
            return Err(format!(
                "turn {} of agent `{}` asks something else than was recorded: {difference}\n\nhint: `lenient` answers all the same",
                call.index + 1,
                call.agent
            ));
        }
        Ok(turn.response.clone())
    }
}

impl fmt::Debug for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let turns: BTreeMap<_, _> = self.turns.iter().map(|(agent, turns)| (agent, turns.len())).collect();
        f.debug_struct("Recording").field("name", &self.name).field("turns", &turns).finish_non_exhaustive()
    }
}

#[async_trait]
impl Model for Recording {
    fn name(&self) -> Arc<str> {
        self.name.clone()
    }

    fn player(&self) -> Player {
        Player::Recording
    }

    async fn respond(&self, call: &ModelCall) -> Result<ModelResponse, ModelError> {
        self.answer(call).map_err(|why| ModelError::NoAnswer { model: self.name.clone(), why })
    }
}

/// The first thing in which two requests differ, in words.
fn difference(recorded: &ModelRequest, asked: &ModelRequest) -> Option<String> {
    if let Some(difference) = setup_difference(&recorded.setup, &asked.setup) {
        return Some(difference);
    }
    let pairs = recorded.contents.iter().zip(&asked.contents);
    let differs = pairs.enumerate().find(|(_, (before, now))| !Arc::ptr_eq(before, now) && before != now);
    if let Some((number, (before, now))) = differs {
        return Some(both(&format!("message {} differs", number + 1), &shown(before), &shown(now)));
    }
    let (before, now) = (recorded.contents.len(), asked.contents.len());
    if before == now {
        return None;
    }
    let surplus = recorded.contents.get(now).or_else(|| asked.contents.get(before));
    let surplus = surplus.map(|content| shown(content)).unwrap_or_default();
    Some(format!(
        "it has {now} messages instead of {before}, the first without a counterpart is\n  {surplus}"
    ))
}

fn setup_difference(recorded: &ModelSetup, asked: &ModelSetup) -> Option<String> {
    if recorded.system != asked.system {
        let text = |setup: &ModelSetup| setup.system.clone().unwrap_or_else(|| "(none)".to_owned());
        return Some(both("the instructions differ", &text(recorded), &text(asked)));
    }
    if recorded.tools != asked.tools {
        let names = |setup: &ModelSetup| {
            let names: Vec<_> = setup.tools.iter().map(|tool| tool.name.as_str()).collect();
            if names.is_empty() { "(none)".to_owned() } else { names.join(", ") }
        };
        let (before, now) = (names(recorded), names(asked));
        return Some(if before == now {
            let mut pairs = recorded.tools.iter().zip(&asked.tools);
            let changed = pairs.find(|(before, now)| before != now).map_or("", |(tool, _)| &tool.name);
            format!("the declaration of tool `{changed}` differs")
        } else {
            both("the tools differ", &before, &now)
        });
    }
    if recorded.output_schema != asked.output_schema {
        return Some("the schema of the output differs".to_owned());
    }
    if recorded.settings != asked.settings {
        let text = |setup: &ModelSetup| rehearsal_core::json::to_string(&setup.settings).unwrap_or_default();
        return Some(both("the settings differ", &text(recorded), &text(asked)));
    }
    None
}

fn shown(content: &Content) -> String {
    request_text::content(content)
}

/// Both texts, from a little before the place where they part.
fn both(what: &str, before: &str, now: &str) -> String {
    let same = before.chars().zip(now.chars()).take_while(|(a, b)| a == b).count();
    let from = same.saturating_sub(40);
    let part = |text: &str| {
        let rest: String = text.chars().skip(from).collect();
        let rest = crate::shorten::shorten(&rest, 200);
        if from > 0 { format!("…{rest}") } else { rest }
    };
    format!("{what}\n  recorded: {}\n  asked:    {}", part(before), part(now))
}
