//! Runs that are cut into parts, kept apart, and merged: they are what one run gives.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use proptest::prelude::*;
use rehearsal_agent::Step;
use rehearsal_core::{CaseResult, FixedClock, Ledger, RunResult, Shard};
use rehearsal_metrics::FinalResponse;
use rehearsal_run::{
    CaseKey, Counts, Driver, Joined, KeptRun, Merge, MergeError, Outlet, PartRun, Plan, Source, Watch,
};
use rehearsal_sim::person::PersonCue;
use rehearsal_sim::{Cancel, Case, CaseMaker, CaseRun, turns_of};
use rehearsal_store::{Recipe, RunAbout, RunRecord, StoreRef, read_ledger};

/// Nobody watches.
struct Nobody;

impl Watch for Nobody {
    fn started(&self, _: CaseKey, _: &str) {}
    fn counted(&self, _: CaseKey, _: Counts) {}
    fn finished(&self, _: CaseKey, _: &CaseRun) {}
    fn asked(&self, _: &str, _: &PersonCue) -> Box<dyn Any + Send> {
        Box::new(())
    }
}

/// What cases came to, by their place, with what was said.
#[derive(Default)]
struct Heard(Mutex<BTreeMap<usize, (CaseResult, Vec<String>)>>);

impl Outlet for Heard {
    fn ended(&self, order: usize, mut result: CaseResult, run: &CaseRun) {
        result.sessions.clear();
        let ledgers = run.ledgers().map(Ledger::to_jsonl).collect();
        assert!(self.0.lock().unwrap().insert(order, (result, ledgers)).is_none(), "a case came twice");
    }
}

impl Heard {
    fn all(&self) -> BTreeMap<usize, (CaseResult, Vec<String>)> {
        self.0.lock().unwrap().clone()
    }
}

/// A suite, by the names of its cases; the first letter says what comes of them.
#[derive(Clone, Debug)]
struct Cases {
    names: Vec<String>,
    repeat: u32,
}

impl Cases {
    fn makers(&self) -> Vec<CaseMaker> {
        let case = |name: &String| {
            let says = Step::new("clerk", |cx| Ok(cx.respond("hello")));
            let breaks = Step::new("clerk", |_| Err("no".into()));
            let agent = if name.starts_with('e') { breaks } else { says };
            let case = Case::new(name, agent).first_message("hi");
            let wanted = if name.starts_with('f') { "bye" } else { "hello" };
            CaseMaker::from(case.metric(FinalResponse::new("answer").contains(wanted)))
        };
        self.names.iter().map(case).collect()
    }

    fn recipe(&self, shard: Option<Shard>) -> Recipe {
        Recipe {
            digest: "the same".to_owned(),
            cases: self.names.len() as u64,
            repeat: self.repeat,
            seed: 7,
            shard,
            ..Recipe::default()
        }
    }

    /// Runs all of it, or a part; gives the id of the run.
    async fn run(
        &self,
        store: &StoreRef,
        shard: Option<Shard>,
        fail_fast: bool,
    ) -> (String, RunResult, Heard) {
        let about = RunAbout { recipe: Some(Box::new(self.recipe(shard))), ..RunAbout::default() };
        let kept =
            KeptRun::begin(store.clone(), Arc::new(FixedClock::default()), "suite", about).await.unwrap();
        let turns = shard.map(|shard| turns_of(shard, self.names.iter().map(String::as_str), self.repeat));
        let driver = Driver {
            plan: Plan { seed: 7, case_seed: None, repeat: self.repeat, jobs: 4, fail_fast, valid: None },
            earlier: None,
            turns: turns.map(Into::into),
            kept: Some(kept.clone()),
            out: None,
            cancel: Cancel::default(),
            watch: Arc::new(Nobody),
            calls: Arc::new(Vec::new),
            budget: None,
            clock: Arc::new(FixedClock::default()),
        };
        let heard = Arc::new(Heard::default());
        let describe = Arc::new(|_, run: &CaseRun| run.result.clone());
        let mut result = driver.run(self.makers(), describe, heard.clone()).await;
        result.shard = shard;
        driver.end(&result).await.unwrap();
        let all = heard.all();
        (kept.id(), result, Heard(Mutex::new(all)))
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

async fn part(store: &StoreRef, id: &str) -> PartRun {
    let run = store.run_frame(id).await.unwrap().unwrap();
    PartRun { source: Source::Open(store.clone()), run, from: "here".to_owned() }
}

async fn join(merge: &Merge, store: &StoreRef) -> Result<(RunRecord, RunResult, Heard), MergeError> {
    let heard = Heard::default();
    let joined = Joined {
        store,
        name: Some("merged"),
        out: None,
        clock: &FixedClock::default(),
        outlet: &heard,
        wants_ledgers: &|_| true,
    };
    let (id, result) = merge.join(joined).await?;
    Ok((store.run(&id).await.unwrap().unwrap(), result, heard))
}

/// The same without what says that it was merged.
fn whole(mut result: RunResult) -> RunResult {
    result.parts.clear();
    result.duration_ms = 0;
    result
}

/// What is kept of a run: what cases came to, each with its ledgers, named by their place.
async fn kept(store: &StoreRef, run: &RunRecord) -> Vec<(CaseResult, Vec<String>)> {
    let result = RunResult::read(run.result.clone().unwrap()).unwrap();
    let mut all = Vec::new();
    for mut case in result.suite.results {
        let mut ledgers = Vec::new();
        for id in std::mem::take(&mut case.sessions) {
            ledgers.push(read_ledger(&**store, &id).await.unwrap().to_jsonl());
        }
        all.push((case, ledgers));
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
    #[test]
    fn parts_make_the_run_that_one_would_have_been(
        names in prop::collection::vec("[pfe][ab]?", 1..12),
        repeat in 1..4_u32,
        of in 1..6_u32,
    ) {
        let cases = Cases { names, repeat };
        runtime().block_on(async move {
            let folder = tempfile::tempdir().unwrap();
            let place = |name: &str| folder.path().join(name).display().to_string();
            let home = rehearsal_store::open(&place("home.db")).await.unwrap();
            let (id, one, said) = cases.run(&home, None, false).await;
            let one_kept = kept(&home, &home.run(&id).await.unwrap().unwrap()).await;
            let mut parts = Vec::new();
            for index in (1..=of).rev() {
                let store = rehearsal_store::open(&place(&format!("{index}.db"))).await.unwrap();
                let (id, ..) = cases.run(&store, Some(Shard { index, of }), false).await;
                let from = Source::Place(place(&format!("{index}.db")));
                parts.push(PartRun { source: from, ..part(&store, &id).await });
            }
            let merge = Merge::of(parts).unwrap();
            let (record, merged, heard) = join(&merge, &home).await.unwrap();
            assert_eq!(merged.parts.len(), of as usize);
            assert_eq!(merged.parts.iter().map(|part| part.cases).sum::<u32>(), one.suite.summary.total);
            assert_eq!(whole(merged), whole(one));
            assert_eq!(heard.all(), said.all());
            assert_eq!(kept(&home, &record).await, one_kept);
            assert_eq!(record.about.recipe.unwrap().shard, None);
        });
    }
}

/// A suite in three parts, kept in one store; the ids of the parts.
async fn three(cases: &Cases, store: &StoreRef) -> Vec<String> {
    let mut ids = Vec::new();
    for index in 1..=3 {
        ids.push(cases.run(store, Some(Shard { index, of: 3 }), false).await.0);
    }
    ids
}

fn some() -> Cases {
    Cases { names: ["pa", "f", "pb", "pa", "pc"].map(str::to_owned).to_vec(), repeat: 3 }
}

async fn merged(parts: Vec<PartRun>, store: &StoreRef) -> String {
    match Merge::of(parts) {
        Ok(merge) => {
            join(&merge, store).await.map_or_else(|error| error.to_string(), |_| "merged".to_owned())
        }
        Err(error) => error.to_string(),
    }
}

#[test]
fn what_makes_no_whole_run_is_refused_by_name() {
    runtime().block_on(async {
        let folder = tempfile::tempdir().unwrap();
        let store = rehearsal_store::open(&folder.path().join("s.db").display().to_string()).await.unwrap();
        let cases = some();
        let ids = three(&cases, &store).await;
        let mut parts = Vec::new();
        for id in &ids {
            parts.push(part(&store, id).await);
        }
        let changed = |index: usize, change: &dyn Fn(&mut PartRun)| {
            let mut parts = parts.clone();
            change(&mut parts[index]);
            parts
        };
        let recipe = |part: &mut PartRun, change: &dyn Fn(&mut Recipe)| {
            change(part.run.about.recipe.as_mut().unwrap());
        };
        let named = |text: &str| {
            let short =
                |text: String, (n, id): (usize, &String)| text.replace(&id[..8], &format!("R{}", n + 1));
            ids.iter().enumerate().fold(text.to_owned(), short)
        };
        let check = async |parts: Vec<PartRun>, expected: &str| {
            let before = store.runs(&rehearsal_store::RunQuery::default()).await.unwrap().items.len();
            let told = named(&merged(parts, &store).await);
            assert!(told.contains(expected), "{told}");
            let after = store.runs(&rehearsal_store::RunQuery::default()).await.unwrap().items.len();
            assert_eq!(before, after, "nothing is kept of what was refused");
        };
        check(Vec::new(), "there is no part").await;
        check(parts[..1].to_vec(), "2 parts of 3 missing: 2/3, 3/3").await;
        check(vec![parts[0].clone(), parts[2].clone()], "1 part of 3 missing: 2/3").await;
        let whole = changed(1, &|part| recipe(part, &|recipe| recipe.shard = None));
        check(whole, "run R2 in here is no part of a run").await;
        let other = changed(1, &|part| recipe(part, &|recipe| recipe.digest = "another".to_owned()));
        check(other, "run R1 in here and run R2 in here are parts of different runs").await;
        let plan = changed(2, &|part| recipe(part, &|recipe| recipe.plan = Some("0123456789".to_owned())));
        check(plan, "run R3 in here is part 3/3 by plan 01234567").await;
        let four = changed(2, &|part| recipe(part, &|recipe| recipe.shard = Some(Shard { index: 3, of: 4 })));
        check(four, "part 3/4 by hash").await;
        let running = changed(1, &|part| {
            (part.run.status, part.run.result) = (rehearsal_store::RunStatus::Running, None);
        });
        check(running, "part 2/3 did not come to its end: run R2 in here goes on, or was killed").await;
        let cut = changed(1, &|part| part.run.status = rehearsal_store::RunStatus::Interrupted);
        check(cut, "part 2/3 did not come to its end: run R2 in here was interrupted").await;
        // Another part's cases in its place: some are there twice, others never.
        let twice = changed(1, &|part| {
            (part.run.id, part.run.result) = (parts[0].run.id.clone(), parts[0].run.result.clone());
        });
        let told = named(&merged(twice, &store).await);
        assert!(told.contains("is in two parts: 1/3 and 2/3") || told.contains("the run has 15"), "{told}");
        let lost = changed(1, &|part| part.run.id = ids[2].replace(['0', '1'], "2"));
        check(lost, "and 0 are kept").await;
        assert_eq!(merged(parts, &store).await, "merged");
    });
}

#[test]
fn of_a_part_that_was_run_twice_the_last_that_ended_counts() {
    runtime().block_on(async {
        let folder = tempfile::tempdir().unwrap();
        let store = rehearsal_store::open(&folder.path().join("s.db").display().to_string()).await.unwrap();
        let cases = some();
        let mut ids = three(&cases, &store).await;
        ids.push(cases.run(&store, Some(Shard { index: 2, of: 3 }), false).await.0);
        let mut parts = Vec::new();
        for id in &ids {
            parts.push(part(&store, id).await);
        }
        parts[1].run.ended_at = Some(5);
        parts[3].run.ended_at = Some(9);
        // The same file, named twice, is no second try.
        parts.push(parts[0].clone());
        let (.., result) = run_parts(&parts, &store).await;
        let told: Vec<(u32, &str, Option<u32>)> =
            result.parts.iter().map(|part| (part.shard.index, &*part.run, part.attempts)).collect();
        assert_eq!(told, [(1, &*ids[0], None), (2, &*ids[3], Some(2)), (3, &*ids[2], None)]);
        // One that was interrupted later does not.
        parts[3].run.status = rehearsal_store::RunStatus::Interrupted;
        let (.., result) = run_parts(&parts, &store).await;
        assert_eq!((&*result.parts[1].run, result.parts[1].attempts), (&*ids[1], Some(2)));
    });
}

async fn run_parts(parts: &[PartRun], store: &StoreRef) -> (RunRecord, RunResult) {
    let merge = Merge::of(parts.to_vec()).unwrap();
    let (record, result, _) = join(&merge, store).await.unwrap();
    (record, result)
}

#[test]
fn what_a_part_did_not_run_was_not_run() {
    runtime().block_on(async {
        let folder = tempfile::tempdir().unwrap();
        let store = rehearsal_store::open(&folder.path().join("s.db").display().to_string()).await.unwrap();
        let cases = Cases { names: vec!["f".to_owned(); 8], repeat: 4 };
        let mut parts = Vec::new();
        for index in 1..=2 {
            let (id, result, _) = cases.run(&store, Some(Shard { index, of: 2 }), true).await;
            assert!(result.suite.summary.not_run > 0);
            parts.push(part(&store, &id).await);
        }
        let (record, result) = run_parts(&parts, &store).await;
        let summary = &result.suite.summary;
        assert_eq!((summary.total, summary.passed, summary.failed + summary.not_run), (32, 0, 32));
        assert!(summary.not_run > 0 && !result.suite.passed());
        assert_eq!(record.status, rehearsal_store::RunStatus::Failed);
    });
}
