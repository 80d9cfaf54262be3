//! Nothing is lost when the server is.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use rehearsal_core::{Clock as _, EndReason, Event, EventBody, SessionId};
use rehearsal_server::adksim::Adksim;
use rehearsal_store::{NewEvent, Payload, SessionStatus, Store as _, Write};
use reqwest::Method;
use serde_json::{Value, json};

use crate::shaky::Shaky;
use crate::stage::{Reply, Stage, asks, soon, until, uuid};

/// Asks for an answer until it comes, whatever becomes of the server meanwhile.
async fn persistent(call: impl Fn() -> reqwest::RequestBuilder) -> Value {
    until(|| async {
        let response = call().send().await.ok()?;
        if response.status() != 200 {
            return None;
        }
        response.json().await.ok()
    })
    .await
}

#[tokio::test]
async fn open_cues_are_open_again_and_answers_arrive_after_a_kill() {
    let mut stage = Stage::open().await;
    let session = stage.session().await;
    let answered = stage.ask(&session, asks("clerk", "first")).await;
    let taken = stage.answer(&answered, json!({"text": "one"})).await.is(200);
    let open = stage.ask(&session, asks("clerk", "second")).await;
    let queued = stage.ask(&session, asks("cook", "third")).await;
    let events = stage.get(&format!("/v1/sessions/{session}/events")).await.is(200);
    let path = |turn: &str| format!("/v1/sessions/{session}/turns/{turn}/response?wait=1");
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let agent = {
        let (http, url) = (http.clone(), stage.url(&path(&open)));
        tokio::spawn(persistent(move || http.get(&url).bearer_auth(crate::stage::TOKEN)))
    };
    until(|| async { (stage.figure("rehearsal_waiting").await == Some(1.0)).then_some(()) }).await;

    stage.kill().await;
    stage.start().await;
    assert_eq!(stage.get(&format!("/v1/sessions/{session}/events")).await.is(200), events);
    let cues = stage.get("/v1/cues").await.is(200);
    let open_now: Vec<_> =
        cues["cues"].as_array().unwrap().iter().map(|cue| (&cue["id"], &cue["status"])).collect();
    assert_eq!(open_now, [(&json!(open), &json!("open")), (&json!(queued), &json!("open"))]);
    // What was answered before is heard now.
    assert_eq!(stage.get(&path(&answered)).await.is(200)["event_id"], taken["event_id"]);
    stage.answer(&queued, json!({"text": "?"})).await.refused(409, "not_the_head");
    let taken = stage.answer(&open, json!({"text": "two"})).await.is(200);
    assert_eq!(soon(agent).await.unwrap()["event_id"], taken["event_id"]);
}

#[tokio::test]
async fn what_was_acknowledged_before_a_kill_is_there_once() {
    let mut stage = Stage::open().await;
    let session = stage.session().await;
    stage.post(&format!("/v1/sessions/{session}/query"), json!({"text": "go"})).await.is(200);
    let mut acknowledged = Vec::new();
    for round in 0..5 {
        // The last ones are still under way when the server is killed.
        let changes: Vec<Value> = (0..30)
            .map(|number| {
                json!([{"event_id": uuid(), "agent": "clerk", "type": "state_change",
                "state_delta": {format!("k{round}"): number}}])
            })
            .collect();
        for change in &changes[..20] {
            stage.observe(&session, change.clone()).await.is(200);
        }
        let sent = |change: &Value| {
            stage
                .call(Method::POST, &format!("/v1/sessions/{session}/events"))
                .json(&json!({"events": change}))
                .send()
        };
        let cut: Vec<_> = changes[20..].iter().map(sent).map(tokio::spawn).collect();
        stage.kill().await;
        for task in cut {
            drop(soon(task).await.unwrap());
        }
        stage.start().await;
        // Whoever did not hear says it again.
        for change in changes {
            stage.observe(&session, change.clone()).await.is(200);
            acknowledged.push(change[0]["event_id"].clone());
        }
    }
    let events = stage.get(&format!("/v1/sessions/{session}/events?after=3&limit=1000")).await.is(200);
    let mut kept: Vec<String> =
        events["events"].as_array().unwrap().iter().map(|event| event["event_id"].to_string()).collect();
    let mut expected: Vec<String> = acknowledged.iter().map(ToString::to_string).collect();
    kept.sort();
    expected.sort();
    assert_eq!(kept, expected);
}

#[tokio::test]
async fn a_server_that_was_ended_starts_again_on_its_port() {
    let mut stage = Stage::open().await;
    let session = stage.session().await;
    stage.end().await;
    let refused = stage.call(Method::GET, "/healthz").send().await;
    assert!(refused.is_err());
    stage.start().await;
    stage.get(&format!("/v1/sessions/{session}")).await.is(200);
}

/// Two servers over one store; what one remembers may be old.
#[tokio::test]
async fn nobody_is_refused_for_what_another_server_has_changed() {
    let stage = Stage::open().await;
    let session = stage.session().await;
    let other = rehearsal_server::Desk::new(
        stage.store().await,
        stage.clock.clone(),
        Arc::new(Adksim),
        std::time::Duration::from_hours(1),
    );
    let id = session.as_str().into();
    let seen = |kind: &str, more: Value| {
        let mut seen = json!({"event_id": uuid(), "agent": "clerk", "type": kind});
        seen.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        seen
    };
    let observation = |seen: Value| vec![serde_json::from_value(seen).unwrap()];
    for number in 0..3 {
        let call = format!("c{number}");
        let query = serde_json::from_value(json!({"text": "go"})).unwrap();
        if number == 0 {
            other.query(&id, &query).await.unwrap();
        }
        stage
            .observe(&session, json!([seen("tool_call", json!({"call_id": call, "tool": "add"}))]))
            .await
            .is(200);
        // The other one has not seen the call.
        let result = seen("tool_result", json!({"call_id": call, "tool": "add", "output": number}));
        other.observe(&id, observation(result)).await.unwrap();
    }
    let ended = seen("agent_ended", json!({"output": "done"}));
    other.observe(&id, observation(ended)).await.unwrap();
    // This one has not seen the final response.
    Reply::to(stage.call(Method::POST, &format!("/v1/sessions/{session}/complete"))).await.is(200);
}

/// The session's row and its events are of one moment, even when somebody writes while they are read.
#[tokio::test]
async fn a_session_is_seen_at_one_moment() {
    let stage = Stage::open().await;
    let session = stage.session().await;
    let id: SessionId = session.as_str().into();
    let store = Arc::new(Shaky::new(stage.store().await));
    let desk = rehearsal_server::Desk::new(
        store.clone(),
        stage.clock.clone(),
        Arc::new(Adksim),
        std::time::Duration::from_hours(1),
    );
    let last = store.session(&id).await.unwrap().unwrap().last_seq;
    let event = Event {
        seq: last + 1,
        session: id.clone(),
        at: stage.clock.now(),
        author: "rehearsal".into(),
        invocation: None,
        turn: None,
        decision: None,
        body: EventBody::SessionEnded { reason: EndReason::Cancelled },
    };
    let mut write = Write::new(id.clone(), stage.clock.now().as_millisecond(), last);
    let (event, blob) = (Arc::new(event), bytes::Bytes::new());
    write.events = vec![NewEvent { event_id: uuid(), payload: Payload::Other, event, blob, line: None }];
    write.status = Some(SessionStatus::Cancelled);
    *store.between.lock().unwrap() = Some(write);
    let seen = desk.session(&id).await.unwrap();
    assert_eq!((seen.status, seen.last_seq), (SessionStatus::Cancelled, last + 1));
}

/// Ledgers that are long as text are read again when they are needed, rather than kept.
#[tokio::test]
async fn long_ledgers_are_not_kept_in_memory() {
    let stage = Stage::open().await;
    let session = stage.session().await;
    let id: SessionId = session.as_str().into();
    let store = Arc::new(Shaky::new(stage.store().await));
    let desk = rehearsal_server::Desk::new(
        store.clone(),
        stage.clock.clone(),
        Arc::new(Adksim),
        std::time::Duration::from_hours(1),
    );
    let reads = async |length: usize| {
        let change = json!({"event_id": uuid(), "agent": "clerk", "type": "state_change",
            "state_delta": {"a": "x".repeat(length)}});
        let before = store.read.load(Ordering::SeqCst);
        desk.observe(&id, vec![serde_json::from_value(change).unwrap()]).await.unwrap();
        store.read.load(Ordering::SeqCst) - before
    };
    assert!(reads(1).await > 0);
    assert_eq!((reads(1 << 20).await, reads(1 << 20).await, reads(3 << 20).await), (0, 0, 0));
    assert!(reads(1).await > 0 && reads(1).await > 0);
}
