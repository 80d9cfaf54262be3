//! The example with metrics of one's own, as a test.

use rehearsal::core::EndReason;
use rehearsal::prelude::*;

#[path = "../../../examples/metrics/cases.rs"]
mod cases;

use cases::{TokenBudget, refund};

const PLENTY: TokenBudget = TokenBudget { most: 2_000 };

fn calls(run: &CaseRun) -> usize {
    run.main.calls().filter(|call| call.answer.is_some()).count()
}

#[test]
fn a_metric_asks_elsewhere_and_the_answer_is_kept_with_what_the_judge_was_asked() {
    let run = refund(23.5, PLENTY).run_blocking();
    assert!(run.passed(), "{run}");
    let judge = run.judge.as_ref().expect("the bank was asked");
    let asked: Vec<String> = judge.calls().map(|call| call.tool.to_string()).collect();
    assert_eq!(asked, ["booking"]);
    assert!(
        run.main.calls().all(|call| **call.tool == *"refund"),
        "the agent's ledger has only what the agent did"
    );
}

#[test]
fn what_was_found_elsewhere_decides() {
    let run = refund(2.35, PLENTY).run_blocking();
    assert_eq!(run.result.status, Verdict::Failed, "{run}");
    assert_eq!(
        run.result.metrics["refunds are booked"].evidence[0].text,
        "order 17: refunded 23.5, booked 2.35"
    );
}

#[test]
fn a_budget_ends_the_case_at_the_answer_that_goes_beyond() {
    let run = refund(23.5, TokenBudget { most: 400 }).run_blocking();
    assert_eq!(run.result.status, Verdict::Failed, "{run}");
    assert_eq!(run.result.termination_reason, Some(EndReason::RuleBroken));
    let evidence = &run.result.metrics["token budget"].evidence[0];
    assert_eq!(evidence.text, "420 tokens are spent, 400 are allowed");
    let at = usize::try_from(evidence.events[0]).expect("a small number") - 1;
    let broken = run.events()[at].body.kind();
    assert_eq!((broken, calls(&run)), ("model_response", 0), "nothing was refunded after it");
}
