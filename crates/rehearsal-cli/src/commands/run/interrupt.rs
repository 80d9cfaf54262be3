//! Ending a run from outside.

use std::time::Duration;

use rehearsal_sim::Cancel;
use tokio::sync::watch;

use super::progress::Progress;
use crate::signals::Signals;

/// How long a run that was told to end may take to end its processes once somebody asks again, and to print what it came
/// to once that is written.
const GRACE: Duration = Duration::from_millis(500);

/// Waits for Ctrl-C or a request to end. The first ends the scenarios that run, so that what happened can be written.
/// After that the program itself is ended: by whoever asks again, and when all is written, whether somebody reads what is
/// printed or not.
pub(super) async fn listen(cancel: Cancel, progress: Progress, written: watch::Receiver<bool>) {
    let Ok(mut signals) = Signals::new() else { return };
    let signal = signals.next().await;
    let was_over = cancel.is_cancelled();
    if !was_over {
        progress.interrupted(signal);
        cancel.cancel();
    }
    tokio::select! {
        () = printed(written) => {}
        _ = signals.next() => {
            if !was_over {
                tokio::select! {
                    () = tokio::time::sleep(GRACE) => {}
                    _ = signals.next() => {}
                }
            }
        }
    }
    #[expect(clippy::exit, reason = "who asks for the end gets it")]
    std::process::exit(130);
}

/// Waits until what a run came to is written, and could have been printed.
async fn printed(mut written: watch::Receiver<bool>) {
    // Nobody is left who could say that it is, where the program ends already.
    drop(written.wait_for(|written| *written).await.map(drop));
    tokio::time::sleep(GRACE).await;
}
