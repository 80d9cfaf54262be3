//! A server at an address: every message is a request of streamable HTTP.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::time::Duration;

use rehearsal_core::mask::Masker;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Method, RequestBuilder, Response, StatusCode, Url};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use tokio::time::timeout;

use super::message::{Outgoing, header_value};
use super::sse::Events;
use super::{McpError, McpSettings};
use crate::remote::{build_client, causes, header_secrets, parse_url};

/// The most that is read of one answer, in bytes.
const MOST_BYTES: usize = 256 * 1024 * 1024;

/// The longest event, and the longest answer that is no stream.
const LONGEST_MESSAGE: usize = 64 * 1024 * 1024;

/// How often a stream that broke off before the answer is taken up again.
const MOST_RESUMES: usize = 5;

/// The longest that a server may have us wait before a stream is taken up again.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");

/// Where a server is, and what is sent along.
#[derive(Clone, Debug)]
pub struct McpAddress {
    /// Its address.
    pub url: String,
    /// Headers to send. Their values are kept out of errors and ledgers.
    pub headers: BTreeMap<String, SecretString>,
}

/// The way to a server at an address.
pub(super) struct Http {
    client: Client,
    url: Url,
    headers: HeaderMap,
    masker: Masker,
    /// The session the server gave.
    session: Option<HeaderValue>,
    /// The revision that was agreed on, where it has sessions.
    version: Option<String>,
    /// What comes for the request that was sent last.
    stream: Option<Stream>,
    heard: VecDeque<Value>,
}

/// An answer that is not read to its end.
struct Stream {
    response: Response,
    events: Events,
    read: usize,
    resumes: usize,
}

impl Http {
    pub(super) fn new(address: &McpAddress, settings: &McpSettings) -> Result<Self, McpError> {
        let wrong = |why: String| McpError::Address { why };
        let url = parse_url(&address.url).map_err(|error| wrong(error.to_string()))?;
        let client = build_client(&url).map_err(|error| wrong(error.to_string()))?;
        let mut headers = HeaderMap::new();
        let mut secrets: Vec<String> = url.password().map(str::to_owned).into_iter().collect();
        for (name, value) in &address.headers {
            let value = value.expose_secret();
            let unfit = |part| {
                wrong(format!("the {part} of the header `{name}` holds characters that cannot be part of it"))
            };
            let key = HeaderName::try_from(name).map_err(|_| unfit("name"))?;
            let mut sent = HeaderValue::try_from(value).map_err(|_| unfit("value"))?;
            sent.set_sensitive(true);
            secrets.extend(header_secrets(name, value));
            headers.insert(key, sent);
        }
        Ok(Self {
            client,
            url,
            headers,
            masker: settings.masker.and(secrets),
            session: None,
            version: None,
            stream: None,
            heard: VecDeque::new(),
        })
    }

    /// Takes note of the revision that was agreed on.
    pub(super) fn agree(&mut self, version: &str) {
        self.version = Some(version.to_owned());
    }

    pub(super) async fn request(&mut self, request: Outgoing) -> Result<(), McpError> {
        self.hang_up();
        let response = self.post(&request).await?;
        let status = response.status();
        if request.body["method"] == "initialize" {
            self.session = response.headers().get(&SESSION).cloned();
        }
        let kind =
            response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        if status.is_success() && kind.starts_with("text/event-stream") {
            self.stream = Some(Stream { response, events: Events::default(), read: 0, resumes: 0 });
            return Ok(());
        }
        let body = self.read(response).await?;
        // An error of the protocol comes with a status that is one too.
        let message = rehearsal_core::json::from_slice::<Value>(&body).ok();
        let message = message
            .filter(|message| status.is_success() || message.get("error").is_some_and(Value::is_object));
        match message {
            Some(Value::Array(messages)) => self.heard.extend(messages),
            Some(message @ Value::Object(_)) => self.heard.push_back(message),
            _ => return Err(self.said_no(status, &body)),
        }
        Ok(())
    }

    pub(super) async fn notify(&mut self, message: Value) -> Result<(), McpError> {
        let outgoing = Outgoing::plain(message, self.version.clone());
        let response = self.post(&outgoing).await?;
        let status = response.status();
        if status.is_success() {
            return Ok(());
        }
        let body = self.read(response).await?;
        Err(self.said_no(status, &body))
    }

    /// The next message of the answer.
    pub(super) async fn receive(&mut self) -> Result<Value, McpError> {
        loop {
            if let Some(heard) = self.heard.pop_front() {
                return Ok(heard);
            }
            let Some(stream) = &mut self.stream else {
                return Err(McpError::Gone { what: format!("{self} sent no answer") });
            };
            let chunk = match stream.response.chunk().await {
                Ok(Some(chunk)) => chunk,
                Ok(None) => {
                    self.resume("ended its stream before the answer".to_owned()).await?;
                    continue;
                }
                Err(error) => {
                    self.resume(format!("broke off: {}", causes(error))).await?;
                    continue;
                }
            };
            stream.read += chunk.len();
            let messages = stream.events.feed(&chunk);
            if stream.read > MOST_BYTES || stream.events.held() > LONGEST_MESSAGE {
                let what = format!("{self} answered more than {} MiB", MOST_BYTES / (1024 * 1024));
                return Err(McpError::Misread { what });
            }
            for text in messages {
                match rehearsal_core::json::from_str(&text) {
                    Ok(Value::Array(messages)) => self.heard.extend(messages),
                    Ok(message) => self.heard.push_back(message),
                    Err(error) => {
                        let shown = self.excerpt(text.as_bytes());
                        let what = format!("{self} sent an event that is not JSON ({error}): {shown}");
                        return Err(McpError::Misread { what });
                    }
                }
            }
        }
    }

    /// Takes a stream up again where it ended; servers with sessions may end it and expect that.
    async fn resume(&mut self, what: String) -> Result<(), McpError> {
        let gone = McpError::Gone { what: format!("{self} {what}") };
        let Some(Stream { events, read, resumes, .. }) = self.stream.take() else { return Err(gone) };
        let Some(last) = events.last_id.clone().filter(|_| self.version.is_some() && resumes < MOST_RESUMES)
        else {
            return Err(gone);
        };
        let wait = Duration::from_millis(events.retry.unwrap_or_default()).min(LONGEST_WAIT);
        tokio::time::sleep(wait).await;
        let get = self.dressed(self.client.get(self.url.clone()), self.version.as_deref());
        let response = get.header(ACCEPT, "text/event-stream").header("last-event-id", last).send().await;
        let response = response.map_err(|error| self.unanswered(error))?;
        if !response.status().is_success() {
            return Err(gone);
        }
        self.stream = Some(Stream { response, events: events.resumed(), read, resumes: resumes + 1 });
        Ok(())
    }

    /// Ends a stream that is still open, which tells the server that nobody waits any more.
    pub(super) fn hang_up(&mut self) {
        self.stream = None;
        self.heard.clear();
    }

    /// Ends the session, where the server gave one.
    pub(super) async fn close(mut self, patience: Duration) {
        self.hang_up();
        if self.session.is_some() {
            let end = self.dressed(self.client.delete(self.url.clone()), self.version.as_deref());
            // A server need not let a session be ended.
            drop(timeout(patience, end.send()).await);
        }
    }

    async fn post(&self, outgoing: &Outgoing) -> Result<Response, McpError> {
        let version = outgoing.version.as_deref();
        let mut post = self.dressed(self.client.request(Method::POST, self.url.clone()), version);
        post = post.header(CONTENT_TYPE, "application/json");
        post = post.header(ACCEPT, "application/json, text/event-stream");
        if let Some((method, name)) = &outgoing.routed {
            post = post.header("mcp-method", *method);
            if let Some(name) = name {
                post = post.header("mcp-name", header_value(name));
            }
        }
        for (name, value) in &outgoing.headers {
            post = post.header(name, value);
        }
        let sent = post.body(rehearsal_core::json::text(&outgoing.body)).send().await;
        sent.map_err(|error| self.unanswered(error))
    }

    fn dressed(&self, request: RequestBuilder, version: Option<&str>) -> RequestBuilder {
        let mut request = request.headers(self.headers.clone());
        if let Some(session) = &self.session {
            request = request.header(SESSION, session.clone());
        }
        // The revision from which on the header is there; before it, servers may not expect it.
        match version.filter(|version| *version >= "2025-06-18") {
            Some(version) => request.header(VERSION, version),
            None => request,
        }
    }

    async fn read(&self, mut response: Response) -> Result<Vec<u8>, McpError> {
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| self.unanswered(error))? {
            if body.len() + chunk.len() > LONGEST_MESSAGE {
                let what = format!("{self} answered more than {} MiB", LONGEST_MESSAGE / (1024 * 1024));
                return Err(McpError::Misread { what });
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }

    fn unanswered(&self, error: reqwest::Error) -> McpError {
        let what = if error.is_connect() { "could not be reached" } else { "broke off" };
        let why = self.masker.mask(&causes(error)).into_owned();
        let hint = "see that the server runs, and that `url` is its address";
        McpError::Gone { what: format!("{self} {what}: {why}\n\nhint: {hint}") }
    }

    fn said_no(&self, status: StatusCode, body: &[u8]) -> McpError {
        let hint = match status.as_u16() {
            401 | 403 => "see that `headers` carries what the server asks for",
            300..=399 => "redirects are not followed; set `url` to the address that answers",
            404 | 405 => {
                "see that `url` is the server's endpoint for streamable HTTP, such as `http://localhost:8000/mcp`"
            }
            _ => "look at what the server itself logged",
        };
        let said = if status.is_success() {
            format!("what is no message: {}", self.excerpt(body))
        } else {
            format!("HTTP {status}: {}", self.excerpt(body))
        };
        McpError::Status { status: status.as_u16(), what: format!("{self} answered {said}\n\nhint: {hint}") }
    }

    fn excerpt(&self, body: &[u8]) -> String {
        let text = self.masker.mask(&String::from_utf8_lossy(body)).trim().to_owned();
        if text.is_empty() { "(nothing)".to_owned() } else { rehearsal_core::shorten(&text, 500) }
    }
}

/// How errors call the server: without a password, and without parameters, which may hold a key.
impl fmt::Display for Http {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the MCP server at {}{}", self.url.origin().ascii_serialization(), self.url.path())
    }
}

impl fmt::Debug for Http {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Http").field("server", &self.to_string()).finish_non_exhaustive()
    }
}
