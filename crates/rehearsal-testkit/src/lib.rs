//! Scripted models, ledger builders and other help for the project's own tests.
//!
//! Start from [`ledger`], which turns a one-line description into the ledger of a session.

mod ledger;
pub mod postgres;

pub use ledger::ledger;
