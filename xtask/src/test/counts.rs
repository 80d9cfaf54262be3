//! How many tests passed and failed, as test programs say it.

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) passed: usize,
    pub(super) failed: usize,
    pub(super) ignored: usize,
}

impl Counts {
    pub(super) fn of_check(passed: bool) -> Self {
        if passed { Self { passed: 1, ..Self::default() } } else { Self { failed: 1, ..Self::default() } }
    }

    pub(super) fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.ignored += other.ignored;
    }

    /// The counts of a program that ended. One that fails, or dies, may end without a line to count; and a run
    /// that finds no test to run has shown nothing.
    pub(super) fn of_program(self, succeeded: bool) -> Self {
        let failed = if succeeded && self.passed > 0 { self.failed } else { self.failed.max(1) };
        Self { failed, ..self }
    }

    /// Reads the line with which a Rust test program ends: `test result: ok. 3 passed; 0 failed; 1 ignored; …`.
    pub(super) fn parse_rust(line: &str) -> Option<Self> {
        let line = without_colour(line);
        let (_, counts) = line.strip_prefix("test result: ")?.split_once(". ")?;
        Self::sum(counts.split(';'))
    }

    /// Reads the line with which pytest ends: `== 1 failed, 3 passed, 1 skipped, 2 errors in 0.12s ==`.
    pub(super) fn parse_pytest(line: &str) -> Option<Self> {
        let line = without_colour(line);
        let (counts, took) = line.trim().trim_matches('=').trim().rsplit_once(" in ")?;
        // Longer runs add ` (0:01:02)`.
        let seconds = took.split(' ').next()?.strip_suffix('s')?;
        seconds.parse::<f64>().ok()?;
        Self::sum(counts.split(','))
    }

    /// Reads the line with which vitest ends: `      Tests  1 failed | 3 passed (4)`.
    pub(super) fn parse_vitest(line: &str) -> Option<Self> {
        let line = without_colour(line);
        let counts = line.trim().strip_prefix("Tests ")?;
        Self::sum(counts.rsplit_once('(')?.0.split('|'))
    }

    /// Reads one of the lines with which Playwright ends: `  3 passed (1.2m)`, `  1 failed`, `  2 did not run`.
    pub(super) fn parse_playwright(line: &str) -> Option<Self> {
        let line = without_colour(line);
        let mut words = line.trim().split(' ');
        let count = words.next()?.parse::<usize>().ok()?;
        match (words.next()?, words.next()) {
            ("passed", Some(took)) if took.starts_with('(') => {
                Some(Self { passed: count, ..Self::default() })
            }
            ("failed" | "interrupted" | "flaky", None) | ("did", Some("not")) => {
                Some(Self { failed: count, ..Self::default() })
            }
            ("skipped", None) => Some(Self { ignored: count, ..Self::default() }),
            _ => None,
        }
    }

    /// Adds up parts such as `3 passed`. `None` where one is not a number and a word.
    fn sum<'a>(parts: impl Iterator<Item = &'a str>) -> Option<Self> {
        let mut sum = Self::default();
        for part in parts {
            let part = part.trim();
            if part == "no tests ran" {
                continue;
            }
            let (count, word) = part.split_once(' ')?;
            match word {
                "passed" => sum.passed += count.parse::<usize>().ok()?,
                "failed" | "error" | "errors" => sum.failed += count.parse::<usize>().ok()?,
                "ignored" | "skipped" | "xfailed" => sum.ignored += count.parse::<usize>().ok()?,
                _ => {}
            }
        }
        Some(sum)
    }
}

/// The line without the escape sequences that a test program writes when it is told to use colour.
fn without_colour(line: &str) -> String {
    let mut parts = line.split('\x1b');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |plain, part| {
        let end = part.find(|each: char| each.is_ascii_alphabetic()).map_or(part.len(), |at| at + 1);
        plain + &part[end..]
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(passed: usize, failed: usize, ignored: usize) -> Counts {
        Counts { passed, failed, ignored }
    }

    #[test]
    fn counts_are_read_from_the_last_line_of_a_rust_test_program() {
        for (line, expected) in [
            (
                "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 3 filtered out; finished in 0.01s\n",
                Some(counts(12, 0, 1)),
            ),
            (
                "test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out\n",
                Some(counts(1, 2, 0)),
            ),
            ("test result: \x1b[32mok\x1b[m. 4 passed; 0 failed; 0 ignored\n", Some(counts(4, 0, 0))),
            ("test result::parses ... ok\n", None),
            ("running 12 tests\n", None),
        ] {
            assert_eq!(Counts::parse_rust(line), expected, "{line}");
        }
    }

    #[test]
    fn counts_are_read_from_the_last_line_of_pytest() {
        for (line, expected) in [
            ("===== 9 passed in 0.68s =====\n", Some(counts(9, 0, 0))),
            ("== 1 failed, 3 passed, 1 skipped, 2 errors in 0.12s ==\n", Some(counts(3, 3, 1))),
            ("= 2 passed, 1 xfailed, 1 warning in 72.10s (0:01:12) =\n", Some(counts(2, 0, 1))),
            ("\x1b[32m===== \x1b[1m4 passed\x1b[0m\x1b[32m in 1.25s\x1b[0m =====\n", Some(counts(4, 0, 0))),
            ("9 passed in 0.68s\n", Some(counts(9, 0, 0))),
            ("===== no tests ran in 0.01s =====\n", Some(counts(0, 0, 0))),
            ("tests/test_forms.py .........        [100%]\n", None),
            ("2 passed in review\n", None),
            ("=== short test summary info ===\n", None),
        ] {
            assert_eq!(Counts::parse_pytest(line), expected, "{line}");
        }
    }

    #[test]
    fn counts_are_read_from_the_last_lines_of_vitest_and_playwright() {
        assert_eq!(Counts::parse_vitest("      Tests  1 failed | 92 passed (93)"), Some(counts(92, 1, 0)));
        assert_eq!(Counts::parse_vitest("      Tests  31 passed (31)"), Some(counts(31, 0, 0)));
        assert_eq!(Counts::parse_vitest(" Test Files  9 passed (9)"), None);
        for (line, expected) in [
            ("  42 passed (3.1m)", Some(counts(42, 0, 0))),
            ("  1 failed", Some(counts(0, 1, 0))),
            ("  2 did not run", Some(counts(0, 2, 0))),
            ("  1 flaky", Some(counts(0, 1, 0))),
            ("  1 skipped", Some(counts(0, 0, 1))),
            ("  1 passed by", None),
            ("Running 42 tests using 1 worker", None),
        ] {
            assert_eq!(Counts::parse_playwright(line), expected, "{line}");
        }
    }

    #[test]
    fn a_program_that_shows_nothing_has_failed() {
        let of = |passed, failed, succeeded| {
            Counts { passed, failed, ignored: 0 }.of_program(succeeded)
                == Counts { passed, failed, ignored: 0 }
        };
        assert!(of(3, 0, true));
        assert!(of(3, 2, false));
        assert!(!of(3, 0, false), "it failed without saying which test");
        assert!(!of(0, 0, true), "it ran no test");
    }
}
