//! Going on with a run whose process has gone: what it has come to so far, and what is left.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use rehearsal_core::{CaseResult, Clock, EndReason, Fault, Ids, Ledger, SessionPart, Verdict};
use rehearsal_sim::CaseRun;
use rehearsal_store::{KeptResult, LastSeen, RunRecord, RunStatus, Store, StoreError, StoreRef, read_ledger};

use crate::{KeptRun, OutFolder, Outlet, ledger_path};

/// What runs of cases came to, by their places among all runs.
pub type Known = BTreeMap<usize, (Verdict, Option<Fault>)>;

/// So many blocks of a run are read at a time.
const BLOCKS: u64 = 4;

/// A run cannot be gone on with.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResumeError {
    /// Somebody else was first.
    #[error("somebody else goes on with run `{0}` already")]
    Taken(String),
    /// A case that is kept has no place in it.
    #[error("run `{run}` has kept a case at place {place}, repeat {repeat}, which is none of its cases")]
    NoPlace {
        /// The run.
        run: String,
        /// The place in the suite.
        place: u64,
        /// Which repeat.
        repeat: u32,
    },
    /// The store fails.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What cases of a run came to, one after the other, without holding more than a few of them.
#[derive(Debug)]
pub struct Results<'s> {
    store: &'s dyn Store,
    run: &'s str,
    after: Option<u64>,
}

impl<'s> Results<'s> {
    /// Those of this run.
    pub fn of(store: &'s dyn Store, run: &'s str) -> Self {
        Self { store, run, after: None }
    }

    /// The next ones; nothing when there are no more.
    ///
    /// # Errors
    /// The store fails.
    pub async fn some(&mut self) -> Result<Vec<KeptResult>, StoreError> {
        let some = self.store.case_results(self.run, self.after, BLOCKS).await?;
        self.after = some.last().map(|last| last.block).or(self.after);
        Ok(some)
    }
}

/// What a case came to that is kept.
///
/// # Errors
/// It cannot be read.
pub fn read_result(kept: &KeptResult) -> Result<CaseResult, StoreError> {
    rehearsal_core::json::from_str(&kept.result)
        .map_err(|error| StoreError::Corrupt(format!("the result of a case cannot be read: {error}")))
}

/// Whether a case came to its end, or was only stopped with its run.
pub fn has_ended(result: &CaseResult) -> bool {
    result.termination_reason != Some(EndReason::Cancelled)
}

/// How the cases of a run that goes on are told to whoever is handed what cases come to.
#[derive(Debug)]
pub struct Replay<'r> {
    /// How many cases it has.
    pub cases: usize,
    /// How many runs each of them may have.
    pub repeat: usize,
    /// The folder for files, which is filled anew.
    pub out: Option<&'r OutFolder>,
}

impl KeptRun {
    /// Takes over a run that somebody began to keep, as it was seen, and goes on keeping it.
    ///
    /// # Errors
    /// The store cannot be used, or somebody else was first.
    pub async fn take_over(
        store: StoreRef,
        clock: Arc<dyn Clock>,
        mut record: RunRecord,
        seen: LastSeen,
    ) -> Result<Arc<Self>, ResumeError> {
        let now = clock.now().as_millisecond();
        let free = store.take_run(&record.id, seen, &record.about, now).await?;
        let free = free.ok_or_else(|| ResumeError::Taken(record.id.clone()))?;
        record.status = RunStatus::Running;
        record.ended_at = None;
        record.result = None;
        Ok(Self::keep(store, clock, record, free.case, free.block))
    }

    /// Hands over what the cases came to that ended before, as if they ended now, and gives that. Those that were stopped
    /// with the run are forgotten: they are run again.
    ///
    /// # Errors
    /// The store fails, or it has a case that is none of these.
    pub async fn replay(&self, how: &Replay<'_>, outlet: &dyn Outlet) -> Result<Known, ResumeError> {
        let (store, run) = (&**self.store(), self.id());
        let mut results = Results::of(store, &run);
        let mut known = Known::new();
        loop {
            let some = results.some().await?;
            if some.is_empty() {
                return Ok(known);
            }
            let mut again: BTreeMap<u64, Vec<u32>> = BTreeMap::new();
            for kept in &some {
                let order = order(how, kept).ok_or_else(|| ResumeError::NoPlace {
                    run: run.clone(),
                    place: kept.place,
                    repeat: kept.repeat,
                })?;
                let result = read_result(kept)?;
                if !has_ended(&result) || known.contains_key(&order) {
                    again.entry(kept.block).or_default().push(kept.number);
                    continue;
                }
                known.insert(order, (result.status, result.fault));
                self.gauge.ended_before(&result);
                hand_over(store, how, order, result, outlet).await?;
            }
            for (block, cases) in again {
                store.drop_cases(&run, block, &cases).await?;
            }
        }
    }
}

fn order(how: &Replay<'_>, kept: &KeptResult) -> Option<usize> {
    let (place, repeat) = (usize::try_from(kept.place).ok()?, kept.repeat as usize);
    (place < how.cases && repeat < how.repeat).then(|| place * how.repeat + repeat)
}

async fn hand_over(
    store: &dyn Store,
    how: &Replay<'_>,
    order: usize,
    mut result: CaseResult,
    outlet: &dyn Outlet,
) -> Result<(), ResumeError> {
    let reads = how.out.is_some() || outlet.reads_ledgers(&result);
    let run = as_it_ran(store, &result, reads).await?;
    result.ledgers.clear();
    if let Some(out) = how.out {
        let stem = out.stems().stem(order / how.repeat, &result.name, result.repeat);
        for ledger in run.ledgers().filter(|ledger| !ledger.events().is_empty()) {
            let path = ledger_path(&stem, ledger.part());
            write_ledger(&path, ledger).map_err(|error| {
                StoreError::Corrupt(format!("cannot write `{}`: {error}", path.display()))
            })?;
            result.ledgers.push(path.display().to_string());
        }
    }
    outlet.ended(order, result, &run);
    Ok(())
}

/// A case as it ran, with its ledgers where somebody reads them.
///
/// # Errors
/// The store fails.
pub async fn as_it_ran(store: &dyn Store, result: &CaseResult, reads: bool) -> Result<CaseRun, StoreError> {
    let nothing = || Ledger::new(Ids::seeded(result.seed).session(&result.name, 0));
    let mut run = CaseRun { result: result.clone(), main: nothing(), users: None, judge: None };
    if !reads {
        return Ok(run);
    }
    for session in &result.sessions {
        let ledger = match read_ledger(store, session).await {
            // Somebody removed it; what it came to is still known.
            Err(StoreError::NotFound { .. }) => continue,
            ledger => ledger?,
        };
        match ledger.part() {
            SessionPart::Main => run.main = ledger,
            SessionPart::User => run.users = Some(ledger),
            SessionPart::Judge => run.judge = Some(ledger),
        }
    }
    Ok(run)
}

fn write_ledger(path: &Path, ledger: &Ledger) -> std::io::Result<()> {
    let mut lines = Vec::new();
    for event in ledger.events() {
        rehearsal_core::json::to_writer(&mut lines, &**event)?;
        lines.push(b'\n');
    }
    std::fs::write(path, lines)
}
