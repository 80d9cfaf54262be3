//! A model of a provider.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use backon::{ExponentialBuilder, Retryable};
use futures::stream::{self, BoxStream, StreamExt, TryStreamExt};
use rehearsal_agent::{Model, ModelCall, ModelChunk, ModelError};
use rehearsal_core::{Chance, Clock, ModelResponse, TurnId};

use crate::http::{self, Address, Client, Reply};
use crate::key::Key;
use crate::limit::{Limiter, Permit};
use crate::protocol::{Assembler, Form, Protocol};
use crate::wire::{Delta, WireError};
use crate::{ModelSpec, Options};

/// The status of an answer that refuses a call because there are too many.
const TOO_MANY: u16 = 429;
/// The same of a provider that has too much to do.
const OVERLOADED: u16 = 529;
/// The status of a provider that is away for a moment, and may say for how long.
const UNAVAILABLE: u16 = 503;

/// A model of a provider, called over HTTP.
///
/// It answers or says why not, and keeps nothing between calls. Calls wait until the model has a place free, are given
/// up after a time, and are repeated where that may help; see [`Options`].
#[derive(Clone)]
pub struct Provider {
    spec: ModelSpec,
    name: Arc<str>,
    protocol: Protocol,
    connection: Arc<Connection>,
    /// Where whole answers are asked for, once it was worked out.
    address: Arc<OnceLock<Arc<Address>>>,
}

/// How a provider is reached.
pub(crate) struct Connection {
    pub(crate) client: Client,
    pub(crate) limit: Arc<Limiter>,
    pub(crate) options: Options,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) base_url: String,
    pub(crate) key: Option<Key>,
}

impl fmt::Debug for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Provider").field(&self.name).finish()
    }
}

#[async_trait]
impl Model for Provider {
    fn name(&self) -> Arc<str> {
        self.name.clone()
    }

    fn model_id(&self) -> &str {
        self.spec.model()
    }

    fn known_as(&self, name: &str) {
        self.connection.limit.known_as(name);
    }

    fn limit_calls(&self, most: usize) {
        self.connection.limit.at_most(most);
    }

    async fn respond(&self, call: &ModelCall) -> Result<ModelResponse, ModelError> {
        let request = self.request(call, Form::Whole)?;
        let limit = self.connection.options.timeouts.response;
        let attempt = || async {
            call.metering.again().await?;
            let mut permit = self.connection.limit.permit().await;
            let answer = self.in_time(limit, self.fetch(&request, &mut permit)).await;
            if answer.is_ok() {
                permit.answered();
            }
            let is_free = permit.is_free();
            drop(permit);
            let answer = answer.and_then(|answer| self.read(&answer));
            if answer.is_err() && !is_free {
                call.metering.lost();
            }
            answer
        };
        self.repeating(&call.turn, attempt).await.map_err(|error| self.without_key(error))
    }

    async fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f64>>, ModelError> {
        self.embeddings(texts).await.map_err(|error| self.without_key(error))
    }

    fn stream<'a>(&'a self, call: &'a ModelCall) -> BoxStream<'a, Result<ModelChunk, ModelError>> {
        stream::once(self.open(call)).try_flatten().map_err(|error| self.without_key(error)).boxed()
    }
}

impl Provider {
    pub(crate) fn new(spec: ModelSpec, name: Arc<str>, connection: Connection) -> Self {
        let protocol = Protocol::of(spec.api(), &connection.base_url);
        Self { spec, name, protocol, connection: Arc::new(connection), address: Arc::default() }
    }

    /// The model that is meant.
    pub fn spec(&self) -> &ModelSpec {
        &self.spec
    }

    fn request(&self, call: &ModelCall, form: Form) -> Result<http::Request, ModelError> {
        // A request may name the model its agent was built with; whoever is cast answers as itself.
        let model = self.spec.model();
        let address = self.address(form)?;
        let (body, header) =
            self.protocol.write(&call.request, model, form).map_err(|error| error.of_model(&self.name))?;
        let key = self.connection.key.as_ref().map(Key::header);
        Ok(http::Request { address, body: body.into(), header, key })
    }

    fn address(&self, form: Form) -> Result<Arc<Address>, ModelError> {
        if let Some(address) = self.address.get().filter(|_| form == Form::Whole) {
            return Ok(address.clone());
        }
        let unsupported = |why| ModelError::Unsupported { model: self.name.clone(), why };
        let url = self.protocol.url(&self.connection.base_url, self.spec.model(), form);
        let address: Arc<Address> = Arc::new(url.map_err(unsupported)?.into());
        if form == Form::Whole {
            self.address.get_or_init(|| address.clone());
        }
        Ok(address)
    }

    pub(crate) fn base_url(&self) -> &str {
        &self.connection.base_url
    }

    pub(crate) fn key(&self) -> Option<&Key> {
        self.connection.key.as_ref()
    }

    /// Sends a request as often as that may help, and gives the text of the answer.
    pub(crate) async fn post(&self, turn: &TurnId, request: &http::Request) -> Result<String, ModelError> {
        let limit = self.connection.options.timeouts.response;
        let attempt = || async {
            let mut permit = self.connection.limit.permit().await;
            let answer = self.in_time(limit, self.fetch(request, &mut permit)).await?;
            permit.answered();
            Ok(answer)
        };
        self.repeating(turn, attempt).await
    }

    /// Begins a stream; only this is repeated, since pieces that were shown cannot be taken back.
    async fn open<'a>(
        &'a self,
        call: &'a ModelCall,
    ) -> Result<BoxStream<'a, Result<ModelChunk, ModelError>>, ModelError> {
        let request = self.request(call, Form::Stream)?;
        let timeouts = self.connection.options.timeouts;
        let attempt = || async {
            let mut permit = self.connection.limit.permit().await;
            let reply = self.in_time(timeouts.response, self.send(&request, &mut permit)).await?;
            permit.answered();
            Ok((reply, permit))
        };
        let (reply, permit) = self.repeating(&call.turn, attempt).await?;
        if reply.is_json() {
            // The server does not stream; its whole answer will do.
            let answer = self.in_time(timeouts.response, self.text(reply)).await?;
            let response = self.read(&answer)?;
            return Ok(stream::once(async { Ok(ModelChunk::Done(response)) }).boxed());
        }
        let reading = Reading {
            provider: self,
            events: reply.events(),
            assembler: Some(self.protocol.assembler()),
            ready: VecDeque::new(),
            _permit: permit,
        };
        let pieces = stream::try_unfold(reading, |mut reading| async move {
            Ok(reading.next().await?.map(|piece| (piece, reading)))
        });
        Ok(pieces.boxed())
    }

    async fn fetch(&self, request: &http::Request, permit: &mut Permit) -> Result<String, ModelError> {
        let reply = self.send(request, permit).await?;
        self.text(reply).await
    }

    async fn send(&self, request: &http::Request, permit: &mut Permit) -> Result<Reply, ModelError> {
        let connection = &*self.connection;
        let reply = http::send(&connection.client, request).await.map_err(|fault| {
            if matches!(fault, http::Fault::ConnectTimeout | http::Fault::Unreached(_)) {
                permit.free();
            }
            self.fault(fault)
        })?;
        let status = reply.status();
        self.heed(&reply, permit);
        if (200..300).contains(&status) {
            return Ok(reply);
        }
        permit.free();
        let asked = reply.retry_after_ms(connection.clock.as_ref());
        // What the provider says is a help; that it says no is certain.
        // The key goes before anything is cut off, since half of a key would not be found any more.
        let body = self.answer_without_key(reply.text().await.unwrap_or_default());
        if status == 401 && connection.key.is_none() {
            let variable = self.spec.key_hint();
            return Err(ModelError::MissingKey { model: self.name.clone(), variable });
        }
        let mut error = self.protocol.read_error(status, &body).of_model(&self.name);
        if let ModelError::Status { retry_after_ms, .. } = &mut error {
            *retry_after_ms = asked.or(*retry_after_ms);
        }
        Err(error)
    }

    /// Takes in what the provider says about how often it may be asked.
    fn heed(&self, reply: &Reply, permit: &mut Permit) {
        let (connection, status) = (&*self.connection, reply.status());
        let is_too_many = matches!(status, TOO_MANY | OVERLOADED);
        if is_too_many {
            permit.refused();
        }
        let clock = connection.clock.as_ref();
        let said = if is_too_many || status == UNAVAILABLE { reply.retry_after_ms(clock) } else { None };
        let wait = said.map(Duration::from_millis).or_else(|| reply.exhausted(clock));
        // Where it wants a longer one, the answer is final, and others find out by themselves.
        if let Some(wait) = wait.filter(|wait| *wait <= connection.options.retry.longest_wait) {
            permit.pause(wait);
        }
    }

    async fn text(&self, reply: Reply) -> Result<String, ModelError> {
        let text = reply.text().await.map_err(|fault| self.fault(fault))?;
        Ok(self.answer_without_key(text))
    }

    fn read(&self, answer: &str) -> Result<ModelResponse, ModelError> {
        self.clean(self.protocol.read(answer))
    }

    /// What was read, without the key.
    fn clean(&self, read: Result<ModelResponse, WireError>) -> Result<ModelResponse, ModelError> {
        let mut response = read.map_err(|error| error.of_model(&self.name))?;
        if let Some(key) = &self.connection.key {
            key.remove_from_response(&mut response);
        }
        Ok(response)
    }

    fn answer_without_key(&self, text: String) -> String {
        match &self.connection.key {
            Some(key) => key.remove_from_answer(text),
            None => text,
        }
    }

    async fn in_time<T>(
        &self,
        limit: Duration,
        work: impl Future<Output = Result<T, ModelError>>,
    ) -> Result<T, ModelError> {
        tokio::time::timeout(limit, work).await.unwrap_or_else(|_| Err(self.timeout(limit)))
    }

    async fn repeating<T, F>(&self, turn: &TurnId, mut attempt: impl FnMut() -> F) -> Result<T, ModelError>
    where
        F: Future<Output = Result<T, ModelError>>,
    {
        let retry = self.connection.options.retry;
        let (mut attempts, began) = (0, self.connection.clock.monotonic());
        let attempt = || {
            attempts += 1;
            attempt()
        };
        let waits = ExponentialBuilder::new()
            .with_min_delay(retry.first_wait)
            .with_max_delay(retry.longest_wait)
            .with_max_times(retry.attempts.saturating_sub(1))
            .with_jitter()
            .with_jitter_seed(Chance::seeded(0).number(turn.as_str(), 0));
        let adjust = |error: &ModelError, wait: Option<Duration>| {
            let wait = wait?.min(retry.longest_wait);
            match error {
                ModelError::Status { retry_after_ms: Some(millis), .. } => {
                    let asked = Duration::from_millis(*millis);
                    (asked <= retry.longest_wait).then_some(asked.max(wait))
                }
                _ => Some(wait),
            }
        };
        let asked =
            attempt.retry(waits).sleep(tokio::time::sleep).when(ModelError::is_transient).adjust(adjust);
        let answer = asked.await;
        let millis = u64::try_from(self.connection.clock.since(began).as_millis()).unwrap_or(u64::MAX);
        match answer {
            Err(last) if attempts > 1 => Err(ModelError::Repeated { last: Box::new(last), attempts, millis }),
            answer => answer,
        }
    }

    fn timeout(&self, limit: Duration) -> ModelError {
        let millis = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
        ModelError::Timeout { model: self.name.clone(), millis }
    }

    fn fault(&self, fault: http::Fault) -> ModelError {
        let model = self.name.clone();
        match fault {
            http::Fault::ConnectTimeout => self.timeout(self.connection.options.timeouts.connect),
            http::Fault::Transport(why) | http::Fault::Unreached(why) => ModelError::Transport { model, why },
            http::Fault::Malformed(why) => ModelError::Malformed { model, why },
        }
    }

    /// The error without the key, wherever a server may have repeated it.
    fn without_key(&self, mut error: ModelError) -> ModelError {
        let Some(key) = &self.connection.key else { return error };
        if let Some(words) = error.words_mut() {
            *words = key.remove_from_error(words);
        }
        error
    }
}

/// A stream that is being read.
struct Reading<'a> {
    provider: &'a Provider,
    events: BoxStream<'static, Result<String, http::Fault>>,
    assembler: Option<Assembler>,
    ready: VecDeque<ModelChunk>,
    _permit: Permit,
}

impl Reading<'_> {
    /// The next piece; nothing after the last.
    async fn next(&mut self) -> Result<Option<ModelChunk>, ModelError> {
        let provider = self.provider;
        let idle = provider.connection.options.timeouts.idle;
        loop {
            if let Some(piece) = self.ready.pop_front() {
                return Ok(Some(piece));
            }
            let Some(assembler) = &mut self.assembler else { return Ok(None) };
            let event = tokio::time::timeout(idle, self.events.next()).await;
            let event = event.map_err(|_| provider.timeout(idle))?;
            let is_last = match event {
                None => true,
                Some(Err(fault)) => return Err(provider.fault(fault)),
                Some(Ok(data)) => {
                    let data = provider.answer_without_key(data);
                    let said = assembler.push(&data).map_err(|error| error.of_model(&provider.name))?;
                    self.ready.extend(said.into_iter().map(|delta| match delta {
                        Delta::Text(text) => ModelChunk::Text(text),
                        Delta::Thought(text) => ModelChunk::Thought(text),
                    }));
                    assembler.has_ended()
                }
            };
            if is_last && let Some(assembler) = self.assembler.take() {
                let response = provider.clean(assembler.finish())?;
                self.ready.push_back(ModelChunk::Done(response));
            }
        }
    }
}
