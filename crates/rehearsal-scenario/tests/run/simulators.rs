//! The simulated user: what it is asked, and when it has failed.

use rehearsal_core::{StepStatus, Verdict};

use crate::run::stage::{Play, TokioClock, play};

fn scenario(models: &str, simulator: &str, more: &str) -> String {
    format!(
        "agent: {{instructions: Help.}}
models: {{{models}}}
run:
  - conversation: {{user_simulator: {{persona: a customer, objective: an order{simulator}}}, {more}}}
  - {{input: more, evaluations: []}}
"
    )
}

#[tokio::test]
async fn the_simulator_is_told_who_it_is_and_how_to_speak() {
    let simulator = ", temperature: 0, max_tokens: 55, style: curt, constraints: [never swear, no emoji], emotional_state: angry, knowledge_level: expert, model_type: actor";
    let models = "agent: {script: [a, b, c]}, actor: {script: [one, two]}";
    let played = play(&scenario(models, simulator, "max_turns: 2")).await;
    played.came_to(Verdict::Unjudged);
    let setup = played.user_requests()[0].setup.clone();
    assert_eq!((setup.settings.temperature, setup.settings.max_tokens), (Some(0.0), Some(55)));
    let system = setup.system.as_deref().unwrap();
    for part in [
        "Who you are: a customer",
        "What you want: an order",
        "How you speak: curt",
        "How you feel: angry",
        "- never swear\n- no emoji",
        "precisely",
    ] {
        assert!(system.contains(part), "{part} in {system}");
    }
    let plain =
        play(&scenario("agent: {script: [a, b, c]}, user: {script: [one, two]}", "", "max_turns: 2")).await;
    let settings = &plain.user_requests()[0].setup.settings;
    assert_eq!((settings.temperature, settings.max_tokens), (Some(0.7), Some(200)));
}

#[tokio::test]
async fn recent_turns_are_shown_whole_and_older_ones_in_short() {
    let long = |name: &str| format!("{name} {}", "word ".repeat(40).trim_end());
    let agent: Vec<String> = (1..=7).map(|n| long(&format!("answer {n}"))).collect();
    let user: Vec<String> = (1..=6).map(|n| long(&format!("question {n}"))).collect();
    let models = format!("agent: {{script: {agent:?}}}, user: {{script: {user:?}}}");
    let played = play(&scenario(&models, "", "max_turns: 6")).await;
    played.came_to(Verdict::Unjudged);
    let requests = played.user_requests();
    assert_eq!(requests.len(), 6);
    let last = requests[5].contents.iter().map(|content| content.text()).collect::<Vec<_>>();
    assert_eq!(last.len(), 1, "a prompt holds all that it needs, and nothing is repeated");
    for turn in 3..=5 {
        assert!(
            last[0].contains(&format!("Person: {}\nAssistant: {}\n", user[turn - 1], agent[turn - 1])),
            "{}",
            last[0]
        );
    }
    for turn in 1..=2 {
        assert!(!last[0].contains(&user[turn - 1]) && !last[0].contains(&agent[turn - 1]), "{}", last[0]);
        assert!(last[0].contains(&format!("question {turn} word")) && last[0].contains('…'), "{}", last[0]);
    }
    assert!(
        last[0].ends_with("The person can say 1 more thing. Write the person's next message."),
        "{}",
        last[0]
    );
}

#[tokio::test]
async fn the_conversation_is_the_steps_own() {
    let text = "agent: {instructions: Help.}
models: {agent: {script: [first answer, second answer, third answer]}, user: {script: [hello, again]}}
run:
  - {input: secret, evaluations: []}
  - conversation: {max_turns: 2, user_simulator: {persona: a, objective: b}}
";
    let played = play(text).await;
    played.came_to(Verdict::Unjudged);
    let prompts: Vec<String> =
        played.user_requests().iter().map(|request| request.contents[0].text()).collect();
    assert!(prompts[0].starts_with("The conversation begins."), "{}", prompts[0]);
    assert!(!prompts[1].contains("secret") && prompts[1].contains("second answer"), "{}", prompts[1]);
}

#[tokio::test]
async fn a_simulator_that_fails_is_an_error_of_the_user() {
    let models = "agent: {script: [a, b]}, user: {script: [one, {fail: no more words}]}";
    let played = play(&scenario(models, "", "max_turns: 3")).await;
    played.came_to(Verdict::Error);
    assert!(played.error().starts_with("UserAgent "), "{}", played.error());
    assert!(played.error().contains("no more words"), "{}", played.error());
    assert_eq!(played.conversation(1).turns.len(), 1, "nothing is made up in its place");
    assert_eq!((played.step(1).status, played.step(2).status), (StepStatus::Errored, StepStatus::Skipped));
}

#[tokio::test]
async fn a_simulator_that_breaks_its_role_is_an_error_of_the_user() {
    for said in ["As an AI, I cannot order.", "Assistant: How can I help?", "   ", "ok a"] {
        let models = format!("agent: {{script: [ok a, b]}}, user: {{script: [one, {said:?}]}}");
        let played = play(&scenario(&models, "", "max_turns: 3")).await;
        played.came_to(Verdict::Error);
        let error = played.error();
        assert!(error.starts_with("UserAgent "), "{error}");
        assert!(
            said.trim().is_empty()
                || error
                    .starts_with("UserAgent role_break: the simulated user of step 1 fell out of its role"),
            "{error}"
        );
    }
    for said in ["Are you an AI?", "User: \"Where is it?\"", "The assistant said: wait."] {
        let models = format!("agent: {{script: [ok, b, c]}}, user: {{script: [one, {said:?}]}}");
        play(&scenario(&models, "", "max_turns: 2")).await.came_to(Verdict::Unjudged);
    }
}

#[tokio::test(start_paused = true)]
async fn a_simulator_that_never_answers_meets_the_limits_of_the_conversation() {
    let play = |limits: &str| {
        let text = scenario("agent: {script: [a]}, user: silent", "", &format!("max_turns: 3, {limits}"));
        Play::new(&text).clock(TokioClock::start())
    };
    let turn = play("timeout_per_turn_ms: 2000").run().await;
    turn.came_to(Verdict::Error);
    assert!(turn.error().starts_with("UserAgent timeout: the simulated user of step 1 said nothing within `timeout_per_turn_ms` (2000 ms)"), "{}", turn.error());
    assert_eq!(turn.result.duration_ms, 2000);
    let total = play("timeout_per_turn_ms: 60000, total_timeout_ms: 10000").run().await;
    total.came_to(Verdict::Terminated);
    assert_eq!(total.result.terminated_by().as_deref(), Some("`total_timeout_ms` (10000 ms) was reached"));
}
