//! A server that is a process: a message is a line.

use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use rehearsal_core::mask::Masker;
use serde_json::Value;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncWriteExt};
use tokio::time::timeout;

use super::McpError;
use crate::remote::Connection;

/// The longest line that is read, in bytes.
const LONGEST_LINE: usize = 64 * 1024 * 1024;

/// The most lines, and bytes of them, that a server may write for one request.
const MOST_LINES: u64 = 100_000;
const MOST_BYTES: usize = 256 * 1024 * 1024;

/// How long a process that closed one of its ends is given to end, so that its last words can be shown.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// The lines between us and a server.
#[derive(Debug)]
pub(super) struct Stdio {
    connection: Connection,
    /// What is still to be written.
    outgoing: VecDeque<u8>,
    /// What was read of the next line.
    line: Vec<u8>,
    /// Messages that came in one line with others.
    heard: VecDeque<Value>,
    /// Whether the process no longer takes what is written.
    is_deaf: bool,
    /// The lines of this request, and their bytes.
    taken: (u64, usize),
    /// The last line that is no message: servers should print to standard error, and not all of them do.
    stray: Option<String>,
    masker: Masker,
}

impl Stdio {
    pub(super) fn new(connection: Connection, masker: Masker) -> Self {
        Self {
            connection,
            outgoing: VecDeque::new(),
            line: Vec::new(),
            heard: VecDeque::new(),
            is_deaf: false,
            taken: (0, 0),
            stray: None,
            masker,
        }
    }

    /// Begins to count what one request may take.
    pub(super) fn begin(&mut self) {
        self.taken = (0, 0);
    }

    /// Has a message written while the next one is awaited.
    pub(super) fn send(&mut self, message: &Value) {
        self.outgoing.extend(rehearsal_core::json::text(message).into_bytes());
        self.outgoing.push_back(b'\n');
    }

    /// The next message. Nothing is lost if this is dropped before it is done.
    pub(super) async fn receive(&mut self) -> Result<Value, McpError> {
        loop {
            if let Some(heard) = self.heard.pop_front() {
                return Ok(heard);
            }
            // A server that never stops writing must not keep others from their turn.
            tokio::task::coop::consume_budget().await;
            let line = match self.exchange().await {
                Ok(Some(line)) => line,
                Ok(None) => return Err(self.gone().await),
                Err(error) => {
                    let what = format!("the MCP server's output cannot be read: {error}{}", self.report());
                    return Err(McpError::Gone { what });
                }
            };
            self.count(&line)?;
            if line.trim_ascii().is_empty() {
                continue;
            }
            match rehearsal_core::json::from_slice::<Value>(&line) {
                // Revisions up to 2025-03-26 send several messages as a list.
                Ok(Value::Array(messages)) => self.heard.extend(messages),
                Ok(message @ Value::Object(_)) => return Ok(message),
                _ => {
                    let text = self.masker.mask(&String::from_utf8_lossy(&line)).into_owned();
                    self.stray = Some(rehearsal_core::shorten(text.trim(), 300));
                }
            }
        }
    }

    fn count(&mut self, line: &[u8]) -> Result<(), McpError> {
        self.taken = (self.taken.0 + 1, self.taken.1 + line.len());
        if self.taken.0 <= MOST_LINES && self.taken.1 <= MOST_BYTES {
            return Ok(());
        }
        let what = format!(
            "the MCP server wrote more than {MOST_LINES} lines or {} MiB for one request{}",
            MOST_BYTES / (1024 * 1024),
            self.report()
        );
        Err(McpError::Misread { what })
    }

    /// Writes what is to be written until a line comes. Reading and writing go side by side: a process that writes
    /// much before it reads would otherwise wait for us, and we for it.
    async fn exchange(&mut self) -> io::Result<Option<Vec<u8>>> {
        while !self.outgoing.is_empty() {
            let Connection { input, output, .. } = &mut self.connection;
            tokio::select! {
                biased;
                line = next_line(output, &mut self.line) => return line,
                written = input.write(self.outgoing.as_slices().0) => match written {
                    Ok(count) if count > 0 => drop(self.outgoing.drain(..count)),
                    _ => {
                        self.is_deaf = true;
                        self.outgoing.clear();
                    }
                },
            }
            if self.outgoing.is_empty() && self.connection.input.flush().await.is_err() {
                self.is_deaf = true;
            }
        }
        let line = next_line(&mut self.connection.output, &mut self.line);
        if self.is_deaf {
            return timeout(LAST_WORDS, line).await.unwrap_or(Ok(None));
        }
        line.await
    }

    /// Why there is no further message.
    async fn gone(&mut self) -> McpError {
        drop(timeout(LAST_WORDS, self.connection.guard.ended()).await);
        let what = match (self.connection.guard.exit(), self.is_deaf) {
            (Some(exit), _) => format!("the MCP server's process ended ({exit})"),
            (None, true) => "the MCP server closed its standard input".to_owned(),
            (None, false) => "the MCP server closed its standard output".to_owned(),
        };
        McpError::Gone { what: format!("{what}{}", self.report()) }
    }

    /// What the process wrote beside messages.
    pub(super) fn report(&self) -> String {
        let mut text = String::new();
        if let Some(stray) = &self.stray {
            text.push_str("\n\nit wrote a line to standard output that is no message: ");
            text.push_str(stray);
        }
        let tail = self.connection.guard.stderr_tail();
        if !tail.trim().is_empty() {
            text.push_str("\n\nits standard error ends with:\n  ");
            text.push_str(&tail.trim_end().replace('\n', "\n  "));
        }
        text
    }

    /// Closes its input, which tells a server to end, and gives it so long to do so.
    pub(super) async fn close(self, patience: Duration) {
        let Connection { mut input, mut output, mut guard } = self.connection;
        let mut outgoing = self.outgoing;
        let ending = async {
            let writing = async move {
                input.write_all(outgoing.make_contiguous()).await?;
                input.shutdown().await
            };
            let reading = async {
                let mut line = Vec::new();
                while let Ok(Some(_)) = next_line(&mut *output, &mut line).await {}
            };
            // What cannot be said to a process that is gone need not be said.
            drop(tokio::join!(writing, reading));
            guard.ended().await;
        };
        drop(timeout(patience, ending).await);
    }
}

/// The next line without its end; nothing where there is none. What was read of it is kept in `line`, so that this can
/// be dropped and begun again.
async fn next_line(
    output: &mut (dyn AsyncBufRead + Send + Unpin),
    line: &mut Vec<u8>,
) -> io::Result<Option<Vec<u8>>> {
    loop {
        let available = output.fill_buf().await?;
        if available.is_empty() {
            return Ok(Some(std::mem::take(line)).filter(|line| !line.is_empty()));
        }
        let end = available.iter().position(|byte| *byte == b'\n');
        let taken = end.unwrap_or(available.len());
        if line.len() + taken > LONGEST_LINE {
            return Err(io::Error::other("a line is longer than 64 MiB"));
        }
        line.extend_from_slice(&available[..taken]);
        output.consume(end.map_or(taken, |at| at + 1));
        if end.is_some() {
            return Ok(Some(std::mem::take(line)));
        }
    }
}
