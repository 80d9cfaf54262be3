//! Whatever a scenario holds, its result accounts for all of it.

use proptest::prelude::*;
use rehearsal_core::{MetricStatus, StepStatus, Verdict};

use crate::run::stage::play;

/// A step of a random scenario.
#[derive(Clone, Debug)]
enum Kind {
    Input,
    Code { exit: u8 },
    Scripted { lines: usize, turns: usize },
    Simulated { turns: usize },
}

#[derive(Clone, Debug)]
struct RandomStep {
    kind: Kind,
    evaluations: Vec<u8>,
    turn_evaluations: Vec<u8>,
}

fn step() -> impl Strategy<Value = RandomStep> {
    let kind = prop_oneof![
        4 => Just(Kind::Input),
        1 => (0_u8..3).prop_map(|exit| Kind::Code { exit }),
        2 => (1_usize..4, 2_usize..4)
            .prop_map(|(lines, turns)| Kind::Scripted { lines: lines.min(turns), turns }),
        2 => (2_usize..4).prop_map(|turns| Kind::Simulated { turns }),
    ];
    let words = || prop::collection::vec(0_u8..4, 0..3);
    (kind, words(), words()).prop_map(|(kind, evaluations, turn_evaluations)| RandomStep {
        kind,
        evaluations,
        turn_evaluations,
    })
}

/// What the models say: `w0` to `w3`, a call of a tool with or without a mock, or nothing at all.
fn reply() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => (0_u8..4).prop_map(|word| format!("w{word} and so on")),
        2 => Just("{call: find, args: {id: 1}}".to_owned()),
        1 => Just("{call: find, args: {id: 2}}".to_owned()),
        1 => Just("{call: find, args: {id: text}, invalid: true}".to_owned()),
        1 => Just("{fail: down}".to_owned()),
        1 => Just("{say: w1 here, usage: {input: 3, output: 1}}".to_owned()),
    ]
}

fn evaluations(words: &[u8]) -> String {
    let list = words.iter().map(|word| format!("{{type: string_contains, value: w{word}}}"));
    format!("[{}]", list.collect::<Vec<_>>().join(", "))
}

fn written(step: &RandomStep) -> String {
    let (own, turn) = (evaluations(&step.evaluations), evaluations(&step.turn_evaluations));
    let conversation = |user: &str, turns: usize| {
        format!(
            "  - {{conversation: {{max_turns: {turns}, {user}, turn_evaluations: {turn}, termination_conditions: [{{type: goal_achieved, keywords: [w3]}}]}}, evaluations: {own}}}\n"
        )
    };
    match step.kind {
        Kind::Input => format!("  - {{input: hello, evaluations: {own}}}\n"),
        Kind::Code { exit } => format!("  - {{lang: sh, code: echo w1; exit {exit}, evaluations: {own}}}\n"),
        Kind::Scripted { lines, turns } => {
            conversation(&format!("user: {{script: {:?}}}", vec!["go on"; lines]), turns)
        }
        Kind::Simulated { turns } => {
            conversation("user_simulator: {persona: a customer, objective: an order}", turns)
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_step_is_accounted_for(
        steps in prop::collection::vec(step(), 1..5),
        agent in prop::collection::vec(reply(), 0..14),
        user in prop::collection::vec(reply(), 0..6),
        any in any::<bool>(),
    ) {
        let simulated = steps.iter().any(|step| matches!(step.kind, Kind::Simulated { .. }));
        let talks = steps.iter().any(|step| !matches!(step.kind, Kind::Code { .. }));
        let user = user.iter().filter(|reply| !reply.contains("call")).cloned().collect::<Vec<_>>().join(", ");
        let user = if simulated { format!(", user: {{script: [{user}]}}") } else { String::new() };
        let agent = agent.join(", ");
        let models = if talks { format!("models: {{agent: {{script: [{agent}]}}{user}}}\n") } else { String::new() };
        let text = format!(
            "agent: {{instructions: Help., tools: [{{name: find, parameters: {{properties: {{id: {{type: integer}}}}}}}}]}}
{models}setup: {{mocks: [{{method: find, when: {{input: {{id: 1}}}}, response: 1}}]}}
judgment: {{strategy: {}}}
run:
{}",
            if any { "any_pass" } else { "all_pass" },
            steps.iter().map(written).collect::<String>()
        );
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let played = runtime.block_on(play(&text));
        let result = &played.result;

        prop_assert!(result.error.as_ref().is_none_or(|error| error.kind != "panic"), "{}", played.error());
        let undecided = result.evaluations().any(|evaluation| {
            matches!(evaluation.metric.status, MetricStatus::Error | MetricStatus::Unscored)
        });
        let also_undecided = result.status == Verdict::Failed && undecided;
        prop_assert_eq!(result.error.is_some(), result.status == Verdict::Error || also_undecided);
        prop_assert_eq!(result.steps.len(), steps.len());
        let mut over = false;
        for (step, wanted) in result.steps.iter().zip(&steps) {
            match step.status {
                StepStatus::Skipped => {
                    prop_assert!(over, "a step is skipped only after one that did not come to its end\n{text}");
                    prop_assert!(step.note.as_deref().is_some_and(|note| note.starts_with("skipped, because ")));
                }
                StepStatus::Errored => {
                    prop_assert!(!over);
                    over = true;
                    prop_assert_eq!(result.status, Verdict::Error);
                }
                StepStatus::Unjudged => prop_assert!(step.note.is_some() && wanted.evaluations.is_empty()),
                StepStatus::Passed | StepStatus::Failed => {
                    prop_assert!(!over);
                    prop_assert_eq!(step.evaluations.len(), wanted.evaluations.len());
                    for evaluation in &step.evaluations {
                        prop_assert_ne!(evaluation.message.as_str(), "it was not evaluated");
                    }
                }
            }
            if let Some(conversation) = &step.conversation {
                for turn in &conversation.turns {
                    prop_assert_eq!(turn.turn_evaluations.len(), wanted.turn_evaluations.len());
                }
                prop_assert_eq!(conversation.metrics.turn_count, conversation.turns.len());
            }
        }
        prop_assert_eq!(over, result.status == Verdict::Error);
        let found: Vec<bool> = result.evaluations().map(|evaluation| evaluation.success).collect();
        match result.status {
            Verdict::Passed if any => prop_assert!(found.contains(&true)),
            Verdict::Passed => prop_assert!(!found.is_empty() && !found.contains(&false)),
            Verdict::Failed if any => prop_assert!(!found.contains(&true)),
            Verdict::Failed => prop_assert!(found.contains(&false)),
            Verdict::Unjudged => prop_assert!(found.is_empty()),
            Verdict::Error => {}
            Verdict::Terminated => prop_assert!(false, "nothing here has a limit"),
        }
        let calls = result.mocks.answered.len();
        prop_assert_eq!(result.mocks.unused.is_empty(), calls > 0);
    }
}
