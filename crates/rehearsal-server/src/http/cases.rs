//! Calls about the cases of a run: in lines as they end, and one of them whole.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use rehearsal_core::{CaseResult, EvaluationResult, MetricResult, MetricStatus, Verdict};
use rehearsal_store::{KeptResult, RunRecord};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use super::App;
use super::extract::{Params, Path};
use super::reply::{Json, made};
use crate::problem::{Class, Kind, Problem};

/// The most lines of one page, and as many as there are unless told.
const MOST: u32 = 1000;
/// How many cases a block has, more or less. See `rehearsal_run`.
const OF_A_BLOCK: u64 = 16;
/// The longest reason that a line gives, in characters.
const LONGEST_WHY: usize = 300;

/// Which cases to list.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct CaseParams {
    /// Only those that ended after the page that gave this as `last`.
    after: Option<String>,
    /// At most so many; 1000 unless told.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<u32>,
}

/// Cases of a run that have ended, a line each, in the order in which they were kept.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct CaseLines {
    /// The lines.
    cases: Vec<CaseLine>,
    /// Asks for those that end later; nothing while none has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    last: Option<String>,
    /// Whether more of them may be there already.
    more: bool,
}

/// What a case came to, in a line.
#[derive(Debug, Default, Serialize, ToSchema)]
pub(super) struct CaseLine {
    /// Its number in the run, by which it is shown whole.
    number: u32,
    /// Its place in the suite.
    place: u64,
    /// Which repeat of it, from 0.
    repeat: u32,
    /// The case.
    name: String,
    /// What it is about.
    #[serde(skip_serializing_if = "String::is_empty")]
    description: String,
    /// Words to select it by.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tags: Vec<String>,
    /// Its file, where it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    /// What it came to, as its whole result says it.
    status: String,
    /// Whose doing it is that it did not pass, as its whole result says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    fault: Option<String>,
    /// Why it did not pass, in words for people, cut.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    /// How long it took.
    duration_ms: u64,
    /// How often the agent yielded and was resumed.
    turns: u64,
    /// Tokens of all its models, read and written.
    tokens: u64,
    /// What its models cost in US dollars, where every one of them has a price.
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<f64>,
}

impl CaseLine {
    /// The line of a result; what cannot be read is no pass.
    fn of(number: u32, place: u64, repeat: u32, result: Value) -> Self {
        let name = result.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
        let Ok(case) = rehearsal_core::json::from_value::<CaseResult>(result) else {
            return Self { number, place, repeat, name, status: "unknown".to_owned(), ..Self::default() };
        };
        Self {
            number,
            place,
            repeat,
            status: case.status.to_string(),
            fault: case.fault.map(|fault| fault.to_string()),
            why: why(&case),
            duration_ms: case.duration_ms,
            turns: case.turns,
            tokens: case.token_usage.total(),
            cost: case.cost,
            name: case.name,
            description: case.description,
            tags: case.tags,
            file: case.file,
        }
    }
}

/// Why a case did not pass, in a line.
fn why(case: &CaseResult) -> Option<String> {
    if case.status == Verdict::Passed {
        return None;
    }
    let of_metric = |metric: &MetricResult| {
        let failed = matches!(metric.status, MetricStatus::Failed | MetricStatus::Error);
        failed.then(|| metric.evidence.first().map(|found| found.text.clone())).flatten()
    };
    let of_evaluation = |evaluation: &EvaluationResult| {
        (evaluation.metric.status != MetricStatus::Passed).then(|| evaluation.message.clone())
    };
    let said = case.error.as_ref().map(|error| error.message.clone());
    let said = said.or_else(|| case.terminated_by());
    let said = said.or_else(|| case.evaluations().find_map(of_evaluation));
    let said = said.or_else(|| case.metrics.values().find_map(of_metric))?;
    let line = said.lines().next()?;
    Some(line.chars().take(LONGEST_WHY).collect()).filter(|line: &String| !line.is_empty())
}

/// A place among the cases of a run that have ended: in this block, after so many of its cases. The cases of a block do
/// not change; the last one has more of them after a while.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Mark {
    block: u64,
    seen: usize,
}

impl Mark {
    fn read(text: &str) -> Result<Self, Problem> {
        let parts = text
            .split_once('-')
            .and_then(|(block, seen)| Some(Self { block: block.parse().ok()?, seen: seen.parse().ok()? }));
        parts.filter(|mark| i64::try_from(mark.block).is_ok()).ok_or_else(|| {
            let detail =
                format!("`{text}` is no place among cases; leave `after` out to begin with the first");
            Problem::invalid(Kind::InvalidParameters, detail)
        })
    }

    fn written(self) -> String {
        format!("{}-{}", self.block, self.seen)
    }
}

/// Lists the cases of a run that have ended, a line each, also while the run goes on. What an earlier page gave as `last`
/// asks for those that ended since.
#[utoipa::path(get, path = "/v1/runs/{id}/cases", tag = "runs", params(("id" = String, Path), CaseParams),
    responses((status = 200, description = "Cases in the order in which they were kept.", body = CaseLines)))]
pub(super) async fn cases(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    Params(params): Params<CaseParams>,
) -> Result<Response, Problem> {
    let limit = match params.limit.unwrap_or(MOST) {
        limit @ 1..=MOST => limit as usize,
        limit => {
            let detail = format!("`limit` is {limit}; it goes from 1 to {MOST}");
            return Err(Problem::invalid(Kind::InvalidParameters, detail));
        }
    };
    let mark = params.after.as_deref().map(Mark::read).transpose()?.unwrap_or_default();
    let blocks = (limit as u64).div_ceil(OF_A_BLOCK) + 1;
    let kept = app.desk.store().case_results(&id, mark.block.checked_sub(1), blocks).await?;
    let kept = if kept.is_empty() { earlier(&app, &id).await? } else { kept };
    made(move || Ok(page(kept, mark, limit, blocks))).await
}

/// What comes after a mark, at most so much.
fn page(kept: Vec<KeptResult>, mut mark: Mark, limit: usize, blocks: u64) -> CaseLines {
    let mut read = kept.iter().map(|case| case.block).collect::<Vec<_>>();
    read.dedup();
    let is_full = read.len() as u64 >= blocks;
    let known = if kept.first().is_some_and(|first| first.block == mark.block) { mark.seen } else { 0 };
    let mut fresh = kept.into_iter().skip(known).peekable();
    let mut cases = Vec::new();
    while let Some(case) = fresh.next_if(|_| cases.len() < limit) {
        let seen = if case.block == mark.block { mark.seen + 1 } else { 1 };
        mark = Mark { block: case.block, seen };
        let result = rehearsal_core::json::from_str(&case.result).unwrap_or_default();
        cases.push(CaseLine::of(case.number, case.place, case.repeat, result));
    }
    let last = (mark.seen > 0).then(|| mark.written());
    CaseLines { more: fresh.peek().is_some() || is_full, cases, last }
}

/// The cases of a run that an earlier version kept, all of them in its result. They count as one block.
async fn earlier(app: &App, id: &str) -> Result<Vec<KeptResult>, Problem> {
    let results = results_of(found(app, id).await?);
    let kept = results.into_iter().zip(0..).map(|(result, number)| KeptResult {
        block: 0,
        number,
        place: u64::from(number),
        repeat: result.get("repeat").and_then(Value::as_u64).and_then(|n| n.try_into().ok()).unwrap_or(0),
        result: rehearsal_core::json::text(&result),
    });
    Ok(kept.collect())
}

async fn found(app: &App, id: &str) -> Result<RunRecord, Problem> {
    let run = app.desk.store().run_frame(id).await?;
    run.ok_or_else(|| Problem::not_found("run", id))
}

fn results_of(run: RunRecord) -> Vec<Value> {
    match run.result.and_then(|mut result| result.get_mut("results").map(Value::take)) {
        Some(Value::Array(results)) => results,
        _ => Vec::new(),
    }
}

/// Shows what a case of a run came to, whole, by its number in the run.
#[utoipa::path(get, path = "/v1/runs/{id}/cases/{number}", tag = "runs",
    params(("id" = String, Path), ("number" = u32, Path)),
    responses((status = 200, description = "What it came to.", body = ref("#/components/schemas/CaseResult"))))]
pub(super) async fn case(
    State(app): State<Arc<App>>,
    Path((id, number)): Path<(String, u32)>,
) -> Result<Json<Value>, Problem> {
    if let Some(case) = app.desk.store().case_result(&id, number).await? {
        let result = rehearsal_core::json::from_str(&case.result).map_err(|error| {
            let detail = format!("what case {number} came to cannot be read: {error}");
            Problem::new(Class::Internal, Kind::Corrupt, detail)
        })?;
        return Ok(Json(result));
    }
    let mut results = results_of(found(&app, &id).await?);
    let at = usize::try_from(number).unwrap_or(usize::MAX);
    if at >= results.len() {
        return Err(Problem::not_found("case", format_args!("{number} of run {id}")));
    }
    Ok(Json(results.swap_remove(at)))
}
