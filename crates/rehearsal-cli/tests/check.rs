//! `rehearse check`, as a user runs it.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]
#![expect(clippy::needless_raw_string_hashes, reason = "expect-test writes them")]

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use expect_test::{Expect, expect};
use tempfile::TempDir;

const GOOD: &str = "name: Greets\ndescription: It says hello\nenvironment: {type: local}\nrun:\n  - input: hi\n    evaluations: [{type: string_contains, value: hello}]\njudgment: {strategy: all_pass}\n";

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
         --> bad.scenario.yaml:7:1
          |
        7 | judgement: {strategy: all_pass}
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
    rehearse(folder.path(), &["check", "big.scenario.yaml"], &expect![[r#"
        exit 2
        --- stdout
        0 usable, 1 not, 0 warnings
        --- stderr
        error: `big.scenario.yaml` has 5242880 bytes, more than the 4194304 that are read

    "#]]);
}

#[test]
fn a_closed_pipe_is_a_clean_exit() {
    let folder = folder(&[("a.scenario.yaml", GOOD)]);
    let mut command = Command::new(env!("CARGO_BIN_EXE_rehearse"));
    let mut child =
        command.args(["check", "."]).current_dir(folder.path()).stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}
