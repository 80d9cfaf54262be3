//! No query and no document make the query language panic; explaining agrees with matching.

use rehearsal_core::Query;
use serde_json::Value;

/// The text is a query, a line break, and a document.
pub(crate) fn check(text: &str) {
    let Some((query, document)) = text.split_once('\n') else { return };
    let (Ok(query), Ok(document)) =
        (rehearsal_core::json::from_str::<Value>(query), rehearsal_core::json::from_str::<Value>(document))
    else {
        return;
    };
    if let Ok(query) = Query::parse(&query) {
        let matched = query.matches(&document);
        assert_eq!(query.explain(&document).iter().all(|clause| clause.matched), matched);
    }
}
