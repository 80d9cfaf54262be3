//! What test runners need of the command: files as programs read them, agents on a socket, reports in the JSON.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::thread;

use expect_test::expect;
use serde_json::{Value, json};

use crate::support::Folder;

const GREETS: &str = "# A comment.
name: Greets
description: It says hello
tags: [polite]
environment: {type: local}
agent: {instructions: Greet., tools: [{name: look}]}
models: {agent: {script: [hello]}}
setup: {mocks: [{method: look, response: sunny}]}
run:
  - input: hi
    evaluations: [{type: string_contains, value: hello}]
judgment: {strategy: all_pass}
";

fn read(text: &str) -> Value {
    rehearsal_core::json::from_str(text).unwrap()
}

fn folder() -> Folder {
    let other = GREETS.replace("name: Greets", "name: Greets again");
    let bad = GREETS.replace("judgment", "judgement");
    Folder::new(&[
        ("good/a.scenario.yaml", GREETS),
        ("good/b.scenario.yaml", &other),
        ("bad/c.scenario.yaml", &bad),
    ])
}

#[test]
fn programs_read_what_check_found() {
    let folder = folder();
    let ran = folder.run("check . --json -");
    assert_eq!(ran.code, 2);
    let mut found = read(&ran.stdout);
    let problem = &mut found["files"][0]["problems"][1];
    let shown = problem["shown"].take();
    assert!(shown.as_str().unwrap().contains("bad/c.scenario.yaml:12:1"), "{shown}");
    expect![[r#"
        [
          {
            "file": "bad/c.scenario.yaml",
            "usable": false,
            "problems": [
              "missing-key",
              {
                "severity": "error",
                "code": "unknown-key",
                "line": 12,
                "column": 1,
                "message": "the scenario has no key `judgement`",
                "help": "did you mean `judgment`?",
                "shown": null
              }
            ],
            "cases": []
          },
          {
            "file": "good/a.scenario.yaml",
            "usable": true,
            "problems": [],
            "cases": [
              {
                "name": "Greets",
                "line": 2,
                "description": "It says hello",
                "tags": [
                  "polite"
                ]
              }
            ]
          }
        ]"#]]
    .assert_eq(&{
        let files = found["files"].as_array_mut().unwrap();
        files.truncate(2);
        files[0]["problems"][0] = files[0]["problems"][0]["code"].take();
        rehearsal_core::json::to_string_pretty(&files).unwrap()
    });
    assert!(ran.stderr.ends_with("3 files: 2 can be used, 1 cannot\n"), "{}", ran.stderr);

    let ran = folder.run("check good --json found.json");
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "2 files: 2 can be used\n"));
    let found = read(&std::fs::read_to_string(folder.path().join("found.json")).unwrap());
    assert_eq!((&found["version"], found["files"].as_array().unwrap().len()), (&json!(1), 2));
}

#[test]
fn a_case_is_chosen_by_its_whole_name() {
    let folder = folder();
    let ran = folder.run("run good --case Greets --no-store --json -");
    let result = read(&ran.stdout);
    assert_eq!(
        (result["summary"]["total"].clone(), &result["results"][0]["name"]),
        (json!(1), &json!("Greets"))
    );
    let ran = folder.run("run good --case Greet --no-store");
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("no scenario is called `Greet`"), "{}", ran.stderr);
}

#[test]
fn reports_stand_in_the_json_when_they_are_asked_for() {
    let folder = folder();
    let ran = folder.run("run good/a.scenario.yaml --no-store --json - --reports");
    let case = &read(&ran.stdout)["results"][0];
    assert_eq!(case["transcript"], "user: hi\nagent: hello\n");
    assert!(case["report"].as_str().unwrap().contains("passed string_contains \"hello\""), "{case}");
    let ran = folder.run("run good/a.scenario.yaml --no-store --json -");
    assert_eq!(read(&ran.stdout)["results"][0].get("report"), None);
}

/// Plays the agent of each session that connects: it looks, and says what it has seen.
fn listen(socket: &PathBuf, answer: fn(&mut UnixStream, &mut dyn Iterator<Item = Value>)) {
    let listener = UnixListener::bind(socket).unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let reader = BufReader::new(stream.try_clone().unwrap());
            thread::spawn(move || answer(&mut stream, &mut reader.lines().map(|line| read(&line.unwrap()))));
        }
    });
}

fn say(stream: &mut UnixStream, message: &Value) {
    writeln!(stream, "{message}").unwrap();
}

#[test]
fn an_agent_on_a_socket_plays_every_session() {
    let folder = folder();
    let socket = folder.path().join("agent");
    listen(&socket, |stream, lines| {
        let start = lines.next().unwrap();
        assert_eq!((&start["type"], &start["tools"][0]["name"]), (&json!("start"), &json!("look")));
        assert_eq!(lines.next().unwrap()["text"], "hi");
        say(stream, &json!({"type": "tool_call", "id": "1", "tool": "look"}));
        let seen = lines.next().unwrap();
        say(stream, &json!({"type": "final", "text": format!("hello, it is {}", seen["output"])}));
        assert_eq!(lines.next().unwrap()["type"], "end");
    });
    // Files that name no agent need none: the one that listens is theirs.
    let bare = GREETS.replace("agent: {instructions: Greet., tools: [{name: look}]}\nmodels: {agent: {script: [hello]}}\nsetup: {mocks: [{method: look, response: sunny}]}\n", "");
    std::fs::write(folder.path().join("bare.scenario.yaml"), bare).unwrap();
    let ran = folder.run("check bare.scenario.yaml --agent-socket agent");
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    // No program is started, so nothing is refused.
    let ran =
        folder.run("run good --agent-socket agent --no-commands --no-store --repeat 3 --json - --reports");
    let result = read(&ran.stdout);
    assert_eq!((ran.code, &result["summary"]["passed"]), (0, &json!(6)), "{}", ran.stderr);
    let transcript = result["results"][5]["transcript"].as_str().unwrap();
    assert!(transcript.ends_with("look gives \"sunny\"\nagent: hello, it is \"sunny\"\n"), "{transcript}");
}

#[test]
fn an_agent_that_goes_or_is_not_there_is_an_error() {
    let folder = folder();
    let ran = folder.run("run good/a.scenario.yaml --agent-socket agent --no-store");
    assert_eq!(ran.code, 1);
    assert!(ran.stdout.contains("nobody can be reached at the socket `agent`"), "{}", ran.stdout);
    assert!(!ran.stdout.contains("again:"), "an agent that is gone cannot be run again: {}", ran.stdout);

    listen(&folder.path().join("agent"), |_, lines| drop(lines.nth(1)));
    let ran = folder.run("run good/a.scenario.yaml --agent-socket agent --no-store");
    assert_eq!(ran.code, 1);
    assert!(ran.stdout.contains("its connection was closed"), "{}", ran.stdout);
}
