//! What each kind of agent does.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use rehearsal_agent::*;
use rehearsal_core::*;

use crate::support::*;
use serde_json::{Value, json};

async fn ledger_of(agent: impl Into<AgentRef>, says: &str) -> (Ledger, Result<Flow, RunError>) {
    let agent = agent.into();
    let mut session = session(&agent);
    session.say(Content::user(says), None).unwrap();
    let flow = run(&agent, &mut session, &DirectPort).await;
    (session.into_ledger(), flow)
}

fn output(flow: Result<Flow, RunError>) -> Value {
    match flow.unwrap() {
        Flow::Done(done) => done.output,
        waiting @ Flow::Waiting(_) => panic!("{waiting:?}"),
    }
}

fn requests(ledger: &Ledger) -> Vec<ModelRequest> {
    let turns = ledger.events().iter().filter(|event| matches!(event.body, EventBody::ModelRequest(_)));
    turns.map(|event| ledger.request(event.turn.as_ref().unwrap()).unwrap()).collect()
}

#[tokio::test]
async fn the_model_sees_results_in_the_order_of_its_calls() {
    let play = plays().into_iter().nth(1).unwrap();
    let ledger = straight(&play).await;
    let last = requests(&ledger).pop().unwrap();
    let names: Vec<&str> = last.contents[2].responses().map(|response| response.name.as_str()).collect();
    // `ask` was answered last, from outside, and still comes first.
    assert_eq!(names, ["ask", "note", "note", "nonsense"]);
}

#[tokio::test]
async fn wrong_arguments_are_an_error_the_model_sees_with_the_path() {
    let play = plays().into_iter().nth(1).unwrap();
    let ledger = straight(&play).await;
    let wrong = ledger.calls().nth(2).unwrap().result().unwrap();
    let ToolOutcome::Error(error) = &wrong.outcome else { panic!("{wrong:?}") };
    assert_eq!(error.kind, "InvalidArguments");
    assert_eq!(error.violations[0].path, "$.text");
    assert_eq!(ledger.state().get("session", "notes"), Some(&json!(1)), "the wrong call ran");
    let unknown = ledger.calls().nth(3).unwrap().result().unwrap().outcome.to_value();
    assert!(unknown.to_string().contains("the tools are: `ask`, `note`"), "{unknown}");
}

#[tokio::test]
async fn instructions_and_tools_can_follow_the_state() {
    let model = ScriptedModel::function("m", |call: &ModelCall| {
        let has_note = call.request.setup.tools.iter().any(|tool| tool.name == "note");
        match (has_note, call.index) {
            (false, _) => Reply::call("open", json!({})),
            (true, 1) => Reply::call("note", json!({"text": "n"})),
            (true, _) => Reply::text(call.request.setup.system.clone().unwrap()),
        }
    });
    let open = FunctionTool::raw(ToolDeclaration::new("open", "Opens the notebook"), |_, cx| {
        cx.state.set("open", true);
        Box::pin(std::future::ready(Ok(ToolOutput::new(json!("opened")))))
    });
    let agent = LlmAgent::new("a", Arc::new(model))
        .instruction_from(|state| format!("notes: {}", state.get("session", "notes").unwrap_or(&json!(0))))
        .tool(open)
        .toolset(|state| if state.get("session", "open").is_some() { vec![note()] } else { vec![] });
    let (ledger, flow) = ledger_of(agent, "go").await;
    assert_eq!(output(flow), "notes: 1");
    assert_eq!(requests(&ledger)[0].setup.tools.len(), 1);
    assert_eq!(requests(&ledger)[2].setup.tools.len(), 2);
}

#[tokio::test]
async fn output_that_breaks_its_schema_is_asked_for_again_and_then_refused() {
    let schema = json!({"type": "object", "required": ["ok"]});
    let stubborn = LlmAgent::new("a", script(vec![Reply::text("no"); 3])).output_schema(schema.clone());
    let (ledger, flow) = ledger_of(stubborn, "ok?").await;
    assert_eq!(flow.unwrap_err().kind(), "invalid_output");
    assert_eq!(requests(&ledger).len(), 3);
    let asked_again = requests(&ledger)[1].contents.last().unwrap().text();
    assert!(asked_again.contains("not JSON"), "{asked_again}");
    let good =
        LlmAgent::new("a", script([Reply::json(json!({"ok": 1}))])).output_schema(schema).output_key("out");
    let (ledger, flow) = ledger_of(good, "ok?").await;
    assert_eq!(output(flow), json!({"ok": 1}));
    assert_eq!(ledger.state().get("session", "out"), Some(&json!({"ok": 1})));
}

#[tokio::test]
async fn an_agent_that_never_answers_is_stopped() {
    let model = ScriptedModel::function("m", |_: &ModelCall| Reply::call("note", json!({"text": "again"})));
    let (_, flow) = ledger_of(LlmAgent::new("a", Arc::new(model)).tool(note()).max_rounds(3), "go").await;
    let error = flow.unwrap_err();
    assert_eq!(error.kind(), "too_many_rounds");
    assert!(error.to_string().contains("3 times"));
}

#[tokio::test]
async fn a_model_without_an_answer_ends_the_run_and_the_request_stays() {
    let (ledger, flow) = ledger_of(LlmAgent::new("a", script([])), "go").await;
    assert_eq!(flow.unwrap_err().kind(), "model");
    assert_eq!(requests(&ledger).len(), 1);
}

#[tokio::test]
async fn agents_used_as_tools_keep_their_talk_to_themselves() {
    let play = plays().into_iter().find(|play| play.name.starts_with("agents as tools")).unwrap();
    let ledger = straight(&play).await;
    let boss = ledger
        .events()
        .iter()
        .rev()
        .find(|event| &*event.author == "boss" && matches!(event.body, EventBody::ModelRequest(_)));
    let seen = ledger.request(boss.unwrap().turn.as_ref().unwrap()).unwrap();
    let texts: Vec<String> = seen.contents.iter().map(|content| content.text()).collect();
    assert_eq!(texts, ["go", "", ""], "the boss sees calls and results, not what the workers said");
    let results: Vec<Value> = seen.contents[2].responses().map(|result| json!(result.response)).collect();
    assert_eq!(results, [json!({"result": "worked"}), json!({"result": "stamped"})]);
}

#[tokio::test]
async fn a_conversation_stays_with_the_agent_it_was_handed_to() {
    let play = plays().into_iter().find(|play| play.name.starts_with("a conversation handed")).unwrap();
    let ledger = straight(&play).await;
    let said: Vec<String> = transcript(ledger.events())
        .iter()
        .filter(|line| matches!(line.kind, LineKind::Agent(_)))
        .map(ToString::to_string)
        .collect();
    assert_eq!(said, ["billing: billing here", "billing: still billing"]);
}

#[tokio::test]
async fn other_agents_words_are_told_as_theirs_unless_all_are_one_person() {
    let agents: AgentRef = Sequence::new(
        "s",
        [
            LlmAgent::new("first", script([Reply::text("one")])).into(),
            LlmAgent::new("second", script([Reply::text("two")])).into(),
        ],
    )
    .into();
    for (voices, expected) in [(Voices::Many, ("user", "[first] said: one")), (Voices::One, ("model", "one"))]
    {
        let mut session = session(&agents).voices(voices);
        session.say(Content::user("go"), None).unwrap();
        run(&agents, &mut session, &DirectPort).await.unwrap();
        let content = requests(session.ledger())[1].contents[1].clone();
        assert_eq!((content.role.as_ref().unwrap().as_str(), content.text().as_str()), expected);
    }
}

#[tokio::test]
async fn history_can_be_cut_to_the_last_messages_or_the_execution() {
    let replies = || script((0..4).map(|n| Reply::text(format!("reply {n}"))));
    for (history, expected) in [(History::All, 7), (History::Last(3), 3), (History::Execution, 1)] {
        let agent: AgentRef =
            Loop::new("l", LlmAgent::new("a", replies()).history(history)).max_rounds(4).into();
        let mut session = session(&agent);
        for n in 0..4 {
            session.say(Content::user(format!("message {n}")), None).unwrap();
            run(&agent, &mut session, &DirectPort).await.unwrap();
        }
        let last = requests(session.ledger()).pop().unwrap();
        assert_eq!(last.contents.len(), expected, "{history:?}");
        assert_eq!(last.contents.last().unwrap().text(), "message 3");
        assert_eq!(last.contents[0].role, Some(Role::User));
    }
}

#[tokio::test]
async fn a_view_of_the_last_messages_never_begins_with_a_result() {
    let replies =
        (0..4).map(|n| Reply::call("note", json!({"text": n.to_string()}))).chain([Reply::text("done")]);
    let agent = LlmAgent::new("a", script(replies)).tool(note()).history(History::Last(3));
    let (ledger, _) = ledger_of(agent, "go").await;
    for request in requests(&ledger) {
        assert_eq!(request.contents[0].text(), "go");
    }
}

#[tokio::test]
async fn a_team_used_as_a_tool_begins_afresh() {
    let transfer = Reply::call(TRANSFER_TOOL, json!({"agent_name": "spec"}));
    let desk = LlmAgent::new("desk", script([transfer, Reply::text("desk here")]))
        .sub_agent(LlmAgent::new("spec", script([Reply::text("spec here")])));
    let calls = [
        Reply::call("desk", json!({"request": "1"})),
        Reply::call("desk", json!({"request": "2"})),
        Reply::text("ok"),
    ];
    let boss = LlmAgent::new("boss", script(calls)).tool(AgentTool::new(desk, "Helps"));
    let (ledger, _) = ledger_of(boss, "go").await;
    let answers: Vec<Value> = ledger
        .calls()
        .filter(|call| &**call.tool == "desk")
        .map(|call| call.result().unwrap().outcome.to_value())
        .collect();
    assert_eq!(answers, [json!("spec here"), json!("desk here")]);
}

#[tokio::test]
async fn names_that_look_like_paths_are_only_names() {
    let odd = Loop::new("a/b", LlmAgent::new("@bot", script([Reply::text("one"), Reply::text("two")])))
        .max_rounds(2);
    let agent: AgentRef = odd.into();
    let mut session = session(&agent);
    for _ in 0..2 {
        session.say(Content::user("hi"), None).unwrap();
        run(&agent, &mut session, &DirectPort).await.unwrap();
    }
    assert_eq!(requests(session.ledger())[1].contents.len(), 3);
}

#[tokio::test]
async fn what_nobody_waits_for_is_refused() {
    let agent: AgentRef =
        LlmAgent::new("a", script([Reply::call("ask", json!({"question": "?"})), Reply::text("ok")]))
            .tool(ask())
            .into();
    let mut session = session(&agent);
    session.say(Content::user("go"), None).unwrap();
    run(&agent, &mut session, &DirectPort).await.unwrap();
    let early = session.say(Content::user("hello?"), None).unwrap_err();
    assert!(early.to_string().contains("waits for results of tool calls"), "{early}");
    let call = session.ledger().calls().next().unwrap().call.clone();
    let wrong = session.answer(&call, ToolOutcome::Output(json!(7)), vec![], None).unwrap_err();
    assert_eq!(wrong.kind(), "invalid_answer");
    session.answer(&call, ToolOutcome::Output(json!("seven")), vec![], None).unwrap();
    run(&agent, &mut session, &DirectPort).await.unwrap();
    let late = session.say(Content::user("and now?"), None).unwrap_err();
    assert_eq!(late.kind(), "not_awaited");
}

#[tokio::test]
async fn two_agents_of_one_name_in_a_team_are_an_error_that_names_it() {
    let twin = || LlmAgent::new("twin", script([]));
    let (_, flow) = ledger_of(LlmAgent::new("a", script([])).sub_agent(twin()).sub_agent(twin()), "go").await;
    assert!(flow.unwrap_err().to_string().contains("`twin`"));
}

#[tokio::test]
async fn calls_of_one_turn_that_overwrite_each_other_are_noticed() {
    let twice = Reply::call("note", json!({"text": "a"})).and_call("note", json!({"text": "b"}));
    let (ledger, _) =
        ledger_of(LlmAgent::new("a", script([twice, Reply::text("done")])).tool(note()), "go").await;
    let conflicts: Vec<&Overwrite> = ledger
        .events()
        .iter()
        .filter_map(|event| match &event.body {
            EventBody::StateConflict { overwrite, .. } => Some(overwrite),
            _ => None,
        })
        .collect();
    assert_eq!(conflicts.len(), 1, "both set notes to 1, which is no conflict; both set `last` differently");
    assert_eq!((&conflicts[0].lost, &conflicts[0].kept), (&json!("a"), &json!("b")));
    assert_eq!(ledger.state().get("user", "last"), Some(&json!("b")));
}

/// A tool that takes as long as it is told, then writes to state.
fn slow() -> ToolRef {
    let parameters = json!({"type": "object", "properties": {"millis": {"type": "integer"}, "value": {}}});
    FunctionTool::raw(ToolDeclaration::new("slow", "Takes its time").parameters(parameters), |args, cx| {
        Box::pin(async move {
            tokio::time::sleep(Duration::from_millis(args["millis"].as_u64().unwrap_or(0))).await;
            cx.state.set("value", &args["value"]);
            cx.state.scope("seen").set(&args["value"].to_string(), true);
            Ok(ToolOutput::new(args["value"].clone()))
        })
    })
    .into()
}

async fn with_delays(delays: &[u64]) -> Ledger {
    let mut calls = Reply::text("");
    for (value, millis) in delays.iter().enumerate() {
        calls = calls.and_call("slow", json!({"millis": millis, "value": value}));
    }
    let agent = LlmAgent::new("a", script([calls, Reply::text("done")])).tool(slow());
    ledger_of(agent, "go").await.0
}

/// The ledger without what the delays themselves put into it: the arguments that ask for them.
fn without_delays(ledger: &Ledger) -> String {
    let text = ledger.to_jsonl();
    let number = text.split("\"millis\":").map(|rest| rest.trim_start_matches(|c: char| c.is_ascii_digit()));
    number.collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whichever call finishes first, the ledger and the state are those of the call order.
    #[test]
    fn merging_does_not_depend_on_completion_order(delays in prop::collection::vec(0u64..50, 2..6)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let (mixed, in_order) = runtime.block_on(async {
            (with_delays(&delays).await, with_delays(&vec![0; delays.len()]).await)
        });
        prop_assert_eq!(without_delays(&mixed), without_delays(&in_order));
        prop_assert_eq!(mixed.state().get("session", "value"), Some(&json!(delays.len() - 1)));
        prop_assert_eq!(mixed.state(), in_order.state());
    }
}
