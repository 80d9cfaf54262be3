//! Tools that ask the user: who answers them, and what that changes.

use rehearsal_core::{EventBody, Verdict};
use serde_json::json;

use crate::run::stage::{Play, Played, TokioClock, play, problems, said};

/// An agent that asks once and then says goodbye.
fn asks(tool: &str, users: &str, more: &str) -> String {
    format!(
        "agent: {{instructions: Ask., tools: [{{name: ask{tool}}}, {{name: look}}]}}
models:
  agent: {{script: [{{call: ask, args: {{question: Where?}}}}, Thank you.]}}
{more}
users: {{{users}}}
run:
  - {{input: hi, evaluations: [{{type: tool_called, tool: ask, count: 1}}]}}
"
    )
}

fn answer(played: &Played) -> serde_json::Value {
    played.outcomes()[0].clone()
}

#[tokio::test]
async fn a_model_answers_with_its_own_instructions() {
    let users = "ask: {instructions: You are ill., temperature: 0.5, max_tokens: 90}";
    let played = play(&asks("", users, "  user: {script: [In my arm.]}")).await;
    played.passed();
    assert_eq!(answer(&played), json!({"output": "In my arm."}));
    let asked = &played.user_requests()[0];
    assert_eq!(asked.setup.system.as_deref(), Some("You are ill."));
    assert_eq!((asked.setup.settings.temperature, asked.setup.settings.max_tokens), (Some(0.5), Some(90)));
    assert_eq!(said(asked), ["Tool: ask\nArgs: {\"question\":\"Where?\"}"]);
}

#[tokio::test]
async fn what_must_have_a_form_is_asked_for_in_that_form() {
    let output = ", output: {type: object, required: [sure], properties: {sure: {type: boolean}}}";
    let users = "ask: {instructions: x}";
    let played = play(&asks(output, users, "  user: {script: [{json: {sure: true}}]}")).await;
    played.passed();
    assert_eq!(answer(&played), json!({"output": {"sure": true}}));
    let wrong = play(&asks(output, "ask: {script: [maybe]}", "")).await;
    wrong.came_to(Verdict::Error);
    assert!(wrong.error().starts_with("UserAgent invalid_tool_result:"), "{}", wrong.error());
}

#[tokio::test]
async fn a_tool_of_the_user_changes_the_state_of_the_agents_session() {
    let users = "ask: {instructions: x, model_type: patient, tools: [{name: reveal, response: {ok: true}, state: {patient: {told: [flu]}}}]}";
    let models = "  patient: {script: [{call: reveal}, The flu.]}";
    let text = asks("", users, models)
        .replace("count: 1}", "count: 1}, {type: state, matches: {patient.told: flu}}");
    let played = play(&text).await;
    played.passed();
    assert_eq!(answer(&played), json!({"output": "The flu."}));
    let users = played.run.users.as_ref().unwrap();
    let called = users.events().iter().filter(|event| matches!(event.body, EventBody::ToolResult(_)));
    assert_eq!(called.count(), 1, "the user's own tool runs in the users' session");
}

#[tokio::test]
async fn a_script_answers_in_order_and_does_not_begin_again() {
    let twice = |users: &str| {
        asks("", users, "").replace("Thank you.", "{call: ask, args: {question: Since?}}, Thank you.")
    };
    let played = play(&twice("ask: {script: [here, {days: 2}]}").replace("count: 1", "count: 2")).await;
    played.passed();
    assert_eq!(played.outcomes(), [json!({"output": "here"}), json!({"output": {"days": 2}})]);
    let short = play(&twice("ask: {script: [here]}")).await;
    short.came_to(Verdict::Error);
    assert!(short.error().contains("its script has 1 answers"), "{}", short.error());
}

#[tokio::test(start_paused = true)]
async fn the_time_of_a_turn_holds_after_a_tool_has_asked() {
    let text = asks("", "ask: {script: [here]}", "")
        .replace("input: hi,", "input: hi, timeout_ms: 100,")
        .replace("{name: look}", "{name: look, parameters: {type: object}}")
        .replace("Thank you.", "{call: look}, Thank you.")
        .replace("users:", "setup: {mocks: [{method: look, response: 1, metadata: {delay: 5000}}]}\nusers:");
    let played = Play::new(&text).clock(TokioClock::start()).run().await;
    played.came_to(Verdict::Terminated);
}

#[test]
fn a_user_that_nobody_asks_is_a_problem() {
    let text = |users: &str| asks("", users, "");
    assert!(
        problems(&text("asks: {script: [x]}"))
            .contains("the agent has no tool `asks` that could ask [did you mean `ask`?]")
    );
    let mocked =
        text("ask: {script: [x]}").replace("users:", "setup: {mocks: [{method: ask, response: 1}]}\nusers:");
    assert!(
        problems(&mocked).contains("tool `ask` asks the user, so its mock never answers"),
        "{}",
        problems(&mocked)
    );
    let command = text("ask: {script: [x]}").replace("name: ask", "name: ask, command: ls");
    assert!(problems(&command).contains("so it never runs for real"), "{}", problems(&command));
    assert!(
        problems(&text("ask: {instructions: x, model_type: gone}")).contains("no model is called `gone`")
    );
    assert!(problems(&text("ask: {script: []}")).contains("a user without an answer says nothing"));
    assert!(problems(&text("ask: {instructions: x, script: [x]}")).contains("has no key `instructions`"));
    assert!(problems(&text("ask: nobody")).contains("the user of `ask` cannot be `nobody`"));
}

#[tokio::test]
async fn a_conversation_ends_when_the_state_matches() {
    let text = "agent: {instructions: x, tools: [{name: close}]}
models:
  agent: {script: [one, {call: close}, two, three]}
setup: {mocks: [{method: close, response: 1, state: {session: {stage: done}}}]}
run:
  - conversation:
      max_turns: 4
      user: {script: [a, b, c, d]}
      termination_conditions: [{type: state_matches, description: it is closed, matches: {session.stage: done}}]
      final_evaluations: [{type: conversation_length, min_turns: 2, max_turns: 2}]
";
    let played = play(text).await;
    played.passed();
    assert_eq!(played.ended(1), ("state_matches", 2));
    let detail = played.conversation(1).termination_detail.as_deref().unwrap();
    assert_eq!(detail, r#"the state matches {"session.stage":"done"} (it is closed)"#);
    let never = text.replace("{session.stage: done}}]", "{session.stag: done}}]");
    assert!(problems(&never).contains("nothing in this file writes `session.stag`"), "{}", problems(&never));
}

#[tokio::test]
async fn a_seed_stands_in_the_requests_of_the_model() {
    let model = |model: &str| {
        format!(
            "agent: {{instructions: x}}\nmodels: {{agent: {{model: '{model}', seed: 7}}}}\nrun: [{{input: hi, evaluations: []}}]\n"
        )
    };
    let played = Play::new(&model("slow:0:hello")).run().await;
    assert_eq!(played.requests()[0].setup.settings.seed, Some(7));
    assert!(problems(&model("person")).contains("`seed` is for the model of a provider"));
}
