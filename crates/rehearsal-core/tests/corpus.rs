//! What fuzzing found once, and what it keeps as interesting, replayed.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::fs;
use std::path::Path;

#[path = "../../../fuzz/checks/json.rs"]
mod json;
#[path = "../../../fuzz/checks/query.rs"]
mod query;

#[test]
fn queries() {
    replay("query", query::check);
}

#[test]
fn json() {
    replay("json", json::check);
}

fn replay(name: &str, check: fn(&str)) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds").join(name);
    let mut count = 0;
    for entry in fs::read_dir(folder).unwrap() {
        check(&fs::read_to_string(entry.unwrap().path()).unwrap());
        count += 1;
    }
    assert!(count > 0, "the corpus is empty");
}
