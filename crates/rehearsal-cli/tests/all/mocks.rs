//! JavaScript in scenarios: mocks and conditions, through the command, which is the process that evaluates.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::fs;
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

/// What came of running a scenario.
struct Outcome {
    code: i32,
    scenario: Value,
    stderr: String,
    /// The events of the agent's session.
    events: Vec<Value>,
}

impl Outcome {
    /// What the tools gave.
    fn outcomes(&self) -> Vec<Value> {
        let results = self.events.iter().filter(|event| event["body"]["type"] == "tool_result");
        results.map(|event| event["body"]["outcome"].clone()).collect()
    }

    /// Which mocks answered, by their places in the file.
    fn answered(&self) -> Vec<String> {
        let answered = self.scenario["mocks"]["answered"].as_array().unwrap();
        answered
            .iter()
            .map(|answer| answer["by"].as_str().unwrap().split(' ').next().unwrap().to_owned())
            .collect()
    }

    fn error(&self) -> &str {
        self.scenario["error"]["message"]
            .as_str()
            .unwrap_or_else(|| panic!("{:#}\n{}", self.scenario, self.stderr))
    }
}

fn run(text: &str, args: &[&str]) -> Outcome {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("a.scenario.yaml"), text).unwrap();
    let command = Command::new(env!("CARGO_BIN_EXE_rehearse"))
        .args(["run", "a.scenario.yaml", "--json", "-", "--out", "out"])
        .args(args)
        .current_dir(folder.path())
        .output()
        .unwrap();
    let stderr = String::from_utf8(command.stderr).unwrap();
    let code = command.status.code().unwrap();
    if code == 2 {
        return Outcome { code, scenario: Value::Null, stderr, events: Vec::new() };
    }
    let result: Value = rehearsal_core::json::from_slice(&command.stdout).unwrap();
    let scenario = result["results"][0].clone();
    let ledger = folder.path().join(scenario["ledgers"][0].as_str().unwrap());
    let events = fs::read_to_string(ledger)
        .unwrap()
        .lines()
        .map(|line| rehearsal_core::json::from_str(line).unwrap())
        .collect();
    Outcome { code, scenario, stderr, events }
}

/// A scenario whose agent makes these turns, then says done; the mocks begin at line 9.
fn scenario(turns: &str, mocks: &str) -> String {
    format!(
        "name: A test
description: of mocks
environment: {{type: local}}
judgment: {{strategy: all_pass}}
agent: {{instructions: Help., tools: [{{name: find}}, {{name: send, service: mail}}]}}
models: {{agent: {{script: [{turns}, done]}}}}
setup:
  mocks:
{mocks}
run:
  - {{input: go, context: {{user: ann}}, evaluations: [{{type: string_contains, value: done}}]}}
"
    )
}

fn one_call(mocks: &str) -> Outcome {
    let outcome = run(&scenario("{call: find, args: {id: 7, tags: [a, b]}}", mocks), &[]);
    assert!(outcome.code < 2, "{}", outcome.stderr);
    outcome
}

#[test]
fn a_response_function_sees_the_call() {
    let outcome = one_call(
        "    - method: find
      responseFn: '() => ({same: args[0].id === input.id, tags: input.tags.length, user: context.user, step: context.step})'",
    );
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    assert_eq!(outcome.outcomes(), [json!({"output": {"same": true, "tags": 2, "user": "ann", "step": 1}})]);
    let outcome =
        one_call("    - {method: find, responseFn: '(args, input, context) => input.id + context.turn'}");
    assert_eq!(outcome.outcomes(), [json!({"output": 8})]);
}

#[test]
fn whole_numbers_of_any_size_stay_what_they_are() {
    let id = "123456789012345678901234567890";
    let other = "123456789012345678901234567891";
    let call = format!("{{call: find, args: {{id: {id}}}}}");
    let mocks = format!(
        "    - {{method: find, when: {{input: {{id: {other}}}}}, response: another}}
    - {{method: find, when: {{input: {{id: {id}}}}}, response: {{id: {id}, next: 18446744073709551617, odd: 9007199254740993}}}}"
    );
    let outcome = run(&scenario(&call, &mocks), &[]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    assert_eq!(outcome.answered(), ["mocks[1]"]);
    let ledger: String = outcome.events.iter().map(rehearsal_core::json::text).collect();
    assert!(ledger.contains(&format!("\"args\":{{\"id\":{id}}}")), "{ledger}");
    let output = format!("{{\"id\":{id},\"next\":18446744073709551617,\"odd\":9007199254740993}}");
    assert!(ledger.contains(&output), "{ledger}");
    let echoed = run(&scenario(&call, "    - {method: find, responseFn: '({id: input.id})'}"), &[]);
    assert_eq!(rehearsal_core::json::text(&echoed.outcomes()[0]), format!("{{\"output\":{{\"id\":{id}}}}}"));
}

#[test]
fn the_template_form_works_too() {
    let outcome = one_call("    - {method: find, responseFn: 'order ${input.id} of ${context.user}'}");
    assert_eq!(outcome.outcomes(), [json!({"output": "order 7 of ann"})]);
}

#[test]
fn a_matcher_weighs_less_than_context_and_more_than_partial_arguments() {
    let mocks = |other: &str| {
        format!(
            "    - {{method: find, when: {{{other}}}, response: other}}
    - {{method: find, when: {{matcher: 'input.id > 6'}}, response: matched}}"
        )
    };
    assert_eq!(one_call(&mocks("partialArgs: [{id: 7}]")).answered(), ["mocks[1]"]);
    assert_eq!(one_call(&mocks("context: {user: ann}")).answered(), ["mocks[0]"]);
    assert_eq!(one_call(&mocks("matcher: 'input.id === 7'")).answered(), ["mocks[0]"], "ties go by the file");
    // 4 + 2 = 6: a tie with context, and the file's order decides.
    let sum = "    - {method: find, when: {matcher: 'input.id > 6', partialArgs: [{id: 7}]}, response: 1}
    - {method: find, when: {context: {user: ann}}, response: 2}";
    assert_eq!(one_call(sum).answered(), ["mocks[0]"]);
}

#[test]
fn a_matcher_that_does_not_hold_is_a_near_miss() {
    let outcome = one_call("    - {method: find, when: {matcher: 'input.id > 7'}, response: 1}");
    assert_eq!(outcome.code, 1);
    assert!(outcome.error().contains("mocks[0] (line 9): its `matcher` gives false"), "{}", outcome.error());
}

#[test]
fn time_stands_still_at_the_runs_clock() {
    let outcome = one_call(
        "    - {method: find, responseFn: '(() => { const a = Date.now(); for (let i = 0; i < 100000; i++); return [a, Date.now(), new Date().getTime()] })()'}",
    );
    let times = outcome.outcomes()[0]["output"].clone();
    assert!(times[0] == times[1] && times[1] == times[2], "{times}");
    let told = times[0].as_i64().unwrap();
    let step = &outcome.scenario["steps"][0]["execution"];
    let (began, ended) = (step["started_at_ms"].as_i64().unwrap(), step["ended_at_ms"].as_i64().unwrap());
    assert!((began..=ended).contains(&told), "{told} in {began}..={ended}");
}

#[test]
fn chance_follows_the_seed() {
    let text = scenario(
        "{calls: [{tool: find, args: {id: 1}}, {tool: find, args: {id: 2}}]}",
        "    - {method: find, responseFn: '[Math.random(), Math.random()]'}",
    );
    let draws = |seed: &str| run(&text, &["--seed", seed]).outcomes();
    let first = draws("1");
    assert_eq!(first, draws("1"));
    assert_ne!(first, draws("2"));
    assert_ne!(first[0], first[1], "each call has chances of its own");
    assert_ne!(first[0]["output"][0], first[0]["output"][1]);
}

#[test]
fn javascript_that_fails_is_an_error_that_names_its_line() {
    for (mock, what, why) in [
        (
            "when: {matcher: 'input.items.length > 3'}, response: 1",
            "matcher",
            "the expression threw TypeError",
        ),
        (
            "when: {matcher: '(() => { for (;;) if (input.id < 0) break; return true })()'}, response: 1",
            "matcher",
            "took longer than 250 ms",
        ),
        ("responseFn: 'input.items[0]'", "responseFn", "the expression threw TypeError"),
        ("responseFn: '\"x\".repeat(1e9) + input.id'", "responseFn", "needs more than 64 MiB"),
        ("responseFn: '(() => { for (;;) input.id++ })()'", "responseFn", "took longer than 250 ms"),
    ] {
        let outcome = one_call(&format!("    - {{method: find, {mock}}}"));
        assert_eq!(outcome.code, 1, "{mock}");
        let error = outcome.error();
        assert!(
            error.starts_with(&format!("the `{what}` of the mock of `find` at line 9 failed: line 9: ")),
            "{error}"
        );
        assert!(error.contains(why), "{error}");
    }
}

#[test]
fn javascript_reaches_nothing_outside() {
    let outcome = one_call(
        "    - {method: find, responseFn: '[input.id, typeof require, typeof process, typeof fetch, typeof std, typeof setTimeout]'}",
    );
    assert_eq!(
        outcome.outcomes(),
        [json!({"output": [7, "undefined", "undefined", "undefined", "undefined", "undefined"]})]
    );
}

#[test]
fn a_failure_by_chance_comes_before_the_response_function() {
    let outcome = one_call(
        "    - {method: find, responseFn: 'input.none.at.all', error: {code: DOWN, message: sorry}, metadata: {probability: 1}}",
    );
    assert_eq!(outcome.outcomes(), [json!({"error": {"type": "DOWN", "message": "sorry"}})]);
}

#[test]
fn what_cannot_be_read_or_always_holds_is_told_before_anything_runs() {
    for (mock, told) in [
        ("when: {matcher: 'input.id ==='}, response: 1", "this is no JavaScript that can be used"),
        ("when: {matcher: '1 < 2'}, response: 1", "always-true"),
        ("responseFn: '() => {'", "this is no JavaScript that can be used"),
    ] {
        let outcome = run(&scenario("{call: find}", &format!("    - {{method: find, {mock}}}")), &[]);
        assert_eq!(outcome.code, 2, "{mock}");
        assert!(
            outcome.stderr.contains(told) && outcome.stderr.contains("a.scenario.yaml:9:"),
            "{}",
            outcome.stderr
        );
    }
}

/// A conversation of up to three turns that ends by an expression, which stands at line 10.
fn conversation(expression: &str) -> Outcome {
    let text = format!(
        "name: A test
description: of conditions
environment: {{type: local}}
judgment: {{strategy: all_pass}}
agent: {{instructions: Help.}}
models: {{agent: {{script: [one, two is here, three]}}}}
setup: {{state: {{shop: {{open: true}}}}}}
run:
  - conversation: {{max_turns: 3, user: {{script: [a, b, c]}}, final_evaluations: [{{type: conversation_length, min_turns: 1}}], termination_conditions: [{{type: custom_condition,
      expression: {expression:?}}}]}}
"
    );
    run(&text, &[])
}

#[test]
fn a_condition_sees_the_conversation() {
    for (expression, turns) in [
        ("turns.length >= 2", 2),
        ("turns.at(-1).agent.includes('two')", 2),
        ("turns.at(-1).user === 'b' && turns[0].number === 1", 2),
        ("/two is\\s+here/.test(transcript)", 2),
        ("state.shop.open && turns.length === 1", 1),
        ("turns.length > 9", 3),
        ("turns[5]", 3),
        ("transcript.match(/nothing/)", 3),
    ] {
        let outcome = conversation(expression);
        assert_eq!(outcome.code, 0, "{expression}: {}", outcome.stderr);
        let talk = &outcome.scenario["steps"][0]["conversation"];
        assert_eq!(talk["metrics"]["turn_count"], turns, "{expression}");
        let reason = if turns < 3 { "custom_condition" } else { "max_turns_reached" };
        assert_eq!(talk["termination_reason"], reason, "{expression}");
    }
}

#[test]
fn a_condition_that_fails_is_an_error_that_names_its_line() {
    for (expression, why) in
        [("turns[7].agent", "threw TypeError"), ("(() => { for (;;) turns.length })()", "took longer")]
    {
        let outcome = conversation(expression);
        assert_eq!(outcome.code, 1);
        let error = outcome.error();
        assert!(
            error.starts_with("the `expression` of the condition at line 9 failed: line 10: "),
            "{error}"
        );
        assert!(error.contains(why), "{error}");
    }
}

#[test]
fn a_condition_that_looks_at_nothing_is_told_before_anything_runs() {
    let outcome = conversation("1 < 2");
    assert_eq!(outcome.code, 2, "{}", outcome.stderr);
    assert!(outcome.stderr.contains("it looks at nothing of the conversation"), "{}", outcome.stderr);
}

/// An agent that asks once, a user with a tool, and a bridge.
fn asking(bridge: &str, tool: &str) -> String {
    format!(
        "name: a
description: b
environment: {{type: local}}
agent: {{instructions: x, tools: [{{name: ask}}]}}
models:
  agent: {{script: [{{call: ask, args: {{question: Where?}}}}, Thank you.]}}
  user:
    rules:
      - {{when: {{tool_result: reveal}}, say: In my arm.}}
      - {{when: {{user_contains: 'They ask Where? in round 1'}}, call: reveal, args: {{what: flu}}}}
      - {{say: I was told something else.}}
setup: {{state: {{session: {{round: 1}}}}}}
users: {{ask: {{instructions: You are ill., tools: [{{name: reveal, {tool}}}]}}}}
bridge: {bridge}
run: [{{input: hi, evaluations: [{{type: state, matches: {{patient.told: flu}}}}]}}]
judgment: {{strategy: all_pass}}
"
    )
}

#[test]
fn the_bridge_says_what_the_user_is_told_and_what_the_agent_gets() {
    let prompt = "prompt: 'They ask ${waiting.args.question} in round ${state.session.round}'";
    let response = "response: '({said: output, by: waiting.tool, waits: waiting.awaiting_input})'";
    let tool = "responseFn: '({ok: input.what})', stateFn: '({patient: {told: input.what}})'";
    let outcome = run(&asking(&format!("{{{prompt}, {response}}}"), tool), &[]);
    assert_eq!(outcome.code, 0, "{:#}\n{}", outcome.scenario, outcome.stderr);
    let got = json!({"output": {"said": "In my arm.", "by": "ask", "waits": false}});
    assert_eq!(outcome.outcomes(), [got]);
}

#[test]
fn a_bridge_or_a_users_tool_that_fails_ends_the_scenario() {
    let prompt = "{prompt: 'They ask ${waiting.args.question} in round ${state.session.round}'}";
    let tool = "responseFn: '({ok: 1})', stateFn: '({patient: missing.word})'";
    let outcome = run(&asking(prompt, tool), &[]);
    assert_eq!(outcome.code, 1);
    assert!(
        outcome.error().contains("the `stateFn` of the user's tool `reveal` failed"),
        "{}",
        outcome.error()
    );
    let outcome = run(&asking("{prompt: '(() => { throw new Error(\"no\") })'}", "response: 1"), &[]);
    assert_eq!(outcome.code, 1);
    assert!(outcome.error().contains("the `prompt` of the bridge failed"), "{}", outcome.error());
}
