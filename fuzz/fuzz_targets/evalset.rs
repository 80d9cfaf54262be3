//! Any text is an `EvalSet` or an error that says why; what is read is written and read back the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rehearsal_adk::{Criteria, EvalSet};

fuzz_target!(|text: &str| {
    Criteria::read(text).ok();
    let Ok(read) = EvalSet::read(text) else { return };
    let written = read.set.to_json();
    let again = EvalSet::read(&written).expect("what was written can be read");
    assert_eq!(again.set.to_json(), written);
});
