//! Many conversations against a model server, beside a bare client that makes the same calls.

use std::fs;
use std::process::Command;

use crate::meter;
use crate::server::Server;

/// How many conversations run.
pub(crate) const CONVERSATIONS: usize = 200;

/// How many run side by side, in both programs.
pub(crate) const JOBS: usize = 16;

const ROUNDS: usize = 5;

fn scenario(number: usize, base_url: &str) -> String {
    format!(
        "\
name: Conversation {number}
description: Three turns, one mocked tool, one string check, one judge
environment: {{type: local}}
models:
  agent: openai-compatible:bench@{base_url}
  judge: openai-compatible:bench@{base_url}
agent:
  instructions: You help the customers of a small shop.
  tools:
    - name: look_up
      description: Looks up an order
      parameters: {{type: object, properties: {{order: {{type: integer}}}}, required: [order]}}
setup:
  mocks:
    - method: look_up
      when: {{input: {{order: 7}}}}
      response: {{status: shipped}}
run:
  - input: Where is my order 7?
    conversation:
      max_turns: 3
      user: {{script: [When will it arrive?, Thank you]}}
      final_evaluations:
        - {{type: string_contains, value: welcome}}
        - {{type: llm_judge, prompt: Was the customer told where the order is?, expected: \"yes\"}}
judgment: {{strategy: all_pass}}
"
    )
}

pub(crate) fn measure() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let record = folder.path().join("calls.jsonl");
    let server = Server::start(&record);
    let scenarios = folder.path().join("scenarios");
    fs::create_dir(&scenarios).expect("a folder can be made");
    for number in 0..CONVERSATIONS {
        let path = scenarios.join(format!("{number}.scenario.yaml"));
        fs::write(path, scenario(number, &server.base_url)).expect("a file can be written");
    }
    let rehearse = |paths: &str, out: usize| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rehearse"));
        let (jobs, out) = (JOBS.to_string(), format!("out-{out}"));
        command.current_dir(folder.path()).args(["run", paths, "--quiet", "--out", &out, "--jobs", &jobs]);
        command
    };
    // The bare client sends what one conversation sent, byte for byte.
    meter::run(&mut rehearse("scenarios/0.scenario.yaml", 0));
    let bodies = folder.path().join("one.jsonl");
    fs::copy(&record, &bodies).expect("the server wrote down what it was sent");
    let calls = fs::read_to_string(&bodies).expect("it is text").lines().count();
    let bare = || {
        let mut command = Command::new(std::env::current_exe().expect("the benchmark knows where it is"));
        command.arg("bare").arg(&server.base_url).arg(&bodies);
        command
    };
    // CPU is counted in hundredths of a second, so several rounds are added up.
    let (mut ours, mut theirs) = ((0.0, 0.0), (0.0, 0.0));
    for round in 1..=ROUNDS {
        let taken = meter::run(&mut bare());
        theirs = (theirs.0 + taken.cpu, theirs.1 + taken.wall.as_secs_f64());
        let taken = meter::run(&mut rehearse("scenarios", round));
        ours = (ours.0 + taken.cpu, ours.1 + taken.wall.as_secs_f64());
    }
    #[expect(clippy::cast_precision_loss, reason = "a few rounds")]
    let rounds = ROUNDS as f64;
    println!(
        "conversations: {CONVERSATIONS} of 3 user turns ({calls} model calls each), {JOBS} side by side, against a loopback server"
    );
    println!("  bare client             {:8.3} s CPU  {:8.3} s", theirs.0 / rounds, theirs.1 / rounds);
    println!("  rehearse run            {:8.3} s CPU  {:8.3} s", ours.0 / rounds, ours.1 / rounds);
    println!("  ratio of CPU            {:8.2}        (aim: at most 4)", ours.0 / theirs.0);
}
