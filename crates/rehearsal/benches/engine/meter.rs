//! What the process has used so far, as the kernel counts it.

use std::fs;
use std::time::Duration;

/// The time all threads were on a core.
pub(crate) fn cpu() -> Duration {
    let threads = fs::read_dir("/proc/self/task").expect("this benchmark reads Linux's /proc");
    let nanos = threads.filter_map(|thread| {
        let text = fs::read_to_string(thread.ok()?.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<u64>().ok()
    });
    Duration::from_nanos(nanos.sum())
}

/// The memory that is really there, in bytes.
pub(crate) fn memory() -> usize {
    let status = fs::read_to_string("/proc/self/status").expect("this benchmark reads Linux's /proc");
    let line = status
        .lines()
        .find(|line| line.starts_with("VmRSS:"))
        .expect("the kernel says how much memory is used");
    line.split_whitespace().nth(1).and_then(|kib| kib.parse::<usize>().ok()).map_or(0, |kib| kib * 1024)
}
