//! What could look like a pass, or like somebody else's mistake, and is neither.

use std::fs;

use rehearsal_core::json;
use serde_json::Value;

use crate::support::Folder;

const HEAD: &str = "name: verdicts\ndescription: d\njudgment: {strategy: all_pass}\n";

#[test]
fn failed_and_undecided_is_failed_and_says_that_something_was_undecided() {
    let text = "environment: {type: local}
agent: {instructions: x}
models: {agent: {script: [done]}, judge: {script: [no idea, no idea, no idea]}}
run:
  - input: hi
    evaluations:
      - {type: string_contains, value: nope}
      - {type: llm_judge, prompt: Is it?, expected: 'yes'}
";
    let folder = Folder::new(&[("a.scenario.yaml", &format!("{HEAD}{text}"))]);
    let ran = folder.run("run a.scenario.yaml --no-store --junit junit.xml --json result.json");
    assert_eq!(ran.code, 1, "{}", ran.stdout);
    for said in ["FAILED   verdicts", "failed string_contains", "undecided llm_judge", "0 passed, 1 failed"] {
        assert!(ran.stdout.contains(said), "{said}\n{}", ran.stdout);
    }
    let result: Value =
        json::from_str(&fs::read_to_string(folder.path().join("result.json")).unwrap()).unwrap();
    let result = &result["results"][0];
    assert_eq!(result["status"], "failed", "{result}");
    assert!(result["error"]["message"].as_str().unwrap().contains("could not be decided"), "{result}");
    let junit = fs::read_to_string(folder.path().join("junit.xml")).unwrap();
    assert!(junit.contains("failures=\"1\" errors=\"0\""), "{junit}");
    assert!(junit.contains("<failure message=\"1: string_contains"), "{junit}");
    assert!(junit.contains("(and 1 evaluation could not be decided)"), "{junit}");
}

#[test]
fn a_computed_answer_is_held_to_the_output_schema_too() {
    let text = "environment: {type: local}
agent:
  instructions: x
  tools: [{name: find, description: d, output: {type: object, properties: {total: {type: number}}, required: [total]}}]
models: {agent: {script: [{call: find}, done]}}
setup: {mocks: [{method: find, responseFn: '() => ({total: \"much\"})'}]}
run:
  - input: hi
    evaluations: [{type: tool_called, tool: find}]
";
    let folder = Folder::new(&[("a.scenario.yaml", &format!("{HEAD}{text}"))]);
    let ran = folder.run("run a.scenario.yaml --no-store");
    assert_eq!(ran.code, 1, "{}", ran.stdout);
    let said = "find fails: InvalidOutput: the result of `find` breaks its schema: $.total: \"much\" is not of type \"number\"";
    assert!(ran.stdout.contains(said), "{}", ran.stdout);
}

#[test]
fn code_for_a_sandbox_runs_on_this_machine_only_with_consent() {
    let agent = "agent: {instructions: x}\nmodels: {agent: {script: [hi]}}\n";
    let code = "environment: {type: e2b}
run:
  - {name: s, lang: bash, code: 'touch $PWD/../ran; echo hi', evaluations: [{type: string_contains, value: hi}]}
";
    let command = "environment: {type: e2b}
run:
  - {name: s, input: hi, evaluations: [{type: command_exit_code_is, command: 'true', expected_code: 0}]}
";
    let talk = "environment: {type: e2b}
run:
  - {name: s, input: hi, evaluations: [{type: string_contains, value: hi}]}
";
    let files = [("code", code), ("command", command), ("talk", talk)];
    let folder = Folder::new(&[("agent.yaml", agent)]);
    for (name, text) in files {
        fs::write(folder.path().join(format!("{name}.scenario.yaml")), format!("{HEAD}{text}")).unwrap();
    }
    let run = |name: &str, more: &str| {
        folder.run(&format!("run {name}.scenario.yaml --compat elizaos --agent agent.yaml --no-store{more}"))
    };
    for name in ["code", "command"] {
        for more in ["", " --live"] {
            let ran = run(name, more);
            assert_eq!(ran.code, 2, "{}{}", ran.stdout, ran.stderr);
            let said = "this file asks for a sandbox (`e2b`), which is not there: its code would run on this machine";
            assert!(ran.stderr.contains(said) && ran.stderr.contains("add: --local-code"), "{}", ran.stderr);
        }
        let ran = run(name, " --local-code");
        assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    }
    let ran = run("talk", "");
    assert_eq!(ran.code, 0, "what runs no code needs no sandbox: {}", ran.stderr);
    let checked = folder.run("check code.scenario.yaml --compat elizaos");
    assert_eq!(checked.code, 0, "{}", checked.stderr);
    assert!(
        format!("{}{}", checked.stdout, checked.stderr).contains("warning[no-sandbox]"),
        "{}",
        checked.stdout
    );
}
