//! Replies: problems, and JSON.

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::{Map, Value, json};
use utoipa::openapi::{ContentBuilder, Ref, RefOr, ResponseBuilder};

use crate::problem::{Class, Kind, Problem};

/// A reply of JSON.
#[derive(Debug)]
pub(super) struct Json<T>(pub(super) T);

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        match rehearsal_core::json::to_vec(&self.0) {
            Ok(body) => ([(header::CONTENT_TYPE, "application/json")], body).into_response(),
            Err(error) => {
                tracing::error!("a reply cannot be written: {error}");
                StatusCode::INTERNAL_SERVER_ERROR.into_response()
            }
        }
    }
}

/// A reply of JSON that takes a while to make: made and written where nobody else waits.
pub(super) async fn made<T: Serialize>(
    make: impl FnOnce() -> Result<T, Problem> + Send + 'static,
) -> Result<Response, Problem> {
    let work = move || make().map(|reply| rehearsal_core::json::to_vec(&reply));
    let outcome = tokio::task::spawn_blocking(work).await;
    let failed = |error: &dyn std::fmt::Display| {
        Problem::new(Class::Internal, Kind::Internal, format!("the reply cannot be written: {error}"))
    };
    let body = outcome.map_err(|error| failed(&error))??.map_err(|error| failed(&error))?;
    Ok(([(header::CONTENT_TYPE, "application/json")], body).into_response())
}

/// How problems are written.
const PROBLEM_JSON: &str = "application/problem+json";

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.class.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        if status.is_server_error() {
            tracing::error!(problem = self.kind.word(), "{}", self.detail);
        }
        let mut body = Map::new();
        body.insert("type".to_owned(), self.kind.word().into());
        body.insert("title".to_owned(), self.kind.word().replace('_', " ").into());
        body.insert("status".to_owned(), self.class.status().into());
        body.insert("detail".to_owned(), self.detail.into());
        body.extend(self.extra);
        let mut response = (status, Json(Value::Object(body))).into_response();
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(PROBLEM_JSON));
        if matches!(self.class, Class::Busy | Class::Unavailable) {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        if self.class == Class::Unauthorized {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

/// Gives every call a name of its own, and adds that it may answer with a problem.
pub(super) fn complete_description(api: &mut utoipa::openapi::OpenApi) {
    let schema = json!({
        "type": "object",
        "description": "What was wrong and what to do.",
        "required": ["type", "title", "status", "detail"],
        "properties": {
            "type": {"type": "string", "description": "A word for exactly this problem."},
            "title": {"type": "string"},
            "status": {"type": "integer"},
            "detail": {"type": "string", "description": "What was wrong and what to do."},
        },
    });
    let components = api.components.get_or_insert_with(Default::default);
    if let Ok(schema) = serde_json::from_value::<RefOr<utoipa::openapi::Schema>>(schema) {
        components.schemas.insert("Problem".to_owned(), schema);
    }
    for item in api.paths.paths.values_mut() {
        let operations = [&mut item.get, &mut item.put, &mut item.post, &mut item.delete, &mut item.patch];
        for operation in operations.into_iter().flatten() {
            let content = ContentBuilder::new().schema(Some(Ref::from_schema_name("Problem"))).build();
            let response = ResponseBuilder::new()
                .description("A problem: what was wrong and what to do.")
                .content(PROBLEM_JSON, content)
                .build();
            let tag = operation.tags.iter().flatten().next().map_or("", String::as_str);
            let name = operation.operation_id.as_deref().unwrap_or_default();
            operation.operation_id = Some(format!("{tag}_{name}"));
            operation.responses.responses.insert("default".to_owned(), RefOr::T(response));
        }
    }
}

/// What callers may do with an answer: not take it for something else, and, unless it is a file of the page, which says
/// so itself, not keep it.
pub(super) fn guard(headers: &mut HeaderMap, is_call: bool) {
    let no_store = HeaderValue::from_static("no-store");
    if is_call {
        headers.insert(header::CACHE_CONTROL, no_store);
    } else {
        headers.entry(header::CACHE_CONTROL).or_insert(no_store);
    }
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
}

/// JSON that is written already.
pub(super) fn json_text(text: &str) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], text.to_owned()).into_response()
}

/// For paths that mean nothing.
pub(super) async fn no_such_call(uri: axum::http::Uri) -> Problem {
    let detail = format!("there is no call `{}`; GET /openapi.json lists all", crate::ids::clip(uri.path()));
    Problem::new(Class::NotFound, Kind::NoSuchCall, detail)
}

/// For methods that a path does not have. The `Allow` header says which it has.
pub(super) async fn no_such_method(method: axum::http::Method) -> Problem {
    let detail = format!("this call does not take {method}; the Allow header says what it takes");
    Problem::new(Class::NoSuchMethod, Kind::NoSuchMethod, detail)
}
