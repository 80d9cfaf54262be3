//! Eval sets as suites, and ledgers scored against golden traces.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::sync::Arc;

use rehearsal_adk::*;
use rehearsal_agent::{AgentRef, FunctionTool, LlmAgent, ToolRef};
use rehearsal_core::{MetricStatus, ToolOutcome, Verdict};
use rehearsal_models::{Reply, ScriptedModel};
use rehearsal_sim::{Case, CaseRun, Suite};
use rehearsal_testkit::ledger;
use serde_json::{Value, json};

fn add() -> ToolRef {
    FunctionTool::new("add", "Adds", |_: Value, _cx| -> Value { panic!("the real tool ran") }).into()
}

fn agent(replies: impl IntoIterator<Item = Reply>) -> AgentRef {
    LlmAgent::new("math", Arc::new(ScriptedModel::list("script", replies))).tool(add()).into()
}

fn adding(a: i64, b: i64) -> Reply {
    Reply::call("add", json!({"a": a, "b": b}))
}

/// Two messages, each with a call.
fn golden() -> EvalSet {
    let ledger = ledger(
        r#"start {"session": {"unit": "m"}}
        user: add 1 and 2 / call add {"a": 1, "b": 2} / result add 3 / agent: The sum is three
        user: and 3 and 4 / call add {"a": 3, "b": 4} / fail add too large / agent: That did not work
        end"#,
    );
    let case = GoldenTrace::from_ledger(&ledger, &TraceOptions::default()).unwrap().case;
    EvalSet { eval_set_id: "s".into(), eval_cases: vec![case], ..EvalSet::default() }
}

fn eval(run: impl FnOnce(EvalRun) -> EvalRun, set: EvalSet, agent: AgentRef) -> Arc<CaseRun> {
    let base =
        EvalRun::new(set, move |eval| Case::new(&eval.eval_id, conversation_agent(agent.clone(), eval)));
    let cases = run(base).cases();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(Suite::new(cases).run()).runs[0].clone()
}

#[test]
fn a_golden_trace_is_played_again_without_the_tools() {
    let agent = agent([adding(1, 2), "The sum is three".into(), adding(3, 4), "That did not work".into()]);
    let run = eval(EvalRun::golden_tools, golden(), agent);
    assert!(run.passed(), "{run}");
    assert_eq!(run.state().get("session", "unit"), Some(&json!("m")));
    let again = GoldenTrace::from_ledger(&run.main, &TraceOptions::default()).unwrap().case;
    let strip = |case: &EvalCase| {
        let data = |invocation: &Invocation| {
            let data = &invocation.intermediate_data;
            let uses: Vec<Value> = data.tool_uses.iter().map(|call| json!([call.name, call.args])).collect();
            let given: Vec<Value> = data.tool_responses.iter().map(|given| json!(given.response)).collect();
            (uses, given, invocation.final_response.clone())
        };
        case.invocations().unwrap().iter().map(data).collect::<Vec<_>>()
    };
    assert_eq!(strip(&again), strip(&golden().eval_cases[0]));
}

#[test]
fn another_call_gets_the_next_answer_and_the_trajectory_fails() {
    let agent = agent([adding(2, 1), "The sum is three".into(), adding(3, 4), "That did not work".into()]);
    let run = eval(EvalRun::golden_tools, golden(), agent);
    assert_eq!(run.result.status, Verdict::Failed, "{run}");
    assert_eq!(run.result.metrics[TOOL_TRAJECTORY].score, Some(0.5));
    assert!(run.result.metrics[RESPONSE_MATCH].passed());
    assert!(run.result.metrics[GOLDEN_TOOLS].passed());
}

fn matching(kind: &str) -> Criteria {
    let criteria = json!({"criteria": {TOOL_TRAJECTORY: {"threshold": 1, "match_type": kind}}});
    Criteria::read(&criteria.to_string()).unwrap()
}

#[test]
fn a_call_more_than_the_trace_makes_is_told_to_the_agent_and_counts_as_one_more() {
    for (kind, expected) in
        [("EXACT", Verdict::Failed), ("IN_ORDER", Verdict::Passed), ("ANY_ORDER", Verdict::Passed)]
    {
        for more in [adding(6, 6), Reply::call("look", json!({"at": "it"}))] {
            let replies = [
                adding(1, 2),
                adding(5, 5),
                more,
                "The sum is three".into(),
                adding(3, 4),
                "That did not work".into(),
            ];
            let look =
                FunctionTool::new("look", "Looks", |_: Value, _cx| -> Value { panic!("the real tool ran") });
            let model = Arc::new(ScriptedModel::list("script", replies));
            let agent: AgentRef = LlmAgent::new("math", model).tool(add()).tool(look).into();
            let run = eval(|run| run.golden_tools().criteria(matching(kind)), golden(), agent);
            assert_eq!(run.result.status, expected, "{kind} {run}");
            let result = &run.result.metrics[GOLDEN_TOOLS];
            assert!(result.passed(), "{result:?}");
            assert!(result.evidence[0].text.contains("the golden trace does not call `"), "{result:?}");
            let third = run.main.calls().nth(2).unwrap();
            let given = third.result().unwrap().outcome.clone();
            assert!(matches!(&given, ToolOutcome::Error(error) if error.kind == NOT_IN_TRACE), "{given:?}");
        }
    }
}

#[test]
fn a_call_of_the_trace_whose_response_it_does_not_have_decides_nothing() {
    let mut set = golden();
    let Conversation::Static(invocations) = &mut set.eval_cases[0].conversation else {
        panic!("written out")
    };
    invocations[0].intermediate_data.tool_responses.clear();
    let replies = [adding(1, 2), "The sum is three".into(), adding(3, 4), "That did not work".into()];
    let run = eval(EvalRun::golden_tools, set, agent(replies));
    assert_eq!(run.result.status, Verdict::Error, "{run}");
    let result = &run.result.metrics[GOLDEN_TOOLS];
    assert_eq!(result.status, MetricStatus::Error);
    assert!(result.evidence[0].text.contains(r#"`add` with {"a":1,"b":2}"#), "{result:?}");
}

#[test]
fn arguments_left_out_are_not_no_arguments() {
    let golden = |args: &Value| {
        let mut call = json!({"name": "ping"});
        if *args != json!("left out") {
            call["args"] = args.clone();
        }
        let lists = json!({"tool_uses": [call.clone()]});
        let events =
            json!({"invocation_events": [{"author": "a", "content": {"parts": [{"function_call": call}]}}]});
        [lists, events].map(|data| {
            let said = json!({"user_content": {"parts": [{"text": "go"}]}, "intermediate_data": data});
            let set = json!({"eval_set_id": "s", "eval_cases": [{"eval_id": "a", "conversation": [said]}]});
            EvalSet::read(&set.to_string()).unwrap().set.eval_cases.remove(0)
        })
    };
    let made = ledger("user: go / call ping {} / agent: done / end");
    for (args, expected) in [(json!({}), 1.0), (Value::Null, 0.0), (json!("left out"), 0.0)] {
        for case in golden(&args) {
            for kind in ["EXACT", "IN_ORDER", "ANY_ORDER"] {
                let score = score_ledger(&made, &case, &matching(kind))[TOOL_TRAJECTORY].score;
                assert_eq!(score, Some(expected), "{args} {kind}");
            }
            let ignoring = Criteria::read(
                r#"{"criteria": {"tool_trajectory_avg_score": {"threshold": 1, "ignore_args": true}}}"#,
            );
            assert!(score_ledger(&made, &case, &ignoring.unwrap())[TOOL_TRAJECTORY].passed());
        }
    }
}

#[test]
fn without_golden_tools_nothing_is_cast() {
    let run = eval(|run| run, golden(), agent([adding(1, 2)]));
    assert_eq!(run.result.status, Verdict::Error);
    assert_eq!(run.result.error.as_ref().unwrap().kind, "unmocked_tool");
}

#[test]
fn an_agent_that_stops_too_early_does_not_pass() {
    let one = agent([adding(1, 2), "The sum is three".into()]);
    let run = EvalRun::new(golden(), move |eval| Case::new(&eval.eval_id, one.clone())).golden_tools();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let run = runtime.block_on(Suite::new(run.cases()).run()).runs[0].clone();
    assert_eq!(run.result.status, Verdict::Error, "{run}");
    let why = &run.result.metrics[TOOL_TRAJECTORY].evidence[0].text;
    assert!(why.contains("2 user messages and the session 1"), "{why}");
}

#[test]
fn cases_that_cannot_be_run_say_why() {
    for (case, words) in [
        (
            json!({"eval_id": "a", "conversation_scenario": {"starting_prompt": "hi", "conversation_plan": "x"}}),
            "simulated user",
        ),
        (json!({"eval_id": "a", "conversation": []}), "conversation is empty"),
        (
            json!({"eval_id": "a", "conversation": [{"user_content": {"parts": []}}]}),
            "says nothing in invocation 0",
        ),
    ] {
        let set = EvalSet::read(&json!({"eval_set_id": "s", "eval_cases": [case]}).to_string()).unwrap().set;
        let run = eval(|run| run, set, agent(["hi".into()]));
        assert_eq!(run.result.status, Verdict::Error);
        assert!(run.result.error.as_ref().unwrap().message.contains(words), "{run}");
    }
}

#[test]
fn the_state_at_the_end_is_compared() {
    let mut case = golden().eval_cases.remove(0);
    let expected = json!({"unit": "m", "user:seen": 2.0, "gone": null});
    case.final_session_state = expected.as_object().unwrap().clone();
    let play = |end: &str| {
        let text = format!(
            r#"start {{"session": {{"unit": "m", "gone": 1}}}} / user: a / agent: b / user: c / state {end} / agent: d / end"#
        );
        score_ledger(&ledger(&text), &case, &Criteria::default()).swap_remove(FINAL_STATE).unwrap()
    };
    assert!(play(r#"{"session": {"gone": null, "more": 1}, "user": {"seen": 2}}"#).passed());
    let missing = play(r#"{"user": {"seen": 3}}"#);
    assert_eq!((missing.status, missing.score), (MetricStatus::Failed, Some(1.0 / 3.0)));
}

#[test]
fn a_ledger_scores_as_adk_scores_it() {
    let set = golden();
    let score =
        |description: &str| score_ledger(&ledger(description), &set.eval_cases[0], &Criteria::default());
    let same = score(
        r#"user: x / call add {"b": 2.0, "a": true} / agent: three is the SUM / user: y / call add {"a": 3, "b": 4}
        agent: work did that not! / end"#,
    );
    assert!(same.values().all(rehearsal_core::MetricResult::passed), "{same:?}");
    let other = score("user: x / agent: The sum / user: y / agent: no / end");
    assert_eq!(other[TOOL_TRAJECTORY].score, Some(0.0));
    // ROUGE-1 of `the sum` against `the sum is three` is 2/3; the mean with 0 is a third.
    let mean = other[RESPONSE_MATCH].score.unwrap();
    assert!((mean - 1.0 / 3.0).abs() < 1e-12, "{mean}");
    assert_eq!(score("user: x / agent: y / end")[RESPONSE_MATCH].status, MetricStatus::Error);
}
