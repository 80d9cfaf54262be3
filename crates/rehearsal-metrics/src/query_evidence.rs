//! Why a query does not match.

use rehearsal_core::Query;
use serde_json::Value;

use crate::excerpt::{EVIDENCE, excerpt};

/// The clauses of a query that a document does not satisfy, in words; nothing where it matches.
pub(crate) fn unmet(query: &Query, document: &Value) -> Option<String> {
    if query.matches(document) {
        return None;
    }
    let clauses = query.explain(document).into_iter().filter(|clause| !clause.matched);
    let told = clauses.map(|clause| {
        let actual = clause.actual.map_or_else(|| "nothing".to_owned(), |actual| short(&actual));
        format!("{} expected {}, got {actual}", clause.path, short(&clause.expected))
    });
    Some(told.collect::<Vec<_>>().join("; "))
}

fn short(value: &Value) -> String {
    excerpt(&rehearsal_core::json::text(value), EVIDENCE)
}
