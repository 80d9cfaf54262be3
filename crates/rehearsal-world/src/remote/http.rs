//! An agent behind an HTTP endpoint that takes and gives JSON.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use rehearsal_agent::{Agent, AgentRef, Context, Done, Flow, RunError};
use rehearsal_core::mask::Masker;
use rehearsal_core::{Content, EventBody, FunctionCall, ModelResponse, ToolError, ToolOutcome, Usage};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION, USER_AGENT};
use reqwest::{Client, Method, Response, StatusCode, Url};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value, json};

use super::template::{Path, Placeholder, Template, description};
use super::{Conversation, Introduction, PathError, TemplateError, decision, scenario, turn_number};
use crate::program::shortened;

/// The longest answer that is read, in bytes.
const LONGEST_ANSWER: usize = 8 * 1024 * 1024;

/// How much of an answer an error shows, in characters.
const SHOWN: usize = 500;

/// How to talk to an agent behind an HTTP endpoint.
#[derive(Clone, Debug)]
pub struct HttpSettings {
    /// The name of the agent.
    pub name: String,
    /// The address that is asked.
    pub url: String,
    /// `POST`, `PUT` or `PATCH`.
    pub method: String,
    /// Headers to send. Their values are kept out of errors and ledgers.
    pub headers: BTreeMap<String, SecretString>,
    /// The body: any JSON with placeholders such as `${message}` in its strings.
    pub request: Value,
    /// Where the reply stands in the answer, such as `$.reply.text`.
    pub response: String,
    /// Where the server's session id stands in the answer; it is sent back as `${session}`.
    pub session: Option<String>,
    /// Where the token counts stand in the answer.
    pub usage: Option<UsagePaths>,
    /// Where the tool calls stand that the agent made for its answer.
    pub calls: Option<CallPaths>,
    /// How long an answer may take.
    pub timeout: Duration,
    /// What is hidden in answers beside the values of headers.
    pub masker: Masker,
    /// What the agent can be told about the scenario.
    pub introduction: Introduction,
}

/// Where the token counts stand in an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsagePaths {
    /// The path of the tokens read.
    pub input: String,
    /// The path of the tokens written.
    pub output: String,
}

/// Where the tool calls stand in an answer. Of a path that ends in `?` nothing is expected: it may lead nowhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallPaths {
    /// The path of their list.
    pub list: String,
    /// The path of the tool's name, in an item of the list.
    pub tool: String,
    /// The path of the arguments, in an item: an object, or one as JSON in a text.
    pub args: String,
    /// The path of what the tool gave, in an item.
    pub result: Option<String>,
    /// The path of what went wrong, in an item; most items have nothing there.
    pub error: Option<String>,
}

impl HttpSettings {
    /// Settings that post `{"message": "${message}", "session": "${session}"}` and wait a minute for an answer.
    pub fn new(name: &str, url: &str, response: &str) -> Self {
        Self {
            name: name.to_owned(),
            url: url.to_owned(),
            method: "POST".to_owned(),
            headers: BTreeMap::new(),
            request: json!({"message": "${message}", "session": "${session}"}),
            response: response.to_owned(),
            session: None,
            usage: None,
            calls: None,
            timeout: Duration::from_mins(1),
            masker: Masker::default(),
            introduction: Introduction::default(),
        }
    }
}

/// What is wrong with the settings of an HTTP agent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HttpAgentError {
    /// An address that cannot be asked.
    #[error("`url`: {why}\n\nhint: write it like `http://localhost:8000/chat`")]
    Url {
        /// Why.
        why: String,
    },
    /// A method that carries no request.
    #[error("`method`: an agent cannot be asked with `{method}`; use `POST`, `PUT` or `PATCH`")]
    Method {
        /// The method.
        method: String,
    },
    /// A header that cannot be sent.
    #[error("`headers`: the {part} of `{name}` holds characters that cannot be part of it")]
    Header {
        /// The header.
        name: String,
        /// `name` or `value`.
        part: &'static str,
    },
    /// A template that cannot be filled.
    #[error("`request`: {0}")]
    Template(#[from] TemplateError),
    /// A path that cannot be read.
    #[error("`{setting}`: {error}")]
    Path {
        /// The setting it stands in.
        setting: &'static str,
        /// What is wrong with it.
        error: PathError,
    },
    /// No HTTP client.
    #[error("the HTTP client cannot be set up: {why}")]
    Client {
        /// Why.
        why: String,
    },
}

/// An agent behind an HTTP endpoint that takes and gives JSON.
///
/// Each message of the user is one request. It is sent once: an agent's work may have effects, so nothing is tried
/// again. What the server remembers of the conversation is its own affair; its session id is kept on the ledger.
pub struct HttpAgent {
    name: Arc<str>,
    client: Client,
    method: Method,
    url: Url,
    headers: HeaderMap,
    masker: Masker,
    request: Template,
    response: Path,
    session: Option<Path>,
    usage: Option<(Path, Path)>,
    calls: Option<Calls>,
    timeout: Duration,
    introduction: Introduction,
}

/// What is taken from an answer.
struct Reply {
    text: String,
    session: Option<Value>,
    usage: Option<Usage>,
    calls: Vec<(FunctionCall, ToolOutcome)>,
}

impl HttpAgent {
    /// An agent with these settings.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn new(settings: HttpSettings) -> Result<Self, HttpAgentError> {
        let path =
            |setting, text: &str| Path::parse(text).map_err(|error| HttpAgentError::Path { setting, error });
        let url = parse_url(&settings.url)?;
        let usage = match &settings.usage {
            None => None,
            Some(usage) => Some((path("usage.input", &usage.input)?, path("usage.output", &usage.output)?)),
        };
        Ok(Self {
            name: settings.name.into(),
            client: build_client(&url)?,
            method: parse_method(&settings.method)?,
            headers: build_headers(&settings.headers)?,
            masker: settings.masker.and(secrets(&settings.headers, &url)),
            request: Template::parse(&settings.request)?,
            response: path("response", &settings.response)?,
            session: settings.session.map(|text| path("session", &text)).transpose()?,
            usage,
            calls: settings.calls.as_ref().map(Calls::parse).transpose()?,
            timeout: settings.timeout,
            introduction: settings.introduction,
            url,
        })
    }

    /// Checks the template of a request.
    ///
    /// # Errors
    /// What is wrong with it, and where.
    pub fn check_template(request: &Value) -> Result<(), TemplateError> {
        Template::parse(request).map(drop)
    }

    /// The request for the last message of the user.
    fn fill(&self, cx: &Context<'_>) -> Value {
        let Conversation { earlier, message } = Conversation::read(cx);
        let history = || {
            let earlier = earlier.iter().map(|said| json!({"role": said.role, "content": said.text}));
            let last = message.as_ref().map(|message| json!({"role": "user", "content": message}));
            earlier.chain(last).collect()
        };
        self.request.fill(&|placeholder| match placeholder {
            Placeholder::Message => message.as_deref().unwrap_or_default().into(),
            Placeholder::Session => {
                self.given_session(cx).unwrap_or_else(|| cx.ledger().session().as_str().into())
            }
            Placeholder::Turn => turn_number(cx, &self.name).into(),
            Placeholder::Scenario => scenario(cx),
            Placeholder::History => history(),
            Placeholder::Plugins => self.introduction.plugins(),
            Placeholder::Context => self.introduction.context.clone(),
        })
    }

    /// The session id the server gave last.
    fn given_session(&self, cx: &Context<'_>) -> Option<Value> {
        cx.ledger().events().iter().rev().find_map(|event| match &event.body {
            EventBody::RemoteSession { session } if event.author == self.name => Some(session.clone()),
            _ => None,
        })
    }

    async fn ask(&self, request: &Value) -> Result<Value, String> {
        let sent = self
            .client
            .request(self.method.clone(), self.url.clone())
            .headers(self.headers.clone())
            .timeout(self.timeout)
            .body(rehearsal_core::json::text(request))
            .send();
        let response = sent.await.map_err(|error| self.unanswered(error))?;
        let status = response.status();
        if status.is_redirection() {
            return Err(self.redirected(&response));
        }
        let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let kind = self.hide(kind.unwrap_or("no content type"));
        let body = self.read_body(response).await?;
        if !status.is_success() {
            return Err(self.said_no(status, &body));
        }
        rehearsal_core::json::from_slice(&body).map_err(|error| {
            format!(
                "{self} answered something that is not JSON ({error}; {kind}): {}\n\nhint: set `url` to an endpoint that answers JSON",
                self.excerpt(&body)
            )
        })
    }

    async fn read_body(&self, mut response: Response) -> Result<Vec<u8>, String> {
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| self.unanswered(error))? {
            if body.len() + chunk.len() > LONGEST_ANSWER {
                return Err(format!(
                    "{self} answered more than 8 MiB\n\nhint: let it leave out what is not part of the reply"
                ));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }

    fn unanswered(&self, error: reqwest::Error) -> String {
        if error.is_timeout() {
            let limit = self.timeout;
            return format!(
                "{self} did not answer within {limit:?}\n\nhint: raise `timeout`, or look at what the agent waits for"
            );
        }
        let what = if error.is_connect() { "could not be reached" } else { "broke off" };
        format!(
            "{self} {what}: {}\n\nhint: see that the agent runs, and that `url` is its address",
            causes(error)
        )
    }

    fn redirected(&self, response: &Response) -> String {
        let place = response.headers().get(LOCATION).and_then(|place| place.to_str().ok());
        let place = place.map_or_else(|| "elsewhere".to_owned(), |place| format!("`{}`", self.hide(place)));
        format!(
            "{self} answered HTTP {} and points to {place}; redirects are not followed\n\nhint: set `url` to the address that answers",
            response.status()
        )
    }

    fn said_no(&self, status: StatusCode, body: &[u8]) -> String {
        let hint = match status.as_u16() {
            401 | 403 => "see that `headers` carries what the agent asks for",
            404 | 405 => "see that `url` and `method` are those of the agent",
            400 | 415 | 422 => "see that `request` has the form the agent takes",
            _ => "look at what the agent itself logged",
        };
        format!("{self} answered HTTP {status}: {}\n\nhint: {hint}", self.excerpt(body))
    }

    /// Takes from an answer what the settings name.
    fn read(&self, answer: &Value, has_session: bool) -> Result<Reply, String> {
        let text = self.text_at("response", &self.response, answer)?;
        let session = match &self.session {
            None => None,
            Some(path) => match path.find(answer) {
                Ok(Value::Null) | Err(_) if has_session => None,
                Ok(id @ (Value::String(_) | Value::Number(_))) => Some(id.clone()),
                Ok(_) => return Err(self.unusable("session", path, answer, "an id: text or a number")),
                Err(_) => return Err(self.missing("session", path, answer)),
            },
        };
        let usage = match &self.usage {
            None => None,
            Some((input, output)) => Some(Usage {
                input: self.count_at("usage.input", input, answer)?,
                output: self.count_at("usage.output", output, answer)?,
                ..Usage::default()
            }),
        };
        let calls = match &self.calls {
            None => Vec::new(),
            Some(paths) => self.read_calls(paths, answer)?,
        };
        Ok(Reply { text, session, usage, calls })
    }

    /// The tool calls that an answer tells of, in their order.
    fn read_calls(&self, paths: &Calls, answer: &Value) -> Result<Vec<(FunctionCall, ToolOutcome)>, String> {
        let list = match paths.list.find(answer) {
            None if paths.list.may_lack => return Ok(Vec::new()),
            None => return Err(self.missing_of_calls("calls.list", &paths.list.path, answer, answer)),
            Some(Value::Null) => return Ok(Vec::new()),
            Some(Value::Array(list)) => list,
            Some(_) => return Err(self.unusable("calls.list", &paths.list.path, answer, "a list")),
        };
        let item = |(at, item)| {
            self.read_call(paths, item, answer)
                .map_err(|why| format!("call {} of `{}`: {why}", at + 1, paths.list.path))
        };
        list.iter().enumerate().map(item).collect()
    }

    fn read_call(
        &self,
        paths: &Calls,
        item: &Value,
        answer: &Value,
    ) -> Result<(FunctionCall, ToolOutcome), String> {
        let missing = |setting, at: &Place| self.missing_of_calls(setting, &at.path, item, answer);
        let unusable = |setting, at: &Place, wanted: &str| {
            let found = at.path.find(item).map(description).unwrap_or_default();
            let what = format!("should have {wanted} at `{}`, which is {found}", at.path);
            self.misread(setting, &what, answer)
        };
        let name = paths.tool.find(item).ok_or_else(|| missing("calls.tool", &paths.tool))?;
        let name = rehearsal_core::json::as_text(name).filter(|name| !name.is_empty());
        let name = name.ok_or_else(|| unusable("calls.tool", &paths.tool, "the name of a tool"))?;
        let args = match paths.args.find(item) {
            None if !paths.args.may_lack => return Err(missing("calls.args", &paths.args)),
            None | Some(Value::Null) => Map::new(),
            Some(Value::Object(args)) => args.clone(),
            Some(value) => {
                let text = rehearsal_core::json::as_text(value);
                let read = text.map(|text| if text.trim().is_empty() { "{}" } else { text });
                let read = read.and_then(|text| rehearsal_core::json::from_str(text).ok());
                let wanted = "an object, or one as JSON in a text,";
                read.ok_or_else(|| unusable("calls.args", &paths.args, wanted))?
            }
        };
        let mut output = match &paths.result {
            None => Value::Null,
            Some(path) => path.find(item).cloned().unwrap_or_default(),
        };
        let error = paths.error.as_ref().and_then(|path| path.find(item));
        let mut outcome = match error.and_then(|error| failure(error, &output)) {
            Some(error) => ToolOutcome::Error(error),
            None => {
                if let Some(path) =
                    paths.result.as_ref().filter(|path| !path.may_lack && path.find(item).is_none())
                {
                    return Err(missing("calls.result", path));
                }
                self.masker.mask_value(&mut output);
                ToolOutcome::Output(output)
            }
        };
        if let ToolOutcome::Error(error) = &mut outcome {
            error.message = self.hide(&error.message);
        }
        let mut args = Value::Object(args);
        self.masker.mask_value(&mut args);
        let Value::Object(args) = args else { unreachable!("masking changes no form") };
        Ok((FunctionCall { name: self.hide(name), args, ..FunctionCall::default() }, outcome))
    }

    /// That a path of `calls` leads nowhere in what it was looked for in.
    fn missing_of_calls(&self, setting: &str, path: &Path, within: &Value, answer: &Value) -> String {
        let why = path.find(within).err().map(|missing| missing.to_string()).unwrap_or_default();
        let what = format!("has nothing at `{path}`: {why}");
        let told = self.misread(setting, &what, answer);
        format!("{told}; where answers may leave it out, write `?` behind the path")
    }

    fn text_at(&self, setting: &str, path: &Path, answer: &Value) -> Result<String, String> {
        match path.find(answer).map(rehearsal_core::json::as_text) {
            Ok(Some(text)) => Ok(self.hide(text)),
            Ok(None) => Err(self.unusable(setting, path, answer, "text")),
            Err(_) => Err(self.missing(setting, path, answer)),
        }
    }

    fn count_at(&self, setting: &str, path: &Path, answer: &Value) -> Result<u64, String> {
        match path.find(answer) {
            Ok(value) => value.as_u64().ok_or_else(|| self.unusable(setting, path, answer, "a count")),
            Err(_) => Err(self.missing(setting, path, answer)),
        }
    }

    fn missing(&self, setting: &str, path: &Path, answer: &Value) -> String {
        let why = path.find(answer).err().map(|missing| missing.to_string()).unwrap_or_default();
        self.misread(setting, &format!("has nothing at `{path}`: {why}"), answer)
    }

    fn unusable(&self, setting: &str, path: &Path, answer: &Value, wanted: &str) -> String {
        let found = path.find(answer).map(description).unwrap_or_default();
        self.misread(setting, &format!("should have {wanted} at `{path}`, which is {found}"), answer)
    }

    fn misread(&self, setting: &str, what: &str, answer: &Value) -> String {
        format!(
            "the answer of {self} {}\n\nit answered: {}\n\nhint: set `{setting}` to where it stands in the answer",
            self.hide(what),
            self.excerpt(rehearsal_core::json::text(answer).as_bytes())
        )
    }

    fn excerpt(&self, body: &[u8]) -> String {
        match shortened(&self.hide(&String::from_utf8_lossy(body)), SHOWN) {
            empty if empty.is_empty() => "(nothing)".to_owned(),
            text => text,
        }
    }

    /// The text without anything that was sent as a header: a server may echo what it got.
    fn hide(&self, text: &str) -> String {
        self.masker.mask(text).into_owned()
    }

    /// Keeps the session id that the server gave, where it is a new one.
    fn keep_session(&self, cx: &mut Context<'_>, id: &Value) -> Result<(), RunError> {
        if self.masker.mask_value(&mut id.clone()) {
            let why = format!(
                "{self} gave a session id that holds the value of a header, which is not written down\n\nhint: leave `session` out, and write the id into `request`"
            );
            return Err(RunError::agent(&self.name, why));
        }
        if self.given_session(cx).as_ref() == Some(id) {
            return Ok(());
        }
        cx.append(EventBody::RemoteSession { session: id.clone() })
    }
}

#[async_trait]
impl Agent for HttpAgent {
    fn name(&self) -> &Arc<str> {
        &self.name
    }

    fn kind(&self) -> &'static str {
        "http"
    }

    async fn run(&self, cx: &mut Context<'_>) -> Result<Flow, RunError> {
        if let Some(text) = answered(cx) {
            return Ok(Flow::Done(Done::new(text)));
        }
        let request = self.fill(cx);
        cx.commit().await?;
        let clock = cx.session().around().clock.clone();
        let began = clock.now();
        let failed = |why| RunError::agent(&self.name, why);
        let answer = self.ask(&request).await.map_err(failed)?;
        let reply = self.read(&answer, self.given_session(cx).is_some()).map_err(failed)?;
        if let Some(id) = &reply.session {
            self.keep_session(cx, id)?;
        }
        let response =
            ModelResponse { usage: reply.usage, ..ModelResponse::new(Content::model(reply.text.clone())) };
        cx.record_played(reply.calls, response, decision(&self.name, &*clock, began)).await?;
        Ok(Flow::Done(Done::new(reply.text)))
    }
}

/// Where the tool calls stand.
struct Calls {
    list: Place,
    tool: Place,
    args: Place,
    result: Option<Place>,
    error: Option<Place>,
}

/// A path that may be one that leads nowhere.
struct Place {
    path: Path,
    may_lack: bool,
}

impl Calls {
    fn parse(paths: &CallPaths) -> Result<Self, HttpAgentError> {
        let optional = |setting, text: &Option<String>| {
            text.as_ref().map(|text| Place::parse(setting, text)).transpose()
        };
        Ok(Self {
            list: Place::parse("calls.list", &paths.list)?,
            tool: Place::parse("calls.tool", &paths.tool)?,
            args: Place::parse("calls.args", &paths.args)?,
            result: optional("calls.result", &paths.result)?,
            error: optional("calls.error", &paths.error)?,
        })
    }
}

impl Place {
    fn parse(setting: &'static str, text: &str) -> Result<Self, HttpAgentError> {
        let trimmed = text.trim();
        let path = trimmed.strip_suffix('?').unwrap_or(trimmed);
        let may_lack = path.len() < trimmed.len();
        let path = Path::parse(path).map_err(|error| HttpAgentError::Path { setting, error })?;
        Ok(Self { path, may_lack })
    }

    fn find<'a>(&self, value: &'a Value) -> Option<&'a Value> {
        self.path.find(value).ok()
    }
}

/// What an answer says of a call that failed: words, an object with a `message` and maybe a `type`, or just that it did,
/// when its output says why. Nothing where it did not fail.
fn failure(error: &Value, output: &Value) -> Option<ToolError> {
    const KIND: &str = "Error";
    match error {
        Value::Null | Value::Bool(false) => None,
        Value::Bool(true) => Some(ToolError::new(KIND, rehearsal_core::json::said(output))),
        Value::Object(fields) => {
            let text = |key: &str| fields.get(key).and_then(rehearsal_core::json::as_text);
            let message = text("message").map_or_else(|| rehearsal_core::json::text(error), str::to_owned);
            Some(ToolError::new(text("type").unwrap_or(KIND), message))
        }
        other => match rehearsal_core::json::said(other) {
            empty if empty.is_empty() => None,
            message => Some(ToolError::new(KIND, message)),
        },
    }
}

/// What this execution said already, before it was interrupted.
fn answered(cx: &Context<'_>) -> Option<String> {
    let start = cx.ledger().started_at(cx.invocation())?;
    cx.ledger().events()[start..].iter().find_map(|event| match &event.body {
        EventBody::ModelResponse(response) if event.invocation.as_ref() == Some(cx.invocation()) => {
            // Those with a call come before it.
            response.content.calls().next().is_none().then(|| response.content.text())
        }
        _ => None,
    })
}

/// How errors call the endpoint: without a password, and without parameters, which may hold a key.
impl fmt::Display for HttpAgent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (origin, path) = (self.url.origin().ascii_serialization(), self.url.path());
        let query = if self.url.query().is_some() { "?…" } else { "" };
        write!(f, "{} {origin}{path}{query}", self.method)
    }
}

impl fmt::Debug for HttpAgent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpAgent")
            .field("name", &self.name)
            .field("endpoint", &self.to_string())
            .finish_non_exhaustive()
    }
}

impl From<HttpAgent> for AgentRef {
    fn from(agent: HttpAgent) -> Self {
        Arc::new(agent)
    }
}

pub(crate) fn parse_url(text: &str) -> Result<Url, HttpAgentError> {
    let wrong = |why: String| HttpAgentError::Url { why };
    if text.contains("${") {
        return Err(wrong("placeholders are replaced in `request` only".to_owned()));
    }
    let url = Url::parse(text).map_err(|error| wrong(format!("it is not an address: {error}")))?;
    match url.scheme() {
        "http" | "https" => Ok(url),
        scheme => Err(wrong(format!("it begins with `{scheme}:`, not with `http:` or `https:`"))),
    }
}

fn parse_method(text: &str) -> Result<Method, HttpAgentError> {
    match text.to_ascii_uppercase().as_str() {
        "POST" => Ok(Method::POST),
        "PUT" => Ok(Method::PUT),
        "PATCH" => Ok(Method::PATCH),
        _ => Err(HttpAgentError::Method { method: text.to_owned() }),
    }
}

fn build_headers(headers: &BTreeMap<String, SecretString>) -> Result<HeaderMap, HttpAgentError> {
    let json = HeaderValue::from_static("application/json");
    let mut map = HeaderMap::from_iter([(CONTENT_TYPE, json.clone()), (ACCEPT, json)]);
    for (name, value) in headers {
        let wrong = |part| HttpAgentError::Header { name: name.clone(), part };
        let key = HeaderName::try_from(name).map_err(|_| wrong("name"))?;
        let mut value = HeaderValue::try_from(value.expose_secret()).map_err(|_| wrong("value"))?;
        value.set_sensitive(true);
        map.insert(key, value);
    }
    Ok(map)
}

/// What must not be shown: header values, and what the address carries besides the address.
fn secrets(headers: &BTreeMap<String, SecretString>, url: &Url) -> Vec<String> {
    let headers = headers.iter().map(|(name, value)| (name.as_str(), value.expose_secret()));
    let mut secrets: Vec<String> = headers.flat_map(|(name, value)| header_secrets(name, value)).collect();
    secrets.extend(url.query_pairs().map(|(_, value)| value.into_owned()));
    secrets.extend(url.password().map(str::to_owned));
    secrets
}

/// What must not be shown of a header: the words of its value, of which the first is often the name of a scheme.
pub fn header_secrets(name: &str, value: &str) -> Vec<String> {
    if [ACCEPT, CONTENT_TYPE, USER_AGENT].iter().any(|known| name.eq_ignore_ascii_case(known.as_str())) {
        return Vec::new();
    }
    let words: Vec<String> =
        value.split_whitespace().filter(|word| Masker::can_hide(word)).map(str::to_owned).collect();
    if words.is_empty() { vec![value.to_owned()] } else { words }
}

/// An HTTP client for an address that an author names: it follows no redirect, sends nothing twice and reaches this
/// machine without a proxy.
///
/// # Errors
/// The client could not be made, for example because the certificates of the system cannot be read.
pub fn build_client(url: &Url) -> Result<Client, HttpAgentError> {
    // The result is an error where the program chose a provider of cryptography itself, which is fine too.
    drop(rustls::crypto::ring::default_provider().install_default());
    let mut builder = Client::builder()
        .user_agent(concat!("rehearsal/", env!("CARGO_PKG_VERSION")))
        // A redirect could carry the headers to another host.
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        // Between two turns a server may close a connection, which must not cost the turn.
        .pool_max_idle_per_host(0)
        .tcp_nodelay(true);
    if is_loopback(url) {
        // A proxy is never the way to one's own machine.
        builder = builder.no_proxy();
    }
    builder.build().map_err(|error| HttpAgentError::Client { why: causes(error) })
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// What went wrong, with all its causes and without the address.
pub(crate) fn causes(error: reqwest::Error) -> String {
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
    why
}
