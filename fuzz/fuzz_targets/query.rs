//! No query and no document make the query language panic; explaining agrees with matching.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rehearsal_core::Query;
use serde_json::Value;

fuzz_target!(|text: &str| {
    let Some((query, document)) = text.split_once('\n') else { return };
    let (Ok(query), Ok(document)) = (serde_json::from_str::<Value>(query), serde_json::from_str::<Value>(document)) else {
        return;
    };
    if let Ok(query) = Query::parse(&query) {
        let matched = query.matches(&document);
        assert_eq!(query.explain(&document).iter().all(|clause| clause.matched), matched);
    }
});
