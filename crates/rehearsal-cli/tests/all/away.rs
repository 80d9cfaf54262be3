//! A run whose store goes away for a while.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use rehearsal_core::json;
use rehearsal_testkit::postgres::Unsteady;
use serde_json::Value;

use crate::support::Folder;

const SCENARIO: &str = "name: away
description: d
environment: {type: local}
agent: {instructions: x, tools: [{name: wait, description: d}]}
models: {agent: {script: [{call: wait}, {call: wait}, {call: wait}, done]}}
setup: {mocks: [{method: wait, response: 1, metadata: {delay: 100}}]}
run:
  - {input: hi, evaluations: [{type: string_contains, value: done}]}
judgment: {strategy: all_pass}
";

#[test]
fn a_run_outwaits_a_database_that_is_started_again() {
    let mut postgres = Unsteady::new();
    let folder = Folder::new(&[("a.scenario.yaml", SCENARIO)]);
    for away in [1700, 5000] {
        let mut run = folder.command("run a.scenario.yaml --repeat 30 --jobs 3");
        run.env("REHEARSAL_STORE", postgres.address()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut run = run.spawn().unwrap();
        let mut told = BufReader::new(run.stderr.take().unwrap()).lines().map(Result::unwrap);
        // In the middle of it: some are over, most are not, and some are under way.
        let first = told.by_ref().filter(|line| line.starts_with("passed")).nth(3);
        assert!(first.is_some(), "the run ended before the database did");
        postgres.stop();
        thread::sleep(Duration::from_millis(away));
        postgres.start();
        let rest: Vec<String> = told.collect();
        let ended = run.wait_with_output().unwrap();
        let stdout = String::from_utf8(ended.stdout).unwrap();
        assert_eq!(ended.status.code(), Some(0), "{away} ms\n{stdout}\n{}", rest.join("\n"));
        let kept = folder.command("runs --json").env("REHEARSAL_STORE", postgres.address()).output().unwrap();
        let kept: Value = json::from_slice(&kept.stdout).unwrap();
        assert_eq!(kept[0]["summary"]["passed"], 30, "{kept}");
    }
}
