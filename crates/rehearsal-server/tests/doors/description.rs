//! What the server says of itself.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::stage::{Reply, Stage, asks};

#[test]
fn the_checked_in_description_is_the_served_one() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/openapi.json");
    let now = rehearsal_server::openapi_json();
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&path, &now).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == now,
        "docs/reference/openapi.json is not what the code says; write it with \
         `UPDATE_EXPECT=1 cargo test -p rehearsal-server --test doors description`"
    );
}

#[tokio::test]
async fn the_description_is_served() {
    let stage = Stage::open().await;
    let served = stage.get("/openapi.json").await;
    assert_eq!(served.headers["content-type"], "application/json");
    assert_eq!(
        served.json(),
        rehearsal_core::json::from_str::<Value>(&rehearsal_server::openapi_json()).unwrap()
    );
}

#[test]
fn every_call_is_described_with_its_problems() {
    let api: Value = rehearsal_core::json::from_str(&rehearsal_server::openapi_json()).unwrap();
    let mut names = std::collections::BTreeSet::new();
    for (path, item) in api["paths"].as_object().unwrap() {
        for (method, call) in item.as_object().unwrap() {
            let place = format!("{method} {path}");
            assert!(call["summary"].is_string(), "{place}");
            let problem = &call["responses"]["default"]["content"]["application/problem+json"];
            assert_eq!(problem["schema"]["$ref"], "#/components/schemas/Problem", "{place}");
            names.insert(call["operationId"].to_string());
        }
    }
    let calls: usize =
        api["paths"].as_object().unwrap().values().map(|item| item.as_object().unwrap().len()).sum();
    assert_eq!(names.len(), calls, "each call has a name of its own: {names:?}");
}

#[tokio::test]
async fn figures_count_what_happens() {
    let stage = Stage::open().await;
    let session = stage.session().await;
    let one = stage.ask(&session, asks("clerk", "hi")).await;
    stage.ask(&session, asks("clerk", "ho")).await;
    stage.answer(&one, json!({"text": "hello"})).await.is(200);
    let reply = stage.get("/metrics").await;
    assert!(reply.headers["content-type"].to_str().unwrap().starts_with("application/openmetrics-text"));
    assert!(reply.text.ends_with("# EOF\n"), "{}", reply.text);
    for (name, value) in [
        ("rehearsal_turns_total", 2.0),
        ("rehearsal_answers_total", 1.0),
        ("rehearsal_events_total", 0.0),
        ("rehearsal_refused_total", 0.0),
        ("rehearsal_open_cues", 1.0),
        ("rehearsal_waiting", 0.0),
    ] {
        assert_eq!(stage.figure(name).await, Some(value), "{}", reply.text);
    }
}

#[tokio::test]
async fn a_server_whose_store_cannot_be_used_lives_and_is_not_ready() {
    let stage = Stage::open().await;
    // Somebody takes the file away before anything was read from it.
    std::fs::remove_file(stage.place()).unwrap();
    let health = |path: &str| stage.stranger(reqwest::Method::GET, path);
    let reply = Reply::to(health("/readyz")).await;
    assert_eq!(reply.headers["retry-after"], "1");
    let problem = reply.refused(503, "store_unavailable");
    assert!(problem["detail"].as_str().unwrap().contains("store.db"), "{problem}");
    stage.get("/v1/sessions").await.refused(503, "store_unavailable");
    assert_eq!(Reply::to(health("/healthz")).await.text, "ok");
}

#[tokio::test]
async fn a_server_with_its_store_is_ready() {
    let stage = Stage::open().await;
    assert_eq!(Reply::to(stage.stranger(reqwest::Method::GET, "/readyz")).await.text, "ready");
}
