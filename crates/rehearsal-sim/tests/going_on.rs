//! Suites that go on, and suites whose runs are added until enough of them count.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use futures::FutureExt as _;
use proptest::prelude::*;
use rehearsal_agent::*;
use rehearsal_core::*;
use rehearsal_metrics::*;
use rehearsal_sim::*;

/// What runs of a case come to, by their repeats: it passes, fails, or its user breaks.
type Outcomes = Vec<u8>;

fn case(name: String, outcomes: Outcomes) -> CaseMaker {
    CaseMaker::new(&name.clone(), move |options| {
        let outcome = outcomes.get(options.repeat as usize).copied().unwrap_or_default();
        let talker = Step::new("talker", |cx| Ok(cx.respond("hi")));
        let user =
            Step::new("user", move |cx| if outcome == 2 { Err("no".into()) } else { Ok(cx.respond("bye")) });
        let wanted = if outcome == 0 { "hi" } else { "ho" };
        Case::new(&name, Loop::new("talk", talker).max_rounds(2))
            .first_message("hi")
            .loop_user(user)
            .metric(FinalResponse::new("says").contains(wanted))
    })
}

type Told = BTreeMap<usize, (Verdict, Option<Fault>)>;

/// Runs a suite, and gives what each run came to that was run now, and the suite.
fn run(cases: &[Outcomes], repeat: u32, valid: Option<u32>, known: Told, jobs: usize) -> (Told, SuiteResult) {
    let cases = cases.iter().enumerate().map(|(n, outcomes)| case(format!("case {n}"), outcomes.clone()));
    let mut suite = Suite::new(cases).jobs(jobs).repeat(repeat).known(known);
    if let Some(valid) = valid {
        suite = suite.valid(valid, repeat);
    }
    let told = Arc::<Mutex<Told>>::default();
    let tell = told.clone();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let result = runtime.block_on(suite.run_each(move |order, run| {
        let ended = (run.result.status, run.result.fault);
        assert!(tell.lock().unwrap().insert(order, ended).is_none(), "{order} was run twice");
        futures::future::ready(()).boxed()
    }));
    let told = told.lock().unwrap().clone();
    (told, result)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Whatever is known already: what is left is run, once, and the whole comes to the same.
    #[test]
    fn what_goes_on_comes_to_what_it_would_have(
        cases in prop::collection::vec(prop::collection::vec(0u8..3, 6), 1..5),
        valid in prop::option::of(1u32..4),
        chosen in prop::collection::vec(any::<bool>(), 30),
        jobs in 1usize..5,
    ) {
        let (all, whole) = run(&cases, 6, valid, Told::new(), jobs);
        let known: Told = all.iter().filter(|(order, _)| chosen[**order]).map(|(o, e)| (*o, *e)).collect();
        let (now, gone_on) = run(&cases, 6, valid, known.clone(), jobs);
        prop_assert!(now.keys().all(|order| !known.contains_key(order)));
        let joined: BTreeSet<usize> = now.keys().chain(known.keys()).copied().collect();
        prop_assert_eq!(joined, all.keys().copied().collect::<BTreeSet<_>>());
        prop_assert_eq!(gone_on, whole);
    }

    /// The runs that count are the first ones, as many as are wanted, whatever runs side by side.
    #[test]
    fn valid_runs_are_counted_in_the_order_of_repeats(
        outcomes in prop::collection::vec(0u8..3, 9),
        wanted in 1u32..4,
        jobs in 1usize..5,
    ) {
        let (told, suite) = run(std::slice::from_ref(&outcomes), 9, Some(wanted), Told::new(), jobs);
        let mut expected = 0;
        let mut valid = 0;
        while expected < 9 && valid < wanted {
            valid += u32::from(outcomes[expected] != 2);
            expected += 1;
        }
        prop_assert_eq!(told.keys().copied().collect::<Vec<_>>(), (0..expected).collect::<Vec<_>>());
        let Summary { total, invalid, replaced, .. } = suite.summary;
        prop_assert_eq!((total as usize, invalid), (expected, u32::try_from(expected).unwrap() - valid));
        prop_assert_eq!(replaced, if valid == wanted { invalid } else { 0 });
        let missing = suite.repeats.iter().find_map(|one| one.wanted);
        prop_assert_eq!(missing, (valid < wanted).then_some(wanted));
        let passed = outcomes[..expected].iter().all(|outcome| *outcome != 1) && valid == wanted;
        prop_assert_eq!(suite.passed(), passed);
    }
}

#[test]
fn the_first_failure_of_before_starts_nothing_now() {
    let cases = ["a", "b", "c"].map(|name| case(name.to_owned(), vec![0]));
    let known = Told::from([(0, (Verdict::Failed, Some(Fault::Agent)))]);
    let suite = Suite::new(cases).on_first_failure(OnFirstFailure::Stop).known(known);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let Summary { total, failed, not_run, .. } = runtime.block_on(suite.run()).result.summary;
    assert_eq!((total, failed, not_run), (3, 1, 2));
}
