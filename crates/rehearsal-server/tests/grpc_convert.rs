//! What the published plugin's payloads mean, and what becomes of answers on their way to it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::sync::Arc;

use bytes::Bytes;
use proptest::prelude::*;
use prost::Message as _;
use rehearsal_core::{
    Content, FinishReason, ModelRequest, ModelResponse, ModelSetup, Part, Role, Settings, ToolChoice,
    ToolDeclaration, Usage,
};
use rehearsal_server::adksim::wire::session_event::Payload;
use rehearsal_server::adksim::wire::{
    HistoryComplete, SessionEvent, SubmitDecisionRequest, SubmitRequestRequest,
};
use rehearsal_server::adksim::{
    request_from_wire, request_to_wire, response_from_wire, response_to_wire, unsendable, validate_response,
};
use serde_json::{Map, Value, json};

/// Protobuf by hand: the numbers of fields are what these tests are about.
mod by_hand {
    pub(super) fn varint(mut number: u64) -> Vec<u8> {
        let mut out = Vec::new();
        loop {
            let low = u8::try_from(number & 0x7f).unwrap();
            number >>= 7;
            if number == 0 {
                out.push(low);
                return out;
            }
            out.push(low | 0x80);
        }
    }

    pub(super) fn bytes(field: u64, bytes: impl AsRef<[u8]>) -> Vec<u8> {
        let bytes = bytes.as_ref();
        [varint(field << 3 | 2), varint(bytes.len() as u64), bytes.to_vec()].concat()
    }

    pub(super) fn message(field: u64, parts: &[Vec<u8>]) -> Vec<u8> {
        bytes(field, parts.concat())
    }

    pub(super) fn number(field: u64, number: u64) -> Vec<u8> {
        [varint(field << 3), varint(number)].concat()
    }

    pub(super) fn single(field: u64, number: f32) -> Vec<u8> {
        [varint(field << 3 | 5), number.to_le_bytes().to_vec()].concat()
    }

    pub(super) fn double(field: u64, number: f64) -> Vec<u8> {
        [varint(field << 3 | 1), number.to_le_bytes().to_vec()].concat()
    }

    /// An entry of a `google.protobuf.Struct` with a number.
    pub(super) fn entry(name: &str, value: f64) -> Vec<u8> {
        message(1, &[bytes(1, name), message(2, &[double(2, value)])])
    }
}

use by_hand::{bytes, double, entry, message, number, single};

fn request_by_hand() -> Vec<u8> {
    let string_type = number(1, 1);
    [
        bytes(1, "models/gemini-2.5-flash"),
        message(2, &[message(1, &[bytes(2, "add 1 and 2")]), bytes(2, "user")]),
        message(
            2,
            &[
                message(1, &[bytes(2, "hm"), number(11, 1), bytes(13, "sig")]),
                message(1, &[message(4, &[bytes(1, "add"), message(2, &[entry("a", 1.0)]), bytes(3, "c1")])]),
                bytes(2, "model"),
            ],
        ),
        message(
            2,
            &[
                message(
                    1,
                    &[message(5, &[bytes(1, "add"), message(2, &[entry("result", 2.5)]), bytes(3, "c1")])],
                ),
                message(1, &[message(3, &[bytes(1, "image/png"), bytes(2, b"hi")])]),
                message(1, &[message(6, &[bytes(1, "video/mp4"), bytes(2, "gs://film")])]),
                message(1, &[message(9, &[number(1, 1), bytes(2, "1 + 1")])]),
                message(1, &[message(10, &[number(1, 2), bytes(2, "no")])]),
                bytes(2, "function"),
            ],
        ),
        message(
            4,
            &[
                bytes(2, "END"),
                number(4, 100),
                single(5, 0.7),
                single(6, 0.9),
                number(7, 40),
                number(8, 7),
                bytes(13, "application/json"),
                message(14, &[string_type.clone(), bytes(24, "answer")]),
            ],
        ),
        message(
            5,
            &[message(
                1,
                &[
                    bytes(1, "add"),
                    bytes(2, "adds"),
                    message(
                        3,
                        &[
                            number(1, 6),
                            message(
                                7,
                                &[
                                    bytes(1, "a"),
                                    message(2, &[number(1, 3), double(11, 0.0), double(12, 9.0)]),
                                ],
                            ),
                            message(
                                7,
                                &[
                                    bytes(1, "b"),
                                    message(2, &[string_type.clone(), bytes(5, "x"), number(4, 1)]),
                                ],
                            ),
                            bytes(8, "b"),
                            bytes(23, "b"),
                            bytes(23, "a"),
                        ],
                    ),
                ],
            )],
        ),
        message(
            5,
            &[message(
                1,
                &[
                    bytes(1, "raw"),
                    message(
                        6,
                        &[message(5, &[message(1, &[bytes(1, "type"), message(2, &[bytes(3, "object")])])])],
                    ),
                ],
            )],
        ),
        message(7, &[message(1, &[number(1, 2)])]),
        message(8, &[message(1, &[bytes(2, "You add.")])]),
    ]
    .concat()
}

#[test]
fn a_request_is_read_by_its_numbers() {
    let request = request_from_wire(&request_by_hand()).unwrap();
    let setup = &*request.setup;
    assert_eq!(setup.model, "gemini-2.5-flash");
    assert_eq!(setup.system.as_deref(), Some("You add."));
    assert_eq!(
        setup.settings,
        Settings {
            temperature: Some(0.7),
            top_p: Some(0.9),
            max_tokens: Some(100),
            seed: Some(7),
            stop: vec!["END".into()],
            tool_choice: Some(ToolChoice::Required),
            extra: json!({"top_k": 40}).as_object().unwrap().clone(),
        }
    );
    assert_eq!(setup.output_schema.as_deref(), Some(&json!({"type": "string", "title": "answer"})));
    assert_eq!(
        rehearsal_core::json::to_string(&setup.tools).unwrap(),
        concat!(
            r#"[{"name":"add","description":"adds","parameters":{"type":"object","properties":{"#,
            r#""b":{"anyOf":[{"type":"string","enum":["x"]},{"type":"null"}]},"#,
            r#""a":{"minimum":0,"maximum":9,"type":"integer"}},"required":["b"]}},"#,
            r#"{"name":"raw","parameters":{"type":"object"}}]"#
        )
    );
    assert_eq!(
        serde_json::to_value(&request.contents).unwrap(),
        json!([
            {"role": "user", "parts": [{"text": "add 1 and 2"}]},
            {"role": "model", "parts": [
                {"text": "hm", "thought": true, "thought_signature": "c2ln"},
                {"function_call": {"id": "c1", "name": "add", "args": {"a": 1}}}]},
            {"role": "function", "parts": [
                {"function_response": {"id": "c1", "name": "add", "response": {"result": 2.5}}},
                {"inline_data": {"mime_type": "image/png", "data": "aGk="}},
                {"file_data": {"mime_type": "video/mp4", "file_uri": "gs://film"}},
                {"executable_code": {"language": "PYTHON", "code": "1 + 1"}},
                {"code_execution_result": {"outcome": "OUTCOME_FAILED", "output": "no"}}]},
        ])
    );
}

#[test]
fn an_empty_request_is_a_request() {
    assert_eq!(request_from_wire(&[]).unwrap(), ModelRequest::default());
    let no_role = message(2, &[message(1, &[bytes(2, "hi")])]);
    assert_eq!(request_from_wire(&no_role).unwrap().contents[0].role, None);
}

#[test]
fn a_response_is_read_by_its_numbers() {
    let call = message(4, &[bytes(1, "add")]);
    let wire = [
        message(1, &[message(1, &[message(1, &[call]), bytes(2, "model")]), number(2, 1)]),
        message(1, &[message(1, &[message(1, &[bytes(2, "second best")])])]),
        message(3, &[number(1, 10), number(2, 20), number(3, 35), number(4, 4), number(10, 5)]),
        bytes(4, "gemini-2.5-flash-001"),
    ]
    .concat();
    let response = validate_response(&wire).unwrap();
    assert_eq!(*response.content, Content::new(Role::Model, vec![Part::call("add", Value::Null)]));
    assert_eq!(response.finish, Some(FinishReason::ToolCalls));
    assert_eq!(response.usage, Some(Usage { input: 10, output: 25, cached: 4, thoughts: 5 }));
    assert_eq!(response.model_version.as_deref(), Some("gemini-2.5-flash-001"));
    assert_eq!(response_from_wire(&wire).unwrap(), response);
}

#[test]
fn reasons_to_stop_have_the_published_numbers() {
    let finish = |reason| response_from_wire(&message(1, &[number(2, reason)])).unwrap().finish;
    assert_eq!(finish(0), None);
    assert_eq!(finish(1), Some(FinishReason::Stop));
    assert_eq!(finish(2), Some(FinishReason::MaxTokens));
    assert_eq!(finish(3), Some(FinishReason::Safety));
    assert_eq!(finish(5), Some(FinishReason::Other("OTHER".into())));
    assert_eq!(finish(10), Some(FinishReason::Other("MALFORMED_FUNCTION_CALL".into())));
    assert_eq!(finish(77), Some(FinishReason::Other("FINISH_REASON_77".into())));
}

#[test]
fn a_decision_that_decides_nothing_is_refused() {
    let refused = |wire: &[u8]| validate_response(wire).unwrap_err();
    assert_eq!(refused(&[]), ["a decision needs at least one candidate"]);
    let text = message(1, &[message(1, &[message(1, &[bytes(2, "fine")])])]);
    let nothing = message(1, &[]);
    let nobody = message(1, &[message(1, &[message(1, &[message(4, &[bytes(3, "c1")])])])]);
    assert_eq!(
        refused(&[text, nothing, nobody].concat()),
        [
            "candidate 2 needs at least one part: text or a function call",
            "candidate 3, part 1: a function call needs a name",
        ]
    );
    let garbage = refused(b"\xff\xff\xff");
    assert!(garbage[0].starts_with("the bytes are not a `GenerateContentResponse`"), "{garbage:?}");
}

#[test]
fn payloads_are_kept_byte_for_byte() {
    // Fields that nobody declared, in an order that no encoder writes.
    let payload =
        [bytes(900, "later"), message(2, &[bytes(2, "user"), number(77, 1)]), bytes(1, "m")].concat();
    let sent = [bytes(3, "agent"), bytes(4, &payload), bytes(1, "s-1"), bytes(2, "t-1")].concat();
    let request = SubmitRequestRequest::decode(&*sent).unwrap();
    assert_eq!((request.session_id.as_str(), request.turn_id.as_str()), ("s-1", "t-1"));
    assert_eq!(request.agent_name, "agent");
    assert_eq!(request.request, payload);

    let sent = [bytes(1, "s-1"), bytes(2, "t-1"), bytes(3, &payload)].concat();
    assert_eq!(SubmitDecisionRequest::decode(&*sent).unwrap().response, payload);

    let event = |payload| SessionEvent { payload: Some(payload), ..SessionEvent::default() }.encode_to_vec();
    assert_eq!(event(Payload::LlmRequest(payload.clone().into())), bytes(10, &payload));
    assert_eq!(event(Payload::LlmResponse(Bytes::from(payload.clone()))), bytes(11, &payload));
    assert_eq!(event(Payload::HistoryComplete(HistoryComplete::default())), bytes(12, ""));
}

#[test]
fn answers_that_would_arrive_changed_are_named_before_they_are_sent() {
    let args = json!({"id": 9_007_199_254_740_993_i64});
    let response = ModelResponse::new(Content::new(Role::Model, vec![Part::call("get", args)]));
    assert_eq!(
        unsendable(&response),
        [
            "part 1: args.id: the number 9007199254740993 is beyond 2^53 and would arrive as another one; send it as text"
        ]
    );
    let mut deep = json!(1);
    for _ in 0..60 {
        deep = json!([deep]);
    }
    let response = ModelResponse::new(Content::new(Role::Model, vec![Part::call("get", json!({"a": deep}))]));
    assert_eq!(unsendable(&response), ["the values are nested too deeply for the wire; make them flatter"]);
    assert!(unsendable(&ModelResponse::new(Content::model("fine"))).is_empty());
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(noise in proptest::collection::vec(any::<u8>(), 0..200)) {
        drop(request_from_wire(&noise));
        drop(response_from_wire(&noise));
        drop(validate_response(&noise));
    }

    #[test]
    fn no_damage_makes_it_panic(at in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<prop::sample::Index>()) {
        let mut wire = request_by_hand();
        let at = at.index(wire.len());
        wire[at] = byte;
        wire.truncate(cut.index(wire.len()) + 1);
        if let Ok(request) = request_from_wire(&wire) {
            let again = request_from_wire(&request_to_wire(&request)).unwrap();
            prop_assert_eq!(again.contents, request.contents);
        }
        drop(validate_response(&wire));
    }

    #[test]
    fn responses_arrive_as_they_were_given(response in responses()) {
        prop_assert_eq!(unsendable(&response), Vec::<String>::new());
        let wire = response_to_wire(&response);
        prop_assert_eq!(response_from_wire(&wire).unwrap(), response);
    }

    #[test]
    fn requests_arrive_as_they_were_made(request in requests()) {
        prop_assert_eq!(request_from_wire(&request_to_wire(&request)).unwrap(), request);
    }
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-(1_i64 << 53)..=1 << 53).prop_map(Value::from),
        (any::<i32>(), 1_u32..1000).prop_map(|(n, d)| json!(f64::from(n) + 1.0 / f64::from(d + 1))),
        ".{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            proptest::collection::btree_map("[a-z_]{0,4}", inner, 0..3)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn objects() -> impl Strategy<Value = Map<String, Value>> {
    proptest::collection::btree_map("[a-z_]{1,4}", values(), 0..3).prop_map(|map| map.into_iter().collect())
}

fn parts() -> impl Strategy<Value = Part> {
    let ids = proptest::option::of("[a-z0-9-]{1,8}");
    let part = |json: Value| serde_json::from_value::<Part>(json).unwrap();
    prop_oneof![
        (".{0,8}", any::<bool>())
            .prop_map(move |(text, thought)| part(json!({"text": text, "thought": thought}))),
        (ids.clone(), "[a-z]{1,5}", objects()).prop_map(move |(id, name, args)| part(
            json!({"function_call": {"id": id, "name": name, "args": args}})
        )),
        (ids, "[a-z]{1,5}", objects()).prop_map(move |(id, name, response)| part(
            json!({"function_response": {"id": id, "name": name, "response": response}})
        )),
        Just(part(json!({"inline_data": {"mime_type": "image/png", "data": "AAECAw=="}}))),
        Just(part(json!({"file_data": {"file_uri": "gs://a"}}))),
        Just(part(
            json!({"executable_code": {"language": "PYTHON", "code": "1"}, "thought_signature": "AAEC"})
        )),
    ]
}

fn contents(role: impl Strategy<Value = Role>) -> impl Strategy<Value = Arc<Content>> {
    (role, proptest::collection::vec(parts(), 0..4))
        .prop_map(|(role, parts)| Arc::new(Content::new(role, parts)))
}

fn responses() -> impl Strategy<Value = ModelResponse> {
    let usage =
        (0_u64..1000, 0_u64..1000, 0_u64..10, 0_u64..10).prop_map(|(input, written, cached, thoughts)| {
            Usage { input, output: written + thoughts, cached, thoughts }
        });
    let version = proptest::option::of("[a-z0-9.-]{1,8}");
    (contents(Just(Role::Model)), proptest::option::of(usage), version, 0_u8..4).prop_map(
        |(content, usage, model_version, finish)| {
            let done =
                if content.calls().next().is_some() { FinishReason::ToolCalls } else { FinishReason::Stop };
            let finish = match finish {
                0 => done,
                1 => FinishReason::MaxTokens,
                2 => FinishReason::Safety,
                _ => FinishReason::Other("MALFORMED_FUNCTION_CALL".into()),
            };
            ModelResponse { content, finish: Some(finish), usage, model_version }
        },
    )
}

/// Schemas of both kinds: those that the wire's own form can say and others.
fn schemas() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!({"type": "object"})),
        Just(
            json!({"type": "object", "properties": {"b": {"type": "integer", "minimum": 0}, "a": {"type": "string"}},
            "required": ["b"]})
        ),
        Just(
            json!({"description": "maybe", "anyOf": [{"type": "array", "items": {"type": "number"}}, {"type": "null"}]})
        ),
        Just(json!({"type": ["string", "null"]})),
        Just(
            json!({"type": "object", "additionalProperties": false, "patternProperties": {"^a": {"multipleOf": 3}}})
        ),
        Just(json!({"$defs": {"n": {"type": "string"}}, "$ref": "#/$defs/n"})),
        Just(json!({"type": "string", "minLength": 0})),
    ]
}

fn requests() -> impl Strategy<Value = ModelRequest> {
    let role = prop_oneof![Just(Role::User), Just(Role::Model), Just(Role::Other("function".into()))];
    let tool = ("[a-z]{1,5}", ".{0,5}", schemas(), proptest::option::of(schemas())).prop_map(
        |(name, description, parameters, output)| {
            Arc::new(ToolDeclaration { name, description, parameters, output })
        },
    );
    let choice = prop_oneof![
        Just(None),
        Just(Some(ToolChoice::Auto)),
        Just(Some(ToolChoice::Required)),
        Just(Some(ToolChoice::None)),
        Just(Some(ToolChoice::Tool("add".into()))),
    ];
    let settings =
        (proptest::option::of(0_u8..20), proptest::option::of(any::<i32>()), choice, any::<bool>()).prop_map(
            |(tenths, seed, tool_choice, has_extra)| {
                let mut extra = Map::new();
                if has_extra {
                    extra.insert("top_k".into(), json!(40));
                    extra.insert("thinking_config".into(), json!({"thinking_budget": 10}));
                }
                Settings {
                    temperature: tenths.map(|tenths| f64::from(tenths) / 10.0),
                    seed: seed.map(i64::from),
                    stop: tenths.map(|tenths| tenths.to_string()).into_iter().collect(),
                    tool_choice,
                    extra,
                    ..Settings::default()
                }
            },
        );
    let setup = (
        "[a-z0-9-]{0,6}",
        proptest::option::of("[^\0]{1,8}"),
        proptest::collection::vec(tool, 0..3),
        proptest::option::of(schemas()),
        settings,
    )
        .prop_map(|(model, system, tools, output_schema, settings)| {
            Arc::new(ModelSetup {
                model,
                system,
                tools,
                output_schema: output_schema.map(Arc::new),
                settings,
            })
        });
    (setup, proptest::collection::vec(contents(role), 0..4))
        .prop_map(|(setup, contents)| ModelRequest { setup, contents })
}
