//! What the query language means, fact by fact, and that no input makes it panic.

use std::error::Error as _;

use expect_test::{Expect, expect};
use proptest::prelude::*;
use rehearsal_core::Query;
use serde_json::{Value, json};

/// States which documents a query matches and which it does not.
macro_rules! facts {
    ($($query:tt matches $yes:tt not $no:tt;)*) => {
        $(check(&json!($query), &json!($yes), &json!($no));)*
    };
}

#[track_caller]
fn check(query: &Value, yes: &Value, no: &Value) {
    let compiled = Query::parse(query).expect("the query compiles");
    for document in yes.as_array().expect("a list of documents") {
        assert!(compiled.matches(document), "{query} should match {document}");
    }
    for document in no.as_array().expect("a list of documents") {
        assert!(!compiled.matches(document), "{query} should not match {document}");
    }
}

#[track_caller]
fn check_error(query: &Value, expected: &Expect) {
    let error = Query::parse(query).expect_err("the query is refused");
    let cause = error.source().map(|cause| format!("\n{cause}")).unwrap_or_default();
    expected.assert_eq(&format!("{error}{cause}"));
}

#[test]
fn equality() {
    facts! {
        {} matches [{}, {"a": 1}, 5] not [];
        {"a": 1} matches [{"a": 1.0}, {"a": [2, 1]}] not [{"a": "1"}, {"a": true}, {}];
        {"a": 1, "b": 2} matches [{"a": 1, "b": 2}] not [{"a": 1}, {"a": 1, "b": 3}];
        {"a": [1, 2]} matches [{"a": [1, 2]}, {"a": [[1, 2], 3]}] not [{"a": [2, 1]}, {"a": [1, 2, 3]}, {"a": 1}];
        {"a": {"x": 1, "y": 2}} matches [{"a": {"y": 2, "x": 1}}, {"a": [{"x": 1, "y": 2}]}]
            not [{"a": {"x": 1}}, {"a": {"x": 1, "y": 2, "z": 3}}];
        {"a": {}} matches [{"a": {}}, {"a": [{}]}] not [{"a": {"b": 1}}, {"a": []}, {}];
        {"a": {"$eq": {"$x": 1}}} matches [{"a": {"$x": 1}}] not [{"a": 1}];
        {"a": {"$ne": 1}} matches [{"a": 2}, {}, {"a": []}] not [{"a": 1.0}, {"a": [1, 2]}];
    }
}

#[test]
fn null_also_means_missing() {
    facts! {
        {"a": null} matches [{}, {"a": null}, {"a": [null]}] not [{"a": 0}, {"a": []}, {"a": ""}, {"a": false}];
        {"a": {"$ne": null}} matches [{"a": 0}, {"a": []}] not [{}, {"a": null}, {"a": [null]}];
        {"a": {"$in": [7, null]}} matches [{}, {"a": null}, {"a": [null]}] not [{"a": 0}, {"a": []}];
        {"a": {"$gte": null}} matches [{}, {"a": null}, {"a": [null]}] not [{"a": 0}, {"a": []}];
        {"a": {"$lt": null}} matches [] not [{}, {"a": null}, {"a": 0}];
        {"a.b": null} matches [{"a": {}}, {"a": 1}, {"a": [{"b": 1}, {}]}]
            not [{"a": []}, {"a": [1]}, {"a": [{"b": 1}]}];
    }
}

#[test]
fn paths() {
    facts! {
        {"a.b.c": 1} matches [{"a": {"b": {"c": 1}}}, {"a": [{"b": [{"c": 2}, {"c": 1}]}]}]
            not [{"a.b.c": 1}, {"a": {"b": 1}}, {"a": [{"b": []}]}];
        {"a.b": 1} matches [{"a": [{"b": 1}, {"b": 2}]}, {"a": [5, {"b": [1]}]}] not [{"a": [[{"b": 1}]]}, {"a": [1]}];
        {"a.b": [1, 2]} matches [{"a": [{"b": [1, 2]}]}] not [{"a": [{"b": 1}, {"b": 2}]}];
        {"a.1": 2} matches [{"a": [1, 2]}, {"a": {"1": 2}}] not [{"a": [2]}];
        {"a.0.b": 1} matches [{"a": [{"b": 1}]}] not [{"a": [{}, {"b": 1}]}];
        {"a": null} matches [[{"a": 1}], "a"] not [];
    }
}

#[test]
fn order_is_within_one_type() {
    facts! {
        {"a": {"$gt": 1}} matches [{"a": 1.5}, {"a": [0, 2]}, {"a": 18_446_744_073_709_551_615_u64}]
            not [{"a": 1}, {"a": "2"}, {"a": true}, {"a": null}, {}];
        {"a": {"$gte": 1, "$lt": 3}} matches [{"a": 1}, {"a": [0, 5]}] not [{"a": 3}];
        {"a": {"$lte": "b"}} matches [{"a": "B"}, {"a": "b"}] not [{"a": "ba"}, {"a": 1}];
        {"a": {"$gt": false}} matches [{"a": true}] not [{"a": false}, {"a": 1}];
        {"a": {"$gt": [1]}} matches [{"a": [2]}, {"a": [1, 0]}] not [{"a": [1]}, {"a": 2}];
        {"a": {"$lt": {"x": 2}}} matches [{"a": {"x": 1}}] not [{"a": {"x": 2}}, {"a": {"y": 1}}];
        {"a": {"$gt": 9_007_199_254_740_992.0}} matches [{"a": 9_007_199_254_740_993_i64}]
            not [{"a": 9_007_199_254_740_992_i64}];
        {"a.b": {"$gt": 1}} matches [{"a": [{"b": [0, 2]}, {"b": 0}]}] not [{"a": [{"b": [0]}]}];
    }
}

#[test]
fn lists_patterns_and_types() {
    facts! {
        {"a": {"$in": [1, "x"]}} matches [{"a": 1.0}, {"a": ["x"]}] not [{"a": 2}, {}];
        {"a": {"$in": [[1, 2]]}} matches [{"a": [1, 2]}, {"a": [[1, 2]]}] not [{"a": 1}, {"a": [2, 1]}];
        {"a": {"$in": []}} matches [] not [{}, {"a": []}];
        {"a": {"$nin": [1]}} matches [{"a": 2}, {}, {"a": []}] not [{"a": 1}, {"a": [1, 2]}];

        {"a": {"$regex": "^x"}} matches [{"a": "xy"}, {"a": [1, "x"]}] not [{"a": "yx"}, {"a": 1}, {"a": [["x"]]}, {}];
        {"a": {"$regex": "^B.c$", "$options": "ims"}} matches [{"a": "x\nb\nC"}] not [{"a": "bc"}];
        {"a": {"$options": "x", "$regex": "a b"}} matches [{"a": "ab"}] not [{"a": "a b"}];

        {"a": {"$type": "string"}} matches [{"a": "x"}, {"a": [1, "x"]}] not [{"a": 1}, {}];
        {"a": {"$type": 4}} matches [{"a": []}, {"a": [1]}] not [{"a": {}}, {"a": 1}];
        {"a": {"$type": ["bool", 10]}} matches [{"a": true}, {"a": null}] not [{}, {"a": 0}];
        {"a": {"$type": "number"}} matches [{"a": 1}, {"a": 1.5}] not [{"a": "1"}];
        {"a": {"$type": "int"}} matches [{"a": 1}, {"a": 1.0}] not [{"a": 1.5}, {"a": "1"}];
    }
}

#[test]
fn presence_and_size() {
    facts! {
        {"a.b": {"$exists": true}} matches [{"a": {"b": null}}, {"a": [1, {"b": 1}]}] not [{"a": [{}]}, {}];
        {"a.b": {"$exists": false}} matches [{}, {"a": []}, {"a": 1}] not [{"a": {"b": 0}}];
        {"a.1": {"$exists": 1}} matches [{"a": [0, null]}] not [{"a": [0]}];

        {"a": {"$size": 2}} matches [{"a": [1, [2, 3, 4]]}] not [{"a": [[1, 2]]}, {"a": "ab"}, {}];
        {"a": {"$size": 0}} matches [{"a": []}] not [{}, {"a": null}, {"a": {}}];
        {"a.b": {"$size": 2.0}} matches [{"a": [{"b": [1, 2]}]}] not [{"a": [{"b": 1}, {"b": 2}]}];
    }
}

#[test]
fn all_and_elem_match() {
    facts! {
        {"a": {"$all": [1, 2]}} matches [{"a": [3, 2, 1]}] not [{"a": [1]}, {"a": 1}, {}];
        {"a": {"$all": [1]}} matches [{"a": 1}, {"a": [1]}] not [{"a": 2}];
        {"a": {"$all": []}} matches [] not [{"a": []}, {"a": [1]}, {}];
        {"a": {"$all": [{"$elemMatch": {"x": 1}}, {"$elemMatch": {"$type": "object"}}]}}
            matches [{"a": [{"x": 1}]}] not [{"a": [{"x": 2}]}];

        {"a": {"$elemMatch": {"x": 1, "y": {"$gt": 1}}}} matches [{"a": [{"x": 1, "y": 2}]}]
            not [{"a": [{"x": 1}, {"y": 2}]}, {"a": {"x": 1, "y": 2}}];
        {"a": {"$elemMatch": {"$gt": 1, "$lt": 3}}} matches [{"a": [0, 2]}] not [{"a": [0, 5]}, {"a": 2}];
        {"a": {"$elemMatch": {"$or": [{"x": 1}, {"y": 1}]}}} matches [{"a": [{"y": 1}]}] not [{"a": [1]}];
        {"a": {"$elemMatch": {}}} matches [{"a": [1, {}]}] not [{"a": [1]}, {"a": []}];
        {"a": {"$elemMatch": {"x": null}}} matches [{"a": [{}]}] not [{"a": [1, null]}];
        {"a": {"$elemMatch": {"$elemMatch": {"$gt": 1}}}} matches [{"a": [[1, 2]]}] not [{"a": [1, 2]}, {"a": [[1]]}];
        {"a": {"$elemMatch": {"$gt": 1}}} matches [{"a": [2]}] not [{"a": [[1, 2]]}];
        {"a.b": {"$elemMatch": {"$gt": 1}}} matches [{"a": [{"b": [2]}]}] not [{"a": [{"b": 2}]}];
    }
}

#[test]
fn logic() {
    facts! {
        {"$and": [{"a": 1}, {"b": 1}]} matches [{"a": 1, "b": 1}] not [{"a": 1}];
        {"$or": [{"a": 1}, {"b": 1}]} matches [{"a": 1}, {"b": 1}] not [{}];
        {"$nor": [{"a": 1}, {"b": 1}]} matches [{}] not [{"a": 1}, {"b": 1}];
        {"a": {"$not": {"$gt": 1}}} matches [{"a": 1}, {}, {"a": "x"}] not [{"a": [0, 2]}];
        {"a": {"$not": {"$gt": 1, "$lt": 3}}} matches [{"a": 3}, {"a": 1}] not [{"a": 2}];
        {"a": {"$not": "x"}} matches [{"a": "y"}, {}] not [{"a": "x"}, {"a": ["x"]}];
        {"a": {"$not": {"$not": {"$exists": true}}}} matches [{"a": 1}] not [{}];
    }
}

#[test]
fn plain_objects_nest_paths_only_above_an_operator() {
    facts! {
        {"session": {"escalation": {"$exists": true}}} matches [{"session": {"escalation": null, "x": 1}}]
            not [{"session": {}}, {}];
        // Beside a nested path, an object without operators is still a whole value.
        {"session": {"stage": "done", "user": {"age": {"$gt": 1}, "name": {"first": "A"}}}}
            matches [{"session": {"stage": "done", "user": {"age": 2, "name": {"first": "A"}}, "more": 1}}]
            not [
                {"session": {"stage": "open", "user": {"age": 2, "name": {"first": "A"}}}},
                {"session": {"stage": "done", "user": {"age": 2, "name": {"first": "A", "last": "B"}}}}
            ];
        {"a": {"b": 1}} matches [{"a": {"b": 1}}] not [{"a": {"b": 1, "c": 2}}];
        {"a": {"b": [{"$gt": 1}]}} matches [{"a": {"b": [{"$gt": 1}]}}] not [{"a": {"b": [2]}}];
        {"a": {"b.c": {"$gt": 1}}} matches [{"a": {"b": {"c": 2}}}] not [{"a": {"b.c": 2}}];
        {"a": {"$elemMatch": {"b": {"c": {"$gt": 1}}}}} matches [{"a": [{"b": {"c": 2, "d": 1}}]}] not [{"a": [{}]}];
    }
}

#[test]
fn errors_name_the_operator_the_place_and_the_cure() {
    let table = [
        (
            json!({"session": {"escalation": {"$exist": true}}}),
            expect!["unknown operator `$exist` at `session.escalation`; did you mean `$exists`?"],
        ),
        (json!({"a": {"$mod": [2, 0]}}), expect!["unknown operator `$mod` at `a`"]),
        (json!({"$where": "1"}), expect!["unknown operator `$where` at the top of the query"]),
        (
            json!({"$or": [{"a": 1}, {"b": {"$elemMatch": {"c": {"$gtt": 1}}}}]}),
            expect!["unknown operator `$gtt` at `$or[1].b.$elemMatch.c`; did you mean `$gt`?"],
        ),
        (json!({"$gt": 1}), expect!["`$gt` has no meaning at the top of the query: it belongs under a path"]),
        (
            json!({"a": {"$or": [{"b": 1}]}}),
            expect!["`$or` has no meaning at `a`: it belongs at the top of a query"],
        ),
        (
            json!({"a": {"$options": "i"}}),
            expect!["`$options` has no meaning at `a`: it belongs beside `$regex`"],
        ),
        (
            json!({"a": {"b": {"$gt": 1, "c": 2}}}),
            expect!["`a.b` mixes the operator `$gt` with the plain key `c`"],
        ),
        (
            json!({"a": {"$elemMatch": {"$gt": 1, "c": 2}}}),
            expect!["`a.$elemMatch` mixes the operator `$gt` with the plain key `c`"],
        ),
    ];
    for (query, expected) in table {
        check_error(&query, &expected);
    }
}

#[test]
fn errors_name_what_an_operator_needs() {
    let table = [
        (json!([1]), expect!["a query must be an object, found `[1]` at the top of the query"]),
        (json!({"$and": [{}, 1]}), expect!["a query must be an object, found `1` at `$and[1]`"]),
        (
            json!({"$and": []}),
            expect!["`$and` at the top of the query needs a non-empty array of queries, found `[]`"],
        ),
        (
            json!({"$or": {"a": 1}}),
            expect![[r#"`$or` at the top of the query needs a non-empty array of queries, found `{"a":1}`"#]],
        ),
        (
            json!({"a": {"$in": 1}}),
            expect!["`$in` at `a` needs an array of values without operators, found `1`"],
        ),
        (
            json!({"a": {"$nin": [{"$regex": "x"}]}}),
            expect![[
                r#"`$nin` at `a` needs an array of values without operators, found `[{"$regex":"x"}]`"#
            ]],
        ),
        (
            json!({"a": {"$size": -1}}),
            expect!["`$size` at `a` needs a whole number that is not negative, found `-1`"],
        ),
        (
            json!({"a": {"$size": 1.5}}),
            expect!["`$size` at `a` needs a whole number that is not negative, found `1.5`"],
        ),
        (
            json!({"a": {"$exists": "yes"}}),
            expect![[r#"`$exists` at `a` needs true or false, found `"yes"`"#]],
        ),
        (
            json!({"a": {"$type": "date"}}),
            expect![[
                r#"`$type` at `a` needs a type that JSON has (`string`, `number`, `double`, `decimal`, `int`, `long`, `bool`, `object`, `array`, `null`, or its BSON number), found `"date"`"#
            ]],
        ),
        (json!({"a": {"$all": 1}}), expect!["`$all` at `a` needs an array of values, found `1`"]),
        (
            json!({"a": {"$all": [{"$gt": 1}]}}),
            expect![[
                r#"`$all` at `a` needs an array of values or of `$elemMatch` objects, found `[{"$gt":1}]`"#
            ]],
        ),
        (
            json!({"a": {"$elemMatch": 1}}),
            expect!["`$elemMatch` at `a` needs an object of conditions or of operators, found `1`"],
        ),
        (
            json!({"a": {"$not": {"b": {"$gt": 1}}}}),
            expect![[
                r#"`$not` at `a` needs operators or a plain value (`$nor` negates nested paths), found `{"b":{"$gt":1}}`"#
            ]],
        ),
        (
            json!({"a": {"$not": {"$gr": 1}}}),
            expect!["unknown operator `$gr` at `a.$not`; did you mean `$gt`?"],
        ),
        (json!({"a": {"$regex": 1}}), expect!["`$regex` at `a` needs a pattern as a string, found `1`"]),
        (
            json!({"a": {"$regex": "x", "$options": "g"}}),
            expect![[r#"`$options` at `a` needs letters out of `imsx`, found `"g"`"#]],
        ),
        (
            json!({"a": {"$regex": "(x"}}),
            expect![[r"
                `$regex` at `a` is not a valid pattern
                regex parse error:
                    (x
                    ^
                error: unclosed group"]],
        ),
    ];
    for (query, expected) in table {
        check_error(&query, &expected);
    }
}

#[test]
fn depth_is_bounded() {
    let nest = |levels: usize| (1..levels).fold(json!({"$gt": 1}), |inner, _| json!({"a": inner}));
    assert!(Query::parse(&nest(64)).is_ok());
    check_error(&nest(65), &expect!["the query is nested deeper than 64 levels"]);
    check_error(&json!({"a.".repeat(64): 1}), &expect!["the query is nested deeper than 64 levels"]);
}

#[test]
fn explains_each_clause() {
    let query = Query::parse(&json!({
        "session": {"escalation": {"$exists": true}, "stage": "done"},
        "answers.score": {"$gt": 3, "$lt": 9},
        "$or": [{"patient.age": {"$lt": 18}}, {"$and": [{"guardian": true}]}],
    }))
    .unwrap();
    let document = json!({
        "session": {"stage": "done"},
        "answers": [{"score": 1}, {"score": 2}],
        "patient": {"age": 17},
    });
    let explained: Vec<String> = query
        .explain(&document)
        .iter()
        .map(|clause| {
            let actual = clause.actual.as_ref().map_or("missing".to_owned(), Value::to_string);
            format!("{} {}: {} <- {actual}", clause.matched, clause.path, clause.expected)
        })
        .collect();
    expect![[r#"
        false session.escalation: {"$exists":true} <- missing
        true session.stage: "done" <- "done"
        false answers.score: {"$gt":3,"$lt":9} <- [1,2]
        true $or: [{"patient.age":{"$lt":18}},{"$and":[{"guardian":true}]}] <- {"patient.age":17}"#]]
    .assert_eq(&explained.join("\n"));
    assert!(!query.matches(&document));
    assert_eq!(query.source()["session"]["stage"], "done");
}

#[test]
fn queries_are_equal_when_their_sources_are() {
    let parse = |source: Value| Query::parse(&source).unwrap();
    assert_eq!(parse(json!({"a": {"$regex": "x"}})), parse(json!({"a": {"$regex": "x"}})));
    assert_ne!(parse(json!({"a": {"$regex": "x"}})), parse(json!({"a": {"$regex": "y"}})));
}

/// Any JSON at all, with keys that are often paths or operators.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        (0_i32..4).prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        prop::sample::select(vec!["", "a", "(", "i", "number", "[a-z]+"]).prop_map(Value::from),
    ];
    let named = prop::sample::select(vec![
        "a",
        "b",
        "a.b",
        "a.0",
        "",
        ".",
        "0",
        "$",
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
    ]);
    let key = prop_oneof![9 => named.prop_map(str::to_owned), 1 => any::<String>()];
    leaf.prop_recursive(5, 48, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((key.clone(), inner), 0..3)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

fn any_query() -> impl Strategy<Value = Value> {
    prop_oneof![any_json(), any_json().prop_map(|asked| json!({"a": asked}))]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn nothing_panics(query in any_query(), document in any_json()) {
        match Query::parse(&query) {
            Ok(compiled) => {
                let clauses = compiled.explain(&document);
                prop_assert_eq!(clauses.iter().all(|clause| clause.matched), compiled.matches(&document));
            }
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }

    #[test]
    fn logic_obeys_its_laws(value in any_json(), document in any_json()) {
        let query = json!({"a": {"$eq": value}});
        let holds = |query: Value| Query::parse(&query).unwrap().matches(&document);
        let held = holds(query.clone());
        prop_assert_eq!(holds(json!({"$and": [query]})), held);
        prop_assert_eq!(holds(json!({"$or": [query, query]})), held);
        prop_assert_eq!(holds(json!({"$nor": [query]})), !held);
        prop_assert_eq!(holds(json!({"a": {"$not": {"$eq": value}}})), !held);
        prop_assert_eq!(holds(json!({"a": {"$ne": value}})), !held);
        let itself = json!({"a": value});
        prop_assert!(Query::parse(&query).unwrap().matches(&itself));
    }
}
