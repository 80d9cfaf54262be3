//! Sessions that become scenarios, as a user makes them: played once, run ever after.

use std::fs;

use expect_test::expect_file;
use rehearsal_core::json::from_str;
use serde_json::Value;

use crate::support::Folder;

/// A scenario with what there is: two messages, a tool that fails, state, a conversation, arguments that look like a
/// query, texts of several lines.
const PLAYED: &str = r#"name: "Refunds: an order"
description: Two messages and a talk
environment: {type: local}
agent:
  name: desk
  instructions: |
    Refund orders.

      # look them up first
    "Be kind": always.
  tools:
    - {name: find, description: 'Finds: an order', parameters: {type: object, properties: {id: {type: string}}, required: [id]}}
    - {name: shop.refund, description: "yes", parameters: {type: object, properties: {id: {type: string}, how: {type: object}}}}
    - {name: clock, output: {type: string}}
models:
  agent:
    script:
      - {call: find, args: {id: A1}}
      - {calls: [{tool: shop.refund, args: {id: A1, how: {$gte: [1, 2.50, null, true, "no"]}}}, {tool: clock}]}
      - "It is refunded: \"A1\".\nAnything else?"
      - {call: find, args: {number: 7}, invalid: true}
      - {call: find, args: {id: "17"}}
      - There is none.
      - {call: clock}
      - {say: One moment., call: find, args: {id: A1}}
      - "- bye"
      - Good night.
setup:
  state: {session: {level: 1}}
  mocks:
    - {method: find, when: {input: {id: A1}, context: {step: 1}}, response: {sum: 20, note: "a: b # c"}}
    - {method: find, when: {input: {id: A1}, context: {step: 3}}, response: {sum: 0}}
    - {method: find, when: {input: {id: "17"}}, error: {code: NOT_FOUND, message: "no such order: 17", status: 404}}
    - {method: refund, service: shop, response: null, state: {session: {refunded: {A1: 20}}}}
    - {method: clock, response: "12:30"}
run:
  - name: first
    input: "Please refund A1"
    evaluations: [{type: state, matches: {session.refunded.A1: 20}}]
  - input: |
      And 17?
      Or not?
    evaluations: []
  - conversation:
      max_turns: 4
      user: {script: ["What: is the time?", "true"]}
    evaluations: []
judgment: {strategy: all_pass}
"#;

/// A folder in which that was run, and its session.
fn played() -> (Folder, String) {
    let folder = Folder::new(&[("a.scenario.yaml", PLAYED)]);
    let ran = folder.run("run a.scenario.yaml --quiet");
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    let listed: Value = from_str(&folder.run("sessions --json").stdout).unwrap();
    let id = listed[0]["id"].as_str().unwrap().to_owned();
    (folder, id)
}

fn run(folder: &Folder, args: &str, code: i32) -> String {
    let ran = folder.run(args);
    assert_eq!(ran.code, code, "{args}: {}{}", ran.stdout, ran.stderr);
    ran.stdout + &ran.stderr
}

#[test]
fn a_session_becomes_a_scenario_that_passes_and_fails_when_something_changes() {
    let (folder, id) = played();
    let told = run(&folder, &format!("init --from {id} --out new/refund.scenario.yaml"), 0);
    assert!(told.starts_with("wrote new/refund.scenario.yaml\n"), "{told}");
    assert!(!told.contains("warning"), "{told}");
    let path = folder.path().join("new/refund.scenario.yaml");
    let text = fs::read_to_string(&path).unwrap();
    expect_file!["../golden/recorded.scenario.yaml"]
        .assert_eq(&text.replace(&id, "ID").replace(&id[..8], "ID"));
    let told = run(&folder, "check new", 0);
    assert!(!told.contains("warning"), "{told}");
    run(&folder, "run new --no-store", 0);

    for (from, to, code) in [
        // A mock that no longer answers, a call that is not made any more, a check that wants another.
        ("input: {id: \"17\"}", "input: {id: \"18\"}", 1),
        ("- {tool: find, args: {id: \"17\"}}", "- {tool: find, args: {id: A1}}", 1),
        ("{tool: clock}", "{tool: find, args: {id: A1}}", 1),
        ("sum: 20", "sum: 21", 0),
        // Calls that the engine refused are not asked for, so a model that gets it right at once passes too.
        ("      - calls:\n          - {tool: find, args: {number: 7}}\n        invalid: true\n", "", 0),
    ] {
        assert!(text.contains(from), "{from}: {text}");
        fs::write(&path, text.replacen(from, to, 1)).unwrap();
        run(&folder, "run new --no-store", code);
    }
}

#[test]
fn export_writes_the_same_and_nothing_is_overwritten() {
    let (folder, id) = played();
    run(&folder, &format!("init new --from {id}"), 0);
    let path = folder.path().join("new/refunds-an-order-recorded.scenario.yaml");
    let text = fs::read_to_string(&path).unwrap();
    run(&folder, &format!("export {id} --scenario b.scenario.yaml"), 0);
    assert_eq!(fs::read_to_string(folder.path().join("b.scenario.yaml")).unwrap(), text);
    // Editors find the schema beside it.
    let schema: Value =
        from_str(&fs::read_to_string(folder.path().join("scenario.schema.json")).unwrap()).unwrap();
    assert_eq!(schema, from_str::<Value>(&folder.run("schema").stdout).unwrap());

    fs::write(&path, "mine").unwrap();
    for again in [format!("init new --from {id}"), format!("export {id} --scenario {}", path.display())] {
        let told = run(&folder, &again, 2);
        assert!(told.contains("is there already, so nothing was written"), "{told}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
    }
    run(&folder, &format!("init new --force --from {id}"), 0);
    assert_eq!(fs::read_to_string(&path).unwrap(), text);

    for (args, words) in [
        ("init --from nothing-like-this", "there is no session `nothing-like-this`"),
        ("init --out x.yaml", "--from"),
        ("export abcd", "--evalset"),
        ("export abcd --scenario x --evalset y", "cannot be used with"),
    ] {
        let told = run(&folder, args, 2);
        assert!(told.contains(words), "{args}: {told}");
    }
}

/// The agent opens, the user hangs up, the same call gives two things, and nothing is called in the last step.
const TALK: &str = r#"name: Talks
description: The agent opens and the user hangs up
environment: {type: local}
agent: {name: desk, instructions: Greet., tools: [{name: look}]}
models:
  agent: {script: [{call: look}, Welcome., {call: look}, Sure., Bye.]}
setup:
  mocks:
    - {method: look, when: {context: {turn: 1}}, response: 1}
    - {method: look, response: 2}
run:
  - conversation: {max_turns: 4, opening: agent, user: {script: ["Look again", {hang_up: "I am off"}]}}
  - input: "no"
    evaluations: [{type: string_contains, value: Bye}]
judgment: {strategy: all_pass}
"#;

#[test]
fn a_talk_that_the_agent_opens_and_the_user_ends_is_played_as_it_was() {
    let folder = Folder::new(&[("a.scenario.yaml", TALK)]);
    run(&folder, "run a.scenario.yaml --quiet", 0);
    let listed: Value = from_str(&folder.run("sessions --json").stdout).unwrap();
    let id = listed[0]["id"].as_str().unwrap();
    let told = run(&folder, &format!("init new --from {}", &id[..8]), 0);
    assert!(!told.contains("warning"), "{told}");
    let text = fs::read_to_string(folder.path().join("new/talks-recorded.scenario.yaml")).unwrap();
    for part in [
        "      opening: agent\n      user:\n        script:\n          - Look again\n          - hang_up: I am off\n",
        "        context: {step: 1, turn: 1}\n      response: 1\n",
        "        context: {step: 1, turn: 2}\n      response: 2\n",
        "  - input: \"no\"\n    evaluations:\n      # It called no tool.",
    ] {
        assert!(text.contains(part), "{part}{text}");
    }
    run(&folder, "check new", 0);
    run(&folder, "run new --no-store", 0);
    // The session of what was recorded gives the same scenario again.
    run(&folder, "run new --quiet", 0);
    let listed: Value = from_str(&folder.run("sessions --json").stdout).unwrap();
    let again = listed[0]["id"].as_str().unwrap();
    run(&folder, &format!("export {again} --scenario again.scenario.yaml"), 0);
    let same = |text: &str| text.split_once("\nagent:").unwrap().1.to_owned();
    let written = fs::read_to_string(folder.path().join("again.scenario.yaml")).unwrap();
    assert_eq!(same(&written), same(&text));
}

#[test]
fn the_session_of_a_judge_is_no_scenario() {
    let asked = TALK.replace(
        "setup:\n",
        "  judge: {rules: [{json: {judgment: 'yes', reasoning: r, confidence: 1}}]}\nsetup:\n",
    );
    let asked = asked.replace(
        "evaluations: [{type: string_contains, value: Bye}]",
        "evaluations: [{type: llm_judge, prompt: p, expected: 'yes'}]",
    );
    let folder = Folder::new(&[("a.scenario.yaml", &asked)]);
    run(&folder, "run a.scenario.yaml --quiet", 0);
    let listed: Value = from_str(&folder.run("sessions --json").stdout).unwrap();
    let judge = listed.as_array().unwrap().iter().find(|session| session["part"] == "judge").unwrap();
    let told = run(&folder, &format!("init --from {}", judge["id"].as_str().unwrap()), 2);
    assert!(told.contains("it is the session of a judge, not of an agent"), "{told}");
}
