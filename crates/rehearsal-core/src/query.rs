//! A query language on JSON state in the manner of `MongoDB`'s. Start from [`Query`].
//!
//! A query is an object of paths and what is asked of them; all must hold. A path is dotted. A step of digits
//! is a position where it meets an array; any other step passes through an array to each object in it, so
//! `answers.score` asks for any answer's score.
//!
//! | asked | holds when the field, or any element of it if it is an array, is |
//! |---|---|
//! | a value, `$eq`, `$ne` | equal (`$ne`: not so); null also equals a missing field |
//! | `$gt` `$gte` `$lt` `$lte` | of the same type, and in that order; null also orders a missing field |
//! | `$in` `$nin` | equal to one of the list (`$nin`: not so) |
//! | `$regex`, with `$options` out of `imsx` | a string in which the pattern is found |
//! | `$type` | of that type, or of one of several |
//!
//! | asked | holds when the field is |
//! |---|---|
//! | `$exists` | there, even if null (`false`: not there) |
//! | `$size` | an array of that length |
//! | `$all` | equal, as above, to every one of the list, which must not be empty |
//! | `$elemMatch` | an array of which one element satisfies the whole query, or all the operators |
//! | `$not` | not what the operators, or the value, ask |
//!
//! `$and`, `$or` and `$nor` take queries, and stand at the top of one.
//!
//! # Nested paths
//!
//! An object without operators is a value to be equal to: `{"session": {"stage": "done"}}` asks that `session`
//! hold the stage and nothing else. But an object that has an operator somewhere below it, through objects
//! only, is a nest of paths: `{"session": {"escalation": {"$exists": true}, "stage": "done"}}` asks just what
//! `{"session.escalation": {"$exists": true}, "session.stage": "done"}` asks. Mongo would compare it
//! literally, and so never match; to do so here, write `$eq`, whose operand is always a literal.
//!
//! # Choices
//!
//! The oracle for this language is the npm package `mingo`. Where it and Mongo differ:
//!
//! - As in mingo, the order of keys does not matter to equality; `int` and `long` are any whole number and
//!   `double` and `decimal` any number, as JSON has one number type; `$not` takes a value as well; a step of
//!   digits that meets an array is only a position, a position beyond the end is a missing field, and an array
//!   found at a position is looked into like any other.
//! - As in Mongo, each value that a path finds through an array is tested by itself (mingo tests the list of
//!   them); `$in`, `$all` and orderings compare whole arrays too; `$type` looks into arrays; `$all` accepts a
//!   field that is no array; `$gte` and `$lte` null accept a missing field; nothing looks into arrays directly
//!   inside arrays; `$elemMatch` with paths accepts objects only; and `$and` without branches, `$and` under a
//!   path and operators in the list of `$in` are errors.
//! - As in neither, patterns have the syntax of the `regex` crate, without look-around and back-references; and
//!   a `$type` that JSON does not have, and a query or path more than 64 levels deep, are errors.
//!
//! Numbers compare by value, `1` as `1.0`, and exactly: a 64-bit integer is never rounded to a float. Strings
//! compare by code point.

mod compare;
mod condition;
mod error;
mod parse;
mod path;

use serde_json::{Map, Value};

use condition::{Clause, Conjunction, Logic};
pub use error::QueryError;

/// A compiled query.
///
/// ```
/// use rehearsal_core::Query;
/// use serde_json::json;
///
/// let query = Query::parse(&json!({
///     "session": {"escalation": {"$exists": true}},
///     "answers.score": {"$gte": 3},
/// }))?;
/// assert!(query.matches(&json!({"session": {"escalation": null}, "answers": [{"score": 1}, {"score": 4}]})));
/// assert!(!query.matches(&json!({"session": {}, "answers": [{"score": 4}]})));
///
/// let error = Query::parse(&json!({"session": {"escalation": {"$exist": true}}})).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "unknown operator `$exist` at `session.escalation`; did you mean `$exists`?",
/// );
/// # Ok::<(), rehearsal_core::QueryError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Query {
    source: Value,
    clauses: Conjunction,
}

impl Query {
    /// Compiles a query.
    ///
    /// # Errors
    /// Something in it is not understood; nothing is skipped or guessed.
    pub fn parse(source: &Value) -> Result<Self, QueryError> {
        Ok(Self { clauses: parse::parse(source)?, source: source.clone() })
    }

    /// Whether a document satisfies the query. The empty query is satisfied by all; what is not an object is a
    /// document without fields.
    pub fn matches(&self, document: &Value) -> bool {
        self.clauses.holds(document)
    }

    /// Tells clause by clause what was asked and what was found. The query matches if every clause does.
    ///
    /// ```
    /// use rehearsal_core::Query;
    /// use serde_json::json;
    ///
    /// let query = Query::parse(&json!({"session": {"stage": {"$in": ["done"]}}}))?;
    /// let clauses = query.explain(&json!({"session": {"stage": "open"}}));
    /// assert_eq!(clauses[0].path, "session.stage");
    /// assert_eq!(clauses[0].actual, Some(json!("open")));
    /// assert!(!clauses[0].matched);
    /// # Ok::<(), rehearsal_core::QueryError>(())
    /// ```
    pub fn explain(&self, document: &Value) -> Vec<QueryClause> {
        self.clauses.0.iter().map(|clause| explain(clause, document)).collect()
    }

    /// The JSON it was compiled from.
    pub fn source(&self) -> &Value {
        &self.source
    }
}

impl PartialEq for Query {
    /// Queries are equal when their sources are, which leaves nothing in the compiled form to differ.
    fn eq(&self, other: &Self) -> bool {
        self.source == other.source
    }
}

/// What one clause of a query asked of a document, and what it found.
#[derive(Clone, Debug, PartialEq)]
pub struct QueryClause {
    /// The dotted path, written out where the query nests it; for a clause of branches `$and`, `$or` or `$nor`.
    pub path: String,
    /// Whether the clause holds.
    pub matched: bool,
    /// What the query asks of the path: a value, an object of operators, or the array of branches.
    pub expected: Value,
    /// The value at the path, or an array of values where the path finds several; nothing where it is missing.
    /// For a clause of branches, an object with the value at each path they mention.
    pub actual: Option<Value>,
}

fn explain(clause: &Clause, document: &Value) -> QueryClause {
    let matched = clause.holds(document);
    match clause {
        Clause::Field { path, source, .. } => QueryClause {
            path: path.as_str().to_owned(),
            matched,
            expected: source.clone(),
            actual: path.find(document).to_value(),
        },
        Clause::Logic { logic, branches, source } => {
            let mut read = Map::new();
            for branch in branches {
                gather(branch, document, &mut read);
            }
            let operator = match logic {
                Logic::And => "$and",
                Logic::Or => "$or",
                Logic::Nor => "$nor",
            };
            QueryClause {
                path: operator.to_owned(),
                matched,
                expected: source.clone(),
                actual: Some(Value::Object(read)),
            }
        }
    }
}

/// Gathers the value at each path that a branch mentions.
fn gather(branch: &Conjunction, document: &Value, read: &mut Map<String, Value>) {
    for clause in &branch.0 {
        match clause {
            Clause::Field { path, .. } => {
                if let Some(value) = path.find(document).to_value() {
                    read.insert(path.as_str().to_owned(), value);
                }
            }
            Clause::Logic { branches, .. } => {
                for branch in branches {
                    gather(branch, document, read);
                }
            }
        }
    }
}
