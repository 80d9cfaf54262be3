//! Ending a run from outside.

use std::time::Duration;

use rehearsal_sim::Cancel;

use super::progress::Progress;
use crate::signals::Signals;

/// How long a run that was told to end may take to end its processes, once somebody asks again.
const GRACE: Duration = Duration::from_millis(500);

/// Waits for Ctrl-C or a request to end. The first ends the scenarios that run, so that what happened can be written;
/// after that, and when the scenarios are over, the program itself is ended.
pub(super) async fn listen(cancel: Cancel, progress: Progress) {
    let Ok(mut signals) = Signals::new() else { return };
    loop {
        let signal = signals.next().await;
        if cancel.is_cancelled() {
            tokio::select! {
                () = tokio::time::sleep(GRACE) => {}
                _ = signals.next() => {}
            }
            #[expect(clippy::exit, reason = "who asks twice wants it now")]
            std::process::exit(130);
        }
        progress.interrupted(signal);
        cancel.cancel();
    }
}
