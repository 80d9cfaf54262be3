//! Checks that authors write themselves, and the evaluators beside them: of any reply, turned round, and in groups.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::thread;

use rehearsal_core::json;
use serde_json::{Value, json};

use crate::support::{Folder, Ran};

/// An agent that looks something up and says so.
fn scenario(evaluations: &str) -> String {
    format!(
        "name: looks
description: d
environment: {{type: local}}
agent: {{instructions: x, tools: [{{name: look, description: d}}]}}
models: {{agent: {{script: [{{call: look, args: {{at: 7}}}}, It is Refund 7 of 23.50]}}}}
setup: {{mocks: [{{method: look, response: {{ok: true}}, state: {{session: {{seen: 7}}}}}}]}}
run:
  - input: hi
    evaluations:
{evaluations}
judgment: {{strategy: all_pass}}
"
    )
}

/// A conversation of three turns.
fn talk(evaluations: &str) -> String {
    format!(
        "name: talks
description: d
environment: {{type: local}}
agent: {{instructions: x}}
models: {{agent: {{script: [Hello, The fee is 12 dollars, Bye]}}}}
run:
  - conversation:
      max_turns: 3
      user: {{script: [a, b, c]}}
      final_evaluations:
{evaluations}
judgment: {{strategy: all_pass}}
"
    )
}

fn run(text: &str, files: &[(&str, &str)]) -> Ran {
    let files: Vec<(&str, &str)> =
        [("a.scenario.yaml", text)].into_iter().chain(files.iter().copied()).collect();
    Folder::new(&files).run("run a.scenario.yaml --no-store --verbose")
}

fn expect(text: &str, files: &[(&str, &str)], code: i32, said: &[&str]) {
    let ran = run(text, files);
    assert_eq!(ran.code, code, "{text}\n{}{}", ran.stdout, ran.stderr);
    for said in said {
        assert!(ran.stdout.contains(said), "{said}\n{}", ran.stdout);
    }
}

const CHECKS: &str = r#"
import os

def fine(record, most=3):
    call = record.calls[0]
    assert call["args"] == {"at": 7} and call["output"] == {"ok": True}, "another call"
    assert record.state["before"].get("session") is None and record.state["after"]["session"]["seen"] == 7
    assert record["turns"][0]["user"] == "hi" and record.case["name"] == "looks"
    return {"passed": len(record.calls) <= most, "reason": "as it should be", "events": [call["event"]]}

def no(record):
    assert "sorry" in record.reply, "it is not sorry"

def half(record):
    return 0.5

def breaks(record):
    return record["nowhere"]

def nothing(record):
    pass

def far(record):
    return {"passed": True, "events": [999]}

def process(record):
    return {"passed": True, "reason": f"process {os.getpid()}"}

def leaves(record):
    os._exit(3)
"#;

#[test]
fn functions_in_python_judge_the_whole_record() {
    let ask = |function: &str| scenario(&format!("      - {{type: python, function: 'checks:{function}'}}"));
    let files = [("checks.py", CHECKS)];
    expect(&ask("fine"), &files, 0, &["passed python checks:fine", "as it should be [#9]"]);
    expect(
        &scenario("      - {type: python, function: 'checks:fine', args: {most: 0}}"),
        &files,
        1,
        &["failed python"],
    );
    expect(&ask("no"), &files, 1, &["FAILED", "it is not sorry"]);
    expect(&ask("half"), &files, 1, &["FAILED", "with a score of 0.5"]);
    expect(
        &scenario("      - {type: python, function: 'checks:half', threshold: 0.5}"),
        &files,
        0,
        &["(score 0.50)"],
    );
    for (function, why) in [
        ("breaks", "raised KeyError"),
        ("nothing", "returned nothing"),
        ("far", "it points at event #999"),
        ("leaves", "its process"),
        ("fin", "did you mean"),
    ] {
        expect(&ask(function), &files, 1, &["ERROR", "undecided python", why]);
    }
    expect(&scenario("      - {type: python, function: 'chekcs:fine'}"), &files, 1, &["ERROR", "chekcs"]);
    expect(&scenario("      - {type: python, function: 'checks:breaks', not: true}"), &files, 1, &["ERROR"]);
    expect(
        &scenario("      - {type: python, function: 'checks:no', not: true}"),
        &files,
        0,
        &["passed not python"],
    );
}

#[test]
fn one_process_serves_all_cases_of_a_run() {
    let text = scenario("      - {type: python, function: 'checks:process'}");
    let folder = Folder::new(&[("a.scenario.yaml", &text), ("checks.py", CHECKS)]);
    fs::write(folder.path().join("b.scenario.yaml"), text.replace("name: looks", "name: looks again"))
        .unwrap();
    let ran = folder.run("run . --no-store --verbose --repeat 5");
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    let mut processes: Vec<&str> =
        ran.stdout.lines().filter_map(|line| line.trim().strip_prefix("process ")).collect();
    assert_eq!(processes.len(), 10, "{}", ran.stdout);
    processes.dedup();
    assert_eq!(processes.len(), 1, "{processes:?}");
}

#[test]
fn a_check_sees_the_variables_of_its_own_file_and_of_no_other() {
    let check = "import os\n\ndef sees(record):\n    return {'passed': True, 'reason': f\"own {os.environ.get('OWN')}, other {os.environ.get('OTHER')}\"}\n";
    let text = scenario("      - {type: python, function: 'checks:sees'}");
    let with = |name: &str, variables: &str| {
        let text = text.replace("name: looks", &format!("name: {name}"));
        text.replace("{type: local}", &format!("{{type: local, variables: {{{variables}}}}}"))
    };
    let (one, other) = (with("one", "OWN: mine"), with("two", "OTHER: theirs"));
    let files = [("a.scenario.yaml", &*one), ("b.scenario.yaml", &*other), ("checks.py", check)];
    let ran = Folder::new(&files).run("run . --no-store --verbose --jobs 1");
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("own mine, other None"), "{}", ran.stdout);
    assert!(ran.stdout.contains("own None, other theirs"), "{}", ran.stdout);
}

#[test]
fn expressions_in_javascript_judge_it_too() {
    let ask = |code: &str| {
        scenario(&format!("      - type: javascript\n        code: {}", json::text(&json!(code))))
    };
    for code in [
        "record.calls.length === 1 && record.calls[0].args.at === 7",
        "(record, args) => record.reply.includes('Refund')",
        "return record.state.after.session.seen === 7",
        "1",
        "({score: 1, reason: 'all of it', events: record.calls.map(call => call.event)})",
    ] {
        expect(&ask(code), &[], 0, &["passed javascript"]);
    }
    expect(&ask("record.calls.length > 1"), &[], 1, &["FAILED"]);
    for (code, why) in [
        ("'yes'", "neither true, false"),
        ("undefined", "neither true, false"),
        ("({})", "neither `passed` nor `score`"),
        ("({passed: true, beacuse: 1})", "unknown field `beacuse`"),
        ("2", "not from 0 to 1"),
        ("record.nowhere.at", "the check failed"),
        ("while (true) {} return true", "the check failed"),
    ] {
        expect(&ask(code), &[], 1, &["ERROR", why]);
    }
    let folder = Folder::new(&[("a.scenario.yaml", &ask("record.("))]);
    let ran = folder.run("check a.scenario.yaml");
    assert!(ran.code == 2 && ran.stderr.contains("no JavaScript that can be used"), "{}", ran.stderr);
}

#[test]
fn any_program_is_a_check() {
    let program = r#"
import json, sys
record = json.load(sys.stdin)
assert record["version"] == 1 and record["args"] == {"word": "Refund"}, record
print(json.dumps({"passed": record["args"]["word"] in record["reply"], "reason": "the word is there"}))
"#;
    let ask = |command: &str| {
        scenario(&format!("      - {{type: command, command: {command}, args: {{word: Refund}}}}"))
    };
    expect(&ask("[python3, check.py]"), &[("check.py", program)], 0, &["the word is there"]);
    expect(&ask("'echo false'"), &[], 1, &["FAILED", "the check says no"]);
    expect(&ask("'echo 0.3'"), &[], 1, &["FAILED"]);
    for (command, why) in [
        ("'echo yes'", "the check wrote no JSON"),
        ("'echo oh dear >&2; echo true; exit 3'", "oh dear"),
        ("[nowhere-to-be-found]", "nowhere-to-be-found"),
        ("'sleep 30', timeout_ms: 100", "did not end in time"),
        ("'true'", "the check wrote no JSON"),
    ] {
        expect(&ask(command), &[], 1, &["ERROR", why]);
    }
    let refused = Folder::new(&[("a.scenario.yaml", &ask("'touch ran; echo true'"))]);
    let ran = refused.run("run a.scenario.yaml --no-store --no-commands");
    assert!(ran.code == 2 && ran.stderr.contains("this evaluation runs a program"), "{}", ran.stderr);
    assert!(!refused.path().join("ran").exists());
}

#[test]
fn checks_judge_what_was_said_before() {
    let folder = Folder::new(&[
        ("a.scenario.yaml", &scenario("      - {type: string_contains, value: refund}")),
        ("checks.py", CHECKS),
    ]);
    assert_eq!(folder.run("run a.scenario.yaml --out out").code, 0);
    let ledger = fs::read_dir(folder.path().join("out/ledgers")).unwrap().next().unwrap().unwrap().path();
    let with = |evaluation: &str| {
        fs::write(folder.path().join("b.scenario.yaml"), scenario(evaluation)).unwrap();
        folder.run(&format!("score {} --with b.scenario.yaml", ledger.display()))
    };
    for evaluation in [
        "      - {type: python, function: 'checks:fine'}",
        "      - {type: javascript, code: 'record.calls.length === 1'}",
        "      - {type: command, command: 'grep -q Refund && echo true'}",
    ] {
        let ran = with(evaluation);
        assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    }
    assert_eq!(with("      - {type: python, function: 'checks:no'}").code, 1);
}

#[test]
fn other_replies_than_the_last_can_be_asked_of() {
    let ask = |evaluation: &str| talk(&format!("        - {{{evaluation}}}"));
    let fee = "type: string_contains, value: 12 dollars";
    for (evaluation, code, said) in [
        (format!("{fee}, in: any"), 0, "in turn 2, the reply contains"),
        (format!("{fee}, in: 2"), 0, "in turn 2, the reply contains"),
        (fee.to_owned(), 1, "does not contain"),
        (format!("{fee}, in: all"), 1, "in turn 1, the reply does not contain"),
        (format!("{fee}, in: 4"), 1, "has no turn 4: there are 3 turns"),
        (format!("{fee}, in: all, not: true"), 1, "in turn 2, the reply contains"),
        (
            "type: string_contains, value: sorry, in: all, not: true".to_owned(),
            0,
            "in turn 3, the reply does not contain",
        ),
        ("type: regex_match, pattern: '\\d+ dollars', in: any".to_owned(), 0, "in turn 2"),
        ("type: contains_any, values: [hi, hello], in: 1".to_owned(), 0, "in turn 1"),
        ("type: equals, value: Bye".to_owned(), 0, "the reply is \"Bye\""),
    ] {
        expect(&ask(&evaluation), &[], code, &[said]);
    }
    let turns = talk("        []")
        .replace("final_evaluations:\n        []", "turn_evaluations: [{type: equals, value: Bye, in: any}]");
    for (text, said) in [
        (turns, "says nothing of a turn"),
        (ask("type: string_contains, value: a, in: somewhere"), "`in` must be last, any, all"),
        (ask("type: string_contains, value: a, in: 0"), "`in` must be last, any, all"),
        (ask("type: step_count, min_steps: 1, in: any"), "no key `in`"),
        (ask("type: tool_order, never: [a], before: b, stop: true, not: true"), "cannot end a run"),
        (ask("type: contains_any, values: []"), "asks for nothing"),
        (ask("type: contains_all, values: ['']"), "every reply contains the empty text"),
        (ask("type: similar, to: a, method: embedding"), "asks for a model that makes embeddings"),
        (ask("type: similar, to: a, model: 'openai:x'"), "only `method: embedding` asks a model"),
        (ask("type: group, evaluations: []"), "a group of nothing always passes"),
        (ask("type: group, evaluations: [{type: equals}]"), "evaluation 1 of the group"),
        (
            ask("type: group, evaluations: [{type: equals, value: a, weight: 0}]"),
            "a `weight` is a number above 0",
        ),
        (ask("type: world_state"), "does not say what the world is compared with"),
        (ask("type: world_state, after: [], value: {}"), "a world is compared with one thing"),
    ] {
        let ran = Folder::new(&[("a.scenario.yaml", &text)]).run("check a.scenario.yaml");
        assert!(ran.code == 2 && ran.stderr.contains(said), "{said}\n{}", ran.stderr);
    }
}

#[test]
fn groups_have_weights_and_a_threshold() {
    let group = |threshold: f64, more: &str| {
        scenario(&format!(
            "      - type: group
        threshold: {threshold}
        evaluations:
          - {{type: string_contains, value: refund, weight: 2}}
          - {{type: contains_all, values: [refund, sorry]}}
          - {{type: equals, value: no, weight: 1}}
{more}"
        ))
    };
    expect(
        &group(0.6, ""),
        &[],
        0,
        &["(score 0.62)", "passed: string_contains \"refund\"", "failed: equals \"no\""],
    );
    expect(&group(0.7, ""), &[], 1, &["FAILED", "the group comes to 0.62, and 0.7 was asked for"]);
    let undecided = "          - {type: javascript, code: nowhere, weight: 0.5}";
    // What is undecided could make it pass, or not; where it cannot, it does not matter.
    expect(&group(0.6, undecided), &[], 1, &["ERROR", "nowhere"]);
    let judged = "          - {type: javascript, code: 'record.calls.length === 1', weight: 4}";
    expect(&group(0.8, judged), &[], 0, &["passed: javascript"]);
}

#[test]
fn texts_are_compared_letter_by_letter_and_word_by_word() {
    let ask =
        |more: &str| scenario(&format!("      - {{type: similar, to: it is refund 8 of 23.50, {more}}}"));
    expect(&ask("method: edit, threshold: 0.95"), &[], 0, &["(score 0.96)"]);
    expect(&ask("method: edit, threshold: 0.97"), &[], 1, &["FAILED"]);
    expect(&ask("method: rouge_1, threshold: 0.8"), &[], 0, &["(score 0.86)"]);
    expect(&ask("threshold: 0.8"), &[], 0, &["(score 0.86)"]);
}

/// A server that makes embeddings: how often each of three letters stands in a text.
fn embeddings() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/v1", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let (mut length, mut line) = (0, String::new());
            let mut first = String::new();
            while reader.read_line(&mut line).unwrap() > 2 {
                if first.is_empty() {
                    first.clone_from(&line);
                }
                if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
                line.clear();
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            let asked: Value = json::from_slice(&body).unwrap();
            assert!(first.starts_with("POST /v1/embeddings "), "{first}");
            let data = asked["input"].as_array().unwrap().iter().enumerate().map(|(index, text)| {
                let count = |letter: char| text.as_str().unwrap().matches(letter).count();
                json!({"index": index, "embedding": [count('e'), count('f'), count('z')]})
            });
            let answer =
                json::text(&json!({"model": asked["model"], "data": data.rev().collect::<Vec<_>>()}));
            write!(stream, "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{answer}", answer.len()).unwrap();
        }
    });
    address
}

#[test]
fn texts_are_compared_by_embeddings_of_any_compatible_server() {
    let address = embeddings();
    let ask = |to: &str, model: &str| {
        scenario(&format!(
            "      - {{type: similar, to: {to}, method: embedding, model: '{model}', threshold: 0.9}}"
        ))
    };
    let model = format!("openai-compatible:letters@{address}");
    expect(&ask("feef", &model), &[], 0, &["passed similar"]);
    expect(&ask("zzz", &model), &[], 1, &["FAILED", "(score 0.00)"]);
    expect(&ask("abc", &model), &[], 1, &["ERROR", "cannot be compared"]);
    expect(
        &ask("feef", "openai-compatible:letters@http://127.0.0.1:1/v1"),
        &[],
        1,
        &["ERROR", "could not be reached"],
    );
}
