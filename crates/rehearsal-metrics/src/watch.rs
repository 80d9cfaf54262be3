//! Streaming metrics: what a metric sees while a session goes on.

use std::fmt;
use std::sync::Arc;

use rehearsal_core::{Event, EventBody, Ledger, MetricResult};

use crate::evaluator::Check;
use crate::view::{Scope, acts};
use crate::{Assessment, Metric};

/// Follows a session while it goes on.
///
/// It is shown every event once, in the order of the ledger, and keeps what it has to remember of those before, so that a
/// long session costs as much per event as a short one. See [`Metric::watch`](crate::Metric::watch).
pub trait Watcher: Send + Sync + fmt::Debug {
    /// Looks at the next event. The ledger holds it, and may hold later ones already.
    fn see(&mut self, event: &Event, ledger: &Ledger) -> Option<Breach>;

    /// The name that its breach goes by, where that is another than its metric's.
    fn breached(&self) -> Option<String> {
        None
    }
}

/// How an event broke a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Breach {
    /// What happened, in words.
    pub why: String,
    /// The numbers of the events that show it; the first is the one that broke the rule.
    pub events: Vec<u64>,
}

impl From<Breach> for MetricResult {
    fn from(breach: Breach) -> Self {
        Self::from_pass(false).because_of(breach.why, breach.events)
    }
}

/// The first event of a ledger, as far as it goes, that broke a rule.
pub(crate) fn first_breach(mut watcher: Box<dyn Watcher>, ledger: &Ledger) -> Option<Breach> {
    ledger.events().iter().find_map(|event| watcher.see(event, ledger))
}

/// Where a session is: the step that is played, from 1, and how many of its turns have begun; 0 outside of steps.
#[derive(Debug, Default)]
struct At {
    step: usize,
    turn: usize,
}

impl At {
    fn see(&mut self, event: &Event) {
        match &event.body {
            EventBody::StepStarted(started) => *self = Self { step: started.step, turn: 0 },
            EventBody::StepEnded(_) => *self = Self::default(),
            EventBody::UserMessage { .. } => self.turn += 1,
            // The agent opens.
            _ if self.step > 0 && self.turn == 0 && acts(event) => self.turn = 1,
            _ => {}
        }
    }
}

/// A watcher that is shown a whole session and speaks of a part of it.
#[derive(Debug)]
pub(crate) struct ScopedWatcher {
    inner: Box<dyn Watcher>,
    scope: Scope,
    at: At,
}

impl ScopedWatcher {
    pub(crate) fn new(inner: Box<dyn Watcher>, scope: Scope) -> Self {
        Self { inner, scope, at: At::default() }
    }
}

impl Watcher for ScopedWatcher {
    fn see(&mut self, event: &Event, ledger: &Ledger) -> Option<Breach> {
        self.at.see(event);
        // Also what is not spoken of is looked at: what came before counts.
        let breach = self.inner.see(event, ledger)?;
        let is_meant = match self.scope {
            Scope::Session => true,
            Scope::Step(step) => self.at.step == step,
            Scope::Turn { step, turn } => (self.at.step, self.at.turn) == (step, turn),
        };
        is_meant.then_some(breach)
    }
}

/// A check that watches every turn of a step, however many there come to be. A breach goes by the name of its turn.
#[derive(Clone)]
pub struct EveryTurn {
    name: String,
    check: Check,
    step: usize,
    name_of: Arc<dyn Fn(usize) -> String + Send + Sync>,
}

impl EveryTurn {
    /// A check of the turns of a step, and the name of what is found of each.
    pub fn new(check: Check, step: usize, name_of: impl Fn(usize) -> String + Send + Sync + 'static) -> Self {
        Self { name: name_of(1), check, step, name_of: Arc::new(name_of) }
    }
}

impl fmt::Debug for EveryTurn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EveryTurn")
            .field("check", &self.check)
            .field("step", &self.step)
            .finish_non_exhaustive()
    }
}

impl Metric for EveryTurn {
    fn name(&self) -> &str {
        &self.name
    }

    fn evaluate(&self, _: &Ledger) -> Assessment {
        MetricResult::unscored("every turn is evaluated by itself, when it is over").into()
    }

    fn watch(&self) -> Option<Box<dyn Watcher>> {
        let inner = self.check.watch()?;
        Some(Box::new(TurnsWatcher { inner, turns: self.clone(), at: At::default() }))
    }
}

#[derive(Debug)]
struct TurnsWatcher {
    inner: Box<dyn Watcher>,
    turns: EveryTurn,
    at: At,
}

impl Watcher for TurnsWatcher {
    fn see(&mut self, event: &Event, ledger: &Ledger) -> Option<Breach> {
        self.at.see(event);
        let breach = self.inner.see(event, ledger)?;
        (self.at.step == self.turns.step && self.at.turn > 0).then_some(breach)
    }

    fn breached(&self) -> Option<String> {
        Some((self.turns.name_of)(self.at.turn))
    }
}
