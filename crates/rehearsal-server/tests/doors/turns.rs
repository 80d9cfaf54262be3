//! Model turns and the people who answer them.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};

use crate::stage::{Reply, Stage, asks, soon, until, uuid};

async fn cues(stage: &Stage, query: &str) -> Vec<(String, bool)> {
    let list = stage.get(&format!("/v1/cues?{query}")).await.is(200);
    let view = |cue: &Value| (cue["id"].as_str().unwrap().to_owned(), cue["head"] == true);
    list["cues"].as_array().unwrap().iter().map(view).collect()
}

async fn waiting(stage: &Stage, count: f64) {
    until(|| async { (stage.figure("rehearsal_waiting").await == Some(count)).then_some(()) }).await;
}

async fn status(stage: &Stage, cue: &str) -> String {
    stage.get(&format!("/v1/cues/{cue}")).await.is(200)["status"].as_str().unwrap().to_owned()
}

fn response(session: &str, turn: &str) -> String {
    format!("/v1/sessions/{session}/turns/{turn}/response")
}

#[tokio::test]
async fn cues_of_a_session_are_answered_in_the_order_they_came() {
    let stage = Stage::open().await;
    let (one, two) = (stage.session().await, {
        stage.clock.advance(Duration::from_secs(1));
        stage.session().await
    });
    let mut turns = Vec::new();
    for agent in ["clerk", "cook", "clerk"] {
        turns.push(stage.ask(&one, asks(agent, "hi")).await);
    }
    let other = stage.ask(&two, asks("clerk", "hi")).await;
    let all: Vec<_> =
        turns.iter().zip([true, false, false]).map(|(turn, head)| (turn.clone(), head)).collect();
    assert_eq!(cues(&stage, &format!("session={one}")).await, all);
    assert_eq!(cues(&stage, "").await, [all, vec![(other.clone(), true)]].concat());

    for late in &turns[1..] {
        let problem = stage.answer(late, json!({"text": "?"})).await.refused(409, "not_the_head");
        assert_eq!(problem["head"], turns[0]);
        assert!(problem["detail"].as_str().unwrap().contains(&turns[0]), "{problem}");
    }
    // The other session does not wait for this one.
    stage.answer(&other, json!({"text": "there"})).await.is(200);
    for turn in &turns {
        assert_eq!(stage.get(&format!("/v1/sessions/{one}")).await.is(200)["head"], turn.as_str());
        stage.answer(turn, json!({"text": "here"})).await.is(200);
    }
    assert_eq!(cues(&stage, "").await, []);
    assert_eq!(cues(&stage, "status=answered").await.len(), 4);
    stage.get("/v1/cues?status=lost").await.refused(422, "invalid_parameters");
    stage.get("/v1/cues?session=s-1").await.refused(422, "invalid_id");
}

#[tokio::test]
async fn a_cue_shows_what_is_needed_to_decide() {
    let stage = Stage::open().await;
    let session = stage.session().await;
    let turn = stage.ask(&session, asks("clerk", "2+2?")).await;
    let cue = stage.get(&format!("/v1/cues/{turn}")).await.is(200);
    let request = &cue["prompt"]["request"];
    assert_eq!(request["system"], "Be kind.");
    assert_eq!(request["contents"], json!([{"role": "user", "parts": [{"text": "2+2?"}]}]));
    assert_eq!(request["tools"][0]["name"], "add");
    assert_eq!((&cue["kind"], &cue["agent"], &cue["head"]), (&json!("model"), &json!("clerk"), &json!(true)));
}

#[tokio::test]
async fn a_turn_that_is_sent_again_is_the_same_turn() {
    let stage = Stage::open().await;
    let session = stage.session().await;
    let turn = uuid();
    let path = format!("/v1/sessions/{session}/turns/{turn}");
    let first = stage.put(&path, asks("clerk", "hi")).await.is(201);
    assert_eq!(stage.put(&path, asks("clerk", "hi")).await.is(200), first);
    for other in [asks("clerk", "ho"), asks("cook", "hi")] {
        stage.put(&path, other).await.refused(409, "other_payload");
    }
    assert_eq!(cues(&stage, "").await.len(), 1);
    // Also after it was answered and its session has ended.
    stage.answer(&turn, json!({"text": "there"})).await.is(200);
    stage.post(&format!("/v1/sessions/{session}/complete"), json!({})).await.is(200);
    assert_eq!(stage.put(&path, asks("clerk", "hi")).await.is(200), first);

    let elsewhere = stage.session().await;
    stage
        .put(&format!("/v1/sessions/{elsewhere}/turns/{turn}"), asks("clerk", "hi"))
        .await
        .refused(409, "exists");
    stage
        .put(&format!("/v1/sessions/{elsewhere}/turns/t-1"), asks("clerk", "hi"))
        .await
        .refused(422, "invalid_id");
    let nobody = stage.put(&format!("/v1/sessions/{elsewhere}/turns/{}", uuid()), asks("", "hi")).await;
    nobody.refused(422, "invalid_agent_name");
    assert_eq!(stage.kinds(&elsewhere).await, ["session_started"], "nothing of it was written");
}

#[tokio::test]
async fn a_turn_sent_many_times_at_once_is_taken_once() {
    let stage = Stage::open().await;
    let session = stage.session().await;
    let path = format!("/v1/sessions/{session}/turns/{}", uuid());
    let sent = (0..20).map(|_| stage.put(&path, asks("clerk", "hi")));
    let replies = futures::future::join_all(sent).await;
    let made = replies.iter().filter(|reply| reply.status == 201).count();
    let ids: std::collections::BTreeSet<String> =
        replies.iter().map(|reply| reply.json()["event_id"].to_string()).collect();
    assert_eq!((made, ids.len()), (1, 1), "{replies:?}");
    assert_eq!(stage.kinds(&session).await.iter().filter(|kind| *kind == "model_request").count(), 1);
}

#[tokio::test]
async fn contents_may_be_empty_and_of_role_function() {
    let stage = Stage::open().await;
    let session = stage.session().await;
    stage.ask(&session, json!({"agent": "clerk", "request": {"contents": []}})).await;
    let function =
        json!({"role": "function", "parts": [{"function_response": {"name": "add", "response": {"r": 1}}}]});
    stage.ask(&session, json!({"agent": "clerk", "request": {"contents": [function]}})).await;
    assert_eq!(cues(&stage, "").await.len(), 2);
    assert_eq!(
        stage.get(&format!("/v1/sessions/{session}/history")).await.is(200)["entries"][0]["type"],
        "user_query"
    );
}

#[tokio::test]
async fn the_waiting_agent_gets_the_answer() {
    let stage = Stage::open().await;
    let session = stage.session().await;
    let turn = stage.ask(&session, asks("clerk", "2+2?")).await;
    stage.get(&response(&session, &turn)).await.is(204);
    let asked =
        tokio::spawn(Reply::to(stage.call(Method::GET, &format!("{}?wait=60", response(&session, &turn)))));
    waiting(&stage, 1.0).await;
    let given = json!({"text": "A sum", "calls": [{"tool": "add", "args": {"a": 2, "b": 2}}, {"tool": "add", "args": {"a": 1, "b": 1}}]});
    let taken = stage.answer(&turn, given).await.is(200);
    let answer = soon(asked).await.unwrap().is(200);
    assert_eq!(
        answer,
        json!({"turn_id": turn, "event_id": taken["event_id"], "response": {
            "content": {"role": "model", "parts": [
                {"text": "A sum"},
                {"function_call": {"name": "add", "args": {"a": 2, "b": 2}}},
                {"function_call": {"name": "add", "args": {"a": 1, "b": 1}}},
            ]},
            "finish_reason": "STOP",
        }})
    );
    // It can be asked for as often as needed.
    assert_eq!(stage.get(&response(&session, &turn)).await.is(200), answer);
    stage.get(&response(&session, &uuid())).await.refused(404, "not_found");
    let events = stage.get(&format!("/v1/sessions/{session}/events?after=3")).await.is(200);
    let event =
        events["events"].as_array().unwrap().iter().find(|event| event["body"]["type"] == "model_response");
    assert_eq!(event.unwrap()["decision"]["by"], "person");
}

#[tokio::test]
async fn an_answer_is_given_once() {
    let stage = Stage::open().await;
    let session = stage.session().await;
    let turn = stage.ask(&session, asks("clerk", "hi")).await;
    stage.answer(&uuid(), json!({"text": "?"})).await.refused(404, "not_found");
    let taken = stage.answer(&turn, json!({"text": "hello"})).await.is(200);
    for again in ["hello", "other"] {
        let problem = stage.answer(&turn, json!({"text": again})).await.refused(409, "answered");
        assert_eq!(problem["event_id"], taken["event_id"]);
    }
    stage.post(&format!("/v1/cues/{turn}/dismiss"), json!({})).await.refused(409, "answered");
    assert_eq!(stage.kinds(&session).await.iter().filter(|kind| *kind == "model_response").count(), 1);
}

async fn with_key(stage: &Stage, path: &str, key: &str, body: Value) -> Reply {
    Reply::to(stage.call(Method::POST, path).header("idempotency-key", key).json(&body)).await
}

#[tokio::test]
async fn the_same_answer_with_the_same_key_is_taken_once() {
    let stage = Stage::open().await;
    let session = stage.session().await;
    let turn = stage.ask(&session, asks("clerk", "hi")).await;
    let path = format!("/v1/cues/{turn}/answer");
    let taken = with_key(&stage, &path, "k-1", json!({"text": "hello"})).await.is(200);
    assert_eq!(with_key(&stage, &path, "k-1", json!({"text": "hello"})).await.is(200), taken);
    with_key(&stage, &path, "k-1", json!({"text": "bye"})).await.refused(409, "other_answer");
    with_key(&stage, &path, "k-2", json!({"text": "hello"})).await.refused(409, "answered");
    with_key(&stage, &path, &"k".repeat(201), json!({"text": "hello"})).await.refused(422, "invalid_key");

    // Many at once.
    let turn = stage.ask(&session, asks("clerk", "again")).await;
    let path = format!("/v1/cues/{turn}/answer");
    let given = (0..10).map(|_| with_key(&stage, &path, "k-3", json!({"text": "hello"})));
    let events: Vec<Value> =
        futures::future::join_all(given).await.into_iter().map(|reply| reply.is(200)).collect();
    assert!(events.iter().all(|event| *event == events[0]), "{events:?}");
    assert_eq!(stage.kinds(&session).await.iter().filter(|kind| *kind == "model_response").count(), 2);
}

#[tokio::test]
async fn of_two_answers_at_the_same_moment_one_is_taken() {
    let stage = Stage::open().await;
    let session = stage.session().await;
    for _ in 0..10 {
        let turn = stage.ask(&session, asks("clerk", "hi")).await;
        let (a, b) = tokio::join!(
            stage.answer(&turn, json!({"text": "a"})),
            stage.answer(&turn, json!({"text": "b"}))
        );
        let (taken, refused) = if a.status == 200 { (a, b) } else { (b, a) };
        taken.is(200);
        refused.refused(409, "answered");
    }
}

#[tokio::test]
async fn answers_are_checked_before_they_are_taken() {
    let stage = Stage::open().await;
    let session = stage.session().await;
    let turn = stage.ask(&session, asks("clerk", "hi")).await;
    let wrong = [
        json!({}),
        json!({"text": ""}),
        json!({"text": "a", "final": "b"}),
        json!({"output": 1}),
        json!({"calls": []}),
        json!({"calls": [{"tool": "substract", "args": {}}]}),
        json!({"calls": [{"tool": "add", "args": {"a": 1}}]}),
        json!({"calls": [{"tool": "add", "args": {"a": 1, "b": "two"}}]}),
        json!({"candidates": []}),
        json!({"candidates": [{"content": {"role": "model", "parts": []}}]}),
        json!({"candidates": [{"content": {"parts": [{"text": "fine"}]}}, {"content": {"parts": []}}]}),
        json!({"content": {"role": "user", "parts": [{"text": "hi"}]}}),
        json!({"content": {"parts": [{"function_call": {"name": "add", "args": {"a": 1.5, "b": 1}}}]}}),
    ];
    for answer in wrong {
        let problem = stage.answer(&turn, answer.clone()).await.refused(422, "invalid_answer");
        assert!(!problem["problems"].as_array().unwrap().is_empty(), "{answer}");
    }
    stage.answer(&turn, json!({"candidates": [{"content": {"parts": [{"text": "fine"}]}}]})).await.is(200);
}

#[tokio::test]
async fn final_values_are_held_to_the_output_schema() {
    let stage = Stage::open().await;
    let session = stage.session().await;
    let schema = json!({"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"]});
    let mut asked = asks("clerk", "hi");
    asked["request"]["output_schema"] = schema.clone();
    let turn = stage.ask(&session, asked).await;
    for wrong in
        [json!({"final": {"sum": "4"}}), json!({"final": "4"}), json!({"text": "4"}), json!({"text": "{}"})]
    {
        stage.answer(&turn, wrong).await.refused(422, "invalid_answer");
    }
    stage.answer(&turn, json!({"final": {"sum": 4}})).await.is(200);
    let answer = stage.get(&response(&session, &turn)).await.is(200);
    assert_eq!(answer["response"]["content"]["parts"], json!([{"text": "{\"sum\":4}"}]));

    let mut asked = asks("clerk", "again");
    asked["request"]["tools"] =
        json!([{"name": "set_model_response", "description": "", "parameters": schema}]);
    let turn = stage.ask(&session, asked).await;
    for wrong in
        [json!({"final": {"sum": "4"}}), json!({"text": "four"}), json!({"text": "{\"sum\": \"4\"}"})]
    {
        stage.answer(&turn, wrong).await.refused(422, "invalid_answer");
    }
    stage.answer(&turn, json!({"final": {"sum": 4}})).await.is(200);
    let answer = stage.get(&response(&session, &turn)).await.is(200);
    let part = &answer["response"]["content"]["parts"][0];
    assert_eq!(*part, json!({"function_call": {"name": "set_model_response", "args": {"sum": 4}}}));
}

#[tokio::test]
async fn tools_are_called_however_old_or_broken_their_schemas_are() {
    let stage = Stage::open().await;
    let session = stage.session().await;
    let schemas = [
        (json!({"type": "number", "minimum": 0, "exclusiveMinimum": true}), Some(json!(0))),
        (json!({"$ref": "#/components/schemas/Amount"}), None),
        (json!({"type": "str"}), None),
    ];
    for (schema, wrong) in schemas {
        let mut asked = asks("clerk", "hi");
        asked["request"]["tools"][0]["parameters"] =
            json!({"type": "object", "properties": {"a": schema}, "required": ["a"]});
        let turn = stage.ask(&session, asked).await;
        let call = |a: &Value| json!({"calls": [{"tool": "add", "args": {"a": a}}]});
        if let Some(wrong) = wrong {
            stage.answer(&turn, call(&wrong)).await.refused(422, "invalid_answer");
        }
        stage.answer(&turn, call(&json!(1))).await.is(200);
    }
}

#[tokio::test]
async fn a_turn_is_recorded_or_asked_and_not_both() {
    let stage = Stage::open().await;
    let session = stage.session().await;
    let (mut recorded, turn) = (asks("clerk", "hi"), uuid());
    recorded["recorded"] = true.into();
    let path = format!("/v1/sessions/{session}/turns/{turn}");
    stage.put(&path, recorded.clone()).await.is(201);
    stage.put(&path, recorded).await.is(200);
    stage.put(&path, asks("clerk", "hi")).await.refused(409, "other_payload");
}

#[tokio::test]
async fn ids_are_the_same_in_large_letters() {
    let stage = Stage::open().await;
    let session = stage.session().await;
    let turn = stage.ask(&session, asks("clerk", "hi")).await;
    let large = turn.to_uppercase();
    assert_eq!(stage.get(&format!("/v1/sessions/{session}/turns/{large}")).await.is(200)["turn_id"], turn);
    assert_eq!(stage.get(&format!("/v1/cues/{large}")).await.is(200)["id"], turn);
    stage.answer(&large, json!({"text": "hello"})).await.is(200);
}

#[tokio::test]
async fn a_session_takes_only_so_many_turns_that_nobody_answers() {
    let stage = Stage::open().await;
    let session = stage.session().await;
    for _ in 0..1000 {
        stage.ask(&session, asks("clerk", "hi")).await;
    }
    let more = stage.put(&format!("/v1/sessions/{session}/turns/{}", uuid()), asks("clerk", "hi")).await;
    more.refused(429, "too_many_turns");
    let head =
        stage.get(&format!("/v1/sessions/{session}")).await.is(200)["head"].as_str().unwrap().to_owned();
    stage.answer(&head, json!({"text": "one less"})).await.is(200);
    stage.ask(&session, asks("clerk", "hi")).await;
}

#[tokio::test]
async fn calling_a_tool_answers_the_head() {
    let stage = Stage::open().await;
    let session = stage.session().await;
    let calls = format!("/v1/sessions/{session}/calls");
    let add = json!({"tool": "add", "args": {"a": 1, "b": 1}});
    stage.post(&calls, add.clone()).await.refused(409, "nobody_waits");
    let first = stage.ask(&session, asks("clerk", "hi")).await;
    stage.post(&calls, json!({"tool": "add", "args": {}})).await.refused(422, "invalid_answer");
    let taken = with_key(&stage, &calls, "k", add.clone()).await.is(200);
    assert_eq!(taken["cue"], first);
    // Said again, it is not taken for the next one.
    let second = stage.ask(&session, asks("clerk", "more")).await;
    assert_eq!(with_key(&stage, &calls, "k", add.clone()).await.is(200), taken);
    with_key(&stage, &calls, "k", json!({"tool": "add", "args": {"a": 1, "b": 2}}))
        .await
        .refused(409, "other_answer");
    assert_eq!(status(&stage, &second).await, "open");
    assert_eq!(with_key(&stage, &calls, "k-2", add).await.is(200)["cue"], second);
}

#[tokio::test]
async fn who_waits_for_a_dismissed_cue_is_told() {
    let stage = Stage::open().await;
    let session = stage.session().await;
    let turn = stage.ask(&session, asks("clerk", "hi")).await;
    let next = stage.ask(&session, asks("clerk", "ho")).await;
    let asked =
        tokio::spawn(Reply::to(stage.call(Method::GET, &format!("{}?wait=60", response(&session, &turn)))));
    waiting(&stage, 1.0).await;
    let cue = stage.post(&format!("/v1/cues/{turn}/dismiss"), json!({})).await.is(200);
    assert_eq!((&cue["status"], &cue["head"]), (&json!("dismissed"), &json!(false)));
    soon(asked).await.unwrap().refused(410, "dismissed");
    stage.get(&response(&session, &turn)).await.refused(410, "dismissed");
    stage.answer(&turn, json!({"text": "late"})).await.refused(410, "dismissed");
    stage.post(&format!("/v1/cues/{turn}/dismiss"), json!({})).await.refused(410, "dismissed");
    stage.post(&format!("/v1/cues/{}/dismiss", uuid()), json!({})).await.refused(404, "not_found");
    stage.answer(&next, json!({"text": "now"})).await.is(200);
}

/// A stage on which askers are soon gone, two sessions, and a cue in each.
async fn impatient() -> (Stage, [(String, String); 2]) {
    let stage = Stage::with_grace(Duration::from_millis(60)).await;
    let mut cues = Vec::new();
    for _ in 0..2 {
        let session = stage.session().await;
        let turn = stage.ask(&session, asks("clerk", "hi")).await;
        cues.push((session, turn));
    }
    (stage, cues.try_into().unwrap())
}

async fn abandoned(stage: &Stage, cue: &str) {
    until(|| async { (status(stage, cue).await == "abandoned").then_some(()) }).await;
}

#[tokio::test]
async fn a_cue_whose_asker_is_gone_no_longer_holds_up_the_others() {
    let (stage, [(session, gone), (other_session, other)]) = impatient().await;
    stage.clock.advance(Duration::from_secs(1));
    abandoned(&stage, &gone).await;
    abandoned(&stage, &other).await;
    let next = stage.ask(&session, asks("cook", "hi")).await;
    assert_eq!(stage.get(&format!("/v1/sessions/{session}")).await.is(200)["head"], next.as_str());
    stage.answer(&next, json!({"text": "now"})).await.is(200);

    // It can be answered nevertheless, where somebody says so, and who comes back gets the answer.
    let answer = json!({"text": "in case"});
    stage.post(&format!("/v1/cues/{gone}/answer?anyway=true"), answer).await.is(200);
    assert_eq!(stage.get(&response(&session, &gone)).await.is(200)["turn_id"], gone.as_str());

    // Who comes back before finds it open.
    stage.get(&response(&other_session, &other)).await.is(204);
    assert_eq!(status(&stage, &other).await, "open");
    stage.clock.advance(Duration::from_secs(1));
    abandoned(&stage, &other).await;
    stage.post(&format!("/v1/cues/{other}/dismiss"), json!({})).await.is(200);
}

#[tokio::test]
async fn who_waits_is_not_gone_until_the_connection_is() {
    let (stage, [(session, turn), (_, unattended)]) = impatient().await;
    let asked =
        tokio::spawn(Reply::to(stage.call(Method::GET, &format!("{}?wait=60", response(&session, &turn)))));
    waiting(&stage, 1.0).await;
    stage.clock.advance(Duration::from_secs(1));
    abandoned(&stage, &unattended).await;
    assert_eq!(status(&stage, &turn).await, "open");

    asked.abort();
    waiting(&stage, 0.0).await;
    stage.clock.advance(Duration::from_secs(1));
    abandoned(&stage, &turn).await;
}

#[tokio::test]
async fn who_asks_again_and_again_without_waiting_is_not_gone() {
    let (stage, [(session, turn), (_, unattended)]) = impatient().await;
    for _ in 0..3 {
        stage.clock.advance(Duration::from_millis(40));
        stage.get(&response(&session, &turn)).await.is(204);
    }
    abandoned(&stage, &unattended).await;
    assert_eq!(status(&stage, &turn).await, "open");
}

#[tokio::test]
async fn the_turns_of_an_agent_with_a_model_of_its_own_are_only_recorded() {
    let stage = Stage::open().await;
    let session = stage.session().await;
    let turn = uuid();
    let mut asked = asks("clerk", "hi");
    asked["recorded"] = true.into();
    stage.put(&format!("/v1/sessions/{session}/turns/{turn}"), asked).await.is(201);
    assert_eq!(cues(&stage, "").await, []);
    let answer = |turn: &str| {
        json!([{"event_id": uuid(), "agent": "clerk", "type": "model_response", "turn_id": turn,
        "content": {"role": "model", "parts": [{"text": "hello"}]}}])
    };
    stage.observe(&session, answer(&turn)).await.is(200);
    assert_eq!(
        stage.get(&response(&session, &turn)).await.is(200)["response"]["content"]["parts"][0]["text"],
        "hello"
    );
    stage.observe(&session, answer(&turn)).await.refused(409, "answered");
    stage.observe(&session, answer(&uuid())).await.refused(404, "not_found");

    // A turn that people are asked about is answered by them, or its cue would stay for ever.
    let theirs = stage.ask(&session, asks("clerk", "ho")).await;
    stage.observe(&session, answer(&theirs)).await.refused(409, "not_recorded");
    stage.answer(&theirs, json!({"text": "hey"})).await.is(200);
}

#[tokio::test]
async fn an_answer_that_could_not_be_read_again_is_refused() {
    let stage = Stage::open().await;
    let session = stage.session().await;
    let turn = stage.ask(&session, asks("clerk", "hi")).await;
    let before = stage.kinds(&session).await;
    for levels in [95, 105, 115] {
        let deep = (0..levels).fold(json!(1), |inner, _| json!([inner]));
        let answer = json!({"calls": [{"tool": "add", "args": {"a": 1, "b": 2, "deep": deep}}]});
        let problem = stage.answer(&turn, answer).await.refused(409, "refused");
        assert!(problem["detail"].as_str().unwrap().contains("100 levels"), "{problem}");
    }
    assert_eq!(stage.kinds(&session).await, before);
    stage.answer(&turn, json!({"text": "hello"})).await.is(200);
    stage.get(&format!("/v1/sessions/{session}/ledger")).await.is(200);
}

/// Cues that were opened past the doors.
async fn many_cues(stage: &Stage, session: &str, answered: bool) {
    use rehearsal_store::{CueChange, CueId, CueKind, NewCue, Write};
    let mut write = Write::new(session.into(), 0, 0);
    for _ in 0..1000 {
        let id = CueId::new(uuid());
        write.cues.push(CueChange::Open(NewCue {
            id: id.clone(),
            kind: CueKind::Tool,
            agent: "clerk".to_owned(),
            turn: None,
            call: None,
            prompt: json!({}),
        }));
        if answered {
            let (answer, key) = (json!({"output": 1}), Some(uuid()));
            write.cues.push(CueChange::Answer { cue: id, answer, key, event: None });
        }
    }
    stage.store().await.write(write).await.unwrap();
}

#[tokio::test]
async fn a_call_is_taken_once_however_many_were_answered_before() {
    let stage = Stage::open().await;
    let session = stage.session().await;
    many_cues(&stage, &session, true).await;
    stage.ask(&session, asks("clerk", "hi")).await;
    let call = || {
        let call = stage.call(Method::POST, &format!("/v1/sessions/{session}/calls"));
        call.header("idempotency-key", "k").json(&json!({"tool": "add", "args": {"a": 1, "b": 2}}))
    };
    let first = Reply::to(call()).await.is(200);
    assert_eq!(Reply::to(call()).await.is(200), first);
}

#[tokio::test]
async fn the_head_is_found_however_many_were_abandoned_before() {
    let stage = Stage::open().await;
    let session = stage.session().await;
    many_cues(&stage, &session, false).await;
    stage.store().await.abandon_cues(i64::MAX, i64::MAX).await.unwrap();
    let turn = stage.ask(&session, asks("clerk", "hi")).await;
    assert_eq!(stage.get(&format!("/v1/sessions/{session}")).await.is(200)["head"], turn.as_str());
    assert_eq!(stage.get("/v1/cues").await.is(200)["cues"][0]["id"], turn.as_str());
    assert_eq!(stage.get(&format!("/v1/cues/{turn}")).await.is(200)["head"], true);
}
