//! How fast the engine is: `cargo xtask bench engine`.
//!
//! The machine may be shared and noisy, so nothing here is a test: each figure stands beside what it should be
//! compared with, measured in the same run.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::process::ExitCode;
use std::time::{Duration, Instant};

mod meter;
mod parked;
mod server;
mod turns;
mod waiting;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    match args.first().map(String::as_str) {
        None => {
            turns::measure();
            parked::measure();
            waiting::measure();
            ExitCode::SUCCESS
        }
        Some(name) => {
            let measure = match name {
                "turns" => turns::measure,
                "parked" => parked::measure,
                "waiting" => waiting::measure,
                "serve" => server::serve,
                other => {
                    println!("unknown measurement `{other}`; the measurements are: turns, parked, waiting");
                    return ExitCode::from(2);
                }
            };
            measure();
            ExitCode::SUCCESS
        }
    }
}

/// How long something takes by the clock on the wall.
fn wall<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    #[expect(clippy::disallowed_methods, reason = "a benchmark measures real time")]
    let began = Instant::now();
    let result = work();
    (result, began.elapsed())
}
