//! Running a suite, and keeping what comes of it.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use futures::FutureExt as _;
use rehearsal_core::{CaseResult, Clock, ModelCalls, RunResult, Timestamp};
use rehearsal_sim::person::PersonCue;
use rehearsal_sim::{Budget, Cancel, CaseMaker, CaseRun, Hold, OnFirstFailure, Suite, SuiteEvent};
use rehearsal_store::{RunStatus, RunWish, StoreError};

use crate::reins::Reins;
use crate::{Counts, KeptCase, KeptRun, Known, OutFolder, RunJournal, ledger_path};

/// Which run of which case: its place in the suite, and which repeat of it.
pub type CaseKey = (usize, u32);

/// Is told how a run goes.
pub trait Watch: Send + Sync {
    /// A case began.
    fn started(&self, key: CaseKey, name: &str);
    /// A case did something.
    fn counted(&self, key: CaseKey, counts: Counts);
    /// A case came to its end.
    fn finished(&self, key: CaseKey, run: &CaseRun);
    /// A person is asked, and waited for until what this gives is dropped.
    fn asked(&self, name: &str, cue: &PersonCue) -> Box<dyn Any + Send>;
    /// Somebody elsewhere wants this of the run, or takes back what they wanted. It is done.
    fn wished(&self, _wish: Option<RunWish>) {}
}

/// How the cases of a run are run.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Where all chance comes from.
    pub seed: u64,
    /// The seed of every case as a result shows it, to repeat one run exactly.
    pub case_seed: Option<u64>,
    /// How often each case is run.
    pub repeat: u32,
    /// How many cases run side by side.
    pub jobs: usize,
    /// Whether no further case starts once one did not pass.
    pub fail_fast: bool,
    /// How many valid runs are wanted of each case, of which there are no more than `repeat`; nothing where each runs
    /// `repeat` times.
    pub valid: Option<u32>,
}

/// What a run that goes on has come to before.
#[derive(Clone, Debug)]
pub struct Earlier {
    /// When it began.
    pub started_at: Timestamp,
    /// How long it ran until its process was gone, in milliseconds.
    pub duration_ms: u64,
    /// What its cases came to that ended, by their places among all runs.
    pub known: Known,
}

/// Runs the cases of a run, keeps their ledgers as they grow, and gives its result.
pub struct Driver {
    /// How they are run.
    pub plan: Plan,
    /// The runs of cases that are run here, by their places among all runs; nothing when all are.
    pub turns: Option<Arc<[usize]>>,
    /// What it has come to before, where it goes on.
    pub earlier: Option<Earlier>,
    /// The store's place for them; nothing when the run is not kept.
    pub kept: Option<Arc<KeptRun>>,
    /// The folder for files; nothing when none were asked for.
    pub out: Option<OutFolder>,
    /// Ends them from outside.
    pub cancel: Cancel,
    /// Who is told.
    pub watch: Arc<dyn Watch>,
    /// How calls to models go right now.
    pub calls: CallsNow,
    /// What the cases may use together, where something is limited.
    pub budget: Option<Arc<Budget>>,
    /// What the time is.
    pub clock: Arc<dyn Clock>,
}

/// Says how calls to models go right now, of each model that was asked.
pub type CallsNow = Arc<dyn Fn() -> Vec<ModelCalls> + Send + Sync>;

/// Says what a case came to, by its place.
pub type Describe = Arc<dyn Fn(usize, &CaseRun) -> CaseResult + Send + Sync>;

/// Is handed what cases came to, as they end.
pub trait Outlet: Send + Sync {
    /// A case came to its end. Its `order` is its place among all runs of cases, those of one case together.
    fn ended(&self, order: usize, result: CaseResult, run: &CaseRun);

    /// Whether it reads the ledgers of a case that came to this; without them it is handed empty ones, where they would
    /// have to be fetched.
    fn reads_ledgers(&self, _result: &CaseResult) -> bool {
        true
    }
}

impl Driver {
    /// Runs these cases, and hands over what each came to when it has ended. What this gives has no results of cases.
    pub async fn run(&self, cases: Vec<CaseMaker>, describe: Describe, outlet: Arc<dyn Outlet>) -> RunResult {
        let (started_at, reading) = (self.clock.now(), self.clock.monotonic());
        let seats: Arc<Seats> = Arc::default();
        let repeat = self.plan.repeat.max(1) as usize;
        if let Some(kept) = &self.kept {
            let each = self.plan.valid.map_or(repeat, |valid| repeat.min(valid as usize));
            let planned = self.turns.as_ref().map_or(cases.len() * each, |turns| turns.len());
            kept.gauge.plan(planned as u64);
        }
        let suite = self.suite(cases, seats.clone());
        let stems = self.out.as_ref().map(OutFolder::stems);
        let suite = suite.run_each(move |order, run| {
            let place = order / repeat;
            let seat =
                seats.lock().unwrap_or_else(PoisonError::into_inner).remove(&(place, run.result.repeat));
            let (describe, outlet, stems) = (describe.clone(), outlet.clone(), stems.clone());
            async move {
                let mut result = describe(place, &run);
                if let Some(stems) = stems {
                    let stem = stems.stem(place, &result.name, result.repeat);
                    let paths = run.ledgers().map(|ledger| ledger_path(&stem, ledger.part()));
                    result.ledgers =
                        paths.filter(|path| path.exists()).map(|path| path.display().to_string()).collect();
                }
                if let Some(seat) = seat {
                    keep(&seat, &mut result, &run).await;
                }
                outlet.ended(order, result, &run);
            }
            .boxed()
        });
        let suite = self.in_time(suite).await;
        let took = self.clock.since(reading).as_millis();
        let interrupted = self.cancel.is_cancelled();
        // Nothing is left to end: who asks now wants the program itself to end.
        self.cancel.cancel();
        let before = self.earlier.as_ref();
        RunResult {
            duration_ms: u64::try_from(took).unwrap_or(u64::MAX)
                + before.map_or(0, |earlier| earlier.duration_ms),
            interrupted,
            budget: self.budget.as_ref().map(|budget| budget.report(suite.summary.not_run > 0)),
            calls: (self.calls)().into_iter().filter(|calls| calls.sent > 0).collect(),
            suite,
            ..RunResult::new(
                before.map_or(started_at, |earlier| earlier.started_at),
                self.plan.case_seed.unwrap_or(self.plan.seed),
            )
        }
    }

    /// Ends the cases that run when the time of the run is up.
    async fn in_time<T>(&self, running: impl Future<Output = T>) -> T {
        let Some((budget, limit)) =
            self.budget.as_ref().and_then(|budget| Some((budget, budget.max_time()?)))
        else {
            return running.await;
        };
        let mut running = std::pin::pin!(running);
        if let Ok(done) = tokio::time::timeout(limit, running.as_mut()).await {
            return done;
        }
        budget.end_time();
        running.await
    }

    /// Keeps what the run came to, where it is kept; what its cases came to is kept already.
    ///
    /// # Errors
    /// The store cannot be used, or not all that happened could be written.
    pub async fn end(&self, result: &RunResult) -> Result<(), StoreError> {
        let Some(kept) = &self.kept else { return Ok(()) };
        kept.end(
            status_of(result),
            serde_json::to_value(result).map_err(|error| StoreError::Corrupt(error.to_string()))?,
        )
        .await
    }

    /// Lets others hold and end the run, where it is kept.
    fn reins(&self) -> Hold {
        let hold = Hold::default();
        if let Some(kept) = &self.kept {
            let (cancel, calls, watch) = (self.cancel.clone(), self.calls.clone(), self.watch.clone());
            kept.take(Reins { hold: hold.clone(), cancel, calls, watch });
        }
        hold
    }

    fn suite(&self, cases: Vec<CaseMaker>, seats: Arc<Seats>) -> Suite {
        let Plan { seed, case_seed, repeat, jobs, fail_fast, valid } = self.plan;
        let mut suite = Suite::new(cases)
            .seed(seed)
            .repeat(repeat)
            .jobs(jobs)
            .clock(self.clock.clone())
            .cancel(self.cancel.clone())
            .hold(self.reins());
        if let Some(budget) = &self.budget {
            suite = suite.budget(budget.clone());
        }
        if fail_fast {
            suite = suite.on_first_failure(OnFirstFailure::Stop);
        }
        if let Some(seed) = case_seed {
            suite = suite.exact_seed(seed);
        }
        if let Some(turns) = &self.turns {
            suite = suite.turns(turns.clone());
        }
        if let Some(valid) = valid {
            suite = suite.valid(valid, repeat);
        }
        if let Some(earlier) = &self.earlier {
            suite = suite.known(earlier.known.clone());
        }
        let (watch, kept) = (self.watch.clone(), self.kept.clone());
        let stems = self.out.as_ref().map(OutFolder::stems);
        let suite = suite.journal(move |index, name, options| {
            let (key, watch) = ((index, options.repeat), watch.clone());
            let stem = stems.as_ref().map(|stems| stems.stem(index, name, options.repeat));
            let kept = kept.as_ref().map(|run| run.archived(index, options.repeat));
            if let Some(kept) = &kept {
                seats.lock().unwrap_or_else(PoisonError::into_inner).insert(key, kept.clone());
            }
            Arc::new(RunJournal::new(kept, stem, move |counts| watch.counted(key, counts)))
        });
        let (watch, kept, clock) = (self.watch.clone(), self.kept.clone(), self.clock.clone());
        suite.observe(move |event| match event {
            SuiteEvent::Started { index, name, repeat } => {
                if let Some(kept) = &kept {
                    kept.gauge.started(&*clock);
                }
                watch.started((index, repeat), &name);
            }
            SuiteEvent::Finished { index, run } => watch.finished((index, run.result.repeat), &run),
            _ => {}
        })
    }
}

/// How a run stands that came to this.
pub(crate) fn status_of(result: &RunResult) -> RunStatus {
    match &result.suite {
        _ if result.interrupted => RunStatus::Interrupted,
        suite if suite.summary.errors > 0 => RunStatus::Error,
        suite if suite.passed() => RunStatus::Passed,
        // A part that has no case says nothing against the run.
        suite if result.shard.is_some() && suite.summary.total == 0 => RunStatus::Passed,
        _ => RunStatus::Failed,
    }
}

/// The cases that run, where they are kept.
type Seats = Mutex<BTreeMap<CaseKey, Arc<KeptCase>>>;

/// Names the sessions of a case as the store does, and keeps what it came to.
async fn keep(seat: &KeptCase, result: &mut CaseResult, run: &CaseRun) {
    result.sessions.clear();
    for ledger in run.ledgers().filter(|ledger| !ledger.events().is_empty()) {
        match seat.session(ledger).await {
            Ok(id) => result.sessions.push(id),
            Err(error) => tracing::warn!("a session is not kept: {error}"),
        }
    }
    // What could not be written waits, and the end of the run meets the same failure.
    if let Err(error) = seat.end(result).await {
        tracing::warn!("what a case came to is not kept yet: {error}");
    }
}

impl fmt::Debug for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Driver").field("plan", &self.plan).finish_non_exhaustive()
    }
}
