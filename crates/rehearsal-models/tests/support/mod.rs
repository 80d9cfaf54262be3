//! What the tests of this crate share.

#![allow(dead_code, reason = "each test binary uses its own part of this")]

pub(crate) mod api;
pub(crate) mod server;
