//! What a case does, and what it does when something is missing or breaks.

#![expect(clippy::needless_raw_string_hashes, reason = "expect-test writes them")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use expect_test::expect;
use rehearsal_agent::*;
use rehearsal_core::*;
use rehearsal_metrics::*;
use rehearsal_models::{Matcher, Reply, Rule, ScriptedModel};
use rehearsal_sim::*;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize, JsonSchema)]
struct Search {
    query: String,
    limit: u32,
}

/// A tool with a side effect that a test can see.
fn search(runs: &Arc<AtomicUsize>) -> ToolRef {
    let runs = runs.clone();
    FunctionTool::new("searchRequests", "Searches", move |args: Search, _cx| {
        runs.fetch_add(1, Ordering::SeqCst);
        json!({"query": args.query, "limit": args.limit})
    })
    .into()
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct Question {
    question: String,
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct AnswerTo {
    answer: String,
}

fn ask() -> ToolRef {
    YieldingTool::new::<Question, AnswerTo>("ask", "Asks the patient").into()
}

fn list(replies: impl IntoIterator<Item = Reply>) -> Arc<dyn Model> {
    Arc::new(ScriptedModel::list("script", replies))
}

fn searching() -> Reply {
    Reply::call("searchRequests", json!({"query": "headache", "limit": 10}))
}

fn echo_user() -> Step {
    Step::new("user", |cx| Ok(cx.respond(format!("you said: {}", cx.input))))
}

/// An agent that talks without end.
fn talker() -> Loop {
    Loop::new("talk", Step::new("talker", |cx| Ok(cx.respond(format!("round {}", cx.index)))))
}

async fn run_case(case: &Case) -> CaseRun {
    case.run(&RunOptions { clock: Arc::new(FixedClock::default()), ..RunOptions::default() }).await
}

fn error(run: &CaseRun) -> &Failure {
    run.result.error.as_ref().unwrap_or_else(|| panic!("there is no error:\n{run}"))
}

// --- interception ---

#[tokio::test]
async fn a_tool_nobody_is_cast_for_ends_the_case_and_never_runs() {
    let runs = Arc::new(AtomicUsize::new(0));
    let agent = LlmAgent::new("finder", list([searching(), Reply::text("never said")])).tool(search(&runs));
    let run = run_case(&Case::new("unmocked", agent).first_message("find it").metric(always_passes())).await;
    assert_eq!(run.result.status, Verdict::Error);
    assert_eq!(error(&run).phase, Phase::System);
    assert_eq!(error(&run).kind, "unmocked_tool");
    assert_eq!(runs.load(Ordering::SeqCst), 0);
    assert!(!run.main.to_transcript().contains("never said"));
    expect![[r#"
        tool `searchRequests` was called by agent `finder` during a simulation, but nobody is cast for it

        Add a mock:
          .mock("searchRequests", Mock::returning(json!({"result": "…"})))

        Or, if this tool has no side effects, hand in the real tool:
          .real_tool(search_requests)

        It was called with:
          {
            "query": "headache",
            "limit": 10
          }"#]]
    .assert_eq(&error(&run).message);
}

#[tokio::test]
async fn interception_reaches_every_agent_below() {
    let runs = Arc::new(AtomicUsize::new(0));
    let finder =
        || LlmAgent::new("finder", list([searching(), Reply::text("never said")])).tool(search(&runs));
    let as_tool = LlmAgent::new("boss", list([Reply::call("finder", json!({"request": "find"}))]))
        .tool(AgentTool::new(finder(), "Finds"));
    let by_transfer =
        LlmAgent::new("boss", list([Reply::call(TRANSFER_TOOL, json!({"agent_name": "finder"}))]))
            .sub_agent(finder());
    let in_sequence = Sequence::new("all", [finder().into()]);
    let side_by_side = Parallel::new("all", [finder().into()]);
    let runs_too = runs.clone();
    let added_later = LlmAgent::new("finder", list([searching()])).toolset(move |_| vec![search(&runs_too)]);
    let agents: [AgentRef; 5] =
        [as_tool.into(), by_transfer.into(), in_sequence.into(), side_by_side.into(), added_later.into()];
    for agent in agents {
        let run = run_case(&Case::new("unmocked below", agent).first_message("go")).await;
        assert_eq!(error(&run).kind, "unmocked_tool", "{run}");
        assert_eq!(run.result.status, Verdict::Error);
    }
    assert_eq!(runs.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_mock_answers_in_place_of_a_tool_and_of_an_agent() {
    let runs = Arc::new(AtomicUsize::new(0));
    let agent = LlmAgent::new(
        "boss",
        list([searching().and_call("finder", json!({"request": "x"})), Reply::text("ok")]),
    )
    .tool(search(&runs))
    .tool(AgentTool::new(LlmAgent::new("finder", list([])), "Finds"));
    let case = Case::new("mocked", agent)
        .first_message("go")
        .mock(
            "searchRequests",
            Mock::new(|args, cx| json!({"of": args["query"], "nth": cx.nth(), "tool": cx.tool_name()})),
        )
        .mock("finder", Mock::returning(json!("found")));
    let run = run_case(&case).await;
    assert_eq!(run.result.status, Verdict::Unjudged, "{run}");
    let results: Vec<Value> =
        run.main.calls().map(|call| call.result().unwrap().outcome.to_value()).collect();
    assert_eq!(results, [json!({"of": "headache", "nth": 0, "tool": "searchRequests"}), json!("found")]);
    assert!(run.main.calls().all(|call| call.answer.unwrap().decision.as_ref().unwrap().by == Player::Mock));
    assert_eq!(runs.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_real_tool_that_is_handed_in_runs() {
    let runs = Arc::new(AtomicUsize::new(0));
    let agent = LlmAgent::new("finder", list([searching(), Reply::text("found")])).tool(search(&runs));
    let run = run_case(&Case::new("real", agent).first_message("go").real_tool(search(&runs))).await;
    assert_eq!(runs.load(Ordering::SeqCst), 1);
    let answer = run.main.calls().next().unwrap().answer.unwrap();
    assert_eq!(answer.decision.as_ref().unwrap().by, Player::Tool);
}

#[tokio::test]
async fn mocks_read_and_write_state_and_can_fail() {
    let calls = Reply::call("count", json!({})).and_call("fail", json!({}));
    let again = Reply::call("count", json!({}));
    let tool = |name| -> ToolRef {
        FunctionTool::raw(ToolDeclaration::new(name, ""), |_, _| panic!("a real tool must not run")).into()
    };
    let agent =
        LlmAgent::new("a", list([calls, again, Reply::text("ok")])).tools([tool("count"), tool("fail")]);
    let count = Mock::new(|_, cx: &MockContext| {
        let seen: u64 = cx.state().scope("patient").get("seen").unwrap_or(0);
        cx.state().scope("patient").set("seen", seen + 1);
        json!({"seen": seen, "at": cx.now().to_string()})
    });
    let case = Case::new("state", agent)
        .first_message("go")
        .initial_state(json!({"patient": {"seen": 4}}))
        .mock("count", count)
        .mock("fail", Mock::failing("RateLimited", "later"));
    let run = run_case(&case).await;
    assert_eq!(run.state().get("patient", "seen"), Some(&json!(6)), "{run}");
    let first = run.main.calls().next().unwrap().result().unwrap().outcome.to_value();
    assert_eq!(first, json!({"seen": 4, "at": "2026-01-01T12:00:00Z"}));
    let failed = run.main.calls().nth(1).unwrap().result().unwrap().outcome.to_value();
    assert_eq!(failed, json!({"error": {"type": "RateLimited", "message": "later"}}));
}

#[tokio::test]
async fn a_sequence_counts_only_calls_that_reach_it_and_ends_the_case_when_it_is_used_up() {
    let wrong = Reply::call("searchRequests", json!({"query": 5, "limit": 10}));
    let agent = || {
        let replies = [
            wrong.clone().and_call("searchRequests", json!({"query": "a", "limit": 1})),
            searching(),
            Reply::text("ok"),
        ];
        LlmAgent::new("a", list(replies)).tool(search(&Arc::default()))
    };
    let case = |answers: Vec<Value>| {
        Case::new("sequence", agent())
            .first_message("go")
            .mock("searchRequests", Mock::sequence(answers))
            .metric(always_passes())
    };
    let run = run_case(&case(vec![json!("first"), json!("second")])).await;
    assert_eq!(run.result.status, Verdict::Passed, "{run}");
    let results: Vec<Value> =
        run.main.calls().skip(1).map(|call| call.result().unwrap().outcome.to_value()).collect();
    assert_eq!(results, [json!("first"), json!("second")]);
    let run = run_case(&case(vec![json!("first")])).await;
    assert_eq!((run.result.status, error(&run).kind.as_str()), (Verdict::Error, "mock_exhausted"), "{run}");
    assert!(error(&run).message.contains("has 1 answers"));
}

#[tokio::test]
async fn a_call_that_fails_changes_nothing() {
    let agent = LlmAgent::new("a", list([searching(), Reply::text("ok")])).tool(search(&Arc::default()));
    let failing = Mock::new(|_, cx: &MockContext| {
        cx.state().set("half", "done");
        Err::<Value, _>(ToolError::new("Broken", "in the middle"))
    });
    let run = run_case(&Case::new("fails", agent).first_message("go").mock("searchRequests", failing)).await;
    assert!(run.state().is_empty(), "{run}");
}

#[tokio::test]
async fn a_real_tool_handed_in_for_a_yielding_one_runs() {
    let agent = LlmAgent::new("a", list([Reply::call("ask", json!({"question": "?"})), Reply::text("ok")]))
        .tool(ask());
    let oracle = FunctionTool::raw(ToolDeclaration::new("ask", ""), |_, _| {
        Box::pin(std::future::ready(Ok(ToolOutput::new(json!({"answer": "42"})))))
    });
    let run = run_case(&Case::new("oracle", agent).first_message("go").real_tool(oracle)).await;
    assert_eq!((run.result.status, run.result.turns), (Verdict::Unjudged, 0), "{run}");
}

#[tokio::test]
async fn a_model_cast_for_an_agent_answers_as_itself() {
    let own = LlmAgent::new("a", list([Reply::text("own")]));
    let run =
        run_case(&Case::new("cast", own).first_message("go").model_for("a", list([Reply::text("cast")])))
            .await;
    assert_eq!(last_agent_text(&run.main).as_deref(), Some("cast"));
}

// --- user agents ---

#[tokio::test]
async fn a_tool_that_yields_without_a_user_agent_is_the_documents_error() {
    let agent =
        LlmAgent::new("a", list([Reply::call("ask", json!({"question": "Can we proceed?"}))])).tool(ask());
    let run = run_case(&Case::new("no user", agent).first_message("go")).await;
    assert_eq!((error(&run).phase, error(&run).kind.as_str()), (Phase::UserAgent, "missing_user_agent"));
    expect![[r#"
        tool `ask` yielded, but no user agent was provided for it

        Add a user agent for this tool:
          .tool_user("ask", LlmAgent::new("ask_user", model).instruction("…"))

        It yielded with:
          {
            "question": "Can we proceed?"
          }"#]]
    .assert_eq(&error(&run).message);
    let run = run_case(&Case::new("no loop user", talker()).first_message("go")).await;
    assert_eq!(error(&run).kind, "missing_user_agent");
    assert!(error(&run).message.contains(".loop_user("));
}

/// A user agent whose tool reveals something to the main session, and which then does as it is told.
fn revealing(last: Reply) -> LlmAgent {
    let parameters =
        json!({"type": "object", "properties": {"condition": {"type": "string"}}, "required": ["condition"]});
    let reveal =
        FunctionTool::raw(ToolDeclaration::new("reveal", "Reveals").parameters(parameters), |args, _| {
            let changes =
                json!({"patient": {"revealed": [args["condition"]]}, "session": {"mentioned": true}});
            Box::pin(std::future::ready(with_state_change(json!({"ok": true}), changes)))
        });
    LlmAgent::new("patient", list([Reply::call("reveal", json!({"condition": "hypertension"})), last]))
        .tool(reveal)
}

#[tokio::test]
async fn state_changes_of_user_agents_reach_the_main_session_after_they_answer() {
    let talker = talker().max_rounds(2);
    let case = Case::new("reveals", talker)
        .first_message("hi")
        .loop_user(revealing(Reply::text("I have hypertension")));
    let run = run_case(&case).await;
    assert_eq!(run.state().get("patient", "revealed"), Some(&json!(["hypertension"])), "{run}");
    assert_eq!(run.state().get("session", "mentioned"), Some(&json!(true)));
    let users = run.users.as_ref().unwrap();
    assert!(!users.state().has_scope("patient"), "the users' own state stays apart");
    let message =
        run.events().iter().rposition(|event| matches!(event.body, EventBody::UserMessage { .. })).unwrap();
    let EventBody::StateChange { .. } = run.events()[message - 1].body else {
        panic!("{}", run.main.to_jsonl())
    };
}

#[tokio::test]
async fn a_failing_user_agent_ends_the_case_and_changes_nothing() {
    let broken = revealing(Reply::call("no such tool", json!({})));
    let case = Case::new("breaks", talker()).first_message("hi").loop_user(broken).metric(always_passes());
    let run = run_case(&case).await;
    assert_eq!(run.result.status, Verdict::Error);
    assert_eq!(error(&run).phase, Phase::UserAgent);
    assert!(error(&run).message.starts_with("user agent `patient` failed: "), "{run}");
    assert!(run.state().is_empty(), "none of its changes are applied");
    let kept = run.users.as_ref().unwrap().to_transcript();
    assert!(kept.contains("reveal gives"), "what it did is kept: {kept}");
    assert_eq!(run.main.end(), Some(EndReason::Error));
}

#[tokio::test(start_paused = true)]
async fn a_hanging_user_agent_is_given_up() {
    let hanging = Step::new_async("sleeper", |_| std::future::pending::<Result<StepReply, String>>());
    let case = Case::new("hangs", talker())
        .first_message("hi")
        .loop_user(hanging)
        .user_timeout(Duration::from_secs(5));
    let run = run_case(&case).await;
    assert_eq!((error(&run).phase, error(&run).kind.as_str()), (Phase::UserAgent, "timeout"));
    assert!(error(&run).message.contains("within 5s"), "{run}");
}

#[tokio::test]
async fn a_user_agent_that_waits_itself_is_an_error() {
    let asking = LlmAgent::new("patient", list([Reply::call("ask", json!({"question": "?"}))])).tool(ask());
    let run = run_case(&Case::new("asks back", talker()).first_message("hi").loop_user(asking)).await;
    assert_eq!(error(&run).kind, "user_agent_yielded", "{run}");
}

#[tokio::test]
async fn answers_to_tools_are_held_to_the_output_schema() {
    let agent = || {
        LlmAgent::new("a", list([Reply::call("ask", json!({"question": "age?"})), Reply::text("ok")]))
            .tool(ask())
    };
    let plain = Step::new("patient", |cx| Ok(cx.respond("55")));
    let run = run_case(&Case::new("plain", agent()).first_message("go").tool_user("ask", plain)).await;
    assert_eq!((error(&run).phase, error(&run).kind.as_str()), (Phase::UserAgent, "invalid_tool_result"));
    assert!(
        error(&run).message.contains("output schema of tool `ask`: $: \"55\" is not of type \"object\""),
        "{run}"
    );
    let typed = Step::new("patient", |cx| Ok(cx.output(json!({"answer": "55"}))));
    let run = run_case(&Case::new("typed", agent()).first_message("go").tool_user("ask", typed)).await;
    assert_eq!(run.result.status, Verdict::Unjudged, "{run}");
    assert_eq!(run.result.turns, 1);
}

/// Answers after a while, with what it sees of the session.
fn slow_patient(name: &'static str, millis: u64) -> Step {
    Step::new_async(name, move |cx| async move {
        tokio::time::sleep(Duration::from_millis(millis)).await;
        cx.state.set("last", name);
        let seen: Vec<String> = transcript(cx.so_far.events()).iter().map(ToString::to_string).collect();
        Ok(cx.output(json!({"answer": seen.join(" | ").replace('\n', " | ")})))
    })
}

async fn two_yields(first: u64, second: u64) -> CaseRun {
    let other = YieldingTool::new::<Question, AnswerTo>("approve", "Asks for approval");
    let both =
        Reply::call("ask", json!({"question": "age?"})).and_call("approve", json!({"question": "ok?"}));
    let agent = LlmAgent::new("a", list([both, Reply::text("done")])).tools([ask(), other.into()]);
    let case = Case::new("two yields", agent)
        .first_message("go")
        .tool_user("ask", slow_patient("answerer", first))
        .tool_user("approve", slow_patient("approver", second));
    run_case(&case).await
}

#[tokio::test(start_paused = true)]
async fn two_tool_yields_run_side_by_side_and_are_appended_in_call_order() {
    let run = two_yields(80, 10).await;
    let reverse = two_yields(10, 80).await;
    for (one, other) in run.ledgers().zip(reverse.ledgers()) {
        assert_eq!(one.to_jsonl(), other.to_jsonl(), "who is faster makes no difference");
    }
    let answers: Vec<Value> =
        run.main.calls().map(|call| call.result().unwrap().outcome.to_value()).collect();
    assert_eq!(answers[0]["answer"], "user: Tool: ask | Args: {\"question\":\"age?\"}", "{run}");
    assert_eq!(
        answers[1]["answer"], "user: Tool: approve | Args: {\"question\":\"ok?\"}",
        "each sees only its own prompt"
    );
    assert_eq!(run.result.turns, 1, "one yield, however many calls");
    let users = run.users.unwrap();
    let authors: Vec<&str> = users.events().iter().map(|event| &*event.author).collect();
    let answerer = authors.iter().rposition(|author| *author == "answerer").unwrap();
    assert!(answerer < authors.iter().position(|author| *author == "approver").unwrap());
}

#[tokio::test]
async fn state_changes_of_two_yields_that_overwrite_each_other_are_a_conflict() {
    let other = YieldingTool::new::<Question, AnswerTo>("approve", "Asks for approval");
    let both =
        Reply::call("ask", json!({"question": "age?"})).and_call("approve", json!({"question": "ok?"}));
    let agent = LlmAgent::new("a", list([both, Reply::text("done")])).tools([ask(), other.into()]);
    let says = |mood: &'static str| {
        let set = FunctionTool::raw(ToolDeclaration::new("set", ""), move |_, _| {
            Box::pin(std::future::ready(with_state_change(
                json!(null),
                json!({"patient": {"mood": mood, mood: true}}),
            )))
        });
        let replies = [Reply::call("set", json!({})), Reply::json(json!({"answer": mood}))];
        LlmAgent::new(mood, list(replies)).tool(set).output_schema(json!({"type": "object"}))
    };
    let case = Case::new("moods", agent)
        .first_message("go")
        .tool_user("ask", says("calm"))
        .tool_user("approve", says("angry"));
    let run = run_case(&case).await;
    assert_eq!(
        run.state().to_value()["patient"],
        json!({"mood": "angry", "calm": true, "angry": true}),
        "{run}"
    );
    let conflicts: Vec<&EventBody> = run
        .events()
        .iter()
        .map(|event| &event.body)
        .filter(|body| matches!(body, EventBody::StateConflict { .. }))
        .collect();
    let [EventBody::StateConflict { overwrite, .. }] = conflicts[..] else { panic!("{conflicts:?}") };
    assert_eq!(
        (overwrite.path.join("."), &overwrite.lost, &overwrite.kept),
        ("mood".into(), &json!("calm"), &json!("angry"))
    );
}

/// A user agent that sets the patient's mood in the main session and answers.
fn moody(mood: &'static str) -> LlmAgent {
    let set = FunctionTool::raw(ToolDeclaration::new("set", ""), move |_, _| {
        Box::pin(std::future::ready(with_state_change(json!(null), json!({"patient": {"mood": mood}}))))
    });
    let replies = [Reply::call("set", json!({})), Reply::json(json!({"answer": mood}))];
    LlmAgent::new(mood, list(replies)).tool(set).output_schema(json!({"type": "object"}))
}

fn conflicts(run: &CaseRun) -> usize {
    run.events().iter().filter(|event| matches!(event.body, EventBody::StateConflict { .. })).count()
}

#[tokio::test]
async fn answers_to_one_yield_conflict_whoever_made_the_calls_and_however_the_case_ends() {
    let approve = || YieldingTool::new::<Question, AnswerTo>("approve", "Asks for approval");
    let asking = |name: &str, tool: &str| {
        LlmAgent::new(name, list([Reply::call(tool, json!({"question": "?"})), Reply::text("ok")]))
    };
    let side_by_side = Parallel::new(
        "both",
        [asking("left", "ask").tool(ask()).into(), asking("right", "approve").tool(approve()).into()],
    );
    let case = Case::new("moods", side_by_side)
        .first_message("go")
        .tool_user("ask", moody("calm"))
        .tool_user("approve", moody("angry"));
    let run = run_case(&case).await;
    assert_eq!(conflicts(&run), 1, "{run}");
    let run = run_case(&case.state_matches(&json!({"patient.mood": {"$exists": true}}))).await;
    assert_eq!(run.result.termination_reason, Some(EndReason::StateMatches));
    assert_eq!(conflicts(&run), 1, "also when the answers end the case");
}

// --- bridge ---

#[tokio::test]
async fn the_bridge_passes_on_what_was_said_unless_told_otherwise() {
    let case = || Case::new("bridge", talker().max_rounds(2)).first_message("hi").loop_user(echo_user());
    let run = run_case(&case()).await;
    assert!(run.main.to_transcript().contains("user: you said: round 0"), "{run}");
    let bridge = BridgeFns::new()
        .prompt(|main, waiting| {
            format!("[{}] {}", main.turns(), default_prompt(main, waiting).to_uppercase())
        })
        .response(|output, users, _| {
            json!(format!("{} ({} events)", output.as_str().unwrap(), users.events().len()))
        });
    let run = run_case(&case().bridge(bridge)).await;
    assert!(run.main.to_transcript().contains("user: you said: [0] ROUND 0 (5 events)"), "{run}");
}

#[tokio::test]
async fn user_agents_share_one_session_and_speak_as_one_person() {
    let model = ScriptedModel::function("m", |call: &ModelCall| {
        let roles: Vec<&str> =
            call.request.contents.iter().map(|c| c.role.as_ref().unwrap().as_str()).collect();
        match &*call.agent {
            "loop" => Reply::text("I am in pain"),
            _ => Reply::json(
                json!({"answer": format!("{} {}", roles.join(" "), call.request.contents[1].text())}),
            ),
        }
    });
    let model: Arc<dyn Model> = Arc::new(model);
    let replies = [Reply::text("hello"), Reply::call("ask", json!({"question": "?"})), Reply::text("ok")];
    let agent = Loop::new("l", LlmAgent::new("a", list(replies)).tool(ask())).max_rounds(2);
    let case = Case::new("shared", agent)
        .first_message("hi")
        .loop_user(LlmAgent::new("loop", model.clone()))
        .tool_user("ask", LlmAgent::new("tool", model).output_schema(json!({"type": "object"})));
    let run = run_case(&case).await;
    let answer = run.main.calls().next().unwrap().result().unwrap().outcome.to_value();
    assert_eq!(answer, json!({"answer": "user model user I am in pain"}), "{run}");
}

#[tokio::test]
async fn the_user_can_open_and_so_can_the_agent() {
    let opener = Step::new("opener", |cx| {
        Ok(cx.respond(if cx.input == OPENING_PROMPT { "good morning" } else { "hm?" }))
    });
    let heard = Step::new("listener", |cx| Ok(cx.respond(format!("heard: {}", cx.input))));
    let run = run_case(&Case::new("user opens", heard).opening(Opening::User).loop_user(opener)).await;
    assert!(run.main.to_transcript().contains("listener: heard: good morning\n"), "{run}");
    assert_eq!(run.result.turns, 0, "an opening is no turn");
    let speaker = Step::new("speaker", |cx| Ok(cx.respond(format!("line {}", cx.index))));
    let case =
        Case::new("user opens a talk", talker().max_rounds(3)).opening(Opening::User).loop_user(speaker);
    let said: Vec<String> = said_by_user(&run_case(&case).await);
    assert_eq!(said, ["line 0", "line 1", "line 2"], "the opening is not said again");
    let run = run_case(&Case::new("agent opens", talker().max_rounds(1))).await;
    assert_eq!(run.main.to_transcript().trim(), "4  talker: round 0", "{run}");
}

fn said_by_user(run: &CaseRun) -> Vec<String> {
    let lines = transcript(run.events()).into_iter();
    lines
        .filter_map(|line| match line.kind {
            LineKind::User(text) => Some(text),
            _ => None,
        })
        .collect()
}

#[tokio::test]
async fn a_user_agent_that_gives_nothing_is_an_error_and_never_repeats_itself() {
    let quiet =
        Step::new("quiet", |cx| Ok(if cx.index == 0 { cx.respond("hello") } else { cx.output(Value::Null) }));
    let run = run_case(&Case::new("falls silent", talker()).first_message("hi").loop_user(quiet)).await;
    assert_eq!((error(&run).phase, error(&run).kind.as_str()), (Phase::UserAgent, "no_answer"), "{run}");
    assert_eq!(said_by_user(&run), ["hi", "hello"]);
}

#[tokio::test]
async fn a_panic_in_a_user_agent_or_the_bridge_is_the_users_fault() {
    let panics = Step::new("jumpy", |_| panic!("boo"));
    let run = run_case(&Case::new("jumpy user", talker()).first_message("hi").loop_user(panics)).await;
    assert_eq!((error(&run).phase, error(&run).kind.as_str()), (Phase::UserAgent, "panic"), "{run}");
    assert!(error(&run).message.contains("user agent `jumpy`") && error(&run).message.contains("boo"));
    let bridge = BridgeFns::new().prompt(|_, _| panic!("no prompt"));
    let case = Case::new("jumpy bridge", talker()).first_message("hi").loop_user(echo_user()).bridge(bridge);
    assert_eq!(error(&run_case(&case).await).phase, Phase::UserAgent);
}

// --- ends ---

#[tokio::test]
async fn each_end_has_its_reason_and_verdict() {
    let base = |agent: Loop| {
        Case::new("ends", agent).first_message("hi").loop_user(echo_user()).metric(always_passes())
    };
    let run = run_case(&base(talker().max_rounds(3))).await;
    assert_eq!((run.result.status, run.result.termination_reason), (Verdict::Passed, None));
    assert_eq!(run.main.end(), Some(EndReason::Completed));

    let run = run_case(&base(talker()).max_turns(4)).await;
    assert_eq!(
        (run.result.status, run.result.termination_reason),
        (Verdict::Terminated, Some(EndReason::MaxTurns))
    );
    assert_eq!(run.result.turns, 4);
    assert!(run.result.metrics["passes"].passed(), "metrics run on the partial trace");

    let counting = Step::new("counter", |cx| {
        cx.state.set("count", cx.index);
        Ok(cx.respond("one more"))
    });
    let case = base(Loop::new("l", counting)).state_matches(&json!({"session": {"count": {"$gte": 2}}}));
    let run = run_case(&case).await;
    assert_eq!(
        (run.result.status, run.result.termination_reason),
        (Verdict::Passed, Some(EndReason::StateMatches))
    );
    assert_eq!(run.result.turns, 2);
    let run = run_case(&case.metric(StateMetric::new("count", "session", "count").equals(json!(9)))).await;
    assert_eq!(run.result.status, Verdict::Failed, "the metrics decide");
}

#[tokio::test(start_paused = true)]
async fn time_runs_out_between_turns_by_the_clock_and_within_a_turn_by_the_timer() {
    let clock = Arc::new(FixedClock::default());
    let moving = clock.clone();
    let slow = Step::new("slow", move |cx| {
        moving.advance(Duration::from_secs(40));
        Ok(cx.respond("hm"))
    });
    let case = Case::new("clock", Loop::new("l", slow))
        .first_message("hi")
        .loop_user(echo_user())
        .max_duration(Duration::from_secs(100));
    let run = case.run(&RunOptions { clock, ..RunOptions::default() }).await;
    assert_eq!(
        (run.result.status, run.result.termination_reason),
        (Verdict::Terminated, Some(EndReason::MaxDuration))
    );
    assert_eq!((run.result.turns, run.result.duration_ms), (2, 120_000));

    let hanging = Step::new_async("hanging", |_| std::future::pending::<Result<StepReply, String>>());
    let case = Case::new("timer", hanging)
        .first_message("hi")
        .max_duration(Duration::from_secs(3))
        .metric(always_passes());
    let run = run_case(&case).await;
    assert_eq!(
        (run.result.status, run.result.termination_reason),
        (Verdict::Terminated, Some(EndReason::MaxDuration))
    );
    assert!(run.result.metrics["passes"].passed());
    assert!(Ledger::from_jsonl(&run.main.to_jsonl()).is_ok());
}

#[tokio::test]
async fn a_clock_that_is_set_while_a_case_runs_neither_ends_it_nor_makes_it_longer() {
    let clock = Arc::new(FixedClock::default());
    let machine = clock.clone();
    let step = Step::new("steady", move |cx| {
        machine.set_forward(Duration::from_hours(1));
        machine.advance(Duration::from_secs(1));
        Ok(cx.respond("hm"))
    });
    let case = Case::new("clock", Loop::new("l", step))
        .first_message("hi")
        .loop_user(echo_user())
        .max_turns(3)
        .max_duration(Duration::from_secs(100));
    let run = case.run(&RunOptions { clock, ..RunOptions::default() }).await;
    assert_eq!(run.result.termination_reason, Some(EndReason::MaxTurns));
    assert_eq!(run.result.duration_ms, 4_000);
    let times: Vec<_> = run.events().iter().map(|event| event.at).collect();
    assert_eq!(times.last().unwrap().duration_since(times[0]).as_secs(), 4);
}

#[tokio::test]
async fn what_is_wrong_with_a_case_is_said_before_anything_runs() {
    let case = Case::new("wrong", talker())
        .initial_state(json!({"session": 5}))
        .state_matches(&json!({"session": {"x": {"$exist": true}}}));
    let run = run_case(&case).await;
    assert_eq!(error(&run).kind, "invalid_case");
    expect![[r#"
        the case cannot be run:
          initial_state: state scope `session` must be an object
          state_matches: unknown operator `$exist` at `session.x`; did you mean `$exists`?"#]]
    .assert_eq(&error(&run).message);
    assert_eq!(run.events().len(), 3, "started, error, ended");
}

#[tokio::test]
async fn a_panic_in_a_mock_is_an_error_of_the_case_and_the_ledger_stays() {
    let agent = LlmAgent::new("a", list([searching()])).tool(search(&Arc::default()));
    let case = Case::new("panics", agent)
        .first_message("go")
        .mock("searchRequests", Mock::new(|_, _| -> Value { panic!("oh no") }));
    let run = run_case(&case).await;
    assert_eq!(error(&run).kind, "panic");
    assert!(error(&run).message.contains("oh no"));
    assert_eq!(run.main.calls().count(), 1);
}

// --- judges ---

fn always_passes() -> Custom {
    Custom::new("passes", |_: &Ledger| MetricResult::from_pass(true))
}

fn judged(replies: impl IntoIterator<Item = Reply>) -> Case {
    Case::new("judged", talker().max_rounds(1))
        .metric(LlmJudge::new("safe", "Was it safe?"))
        .judge(list(replies))
}

#[tokio::test]
async fn a_judge_decides_through_a_schema() {
    let verdict = |passed: bool| {
        Reply::json(json!({"passed": passed, "score": 0.75, "reasoning": "because of #5"})).usage(90, 9)
    };
    let run = run_case(&judged([verdict(true)])).await;
    assert_eq!(run.result.status, Verdict::Passed, "{run}");
    assert_eq!(run.result.metrics["safe"].score, Some(0.75));
    assert_eq!(run.result.token_usage.judge.unwrap().input, 90);
    assert_eq!(run.result.token_usage.agent, None, "nobody said what the agent cost");
    assert_eq!(run.result.sessions.len(), 2);
    let asked = run.judge.as_ref().unwrap();
    assert_eq!(asked.started().unwrap().parent.as_ref(), Some(run.main.session()));
    assert_eq!(run_case(&judged([verdict(false)])).await.result.status, Verdict::Failed);
}

#[tokio::test]
async fn a_judge_that_answers_garbage_is_asked_again_and_never_passes() {
    let garbage = Reply::text("Looks good to me!");
    let run = run_case(&judged(vec![garbage.clone(); 9])).await;
    assert_eq!(run.result.status, Verdict::Error);
    assert_eq!(run.result.metrics["safe"].status, MetricStatus::Error);
    assert_eq!(error(&run).phase, Phase::Metric);
    let asked = run.judge.as_ref().unwrap().events().iter();
    assert_eq!(
        asked.filter(|event| matches!(event.body, EventBody::ModelRequest(_))).count(),
        3,
        "a bounded number"
    );
    let good = Reply::json(json!({"passed": true, "score": 1.0, "reasoning": "fine"}));
    assert_eq!(run_case(&judged([garbage, good])).await.result.status, Verdict::Passed);
}

#[derive(Debug)]
struct Hanging;
#[async_trait::async_trait]
impl Model for Hanging {
    fn name(&self) -> Arc<str> {
        "hanging".into()
    }
    async fn respond(&self, _: &ModelCall) -> Result<ModelResponse, ModelError> {
        std::future::pending().await
    }
}

#[tokio::test(start_paused = true)]
async fn no_judge_an_unknown_judge_and_a_hanging_judge_are_errors() {
    let nobody = Case::new("judged", talker().max_rounds(1)).metric(LlmJudge::new("safe", "Was it safe?"));
    let run = run_case(&nobody).await;
    assert_eq!(run.result.status, Verdict::Error);
    assert!(error(&run).message.contains(".judge(model)"), "{run}");
    let unknown = judged([]).metric(LlmJudge::new("strict", "Was it?").judge("strict one"));
    assert!(run_case(&unknown).await.to_string().contains(".named_judge(\"strict one\", model)"));
    let run = run_case(&nobody.judge(Arc::new(Hanging)).judge_timeout(Duration::from_secs(2))).await;
    assert!(error(&run).message.contains("within 2s"), "{run}");
}

#[tokio::test]
async fn a_judge_that_panics_is_an_error_of_its_metric() {
    let bad: Arc<dyn Model> =
        Arc::new(ScriptedModel::function("bad", |_: &ModelCall| -> Reply { panic!("no verdict") }));
    let run = run_case(&judged([]).judge(bad)).await;
    assert_eq!((run.result.status, error(&run).phase), (Verdict::Error, Phase::Metric), "{run}");
    assert!(error(&run).message.contains("no verdict"));
}

#[tokio::test]
async fn error_comes_before_terminated_before_failed_before_passed() {
    let fails = || Custom::new("fails", |_: &Ledger| MetricResult::from_pass(false));
    let panics = || Custom::new("panics", |_: &Ledger| -> MetricResult { panic!("bad metric") });
    let endless = || Case::new("order", talker()).first_message("hi").loop_user(echo_user()).max_turns(1);
    let ending = || Case::new("order", talker().max_rounds(1)).first_message("hi");
    let table = [
        (endless().metric(fails()).metric(panics()), Verdict::Error),
        (endless().metric(fails()), Verdict::Terminated),
        (ending().metric(fails()).metric(always_passes()), Verdict::Failed),
        (ending().metric(always_passes()), Verdict::Passed),
        (ending(), Verdict::Unjudged),
        (ending().metric(always_passes()).metric(always_passes()), Verdict::Error),
    ];
    for (case, expected) in table {
        let run = run_case(&case).await;
        assert_eq!(run.result.status, expected, "{run}");
    }
}

// --- tests as people write them ---

#[test]
fn a_failing_case_shows_transcript_evidence_and_seed() {
    let model = ScriptedModel::rules(
        "m",
        [
            Rule::when(Matcher::user_contains("pain"))
                .reply(Reply::call("searchRequests", json!({"query": "pain", "limit": 1}))),
            Rule::when(Matcher::tool_result("searchRequests")).reply("Take a rest."),
        ],
    );
    let agent = LlmAgent::new("a", Arc::new(model)).tool(search(&Arc::default()));
    let case = Case::new("advice", agent)
        .first_message("I have chest pain")
        .mock("searchRequests", Mock::returning(json!({"policy": "call 999"})))
        .metric(FinalResponse::new("calls 999").contains("999"));
    let options = RunOptions { seed: 42, ..RunOptions::default() };
    let panicked = std::thread::spawn(move || case.assert_passes_with(&options)).join();
    let panic = panicked.unwrap_err();
    let text = panic.downcast_ref::<String>().unwrap();
    for part in [
        "case `advice` failed",
        "user: I have chest pain",
        "searchRequests gives",
        "FAILED   calls 999",
        "seed: 42",
    ] {
        assert!(text.contains(part), "{part:?} is missing in:\n{text}");
    }
}
