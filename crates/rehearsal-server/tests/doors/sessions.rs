//! Sessions: made, found, spoken to, ended, taken out and in.

use std::time::Duration;

use rehearsal_core::Ledger;
use reqwest::Method;
use serde_json::{Value, json};

use crate::stage::{Reply, Stage, asks, soon, uuid};

#[tokio::test]
async fn a_session_goes_from_choosing_an_agent_to_its_final_response() {
    let stage = Stage::open().await;
    let made = stage.post("/v1/sessions", json!({"description": "sums"})).await.is(201);
    assert_eq!(
        (made["state"].as_str(), made["status"].as_str(), made["source"].as_str(), made["last_seq"].as_u64()),
        (Some("selecting_agent"), Some("active"), Some("api"), Some(1))
    );
    let path = format!("/v1/sessions/{}", made["id"].as_str().unwrap());
    let stands = async || stage.get(&path).await.is(200)["state"].as_str().unwrap().to_owned();
    let query = format!("{path}/query");
    let complete = format!("{path}/complete");

    let problem = stage.post(&query, json!({"text": "2+2?"})).await.refused(409, "no_agent");
    assert!(problem["detail"].as_str().unwrap().contains("PATCH"), "{problem}");
    stage.patch(&path, json!({"agent": "clerk"})).await.is(200);
    assert_eq!(stands().await, "awaiting_query");
    stage.patch(&path, json!({"agent": "clerk"})).await.is(200);
    stage.patch(&path, json!({"agent": "other"})).await.refused(409, "agent_chosen");
    stage.post(&complete, json!({})).await.refused(409, "no_final_response");

    for nothing in [json!({}), json!({"text": ""}), json!({"text": "a", "value": 1}), json!({"content": {}})]
    {
        assert_eq!(stage.post(&query, nothing).await.status, 422);
    }
    assert_eq!(stage.post(&query, json!({"text": "2+2?"})).await.is(200)["state"], "active");
    stage.post(&query, json!({"text": "and?"})).await.refused(409, "running");
    let problem = stage.post(&complete, json!({})).await.refused(409, "no_final_response");
    assert!(problem["detail"].as_str().unwrap().contains("/cancel"), "{problem}");

    let session = made["id"].as_str().unwrap();
    let turn = stage.ask(session, asks("clerk", "2+2?")).await;
    let shown = stage.get(&path).await.is(200);
    assert_eq!((shown["head"].as_str(), shown["open_cues"].as_u64()), (Some(turn.as_str()), Some(1)));
    stage.answer(&turn, json!({"text": "4"})).await.is(200);
    stage
        .observe(
            session,
            json!([{"event_id": uuid(), "agent": "clerk", "type": "agent_ended", "output": "4"}]),
        )
        .await
        .is(200);
    assert_eq!(stage.post(&complete, json!({})).await.is(200)["state"], "completed");
    assert_eq!(stands().await, "completed");

    let history = stage.get(&format!("{path}/history")).await.is(200);
    let entries = history["entries"].as_array().unwrap();
    let told: Vec<_> =
        entries.iter().map(|entry| (entry["type"].as_str(), entry["content"].as_str())).collect();
    assert_eq!(told, [(Some("user_query"), Some("2+2?")), (Some("final_response"), Some("4"))]);
    let case = stage.get(&format!("{path}/eval-case?colons=false")).await.is(200);
    assert_eq!(case["eval_id"], "clerk_2026-01-01T12-00-00");
    assert_eq!(case["conversation"].as_array().unwrap().len(), 1);

    // Status changes once; who asks for it again gets what they asked for.
    let again = stage.post(&format!("{path}/complete"), json!({})).await.is(200);
    assert_eq!(again["status"], "completed");
    for (call, body) in [("cancel", json!({})), ("query", json!({"text": "more"}))] {
        stage.post(&format!("{path}/{call}"), body).await.refused(409, "session_ended");
    }
    let late = stage.put(&format!("{path}/turns/{}", uuid()), asks("clerk", "more")).await;
    late.refused(409, "session_ended");
    let seen =
        json!([{"event_id": uuid(), "agent": "clerk", "type": "state_change", "state_delta": {"a": 1}}]);
    stage.observe(session, seen).await.refused(409, "session_ended");
}

#[tokio::test]
async fn cancelling_dismisses_cues_and_sends_home_who_waits() {
    let stage = Stage::open().await;
    let session = stage.session().await;
    let first = stage.ask(&session, asks("clerk", "hi")).await;
    let second = stage.ask(&session, asks("other", "hi")).await;
    let waits = |turn: &str| {
        let path = format!("/v1/sessions/{session}/turns/{turn}/response?wait=60");
        tokio::spawn(Reply::to(stage.call(Method::GET, &path)))
    };
    let waiting = [waits(&first), waits(&second)];
    crate::stage::until(|| async { (stage.figure("rehearsal_waiting").await == Some(2.0)).then_some(()) })
        .await;

    let reason = json!({"reason": "wrong agent"});
    let ended = stage.post(&format!("/v1/sessions/{session}/cancel"), reason).await.is(200);
    assert_eq!((ended["state"].as_str(), ended["open_cues"].as_u64()), (Some("cancelled"), Some(0)));
    for waiting in waiting {
        soon(waiting).await.unwrap().refused(410, "session_ended");
    }
    assert_eq!(stage.get(&format!("/v1/cues/{first}")).await.is(200)["status"], "dismissed");
    stage.answer(&first, json!({"text": "late"})).await.refused(410, "dismissed");
    let bodies = stage.bodies(&session).await;
    assert!(bodies.iter().any(|body| body["reason"] == "wrong agent"), "{bodies:?}");
    assert_eq!(bodies.last().unwrap()["type"], "session_ended");
    stage.get(&format!("/v1/sessions/{session}/eval-case")).await.refused(409, "not_exportable");
}

#[tokio::test]
async fn a_session_is_not_completed_in_the_middle_of_a_run() {
    let stage = Stage::open().await;
    let session = stage.session().await;
    let complete = format!("/v1/sessions/{session}/complete");
    // An agent of two steps: what the first one says is not the answer yet.
    let first = stage.ask(&session, asks("writer", "a poem")).await;
    stage.answer(&first, json!({"text": "a draft"})).await.is(200);
    let second = stage.ask(&session, asks("critic", "a poem")).await;
    let problem = stage.post(&complete, json!({})).await.refused(409, "running");
    assert_eq!(problem["head"], second, "{problem}");
    assert_eq!(stage.get(&format!("/v1/cues/{second}")).await.is(200)["status"], "open");

    let call =
        json!([{"event_id": uuid(), "agent": "critic", "type": "tool_call", "call_id": "c1", "tool": "add"}]);
    stage.observe(&session, call).await.is(200);
    stage.answer(&second, json!({"text": "a good one"})).await.is(200);
    let problem = stage.post(&complete, json!({})).await.refused(409, "running");
    assert_eq!(problem["call_id"], "c1", "{problem}");
    let result = json!([{"event_id": uuid(), "agent": "critic", "type": "tool_result", "call_id": "c1", "tool": "add",
        "output": 1}]);
    stage.observe(&session, result).await.is(200);
    assert_eq!(stage.post(&complete, json!({})).await.is(200)["state"], "completed");
}

#[tokio::test]
async fn what_was_dismissed_does_not_hold_up_the_end() {
    let stage = Stage::open().await;
    let session = stage.session().await;
    let first = stage.ask(&session, asks("clerk", "hi")).await;
    stage.answer(&first, json!({"text": "hello"})).await.is(200);
    let second = stage.ask(&session, asks("clerk", "hi")).await;
    stage.post(&format!("/v1/cues/{second}/dismiss"), json!({})).await.is(200);
    stage.post(&format!("/v1/sessions/{session}/complete"), json!({})).await.is(200);
}

#[tokio::test]
async fn an_empty_answer_is_no_final_response() {
    let stage = Stage::open().await;
    let session = stage.session().await;
    let ended =
        |output: &str| json!({"event_id": uuid(), "agent": "clerk", "type": "agent_ended", "output": output});
    let content = json!({"role": "user", "parts": [{"text": "hi"}]});
    let said = json!({"event_id": uuid(), "agent": "clerk", "type": "user_message", "content": content});
    stage.observe(&session, json!([said, ended(" ")])).await.is(200);
    let complete = format!("/v1/sessions/{session}/complete");
    stage.post(&complete, json!({})).await.refused(409, "no_final_response");
    stage.observe(&session, json!([ended("hello")])).await.is(200);
    stage.post(&complete, json!({})).await.is(200);
    stage.get(&format!("/v1/sessions/{session}/eval-case")).await.is(200);
}

#[tokio::test]
async fn cancelling_a_session_ends_its_calls() {
    let stage = Stage::open().await;
    let session = stage.session().await;
    stage.ask(&session, asks("clerk", "hi")).await;
    let call =
        json!([{"event_id": uuid(), "agent": "clerk", "type": "tool_call", "call_id": "c1", "tool": "add"}]);
    stage.observe(&session, call).await.is(200);
    stage.post(&format!("/v1/sessions/{session}/cancel"), json!({})).await.is(200);
    let bodies = stage.bodies(&session).await;
    let result = bodies.iter().find(|body| body["type"] == "tool_result").unwrap();
    assert_eq!(result["outcome"]["error"]["type"], "Cancelled", "{result}");
    let late = json!([{"event_id": uuid(), "agent": "clerk", "type": "tool_result", "call_id": "c1", "tool": "add",
        "output": 1, "late": true}]);
    stage.observe(&session, late).await.is(200);
    assert_eq!(stage.bodies(&session).await.last().unwrap()["type"], "late_result");
}

#[tokio::test]
async fn sessions_that_ended_are_listed_whichever_way_they_did() {
    let stage = Stage::open().await;
    let (live, cancelled, completed) = (stage.session().await, stage.session().await, stage.session().await);
    stage.post(&format!("/v1/sessions/{cancelled}/cancel"), json!({})).await.is(200);
    let turn = stage.ask(&completed, asks("clerk", "hi")).await;
    stage.answer(&turn, json!({"text": "hello"})).await.is(200);
    stage.post(&format!("/v1/sessions/{completed}/complete"), json!({})).await.is(200);
    let listed = async |status: &str| {
        let page = stage.get(&format!("/v1/sessions?status={status}")).await.is(200);
        let mut ids: Vec<String> = page["sessions"]
            .as_array()
            .unwrap()
            .iter()
            .map(|session| session["id"].as_str().unwrap().to_owned())
            .collect();
        ids.sort();
        ids
    };
    let mut ended = vec![cancelled, completed];
    ended.sort();
    assert_eq!(listed("ended").await, ended);
    assert_eq!(listed("active").await, [live]);
}

#[tokio::test]
async fn a_session_is_cancelled_without_a_body_too() {
    let stage = Stage::open().await;
    let path = format!("/v1/sessions/{}/cancel", stage.session().await);
    Reply::to(stage.call(Method::POST, &path)).await.is(200);
}

#[tokio::test]
async fn making_a_session_twice_makes_it_once() {
    let stage = Stage::open().await;
    let host = json!({"agents": [{"name": "clerk"}]});
    Reply::to(stage.call(Method::PUT, &format!("/v1/hosts/{}", uuid())).json(&host)).await.is(204);
    let id = uuid();
    let asked = json!({
        "id": id.to_uppercase(), "agent": "clerk", "description": "d".repeat(700),
        "state": {"a": {"b": 1}, "user:name": "Ada", "temp:gone": 1}, "query": {"text": "hello"},
    });
    let made = stage.post("/v1/sessions", asked.clone()).await.is(201);
    assert_eq!(made["id"].as_str(), Some(id.as_str()));
    assert_eq!(made["state"], "active");
    let again = stage.post("/v1/sessions", asked.clone()).await.is(200);
    assert_eq!(again, made);
    let others = [
        json!({"id": id}),
        merged(&asked, json!({"description": "other"})),
        merged(&asked, json!({"agent": "other"})),
        merged(&asked, json!({"state": {}})),
        merged(&asked, json!({"query": {"text": "bye"}})),
        merged(&asked, json!({"keep_open": true})),
    ];
    for other in others {
        stage.post("/v1/sessions", other).await.refused(409, "exists");
    }
    let started = &stage.bodies(&id).await[0];
    assert_eq!(started["state"], json!({"session": {"a": {"b": 1}}, "user": {"name": "Ada"}}), "{started}");
}

#[expect(clippy::needless_pass_by_value, reason = "values are written where they are used")]
fn merged(base: &Value, more: Value) -> Value {
    let mut base = base.as_object().unwrap().clone();
    base.extend(more.as_object().unwrap().clone());
    Value::Object(base)
}

#[tokio::test]
async fn a_long_description_is_cut_to_500_characters() {
    let stage = Stage::open().await;
    let made = stage.post("/v1/sessions", json!({"description": "é".repeat(501)})).await.is(201);
    assert_eq!(made["description"].as_str().unwrap(), "é".repeat(500));
}

#[tokio::test]
async fn ids_are_uuid4_and_names_are_short() {
    let stage = Stage::open().await;
    let bad = [
        "s-1",
        "",
        "c232ab00-9414-11ec-b3c8-9e6bdeced846",
        "3f2a4b1c9d8e4c7aa5b60c1d2e3f4a5b",
        "00000000-0000-0000-0000-000000000000",
        "3f2a4b1c-9d8e-4c7a-05b6-0c1d2e3f4a5b",
    ];
    for id in bad {
        stage.post("/v1/sessions", json!({"id": id})).await.refused(422, "invalid_id");
    }
    for agent in [String::new(), " ".to_owned(), "a".repeat(101)] {
        stage.post("/v1/sessions", json!({"agent": agent})).await.refused(422, "invalid_agent_name");
    }
    stage.post("/v1/sessions", json!({"agent": "ä".repeat(100)})).await.is(201);
    stage.post("/v1/sessions", json!({"query": {"text": "hi"}})).await.refused(422, "no_agent");
}

#[tokio::test]
async fn every_call_about_a_session_knows_which_sessions_there_are() {
    let stage = Stage::open().await;
    let turn = uuid();
    let calls = [
        ("GET", String::new(), Value::Null),
        ("PATCH", String::new(), json!({"agent": "clerk"})),
        ("DELETE", String::new(), Value::Null),
        ("POST", "/query".to_owned(), json!({"text": "hi"})),
        ("POST", "/complete".to_owned(), Value::Null),
        ("POST", "/cancel".to_owned(), json!({})),
        ("GET", "/ledger".to_owned(), Value::Null),
        ("GET", "/history".to_owned(), Value::Null),
        ("GET", "/eval-case".to_owned(), Value::Null),
        ("POST", "/export".to_owned(), Value::Null),
        ("GET", "/events".to_owned(), Value::Null),
        ("GET", "/events/1".to_owned(), Value::Null),
        ("GET", "/events/stream".to_owned(), Value::Null),
        (
            "POST",
            "/events".to_owned(),
            json!({"events": [{
            "event_id": uuid(), "agent": "clerk", "type": "state_change", "state_delta": {}}]}),
        ),
        ("PUT", format!("/turns/{turn}"), asks("clerk", "hi")),
        ("GET", format!("/turns/{turn}/response"), Value::Null),
        ("POST", "/calls".to_owned(), json!({"tool": "add"})),
        ("POST", "/calls/c1/cancel".to_owned(), Value::Null),
    ];
    for (method, rest, body) in calls {
        for (id, status, kind) in [(uuid(), 404, "not_found"), ("s-1".to_owned(), 422, "invalid_id")] {
            let call = stage.call(method.parse().unwrap(), &format!("/v1/sessions/{id}{rest}"));
            let reply = Reply::to(if body.is_null() { call } else { call.json(&body) }).await;
            assert_eq!(
                (reply.status, reply.json()["type"].as_str()),
                (status, Some(kind)),
                "{method} {rest}"
            );
        }
    }
}

#[tokio::test]
async fn sessions_are_listed_newest_first_in_pages() {
    let stage = Stage::open().await;
    let mut made = Vec::new();
    for number in 0..5 {
        stage.clock.advance(Duration::from_secs(1));
        let agent = if number % 2 == 0 { "even" } else { "odd" };
        let asked = json!({"agent": agent, "description": format!("Größe {number}")});
        made.push(stage.post("/v1/sessions", asked).await.is(201)["id"].as_str().unwrap().to_owned());
    }
    made.reverse();
    let ids = |page: &Value| -> Vec<String> {
        let sessions = page["sessions"].as_array().unwrap();
        sessions.iter().map(|session| session["id"].as_str().unwrap().to_owned()).collect()
    };
    let mut seen = Vec::new();
    let mut path = "/v1/sessions?page_size=2".to_owned();
    loop {
        let page = stage.get(&path).await.is(200);
        assert!(page["sessions"].as_array().unwrap().len() <= 2);
        seen.extend(ids(&page));
        // Sessions that come meanwhile do not move the pages.
        stage.clock.advance(Duration::from_secs(1));
        stage.post("/v1/sessions", json!({})).await.is(201);
        let Some(token) = page["next_page_token"].as_str() else { break };
        path = format!("/v1/sessions?page_size=2&page_token={token}");
    }
    assert_eq!(seen, made);

    let found = async |query: &str| ids(&stage.get(&format!("/v1/sessions?{query}")).await.is(200));
    assert_eq!(found("q=GR%C3%96SSE%203").await, Vec::<String>::new());
    assert_eq!(found("q=GR%C3%96%C3%9FE%203").await, [made[1].clone()]);
    assert_eq!(found(&format!("q={}", made[4])).await, [made[4].clone()]);
    assert_eq!(found("agent=odd").await, [made[1].clone(), made[3].clone()]);
    assert_eq!(found("agent=odd&q=gr&status=completed").await, Vec::<String>::new());
    stage.post(&format!("/v1/sessions/{}/cancel", made[3]), json!({})).await.is(200);
    assert_eq!(found("status=cancelled").await, [made[3].clone()]);

    for wrong in ["page_size=0", "page_size=1001", "page_size=x", "status=odd", "colour=red"] {
        stage.get(&format!("/v1/sessions?{wrong}")).await.refused(422, "invalid_parameters");
    }
    for list in ["sessions", "runs"] {
        stage.get(&format!("/v1/{list}?page_token=nonsense")).await.refused(422, "invalid_page_token");
    }
}

#[tokio::test]
async fn a_removed_session_is_gone_for_everybody() {
    let stage = Stage::open().await;
    let session = stage.session().await;
    let turn = stage.ask(&session, asks("clerk", "hi")).await;
    let path = format!("/v1/sessions/{session}");
    let waiting =
        tokio::spawn(Reply::to(stage.call(Method::GET, &format!("{path}/turns/{turn}/response?wait=60"))));
    let stream = soon(stage.call(Method::GET, &format!("{path}/events/stream")).send()).await.unwrap();
    crate::stage::until(|| async { (stage.figure("rehearsal_waiting").await == Some(1.0)).then_some(()) })
        .await;

    stage.delete(&path).await.is(204);
    soon(waiting).await.unwrap().refused(404, "not_found");
    assert!(soon(stream.text()).await.unwrap().contains("history complete"), "the stream ends");
    stage.get(&path).await.refused(404, "not_found");
    stage.get(&format!("/v1/cues/{turn}")).await.refused(404, "not_found");
    stage.answer(&turn, json!({"text": "hi"})).await.refused(404, "not_found");
    stage.put(&format!("{path}/turns/{}", uuid()), asks("clerk", "hi")).await.refused(404, "not_found");
    // Its id can be used again.
    stage.post("/v1/sessions", json!({"id": session})).await.is(201);
    assert_eq!(stage.kinds(&session).await, ["session_started"]);
}

#[tokio::test]
async fn a_ledger_goes_out_and_comes_in_again() {
    let stage = Stage::open().await;
    let session = stage.session().await;
    let turn = stage.ask(&session, asks("clerk", "2+2?")).await;
    stage.answer(&turn, json!({"text": "4"})).await.is(200);
    stage.post(&format!("/v1/sessions/{session}/complete"), json!({})).await.is(200);
    let text = stage.get(&format!("/v1/sessions/{session}/ledger")).await.text;
    let ledger = Ledger::from_jsonl(&text).unwrap();
    assert_eq!((ledger.session().as_str(), ledger.to_jsonl()), (session.as_str(), text.clone()));

    let post = |body: String| stage.call(Method::POST, "/v1/ledgers?description=again").body(body);
    let copy = Reply::to(post(text.clone())).await.is(201);
    assert_ne!(copy["id"], session);
    assert_eq!(
        (
            copy["source"].as_str(),
            copy["state"].as_str(),
            copy["agent"].as_str(),
            copy["description"].as_str()
        ),
        (Some("import"), Some("completed"), Some("clerk"), Some("again"))
    );
    let again = stage.get(&format!("/v1/sessions/{}/ledger", copy["id"].as_str().unwrap())).await.text;
    assert_eq!(again, text);

    for garbage in ["", "{}", "hello", &text[..text.len() / 2]] {
        Reply::to(post(garbage.to_owned())).await.refused(422, "invalid_ledger");
    }
}

#[tokio::test]
async fn a_session_takes_several_messages() {
    let stage = Stage::open().await;
    let session = stage.session().await;
    for text in ["one", "two"] {
        stage.post(&format!("/v1/sessions/{session}/query"), json!({"text": text})).await.is(200);
        let turn = stage.ask(&session, asks("clerk", text)).await;
        stage.answer(&turn, json!({"text": format!("{text}!")})).await.is(200);
        let ended = json!([{"event_id": uuid(), "agent": "clerk", "type": "agent_ended", "output": format!("{text}!")}]);
        stage.observe(&session, ended).await.is(200);
    }
    stage.post(&format!("/v1/sessions/{session}/complete"), json!({})).await.is(200);
    let case = stage.get(&format!("/v1/sessions/{session}/eval-case")).await.is(200);
    let ids: Vec<_> =
        case["conversation"].as_array().unwrap().iter().map(|said| &said["invocation_id"]).collect();
    assert_eq!(ids, [&json!(format!("{session}_inv_0")), &json!(format!("{session}_inv_1"))]);
}
