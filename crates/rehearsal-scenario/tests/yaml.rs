//! Reading YAML: what is read, where it stands, and what is refused.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]
#![expect(clippy::needless_raw_string_hashes, reason = "expect-test writes them")]

use expect_test::{Expect, expect};
use proptest::prelude::*;
use rehearsal_scenario::yaml::{Node, NodeValue, parse};
use rehearsal_scenario::{Problem, Style};
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
            error[yaml]: invalid indentation in multiline quoted scalar
             --> greets.scenario.yaml:4:1
              |
            4 |
              | ^"#]],
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
        error[yaml]: unexpected character: `@'
         --> greets.scenario.yaml:1:4
          |
        1 | a: @x
          |    ^"#]],
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
