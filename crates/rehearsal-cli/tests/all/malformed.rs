//! What no scenario file should be: each ends in an error, in little memory, and never in a panic.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]
#![expect(clippy::needless_raw_string_hashes, reason = "expect-test writes them")]

use std::fs::{self, File};
use std::process::Command;

use expect_test::expect;

use crate::support::{Folder, Ran};

/// What the command may take, in KiB; where memory cannot be limited, everything.
const MAX_KIBIBYTES: u64 = 1_000_000;

/// Checks a file in limited memory.
fn check(content: impl AsRef<[u8]>) -> Ran {
    let folder = Folder::new(&[]);
    fs::write(folder.path().join("a.scenario.yaml"), content).unwrap();
    in_little_memory(&folder, "check a.scenario.yaml")
}

fn in_little_memory(folder: &Folder, args: &str) -> Ran {
    let command = folder.command(args);
    let line = format!("ulimit -v {MAX_KIBIBYTES} 2>/dev/null; exec \"$0\" \"$@\"");
    let mut limited = Command::new("sh");
    limited
        .args(["-c", &line])
        .arg(command.get_program())
        .args(command.get_args())
        .current_dir(folder.path());
    let ran = Ran::of(&mut limited);
    assert_eq!(ran.code, 2, "{}{}", ran.stdout, ran.stderr);
    assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
    ran
}

/// The first line of each problem, and where it is.
fn problems(content: impl AsRef<[u8]>) -> String {
    let ran = check(content);
    let lines = ran.stderr.lines();
    let told = lines.filter(|line| line.starts_with("error") || line.trim_start().starts_with("--> "));
    told.map(|line| format!("{}\n", line.trim())).collect::<Vec<_>>().concat()
}

#[test]
fn what_is_no_text_is_refused() {
    let mut told = String::new();
    for content in [
        &b"\xff\xfe\x00"[..],
        b"name: caf\xe9\n",
        b"\x00\x00\x00\x00",
        b"\x7fELF\x02\x01\x01\x00",
        b"name: a\x00b\n",
        b"name: a\x1b[31m\n",
        b"",
    ] {
        told.push_str(&problems(content));
    }
    expect![[r#"
        error: `a.scenario.yaml` is not text in UTF-8
        error: `a.scenario.yaml` is not text in UTF-8
        error[yaml]: the character \u{0} cannot stand in a file
        --> a.scenario.yaml:1:1
        error[yaml]: the character \u{7f} cannot stand in a file
        --> a.scenario.yaml:1:1
        error[yaml]: the character \u{0} cannot stand in a file
        --> a.scenario.yaml:1:8
        error[yaml]: the character \u{1b} cannot stand in a file
        --> a.scenario.yaml:1:7
        error[wrong-type]: the scenario must be a map
        --> a.scenario.yaml:1:1
    "#]]
    .assert_eq(&told);
}

#[test]
fn a_file_of_fifty_megabytes_is_refused_before_it_is_read() {
    let folder = Folder::new(&[]);
    File::create(folder.path().join("a.scenario.yaml")).unwrap().set_len(50 * 1024 * 1024).unwrap();
    in_little_memory(&folder, "check .").check(&expect![[r#"
        exit 2
        --- stdout
        1 file: 0 can be used, 1 cannot
        --- stderr
        error: `a.scenario.yaml` has 52428800 bytes; at most 4194304 bytes are read

    "#]]);
    in_little_memory(&folder, "run .").check(&expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error: `a.scenario.yaml` has 52428800 bytes; at most 4194304 bytes are read

        error: 1 file cannot be used; nothing was run
    "#]]);
}

#[cfg(unix)]
#[test]
fn a_file_without_an_end_is_refused() {
    let folder = Folder::new(&[]);
    in_little_memory(&folder, "check /dev/zero").check(&expect![[r#"
        exit 2
        --- stdout
        1 file: 0 can be used, 1 cannot
        --- stderr
        error: `/dev/zero` has no end; at most 4194304 bytes are read

    "#]]);
    in_little_memory(&folder, "check /dev/null").check(&expect![[r#"
        exit 2
        --- stdout
        1 file: 0 can be used, 1 cannot
        --- stderr
        error[wrong-type]: the scenario must be a map
         --> /dev/null:1:1
          |
        1 |
          | ^ this is nothing

    "#]]);
}

#[test]
fn values_inside_values_without_end_are_refused() {
    let block: Vec<String> = (0..2000).map(|depth| format!("{}a:\n", " ".repeat(depth))).collect();
    let closed = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    for content in [
        "[".repeat(100_000),
        closed,
        "{a: ".repeat(100_000),
        "- ".repeat(100_000),
        "? ".repeat(100_000),
        block.concat(),
    ] {
        let told = problems(&content);
        assert!(told.starts_with("error[too-deep]: values are nested more than 64 deep here\n"), "{told}");
    }
}

#[test]
fn aliases_that_explode_are_refused() {
    let level = |n: usize, open: &str, item: &dyn Fn(usize) -> String, close: &str| {
        let items: Vec<String> = (0..10).map(item).collect();
        format!("a{n}: &a{n} {open}{}{close}\n", items.join(", "))
    };
    let lists: String = (1..30).map(|n| level(n, "[", &|_| format!("*a{}", n - 1), "]")).collect();
    let maps: String = (1..30).map(|n| level(n, "{", &|key| format!("k{key}: *a{}", n - 1), "}")).collect();
    let text = format!("a: &a \"{}\"\nb: [{}]\n", "x".repeat(1_000_000), vec!["*a"; 20_000].join(","));
    let keys: Vec<String> = (0..20_000).map(|key| format!("k{key}: 1")).collect();
    let merged = format!("a: &a {{{}}}\nb:\n{}", keys.join(", "), "  - {<<: *a}\n".repeat(20_000));
    for content in [format!("a0: &a0 [x]\n{lists}"), format!("a0: &a0 {{x: 1}}\n{maps}"), text, merged] {
        let told = problems(&content);
        assert!(told.starts_with("error[too-large]: the file holds more than "), "{told}");
        assert!(told.contains(" once its aliases are written out\n"), "{told}");
    }
    expect![[r#"
        error[yaml]: an alias stands inside the value it stands for
        --> a.scenario.yaml:1:8
    "#]]
    .assert_eq(&problems("a: &a [*a]\n"));
}

#[test]
fn a_million_values_are_refused() {
    let list = vec!["1"; 1_000_000].join(",");
    expect![[r#"
        error[too-large]: the file holds more than 250000 values
        --> a.scenario.yaml:2:499997
    "#]]
    .assert_eq(&problems(format!("name: x\nrun: [{list}]\n")));
}

#[test]
fn what_is_very_long_is_shown_in_part() {
    let line = format!("name: {}\ntags: [{}, 1]\n", "x".repeat(2_000_000), "long ".repeat(100_000));
    let ran = check(&line);
    assert!(ran.stderr.len() < 10_000, "{}", ran.stderr.len());
    assert!(ran.stderr.contains("\n --> a.scenario.yaml:2:500010\n"), "{}", ran.stderr);
    let block = format!("name: |\n{}nme: x\n", "  some text\n".repeat(300_000));
    let ran = check(&block);
    assert!(ran.stderr.contains("a.scenario.yaml:300002:1\n"), "{}", ran.stderr);
    assert!(ran.stderr.len() < 10_000, "{}", ran.stderr.len());
}

#[test]
fn of_a_hundred_thousand_problems_a_hundred_are_shown() {
    let keys: Vec<String> = (0..100_000).map(|key| format!("extra_{key}: 1\n")).collect();
    let ran = check(format!("name: x\n{}", keys.concat()));
    assert_eq!(ran.stderr.matches("error[").count(), 100);
    assert!(
        ran.stderr.ends_with("… and 99904 more problems\n\n"),
        "{}",
        &ran.stderr[ran.stderr.len() - 200..]
    );
    // All on one line.
    let keys: Vec<String> = (0..10_000).map(|key| format!("extra_{key}: 1")).collect();
    let ran = check(format!("{{name: x, {}}}", keys.join(", ")));
    assert_eq!(ran.stderr.matches("error[").count(), 100);
    assert!(ran.stderr.len() < 100_000, "{}", ran.stderr.len());
}

#[test]
fn what_is_no_yaml_is_told_with_its_place() {
    let mut told = String::new();
    for content in [
        "name: x\nname: y\n",
        "name: x\n---\nname: y\n",
        "name: x\nrun:\n\t- input: hi\n",
        "name: !foo x\n",
        "name: !!binary aGVsbG8=\nrun: !!set {a, b}\n",
        "name: @x\n",
        "name: `x`\n",
        "name: a: b\n",
        "name: *nobody\n",
        "name: \"open\n",
        "name: [open\n",
        "a: {<<: 5}\n",
        "{\n",
        "]\n",
        "- \n- \n",
        "just text\n",
        "42\n",
        "? [a]\n: b\n",
        "%YAML 9.9\n---\nname: x\n",
        "name: \"\\uD800\"\n",
    ] {
        told.extend([format!("{content:?}\n"), problems(content), "\n".to_owned()]);
    }
    expect![[r#"
        "name: x\nname: y\n"
        error[yaml]: key `name` stands twice in one map
        --> a.scenario.yaml:2:1

        "name: x\n---\nname: y\n"
        error[yaml]: a second document begins here, but a scenario file holds one
        --> a.scenario.yaml:3:1

        "name: x\nrun:\n\t- input: hi\n"
        error[yaml]: a tab cannot indent
        --> a.scenario.yaml:3:2

        "name: !foo x\n"
        error[yaml]: the tag `!foo` is not known
        --> a.scenario.yaml:1:12

        "name: !!binary aGVsbG8=\nrun: !!set {a, b}\n"
        error[yaml]: the tag `!!set` is not known
        --> a.scenario.yaml:2:12

        "name: @x\n"
        error[yaml]: a value cannot begin with `@`
        --> a.scenario.yaml:1:7

        "name: `x`\n"
        error[yaml]: a value cannot begin with a backtick
        --> a.scenario.yaml:1:7

        "name: a: b\n"
        error[yaml]: a `:` cannot stand here
        --> a.scenario.yaml:1:8

        "name: *nobody\n"
        error[yaml]: no anchor before this has that name
        --> a.scenario.yaml:1:7

        "name: \"open\n"
        error[yaml]: a text in quotes ends nowhere, or its next line is not indented
        --> a.scenario.yaml:2:1

        "name: [open\n"
        error[yaml]: this '[' is never closed
        --> a.scenario.yaml:1:7

        "a: {<<: 5}\n"
        error[yaml]: only a map, or a list of maps, can be merged
        --> a.scenario.yaml:1:9

        "{\n"
        error[yaml]: this '{' is never closed
        --> a.scenario.yaml:1:1

        "]\n"
        error[yaml]: nothing is open that this could close
        --> a.scenario.yaml:1:1

        "- \n- \n"
        error[wrong-type]: the scenario must be a map
        --> a.scenario.yaml:1:1

        "just text\n"
        error[wrong-type]: the scenario must be a map
        --> a.scenario.yaml:1:1

        "42\n"
        error[wrong-type]: the scenario must be a map
        --> a.scenario.yaml:1:1

        "? [a]\n: b\n"
        error[key]: a key must be text
        --> a.scenario.yaml:1:3

        "%YAML 9.9\n---\nname: x\n"
        error[yaml]: unsupported YAML major version
        --> a.scenario.yaml:1:1

        "name: \"\\uD800\"\n"
        error[yaml]: while parsing a quoted scalar, found high surrogate without following low surrogate
        --> a.scenario.yaml:1:7

    "#]]
    .assert_eq(&told);
}

const GOOD: &str = "name: Greets\ndescription: It says hello\nenvironment: {type: local}\nagent: {instructions: Greet.}\nmodels: {agent: {script: [hello]}}\nrun:\n  - input: hi\n    evaluations: [{type: string_contains, value: hello}]\njudgment: {strategy: all_pass}\n";

#[test]
fn marks_line_ends_anchors_and_words_that_look_like_more_are_fine() {
    let anchored = GOOD
        .replace(
            "[{type: string_contains, value: hello}]",
            "[&check {type: string_contains, value: hello}, {<<: *check, value: HELLO}]",
        )
        .replace("name: Greets", "name: yes")
        .replace("It says hello", "0.8+");
    for content in
        [format!("\u{feff}{GOOD}"), GOOD.replace('\n', "\r\n"), format!("---\n{GOOD}...\n"), anchored]
    {
        let folder = Folder::new(&[("a.scenario.yaml", &content)]);
        let ran = folder.run("run .");
        assert_eq!(ran.code, 0, "{content}\n{}{}", ran.stdout, ran.stderr);
    }
    expect![[r#"
        error[wrong-type]: `name` of the scenario must be text
        --> a.scenario.yaml:1:7
        error[wrong-type]: `description` of the scenario must be text
        --> a.scenario.yaml:2:14
    "#]]
    .assert_eq(&problems(GOOD.replace("name: Greets", "name: 2026-01-01").replace("It says hello", "true")));
}

#[test]
fn other_files_are_as_careful() {
    let folder = Folder::new(&[("a.scenario.yaml", GOOD), ("deep.yaml", &"[".repeat(100_000))]);
    File::create(folder.path().join("big")).unwrap().set_len(50 * 1024 * 1024).unwrap();
    fs::write(folder.path().join("binary"), [0xff, 0xfe, 0x00]).unwrap();
    for option in
        ["--agent big", "--agent deep.yaml", "--agent binary", "--env-file big", "--env-file binary"]
    {
        in_little_memory(&folder, &format!("run a.scenario.yaml {option}"));
    }
}
