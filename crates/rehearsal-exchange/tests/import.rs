//! Benchmarks as scenario files, from small ones that are written here.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]
#![expect(clippy::needless_raw_string_hashes, reason = "expect-test writes them")]

use std::fs;
use std::path::Path;

use expect_test::expect;
use rehearsal_exchange::bfcl::{self, BfclOptions};
use rehearsal_exchange::tau2::{self, Tau2Options};
use rehearsal_exchange::{Import, ImportError};
use serde_json::{Value, json};
use tempfile::TempDir;

fn write(folder: &Path, path: &str, text: &str) {
    let path = folder.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn lines(values: &[Value]) -> String {
    let lines: Vec<String> = values.iter().map(rehearsal_core::json::text).collect();
    lines.join("\n")
}

fn tau2_folder(tasks: &Value) -> TempDir {
    let folder = TempDir::new().unwrap();
    write(folder.path(), "domains/airline/tasks.json", &rehearsal_core::json::text(tasks));
    write(folder.path(), "domains/airline/policy.txt", "# Policy\nBe kind.");
    write(folder.path(), "user_simulator/simulation_guidelines.txt", "You are the customer.\n");
    folder
}

fn airline() -> Tau2Options {
    Tau2Options { domains: vec!["airline".to_owned()], ..Tau2Options::default() }
}

fn file<'i>(import: &'i Import, name: &str) -> &'i str {
    let found = import.files.iter().find(|(path, _)| path == Path::new(name));
    &found.unwrap_or_else(|| panic!("there is no {name} in {:?}", import.files)).1
}

#[test]
fn a_task_of_tau2_is_a_scenario_with_a_world() {
    let folder = tau2_folder(&json!([{
        "id": "7",
        "description": {"purpose": "Refuse the refund.", "notes": null},
        "user_scenario": {"persona": null, "instructions": {
            "domain": "airline", "reason_for_call": "Your flight is late.", "known_info": "You are Ann.",
            "task_instructions": "Ask once."}},
        "initial_state": null,
        "evaluation_criteria": {
            "actions": [{"action_id": "7_0", "name": "send_certificate", "arguments": {"user_id": "ann", "amount": 50}}],
            "communicate_info": ["1628", "4"],
            "nl_assertions": ["Agent is kind."]},
        "annotations": "x",
    }]));
    let import = tau2::import(folder.path(), &airline()).unwrap();
    expect![[r####"
        # Task 7 of tau2-bench, written by `rehearse import --tau2`. `loss-report.json` says what is not as it was there.
        name: tau2 airline 7
        description: Refuse the refund.
        tags: ["tau2", "airline"]
        environment: {"type": "local"}
        world: {"command": ["python3", "tau2_world.py", "airline", "7"]}
        agent:
          instructions: |
            You serve the customers of a company, and follow its policy. In one turn you either write to the customer or call a tool, never both.

            <policy>
            # Policy
            Be kind.
            </policy>
          max_rounds: 200
        run:
          - conversation:
              max_turns: 100
              timeout_per_turn_ms: 600000
              total_timeout_ms: 3600000
              user_simulator:
                instructions: |
                  You are the customer.

                  <scenario>
                  Instructions:
                    Domain:
                      airline
                    Reason for call:
                      Your flight is late.
                    Known info:
                      You are Ann.
                    Task instructions:
                      Ask once.
                  </scenario>
                stop: ["###STOP###", "###TRANSFER###", "###OUT-OF-SCOPE###"]
                temperature: 0
                max_tokens: 1000
              final_evaluations:
                - type: world_state
                  after:
                    - {"tool": "send_certificate", "args": {"user_id": "ann", "amount": 50}}
                  allow_errors: true
                - {"type": "regex_match", "in": "any", "pattern": "1,?6,?2,?8"}
                - {"type": "string_contains", "in": "any", "value": "4"}
                - {"type": "llm_judge", "prompt": "Does this hold of the conversation: Agent is kind.", "expected": "yes"}
        judgment: {"strategy": "all_pass"}
    "####]]
    .assert_eq(file(&import, "airline-7.scenario.yaml"));
    let notes: Vec<String> = import.report.tasks[0].notes.iter().map(ToString::to_string).collect();
    expect![[r#"
        lost `annotations`: notes of the authors, which nothing reads
        stricter natural-language assertions: they are asked of a judge here, and do not count in tau2's own reward for this task; `--basis-only` leaves them out"#]]
    .assert_eq(&notes.join("\n"));
}

#[test]
fn a_task_that_no_world_can_set_up_is_reported_and_not_written() {
    let folder = tau2_folder(&json!([{"id": "1", "initial_state": {"message_history": [{"role": "user"}]}}]));
    let import = tau2::import(folder.path(), &airline()).unwrap();
    assert_eq!((import.report.written(), import.report.tasks.len()), (0, 1));
    assert_eq!(
        import.report.tasks[0].notes[0].to_string(),
        "lost the task: its `initial_state` has `message_history`, which no world sets up"
    );
}

#[test]
fn another_folder_and_another_task_are_named() {
    let folder = tau2_folder(&json!([]));
    let error = tau2::import(&folder.path().join("domains"), &airline()).unwrap_err();
    assert!(
        matches!(error, ImportError::Folder { .. })
            && error.hint().unwrap().contains("inspect_evals/tau2/data"),
        "{error}"
    );
    let error =
        tau2::import(folder.path(), &Tau2Options { tasks: vec!["9".to_owned()], ..airline() }).unwrap_err();
    assert!(error.to_string().starts_with("there is no task `9`"), "{error}");
    let error = tau2::import(folder.path(), &Tau2Options { domains: vec!["bank".to_owned()], ..airline() });
    assert!(error.unwrap_err().to_string().starts_with("there is no domain `bank`"));
}

/// A benchmark of one entry, whose turns are a message and then the functions that it withholds.
fn bfcl_folder(id: &str, ground_truth: &Value) -> TempDir {
    let folder = TempDir::new().unwrap();
    for name in [
        "gorilla_file_system",
        "math_api",
        "message_api",
        "posting_api",
        "ticket_api",
        "trading_bot",
        "travel_booking",
        "vehicle_control",
    ] {
        let documents =
            [json!({"name": format!("f_{name}"), "parameters": {"properties": {"a": {}, "b": {}}}})];
        write(folder.path(), &format!("multi_turn_func_doc/{name}.json"), &lines(&documents));
    }
    let entry = json!({"id": id, "question": [[{"role": "user", "content": "Sort it."}], []],
        "involved_classes": ["MathAPI"], "missed_function": {"1": ["f_math_api"]}});
    let truth = json!({"id": id, "ground_truth": ground_truth});
    write(folder.path(), "BFCL_v4_multi_turn_miss_func.json", &lines(&[entry]));
    write(folder.path(), "possible_answer/BFCL_v4_multi_turn_miss_func.json", &lines(&[truth]));
    folder
}

fn entry(id: &str, ground_truth: &Value) -> Import {
    let options = BfclOptions { entries: vec![id.to_owned()] };
    bfcl::import(bfcl_folder(id, ground_truth).path(), &options).unwrap()
}

#[test]
fn functions_that_are_withheld_come_with_a_turn_of_the_user() {
    let import = entry("multi_turn_miss_func_3", &json!([[], ["f_math_api('x', b=2)"]]));
    expect![[r##"
        # Entry multi_turn_miss_func_3 of BFCL, written by `rehearse import --bfcl`. `loss-report.json` says what is not as it was there.
        name: BFCL multi_turn_miss_func_3
        tags: ["bfcl", "multi_turn_miss_func"]
        description: With MathAPI.
        environment: {"type": "local"}
        world: {"command": ["python3", "bfcl_world.py", "multi_turn_miss_func_3"]}
        agent: {"instructions": "Call the functions that the user's request needs.", "max_rounds": 20}
        run:
          - {"input": "Sort it.", "evaluations": []}
          - conversation:
              max_turns: 2
              user:
                script: [{"call": "more_functions"}, "I have updated some more functions you can choose from. What about now?"]
              final_evaluations:
                - {"type": "event_count", "event": "tool_call", "min_count": 1}
                - type: world_state
                  after:
                    - {"tool": "more_functions", "by": "user"}
                    - {"tool": "f_math_api", "args": {"a": "x", "b": 2}}
                  allow_errors: true
                - type: state
                  matches: {"world.answered.turn_2": {"$size": 0}}
        judgment: {"strategy": "all_pass"}
    "##]]
    .assert_eq(file(&import, "multi_turn_miss_func_3.scenario.yaml"));
}

#[test]
fn entries_that_nobody_could_pass_are_reported_and_not_written() {
    for (truth, why) in [
        (
            "f_math_api('x')",
            "its ground truth calls `f_math_api` in turn 1, and the entry withholds that function until later: no agent has it then",
        ),
        (
            "f_message_api(g())",
            "the call `f_message_api(g())` of its ground truth cannot be read: `g` is no literal",
        ),
    ] {
        let import = entry("multi_turn_miss_func_3", &json!([[truth], []]));
        assert_eq!((import.report.written(), import.report.tasks.len()), (0, 1));
        assert_eq!(import.report.tasks[0].notes[0].to_string(), format!("lost the entry: {why}"));
    }
}

#[test]
fn arguments_of_another_type_than_the_document_says_are_noted() {
    let id = "multi_turn_miss_func_3";
    let folder = bfcl_folder(id, &json!([["f_message_api('x', b=1)"], []]));
    let typed = json!({"name": "f_message_api", "parameters": {"properties": {"a": {"type": "integer"}, "b": {"type": "float"}}}});
    write(folder.path(), "multi_turn_func_doc/message_api.json", &lines(&[typed]));
    let import = bfcl::import(folder.path(), &BfclOptions { entries: vec![id.to_owned()] }).unwrap();
    assert_eq!(
        import.report.tasks[0].notes[0].to_string(),
        "changed `a` of `f_message_api`: it takes a text too, which the ground truth gives against the function document"
    );
}
