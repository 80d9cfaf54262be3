//! Agents behind an HTTP endpoint.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use expect_test::{Expect, expect};
use rehearsal_agent::Session;
use rehearsal_core::{EventBody, Usage};
use rehearsal_world::remote::{CallPaths, HttpAgent, HttpSettings, UsagePaths};
use secrecy::SecretString;
use serde_json::{Value, json};

use super::{
    around, conversation, error_of, go_on, introduction, last_output, new_session, reloaded, say, told,
    transcript,
};

/// A request that came.
#[derive(Clone, Debug)]
struct Received {
    first_line: String,
    headers: String,
    body: Value,
}

/// A server on loopback; its threads end with the tests.
struct Server {
    url: String,
    log: Arc<Mutex<Vec<Received>>>,
}

impl Server {
    /// Answers the first request with the first answer and so on; the last one repeats. An answer is a status line with
    /// headers, and a body; an empty one never comes.
    fn answering(answers: &[(&str, &str)]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/chat", listener.local_addr().unwrap());
        let log: Arc<Mutex<Vec<Received>>> = Arc::default();
        let kept = log.clone();
        let answers: Vec<_> =
            answers.iter().map(|(head, body)| (head.to_string(), body.to_string())).collect();
        std::thread::spawn(move || {
            let mut waiting = Vec::new();
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let received = read_request(&stream);
                let number = kept.lock().unwrap().len();
                kept.lock().unwrap().push(received);
                let (head, body) = &answers[number.min(answers.len() - 1)];
                if head.is_empty() {
                    waiting.push(stream);
                    continue;
                }
                let length = body.len();
                let head =
                    format!("HTTP/1.1 {head}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n");
                // A client that has read enough may be gone.
                drop(stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes())));
            }
        });
        Self { url, log }
    }

    fn json(bodies: &[Value]) -> Self {
        let bodies: Vec<String> = bodies.iter().map(ToString::to_string).collect();
        let answers: Vec<_> =
            bodies.iter().map(|body| ("200 OK\r\ncontent-type: application/json", body.as_str())).collect();
        Self::answering(&answers)
    }

    fn settings(&self) -> HttpSettings {
        HttpSettings::new("desk", &self.url, "$.reply.text")
    }

    fn bodies(&self) -> Vec<Value> {
        self.log.lock().unwrap().iter().map(|received| received.body.clone()).collect()
    }
}

fn read_request(stream: &TcpStream) -> Received {
    let mut reader = BufReader::new(stream);
    let mut first_line = String::new();
    reader.read_line(&mut first_line).unwrap();
    let mut headers = String::new();
    while !headers.ends_with("\r\n\r\n") && headers != "\r\n" {
        reader.read_line(&mut headers).unwrap();
    }
    let length = headers.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
    let mut body = vec![0; length.parse().unwrap()];
    reader.read_exact(&mut body).unwrap();
    Received { first_line, headers, body: rehearsal_core::json::from_slice(&body).unwrap() }
}

fn build(settings: HttpSettings) -> HttpAgent {
    HttpAgent::new(settings).unwrap()
}

fn reply(text: &str) -> Value {
    json!({"reply": {"text": text}, "session": {"id": "server-1"}, "cost": {"in": 7, "out": 3}})
}

#[tokio::test]
async fn a_message_is_a_request_and_the_session_is_the_servers_as_soon_as_it_gave_one() {
    let server = Server::json(&[reply("Hello!"), json!({"reply": {"text": "Bye!"}})]);
    let settings = HttpSettings { session: Some("session.id".into()), ..server.settings() };
    let desk = conversation(build(settings.clone()));
    let mut session = new_session();
    say(&desk, &mut session, "hi").await.unwrap();
    // The id is on the ledger: another process of ours goes on with it.
    let mut session = reloaded(session);
    say(&conversation(build(settings)), &mut session, "bye").await.unwrap();
    let own = session.ledger().session().as_str();
    let sent = [json!({"message": "hi", "session": own}), json!({"message": "bye", "session": "server-1"})];
    assert_eq!(server.bodies(), sent);
    assert_eq!(told(&session, "remote_session"), [json!({"session": "server-1"})]);
    expect![[r#"
        user: hi
        desk: Hello!
        user: bye
        desk: Bye!"#]]
    .assert_eq(&transcript(session.ledger()));
}

#[tokio::test]
async fn a_template_says_what_is_sent() {
    let server = Server::json(&[reply("one"), reply("two")]);
    let settings = HttpSettings {
        method: "put".into(),
        headers: [("Authorization".into(), SecretString::from("Bearer key-1234567890"))].into(),
        request: json!({
            "turn": "${turn}", "text": "[${turn}] ${message}", "all": "${history}", "plugins": "${plugins}",
            "more": ["${context}", "${scenario}", true],
        }),
        usage: Some(UsagePaths { input: "cost.in".into(), output: "$.cost.out".into() }),
        introduction: introduction(),
        ..server.settings()
    };
    let desk = conversation(build(settings));
    let mut session = new_session();
    say(&desk, &mut session, "hi").await.unwrap();
    say(&desk, &mut session, "go on").await.unwrap();
    let second = json!({
        "turn": 2,
        "text": "[2] go on",
        "all": [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": "one"},
            {"role": "user", "content": "go on"},
        ],
        "plugins": [{"name": "search", "version": "1.2", "config": {"depth": 3}}],
        "more": [{"tier": "gold"}, null, true],
    });
    assert_eq!(server.bodies()[1], second);
    let received = server.log.lock().unwrap()[0].clone();
    assert_eq!(received.first_line, "PUT /chat HTTP/1.1\r\n");
    assert!(received.headers.contains("authorization: Bearer key-1234567890\r\n"), "{}", received.headers);
    assert!(received.headers.contains("content-type: application/json\r\n"), "{}", received.headers);
    assert_eq!(session.ledger().usage(), Some(Usage { input: 14, output: 6, ..Usage::default() }));
    assert!(!session.ledger().to_jsonl().contains("key-1234567890"));
}

fn calls_at(list: &str) -> CallPaths {
    CallPaths {
        list: list.to_owned(),
        tool: "function.name".to_owned(),
        args: "function.arguments".to_owned(),
        result: Some("output?".to_owned()),
        error: Some("error".to_owned()),
    }
}

#[tokio::test]
async fn calls_that_an_answer_tells_of_are_on_the_ledger_with_their_results() {
    let told = json!([
        {"function": {"name": "find", "arguments": "{\"id\": 7}"}, "output": {"name": "Ann"}},
        {"function": {"name": "pay", "arguments": {"sum": 1.5}}, "error": {"type": "Broke", "message": "no money"}},
        {"function": {"name": "pay", "arguments": ""}, "error": true, "output": "again none"},
        {"function": {"name": "bye", "arguments": null}, "error": ""},
    ]);
    let mut answer = reply("Done.");
    answer["tool_calls"] = told;
    let server = Server::json(&[answer, reply("No more.")]);
    let settings = HttpSettings { calls: Some(calls_at("tool_calls?")), ..server.settings() };
    let desk = conversation(build(settings.clone()));
    let mut session = new_session();
    say(&desk, &mut session, "pay").await.unwrap();
    let mut session = reloaded(session);
    say(&conversation(build(settings)), &mut session, "more").await.unwrap();
    let calls: Vec<String> = session
        .ledger()
        .calls()
        .map(|view| {
            let args = rehearsal_core::json::text(&Value::Object((**view.args).clone()));
            let decision = view.answer.and_then(|event| event.decision.as_ref()).unwrap();
            let outcome = rehearsal_core::json::text(&view.result().unwrap().outcome.to_value());
            format!("{}{args} = {outcome} ({})\n", view.tool, decision.by)
        })
        .collect();
    expect![[r#"
        find{"id":7} = {"name":"Ann"} (agent)
        pay{"sum":1.5} = {"error":{"type":"Broke","message":"no money"}} (agent)
        pay{} = {"error":{"type":"Error","message":"again none"}} (agent)
        bye{} = null (agent)
    "#]]
    .assert_eq(&calls.concat());
    expect![[r#"
        user: pay
        desk calls find {"id":7}
        find gives {"name":"Ann"}
        desk calls pay {"sum":1.5}
        pay fails: Broke: no money
        desk calls pay {}
        pay fails: Error: again none
        desk calls bye {}
        bye gives null
        desk: Done.
        user: more
        desk: No more."#]]
    .assert_eq(&transcript(session.ledger()));
}

#[tokio::test]
async fn calls_that_cannot_be_read_are_told_with_their_path_and_what_was_found() {
    let calls = |list: &str, item: Value| {
        let mut answer = reply("Done.");
        answer["tool_calls"] = item;
        (calls_at(list), answer)
    };
    let fine = json!({"name": "find", "arguments": {}});
    let mut found = String::new();
    for (paths, answer) in [
        calls("calls", json!([])),
        calls("tool_calls", json!({"name": "find"})),
        calls("tool_calls", json!([{"function": fine}, {"name": "find"}])),
        calls("tool_calls", json!([{"function": {"name": 7, "arguments": {}}}])),
        calls("tool_calls", json!([{"function": {"name": "find", "arguments": "{"}}])),
        calls("tool_calls", json!([{"function": {"name": "find", "arguments": [1]}}])),
        calls("tool_calls", json!([{"function": {"name": "find"}}])),
    ] {
        let server = Server::json(&[answer]);
        let settings = HttpSettings { calls: Some(paths), ..server.settings() };
        let mut session = new_session();
        let error = say(&conversation(build(settings)), &mut session, "hi").await.unwrap_err();
        found.push_str(&error.to_string().replace(&server.url, "URL"));
        found.push_str("\n\n");
        assert_eq!(session.ledger().calls().count(), 0);
    }
    expect![[r#"
        agent `desk` failed: the answer of POST URL has nothing at `$.calls`: `$` is an object with the fields `reply`, `session`, `cost`, `tool_calls`

        it answered: {"reply":{"text":"Done."},"session":{"id":"server-1"},"cost":{"in":7,"out":3},"tool_calls":[]}

        hint: set `calls.list` to where it stands in the answer; where answers may leave it out, write `?` behind the path

        agent `desk` failed: the answer of POST URL should have a list at `$.tool_calls`, which is an object with the fields `name`

        it answered: {"reply":{"text":"Done."},"session":{"id":"server-1"},"cost":{"in":7,"out":3},"tool_calls":{"name":"find"}}

        hint: set `calls.list` to where it stands in the answer

        agent `desk` failed: call 2 of `$.tool_calls`: the answer of POST URL has nothing at `$.function.name`: `$` is an object with the fields `name`

        it answered: {"reply":{"text":"Done."},"session":{"id":"server-1"},"cost":{"in":7,"out":3},"tool_calls":[{"function":{"name":"find","arguments":{}}},{"name":"find"}]}

        hint: set `calls.tool` to where it stands in the answer; where answers may leave it out, write `?` behind the path

        agent `desk` failed: call 1 of `$.tool_calls`: the answer of POST URL should have the name of a tool at `$.function.name`, which is a number

        it answered: {"reply":{"text":"Done."},"session":{"id":"server-1"},"cost":{"in":7,"out":3},"tool_calls":[{"function":{"name":7,"arguments":{}}}]}

        hint: set `calls.tool` to where it stands in the answer

        agent `desk` failed: call 1 of `$.tool_calls`: the answer of POST URL should have an object, or one as JSON in a text, at `$.function.arguments`, which is text

        it answered: {"reply":{"text":"Done."},"session":{"id":"server-1"},"cost":{"in":7,"out":3},"tool_calls":[{"function":{"name":"find","arguments":"{"}}]}

        hint: set `calls.args` to where it stands in the answer

        agent `desk` failed: call 1 of `$.tool_calls`: the answer of POST URL should have an object, or one as JSON in a text, at `$.function.arguments`, which is a list of 1

        it answered: {"reply":{"text":"Done."},"session":{"id":"server-1"},"cost":{"in":7,"out":3},"tool_calls":[{"function":{"name":"find","arguments":[1]}}]}

        hint: set `calls.args` to where it stands in the answer

        agent `desk` failed: call 1 of `$.tool_calls`: the answer of POST URL has nothing at `$.function.arguments`: `$.function` is an object with the fields `name`

        it answered: {"reply":{"text":"Done."},"session":{"id":"server-1"},"cost":{"in":7,"out":3},"tool_calls":[{"function":{"name":"find"}}]}

        hint: set `calls.args` to where it stands in the answer; where answers may leave it out, write `?` behind the path

    "#]].assert_eq(&found);
}

#[tokio::test]
async fn what_was_answered_before_a_crash_is_not_asked_again() {
    let server = Server::json(&[reply("Hello!")]);
    let settings = HttpSettings { session: Some("$.session.id".into()), ..server.settings() };
    let desk = conversation(build(settings));
    let mut session = new_session();
    say(&desk, &mut session, "hi").await.unwrap();
    let whole = session.into_ledger();
    let said = whole.events().iter().position(|event| matches!(event.body, EventBody::ModelResponse(_)));
    for cut in 2..whole.events().len() {
        let before = server.bodies().len();
        let mut session = Session::resume(whole.prefix(cut), around());
        go_on(&desk, &mut session).await.unwrap();
        assert_eq!(session.ledger().to_jsonl(), whole.to_jsonl(), "cut after {cut} events");
        let asked = server.bodies().len() - before;
        assert_eq!(asked, usize::from(cut <= said.unwrap()), "cut after {cut} events");
    }
}

async fn check_answer(answer: (&str, &str), settings: impl Fn(&mut HttpSettings), expect: Expect) {
    let server = Server::answering(&[answer]);
    let mut wanted = server.settings();
    settings(&mut wanted);
    let error = error_of(build(wanted)).await;
    expect.assert_eq(&error.replace(&server.url, "URL"));
    assert_eq!(server.bodies().len(), 1, "it is asked once");
}

const OK: &str = "200 OK\r\ncontent-type: application/json";

#[tokio::test]
async fn a_server_that_says_no_is_quoted_without_what_it_was_sent() {
    let long = format!("Internal trouble{}", "!".repeat(1000));
    let error = {
        let server = Server::answering(&[("500 Internal Server Error", &long)]);
        error_of(build(server.settings())).await
    };
    assert!(error.contains("answered HTTP 500 Internal Server Error: Internal trouble!!!"), "{error}");
    assert!(
        error.contains("!…\n\nhint: look at what the agent itself logged") && error.len() < 700,
        "{error}"
    );
    check_answer(
        ("401 Unauthorized", "no such key: key-1234567890 (Bearer key-1234567890)"),
        |settings| {
            settings.url.push_str("?token=token-0987654321");
            settings.headers.insert("Authorization".into(), SecretString::from("Bearer key-1234567890"));
        },
        expect![[r#"
            agent `desk` failed: POST URL?… answered HTTP 401 Unauthorized: no such key: [hidden] (Bearer [hidden])

            hint: see that `headers` carries what the agent asks for"#]],
    )
    .await;
    check_answer(
        ("302 Found\r\nlocation: http://elsewhere.example/login", ""),
        |_| {},
        expect![[r#"
            agent `desk` failed: POST URL answered HTTP 302 Found and points to `http://elsewhere.example/login`; redirects are not followed

            hint: set `url` to the address that answers"#]],
    )
    .await;
}

#[tokio::test]
async fn a_server_that_gives_no_answer_is_named() {
    check_answer(
        ("", ""),
        |settings| settings.timeout = Duration::from_millis(200),
        expect![[r#"
            agent `desk` failed: POST URL did not answer within 200ms

            hint: raise `timeout`, or look at what the agent waits for"#]],
    )
    .await;
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let settings = HttpSettings::new("desk", &format!("http://{address}/chat"), "$.text");
    let error = error_of(build(settings)).await;
    assert!(error.contains(&format!("POST http://{address}/chat could not be reached: ")), "{error}");
    assert!(error.contains("hint: see that the agent runs, and that `url` is its address"), "{error}");
}

#[tokio::test]
async fn an_answer_that_cannot_be_used_is_shown() {
    check_answer(
        ("200 OK\r\ncontent-type: text/html", "<h1>It works!</h1>"),
        |_| {},
        expect![[r#"
            agent `desk` failed: POST URL answered something that is not JSON (expected value at line 1 column 1; text/html): <h1>It works!</h1>

            hint: set `url` to an endpoint that answers JSON"#]],
    )
    .await;
    check_answer(
        ("204 No Content", ""),
        |_| {},
        expect![[r#"
            agent `desk` failed: POST URL answered something that is not JSON (EOF while parsing a value at line 1 column 0; no content type): (nothing)

            hint: set `url` to an endpoint that answers JSON"#]],
    )
    .await;
    check_answer(
        (OK, r#"{"reply": {"content": "Hello!", "id": 3}}"#),
        |_| {},
        expect![[r#"
            agent `desk` failed: the answer of POST URL has nothing at `$.reply.text`: `$.reply` is an object with the fields `content`, `id`

            it answered: {"reply":{"content":"Hello!","id":3}}

            hint: set `response` to where it stands in the answer"#]],
    )
    .await;
    check_answer(
        (OK, r#"{"reply": {"text": ["Hello!"]}}"#),
        |_| {},
        expect![[r#"
            agent `desk` failed: the answer of POST URL should have text at `$.reply.text`, which is a list of 1

            it answered: {"reply":{"text":["Hello!"]}}

            hint: set `response` to where it stands in the answer"#]],
    )
    .await;
    check_answer(
        (OK, r#"{"reply": {"text": "Hello!"}}"#),
        |settings| settings.session = Some("$.session".into()),
        expect![[r#"
            agent `desk` failed: the answer of POST URL has nothing at `$.session`: `$` is an object with the fields `reply`

            it answered: {"reply":{"text":"Hello!"}}

            hint: set `session` to where it stands in the answer"#]],
    )
    .await;
    check_answer(
        (OK, r#"{"reply": {"text": "Hello!"}, "in": -1}"#),
        |settings| settings.usage = Some(UsagePaths { input: "in".into(), output: "out".into() }),
        expect![[r#"
            agent `desk` failed: the answer of POST URL should have a count at `$.in`, which is a number

            it answered: {"reply":{"text":"Hello!"},"in":-1}

            hint: set `usage.input` to where it stands in the answer"#]],
    )
    .await;
    check_answer(
        (OK, &format!("\"{}\"", "x".repeat(9 << 20))),
        |_| {},
        expect![[r#"
            agent `desk` failed: POST URL answered more than 8 MiB

            hint: let it leave out what is not part of the reply"#]],
    )
    .await;
}

#[tokio::test]
async fn what_a_server_echoes_of_a_header_is_not_written_down() {
    let echo = json!({"reply": {"text": "you are key-1234567890"}, "id": "key-1234567890"});
    let server = Server::json(&[echo]);
    let headers = [("X-Key".to_owned(), SecretString::from("key-1234567890"))];
    let settings = HttpSettings { headers: headers.into(), ..server.settings() };
    assert!(!format!("{settings:?} {:?}", build(settings.clone())).contains("1234567890"));
    let mut session = new_session();
    say(&conversation(build(settings.clone())), &mut session, "hi").await.unwrap();
    assert_eq!(last_output(&session), "you are [hidden]");
    let error = error_of(build(HttpSettings { session: Some("id".into()), ..settings })).await;
    assert!(error.contains("gave a session id that holds the value of a header"), "{error}");
}

fn check_settings(change: impl Fn(&mut HttpSettings), expect: &Expect) {
    let mut settings = HttpSettings::new("desk", "http://localhost:1/chat", "$.text");
    change(&mut settings);
    expect.assert_eq(&HttpAgent::new(settings).unwrap_err().to_string());
}

#[test]
fn settings_that_cannot_be_used_are_refused() {
    check_settings(
        |settings| settings.url = "localhost:8000/chat".into(),
        &expect![[r#"
            `url`: it begins with `localhost:`, not with `http:` or `https:`

            hint: write it like `http://localhost:8000/chat`"#]],
    );
    check_settings(
        |settings| settings.url = "http://localhost/${session}".into(),
        &expect![[r#"
            `url`: placeholders are replaced in `request` only

            hint: write it like `http://localhost:8000/chat`"#]],
    );
    check_settings(
        |settings| settings.method = "GET".into(),
        &expect!["`method`: an agent cannot be asked with `GET`; use `POST`, `PUT` or `PATCH`"],
    );
    check_settings(
        |settings| drop(settings.headers.insert("X-Key".into(), SecretString::from("a\nb"))),
        &expect!["`headers`: the value of `X-Key` holds characters that cannot be part of it"],
    );
    check_settings(
        |settings| settings.response = "$.a[b]".into(),
        &expect!["`response`: `$.a[b]` is not a path; write it like `$.choices[0].text` or `choices.0.text`"],
    );
    let request = json!({"q": "${question}"});
    let error = HttpAgent::check_template(&request).unwrap_err().to_string();
    check_settings(
        |settings| settings.request = request.clone(),
        &expect![
            "`request`: `$.q`: there is no placeholder `${question}`; the placeholders are: `${message}`, `${session}`, `${turn}`, `${scenario}`, `${history}`, `${plugins}`, `${context}`"
        ],
    );
    assert!(error.starts_with("`$.q`: there is no placeholder `${question}`"), "{error}");
}

#[tokio::test]
async fn no_redirect_carries_headers_or_a_message_elsewhere() {
    let other = Server::answering(&[("200 OK", "{\"reply\": \"caught\"}")]);
    let authority = other.url.trim_start_matches("http://").to_owned();
    let places = [
        other.url.clone(),
        format!("//{authority}"),
        format!("http://me:pass@{authority}"),
        format!("https://{authority}"),
        format!("HTTP://{authority}"),
        "/chat".to_owned(),
        "?again".to_owned(),
        "file:///etc/passwd".to_owned(),
        "data:application/json,{}".to_owned(),
        "javascript:alert(1)".to_owned(),
    ];
    for status in [
        "301 Moved Permanently",
        "302 Found",
        "303 See Other",
        "307 Temporary Redirect",
        "308 Permanent Redirect",
    ] {
        for place in &places {
            let server =
                Server::answering(&[(&format!("{status}\r\nlocation: {place}"), "{\"reply\": \"x\"}")]);
            let mut settings = server.settings();
            settings.headers.insert("Authorization".into(), SecretString::from("Bearer key-1234567890"));
            let error = error_of(build(settings)).await;
            assert!(error.contains("redirects are not followed"), "{status} to {place}: {error}");
            assert_eq!(server.log.lock().unwrap().len(), 1, "{status} to {place}");
        }
    }
    assert!(other.log.lock().unwrap().is_empty());
}
