//! Suites: many cases.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::future::{BoxFuture, FutureExt};
use futures::stream::{self, StreamExt};
use rehearsal_agent::Journal;
use rehearsal_core::{CaseResult, Chance, Clock, SuiteResult, SystemClock, Verdict};
use rehearsal_metrics::repeat_statistics;

use crate::{Cancel, Case, CaseRun, RunOptions};

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
    cases: Vec<CaseMaker>,
    jobs: usize,
    repeat: u32,
    seed: u64,
    exact_seed: Option<u64>,
    clock: Arc<dyn Clock>,
    on_first_failure: OnFirstFailure,
    observer: Option<Arc<Observer>>,
    journals: Option<Arc<Journals>>,
    cancel: Cancel,
}

type Journals = dyn Fn(usize, &str, &RunOptions) -> Arc<dyn Journal> + Send + Sync;

/// Makes the case for each of its runs, so that what a run needs (a folder, a process) lives as long as the run.
#[derive(Clone)]
pub struct CaseMaker {
    name: Arc<str>,
    make: Arc<MakeCase>,
}

type MakeCase = dyn Fn(&RunOptions) -> Arc<Case> + Send + Sync;

impl CaseMaker {
    /// Makes cases of this name.
    pub fn new(name: &str, make: impl Fn(&RunOptions) -> Case + Send + Sync + 'static) -> Self {
        Self { name: name.into(), make: Arc::new(move |options| Arc::new(make(options))) }
    }
}

impl From<Case> for CaseMaker {
    fn from(case: Case) -> Self {
        let case = Arc::new(case);
        Self { name: case.name.clone(), make: Arc::new(move |_| case.clone()) }
    }
}

impl fmt::Debug for CaseMaker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CaseMaker").field(&self.name).finish()
    }
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
        /// What it came to, with its ledgers.
        run: Arc<CaseRun>,
    },
}

type Observer = dyn Fn(SuiteEvent) + Send + Sync;

/// A suite that was run.
#[derive(Clone, Debug)]
pub struct SuiteRun {
    /// What it came to.
    pub result: SuiteResult,
    /// The cases that ran, in the order of the suite.
    pub runs: Vec<Arc<CaseRun>>,
    /// The place in the suite of each of them.
    pub places: Vec<usize>,
}

impl Suite {
    /// Cases in a suite may run side by side up to this number unless it is told otherwise.
    pub const DEFAULT_JOBS: usize = 16;

    /// A suite of these cases.
    pub fn new<C: Into<CaseMaker>>(cases: impl IntoIterator<Item = C>) -> Self {
        Self {
            cases: cases.into_iter().map(Into::into).collect(),
            jobs: Self::DEFAULT_JOBS,
            repeat: 1,
            seed: 0,
            exact_seed: None,
            clock: Arc::new(SystemClock),
            on_first_failure: OnFirstFailure::Continue,
            observer: None,
            journals: None,
            cancel: Cancel::default(),
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

    /// The same suite with this seed for every run, as a result shows it, to repeat one run exactly.
    #[must_use]
    pub fn exact_seed(mut self, seed: u64) -> Self {
        self.exact_seed = Some(seed);
        self
    }

    /// The same suite with another clock, which all cases share: one that a case moves is moved for all of them.
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

    /// The same suite, keeping events as they happen in what this makes for each run, given the case's place and name.
    #[must_use]
    pub fn journal(
        mut self,
        make: impl Fn(usize, &str, &RunOptions) -> Arc<dyn Journal> + Send + Sync + 'static,
    ) -> Self {
        self.journals = Some(Arc::new(make));
        self
    }

    /// The same suite, which can be ended from outside by this: no further case starts, and those that run end.
    #[must_use]
    pub fn cancel(mut self, cancel: Cancel) -> Self {
        self.cancel = cancel;
        self
    }

    /// Runs the suite. Needs a tokio runtime.
    pub async fn run(&self) -> SuiteRun {
        let stop = Arc::new(AtomicBool::new(false));
        let mut jobs: Vec<BoxFuture<'static, (usize, Option<Arc<CaseRun>>)>> = Vec::new();
        for (index, case) in self.cases.iter().enumerate() {
            for repeat in 0..self.repeat {
                let mut options = RunOptions {
                    seed: self.seed_of(index, repeat),
                    repeat,
                    clock: self.clock.clone(),
                    journal: None,
                    cancel: self.cancel.clone(),
                };
                options.journal = self.journals.as_ref().map(|make| make(index, &case.name, &options));
                let (observer, on_first_failure) = (self.observer.clone(), self.on_first_failure);
                let job = Job {
                    index,
                    case: case.clone(),
                    options,
                    observer,
                    on_first_failure,
                    stop: stop.clone(),
                };
                let place = jobs.len();
                jobs.push(async move { (place, job.run().await) }.boxed());
            }
        }
        let mut finished: Vec<_> = stream::iter(jobs).buffer_unordered(self.jobs).collect().await;
        finished.sort_by_key(|(place, _)| *place);
        let result = self.summarise(&finished);
        let repeat = self.repeat as usize;
        let (places, runs) =
            finished.into_iter().filter_map(|(place, run)| Some((place / repeat, run?))).unzip();
        SuiteRun { result, runs, places }
    }

    /// The seed with which a repeat of the case at this place runs. It does not depend on what other cases the suite
    /// has, except those of the same name before it.
    pub fn seed_of(&self, index: usize, repeat: u32) -> u64 {
        if let Some(seed) = self.exact_seed {
            return seed;
        }
        let Some(case) = self.cases.get(index) else { return self.seed };
        let namesakes = self.cases[..index].iter().filter(|other| other.name == case.name).count() as u64;
        Chance::seeded(self.seed).derive(&case.name, (namesakes << 32) | u64::from(repeat)).seed()
    }

    fn summarise(&self, finished: &[(usize, Option<Arc<CaseRun>>)]) -> SuiteResult {
        let mut suite = SuiteResult::default();
        for repeats in finished.chunks(self.repeat as usize) {
            let ran: Vec<&CaseResult> =
                repeats.iter().filter_map(|(_, run)| Some(&run.as_ref()?.result)).collect();
            let not_run = u32::try_from(repeats.len() - ran.len()).unwrap_or(u32::MAX);
            suite.summary.count_not_run(not_run);
            let verdicts: Vec<Verdict> = ran.iter().map(|result| result.status).collect();
            for verdict in &verdicts {
                suite.summary.count(*verdict);
            }
            if let (Some(first), true) = (ran.first(), self.repeat > 1) {
                suite.repeats.push(repeat_statistics(&first.name, &verdicts));
            }
            suite.results.extend(ran.into_iter().cloned());
        }
        suite
    }
}

/// One run of one case.
struct Job {
    index: usize,
    case: CaseMaker,
    options: RunOptions,
    observer: Option<Arc<Observer>>,
    on_first_failure: OnFirstFailure,
    stop: Arc<AtomicBool>,
}

impl Job {
    async fn run(self) -> Option<Arc<CaseRun>> {
        let Self { index, case, options, observer, on_first_failure, stop } = self;
        if stop.load(Ordering::SeqCst) || options.cancel.is_cancelled() {
            return None;
        }
        if let Some(observer) = &observer {
            observer(SuiteEvent::Started { index, name: case.name.clone(), repeat: options.repeat });
        }
        // A task of its own puts the case on any core, and keeps its panics from the other cases.
        let task = {
            let (case, options) = (case.clone(), options.clone());
            tokio::spawn(async move { (case.make)(&options).run(&options).await })
        };
        let run = match task.await {
            Ok(run) => run,
            Err(error) => CaseRun::broken(&case.name, &options, error.try_into_panic().ok()?.as_ref()),
        };
        let run = Arc::new(run);
        if run.result.status != Verdict::Passed && on_first_failure == OnFirstFailure::Stop {
            stop.store(true, Ordering::SeqCst);
        }
        if let Some(observer) = &observer {
            observer(SuiteEvent::Finished { index, run: run.clone() });
        }
        Some(run)
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
