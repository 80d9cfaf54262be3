//! Whole numbers of any size stay numbers on every way in and out, and what stands for them inside is seen by nobody.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::fs;
use std::path::Path;

use rehearsal_core::json;
use serde_json::Value;

use crate::support::Folder;

/// What stands before the digits of a large number inside the program.
const MARK: &str = "\u{fdd0}";

const HEAD: &str =
    "name: numbers\ndescription: d\nenvironment: {type: local}\njudgment: {strategy: all_pass}\n";

/// A program that says of which type the numbers are that it gets.
const AGENT: &str = r#"
import sys, json
for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "message":
        args = {"id": 18446744073709551617, "low": -9223372036854775809}
        print(json.dumps({"type": "tool_call", "id": "1", "tool": "find", "args": args}), flush=True)
    if message["type"] == "tool_result":
        kind = type(message["output"]["id"]).__name__
        print(json.dumps({"type": "final", "output": {"got": message["output"], "kind": kind}}), flush=True)
"#;

const COMMAND: &str = "agent:
  command: [python3, agent.py]
  tools:
    - name: find
      description: d
      parameters:
        type: object
        properties: {id: {type: integer, minimum: 18446744073709551617}, low: {const: -9223372036854775809}}
setup:
  mocks:
    - {method: find, when: {input: {id: 18446744073709551618}}, response: wrong}
    - {method: find, when: {input: {id: 18446744073709551617}}, response: {id: 10000000000000000000000000000000000000000}}
run:
  - input: go
    evaluations:
      - {type: json_path, path: $.got.id, equals: 10000000000000000000000000000000000000000}
      - {type: json_path, path: $.kind, equals: int}
      - {type: tool_called, tool: find, args: {id: 18446744073709551617, low: {$lt: -9223372036854775808}}}
      - {type: tool_not_called, tool: find, args: {id: 18446744073709551618}}
";

/// A server that says what it was sent.
const SERVER: &str = r#"
import json, os
from http.server import BaseHTTPRequestHandler, HTTPServer
class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        answer = json.dumps({"reply": "it is %r" % (body["id"],), "number": 18446744073709551617}).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)
    def log_message(self, *args): pass
HTTPServer(("127.0.0.1", int(os.environ["PORT"])), Handler).serve_forever()
"#;

const HTTP: &str = "agent:
  http: {url: 'http://127.0.0.1:${port}/', start: python3 server.py, request: {m: '${message}', id: 18446744073709551617}, response: reply}
run:
  - input: go
    evaluations: [{type: string_contains, value: it is 18446744073709551617}]
";

const PASSES: &str = "agent:
  instructions: Help.
  tools:
    - {name: find, description: d, parameters: {type: object, properties: {id: {type: integer}}}}
    - {name: real, description: d, command: [python3, -c, \"import sys, json; a = json.load(sys.stdin); print(json.dumps({'next': a['id'] + 1}))\"]}
models:
  agent:
    script: [{call: find, args: {id: 18446744073709551617}}, {call: real, args: {id: 18446744073709551617}}, {json: {id: 18446744073709551617}}]
setup:
  passthrough: [real]
  state: {session: {big: 18446744073709551617}}
  mocks:
    - method: find
      when: {matcher: input.id === 18446744073709551617n}
      responseFn: '(args, input) => ({next: input.id + 1n})'
      state: {session: {low: -9223372036854775809}}
run:
  - input: go
    context: {x: 18446744073709551617}
    evaluations:
      - {type: json_path, path: $.id, equals: 18446744073709551617}
      - {type: json_path, path: $.id, matches: {$gt: 18446744073709551616, $lt: 18446744073709551618}}
      - {type: state, matches: {session.big: 18446744073709551617, session.low: {$lt: -9223372036854775808}}}
      - {type: answer_schema, schema: {properties: {id: {type: integer, const: 18446744073709551617}}}}
";

/// Each of its evaluations is off by one.
const FAILS: &str = "agent:
  instructions: Help.
  tools: [{name: find, description: d, parameters: {type: object, properties: {id: {type: integer}}}, output: {maximum: 10}}]
models: {agent: {script: [{call: find, args: {id: 18446744073709551617}}, {json: {id: 18446744073709551617}}]}}
setup:
  state: {session: {big: 18446744073709551617}}
  mocks: [{method: find, responseFn: '(args, input) => input.id'}]
run:
  - input: go
    evaluations:
      - {type: json_path, path: $.id, equals: 18446744073709551616}
      - {type: json_path, path: $.id, matches: {$gt: 18446744073709551617}}
      - {type: state, matches: {session.big: 18446744073709551616}}
      - {type: tool_called, tool: find, args: {id: 18446744073709551616}, status: failed}
      - {type: answer_schema, schema: {properties: {id: {const: 18446744073709551616}}}}
      - {type: answer_schema, schema: {properties: {id: {maximum: 18446744073709551616}}}}
      - {type: answer_schema, schema: {properties: {id: {enum: [1, 18446744073709551618]}}}}
";

const UNMOCKED: &str = "agent: {instructions: Help., tools: [{name: find, description: d}]}
models: {agent: {script: [{call: find, args: {id: 18446744073709551617}}]}}
setup:
  mocks:
    - {method: find, when: {args: [{id: 18446744073709551618}]}, response: 1}
    - {method: find, when: {partialArgs: [{id: 18446744073709551618}]}, response: 1}
    - {method: find, when: {input: {id: 18446744073709551618}}, response: 1}
    - {method: find, when: {context: {x: 18446744073709551618}}, response: 1}
run:
  - {input: go, context: {x: 18446744073709551617}, evaluations: [{type: string_contains, value: x}]}
";

/// A server whose reply is a number, where a text should be.
fn number_for_a_text() -> String {
    HTTP.replace("response: reply", "response: number")
}

fn folder() -> Folder {
    let number = number_for_a_text();
    let scenarios =
        [("command", COMMAND), ("http", HTTP), ("passes", PASSES), ("fails", FAILS), ("unmocked", UNMOCKED)];
    let folder = Folder::new(&[("agent.py", AGENT), ("server.py", SERVER)]);
    for (name, text) in scenarios.into_iter().chain([("number", number.as_str())]) {
        fs::write(folder.path().join(format!("{name}.scenario.yaml")), format!("{HEAD}{text}")).unwrap();
    }
    folder
}

#[test]
fn agents_of_every_kind_get_and_give_large_numbers_as_numbers() {
    let folder = folder();
    for name in ["command", "http", "passes"] {
        let ran = folder.run(&format!("run {name}.scenario.yaml --no-store"));
        assert_eq!(ran.code, 0, "{name}\n{}{}", ran.stdout, ran.stderr);
    }
    let ran = folder.run("run fails.scenario.yaml --no-store --json -");
    let result: Value = json::from_str(&ran.stdout).unwrap();
    let evaluations = result["results"][0]["steps"][0]["evaluations"].as_array().unwrap().clone();
    assert_eq!(evaluations.len(), 7, "{}", ran.stdout);
    assert!(evaluations.iter().all(|evaluation| evaluation["success"] == false), "{}", ran.stdout);
    let ran = folder.run("run number.scenario.yaml --no-store");
    assert!(ran.stdout.contains("should have text at `$.number`, which is a number"), "{}", ran.stdout);
}

#[test]
fn nobody_is_shown_what_stands_for_a_large_number() {
    let folder = folder();
    let mut told = Vec::new();
    for name in ["command", "http", "passes", "fails", "unmocked", "number"] {
        let ran = folder.run(&format!(
            "run {name}.scenario.yaml --json {name}.json --junit {name}.xml --out out-{name} --color always"
        ));
        told.push((format!("run {name}"), ran));
    }
    let listed = |what: &str| -> Vec<String> {
        let listed: Value = json::from_str(&folder.run(&format!("{what} --json")).stdout).unwrap();
        listed.as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap().to_owned()).collect()
    };
    let (runs, sessions) = (listed("runs"), listed("sessions"));
    assert!(runs.len() == 6 && sessions.len() == 6, "{runs:?} {sessions:?}");
    let of_runs = runs.iter().flat_map(|id| [format!("runs {id}"), format!("runs {id} --json")]);
    let of_sessions = sessions.iter().flat_map(|id| {
        [
            format!("sessions {id}"),
            format!("sessions {id} --json"),
            format!("export {id} --evalset {id}.json"),
        ]
    });
    let reports = runs.iter().map(|id| format!("report {id} -o {id}.html"));
    for command in of_runs.chain(of_sessions).chain(reports) {
        told.push((command.clone(), folder.run(&command)));
    }
    for (command, ran) in &told {
        assert!(ran.code == 0 || !command.starts_with("report"), "{command}\n{}", ran.stderr);
        assert!(
            !shows(ran.stdout.as_bytes()) && !shows(ran.stderr.as_bytes()),
            "{command}\n{}{}",
            ran.stdout,
            ran.stderr
        );
    }
    let mut files = Vec::new();
    files_in(folder.path(), &mut files);
    let exported = files.iter().filter(|file| file.extension().is_some_and(|end| end == "json"));
    let exported: String = exported.map(|file| fs::read_to_string(file).unwrap()).collect();
    assert!(
        exported.contains("\"conversation\"") && exported.contains("\"id\": 18446744073709551617"),
        "{files:?}"
    );
    for file in files {
        assert!(!shows(&fs::read(&file).unwrap()), "{}", file.display());
    }
}

/// Whether the mark is there, written as UTF-8 or as an escape of JSON, Rust or HTML.
fn shows(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    text.contains(MARK)
        || ["ufdd0", "u{fdd0}", "#xfdd0"].iter().any(|form| text.to_lowercase().contains(form))
}

fn files_in(folder: &Path, found: &mut Vec<std::path::PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files_in(&path, found) } else { found.push(path) }
    }
}
