//! The providers' own SDKs for Python as the oracle, in both directions: their types accept what we write, and we
//! understand what they send, and they what we serve.
//!
//! `cargo xtask setup` installs them.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use rehearsal_agent::{Metering, Model, ModelCall, ModelError};
use rehearsal_core::{
    Content, FinishReason, ModelRequest, ModelResponse, Part, PartData, Role, ToolDeclaration, Usage,
};
use rehearsal_models::wire::{Envelope, anthropic, gemini, openai};
use rehearsal_models::{Matcher, Reply, Rule, ScriptedModel};
use serde_json::{Value, json};

use crate::support::api::{ALL, Api};
use crate::support::server::{Answer, Received, Server};

/// What the SDKs' types are known to refuse: fields of tomorrow, fields of compatible servers, and sampling
/// settings, which are in an older version of Anthropic's API than the SDK is for.
const NOT_IN_THE_SDK: [&str; 3] = ["unknown", "reasoning", "sampling"];

#[test]
fn their_types_accept_what_we_write() {
    let mut items = Vec::new();
    let mut add = |api: Api, kind: &str, name: String, json: Value| {
        items.push(json!({"name": name, "api": api.folder(), "kind": kind, "json": json}));
    };
    for (api, name, text) in goldens() {
        let known = !NOT_IN_THE_SDK.iter().any(|part| name.contains(part));
        if name.starts_with("request_") && known {
            // As it was written from the reference, and as we write what it means.
            add(api, "request", format!("{api:?} {name}"), rehearsal_core::json::from_str(&text).unwrap());
            let request = api.read_request(&text, "m").unwrap();
            add(api, "request", format!("{api:?} {name}, written"), api.write_request(&request).unwrap());
            if api == Api::OpenAi {
                let written = openai::Request::from_core(&request, openai::Dialect::OpenAi).unwrap();
                add(
                    api,
                    "request",
                    format!("{api:?} {name}, written for OpenAI"),
                    json!(written.streaming()),
                );
            }
        } else if name.starts_with("response_") && known {
            add(api, "response", format!("{api:?} {name}"), rehearsal_core::json::from_str(&text).unwrap());
            let response = api.read_response(&text).unwrap();
            let envelope = Envelope { id: "r-1".into(), created: 1_767_268_800, model: "m".into() };
            let written = api.write_response(&response, &envelope).unwrap();
            let events = api.events(&written.to_string()).unwrap();
            for (number, event) in events.iter().filter(|event| event.data != "[DONE]").enumerate() {
                let json = rehearsal_core::json::from_str(&event.data).unwrap();
                add(api, "event", format!("{api:?} {name}, event {number}"), json);
            }
            add(api, "response", format!("{api:?} {name}, written"), written);
        } else if name.starts_with("stream_") && known {
            // The SDKs pass over pings and what they do not know before they look at types.
            let is_typed =
                |data: &&str| !data.contains("tomorrow") && !data.contains("ping") && *data != "[DONE]";
            let data = text.lines().filter_map(|line| line.strip_prefix("data: ")).filter(is_typed);
            for (number, data) in data.enumerate() {
                add(
                    api,
                    "event",
                    format!("{api:?} {name}, event {number}"),
                    rehearsal_core::json::from_str(data).unwrap(),
                );
            }
        }
    }
    let asked = items.len();
    let report: Vec<Value> =
        rehearsal_core::json::from_str(&python("sdk_types.py", &[], &json!(items).to_string())).unwrap();
    assert_eq!(report.len(), asked);
    assert!(asked > 200, "only {asked} were checked");
    let problems: Vec<String> = report
        .iter()
        .filter(|item| item["problems"] != json!([]))
        .map(|item| format!("{}: {}", item["name"], item["problems"]))
        .collect();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn openai_and_we_understand_each_other() {
    let (seen, asked) = exchange(Api::OpenAi).await;
    let whole = json!({"id": "r-0", "model": "gpt-oracle", "text": "hello from rehearsal", "finish": "stop",
        "input": 12, "output": 5, "cached": 4});
    assert_eq!(seen["whole"], whole);
    assert_eq!(seen["refused"], "content_filter");
    check_common(&seen, &asked, &json!(["call_0", "call_1"]));
    assert_eq!(asked[0].setup.settings.seed, Some(7));
    assert_eq!(asked[0].setup.settings.temperature, Some(0.5));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn anthropic_and_we_understand_each_other() {
    let (seen, asked) = exchange(Api::Anthropic).await;
    // Tokens from the cache are counted apart here.
    let whole = json!({"id": "r-0", "model": "claude-oracle", "text": "hello from rehearsal", "finish": "end_turn",
        "input": 8, "output": 5, "cached": 4});
    assert_eq!(seen["whole"], whole);
    assert_eq!(seen["refused"], "refusal");
    check_common(&seen, &asked, &json!(["call_0", "call_1"]));
    check_thinking(&seen);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn gemini_and_we_understand_each_other() {
    let (seen, asked) = exchange(Api::Gemini).await;
    let whole = json!({"id": "r-0", "model": "gemini-oracle", "text": "hello from rehearsal", "finish": "STOP",
        "input": 12, "output": 5, "cached": 4});
    assert_eq!(seen["whole"], whole);
    assert_eq!(seen["refused"], "SAFETY");
    check_common(&seen, &asked, &json!([null, null]));
    check_thinking(&seen);
    assert_eq!(asked[0].setup.settings.seed, Some(7));
    assert_eq!(asked[0].setup.settings.temperature, Some(0.5));
}

/// What holds for all three: the SDK saw what the script said, and the script what the SDK sent.
fn check_common(seen: &Value, asked: &[ModelRequest], call_ids: &Value) {
    let pieces: Vec<&str> =
        seen["stream"]["pieces"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert_eq!(pieces, ["hello ", "from ", "rehearsal"]);
    assert_eq!(seen["stream"]["output"], 5);
    for loop_name in ["tools", "tools_stream"] {
        let seen = &seen[loop_name];
        assert_eq!(seen["said"], "Let me look.", "{loop_name}");
        let calls = json!([
            [call_ids[0], "get_weather", {"city": "Oslo"}],
            [call_ids[1], "get_weather", {"city": "Rome"}],
        ]);
        assert_eq!(seen["calls"], calls, "{loop_name}");
        assert_eq!(seen["text"], "Rome is warmer by 17 degrees.", "{loop_name}");
    }
    assert_eq!(seen["structured"], json!({"name": "Fair", "day": "Friday", "guests": 2}));
    assert_eq!(seen["image"], "I see image/png iVBORw0KGgo=");
    for status in [429, 400, 500] {
        assert_eq!(seen[format!("error_{status}")], "as you wish");
    }

    assert_eq!(asked[0].setup.system.as_deref(), Some("be brief"));
    assert_eq!(asked[0].setup.settings.max_tokens, Some(64));
    assert_eq!(asked[0].setup.settings.stop, ["END"]);
    assert_eq!(*asked[0].contents[0], Content::user("say hello"));
    let with_tools: Vec<_> = asked.iter().filter(|request| !request.setup.tools.is_empty()).collect();
    assert_eq!(with_tools.len(), 4, "two loops of two turns");
    for request in with_tools {
        assert_eq!(request.setup.tools.len(), 1);
        let tool: &ToolDeclaration = &request.setup.tools[0];
        assert_eq!((tool.name.as_str(), tool.description.as_str()), ("get_weather", "Says how warm it is."));
        assert_eq!(tool.parameters["properties"]["city"]["type"], "string");
        assert_eq!(tool.parameters["required"], json!(["city"]));
    }
    let schemas: Vec<_> = asked.iter().filter_map(|request| request.setup.output_schema.as_deref()).collect();
    assert_eq!(schemas.len(), 1);
    assert_eq!(schemas[0]["properties"]["guests"]["type"], "integer");
}

fn check_thinking(seen: &Value) {
    let thinking = json!({"thought": "hm, let me think", "signature": "c2lnbmVk", "text": "I thought about it.",
        "after": "you kept: hm, let me think (c2lnbmVk)"});
    assert_eq!(seen["thinking"], thinking);
}

/// Lets an SDK talk to a script through our wire formats. Gives what the SDK saw, and what the script was asked.
async fn exchange(api: Api) -> (Value, Vec<ModelRequest>) {
    let asked: Arc<Mutex<Vec<ModelRequest>>> = Arc::default();
    let log = asked.clone();
    let model = Arc::new(script());
    let server = Server::start(move |received| {
        let (log, model) = (log.clone(), model.clone());
        async move { answer(api, &received, &log, &*model).await }
    })
    .await;
    let address = server.url();
    let run = move || python("sdk_calls.py", &[api.folder(), &address], "");
    let output = tokio::task::spawn_blocking(run).await.unwrap();
    let asked = asked.lock().unwrap().clone();
    (rehearsal_core::json::from_str(&output).unwrap(), asked)
}

async fn answer(api: Api, received: &Received, log: &Mutex<Vec<ModelRequest>>, model: &dyn Model) -> Answer {
    let (name, is_stream) = match api {
        Api::OpenAi => {
            assert_eq!(received.path, "/v1/chat/completions");
            assert_eq!(received.header("authorization"), Some("Bearer sk-oracle"));
            (String::new(), openai::Request::parse(&received.body).unwrap().is_streaming())
        }
        Api::Anthropic => {
            assert_eq!(received.path, "/v1/messages");
            assert_eq!(received.header("authorization"), Some("Bearer sk-ant-oracle"));
            assert_eq!(received.header("anthropic-version"), Some(anthropic::VERSION));
            (String::new(), anthropic::Request::parse(&received.body).unwrap().is_streaming())
        }
        Api::Gemini => {
            assert_eq!(received.header("x-goog-api-key"), Some("oracle"));
            let path = received.path.strip_prefix("/v1/models/").unwrap();
            let (name, method) = path.split_once(':').unwrap();
            (name.to_owned(), method == "streamGenerateContent?alt=sse")
        }
    };
    assert_eq!(
        api.rewrite_request(&received.body).unwrap(),
        in_camel_case(received.json()),
        "nothing is lost"
    );
    let request = api.read_request(&received.body, &name).unwrap();
    log.lock().unwrap().push(request.clone());
    let model_name = request.setup.model.clone();
    let call = ModelCall {
        session: "oracle".into(),
        agent: api.folder().into(),
        turn: "t".into(),
        index: received.number as u64,
        request,
        metering: Metering::default(),
    };
    match model.respond(&call).await {
        Ok(response) => {
            let envelope =
                Envelope { id: format!("r-{}", received.number), created: 1_767_268_800, model: model_name };
            let body = api.write_response(&response, &envelope).unwrap().to_string();
            if is_stream {
                Answer::stream(
                    &api.events(&body).unwrap().iter().map(ToString::to_string).collect::<String>(),
                )
            } else {
                Answer::json(200, body)
            }
        }
        Err(ModelError::Status { status, message, .. }) => Answer::json(
            status,
            match api {
                Api::OpenAi => openai::write_error(status, &message),
                Api::Anthropic => anthropic::write_error(status, &message),
                Api::Gemini => gemini::write_error(status, &message),
            },
        ),
        Err(error) => Answer::json(500, error.to_string()),
    }
}

/// Google's SDK writes some fields in `snake_case`; the API takes both, and we write them like the others.
fn in_camel_case(value: Value) -> Value {
    match value {
        Value::Array(items) => items.into_iter().map(in_camel_case).collect(),
        Value::Object(members) => {
            let members = members.into_iter().map(|(key, value)| {
                let key = match key.as_str() {
                    "parameters_json_schema" => "parametersJsonSchema".to_owned(),
                    "response_json_schema" => "responseJsonSchema".to_owned(),
                    "mime_type" => "mimeType".to_owned(),
                    "thought_signature" => "thoughtSignature".to_owned(),
                    _ => key,
                };
                (key, in_camel_case(value))
            });
            Value::Object(members.collect())
        }
        other => other,
    }
}

fn script() -> ScriptedModel {
    let usage = Usage { input: 12, output: 5, cached: 4, thoughts: 0 };
    let hello =
        ModelResponse { usage: Some(usage), ..ModelResponse::new(Content::model("hello from rehearsal")) };
    let thought = Part { thought_signature: Some("c2lnbmVk".into()), ..Part::thought("hm, let me think") };
    let fail = |status: u16| {
        let (model, message) = ("script".into(), "as you wish".to_owned());
        let error = ModelError::Status { model, status, message, retry_after_ms: None };
        Rule::when(Matcher::user_equals(&format!("fail with {status}"))).reply(Reply::fail(error))
    };
    ScriptedModel::rules(
        "oracle",
        [
            Rule::when(Matcher::user_equals("say hello")).reply(hello),
            Rule::when(Matcher::user_equals("compare Oslo and Rome")).reply(
                Reply::text("Let me look.")
                    .and_call("get_weather", json!({"city": "Oslo"}))
                    .and_call("get_weather", json!({"city": "Rome"})),
            ),
            Rule::when(Matcher::tool_result("get_weather")).reply_with(compare),
            Rule::when(Matcher::user_equals("extract the event"))
                .reply(Reply::json(json!({"name": "Fair", "day": "Friday", "guests": 2}))),
            Rule::when(Matcher::user_contains("what is this?")).reply_with(look),
            Rule::when(Matcher::user_equals("refuse")).reply(Reply::text("no").finish(FinishReason::Safety)),
            Rule::when(Matcher::user_equals("think first")).reply(Reply::content(Content::new(
                Role::Model,
                vec![thought, Part::text("I thought about it.")],
            ))),
            Rule::when(Matcher::user_equals("and now?")).reply_with(remember),
            fail(429),
            fail(400),
            fail(500),
        ],
    )
}

/// Reads the results of the tools, in the order of the calls.
fn compare(call: &ModelCall) -> String {
    let results = call.request.contents.iter().flat_map(|content| content.responses());
    let degrees: Vec<i64> = results
        .map(|result| {
            // Where Google's SDK calls the function itself, it puts what the function gave under `result`.
            let given = result.response.get("result").and_then(|result| result.get("degrees"));
            given.or_else(|| result.response.get("degrees")).unwrap().as_i64().unwrap()
        })
        .collect();
    format!("Rome is warmer by {} degrees.", degrees[1] - degrees[0])
}

fn look(call: &ModelCall) -> String {
    let parts = call.request.contents.iter().flat_map(|content| &content.parts);
    let image = parts.into_iter().find_map(|part| match &part.data {
        PartData::InlineData(blob) => Some(blob),
        _ => None,
    });
    let image = image.unwrap();
    format!("I see {} {}", image.mime_type.as_deref().unwrap(), image.data)
}

/// Whether the thought came back with its signature.
fn remember(call: &ModelCall) -> String {
    let part = &call.request.contents[1].parts[0];
    assert!(part.thought);
    format!("you kept: {} ({})", part.as_text().unwrap(), part.thought_signature.as_deref().unwrap())
}

fn goldens() -> Vec<(Api, String, String)> {
    let mut found = Vec::new();
    for api in ALL {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(api.folder());
        let mut paths: Vec<PathBuf> =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        for path in paths {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            if !name.ends_with(".core.json") {
                found.push((api, name, fs::read_to_string(&path).unwrap()));
            }
        }
    }
    found
}

/// Runs one of the oracle's scripts and gives what it writes.
fn python(script: &str, arguments: &[&str], input: &str) -> String {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let interpreter = std::env::var_os("REHEARSAL_ORACLE_PYTHON")
        .map_or_else(|| workspace.join("target/oracle/venv/bin/python"), PathBuf::from);
    assert!(
        interpreter.exists(),
        "the oracle's Python is not at {}: run `cargo xtask setup`, or set REHEARSAL_ORACLE_PYTHON",
        interpreter.display()
    );
    let mut child = Command::new(&interpreter)
        .arg(workspace.join("oracle/python").join(script))
        .args(arguments)
        // Keys, addresses and proxies of whoever runs the tests are none of the SDKs' business here.
        .env_clear()
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("NO_PROXY", "127.0.0.1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{script} failed:\n{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}
