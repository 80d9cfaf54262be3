//! Runs that go on: after kill -9 at any moment, after Ctrl-C, and what did not pass run again.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use rehearsal_run::{Results, read_result};
use rehearsal_store::RunQuery;
use rehearsal_testkit::postgres::Database;
use serde_json::{Value, json};

use crate::support::{Folder, Ran};

/// How many cases a run has that is killed.
const CASES: usize = 48;

/// What a model was asked, by the word of the case, and who is told when it was asked so often.
#[derive(Default)]
struct Asked {
    calls: BTreeMap<String, usize>,
    until: usize,
    tell: Option<Sender<()>>,
    /// Whether calls after these wait until somebody is to be told anew.
    holds: bool,
    /// How often somebody was to be told.
    round: usize,
    /// So many calls are refused first.
    refused: usize,
}

/// A model that answers with the word it is asked about.
struct Model {
    address: SocketAddr,
    heard: Arc<Heard>,
}

/// What a model was asked, and who waits for its answer.
#[derive(Default)]
struct Heard {
    asked: Mutex<Asked>,
    goes_on: Condvar,
}

impl Model {
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let heard = Arc::<Heard>::default();
        let asked = heard.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (stream, heard) = (stream.unwrap(), asked.clone());
                std::thread::spawn(move || while answer(&mut BufReader::new(&stream), &heard).is_some() {});
            }
        });
        Self { address, heard }
    }

    fn refusing(calls: usize) -> Self {
        let model = Self::new();
        model.heard.asked.lock().unwrap().refused = calls;
        model
    }

    /// Is told when the model was asked so often from now on. Where it holds, it gives no answer to later calls.
    fn after(&self, calls: usize, holds: bool) -> Receiver<()> {
        let (tell, told) = channel();
        let mut asked = self.heard.asked.lock().unwrap();
        (asked.until, asked.tell, asked.holds) = (calls, Some(tell), holds);
        asked.round += 1;
        self.heard.goes_on.notify_all();
        told
    }

    /// All that wait get their answers.
    fn go_on(&self) {
        self.heard.asked.lock().unwrap().holds = false;
        self.heard.goes_on.notify_all();
    }

    fn calls(&self) -> BTreeMap<String, usize> {
        self.heard.asked.lock().unwrap().calls.clone()
    }
}

fn answer(stream: &mut BufReader<&TcpStream>, heard: &Heard) -> Option<()> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).ok()?;
    let body = String::from_utf8(body).unwrap();
    let at = body.rfind("word-").unwrap();
    let word: String = body[at..].chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
    let is_refused = {
        let mut asked = heard.asked.lock().unwrap();
        *asked.calls.entry(word.clone()).or_default() += 1;
        let (is_held, round) = (asked.holds && asked.until == 0, asked.round);
        asked.until = asked.until.saturating_sub(1);
        if asked.until == 0
            && let Some(tell) = asked.tell.take()
        {
            tell.send(()).unwrap();
        }
        if is_held {
            let waits = |asked: &mut Asked| asked.holds && asked.round == round;
            asked = heard.goes_on.wait_while(asked, waits).unwrap();
        }
        let is_refused = asked.refused > 0;
        asked.refused -= usize::from(is_refused);
        is_refused
    };
    let message = json!({"role": "assistant", "content": format!("It is {word}.")});
    let answer = json!({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}).to_string();
    let status = if is_refused { "401 Unauthorized" } else { "200 OK" };
    let start = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        answer.len()
    );
    stream.get_mut().write_all((start + &answer).as_bytes()).ok()
}

/// Cases, each of which asks the model for its word; every seventh wants another word than it gets.
fn words(model: &Model, cases: usize) -> Folder {
    let scenario = format!(
        r#"
name: Says
description: Says the word
environment: {{type: local}}
agent: {{instructions: Say the word.}}
models: {{agent: "openai-compatible:m@http://{}/v1"}}
cases: {{csv: rows.csv}}
run:
  - input: "Say ${{row.word}}"
    evaluations: [{{type: string_contains, value: "${{row.wanted}}"}}]
judgment: {{strategy: all_pass}}
"#,
        model.address
    );
    let row = |n: usize| format!("word-{n},{}\n", if n % 7 == 3 { "another" } else { "It is" });
    let rows = "word,wanted\n".to_owned() + &(0..cases).map(row).collect::<String>();
    Folder::new(&[("says.scenario.yaml", &scenario), ("rows.csv", &rows)])
}

/// What a run came to, without its times and ids.
fn plain(mut value: Value) -> Value {
    const OF_THE_MOMENT: [&str; 14] = [
        "started_at",
        "duration_ms",
        "started_at_ms",
        "ended_at_ms",
        "total_duration",
        "duration",
        "timestamp",
        "avg_turn_duration",
        "sessions",
        "room_id",
        "calls",
        "ledgers",
        "events",
        "folder",
    ];
    match &mut value {
        Value::Object(fields) => {
            for name in OF_THE_MOMENT {
                fields.shift_remove(name);
            }
            fields.values_mut().for_each(|field| *field = plain(field.take()));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| *item = plain(item.take())),
        _ => {}
    }
    value
}

fn result_of(ran: &Ran) -> Value {
    rehearsal_core::json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}{}", ran.stdout, ran.stderr))
}

/// The words of the cases of the newest run whose results are kept.
fn kept(place: &str) -> BTreeSet<String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let store = rehearsal_store::open(place).await.unwrap();
        let newest = store.runs(&RunQuery { limit: 1, ..RunQuery::default() }).await.unwrap();
        let id = newest.items[0].id.clone();
        let (mut results, mut found) = (Results::of(&*store, &id), BTreeSet::new());
        loop {
            let some = results.some().await.unwrap();
            if some.is_empty() {
                return found;
            }
            for one in &some {
                let name = read_result(one).unwrap().name;
                let number: usize = name.trim_end_matches(']').rsplit('[').next().unwrap().parse().unwrap();
                assert!(found.insert(format!("word-{}", number - 1)), "{name} is kept twice");
            }
        }
    })
}

struct Chances(u64);

impl Chances {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % end
    }
}

/// Kills a run again and again, lets it go on each time, and compares what it came to with a run that nobody killed.
/// Gives how often it was killed, and how many cases had ended before, all times together.
fn killed(
    model: &Model,
    folder: &Folder,
    place: &str,
    kills: usize,
    chances: &mut Chances,
) -> (usize, usize) {
    let file = if place.contains("://") {
        place.to_owned()
    } else {
        folder.path().join(place).display().to_string()
    };
    let place = file.as_str();
    let store = format!("--store {place} --jobs 4 --quiet");
    let (mut words, mut done, mut spared) = (format!("run says.scenario.yaml {store}"), 0, 0);
    while done < kills {
        let before = model.calls();
        let ended = if done == 0 { BTreeSet::new() } else { kept(place) };
        let left = CASES - ended.len();
        if left < 2 {
            break;
        }
        // Every other time it is killed when all that was answered is kept, else in the middle of whatever it does.
        let (calls, settles) = (1 + chances.below(left - 1), done % 2 == 0);
        let asked = model.after(calls, settles);
        let mut command = folder.command(&words);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let told = asked.recv_timeout(Duration::from_mins(1));
        let settled = !settles || come(|| kept(place).len() == ended.len() + calls);
        child.kill().unwrap();
        assert!(told.is_ok() && settled, "{}", text(child.stderr.take()));
        let is_over = child.wait().unwrap().code().is_some();
        let now = model.calls();
        let again = ended.iter().filter(|word| before.get(*word) != now.get(*word)).collect::<Vec<_>>();
        assert!(again.is_empty(), "{again:?} had ended and were run again");
        assert!(kept(place).is_superset(&ended));
        spared += ended.len();
        done += 1;
        if is_over {
            break;
        }
        words = format!("run --resume last {store}");
    }
    model.go_on();
    let ran = folder.run(&format!("run --resume last {store} --json -"));
    let whole = if ran.code == 2 { None } else { Some(result_of(&ran)) };
    let expected = result_of(&folder.run("run says.scenario.yaml --no-store --quiet --json -"));
    if let Some(whole) = whole {
        assert_eq!(ran.code, 1, "{}", ran.stderr);
        assert_eq!(plain(whole), plain(expected));
    } else {
        assert!(ran.stderr.contains("has come to its end"), "{}", ran.stderr);
    }
    assert_eq!(kept(place).len(), CASES);
    (done, spared)
}

/// Waits until something holds that another process brings about.
fn come(holds: impl Fn() -> bool) -> bool {
    (0..6000).any(|_| {
        let came = holds();
        if !came {
            std::thread::sleep(Duration::from_millis(10));
        }
        came
    })
}

fn text(stream: Option<impl std::io::Read>) -> String {
    let mut text = String::new();
    stream.map(|mut stream| stream.read_to_string(&mut text));
    text
}

#[test]
fn killed_at_a_hundred_moments_a_run_comes_to_what_it_would_have() {
    let mut chances = Chances(15);
    let (mut kills, mut spared) = (0, 0);
    while kills < 100 {
        let model = Model::new();
        let folder = words(&model, CASES);
        let (done, ended) = killed(&model, &folder, "store.db", 5.min(100 - kills), &mut chances);
        (kills, spared) = (kills + done, spared + ended);
    }
    assert!(kills >= 100 && spared > 5 * kills, "{spared} cases had ended before {kills} kills");
}

#[test]
fn killed_with_a_store_in_postgresql_too() {
    let (model, database) = (Model::new(), Database::new());
    let folder = words(&model, CASES);
    let (kills, spared) = killed(&model, &folder, database.address(), 3, &mut Chances(7));
    assert!(spared > kills, "{spared} cases had ended before {kills} kills");
}

/// A case whose code tells and waits as long as there is a pipe to tell.
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
const GREETS: &str = "name: Greets\ndescription: It says hello\nenvironment: {type: local}\nagent: {instructions: Greet.}\nmodels: {agent: {script: [hello]}}\nrun:\n  - input: hi\n    evaluations: [{type: string_contains, value: hello}]\njudgment: {strategy: all_pass}\n";

fn with_pipe(mut command: Command, folder: &Folder) -> Command {
    command.env("TELL", folder.path().join("tell")).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// A run of which one case is over and one waits.
fn waiting() -> (Folder, Child) {
    let folder =
        Folder::new(&[("1.scenario.yaml", GREETS), ("2.scenario.yaml", WAITS), ("3.scenario.yaml", GREETS)]);
    let tell = folder.path().join("tell");
    assert!(Command::new("mkfifo").arg(&tell).status().unwrap().success());
    let child = with_pipe(folder.command("run . --jobs 1 --junit first.xml"), &folder).spawn().unwrap();
    // Opening the pipe waits until somebody writes to it.
    assert_eq!(fs::read_to_string(&tell).unwrap(), "now\n");
    (folder, child)
}

fn go_on(folder: &Folder, words: &str) -> Ran {
    Ran::of(&mut with_pipe(folder.command(format!("run --resume last {words}").trim()), folder))
}

#[test]
fn an_interrupted_run_says_how_it_goes_on_and_does() {
    let (folder, child) = waiting();
    let told = go_on(&folder, "");
    assert_eq!(told.code, 2);
    assert!(told.stderr.contains("still runs, in process"), "{}", told.stderr);
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    let first = Ran::from(child.wait_with_output().unwrap());
    assert_eq!(first.code, 130, "{}", first.stderr);
    let last = first.stderr.lines().last().unwrap();
    assert!(last.starts_with("to go on: rehearse run --resume "), "{last}");
    assert!(first.stdout.contains("1 not counted: 1 infrastructure"), "{}", first.stdout);

    fs::remove_file(folder.path().join("tell")).unwrap();
    let ran = go_on(&folder, "--verbose --out out");
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("3 scenarios: 3 passed"), "{}", ran.stdout);
    // What ended before is told with its transcript, and stands in the files.
    assert_eq!(ran.stdout.matches("agent: hello").count(), 2, "{}", ran.stdout);
    assert_eq!(fs::read_dir(folder.path().join("out/ledgers")).unwrap().count(), 3);
    assert!(fs::read_to_string(folder.path().join("first.xml")).unwrap().contains("tests=\"3\""));
    let kept: Value = rehearsal_core::json::from_str(&folder.run("runs last --json").stdout).unwrap();
    let names: Vec<&Value> =
        kept["result"]["results"].as_array().unwrap().iter().map(|one| &one["status"]).collect();
    assert_eq!(names, ["passed", "passed", "passed"]);
    let over = go_on(&folder, "");
    assert_eq!(over.code, 2);
    assert!(over.stderr.contains("has come to its end"), "{}", over.stderr);
}

#[test]
fn what_is_not_what_it_was_is_not_gone_on_with() {
    let (folder, mut child) = waiting();
    child.kill().unwrap();
    child.wait().unwrap();
    let refused = |words: &str, why: &str| {
        let ran = go_on(&folder, words);
        assert_eq!(ran.code, 2, "{}", ran.stderr);
        assert!(ran.stderr.contains(why), "{}", ran.stderr);
    };
    refused("--seed 7", "`--seed` cannot be given with `--resume`");
    refused("2.scenario.yaml", "`2.scenario.yaml` cannot be given with `--resume`");
    let path = folder.path().join("3.scenario.yaml");
    fs::write(&path, GREETS.replace("hi", "hello")).unwrap();
    refused("", "`3.scenario.yaml`, or something that it names, has changed");
    fs::remove_file(&path).unwrap();
    refused("", "`3.scenario.yaml` is not run any more");
    fs::write(&path, GREETS).unwrap();
    fs::remove_file(folder.path().join("tell")).unwrap();
    let elsewhere = Folder::new(&[]);
    let store = folder.path().join(".rehearsal/rehearsal.db");
    let words = format!("run --resume last --store {} --json result.json", store.display());
    let ran = Ran::of(&mut with_pipe(elsewhere.command(&words), &folder));
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(elsewhere.path().join("result.json").exists());
}

#[test]
fn what_did_not_pass_is_run_again_with_its_seeds() {
    let model = Model::new();
    let folder = words(&model, 14);
    let first = result_of(&folder.run("run . --json - --quiet"));
    let seeds = |result: &Value, all: bool| -> Vec<String> {
        let results = result["results"].as_array().unwrap().iter();
        results.filter(|one| all || one["status"] == "failed").map(|one| one["seed"].to_string()).collect()
    };
    let again = folder.run("run --failed last --json - --quiet");
    assert_eq!(again.code, 1);
    let again = result_of(&again);
    assert_eq!((again["summary"]["total"].as_u64(), again["summary"]["failed"].as_u64()), (Some(2), Some(2)));
    assert_eq!(seeds(&again, true), seeds(&first, false));
    assert_eq!(again["results"][0]["fault"], "agent");
    let none = folder.run("run --failed last --only error");
    assert_eq!(none.code, 2);
    assert!(none.stderr.contains("came to something else"), "{}", none.stderr);
    // What was mended since passes, and so does the whole of what had not.
    let rows = folder.path().join("rows.csv");
    fs::write(&rows, fs::read_to_string(&rows).unwrap().replace("another", "It is")).unwrap();
    let mended = result_of(&folder.run("run --failed last --only failed --json -"));
    assert_eq!(mended["summary"]["passed"], 2);
}

#[test]
fn what_was_not_the_agents_doing_leaves_the_rate_and_is_run_again_where_valid_runs_are_wanted() {
    let model = Model::refusing(1);
    let folder = words(&model, 1);
    let ran = folder.run("run . --junit junit.xml");
    assert_eq!(ran.code, 1);
    assert!(ran.stdout.contains("not counted: infrastructure"), "{}", ran.stdout);
    assert!(
        ran.stdout.contains("1 not counted: 1 infrastructure; nothing is left to judge"),
        "{}",
        ran.stdout
    );
    let junit = fs::read_to_string(folder.path().join("junit.xml")).unwrap();
    assert!(junit.contains(r#"<property name="fault" value="infrastructure"/>"#), "{junit}");

    model.heard.asked.lock().unwrap().refused = 2;
    let ran = folder.run("run . --valid 2 --json - --jobs 1");
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let summary = &result_of(&ran)["summary"];
    assert_eq!(
        *summary,
        json!({"total": 4, "passed": 2, "failed": 0, "errors": 2, "terminated": 0, "unjudged": 0,
        "not_run": 0, "invalid": 2, "replaced": 2, "faults": {"infrastructure": 2}})
    );

    model.heard.asked.lock().unwrap().refused = 99;
    let ran = folder.run("run . --valid 2 --valid-tries 3");
    assert_eq!(ran.code, 1);
    assert!(ran.stdout.contains("only 0 of 2 runs were valid when all tries were taken"), "{}", ran.stdout);
    assert!(ran.stdout.contains("3 runs: 0 passed, 3 with an error"), "{}", ran.stdout);
}
