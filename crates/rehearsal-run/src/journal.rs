//! Keeping ledgers as events happen, and counting what progress shows.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use rehearsal_agent::Journal;
use rehearsal_core::{Event, EventBody, SessionId, SessionPart};
use rehearsal_sim::CaseRun;

use crate::KeptCase;

/// What a run did so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Messages of the user.
    pub turns: u64,
    /// Tokens of all models, read and written.
    pub tokens: u64,
}

impl Counts {
    /// What a run did that is over.
    pub fn of(run: &CaseRun) -> Self {
        let mut counts = Self::default();
        for ledger in run.ledgers() {
            counts.add(ledger.part(), ledger.events());
        }
        counts
    }

    fn add(&mut self, part: SessionPart, events: &[Arc<Event>]) {
        for event in events {
            match &event.body {
                EventBody::UserMessage { .. } if part == SessionPart::Main => self.turns += 1,
                EventBody::ModelResponse(response) => {
                    let usage = response.usage.unwrap_or_default();
                    self.tokens = self.tokens.saturating_add(usage.input).saturating_add(usage.output);
                }
                _ => {}
            }
        }
    }
}

/// Keeps the events of a run in the store and in a file for each session, as far as wanted, and counts them.
pub struct RunJournal {
    /// The store's place for them; nothing when the run is not kept.
    kept: Option<Arc<KeptCase>>,
    /// The files begin with this; nothing when ledgers are not written.
    stem: Option<PathBuf>,
    files: Mutex<BTreeMap<SessionId, Session>>,
    counts: Mutex<Counts>,
    tell: Box<dyn Fn(Counts) + Send + Sync>,
}

struct Session {
    part: SessionPart,
    file: Option<File>,
}

impl RunJournal {
    /// A journal that keeps events where these say, and tells the counts after each.
    pub fn new(
        kept: Option<Arc<KeptCase>>,
        stem: Option<PathBuf>,
        tell: impl Fn(Counts) + Send + Sync + 'static,
    ) -> Self {
        Self { kept, stem, files: Mutex::default(), counts: Mutex::default(), tell: Box::new(tell) }
    }

    fn write(&self, events: &[Arc<Event>]) -> io::Result<()> {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(first) = events.first() else { return Ok(()) };
        if !files.contains_key(&first.session) {
            let part = match &first.body {
                EventBody::SessionStarted(started) => started.part,
                _ => SessionPart::Main,
            };
            let file = match &self.stem {
                Some(stem) => {
                    Some(OpenOptions::new().create(true).append(true).open(ledger_path(stem, part))?)
                }
                None => None,
            };
            files.insert(first.session.clone(), Session { part, file });
        }
        let Some(session) = files.get_mut(&first.session) else { return Ok(()) };
        self.count(session.part, events);
        let Some(file) = &mut session.file else { return Ok(()) };
        let mut lines = Vec::new();
        for event in events {
            rehearsal_core::json::to_writer(&mut lines, &**event)?;
            lines.push(b'\n');
        }
        file.write_all(&lines)
    }

    fn count(&self, part: SessionPart, events: &[Arc<Event>]) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.add(part, events);
        (self.tell)(*counts);
    }
}

impl std::fmt::Debug for RunJournal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunJournal").field("stem", &self.stem).finish_non_exhaustive()
    }
}

#[async_trait]
impl Journal for RunJournal {
    async fn keep(&self, events: &[Arc<Event>]) -> io::Result<()> {
        self.write(events)?;
        match &self.kept {
            Some(kept) => kept.keep(events).await,
            None => Ok(()),
        }
    }
}

/// The file of a session's ledger.
pub fn ledger_path(stem: &Path, part: SessionPart) -> PathBuf {
    let end = match part {
        SessionPart::Main => "",
        SessionPart::User => ".user",
        SessionPart::Judge => ".judge",
    };
    let mut name = stem.file_name().unwrap_or_default().to_os_string();
    name.push(end);
    name.push(".jsonl");
    stem.with_file_name(name)
}
