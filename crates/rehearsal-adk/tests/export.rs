//! What a session becomes: golden traces and histories.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::sync::Arc;
use std::time::Duration;

use expect_test::{Expect, expect};
use rehearsal_adk::*;
use rehearsal_core::*;
use rehearsal_testkit::ledger;
use serde_json::{Map, Value, json};

fn trace(ledger: &Ledger) -> EvalCase {
    GoldenTrace::from_ledger(ledger, &TraceOptions::default()).unwrap().case
}

fn check(ledger: &Ledger, expected: &Expect) {
    expected.assert_eq(&rehearsal_core::json::to_string_pretty(&trace(ledger)).unwrap());
}

fn refused(description: &str) -> NotExportable {
    GoldenTrace::from_ledger(&ledger(description), &TraceOptions::default()).unwrap_err()
}

/// A session of an agent that runs elsewhere, event by event.
struct Session {
    ledger: Ledger,
    clock: FixedClock,
    requests: u32,
}

impl Session {
    fn of(agent: &str, state: Value) -> Self {
        let mut session =
            Self { ledger: Ledger::new("s-9".into()), clock: FixedClock::default(), requests: 0 };
        let state = State::from_value(state).unwrap();
        let started = SessionStarted { agent: agent.into(), state, ..SessionStarted::default() };
        session.add("rehearsal", None, None, EventBody::SessionStarted(started));
        session
    }

    fn add(&mut self, author: &str, path: Option<&str>, turn: Option<&str>, body: EventBody) {
        let mut draft = Draft::new(self.clock.now(), author, body);
        draft.invocation = path.map(InvocationId::new);
        draft.turn = turn.map(TurnId::new);
        self.ledger.append(draft).unwrap();
        self.clock.advance(Duration::from_millis(250));
    }

    fn says(mut self, text: &str) -> Self {
        self.add("user", None, None, EventBody::UserMessage { content: Content::user(text).into() });
        self
    }

    fn asks(mut self, agent: &str, contents: &[Content]) -> Self {
        self.requests += 1;
        let mut draft =
            Draft::new(self.clock.now(), agent, EventBody::Note { name: "".into(), data: Value::Null });
        draft.turn = Some(TurnId::new(format!("t{}", self.requests)));
        let contents = contents.iter().cloned().map(Arc::new).collect();
        let request = ModelRequest { setup: Arc::default(), contents };
        self.ledger.append_request(draft, &request).unwrap();
        self
    }

    fn answers(mut self, agent: &str, parts: Vec<Part>) -> Self {
        let turn = (self.requests > 0).then(|| format!("t{}", self.requests));
        let body = EventBody::ModelResponse(ModelResponse::new(Content::new(Role::Model, parts)));
        self.add(agent, None, turn.as_deref(), body);
        self
    }

    fn calls(mut self, path: &str, call: &str, tool: &str, args: &Value) -> Self {
        let args = Arc::new(args.as_object().unwrap().clone());
        let body = EventBody::ToolCall { call: call.into(), tool: tool.into(), args };
        self.add("agent", Some(path), None, body);
        self
    }

    fn gives(mut self, path: &str, call: &str, outcome: ToolOutcome) -> Self {
        let tool = self.ledger.call(&call.into()).unwrap().tool.clone();
        let result = ToolResult { call: call.into(), tool, outcome, changes: Vec::new(), main_changes: None };
        self.add("agent", Some(path), None, EventBody::ToolResult(result));
        self
    }

    fn ends(mut self, agent: &str, path: &str, output: Value) -> Self {
        let body = EventBody::AgentEnded { output, changes: Vec::new(), transfer_to: None };
        self.add(agent, Some(path), None, body);
        self
    }

    fn fails(mut self) -> Self {
        let error = ToolError::new("ValueError", "bad");
        self.add("rehearsal", None, None, EventBody::RunFailed { error });
        self
    }

    fn completed(mut self) -> Ledger {
        self.add("rehearsal", None, None, EventBody::SessionEnded { reason: EndReason::Completed });
        self.ledger
    }
}

fn output(value: Value) -> ToolOutcome {
    ToolOutcome::Output(value)
}

#[test]
fn a_session_becomes_an_eval_case_in_the_form_adk_writes() {
    let ledger = ledger(
        r#"start {"session": {"date": "today"}, "user": {"tier": 1}, "app": {"v": 2}}
        user: What is 2+2? ✓
        call add {"a": 2, "b": 2.50, "c": null} / result add 4
        call fetch {} / fail fetch cannot reach it
        call look {} / result look {"found": []}
        agent: The answer is 4
        end"#,
    );
    check(
        &ledger,
        &expect![[r#"
            {
              "eval_id": "agent_2026-01-01T12:00:00",
              "conversation": [
                {
                  "invocation_id": "s-1_inv_0",
                  "user_content": {
                    "parts": [
                      {
                        "text": "What is 2+2? ✓"
                      }
                    ],
                    "role": "user"
                  },
                  "final_response": {
                    "parts": [
                      {
                        "text": "The answer is 4"
                      }
                    ],
                    "role": "model"
                  },
                  "intermediate_data": {
                    "tool_uses": [
                      {
                        "id": "c1",
                        "args": {
                          "a": 2,
                          "b": 2.5,
                          "c": null
                        },
                        "name": "add"
                      },
                      {
                        "id": "c2",
                        "args": {},
                        "name": "fetch"
                      },
                      {
                        "id": "c3",
                        "args": {},
                        "name": "look"
                      }
                    ],
                    "tool_responses": [
                      {
                        "id": "c1",
                        "name": "add",
                        "response": {
                          "result": 4
                        }
                      },
                      {
                        "id": "c2",
                        "name": "fetch",
                        "response": {
                          "error": {
                            "type": "Failed",
                            "message": "cannot reach it"
                          }
                        }
                      },
                      {
                        "id": "c3",
                        "name": "look",
                        "response": {
                          "found": []
                        }
                      }
                    ]
                  },
                  "creation_timestamp": 1767268801.0
                }
              ],
              "session_input": {
                "app_name": "agent",
                "user_id": "user",
                "state": {
                  "date": "today",
                  "app:v": 2,
                  "user:tier": 1
                }
              },
              "creation_timestamp": 1767268800.0
            }"#]],
    );
}

#[test]
fn only_completed_sessions_with_message_and_answer_are_golden() {
    let empty = GoldenTrace::from_ledger(&Ledger::new("s".into()), &TraceOptions::default());
    assert_eq!(empty.unwrap_err(), NotExportable::NotStarted);
    assert_eq!(refused("user: hi / agent: yes"), NotExportable::StillActive);
    assert_eq!(refused("user: hi / agent: yes / end cancelled"), NotExportable::Cancelled);
    let reason = EndReason::MaxTurns;
    let failed = refused("user: hi / agent: yes / end max_turns");
    assert_eq!(failed, NotExportable::NotCompleted { reason });
    assert!(failed.to_string().contains("`max_turns`"), "{failed}");
    assert_eq!(refused("agent: hello / end"), NotExportable::NoUserMessage);
    assert_eq!(refused("user: hi / call a / result a 1 / end"), NotExportable::NoFinalResponse);
    assert_eq!(refused("user: hi / agent: yes / user: more / end"), NotExportable::NoFinalResponse);
    assert_eq!(refused("user: / agent: yes / end"), NotExportable::EmptyUserMessage { seq: 2 });
}

#[test]
fn every_message_is_an_invocation_with_the_answer_of_its_run() {
    let ledger = Session::of("MathAgent", json!({}))
        .says("one")
        .answers("MathAgent", vec![Part::text("not the answer")])
        .ends("MathAgent", "m", json!("first"))
        .says("two")
        .answers("MathAgent", vec![Part::thought("hm"), Part::text("second")])
        .says("three")
        .ends("helper", "m/helper", json!("of a helper"))
        .ends("MathAgent", "m", json!({"sum": 4, "ok": true}))
        .completed();
    let case = trace(&ledger);
    let answers: Vec<String> = case
        .invocations()
        .unwrap()
        .iter()
        .map(|invocation| invocation.final_response.as_ref().unwrap().text())
        .collect();
    assert_eq!(answers, ["first", "second", r#"{"sum":4,"ok":true}"#]);
    let ids: Vec<&str> =
        case.invocations().unwrap().iter().map(|invocation| &*invocation.invocation_id).collect();
    assert_eq!(ids, ["s-9_inv_0", "s-9_inv_1", "s-9_inv_2"]);
    assert_eq!(case.eval_id, "math_agent_2026-01-01T12:00:00");
    assert_eq!(case.session_input.unwrap().app_name, "math_agent");
    let options = TraceOptions { app_name: Some("folder".into()), user_id: "ada".into(), colons: false };
    let case = GoldenTrace::from_ledger(&ledger, &options).unwrap().case;
    assert_eq!(case.eval_id, "math_agent_2026-01-01T12-00-00");
    let state = Map::new();
    let input = SessionInput { app_name: "folder".into(), user_id: "ada".into(), state };
    assert_eq!(case.session_input, Some(input));
}

#[test]
fn messages_whose_runs_failed_are_left_out_once_a_later_one_is_answered() {
    let ledger = Session::of("m", json!({}))
        .says("one")
        .ends("m", "m", json!("first"))
        .says("two")
        .answers("m", vec![Part::text("let me see")])
        .calls("m", "c1", "look", &json!({}))
        .gives("m", "c1", ToolOutcome::Error(ToolError::new("ValueError", "bad")))
        .fails()
        .says("")
        .fails()
        .says("two")
        .ends("m", "m", json!("second"))
        .completed();
    let trace = GoldenTrace::from_ledger(&ledger, &TraceOptions::default()).unwrap();
    assert_eq!(trace.left_out, [4, 9]);
    let kept: Vec<Value> = trace
        .case
        .invocations()
        .unwrap()
        .iter()
        .map(|one| {
            let answer = one.final_response.as_ref().unwrap().text();
            json!([one.invocation_id, one.user_content.text(), answer, one.intermediate_data.tool_uses.len()])
        })
        .collect();
    assert_eq!(kept, [json!(["s-9_inv_0", "one", "first", 0]), json!(["s-9_inv_1", "two", "second", 0])]);

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.evalset.json");
    let defaults = EvalSetDefaults::for_agent("m", &path, FixedClock::default().now());
    let written = append_to_file(&path, &defaults, &trace).unwrap();
    assert!(written.hints.contains(&"2 messages whose runs failed are left out: events 4, 9".to_owned()));
}

#[test]
fn a_session_that_ends_with_a_failed_run_is_not_golden() {
    let refused = |ledger: &Ledger| GoldenTrace::from_ledger(ledger, &TraceOptions::default()).unwrap_err();
    let said =
        || Session::of("m", json!({})).says("one").answers("m", vec![Part::text("let me see")]).fails();
    assert_eq!(refused(&said().completed()), NotExportable::NoFinalResponse);
    let later = Session::of("m", json!({})).says("one").ends("m", "m", json!("1")).says("two").fails();
    assert_eq!(refused(&later.completed()), NotExportable::NoFinalResponse);
}

#[test]
fn calls_inside_agents_used_as_tools_are_left_out_and_synthetic_calls_are_not() {
    let ledger = Session::of("root", json!({}))
        .says("go")
        .calls("root", "c1", "helper", &json!({"request": "x"}))
        .calls("root/@c1/helper", "c2", "search", &json!({}))
        .gives("root/@c1/helper", "c2", output(json!([])))
        .calls("root", "c3", "transfer_to_agent", &json!({"agent_name": "other"}))
        .gives("root", "c3", output(Value::Null))
        .gives("root", "c1", output(json!("done")))
        .calls("root", "c4", "set_model_response", &json!({"a": 1}))
        .ends("root", "root", json!({"a": 1}))
        .completed();
    let case = trace(&ledger);
    let data = &case.invocations().unwrap()[0].intermediate_data;
    let names: Vec<&str> = data.tool_uses.iter().map(|call| &*call.name).collect();
    assert_eq!(names, ["helper", "transfer_to_agent", "set_model_response"]);
    let given: Vec<Value> =
        data.tool_responses.iter().map(|given| json!([given.name, given.response])).collect();
    assert_eq!(
        given,
        [json!(["transfer_to_agent", {"result": null}]), json!(["helper", {"result": "done"}])]
    );
}

/// What the published plugin sends: requests and responses, and no tool events.
#[test]
fn calls_that_never_became_events_are_read_from_responses_and_the_next_request() {
    let asked = Content::user("add twice");
    let calls = || {
        vec![
            Part::call("add", json!({"a": 1})),
            Part::call("mul", json!({})),
            Part::call("add", json!({"a": 2})),
        ]
    };
    let response = |name: &str, value: Value| Part::from(FunctionResponse::new(None, name, value));
    let given = Content::new(
        Role::User,
        vec![response("add", json!(1)), response("mul", json!({"error": "no"})), response("add", json!(2))],
    );
    let called = Content::new(Role::Model, calls());
    let contents = [asked.clone(), called.clone(), given.clone()];
    let more = Content::new(Role::Model, vec![Part::call("add", json!({"a": 3}))]);
    let again = Content::new(Role::User, vec![response("add", json!(3))]);
    let session = Session::of("m", json!({}))
        .says("add twice")
        .asks("m", std::slice::from_ref(&asked))
        .answers("m", calls())
        .asks("m", &contents)
        .answers("m", more.parts.clone())
        .asks("m", &[asked, called, given, more, again])
        .answers("m", vec![Part::text("3")]);
    let ledger = session.completed();
    let case = trace(&ledger);
    let data = &case.invocations().unwrap()[0].intermediate_data;
    let uses: Vec<Value> = data.tool_uses.iter().map(|call| json!([call.name, call.args, call.id])).collect();
    assert_eq!(
        uses,
        [
            json!(["add", {"a": 1}, null]),
            json!(["mul", {}, null]),
            json!(["add", {"a": 2}, null]),
            json!(["add", {"a": 3}, null]),
        ]
    );
    let given: Vec<Value> = data.tool_responses.iter().map(|given| json!(given.response)).collect();
    assert_eq!(
        given,
        [json!({"result": 1}), json!({"error": "no"}), json!({"result": 2}), json!({"result": 3})]
    );
    let ids: Vec<String> = history(&ledger)
        .into_iter()
        .filter_map(|entry| match entry {
            HistoryEntry::ToolCall { call_id, .. } | HistoryEntry::ToolOutput { call_id, .. } => {
                Some(call_id)
            }
            _ => None,
        })
        .collect();
    assert_eq!(ids[..3], ["event-4-0", "event-4-1", "event-4-2"]);
    assert_eq!(ids[3..6], ids[..3]);
    assert_eq!(ids[6], ids[7]);
}

#[test]
fn calls_on_the_ledger_are_not_read_from_responses_a_second_time() {
    let ledger = Session::of("agent", json!({}))
        .says("go")
        .asks("agent", &[])
        .answers("agent", vec![Part::call("add", json!({"a": 1}))])
        .calls("agent", "c1", "add", &json!({"a": 1}))
        .gives("agent", "c1", output(json!(1)))
        .ends("agent", "agent", json!("done"))
        .completed();
    assert_eq!(trace(&ledger).invocations().unwrap()[0].intermediate_data.tool_uses.len(), 1);
}

#[test]
fn fields_that_some_version_of_adk_would_refuse_are_left_out() {
    let content: Content = serde_json::from_value(json!({"role": "user", "parts": [
        {"text": ""},
        {"inlineData": {"mimeType": "image/png", "data": "aGk=", "displayName": "x", "other": 1}, "videoMetadata": {}},
        {"text": "see", "speechMetadata": {"x": 1}},
        {"unknown": 1},
    ]}))
    .unwrap();
    let mut session = Session::of("m", json!({}));
    session.add("user", None, None, EventBody::UserMessage { content: content.into() });
    let ledger = session.ends("m", "m", json!("ok")).completed();
    let said = serde_json::to_value(trace(&ledger)).unwrap()["conversation"][0]["user_content"].clone();
    assert_eq!(
        said,
        json!({"role": "user", "parts": [
            {"inline_data": {"data": "aGk=", "display_name": "x", "mime_type": "image/png"}, "video_metadata": {}},
            {"text": "see"},
        ]})
    );
}

#[test]
fn the_history_has_five_kinds_of_entries() {
    let failure = ToolError { traceback: Some("line 1".into()), ..ToolError::new("ValueError", "bad") };
    let session = Session::of("root", json!({}))
        .says("go")
        .calls("root", "c1", "helper", &json!({"request": "x"}))
        .calls("root/@c1/helper", "c2", "search", &json!({}))
        .gives("root/@c1/helper", "c2", ToolOutcome::Error(failure))
        .gives("root", "c1", output(json!({"found": 0})))
        .ends("root", "root", json!({"a": 1}))
        .completed();
    let shown: Vec<String> =
        history(&session).iter().map(|entry| rehearsal_core::json::to_string(entry).unwrap()).collect();
    expect![[r#"
        {"type":"user_query","seq":2,"content":"go","timestamp":"2026-01-01T12:00:00.25Z"}
        {"type":"tool_call","seq":3,"tool_name":"helper","arguments":{"request":"x"},"call_id":"c1","timestamp":"2026-01-01T12:00:00.5Z"}
        {"type":"tool_call","seq":4,"tool_name":"search","arguments":{},"call_id":"c2","timestamp":"2026-01-01T12:00:00.75Z","within":"c1"}
        {"type":"tool_error","seq":5,"call_id":"c2","error_type":"ValueError","error_message":"bad","traceback":"line 1","duration_ms":250.0,"timestamp":"2026-01-01T12:00:01Z","within":"c1"}
        {"type":"tool_output","seq":6,"call_id":"c1","result":{"found":0},"duration_ms":750.0,"timestamp":"2026-01-01T12:00:01.25Z"}
        {"type":"final_response","seq":7,"content":"{\"a\":1}","timestamp":"2026-01-01T12:00:01.5Z"}"#]]
    .assert_eq(&shown.join("\n"));
}

#[test]
fn while_a_run_goes_on_only_the_last_word_is_an_answer() {
    let answers = |description: &str| {
        let entries = history(&ledger(description));
        entries.iter().filter(|entry| matches!(entry, HistoryEntry::FinalResponse { .. })).count()
    };
    assert_eq!(answers("user: hi / agent: hello"), 1);
    assert_eq!(answers("user: hi / agent: let me see / call look"), 0);
    assert_eq!(answers("user: hi / agent: let me see / call look / user: and?"), 1);
    assert_eq!(answers("user: hi / agent: hello / user: more"), 1);
    assert_eq!(answers("user: hi / @ helper: inside"), 0);
}

/// What was said before anything is written: each with what it takes to run it.
#[test]
fn what_adk_eval_cannot_run_is_told() {
    let text = "user: one / agent: first / user: two / call fetch {} / fail fetch no / agent: sorry / end";
    let trace = GoldenTrace::from_ledger(&rehearsal_testkit::ledger(text), &TraceOptions::default()).unwrap();
    let told: Vec<String> = trace.cautions.iter().map(ToString::to_string).collect();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(
        told[0].contains("message 2 where `fetch` raises") && told[0].contains("on_tool_error_callback"),
        "{told:?}"
    );
    assert_eq!(trace.runnable(), 1);
    assert_eq!(trace.into_runnable().unwrap().case.invocations().unwrap().len(), 1);

    let text = "user: pay / call adk_request_confirmation {} / agent: ok / end";
    let trace = GoldenTrace::from_ledger(&rehearsal_testkit::ledger(text), &TraceOptions::default()).unwrap();
    assert!(trace.cautions[0].to_string().contains("asks a person"), "{:?}", trace.cautions);
    assert_eq!((trace.runnable(), trace.into_runnable()), (0, None));

    // ADK compares words, and finds none equal to none.
    for answer in ["👍", "…!"] {
        let text = format!("user: one / agent: first / user: two / agent: {answer} / end");
        let ledger = rehearsal_testkit::ledger(&text);
        let trace = GoldenTrace::from_ledger(&ledger, &TraceOptions::default()).unwrap();
        let told = trace.cautions[0].to_string();
        assert!(told.contains("scores the answer to message 2"), "{told}");
        assert_eq!(trace.runnable(), 1);
    }
}
