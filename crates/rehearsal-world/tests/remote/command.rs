//! Agents that are a process.

use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use expect_test::{Expect, expect};
use rehearsal_agent::{AgentRef, Flow, FunctionTool, Loop, Session, Step, ToolRef, YieldingTool};
use rehearsal_core::{EventBody, ToolDeclaration, ToolOutcome, Usage, Verdict};
use rehearsal_sim::{Case, Mock, RunOptions};
use rehearsal_world::remote::{CommandAgent, Connection, Guard, Launcher};
use serde_json::json;
use tokio::io::{AsyncReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::task::JoinHandle;

use super::{
    around, conversation, error_of, go_on, introduction, last_output, new_session, reloaded, say, told,
    transcript,
};

/// Runs a script with Python, and counts the processes.
#[derive(Debug, Clone)]
pub(crate) struct Python {
    pub(crate) script: String,
    pub(crate) started: Arc<AtomicUsize>,
    pub(crate) running: Arc<AtomicUsize>,
}

/// What all scripts of these tests begin with.
const PRELUDE: &str = r#"
import json, os, sys
def send(**message): print(json.dumps(message), flush=True)
def receive():
    line = sys.stdin.readline()
    return json.loads(line) if line else {"type": "end"}
"#;

pub(crate) fn python(script: &str) -> Python {
    Python { script: format!("{PRELUDE}{script}"), started: Arc::default(), running: Arc::default() }
}

fn agent(script: &str) -> CommandAgent {
    CommandAgent::new("clerk", python(script))
}

#[async_trait]
impl Launcher for Python {
    async fn start(&self) -> Result<Connection, String> {
        let mut command = Command::new("python3");
        command.arg("-c").arg(&self.script);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().map_err(|error| error.to_string())?;
        self.started.fetch_add(1, Ordering::SeqCst);
        self.running.fetch_add(1, Ordering::SeqCst);
        let mut stderr = child.stderr.take().unwrap();
        let words: Arc<Mutex<String>> = Arc::default();
        let heard = words.clone();
        let listening = tokio::spawn(async move {
            let mut chunk = [0; 1024];
            while let Ok(count @ 1..) = stderr.read(&mut chunk).await {
                heard.lock().unwrap().push_str(&String::from_utf8_lossy(&chunk[..count]));
            }
        });
        Ok(Connection {
            input: Box::new(child.stdin.take().unwrap()),
            output: Box::new(BufReader::new(child.stdout.take().unwrap())),
            guard: Box::new(Process { child, words, listening, exit: None, running: self.running.clone() }),
        })
    }
}

struct Process {
    child: Child,
    words: Arc<Mutex<String>>,
    listening: JoinHandle<()>,
    exit: Option<String>,
    running: Arc<AtomicUsize>,
}

#[async_trait]
impl Guard for Process {
    async fn ended(&mut self) {
        let status = self.child.wait().await.unwrap();
        (&mut self.listening).await.unwrap();
        self.exit = Some(status.to_string());
    }

    fn stderr_tail(&self) -> String {
        self.words.lock().unwrap().clone()
    }

    fn exit(&self) -> Option<String> {
        self.exit.clone()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.running.fetch_sub(1, Ordering::SeqCst);
    }
}

fn lookup_order() -> ToolDeclaration {
    let parameters =
        json!({"type": "object", "properties": {"order": {"type": "integer"}}, "required": ["order"]});
    ToolDeclaration::new("lookup_order", "Looks up an order").parameters(parameters)
}

/// A tool that is never to be run for real.
fn declared() -> ToolRef {
    FunctionTool::raw(lookup_order(), |_, _| panic!("the real tool ran")).into()
}

/// A tool that counts how often it was called.
fn counting(calls: &Arc<AtomicUsize>) -> ToolRef {
    let calls = calls.clone();
    let tool = FunctionTool::raw(lookup_order(), move |args, _| {
        calls.fetch_add(1, Ordering::SeqCst);
        Box::pin(async move { Ok(rehearsal_agent::ToolOutput::new(args)) })
    });
    tool.into()
}

fn user(text: &'static str) -> Step {
    Step::new("user", move |cx| Ok(cx.respond(text)))
}

/// Asks once for order 17 in every turn.
const ASKING: &str = r#"
n = 0
while True:
    message = receive()
    if message["type"] == "end": break
    if message["type"] == "message":
        n += 1
        send(type="tool_call", id=str(n), tool="lookup_order", args={"order": 17})
        send(type="final", text=json.dumps(receive()))
"#;

/// Gives all it has read since the last answer.
const ECHO: &str = r#"
read = []
while True:
    message = receive()
    if message["type"] == "end": break
    read.append(message)
    if message["type"] == "message":
        send(type="final", output=read)
        read = []
"#;

/// The Python example of the reference page.
fn example() -> Python {
    let page = include_str!("../../../../docs/reference/command-agent.md");
    let (_, code) = page.split_once("```python\n").unwrap();
    let (code, _) = code.split_once("```").unwrap();
    Python { script: code.to_owned(), ..python("") }
}

#[tokio::test]
async fn the_example_of_the_reference_page_talks_and_mocks_answer_it() {
    let launcher = example();
    let clerk = Arc::new(CommandAgent::new("clerk", launcher.clone()).tools([declared()]));
    let looped: AgentRef = clerk.clone();
    let case = Case::new("late parcel", Loop::new("conversation", looped).max_rounds(2))
        .mock("lookup_order", Mock::returning(json!({"status": "shipped"})))
        .first_message("Where is order 17?")
        .loop_user(user("Thanks!"));
    let run = case.run(&RunOptions::default()).await;
    expect![[r#"
        user: Where is order 17?
        clerk calls lookup_order {"order":17}
        lookup_order gives {"status":"shipped"}
        clerk: Order 17 is shipped.
        user: Thanks!
        clerk: You are welcome."#]]
    .assert_eq(&transcript(&run.main));
    assert_eq!(run.result.status, Verdict::Unjudged);
    assert_eq!(launcher.started.load(Ordering::SeqCst), 1);
    clerk.close(Duration::from_mins(1)).await;
    assert_eq!(launcher.running.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn closing_tells_the_process_and_lets_it_end_by_itself() {
    let folder = tempfile::tempdir().unwrap();
    let kept = folder.path().join("kept");
    let script = format!("{ECHO}\nopen({:?}, 'w').write(message['type'])", kept.to_str().unwrap());
    let clerk = Arc::new(agent(&script));
    let looped: AgentRef = clerk.clone();
    say(&conversation(looped), &mut new_session(), "hi").await.unwrap();
    clerk.close(Duration::from_mins(1)).await;
    assert_eq!(std::fs::read_to_string(kept).unwrap(), "end");
}

#[tokio::test]
async fn a_tool_that_nobody_plays_ends_the_case() {
    let launcher = python(ASKING);
    let clerk = CommandAgent::new("clerk", launcher.clone()).tools([declared()]);
    let case = Case::new("unmocked", Loop::new("conversation", clerk)).first_message("hi");
    let run = case.run(&RunOptions::default()).await;
    let error = run.result.error.unwrap();
    assert_eq!(error.kind, "unmocked_tool");
    assert!(error.message.starts_with("tool `lookup_order` was called by agent `clerk` during a simulation"));
    assert_eq!(launcher.running.load(Ordering::SeqCst), 0, "the process is gone");
}

#[tokio::test]
async fn the_engine_answers_calls_of_unknown_tools_and_with_wrong_arguments() {
    let script = r#"
receive(); receive()
answers = []
for number, (tool, args) in enumerate([("refund", {}), ("lookup_order", {"order": "x"}), ("lookup_order", {"order": 1})]):
    send(type="tool_call", id=f"c{number}", tool=tool, args=args)
for _ in range(3):
    answers.append(receive())
send(type="final", output=answers)
receive()
"#;
    let clerk = conversation(agent(script).tools([counting(&Arc::default())]));
    let mut session = new_session();
    say(&clerk, &mut session, "hi").await.unwrap();
    expect![[r#"
        [
          {
            "type": "tool_result",
            "id": "c0",
            "error": {
              "type": "UnknownTool",
              "message": "there is no tool `refund`; the tools are: `lookup_order`"
            }
          },
          {
            "type": "tool_result",
            "id": "c1",
            "error": {
              "type": "InvalidArguments",
              "message": "the arguments of `lookup_order` break its schema: $.order: \"x\" is not of type \"integer\"",
              "violations": [
                {
                  "path": "$.order",
                  "message": "\"x\" is not of type \"integer\""
                }
              ]
            }
          },
          {
            "type": "tool_result",
            "id": "c2",
            "output": {
              "order": 1
            }
          }
        ]"#]]
    .assert_eq(&rehearsal_core::json::to_string_pretty(&last_output(&session)).unwrap());
}

#[tokio::test]
async fn it_is_told_what_it_has_to_know_and_then_only_what_is_new() {
    let launcher = python(ECHO);
    let clerk = CommandAgent::new("clerk", launcher.clone()).tools([declared()]).introduction(introduction());
    let clerk = conversation(clerk);
    let mut session = new_session();
    say(&clerk, &mut session, "hi").await.unwrap();
    let id = session.ledger().session().as_str().to_owned();
    let told =
        rehearsal_core::json::to_string_pretty(&last_output(&session)).unwrap().replace(&id, "SESSION");
    expect![[r#"
        [
          {
            "type": "start",
            "version": 1,
            "session": "SESSION",
            "scenario": null,
            "plugins": [
              {
                "name": "search",
                "version": "1.2",
                "config": {
                  "depth": 3
                }
              }
            ],
            "tools": [
              {
                "name": "lookup_order",
                "description": "Looks up an order",
                "parameters": {
                  "type": "object",
                  "properties": {
                    "order": {
                      "type": "integer"
                    }
                  },
                  "required": [
                    "order"
                  ]
                }
              }
            ],
            "context": {
              "tier": "gold"
            }
          },
          {
            "type": "message",
            "turn": 1,
            "text": "hi"
          }
        ]"#]]
    .assert_eq(&told);
    say(&clerk, &mut session, "again").await.unwrap();
    assert_eq!(last_output(&session), json!([{"type": "message", "turn": 2, "text": "again"}]));
    assert_eq!(launcher.started.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_new_process_is_told_what_was_said_before() {
    const SCRIPT: &str = r#"
history = []
while True:
    message = receive()
    if message["type"] == "end": break
    if message["type"] == "history": history = message["messages"]
    if message["type"] == "message": send(type="final", text="so far: " + json.dumps(history))
"#;
    let mut session = new_session();
    say(&conversation(agent(SCRIPT)), &mut session, "hi").await.unwrap();
    let mut session = reloaded(session);
    say(&conversation(agent(SCRIPT)), &mut session, "again").await.unwrap();
    assert_eq!(
        last_output(&session),
        r#"so far: [{"role": "user", "text": "hi"}, {"role": "assistant", "text": "so far: []"}]"#
    );
}

#[tokio::test]
async fn a_session_that_was_cut_anywhere_goes_on_without_doing_again_what_was_done() {
    let calls = Arc::new(AtomicUsize::new(0));
    let clerk = || conversation(agent(ASKING).tools([counting(&calls)]));
    let mut session = new_session();
    say(&clerk(), &mut session, "hi").await.unwrap();
    let whole = session.into_ledger();
    let result = whole.events().iter().position(|event| matches!(event.body, EventBody::ToolResult(_)));
    for cut in 2..whole.events().len() {
        let before = calls.load(Ordering::SeqCst);
        let mut session = Session::resume(whole.prefix(cut), around());
        go_on(&clerk(), &mut session).await.unwrap();
        assert_eq!(session.ledger().to_jsonl(), whole.to_jsonl(), "cut after {cut} events");
        let made = calls.load(Ordering::SeqCst) - before;
        assert_eq!(made, usize::from(cut <= result.unwrap()), "cut after {cut} events");
    }
}

#[tokio::test]
async fn a_process_that_does_something_else_after_an_interruption_is_an_error() {
    let mut session = new_session();
    say(&conversation(agent(ECHO)), &mut session, "hi").await.unwrap();
    let whole = session.into_ledger();
    let said = whole.events().iter().position(|event| matches!(event.body, EventBody::ModelResponse(_)));
    let mut session = Session::resume(whole.prefix(said.unwrap() + 1), around());
    let other = conversation(agent("receive(); receive(); send(type='final', text='else')"));
    expect![
        "agent `clerk` failed: the session was resumed, and it did not do again what it did before the interruption"
    ]
    .assert_eq(&go_on(&other, &mut session).await.unwrap_err().to_string());
}

/// A call that is answered from outside, by the process that made it or by another one.
async fn check_yield(reload: impl Fn(AgentRef, Session) -> (AgentRef, Session)) {
    let clerk = || conversation(agent(ASKING).tools([YieldingTool::raw(lookup_order()).into()]));
    let (first, mut session) = (clerk(), new_session());
    assert!(matches!(say(&first, &mut session, "hi").await.unwrap(), Flow::Waiting(_)));
    let call = session.ledger().calls().next().unwrap().call.clone();
    session.answer(&call, ToolOutcome::Output(json!("sent")), Vec::new(), None).unwrap();
    let (next, mut session) = reload(first, session);
    go_on(&next, &mut session).await.unwrap();
    assert_eq!(last_output(&session), r#"{"type": "tool_result", "id": "1", "output": "sent"}"#);
}

#[tokio::test]
async fn a_call_can_be_answered_from_outside() {
    check_yield(|agent, session| (agent, session)).await;
    check_yield(|_, session| {
        let again = agent(ASKING).tools([YieldingTool::raw(lookup_order()).into()]);
        (conversation(again), reloaded(session))
    })
    .await;
}

#[tokio::test]
async fn messages_logs_and_token_counts_are_on_the_ledger() {
    let script = r#"
receive(); receive()
send(type="log", text="thinking")
send(type="message", text="One moment.")
send(type="final", text="Done.", output={"ok": True}, usage={"input": 5, "output": 2})
receive()
"#;
    let mut session = new_session();
    say(&conversation(agent(script)), &mut session, "hi").await.unwrap();
    expect![[r#"
        user: hi
        clerk: One moment.
        clerk: Done."#]]
    .assert_eq(&transcript(session.ledger()));
    assert_eq!(last_output(&session), json!({"ok": true}));
    assert_eq!(told(&session, "agent_log"), [json!({"text": "thinking"})]);
    assert_eq!(session.ledger().usage(), Some(Usage { input: 5, output: 2, ..Usage::default() }));
}

/// A script that reads its start and its first message, and then does this.
async fn check_error(script: &str, expect: Expect) {
    expect.assert_eq(&error_of(agent(&format!("receive(); receive()\n{script}\nreceive()"))).await);
}

#[tokio::test]
async fn lines_that_are_no_messages_are_shown() {
    check_error(
        "print('Loading the model', flush=True)",
        expect![[r#"
            agent `clerk` failed: it wrote a line that is not JSON: Loading the model

            hint: standard output is for messages only, one JSON object a line; print everything else to standard error"#]],
    )
    .await;
    check_error(
        "send(type='answer', text='hi')",
        expect![[r#"
            agent `clerk` failed: it wrote a message that cannot be understood (unknown variant `answer`, expected one of `tool_call`, `message`, `final`, `error`, `log`): {"type": "answer", "text": "hi"}

            hint: see that the line has the fields of its type, and the type is one that an agent sends"#]],
    )
    .await;
    check_error(
        "send(type='tool_call', tool='lookup_order', args={'order': 1})",
        expect![[r#"
            agent `clerk` failed: it wrote a message that cannot be understood (missing field `id`): {"type": "tool_call", "tool": "lookup_order", "args": {"order": 1}}

            hint: see that the line has the fields of its type, and the type is one that an agent sends"#]],
    )
    .await;
    check_error(
        "send(type='final', text='hi', tokens=3)",
        expect![[r#"
            agent `clerk` failed: it wrote a message that cannot be understood (unknown field `tokens`, expected one of `text`, `output`, `usage`): {"type": "final", "text": "hi", "tokens": 3}

            hint: see that the line has the fields of its type, and the type is one that an agent sends"#]],
    )
    .await;
    check_error(
        "send(type='final')",
        expect!["agent `clerk` failed: it sent a `final` with neither `text` nor `output`"],
    )
    .await;
    check_error(
        "for _ in range(2): send(type='tool_call', id='a', tool='x')",
        expect![[r#"
            agent `clerk` failed: it gave two tool calls the id `a`

            hint: give every call of a session another id"#]],
    )
    .await;
    check_error(
        "print('x' * (9 << 20), flush=True)",
        expect!["agent `clerk` failed: its output cannot be read: a line is longer than 8 MiB"],
    )
    .await;
    check_error(
        "send(type='error', message='no licence')",
        expect!["agent `clerk` failed: it reported an error: no licence"],
    )
    .await;
}

#[tokio::test]
async fn a_process_that_dies_is_shown_with_its_last_words() {
    let dying = "receive(); receive()\nprint('licence expired\\nleaving', file=sys.stderr)\nsys.exit(3)";
    expect![[r#"
        agent `clerk` failed: its process ended in turn 1 (exit status: 3), before it sent `final`

        its standard error ends with:
          licence expired
          leaving

        hint: the process must stay and read further lines until it reads `end`"#]]
    .assert_eq(&error_of(agent(dying)).await);
    // It may be gone before anything was written to it.
    let error = error_of(agent("sys.exit('cannot start')")).await;
    assert!(error.contains("(exit status: 1)") && error.contains("  cannot start"), "{error}");
    let error = error_of(agent("send(type='error', message='no key'); sys.exit(1)")).await;
    assert_eq!(error, "agent `clerk` failed: it reported an error: no key");
}

#[tokio::test]
async fn a_process_that_dies_between_two_turns_fails_the_second() {
    let launcher = python("receive(); receive(); send(type='final', text='bye'); sys.exit(4)");
    let clerk = conversation(CommandAgent::new("clerk", launcher));
    let mut session = new_session();
    say(&clerk, &mut session, "hi").await.unwrap();
    let error = say(&clerk, &mut session, "still there?").await.unwrap_err().to_string();
    assert!(
        error.contains("its process ended in turn 2 (exit status: 4), before it sent `final`"),
        "{error}"
    );
}

#[tokio::test]
async fn an_answer_too_many_is_not_taken_for_the_next_one() {
    let script = r#"
receive(); receive()
line = json.dumps({"type": "final", "text": "hi"}) + "\n"
os.write(1, (line * 2).encode())
receive()
"#;
    let clerk = conversation(agent(script));
    let mut session = new_session();
    say(&clerk, &mut session, "hi").await.unwrap();
    expect![[r#"
        agent `clerk` failed: it went on after the `final` of its last turn

        hint: send `final` last and once, then wait for the next `message`"#]]
    .assert_eq(&say(&clerk, &mut session, "and?").await.unwrap_err().to_string());
}

#[tokio::test]
async fn both_sides_may_write_much_before_they_read() {
    let script = r#"
send(type="log", text="x" * (1 << 20))
receive()
send(type="final", output=len(receive()["text"]))
receive()
"#;
    let mut session = new_session();
    say(&conversation(agent(script)), &mut session, &"y".repeat(1 << 20)).await.unwrap();
    assert_eq!(last_output(&session), 1 << 20);
}

#[tokio::test]
async fn a_process_that_hangs_is_ended_with_the_case() {
    let launcher = python("while True: receive()");
    let clerk = CommandAgent::new("clerk", launcher.clone());
    let case = Case::new("hangs", Loop::new("conversation", clerk))
        .first_message("hi")
        .max_duration(Duration::from_millis(300));
    let run = case.run(&RunOptions::default()).await;
    assert_eq!(run.result.status, Verdict::Terminated);
    assert_eq!(launcher.started.load(Ordering::SeqCst), 1);
    assert_eq!(
        launcher.running.load(Ordering::SeqCst),
        0,
        "the process is gone while its agent is still there"
    );
}

#[tokio::test]
async fn a_second_run_of_a_case_has_a_process_of_its_own() {
    let launcher = python(ECHO);
    let clerk = CommandAgent::new("clerk", launcher.clone());
    let case = Case::new("twice", Loop::new("conversation", clerk).max_rounds(1)).first_message("hi");
    for runs in 1..=2 {
        let run = case.run(&RunOptions::default()).await;
        assert_eq!(run.result.error, None);
        assert_eq!(launcher.started.load(Ordering::SeqCst), runs);
        assert_eq!(launcher.running.load(Ordering::SeqCst), 1);
    }
}

#[tokio::test]
async fn a_process_that_cannot_be_started_says_why() {
    #[derive(Debug)]
    struct Nothing;

    #[async_trait]
    impl Launcher for Nothing {
        async fn start(&self) -> Result<Connection, String> {
            Err("`agent.py` does not exist".to_owned())
        }
    }

    let error = error_of(CommandAgent::new("clerk", Nothing)).await;
    assert_eq!(error, "agent `clerk` failed: its process could not be started: `agent.py` does not exist");
}

#[tokio::test]
async fn an_agent_that_nobody_spoke_to_is_told_to_speak_first() {
    let (clerk, mut session) = (conversation(agent(ECHO)), new_session());
    go_on(&clerk, &mut session).await.unwrap();
    let told = last_output(&session);
    let first = rehearsal_core::json::text(&told[1]);
    assert_eq!(first, r#"{"type":"message","turn":1,"text":"","speak_first":true}"#);
    say(&clerk, &mut session, "hi").await.unwrap();
    let told = last_output(&session);
    assert_eq!(rehearsal_core::json::text(&told[0]), r#"{"type":"message","turn":2,"text":"hi"}"#);
}
