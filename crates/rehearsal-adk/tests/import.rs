//! What files become.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use rehearsal_adk::*;
use rehearsal_core::Content;
use rehearsal_metrics::{AdkArgs, AdkMatch};
use serde_json::{Value, json};

fn read(value: &Value) -> Imported {
    EvalSet::read(&value.to_string()).unwrap()
}

fn notes(imported: &Imported) -> Vec<&str> {
    imported.notes.iter().map(|note| &*note.path).collect()
}

fn error(value: &Value) -> String {
    EvalSet::read(&value.to_string()).unwrap_err().to_string()
}

fn one(case: &Value) -> Value {
    json!({"eval_set_id": "s", "eval_cases": [case]})
}

fn said(invocation: &Value) -> Value {
    one(&json!({"eval_id": "a", "conversation": [invocation]}))
}

#[test]
fn snake_and_camel_case_events_and_lists_are_one_and_the_same() {
    let snake = one(&json!({
        "eval_id": "a",
        "conversation": [{
            "invocation_id": "i",
            "user_content": {"parts": [{"text": "hi"}], "role": "user"},
            "final_response": {"parts": [{"text": "ho"}], "role": "model"},
            "intermediate_data": {
                "tool_uses": [{"id": "1", "name": "f", "args": {"camelKey": 1, "snake_key": 2}}],
                "tool_responses": [{"id": "1", "name": "f", "response": {"result": 3}}],
            },
            "creation_timestamp": 1.5,
        }],
        "session_input": {"app_name": "app", "user_id": "u", "state": {"someKey": 1}},
        "creation_timestamp": 2,
        "final_session_state": {"done": true},
    }));
    let camel = one(&json!({
        "evalId": "a",
        "conversation": [{
            "invocationId": "i",
            "userContent": {"parts": [{"text": "hi"}], "role": "user"},
            "finalResponse": {"parts": [{"text": "ho"}], "role": "model"},
            "intermediateData": {"invocationEvents": [
                {"author": "m", "content": {"parts": [{"functionCall": {"id": "1", "name": "f", "args": {"camelKey": 1, "snake_key": 2}}}]}},
                {"author": "m", "content": {"parts": [{"functionResponse": {"id": "1", "name": "f", "response": {"result": 3}}}]}},
                {"author": "m", "content": null},
            ]},
            "creationTimestamp": "1.5",
        }],
        "sessionInput": {"appName": "app", "userId": "u", "state": {"someKey": 1}},
        "creationTimestamp": 2.0,
        "finalSessionState": {"done": true},
    }));
    let (snake, camel) = (read(&snake), read(&camel));
    assert_eq!(snake.set, camel.set);
    assert_eq!((snake.dialect, snake.notes.len(), camel.notes.len()), (Dialect::EvalSet, 0, 0));
    let again = EvalSet::read(&snake.set.to_json()).unwrap();
    assert_eq!(again.set, snake.set);
}

#[test]
fn everything_that_is_not_honoured_is_named() {
    let imported = read(&json!({
        "eval_set_id": "s",
        "creationTimestamp": 1.0,
        "eval_cases": [{
            "eval_id": "a",
            "rubrics": [{"rubric_id": "r", "rubric_content": {}}],
            "odd key": 1,
            "conversation": [{
                "user_content": {"parts": [{"text": "hi", "speech_metadata": {"speaker": "x"}}]},
                "intermediate_data": {"tool_uses": [{"name": "f", "will_continue": true}], "intermediate_responses": [["m", []]]},
                "duration": 1.5, "model_duration": null, "toolDuration": 2,
                "rubrics": [],
                "app_details": {"agent_details": {"m": {"name": "m"}}},
            }, {
                "user_content": {},
                "intermediate_data": {"invocation_events": [{
                    "author": "m", "content": {"parts": [{"text": "hm"}]}, "usage_metadata": {"promptTokenCount": 1}, "model_version": "g",
                    "toolUseIndex": 1,
                }]},
            }],
            "session_input": {"app_name": "", "user_id": "", "session_id": "x", "more": 1},
        }],
    }));
    assert_eq!(
        notes(&imported),
        [
            "$.eval_cases[0].conversation[0].user_content.parts[0].speech_metadata",
            "$.eval_cases[0].conversation[0].intermediate_data.tool_uses[0].will_continue",
            "$.eval_cases[0].conversation[0].intermediate_data.intermediate_responses",
            "$.eval_cases[0].conversation[0].duration",
            "$.eval_cases[0].conversation[0].toolDuration",
            "$.eval_cases[0].conversation[0].app_details",
            "$.eval_cases[0].conversation[1].intermediate_data.invocation_events[0].content",
            "$.eval_cases[0].conversation[1].intermediate_data.invocation_events[0].usage_metadata",
            "$.eval_cases[0].conversation[1].intermediate_data.invocation_events[0].model_version",
            "$.eval_cases[0].conversation[1].intermediate_data.invocation_events[0].toolUseIndex",
            "$.eval_cases[0].session_input.session_id",
            "$.eval_cases[0].session_input.more",
            "$.eval_cases[0].rubrics",
            "$.eval_cases[0][\"odd key\"]",
            "$.creationTimestamp",
        ]
    );
    // All of it is kept, but what ADK drops too.
    let dropped: Vec<&str> =
        imported.notes.iter().filter(|note| note.is_dropped).map(|note| &*note.path).collect();
    assert_eq!(
        dropped,
        [
            "$.eval_cases[0].conversation[1].intermediate_data.invocation_events[0].toolUseIndex",
            "$.creationTimestamp"
        ]
    );
    let written = EvalSet::read(&imported.to_json()).unwrap();
    assert_eq!(written.set, imported.set);
    assert_eq!(written.notes.len(), imported.notes.len() - dropped.len());
}

#[test]
fn scenarios_are_read() {
    let imported = read(&one(&json!({"eval_id": "a", "conversation_scenario": {
        "starting_prompt": "hi", "conversationPlan": "book", "user_persona": "NOVICE",
    }})));
    let expected = ConversationScenario {
        starting_prompt: "hi".into(),
        conversation_plan: "book".into(),
        user_persona: Some("NOVICE".into()),
    };
    assert_eq!(imported.set.eval_cases[0].conversation, Conversation::Scenario(expected));
    assert!(notes(&imported).is_empty());
    assert_eq!(EvalSet::read(&imported.set.to_json()).unwrap().set, imported.set);
}

#[test]
fn the_older_list_of_cases_is_read() {
    let imported = read(&json!([
        {"name": "dice", "data": [
            {"query": "roll", "expected_tool_use": [{"tool_name": "roll_die", "tool_input": {"sides": 17}, "mock_tool_output": 3}],
             "expected_intermediate_agent_responses": [{"author": "m", "text": "rolling"}], "reference": "13"},
            {"query": "thanks"},
        ], "initial_session": {"state": {"user:a": 1}, "app_name": "hello", "user_id": "u", "id": 7}, "other": 1},
        {"name": "none", "data": [], "initial_session": {}},
    ]));
    assert_eq!(imported.dialect, Dialect::LegacyCases);
    assert_eq!(
        serde_json::to_value(&imported.set).unwrap(),
        json!({"eval_set_id": "eval_set", "name": "eval_set", "eval_cases": [
            {"eval_id": "dice", "conversation": [
                {"user_content": {"parts": [{"text": "roll"}], "role": "user"},
                 "final_response": {"parts": [{"text": "13"}], "role": "model"},
                 "intermediate_data": {"tool_uses": [{"args": {"sides": 17}, "name": "roll_die"}]}},
                {"user_content": {"parts": [{"text": "thanks"}], "role": "user"},
                 "final_response": {"parts": [{"text": ""}], "role": "model"},
                 "intermediate_data": {}},
            ], "session_input": {"app_name": "hello", "user_id": "u", "state": {"user:a": 1}}},
            {"eval_id": "none", "conversation": []},
        ]})
    );
    assert_eq!(
        notes(&imported),
        [
            "$[0].data[0].expected_tool_use[0].mock_tool_output",
            "$[0].data[0].expected_intermediate_agent_responses",
            "$[0].initial_session.id",
            "$[0].other",
        ]
    );
}

#[test]
fn the_oldest_list_of_queries_is_one_case() {
    let text = r#"[{"query": "a", "reference": "b"}, {"query": "c", "expected_tool_use": []}]"#;
    let imported = EvalSet::read_named(text, "home.test").unwrap();
    assert_eq!(imported.dialect, Dialect::LegacyQueries);
    let [case] = &imported.set.eval_cases[..] else { panic!("one case") };
    assert_eq!((&*imported.set.eval_set_id, &*case.eval_id), ("home.test", "home.test"));
    let said: Vec<&Content> =
        case.invocations().unwrap().iter().map(|invocation| &invocation.user_content).collect();
    assert_eq!(said, [&Content::user("a"), &Content::user("c")]);
}

#[test]
fn errors_say_where_and_what_to_do() {
    for (file, path, words) in [
        (json!(7), "$: ", "expected an object, found a number"),
        (json!({}), "$: ", "`eval_set_id` is missing"),
        (json!({"evalSetId": "s", "eval_cases": []}), "$.evalSetId: ", "rename it to `eval_set_id`"),
        (json!({"eval_set_id": "s", "evalCases": []}), "$.evalCases: ", "rename it to `eval_cases`"),
        (json!({"eval_id": "a", "conversation": []}), "$: ", "put it into a set"),
        (json!({"eval_set_id": "s", "eval_cases": {}}), "$.eval_cases: ", "expected a list"),
        (
            json!({"eval_set_id": "s", "eval_cases": [], "creation_timestamp": null}),
            "$.creation_timestamp: ",
            "seconds",
        ),
        (
            json!({"eval_set_id": "s", "eval_cases": [], "creation_timestamp": "2025-01-01"}),
            "$.creation_timestamp: ",
            "seconds",
        ),
        (one(&json!({"eval_id": 7, "conversation": []})), "$.eval_cases[0].eval_id: ", "expected a text"),
        (one(&json!({"eval_id": "a"})), "$.eval_cases[0]: ", "neither"),
        (
            one(&json!({"eval_id": "a", "evalId": "a", "conversation": []})),
            "$.eval_cases[0].eval_id: ",
            "keep one",
        ),
        (
            one(
                &json!({"eval_id": "a", "conversation": [], "conversation_scenario": {"starting_prompt": "", "conversation_plan": ""}}),
            ),
            "$.eval_cases[0]: ",
            "both",
        ),
        (
            one(&json!({"eval_id": "a", "conversation": [], "session_input": {"app_name": ""}})),
            "$.eval_cases[0].session_input: ",
            "`user_id` is missing",
        ),
        (said(&json!({})), "$.eval_cases[0].conversation[0]: ", "`user_content` is missing"),
        (
            said(&json!({"user_content": {"parts": ["hi"]}})),
            "$.eval_cases[0].conversation[0].user_content.parts[0]: ",
            "expected an object",
        ),
        (
            said(&json!({"user_content": {"parts": [{"text": 1}]}})),
            "$.eval_cases[0].conversation[0].user_content.parts[0].text: ",
            "expected a text, found a number",
        ),
        (
            said(&json!({"user_content": {}, "intermediate_data": {"tool_uses": null}})),
            "$.eval_cases[0].conversation[0].intermediate_data.tool_uses: ",
            "expected a list, found null",
        ),
        (
            said(
                &json!({"user_content": {}, "intermediate_data": {"tool_uses": [{"name": "f", "args": "{}"}]}}),
            ),
            "$.eval_cases[0].conversation[0].intermediate_data.tool_uses[0].args: ",
            "write the arguments as an object",
        ),
        (
            said(
                &json!({"user_content": {}, "intermediate_data": {"tool_responses": [{"name": "f", "response": [1]}]}}),
            ),
            "$.eval_cases[0].conversation[0].intermediate_data.tool_responses[0].response: ",
            "wrap other values",
        ),
        (
            said(
                &json!({"user_content": {}, "intermediate_data": {"tool_uses": [], "invocation_events": []}}),
            ),
            "$.eval_cases[0].conversation[0].intermediate_data: ",
            "keep either",
        ),
        (
            said(&json!({"user_content": {}, "intermediate_data": {"invocation_events": [{}]}})),
            "$.eval_cases[0].conversation[0].intermediate_data.invocation_events[0]: ",
            "`author` is missing",
        ),
        (
            json!({"eval_set_id": "s", "eval_cases": [{"eval_id": "a", "conversation": []}, {"eval_id": "a", "conversation": []}]}),
            "$.eval_cases[1].eval_id: ",
            "an id of its own",
        ),
        (json!([]), "$: ", "empty list"),
        (json!([1]), "$[0]: ", "expected an object"),
        (json!([{}]), "$[0]: ", "neither `data` nor `query`"),
        (json!([{"query": "a"}, {"data": []}]), "$[1]: ", "`query` is missing"),
        (
            json!([{"query": "a", "expected_tool_use": [{"tool_name": "f"}]}]),
            "$[0].expected_tool_use[0]: ",
            "`tool_input` is missing",
        ),
        (json!([{"name": "a", "data": []}, {"name": "a", "data": []}]), "$[1].name: ", "an id of its own"),
    ] {
        let error = error(&file);
        assert!(error.starts_with(path) && error.contains(words), "{file}\n{error}");
        assert!(error.contains("\n\nhint: "), "{error}");
    }
}

#[test]
fn what_is_not_json_is_refused_with_its_place() {
    let refuse = |text: &str| EvalSet::read(text).unwrap_err().to_string();
    assert!(refuse("{\n  \"a\": 1,\n}").starts_with("line 3, column 1: not JSON"));
    assert!(refuse("\u{feff}{}").contains("byte order mark"));
    assert!(refuse(r#"{"a": "\ud800"}"#).contains("not JSON"));
    assert!(refuse(r#"{"a": nan}"#).contains("line 1, column 8"));
    assert!(refuse(&"[".repeat(100_000)).contains("recursion limit"));
    let long = String::from_utf8(vec![0; MAX_BYTES + 2]).unwrap();
    assert_eq!(EvalSet::read(&long).unwrap_err(), ImportError::TooLarge { bytes: MAX_BYTES as u64 + 2 });
}

#[test]
fn criteria_are_those_of_adk() {
    let read = |value: Value| Criteria::read(&json!({"criteria": value}).to_string());
    let trajectory = |threshold, match_type, args| Criterion::ToolTrajectory { threshold, match_type, args };
    let plain = read(json!({TOOL_TRAJECTORY: 1, RESPONSE_MATCH: 0.8})).unwrap();
    assert_eq!(plain, Criteria::default());
    for (value, expected) in [
        (json!({"threshold": 0.5}), trajectory(0.5, AdkMatch::Exact, AdkArgs::Compare)),
        (
            json!({"threshold": 0.5, "match_type": "in-order "}),
            trajectory(0.5, AdkMatch::InOrder, AdkArgs::Compare),
        ),
        (
            json!({"threshold": 0.5, "matchType": 2, "ignoreArgs": true}),
            trajectory(0.5, AdkMatch::AnyOrder, AdkArgs::Ignore),
        ),
    ] {
        assert_eq!(read(json!({TOOL_TRAJECTORY: value})).unwrap().criteria, [expected]);
    }
    let noted = Criteria::read(
        &json!({"criteria": {RESPONSE_MATCH: {"threshold": 0, "judge": 1}}, "user_simulator_config": {}})
            .to_string(),
    );
    let paths: Vec<String> = noted.unwrap().notes.into_iter().map(|note| note.path).collect();
    assert_eq!(
        paths,
        [
            "$.criteria.response_match_score.threshold",
            "$.criteria.response_match_score.judge",
            "$.user_simulator_config"
        ]
    );
}

#[test]
fn criteria_that_cannot_be_honoured_are_refused() {
    for (config, words) in [
        (json!({}), "no criteria"),
        (json!({"criteria": {}}), "no criteria"),
        (
            json!({"criteria": {RESPONSE_MATCH: 0.8, "politeness": 1.0}}),
            "$.criteria.politeness: this metric is not known",
        ),
        (json!({"criteria": {"safety_v1": 0.8}}), "needs Vertex AI"),
        (json!({"criteria": {"final_response_match_v2": {"threshold": 0.8}}}), "needs ADK's judge"),
        (json!({"criteria": {"token_usage_v1": 1}}), "only informs"),
        (json!({"criteria": {RESPONSE_MATCH: 1}, "customMetrics": {RESPONSE_MATCH: {}}}), "Python code"),
        (json!({"criteria": {RESPONSE_MATCH: "0.8"}}), "expected a number or an object"),
        (
            json!({"criteria": {RESPONSE_MATCH: {}}}),
            "$.criteria.response_match_score.threshold: expected a number",
        ),
        (json!({"criteria": {TOOL_TRAJECTORY: {"threshold": 1, "match_type": "FUZZY"}}}), "IN_ORDER"),
        (json!({"criteria": {TOOL_TRAJECTORY: {"threshold": 1, "ignore_args": 1}}}), "true or false"),
        (json!({"criteria": 1}), "expected an object"),
        (json!([]), "expected an object"),
    ] {
        let error = Criteria::read(&config.to_string()).unwrap_err().to_string();
        assert!(error.contains(words), "{config}\n{error}");
    }
}

/// Python's `json` writes such numbers, and ADK reads them.
#[test]
fn numbers_that_json_has_no_word_for_are_read_as_null_and_named() {
    let file = said(&json!({
        "user_content": {"parts": [{"text": "NaN?"}]},
        "intermediate_data": {"tool_uses": [{"name": "f", "args": {"x": "HERE", "y": [1, "THERE"]}}]},
    }));
    let text = file.to_string().replace("\"HERE\"", "NaN").replace("\"THERE\"", "-Infinity");
    let read = EvalSet::read(&text).unwrap();
    let args = &read.set.eval_cases[0].invocations().unwrap()[0].intermediate_data.tool_uses[0].args;
    assert_eq!(args.clone().map(Value::Object), Some(json!({"x": null, "y": [1, null]})));
    let of = "$.eval_cases[0].conversation[0].intermediate_data.tool_uses[0].args";
    assert_eq!(notes(&read), [format!("{of}.x"), format!("{of}.y[1]")]);
    assert!(read.notes[1].why.contains("`-Infinity`"), "{:?}", read.notes);
}
