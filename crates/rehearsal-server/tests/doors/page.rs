//! The page and what it needs of the API.

use rehearsal_store::{RunAbout, RunLife, RunRecord, RunStatus};
use reqwest::Method;
use serde_json::{Value, json};

use crate::stage::{Reply, Stage, TOKEN, asks, soon, uuid};

/// A call of somebody who sits at a browser.
fn browser(stage: &Stage, path: &str) -> reqwest::RequestBuilder {
    stage.stranger(Method::GET, path).header("accept", "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8")
}

#[test]
fn this_build_has_the_page() {
    assert!(rehearsal_web::is_built(), "the page was left out; the warning of the build says why");
    let packed: usize =
        rehearsal_web::assets().iter().map(|asset| asset.gzip.unwrap_or(asset.bytes).len()).sum();
    assert!(packed < 300 << 10, "the page has {packed} bytes compressed");
}

#[tokio::test]
async fn every_room_is_the_page_with_a_strict_policy() {
    let stage = Stage::open().await;
    for room in ["/", "/start", "/start?agent=clerk", "/sessions/some-id", "/runs", "/runs/compare?a=1&b=2"] {
        let reply = Reply::to(browser(&stage, room).bearer_auth(TOKEN)).await;
        assert_eq!(
            (reply.status, &reply.headers["content-type"].to_str().unwrap()[..9]),
            (200, "text/html"),
            "{room}"
        );
        let policy = reply.headers["content-security-policy"].to_str().unwrap();
        assert!(policy.contains("default-src 'none'") && policy.contains("script-src 'self'"), "{policy}");
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(reply.headers["x-content-type-options"], "nosniff");
        assert_eq!(reply.headers["cache-control"], "no-cache");
        assert!(reply.text.contains("<!doctype html>"), "{}", reply.text);
    }
    stage.get("/no/such/room").await.refused(404, "no_such_call");
    stage.post("/start", json!({})).await.refused(404, "no_such_call");
}

#[tokio::test]
async fn addresses_that_people_come_with_lead_somewhere() {
    let stage = Stage::open().await;
    // The published plugin tells people this one.
    let client =
        reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none()).build().unwrap();
    let stranger = client.get(stage.url("/session/abc")).header("accept", "text/html");
    let reply = soon(stranger.send()).await.unwrap();
    assert_eq!(reply.status(), 401);
    assert!(reply.text().await.unwrap().contains("Rehearsal is locked"));
    let swapped = soon(client.get(stage.url(&format!("/session/abc?token={TOKEN}"))).send()).await.unwrap();
    assert_eq!(swapped.headers()["location"], "/session/abc");
    let reply = soon(client.get(stage.url("/session/abc")).bearer_auth(TOKEN).send()).await.unwrap();
    assert_eq!(
        (reply.status().as_u16(), &reply.headers()["location"]),
        (308, &"/sessions/abc".parse().unwrap())
    );
    // Nothing is there, and the page says so.
    let reply = Reply::to(browser(&stage, "/no/such/room").bearer_auth(TOKEN)).await;
    assert_eq!((reply.status, reply.text.contains("<!doctype html>")), (404, true));
    Reply::to(browser(&stage, "/v1/nothing").bearer_auth(TOKEN)).await.refused(404, "no_such_call");
}

#[tokio::test]
async fn files_of_the_page_are_compressed_and_kept() {
    let stage = Stage::open().await;
    // This client does not unpack what comes.
    let client = reqwest::Client::builder().no_gzip().no_proxy().build().unwrap();
    for asset in rehearsal_web::assets() {
        let call = || client.get(stage.url(asset.path)).bearer_auth(TOKEN);
        let reply = soon(call().header("accept-encoding", "gzip").send()).await.unwrap();
        let packed = reply.headers().get("content-encoding").is_some();
        assert_eq!(packed, asset.gzip.is_some(), "{}", asset.path);
        let tag = reply.headers()["etag"].clone();
        let plain = soon(call().header("accept-encoding", "identity").send()).await.unwrap();
        assert!(plain.headers().get("content-encoding").is_none());
        assert_eq!(soon(plain.bytes()).await.unwrap(), asset.bytes, "{}", asset.path);
        let known = soon(call().header("if-none-match", tag).send()).await.unwrap();
        assert_eq!(known.status(), 304, "{}", asset.path);
    }
}

#[tokio::test]
async fn a_browser_without_the_token_is_told_where_it_is() {
    let stage = Stage::open().await;
    let reply = Reply::to(browser(&stage, "/sessions/some-id")).await;
    assert_eq!(reply.status, 401);
    assert!(reply.text.contains(".rehearsal/token"), "{}", reply.text);
    // Calls and programs are told in their own way.
    Reply::to(browser(&stage, "/v1/sessions")).await.refused(401, "unauthorized");
    Reply::to(stage.stranger(Method::GET, "/")).await.refused(401, "unauthorized");
}

#[tokio::test]
async fn a_link_with_the_token_leads_to_its_room() {
    let stage = Stage::open().await;
    let reply = Reply::to(browser(&stage, &format!("/runs/compare?a=1&token={TOKEN}&b=2"))).await;
    assert_eq!((reply.status, reply.headers["location"].to_str().unwrap()), (303, "/runs/compare?a=1&b=2"));
    let cookie = reply.headers["set-cookie"].to_str().unwrap();
    // Two servers on one machine have visits of their own, and cookies do not tell ports apart.
    assert!(cookie.starts_with(&format!("rehearsal_visit_{}=", stage.address.port())), "{cookie}");
}

#[tokio::test]
async fn a_turn_is_shown_whole_though_the_ledger_keeps_what_is_new() {
    let stage = Stage::open().await;
    let session = stage.session().await;
    let first = stage.ask(&session, asks("clerk", "hello")).await;
    stage.answer(&first, json!({"calls": [{"tool": "add", "args": {"a": 1, "b": 2}}]})).await.is(200);
    let mut again = asks("clerk", "hello");
    again["request"]["contents"]
        .as_array_mut()
        .unwrap()
        .push(json!({"role": "model", "parts": [{"text": "well"}]}));
    again["request"]["config"] = json!({"temperature": 0.5});
    let second = stage.ask(&session, again).await;
    let shown = stage.get(&format!("/v1/sessions/{session}/turns/{second}")).await.is(200);
    assert_eq!((&shown["turn_id"], &shown["agent"]), (&json!(second), &json!("clerk")));
    let request = &shown["request"];
    assert_eq!(request["system"], "Be kind.");
    assert_eq!(request["contents"].as_array().unwrap().len(), 2, "{request}");
    assert_eq!(request["tools"][0]["name"], "add");
    assert_eq!(request["settings"]["extra"]["temperature"], 0.5, "{request}");
    stage.get(&format!("/v1/sessions/{session}/turns/{}", uuid())).await.refused(404, "not_found");
}

#[tokio::test]
async fn results_of_an_earlier_version_are_given_in_the_form_of_today() {
    let stage = Stage::open().await;
    let golden = |name: &str| {
        let place = concat!(env!("CARGO_MANIFEST_DIR"), "/../rehearsal-core/tests/golden/");
        let text = std::fs::read_to_string(format!("{place}{name}")).unwrap();
        rehearsal_core::json::from_str::<Value>(&text).unwrap()
    };
    let record = RunRecord {
        id: "old".to_owned(),
        started_at: 1_000,
        ended_at: Some(9_000),
        title: "a suite".to_owned(),
        status: RunStatus::Failed,
        about: RunAbout::default(),
        result: Some(golden("result-run-1.json")),
        life: RunLife::default(),
    };
    stage.store().await.put_run(&record).await.unwrap();
    let listed = stage.get("/v1/runs").await.is(200);
    let today = golden("result-run-2.json");
    assert_eq!(listed["runs"][0]["duration_ms"], today["duration_ms"]);
    assert_eq!(listed["runs"][0]["summary"], today["summary"]);
    let whole = stage.get("/v1/runs/old").await.is(200);
    let read = |value: &Value| rehearsal_core::RunResult::read(value.clone()).unwrap();
    assert_eq!(read(&whole["result"]), read(&today));
    let schema = &stage.get("/openapi.json").await.json()["components"]["schemas"];
    assert_eq!(schema["RunView"]["properties"]["result"]["$ref"], "#/components/schemas/RunResult");
    assert_eq!(
        schema["RunResult"]["properties"]["results"]["items"]["$ref"],
        "#/components/schemas/CaseResult"
    );
}

#[tokio::test]
async fn lists_of_runs_say_how_many_passed() {
    let stage = Stage::open().await;
    let run = |id: &str, result: Option<Value>| RunRecord {
        id: id.to_owned(),
        started_at: 1_000,
        ended_at: None,
        title: "a suite".to_owned(),
        status: RunStatus::Running,
        about: RunAbout { name: Some(format!("Run {id}")), ..RunAbout::default() },
        result,
        life: RunLife::default(),
    };
    let store = stage.store().await;
    let result = json!({"summary": {"total": 3, "passed": 2}, "duration_ms": 1234, "results": ["long"]});
    store.put_run(&run("b", Some(result.clone()))).await.unwrap();
    store.put_run(&run("a", None)).await.unwrap();
    store.put_run(&run("0", Some(json!({"older": true})))).await.unwrap();
    let listed = stage.get("/v1/runs").await.is(200);
    let runs = listed["runs"].as_array().unwrap();
    assert_eq!(runs[0]["summary"], json!({"total": 3, "passed": 2}));
    assert_eq!((&runs[0]["name"], &runs[0]["duration_ms"]), (&json!("Run b"), &json!(1234)));
    assert!(runs[1]["duration_ms"].is_null() && runs[1]["commit"].is_null(), "{listed}");
    assert!(
        runs[0]["result"].is_null() && runs[1]["summary"].is_null() && runs[2]["summary"].is_null(),
        "{listed}"
    );
    let whole = stage.get("/v1/runs/b").await.is(200);
    assert_eq!((&whole["result"], &whole["summary"]), (&result, &json!({"total": 3, "passed": 2})));
    assert_eq!((&whole["name"], &whole["duration_ms"]), (&json!("Run b"), &json!(1234)));
    let found = stage.get("/v1/runs?q=RUN%20A").await.is(200);
    assert_eq!(found["runs"].as_array().unwrap().len(), 1, "{found}");
    assert_eq!(found["runs"][0]["id"], "a");
}

#[tokio::test]
async fn a_report_of_a_run_is_one_file() {
    let stage = Stage::open().await;
    let run = RunRecord {
        id: "11111111-aaaa".to_owned(),
        started_at: 1_000,
        ended_at: Some(2_000),
        title: "</script><script>alert(1)</script>".to_owned(),
        status: RunStatus::Passed,
        about: RunAbout::default(),
        result: Some(json!({"summary": {"total": 1, "passed": 1}})),
        life: RunLife::default(),
    };
    stage.store().await.put_run(&run).await.unwrap();
    stage.get("/v1/runs/none/report").await.refused(404, "not_found");
    let reply = stage.get("/v1/runs/11111111-aaaa/report").await;
    assert_eq!(reply.status, 200);
    let header = |name: &str| reply.headers[name].to_str().unwrap();
    assert_eq!(header("content-type"), "text/html; charset=utf-8");
    assert_eq!(header("content-disposition"), "attachment; filename=\"run-11111111.html\"");
    assert!(header("content-security-policy").contains("sandbox"));
    assert_eq!(header("x-content-type-options"), "nosniff");
    let html = &reply.text;
    assert!(html.contains("rehearsal-report") && html.contains("11111111-aaaa"));
    assert!(!html.contains("<script>alert(1)"), "what a run is called is no code");
}
