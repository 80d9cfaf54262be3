//! A model server on loopback: it plays the customer, the agent who calls a tool and answers, and the judge.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

/// How it serves.
#[derive(Clone, Copy, Default)]
pub(crate) struct Serving {
    /// How long it takes to answer.
    pub(crate) latency_ms: u64,
    /// Whether the texts differ from answer to answer.
    pub(crate) varied: bool,
}

/// The server in a process of its own; it ends when this is dropped.
pub(crate) struct Server {
    process: Child,
    pub(crate) base_url: String,
}

impl Server {
    pub(crate) fn start(serving: Serving) -> Self {
        let program = std::env::current_exe().expect("the benchmark knows where it is");
        let mut process = Command::new(program)
            .args(["serve", &serving.latency_ms.to_string(), &serving.varied.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the benchmark can start itself as a server");
        let mut line = String::new();
        BufReader::new(process.stdout.take().expect("its output is piped"))
            .read_line(&mut line)
            .expect("it says where it is");
        Self { process, base_url: line.trim().to_owned() }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The server also ends by itself when its standard input closes.
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

/// Serves until standard input closes.
pub(crate) fn serve(serving: Serving) {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime can be built");
    std::thread::spawn(|| {
        std::io::stdin().lines().for_each(drop);
        #[expect(clippy::exit, reason = "whoever started the server is gone")]
        std::process::exit(0);
    });
    runtime.block_on(tokio::task::LocalSet::new().run_until(async move {
        let socket = TcpSocket::new_v4().expect("there is a network");
        socket.bind(([127, 0, 0, 1], 0).into()).expect("a port is free");
        // All clients come at once.
        let listener = socket.listen(4096).expect("it can be listened to");
        println!("http://{}/v1", listener.local_addr().expect("it is bound"));
        std::io::stdout().flush().expect("somebody reads it");
        let count = std::rc::Rc::new(std::cell::Cell::new(0));
        loop {
            if let Ok((stream, _)) = listener.accept().await {
                let count = count.clone();
                let next = move || {
                    count.set(count.get() + 1);
                    count.get()
                };
                tokio::task::spawn_local(async move { drop(answer_all(stream, serving, next).await) });
            }
        }
    }));
}

async fn answer_all(mut stream: TcpStream, serving: Serving, next: impl Fn() -> u64) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut read = Vec::new();
    while let Some(body) = body(&mut stream, &mut read).await? {
        if serving.latency_ms > 0 {
            tokio::time::sleep(Duration::from_millis(serving.latency_ms)).await;
        }
        let answer = answer(&body, next(), serving.varied).to_string();
        let length = answer.len();
        let head =
            format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n");
        stream.write_all((head + &answer).as_bytes()).await?;
    }
    Ok(())
}

/// The body of the next request or answer; nothing when there is none.
pub(crate) async fn body(stream: &mut TcpStream, read: &mut Vec<u8>) -> std::io::Result<Option<Vec<u8>>> {
    loop {
        if let Some(start) = read.windows(4).position(|four| four == b"\r\n\r\n").map(|at| at + 4) {
            let head = String::from_utf8_lossy(&read[..start]).to_ascii_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
            let end = start + length.and_then(|length| length.trim().parse().ok()).unwrap_or(0);
            while read.len() < end {
                if stream.read_buf(read).await? == 0 {
                    return Ok(None);
                }
            }
            let body = read[start..end].to_vec();
            read.drain(..end);
            return Ok(Some(body));
        }
        if stream.read_buf(read).await? == 0 {
            return Ok(None);
        }
    }
}

fn answer(body: &[u8], number: u64, varied: bool) -> Value {
    let request: Value = rehearsal_core::json::from_slice(body).unwrap_or_default();
    let model = request["model"].as_str().unwrap_or_default();
    let messages = request["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let of = |role: &str| messages.iter().filter(|message| message["role"] == role).count();
    let mut text = match model {
        "judge" => {
            let judged = json!({"reasoning": "The record shows it.", "judgment": "yes", "confidence": 0.9});
            judged.to_string()
        }
        "user" => "Where is my order A1, please?".to_owned(),
        _ => format!("Order A1 has shipped and will arrive on Tuesday. That was question {}.", of("user")),
    };
    if varied && model != "judge" {
        text += &words(number);
    }
    let calls = model == "agent" && of("tool") == 0;
    let message = if calls {
        let call = json!({"name": "look_up", "arguments": "{\"order\":\"A1\"}"});
        let call = json!({"id": format!("call_{number}"), "type": "function", "function": call});
        json!({"role": "assistant", "content": null, "refusal": null, "tool_calls": [call]})
    } else {
        json!({"role": "assistant", "content": text, "refusal": null})
    };
    let finish = if calls { "tool_calls" } else { "stop" };
    let (input, output) = (body.len() / 4, 12);
    json!({
        "id": format!("chatcmpl-{number}"),
        "object": "chat.completion",
        "created": 1_767_268_800,
        "model": model,
        "choices": [{"index": 0, "message": message, "logprobs": null, "finish_reason": finish}],
        "usage": {
            "prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output,
            "prompt_tokens_details": {"cached_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 0},
        },
        "system_fingerprint": "bench",
    })
}

/// Sixty words that differ from number to number.
fn words(number: u64) -> String {
    let mut chance = fastrand::Rng::with_seed(number);
    let mut text = String::new();
    for _ in 0..60 {
        text.push(' ');
        for _ in 0..chance.usize(1..=3) {
            text.push(char::from(b"bcdfghklmnprstvz"[chance.usize(..16)]));
            text.push(char::from(b"aeiou"[chance.usize(..5)]));
        }
    }
    text
}
