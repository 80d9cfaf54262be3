//! Streaming metrics: what a metric sees while a session goes on.

use std::fmt;

use rehearsal_core::{Event, EventBody, Ledger, MetricResult};

use crate::view::Scope;

/// Follows a session while it goes on.
///
/// It is shown every event once, in the order of the ledger, and keeps what it has to remember of those before, so that a
/// long session costs as much per event as a short one. See [`Metric::watch`](crate::Metric::watch).
pub trait Watcher: Send + Sync + fmt::Debug {
    /// Looks at the next event. The ledger holds it, and may hold later ones already.
    fn see(&mut self, event: &Event, ledger: &Ledger) -> Option<Breach>;
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

/// A watcher that is shown a whole session and speaks of a part of it.
#[derive(Debug)]
pub(crate) struct ScopedWatcher {
    inner: Box<dyn Watcher>,
    scope: Scope,
    /// The step that is played, from 1, and how many of its turns have begun; 0 outside of steps.
    step: usize,
    turn: usize,
}

impl ScopedWatcher {
    pub(crate) fn new(inner: Box<dyn Watcher>, scope: Scope) -> Self {
        Self { inner, scope, step: 0, turn: 0 }
    }
}

impl Watcher for ScopedWatcher {
    fn see(&mut self, event: &Event, ledger: &Ledger) -> Option<Breach> {
        match &event.body {
            EventBody::StepStarted(started) => (self.step, self.turn) = (started.step, 0),
            EventBody::StepEnded(_) => (self.step, self.turn) = (0, 0),
            EventBody::UserMessage { .. } => self.turn += 1,
            _ => {}
        }
        // Also what is not spoken of is looked at: what came before counts.
        let breach = self.inner.see(event, ledger)?;
        let is_meant = match self.scope {
            Scope::Session => true,
            Scope::Step(step) => self.step == step,
            Scope::Turn { step, turn } => (self.step, self.turn) == (step, turn),
        };
        is_meant.then_some(breach)
    }
}
