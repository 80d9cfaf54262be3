//! What calls bring: bodies and parameters, refused with words that say what is wrong.

use std::time::Duration;

use axum::extract::{FromRequest, FromRequestParts, Query, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use bytes::Bytes;
use serde::de::DeserializeOwned;

use super::LONGEST_WAIT_SECONDS;
use super::pace::TooSlow;
use crate::problem::{Class, Kind, Problem};

/// A body of JSON.
#[derive(Debug)]
pub(super) struct Body<T>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Body<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let kind = request.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        // A page elsewhere can post text to us without asking, but not JSON.
        if !kind.is_some_and(|kind| kind.trim_start().starts_with("application/json")) {
            return Err(Problem::invalid(
                Kind::NotJson,
                "send the body as JSON, with Content-Type: application/json",
            ));
        }
        let Raw(bytes) = Raw::from_request(request, state).await?;
        read(&bytes)
    }
}

fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<Body<T>, Problem> {
    let text = std::str::from_utf8(bytes)
        .map_err(|error| Problem::invalid(Kind::InvalidBody, format!("the body is not UTF-8: {error}")))?;
    // Read as a list, an object's fields could be given without their names.
    if !text.trim_start().starts_with('{') {
        return Err(Problem::invalid(Kind::InvalidBody, "the body must be a JSON object"));
    }
    let value = rehearsal_core::json::from_str(text).map_err(|error| {
        Problem::invalid(Kind::InvalidBody, format!("the body cannot be used: {}", plain(&error.to_string())))
    })?;
    Ok(Body(value))
}

/// What is wrong, without the names that things have in this program.
fn plain(error: &str) -> String {
    let mut words = Vec::new();
    let mut rest = error.split(' ').peekable();
    while let Some(word) = rest.next() {
        if matches!(word, "struct" | "enum" | "variant") && rest.peek().is_some() {
            let name = rest.next().unwrap_or_default();
            words.push("an object");
            // What stood behind the name goes on.
            if let Some(end) = name.find(|c: char| !c.is_alphanumeric() && c != '_' && c != ':') {
                words.push(&name[end..]);
            }
        } else {
            words.push(word);
        }
    }
    words.join(" ").replace("an object ,", "an object,")
}

/// A body of JSON that may be left out.
#[derive(Debug)]
pub(super) struct OptionalBody<T>(pub(super) T);

impl<T: DeserializeOwned + Default, S: Send + Sync> FromRequest<S> for OptionalBody<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let (parts, body) = request.into_parts();
        let Raw(bytes) = Raw::from_request(Request::from_parts(parts.clone(), body), state).await?;
        if bytes.is_empty() {
            return Ok(Self(T::default()));
        }
        if parts.headers.contains_key(header::CONTENT_TYPE) {
            let whole = Request::from_parts(parts, bytes.into());
            return Body::from_request(whole, state).await.map(|Body(value)| Self(value));
        }
        Err(Problem::invalid(Kind::NotJson, "send the body as JSON, with Content-Type: application/json"))
    }
}

/// A body as it came.
#[derive(Debug)]
pub(super) struct Raw(pub(super) Bytes);

impl<S: Send + Sync> FromRequest<S> for Raw {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let bytes = Bytes::from_request(request, state).await.map_err(|error| {
            if error.status() == axum::http::StatusCode::PAYLOAD_TOO_LARGE {
                let most = crate::LARGEST_BODY >> 20;
                let detail = format!(
                    "the body is larger than {most} MiB; send a large tool result in chunks: POST /v1/uploads"
                );
                return Problem::new(Class::TooLarge, Kind::TooLarge, detail);
            }
            if TooSlow::is_cause_of(&error) {
                return Problem::new(Class::TooSlow, Kind::TooSlow, TooSlow.to_string());
            }
            Problem::invalid(Kind::InvalidBody, format!("the body cannot be read: {error}"))
        })?;
        Ok(Self(bytes))
    }
}

/// Parameters of the query.
#[derive(Debug)]
pub(super) struct Params<T>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Params<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let Query(value) = Query::from_request_parts(parts, state).await.map_err(|error| {
            let why = error.body_text();
            let why = why.strip_prefix("Failed to deserialize query string: ").unwrap_or(&why);
            Problem::invalid(
                Kind::InvalidParameters,
                format!("the parameters cannot be used: {}", plain(why)),
            )
        })?;
        Ok(Self(value))
    }
}

/// The parts of the path.
#[derive(Debug)]
pub(super) struct Path<T>(pub(super) T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Path<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let axum::extract::Path(value) = axum::extract::Path::from_request_parts(parts, state)
            .await
            .map_err(|error| Problem::invalid(Kind::InvalidPath, error.body_text()))?;
        Ok(Self(value))
    }
}

/// How long a call may be held.
pub(super) fn wait(seconds: Option<f64>) -> Result<Duration, Problem> {
    let seconds = seconds.unwrap_or(0.0);
    Duration::try_from_secs_f64(seconds)
        .map(|wait| wait.min(Duration::from_secs(LONGEST_WAIT_SECONDS)))
        .map_err(|error| {
            Problem::invalid(
                Kind::InvalidParameters,
                format!("`wait` is a number of seconds from 0 to 60: {error}"),
            )
        })
}

/// The idempotency key of a call.
pub(super) fn key(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let Some(key) = headers.get("idempotency-key") else { return Ok(None) };
    let key =
        key.to_str().map_err(|_| Problem::invalid(Kind::InvalidKey, "an Idempotency-Key is plain text"))?;
    Ok(Some(key.to_owned()))
}
