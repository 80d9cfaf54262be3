//! The scripted model, and what it says when the script has nothing.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![expect(clippy::needless_raw_string_hashes, reason = "expect-test writes them so")]
#![expect(clippy::needless_pass_by_value, reason = "expectations are written where they are used")]

use std::sync::Arc;

use expect_test::{Expect, expect};
use futures::executor::block_on;
use rehearsal_agent::{Metering, Model, ModelCall, ModelError};
use rehearsal_core::{
    Content, FinishReason, FunctionResponse, ModelRequest, ModelSetup, Part, Player, Role, Usage,
};
use rehearsal_models::{Matcher, Reply, Rule, ScriptedModel};
use serde_json::json;

fn call(index: u64, contents: Vec<Content>) -> ModelCall {
    let setup = ModelSetup { system: Some("You sell\nclocks.".into()), ..ModelSetup::default() };
    let contents = contents.into_iter().map(Arc::new).collect();
    let request = ModelRequest { setup: Arc::new(setup), contents };
    ModelCall {
        session: "s".into(),
        agent: "clerk".into(),
        turn: "t".into(),
        index,
        request,
        metering: Metering::default(),
    }
}

fn says(text: &str) -> ModelCall {
    call(0, vec![Content::user(text)])
}

/// What the model answers, on a line: texts and calls, or the error.
fn check(model: &ScriptedModel, call: &ModelCall, expected: Expect) {
    let answer = match block_on(model.respond(call)) {
        Ok(response) => {
            let calls = response.content.calls().map(|call| format!("{}{}", call.name, json!(call.args)));
            let all: Vec<_> = Some(response.content.text())
                .filter(|text| !text.is_empty())
                .into_iter()
                .chain(calls)
                .collect();
            format!("{} [{:?}]", all.join(" | "), response.finish.unwrap())
        }
        Err(error) => error.to_string(),
    };
    expected.assert_eq(&answer);
}

#[test]
fn a_list_is_answered_in_order_and_ends() {
    let model = ScriptedModel::list("two turns", [Reply::call("look_up", json!({"id": 7})), "done".into()]);
    assert_eq!(model.player(), Player::Script);
    assert_eq!(&*model.name(), "two turns");
    let at = |index| call(index, vec![Content::user("what\nnow?")]);
    check(&model, &at(0), expect![[r#"look_up{"id":7} [ToolCalls]"#]]);
    check(&model, &at(1), expect!["done [Stop]"]);
    // The same turn gets the same answer: nothing is counted.
    check(&model, &at(0), expect![[r#"look_up{"id":7} [ToolCalls]"#]]);
    check(
        &model,
        &at(2),
        expect![[r#"
        two turns has no answer: the script has 2 turns, and agent `clerk` asks for turn 3

        asked last:
          user: what ⏎ now?

        hint: add a reply to the script"#]],
    );
}

#[test]
fn a_function_sees_the_call() {
    let model = ScriptedModel::function("echo", |call| {
        let said = call.request.contents.last().map(|content| content.text()).unwrap_or_default();
        format!("{} heard {said}", call.agent)
    });
    check(&model, &says("hello"), expect!["clerk heard hello [Stop]"]);

    let failing = ScriptedModel::function("down", |_| {
        Err::<Reply, _>(ModelError::Timeout { model: "down".into(), millis: 5 })
    });
    check(&failing, &says("hello"), expect!["down did not answer within 5 ms"]);
}

#[test]
fn the_first_rule_that_matches_answers() {
    let model = ScriptedModel::rules(
        "clerk",
        [
            Rule::when(Matcher::user_equals("quit")).reply("bye"),
            Rule::when(Matcher::user_contains("refund")).reply(Reply::call("refund", json!({"order": 7}))),
            Rule::when(Matcher::tool_result_contains("refund", "denied")).reply("It was denied."),
            Rule::when(Matcher::tool_result("refund")).reply("You have your money back."),
            Rule::when(Matcher::user_matches(r"^\d+$").unwrap())
                .reply_with(|call| call.request.contents[0].text()),
            Rule::when(Matcher::turn(3).and(Matcher::agent("clerk"))).reply("still here"),
            Rule::when(Matcher::system_contains("clocks").and(!Matcher::user_contains("?")))
                .reply("We sell clocks."),
        ],
    );
    check(&model, &says("quit"), expect!["bye [Stop]"]);
    check(&model, &says("a refund!"), expect![[r#"refund{"order":7} [ToolCalls]"#]]);
    check(&model, &says("42"), expect!["42 [Stop]"]);
    check(&model, &call(3, vec![Content::user("?")]), expect!["still here [Stop]"]);
    check(&model, &says("hm"), expect!["We sell clocks. [Stop]"]);

    // What the user said before the tool answered no longer matches.
    let after = |result| {
        let calls = Content::new(Role::Model, vec![Part::call("refund", json!({}))]);
        let result = FunctionResponse::new(None, "refund", json!(result));
        call(1, vec![Content::user("a refund!"), calls, Content::new(Role::User, vec![result.into()])])
    };
    check(&model, &after("ok"), expect!["You have your money back. [Stop]"]);
    check(&model, &after("denied"), expect!["It was denied. [Stop]"]);
}

#[test]
fn a_request_that_no_rule_matches_is_shown() {
    let model = ScriptedModel::rules(
        "clerk",
        [
            Rule::when(Matcher::user_contains("refund")).reply("yes"),
            Rule::when(Matcher::tool_result("refund").or(Matcher::turn(4))).reply("no"),
        ],
    );
    let calls = Content::new(
        Role::Model,
        vec![Part::thought("hm"), Part::text("Let me see."), Part::call("stock", json!({"item": "clock"}))],
    );
    let result = FunctionResponse::new(None, "stock", json!({"left": 2}));
    let asked =
        call(1, vec![Content::user("any clocks?"), calls, Content::new(Role::User, vec![result.into()])]);
    check(
        &model,
        &asked,
        expect![[r#"
        clerk has no answer: no rule matches turn 2 of agent `clerk`

        request:
          system: You sell ⏎ clocks.
          user: any clocks?
          model: (thinks) hm | Let me see. | calls stock {"item":"clock"}
          user: stock gives {"left":2}

        rules:
          1. when the user says something with `refund`
          2. when (`refund` has answered or it is the agent's turn with index 4)

        hint: add a rule that matches, or a last one without `when`, which always does"#]],
    );

    let long = (0..30).map(|number| Content::user("x".repeat(number * 100))).collect();
    let error = block_on(model.respond(&call(0, long))).unwrap_err().to_string();
    assert!(error.contains("… 18 messages before") && error.contains("… (2900 characters)"), "{error}");
    assert!(error.len() < 5000);
}

#[test]
fn replies_can_say_all_that_a_model_can() {
    let reply = Reply::text("Both.").and_call("a", json!({"x": 1})).and_call("b", json!({})).usage(12, 3);
    let model =
        ScriptedModel::list("m", [reply, Reply::json(json!({"ok": true})).finish(FinishReason::MaxTokens)]);
    check(&model, &says("hi"), expect![[r#"Both. | a{"x":1} | b{} [ToolCalls]"#]]);
    let response = block_on(model.respond(&says("hi"))).unwrap();
    assert_eq!(response.usage, Some(Usage { input: 12, output: 3, ..Usage::default() }));
    check(&model, &call(1, vec![]), expect![[r#"{"ok":true} [MaxTokens]"#]]);
    let failing =
        ScriptedModel::list("m", [Reply::fail(ModelError::Timeout { model: "m".into(), millis: 9 })]);
    check(&failing, &says("hi"), expect!["m did not answer within 9 ms"]);
}

#[test]
fn an_invalid_pattern_is_an_error() {
    let error = Matcher::user_matches("(").unwrap_err().to_string();
    assert!(error.starts_with("/(/ is not a valid regular expression"), "{error}");
}
