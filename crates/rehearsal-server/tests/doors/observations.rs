//! What agents elsewhere did.

use reqwest::Method;
use serde_json::{Value, json};

use crate::stage::{Reply, Stage, asks, uuid};

/// An observation of the clerk.
#[expect(clippy::needless_pass_by_value, reason = "values are written where they are used")]
fn seen(kind: &str, more: Value) -> Value {
    let mut seen = json!({"event_id": uuid(), "agent": "clerk", "type": kind});
    seen.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    seen
}

fn message(text: &str) -> Value {
    seen("user_message", json!({"content": {"role": "user", "parts": [{"text": text}]}}))
}

fn call(id: &str) -> Value {
    seen("tool_call", json!({"call_id": id, "tool": "add", "args": {"a": 1}}))
}

#[expect(clippy::needless_pass_by_value, reason = "values are written where they are used")]
fn result(id: &str, output: Value) -> Value {
    seen("tool_result", json!({"call_id": id, "tool": "add", "output": output, "duration_ms": 2.5}))
}

#[tokio::test]
async fn everything_an_agent_does_is_on_the_ledger_and_in_the_history() {
    let stage = Stage::open().await;
    let session = stage.session().await;
    let error = json!({"type": "ValueError", "message": "no", "traceback": "line 1"});
    let events = json!([
        message("add them"),
        seen("state_change", json!({"state_delta": {"a": 1, "user:b": {"c": 2}, "temp:gone": 3}})),
        call("c1"),
        call("c2"),
        seen(
            "tool_result",
            json!({"call_id": "c1", "tool": "add", "output": {"result": 2}, "duration_ms": 2.5,
            "state_delta": {"a": 2}})
        ),
        seen("tool_result", json!({"call_id": "c2", "tool": "add", "error": error, "duration_ms": 1})),
        seen("agent_ended", json!({"output": "2"})),
    ]);
    let recorded = stage.observe(&session, events.clone()).await.is(200);
    let ids = |list: &Value| -> Vec<Value> {
        list.as_array().unwrap().iter().map(|event| event["event_id"].clone()).collect()
    };
    assert_eq!(ids(&recorded["events"]), ids(&events));
    assert_eq!(
        stage.kinds(&session).await,
        [
            "session_started",
            "agent_started",
            "user_message",
            "state_change",
            "tool_call",
            "tool_call",
            "tool_result",
            "tool_result",
            "agent_ended"
        ]
    );
    // Each is found under its number.
    for event in recorded["events"].as_array().unwrap() {
        let found = stage.get(&format!("/v1/sessions/{session}/events/{}", event["seq"])).await.is(200);
        assert_eq!(found["event_id"], event["event_id"]);
    }
    let text = stage.get(&format!("/v1/sessions/{session}/ledger")).await.text;
    let ledger = rehearsal_core::Ledger::from_jsonl(&text).unwrap();
    assert_eq!(
        serde_json::to_value(ledger.state()).unwrap(),
        json!({"session": {"a": 2}, "user": {"b": {"c": 2}}})
    );

    let history = stage.get(&format!("/v1/sessions/{session}/history")).await.is(200);
    let mut entries = history["entries"].as_array().unwrap().clone();
    for entry in &mut entries {
        assert!(entry["seq"].as_u64().unwrap() > 0);
        let entry = entry.as_object_mut().unwrap();
        entry.remove("seq");
        entry.remove("timestamp").unwrap();
    }
    assert_eq!(
        entries,
        [
            json!({"type": "user_query", "content": "add them"}),
            json!({"type": "tool_call", "tool_name": "add", "arguments": {"a": 1}, "call_id": "c1"}),
            json!({"type": "tool_call", "tool_name": "add", "arguments": {"a": 1}, "call_id": "c2"}),
            json!({"type": "tool_output", "call_id": "c1", "result": {"result": 2}, "duration_ms": 2.5}),
            json!({"type": "tool_error", "call_id": "c2", "error_type": "ValueError", "error_message": "no",
                "traceback": "line 1", "duration_ms": 1.0}),
            json!({"type": "final_response", "content": "2"}),
        ]
    );
}

#[tokio::test]
async fn running_tools_are_shown_until_they_end() {
    let stage = Stage::open().await;
    let session = stage.session().await;
    stage.observe(&session, json!([message("go"), call("c1"), call("c2")])).await.is(200);
    let running = async || {
        let shown = stage.get(&format!("/v1/sessions/{session}")).await.is(200);
        let calls = shown["waiting_calls"].as_array().cloned().unwrap_or_default();
        calls.iter().map(|call| call["call_id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(running().await, ["c1", "c2"]);
    stage.observe(&session, json!([result("c1", json!(1))])).await.is(200);
    assert_eq!(running().await, ["c2"]);
}

#[tokio::test]
async fn what_is_sent_twice_is_recorded_once() {
    let stage = Stage::open().await;
    let session = stage.session().await;
    let batch = json!([
        message("go"),
        call("c1"),
        result("c1", Value::Null),
        seen("agent_ended", json!({"output": "x"}))
    ]);
    let first = stage.observe(&session, batch.clone()).await.is(200);
    let kinds = stage.kinds(&session).await;
    assert_eq!(stage.observe(&session, batch.clone()).await.is(200), first);
    assert_eq!(stage.kinds(&session).await, kinds);

    // What got through and what did not.
    let next = message("more");
    let mut events = batch.as_array().unwrap().clone();
    events.push(next.clone());
    events.push(call("c2"));
    let both = stage.observe(&session, json!(events)).await.is(200);
    assert_eq!(both["events"].as_array().unwrap()[..4], first["events"].as_array().unwrap()[..]);
    assert_eq!(stage.kinds(&session).await.len(), kinds.len() + 3);

    // Also when the session has ended meanwhile.
    stage.post(&format!("/v1/sessions/{session}/cancel"), json!({})).await.is(200);
    assert_eq!(stage.observe(&session, json!(events)).await.is(200), both);
    stage.observe(&session, json!([])).await.is(200);
}

#[tokio::test]
async fn the_same_batch_sent_by_many_at_once_is_recorded_once() {
    let stage = Stage::open().await;
    let session = stage.session().await;
    let batch = json!([message("go"), call("c1"), result("c1", json!(1))]);
    let sent = (0..10).map(|_| stage.observe(&session, batch.clone()));
    let replies: Vec<Value> =
        futures::future::join_all(sent).await.into_iter().map(|reply| reply.is(200)).collect();
    assert!(replies.iter().all(|reply| *reply == replies[0]), "{replies:?}");
    assert_eq!(stage.kinds(&session).await.len(), 5);
}

#[tokio::test]
async fn a_batch_that_contradicts_what_happened_is_refused_whole() {
    let stage = Stage::open().await;
    let session = stage.session().await;
    stage.observe(&session, json!([message("go"), call("c1"), result("c1", json!(1))])).await.is(200);
    let kinds = stage.kinds(&session).await;
    let ok = || seen("state_change", json!({"state_delta": {"a": 1}}));
    let twice = ok();
    let refused = [
        (409, "duplicate_call", json!([ok(), call("c1")])),
        (409, "unknown_call", json!([ok(), result("c9", json!(1))])),
        (409, "answered_call", json!([ok(), result("c1", json!(2))])),
        (409, "exists", json!([twice, twice])),
        (422, "invalid_body", json!([ok(), seen("tool_result", json!({"call_id": "c1", "tool": "add"}))])),
        (422, "invalid_body", json!([ok(), seen("dance", json!({}))])),
        (
            422,
            "invalid_body",
            json!([
                ok(),
                seen("tool_result", json!({"call_id": "c1", "tool": "add", "output": 1, "upload": uuid()}))
            ]),
        ),
        (
            422,
            "invalid_id",
            json!([ok(), {"event_id": "e-1", "agent": "clerk", "type": "agent_ended", "output": 1}]),
        ),
        (422, "invalid_id", json!([ok(), seen("tool_call", json!({"call_id": "", "tool": "add"}))])),
        (
            422,
            "invalid_agent_name",
            json!([ok(), {"event_id": uuid(), "agent": "", "type": "agent_ended", "output": 1}]),
        ),
    ];
    for (status, kind, batch) in refused {
        stage.observe(&session, batch).await.refused(status, kind);
        assert_eq!(stage.kinds(&session).await, kinds);
    }
    let many: Vec<Value> = (0..1001).map(|_| ok()).collect();
    stage.observe(&session, json!(many)).await.refused(413, "too_large");
    // The session goes on.
    stage.observe(&session, json!([call("c2"), result("c2", json!(1))])).await.is(200);
}

#[tokio::test]
async fn events_are_in_the_order_of_their_times_whatever_the_senders_clock_says() {
    let stage = Stage::open().await;
    let session = stage.session().await;
    let at = |mut seen: Value, at: &str| {
        seen["at"] = at.into();
        seen
    };
    let (past, future) = ("1990-01-01T00:00:00Z", "2099-01-01T00:00:00Z");
    stage.observe(&session, json!([at(message("go"), past), at(call("c1"), future)])).await.is(200);
    stage.clock.advance(std::time::Duration::from_secs(3));
    let during = "2026-01-01T12:00:01Z";
    stage.observe(&session, json!([at(call("c2"), during), at(result("c1", json!(1)), past)])).await.is(200);
    let events = stage.get(&format!("/v1/sessions/{session}/events")).await.is(200);
    let times: Vec<&str> =
        events["events"].as_array().unwrap().iter().map(|event| event["at"].as_str().unwrap()).collect();
    assert!(times.is_sorted(), "{times:?}");
    assert!(times.last().unwrap().starts_with("2026-01-01T12:00:01"), "{times:?}");
}

#[tokio::test]
async fn a_result_is_one_of_the_tool_that_was_called() {
    let stage = Stage::open().await;
    let session = stage.session().await;
    stage.observe(&session, json!([message("go"), call("c1")])).await.is(200);
    let mut other = result("c1", json!(1));
    other["tool"] = "subtract".into();
    let problem = stage.observe(&session, json!([other])).await.refused(409, "other_tool");
    assert!(problem["detail"].as_str().unwrap().contains("`add`"), "{problem}");
}

#[tokio::test]
async fn history_begins_with_the_query() {
    let stage = Stage::open().await;
    let session = stage.session().await;
    let reply = stage.observe(&session, json!([call("c1")])).await;
    assert_eq!(reply.status, 409, "{}", reply.text);
    assert!(reply.text.contains("user_message"), "{}", reply.text);
}

#[tokio::test]
async fn late_results_are_noted_even_after_the_end() {
    let stage = Stage::open().await;
    let session = stage.session().await;
    let cancelled = seen(
        "tool_result",
        json!({"call_id": "c1", "tool": "add", "error": {"type": "Cancelled", "message": "by a person"}}),
    );
    stage.observe(&session, json!([message("go"), call("c1"), cancelled])).await.is(200);
    stage.post(&format!("/v1/sessions/{session}/cancel"), json!({})).await.is(200);
    let late = seen("tool_result", json!({"call_id": "c1", "tool": "add", "output": 7, "late": true}));
    stage.observe(&session, json!([late])).await.is(200);
    let late = stage.bodies(&session).await.pop().unwrap();
    assert_eq!((&late["type"], &late["outcome"]), (&json!("late_result"), &json!({"output": 7})));
    let entries = stage.get(&format!("/v1/sessions/{session}/history")).await.is(200);
    assert_eq!(entries["entries"][2]["error_type"], "Cancelled");
}

#[tokio::test]
async fn a_run_that_failed_makes_room_for_another_message() {
    let stage = Stage::open().await;
    let session = stage.session().await;
    let query = format!("/v1/sessions/{session}/query");
    stage.post(&query, json!({"text": "go"})).await.is(200);
    let failed = seen("run_failed", json!({"error": {"type": "KeyError", "message": "'x'"}}));
    stage.observe(&session, json!([failed])).await.is(200);
    stage
        .post(&format!("/v1/sessions/{session}/complete"), json!({}))
        .await
        .refused(409, "no_final_response");
    stage.post(&query, json!({"text": "again"})).await.is(200);
}

/// Nobody is left looking at a session that is `active` with nothing to answer.
#[tokio::test]
async fn a_run_that_failed_is_told_where_people_look() {
    let stage = Stage::open().await;
    let session = stage.session().await;
    let query = format!("/v1/sessions/{session}/query");
    stage.post(&query, json!({"text": "go"})).await.is(200);
    let failed = seen("run_failed", json!({"error": {"type": "KeyError", "message": "'x'"}}));
    stage.observe(&session, json!([failed])).await.is(200);
    let told = |view: &Value| {
        (view["state"].clone(), view["last_error"]["type"].clone(), view["last_error"]["message"].clone())
    };
    let expected = (json!("failed"), json!("KeyError"), json!("'x'"));
    let shown = stage.get(&format!("/v1/sessions/{session}")).await.is(200);
    assert_eq!(told(&shown), expected);
    let listed = stage.get("/v1/sessions").await.is(200);
    assert_eq!(told(&listed["sessions"][0]), expected);
    let history = stage.get(&format!("/v1/sessions/{session}/history")).await.is(200);
    let last = history["entries"].as_array().unwrap().last().unwrap().clone();
    assert_eq!((&last["type"], &last["error_type"]), (&json!("run_failed"), &json!("KeyError")));
    assert_eq!(last["seq"], shown["last_error"]["seq"]);

    stage.post(&query, json!({"text": "again"})).await.is(200);
    let shown = stage.get(&format!("/v1/sessions/{session}")).await.is(200);
    assert_eq!((&shown["state"], &shown["last_error"]), (&json!("active"), &Value::Null));
    let listed = stage.get("/v1/sessions").await.is(200);
    assert_eq!(listed["sessions"][0]["last_error"], Value::Null);
}

#[tokio::test]
async fn what_happens_inside_an_agent_used_as_a_tool_is_not_the_conversation() {
    let stage = Stage::open().await;
    let session = stage.session().await;
    stage.observe(&session, json!([message("go"), call("c1")])).await.is(200);
    let inside = |mut seen: Value| {
        seen["agent"] = "cook".into();
        seen["path"] = json!(["c1"]);
        seen
    };
    let mut asked = asks("cook", "soup");
    asked["path"] = json!(["c1"]);
    let turn = stage.ask(&session, asked).await;
    stage.answer(&turn, json!({"text": "soup!"})).await.is(200);
    let ended = inside(seen("agent_ended", json!({"output": "soup!"})));
    stage.observe(&session, json!([inside(message("soup")), ended])).await.is(200);
    // The inner agent's answer is not the conversation's.
    stage
        .post(&format!("/v1/sessions/{session}/complete"), json!({}))
        .await
        .refused(409, "no_final_response");
    let history = stage.get(&format!("/v1/sessions/{session}/history")).await.is(200);
    let queries =
        history["entries"].as_array().unwrap().iter().filter(|entry| entry["type"] == "user_query").count();
    assert_eq!(queries, 1, "{history}");
}

async fn chunk(stage: &Stage, upload: &str, offset: usize, bytes: Vec<u8>) -> Reply {
    Reply::to(stage.call(Method::PUT, &format!("/v1/uploads/{upload}?offset={offset}")).body(bytes)).await
}

#[tokio::test]
async fn a_large_result_arrives_in_chunks_and_is_kept_whole() {
    let stage = Stage::open().await;
    let session = stage.session().await;
    stage.observe(&session, json!([message("go"), call("c1"), call("c2")])).await.is(200);
    let output = json!({"rows": "x".repeat(8 << 20), "last": [1, 2, 3]});
    let bytes = output.to_string().into_bytes();
    let upload = Reply::to(stage.call(Method::POST, "/v1/uploads")).await.is(201);
    let upload = upload["id"].as_str().unwrap();
    let parts: Vec<(usize, Vec<u8>)> =
        bytes.chunks(4 << 20).enumerate().map(|(index, part)| (index * (4 << 20), part.to_vec())).collect();
    assert_eq!(parts.len(), 3);
    for (offset, part) in &parts {
        chunk(&stage, upload, *offset, part.clone()).await.is(204);
        // Sent again because the reply was not heard.
        chunk(&stage, upload, *offset, part.clone()).await.is(204);
    }
    let taken = json!([seen(
        "tool_result",
        json!({"call_id": "c1", "tool": "add", "upload": upload.to_uppercase()})
    )]);
    let recorded = stage.observe(&session, taken.clone()).await.is(200);
    // Sent again although the upload was used.
    assert_eq!(stage.observe(&session, taken).await.is(200), recorded);
    let path = format!("/v1/sessions/{session}/events");
    let whole = stage.get(&format!("{path}/{}", recorded["events"][0]["seq"])).await.is(200);
    assert_eq!(whole["body"]["outcome"]["output"], output);
    assert!(whole.get("truncated").is_none());

    let list = stage.get(&format!("{path}?limit=1000")).await;
    assert!(list.text.len() < 1 << 20, "{}", list.text.len());
    let list = list.is(200);
    let event = list["events"]
        .as_array()
        .unwrap()
        .iter()
        .find(|event| event["body"]["type"] == "tool_result")
        .unwrap();
    assert_eq!((&event["truncated"], &event["event_id"]), (&json!(true), &recorded["events"][0]["event_id"]));
    let history = stage.get(&format!("/v1/sessions/{session}/history")).await;
    assert!(history.text.len() < 1 << 20);
    let history = history.is(200);
    let entry =
        history["entries"].as_array().unwrap().iter().find(|entry| entry["type"] == "tool_output").unwrap();
    assert_eq!((&entry["truncated"], &entry["call_id"]), (&json!(true), &json!("c1")));

    let gone = seen("tool_result", json!({"call_id": "c2", "tool": "add", "upload": upload}));
    stage.observe(&session, json!([gone])).await.refused(422, "invalid_body");
}

#[tokio::test]
async fn a_result_of_many_small_things_is_cut_in_lists_too() {
    let stage = Stage::open().await;
    let session = stage.session().await;
    let rows: Vec<Value> = (0..900)
        .map(|row| json!((0..900).map(|n| json!({"row": row, "n": n})).collect::<Vec<_>>()))
        .collect();
    stage.observe(&session, json!([message("go"), call("c1"), result("c1", json!(rows))])).await.is(200);
    let list = stage.get(&format!("/v1/sessions/{session}/events")).await;
    assert!(list.text.len() < 2 << 20, "{}", list.text.len());
    assert_eq!(list.json()["events"].as_array().unwrap().last().unwrap()["truncated"], true);
}

#[tokio::test]
async fn a_long_result_is_shown_in_part_and_given_whole() {
    let stage = Stage::open().await;
    let session = stage.session().await;
    stage.observe(&session, json!([message("go"), call("c1")])).await.is(200);
    let rows: Vec<Value> = (0..60_000).map(|row| json!({"row": row, "exact": 0.1})).collect();
    let output = json!({"rows": rows});
    let upload = Reply::to(stage.call(Method::POST, "/v1/uploads")).await.is(201);
    let upload = upload["id"].as_str().unwrap();
    chunk(&stage, upload, 0, output.to_string().into_bytes()).await.is(204);
    let ended = seen("agent_ended", json!({"output": "done"}));
    let result = seen("tool_result", json!({"call_id": "c1", "tool": "add", "upload": upload}));
    let recorded = stage.observe(&session, json!([result, ended])).await.is(200);
    stage.post(&format!("/v1/sessions/{session}/complete"), json!({})).await.is(200);

    let path = format!("/v1/sessions/{session}");
    let history = stage.get(&format!("{path}/history")).await.is(200);
    let shown =
        history["entries"].as_array().unwrap().iter().find(|entry| entry["type"] == "tool_output").unwrap();
    let listed = stage.get(&format!("{path}/events")).await.is(200);
    let of_it = |event: &&Value| event["seq"] == recorded["events"][0]["seq"];
    let event = listed["events"].as_array().unwrap().iter().find(of_it).unwrap();
    for (cut, rows) in
        [(shown, &shown["result"]["rows"]), (event, &event["body"]["outcome"]["output"]["rows"])]
    {
        assert_eq!((&cut["truncated"], &rows[999]), (&json!(true), &json!("… (59001 more)")));
    }
    let whole = stage.get(&format!("{path}/events/{}", recorded["events"][0]["seq"])).await.is(200);
    assert_eq!(whole["event_id"], recorded["events"][0]["event_id"]);
    assert_eq!(whole["body"]["outcome"]["output"], output);
    let ledger =
        rehearsal_core::Ledger::from_jsonl(&stage.get(&format!("{path}/ledger")).await.text).unwrap();
    let results = ledger.events().iter().filter_map(|event| match &event.body {
        rehearsal_core::EventBody::ToolResult(result) => Some(serde_json::to_value(&result.outcome).unwrap()),
        _ => None,
    });
    assert_eq!(results.collect::<Vec<_>>(), [json!({"output": output})]);
    let case = stage.get(&format!("{path}/eval-case")).await.is(200);
    let data = &case["conversation"][0]["intermediate_data"];
    assert_eq!(data["tool_responses"][0]["response"], output);
}

#[tokio::test]
async fn a_long_result_is_json_to_its_end_and_not_too_deep() {
    let stage = Stage::open().await;
    let session = stage.session().await;
    stage.observe(&session, json!([message("go"), call("c1")])).await.is(200);
    let long = format!("\"{}\"", "x".repeat(1 << 20));
    for wrong in [format!("[{long}"), format!("[{long},{}1{}]", "[".repeat(120), "]".repeat(120))] {
        let upload = Reply::to(stage.call(Method::POST, "/v1/uploads")).await.is(201);
        let upload = upload["id"].as_str().unwrap();
        chunk(&stage, upload, 0, wrong.into_bytes()).await.is(204);
        let result = seen("tool_result", json!({"call_id": "c1", "tool": "add", "upload": upload}));
        let reply = stage.observe(&session, json!([result])).await;
        assert!(matches!(reply.status, 409 | 422), "{}", reply.text);
    }
    assert_eq!(stage.kinds(&session).await.last().unwrap(), "tool_call");
}

#[tokio::test]
async fn chunks_must_follow_each_other_and_fit() {
    let stage = Stage::open().await;
    let upload = uuid();
    chunk(&stage, &upload, 0, b"[1,".to_vec()).await.is(204);
    for offset in [1, 4] {
        let reply = chunk(&stage, &upload, offset, b"2]".to_vec()).await;
        assert_eq!(reply.status, 409, "{}", reply.text);
    }
    chunk(&stage, &upload, 3, vec![b' '; (4 << 20) + 1]).await.refused(413, "too_large");
    chunk(&stage, &upload, 3, Vec::new()).await.refused(422, "empty_chunk");
    chunk(&stage, "u-1", 0, b"1".to_vec()).await.refused(422, "invalid_id");
    Reply::to(stage.call(Method::PUT, &format!("/v1/uploads/{upload}")).body("2]"))
        .await
        .refused(422, "invalid_parameters");

    // What is no JSON is refused when it is used.
    let session = stage.session().await;
    let used = seen("tool_result", json!({"call_id": "c1", "tool": "add", "upload": upload}));
    stage.observe(&session, json!([message("go"), call("c1"), used])).await.refused(422, "invalid_upload");
    chunk(&stage, &upload, 3, b"2]".to_vec()).await.is(204);
    stage.observe(&session, json!([message("go"), call("c1"), used])).await.is(200);
    assert_eq!(stage.bodies(&session).await.last().unwrap()["outcome"]["output"], json!([1, 2]));
}

#[tokio::test]
async fn an_upload_has_an_end() {
    let stage = Stage::open().await;
    let upload = uuid();
    let reply = chunk(&stage, &upload, (256 << 20) - 1, b"  ".to_vec()).await;
    let problem = reply.refused(413, "too_large");
    assert!(problem["detail"].as_str().unwrap().contains("256 MiB"), "{problem}");
    chunk(&stage, &upload, usize::MAX, b" ".to_vec()).await.refused(413, "too_large");
}

#[tokio::test]
async fn an_artifact_is_a_note_with_its_content_where_that_is_small() {
    let stage = Stage::open().await;
    let session = stage.session().await;
    let small = json!({"name": "plot.png", "version": 0, "call_id": "c1", "mime_type": "image/png", "size": 3,
        "part": {"inline_data": {"mime_type": "image/png", "data": "AAAA"}}});
    let large = json!({"name": "plot.png", "version": 1, "mime_type": "image/png", "size": 2 << 20,
        "part": {"inline_data": {"mime_type": "image/png", "data": "A".repeat(2 << 20)}}});
    let unread = json!({"name": "user:memo", "version": 0, "left_out": "it could not be read: no"});
    let seen_all = [small, large, unread].map(|fields| seen("artifact_saved", fields));
    let mut batch = vec![message("go"), call("c1")];
    batch.extend(seen_all);
    batch.extend([result("c1", json!({"result": 1})), seen("agent_ended", json!({"output": "done"}))]);
    stage.observe(&session, json!(batch)).await.is(200);

    let saved: Vec<Value> =
        (stage.bodies(&session).await.into_iter()).filter(|body| body["type"] == "artifact_saved").collect();
    assert_eq!(
        saved,
        [
            json!({"type": "artifact_saved", "name": "plot.png", "version": 0, "call": "c1", "mime_type": "image/png", "size": 3,
                "part": {"inline_data": {"mime_type": "image/png", "data": "AAAA"}}}),
            json!({"type": "artifact_saved", "name": "plot.png", "version": 1, "mime_type": "image/png", "size": 2 << 20,
                "left_out": "only artifacts of at most 1048576 bytes are kept with their content"}),
            json!({"type": "artifact_saved", "name": "user:memo", "version": 0, "left_out": "it could not be read: no"}),
        ]
    );

    // What is written of the session for others is what it was without them.
    stage.post(&format!("/v1/sessions/{session}/complete"), json!({})).await.is(200);
    let case = stage.get(&format!("/v1/sessions/{session}/eval-case")).await;
    assert!(!case.text.contains("plot.png"), "{}", case.text);
    let history = stage.get(&format!("/v1/sessions/{session}/history")).await;
    assert!(!history.text.contains("plot.png"), "{}", history.text);

    let nameless = seen("artifact_saved", json!({"name": "", "version": 0}));
    let other = stage.session().await;
    stage.observe(&other, json!([message("go"), nameless])).await.refused(422, "invalid_body");
}
