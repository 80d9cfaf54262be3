//! All tests of the crate, in one program: each program is linked for seconds.

mod check;
mod corpus;
mod evaluators;
mod personas_page;
mod run;
mod schema;
mod yaml;
