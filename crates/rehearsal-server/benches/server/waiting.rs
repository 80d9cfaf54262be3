//! Agents that wait, and how soon they have their answers.

use std::time::{Duration, Instant};

use futures::future::join_all;
use tokio::sync::mpsc;

use crate::figures::{Spread, now};

/// How many agents wait, each on a connection of its own.
pub(crate) const CLIENTS: usize = 1000;
/// How many calls warm the server up side by side.
pub(crate) const WARM: usize = 16;
/// How many answers are given at the same moment, after those that are given one by one.
pub(crate) const BURST: usize = 20;
/// The pause between two answers, so that they are spread over some seconds and whatever the server does now and then
/// falls among them.
const PAUSE: Duration = Duration::from_millis(10);
/// An answer that takes longer is lost.
const PATIENCE: Duration = Duration::from_secs(20);

/// Which agent has its answer, and since when.
pub(crate) type Arrival = (usize, Instant);

/// How soon agents had their answers.
pub(crate) struct Delays {
    pub(crate) single: Spread,
    pub(crate) burst: Spread,
}

/// Answers every agent once: the first six tenths one after the other, the others in bursts. An agent that was answered
/// waits again, so their number stays the same.
pub(crate) async fn answer_all(
    arrivals: &mut mpsc::UnboundedReceiver<Arrival>,
    clients: usize,
    answer: impl AsyncFn(usize) -> Result<(), String>,
) -> Result<Delays, String> {
    let singles = clients * 6 / 10;
    let mut single = Vec::with_capacity(singles);
    for client in 0..singles {
        tokio::time::sleep(PAUSE).await;
        let sent = now();
        answer(client).await?;
        let (number, at) = arrived(arrivals).await?;
        if number != client {
            return Err(format!("the answer for agent {client} arrived at {number}"));
        }
        single.push(at - sent);
    }
    let mut burst = Vec::with_capacity(clients - singles);
    let all: Vec<usize> = (singles..clients).collect();
    for group in all.chunks(BURST) {
        tokio::time::sleep(PAUSE * 5).await;
        let sent = now();
        join_all(group.iter().map(|client| answer(*client))).await.into_iter().collect::<Result<(), _>>()?;
        for _ in group {
            burst.push(arrived(arrivals).await?.1 - sent);
        }
    }
    Ok(Delays { single: Spread::of(single), burst: Spread::of(burst) })
}

async fn arrived(arrivals: &mut mpsc::UnboundedReceiver<Arrival>) -> Result<Arrival, String> {
    let arrival = tokio::time::timeout(PATIENCE, arrivals.recv()).await;
    arrival
        .map_err(|_| "an answer did not arrive".to_owned())?
        .ok_or_else(|| "the agents have gone".to_owned())
}
