//! Suites: order, isolation, statistics, determinism.

use std::hash::BuildHasher;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rehearsal_agent::*;
use rehearsal_core::*;
use rehearsal_metrics::*;
use rehearsal_models::{Reply, ScriptedModel};
use rehearsal_sim::*;
use serde_json::json;

fn clock() -> Arc<dyn Clock> {
    Arc::new(FixedClock::default())
}

/// A case that talks, writes state, and passes or not.
fn case(name: &str, passes: bool) -> Case {
    let talker = Step::new("talker", |cx| {
        cx.state.set("turn", cx.index);
        Ok(cx.respond(format!("round {}", cx.index)))
    });
    let user = Step::new("user", |cx| Ok(cx.respond(format!("re: {}", cx.input))));
    Case::new(name, Loop::new("talk", talker).max_rounds(3))
        .first_message("hi")
        .loop_user(user)
        .metric(StateMetric::new("turn", "session", "turn").equals(json!(if passes { 2 } else { 9 })))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn results_come_in_the_order_of_the_cases_and_are_counted() {
    let cases: Vec<Case> = (0..20).map(|n| case(&format!("case {n}"), n % 4 != 0)).collect();
    let broken =
        Case::new("broken", Loop::new("l", Step::new("s", |_| Err("no".into())))).first_message("hi");
    let endless = case("endless", true).max_turns(1);
    let unjudged = Case::new("unjudged", Step::new("s", |cx| Ok(cx.respond("hi"))));
    let run = Suite::new(cases.into_iter().chain([broken, endless, unjudged])).clock(clock()).run().await;
    let expected = Summary {
        total: 23,
        passed: 15,
        failed: 5,
        errors: 1,
        terminated: 1,
        unjudged: 1,
        ..Summary::default()
    };
    assert_eq!(run.result.summary, expected);
    assert!(!run.result.passed());
    let names: Vec<&str> = run.result.results.iter().map(|result| result.name.as_str()).collect();
    assert_eq!(&names[..3], ["case 0", "case 1", "case 2"]);
    assert_eq!(&names[20..], ["broken", "endless", "unjudged"]);
}

#[tokio::test]
async fn stopping_at_the_first_failure_counts_what_was_not_run() {
    let started = Arc::new(AtomicUsize::new(0));
    let count = started.clone();
    let cases = [case("a", true), case("b", false), case("c", true), case("d", true)];
    let suite = Suite::new(cases).jobs(1).on_first_failure(OnFirstFailure::Stop).observe(move |event| {
        if let SuiteEvent::Started { .. } = event {
            count.fetch_add(1, Ordering::SeqCst);
        }
    });
    let run = suite.run().await;
    assert_eq!(
        run.result.summary,
        Summary { total: 4, passed: 1, failed: 1, not_run: 2, ..Summary::default() }
    );
    assert_eq!(started.load(Ordering::SeqCst), 2);
    assert!(!run.result.passed());
}

#[tokio::test]
async fn an_empty_suite_has_not_passed() {
    assert!(!Suite::new(Vec::<Case>::new()).run().await.result.passed());
}

#[tokio::test]
async fn repeats_of_a_case_are_independent_and_counted_together() {
    let lucky = Step::new("lucky", |cx| Ok(cx.respond("x")));
    let lucky = Case::new("lucky", lucky).metric(Custom::new("luck", |ledger: &Ledger| {
        MetricResult::from_pass(ledger.started().unwrap().seed.unwrap().is_multiple_of(2))
    }));
    let run = Suite::new([case("sure", true), lucky]).repeat(8).seed(3).clock(clock()).run().await;
    let [sure, lucky] = &run.result.repeats[..] else { panic!("{:?}", run.result.repeats) };
    assert_eq!((sure.runs, sure.passed, sure.pass_hat_k[7]), (8, 8, 1.0));
    assert_eq!(lucky.runs, 8);
    assert!((1..8).contains(&lucky.passed), "the seed differs from repeat to repeat");
    assert!(lucky.pass_at_k[7] > lucky.pass_hat_k[7]);
    let seeds: std::collections::BTreeSet<u64> =
        run.result.results.iter().map(|result| result.seed).collect();
    assert_eq!(seeds.len(), 16);
    let names: Vec<(&str, u32)> =
        run.result.results.iter().map(|result| (result.name.as_str(), result.repeat)).collect();
    assert_eq!((names[0], names[7], names[8]), (("sure", 0), ("sure", 7), ("lucky", 0)));
}

fn ledgers(run: &SuiteRun) -> Vec<String> {
    run.runs.iter().flat_map(|run| run.ledgers()).map(Ledger::to_jsonl).collect()
}

/// Waits a random while; who is faster differs from run to run of the test.
async fn dawdle() {
    let mut wait = std::hash::RandomState::new().hash_one(0) % 4;
    while wait > 0 {
        tokio::task::yield_now().await;
        wait -= 1;
    }
}

/// A case in which everything that can run side by side does, and takes a different time in every run.
fn racing(name: &str) -> Case {
    let list = |replies: Vec<Reply>| -> Arc<dyn Model> { Arc::new(ScriptedModel::list("script", replies)) };
    let ask = |tool: &str| -> ToolRef { YieldingTool::raw(ToolDeclaration::new(tool, "Asks")).into() };
    let roll = || -> ToolRef {
        FunctionTool::raw(ToolDeclaration::new("roll", "Rolls dice"), |_, _| unreachable!("it is mocked"))
            .into()
    };
    let worker = |name: &str| -> AgentRef {
        let calls =
            Reply::call("roll", json!({})).and_call("roll", json!({})).and_call("ask", json!({"who": name}));
        LlmAgent::new(name, list(vec![calls, Reply::text("rolled")])).tools([roll(), ask("ask")]).into()
    };
    let both = Parallel::new("both", [worker("left"), worker("right")]);
    let user = |name: &'static str| {
        Step::new_async(name, |cx| async move {
            dawdle().await;
            cx.state.set("asked", cx.index);
            Ok(cx.respond(format!("heard: {}", cx.input)))
        })
    };
    let dice = Mock::new_async(|_, cx: MockContext| async move {
        dawdle().await;
        cx.state().set("last", cx.chance().number("dice", 0) % 6);
        json!({"rolled": cx.chance().number("dice", 0) % 6, "nth": cx.nth()})
    });
    let verdict = Reply::json(json!({"passed": true, "score": 1.0, "reasoning": "fine"}));
    Case::new(name, Loop::new("rounds", both).max_rounds(1))
        .first_message("go")
        .mock("roll", dice)
        .loop_user(user("caller"))
        .tool_user("ask", user("answerer"))
        .metric(LlmJudge::new("fair", "Was it fair?"))
        .metric(LlmJudge::new("kind", "Was it kind?"))
        .judge(list(vec![verdict.clone(), verdict]))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn parallelism_changes_no_byte_of_any_ledger() {
    let suite = |jobs| {
        let cases = (0..12).map(|n| {
            if n % 2 == 0 { racing(&format!("race {n}")) } else { case(&format!("case {n}"), true) }
        });
        Suite::new(cases).clock(clock()).seed(5).repeat(2).jobs(jobs)
    };
    let one_by_one = suite(1).run().await;
    assert!(one_by_one.result.passed(), "{}", one_by_one.runs[0]);
    for jobs in [2, 16] {
        let side_by_side = suite(jobs).run().await;
        assert_eq!(ledgers(&one_by_one), ledgers(&side_by_side));
        assert_eq!(one_by_one.result, side_by_side.result);
    }
    assert_eq!(ledgers(&one_by_one).len(), 60, "with users and judges");
}

#[tokio::test]
async fn cases_of_one_name_are_still_two_cases() {
    let run = Suite::new([case("same", true), case("same", false)]).repeat(2).run().await;
    let passed: Vec<u32> = run.result.repeats.iter().map(|repeats| repeats.passed).collect();
    assert_eq!(passed, [2, 0]);
    let sessions: std::collections::BTreeSet<&SessionId> =
        run.result.results.iter().flat_map(|result| &result.sessions).collect();
    assert_eq!(sessions.len(), 8, "no two runs share a session");
}

#[tokio::test]
async fn a_suite_can_run_in_a_task_of_its_own() {
    let task = tokio::spawn(async { Suite::new([case("spawned", true)]).run().await });
    assert!(task.await.unwrap().result.passed());
}

#[tokio::test]
async fn a_stored_ledger_can_be_scored_again_with_other_metrics() {
    let run = case("stored", true).run(&RunOptions::default()).await;
    let stored = Ledger::from_jsonl(&run.main.to_jsonl()).unwrap();
    let metrics: [MetricRef; 3] = [
        Arc::new(EventCountMetric::new("messages", "user_message").exactly(3)),
        Arc::new(FinalResponse::new("last").contains("round 2")),
        Arc::new(LlmJudge::new("judge", "Was it kind?")),
    ];
    let results = score(&stored, &metrics);
    assert!(results["messages"].passed());
    assert!(results["last"].passed());
    assert_eq!(results["judge"].status, MetricStatus::Unscored);
}
