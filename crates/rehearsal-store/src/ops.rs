//! What a store does, each thing written once for every database.

mod cue;
mod event;
mod gc;
mod host;
mod run;
mod session;
mod upload;
mod write;

pub(crate) use cue::{AbandonCues, FindCue, FindCues, TouchCues};
pub(crate) use event::{FindEvent, FindEvents, FindTurn};
pub(crate) use gc::{FindOld, RemoveOld};
pub(crate) use host::{DeleteHost, FindDoneWork, FindHosts, FindWork, FinishWork, HasWork, PutHost, TakeWork};
pub(crate) use run::{DeleteRun, FindRun, FindRuns, PutRun};
pub(crate) use session::{DeleteSession, FindSession, FindSessions, Ready};
pub(crate) use upload::{DeleteUpload, FindUpload, PutChunk};
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

/// JSON as it is kept.
fn json(value: &impl serde::Serialize) -> Result<String, crate::StoreError> {
    serde_json::to_string(value)
        .map_err(|error| crate::StoreError::Refused(format!("it cannot be written as JSON: {error}")))
}
