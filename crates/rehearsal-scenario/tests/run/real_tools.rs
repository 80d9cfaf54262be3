//! Tools that run for real: only when the file lists them, or under `--live`.

use rehearsal_core::Verdict;
use serde_json::json;

use crate::run::stage::{Play, play, problems};

/// A scenario whose agent calls `tool` once.
fn one_call(command: &str, setup: &str) -> String {
    format!(
        "agent:
  instructions: Help.
  tools: [{{name: tool, {command}}}]
models: {{agent: {{script: [{{call: tool, args: {{id: 7}}}}, done]}}}}
setup: {{{setup}}}
run: [{{input: go, evaluations: [{{type: string_contains, value: done}}]}}]
"
    )
}

const ECHO: &str = "command: [sh, -c, 'cat']";

#[tokio::test]
async fn a_listed_tool_gets_its_arguments_as_json_and_gives_json() {
    let played = play(&one_call(ECHO, "passthrough: [tool]")).await;
    played.passed();
    assert_eq!(played.outcomes(), [json!({"output": {"id": 7}})]);
    assert_eq!(played.result.mocks.answered[0].by, "the real tool");
}

#[tokio::test]
async fn what_is_no_json_is_text() {
    let played = play(&one_call("command: 'echo order $((3 + 4)) is late'", "passthrough: [tool]")).await;
    assert_eq!(played.outcomes(), [json!({"output": "order 7 is late"})]);
}

#[tokio::test]
async fn a_tool_that_fails_is_an_error_that_the_model_sees() {
    let played = play(&one_call("command: 'echo no such order >&2; exit 3'", "passthrough: [tool]")).await;
    played.passed();
    let error =
        json!({"error": {"type": "CommandFailed", "message": "it ended with code 3\n  no such order"}});
    assert_eq!(played.outcomes(), [error]);
    assert!(format!("{:?}", played.requests()[1].contents).contains("no such order"));
    assert!(played.result.mocks.answered[0].failed);
}

#[tokio::test]
async fn a_tool_finds_the_folder_of_the_run_and_the_one_of_its_file() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("tool.sh"), "cat \"$REHEARSAL_FOLDER/order.txt\"; pwd").unwrap();
    let text = one_call("command: [sh, tool.sh]", "passthrough: [tool], virtual_fs: {order.txt: \"late \"}");
    let played = Play::new(&text).directory(&folder.path().canonicalize().unwrap()).run().await;
    let found = format!("late {}", folder.path().canonicalize().unwrap().display());
    assert_eq!(played.outcomes(), [json!({"output": found})]);
}

#[tokio::test]
async fn a_tool_that_is_not_listed_does_not_run() {
    let folder = tempfile::tempdir().unwrap();
    let text = one_call("command: 'touch ran'", "");
    let played = Play::new(&text).directory(folder.path()).run().await;
    played.came_to(Verdict::Error);
    let error = played.error();
    assert!(error.contains("unmocked_tool: tool `tool` was called by agent `agent`"), "{error}");
    assert!(
        error.ends_with("Or, if this tool may run for real, list it:\n  setup:\n    passthrough: [tool]"),
        "{error}"
    );
    assert!(!folder.path().join("ran").exists());
}

#[tokio::test]
async fn a_mock_that_matches_answers_before_a_listed_tool() {
    let mocks = |id: u32| {
        format!(
            "passthrough: [tool], mocks: [{{method: tool, when: {{input: {{id: {id}}}}}, response: mocked}}]"
        )
    };
    assert_eq!(play(&one_call(ECHO, &mocks(7))).await.outcomes(), [json!({"output": "mocked"})]);
    assert_eq!(play(&one_call(ECHO, &mocks(8))).await.outcomes(), [json!({"output": {"id": 7}})]);
}

#[tokio::test]
async fn live_runs_tools_and_asks_no_mock() {
    let text = one_call(ECHO, "mocks: [{method: tool, response: mocked}]");
    assert_eq!(play(&text).await.outcomes(), [json!({"output": "mocked"})]);
    let live = Play::new(&text).live().run().await;
    live.passed();
    assert_eq!(live.outcomes(), [json!({"output": {"id": 7}})]);
    assert_eq!(live.result.mocks.unused, ["mocks[0] (line 5)"]);
}

#[tokio::test]
async fn live_refuses_a_tool_that_has_nothing_to_run() {
    let played = Play::new(&one_call("description: Nothing", "mocks: [{method: tool, response: 1}]"))
        .live()
        .run()
        .await;
    played.came_to(Verdict::Error);
    let error = played.error();
    assert!(
        error.contains("under `--live`, where mocks do not answer, and it has nothing that could run"),
        "{error}"
    );
    assert!(error.contains("    - name: tool\n      command: [python3, tool.py]"), "{error}");
}

#[test]
fn what_cannot_run_cannot_be_listed() {
    let told = problems(&one_call("description: Nothing", "passthrough: [tool]"));
    let why = "no-effect: tool `tool` has nothing that could run: no `command` and no `http`";
    assert!(told.starts_with(why) && told.contains("command: [python3, tool.py]"), "{told}");
    let told = problems(&one_call(ECHO, "passthrough: [tol]"));
    assert_eq!(told, "no-effect: the agent has no tool `tol` [did you mean `tool`?]");
}

#[test]
fn a_header_without_its_variable_is_told_before_anything_runs() {
    let http = "http: {url: 'http://127.0.0.1:1', headers: {authorization: 'Bearer ${env.SHOP_KEY}'}}";
    let text = one_call(http, "passthrough: [tool]");
    let error = Play::new(&text).compile().unwrap_err();
    assert!(
        error.to_string().contains("`${env.SHOP_KEY}` names an environment variable that is not set"),
        "{error}"
    );
    Play::new(&text).variable("SHOP_KEY", "secret").compile().unwrap();
    // Nothing needs it while the tool does not run.
    Play::new(&one_call(http, "")).compile().unwrap();
    Play::new(&one_call(http, "")).live().compile().unwrap_err();
}

#[tokio::test]
async fn an_http_tool_is_sent_its_arguments() {
    let server =
        crate::run::agents::Server::answering([("200 OK", r#"{"found": true}"#), ("500 Oops", "broken")]);
    let tool = format!("http: {{url: '{}', headers: {{x-key: '${{env.SHOP_KEY}}'}}}}", server.url);
    let text = one_call(&tool, "passthrough: [tool]");
    let play = Play::new(&text).variable("SHOP_KEY", "secret");
    assert_eq!(play.run().await.outcomes(), [json!({"output": {"found": true}})]);
    let (head, body) = server.requests().remove(0);
    assert!(head.starts_with("POST ") && head.contains("x-key: secret"), "{head}");
    assert_eq!(body, json!({"id": 7}));
    let failed = play.run().await;
    failed.passed();
    assert_eq!(
        failed.outcomes(),
        [json!({"error": {"type": "HttpFailed", "message": "it answered HTTP 500: broken"}})]
    );
    for ledger in failed.run.ledgers() {
        assert!(!ledger.to_jsonl().contains("secret"), "no key is on a ledger");
    }
}
