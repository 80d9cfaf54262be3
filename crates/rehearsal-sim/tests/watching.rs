//! Metrics that watch a case while it runs and end it, and metrics that need something from outside.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rehearsal_agent::*;
use rehearsal_core::*;
use rehearsal_metrics::evaluator::{Check, ScopedCheck, ToolOrder};
use rehearsal_metrics::*;
use rehearsal_models::{Reply, ScriptedModel};
use rehearsal_sim::*;
use serde_json::{Map, Value, json};

fn script(replies: impl IntoIterator<Item = Reply>) -> Arc<dyn Model> {
    Arc::new(ScriptedModel::list("script", replies))
}

fn call(tool: &str) -> Reply {
    Reply::call(tool, json!({}))
}

/// A tool that counts how often it ran.
fn counted(name: &str, runs: &Arc<AtomicUsize>) -> ToolRef {
    let runs = runs.clone();
    FunctionTool::raw(ToolDeclaration::new(name, "Counts"), move |_, _| {
        runs.fetch_add(1, Ordering::SeqCst);
        Box::pin(std::future::ready(Ok(ToolOutput::new(json!("done")))))
    })
    .into()
}

/// A clerk in a conversation, whose tools count their runs together; the user says one line after the other.
struct Desk {
    runs: Arc<AtomicUsize>,
    case: Case,
}

fn desk(replies: impl IntoIterator<Item = Reply>, lines: &'static [&'static str]) -> Desk {
    let runs = Arc::new(AtomicUsize::new(0));
    let tools = ["verify", "refund", "confirm", "book", "write"].map(|name| counted(name, &runs));
    let agent =
        tools.iter().fold(LlmAgent::new("clerk", script(replies)), |agent, tool| agent.tool(tool.clone()));
    let user = Step::new("user", |cx| {
        Ok(cx.respond(lines.get(usize::try_from(cx.index).unwrap_or_default() + 1).copied().unwrap_or("bye")))
    });
    let case = Case::new("desk", Loop::new("talk", agent).max_rounds(lines.len() as u64))
        .first_message(lines[0])
        .loop_user(user);
    let case = tools.into_iter().fold(case, Case::real_tool);
    Desk { runs, case }
}

fn stopping(rule: ToolOrder) -> ScopedCheck {
    Check::from(rule.stop()).scoped("rule", Scope::Session)
}

async fn run_case(case: &Case) -> CaseRun {
    case.run(&RunOptions { clock: Arc::new(FixedClock::default()), ..RunOptions::default() }).await
}

/// The case ended at a broken rule. Gives what the evidence says, and the kind of the event it names first.
fn broken(run: &CaseRun, metric: &str) -> (String, String) {
    assert_eq!(run.result.status, Verdict::Failed, "{run}");
    assert_eq!(run.result.termination_reason, Some(EndReason::RuleBroken));
    assert_eq!(run.main.end(), Some(EndReason::RuleBroken));
    assert_eq!(run.result.error, None);
    let evidence = &run.result.metrics[metric].evidence[0];
    let event = run.events().iter().find(|event| Some(&event.seq) == evidence.events.first());
    (evidence.text.clone(), event.map_or("none", |event| event.body.kind()).to_owned())
}

#[tokio::test]
async fn a_call_before_another_ends_the_case_before_the_tool_is_asked() {
    let Desk { runs, case } = desk([call("refund"), Reply::text("never said")], &["my money!"]);
    let run = run_case(&case.metric(stopping(ToolOrder::never_before(["refund"], "verify")))).await;
    let why = "refund was called before any call of verify succeeded";
    assert_eq!(broken(&run, "rule"), (why.to_owned(), "tool_call".to_owned()));
    assert_eq!(runs.load(Ordering::SeqCst), 0, "{run}");
    assert!(!run.main.to_transcript().contains("never said"), "{run}");
}

#[tokio::test]
async fn a_call_too_many_turns_after_another_ends_the_case() {
    let replies = [
        call("confirm"),
        Reply::text("a"),
        Reply::text("b"),
        Reply::text("c"),
        call("book"),
        Reply::text("d"),
    ];
    let lines = &["one", "two", "three", "four"];
    let Desk { runs, case } = desk(replies.clone(), lines);
    let run = run_case(&case.metric(stopping(ToolOrder::each_within(["book"], "confirm", 2)))).await;
    let why = "book was called 3 turns after confirm succeeded, at most 2 allowed";
    assert_eq!(broken(&run, "rule"), (why.to_owned(), "tool_call".to_owned()));
    assert_eq!(runs.load(Ordering::SeqCst), 1, "only `confirm` ran: {run}");
    // One turn more is allowed here: the same conversation comes to its end.
    let Desk { runs, case } = desk(replies, lines);
    let run = run_case(&case.metric(stopping(ToolOrder::each_within(["book"], "confirm", 3)))).await;
    assert!(run.passed(), "{run}");
    assert_eq!(runs.load(Ordering::SeqCst), 2, "{run}");
}

#[tokio::test]
async fn a_call_after_the_user_said_stop_ends_the_case() {
    let replies = [call("write"), Reply::text("a"), call("write"), Reply::text("b")];
    let Desk { runs, case } = desk(replies, &["go", "Stop it, please", "?"]);
    let run = run_case(&case.metric(stopping(ToolOrder::never_after_user_says(["write"], "stop")))).await;
    assert_eq!(broken(&run, "rule").0, "write was called after the user said \"stop\"");
    assert_eq!(runs.load(Ordering::SeqCst), 1, "{run}");
}

#[tokio::test]
async fn without_stop_the_case_goes_on_and_fails_at_its_end() {
    let Desk { runs, case } = desk([call("refund"), Reply::text("done")], &["my money!"]);
    let rule = Check::from(ToolOrder::never_before(["refund"], "verify")).scoped("rule", Scope::Session);
    let run = run_case(&case.metric(rule)).await;
    assert_eq!((run.result.status, run.result.termination_reason), (Verdict::Failed, None), "{run}");
    assert_eq!(runs.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_broken_rule_fails_the_case_also_where_another_metric_would_be_enough() {
    let Desk { case, .. } = desk([call("refund"), Reply::text("done")], &["my money!"]);
    let case = case
        .judgment(Judgment::AnyPass)
        .metric(Custom::new("fine", |_| MetricResult::from_pass(true)))
        .metric(stopping(ToolOrder::never_before(["refund"], "verify")));
    let run = run_case(&case).await;
    broken(&run, "rule");
    // Judged again from its ledger, it is the same.
    let rule: MetricRef = Arc::new(stopping(ToolOrder::never_before(["refund"], "verify")));
    let again = judge_ledger(run.main.clone(), &[vec![rule]], &Judges::default(), Judgment::AnyPass).await;
    assert_eq!(again.result.metrics["rule"], run.result.metrics["rule"]);
    assert_eq!(again.result.status, Verdict::Failed);
}

#[tokio::test]
async fn what_agents_do_behind_a_tool_or_side_by_side_is_seen_when_they_come_back() {
    let runs = Arc::new(AtomicUsize::new(0));
    let refund = counted("refund", &runs);
    let inner = || LlmAgent::new("inner", script([call("refund"), Reply::text("ok")])).tool(refund.clone());
    let outer = LlmAgent::new(
        "outer",
        script([Reply::call("inner", json!({"request": "go"})), Reply::text("never said")]),
    )
    .tool(AgentTool::new(inner(), "Refunds"));
    let both = Parallel::new("both", [inner().into(), inner().into()]);
    for agent in [AgentRef::from(outer), both.into()] {
        let case = Case::new("below", agent).first_message("go").real_tool(refund.clone());
        let run = run_case(&case.metric(stopping(ToolOrder::never_before(["refund"], "verify")))).await;
        assert_eq!(broken(&run, "rule").1, "tool_call");
        assert!(!run.main.to_transcript().contains("never said"), "{run}");
    }
}

/// An agent that does not care about errors.
#[derive(Debug)]
struct Stubborn(Arc<str>, ToolRef);

#[async_trait::async_trait]
impl Agent for Stubborn {
    fn name(&self) -> &Arc<str> {
        &self.0
    }
    fn kind(&self) -> &'static str {
        "stubborn"
    }
    async fn run(&self, cx: &mut Context<'_>) -> Result<Flow, RunError> {
        for index in 0..3 {
            let ids = cx.session().around().ids;
            let turn = ids.turn(cx.ledger().session(), cx.invocation(), index);
            let FunctionCall { name, args, .. } = FunctionCall::new("refund", json!({}));
            let call = FunctionCall { id: Some(ids.call(&turn, 0)), name, args, ..FunctionCall::default() };
            drop(cx.call_tools(&turn, &[call], std::slice::from_ref(&self.1)).await);
        }
        Ok(Flow::Done(Done::new("fine")))
    }
}

#[tokio::test]
async fn an_agent_that_lets_the_end_pass_does_not_go_on() {
    let runs = Arc::new(AtomicUsize::new(0));
    let refund = counted("refund", &runs);
    let agent: AgentRef = Arc::new(Stubborn("stubborn".into(), refund.clone()));
    let case = Case::new("stubborn", agent).first_message("go").real_tool(refund);
    let run = run_case(&case.metric(stopping(ToolOrder::never_before(["refund"], "verify")))).await;
    broken(&run, "rule");
    assert_eq!(runs.load(Ordering::SeqCst), 0, "{run}");
}

/// Counts what it is shown, and panics at a text.
#[derive(Clone, Debug, Default)]
struct Counting {
    seen: Arc<AtomicUsize>,
    panics_at: Option<&'static str>,
}

impl Watcher for Counting {
    fn see(&mut self, event: &Event, ledger: &Ledger) -> Option<Breach> {
        let place = usize::try_from(event.seq).unwrap_or_default() - 1;
        assert_eq!(ledger.events()[place].seq, event.seq, "the ledger holds it");
        assert_eq!(self.seen.fetch_add(1, Ordering::SeqCst), place, "in order, each once");
        assert_ne!(self.panics_at, Some(event.body.kind()), "as it was told to");
        None
    }
}

impl Metric for Counting {
    fn name(&self) -> &'static str {
        "counting"
    }
    fn evaluate(&self, _: &Ledger) -> Assessment {
        MetricResult::from_pass(true).into()
    }
    fn watch(&self) -> Option<Box<dyn Watcher>> {
        Some(Box::new(self.clone()))
    }
}

#[tokio::test]
async fn a_metric_that_watches_is_shown_every_event_once_in_the_order_of_the_ledger() {
    let replies = (0..100).flat_map(|_| [call("verify"), Reply::text("a")]);
    let lines: &'static [&'static str] = Box::leak(vec!["again"; 100].into_boxed_slice());
    let Desk { case, .. } = desk(replies, lines);
    let counting = Counting::default();
    let run = run_case(&case.max_turns(200).metric(counting.clone())).await;
    assert!(run.passed(), "{run}");
    // All but the end itself, which nobody can break a rule with.
    assert!(run.events().len() > 800);
    assert_eq!(counting.seen.load(Ordering::SeqCst), run.events().len() - 1);
}

#[tokio::test]
async fn a_metric_that_panics_while_it_watches_is_an_error_of_that_metric() {
    let Desk { case, .. } = desk([call("verify"), Reply::text("a")], &["go"]);
    let run = run_case(&case.metric(Counting { panics_at: Some("tool_call"), ..Counting::default() })).await;
    assert_eq!(run.result.status, Verdict::Error, "{run}");
    assert_eq!(run.result.metrics["counting"].status, MetricStatus::Error);
    let error = run.result.error.expect("it could not be decided");
    assert!(error.phase == Phase::Metric && error.message.contains("as it was told to"), "{error:?}");
}

// --- metrics that need something from outside ---

/// Asks a tool for a number, and passes when it is not zero.
#[derive(Debug)]
struct Stock;

impl Metric for Stock {
    fn name(&self) -> &'static str {
        "stock"
    }
    fn evaluate(&self, _: &Ledger) -> Assessment {
        let args = Map::from_iter([("of".to_owned(), json!("tea"))]);
        Assessment::ask([Request::Tool { tool: "warehouse".to_owned(), args }])
    }
    fn conclude(&self, _: &Ledger, answers: &[Value]) -> MetricResult {
        MetricResult::from_pass(answers[0].as_u64() > Some(0)).value(answers[0].clone())
    }
}

fn warehouse<F>(answer: impl Fn(Value) -> F + Send + Sync + 'static) -> ToolRef
where
    F: Future<Output = Result<Value, ToolError>> + Send + 'static,
{
    let schema = json!({"type": "object", "properties": {"of": {"enum": ["tea"]}}, "required": ["of"]});
    let declaration = ToolDeclaration::new("warehouse", "What is there").parameters(schema);
    FunctionTool::raw(declaration, move |args, _| {
        let answer = answer(args);
        Box::pin(async move { Ok(ToolOutput::new(answer.await?)) })
    })
    .into()
}

async fn stock(tool: Option<ToolRef>) -> CaseRun {
    let agent = LlmAgent::new("clerk", script([Reply::text("a")]));
    let mut case =
        Case::new("stock", agent).first_message("hi").metric(Stock).judge_timeout(Duration::from_secs(1));
    if let Some(tool) = tool {
        case = case.metric_tool(tool);
    }
    run_case(&case).await
}

#[tokio::test]
async fn a_tool_is_asked_for_a_metric_and_stands_on_the_judges_ledger() {
    let there = warehouse(|args| async move {
        tokio::task::yield_now().await;
        Ok(json!(args["of"].as_str().map_or(0, str::len)))
    });
    let run = stock(Some(there)).await;
    assert!(run.passed(), "{run}");
    assert_eq!(run.result.metrics["stock"].value, Some(json!(3)));
    let judge = run.judge.expect("something was asked");
    let kinds: Vec<&str> = judge.events().iter().map(|event| event.body.kind()).collect();
    assert!(kinds.contains(&"tool_call") && kinds.contains(&"tool_result"), "{kinds:?}");
    assert_eq!(run.main.calls().count(), 0);
    let run = stock(Some(warehouse(|_| async { Ok(json!(0)) }))).await;
    assert_eq!(run.result.status, Verdict::Failed);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_cannot_be_performed_is_an_error_and_never_a_pass() {
    let failing = warehouse(|_| async { Err(ToolError::new("Closed", "nobody is there")) });
    let panicking = warehouse(|_| async { panic!("out of paper") });
    let hanging = warehouse(|_| std::future::pending());
    for (tool, why) in [
        (
            None,
            "this metric asks for the tool `warehouse`, but the case has none for it\n\nAdd it:\n  .metric_tool(tool)",
        ),
        (Some(failing), "the tool `warehouse` failed: Closed: nobody is there"),
        (Some(panicking), "the tool `warehouse` panicked: out of paper"),
        (Some(hanging), "the tool `warehouse` gave no answer within 1s"),
    ] {
        let run = stock(tool).await;
        assert_eq!(run.result.status, Verdict::Error, "{run}");
        let result = &run.result.metrics["stock"];
        assert_eq!(result.status, MetricStatus::Error);
        assert!(result.evidence[0].text.contains(why), "{why}: {result:?}");
    }
}
