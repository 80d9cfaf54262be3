//! What a browser sees that has not shown the token: where to find it, and a place for it.
//!
//! One page without a script, since nothing else of this server is given to those who are not let in.

use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::response::{Html, IntoResponse, Response};

/// It may show itself and send what was typed to this server. Nothing in it comes from elsewhere.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'self'; \
    frame-ancestors 'none'";

const STYLE: &str = include_str!("locked.css");

/// The page for whoever asked for this address without the token, or with another one.
pub(super) fn locked(asked: &Uri) -> Response {
    let mut response = (StatusCode::UNAUTHORIZED, Html(page(asked))).into_response();
    guard(response.headers_mut());
    response
}

fn guard(headers: &mut HeaderMap) {
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
}

fn page(asked: &Uri) -> String {
    let pairs = || asked.query().unwrap_or("").split('&').filter_map(|pair| pair.split_once('='));
    let is_wrong = pairs().any(|(name, value)| name == "token" && !value.is_empty());
    // What else the address says comes along, where it is made of letters that mean the same everywhere.
    let rest: Vec<String> = pairs()
        .filter(|(name, value)| *name != "token" && is_plain(name) && is_plain(value))
        .map(|(name, value)| format!("<input type=\"hidden\" name=\"{name}\" value=\"{value}\">"))
        .collect();
    let rest = rest.concat();
    let (title, wrong, invalid) = if is_wrong {
        let wrong = "<p class=\"wrong\" id=\"wrong\" role=\"alert\"><strong>This is not the token of this server.</strong> It may \
            be that of another one, or not all of it.</p>";
        ("Wrong token", wrong, " aria-invalid=\"true\" aria-describedby=\"wrong where\"")
    } else {
        ("Locked", "", " aria-describedby=\"where\"")
    };
    format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title} · Rehearsal</title>\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <meta name=\"color-scheme\" content=\"light dark\"><style>{STYLE}</style></head><body><main>\
         <h1>Rehearsal is locked</h1>{wrong}<form method=\"get\">{rest}\
         <label for=\"token\">Token</label>\
         <input id=\"token\" name=\"token\" required autofocus autocomplete=\"off\" spellcheck=\"false\"{invalid}>\
         <p id=\"where\"><code>rehearse serve</code> prints the address with the token when it starts for the first time. \
         Later the token is in the file <code>.rehearsal/token</code> of the folder in which it was started.</p>\
         <button type=\"submit\">Unlock</button></form></main></body></html>"
    )
}

fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.,".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(address: &str) -> String {
        page(&address.parse().expect("an address"))
    }

    #[test]
    fn a_wrong_token_is_told_from_none() {
        for none in ["/", "/runs?token=", "/?tokens=x"] {
            assert!(!told(none).contains("not the token"), "{none}");
        }
        let wrong = told("/?token=zebra-7");
        assert!(wrong.contains("not the token of this server") && wrong.contains("aria-invalid"), "{wrong}");
        assert!(!wrong.contains("zebra-7"), "what was typed is not shown to others");
    }

    #[test]
    fn the_rest_of_the_address_comes_along_and_is_no_code() {
        let page = told("/runs/compare?a=1-2&token=x&b=%22%3E%3Cscript%3E");
        assert!(page.contains("name=\"a\" value=\"1-2\""), "{page}");
        assert!(!page.contains("script") && !page.contains("name=\"b\""), "{page}");
    }
}
