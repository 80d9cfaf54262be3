//! `EvalSet` files on disk.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::fs;
use std::path::Path;
use std::process::Command;

use rehearsal_adk::*;
use rehearsal_core::{Clock, FixedClock, Ledger};
use rehearsal_testkit::ledger;
use tempfile::TempDir;

fn session() -> Ledger {
    ledger(r#"user: 2+2? / call add {"a": 2, "b": 2} / result add 4 / agent: It is 4 / end"#)
}

fn golden() -> GoldenTrace {
    GoldenTrace::from_ledger(&session(), &TraceOptions { colons: false, ..TraceOptions::default() }).unwrap()
}

fn append(path: &Path) -> Result<Written, AppendError> {
    let defaults = EvalSetDefaults::for_agent("Math Agent", path, FixedClock::default().now());
    append_to_file(path, &defaults, &golden())
}

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_new_file_is_an_eval_set_of_the_agent() {
    let folder = folder();
    let path = folder.path().join("made/for it/math__agent.evalset.json");
    let written = append(&path).unwrap();
    assert_eq!((written.cases, written.is_new, &*written.eval_id), (1, true, "agent_2026-01-01T12-00-00"));
    assert_eq!(written.hints, [""; 0]);
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.starts_with("{\n  \"eval_set_id\": \"math__agent_evals\",\n  \"name\": \"Math Agent\",\n  \"eval_cases\": [\n    {\n"), "{text}");
    assert!(text.ends_with("\n  ],\n  \"creation_timestamp\": 1767268800.0\n}"), "{text}");
    assert_eq!(EvalSet::read(&text).unwrap().set.to_json(), text);
    assert_eq!(names(path.parent().unwrap()), ["math__agent.evalset.json"]);
}

/// What an export left that was ended in the middle goes with the next one.
#[test]
fn nothing_stays_beside_the_file() {
    let folder = folder();
    fs::write(folder.path().join(".rehearsal-a1B2c3.tmp"), "{").unwrap();
    let path = folder.path().join("a.evalset.json");
    for cases in 1..=2 {
        assert_eq!(append(&path).unwrap().cases, cases);
        assert_eq!(names(folder.path()), ["a.evalset.json"]);
    }
}

/// Who exports a session twice has it once, and hears so.
#[test]
fn a_repeat_is_recognised() {
    let folder = folder();
    let path = folder.path().join("a.evalset.json");
    let defaults = EvalSetDefaults::for_agent("a", &path, FixedClock::default().now());
    let trace = |colons| {
        GoldenTrace::from_ledger(&session(), &TraceOptions { colons, ..TraceOptions::default() }).unwrap()
    };
    let first = append_once_to_file(&path, &defaults, &trace(false)).unwrap();
    let before = fs::read_to_string(&path).unwrap();
    let second = append_once_to_file(&path, &defaults, &trace(true)).unwrap();
    assert_eq!((first.repeated, second.repeated), (false, true));
    assert_eq!((second.eval_id, second.cases, second.is_new), (first.eval_id, 1, false));
    assert_eq!(fs::read_to_string(&path).unwrap(), before);
    let mut other = trace(false);
    if let rehearsal_adk::Conversation::Static(invocations) = &mut other.case.conversation {
        invocations[0].invocation_id = "s-2_inv_0".to_owned();
    }
    assert!(!append_once_to_file(&path, &defaults, &other).unwrap().repeated);
    assert_eq!((ids(&path).len(), names(folder.path())), (2, vec!["a.evalset.json".to_owned()]));
}

/// `adk eval agent one.evalset.json two.evalset.json` runs no two eval sets of one id.
#[test]
fn two_files_of_one_agent_are_two_eval_sets() {
    let folder = folder();
    let id = |name: &str| {
        let path = folder.path().join(name);
        append(&path).unwrap();
        EvalSet::read(&fs::read_to_string(&path).unwrap()).unwrap().set.eval_set_id
    };
    assert_eq!(id("one.evalset.json"), "math__agent_one_evals");
    assert_eq!(id("two.evalset.json"), "math__agent_two_evals");
}

#[test]
fn appending_to_what_was_written_gives_what_adk_would_write() {
    let folder = folder();
    let path = folder.path().join("a.evalset.json");
    let ids: Vec<String> = (0..3).map(|_| append(&path).unwrap().eval_id).collect();
    assert_eq!(
        ids,
        ["agent_2026-01-01T12-00-00", "agent_2026-01-01T12-00-00_2", "agent_2026-01-01T12-00-00_3"]
    );
    let text = fs::read_to_string(&path).unwrap();
    let read = EvalSet::read(&text).unwrap();
    assert_eq!(read.set.eval_cases.len(), 3);
    assert_eq!(read.set.to_json(), text);
}

#[test]
fn everything_that_was_in_the_file_stays_byte_for_byte() {
    let folder = folder();
    let path = folder.path().join("a.evalset.json");
    let before = "{ \"zeta\": 12345678901234567890.10,\"eval_set_id\":\"mine\",\n \"eval_cases\": [\n  {\"eval_id\":\"x\", \"odd\": 1E2, \"conversation\":[{\"user_content\":{\"parts\":[{\"text\":\"\\u00e9\"}]}}]}\n ],\n\t\"tail\": {\"b\":1,\"a\":2}}\n\n";
    fs::write(&path, before).unwrap();
    let written = append(&path).unwrap();
    assert_eq!((written.cases, written.is_new), (2, false));
    let after = fs::read_to_string(&path).unwrap();
    let cut = before.find("\n ],").unwrap();
    assert!(after.starts_with(&before[..cut]), "{after}");
    assert!(after.ends_with(&before[cut..]), "{after}");
}

/// What Python writes for numbers that JSON has no word for is ADK's to read, and ours to keep.
#[test]
fn numbers_that_json_has_no_word_for_stay_as_they_are() {
    let folder = folder();
    let path = folder.path().join("a.evalset.json");
    let case = r#"{"eval_id": "x", "conversation": [{"user_content": {"parts": [{"text": "NaN"}]}, "intermediate_data": {"tool_uses": [{"name": "f", "args": {"x": NaN, "y": [-Infinity]}}]}}]}"#;
    let before = format!("{{\"eval_set_id\": \"s\", \"eval_cases\": [{case}], \"odd\": Infinity}}");
    fs::write(&path, &before).unwrap();
    assert_eq!(append(&path).unwrap().cases, 2);
    let after = fs::read_to_string(&path).unwrap();
    let cut = before.len() - "], \"odd\": Infinity}".len();
    assert!(after.starts_with(&before[..cut]) && after.ends_with(&before[cut..]), "{after}");
    assert_eq!(append(&path).unwrap().cases, 3);
}

/// What the exporter has written, it can also add to, and it can be imported.
#[test]
fn a_large_file_takes_more_cases() {
    let folder = folder();
    let path = folder.path().join("a.evalset.json");
    append(&path).unwrap();
    let small = fs::read_to_string(&path).unwrap();
    let large = small.replacen("It is 4", &"large ".repeat(11 << 20), 1);
    assert!(large.len() > 64 << 20);
    fs::write(&path, large).unwrap();
    assert_eq!(append(&path).unwrap().cases, 2);
    assert_eq!(ids(&path).len(), 2);
}

#[test]
fn a_set_that_adk_just_made_takes_its_first_case() {
    let folder = folder();
    let path = folder.path().join("a.evalset.json");
    fs::write(&path, "{\n  \"eval_set_id\": \"mine\",\n  \"name\": \"mine\",\n  \"eval_cases\": [],\n  \"creation_timestamp\": 1.5\n}").unwrap();
    append(&path).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    assert_eq!(EvalSet::read(&text).unwrap().set.to_json(), text);
}

#[test]
fn files_that_are_no_eval_set_are_refused_and_left_alone() {
    let cases = [
        ("", "is not an EvalSet"),
        ("{", "is not an EvalSet"),
        ("{}", "is not an EvalSet"),
        (r#"{"eval_id": "a", "conversation": []}"#, "is not an EvalSet"),
        ("\u{feff}{\"eval_set_id\": \"s\", \"eval_cases\": []}", "is not an EvalSet"),
        (r#"[{"name": "a", "data": []}]"#, "older list format"),
        (r#"[{"query": "a"}]"#, "older list format"),
        (r#"{"eval_set_id": "s", "eval_cases": [], "eval_cases": []}"#, "twice"),
        (r#"{"eval_set_id": "s", "eval_cases": [{"eval_id": 1}]}"#, "is not an EvalSet"),
    ];
    for (text, words) in cases {
        let folder = folder();
        let path = folder.path().join("a.evalset.json");
        fs::write(&path, text).unwrap();
        let error = append(&path).unwrap_err();
        assert!(error.to_string().contains(words), "{text}: {error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
        assert_eq!(names(folder.path()), ["a.evalset.json"]);
    }
    let folder = folder();
    assert!(matches!(append(folder.path()), Err(AppendError::Read { .. })));
}

#[test]
fn colons_are_hinted_at() {
    let folder = folder();
    let trace = GoldenTrace::from_ledger(&session(), &TraceOptions::default()).unwrap();
    let path = folder.path().join("a.evalset.json");
    let defaults = EvalSetDefaults::for_agent("a", &path, FixedClock::default().now());
    let written = append_to_file(&path, &defaults, &trace).unwrap();
    assert_eq!(written.hints.len(), 1, "{:?}", written.hints);
    assert!(written.hints[0].contains("colons"), "{:?}", written.hints);
}

#[cfg(unix)]
#[test]
fn permissions_and_links_stay() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    let folder = folder();
    let real = folder.path().join("real/a.evalset.json");
    fs::create_dir(folder.path().join("real")).unwrap();
    let link = folder.path().join("link.evalset.json");
    symlink("real/a.evalset.json", &link).unwrap();
    assert!(append(&link).unwrap().is_new);
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
    assert_eq!(append(&link).unwrap().cases, 2);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);

    fs::set_permissions(&real, fs::Permissions::from_mode(0o440)).unwrap();
    assert!(matches!(append(&link), Err(AppendError::Protected { .. })));
    assert_eq!(EvalSet::read(&fs::read_to_string(&real).unwrap()).unwrap().set.eval_cases.len(), 2);

    let circle = folder.path().join("circle");
    symlink("circle", &circle).unwrap();
    assert!(matches!(append(&circle), Err(AppendError::Links { .. })));
}

fn ids(path: &Path) -> Vec<String> {
    let set = EvalSet::read(&fs::read_to_string(path).unwrap()).unwrap().set;
    set.eval_cases.into_iter().map(|case| case.eval_id).collect()
}

#[test]
fn exports_of_many_threads_all_land() {
    let folder = folder();
    let path = folder.path().join("a.evalset.json");
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| (0..5).for_each(|_| drop(append(&path).unwrap())));
        }
    });
    let ids: std::collections::BTreeSet<String> = ids(&path).into_iter().collect();
    assert_eq!(ids.len(), 40);
}

const EXPORT_TO: &str = "REHEARSAL_ADK_TEST_EXPORT_TO";

/// The part that the processes of the next test play; by itself it has nothing to do.
#[test]
fn export_as_told_by_the_environment() {
    if let Some(path) = std::env::var_os(EXPORT_TO) {
        (0..5).for_each(|_| drop(append(Path::new(&path)).unwrap()));
    }
}

#[test]
fn exports_of_several_processes_all_land() {
    let folder = folder();
    let path = folder.path().join("a.evalset.json");
    let start = || {
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "append::export_as_told_by_the_environment"])
            .env(EXPORT_TO, &path)
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap()
    };
    let processes: Vec<_> = (0..4).map(|_| start()).collect();
    for mut process in processes {
        assert!(process.wait().unwrap().success());
    }
    let ids: std::collections::BTreeSet<String> = ids(&path).into_iter().collect();
    assert_eq!(ids.len(), 20);
}
