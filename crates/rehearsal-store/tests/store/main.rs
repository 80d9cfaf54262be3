//! One set of behaviours, shown by every kind of store.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

#[macro_use]
mod support;

mod blocks;
mod changes;
mod crash;
mod cues;
mod gc;
mod ledgers;
mod lists;
mod opening;
mod rules;
mod runs;
mod work;
mod writing;
