//! `rehearse run`, as a user runs it.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]
#![expect(clippy::needless_raw_string_hashes, reason = "expect-test writes them")]

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;

use expect_test::expect;
use quick_junit::{NonSuccessKind, Report, TestCaseStatus};
use rehearsal_core::Ledger;
use serde_json::{Value, json};

use crate::support::{Folder, Ran};

const GREETS: &str = r#"
name: Greets
description: It says hello
tags: [fast]
environment: {type: local}
agent: {instructions: Greet.}
models: {agent: {script: [{say: hello, usage: {input: 20, output: 5}}]}}
run:
  - input: hi
    evaluations: [{type: string_contains, value: hello}]
judgment: {strategy: all_pass}
"#;

const REFUNDS: &str = r#"
name: Refunds an order
description: It refunds and says so
tags: [billing]
environment: {type: local}
agent:
  instructions: Refund orders.
  tools:
    - name: orders.refund
      description: Refunds an order
      parameters: {type: object, properties: {id: {type: string}}}
models:
  agent:
    script:
      - {call: orders.refund, args: {id: A1}, usage: {input: 20, output: 5}}
      - {say: I could not find it., usage: {input: 30, output: 7}}
setup:
  mocks:
    - {service: orders, method: refund, response: {ok: true}}
run:
  - name: asks
    input: Please refund A1
    evaluations:
      - {type: string_contains, value: refunded, description: the user must be told}
      - {type: tool_called, tool: orders.refund}
judgment: {strategy: all_pass}
"#;

const CALLS_WHAT_NOBODY_MOCKED: &str = r#"
name: Calls what nobody mocked
description: It calls a tool
environment: {type: local}
agent:
  instructions: Refund orders.
  tools: [{name: orders.refund, description: Refunds an order}]
models:
  agent: {script: [{call: orders.refund, args: {id: A1}}, done, welcome]}
run:
  - input: Please refund A1
    evaluations: [{type: string_contains, value: done}]
  - input: Thanks
    evaluations: [{type: string_contains, value: welcome}]
judgment: {strategy: all_pass}
"#;

const ASKS_NOTHING: &str = r#"
name: Asks nothing
description: It has no evaluations
environment: {type: local}
agent: {instructions: Greet.}
models: {agent: {script: [hello]}}
run:
  - input: hi
    evaluations: []
judgment: {strategy: all_pass}
"#;

const NEVER_ENDS: &str = r#"
name: Never ends
description: It waits
environment: {type: local}
run:
  - lang: sh
    code: sleep 600
    evaluations: [{type: string_contains, value: done}]
judgment: {strategy: all_pass}
"#;

const TALKS: &str = r#"
name: Talks
description: A conversation with a user who follows a script
environment: {type: local}
agent: {instructions: Talk.}
models: {agent: {script: [hello, fine, bye]}}
run:
  - name: small talk
    input: hi
    conversation:
      max_turns: 3
      user: {script: [how are you, thanks]}
      turn_evaluations: [{type: string_contains, value: e}]
      final_evaluations: [{type: conversation_length, max_turns: 3}]
    evaluations: [{type: string_contains, value: bye}]
judgment: {strategy: all_pass}
"#;

/// Passes and fails by chance.
const FLAKY: &str = r#"
name: Flaky
description: Its tool fails half of the time
environment: {type: local}
agent: {instructions: Look., tools: [{name: look, description: Looks}]}
models:
  agent: {script: [{call: look, args: {}}, done]}
setup:
  mocks:
    - {method: look, response: ok, error: {code: E, message: gone}, metadata: {probability: 0.5}}
run:
  - input: look
    evaluations: [{type: tool_called, tool: look}]
judgment: {strategy: all_pass}
"#;

fn result(path: impl AsRef<Path>) -> Value {
    rehearsal_core::json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// Every file below a folder, with its content.
fn files(folder: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.append(&mut files(&path));
        } else {
            found.insert(path.clone(), String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned());
        }
    }
    found
}

#[test]
fn what_passes_is_a_line() {
    let folder =
        Folder::new(&[("a.scenario.yaml", GREETS), ("deep/b.scenario.yml", TALKS), ("c.yaml", "not: one")]);
    folder.run("run . --jobs 1").check(&expect![[r#"
        exit 0
        --- stdout
        passed   Greets  TIME
        passed   Talks  TIME
                 conversation of 3 turns, ended by max_turns_reached: all 3 turns were taken
        2 scenarios: 2 passed in TIME
        --- stderr
        start    Greets
        passed   Greets  TIME  1 turn  25 tokens
        start    Talks
        passed   Talks  TIME  3 turns
        kept: rehearse runs RUN
    "#]]);
}

#[test]
fn a_failure_shows_its_evidence_and_the_command_that_repeats_it() {
    let folder = Folder::new(&[("refunds.scenario.yaml", REFUNDS)]);
    let first = folder.run("run refunds.scenario.yaml");
    first.check(&expect![[r#"
        exit 1
        --- stdout
        FAILED   Refunds an order  TIME
                 refunds.scenario.yaml
                 step 1 (asks): failed
                   failed string_contains "refunded", line 24
                     asked because: the user must be told
                     the reply does not contain "refunded": "I could not find it." [#12]
                 transcript:
                     4  user: Please refund A1
                     9  agent calls orders.refund {"id":"A1"}
                    10  orders.refund gives {"ok":true}
                 >  12  agent: I could not find it.
                 again: rehearse run refunds.scenario.yaml --case-seed SEED

        1 scenario: 0 passed, 1 failed in TIME
        --- stderr
        start    Refunds an order
        FAILED   Refunds an order  TIME  1 turn  62 tokens
        kept: rehearse runs RUN
    "#]]);
    let again = first.stdout.lines().find_map(|line| line.trim().strip_prefix("again: rehearse ")).unwrap();
    let second = folder.run(again);
    assert_eq!(second.code, 1);
    let transcript = |ran: &Ran| ran.stdout.lines().skip(1).take(11).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(transcript(&first), transcript(&second));
}

#[test]
fn the_command_that_repeats_a_run_draws_the_same() {
    let folder = Folder::new(&[("it's flaky.scenario.yaml", FLAKY), ("vars.env", "A=1\n")]);
    let out = folder.path().join("out");
    let first = folder.run("run . --repeat 8 --env-file vars.env --timeout 1m --out out");
    assert_eq!(first.code, 1, "{}", first.stdout);
    let verdicts = |result: Value| -> Vec<(Value, Value)> {
        let scenarios = result["results"].as_array().unwrap().clone();
        scenarios.into_iter().map(|one| (one["seed"].clone(), one["status"].clone())).collect()
    };
    let all = verdicts(result(out.join("result.json")));
    assert!(all.iter().any(|(_, verdict)| verdict == "passed"), "{all:?}");
    let command = first.stdout.lines().find_map(|line| line.trim().strip_prefix("again: rehearse ")).unwrap();
    assert!(command.ends_with(" --env-file vars.env --timeout 60000ms"), "{command}");
    let shell = format!("{} {command} --out again", env!("CARGO_BIN_EXE_rehearse"));
    let status =
        std::process::Command::new("sh").args(["-c", &shell]).current_dir(folder.path()).output().unwrap();
    assert_eq!(status.status.code(), Some(1));
    let repeated = verdicts(result(folder.path().join("again/result.json")));
    let failed = all.iter().find(|(_, verdict)| verdict == "failed").unwrap();
    assert_eq!(repeated, std::slice::from_ref(failed));
}

#[test]
fn an_unmocked_tool_is_an_error_with_a_mock_to_paste() {
    let folder = Folder::new(&[("a.scenario.yaml", CALLS_WHAT_NOBODY_MOCKED)]);
    let ran = folder.run("run a.scenario.yaml");
    ran.check(&expect![[r#"
        exit 1
        --- stdout
        ERROR    Calls what nobody mocked  TIME  not counted: tool
                 a.scenario.yaml
                 step 1: did not come to its end
                 step 2: skipped, because an earlier step did not come to its end
                 error (system): tool `orders.refund` was called by agent `agent`, but no mock answers this call

                   Add a mock under `setup.mocks`:
                       - service: orders
                         method: refund
                         when:
                           input: {"id":"A1"}
                         response: {"result": "…"}
                 transcript:
                     4  user: Please refund A1
                     9  agent calls orders.refund {"id":"A1"}
                 >  10  error: tool `orders.refund` was called by agent `agent`, but no mock answers this call
                 again: rehearse run a.scenario.yaml --case-seed SEED

        1 scenario: 0 passed, 1 with an error in TIME
        1 not counted: 1 tool; nothing is left to judge the agent by
        --- stderr
        start    Calls what nobody mocked
        ERROR    Calls what nobody mocked  TIME  1 turn
        kept: rehearse runs RUN
    "#]]);
    let lines = ran.stdout.lines().skip_while(|line| !line.contains("Add a mock")).skip(1);
    let mock: Vec<&str> = lines.take_while(|line| !line.contains("transcript")).collect();
    let mocked =
        CALLS_WHAT_NOBODY_MOCKED.replace("run:\n", &format!("setup:\n  mocks:\n{}\nrun:\n", mock.join("\n")));
    fs::write(folder.path().join("a.scenario.yaml"), mocked).unwrap();
    let ran = folder.run("run a.scenario.yaml");
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
}

#[test]
fn a_scenario_that_takes_too_long_is_stopped() {
    let folder = Folder::new(&[("a.scenario.yaml", NEVER_ENDS)]);
    folder.run("run a.scenario.yaml --timeout 100ms").check(&expect![[r#"
        exit 1
        --- stdout
        STOPPED  Never ends  TIME
                 a.scenario.yaml
                 step 1: did not come to its end
                 stopped: `--timeout` of 100ms was reached
                 again: rehearse run a.scenario.yaml --case-seed SEED --timeout 100ms

        1 scenario: 0 passed, 1 stopped in TIME
        --- stderr
        start    Never ends
        STOPPED  Never ends  TIME
        kept: rehearse runs RUN
    "#]]);
}

#[test]
fn what_nobody_judges_does_not_pass() {
    let folder = Folder::new(&[("a.scenario.yaml", ASKS_NOTHING)]);
    folder.run("run a.scenario.yaml").check(&expect![[r#"
        exit 1
        --- stdout
        UNJUDGED Asks nothing  TIME
                 a.scenario.yaml
                 step 1: has no evaluations
                 nothing was asked of it: add `evaluations` to a step
                 transcript:
                     4  user: hi
                     8  agent: hello
                 again: rehearse run a.scenario.yaml --case-seed SEED

        1 scenario: 0 passed, 1 unjudged in TIME
        --- stderr
        start    Asks nothing
        UNJUDGED Asks nothing  TIME  1 turn
        kept: rehearse runs RUN
    "#]]);
}

#[test]
fn one_file_that_cannot_be_used_stops_all() {
    let bad = GREETS.replace("judgment", "judgement");
    let folder = Folder::new(&[("a.scenario.yaml", GREETS), ("b.scenario.yaml", &bad)]);
    folder.run("run .").check(&expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error[missing-key]: the scenario needs `judgment`
         --> b.scenario.yaml:2:1
          |
        2 | name: Greets
          | ^
          |
        help: add: judgment: {strategy: all_pass}

        error[unknown-key]: the scenario has no key `judgement`
          --> b.scenario.yaml:11:1
           |
        11 | judgement: {strategy: all_pass}
           | ^^^^^^^^^
           |
        help: did you mean `judgment`?

        error: 1 file cannot be used; nothing was run

        hint: `--keep-going` runs the others and says how many were not run
    "#]]);
    assert!(!folder.path().join(".rehearsal").exists());
}

#[test]
fn only_what_fits_the_filter_is_run() {
    let folder = Folder::new(&[("a.scenario.yaml", GREETS), ("b.scenario.yaml", REFUNDS)]);
    folder.run("run . --filter tag:fast").check(&expect![[r#"
        exit 0
        --- stdout
        passed   Greets  TIME
        1 scenario: 1 passed in TIME
        --- stderr
        start    Greets
        passed   Greets  TIME  1 turn  25 tokens
        kept: rehearse runs RUN
    "#]]);
    folder.run("run . --filter slow").check(&expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error: no scenario fits the filter

        hint: there are:
          Greets tag:fast
          Refunds an order tag:billing
    "#]]);
    let many: Vec<(String, String)> = (0..12)
        .map(|n| (format!("{n}.scenario.yaml"), GREETS.replace("Greets", &format!("Greets {n}"))))
        .collect();
    let many: Vec<(&str, &str)> = many.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    Folder::new(&many).run("run . --filter slow").check(&expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error: no scenario fits the filter

        hint: there are:
          Greets 0 tag:fast
          Greets 1 tag:fast
          Greets 10 tag:fast
          Greets 11 tag:fast
          Greets 2 tag:fast
          Greets 3 tag:fast
          Greets 4 tag:fast
          Greets 5 tag:fast
          Greets 6 tag:fast
          Greets 7 tag:fast
          and 2 more
    "#]]);
    folder.run("run . --filter (fast").check(&expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error: invalid value '(fast' for '--filter <EXPR>': `(` is not closed; write words joined by `and`, `or` and `not`, such as `billing and not tag:slow`

        For more information, try '--help'.
    "#]]);
}

#[test]
fn what_cannot_be_found_is_said() {
    let folder = Folder::new(&[("empty/readme.txt", "nothing")]);
    folder.run("run missing.yaml").check(&expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error: cannot read `missing.yaml`: No such file or directory (os error 2)

        hint: there is no YAML file in `.`; paths are taken from where the command is run
    "#]]);
    folder.run("run empty").check(&expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error: there is no scenario file in `empty`

        hint: scenario files end in .scenario.yaml or .scenario.yml
    "#]]);
    folder.run("run empty/*.yaml").check(&expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error: no file fits `empty/*.yaml`
    "#]]);
    folder.run("run empty/[").check(&expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error: `empty/[` is no pattern for files: invalid range pattern
    "#]]);
}

#[cfg(unix)]
#[test]
fn a_folder_that_may_not_be_read_is_said() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = Folder::new(&[("a.scenario.yaml", GREETS), ("closed/b.scenario.yaml", GREETS)]);
    let closed = folder.path().join("closed");
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
    // Root may read everything.
    if fs::read_dir(&closed).is_err() {
        folder.run("run .").check(&expect![[r#"
            exit 2
            --- stdout
            --- stderr
            error: cannot read `./closed`: Permission denied (os error 13)
        "#]]);
    }
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_file_that_is_named_twice_is_run_once() {
    let folder = Folder::new(&[("a.scenario.yaml", GREETS)]);
    let ran = folder.run("run a.scenario.yaml ./a.scenario.yaml . *.yaml");
    assert!(ran.stdout.starts_with("passed   Greets"), "{}", ran.stdout);
    assert!(ran.stdout.contains("1 scenario: 1 passed"), "{}", ran.stdout);
}

#[test]
fn json_on_standard_output_is_alone_there() {
    let folder = Folder::new(&[("a.scenario.yaml", REFUNDS)]);
    let ran = folder.run("run . --json -");
    let found: Value = rehearsal_core::json::from_str(&ran.stdout).unwrap();
    assert_eq!(found["summary"]["failed"], 1);
    assert_eq!(found["results"][0]["steps"][0]["evaluations"][0]["evidence"][0]["events"], json!([12]));
    assert!(ran.stderr.contains("FAILED   Refunds an order"), "{}", ran.stderr);
    assert!(ran.stderr.contains("1 scenario: 0 passed, 1 failed"), "{}", ran.stderr);
    assert!(ran.stdout.ends_with("}\n"));
}

#[test]
fn json_and_junit_go_into_files_also_in_new_folders() {
    let folder = Folder::new(&[("a.scenario.yaml", REFUNDS), ("b.scenario.yaml", GREETS)]);
    let ran = folder.run("run . --json new/result.json --junit other/junit.xml --out out");
    assert_eq!(ran.code, 1);
    assert_eq!(result(folder.path().join("new/result.json")), result(folder.path().join("out/result.json")));
    assert!(folder.path().join("other/junit.xml").exists());
}

#[test]
fn a_result_that_cannot_be_written_is_told_before_anything_runs() {
    let folder = Folder::new(&[("a.scenario.yaml", GREETS), ("file", "")]);
    folder.run("run a.scenario.yaml --json file/result.json").check(&expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error: cannot write `file/result.json`: File exists (os error 17)
    "#]]);
    folder.run("run a.scenario.yaml --junit .").check(&expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error: cannot write `.`: Is a directory (os error 21)
    "#]]);
    folder.run("run a.scenario.yaml --out file").check(&expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error: cannot make the folder `file` for results: Not a directory (os error 20)

        hint: `--out DIR` names another
    "#]]);
}

#[test]
fn junit_tells_what_did_not_pass_and_why() {
    let strange = GREETS
        .replace("say: hello", r#"say: "\0\x01\x1B[31m</failure>]]>&\uFFFE é""#)
        .replace("value: hello", "value: bye");
    let folder = Folder::new(&[
        ("a.scenario.yaml", GREETS),
        ("b.scenario.yaml", &strange),
        ("c.scenario.yaml", CALLS_WHAT_NOBODY_MOCKED),
        ("d.scenario.yaml", ASKS_NOTHING),
        ("e.scenario.yaml", NEVER_ENDS),
    ]);
    assert_eq!(folder.run("run . --junit junit.xml --timeout 100ms").code, 1);
    let xml = fs::read_to_string(folder.path().join("junit.xml")).unwrap();
    let report = Report::deserialize_from_str(&xml).unwrap();
    assert_eq!((report.tests, report.failures, report.errors), (5, 2, 2));
    let mut kinds = Vec::new();
    for suite in &report.test_suites {
        for case in &suite.test_cases {
            let kind = match &case.status {
                TestCaseStatus::Success { .. } => "passed".to_owned(),
                TestCaseStatus::NonSuccess { kind, message, ty, .. } => {
                    let kind = if *kind == NonSuccessKind::Failure { "failure" } else { "error" };
                    format!(
                        "{kind}, {}: {}",
                        ty.as_ref().unwrap().as_str(),
                        message.as_ref().unwrap().as_str()
                    )
                }
                TestCaseStatus::Skipped { .. } => "skipped".to_owned(),
            };
            kinds.push(format!("{} {}: {kind}\n", suite.name.as_str(), case.name.as_str()));
        }
    }
    expect![[r#"
        a.scenario.yaml Greets: passed
        b.scenario.yaml Greets: failure, failed: 1: string_contains "bye": the reply does not contain "bye": "\0\u{1}\u{1b}[31m</failure>]]>&\u{fffe} é"
        c.scenario.yaml Calls what nobody mocked: error, error: tool `orders.refund` was called by agent `agent`, but no mock answers this call
        d.scenario.yaml Asks nothing: failure, unjudged: unjudged
        e.scenario.yaml Never ends: error, terminated: `--timeout` of 100ms was reached
    "#]].assert_eq(&kinds.concat());
}

#[test]
fn what_a_terminal_would_act_on_is_not_printed() {
    let strange =
        GREETS.replace("say: hello", r#"say: "\e[2Jgone\a\r""#).replace("value: hello", "value: bye");
    let strange = strange.replace("name: Greets", "name: \"Gre\\e[2Jets\\nagain\"");
    let folder = Folder::new(&[("a.scenario.yaml", &strange)]);
    folder.run("run a.scenario.yaml").check(&expect![[r#"
        exit 1
        --- stdout
        FAILED   Gre\u{1b}[2Jets\nagain  TIME
                 a.scenario.yaml
                 step 1: failed
                   failed string_contains "bye", line 10
                     the reply does not contain "bye": "\u{1b}[2Jgone\u{7}\r" [#8]
                 transcript:
                     4  user: hi
                 >   8  agent: \u{1b}[2Jgone\u{7}
                 again: rehearse run a.scenario.yaml --case-seed SEED

        1 scenario: 0 passed, 1 failed in TIME
        --- stderr
        start    Gre\u{1b}[2Jets\nagain
        FAILED   Gre\u{1b}[2Jets\nagain  TIME  1 turn  25 tokens
        kept: rehearse runs RUN
    "#]]);
}

#[test]
fn a_folder_keeps_the_result_and_a_ledger_for_each_session() {
    let judged = REFUNDS
        .replace(
            "  agent:\n    script:",
            "  judge: {script: [{json: {judgment: \"yes\", confidence: 1, reasoning: fine}}]}\n  agent:\n    script:",
        )
        .replace(
            "{type: tool_called, tool: orders.refund}",
            "{type: llm_judge, prompt: Is it kind?, expected: \"yes\"}",
        );
    let folder = Folder::new(&[("a.scenario.yaml", &judged), ("b.scenario.yaml", GREETS)]);
    let out = folder.path().join("out");
    let names = |folder: &Path| -> Vec<String> {
        files(folder).keys().map(|path| path.strip_prefix(folder).unwrap().display().to_string()).collect()
    };
    fs::create_dir_all(out.join("ledgers")).unwrap();
    fs::write(out.join("ledgers/mine.jsonl"), "kept").unwrap();
    for _ in 0..2 {
        let ran = folder.run("run . --out out --repeat 2");
        assert_eq!(ran.code, 1, "{}", ran.stderr);
        let expected = [
            "ledgers/001-refunds-an-order-2.jsonl",
            "ledgers/001-refunds-an-order-2.judge.jsonl",
            "ledgers/001-refunds-an-order.jsonl",
            "ledgers/001-refunds-an-order.judge.jsonl",
            "ledgers/002-greets-2.jsonl",
            "ledgers/002-greets.jsonl",
            "ledgers/mine.jsonl",
            "result.json",
        ];
        assert_eq!(names(&out), expected);
        for (path, text) in files(&out.join("ledgers")) {
            if path.ends_with("mine.jsonl") {
                continue;
            }
            let ledger = Ledger::read_from(text.as_bytes()).unwrap();
            assert!(ledger.events().len() > 1, "{}", path.display());
        }
        let found = result(out.join("result.json"));
        for scenario in found["results"].as_array().unwrap() {
            for path in scenario["ledgers"].as_array().unwrap() {
                assert!(folder.path().join(path.as_str().unwrap()).exists(), "{path}");
            }
        }
    }
    // A smaller run leaves nothing of the larger one behind.
    assert_eq!(folder.run("run b.scenario.yaml --out out").code, 0);
    assert_eq!(names(&out), ["ledgers/001-greets.jsonl", "ledgers/mine.jsonl", "result.json"]);
}

#[test]
fn runs_are_kept_apart_and_out_of_version_control() {
    let folder = Folder::new(&[("a.scenario.yaml", GREETS)]);
    for _ in 0..3 {
        assert_eq!(folder.run("run . --quiet").code, 0);
    }
    let runs: Value = rehearsal_core::json::from_str(&folder.run("runs --json").stdout).unwrap();
    assert_eq!(runs.as_array().unwrap().len(), 3);
    assert_eq!(fs::read_to_string(folder.path().join(".rehearsal/.gitignore")).unwrap(), "*\n");
}

#[test]
fn a_run_that_cannot_be_kept_does_not_begin() {
    let folder =
        Folder::new(&[("a.scenario.yaml", GREETS), ("note.txt", "I am no database, whatever my name is")]);
    for store in ["note.txt", "a.scenario.yaml/deep.db", "mysql://x"] {
        let ran = folder.run(&format!("run a.scenario.yaml --store {store}"));
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{}", ran.stderr);
        assert!(ran.stderr.starts_with("error: this run cannot be kept: "), "{}", ran.stderr);
        assert!(ran.stderr.ends_with("`--no-store` nowhere; nothing was run\n"), "{}", ran.stderr);
    }
    assert_eq!(folder.run("run a.scenario.yaml --quiet --store note.txt --no-store").code, 0);
    assert!(!folder.path().join(".rehearsal").exists());
}

#[test]
fn a_run_that_was_not_kept_whole_is_no_pass() {
    // The store takes nothing that is nested deeper than 100 levels.
    let deep = "setup: {mocks: [{method: dig, responseFn: '() => Array(105).fill().reduce((inner) => [inner], 1)'}]}";
    let digs = GREETS
        .replace("{instructions", "{tools: [{name: dig}], instructions")
        .replace("script: [", "script: [{call: dig}, ")
        .replace("run:", &format!("{deep}\nrun:"));
    let folder = Folder::new(&[("a.scenario.yaml", &digs)]);
    let ran = folder.run("run .");
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("error: what this run came to is not kept whole: "), "{}", ran.stderr);
    assert!(ran.stdout.contains("1 scenario: "), "{}", ran.stdout);
    assert_eq!(folder.run("run . --no-store").code, 0);
}

#[test]
fn quiet_prints_only_what_did_not_pass() {
    let folder = Folder::new(&[("a.scenario.yaml", GREETS), ("b.scenario.yaml", ASKS_NOTHING)]);
    folder.run("run . --quiet").check(&expect![[r#"
        exit 1
        --- stdout
        UNJUDGED Asks nothing  TIME
                 b.scenario.yaml
                 step 1: has no evaluations
                 nothing was asked of it: add `evaluations` to a step
                 transcript:
                     4  user: hi
                     8  agent: hello
                 again: rehearse run b.scenario.yaml --case-seed SEED

        2 scenarios: 1 passed, 1 unjudged in TIME
        --- stderr
    "#]]);
    folder.run("run a.scenario.yaml -q").check(&expect![[r#"
        exit 0
        --- stdout
        1 scenario: 1 passed in TIME
        --- stderr
    "#]]);
}

#[test]
fn verbose_prints_everything() {
    let folder = Folder::new(&[("a.scenario.yaml", REFUNDS), ("b.scenario.yaml", TALKS)]);
    folder.run("run . --verbose --jobs 1").check(&expect![[r#"
        exit 1
        --- stdout
        FAILED   Refunds an order  TIME
                 a.scenario.yaml
                 step 1 (asks): failed
                   failed string_contains "refunded", line 24
                     asked because: the user must be told
                     the reply does not contain "refunded": "I could not find it." [#12]
                   passed tool_called orders.refund, line 25
                     orders.refund succeeded once [#9]
                 orders.refund was answered by mocks[0] (line 19) [#10]
                 transcript:
                     4  user: Please refund A1
                     9  agent calls orders.refund {"id":"A1"}
                    10  orders.refund gives {"ok":true}
                 >  12  agent: I could not find it.
                 again: rehearse run a.scenario.yaml --case-seed SEED

        passed   Talks  TIME
                 b.scenario.yaml
                 step 1 (small talk): passed
                   passed turn 1: string_contains "e", line 13
                     the reply contains "e" [#8]
                   passed turn 2: string_contains "e", line 13
                     the reply contains "e" [#15]
                   passed turn 3: string_contains "e", line 13
                     the reply contains "e" [#22]
                   passed at the end: conversation_length ≤3, line 14
                     the conversation had 3 turns, at most 3 asked for [#4 #12 #19]
                   passed string_contains "bye", line 15
                     the reply contains "bye" [#22]
                 conversation of 3 turns, ended by max_turns_reached: all 3 turns were taken
                 transcript:
                     4  user: hi
                     8  agent: hello
                    12  user: how are you
                    15  agent: fine
                    19  user: thanks
                    22  agent: bye

        2 scenarios: 1 passed, 1 failed in TIME
        --- stderr
        start    Refunds an order
        FAILED   Refunds an order  TIME  1 turn  62 tokens
        start    Talks
        passed   Talks  TIME  3 turns
        kept: rehearse runs RUN
    "#]]);
}

#[test]
fn nothing_starts_after_the_first_failure_if_told() {
    let folder = Folder::new(&[
        ("a.scenario.yaml", GREETS),
        ("b.scenario.yaml", ASKS_NOTHING),
        ("c.scenario.yaml", TALKS),
    ]);
    folder.run("run . --fail-fast --jobs 1 --quiet").check(&expect![[r#"
        exit 1
        --- stdout
        UNJUDGED Asks nothing  TIME
                 b.scenario.yaml
                 step 1: has no evaluations
                 nothing was asked of it: add `evaluations` to a step
                 transcript:
                     4  user: hi
                     8  agent: hello
                 again: rehearse run b.scenario.yaml --case-seed SEED

        3 scenarios: 1 passed, 1 unjudged, 1 not run in TIME
        --- stderr
    "#]]);
}

#[test]
fn repeats_are_counted_together() {
    let folder = Folder::new(&[("a.scenario.yaml", GREETS), ("b.scenario.yaml", FLAKY)]);
    folder.run("run . --repeat 3 --jobs 1").check(&expect![[r#"
        exit 1
        --- stdout
        passed   Greets  TIME
        passed   Greets #2  TIME
        passed   Greets #3  TIME
        FAILED   Flaky  TIME
                 b.scenario.yaml
                 step 1: failed
                   failed tool_called look, line 13
                     look succeeded 0 times, at least 1 asked for
                     look {} failed: E: gone [#9]
                 transcript:
                     4  user: look
                 >   9  agent calls look {}
                    10  look fails: E: gone
                    12  agent: done
                 again: rehearse run b.scenario.yaml --case-seed SEED

        passed   Flaky #2  TIME
        passed   Flaky #3  TIME
        Greets: 3 of 3 passed (95 % interval 44 to 100 %)
        Flaky: 2 of 3 passed (95 % interval 21 to 94 %)
        6 runs: 5 passed, 1 failed in TIME
        --- stderr
        start    Greets
        passed   Greets  TIME  1 turn  25 tokens
        start    Greets #2
        passed   Greets #2  TIME  1 turn  25 tokens
        start    Greets #3
        passed   Greets #3  TIME  1 turn  25 tokens
        start    Flaky
        FAILED   Flaky  TIME  1 turn
        start    Flaky #2
        passed   Flaky #2  TIME  1 turn
        start    Flaky #3
        passed   Flaky #3  TIME  1 turn
        kept: rehearse runs RUN
    "#]]);
    let found: Value =
        rehearsal_core::json::from_str(&folder.run("run . --repeat 3 --json -").stdout).unwrap();
    assert_eq!(found["repeats"][0]["passed"], 3);
    assert_eq!(found["results"].as_array().unwrap().len(), 6);
}

#[test]
fn the_seed_decides_and_the_number_of_jobs_does_not() {
    let folder = Folder::new(&[("a.scenario.yaml", FLAKY)]);
    let verdicts = |options: &str| -> Vec<Value> {
        let ran = folder.run(&format!("run . --json - --repeat 12 {options}"));
        let found: Value = rehearsal_core::json::from_str(&ran.stdout).unwrap();
        found["results"].as_array().unwrap().iter().map(|one| one["status"].clone()).collect()
    };
    assert_eq!(verdicts("--seed 7 --jobs 1"), verdicts("--seed 7 --jobs 12"));
    assert_ne!(verdicts("--seed 7"), verdicts("--seed 8"));
}

#[test]
fn variables_of_a_file_reach_commands_and_headers_and_are_written_nowhere() {
    let secret = "hunter2-and-more";
    let (address, requests) = server("{\"reply\": \"hello\"}");
    let code = "name: Sees it\ndescription: x\nenvironment: {type: local, variables: [TOKEN]}\nrun:\n  - lang: sh\n    code: test \"$TOKEN\" = hunter2-and-more && echo right\n    evaluations: [{type: string_contains, value: right}]\njudgment: {strategy: all_pass}\n".replace(secret, "hunter2-\"\"and-more");
    let header = format!(
        "name: Sends it\ndescription: x\nenvironment: {{type: local}}\nagent:\n  http:\n    url: http://{address}/\n    headers: {{authorization: 'Bearer ${{env.TOKEN}}'}}\n    response: reply\nrun:\n  - input: hi\n    evaluations: [{{type: string_contains, value: hello}}]\njudgment: {{strategy: all_pass}}\n"
    );
    let folder = Folder::new(&[
        ("a.scenario.yaml", &code),
        ("b.scenario.yaml", &header),
        ("good.env", &format!("# for tests\nexport TOKEN='{secret}'\n")),
        ("broken.env", &format!("A=1\n{secret}\n")),
    ]);
    let ran =
        folder.run("run . --env-file good.env --verbose --jobs 1 --out out --json r.json --junit j.xml");
    ran.check(&expect![[r#"
        exit 0
        --- stdout
        passed   Sees it  TIME
                 a.scenario.yaml
                 step 1: passed
                   passed string_contains "right", line 7
                     the output contains "right" [#3]

        passed   Sends it  TIME
                 b.scenario.yaml
                 step 1: passed
                   passed string_contains "hello", line 11
                     the reply contains "hello" [#7]
                 transcript:
                     4  user: hi
                     7  agent: hello

        2 scenarios: 2 passed in TIME
        --- stderr
        start    Sees it
        passed   Sees it  TIME
        start    Sends it
        passed   Sends it  TIME  1 turn
        results and ledgers: out
        kept: rehearse runs RUN
    "#]]);
    assert!(requests.recv().unwrap().contains(&format!("authorization: Bearer {secret}")));
    let mut written = files(&folder.path().join("out"));
    written.extend(files(&folder.path().join(".rehearsal")));
    for name in ["r.json", "j.xml"] {
        written.insert(name.into(), fs::read_to_string(folder.path().join(name)).unwrap());
    }
    written.insert("stdout".into(), ran.stdout);
    written.insert("stderr".into(), ran.stderr);
    for (path, text) in written {
        assert!(!text.contains(secret), "{}", path.display());
    }
    folder.run("run a.scenario.yaml").check(&expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error: a.scenario.yaml: the scenario names the environment variable `TOKEN`, which is not set

        hint: set it, put it into a file for `--env-file`, or give it a value: variables: {TOKEN: …}
    "#]]);
    folder.run("run b.scenario.yaml").check(&expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error[unset-variable]: the environment variable `TOKEN` is not set
         --> b.scenario.yaml:7:38
          |
        7 |     headers: {authorization: 'Bearer ${env.TOKEN}'}
          |                                      ^^^^^^^^^^^^
          |
        help: set it, or put it into a file for `--env-file`, before this is run

        error: 1 file cannot be used; nothing was run
    "#]]);
    folder.run("run . --env-file broken.env").check(&expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error: broken.env:2: this line gives no variable a value

        hint: write one NAME=value a line
    "#]]);
    folder.run("run . --env-file missing.env").check(&expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error: the env file: cannot read `missing.env`: No such file or directory (os error 2)

        hint: there are:
          a.scenario.yaml
          b.scenario.yaml
    "#]]);
}

/// Answers every request with this JSON, and tells what it was asked.
fn server(answer: &'static str) -> (String, mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (tell, requests) = mpsc::channel();
    thread::spawn(move || -> io::Result<()> {
        for stream in listener.incoming() {
            let mut stream = BufReader::new(stream?);
            let mut request = String::new();
            let mut length = 0;
            while !request.ends_with("\r\n\r\n") {
                let start = request.len();
                stream.read_line(&mut request)?;
                let line = request[start..].to_lowercase();
                if let Some(value) = line.strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
            }
            let mut body = vec![0; length];
            stream.read_exact(&mut body)?;
            request.push_str(&String::from_utf8_lossy(&body));
            let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n";
            write!(stream.get_mut(), "{head}content-length: {}\r\n\r\n{answer}", answer.len())?;
            if tell.send(request).is_err() {
                break;
            }
        }
        Ok(())
    });
    (address, requests)
}

const COMPLETION: &str = r#"{"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "well, hello"}}], "usage": {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}}"#;

#[test]
fn a_model_of_the_command_line_takes_the_place_of_the_files() {
    let (address, requests) = server(COMPLETION);
    let folder = Folder::new(&[("a.scenario.yaml", GREETS)]);
    let ran = folder
        .run(&format!("run a.scenario.yaml --verbose --model agent=openai-compatible:m@http://{address}/v1"));
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("agent: well, hello"), "{}", ran.stdout);
    assert!(requests.recv().unwrap().starts_with("POST /v1/chat/completions"));
}

#[test]
fn a_part_for_a_person_is_refused_while_nobody_can_be_asked() {
    let by_person = GREETS.replace("{script: [{say: hello, usage: {input: 20, output: 5}}]}", "person");
    let folder = Folder::new(&[("a.scenario.yaml", &by_person)]);
    assert_eq!(folder.run("check .").code, 0);
    folder.run("run . --no-store").check(&expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error: a.scenario.yaml: this scenario is played by a person: the model of the agent; and nobody here brings them what they are asked

        hint: cast somebody else: a model or a script under `models`, a `response` in the mock, `user: {script: […]}`
    "#]]);
    let folder = Folder::new(&[("a.scenario.yaml", GREETS)]);
    folder.run("run . --model agent=person --no-store").check(&expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error: a.scenario.yaml: this scenario is played by a person: the model of the agent; and nobody here brings them what they are asked

        hint: cast somebody else: a model or a script under `models`, a `response` in the mock, `user: {script: […]}`
    "#]]);
    let judged = GREETS.replace("models: {", "models: {judge: person, ").replace(
        "{type: string_contains, value: hello}",
        "{type: llm_judge, prompt: Was it kind?, expected: 'yes'}",
    );
    let folder = Folder::new(&[("a.scenario.yaml", &judged)]);
    folder.run("check .").check(&expect![[r#"
        exit 2
        --- stdout
        1 file: 0 can be used, 1 cannot
        --- stderr
        error[no-person]: the judge cannot be played by a person
         --> a.scenario.yaml:7:1
          |
        7 | models: {judge: person, agent: {script: [{say: hello, usage: {input: 20, output: 5}}]}}
          | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
          |
        help: name a model: judge: openai:gpt-4o, or a script: judge: {rules: [{json: {…}}]}

    "#]]);
    assert!(!folder.path().join(".rehearsal").exists());
}

#[test]
fn a_model_that_cannot_be_used_is_said_before_anything_runs() {
    let folder = Folder::new(&[("a.scenario.yaml", GREETS)]);
    folder.run("run . --model agent").check(&expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error: invalid value 'agent' for '--model <ROLE=SPEC>': write ROLE=SPEC, such as judge=openai:gpt-4o

        For more information, try '--help'.
    "#]]);
    folder.run("run . --model agent=opnai:gpt-4o").check(&expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error: invalid value 'agent=opnai:gpt-4o' for '--model <ROLE=SPEC>': `opnai` is no API that is known; did you mean `openai`?

        hint: a model is written `openai:MODEL`, `anthropic:MODEL`, `gemini:MODEL` or `openai-compatible:MODEL@ADDRESS`

        For more information, try '--help'.
    "#]]);
    folder.run("run . --model agent=openai:gpt-4o").check(&expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error: a.scenario.yaml: model `agent`: openai:gpt-4o needs a key

        hint: set the environment variable OPENAI_API_KEY, or put it into a file for `--env-file`
    "#]]);
    folder.run("run . --model agnet=openai:gpt-4o").check(&expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error: `--model agnet=openai:gpt-4o` changes nothing: no scenario asks a model `agnet`
    "#]]);
    assert!(!folder.path().join(".rehearsal").exists());
}

const OTHER_AGENT: &str =
    "agent: {instructions: Be somebody else.}\nmodels: {agent: {script: [good day and hello]}}\n";

#[test]
fn an_agent_of_a_file_takes_the_place_of_the_scenarios() {
    let folder = Folder::new(&[
        (
            "a.scenario.yaml",
            &GREETS.replace("models: {agent: {script: [{say: hello, usage: {input: 20, output: 5}}]}}\n", ""),
        ),
        ("agent.yaml", OTHER_AGENT),
        ("bad.yaml", "agnt: 1\n"),
    ]);
    folder.run("run a.scenario.yaml --agent agent.yaml --verbose").check(&expect![[r#"
        exit 0
        --- stdout
        passed   Greets  TIME
                 a.scenario.yaml
                 step 1: passed
                   passed string_contains "hello", line 9
                     the reply contains "hello" [#8]
                 transcript:
                     4  user: hi
                     8  agent: good day and hello

        1 scenario: 1 passed in TIME
        --- stderr
        start    Greets
        passed   Greets  TIME  1 turn
        kept: rehearse runs RUN
    "#]]);
    folder.run("run a.scenario.yaml --agent bad.yaml").check(&expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error[missing-key]: the agent's file needs `agent`
         --> bad.yaml:1:1
          |
        1 | agnt: 1
          | ^
          |
        help: add: agent: {instructions: You are helpful.}

        error[unknown-key]: the agent's file has no key `agnt`
         --> bad.yaml:1:1
          |
        1 | agnt: 1
          | ^^^^
          |
        help: did you mean `agent`?

    "#]]);
    folder.run("run a.scenario.yaml --agent missing.yaml").check(&expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error: cannot read `missing.yaml`: No such file or directory (os error 2)

        hint: there are:
          a.scenario.yaml
          agent.yaml
          bad.yaml
    "#]]);
}

const THEIRS: &str = r#"
name: Greets
description: As the other runner has it
environment: {type: e2b}
character: eliza
run:
  - input: hi
    evaluations:
      - {type: string_contains, value: HELLO, description: }
      - {type: llm_judge, prompt: Is it kind?, expected: "yes", model_type: TEXT_LARGE}
judgment: {strategy: all_pass}
"#;

#[test]
fn files_of_the_other_runner_need_to_be_told_and_an_agent() {
    let folder = Folder::new(&[("a.scenario.yaml", THEIRS)]);
    folder.run("run a.scenario.yaml").check(&expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error[unknown-value]: `type` of `environment` cannot be `e2b`
         --> a.scenario.yaml:4:21
          |
        4 | environment: {type: e2b}
          |                     ^^^
          |
        help: it can be: `local`

        error[unknown-key]: the scenario has no key `character`
         --> a.scenario.yaml:5:1
          |
        5 | character: eliza
          | ^^^^^^^^^
          |
        help: its keys are: `name`, `description`, `tags`, `agent`, `models`, `prices`, `budget`, `plugins`, `environment`, `run`, `world`, `setup`, `users`, `bridge`, `judgment`, `use`, `cases`, `matrix`

        error[empty]: `description` of an evaluation is empty
         --> a.scenario.yaml:9:47
          |
        9 |       - {type: string_contains, value: HELLO, description: }
          |                                               ^^^^^^^^^^^
          |
        help: give it a value or remove it

        error: 1 file cannot be used; nothing was run
    "#]]);
    folder.run("run a.scenario.yaml --compat elizaos").check(&expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error[no-agent]: the scenario does not say what is under test
         --> a.scenario.yaml:1:1
          |
        1 |
          | ^
          |
        help: add an agent:
                agent:
                  instructions: You are a helpful assistant.
                models:
                  agent: openai:gpt-4o
              or name a file that has one: --agent FILE

        warning[unknown-key]: the scenario has no key `character`
         --> a.scenario.yaml:5:1
          |
        5 | character: eliza
          | ^^^^^^^^^
          |
        help: its keys are: `name`, `description`, `tags`, `agent`, `models`, `prices`, `budget`, `plugins`, `environment`, `run`, `world`, `setup`, `users`, `bridge`, `judgment`, `use`, `cases`, `matrix`

        warning[empty]: `description` of an evaluation is empty
         --> a.scenario.yaml:9:47
          |
        9 |       - {type: string_contains, value: HELLO, description: }
          |                                               ^^^^^^^^^^^
          |
        help: give it a value or remove it

        error[no-model]: the judge needs a model, and no model is called `TEXT_LARGE`
          --> a.scenario.yaml:10:7
           |
        10 |       - {type: llm_judge, prompt: Is it kind?, expected: "yes", model_type: TEXT_LARGE}
           |       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
           |
        help: add it:
                models:
                  TEXT_LARGE: openai:gpt-4o   # or {script: [{say: Hello}]}
              or name it on the command line: --model TEXT_LARGE=openai:gpt-4o

        error: 1 file cannot be used; nothing was run
    "#]]);
}

#[test]
fn files_of_the_other_runner_are_run_with_an_agent_of_ours() {
    let (address, _requests) = server(
        r#"{"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "{\"judgment\": \"yes\", \"confidence\": 1, \"reasoning\": \"it is\"}"}}]}"#,
    );
    let folder = Folder::new(&[("a.scenario.yaml", THEIRS), ("agent.yaml", OTHER_AGENT)]);
    let models = format!("--model judge=openai-compatible:m@http://{address}/v1");
    let ran = folder.run(&format!("run a.scenario.yaml --compat elizaos --agent agent.yaml {models}"));
    ran.check(&expect![[r#"
        exit 0
        --- stdout
        passed   Greets  TIME
        1 scenario: 1 passed in TIME
        --- stderr
        warning[unknown-key]: the scenario has no key `character`
         --> a.scenario.yaml:5:1
          |
        5 | character: eliza
          | ^^^^^^^^^
          |
        help: its keys are: `name`, `description`, `tags`, `agent`, `models`, `prices`, `budget`, `plugins`, `environment`, `run`, `world`, `setup`, `users`, `bridge`, `judgment`, `use`, `cases`, `matrix`

        warning[empty]: `description` of an evaluation is empty
         --> a.scenario.yaml:9:47
          |
        9 |       - {type: string_contains, value: HELLO, description: }
          |                                               ^^^^^^^^^^^
          |
        help: give it a value or remove it

        start    Greets
        passed   Greets  TIME  1 turn
        kept: rehearse runs RUN
    "#]]);
}

#[test]
fn a_closed_pipe_ends_nothing_and_hides_nothing() {
    let folder = Folder::new(&[("a.scenario.yaml", GREETS), ("b.scenario.yaml", REFUNDS)]);
    for (args, code) in
        [("run a.scenario.yaml", 0), ("run b.scenario.yaml", 1), ("run . --json -", 1), ("run none", 2)]
    {
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let mut command = folder.command(&format!("{args} --out out"));
        let status = command.stdout(writer.try_clone().unwrap()).stderr(writer).status().unwrap();
        assert_eq!(status.code(), Some(code), "{args}");
    }
    let found = result(folder.path().join("out/result.json"));
    assert_eq!(found["summary"]["total"], 2);
}

#[test]
fn a_reader_who_leaves_early_ends_nothing() {
    let folder = Folder::new(&[("a.scenario.yaml", REFUNDS)]);
    let line = format!("{{ {} run . --verbose; echo $? >code; }} | head -1", env!("CARGO_BIN_EXE_rehearse"));
    let output =
        std::process::Command::new("sh").args(["-c", &line]).current_dir(folder.path()).output().unwrap();
    assert!(String::from_utf8(output.stdout).unwrap().starts_with("FAILED"));
    assert_eq!(fs::read_to_string(folder.path().join("code")).unwrap(), "1\n");
    assert!(!String::from_utf8(output.stderr).unwrap().contains("panicked"));
}

#[test]
fn help_says_what_there_is() {
    let folder = Folder::new(&[]);
    folder.run("run -h").check(&expect![[r#"
        exit 0
        --- stdout
        Run scenarios and judge what came of them

        Usage: rehearse run [OPTIONS] [PATH]...

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
          -h, --help                 Print help (see more with '--help')
          -V, --version              Print version

        Running:
              --live             Let tools run for real: mocks do not answer, and tools with a `command` or
                                 `http` do what they do
              --no-commands      Refuse files that would start a program (code, commands, agents and servers
                                 that are started), before anything runs
              --keep-going       Run what can be used although other files cannot; these are counted, and
                                 the exit code is 2
              --timeout <TIME>   Stop a scenario that takes longer, such as `90s`, `5m` or `500ms`
              --keep             Keep the folders in which commands ran
              --resume <RUN>     Go on with a run that was killed or interrupted, by the beginning of its
                                 id, or `last`: what has ended is not run again, and the result is that of
                                 one run. Options that say where results go can be given anew
              --failed <RUN>     Run again, with the same seeds, what did not pass in a run, by the
                                 beginning of its id, or `last`; without paths, with all that it was begun
                                 with
              --only <WHAT>      With `--failed`, only what came to this; may be given several times
                                 [possible values: error, failed, terminated, unjudged, invalid]
              --env-file <FILE>  A file of NAME=value lines, for keys and for the variables that files name
              --jobs <N>         How many cases run side by side [default: 16]
              --repeat <K>       Run each case so many times [default: 1]
              --valid <K>        Run each case until so many of its runs are valid: one that did not pass by
                                 the doing of the simulated user, a mock, the judge, the machine or a budget
                                 is followed by another
              --valid-tries <N>  With `--valid`, run a case no more often than this [default: 3 times K]
              --seed <N>         Where all chance comes from; the same seed draws the same [default: 0]
              --case-seed <N>    Repeat exactly one run: its seed, as its result shows it
              --fail-fast        Start no further case once one did not pass
              --shard <I/N>      Run one part of a run, such as `2/5` for the second of five; `rehearse
                                 merge` joins all parts into one run [env: REHEARSE_SHARD=]
              --plan <FILE>      Take the parts from a plan that `rehearse plan` wrote, so that they take
                                 about as long

        Limits:
              --max-calls <N>        How many calls each model is asked at once, at most; what its provider
                                     takes is found out [default: 1024]
              --max-cost <USD>       End the run before its models cost more than so many US dollars; each
                                     of them needs a price
              --max-tokens <N>       End the run before its models use more tokens, read and written
              --max-time <TIME>      End the run after so long, such as `10m`
              --case-max-cost <USD>  End a case before its models cost more than so many US dollars
              --case-max-tokens <N>  End a case before its models use more tokens

        Results:
              --junit <FILE>      Write the results as JUnit XML to a file
              --out <DIR>         Also write results and ledgers as files into a folder
              --store <FILE|URL>  Where everything is kept: a `SQLite` file (also as `sqlite:///…`), or
                                  `postgres://…` [default: .rehearsal/rehearsal.db] [env: REHEARSAL_STORE]
              --name <NAME>       What to call this run in lists, such as `nightly` or `with the new prompt`
              --no-store          Keep nothing in the store, for places that cannot be written
              --json <FILE|->     Write the results as JSON to a file, or to standard output with `-`
              --events            Put the events of all sessions into the JSON as well
              --reports           Put what a terminal shows of each case into the JSON as well, and its
                                  transcript
          -q, --quiet             Print only what did not pass
          -v, --verbose           Print all transcripts and evaluations

        Exit codes: 0 all passed; 1 something failed, errored, was stopped or was judged by nothing; 2 the
        input or set-up is wrong; 130 interrupted.
        --- stderr
    "#]]);
    let long = folder.run("run --help");
    assert!(long.stdout.contains("Without `--live` no tool runs for real"), "{}", long.stdout);
}

#[test]
fn what_the_command_line_gets_wrong_is_told() {
    let folder = Folder::new(&[]);
    folder.run("run").check(&expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error: no scenario is named

        hint: name files, folders or patterns, or write them into `rehearsal.yaml`: scenarios: [tests]
    "#]]);
    folder.run("run . --timeout 0").check(&expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error: invalid value '0' for '--timeout <TIME>': `0` leaves no time at all

        For more information, try '--help'.
    "#]]);
    folder.run("run . --jobs 0").check(&expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error: invalid value '0' for '--jobs <N>': 0 is not in 1..=1024

        For more information, try '--help'.
    "#]]);
    folder.run("run . --case-seed 1 --repeat 2").check(&expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error: the argument '--case-seed <N>' cannot be used with '--repeat <K>'

        Usage: rehearse run --case-seed <N> <PATH>...

        For more information, try '--help'.
    "#]]);
}

#[test]
fn a_folder_that_is_kept_is_named() {
    let text = "name: Keeps\ndescription: d\nenvironment: {type: local}\nrun:\n  - {code: echo hi > a.txt, evaluations: [{type: file_exists, path: a.txt}]}\njudgment: {strategy: all_pass}\n";
    let place = Folder::new(&[("a.scenario.yaml", text)]);
    let ran = place.run("run a.scenario.yaml --keep");
    let kept = ran.stdout.lines().find_map(|line| line.trim().strip_prefix("its folder was kept: "));
    let kept = PathBuf::from(kept.expect("it is said where the folder is"));
    assert_eq!(fs::read_to_string(kept.join("a.txt")).unwrap(), "hi\n");
    fs::remove_dir_all(kept.parent().unwrap()).unwrap();
    assert!(!place.run("run a.scenario.yaml").stdout.contains("kept"));
}

#[test]
fn ledgers_of_the_same_seed_differ_in_time_and_in_nothing_else() {
    let folder = Folder::new(&[("a.scenario.yaml", REFUNDS), ("b.scenario.yaml", GREETS)]);
    let timeless = |line: &str| -> Value {
        let mut event: Value = rehearsal_core::json::from_str(line).unwrap();
        assert!(event.as_object_mut().unwrap().remove("at").is_some(), "{line}");
        if let Some(decision) = event.get_mut("decision").and_then(Value::as_object_mut) {
            decision.remove("micros");
        }
        event
    };
    let ledgers = |out: &str| -> Vec<(String, Vec<Value>)> {
        folder.run(&format!("run . --no-store --seed 7 --repeat 3 --out {out}"));
        let found = files(&folder.path().join(out).join("ledgers")).into_iter();
        let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
        found.map(|(path, text)| (name(&path), text.lines().map(timeless).collect())).collect()
    };
    let (first, second) = (ledgers("first"), ledgers("second"));
    assert!(first.len() >= 6, "{first:?}");
    assert_eq!(first, second);
}
