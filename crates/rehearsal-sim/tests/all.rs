//! All tests of the crate, in one program: each program is linked for seconds.

mod answers;
mod cases;
mod going_on;
mod people;
mod scenes;
mod shards;
mod suites;
mod watching;
