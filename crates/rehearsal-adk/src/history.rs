//! A session as a list of six kinds of entries.

use rehearsal_core::{Content, Event, Ledger, Timestamp, ToolOutcome, elapsed};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::conversation::{Step, What, answer_text, steps};

/// Something in the history of a session.
///
/// `seq` is the number of the event it was read from; `within` the call of the agent used as a tool in which it
/// happened, where it did.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum HistoryEntry {
    /// The user said something.
    UserQuery {
        /// The number of its event.
        seq: u64,
        /// The text, or the parts as JSON where there is none.
        content: String,
        /// When.
        timestamp: Timestamp,
    },
    /// A tool was called.
    ToolCall {
        /// The number of its event.
        seq: u64,
        /// The tool.
        tool_name: String,
        /// Its arguments.
        arguments: Map<String, Value>,
        /// Joins the call to what came of it.
        call_id: String,
        /// When.
        timestamp: Timestamp,
        /// The call it happened in.
        #[serde(skip_serializing_if = "Option::is_none")]
        within: Option<String>,
    },
    /// A tool gave something.
    ToolOutput {
        /// The number of its event.
        seq: u64,
        /// The call.
        call_id: String,
        /// What it gave.
        result: Value,
        /// How long it took, in milliseconds.
        duration_ms: f64,
        /// When.
        timestamp: Timestamp,
        /// The call it happened in.
        #[serde(skip_serializing_if = "Option::is_none")]
        within: Option<String>,
    },
    /// A tool failed.
    ToolError {
        /// The number of its event.
        seq: u64,
        /// The call.
        call_id: String,
        /// The kind of error, such as the name of the exception.
        error_type: String,
        /// What went wrong.
        error_message: String,
        /// Where, in the words of the tool's language.
        traceback: Option<String>,
        /// How long it took, in milliseconds.
        duration_ms: f64,
        /// When.
        timestamp: Timestamp,
        /// The call it happened in.
        #[serde(skip_serializing_if = "Option::is_none")]
        within: Option<String>,
    },
    /// The run came to no answer.
    RunFailed {
        /// The number of its event.
        seq: u64,
        /// The kind of error, such as the name of the exception.
        error_type: String,
        /// What went wrong.
        error_message: String,
        /// When.
        timestamp: Timestamp,
    },
    /// The agent answered what the user said.
    FinalResponse {
        /// The number of its event.
        seq: u64,
        /// The text, or the answer as JSON.
        content: String,
        /// When.
        timestamp: Timestamp,
    },
}

/// The history of a session: what the user said, every call and what came of it, and the answers.
///
/// ```
/// use rehearsal_adk::{HistoryEntry, history};
/// # use rehearsal_testkit::ledger;
///
/// let ledger = ledger(r#"user: 2+2? / call add {"a": 2, "b": 2} / result add 4 / agent: 4 / end"#);
/// let entries = history(&ledger);
/// assert!(matches!(&entries[..], [
///     HistoryEntry::UserQuery { .. },
///     HistoryEntry::ToolCall { .. },
///     HistoryEntry::ToolOutput { .. },
///     HistoryEntry::FinalResponse { content, .. },
/// ] if content == "4"));
/// ```
pub fn history(ledger: &Ledger) -> Vec<HistoryEntry> {
    let mut reader = Reader { ledger, unnamed: Vec::new() };
    steps(ledger).into_iter().map(|step| reader.entry(step)).collect()
}

struct Reader<'a> {
    ledger: &'a Ledger,
    /// Calls without an id that have no result yet, with the id they were given here.
    unnamed: Vec<(String, String)>,
}

impl Reader<'_> {
    fn entry(&mut self, step: Step<'_>) -> HistoryEntry {
        let Step { event, within, what } = step;
        let (seq, timestamp) = (event.seq, event.at);
        let within = within.map(str::to_owned);
        match what {
            What::Said(content) => HistoryEntry::UserQuery { seq, content: said(content), timestamp },
            What::Failed { kind, message } => HistoryEntry::RunFailed {
                seq,
                error_type: kind.to_owned(),
                error_message: message.to_owned(),
                timestamp,
            },
            What::Concluded(output) => {
                HistoryEntry::FinalResponse { seq, content: answer_text(&output), timestamp }
            }
            What::Called { id, tool, args } => {
                let call_id = match id {
                    Some(id) => id.as_str().to_owned(),
                    None => {
                        let made_up = format!("event-{seq}-{}", self.unnamed.len());
                        self.unnamed.push((tool.to_owned(), made_up.clone()));
                        made_up
                    }
                };
                let (tool_name, arguments) = (tool.to_owned(), args.clone());
                HistoryEntry::ToolCall { seq, tool_name, arguments, call_id, timestamp, within }
            }
            What::Answered { id, tool, outcome } => {
                let duration_ms = self.duration(event, id.as_ref().map(rehearsal_core::CallId::as_str));
                let call_id = match id {
                    Some(id) => id.as_str().to_owned(),
                    None => self.take_unnamed(&tool),
                };
                match &*outcome {
                    ToolOutcome::Output(result) => {
                        let result = result.clone();
                        HistoryEntry::ToolOutput { seq, call_id, result, duration_ms, timestamp, within }
                    }
                    ToolOutcome::Error(error) => HistoryEntry::ToolError {
                        seq,
                        call_id,
                        error_type: error.kind.clone(),
                        error_message: error.message.clone(),
                        traceback: error.traceback.clone(),
                        duration_ms,
                        timestamp,
                        within,
                    },
                }
            }
        }
    }

    fn take_unnamed(&mut self, tool: &str) -> String {
        let place = self.unnamed.iter().position(|(name, _)| name == tool);
        place.map(|place| self.unnamed.remove(place).1).unwrap_or_default()
    }

    /// What the event says, else the time from the call to its result.
    #[expect(clippy::cast_precision_loss, reason = "no call takes 2^53 microseconds")]
    fn duration(&self, event: &Event, call: Option<&str>) -> f64 {
        let micros = match &event.decision {
            Some(decision) => u128::from(decision.micros),
            None => {
                let made = call.and_then(|call| self.ledger.call(&call.into()));
                made.map_or(0, |made| elapsed(made.event.at, event.at).as_micros())
            }
        };
        micros as f64 / 1000.0
    }
}

fn said(content: &Content) -> String {
    match content.text() {
        text if text.is_empty() => rehearsal_core::json::to_string(&content.parts).unwrap_or_default(),
        text => text,
    }
}
