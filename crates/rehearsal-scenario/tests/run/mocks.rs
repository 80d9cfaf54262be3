//! Which mock answers a call, and what it answers.

use std::time::Duration;

use rehearsal_core::Verdict;
use serde_json::json;

use crate::run::stage::{Play, TokioClock, file, play, problems};

/// A scenario whose agent calls `find` once with these arguments, then says done.
fn one_call(args: &str, mocks: &str) -> String {
    calls(&format!("{{call: find, args: {args}}}"), mocks)
}

/// A scenario whose agent makes these turns, then says done.
fn calls(turns: &str, mocks: &str) -> String {
    format!(
        "agent:
  instructions: Help.
  tools:
    - {{name: find, description: Finds, parameters: {{type: object, properties: {{id: {{type: integer}}, note: {{}}}}}}}}
    - {{name: send, service: mail}}
    - {{name: crm.note}}
models: {{agent: {{script: [{turns}, done]}}}}
setup:
  mocks:
{mocks}
run:
  - input: go
    context: {{user: ann, plan: {{level: 2}}}}
    evaluations: [{{type: string_contains, value: done}}]
"
    )
}

/// Which mock answers `find({id: 7, note: {a: 1, b: 2}})`.
async fn chosen(mocks: &str) -> String {
    let played = play(&one_call("{id: 7, note: {a: 1, b: 2}}", mocks)).await;
    played.passed();
    played.answered().join(", ")
}

#[tokio::test]
async fn the_more_specific_mock_answers_wherever_it_stands() {
    let kinds = [
        ("args: [{id: 7, note: {a: 1, b: 2}}]", 10),
        ("input: {id: 7}", 8),
        ("context: {user: ann}", 6),
        ("partialArgs: [{note: {a: 1}}]", 2),
    ];
    for (strong, more) in kinds {
        for (weak, less) in kinds.iter().filter(|(_, less)| *less < more) {
            let mocks = format!(
                "    - {{method: find, response: none}}\n    - {{method: find, when: {{{weak}}}, response: {less}}}\n    \
                 - {{method: find, when: {{{strong}}}, response: {more}}}"
            );
            assert_eq!(chosen(&mocks).await, "mocks[2]", "{strong} before {weak}");
        }
    }
}

#[tokio::test]
async fn specificity_is_the_sum_of_the_kinds() {
    // 8 + 6 = 14 beats 10; 8 + 2 = 10 is no more than 10, and then the file's order decides.
    let both = "    - {method: find, when: {args: [{id: 7, note: {a: 1, b: 2}}]}, response: 1}
    - {method: find, when: {input: {id: 7}, context: {user: ann}}, response: 2}";
    assert_eq!(chosen(both).await, "mocks[1]");
    let tie = "    - {method: find, when: {args: [{id: 7, note: {a: 1, b: 2}}]}, response: 1}
    - {method: find, when: {input: {id: 7}, partialArgs: [{id: 7}]}, response: 2}";
    assert_eq!(chosen(tie).await, "mocks[0]");
    let tie = "    - {method: find, when: {input: {id: 7}, partialArgs: [{id: 7}]}, response: 2}
    - {method: find, when: {args: [{id: 7, note: {a: 1, b: 2}}]}, response: 1}";
    assert_eq!(chosen(tie).await, "mocks[0]");
}

#[tokio::test]
async fn args_are_the_whole_list_and_input_is_some_of_the_names() {
    let args = "    - {method: find, when: {args: [{id: 7}]}, response: less}
    - {method: find, response: any}";
    assert_eq!(chosen(args).await, "mocks[1]", "the call has more than `args`");
    let input = "    - {method: find, when: {input: {id: 7}}, response: some}
    - {method: find, response: any}";
    assert_eq!(chosen(input).await, "mocks[0]");
    let nested = "    - {method: find, when: {input: {note: {a: 1}}}, response: some}
    - {method: find, response: any}";
    assert_eq!(chosen(nested).await, "mocks[1]", "a named argument is compared whole");
    let partial = "    - {method: find, when: {partialArgs: [{note: {a: 1}}]}, response: some}
    - {method: find, response: any}";
    assert_eq!(chosen(partial).await, "mocks[0]", "partial arguments leave things out at any depth");
    let number = "    - {method: find, when: {input: {id: 7.0}}, response: some}";
    assert_eq!(chosen(number).await, "mocks[0]");
}

#[tokio::test]
async fn all_conditions_of_a_mock_must_hold() {
    let mocks = "    - {method: find, when: {input: {id: 7}, context: {user: bob}}, response: 1}
    - {method: find, when: {input: {id: 8}, context: {user: ann}}, response: 2}
    - {method: find, response: 3}";
    assert_eq!(chosen(mocks).await, "mocks[2]");
}

#[tokio::test]
async fn context_is_the_steps_map_with_session_step_and_turn() {
    let text = "agent: {instructions: Help., tools: [{name: find}]}
models: {agent: {rules: [{when: {tool_result: find}, say: done}, {call: find}]}}
setup:
  mocks:
    - {method: find, when: {context: {step: 1, user: ann}}, response: first}
    - {method: find, when: {context: {step: 2, turn: 1}}, response: second}
    - {method: find, when: {context: {step: 2, turn: 2}}, response: third}
run:
  - {input: go, context: {user: ann}, evaluations: []}
  - conversation: {max_turns: 2, user: {script: [go, on]}}
";
    let played = play(text).await;
    played.came_to(Verdict::Unjudged);
    assert_eq!(
        played.outcomes(),
        [json!({"output": "first"}), json!({"output": "second"}), json!({"output": "third"})]
    );

    let session = played.run.main.session().as_str();
    let mock = format!("    - {{method: find, when: {{context: {{session: {session}}}}}, response: here}}");
    let text = one_call("{}", &mock);
    let other = Play::new(&text).seed(8).run().await;
    assert!(other.error().contains("`context.session` is"), "{}", other.error());
    Play::new(&text).run().await.passed();
}

#[tokio::test]
async fn a_context_of_an_earlier_step_is_forgotten() {
    let text = "agent: {instructions: Help., tools: [{name: find}]}
models: {agent: {rules: [{when: {tool_result: find}, say: done}, {call: find}]}}
setup:
  mocks:
    - {method: find, when: {context: {user: ann}}, response: ann}
    - {method: find, response: nobody}
run:
  - {input: go, context: {user: ann}, evaluations: []}
  - {input: go, evaluations: []}
";
    assert_eq!(play(text).await.outcomes(), [json!({"output": "ann"}), json!({"output": "nobody"})]);
}

#[test]
fn a_condition_that_never_holds_or_always_does_is_a_problem() {
    let problem = |when: &str| {
        problems(&one_call("{}", &format!("    - {{method: find, when: {{{when}}}, response: 1}}")))
    };
    let nobody = problem("context: {users: ann}");
    assert_eq!(
        nobody,
        "never-true: no step has `users` in its context, so this never holds [did you mean `user`?]"
    );
    for always in ["input: {}", "context: {}", "partialArgs: []", "partialArgs: [{}]"] {
        assert!(problem(always).starts_with("always-true: "), "{always}: {}", problem(always));
    }
    for fine in
        ["args: [{}]", "args: [{id: 7}]", "input: {id: 7}", "partialArgs: [{id: 7}]", "args: [7]", "args: []"]
    {
        assert_eq!(problem(fine), "");
    }
}

#[test]
fn what_every_call_knows_is_not_the_authors_to_set() {
    let text = "agent: {instructions: Help.}\nmodels: {agent: {script: [done]}}\nrun:\n  - {input: go, context: {turn: 3}, evaluations: []}\n";
    let told = problems(text);
    assert!(told.starts_with("no-effect: `turn` in `context` is always the number of the turn"), "{told}");
}

#[tokio::test]
async fn a_tool_belongs_to_a_service_by_its_key_or_by_a_dotted_name() {
    let turns = "{call: send}, {call: crm.note}, {call: find}";
    let mocks = "    - {method: send, response: any service}
    - {service: mail, method: send, response: mail}
    - {service: crm, method: note, response: crm}
    - {method: find, response: none}";
    let played = play(&calls(turns, mocks)).await;
    played.passed();
    // A mock with and one without a service are equally specific, so the first one answers.
    assert_eq!(played.answered(), ["mocks[0]", "mocks[2]", "mocks[3]"]);
    let mocks = "    - {method: crm.note, response: whole name}\n    - {method: send, response: 1}\n    - {method: find, response: 1}";
    assert_eq!(play(&calls(turns, mocks)).await.answered(), ["mocks[1]", "mocks[0]", "mocks[2]"]);
    let mocks = "    - {method: note, response: method alone}\n    - {method: send, response: 1}\n    - {method: find, response: 1}";
    assert_eq!(play(&calls(turns, mocks)).await.answered(), ["mocks[1]", "mocks[0]", "mocks[2]"]);
}

#[tokio::test]
async fn a_dotted_name_with_its_own_service_has_the_method_after_the_dot() {
    let text = "agent: {instructions: Help., tools: [{name: mail.send, service: mail}]}
models: {agent: {script: [{call: mail.send}, done]}}
setup: {mocks: [{service: mail, method: send, response: 1}]}
run: [{input: go, evaluations: [{type: string_contains, value: done}]}]
";
    play(text).await.passed();
}

#[test]
fn a_mock_that_no_tool_can_use_is_a_problem() {
    let problem = |mock: &str| problems(&one_call("{}", &format!("    - {{{mock}, response: 1}}")));
    assert_eq!(
        problem("method: finds"),
        "never-used: the agent has no tool `finds` that this could play [did you mean `find`?]"
    );
    assert_eq!(
        problem("service: post, method: send"),
        "never-used: the agent has no tool `post.send` that this could play [its tool of that name belongs to another service]"
    );
    assert_eq!(
        problem("service: mail, method: find"),
        "never-used: the agent has no tool `mail.find` that this could play [its tool of that name belongs to another service]"
    );
    assert!(problem("method: xyzzy").ends_with("[add the tool to `agent.tools`, or remove the mock]"));
}

#[test]
fn mocks_for_an_agent_whose_calls_never_reach_us_are_a_problem() {
    let mocks = "setup: {mocks: [{method: find, response: 1}]}\nrun: [{input: go, evaluations: []}]\n";
    for agent in ["chat: {url: 'http://127.0.0.1:1/v1'}", "http: {url: 'http://127.0.0.1:1', response: text}"]
    {
        let told = problems(&format!("agent: {{{agent}}}\n{mocks}"));
        assert!(told.starts_with("no-effect: these mocks can never answer: the tool calls of an agent behind HTTP never reach us"), "{told}");
        assert!(told.contains("reach the agent by `command`"), "{told}");
    }
}

#[tokio::test]
async fn an_error_has_its_code_its_message_and_its_status() {
    let played =
        play(&one_call("{}", "    - {method: find, error: {code: DOWN, message: try later, status: 503}}"))
            .await;
    played.passed();
    assert_eq!(
        played.outcomes(),
        [json!({"error": {"type": "DOWN", "message": "try later", "status": 503}})]
    );
    let answer = &played.result.mocks.answered[0];
    assert!(answer.failed && answer.tool == "find");
    // The model sees it and may go on: it is a tool's error, not the end of the case.
    assert!(format!("{:?}", played.requests()[1].contents).contains("503"));
}

#[tokio::test]
async fn a_response_is_given_as_it_stands() {
    for response in ["{a: [1, 2.5, null], b: {c: yes}}", "text", "3", "null", "[]", "false"] {
        let text = one_call("{}", &format!("    - {{method: find, response: {response}}}"));
        let played = play(&text).await;
        played.passed();
        assert!(!played.result.mocks.answered[0].failed);
    }
    let played =
        play(&one_call("{}", "    - {method: find, response: {a: [1, 2.5, null], b: {c: yes}}}")).await;
    assert_eq!(played.outcomes(), [json!({"output": {"a": [1, 2.5, null], "b": {"c": "yes"}}})]);
}

#[tokio::test(start_paused = true)]
async fn a_delay_passes_before_the_answer() {
    let text = one_call("{}", "    - {method: find, response: 1, metadata: {delay: 86400000}}");
    let played = Play::new(&text).clock(TokioClock::start()).run().await;
    played.passed();
    assert_eq!(played.result.duration_ms, 86_400_000);
    assert_eq!(played.step(1).execution.as_ref().unwrap().duration_ms, 86_400_000);
}

#[test]
fn a_delay_that_no_timer_takes_is_a_problem() {
    let problem = |delay: &str| {
        problems(&one_call(
            "{}",
            &format!("    - {{method: find, response: 1, metadata: {{delay: {delay}}}}}"),
        ))
    };
    assert!(problem("-5").contains("`delay`"), "{}", problem("-5"));
    assert!(problem("1e30").contains("`delay`"), "{}", problem("1e30"));
    assert_eq!(problem("0"), "");
    assert_eq!(problem("2.5"), "");
}

#[tokio::test(start_paused = true)]
async fn a_mock_that_is_too_slow_for_its_step_ends_the_run() {
    let text = one_call("{}", "    - {method: find, response: 1, metadata: {delay: 5000}}")
        .replace("  - input: go", "  - input: go\n    timeout_ms: 4000");
    let played = Play::new(&text).clock(TokioClock::start()).timeout(Duration::from_mins(1)).run().await;
    played.came_to(Verdict::Terminated);
    assert_eq!(
        played.result.terminated_by().as_deref(),
        Some("`timeout_ms` of step 1 (4000 ms) was reached")
    );
}

#[tokio::test]
async fn a_call_that_no_mock_answers_shows_the_mock_to_add() {
    let mocks = "    - {method: find, when: {input: {id: 8}}, response: 1}
    - {method: find, when: {context: {user: bob}}, response: 2}
    - {method: find, when: {partialArgs: [{note: x}]}, response: 3}
    - {method: find, when: {args: [{id: 7}]}, response: 4}";
    let text = one_call("{id: 7, note: 'it''s \"so\"'}", mocks);
    let played = play(&text).await;
    played.came_to(Verdict::Error);
    let error = played.error();
    let expected = r#"System unmocked_tool: tool `find` was called by agent `agent`, but no mock answers this call

These do not match it:
  mocks[3] (line 13): `args` is [{"id":7}], the call has [{"id":7,"note":"it's \"so\""}]
  mocks[0] (line 10): `input.id` is 8, the call has 7
  mocks[1] (line 11): `context.user` is "bob", the call has "ann"
  mocks[2] (line 12): `partialArgs` is [{"note":"x"}], the call has [{"id":7,"note":"it's \"so\""}]

Add a mock under `setup.mocks`:
    - method: find
      when:
        input: {"id":7,"note":"it's \"so\""}
      response: {"result": "…"}"#;
    assert_eq!(error, expected);
    assert_eq!(played.step(1).note.as_deref(), Some("it did not come to its end"));

    // What it shows can be pasted as it is.
    let (_, mock) = error.split_once("`setup.mocks`:\n").unwrap();
    let mock = format!("{mock}\n");
    let repaired = play(&text.replace("  mocks:\n", &format!("  mocks:\n{mock}"))).await;
    repaired.passed();
    assert_eq!(repaired.outcomes(), [json!({"output": {"result": "…"}})]);
}

#[tokio::test]
async fn the_mock_to_add_names_the_service() {
    let mocks = "    - {method: find, response: 1}";
    for (tool, shown) in [
        ("send", "    - service: mail\n      method: send\n      response"),
        ("crm.note", "    - service: crm\n      method: note\n      response"),
    ] {
        let error = play(&calls(&format!("{{call: {tool}}}"), mocks)).await.error();
        assert!(error.contains(shown), "{error}");
        assert!(!error.contains("These do not match it"), "{error}");
    }
}

#[tokio::test]
async fn the_result_says_which_mock_answered_which_call_and_which_ones_none() {
    let turns = "{call: find, args: {id: 1}}, {calls: [{tool: find, args: {id: 2}}, {tool: send}]}";
    let mocks = "    - {method: find, when: {input: {id: 1}}, response: one}
    - {method: find, when: {input: {id: 9}}, response: nine}
    - {method: find, response: other}
    - {service: mail, method: send, error: {code: FULL, message: no room}}";
    let played = play(&calls(turns, mocks)).await;
    played.passed();
    let answered: Vec<_> =
        played.result.mocks.answered.iter().map(|a| (a.tool.as_str(), a.by.as_str(), a.failed)).collect();
    assert_eq!(
        answered,
        [
            ("find", "mocks[0] (line 10)", false),
            ("find", "mocks[2] (line 12)", false),
            ("send", "mocks[3] (line 13)", true)
        ]
    );
    assert_eq!(played.result.mocks.unused, ["mocks[1] (line 11)"]);
    for answer in &played.result.mocks.answered {
        let event = &played.run.events()[usize::try_from(answer.event).unwrap() - 1];
        assert_eq!(event.body.kind(), "tool_result");
    }
}

#[tokio::test]
async fn arguments_that_break_the_tools_schema_never_reach_a_mock() {
    let played =
        play(&calls("{call: find, args: {id: seven}, invalid: true}", "    - {method: find, response: 1}"))
            .await;
    played.passed();
    assert_eq!(played.outcomes()[0]["error"]["type"], "InvalidArguments");
    assert!(played.answered().is_empty());
    assert_eq!(played.result.mocks.unused.len(), 1);
}

#[tokio::test]
async fn a_tool_that_the_agent_does_not_have_never_reaches_a_mock() {
    let played = play(&calls("{call: fnid}", "    - {method: find, response: 1}")).await;
    played.passed();
    assert_eq!(played.outcomes()[0]["error"]["type"], "UnknownTool");
}

#[test]
fn answers_that_are_never_given_are_a_problem() {
    let problem = |mock: &str| problems(&one_call("{}", &format!("    - {{method: find, {mock}}}")));
    let error = "error: {code: A, message: b}";
    assert!(problem(&format!("response: 1, {error}")).starts_with("no-effect: a mock with `error`"));
    assert!(problem("response: 1, responseFn: '() => 2'").starts_with("no-effect: a mock with `responseFn`"));
    assert_eq!(problem(&format!("response: 1, {error}, metadata: {{probability: 0.5}}")), "");
}

#[test]
fn the_lines_of_the_tests_are_those_of_the_file() {
    let text = file(&one_call("{}", "    - {method: find, response: 1}"));
    assert_eq!(text.lines().position(|line| line.contains("method: find")), Some(9));
}

/// The tool `find` gives an object with a `total`.
fn with_output(text: &str) -> String {
    text.replace("description: Finds,", "description: Finds, output: {type: object, required: [total]},")
}

#[test]
fn a_literal_answer_is_held_to_the_output_schema_by_check() {
    let text = with_output(&one_call("{id: 7}", "    - {method: find, response: {status: lost}}"));
    assert!(
        problems(&text).contains("`response` breaks the `output` schema of `find`"),
        "{}",
        problems(&text)
    );
    let none = with_output(&one_call("{id: 7}", "    - {method: find}"));
    assert!(problems(&none).contains("without `response` it gives nothing"), "{}", problems(&none));
    let right = with_output(&one_call("{id: 7}", "    - {method: find, response: {total: 1}}"));
    assert_eq!(problems(&right), "");
}

#[test]
fn what_never_holds_of_a_tool_is_said() {
    let mocks = "    - {method: find, response: 1}";
    let with = |evaluation: &str| {
        let text = one_call("{id: 7}", mocks);
        text.replace("[{type: string_contains, value: done}]", &format!("[{evaluation}]"))
    };
    for (text, expected) in [
        (
            with("{type: tool_not_called, tool: find, args: {idd: 7}}"),
            "`find` takes no argument `idd`, so this always holds [did you mean `id`?]",
        ),
        (
            with("{type: tool_not_called, tool: find, args: {id: '7'}}"),
            "is not of type \"integer\", so this always holds",
        ),
        (with("{type: tool_called, tool: find, args: {id: '7'}}"), "so no call that succeeds has it"),
        (one_call("{id: x}", mocks), "this call breaks the `parameters` of `find`"),
        (
            one_call("{id: 7}", "    - {method: find, when: {input: {e_mail: x}}, response: 1}"),
            "`find` takes no argument `e_mail`, so this never holds",
        ),
        (
            one_call("{id: 7}", mocks).replace("input: go", "input: 'I am ${EMAIL}'"),
            "`${EMAIL}` is sent as it stands",
        ),
        (
            with("{type: state, matches: {refunded: {$exists: false}}}"),
            "nothing in this file writes `refunded`",
        ),
        (
            with("{type: state, matches: {refunded: true}}")
                .replace("response: 1", "response: 1, state: {session: {refunded: true}}"),
            "did you mean `session.refunded`?",
        ),
    ] {
        let found = problems(&text);
        assert!(found.contains(expected), "{expected}\n{found}\n{text}");
    }
    for fine in [
        with("{type: tool_called, tool: find, args: {id: '7'}, status: failed, min_count: 0, max_count: 0}"),
        with("{type: tool_not_called, tool: find, args: {id: {$gt: 8}}}"),
        with("{type: state, matches: {session.refunded: true}}")
            .replace("response: 1", "response: 1, state: {session: {refunded: true}}"),
    ] {
        assert_eq!(problems(&fine), "", "{fine}");
    }
}
