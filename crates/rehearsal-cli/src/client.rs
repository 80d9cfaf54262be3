//! The HTTP client: asking a server that runs elsewhere.

use std::time::Duration;

use rehearsal_core::Ledger;
use reqwest::{Client, Method, StatusCode, Url};
use serde_json::Value;

use crate::error::{CommandError, with_causes};
use crate::{shelf, token};

/// How long a server may take to be reached, and to answer.
const CONNECT: Duration = Duration::from_secs(10);
const ANSWER: Duration = Duration::from_mins(5);

/// A server and the token it is shown.
pub(crate) struct Far {
    client: Client,
    address: Url,
    token: String,
}

impl Far {
    /// The server at this address.
    pub(crate) fn new(address: &str) -> Result<Self, CommandError> {
        let mut url = Url::parse(address).ok().filter(Url::has_host).ok_or_else(|| {
            let shown = without_secrets(address);
            CommandError::user(format_args!(
                "`{shown}` is no address of a server; write it like http://127.0.0.1:4200"
            ))
        })?;
        let own = url.query_pairs().find(|(name, _)| name == "token").map(|(_, token)| token.into_owned());
        url.set_query(None);
        url.set_fragment(None);
        // The token is all that a server is shown, and what is shown here holds no password. There is a host, so neither
        // can fail.
        let _cut = (url.set_username(""), url.set_password(None));
        let token = match own {
            Some(token) => token,
            None => token_for(&url)?,
        };
        // The result is an error where a provider of cryptography was chosen already, which is fine too.
        drop(rustls::crypto::ring::default_provider().install_default());
        let mut builder = Client::builder()
            .user_agent(concat!("rehearsal/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECT)
            .timeout(ANSWER)
            // A redirect could carry the token to another host.
            .redirect(reqwest::redirect::Policy::none());
        if is_here(&url) {
            // A proxy is never the way to one's own machine.
            builder = builder.no_proxy();
        }
        let client = builder.build().map_err(|error| {
            CommandError::setup(format_args!("the HTTP client cannot be set up: {error}"))
        })?;
        Ok(Self { client, address: url, token })
    }

    /// The ledger of a session, which may be given by the beginning of its id.
    pub(crate) async fn ledger(&self, session: &str) -> Result<Ledger, CommandError> {
        let id = self.session(session).await?;
        let text = self.get(&format!("v1/sessions/{id}/ledger"), &[]).await?;
        Ledger::from_jsonl(&text).map_err(|error| {
            CommandError::setup(with_causes(&error)).about(format_args!("{} sent no ledger", self.address))
        })
    }

    async fn session(&self, session: &str) -> Result<String, CommandError> {
        const WHOLE: usize = 36;
        let id = shelf::beginning(session, "session")?;
        if id.len() == WHOLE {
            return Ok(id);
        }
        let text = self.get("v1/sessions", &[("q", &id), ("page_size", "1000")]).await?;
        let found: Value = rehearsal_core::json::from_str(&text).map_err(|error| {
            CommandError::setup(format_args!("{} sent no list of sessions: {error}", self.address))
        })?;
        let sessions = found["sessions"].as_array().cloned().unwrap_or_default();
        let ids = sessions.iter().filter_map(|session| session["id"].as_str());
        let fits = ids.filter(|own| own.starts_with(&id)).map(str::to_owned).collect();
        shelf::only(&id, fits, "session", "GET /v1/sessions lists them")
    }

    /// Completes a session, which may be given by the beginning of its id.
    pub(crate) async fn complete(&self, session: &str) -> Result<(), CommandError> {
        let id = self.session(session).await?;
        self.call(Method::POST, &format!("v1/sessions/{id}/complete"), &[]).await.map(drop)
    }

    async fn get(&self, path: &str, query: &[(&str, &str)]) -> Result<String, CommandError> {
        self.call(Method::GET, path, query).await
    }

    async fn call(&self, method: Method, path: &str, query: &[(&str, &str)]) -> Result<String, CommandError> {
        let mut url = self.address.clone();
        url.set_path(&format!("{}/{path}", self.address.path().trim_end_matches('/')));
        url.query_pairs_mut().extend_pairs(query);
        let failed = |error: reqwest::Error| {
            CommandError::setup(with_causes(&error))
                .about(format_args!("{} cannot be asked", self.address))
                .hint("is `rehearse serve` running there?")
        };
        let answer =
            self.client.request(method, url).bearer_auth(&self.token).send().await.map_err(failed)?;
        let status = answer.status();
        let text = answer.text().await.map_err(failed)?;
        if status.is_success() {
            return Ok(text);
        }
        let problem: Value = rehearsal_core::json::from_str(&text).unwrap_or_default();
        let detail = problem["detail"].as_str().unwrap_or("it did not say why");
        let another =
            (status == StatusCode::UNAUTHORIZED).then_some("the token is another than the server's");
        Err(CommandError::user(format_args!("{} refused ({status}): {detail}", self.address)).hints(another))
    }
}

/// The token for a server: given, or kept by a server that was started in this folder. That one is for this machine: to
/// other machines nothing is sent that nobody gave.
fn token_for(url: &Url) -> Result<String, CommandError> {
    if let Some(given) = token::given(None)? {
        return Ok(given.text);
    }
    let of_folder = token::of_folder().ok_or("call this in the folder in which the server was started");
    let of_folder = if is_here(url) {
        of_folder
    } else {
        Err("`.rehearsal/token` is sent to servers on this machine only")
    };
    of_folder.map_err(|why| {
        CommandError::user(format_args!("there is no token for {url}")).hint(format_args!(
            "set {}, or write the address with `?token=…` as `rehearse serve` printed it; {why}",
            token::VARIABLE
        ))
    })
}

/// An address that cannot be read, without what may be a token or a password in it.
fn without_secrets(address: &str) -> &str {
    let place = address.split(['?', '#']).next().unwrap_or_default();
    place.rsplit_once('@').map_or(place, |(_, host)| host)
}

fn is_here(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || address.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}
