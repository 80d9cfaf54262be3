//! Sending requests and reading replies.

use std::error::Error;
use std::time::Duration;

use eventsource_stream::{EventStreamError, Eventsource};
use futures::stream::{BoxStream, StreamExt};
use jiff::fmt::rfc2822;
use rehearsal_core::{Clock, elapsed};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER};
use reqwest::{Client, Url};

/// The longest reply that is read, in bytes; a server that goes on without end must not fill the memory.
const LONGEST_REPLY: usize = 64 * 1024 * 1024;

/// A request, ready to be sent more than once.
pub(crate) struct Request {
    pub(crate) url: Url,
    pub(crate) body: Vec<u8>,
    pub(crate) header: Option<(&'static str, &'static str)>,
    pub(crate) key: Option<(HeaderName, HeaderValue)>,
}

/// Why there is no reply.
#[derive(Debug)]
pub(crate) enum Fault {
    ConnectTimeout,
    Transport(String),
    Malformed(String),
}

pub(crate) async fn send(client: &Client, request: &Request) -> Result<Reply, Fault> {
    let mut builder = client
        .post(request.url.clone())
        .header(CONTENT_TYPE, "application/json")
        .header(ACCEPT, "application/json, text/event-stream")
        .body(request.body.clone());
    if let Some((name, value)) = request.header {
        builder = builder.header(name, value);
    }
    if let Some((name, value)) = &request.key {
        builder = builder.header(name, value);
    }
    builder.send().await.map(Reply).map_err(fault)
}

/// A reply whose body is still to be read.
pub(crate) struct Reply(reqwest::Response);

impl Reply {
    pub(crate) fn status(&self) -> u16 {
        self.0.status().as_u16()
    }

    /// Whether it says that it is JSON rather than a stream.
    pub(crate) fn is_json(&self) -> bool {
        let kind = self.0.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        kind.is_some_and(|kind| kind.trim_start().to_ascii_lowercase().starts_with("application/json"))
    }

    /// How long it asks to wait, in milliseconds.
    pub(crate) fn retry_after_ms(&self, clock: &dyn Clock) -> Option<u64> {
        let text =
            |name: HeaderName| self.0.headers().get(name)?.to_str().ok().map(|text| text.trim().to_owned());
        if let Some(millis) = text(HeaderName::from_static("retry-after-ms")) {
            return parse_scaled(&millis, 1.0);
        }
        let after = text(RETRY_AFTER)?;
        parse_scaled(&after, 1000.0).or_else(|| {
            let date = rfc2822::parse(&after).ok()?.timestamp();
            u64::try_from(elapsed(clock.now(), date).as_millis()).ok()
        })
    }

    /// How long it is until it takes calls again, where it says that this was the last for now.
    pub(crate) fn exhausted(&self, clock: &dyn Clock) -> Option<Duration> {
        let text = |name: &'static str| {
            let value = self.0.headers().get(HeaderName::from_static(name))?;
            value.to_str().ok().map(|text| text.trim().to_owned())
        };
        let pairs = [
            ("x-ratelimit-remaining-requests", "x-ratelimit-reset-requests"),
            ("x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens"),
            ("anthropic-ratelimit-requests-remaining", "anthropic-ratelimit-requests-reset"),
            ("anthropic-ratelimit-tokens-remaining", "anthropic-ratelimit-tokens-reset"),
        ];
        let waits = pairs.into_iter().filter_map(|(remaining, reset)| {
            let is_last = text(remaining)?.parse::<f64>().is_ok_and(|left| left <= 0.0);
            if is_last { reset_in(&text(reset)?, clock) } else { None }
        });
        waits.max()
    }

    /// The body as text.
    pub(crate) async fn text(mut self) -> Result<String, Fault> {
        let mut body = Vec::new();
        while let Some(chunk) = self.0.chunk().await.map_err(fault)? {
            if body.len() + chunk.len() > LONGEST_REPLY {
                return Err(too_long());
            }
            body.extend_from_slice(&chunk);
        }
        String::from_utf8(body).map_err(|_| Fault::Malformed("the answer is not UTF-8".to_owned()))
    }

    /// The data of the events of the body.
    pub(crate) fn events(self) -> BoxStream<'static, Result<String, Fault>> {
        let chunks = self.0.bytes_stream().scan(0usize, |read, chunk| {
            let chunk = chunk.map_err(fault).and_then(|chunk| {
                *read += chunk.len();
                if *read > LONGEST_REPLY { Err(too_long()) } else { Ok(chunk) }
            });
            futures::future::ready(Some(chunk))
        });
        let events = chunks.eventsource().map(|event| match event {
            Ok(event) => Ok(event.data),
            Err(EventStreamError::Transport(fault)) => Err(fault),
            Err(EventStreamError::Utf8(_)) => Err(Fault::Malformed("the stream is not UTF-8".to_owned())),
            Err(EventStreamError::Parser(_)) => {
                Err(Fault::Malformed("the stream holds no events".to_owned()))
            }
        });
        events.boxed()
    }
}

fn too_long() -> Fault {
    Fault::Malformed(format!("the answer is longer than {LONGEST_REPLY} bytes"))
}

/// How long it is until a limit is lifted: `6m0s`, `250ms`, a number of seconds, or a moment.
fn reset_in(text: &str, clock: &dyn Clock) -> Option<Duration> {
    if let Ok(moment) = text.parse::<rehearsal_core::Timestamp>() {
        return Some(elapsed(clock.now(), moment));
    }
    if let Some(millis) = parse_scaled(text, 1000.0) {
        return Some(Duration::from_millis(millis));
    }
    let (mut rest, mut millis) = (text, 0);
    while !rest.is_empty() {
        let number = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let unit_end = rest[number..].find(|c: char| c.is_ascii_digit()).map_or(rest.len(), |at| number + at);
        let scale = match &rest[number..unit_end] {
            "ms" => 1.0,
            "s" => 1000.0,
            "m" => 60_000.0,
            "h" => 3_600_000.0,
            "d" => 86_400_000.0,
            _ => return None,
        };
        millis += parse_scaled(&rest[..number], scale)?;
        rest = &rest[unit_end..];
    }
    Some(Duration::from_millis(millis))
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be in range")]
fn parse_scaled(text: &str, scale: f64) -> Option<u64> {
    let millis = text.parse::<f64>().ok()? * scale;
    (millis.is_finite() && (0.0..1e15).contains(&millis)).then_some(millis.ceil() as u64)
}

/// What went wrong, with all its causes and without the address, which is known.
fn fault(error: reqwest::Error) -> Fault {
    if error.is_timeout() && error.is_connect() {
        return Fault::ConnectTimeout;
    }
    let error = error.without_url();
    let mut why = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        if !why.ends_with(&text) {
            why.push_str(": ");
            why.push_str(&text);
        }
        cause = error.source();
    }
    Fault::Transport(why)
}
