//! The lines between us and a process.

use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use rehearsal_core::mask::Masker;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncWriteExt};

use super::{Connection, shortened};

/// The longest line that is read, in bytes.
const LONGEST_LINE: usize = 8 * 1024 * 1024;

/// The most messages, and bytes of them, that a program may send in one turn or for one call, those before its first line
/// of the next included.
const MOST_MESSAGES: u64 = 10_000;
const MOST_BYTES: usize = 64 * 1024 * 1024;

/// How much of a line an error shows, in characters.
const SHOWN: usize = 300;

/// How long a process that closed one of its ends is given to end, so that its last words can be shown.
const LAST_WORDS: Duration = Duration::from_secs(2);

const STDOUT_HINT: &str =
    "standard output is for messages only, one JSON object a line; print everything else to standard error";

/// What a program says, and what is told when it says it wrongly.
pub(crate) trait Spoken: DeserializeOwned {
    /// Who speaks: `an agent`.
    const SPEAKER: &'static str;
    /// What helps when it says too much.
    const TOO_MUCH: &'static str;

    /// Whether it may be said by a program that no longer listens.
    fn is_last_words(&self) -> bool;
}

/// Where a conversation is, for messages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment<'a> {
    /// At which turn or call it is: `in turn 3`.
    pub(crate) when: &'a str,
    /// What the limits count by: `turn`.
    pub(crate) unit: &'a str,
    /// The type of the message that is awaited.
    pub(crate) awaited: &'a str,
}

/// The lines between us and a process.
#[derive(Debug)]
pub(crate) struct Wire {
    connection: Connection,
    /// What is still to be written.
    outgoing: VecDeque<u8>,
    /// What was read of the next line.
    line: Vec<u8>,
    /// Whether the process no longer takes what is written.
    is_deaf: bool,
    /// The messages of this turn or call, and their bytes.
    taken: (u64, usize),
    masker: Masker,
}

impl Wire {
    pub(crate) fn new(connection: Connection, masker: Masker) -> Self {
        let (outgoing, line) = (VecDeque::new(), Vec::new());
        Self { connection, outgoing, line, is_deaf: false, taken: (0, 0), masker }
    }

    /// Has a message written while the next one is awaited.
    pub(crate) fn send(&mut self, message: &Value) {
        self.outgoing.extend(rehearsal_core::json::text(message).into_bytes());
        self.outgoing.push_back(b'\n');
    }

    /// Begins to count what one turn, or one call, may take.
    pub(crate) fn begin_count(&mut self) {
        self.taken = (0, 0);
    }

    /// Counts a line; says so when there are too many of them.
    fn count(&mut self, line: &[u8], unit: &str, hint: &str) -> Result<(), String> {
        self.taken = (self.taken.0 + 1, self.taken.1 + line.len());
        let what = if self.taken.0 > MOST_MESSAGES {
            format!("it sent more than {MOST_MESSAGES} messages in one {unit}")
        } else if self.taken.1 > MOST_BYTES {
            format!("it sent more than {} MiB in one {unit}", MOST_BYTES / (1024 * 1024))
        } else {
            return Ok(());
        };
        Err(self.report(&what, Some(hint)))
    }

    /// The next message of the process. Nothing is lost if this is dropped before it is done.
    pub(crate) async fn receive<M: Spoken>(&mut self, moment: &Moment<'_>) -> Result<M, String> {
        loop {
            // A process that never stops writing must not keep others from their turn.
            tokio::task::coop::consume_budget().await;
            let line = match self.exchange().await {
                Ok(Some(line)) => line,
                Ok(None) => return Err(self.gone(moment).await),
                Err(error) => return Err(self.report(&format!("its output cannot be read: {error}"), None)),
            };
            self.count(&line, moment.unit, M::TOO_MUCH)?;
            if line.trim_ascii().is_empty() {
                continue;
            }
            let mut value = rehearsal_core::json::from_slice::<Value>(&line).map_err(|_| {
                let what = format!("it wrote a line that is not JSON: {}", self.shown(&line));
                self.report(&what, Some(STDOUT_HINT))
            })?;
            self.masker.mask_value(&mut value);
            let message: M = rehearsal_core::json::from_value(value).map_err(|error| {
                let shown = self.shown(&line);
                let what = format!("it wrote a message that cannot be understood ({error}): {shown}");
                let speaker = M::SPEAKER;
                let hint = format!(
                    "see that the line has the fields of its type, and the type is one that {speaker} sends"
                );
                self.report(&what, Some(&hint))
            })?;
            if self.is_deaf && !message.is_last_words() {
                return Err(self.gone(moment).await);
            }
            return Ok(message);
        }
    }

    /// The beginning of a line, for people.
    fn shown(&self, line: &[u8]) -> String {
        shortened(&self.masker.mask(&String::from_utf8_lossy(line)), SHOWN)
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
            return tokio::time::timeout(LAST_WORDS, line).await.unwrap_or(Ok(None));
        }
        line.await
    }

    /// Why there is no further message.
    async fn gone(&mut self, moment: &Moment<'_>) -> String {
        let Moment { when, awaited, .. } = moment;
        drop(tokio::time::timeout(LAST_WORDS, self.connection.guard.ended()).await);
        let what = match (self.connection.guard.exit(), self.is_deaf) {
            (Some(exit), _) => format!("its process ended {when} ({exit}), before it sent `{awaited}`"),
            (None, true) => format!("it closed its standard input {when}, before it had read all of it"),
            (None, false) => format!("it closed its standard output {when}, before it sent `{awaited}`"),
        };
        self.report(&what, Some("the process must stay and read further lines until it reads `end`"))
    }

    /// An error with the end of the process's standard error.
    pub(crate) fn report(&self, what: &str, hint: Option<&str>) -> String {
        let mut text = what.to_owned();
        let tail = self.connection.guard.stderr_tail();
        if !tail.trim().is_empty() {
            text.push_str("\n\nits standard error ends with:\n  ");
            text.push_str(&tail.trim_end().replace('\n', "\n  "));
        }
        if let Some(hint) = hint {
            text.push_str("\n\nhint: ");
            text.push_str(hint);
        }
        text
    }

    /// Says a last thing and gives the process so long to end by itself. Gives what it said unasked, other than `log`.
    pub(crate) async fn close(mut self, message: &Value, patience: Duration) -> Option<String> {
        self.send(message);
        let Connection { mut input, mut output, mut guard } = self.connection;
        let mut said = None;
        let ending = async {
            let writing = async move {
                input.write_all(self.outgoing.make_contiguous()).await?;
                input.shutdown().await
            };
            let reading = async {
                let mut line = Vec::new();
                while let Ok(Some(line)) = next_line(&mut *output, &mut line).await {
                    let is_log = rehearsal_core::json::from_slice::<Value>(&line)
                        .is_ok_and(|line| line["type"] == "log");
                    let text = String::from_utf8_lossy(&line);
                    if !is_log && !text.trim().is_empty() {
                        said.get_or_insert_with(|| shortened(&self.masker.mask(&text), 200));
                    }
                }
            };
            // What cannot be said to a process that is gone need not be said.
            drop(tokio::join!(writing, reading));
            guard.ended().await;
        };
        drop(tokio::time::timeout(patience, ending).await);
        said
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
            return Err(io::Error::other("a line is longer than 8 MiB"));
        }
        line.extend_from_slice(&available[..taken]);
        output.consume(end.map_or(taken, |at| at + 1));
        if end.is_some() {
            return Ok(Some(std::mem::take(line)));
        }
    }
}
