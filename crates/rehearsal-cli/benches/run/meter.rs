//! What finished child processes have used, as the kernel counts it.

use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The kernel counts these in a second.
const TICKS: f64 = 100.0;

/// What a child process took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Taken {
    pub(crate) wall: Duration,
    /// Seconds on a core, to a hundredth.
    pub(crate) cpu: f64,
}

/// Runs a program to its end; it must succeed.
pub(crate) fn run(command: &mut Command) -> Taken {
    let before = children();
    #[expect(clippy::disallowed_methods, reason = "a benchmark measures real time")]
    let began = Instant::now();
    let output = command.stdin(Stdio::null()).output().expect("the program can be started");
    let wall = began.elapsed();
    assert!(output.status.success(), "{command:?} failed: {}", String::from_utf8_lossy(&output.stderr));
    Taken { wall, cpu: children() - before }
}

/// The seconds that children which have been waited for were on a core.
fn children() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").expect("this benchmark reads Linux's /proc");
    let after_name = stat.rsplit_once(')').expect("the name stands in parentheses").1;
    let fields: Vec<&str> = after_name.split_whitespace().collect();
    let ticks = |at: usize| fields[at].parse::<f64>().expect("the kernel writes numbers");
    (ticks(13) + ticks(14)) / TICKS
}

/// The middle one.
pub(crate) fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}
