//! How fast `rehearse` is: `cargo xtask bench run`.
//!
//! The machine may be shared and noisy, so nothing here is a test: each figure stands beside what it should be
//! compared with, measured in the same run.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::process::ExitCode;

mod bare;
mod conversations;
mod meter;
mod server;
mod start;
mod world;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        [] => {
            start::measure();
            conversations::measure();
            world::measure();
        }
        ["start"] => start::measure(),
        ["world"] => world::measure(),
        ["conversations"] => conversations::measure(),
        ["serve", record] => server::serve(record),
        ["bare", url, bodies] => bare::call(url, bodies),
        _ => {
            println!("the measurements are: start, conversations, world");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}
