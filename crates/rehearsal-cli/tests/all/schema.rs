//! `rehearse schema`, as a user runs it.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]
#![expect(clippy::needless_raw_string_hashes, reason = "expect-test writes them")]

use std::fs;
use std::process::{Command, Output};

use expect_test::expect;
use rehearsal_core::Schema;
use rehearsal_scenario::yaml;
use serde_json::{Value, json};
use tempfile::TempDir;

fn rehearse(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_rehearse")).args(args).output().unwrap()
}

fn printed(args: &[&str]) -> Value {
    let output = rehearse(args);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    rehearsal_core::json::from_slice(&output.stdout).unwrap()
}

fn violations(schema: Value, value: &Value) -> Vec<String> {
    Schema::new(schema).check(value).unwrap().iter().map(ToString::to_string).collect()
}

const TALK: &str = "
name: Talks
description: With a scripted user and a judge
agent: {instructions: Greet.}
models:
  agent: {script: [hello, good bye]}
  judge: {rules: [{json: {reasoning: it was, judgment: 'yes', confidence: 1}}]}
environment: {type: local}
run:
  - input: hi
    conversation:
      max_turns: 2
      user: {script: [bye]}
      turn_evaluations: [{type: string_contains, value: o}]
      final_evaluations: [{type: llm_judge, prompt: Was it kind?, expected: 'yes'}]
  - code: echo done
    evaluations: [{type: string_contains, value: done}]
judgment: {strategy: all_pass}
";

#[test]
fn every_kind_is_a_schema_of_the_draft_editors_are_told() {
    for (args, title) in [
        (&["schema"][..], "Rehearsal scenario"),
        (&["schema", "file"], "Rehearsal scenario"),
        (&["schema", "agent"], "Rehearsal agent"),
        (&["schema", "result"], "RunResult"),
    ] {
        let schema = printed(args);
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
        assert_eq!(schema["title"], title);
        assert!(!violations(schema, &json!({})).is_empty(), "{title} takes anything");
    }
}

#[test]
fn files_that_can_be_used_satisfy_the_schema_of_files() {
    let talk = yaml::parse(TALK).unwrap().to_json();
    assert_eq!(violations(printed(&["schema"]), &talk), [""; 0]);
    let agent = json!({"agent": talk["agent"], "models": talk["models"]});
    assert_eq!(violations(printed(&["schema", "agent"]), &agent), [""; 0]);
    let misspelt = yaml::parse(&TALK.replace("turn_evaluations", "turn_evaluation")).unwrap().to_json();
    assert!(!violations(printed(&["schema"]), &misspelt).is_empty());
}

#[test]
fn what_a_run_writes_satisfies_the_schema_of_results() {
    let folder = TempDir::new().unwrap();
    for (text, code) in [(TALK.to_owned(), 0), (TALK.replace("good bye", "{fail: it is down}"), 1)] {
        fs::write(folder.path().join("talk.scenario.yaml"), text).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_rehearse"));
        let output = command.args(["run", ".", "--json", "-"]).current_dir(folder.path()).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{}", String::from_utf8_lossy(&output.stderr));
        let result: Value = rehearsal_core::json::from_slice(&output.stdout).unwrap();
        assert_eq!(violations(printed(&["schema", "result"]), &result), [""; 0]);
    }
}

#[test]
fn an_unknown_kind_is_refused_with_those_that_are_known() {
    let output = rehearse(&["schema", "results"]);
    assert_eq!(output.status.code(), Some(2));
    expect![[r#"
        error: invalid value 'results' for '[OF]'
          [possible values: file, result, agent, config]

          tip: a similar value exists: 'result'

        For more information, try '--help'.
    "#]]
    .assert_eq(&String::from_utf8_lossy(&output.stderr));
}

#[test]
fn the_help_says_how_editors_find_it() {
    let output = rehearse(&["schema", "--help"]);
    let help = String::from_utf8(output.stdout).unwrap();
    let examples = &help[help.find("Examples:").unwrap()..];
    expect![[r#"
        Examples:
          rehearse schema > scenario.schema.json

          Then, as the first line of a scenario file, for any editor with the YAML language server:
            # yaml-language-server: $schema=./scenario.schema.json

          Or for all scenario files, in the settings of VS Code with its YAML extension:
            "yaml.schemas": {"./scenario.schema.json": ["*.scenario.yaml", "*.scenario.yml"]}
    "#]]
    .assert_eq(examples);
}
