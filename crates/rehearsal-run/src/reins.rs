//! Reins: what holds, ends and asks a run while it goes on, and telling others how far it is.

use std::fmt;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use rehearsal_core::RunProgress;
use rehearsal_sim::{Cancel, Hold};
use rehearsal_store::RunWish;

use crate::archive::Drafts;
use crate::{CallsNow, KeptRun, Watch};

/// How often, at most, others are told how far a run is, and asked what they want of it.
const TELL: Duration = Duration::from_secs(1);
/// The heartbeat of the run: how often the store is told that it goes on. See
/// [`RUN_SILENT_AFTER`](rehearsal_store::RUN_SILENT_AFTER).
const SIGN_OF_LIFE: Duration = Duration::from_secs(10);

/// What a run is held and ended by.
pub(crate) struct Reins {
    pub(crate) hold: Hold,
    pub(crate) cancel: Cancel,
    pub(crate) calls: CallsNow,
    pub(crate) watch: Arc<dyn Watch>,
}

impl fmt::Debug for Reins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reins").field("hold", &self.hold).finish_non_exhaustive()
    }
}

impl Reins {
    /// Does what somebody wants. Whether anything is other than before.
    fn obey(&self, wish: Option<RunWish>) -> bool {
        let changes = match wish {
            Some(RunWish::Stop) => !self.cancel.is_cancelled(),
            Some(RunWish::Hold) => !self.hold.is_held(),
            None => self.hold.is_held(),
        };
        if changes {
            self.watch.wished(wish);
            match wish {
                Some(RunWish::Stop) => self.cancel.cancel(),
                Some(RunWish::Hold) => self.hold.hold(),
                None => self.hold.go_on(),
            }
        }
        changes
    }
}

/// What others were told of a run, and when.
#[derive(Debug, Default)]
pub(crate) struct Told {
    at: Option<Duration>,
    seen: Duration,
    progress: Option<RunProgress>,
}

impl KeptRun {
    /// Writes what has gathered, and tells others how far the run is. Whoever adds the next event, or ends the run, meets
    /// the same failures.
    pub(crate) async fn tick(self: &Arc<Self>, told: &mut Told) {
        let (held, calls) = self.reins(|reins| (reins.hold.is_held(), (reins.calls)()));
        let progress = self.gauge.read(&*self.clock, held, calls);
        let _told_later = self.flush_each().await;
        // What was counted above is in blocks now.
        let is_written = self.archive.flush(Drafts::OfSlowCases).await.is_ok();
        let now = self.clock.monotonic();
        if told.at.is_none_or(|at| now.saturating_sub(at) >= TELL) {
            self.tell(told, progress, is_written, now).await;
        }
        if now.saturating_sub(told.seen) >= SIGN_OF_LIFE
            && self.store.touch_run(&self.id(), self.clock.now().as_millisecond()).await.is_ok()
        {
            told.seen = now;
        }
    }

    /// Tells how far the run is where that is other than what was told, and does what others want.
    async fn tell(&self, told: &mut Told, progress: RunProgress, is_written: bool, now: Duration) {
        let is_new = told.progress.as_ref().is_none_or(|before| !is_same(before, &progress));
        let id = self.id();
        let wish = if is_new && is_written {
            let wish = self.store.put_progress(&id, &progress, self.clock.now().as_millisecond()).await;
            if wish.is_ok() {
                (told.progress, told.seen) = (Some(progress), now);
            }
            wish
        } else {
            self.store.run_wish(&id).await
        };
        told.at = Some(now);
        match wish {
            Ok(wish) if self.reins(|reins| reins.obey(wish)) => told.at = None,
            Ok(_) => {}
            Err(error) => tracing::debug!("nobody is told how far the run is: {error}"),
        }
    }

    fn reins<T: Default>(&self, with: impl FnOnce(&Reins) -> T) -> T {
        let reins = self.reins.lock().unwrap_or_else(PoisonError::into_inner);
        reins.as_ref().map_or_else(T::default, with)
    }
}

/// Whether two say the same, whenever they say it.
fn is_same(before: &RunProgress, now: &RunProgress) -> bool {
    RunProgress { at: before.at, left_ms: before.left_ms, ..now.clone() } == *before
}
