//! Scenario files, run by a test in Rust.

#![cfg(feature = "scenario")]

use rehearsal::prelude::*;

const HELLO: &str = include_str!("../../rehearsal-cli/src/commands/init/hello.scenario.yaml");

const GREETS: &str = "name: greets
description: The agent greets people by their names
environment: {type: local}
agent: {instructions: You are friendly.}
run:
  - input: Hi, I am Ada
    evaluations: [{type: string_contains, value: Ada}]
judgment: {strategy: all_pass}
";

fn says(text: &str) -> ScriptedModel {
    ScriptedModel::list("script", [Reply::text(text)])
}

#[test]
fn the_first_scenario_passes_as_it_is() {
    ScenarioFile::parse(HELLO).unwrap().assert_passes();
}

#[test]
fn a_model_of_the_test_plays_the_agent() {
    let file = ScenarioFile::parse(GREETS).unwrap();
    let verdict = |text: &str| {
        let played = file.clone().model("agent", says(text)).run_blocking().unwrap();
        assert_eq!(played.result.name, "greets");
        assert!(!played.run.events().is_empty());
        played.result.status
    };
    assert_eq!(verdict("Hello Ada"), Verdict::Passed);
    assert_eq!(verdict("Hello you"), Verdict::Failed);
}

#[test]
fn what_is_missing_or_wrong_is_told_with_its_place() {
    let missing = ScenarioFile::parse(GREETS).unwrap().run_blocking().unwrap_err();
    let told = missing.to_string();
    assert!(told.contains("no model is called `agent`") && told.contains("scenario.yaml:1:1"), "{told}");
    let wrong = ScenarioFile::parse("name: x\nruns: []\n").unwrap_err();
    assert!(wrong.to_string().contains("the scenario has no key `runs`"), "{wrong}");
    assert!(matches!(wrong, ScenarioFileError::Problems { problems, .. } if problems.len() > 1));
}

#[test]
fn no_program_is_started_unless_the_test_allows_it() {
    let code = GREETS.replace("input: Hi, I am Ada", "code: echo Ada");
    let file = ScenarioFile::parse(&code).unwrap();
    assert!(matches!(file.run_blocking(), Err(ScenarioFileError::Problems { .. })));
}

#[test]
fn files_go_into_a_suite() {
    let file = ScenarioFile::parse(GREETS).unwrap().model("agent", says("Hello Ada"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let suite = Suite::new([file.maker().unwrap(), file.maker().unwrap()]);
    assert_eq!(runtime.block_on(suite.run()).result.summary.passed, 2);
}

#[test]
fn a_file_with_rows_has_a_case_for_each() {
    let folder = tempfile::tempdir().unwrap();
    let rows = GREETS.replace("input: ", "input: ${row.who} says ") + "cases: {csv: rows.csv}\n";
    let path = folder.path().join("a.scenario.yaml");
    std::fs::write(&path, rows).unwrap();
    std::fs::write(folder.path().join("rows.csv"), "name,who\na,Ada\nb,Bob\n").unwrap();
    let cases = ScenarioFile::cases(&path).unwrap();
    let names: Vec<&str> = cases.iter().map(|case| case.scenario().name.as_str()).collect();
    assert_eq!(names.iter().map(|name| name.rsplit(' ').next().unwrap()).collect::<Vec<_>>(), ["[a]", "[b]"]);
    assert!(ScenarioFile::read(&path).unwrap_err().to_string().contains("it makes 2 cases"));
}
