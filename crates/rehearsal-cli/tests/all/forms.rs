//! Both forms in which runs are kept, in blocks and by the event, as commands show them: there is no difference.

use std::collections::BTreeSet;

use rehearsal_core::{RunResult, SessionId};
use rehearsal_run::KeptCases;
use rehearsal_store::{NewSession, RunQuery, SessionQuery, SessionSource, Store, import_ledger, open};
use serde_json::{Value, json};

use crate::support::Folder;

const DESK: &str = r#"
name: Desk
description: It looks, and says what there is
environment: {type: local}
agent:
  name: desk
  instructions: Look before you answer.
  tools: [{name: look, description: Looks}]
models:
  agent: {script: [{call: look, args: {for: cake}, usage: {input: 7, output: 2}}, "There is ${row.say}."]}
setup: {mocks: [{method: look, response: {cakes: 2}}]}
cases: [{name: one, say: cake}, {name: two, say: bread}]
run:
  - input: Is there cake?
    evaluations:
      - {type: string_contains, value: cake}
      - {type: tool_called, tool: look}
judgment: {strategy: all_pass}
"#;

/// A folder in which a scenario of two cases was run twice over; one of the cases passes.
fn kept() -> Folder {
    let folder = Folder::new(&[("desk.scenario.yaml", DESK)]);
    let ran = folder.run("run desk.scenario.yaml --repeat 2 --jobs 1 --name mine --quiet");
    assert_eq!(ran.code, 1, "{}{}", ran.stdout, ran.stderr);
    folder
}

fn json_of(folder: &Folder, args: &str) -> Value {
    let ran = folder.run(args);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    rehearsal_core::json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}", ran.stdout))
}

/// Keeps the run as versions before 5 did: its results in the run, its sessions by the event.
async fn as_earlier_versions(folder: &Folder) {
    let place = folder.path().join(".rehearsal/rehearsal.db").display().to_string();
    let store = open(&place).await.unwrap();
    let id = store.runs(&RunQuery { limit: 1, ..RunQuery::default() }).await.unwrap().items.remove(0).id;
    let mut run = store.run_frame(&id).await.unwrap().unwrap();
    let (mut results, mut ledgers) = (Vec::new(), Vec::new());
    let mut cases = KeptCases::of(&*store, &run).await.unwrap();
    while let Some(case) = cases.next().await.unwrap() {
        results.push(case.read_result().unwrap());
        ledgers.push(case.sessions);
    }
    store.delete_run(&id).await.unwrap();
    store.put_run(&run).await.unwrap();
    for (result, sessions) in results.iter_mut().zip(ledgers) {
        result.sessions.clear();
        for session in sessions {
            let ledger = session.ledger().unwrap();
            let kept = import_ledger(&*store, &ledger, new_session(&id, &ledger)).await.unwrap();
            result.sessions.push(kept);
        }
    }
    let mut result = RunResult::read(run.result.take().unwrap()).unwrap();
    result.suite.results = results;
    run.result = Some(serde_json::to_value(result).unwrap());
    store.put_run(&run).await.unwrap();
    assert!(store.block(&id, None).await.unwrap().is_none());
    let query = SessionQuery { run: Some(id), ..SessionQuery::default() };
    assert_eq!(sessions(&*store, &query).await.len(), 4);
}

async fn sessions(store: &dyn Store, query: &SessionQuery) -> BTreeSet<SessionId> {
    let page = store.sessions(query).await.unwrap();
    page.items.into_iter().map(|session| session.id).collect()
}

fn new_session(run: &str, ledger: &rehearsal_core::Ledger) -> NewSession {
    let started = ledger.started().unwrap();
    NewSession {
        created_at: ledger.events()[0].at.as_millisecond(),
        description: started.case.as_deref().map(str::to_owned),
        source: SessionSource::Run,
        agent: Some("desk".to_owned()),
        part: ledger.part(),
        run: Some(run.to_owned()),
        meta: json!({}),
    }
}

/// What a run is, without what differs by form.
fn without_ids(run: &Value) -> Value {
    let mut run = run.clone();
    for case in run["result"]["results"].as_array_mut().unwrap() {
        let count = case["sessions"].as_array().unwrap().len();
        case["sessions"] = json!(count);
    }
    let count = run["sessions"].as_array().unwrap().len();
    run["sessions"] = json!(count);
    run
}

/// The printed run, without its sessions.
fn printed(folder: &Folder, args: &str) -> String {
    let ran = folder.run(args);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    ran.stdout.split_once("sessions:").unwrap().0.to_owned()
}

fn scored(folder: &Folder) -> Vec<(Value, Value)> {
    let ran = folder.run("score last --with desk.scenario.yaml --json -");
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    let result: Value = rehearsal_core::json::from_str(&ran.stdout).unwrap();
    let cases = result["results"].as_array().unwrap();
    cases.iter().map(|case| (case["name"].clone(), case["status"].clone())).collect()
}

/// The rows of the tables; nothing where this build writes none, which it says.
fn tables(folder: &Folder) -> Option<Vec<u64>> {
    let ran = folder.run("export last --parquet tables --force --format json");
    if ran.code != 0 {
        assert!(ran.stderr.contains("it has not the feature `parquet`"), "{}", ran.stderr);
        assert!(ran.stderr.contains("hint: build it with `cargo build"), "{}", ran.stderr);
        assert!(!folder.path().join("tables").exists());
        return None;
    }
    let told: Value = rehearsal_core::json::from_str(&ran.stdout).unwrap();
    let tables = told["tables"].as_array().unwrap();
    Some(tables.iter().map(|table| table["rows"].as_u64().unwrap()).collect())
}

#[tokio::test]
async fn a_run_is_shown_scored_and_exported_alike_in_both_forms() {
    let folder = kept();
    let (run, text) = (json_of(&folder, "runs last --json"), printed(&folder, "runs last --verbose"));
    let (scores, rows) = (scored(&folder), tables(&folder));
    assert_eq!(run["result"]["results"].as_array().unwrap().len(), 4);
    assert_eq!(scores.iter().filter(|(_, status)| status == "passed").count(), 2);
    if let Some(rows) = &rows {
        assert_eq!((rows[0], rows[1], rows[3]), (4, 8, 8));
    }

    as_earlier_versions(&folder).await;
    assert_eq!(without_ids(&json_of(&folder, "runs last --json")), without_ids(&run));
    assert_eq!(printed(&folder, "runs last --verbose"), text);
    assert_eq!(scored(&folder), scores);
    assert_eq!(tables(&folder), rows);
    assert_eq!(folder.run("report last -o report.html").code, 0);
}

#[tokio::test]
async fn sessions_are_found_exported_and_removed_alike_in_both_forms() {
    for is_early in [false, true] {
        let folder = kept();
        if is_early {
            as_earlier_versions(&folder).await;
        }
        let found = json_of(&folder, "sessions --search TWO --json");
        assert_eq!(found.as_array().unwrap().len(), 2, "{found}");
        let of_run = json_of(&folder, "sessions --run last --json");
        assert_eq!(of_run.as_array().unwrap().len(), 4);
        let id = found[0]["id"].as_str().unwrap();
        let ledger = folder.run(&format!("sessions {id} --ledger")).stdout;
        assert!(ledger.lines().count() > 8, "{ledger}");
        let made = folder.run(&format!("export {id} --scenario again-{is_early}.scenario.yaml"));
        assert_eq!(made.code, 0, "{}", made.stderr);
        let dry = folder.run("gc --keep 0 --dry-run").stdout;
        let gone = folder.run("gc --keep 0").stdout;
        assert!(dry.contains("1 run") && dry.contains("4 sessions"), "{dry}");
        assert!(gone.contains("1 run") && gone.contains("4 sessions"), "{gone}");
        assert_eq!(json_of(&folder, "sessions --json"), json!([]));
        assert_eq!(json_of(&folder, "runs --json"), json!([]));
    }
}

#[test]
fn what_was_named_is_told() {
    let folder = kept();
    let (run, session) = (
        json_of(&folder, "runs --json")[0]["id"].as_str().unwrap().to_owned(),
        json_of(&folder, "sessions --json")[0]["id"].as_str().unwrap().to_owned(),
    );
    let told = |args: &str, with: &str| {
        let ran = folder.run(args);
        assert_eq!(ran.code, 2, "{}", ran.stdout);
        assert!(ran.stderr.contains(with), "{}", ran.stderr);
    };
    told(&format!("export {session} --parquet t"), &format!("`{}` is a session, and", &session[..8]));
    told(&format!("export {run} --evalset e.json"), &format!("`{}` is a run, and", &run[..8]));
    told("export ffffffff --parquet t", "there is no run `ffffffff`");
    told("export ffffffff --evalset e.json", "there is no session `ffffffff`");
    told("export last --parquet t --server http://127.0.0.1:1", "cannot be used with");
    assert!(!folder.path().join("t").exists());
}
