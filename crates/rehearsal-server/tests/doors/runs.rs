//! People who play a part in a case of a run, and answer over HTTP.

use std::pin::Pin;
use std::sync::Arc;

use rehearsal_agent::{FunctionTool, Journal as _, LlmAgent, Loop, Model, Step};
use rehearsal_core::{
    Clock as _, Content, Draft, EndReason, Event, EventBody, LEDGER_VERSION, Ledger, MetricResult, Player,
    SessionId, SessionStarted, ToolDeclaration, Verdict,
};
use rehearsal_metrics::Custom;
use rehearsal_models::{Reply as Line, ScriptedModel};
use rehearsal_run::KeptRun;
use rehearsal_sim::{Case, CaseRun, Mock, Opening, RunOptions};
use rehearsal_store::{RunAbout, RunStatus};
use serde_json::{Value, json};

use crate::shaky::{Fate, Shaky};
use crate::stage::{Stage, soon, until, uuid};

fn script(replies: impl IntoIterator<Item = Line>) -> Arc<dyn Model> {
    Arc::new(ScriptedModel::list("script", replies))
}

fn refund() -> FunctionTool {
    let declaration = ToolDeclaration::new("refund", "Gives money back")
        .parameters(
            json!({"type": "object", "properties": {"order": {"type": "integer"}}, "required": ["order"]}),
        )
        .output(json!({"type": "object", "required": ["refunded"]}));
    FunctionTool::raw(declaration, |_, _| panic!("a real tool ran"))
}

fn passes() -> Custom {
    Custom::new("ran", |_| MetricResult::from_pass(true))
}

/// An agent whose model must not be asked, because a person plays it.
fn by_person() -> Case {
    let clerk = LlmAgent::new("clerk", script([])).instruction("Be kind.").tool(refund());
    Case::new("desk", clerk).first_message("Order 7, please").model_by_person("clerk").metric(passes())
}

/// A run in another process's place: it has the store, not the server.
async fn begin(stage: &Stage) -> (Arc<KeptRun>, RunOptions) {
    let run = KeptRun::begin(stage.store().await, stage.clock.clone(), "cases/*.yaml", RunAbout::default())
        .await
        .unwrap();
    let options =
        RunOptions { clock: stage.clock.clone(), journal: Some(run.case(0)), ..RunOptions::default() };
    (run, options)
}

fn play<'f>(case: &'f Case, options: &'f RunOptions) -> Pin<Box<dyn Future<Output = CaseRun> + 'f>> {
    Box::pin(soon(case.run(options)))
}

/// The cue that somebody waits for now, with its prompt.
async fn head(stage: &Stage) -> Value {
    let id = until(|| async {
        let cues = stage.get("/v1/cues").await.is(200);
        cues["cues"][0]["id"].as_str().map(str::to_owned)
    })
    .await;
    stage.get(&format!("/v1/cues/{id}")).await.is(200)
}

/// Answers the head, after something that is refused.
async fn answer(stage: &Stage, wrong: Value, right: Value) -> Value {
    let cue = head(stage).await;
    let id = cue["id"].as_str().unwrap();
    stage.answer(id, wrong).await.refused(422, "invalid_answer");
    let taken = stage.answer(id, right).await.is(200);
    assert_eq!(taken, json!({"cue": id}), "the run writes its ledger itself");
    cue
}

async fn sessions_of(stage: &Stage, run: &KeptRun) -> Vec<Value> {
    let list = stage.get(&format!("/v1/sessions?run={}", run.id())).await.is(200);
    list["sessions"].as_array().unwrap().clone()
}

#[tokio::test]
async fn a_person_plays_the_model_of_a_run() {
    let stage = Stage::open().await;
    let (run, options) = begin(&stage).await;
    let case = by_person().mock("refund", Mock::returning(json!({"refunded": true}))).people(run.case(0));
    let people = async {
        let call = json!({"calls": [{"tool": "refund", "args": {"order": 7}}]});
        let cue = answer(&stage, json!({"calls": [{"tool": "refund", "args": {}}]}), call).await;
        assert_eq!(
            (&cue["kind"], &cue["agent"], &cue["head"]),
            (&json!("model"), &json!("clerk"), &json!(true))
        );
        assert_eq!(cue["prompt"]["request"]["system"], "Be kind.");
        let cue = answer(&stage, json!({"output": 1}), json!({"text": "It is on its way"})).await;
        assert_eq!(cue["prompt"]["request"]["contents"].as_array().unwrap().len(), 3);
        // A session of a run is its own.
        let session = cue["session"].as_str().unwrap().to_owned();
        for (call, body) in [("query", json!({"text": "hm"})), ("complete", json!({}))] {
            stage.post(&format!("/v1/sessions/{session}/{call}"), body).await.refused(409, "of_a_run");
        }
    };
    let (played, ()) = tokio::join!(play(&case, &options), people);
    assert!(played.passed(), "{played}");
    run.end(RunStatus::Passed, json!({"cases": 1})).await.unwrap();

    let sessions = sessions_of(&stage, &run).await;
    assert_eq!(sessions.len(), 1);
    assert_eq!(
        (&sessions[0]["source"], &sessions[0]["status"], &sessions[0]["agent"], &sessions[0]["description"]),
        (&json!("run"), &json!("completed"), &json!("clerk"), &json!("desk"))
    );
    let path = format!("/v1/sessions/{}", sessions[0]["id"].as_str().unwrap());
    assert_eq!(stage.get(&format!("{path}/ledger")).await.text, played.main.to_jsonl());
    let history = stage.get(&format!("{path}/history")).await.is(200);
    let kinds: Vec<_> =
        history["entries"].as_array().unwrap().iter().map(|entry| entry["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["user_query", "tool_call", "tool_output", "final_response"]);
    let shown = stage.get(&format!("/v1/runs/{}", run.id())).await.is(200);
    assert_eq!(
        (&shown["status"], &shown["title"], &shown["result"]),
        (&json!("passed"), &json!("cases/*.yaml"), &json!({"cases": 1}))
    );
    assert_eq!(stage.get("/v1/runs").await.is(200)["runs"][0]["id"], run.id());
    stage.delete(&format!("/v1/runs/{}", run.id())).await.is(204);
    stage.get(&path).await.refused(404, "not_found");
    stage.get(&format!("/v1/runs/{}", run.id())).await.refused(404, "not_found");
}

#[tokio::test]
async fn a_person_plays_a_tool_of_a_run() {
    let stage = Stage::open().await;
    let (run, options) = begin(&stage).await;
    let model = script([
        Line::call("refund", json!({"order": 7})),
        Line::call("refund", json!({"order": 8})),
        Line::text("done"),
    ]);
    let agent = LlmAgent::new("clerk", model).tool(refund());
    let case = Case::new("desk", agent)
        .first_message("go")
        .tool_by_person("refund")
        .people(run.case(0))
        .metric(passes());
    let people = async {
        let cue = answer(&stage, json!({"output": {}}), json!({"output": {"refunded": true}})).await;
        assert_eq!((&cue["kind"], &cue["prompt"]["args"]), (&json!("tool"), &json!({"order": 7})));
        answer(&stage, json!({"error": {}}), json!({"error": {"type": "TooLate", "message": "paid out"}}))
            .await;
    };
    let (played, ()) = tokio::join!(play(&case, &options), people);
    assert!(played.passed(), "{played}");
    let by = played
        .events()
        .iter()
        .filter_map(|event| event.decision.as_ref())
        .filter(|by| by.by == Player::Person)
        .count();
    assert_eq!(by, 2);
}

#[tokio::test]
async fn a_person_plays_the_user_of_a_run() {
    let stage = Stage::open().await;
    let (run, options) = begin(&stage).await;
    let echo = Loop::new("talk", Step::new("echo", |cx| Ok(cx.respond(cx.input.to_uppercase()))));
    let case =
        Case::new("talk", echo).opening(Opening::User).user_by_person().people(run.case(0)).metric(passes());
    let people = async {
        let cue = answer(&stage, json!({"text": ""}), json!({"text": "hello"})).await;
        assert_eq!(cue["kind"], "user");
        let cue = answer(&stage, json!({"output": 1}), json!({"end": true})).await;
        let transcript = cue["prompt"]["transcript"].as_str().unwrap();
        assert!(transcript.contains("user: hello") && transcript.contains("echo: HELLO"), "{transcript}");
    };
    let (played, ()) = tokio::join!(play(&case, &options), people);
    assert!(played.passed(), "{played}");
    assert_eq!(played.main.end(), Some(EndReason::Completed));
}

#[tokio::test]
async fn what_a_person_sees_was_written_before() {
    let stage = Stage::open().await;
    let (run, options) = begin(&stage).await;
    let case = by_person().people(run.case(0));
    let people = async {
        let cue = head(&stage).await;
        let kinds = stage.kinds(cue["session"].as_str().unwrap()).await;
        assert!(kinds.contains(&"user_message".to_owned()), "{kinds:?}");
        stage.answer(cue["id"].as_str().unwrap(), json!({"text": "bye"})).await.is(200);
    };
    tokio::join!(play(&case, &options), people);
}

#[tokio::test]
async fn a_dismissed_cue_ends_the_case_with_an_error() {
    let stage = Stage::open().await;
    let (run, options) = begin(&stage).await;
    let case = by_person().people(run.case(0));
    let people = async {
        let cue = head(&stage).await;
        let id = cue["id"].as_str().unwrap();
        stage.post(&format!("/v1/cues/{id}/dismiss"), json!({})).await.is(200);
    };
    let (played, ()) = tokio::join!(play(&case, &options), people);
    assert_eq!(played.result.status, Verdict::Error);
    let error = played.result.error.as_ref().unwrap();
    assert!(error.message.contains("dismissed"), "{error:?}");
    run.end(RunStatus::Error, Value::Null).await.unwrap();
    assert_eq!(sessions_of(&stage, &run).await[0]["status"], "cancelled");
}

#[tokio::test]
async fn cues_of_a_run_that_goes_are_put_away() {
    let stage = Stage::open().await;
    let (run, options) = begin(&stage).await;
    let case = by_person().people(run.case(0));
    let id = {
        let mut playing = play(&case, &options);
        tokio::select! {
            _ = &mut playing => panic!("nobody has answered"),
            cue = head(&stage) => cue["id"].as_str().unwrap().to_owned(),
        }
    };
    // The case was dropped; when the run has ended, nothing of it is open.
    run.end(RunStatus::Interrupted, Value::Null).await.unwrap();
    assert_eq!(stage.get(&format!("/v1/cues/{id}")).await.is(200)["status"], "dismissed");
    assert_eq!(stage.get(&format!("/v1/runs/{}", run.id())).await.is(200)["status"], "interrupted");
}

/// A ledger that has begun.
fn begun(stage: &Stage) -> Ledger {
    let mut ledger = Ledger::new(SessionId::new(uuid()));
    let start =
        SessionStarted { version: LEDGER_VERSION, agent: "clerk".into(), ..SessionStarted::default() };
    add(stage, &mut ledger, EventBody::SessionStarted(start));
    add(stage, &mut ledger, EventBody::UserMessage { content: Content::user("hi").into() });
    ledger
}

fn add(stage: &Stage, ledger: &mut Ledger, body: EventBody) -> Arc<Event> {
    ledger.append(Draft::new(stage.clock.now(), "clerk", body)).unwrap().clone()
}

fn noted(stage: &Stage, ledger: &mut Ledger) -> Arc<Event> {
    add(stage, ledger, EventBody::Note { name: "seen".into(), data: json!({}) })
}

/// The ledgers that are kept of a run.
async fn kept_ledgers(stage: &Stage, run: &KeptRun) -> Vec<String> {
    let mut ledgers = Vec::new();
    for session in sessions_of(stage, run).await {
        let path = format!("/v1/sessions/{}/ledger", session["id"].as_str().unwrap());
        ledgers.push(stage.get(&path).await.text);
    }
    ledgers
}

#[tokio::test]
async fn a_store_that_failed_for_a_moment_has_the_ledgers_whole() {
    let stage = Stage::open().await;
    let store = Arc::new(Shaky::new(stage.store().await));
    let run = KeptRun::begin(store.clone(), stage.clock.clone(), "t", RunAbout::default()).await.unwrap();
    let (mut ledger, mut other) = (begun(&stage), begun(&stage));
    run.case(0).keep(ledger.events()).await.unwrap();
    run.flush().await.unwrap();

    let id = ledger.session().clone();
    let of_it = move |write: &rehearsal_store::Write| write.events.iter().any(|new| new.event.session == id);
    store.on_write(move |write| if of_it(write) { Fate::Refused } else { Fate::Done });
    noted(&stage, &mut ledger);
    run.case(0).keep(&ledger.events()[2..]).await.unwrap();
    run.flush().await.unwrap_err();
    // Who hears of the failure brings it all again, and hears of it again.
    for _ in 0..2 {
        noted(&stage, &mut ledger);
        let error = run.case(0).keep(&ledger.events()[2..]).await.unwrap_err();
        assert!(error.to_string().contains("locked"), "{error}");
    }
    // Another case does not.
    run.case(1).keep(other.events()).await.unwrap();
    run.flush().await.unwrap_err();
    noted(&stage, &mut other);
    run.case(1).keep(&other.events()[2..]).await.unwrap();

    store.on_write(|_| Fate::Done);
    noted(&stage, &mut ledger);
    run.case(0).keep(&ledger.events()[2..]).await.unwrap();
    run.end(RunStatus::Passed, Value::Null).await.unwrap();
    let mut kept = kept_ledgers(&stage, &run).await;
    kept.sort();
    let mut expected = vec![ledger.to_jsonl(), other.to_jsonl()];
    expected.sort();
    assert_eq!(kept, expected);
}

#[tokio::test]
async fn what_was_kept_unheard_is_kept_once() {
    let stage = Stage::open().await;
    let store = Arc::new(Shaky::new(stage.store().await));
    let run = KeptRun::begin(store.clone(), stage.clock.clone(), "t", RunAbout::default()).await.unwrap();
    let mut ledger = begun(&stage);
    let once = || {
        let mut first = true;
        store.on_write(move |write| {
            let unheard = !write.events.is_empty() && std::mem::take(&mut first);
            if unheard { Fate::DoneUnheard } else { Fate::Done }
        });
    };
    once();
    run.case(0).keep(ledger.events()).await.unwrap();
    let _unheard = run.flush().await;
    run.flush().await.unwrap();

    once();
    noted(&stage, &mut ledger);
    run.case(0).keep(&ledger.events()[2..]).await.unwrap();
    let _unheard = run.flush().await;
    noted(&stage, &mut ledger);
    run.case(0).keep(&ledger.events()[2..]).await.unwrap();
    run.end(RunStatus::Passed, Value::Null).await.unwrap();
    assert_eq!(kept_ledgers(&stage, &run).await, [ledger.to_jsonl()]);
}

#[tokio::test]
async fn a_thousand_events_at_once_are_kept_once_whatever_becomes_of_their_writes() {
    for fate in [|| Fate::Refused, || Fate::Away, || Fate::DoneUnheard] {
        for failing in 0..4 {
            let stage = Stage::open().await;
            let store = Arc::new(Shaky::new(stage.store().await));
            let run =
                KeptRun::begin(store.clone(), stage.clock.clone(), "t", RunAbout::default()).await.unwrap();
            let mut writes = 0;
            store.on_write(move |write| {
                writes += i32::from(!write.events.is_empty());
                if writes == failing + 1 && !write.events.is_empty() { fate() } else { Fate::Done }
            });
            let mut ledger = begun(&stage);
            (0..1000).for_each(|_| drop(noted(&stage, &mut ledger)));
            run.case(0).keep(ledger.events()).await.unwrap();
            let _may_fail = run.flush().await;
            noted(&stage, &mut ledger);
            run.case(0).keep(&ledger.events()[2..]).await.unwrap();
            run.end(RunStatus::Passed, Value::Null).await.unwrap();
            assert_eq!(kept_ledgers(&stage, &run).await, [ledger.to_jsonl()]);
        }
    }
}

#[tokio::test]
async fn a_run_outlasts_a_store_that_is_started_again() {
    let stage = Stage::open().await;
    let store = Arc::new(Shaky::new(stage.store().await));
    let run = KeptRun::begin(store.clone(), stage.clock.clone(), "t", RunAbout::default()).await.unwrap();
    let away = || {
        let mut left = 3;
        store.on_write(move |_| {
            let is_away = left > 0;
            left -= i32::from(is_away);
            if is_away { Fate::Away } else { Fate::Done }
        });
    };
    // Events of a case that is told of failures, since one write failed already.
    away();
    let mut ledger = begun(&stage);
    run.case(0).keep(ledger.events()).await.unwrap();
    run.flush().await.unwrap_err();
    noted(&stage, &mut ledger);
    run.case(0).keep(&ledger.events()[2..]).await.unwrap();

    // A cue for a person, and the end.
    away();
    let options =
        RunOptions { clock: stage.clock.clone(), journal: Some(run.case(1)), ..RunOptions::default() };
    let case = by_person().people(run.case(1));
    let people = async {
        let cue = head(&stage).await;
        stage.answer(cue["id"].as_str().unwrap(), json!({"text": "bye"})).await.is(200);
    };
    let (played, ()) = tokio::join!(play(&case, &options), people);
    assert!(played.passed(), "{played}");
    noted(&stage, &mut ledger);
    run.case(0).keep(&ledger.events()[3..]).await.unwrap();
    away();
    store.away.store(3, std::sync::atomic::Ordering::SeqCst);
    run.end(RunStatus::Passed, Value::Null).await.unwrap();
    assert_eq!(stage.get(&format!("/v1/runs/{}", run.id())).await.is(200)["status"], "passed");
    assert!(kept_ledgers(&stage, &run).await.contains(&ledger.to_jsonl()));
}

#[tokio::test]
async fn a_run_waits_on_when_the_store_fails_for_a_moment() {
    let stage = Stage::open().await;
    let store = Arc::new(Shaky::new(stage.store().await));
    let run = KeptRun::begin(store.clone(), stage.clock.clone(), "t", RunAbout::default()).await.unwrap();
    let options =
        RunOptions { clock: stage.clock.clone(), journal: Some(run.case(0)), ..RunOptions::default() };
    let case = by_person().people(run.case(0));
    store.blind.store(1, std::sync::atomic::Ordering::SeqCst);
    let people = async {
        let cue = head(&stage).await;
        stage.answer(cue["id"].as_str().unwrap(), json!({"text": "bye"})).await.is(200);
    };
    let (played, ()) = tokio::join!(play(&case, &options), people);
    assert!(played.passed(), "{played}");
}

#[tokio::test]
async fn nobody_else_writes_to_the_ledger_of_a_run() {
    let stage = Stage::open().await;
    let (run, options) = begin(&stage).await;
    let case = by_person().people(run.case(0));
    let people = async {
        let cue = head(&stage).await;
        let session = cue["session"].as_str().unwrap();
        let late = json!([{"event_id": uuid(), "agent": "clerk", "type": "tool_result", "call_id": "c",
            "tool": "refund", "output": 1, "late": true}]);
        stage.observe(session, late).await.refused(409, "of_a_run");
        let chosen = json!({"agent": "cook"});
        stage.patch(&format!("/v1/sessions/{session}"), chosen).await.refused(409, "of_a_run");
        stage.answer(cue["id"].as_str().unwrap(), json!({"text": "bye"})).await.is(200);
    };
    let (played, ()) = tokio::join!(play(&case, &options), people);
    assert!(played.passed(), "{played}");
    run.end(RunStatus::Passed, Value::Null).await.unwrap();
    assert_eq!(kept_ledgers(&stage, &run).await, [played.main.to_jsonl()]);
}

#[tokio::test]
async fn a_run_that_went_without_a_word_is_interrupted() {
    let stage = Stage::with_grace(std::time::Duration::from_millis(60)).await;
    let (run, _) = begin(&stage).await;
    run.case(0).keep(begun(&stage).events()).await.unwrap();
    run.flush().await.unwrap();
    let path = format!("/v1/runs/{}", run.id());
    let session = sessions_of(&stage, &run).await[0]["id"].as_str().unwrap().to_owned();
    drop(run);
    assert_eq!(stage.get(&path).await.is(200)["status"], "running");
    stage.clock.advance(std::time::Duration::from_mins(11));
    until(|| async { (stage.get(&path).await.is(200)["status"] == "interrupted").then_some(()) }).await;
    assert_eq!(stage.get(&format!("/v1/sessions/{session}")).await.is(200)["status"], "cancelled");
}
