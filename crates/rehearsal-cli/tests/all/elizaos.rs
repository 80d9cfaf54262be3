//! Files of the `ElizaOS` runner, as somebody who comes from it runs them.

use crate::support::{Folder, Ran};

/// An agent that calls a tool first and then says what it got.
const AGENT: &str = r#"
agent:
  instructions: Look things up.
  tools:
    - name: web.search
      description: Searches
      parameters: {type: object, properties: {q: {type: string}, n: {type: integer}}}
models:
  agent: {script: [{call: web.search, args: {n: 3, q: a test}}, {say: found it}]}
  judge: {script: [{json: {reasoning: it did, judgment: "yes", confidence: 1}}]}
"#;

const SAYS: &str = "
agent: {instructions: Answer.}
models: {agent: {rules: [{say: found it}]}}
";

fn theirs(setup: &str, step: &str) -> String {
    format!(
        "name: Theirs\ndescription: d\nenvironment: {{type: local}}\n{setup}\nrun:\n{step}\njudgment: {{strategy: all_pass}}\n"
    )
}

const FINDS: &str = "  - {input: find it, evaluations: [{type: string_contains, value: found it}]}";

fn run_with(agent: &str, file: &str, more: &str) -> Ran {
    let folder = Folder::new(&[("a.scenario.yaml", file), ("agent.yaml", agent)]);
    folder.run(&format!("run a.scenario.yaml --no-store --compat elizaos --agent agent.yaml{more}"))
}

fn mocked(mock: &str) -> String {
    theirs(&format!("setup: {{mocks: [{{service: web, method: search, {mock}}}]}}"), FINDS)
}

#[track_caller]
fn passes(ran: &Ran) {
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
}

#[test]
fn the_output_of_code_is_trimmed() {
    let step = "  - {lang: bash, code: echo hello, evaluations: [{type: regex_match, pattern: ^hello$}]}";
    passes(&run_with(SAYS, &theirs("", step), ""));
}

#[test]
fn a_message_shows_the_white_space_that_decides() {
    let agent = "
agent: {instructions: Answer.}
models: {agent: {rules: [{say: \" hello\\n\"}]}}
";
    let step = "  - {input: hi, evaluations: [{type: regex_match, pattern: ^hello$}]}";
    let ran = run_with(agent, &theirs("", step), "");
    assert_eq!(ran.code, 1, "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains(r#"" hello\n""#), "{}", ran.stdout);
}

#[test]
fn an_answer_that_is_plain_text_is_text() {
    for text in ["Rate limit reached!", "ok", "Hello, world", "Paris - France"] {
        passes(&run_with(AGENT, &mocked(&format!("responseFn: \"{text}\"")), ""));
    }
}

#[test]
fn a_matcher_that_is_plain_text_holds_always_and_is_told() {
    let ran = run_with(AGENT, &mocked("when: {matcher: any call at all}, response: 1"), "");
    passes(&ran);
    assert!(ran.stderr.contains("warning[always-true]"), "{}", ran.stderr);
}

#[test]
fn arguments_are_offered_by_place_too() {
    for when in [
        "matcher: \"args[0].includes('test')\"",
        "matcher: \"args[0].q.includes('test')\"",
        "matcher: \"input.q.includes('test')\"",
        "matcher: \"args[1] === 3\"",
        "args: [a test, 3]",
        "args: [{q: a test, n: 3}]",
        "partialArgs: [a test]",
    ] {
        let ran = run_with(AGENT, &mocked(&format!("when: {{{when}}}, response: 1")), "");
        passes(&ran);
        assert!(!ran.stderr.contains("never-true"), "{when}: {}", ran.stderr);
    }
    for when in ["matcher: \"args[0].includes('other')\"", "args: [a test]", "partialArgs: [3]"] {
        let ran = run_with(AGENT, &mocked(&format!("when: {{{when}}}, response: 1")), "");
        assert!(ran.stdout.contains("no mock answers this call"), "{when}: {}{}", ran.stdout, ran.stderr);
    }
}

#[test]
fn keywords_of_a_custom_condition_end_nothing_as_check_says() {
    let agent = "
agent: {instructions: Answer.}
models:
  agent: {rules: [{say: it is finished}]}
  user: {script: [{say: one}, {say: two}, {say: three}]}
";
    let step = "  - input: hi
    evaluations: []
    conversation:
      max_turns: 3
      user_simulator: {persona: p, objective: o}
      termination_conditions: [{type: custom_condition, keywords: [finished]}]
      final_evaluations: [{type: conversation_length, min_turns: 3}]";
    let ran = run_with(agent, &theirs("", step), "");
    passes(&ran);
    assert!(ran.stderr.contains("never ends anything"), "{}", ran.stderr);
}

const NUMBER_OF_A_WORD: &str = "  - input: hi
    evaluations:
      - type: llm_judge
        prompt: Is it kind?
        expected: 0.8+
        json_schema: {type: object, properties: {judgment: {type: string, enum: ['yes', 'no']}, confidence: {type: number}}}";

#[test]
fn a_number_cannot_be_expected_of_yes_or_no() {
    let ours = theirs(
        "agent: {instructions: a}\nmodels: {agent: {rules: [{say: x}]}, judge: {rules: [{say: x}]}}",
        NUMBER_OF_A_WORD,
    );
    let folder = Folder::new(&[("a.scenario.yaml", &ours)]);
    let ran = folder.run("check a.scenario.yaml");
    assert_eq!(ran.code, 2, "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stderr.contains("error[never-true]"), "{}", ran.stderr);
    let agent = SAYS.replace("models: {", "models: {judge: {rules: [{json: {reasoning: r, score: 0.9}}]}, ");
    let ran = run_with(&agent, &theirs("", NUMBER_OF_A_WORD), "");
    passes(&ran);
    assert!(ran.stderr.contains("it is left out"), "{}", ran.stderr);
}

#[test]
fn an_empty_block_is_an_empty_text() {
    let file = theirs("", FINDS).replace("description: d\n", "description: |\n");
    passes(&run_with(SAYS, &file, ""));
    let file = theirs("", FINDS).replace("description: d\n", "description: >-\n\n");
    passes(&run_with(SAYS, &file, ""));
}

#[test]
fn keys_of_ours_are_left_out_and_told() {
    let ours = "tags: 3\nagent: my-agent\nmodels: [gpt-4]\nprices: free\nsetup: {state: on, seed: {a: 1}, passthrough: 1}";
    let ran = run_with(SAYS, &theirs(ours, FINDS), "");
    passes(&ran);
    for key in ["tags", "agent", "models", "prices", "state", "seed", "passthrough"] {
        assert!(ran.stderr.contains(&format!("`{key}` is left out")), "{key}: {}", ran.stderr);
    }
    let step = "  - {input: find it, context: 1, timeout_ms: soon, evaluations: [{type: string_contains, value: found it}]}";
    let ran = run_with(SAYS, &theirs("", step), "");
    passes(&ran);
    assert!(ran.stderr.contains("`timeout_ms` is left out"), "{}", ran.stderr);
}

#[test]
fn mocks_beside_an_agent_behind_http_are_a_warning() {
    let agent = "agent: {http: {url: \"http://127.0.0.1:9/\", response: text}}";
    let folder = Folder::new(&[("a.scenario.yaml", &mocked("response: 1")), ("agent.yaml", agent)]);
    let arguments = "run a.scenario.yaml --no-store --compat elizaos --agent agent.yaml";
    let ran = folder.run(arguments);
    assert!(ran.stderr.contains("warning[no-effect]: these mocks can never answer"), "{}", ran.stderr);
    assert!(ran.stdout.contains("1 scenario"), "it was run: {}{}", ran.stdout, ran.stderr);
    let ran = folder.run(&format!("{arguments} --live"));
    assert!(!ran.stderr.contains("these mocks"), "{}", ran.stderr);
}

#[test]
fn a_judge_for_many_files_may_be_one_that_some_do_not_ask() {
    let asks = "  - {input: hi, evaluations: [{type: llm_judge, prompt: p, expected: 'yes'}]}";
    let files = [
        ("s/a.scenario.yaml", theirs("", FINDS)),
        ("s/b.scenario.yaml", theirs("", asks)),
        ("agent.yaml", SAYS.to_owned()),
    ];
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
    let folder = Folder::new(&files);
    let judge = "--compat elizaos --agent agent.yaml --model judge=openai:gpt-4o";
    passes(&folder.run(&format!("check s {judge}")));
}

#[test]
fn one_file_that_cannot_be_used_does_not_stop_the_others() {
    let files = [
        ("s/a.scenario.yaml", theirs("", FINDS)),
        ("s/b.scenario.yaml", "name: broken\n".to_owned()),
        ("s/c.scenario.yaml", theirs("", FINDS)),
        ("agent.yaml", SAYS.to_owned()),
    ];
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
    let folder = Folder::new(&files);
    let arguments = "run s --no-store --compat elizaos --agent agent.yaml";
    let ran = folder.run(arguments);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("--keep-going"), "{}", ran.stderr);
    let ran = folder.run(&format!("{arguments} --keep-going"));
    assert_eq!(ran.code, 2, "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("2 scenarios: 2 passed"), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stderr.contains("1 file cannot be used and was not run"), "{}", ran.stderr);
}

#[test]
fn lead_ins_of_the_simulator_never_reach_the_agent() {
    let agent = "
agent: {instructions: Answer.}
models:
  agent: {rules: [{when: {user_matches: '^My order is late$'}, say: sorry}, {say: what}]}
  user: {script: [{say: \"User response: \\\"My order is late\\\"\"}]}
";
    let step = "  - input: hi
    conversation:
      max_turns: 2
      user_simulator: {persona: p, objective: o}
    evaluations: [{type: string_contains, value: sorry}]";
    passes(&run_with(agent, &theirs("", step), ""));
}

#[test]
fn what_is_to_be_remembered_need_not_be_said_in_those_words() {
    let agent = "
agent: {instructions: Answer.}
models:
  agent: {rules: [{say: Nice to meet you Ann}]}
  user: {script: [{say: I am Ann}, {say: who am I}]}
  judge: {rules: [{json: {said_in_turn: 2, turns: [{turn: 3, reasoning: it knows, remembered: true}]}}]}
";
    let step = "  - input: hi
    evaluations: []
    conversation:
      max_turns: 3
      user_simulator: {persona: p, objective: o}
      final_evaluations: [{type: context_retention, test_memory_of: [the user's name]}]";
    passes(&run_with(agent, &theirs("", step), ""));
    let never = agent.replace("said_in_turn: 2", "said_in_turn: null").replace("turn: 3", "turn: 2");
    let ran = run_with(&never, &theirs("", step), "");
    assert_ne!(ran.code, 0, "{}", ran.stdout);
    assert!(ran.stdout.contains("the user never says anything about"), "{}{}", ran.stdout, ran.stderr);
}

#[test]
fn a_judge_may_answer_in_a_code_fence_and_be_as_sure_as_it_likes() {
    let step = "  - {input: hi, evaluations: [{type: llm_judge, prompt: p, expected: 'yes'}]}";
    for answer in [
        "\"Here it is:\\n```json\\n{\\\"reasoning\\\": \\\"r\\\", \\\"judgment\\\": \\\"yes\\\", \\\"confidence\\\": 1}\\n```\"",
        "\"```\\n{\\\"reasoning\\\": \\\"r\\\", \\\"judgment\\\": \\\"yes\\\", \\\"confidence\\\": 1}\\n```\\n\"",
        "\"{\\\"reasoning\\\": \\\"r\\\", \\\"judgment\\\": \\\"yes\\\", \\\"confidence\\\": 100}\"",
        "\"{\\\"reasoning\\\": \\\"r\\\", \\\"judgment\\\": \\\"yes\\\"}\"",
    ] {
        let agent = SAYS.replace("models: {", &format!("models: {{judge: {{rules: [{{say: {answer}}}]}}, "));
        passes(&run_with(&agent, &theirs("", step), ""));
    }
    let agent = SAYS.replace("models: {", "models: {judge: {rules: [{say: maybe}]}, ");
    let ran = run_with(&agent, &theirs("", step), "");
    assert_ne!(ran.code, 0);
    assert!(ran.stdout.contains("it was asked 3 times"), "{}", ran.stdout);
    assert!(ran.stdout.contains("\"maybe\""), "{}", ran.stdout);
}

const MATRIX: &str = "
name: Ways to ask
base_scenario: base.scenario.yaml
runs_per_combination: 2
matrix:
  - parameter: 'run[0].input'
    values: [find it, look for it]
  - parameter: 'run[0].evaluations[0].value'
    values: [found, lost]
";

fn with_matrix(matrix: &str) -> Folder {
    let base = theirs("", FINDS);
    Folder::new(&[("m/base.scenario.yaml", &base), ("m/x.matrix.yaml", matrix), ("agent.yaml", SAYS)])
}

#[test]
fn a_matrix_file_runs_every_combination_and_what_fails_counts() {
    let folder = with_matrix(MATRIX);
    let dry = folder.run("matrix m/x.matrix.yaml --dry-run");
    assert_eq!(dry.code, 0, "{}{}", dry.stdout, dry.stderr);
    for part in [
        "combination   2  run[0].input = find it, run[0].evaluations[0].value = lost",
        "4 combinations, 8 runs",
        "to run them: the scenario does not say what is under test",
    ] {
        assert!(dry.stdout.contains(part), "no `{part}` in {}", dry.stdout);
    }
    assert!(!folder.path().join(".rehearsal").exists());
    let more = ["matrix m/x.matrix.yaml --parallel 2", "run m/x.matrix.yaml --compat elizaos"];
    for command in more {
        let ran = folder.run(&format!("{command} --agent agent.yaml --no-store"));
        assert_eq!(ran.code, 1, "{}{}", ran.stdout, ran.stderr);
        assert!(ran.stdout.contains("8 runs: 4 passed, 4 failed"), "{}", ran.stdout);
        assert!(ran.stdout.contains("evaluations[0].value=lost  0/2 (0 %)"), "{}", ran.stdout);
    }
    let one = folder.run("matrix m/x.matrix.yaml --agent agent.yaml --no-store --filter FOUND --repeat 1");
    assert!(one.stdout.contains("2 cases: 2 passed"), "{}{}", one.stdout, one.stderr);
}

#[test]
fn what_is_wrong_with_a_matrix_file_is_told() {
    for (from, to, part) in [
        ("base.scenario", "bas.scenario", "`m/bas.scenario.yaml` cannot be read"),
        ("run[0].input", "run[0].inputs", "did you mean `input`?"),
        ("run[0].input", "run[7].input", "there is no `7.input` in `run`"),
        ("[found, lost]", "[]", "`values` of an axis is empty"),
        ("combination: 2", "combination: 0", "must be from 1"),
        ("base_scenario: base.scenario.yaml\n", "base_scenario:\n", "`base_scenario`"),
    ] {
        let ran = with_matrix(&MATRIX.replace(from, to)).run("matrix m/x.matrix.yaml --dry-run");
        assert_eq!(ran.code, 2, "{to}: {}{}", ran.stdout, ran.stderr);
        assert!(ran.stderr.contains(part), "{to}: no `{part}` in {}", ran.stderr);
    }
}
