//! What `world_state` compares with: another world in which calls are made.

use rehearsal_core::Verdict;

use crate::run::stage::{Play, Played};

/// A shop whose second tool is offered once the user has unlocked it.
const SHOP: &str = r#"
import json, sys
open_, paid = False, []
def tools():
    listed = [dict(name="look"), dict(name="unlock", by="user"), dict(name="refuse")]
    if open_:
        listed.append(dict(name="pay", parameters=dict(type="object", properties=dict(sum=dict(type="integer")))))
    return listed
def send(**message): print(json.dumps(message), flush=True)
for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "start": send(type="tools", tools=tools())
    elif message["type"] == "state": send(type="state", state=dict(paid=paid))
    elif message["type"] == "end": break
    elif message["tool"] == "refuse": send(type="result", id=message["id"], error=dict(type="NO", message="never"))
    else:
        if message["tool"] == "unlock": open_ = True
        if message["tool"] == "pay": paid.append(message["args"]["sum"])
        send(type="result", id=message["id"], output="done", state=dict(paid=paid), tools=tools())
"#;

/// The user unlocks, the agent pays 5; the world is compared with one after these calls.
async fn compared(after: &str) -> Played {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("shop.py"), SHOP).unwrap();
    let text = format!(
        "world: {{command: [python3, shop.py]}}
agent: {{instructions: Help.}}
models: {{agent: {{script: [{{call: pay, args: {{sum: 5}}}}, done]}}}}
run:
  - conversation:
      max_turns: 2
      user: {{script: [{{call: unlock}}, Please pay.]}}
      final_evaluations:
        - {{type: world_state, {after}}}
"
    );
    Play::new(&text).directory(folder.path()).run().await
}

fn message(played: &Played) -> String {
    let evaluation = &played.json()["steps"][0]["conversation"]["final_evaluations"][0];
    evaluation["message"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_tool_that_appears_is_called_after_the_call_that_makes_it_appear() {
    let unlocked = "after: [{tool: unlock, by: user}, {tool: pay, args: {sum: 5}}]";
    compared(unlocked).await.passed();
    let other = compared("after: [{tool: unlock, by: user}, {tool: pay, args: {sum: 6}}]").await;
    other.came_to(Verdict::Failed);
    compared("after: [{tool: unlock, by: user}]").await.came_to(Verdict::Failed);
}

#[tokio::test]
async fn a_tool_that_is_not_offered_decides_nothing_even_where_errors_are_allowed() {
    for allowed in ["", ", allow_errors: true"] {
        let played = compared(&format!("after: [{{tool: pay, args: {{sum: 5}}}}]{allowed}")).await;
        played.came_to(Verdict::Error);
        assert_eq!(
            message(&played),
            "there is no state to compare with: call 1 of `after` is of `pay`, and the world offers no such tool at \
             that moment; it offers `look`, `unlock` (by the user), `refuse`. If a call makes it appear, that call \
             belongs before it"
        );
    }
    let played = compared("after: [{tool: unlock, by: agent}], allow_errors: true").await;
    assert!(message(&played).contains("no such tool of the agent's at that moment"), "{}", message(&played));
}

#[tokio::test]
async fn calls_that_fail_are_passed_over_only_where_that_is_said() {
    let calls = "after: [{tool: refuse}, {tool: unlock}, {tool: pay, args: {sum: five}}, {tool: pay, args: {sum: 5}}]";
    let played = compared(calls).await;
    played.came_to(Verdict::Error);
    assert!(message(&played).contains("`refuse`: NO: never (and 1 more)"), "{}", message(&played));
    compared(&format!("{calls}, allow_errors: true")).await.passed();
}
