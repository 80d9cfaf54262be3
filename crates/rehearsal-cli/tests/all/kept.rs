//! What is kept: `rehearse runs`, `sessions`, `gc`, `export` and `import`, as a user runs them.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]
#![expect(clippy::needless_raw_string_hashes, reason = "expect-test writes them")]

use std::fs;

use expect_test::{Expect, expect};
use rehearsal_core::Ledger;
use serde_json::{Value, json};

use crate::support::{Folder, Ran};

const REFUNDS: &str = r#"
name: Refunds an order
description: It refunds and says so
environment: {type: local}
agent:
  name: billing agent
  instructions: Refund orders.
  tools: [{name: refund, description: Refunds an order}]
models: {agent: {script: [{call: refund, args: {id: A1}}, It is refunded.]}}
setup: {mocks: [{method: refund, response: {ok: true}}]}
run:
  - input: Please refund A1
    evaluations: [{type: string_contains, value: refunded}]
judgment: {strategy: all_pass}
"#;

fn failing() -> String {
    REFUNDS
        .replace("Refunds an order\ndescription", "Refuses\ndescription")
        .replace("value: refunded", "value: never")
}

/// A folder in which two scenarios were run once.
fn kept() -> Folder {
    let folder = Folder::new(&[("a.scenario.yaml", REFUNDS), ("b.scenario.yaml", &failing())]);
    assert_eq!(folder.run("run . --quiet --jobs 1").code, 1);
    folder
}

fn json_of(folder: &Folder, args: &str) -> Value {
    let ran = folder.run(args);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    rehearsal_core::json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}", ran.stdout))
}

fn sessions(folder: &Folder) -> Vec<String> {
    let listed = json_of(folder, "sessions --json");
    listed.as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap().to_owned()).collect()
}

/// Compares what a command came to, with placeholders for ids and moments too.
fn shown(folder: &Folder, args: &str, expected: &Expect) {
    let Ran { code, stdout, stderr } = folder.run(args);
    Ran { code, stdout: plain(&stdout), stderr: plain(&stderr) }.check(expected);
}

fn plain(text: &str) -> String {
    let words = text.split_inclusive([' ', '\n', '`', ',', ':', '(', '"']);
    words
        .map(|word| {
            let bare = word.trim_end_matches([' ', '\n', '`', ',', ':', '(', '"']);
            let rest = &word[bare.len()..];
            let hex = bare.chars().all(|c| c.is_ascii_hexdigit() || c == '-');
            let is_time = |c: char| c.is_ascii_digit() || "-:TZ".contains(c);
            if hex && bare.len() == 36 {
                format!("WHOLE-ID{rest}")
            } else if hex && bare.len() == 8 && !bare.contains('-') {
                format!("ID{rest}")
            } else if bare.len() == 10 && bare.starts_with("20") && bare.chars().all(is_time) {
                format!("DAY{rest}")
            } else {
                word.to_owned()
            }
        })
        .collect::<String>()
        .lines()
        .map(clock)
        .map(|line| line + "\n")
        .collect()
}

/// A line without times of the day.
fn clock(line: &str) -> String {
    let mut found = line.to_owned();
    while let Some(at) = found.find("DAY ") {
        let end = found[at..].find('Z').unwrap() + at + 1;
        found.replace_range(at..end, "MOMENT");
    }
    found
}

#[test]
fn runs_are_listed_and_shown() {
    let folder = kept();
    shown(
        &folder,
        "runs",
        &expect![[r#"
        exit 0
        --- stdout
        ID  MOMENT  failed       1 passed, 1 failed    2 scenarios: .
        --- stderr
    "#]],
    );
    let runs = json_of(&folder, "runs --json");
    assert_eq!(runs[0]["summary"]["passed"], 1);
    let id = runs[0]["id"].as_str().unwrap();
    shown(
        &folder,
        &format!("runs {}", &id[..6]),
        &expect![[r#"
        exit 0
        --- stdout
        run WHOLE-ID  2 scenarios: .
        failed, began MOMENT, ended MOMENT

        passed   Refunds an order  TIME
        FAILED   Refuses  TIME
                 b.scenario.yaml
                 step 1: failed
                   failed string_contains "never", line 13
                     the reply does not contain "never": "It is refunded." [#12]
                 transcript:
                     4  user: Please refund A1
                     9  billing agent calls refund {"id":"A1"}
                    10  refund gives {"ok":true}
                 >  12  billing agent: It is refunded.
                 again: rehearse run b.scenario.yaml --case-seed SEED

        2 scenarios: 1 passed, 1 failed in TIME

        sessions:
          ID  MOMENT  completed  billing agent       16 events  Refunds an order
          ID  MOMENT  completed  billing agent       16 events  Refuses
        --- stderr
    "#]],
    );
    let run = json_of(&folder, &format!("runs {id} --json"));
    assert_eq!((&run["status"], &run["result"]["summary"]["failed"]), (&json!("failed"), &json!(1)));
    assert_eq!(run["sessions"].as_array().unwrap().len(), 2);
    for (scenario, session) in
        run["result"]["results"].as_array().unwrap().iter().zip(sessions(&folder).iter().rev())
    {
        assert_eq!(scenario["sessions"], json!([session]));
    }
    shown(
        &folder,
        "runs 0000",
        &expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error: there is no run `0000`

        hint: `rehearse runs` lists them
    "#]],
    );
    shown(
        &folder,
        "runs abc",
        &expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error: `abc` is too short: write at least 4 characters of the run's id
    "#]],
    );
}

#[test]
fn runs_have_names_and_say_what_they_were_run_from() {
    let commit = "0123456789abcdef0123456789abcdef01234567";
    let files = [
        ("a.scenario.yaml", REFUNDS),
        (".git/HEAD", "ref: refs/heads/refunds\n"),
        (".git/refs/heads/refunds", commit),
    ];
    let folder = Folder::new(&files);
    assert_eq!(folder.run("run a.scenario.yaml").code, 0);
    assert_eq!(folder.run("run a.scenario.yaml --name prompt-2").code, 0);
    let runs = json_of(&folder, "runs --json");
    let facts = ["name", "commit", "branch", "model"].map(|key| runs[0][key].clone());
    assert_eq!(facts, [json!("prompt-2"), json!(commit), json!("refunds"), Value::Null]);
    assert!(runs[1]["name"].is_null(), "{runs}");
    shown(
        &folder,
        "runs --search PROMPT",
        &expect![[r#"
        exit 0
        --- stdout
        ID  MOMENT  passed       1 passed              prompt-2 (Refunds an order)  refunds ID
        --- stderr
    "#]],
    );
    shown(
        &folder,
        "runs --search nowhere",
        &expect![[r#"
        exit 0
        --- stdout
        --- stderr
        no run is like that
    "#]],
    );
    let refused = folder.run("run a.scenario.yaml --name=");
    assert!(refused.stderr.contains("a name has 1 to 200 characters"), "{}", refused.stderr);
}

#[test]
fn sessions_are_listed_and_shown() {
    let folder = kept();
    shown(
        &folder,
        "sessions",
        &expect![[r#"
        exit 0
        --- stdout
        ID  MOMENT  completed  billing agent       16 events  Refuses
        ID  MOMENT  completed  billing agent       16 events  Refunds an order
        --- stderr
    "#]],
    );
    shown(
        &folder,
        "sessions --search refuses",
        &expect![[r#"
        exit 0
        --- stdout
        ID  MOMENT  completed  billing agent       16 events  Refuses
        --- stderr
    "#]],
    );
    shown(
        &folder,
        "sessions --status active",
        &expect![[r#"
        exit 0
        --- stdout
        --- stderr
        no session fits; without options all are listed
    "#]],
    );
    shown(
        &folder,
        "sessions --limit 1",
        &expect![[r#"
        exit 0
        --- stdout
        ID  MOMENT  completed  billing agent       16 events  Refuses
        --- stderr
        … and older ones; `--limit N` lists more than 1
    "#]],
    );
    let run = json_of(&folder, "runs --json")[0]["id"].as_str().unwrap().to_owned();
    assert_eq!(json_of(&folder, &format!("sessions --run {run} --json")).as_array().unwrap().len(), 2);
    let id = sessions(&folder).pop().unwrap();
    shown(
        &folder,
        &format!("sessions {}", &id[..8]),
        &expect![[r#"
        exit 0
        --- stdout
        session WHOLE-ID  Refunds an order
        completed, agent billing agent, 16 events, began MOMENT, last written MOMENT
        of run WHOLE-ID

           4  user: Please refund A1
           9  billing agent calls refund {"id":"A1"}
          10  refund gives {"ok":true}
          12  billing agent: It is refunded.
        --- stderr
    "#]],
    );
    let ledger = Ledger::from_jsonl(&folder.run(&format!("sessions {id} --ledger")).stdout).unwrap();
    assert_eq!(ledger.events().len() as u64, json_of(&folder, &format!("sessions {id} --json"))["last_seq"]);
}

#[test]
fn where_nothing_is_kept_it_is_said_how_to_change_that() {
    let folder = Folder::new(&[]);
    for args in ["runs", "sessions", "gc --keep 1", "export abcd --evalset x.json"] {
        let ran = folder.run(args);
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""));
        assert!(ran.stderr.contains("nothing is kept here yet") && ran.stderr.contains("rehearse run PATH"));
        assert!(!folder.path().join(".rehearsal").exists(), "{args}");
    }
    assert_eq!(folder.run("sessions --import none.jsonl").code, 2);
}

#[test]
fn a_misspelt_address_is_no_file() {
    let folder = Folder::new(&[]);
    for args in ["runs", "serve --port 0"] {
        let ran = folder.run(&format!("{args} --store postgres:/ada:secret@host/db"));
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{args}");
        assert!(ran.stderr.contains("the store `postgres:…` cannot be used"), "{}", ran.stderr);
        assert!(ran.stderr.contains("postgres://user:password@host/database"), "{}", ran.stderr);
        assert!(!ran.stderr.contains("secret") && !folder.path().join("postgres:").exists());
    }
}

#[test]
fn a_ledger_goes_out_and_comes_in_again() {
    let folder = kept();
    let id = sessions(&folder).pop().unwrap();
    let ledger = folder.run(&format!("sessions {id} --ledger")).stdout;
    fs::write(folder.path().join("one.jsonl"), &ledger).unwrap();
    for (import, other) in [("sessions --import one.jsonl", "b.db"), ("import one.jsonl", "c.db")] {
        let kept = json_of(&folder, &format!("{import} --json --store {other}"))["session"].clone();
        let kept = kept.as_str().unwrap();
        assert_eq!(folder.run(&format!("sessions {kept} --ledger --store {other}")).stdout, ledger);
        let record = json_of(&folder, &format!("sessions {kept} --json --store {other}"));
        assert_eq!((&record["source"], &record["status"]), (&json!("import"), &json!("completed")));
        assert_eq!(record["description"], "Refunds an order");
    }
    fs::write(folder.path().join("bad.jsonl"), "{}\n").unwrap();
    shown(
        &folder,
        "import bad.jsonl",
        &expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error: `bad.jsonl` is no ledger: line 1 is not an event: missing field `seq` at line 1 column 2
    "#]],
    );
    shown(
        &folder,
        "import one.jsonl --evalset x.json",
        &expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error: a ledger is no EvalSet

        hint: keep it with `rehearse import one.jsonl`, then `rehearse export SESSION --evalset FILE`
    "#]],
    );
}

#[test]
fn old_runs_are_removed_by_age_or_by_count() {
    let folder = kept();
    assert_eq!(folder.run("run a.scenario.yaml --quiet").code, 0);
    shown(
        &folder,
        "gc",
        &expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error: the following required arguments were not provided:
          <--older-than <AGE>|--keep <N>>

        Usage: rehearse gc <--older-than <AGE>|--keep <N>>

        For more information, try '--help'.
    "#]],
    );
    shown(
        &folder,
        "gc --older-than soon",
        &expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error: invalid value 'soon' for '--older-than <AGE>': `soon` is no age; write `30d`, `12h` or `2w`

        For more information, try '--help'.
    "#]],
    );
    shown(
        &folder,
        "gc --older-than 30d",
        &expect![[r#"
        exit 0
        --- stdout
        removed 0 runs and 0 sessions
        --- stderr
    "#]],
    );
    shown(
        &folder,
        "gc --keep 1 --dry-run",
        &expect![[r#"
        exit 0
        --- stdout
        would remove 1 run and 2 sessions
        --- stderr
    "#]],
    );
    assert_eq!(sessions(&folder).len(), 3);
    shown(
        &folder,
        "gc --keep 1",
        &expect![[r#"
        exit 0
        --- stdout
        removed 1 run and 2 sessions
        --- stderr
    "#]],
    );
    assert_eq!(sessions(&folder).len(), 1);
    shown(
        &folder,
        "gc --older-than 0s",
        &expect![[r#"
        exit 0
        --- stdout
        removed 1 run and 1 session
        --- stderr
    "#]],
    );
    shown(
        &folder,
        "runs",
        &expect![[r#"
        exit 0
        --- stdout
        --- stderr
        no runs are kept yet; `rehearse run PATH` keeps its runs
    "#]],
    );
}

#[test]
fn a_run_leaves_no_session_open_and_can_go_with_its_judge() {
    let asks = "name: Judged\ndescription: d\nenvironment: {type: local}\nagent: {instructions: x}\nmodels:\n  agent: {script: [hello]}\n  judge: {script: [{json: {reasoning: r, judgment: 'yes', confidence: 0.9}}]}\nrun:\n  - {input: hi, evaluations: [{type: llm_judge, prompt: Is it kind?, expected: 'yes'}]}\njudgment: {strategy: all_pass}\n";
    let folder = Folder::new(&[("a.scenario.yaml", asks)]);
    let ran = folder.run("run . --quiet");
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    let listed = folder.run("sessions --run last").stdout;
    assert!(listed.contains("(its judge)") && !listed.contains("active"), "{listed}");
    assert_eq!(folder.run("runs last").code, 0);
    let gone = folder.run("gc --older-than 0s").stdout;
    assert_eq!(gone, "removed 1 run and 2 sessions\n");
}

#[test]
fn a_completed_session_is_exported() {
    let folder = kept();
    let id = sessions(&folder).pop().unwrap();
    let told =
        json_of(&folder, &format!("export {id} --evalset deep/g.evalset.json --no-colons --format json"));
    let eval_id = told["eval_id"].as_str().unwrap();
    assert!(eval_id.starts_with("billing_agent_20") && !eval_id.contains(':'), "{eval_id}");
    assert_eq!(
        told,
        json!({
            "path": "deep/g.evalset.json", "eval_id": eval_id, "cases": 1, "created": true, "repeated": false,
            "cautions": [],
        })
    );
    let export = |more: &str| {
        format!("export {} --evalset deep/g.evalset.json --no-colons --format json{more}", &id[..8])
    };
    let repeated = json_of(&folder, &export(""));
    assert_eq!(
        (&repeated["cases"], &repeated["repeated"], &repeated["eval_id"]),
        (&json!(1), &json!(true), &told["eval_id"])
    );
    let again = json_of(&folder, &export(" --again"));
    assert_eq!((&again["cases"], &again["created"]), (&json!(2), &json!(false)));
    assert_ne!(again["eval_id"], told["eval_id"]);
    let set: Value = rehearsal_core::json::from_str(
        &fs::read_to_string(folder.path().join("deep/g.evalset.json")).unwrap(),
    )
    .unwrap();
    let case = &set["eval_cases"][0];
    assert_eq!(case["session_input"]["app_name"], "billing_agent");
    assert_eq!(case["conversation"][0]["intermediate_data"]["tool_uses"][0]["name"], "refund");
    let ran = folder.run(&format!("export {id} --evalset x.json --app-name shop"));
    assert!(ran.stdout.ends_with("  in x.json (new, 1 case)\n"), "{}", ran.stdout);
    assert!(ran.stderr.contains("has colons"), "{}", ran.stderr);
    fs::write(folder.path().join("not.json"), "[]x").unwrap();
    let ran = folder.run(&format!("export {id} --evalset not.json"));
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("`not.json` is not an EvalSet; it is left as it is"), "{}", ran.stderr);
}

#[test]
fn a_session_that_did_not_complete_is_refused_with_the_reason() {
    let stopped = "name: Stops\ndescription: d\nenvironment: {type: local}\nagent: {instructions: x}\nmodels: {agent: {script: [{fail: gone}]}}\nrun:\n  - {input: hi, evaluations: [{type: string_contains, value: x}]}\njudgment: {strategy: all_pass}\n";
    let folder = Folder::new(&[("a.scenario.yaml", stopped)]);
    assert_eq!(folder.run("run . --quiet").code, 1);
    let id = sessions(&folder).pop().unwrap();
    shown(
        &folder,
        &format!("export {id} --evalset x.json"),
        &expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error: session `WHOLE-ID` cannot be exported: the session ended with `error`; only a completed session is a golden trace
    "#]],
    );
    assert!(!folder.path().join("x.json").exists());
}

const OLD: &str = r#"[{"query": "2+2?", "expected_tool_use": [{"tool_name": "add", "tool_input": {"a": 2, "b": 2}}], "reference": "4", "mystery": 1}]"#;

#[test]
fn an_eval_set_is_read_and_converted() {
    let folder = Folder::new(&[("old.test.json", OLD), ("bad.json", "{}")]);
    shown(
        &folder,
        "import old.test.json --evalset new.evalset.json",
        &expect![[r#"
            exit 0
            --- stdout
            old.test.json: an older list of queries `old` with 1 case
              old  1 message, 1 tool call
            dropped:
              $[0].mystery: unknown field, which ADK drops too
            wrote new.evalset.json
            --- stderr
        "#]],
    );
    shown(
        &folder,
        "import new.evalset.json",
        &expect![[r#"
        exit 0
        --- stdout
        new.evalset.json: an EvalSet `old` with 1 case
          old  1 message, 1 tool call
        --- stderr
    "#]],
    );
    let told = json_of(&folder, "import old.test.json --json");
    assert_eq!((&told["dialect"], &told["cases"][0]["messages"]), (&json!("legacy_queries"), &json!(1)));
    assert_eq!(told["not_acted_on"], json!([]));
    assert_eq!(told["dropped"][0]["path"], "$[0].mystery");
    shown(
        &folder,
        "import old.test.json --evalset new.evalset.json",
        &expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error: `new.evalset.json` is there already, so nothing was written

        hint: name a new file
    "#]],
    );
    shown(
        &folder,
        "import bad.json",
        &expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error: `bad.json`: $: `eval_set_id` is missing

        hint: add `"eval_set_id": …`
    "#]],
    );
    assert!(!folder.path().join(".rehearsal").exists());
}

#[test]
fn kept_runs_and_sessions_are_scored_by_their_ids() {
    let folder = kept();
    let run = json_of(&folder, "runs --json")[0]["id"].as_str().unwrap().to_owned();
    let ran = folder.run(&format!("score {} --with a.scenario.yaml", &run[..8]));
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(
        ran.stdout.ends_with("1 ledger: 1 passed in 0 ms\n") || ran.stdout.contains("1 ledger: 1 passed")
    );
    let session = sessions(&folder).pop().unwrap();
    let scored = json_of(&folder, &format!("score {session} --with a.scenario.yaml --json -"));
    assert_eq!(scored["results"][0]["sessions"], json!([session]));
    let ran = folder.run(&format!("score {session} --with b.scenario.yaml"));
    assert_eq!(ran.code, 2);
}

#[test]
fn a_report_is_one_file_with_the_run_in_it() {
    let folder = kept();
    let ran = folder.run("report last -o report.html");
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let html = fs::read_to_string(folder.path().join("report.html")).unwrap();
    let marked = r#"<script type="application/json" id="rehearsal-report">"#;
    let (_, rest) = html.split_once(marked).unwrap();
    let (data, _) = rest.split_once("</script>").unwrap();
    let report: Value = rehearsal_core::json::from_str(data).unwrap();
    let run = json_of(&folder, "runs --json")[0]["id"].clone();
    assert_eq!(report["run"]["id"], run);
    assert_eq!(report["run"]["summary"]["failed"], 1);
    let parts: Vec<&Value> =
        report["sessions"].as_array().unwrap().iter().map(|one| &one["session"]["id"]).collect();
    assert_eq!(parts.len(), sessions(&folder).len());
    assert_eq!(report["sessions"][0]["events"][0]["body"]["type"], "session_started");
    // Nothing is fetched: neither scripts nor styles nor pictures.
    assert!(
        !html.contains("src=\"/") && !html.contains("href=\"/") && !html.contains("http-equiv=\"refresh")
    );
}

#[test]
fn a_report_needs_a_run_and_a_place() {
    let folder = kept();
    let ran = folder.run("report ffffffff -o report.html");
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("`rehearse runs` lists them"), "{}", ran.stderr);
    let ran = folder.run("report last -o no/such/folder/report.html");
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("cannot be written"), "{}", ran.stderr);
    let empty = Folder::new(&[]);
    let ran = empty.run("report last -o report.html");
    assert_eq!(ran.code, 2, "{}", ran.stderr);
}

#[test]
fn a_file_that_is_too_large_is_told_with_its_true_size() {
    let folder = Folder::new(&[]);
    // Its bytes are nowhere: only its length is.
    fs::File::create(folder.path().join("large.evalset.json")).unwrap().set_len(3 << 30).unwrap();
    shown(
        &folder,
        "import large.evalset.json",
        &expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error: `large.evalset.json`: the file is too large: it has 3221225472 bytes, and at most 1073741824 are read

        hint: split it into several eval sets
    "#]],
    );
}

#[test]
fn an_eval_set_with_python_s_numbers_is_imported_and_says_so() {
    let folder = Folder::new(&[(
        "a.evalset.json",
        r#"{"eval_set_id": "s", "eval_cases": [{"eval_id": "x", "conversation": [{"user_content": {"parts": [{"text": "hi"}]}, "intermediate_data": {"tool_uses": [{"name": "f", "args": {"x": NaN}}]}}]}]}"#,
    )]);
    shown(
        &folder,
        "import a.evalset.json",
        &expect![[r#"
            exit 0
            --- stdout
            a.evalset.json: an EvalSet `s` with 1 case
              x  1 message, 1 tool call
            dropped:
              $.eval_cases[0].conversation[0].intermediate_data.tool_uses[0].args.x: `NaN` is no number in JSON; it is read as null
            --- stderr
        "#]],
    );
}

#[test]
fn the_disk_space_of_what_is_removed_is_given_back() {
    // No letter of it says what the next one is, so that it is long also when it is compressed.
    let letters: Vec<char> = ('A'..='Z').chain('a'..='z').chain('0'..='9').collect();
    let mut chance = 1_u64;
    let mut letter = || {
        chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        letters[usize::try_from(chance >> 33).unwrap() % letters.len()]
    };
    let long: String = (0..3_900_000).map(|_| letter()).collect();
    let folder = Folder::new(&[("a.scenario.yaml", &REFUNDS.replace("Please refund A1", &long))]);
    let ran = folder.run("run . --quiet");
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    // Much of it may still be in the log beside the file.
    let taken = || {
        let files = fs::read_dir(folder.path().join(".rehearsal")).unwrap();
        files.map(|file| file.unwrap().metadata().unwrap().len()).sum::<u64>()
    };
    let full = taken();
    let dry = folder.run("gc --older-than 0s --dry-run");
    assert_eq!(dry.stdout, "would remove 1 run and 1 session\n");
    assert!(taken() > 2 << 20);
    let told = folder.run("gc --older-than 0s");
    assert_eq!((told.code, &*told.stderr), (0, ""));
    let freed = told
        .stdout
        .trim()
        .strip_prefix("removed 1 run and 1 session, ")
        .unwrap_or_else(|| panic!("{}", told.stdout));
    assert!(freed.ends_with(" MiB freed"), "{freed}");
    assert!(taken() < full - (2 << 20), "{} of {full}", taken());
    assert_eq!(folder.run("gc --older-than 0s").stdout, "removed 0 runs and 0 sessions\n");
}

/// A scenario whose model is not there.
const BROKEN: &str = "name: Broken
description: d
environment: {type: local}
agent: {instructions: x}
models: {agent: {script: [{fail: nobody is there}]}}
run: [{input: hi, evaluations: [{type: string_contains, value: hello}]}]
judgment: {strategy: all_pass}
";

#[test]
fn a_session_that_ended_with_an_error_has_failed_and_says_why() {
    let folder = Folder::new(&[("a.scenario.yaml", BROKEN)]);
    assert_eq!(folder.run("run a.scenario.yaml --quiet").code, 1);
    let why = "model: agent `agent`: script:agent answered HTTP 503: nobody is there";
    let session = |folder: &Folder| -> Value {
        let listed: Value = rehearsal_core::json::from_str(&folder.run("sessions --json").stdout).unwrap();
        listed[0].clone()
    };
    let told = session(&folder);
    assert_eq!(
        (&told["status"], &told["last_error"]["type"]),
        (&json!("cancelled"), &json!("model")),
        "{told}"
    );
    let id = told["id"].as_str().unwrap();
    for args in ["sessions".to_owned(), format!("sessions {id}")] {
        let shown = folder.run(&args).stdout;
        assert!(shown.contains("failed") && shown.contains(why), "{args}: {shown}");
        assert!(!shown.contains("cancelled"), "{args}: {shown}");
    }
    // A ledger that comes from elsewhere says the same.
    let other = Folder::new(&[("a.jsonl", &folder.run(&format!("sessions {id} --ledger")).stdout)]);
    assert_eq!(other.run("sessions --import a.jsonl").code, 0);
    assert_eq!(session(&other)["last_error"], told["last_error"]);
    assert!(other.run("sessions").stdout.contains(why));
}
