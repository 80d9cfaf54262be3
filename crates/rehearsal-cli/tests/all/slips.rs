//! Slips of the pen in scenario files, and what is said of them.

#![expect(clippy::needless_raw_string_hashes, reason = "expect-test writes them")]

use expect_test::expect;

use crate::support::Folder;

/// A scenario with a place for a tool's parameters and one for evaluations.
fn slip(parameters: &str, evaluations: &str) -> Folder {
    let text = format!(
        "name: slips
description: Something is misspelt
environment: {{type: local}}
agent:
  instructions: Help.
  tools:
    - name: refund
      description: Refunds
      parameters: {parameters}
models: {{agent: {{script: [{{call: refund, args: {{amount: 1}}}}, done]}}, judge: {{rules: [{{json: {{judgment: 1}}}}]}}}}
setup: {{mocks: [{{method: refund, response: {{}}, state: {{session: {{refunded: 1}}}}}}]}}
run:
  - input: hi
    evaluations: {evaluations}
judgment: {{strategy: all_pass}}
"
    );
    Folder::new(&[("a.scenario.yaml", &text)])
}

const TAKES: &str = "{type: object, properties: {amount: {type: number}}}";

#[test]
fn slips_in_a_schema_are_named_where_they_stand() {
    let asks = "[{type: llm_judge, prompt: p, expected: '0.5+'}]";
    for (parameters, place, words, help) in [
        (
            "{type: object, propertis: {amount: {type: number}}}",
            "9:34",
            "`propertis` is no keyword",
            "`properties`",
        ),
        ("{type: object, properties: {amount: {type: strng}}}", "9:62", "`strng` is no type", "`string`"),
        (
            "{type: object, properties: {amount: {type: [number, 'nul']}}}",
            "9:71",
            "`nul` is no type",
            "`null`",
        ),
        ("{properties: {amount: {anyOf: [{type: numbr}]}}}", "9:57", "`numbr` is no type", "`number`"),
    ] {
        let ran = slip(parameters, asks).run("check a.scenario.yaml");
        assert!(ran.stderr.contains(words), "{}", ran.stderr);
        assert!(ran.stderr.contains(&format!("a.scenario.yaml:{place}")), "{}", ran.stderr);
        assert!(ran.stderr.contains(&format!("did you mean {help}?")), "{}", ran.stderr);
        assert!(!ran.stderr.contains("not valid under any"), "{}", ran.stderr);
    }
    // Properties may have any names, and keywords of one's own are nobody's slip.
    let fine = "{type: object, x-order: 1, properties: {typ: {}, propertis: {type: number}, amount: {}}, default: {typo: 1}}";
    let ran = slip(fine, asks).run("check a.scenario.yaml");
    assert_eq!((ran.code, ran.stderr.contains("keyword")), (0, false), "{}", ran.stderr);
}

#[test]
fn a_judgment_that_is_never_what_is_expected_is_an_error_of_the_file() {
    for (expected, judgment, is_fine) in [
        ("'yes'", "{type: number}", false),
        ("'no'", "{type: integer}", false),
        ("'yes'", "{enum: [1, 2]}", false),
        ("'yes'", "{type: string, enum: [good, bad]}", false),
        ("'yes'", "{const: 'no'}", false),
        ("'0.5+'", "{type: string}", false),
        ("'0.5+'", "{enum: ['yes', 'no']}", false),
        ("'yes'", "{type: string}", true),
        ("'yes'", "{type: boolean}", true),
        ("'no'", "{type: string, enum: ['Yes', 'No']}", true),
        ("'yes'", "{type: [number, string]}", true),
        ("'yes'", "{}", true),
        ("'0.5+'", "{type: number}", true),
    ] {
        let schema = format!("{{type: object, properties: {{judgment: {judgment}}}}}");
        let asks = format!("[{{type: llm_judge, prompt: p, expected: {expected}, json_schema: {schema}}}]");
        let ran = slip(TAKES, &asks).run("check a.scenario.yaml");
        assert_eq!(ran.code, if is_fine { 0 } else { 2 }, "{expected} {judgment} {}", ran.stderr);
        if !is_fine {
            assert!(
                ran.stderr.contains("error[never-true]: `judgment` of this `json_schema` is never"),
                "{}",
                ran.stderr
            );
            assert!(ran.stderr.contains("a.scenario.yaml:14:"), "{}", ran.stderr);
        }
    }
}

#[test]
fn flags_within_a_pattern_are_told_what_to_write_instead() {
    let asks = "[{type: regex_match, pattern: '(?i)done'}, {type: llm_judge, prompt: p, expected: '0.5+'}]";
    slip(TAKES, asks).run("check a.scenario.yaml").check(&expect![[r#"
        exit 2
        --- stdout
        1 file: 0 can be used, 1 cannot
        --- stderr
        error[invalid-pattern]: `pattern` begins with `(?i)`, which JavaScript's regular expressions do not have
          --> a.scenario.yaml:14:48
           |
        14 |     evaluations: [{type: regex_match, pattern: '(?i)done'}, {type: llm_judge, prompt: p, expected: '0.5+'}]
           |                                                ^^^^^^^^^^
           |
        help: leave it out: upper and lower case are one unless `case_sensitive` is true, and `[\s\S]` is any character, also the end of a line

    "#]]);
}

#[test]
fn a_file_that_asks_nothing_is_told_so() {
    let ran = slip(TAKES, "[]").run("check a.scenario.yaml");
    assert!(ran.stderr.contains("warning[no-evaluations]: there are no evaluations"), "{}", ran.stderr);
    assert!(ran.stderr.contains("nobody uses the model `judge`"), "{}", ran.stderr);
}

#[test]
fn state_in_another_scope_is_told() {
    let asks = "[{type: state, matches: {refunded: 1}}, {type: llm_judge, prompt: p, expected: '0.5+'}]";
    let ran = slip(TAKES, asks).run("run a.scenario.yaml --no-store");
    let told = "`refunded` is in the scope `session`: write `session.refunded`";
    assert!(ran.stdout.contains(told), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains(r#"it is {"session":{"refunded":1}}"#), "{}", ran.stdout);
}
