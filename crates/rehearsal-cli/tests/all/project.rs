//! The project's file, blocks that scenarios share, agents of their own files, and values of the environment.

use std::fs;
use std::io::{Read as _, Write as _};

use serde_json::Value;

use crate::support::{Folder, Ran};

#[track_caller]
fn said(ran: &Ran, code: i32, parts: &[&str]) {
    let all = format!("{}{}", ran.stdout, ran.stderr);
    assert_eq!(ran.code, code, "{all}");
    for part in parts {
        assert!(all.contains(part), "no `{part}` in:\n{all}");
    }
}

const GREETS: &str = "
name: Greets
run: [{input: hi, evaluations: [{type: string_contains, value: hello}]}]
";

const PROJECT: &str = "
scenarios: [tests]
jobs: 3
max_calls: 8
timeout: 60s
store: kept/all.db
models: {agent: {rules: [{say: hello}]}, judge: {rules: [{say: fine}]}}
judges: {strict: {rules: [{json: {reasoning: so, judgment: 'yes', confidence: 1}}]}}
variables: {MODE: test}
agents:
  plain: {instructions: Greet.}
  support: {file: agents/support.yaml}
defaults:
  description: What all have
  environment: {type: local}
  judgment: {strategy: all_pass}
  agent: {use: plain}
";

fn in_project(files: &[(&str, &str)]) -> Folder {
    Folder::new(&[&[("rehearsal.yaml", PROJECT)], files].concat())
}

#[test]
fn a_project_gives_what_scenarios_do_not_say() {
    let folder = in_project(&[("tests/a.scenario.yaml", GREETS)]);
    said(&folder.run("run"), 0, &["1 scenario: 1 passed"]);
    assert!(folder.path().join("kept/all.db").exists() && !folder.path().join(".rehearsal").exists());
    said(&folder.run("runs"), 0, &["Greets"]);
    said(&folder.run("check"), 0, &["1 file: 1 can be used"]);
    // What the file says itself goes before.
    let own = format!("{GREETS}models: {{agent: {{script: [good bye]}}}}\n");
    fs::write(folder.path().join("tests/a.scenario.yaml"), own).unwrap();
    said(&folder.run("run --no-store"), 1, &["1 failed"]);
}

#[test]
fn the_nearest_project_wins_and_config_shows_it() {
    let folder = in_project(&[
        ("tests/a.scenario.yaml", GREETS),
        ("tests/deep/rehearsal.yaml", "jobs: 1\n"),
        ("tests/deep/b.scenario.yaml", GREETS),
    ]);
    said(&folder.run("check tests/deep/b.scenario.yaml"), 2, &["needs `description`"]);
    said(&folder.run("check tests/a.scenario.yaml"), 0, &[]);
    let ran = folder.run("config tests/deep");
    said(&ran, 0, &["tests/deep/rehearsal.yaml", "jobs", "(tests/deep/rehearsal.yaml:1)"]);
    let ran = folder.run("config tests/a.scenario.yaml --json");
    let shown: Value = rehearsal_core::json::from_str(&ran.stdout).unwrap();
    assert_eq!(shown["file"], "rehearsal.yaml");
    let settings = shown["settings"].as_array().unwrap();
    let of = |key: &str| settings.iter().find(|one| one["key"] == key).unwrap();
    assert_eq!(
        (&of("timeout")["value"], &of("timeout")["from"]),
        (&"60s".into(), &"rehearsal.yaml:5".into())
    );
    assert_eq!(of("agents.plain")["from"], "rehearsal.yaml:11");
    let nothing = Folder::new(&[]);
    said(&nothing.run("config"), 0, &["there is no `rehearsal.yaml`", "jobs", "16", "(default)"]);
    said(&nothing.run("run"), 2, &["no scenario is named", "rehearsal.yaml"]);
}

#[test]
fn what_is_wrong_with_a_project_is_told() {
    for (text, parts) in [
        ("job: 3\n", vec!["has no key `job`", "did you mean `jobs`?", "rehearsal.yaml:1"]),
        ("timeout: long\n", vec!["rehearsal.yaml:1"]),
        ("models: {agent: opanai:gpt-4o}\n", vec!["rehearsal.yaml:1", "error["]),
        ("defaults: {nam: x}\n", vec!["no key `nam`"]),
        ("defaults: {run: []}\n", vec!["every scenario's own"]),
        ("agents: {a: {instructon: x}}\n", vec!["did you mean `instructions`?"]),
        ("jobs: 0\n", vec!["must be from 1 to 1024"]),
    ] {
        let folder = Folder::new(&[("rehearsal.yaml", text), ("a.scenario.yaml", GREETS)]);
        said(&folder.run("check a.scenario.yaml"), 2, &parts);
    }
    let other = GREETS.to_owned() + "agent: {use: suport}\n";
    let folder = in_project(&[("a.scenario.yaml", &other)]);
    said(
        &folder.run("check a.scenario.yaml"),
        2,
        &["no agent `suport`", "did you mean `support`?", "a.scenario.yaml:4"],
    );
}

const SUPPORT: &str = "
agent:
  instructions: Look it up.
  tools:
    - {name: lookup, command: [python3, lookup.py], parameters: {type: object, properties: {id: {type: integer}}}}
    - {name: refund}
models:
  agent: {script: [{call: lookup, args: {id: 7}}, it is there]}
  other: {script: []}
setup: {mocks: [{method: lookup, response: found}, {method: refund, response: 1}]}
";

const LOOKS: &str = "
name: Looks
description: d
environment: {type: local}
agent: {file: shared/support.yaml}
run: [{input: look, evaluations: [{type: tool_called, tool: lookup}]}]
judgment: {strategy: all_pass}
";

#[test]
fn an_agent_has_a_file_of_its_own() {
    let folder = Folder::new(&[("tests/a.scenario.yaml", LOOKS), ("tests/shared/support.yaml", SUPPORT)]);
    said(&folder.run("run tests --no-store"), 0, &["1 passed"]);
    // Its commands run where it is.
    let files = [
        ("tests/a.scenario.yaml", LOOKS.to_owned() + "setup: {passthrough: [lookup]}\n"),
        ("tests/shared/support.yaml", SUPPORT.replace("{method: lookup, response: found}, ", "")),
        ("tests/shared/lookup.py", "import os; print('in', os.path.basename(os.getcwd()))".to_owned()),
    ];
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (*path, text.as_str())).collect();
    let folder = Folder::new(&files);
    said(&folder.run("run tests --no-store --verbose"), 0, &["in shared"]);
}

#[test]
fn what_is_wrong_with_an_agents_file_is_told_there() {
    let wrong = SUPPORT.replace("instructions:", "instrucions:");
    let folder = Folder::new(&[("a.scenario.yaml", LOOKS), ("shared/support.yaml", &wrong)]);
    said(&folder.run("check a.scenario.yaml"), 2, &["shared/support.yaml:3", "did you mean `instructions`?"]);
    let ran = folder.run("check a.scenario.yaml --json -");
    let found: Value = rehearsal_core::json::from_str(&ran.stdout).unwrap();
    assert_eq!(found["files"][0]["problems"][0]["file"], "shared/support.yaml", "{found:#}");
    assert_eq!(found["files"][0]["problems"][0]["line"], 3);
    let folder = Folder::new(&[("a.scenario.yaml", LOOKS)]);
    said(
        &folder.run("check a.scenario.yaml"),
        2,
        &["`shared/support.yaml` cannot be read", "a.scenario.yaml:5"],
    );
    let folder = Folder::new(&[
        ("a.scenario.yaml", LOOKS),
        ("shared/support.yaml", "agent: {file: other.yaml}\n"),
        ("shared/other.yaml", "agent: {file: ../shared/support.yaml}\n"),
    ]);
    said(&folder.run("check a.scenario.yaml"), 2, &["takes its agent from itself"]);
    let folder = Folder::new(&[("a.scenario.yaml", LOOKS), ("shared/support.yaml", "models: {}\n")]);
    said(&folder.run("check a.scenario.yaml"), 2, &["has no `agent`"]);
}

const COMMON: &str = "
mocks:
  garden: [{method: lookup, response: from the shop}, {method: other, response: 1}]
models: {judge: {script: []}, agent: {script: [{call: lookup, args: {}}, done]}}
tools: [{name: lookup, description: Looks}]
evaluations:
  polite: [{type: string_contains, value: done}]
variables: [PATH]
defaults:
  short: {description: d, environment: {type: local}, judgment: {strategy: all_pass}, use: ['#x']}
  all: {description: d, environment: {type: local}, judgment: {strategy: all_pass}}
";

fn uses(blocks: &str) -> String {
    format!("name: Uses\nuse: {blocks}\nagent: {{instructions: x}}\nrun: [{{input: hi, evaluations: []}}]\n")
}

#[test]
fn blocks_are_used_by_many() {
    let blocks = "[common.yaml#/mocks/garden, common.yaml#/models, common.yaml#/tools, common.yaml#/evaluations/polite, common.yaml#/variables, common.yaml#/defaults/all]";
    let folder = Folder::new(&[("a.scenario.yaml", &uses(blocks)), ("common.yaml", COMMON)]);
    said(&folder.run("check a.scenario.yaml"), 0, &["1 can be used"]);
    let ran = folder.run("run a.scenario.yaml --no-store --verbose");
    said(&ran, 0, &["mock of `lookup` (common.yaml:3)", r#"string_contains "done""#]);
    assert!(!ran.stdout.contains("answered nothing"), "{}", ran.stdout);
    for (block, parts) in [
        ("common.yaml#/mocks/gardn", vec!["has no `/mocks/gardn`", "did you mean `garden`?"]),
        ("common.yaml#/mock", vec!["no place for a block of `mock`", "did you mean `mocks`?"]),
        ("common.yaml", vec!["names no block"]),
        ("nowhere.yaml#/mocks", vec!["`nowhere.yaml` cannot be read"]),
        ("common.yaml#/evaluations", vec!["a block of `evaluations` must be a list", "common.yaml:7"]),
    ] {
        let folder =
            Folder::new(&[("a.scenario.yaml", &uses(&format!("[{block}]"))), ("common.yaml", COMMON)]);
        said(&folder.run("check a.scenario.yaml"), 2, &parts);
    }
    let broken = COMMON.replace("{method: lookup,", "{methd: lookup,");
    let folder = Folder::new(&[("a.scenario.yaml", &uses(blocks)), ("common.yaml", &broken)]);
    said(&folder.run("check a.scenario.yaml"), 2, &["common.yaml:3", "did you mean `method`?"]);
    let circle = "defaults: {a: {use: ['common.yaml#/defaults/a']}}\n";
    let folder =
        Folder::new(&[("a.scenario.yaml", &uses("[common.yaml#/defaults/a]")), ("common.yaml", circle)]);
    said(&folder.run("check a.scenario.yaml"), 2, &["without an end"]);
}

const SECRET: &str = "hunter2-and-some-more";

#[test]
fn a_value_of_the_environment_goes_where_it_is_used_and_nowhere_else() {
    let file = "
name: Env
description: d
environment: {type: local, variables: {GIVEN: 'x-${env.TOKEN}'}}
run:
  - {lang: sh, code: 'echo $GIVEN; test \"$GIVEN\" = x-hunter2-and-some-more && echo right', evaluations: [{type: string_contains, value: right}]}
judgment: {strategy: all_pass}
";
    let folder = Folder::new(&[("a.scenario.yaml", file), ("env", &format!("TOKEN={SECRET}\n"))]);
    let ran = folder.run("run a.scenario.yaml --env-file env --out out --verbose");
    said(&ran, 0, &["1 passed"]);
    assert!(!format!("{}{}", ran.stdout, ran.stderr).contains(SECRET));
    for entry in walk(&folder.path().join("out")) {
        let text = fs::read_to_string(&entry).unwrap();
        assert!(!text.contains(SECRET) && text.contains("x-[hidden]"), "{entry:?}");
    }
    said(&folder.run("run a.scenario.yaml"), 2, &["`TOKEN` is not set", "a.scenario.yaml:4:50"]);
    said(&folder.run("check a.scenario.yaml"), 0, &["warning[unset-variable]", "`TOKEN` is not set"]);
    let said_aloud = file.replace("value: right", "value: '${env.TOKEN}'");
    let folder = Folder::new(&[("a.scenario.yaml", &said_aloud)]);
    said(&folder.run("check a.scenario.yaml"), 2, &["`${env.TOKEN}` is not filled in here"]);
}

fn walk(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(walk(&path)) } else { found.push(path) }
    }
    found
}

#[test]
fn a_models_address_comes_from_the_environment() {
    let file = "
name: Env
description: d
environment: {type: local}
agent: {instructions: x}
models: {agent: 'openai-compatible:tiny@http://127.0.0.1:PORT/${env.SECRET_PATH}/v1'}
run: [{input: hi, evaluations: []}]
judgment: {strategy: all_pass}
";
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port().to_string();
    let answering = std::thread::spawn(move || {
        let (mut stream, _) = server.accept().unwrap();
        let mut request = vec![0; 4096];
        let length = stream.read(&mut request).unwrap();
        let answer = "HTTP/1.1 401 No\r\ncontent-length: 2\r\nconnection: close\r\n\r\nno";
        stream.write_all(answer.as_bytes()).unwrap();
        String::from_utf8_lossy(&request[..length]).into_owned()
    });
    let file = file.replace("PORT", &port);
    let folder = Folder::new(&[("a.scenario.yaml", &file), ("env", &format!("SECRET_PATH={SECRET}\n"))]);
    let ran = folder.run("run a.scenario.yaml --env-file env --out out --json -");
    assert_eq!(ran.code, 1, "{}{}", ran.stdout, ran.stderr);
    assert!(answering.join().unwrap().contains(SECRET), "the model is asked where the variable says");
    assert!(ran.stdout.contains("/${env.SECRET_PATH}/v1 needs a key"), "{}", ran.stdout);
    assert!(!format!("{}{}", ran.stdout, ran.stderr).contains(SECRET), "{}{}", ran.stdout, ran.stderr);
    for entry in walk(&folder.path().join("out")) {
        assert!(!fs::read_to_string(&entry).unwrap().contains(SECRET), "{entry:?}");
    }
}

#[test]
fn a_tool_that_is_mocked_needs_nothing_of_the_environment() {
    let file = "
name: Mocked
description: d
environment: {type: local}
agent:
  instructions: x
  tools:
    - name: look
      http:
        url: https://example.com/look
        headers: {authorization: 'Bearer ${env.NO_SUCH_KEY}'}
models: {agent: {script: [{call: look, args: {}}, done]}}
setup: {mocks: [{method: look, response: 1}]}
run: [{input: hi, evaluations: [{type: string_contains, value: done}]}]
judgment: {strategy: all_pass}
";
    let folder = Folder::new(&[("a.scenario.yaml", file)]);
    said(&folder.run("run a.scenario.yaml --no-store"), 0, &["1 passed"]);
    said(&folder.run("check a.scenario.yaml"), 0, &["`NO_SUCH_KEY` is not set"]);
    said(&folder.run("run a.scenario.yaml --no-store --live"), 2, &["`${env.NO_SUCH_KEY}` names"]);
}
