//! All tests of the crate, in one program: each program is linked for seconds.

mod faults;
mod prop_wire;
mod recording;
mod script;
mod sdk_oracle;
#[expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod support;
mod wire_golden;
mod wire_rules;
