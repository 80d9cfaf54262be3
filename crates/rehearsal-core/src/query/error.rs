//! Why a query cannot be compiled, and what was probably meant.

use serde_json::Value;

use super::parse::KNOWN;
use crate::edit_distance;

/// A query that cannot be compiled.
///
/// Each `place` is where in the query the trouble stands: a path such as `session.escalation`,
/// `$or[1].session.stage` or `answers.$elemMatch.score`; empty for the top of the query.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum QueryError {
    /// A query, or one branch of `$and`, `$or` or `$nor`, is not an object.
    #[error("a query must be an object, found {found} at {}", place_name(place))]
    NotAnObject {
        /// Where it stands.
        place: String,
        /// What stands there instead.
        found: String,
    },
    /// An operator that does not exist.
    #[error(
        "unknown operator `{operator}` at {}{}",
        place_name(place),
        nearest.map(|known| format!("; did you mean `{known}`?")).unwrap_or_default()
    )]
    UnknownOperator {
        /// The operator as written.
        operator: String,
        /// Where it stands.
        place: String,
        /// The operator it resembles, if it resembles one.
        nearest: Option<&'static str>,
    },
    /// An operator that exists, where it has no meaning.
    #[error("`{operator}` has no meaning at {}: it belongs {belongs}", place_name(place))]
    MisplacedOperator {
        /// The operator.
        operator: &'static str,
        /// Where it stands.
        place: String,
        /// Where it would have a meaning.
        belongs: &'static str,
    },
    /// One object holds both operators and plain keys, so it is neither a condition nor a value.
    #[error("{} mixes the operator `{operator}` with the plain key `{key}`", place_name(place))]
    MixedKeys {
        /// Where the object stands.
        place: String,
        /// The first operator in it.
        operator: String,
        /// The first plain key in it.
        key: String,
    },
    /// An operator was given something it cannot work with.
    #[error("`{operator}` at {} needs {expected}, found {found}", place_name(place))]
    Operand {
        /// The operator.
        operator: &'static str,
        /// Where it stands.
        place: String,
        /// What it takes.
        expected: String,
        /// What it was given.
        found: String,
    },
    /// A `$regex` that is not a regular expression; the source says why.
    #[error("`$regex` at {} is not a valid pattern", place_name(place))]
    Pattern {
        /// Where it stands.
        place: String,
        /// What is wrong with it.
        #[source]
        source: regex::Error,
    },
    /// The query nests, or one of its paths goes, deeper than any state would.
    #[error("the query is nested deeper than {limit} levels")]
    TooDeep {
        /// The greatest depth allowed.
        limit: usize,
    },
}

impl QueryError {
    pub(super) fn unknown(operator: &str, place: String) -> Self {
        Self::UnknownOperator { operator: operator.to_owned(), place, nearest: nearest(operator) }
    }

    pub(super) fn operand(operator: &'static str, place: String, expected: &str, found: &Value) -> Self {
        Self::Operand { operator, place, expected: expected.to_owned(), found: shown(found) }
    }
}

/// Names a JSON value in a message: the value itself while it is short, else what kind of value it is.
pub(super) fn shown(value: &Value) -> String {
    let text = crate::json::text(value);
    if text.chars().count() <= 32 {
        return format!("`{text}`");
    }
    match value {
        Value::Object(_) => "an object",
        Value::Array(_) => "an array",
        Value::String(_) if !crate::json::is_number(value) => "a long string",
        _ => "a long number",
    }
    .to_owned()
}

fn place_name(place: &str) -> String {
    if place.is_empty() { "the top of the query".to_owned() } else { format!("`{place}`") }
}

/// The known operator most like `written`, if no more than a third of its letters (but always one) is wrong.
fn nearest(written: &str) -> Option<&'static str> {
    let letters = |name: &str| -> String { name.to_lowercase().chars().skip(1).collect() };
    let typed = letters(written);
    let longest = KNOWN.iter().map(|known| known.len()).max().unwrap_or_default();
    if typed.len() > 2 * longest {
        return None;
    }
    let allowed = (typed.chars().count() / 3).max(1);
    KNOWN
        .iter()
        .map(|known| (edit_distance(&typed, &letters(known)), *known))
        .filter(|(distance, _)| *distance <= allowed)
        // Of those that are equally near, one that only has more letters was meant: `$le` is `$lte`, not `$ne`.
        .min_by_key(|(distance, known)| (*distance, !is_within(&typed, &letters(known))))
        .map(|(_, known)| known)
}

/// Whether the letters of a word stand in another, in their order, from the same first one.
fn is_within(word: &str, longer: &str) -> bool {
    let mut rest = longer.chars();
    word.chars().next() == longer.chars().next() && word.chars().all(|c| rest.any(|other| other == c))
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn suggests_only_what_is_near() {
        let table = [
            ("$exist", Some("$exists")),
            ("$exsits", Some("$exists")),
            ("$elemmatch", Some("$elemMatch")),
            ("$regexp", Some("$regex")),
            ("$eql", Some("$eq")),
            ("$le", Some("$lte")),
            ("$ge", Some("$gte")),
            ("$nto", None),
            ("$mod", None),
            ("$where", None),
            ("$", None),
            ("$geoWithin", None),
        ];
        for (written, expected) in table {
            assert_eq!(nearest(written), expected, "{written}");
        }
    }
}
