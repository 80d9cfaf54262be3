//! Converting schemas both ways never panics, and what is canonical already stays as it is.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rehearsal_core::schema::{from_genai, to_genai};
use serde_json::Value;

fuzz_target!(|text: &str| {
    if let Ok(schema) = serde_json::from_str::<Value>(text) {
        let canonical = from_genai(&schema);
        assert_eq!(from_genai(&canonical), canonical);
        to_genai(&canonical);
    }
});
