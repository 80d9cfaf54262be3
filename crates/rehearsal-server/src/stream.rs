//! A session's events: those that happened, then those that happen, without a gap and without a repeat.

use std::collections::VecDeque;
use std::sync::Arc;

use futures::Stream;
use rehearsal_core::SessionId;
use rehearsal_store::StoredEvent;

use crate::Problem;
use crate::desk::Desk;
use crate::presence::{Waiter, Waiting};
use crate::watch::{Seat, Topic};

/// Events are read in pages of this many.
const PAGE: u32 = 200;

/// What a stream brings.
#[derive(Debug)]
pub(crate) enum Item {
    /// An event.
    Event(StoredEvent),
    /// What comes from here on happens now.
    HistoryComplete,
}

struct Follower {
    desk: Arc<Desk>,
    session: SessionId,
    seat: Seat,
    _waiter: Option<Waiter>,
    after: u64,
    page: VecDeque<StoredEvent>,
    history_done: bool,
    ended: bool,
}

/// Follows a session from the event after a number on, until the server ends or the session is removed.
pub(crate) fn follow(
    desk: Arc<Desk>,
    session: SessionId,
    after: u64,
) -> impl Stream<Item = Result<Item, Problem>> {
    follow_as(desk, session, after, false)
}

/// The same for an agent, which counts as waiting for the answers of the session.
pub(crate) fn follow_as_agent(
    desk: Arc<Desk>,
    session: SessionId,
) -> impl Stream<Item = Result<Item, Problem>> {
    follow_as(desk, session, 0, true)
}

fn follow_as(
    desk: Arc<Desk>,
    session: SessionId,
    after: u64,
    waits: bool,
) -> impl Stream<Item = Result<Item, Problem>> {
    // The seat is taken before anything is read, so whatever is written after the reading is told.
    let seat = desk.sit(Topic::Session(session.clone()));
    let waiter = waits.then(|| desk.presence.enter(Waiting::Session(session.clone())));
    let follower = Follower {
        desk,
        session,
        seat,
        _waiter: waiter,
        after,
        page: VecDeque::new(),
        history_done: false,
        ended: false,
    };
    futures::stream::unfold(follower, |mut follower| async move {
        let item = follower.next().await?;
        if item.is_err() {
            follower.ended = true;
        }
        Some((item, follower))
    })
}

impl Follower {
    async fn next(&mut self) -> Option<Result<Item, Problem>> {
        if self.ended {
            return None;
        }
        let mut told = false;
        loop {
            if let Some(stored) = self.page.pop_front() {
                self.after = stored.event.seq;
                return Some(Ok(Item::Event(stored)));
            }
            match self.desk.store().glance(&self.session, self.after, PAGE).await {
                Ok(events) if events.is_empty() && told => {
                    match self.desk.store().session(&self.session).await {
                        Ok(Some(_)) => {}
                        // An end that looks like any other would leave those waiting who rely on what comes next.
                        Ok(None) => return Some(Err(Problem::not_found("session", &self.session))),
                        Err(error) => return Some(Err(error.into())),
                    }
                }
                Ok(events) if events.is_empty() => {}
                Ok(events) => {
                    self.page.extend(events);
                    continue;
                }
                Err(error) => return Some(Err(error.into())),
            }
            if !self.history_done {
                self.history_done = true;
                return Some(Ok(Item::HistoryComplete));
            }
            tokio::select! {
                () = self.seat.told() => told = true,
                () = self.desk.closed() => return None,
            }
        }
    }
}
