#![expect(clippy::needless_raw_string_hashes, reason = "expect-test writes them")]

use expect_test::{Expect, expect};
use proptest::prelude::*;
use serde_json::json;

use super::*;

fn scope() -> Scope {
    Scope {
        args: vec![json!({"q": "octo", "n": 5}), json!("two")],
        input: json!({"id": "a\"b\nc", "count": 3, "city": "Berlin", "zip": "01234", "flag": true, "none": null}),
        context: json!({"turn": 2}),
        globals: Map::from_iter([("turns".to_owned(), json!(4))]),
        now_ms: 1_700_000_000_000,
        seed: 7,
        ..Scope::default()
    }
}

fn value(source: &str) -> Value {
    Expression::value(source).unwrap().evaluate_here(&scope()).unwrap()
}

fn holds(source: &str) -> bool {
    let value = Expression::matcher(source).unwrap().evaluate_here(&scope()).unwrap();
    value.as_bool().unwrap()
}

fn fails(source: &str) -> String {
    let expression = Expression::value(source).unwrap().at("greets.yaml:12");
    match expression.evaluate_here(&scope()).unwrap_err() {
        JsError::Thrown { message, stack, .. } => format!("{message}\n{stack}"),
        error => error.to_string(),
    }
}

fn refused(source: &str, expected: &Expect) {
    expected.assert_eq(&check_expression(source).unwrap_err().to_string());
}

#[test]
fn an_expression_a_function_and_a_body_are_evaluated() {
    for source in [
        "args[0].q === 'octo' && input.count > 2",
        "args[0].q === 'octo';",
        "(args, input, context) => args[1] === 'two' && input.count === 3 && context.turn === 2",
        "((a, b) => b.count === 3)",
        "function (args) { return args.length === 2 }",
        "args => args[0].n === 5 // the fifth",
        "const [first] = args; return first.n === 5",
        "return args[0].n === 5",
        "{ return turns === 4 }",
        "`${input.city}!` === 'Berlin!'",
        "/^o.*o$/.test(args[0].q)",
    ] {
        assert_eq!(value(source), json!(true), "{source}");
    }
    assert_eq!(value("{\"a\": [input.count, undefined], b: undefined}"), json!({"a": [3, null]}));
    assert_eq!(value("input.missing"), Value::Null);
    assert_eq!(value("() => ({ at: Date.now() })"), json!({"at": 1_700_000_000_000_i64}));
}

#[test]
fn a_matcher_is_true_or_false() {
    assert!(holds("args[1]"));
    assert!(holds("() => [1]"));
    assert!(!holds("input.none"));
    assert!(!holds("''"));
    assert!(!holds("return 0"));
}

#[test]
fn what_cannot_be_read_says_where() {
    refused(
        "args[0] ===",
        &expect![
            "it ends too early: something is not closed or not finished (line 1, column 12 of the expression)"
        ],
    );
    refused(
        "args[0] === = 1",
        &expect!["unexpected token in expression: '=' (line 1, column 13 of the expression)"],
    );
    refused("args[0]\n  .q é= 1", &expect!["Unexpected identifier 'é' (line 2, column 6 of the expression)"]);
    refused(
        "'éé' === = 1",
        &expect!["unexpected token in expression: '=' (line 1, column 10 of the expression)"],
    );
    refused("", &expect!["the expression is empty (line 1, column 1 of the expression)"]);
    refused(
        "const x = 1; x > 0",
        &expect!["a function body gives its value with `return` (line 1, column 1 of the expression)"],
    );
    refused(
        "const x = ; return x",
        &expect!["unexpected token in expression: ';' (line 1, column 11 of the expression)"],
    );
    refused(
        "async (args) => 1",
        &expect!["an async function gives a promise; leave out `async` (line 1, column 1 of the expression)"],
    );
    refused(
        "function* () { yield 1 }",
        &expect![
            "a generator function gives no value; leave out the `*` (line 1, column 1 of the expression)"
        ],
    );
    refused("await 1", &expect!["unexpected 'await' keyword (line 1, column 1 of the expression)"]);
    refused(
        "import.meta",
        &expect!["an expression cannot import anything (line 1, column 1 of the expression)"],
    );
    refused(
        "(args) => { return ${args[0]} === 1 }",
        &expect!["inside a function, `${…}` stands in backquotes only (line 1, column 20 of the expression)"],
    );
    refused(
        "a\0b",
        &expect!["a NUL character cannot stand in an expression (line 1, column 2 of the expression)"],
    );
    assert!(check_expression(&"1+".repeat(40_000)).is_err());
    assert!(check_expression(&"(".repeat(30_000)).is_err());
    assert!(check_expression(&"[".repeat(30_000)).is_err());
}

#[test]
fn a_source_of_one_piece_over_and_over_does_no_harm() {
    let pieces = "! -~ ( [ { {a: a=> ()=>{ `${ ${ ${` '${ '\\' `\\` \"${\" 1? 1?1: a. a?.[ /( ${(/ /* // ${a} ${a}&& \
                  !${a} (${a} ${a}== function(){ class{[ x= 1** é if(1) for(;;) a: => /[ ... \\";
    for piece in pieces.split(' ').chain(["typeof ", "new ", "async ", "return ", "a\n"]) {
        let source = piece.repeat(30_000 / piece.len());
        drop(Expression::matcher(&source));
        drop(Expression::response(&source));
    }
}

#[test]
fn a_source_cannot_close_what_is_around_it() {
    for source in [
        "1) + (2",
        "1)); while (true) {} ((2",
        "1]) + ([2",
        "} + function () {",
        "}, () => {",
        "return 1 }); ({",
    ] {
        assert!(check_expression(source).is_err(), "{source}");
    }
}

#[test]
fn checking_runs_nothing() {
    check_expression("(() => { while (true) {} })()").unwrap();
    check_expression("new Array(4294967295).join('')").unwrap();
}

#[test]
fn time_and_chance_come_from_the_scope() {
    assert_eq!(value("new Date().toISOString()"), json!("2023-11-14T22:13:20.000Z"));
    assert_eq!(value("new Date(0).getTime() + new Date('1970-01-01T00:00:01Z').getTime()"), json!(1000));
    assert_eq!(value("new (new Date().constructor)().getTime() === Date.now()"), json!(true));
    assert_eq!(
        value("new Date() instanceof Date && Date.UTC(1970, 0) === 0 && typeof Date() === 'string'"),
        json!(true)
    );
    assert_eq!(value("class D extends Date {}; return new D().getTime() === Date.now()"), json!(true));
    let draws = Expression::value("[Math.random(), Math.random()]").unwrap();
    let with_seed = |seed| draws.evaluate_here(&Scope { seed, ..scope() }).unwrap();
    assert_eq!(with_seed(1), with_seed(1));
    assert_ne!(with_seed(1), with_seed(2));
    assert_ne!(with_seed(1)[0], with_seed(1)[1]);
    assert!(with_seed(1)[0].as_f64().is_some_and(|drawn| (0.0..1.0).contains(&drawn)));
}

#[test]
fn nothing_outside_can_be_reached_and_nothing_stays() {
    let names = "['require', 'process', 'fetch', 'std', 'os', 'performance', 'console', 'setTimeout', '$'] \
                 .filter((name) => name in globalThis)";
    assert_eq!(value(names), json!([]));
    assert_eq!(value("globalThis.left = (globalThis.left ?? 0) + 1"), json!(1));
    assert_eq!(value("globalThis.left = (globalThis.left ?? 0) + 1"), json!(1));
    assert_eq!(value("Array.prototype.map = null; return new Function('return 2')()"), json!(2));
    assert_eq!(value("[1].map((x) => x)"), json!([1]));
    assert!(fails("eval('import(\"fs\")')").contains("a promise"));
}

#[test]
fn what_is_thrown_is_told_with_its_place() {
    expect![[r#"
        TypeError: cannot read property 'q' of undefined
            at <anonymous> (greets.yaml:12:1:1)"#]]
    .assert_eq(&fails("args[5].q === 1"));
    expect![[r#"
        RangeError: too far
            at check (greets.yaml:12:2:35)
            at <anonymous> (greets.yaml:12:3:10)"#]]
    .assert_eq(&fails(
        "(args) => {\n  const check = () => { throw new RangeError('too far') };\n  return check();\n}",
    ));
    expect![[r#"
        {"code":5}
            at greets.yaml:12"#]]
    .assert_eq(&fails("throw {code: 5}"));
    expect![[r#"
        no
            at greets.yaml:12"#]]
    .assert_eq(&fails("throw 'no'"));
    expect![[r#"
        ReferenceError: nowhere is not defined
            at <anonymous> (greets.yaml:12:1:1)"#]]
    .assert_eq(&fails("nowhere.x"));
    expect![[r#"
        ReferenceError: nowhere is not defined
            at greets.yaml:12"#]]
    .assert_eq(&fails("${nowhere.x}"));
    expect![[r#"
        ReferenceError: x is not defined
            at <anonymous> (greets.yaml:12:1:1)"#]]
    .assert_eq(&fails("x = 1; return x"));
    assert!(fails("throw 'x'.repeat(100000)").len() < 5000);
    assert!(
        fails("const f = () => f(); return f()").starts_with("RangeError: Maximum call stack size exceeded")
    );
}

#[test]
fn what_is_not_json_is_refused() {
    for (source, what) in [
        ("() => () => 1", "a function"),
        ("Array.isArray", "a built-in function"),
        ("({a: [Symbol('x')]})", "a symbol (in `0`)"),
        ("const a = {}; a.a = a; return a", "itself"),
        ("0 / 0", "the number NaN"),
        ("new Map([[1, 2]])", "a Map"),
        ("Promise.resolve(1)", "a promise"),
        ("[Promise.resolve(1)]", "a promise"),
        ("'\\ud800'", "what cannot be read again"),
        (
            "let deep = 1; for (let i = 0; i < 300; i++) deep = [deep]; return deep",
            "what cannot be read again",
        ),
    ] {
        let said = fails(source);
        assert!(
            said.contains("greets.yaml:12: the value of the expression cannot be JSON"),
            "{source}: {said}"
        );
        assert!(said.contains(what), "{source}: {said}");
    }
    assert!(fails("'x'.repeat(5 * 1024 * 1024)").contains("at most 4 MiB"));
}

#[test]
fn the_deadline_is_kept() {
    for source in
        ["(() => { while (true) {} })()", "(() => { while (true) { try { while (true) {} } catch {} } })()"]
    {
        assert!(fails(source).contains("took longer than 250 ms"), "{}", fails(source));
    }
}

#[test]
fn a_template_compares() {
    for source in [
        "${args[0].q} === 'octo'",
        "${args[0].q} == octo",
        "${args[0].n} === '5'",
        "${args[0].n} > -5",
        "${args[0].n}>=5.0",
        "${input.zip} == 1234",
        "${input.city} == Berlin && !(${input.count} > 10)",
        "${input.city} == Hamburg || ${input.count} < 5 && ${context.turn} != 3",
        "'${input.city}' === 'Berlin'",
        "\"${input.city}\" == Berlin",
        "${input.city} ${input.count} == Berlin 3",
        "city-${input.city} == city-Berlin",
        "https://${input.city}.example/a == https://Berlin.example/a",
        "${input.flag} == true",
        "${input.flag} === 'true'",
        "${input.nothing.at.all} == undefined",
        "${input.none} == null",
        "${input.city} != null",
        "${args[0].q}.length === 4",
        "${args[0].q}.includes('ct')",
        "!${input.none}",
        "${args[1]} === args[1]",
        "${args[0]} == '{\"q\":\"octo\",\"n\":5}'",
        "${args.length + 1} == 3",
        "${input['city']} == Berlin",
        "${ `${input.city}!` } == Berlin!",
    ] {
        assert!(holds(source), "{source}");
    }
    for source in [
        "${args[0].q} === 'other'",
        "${args[0].n} < -5",
        "${input.city} == Berlin && ${input.count} > 10",
        "!(${input.city} == Berlin)",
        "${input.nothing} > 1",
        "${input.nothing} == ''",
        "${input.city} == 2024-10-15",
        "${args[0].n} == 5x",
        "${input.none}",
    ] {
        assert!(!holds(source), "{source}");
    }
}

#[test]
fn a_template_that_cannot_be_read_says_where() {
    let said = |source| Expression::matcher(source).unwrap_err().to_string();
    expect!["a second comparison in a row; join them with `&&`, or put text in quotes (line 1, column 18 of the expression)"].assert_eq(&said("${args[0]} === 1 === 2"));
    expect!["one side of this comparison is missing (line 1, column 12 of the expression)"]
        .assert_eq(&said("${args[0]} ==="));
    expect!["a condition is missing here (line 1, column 17 of the expression)"]
        .assert_eq(&said("${args[0]} == 1 && "));
    expect!["a condition is missing here (line 1, column 1 of the expression)"]
        .assert_eq(&said("|| ${args[0]} == 1"));
    expect![
        "it ends too early: something is not closed or not finished (line 2, column 12 of the expression)"
    ]
    .assert_eq(&said("a\n == ${args[}"));
    expect!["this `${` is not closed (line 1, column 1 of the expression)"]
        .assert_eq(&said("${args[0] == 1"));
    let said = |source| Expression::response(source).unwrap_err().to_string();
    expect![
        "with its values put in, this is not JSON: expected `,` or `}` (line 2, column 22 of the expression)"
    ]
    .assert_eq(&said("{\"é\": ${input.id},\n \"b\": ${input.count} 5}"));
    expect![
        "with its values put in, this is not JSON: key must be a string (line 1, column 2 of the expression)"
    ]
    .assert_eq(&said("{id: ${input.id}}"));
    expect![
        "it ends too early: something is not closed or not finished (line 1, column 9 of the expression)"
    ]
    .assert_eq(&said("{\"a\": ${}}"));
}

#[test]
fn a_template_is_filled_in() {
    let gives = |source: &str| Expression::response(source).unwrap().evaluate_here(&scope()).unwrap();
    assert_eq!(gives("It's ${input.city}, isn't it? ${input.count}"), json!("It's Berlin, isn't it? 3"));
    assert_eq!(gives("${args[0]} and ${input.nothing}"), json!("{\"q\":\"octo\",\"n\":5} and null"));
    assert_eq!(gives("${args[0].n}"), json!("5"));
    assert_eq!(gives("use `ls` in ${input.city}"), json!("use `ls` in Berlin"));
    assert_eq!(
        gives("{\"id\": \"${input.id}\", \"n\": ${input.count}, \"all\": ${args}, \"who\": ${input.city}}"),
        json!({"id": "a\"b\nc", "n": 3, "all": scope().args, "who": "Berlin"})
    );
    assert_eq!(
        gives(" [\"a ${input.city} ${args[0].n} \\\" ${input[\"flag\"]}\", ${input.nothing}]"),
        json!(["a Berlin 5 \" true", null])
    );
    assert_eq!(gives("{\"${args[1]}\": 1}"), json!({"two": 1}));
    assert_eq!(gives("{\"only\": \"${input.city}\"}"), json!({"only": "Berlin"}));
    let error = Expression::response("is ${Math.max}").unwrap().evaluate_here(&scope()).unwrap_err();
    assert!(error.to_string().contains("is or holds a function"), "{error}");
}

#[test]
fn whole_numbers_of_any_size_stay_what_they_are() {
    let input: Value = rehearsal_core::json::from_str(
        r#"{"id": 123456789012345678901234567890, "odd": 9007199254740993, "n": 5, "all": [-18446744073709551617]}"#,
    )
    .unwrap();
    let scope = Scope { input, ..scope() };
    let text =
        |expression: Expression| rehearsal_core::json::text(&expression.evaluate_here(&scope).unwrap());
    for (source, expected) in [
        ("input.id", "123456789012345678901234567890"),
        (
            "({a: [input.id, input.odd], n: input.n})",
            "{\"a\":[123456789012345678901234567890,9007199254740993],\"n\":5}",
        ),
        ("input.id + 1n", "123456789012345678901234567891"),
        ("`${input.odd}`", "\"9007199254740993\""),
        ("input.all[0] < 0 && input.id > 5", "true"),
        ("({id: 10n})", "{\"id\":10}"),
        ("'\\ufdd0123456789012345678901234567890'", "\"\u{fffd}123456789012345678901234567890\""),
    ] {
        assert_eq!(text(Expression::value(source).unwrap()), expected, "{source}");
    }
    for (source, expected) in [
        (
            "{\"id\": ${input.id}, \"own\": 18446744073709551617}",
            "{\"id\":123456789012345678901234567890,\"own\":18446744073709551617}",
        ),
        ("the id is ${input.id}", "\"the id is 123456789012345678901234567890\""),
    ] {
        assert_eq!(text(Expression::response(source).unwrap()), expected, "{source}");
    }
    for (source, expected) in [
        ("${input.id} == 123456789012345678901234567890", "true"),
        ("${input.id} == 123456789012345678901234567891", "false"),
        ("${input.odd} == 9007199254740992", "false"),
        ("${input.n} == 5", "true"),
    ] {
        assert_eq!(text(Expression::matcher(source).unwrap()), expected, "{source}");
    }
}

#[test]
fn a_matcher_that_cannot_change_says_why() {
    for source in [
        "true",
        "1 === 1",
        "() => true",
        "(args) => true",
        "function (args) { return 1 }",
        "'args[0]'",
        "return 'x'",
    ] {
        let why = Expression::matcher(source).unwrap().why_constant();
        assert!(why.is_some_and(|why| why.contains("looks at nothing")), "{source}");
    }
    for source in
        ["${args[0]}", "'${args[0]}'", "${args[0]} ${args[1]}", "always ${input.city}", "(${args[0]})"]
    {
        let why = Expression::matcher(source).unwrap().why_constant();
        assert!(why.is_some_and(|why| why.contains("no operator")), "{source}");
    }
    assert!(Expression::matcher("${1} == 1").unwrap().why_constant().is_some());
    for source in [
        "args[0]",
        "(a) => a[0] === 1",
        "a => a[0] === 1",
        "(args) => args.length",
        "Math.random() < 0.5",
        "turns > 3",
        "`${input.city}`",
        "${args[0]} == 1",
        "!${args[0]}",
        "${args[0]} && ${args[1]}",
        "${args[0]}.includes('x')",
        "function () { return arguments[0] }",
    ] {
        assert_eq!(Expression::matcher(source).unwrap().why_constant(), None, "{source}");
    }
}

/// Pieces that meet in ways nobody planned.
fn sources() -> impl Strategy<Value = String> {
    let pieces = "${ } args[0] .q input ' \" ` ( ) [ ] { === == < && || ! => function return async // /* */ / \\ é 😀 1 \
                  .5 , ; : Berlin import";
    let pieces: Vec<&str> = pieces.split(' ').chain([" ", "\n", "\u{2028}"]).collect();
    proptest::collection::vec(prop::sample::select(pieces), 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_source_is_read_or_refused_at_a_place_within_it(source in sources()) {
        for read in [Expression::matcher(&source), Expression::response(&source)] {
            match read {
                Ok(expression) => drop(expression.evaluate_here(&scope())),
                Err(error) => {
                    let lines: Vec<&str> = source.split('\n').collect();
                    let line = lines.get(error.line - 1);
                    prop_assert!(line.is_some_and(|line| error.column <= line.chars().count() + 1), "{error}: {source:?}");
                }
            }
        }
    }

    #[test]
    fn every_value_arrives_whole_in_a_json_template(text in any::<String>()) {
        let template = "{\"inside\": \"<${input}>\", \"outside\": ${input}, \"${input}\": 1}";
        let scope = Scope { input: json!(text), ..Scope::default() };
        let value = Expression::response(template).unwrap().evaluate_here(&scope).unwrap();
        prop_assert_eq!(&value["inside"], &json!(format!("<{text}>")));
        if text != "inside" && text != "outside" {
            prop_assert_eq!(&value["outside"], &json!(text));
            prop_assert_eq!(&value[&text], &json!(1));
        }
    }
}
