//! The page: files that are embedded, and what browsers may do with them.

use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Redirect, Response};
use rehearsal_web::Asset;

use super::reply;

/// What the page may do: run its own script and style sheet, and talk to this server. Nothing is evaluated, nothing is
/// fetched from elsewhere (pictures and sounds are data of the ledger), and no other page can hold it in a frame.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
    media-src data:; font-src 'self'; connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Whether a path is one of the page's rooms: the page itself is given, and finds its way by the address.
pub(super) fn is_room(path: &str) -> bool {
    matches!(path, "/" | "/start" | "/runs") || path.starts_with("/sessions/") || path.starts_with("/runs/")
}

/// Whether a browser comes here to see the page: one of its rooms, or the address that the published plugin prints for
/// one.
pub(super) fn is_entrance(path: &str) -> bool {
    is_room(path) || path.starts_with(PUBLISHED_ROOM)
}

/// The published plugin prints this before a session's id.
const PUBLISHED_ROOM: &str = "/session/";

/// Gives the page for its rooms, its files by their names, and a problem for what there is not.
pub(super) async fn serve(uri: Uri, headers: HeaderMap) -> Response {
    let path = uri.path();
    if is_room(path) {
        return answer(rehearsal_web::index(), &headers);
    }
    if let Some(session) = path.strip_prefix(PUBLISHED_ROOM) {
        return Redirect::permanent(&format!("/sessions/{session}")).into_response();
    }
    match rehearsal_web::asset(path) {
        Some(asset) => answer(asset, &headers),
        // The page says it in words; programs get a problem.
        None if takes_html(&headers) && !path.starts_with("/v1/") => {
            let mut response = answer(rehearsal_web::index(), &HeaderMap::new());
            *response.status_mut() = StatusCode::NOT_FOUND;
            response
        }
        None => reply::no_such_call(uri).await.into_response(),
    }
}

fn takes_html(headers: &HeaderMap) -> bool {
    headers
        .get(header::ACCEPT)
        .and_then(|value| value.to_str().ok())
        .is_some_and(|types| types.contains("text/html"))
}

fn answer(asset: &'static Asset, asked: &HeaderMap) -> Response {
    let tag = format!("\"{}\"", asset.tag);
    let known = asked.get(header::IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == tag.as_bytes());
    let packed = asset.gzip.filter(|_| takes_gzip(asked));
    let mut response = if known {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        packed.unwrap_or(asset.bytes).into_response()
    };
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(asset.mime));
    headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    if packed.is_some() && !known {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    let kept = if asset.is_named_by_content() { "private, max-age=31536000, immutable" } else { "no-cache" };
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(kept));
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        headers.insert(header::ETAG, tag);
    }
    guard(headers);
    response
}

fn guard(headers: &mut HeaderMap) {
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
}

fn takes_gzip(headers: &HeaderMap) -> bool {
    let accepted = headers.get(header::ACCEPT_ENCODING).and_then(|value| value.to_str().ok()).unwrap_or("");
    accepted.split(',').any(|each| {
        let mut words = each.split(';').map(str::trim);
        words.next().is_some_and(|name| name.eq_ignore_ascii_case("gzip")) && words.all(|word| word != "q=0")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compressed_files_are_for_those_who_take_them() {
        let takes = |value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static(value));
            takes_gzip(&headers)
        };
        for yes in ["gzip", "deflate, gzip", "br, GZIP;q=0.5"] {
            assert!(takes(yes), "{yes}");
        }
        for no in ["", "br", "gzip;q=0", "xgzip"] {
            assert!(!takes(no), "{no}");
        }
    }

    #[test]
    fn rooms_are_addresses_of_the_page() {
        for room in ["/", "/start", "/sessions/1", "/runs", "/runs/1/cases/2", "/runs/compare"] {
            assert!(is_room(room), "{room}");
        }
        for other in ["/v1/runs", "/assets/x.js", "/metrics", "/sessions", "/startx"] {
            assert!(!is_room(other), "{other}");
        }
    }
}
