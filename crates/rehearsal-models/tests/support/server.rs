//! A real HTTP server on loopback, as small as the tests need it.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use futures::future::BoxFuture;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// A request that came.
#[derive(Clone, Debug)]
pub(crate) struct Received {
    /// Its number, from 0.
    pub(crate) number: usize,
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Received {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        rehearsal_core::json::from_str(&self.body).unwrap()
    }
}

/// What to answer.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) pieces: Vec<Vec<u8>>,
    pub(crate) end: End,
}

/// How an answer ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// As it should.
    Proper,
    /// The connection is closed in the middle.
    Cut,
    /// The server says nothing more and keeps the connection open.
    Silence,
}

impl Answer {
    #[expect(clippy::needless_pass_by_value, reason = "bodies are made where they are used")]
    pub(crate) fn json(status: u16, body: impl ToString) -> Self {
        Self::new(status, "application/json", vec![body.to_string().into_bytes()])
    }

    pub(crate) fn stream(text: &str) -> Self {
        Self::new(200, "text/event-stream; charset=utf-8", vec![text.as_bytes().to_vec()])
    }

    pub(crate) fn new(status: u16, kind: &str, pieces: Vec<Vec<u8>>) -> Self {
        Self { status, headers: vec![("content-type".into(), kind.into())], pieces, end: End::Proper }
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn end(self, end: End) -> Self {
        Self { end, ..self }
    }
}

type Handler = Arc<dyn Fn(Received) -> BoxFuture<'static, Answer> + Send + Sync>;

/// A server; it ends with the test's runtime.
pub(crate) struct Server {
    address: SocketAddr,
    log: Arc<Mutex<Vec<Received>>>,
}

impl Server {
    /// Answers each request with what the handler makes of it.
    pub(crate) async fn start<F>(handler: impl Fn(Received) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Answer> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let log: Arc<Mutex<Vec<Received>>> = Arc::default();
        let handler: Handler = Arc::new(move |received| Box::pin(handler(received)));
        let numbers = Arc::new(AtomicUsize::new(0));
        let kept = log.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, handler.clone(), numbers.clone(), kept.clone()));
            }
        });
        Self { address, log }
    }

    /// Answers the first request with the first answer and so on; the last answer repeats.
    pub(crate) async fn answering(answers: Vec<Answer>) -> Self {
        Self::start(move |received| {
            let answer = answers[received.number.min(answers.len() - 1)].clone();
            async move { answer }
        })
        .await
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Asks for `/fence` over a connection of its own, and waits for the answer.
    pub(crate) async fn fence(&self) {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(b"GET /fence HTTP/1.1\r\nhost: fence\r\n\r\n").await.unwrap();
        let mut answer = Vec::new();
        while !answer.ends_with(b"0\r\n\r\n") {
            assert!(stream.read_buf(&mut answer).await.unwrap() > 0);
        }
    }

    pub(crate) fn log(&self) -> Vec<Received> {
        self.log.lock().unwrap().clone()
    }
}

async fn serve(
    mut stream: TcpStream,
    handler: Handler,
    numbers: Arc<AtomicUsize>,
    log: Arc<Mutex<Vec<Received>>>,
) -> Option<()> {
    stream.set_nodelay(true).ok()?;
    let mut buffer = Vec::new();
    loop {
        let (path, headers, body) = read_request(&mut stream, &mut buffer).await?;
        let number = numbers.fetch_add(1, Ordering::SeqCst);
        let received = Received { number, path, headers, body };
        log.lock().unwrap().push(received.clone());
        let answer = handler(received).await;
        write_answer(&mut stream, &answer).await.ok()?;
        match answer.end {
            End::Proper => {}
            End::Cut => return None,
            End::Silence => std::future::pending().await,
        }
    }
}

async fn read_request(
    stream: &mut TcpStream,
    buffer: &mut Vec<u8>,
) -> Option<(String, Vec<(String, String)>, String)> {
    let head = loop {
        if let Some(end) = buffer.windows(4).position(|window| window == b"\r\n\r\n") {
            break end;
        }
        if stream.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
    };
    let text = String::from_utf8(buffer[..head].to_vec()).ok()?;
    let mut lines = text.split("\r\n");
    let path = lines.next()?.split(' ').nth(1)?.to_owned();
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()))
        .collect();
    let length = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    let length: usize = length.map_or(0, |(_, value)| value.parse().unwrap_or(0));
    while buffer.len() < head + 4 + length {
        if stream.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
    }
    let rest = buffer.split_off(head + 4 + length);
    let body = String::from_utf8(std::mem::replace(buffer, rest)[head + 4..].to_vec()).ok()?;
    Some((path, headers, body))
}

/// Every answer is sent in chunks, so that its end can be missing.
async fn write_answer(stream: &mut TcpStream, answer: &Answer) -> std::io::Result<()> {
    let mut head = format!("HTTP/1.1 {} Scripted\r\ntransfer-encoding: chunked\r\n", answer.status);
    for (name, value) in &answer.headers {
        for text in [name, ": ", value, "\r\n"] {
            head.push_str(text);
        }
    }
    head.push_str("\r\n");
    stream.write_all(head.as_bytes()).await?;
    for piece in answer.pieces.iter().filter(|piece| !piece.is_empty()) {
        stream.write_all(format!("{:x}\r\n", piece.len()).as_bytes()).await?;
        stream.write_all(piece).await?;
        stream.write_all(b"\r\n").await?;
        stream.flush().await?;
    }
    if answer.end == End::Proper {
        stream.write_all(b"0\r\n\r\n").await?;
    }
    stream.flush().await
}
