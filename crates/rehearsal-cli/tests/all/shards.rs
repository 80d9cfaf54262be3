//! Runs that several machines share: `--shard`, `--plan`, `rehearse plan` and `rehearse merge`, as a user runs them.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]
#![expect(clippy::needless_raw_string_hashes, reason = "expect-test writes them")]

use std::fs;

use expect_test::expect;
use serde_json::{Value, json};

use crate::support::{Folder, Ran};

/// A scenario with rows, variants and a mock, of whose cases some fail.
const ORDERS: &str = r#"
name: Looks up an order
description: It looks an order up and says where it is
environment: {type: local}
cases: [{name: early, where: "on its way"}, {name: late, where: lost}, {name: never, where: "in Rome"}]
matrix: {tone: [kind, curt]}
agent: {instructions: "Be ${matrix.tone}.", tools: [{name: look, description: Looks an order up}]}
models: {agent: {script: [{call: look, args: {id: A1}}, "It is ${row.where}."]}}
setup: {mocks: [{method: look, response: {ok: true}}]}
run:
  - input: Where is it?
    evaluations: [{type: string_contains, value: is}, {type: string_contains, value: way}]
judgment: {strategy: all_pass}
"#;

const GREETS: &str = r#"
name: Greets
description: It greets
environment: {type: local}
agent: {instructions: Greet.}
models: {agent: {script: [Hello.]}}
run: [{input: hi, evaluations: [{type: string_contains, value: Hello}]}]
judgment: {strategy: all_pass}
"#;

/// The same name, another file.
fn namesake() -> String {
    GREETS.replace("value: Hello", "value: Bye")
}

fn folder() -> Folder {
    Folder::new(&[
        ("a/orders.scenario.yaml", ORDERS),
        ("a/greets.scenario.yaml", GREETS),
        ("b/greets.scenario.yaml", &namesake()),
    ])
}

const ALL: &str = "run a b --repeat 3 --seed 5";

fn json(folder: &Folder, name: &str) -> Value {
    rehearsal_core::json::from_str(&fs::read_to_string(folder.path().join(name)).unwrap()).unwrap()
}

/// A result without times and ids, and without what says that it was merged.
fn timeless(mut value: Value) -> Value {
    fn walk(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                let is_time = |word: &str| {
                    word.ends_with("_ms") || word.ends_with("_at") || ["timestamp", "micros"].contains(&word)
                };
                let is_id = |word: &str| ["parts", "sessions", "at", "ledgers"].contains(&word);
                fields.retain(|word, _| !is_time(word) && !is_id(word));
                if let Some(Value::String(report)) = fields.get_mut("report") {
                    *report = plain(report);
                }
                fields.values_mut().for_each(walk);
            }
            Value::Array(items) => items.iter_mut().for_each(walk),
            _ => {}
        }
    }
    walk(&mut value);
    value
}

/// A text without times and ids.
fn plain(text: &str) -> String {
    let words = text.split_inclusive(|c: char| c.is_whitespace() || "\"'=".contains(c));
    let word =
        |word: &str| if word.chars().any(|c| c.is_ascii_digit()) { "#".to_owned() } else { word.to_owned() };
    words.map(word).collect()
}

/// Runs each part into a file of its own.
fn parts(folder: &Folder, of: u32, more: &str) -> Vec<Ran> {
    (1..=of)
        .map(|n| folder.run(&format!("{ALL} --shard {n}/{of} --store parts/{n}.db --quiet{more}")))
        .collect()
}

#[test]
fn three_parts_merged_are_one_run() {
    let folder = folder();
    let results = "--events --reports --junit one.xml --json one.json --out one";
    let one = folder.run(&format!("{ALL} {results} --store one.db --verbose"));
    let codes: Vec<i32> = parts(&folder, 3, "").iter().map(|ran| ran.code).collect();
    assert!(codes.iter().all(|code| [0, 1].contains(code)), "{codes:?}");
    for n in 1..=3 {
        assert!(!folder.path().join(format!("parts/{n}.db-wal")).metadata().is_ok_and(|log| log.len() > 0));
    }
    let results = results.replace("one", "all");
    let merged = folder.run(&format!("merge parts {results} --store all.db --verbose"));
    assert_eq!((one.code, merged.code), (1, 1), "{}", merged.stderr);

    let text = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    let (one_result, all_result) = (timeless(json(&folder, "one.json")), timeless(json(&folder, "all.json")));
    assert_eq!(
        rehearsal_core::json::to_string(&one_result).unwrap(),
        rehearsal_core::json::to_string(&all_result).unwrap()
    );
    assert_eq!(one_result["summary"]["total"], 24);
    assert_eq!(plain(&text("one.xml")), plain(&text("all.xml")));
    assert_eq!(plain(&one.stdout), plain(&merged.stdout));
    let ledgers = |folder_name: &str| -> Vec<(String, String)> {
        let entries = fs::read_dir(folder.path().join(folder_name).join("ledgers")).unwrap();
        let mut all: Vec<(String, String)> = entries
            .map(|entry| {
                let path = entry.unwrap().path();
                let lines = fs::read_to_string(&path).unwrap();
                let lines: Vec<String> = lines
                    .lines()
                    .map(|line| timeless(rehearsal_core::json::from_str(line).unwrap()).to_string())
                    .collect();
                (path.file_name().unwrap().display().to_string(), lines.join("\n"))
            })
            .collect();
        all.sort();
        all
    };
    assert_eq!(ledgers("one"), ledgers("all"));
    let plain_result = |name: &str| timeless(json(&folder, &format!("{name}/result.json")));
    assert_eq!(plain_result("one").to_string(), plain_result("all").to_string());

    // And so it is kept, with all that was said.
    let kept = |store: &str| {
        let shown = plain(&folder.run(&format!("runs last --verbose --store {store}")).stdout);
        // Its sessions stand there in the order in which they began.
        let mut lines: Vec<String> = shown.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    assert_eq!(kept("one.db"), kept("all.db"));
    let of_parts = json(&folder, "all.json")["parts"].clone();
    let shards: Vec<&Value> = of_parts.as_array().unwrap().iter().map(|part| &part["shard"]).collect();
    assert_eq!(shards[1], &json!({"index": 2, "of": 3}));
}

#[test]
fn parts_in_one_store_are_merged_there() {
    let folder = folder();
    for n in 1..=2 {
        let ran = folder.run(&format!("{ALL} --shard {n}/2 --store team.db --name ci-7 --quiet"));
        assert!([0, 1].contains(&ran.code), "{}", ran.stderr);
    }
    let listed = folder.run("runs --store team.db");
    assert!(
        listed.stdout.contains("(part 1/2)") && listed.stdout.contains("(part 2/2)"),
        "{}",
        listed.stdout
    );
    let merged = folder.run("merge ci-7 --store team.db --quiet");
    assert_eq!(merged.code, 1, "{}", merged.stderr);
    let runs = folder.run("runs --store team.db --json");
    let runs: Value = rehearsal_core::json::from_str(&runs.stdout).unwrap();
    assert_eq!(runs.as_array().unwrap().len(), 3);
    let named: Vec<&Value> = runs.as_array().unwrap().iter().map(|run| &run["name"]).collect();
    assert_eq!(named, ["ci-7"; 3]);
    // The merged run is no part, so its name goes on meaning the parts; ids name them too.
    assert_eq!(folder.run("merge ci-7 --store team.db --quiet").code, 1);
    let ids: Vec<&str> =
        runs.as_array().unwrap().iter().map(|run| &run["id"].as_str().unwrap()[..8]).collect();
    assert_eq!(folder.run(&format!("merge {} {} --store team.db --quiet", ids[1], ids[2])).code, 2);
}

#[test]
fn the_option_goes_before_the_variable_and_what_is_no_part_is_refused() {
    let folder = Folder::new(&[("greets.scenario.yaml", GREETS)]);
    let run = |args: &str, shard: &str| {
        Ran::of(folder.command(&format!("run greets.scenario.yaml {args}")).env("REHEARSE_SHARD", shard))
    };
    let of = |ran: &Ran| rehearsal_core::json::from_str::<Value>(&ran.stdout).unwrap()["shard"].clone();
    assert_eq!(of(&run("--json -", "2/3")), json!({"index": 2, "of": 3}));
    assert_eq!(of(&run("--json - --shard 1/4", "2/3")), json!({"index": 1, "of": 4}));
    for wrong in ["", "0/3", "4/3", "x", "1", "-1/2"] {
        let ran = run("--json -", wrong);
        assert_eq!(ran.code, 2, "{wrong}: {}", ran.stdout);
        assert!(
            ran.stderr.contains("names no part of a run: write `2/5` for the second of five"),
            "{}",
            ran.stderr
        );
    }
}

#[test]
fn a_part_without_a_case_is_no_failure_and_says_so() {
    let folder = Folder::new(&[("greets.scenario.yaml", GREETS)]);
    let ran: Vec<Ran> = (1..=4)
        .map(|n| folder.run(&format!("run greets.scenario.yaml --shard {n}/4 --store {n}.db --quiet")))
        .collect();
    assert_eq!(ran.iter().map(|ran| ran.code).collect::<Vec<_>>(), [0; 4]);
    let empty: Vec<&Ran> = ran.iter().filter(|ran| ran.stderr.contains("has no case")).collect();
    assert_eq!(empty.len(), 3);
    assert!(empty[0].stderr.contains("part 1/4 has no case: there is nothing to run"), "{}", empty[0].stderr);
    let merged = folder.run("merge 1.db 2.db 3.db 4.db --store all.db");
    assert_eq!(merged.code, 0, "{}", merged.stderr);
    assert!(merged.stdout.contains("1 passed"), "{}", merged.stdout);
}

#[test]
fn what_makes_no_whole_run_is_refused_with_the_remedy() {
    let folder = folder();
    parts(&folder, 3, "");
    let refused = |args: &str| {
        let ran = folder.run(args);
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{args}");
        ran.stderr
            .split_whitespace()
            .map(|word| if is_id(word) { "ID" } else { word })
            .collect::<Vec<_>>()
            .join(" ")
    };
    expect!["error: 1 part of 3 missing: 2/3 hint: name where they are kept, or run them: `rehearse run … --shard 2/3`"].assert_eq(&refused("merge parts/1.db parts/3.db --store all.db"));
    expect!["error: there is no file or folder `parts/4.db` hint: a part is a store file that `rehearse run --shard I/N --store FILE` wrote, or a run of this store"].assert_eq(&refused("merge parts/4.db --store all.db"));
    folder.run("run a --shard 2/3 --repeat 3 --seed 5 --store other.db --quiet");
    expect!["error: run ID in `parts/1.db` and run ID in `other.db` are parts of different runs: their cases, files, models, repeats or seeds differ hint: a part is run from the same files and with the same options as the others; where a store holds parts of several runs, `FILE#RUN` names one of them"].assert_eq(&refused("merge parts/1.db other.db parts/3.db --store all.db"));
    folder.run(&format!("{ALL} --store whole.db --quiet"));
    expect!["error: `whole.db` holds no part of a run hint: `rehearse run --shard I/N --store FILE` keeps a part in a file"].assert_eq(&refused("merge parts/1.db whole.db --store all.db"));
    expect!["error: run ID in `whole.db` is no part of a run: it was run without a shard hint: `rehearse run PATH --shard I/N` runs one part of N"].assert_eq(&refused("merge last --store whole.db"));
    folder.run(&format!("{ALL} --shard 1/3 --no-store --out out --quiet"));
    expect!["error: the folder out holds no store: there is no file that ends in .db hint: what `--out` leaves has no seeds of what was not run; keep the store too: `rehearse run --shard I/N --store part.db`"].assert_eq(&refused("merge out parts/2.db --store all.db"));
    let none = folder.run("runs --store all.db");
    assert_eq!(none.stdout, "", "nothing is kept of what was refused");
}

fn with_no_id(text: &str) -> String {
    text.split_inclusive(' ').map(|word| if is_id(word.trim()) { "RUN " } else { word }).collect()
}

fn is_id(word: &str) -> bool {
    word.len() == 8 && word.chars().all(|c| c.is_ascii_hexdigit())
}

#[test]
fn a_part_that_was_run_twice_counts_once() {
    let folder = folder();
    parts(&folder, 3, "");
    let again = Ran::of(
        folder
            .command(&format!("{ALL} --shard 2/3 --store again.db --quiet"))
            .env("REHEARSE_NODE", "node-b")
            .env("REHEARSE_ATTEMPT", "2"),
    );
    assert!([0, 1].contains(&again.code), "{}", again.stderr);
    let merged = folder.run("merge parts again.db --store all.db --json all.json");
    assert!(merged.stderr.contains("part 2/3 was begun 2 times"), "{}", merged.stderr);
    assert!(merged.stderr.contains("counts, on node-b"), "{}", merged.stderr);
    let part = &json(&folder, "all.json")["parts"][1];
    assert_eq!((&part["attempts"], &part["node"]), (&json!(2), &json!("node-b")));
    let wrong = Ran::of(folder.command(&format!("{ALL} --shard 2/3")).env("REHEARSE_ATTEMPT", "x"));
    assert_eq!(wrong.code, 2);
    assert!(
        wrong.stderr.contains("`REHEARSE_ATTEMPT` is `x`, which is no number from 1"),
        "{}",
        wrong.stderr
    );
}

#[test]
fn a_plan_says_which_part_has_which_case() {
    let folder = folder();
    folder.run(&format!("{ALL} --store one.db --quiet"));
    let planned = folder.run("plan last --shards 2 -o shards.json --store one.db");
    assert_eq!((planned.code, planned.stdout.as_str()), (0, "24 runs of cases in 2 parts: shards.json\n"));
    let plan = json(&folder, "shards.json");
    let greets: Vec<&Value> =
        plan["cases"].as_array().unwrap().iter().filter(|case| case["name"] == "Greets").collect();
    assert_eq!((greets.len(), &greets[1]["namesake"]), (2, &json!(1)));
    for n in 1..=2 {
        let ran =
            folder.run(&format!("{ALL} --shard {n}/2 --plan shards.json --store {n}.db --json {n}.json"));
        assert!([0, 1].contains(&ran.code), "{}", ran.stderr);
        let of_cases =
            plan["cases"].as_array().unwrap().iter().flat_map(|case| case["parts"].as_array().unwrap());
        let planned = of_cases.filter(|part| **part == json!(n)).count();
        assert_eq!(json(&folder, &format!("{n}.json"))["summary"]["total"], planned);
    }
    assert_eq!(folder.run("merge 1.db 2.db --store all.db --json all.json --quiet").code, 1);
    assert_eq!(json(&folder, "all.json")["summary"]["total"], 24);

    // A part that was made in another way does not fit.
    folder.run(&format!("{ALL} --shard 2/2 --store hash.db --quiet"));
    let mixed = folder.run("merge 1.db hash.db --store none.db");
    assert!(mixed.stderr.contains("the cases were split in different ways"), "{}", mixed.stderr);
    let refused = |args: &str| {
        let ran = folder.run(args);
        assert_eq!(ran.code, 2, "{args}");
        ran.stderr
    };
    let told = refused(&format!("{ALL} --shard 1/3 --plan shards.json"));
    expect![[r#"
        error: the plan `shards.json`: it is for 2 parts, and this is part 1/3

        hint: `rehearse plan RUN --shards 3 -o shards.json` writes it from an earlier run
    "#]]
    .assert_eq(&told);
    expect![[r#"
        error: the plan `none.json`: there is no such file

        hint: `rehearse plan RUN --shards 3 -o none.json` writes it from an earlier run
    "#]]
    .assert_eq(&refused(&format!("{ALL} --shard 1/3 --plan none.json")));
    expect![[r#"
        error: run RUN is only part 1/2 of a run

        hint: `rehearse merge` joins the parts into one run, which can be planned from
    "#]]
    .assert_eq(&with_no_id(&refused("plan last --shards 2 -o x.json --store 1.db")));
    assert!(refused(&format!("{ALL} --plan shards.json")).contains("--shard"));
    let new = folder.run("run a b --repeat 4 --seed 5 --shard 1/2 --plan shards.json --no-store --quiet");
    assert!(
        new.stderr.contains("8 are not in it and go by their hash, 0 are no longer there"),
        "{}",
        new.stderr
    );
    fs::write(folder.path().join("c.scenario.yaml"), GREETS.replace("name: Greets", "name: Other")).unwrap();
    let other = refused("run c.scenario.yaml --shard 1/2 --plan shards.json");
    assert!(other.contains("it names none of the cases that are run here"), "{other}");
}

#[test]
fn a_part_leaves_no_file_out() {
    let folder = Folder::new(&[("greets.scenario.yaml", GREETS), ("bad.scenario.yaml", "name: [")]);
    let ran = folder.run("run . --keep-going --shard 1/2");
    assert_eq!(ran.code, 2);
    assert!(
        ran.stderr.contains("a file cannot be used, and a part of a run leaves none out"),
        "{}",
        ran.stderr
    );
}

/// A case whose code tells and waits as long as there is a pipe to tell.
#[cfg(unix)]
const WAITS: &str = r#"
name: Waits
description: Its code waits
environment: {type: local, variables: [TELL]}
run:
  - lang: sh
    code: |
      if [ -p "$TELL" ]; then echo now > "$TELL"; sleep 600; fi
      echo done
    evaluations: [{type: string_contains, value: done}]
judgment: {strategy: all_pass}
"#;

#[cfg(unix)]
#[test]
fn a_part_that_was_killed_is_merged_once_it_has_gone_on() {
    use std::process::{Command, Stdio};

    let folder = Folder::new(&[("1.scenario.yaml", GREETS), ("2.scenario.yaml", WAITS)]);
    let tell = folder.path().join("tell");
    assert!(Command::new("mkfifo").arg(&tell).status().unwrap().success());
    let part = rehearsal_sim::CaseId { name: "Waits", namesake: 0, repeat: 0 }.part(2);
    let other = 3 - part;
    let mut command = folder.command(&format!("run . --store {part}.db --quiet"));
    command
        .env("TELL", &tell)
        .env("REHEARSE_SHARD", format!("{part}/2"))
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    // Opening the pipe waits until somebody writes to it.
    assert_eq!(fs::read_to_string(&tell).unwrap(), "now\n");
    child.kill().unwrap();
    child.wait().unwrap();
    fs::remove_file(&tell).unwrap();
    let with_tell = |args: &str| Ran::of(folder.command(args).env("TELL", &tell));
    assert_eq!(with_tell(&format!("run . --shard {other}/2 --store {other}.db --quiet")).code, 0);

    let cut = folder.run("merge 1.db 2.db --store all.db");
    assert_eq!(cut.code, 2);
    assert!(cut.stderr.contains(&format!("part {part}/2 did not come to its end")), "{}", cut.stderr);
    assert!(cut.stderr.contains("`rehearse run --resume "), "{}", cut.stderr);
    let went_on = with_tell(&format!("run --resume last --store {part}.db"));
    assert_eq!(went_on.code, 0, "{}", went_on.stderr);
    let merged = folder.run("merge 1.db 2.db --store all.db");
    assert_eq!(merged.code, 0, "{}", merged.stderr);
    assert!(merged.stdout.contains("2 scenarios: 2 passed"), "{}", merged.stdout);
}
