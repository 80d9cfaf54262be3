//! Runs that come to no end: what they left open is closed, so that the session can go on.

use rehearsal_core::{CallId, Draft, EventBody, ToolError, ToolOutcome, ToolResult};
use serde_json::json;

use super::Pen;
use super::sessions::ENGINE;
use crate::Problem;

/// Writes that the run failed, after the end of every call that it left open.
pub(super) fn fail_run(pen: &mut Pen, kind: &str, message: &str) -> Result<(), Problem> {
    close_calls(pen, kind, message)?;
    let data = json!({"error": {"type": kind, "message": message}});
    pen.append(pen.draft(ENGINE, EventBody::Note { name: "run_failed".into(), data }))?;
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
