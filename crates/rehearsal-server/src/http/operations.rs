//! Calls of those who operate the server.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::App;
use crate::Problem;

/// Ends the visit of the browser that calls this: its page is locked until somebody opens it with the token again.
#[utoipa::path(post, path = "/v1/lock", tag = "operations",
    responses((status = 204, description = "The visit is over; a caller with the token has none, and nothing changes.")))]
pub(super) async fn lock() -> StatusCode {
    // The door ends visits, since it alone knows them.
    StatusCode::NO_CONTENT
}

/// Says that the server lives.
#[utoipa::path(get, path = "/healthz", tag = "operations", security(()),
    responses((status = 200, description = "It lives.", body = String, content_type = "text/plain")))]
pub(super) async fn healthz() -> &'static str {
    "ok"
}

/// Says whether the server can do its work: whether its store can be used.
#[utoipa::path(get, path = "/readyz", tag = "operations", security(()),
    responses((status = 200, description = "It can.", body = String, content_type = "text/plain")))]
pub(super) async fn readyz(State(app): State<Arc<App>>) -> Result<&'static str, Problem> {
    app.desk.store().ready().await?;
    Ok("ready")
}

/// Figures for Prometheus.
#[utoipa::path(get, path = "/metrics", tag = "operations",
    responses((status = 200, description = "Figures in the text format of OpenMetrics.", body = String,
        content_type = "application/openmetrics-text")))]
pub(super) async fn metrics(State(app): State<Arc<App>>) -> Result<Response, Problem> {
    let text = app.metrics.render(&app.desk).await?;
    Ok(([(header::CONTENT_TYPE, "application/openmetrics-text; version=1.0.0; charset=utf-8")], text)
        .into_response())
}
