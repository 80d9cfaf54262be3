//! Bringing the cases of parts over into one run.

use std::fs;
use std::sync::Arc;

use rehearsal_core::{
    BudgetReport, CaseResult, CaseTable, Clock, Event, Ledger, ModelCalls, RunPart, RunResult, SessionId,
    SessionPart, Shard, Timestamp,
};
use rehearsal_metrics::Tally;
use rehearsal_sim::CaseRun;
use rehearsal_store::{
    Block, EndedCase, NewEvent, NewSession, RunAbout, RunLife, RunRecord, RunStatus, SessionLines,
    SessionRecord, Store, StoreError, StoreRef, Write, new_id, session_id,
};

use super::{Merge, MergeError, Part, PartRun};
use crate::archive::{BYTES, CASES, line};
use crate::driver::status_of;
use crate::{OutFolder, Outlet, ledger_path};

/// How many events of a session are read and written at a time.
const EVENTS: u32 = 500;

/// Where a merged run goes.
#[derive(Clone, Copy)]
pub struct Joined<'a> {
    /// The store that keeps it.
    pub store: &'a StoreRef,
    /// What somebody calls it.
    pub name: Option<&'a str>,
    /// The folder for its ledgers as files; nothing when none were asked for.
    pub out: Option<&'a OutFolder>,
    /// What the time is.
    pub clock: &'a dyn Clock,
    /// Is handed what cases came to.
    pub outlet: &'a dyn Outlet,
    /// Whether the outlet looks at the ledgers of such a case.
    pub wants_ledgers: &'a (dyn Fn(&CaseResult) -> bool + Send + Sync),
}

impl std::fmt::Debug for Joined<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Joined").field("store", &self.store).finish_non_exhaustive()
    }
}

impl Merge {
    /// Makes one run of the parts, and gives its id and its result without those of its cases, which the outlet was
    /// handed. The parts stay as they are.
    ///
    /// # Errors
    /// A case is in two parts, a part does not have what it says, or a store fails. Nothing of the run is kept then.
    pub async fn join(&self, into: Joined<'_>) -> Result<(String, RunResult), MergeError> {
        let id = new_id();
        let joined = self.bring(&id, into).await;
        if joined.is_err() {
            // Half a run is worse than none; what cannot be removed now is at least no lie: it never ended.
            let _removed = into.store.delete_run(&id).await;
        }
        joined.map(|result| (id, result))
    }

    async fn bring(&self, id: &str, into: Joined<'_>) -> Result<RunResult, MergeError> {
        let mut result = self.frame();
        let mut record = self.record(id, &result, into.name);
        into.store.put_run(&record).await?;
        into.store.touch_run(id, into.clock.now().as_millisecond()).await?;
        let mut bringing = Bringing {
            into,
            run: id,
            repeat: self.recipe.repeat.max(1),
            tally: Tally::new(vec!["".into(); self.cases()], self.recipe.repeat),
            names: vec![None; self.cases()],
            has: vec![0; self.cases() * self.recipe.repeat.max(1) as usize],
            block: Block { number: 0, cases: Vec::new() },
            bytes: 0,
            next: 0,
        };
        for part in &self.parts {
            bringing.part(part).await?;
        }
        bringing.write().await?;
        let suite = bringing.suite();
        result.suite.summary = suite.summary;
        result.suite.repeats = suite.repeats;
        record.status = status_of(&result);
        record.ended_at = Some(result.started_at.as_millisecond() + signed(result.duration_ms));
        record.result =
            Some(serde_json::to_value(&result).map_err(|error| StoreError::Corrupt(error.to_string()))?);
        into.store.put_run(&record).await?;
        Ok(result)
    }

    fn cases(&self) -> usize {
        usize::try_from(self.recipe.cases).unwrap_or(usize::MAX)
    }

    fn record(&self, id: &str, result: &RunResult, name: Option<&str>) -> RunRecord {
        let first = &self.parts[0].run.run;
        let suffix = title_of_part("", self.parts[0].shard);
        RunRecord {
            id: id.to_owned(),
            started_at: result.started_at.as_millisecond(),
            ended_at: None,
            title: first.title.strip_suffix(&suffix).unwrap_or(&first.title).to_owned(),
            status: RunStatus::Running,
            about: RunAbout {
                name: name.or(self.name()).map(str::to_owned),
                recipe: Some(Box::new(self.recipe.clone())),
                process: None,
                ..first.about.clone()
            },
            result: None,
            life: RunLife::default(),
        }
    }

    /// What the run came to, without its cases and counts.
    fn frame(&self) -> RunResult {
        let results = || self.parts.iter().map(|part| &part.result);
        let end = |result: &RunResult| result.started_at.as_millisecond() + signed(result.duration_ms);
        let started_at = results().map(|result| result.started_at).min().unwrap_or(Timestamp::UNIX_EPOCH);
        let ended_at = results().map(end).max().unwrap_or_default();
        let mut whole = RunResult::new(started_at, self.recipe.seed);
        whole.duration_ms = u64::try_from(ended_at - started_at.as_millisecond()).unwrap_or(0);
        for result in results() {
            whole.seed = result.seed;
            whole.eval_set = whole.eval_set.or_else(|| result.eval_set.clone());
            result.calls.iter().for_each(|calls| add_calls(&mut whole.calls, calls));
            add_table(&mut whole.suite.table, result.suite.table.as_ref());
        }
        whole.budget = budget(&self.parts);
        whole.parts = self.parts.iter().map(run_part).collect();
        whole
    }
}

/// The title of a part of a run with this title.
pub fn title_of_part(title: &str, shard: Shard) -> String {
    format!("{title} (part {shard})")
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn run_part(part: &Part) -> RunPart {
    let summary = &part.result.suite.summary;
    RunPart {
        shard: part.shard,
        run: part.run.run.id.clone(),
        cases: summary.total - summary.not_run,
        duration_ms: part.result.duration_ms,
        node: part.recipe.machine.clone(),
        attempts: (part.attempts > 1).then_some(part.attempts),
    }
}

/// Adds the calls of a part. Its highest and its limit are those of one process: they do not add up.
fn add_calls(all: &mut Vec<ModelCalls>, calls: &ModelCalls) {
    let Some(own) = all.iter_mut().find(|own| own.model == calls.model) else {
        return all.push(calls.clone());
    };
    own.sent += calls.sent;
    own.refused += calls.refused;
    own.peak = own.peak.max(calls.peak);
    own.limit = own.limit.max(calls.limit);
    own.pause_ms = own.pause_ms.max(calls.pause_ms);
}

/// Adds the table of a part. Each part has all lines and columns.
fn add_table(all: &mut Option<CaseTable>, table: Option<&CaseTable>) {
    let Some(table) = table else { return };
    let Some(all) = all else {
        *all = Some(table.clone());
        return;
    };
    for (own, other) in all.variants.iter_mut().zip(&table.variants) {
        own.all.add(other.all);
    }
    for (own, other) in all.rows.iter_mut().zip(&table.rows) {
        for (own, other) in own.cells.iter_mut().zip(&other.cells) {
            if let Some(other) = other {
                own.get_or_insert_default().add(*other);
            }
        }
    }
}

/// What the parts used of their budgets. Limits are those of a part each, and add up, except of time.
fn budget(parts: &[Part]) -> Option<BudgetReport> {
    let mut whole: Option<BudgetReport> = None;
    for part in parts {
        let Some(own) = &part.result.budget else { continue };
        let reached = own.reached.as_ref().map(|why| format!("part {}: {why}", part.shard));
        let Some(all) = &mut whole else {
            whole = Some(BudgetReport { reached, ..own.clone() });
            continue;
        };
        let add = |a: Option<f64>, b: Option<f64>| Some(a? + b?);
        all.max_tokens = all.max_tokens.zip(own.max_tokens).map(|(a, b)| a.saturating_add(b));
        all.max_cost = add(all.max_cost, own.max_cost);
        all.max_time_ms = all.max_time_ms.max(own.max_time_ms);
        all.spent.tokens = all.spent.tokens.saturating_add(own.spent.tokens);
        all.spent.cost = add(all.spent.cost, own.spent.cost);
        all.reached = all.reached.take().or(reached);
    }
    whole
}

/// A merged run while its cases are brought over.
struct Bringing<'a> {
    into: Joined<'a>,
    run: &'a str,
    repeat: u32,
    tally: Tally,
    /// The name of each case of which something ended.
    names: Vec<Option<Arc<str>>>,
    /// The part that had each run of a case; 0 where none did so far.
    has: Vec<u32>,
    /// The cases that wait to be written.
    block: Block,
    bytes: usize,
    /// The number of the next case.
    next: u32,
}

impl Bringing<'_> {
    async fn part(&mut self, part: &Part) -> Result<(), MergeError> {
        let (mut after, mut kept) = (None, 0);
        let from = &part.run;
        let store = from.source.open().await?;
        while let Some(block) = store.block(&from.run.id, after).await? {
            after = Some(block.number);
            kept += block.cases.len() as u64;
            for case in block.cases {
                self.case(part, &*store, case).await?;
            }
        }
        let summary = &part.result.suite.summary;
        let said = u64::from(summary.total - summary.not_run);
        if said != kept {
            return Err(MergeError::NotWhole { shard: part.shard, run: from.to_string(), said, kept });
        }
        Ok(())
    }

    async fn case(&mut self, part: &Part, store: &dyn Store, mut case: EndedCase) -> Result<(), MergeError> {
        let from = &part.run;
        let unreadable = |why: String| MergeError::Unreadable { run: from.to_string(), why };
        let mut result: CaseResult =
            rehearsal_core::json::from_str(&case.result).map_err(|error| unreadable(error.to_string()))?;
        let place = usize::try_from(case.place).unwrap_or(usize::MAX);
        let repeat = self.repeat as usize;
        let order = place.saturating_mul(repeat).saturating_add(case.repeat as usize);
        let (Some(has), true) = (self.has.get_mut(order), case.repeat < self.repeat) else {
            return Err(unreadable(format!("`{}` has a place that the run does not have", result.name)));
        };
        if let Some(index) = std::num::NonZeroU32::new(*has) {
            let first = Shard { index: index.get(), of: part.shard.of };
            let (name, repeat) = (result.name, result.repeat);
            return Err(MergeError::Twice { name, repeat, first, second: part.shard });
        }
        *has = part.shard.index;
        self.names[place] = Some(result.name.as_str().into());
        self.tally.ended(order, result.status, result.fault);
        let run = self.sessions(from, store, &case, &mut result).await?;
        self.ledgers(&case, &mut result)?;
        case.result = line(&result)?;
        case.number = self.next;
        self.next += 1;
        self.bytes += case.sessions.iter().map(|own| own.lines.len()).sum::<usize>() + case.result.len();
        self.block.cases.push(case);
        if self.block.cases.len() >= CASES || self.bytes >= BYTES {
            self.write().await?;
        }
        self.into.outlet.ended(order, result, &run);
        Ok(())
    }

    async fn write(&mut self) -> Result<(), MergeError> {
        if self.block.cases.is_empty() {
            return Ok(());
        }
        self.into.store.put_block(self.run, &self.block).await?;
        self.block = Block { number: self.block.number + 1, cases: Vec::new() };
        self.bytes = 0;
        Ok(())
    }

    /// Names the sessions of a case as they are called here, and brings those over that are kept by the event. Gives the
    /// case with its ledgers, where somebody looks at them.
    async fn sessions(
        &self,
        from: &PartRun,
        store: &dyn Store,
        case: &EndedCase,
        result: &mut CaseResult,
    ) -> Result<CaseRun, MergeError> {
        let mut named = Vec::with_capacity(result.sessions.len());
        let mut run = CaseRun {
            result: result.clone(),
            main: Ledger::new(SessionId::new("none")),
            users: None,
            judge: None,
        };
        let looks = (self.into.wants_ledgers)(result);
        for old in std::mem::take(&mut result.sessions) {
            let parts = [SessionPart::Main, SessionPart::User, SessionPart::Judge];
            let is_own =
                |part: &SessionPart| session_id(&from.run.id, case.number, *part).is_ok_and(|own| own == old);
            let known = parts.into_iter().find(is_own);
            let new = match known {
                Some(part) => session_id(self.run, self.next, part)?,
                None => SessionId::new(new_id()),
            };
            let in_block = known.and_then(|part| case.sessions.iter().find(|own| own.head.part == part));
            let ledger = match in_block {
                Some(_) if !looks => None,
                Some(own) => {
                    Some(read(own).map_err(|why| MergeError::Unreadable { run: from.to_string(), why })?)
                }
                None => self.live(store, &old, &new).await?,
            };
            if in_block.is_some() || ledger.is_some() {
                named.push(new);
            }
            match ledger {
                Some(ledger) if ledger.part() == SessionPart::Main => run.main = ledger,
                Some(ledger) if ledger.part() == SessionPart::User => run.users = Some(ledger),
                Some(ledger) => run.judge = Some(ledger),
                None => {}
            }
        }
        result.sessions = named;
        Ok(run)
    }

    /// Brings a session over that is kept by the event, because a person played along. Nothing where it was removed.
    async fn live(
        &self,
        from: &dyn Store,
        old: &SessionId,
        new: &SessionId,
    ) -> Result<Option<Ledger>, MergeError> {
        let Some(session) = from.session(old).await? else { return Ok(None) };
        copy_session(from, &**self.into.store, &session, new, self.run).await?;
        Ok(Some(rehearsal_store::read_ledger(from, old).await?))
    }

    /// Writes the ledgers of a case as files, where they are wanted. Those of its part are elsewhere.
    fn ledgers(&self, case: &EndedCase, result: &mut CaseResult) -> Result<(), MergeError> {
        result.ledgers.clear();
        let Some(out) = self.into.out else { return Ok(()) };
        let place = usize::try_from(case.place).unwrap_or(usize::MAX);
        let stem = out.stems().stem(place, &result.name, result.repeat);
        for session in case.sessions.iter().filter(|session| !session.lines.is_empty()) {
            let path = ledger_path(&stem, session.head.part);
            fs::write(&path, &session.lines)?;
            result.ledgers.push(path.display().to_string());
        }
        Ok(())
    }

    /// The counts and statistics of the whole run.
    fn suite(self) -> rehearsal_core::SuiteResult {
        let mut tally = self.tally;
        for (place, name) in self.names.into_iter().enumerate() {
            if let Some(name) = name {
                tally.name(place, name);
            }
        }
        tally.suite()
    }
}

/// The ledger of a session in a block.
fn read(session: &SessionLines) -> Result<Ledger, String> {
    let mut events: Vec<Arc<Event>> = Vec::new();
    for line in session.lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        events.push(rehearsal_core::json::from_slice(line).map_err(|error| error.to_string())?);
    }
    let id = events.first().map_or_else(|| SessionId::new("none"), |event| event.session.clone());
    Ledger::from_events(id, events).map_err(|error| error.to_string())
}

/// Copies a session that is kept by the event.
async fn copy_session(
    from: &dyn Store,
    to: &dyn Store,
    session: &SessionRecord,
    id: &SessionId,
    run: &str,
) -> Result<(), StoreError> {
    let mut create = Some(NewSession {
        created_at: session.created_at,
        description: session.description.clone(),
        source: session.source,
        agent: session.agent.clone(),
        part: session.part,
        run: Some(run.to_owned()),
        meta: session.meta.clone(),
    });
    let mut after = 0;
    loop {
        let page = from.events(&session.id, after, EVENTS).await?;
        let is_last = page.len() < EVENTS as usize;
        let mut write = Write::new(id.clone(), session.updated_at, after);
        after = page.last().map_or(after, |last| last.event.seq);
        write.create = create.take();
        write.events = page
            .into_iter()
            .map(|stored| NewEvent {
                event_id: new_id(),
                payload: stored.payload,
                event: stored.event,
                blob: stored.blob,
                line: None,
            })
            .collect();
        write.status = is_last.then_some(session.status);
        to.write(write).await?;
        if is_last {
            return Ok(());
        }
    }
}
