//! Hosts, and the agents they run.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};

use crate::stage::{Reply, Stage, asks, soon, until, uuid};

async fn host(stage: &Stage) -> String {
    let id = uuid();
    stage.put(&format!("/v1/hosts/{id}"), offer()).await.is(204);
    id
}

fn offer() -> Value {
    json!({"name": "laptop", "agents": [
        {"name": "clerk", "description": "Helps", "instruction": "Be kind.",
         "tools": [{"name": "add", "description": "Adds", "parameters": {"type": "object"}}]},
        {"name": "form", "input_schema": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
         "output_schema": {"type": "object"}},
    ]})
}

async fn work(stage: &Stage, host: &str) -> Reply {
    stage.get(&format!("/v1/hosts/{host}/work")).await
}

#[tokio::test]
async fn agents_are_known_and_online_while_their_host_is_seen() {
    let stage = Stage::open().await;
    assert_eq!(stage.get("/v1/agents").await.is(200), json!({"agents": []}));
    let id = host(&stage).await;
    let agents = stage.get("/v1/agents").await.is(200);
    let names: Vec<_> =
        agents["agents"].as_array().unwrap().iter().map(|agent| (&agent["name"], &agent["online"])).collect();
    assert_eq!(names, [(&json!("clerk"), &json!(true)), (&json!("form"), &json!(true))]);
    let agent = stage.get("/v1/agents/clerk").await.is(200);
    assert_eq!((&agent["host"], &agent["host_name"]), (&json!(id), &json!("laptop")));
    assert_eq!((&agent["instruction"], &agent["tools"][0]["name"]), (&json!("Be kind."), &json!("add")));
    stage.get("/v1/agents/nobody").await.refused(404, "not_found");

    stage.clock.advance(Duration::from_mins(2));
    assert_eq!(stage.get("/v1/agents/clerk").await.is(200)["online"], false);
    // Asking for work is a sign of life.
    work(&stage, &id).await.is(204);
    assert_eq!(stage.get("/v1/agents/clerk").await.is(200)["online"], true);
    stage.delete(&format!("/v1/hosts/{id}")).await.is(204);
    stage.delete(&format!("/v1/hosts/{id}")).await.refused(404, "not_found");
    stage.get("/v1/agents/clerk").await.refused(404, "not_found");
    work(&stage, &id).await.refused(404, "not_registered");

    stage.put("/v1/hosts/h-1", offer()).await.refused(422, "invalid_id");
    stage
        .put(&format!("/v1/hosts/{}", uuid()), json!({"agents": [{"name": ""}]}))
        .await
        .refused(422, "invalid_agent_name");
}

#[tokio::test]
async fn a_query_is_given_to_the_host_once() {
    let stage = Stage::open().await;
    let host = host(&stage).await;
    let made =
        stage.post("/v1/sessions", json!({"agent": "clerk", "state": {"a": 1, "user:b": 2}})).await.is(201);
    assert_eq!(made["host"], host.as_str());
    let session = made["id"].as_str().unwrap();
    work(&stage, &host).await.is(204);
    let path = format!("/v1/hosts/{host}/work?wait=60");
    let waiting = [0, 1].map(|_| tokio::spawn(Reply::to(stage.call(Method::GET, &path))));
    stage.post(&format!("/v1/sessions/{session}/query"), json!({"text": "2+2?"})).await.is(200);
    let (given, _, left) = soon(futures::future::select_all(waiting)).await;
    let given = given.unwrap();
    let given = given.is(200);
    assert_eq!(
        (&given["kind"], &given["session"], &given["agent"]),
        (&json!("run"), &json!(session), &json!("clerk"))
    );
    assert_eq!(given["content"]["parts"], json!([{"text": "2+2?"}]));
    assert_eq!(given["state"], json!({"a": 1, "user:b": 2}));
    for waiting in left {
        waiting.abort();
    }
    work(&stage, &host).await.is(204);

    // It plays: a turn, an answer, the end; the session is complete then.
    let turn = stage.ask(session, asks("clerk", "2+2?")).await;
    stage.answer(&turn, json!({"text": "4"})).await.is(200);
    let ended = json!([{"event_id": uuid(), "agent": "clerk", "type": "agent_ended", "output": "4"}]);
    stage.observe(session, ended).await.is(200);
    assert_eq!(stage.get(&format!("/v1/sessions/{session}")).await.is(200)["state"], "completed");
    let done = format!("/v1/hosts/{host}/work/{}", given["id"].as_str().unwrap());
    for _ in 0..2 {
        stage.post(&done, json!({"done": {}})).await.is(204);
    }
    stage
        .post(&format!("/v1/hosts/{}/work/{}", uuid(), given["id"].as_str().unwrap()), json!({"done": {}}))
        .await
        .refused(404, "not_found");
}

#[tokio::test]
async fn a_session_that_is_kept_open_goes_on_after_an_answer() {
    let stage = Stage::open().await;
    let host = host(&stage).await;
    let asked = json!({"agent": "clerk", "keep_open": true, "query": {"text": "one"}});
    let made = stage.post("/v1/sessions", asked).await.is(201);
    let session = made["id"].as_str().unwrap();
    assert_eq!(work(&stage, &host).await.is(200)["kind"], "run");
    let ended = json!([{"event_id": uuid(), "agent": "clerk", "type": "agent_ended", "output": "1"}]);
    stage.observe(session, ended).await.is(200);
    assert_eq!(
        stage.post(&format!("/v1/sessions/{session}/query"), json!({"text": "two"})).await.is(200)["state"],
        "active"
    );
    assert_eq!(work(&stage, &host).await.is(200)["content"]["parts"][0]["text"], "two");
}

#[tokio::test]
async fn an_agent_that_plays_by_itself_is_not_played_by_a_host_too() {
    let stage = Stage::open().await;
    let host = host(&stage).await;
    let session = stage.session().await;
    let heard = json!([{"event_id": uuid(), "agent": "clerk", "type": "user_message",
        "content": {"role": "user", "parts": [{"text": "go"}]}}]);
    stage.observe(&session, heard).await.is(200);
    work(&stage, &host).await.is(204);
    let turn = stage.ask(&session, asks("clerk", "go")).await;
    stage.answer(&turn, json!({"text": "done"})).await.is(200);
    let ended = json!([{"event_id": uuid(), "agent": "clerk", "type": "agent_ended", "output": "done"}]);
    stage.observe(&session, ended).await.is(200);
    // It ends its session itself.
    let shown = stage.get(&format!("/v1/sessions/{session}")).await.is(200);
    assert_eq!((&shown["state"], &shown["host"]), (&json!("active"), &Value::Null));
    stage.post(&format!("/v1/sessions/{session}/complete"), json!({})).await.is(200);

    let other = stage.session().await;
    stage.ask(&other, asks("clerk", "go")).await;
    work(&stage, &host).await.is(204);
}

#[tokio::test]
async fn a_query_is_held_to_the_input_schema() {
    let stage = Stage::open().await;
    let host = host(&stage).await;
    let made = stage.post("/v1/sessions", json!({"agent": "form"})).await.is(201);
    let query = format!("/v1/sessions/{}/query", made["id"].as_str().unwrap());
    for (wrong, kind) in [
        (json!({"text": "hello"}), "invalid_query"),
        (json!({"text": "{\"n\": \"x\"}"}), "schema"),
        (json!({"value": {}}), "schema"),
        (json!({"value": null}), "schema"),
        (json!({"content": {"parts": [{"text": "hello"}]}}), "schema"),
    ] {
        stage.post(&query, wrong).await.refused(422, kind);
    }
    stage.post("/v1/sessions", json!({"agent": "form", "query": {"value": 1}})).await.refused(422, "schema");
    work(&stage, &host).await.is(204);
    stage.post(&query, json!({"value": {"n": 1}})).await.is(200);
    let given = work(&stage, &host).await.is(200);
    assert_eq!(given["content"]["parts"], json!([{"text": "{\"n\":1}"}]));
}

#[tokio::test]
async fn choosing_an_agent_later_finds_its_host() {
    let stage = Stage::open().await;
    let host = host(&stage).await;
    let made = stage.post("/v1/sessions", json!({})).await.is(201);
    let path = format!("/v1/sessions/{}", made["id"].as_str().unwrap());
    assert_eq!(stage.patch(&path, json!({"agent": "clerk"})).await.is(200)["host"], host.as_str());
    stage.post(&format!("{path}/query"), json!({"text": "go"})).await.is(200);
    assert_eq!(work(&stage, &host).await.is(200)["kind"], "run");
}

#[tokio::test]
async fn a_host_that_comes_later_plays_what_waits_for_it() {
    let stage = Stage::open().await;
    let made = stage.post("/v1/sessions", json!({"agent": "clerk"})).await.is(201);
    let session = made["id"].as_str().unwrap();
    let host = host(&stage).await;
    let said = stage.post(&format!("/v1/sessions/{session}/query"), json!({"text": "hi"})).await.is(200);
    assert_eq!(said["host"], host);
    let given = work(&stage, &host).await.is(200);
    assert_eq!((&given["kind"], &given["session"]), (&json!("run"), &json!(session)));
}

#[tokio::test]
async fn a_first_message_is_not_taken_for_a_host_that_came_later_and_went() {
    let stage = Stage::open().await;
    let session = stage.session().await;
    host(&stage).await;
    stage.clock.advance(Duration::from_mins(2));
    let query = format!("/v1/sessions/{session}/query");
    stage.post(&query, json!({"text": "hi"})).await.refused(409, "host_offline");
    assert_eq!(stage.kinds(&session).await, ["session_started"]);
}

#[tokio::test]
async fn a_running_tool_is_cancelled_by_its_host() {
    let stage = Stage::open().await;
    let alone = stage.session().await;
    let running = |session: String| {
        let stage = &stage;
        async move {
            let events = json!([
                {"event_id": uuid(), "agent": "clerk", "type": "user_message", "content": {"parts": [{"text": "go"}]}},
                {"event_id": uuid(), "agent": "clerk", "type": "tool_call", "call_id": "c1", "tool": "add"},
            ]);
            stage.observe(&session, events).await.is(200);
        }
    };
    running(alone.clone()).await;
    let cancel = |session: &str, call: &str| {
        stage.call(Method::POST, &format!("/v1/sessions/{session}/calls/{call}/cancel"))
    };
    Reply::to(cancel(&alone, "c1")).await.refused(409, "no_host");

    let host = host(&stage).await;
    let made = stage.post("/v1/sessions", json!({"agent": "clerk", "query": {"text": "go"}})).await.is(201);
    let session = made["id"].as_str().unwrap();
    work(&stage, &host).await.is(200);
    let call =
        json!([{"event_id": uuid(), "agent": "clerk", "type": "tool_call", "call_id": "c1", "tool": "add"}]);
    stage.observe(session, call).await.is(200);
    Reply::to(cancel(session, "c9")).await.refused(404, "not_found");
    Reply::to(cancel(session, "c1")).await.is(202);
    let given = work(&stage, &host).await.is(200);
    assert_eq!(
        (&given["kind"], &given["session"], &given["call_id"]),
        (&json!("cancel"), &json!(session), &json!("c1"))
    );
    let result = json!([{"event_id": uuid(), "agent": "clerk", "type": "tool_result", "call_id": "c1", "tool": "add",
        "error": {"type": "Cancelled", "message": "by a person"}}]);
    stage.observe(session, result).await.is(200);
    Reply::to(cancel(session, "c1")).await.refused(409, "answered_call");
}

#[tokio::test]
async fn a_run_that_could_not_begin_is_noted_once() {
    let stage = Stage::open().await;
    let host = host(&stage).await;
    let made = stage.post("/v1/sessions", json!({"agent": "clerk", "query": {"text": "go"}})).await.is(201);
    let session = made["id"].as_str().unwrap();
    let given = work(&stage, &host).await.is(200);
    let path = format!("/v1/hosts/{host}/work/{}", given["id"].as_str().unwrap());
    for _ in 0..2 {
        stage.post(&path, json!({"failed": "no such agent here"})).await.is(204);
    }
    stage.post(&path, json!({"done": {}})).await.refused(409, "refused");
    let notes = stage.bodies(session).await;
    assert_eq!(notes.iter().filter(|body| body["type"] == "run_failed").count(), 1);
    stage.post(&format!("/v1/sessions/{session}/query"), json!({"text": "again"})).await.is(200);
}

#[tokio::test]
async fn the_host_exports_what_is_complete() {
    let stage = Stage::open().await;
    let export = |session: &str| {
        stage.call(Method::POST, &format!("/v1/sessions/{session}/export")).json(&json!({"again": true}))
    };
    let play = async |keep_open: bool| {
        let asked = json!({"agent": "clerk", "keep_open": keep_open, "query": {"text": "go"}});
        let made = stage.post("/v1/sessions", asked).await.is(201);
        let session = made["id"].as_str().unwrap().to_owned();
        let ended = json!([{"event_id": uuid(), "agent": "clerk", "type": "agent_ended", "output": "done"}]);
        stage.observe(&session, ended).await.is(200);
        session
    };
    let alone = stage.session().await;
    let played = json!([
        {"event_id": uuid(), "agent": "clerk", "type": "user_message", "content": {"parts": [{"text": "go"}]}},
        {"event_id": uuid(), "agent": "clerk", "type": "agent_ended", "output": "done"},
    ]);
    stage.observe(&alone, played).await.is(200);
    Reply::to(export(&alone)).await.refused(409, "not_exportable");
    stage.post(&format!("/v1/sessions/{alone}/complete"), json!({})).await.is(200);
    let problem = Reply::to(export(&alone)).await.refused(409, "no_host");
    assert!(problem["detail"].as_str().unwrap().contains("rehearse export"), "{problem}");

    let host = host(&stage).await;
    let session = play(false).await;
    work(&stage, &host).await.is(200);
    let outcomes = [
        (json!({"done": {"path": "a.evalset.json", "eval_id": "x", "cases": 3, "created": false}}), 200),
        (json!({"failed": "the file is not an eval set"}), 409),
    ];
    for (outcome, status) in outcomes {
        let asked = tokio::spawn(Reply::to(export(&session)));
        let given = stage.get(&format!("/v1/hosts/{host}/work?wait=60")).await.is(200);
        assert_eq!((&given["kind"], &given["session"]), (&json!("export"), &json!(session)));
        stage
            .post(&format!("/v1/hosts/{host}/work/{}", given["id"].as_str().unwrap()), outcome.clone())
            .await
            .is(204);
        let reply = soon(asked).await.unwrap();
        assert_eq!(reply.status, status, "{}", reply.text);
        assert!(reply.text.contains(if status == 200 { "a.evalset.json" } else { "not an eval set" }));
    }
    // What was written is told again, not written again, unless it is asked for.
    let once = || stage.call(Method::POST, &format!("/v1/sessions/{session}/export"));
    let told = Reply::to(once()).await.is(200);
    assert_eq!((&told["eval_id"], &told["cases"], &told["repeated"]), (&json!("x"), &json!(3), &json!(true)));
    let shown = stage.get(&format!("/v1/sessions/{session}")).await.is(200);
    assert_eq!(shown["exported"]["path"], "a.evalset.json", "{shown}");
    // Nobody waits for a host that is not there.
    stage.clock.advance(Duration::from_mins(2));
    Reply::to(export(&session)).await.refused(409, "host_offline");
    stage.delete(&format!("/v1/hosts/{host}")).await.is(204);
    Reply::to(export(&session)).await.refused(409, "host_offline");
}

#[tokio::test]
async fn no_message_is_taken_for_a_host_that_is_not_there() {
    let stage = Stage::open().await;
    let host = host(&stage).await;
    let made = stage.post("/v1/sessions", json!({"agent": "clerk"})).await.is(201);
    let query = format!("/v1/sessions/{}/query", made["id"].as_str().unwrap());
    let asked = json!({"id": uuid(), "agent": "clerk", "query": {"text": "go"}});
    stage.post("/v1/sessions", asked.clone()).await.is(201);
    let before = stage.bodies(made["id"].as_str().unwrap()).await;

    stage.clock.advance(Duration::from_mins(2));
    let problem = stage.post(&query, json!({"text": "go"})).await.refused(409, "host_offline");
    assert!(problem["detail"].as_str().unwrap().contains("start it again"), "{problem}");
    let new = json!({"agent": "clerk", "query": {"text": "go"}});
    stage.post("/v1/sessions", new.clone()).await.refused(409, "host_offline");
    // Who asks again for what was made gets it, and a session can be made for later.
    stage.post("/v1/sessions", asked).await.is(200);
    stage.post("/v1/sessions", json!({"agent": "clerk"})).await.is(201);
    assert_eq!(stage.bodies(made["id"].as_str().unwrap()).await, before);

    work(&stage, &host).await.is(200);
    stage.post(&query, json!({"text": "go"})).await.is(200);
    stage.post("/v1/sessions", new).await.is(201);
}

#[tokio::test]
async fn another_host_goes_on_when_one_is_gone() {
    let stage = Stage::open().await;
    let first = host(&stage).await;
    let untouched = stage.session().await;
    let asked = json!({"agent": "clerk", "keep_open": true, "query": {"text": "one"}});
    let begun = stage.post("/v1/sessions", asked).await.is(201)["id"].as_str().unwrap().to_owned();
    assert_eq!(work(&stage, &first).await.is(200)["session"], begun.as_str());
    let ended = json!([{"event_id": uuid(), "agent": "clerk", "type": "agent_ended", "output": "1"}]);
    stage.observe(&begun, ended).await.is(200);

    stage.clock.advance(Duration::from_mins(2));
    let second = host(&stage).await;
    let said = stage.post(&format!("/v1/sessions/{untouched}/query"), json!({"text": "go"})).await.is(200);
    assert_eq!(said["host"], second.as_str());
    assert_eq!(work(&stage, &second).await.is(200)["session"], untouched.as_str());
    let said = stage.post(&format!("/v1/sessions/{begun}/query"), json!({"text": "two"})).await.is(200);
    assert_eq!(said["host"], second.as_str());
    assert_eq!(work(&stage, &second).await.is(200)["session"], begun.as_str());
}

#[tokio::test]
async fn a_session_goes_on_elsewhere_when_its_host_is_gone_in_the_middle() {
    let stage = Stage::open().await;
    let first = host(&stage).await;
    let asked = json!({"agent": "clerk", "query": {"text": "one"}});
    let session = stage.post("/v1/sessions", asked).await.is(201)["id"].as_str().unwrap().to_owned();
    work(&stage, &first).await.is(200);
    let call =
        json!([{"event_id": uuid(), "agent": "clerk", "type": "tool_call", "call_id": "c1", "tool": "add"}]);
    stage.observe(&session, call).await.is(200);
    let path = format!("/v1/sessions/{session}");
    let query = format!("{path}/query");
    let second = host(&stage).await;
    assert_eq!(stage.get(&path).await.is(200)["host_online"], true);
    stage.post(&query, json!({"text": "two"})).await.refused(409, "running");

    stage.clock.advance(Duration::from_mins(2));
    work(&stage, &second).await.is(204);
    let shown = stage.get(&path).await.is(200);
    assert_eq!((&shown["host_online"], &shown["waiting_calls"][0]["tool"]), (&json!(false), &json!("add")));
    let said = stage.post(&query, json!({"text": "two"})).await.is(200);
    assert_eq!((&said["host"], &said["waiting_calls"]), (&json!(second), &json!([])));
    let bodies = stage.bodies(&session).await;
    let result = bodies.iter().find(|body| body["type"] == "tool_result").unwrap();
    assert_eq!(result["outcome"]["error"]["type"], "HostGone");
    let failed = bodies.iter().find(|body| body["type"] == "run_failed").unwrap();
    assert!(failed["error"]["message"].as_str().unwrap().contains(&first), "{failed}");
    assert_eq!(work(&stage, &second).await.is(200)["content"]["parts"][0]["text"], "two");

    // The first one comes back: what it gives is told apart, and it is not given the old message again.
    let late = json!([{"event_id": uuid(), "agent": "clerk", "type": "tool_result", "call_id": "c1", "tool": "add",
        "output": 3}]);
    stage.observe(&session, late).await.is(200);
    assert_eq!(stage.bodies(&session).await.last().unwrap()["type"], "late_result");
    stage.clock.advance(Duration::from_secs(20));
    work(&stage, &first).await.is(204);
}

#[tokio::test]
async fn a_tool_of_a_host_that_is_gone_is_cancelled_here() {
    let stage = Stage::open().await;
    let host = host(&stage).await;
    let made = stage.post("/v1/sessions", json!({"agent": "clerk", "query": {"text": "go"}})).await.is(201);
    let session = made["id"].as_str().unwrap();
    work(&stage, &host).await.is(200);
    let call =
        json!([{"event_id": uuid(), "agent": "clerk", "type": "tool_call", "call_id": "c1", "tool": "add"}]);
    stage.observe(session, call).await.is(200);
    stage.clock.advance(Duration::from_mins(2));
    Reply::to(stage.call(Method::POST, &format!("/v1/sessions/{session}/calls/c1/cancel"))).await.is(202);
    assert_eq!(stage.bodies(session).await.last().unwrap()["outcome"]["error"]["type"], "Cancelled");
}

#[tokio::test]
async fn a_run_that_failed_leaves_no_call_open() {
    let stage = Stage::open().await;
    let session = stage.session().await;
    let events = json!([
        {"event_id": uuid(), "agent": "clerk", "type": "user_message", "content": {"parts": [{"text": "go"}]}},
        {"event_id": uuid(), "agent": "clerk", "type": "tool_call", "call_id": "c1", "tool": "add"},
        {"event_id": uuid(), "agent": "clerk", "type": "run_failed",
            "error": {"type": "ValueError", "message": "no number"}},
    ]);
    for _ in 0..2 {
        stage.observe(&session, events.clone()).await.is(200);
    }
    let shown = stage.get(&format!("/v1/sessions/{session}")).await.is(200);
    assert_eq!(shown["waiting_calls"], json!([]));
    let bodies = stage.bodies(&session).await;
    let types: Vec<_> = bodies.iter().map(|body| body["type"].as_str().unwrap()).collect();
    assert_eq!(types[types.len() - 3..], ["tool_call", "tool_result", "run_failed"]);
    let error = &bodies[bodies.len() - 2]["outcome"]["error"];
    assert!(error["message"].as_str().unwrap().contains("no number"), "{error}");
}

#[tokio::test]
async fn a_call_that_the_user_confirms_is_run_again() {
    let stage = Stage::open().await;
    let host = host(&stage).await;
    let asked = json!({"agent": "clerk", "keep_open": true, "query": {"text": "Pay 3"}});
    let session = stage.post("/v1/sessions", asked).await.is(201)["id"].as_str().unwrap().to_owned();
    work(&stage, &host).await.is(200);
    let call = |id: &str, tool: &str| {
        json!({"event_id": uuid(), "agent": "clerk", "type": "tool_call", "call_id": id,
        "tool": tool, "args": {"amount": 3}})
    };
    let gave = |output: Value, again: bool| {
        json!({"event_id": uuid(), "agent": "clerk", "type": "tool_result",
        "call_id": "c1", "tool": "pay", "output": output, "again": again})
    };
    let ended =
        |output: &str| json!({"event_id": uuid(), "agent": "clerk", "type": "agent_ended", "output": output});
    let events = json!([
        call("c1", "pay"),
        call("c2", "adk_request_confirmation"),
        gave(json!({"error": "requires confirmation"}), false),
        ended("May I?"),
    ]);
    stage.observe(&session, events).await.is(200);
    let path = format!("/v1/sessions/{session}");
    assert_eq!(stage.get(&path).await.is(200)["waiting_calls"][0]["call_id"], "c2");

    let confirms = json!({"content": {"role": "user", "parts": [{"function_response": {"id": "c2",
        "name": "adk_request_confirmation", "response": {"confirmed": true}}}]}});
    stage.post(&format!("{path}/query"), confirms).await.is(200);
    work(&stage, &host).await.is(200);
    let confirmed = json!({"event_id": uuid(), "agent": "clerk", "type": "tool_result", "call_id": "c2",
        "tool": "adk_request_confirmation", "output": {"confirmed": true}});
    stage
        .observe(&session, json!([confirmed, gave(json!({"result": "paid 3"}), true), ended("Paid.")]))
        .await
        .is(200);
    stage.post(&format!("{path}/complete"), json!({})).await.is(200);

    let case = stage.get(&format!("{path}/eval-case")).await.is(200);
    let responses = |turn: usize| case["conversation"][turn]["intermediate_data"]["tool_responses"].clone();
    assert_eq!(responses(0)[0]["response"], json!({"error": "requires confirmation"}));
    assert_eq!(responses(1), json!([{"id": "c1", "name": "pay", "response": {"result": "paid 3"}}]));
    let history = stage.get(&format!("{path}/history")).await.is(200);
    let results: Vec<_> =
        history["entries"].as_array().unwrap().iter().filter_map(|entry| entry.get("result")).collect();
    assert_eq!(
        results,
        [
            &json!({"error": "requires confirmation"}),
            &json!({"confirmed": true}),
            &json!({"result": "paid 3"})
        ]
    );
}

#[tokio::test]
async fn nobody_is_left_waiting_for_an_agent_that_no_host_plays() {
    let stage = Stage::open().await;
    let asked = json!({"agent": "clrek", "query": {"text": "go"}});
    stage.post("/v1/sessions", asked.clone()).await.refused(409, "no_host");
    host(&stage).await;
    let problem = stage.post("/v1/sessions", asked).await.refused(409, "no_host");
    assert!(problem["detail"].as_str().unwrap().contains("clerk"), "{problem}");
    assert_eq!(stage.get("/v1/sessions").await.is(200)["sessions"], json!([]));
}

#[tokio::test]
async fn a_session_without_a_description_is_called_after_its_first_message() {
    let stage = Stage::open().await;
    let host = host(&stage).await;
    let id = uuid();
    let asked =
        json!({"id": id, "agent": "clerk", "keep_open": true, "query": {"text": "Where is\nthe heron?"}});
    stage.post("/v1/sessions", asked.clone()).await.is(201);
    stage.post("/v1/sessions", asked).await.is(200);
    let listed = stage.get("/v1/sessions?q=HERON").await.is(200);
    assert_eq!(listed["sessions"][0]["description"], "Where is the heron?");
    work(&stage, &host).await.is(200);
    let ended = json!([{"event_id": uuid(), "agent": "clerk", "type": "agent_ended", "output": "1"}]);
    stage.observe(&id, ended).await.is(200);
    let said =
        stage.post(&format!("/v1/sessions/{id}/query"), json!({"text": "And the bittern?"})).await.is(200);
    assert_eq!(said["description"], "Where is the heron?");

    let named = json!({"agent": "clerk", "description": "birds", "query": {"text": "Where is the heron?"}});
    assert_eq!(stage.post("/v1/sessions", named).await.is(201)["description"], "birds");
}

#[tokio::test]
async fn what_a_host_was_at_has_failed_when_it_leaves() {
    let stage = Stage::open().await;
    let first = host(&stage).await;
    let new = json!({"agent": "clerk", "query": {"text": "go"}});
    let session = stage.post("/v1/sessions", new.clone()).await.is(201)["id"].as_str().unwrap().to_owned();
    let ended = stage.post("/v1/sessions", new).await.is(201)["id"].as_str().unwrap().to_owned();
    stage.post(&format!("/v1/sessions/{ended}/cancel"), json!({})).await.is(200);
    work(&stage, &first).await.is(200);
    stage.delete(&format!("/v1/hosts/{first}")).await.is(204);
    let failed = |bodies: Vec<Value>| {
        let failed = bodies.into_iter().filter(|body| body["type"] == "run_failed");
        failed.map(|body| body["error"]["message"].to_string()).collect::<Vec<_>>()
    };
    let why = failed(stage.bodies(&session).await);
    assert!(why.len() == 1 && why[0].contains("went away"), "{why:?}");
    assert_eq!(failed(stage.bodies(&ended).await), Vec::<String>::new());
}

#[tokio::test]
async fn a_run_that_came_to_its_end_has_not_failed_when_its_host_leaves() {
    let stage = Stage::open().await;
    let host = host(&stage).await;
    let asked = json!({"agent": "clerk", "keep_open": true, "query": {"text": "go"}});
    let made = stage.post("/v1/sessions", asked).await.is(201);
    let session = made["id"].as_str().unwrap();
    work(&stage, &host).await.is(200);
    // A sub-agent has the last word; the host goes before it could say that the work is done.
    let turn = stage.ask(session, crate::stage::asks("helper", "go")).await;
    stage.answer(&turn, json!({"text": "done"})).await.is(200);
    let ended = json!([{"event_id": uuid(), "agent": "helper", "type": "agent_ended", "output": "done"}]);
    stage.observe(session, ended).await.is(200);
    stage.delete(&format!("/v1/hosts/{host}")).await.is(204);
    let bodies = stage.bodies(session).await;
    assert!(bodies.iter().all(|body| body["type"] != "run_failed"), "{bodies:?}");
    let history = stage.get(&format!("/v1/sessions/{session}/history")).await.is(200);
    assert_eq!(history["entries"].as_array().unwrap().last().unwrap()["content"], "done", "{history}");
}

#[tokio::test]
async fn a_run_that_ended_without_an_answer_has_failed_when_its_host_leaves() {
    let stage = Stage::open().await;
    let host = host(&stage).await;
    let made = stage.post("/v1/sessions", json!({"agent": "clerk", "query": {"text": "go"}})).await.is(201);
    let session = made["id"].as_str().unwrap();
    work(&stage, &host).await.is(200);
    let ended = json!([{"event_id": uuid(), "agent": "clerk", "type": "agent_ended"}]);
    stage.observe(session, ended).await.is(200);
    stage.delete(&format!("/v1/hosts/{host}")).await.is(204);
    let bodies = stage.bodies(session).await;
    assert!(bodies.iter().any(|body| body["type"] == "run_failed"), "{bodies:?}");
}

#[tokio::test]
async fn hosts_and_uploads_that_were_left_are_forgotten_after_a_day() {
    let stage = Stage::with_grace(Duration::from_millis(60)).await;
    host(&stage).await;
    let made = stage.post("/v1/sessions", json!({"agent": "clerk", "query": {"text": "go"}})).await.is(201);
    let upload = stage.post("/v1/uploads", json!({})).await.is(201)["id"].as_str().unwrap().to_owned();
    let chunk = stage.call(Method::PUT, &format!("/v1/uploads/{upload}?offset=0")).body("[1");
    Reply::to(chunk).await.is(204);
    stage.clock.advance(Duration::from_hours(25));
    until(|| async { (stage.get("/v1/agents").await.is(200) == json!({"agents": []})).then_some(()) }).await;
    let bodies = stage.bodies(made["id"].as_str().unwrap()).await;
    assert_eq!(bodies.last().unwrap()["type"], "run_failed");
    let store = stage.store().await;
    until(|| async { store.upload(&upload).await.unwrap().is_none().then_some(()) }).await;
}

#[tokio::test]
async fn a_run_is_given_again_until_it_leaves_a_trace() {
    let stage = Stage::open().await;
    let host = host(&stage).await;
    let made = stage.post("/v1/sessions", json!({"agent": "clerk", "query": {"text": "go"}})).await.is(201);
    let given = work(&stage, &host).await.is(200);
    // The reply may be on its way.
    work(&stage, &host).await.is(204);
    stage.clock.advance(Duration::from_secs(20));
    assert_eq!(work(&stage, &host).await.is(200), given);
    stage.ask(made["id"].as_str().unwrap(), asks("clerk", "go")).await;
    stage.clock.advance(Duration::from_secs(20));
    work(&stage, &host).await.is(204);
}

#[tokio::test]
async fn cancelling_a_session_cancels_its_running_tools() {
    let stage = Stage::open().await;
    let host = host(&stage).await;
    let made = stage.post("/v1/sessions", json!({"agent": "clerk", "query": {"text": "go"}})).await.is(201);
    let session = made["id"].as_str().unwrap();
    work(&stage, &host).await.is(200);
    let call = |id: &str| json!({"event_id": uuid(), "agent": "clerk", "type": "tool_call", "call_id": id, "tool": "add"});
    let result = json!({"event_id": uuid(), "agent": "clerk", "type": "tool_result", "call_id": "c1", "tool": "add",
        "output": 1});
    stage.observe(session, json!([call("c1"), call("c2"), result])).await.is(200);
    for _ in 0..2 {
        stage.post(&format!("/v1/sessions/{session}/cancel"), json!({})).await.is(200);
    }
    let given = work(&stage, &host).await.is(200);
    assert_eq!((&given["kind"], &given["call_id"]), (&json!("cancel"), &json!("c2")));
    work(&stage, &host).await.is(204);
}

#[tokio::test]
async fn what_cannot_be_run_again_is_told_before_the_export() {
    let stage = Stage::open().await;
    let session = stage.session().await;
    let told = |kind: &str, mut fields: Value| {
        fields["event_id"] = json!(uuid());
        fields["agent"] = json!("clerk");
        fields["type"] = json!(kind);
        fields
    };
    let message = |text: &str| told("user_message", json!({"content": {"parts": [{"text": text}]}}));
    let played = json!([
        message("one"),
        told("agent_ended", json!({"output": "1"})),
        message("two"),
        told("tool_call", json!({"call_id": "c", "tool": "fetch", "args": {}})),
        told(
            "tool_result",
            json!({"call_id": "c", "tool": "fetch", "error": {"type": "OSError", "message": "no"}})
        ),
        told("agent_ended", json!({"output": "2"})),
    ]);
    stage.observe(&session, played).await.is(200);
    let path = format!("/v1/sessions/{session}");
    assert_eq!(stage.get(&path).await.is(200).get("cautions"), None);
    let shown = stage.post(&format!("{path}/complete"), json!({})).await.is(200);
    assert!(
        shown["cautions"][0].as_str().unwrap().contains("at message 2 where `fetch` raises OSError"),
        "{shown}"
    );
    assert_eq!(shown["runnable_messages"], 1, "{shown}");
}
