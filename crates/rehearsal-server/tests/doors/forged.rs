//! Every documented call under forged names, from foreign sites, as forms of other pages: a call that is added is tried too.

use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::door::documented;
use crate::stage::{Reply, Stage, TOKEN, soon, uuid};

const HOSTS: [&str; 6] =
    ["evil.test", "localhost.evil.test", "127.0.0.1.evil.test", "10.1.2.3", "127.1", "localhost@evil.test"];
/// What a page of another site can send without asking first.
const FORMS: [&str; 4] = [
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "text/plain",
    "text/plain; charset=application/json",
];

/// Looks at what stands on every answer, and gives the answer.
async fn guarded(call: RequestBuilder, what: &str) -> Reply {
    let response = soon(call.send()).await.unwrap();
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    assert_eq!(headers.get("x-content-type-options").unwrap(), "nosniff", "{what} gave {status}");
    assert_eq!(headers.get("cache-control").unwrap(), "no-store", "{what} gave {status}");
    // A stream has no end, and its head is all that is looked at.
    let is_stream = headers.get("content-type").is_some_and(|kind| kind == "text/event-stream");
    let text = if is_stream { String::new() } else { soon(response.text()).await.unwrap() };
    Reply { status, headers, text }
}

/// What there is after all the calls that were refused: nothing.
async fn nothing_happened(stage: &Stage, refused: usize) {
    assert_eq!(stage.get("/v1/sessions").await.is(200)["sessions"], json!([]));
    assert_eq!(stage.get("/v1/agents").await.is(200)["agents"], json!([]));
    #[expect(clippy::cast_precision_loss, reason = "there are hundreds")]
    let counted = refused as f64;
    assert_eq!(stage.figure("rehearsal_refused_total").await, Some(counted));
}

#[tokio::test]
async fn no_call_is_taken_under_a_forged_name() {
    let stage = Stage::open().await;
    let calls = documented();
    for (method, path) in &calls {
        for name in HOSTS {
            let call = stage.call(method.clone(), path).header("host", name);
            guarded(call, &format!("{method} {path} at {name}")).await.refused(403, "unknown_host");
        }
    }
    nothing_happened(&stage, calls.len() * HOSTS.len()).await;
}

#[tokio::test]
async fn no_call_is_taken_for_two_hosts() {
    let stage = Stage::open().await;
    let calls = documented();
    let here = stage.address;
    for (method, path) in &calls {
        let mut line = tokio::net::TcpStream::connect(here).await.unwrap();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {here}\r\nHost: evil.test\r\nAuthorization: Bearer {TOKEN}\r\n\
             Content-Length: 0\r\nConnection: close\r\n\r\n"
        );
        line.write_all(head.as_bytes()).await.unwrap();
        let mut reply = String::new();
        soon(line.read_to_string(&mut reply)).await.unwrap();
        assert!(
            reply.starts_with("HTTP/1.1 400 ") && reply.contains("two_hosts"),
            "{method} {path}: {reply}"
        );
    }
    nothing_happened(&stage, calls.len()).await;
}

#[tokio::test]
async fn no_call_is_taken_from_another_site() {
    let stage = Stage::open().await;
    let entered = Reply::to(stage.stranger(Method::GET, &format!("/?token={TOKEN}"))).await;
    let cookie = entered.headers["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();
    let other_port = format!("http://{}", stage.grpc_address);
    let origins = ["https://evil.test", "null", other_port.as_str()];
    let mut refused = 0;
    for (method, path) in documented() {
        for origin in origins {
            let what = format!("{method} {path} from {origin}");
            let with_token = stage.call(method.clone(), &path).header("origin", origin).json(&json!({}));
            guarded(with_token, &what).await.refused(403, "foreign_origin");
            refused += 1;
            for kind in FORMS {
                let form = stage.stranger(method.clone(), &path).header("cookie", &cookie);
                let form =
                    form.header("origin", origin).header("content-type", kind).body("{\"agent\":\"x\"}");
                guarded(form, &format!("{what} as {kind}")).await.refused(403, "foreign_origin");
                refused += 1;
            }
        }
    }
    nothing_happened(&stage, refused).await;
}

#[tokio::test]
async fn no_form_is_taken_as_json() {
    let api: Value = rehearsal_core::json::from_str(&rehearsal_server::openapi_json()).unwrap();
    let stage = Stage::open().await;
    let mut tried = 0;
    for (path, item) in api["paths"].as_object().unwrap() {
        for (method, call) in item.as_object().unwrap() {
            if call["requestBody"]["content"]["application/json"].is_null() {
                continue;
            }
            let steps =
                path.split('/').map(|step| if step.starts_with('{') { uuid() } else { step.to_owned() });
            let path = steps.collect::<Vec<_>>().join("/");
            let method: Method = method.to_uppercase().parse().unwrap();
            for kind in FORMS {
                let form = stage.call(method.clone(), &path).header("content-type", kind).body("{}");
                let reply = guarded(form, &format!("{method} {path} as {kind}")).await;
                assert!((400..500).contains(&reply.status), "{method} {path} as {kind}: {}", reply.text);
                tried += 1;
            }
        }
    }
    assert!(tried >= 40, "{tried}");
    nothing_happened(&stage, 0).await;
}

#[tokio::test]
async fn every_answer_of_the_api_is_guarded() {
    let stage = Stage::open().await;
    let session = stage.session().await;
    let every = [
        Method::GET,
        Method::HEAD,
        Method::POST,
        Method::PUT,
        Method::PATCH,
        Method::DELETE,
        Method::OPTIONS,
        Method::TRACE,
    ];
    for (_, path) in documented() {
        for method in &every {
            guarded(stage.call(method.clone(), &path), &format!("{method} {path}")).await;
        }
    }
    for path in [
        "/v1/",
        "/v1/nothing",
        "/v1/sessions/",
        "/v1/sessions/%00",
        "/v1/../v1/sessions",
        "/v1/sessions/x/y/z",
    ] {
        for method in &every {
            guarded(stage.call(method.clone(), path), &format!("{method} {path}")).await;
        }
    }
    for path in [format!("/v1/sessions/{session}/events/stream"), "/v1/changes".to_owned()] {
        let stream = guarded(stage.call(Method::GET, &path), &path).await;
        assert_eq!(
            (stream.status, stream.headers["content-type"].to_str().unwrap()),
            (200, "text/event-stream")
        );
    }
}
