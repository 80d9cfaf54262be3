//! Reading YAML: what is read, where it stands, and what is refused.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]
#![expect(clippy::needless_raw_string_hashes, reason = "expect-test writes them")]

use expect_test::{Expect, expect};
use proptest::prelude::*;
use rehearsal_scenario::yaml::{Node, NodeValue, parse};
use rehearsal_scenario::{Dialect, Problem, Style};
use serde_json::json;

fn refused(text: &str) -> Problem {
    parse(text).unwrap_err()
}

fn check(text: &str, expected: &Expect) {
    expected.assert_eq(&refused(text).render("greets.scenario.yaml", text, Style::Plain));
}

/// Every value of the tree with the text it stands on.
fn places(text: &str, node: &Node, found: &mut Vec<String>) {
    match &node.value {
        NodeValue::List(items) => items.iter().for_each(|item| places(text, item, found)),
        NodeValue::Map(entries) => {
            for entry in entries {
                found.push(text[entry.key_span.clone()].to_owned());
                places(text, &entry.value, found);
            }
        }
        _ => found.push(text[node.span.clone()].to_owned()),
    }
}

#[test]
fn every_value_knows_where_it_stands() {
    let text = "name: 'é greets'\nrun:\n  - input: hello there\n    max: 12\n  - {code: \"ls\"}\n";
    let mut found = Vec::new();
    places(text, &parse(text).unwrap(), &mut found);
    assert_eq!(found, ["name", "'é greets'", "run", "input", "hello there", "max", "12", "code", "\"ls\""]);
}

#[test]
fn text_in_all_its_forms_is_text() {
    let text = "a: |\n  two\n  lines\nb: >\n  folded\n  text\nc: plain\n  on two lines\nd: \"tab\\t\"\ne: 'it''s'\nf:\n";
    let expected = json!({"a": "two\nlines\n", "b": "folded text\n", "c": "plain on two lines", "d": "tab\t", "e": "it's", "f": null});
    assert_eq!(parse(text).unwrap().to_json(), expected);
}

#[test]
fn anchors_and_merge_keys_work() {
    let text = "base: &base {a: 1, b: 'two'}\nother:\n  <<: *base\n  a: 3\nlist: [*base, *base]\n";
    let node = parse(text).unwrap().to_json();
    assert_eq!(node["other"], json!({"a": 3, "b": "two"}));
    assert_eq!(node["list"], json!([{"a": 1, "b": "two"}, {"a": 1, "b": "two"}]));
    let text = "x: &x {a: 1, b: 1}\ny: &y {a: 2, c: 2}\nz: {<<: [*x, *y], b: 3}\n";
    assert_eq!(parse(text).unwrap().to_json()["z"], json!({"a": 1, "b": 3, "c": 2}));
    let text = "x: &x {1: a}\ny: {<<: *x, \"1\": b}\nz: {\"1\": b, <<: *x}\n";
    assert_eq!(parse(text).unwrap().to_json()["y"], json!({"1": "b"}));
    assert_eq!(parse(text).unwrap().to_json()["z"], json!({"1": "b"}));
}

#[test]
fn a_key_that_stands_twice_is_an_error_at_the_second_place() {
    check(
        "name: one\nrun: []\nname: two\n",
        &expect![[r#"
            error[yaml]: key `name` stands twice in one map
             --> greets.scenario.yaml:3:1
              |
            3 | name: two
              | ^^^^"#]],
    );
}

#[test]
fn keys_that_are_the_same_as_text_stand_twice() {
    check(
        "1: one\n\"1\": two\n",
        &expect![[r#"
            error[yaml]: key `1` stands twice in one map
             --> greets.scenario.yaml:2:1
              |
            2 | "1": two
              | ^^^"#]],
    );
    assert_eq!(refused("a: {true: 1, 'true': 2}\n").message, "key `true` stands twice in one map");
}

#[test]
fn broken_yaml_is_an_error_with_its_place() {
    check(
        "name: ok\nrun:\n  - input: \"never ends\n",
        &expect![[r#"
            error[yaml]: a text in quotes ends nowhere, or its next line is not indented
             --> greets.scenario.yaml:4:1
              |
            4 |
              | ^
              |
            help: close the quote"#]],
    );
    check(
        "a: 1\n---\nb: 2\n",
        &expect![[r#"
            error[yaml]: a second document begins here, but a scenario file holds one
             --> greets.scenario.yaml:3:1
              |
            3 | b: 2
              | ^"#]],
    );
    check(
        "a: @x\n",
        &expect![[r#"
            error[yaml]: a value cannot begin with `@`
             --> greets.scenario.yaml:1:4
              |
            1 | a: @x
              |    ^
              |
            help: put it in quotes"#]],
    );
}

#[test]
fn files_that_would_explode_are_refused() {
    assert_eq!(refused(&"a".repeat(5 * 1024 * 1024)).code, "too-large");
    let deep = format!("{}1{}", "[".repeat(500), "]".repeat(500));
    assert!(parse(&deep).is_err());
    let mut bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n".to_owned();
    for n in 1..12 {
        let list = vec![format!("*a{}", n - 1); 8].join(",");
        bomb = format!("{bomb}a{n}: &a{n} [{list}]\n");
    }
    assert!(parse(&bomb).is_err());
}

#[test]
fn limits_are_told_in_words() {
    let message = |text: &str| refused(text).message;
    let nested = "values are nested more than 64 deep here";
    assert_eq!(message(&"[".repeat(100_000)), nested);
    assert_eq!(message(&"{a: ".repeat(100_000)), nested);
    assert_eq!(message(&"- ".repeat(100_000)), nested);
    assert_eq!(
        message(&format!("[{}]", vec!["1"; 250_001].join(","))),
        "the file holds more than 250000 values"
    );
    let bomb: Vec<String> =
        (1..30).map(|n| format!("a{n}: &a{n} [{}]\n", vec![format!("*a{}", n - 1); 10].join(","))).collect();
    let bomb = format!("a0: &a0 [x]\n{}", bomb.concat());
    assert_eq!(message(&bomb), "the file holds more than 250000 values once its aliases are written out");
    let long = format!("a: &a \"{}\"\nb: [{}]\n", "x".repeat(1_000_000), vec!["*a"; 200].join(","));
    assert_eq!(message(&long), "the file holds more than 64 MiB of text once its aliases are written out");
    let anchors: Vec<String> = (0..50_001).map(|n| format!("- &a{n} 1\n")).collect();
    assert_eq!(message(&anchors.concat()), "the file holds more than 50000 anchors");
}

#[test]
fn one_anchor_may_be_used_often() {
    let text = format!("base: &base {{a: 1}}\nsteps:\n{}", "  - {<<: *base, b: 2}\n".repeat(500));
    assert_eq!(parse(&text).unwrap().to_json()["steps"][499], json!({"a": 1, "b": 2}));
}

#[test]
fn tags_that_nobody_knows_are_errors() {
    check(
        "name: ok\nrun: !foo [1]\n",
        &expect![[r#"
        error[yaml]: the tag `!foo` is not known
         --> greets.scenario.yaml:2:11
          |
        2 | run: !foo [1]
          |           ^
          |
        help: remove the tag, or put a text that begins with `!` in quotes"#]],
    );
    for text in
        ["a: !foo x", "a: !!python/object:os.system x", "a: !foo {b: 1}", "!foo a: 1", "a: !<tag:x,2000:y> z"]
    {
        assert!(refused(text).message.contains("tag"), "{text}: {}", refused(text).message);
    }
    let known = "a: !!str 12\nb: !!int 12\nc: !!map {d: 1}\ne: !!seq [1]\nf: !!float 1.5\ng: !!bool true\nh: !!null ~\ni: !!str x\nj: [!!str 1, &k !!str 2, !!str &l 3]\n";
    let expected = json!({"a": "12", "b": 12, "c": {"d": 1}, "e": [1], "f": 1.5, "g": true, "h": null, "i": "x", "j": ["1", "2", "3"]});
    assert_eq!(parse(known).unwrap().to_json(), expected);
}

#[test]
fn marks_and_line_ends_of_other_systems_move_nothing() {
    let text = "\u{feff}name: 'é greets'\r\nrun:\r\n  - input: hello there\r\n    max: 12\r\n  - |\r\n    a\r\n    b\r\n";
    let node = parse(text).unwrap();
    assert_eq!(
        node.to_json(),
        json!({"name": "é greets", "run": [{"input": "hello there", "max": 12}, "a\nb\n"]})
    );
    let mut found = Vec::new();
    places(text, &node, &mut found);
    assert_eq!(found[..6], ["name", "'é greets'", "run", "input", "hello there", "max"]);
    assert_eq!(refused("\u{feff}a: @x").place("\u{feff}a: @x"), (1, 4));
    assert_eq!(refused("\u{feff}a: 1\r\nb: 2\r\na: 3\r\n").place("\u{feff}a: 1\r\nb: 2\r\na: 3\r\n"), (3, 1));
}

#[test]
fn what_is_often_wrong_is_told_with_the_fix() {
    let told = |text: &str| {
        let problem = refused(text);
        let (line, column) = problem.place(text);
        format!("{line}:{column} {} | {}\n", problem.message, problem.help.unwrap_or_default())
    };
    let texts = [
        "a: @x\n",
        "a: `x`\n",
        "a: %x\n",
        "a: b: c\n",
        "a: *nope\n",
        "a: &a [*a]\n",
        "a:\n\t- b\n",
        "a: \"open\n",
        "a: 'open\n",
        "a: [1, 2\n",
        "a: {b: 1\n",
        "a: ]\n",
        "a: [1}\n",
        "a: 1\n  b: 2\n",
        "a:\n  - 1\n b: 2\n",
        "a: \"\\q\"\n",
        "a: x\0y\n",
        "a: {<<: 5}\n",
        "? [a]\n: b\n",
        "a: 1\nb\n",
        "- a\nb: 1\n",
        "a: &x\nb: *\n",
        "%YAML 3.0\n---\na: 1\n",
        "a: \"x\" y\n",
        "a: !!int x\n",
        "a: .inf\n",
    ];
    expect![[r#"
        1:4 a value cannot begin with `@` | put it in quotes
        1:4 a value cannot begin with a backtick | put it in quotes
        1:4 a value cannot begin with `%` | put it in quotes
        1:5 a `:` cannot stand here | put a text that contains `: ` in quotes, or check the indentation
        1:4 no anchor before this has that name | write `&name` before the value it stands for
        1:8 an alias stands inside the value it stands for | 
        2:2 a tab cannot indent | use spaces
        2:1 a text in quotes ends nowhere, or its next line is not indented | close the quote
        2:1 a text in quotes ends nowhere, or its next line is not indented | close the quote
        1:4 this '[' is never closed | 
        1:4 this '{' is never closed | 
        1:4 nothing is open that this could close | 
        1:4 this '[' is closed by '}' | 
        2:4 a `:` cannot stand here | put a text that contains `: ` in quotes, or check the indentation
        3:2 a key was expected here | check the indentation
        1:4 an escape in this text is unknown | write `\\` for a backslash, or use single quotes
        1:5 the character \u{0} cannot stand in a file | 
        1:9 only a map, or a list of maps, can be merged | write `<<: *name`
        1:3 a key must be text | 
        2:1 a `:` is missing behind this key | write `key: value`
        2:1 an item of the list was expected here | check the indentation
        2:4 the name of an anchor or an alias is missing | put a text that begins with `*` or `&` in quotes
        1:1 unsupported YAML major version | 
        1:8 something stands behind the end of a text in quotes | put the whole value in quotes
        1:10 its tag makes this a whole number, but it is not written like one | 
        1:4 infinite numbers, and those that are no number, cannot be used | put it in quotes
    "#]]
    .assert_eq(&texts.into_iter().map(told).collect::<String>());
}

#[test]
fn every_beginning_of_a_file_is_read_or_refused() {
    let text = include_str!("yaml/rich.yaml");
    parse(text).unwrap();
    for (at, _) in text.char_indices() {
        let dialect = if at % 2 == 0 { Dialect::Rehearsal } else { Dialect::ElizaOs };
        for problem in rehearsal_scenario::check(&text[..at], dialect).problems {
            problem.render("a.scenario.yaml", &text[..at], Style::Plain);
        }
    }
}

#[test]
fn a_long_line_is_cut_around_the_place() {
    let text = format!("name: ok\nrun: [{}, @x, {}]\n", "é".repeat(1000), "b".repeat(1000));
    check(
        &text,
        &expect![[r#"
        error[yaml]: a value cannot begin with `@`
         --> greets.scenario.yaml:2:1009
          |
        2 | …ééééééééééééééééééééééééééééééééééééééééééééééééé, @x, bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb...
          |                                                     ^
          |
        help: put it in quotes"#]],
    );
}

proptest! {
    #[test]
    fn nothing_makes_it_panic(text in "(?s)[ -~\n\t\u{e9}\u{4e2d}]{0,80}") {
        if let Ok(node) = parse(&text) {
            places(&text, &node, &mut Vec::new());
            node.to_json();
        }
    }

    /// What JSON says, YAML says too.
    #[test]
    fn json_is_read_as_what_it_is(words in prop::collection::vec(("[a-z]{1,5}", "[ -~é]{0,12}", -1000i64..1000), 0..5)) {
        let mut fields = serde_json::Map::new();
        for (key, text, number) in words {
            fields.insert(key, json!([text, number, true, null]));
        }
        let value = serde_json::Value::Object(fields);
        prop_assert_eq!(parse(&value.to_string()).unwrap().to_json(), value);
    }
}

/// A text of lines, one for each of these.
fn lines<T>(items: impl IntoIterator<Item = T>, line: impl Fn(T) -> String) -> String {
    items.into_iter().fold(String::new(), |text, item| text + &line(item))
}

/// Lists or maps that hold each other `width` times, `depth` levels deep.
fn aliases(width: usize, depth: usize, level: impl Fn(usize, &str) -> String) -> String {
    let inner = |n: usize| vec![format!("*a{}", n - 1); width].join(", ");
    (1..=depth).fold("a0: &a0 {k: v}\n".to_owned(), |text, n| text + &level(n, &inner(n)))
}

/// Files that would take all memory, all time, or mean something else than they seem to: each is refused.
#[test]
fn bombs_are_refused() {
    let list = |n: usize, inner: &str| format!("a{n}: &a{n} [{inner}]\n");
    let map = |n: usize, inner: &str| {
        let keyed: Vec<String> =
            inner.split(", ").enumerate().map(|(at, alias)| format!("k{at}: {alias} ")).collect();
        format!("a{n}: &a{n} {{{}}}\n", keyed.join(", "))
    };
    let block = |n: usize, inner: &str| {
        let items = lines(inner.split(", "), |alias| format!("  - {alias}\n"));
        format!("a{n}: &a{n}\n{items}")
    };
    let merged = |n: usize, inner: &str| {
        let keyed: Vec<String> =
            inner.split(", ").enumerate().map(|(at, alias)| format!("m{n}x{at}: {{<<: {alias} }}")).collect();
        format!("a{n}: &a{n} {{{}}}\n", keyed.join(", "))
    };
    let many = |text: &str, count: usize| text.repeat(count);
    let bombs: Vec<(&str, String)> = vec![
        ("aliases in lists", aliases(10, 12, list)),
        ("two aliases in each of many lists", aliases(2, 60, list)),
        ("a hundred aliases in lists", aliases(100, 5, list)),
        ("aliases in maps", aliases(10, 12, map)),
        ("two aliases in each of many maps", aliases(2, 60, map)),
        ("aliases in block lists", aliases(9, 12, block)),
        ("merge keys", aliases(10, 12, merged)),
        ("two merge keys in each", aliases(2, 60, merged)),
        ("a list that holds itself", "a: &a [*a]\n".to_owned()),
        ("a map that holds itself", "a: &a {b: *a}\n".to_owned()),
        ("a merge with itself", "a: &a {<<: *a, b: 1}\n".to_owned()),
        ("aliases of nothing", "a: *b\n".to_owned()),
        ("an alias before its anchor", "a: *b\nb: &b 1\n".to_owned()),
        ("a merge with a text", "a: &a x\nb: {<<: *a}\n".to_owned()),
        ("a merge with a list of texts", "b: {<<: [x, y]}\n".to_owned()),
        ("lists in lists", many("[", 100_000)),
        ("closed lists in lists", many("[", 5000) + &many("]", 5000)),
        ("maps in maps", many("{a: ", 100_000)),
        ("items in items", many("- ", 100_000)),
        ("keys as keys", many("? ", 100_000)),
        ("maps by indentation", lines(0..2000, |n| format!("{}a:\n", " ".repeat(n)))),
        ("lists and maps in turn", many("[{a: ", 50_000)),
        ("a text of five megabytes", format!("a: {}\n", many("x", 5 << 20))),
        ("a key of five megabytes", format!("{}: a\n", many("x", 5 << 20))),
        ("a block of five megabytes", format!("a: |\n{}", many("  x\n", 5 << 18))),
        ("half a million values", format!("a: [{}]\n", many("1,", 500_000))),
        ("half a million keys", lines(0..500_000, |n| format!("k{n}: 1\n"))),
        ("many anchors", lines(0..60_000, |n| format!("- &a{n} 1\n"))),
        (
            "a long text in many aliases",
            format!("a: &a {}\nb: [{}]\n", many("x", 1 << 20), many("*a, ", 100)),
        ),
        ("a key that stands twice", "a: 1\na: 2\n".to_owned()),
        ("a key that stands twice in other words", "a: 1\n'a': 2\n".to_owned()),
        ("a key that stands twice through an escape", "a: 1\n\"\\x61\": 2\n".to_owned()),
        ("a key that is a list", "? [a, b]\n: 1\n".to_owned()),
        ("a key that is a map", "{{a: b}: 1}\n".to_owned()),
        ("a tag of Python", "a: !!python/object/apply:os.system [ls]\n".to_owned()),
        ("a tag of JavaScript", "a: !!js/function 'function () {}'\n".to_owned()),
        ("a tag of Ruby", "a: !ruby/object:Gem::Installer {i: x}\n".to_owned()),
        ("a tag of Java", "a: !!javax.script.ScriptEngineManager [x]\n".to_owned()),
        ("a tag by its address", "a: !<tag:yaml.org,2002:python/name:os> x\n".to_owned()),
        ("a tag of its own", "%TAG ! tag:evil.example,2000:\n---\na: !x y\n".to_owned()),
        ("a second document", "a: 1\n---\na: 2\n".to_owned()),
        ("a hundred thousand documents", many("---\na: 1\n", 100_000)),
        ("another version", "%YAML 9.9\n---\na: 1\n".to_owned()),
        ("a NUL", "a: \0b\n".to_owned()),
        ("an escape for what is no character", "a: \"\\ud800\"\n".to_owned()),
        ("an escape beyond all characters", "a: \"\\U00110000\"\n".to_owned()),
        ("a text that is not closed", format!("a: \"{}", many("x", 1 << 20))),
        ("colons", many(":", 100_000)),
    ];
    assert!(bombs.len() >= 29);
    for (name, bomb) in bombs {
        let problem = parse(&bomb).err().unwrap_or_else(|| panic!("{name} can be read"));
        let shown = problem.render("a.yaml", &bomb, Style::Plain);
        assert!(shown.len() < 4096, "{name}: {} bytes are shown", shown.len());
    }
}
