//! A run of a suite that is kept.
//!
//! [`KeptRun`] writes the ledgers of a run into the store as they grow, and brings what people are asked to those who
//! answer there. [`RunJournal`] is what a case writes to: the store, the files of an [`OutFolder`], or both; it counts
//! what a progress line shows. Nothing here knows a server.

mod journal;
mod kept_run;
mod out;

pub use journal::{Counts, RunJournal, ledger_path};
pub use kept_run::{KeptCase, KeptRun};
pub use out::{OutFolder, OutFolderError, Stems};
