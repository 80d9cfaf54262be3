//! All tests of the crate, in one program: each program is linked for seconds.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

mod merges;
