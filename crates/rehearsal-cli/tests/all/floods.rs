//! Models and agents that send more than anybody can use: the run says so and goes on.

#![cfg(unix)]
#![expect(clippy::needless_raw_string_hashes, reason = "expect-test writes them")]

use expect_test::expect;

use crate::support::{Folder, Ran};

const TAIL: &str = "run:\n  - input: hi\n    evaluations: [{type: string_contains, value: hello}]\njudgment: {strategy: all_pass}\n";

/// Runs one scenario; gives what was printed, which is little.
fn run(head: &str) -> Ran {
    let text = format!("name: Floods\ndescription: x\nenvironment: {{type: local}}\n{head}{TAIL}");
    let ran = Folder::new(&[("a.scenario.yaml", &text)]).run("run a.scenario.yaml");
    assert_eq!(ran.code, 1, "{}", ran.stdout);
    assert!(ran.stdout.len() + ran.stderr.len() < 64 * 1024, "{} bytes", ran.stdout.len());
    ran
}

fn calls(calls: &str) -> Ran {
    run(&format!(
        "agent:\n  instructions: x\n  tools: [{{name: look, parameters: {{type: object}}}}]\nsetup:\n  mocks: [{{method: look, response: ok}}]\nmodels: {{agent: {{script: [{{calls: [{calls}]}}, hello]}}}}\n"
    ))
}

#[test]
fn a_turn_with_too_many_calls_makes_none() {
    calls(&["{tool: look, args: {}}"; 1001].join(", ")).check(&expect![[r#"
        exit 1
        --- stdout
        ERROR    Floods  TIME
                 a.scenario.yaml
                 step 1: did not come to its end
                 error (system): agent `agent`: its model turn is too large: it makes 1001 calls; a turn may make 1000
                 mocks that answered nothing: mocks[0] (line 8)
                 transcript:
                     4  user: hi
                 >   8  error: agent `agent`: its model turn is too large: it makes 1001 calls; a turn may make 1000
                 again: rehearse run a.scenario.yaml --case-seed SEED

        1 scenario: 0 passed, 1 with an error in TIME
        --- stderr
        start    Floods
        ERROR    Floods  TIME  1 turn
        kept: rehearse runs RUN
    "#]]);
}

#[test]
fn a_turn_with_a_huge_name_makes_no_call() {
    let shown = calls(&format!("{{tool: {}, args: {{}}}}", "n".repeat(1_000_000))).stdout;
    assert!(shown.contains("has 1000000 bytes; a name may have 1024"), "{shown}");
}

/// An agent that sends the same message for ever.
fn flood(message: &str) -> String {
    run(&format!("agent:\n  command: |\n    read start; read message; yes '{message}'\n")).stdout
}

#[test]
fn an_agent_that_never_stops_talking_is_stopped() {
    for kind in ["message", "log"] {
        let shown = flood(&format!(r#"{{"type": "{kind}", "text": "and on"}}"#));
        assert!(shown.contains("it sent more than 10000 messages in one turn"), "{shown}");
    }
    assert!(flood("").contains("it sent more than 10000 messages in one turn"));
}
