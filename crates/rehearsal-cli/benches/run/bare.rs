//! The same calls with nothing around them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::server::body;

/// Holds so many conversations, so many of them side by side.
pub(crate) fn call(base_url: &str, conversations: usize, jobs: usize) {
    let address: Arc<str> = base_url.trim_start_matches("http://").trim_end_matches("/v1").into();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    runtime.expect("a runtime can be built").block_on(async {
        let left = Arc::new(AtomicUsize::new(conversations));
        let clients: Vec<_> = (0..jobs.min(conversations))
            .map(|_| {
                let (left, address) = (left.clone(), address.clone());
                tokio::spawn(async move {
                    let mut line = Line::open(&address).await;
                    let one = |left: usize| left.checked_sub(1);
                    while left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one).is_ok() {
                        conversation(&mut line).await;
                    }
                })
            })
            .collect();
        for client in clients {
            client.await.expect("no call fails");
        }
    });
}

/// A connection that stays open.
struct Line {
    stream: TcpStream,
    read: Vec<u8>,
}

impl Line {
    async fn open(address: &str) -> Self {
        let stream = TcpStream::connect(address).await.expect("the server is there");
        stream.set_nodelay(true).expect("it is a socket");
        Self { stream, read: Vec::with_capacity(8192) }
    }

    async fn ask(&mut self, request: &Value) -> Value {
        let text = request.to_string();
        let head = format!(
            "POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n\
             content-length: {}\r\n\r\n",
            text.len()
        );
        self.stream.write_all((head + &text).as_bytes()).await.expect("the server reads");
        let answer = body(&mut self.stream, &mut self.read).await.expect("the server answers");
        let answer = answer.expect("the server answers");
        let mut answer: Value = rehearsal_core::json::from_slice(&answer).expect("the answer is JSON");
        answer["choices"][0]["message"].take()
    }
}

async fn conversation(line: &mut Line) {
    let message = |role: &str, content: &Value| json!({"role": role, "content": content});
    let tools = json!([{"type": "function", "function": {
        "name": "look_up",
        "description": "Looks up an order",
        "parameters": {"type": "object", "properties": {"order": {"type": "string"}}, "required": ["order"]},
    }}]);
    let mut history =
        vec![json!({"role": "system", "content": "You are a support agent for an online shop."})];
    for _ in 0..3 {
        let mut asked =
            vec![json!({"role": "system", "content": "You are a customer who asks about order A1."})];
        for said in history[1..].iter().filter(|said| said["content"].is_string()) {
            match said["role"].as_str() {
                Some("user") => asked.push(message("assistant", &said["content"])),
                Some("assistant") => asked.push(message("user", &said["content"])),
                _ => {}
            }
        }
        let said = line.ask(&json!({"model": "user", "messages": asked})).await;
        history.push(message("user", &said["content"]));
        loop {
            let said = line.ask(&json!({"model": "agent", "messages": history, "tools": tools})).await;
            let calls = said["tool_calls"].as_array().cloned();
            history.push(said);
            let Some(calls) = calls else { break };
            for call in calls {
                let result = r#"{"order":"A1","status":"shipped","eta":"Tuesday"}"#;
                history.push(json!({"role": "tool", "tool_call_id": call["id"], "content": result}));
            }
        }
    }
    let said = history.last().and_then(|last| last["content"].as_str()).unwrap_or_default();
    assert!(said.contains("shipped"), "{said}");
    let record = Value::Array(history).to_string();
    let judged = line.ask(&json!({"model": "judge", "messages": [message("user", &record.into())]})).await;
    let judged: Value = rehearsal_core::json::from_str(judged["content"].as_str().unwrap_or_default())
        .expect("a judgment is JSON");
    assert_eq!(judged["judgment"], "yes");
}
