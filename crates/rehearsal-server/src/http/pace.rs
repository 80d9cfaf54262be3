//! Bodies that must come at a pace.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::BoxError;
use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use tokio::time::{Instant, Sleep, sleep};

/// How long a body may take, however little of it comes.
const PATIENCE: Duration = Duration::from_secs(30);
/// Each second more needs so many bytes: the slowest line that is waited for.
const SLOWEST: u64 = 16 << 10;

/// A body that comes at a pace or not at all. Who drips one byte now and then would hold what it has sent, and its
/// connection, for ever.
#[derive(Debug)]
pub(crate) struct Paced<B> {
    body: B,
    come: u64,
    /// How long this waits now, and how long it would wait had nothing come.
    deadline: Option<(Pin<Box<Sleep>>, Instant)>,
}

/// The body came too slowly.
#[derive(Debug)]
pub(crate) struct TooSlow;

impl fmt::Display for TooSlow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the body came too slowly: it has {} s and one more for each {} KiB",
            PATIENCE.as_secs(),
            SLOWEST >> 10
        )
    }
}

impl std::error::Error for TooSlow {}

impl TooSlow {
    /// Whether this is why a body could not be read.
    pub(crate) fn is_cause_of(error: &(dyn std::error::Error + 'static)) -> bool {
        let mut cause = Some(error);
        while let Some(this) = cause {
            if this.is::<Self>() {
                return true;
            }
            cause = this.source();
        }
        false
    }
}

impl<B> Paced<B> {
    pub(crate) fn new(body: B) -> Self {
        Self { body, come: 0, deadline: None }
    }
}

impl<B: Body<Data = Bytes, Error: Into<BoxError>> + Unpin> Body for Paced<B> {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        let Poll::Ready(frame) = polled else {
            let seconds = Duration::from_secs(self.come / SLOWEST);
            // Most bodies are there at once and need no clock.
            let (deadline, at_least) = self.deadline.get_or_insert_with(|| {
                let deadline = Box::pin(sleep(PATIENCE));
                let at_least = deadline.deadline();
                (deadline, at_least)
            });
            let until = *at_least + seconds;
            if deadline.deadline() != until {
                deadline.as_mut().reset(until);
            }
            return deadline.as_mut().poll(cx).map(|()| Some(Err(TooSlow.into())));
        };
        if let Some(Ok(frame)) = &frame {
            self.come += frame.data_ref().map_or(0, |data| data.len() as u64);
        }
        Poll::Ready(frame.map(|frame| frame.map_err(Into::into)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
