//! The cases of a run that is kept, read one after the other.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::Arc;

use rehearsal_core::{CaseResult, Event, Ledger, SessionId, SessionPart};
use rehearsal_store::{EndedCase, RunRecord, Store, StoreError, session_id};
use serde_json::Value;

/// How many blocks, or events, are looked at together.
const BATCH: u32 = 500;

/// A case of a run that is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadCase {
    /// Its place in the suite, from 0.
    pub place: u64,
    /// What it came to: a [`CaseResult`] as JSON.
    pub result: String,
    /// Its sessions, without those that somebody removed.
    pub sessions: Vec<ReadSession>,
}

/// A session of a case of a run that is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadSession {
    /// Its id in the store.
    pub id: SessionId,
    /// The part it plays.
    pub part: SessionPart,
    /// Its events, a line of JSON each.
    pub lines: Vec<u8>,
}

/// The cases of a run that is kept, in the order of the suite, whatever the form in which they are kept.
///
/// Only those are in memory that ended before their turn, and of runs that earlier versions kept, what they came to.
pub struct KeptCases<'s> {
    store: &'s dyn Store,
    run: String,
    left: Left,
}

/// A case among those of a run: its place, its repeat, its number.
type Key = (u64, u32, u32);

/// What has not been read yet.
enum Left {
    Blocks {
        order: VecDeque<Key>,
        early: BTreeMap<Key, EndedCase>,
        after: Option<u64>,
    },
    /// Earlier versions kept what cases came to in the run itself.
    Results(VecDeque<(u64, Value)>),
}

impl fmt::Debug for KeptCases<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeptCases").field("run", &self.run).finish_non_exhaustive()
    }
}

impl<'s> KeptCases<'s> {
    /// Those of a run, of which at least what [`Store::run_frame`] gives is known.
    ///
    /// # Errors
    /// The store cannot be used.
    pub async fn of(store: &'s dyn Store, run: &RunRecord) -> Result<Self, StoreError> {
        let (mut order, mut after) = (Vec::new(), None);
        loop {
            let found = store.case_results(&run.id, after, u64::from(BATCH / 8)).await?;
            let Some(last) = found.last() else { break };
            after = Some(last.block);
            order.extend(found.iter().map(|case| (case.place, case.repeat, case.number)));
        }
        order.sort_unstable();
        let left = if order.is_empty() {
            Left::Results(results(run))
        } else {
            Left::Blocks { order: order.into(), early: BTreeMap::new(), after: None }
        };
        Ok(Self { store, run: run.id.clone(), left })
    }

    /// The next case.
    ///
    /// # Errors
    /// The store cannot be used, or what it holds cannot be read.
    pub async fn next(&mut self) -> Result<Option<ReadCase>, StoreError> {
        match &mut self.left {
            Left::Results(results) => {
                let Some((place, result)) = results.pop_front() else { return Ok(None) };
                let result = rehearsal_core::json::text(&result);
                let sessions = of_rows(self.store, &result).await?;
                Ok(Some(ReadCase { place, result, sessions }))
            }
            Left::Blocks { order, early, after } => {
                while let Some(key) = order.front() {
                    if let Some(case) = early.remove(key) {
                        order.pop_front();
                        return of_block(self.store, &self.run, case).await.map(Some);
                    }
                    let Some(block) = self.store.block(&self.run, *after).await? else {
                        // It was removed a moment ago.
                        order.pop_front();
                        continue;
                    };
                    *after = Some(block.number);
                    let with_key = |case: EndedCase| ((case.place, case.repeat, case.number), case);
                    early.extend(block.cases.into_iter().map(with_key));
                }
                Ok(None)
            }
        }
    }
}

impl ReadCase {
    /// The agent's session.
    pub fn main(&self) -> Option<&ReadSession> {
        self.sessions.iter().find(|session| session.part == SessionPart::Main)
    }

    /// What it came to.
    ///
    /// # Errors
    /// That cannot be read.
    pub fn read_result(&self) -> Result<CaseResult, StoreError> {
        rehearsal_core::json::from_str(&self.result)
            .map_err(|error| StoreError::Corrupt(format!("the result of a case cannot be read: {error}")))
    }
}

impl ReadSession {
    /// Its ledger. The session is the one its events name, which may be another than the store's id.
    ///
    /// # Errors
    /// The lines are no ledger.
    pub fn ledger(&self) -> Result<Ledger, StoreError> {
        let corrupt = |why: String| {
            StoreError::Corrupt(format!("the events of session `{}` are no ledger: {why}", self.id))
        };
        let lines = self.lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let events = lines.map(rehearsal_core::json::from_slice::<Arc<Event>>);
        let events = events.collect::<Result<Vec<_>, _>>().map_err(|error| corrupt(error.to_string()))?;
        let id = events.first().map_or_else(|| self.id.clone(), |event| event.session.clone());
        Ledger::from_events(id, events).map_err(|error| corrupt(error.to_string()))
    }
}

/// What stands in the run itself, each with its place: repeats of a case stand one after the other.
fn results(run: &RunRecord) -> VecDeque<(u64, Value)> {
    let results = run.result.as_ref().and_then(|result| result.get("results")).and_then(Value::as_array);
    let (mut place, mut last) = (0, None);
    let placed = results.into_iter().flatten().map(|result| {
        let repeat = result.get("repeat").and_then(Value::as_u64).unwrap_or_default();
        if last.is_some_and(|last| repeat <= last) {
            place += 1;
        }
        last = Some(repeat);
        (place, result.clone())
    });
    placed.collect()
}

/// A case of a block. Where a person played along, its sessions are kept by the event.
async fn of_block(store: &dyn Store, run: &str, case: EndedCase) -> Result<ReadCase, StoreError> {
    let EndedCase { number, place, result, sessions: kept, .. } = case;
    let mut sessions = Vec::with_capacity(kept.len());
    for session in kept {
        let part = session.head.part;
        sessions.push(ReadSession { id: session_id(run, number, part)?, part, lines: session.lines });
    }
    if sessions.is_empty() {
        sessions = of_rows(store, &result).await?;
    }
    Ok(ReadCase { place, result, sessions })
}

/// The sessions that a result names.
async fn of_rows(store: &dyn Store, result: &str) -> Result<Vec<ReadSession>, StoreError> {
    // One that cannot be read is told to whoever reads it.
    let result: Option<CaseResult> = rehearsal_core::json::from_str(result).ok();
    let mut sessions = Vec::new();
    for id in result.into_iter().flat_map(|result| result.sessions) {
        if let Some(session) = store.session(&id).await? {
            sessions.push(ReadSession { part: session.part, lines: lines(store, &id).await?, id });
        }
    }
    Ok(sessions)
}

/// The events of a session that is kept by the event, a line each.
async fn lines(store: &dyn Store, session: &SessionId) -> Result<Vec<u8>, StoreError> {
    let (mut lines, mut after) = (Vec::new(), 0);
    loop {
        let events = store.events(session, after, BATCH).await?;
        let Some(last) = events.last() else { return Ok(lines) };
        after = last.event.seq;
        for stored in &events {
            let line = rehearsal_core::json::to_vec(&*stored.event)
                .map_err(|error| StoreError::Corrupt(format!("an event cannot be written: {error}")))?;
            lines.extend_from_slice(&line);
            lines.push(b'\n');
        }
    }
}
