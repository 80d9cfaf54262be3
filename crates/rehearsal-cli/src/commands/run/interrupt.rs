//! Ending a run from outside.

use std::time::Duration;

use rehearsal_sim::Cancel;

use super::progress::Progress;

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

/// What asks a run to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Signal {
    /// Ctrl-C.
    Interrupt,
    /// A request by another program.
    #[cfg_attr(not(unix), expect(dead_code, reason = "other systems have no such request"))]
    Terminate,
}

#[cfg(unix)]
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn new() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    async fn next(&mut self) -> Signal {
        tokio::select! {
            _ = self.interrupt.recv() => Signal::Interrupt,
            _ = self.terminate.recv() => Signal::Terminate,
        }
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn new() -> std::io::Result<Self> {
        Ok(Self)
    }

    async fn next(&mut self) -> Signal {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
        Signal::Interrupt
    }
}
