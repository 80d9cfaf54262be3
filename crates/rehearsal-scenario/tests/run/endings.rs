//! What ends a conversation: the seven conditions, each when it holds and when it does not.

use rehearsal_core::Verdict;

use crate::run::stage::{Played, play, problems};

/// A conversation of up to three turns in which these things are said.
async fn talk(user: [&str; 3], agent: [&str; 3], conditions: &str) -> Played {
    play(&text(user, agent, conditions)).await
}

fn text(user: [&str; 3], agent: [&str; 3], conditions: &str) -> String {
    format!(
        "agent: {{instructions: Help.}}
models:
  agent: {{script: {agent:?}}}
  judge: {{script: [{{json: {{reason: no, holds: false, confidence: 1}}}}, {{json: {{reason: so, holds: true, confidence: 0.6}}}}, {{json: {{reason: so, holds: true, confidence: 0.9}}}}]}}
run:
  - conversation: {{max_turns: 3, user: {{script: {user:?}}}, termination_conditions: [{conditions}]}}
"
    )
}

const NOTHING: [&str; 3] = ["x", "y", "z"];

async fn after(user: [&str; 3], agent: [&str; 3], conditions: &str) -> (String, usize) {
    let played = talk(user, agent, conditions).await;
    let (reason, turns) = played.ended(1);
    (reason.to_owned(), turns)
}

fn ended(reason: &str, turns: usize) -> (String, usize) {
    (reason.to_owned(), turns)
}

#[tokio::test]
async fn max_turns_reached() {
    let condition = "{type: max_turns_reached}";
    assert_eq!(after(NOTHING, NOTHING, condition).await, ended("max_turns_reached", 3));
    let both = "{type: max_turns_reached}, {type: goal_achieved, keywords: [y]}";
    assert_eq!(after(NOTHING, NOTHING, both).await, ended("goal_achieved", 2));
}

#[tokio::test]
async fn user_expresses_satisfaction() {
    let condition = "{type: user_expresses_satisfaction}";
    let thanks = ["hm", "Thanks, that helps", "no"];
    assert_eq!(after(thanks, NOTHING, condition).await, ended("user_expresses_satisfaction", 2));
    assert_eq!(
        after(NOTHING, thanks, condition).await,
        ended("max_turns_reached", 3),
        "the agent is not the user"
    );
    let part = ["Thanksgiving", "fixedly", "unsolved"];
    assert_eq!(after(part, NOTHING, condition).await, ended("max_turns_reached", 3), "words are whole");
    let own = "{type: user_expresses_satisfaction, keywords: [hurra]}";
    assert_eq!(after(["a", "Hurra!", "b"], NOTHING, own).await, ended("user_expresses_satisfaction", 2));
    assert_eq!(
        after(thanks, NOTHING, own).await,
        ended("max_turns_reached", 3),
        "own words replace the others"
    );
}

#[tokio::test]
async fn agent_provides_solution() {
    let condition = "{type: agent_provides_solution}";
    for said in ["Here's how you do it", "Here’s how you do it", "TRY THIS: restart"] {
        let agent = ["hm", said, "no"];
        assert_eq!(after(NOTHING, agent, condition).await, ended("agent_provides_solution", 2), "{said}");
        assert_eq!(after(agent, NOTHING, condition).await, ended("max_turns_reached", 3));
    }
}

#[tokio::test]
async fn escalation_needed() {
    let condition = "{type: escalation_needed}";
    let agent = ["a", "I transfer you", "b"];
    assert_eq!(after(NOTHING, agent, condition).await, ended("escalation_needed", 2));
    assert_eq!(
        after(NOTHING, ["managerial", "transferred", "b"], condition).await,
        ended("max_turns_reached", 3)
    );
}

#[tokio::test]
async fn goal_achieved() {
    let condition = "{type: goal_achieved}";
    assert_eq!(after(NOTHING, ["a", "It is done.", "b"], condition).await, ended("goal_achieved", 2));
    assert_eq!(
        after(["done", "done", "done"], ["undone", "abandoned", "b"], condition).await,
        ended("max_turns_reached", 3)
    );
}

#[tokio::test]
async fn conversation_stuck() {
    let condition = "{type: conversation_stuck}";
    let same = ["what?", "Sorry, I do not understand.", "Sorry, I do not understand!"];
    assert_eq!(after(NOTHING, same, condition).await, ended("conversation_stuck", 3));
    assert_eq!(
        after(NOTHING, ["a", "one thing", "another thing"], condition).await,
        ended("max_turns_reached", 3)
    );
    let played = talk(["same", "same", "same"], NOTHING, condition).await;
    assert_eq!(played.ended(1), ("max_turns_reached", 3), "a user who repeats themselves is not stuck");
}

#[tokio::test]
async fn a_judge_has_to_be_sure_enough() {
    let condition =
        |threshold: &str| format!("{{type: custom_condition, llm_judge: {{prompt: Done?{threshold}}}}}");
    let default = talk(NOTHING, NOTHING, &condition("")).await;
    assert_eq!(default.ended(1), ("custom_condition", 3));
    let detail = default.conversation(1).termination_detail.as_deref();
    assert_eq!(detail, Some("the judge says yes with confidence 0.9 (needed: 0.8): so"));
    assert_eq!(after(NOTHING, NOTHING, &condition(", threshold: 0.6")).await, ended("custom_condition", 2));
    assert_eq!(after(NOTHING, NOTHING, &condition(", threshold: 0.95")).await, ended("max_turns_reached", 3));
    let asked = default.judge_requests()[1].contents[0].text();
    assert!(asked.contains("QUESTION\nDone?"), "{asked}");
    assert!(asked.contains("Turn 2:\nUser: y\nAgent: y\n"), "{asked}");
}

#[tokio::test]
async fn keywords_come_before_the_judge_who_is_then_not_asked() {
    let condition = "{type: goal_achieved, keywords: [x], llm_judge: {prompt: Done?}}";
    let played = talk(NOTHING, NOTHING, condition).await;
    assert_eq!(played.ended(1), ("goal_achieved", 1));
    assert!(played.judge_requests().is_empty());
    // Without words of the file's own, only the judge decides.
    let played =
        talk(NOTHING, ["done", "done", "done"], "{type: goal_achieved, llm_judge: {prompt: Done?}}").await;
    assert_eq!(played.ended(1), ("goal_achieved", 3));
}

#[tokio::test]
async fn a_judge_that_fails_is_an_error() {
    let text = text(NOTHING, NOTHING, "{type: goal_achieved, llm_judge: {prompt: Done?}}");
    let text = text.replace("judge: {script: [", "judge: {script: [{fail: down}, ");
    let played = play(&text).await;
    played.came_to(Verdict::Error);
    assert!(played.error().starts_with("Metric judge: "), "{}", played.error());
    assert!(played.error().contains("down"), "{}", played.error());
}

#[tokio::test]
async fn the_first_condition_that_holds_is_the_reason() {
    let done = ["a", "done, I transfer you", "b"];
    let one = "{type: goal_achieved}, {type: escalation_needed}";
    assert_eq!(after(NOTHING, done, one).await, ended("goal_achieved", 2));
    let other = "{type: escalation_needed}, {type: goal_achieved}";
    assert_eq!(after(NOTHING, done, other).await, ended("escalation_needed", 2));
}

#[tokio::test]
async fn an_end_is_early_only_before_the_last_turn() {
    let early = talk(NOTHING, ["a", "done", "b"], "{type: goal_achieved}").await;
    assert!(early.conversation(1).terminated_early);
    let late = talk(NOTHING, ["a", "b", "done"], "{type: goal_achieved}").await;
    assert_eq!(late.ended(1), ("goal_achieved", 3));
    assert!(!late.conversation(1).terminated_early);
}

#[tokio::test]
async fn an_end_decides_nothing_about_the_verdict() {
    let text = text(NOTHING, ["a", "done", "b"], "{type: goal_achieved}").replace(
        "max_turns: 3,",
        "max_turns: 3, final_evaluations: [{type: string_contains, value: zebra}],",
    );
    play(&text).await.came_to(Verdict::Failed);
    play(&text.replace("zebra", "done")).await.passed();
}

#[test]
fn a_condition_that_never_holds_is_a_problem() {
    let problem = |condition: &str| problems(&text(NOTHING, NOTHING, condition));
    assert!(problem("{type: custom_condition}").starts_with("never-true: "));
    assert!(
        problem("{type: goal_achieved, keywords: []}").starts_with("never-true: "),
        "{}",
        problem("{type: goal_achieved, keywords: []}")
    );
    assert!(
        problem("{type: goal_achieved, keywords: ['']}").starts_with("never-true: "),
        "{}",
        problem("{type: goal_achieved, keywords: ['']}")
    );
    assert!(problem("{type: goal_achieved, expression: 'true'}").starts_with("no-effect: "));
    assert!(problem("{type: conversation_stuck, keywords: [a]}").starts_with("no-effect: "));
}
