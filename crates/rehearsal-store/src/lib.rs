//! Keeping ledgers, cues and runs: SQLite by default, PostgreSQL for teams.
//!
//! A [`Store`] keeps the ledger of every session event by event, what waits for a person ([`Cue`]), which agents are
//! known and what they are to do, and the results of runs. What it has acknowledged survives the process.
//!
//! All that happens to a session is one [`Write`]: events that follow a known last event, together with the cues they
//! open or close and the session's new status. It happens whole or not at all, and it is refused when somebody else
//! wrote first ([`StoreError::Moved`]): the writer looks again and decides again. Nobody holds a lock meanwhile.
//!
//! Cases of runs that nobody plays along with are kept in another form: as a [`Draft`] while they go on, and in a
//! compressed [`Block`] with others when they have ended. Who reads them sees no difference.

mod block;
mod content;
mod db;
mod error;
mod gc;
mod kept;
mod lease;
mod ledger;
mod ops;
#[cfg(feature = "postgres")]
mod postgres;
mod record;
mod rules;
mod sqlite;
mod store;
mod truncate;
mod word;

pub use block::{Block, Draft, EndedCase, SessionHead, SessionLines, session_id};
pub use error::StoreError;
pub use gc::{GcPolicy, fold, give_back};
pub use lease::{CUE_GRACE, RUN_GONE_AFTER, RUN_SILENT_AFTER};
pub use ledger::{event_id, import_ledger, new_id, read_ledger};
pub use ops::{FreeNumbers, KeptResult, LastSeen, check_line};
pub use record::{
    AgentRecord, Change, Cue, CueChange, CueId, CueKind, CueQuery, CueStatus, Host, NewCue, NewEvent,
    NewSession, NewWork, Page, Payload, Recipe, RunAbout, RunLife, RunProcess, RunQuery, RunRecord,
    RunStatus, RunWish, SessionQuery, SessionRecord, SessionSource, SessionStatus, StoredEvent, Work,
    WorkKind, WorkOutcome, Write,
};
pub use store::{Store, StoreRef, file_of, open};
pub use truncate::{LONG, beginning};
