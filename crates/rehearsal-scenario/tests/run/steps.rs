//! Steps: one session through all of them, and what they and the scenario come to.

use std::time::Duration;

use rehearsal_core::{EventBody, StepStatus, Verdict};
use serde_json::json;

use crate::run::stage::{Play, TokioClock, play, problems, said};

const AGENT: &str =
    "agent: {instructions: Help., tools: [{name: find}]}\nsetup: {mocks: [{method: find, response: 1}]}\n";

fn scenario(models: &str, run: &str) -> String {
    format!("{AGENT}models: {{{models}}}\nrun:\n{run}")
}

fn statuses(played: &crate::run::stage::Played) -> Vec<StepStatus> {
    played.result.steps.iter().map(|step| step.status).collect()
}

#[tokio::test]
async fn one_session_runs_through_all_steps() {
    let run = "  - {input: I am Ann., evaluations: [{type: string_contains, value: hello}]}
  - {lang: sh, code: echo between, evaluations: [{type: string_contains, value: between}]}
  - {input: Who am I?, evaluations: [{type: string_contains, value: Ann}]}
  - {conversation: {max_turns: 2, user: {script: [And now?]}}, evaluations: [{type: string_contains, value: still}]}
";
    let played = play(&scenario("agent: {script: [Hello!, You are Ann., Still Ann.]}", run)).await;
    played.passed();
    assert_eq!(said(&played.requests()[1]), ["I am Ann.", "Hello!", "Who am I?"]);
    assert_eq!(said(&played.requests()[2]).len(), 5);
    let sessions: Vec<_> = played.run.events().iter().map(|event| &event.session).collect();
    assert!(sessions.iter().all(|session| *session == played.run.main.session()));
    assert_eq!(statuses(&played), [StepStatus::Passed; 4]);
}

#[tokio::test]
async fn steps_are_evaluated_as_they_finish() {
    let run = "  - {input: one, evaluations: [{type: tool_not_called, tool: find}]}
  - {input: two, evaluations: [{type: tool_called, tool: find}]}
";
    play(&scenario("agent: {script: [first, {call: find}, second]}", run)).await.passed();
}

#[tokio::test]
async fn a_step_that_errors_skips_the_later_ones_and_keeps_what_was_found() {
    let run = "  - {input: one, evaluations: [{type: string_contains, value: first}, {type: string_contains, value: other}]}
  - {input: two, evaluations: [{type: string_contains, value: second}]}
  - {lang: sh, code: touch ran, evaluations: [{type: file_exists, path: ran}]}
";
    let played = play(&scenario("agent: {script: [first, {fail: the model is down}]}", run)).await;
    played.came_to(Verdict::Error);
    assert!(played.error().contains("the model is down"), "{}", played.error());
    assert_eq!(statuses(&played), [StepStatus::Failed, StepStatus::Errored, StepStatus::Skipped]);
    let found: Vec<bool> = played.step(1).evaluations.iter().map(|evaluation| evaluation.success).collect();
    assert_eq!(found, [true, false]);
    let unmade = &played.step(2).evaluations[0];
    assert_eq!((unmade.success, unmade.message.as_str()), (false, "it was not evaluated"));
    assert_eq!(played.step(2).note.as_deref(), Some("it did not come to its end"));
    assert_eq!(
        played.step(3).note.as_deref(),
        Some("skipped, because an earlier step did not come to its end")
    );
    assert!(played.step(3).execution.is_none());
}

#[tokio::test]
async fn a_step_without_evaluations_is_noted_and_a_case_without_any_is_unjudged() {
    let run = "  - {input: one, evaluations: []}\n  - {input: two, evaluations: [{type: string_contains, value: second}]}\n";
    let played = play(&scenario("agent: {script: [first, second]}", run)).await;
    played.passed();
    assert_eq!(statuses(&played), [StepStatus::Unjudged, StepStatus::Passed]);
    assert_eq!(played.step(1).note.as_deref(), Some("it has no evaluations"));
    let none = play(&scenario("agent: {script: [first]}", "  - {input: one, evaluations: []}\n")).await;
    none.came_to(Verdict::Unjudged);
}

#[tokio::test]
async fn all_must_pass_or_any() {
    let run = "  - {input: one, evaluations: [{type: string_contains, value: first}]}\n  - {input: two, evaluations: [{type: string_contains, value: other}]}\n";
    let text = scenario("agent: {script: [first, second]}", run);
    play(&text).await.came_to(Verdict::Failed);
    let any = format!("{text}judgment: {{strategy: any_pass}}\n");
    play(&any).await.passed();
    play(&any.replace("value: first", "value: neither")).await.came_to(Verdict::Failed);
    let none = "run: [{code: ls, evaluations: []}]\njudgment: {strategy: any_pass}\n";
    play(none).await.came_to(Verdict::Unjudged);
}

#[tokio::test]
async fn a_pass_does_not_outweigh_an_error() {
    let run = "  - {input: one, evaluations: [{type: string_contains, value: first}]}\n  - {input: two, evaluations: []}\n";
    let text = scenario("agent: {script: [first, {fail: down}]}", run);
    play(&format!("{text}judgment: {{strategy: any_pass}}\n")).await.came_to(Verdict::Error);
}

#[tokio::test]
async fn the_same_evaluation_twice_is_two() {
    let evaluation = "{type: string_contains, value: first}";
    let run = format!("  - {{input: one, evaluations: [{evaluation}, {evaluation}]}}\n");
    let played = play(&scenario("agent: {script: [first]}", &run)).await;
    played.passed();
    assert_eq!(played.step(1).evaluations.len(), 2);
    assert_ne!(played.step(1).evaluations[0].name, played.step(1).evaluations[1].name);
    let run = "  - {input: one, evaluations: [{type: file_exists, path: a}, {type: file_exists, path: a}, {type: file_exists, path: a (2)}]}\nsetup: {virtual_fs: {a: '', a (2): ''}}\n";
    let text = format!("agent: {{instructions: Help.}}\nmodels: {{agent: {{script: [first]}}}}\nrun:\n{run}");
    play(&text).await.passed();
}

#[tokio::test(start_paused = true)]
async fn a_result_has_its_times_and_what_the_agent_did() {
    let run = "  - {input: one, evaluations: []}\n  - {input: two, evaluations: [{type: string_contains, value: second}]}\n";
    let text = scenario(
        "agent: {script: [{say: Let me see., calls: [{tool: find, args: {id: 1}}]}, first, second]}",
        run,
    )
    .replace("response: 1", "response: 1, metadata: {delay: 250}");
    let played = Play::new(&text).clock(TokioClock::start()).run().await;
    played.passed();
    let (one, two) = (played.step(1).execution.as_ref().unwrap(), played.step(2).execution.as_ref().unwrap());
    let start = 1_767_268_800_000;
    assert_eq!((one.started_at_ms, one.ended_at_ms, one.duration_ms), (start, start + 250, 250));
    assert_eq!((two.started_at_ms, two.ended_at_ms, two.duration_ms), (start + 250, start + 250, 0));
    assert_eq!((one.exit_code, one.stdout.as_str(), one.stderr.as_str()), (Some(0), "first", ""));
    let done: Vec<_> = one.trajectory.iter().map(|step| (json!(step.kind), step.content.clone())).collect();
    assert_eq!(
        done,
        [
            (json!("message"), json!("Let me see.")),
            (json!("action"), json!({"name": "find", "parameters": {"id": 1}})),
            (json!("observation"), json!({"name": "find", "result": 1})),
            (json!("message"), json!("first")),
        ]
    );
    assert_eq!(one.trajectory[2].timestamp.to_string(), "2026-01-01T12:00:00.25Z");
    let json = played.json();
    let execution = json["steps"][0]["execution"].as_object().unwrap();
    for key in [
        "exit_code",
        "stdout",
        "stderr",
        "files",
        "started_at_ms",
        "ended_at_ms",
        "duration_ms",
        "trajectory",
    ] {
        assert!(execution.contains_key(key), "{key}");
    }
    assert_eq!(json["duration_ms"], 250);
}

#[tokio::test(start_paused = true)]
async fn a_step_may_take_only_so_long() {
    let run = "  - {input: one, timeout_ms: 5000, evaluations: [{type: string_contains, value: x}]}\n  - {input: two, evaluations: []}\n";
    let text = format!("agent: {{instructions: Help.}}\nmodels: {{agent: silent}}\nrun:\n{run}");
    let played = Play::new(&text).clock(TokioClock::start()).run().await;
    played.came_to(Verdict::Terminated);
    assert_eq!(
        played.result.terminated_by().as_deref(),
        Some("`timeout_ms` of step 1 (5000 ms) was reached")
    );
    assert_eq!(statuses(&played), [StepStatus::Errored, StepStatus::Skipped]);
    assert_eq!(played.step(2).note.as_deref(), Some("skipped, because the run was ended before"));
    assert_eq!(played.result.duration_ms, 5000);
}

#[tokio::test(start_paused = true)]
async fn a_run_may_take_only_so_long() {
    let text =
        "agent: {instructions: Help.}\nmodels: {agent: silent}\nrun: [{input: one, evaluations: []}]\n";
    let played = Play::new(text).clock(TokioClock::start()).timeout(Duration::from_secs(9)).run().await;
    played.came_to(Verdict::Terminated);
    assert_eq!(played.result.terminated_by().as_deref(), Some("the time limit of the run was reached"));
}

#[test]
fn settings_that_a_step_does_not_use_are_problems() {
    let base = "agent: {instructions: Help.}\nmodels: {agent: {script: [a]}}\n";
    let conversation =
        format!("{base}run: [{{timeout_ms: 5, conversation: {{max_turns: 2, user: {{script: [a]}}}}}}]\n");
    assert_eq!(
        problems(&conversation),
        "no-effect: a conversation has limits of its own [write `timeout_per_turn_ms` or `total_timeout_ms` into `conversation`]"
    );
    let code = "run: [{code: ls, context: {a: 1}, evaluations: []}]\n";
    assert!(
        problems(code).starts_with("no-effect: code makes no calls that could find a `context`"),
        "{}",
        problems(code)
    );
}

#[tokio::test]
async fn the_same_seed_and_clock_give_the_same_ledgers() {
    let text = "agent: {instructions: Help., tools: [{name: find}]}
models:
  agent: {rules: [{when: {tool_result: find}, say: found}, {when: {user_contains: find}, call: find}, {say: hm}]}
  user: {script: [find it, thanks]}
  judge: {rules: [{json: {reason: so, holds: false, confidence: 1, judgment: 'yes', score: 1, capabilities: []}}]}
setup:
  state: {shop: {open: true}}
  mocks: [{method: find, response: here, metadata: {probability: 0.5}}]
run:
  - {input: find it, evaluations: [{type: string_contains, value: found}]}
  - {lang: sh, code: echo hi > a.txt, evaluations: [{type: file_exists, path: a.txt}]}
  - conversation:
      max_turns: 3
      user_simulator: {persona: a customer, objective: an order}
      termination_conditions: [{type: goal_achieved, llm_judge: {prompt: Done?}}]
";
    let ledgers = |played: &crate::run::stage::Played| -> Vec<String> {
        played.run.ledgers().map(rehearsal_core::Ledger::to_jsonl).collect()
    };
    let first = play(text).await;
    assert_eq!(ledgers(&first).len(), 3, "{:?}", first.result.error);
    assert_eq!(ledgers(&first), ledgers(&play(text).await));
    assert_eq!(first.json(), play(text).await.json());
    assert_ne!(ledgers(&first), ledgers(&Play::new(text).seed(8).run().await));
}

#[tokio::test]
async fn the_state_of_the_set_up_is_there_from_the_beginning() {
    let text = "agent: {instructions: Help.}
models: {agent: {script: [a]}}
setup: {state: {shop: {open: true}}}
run: [{input: one, evaluations: [{type: state, matches: {shop.open: true}}]}]
";
    let played = play(text).await;
    played.passed();
    assert!(
        matches!(&played.run.events()[0].body, EventBody::SessionStarted(started) if !started.state.is_empty())
    );
    let taken = problems(&text.replace("{shop: {open: true}}}\nrun", "{scenario: {context: {a: 1}}}}\nrun"));
    assert!(taken.starts_with("no-effect: `scenario.context` is what calls find around them"), "{taken}");
}
