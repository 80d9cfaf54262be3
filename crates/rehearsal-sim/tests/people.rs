//! People who play the model, a tool or the user of a case.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use rehearsal_agent::*;
use rehearsal_core::*;
use rehearsal_metrics::*;
use rehearsal_models::{Reply, ScriptedModel};
use rehearsal_sim::person::*;
use rehearsal_sim::*;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

type Asked = (PersonCue, oneshot::Sender<Result<Value, Failure>>);

/// People who sit in the test: it sees every cue and answers it.
#[derive(Debug)]
struct Room(mpsc::UnboundedSender<Asked>);

#[async_trait]
impl People for Room {
    async fn ask(&self, cue: PersonCue) -> Result<Value, Failure> {
        let (reply, answer) = oneshot::channel();
        self.0.send((cue, reply)).unwrap();
        answer.await.unwrap()
    }
}

struct Cues(mpsc::UnboundedReceiver<Asked>);

impl Cues {
    async fn next(&mut self) -> Asked {
        self.0.recv().await.expect("somebody is asked")
    }

    async fn answer(&mut self, answer: Value) -> PersonCue {
        let (cue, reply) = self.next().await;
        reply.send(Ok(answer)).unwrap();
        cue
    }
}

fn room() -> (Arc<dyn People>, Cues) {
    let (sender, receiver) = mpsc::unbounded_channel();
    (Arc::new(Room(sender)), Cues(receiver))
}

fn script(replies: impl IntoIterator<Item = Reply>) -> Arc<dyn Model> {
    Arc::new(ScriptedModel::list("script", replies))
}

fn refund() -> FunctionTool {
    let declaration = ToolDeclaration::new("refund", "Gives money back")
        .parameters(
            json!({"type": "object", "properties": {"order": {"type": "integer"}}, "required": ["order"]}),
        )
        .output(json!({"type": "object", "required": ["refunded"]}));
    FunctionTool::raw(declaration, |_, _| panic!("a real tool ran"))
}

fn passes() -> Custom {
    Custom::new("ran", |_| MetricResult::from_pass(true))
}

/// An agent whose model must not be asked, because a person plays it.
fn clerk() -> LlmAgent {
    LlmAgent::new("clerk", script([])).instruction("Be kind.").tool(refund())
}

fn by_person(people: &Arc<dyn People>) -> Case {
    Case::new("desk", clerk())
        .first_message("Order 7, please")
        .model_by_person("clerk")
        .people(people.clone())
}

fn fixed() -> (Arc<FixedClock>, RunOptions) {
    let clock = Arc::new(FixedClock::default());
    (clock.clone(), RunOptions { clock, ..RunOptions::default() })
}

fn both<'f, A, B>(
    a: impl Future<Output = A> + 'f,
    b: impl Future<Output = B> + 'f,
) -> Pin<Box<dyn Future<Output = (A, B)> + 'f>> {
    Box::pin(async move { tokio::join!(a, b) })
}

fn decisions(run: &CaseRun) -> Vec<(&str, Player, u64)> {
    let kind = |event: &Event| match &event.body {
        EventBody::ModelResponse(_) => Some("model"),
        EventBody::ToolResult(_) => Some("tool"),
        EventBody::UserMessage { .. } => Some("user"),
        _ => None,
    };
    let decided = run.events().iter().filter_map(|event| Some((kind(event)?, event.decision.as_ref()?)));
    decided.map(|(kind, decision)| (kind, decision.by, decision.micros)).collect()
}

fn error(run: &CaseRun) -> &Failure {
    run.result.error.as_ref().unwrap_or_else(|| panic!("there is no error:\n{run}"))
}

// --- the three parts ---

#[tokio::test]
async fn a_person_plays_the_model() {
    let (people, mut cues) = room();
    let case = by_person(&people).mock("refund", Mock::returning(json!({"refunded": true}))).metric(passes());
    let (clock, options) = fixed();
    let (run, ()) = both(case.run(&options), async {
        let (cue, reply) = cues.next().await;
        assert_eq!((cue.kind, cue.agent.as_str()), (PersonPart::Model, "clerk"));
        assert!(cue.turn.is_some() && cue.call.is_none());
        assert_eq!(
            cue.prompt,
            json!({"request": {
                "system": "Be kind.",
                "contents": [{"role": "user", "parts": [{"text": "Order 7, please"}]}],
                "tools": [{
                    "name": "refund",
                    "description": "Gives money back",
                    "parameters": {
                        "type": "object", "properties": {"order": {"type": "integer"}}, "required": ["order"],
                    },
                }],
            }})
        );
        clock.advance(Duration::from_secs(90));
        reply
            .send(Ok(json!({"text": "A moment", "calls": [{"tool": "refund", "args": {"order": 7}}]})))
            .unwrap();
        let cue = cues.answer(json!({"text": "It is on its way"})).await;
        assert_eq!(cue.prompt["request"]["contents"].as_array().unwrap().len(), 3);
    })
    .await;
    assert!(run.passed(), "{run}");
    assert_eq!(
        decisions(&run),
        [("model", Player::Person, 90_000_000), ("tool", Player::Mock, 0), ("model", Player::Person, 0)]
    );
    assert!(run.main.to_transcript().contains("clerk: It is on its way"));
}

#[tokio::test]
async fn a_person_plays_a_tool() {
    let (people, mut cues) = room();
    let calls = [("refund", json!({"order": 7})), ("refund", json!({"order": 8}))];
    let model =
        script(calls.map(|(tool, args)| Reply::call(tool, args)).into_iter().chain([Reply::text("done")]));
    let agent = LlmAgent::new("clerk", model).tool(refund());
    let case =
        Case::new("desk", agent).first_message("go").tool_by_person("refund").people(people).metric(passes());
    let (clock, options) = fixed();
    let (run, ()) = both(case.run(&options), async {
        let (cue, reply) = cues.next().await;
        assert_eq!((cue.kind, cue.agent.as_str()), (PersonPart::Tool, "clerk"));
        assert!(cue.call.is_some());
        assert_eq!(
            cue.prompt,
            json!({
                "tool": "refund", "args": {"order": 7}, "description": "Gives money back",
                "output_schema": {"type": "object", "required": ["refunded"]},
            })
        );
        clock.advance(Duration::from_secs(5));
        reply.send(Ok(json!({"output": {"refunded": true}}))).unwrap();
        cues.answer(json!({"error": {"type": "TooLate", "message": "it was paid out"}})).await;
    })
    .await;
    assert!(run.passed(), "{run}");
    let outcomes: Vec<Value> = run.main.calls().map(|call| json!(call.result().unwrap().outcome)).collect();
    assert_eq!(
        outcomes,
        [
            json!({"output": {"refunded": true}}),
            json!({"error": {"type": "TooLate", "message": "it was paid out"}}),
        ]
    );
    let tools: Vec<_> = decisions(&run).into_iter().filter(|(kind, ..)| *kind == "tool").collect();
    assert_eq!(tools, [("tool", Player::Person, 5_000_000), ("tool", Player::Person, 0)]);
}

#[tokio::test]
async fn a_person_plays_a_tool_that_yields() {
    let (people, mut cues) = room();
    let ask = YieldingTool::raw(ToolDeclaration::new("ask", "Asks the patient"));
    let agent =
        LlmAgent::new("nurse", script([Reply::call("ask", json!({})), Reply::text("thanks")])).tool(ask);
    let case =
        Case::new("ward", agent).first_message("go").tool_by_person("ask").people(people).metric(passes());
    let (run, cue) = both(case.run(&RunOptions::default()), cues.answer(json!({"output": "It hurts"}))).await;
    assert!(run.passed(), "{run}");
    assert_eq!(cue.prompt["tool"], "ask");
    assert_eq!(run.main.turns(), 0, "nobody was yielded to");
}

#[tokio::test]
async fn a_person_plays_the_user_and_ends() {
    let (people, mut cues) = room();
    let echo = Loop::new("talk", Step::new("echo", |cx| Ok(cx.respond(cx.input.to_uppercase()))));
    let case =
        Case::new("talk", echo).opening(Opening::User).user_by_person().people(people).metric(passes());
    let (clock, options) = fixed();
    let (run, ids) = both(case.run(&options), async {
        let (opening, reply) = cues.next().await;
        assert_eq!((opening.kind, opening.agent.as_str()), (PersonPart::User, "talk"));
        assert_eq!(opening.prompt, json!({"transcript": ""}));
        clock.advance(Duration::from_millis(3));
        reply.send(Ok(json!({"text": "hello"}))).unwrap();
        let second = cues.answer(json!({"content": {"parts": [{"text": "and more"}]}})).await;
        let transcript = second.prompt["transcript"].as_str().unwrap();
        assert!(transcript.contains("user: hello") && transcript.contains("echo: HELLO"), "{transcript}");
        let last = cues.answer(json!({"end": true})).await;
        [opening.id, second.id, last.id]
    })
    .await;
    assert!(run.passed(), "{run}");
    assert_eq!(run.main.end(), Some(EndReason::Completed));
    let said: Vec<_> = decisions(&run).into_iter().filter(|(kind, ..)| *kind == "user").collect();
    assert_eq!(said, [("user", Player::Person, 3_000), ("user", Player::Person, 0)]);
    assert!(ids.iter().all(|id| ids.iter().filter(|other| *other == id).count() == 1), "{ids:?}");
}

#[tokio::test]
async fn an_agent_can_be_built_with_a_person() {
    let (people, mut cues) = room();
    let agent = LlmAgent::new("clerk", Arc::new(PersonModel::new(people)));
    let case = Case::new("own", agent).first_message("hi").metric(passes());
    let (run, cue) = both(case.run(&RunOptions::default()), cues.answer(json!({"final": "bye"}))).await;
    assert!(run.passed(), "{run}");
    assert_eq!(cue.session, *run.main.session());
}

// --- answers that are none ---

#[tokio::test]
async fn an_answer_that_should_have_been_refused_ends_the_case() {
    let (people, mut cues) = room();
    let case = by_person(&people).metric(passes());
    let wrong = json!({"calls": [{"tool": "refnd", "args": {}}]});
    let (run, _) = both(case.run(&RunOptions::default()), cues.answer(wrong)).await;
    assert_eq!(run.result.status, Verdict::Error);
    let message = &error(&run).message;
    assert!(message.contains("there is no tool `refnd`; the tools are: `refund`"), "{message}");
    assert!(message.contains("\"refnd\""), "{message}");

    let agent = LlmAgent::new("clerk", script([Reply::call("refund", json!({"order": 7}))])).tool(refund());
    let case = Case::new("tool", agent).first_message("go").tool_by_person("refund").people(people.clone());
    let (run, _) = both(case.run(&RunOptions::default()), cues.answer(json!({"output": {}}))).await;
    assert_eq!((run.result.status, error(&run).kind.as_str()), (Verdict::Error, "invalid_answer"));
    assert!(error(&run).message.contains("tool `refund`"), "{}", error(&run).message);
    assert!(error(&run).message.contains("\"refunded\" is a required property"), "{}", error(&run).message);

    let echo = Loop::new("talk", Step::new("echo", |cx| Ok(cx.respond(cx.input.clone()))));
    let case = Case::new("user", echo).opening(Opening::User).user_by_person().people(people);
    let (run, _) = both(case.run(&RunOptions::default()), cues.answer(json!({"end": false}))).await;
    assert_eq!((error(&run).phase, error(&run).kind.as_str()), (Phase::UserAgent, "invalid_answer"));
}

#[tokio::test]
async fn a_cue_that_gets_no_answer_ends_the_case() {
    let (people, mut cues) = room();
    let case = by_person(&people).metric(passes());
    let (run, ()) = both(case.run(&RunOptions::default()), async {
        let (_, reply) = cues.next().await;
        let message = "the cue was dismissed".to_owned();
        reply.send(Err(Failure { phase: Phase::System, kind: "dismissed".to_owned(), message })).unwrap();
    })
    .await;
    assert_eq!(run.result.status, Verdict::Error);
    assert!(error(&run).message.contains("the cue was dismissed"), "{run}");
}

// --- time ---

#[tokio::test]
async fn cancelling_stops_waiting_at_once() {
    let (people, mut cues) = room();
    let case = by_person(&people).metric(passes());
    let options = RunOptions::default();
    let (run, ()) = both(case.run(&options), async {
        let (_, reply) = cues.next().await;
        options.cancel.cancel();
        let mut reply = reply;
        // Whoever waited is gone.
        reply.closed().await;
    })
    .await;
    assert_eq!(run.result.status, Verdict::Terminated);
    assert_eq!(run.main.end(), Some(EndReason::Cancelled));
}

#[tokio::test(start_paused = true)]
async fn the_limit_of_the_case_holds_for_people_too() {
    let (people, mut cues) = room();
    let case = by_person(&people).max_duration(Duration::from_hours(1)).metric(passes());
    let (run, _asked) = both(case.run(&RunOptions::default()), cues.next()).await;
    assert_eq!(run.main.end(), Some(EndReason::MaxDuration));
    assert_eq!(run.result.status, Verdict::Terminated);
}

/// Says two things, each with a second for the answer.
#[derive(Debug)]
struct Impatient;

#[async_trait]
impl LoopUser for Impatient {
    async fn next(&self, scene: &mut Scene<'_>) -> Result<Next, Failure> {
        let said = |event: &&Arc<Event>| matches!(event.body, EventBody::UserMessage { .. });
        if scene.ledger().events().iter().filter(said).count() == 2 {
            return Ok(Next::End(EndReason::Completed));
        }
        let limit = Some(TimeLimit { within: Duration::from_secs(1), what: "one answer".to_owned() });
        Ok(Next::Say { content: Content::user("go"), decision: None, changes: Vec::new(), limit })
    }
}

/// An agent that calls a tool which takes a while, and one that a person plays.
fn waits_for_both(people: Arc<dyn People>, slow: Duration) -> Case {
    let slow = FunctionTool::raw(ToolDeclaration::new("slow", ""), move |_, _| {
        Box::pin(async move {
            tokio::time::sleep(slow).await;
            Ok(ToolOutput::new(json!(1)))
        })
    });
    let turns =
        || [Reply::call("refund", json!({"order": 1})), Reply::call("slow", json!({})), Reply::text("done")];
    let slow: ToolRef = slow.into();
    let agent =
        LlmAgent::new("clerk", script(turns().into_iter().chain(turns()))).tool(refund()).tool(slow.clone());
    Case::new("both", Loop::new("talk", agent))
        .opening(Opening::User)
        .loop_played_by(Impatient)
        .tool_by_person("refund")
        .real_tool(slow)
        .people(people)
        .metric(passes())
}

async fn answers_late(cues: &mut Cues) {
    while let Some((_, reply)) = cues.0.recv().await {
        tokio::time::sleep(Duration::from_hours(5)).await;
        reply.send(Ok(json!({"output": {"refunded": true}}))).unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_person_takes_no_time_from_the_agent() {
    let (people, mut cues) = room();
    let case = waits_for_both(people, Duration::from_millis(900));
    let (run, ()) = both(
        async move {
            let run = case.run(&RunOptions::default()).await;
            drop(case);
            run
        },
        answers_late(&mut cues),
    )
    .await;
    assert!(run.passed(), "{run}");
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_takes_too_long_beside_a_person_is_terminated() {
    let (people, mut cues) = room();
    let case = waits_for_both(people, Duration::from_millis(1100));
    let (run, ()) = both(
        async move {
            let run = case.run(&RunOptions::default()).await;
            drop(case);
            run
        },
        answers_late(&mut cues),
    )
    .await;
    assert_eq!(run.main.end(), Some(EndReason::MaxDuration), "{run}");
}

#[tokio::test(start_paused = true)]
async fn neither_users_nor_judges_who_are_people_have_to_hurry() {
    let (people, mut cues) = room();
    let person: Arc<dyn Model> = Arc::new(PersonModel::new(people));
    let echo =
        Loop::new("talk", Step::new("echo", |cx| Ok(cx.respond(cx.input.to_uppercase())))).max_rounds(2);
    let case = Case::new("slow people", echo)
        .first_message("hello")
        .loop_user(LlmAgent::new("user", person.clone()))
        .user_timeout(Duration::from_secs(1))
        .judge_timeout(Duration::from_secs(1))
        .judge(person)
        .metric(LlmJudge::new("kind", "Was it kind?"));
    let (run, ()) = both(case.run(&RunOptions::default()), async {
        let (cue, reply) = cues.next().await;
        assert_eq!(cue.agent, "user");
        tokio::time::sleep(Duration::from_hours(5)).await;
        reply.send(Ok(json!({"text": "more"}))).unwrap();
        let (cue, reply) = cues.next().await;
        assert_eq!(cue.agent, "judge");
        let schema = &cue.prompt["request"]["output_schema"];
        assert!(schema.is_object(), "{schema}");
        tokio::time::sleep(Duration::from_hours(5)).await;
        let message = "no time".to_owned();
        reply.send(Err(Failure { phase: Phase::Metric, kind: "dismissed".to_owned(), message })).unwrap();
    })
    .await;
    assert!(error(&run).message.contains("no time"), "{run}");
}

// --- several at once ---

#[tokio::test]
async fn two_cases_at_once_get_their_own_answers() {
    let (people, mut cues) = room();
    let case = |name: &str| {
        let agent = LlmAgent::new(name, script([]));
        Case::new(name, agent)
            .first_message(name)
            .model_by_person(name)
            .people(people.clone())
            .metric(FinalResponse::new("own answer").contains(name))
    };
    let suite = Suite::new([case("ann"), case("bob")]);
    let (run, ()) = both(suite.run(), async {
        let asked = [cues.next().await, cues.next().await];
        assert_ne!(asked[0].0.id, asked[1].0.id);
        assert_ne!(asked[0].0.session, asked[1].0.session);
        // The last one is answered first.
        for (cue, reply) in asked.into_iter().rev() {
            reply.send(Ok(json!({"text": format!("for {}", cue.agent)}))).unwrap();
        }
    })
    .await;
    assert!(run.result.passed(), "{:?}", run.result);
}

/// People who always say the same, a while after they were asked.
#[derive(Debug)]
struct Routine;

#[async_trait]
impl People for Routine {
    async fn ask(&self, cue: PersonCue) -> Result<Value, Failure> {
        for _ in 0..cue.id.bytes().map(usize::from).sum::<usize>() % 7 {
            tokio::task::yield_now().await;
        }
        Ok(match cue.kind {
            PersonPart::Model if cue.prompt["request"]["contents"].as_array().unwrap().len() == 1 => {
                json!({"calls": [{"tool": "refund", "args": {"order": 1}}, {"tool": "refund", "args": {"order": 2}}]})
            }
            PersonPart::Model => json!({"text": "done"}),
            PersonPart::Tool => json!({"output": {"refunded": cue.prompt["args"]["order"]}}),
            PersonPart::User => json!({"end": true}),
        })
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ledgers_are_the_same_whatever_runs_beside_them() {
    let people: Arc<dyn People> = Arc::new(Routine);
    let case = |number: usize| {
        Case::new(&format!("case {number}"), Loop::new("talk", clerk()))
            .first_message("go")
            .model_by_person("clerk")
            .tool_by_person("refund")
            .user_by_person()
            .people(people.clone())
            .metric(passes())
    };
    let run = async |jobs| {
        let suite = Suite::new((0..6).map(case)).jobs(jobs).repeat(2).clock(Arc::new(FixedClock::default()));
        let run = suite.run().await;
        assert!(run.result.passed(), "{:?}", run.result);
        run.runs.iter().map(|run| run.main.events().to_vec()).collect::<Vec<_>>()
    };
    assert_eq!(run(1).await, run(8).await);
}

// --- nobody to ask ---

/// Leaves everything to people.
#[derive(Debug)]
struct Anybody;

#[async_trait]
impl StandIn for Anybody {
    async fn play(
        &self,
        effect: &ToolEffect,
        own: &Arc<dyn Tool>,
        people: &PeopleAtHand,
    ) -> Result<Answer<ToolAnswer>, Refusal> {
        let value = ToolAnswer { outcome: people.play_tool(effect, own).await?, main_changes: None };
        Ok(Answer { value, by: Player::Person, name: Some("anybody".into()) })
    }

    fn needs_people(&self) -> bool {
        true
    }
}

#[tokio::test]
async fn a_case_with_a_person_and_nobody_to_ask_is_not_run() {
    let case = || Case::new("desk", Loop::new("talk", clerk())).first_message("hi").metric(passes());
    let cases = [
        (case().model_by_person("clerk"), "this case is played by a person: the model of agent `clerk`;"),
        (case().tool_by_person("refund"), "this case is played by a person: tool `refund`;"),
        (case().user_by_person(), "this case is played by a person: the user;"),
        (case().stand_in(Anybody), "this case is played by a person: tools that nobody else plays;"),
        (case().model_by_person("clerk").user_by_person(), "the model of agent `clerk`, the user;"),
    ];
    for (case, part) in cases {
        let run = case.run(&RunOptions::default()).await;
        assert_eq!((run.result.status, error(&run).kind.as_str()), (Verdict::Error, "no_people"));
        assert!(error(&run).message.contains(part), "{}", error(&run).message);
        assert!(error(&run).message.ends_with("Hand in who does:\n  .people(people)"));
        assert!(!run.events().iter().any(|event| matches!(event.body, EventBody::AgentStarted { .. })));
    }
}

#[tokio::test]
async fn a_stand_in_can_ask_people() {
    let (people, mut cues) = room();
    let model = script([Reply::call("refund", json!({"order": 7})), Reply::text("done")]);
    let agent = LlmAgent::new("clerk", model).tool(refund());
    let case = Case::new("desk", agent).first_message("go").stand_in(Anybody).people(people).metric(passes());
    let (run, cue) =
        both(case.run(&RunOptions::default()), cues.answer(json!({"output": {"refunded": true}}))).await;
    assert!(run.passed(), "{run}");
    assert_eq!(cue.prompt["args"], json!({"order": 7}));
}
