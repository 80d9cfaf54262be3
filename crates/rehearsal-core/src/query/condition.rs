//! Compiled conditions and how they are tested.

use std::cmp::Ordering;

use regex::Regex;
use serde_json::Value;

use super::compare::{Kind, order_within_type, same};
use super::path::{Found, Path};
use crate::json::as_text;

/// Clauses that must all hold of a document.
#[derive(Clone, Debug)]
pub(super) struct Conjunction(pub(super) Vec<Clause>);

impl Conjunction {
    pub(super) fn holds(&self, document: &Value) -> bool {
        self.0.iter().all(|clause| clause.holds(document))
    }
}

/// One clause, with the JSON it was compiled from.
#[derive(Clone, Debug)]
pub(super) enum Clause {
    Field { path: Path, condition: Condition, source: Value },
    Logic { logic: Logic, branches: Vec<Conjunction>, source: Value },
}

impl Clause {
    pub(super) fn holds(&self, document: &Value) -> bool {
        match self {
            Self::Field { path, condition, .. } => condition.holds(&path.find(document)),
            Self::Logic { logic, branches, .. } => {
                let mut results = branches.iter().map(|branch| branch.holds(document));
                match logic {
                    Logic::And => results.all(|held| held),
                    Logic::Or => results.any(|held| held),
                    Logic::Nor => !results.any(|held| held),
                }
            }
        }
    }
}

/// How the branches of a clause combine.
#[derive(Clone, Copy, Debug)]
pub(super) enum Logic {
    And,
    Or,
    Nor,
}

/// Tests that must all hold of what stands at one path.
#[derive(Clone, Debug)]
pub(super) struct Condition(pub(super) Vec<Test>);

impl Condition {
    pub(super) fn holds(&self, found: &Found<'_>) -> bool {
        self.0.iter().all(|test| test.holds(found))
    }
}

/// One operator with its operand.
#[derive(Clone, Debug)]
pub(super) enum Test {
    Equal(Value),
    OneOf(Vec<Value>),
    Ordered(Relation, Value),
    Pattern(Regex),
    Type(Vec<Kind>),
    Exists,
    Size(usize),
    /// Every one of these; unlike a condition, none is not enough.
    All(Vec<Test>),
    Element(ElementTest),
    Not(Condition),
}

impl Test {
    fn holds(&self, found: &Found<'_>) -> bool {
        match self {
            Self::Equal(expected) => found.any(|value| same(value, expected)),
            Self::OneOf(options) => found.any(|value| options.iter().any(|option| same(value, option))),
            Self::Ordered(relation, bound) => found.any(|value| {
                order_within_type(value, bound).is_some_and(|ordering| relation.accepts(ordering))
            }),
            Self::Pattern(regex) => {
                found.any_present(|value| as_text(value).is_some_and(|text| regex.is_match(text)))
            }
            Self::Type(kinds) => found.any_present(|value| kinds.iter().any(|kind| kind.holds(value))),
            Self::Exists => !found.values().is_empty(),
            Self::Size(size) => arrays(found).any(|items| items.len() == *size),
            Self::All(tests) => !tests.is_empty() && tests.iter().all(|test| test.holds(found)),
            Self::Element(test) => arrays(found).any(|items| items.iter().any(|item| test.holds(item))),
            Self::Not(condition) => !condition.holds(found),
        }
    }
}

fn arrays<'a>(found: &Found<'a>) -> impl Iterator<Item = &'a Vec<Value>> {
    found.values().iter().filter_map(|value| value.as_array())
}

/// What one element of an array must be.
#[derive(Clone, Debug)]
pub(super) enum ElementTest {
    /// An object that the query matches.
    Document(Conjunction),
    /// Any value for which the condition holds.
    Value(Condition),
}

impl ElementTest {
    fn holds(&self, element: &Value) -> bool {
        match self {
            Self::Document(query) => element.is_object() && query.holds(element),
            Self::Value(condition) => condition.holds(&Found::element(element)),
        }
    }
}

/// Where a value must stand relative to a bound.
#[derive(Clone, Copy, Debug)]
pub(super) enum Relation {
    Above,
    AtLeast,
    Below,
    AtMost,
}

impl Relation {
    fn accepts(self, ordering: Ordering) -> bool {
        match self {
            Self::Above => ordering.is_gt(),
            Self::AtLeast => ordering.is_ge(),
            Self::Below => ordering.is_lt(),
            Self::AtMost => ordering.is_le(),
        }
    }
}
