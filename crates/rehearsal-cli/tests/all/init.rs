//! `rehearse init`, as a user runs it.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]
#![expect(clippy::needless_raw_string_hashes, reason = "expect-test writes them")]

use std::fs;
use std::path::Path;
use std::process::Command;

use expect_test::{Expect, expect};
use rehearsal_core::Schema;
use rehearsal_scenario::{scenario_schema, yaml};
use tempfile::TempDir;

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

#[test]
fn a_first_scenario_is_written_and_says_what_to_do_next() {
    let folder = TempDir::new().unwrap();
    rehearse(
        folder.path(),
        &["init"],
        &expect![[r#"
            exit 0
            --- stdout
            wrote hello.scenario.yaml

            What to do next:
              1. Run it; it passes as it is, offline:
                   rehearse run .
              2. In the file, give `models.agent` a real model, such as `openai:gpt-4o-mini`, and run it again.
                 Or try one without changing the file:
                   rehearse run . --model agent=openai:gpt-4o-mini
              3. Change what is said and what is asked. `rehearse check .` shows what is wrong with a file.

            Runs are kept in `.rehearsal/`, which version control ignores: `rehearse runs` lists them.
            --- stderr
        "#]],
    );
    rehearse(
        folder.path(),
        &["check", "."],
        &expect![[r#"
            exit 0
            --- stdout
            1 file: 1 can be used
            --- stderr
        "#]],
    );
}

#[test]
fn it_passes_as_it_is_in_a_folder_that_is_made_for_it() {
    let folder = TempDir::new().unwrap();
    rehearse(
        folder.path(),
        &["init", "my scenarios/first"],
        &expect![[r#"
            exit 0
            --- stdout
            wrote my scenarios/first/hello.scenario.yaml

            What to do next:
              1. Run it; it passes as it is, offline:
                   rehearse run 'my scenarios/first'
              2. In the file, give `models.agent` a real model, such as `openai:gpt-4o-mini`, and run it again.
                 Or try one without changing the file:
                   rehearse run 'my scenarios/first' --model agent=openai:gpt-4o-mini
              3. Change what is said and what is asked. `rehearse check 'my scenarios/first'` shows what is wrong with a file.

            Runs are kept in `.rehearsal/`, which version control ignores: `rehearse runs` lists them.
            --- stderr
        "#]],
    );
    let mut command = Command::new(env!("CARGO_BIN_EXE_rehearse"));
    let output =
        command.args(["run", "my scenarios/first", "--quiet"]).current_dir(folder.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with("1 scenario: 1 passed in "), "{text}");
}

#[test]
fn a_file_that_is_there_is_kept_unless_told() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("hello.scenario.yaml");
    fs::write(&path, "mine").unwrap();
    rehearse(
        folder.path(),
        &["init", "."],
        &expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error: `hello.scenario.yaml` is there already, so nothing was written

        hint: `--force` replaces it, and `rehearse init DIR` writes elsewhere
    "#]],
    );
    assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
    let mut command = Command::new(env!("CARGO_BIN_EXE_rehearse"));
    let forced = command.args(["init", "--force"]).current_dir(folder.path()).output().unwrap();
    assert_eq!(forced.status.code(), Some(0));
    let text = fs::read_to_string(&path).unwrap();
    assert!(
        text.starts_with("# yaml-language-server: $schema=./scenario.schema.json\n\n# A scenario:"),
        "{text}"
    );
}

#[test]
fn a_folder_that_cannot_be_made_is_said() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("taken"), "").unwrap();
    rehearse(
        folder.path(),
        &["init", "taken"],
        &expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error: cannot make the folder `taken`: File exists (os error 17)
    "#]],
    );
}

#[test]
fn editors_find_nothing_wrong_with_it() {
    let text = include_str!("../../src/commands/init/hello.scenario.yaml");
    let violations = Schema::new(scenario_schema()).check(&yaml::parse(text).unwrap().to_json()).unwrap();
    assert_eq!(violations, []);
}
