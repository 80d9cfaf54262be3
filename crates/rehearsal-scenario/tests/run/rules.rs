//! Rules that are looked at while a scenario runs, and end it at the first breach.

use rehearsal_core::{EndReason, StepStatus, Verdict};
use rehearsal_sim::Judges;
use serde_json::json;

use crate::run::stage::{Play, Played, play, scenario};

/// A clerk whose model follows a script, in steps that are written whole.
fn clerk(script: &str, run: &str) -> String {
    format!(
        "agent: {{instructions: Help., tools: [{{name: verify}}, {{name: refund}}]}}
setup: {{mocks: [{{method: verify, response: 1}}, {{method: refund, response: 2}}]}}
models: {{agent: {{script: [{script}]}}}}
run:
{run}"
    )
}

const RULE: &str = "{type: tool_order, never: [refund], before: verify, stop: true}";

fn statuses(played: &Played) -> Vec<StepStatus> {
    played.result.steps.iter().map(|step| step.status).collect()
}

fn answered(played: &Played) -> Vec<&str> {
    played.result.mocks.answered.iter().map(|answer| answer.tool.as_str()).collect()
}

#[tokio::test]
async fn a_step_ends_the_run_at_the_first_call_that_breaks_its_rule() {
    let run = format!(
        "  - {{input: one, evaluations: [{{type: string_contains, value: hello}}]}}
  - {{input: two, evaluations: [{{type: string_contains, value: done}}, {RULE}]}}
  - {{input: three, evaluations: [{{type: string_contains, value: x}}]}}
"
    );
    let played = play(&clerk("hello, {call: refund}, done", &run)).await;
    played.came_to(Verdict::Failed);
    assert_eq!(played.run.main.end(), Some(EndReason::RuleBroken));
    assert_eq!(statuses(&played), [StepStatus::Passed, StepStatus::Failed, StepStatus::Skipped]);
    let [other, rule] = &played.step(2).evaluations[..] else { panic!("{:?}", played.step(2)) };
    assert_eq!(other.message, "it was not evaluated");
    assert_eq!(rule.message, "refund was called before any call of verify succeeded");
    let broken = rule.metric.evidence[0].events[0];
    let event = played.run.events().iter().find(|event| event.seq == broken).unwrap();
    assert_eq!(event.body.kind(), "tool_call");
    assert!(answered(&played).is_empty(), "the call was never answered");
}

#[tokio::test]
async fn a_rule_speaks_of_its_step_and_knows_what_came_before() {
    let run = format!(
        "  - {{input: one, evaluations: [{{type: tool_called, tool: verify}}]}}
  - {{input: two, evaluations: [{RULE}]}}
"
    );
    let played = play(&clerk("{call: verify}, a, {call: refund}, b", &run)).await;
    played.passed();
    // The refund of a step without the rule breaks nothing.
    let run = format!(
        "  - {{input: one, evaluations: [{{type: tool_called, tool: refund}}]}}
  - {{input: two, evaluations: [{RULE}]}}
"
    );
    let played = play(&clerk("{call: refund}, a, b", &run)).await;
    played.passed();
}

#[tokio::test]
async fn a_turn_ends_the_run_too_and_any_pass_does_not_save_it() {
    let run = format!(
        "  - conversation:
      max_turns: 4
      user: {{script: [one, two, three]}}
      turn_evaluations: [{{type: string_contains, value: a}}, {RULE}]
judgment: {{strategy: any_pass}}
"
    );
    let text = clerk("a, {call: refund}, a", &run);
    let played = play(&text).await;
    played.came_to(Verdict::Failed);
    let conversation = played.conversation(1);
    let found: Vec<Vec<bool>> = conversation
        .turns
        .iter()
        .map(|turn| turn.turn_evaluations.iter().map(|evaluation| evaluation.success).collect())
        .collect();
    assert_eq!(found, [[true, true], [false, false]]);
    assert!(answered(&played).is_empty());
    // Scored again from its ledger, it is the same.
    let again = scenario(&text).score(played.run.main.clone(), &Judges::default()).await.unwrap();
    assert_eq!(again.result.status, Verdict::Failed);
    assert_eq!(json!(again.result.metrics), json!(played.run.result.metrics));
}

#[tokio::test]
async fn without_stop_the_run_goes_on() {
    let run = format!("  - {{input: one, evaluations: [{}]}}\n", RULE.replace(", stop: true", ""));
    let text = clerk("{call: refund}, a", &run);
    assert!(Play::new(&text).compile().is_ok());
    let played = play(&text).await;
    played.came_to(Verdict::Failed);
    assert_eq!(answered(&played), ["refund"]);
    let groups = scenario(&text).evaluators_for(&played.run.main);
    assert!(groups.iter().flatten().all(|metric| metric.watch().is_none()));
}
