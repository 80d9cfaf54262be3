//! Conversations: who speaks, how long, and what is told about them.

use rehearsal_core::{Player, StepStatus, Verdict};
use serde_json::{Value, json};

use crate::run::stage::{Play, Played, TokioClock, play, problems};

/// A scenario with one conversation; `more` are further keys of it, a line each.
fn scenario(models: &str, more: &[&str]) -> String {
    let more = more.join("\n      ");
    format!(
        "agent: {{instructions: Help., tools: [{{name: find}}]}}
models: {{{models}}}
setup: {{mocks: [{{method: find, response: 1}}]}}
run:
  - conversation:
      {more}
"
    )
}

fn simulated(models: &str, more: &[&str]) -> String {
    let mut lines = vec!["user_simulator: {persona: a customer, objective: an order}"];
    lines.extend(more);
    scenario(models, &lines)
}

fn messages(played: &Played) -> Vec<(&str, &str)> {
    let turns = &played.conversation(1).turns;
    turns.iter().map(|turn| (turn.user_input.as_str(), turn.agent_response.as_str())).collect()
}

#[tokio::test]
async fn without_an_input_the_simulated_user_opens() {
    let models = "agent: {script: [Hello., Here.]}, user: {script: [Hi there., My order?]}";
    let played = play(&simulated(models, &["max_turns: 2"])).await;
    played.came_to(Verdict::Unjudged);
    assert_eq!(messages(&played), [("Hi there.", "Hello."), ("My order?", "Here.")]);
    let prompt = &played.user_requests()[0].contents[0].text();
    assert_eq!(prompt, "The conversation begins. Write the person's first message.");
}

#[tokio::test]
async fn with_an_input_that_is_the_first_message() {
    let models = "agent: {script: [Hello., Here.]}, user: {script: [My order?]}";
    let text = simulated(models, &["max_turns: 2"])
        .replace("  - conversation:", "  - input: Good day.\n    conversation:");
    let played = play(&text).await;
    assert_eq!(messages(&played), [("Good day.", "Hello."), ("My order?", "Here.")]);
    let decisions: Vec<Option<Player>> = played
        .run
        .events()
        .iter()
        .filter(|event| event.body.kind() == "user_message")
        .map(|event| event.decision.as_ref().map(|decision| decision.by))
        .collect();
    assert_eq!(decisions, [None, Some(Player::Agent)]);
}

#[tokio::test]
async fn a_scripted_user_says_its_lines_and_no_model_is_asked() {
    let text = scenario("agent: {script: [a, b, c]}", &["max_turns: 5", "user: {script: [one, two]}"]);
    let played = play(&text).await;
    assert_eq!(messages(&played), [("one", "a"), ("two", "b")]);
    assert_eq!(played.ended(1), ("script_ended", 2));
    assert!(played.run.users.is_none());
    let opened = play(&text.replace("  - conversation:", "  - input: zero\n    conversation:")).await;
    assert_eq!(messages(&opened), [("zero", "a"), ("one", "b"), ("two", "c")]);
    assert!(opened.conversation(1).terminated_early);
}

#[test]
fn lines_that_are_never_said_are_a_problem() {
    let text = scenario("agent: {script: [a]}", &["max_turns: 2", "user: {script: [one, two, three]}"]);
    assert_eq!(
        problems(&text),
        "no-effect: with `max_turns: 2` this line is never said [raise `max_turns` to 3, or remove it]"
    );
    let opened = text.replace("  - conversation:", "  - input: zero\n    conversation:");
    assert!(problems(&opened).contains("raise `max_turns` to 4"), "{}", problems(&opened));
    let wrong = problems(&text.replace("max_turns: 2", "max_turns: 1"));
    assert_eq!(
        wrong, "out-of-range: `max_turns` of `conversation` must be from 2 to 1000000",
        "one problem is told once"
    );
}

#[tokio::test]
async fn the_most_turns_are_a_normal_end() {
    let evaluation = |value: &str| format!("final_evaluations: [{{type: string_contains, value: {value}}}]");
    let text = |value: &str| {
        simulated(
            "agent: {script: [a, b]}, user: {script: [one, two]}",
            &["max_turns: 2", &evaluation(value)],
        )
    };
    let played = play(&text("b")).await;
    played.passed();
    assert_eq!(played.ended(1), ("max_turns_reached", 2));
    assert!(!played.conversation(1).terminated_early);
    assert_eq!(played.conversation(1).termination_detail.as_deref(), Some("all 2 turns were taken"));
    assert_eq!(played.result.terminated_by(), None);
    play(&text("z")).await.came_to(Verdict::Failed);
}

#[tokio::test]
async fn evaluations_of_turns_and_of_the_whole_count() {
    let text = |turn: &str, last: &str, step: &str| {
        let turn = format!("turn_evaluations: [{{type: string_contains, value: {turn}}}]");
        let last = format!("final_evaluations: [{{type: string_contains, value: {last}}}]");
        let user = "user: {script: [one, two]}";
        let text = scenario("agent: {script: [ab, bc]}", &["max_turns: 2", user, &turn, &last]);
        format!("{text}    evaluations: [{{type: string_contains, value: {step}}}]\n")
    };
    let good = play(&text("b", "c", "c")).await;
    good.passed();
    assert!(good.conversation(1).success);
    assert_eq!(good.run.result.metrics.len(), 4);

    let turn = play(&text("a", "c", "c")).await;
    turn.came_to(Verdict::Failed);
    let found: Vec<Vec<(bool, &str)>> = turn
        .conversation(1)
        .turns
        .iter()
        .map(|turn| turn.turn_evaluations.iter().map(|e| (e.success, e.name.as_str())).collect())
        .collect();
    assert_eq!(found, [[(true, "1.1: string_contains \"a\"")], [(false, "1.2: string_contains \"a\"")]]);
    assert_eq!(turn.step(1).status, StepStatus::Failed);
    assert!(!turn.conversation(1).success);

    let last = play(&text("b", "a", "c")).await;
    last.came_to(Verdict::Failed);
    let found = &last.conversation(1).final_evaluations[0];
    assert_eq!((found.success, found.name.as_str()), (false, "1 final: string_contains \"a\""));
    assert!(!last.conversation(1).success);

    let step = play(&text("b", "c", "a")).await;
    step.came_to(Verdict::Failed);
    assert!(!step.step(1).evaluations[0].success);
    assert!(step.conversation(1).success, "the step asked for more than the conversation");
    assert_eq!(step.result.evaluations().count(), 4);
}

#[tokio::test]
async fn a_turn_is_evaluated_by_what_happened_in_it() {
    let text = scenario(
        "agent: {script: [{call: find}, a, b]}",
        &[
            "max_turns: 2",
            "user: {script: [one, two]}",
            "turn_evaluations: [{type: tool_called, tool: find}]",
        ],
    );
    let played = play(&text).await;
    let found: Vec<bool> =
        played.conversation(1).turns.iter().map(|turn| turn.turn_evaluations[0].success).collect();
    assert_eq!(found, [true, false]);
}

#[tokio::test(start_paused = true)]
async fn a_turn_may_take_only_so_long() {
    let limits = ["max_turns: 3", "timeout_per_turn_ms: 2000", "user: {script: [one, two]}"];
    let played = Play::new(&scenario("agent: silent", &limits)).clock(TokioClock::start()).run().await;
    played.came_to(Verdict::Terminated);
    assert_eq!(played.result.terminated_by().as_deref(), Some("`timeout_per_turn_ms` (2000 ms) was reached"));
    let conversation = played.conversation(1);
    assert_eq!((conversation.termination_reason.as_deref(), conversation.success), (None, false));
    assert_eq!(played.step(1).status, StepStatus::Errored);
    let slow = Play::new(&scenario("agent: 'slow:1500:ok'", &limits)).clock(TokioClock::start()).run().await;
    assert_eq!(slow.ended(1), ("script_ended", 2));
}

#[tokio::test(start_paused = true)]
async fn a_conversation_may_take_only_so_long() {
    let limits = ["max_turns: 5", "total_timeout_ms: 10000", "user: {script: [1, 2, 3, 4, 5]}"]
        .map(|line| line.replace("[1, 2, 3, 4, 5]", "[a, b, c, d, e]"));
    let limits: Vec<&str> = limits.iter().map(String::as_str).collect();
    let played =
        Play::new(&scenario("agent: 'slow:4000:ok'", &limits)).clock(TokioClock::start()).run().await;
    played.came_to(Verdict::Terminated);
    // Two turns took 8 seconds; the third has the rest.
    assert_eq!(played.conversation(1).turns.len(), 3);
    assert_eq!(played.result.duration_ms, 10_000);
    assert_eq!(played.result.terminated_by().as_deref(), Some("`total_timeout_ms` (10000 ms) was reached"));
    let exact = Play::new(&scenario("agent: 'slow:5000:ok'", &limits)).clock(TokioClock::start()).run().await;
    exact.came_to(Verdict::Terminated);
    assert_eq!(exact.conversation(1).turns.len(), 2);
    assert_eq!(exact.result.terminated_by().as_deref(), Some("`total_timeout_ms` (10000 ms) was reached"));
}

#[tokio::test(start_paused = true)]
async fn a_second_conversation_has_its_own_time() {
    let one = "  - conversation: {max_turns: 2, total_timeout_ms: 10000, user: {script: [a, b]}}\n";
    let text = format!("agent: {{instructions: Help.}}\nmodels: {{agent: 'slow:4000:ok'}}\nrun:\n{one}{one}");
    let played = Play::new(&text).clock(TokioClock::start()).run().await;
    played.came_to(Verdict::Unjudged);
    assert_eq!(played.result.duration_ms, 16_000);
}

#[tokio::test]
async fn what_the_debug_options_ask_for_is_on_the_ledger() {
    let models = "agent: {script: [a, b]}, user: {script: [one, two]}";
    let condition = "termination_conditions: [{type: goal_achieved, keywords: [b]}]";
    let plain = play(&simulated(models, &["max_turns: 3", condition])).await;
    assert!(plain.told("user_simulation").is_empty() && plain.told("turn_decision").is_empty());
    let debug = "debug_options: {log_user_simulation: true, log_turn_decisions: true}";
    let logged = play(&simulated(models, &["max_turns: 3", condition, debug])).await;
    let simulations = logged.told("user_simulation");
    assert_eq!(simulations.len(), 2);
    assert_eq!(simulations[1]["message"], "two");
    assert!(simulations[1]["prompt"].as_str().unwrap().contains("Person: one\nAssistant: a\n"));
    let decision = |turn: u64, holds: bool, why: &str| json!({"step": 1, "turn": turn, "condition": "goal_achieved", "holds": holds, "why": why});
    assert_eq!(
        logged.told("turn_decision"),
        [decision(1, false, "the agent said none of its words"), decision(2, true, "the agent said \"b\"")]
    );
}

#[tokio::test]
async fn the_transcript_is_exported_unless_told() {
    let lines = [
        "max_turns: 2",
        "user: {script: [one, two]}",
        "turn_evaluations: [{type: string_contains, value: r}]",
    ];
    let played = play(&scenario("agent: {script: [first, third]}", &lines)).await;
    played.passed();
    let transcript = "Turn 1:\nUser: one\nAgent: first\n\nTurn 2:\nUser: two\nAgent: third\n";
    assert_eq!(played.conversation(1).conversation_transcript.as_deref(), Some(transcript));
    assert_eq!(played.step(1).execution.as_ref().unwrap().stdout, transcript);
    let second = &played.json()["steps"][0]["conversation"]["turns"][1]["turn_evaluations"][0];
    assert_eq!(second["scope"], json!({"of": "turn", "step": 1, "turn": 2}));
    assert_eq!(
        (&second["name"], &second["label"]),
        (&json!("1.2: string_contains \"r\""), &json!("string_contains \"r\""))
    );
    let mut without = lines.to_vec();
    without.push("debug_options: {export_full_transcript: false}");
    let played = play(&scenario("agent: {script: [first, third]}", &without)).await;
    played.passed();
    assert_eq!(played.json()["steps"][0]["conversation"]["conversation_transcript"], Value::Null);
    assert_eq!(played.step(1).execution.as_ref().unwrap().stdout, "");
}

#[tokio::test(start_paused = true)]
async fn a_conversation_has_the_fields_of_its_turns_its_result_and_its_counts() {
    let models = "agent: {script: [{call: find, usage: {input: 10, output: 1}}, {say: a, usage: {input: 20, output: 2}}, {say: b, usage: {input: 30, output: 3}}]}, user: {script: [{say: one, usage: {input: 5, output: 1}}, {say: two, usage: {input: 6, output: 1}}]}, judge: {rules: [{json: {reasoning: so, judgment: 'yes', confidence: 1}, usage: {input: 100, output: 10}}]}";
    let last = "final_evaluations: [{type: llm_judge, prompt: Kind?, expected: 'yes'}]";
    let text = simulated(models, &["max_turns: 2", last])
        .replace("response: 1", "response: 1, metadata: {delay: 300}");
    let played = Play::new(&text).clock(TokioClock::start()).run().await;
    played.passed();
    let json = &played.json()["steps"][0]["conversation"];
    let turn = &json["turns"][0];
    assert_eq!(turn["turn_number"], 1);
    assert_eq!(turn["room_id"], played.run.main.session().as_str());
    assert_eq!(turn["duration"], 300);
    assert_eq!(turn["execution_result"]["duration_ms"], 300);
    assert_eq!(json["final_evaluations"][0]["scope"], json!({"of": "final", "step": 1}));
    assert_eq!(turn["execution_result"]["stdout"], "a");
    assert_eq!(turn["trajectory"][0]["type"], "action");
    assert_eq!(json["turns"][1]["trajectory"].as_array().unwrap().len(), 1);
    assert_eq!(json["termination_reason"], "max_turns_reached");
    assert_eq!((&json["total_duration"], &json["success"]), (&json!(300), &json!(true)));
    let metrics = json!({
        "total_duration": 300,
        "turn_count": 2,
        "avg_turn_duration": 150.0,
        "llm_calls_per_turn": 3.0,
        "token_usage": {"total": 189, "user_simulation": 13, "agent_responses": 66, "evaluations": 110},
    });
    assert_eq!(json["metrics"], metrics);
}

#[tokio::test]
async fn tokens_that_no_provider_counted_are_unknown() {
    let models = "agent: {script: [{say: a, usage: {input: 1, output: 1}}, b]}, user: {script: [{say: one, usage: {input: 1, output: 1}}, {say: two, usage: {input: 1, output: 1}}]}";
    let played = play(&simulated(models, &["max_turns: 2"])).await;
    let tokens = &played.json()["steps"][0]["conversation"]["metrics"]["token_usage"];
    assert_eq!(
        *tokens,
        json!({"total": null, "user_simulation": 4, "agent_responses": null, "evaluations": 0})
    );
}

#[tokio::test]
async fn every_conversation_counts_its_own_calls() {
    let usage = "usage: {input: 1, output: 1}";
    let condition = "termination_conditions: [{type: goal_achieved, llm_judge: {prompt: Done?}}]";
    let user = "user_simulator: {persona: a, objective: b}";
    let judge = format!("{{rules: [{{json: {{reason: so, holds: false, confidence: 1}}, {usage}}}]}}");
    let text = format!(
        "agent: {{instructions: Help.}}
models:
  agent: {{rules: [{{say: ok, {usage}}}]}}
  user: {{rules: [{{say: go on, {usage}}}]}}
  judge: {judge}
run:
  - conversation: {{max_turns: 2, {user}}}
  - {{input: between, evaluations: []}}
  - {{input: opens, conversation: {{max_turns: 3, {user}, {condition}}}}}
  - conversation: {{max_turns: 2, user: {{script: [a, b]}}}}
"
    );
    // With a clock that stands still nothing can be told apart by its time.
    let played = play(&text).await;
    played.came_to(Verdict::Unjudged);
    let counted = |step: usize| {
        let metrics = &played.conversation(step).metrics;
        let tokens = metrics.token_usage;
        (metrics.llm_calls_per_turn, tokens.agent_responses, tokens.user_simulation, tokens.evaluations)
    };
    assert_eq!(counted(1), (2.0, Some(4), Some(4), Some(0)));
    // Three answers, two simulated messages, three questions to the judge.
    assert_eq!(counted(3), (8.0 / 3.0, Some(6), Some(4), Some(6)));
    assert_eq!(counted(4), (1.0, Some(4), Some(0), Some(0)));
}

#[tokio::test]
async fn a_turn_in_which_the_agent_fails_is_told() {
    let lines = [
        "max_turns: 3",
        "user: {script: [one, two]}",
        "turn_evaluations: [{type: string_contains, value: a}]",
    ];
    let played = play(&scenario("agent: {script: [a, {fail: down}]}", &lines)).await;
    played.came_to(Verdict::Error);
    assert_eq!(messages(&played), [("one", "a"), ("two", "")]);
    let turns = &played.conversation(1).turns;
    assert!(turns[0].turn_evaluations[0].success);
    assert_eq!(turns[1].turn_evaluations[0].message, "it was not evaluated");
    assert_eq!(turns[1].execution_result.exit_code, None);
    assert!(!played.conversation(1).success);
}
