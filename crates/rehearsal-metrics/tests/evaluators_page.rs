//! The page of reference comes from the list of evaluators.

use expect_test::expect_file;
use rehearsal_metrics::evaluator::{KINDS, evaluators_page};

#[test]
fn the_page_is_the_one_that_the_list_makes() {
    expect_file!["../../../docs/reference/evaluators.md"].assert_eq(&evaluators_page());
}

#[test]
fn every_evaluator_has_an_example_of_its_own() {
    let page = evaluators_page();
    for kind in KINDS {
        assert!(page.contains(&format!("- type: {}\n", kind.name)), "{} has no example", kind.name);
    }
}
