//! What a browser shows instead of the token.

use std::time::Duration;

use reqwest::Method;
use serde_json::json;

use crate::stage::{Reply, Stage, TOKEN};

/// Opens the page with the token, and gives the cookie that the browser has then.
async fn visit(stage: &Stage) -> String {
    let reply = Reply::to(stage.stranger(Method::GET, &format!("/?token={TOKEN}"))).await;
    assert_eq!((reply.status, reply.headers["location"].to_str().unwrap()), (303, "/"));
    assert_eq!(reply.headers["cache-control"], "no-store");
    let cookie = reply.headers["set-cookie"].to_str().unwrap();
    for word in ["HttpOnly", "SameSite=Strict", "Path=/", "Max-Age=86400"] {
        assert!(cookie.split("; ").any(|part| part == word), "{cookie}");
    }
    // Browsers send it to every port of this machine.
    assert!(!cookie.contains(TOKEN), "{cookie}");
    cookie.split(';').next().unwrap().to_owned()
}

fn shows(stage: &Stage, method: Method, path: &str, cookie: &str) -> reqwest::RequestBuilder {
    stage.stranger(method, path).header("cookie", format!("theme=dark; {cookie}"))
}

#[tokio::test]
async fn a_browser_swaps_the_token_for_a_visit() {
    let stage = Stage::open().await;
    let cookie = visit(&stage).await;
    for path in ["/", "/v1/sessions"] {
        Reply::to(shows(&stage, Method::GET, path, &cookie)).await.is(200);
    }
    for path in ["/?token=wrong", "/?token=", "/?tokens=secret-of-this-test"] {
        let reply = Reply::to(stage.stranger(Method::GET, path)).await;
        assert!(!reply.headers.contains_key("set-cookie"));
        reply.refused(401, "unauthorized");
    }
    // Only the page does this; a token in the address of a call is none.
    Reply::to(stage.stranger(Method::GET, &format!("/v1/sessions?token={TOKEN}"))).await.is(401);
    // Neither is the token a visit, nor a visit a token.
    let (name, value) = cookie.split_once('=').unwrap();
    let token_as_visit = format!("{name}={TOKEN}");
    Reply::to(shows(&stage, Method::GET, "/v1/sessions", &token_as_visit)).await.is(401);
    let visit_as_token = stage.stranger(Method::GET, "/v1/sessions").bearer_auth(value);
    Reply::to(visit_as_token).await.is(401);
    Reply::to(stage.stranger(Method::GET, &format!("/?token={value}"))).await.is(401);
}

#[tokio::test]
async fn a_visit_outlives_a_restart_and_ends_after_a_day() {
    let mut stage = Stage::open().await;
    let cookie = visit(&stage).await;
    stage.end().await;
    stage.start().await;
    Reply::to(shows(&stage, Method::GET, "/v1/sessions", &cookie)).await.is(200);
    stage.clock.advance(Duration::from_hours(24));
    Reply::to(shows(&stage, Method::GET, "/v1/sessions", &cookie)).await.is(401);
}

#[tokio::test]
async fn a_visit_is_for_one_server() {
    let (stage, other) = (Stage::open().await, Stage::open().await);
    let cookie = visit(&stage).await;
    Reply::to(shows(&other, Method::GET, "/v1/sessions", &cookie)).await.is(401);
    // Not even under the other one's name of the cookie, though both have the same token here.
    let value = cookie.split_once('=').unwrap().1;
    let renamed = format!("rehearsal_visit_{}={value}", other.address.port());
    Reply::to(shows(&other, Method::GET, "/v1/sessions", &renamed)).await.is(401);
}

#[tokio::test]
async fn a_visit_can_be_ended() {
    let mut stage = Stage::open().await;
    let (cookie, other) = (visit(&stage).await, visit(&stage).await);
    // Another site cannot do it.
    let foreign = shows(&stage, Method::POST, "/v1/lock", &cookie).header("origin", "https://evil.test");
    Reply::to(foreign).await.refused(403, "foreign_origin");
    let reply = Reply::to(shows(&stage, Method::POST, "/v1/lock", &cookie)).await;
    assert_eq!(reply.status, 204);
    let removed = reply.headers["set-cookie"].to_str().unwrap();
    let name = cookie.split_once('=').unwrap().0;
    assert!(removed.starts_with(&format!("{name}=;")) && removed.ends_with("Max-Age=0"), "{removed}");
    Reply::to(shows(&stage, Method::GET, "/v1/sessions", &cookie)).await.is(401);
    Reply::to(shows(&stage, Method::GET, "/v1/sessions", &other)).await.is(200);
    Reply::to(stage.stranger(Method::POST, "/v1/lock")).await.refused(401, "unauthorized");
    // A copy that somebody made of it opens nothing after a restart either.
    stage.end().await;
    stage.start().await;
    Reply::to(shows(&stage, Method::GET, "/v1/sessions", &cookie)).await.is(401);
    Reply::to(shows(&stage, Method::GET, "/v1/sessions", &other)).await.is(200);
}

#[tokio::test]
async fn forms_of_other_sites_do_nothing() {
    let stage = Stage::open().await;
    let cookie = visit(&stage).await;
    let session = stage.session().await;
    let paths = [
        "/v1/sessions".to_owned(),
        format!("/v1/sessions/{session}/query"),
        format!("/v1/sessions/{session}/cancel"),
        format!("/v1/sessions/{session}/events"),
        format!("/v1/sessions/{session}/calls"),
        "/v1/ledgers".to_owned(),
        "/v1/uploads".to_owned(),
    ];
    let kinds = ["application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/plain"];
    for path in &paths {
        for kind in kinds {
            for origin in ["https://evil.test", "null", "http://127.0.0.1:1"] {
                let form = shows(&stage, Method::POST, path, &cookie)
                    .header("origin", origin)
                    .header("content-type", kind)
                    .body(json!({"text": "forged"}).to_string());
                Reply::to(form).await.refused(403, "foreign_origin");
            }
        }
    }
    let shown = stage.get(&format!("/v1/sessions/{session}")).await.is(200);
    assert_eq!(shown["status"], "active");
}
