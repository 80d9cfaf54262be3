//! Calls that hold, let go on and stop a run. Its process does it: the server only says what somebody wants.

use std::sync::Arc;

use axum::extract::State;
use rehearsal_store::{RunRecord, RunStatus, RunWish};

use super::App;
use super::extract::Path;
use super::reply::Json;
use super::runs::{RunView, again, view};
use crate::desk::moment;
use crate::problem::{Kind, Problem};

/// Holds a run: it starts no further case until it is let go on. Cases that run come to their end.
#[utoipa::path(post, path = "/v1/runs/{id}/hold", tag = "runs", params(("id" = String, Path)),
    responses((status = 200, description = "The run. Its process does it in a moment.", body = RunView)))]
pub(super) async fn hold(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
) -> Result<Json<RunView>, Problem> {
    wish(&app, &id, Some(RunWish::Hold)).await
}

/// Lets a run that is held go on.
#[utoipa::path(post, path = "/v1/runs/{id}/go-on", tag = "runs", params(("id" = String, Path)),
    responses((status = 200, description = "The run. Its process does it in a moment.", body = RunView)))]
pub(super) async fn go_on(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
) -> Result<Json<RunView>, Problem> {
    wish(&app, &id, None).await
}

/// Stops a run, as whoever started it can with Ctrl-C: cases that run are ended, what has ended stays. It is interrupted
/// then, and `rehearse run --resume` goes on with it.
#[utoipa::path(post, path = "/v1/runs/{id}/stop", tag = "runs", params(("id" = String, Path)),
    responses((status = 200, description = "The run. Its process does it in a moment.", body = RunView)))]
pub(super) async fn stop(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
) -> Result<Json<RunView>, Problem> {
    wish(&app, &id, Some(RunWish::Stop)).await
}

async fn wish(app: &App, id: &str, wish: Option<RunWish>) -> Result<Json<RunView>, Problem> {
    let run = found(app, id).await?;
    if let Some(why) = impossible(app, &run) {
        return Err(why);
    }
    if run.life.wish != wish && !app.desk.store().wish_run(id, wish).await? {
        let run = found(app, id).await?;
        return Err(impossible(app, &run).unwrap_or_else(|| {
            let detail = format!("run `{id}` was asked to stop already, and ends once its cases have");
            Problem::conflict(Kind::RunStopping, detail)
        }));
    }
    Ok(Json(view(app, found(app, id).await?)))
}

async fn found(app: &App, id: &str) -> Result<RunRecord, Problem> {
    let run = app.desk.store().run_frame(id).await?;
    run.ok_or_else(|| Problem::not_found("run", id))
}

/// Why nobody can do anything with a run any more.
fn impossible(app: &App, run: &RunRecord) -> Option<Problem> {
    let (id, status) = (&run.id, run.status);
    let onwards = again(run).map(|command| format!("; `{command}` goes on with it")).unwrap_or_default();
    if status != RunStatus::Running {
        let detail = match status {
            RunStatus::Interrupted => format!("run `{id}` was interrupted{onwards}"),
            _ => format!("run `{id}` has ended: {status}"),
        };
        return Some(Problem::conflict(Kind::RunEnded, detail));
    }
    if run.life.is_silent(app.desk.now_ms()) {
        let seen = run.life.seen_at.map(moment).map(|at| format!(" and was last seen at {at}"));
        let detail = format!("the process of run `{id}` is gone{}{onwards}", seen.unwrap_or_default());
        return Some(Problem::conflict(Kind::RunGone, detail));
    }
    None
}
