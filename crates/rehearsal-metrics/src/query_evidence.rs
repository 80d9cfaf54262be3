//! Why a query does not match.

use rehearsal_core::Query;
use serde_json::Value;

use crate::excerpt::{EVIDENCE, excerpt};

/// What a query asks that a document does not keep, each in words with its place; empty where it matches.
pub(crate) fn unmet(query: &Query, document: &Value, place: impl Fn(&str) -> String) -> Vec<String> {
    if query.matches(document) {
        return Vec::new();
    }
    let clauses = query.explain(document).into_iter().filter(|clause| !clause.matched);
    let told = clauses.map(|clause| {
        let actual = clause.actual.map_or_else(|| "nothing".to_owned(), |actual| short(&actual));
        format!("{} expected {}, got {actual}", place(&clause.path), short(&clause.expected))
    });
    let told: Vec<String> = told.collect();
    // What does not match is never told as if it did.
    if told.is_empty() { vec![format!("expected {}", short(query.source()))] } else { told }
}

/// The same as one text; nothing where it matches.
pub(crate) fn mismatch(query: &Query, document: &Value) -> Option<String> {
    (!query.matches(document)).then(|| unmet(query, document, str::to_owned).join("; "))
}

fn short(value: &Value) -> String {
    excerpt(&rehearsal_core::json::text(value), EVIDENCE)
}
