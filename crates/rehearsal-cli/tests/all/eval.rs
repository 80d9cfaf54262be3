//! `rehearse eval`, as a user runs it.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]
#![expect(clippy::needless_raw_string_hashes, reason = "expect-test writes them")]

use expect_test::expect;
use serde_json::{Value, json};

use crate::support::Folder;

/// Two messages, each with a call.
const GOLDEN: &str = r#"{"eval_set_id": "sums", "eval_cases": [{"eval_id": "adds", "rubrics": [{"rubric_id": "polite", "rubric_content": {"text_property": "It is polite"}}], "conversation": [
  {"user_content": {"role": "user", "parts": [{"text": "add 1 and 2"}]},
   "final_response": {"role": "model", "parts": [{"text": "The sum is three"}]},
   "intermediate_data": {"tool_uses": [{"name": "add", "args": {"a": 1, "b": 2}}], "tool_responses": [{"name": "add", "response": {"result": 3}}]}},
  {"user_content": {"role": "user", "parts": [{"text": "thank you"}]},
   "final_response": {"role": "model", "parts": [{"text": "You are welcome"}]}}
]}]}"#;

const AGENT: &str = "agent:
  name: math
  instructions: Add.
  tools: [{name: add, description: Adds}]
models:
  agent: {script: [{call: add, args: {a: 1, b: 2}}, The sum is three, You are welcome]}
";

fn folder() -> Folder {
    Folder::new(&[
        ("g.evalset.json", GOLDEN),
        ("agent.yaml", AGENT),
        ("other.yaml", &AGENT.replace("{a: 1, b: 2}", "{a: 2, b: 1}")),
        ("command.yaml", "agent: {command: cat}\n"),
        ("words.json", r#"{"criteria": {"response_match_score": 0.5}}"#),
    ])
}

#[test]
fn a_golden_trace_is_run_and_kept() {
    let folder = folder();
    folder.run("eval g.evalset.json --agent agent.yaml --golden-tools").check(&expect![[r#"
        exit 0
        --- stdout
        passed   adds  TIME
        1 case: 1 passed in TIME
        --- stderr
        warning: `g.evalset.json`: not acted on: $.eval_cases[0].rubrics: rubrics need a judge; nothing here reads them
        start    adds
        passed   adds  TIME  2 turns
        kept: rehearse runs RUN
    "#]]);
    folder.run("eval g.evalset.json --agent other.yaml --golden-tools").check(&expect![[r#"
        exit 1
        --- stdout
        FAILED   adds  TIME
                 failed tool_trajectory_avg_score (score 0.50)
                   the mean of 2 invocations is 0.5, the threshold 1
                   invocation 0 scores 0: expected add {"a":1,"b":2}, got add {"a":2,"b":1}
                   invocation 1 scores 1: expected no calls, got no calls
                 passed response_match_score (score 1.00)
                   the mean of 2 invocations is 1, the threshold 0.8
                   invocation 0 scores 1: expected "The sum is three", got "The sum is three"
                   invocation 1 scores 1: expected "You are welcome", got "You are welcome"
                 passed golden_tools
                 transcript:
                     2  user: add 1 and 2
                     7  math calls add {"a":2,"b":1}
                     8  add gives {"result":3}
                    10  math: The sum is three
                    13  user: thank you
                    16  math: You are welcome

        1 case: 0 passed, 1 failed in TIME
        --- stderr
        warning: `g.evalset.json`: not acted on: $.eval_cases[0].rubrics: rubrics need a judge; nothing here reads them
        start    adds
        FAILED   adds  TIME  2 turns
        kept: rehearse runs RUN
    "#]]);
    let criteria = "--golden-tools --criteria words.json --quiet";
    assert_eq!(folder.run(&format!("eval g.evalset.json --agent other.yaml {criteria}")).code, 0);
    let runs: Value = rehearsal_core::json::from_str(&folder.run("runs --json").stdout).unwrap();
    let statuses: Vec<&Value> = runs.as_array().unwrap().iter().map(|run| &run["status"]).collect();
    assert_eq!(statuses, ["passed", "failed", "passed"]);
    let shown = folder.run(&format!("runs {}", runs[1]["id"].as_str().unwrap()));
    assert!(shown.stdout.contains("failed tool_trajectory_avg_score (score 0.50)"), "{}", shown.stdout);
    assert!(shown.stdout.contains("1 case: 0 passed, 1 failed"), "{}", shown.stdout);
    let sessions: Value = rehearsal_core::json::from_str(&folder.run("sessions --json").stdout).unwrap();
    let first = &sessions[0];
    assert_eq!((&first["agent"], &first["status"]), (&json!("math"), &json!("completed")));
    // What was run can be exported again.
    let id = first["id"].as_str().unwrap();
    assert_eq!(folder.run(&format!("export {id} --evalset again.evalset.json")).code, 0);
    assert_eq!(folder.run("eval again.evalset.json --agent other.yaml --golden-tools -q").code, 0);
}

#[test]
fn a_tool_that_nobody_plays_ends_the_case() {
    folder().run("eval g.evalset.json --agent agent.yaml --no-store").check(&expect![[r#"
        exit 1
        --- stdout
        ERROR    adds  TIME  not counted: tool
                 undecided tool_trajectory_avg_score
                   the case has 2 user messages and the session 1, so they cannot be compared
                 undecided response_match_score
                   the case has 2 user messages and the session 1, so they cannot be compared
                 error (system): tool `add` was called by agent `math`, but no mock answers this call

                   Add a mock under `setup.mocks` of the agent's file:
                       - method: add
                         when:
                           input: {"a":1,"b":2}
                         response: {"result": "…"}
                 transcript:
                     2  user: add 1 and 2
                     7  math calls add {"a":1,"b":2}
                 >   8  error: tool `add` was called by agent `math`, but no mock answers this call

        1 case: 0 passed, 1 with an error in TIME
        1 not counted: 1 tool; nothing is left to judge the agent by
        --- stderr
        warning: `g.evalset.json`: not acted on: $.eval_cases[0].rubrics: rubrics need a judge; nothing here reads them
        start    adds
        ERROR    adds  TIME  1 turn
        hint: `--golden-tools` lets the traces answer tool calls
    "#]]);
}

#[test]
fn what_cannot_be_run_is_said_before_anything_runs() {
    let folder = folder();
    folder.run("eval g.evalset.json --agent command.yaml").check(&expect![[r#"
        exit 2
        --- stdout
        --- stderr
        warning: `g.evalset.json`: not acted on: $.eval_cases[0].rubrics: rubrics need a judge; nothing here reads them
        error: command.yaml: an agent that is a `command` runs only in scenarios

        hint: write the agent inline, or reach it by `chat` or `http`
    "#]]);
    folder.run("eval g.evalset.json --agent agent.yaml --model judge=openai:gpt-4o").check(&expect![[r#"
        exit 2
        --- stdout
        --- stderr
        warning: `g.evalset.json`: not acted on: $.eval_cases[0].rubrics: rubrics need a judge; nothing here reads them
        error: `--model judge=openai:gpt-4o` changes nothing: the only model that is asked is `agent`
    "#]]);
    folder.run("eval g.evalset.json --agent none.yaml").check(&expect![[r#"
        exit 2
        --- stdout
        --- stderr
        warning: `g.evalset.json`: not acted on: $.eval_cases[0].rubrics: rubrics need a judge; nothing here reads them
        error: cannot read `none.yaml`: No such file or directory (os error 2)

        hint: there are:
          agent.yaml
          command.yaml
          other.yaml
    "#]]);
    assert_eq!(folder.run("eval words.json --agent agent.yaml").code, 2);
    assert!(!folder.path().join(".rehearsal").exists());
}

#[test]
fn results_are_json_too() {
    let ran =
        folder().run("eval g.evalset.json --agent agent.yaml --golden-tools --no-store --json - --repeat 2");
    let result: Value = rehearsal_core::json::from_str(&ran.stdout).unwrap();
    assert_eq!((&result["eval_set"], &result["summary"]["passed"]), (&json!("sums"), &json!(2)));
    assert_eq!(result["results"][1]["metrics"]["response_match_score"]["score"], 1.0);
}

#[test]
fn events_are_in_the_json_where_they_are_asked_for() {
    let folder = folder();
    let eval = "eval g.evalset.json --agent agent.yaml --golden-tools --json - --junit j.xml";
    let read = |more: &str| -> Value {
        rehearsal_core::json::from_str(&folder.run(&format!("{eval}{more}")).stdout).unwrap()
    };
    assert!(read(" --no-store")["results"][0]["events"].is_null());
    let with = read(" --events");
    let events = with["results"][0]["events"].as_array().unwrap();
    let kinds: Vec<&Value> = events.iter().map(|event| &event["body"]["type"]).collect();
    assert!(kinds.contains(&&json!("tool_call")) && kinds.contains(&&json!("session_ended")), "{kinds:?}");
    // The store has them already.
    let kept: Value = rehearsal_core::json::from_str(&folder.run("runs last --json").stdout).unwrap();
    assert_eq!(kept["result"]["results"][0]["name"], "adds");
    assert!(kept["result"]["results"][0]["events"].is_null());
    let junit = std::fs::read_to_string(folder.path().join("j.xml")).unwrap();
    assert!(junit.contains("<testcase name=\"adds\" classname=\"sums\""), "{junit}");
}

fn write(folder: &Folder, name: &str, text: &str) {
    std::fs::write(folder.path().join(name), text).unwrap();
}

/// An agent that makes a call more than the trace.
const CURIOUS: &str = "agent:
  name: math
  instructions: Add.
  tools: [{name: add, description: Adds}, {name: look_up, description: Looks, command: [touch, it-ran]}]
models:
  agent: {script: [{call: look_up, args: {word: sum}}, {call: add, args: {a: 1, b: 2}}, The sum is three, You are welcome]}
";

#[test]
fn a_call_more_is_a_failure_or_tolerated_and_never_an_error() {
    let folder = folder();
    write(&folder, "curious.yaml", CURIOUS);
    let eval = "eval g.evalset.json --agent curious.yaml --golden-tools --no-store";
    folder.run(eval).check(&expect![[r#"
        exit 1
        --- stdout
        FAILED   adds  TIME
                 failed tool_trajectory_avg_score (score 0.50)
                   the mean of 2 invocations is 0.5, the threshold 1
                   invocation 0 scores 0: expected add {"a":1,"b":2}, got look_up {"word":"sum"}, add {"a":1,"b":2}
                   invocation 1 scores 1: expected no calls, got no calls
                 passed response_match_score (score 1.00)
                   the mean of 2 invocations is 1, the threshold 0.8
                   invocation 0 scores 1: expected "The sum is three", got "The sum is three"
                   invocation 1 scores 1: expected "You are welcome", got "You are welcome"
                 passed golden_tools
                   the golden trace does not call `look_up` with {"word":"sum"}, and no mock answers it; the agent was told so [#7]
                 transcript:
                     2  user: add 1 and 2
                     7  math calls look_up {"word":"sum"}
                     8  look_up fails: NotInGoldenTrace: the golden trace does not call `look_up` with {"word":"sum"}
                    11  math calls add {"a":1,"b":2}
                    12  add gives {"result":3}
                    14  math: The sum is three
                    17  user: thank you
                    20  math: You are welcome

        1 case: 0 passed, 1 failed in TIME
        --- stderr
        warning: `g.evalset.json`: not acted on: $.eval_cases[0].rubrics: rubrics need a judge; nothing here reads them
        start    adds
        FAILED   adds  TIME  2 turns
    "#]]);
    for kind in ["IN_ORDER", "ANY_ORDER"] {
        let criteria =
            json!({"criteria": {"tool_trajectory_avg_score": {"threshold": 1, "match_type": kind}}});
        write(&folder, "tolerant.json", &criteria.to_string());
        let ran = folder.run(&format!("{eval} --criteria tolerant.json"));
        assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    }
    assert!(!folder.path().join("it-ran").exists());
}

#[test]
fn mocks_of_the_agents_file_answer() {
    let folder = folder();
    let mocks = "setup:
  mocks:
    - {method: look_up, when: {input: {word: sum}}, response: {found: adding}}
    - {method: add, response: {result: 3}}
";
    write(&folder, "mocked.yaml", &format!("{CURIOUS}{mocks}"));
    let mocked = "eval g.evalset.json --agent mocked.yaml --no-store --json -";
    for golden in ["", " --golden-tools"] {
        let ran = folder.run(&format!("{mocked}{golden}"));
        let result: Value = rehearsal_core::json::from_str(&ran.stdout).unwrap();
        // One more call, all of them answered: the trajectory fails, nothing else does.
        assert_eq!(result["summary"]["failed"], 1, "{}{}", ran.stdout, ran.stderr);
        assert_eq!(result["results"][0]["metrics"]["response_match_score"]["status"], "passed");
    }
    folder.run("eval g.evalset.json --agent mocked.yaml --no-store --golden-tools --verbose").check(&expect![[r#"
        exit 1
        --- stdout
        FAILED   adds  TIME
                 failed tool_trajectory_avg_score (score 0.50)
                   the mean of 2 invocations is 0.5, the threshold 1
                   invocation 0 scores 0: expected add {"a":1,"b":2}, got look_up {"word":"sum"}, add {"a":1,"b":2}
                   invocation 1 scores 1: expected no calls, got no calls
                 passed response_match_score (score 1.00)
                   the mean of 2 invocations is 1, the threshold 0.8
                   invocation 0 scores 1: expected "The sum is three", got "The sum is three"
                   invocation 1 scores 1: expected "You are welcome", got "You are welcome"
                 passed golden_tools
                 transcript:
                     2  user: add 1 and 2
                     7  math calls look_up {"word":"sum"}
                     8  look_up gives {"found":"adding"}
                    11  math calls add {"a":1,"b":2}
                    12  add gives {"result":3}
                    14  math: The sum is three
                    17  user: thank you
                    20  math: You are welcome

        1 case: 0 passed, 1 failed in TIME
        --- stderr
        warning: `g.evalset.json`: not acted on: $.eval_cases[0].rubrics: rubrics need a judge; nothing here reads them
        start    adds
        FAILED   adds  TIME  2 turns
    "#]]);
    // A mock that could never answer is refused as in a scenario.
    let bad = "setup:
  mocks:
    - {method: look_down, response: 1}
    - {method: look_up, when: {context: {step: 1}}, response: 1}
  seed: [touch it-ran]
";
    write(&folder, "bad.yaml", &format!("{CURIOUS}{bad}"));
    folder.run("eval g.evalset.json --agent bad.yaml --no-store").check(&expect![[r#"
        exit 2
        --- stdout
        --- stderr
        warning: `g.evalset.json`: not acted on: $.eval_cases[0].rubrics: rubrics need a judge; nothing here reads them
        error[never-used]: the agent has no tool `look_down` that this could play
         --> bad.yaml:9:8
          |
        9 |     - {method: look_down, response: 1}
          |        ^^^^^^
          |
        help: add the tool to `agent.tools`, or remove the mock

        error[never-true]: an agent's file has no steps, which give calls their `context`
          --> bad.yaml:10:32
           |
        10 |     - {method: look_up, when: {context: {step: 1}}, response: 1}
           |                                ^^^^^^^
           |
        help: write this mock into the scenario, or decide by `input`

        error[unknown-key]: `setup` of an agent's file has no key `seed`
          --> bad.yaml:11:3
           |
        11 |   seed: [touch it-ran]
           |   ^^^^
           |
        help: its keys are: `mocks`

    "#]]);
    assert!(!folder.path().join("it-ran").exists());
}
