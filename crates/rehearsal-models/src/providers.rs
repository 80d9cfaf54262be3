//! The providers a program talks to, and what they share.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use rehearsal_agent::ModelError;
use rehearsal_core::{Clock, ModelCalls, SystemClock};
use reqwest::Url;

use crate::http::Client;
use crate::key::Key;
use crate::limit::Limiter;
use crate::plain;
use crate::provider::{Connection, Provider};
use crate::spec::check_base_url;
use crate::{Api, ModelSpec};

/// Where settings and keys come from: a name in, the value out.
///
/// Nothing in this crate reads the process's environment itself. A program hands in
/// `&|name| std::env::var(name).ok()`, a test whatever it likes.
pub type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

/// How providers are talked to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Where connections may go.
    pub network: Network,
    /// How many calls may be under way at once, for each model with one key. When its provider refuses some, there are
    /// fewer for a while: see [`Providers::calls`].
    pub concurrency: usize,
    /// How long to wait for what.
    pub timeouts: Timeouts,
    /// When and how often to ask again.
    pub retry: Retry,
}

impl Default for Options {
    /// Any address, 1,024 calls at once, 120 s for an answer, five attempts.
    fn default() -> Self {
        Self {
            network: Network::Allowed,
            concurrency: 1024,
            timeouts: Timeouts {
                connect: Duration::from_secs(10),
                response: Duration::from_mins(2),
                idle: Duration::from_mins(1),
            },
            retry: Retry {
                attempts: 5,
                first_wait: Duration::from_millis(500),
                longest_wait: Duration::from_mins(1),
            },
        }
    }
}

/// Where connections may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// Only to this machine. Models elsewhere cannot be connected to, so no test reaches one by accident.
    LoopbackOnly,
    /// Anywhere.
    Allowed,
}

/// How long to wait for what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// For a connection.
    pub connect: Duration,
    /// For a whole answer, or for a stream to begin, from when the call was let through to the provider.
    pub response: Duration,
    /// For the next piece of a stream.
    pub idle: Duration,
}

/// When and how often to ask again after an answer that may be different the next time
/// ([`ModelError::is_transient`]).
///
/// The wait doubles from one attempt to the next, and up to as much again is added so that calls that failed
/// together do not come back together. How much is derived from the turn: the same turn waits the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    /// How often to ask in all; one means never again.
    pub attempts: usize,
    /// The wait before the second attempt.
    pub first_wait: Duration,
    /// The longest wait. Where a provider asks for a longer one, its answer is final.
    pub longest_wait: Duration,
}

/// The providers a program talks to: one pool of connections, and one limit of calls for each model, however often it
/// is connected.
///
/// ```
/// use rehearsal_models::{Network, Options, Providers};
///
/// let providers = Providers::new(Options { network: Network::LoopbackOnly, ..Options::default() });
/// let local = "openai-compatible:qwen@http://127.0.0.1:8080/v1".parse()?;
/// let model = providers.connect(&local, &|_| None)?;
///
/// let far = "openai:gpt-4o".parse()?;
/// let error = providers.connect(&far, &|_| None).unwrap_err();
/// assert!(error.to_string().contains("only this machine"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Providers {
    shared: Arc<Shared>,
}

struct Shared {
    options: Options,
    clock: Arc<dyn Clock>,
    /// Without encryption, to this machine.
    plain: OnceLock<Result<Client, String>>,
    near: OnceLock<Result<Client, String>>,
    far: OnceLock<Result<Client, String>>,
    limits: Mutex<BTreeMap<Account, Arc<Limiter>>>,
}

/// Who asks.
pub(crate) const AGENT: &str = concat!("rehearsal/", env!("CARGO_PKG_VERSION"));

/// What a provider counts calls by: the model, as it is written, its address, and the key.
type Account = (String, String, Option<u64>);

impl Default for Providers {
    fn default() -> Self {
        Self::new(Options::default())
    }
}

impl fmt::Debug for Providers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Providers").field("options", &self.shared.options).finish_non_exhaustive()
    }
}

impl Providers {
    /// Providers that are talked to in this way.
    pub fn new(options: Options) -> Self {
        Self::with_clock(options, Arc::new(SystemClock))
    }

    /// The same with a clock of one's own; it tells how long it is until the date at which a provider wants to
    /// be asked again.
    pub fn with_clock(options: Options, clock: Arc<dyn Clock>) -> Self {
        let (plain, near, far) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        let limits = Mutex::default();
        Self { shared: Arc::new(Shared { options, clock, plain, near, far, limits }) }
    }

    /// A model, ready to be asked. Nothing is sent yet.
    ///
    /// # Errors
    /// The key is missing, or the address cannot be used or lies outside the network that is allowed.
    pub fn connect(&self, spec: &ModelSpec, environment: Environment<'_>) -> Result<Provider, ModelError> {
        let name: Arc<str> = spec.to_string().into();
        let unsupported = |why: String| ModelError::Unsupported { model: name.clone(), why };
        let base_url = base_url(spec, environment).map_err(unsupported)?;
        let is_near = is_loopback(&base_url);
        if self.shared.options.network == Network::LoopbackOnly && !is_near {
            return Err(unsupported(format!(
                "only this machine may be talked to, and {base_url} is elsewhere"
            )));
        }
        let key = if spec.may_be_sent_key(environment) {
            Key::find(spec.api(), environment).map_err(unsupported)?
        } else {
            None
        };
        let needs_key = spec.api() != Api::OpenAiCompatible && !is_near;
        if key.is_none() && needs_key {
            return Err(ModelError::MissingKey { model: name, variable: spec.key_hint() });
        }
        let connection = Connection {
            client: self.client(Reach::of(&base_url)).map_err(unsupported)?,
            limit: self.limit(&name, &base_url, key.as_ref()),
            options: self.shared.options.clone(),
            clock: self.shared.clock.clone(),
            base_url,
            key,
        };
        Ok(Provider::new(spec.clone(), name, connection))
    }

    /// How calls went so far, of each model that was connected, in the order of their names.
    pub fn calls(&self) -> Vec<ModelCalls> {
        let limits = self.shared.limits.lock().unwrap_or_else(PoisonError::into_inner);
        limits.values().map(|limit| limit.calls()).collect()
    }

    fn limit(&self, name: &str, base_url: &str, key: Option<&Key>) -> Arc<Limiter> {
        let most = self.shared.options.concurrency;
        let mut limits = self.shared.limits.lock().unwrap_or_else(PoisonError::into_inner);
        let account = (name.to_owned(), base_url.to_owned(), key.map(Key::fingerprint));
        let make = || Limiter::new(name.to_owned(), most);
        limits.entry(account).or_insert_with(make).clone()
    }

    fn client(&self, reach: Reach) -> Result<Client, String> {
        let place = match reach {
            Reach::Plain => &self.shared.plain,
            Reach::Near => &self.shared.near,
            Reach::Far => &self.shared.far,
        };
        place.get_or_init(|| build_client(&self.shared.options, reach)).clone()
    }
}

/// What a client has to be able to reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reach {
    /// This machine, without encryption.
    Plain,
    /// This machine.
    Near,
    /// Anything.
    Far,
}

impl Reach {
    fn of(base_url: &str) -> Self {
        match is_loopback(base_url) {
            true if base_url.starts_with("http://") => Self::Plain,
            true => Self::Near,
            false => Self::Far,
        }
    }
}

/// Connects to a model with the default [`Options`].
///
/// Programs that talk to more than one model use [`Providers`], so that the models share connections and limits.
///
/// # Errors
/// As [`Providers::connect`].
pub fn connect(spec: &ModelSpec, environment: Environment<'_>) -> Result<Provider, ModelError> {
    Providers::default().connect(spec, environment)
}

fn base_url(spec: &ModelSpec, environment: Environment<'_>) -> Result<String, String> {
    if let Some(url) = spec.base_url() {
        return Ok(url.to_owned());
    }
    let api = spec.api();
    let variable = api.base_url_variable().unwrap_or_default();
    let set =
        |name: &str| environment(name).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
    let base_url = match set(variable) {
        Some(url) => check_base_url(&url).map_err(|error| format!("{variable}: {error}"))?,
        None => api.default_base_url().to_owned(),
    };
    if api != Api::Gemini {
        return Ok(base_url);
    }
    // As Google's own SDK has it: the stable version, unless the environment names another.
    let version = match set("GOOGLE_GENAI_API_VERSION").as_deref() {
        None => "v1".to_owned(),
        Some("beta") => "v1beta".to_owned(),
        Some(version) if version.chars().all(|c| c.is_ascii_alphanumeric()) => version.to_owned(),
        Some(_) => {
            return Err("GOOGLE_GENAI_API_VERSION must be a version such as `v1` or `v1beta`".to_owned());
        }
    };
    Ok(format!("{base_url}/{version}"))
}

fn is_loopback(base_url: &str) -> bool {
    let Ok(url) = Url::parse(base_url) else { return false };
    match url.host_str() {
        Some(host) if host.eq_ignore_ascii_case("localhost") => true,
        Some(host) => {
            let address = host.trim_start_matches('[').trim_end_matches(']');
            address.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
        }
        None => false,
    }
}

fn build_client(options: &Options, reach: Reach) -> Result<Client, String> {
    // The result is an error where the program chose a provider of cryptography itself, which is fine too.
    drop(rustls::crypto::ring::default_provider().install_default());
    let mut builder = reqwest::Client::builder()
        .user_agent(AGENT)
        .connect_timeout(options.timeouts.connect)
        // A redirect could carry the key to another host.
        .redirect(reqwest::redirect::Policy::none())
        // Over HTTP/2 all calls to a host share one connection and wait for each other beyond the hundred or so
        // streams that it allows; a connection per call does not.
        .http1_only()
        .pool_max_idle_per_host(options.concurrency)
        .tcp_nodelay(true);
    if reach != Reach::Far {
        // A proxy is never the way to one's own machine.
        builder = builder.no_proxy();
    }
    if reach == Reach::Plain {
        // To read the certificates of the machine takes longer than a small run, and nobody asks for them here.
        builder = builder.tls_certs_only([]);
    }
    let web = builder.build().map_err(|error| format!("the HTTP client cannot be set up: {error}"))?;
    Ok(match reach {
        Reach::Plain => Client::Plain(plain::Client::new(options.timeouts.connect, options.concurrency), web),
        Reach::Near | Reach::Far => Client::Web(web),
    })
}
