//! The published protocol.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::future::join_all;
use rehearsal_core::{
    CallId, Content, FunctionResponse, ModelRequest, ModelResponse, ModelSetup, Part, PartData, Role,
    ToolDeclaration,
};
use rehearsal_server::adksim::wire::session_event::Payload;
use rehearsal_server::adksim::wire::{
    CreateSessionRequest, ListSessionsRequest, SessionEvent, SubmitDecisionRequest, SubmitRequestRequest,
    SubscribeRequest, SubscribeResponse,
};
use rehearsal_server::adksim::{request_to_wire, response_to_wire};
use serde_json::json;
use tonic::{Code, Status, Streaming};

use crate::stage::{Stage, asks, soon, until, uuid};

/// A field that nobody here knows.
const UNKNOWN: &[u8] = &[0xba, 0x3e, 3, b'a', b'b', b'c'];

fn request(contents: Vec<Content>) -> Bytes {
    let add = ToolDeclaration::new("add", "Adds")
        .parameters(json!({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}));
    let setup = ModelSetup { model: "m".to_owned(), tools: vec![Arc::new(add)], ..ModelSetup::default() };
    let request =
        ModelRequest { setup: Arc::new(setup), contents: contents.into_iter().map(Arc::new).collect() };
    Bytes::from([request_to_wire(&request), UNKNOWN.to_vec()].concat())
}

fn says(text: &str) -> Bytes {
    decision(vec![Part::text(text)])
}

fn decision(parts: Vec<Part>) -> Bytes {
    let response = ModelResponse::new(Content::new(Role::Model, parts));
    Bytes::from([response_to_wire(&response), UNKNOWN.to_vec()].concat())
}

/// A session of the published plugin.
struct Play<'a> {
    stage: &'a Stage,
    session: String,
}

impl<'a> Play<'a> {
    async fn begin(stage: &'a Stage) -> Self {
        let made =
            soon(stage.wire().create_session(CreateSessionRequest { description: "wire".to_owned() })).await;
        let session = made.unwrap().into_inner().session.unwrap();
        assert_eq!(session.description, "wire");
        assert_eq!(session.created_at.unwrap().seconds, 1_767_268_800);
        Self { stage, session: session.id }
    }

    async fn submit(&self, turn: &str, request: Bytes) -> Result<String, Status> {
        let request = SubmitRequestRequest {
            session_id: self.session.clone(),
            turn_id: turn.to_owned(),
            agent_name: "clerk".to_owned(),
            request,
        };
        Ok(soon(self.stage.wire().submit_request(request)).await?.into_inner().event_id)
    }

    async fn ask(&self, text: &str) -> String {
        let turn = uuid();
        self.submit(&turn, request(vec![Content::user(text)])).await.unwrap();
        turn
    }

    async fn decide(&self, turn: &str, response: Bytes) -> Result<String, Status> {
        let decided =
            SubmitDecisionRequest { session_id: self.session.clone(), turn_id: turn.to_owned(), response };
        Ok(soon(self.stage.wire().submit_decision(decided)).await?.into_inner().event_id)
    }

    async fn follow(&self) -> Streaming<SubscribeResponse> {
        let asked = SubscribeRequest { session_id: self.session.clone(), client_id: "test".to_owned() };
        soon(self.stage.wire().subscribe(asked)).await.unwrap().into_inner()
    }
}

async fn next(stream: &mut Streaming<SubscribeResponse>) -> Option<SessionEvent> {
    soon(stream.message()).await.unwrap().map(|response| response.event.unwrap())
}

#[tokio::test]
async fn a_subscriber_gets_history_then_the_mark_then_what_happens_exactly_as_it_came() {
    let stage = Stage::open().await;
    let play = Play::begin(&stage).await;
    let turn = uuid();
    let asked = request(vec![Content::user("hi")]);
    let event_id = play.submit(&turn, asked.clone()).await.unwrap();
    let mut stream = play.follow().await;
    let event = next(&mut stream).await.unwrap();
    assert_eq!(
        (&event.event_id, &event.session_id, &event.turn_id, event.agent_name.as_str()),
        (&event_id, &play.session, &turn, "clerk")
    );
    assert_eq!(event.payload, Some(Payload::LlmRequest(asked)));
    assert!(event.timestamp.is_some());
    let mark = next(&mut stream).await.unwrap();
    assert!(
        matches!(mark.payload, Some(Payload::HistoryComplete(mark)) if mark.event_count == 1),
        "{mark:?}"
    );

    let said = says("hello");
    let event_id = play.decide(&turn, said.clone()).await.unwrap();
    let event = next(&mut stream).await.unwrap();
    assert_eq!(
        (event.event_id, event.turn_id, event.payload),
        (event_id, turn, Some(Payload::LlmResponse(said)))
    );

    // Who comes later gets both before the mark.
    let mut again = play.follow().await;
    for _ in 0..2 {
        assert!(!matches!(next(&mut again).await.unwrap().payload, Some(Payload::HistoryComplete(_))));
    }
    let mark = next(&mut again).await.unwrap();
    assert!(
        matches!(mark.payload, Some(Payload::HistoryComplete(mark)) if mark.event_count == 2),
        "{mark:?}"
    );
}

#[tokio::test]
async fn a_request_is_taken_once() {
    let stage = Stage::open().await;
    let play = Play::begin(&stage).await;
    let turn = uuid();
    let asked = request(vec![Content::user("hi")]);
    let first = play.submit(&turn, asked.clone()).await.unwrap();
    assert_eq!(play.submit(&turn, asked.clone()).await.unwrap(), first);
    let other = play.submit(&turn, request(vec![Content::user("ho")])).await.unwrap_err();
    assert_eq!(other.code(), Code::AlreadyExists);
    let at_once = join_all((0..10).map(|_| play.submit(&turn, asked.clone()))).await;
    assert!(at_once.iter().all(|event| event.as_ref().unwrap() == &first));
    // Also after it was decided.
    play.decide(&turn, says("hello")).await.unwrap();
    assert_eq!(play.submit(&turn, asked).await.unwrap(), first);
    assert_eq!(stage.kinds(&play.session).await.iter().filter(|kind| *kind == "model_request").count(), 1);
    let turn = uuid();
    let fresh = || request(vec![Content::user("more")]);
    let at_once = join_all((0..10).map(|_| play.submit(&turn, fresh()))).await;
    let ids: BTreeSet<String> = at_once.into_iter().map(Result::unwrap).collect();
    assert_eq!(ids.len(), 1);
}

#[tokio::test]
async fn what_cannot_be_taken_is_refused_with_a_code() {
    let stage = Stage::open().await;
    let play = Play::begin(&stage).await;
    let nobody = Play { stage: &stage, session: uuid() };
    let odd = Play { stage: &stage, session: "s-1".to_owned() };
    let hi = || request(vec![Content::user("hi")]);
    let code = |result: Result<String, Status>| result.unwrap_err().code();
    assert_eq!(code(nobody.submit(&uuid(), hi()).await), Code::NotFound);
    assert_eq!(code(odd.submit(&uuid(), hi()).await), Code::InvalidArgument);
    assert_eq!(code(play.submit("t-1", hi()).await), Code::InvalidArgument);
    assert_eq!(code(play.submit(&uuid(), Bytes::from_static(b"\xff\xff")).await), Code::InvalidArgument);
    assert_eq!(code(play.decide(&uuid(), says("?")).await), Code::NotFound);
    assert_eq!(code(nobody.decide(&uuid(), says("?")).await), Code::NotFound);
    for session_id in [uuid(), "s-1".to_owned()] {
        let asked = SubscribeRequest { session_id, client_id: String::new() };
        assert!(matches!(
            soon(stage.wire().subscribe(asked)).await.unwrap_err().code(),
            Code::NotFound | Code::InvalidArgument
        ));
    }
    let unnamed = SubmitRequestRequest {
        session_id: play.session.clone(),
        turn_id: uuid(),
        agent_name: String::new(),
        request: hi(),
    };
    assert_eq!(soon(stage.wire().submit_request(unnamed)).await.unwrap_err().code(), Code::InvalidArgument);

    let turn = play.ask("hi").await;
    let empty = response_to_wire(&ModelResponse::new(Content::new(Role::Model, Vec::new())));
    for wrong in [Bytes::new(), Bytes::from(empty), Bytes::from_static(b"\xff")] {
        assert_eq!(code(play.decide(&turn, wrong).await), Code::InvalidArgument);
    }
    // Calls are held to the tools of the request here too.
    for wrong in [Part::call("subtract", json!({})), Part::call("add", json!({"a": "one"}))] {
        assert_eq!(code(play.decide(&turn, decision(vec![wrong])).await), Code::InvalidArgument);
    }
    let later = play.ask("ho").await;
    let refused = play.decide(&later, says("?")).await.unwrap_err();
    assert_eq!(refused.code(), Code::FailedPrecondition);
    assert!(refused.message().contains(&turn), "{refused:?}");
    play.decide(&turn, decision(vec![Part::call("add", json!({"a": 1}))])).await.unwrap();
    stage.post(&format!("/v1/sessions/{}/cancel", play.session), json!({})).await.is(200);
    assert_eq!(code(play.submit(&uuid(), hi()).await), Code::FailedPrecondition);
    assert_eq!(code(play.decide(&later, says("?")).await), Code::FailedPrecondition);
}

#[tokio::test]
async fn a_decision_is_taken_once_and_its_repeat_is_the_same() {
    let stage = Stage::open().await;
    let play = Play::begin(&stage).await;
    let turn = play.ask("hi").await;
    let first = play.decide(&turn, says("hello")).await.unwrap();
    assert_eq!(play.decide(&turn, says("hello")).await.unwrap(), first);
    assert_eq!(play.decide(&turn, says("bye")).await.unwrap_err().code(), Code::FailedPrecondition);
    let turn = play.ask("more").await;
    let at_once = join_all((0..10).map(|_| play.decide(&turn, says("hello")))).await;
    let ids: BTreeSet<String> = at_once.into_iter().map(Result::unwrap).collect();
    assert_eq!(ids.len(), 1);
}

#[tokio::test]
async fn empty_requests_and_the_role_function_are_valid() {
    let stage = Stage::open().await;
    let play = Play::begin(&stage).await;
    let function = Content::new(Role::from("function"), vec![Part::text("r")]);
    let payloads = [Bytes::new(), request(Vec::new()), request(vec![function])];
    for payload in &payloads {
        play.submit(&uuid(), payload.clone()).await.unwrap();
    }
    let mut stream = play.follow().await;
    for payload in payloads {
        assert_eq!(next(&mut stream).await.unwrap().payload, Some(Payload::LlmRequest(payload)));
    }
    let mark = next(&mut stream).await.unwrap();
    assert!(
        matches!(mark.payload, Some(Payload::HistoryComplete(mark)) if mark.event_count == 3),
        "{mark:?}"
    );
}

#[tokio::test]
async fn decisions_cross_between_the_protocols() {
    let stage = Stage::open().await;
    let play = Play::begin(&stage).await;
    let mut stream = play.follow().await;
    next(&mut stream).await.unwrap();
    // Asked over gRPC, answered over HTTP.
    let turn = play.ask("hi").await;
    next(&mut stream).await.unwrap();
    let taken = stage.answer(&turn, json!({"text": "hello"})).await.is(200);
    let event = next(&mut stream).await.unwrap();
    assert_eq!((json!(event.event_id), &event.turn_id), (taken["event_id"].clone(), &turn));
    let Some(Payload::LlmResponse(payload)) = event.payload else { panic!("{event:?}") };
    let response = rehearsal_server::adksim::response_from_wire(&payload).unwrap();
    assert_eq!(
        (response.content.text().as_str(), response.content.role.clone()),
        ("hello", Some(Role::Model))
    );
    // What the wire cannot carry is refused while it can still be said otherwise.
    let turn = play.ask("how many?").await;
    let large = json!({"content": {"parts": [{"function_call": {"name": "add", "args": {"a": 9_007_199_254_740_993_i64}}}]}});
    stage.answer(&turn, large).await.refused(422, "invalid_answer");
    stage.answer(&turn, json!({"text": "many"})).await.is(200);

    // Asked over HTTP, answered over gRPC.
    let session = stage.session().await;
    let play = Play { stage: &stage, session: session.clone() };
    let turn = stage.ask(&session, asks("clerk", "2+2?")).await;
    let mut stream = play.follow().await;
    assert!(matches!(next(&mut stream).await.unwrap().payload, Some(Payload::LlmRequest(_))));
    let event_id = play.decide(&turn, says("4")).await.unwrap();
    let answer = stage.get(&format!("/v1/sessions/{session}/turns/{turn}/response?wait=60")).await.is(200);
    assert_eq!(answer["event_id"], event_id.as_str());
    assert_eq!(answer["response"]["content"]["parts"], json!([{"text": "4"}]));
    assert!(stage.figure("rehearsal_answers_total").await.unwrap() >= 3.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn subscribers_see_everything_once_whatever_is_sent_meanwhile() {
    let stage = Stage::open().await;
    let play = Play::begin(&stage).await;
    let (agents, each) = (6, 20);
    let agent = |agent: usize| {
        let play = &play;
        async move {
            for number in 0..each {
                play.ask(&format!("{agent}: {number}")).await;
            }
        }
    };
    let all = agents * each * 2;
    let person = async {
        for _ in 0..agents * each {
            let head = until(|| async {
                let shown = stage.get(&format!("/v1/sessions/{}", play.session)).await.is(200);
                shown["head"].as_str().map(str::to_owned)
            })
            .await;
            play.decide(&head, says("yes")).await.unwrap();
        }
    };
    let subscriber = |patience: usize| {
        let play = &play;
        async move {
            // Each time it comes again it hears everything from the beginning.
            let mut most: Vec<String> = Vec::new();
            while most.len() < all {
                let mut stream = play.follow().await;
                let (mut seen, mut marks) = (Vec::new(), 0);
                while seen.len() < all && seen.len() < most.len() + patience {
                    let event = next(&mut stream).await.unwrap();
                    match event.payload {
                        Some(Payload::HistoryComplete(mark)) => {
                            assert_eq!(usize::try_from(mark.event_count).unwrap(), seen.len());
                            marks += 1;
                        }
                        _ => seen.push(event.event_id),
                    }
                }
                assert!(marks <= 1);
                assert_eq!(
                    seen[..most.len()],
                    most[..],
                    "what was heard before is heard again, in the same order"
                );
                most = seen;
            }
            most
        }
    };
    let asking = join_all((0..agents).map(agent));
    let (seen, _, ()) = tokio::join!(join_all([9, 50, 1000].map(subscriber)), asking, person);
    let ids: BTreeSet<&String> = seen[0].iter().collect();
    assert_eq!(ids.len(), all);
    assert!(seen.iter().all(|other| *other == seen[0]));
}

#[tokio::test]
async fn what_the_plugin_does_not_say_is_read_from_what_it_sends() {
    let stage = Stage::open().await;
    let play = Play::begin(&stage).await;
    let turn = play.ask("add").await;
    let calls = vec![Part::call("add", json!({"a": 1})), Part::call("add", json!({"a": 2}))];
    play.decide(&turn, decision(calls.clone())).await.unwrap();
    let shown = stage.get(&format!("/v1/sessions/{}", play.session)).await.is(200);
    assert_eq!(shown["waiting_calls"].as_array().unwrap().len(), 2);

    let result = |value: i64| {
        let response = json!({"result": value}).as_object().unwrap().clone();
        let response = FunctionResponse {
            id: None::<CallId>,
            name: "add".to_owned(),
            response,
            extra: serde_json::Map::new(),
        };
        Part::from(PartData::FunctionResponse(response))
    };
    let contents = vec![
        Content::user("add"),
        Content::new(Role::Model, calls),
        Content::new(Role::User, vec![result(10), result(20)]),
    ];
    let turn = uuid();
    play.submit(&turn, request(contents)).await.unwrap();
    play.decide(&turn, says("done")).await.unwrap();
    let history = stage.get(&format!("/v1/sessions/{}/history", play.session)).await.is(200);
    let told: Vec<_> = history["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| {
            let detail = ["content", "arguments", "result"].iter().find_map(|key| entry.get(*key)).unwrap();
            (entry["type"].as_str().unwrap(), detail.clone())
        })
        .collect();
    assert_eq!(
        told,
        [
            ("user_query", json!("add")),
            ("tool_call", json!({"a": 1})),
            ("tool_call", json!({"a": 2})),
            ("tool_output", json!({"result": 10})),
            ("tool_output", json!({"result": 20})),
            ("final_response", json!("done")),
        ]
    );
    let completed = stage.post(&format!("/v1/sessions/{}/complete", play.session), json!({})).await.is(200);
    assert_eq!((&completed["source"], &completed["state"]), (&json!("adksim"), &json!("completed")));
}

#[tokio::test]
async fn sessions_are_listed_in_pages() {
    let stage = Stage::open().await;
    let mut made = Vec::new();
    for _ in 0..5 {
        stage.clock.advance(Duration::from_secs(1));
        let reply = soon(stage.wire().create_session(CreateSessionRequest::default())).await.unwrap();
        made.push(reply.into_inner().session.unwrap().id);
    }
    made.reverse();
    let mut seen = Vec::new();
    let mut page_token = String::new();
    loop {
        let asked = ListSessionsRequest { page_size: 2, page_token };
        let page = soon(stage.wire().list_sessions(asked)).await.unwrap().into_inner();
        assert!(page.sessions.len() <= 2);
        seen.extend(page.sessions.into_iter().map(|session| session.id));
        page_token = page.next_page_token;
        if page_token.is_empty() {
            break;
        }
    }
    assert_eq!(seen, made);
    let wrong = [(-1, String::new()), (1, "nonsense".to_owned())];
    for (page_size, page_token) in wrong {
        let asked = ListSessionsRequest { page_size, page_token };
        assert_eq!(soon(stage.wire().list_sessions(asked)).await.unwrap_err().code(), Code::InvalidArgument);
    }
}

#[tokio::test]
async fn a_subscriber_to_a_session_that_is_removed_is_told_so() {
    let stage = Stage::open().await;
    let play = Play::begin(&stage).await;
    let mut stream = play.follow().await;
    assert!(next(&mut stream).await.is_some(), "the mark");
    stage.delete(&format!("/v1/sessions/{}", play.session)).await.is(204);
    let gone = soon(stream.message()).await.unwrap_err();
    assert_eq!(gone.code(), Code::NotFound, "{gone}");
}

#[tokio::test]
async fn a_subscriber_counts_as_waiting_until_it_goes() {
    let stage = Stage::with_grace(Duration::from_millis(60)).await;
    let play = Play::begin(&stage).await;
    let stream = play.follow().await;
    let turn = play.ask("hi").await;
    let alone = Play::begin(&stage).await;
    let unattended = alone.ask("hi").await;
    let status = async |turn: &str| stage.get(&format!("/v1/cues/{turn}")).await.is(200)["status"].clone();
    let abandoned =
        async |turn: &str| until(|| async { (status(turn).await == "abandoned").then_some(()) }).await;
    stage.clock.advance(Duration::from_secs(1));
    abandoned(&unattended).await;
    assert_eq!(status(&turn).await, "open");
    drop(stream);
    until(|| async { (stage.figure("rehearsal_waiting").await == Some(0.0)).then_some(()) }).await;
    // No time has to pass: its broken stream tells.
    abandoned(&turn).await;
    let unheard = play.decide(&turn, says("anybody?")).await.unwrap_err();
    assert_eq!(unheard.code(), Code::FailedPrecondition, "{unheard}");
    // Coming back is enough.
    let _back = play.follow().await;
    until(|| async { (status(&turn).await == "open").then_some(()) }).await;
}

#[tokio::test]
async fn a_killed_server_has_everything_for_who_subscribes_again() {
    let mut stage = Stage::open().await;
    let (session, turn) = {
        let play = Play::begin(&stage).await;
        let turn = play.ask("hi").await;
        (play.session, turn)
    };
    stage.kill().await;
    stage.start().await;
    let play = Play { stage: &stage, session };
    let mut stream = play.follow().await;
    assert_eq!(next(&mut stream).await.unwrap().turn_id, turn);
    next(&mut stream).await.unwrap();
    stage.answer(&turn, json!({"text": "there"})).await.is(200);
    assert_eq!(next(&mut stream).await.unwrap().turn_id, turn);
}
