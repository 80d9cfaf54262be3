//! Worlds that are programs: real processes.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![expect(clippy::needless_raw_string_hashes, reason = "expect-test writes them")]

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use expect_test::{Expect, expect};
use rehearsal_core::ToolOutcome;
use rehearsal_core::mask::Masker;
use rehearsal_world::world::{
    Occasion, ProgramStarter, Side, World, WorldCall, WorldError, WorldStarter, WorldTool,
};
use serde_json::{Value, json};

use crate::remote::command::{Python, python};

/// What most scripts of these tests begin with.
const STARTED: &str = r#"
receive(); send(type="tools", tools=[{"name": "t"}])
"#;

fn occasion() -> Occasion {
    Occasion {
        session: "s-1".into(),
        scenario: Some("late parcel".to_owned()),
        folder: Some("/tmp/run".into()),
        seed: u64::MAX,
        row: Some(json!({"order": 17})),
    }
}

async fn start_with(python: Python, limit: Duration) -> Result<Arc<dyn World>, WorldError> {
    let masker = Masker::new(["hunter22-secret".to_owned()]);
    ProgramStarter { launcher: Arc::new(python), masker, limit }.start(&occasion()).await
}

async fn start(script: &str) -> Result<Arc<dyn World>, WorldError> {
    start_with(python(script), Duration::from_mins(1)).await
}

async fn call(world: &Arc<dyn World>, tool: &str, args: Value) -> Result<Value, WorldError> {
    let args = args.as_object().unwrap().clone();
    let answer = world.call(&WorldCall { tool: tool.to_owned(), args, by: Side::Agent }).await?;
    Ok(
        json!({"outcome": answer.outcome.to_value(), "failed": answer.outcome.is_error(), "state": answer.state}),
    )
}

fn names(tools: &[WorldTool]) -> Vec<(&str, Side)> {
    tools.iter().map(|tool| (tool.declaration.name.as_str(), tool.side)).collect()
}

/// The error of the first call of a world that starts well.
async fn check(script: &str, expected: Expect) {
    let world = start(&format!("{STARTED}{script}")).await.unwrap();
    let error = call(&world, "t", json!({})).await.unwrap_err();
    expected.assert_eq(&error.to_string());
    let gone = call(&world, "t", json!({})).await.unwrap_err();
    assert!(matches!(gone, WorldError::Gone { .. }), "{gone}");
}

#[tokio::test]
async fn the_example_of_the_reference_page_is_a_world() {
    let page = include_str!("../../../docs/reference/world-program.md");
    let (_, code) = page.split_once("```python\n").unwrap();
    let (code, _) = code.split_once("```").unwrap();
    let launcher = Python { script: code.to_owned(), ..python("") };
    let world = start_with(launcher.clone(), Duration::from_mins(1)).await.unwrap();
    let listed = [("find_order", Side::Agent), ("refund", Side::Agent), ("look_outside", Side::User)];
    assert_eq!(names(&world.tools()), listed);
    assert_eq!(world.state().await.unwrap().unwrap()["orders"]["17"]["status"], "paid");

    let refund = call(&world, "refund", json!({"order": "17"})).await.unwrap();
    assert_eq!(refund["state"]["orders"]["17"]["status"], "refunded");
    assert_eq!(world.tools().len(), 4, "a tool appears");
    let again = call(&world, "refund", json!({"order": "17"})).await.unwrap();
    let refused = json!({"error": {"type": "REFUSED", "message": "it was paid back before"}});
    assert_eq!((&again["outcome"], &again["state"]), (&refused, &Value::Null));
    let sent = call(&world, "send_parcels", json!({})).await.unwrap();
    assert_eq!(sent["outcome"], json!({"sent": ["letter 615"]}), "the seed arrives whole");
    assert_eq!(names(&world.tools()), listed, "and goes again");
    assert_eq!(launcher.started.load(Ordering::SeqCst), 1, "one process for all calls");
    world.close(Duration::from_mins(1)).await;
    assert_eq!(launcher.running.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_world_is_told_its_case_and_logs_are_kept_apart() {
    let script = r#"
start = receive()
send(type="log", text="up")
send(type="tools", tools=[{"name": "t"}])
message = receive()
send(type="log", text="with hunter22-secret")
send(type="result", id=message["id"], output=[start, message])
"#;
    let world = start(script).await.unwrap();
    assert_eq!(world.take_logs(), ["up"]);
    let answer = call(&world, "t", json!({"a": 1})).await.unwrap();
    let told = json!([
        {"type": "start", "version": 1, "session": "s-1", "scenario": "late parcel", "folder": "/tmp/run",
         "seed": u64::MAX, "row": {"order": 17}},
        {"type": "call", "id": "1", "tool": "t", "args": {"a": 1}, "by": "agent"},
    ]);
    assert_eq!(answer["outcome"], told);
    let logs = world.take_logs();
    assert!(!logs[0].contains("hunter22-secret"), "{logs:?}");
}

#[tokio::test]
async fn a_call_by_the_user_says_so_and_a_result_may_be_null() {
    let script = format!(
        "{STARTED}call = receive()\nassert call['by'] == 'user'\nsend(type='result', id='1', output=None)\nreceive()"
    );
    let world = start(&script).await.unwrap();
    let call = WorldCall { tool: "t".to_owned(), args: serde_json::Map::new(), by: Side::User };
    assert_eq!(world.call(&call).await.unwrap().outcome, ToolOutcome::Output(Value::Null));
}

#[tokio::test]
async fn a_world_that_ends_names_how_and_what_it_complained_of() {
    let script = "receive(); print('no database', file=sys.stderr, flush=True); sys.exit(3)";
    check(
        script,
        expect![[r#"
            the world failed: its process ended during the call of `t` (exit status: 3), before it sent `result`

            its standard error ends with:
              no database

            hint: the process must stay and read further lines until it reads `end`"#]],
    )
    .await;
    let error = start("sys.exit(4)").await.unwrap_err().to_string();
    assert!(
        error.contains("its process ended during its start (exit status: 4), before it sent `tools`"),
        "{error}"
    );
}

#[tokio::test]
async fn what_cannot_be_understood_is_named() {
    check(
        "receive(); print('Loading…', flush=True); receive()",
        expect![[r#"
            the world failed: it wrote a line that is not JSON: Loading…

            hint: standard output is for messages only, one JSON object a line; print everything else to standard error"#]],
    )
    .await;
    check(
        "send(type='result', id=receive()['id'], outptu=1); receive()",
        expect![[r#"
            the world failed: it wrote a message that cannot be understood (unknown field `outptu`, expected one of `id`, `output`, `error`, `state`, `tools`): {"type": "result", "id": "1", "outptu": 1}

            hint: see that the line has the fields of its type, and the type is one that a world sends"#]],
    )
    .await;
    check(
        "send(type='result', id=receive()['id']); receive()",
        expect![[r#"
            the world failed: its answer to the call of `t` has neither `output` nor `error`

            hint: a call that gives nothing has: "output": null"#]],
    )
    .await;
    check(
        "receive(); send(type='result', id='7', output=1); receive()",
        expect![[r#"
            the world failed: it answered the call `7`, and call `1` was made

            hint: give back the `id` of the call that is answered"#]],
    )
    .await;
    check(
        "receive(); send(type='state', state={}); receive()",
        expect![[r#"
            the world failed: it answered the call of `t` with `state`

            hint: answer with `result`; between its answers a world says nothing but `log`"#]],
    )
    .await;
    check(
        "send(type='result', id=receive()['id'], output=1, tools=[{'name': 'a'}, {'name': 'a'}]); receive()",
        expect![[r#"
            the world failed: it listed two tools called `a`

            hint: `tools` lists all tools that there are now"#]],
    )
    .await;
    check(
        "receive(); send(type='error', message='the database is gone'); receive()",
        expect![[r#"the world reported an error: the database is gone"#]],
    )
    .await;
    let error =
        start("receive(); send(type='tools', tools=[{'name': 't', 'parameters': {'type': 7}}])").await;
    let error = error.unwrap_err().to_string();
    assert!(error.contains("`parameters` of its tool `t` is no JSON Schema"), "{error}");
}

#[tokio::test]
async fn a_world_that_floods_or_hangs_is_ended() {
    check(
        "receive()\nfor n in range(10001): send(type='log', text='x')\nreceive()",
        expect![[r#"
            the world failed: it sent more than 10000 messages in one call

            hint: a call is answered by one `result`; print what is for people to standard error"#]],
    )
    .await;
    let launcher = python(
        "receive(); send(type='tools', tools=[]); print('thinking', file=sys.stderr, flush=True); receive(); receive()",
    );
    let limit = Duration::from_secs(2);
    let world = start_with(launcher.clone(), limit).await.unwrap();
    let error = call(&world, "t", json!({})).await.unwrap_err();
    expect![[r#"
        the world did not answer the call of `t` within 2000 ms

        its standard error ends with:
          thinking

        hint: raise `timeout_ms` of the world, or see why it is slow"#]]
    .assert_eq(&error.to_string());
    assert_eq!(launcher.running.load(Ordering::SeqCst), 0, "the process is gone");
}
