//! What repeats of a case say together.

use rehearsal_core::{RepeatStatistics, Verdict};

/// The quantile of the normal distribution that gives a 95 % interval.
pub const Z_95: f64 = 1.96;

/// The chance that at least one of `k` runs passes, from `n` runs of which `c` passed.
///
/// The unbiased estimate 1 − C(n−c, k) / C(n, k). Nothing when more runs passed than ran, or when `k` is more
/// than the runs there are: `n` runs say nothing unbiased about `n + 1`.
///
/// ```
/// use rehearsal_metrics::pass_at_k;
///
/// assert_eq!(pass_at_k(4, 2, 1), Some(0.5));
/// assert_eq!(pass_at_k(4, 2, 3), Some(1.0));
/// assert_eq!(pass_at_k(4, 2, 5), None);
/// ```
pub fn pass_at_k(n: u32, c: u32, k: u32) -> Option<f64> {
    let failed = n.checked_sub(c)?;
    Some(1.0 - shares(n, failed).nth(k as usize)?)
}

/// The chance that all of `k` runs pass, from `n` runs of which `c` passed.
///
/// The unbiased estimate C(c, k) / C(n, k). Nothing in the same cases as [`pass_at_k`].
///
/// ```
/// use rehearsal_metrics::pass_hat_k;
///
/// assert_eq!(pass_hat_k(4, 2, 1), Some(0.5));
/// assert_eq!(pass_hat_k(4, 2, 3), Some(0.0));
/// ```
pub fn pass_hat_k(n: u32, c: u32, k: u32) -> Option<f64> {
    n.checked_sub(c)?;
    shares(n, c).nth(k as usize)
}

/// The Wilson score interval of a pass rate; [`Z_95`] is the `z` of a 95 % interval.
///
/// Unlike the usual interval it stays within 0 and 1 and is honest about few runs: one pass in one run leaves
/// the rate anywhere from 0.21 up. No runs say nothing, which is the interval from 0 to 1; more passes than runs
/// count as all passed.
///
/// ```
/// let (low, high) = rehearsal_metrics::wilson(1, 1, rehearsal_metrics::Z_95);
/// assert!(low > 0.20 && low < 0.21 && high == 1.0);
/// ```
pub fn wilson(passed: u32, runs: u32, z: f64) -> (f64, f64) {
    if runs == 0 {
        return (0.0, 1.0);
    }
    let n = f64::from(runs);
    let rate = f64::from(passed.min(runs)) / n;
    let square = z * z;
    let scale = 1.0 + square / n;
    let centre = (rate + square / (2.0 * n)) / scale;
    let half = z / scale * (rate * (1.0 - rate) / n + square / (4.0 * n * n)).sqrt();
    // At the ends the exact bound is 0 or 1; rounding must not pull it away.
    let low = if passed == 0 { 0.0 } else { (centre - half).max(0.0) };
    let high = if passed >= runs { 1.0 } else { (centre + half).min(1.0) };
    (low, high)
}

/// What the runs of one case say together.
///
/// Only [`Verdict::Passed`] counts as passed: a run that ended in an error or ran into a limit is a run that did
/// not pass.
///
/// ```
/// use rehearsal_core::Verdict::{Error, Passed};
///
/// let statistics = rehearsal_metrics::repeat_statistics("triage", &[Passed, Error, Passed, Passed]);
/// assert_eq!((statistics.passed, statistics.runs), (3, 4));
/// assert_eq!(statistics.pass_at_k, [0.75, 1.0, 1.0, 1.0]);
/// assert_eq!(statistics.pass_hat_k, [0.75, 0.5, 0.25, 0.0]);
/// ```
///
/// # Panics
/// There are more than `u32::MAX` verdicts.
pub fn repeat_statistics(name: impl Into<String>, verdicts: &[Verdict]) -> RepeatStatistics {
    let runs = u32::try_from(verdicts.len()).expect("a case is repeated less than four billion times");
    let failed = verdicts.iter().map(|verdict| u32::from(*verdict != Verdict::Passed)).sum();
    let passed = runs - failed;
    RepeatStatistics {
        name: name.into(),
        runs,
        wanted: None,
        passed,
        pass_at_k: shares(runs, failed).skip(1).map(|share| 1.0 - share).collect(),
        pass_hat_k: shares(runs, passed).skip(1).collect(),
        wilson: wilson(passed, runs, Z_95),
    }
}

/// C(m, k) / C(n, k) for k from 0 to n: the share of all choices of k out of n that lie within m of them.
///
/// As a product of k fractions it needs no large numbers and its error grows with k alone, below 10⁻¹¹ of the
/// value for 10,000 runs.
fn shares(n: u32, m: u32) -> impl Iterator<Item = f64> {
    let mut share = 1.0;
    std::iter::once(1.0).chain((0..n).map(move |i| {
        share *= f64::from(m.saturating_sub(i)) / f64::from(n - i);
        share
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, exact: f64) {
        assert!((found - exact).abs() <= 1e-11 * exact.abs(), "{found} is not {exact}");
    }

    /// C(n, k) in whole numbers, small enough for these tests.
    fn choose(n: u32, k: u32) -> u128 {
        (0..k).fold(1, |product, i| product * u128::from(n.saturating_sub(i)) / u128::from(i + 1))
    }

    #[test]
    fn small_cases_are_those_of_whole_numbers() {
        for n in 0..=20 {
            for c in 0..=n {
                for k in 0..=n {
                    #[expect(clippy::cast_precision_loss, reason = "C(20, 10) is far below 2^53")]
                    let share = |m| choose(m, k) as f64 / choose(n, k) as f64;
                    let at = pass_at_k(n, c, k).unwrap();
                    assert!((at - (1.0 - share(n - c))).abs() < 1e-14, "{n} {c} {k}");
                    close(pass_hat_k(n, c, k).unwrap(), share(c));
                }
            }
        }
    }

    /// Exact values from fractions of whole numbers.
    #[test]
    #[expect(clippy::unreadable_literal, reason = "the digits are as Python printed them")]
    fn ten_thousand_runs_are_still_exact() {
        for (c, k, at, hat) in [
            (1, 1, 0.0001, 0.0001),
            (3, 5000, 0.875037503750375, 0.0),
            (5000, 10, 0.9990278263190201, 0.0009721736809799328),
            (9990, 1000, 1.0, 0.34850402787925533),
            (7, 2, 0.0013995799579957996, 4.2004200420042e-07),
            (9999, 9999, 1.0, 0.0001),
            (2000, 30, 0.9987754791576956, 9.013290238060772e-22),
        ] {
            close(pass_at_k(10_000, c, k).unwrap(), at);
            close(pass_hat_k(10_000, c, k).unwrap(), hat);
        }
    }

    #[test]
    fn what_cannot_be_estimated_is_nothing() {
        assert_eq!((pass_at_k(3, 4, 1), pass_hat_k(3, 4, 1)), (None, None));
        assert_eq!((pass_at_k(3, 3, 4), pass_hat_k(3, 3, 4)), (None, None));
        assert_eq!((pass_at_k(0, 0, 0), pass_hat_k(0, 0, 0)), (Some(0.0), Some(1.0)));
    }

    #[test]
    #[expect(clippy::unreadable_literal, reason = "the digits are as Python printed them")]
    fn the_wilson_interval_is_that_of_the_formula() {
        for (passed, runs, low, high) in [
            (0, 10, 0.0, 0.2775401687666166),
            (10, 10, 0.7224598312333834, 1.0),
            (5, 10, 0.23658959361548731, 0.7634104063845126),
            (1, 1, 0.2065432914738929, 1.0),
            (8, 10, 0.49015684672072335, 0.9433190520193067),
            (50, 100, 0.40382982859014716, 0.5961701714098528),
        ] {
            let found = wilson(passed, runs, Z_95);
            assert!(
                (found.0 - low).abs() < 1e-12 && (found.1 - high).abs() < 1e-12,
                "{passed}/{runs}: {found:?}"
            );
        }
        assert_eq!(wilson(0, 0, Z_95), (0.0, 1.0));
        assert_eq!(wilson(7, 5, Z_95), wilson(5, 5, Z_95));
    }

    #[test]
    fn statistics_of_repeats_agree_with_the_single_functions() {
        let verdicts =
            [Verdict::Passed, Verdict::Failed, Verdict::Terminated, Verdict::Unjudged, Verdict::Passed];
        let statistics = repeat_statistics("case", &verdicts);
        assert_eq!((statistics.passed, statistics.runs), (2, 5));
        for k in 1..=5 {
            assert_eq!(Some(statistics.pass_at_k[k as usize - 1]), pass_at_k(5, 2, k));
            assert_eq!(Some(statistics.pass_hat_k[k as usize - 1]), pass_hat_k(5, 2, k));
        }
        assert_eq!(repeat_statistics("none", &[]).wilson, (0.0, 1.0));
    }
}
