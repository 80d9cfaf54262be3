//! A run of a suite that is kept.
//!
//! A [`Driver`] runs the cases of a suite and gives the result of the run. [`KeptRun`] writes their ledgers into the store
//! as they grow, and brings what people are asked to those who answer there: its [`Audience`]. [`RunJournal`] is what a
//! case writes to: the store, the files of an [`OutFolder`], or both. How far a run is, it tells to a [`Watch`], and
//! through the store to others, who can hold and end it. [`KeptCases`] reads its
//! cases again. Nothing here knows a server or a terminal.

mod archive;
mod audience;
mod cases;
mod driver;
mod gauge;
mod journal;
mod kept_run;
mod merge;
mod out;
mod reins;
mod resume;
mod split;

pub use audience::Audience;
pub use cases::{KeptCases, ReadCase, ReadSession};
pub use driver::{CallsNow, CaseKey, Describe, Driver, Earlier, Outlet, Plan, Watch};
pub use journal::{Counts, RunJournal, ledger_path};
pub use kept_run::{KeptCase, KeptRun};
pub use merge::{Joined, Merge, MergeError, PartRun, Source, title_of_part};
pub use out::{OutFolder, OutFolderError, Stems};
pub use resume::{Known, Replay, Results, ResumeError, as_it_ran, has_ended, read_result};
pub use split::{PlannedTurns, Split, SplitError};
