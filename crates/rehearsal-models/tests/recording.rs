//! The recording: the same answers to the same questions, and nothing else.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![expect(clippy::needless_raw_string_hashes, reason = "expect-test writes them so")]
#![expect(clippy::needless_pass_by_value, reason = "expectations are written where they are used")]

use std::sync::Arc;

use expect_test::{Expect, expect};
use futures::executor::block_on;
use rehearsal_agent::{Metering, Model, ModelCall};
use rehearsal_core::{
    Clock, Content, Draft, EventBody, FixedClock, Ledger, ModelRequest, ModelResponse, ModelSetup, Player,
    RequestRecord, SessionStarted, ToolDeclaration, TurnId,
};
use rehearsal_models::Recording;

/// A session of two agents: `a` was asked twice, `b` once, and a step answered in `b`'s place.
fn recorded() -> Ledger {
    let clock = FixedClock::default();
    let mut ledger = Ledger::new("s-1".into());
    let start = SessionStarted { agent: "a".into(), ..SessionStarted::default() };
    ledger.append(Draft::new(clock.now(), "rehearsal", EventBody::SessionStarted(start))).unwrap();
    let mut turn = |agent: &str, turn: &str, request: Option<ModelRequest>, answer: &str| {
        let draft = |body| Draft { turn: Some(TurnId::new(turn)), ..Draft::new(clock.now(), agent, body) };
        if let Some(request) = request {
            ledger
                .append_request(draft(EventBody::ModelRequest(RequestRecord::default())), &request)
                .unwrap();
        }
        let response = ModelResponse::new(Content::model(answer));
        ledger.append(draft(EventBody::ModelResponse(response))).unwrap();
    };
    turn("a", "t1", Some(request(&["hi"])), "hello");
    turn("b", "t2", Some(request(&["hi", "hello"])), "I am b");
    turn("a", "t3", Some(request(&["hi", "hello", "how are you today?"])), "fine");
    turn("b", "t4", None, "a step said this");
    ledger
}

fn request(texts: &[&str]) -> ModelRequest {
    let setup = ModelSetup {
        model: "gpt-4o".into(),
        system: Some("be kind".into()),
        tools: vec![Arc::new(ToolDeclaration::new("look_up", "looks up"))],
        ..ModelSetup::default()
    };
    let contents = texts.iter().map(|text| Arc::new(Content::user(*text)));
    ModelRequest { setup: Arc::new(setup), contents: contents.collect() }
}

fn ask(agent: &str, index: u64, request: ModelRequest) -> ModelCall {
    ModelCall {
        session: "s-2".into(),
        agent: agent.into(),
        turn: "t".into(),
        index,
        request,
        metering: Metering::default(),
    }
}

fn check(model: &Recording, call: &ModelCall, expected: Expect) {
    let answer = block_on(model.respond(call));
    expected.assert_eq(&answer.map_or_else(|error| error.to_string(), |response| response.content.text()));
}

#[test]
fn the_same_questions_get_the_same_answers() {
    let model = Recording::from_ledger(&recorded());
    assert_eq!(model.player(), Player::Recording);
    check(&model, &ask("a", 0, request(&["hi"])), expect!["hello"]);
    check(&model, &ask("a", 1, request(&["hi", "hello", "how are you today?"])), expect!["fine"]);
    check(&model, &ask("b", 0, request(&["hi", "hello"])), expect!["I am b"]);
    check(&model, &ask("b", 1, request(&["anything"])), expect!["a step said this"]);

    let mut other_model = request(&["hi"]);
    Arc::make_mut(&mut other_model.setup).model.clear();
    check(&model, &ask("a", 0, other_model), expect!["hello"]);
}

#[test]
fn a_recording_ends() {
    let model = Recording::from_ledger(&recorded());
    check(
        &model,
        &ask("a", 2, request(&["hi", "more?"])),
        expect![[r#"
        recording of s-1 has no answer: it holds 2 turns of agent `a`, which asks for turn 3

        asked last:
          user: more?"#]],
    );
    check(
        &model,
        &ask("c", 0, request(&["hi"])),
        expect![
            "recording of s-1 has no answer: it holds no turns of agent `c`; it holds turns of: `a`, `b`"
        ],
    );
}

#[test]
fn other_questions_are_refused_with_the_first_difference() {
    let model = Recording::from_ledger(&recorded());
    let second = |change: &dyn Fn(&mut ModelRequest)| {
        let mut request = request(&["hi", "hello", "how are you today?"]);
        change(&mut request);
        ask("a", 1, request)
    };
    let setup = |change: &'static dyn Fn(&mut ModelSetup)| {
        second(&|request| change(Arc::make_mut(&mut request.setup)))
    };
    check(
        &model,
        &second(&|request| request.contents[2] = Arc::new(Content::user("how are you tonight?"))),
        expect![[r#"
        recording of s-1 has no answer: turn 2 of agent `a` asks something else than was recorded: message 3 differs
          recorded: user: how are you today?
          asked:    user: how are you tonight?

        hint: `lenient` answers all the same"#]],
    );
    check(
        &model,
        &second(&|request| request.contents.truncate(1)),
        expect![[r#"
        recording of s-1 has no answer: turn 2 of agent `a` asks something else than was recorded: it has 1 messages instead of 3, the first without a counterpart is
          user: hello

        hint: `lenient` answers all the same"#]],
    );
    check(
        &model,
        &setup(&|setup| setup.system = None),
        expect![[r#"
        recording of s-1 has no answer: turn 2 of agent `a` asks something else than was recorded: the instructions differ
          recorded: be kind
          asked:    (none)

        hint: `lenient` answers all the same"#]],
    );
    check(
        &model,
        &setup(&|setup| setup.tools.clear()),
        expect![[r#"
        recording of s-1 has no answer: turn 2 of agent `a` asks something else than was recorded: the tools differ
          recorded: look_up
          asked:    (none)

        hint: `lenient` answers all the same"#]],
    );
    check(
        &model,
        &setup(&|setup| Arc::make_mut(&mut setup.tools[0]).description.clear()),
        expect![[r#"
        recording of s-1 has no answer: turn 2 of agent `a` asks something else than was recorded: the declaration of tool `look_up` differs

        hint: `lenient` answers all the same"#]],
    );
    check(
        &model,
        &setup(&|setup| setup.settings.seed = Some(1)),
        expect![[r#"
        recording of s-1 has no answer: turn 2 of agent `a` asks something else than was recorded: the settings differ
          recorded: {}
          asked:    {"seed":1}

        hint: `lenient` answers all the same"#]],
    );
    check(&model.lenient(), &second(&|request| request.contents.clear()), expect!["fine"]);
}

#[test]
fn a_recording_that_was_written_and_read_is_the_same() {
    let ledger = Ledger::from_jsonl(&recorded().to_jsonl()).unwrap();
    let model = Recording::from_ledger(&ledger);
    check(&model, &ask("a", 1, request(&["hi", "hello", "how are you today?"])), expect!["fine"]);
}
