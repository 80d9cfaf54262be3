//! What fuzzing found once, and what it keeps as interesting, replayed.

use std::fs;
use std::path::Path;

#[path = "../../../fuzz/checks/query.rs"]
mod query;

#[test]
fn queries() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/query");
    let mut count = 0;
    for entry in fs::read_dir(folder).unwrap() {
        query::check(&fs::read_to_string(entry.unwrap().path()).unwrap());
        count += 1;
    }
    assert!(count > 0, "the corpus is empty");
}
