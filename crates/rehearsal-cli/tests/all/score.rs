//! `rehearse score`, as a user runs it.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]
#![expect(clippy::needless_raw_string_hashes, reason = "expect-test writes them")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use expect_test::{Expect, expect};
use rehearsal_core::Schema;
use serde_json::Value;
use tempfile::TempDir;

/// Evaluations of turns, of conversations and of all kinds of steps, with a judge, and notes between the turns.
const SUPPORT: &str = r#"
name: Support
description: A customer asks twice
agent:
  instructions: Help.
  tools: [{name: look_up, parameters: {type: object, properties: {id: {type: integer}}}}]
models:
  agent:
    script:
      - {call: look_up, args: {id: 17}, usage: {input: 10, output: 2}}
      - {say: It is shipped., usage: {input: 20, output: 5}}
      - {say: You are welcome., usage: {input: 30, output: 4}}
      - {json: {done: true}, usage: {input: 5, output: 5}}
  judge:
    script:
      - json: {reasoning: it was in line 3, judgment: 'yes', confidence: 0.9}
      - json: {reasoning: it was again, judgment: 'no', confidence: 0.4}
      - json: {reasoning: about, score: 0.7}
  strict:
    rules: [{json: {reasoning: no, judgment: 'no', confidence: 1}}]
environment: {type: local}
setup:
  mocks: [{method: look_up, response: {status: shipped}}]
  state: {session: {stage: new}}
run:
  - name: talks
    input: Where is order 17?
    conversation:
      max_turns: 4
      user: {script: [Thank you]}
      debug_options: {log_turn_decisions: true}
      termination_conditions: [{type: goal_achieved, keywords: [nothing of the kind]}]
      turn_evaluations:
        - {type: llm_judge, prompt: Was it kind?, expected: 'yes'}
        - {type: execution_time, max_duration_ms: 60000}
        - {type: state, matches: {scenario.context.turn: {$gte: 1}}}
        - {type: token_count, max_total_tokens: 100}
        - {type: string_contains, value: shipped}
      final_evaluations:
        - {type: llm_judge, prompt: How well?, expected: 0.6+}
        - {type: conversation_length, target_range: [1, 3]}
    evaluations:
      - {type: tool_called, tool: look_up, args: {id: 17}}
      - {type: llm_judge, prompt: Was it short?, expected: 'no', model_type: strict}
  - input: And in JSON?
    evaluations:
      - {type: json_path, path: $.done, equals: true}
      - {type: step_count, max_steps: 0}
  - code: echo hi > out.txt; echo written
    evaluations:
      - {type: file_contains, path: out.txt, value: hi}
      - {type: command_exit_code_is, command: test -s out.txt, expected_code: 0}
      - {type: execution_time, max_duration_ms: 60000}
judgment: {strategy: all_pass}
"#;

const GREETS: &str = "name: Greets\ndescription: It says hello\nenvironment: {type: local}\nagent: {instructions: Greet.}\nmodels: {agent: {script: [hello]}}\nrun:\n  - input: hi\n    evaluations: [{type: string_contains, value: hello}]\njudgment: {strategy: all_pass}\n";

const LEDGER: &str = "out/ledgers/001-greets.jsonl";

fn rehearse(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_rehearse")).args(args).current_dir(folder).output().unwrap()
}

/// The exit code, standard output and standard error of a command as one text, without times.
fn shown(folder: &Path, args: &[&str], expected: &Expect) {
    let output = rehearse(folder, args);
    let text = format!(
        "exit {}\n--- stdout\n{}--- stderr\n{}",
        output.status.code().unwrap(),
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    let mut plain: Vec<&str> = text.split(' ').collect();
    for at in 1..plain.len() {
        let (unit, after) = plain[at].split_at(plain[at].find('\n').unwrap_or(plain[at].len()));
        if ["ms", "s"].contains(&unit) && plain[at - 1].parse::<f64>().is_ok() {
            (plain[at - 1], plain[at]) = ("TIME", after);
        }
    }
    expected.assert_eq(&plain.join(" ").replace("TIME \n", "TIME\n"));
}

/// A folder in which a scenario was run.
fn run(text: &str) -> (TempDir, Value) {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("a.scenario.yaml"), text).unwrap();
    let output = rehearse(folder.path(), &["run", "a.scenario.yaml", "--out", "out", "--json", "-"]);
    let result = rehearsal_core::json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    (folder, result)
}

fn write(folder: &TempDir, name: &str, text: &str) {
    fs::write(folder.path().join(name), text).unwrap();
}

/// All evaluation results of a scenario, in order, as text.
fn evaluations(result: &Value) -> Vec<String> {
    let mut found = Vec::new();
    for step in result["steps"].as_array().unwrap() {
        let talk = &step["conversation"];
        let turns = talk["turns"].as_array().cloned().unwrap_or_default();
        let lists = turns.iter().map(|turn| &turn["turn_evaluations"]);
        for list in lists.chain([&talk["final_evaluations"], &step["evaluations"]]) {
            found.extend(list.as_array().into_iter().flatten().map(Value::to_string));
        }
    }
    found
}

#[test]
fn with_the_file_of_the_run_the_results_are_those_of_the_run() {
    let (folder, ran) = run(SUPPORT);
    let args = ["score", "out/ledgers/001-support.jsonl", "--with", "a.scenario.yaml", "--json", "-"];
    let output = rehearse(folder.path(), &args);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let scored: Value = rehearsal_core::json::from_slice(&output.stdout).unwrap();
    let (ran, scored_scenario) = (&ran["results"][0], &scored["results"][0]);
    let (first, second) = (evaluations(ran), evaluations(scored_scenario));
    assert_eq!(first.len(), 2 * 5 + 4 + 2 + 3, "{first:#?}");
    assert_eq!(first, second);
    let statuses: Vec<bool> = first.iter().map(|text| text.contains("\"status\":\"passed\"")).collect();
    assert_eq!(statuses.iter().filter(|passed| !**passed).count(), 2, "{first:#?}");
    for key in ["status", "seed", "termination_detail", "error"] {
        assert_eq!(ran[key], scored_scenario[key], "{key}");
    }
    let schema = rehearse(folder.path(), &["schema", "result"]);
    let schema = Schema::new(rehearsal_core::json::from_slice::<Value>(&schema.stdout).unwrap());
    assert_eq!(schema.check(&scored).unwrap(), []);
}

#[test]
fn a_run_that_ended_in_an_error_is_scored_as_one() {
    let (folder, ran) = run(&SUPPORT.replace("{say: You are welcome., usage", "{fail: it is down, usage"));
    let args = ["score", "out", "--with", "a.scenario.yaml", "--json", "-"];
    let scored: Value = rehearsal_core::json::from_slice(&rehearse(folder.path(), &args).stdout).unwrap();
    let (ran, scored) = (&ran["results"][0], &scored["results"][0]);
    assert_eq!(scored["status"], "error");
    assert_eq!(scored["error"], ran["error"]);
    assert_eq!(evaluations(scored), evaluations(ran));
    assert_eq!(scored["steps"][1]["status"], "skipped");
}

#[test]
fn other_evaluations_can_be_asked_of_what_happened_before() {
    let (folder, _) = run(GREETS);
    write(&folder, "b.scenario.yaml", &GREETS.replace("value: hello", "value: good morning"));
    shown(
        folder.path(),
        &["score", LEDGER, "--with", "a.scenario.yaml"],
        &expect![[r#"
            exit 0
            --- stdout
            passed   Greets  TIME
                     out/ledgers/001-greets.jsonl
            1 ledger: 1 passed in TIME
            --- stderr
        "#]],
    );
    shown(
        folder.path(),
        &["score", LEDGER, "--with", "b.scenario.yaml"],
        &expect![[r#"
            exit 1
            --- stdout
            FAILED   Greets  TIME
                     out/ledgers/001-greets.jsonl
                     b.scenario.yaml
                     step 1: failed
                       failed string_contains "good morning", line 8
                         the reply does not contain "good morning": "hello" [#8]
                     transcript:
                         4  user: hi
                     >   8  agent: hello
                     again: rehearse score out/ledgers/001-greets.jsonl --with b.scenario.yaml

            1 ledger: 0 passed, 1 failed in TIME
            --- stderr
        "#]],
    );
}

#[test]
fn a_judge_is_asked_through_the_model_that_is_named() {
    let (folder, _) = run(GREETS);
    let judged =
        GREETS.replace("string_contains, value: hello", "llm_judge, prompt: Was it kind?, expected: 'yes'");
    write(&folder, "b.scenario.yaml", &judged);
    shown(
        folder.path(),
        &["score", LEDGER, "--with", "b.scenario.yaml"],
        &expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error[no-model]: the judge needs a model, and no model is called `judge`
         --> b.scenario.yaml:8:5
          |
        8 |     evaluations: [{type: llm_judge, prompt: Was it kind?, expected: 'yes'}]
          |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
          |
        help: add it:
                models:
                  judge: openai:gpt-4o   # or {script: [{say: Hello}]}
              or name it on the command line: --model judge=openai:gpt-4o

    "#]],
    );
    let answering = judged.replace(
        "models: {",
        "models: {judge: {rules: [{json: {reasoning: yes, judgment: 'yes', confidence: 1}}]}, ",
    );
    write(&folder, "c.scenario.yaml", &answering);
    let output = rehearse(folder.path(), &["score", LEDGER, "--with", "c.scenario.yaml"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    // A judge that cannot be reached decides nothing, which is not a pass.
    let silent =
        answering.replace("{json: {reasoning: yes, judgment: 'yes', confidence: 1}}", "{fail: it is down}");
    write(&folder, "d.scenario.yaml", &silent);
    shown(
        folder.path(),
        &["score", LEDGER, "--with", "d.scenario.yaml"],
        &expect![[r#"
            exit 1
            --- stdout
            ERROR    Greets  TIME   not counted: judge
                     out/ledgers/001-greets.jsonl
                     d.scenario.yaml
                     step 1: failed
                       undecided llm_judge "Was it kind?", line 8
                         the judge gave no usable answer: agent `judge`: script:judge answered HTTP 503: it is down
                     transcript:
                         4  user: hi
                         8  agent: hello
                     again: rehearse score out/ledgers/001-greets.jsonl --with d.scenario.yaml

            1 ledger: 0 passed, 1 with an error in TIME
            --- stderr
        "#]],
    );
}

#[test]
fn what_is_not_on_the_ledger_cannot_be_decided() {
    let (folder, _) = run(GREETS);
    let step = "  - input: bye\n    evaluations: [{type: string_contains, value: bye}]\n";
    write(&folder, "b.scenario.yaml", &GREETS.replace("judgment", &format!("{step}judgment")));
    shown(
        folder.path(),
        &["score", LEDGER, "--with", "b.scenario.yaml"],
        &expect![[r#"
            exit 1
            --- stdout
            ERROR    Greets  TIME
                     out/ledgers/001-greets.jsonl
                     b.scenario.yaml
                     step 1: passed
                     step 2: not on the ledger
                     error (metric): the file has 2 steps and the ledger 1, so not everything that is asked can be decided
                     transcript:
                         4  user: hi
                         8  agent: hello
                     again: rehearse score out/ledgers/001-greets.jsonl --with b.scenario.yaml

            1 ledger: 0 passed, 1 with an error in TIME
            --- stderr
        "#]],
    );
    let text = fs::read_to_string(folder.path().join(LEDGER)).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    write(&folder, "unended.jsonl", &lines[..lines.len() - 1].join("\n"));
    shown(
        folder.path(),
        &["score", "unended.jsonl", "--with", "a.scenario.yaml", "-q"],
        &expect![[r#"
            exit 1
            --- stdout
            ERROR    Greets  TIME   not counted: infrastructure
                     unended.jsonl
                     a.scenario.yaml
                     step 1: passed
                     error (system): the session did not come to its end; its last event is #11
                     transcript:
                         4  user: hi
                         8  agent: hello
                     again: rehearse score unended.jsonl --with a.scenario.yaml

            1 ledger: 0 passed, 1 with an error in TIME
            --- stderr
        "#]],
    );
}

#[test]
fn ledgers_of_something_else_are_refused() {
    let (folder, _) = run(SUPPORT);
    write(&folder, "b.scenario.yaml", GREETS);
    write(&folder, "c.scenario.yaml", &GREETS.replace("Greets", "Support"));
    write(&folder, "torn.jsonl", "{\"seq\":1,");
    let ledgers = "out/ledgers/001-support";
    let (main, judge) = (format!("{ledgers}.jsonl"), format!("{ledgers}.judge.jsonl"));
    shown(
        folder.path(),
        &["score", &main, "--with", "b.scenario.yaml"],
        &expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error: `out/ledgers/001-support.jsonl` cannot be scored: it is a ledger of the scenario `Support`, not of the scenario `Greets`
    "#]],
    );
    shown(
        folder.path(),
        &["score", "out", "--with", "b.scenario.yaml"],
        &expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error: there is no ledger of the scenario `Greets` in `out`
    "#]],
    );
    shown(
        folder.path(),
        &["score", &main, "--with", "c.scenario.yaml"],
        &expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error: `out/ledgers/001-support.jsonl` cannot be scored: step 1 is a `conversation` on the ledger and `input` in the file
    "#]],
    );
    shown(
        folder.path(),
        &["score", &main, &judge, "torn.jsonl", "missing.jsonl", "--with", "a.scenario.yaml"],
        &expect![[r#"
            exit 2
            --- stdout
            --- stderr
            error: 3 ledgers cannot be scored
              `out/ledgers/001-support.judge.jsonl` cannot be scored: it is the ledger of a judge, not of the agent under test
              `torn.jsonl` is no ledger: line 1 ends too early; remove it to go on from the event before
              cannot read `missing.jsonl`: No such file or directory (os error 2)
        "#]],
    );
}

#[test]
fn a_file_that_cannot_be_used_is_told_as_check_does() {
    let (folder, _) = run(GREETS);
    write(&folder, "b.scenario.yaml", &GREETS.replace("judgment", "judgement"));
    let output = rehearse(folder.path(), &["score", LEDGER, "--with", "b.scenario.yaml"]);
    assert_eq!(output.status.code(), Some(2));
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains("did you mean `judgment`?"), "{told}");
    write(&folder, "b.scenario.yaml", GREETS);
    shown(
        folder.path(),
        &["score", LEDGER, "--with", "."],
        &expect![[r#"
            exit 2
            --- stdout
            --- stderr
            error: `.` holds several scenarios

            hint: name the file of one
        "#]],
    );
}
