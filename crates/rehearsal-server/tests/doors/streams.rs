//! Events as they happen.

use futures::future::join_all;
use reqwest::{Method, Response};
use serde_json::{Value, json};

use crate::stage::{Stage, asks, soon, uuid};

/// One frame of a stream.
#[derive(Debug, PartialEq)]
struct Frame {
    id: Option<u64>,
    event: Option<String>,
    data: Value,
    comment: Option<String>,
}

struct Frames {
    response: Response,
    buffer: String,
}

impl Frames {
    async fn of(stage: &Stage, path: &str, last: Option<u64>) -> Self {
        let mut call = stage.call(Method::GET, path);
        if let Some(last) = last {
            call = call.header("last-event-id", last.to_string());
        }
        let response = soon(call.send()).await.unwrap();
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Self { response, buffer: String::new() }
    }

    /// The next frame, or nothing at the end.
    async fn next(&mut self) -> Option<Frame> {
        loop {
            if let Some(end) = self.buffer.find("\n\n") {
                let text: String = self.buffer.drain(..end + 2).collect();
                let field = |name: &str| {
                    let found = text.lines().find_map(|line| line.strip_prefix(name));
                    found.map(|value| value.trim_start().to_owned())
                };
                return Some(Frame {
                    id: field("id:").map(|id| id.parse().unwrap()),
                    event: field("event:"),
                    data: field("data:")
                        .map_or(Value::Null, |data| rehearsal_core::json::from_str(&data).unwrap()),
                    comment: field(":"),
                });
            }
            let chunk = soon(self.response.chunk()).await.unwrap()?;
            self.buffer += std::str::from_utf8(&chunk).unwrap();
        }
    }
}

#[tokio::test]
async fn a_stream_brings_the_history_then_what_happens() {
    let stage = Stage::open().await;
    let session = stage.session().await;
    let turn = stage.ask(&session, asks("clerk", "hi")).await;
    let mut frames = Frames::of(&stage, &format!("/v1/sessions/{session}/events/stream"), None).await;
    let mut seen = Vec::new();
    for _ in 0..4 {
        let frame = frames.next().await.unwrap();
        assert_eq!(frame.data["seq"].as_u64(), frame.id);
        assert_eq!(frame.data["body"]["type"].as_str(), frame.event.as_deref());
        seen.push(frame.event.unwrap());
    }
    assert_eq!(seen, ["session_started", "agent_started", "user_message", "model_request"]);
    assert_eq!(frames.next().await.unwrap().comment.unwrap(), "history complete");
    let taken = stage.answer(&turn, json!({"text": "hello"})).await.is(200);
    let frame = frames.next().await.unwrap();
    assert_eq!((frame.id, &frame.data["event_id"]), (Some(5), &taken["event_id"]));

    // From a number on, by the parameter or the header a browser sends.
    let path = format!("/v1/sessions/{session}/events/stream");
    for (path, last) in
        [(format!("{path}?after=4"), None), (path.clone(), Some(4)), (format!("{path}?after=1"), Some(4))]
    {
        let mut frames = Frames::of(&stage, &path, last).await;
        assert_eq!(frames.next().await.unwrap().id, Some(5));
        assert_eq!(frames.next().await.unwrap().comment.unwrap(), "history complete");
    }
    stage.get(&format!("{path}?after=18446744073709551615")).await.refused(422, "invalid_parameters");
}

/// Writers at once: each says and does its own things.
async fn write(stage: &Stage, session: &str, writers: usize, each: usize) {
    let writer = |writer: usize| async move {
        for number in 0..each {
            let change = json!([{"event_id": uuid(), "agent": "clerk", "type": "state_change",
                "state_delta": {format!("w{writer}"): number}}]);
            stage.observe(session, change).await.is(200);
        }
    };
    join_all((0..writers).map(writer)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn followers_see_everything_once_whatever_is_written_meanwhile() {
    let stage = Stage::open().await;
    let session = stage.session().await;
    stage.post(&format!("/v1/sessions/{session}/query"), json!({"text": "go"})).await.is(200);
    let last = 3 + 6 * 50;
    let path = format!("/v1/sessions/{session}/events/stream");
    // Each follower comes again after every so many events, from where it was.
    let follower = |patience: u64| {
        let (stage, path) = (&stage, &path);
        async move {
            let mut seen: Vec<u64> = Vec::new();
            while seen.len() < last {
                let mut frames = Frames::of(stage, path, seen.last().copied()).await;
                for _ in 0..patience {
                    let Some(id) = frames.next().await.unwrap().id else { continue };
                    seen.push(id);
                    if seen.len() == last {
                        break;
                    }
                }
            }
            seen
        }
    };
    let following = join_all([7, 31, 1000].map(follower));
    let (seen, ()) = tokio::join!(following, write(&stage, &session, 6, 50));
    let all: Vec<u64> = (1..=last as u64).collect();
    for seen in seen {
        assert_eq!(seen, all);
    }
    // And it is a ledger.
    let text = stage.get(&format!("/v1/sessions/{session}/ledger")).await.text;
    assert_eq!(rehearsal_core::Ledger::from_jsonl(&text).unwrap().events().len(), last);
}

#[tokio::test]
async fn lists_give_events_after_a_number() {
    let stage = Stage::open().await;
    let session = stage.session().await;
    stage.post(&format!("/v1/sessions/{session}/query"), json!({"text": "go"})).await.is(200);
    write(&stage, &session, 1, 10).await;
    let mut after = 0;
    let mut seen = Vec::new();
    loop {
        let page = stage.get(&format!("/v1/sessions/{session}/events?limit=4&after={after}")).await.is(200);
        assert_eq!(page["last_seq"], 13);
        let numbers: Vec<u64> =
            page["events"].as_array().unwrap().iter().map(|event| event["seq"].as_u64().unwrap()).collect();
        let Some(last) = numbers.last() else { break };
        after = *last;
        seen.extend(numbers);
    }
    assert_eq!(seen, (1..=13).collect::<Vec<_>>());
    for wrong in ["limit=0", "limit=1001", "after=-1", "after=18446744073709551615"] {
        stage.get(&format!("/v1/sessions/{session}/events?{wrong}")).await.refused(422, "invalid_parameters");
    }
    stage.get(&format!("/v1/sessions/{session}/events/14")).await.refused(404, "not_found");
    stage.get(&format!("/v1/sessions/{session}/events/0")).await.refused(404, "not_found");
    stage.get(&format!("/v1/sessions/{session}/events/last")).await.refused(422, "invalid_path");
}

#[tokio::test]
async fn changes_say_which_session_changed() {
    let stage = Stage::open().await;
    let mut frames = Frames::of(&stage, "/v1/changes", None).await;
    let session = stage.session().await;
    let told = async |frames: &mut Frames, session: &str| {
        loop {
            let frame = frames.next().await.unwrap();
            if frame.event.as_deref() == Some("session") && frame.data["session"] == session {
                return;
            }
        }
    };
    told(&mut frames, &session).await;
    let other = stage.session().await;
    told(&mut frames, &other).await;
    stage.ask(&session, asks("clerk", "hi")).await;
    told(&mut frames, &session).await;
    stage.delete(&format!("/v1/sessions/{session}")).await.is(204);
    told(&mut frames, &session).await;
}

#[tokio::test]
async fn streams_end_and_waits_are_over_when_the_server_ends() {
    let mut stage = Stage::open().await;
    let session = stage.session().await;
    let turn = stage.ask(&session, asks("clerk", "hi")).await;
    let mut events = Frames::of(&stage, &format!("/v1/sessions/{session}/events/stream"), Some(4)).await;
    let mut changes = Frames::of(&stage, "/v1/changes", None).await;
    assert_eq!(events.next().await.unwrap().comment.unwrap(), "history complete");
    let path = format!("/v1/sessions/{session}/turns/{turn}/response?wait=60");
    let waiting = tokio::spawn(crate::stage::Reply::to(stage.call(Method::GET, &path)));
    crate::stage::until(|| async { (stage.figure("rehearsal_waiting").await == Some(1.0)).then_some(()) })
        .await;
    stage.end().await;
    assert_eq!(soon(waiting).await.unwrap().status, 204);
    assert_eq!(events.next().await, None);
    assert_eq!(changes.next().await, None);
}
