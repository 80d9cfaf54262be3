//! Metrics of one's own: one that asks elsewhere, and one that ends a case while it runs.
//!
//! `cargo run --release --example metrics` shows a case that passes and two that do not.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use rehearsal::prelude::*;

use crate::cases::{TokenBudget, refund};

mod cases;

#[tokio::main]
async fn main() {
    for (title, case) in [
        ("the books agree", refund(23.5, TokenBudget { most: 2_000 })),
        ("the bank has booked something else", refund(2.35, TokenBudget { most: 2_000 })),
        ("the budget ends the case before the refund", refund(23.5, TokenBudget { most: 400 })),
    ] {
        println!("── {title}\n{}\n", case.run(&RunOptions::default()).await);
    }
}
