//! What a store does, each thing written once for every database.

mod block;
mod cue;
mod event;
mod gc;
mod host;
mod resume;
mod run;
mod session;
mod upload;
mod write;

pub use block::KeptResult;
pub(crate) use block::{
    DropCases, FindBlock, FindResult, FindResults, PutBlock, PutDrafts, RemoveContents, RemoveDrafts,
};
pub(crate) use cue::{AbandonCues, FindAnswered, FindCue, FindCues, LoseCues, TouchCues};
pub(crate) use event::{FindAnswer, FindEvent, FindEvents, FindLine, FindTurn, GlanceEvents};
pub(crate) use gc::{FindOld, RemoveOld};
pub(crate) use host::{
    DeleteHost, FindDoneWork, FindHosts, FindOpenRuns, FindWork, FinishWork, HasWork, LoseHost, PutHost,
    TakeWork, TouchHost,
};
pub(crate) use resume::{FindLastSeen, TakeRun};
pub use resume::{FreeNumbers, LastSeen};
pub(crate) use run::{
    DeleteRun, FindFrame, FindRun, FindRuns, FindWish, InterruptRuns, PutProgress, PutRun, TouchRun, WishRun,
};
pub(crate) use session::{DeleteSession, FindSession, FindSessions, Ready};
pub(crate) use upload::{DeleteUpload, DeleteUploads, FindUpload, PutChunk};
pub(crate) use write::WriteSession;

/// The most that one page of a list holds.
const PAGE: u32 = 1000;

/// How many to read for a page: what was asked for, at most [`PAGE`], and all of that when nothing was said.
fn page_size(limit: u32) -> u32 {
    if limit == 0 { PAGE } else { limit.min(PAGE) }
}

/// A token that goes on after the thing with this time and id, in the order of lists.
fn page_token(time: i64, id: &str) -> String {
    format!("{time}_{id}")
}

fn read_page_token(token: &str) -> Result<(i64, &str), crate::StoreError> {
    let parts = token.split_once('_').and_then(|(time, id)| Some((time.parse().ok()?, id)));
    parts.ok_or_else(|| {
        crate::StoreError::Refused(format!(
            "`{token}` is no page token; leave it out to begin with the first page"
        ))
    })
}

/// How deep JSON may be nested. Readers give up at 128 levels, and what is kept must be readable wherever it is shown.
const DEEPEST: usize = 100;

/// JSON as it is kept: such that it can be read again.
fn json(value: &impl serde::Serialize) -> Result<String, crate::StoreError> {
    let text = rehearsal_core::json::to_string(value)
        .map_err(|error| crate::StoreError::Refused(format!("it cannot be written as JSON: {error}")))?;
    readable(text)
}

/// JSON that can be read again.
fn readable(text: String) -> Result<String, crate::StoreError> {
    deep(&text).map(|()| text)
}

/// Refuses JSON that is nested too deep.
fn deep(text: &str) -> Result<(), crate::StoreError> {
    if depth(text) > DEEPEST {
        return Err(crate::StoreError::Refused(format!(
            "it is nested deeper than {DEEPEST} levels and could not be read again; make it flatter, or send the \
             inner part as a text"
        )));
    }
    Ok(())
}

/// Refuses a line of JSON that could not be read again.
///
/// # Errors
/// It is nested too deep.
pub fn check_line(line: &str) -> Result<(), crate::StoreError> {
    // A line with few brackets is not deep, and to count them is quick.
    let brackets = || memchr::memchr2_iter(b'{', b'[', line.as_bytes()).count();
    if line.len() <= DEEPEST || brackets() <= DEEPEST { Ok(()) } else { deep(line) }
}

/// How deep JSON is nested.
fn depth(text: &str) -> usize {
    let (mut now, mut deepest): (usize, usize) = (0, 0);
    let (mut in_text, mut escaped) = (false, false);
    for byte in text.bytes() {
        if in_text {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_text = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => in_text = true,
            b'{' | b'[' => {
                now += 1;
                deepest = deepest.max(now);
            }
            b'}' | b']' => now -= 1,
            _ => {}
        }
    }
    deepest
}
