//! `rehearse completions` and `rehearse man`, and what shells ask for when somebody presses the tab key.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]
#![expect(clippy::needless_raw_string_hashes, reason = "expect-test writes them")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use expect_test::expect;
use tempfile::TempDir;

const SCENARIO: &str = "name: NAME\ndescription: d\ntags: [billing, slow]\nenvironment: {type: local}\nrun:\n  - {code: ls, evaluations: []}\njudgment: {strategy: all_pass}\n";

fn rehearse(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_rehearse")).args(args).current_dir(folder).output().unwrap()
}

fn folder() -> TempDir {
    let folder = TempDir::new().unwrap();
    for (path, name) in [("a.scenario.yaml", "Gets a refund"), ("deep/b.scenario.yml", "Goes home")] {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, SCENARIO.replace("NAME", name)).unwrap();
    }
    folder
}

/// What bash is offered for the last of some words.
fn completed(folder: &Path, words: &[&str]) -> Vec<String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rehearse"));
    command.current_dir(folder).env("COMPLETE", "bash").env("_CLAP_IFS", "\n");
    command.env("_CLAP_COMPLETE_INDEX", words.len().to_string()).env("_CLAP_COMPLETE_COMP_TYPE", "9");
    let output = command.args(["--", "rehearse"]).args(words).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn a_filter_completes_names_and_tags_of_the_scenarios_below_the_folder() {
    let folder = folder();
    let offered = completed(folder.path(), &["run", "--filter", ""]);
    assert_eq!(offered, ["\"Gets a refund\"", "\"Goes home\"", "tag:billing", "tag:slow"]);
    assert_eq!(completed(folder.path(), &["run", ".", "--filter", "ge"]), ["\"Gets a refund\""]);
    assert_eq!(completed(folder.path(), &["check", "--filter", "tag:s"]), ["tag:slow"]);
}

#[test]
fn commands_options_and_their_values_complete() {
    let folder = folder();
    let commands = completed(folder.path(), &[""]);
    let expected = [
        "run",
        "check",
        "score",
        "serve",
        "runs",
        "sessions",
        "gc",
        "export",
        "import",
        "eval",
        "init",
        "schema",
        "completions",
        "man",
    ];
    for command in expected {
        assert!(commands.iter().any(|offered| offered == command), "{command}: {commands:?}");
    }
    assert!(!commands.iter().any(|offered| offered.starts_with("__")), "{commands:?}");
    assert_eq!(completed(folder.path(), &["run", "--mo"]), ["--model"]);
    assert_eq!(completed(folder.path(), &["score", "--w"]), ["--with"]);
    assert_eq!(completed(folder.path(), &["run", "--color", ""]), ["auto", "always", "never"]);
    assert_eq!(completed(folder.path(), &["schema", ""])[..3], ["file", "result", "agent"]);
    assert_eq!(completed(folder.path(), &["completions", "f"]), ["fish"]);
    assert_eq!(completed(folder.path(), &["check", "a."]), ["a.scenario.yaml"]);
}

#[test]
fn each_shell_gets_a_script_that_asks_this_program() {
    let folder = TempDir::new().unwrap();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = rehearse(folder.path(), &["completions", shell]);
        assert_eq!(output.status.code(), Some(0), "{shell}");
        let script = String::from_utf8(output.stdout).unwrap();
        assert!(script.contains("COMPLETE") && script.contains(shell), "{shell}: {script}");
        assert!(script.contains(env!("CARGO_BIN_EXE_rehearse")), "{shell}: {script}");
    }
    let output = rehearse(folder.path(), &["completions", "tcsh"]);
    assert_eq!(output.status.code(), Some(2));
    expect![[r#"
        error: invalid value 'tcsh' for '<SHELL>'
          [possible values: bash, zsh, fish, elvish, powershell]

          tip: a similar value exists: 'zsh'

        For more information, try '--help'.
    "#]]
    .assert_eq(&String::from_utf8_lossy(&output.stderr));
}

#[test]
fn the_script_works_in_a_real_shell() {
    let folder = folder();
    let line = format!(
        "source <('{}' completions bash)\n\
         COMP_WORDS=(rehearse run --filter '') COMP_CWORD=3 COMP_TYPE=9\n\
         _clap_complete_rehearse rehearse '' --filter 2>/dev/null\n\
         printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        env!("CARGO_BIN_EXE_rehearse")
    );
    let output = Command::new("bash").args(["-c", &line]).current_dir(folder.path()).output().unwrap();
    expect![[r#"
        "Gets a refund"
        "Goes home"
        tag:billing
        tag:slow
    "#]]
    .assert_eq(&String::from_utf8_lossy(&output.stdout));
}

#[test]
fn the_manual_is_printed_or_written_a_page_for_each_command() {
    let folder = TempDir::new().unwrap();
    let output = rehearse(folder.path(), &["man"]);
    assert_eq!(output.status.code(), Some(0));
    let page = String::from_utf8(output.stdout).unwrap();
    assert!(page.contains(".TH rehearse 1"), "{page}");
    assert!(page.contains("rehearse\\-score(1)") && !page.contains("js\\-worker"), "{page}");
    let output = rehearse(folder.path(), &["man", "--out", "man/man1"]);
    expect![[r#"
        man/man1/rehearse.1
        man/man1/rehearse-run.1
        man/man1/rehearse-matrix.1
        man/man1/rehearse-plan.1
        man/man1/rehearse-merge.1
        man/man1/rehearse-check.1
        man/man1/rehearse-score.1
        man/man1/rehearse-serve.1
        man/man1/rehearse-runs.1
        man/man1/rehearse-report.1
        man/man1/rehearse-sessions.1
        man/man1/rehearse-gc.1
        man/man1/rehearse-export.1
        man/man1/rehearse-import.1
        man/man1/rehearse-eval.1
        man/man1/rehearse-init.1
        man/man1/rehearse-config.1
        man/man1/rehearse-personas.1
        man/man1/rehearse-schema.1
        man/man1/rehearse-completions.1
        man/man1/rehearse-man.1
    "#]]
    .assert_eq(&String::from_utf8_lossy(&output.stdout));
    let score = fs::read_to_string(folder.path().join("man/man1/rehearse-score.1")).unwrap();
    assert!(score.contains(".TH rehearse-score 1") && score.contains("\\-\\-with"), "{score}");
    fs::write(folder.path().join("taken"), "").unwrap();
    let output = rehearse(folder.path(), &["man", "--out", "taken"]);
    assert_eq!(output.status.code(), Some(2));
    expect![[r#"
        error: cannot write `taken/rehearse.1`: File exists (os error 17)
    "#]]
    .assert_eq(&String::from_utf8_lossy(&output.stderr));
}
