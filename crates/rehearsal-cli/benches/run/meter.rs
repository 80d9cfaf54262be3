//! What finished child processes have used, as the kernel counts it.

use std::fs;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The kernel counts these in a second.
const TICKS: f64 = 100.0;

/// How often the memory of a child is looked at.
const LOOK: Duration = Duration::from_millis(10);

/// What a child process took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Taken {
    pub(crate) wall: Duration,
    /// Seconds on a core: to a hundredth, or finer where the kernel tells so.
    pub(crate) cpu: f64,
    /// The most memory that it held, in megabytes.
    pub(crate) peak: f64,
}

/// Runs a program to its end; it must succeed.
pub(crate) fn run(command: &mut Command) -> Taken {
    let before = children();
    #[expect(clippy::disallowed_methods, reason = "a benchmark measures real time")]
    let began = Instant::now();
    let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().expect("the program can be started");
    let (id, over) = (child.id(), AtomicBool::new(false));
    let (output, wall, peak) = std::thread::scope(|scope| {
        let looking = scope.spawn(|| {
            let mut peak = 0.0_f64;
            while !over.load(Ordering::Relaxed) {
                peak = peak.max(memory(id));
                std::thread::sleep(LOOK);
            }
            peak
        });
        let output = child.wait_with_output().expect("it can be waited for");
        let wall = began.elapsed();
        over.store(true, Ordering::Relaxed);
        (output, wall, looking.join().expect("looking does not fail"))
    });
    assert!(output.status.success(), "{command:?} failed: {}", String::from_utf8_lossy(&output.stderr));
    Taken { wall, cpu: children() - before, peak }
}

/// The seconds that children which have been waited for were on a core.
fn children() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").expect("this benchmark reads Linux's /proc");
    let after_name = stat.rsplit_once(')').expect("the name stands in parentheses").1;
    let fields: Vec<&str> = after_name.split_whitespace().collect();
    let ticks = |at: usize| fields[at].parse::<f64>().expect("the kernel writes numbers");
    (ticks(13) + ticks(14)) / TICKS
}

/// The most memory that a process has held so far, in megabytes; nothing once it is gone.
fn memory(process: u32) -> f64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<f64>().ok());
    kilobytes.unwrap_or_default() / 1024.0
}

/// The middle one.
pub(crate) fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// The middle of each figure; of the CPU the mean, since it is counted in steps.
pub(crate) fn median_of(taken: Vec<Taken>) -> Taken {
    #[expect(clippy::cast_precision_loss, reason = "a few rounds")]
    let cpu = taken.iter().map(|one| one.cpu).sum::<f64>() / taken.len() as f64;
    let peak = taken.iter().map(|one| one.peak).fold(0.0, f64::max);
    Taken { wall: median(taken.into_iter().map(|one| one.wall).collect()), cpu, peak }
}
