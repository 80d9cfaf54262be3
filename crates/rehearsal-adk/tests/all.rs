//! All tests of the crate, in one program: each program is linked for seconds.

mod append;
mod export;
mod import;
mod prop;
mod run;
