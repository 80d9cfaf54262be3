//! All tests of the crate, in one program: each program is linked for seconds.

mod environment;
mod mcp;
mod remote;
mod world;
