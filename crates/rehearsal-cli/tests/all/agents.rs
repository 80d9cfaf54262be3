//! Files for `--agent`, as a user runs them.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::fs;

use expect_test::expect;
use serde_json::Value;

use crate::support::Folder;

const SCENARIO: &str = "name: looks
description: It looks something up
environment: {type: local}
run:
  - input: hi
    evaluations: [{type: string_contains, value: from the agent}]
judgment: {strategy: all_pass}
";

/// Scenarios in one folder, agents in another; both have a file of the same name.
fn folder(agents: &[(&str, &str)]) -> Folder {
    let folder = Folder::new(&[]);
    for (place, said) in [("scenarios", "from the scenario"), ("agents", "from the agent")] {
        fs::create_dir(folder.path().join(place)).unwrap();
        fs::write(folder.path().join(place).join("said.txt"), said).unwrap();
    }
    fs::write(folder.path().join("scenarios/a.scenario.yaml"), SCENARIO).unwrap();
    for (name, text) in agents {
        fs::write(folder.path().join("agents").join(name), text).unwrap();
    }
    folder
}

#[test]
fn commands_of_an_agents_file_run_in_its_own_folder() {
    let program = r#"import json, os, sys
for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "message":
        assert os.path.basename(os.environ["REHEARSAL_SCENARIO_DIR"]) == "scenarios"
        print(json.dumps({"type": "final", "text": open("said.txt").read()}), flush=True)
"#;
    let server = r#"import http.server, json, os
class Said(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.dumps({"text": open("said.txt").read()}).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_): pass
http.server.HTTPServer(("127.0.0.1", int(os.environ["PORT"])), Said).serve_forever()
"#;
    let tool = "agent:
  instructions: Look.
  tools: [{name: look, description: Looks, command: [cat, said.txt]}]
models:
  agent:
    rules:
      - {when: {tool_result: look, tool_result_contains: from the agent}, say: It is from the agent.}
      - {when: {tool_result: look}, say: It is from elsewhere.}
      - {call: look, args: {}}
";
    let folder = folder(&[
        ("program.py", program),
        ("program.yaml", "agent: {command: [python3, program.py]}\n"),
        ("server.py", server),
        (
            "server.yaml",
            "agent:\n  http: {url: \"http://127.0.0.1:${port}/\", response: $.text, start: {command: [python3, server.py]}}\n",
        ),
        ("tool.yaml", tool),
    ]);
    for (agent, more) in [("program", ""), ("server", ""), ("tool", " --live")] {
        let ran = folder.run(&format!("run scenarios --agent agents/{agent}.yaml --no-store{more}"));
        assert_eq!(ran.code, 0, "{agent}: {}{}", ran.stdout, ran.stderr);
    }
}

#[test]
fn mocks_of_an_agents_file_answer_where_the_scenarios_own_do_not() {
    let agent = "agent:
  instructions: Look.
  tools: [{name: look, description: Looks, command: [touch, it-ran], output: {type: string}}]
models:
  agent:
    rules:
      - {when: {tool_result: look, tool_result_contains: from the agent}, say: It is from the agent.}
      - {when: {tool_result: look}, say: It is from the scenario.}
      - {call: look, args: {}}
setup:
  mocks:
    - {method: look, response: from the agent's file}
";
    let folder = folder(&[("a.yaml", agent), ("bad.yaml", &agent.replace("from the agent's file", "7"))]);
    let json = |file: &str| -> Value {
        let ran = folder.run(&format!("run {file} --agent agents/a.yaml --no-store --json -"));
        rehearsal_core::json::from_str(&ran.stdout).unwrap()
    };
    let result = json("scenarios");
    assert_eq!(result["summary"]["passed"], 1, "{result:#}");
    let answered = &result["results"][0]["mocks"]["answered"][0]["by"];
    assert_eq!(answered, "mock of `look` (line 12 of the agent's file)", "{result:#}");
    let own = SCENARIO.replace("run:", "setup: {mocks: [{method: look, response: mine}]}\nrun:");
    fs::write(folder.path().join("own.scenario.yaml"), own).unwrap();
    let result = json("own.scenario.yaml");
    assert_eq!(result["results"][0]["mocks"]["answered"][0]["by"], "mocks[0] (line 4)", "{result:#}");
    // What is wrong with them is told in their own file.
    folder.run("run scenarios --agent agents/bad.yaml --no-store").check(&expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error[bad-response]: `response` breaks the `output` schema of `look`: $: 7 is not of type "string"
          --> agents/bad.yaml:12:5
           |
        12 |     - {method: look, response: 7}
           |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
           |
        help: the tool itself would be refused such an answer; give one of its form, or change `output`

    "#]]);
    assert!(!folder.path().join("agents/it-ran").exists());
}

#[test]
fn a_judge_for_many_files_is_refused_only_where_none_of_them_asks_one() {
    let agent = "agent: {instructions: x}\nmodels: {agent: {script: [from the agent]}}\n";
    let folder = folder(&[("a.yaml", agent)]);
    let judge = "--agent agents/a.yaml --model judge=openai:gpt-4o";
    let asks = SCENARIO.replace(
        "{type: string_contains, value: from the agent}",
        "{type: llm_judge, prompt: p, expected: 'yes'}",
    );
    fs::write(folder.path().join("scenarios/b.scenario.yaml"), asks.replace("looks", "asks")).unwrap();
    for command in ["check scenarios", "run scenarios --filter looks --no-store"] {
        let ran = folder.run(&format!("{command} {judge}"));
        let is_asked = command.starts_with("check");
        assert_eq!(ran.code, if is_asked { 0 } else { 2 }, "{}{}", ran.stdout, ran.stderr);
        assert_eq!(ran.stderr.contains("changes nothing"), !is_asked, "{}", ran.stderr);
    }
}

/// A server that pays back what it is asked for, and tells which tools it called.
const TELLS: &str = r#"import http.server, json, os
class Desk(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        said = json.loads(self.rfile.read(int(self.headers["content-length"])))["message"]
        found = {"name": "find", "arguments": json.dumps({"order": "A-1"}), "output": {"sum": 20}}
        paid = {"name": "refund", "arguments": {"order": "A-1", "sum": 20}, "output": {"done": True}}
        failed = {"name": "refund", "arguments": {"order": "A-1"}, "error": "no sum"}
        calls = {"pay": [found, paid], "wrong": [paid, found], "fail": [found, failed], "bad": [{"tool": 1}]}[said]
        body = json.dumps({"reply": "Done.", "tool_calls": calls}).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_): pass
http.server.HTTPServer(("127.0.0.1", int(os.environ["PORT"])), Desk).serve_forever()
"#;

#[test]
fn checks_of_tool_calls_look_at_what_a_deployed_agent_tells() {
    let scenario = "name: pays
description: It pays back
environment: {type: local}
agent:
  http:
    url: 'http://127.0.0.1:${port}/'
    response: reply
    calls: {list: tool_calls, tool: name, args: arguments, result: 'output?', error: error}
    start: [python3, server.py]
run:
  - input: SAID
    evaluations:
      - {type: tool_called, tool: refund, args: {sum: 20}, after: find}
      - {type: tool_order, never: [refund], before: find}
      - {type: trajectory, mode: exact, calls: [{tool: find, args: {order: A-1}}, {tool: refund}]}
      - {type: tool_not_called, tool: delete}
judgment: {strategy: all_pass}
";
    let folder = Folder::new(&[("server.py", TELLS)]);
    for said in ["pay", "wrong", "fail", "bad"] {
        let file = format!("{said}.scenario.yaml");
        fs::write(folder.path().join(&file), scenario.replace("SAID", said)).unwrap();
        let ran = folder.run(&format!("run {file} --no-store"));
        assert_eq!(ran.code, i32::from(said != "pay"), "{said}: {}{}", ran.stdout, ran.stderr);
        if said == "bad" {
            assert!(ran.stdout.contains("call 1 of `$.tool_calls`: the answer of POST"), "{}", ran.stdout);
            assert!(ran.stdout.contains("has nothing at `$.name`"), "{}", ran.stdout);
        }
    }
    // Without `calls` nothing is known of them, and `calls` is what would help.
    let blind = scenario.replace("    calls:", "    # calls:").replace("SAID", "pay");
    fs::write(folder.path().join("blind.scenario.yaml"), blind).unwrap();
    let ran = folder.run("check blind.scenario.yaml");
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("say where its answers tell them (`calls:` in `http`)"), "{}", ran.stderr);
}
