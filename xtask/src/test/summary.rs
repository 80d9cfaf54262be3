//! What each step came to.

use std::fmt;
use std::io::{self, Write};
use std::time::{Duration, Instant};

use super::counts::Counts;
use crate::failure::Failure;

/// Shown as a table with the total as its last line.
#[derive(Debug, Default)]
pub(super) struct Summary {
    rows: Vec<Row>,
}

#[derive(Debug)]
struct Row {
    name: String,
    counts: Counts,
    took: Duration,
}

impl Summary {
    /// Runs a step between its header and its time. A step that could not be run has failed.
    pub(super) fn time(&mut self, name: &str, step: impl FnOnce() -> Result<Counts, Failure>) {
        println!("\n=== {name}");
        // What the step writes to stderr must not come before its header.
        drop(io::stdout().flush());
        let start = now();
        let counts = step().unwrap_or_else(|failure| {
            eprintln!("{failure}");
            Counts::of_check(false)
        });
        let row = Row { name: name.to_owned(), counts, took: now().duration_since(start) };
        println!("=== {name}: {} in {:.1} s", row.result(), row.took.as_secs_f64());
        self.rows.push(row);
    }

    pub(super) fn is_passed(&self) -> bool {
        let total = self.total();
        total.failed == 0 && total.passed > 0
    }

    fn total(&self) -> Counts {
        let mut total = Counts::default();
        self.rows.iter().for_each(|row| total.add(row.counts));
        total
    }
}

impl Row {
    fn result(&self) -> &'static str {
        if self.counts.failed == 0 { "ok" } else { "FAILED" }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for row in &self.rows {
            let Counts { passed, failed, ignored } = row.counts;
            write!(f, "{:<9} {:<6} {:>7.1} s", row.name, row.result(), row.took.as_secs_f64())?;
            write!(f, "  {passed:>5} passed {failed:>5} failed")?;
            if ignored > 0 {
                write!(f, " {ignored:>5} ignored")?;
            }
            writeln!(f)?;
        }
        let Counts { passed, failed, .. } = self.total();
        write!(f, "{passed} passed, {failed} failed")
    }
}

#[expect(clippy::disallowed_methods, reason = "how long a step took is for people; nothing depends on it")]
fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_is_the_total() {
        let mut summary = Summary::default();
        summary.time("first", || Ok(Counts { passed: 3, failed: 0, ignored: 2 }));
        assert!(summary.is_passed());
        summary.time("second", || Err(Failure::new("no such program")));
        assert!(!summary.is_passed());
        assert_eq!(summary.to_string().lines().last(), Some("3 passed, 1 failed"));
    }

    #[test]
    fn nothing_run_is_not_passed() {
        assert!(!Summary::default().is_passed());
    }
}
