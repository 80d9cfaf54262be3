//! The user of a loop, stand-ins for tools, and runs that are ended or watched from outside.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use rehearsal_agent::{
    Answer, FunctionTool, Journal, LlmAgent, Loop, Refusal, Step, Tool, ToolAnswer, ToolEffect,
};
use rehearsal_core::{
    Content, EndReason, Event, EventBody, Failure, Ledger, MetricResult, Player, ToolDeclaration,
    ToolOutcome, Verdict,
};
use rehearsal_metrics::{Custom, MetricRef};
use rehearsal_models::{Reply, ScriptedModel};
use rehearsal_sim::person::PeopleAtHand;
use rehearsal_sim::{
    Cancel, Case, CaseMaker, Judgment, LoopUser, Next, Opening, RunOptions, Scene, StandIn, Suite,
    SuiteEvent, TimeLimit,
};
use serde_json::json;

/// Says its lines one after the other, evaluates after each answer, and ends.
#[derive(Debug)]
struct Lines {
    lines: Vec<&'static str>,
    limit: Option<Duration>,
}

impl Lines {
    fn new(lines: &[&'static str]) -> Self {
        Self { lines: lines.to_vec(), limit: None }
    }
}

fn said(ledger: &Ledger) -> usize {
    ledger.events().iter().filter(|event| matches!(event.body, EventBody::UserMessage { .. })).count()
}

#[async_trait]
impl LoopUser for Lines {
    async fn next(&self, scene: &mut Scene<'_>) -> Result<Next, Failure> {
        let said = said(scene.ledger());
        if said > 0 {
            scene.tell(EventBody::Note { name: "answered".into(), data: json!({"turn": said}) })?;
            let metric: MetricRef = Arc::new(Custom::new(format!("turn {said}"), move |ledger| {
                MetricResult::from_pass(ledger.events().len() > said)
            }));
            scene.evaluate(&[metric]).await;
        }
        match self.lines.get(said) {
            None => Ok(Next::End(EndReason::Completed)),
            Some(line) => Ok(Next::Say {
                content: Content::user(*line),
                decision: None,
                changes: Vec::new(),
                limit: self.limit.map(|within| TimeLimit { within, what: "one answer".to_owned() }),
            }),
        }
    }
}

fn echo() -> Loop {
    Loop::new("talk", Step::new("echo", |cx| Ok(cx.respond(cx.input.to_uppercase()))))
}

fn talk(lines: &[&'static str]) -> Case {
    Case::new("talk", echo()).opening(Opening::User).loop_played_by(Lines::new(lines))
}

#[tokio::test]
async fn a_user_opens_goes_on_and_ends() {
    let run = talk(&["one", "two"]).run(&RunOptions::default()).await;
    assert!(run.passed(), "{run}");
    assert_eq!(run.result.metrics.keys().collect::<Vec<_>>(), ["turn 1", "turn 2"]);
    assert_eq!(run.main.end(), Some(EndReason::Completed));
    let notes = run.events().iter().filter(|event| matches!(event.body, EventBody::Note { .. })).count();
    assert_eq!(notes, 2);
}

#[tokio::test]
async fn a_user_with_nothing_to_say_lets_nothing_happen() {
    let run = talk(&[]).run(&RunOptions::default()).await;
    assert_eq!(run.result.status, Verdict::Unjudged);
    assert!(!run.events().iter().any(|event| matches!(event.body, EventBody::AgentStarted { .. })));
}

fn never() -> Loop {
    Loop::new("talk", LlmAgent::new("slow", Arc::new(Stuck)))
}

/// A model that never answers.
#[derive(Debug)]
struct Stuck;

#[async_trait]
impl rehearsal_agent::Model for Stuck {
    fn name(&self) -> Arc<str> {
        "stuck".into()
    }
    async fn respond(
        &self,
        _: &rehearsal_agent::ModelCall,
    ) -> Result<rehearsal_core::ModelResponse, rehearsal_agent::ModelError> {
        std::future::pending().await
    }
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_takes_too_long_is_terminated_and_the_ledger_says_why() {
    let user = Lines { limit: Some(Duration::from_secs(1)), ..Lines::new(&["hello"]) };
    let case = Case::new("slow", never()).opening(Opening::User).loop_played_by(user);
    let run = case.run(&RunOptions::default()).await;
    assert_eq!(run.result.status, Verdict::Terminated);
    let limit = run.events().iter().find_map(|event| match &event.body {
        EventBody::TimeLimit(reached) => Some((reached.limit.clone(), reached.millis)),
        _ => None,
    });
    assert_eq!(limit, Some(("one answer".to_owned(), Some(1000))));
}

#[tokio::test]
async fn a_cancelled_run_keeps_what_happened() {
    let options = RunOptions::default();
    let case = Case::new("slow", never()).first_message("hello");
    let (run, ()) = tokio::join!(case.run(&options), async {
        tokio::task::yield_now().await;
        options.cancel.cancel();
    });
    assert_eq!(run.result.status, Verdict::Terminated);
    assert_eq!(run.result.termination_reason, Some(EndReason::Cancelled));
    assert_eq!(said(&run.main), 1);
    assert_eq!(run.main.end(), Some(EndReason::Cancelled));
}

#[tokio::test]
async fn a_cancelled_suite_starts_nothing_more() {
    let cancel = Cancel::default();
    cancel.cancel();
    let run = Suite::new([talk(&["one"])]).cancel(cancel).run().await;
    assert_eq!(run.result.summary.not_run, 1);
    assert!(!run.result.passed());
}

#[derive(Debug, Default)]
struct Memory(Mutex<Vec<Arc<Event>>>);

#[async_trait]
impl Journal for Memory {
    async fn keep(&self, events: &[Arc<Event>]) -> std::io::Result<()> {
        self.0.lock().unwrap().extend_from_slice(events);
        Ok(())
    }
}

#[tokio::test]
async fn a_journal_gets_every_event_of_every_session() {
    let judge = ScriptedModel::function("judge", |_| Reply::json(json!({"verdict": "yes", "reason": "ok"})));
    let journal = Arc::new(Memory::default());
    let user = Step::new("user", |cx| Ok(cx.respond("and again")));
    let case = Case::new("watched", echo().max_rounds(2)).first_message("hello").loop_user(user);
    let case = case.judge(Arc::new(judge)).metric(Custom::new("fine", |_| MetricResult::from_pass(true)));
    let options = RunOptions { journal: Some(journal.clone()), ..RunOptions::default() };
    let run = case.run(&options).await;
    let kept = journal.0.lock().unwrap();
    for ledger in run.ledgers() {
        let own: Vec<_> = kept.iter().filter(|event| event.session == *ledger.session()).collect();
        assert_eq!(own, ledger.events().iter().collect::<Vec<_>>());
    }
    assert_eq!(kept.len(), run.ledgers().map(|ledger| ledger.events().len()).sum::<usize>());
}

/// Answers `weather` and refuses everything else.
#[derive(Debug)]
struct Weather;

#[async_trait]
impl StandIn for Weather {
    async fn play(
        &self,
        effect: &ToolEffect,
        _: &Arc<dyn Tool>,
        _: &PeopleAtHand,
    ) -> Result<Answer<ToolAnswer>, Refusal> {
        if &*effect.cx.tool != "weather" {
            let message = format!("nobody plays {}", effect.cx.tool);
            return Err(Refusal { kind: "unmocked_tool".to_owned(), message });
        }
        let value = ToolAnswer { outcome: ToolOutcome::Output(json!({"sky": "clear"})), main_changes: None };
        Ok(Answer { value, by: Player::Mock, name: Some("mocks[0]".into()) })
    }
}

fn tool(name: &str) -> FunctionTool {
    FunctionTool::raw(ToolDeclaration::new(name, ""), |_, _| panic!("a real tool ran"))
}

async fn with_stand_in(called: &'static str) -> Arc<rehearsal_sim::CaseRun> {
    let model = ScriptedModel::list("model", [Reply::call(called, json!({})), "done".into()]);
    let agent = LlmAgent::new("agent", Arc::new(model)).tool(tool("weather")).tool(tool("launch"));
    let case = Case::new("stand-in", agent).first_message("go").stand_in(Weather);
    let case = case.metric(Custom::new("ran", |_| MetricResult::from_pass(true)));
    Suite::new([case]).run().await.runs[0].clone()
}

#[tokio::test]
async fn a_stand_in_plays_tools_nobody_is_cast_for() {
    let run = with_stand_in("weather").await;
    assert!(run.passed(), "{run}");
    let by = run.events().iter().find(|event| matches!(event.body, EventBody::ToolResult(_)));
    assert_eq!(by.unwrap().decision.as_ref().unwrap().name.as_deref(), Some("mocks[0]"));
}

#[tokio::test]
async fn what_a_stand_in_refuses_ends_the_case() {
    let run = with_stand_in("launch").await;
    assert_eq!(run.result.status, Verdict::Error);
    assert_eq!(run.result.error.as_ref().unwrap().message, "nobody plays launch");
}

async fn judged(judgment: Judgment, results: Vec<MetricResult>) -> Verdict {
    let mut case = Case::new("judged", echo().max_rounds(1)).first_message("hello").judgment(judgment);
    for (index, result) in results.into_iter().enumerate() {
        case = case.metric(Custom::new(format!("metric {index}"), move |_| result.clone()));
    }
    case.run(&RunOptions::default()).await.result.status
}

#[tokio::test]
async fn any_pass_needs_one_that_passes() {
    let pass = || MetricResult::from_pass(true);
    let fail = || MetricResult::from_pass(false);
    let unknown = || MetricResult::error("no idea");
    assert_eq!(judged(Judgment::AnyPass, vec![fail(), pass()]).await, Verdict::Passed);
    assert_eq!(judged(Judgment::AllPass, vec![fail(), pass()]).await, Verdict::Failed);
    assert_eq!(judged(Judgment::AnyPass, vec![fail(), fail()]).await, Verdict::Failed);
    assert_eq!(judged(Judgment::AnyPass, vec![unknown(), pass()]).await, Verdict::Passed);
    assert_eq!(judged(Judgment::AllPass, vec![unknown(), pass()]).await, Verdict::Error);
    assert_eq!(judged(Judgment::AllPass, vec![unknown(), fail()]).await, Verdict::Failed);
    assert_eq!(
        judged(Judgment::AllPass, vec![fail(), MetricResult::unscored("no idea")]).await,
        Verdict::Failed
    );
    assert_eq!(judged(Judgment::AnyPass, vec![unknown(), fail()]).await, Verdict::Error);
    assert_eq!(judged(Judgment::AnyPass, vec![]).await, Verdict::Unjudged);
}

#[tokio::test]
async fn each_run_gets_a_case_of_its_own() {
    let made = Arc::new(Mutex::new(Vec::new()));
    let seen = made.clone();
    let maker = CaseMaker::new("talk", move |options| {
        seen.lock().unwrap().push(options.repeat);
        talk(&["one"])
    });
    let finished = Arc::new(Mutex::new(0));
    let count = finished.clone();
    let suite = Suite::new([maker]).repeat(3).jobs(1).observe(move |event| {
        if let SuiteEvent::Finished { run, .. } = event {
            assert!(run.passed());
            *count.lock().unwrap() += 1;
        }
    });
    assert!(suite.run().await.result.passed());
    assert_eq!(*made.lock().unwrap(), [0, 1, 2]);
    assert_eq!(*finished.lock().unwrap(), 3);
}
