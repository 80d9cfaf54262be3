//! All tests of the crate, in one program: each program is linked for seconds.

mod corpus;
mod events_page;
mod ledger;
mod prop_ledger;
mod prop_mask;
mod query;
mod query_oracle;
mod results;
