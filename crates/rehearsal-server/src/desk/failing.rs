//! Runs that come to no end: what they left open is closed, so that the session can go on.

use indexmap::IndexSet;
use rehearsal_core::{
    CallId, Draft, Event, EventBody, Ledger, Timestamp, ToolError, ToolOutcome, ToolResult, TurnId,
};
use rehearsal_store::SessionRecord;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Pen;
use super::sessions::ENGINE;
use crate::Problem;

/// Where a session's meta has the failure of its last run.
pub(super) const FAILURE: &str = SessionRecord::FAILURE;

/// Why the last run of a session came to no answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = LastError)]
pub struct Failure {
    /// The kind of error, such as the name of the exception.
    #[serde(rename = "type")]
    pub kind: String,
    /// What went wrong.
    pub message: String,
    /// When.
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
    /// The number of the event that says so.
    pub seq: u64,
}

/// The failure that an event tells, if it tells one.
pub(super) fn failure_of(event: &Event) -> Option<Failure> {
    let EventBody::RunFailed { error } = &event.body else { return None };
    let ToolError { kind, message, .. } = error.clone();
    Some(Failure { kind, message, at: event.at, seq: event.seq })
}

/// The failure of the last run, unless the user has spoken since then or the session has come to its end.
pub(super) fn last_failure(ledger: &Ledger) -> Option<Failure> {
    let said = |event: &Event| matches!(event.body, EventBody::UserMessage { .. });
    ledger.events().iter().rev().take_while(|event| !said(event)).find_map(|event| failure_of(event))
}

/// Writes that the run failed, after the end of every call that it left open.
pub(super) fn fail_run(pen: &mut Pen, kind: &str, message: &str) -> Result<(), Problem> {
    close_calls(pen, kind, message)?;
    pen.append(pen.draft(ENGINE, EventBody::RunFailed { error: ToolError::new(kind, message) }))?;
    Ok(())
}

/// Gives every call that has no result an error in its place: nobody is left to give one.
pub(super) fn close_calls(pen: &mut Pen, kind: &str, message: &str) -> Result<(), Problem> {
    let open = pen.ledger().calls().filter(|call| call.answer.is_none());
    let mut open: Vec<CallId> = open.map(|call| call.call.clone()).collect();
    // What was called last is inside of what was called before it.
    open.reverse();
    open.iter().try_for_each(|call| close_call(pen, call, kind, message))
}

/// Gives a call an error in the place of its result.
pub(super) fn close_call(pen: &mut Pen, call: &CallId, kind: &str, message: &str) -> Result<(), Problem> {
    let Some(made) = pen.ledger().call(call) else { return Err(Problem::not_found("call", call)) };
    let (invocation, turn) = (made.event.invocation.clone(), made.event.turn.clone());
    let body = EventBody::ToolResult(ToolResult {
        call: call.clone(),
        tool: made.tool.clone(),
        outcome: ToolOutcome::Error(ToolError::new(kind, message)),
        changes: Vec::new(),
        main_changes: None,
    });
    pen.append(Draft { invocation, turn, ..pen.draft(ENGINE, body) }).map(drop)
}

/// Whether a call was closed here, because nobody was left to give its result.
pub(super) fn is_closed(pen: &Pen, call: &CallId) -> bool {
    let answer = pen.ledger().call(call).and_then(|call| call.answer.cloned());
    answer.is_some_and(|answer| &*answer.author == ENGINE)
}

/// The model turns that nobody has answered and nobody has put away, in their order.
pub(super) fn open_turns(ledger: &Ledger) -> IndexSet<TurnId> {
    let mut open = IndexSet::new();
    for event in ledger.events() {
        match (&event.body, &event.turn) {
            (EventBody::ModelRequest(_), Some(turn)) => {
                open.insert(turn.clone());
            }
            (EventBody::ModelResponse(_), Some(turn)) => {
                open.shift_remove(turn);
            }
            (EventBody::CueDismissed(dismissed), _) => {
                open.retain(|turn| dismissed.cue != turn.as_str());
            }
            // Whoever asked in this run asks no more.
            (EventBody::RunFailed { .. }, _) => open.clear(),
            _ => {}
        }
    }
    open
}
