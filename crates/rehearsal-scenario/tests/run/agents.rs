//! What is under test: agents written in the file, and agents that are reached elsewhere.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use rehearsal_core::{Usage, Verdict};
use rehearsal_scenario::{CheckOptions, ModelChoice, ScriptedReply, check_agent, check_with};
use serde_json::{Value, json};

use crate::run::stage::{Play, file, play, problems, said, scenario, told};

/// A server on loopback; its thread ends with the tests.
pub(crate) struct Server {
    pub(crate) url: String,
    log: Arc<Mutex<Vec<(String, Value)>>>,
}

impl Server {
    /// Answers the first request with the first status and body, and so on; the last one repeats.
    pub(crate) fn answering<const N: usize>(answers: [(&'static str, &'static str); N]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let log: Arc<Mutex<Vec<(String, Value)>>> = Arc::default();
        let kept = log.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let request = read_request(&stream);
                let number = kept.lock().unwrap().len();
                kept.lock().unwrap().push(request);
                let (status, body) = answers[number.min(N - 1)];
                let length = body.len();
                let head = format!(
                    "HTTP/1.1 {status}\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n"
                );
                drop(stream.write_all(format!("{head}{body}").as_bytes()));
            }
        });
        Self { url, log }
    }

    /// What came so far: the heads and the bodies.
    pub(crate) fn requests(&self) -> Vec<(String, Value)> {
        self.log.lock().unwrap().clone()
    }
}

fn read_request(stream: &TcpStream) -> (String, Value) {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        reader.read_line(&mut head).unwrap();
    }
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
    let mut body = vec![0; length.parse().unwrap()];
    reader.read_exact(&mut body).unwrap();
    (head, rehearsal_core::json::from_slice(&body).unwrap())
}

#[tokio::test]
async fn an_inline_agent_has_all_that_its_block_says() {
    let text = "agent:
  name: desk
  description: Answers
  model: clever
  instructions: Be kind.
  tools: [{name: find, description: Finds, parameters: {properties: {id: {type: integer}}}}]
  output_schema: {type: object, properties: {ok: {type: boolean}}, required: [ok]}
  temperature: 0.5
  max_tokens: 77
models: {clever: {script: [{json: {ok: true}}]}}
run:
  - input: go
    evaluations: [{type: json_path, path: $.ok, equals: true}]
";
    let played = play(text).await;
    played.passed();
    let request = &played.requests()[0];
    let setup = &request.setup;
    assert_eq!(setup.system.as_deref(), Some("Be kind."));
    assert_eq!((setup.settings.temperature, setup.settings.max_tokens), (Some(0.5), Some(77)));
    assert_eq!(setup.output_schema.as_deref().unwrap()["required"], json!(["ok"]));
    assert_eq!((&*setup.tools[0].name, &*setup.tools[0].description), ("find", "Finds"));
    assert_eq!(setup.tools[0].parameters["type"], "object");
    assert_eq!(said(request), ["go"]);
}

#[tokio::test]
async fn an_answer_that_breaks_the_output_schema_is_asked_for_again() {
    let text = |script: &str| {
        format!(
            "agent: {{instructions: Help., output_schema: {{type: object, required: [ok]}}}}
models: {{agent: {{script: [{script}]}}}}
run: [{{input: go, evaluations: [{{type: string_contains, value: ok}}]}}]
"
        )
    };
    play(&text("{json: {no: 1}}, {json: {ok: 1}}")).await.passed();
    let played =
        play(&text("{json: {no: 1}}, {json: {no: 2}}, {json: {no: 3}}, {json: {no: 4}}, {json: {no: 5}}"))
            .await;
    played.came_to(Verdict::Error);
}

#[tokio::test]
async fn an_agent_asks_its_model_no_more_than_it_may() {
    let text = "agent: {instructions: Help., max_rounds: 2, tools: [{name: find}]}
models: {agent: {rules: [{call: find}]}}
setup: {mocks: [{method: find, response: 1}]}
run: [{input: go, evaluations: []}]
";
    let played = play(text).await;
    played.came_to(Verdict::Error);
    assert_eq!(played.requests().len(), 2);
}

const SERVER: &str = r#"
import http.server, json, os
count = 0
class Desk(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        global count
        count += 1
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        reply = {"text": f"{asked['text']} to you, call {count}, {asked.get('id')}, {asked['plugins']}"}
        body = json.dumps({"reply": reply, "id": "s-1", "used": {"in": 5, "out": 2}}).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *args): pass
http.server.HTTPServer(("127.0.0.1", int(os.environ["PORT"])), Desk).serve_forever()
"#;

#[tokio::test]
async fn an_http_agent_is_started_asked_in_one_session_and_counted() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("server.py"), SERVER).unwrap();
    let text = "plugins: [shop, {name: extra, config: {a: 1}}, {name: off, enabled: false}]
agent:
  http:
    url: http://127.0.0.1:${port}/ask
    request: {text: '${message}', id: '${session}', plugins: '${plugins}'}
    response: reply.text
    session: id
    usage: {input: used.in, output: used.out}
    start: python3 server.py
run:
  - {input: hello, evaluations: [{type: string_contains, value: 'hello to you, call 1'}]}
  - {input: bye, evaluations: [{type: string_contains, value: 'bye to you, call 2, s-1'}]}
";
    let play = Play::new(text).directory(folder.path());
    let played = play.run().await;
    played.passed();
    let reply = &played.step(1).execution.as_ref().unwrap().stdout;
    assert!(reply.contains("shop") && reply.contains("extra") && !reply.contains("off"), "{reply}");
    assert_eq!(played.result.token_usage.agent, Some(Usage { input: 10, output: 4, ..Usage::default() }));
    // Every run has a server of its own, and it ends with the run.
    play.run().await.passed();
}

#[tokio::test]
async fn a_server_that_does_not_start_is_an_error_of_the_set_up() {
    let text = |start: &str| {
        format!(
            "agent: {{http: {{url: 'http://127.0.0.1:${{port}}', response: text, start: {start}}}}}
run: [{{input: go, evaluations: [{{type: string_contains, value: x}}]}}]
"
        )
    };
    let played = play(&text("'echo no port >&2; exit 4'")).await;
    played.came_to(Verdict::Error);
    let error = played.error();
    assert!(
        error.starts_with(
            "System setup: the agent's server did not start: it ended before it accepted connections"
        ),
        "{error}"
    );
    assert!(error.contains("no port"), "{error}");
    assert_eq!(played.step(1).note.as_deref(), Some("skipped, because the set-up failed"));
    let error = play(&text("{command: sleep 60, ready_within_ms: 50}")).await.error();
    assert!(error.contains("it accepts no connections at 127.0.0.1:"), "{error}");
}

#[tokio::test]
async fn a_chat_endpoint_is_asked_with_the_whole_conversation() {
    let reply = r#"{"id": "1", "object": "chat.completion", "model": "m", "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Hello!"}}], "usage": {"prompt_tokens": 11, "completion_tokens": 3, "total_tokens": 14}}"#;
    let server = Server::answering([("200 OK", reply)]);
    let text = format!(
        "agent: {{chat: {{url: '{}/v1', model: desk}}}}
run:
  - {{input: hi, evaluations: [{{type: string_contains, value: hello}}]}}
  - {{input: bye, evaluations: [{{type: string_contains, value: hello}}]}}
",
        server.url
    );
    let played = play(&text).await;
    played.passed();
    let requests = server.requests();
    assert!(requests[0].0.starts_with("POST /v1/chat/completions "), "{}", requests[0].0);
    assert_eq!(requests[0].1["model"], "desk");
    let texts: Vec<Value> = requests[1].1["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["content"].clone())
        .collect();
    assert_eq!(texts, ["hi", "Hello!", "bye"]);
    assert_eq!(played.result.token_usage.agent.unwrap().input, 22);
}

const COMMAND_AGENT: &str = r#"
import json, sys, time
def send(**message): print(json.dumps(message), flush=True)
def read():
    line = sys.stdin.readline()
    return json.loads(line) if line else {"type": "end"}
start = read()
plugins = [plugin["name"] for plugin in start["plugins"]]
while True:
    message = read()
    if message["type"] != "message": break
    send(type="tool_call", id=str(message["turn"]), tool="find", args={"turn": message["turn"]})
    result = read()
    text = f"{start['scenario']} {plugins} {result.get('output')} {result.get('error')}"
    send(type="final", text=text, usage={"input": 4, "output": 1})
time.sleep(0.2)
open("goodbye", "w").write(message["type"])
"#;

#[tokio::test]
async fn the_tool_calls_of_a_command_agent_meet_the_mocks() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("agent.py"), COMMAND_AGENT).unwrap();
    let text = "plugins: [shop]
agent:
  command: [python3, agent.py]
  tools: [{name: find, parameters: {properties: {turn: {maximum: 3}}}}]
setup:
  mocks:
    - {method: find, when: {input: {turn: 1}}, response: one}
    - {method: find, error: {code: DOWN, message: sorry}}
run:
  - {input: hello, evaluations: [{type: string_contains, value: \"a test ['shop'] one None\"}]}
  - {input: again, evaluations: [{type: string_contains, value: sorry}]}
";
    let played = Play::new(text).directory(folder.path()).run().await;
    played.passed();
    assert_eq!(played.answered(), ["mocks[0]", "mocks[1]"]);
    assert_eq!(played.result.token_usage.agent, Some(Usage { input: 8, output: 2, ..Usage::default() }));
    let unmocked = text
        .replace("{turn: 1}", "{turn: 3}")
        .replace("    - {method: find, error: {code: DOWN, message: sorry}}\n", "");
    let error = Play::new(&unmocked).directory(folder.path()).run().await.error();
    assert!(error.contains("unmocked_tool: tool `find` was called by agent `agent`"), "{error}");
}

#[tokio::test]
async fn a_command_agent_is_told_that_the_session_is_over() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("agent.py"), COMMAND_AGENT).unwrap();
    let text = "agent: {command: [python3, agent.py], tools: [{name: find}]}
setup: {mocks: [{method: find, response: one}]}
run: [{input: hello, evaluations: [{type: string_contains, value: one}]}]
";
    Play::new(text).directory(folder.path()).run().await.passed();
    assert_eq!(std::fs::read_to_string(folder.path().join("goodbye")).unwrap(), "end");
}

#[tokio::test]
async fn an_agent_elsewhere_that_fails_is_an_error_of_its_step() {
    let text = |command: &str| {
        format!(
            "agent: {{command: {command}}}\nrun: [{{input: go, evaluations: []}}, {{input: on, evaluations: []}}]\n"
        )
    };
    let played = play(&text("'echo oh no >&2; exit 3'")).await;
    played.came_to(Verdict::Error);
    assert!(played.error().contains("oh no"), "{}", played.error());
    assert_eq!(
        played.step(2).note.as_deref(),
        Some("skipped, because an earlier step did not come to its end")
    );
    let error = play(&text("[no-such-program]")).await.error();
    assert!(error.contains("no-such-program"), "{error}");
}

#[test]
fn what_is_missing_is_shown() {
    let nothing = problems("run: [{input: hi, evaluations: []}]\n");
    assert!(
        nothing
            .starts_with("no-agent: the scenario does not say what is under test [add an agent:\n  agent:\n"),
        "{nothing}"
    );
    assert!(nothing.contains("--agent FILE"), "{nothing}");
    let model = problems("agent: {instructions: Help.}\nrun: [{input: hi, evaluations: []}]\n");
    assert!(model.starts_with("no-model: the agent needs a model, and no model is called `agent` [add it:\n  models:\n    agent: openai:gpt-4o"), "{model}");
    let user = problems(
        "agent: {instructions: Help.}\nmodels: {agent: {script: [a]}}\nrun: [{conversation: {max_turns: 2, user_simulator: {persona: a, objective: b}}}]\n",
    );
    assert!(
        user.starts_with("no-model: the simulated user needs a model, and no model is called `user`"),
        "{user}"
    );
    let judge = problems(
        "agent: {instructions: Help.}\nmodels: {agent: {script: [a]}}\nrun: [{input: hi, evaluations: [{type: llm_judge, prompt: Kind?, expected: 'yes', model_type: strict}]}]\n",
    );
    assert!(judge.starts_with("no-model: the judge needs a model, and no model is called `strict` [add it:\n  models:\n    strict: "), "{judge}");
    let condition = problems(
        "agent: {instructions: Help.}\nmodels: {agent: {script: [a]}}\nrun: [{conversation: {max_turns: 2, user: {script: [a]}, termination_conditions: [{type: goal_achieved, llm_judge: {prompt: Done?}}]}}]\n",
    );
    assert!(
        condition.starts_with("no-model: the judge needs a model, and no model is called `judge`"),
        "{condition}"
    );
    assert_eq!(problems("run: [{code: ls, evaluations: []}]\n"), "", "code needs no agent");
}

#[test]
fn a_model_that_nobody_uses_is_a_problem() {
    let text = file(
        "agent: {instructions: Help.}\nmodels: {agent: {script: [a]}, jugde: {script: [b]}}\nrun: [{input: hi, evaluations: []}]\n",
    );
    let scenario = check_with(&text, &CheckOptions::default()).scenario.unwrap();
    assert_eq!(
        told(&scenario.unused()).lines().next().unwrap().split(" [").next(),
        Some("unused-model: nobody uses the model `jugde`")
    );
}

#[tokio::test]
async fn another_agent_takes_the_place_of_the_files_own() {
    let own = "agent: {instructions: Own.}\nmodels: {agent: {script: [own]}}\nrun: [{input: hi, evaluations: [{type: string_contains, value: other}]}]\n";
    let options = CheckOptions::default();
    let (other, _) = check_agent(
        "agent: {instructions: Other., model: strong}\nmodels: {strong: {script: [other]}, agent: {script: [unused]}}\nvariables: {A: b}\n",
        &options,
    );
    let other = other.unwrap();
    Play::of(scenario(own).with_agent(&other)).run().await.passed();
    let nobodys = "run: [{input: hi, evaluations: [{type: string_contains, value: other}]}]\n";
    let checked = check_with(&file(nobodys), &options).scenario.unwrap();
    Play::of(checked.with_agent(&other)).run().await.passed();
}

#[test]
fn another_agent_is_checked_against_the_mocks_of_the_file() {
    let text = file(
        "setup: {mocks: [{method: finds, response: 1}], passthrough: [find]}\nrun: [{input: hi, evaluations: []}]\n",
    );
    let options = CheckOptions::default();
    let checked = check_with(&text, &options).scenario.unwrap();
    let with = |agent: &str| {
        let (agent, _) = check_agent(agent, &options);
        told(&checked.clone().with_agent(&agent.unwrap()).missing())
    };
    let http = with("agent: {http: {url: 'http://127.0.0.1:1', response: text}}\n");
    assert!(
        http.contains(
            "no-effect: these mocks can never answer: the tool calls of an agent behind HTTP never reach us"
        ),
        "{http}"
    );
    let inline = with(
        "agent: {instructions: Help., tools: [{name: find, command: cat}]}\nmodels: {agent: {script: [a]}}\n",
    );
    assert_eq!(
        inline,
        "never-used: the agent has no tool `finds` that this could play [did you mean `find`?]"
    );
    let bare = with("agent: {instructions: Help., tools: [{name: finds}]}\nmodels: {agent: {script: [a]}}\n");
    assert_eq!(bare, "no-effect: the agent has no tool `find` [did you mean `finds`?]");
}

#[tokio::test]
async fn another_model_takes_the_place_of_a_key() {
    let text = "agent: {instructions: Help.}\nmodels: {agent: {script: [own]}}\nrun: [{input: hi, evaluations: [{type: string_contains, value: other}]}]\n";
    let other =
        ModelChoice::Script(vec![ScriptedReply { say: Some("other".into()), ..ScriptedReply::default() }]);
    play(text).await.came_to(Verdict::Failed);
    Play::of(scenario(text).with_model("agent", other)).run().await.passed();
}

#[test]
fn a_variable_that_is_not_set_is_told_before_anything_runs() {
    let text = "environment: {type: local, variables: [SHOP_URL]}\nrun: [{code: ls, evaluations: []}]\n";
    let error = Play::new(text).compile().unwrap_err();
    assert!(error.to_string().contains("`SHOP_URL`, which is not set"), "{error}");
    assert!(error.hint().is_some_and(|hint| hint.contains("--env-file")), "{error}");
    Play::new(text).variable("SHOP_URL", "x").compile().unwrap();
}

#[tokio::test]
async fn a_variable_of_the_scenario_stays_when_an_agent_is_handed_over() {
    let text = "environment: {type: local, variables: {SHOP: own}}
run: [{lang: sh, code: 'echo $SHOP $DESK', evaluations: [{type: string_contains, value: own agents}]}]
";
    let agent = "agent: {instructions: Other.}\nvariables: {SHOP: agents, DESK: agents}\n";
    let (agent, _) = check_agent(agent, &CheckOptions::default());
    Play::of(scenario(text).with_agent(&agent.unwrap())).run().await.passed();
}

#[test]
fn plugins_of_an_agent_that_takes_none_are_told() {
    let text = "plugins: [shop]\nagent: {instructions: Help.}\nmodels: {agent: {script: [a]}}\nrun: [{input: hi, evaluations: []}]\n";
    let told = "no-effect: plugins are handed to `http` and `command` agents; this agent takes none";
    assert_eq!(problems(text), told);
    // It is a warning: the scenario can be run.
    scenario(text);
}

#[test]
fn evaluations_of_tools_that_nobody_could_call_are_problems() {
    let inline = "agent: {instructions: Help., tools: [{name: delete_account}]}
models: {agent: {script: [hi]}}
run:
  - input: go
    evaluations: [{type: tool_not_called, tool: delete_acount}]
";
    let told = problems(inline);
    assert!(
        told.contains("no tool `delete_acount`") && told.contains("did you mean `delete_account`?"),
        "{told}"
    );
    for check in
        ["tool_not_called, tool: pay", "step_count, max_steps: 0", "trajectory_contains_action, action: PAY"]
    {
        let remote = format!(
            "agent: {{http: {{url: 'http://127.0.0.1:9/', response: reply}}}}
run:
  - input: go
    evaluations: [{{type: {check}}}]
"
        );
        let found = problems(&remote);
        assert!(found.contains("never reach us"), "{check}: {found}");
    }
}

#[tokio::test]
async fn a_command_agent_that_goes_on_after_its_last_final_is_an_error() {
    let folder = tempfile::TempDir::new().unwrap();
    let agent = r#"import json, sys
for line in sys.stdin:
    if json.loads(line)["type"] == "message":
        print(json.dumps({"type": "final", "text": "ok"}), flush=True)
        print(json.dumps({"type": "log", "text": "fine"}), flush=True)
        print(json.dumps({"type": "tool_call", "id": "1", "tool": "delete_everything", "args": {}}), flush=True)
"#;
    std::fs::write(folder.path().join("agent.py"), agent).unwrap();
    let text = "agent: {command: [python3, agent.py], tools: [{name: delete_everything}]}
run:
  - {input: go, evaluations: [{type: tool_not_called, tool: delete_everything}]}
";
    let played = Play::new(text).directory(folder.path()).run().await;
    played.came_to(Verdict::Error);
    assert!(played.error().contains("delete_everything"), "{}", played.error());
}
