//! Sharding: which part of a run has which run of a case, on every machine and in every version.

use std::collections::BTreeMap;

use expect_test::expect;
use proptest::prelude::*;
use rehearsal_core::Shard;
use rehearsal_sim::{CaseId, case_ids, turns_of};

#[test]
fn the_part_of_a_case_is_a_promise() {
    let names = ["greets", "Refunds an order", "greets", "", "é / 問"];
    let parts: Vec<String> = case_ids(names, 3)
        .map(|case| {
            let CaseId { name, namesake, repeat } = case;
            format!("{name:?} {namesake} {repeat}: {} {} {}\n", case.part(2), case.part(3), case.part(1000))
        })
        .collect();
    expect![[r#"
        "greets" 0 0: 2 2 521
        "greets" 0 1: 2 3 989
        "greets" 0 2: 2 3 788
        "Refunds an order" 0 0: 1 2 490
        "Refunds an order" 0 1: 1 1 147
        "Refunds an order" 0 2: 2 3 902
        "greets" 1 0: 2 3 803
        "greets" 1 1: 1 1 151
        "greets" 1 2: 2 3 860
        "" 0 0: 1 1 283
        "" 0 1: 1 1 287
        "" 0 2: 1 1 44
        "é / 問" 0 0: 2 3 877
        "é / 問" 0 1: 2 2 570
        "é / 問" 0 2: 2 2 643
    "#]]
    .assert_eq(&parts.concat());
}

#[test]
fn parts_are_about_as_large() {
    let names: Vec<String> = (0..3000).map(|n| format!("case {n}")).collect();
    let names = || names.iter().map(String::as_str);
    for of in [2, 3, 10] {
        let sizes: Vec<usize> =
            (1..=of).map(|index| turns_of(Shard { index, of }, names(), 4).len()).collect();
        let (fair, of) = (12_000 / of as usize, of);
        assert!(sizes.iter().all(|size| size.abs_diff(fair) * 10 < fair), "{of}: {sizes:?}");
    }
}

proptest! {
    #[test]
    fn each_run_of_a_case_is_in_one_part_whatever_else_is_run(
        names in prop::collection::vec("[a-d]{0,2}", 0..30),
        repeat in 1..5_u32,
        of in 1..9_u32,
    ) {
        let turns = |names: &[String]| -> Vec<Vec<usize>> {
            let part = |index| turns_of(Shard { index, of }, names.iter().map(String::as_str), repeat);
            (1..=of).map(part).collect()
        };
        let mut all = turns(&names).concat();
        all.sort_unstable();
        prop_assert_eq!(all, (0..names.len() * repeat as usize).collect::<Vec<_>>());
        let placed = |names: &[String]| -> BTreeMap<(String, u64, u32), u32> {
            let ids = case_ids(names.iter().map(String::as_str), repeat);
            ids.map(|id| ((id.name.to_owned(), id.namesake, id.repeat), id.part(of))).collect()
        };
        // A case that comes after all others moves none of them.
        let more: Vec<String> = names.iter().cloned().chain(["z".to_owned()]).collect();
        let (before, after) = (placed(&names), placed(&more));
        prop_assert!(before.iter().all(|(id, part)| after.get(id) == Some(part)));
    }
}
