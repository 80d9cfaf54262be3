//! The ledger: what it keeps, what it refuses, and that its JSON stays as it is.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::sync::Arc;

use expect_test::expect_file;
use rehearsal_core::*;
use serde_json::{Map, Value, json};

fn at() -> Timestamp {
    FixedClock::default().now()
}

fn draft(author: &str, body: EventBody) -> Draft {
    Draft::new(at(), author, body)
}

fn args(value: Value) -> Arc<Map<String, Value>> {
    Arc::new(into_object(value, "value"))
}

fn started() -> Ledger {
    let mut ledger = Ledger::new("s-1".into());
    let start = SessionStarted {
        version: LEDGER_VERSION,
        agent: "triage".into(),
        case: Some("chest pain".into()),
        seed: Some(7),
        state: State::from_value(json!({"patient": {"age": 55}})).unwrap(),
        ..SessionStarted::default()
    };
    ledger.append(draft("rehearsal", EventBody::SessionStarted(start))).unwrap();
    ledger
}

fn request(texts: &[&str]) -> ModelRequest {
    let setup = ModelSetup {
        model: "gpt-4o".into(),
        system: Some("Be careful.".into()),
        tools: vec![Arc::new(ToolDeclaration::new("ask", "Asks the patient"))],
        settings: Settings { temperature: Some(0.5), ..Settings::default() },
        ..ModelSetup::default()
    };
    ModelRequest {
        setup: Arc::new(setup),
        contents: texts.iter().map(|text| Arc::new(Content::user(*text))).collect(),
    }
}

fn call(id: &str, tool: &str) -> EventBody {
    EventBody::ToolCall { call: id.into(), tool: tool.into(), args: args(json!({"question": "since when?"})) }
}

fn result(id: &str, tool: &str, outcome: ToolOutcome) -> EventBody {
    EventBody::ToolResult(ToolResult {
        call: id.into(),
        tool: tool.into(),
        outcome,
        changes: vec![],
        main_changes: None,
    })
}

/// A ledger with an event of every kind.
fn complete() -> Ledger {
    let mut ledger = started();
    let invocation = InvocationId::from("triage/0/assistant");
    let turn = TurnId::from("turn-1");
    let mut add = |author: &str, turn: Option<&TurnId>, by: Option<Player>, body: EventBody| {
        let decision = by.map(|by| Decision { by, name: Some("gpt-4o".into()), micros: 1500 });
        let mut draft = draft(author, body);
        draft.invocation = (author != "user" && author != "rehearsal").then(|| invocation.clone());
        draft.turn = turn.cloned();
        draft.decision = decision;
        match &draft.body {
            EventBody::ModelRequest(_) => {
                ledger.append_request(draft, &request(&["my chest hurts"])).map(drop)
            }
            _ => ledger.append(draft).map(drop),
        }
        .unwrap();
    };
    let patch = |value| StatePatch::from_value(value).unwrap();
    add("user", None, None, EventBody::UserMessage { content: Content::user("my chest hurts").into() });
    add("assistant", None, None, EventBody::AgentStarted { kind: "llm".into() });
    add("assistant", Some(&turn), None, EventBody::ModelRequest(RequestRecord::default()));
    let mut parts = vec![Part::thought("cardiac?"), Part::text("Let me ask.")];
    parts.push(Part::call("ask", json!({"question": "since when?"})));
    let response = ModelResponse {
        finish: Some(FinishReason::ToolCalls),
        usage: Some(Usage { input: 40, output: 12, cached: 0, thoughts: 5 }),
        model_version: Some("gpt-4o-2024-08-06".into()),
        ..ModelResponse::new(Content::new(Role::Model, parts))
    };
    add("assistant", Some(&turn), Some(Player::Provider), EventBody::ModelResponse(response));
    add("assistant", Some(&turn), None, call("call_1", "ask"));
    add("assistant", Some(&turn), None, call("call_2", "note"));
    let error = ToolError {
        kind: "InvalidArguments".into(),
        message: "the arguments of `note` break its schema".into(),
        violations: vec![Violation { path: "$.text".into(), message: "is required".into() }],
        ..ToolError::default()
    };
    add("assistant", Some(&turn), Some(Player::Engine), result("call_2", "note", ToolOutcome::Error(error)));
    let pending = PendingCall {
        call: "call_1".into(),
        tool: "ask".into(),
        args: args(json!({"question": "since when?"})),
        invocation: "triage/0/assistant".into(),
        output_schema: Some(Arc::new(json!({"type": "string"}))),
    };
    add("triage", None, None, EventBody::Yield(Yield::Tools { calls: vec![pending] }));
    let answer = ToolResult {
        call: "call_1".into(),
        tool: "ask".into(),
        outcome: ToolOutcome::Output(json!("30 minutes")),
        changes: vec![patch(json!({"patient": {"onset": "30 minutes"}}))],
        main_changes: Some(patch(json!({"session": {"told": true}}))),
    };
    add("assistant", Some(&turn), Some(Player::Agent), EventBody::ToolResult(answer));
    let overwrite = Overwrite {
        scope: "patient".into(),
        path: vec!["onset".into()],
        lost: json!("today"),
        kept: json!("30 minutes"),
    };
    let conflict = EventBody::StateConflict { earlier: "call_2".into(), later: "call_1".into(), overwrite };
    add("assistant", Some(&turn), None, conflict);
    let violations = vec![Violation { path: "$".into(), message: "the answer is not JSON".into() }];
    add("assistant", None, None, EventBody::OutputRejected { violations });
    let changes = vec![patch(json!({"session": {"escalation": {"urgencyLevel": "emergency_999"}}}))];
    let ended =
        EventBody::AgentEnded { output: json!("Call 999."), changes, transfer_to: Some("nurse".into()) };
    add("assistant", None, None, ended);
    add("triage", None, None, EventBody::Yield(Yield::Loop { invocation: "triage/0".into() }));
    add("rehearsal", None, None, EventBody::StateChange { changes: patch(json!({"user": {"calm": false}})) });
    add("user", None, None, EventBody::UserMessage { content: Content::user("I will").into() });
    add("triage", None, None, EventBody::FinalResponse { output: json!({"advice": "999"}) });
    add("rehearsal", None, None, EventBody::Note { name: "cue_assigned".into(), data: json!({"to": "ada"}) });
    let failure = Failure { phase: Phase::UserAgent, kind: "timeout".into(), message: "too slow".into() };
    add("rehearsal", None, None, EventBody::Error(failure));
    add("rehearsal", None, None, EventBody::SessionEnded { reason: EndReason::Error });
    ledger
}

#[test]
fn the_json_of_every_event_kind_is_pinned() {
    let text = complete().to_jsonl();
    expect_file!["golden/ledger.jsonl"].assert_eq(&text);
    let again = Ledger::from_jsonl(&text).unwrap();
    assert_eq!(again.events(), complete().events());
}

#[test]
fn the_transcript_is_what_people_read() {
    expect_file!["golden/transcript.txt"].assert_eq(&complete().to_transcript());
}

#[test]
fn state_follows_from_the_events_at_every_point() {
    let ledger = complete();
    assert_eq!(ledger.state_at(1).to_value(), json!({"patient": {"age": 55}}));
    assert_eq!(ledger.state_at(10).to_value()["patient"], json!({"age": 55, "onset": "30 minutes"}));
    assert_eq!(ledger.state_at(u64::MAX), *ledger.state());
    assert_eq!(ledger.turns(), 2);
    assert_eq!(ledger.usage().unwrap().input, 40);
}

#[test]
fn requests_are_kept_as_differences_and_given_back_whole() {
    let mut ledger = started();
    for (turn, texts) in [("t1", &["a"][..]), ("t2", &["a", "b"]), ("t3", &["a", "c", "d"])] {
        let mut draft = draft("assistant", EventBody::ModelRequest(RequestRecord::default()));
        draft.turn = Some(turn.into());
        ledger.append_request(draft, &request(texts)).unwrap();
    }
    let kept: Vec<usize> = ledger
        .events()
        .iter()
        .filter_map(|event| match &event.body {
            EventBody::ModelRequest(record) => Some(record.contents.len()),
            _ => None,
        })
        .collect();
    assert_eq!(kept, [1, 1, 2]);
    let again = Ledger::from_jsonl(&ledger.to_jsonl()).unwrap();
    for ledger in [ledger, again] {
        assert_eq!(ledger.request(&"t2".into()).unwrap(), request(&["a", "b"]));
        assert_eq!(ledger.request(&"t3".into()).unwrap(), request(&["a", "c", "d"]));
    }
}

#[test]
fn what_contradicts_the_ledger_is_refused_and_leaves_it_as_it_was() {
    let mut ledger = started();
    ledger.append(draft("a", call("c1", "ask"))).unwrap();
    let before = ledger.to_jsonl();
    let output = || ToolOutcome::Output(json!(1));
    let refused = [
        (call("c1", "ask"), Inconsistent::DuplicateCall { call: "c1".into() }),
        (result("c2", "ask", output()), Inconsistent::UnknownCall { call: "c2".into() }),
        (EventBody::SessionStarted(SessionStarted::default()), Inconsistent::Start),
        (EventBody::ModelRequest(RequestRecord::default()), Inconsistent::NoTurn),
    ];
    for (body, why) in refused {
        assert_eq!(ledger.append(draft("a", body)).unwrap_err(), why);
    }
    assert_eq!(ledger.to_jsonl(), before);
    ledger.append(draft("a", result("c1", "ask", output()))).unwrap();
    let twice = ledger.append(draft("a", result("c1", "ask", output()))).unwrap_err();
    assert_eq!(twice, Inconsistent::AnsweredCall { call: "c1".into() });
    ledger.append(draft("rehearsal", EventBody::SessionEnded { reason: EndReason::Completed })).unwrap();
    assert_eq!(ledger.append(draft("a", call("c9", "ask"))).unwrap_err(), Inconsistent::Ended);
}

#[test]
fn unreadable_files_say_which_line_and_why() {
    let text = complete().to_jsonl();
    let lines: Vec<&str> = text.lines().collect();
    let check = |text: &str, says: &str| {
        let error = Ledger::from_jsonl(text).unwrap_err().to_string();
        assert!(error.contains(says), "{error:?} should contain {says:?}");
    };
    check("", "empty");
    check("not json", "line 1 is not an event");
    check(&format!("{}\n{}", lines[0], &lines[1][..40]), "line 2 ends too early");
    check(&format!("{}\n{}", lines[0], lines[2]), "line 2 should be event 2");
    check(&lines[0].replace("\"version\":2", "\"version\":99"), "version 99");
    check(lines[1], "line 1 should be event 1");
}

#[test]
fn a_branch_sees_its_own_events_only_and_joins_in_order() {
    let mut ledger = started();
    let upto = ledger.events().len();
    let say = |path: &str, text: &str| {
        let mut draft = draft("a", EventBody::ModelResponse(ModelResponse::new(Content::model(text))));
        draft.invocation = Some(path.into());
        draft
    };
    let (left, right) = (InvocationId::from("p/0"), InvocationId::from("p/1"));
    let mut first = ledger.branch(upto, &left);
    let mut second = ledger.branch(upto, &right);
    let seen = first.events().len();
    second.append(say("p/1", "right")).unwrap();
    first.append(say("p/0", "left")).unwrap();
    ledger.join(first, seen).unwrap();
    ledger.join(second, seen).unwrap();
    assert_eq!(ledger.events().iter().map(|event| event.seq).collect::<Vec<_>>(), [1, 2, 3]);
    let view = ledger.branch(upto, &right);
    assert_eq!(view.to_transcript(), "   3  a: right\n");
}

/// Version 1 wrote what stands beside the conversation as notes; a ledger of it says the same as one of today.
#[test]
fn notes_of_the_first_version_are_read_as_the_events_they_are() {
    let old = include_str!("golden/notes-1.jsonl");
    let read = Ledger::from_jsonl(old).unwrap();
    let written = read.to_jsonl();
    expect_file!["golden/beside.jsonl"].assert_eq(&written);
    assert_eq!(Ledger::from_jsonl(&written).unwrap().events(), read.events());
    let kinds: std::collections::BTreeSet<&str> =
        read.events().iter().map(|event| event.body.kind()).collect();
    assert_eq!(kinds.len(), 17 + 4, "{kinds:?}");
    assert!(read.events().iter().skip(19).all(|event| event.body.is_beside()));
}

/// serde lists the kinds it knows when it meets one it does not.
#[test]
fn the_list_of_kinds_is_whole() {
    let error = serde_json::from_value::<EventBody>(json!({"type": "?"})).unwrap_err().to_string();
    let (_, listed) = error.split_once("expected one of ").unwrap();
    let listed: Vec<&str> = listed.split(", ").map(|kind| kind.trim_matches('`')).collect();
    assert_eq!(listed, EventBody::KINDS);
}
