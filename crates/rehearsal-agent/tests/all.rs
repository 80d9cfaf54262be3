//! All tests of the crate, in one program: each program is linked for seconds.

mod agents;
mod prop_resume;
mod resume;
#[expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod support;
