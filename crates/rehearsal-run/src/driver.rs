//! Running a suite, and keeping what comes of it.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use rehearsal_core::{CaseResult, Clock, RESULT_VERSION, RunResult, SessionId};
use rehearsal_sim::person::PersonCue;
use rehearsal_sim::{Cancel, CaseMaker, CaseRun, OnFirstFailure, Suite, SuiteEvent, SuiteRun};
use rehearsal_store::{RunStatus, StoreError};

use crate::{Counts, KeptRun, OutFolder, RunJournal, ledger_path};

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
}

/// Runs the cases of a run, keeps their ledgers as they grow, and gives its result.
pub struct Driver {
    /// How they are run.
    pub plan: Plan,
    /// The store's place for them; nothing when the run is not kept.
    pub kept: Option<Arc<KeptRun>>,
    /// The folder for files; nothing when none were asked for.
    pub out: Option<OutFolder>,
    /// Ends them from outside.
    pub cancel: Cancel,
    /// Who is told.
    pub watch: Arc<dyn Watch>,
    /// What the time is.
    pub clock: Arc<dyn Clock>,
}

/// A run that was run.
#[derive(Debug)]
pub struct Driven {
    /// What it came to.
    pub result: RunResult,
    /// The runs of its cases, one for each result.
    pub runs: Vec<Arc<CaseRun>>,
}

impl Driver {
    /// Runs these cases. What a case came to is for whoever made it to say, by its place.
    pub async fn run(
        &self,
        cases: Vec<CaseMaker>,
        describe: impl Fn(usize, &CaseRun) -> CaseResult,
    ) -> Driven {
        let (started_at, reading) = (self.clock.now(), self.clock.monotonic());
        let SuiteRun { result: mut suite, runs, places } = self.suite(cases).run().await;
        let took = self.clock.since(reading).as_millis();
        let interrupted = self.cancel.is_cancelled();
        // Nothing is left to end: who asks now wants the program itself to end.
        self.cancel.cancel();
        suite.results.clear();
        for (run, place) in runs.iter().zip(places) {
            let mut result = describe(place, run);
            if let Some(out) = &self.out {
                let stem = out.stems().stem(place, &result.name, result.repeat);
                let paths = run.ledgers().map(|ledger| ledger_path(&stem, ledger.part()));
                result.ledgers =
                    paths.filter(|path| path.exists()).map(|path| path.display().to_string()).collect();
            }
            if let Some(kept) = &self.kept {
                result.sessions = sessions(kept, place, run).await;
            }
            suite.results.push(result);
        }
        let result = RunResult {
            version: RESULT_VERSION,
            eval_set: None,
            started_at,
            duration_ms: u64::try_from(took).unwrap_or(u64::MAX),
            seed: self.plan.case_seed.unwrap_or(self.plan.seed),
            interrupted,
            suite,
        };
        Driven { result, runs }
    }

    /// Keeps what the run came to, where it is kept.
    ///
    /// # Errors
    /// The store cannot be used, or not all that happened could be written.
    pub async fn end(&self, result: &RunResult) -> Result<(), StoreError> {
        let Some(kept) = &self.kept else { return Ok(()) };
        let status = match &result.suite {
            _ if result.interrupted => RunStatus::Interrupted,
            suite if suite.summary.errors > 0 => RunStatus::Error,
            suite if suite.passed() => RunStatus::Passed,
            _ => RunStatus::Failed,
        };
        kept.end(
            status,
            serde_json::to_value(result).map_err(|error| StoreError::Corrupt(error.to_string()))?,
        )
        .await
    }

    fn suite(&self, cases: Vec<CaseMaker>) -> Suite {
        let Plan { seed, case_seed, repeat, jobs, fail_fast } = self.plan;
        let mut suite = Suite::new(cases)
            .seed(seed)
            .repeat(repeat)
            .jobs(jobs)
            .clock(self.clock.clone())
            .cancel(self.cancel.clone());
        if fail_fast {
            suite = suite.on_first_failure(OnFirstFailure::Stop);
        }
        if let Some(seed) = case_seed {
            suite = suite.exact_seed(seed);
        }
        let (watch, kept) = (self.watch.clone(), self.kept.clone());
        let stems = self.out.as_ref().map(OutFolder::stems);
        let suite = suite.journal(move |index, name, options| {
            let (key, watch) = ((index, options.repeat), watch.clone());
            let stem = stems.as_ref().map(|stems| stems.stem(index, name, options.repeat));
            let kept = kept.as_ref().map(|run| run.case(index));
            Arc::new(RunJournal::new(kept, stem, move |counts| watch.counted(key, counts)))
        });
        let watch = self.watch.clone();
        suite.observe(move |event| match event {
            SuiteEvent::Started { index, name, repeat } => watch.started((index, repeat), &name),
            SuiteEvent::Finished { index, run } => watch.finished((index, run.result.repeat), &run),
            _ => {}
        })
    }
}

/// The ids in the store of the sessions of a case.
async fn sessions(kept: &Arc<KeptRun>, place: usize, case: &CaseRun) -> Vec<SessionId> {
    let mut ids = Vec::new();
    for ledger in case.ledgers().filter(|ledger| !ledger.events().is_empty()) {
        ids.push(kept.session(place, ledger.session()).await);
    }
    ids
}

impl fmt::Debug for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Driver").field("plan", &self.plan).finish_non_exhaustive()
    }
}
