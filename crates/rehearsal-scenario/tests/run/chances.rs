//! Failures by chance: drawn from the run's seed.

use serde_json::{Value, json};

use crate::run::stage::{Play, play};

/// A scenario whose agent calls a tool so many times.
fn calls(count: usize, mock: &str) -> String {
    let calls = vec!["{tool: find}"; count].join(", ");
    format!(
        "agent: {{instructions: Help., tools: [{{name: find}}, {{name: other}}]}}
models: {{agent: {{script: [{{calls: [{calls}]}}, done]}}}}
setup: {{mocks: [{{method: find, {mock}}}]}}
run: [{{input: go, evaluations: [{{type: string_contains, value: done}}]}}]
"
    )
}

fn failed(outcomes: &[Value]) -> Vec<bool> {
    outcomes.iter().map(|outcome| outcome.get("error").is_some()).collect()
}

#[tokio::test]
async fn a_mock_with_an_error_and_a_probability_fails_that_often() {
    let mock = "response: fine, error: {code: DOWN, message: sorry}, metadata: {probability: 0.3}";
    let played = play(&calls(1000, mock)).await;
    played.passed();
    let outcomes = played.outcomes();
    let failures = failed(&outcomes).iter().filter(|failed| **failed).count();
    // Six standard deviations are 87.
    assert!((213..=387).contains(&failures), "{failures} of 1000 failed");
    for outcome in outcomes {
        let down = json!({"error": {"type": "DOWN", "message": "sorry"}});
        assert!(outcome == down || outcome == json!({"output": "fine"}), "{outcome}");
    }
}

#[tokio::test]
async fn a_mock_with_only_a_probability_fails_with_an_error_that_says_so() {
    let played = play(&calls(50, "response: fine, metadata: {probability: 0.5}")).await;
    played.passed();
    let outcomes = played.outcomes();
    let failures: Vec<&Value> = outcomes.iter().filter(|outcome| outcome.get("error").is_some()).collect();
    assert!(!failures.is_empty() && failures.len() < 50);
    assert_eq!(failures[0]["error"]["type"], "RandomFailure");
    assert_eq!(failures[0]["error"]["message"], "this call was made to fail by chance");
}

#[tokio::test]
async fn the_seed_decides_which_calls_fail() {
    let text = calls(64, "response: fine, metadata: {probability: 0.5}");
    let first = failed(&Play::new(&text).seed(1).run().await.outcomes());
    assert_eq!(first, failed(&Play::new(&text).seed(1).run().await.outcomes()));
    assert_ne!(first, failed(&Play::new(&text).seed(2).run().await.outcomes()));
}

#[tokio::test]
async fn always_and_never_are_certain() {
    let never = play(&calls(50, "response: fine, metadata: {probability: 0}")).await;
    assert!(!failed(&never.outcomes()).contains(&true));
    let error = "error: {code: DOWN, message: sorry}";
    let always = play(&calls(50, &format!("{error}, metadata: {{probability: 1}}"))).await;
    assert!(!failed(&always.outcomes()).contains(&false));
    let plain = play(&calls(50, error)).await;
    assert!(!failed(&plain.outcomes()).contains(&false), "an error without a probability always comes");
}
