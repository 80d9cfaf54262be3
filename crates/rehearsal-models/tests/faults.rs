//! Providers over a real loopback server: what is sent, and what becomes of answers that are late, broken or no
//! answers at all.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::{StreamExt, TryStreamExt};
use rehearsal_agent::{Metering, Model, ModelCall, ModelChunk, ModelError};
use rehearsal_core::{
    Clock, Content, FixedClock, FunctionResponse, ModelRequest, ModelResponse, ModelSetup, Part, Role,
    SystemClock, Usage, elapsed,
};
use rehearsal_models::{ModelSpec, Network, Options, Provider, Providers, Retry, Timeouts};
use serde_json::{Value, json};
use tokio::sync::{Barrier, Semaphore, watch};

use crate::support::api::{ALL, Api};
use crate::support::server::{Answer, End, Server};

const KEY: &str = "sk-test-0123456789abcdef";

/// Quick to give up, so that tests are quick.
fn options() -> Options {
    Options {
        network: Network::LoopbackOnly,
        concurrency: 32,
        timeouts: Timeouts {
            connect: Duration::from_secs(5),
            response: Duration::from_secs(20),
            idle: Duration::from_secs(20),
        },
        retry: Retry {
            attempts: 5,
            first_wait: Duration::from_millis(1),
            longest_wait: Duration::from_secs(5),
        },
    }
}

fn provider(api: Api, server: &Server) -> Provider {
    connect(api, &server.url(), &Providers::new(options()))
}

fn connect(api: Api, url: &str, providers: &Providers) -> Provider {
    let spec: ModelSpec = match api {
        Api::OpenAi => "openai:gpt-test".parse().unwrap(),
        Api::Anthropic => "anthropic:claude-test".parse().unwrap(),
        Api::Gemini => "gemini:gemini-test".parse().unwrap(),
    };
    let environment = |name: &str| match name {
        "OPENAI_BASE_URL" | "ANTHROPIC_BASE_URL" | "GOOGLE_GEMINI_BASE_URL" => Some(url.to_owned()),
        "OPENAI_API_KEY" | "ANTHROPIC_API_KEY" | "GEMINI_API_KEY" => Some(KEY.to_owned()),
        _ => None,
    };
    providers.connect(&spec, &environment).unwrap()
}

fn call(text: &str) -> ModelCall {
    let setup = ModelSetup { system: Some("be brief".into()), ..ModelSetup::default() };
    let request = ModelRequest { setup: Arc::new(setup), contents: vec![Arc::new(Content::user(text))] };
    ModelCall {
        session: "s".into(),
        agent: "a".into(),
        turn: "t".into(),
        index: 0,
        request,
        metering: Metering::default(),
    }
}

/// A whole answer that says this.
fn good(api: Api, text: &str) -> Answer {
    Answer::json(200, body(api, text))
}

fn body(api: Api, text: &str) -> Value {
    match api {
        Api::OpenAi => json!({
            "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 3, "completion_tokens": 2},
        }),
        Api::Anthropic => json!({
            "content": [{"type": "text", "text": text}], "stop_reason": "end_turn",
            "usage": {"input_tokens": 3, "output_tokens": 2},
        }),
        Api::Gemini => json!({
            "candidates": [{"content": {"role": "model", "parts": [{"text": text}]}, "finishReason": "STOP"}],
            "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 2},
        }),
    }
}

/// A call with an argument that no machine word holds, as the provider writes it.
fn large_call(api: Api) -> String {
    match api {
        Api::OpenAi => r#"{"choices": [{"index": 0, "message": {"role": "assistant", "content": null, "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "pay", "arguments": "{\"n\":18446744073709551617}"}}]}, "finish_reason": "tool_calls"}]}"#,
        Api::Anthropic => r#"{"content": [{"type": "tool_use", "id": "c1", "name": "pay", "input": {"n": 18446744073709551617}}], "stop_reason": "tool_use", "usage": {"input_tokens": 3, "output_tokens": 2}}"#,
        Api::Gemini => r#"{"candidates": [{"content": {"role": "model", "parts": [{"functionCall": {"id": "c1", "name": "pay", "args": {"n": 18446744073709551617}}}]}, "finishReason": "STOP"}]}"#,
    }
    .to_owned()
}

#[tokio::test]
async fn large_whole_numbers_come_and_go_as_they_are() {
    const LARGE: &str = "18446744073709551617";
    for api in ALL {
        let whole = Server::answering(vec![Answer::json(200, large_call(api))]).await;
        let response = provider(api, &whole).respond(&call("hi")).await.unwrap();
        let pieces: String = api.events(&large_call(api)).unwrap().iter().map(ToString::to_string).collect();
        let streamed = Server::answering(vec![Answer::stream(&pieces)]).await;
        let (_, in_pieces) = read_stream(&provider(api, &streamed), &call("hi")).await.unwrap();
        for response in [&response, &in_pieces] {
            let args = response.content.calls().next().unwrap().args.clone();
            assert_eq!(
                rehearsal_core::json::text(&Value::Object(args)),
                format!("{{\"n\":{LARGE}}}"),
                "{api:?}"
            );
        }

        // Its own call and the tool's result go back to it.
        let mut next = call("hi");
        let result = rehearsal_core::json::from_str(&format!("{{\"paid\": -{LARGE}}}")).unwrap();
        let result = FunctionResponse::new(Some("c1".into()), "pay", result);
        next.request.contents.push(response.content.clone());
        next.request.contents.push(Arc::new(Content::new(Role::User, vec![Part::from(result)])));
        let server = Server::answering(vec![good(api, "done")]).await;
        provider(api, &server).respond(&next).await.unwrap();
        let sent = server.log().remove(0).body;
        assert_eq!(sent.matches(LARGE).count(), 2, "{api:?}: {sent}");
        assert!(sent.contains(&format!("-{LARGE}")) && !sent.contains('\u{fdd0}'), "{api:?}: {sent}");
    }
}

/// The same in pieces.
fn good_stream(api: Api, text: &str) -> String {
    api.events(&body(api, text).to_string()).unwrap().iter().map(ToString::to_string).collect()
}

async fn read_stream(provider: &Provider, call: &ModelCall) -> Result<(String, ModelResponse), ModelError> {
    let chunks: Vec<ModelChunk> = provider.stream(call).try_collect().await?;
    let (mut text, mut done) = (String::new(), None);
    for chunk in chunks {
        assert!(done.is_none(), "the last piece is the whole");
        match chunk {
            ModelChunk::Text(more) => text.push_str(&more),
            ModelChunk::Done(response) => done = Some(response),
            other => panic!("{other:?}"),
        }
    }
    Ok((text, done.expect("a stream without an error ends with the whole")))
}

/// An agent's requests name the model it was built with; whoever is cast in its place must not pretend to be that one.
#[tokio::test]
async fn a_provider_asks_for_its_own_model_whatever_the_request_names() {
    for api in ALL {
        let server = Server::answering(vec![good(api, "hello")]).await;
        let mut call = call("hi");
        Arc::make_mut(&mut call.request.setup).model = "somebody-else".to_owned();
        provider(api, &server).respond(&call).await.unwrap();
        let sent = server.log().remove(0);
        assert!(!format!("{}{}", sent.path, sent.body).contains("somebody-else"), "{sent:?}");
    }
}

#[tokio::test]
async fn each_api_is_asked_at_its_address_with_its_key() {
    let expected = [
        (Api::OpenAi, "/chat/completions", "authorization", format!("Bearer {KEY}")),
        (Api::Anthropic, "/v1/messages", "x-api-key", KEY.to_owned()),
        (Api::Gemini, "/v1/models/gemini-test:generateContent", "x-goog-api-key", KEY.to_owned()),
    ];
    for (api, path, header, value) in expected {
        let server = Server::answering(vec![good(api, "hello")]).await;
        let response = provider(api, &server).respond(&call("hi")).await.unwrap();
        assert_eq!(response.content.text(), "hello");
        assert_eq!(response.usage, Some(Usage { input: 3, output: 2, ..Usage::default() }));
        let log = server.log();
        assert_eq!(log.len(), 1);
        assert_eq!(log[0].path, path);
        assert_eq!(log[0].header(header), Some(value.as_str()));
        assert_eq!(log[0].header("content-type"), Some("application/json"));
        assert!(!log[0].body.contains(KEY) && !log[0].path.contains(KEY));
        match api {
            Api::OpenAi => assert_eq!(log[0].json()["model"], "gpt-test"),
            Api::Anthropic => {
                assert_eq!(log[0].header("anthropic-version"), Some("2026-10-21"));
                assert_eq!(log[0].json()["max_tokens"], 4096);
            }
            Api::Gemini => assert_eq!(log[0].json()["systemInstruction"]["parts"][0]["text"], "be brief"),
        }
    }
}

#[tokio::test]
async fn streams_show_pieces_and_end_with_the_whole() {
    for api in ALL {
        let server = Server::answering(vec![Answer::stream(&good_stream(api, "one two three"))]).await;
        let (text, response) = read_stream(&provider(api, &server), &call("count")).await.unwrap();
        assert_eq!(text, "one two three");
        assert_eq!(response.content.text(), "one two three");
        assert_eq!(response.usage, Some(Usage { input: 3, output: 2, ..Usage::default() }));
        let log = server.log();
        match api {
            Api::OpenAi => assert_eq!(log[0].json()["stream_options"]["include_usage"], true),
            Api::Anthropic => assert_eq!(log[0].json()["stream"], true),
            Api::Gemini => {
                assert_eq!(log[0].path, "/v1/models/gemini-test:streamGenerateContent?alt=sse");
            }
        }
    }
}

#[tokio::test]
async fn a_server_that_does_not_stream_gives_the_whole() {
    for api in ALL {
        let server = Server::answering(vec![good(api, "all of it")]).await;
        let (text, response) = read_stream(&provider(api, &server), &call("hi")).await.unwrap();
        assert_eq!((text.as_str(), response.content.text().as_str()), ("", "all of it"));
    }
}

#[tokio::test]
async fn server_errors_are_asked_again() {
    for api in ALL {
        for status in [500, 502, 503, 529, 408, 409, 429] {
            let bad = Answer::json(status, "{}");
            let server = Server::answering(vec![bad.clone(), bad, good(api, "at last")]).await;
            let response = provider(api, &server).respond(&call("hi")).await.unwrap();
            assert_eq!(response.content.text(), "at last");
            assert_eq!(server.log().len(), 3);
        }
    }
}

/// Some gateways report errors with status 200.
#[tokio::test]
async fn an_error_that_calls_itself_a_success_is_an_error() {
    let body = json!({"error": {"message": "slow down", "code": 429}});
    let server = Server::answering(vec![Answer::json(200, &body), good(Api::OpenAi, "at last")]).await;
    let response = provider(Api::OpenAi, &server).respond(&call("hi")).await.unwrap();
    assert_eq!(response.content.text(), "at last");
    assert_eq!(server.log().len(), 2);
}

#[tokio::test]
async fn a_stream_is_asked_again_until_it_begins() {
    for api in ALL {
        let bad = Answer::json(503, "{}");
        let server =
            Server::answering(vec![bad.clone(), bad, Answer::stream(&good_stream(api, "at last"))]).await;
        let (_, response) = read_stream(&provider(api, &server), &call("hi")).await.unwrap();
        assert_eq!(response.content.text(), "at last");
        assert_eq!(server.log().len(), 3);
    }
}

#[tokio::test]
async fn attempts_come_to_an_end() {
    let server = Server::answering(vec![Answer::json(500, r#"{"error": {"message": "on fire"}}"#)]).await;
    let error = provider(Api::OpenAi, &server).respond(&call("hi")).await.unwrap_err();
    let told = error.to_string();
    assert!(told.starts_with("openai:gpt-test answered HTTP 500: on fire (tried 5 times in "), "{told}");
    assert_eq!(server.log().len(), 5);
}

#[tokio::test]
async fn other_refusals_are_final() {
    let bodies = [
        (Api::OpenAi, json!({"error": {"message": "no such model", "type": "invalid_request_error"}})),
        (Api::Anthropic, json!({"type": "error", "error": {"type": "x", "message": "no such model"}})),
        (
            Api::Gemini,
            json!({"error": {"code": 400, "message": "no such model", "status": "INVALID_ARGUMENT"}}),
        ),
    ];
    for (api, body) in bodies {
        for status in [302, 400, 401, 403, 404, 413, 422] {
            let server = Server::answering(vec![Answer::json(status, &body)]).await;
            let provider = provider(api, &server);
            let whole = provider.respond(&call("hi")).await.unwrap_err();
            let stream = read_stream(&provider, &call("hi")).await.unwrap_err();
            assert_eq!(whole, stream);
            let model = provider.name();
            let message = "no such model".to_owned();
            assert_eq!(whole, ModelError::Status { model, status, message, retry_after_ms: None });
            assert_eq!(server.log().len(), 2);
        }
    }
}

#[tokio::test]
async fn an_error_page_is_shown_as_it_is() {
    let page = Answer::new(403, "text/html", vec![b"<h1>Forbidden</h1>".to_vec()]);
    let server = Server::answering(vec![page]).await;
    for api in ALL {
        let error = provider(api, &server).respond(&call("hi")).await.unwrap_err();
        assert!(error.to_string().ends_with("answered HTTP 403: <h1>Forbidden</h1>"), "{error}");
    }
}

#[tokio::test]
async fn a_provider_is_given_the_time_it_asks_for() {
    for (header, value, millis) in [("retry-after", "1", 1000), ("retry-after-ms", "700", 700)] {
        let busy = Answer::json(429, "{}").header(header, value);
        let server = Server::answering(vec![busy, good(Api::OpenAi, "now")]).await;
        let begun = SystemClock.now();
        provider(Api::OpenAi, &server).respond(&call("hi")).await.unwrap();
        assert!(elapsed(begun, SystemClock.now()) >= Duration::from_millis(millis));
        assert_eq!(server.log().len(), 2);
    }
}

#[tokio::test]
async fn a_provider_that_asks_for_too_much_time_is_not_waited_for() {
    let retry_info = json!({"error": {"code": 429, "message": "quota", "details": [
        {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "33.5s"}]}});
    let cases = [
        (Api::OpenAi, Answer::json(429, "{}").header("retry-after", "3600"), 3_600_000),
        // The clock stands at noon.
        (
            Api::Anthropic,
            Answer::json(429, "{}").header("retry-after", "Thu, 01 Jan 2026 12:01:30 GMT"),
            90_000,
        ),
        (Api::Gemini, Answer::json(429, retry_info), 33_500),
    ];
    for (api, answer, millis) in cases {
        let server = Server::answering(vec![answer, good(api, "no")]).await;
        let providers = Providers::with_clock(options(), Arc::new(FixedClock::default()));
        let error = connect(api, &server.url(), &providers).respond(&call("hi")).await.unwrap_err();
        let ModelError::Status { status: 429, retry_after_ms, .. } = error else { panic!("{error}") };
        assert_eq!(retry_after_ms, Some(millis));
        assert_eq!(server.log().len(), 1);
    }
}

#[tokio::test]
async fn answers_that_cannot_be_understood_are_final() {
    let answers = [
        (Answer::json(200, "{\"choices\": [{"), "is not JSON"),
        (Answer::json(200, "[]"), "is not a"),
        (Answer::json(200, ""), "is not JSON"),
        (Answer::new(200, "application/json", vec![vec![0xff, 0xfe]]), "not UTF-8"),
    ];
    for api in ALL {
        for (answer, part) in &answers {
            let server = Server::answering(vec![answer.clone()]).await;
            let error = provider(api, &server).respond(&call("hi")).await.unwrap_err();
            let ModelError::Malformed { why, .. } = &error else { panic!("{error}") };
            // An empty list is a list of no errors to Gemini, and a chat completion to nobody.
            assert!(why.contains(part), "{api:?}: {why}");
            assert_eq!(server.log().len(), 1);
        }
    }
}

#[tokio::test]
async fn a_broken_connection_is_asked_again() {
    for api in ALL {
        let mut half = good(api, "half").end(End::Cut);
        half.pieces[0].truncate(20);
        let server = Server::answering(vec![half, good(api, "whole")]).await;
        let response = provider(api, &server).respond(&call("hi")).await.unwrap();
        assert_eq!(response.content.text(), "whole");
        assert_eq!(server.log().len(), 2);
    }
}

#[tokio::test]
async fn a_stream_that_breaks_off_is_an_error_after_the_pieces_that_came() {
    for api in ALL {
        let stream = good_stream(api, "one two three");
        let cut = stream.find("two").unwrap() + 1;
        for end in [End::Cut, End::Proper] {
            let server = Server::answering(vec![Answer::stream(&stream[..cut]).end(end)]).await;
            let provider = provider(api, &server);
            let call = call("count");
            let pieces: Vec<_> = provider.stream(&call).collect().await;
            let (last, before) = pieces.split_last().unwrap();
            assert_eq!(before, [Ok(ModelChunk::Text("one ".into()))], "{api:?}");
            assert!(matches!(last, Err(ModelError::Transport { .. })), "{api:?}: {last:?}");
            assert_eq!(server.log().len(), 1, "what was shown cannot be taken back");
        }
    }
}

#[tokio::test]
async fn a_stream_of_something_else_is_an_error() {
    let (malformed, transport) = (
        |error: &ModelError| matches!(error, ModelError::Malformed { .. }),
        |error: &ModelError| matches!(error, ModelError::Transport { .. }),
    );
    for api in ALL {
        for stream in
            ["data: {\"choices\": 7}\n\ndata: x\n\n", "data: certainly!\n\n", "<h1>Welcome</h1>\n\n", ""]
        {
            let server = Server::answering(vec![Answer::stream(stream)]).await;
            let error = read_stream(&provider(api, &server), &call("hi")).await.unwrap_err();
            let is_expected = if stream.starts_with("data:") { malformed(&error) } else { transport(&error) };
            assert!(is_expected, "{api:?} {stream}: {error}");
        }
    }
}

#[tokio::test]
async fn an_error_inside_a_stream_is_the_providers_error() {
    let streams = [
        (Api::OpenAi, "data: {\"error\": {\"message\": \"too busy\", \"code\": 503}}\n\n".to_owned(), 503),
        (
            Api::Anthropic,
            "event: error\ndata: {\"type\": \"error\", \"error\": {\"type\": \"overloaded_error\", \"message\": \"too busy\"}}\n\n".to_owned(),
            529,
        ),
        (Api::Gemini, "data: {\"error\": {\"code\": 503, \"message\": \"too busy\"}}\n\n".to_owned(), 503),
    ];
    for (api, stream, expected) in streams {
        let server = Server::answering(vec![Answer::stream(&stream)]).await;
        let error = read_stream(&provider(api, &server), &call("hi")).await.unwrap_err();
        let ModelError::Status { status, message, .. } = error else { panic!("{error}") };
        assert_eq!((status, message.as_str()), (expected, "too busy"));
    }
}

#[tokio::test]
async fn slow_servers_are_given_up() {
    futures::future::join_all(ALL.map(check_slow_servers)).await;
}

async fn check_slow_servers(api: Api) {
    let quick = |response, idle| {
        let timeouts = Timeouts { response, idle, ..options().timeouts };
        let retry = Retry { attempts: 2, ..options().retry };
        Providers::new(Options { timeouts, retry, ..options() })
    };
    let (short, long) = (Duration::from_millis(400), Duration::from_secs(20));
    let server = Server::start(|_| std::future::pending()).await;
    let provider = connect(api, &server.url(), &quick(short, long));
    let timeout = ModelError::Timeout { model: provider.name(), millis: 400 };
    let error = provider.respond(&call("hi")).await.unwrap_err();
    assert_eq!(error.last(), &timeout);
    assert_eq!(server.log().len(), 2, "it is asked again");
    let told = error.to_string();
    assert!(
        told.contains("did not answer within 400 ms (tried 2 times in ") && told.ends_with(" s)"),
        "{told}"
    );
    assert_eq!(read_stream(&provider, &call("hi")).await.unwrap_err().last(), &timeout);

    // The answer begins in time and does not go on.
    let server = Server::answering(vec![Answer::json(200, "{").end(End::Silence)]).await;
    let provider = connect(api, &server.url(), &quick(short, long));
    assert_eq!(provider.respond(&call("hi")).await.unwrap_err().last(), &timeout);

    let stream = good_stream(api, "one two");
    let stalled = Answer::stream(&stream[..stream.find("two").unwrap()]).end(End::Silence);
    let server = Server::answering(vec![stalled]).await;
    let provider = connect(api, &server.url(), &quick(long, short));
    let call = call("hi");
    let pieces: Vec<_> = provider.stream(&call).collect().await;
    assert_eq!(pieces, [Ok(ModelChunk::Text("one ".into())), Err(timeout)]);
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let error =
        connect(Api::OpenAi, &url, &Providers::new(options())).respond(&call("hi")).await.unwrap_err();
    assert!(error.to_string().starts_with("openai:gpt-test could not be reached: "), "{error}");
    assert!(error.to_string().contains("refused"), "{error}");
}

#[tokio::test]
async fn a_key_that_a_server_repeats_is_removed() {
    for api in ALL {
        let echo = format!("your key {KEY} is wrong");
        for answer in [
            Answer::json(401, json!({"error": {"message": echo}})),
            Answer::json(401, &echo),
            Answer::json(200, &echo),
            Answer::stream(&format!("data: {echo}\n\n")),
        ] {
            let server = Server::answering(vec![answer]).await;
            let provider = provider(api, &server);
            for error in [
                provider.respond(&call("hi")).await.unwrap_err(),
                read_stream(&provider, &call("hi")).await.unwrap_err(),
            ] {
                assert!(!format!("{error} {error:?}").contains(KEY), "{error}");
                assert!(error.to_string().contains("[key removed]"), "{error}");
            }
        }
        let answers = vec![good(api, &echo), Answer::stream(&good_stream(api, &echo))];
        let server = Server::answering(answers).await;
        let provider = provider(api, &server);
        let response = provider.respond(&call("hi")).await.unwrap();
        assert_eq!(response.content.text(), "your key [key removed] is wrong");
        let (text, response) = read_stream(&provider, &call("hi")).await.unwrap();
        assert_eq!(text, "your key [key removed] is wrong");
        assert_eq!(response.content.text(), text);
        assert!(!format!("{provider:?}").contains(KEY));
    }
}

/// A key in two pieces, in JSON's other letters, or where a long text is cut is a key all the same.
#[tokio::test]
async fn a_key_is_found_however_it_is_repeated() {
    for api in ALL {
        let escaped = format!("\\u0073{}", &KEY[1..]);
        let page = format!("{}{KEY}", ".".repeat(490));
        let object = json!({"error": {"details": page}});
        let hidden = object.to_string().replace(KEY, &escaped);
        for body in [page.clone(), object.to_string(), hidden] {
            let server = Server::answering(vec![Answer::json(400, &body)]).await;
            let error = provider(api, &server).respond(&call("hi")).await.unwrap_err();
            assert!(!error.to_string().contains("k-test"), "{error}");
        }

        let whole = body(api, &format!("key {KEY}")).to_string().replace(KEY, &escaped);
        let (first, second) = KEY.split_at(9);
        // The pieces of a stream are words, so that a key with a space in it comes in two.
        let stream = good_stream(api, &format!("{first} {second}")).replace(&format!("{first} "), first);
        let server = Server::answering(vec![Answer::json(200, whole), Answer::stream(&stream)]).await;
        let provider = provider(api, &server);
        assert_eq!(provider.respond(&call("hi")).await.unwrap().content.text(), "key [key removed]");
        let (_, response) = read_stream(&provider, &call("hi")).await.unwrap();
        assert_eq!(response.content.text(), "[key removed]", "{stream}");
    }
}

#[tokio::test]
async fn a_local_server_needs_no_key_and_one_that_does_says_which() {
    let server = Server::answering(vec![good(Api::OpenAi, "hello"), Answer::json(401, "{}")]).await;
    let spec: ModelSpec = format!("openai-compatible:qwen@{}/v1", server.url()).parse().unwrap();
    let provider = Providers::new(options()).connect(&spec, &|_| None).unwrap();
    assert_eq!(provider.respond(&call("hi")).await.unwrap().content.text(), "hello");
    let log = server.log();
    assert_eq!(log[0].path, "/v1/chat/completions");
    assert_eq!(log[0].header("authorization"), None);
    let error = provider.respond(&call("hi")).await.unwrap_err().to_string();
    let hint =
        "hint: set the environment variable OPENAI_COMPATIBLE_API_KEY, and OPENAI_COMPATIBLE_BASE_URL to";
    assert!(error.contains(hint), "{error}");
}

#[tokio::test]
async fn the_key_for_openai_goes_to_no_other_address() {
    let server = Server::answering(vec![good(Api::OpenAi, "hello")]).await;
    let spec: ModelSpec = format!("openai-compatible:qwen@{}/v1", server.url()).parse().unwrap();
    let environment = |name: &str| (name != "OPENAI_COMPATIBLE_API_KEY").then(|| KEY.to_owned());
    Providers::new(options()).connect(&spec, &environment).unwrap().respond(&call("hi")).await.unwrap();
    assert!(!format!("{:?}", server.log()).contains(KEY));
}

/// A scenario names the address; whether the key may go there, only the environment can say.
#[tokio::test]
async fn a_compatible_server_is_sent_the_key_only_where_the_environment_names_it() {
    let server = Server::answering(vec![good(Api::OpenAi, "hello")]).await;
    let spec: ModelSpec = format!("openai-compatible:qwen@{}/v1", server.url()).parse().unwrap();
    let cases = [
        (Some(format!("{}/", server.url())), true),
        (Some(format!(" {}/v2 ", server.url())), true),
        (Some(server.url().replace("http:", "https:")), false),
        (Some(server.url().replace("127.0.0.1", "127.0.0.2")), false),
        (Some("http://127.0.0.1:1/v1".to_owned()), false),
        (Some("not an address".to_owned()), false),
        (None, false),
    ];
    for (named, is_sent) in cases {
        let environment = |name: &str| match name {
            "OPENAI_COMPATIBLE_API_KEY" => Some(KEY.to_owned()),
            "OPENAI_COMPATIBLE_BASE_URL" => named.clone(),
            _ => None,
        };
        let provider = Providers::new(options()).connect(&spec, &environment).unwrap();
        provider.respond(&call("hi")).await.unwrap();
        let sent = server.log().pop().unwrap();
        assert_eq!(sent.header("authorization").is_some(), is_sent, "{named:?}");
    }
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let other = Server::answering(vec![good(Api::Anthropic, "caught")]).await;
    let redirect = Answer::json(307, "{}").header("location", &format!("{}/v1/messages", other.url()));
    let server = Server::answering(vec![redirect]).await;
    let error = provider(Api::Anthropic, &server).respond(&call("hi")).await.unwrap_err();
    assert!(matches!(error, ModelError::Status { status: 307, .. }), "{error}");
    assert!(other.log().is_empty());
}

#[test]
fn with_the_network_forbidden_no_provider_is_connected_to() {
    let providers = Providers::new(options());
    for spec in [
        "openai:a",
        "anthropic:b",
        "gemini:c",
        "openai-compatible:d@http://10.0.0.1/v1",
        "openai-compatible:d@https://localhost.example.com/v1",
    ] {
        let error =
            providers.connect(&spec.parse().unwrap(), &|_| Some(String::new())).unwrap_err().to_string();
        assert!(error.contains("only this machine may be talked to"), "{error}");
    }
    for spec in [
        "openai-compatible:d@http://localhost:1/v1",
        "openai-compatible:d@http://[::1]:1/v1",
        "openai-compatible:d@http://127.1.2.3:1/v1",
    ] {
        assert!(providers.connect(&spec.parse().unwrap(), &|_| None).is_ok(), "{spec}");
    }
}

/// The server holds calls back until the test has seen how many come at once: as many as the limit allows, and
/// no more while they are held.
#[tokio::test]
async fn calls_to_one_address_share_its_limit() {
    let (count, mut counted) = watch::channel(0);
    let gate = Arc::new(Semaphore::new(0));
    let peak = Arc::new(AtomicUsize::new(0));
    let (held, highest) = (gate.clone(), peak.clone());
    let server = Server::start(move |received| {
        let (count, gate, peak) = (count.clone(), held.clone(), highest.clone());
        async move {
            if received.path == "/fence" {
                return Answer::json(200, "{}");
            }
            count.send_modify(|count| *count += 1);
            peak.fetch_max(*count.borrow(), Ordering::SeqCst);
            gate.acquire().await.unwrap().forget();
            count.send_modify(|count| *count -= 1);
            if received.json()["stream"] == true {
                Answer::stream(&good_stream(Api::OpenAi, "ok"))
            } else {
                good(Api::OpenAi, "ok")
            }
        }
    })
    .await;
    let providers = Providers::new(Options { concurrency: 3, ..options() });
    let models = ["one", "one"].map(|name| {
        let spec = format!("openai-compatible:{name}@{}", server.url()).parse().unwrap();
        providers.connect(&spec, &|_| None).unwrap()
    });
    let calls = (0..30).map(|number| {
        let model = models[number % 2].clone();
        tokio::spawn(async move {
            if number % 3 == 0 {
                read_stream(&model, &call("hi")).await.unwrap();
            } else {
                model.respond(&call("hi")).await.unwrap();
            }
        })
    });
    let calls: Vec<_> = calls.collect();
    counted.wait_for(|count| *count >= 3).await.unwrap();
    // A fourth call would have been sent with the other three, and these come after it.
    for _ in 0..50 {
        server.fence().await;
    }
    assert_eq!(*counted.borrow(), 3);
    gate.add_permits(30);
    for call in calls {
        call.await.unwrap();
    }
    assert_eq!(peak.load(Ordering::SeqCst), 3);
}

/// All of them are under way at the same moment, or the barrier would never open.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_calls_can_be_under_way_at_once() {
    let count = if open_files() < 2500 { 400 } else { 1000 };
    let barrier = Arc::new(Barrier::new(count));
    let server = Server::start(move |_| {
        let barrier = barrier.clone();
        async move {
            barrier.wait().await;
            good(Api::Gemini, "ok")
        }
    })
    .await;
    let long = Duration::from_mins(1);
    let timeouts = Timeouts { response: long, connect: long, idle: long };
    let providers = Providers::new(Options { concurrency: count, timeouts, ..options() });
    let provider = connect(Api::Gemini, &server.url(), &providers);
    let question = call("hi");
    let results = futures::future::join_all((0..count).map(|_| provider.respond(&question))).await;
    assert!(results.iter().all(Result::is_ok), "{:?}", results.iter().find(|result| result.is_err()));
    assert_eq!(server.log().len(), count);
}

/// How many files and connections the process may have open; both ends of each connection are in it.
fn open_files() -> usize {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let line = limits.lines().find(|line| line.starts_with("Max open files")).unwrap_or_default();
    line.split_whitespace().nth(3).and_then(|soft| soft.parse().ok()).unwrap_or(0)
}

/// Anthropic's newer API refuses sampling settings, so requests that have them are for the older one.
#[tokio::test]
async fn a_temperature_is_sent_to_a_version_that_has_one() {
    let server = Server::answering(vec![good(Api::Anthropic, "ok")]).await;
    let mut question = call("hi");
    Arc::make_mut(&mut question.request.setup).settings.temperature = Some(0.0);
    provider(Api::Anthropic, &server).respond(&question).await.unwrap();
    assert_eq!(server.log()[0].header("anthropic-version"), Some("2023-06-01"));
    assert_eq!(server.log()[0].json()["temperature"], 0.0);
}

#[tokio::test]
async fn no_redirect_carries_a_key_or_a_request_elsewhere() {
    let other = Server::answering(vec![good(Api::OpenAi, "caught")]).await;
    let elsewhere = other.url();
    let authority = elsewhere.trim_start_matches("http://").to_owned();
    let places = [
        format!("{elsewhere}/v1/chat/completions"),
        format!("//{authority}/v1/chat/completions"),
        format!("http://me:pass@{authority}/"),
        format!("https://{authority}/"),
        format!("HTTP://{authority}/"),
        format!("http:\\\\{authority}\\"),
        format!("http://127.0.0.1@{authority}/"),
        "/".to_owned(),
        "/elsewhere".to_owned(),
        "?again".to_owned(),
        String::new(),
        "file:///etc/passwd".to_owned(),
        "data:application/json,{}".to_owned(),
        "ftp://127.0.0.1/".to_owned(),
        "javascript:alert(1)".to_owned(),
        "http://[::1".to_owned(),
    ];
    let mut tried = 0;
    for status in [300, 301, 302, 303, 305, 307, 308] {
        for place in &places {
            for api in ALL {
                let redirect = Answer::json(status, "{}").header("location", place);
                let server = Server::answering(vec![redirect]).await;
                let error = provider(api, &server).respond(&call("hi")).await.unwrap_err();
                let is_final = matches!(&error, ModelError::Status { status: got, .. } if *got == status);
                assert!(is_final, "{status} to {place}: {error}");
                assert_eq!(server.log().len(), 1, "{status} to {place}");
                tried += 1;
            }
        }
    }
    assert!(tried >= 25 && other.log().is_empty());
}
