//! A session as people read it.

use std::fmt::{self, Write as _};
use std::sync::Arc;

use serde_json::Value;

use crate::{Event, EventBody, Ledger, ToolOutcome, json};

/// One line of a transcript.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// The number of the event it shows.
    pub seq: u64,
    /// Who it is from.
    pub author: Arc<str>,
    /// Whether it happened inside an agent that was used as a tool.
    pub nested: bool,
    /// What it shows.
    pub kind: LineKind,
}

/// What a line shows.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum LineKind {
    /// Something the user said.
    User(String),
    /// Something the agent said.
    Agent(String),
    /// A tool call.
    Call {
        /// The tool.
        tool: Arc<str>,
        /// Its arguments.
        args: Value,
    },
    /// A tool's result.
    Result {
        /// The tool.
        tool: Arc<str>,
        /// What came of it.
        outcome: ToolOutcome,
    },
    /// What went wrong.
    Error(String),
}

/// The lines of a session: messages, tool calls and results, errors.
pub fn transcript(events: &[Arc<Event>]) -> Vec<Line> {
    events.iter().filter_map(|event| Line::of(event)).collect()
}

impl Line {
    /// The line that shows an event; nothing for events that people do not read.
    pub fn of(event: &Event) -> Option<Self> {
        let kind = match &event.body {
            EventBody::UserMessage { content } => LineKind::User(content.text()),
            EventBody::ModelResponse(response) => {
                let text = response.content.text();
                if text.is_empty() {
                    return None;
                }
                LineKind::Agent(text)
            }
            EventBody::ToolCall { tool, args, .. } => {
                LineKind::Call { tool: tool.clone(), args: Value::Object((**args).clone()) }
            }
            EventBody::ToolResult(result) => {
                LineKind::Result { tool: result.tool.clone(), outcome: result.outcome.clone() }
            }
            EventBody::Error(failure) => LineKind::Error(failure.message.clone()),
            _ => return None,
        };
        let nested = event.invocation.as_ref().is_some_and(|path| !path.enclosure().is_empty());
        Some(Self { seq: event.seq, author: event.author.clone(), nested, kind })
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.nested {
            f.write_str("  ")?;
        }
        match &self.kind {
            LineKind::User(text) => write!(f, "user: {text}"),
            LineKind::Agent(text) => write!(f, "{}: {text}", self.author),
            LineKind::Call { tool, args } => write!(f, "{} calls {tool} {}", self.author, json::shown(args)),
            LineKind::Result { tool, outcome: ToolOutcome::Output(value) } => {
                write!(f, "{tool} gives {}", json::shown(value))
            }
            LineKind::Result { tool, outcome: ToolOutcome::Error(error) } => {
                write!(f, "{tool} fails: {error}")
            }
            LineKind::Error(message) => write!(f, "error: {message}"),
        }
    }
}

impl Ledger {
    /// The session as text, a line a message, call or result, each with the number of its event.
    pub fn to_transcript(&self) -> String {
        let mut text = String::new();
        for line in transcript(self.events()) {
            let _ = writeln!(text, "{:>4}  {line}", line.seq);
        }
        text
    }
}
