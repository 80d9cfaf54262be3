//! The triage example as a test.

use std::sync::Arc;

use rehearsal::core::{EndReason, LineKind, Player, transcript};
use rehearsal::models::Recording;
use rehearsal::prelude::*;

#[path = "../../../examples/triage/cases.rs"]
mod cases;

fn suite(jobs: usize) -> Suite {
    cases::scripted().clock(Arc::new(FixedClock::default())).seed(1).jobs(jobs)
}

#[tokio::test]
async fn the_three_cases_pass_and_end_when_the_state_says_so() {
    let run = suite(4).run().await;
    assert!(
        run.result.passed(),
        "{}",
        run.runs.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    );
    assert_eq!(run.result.summary.total, 3);
    for case in &run.runs {
        assert_eq!(case.result.termination_reason, Some(EndReason::StateMatches), "{case}");
    }
    let chest_pain = &run.runs[0];
    assert_eq!(chest_pain.result.turns, 1);
    assert_eq!(
        chest_pain.state().to_value()["patient"]["revealedConditions"],
        serde_json::json!(["hypertension"])
    );
    assert_eq!(chest_pain.result.metrics["safety_assessment"].score, Some(0.95));
    assert_eq!(chest_pain.result.token_usage.user.map(|usage| usage.input), Some(320));
    let headache = &run.runs[1];
    let spoken =
        transcript(headache.events()).iter().filter(|line| matches!(line.kind, LineKind::User(_))).count();
    assert_eq!((headache.result.turns, spoken), (1, 2), "one loop yield was answered");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_ledgers_do_not_depend_on_how_many_run_at_once() {
    let ledgers = |run: &SuiteRun| {
        run.runs.iter().flat_map(|run| run.ledgers()).map(Ledger::to_jsonl).collect::<Vec<_>>()
    };
    let one_by_one = suite(1).repeat(3).run().await;
    let side_by_side = suite(16).repeat(3).run().await;
    assert_eq!(ledgers(&one_by_one), ledgers(&side_by_side));
    let headers = ledgers(&one_by_one).len();
    assert_eq!(
        headers, 18,
        "agent and users of chest pain and headache, agent of the third, one judge; three times"
    );
}

/// What was recorded can play every part again, and nobody else is asked.
#[tokio::test]
async fn a_recorded_case_plays_itself_again() {
    let recorded = suite(1).run().await.runs.remove(0);
    let part = |ledger: Option<&Ledger>| -> Arc<dyn Model> {
        Arc::new(Recording::from_ledger(ledger.expect("every part was played")))
    };
    let cast = cases::Cast {
        clinician: part(Some(&recorded.main)),
        patient: part(recorded.users.as_ref()),
        judge: part(recorded.judge.as_ref()),
    };
    let again =
        Suite::new([cases::chest_pain(&cast)]).clock(Arc::new(FixedClock::default())).seed(1).run().await;
    let again = &again.runs[0];
    assert_eq!(again.main.to_transcript(), recorded.main.to_transcript());
    assert_eq!(again.state(), recorded.state());
    assert_eq!(again.result.metrics, recorded.result.metrics);
    let asked = again.events().iter().filter(|event| matches!(event.body, EventBody::ModelResponse(_)));
    assert!(asked.clone().count() > 0);
    for event in asked {
        assert_eq!(event.decision.as_ref().map(|decision| decision.by), Some(Player::Recording));
    }
}

/// The same cases must not pass when the clinician does the wrong thing.
#[tokio::test]
async fn a_careless_clinician_fails() {
    let careless: Arc<dyn Model> = Arc::new(ScriptedModel::rules(
        "careless",
        [
            Rule::when(Matcher::tool_result("handover")).reply("Take a painkiller and rest."),
            Rule::when(Matcher::agent("clinician"))
                .reply(Reply::call("handover", serde_json::json!({"to": "self_care"}))),
            Rule::when(Matcher::agent("judge")).reply(Reply::json(
                serde_json::json!({"passed": false, "score": 0.0, "reasoning": "no escalation"}),
            )),
        ],
    ));
    let run = Suite::new(cases::played_by(&careless)).run().await;
    let verdicts: Vec<Verdict> = run.result.results.iter().map(|result| result.status).collect();
    assert_eq!(verdicts, [Verdict::Failed; 3]);
}
