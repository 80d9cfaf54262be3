//! Suites: many cases.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::stream::{self, StreamExt};
use rehearsal_core::{CaseResult, Chance, Clock, SuiteResult, Summary, SystemClock, Verdict};
use rehearsal_metrics::repeat_statistics;

use crate::{Case, CaseRun, RunOptions};

/// Many cases, run side by side and reported in order.
///
/// ```
/// # use rehearsal_agent::Step;
/// # use rehearsal_metrics::FinalResponse;
/// use rehearsal_sim::{Case, Suite};
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let polite = Step::new("polite", |cx| Ok(cx.respond("Hello there!")));
/// let case = Case::new("greets", polite).metric(FinalResponse::new("greeting").contains("hello"));
/// let run = Suite::new([case]).seed(7).repeat(3).run().await;
/// assert_eq!(run.result.summary.passed, 3);
/// assert_eq!(run.result.repeats[0].pass_hat_k[2], 1.0);
/// # });
/// ```
#[derive(Clone)]
pub struct Suite {
    cases: Vec<Arc<Case>>,
    jobs: usize,
    repeat: u32,
    seed: u64,
    clock: Arc<dyn Clock>,
    on_first_failure: OnFirstFailure,
    observer: Option<Arc<Observer>>,
}

/// What a suite does when a case does not pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnFirstFailure {
    /// It goes on.
    #[default]
    Continue,
    /// It starts no further case.
    Stop,
}

/// Something that happened while a suite ran.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum SuiteEvent {
    /// A case began.
    Started {
        /// Its place in the suite.
        index: usize,
        /// The case.
        name: Arc<str>,
        /// Which repeat of it.
        repeat: u32,
    },
    /// A case came to its end.
    Finished {
        /// Its place in the suite.
        index: usize,
        /// What it came to.
        result: Box<CaseResult>,
    },
}

type Observer = dyn Fn(SuiteEvent) + Send + Sync;

/// A suite that was run.
#[derive(Clone, Debug)]
pub struct SuiteRun {
    /// What it came to.
    pub result: SuiteResult,
    /// The cases that ran, in the order of the suite.
    pub runs: Vec<CaseRun>,
}

impl Suite {
    /// Cases in a suite may run side by side up to this number unless it is told otherwise.
    pub const DEFAULT_JOBS: usize = 16;

    /// A suite of these cases.
    pub fn new(cases: impl IntoIterator<Item = Case>) -> Self {
        Self {
            cases: cases.into_iter().map(Arc::new).collect(),
            jobs: Self::DEFAULT_JOBS,
            repeat: 1,
            seed: 0,
            clock: Arc::new(SystemClock),
            on_first_failure: OnFirstFailure::Continue,
            observer: None,
        }
    }

    /// The same suite with another limit of cases that run side by side; 1 runs them one after the other.
    #[must_use]
    pub fn jobs(mut self, jobs: usize) -> Self {
        self.jobs = jobs.max(1);
        self
    }

    /// The same suite with each case run so many times.
    #[must_use]
    pub fn repeat(mut self, times: u32) -> Self {
        self.repeat = times.max(1);
        self
    }

    /// The same suite with another seed.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// The same suite with another clock.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// The same suite, doing this when a case does not pass.
    #[must_use]
    pub fn on_first_failure(mut self, what: OnFirstFailure) -> Self {
        self.on_first_failure = what;
        self
    }

    /// The same suite, telling somebody what happens while it runs.
    #[must_use]
    pub fn observe(mut self, observer: impl Fn(SuiteEvent) + Send + Sync + 'static) -> Self {
        self.observer = Some(Arc::new(observer));
        self
    }

    /// Runs the suite. Needs a tokio runtime.
    pub async fn run(&self) -> SuiteRun {
        let stop = Arc::new(AtomicBool::new(false));
        let mut jobs = Vec::new();
        for (index, case) in self.cases.iter().enumerate() {
            for repeat in 0..self.repeat {
                jobs.push(self.job(index, case.clone(), repeat, stop.clone()));
            }
        }
        let total = jobs.len();
        let mut finished: Vec<(usize, Option<CaseRun>)> =
            stream::iter(jobs.into_iter().enumerate().map(|(place, job)| async move { (place, job.await) }))
                .buffer_unordered(self.jobs)
                .collect()
                .await;
        finished.sort_by_key(|(place, _)| *place);
        let runs: Vec<CaseRun> = finished.into_iter().filter_map(|(_, run)| run).collect();
        let not_run = u32::try_from(total - runs.len()).unwrap_or(u32::MAX);
        SuiteRun { result: self.summarise(&runs, not_run), runs }
    }

    /// The seed with which a case of this suite runs.
    pub fn seed_of(&self, case: &Case, repeat: u32) -> u64 {
        Chance::seeded(self.seed).derive(case.name(), u64::from(repeat)).seed()
    }

    async fn job(
        &self,
        index: usize,
        case: Arc<Case>,
        repeat: u32,
        stop: Arc<AtomicBool>,
    ) -> Option<CaseRun> {
        if stop.load(Ordering::SeqCst) {
            return None;
        }
        if let Some(observer) = &self.observer {
            observer(SuiteEvent::Started { index, name: case.name.clone(), repeat });
        }
        let options = RunOptions { seed: self.seed_of(&case, repeat), repeat, clock: self.clock.clone() };
        // A task of its own puts the case on any core.
        let run = tokio::spawn(async move { case.run(&options).await }).await;
        let run = match run {
            Ok(run) => run,
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        };
        if run.result.status != Verdict::Passed && self.on_first_failure == OnFirstFailure::Stop {
            stop.store(true, Ordering::SeqCst);
        }
        if let Some(observer) = &self.observer {
            observer(SuiteEvent::Finished { index, result: Box::new(run.result.clone()) });
        }
        Some(run)
    }

    fn summarise(&self, runs: &[CaseRun], not_run: u32) -> SuiteResult {
        let mut summary = Summary::default();
        for run in runs {
            summary.count(run.result.status);
        }
        summary.count_not_run(not_run);
        let results: Vec<CaseResult> = runs.iter().map(|run| run.result.clone()).collect();
        let mut repeats = Vec::new();
        if self.repeat > 1 {
            let mut at = 0;
            while at < results.len() {
                let name = results[at].name.clone();
                let end = results[at..]
                    .iter()
                    .position(|result| result.name != name)
                    .map_or(results.len(), |n| at + n);
                let verdicts: Vec<Verdict> = results[at..end].iter().map(|result| result.status).collect();
                repeats.push(repeat_statistics(&name, &verdicts));
                at = end;
            }
        }
        SuiteResult { summary, results, repeats }
    }
}

impl fmt::Debug for Suite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Suite")
            .field("cases", &self.cases.len())
            .field("jobs", &self.jobs)
            .finish_non_exhaustive()
    }
}
