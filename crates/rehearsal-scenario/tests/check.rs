//! What is wrong with scenario files, as their authors read it.

#![expect(clippy::needless_raw_string_hashes, reason = "expect-test writes them")]

use expect_test::{Expect, expect};
use rehearsal_scenario::{Action, Check, ConversationUser, Dialect, Severity, Strategy, Style, check};
use rehearsal_world::environment::Language;

const GOOD: &str = r#"
name: Refund
description: A customer gets a refund
tags: [billing]
plugins:
  - '@elizaos/plugin-bootstrap'
  - {name: '@elizaos/plugin-github', version: 1.0.0, config: {rate_limit: 100}}
environment: {type: local}
setup:
  mocks:
    - service: billing
      method: refund
      when: {input: {order: A-1}, partialArgs: [{order: A-1}]}
      response: {ok: true}
    - method: lookup
      error: {code: DOWN, message: try later, status: 503}
      metadata: {delay: 10, probability: 0.5}
  virtual_fs: {notes.txt: hello}
run:
  - name: asks
    input: I want my money back
    evaluations:
      - {type: string_contains, value: refund, description: it says so}
      - {type: llm_judge, prompt: Was it kind?, expected: 0.8+, capabilities: [kindness]}
  - lang: bash
    code: ls
    evaluations: [{type: command_exit_code_is, command: 'true', expected_code: 0}]
  - conversation:
      max_turns: 4
      user_simulator: {persona: a customer, objective: a refund}
      termination_conditions: [{type: goal_achieved, keywords: [done]}]
      final_evaluations: [{type: conversation_length, target_range: [1, 4]}]
judgment: {strategy: all_pass}
"#;

fn problems(text: &str, dialect: Dialect) -> String {
    let checked = check(text, dialect);
    let rendered: Vec<String> = checked
        .problems
        .iter()
        .map(|problem| problem.render("refund.scenario.yaml", text, Style::Plain))
        .collect();
    assert_eq!(
        checked.is_usable(),
        checked.problems.iter().all(|problem| problem.severity == Severity::Warning)
    );
    rendered.join("\n\n")
}

fn check_problems(text: &str, expected: &Expect) {
    expected.assert_eq(&problems(text, Dialect::Rehearsal));
}

#[test]
fn a_good_file_has_no_problems_and_its_defaults() {
    let checked = check(GOOD, Dialect::Rehearsal);
    assert_eq!(problems(GOOD, Dialect::Rehearsal), "");
    let scenario = checked.scenario.expect("it is usable");
    assert_eq!(scenario.strategy, Strategy::AllPass);
    assert_eq!(scenario.plugins[1].version.as_deref(), Some("1.0.0"));
    assert_eq!(scenario.setup.mocks[1].probability, Some(0.5));
    let Action::Conversation { input: None, conversation } = &scenario.run[2].action else {
        panic!("{scenario:?}")
    };
    assert_eq!((conversation.timeout_per_turn_ms, conversation.total_timeout_ms), (30_000, 300_000));
    let ConversationUser::Simulator(user) = &conversation.user else { panic!() };
    assert_eq!((user.temperature, user.max_tokens), (0.7, 200));
    let Check::StringContains(contains) = &scenario.run[0].evaluations[0].check else {
        panic!("{scenario:?}")
    };
    assert!(!contains.case_sensitive);
}

#[test]
fn all_problems_are_shown_at_once_each_at_its_place() {
    let text = GOOD
        .replace("tags:", "tag:")
        .replace("value: refund,", "value: 5,")
        .replace("max_turns: 4", "max_turns: 1")
        .replace("type: goal_achieved", "type: goal_acheived")
        .replace("strategy: all_pass", "strategy: most_pass")
        .replace("method: lookup", "methd: lookup");
    check_problems(
        &text,
        &expect![[r#"
            error[unknown-key]: the scenario has no key `tag`
             --> refund.scenario.yaml:4:1
              |
            4 | tag: [billing]
              | ^^^
              |
            help: did you mean `tags`?

            error[missing-key]: a mock needs `method`
              --> refund.scenario.yaml:15:7
               |
            15 |     - methd: lookup
               |       ^
               |
            help: add: method: the tool's name

            error[unknown-key]: a mock has no key `methd`
              --> refund.scenario.yaml:15:7
               |
            15 |     - methd: lookup
               |       ^^^^^
               |
            help: did you mean `method`?

            error[wrong-type]: `value` of an evaluation must be text
              --> refund.scenario.yaml:23:40
               |
            23 |       - {type: string_contains, value: 5, description: it says so}
               |                                        ^ this is a number
               |
            help: put it in quotes: "5"

            error[out-of-range]: `max_turns` of `conversation` must be from 2 to 1000000
              --> refund.scenario.yaml:29:18
               |
            29 |       max_turns: 1
               |                  ^

            error[unknown-value]: `type` of a termination condition cannot be `goal_acheived`
              --> refund.scenario.yaml:31:39
               |
            31 |       termination_conditions: [{type: goal_acheived, keywords: [done]}]
               |                                       ^^^^^^^^^^^^^
               |
            help: did you mean `goal_achieved`?

            error[unknown-value]: `strategy` of `judgment` cannot be `most_pass`
              --> refund.scenario.yaml:33:22
               |
            33 | judgment: {strategy: most_pass}
               |                      ^^^^^^^^^
               |
            help: it can be: `all_pass`, `any_pass`"#]],
    );
}

#[test]
fn type_errors_inside_evaluations_are_found_too() {
    let text = GOOD
        .replace("expected: 0.8+", "expected: true")
        .replace("[1, 4]", "[4, 1]")
        .replace("expected_code: 0", "expected_code: zero");
    check_problems(
        &text,
        &expect![[r#"
        error[wrong-type]: `expected` of an evaluation must be text
          --> refund.scenario.yaml:24:59
           |
        24 |       - {type: llm_judge, prompt: Was it kind?, expected: true, capabilities: [kindness]}
           |                                                           ^^^^ this is true or false
           |
        help: put it in quotes: "true"

        error[wrong-type]: `expected_code` of an evaluation must be a number
          --> refund.scenario.yaml:27:80
           |
        27 |     evaluations: [{type: command_exit_code_is, command: 'true', expected_code: zero}]
           |                                                                                ^^^^ this is text

        error[wrong-type]: `target_range` must be two whole numbers, the smaller one first
          --> refund.scenario.yaml:32:69
           |
        32 |       final_evaluations: [{type: conversation_length, target_range: [4, 1]}]
           |                                                                     ^
           |
        help: write: [3, 6]"#]],
    );
}

#[test]
fn steps_that_do_nothing_or_two_things_are_errors() {
    let text = GOOD
        .replace("    input: I want my money back\n", "")
        .replace("    code: ls\n", "    code: ls\n    input: hi\n");
    check_problems(
        &text,
        &expect![[r#"
        error[no-action]: step 1 does nothing
          --> refund.scenario.yaml:20:5
           |
        20 |   - name: asks
           |     ^
           |
        help: add one of `input`, `conversation` and `code`

        error[two-actions]: step 2 has `code` and something to say; only one of them is done
          --> refund.scenario.yaml:25:5
           |
        25 |     code: ls
           |     ^^^^
           |
        help: make two steps of it"#]],
    );
}

#[test]
fn the_other_dialect_warns_of_what_it_drops_and_keeps_its_own_rules() {
    let text = GOOD.replace("tags:", "character:").replace("type: local", "type: e2b");
    expect![[r#"
        warning[unknown-key]: the scenario has no key `character`
         --> refund.scenario.yaml:4:1
          |
        4 | character: [billing]
          | ^^^^^^^^^
          |
        help: its keys are: `name`, `description`, `tags`, `agent`, `models`, `prices`, `budget`, `plugins`, `environment`, `run`, `world`, `setup`, `users`, `bridge`, `judgment`, `use`, `cases`, `matrix`

        error[missing-key]: step 3 needs `evaluations`
          --> refund.scenario.yaml:28:5
           |
        28 |   - conversation:
           |     ^
           |
        help: add: evaluations: []"#]].assert_eq(&problems(&text, Dialect::ElizaOs));
}

/// A file with these steps.
fn with_run(run: &str) -> String {
    format!(
        "name: a\ndescription: b\nenvironment: {{type: local}}\njudgment: {{strategy: all_pass}}\nrun:{run}\n"
    )
}

/// A file with a step that asks this.
fn with_evaluation(evaluation: &str) -> String {
    with_run(&format!("\n  - input: hi\n    evaluations:\n      - {{{evaluation}}}"))
}

/// The problems in short: how bad, and of what kind.
fn kinds(text: &str, dialect: Dialect) -> Vec<String> {
    let checked = check(text, dialect);
    let errors = checked.problems.iter().any(|problem| problem.severity == Severity::Error);
    assert_eq!(checked.is_usable(), !errors, "{text}");
    checked.problems.iter().map(|problem| format!("{} {}", problem.severity, problem.code)).collect()
}

const TALK: &str = "conversation: {max_turns: 2, user_simulator: {persona: p, objective: o}}";

#[test]
fn of_two_actions_the_other_dialect_takes_the_one_its_runner_takes() {
    let actions = |step: &str| {
        let text = with_run(&format!("\n  - evaluations: []\n    {step}"));
        assert_eq!(kinds(&text, Dialect::ElizaOs), ["warning two-actions"], "{step}");
        assert_eq!(kinds(&text, Dialect::Rehearsal), ["error two-actions"], "{step}");
        let scenario = check(&text, Dialect::ElizaOs).scenario.expect("it is usable");
        assert_eq!(scenario.run.len(), 1, "{step}");
        scenario.run[0].action.clone()
    };
    assert_eq!(actions("input: hi\n    code: ls"), Action::Input("hi".into()));
    assert_eq!(
        actions("input: ''\n    code: ls"),
        Action::Code { lang: Language::Bash, interpreter: None, code: "ls".into() }
    );
    let talk = actions(&format!("{TALK}\n    code: ls"));
    assert!(matches!(talk, Action::Conversation { input: None, .. }), "{talk:?}");
}

#[test]
fn an_action_that_is_wrong_is_not_called_missing() {
    let table = [
        ("input: 5", "error wrong-type"),
        ("code: 5", "error wrong-type"),
        ("conversation: 5", "error wrong-type"),
        ("conversation: {max_turns: 2}", "error missing-key"),
    ];
    for dialect in [Dialect::Rehearsal, Dialect::ElizaOs] {
        for (step, expected) in table {
            let text = with_run(&format!("\n  - evaluations: []\n    {step}"));
            assert_eq!(kinds(&text, dialect), [expected], "{step}");
        }
    }
    // What the runner would not look at is read all the same.
    let text = with_run("\n  - evaluations: []\n    conversation: {max_turns: 2}\n    code: ls");
    assert_eq!(kinds(&text, Dialect::ElizaOs), ["error missing-key", "warning two-actions"]);
    let text = with_run("\n  - evaluations: []\n    input: ''");
    assert_eq!(kinds(&text, Dialect::ElizaOs), ["error no-action"]);
}

#[test]
fn the_help_quotes_what_stands_in_the_file() {
    for source in ["0x1F", "1e3", "1.50", "True", "2026-01-01", "007"] {
        let text = with_run(&format!("\n  - input: {source}\n    evaluations: []"));
        let problems = check(&text, Dialect::Rehearsal).problems;
        assert_eq!(problems[0].help, Some(format!("put it in quotes: \"{source}\"")));
    }
    let text = with_run("\n  - name: &n 12\n    input: *n\n    evaluations: []");
    let problems = check(&text, Dialect::Rehearsal).problems;
    assert_eq!(problems[1].help.as_deref(), Some("put it in quotes: \"12\""));
}

#[test]
fn a_key_without_a_value_is_an_error() {
    let text = GOOD.replace("tags: [billing]", "tags:").replace("response: {ok: true}", "response:");
    check_problems(
        &text,
        &expect![[r#"
        error[empty]: `tags` of the scenario is empty
         --> refund.scenario.yaml:4:1
          |
        4 | tags:
          | ^^^^
          |
        help: give it a value or remove it"#]],
    );
    let response = check(&text.replace("tags:\n", ""), Dialect::Rehearsal).scenario.expect("it is usable");
    assert_eq!(response.setup.mocks[0].response, Some(serde_json::Value::Null));
    let text = with_run("\n  - input: hi\n    name:\n    evaluations: []");
    assert_eq!(kinds(&text, Dialect::ElizaOs), ["error wrong-type"]);
    let text = with_run("\n  - input:\n    evaluations:");
    assert_eq!(kinds(&text, Dialect::Rehearsal), ["error empty", "error missing-key"]);
    assert_eq!(kinds(&text, Dialect::ElizaOs), ["error wrong-type", "error missing-key"]);
}

/// A file with one evaluation of a conversation.
fn of_talk(evaluation: &str) -> String {
    with_run(&format!("\n  - {TALK}\n    evaluations:\n      - {{{evaluation}}}"))
}

#[test]
fn what_decides_nothing_is_an_error_and_in_the_other_dialect_a_warning() {
    let condition = TALK.replace("}}", "}, termination_conditions: [{type: custom_condition}]}");
    let table = [
        (with_evaluation("type: string_contains, value: ''"), "always-true"),
        (with_evaluation("type: file_contains, path: a, value: ''"), "always-true"),
        (with_evaluation("type: regex_match, pattern: ''"), "always-true"),
        (of_talk("type: conversation_length, optimal_turns: 3"), "always-true"),
        (of_talk("type: conversation_flow, required_patterns: []"), "always-true"),
        (of_talk("type: context_retention, test_memory_of: []"), "always-true"),
        (with_evaluation("type: execution_time, max_duration_ms: -1"), "never-true"),
        (with_evaluation("type: llm_judge, prompt: p, expected: maybe"), "unknown-value"),
        (with_evaluation("type: execution_time, max_duration_ms: 5, min_duration_ms: 6"), "never-true"),
        (with_evaluation("type: regex_match, pattern: '(?i)a'"), "invalid-pattern"),
        (with_evaluation("type: llm_judge, prompt: p, expected: '8+'"), "never-true"),
        (with_evaluation("type: llm_judge, prompt: p, expected: '0.6-0.4'"), "never-true"),
        (with_evaluation("type: llm_judge, prompt: p, expected: '0'"), "always-true"),
        (with_evaluation("type: llm_judge, prompt: p, expected: '1-'"), "always-true"),
        (
            with_evaluation("type: llm_judge, prompt: p, expected: 'yes', json_schema: {type: object}"),
            "no-effect",
        ),
        (
            with_evaluation("type: llm_judge, prompt: p, expected: 'yes', json_schema: {type: odd}"),
            "invalid-schema",
        ),
        (of_talk("type: conversation_length, min_turns: 4, max_turns: 3"), "never-true"),
        (of_talk("type: conversation_length, min_turns: 4, target_range: [1, 3]"), "never-true"),
        (with_evaluation("type: tool_called, tool: a, count: 1, max_count: 2"), "no-effect"),
        (with_evaluation("type: tool_called, tool: a, min_count: 0"), "always-true"),
        (with_evaluation("type: tool_called, tool: a, max_count: 0"), "never-true"),
        (with_evaluation("type: tool_called, tool: a, min_count: 2, max_count: 1"), "never-true"),
        (with_evaluation("type: tool_called, tool: a, count: 0, before: b"), "never-true"),
        (with_evaluation("type: event_count, event: tool_call"), "always-true"),
        (with_evaluation("type: event_count, event: tool_call, min_count: 0"), "always-true"),
        (with_evaluation("type: event_count, event: tool_call, min_count: 2, max_count: 1"), "never-true"),
        (with_evaluation("type: event_count, event: tool_call, count: 1, max_count: 2"), "no-effect"),
        (with_evaluation("type: event_count, event: user_message, tool: a, count: 1"), "no-effect"),
        (with_evaluation("type: trajectory, mode: in_order, calls: []"), "always-true"),
        (with_evaluation("type: trajectory, calls: [{tool: a}], threshold: 0"), "always-true"),
        (with_evaluation("type: trajectory, calls: [{tool: a, args: {}, exact_args: {}}]"), "no-effect"),
        (with_evaluation("type: step_count, target_steps: 3"), "always-true"),
        (with_evaluation("type: step_count, min_steps: 3, max_steps: 2"), "never-true"),
        (with_evaluation("type: token_count"), "always-true"),
        (with_evaluation("type: state, matches: {}"), "always-true"),
        (with_run(&format!("\n  - {condition}\n    evaluations: []")), "never-true"),
        (with_run("\n  - {input: hi, lang: bash, evaluations: []}"), "no-effect"),
        (with_run(" []"), "no-steps"),
    ];
    for (text, code) in table {
        assert_eq!(kinds(&text, Dialect::Rehearsal), [format!("error {code}")], "{text}");
        assert_eq!(kinds(&text, Dialect::ElizaOs), [format!("warning {code}")], "{text}");
    }
}

#[test]
fn a_judge_can_be_asked_for_these() {
    for expected in ["yes", "No", "1", "0.8", "0.8+", "0.3-", "0.2-0.4"] {
        let text = with_evaluation(&format!("type: llm_judge, prompt: p, expected: '{expected}'"));
        assert_eq!(problems(&text, Dialect::Rehearsal), "", "{expected}");
    }
    for expected in ["", "true", "+", "-", "0.8++", ".8", "-0.4", "0.2-0.4-0.6"] {
        let text = with_evaluation(&format!("type: llm_judge, prompt: p, expected: '{expected}'"));
        assert_eq!(kinds(&text, Dialect::Rehearsal), ["error unknown-value"], "{expected}");
    }
}

#[test]
fn a_range_may_be_written_with_a_point() {
    let text = of_talk("type: conversation_length, target_range: [1.0, 3.0]");
    let scenario = check(&text, Dialect::Rehearsal).scenario.expect("it is usable");
    let Check::ConversationLength(length) = &scenario.run[0].evaluations[0].check else {
        panic!("{scenario:?}")
    };
    assert_eq!(length.target_range, Some((1, 3)));
    let text = of_talk("type: conversation_length, target_range: [1.5, 3]");
    assert_eq!(kinds(&text, Dialect::Rehearsal), ["error wrong-type"]);
}

#[test]
fn the_keys_that_can_stand_are_named_once() {
    let text = with_evaluation("type: file_contains, path: a, value: b, whatever: 1");
    let problems = check(&text, Dialect::Rehearsal).problems;
    let help = "its keys are: `type`, `description`, `path`, `value`, `case_sensitive`, `not`";
    assert_eq!(problems[0].help.as_deref(), Some(help));
}

#[test]
fn what_an_evaluation_is_made_of_is_looked_at_before_anything_runs() {
    let table = [
        (
            "type: tool_called, tool: a, args: {n: {$gt: 1, x: 2}}",
            "`n` mixes the operator `$gt` with the plain key `x`",
        ),
        (
            "type: tool_not_called, tool: a, args: {n: [{$gtt: 1}]}",
            "unknown operator `$gtt` at `n`; did you mean `$gt`?",
        ),
        (
            "type: trajectory, calls: [{tool: a}, {tool: b, args: {n: {$gt: 1, x: 2}}}]",
            "`n` mixes the operator `$gt` with the plain key `x`",
        ),
        ("type: trajectory, calls: [{args: {}}]", "an item of `calls` needs `tool`"),
        ("type: trajectory, calls: [{tool: a, arg: {}}]", "an item of `calls` has no key `arg`"),
        ("type: trajectory, calls: {tool: a}", "`calls` must be a list"),
        ("type: trajectory, mode: any, calls: [{tool: a}]", "`mode` of an evaluation cannot be `any`"),
        (
            "type: event_count, event: session_ended, count: 1",
            "`event` of an evaluation cannot be `session_ended`",
        ),
        ("type: tool_called, tool: a, status: passed", "`status` of an evaluation cannot be `passed`"),
        ("type: tool_called, tool: a, count: 1.5", "`count` of an evaluation must be a whole number"),
        ("type: state, matches: {a: {$regex: '('}}", "`$regex` at `a` is not a valid pattern"),
        ("type: json_path, path: $.a, matches: {$bt: 1}", "unknown operator `$bt` at `value`"),
        ("type: json_path, path: $.a", "`json_path` asks one of `equals`, `matches` and `exists`"),
        (
            "type: json_path, path: $.a, equals: 1, exists: true",
            "`json_path` asks one of `equals`, `matches` and `exists`",
        ),
        ("type: answer_schema, schema: {type: odd}", "`odd` is no type of JSON Schema"),
        ("type: answer_schema, schema: {minimum: low}", "`schema`: invalid JSON Schema"),
        ("type: cost, max_cost_usd: -1", "`max_cost_usd` of an evaluation must be at least 0"),
        (
            "type: llm_judge, prompt: p, expected: 'yes', capabilities: [a], json_schema: {properties: {judgment: {}, capabilities: {}}}",
            "`json_schema` has a property `capabilities`",
        ),
    ];
    for (yaml, message) in table {
        let problems = check(&with_evaluation(yaml), Dialect::Rehearsal).problems;
        let messages: Vec<&str> = problems.iter().map(|problem| problem.message.as_str()).collect();
        assert!(messages.len() == 1 && messages[0].starts_with(message), "{yaml}: {messages:?}");
    }
    let text = with_evaluation(
        "type: trajectory, calls: [{tool: a, args: {}}, {tool: b, exact_args: {n: {$gtt: 1}}}]",
    );
    let problem = &check(&text, Dialect::Rehearsal).problems[0];
    assert_eq!(problem.code, "invalid-query");
    assert!(text[problem.span.start..].starts_with("{n: {$gtt: 1}}"), "{problem:?}");
    let text = with_evaluation("type: regex_match, pattern: 'a(b'");
    let problem = &check(&text, Dialect::Rehearsal).problems[0];
    assert_eq!((problem.code, &text[problem.span.clone()]), ("invalid-pattern", "'a(b'"));
}

#[test]
fn a_path_names_one_value() {
    let table = [
        ("''", "it is empty; `$` is the whole answer"),
        ("$.a[*]", "a position or a name in quotes is expected in the `[` at character 4"),
        ("$.*", "a path names one value, so there can be no `*` at character 2"),
        ("$.a..b", "a name is missing at character 4"),
        ("$.a[0", "a `]` is missing for the `[` at character 4"),
        ("'$.a[\"b]'", "a quote is missing in the `[` at character 4"),
        ("$a", "a `.` or a `[` is expected at character 2"),
        ("a]", "there is a `]` without its `[` at character 1"),
    ];
    for (path, why) in table {
        let text = with_evaluation(&format!(
            "type: json_path, path: \"{}\", exists: true",
            path.trim_matches('\'').replace('"', "\\\"")
        ));
        let problems = check(&text, Dialect::Rehearsal).problems;
        assert_eq!(problems.len(), 1, "{path}: {problems:?}");
        assert!(problems[0].message.ends_with(&format!("is not a path: {why}")), "{path}: {problems:?}");
    }
    for path in ["$", "$.a.b[0]", "a.b.0", "$['a b'].c", "a[0][1]"] {
        let text = with_evaluation(&format!("type: json_path, path: \"{path}\", exists: true"));
        assert_eq!(problems(&text, Dialect::Rehearsal), "", "{path}");
    }
}

#[test]
fn prices_are_read_from_the_top_of_the_file() {
    let with_prices = |prices: &str| {
        format!(
            "prices: {prices}{}",
            with_run("\n  - {input: hi, evaluations: []}").replacen("name", "\nname", 1)
        )
    };
    let text = with_prices("{'openai:gpt-4o': {input: 2.5, output: 10, cached: 1.25}}");
    let prices = check(&text, Dialect::Rehearsal).scenario.expect("it is usable").prices;
    let price = prices.0["openai:gpt-4o"];
    assert_eq!((price.input, price.output, price.cached), (2.5, 10.0, Some(1.25)));
    assert_eq!(kinds(&with_prices("{a: {input: 1}}"), Dialect::Rehearsal), ["error missing-key"]);
    assert_eq!(
        kinds(&with_prices("{a: {input: 1, output: -1}}"), Dialect::Rehearsal),
        ["error out-of-range"]
    );
    assert_eq!(
        kinds(&with_prices("{a: {input: 1, output: 1, each: 1}}"), Dialect::Rehearsal),
        ["error unknown-key"]
    );
    assert_eq!(kinds(&with_prices("[1]"), Dialect::Rehearsal), ["error wrong-type"]);
}

#[test]
fn another_language_is_an_error_and_in_the_other_dialect_a_program() {
    let text = with_run("\n  - {lang: pyton, code: 'print(1)', evaluations: []}");
    let problems = check(&text, Dialect::Rehearsal).problems;
    assert_eq!(problems[0].help.as_deref(), Some("did you mean `python`?"));
    let scenario = check(&text, Dialect::ElizaOs).scenario.expect("it is usable");
    let Action::Code { interpreter: Some(program), .. } = &scenario.run[0].action else { panic!() };
    assert_eq!(program, "pyton");
}

#[test]
fn why_something_is_there_may_be_said_anywhere() {
    let text = with_run(
        "\n  - conversation: {max_turns: 2, description: a, user_simulator: {persona: p, objective: o, description: because}}",
    )
    .replace("{type: local}", "{type: local, description: c}");
    assert_eq!(problems(&text, Dialect::Rehearsal), "");
    assert_eq!(
        kinds(&text.replace("description: because", "description: [b]"), Dialect::Rehearsal),
        ["error unknown-key"]
    );
}

#[test]
fn what_a_person_leaves_without_effect_is_named() {
    let text = r"
name: a
description: b
environment: {type: local}
agent: {tools: [{name: find}]}
setup:
  mocks:
    - method: find
      response: {ok: true}
      person: true
    - {method: find, person: true, error: {code: DOWN, message: x}, metadata: {delay: 3}}
    - {method: find, person: false, response: 1}
    - {method: find, person: maybe}
run:
  - conversation: {max_turns: 2, user: persn}
  - conversation: {max_turns: 2, user: person, user_simulator: {persona: a, objective: b}}
judgment: {strategy: all_pass}
";
    check_problems(
        text,
        &expect![[r#"
        error[no-effect]: a person answers this call, so its `response` has no effect
         --> refund.scenario.yaml:9:7
          |
        9 |       response: {ok: true}
          |       ^^^^^^^^
          |
        help: remove `response`, or `person: true`

        error[no-effect]: a person answers this call, so its `error` has no effect
          --> refund.scenario.yaml:11:36
           |
        11 |     - {method: find, person: true, error: {code: DOWN, message: x}, metadata: {delay: 3}}
           |                                    ^^^^^
           |
        help: remove `error`, or `person: true`

        error[no-effect]: a person answers this call, so its `metadata` has no effect
          --> refund.scenario.yaml:11:69
           |
        11 |     - {method: find, person: true, error: {code: DOWN, message: x}, metadata: {delay: 3}}
           |                                                                     ^^^^^^^^
           |
        help: remove `metadata`, or `person: true`

        error[no-effect]: `person: false` changes nothing
          --> refund.scenario.yaml:12:22
           |
        12 |     - {method: find, person: false, response: 1}
           |                      ^^^^^^
           |
        help: remove it, or write: person: true

        error[wrong-type]: `person` of a mock must be true or false
          --> refund.scenario.yaml:13:30
           |
        13 |     - {method: find, person: maybe}
           |                              ^^^^^ this is text

        error[unknown-value]: `user` of `conversation` cannot be `persn`
          --> refund.scenario.yaml:15:40
           |
        15 |   - conversation: {max_turns: 2, user: persn}
           |                                        ^^^^^
           |
        help: did you mean `person`?

        error[two-users]: a conversation has one user, `user` or `user_simulator`
          --> refund.scenario.yaml:16:48
           |
        16 |   - conversation: {max_turns: 2, user: person, user_simulator: {persona: a, objective: b}}
           |                                                ^^^^^^^^^^^^^^
           |
        help: remove one of them"#]],
    );
}

#[test]
fn an_agent_has_a_name_under_which_ledgers_can_be_kept() {
    let with = |name: &str| {
        let agent = format!("agent: {{name: '{name}'}}\nmodels: {{agent: {{script: []}}}}\nrun:");
        GOOD.replace("\nrun:", &format!("\n{agent}"))
    };
    for name in ["a".repeat(100), "é".repeat(100)] {
        assert!(!problems(&with(&name), Dialect::Rehearsal).contains("out-of-range"));
    }
    for (name, count) in [(String::new(), 0), ("é".repeat(101), 101)] {
        let found = problems(&with(&name), Dialect::Rehearsal);
        let message = format!("error[out-of-range]: an agent's name has 1 to 100 characters, not {count}");
        assert!(found.contains(&message), "{found}");
    }
}
