//! What the figures were measured on.

use std::fs::{self, File};
use std::io::Write as _;
use std::time::Duration;

use crate::figures::now;

/// Where the benchmark keeps its files: beside what cargo builds, which is on a disk. `/tmp` may be in memory.
pub(crate) fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder can be made")
}

pub(crate) fn print() {
    let cores = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    let about = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = about.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let model = model.map_or("of a kind unknown", |(_, model)| model);
    let flush = flush().as_secs_f64() * 1000.0;
    println!(
        "machine: {cores} cores ({model}), shared by the server and its callers; a flush takes {flush:.2} ms"
    );
    // Whatever else runs takes its share of the cores, and shows in every time below.
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().unwrap_or("unknown");
    println!("load of the last minute: {load}");
}

/// The middle of the times the disk takes to keep a page.
fn flush() -> Duration {
    const ROUNDS: usize = 51;
    let folder = folder();
    let mut file = File::create(folder.path().join("page")).expect("a file can be made");
    let mut times: Vec<Duration> = (0..ROUNDS)
        .map(|_| {
            let began = now();
            file.write_all(&[7; 4096]).and_then(|()| file.sync_data()).expect("the disk takes a page");
            began.elapsed()
        })
        .collect();
    times.sort();
    times[ROUNDS / 2]
}
