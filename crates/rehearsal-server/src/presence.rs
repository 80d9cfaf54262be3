//! Who waits here: the askers of cues and the hosts that this process holds a connection to.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use rehearsal_core::SessionId;
use rehearsal_store::CueId;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// What somebody waits for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Waiting {
    /// The answer to one cue.
    Cue(CueId),
    /// Whatever happens in a session, and so the answers to all its cues.
    Session(SessionId),
    /// A host, for its work.
    Host(String),
}

/// Who waits here.
#[derive(Debug)]
pub(crate) struct Presence {
    counts: Mutex<BTreeMap<Waiting, usize>>,
    broken: UnboundedSender<Waiting>,
}

/// Somebody who waits; gone when dropped.
#[derive(Debug)]
pub(crate) struct Waiter {
    presence: Arc<Presence>,
    waiting: Waiting,
    is_answered: bool,
}

impl Presence {
    /// Nobody yet, and what those waited for whose connections break: a process that is killed has no other way to tell.
    pub(crate) fn new() -> (Arc<Self>, UnboundedReceiver<Waiting>) {
        let (broken, breaks) = unbounded_channel();
        (Arc::new(Self { counts: Mutex::default(), broken }), breaks)
    }

    /// Counts somebody in, until the waiter is dropped.
    pub(crate) fn enter(self: &Arc<Self>, waiting: Waiting) -> Waiter {
        *self.lock().entry(waiting.clone()).or_default() += 1;
        Waiter { presence: self.clone(), waiting, is_answered: false }
    }

    /// Whether somebody waits for this.
    pub(crate) fn has(&self, waiting: &Waiting) -> bool {
        self.lock().contains_key(waiting)
    }

    /// What is waited for now.
    pub(crate) fn all(&self) -> Vec<Waiting> {
        self.lock().keys().cloned().collect()
    }

    /// How many agents wait for answers now, and how many hosts for work.
    pub(crate) fn counts(&self) -> (usize, usize) {
        let (mut agents, mut hosts) = (0, 0);
        for (waiting, count) in self.lock().iter() {
            match waiting {
                Waiting::Cue(_) | Waiting::Session(_) => agents += count,
                Waiting::Host(_) => hosts += count,
            }
        }
        (agents, hosts)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<Waiting, usize>> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiter {
    /// It got what it waited for, or was told to ask again. Without this, its connection has broken.
    pub(crate) fn answered(mut self) {
        self.is_answered = true;
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
        drop(counts);
        if !self.is_answered {
            // Nobody listens any more once the server ends.
            let _told = self.presence.broken.send(self.waiting.clone());
        }
    }
}
