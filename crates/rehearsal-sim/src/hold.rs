//! Holding a suite: nothing further starts until it may go on.

use std::sync::Arc;

use tokio::sync::watch;

/// Keeps a suite from starting further cases, for as long as somebody wants. Those that run go on.
#[derive(Clone, Debug)]
pub struct Hold {
    held: Arc<watch::Sender<bool>>,
}

impl Default for Hold {
    fn default() -> Self {
        Self { held: Arc::new(watch::Sender::new(false)) }
    }
}

impl Hold {
    /// Holds the suites that were given this.
    pub fn hold(&self) {
        self.held.send_replace(true);
    }

    /// Lets them go on.
    pub fn go_on(&self) {
        self.held.send_replace(false);
    }

    /// Whether they are held.
    pub fn is_held(&self) -> bool {
        *self.held.borrow()
    }

    /// Waits until they may go on.
    pub(crate) async fn lifted(&self) {
        // The sender is held here, so the channel cannot close while this waits.
        drop(self.held.subscribe().wait_for(|held| !held).await);
    }
}
