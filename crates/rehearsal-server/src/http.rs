//! HTTP: JSON, server-sent events, and who may use them.

use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::routing::get;
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::desk::Desk;
use crate::metrics::Metrics;

mod agents;
mod auth;
mod cases;
mod cues;
mod events;
mod extract;
mod locked;
mod operations;
mod pace;
mod page;
mod reply;
mod runs;
mod sessions;
mod turns;
mod uploads;
mod visit;
mod wishes;

pub(crate) use auth::{Door, pass};
pub(crate) use pace::Paced;
pub(crate) use runs::RunView;
pub(crate) use visit::Visits;

/// The longest a call is held.
pub(crate) const LONGEST_WAIT_SECONDS: u64 = 60;

/// What every call can use.
#[derive(Debug)]
pub(crate) struct App {
    pub(crate) desk: Arc<Desk>,
    pub(crate) metrics: Metrics,
    /// How many streams may be open at once.
    pub(crate) streams: Arc<tokio::sync::Semaphore>,
}

/// What is known of the API as a whole.
#[derive(Debug, OpenApi)]
#[openapi(
    info(
        title = "Rehearsal",
        description = "Sessions that agents elsewhere play, and the people who answer them. Every call but /healthz and /readyz needs `Authorization: Bearer TOKEN`. Errors are problem+json and say what to do."
    ),
    modifiers(&Bearer),
    security(("bearer" = []))
)]
struct Api;

struct Bearer;

impl utoipa::Modify for Bearer {
    fn modify(&self, openapi: &mut utoipa::openapi::OpenApi) {
        use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
        let components = openapi.components.get_or_insert_with(Default::default);
        let scheme = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
        components.add_security_scheme("bearer", scheme);
    }
}

fn described() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::with_openapi(Api::openapi())
        .routes(routes!(sessions::create, sessions::list))
        .routes(routes!(sessions::show, sessions::change, sessions::delete))
        .routes(routes!(sessions::query))
        .routes(routes!(sessions::complete))
        .routes(routes!(sessions::cancel))
        .routes(routes!(sessions::ledger))
        .routes(routes!(sessions::import))
        .routes(routes!(sessions::history))
        .routes(routes!(sessions::eval_case))
        .routes(routes!(sessions::export))
        .routes(routes!(events::list, events::observe))
        .routes(routes!(events::show))
        .routes(routes!(events::stream))
        .routes(routes!(events::changes))
        .routes(routes!(turns::submit, turns::show))
        .routes(routes!(turns::response))
        .routes(routes!(cues::list))
        .routes(routes!(cues::show))
        .routes(routes!(cues::answer))
        .routes(routes!(cues::dismiss))
        .routes(routes!(cues::call))
        .routes(routes!(cues::cancel_call))
        .routes(routes!(agents::register, agents::leave))
        .routes(routes!(agents::work))
        .routes(routes!(agents::finish))
        .routes(routes!(agents::list))
        .routes(routes!(agents::show))
        .routes(routes!(runs::list))
        .routes(routes!(runs::show, runs::delete))
        .routes(routes!(runs::report))
        .routes(routes!(cases::cases))
        .routes(routes!(cases::case))
        .routes(routes!(wishes::hold))
        .routes(routes!(wishes::go_on))
        .routes(routes!(wishes::stop))
        .routes(routes!(uploads::begin))
        .routes(routes!(uploads::put))
        .routes(routes!(operations::lock))
        .routes(routes!(operations::healthz))
        .routes(routes!(operations::readyz))
        .routes(routes!(operations::metrics))
}

/// The description of the API.
pub(crate) fn openapi() -> String {
    let mut api = described().into_openapi();
    reply::complete_description(&mut api);
    let mut api = serde_json::to_value(&api).expect("a description is always written");
    runs::describe_results(&mut api);
    rehearsal_core::json::to_string_pretty(&api).expect("a value is always written")
}

/// All calls, without the checks at the door.
pub(crate) fn router(app: Arc<App>) -> Router {
    let (router, _) = described().split_for_parts();
    let text: Arc<str> = openapi().into();
    router
        .route("/openapi.json", get(move || std::future::ready(reply::json_text(&text))))
        .fallback_service(get(page::serve).fallback(reply::no_such_call))
        .method_not_allowed_fallback(reply::no_such_method)
        .layer(DefaultBodyLimit::max(crate::LARGEST_BODY))
        .with_state(app)
}
