//! What is read from what the published plugin sends.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use rehearsal_core::{Content, Role};
use rehearsal_server::adksim::{events_for_request, events_for_response};
use rehearsal_server::desk::CannotDerive;
use serde_json::json;

use crate::play::{Play, call, calls, decision, failure, message, now, response, results, text};

mod play;
mod properties;

#[test]
fn the_first_request_begins_with_what_the_user_said() {
    let mut play = Play::new();
    let turn = play.ask("root", [message("hello")]);
    play.decide(&turn, text("hi"));
    assert_eq!(
        play.story(),
        [
            "root/0 root: agent_started",
            "root/0 user: says hello",
            "root/0 root: asks",
            "root/0 root: answers hi",
            "root/0 root: agent_ended \"hi\"",
        ]
    );
}

#[test]
fn a_first_request_without_contents_begins_with_an_empty_message() {
    let mut play = Play::new();
    play.ask("root", []);
    assert_eq!(play.story()[..2], ["root/0 root: agent_started", "root/0 user: says "]);
}

#[test]
fn data_without_text_is_a_message_too() {
    let mut play = Play::new();
    let picture: Content =
        serde_json::from_value(json!({"role": "user", "parts": [{"inline_data": {"data": "aGk="}}]}))
            .unwrap();
    play.ask("root", [message("earlier"), text("yes"), picture]);
    assert_eq!(play.story()[1], "root/0 user: says [data]");
}

#[test]
fn results_are_matched_by_order() {
    let mut play = Play::new();
    let question = message("go");
    let both = calls([call("add", None), call("add", None), call("now", None)]);
    let turn = play.ask("root", [question.clone()]);
    play.decide(&turn, both.clone());
    play.ask(
        "root",
        [
            question,
            both,
            results([response("add", None, "1"), response("add", None, "2"), response("now", None, "3")]),
        ],
    );
    assert_eq!(
        play.story()[3..],
        [
            "root/0 root: answers ",
            "root/0 root: calls add",
            "root/0 root: calls add",
            "root/0 root: calls now",
            "root/0 root: add gives {\"result\":\"1\"}",
            "root/0 root: add gives {\"result\":\"2\"}",
            "root/0 root: now gives {\"result\":\"3\"}",
            "root/0 root: asks",
        ]
    );
    let given: Vec<_> = play.ledger.calls().map(|call| call.result().unwrap().outcome.to_value()).collect();
    assert_eq!(given, [json!({"result": "1"}), json!({"result": "2"}), json!({"result": "3"})]);
}

#[test]
fn results_with_an_id_go_to_the_call_with_it() {
    let mut play = Play::new();
    let question = message("go");
    let both = calls([call("add", Some("a")), call("add", Some("b"))]);
    let turn = play.ask("root", [question.clone()]);
    play.decide(&turn, both.clone());
    play.ask("root", [question, both, results([response("add", Some("b"), "of b")])]);
    assert!(play.ledger.call(&"a".into()).unwrap().answer.is_none());
    assert!(play.ledger.call(&"b".into()).unwrap().answer.is_some());
}

#[test]
fn an_id_that_was_used_before_still_finds_its_call() {
    let mut play = Play::new();
    let (question, same) = (message("go"), calls([call("add", Some("c1"))]));
    let mut contents = vec![question];
    for round in ["first", "second"] {
        let turn = play.ask("root", contents.clone());
        play.decide(&turn, same.clone());
        contents.extend([same.clone(), results([response("add", Some("c1"), round)])]);
    }
    play.ask("root", contents);
    let given: Vec<_> = play.ledger.calls().map(|call| call.result().unwrap().outcome.to_value()).collect();
    assert_eq!(given, [json!({"result": "first"}), json!({"result": "second"})]);
}

#[test]
fn an_error_is_told_from_a_result() {
    let mut play = Play::new();
    let (question, one) = (message("go"), calls([call("add", None)]));
    let turn = play.ask("root", [question.clone()]);
    play.decide(&turn, one.clone());
    play.ask("root", [question, one, results([failure("add", "ValueError", "too big")])]);
    assert_eq!(play.story()[5], "root/0 root: add fails ValueError: too big");
}

#[test]
fn what_was_shown_before_is_no_news_even_in_a_changed_past() {
    let mut play = Play::new();
    let (question, one) = (message("go"), calls([call("add", None)]));
    let turn = play.ask("root", [question.clone()]);
    play.decide(&turn, one.clone());
    let first = results([response("add", None, "1")]);
    let turn = play.ask("root", [question, one.clone(), first.clone()]);
    play.decide(&turn, one.clone());
    // The question was shortened, so nothing is as it was; the second result is not there yet.
    play.ask("root", [message("g"), one.clone(), first, one]);
    let answered = play.ledger.calls().filter(|call| call.answer.is_some()).count();
    assert_eq!(answered, 1);
}

#[test]
fn a_new_message_begins_a_new_run() {
    let mut play = Play::new();
    let turn = play.ask("root", [message("yes")]);
    play.decide(&turn, text("ok"));
    let turn = play.ask("root", [message("yes"), text("ok"), message("yes")]);
    play.decide(&turn, text("fine"));
    assert_eq!(
        play.story()[5..],
        [
            "root/1 root: agent_started",
            "root/1 user: says yes",
            "root/1 root: asks",
            "root/1 root: answers fine",
            "root/1 root: agent_ended \"fine\"",
        ]
    );
}

#[test]
fn a_message_that_breaks_in_begins_a_new_run_and_asking_again_does_not() {
    let mut play = Play::new();
    let (question, one) = (message("go"), calls([call("add", None)]));
    let turn = play.ask("root", [question.clone()]);
    play.ask("root", [question.clone()]);
    assert_eq!(play.count("user: says"), 1);
    play.decide(&turn, one.clone());
    play.ask("root", [question.clone(), one.clone(), results([response("add", None, "1")]), question]);
    assert_eq!(play.count("user: says go"), 2);
    assert_eq!(play.count("agent_ended"), 0);
}

#[test]
fn an_agent_behind_a_call_is_hidden_from_the_conversation() {
    let mut play = Play::new();
    let (question, ask_helper) = (message("go"), calls([call("helper", Some("h1"))]));
    let turn = play.ask("root", [question.clone()]);
    play.decide(&turn, ask_helper.clone());
    let add = calls([call("add", Some("x"))]);
    let inner = play.ask("helper", [message("inner")]);
    play.decide(&inner, add.clone());
    let inner = play.ask("helper", [message("inner"), add, results([response("add", Some("x"), "1")])]);
    play.decide(&inner, text("helped"));
    play.ask("root", [question, ask_helper, results([response("helper", Some("h1"), "helped")])]);
    assert_eq!(
        play.story()[5..],
        [
            "root/0/@h1/helper helper: asks",
            "root/0/@h1/helper helper: answers ",
            "root/0/@h1/helper helper: calls add",
            "root/0/@h1/helper helper: add gives {\"result\":\"1\"}",
            "root/0/@h1/helper helper: asks",
            "root/0/@h1/helper helper: answers helped",
            "root/0 root: helper gives {\"result\":\"helped\"}",
            "root/0 root: asks",
        ]
    );
}

#[test]
fn agents_behind_calls_side_by_side_are_told_apart() {
    let mut play = Play::new();
    let ask = |id: &str, request: &str| {
        let mut one = call("helper", Some(id));
        one.args.insert("request".into(), request.into());
        one
    };
    let both = calls([ask("h1", "left"), ask("h2", "right")]);
    let turn = play.ask("root", [message("go")]);
    play.decide(&turn, both);
    let right = play.ask("helper", [message("right")]);
    let left = play.ask("helper", [message("left")]);
    play.decide(&left, calls([call("add", None)]));
    play.decide(&right, calls([call("add", None)]));
    play.ask("helper", [message("left"), calls([call("add", None)]), results([response("add", None, "l")])]);
    play.ask("helper", [message("right"), calls([call("add", None)]), results([response("add", None, "r")])]);
    assert_eq!(
        play.story().into_iter().filter(|line| line.contains("add gives")).collect::<Vec<_>>(),
        [
            "root/0/@h1/helper helper: add gives {\"result\":\"l\"}",
            "root/0/@h2/helper helper: add gives {\"result\":\"r\"}",
        ]
    );
}

#[test]
fn an_agent_that_is_handed_the_conversation_takes_part_in_it() {
    let mut play = Play::new();
    let mut hand_over = call("transfer_to_agent", None);
    hand_over.args.insert("agent_name".into(), "expert".into());
    let turn = play.ask("root", [message("go")]);
    play.decide(&turn, calls([hand_over.clone()]));
    let about = message("For context:");
    let turn = play.ask("expert", [message("go"), about.clone()]);
    play.decide(&turn, text("done"));
    let turn = play.ask("expert", [message("go"), about, text("done"), message("more")]);
    play.decide(&turn, text("more done"));
    play.ask(
        "root",
        [
            message("go"),
            calls([hand_over]),
            results([response("transfer_to_agent", None, "x")]),
            message("end"),
        ],
    );
    assert_eq!(
        play.story()[4..],
        [
            "root/0 root: calls transfer_to_agent",
            "root/0 root: transfer_to_agent gives {\"result\":null}",
            "root/0/expert expert: asks",
            "root/0/expert expert: answers done",
            "root/0 root: agent_ended \"done\"",
            "root/1 root: agent_started",
            "root/1 user: says more",
            "root/1/expert expert: asks",
            "root/1/expert expert: answers more done",
            "root/1 root: agent_ended \"more done\"",
            "root/2 root: agent_started",
            "root/2 user: says end",
            "root/2 root: asks",
        ]
    );
}

#[test]
fn an_agent_that_hands_the_conversation_to_itself_shows_the_result_itself() {
    let mut play = Play::new();
    let mut hand_over = call("transfer_to_agent", None);
    hand_over.args.insert("agent_name".into(), "root".into());
    let turn = play.ask("root", [message("go")]);
    play.decide(&turn, calls([hand_over.clone()]));
    let shown = results([response("transfer_to_agent", None, "x")]);
    play.ask("root", [message("go"), calls([hand_over]), shown]);
    assert_eq!(play.story()[5], "root/0 root: transfer_to_agent gives {\"result\":\"x\"}");
}

#[test]
fn agents_in_a_row_answer_one_message() {
    let mut play = Play::new();
    let turn = play.ask("writer", [message("go")]);
    play.decide(&turn, text("draft"));
    let turn = play.ask("editor", [message("go"), message("For context:")]);
    play.decide(&turn, text("final"));
    assert_eq!(play.count("user: says"), 1);
    assert_eq!(play.story().last().unwrap(), "writer/0 writer: agent_ended \"final\"");
}

#[test]
fn a_final_answer_by_tool_ends_the_run() {
    let mut play = Play::new();
    let turn = play.ask_with_tools("root", [message("go")], &["set_model_response"]);
    let mut answer = call("set_model_response", None);
    answer.args.insert("sum".into(), 3.into());
    play.decide(&turn, calls([answer]));
    assert_eq!(play.story().last().unwrap(), "root/0 root: agent_ended {\"sum\":3}");
}

#[test]
fn a_turn_is_asked_and_decided_once() {
    let mut play = Play::new();
    let turn = play.ask("root", [message("go")]);
    let request = play.ledger.request(&turn).unwrap();
    let asked = events_for_request(&play.ledger, now(), "root", &turn, &request);
    assert_eq!(asked.unwrap_err(), CannotDerive::Repeated { turn: turn.clone() });
    play.decide(&turn, text("ok"));
    let answer = rehearsal_core::ModelResponse::new(Content::new(Role::Model, Vec::new()));
    let decide = |turn: &rehearsal_core::TurnId| {
        events_for_response(&play.ledger, now(), turn, &answer, decision()).unwrap_err()
    };
    assert_eq!(decide(&turn), CannotDerive::Decided { turn: turn.clone() });
    assert_eq!(decide(&"other".into()), CannotDerive::Unknown { turn: "other".into() });
}
