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

use conversations::Size;
use server::Serving;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["start"] => start::measure(),
        ["world"] => world::measure(),
        ["serve", latency, varied] => {
            let latency_ms = latency.parse().unwrap_or_default();
            server::serve(Serving { latency_ms, varied: *varied == "true" });
        }
        ["bare", url, conversations, jobs] => {
            let number = |text: &str| text.parse().unwrap_or_default();
            bare::call(url, number(conversations), number(jobs));
        }
        words => {
            let size = words.strip_prefix(&["conversations"]).unwrap_or(words);
            let Some(size) = Size::of(size) else {
                println!(
                    "the measurements are: start, conversations [--full | COUNT], world; or all of them"
                );
                return ExitCode::from(2);
            };
            if args.is_empty() {
                start::measure();
            }
            conversations::measure(size);
            if args.is_empty() {
                world::measure();
            }
        }
    }
    ExitCode::SUCCESS
}
