//! Suites: many cases.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use futures::future::{BoxFuture, FutureExt};
use futures::stream::{FuturesUnordered, StreamExt};
use rehearsal_agent::Journal;
use rehearsal_core::{Chance, Clock, Fault, SuiteResult, SystemClock, Verdict};
use rehearsal_metrics::Tally;

use crate::feed::{Feed, Known};
use crate::simulation::time_is_up;
use crate::{Budget, Cancel, Case, CaseRun, Hold, RunOptions};

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
    valid: Option<u32>,
    turns: Option<Arc<[usize]>>,
    known: Arc<Known>,
    clock: Arc<dyn Clock>,
    on_first_failure: OnFirstFailure,
    observer: Option<Arc<Observer>>,
    journals: Option<Arc<Journals>>,
    cancel: Cancel,
    hold: Hold,
    budget: Option<Arc<Budget>>,
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

    /// The name of its cases.
    pub fn name(&self) -> &Arc<str> {
        &self.name
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
            valid: None,
            turns: None,
            known: Arc::default(),
            clock: Arc::new(SystemClock),
            on_first_failure: OnFirstFailure::Continue,
            observer: None,
            journals: None,
            cancel: Cancel::default(),
            hold: Hold::default(),
            budget: None,
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

    /// The same suite with each case run until so many of its runs are valid: those that did not pass by the doing of
    /// somebody else than the agent are followed by others, up to so many `tries` of a case in all. Those that count are
    /// the first ones in the order of repeats, in whatever order they end.
    #[must_use]
    pub fn valid(mut self, runs: u32, tries: u32) -> Self {
        self.valid = Some(runs.max(1));
        self.repeat(tries.max(runs))
    }

    /// The same suite, of which these runs have ended before, by their place among all runs: they are counted and not run
    /// again.
    #[must_use]
    pub fn known(mut self, known: BTreeMap<usize, (Verdict, Option<Fault>)>) -> Self {
        self.known = Arc::new(known);
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

    /// The same suite, of which only these runs are run, in this order: their places among all runs, where those of a case
    /// stand together. All others are left out of what it came to. Their seeds are what they would be without this.
    #[must_use]
    pub fn turns(mut self, orders: impl Into<Arc<[usize]>>) -> Self {
        self.turns = Some(orders.into());
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

    /// The same suite, which can be held from outside by this: no further case starts for as long as it is.
    #[must_use]
    pub fn hold(mut self, hold: Hold) -> Self {
        self.hold = hold;
        self
    }

    /// The same suite with a budget of all its cases: no further case starts when it is used up, and those that run end.
    #[must_use]
    pub fn budget(mut self, budget: Arc<Budget>) -> Self {
        self.budget = Some(budget);
        self
    }

    /// Runs the suite, and keeps all its runs in memory. Needs a tokio runtime.
    pub async fn run(&self) -> SuiteRun {
        let kept: Arc<Mutex<Vec<Ended>>> = Arc::default();
        let keep = kept.clone();
        let mut result = self
            .run_each(move |order, run| {
                keep.lock().unwrap_or_else(PoisonError::into_inner).push((order, run));
                futures::future::ready(()).boxed()
            })
            .await;
        let mut kept = std::mem::take(&mut *kept.lock().unwrap_or_else(PoisonError::into_inner));
        kept.sort_by_key(|(order, _)| *order);
        result.results = kept.iter().map(|(_, run)| run.result.clone()).collect();
        let repeat = self.repeat as usize;
        let (places, runs) = kept.into_iter().map(|(order, run)| (order / repeat, run)).unzip();
        SuiteRun { result, runs, places }
    }

    /// Runs the suite, and hands each run of a case to `each` when it has ended, with its place among all runs in their
    /// order: those of a case stand together. A run that never starts is handed to nobody. No further case starts in its
    /// place before `each` is done with it. What this gives has no results of cases: nothing but counts is kept of them.
    ///
    /// Needs a tokio runtime.
    pub async fn run_each(
        &self,
        each: impl Fn(usize, Arc<CaseRun>) -> BoxFuture<'static, ()> + Send + Sync + 'static,
    ) -> SuiteResult {
        let is_stopped = self.on_first_failure == OnFirstFailure::Stop
            && self.known.values().any(|(verdict, fault)| is_failure(*verdict, *fault, self.valid.is_some()));
        let stop = Arc::new(AtomicBool::new(is_stopped));
        let each: Arc<Each> = Arc::new(each);
        let namesakes = self.namesakes();
        let repeat = self.repeat as usize;
        let job = |order: usize| {
            let (index, repeat) = (order / repeat, u32::try_from(order % repeat).unwrap_or(u32::MAX));
            let case = self.cases[index].clone();
            let mut options = RunOptions {
                seed: self.seed_for(&case.name, namesakes[index], repeat),
                repeat,
                clock: self.clock.clone(),
                journal: None,
                cancel: self.cancel.clone(),
                budget: self.budget.clone(),
            };
            options.journal = self.journals.as_ref().map(|make| make(index, &case.name, &options));
            let (observer, on_first_failure) = (self.observer.clone(), self.on_first_failure);
            let (hold, stop, each) = (self.hold.clone(), stop.clone(), each.clone());
            let is_replaced = self.valid.is_some();
            let job = Job {
                order,
                index,
                case,
                options,
                observer,
                on_first_failure,
                is_replaced,
                hold,
                stop,
                each,
            };
            async move { (order, job.run().await) }
        };
        let (mut feed, mut tally) = (self.feed(), self.tally());
        let mut running = FuturesUnordered::new();
        loop {
            // A case is made when its turn comes, not before.
            while running.len() < self.jobs
                && let Some(order) = feed.next()
            {
                running.push(job(order));
            }
            let Some((order, ended)) = running.next().await else { break };
            if let Some((verdict, fault)) = ended {
                tally.ended(order, verdict, fault);
                feed.ended(order, fault);
            }
        }
        drop(running);
        feed.tell(&mut tally);
        tally.suite()
    }

    /// How many runs there may be.
    fn all(&self) -> usize {
        self.cases.len() * self.repeat as usize
    }

    fn feed(&self) -> Feed {
        let known = (*self.known).clone();
        match (&self.turns, self.valid) {
            (Some(turns), _) => Feed::of(turns.iter().copied().filter(|order| *order < self.all()), known),
            (None, Some(valid)) => Feed::valid(self.cases.len(), valid as usize, self.repeat as usize, known),
            (None, None) => Feed::of(0..self.all(), known),
        }
    }

    fn tally(&self) -> Tally {
        let names = self.cases.iter().map(|case| case.name.clone());
        let mut tally = Tally::new(names, self.repeat);
        if let Some(turns) = &self.turns {
            let chosen: BTreeSet<usize> = turns.iter().copied().collect();
            (0..self.all()).filter(|order| !chosen.contains(order)).for_each(|order| tally.leave_out(order));
        } else if let Some(valid) = self.valid {
            tally = tally.wanting(valid);
        }
        tally
    }

    /// The seed with which a repeat of the case at this place runs. It does not depend on what other cases the suite
    /// has, except those of the same name before it.
    pub fn seed_of(&self, index: usize, repeat: u32) -> u64 {
        let Some(case) = self.cases.get(index) else { return self.exact_seed.unwrap_or(self.seed) };
        let namesakes = self.cases[..index].iter().filter(|other| other.name == case.name).count() as u64;
        self.seed_for(&case.name, namesakes, repeat)
    }

    fn seed_for(&self, name: &str, namesakes: u64, repeat: u32) -> u64 {
        self.exact_seed.unwrap_or_else(|| {
            Chance::seeded(self.seed).derive(name, (namesakes << 32) | u64::from(repeat)).seed()
        })
    }

    /// How many cases before each have its name.
    fn namesakes(&self) -> Vec<u64> {
        let mut seen: BTreeMap<&str, u64> = BTreeMap::new();
        let mut all = Vec::with_capacity(self.cases.len());
        for case in &self.cases {
            let so_far = seen.entry(&case.name).or_default();
            all.push(*so_far);
            *so_far += 1;
        }
        all
    }
}

/// A run of a case, with its place among all runs.
type Ended = (usize, Arc<CaseRun>);

type Each = dyn Fn(usize, Arc<CaseRun>) -> BoxFuture<'static, ()> + Send + Sync;

/// Whether somebody who wants to stop at the first failure means this.
fn is_failure(verdict: Verdict, fault: Option<Fault>, is_replaced: bool) -> bool {
    verdict != Verdict::Passed && !(is_replaced && fault.is_some_and(|fault| !fault.is_of_agent()))
}

/// One run of one case.
struct Job {
    order: usize,
    index: usize,
    case: CaseMaker,
    options: RunOptions,
    observer: Option<Arc<Observer>>,
    on_first_failure: OnFirstFailure,
    /// Whether another run follows one that says nothing about the agent.
    is_replaced: bool,
    hold: Hold,
    stop: Arc<AtomicBool>,
    each: Arc<Each>,
}

impl Job {
    async fn run(self) -> Option<(Verdict, Option<Fault>)> {
        let Self { order, index, case, options, observer, on_first_failure, is_replaced, hold, stop, each } =
            self;
        tokio::select! {
            () = hold.lifted() => {}
            () = options.cancel.cancelled() => {}
            _ = time_is_up(options.budget.clone()) => {}
        }
        let is_used_up = options.budget.as_ref().is_some_and(|budget| budget.is_used_up());
        if stop.load(Ordering::SeqCst) || options.cancel.is_cancelled() || is_used_up {
            return None;
        }
        if let Some(observer) = &observer {
            observer(SuiteEvent::Started { index, name: case.name.clone(), repeat: options.repeat });
        }
        // A task of its own puts the case on any core, and keeps its panics from the other cases.
        // It is large, and a task is moved more than once before it begins.
        let task = tokio::spawn(Box::pin(async move {
            let playing = async { (case.make)(&options).run(&options).await };
            let run = match AssertUnwindSafe(playing).catch_unwind().await {
                Ok(run) => run,
                Err(panic) => CaseRun::broken(&case.name, &options, &*panic),
            };
            let (ended, run) = ((run.result.status, run.result.fault), Arc::new(run));
            if is_failure(ended.0, ended.1, is_replaced) && on_first_failure == OnFirstFailure::Stop {
                stop.store(true, Ordering::SeqCst);
            }
            if let Some(observer) = &observer {
                observer(SuiteEvent::Finished { index, run: run.clone() });
            }
            each(order, run).await;
            ended
        }));
        // What is told of a case may break too; then it is as if nothing had come of it.
        task.await.map_or(Some((Verdict::Error, Some(Fault::Infrastructure))), Some)
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
