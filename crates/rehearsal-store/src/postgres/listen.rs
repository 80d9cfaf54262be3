//! Being told what changes, by this process and by others.
//!
//! One connection of each store listens. A notification may be lost with the connection, so after every reconnect, and
//! every two seconds as a safety net, everything may have changed: whoever waits looks again. Nothing depends on a
//! notification arriving, only how soon it is noticed.

use std::pin::pin;
use std::time::Duration;

use futures::{StreamExt, stream};
use tokio::sync::broadcast;
use tokio::task::JoinHandle;
use tokio_postgres::tls::{MakeTlsConnect, TlsConnect};
use tokio_postgres::{AsyncMessage, NoTls, Socket};

use super::address::Address;
use crate::{Change, StoreError};
use rehearsal_core::SessionId;

/// Where changes are told.
pub(super) const CHANNEL: &str = "rehearsal_changes";

/// How often everything is looked at again, whatever was told.
const TICK: Duration = Duration::from_secs(2);
/// How long to wait before another try to connect, at first and at most.
const PAUSES: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(2));

const WORK: &str = "work:";
const RUN: &str = "run:";
const EVERYTHING: &str = "*";
/// The longest a notification may be. What has a longer id is told as a change of everything.
const LONGEST: usize = 7000;

/// A change as it is told.
pub(super) fn payload(change: &Change) -> String {
    let payload = match change {
        Change::Session(session) => format!("session:{session}"),
        Change::Work(host) => format!("{WORK}{host}"),
        Change::Run(run) => format!("{RUN}{run}"),
        Change::Everything => EVERYTHING.to_owned(),
    };
    if payload.len() > LONGEST { EVERYTHING.to_owned() } else { payload }
}

fn change(payload: &str) -> Change {
    if let Some(host) = payload.strip_prefix(WORK) {
        return Change::Work(host.to_owned());
    }
    if let Some(run) = payload.strip_prefix(RUN) {
        return Change::Run(run.to_owned());
    }
    match payload.strip_prefix("session:") {
        Some(session) => Change::Session(SessionId::from(session)),
        None => Change::Everything,
    }
}

/// Listens until it is dropped.
#[derive(Debug)]
pub(super) struct Listener(JoinHandle<()>);

impl Listener {
    /// Listens from now on: what is written after this has returned is told.
    pub(super) async fn start(
        address: Address,
        changes: broadcast::Sender<Change>,
    ) -> Result<Self, StoreError> {
        match address.tls().cloned() {
            Some(tls) => Self::start_with(address, changes, tls).await,
            None => Self::start_with(address, changes, NoTls).await,
        }
    }

    async fn start_with<T>(
        address: Address,
        changes: broadcast::Sender<Change>,
        tls: T,
    ) -> Result<Self, StoreError>
    where
        T: MakeTlsConnect<Socket> + Clone + Send + Sync + 'static,
        T::Stream: Send + Unpin,
        T::TlsConnect: Send,
        <T::TlsConnect as TlsConnect<Socket>>::Future: Send,
    {
        let first = listen(&address, changes.clone(), tls.clone())
            .await
            .map_err(|error| address.unavailable(&error))?;
        Ok(Self(tokio::spawn(async move {
            let mut connection = first;
            loop {
                connection.ended().await;
                tracing::warn!(
                    place = address.place(),
                    "the connection that listens was lost; connecting again"
                );
                let mut pause = PAUSES.0;
                connection = loop {
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(PAUSES.1);
                    let _nobody = changes.send(Change::Everything);
                    if let Ok(connection) = listen(&address, changes.clone(), tls.clone()).await {
                        break connection;
                    }
                };
                let _nobody = changes.send(Change::Everything);
            }
        })))
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A connection that listens, and the task that drives it.
struct Listening {
    // The connection ends with its client.
    client: tokio_postgres::Client,
    task: JoinHandle<()>,
}

impl Listening {
    async fn ended(mut self) {
        // Whatever ended it, it is made again.
        let _how = (&mut self.task).await;
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn listen<T>(
    address: &Address,
    changes: broadcast::Sender<Change>,
    tls: T,
) -> Result<Listening, tokio_postgres::Error>
where
    T: MakeTlsConnect<Socket> + Send + 'static,
    T::Stream: Send + Unpin + 'static,
    T::TlsConnect: Send,
    <T::TlsConnect as TlsConnect<Socket>>::Future: Send,
{
    let (client, mut connection) = address.config().connect(tls).await?;
    let task = tokio::spawn(async move {
        let messages = stream::poll_fn(move |context| connection.poll_message(context));
        let mut messages = pin!(messages);
        let mut tick = tokio::time::interval(TICK);
        loop {
            tokio::select! {
                message = messages.next() => match message {
                    Some(Ok(AsyncMessage::Notification(notification))) => {
                        let _nobody = changes.send(change(notification.payload()));
                    }
                    Some(Ok(_)) => {}
                    Some(Err(_)) | None => return,
                },
                _ = tick.tick() => {
                    let _nobody = changes.send(Change::Everything);
                }
            }
        }
    });
    let listening = Listening { client, task };
    listening.client.batch_execute(&format!("LISTEN {CHANNEL}")).await?;
    Ok(listening)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_told_as_it_is() {
        for told in [
            Change::Session(SessionId::from("s-1")),
            Change::Session(SessionId::from("work:x")),
            Change::Work("host".to_owned()),
            Change::Run("run".to_owned()),
            Change::Everything,
        ] {
            assert_eq!(change(&payload(&told)), told);
        }
        let long = Change::Session(SessionId::new("x".repeat(9000)));
        assert_eq!(change(&payload(&long)), Change::Everything);
    }
}
