//! `rehearse check`, as a user runs it.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]
#![expect(clippy::needless_raw_string_hashes, reason = "expect-test writes them")]

use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

use expect_test::{Expect, expect};
use tempfile::TempDir;

const GOOD: &str = "name: Greets\ndescription: It says hello\nenvironment: {type: local}\nagent: {instructions: Greet.}\nmodels: {agent: {script: [hello]}}\nrun:\n  - input: hi\n    evaluations: [{type: string_contains, value: hello}]\njudgment: {strategy: all_pass}\n";

/// Runs the command in a folder; its exit code, standard output and standard error as one text.
fn rehearse(folder: &Path, args: &[&str], expected: &Expect) {
    let output =
        Command::new(env!("CARGO_BIN_EXE_rehearse")).args(args).current_dir(folder).output().unwrap();
    let text = format!(
        "exit {}\n--- stdout\n{}--- stderr\n{}",
        output.status.code().unwrap(),
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    expected.assert_eq(&text);
}

fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = TempDir::new().unwrap();
    for (name, content) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    folder
}

#[test]
fn good_files_are_counted() {
    let folder =
        folder(&[("a.scenario.yaml", GOOD), ("deep/b.scenario.yml", GOOD), ("other.yaml", "not: one")]);
    rehearse(
        folder.path(),
        &["check", "."],
        &expect![[r#"
            exit 0
            --- stdout
            2 files: 2 can be used
            --- stderr
        "#]],
    );
}

#[test]
fn problems_are_shown_with_their_place_and_the_fix() {
    let bad = GOOD.replace("judgment", "judgement");
    let folder = folder(&[("bad.scenario.yaml", &bad)]);
    rehearse(
        folder.path(),
        &["check", "bad.scenario.yaml"],
        &expect![[r#"
            exit 2
            --- stdout
            1 file: 0 can be used, 1 cannot
            --- stderr
            error[missing-key]: the scenario needs `judgment`
             --> bad.scenario.yaml:1:1
              |
            1 | name: Greets
              | ^
              |
            help: add: judgment: {strategy: all_pass}

            error[unknown-key]: the scenario has no key `judgement`
             --> bad.scenario.yaml:9:1
              |
            9 | judgement: {strategy: all_pass}
              | ^^^^^^^^^
              |
            help: did you mean `judgment`?

        "#]],
    );
}

#[test]
fn what_cannot_be_found_or_read_is_said() {
    let folder = folder(&[("empty/readme.txt", "nothing")]);
    rehearse(
        folder.path(),
        &["check", "missing.yaml"],
        &expect![[r#"
            exit 2
            --- stdout
            --- stderr
            error: cannot read `missing.yaml`: No such file or directory (os error 2)

            hint: there is no YAML file in `.`; paths are taken from where the command is run
        "#]],
    );
    rehearse(
        folder.path(),
        &["check", "empty"],
        &expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error: there is no scenario file in `empty`

        hint: scenario files end in .scenario.yaml or .scenario.yml
    "#]],
    );
    fs::write(folder.path().join("binary.scenario.yaml"), [0xff, 0xfe, 0x00]).unwrap();
    rehearse(
        folder.path(),
        &["check", "binary.scenario.yaml"],
        &expect![[r#"
            exit 2
            --- stdout
            1 file: 0 can be used, 1 cannot
            --- stderr
            error: `binary.scenario.yaml` is not text in UTF-8

        "#]],
    );
}

#[test]
fn a_file_that_is_too_large_is_refused_before_it_is_read() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("big.scenario.yaml"), "a".repeat(5 * 1024 * 1024)).unwrap();
    rehearse(
        folder.path(),
        &["check", "big.scenario.yaml"],
        &expect![[r#"
            exit 2
            --- stdout
            1 file: 0 can be used, 1 cannot
            --- stderr
            error: `big.scenario.yaml` has 5242880 bytes; at most 4194304 bytes are read

        "#]],
    );
}

#[test]
fn only_so_many_problems_of_a_file_are_shown() {
    let shown = |keys: usize| {
        let extra: Vec<String> = (0..keys).map(|n| format!("extra_{n}: 1\n")).collect();
        let folder = folder(&[("bad.scenario.yaml", &format!("{GOOD}{}", extra.concat()))]);
        let mut command = Command::new(env!("CARGO_BIN_EXE_rehearse"));
        let output = command.args(["check", "."]).current_dir(folder.path()).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        let text = String::from_utf8(output.stderr).unwrap();
        let last = text.trim_end().lines().last().unwrap().to_owned();
        (text.matches("error[unknown-key]").count(), last)
    };
    assert_eq!(shown(130), (100, "… and 30 more problems".to_owned()));
    assert_eq!(shown(101), (100, "… and 1 more problem".to_owned()));
    let (count, last) = shown(100);
    assert_eq!(count, 100);
    assert!(!last.starts_with('…'), "{last}");
}

/// The exit code when nobody reads what is written.
fn exit_code_into_closed_pipes(content: &str) -> Option<i32> {
    let folder = folder(&[("a.scenario.yaml", content)]);
    let (reader, writer) = io::pipe().unwrap();
    drop(reader);
    let mut command = Command::new(env!("CARGO_BIN_EXE_rehearse"));
    command.args(["check", "."]).current_dir(folder.path());
    command.stdout(writer.try_clone().unwrap()).stderr(writer).status().unwrap().code()
}

#[test]
fn a_closed_pipe_does_not_hide_a_bad_file() {
    assert_eq!(exit_code_into_closed_pipes("name: only this\n"), Some(2));
}

#[test]
fn a_closed_pipe_does_not_spoil_a_good_file() {
    assert_eq!(exit_code_into_closed_pipes(GOOD), Some(0));
}

/// Under the other runner's rules, what it drops unread spoils nothing; what it reads must be right.
#[test]
fn keys_that_the_other_runner_drops_may_be_empty_or_wrong_there() {
    let theirs = "name: Greets\ndescription: x\ntags:\nmodels: ~\nenvironment: {type: local, variables: null}\nsetup: {seed: , mocks: [{method: m, description: , response: 1}]}\nrun:\n  - name: asks\n    description:\n    tags: 5\n    context:\n    timeout_ms:\n    input: hi\n    evaluations: [{type: string_contains, value: x, description: 7}]\njudgment: {strategy: all_pass}\n";
    let folder = folder(&[
        ("dropped.scenario.yaml", theirs),
        ("read.scenario.yaml", &theirs.replace("name: asks", "name:")),
    ]);
    let told = |args: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_rehearse"))
            .args(args)
            .current_dir(folder.path())
            .output()
            .unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        let lines: Vec<&str> =
            stderr.lines().filter(|line| line.starts_with("error") || line.starts_with("warning")).collect();
        format!(
            "exit {}\n{}{}\n",
            output.status.code().unwrap(),
            String::from_utf8(output.stdout).unwrap(),
            lines.join("\n")
        )
    };
    expect![[r#"
        exit 0
        1 file: 1 can be used, 10 warnings
        warning[no-effect]: `tags` is left out: the runner of these files does not know it
        warning[no-effect]: `models` is left out: the runner of these files does not know it
        warning[no-effect]: `variables` is left out: the runner of these files does not know it
        warning[no-effect]: `seed` is left out: the runner of these files does not know it
        warning[empty]: `description` of a mock is empty
        warning[empty]: `description` of step 1 is empty
        warning[unknown-key]: step 1 has no key `tags`
        warning[no-effect]: `context` is left out: the runner of these files does not know it
        warning[no-effect]: `timeout_ms` is left out: the runner of these files does not know it
        warning[wrong-type]: `description` of an evaluation must be text
    "#]]
    .assert_eq(&told(&["check", "--compat", "elizaos", "dropped.scenario.yaml"]));
    expect![[r#"
        exit 2
        1 file: 0 can be used, 1 cannot, 10 warnings
        warning[no-effect]: `tags` is left out: the runner of these files does not know it
        warning[no-effect]: `models` is left out: the runner of these files does not know it
        warning[no-effect]: `variables` is left out: the runner of these files does not know it
        warning[no-effect]: `seed` is left out: the runner of these files does not know it
        warning[empty]: `description` of a mock is empty
        error[wrong-type]: `name` of step 1 must have a value
        warning[empty]: `description` of step 1 is empty
        warning[unknown-key]: step 1 has no key `tags`
        warning[no-effect]: `context` is left out: the runner of these files does not know it
        warning[no-effect]: `timeout_ms` is left out: the runner of these files does not know it
        warning[wrong-type]: `description` of an evaluation must be text
    "#]]
    .assert_eq(&told(&["check", "--compat", "elizaos", "read.scenario.yaml"]));
}

#[test]
fn a_filter_that_nothing_fits_is_an_error() {
    let folder =
        folder(&[("a.scenario.yaml", GOOD), ("b.scenario.yaml", &GOOD.replace("Greets", "Refunds"))]);
    rehearse(
        folder.path(),
        &["check", ".", "--filter", "refunds"],
        &expect![[r#"
        exit 0
        --- stdout
        1 file: 1 can be used
        --- stderr
    "#]],
    );
    rehearse(
        folder.path(),
        &["check", ".", "--filter", "name:x"],
        &expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error: no scenario fits the filter

        hint: there are:
          Greets
          Refunds
    "#]],
    );
}

#[test]
fn help_says_what_there_is() {
    let folder = folder(&[]);
    rehearse(
        folder.path(),
        &["check", "-h"],
        &expect![[r#"
            exit 0
            --- stdout
            Check scenario files without running them

            Usage: rehearse check [OPTIONS] [PATH]...

            Arguments:
              [PATH]...  Scenario files, folders in which every `*.scenario.yaml` and `*.scenario.yml` is taken,
                         or patterns; without any, those that `scenarios` of `rehearsal.yaml` names

            Options:
                  --filter <EXPR>        Only scenarios that fit: words for names and tags, joined by `and`,
                                         `or`, `not`; `tag:WORD`, `name:WORD`
                  --case <NAME>          Only scenarios with exactly this name, or of several cases of a file
                                         just this one; may be given several times
                  --model <ROLE=SPEC>    A model for a part: `agent`, `user`, `judge`, or another key; such as
                                         `judge=openai:gpt-4o`
                  --agent <FILE>         A YAML file with an `agent` for the scenarios, in place of their own
                  --agent-socket <PATH>  A Unix socket on which a program listens that plays the agent, with the
                                         tools that the scenario gives it; it speaks what a command agent
                                         speaks, one connection for each session
                  --compat <RUNNER>      Accept the files of another runner; what that one drops silently
                                         becomes a warning [possible values: elizaos]
                  --local-code           Run code on this machine also where a file asks for a sandbox
                                         (`environment: {type: e2b}`), which is not there
                  --color <WHEN>         When to use colours [default: auto] [possible values: auto, always,
                                         never]
                  --json <FILE|->        Write what was found as JSON to a file, or to standard output with `-`:
                                         the problems of each file, and its cases
              -h, --help                 Print help (see more with '--help')
              -V, --version              Print version
            --- stderr
        "#]],
    );
}
