#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../checks/json.rs"]
mod check;

fuzz_target!(|text: &str| check::check(text));
