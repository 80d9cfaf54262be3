//! All tests of the crate, in one program: each program is linked for seconds.

mod metrics;
mod readme;
#[cfg(feature = "scenario")]
mod scenario;
mod triage;
