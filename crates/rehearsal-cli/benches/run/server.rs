//! A model server on loopback: it calls a tool, answers, and judges.

use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// The server in a process of its own; it ends when this is dropped.
pub(crate) struct Server {
    process: Child,
    pub(crate) base_url: String,
}

impl Server {
    /// Starts it; the calls of its first conversation are written down.
    pub(crate) fn start(record: &Path) -> Self {
        let program = std::env::current_exe().expect("the benchmark knows where it is");
        let mut process = Command::new(program)
            .arg("serve")
            .arg(record)
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

/// How many calls are written down: more than one conversation never makes.
const RECORDED: usize = 5;

/// Serves until standard input closes.
pub(crate) fn serve(record: &str) {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime can be built");
    std::thread::spawn(|| {
        std::io::stdin().lines().for_each(drop);
        #[expect(clippy::exit, reason = "whoever started the server is gone")]
        std::process::exit(0);
    });
    let record =
        OpenOptions::new().create(true).append(true).open(record).expect("calls can be written down");
    runtime.block_on(tokio::task::LocalSet::new().run_until(async move {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        println!("http://{}/v1", listener.local_addr().expect("it is bound"));
        std::io::stdout().flush().expect("somebody reads it");
        let record = std::rc::Rc::new(std::cell::RefCell::new((record, 0)));
        loop {
            if let Ok((stream, _)) = listener.accept().await {
                let record = record.clone();
                tokio::task::spawn_local(async move {
                    let keep = |body: &[u8]| {
                        let (file, count) = &mut *record.borrow_mut();
                        *count += 1;
                        if *count <= RECORDED {
                            let body: Value =
                                rehearsal_core::json::from_slice(body).expect("a request is JSON");
                            writeln!(file, "{body}").expect("it can be written down");
                        }
                    };
                    drop(answer_all(stream, keep).await);
                });
            }
        }
    }));
}

async fn answer_all(mut stream: TcpStream, keep: impl Fn(&[u8])) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let (read, mut write) = stream.split();
    let mut reader = tokio::io::BufReader::new(read);
    loop {
        let mut length = 0;
        let mut line = String::new();
        loop {
            line.clear();
            if reader.read_line(&mut line).await? == 0 {
                return Ok(());
            }
            if line.trim().is_empty() {
                break;
            }
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse().unwrap_or(0);
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).await?;
        keep(&body);
        let answer = answer(&body).to_string();
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            answer.len()
        );
        write.write_all(format!("{head}{answer}").as_bytes()).await?;
    }
}

fn answer(body: &[u8]) -> Value {
    let request: Value = rehearsal_core::json::from_slice(body).unwrap_or_default();
    let last =
        request["messages"].as_array().and_then(|messages| messages.last()).cloned().unwrap_or_default();
    let asked = last["content"].as_str().unwrap_or_default();
    let message = if !request["response_format"].is_null() {
        let judged = json!({"reasoning": "The record shows it.", "judgment": "yes", "confidence": 0.9});
        json!({"role": "assistant", "content": judged.to_string()})
    } else if asked.starts_with("Where") {
        let call = json!({"name": "look_up", "arguments": "{\"order\": 7}"});
        json!({"role": "assistant", "content": null, "tool_calls": [{"id": "call-1", "type": "function", "function": call}]})
    } else if asked.starts_with("Thank") {
        json!({"role": "assistant", "content": "You are welcome."})
    } else {
        json!({"role": "assistant", "content": "Your order 7 is on its way and will arrive on Friday."})
    };
    let finish = if message["tool_calls"].is_null() { "stop" } else { "tool_calls" };
    json!({
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_767_268_800,
        "model": "bench",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {"prompt_tokens": 120, "completion_tokens": 12, "total_tokens": 132},
    })
}
