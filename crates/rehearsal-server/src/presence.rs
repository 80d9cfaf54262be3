//! Who waits here: the askers of cues that this process holds a connection to.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use rehearsal_core::SessionId;
use rehearsal_store::CueId;

/// What somebody waits for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Waiting {
    /// The answer to one cue.
    Cue(CueId),
    /// Whatever happens in a session, and so the answers to all its cues.
    Session(SessionId),
}

/// Who waits here.
#[derive(Debug, Default)]
pub(crate) struct Presence {
    counts: Mutex<BTreeMap<Waiting, usize>>,
}

/// Somebody who waits; gone when dropped.
#[derive(Debug)]
pub(crate) struct Waiter {
    presence: Arc<Presence>,
    waiting: Waiting,
}

impl Presence {
    /// Counts somebody in, until the waiter is dropped.
    pub(crate) fn enter(self: &Arc<Self>, waiting: Waiting) -> Waiter {
        *self.lock().entry(waiting.clone()).or_default() += 1;
        Waiter { presence: self.clone(), waiting }
    }

    /// What is waited for now.
    pub(crate) fn all(&self) -> Vec<Waiting> {
        self.lock().keys().cloned().collect()
    }

    /// How many wait now.
    pub(crate) fn count(&self) -> usize {
        self.lock().values().sum()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<Waiting, usize>> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        let mut counts = self.presence.lock();
        if let Some(count) = counts.get_mut(&self.waiting) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.waiting);
            }
        }
    }
}
