//! Sessions over HTTP, followed by clients of the published protocol.

use std::sync::Arc;

use bytes::Bytes;
use rehearsal_core::{
    Clock as _, Content, Event, EventBody, ModelRequest, ModelResponse, ModelSetup, Part, RequestRecord,
    Role, SessionId, ToolDeclaration,
};
use rehearsal_server::adksim::wire::session_event::Payload as Sent;
use rehearsal_server::adksim::wire::{
    SessionEvent, SubmitDecisionRequest, SubmitRequestRequest, SubscribeRequest, SubscribeResponse,
};
use rehearsal_server::adksim::{request_to_wire, response_to_wire};
use rehearsal_store::{NewEvent, Payload, Write};
use serde_json::{Value, json};
use tonic::{Code, Streaming};

use crate::stage::{Stage, asks, soon, uuid};

async fn follow(stage: &Stage, session: &str) -> Streaming<SubscribeResponse> {
    let asked = SubscribeRequest { session_id: session.to_owned(), client_id: "test".to_owned() };
    soon(stage.wire().subscribe(asked)).await.unwrap().into_inner()
}

async fn next(stream: &mut Streaming<SubscribeResponse>) -> SessionEvent {
    soon(stream.message()).await.unwrap().unwrap().event.unwrap()
}

/// The next event's turn, agent and payload.
async fn heard(stream: &mut Streaming<SubscribeResponse>) -> (String, String, Sent) {
    let event = next(stream).await;
    assert!(!event.event_id.is_empty() && event.timestamp.is_some(), "{event:?}");
    (event.turn_id, event.agent_name, event.payload.unwrap())
}

/// What [`asks`] asks, with the contents after the user's message.
fn request(text: &str, more: Vec<Content>) -> Bytes {
    let add = ToolDeclaration::new("add", "Adds").parameters(json!({
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
        "required": ["a", "b"],
    }));
    let setup = ModelSetup {
        model: "any".to_owned(),
        system: Some("Be kind.".to_owned()),
        tools: vec![Arc::new(add)],
        ..ModelSetup::default()
    };
    let contents = std::iter::once(Content::user(text)).chain(more).map(Arc::new).collect();
    request_to_wire(&ModelRequest { setup: Arc::new(setup), contents }).into()
}

fn says(text: &str) -> Bytes {
    response_to_wire(&ModelResponse::new(Content::new(Role::Model, vec![Part::text(text)]))).into()
}

/// A request that continues the conversation of another.
fn continued(text: &str, more: &Value) -> Value {
    let mut asked = asks("clerk", text);
    asked["request"]["contents"].as_array_mut().unwrap().push(more.clone());
    asked
}

#[tokio::test]
async fn a_session_over_http_is_sent_whole_and_kept_once() {
    let stage = Stage::open().await;
    let session = stage.session().await;
    let first = stage.ask(&session, asks("clerk", "hi")).await;
    stage.answer(&first, json!({"text": "hello"})).await.is(200);
    let hello = json!({"role": "model", "parts": [{"text": "hello"}]});
    let mut asked = continued("hi", &hello);
    asked["recorded"] = true.into();
    let second = stage.ask(&session, asked).await;
    let own = json!({"event_id": uuid(), "agent": "clerk", "type": "model_response", "turn_id": second,
        "content": {"role": "model", "parts": [{"text": "by itself"}]}});
    stage.observe(&session, json!([own])).await.is(200);

    let mut stream = follow(&stage, &session).await;
    let hello = Content::new(Role::Model, vec![Part::text("hello")]);
    let clerk = || "clerk".to_owned();
    let expected = [
        (first.clone(), clerk(), Sent::LlmRequest(request("hi", Vec::new()))),
        (first.clone(), clerk(), Sent::LlmResponse(says("hello"))),
        (second.clone(), clerk(), Sent::LlmRequest(request("hi", vec![hello]))),
        (second.clone(), clerk(), Sent::LlmResponse(says("by itself"))),
    ];
    for expected in expected {
        assert_eq!(heard(&mut stream).await, expected);
    }
    let mark = next(&mut stream).await.payload;
    assert!(matches!(&mark, Some(Sent::HistoryComplete(mark)) if mark.event_count == 4), "{mark:?}");
    // What happens from here on arrives as well.
    let third = stage.ask(&session, asks("clerk", "more")).await;
    let asked = Sent::LlmRequest(request("more", Vec::new()));
    assert_eq!(heard(&mut stream).await, (third.clone(), clerk(), asked));
    stage.answer(&third, json!({"text": "enough"})).await.is(200);
    assert_eq!(heard(&mut stream).await, (third, clerk(), Sent::LlmResponse(says("enough"))));

    let kept = stage.store().await.events(&session.as_str().into(), 0, 1000).await.unwrap();
    let kinds = kept.iter().filter(|event| event.payload != Payload::Other).count();
    assert_eq!(kinds, 6);
    for event in kept {
        assert!(event.blob.is_empty(), "event {} is kept a second time", event.event.seq);
    }
}

#[tokio::test]
async fn what_came_over_http_is_recognised_when_it_is_sent_again_over_grpc() {
    let stage = Stage::open().await;
    let session = stage.session().await;
    let turn = stage.ask(&session, asks("clerk", "hi")).await;
    let event_of = |events: &[rehearsal_store::StoredEvent], payload: Payload| {
        events.iter().find(|event| event.payload == payload).map(|event| event.event_id.clone()).unwrap()
    };
    let submit = async |request: Bytes| {
        let (session_id, turn_id) = (session.clone(), turn.clone());
        let asked = SubmitRequestRequest { session_id, turn_id, agent_name: "clerk".to_owned(), request };
        soon(stage.wire().submit_request(asked)).await.map(|reply| reply.into_inner().event_id)
    };
    let decide = async |response: Bytes| {
        let (session_id, turn_id) = (session.clone(), turn.clone());
        let decided = SubmitDecisionRequest { session_id, turn_id, response };
        soon(stage.wire().submit_decision(decided)).await.map(|reply| reply.into_inner().event_id)
    };
    let again = submit(request("hi", Vec::new())).await.unwrap();
    assert_eq!(submit(request("ho", Vec::new())).await.unwrap_err().code(), Code::AlreadyExists);
    assert_eq!(submit(Bytes::new()).await.unwrap_err().code(), Code::AlreadyExists);
    stage.answer(&turn, json!({"text": "hello"})).await.is(200);
    let decided = decide(says("hello")).await.unwrap();
    assert_eq!(decide(says("bye")).await.unwrap_err().code(), Code::FailedPrecondition);
    let kept = stage.store().await.events(&session.as_str().into(), 0, 1000).await.unwrap();
    assert_eq!((again, decided), (event_of(&kept, Payload::Request), event_of(&kept, Payload::Response)));
}

/// Earlier versions kept payloads of sessions over HTTP too.
#[tokio::test]
async fn a_kept_payload_is_sent_as_it_was_kept() {
    let stage = Stage::open().await;
    let session = stage.session().await;
    let id: SessionId = session.as_str().into();
    stage.post(&format!("/v1/sessions/{session}/query"), json!({"text": "go"})).await.is(200);
    let store = stage.store().await;
    let last = store.session(&id).await.unwrap().unwrap().last_seq;
    let event = Event {
        seq: last + 1,
        session: id.clone(),
        at: stage.clock.now(),
        author: "clerk".into(),
        invocation: None,
        turn: Some(uuid().as_str().into()),
        decision: None,
        body: EventBody::ModelRequest(RequestRecord::new(&ModelRequest::default(), None)),
    };
    let blob = request("as it was", Vec::new());
    let mut write = Write::new(id, stage.clock.now().as_millisecond(), last);
    write.events = vec![NewEvent {
        event_id: uuid(),
        payload: Payload::Request,
        event: Arc::new(event),
        blob: blob.clone(),
        line: None,
    }];
    store.write(write).await.unwrap();
    let mut stream = follow(&stage, &session).await;
    assert_eq!(heard(&mut stream).await.2, Sent::LlmRequest(blob));
}
