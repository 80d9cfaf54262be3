//! The command line, as people use it: one program for all of its tests, since each is linked for seconds.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

mod agents;
mod away;
mod benchmarks;
mod check;
mod checks;
mod clock;
mod elizaos;
mod eval;
mod examples;
mod floods;
mod forms;
mod hostile;
mod init;
mod interrupt;
mod kept;
mod limits;
mod malformed;
mod mistakes;
mod mocks;
mod model_slips;
mod numbers;
mod people;
mod progress;
mod project;
mod recipe;
mod record;
mod resume;
mod rows;
mod run;
mod runners;
mod schema;
mod score;
mod secrets;
mod shards;
mod shell;
mod slips;
mod strangers;
#[path = "../support/mod.rs"]
mod support;
mod verdicts;
mod worlds;
