//! A session as people read it.

use std::fmt::{self, Write as _};
use std::sync::Arc;

use serde_json::Value;

use crate::{Event, EventBody, FinishReason, Ledger, ToolOutcome, json};

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
    /// Why what the agent says is not all that its model had to say.
    pub unfinished: Option<String>,
}

/// What a line shows.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum LineKind {
    /// Something the user said.
    User(String),
    /// Something the agent said.
    Agent(String),
    /// That the agent's model stopped before it said anything.
    Nothing,
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
    /// That the user ended the conversation, and what they said as they did.
    HungUp(String),
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
        let mut unfinished = None;
        let kind = match &event.body {
            EventBody::UserMessage { content } => LineKind::User(content.text()),
            EventBody::ModelResponse(response) => {
                unfinished = response.finish.as_ref().and_then(why_unfinished);
                let text = response.content.text();
                let calls = response.content.calls().next().is_some();
                match (text.is_empty(), &unfinished) {
                    (false, _) => LineKind::Agent(text),
                    (true, Some(_)) if !calls => LineKind::Nothing,
                    (true, _) => return None,
                }
            }
            EventBody::ToolCall { tool, args, .. } => {
                LineKind::Call { tool: tool.clone(), args: Value::Object((**args).clone()) }
            }
            EventBody::ToolResult(result) => {
                LineKind::Result { tool: result.tool.clone(), outcome: result.outcome.clone() }
            }
            EventBody::UserHungUp(end) => LineKind::HungUp(end.said.clone()),
            EventBody::Error(failure) => LineKind::Error(failure.message.clone()),
            _ => return None,
        };
        let nested = event.invocation.as_ref().is_some_and(|path| !path.enclosure().is_empty());
        Some(Self { seq: event.seq, author: event.author.clone(), nested, kind, unfinished })
    }
}

/// Why a model stopped, where that is not because it had said everything.
fn why_unfinished(finish: &FinishReason) -> Option<String> {
    match finish {
        FinishReason::Stop | FinishReason::ToolCalls => None,
        FinishReason::MaxTokens => Some("cut off at the token limit".to_owned()),
        FinishReason::Safety => Some("held back by the provider".to_owned()),
        FinishReason::Other(word) => Some(format!("stopped for `{word}`")),
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
            LineKind::HungUp(said) if said.is_empty() => f.write_str("user hangs up"),
            LineKind::HungUp(said) => write!(f, "user hangs up: {said}"),
            LineKind::Error(message) => write!(f, "error: {message}"),
            LineKind::Nothing => write!(f, "{}: nothing", self.author),
        }?;
        match &self.unfinished {
            Some(why) => write!(f, " [{why}]"),
            None => Ok(()),
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
