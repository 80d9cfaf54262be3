//! The ledger as a file: JSON Lines, an event a line.

use std::io::{self, BufRead, Write};
use std::sync::Arc;

use crate::{Event, EventBody, Inconsistent, Ledger, SessionId};

impl Ledger {
    /// The ledger as JSON Lines, an event a line.
    pub fn to_jsonl(&self) -> String {
        let mut bytes = Vec::new();
        let written = self.write_to(&mut bytes).map(|()| String::from_utf8(bytes));
        match written {
            Ok(Ok(text)) => text,
            _ => unreachable!("memory takes everything, and JSON is UTF-8"),
        }
    }

    /// Writes the ledger as JSON Lines.
    ///
    /// # Errors
    /// The writer fails.
    pub fn write_to(&self, mut writer: impl Write) -> io::Result<()> {
        for event in self.events.iter() {
            crate::json::to_writer(&mut writer, event)?;
            writer.write_all(b"\n")?;
        }
        Ok(())
    }

    /// Reads a ledger from JSON Lines.
    ///
    /// # Errors
    /// A line is not an event, or contradicts the lines before it.
    pub fn from_jsonl(text: &str) -> Result<Self, ReadLedgerError> {
        Self::read_from(text.as_bytes())
    }

    /// Reads a ledger from JSON Lines.
    ///
    /// # Errors
    /// The reader fails, a line is not an event, or a line contradicts the lines before it.
    pub fn read_from(reader: impl BufRead) -> Result<Self, ReadLedgerError> {
        let mut ledger: Option<Self> = None;
        for (index, line) in reader.lines().enumerate() {
            let number = index + 1;
            let line = line.map_err(|source| ReadLedgerError::Read { line: number, source })?;
            if line.trim().is_empty() {
                continue;
            }
            let event: Event = crate::json::from_str(&line).map_err(|source| {
                if source.is_eof() {
                    ReadLedgerError::Torn { line: number }
                } else {
                    ReadLedgerError::Line { line: number, source }
                }
            })?;
            ledger
                .get_or_insert_with(|| Self::new(event.session.clone()))
                .take_kept(Arc::new(event), number)?;
        }
        ledger.ok_or(ReadLedgerError::Empty)
    }

    /// Appends an event that was written before, with its number.
    pub(super) fn take_kept(&mut self, event: Arc<Event>, line: usize) -> Result<(), ReadLedgerError> {
        if let EventBody::SessionStarted(started) = &event.body
            && started.version > crate::LEDGER_VERSION
        {
            return Err(ReadLedgerError::Version { found: started.version });
        }
        let expected = self.events.last().map_or(1, |last| last.seq + 1);
        if event.seq != expected || event.session != self.session {
            return Err(ReadLedgerError::Order { line, expected, session: self.session.clone() });
        }
        self.push(event).map(drop).map_err(|source| ReadLedgerError::Inconsistent { line, source })
    }
}

/// A ledger file that cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadLedgerError {
    /// The file cannot be read.
    #[error("cannot read line {line}")]
    Read {
        /// The line, from 1.
        line: usize,
        /// Why.
        source: io::Error,
    },
    /// A line is not an event.
    #[error("line {line} is not an event")]
    Line {
        /// The line, from 1.
        line: usize,
        /// Why.
        source: serde_json::Error,
    },
    /// The last line was not written whole.
    #[error("line {line} ends too early; remove it to go on from the event before")]
    Torn {
        /// The line, from 1.
        line: usize,
    },
    /// Event numbers and the session do not go on from the line before.
    #[error("line {line} should be event {expected} of session {session}")]
    Order {
        /// The line, from 1.
        line: usize,
        /// The number it should have.
        expected: u64,
        /// The session it should belong to.
        session: SessionId,
    },
    /// A line contradicts those before it.
    #[error("line {line} contradicts the lines before it")]
    Inconsistent {
        /// The line, from 1.
        line: usize,
        /// How.
        source: Inconsistent,
    },
    /// The file was written by a later version.
    #[error("the ledger has version {found}, this program reads up to {}; update it", crate::LEDGER_VERSION)]
    Version {
        /// Its version.
        found: u32,
    },
    /// There is no event in it.
    #[error("the ledger is empty")]
    Empty,
}
