//! Counting what the runs of a suite's cases come to, in whatever order they end.

use std::sync::Arc;

use rehearsal_core::{Fault, RepeatStatistics, SuiteResult, Verdict};

use crate::repeat_statistics;

/// Counts what runs of cases come to, by their place among all runs in their order: those of a case stand together.
///
/// ```
/// use rehearsal_core::{Fault, Verdict};
///
/// let mut tally = rehearsal_metrics::Tally::new(["greets", "refunds"].map(Into::into), 2);
/// tally.ended(3, Verdict::Error, Some(Fault::Infrastructure));
/// tally.ended(0, Verdict::Passed, None);
/// tally.leave_out(1);
/// let summary = tally.suite().summary;
/// assert_eq!((summary.total, summary.passed, summary.invalid, summary.not_run), (3, 1, 1, 1));
/// ```
#[derive(Clone, Debug)]
pub struct Tally {
    names: Vec<Arc<str>>,
    repeat: usize,
    /// How many valid runs are wanted of each case, where that is so.
    wanted: Option<u32>,
    runs: Vec<Slot>,
}

/// What is known of a run of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slot {
    /// It has not ended.
    Open,
    /// It is not part of this.
    LeftOut,
    Ended(Verdict, Option<Fault>),
}

impl Tally {
    /// Nothing has ended of these cases, each of which runs so many times.
    pub fn new(names: impl IntoIterator<Item = Arc<str>>, repeat: u32) -> Self {
        let (names, repeat) = (names.into_iter().collect::<Vec<_>>(), repeat.max(1) as usize);
        let runs = vec![Slot::Open; names.len() * repeat];
        Self { names, repeat, wanted: None, runs }
    }

    /// The same, where so many valid runs are wanted of each case.
    #[must_use]
    pub fn wanting(mut self, valid: u32) -> Self {
        self.wanted = Some(valid);
        self
    }

    /// The case at this place is called this.
    pub fn name(&mut self, place: usize, name: Arc<str>) {
        self.names[place] = name;
    }

    /// A run is not part of this: another part of the run has it, or nobody needs it.
    pub fn leave_out(&mut self, order: usize) {
        self.runs[order] = Slot::LeftOut;
    }

    /// A run ended. What is told of it last counts.
    pub fn ended(&mut self, order: usize, verdict: Verdict, fault: Option<Fault>) {
        self.runs[order] = Slot::Ended(verdict, fault);
    }

    /// Whether a run has ended.
    pub fn has_ended(&self, order: usize) -> bool {
        matches!(self.runs[order], Slot::Ended(..))
    }

    /// The counts and the statistics, without results of cases. What has not ended was not run.
    pub fn suite(&self) -> SuiteResult {
        let mut suite = SuiteResult::default();
        for (name, runs) in self.names.iter().zip(self.runs.chunks(self.repeat)) {
            let mut valid = Vec::with_capacity(runs.len());
            let mut invalid = 0;
            for run in runs {
                match *run {
                    Slot::LeftOut => {}
                    Slot::Open => suite.summary.count_not_run(1),
                    Slot::Ended(verdict, fault) => {
                        suite.summary.count(verdict);
                        match fault.filter(|fault| !fault.is_of_agent()) {
                            None => valid.push(verdict),
                            Some(fault) => {
                                invalid += 1;
                                *suite.summary.faults.entry(fault).or_default() += 1;
                            }
                        }
                    }
                }
            }
            suite.summary.invalid += invalid;
            let missing = self.wanted.filter(|wanted| valid.len() < *wanted as usize);
            if self.wanted.is_some() && missing.is_none() {
                suite.summary.replaced += invalid;
            }
            let is_repeated = self.wanted.map_or(self.repeat > 1, |wanted| wanted > 1);
            if missing.is_some() && !runs.contains(&Slot::Open) {
                suite
                    .repeats
                    .push(RepeatStatistics { wanted: missing, ..repeat_statistics(&**name, &valid) });
            } else if !valid.is_empty() && is_repeated {
                suite.repeats.push(repeat_statistics(&**name, &valid));
            }
        }
        suite
    }
}
