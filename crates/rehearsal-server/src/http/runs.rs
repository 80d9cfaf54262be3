//! Calls about runs.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse as _, Response};
use rehearsal_core::{RunProgress, RunResult, Timestamp};
use rehearsal_store::{RunAbout, RunQuery, RunRecord, RunStatus};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::openapi::Ref;
use utoipa::{IntoParams, ToSchema};

use super::App;
use super::extract::{Params, Path};
use super::reply::Json;
use super::sessions::page_size;
use crate::desk::moment;
use crate::problem::Class;
use crate::{Kind, Problem, ReportError, report_html};

/// Which runs to list.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ListParams {
    /// Only those with this text in their title, name, commit, branch, model or id.
    q: Option<String>,
    /// At most so many; 50 unless told.
    #[param(minimum = 1, maximum = 1000)]
    page_size: Option<u32>,
    /// Goes on after the page that gave this.
    page_token: Option<String>,
}

/// A run of a suite.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RunView {
    /// Its id.
    id: String,
    /// When it began.
    #[schema(value_type = String, format = DateTime)]
    started_at: Timestamp,
    /// When it ended.
    #[schema(value_type = Option<String>, format = DateTime)]
    ended_at: Option<Timestamp>,
    /// What was run.
    title: String,
    /// What somebody called it: `rehearse run --name`.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// The commit of the checkout in which it was started.
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<String>,
    /// The branch of that checkout.
    #[serde(skip_serializing_if = "Option::is_none")]
    branch: Option<String>,
    /// The models that play its agents.
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    /// How long it took, in milliseconds, once it has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_ms: Option<u64>,
    /// `running`, `passed`, `failed`, `error` or `interrupted`.
    status: String,
    /// How far it is while it goes on, or how far it was when its process was last heard.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(schema_with = progress_schema)]
    progress: Option<RunProgress>,
    /// What somebody wants its process to do: `hold` or `stop`.
    #[serde(skip_serializing_if = "Option::is_none")]
    wish: Option<String>,
    /// Whether it should be running, and its process was not seen for a while.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    gone: bool,
    /// The command that goes on with it, where it did not come to its end and says what it was made from.
    #[serde(skip_serializing_if = "Option::is_none")]
    again: Option<String>,
    /// How many of its cases came to what.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(schema_with = summary_schema)]
    summary: Option<Value>,
    /// What it came to. Left out in lists. What earlier versions kept is given in the form of today.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(schema_with = result_schema)]
    result: Option<Value>,
}

fn summary_schema() -> Ref {
    Ref::from_schema_name("Summary")
}

fn progress_schema() -> Ref {
    Ref::from_schema_name("RunProgress")
}

fn result_schema() -> Ref {
    Ref::from_schema_name("RunResult")
}

/// Adds the form of results to the description of the API, which is JSON Schema as theirs is.
pub(super) fn describe_results(api: &mut Value) {
    for (root, mut schema) in [("RunResult", RunResult::schema()), ("RunProgress", RunProgress::schema())] {
        let definitions = match schema["$defs"].take() {
            Value::Object(definitions) => definitions,
            _ => serde_json::Map::new(),
        };
        if let Some(root) = schema.as_object_mut() {
            root.retain(|key, _| key != "$defs" && key != "$schema" && key != "title");
        }
        for (name, mut definition) in definitions.into_iter().chain([(root.to_owned(), schema)]) {
            point_at_components(&mut definition);
            api["components"]["schemas"][name] = definition;
        }
    }
}

fn point_at_components(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            if let Some(Value::String(place)) = object.get_mut("$ref") {
                *place = place.replace("#/$defs/", "#/components/schemas/");
            }
            object.values_mut().for_each(point_at_components);
        }
        Value::Array(list) => list.iter_mut().for_each(point_at_components),
        _ => {}
    }
}

/// A run as it stands now.
pub(super) fn view(app: &App, run: RunRecord) -> RunView {
    let gone = run.status == RunStatus::Running && run.life.is_silent(app.desk.now_ms());
    let again = again(&run).filter(|_| gone || run.status == RunStatus::Interrupted);
    RunView { gone, again, ..run.into() }
}

/// The command that goes on with a run that came to no end.
pub(super) fn again(run: &RunRecord) -> Option<String> {
    let recipe = run.about.recipe.as_deref()?;
    let (id, store) = (&run.id, store_of(&recipe.arguments));
    let folder = Some(&recipe.folder).filter(|folder| !folder.is_empty());
    let folder = folder.map(|folder| format!("cd {} && ", quoted(folder))).unwrap_or_default();
    Some(format!("{folder}rehearse run --resume {id}{store}"))
}

/// The option that says where a run is kept, as it was given. An address may hold a password, so it is not repeated.
fn store_of(arguments: &[String]) -> String {
    let said = arguments.iter().zip(1..).find_map(|(word, next)| match word.strip_prefix("--store")? {
        "" => arguments.get(next).map(String::as_str),
        rest => rest.strip_prefix('='),
    });
    match said.map(rehearsal_store::file_of) {
        None => String::new(),
        Some(None) => " --store …".to_owned(),
        Some(Some(path)) => format!(" --store {}", quoted(path)),
    }
}

/// A word as a shell reads it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=@,+%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

impl From<RunRecord> for RunView {
    fn from(run: RunRecord) -> Self {
        // What it came to says more than how far it was.
        let progress = run.life.progress.filter(|_| run.result.is_none());
        let wish = run.life.wish.filter(|_| run.status == RunStatus::Running);
        let RunAbout { name, commit, branch, model, recipe: _, process: _ } = run.about;
        let said = run.result.as_ref().and_then(|result| result.get("duration_ms")?.as_u64());
        let by_the_clock = run.ended_at.and_then(|ended| u64::try_from(ended - run.started_at).ok());
        Self {
            duration_ms: said.or(by_the_clock),
            name,
            commit,
            branch,
            model,
            id: run.id,
            started_at: moment(run.started_at),
            ended_at: run.ended_at.map(moment),
            title: run.title,
            status: run.status.to_string(),
            progress,
            wish: wish.map(|wish| wish.to_string()),
            gone: false,
            again: None,
            summary: run.result.as_ref().and_then(|result| result.get("summary")).cloned(),
            result: run.result,
        }
    }
}

/// A page of runs.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Runs {
    /// The runs, newest first.
    runs: Vec<RunView>,
    /// Asks for the next page, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_page_token: Option<String>,
}

/// Lists runs, newest first.
#[utoipa::path(get, path = "/v1/runs", tag = "runs", params(ListParams),
    responses((status = 200, description = "A page of runs.", body = Runs)))]
pub(super) async fn list(
    State(app): State<Arc<App>>,
    Params(params): Params<ListParams>,
) -> Result<Json<Runs>, Problem> {
    let query =
        RunQuery { search: params.q, limit: page_size(params.page_size)?, page_token: params.page_token };
    let page = app.desk.runs(&query).await?;
    Ok(Json(Runs {
        runs: page.items.into_iter().map(|run| RunView { result: None, ..view(&app, run) }).collect(),
        next_page_token: page.next,
    }))
}

/// What of a run to show.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ShowParams {
    /// Whether its result has what its cases came to; it has unless told. They can be read apart: `/v1/runs/{id}/cases`.
    cases: Option<bool>,
}

/// Shows a run with its results.
#[utoipa::path(get, path = "/v1/runs/{id}", tag = "runs", params(("id" = String, Path), ShowParams),
    responses((status = 200, description = "The run.", body = RunView)))]
pub(super) async fn show(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    Params(params): Params<ShowParams>,
) -> Result<Json<RunView>, Problem> {
    let store = app.desk.store();
    let found = if params.cases.unwrap_or(true) {
        store.run(&id).await?
    } else {
        store.run_frame(&id).await?.map(|mut run| {
            // Earlier versions kept them with the rest.
            if let Some(results) = run.result.as_mut().and_then(|result| result.get_mut("results")) {
                *results = Value::Array(Vec::new());
            }
            run
        })
    };
    found.map(|run| Json(view(&app, run))).ok_or_else(|| Problem::not_found("run", id))
}

/// Gives a run with its sessions as one HTML file that opens without a server, as `rehearse report` writes it.
#[utoipa::path(get, path = "/v1/runs/{id}/report", tag = "runs", params(("id" = String, Path)),
    responses((status = 200, description = "The report.", body = String, content_type = "text/html")))]
pub(super) async fn report(State(app): State<Arc<App>>, Path(id): Path<String>) -> Result<Response, Problem> {
    let html = report_html(&**app.desk.store(), &id).await.map_err(|error| match error {
        ReportError::NoRun(id) => Problem::not_found("run", id),
        ReportError::Store(error) => error.into(),
        error @ ReportError::NoPage => Problem::new(Class::Conflict, Kind::NoPage, error.to_string()),
    })?;
    let mut response = Html(html).into_response();
    let headers = response.headers_mut();
    let name: String = id.chars().filter(char::is_ascii_alphanumeric).take(8).collect();
    let disposition = HeaderValue::from_str(&format!("attachment; filename=\"run-{name}.html\""));
    headers
        .insert(header::CONTENT_DISPOSITION, disposition.unwrap_or(HeaderValue::from_static("attachment")));
    // It is a file to keep. Whoever opens it here all the same gives it nothing of this site.
    headers.insert(
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static("sandbox allow-scripts allow-downloads"),
    );
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

/// Removes a run with its sessions.
#[utoipa::path(delete, path = "/v1/runs/{id}", tag = "runs", params(("id" = String, Path)),
    responses((status = 204, description = "It is gone.")))]
pub(super) async fn delete(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
) -> Result<StatusCode, Problem> {
    app.desk.store().delete_run(&id).await?;
    Ok(StatusCode::NO_CONTENT)
}
