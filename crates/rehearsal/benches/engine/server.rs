//! A model server on loopback that answers every chat completion after a while.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// How long the server thinks.
pub(crate) const LATENCY: Duration = Duration::from_millis(200);

const ANSWER: &str = r#"{"id":"chatcmpl-1","object":"chat.completion","created":1767268800,"model":"bench","choices":[{"index":0,"message":{"role":"assistant","content":"I see. What else?"},"finish_reason":"stop"}],"usage":{"prompt_tokens":50,"completion_tokens":6,"total_tokens":56}}"#;

/// The server in a process of its own; it ends when this is dropped.
pub(crate) struct Server {
    process: Child,
    pub(crate) base_url: String,
}

impl Server {
    pub(crate) fn start() -> Self {
        let program = std::env::current_exe().expect("the benchmark knows where it is");
        let mut process = Command::new(program)
            .arg("serve")
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
pub(crate) fn serve() {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime can be built");
    std::thread::spawn(|| {
        std::io::stdin().lines().for_each(drop);
        #[expect(clippy::exit, reason = "whoever started the server is gone")]
        std::process::exit(0);
    });
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        println!("http://{}/v1", listener.local_addr().expect("it is bound"));
        std::io::stdout().flush().expect("somebody reads it");
        loop {
            if let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(answer_all(stream));
            }
        }
    });
}

async fn answer_all(mut stream: TcpStream) -> std::io::Result<()> {
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
        tokio::time::sleep(LATENCY).await;
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            ANSWER.len()
        );
        write.write_all(format!("{head}{ANSWER}").as_bytes()).await?;
    }
}
