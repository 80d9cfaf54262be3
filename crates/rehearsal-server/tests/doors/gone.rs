//! Those who go without a word: what their connections tell, and what becomes of what they asked.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::stage::{Reply, Stage, asks, soon, until, uuid};

/// Waits for something as a process does, until it is killed.
fn wait_at(stage: &Stage, path: &str) -> JoinHandle<Reply> {
    tokio::spawn(Reply::to(stage.call(Method::GET, &format!("{path}?wait=60"))))
}

fn response(session: &str, turn: &str) -> String {
    format!("/v1/sessions/{session}/turns/{turn}/response")
}

async fn waiting(stage: &Stage, count: f64) {
    until(|| async { (stage.figure("rehearsal_waiting").await == Some(count)).then_some(()) }).await;
}

async fn status(stage: &Stage, cue: &str) -> Value {
    stage.get(&format!("/v1/cues/{cue}")).await.is(200)["status"].clone()
}

async fn abandoned(stage: &Stage, cue: &str) {
    until(|| async { (status(stage, cue).await == "abandoned").then_some(()) }).await;
}

async fn asked(stage: &Stage) -> (String, String) {
    let session = stage.session().await;
    let turn = stage.ask(&session, asks("clerk", "hi")).await;
    (session, turn)
}

#[tokio::test]
async fn a_broken_connection_tells_that_an_asker_is_gone() {
    // Nobody is missed for being silent here: only the connection can tell.
    let stage = Stage::open().await;
    let (session, turn) = asked(&stage).await;
    let (other_session, other) = asked(&stage).await;
    let (_, unattended) = asked(&stage).await;
    let (killed, shaken) =
        (wait_at(&stage, &response(&session, &turn)), wait_at(&stage, &response(&other_session, &other)));
    waiting(&stage, 2.0).await;
    // One that comes back at once is not gone.
    shaken.abort();
    waiting(&stage, 1.0).await;
    let back = wait_at(&stage, &response(&other_session, &other));
    waiting(&stage, 2.0).await;

    killed.abort();
    abandoned(&stage, &turn).await;
    assert_eq!(status(&stage, &other).await, "open");
    assert_eq!(status(&stage, &unattended).await, "open");
    stage.answer(&other, json!({"text": "here"})).await.is(200);
    assert_eq!(soon(back).await.unwrap().is(200)["turn_id"], other.as_str());
}

#[tokio::test]
async fn an_answer_that_nobody_would_hear_is_refused() {
    let stage = Stage::with_grace(Duration::from_millis(60)).await;
    let (session, turn) = asked(&stage).await;
    stage.clock.advance(Duration::from_secs(1));
    abandoned(&stage, &turn).await;
    let answer = json!({"text": "in case"});
    let refused = stage.answer(&turn, answer.clone()).await.refused(409, "agent_gone");
    let detail = refused["detail"].as_str().unwrap();
    for part in ["clerk", "was not taken", "?anyway=true", &format!("/v1/cues/{turn}/dismiss")] {
        assert!(detail.contains(part), "{part}: {detail}");
    }
    let call = json!({"tool": "add", "args": {"a": 1, "b": 2}});
    stage.post(&format!("/v1/sessions/{session}/calls"), call).await.refused(409, "agent_gone");
    assert_eq!(stage.kinds(&session).await.last().unwrap(), "model_request");

    // It is kept for whoever comes back, where somebody says so.
    stage.post(&format!("/v1/cues/{turn}/answer?anyway=true"), answer).await.is(200);
    assert_eq!(stage.get(&response(&session, &turn)).await.is(200)["turn_id"], turn.as_str());
}

#[tokio::test]
async fn a_broken_connection_tells_that_a_host_is_gone() {
    let stage = Stage::open().await;
    let [killed, shaken] = [uuid(), uuid()];
    for (id, agent) in [(&killed, "clerk"), (&shaken, "cook")] {
        stage.put(&format!("/v1/hosts/{id}"), json!({"agents": [{"name": agent}]})).await.is(204);
    }
    let session =
        stage.post("/v1/sessions", json!({"agent": "clerk", "query": {"text": "hi"}})).await.is(201);
    let session = format!("/v1/sessions/{}", session["id"].as_str().unwrap());
    stage.get(&format!("/v1/hosts/{killed}/work")).await.is(200);
    assert_eq!(stage.get(&session).await.is(200)["host_online"], true);
    let work = |host: &str| format!("/v1/hosts/{host}/work");
    let (one, two) = (wait_at(&stage, &work(&killed)), wait_at(&stage, &work(&shaken)));
    // They wait once the server has taken their calls.
    until(|| async { (stage.figure("rehearsal_hosts_waiting").await == Some(2.0)).then_some(()) }).await;
    two.abort();
    until(|| async { (stage.figure("rehearsal_hosts_waiting").await == Some(1.0)).then_some(()) }).await;
    let _back = wait_at(&stage, &work(&shaken));
    until(|| async { (stage.figure("rehearsal_hosts_waiting").await == Some(2.0)).then_some(()) }).await;

    one.abort();
    until(|| async { (stage.get(&session).await.is(200)["host_online"] == false).then_some(()) }).await;
    assert_eq!(stage.get("/v1/agents/clerk").await.is(200)["online"], false);
    assert_eq!(stage.get("/v1/agents/cook").await.is(200)["online"], true);
    stage.post(&format!("{session}/query"), json!({"text": "more"})).await.refused(409, "host_offline");
    // It was only away for longer than usual.
    stage.get(&work(&killed)).await.is(204);
    assert_eq!(stage.get(&session).await.is(200)["host_online"], true);
}

/// A session that a program plays by itself, with a tool that runs.
async fn program(stage: &Stage) -> (String, String) {
    let (program, session) = (uuid(), stage.session().await);
    stage.put(&format!("/v1/hosts/{program}"), json!({"name": "shop.py", "agents": []})).await.is(204);
    let view = stage.patch(&format!("/v1/sessions/{session}"), json!({"program": program})).await.is(200);
    assert_eq!((&view["program"], &view["program_online"]), (&json!(program), &json!(true)));
    let events = json!([
        {"event_id": uuid(), "type": "user_message", "agent": "clerk", "content": {"role": "user", "parts": [{"text": "hi"}]}},
        {"event_id": uuid(), "type": "tool_call", "agent": "clerk", "call_id": "c", "tool": "add", "args": {}},
    ]);
    stage.observe(&session, events).await.is(200);
    (program, session)
}

#[tokio::test]
async fn a_program_is_asked_to_cancel_its_tools() {
    let stage = Stage::open().await;
    let (program, session) = program(&stage).await;
    stage.post(&format!("/v1/sessions/{session}/calls/c/cancel"), json!({})).await.is(202);
    let work = stage.get(&format!("/v1/hosts/{program}/work")).await.is(200);
    assert_eq!(
        (&work["kind"], &work["call_id"], &work["session"]),
        (&json!("cancel"), &json!("c"), &json!(session))
    );
    // A message is the program's own to hear: it is not given to it as work.
    assert!(stage.get("/v1/agents").await.is(200)["agents"].as_array().unwrap().is_empty());

    // Where the program is gone, the call ends here.
    stage.delete(&format!("/v1/hosts/{program}")).await.is(204);
    assert_eq!(stage.get(&format!("/v1/sessions/{session}")).await.is(200)["program_online"], false);
    let listed = stage.get("/v1/sessions").await.is(200);
    assert_eq!(listed["sessions"][0]["program_online"], false, "a list says so too: {listed}");
    stage.post(&format!("/v1/sessions/{session}/calls/c/cancel"), json!({})).await.is(202);
    let last = stage.bodies(&session).await.pop().unwrap();
    assert_eq!(last["outcome"]["error"]["type"], "Cancelled", "{last}");
}

#[tokio::test]
async fn a_program_exports_what_it_played() {
    let stage = Stage::open().await;
    let (program, session) = program(&stage).await;
    let events = json!([
        {"event_id": uuid(), "type": "tool_result", "agent": "clerk", "call_id": "c", "tool": "add", "duration_ms": 1, "output": {"sum": 3}},
        {"event_id": uuid(), "type": "agent_ended", "agent": "clerk", "output": "3"},
    ]);
    stage.observe(&session, events).await.is(200);
    stage.post(&format!("/v1/sessions/{session}/complete"), json!({})).await.is(200);
    let path = format!("/v1/sessions/{session}/export");
    let exporting = tokio::spawn(Reply::to(stage.call(Method::POST, &path).json(&json!({}))));
    let work = stage.get(&format!("/v1/hosts/{program}/work?wait=60")).await.is(200);
    assert_eq!((&work["kind"], &work["session"]), (&json!("export"), &json!(session)));
    let done = json!({"done": {"path": "/tmp/a.evalset.json", "eval_id": session}});
    let id = work["id"].as_str().unwrap();
    stage.post(&format!("/v1/hosts/{program}/work/{id}"), done).await.is(204);
    assert_eq!(soon(exporting).await.unwrap().is(200)["path"], "/tmp/a.evalset.json");

    stage.delete(&format!("/v1/hosts/{program}")).await.is(204);
    let refused = stage.post(&path, json!({"again": true})).await.refused(409, "host_offline");
    let line = format!("rehearse export {session} --evalset FILE");
    assert!(refused["detail"].as_str().unwrap().contains(&line), "{refused}");
}
