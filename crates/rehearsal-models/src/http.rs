//! Sending requests and reading replies.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use eventsource_stream::{EventStreamError, Eventsource};
use futures::stream::{self, BoxStream, StreamExt};
use jiff::fmt::rfc2822;
use rehearsal_core::{Clock, elapsed};
use reqwest::Url;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};

use crate::plain;

/// The longest reply that is read, in bytes; a server that goes on without end must not fill the memory.
const LONGEST_REPLY: usize = 64 * 1024 * 1024;

/// The most room that is made for a reply because it says that it is that long.
const LONGEST_AT_ONCE: usize = 64 * 1024;

/// Where a request goes.
#[derive(Clone, Debug)]
pub(crate) struct Address {
    url: Url,
    /// The same, for a server without encryption.
    plain: Option<plain::Address>,
}

impl From<Url> for Address {
    fn from(url: Url) -> Self {
        let plain = plain::Address::of(&url);
        Self { url, plain }
    }
}

/// How servers are reached.
#[derive(Clone)]
pub(crate) enum Client {
    /// Any.
    Web(reqwest::Client),
    /// Those on this machine, without encryption.
    Plain(Arc<plain::Client>, reqwest::Client),
}

/// A request, ready to be sent more than once.
pub(crate) struct Request {
    pub(crate) address: Arc<Address>,
    pub(crate) body: Bytes,
    pub(crate) header: Option<(&'static str, &'static str)>,
    pub(crate) key: Option<(HeaderName, HeaderValue)>,
}

impl Request {
    fn headers(&self) -> HeaderMap {
        let mut headers = HeaderMap::with_capacity(8);
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        if let Some((name, value)) = self.header {
            headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        if let Some((name, value)) = &self.key {
            headers.insert(name.clone(), value.clone());
        }
        headers
    }
}

/// Why there is no reply.
#[derive(Debug)]
pub(crate) enum Fault {
    ConnectTimeout,
    /// There was no connection, so nothing was sent.
    Unreached(String),
    Transport(String),
    Malformed(String),
}

pub(crate) async fn send(client: &Client, request: &Request) -> Result<Reply, Fault> {
    let (headers, body) = (request.headers(), request.body.clone());
    let web = match (client, &request.address.plain) {
        (Client::Plain(client, _), Some(address)) => {
            return client.post(address, headers, body).await.map(Reply::Plain);
        }
        (Client::Web(client) | Client::Plain(_, client), _) => client,
    };
    let sent = web.post(request.address.url.clone()).headers(headers).body(body).send().await;
    sent.map(Reply::Web).map_err(fault)
}

/// A reply whose body is still to be read.
pub(crate) enum Reply {
    Web(reqwest::Response),
    Plain(plain::Reply),
}

impl Reply {
    pub(crate) fn status(&self) -> u16 {
        match self {
            Self::Web(reply) => reply.status().as_u16(),
            Self::Plain(reply) => reply.status(),
        }
    }

    fn headers(&self) -> &HeaderMap {
        match self {
            Self::Web(reply) => reply.headers(),
            Self::Plain(reply) => reply.headers(),
        }
    }

    async fn chunk(&mut self) -> Result<Option<Bytes>, Fault> {
        match self {
            Self::Web(reply) => reply.chunk().await.map_err(fault),
            Self::Plain(reply) => reply.chunk().await,
        }
    }

    fn length(&self) -> Option<u64> {
        match self {
            Self::Web(reply) => reply.content_length(),
            Self::Plain(reply) => reply.length(),
        }
    }

    /// Whether it says that it is JSON rather than a stream.
    pub(crate) fn is_json(&self) -> bool {
        let kind = self.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        kind.is_some_and(|kind| kind.trim_start().to_ascii_lowercase().starts_with("application/json"))
    }

    /// How long it asks to wait, in milliseconds.
    pub(crate) fn retry_after_ms(&self, clock: &dyn Clock) -> Option<u64> {
        let text =
            |name: HeaderName| self.headers().get(name)?.to_str().ok().map(|text| text.trim().to_owned());
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
            let value = self.headers().get(HeaderName::from_static(name))?;
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
        let length = self.length().and_then(|length| usize::try_from(length).ok());
        let mut body = Vec::with_capacity(length.unwrap_or(0).min(LONGEST_AT_ONCE));
        while let Some(chunk) = self.chunk().await? {
            if body.len() + chunk.len() > LONGEST_REPLY {
                return Err(too_long());
            }
            body.extend_from_slice(&chunk);
        }
        String::from_utf8(body).map_err(|_| Fault::Malformed("the answer is not UTF-8".to_owned()))
    }

    /// The data of the events of the body.
    pub(crate) fn events(self) -> BoxStream<'static, Result<String, Fault>> {
        let chunks = stream::try_unfold(self, |mut reply| async move {
            Ok(reply.chunk().await?.map(|chunk| (chunk, reply)))
        });
        let chunks = chunks.scan(0usize, |read, chunk: Result<Bytes, Fault>| {
            let chunk = chunk.and_then(|chunk| {
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
    let is_unreached = error.is_connect();
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
    if is_unreached { Fault::Unreached(why) } else { Fault::Transport(why) }
}
