//! Telling those who wait that something may have changed.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use rehearsal_core::SessionId;
use rehearsal_store::{Change, StoreRef};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, watch};

/// What somebody can wait for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Topic {
    /// A session.
    Session(SessionId),
    /// The work of a host.
    Work(String),
}

/// Tells those who wait that something may have changed. They look for themselves: a telling can be late or doubled.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    topics: Mutex<BTreeMap<Topic, Weak<watch::Sender<()>>>>,
}

/// Somebody's place among those who wait for a topic.
#[derive(Debug)]
pub(crate) struct Seat {
    // Keeps the topic alive while somebody sits here.
    _topic: Arc<watch::Sender<()>>,
    receiver: watch::Receiver<()>,
}

impl Seat {
    /// Waits for the next telling since the last wait, or since the seat was taken.
    pub(crate) async fn told(&mut self) {
        if self.receiver.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

impl Watch {
    /// Takes a seat. Look at the thing after this, not before: then nothing is missed.
    pub(crate) fn sit(&self, topic: Topic) -> Seat {
        let mut topics = self.topics.lock().unwrap_or_else(PoisonError::into_inner);
        let sender = topics.get(&topic).and_then(Weak::upgrade).unwrap_or_else(|| {
            let sender = Arc::new(watch::Sender::new(()));
            topics.insert(topic, Arc::downgrade(&sender));
            sender
        });
        let receiver = sender.subscribe();
        Seat { _topic: sender, receiver }
    }

    fn tell(&self, topic: &Topic) {
        let mut topics = self.topics.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(sender) = topics.get(topic) else { return };
        match sender.upgrade() {
            Some(sender) => drop(sender.send(())),
            None => drop(topics.remove(topic)),
        }
    }

    fn tell_all(&self) {
        let mut topics = self.topics.lock().unwrap_or_else(PoisonError::into_inner);
        topics.retain(|_, sender| sender.upgrade().is_some_and(|sender| sender.send(()).is_ok()));
    }

    /// Passes on what the store tells, for as long as it tells.
    pub(crate) async fn follow(self: Arc<Self>, mut changes: broadcast::Receiver<Change>) {
        loop {
            match changes.recv().await {
                Ok(Change::Session(id)) => self.tell(&Topic::Session(id)),
                Ok(Change::Work(host)) => self.tell(&Topic::Work(host)),
                // Sessions of its cases have changed with it.
                Ok(Change::Everything | Change::Run(_)) | Err(RecvError::Lagged(_)) => self.tell_all(),
                Err(RecvError::Closed) => return,
            }
        }
    }

    /// A watch that follows a store.
    pub(crate) fn of(store: &StoreRef) -> Arc<Self> {
        let watch = Arc::new(Self::default());
        tokio::spawn(watch.clone().follow(store.changes()));
        watch
    }
}
