//! Compiles JSON into conditions, and refuses everything it does not understand.

use regex::{Regex, RegexBuilder};
use serde_json::{Map, Value};

use super::compare::{Kind, whole_number};
use super::condition::{Clause, Condition, Conjunction, ElementTest, Logic, Relation, Test};
use super::error::{QueryError, shown};
use super::path::Path;

/// Every operator there is.
pub(super) const KNOWN: [&str; 19] = [
    "$eq",
    "$ne",
    "$gt",
    "$gte",
    "$lt",
    "$lte",
    "$in",
    "$nin",
    "$exists",
    "$type",
    "$regex",
    "$options",
    "$size",
    "$all",
    "$elemMatch",
    "$not",
    "$and",
    "$or",
    "$nor",
];

/// The deepest nesting, and the longest path, that a query may have.
const DEPTH: usize = 64;

pub(super) fn parse(source: &Value) -> Result<Conjunction, QueryError> {
    if !is_within(source, DEPTH) {
        return Err(QueryError::TooDeep { limit: DEPTH });
    }
    conjunction(source, "")
}

fn is_within(value: &Value, levels: usize) -> bool {
    match value {
        Value::Array(items) => levels > 0 && items.iter().all(|item| is_within(item, levels - 1)),
        Value::Object(fields) => levels > 0 && fields.values().all(|field| is_within(field, levels - 1)),
        _ => true,
    }
}

/// Compiles a query that stands at `scope`: empty for the whole query, else a branch or an `$elemMatch`.
fn conjunction(query: &Value, scope: &str) -> Result<Conjunction, QueryError> {
    let Value::Object(fields) = query else {
        return Err(QueryError::NotAnObject { place: scope.to_owned(), found: shown(query) });
    };
    let mut clauses = Vec::new();
    for (key, operand) in fields {
        match logic(key) {
            Some((operator, logic)) => clauses.push(branches(operator, logic, operand, scope)?),
            None if is_operator(key) => {
                return Err(match known(key) {
                    None => QueryError::unknown(key, scope.to_owned()),
                    Some(operator) => misplaced(operator, scope.to_owned(), "under a path"),
                });
            }
            None => field(key, operand, scope, &mut clauses)?,
        }
    }
    Ok(Conjunction(clauses))
}

fn branches(
    operator: &'static str,
    logic: Logic,
    operand: &Value,
    scope: &str,
) -> Result<Clause, QueryError> {
    let Some(queries) = operand.as_array().filter(|queries| !queries.is_empty()) else {
        return Err(QueryError::operand(operator, scope.to_owned(), "a non-empty array of queries", operand));
    };
    let branches = queries.iter().enumerate();
    let branches = branches.map(|(i, query)| conjunction(query, &join(scope, &format!("{operator}[{i}]"))));
    Ok(Clause::Logic { logic, branches: branches.collect::<Result<_, _>>()?, source: operand.clone() })
}

/// Compiles what is asked of one path, which is one clause, or several if it nests further paths.
fn field(path: &str, asked: &Value, scope: &str, clauses: &mut Vec<Clause>) -> Result<(), QueryError> {
    let place = join(scope, path);
    let condition = match Shape::of(asked, &place)? {
        Shape::Literal => Condition(vec![Test::Equal(asked.clone())]),
        Shape::Operators(operators) => operator_tests(operators, &place)?,
        Shape::Nested(fields) => {
            return fields.iter().try_for_each(|(key, asked)| field(&join(path, key), asked, scope, clauses));
        }
    };
    let path = Path::new(path);
    if path.len() > DEPTH {
        return Err(QueryError::TooDeep { limit: DEPTH });
    }
    clauses.push(Clause::Field { path, condition, source: asked.clone() });
    Ok(())
}

/// How a value at a place where a condition may stand is to be read.
enum Shape<'a> {
    /// A value to be equal to.
    Literal,
    /// An object of operators.
    Operators(&'a Map<String, Value>),
    /// An object of further paths.
    Nested(&'a Map<String, Value>),
}

impl<'a> Shape<'a> {
    fn of(asked: &'a Value, place: &str) -> Result<Self, QueryError> {
        let Value::Object(fields) = asked else { return Ok(Self::Literal) };
        if has_operator(fields) {
            refuse_mixed(fields, place)?;
            return Ok(Self::Operators(fields));
        }
        Ok(if asks(asked) { Self::Nested(fields) } else { Self::Literal })
    }
}

/// Refuses an object in which plain keys stand beside operators.
fn refuse_mixed(fields: &Map<String, Value>, place: &str) -> Result<(), QueryError> {
    let operator = fields.keys().find(|key| is_operator(key));
    let plain = fields.keys().find(|key| !is_operator(key));
    match (operator, plain) {
        (Some(operator), Some(key)) => Err(QueryError::MixedKeys {
            place: place.to_owned(),
            operator: operator.clone(),
            key: key.clone(),
        }),
        _ => Ok(()),
    }
}

/// Whether an operator stands in a value or, through objects only, below it.
fn asks(value: &Value) -> bool {
    let Value::Object(fields) = value else { return false };
    has_operator(fields) || fields.values().any(asks)
}

fn operator_tests(operators: &Map<String, Value>, place: &str) -> Result<Condition, QueryError> {
    let mut tests = Vec::new();
    for (key, operand) in operators {
        let Some(operator) = known(key) else { return Err(QueryError::unknown(key, place.to_owned())) };
        tests.push(match operator {
            "$options" if operators.contains_key("$regex") => continue,
            "$options" => return Err(misplaced(operator, place.to_owned(), "beside `$regex`")),
            "$regex" => Test::Pattern(pattern(operand, operators.get("$options"), place)?),
            _ => test(operator, operand, place)?,
        });
    }
    Ok(Condition(tests))
}

fn test(operator: &'static str, operand: &Value, place: &str) -> Result<Test, QueryError> {
    const LITERALS: &str = "an array of values without operators";
    let wrong = |expected: &str| QueryError::operand(operator, place.to_owned(), expected, operand);
    let not = |test: Test| Test::Not(Condition(vec![test]));
    Ok(match operator {
        "$eq" => Test::Equal(operand.clone()),
        "$ne" => not(Test::Equal(operand.clone())),
        "$gt" => Test::Ordered(Relation::Above, operand.clone()),
        "$gte" => Test::Ordered(Relation::AtLeast, operand.clone()),
        "$lt" => Test::Ordered(Relation::Below, operand.clone()),
        "$lte" => Test::Ordered(Relation::AtMost, operand.clone()),
        "$in" => Test::OneOf(values(operand).ok_or_else(|| wrong(LITERALS))?.to_vec()),
        "$nin" => not(Test::OneOf(values(operand).ok_or_else(|| wrong(LITERALS))?.to_vec())),
        "$exists" if truth(operand).ok_or_else(|| wrong("true or false"))? => Test::Exists,
        "$exists" => not(Test::Exists),
        "$type" => Test::Type(kinds(operand).ok_or_else(|| wrong(Kind::NAMES))?),
        "$size" => {
            let size = whole_number(operand).and_then(|size| usize::try_from(size).ok());
            Test::Size(size.ok_or_else(|| wrong("a whole number that is not negative"))?)
        }
        "$all" => {
            let items = operand.as_array().ok_or_else(|| wrong("an array of values"))?;
            Test::All(items.iter().map(|item| member(item, operand, place)).collect::<Result<_, _>>()?)
        }
        "$elemMatch" => Test::Element(element(operand, place)?),
        "$not" => Test::Not(negated(operand, place)?),
        _ => return Err(misplaced(operator, place.to_owned(), "at the top of a query")),
    })
}

/// Numbers stand for truth values, as in Mongo.
fn truth(operand: &Value) -> Option<bool> {
    operand.as_bool().or_else(|| crate::json::as_f64(operand).map(|number| number != 0.0))
}

fn values(operand: &Value) -> Option<&[Value]> {
    // An operator inside the list would be compared as a literal, which nobody means.
    let is_literal = |item: &Value| !item.as_object().is_some_and(has_operator);
    operand.as_array().filter(|items| items.iter().all(is_literal)).map(Vec::as_slice)
}

fn kinds(operand: &Value) -> Option<Vec<Kind>> {
    match operand {
        Value::Array(names) if names.is_empty() => None,
        Value::Array(names) => names.iter().map(Kind::named).collect(),
        name => Kind::named(name).map(|kind| vec![kind]),
    }
}

/// One member of `$all`: a value, or an `$elemMatch`.
fn member(item: &Value, operand: &Value, place: &str) -> Result<Test, QueryError> {
    match item.as_object().filter(|fields| has_operator(fields)) {
        None => Ok(Test::Equal(item.clone())),
        Some(fields) => match fields.get("$elemMatch").filter(|_| fields.len() == 1) {
            Some(query) => Ok(Test::Element(element(query, &join(place, "$all"))?)),
            None => Err(QueryError::operand(
                "$all",
                place.to_owned(),
                "an array of values or of `$elemMatch` objects",
                operand,
            )),
        },
    }
}

fn element(operand: &Value, place: &str) -> Result<ElementTest, QueryError> {
    let Value::Object(fields) = operand else {
        let expected = "an object of conditions or of operators";
        return Err(QueryError::operand("$elemMatch", place.to_owned(), expected, operand));
    };
    let inside = join(place, "$elemMatch");
    if fields.keys().all(|key| !is_operator(key) || logic(key).is_some()) {
        return Ok(ElementTest::Document(conjunction(operand, &inside)?));
    }
    refuse_mixed(fields, &inside)?;
    Ok(ElementTest::Value(operator_tests(fields, &inside)?))
}

fn negated(operand: &Value, place: &str) -> Result<Condition, QueryError> {
    let inside = join(place, "$not");
    match Shape::of(operand, &inside)? {
        Shape::Operators(operators) => operator_tests(operators, &inside),
        Shape::Literal => Ok(Condition(vec![Test::Equal(operand.clone())])),
        Shape::Nested(_) => {
            let expected = "operators or a plain value (`$nor` negates nested paths)";
            Err(QueryError::operand("$not", place.to_owned(), expected, operand))
        }
    }
}

fn pattern(operand: &Value, options: Option<&Value>, place: &str) -> Result<Regex, QueryError> {
    let Value::String(text) = operand else {
        return Err(QueryError::operand("$regex", place.to_owned(), "a pattern as a string", operand));
    };
    let mut builder = RegexBuilder::new(text);
    if let Some(options) = options {
        let wrong = || QueryError::operand("$options", place.to_owned(), "letters out of `imsx`", options);
        for option in options.as_str().ok_or_else(wrong)?.chars() {
            match option {
                'i' => builder.case_insensitive(true),
                'm' => builder.multi_line(true),
                's' => builder.dot_matches_new_line(true),
                'x' => builder.ignore_whitespace(true),
                _ => return Err(wrong()),
            };
        }
    }
    builder.build().map_err(|source| QueryError::Pattern { place: place.to_owned(), source })
}

fn is_operator(key: &str) -> bool {
    key.starts_with('$')
}

fn has_operator(fields: &Map<String, Value>) -> bool {
    fields.keys().any(|key| is_operator(key))
}

fn logic(key: &str) -> Option<(&'static str, Logic)> {
    match key {
        "$and" => Some(("$and", Logic::And)),
        "$or" => Some(("$or", Logic::Or)),
        "$nor" => Some(("$nor", Logic::Nor)),
        _ => None,
    }
}

fn known(key: &str) -> Option<&'static str> {
    KNOWN.iter().find(|known| **known == key).copied()
}

fn misplaced(operator: &'static str, place: String, belongs: &'static str) -> QueryError {
    QueryError::MisplacedOperator { operator, place, belongs }
}

fn join(place: &str, next: &str) -> String {
    if place.is_empty() { next.to_owned() } else { format!("{place}.{next}") }
}
