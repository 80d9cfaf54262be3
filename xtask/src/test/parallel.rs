//! Programs that run in parallel, the output of each shown whole when it has ended.

use std::io::{self, Write};
use std::process::{Command, ExitStatus};
use std::sync::Mutex;
use std::thread;

use super::counts::Counts;
use crate::child;
use crate::failure::Failure;

/// A program and how its outcome is counted.
#[derive(Debug)]
pub(super) struct Job {
    title: &'static str,
    command: Command,
    count: fn(ExitStatus, &str) -> Counts,
}

impl Job {
    /// A program that has no tests of its own to count.
    pub(super) fn check(title: &'static str, command: Command) -> Self {
        Self { title, command, count: |status, _| Counts::of_check(status.success()) }
    }

    /// A program that ends with pytest's last line.
    pub(super) fn pytest(title: &'static str, command: Command) -> Self {
        let count = |status: ExitStatus, said: &str| {
            let counts = said.lines().rev().find_map(Counts::parse_pytest);
            counts.unwrap_or_default().of_program(status.success())
        };
        Self { title, command, count }
    }

    fn run(mut self, out: &Mutex<()>) -> Counts {
        let outcome = child::capture(&mut self.command);
        let _turn = out.lock();
        match outcome {
            Ok((status, said)) => {
                let counts = (self.count)(status, &said);
                say(self.title, &said);
                counts
            }
            Err(failure) => {
                say(self.title, &failure.to_string());
                Counts::of_check(false)
            }
        }
    }
}

/// Runs the lanes side by side, and the programs of each lane one after another, to the end of all.
pub(super) fn run(lanes: Vec<Vec<Job>>) -> Result<Counts, Failure> {
    let out = Mutex::new(());
    let mut sum = Counts::default();
    let ended = thread::scope(|scope| {
        let lanes: Vec<_> = lanes
            .into_iter()
            .map(|lane| scope.spawn(|| lane.into_iter().map(|job| job.run(&out)).collect::<Vec<_>>()))
            .collect();
        lanes.into_iter().map(thread::ScopedJoinHandle::join).collect::<Vec<_>>()
    });
    for lane in ended {
        let counts = lane.map_err(|_| Failure::new("a thread of this chore panicked"))?;
        for each in counts {
            sum.add(each);
        }
    }
    Ok(sum)
}

fn say(title: &str, said: &str) {
    println!("--- {title}\n{}", said.trim_end());
    drop(io::stdout().flush());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn every_lane_runs_to_its_end_and_counts() {
        let counts = run(vec![
            vec![Job::check("bad", shell("exit 1")), Job::check("good", shell("true"))],
            vec![Job::pytest("tests", shell("echo noise; echo '== 2 failed, 5 passed in 0.10s =='; exit 1"))],
            vec![Job::pytest("dead", shell("echo Segmentation fault >&2; exit 139"))],
            vec![Job::check("missing", Command::new("/nowhere/at/all"))],
        ]);
        assert_eq!(counts.unwrap(), Counts { passed: 6, failed: 5, ignored: 0 });
    }

    #[test]
    fn both_outputs_are_captured() {
        let (status, said) = child::capture(&mut shell("echo one; echo two >&2; exit 3")).unwrap();
        assert_eq!((status.code(), said.as_str()), (Some(3), "one\ntwo\n"));
    }
}
