//! Runs while they go on: how far they are, their cases as they end, and what somebody wants of them.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use rehearsal_agent::Step;
use rehearsal_core::{CaseResult, Clock as _, FixedClock, MetricResult, RunResult};
use rehearsal_metrics::Custom;
use rehearsal_run::{CaseKey, Counts, Driver, KeptRun, Outlet, Plan, Watch};
use rehearsal_sim::person::PersonCue;
use rehearsal_sim::{Cancel, Case, CaseMaker, CaseRun};
use rehearsal_store::{Block, EndedCase, Recipe, RunAbout, RunLife, RunRecord, RunStatus};
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

use crate::stage::{Stage, soon, until};

/// Nobody looks on, and nobody is handed anything.
struct Nobody;

impl Watch for Nobody {
    fn started(&self, _: CaseKey, _: &str) {}
    fn counted(&self, _: CaseKey, _: Counts) {}
    fn finished(&self, _: CaseKey, _: &CaseRun) {}
    fn asked(&self, _: &str, _: &PersonCue) -> Box<dyn Any + Send> {
        Box::new(())
    }
}

impl Outlet for Nobody {
    fn ended(&self, _: usize, _: CaseResult, _: &CaseRun) {}
}

/// A run in another process's place, whose cases end when they may.
struct Playing {
    id: String,
    gate: Arc<Semaphore>,
    clock: Arc<FixedClock>,
    ended: JoinHandle<RunResult>,
}

/// Each third case does not pass.
fn cases(count: usize, gate: &Arc<Semaphore>) -> Vec<CaseMaker> {
    let case = |number: usize| {
        let gate = gate.clone();
        let agent = Step::new_async("echo", move |cx| {
            let gate = gate.clone();
            async move {
                gate.acquire().await.map_err(|error| error.to_string())?.forget();
                Ok(cx.respond("hello"))
            }
        });
        let passes = Custom::new("ran", move |_| MetricResult::from_pass(!number.is_multiple_of(3)));
        Case::new(&format!("case {number}"), agent).first_message("hi").metric(passes).into()
    };
    (0..count).map(case).collect()
}

async fn play(stage: &Stage, count: usize) -> Playing {
    let clock = Arc::new(FixedClock::default());
    let kept = KeptRun::begin(stage.store().await, clock.clone(), "t", RunAbout::default()).await.unwrap();
    let (id, gate) = (kept.id(), Arc::new(Semaphore::new(0)));
    let cases = cases(count, &gate);
    let driver = Driver {
        plan: Plan { seed: 1, case_seed: None, repeat: 1, jobs: 2, fail_fast: false, valid: None },
        kept: Some(kept),
        turns: None,
        earlier: None,
        out: None,
        cancel: Cancel::default(),
        watch: Arc::new(Nobody),
        calls: Arc::new(Vec::new),
        budget: None,
        clock: clock.clone(),
    };
    let ended = tokio::spawn(async move {
        let describe = Arc::new(|_: usize, run: &CaseRun| run.result.clone());
        let result = driver.run(cases, describe, Arc::new(Nobody)).await;
        driver.end(&result).await.unwrap();
        result
    });
    Playing { id, gate, clock, ended }
}

impl Playing {
    fn path(&self, below: &str) -> String {
        format!("/v1/runs/{}{below}", self.id)
    }

    /// The run, once it is like this. Its clock goes on meanwhile; ours stands still.
    async fn is(&self, stage: &Stage, fits: impl Fn(&Value) -> bool) -> Value {
        until(|| async {
            self.clock.advance(Duration::from_secs(1));
            let run = stage.get(&self.path("?cases=false")).await.is(200);
            fits(&run).then_some(run)
        })
        .await
    }

    async fn ended(self) -> RunResult {
        soon(self.ended).await.unwrap()
    }
}

/// All cases after a place, read so many at a time, and the place after them.
async fn lines(
    stage: &Stage,
    path: &str,
    limit: usize,
    mut after: Option<String>,
) -> (Vec<Value>, Option<String>) {
    let mut all = Vec::new();
    loop {
        let place = after.as_ref().map(|after| format!("&after={after}")).unwrap_or_default();
        let page = stage.get(&format!("{path}/cases?limit={limit}{place}")).await.is(200);
        let cases = page["cases"].as_array().unwrap();
        assert!(cases.len() <= limit);
        all.extend(cases.iter().cloned());
        after = page["last"].as_str().map(str::to_owned);
        if page["more"] == false {
            return (all, after);
        }
    }
}

fn numbers(lines: &[Value]) -> Vec<u64> {
    let mut numbers: Vec<u64> = lines.iter().map(|line| line["number"].as_u64().unwrap()).collect();
    numbers.sort_unstable();
    numbers
}

#[tokio::test]
async fn a_run_is_followed_case_by_case() {
    let stage = Stage::open().await;
    let playing = play(&stage, 40).await;
    let run = playing.is(&stage, |run| run["progress"]["running"] == 2).await;
    assert_eq!((&run["status"], &run["result"]), (&json!("running"), &Value::Null));
    assert_eq!((&run["progress"]["planned"], &run["progress"]["ended"]["total"]), (&json!(40), &json!(0)));
    let (none, after) = lines(&stage, &playing.path(""), 10, None).await;
    assert_eq!((none.len(), after), (0, None));

    playing.gate.add_permits(20);
    let run = playing.is(&stage, |run| run["progress"]["ended"]["total"] == 20).await;
    let ended = &run["progress"]["ended"];
    assert_eq!(ended["passed"].as_u64().unwrap() + ended["failed"].as_u64().unwrap(), 20);
    assert!(run["progress"]["left_ms"].is_u64(), "{run}");
    let listed = stage.get("/v1/runs").await.is(200);
    assert_eq!(listed["runs"][0]["progress"]["planned"], 40);

    let (first, after) = lines(&stage, &playing.path(""), 3, None).await;
    assert_eq!(first.len(), 20);
    let failed = first.iter().find(|line| line["place"] == 3).unwrap();
    assert_eq!((&failed["name"], &failed["status"]), (&json!("case 3"), &json!("failed")));
    let whole = stage.get(&playing.path(&format!("/cases/{}", failed["number"]))).await.is(200);
    assert_eq!((&whole["name"], &whole["metrics"]["ran"]["status"]), (&json!("case 3"), &json!("failed")));

    playing.gate.add_permits(20);
    let path = playing.path("");
    let result = playing.ended().await;
    assert_eq!(result.suite.summary.total, 40);
    // What is known is not read again.
    let (more, _) = lines(&stage, &path, 1000, after).await;
    let all: Vec<Value> = first.into_iter().chain(more).collect();
    assert_eq!(numbers(&all), (0..40).collect::<Vec<_>>());
    let run = stage.get(&format!("{path}?cases=false")).await.is(200);
    assert_eq!((&run["status"], &run["progress"]), (&json!("failed"), &Value::Null));
    assert_eq!((&run["result"]["results"], &run["summary"]["total"]), (&json!([]), &json!(40)));
    assert_eq!(stage.get(&path).await.is(200)["result"]["results"].as_array().unwrap().len(), 40);
}

#[tokio::test]
async fn a_run_is_held_goes_on_and_is_stopped() {
    let stage = Stage::open().await;
    let playing = play(&stage, 30).await;
    playing.is(&stage, |run| run["progress"]["running"] == 2).await;
    let taken = stage.post(&playing.path("/hold"), json!({})).await.is(200);
    assert_eq!(taken["wish"], "hold");
    playing.is(&stage, |run| run["progress"]["held"] == true).await;
    // What runs comes to its end, and nothing else begins.
    playing.gate.add_permits(5);
    let held = |run: &Value| run["progress"]["ended"]["total"] == 2 && run["progress"]["running"] == 0;
    playing.is(&stage, held).await;
    assert_eq!(playing.gate.available_permits(), 3);

    stage.post(&playing.path("/go-on"), json!({})).await.is(200);
    playing.is(&stage, |run| run["progress"]["ended"]["total"] == 5).await;

    let taken = stage.post(&playing.path("/stop"), json!({})).await.is(200);
    assert_eq!(taken["wish"], "stop");
    let path = playing.path("");
    playing.is(&stage, |run| run["status"] == "interrupted").await;
    let result = playing.ended().await;
    assert!(result.interrupted && result.suite.summary.not_run > 0, "{:?}", result.suite.summary);
    for call in ["hold", "go-on", "stop"] {
        let problem = stage.post(&format!("{path}/{call}"), json!({})).await.refused(409, "run_ended");
        assert!(problem["detail"].as_str().unwrap().contains("interrupted"), "{problem}");
    }
}

#[tokio::test]
async fn a_held_run_can_be_stopped_and_that_is_not_taken_back() {
    let stage = Stage::open().await;
    let playing = play(&stage, 9).await;
    playing.is(&stage, |run| run["progress"]["running"] == 2).await;
    stage.post(&playing.path("/hold"), json!({})).await.is(200);
    playing.is(&stage, |run| run["progress"]["held"] == true).await;
    stage.post(&playing.path("/stop"), json!({})).await.is(200);
    let again = stage.post(&playing.path("/go-on"), json!({})).await;
    assert!(
        ["run_stopping", "run_ended"].contains(&again.json()["type"].as_str().unwrap()),
        "{}",
        again.text
    );
    playing.is(&stage, |run| run["status"] == "interrupted").await;
    playing.ended().await;
}

fn record(status: RunStatus, life: RunLife) -> RunRecord {
    let recipe = Recipe { folder: "/my cases".to_owned(), ..Recipe::default() };
    RunRecord {
        id: crate::stage::uuid(),
        started_at: 0,
        ended_at: (status != RunStatus::Running).then_some(9),
        title: "t".to_owned(),
        status,
        about: RunAbout { recipe: Some(Box::new(recipe)), ..RunAbout::default() },
        result: None,
        life,
    }
}

#[tokio::test]
async fn a_run_whose_process_is_gone_says_how_to_go_on() {
    let stage = Stage::open().await;
    let store = stage.store().await;
    let now = stage.clock.now().as_millisecond();
    let run = record(RunStatus::Running, RunLife { seen_at: Some(now), ..RunLife::default() });
    store.put_run(&run).await.unwrap();
    let path = format!("/v1/runs/{}", run.id);
    assert_eq!(stage.get(&path).await.is(200).get("gone"), None);
    stage.clock.advance(Duration::from_mins(1));
    let shown = stage.get(&path).await.is(200);
    let command = format!("cd '/my cases' && rehearse run --resume {}", run.id);
    assert_eq!((&shown["gone"], &shown["again"]), (&json!(true), &json!(command)));
    let problem = stage.post(&format!("{path}/stop"), json!({})).await.refused(409, "run_gone");
    assert!(problem["detail"].as_str().unwrap().contains(&command), "{problem}");

    let nobody = format!("/v1/runs/{}", crate::stage::uuid());
    for call in ["hold", "go-on", "stop"] {
        stage.post(&format!("{nobody}/{call}"), json!({})).await.refused(404, "not_found");
    }
    stage.get(&format!("{nobody}/cases")).await.refused(404, "not_found");
    stage.get(&format!("{nobody}/cases/0")).await.refused(404, "not_found");
}

#[tokio::test]
async fn cases_of_earlier_versions_are_read_the_same_way() {
    let stage = Stage::open().await;
    let results: Vec<Value> = (0..25).map(|number| serde_json::to_value(case(number)).unwrap()).collect();
    let result = json!({"version": 2, "summary": {"total": 25}, "results": results});
    let run = RunRecord { result: Some(result), ..record(RunStatus::Failed, RunLife::default()) };
    stage.store().await.put_run(&run).await.unwrap();
    let path = format!("/v1/runs/{}", run.id);
    let (all, _) = lines(&stage, &path, 10, None).await;
    assert_eq!(numbers(&all), (0..25).collect::<Vec<_>>());
    assert_eq!((&all[7]["name"], &all[7]["why"]), (&json!("case 7"), &json!("it broke")));
    assert_eq!(stage.get(&format!("{path}/cases/7")).await.is(200)["name"], "case 7");
    stage.get(&format!("{path}/cases/25")).await.refused(404, "not_found");
    let shown = stage.get(&format!("{path}?cases=false")).await.is(200);
    assert_eq!(shown["result"]["results"], json!([]));
}

fn case(number: u64) -> CaseResult {
    let error = rehearsal_core::Failure {
        phase: rehearsal_core::Phase::System,
        kind: "k".to_owned(),
        message: "it broke\nsomewhere".to_owned(),
    };
    let result = CaseResult::new(format!("case {number}"), rehearsal_core::Verdict::Error, number);
    CaseResult { error: Some(error), ..result }
}

#[tokio::test]
async fn a_result_that_nobody_can_read_is_no_pass_and_hides_no_other() {
    let stage = Stage::open().await;
    let store = stage.store().await;
    let run = record(RunStatus::Running, RunLife::default());
    store.put_run(&run).await.unwrap();
    let ended = |number: u32, result: Value| EndedCase {
        number,
        place: u64::from(number),
        repeat: 0,
        result: result.to_string(),
        sessions: Vec::new(),
    };
    let odd = json!({"name": "odd", "status": "excellent"});
    let good = serde_json::to_value(case(1)).unwrap();
    store.put_block(&run.id, &Block { number: 0, cases: vec![ended(0, odd), ended(1, good)] }).await.unwrap();
    let path = format!("/v1/runs/{}", run.id);
    let (all, _) = lines(&stage, &path, 10, None).await;
    let said: Vec<_> = all.iter().map(|line| (&line["name"], &line["status"])).collect();
    assert_eq!(said, [(&json!("odd"), &json!("unknown")), (&json!("case 1"), &json!("error"))]);
    for after in ["x", "1", "-1-2", "1-x", "99999999999999999999-1"] {
        stage.get(&format!("{path}/cases?after={after}")).await.refused(422, "invalid_parameters");
    }
    stage.get(&format!("{path}/cases?limit=0")).await.refused(422, "invalid_parameters");
}
