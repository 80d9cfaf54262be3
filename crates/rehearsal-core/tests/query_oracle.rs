//! Compares the query language with npm's `mingo`, an independent implementation, on generated pairs.
//!
//! Both sides answer every pair; any disagreement fails the test. Pairs on which mingo is known to differ from
//! Mongo, which the query module follows there, are left out by [`mingo_agrees`] and by the generators; each
//! such choice says so, and the facts themselves are stated in `tests/query.rs`.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use rehearsal_core::Query;
use serde_json::{Value, json};

const PAIRS: usize = 5000;

#[test]
fn agrees_with_mingo() {
    let mut runner = TestRunner::deterministic();
    let strategy = pair();
    let drawn: Vec<(Value, Value)> =
        (0..PAIRS).map(|_| strategy.new_tree(&mut runner).expect("nothing is rejected").current()).collect();
    let pairs: Vec<(Value, Value)> =
        drawn.into_iter().filter(|(document, query)| mingo_agrees(document, query)).collect();
    assert!(pairs.len() * 4 > PAIRS * 3, "too many pairs are left out: only {} are compared", pairs.len());

    let mut disagreements = Vec::new();
    let mut tally = Tally::default();
    for ((document, query), theirs) in pairs.iter().zip(ask_mingo(&pairs)) {
        let ours = Query::parse(query).unwrap_or_else(|error| panic!("{query}: {error}")).matches(document);
        tally.count(query, ours);
        if json!(ours) != theirs {
            disagreements
                .push(format!("query    {query}\ndocument {document}\nours     {ours}\nmingo    {theirs}"));
        }
    }
    if let Some(smallest) = disagreements.iter().min_by_key(|text| text.len()) {
        panic!("{} of {} pairs disagree; the smallest:\n{smallest}", disagreements.len(), pairs.len());
    }
    tally.assert_not_vacuous();
}

/// Counts outcomes, in all and for the queries that use each operator.
#[derive(Default)]
struct Tally {
    outcomes: BTreeMap<String, [usize; 2]>,
}

impl Tally {
    fn count(&mut self, query: &Value, matched: bool) {
        let mut operators = BTreeSet::from(["all".to_owned()]);
        collect_operators(query, &mut operators);
        for operator in operators {
            self.outcomes.entry(operator).or_default()[usize::from(matched)] += 1;
        }
    }

    fn assert_not_vacuous(&self) {
        let [unmatched, matched] = self.outcomes["all"];
        assert!(matched * 4 > unmatched && unmatched * 4 > matched, "{:?}", self.outcomes);
        let operators = "$eq $ne $gt $gte $lt $lte $in $nin $exists $type $regex $options $size $all $elemMatch \
                         $not $and $or $nor";
        for operator in operators.split(' ') {
            let [unmatched, matched] = self.outcomes.get(operator).copied().unwrap_or_default();
            assert!(matched >= 25 && unmatched >= 25, "{operator} is hardly tested: {:?}", self.outcomes);
        }
    }
}

fn collect_operators(query: &Value, operators: &mut BTreeSet<String>) {
    match query {
        Value::Object(fields) => {
            operators.extend(fields.keys().filter(|key| key.starts_with('$')).cloned());
            fields.values().for_each(|value| collect_operators(value, operators));
        }
        Value::Array(items) => items.iter().for_each(|item| collect_operators(item, operators)),
        _ => {}
    }
}

/// Sends all pairs to one process of mingo, and reads its answers.
fn ask_mingo(pairs: &[(Value, Value)]) -> Vec<Value> {
    let oracle = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../oracle/js");
    let setup = "run `cargo xtask setup` (or npm ci in oracle/js)";
    assert!(oracle.join("node_modules/mingo").is_dir(), "the oracle is not installed: {setup}");
    let mut node = Command::new("node")
        .arg(oracle.join("query.mjs"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("cannot start node ({error}): {setup}"));
    // The script answers only when its input ends, so neither side can block the other.
    let mut input = node.stdin.take().expect("stdin is piped");
    for (document, query) in pairs {
        let line = json!({"document": document, "query": dotted(query)});
        writeln!(input, "{line}").expect("the oracle reads its input to the end");
    }
    drop(input);
    let output = node.wait_with_output().expect("the oracle ends");
    assert!(output.status.success(), "the oracle failed");
    let answers = String::from_utf8(output.stdout).expect("the oracle writes JSON");
    let answers: Vec<Value> = answers
        .lines()
        .map(|line| rehearsal_core::json::from_str(line).expect("the oracle writes JSON"))
        .collect();
    assert_eq!(answers.len(), pairs.len(), "one answer to each pair");
    answers
}

/// Rewrites nested paths, which only our language has, as the dotted paths they stand for.
fn dotted(query: &Value) -> Value {
    let Value::Object(fields) = query else { return query.clone() };
    let mut branches = Vec::new();
    for (key, asked) in fields {
        match (key.as_str(), asked) {
            ("$and" | "$or" | "$nor", Value::Array(queries)) => {
                branches.push(json!({key: queries.iter().map(dotted).collect::<Vec<_>>()}));
            }
            _ => branches.extend(clauses(key, asked).into_iter().map(|(path, asked)| json!({path: asked}))),
        }
    }
    let is_unchanged = branches.iter().zip(fields).all(|(branch, (key, asked))| branch[key] == *asked);
    if is_unchanged { query.clone() } else { json!({"$and": branches}) }
}

/// The paths a field of a query asks about: itself, or those it nests. Operands may nest queries in turn.
fn clauses(path: &str, asked: &Value) -> Vec<(String, Value)> {
    match asked {
        Value::Object(fields) if fields.keys().any(|key| key.starts_with('$')) => {
            let rewritten = fields.iter().map(|(key, operand)| (key.clone(), rewrite_operand(key, operand)));
            vec![(path.to_owned(), Value::Object(rewritten.collect()))]
        }
        Value::Object(fields) if has_operator_below(asked) => {
            fields.iter().flat_map(|(key, asked)| clauses(&format!("{path}.{key}"), asked)).collect()
        }
        _ => vec![(path.to_owned(), asked.clone())],
    }
}

fn rewrite_operand(operator: &str, operand: &Value) -> Value {
    match (operator, operand) {
        ("$elemMatch", Value::Object(_)) if !is_operators(operand) => dotted(operand),
        ("$all", Value::Array(items)) => items
            .iter()
            .map(|item| match item.get("$elemMatch") {
                Some(query) => json!({"$elemMatch": rewrite_operand("$elemMatch", query)}),
                None => item.clone(),
            })
            .collect(),
        _ => operand.clone(),
    }
}

fn has_operator_below(value: &Value) -> bool {
    let Value::Object(fields) = value else { return false };
    fields.iter().any(|(key, value)| key.starts_with('$') || has_operator_below(value))
}

/// Whether an object asks something of a value itself, and not of its fields.
fn is_operators(value: &Value) -> bool {
    let Value::Object(fields) = value else { return false };
    fields.keys().any(|key| key.starts_with('$') && !["$and", "$or", "$nor"].contains(&key.as_str()))
}

// --- What is left out ---

/// Whether mingo means by a query, on this document, what Mongo means.
fn mingo_agrees(document: &Value, query: &Value) -> bool {
    let Value::Object(fields) = query else { return true };
    fields.iter().all(|(key, asked)| match (key.as_str(), asked) {
        ("$and" | "$or" | "$nor", Value::Array(queries)) => {
            queries.iter().all(|query| mingo_agrees(document, query))
        }
        _ => clauses(key, asked).iter().all(|(path, asked)| {
            let mut reach = Reach {
                ends_in_index: path.ends_with(|last: char| last.is_ascii_digit()),
                ..Reach::default()
            };
            let steps: Vec<&str> = path.split('.').collect();
            reach.walk(document, &steps, 0);
            reach.agrees(asked)
        }),
    })
}

/// What a path leads to in a document.
#[derive(Default)]
struct Reach<'a> {
    values: Vec<&'a Value>,
    is_missing: bool,
    /// How many arrays it passed through by a name.
    arrays_crossed: usize,
    ends_in_index: bool,
}

impl<'a> Reach<'a> {
    fn walk(&mut self, value: &'a Value, steps: &[&str], crossed: usize) {
        self.arrays_crossed = self.arrays_crossed.max(crossed);
        let Some((step, rest)) = steps.split_first() else { return self.values.push(value) };
        let next = match (value, step.parse::<usize>()) {
            (Value::Array(items), Err(_)) => {
                self.arrays_crossed = self.arrays_crossed.max(crossed + 1);
                return items
                    .iter()
                    .filter(|item| item.is_object())
                    .for_each(|item| self.walk(item, steps, crossed + 1));
            }
            (Value::Array(items), Ok(index)) => items.get(index),
            (value, _) => value.get(step),
        };
        match next {
            Some(next) => self.walk(next, rest, crossed),
            None => self.is_missing = true,
        }
    }

    fn agrees(&self, asked: &Value) -> bool {
        match asked {
            Value::Object(fields) if is_operators(asked) => {
                fields.iter().all(|(operator, operand)| self.agrees_on(operator, operand))
            }
            literal => self.agrees_on("$eq", literal),
        }
    }

    /// Where a path passes through an array by a name, mingo drops what is missing, puts what it finds into one
    /// list and tests that: as a whole, and if the values are arrays, not always their elements. Beyond one such
    /// array, it also nests the lists.
    fn agrees_on(&self, operator: &str, operand: &Value) -> bool {
        let is_listed = self.arrays_crossed > 0;
        let finds_array = self.values.iter().any(|value| value.is_array());
        let asks_null =
            operand.is_null() || operand.as_array().is_some_and(|items| items.contains(&Value::Null));
        if self.arrays_crossed > 1 {
            return false;
        }
        match operator {
            "$exists" => !(is_listed && self.ends_in_index),
            "$eq" | "$ne" => !is_listed || !(operand.is_array() || (asks_null && self.is_missing)),
            // To mingo, a missing field is not in the order of null.
            "$gte" | "$lte" if asks_null && self.is_missing => false,
            "$in" | "$nin" | "$gt" | "$gte" | "$lt" | "$lte" => {
                !is_listed || !(finds_array || (asks_null && self.is_missing))
            }
            // mingo does not look at the elements of an array for their types.
            "$type" => !is_listed && (!finds_array || *operand == json!("array") || *operand == json!(4)),
            "$size" => !is_listed,
            "$elemMatch" => !is_listed && self.agrees_on_elements(operand),
            // To mingo, only an array can have all of the values.
            "$all" if is_listed => {
                !(finds_array || has_elem_match(operand) || (asks_null && self.is_missing))
            }
            "$all" if !finds_array => self.is_missing && !asks_null,
            "$all" => {
                let queries =
                    operand.as_array().into_iter().flatten().filter_map(|item| item.get("$elemMatch"));
                queries.into_iter().all(|query| self.agrees_on_elements(query))
            }
            "$not" => self.agrees(operand),
            _ => true,
        }
    }

    fn agrees_on_elements(&self, query: &Value) -> bool {
        let mut elements = self.values.iter().filter_map(|value| value.as_array()).flatten();
        if is_operators(query) {
            return elements.all(|element| Reach { values: vec![element], ..Reach::default() }.agrees(query));
        }
        // To mingo, a scalar element is itself the value of every field it is asked for.
        elements.all(|element| element.is_object() && mingo_agrees(element, query))
    }
}

fn has_elem_match(operand: &Value) -> bool {
    operand.as_array().is_some_and(|items| items.iter().any(|item| item.get("$elemMatch").is_some()))
}

// --- Generators ---

/// A document, and a query made of the paths of that document and of values near those at the paths, so that it
/// matches often.
fn pair() -> impl Strategy<Value = (Value, Value)> {
    document().prop_flat_map(|document| {
        let mut spots = Vec::new();
        add_spots(&document, "", &mut spots);
        for path in ["a", "c", "a.b", "b.c", "a.b.c", "a.0", "b.1.a"] {
            spots.push(Spot { path: path.to_owned(), values: vec![json!(null), json!({}), json!([])] });
        }
        let query = query(spots);
        (Just(document), query)
    })
}

/// A path, and values worth asking for there: what the document holds there, first, then what differs from it in
/// little, and the parts of it.
#[derive(Clone, Debug)]
struct Spot {
    path: String,
    values: Vec<Value>,
}

fn add_spots(value: &Value, path: &str, spots: &mut Vec<Spot>) {
    let join = |step: &str| if path.is_empty() { step.to_owned() } else { format!("{path}.{step}") };
    let mut values = vec![value.clone(), value.clone()];
    values.extend(variants(value));
    match value {
        Value::Object(fields) => {
            values.extend(fields.values().cloned());
            fields.iter().for_each(|(key, value)| add_spots(value, &join(key), spots));
        }
        Value::Array(items) => {
            values.extend(items.iter().cloned());
            for (index, item) in items.iter().enumerate() {
                add_spots(item, &join(&index.to_string()), spots);
                for (key, value) in item.as_object().into_iter().flatten() {
                    values.push(value.clone());
                    add_spots(value, &join(key), spots);
                }
            }
        }
        _ => {}
    }
    if !path.is_empty() {
        spots.push(Spot { path: path.to_owned(), values });
    }
}

/// The same in another order, with less, and with more.
fn variants(value: &Value) -> Vec<Value> {
    match value {
        Value::Object(fields) => {
            let reversed: Value =
                fields.iter().rev().map(|(key, value)| (key.clone(), value.clone())).collect();
            let less = fields.iter().skip(1).map(|(key, value)| (key.clone(), value.clone())).collect();
            vec![reversed.clone(), less, merged(vec![reversed, json!({"d": null})])]
        }
        Value::Array(items) => {
            let less = items.iter().skip(1).cloned().collect();
            vec![
                items.iter().rev().cloned().collect(),
                less,
                items.iter().cloned().chain([json!(1)]).collect(),
            ]
        }
        _ => Vec::new(),
    }
}

impl Spot {
    fn value(&self) -> impl Strategy<Value = Value> + Clone + use<> {
        prop_oneof![3 => select(self.values.clone()), 1 => scalar()]
    }

    /// A value for an operator that, in mingo, does not compare whole arrays.
    fn member(&self) -> impl Strategy<Value = Value> + Clone + use<> {
        let known: Vec<Value> = self.values.iter().filter(|value| !has_array(value)).cloned().collect();
        prop_oneof![3 => select([known, vec![json!(1)]].concat()), 1 => scalar()]
    }

    fn types(&self) -> impl Strategy<Value = Value> + use<> {
        let present = match self.values.first() {
            None | Some(Value::Null) => [json!("null"), json!(10), json!(["null", "bool"])],
            Some(Value::Bool(_)) => [json!("bool"), json!(8), json!([8, "null"])],
            Some(Value::Number(_)) => [json!("number"), json!("int"), json!(["string", 1])],
            Some(Value::String(_)) => [json!("string"), json!(2), json!([1, 2])],
            Some(Value::Array(_)) => [json!("array"), json!(4), json!("array")],
            Some(Value::Object(_)) => [json!("object"), json!(3), json!(["array", "object"])],
        };
        let any = ["string", "number", "int", "long", "double", "decimal", "bool", "object", "array", "null"];
        let any =
            any.map(Value::from).to_vec().into_iter().chain([1, 2, 3, 4, 8, 10, 16, 18, 19].map(Value::from));
        prop_oneof![select(present.to_vec()), select(any.collect::<Vec<_>>())]
    }

    fn size(&self) -> impl Strategy<Value = usize> + use<> {
        let present = self.values.first().and_then(Value::as_array).map_or(0, Vec::len);
        prop_oneof![Just(present), 0_usize..4]
    }
}

fn has_array(value: &Value) -> bool {
    match value {
        Value::Array(_) => true,
        Value::Object(fields) => fields.values().any(has_array),
        _ => false,
    }
}

// All numbers are small: JavaScript rounds great ones.
fn scalar() -> impl Strategy<Value = Value> + Clone {
    select(vec![
        json!(null),
        json!(true),
        json!(false),
        json!(-1),
        json!(0),
        json!(1),
        json!(1.0),
        json!(1.5),
        json!(2),
        json!(""),
        json!("x"),
        json!("X"),
        json!("xy"),
        json!("y"),
        json!("x\ny"),
        json!("x\ny"),
    ])
}

fn document() -> impl Strategy<Value = Value> {
    let value = scalar().prop_recursive(3, 24, 3, |inner| {
        // No array stands directly in an array: mingo looks into such arrays, in some cases, and Mongo does not.
        let item = inner.clone().prop_map(|value| if value.is_array() { json!({}) } else { value });
        let same_shape = object(inner.clone())
            .prop_flat_map(|first| (Just(first.clone()), select(vec![first, json!({"a": 1})])));
        prop_oneof![
            2 => prop::collection::vec(item, 0..4).prop_map(Value::from),
            1 => same_shape.prop_map(|(first, second)| json!([first, second])),
            3 => object(inner),
        ]
    });
    object(value)
}

fn object(value: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    let fields = prop::collection::vec((select(vec!["a", "b", "c"]), value), 1..4);
    fields.prop_map(|fields| {
        Value::Object(fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
    })
}

fn query(spots: Vec<Spot>) -> impl Strategy<Value = Value> {
    let simple = prop_oneof![
        3 => clause(spots.clone()),
        1 => prop::collection::vec(clause(spots), 2).prop_map(merged),
    ];
    let logical = select(vec!["$and", "$or", "$nor"]);
    simple.prop_recursive(2, 6, 2, move |inner| {
        let branches = prop::collection::vec(inner.clone(), 1..3);
        let combined =
            (logical.clone(), branches).prop_map(|(operator, branches)| json!({operator: branches}));
        prop_oneof![
            2 => inner.clone(),
            2 => combined.clone(),
            1 => (combined, inner).prop_map(|(combined, beside)| merged(vec![combined, beside])),
        ]
    })
}

fn merged(parts: Vec<Value>) -> Value {
    Value::Object(parts.into_iter().filter_map(|part| part.as_object().cloned()).flatten().collect())
}

/// One path and what is asked of it, sometimes nested instead of dotted.
fn clause(spots: Vec<Spot>) -> impl Strategy<Value = Value> {
    select(spots).prop_flat_map(|spot| {
        let asked = prop_oneof![1 => spot.value(), 5 => operators(&spot)];
        (Just(spot.path), asked, any::<bool>()).prop_map(|(path, asked, nested)| {
            if nested && is_operators(&asked) {
                path.rsplit('.').fold(asked, |inner, step| json!({step: inner}))
            } else {
                json!({path: asked})
            }
        })
    })
}

/// An object of one or two operators.
fn operators(spot: &Spot) -> impl Strategy<Value = Value> + use<> {
    let plain = plain_operator(spot).boxed();
    let element = element(spot, &plain).boxed();
    let member = prop_oneof![5 => spot.member(), 1 => element.clone()];
    let all = prop::collection::vec(member, 0..3).prop_map(|members| json!({"$all": members}));
    let not = prop_oneof![1 => spot.value(), 2 => plain.clone(), 1 => element.clone()];
    let for_arrays = if spot.values.first().is_some_and(Value::is_array) { 4 } else { 1 };
    prop_oneof![
        8 => plain.clone(),
        for_arrays => element,
        for_arrays => all,
        2 => not.prop_map(|operand| json!({"$not": operand})),
        2 => (plain.clone(), plain).prop_map(|(first, second)| merged(vec![first, second])),
    ]
}

fn element(spot: &Spot, plain: &BoxedStrategy<Value>) -> impl Strategy<Value = Value> + use<> {
    let field = (select(vec!["a", "b", "c", "a.b"]), prop_oneof![spot.value(), plain.clone()]);
    let fields =
        prop::collection::vec(field.prop_map(|(key, asked)| json!({key: asked})), 0..3).prop_map(merged);
    let either = (fields.clone(), fields.clone()).prop_map(|(first, second)| json!({"$or": [first, second]}));
    let query = prop_oneof![3 => fields, 1 => either, 4 => plain.clone()];
    query.prop_map(|query| json!({"$elemMatch": query}))
}

/// An object of one operator that takes neither queries nor operators.
fn plain_operator(spot: &Spot) -> impl Strategy<Value = Value> + use<> {
    let equal = (select(vec!["$eq", "$ne"]), spot.value());
    let ordered = (select(vec!["$gt", "$gte", "$lt", "$lte"]), spot.member());
    let listed =
        (select(vec!["$in", "$nin"]), prop::collection::vec(spot.member(), 0..4).prop_map(Value::from));
    let patterns = if spot.values.first().is_some_and(Value::is_string) { 6 } else { 2 };
    let pattern = select(vec!["x", "^x", "^y", "y$", "X", "x.y", "^X.y$", "", "[xy]{2}", "z|x"]);
    // JavaScript has no `x` among its options.
    let options = select(vec!["", "i", "m", "s", "ims"]);
    prop_oneof![
        2 => equal.prop_map(|(operator, operand)| json!({operator: operand})),
        4 => ordered.prop_map(|(operator, operand)| json!({operator: operand})),
        2 => listed.prop_map(|(operator, operand)| json!({operator: operand})),
        2 => any::<bool>().prop_map(|there| json!({"$exists": there})),
        2 => spot.types().prop_map(|kind| json!({"$type": kind})),
        patterns => (pattern, options).prop_map(|(pattern, options)| match options {
            "" => json!({"$regex": pattern}),
            options => json!({"$regex": pattern, "$options": options}),
        }),
        1 => spot.size().prop_map(|size| json!({"$size": size})),
    ]
}
