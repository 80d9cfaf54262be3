//! Who may come in, and with how much.

use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tonic::Code;
use tonic::service::interceptor::InterceptedService;

use crate::stage::{Reply, Stage, TOKEN, asks, soon, uuid, wire_to};
use rehearsal_server::adksim::wire::ListSessionsRequest;
use rehearsal_server::adksim::wire::simulator_service_client::SimulatorServiceClient;

/// Every documented call: its method and a path.
pub(crate) fn documented() -> Vec<(Method, String)> {
    let api: Value = rehearsal_core::json::from_str(&rehearsal_server::openapi_json()).unwrap();
    let mut calls = Vec::new();
    for (path, item) in api["paths"].as_object().unwrap() {
        let path: String = path
            .split('/')
            .map(|step| match step {
                "{seq}" | "{number}" => "1".to_owned(),
                step if step.starts_with('{') => uuid(),
                step => step.to_owned(),
            })
            .collect::<Vec<_>>()
            .join("/");
        for method in item.as_object().unwrap().keys() {
            calls.push((method.to_uppercase().parse().unwrap(), path.clone()));
        }
    }
    assert!(calls.len() >= 40, "{calls:?}");
    calls
}

/// What somebody shows who has no token, or nearly this one: the header and what is in it.
fn forged_tokens() -> Vec<(&'static str, String)> {
    let half = &TOKEN[..TOKEN.len() / 2];
    let authorization = [
        String::new(),
        "Bearer".to_owned(),
        "Bearer ".to_owned(),
        "Bearer wrong".to_owned(),
        "Bearer null".to_owned(),
        "Bearer *".to_owned(),
        format!("Bearer {half}"),
        format!("Bearer {TOKEN}{TOKEN}"),
        format!("Bearer {TOKEN} {TOKEN}"),
        format!("Bearer {}", TOKEN.to_uppercase()),
        format!("Bearer \"{TOKEN}\""),
        format!("Bearer={TOKEN}"),
        format!("Bearer{TOKEN}"),
        format!("Bearer,{TOKEN}"),
        format!("Basic {TOKEN}"),
        format!("Token {TOKEN}"),
        format!("Digest {TOKEN}"),
        format!("Bearer: {TOKEN}"),
        format!("Bearer <{TOKEN}>"),
        format!("Bearer token={TOKEN}"),
        format!("Bearer {}", TOKEN.chars().rev().collect::<String>()),
        TOKEN.to_owned(),
    ];
    let others = [
        ("x-auth-token", TOKEN.to_owned()),
        ("x-api-key", TOKEN.to_owned()),
        ("proxy-authorization", format!("Bearer {TOKEN}")),
        ("cookie", format!("rehearsal_visit={TOKEN}; token={TOKEN}; authorization=Bearer {TOKEN}")),
    ];
    authorization.map(|shown| ("authorization", shown)).into_iter().chain(others).collect()
}

#[tokio::test]
async fn every_documented_call_but_health_needs_the_token() {
    let stage = Stage::open().await;
    let forged = forged_tokens();
    let mut tried = 0.0;
    for (method, path) in documented() {
        if matches!(path.as_str(), "/healthz" | "/readyz") {
            Reply::to(stage.stranger(method, &path)).await.is(200);
            continue;
        }
        for (name, shown) in &forged {
            let call = stage.stranger(method.clone(), &path).header(*name, shown);
            let reply = Reply::to(call).await;
            assert_eq!(reply.headers["www-authenticate"], "Bearer", "{method} {path}");
            assert_eq!(reply.headers["x-content-type-options"], "nosniff", "{method} {path}");
            assert_eq!(reply.headers["cache-control"], "no-store", "{method} {path}");
            let problem = reply.refused(401, "unauthorized");
            assert!(problem["detail"].as_str().unwrap().contains("Authorization: Bearer"), "{problem}");
            tried += 1.0;
        }
    }
    for path in ["/", "/openapi.json", "/nowhere"] {
        Reply::to(stage.stranger(Method::GET, path)).await.refused(401, "unauthorized");
        tried += 1.0;
    }
    assert!(tried >= 1000.0, "{tried}");
    assert_eq!(stage.figure("rehearsal_refused_total").await, Some(tried));
}

#[tokio::test]
async fn every_documented_call_is_there() {
    let stage = Stage::open().await;
    for (method, path) in documented() {
        let response = soon(stage.call(method.clone(), &path).send()).await.unwrap();
        let status = response.status();
        assert_eq!(response.headers()["x-content-type-options"], "nosniff", "{method} {path}");
        assert_eq!(response.headers()["cache-control"], "no-store", "{method} {path}");
        assert!(status != 405 && !status.is_server_error(), "{method} {path} gave {status}");
        if !status.is_success() {
            let text = soon(response.text()).await.unwrap();
            assert!(!text.contains("no_such_call"), "{method} {path}: {text}");
        }
    }
}

#[tokio::test]
async fn what_is_not_there_is_said_so() {
    let stage = Stage::open().await;
    stage.get("/v1/nothing").await.refused(404, "no_such_call");
    let reply = stage.delete("/v1/sessions").await;
    assert!(reply.headers["allow"].to_str().unwrap().contains("POST"), "{:?}", reply.headers);
    reply.refused(405, "no_such_method");
}

#[tokio::test]
async fn the_scheme_of_the_token_may_be_written_in_any_case() {
    let stage = Stage::open().await;
    let call = stage.stranger(Method::GET, "/v1/sessions").header("authorization", format!("bearer {TOKEN}"));
    Reply::to(call).await.is(200);
}

#[tokio::test]
async fn only_calls_to_our_own_name_are_taken() {
    let stage = Stage::open().await;
    let named = |name: &str| stage.call(Method::GET, "/v1/sessions").header("host", name);
    let forged = [
        "evil.test",
        "evil.test:4200",
        "localhost.evil.test",
        "evil.localhost",
        "10.1.2.3",
        "0.0.0.0",
        "[::]",
        "[::ffff:10.1.2.3]",
        "127.0.0.1.evil.test",
        "127.0.0.1.",
        "127.1",
        "2130706433",
        "0x7f000001",
        "localhost.",
        "localhost:80:80",
        "localhost@evil.test",
        "evil.test#localhost",
        "localhost,evil.test",
        "rehearsal.test.evil.test",
        "xn--lcalhost-9xa",
        "[::1].evil.test",
        ":4200",
    ];
    for name in forged {
        let problem = Reply::to(named(name)).await.refused(403, "unknown_host");
        assert!(problem["detail"].as_str().unwrap().contains(name), "{problem}");
    }
    for name in
        ["localhost", "localhost:1234", "127.0.0.1", "[::1]:80", "rehearsal.test", "REHEARSAL.test:80"]
    {
        Reply::to(named(name)).await.is(200);
    }
    let health = stage.stranger(Method::GET, "/healthz").header("host", "evil.test");
    Reply::to(health).await.refused(403, "unknown_host");
}

#[tokio::test]
async fn calls_from_other_sites_are_refused() {
    let stage = Stage::open().await;
    let from =
        |origin: String| stage.call(Method::POST, "/v1/sessions").header("origin", origin).json(&json!({}));
    let other_port = format!("http://127.0.0.1:{}", stage.grpc_address.port());
    let here = stage.address;
    let forged = [
        "https://evil.test".to_owned(),
        "null".to_owned(),
        String::new(),
        "file://".to_owned(),
        other_port,
        "http://localhost".to_owned(),
        format!("http://localhost:{}", here.port()),
        format!("http://[::1]:{}", here.port()),
        format!("http://{here}.evil.test"),
        format!("http://{here}@evil.test"),
        format!("http://evil.test/{here}"),
        format!("http://evil.test#{here}"),
        format!("http://{here}/"),
        format!("http://{here} http://evil.test"),
        format!("ftp://{here}"),
        format!("{here}"),
        format!("http://http://{here}"),
        "chrome-extension://abcdefghijklmnop".to_owned(),
    ];
    for origin in forged {
        Reply::to(from(origin)).await.refused(403, "foreign_origin");
    }
    Reply::to(from(format!("http://{}", stage.address))).await.is(201);
}

#[tokio::test]
async fn the_port_without_a_token_has_the_same_door() {
    let stage = Stage::open().await;
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let path = "adksim.v1.SimulatorService/ListSessions";
    let call = || {
        http.post(format!("http://{}/{path}", stage.grpc_address))
            .header("content-type", "application/grpc")
            .body(vec![0, 0, 0, 0, 0])
    };
    for (name, value) in [("host", "evil.test"), ("origin", "https://evil.test"), ("origin", "null")] {
        let response = soon(call().header(name, value).send()).await.unwrap();
        assert_eq!(response.headers()["grpc-status"], "7", "{name}: {value}");
    }
    // Without the type of the protocol the refusal is one of HTTP.
    let posted = http.post(format!("http://{}/{path}", stage.grpc_address)).header("host", "evil.test");
    assert_eq!(soon(posted.send()).await.unwrap().status(), 403);
    // The rest of the API is not there.
    let listed = http.get(format!("http://{}/v1/sessions", stage.grpc_address)).bearer_auth(TOKEN);
    assert_eq!(soon(listed.send()).await.unwrap().status(), 404);
}

#[tokio::test]
async fn grpc_needs_the_token_on_the_main_port_and_none_on_its_own() {
    let stage = Stage::open().await;
    let refused = soon(wire_to(stage.address).list_sessions(ListSessionsRequest::default())).await;
    assert_eq!(refused.unwrap_err().code(), Code::Unauthenticated);
    soon(stage.wire().list_sessions(ListSessionsRequest::default())).await.unwrap();

    let client = hyper_util::client::legacy::Client::builder(hyper_util::rt::TokioExecutor::new())
        .http2_only(true)
        .build(hyper_util::client::legacy::connect::HttpConnector::new());
    let show = |mut request: tonic::Request<()>| {
        request.metadata_mut().insert("authorization", format!("Bearer {TOKEN}").parse().unwrap());
        Ok(request)
    };
    let origin = stage.url("").parse().unwrap();
    let mut with_token = SimulatorServiceClient::with_origin(InterceptedService::new(client, show), origin);
    soon(with_token.list_sessions(ListSessionsRequest::default())).await.unwrap();
}

#[tokio::test]
async fn bodies_over_the_bound_are_refused_and_nothing_else_suffers() {
    let stage = Stage::open().await;
    let session = stage.session().await;
    let text = "x".repeat(32 << 20);
    let path = format!("/v1/sessions/{session}/turns/{}", uuid());
    let problem = stage.put(&path, asks("clerk", &text)).await.refused(413, "too_large");
    assert!(problem["detail"].as_str().unwrap().contains("/v1/uploads"), "{problem}");
    stage.put(&path, asks("clerk", &text[..30 << 20])).await.is(201);

    let request = rehearsal_server::adksim::wire::SubmitRequestRequest {
        session_id: session,
        turn_id: uuid(),
        agent_name: "clerk".to_owned(),
        request: vec![0; 33 << 20].into(),
    };
    let status = soon(stage.wire().submit_request(request)).await.unwrap_err();
    assert!(matches!(status.code(), Code::OutOfRange | Code::ResourceExhausted), "{status:?}");
    stage.get("/v1/sessions").await.is(200);
}

#[tokio::test]
async fn only_json_is_taken_as_json() {
    let stage = Stage::open().await;
    let post = |kind: Option<&str>, body: &'static str| {
        let call = stage.call(Method::POST, "/v1/sessions").body(body);
        match kind {
            Some(kind) => call.header("content-type", kind),
            None => call,
        }
    };
    for kind in [None, Some("text/plain"), Some("application/x-www-form-urlencoded")] {
        Reply::to(post(kind, "{}")).await.refused(422, "not_json");
    }
    let json = Some("application/json");
    for body in ["", "{", "[]", "null", r#"{"agnt": "clerk"}"#, r#"{"agent": 7}"#, r#"{"id": "\ud800"}"#] {
        Reply::to(post(json, body)).await.refused(422, "invalid_body");
    }
    let bytes = stage.call(Method::POST, "/v1/sessions").header("content-type", "application/json");
    Reply::to(bytes.body(vec![b'"', 0xff, b'"'])).await.refused(422, "invalid_body");
    Reply::to(post(Some("application/json; charset=utf-8"), "{}")).await.is(201);
}

#[tokio::test]
async fn streams_over_the_bound_are_refused_until_one_ends() {
    let stage = Stage::open().await;
    let mut held = Vec::new();
    let http = || reqwest::Client::builder().no_proxy().http2_prior_knowledge().build().unwrap();
    let mut refused = None;
    // A connection carries 2048 of them.
    for _ in 0..5 {
        let http = http();
        let asked = (0..2000).map(|_| http.get(stage.url("/v1/changes")).bearer_auth(TOKEN).send());
        for response in soon(futures::future::join_all(asked)).await {
            let response = response.unwrap();
            if response.status() == 200 {
                held.push(response);
            } else {
                refused = Some(response);
            }
        }
    }
    assert_eq!(held.len(), 8192);
    let refused = refused.unwrap();
    assert_eq!((refused.status().as_u16(), &refused.headers()["retry-after"]), (429, &"1".parse().unwrap()));
    assert!(soon(refused.text()).await.unwrap().contains("too_many_streams"));
    stage.get("/v1/sessions").await.is(200);

    held.pop();
    crate::stage::until(|| async {
        let again = stage.call(Method::GET, "/v1/changes").send().await.unwrap();
        (again.status() == 200).then_some(())
    })
    .await;
}

#[tokio::test]
async fn headers_over_the_bound_are_refused() {
    let stage = Stage::open().await;
    let many = (0..1000).map(|number| format!("x-{number}: y\r\n")).collect::<Vec<_>>().concat();
    for bomb in [format!("x-large: {}\r\n", "x".repeat(1 << 20)), many] {
        let mut connection = tokio::net::TcpStream::connect(stage.address).await.unwrap();
        let request = format!("GET /v1/sessions HTTP/1.1\r\nhost: localhost\r\n{bomb}\r\n");
        // The server may close before it has heard all of it.
        let _cut = soon(connection.write_all(request.as_bytes())).await;
        let mut reply = Vec::new();
        let _cut = soon(connection.read_to_end(&mut reply)).await;
        let reply = String::from_utf8_lossy(&reply);
        assert!(reply.is_empty() || reply.starts_with("HTTP/1.1 431"), "{reply}");
    }
    stage.get("/v1/sessions").await.is(200);
}

#[tokio::test]
async fn waits_are_numbers_of_seconds() {
    let stage = Stage::open().await;
    let session = stage.session().await;
    let turn = stage.ask(&session, asks("clerk", "hi")).await;
    for wait in ["-1", "soon", "NaN", "inf"] {
        let path = format!("/v1/sessions/{session}/turns/{turn}/response?wait={wait}");
        stage.get(&path).await.refused(422, "invalid_parameters");
    }
    stage.get(&format!("/v1/sessions/{session}/turns/{turn}/response?wait=0.01")).await.is(204);
}
