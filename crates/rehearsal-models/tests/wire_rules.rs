//! How what the core says is put into each wire format where the two differ, and what has no place there.

use std::sync::Arc;

use rehearsal_core::{
    Blob, Content, FinishReason, FunctionResponse, ModelRequest, ModelSetup, Part, PartData, Role, Settings,
};
use rehearsal_models::wire::openai::{self, Dialect};
use rehearsal_models::wire::{Envelope, SseEvent, WireError};
use serde_json::{Map, Value, json};

use crate::support::api::{ALL, Api};

/// Calls without ids get the same ids as their results, whichever way they are told apart.
#[test]
fn missing_ids_are_filled_the_same_way_in_calls_and_results() {
    let calls = ["a", "b", "a"].map(|name| Part::call(name, json!({})));
    let answer = |name: &str| Part::from(FunctionResponse::new(None, name, json!({"of": name})));
    let contents = [
        Content::user("go"),
        Content::new(Role::Model, calls.to_vec()),
        Content::new(Role::User, vec![answer("b"), answer("a"), answer("a")]),
        Content::new(Role::Model, vec![Part::call("b", json!({}))]),
        Content::new(Role::User, vec![answer("b")]),
    ];
    let request =
        ModelRequest { contents: contents.into_iter().map(Arc::new).collect(), ..ModelRequest::default() };
    for api in [Api::OpenAi, Api::Anthropic] {
        let again = api.read_request(&api.write_request(&request).unwrap().to_string(), "").unwrap();
        let ids = |content: &Content| -> Vec<String> {
            let calls = content.calls().map(|call| call.id.clone());
            let responses = content.responses().map(|response| response.id.clone());
            calls.chain(responses).map(|id| id.unwrap().to_string()).collect()
        };
        let all: Vec<_> = again.contents.iter().map(|content| ids(content)).collect();
        assert_eq!(
            all,
            [
                &[][..],
                &["call_0", "call_1", "call_2"],
                &["call_1", "call_0", "call_2"],
                &["call_3"],
                &["call_3"]
            ]
        );
        let names: Vec<_> = again.contents[2].responses().map(|response| response.name.clone()).collect();
        assert_eq!(names, ["b", "a", "a"]);
    }
}

#[test]
fn what_has_no_place_is_an_error_that_names_it() {
    let check = |api: Api, change: &dyn Fn(&mut ModelSetup, &mut Vec<Content>), part: &str| {
        let (mut setup, mut contents) = (ModelSetup::default(), vec![Content::user("hi")]);
        change(&mut setup, &mut contents);
        let contents = contents.into_iter().map(Arc::new).collect();
        let error =
            api.write_request(&ModelRequest { setup: Arc::new(setup), contents }).unwrap_err().to_string();
        assert!(error.contains(part), "{api:?}: {error}");
    };
    let audio = || PartData::InlineData(Blob { mime_type: Some("audio/wav".into()), ..Blob::default() });
    check(Api::Anthropic, &|setup, _| setup.settings.seed = Some(1), "`seed`");
    for api in ALL {
        check(api, &|setup, _| setup.settings.top_p = Some(f64::NAN), "`top_p` is NaN");
    }
    let many =
        |setup: &mut ModelSetup, key: &str, value: Value| setup.settings.extra.insert(key.to_owned(), value);
    check(Api::OpenAi, &|setup, _| drop(many(setup, "n", json!(2))), "`n` asks for 2 answers");
    let count = || json!({"candidateCount": 3});
    check(Api::Gemini, &|setup, _| drop(many(setup, "generationConfig", count())), "asks for 3 answers");
    for api in [Api::OpenAi, Api::Anthropic] {
        check(api, &|_, contents| contents[0].parts.push(audio().into()), "`audio/wav`");
        check(api, &|_, contents| contents[0].role = Some(Role::from("narrator")), "`narrator`");
        check(api, &|_, contents| contents[0].parts.push(other("executable_code")), "executable_code");
        let orphan = || FunctionResponse::new(None, "f", json!(1)).into();
        check(api, &|_, contents| contents[0].parts.push(orphan()), "`f` has no id");
        check(api, &|setup, _| set_extra(setup, "messages"), "would replace what is asked");
    }
    check(Api::Gemini, &|_, contents| contents[0].role = Some(Role::from("system")), "`system`");
    check(Api::Gemini, &|setup, _| set_extra(setup, "contents"), "would replace what is asked");
    let contradiction = |setup: &mut ModelSetup| {
        setup.settings.temperature = Some(0.5);
        let (key, value) = ("generationConfig".to_owned(), json!({"temperature": 1}));
        setup.settings.extra.insert(key, value);
    };
    check(Api::Gemini, &|setup, _| contradiction(setup), "`generationConfig.temperature` contradicts");
}

/// Tool arguments that are not a JSON object are the model's mistake: it is told, and what it wrote stays.
#[test]
fn arguments_that_cannot_be_read_are_kept_with_the_reason() {
    let openai = |arguments: &str| {
        let function = json!({"name": "pay", "arguments": arguments});
        let call = json!({"id": "c", "type": "function", "function": function});
        let message = json!({"role": "assistant", "content": null, "tool_calls": [call]});
        let body = json!({"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]});
        Api::OpenAi.read_response(&body.to_string()).unwrap()
    };
    let anthropic = |input: Value| {
        let block = json!({"type": "tool_use", "id": "c", "name": "pay", "input": input});
        let body = json!({"content": [block], "stop_reason": "tool_use"});
        Api::Anthropic.read_response(&body.to_string()).unwrap()
    };
    let start = r#"{"type": "message_start", "message": {"content": [], "usage": {}}}"#;
    let block = r#"{"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": "c", "name": "pay", "input": {}}}"#;
    let json = r#"{"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": "{\"amount\": 1"}}"#;
    let stop = r#"{"type": "content_block_stop", "index": 0}"#;
    let end = r#"{"type": "message_delta", "delta": {"stop_reason": "tool_use"}}"#;
    let events = [start, block, json, stop, end, r#"{"type": "message_stop"}"#];
    let stream: String = events.iter().map(|data| SseEvent::data(*data).to_string()).collect();
    let streamed = Api::Anthropic.assemble(&[stream.as_bytes()]).unwrap().core;
    for (name, response, wrote, why) in [
        ("cut", openai("{\"amount\": 1"), "{\"amount\": 1", "are not JSON (EOF"),
        ("a list", openai("[1]"), "[1]", "are not a JSON object: [1]"),
        ("words", openai("amount is 1"), "amount is 1", "are not JSON"),
        ("a text", anthropic(json!("all of it")), "all of it", "are not a JSON object: all of it"),
        ("a stream", streamed, "{\"amount\": 1", "are not a JSON object: {\"amount\": 1"),
    ] {
        let call = response.content.calls().next().unwrap();
        let unreadable = call.unreadable.as_deref().unwrap();
        assert!(unreadable.contains(why), "{name}: {unreadable}");
        assert_eq!(Value::from(call.args.clone()), json!({"unreadable_arguments": wrote}), "{name}");
        // Servers refuse a conversation in which arguments are no object.
        for api in ALL {
            let history = Content::clone(&response.content);
            let answer = FunctionResponse::new(Some("c".into()), "pay", json!({"error": "no"}));
            let contents = [Content::user("pay"), history, Content::new(Role::User, vec![answer.into()])];
            let contents = contents.into_iter().map(Arc::new).collect();
            let request = ModelRequest { setup: Arc::default(), contents };
            let body = api.write_request(&request).unwrap().to_string();
            assert!(body.contains("unreadable_arguments"), "{name} {api:?}: {body}");
            assert!(!body.contains("\"unreadable\""), "{name} {api:?}: {body}");
        }
    }
    assert!(openai("").content.calls().next().unwrap().unreadable.is_none());

    let candidate = json!({"finishReason": "MALFORMED_FUNCTION_CALL", "finishMessage": "print(pay(1))"});
    let error =
        Api::Gemini.read_response(&json!({"candidates": [candidate]}).to_string()).unwrap_err().to_string();
    assert!(error.contains("MALFORMED_FUNCTION_CALL: print(pay(1))"));
}

fn set_extra(setup: &mut ModelSetup, key: &str) {
    setup.settings.extra.insert(key.to_owned(), json!([]));
}

fn other(key: &str) -> Part {
    Part { extra: Map::from_iter([(key.to_owned(), json!({}))]), ..Part::default() }
}

/// Streams that say they are complete before they are.
#[test]
fn a_stream_that_ends_in_the_wrong_place_is_not_an_answer() {
    let check = |api: Api, stream: &str, part: &str| {
        let error = api.assemble(&[stream.as_bytes()]).unwrap_err().to_string();
        assert!(error.contains(part), "{api:?}: {error}");
    };
    let piece = r#"{"choices": [{"index": 0, "delta": {"content": "half"}}]}"#;
    check(Api::OpenAi, &format!("data: {piece}\n\ndata: [DONE]\n\n"), "no reason for finishing");
    let start = r#"{"type": "message_start", "message": {"content": [], "usage": {}}}"#;
    let block =
        r#"{"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "half"}}"#;
    let end = r#"{"type": "message_delta", "delta": {"stop_reason": "end_turn"}}"#;
    let stop = r#"{"type": "message_stop"}"#;
    let stream = |events: &[&str]| {
        events.iter().map(|data| SseEvent::data(*data).to_string()).collect::<Vec<_>>().concat()
    };
    check(Api::Anthropic, &stream(&[start, block, end, stop]), "block 0 was never completed");
    check(Api::Anthropic, &stream(&[start, stop]), "no reason for stopping");
    check(Api::Anthropic, &stream(&[block, end, stop]), "has not begun");
    let more = r#"{"type": "content_block_delta", "index": 7, "delta": {"type": "text_delta", "text": "?"}}"#;
    check(Api::Anthropic, &stream(&[start, more]), "block 7 before its start");
}

/// Many servers say `stop` beside calls; what counts is that there are calls.
#[test]
fn calls_count_for_more_than_the_reason_given() {
    let function = json!({"name": "f", "arguments": "{}"});
    let message =
        json!({"role": "assistant", "content": "", "tool_calls": [{"id": "", "function": function}]});
    let body = json!({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]});
    let response = Api::OpenAi.read_response(&body.to_string()).unwrap();
    assert_eq!(response.finish, Some(FinishReason::ToolCalls));
    assert_eq!(response.content.parts.len(), 1, "an empty text beside calls is none");
    assert_eq!(response.content.calls().next().unwrap().id, None, "an empty id is none");
}

fn request(setup: ModelSetup, contents: Vec<Content>) -> ModelRequest {
    ModelRequest { setup: Arc::new(setup), contents: contents.into_iter().map(Arc::new).collect() }
}

#[test]
fn openai_and_compatible_servers_differ_in_two_things() {
    let settings = Settings { max_tokens: Some(9), ..Settings::default() };
    let thinking = Content::new(Role::Model, vec![Part::thought("hm"), Part::text("yes")]);
    let request = request(ModelSetup { settings, ..ModelSetup::default() }, vec![thinking]);
    let written =
        |dialect| serde_json::to_value(openai::Request::from_core(&request, dialect).unwrap()).unwrap();
    assert_eq!(
        written(Dialect::OpenAi),
        json!({"model": "", "messages": [{"role": "assistant", "content": "yes"}], "max_completion_tokens": 9})
    );
    assert_eq!(
        written(Dialect::Compatible),
        json!({"model": "", "max_tokens": 9, "messages": [
            {"role": "assistant", "content": "yes", "reasoning_content": "hm"}]})
    );
}

/// Anthropic refuses thoughts that it did not sign, and empty texts beside others.
#[test]
fn what_anthropic_would_refuse_is_left_out() {
    let signed = Part { thought_signature: Some("sig".into()), ..Part::thought("signed") };
    let parts = vec![Part::thought("unsigned"), signed, Part::text(""), Part::text("yes")];
    let only_thought = Content::new(Role::Model, vec![Part::thought("nothing else")]);
    let contents = vec![Content::user("hi"), Content::new(Role::Model, parts), only_thought];
    let written = Api::Anthropic.write_request(&request(ModelSetup::default(), contents)).unwrap();
    assert_eq!(
        written["messages"],
        json!([
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "signed", "signature": "sig"},
                {"type": "text", "text": "yes"}]},
        ])
    );
}

/// A conversation that began with one provider goes on with another; what only the first one knew stays behind.
#[test]
fn what_one_api_noted_is_not_sent_to_another() {
    let noted =
        |api: &str| Map::from_iter([(api.to_owned(), json!({"cache_control": {"type": "ephemeral"}}))]);
    for api in ALL {
        for other in ALL.into_iter().filter(|other| *other != api) {
            let part = Part { extra: noted(other.folder()), ..Part::text("hello") };
            let contents = vec![Content::new(Role::User, vec![part, Part::text("there")])];
            let written = api.write_request(&request(ModelSetup::default(), contents)).unwrap().to_string();
            if other != Api::Gemini {
                assert!(written.contains("hello") && !written.contains("ephemeral"), "{api:?}: {written}");
            }
        }
    }
}

/// Images that came in the other alphabet of base64 are sent in the one that these APIs read.
#[test]
fn images_are_sent_in_standard_base64() {
    let image = Blob { mime_type: Some("image/png".into()), data: "_-8".into(), extra: Map::new() };
    let contents = vec![Content::new(Role::User, vec![PartData::InlineData(image).into()])];
    let request = request(ModelSetup::default(), contents);
    let openai = Api::OpenAi.write_request(&request).unwrap();
    assert_eq!(openai["messages"][0]["content"][0]["image_url"]["url"], "data:image/png;base64,/+8=");
    let anthropic = Api::Anthropic.write_request(&request).unwrap();
    assert_eq!(anthropic["messages"][0]["content"][0]["source"]["data"], "/+8=");
}

/// What a tool says when it fails is marked as an error where the API has a mark for it.
#[test]
fn failed_tools_are_marked() {
    let failed =
        FunctionResponse::new(Some("c".into()), "f", json!({"error": {"type": "Oops", "message": "no"}}));
    let contents = vec![Content::new(Role::User, vec![failed.into()])];
    let written = Api::Anthropic.write_request(&request(ModelSetup::default(), contents)).unwrap();
    let block: &Value = &written["messages"][0]["content"][0];
    assert_eq!(block["is_error"], true);
    assert_eq!(block["content"], r#"{"error":{"type":"Oops","message":"no"}}"#);
}

/// An answer without words stays in the history, but these APIs refuse to be shown it.
#[test]
fn empty_contents_are_left_out_of_requests() {
    let empty = || Content::new(Role::Model, Vec::new());
    let blank = Content::new(Role::Model, vec![Part::text(""), Part::default()]);
    let half = Content::new(Role::Model, vec![Part::text(""), Part::text("yes")]);
    let contents = || vec![Content::user("hi"), empty(), blank.clone(), half.clone()];
    let written = Api::Gemini.write_request(&request(ModelSetup::default(), contents())).unwrap();
    assert_eq!(
        written["contents"],
        json!([{"role": "user", "parts": [{"text": "hi"}]}, {"role": "model", "parts": [{"text": "yes"}]}])
    );
    let written = Api::Anthropic.write_request(&request(ModelSetup::default(), contents())).unwrap();
    assert_eq!(
        written["messages"],
        json!([{"role": "user", "content": "hi"}, {"role": "assistant", "content": "yes"}])
    );
    let signed = Part { thought_signature: Some("c2ln".into()), ..Part::text("") };
    let contents = vec![Content::new(Role::Model, vec![signed])];
    let written = Api::Gemini.write_request(&request(ModelSetup::default(), contents)).unwrap();
    assert_eq!(written["contents"][0]["parts"], json!([{"text": "", "thoughtSignature": "c2ln"}]));
}

/// The bounds of a schema are no reason to refuse the request.
#[test]
fn a_schema_with_bounds_is_sent_in_words_that_anthropic_takes() {
    let score = json!({"type": "number", "minimum": 0, "maximum": 1});
    let schema = json!({"type": "object", "properties": {"score": score}});
    let setup = ModelSetup { output_schema: Some(Arc::new(schema)), ..ModelSetup::default() };
    let written = Api::Anthropic.write_request(&request(setup, vec![Content::user("hi")])).unwrap();
    assert_eq!(
        written["output_config"]["format"]["schema"],
        json!({"type": "object", "additionalProperties": false, "properties": {
            "score": {"type": "number", "description": "{minimum: 0, maximum: 1}"}}})
    );
}

/// Counts that cannot be true are no reason to stop.
#[test]
fn absurd_token_counts_are_not_added_beyond_the_largest() {
    let most = u64::MAX;
    let usage =
        json!({"input_tokens": most, "cache_read_input_tokens": most, "cache_creation_input_tokens": most});
    let body = json!({"content": [], "usage": usage}).to_string();
    assert_eq!(Api::Anthropic.read_response(&body).unwrap().usage.unwrap().input, most);
    let usage = json!({"promptTokenCount": most, "toolUsePromptTokenCount": most,
        "candidatesTokenCount": most, "thoughtsTokenCount": most});
    let body = json!({"candidates": [{"finishReason": "STOP"}], "usageMetadata": usage}).to_string();
    let response = Api::Gemini.read_response(&body).unwrap();
    assert_eq!((response.usage.unwrap().input, response.usage.unwrap().output), (most, most));
    for api in ALL {
        assert!(api.write_response(&response, &Envelope::default()).is_ok());
    }
}

/// Servers disagree on how the pieces of calls are told apart.
#[test]
fn streamed_calls_are_told_apart_by_number_and_id() {
    let check = |pieces: &[Value], expected: &[(&str, Value)]| {
        let event = |choice: Value| SseEvent::data(json!({"choices": [choice]}).to_string()).to_string();
        let mut stream: String =
            pieces.iter().map(|piece| event(json!({"index": 0, "delta": {"tool_calls": [piece]}}))).collect();
        stream += &event(json!({"index": 0, "delta": {}, "finish_reason": "tool_calls"}));
        stream += &SseEvent::data("[DONE]").to_string();
        let response = Api::OpenAi.assemble(&[stream.as_bytes()]).unwrap().core;
        let calls: Vec<_> = response.content.calls().collect();
        let calls: Vec<_> = calls
            .iter()
            .map(|call| (call.id.as_ref().unwrap().to_string(), Value::Object(call.args.clone())))
            .collect();
        let expected: Vec<_> = expected.iter().map(|(id, args)| ((*id).to_owned(), args.clone())).collect();
        assert_eq!(calls, expected);
    };
    let one = json!({"n": 1});
    let two = json!({"n": 2});
    let both = [("a", one.clone()), ("b", two.clone())];
    let function = |arguments: &str| json!({"name": "f", "arguments": arguments});
    // All with the number 0.
    check(
        &[
            json!({"index": 0, "id": "a", "function": function("{\"n\":")}),
            json!({"index": 0, "function": {"arguments": "1}"}}),
            json!({"index": 0, "id": "b", "function": function("{\"n\":")}),
            json!({"index": 0, "id": "", "function": {"arguments": "2}"}}),
        ],
        &both,
    );
    // Without numbers, and with the id in every piece.
    check(
        &[
            json!({"id": "a", "function": function("{\"n\":")}),
            json!({"id": "a", "function": {"arguments": "1}"}}),
            json!({"id": "b", "function": function("{\"n\":")}),
            json!({"id": "b", "function": {"arguments": "2}"}}),
        ],
        &both,
    );
    // By number, one within the other, and a number that has no next.
    check(
        &[
            json!({"index": u64::MAX, "id": "b", "function": function("{\"n\":")}),
            json!({"index": 0, "id": "a", "function": function("{\"n\":1}")}),
            json!({"index": u64::MAX, "id": "b", "function": {"arguments": "2}"}}),
            json!({"id": "c", "function": function("{}")}),
        ],
        &[("a", one), ("b", two), ("c", json!({}))],
    );
}

/// Gateways report errors with status 200, beside or inside of what the model said before.
#[test]
fn errors_inside_of_answers_are_errors() {
    let message = json!({"role": "assistant", "content": "half"});
    let error = json!({"message": "slow down", "code": 429});
    let check = |body: Value, expected: (u16, &str)| {
        let stream = SseEvent::data(body.to_string()).to_string();
        let whole = Api::OpenAi.read_response(&body.to_string()).unwrap_err();
        assert_eq!(Api::OpenAi.assemble(&[stream.as_bytes()]).unwrap_err(), whole);
        let WireError::Reported { status, message, .. } = whole else { panic!("{whole}") };
        assert_eq!((status, message.as_str()), expected);
    };
    check(json!({"error": error, "choices": []}), (429, "slow down"));
    check(json!({"choices": [{"message": message, "error": error}]}), (429, "slow down"));
    check(
        json!({"choices": [{"message": message, "finish_reason": "error"}], "error": null}),
        (500, "the answer ended with an error that the provider does not describe"),
    );
    for blank in [json!(null), json!(""), json!({}), json!(false)] {
        let body = json!({"choices": [{"message": message, "finish_reason": "stop"}], "error": blank});
        assert_eq!(Api::OpenAi.read_response(&body.to_string()).unwrap().content.text(), "half");
    }
}

#[test]
fn arguments_that_the_token_limit_cut_off_are_said_to_be() {
    let call = json!({"id": "c", "type": "function", "function": {"name": "pay", "arguments": "{\"amo"}});
    let message = json!({"role": "assistant", "content": null, "tool_calls": [call]});
    let body = json!({"choices": [{"index": 0, "message": message, "finish_reason": "length"}]});
    let error = Api::OpenAi.read_response(&body.to_string()).unwrap_err().to_string();
    assert!(error.contains("cut off at the token limit") && error.contains("`pay`"), "{error}");
    let block = json!({"type": "tool_use", "id": "t", "name": "pay", "input": "{\"amo"});
    let body = json!({"content": [block], "stop_reason": "max_tokens"});
    let error = Api::Anthropic.read_response(&body.to_string()).unwrap_err().to_string();
    assert!(error.contains("cut off at the token limit") && error.contains("`pay`"), "{error}");
}
