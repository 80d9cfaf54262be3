//! What fuzzing found once, and what it keeps as interesting, replayed.
#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::fs;
use std::path::Path;

#[path = "../../../fuzz/checks/expression.rs"]
mod expression;
#[path = "../../../fuzz/checks/scenario.rs"]
mod scenario;

/// Hands every text of a corpus to a check.
fn replay(corpus: &str, check: impl Fn(&str)) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds").join(corpus);
    let mut count = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let bytes = fs::read(entry.unwrap().path()).unwrap();
        check(&String::from_utf8(bytes).unwrap());
        count += 1;
    }
    assert!(count > 0, "the corpus `{corpus}` is empty");
}

#[test]
fn scenario_files() {
    replay("scenario", scenario::check);
}

#[test]
fn expressions() {
    replay("expression", expression::check);
}
