//! Ctrl-C and its like: what happened is written, and nothing is left behind.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]
#![expect(clippy::needless_raw_string_hashes, reason = "expect-test writes them")]

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Command, Stdio};

use expect_test::{Expect, expect};
use rehearsal_core::{EndReason, EventBody, Ledger};
use serde_json::Value;

use crate::support::{Folder, Ran};

const GREETS: &str = "name: Greets\ndescription: It says hello\nenvironment: {type: local}\nagent: {instructions: Greet.}\nmodels: {agent: {script: [hello]}}\nrun:\n  - input: hi\n    evaluations: [{type: string_contains, value: hello}]\njudgment: {strategy: all_pass}\n";

/// Code that tells its processes and then waits.
const WAITS: &str = "name: Waits\ndescription: Its code never ends\nenvironment: {type: local, variables: [TELL]}\nrun:\n  - lang: sh\n    code: |\n      sleep 600 & echo \"$$ $!\" > \"$TELL\"\n      wait\n    evaluations: [{type: string_contains, value: done}]\njudgment: {strategy: all_pass}\n";

/// An agent that tells its processes and then never answers.
const SILENT: &str = "name: Is silent\ndescription: Its agent never answers\nenvironment: {type: local, variables: [TELL]}\nagent:\n  command: |\n    sleep 600 & echo \"$$ $!\" > \"$TELL\"\n    wait\nrun:\n  - input: hi\n    evaluations: [{type: string_contains, value: done}]\njudgment: {strategy: all_pass}\n";

fn signal(name: &str, child: &Child) {
    let sent = Command::new("kill").args([&format!("-{name}"), &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

/// Whether a process runs; one that ended and was not yet collected does not.
fn runs(process: &str) -> bool {
    let output = Command::new("ps").args(["-o", "stat=", "-p", process]).output().unwrap();
    let state = String::from_utf8(output.stdout).unwrap();
    !state.trim().is_empty() && !state.trim().starts_with('Z')
}

/// The command with the ordinary answer to a terminal that goes away. Whoever runs these tests may have been told to live
/// on without one (`nohup`), and children are told what their parents were.
fn attached(command: &Command) -> Command {
    let mut attached = Command::new("env");
    attached.arg("--default-signal=HUP").arg(command.get_program()).args(command.get_args());
    if let Some(folder) = command.get_current_dir() {
        attached.current_dir(folder);
    }
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => attached.env(name, value),
            None => attached.env_remove(name),
        };
    }
    attached
}

/// Sends a signal to a run whose first scenario is over and whose second hangs.
fn interrupted(hangs: &str, name: &str, expected: &Expect) {
    let folder =
        Folder::new(&[("1.scenario.yaml", GREETS), ("2.scenario.yaml", hangs), ("3.scenario.yaml", GREETS)]);
    let tell = folder.path().join("tell");
    let temporary = folder.path().join("temporary");
    fs::create_dir(&temporary).unwrap();
    assert!(Command::new("mkfifo").arg(&tell).status().unwrap().success());
    let mut command = attached(&folder.command("run . --jobs 1 --out out"));
    command.env("TELL", &tell).env("TMPDIR", &temporary).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    // Opening the pipe waits until somebody writes to it.
    let told = fs::read_to_string(&tell).unwrap();
    let told: Vec<&str> = told.split_whitespace().collect();
    assert!(runs(told[1]));
    assert_eq!(fs::read_dir(&temporary).unwrap().count(), 1);
    signal(name, &child);
    Ran::from(child.wait_with_output().unwrap()).check(expected);
    // Who is killed is gone a moment later.
    assert!(told.iter().all(|process| (0..1000).any(|_| !runs(process))));
    assert_eq!(fs::read_dir(&temporary).unwrap().count(), 0);
    let result: Value =
        rehearsal_core::json::from_str(&fs::read_to_string(folder.path().join("out/result.json")).unwrap())
            .unwrap();
    assert_eq!(result["interrupted"], true);
    assert_eq!(result["summary"]["not_run"], 1);
    let verdicts: Vec<&Value> =
        result["results"].as_array().unwrap().iter().map(|one| &one["status"]).collect();
    assert_eq!(verdicts, ["passed", "terminated"]);
    let path = result["results"][1]["ledgers"][0].as_str().unwrap();
    let ledger =
        Ledger::read_from(BufReader::new(fs::File::open(folder.path().join(path)).unwrap())).unwrap();
    let last = &ledger.events().last().unwrap().body;
    assert!(matches!(last, EventBody::SessionEnded { reason: EndReason::Cancelled }), "{last:?}");
    // What was left is no obstacle.
    assert_eq!(folder.run("run 1.scenario.yaml --out out").code, 0);
}

#[test]
fn ctrl_c_ends_code_and_keeps_what_happened() {
    interrupted(
        WAITS,
        "INT",
        &expect![[r#"
            exit 130
            --- stdout
            passed   Greets  TIME
            STOPPED  Waits  TIME  not counted: infrastructure
                     2.scenario.yaml
                     step 1: did not come to its end
                     stopped: it was interrupted
                     again: rehearse run 2.scenario.yaml --case-seed SEED

            3 scenarios: 1 passed, 1 stopped, 1 not run in TIME
            1 not counted: 1 infrastructure; 1 of the other 1 passed (100 %)
            --- stderr
            start    Greets
            passed   Greets  TIME  1 turn
            start    Waits
            interrupted: ending what runs; once more ends at once
            STOPPED  Waits  TIME
            results and ledgers: out
            kept: rehearse runs RUN
            to go on: rehearse run --resume RUN
        "#]],
    );
}

#[test]
fn ctrl_c_ends_an_agent_that_never_answers() {
    interrupted(
        SILENT,
        "INT",
        &expect![[r#"
            exit 130
            --- stdout
            passed   Greets  TIME
            STOPPED  Is silent  TIME  not counted: infrastructure
                     2.scenario.yaml
                     step 1: did not come to its end
                     stopped: it was interrupted
                     transcript:
                         4  user: hi
                     again: rehearse run 2.scenario.yaml --case-seed SEED

            3 scenarios: 1 passed, 1 stopped, 1 not run in TIME
            1 not counted: 1 infrastructure; 1 of the other 1 passed (100 %)
            --- stderr
            start    Greets
            passed   Greets  TIME  1 turn
            start    Is silent
            interrupted: ending what runs; once more ends at once
            STOPPED  Is silent  TIME  1 turn
            results and ledgers: out
            kept: rehearse runs RUN
            to go on: rehearse run --resume RUN
        "#]],
    );
}

#[test]
fn a_request_to_end_is_like_ctrl_c() {
    interrupted(
        WAITS,
        "TERM",
        &expect![[r#"
            exit 130
            --- stdout
            passed   Greets  TIME
            STOPPED  Waits  TIME  not counted: infrastructure
                     2.scenario.yaml
                     step 1: did not come to its end
                     stopped: it was interrupted
                     again: rehearse run 2.scenario.yaml --case-seed SEED

            3 scenarios: 1 passed, 1 stopped, 1 not run in TIME
            1 not counted: 1 infrastructure; 1 of the other 1 passed (100 %)
            --- stderr
            start    Greets
            passed   Greets  TIME  1 turn
            start    Waits
            interrupted: ending what runs; once more ends at once
            STOPPED  Waits  TIME
            results and ledgers: out
            kept: rehearse runs RUN
            to go on: rehearse run --resume RUN
        "#]],
    );
}

#[test]
fn a_terminal_that_goes_away_is_like_ctrl_c() {
    interrupted(
        WAITS,
        "HUP",
        &expect![[r#"
            exit 130
            --- stdout
            passed   Greets  TIME
            STOPPED  Waits  TIME  not counted: infrastructure
                     2.scenario.yaml
                     step 1: did not come to its end
                     stopped: it was interrupted
                     again: rehearse run 2.scenario.yaml --case-seed SEED

            3 scenarios: 1 passed, 1 stopped, 1 not run in TIME
            1 not counted: 1 infrastructure; 1 of the other 1 passed (100 %)
            --- stderr
            start    Greets
            passed   Greets  TIME  1 turn
            start    Waits
            interrupted: ending what runs; once more ends at once
            STOPPED  Waits  TIME
            results and ledgers: out
            kept: rehearse runs RUN
            to go on: rehearse run --resume RUN
        "#]],
    );
}

#[test]
fn nothing_is_waited_for_once_the_scenarios_are_over() {
    // Nobody reads more than the beginning of what is printed, so the command would wait for ever.
    let long = GREETS.replace("[hello]", &format!("[\"hello {}\"]", "x".repeat(1_000_000)));
    let folder = Folder::new(&[("a.scenario.yaml", &long)]);
    let mut command = folder.command("run . --verbose --out out");
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut beginning = [0; 6];
    child.stdout.as_mut().unwrap().read_exact(&mut beginning).unwrap();
    assert_eq!(&beginning, b"passed");
    signal("INT", &child);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(folder.path().join("out/result.json").exists());
}

#[test]
fn who_asks_twice_is_not_kept_waiting() {
    let folder = Folder::new(&[("a.scenario.yaml", WAITS)]);
    let tell = folder.path().join("tell");
    assert!(Command::new("mkfifo").arg(&tell).status().unwrap().success());
    let mut command = folder.command("run . --quiet");
    // What is left of its folder then goes with ours.
    command.env("TELL", &tell).env("TMPDIR", folder.path());
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let told = fs::read_to_string(&tell).unwrap();
    signal("INT", &child);
    let mut line = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "interrupted: ending what runs; once more ends at once\n");
    signal("INT", &child);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(told.split_whitespace().all(|process| (0..1000).any(|_| !runs(process))));
}

/// Code that leaves a process behind in a session of its own, which says so when it outlives the run.
#[cfg(target_os = "linux")]
const LEAVES: &str = "name: Leaves\ndescription: A process in a session of its own\nenvironment: {type: local, variables: [TELL]}\nrun:\n  - lang: sh\n    code: |\n      setsid sh -c 'exec 9> \"$TELL\"; echo here >&9; setsid sh -c \"sleep 30; echo survived >&9\" & sleep 30; echo survived >&9' > /dev/null 2>&1 &\n      sleep 600\n    evaluations: [{type: string_contains, value: done}]\njudgment: {strategy: all_pass}\n";

#[cfg(target_os = "linux")]
#[test]
fn what_left_its_session_ends_with_the_run_however_that_ends() {
    let agent = LEAVES
        .replace("run:\n  - lang: sh\n    code:", "agent:\n  command:")
        .replace("    evaluations", "run:\n  - input: hi\n    evaluations");
    for (scenario, how) in [
        (LEAVES, "INT"),
        (LEAVES, "HUP"),
        (LEAVES, "KILL"),
        (&agent, "TERM"),
        (&agent, "KILL"),
        (LEAVES, "time"),
        (&agent, "time"),
    ] {
        let folder = Folder::new(&[("a.scenario.yaml", scenario)]);
        let tell = folder.path().join("tell");
        assert!(Command::new("mkfifo").arg(&tell).status().unwrap().success());
        let timeout = if how == "time" { " --timeout 1s" } else { "" };
        let mut command = attached(&folder.command(&format!("run . --quiet{timeout}")));
        command.env("TELL", &tell).env("TMPDIR", folder.path());
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let mut told = BufReader::new(fs::File::open(&tell).unwrap());
        let mut line = String::new();
        told.read_line(&mut line).unwrap();
        assert_eq!(line, "here\n");
        if how != "time" {
            signal(how, &child);
        }
        // The pipe ends when nobody is left who could write to it.
        let mut rest = String::new();
        told.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "", "after {how}");
        child.wait().unwrap();
    }
}
