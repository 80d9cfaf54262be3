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
        2 usable, 0 not, 0 warnings
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
            0 usable, 1 not, 0 warnings
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
            0 usable, 1 not, 0 warnings
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
        0 usable, 1 not, 0 warnings
        --- stderr
        error: `big.scenario.yaml` has 5242880 bytes, more than the 4194304 that are read

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
