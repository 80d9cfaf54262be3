//! What holds of every file and every session.

use proptest::prelude::*;
use rehearsal_adk::*;
use rehearsal_core::{Clock, FixedClock};
use rehearsal_testkit::ledger;
use serde_json::{Value, json};

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_filter_map("finite", |f| f.is_finite().then(|| Value::from(f))),
        ".{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::vec((".{0,4}", inner), 0..3)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

/// JSON made of the words that eval sets are made of, so that reading gets far.
fn nearly_an_eval_set() -> impl Strategy<Value = Value> {
    let key = prop::sample::select(vec![
        "eval_set_id",
        "eval_cases",
        "eval_id",
        "evalId",
        "conversation",
        "conversation_scenario",
        "user_content",
        "userContent",
        "parts",
        "role",
        "text",
        "function_call",
        "functionResponse",
        "name",
        "args",
        "response",
        "data",
        "query",
        "expected_tool_use",
        "tool_name",
        "tool_input",
        "initial_session",
        "state",
        "session_input",
        "app_name",
        "user_id",
        "intermediate_data",
        "invocation_events",
        "author",
        "content",
        "tool_uses",
        "tool_responses",
        "creation_timestamp",
        "rubrics",
        "starting_prompt",
        "conversation_plan",
        "final_session_state",
        "reference",
    ]);
    any_json().prop_recursive(6, 60, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::vec((key.clone(), inner), 0..6).prop_map(|pairs| Value::Object(
                pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
            )),
        ]
    })
}

fn object() -> impl Strategy<Value = Value> {
    prop::collection::vec(("[a-z_éA-Z]{1,6}", any_json()), 0..4)
        .prop_map(|pairs| Value::Object(pairs.into_iter().collect()))
}

/// A session that completes, told in the words of the test kit.
fn told() -> impl Strategy<Value = String> {
    let step = prop_oneof![
        ("[a-z]{1,3}", object()).prop_map(|(tool, args)| format!("call {tool} {args}\n")),
        ("[a-z]{1,3}", object(), any_json())
            .prop_map(|(tool, args, given)| format!("call {tool} {args}\nresult {tool} {given}\n")),
        ("[a-z]{1,3}", object()).prop_map(|(tool, args)| format!("call {tool} {args}\nfail {tool} no\n")),
        "[a-z]{1,8}".prop_map(|text| format!("agent: {text}\n")),
    ];
    let message = ("[a-z ]{1,8}[a-z]", prop::collection::vec(step, 0..4), "[a-z]{1,9}")
        .prop_map(|(said, steps, answer)| format!("user: {said}\n{}agent: {answer}\n", steps.concat()));
    prop::collection::vec(message, 1..4)
        .prop_map(|messages| format!("{}end", messages.concat()))
        .prop_filter("` / ` separates steps", |text| {
            !text.contains(" / ") && !text.contains(['\r', '\u{85}'])
        })
}

proptest! {
    #[test]
    fn reading_never_panics(value in nearly_an_eval_set(), text in ".{0,40}") {
        drop(EvalSet::read(&value.to_string()));
        drop(EvalSet::read(&json!({"eval_set_id": "s", "eval_cases": [value.clone()]}).to_string()));
        let case = json!({"eval_id": "a", "conversation": [value.clone()]});
        drop(EvalSet::read(&json!({"eval_set_id": "s", "eval_cases": [case]}).to_string()));
        drop(EvalSet::read(&json!([value]).to_string()));
        drop(EvalSet::read(&text));
        drop(Criteria::read(&text));
        drop(Criteria::read(&json!({"criteria": value}).to_string()));
    }

    #[test]
    fn what_is_read_and_written_is_read_again(value in nearly_an_eval_set()) {
        let case = json!({"eval_id": "a", "conversation": [{"user_content": {}}], "final_session_state": value});
        if let Ok(imported) = EvalSet::read(&json!({"eval_set_id": "s", "eval_cases": [case]}).to_string()) {
            prop_assert_eq!(EvalSet::read(&imported.set.to_json()).unwrap().set, imported.set);
        }
    }

    #[test]
    fn a_session_exports_reads_back_and_scores_full_against_itself(text in told()) {
        let ledger = ledger(&text);
        let trace = GoldenTrace::from_ledger(&ledger, &TraceOptions::default()).unwrap();
        let set = EvalSet { eval_set_id: "s".into(), eval_cases: vec![trace.case.clone()], ..EvalSet::default() };
        let read = EvalSet::read(&set.to_json()).unwrap();
        prop_assert_eq!(&read.set, &set);
        prop_assert!(read.notes.is_empty());
        let scores = score_ledger(&ledger, &read.set.eval_cases[0], &Criteria::default());
        prop_assert!(scores.values().all(|score| score.score == Some(1.0) && score.passed()), "{:?}", scores);
        let entries = history(&ledger);
        let calls = entries.iter().filter(|entry| matches!(entry, HistoryEntry::ToolCall { .. })).count();
        prop_assert_eq!(calls, ledger.calls().count());
    }

    #[test]
    fn appending_keeps_every_byte(text in told(), tail in any_json(), unit in "[ \t]{0,4}", compact in any::<bool>()) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.evalset.json");
        let case = json!({"eval_id": "x", "conversation": [{"user_content": {"parts": [{"text": "hi"}]}}], "more": tail});
        let line = if compact { String::new() } else { format!("\n{unit}") };
        let head = format!("{{\"zeta\": 1.50,{line}\"eval_cases\":[{line}{case}");
        let rest = format!("{line}],{line}\"eval_set_id\":\"s\"}}{line}");
        std::fs::write(&path, format!("{head}{rest}")).unwrap();
        let trace = GoldenTrace::from_ledger(&ledger(&text), &TraceOptions::default()).unwrap();
        let defaults = EvalSetDefaults::for_agent("a", &path, FixedClock::default().now());
        append_to_file(&path, &defaults, &trace).unwrap();
        let after = std::fs::read_to_string(&path).unwrap();
        prop_assert!(after.starts_with(&head) && after.ends_with(&rest), "{}", after);
        let read = EvalSet::read(&after).unwrap().set;
        prop_assert_eq!(&read.eval_cases[1], &trace.case);
    }
}
