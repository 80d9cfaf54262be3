//! Authentication, and the checks of host and origin: who may call at all.

use std::net::IpAddr;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::visit::{self, Visits};
use super::{locked, page, reply};
use crate::lobby::Guest;
use crate::metrics::Metrics;
use crate::problem::{Class, Kind, Problem};

/// The cookie with a browser's visit, followed by the port: cookies do not tell ports apart, and two servers of one
/// machine have visits of their own.
const COOKIE: &str = "rehearsal_visit";
/// Ends the visit of the browser that calls it.
pub(super) const LOCK: &str = "/v1/lock";

/// Who may come in through one port.
#[derive(Debug)]
pub(crate) struct Door {
    /// What callers must show, the token or a visit; nothing on the port for the published plugin, which shows nothing.
    pub(crate) lock: Option<(String, Visits)>,
    /// Names under which this server is called, besides those of loopback.
    pub(crate) names: Vec<String>,
    /// Whether any address in numbers will do as a name: for servers that listen on more than loopback. Another
    /// site's page can lead a browser here under a name of its own, but not under a number.
    pub(crate) numbers: bool,
}

/// Lets those in who may come in.
pub(crate) async fn pass(
    State((door, metrics)): State<(Arc<Door>, Metrics)>,
    request: Request,
    next: Next,
) -> Response {
    let checked = door.check(&request);
    let is_call = request.uri().path().starts_with("/v1/");
    if !matches!(checked, Ok(Entrance::Unasked) | Err(_))
        && let Some(guest) = request.extensions().get::<Arc<Guest>>()
    {
        guest.is_known();
    }
    let mut response = match checked {
        Ok(Entrance::Open | Entrance::Unasked) => next.run(request).await,
        Ok(Entrance::Swap(cookie)) => swap(&cookie, request.uri()),
        Ok(Entrance::Leave(cookie)) => {
            let mut response = StatusCode::NO_CONTENT.into_response();
            set_cookie(&mut response, &format!("{cookie}=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0"));
            response
        }
        Err(problem) => {
            metrics.refused.inc();
            refuse(problem, &request)
        }
    };
    reply::guard(response.headers_mut(), is_call);
    response
}

fn refuse(problem: Problem, request: &Request) -> Response {
    if problem.class == Class::Unauthorized && is_browser(request) {
        return locked::locked(request.uri());
    }
    if is_grpc(request.headers()) {
        let status = match problem.class {
            Class::Unauthorized => tonic::Status::unauthenticated(problem.detail),
            _ => tonic::Status::permission_denied(problem.detail),
        };
        return status.into_http::<Body>();
    }
    problem.into_response()
}

enum Entrance {
    Open,
    /// Anybody may have this.
    Unasked,
    /// A browser came with the token in the address: it gets a visit, and an address without the token.
    Swap(String),
    /// A browser's visit, in the cookie of this name, is over.
    Leave(String),
}

impl Door {
    fn check(&self, request: &Request) -> Result<Entrance, Problem> {
        let host = host(request)?;
        if !self.knows(name_of(&host)) {
            let detail = format!(
                "this server is not called `{}`; call it by 127.0.0.1 or localhost, or start it with --allow-host",
                crate::ids::clip(&host)
            );
            return Err(Problem::new(Class::Forbidden, Kind::UnknownHost, detail));
        }
        check_origin(request.headers(), &host)?;
        let path = request.uri().path();
        let Some((token, visits)) = &self.lock else { return Ok(Entrance::Open) };
        if matches!(path, "/healthz" | "/readyz") {
            return Ok(Entrance::Unasked);
        }
        let name = cookie_name(&host);
        if page::is_entrance(path)
            && let Some(shown) = token_in(request.uri())
            && same(shown, token)
        {
            return Ok(Entrance::Swap(format!("{name}={}", visits.begin(&name))));
        }
        let (bearer, visit) = (bearer(request.headers()), cookie(request.headers(), &name));
        let visit = visit.filter(|visit| visits.knows(visit, &name));
        let welcome = match bearer {
            Some(bearer) => same(bearer, token),
            None => visit.is_some(),
        };
        if welcome && path == LOCK && request.method() == Method::POST {
            if let Some(visit) = visit {
                visits.end(visit, &name);
            }
            return Ok(Entrance::Leave(name));
        }
        if welcome {
            return Ok(Entrance::Open);
        }
        let detail = if bearer.is_some() {
            "`Authorization: Bearer` has another token than this server's; it may be that of another one. Its own is in the file \
             `.rehearsal/token` of the folder in which it was started, unless it was given one (--token-file, REHEARSAL_TOKEN)"
        } else {
            "show the token: `Authorization: Bearer TOKEN`. It is in the file `.rehearsal/token` of the folder in which \
             the server was started, unless it was given one (--token-file, REHEARSAL_TOKEN)"
        };
        Err(Problem::new(Class::Unauthorized, Kind::Unauthorized, detail))
    }

    fn knows(&self, name: &str) -> bool {
        let bare = name.trim_start_matches('[').trim_end_matches(']');
        let number = bare.parse::<IpAddr>().ok();
        name.eq_ignore_ascii_case("localhost")
            || number.is_some_and(|number| number.is_loopback() || self.numbers)
            || self.names.iter().any(|known| known.eq_ignore_ascii_case(name))
    }
}

/// A browser says which site a call comes from. It must be ours.
fn check_origin(headers: &HeaderMap, host: &str) -> Result<(), Problem> {
    let Some(origin) = headers.get(header::ORIGIN) else { return Ok(()) };
    let origin = origin.to_str().unwrap_or("null");
    let from = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    if from.is_some_and(|from| from.eq_ignore_ascii_case(host)) {
        return Ok(());
    }
    let detail = format!("calls from the site `{}` are not taken", crate::ids::clip(origin));
    Err(Problem::new(Class::Forbidden, Kind::ForeignOrigin, detail))
}

/// The name the caller used: the Host header, or the authority of HTTP/2.
fn host(request: &Request) -> Result<String, Problem> {
    // Of two names, whoever stands before this server may have gone by the other one.
    if request.headers().get_all(header::HOST).iter().count() > 1 {
        let detail = "the call says twice which host it is for; send one Host header";
        return Err(Problem::new(Class::Malformed, Kind::TwoHosts, detail));
    }
    let named = match request.headers().get(header::HOST) {
        Some(host) => host.to_str().ok(),
        None => request.uri().authority().map(axum::http::uri::Authority::as_str),
    };
    let missing =
        || Problem::new(Class::Forbidden, Kind::UnknownHost, "the call does not say which host it is for");
    named.map(str::to_owned).ok_or_else(missing)
}

/// The name without the port.
fn name_of(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) && !name.ends_with(':') => name,
        _ => host,
    }
}

fn token_in(uri: &Uri) -> Option<&str> {
    uri.query()?.split('&').find_map(|pair| pair.strip_prefix("token="))
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("Bearer").then(|| token.trim())
}

fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|cookies| cookies.to_str().ok());
    cookies.flat_map(|cookies| cookies.split(';')).find_map(|cookie| {
        let (found, value) = cookie.trim().split_once('=')?;
        (found == name).then_some(value)
    })
}

fn cookie_name(host: &str) -> String {
    let port = host.strip_prefix(name_of(host)).and_then(|rest| rest.strip_prefix(':'));
    port.map_or(COOKIE.to_owned(), |port| format!("{COOKIE}_{port}"))
}

/// Whether somebody opens a room of the page in a browser, rather than a program making a call.
fn is_browser(request: &Request) -> bool {
    let accepts = request.headers().get(header::ACCEPT).and_then(|accepts| accepts.to_str().ok());
    request.method() == Method::GET
        && page::is_entrance(request.uri().path())
        && accepts.is_some_and(|accepts| accepts.contains("text/html"))
}

/// Compares without telling by the time it takes where two texts differ.
fn same(shown: &str, token: &str) -> bool {
    let differences = shown.bytes().zip(token.bytes()).fold(0, |seen, (a, b)| seen | (a ^ b));
    shown.len() == token.len() && differences == 0
}

fn is_grpc(headers: &HeaderMap) -> bool {
    headers.get(header::CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"application/grpc"))
}

fn swap(cookie: &str, asked: &Uri) -> Response {
    let mut response = StatusCode::SEE_OTHER.into_response();
    let headers = response.headers_mut();
    let place = without_token(asked);
    headers.insert(header::LOCATION, HeaderValue::from_str(&place).unwrap_or(HeaderValue::from_static("/")));
    // The address with the token is not passed on to other sites, and neither it nor the visit is kept.
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    let length = visit::LENGTH.as_secs();
    set_cookie(&mut response, &format!("{cookie}; HttpOnly; SameSite=Strict; Path=/; Max-Age={length}"));
    response
}

fn set_cookie(response: &mut Response, cookie: &str) {
    if let Ok(cookie) = HeaderValue::from_str(cookie) {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
}

/// The same room of this server, without the token.
fn without_token(uri: &Uri) -> String {
    let rest =
        uri.query().unwrap_or("").split('&').filter(|pair| !pair.starts_with("token=") && !pair.is_empty());
    let rest = rest.collect::<Vec<_>>().join("&");
    // A path that begins with two slashes would lead to another server.
    let path = format!("/{}", uri.path().trim_start_matches('/'));
    if rest.is_empty() { path } else { format!("{path}?{rest}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn door() -> Door {
        Door { lock: None, names: vec!["rehearsal.test".to_owned()], numbers: false }
    }

    #[test]
    fn only_our_own_names_open_the_door() {
        for name in ["localhost", "LOCALHOST", "127.0.0.1", "127.8.8.8", "[::1]", "rehearsal.test"] {
            assert!(door().knows(name), "{name}");
        }
        for name in ["evil.test", "localhost.evil.test", "10.0.0.1", ""] {
            assert!(!door().knows(name), "{name}");
        }
    }

    #[test]
    fn a_token_in_an_address_is_taken_out_of_it() {
        let left = |address: &str| without_token(&address.parse::<Uri>().expect("an address"));
        assert_eq!(left("/?token=secret"), "/");
        assert_eq!(left("/runs/compare?a=1&token=secret&b=2"), "/runs/compare?a=1&b=2");
        assert_eq!(left("http://localhost//evil.test/?token=secret"), "/evil.test/");
    }

    #[test]
    fn each_port_has_its_own_cookie() {
        assert_eq!(cookie_name("localhost:4200"), "rehearsal_visit_4200");
        assert_eq!(cookie_name("[::1]:4201"), "rehearsal_visit_4201");
        assert_eq!(cookie_name("rehearsal.test"), "rehearsal_visit");
    }

    #[test]
    fn ports_are_no_part_of_a_name() {
        assert_eq!(name_of("localhost:4200"), "localhost");
        assert_eq!(name_of("[::1]:4200"), "[::1]");
        assert_eq!(name_of("[::1]"), "[::1]");
        assert_eq!(name_of("localhost"), "localhost");
    }

    #[test]
    fn tokens_are_compared_whole() {
        assert!(same("secret", "secret"));
        for shown in ["", "secre", "secrets", "Secret"] {
            assert!(!same(shown, "secret"), "{shown}");
        }
    }
}
