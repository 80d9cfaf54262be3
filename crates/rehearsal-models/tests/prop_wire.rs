//! What the core says survives the way through each wire format, for all that the format has a place for.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::sync::Arc;

use proptest::prelude::*;
use proptest::sample::select;
use rehearsal_core::{
    Blob, Content, FinishReason, FunctionCall, FunctionResponse, ModelRequest, ModelResponse, ModelSetup,
    Part, PartData, Role, Settings, ToolChoice, ToolDeclaration, Usage,
};
use rehearsal_models::wire::Envelope;
use serde_json::{Map, Value, json};

use crate::support::api::{ALL, Api};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn requests_survive(request in select(&ALL[..]).prop_flat_map(|api| (Just(api), requests(api)))) {
        let (api, request) = request;
        let written = api.write_request(&request).unwrap();
        let again = api.read_request(&written.to_string(), &request.setup.model).unwrap();
        prop_assert_eq!(again, request);
        prop_assert_eq!(api.rewrite_request(&written.to_string()).unwrap(), written);
    }

    #[test]
    fn responses_survive_whole_and_in_pieces(
        (api, response) in select(&ALL[..]).prop_flat_map(|api| (Just(api), responses(api))),
        packet in 1usize..200,
    ) {
        let envelope = Envelope { id: "r-1".into(), created: 1_767_268_800, model: "unused".into() };
        let written = api.write_response(&response, &envelope).unwrap().to_string();
        prop_assert_eq!(&api.read_response(&written).unwrap(), &response);

        let stream: String = api.events(&written).unwrap().iter().map(ToString::to_string).collect();
        let packets: Vec<&[u8]> = stream.as_bytes().chunks(packet).collect();
        let assembled = api.assemble(&packets).unwrap();
        prop_assert_eq!(&assembled.core, &response);
        prop_assert_eq!(assembled.shown_text(), assembled.whole_text());
    }

    /// Whatever a server sends, reading it ends with a value or an error.
    #[test]
    fn garbage_is_an_error_and_not_a_panic(api in select(&ALL[..]), text in "\\PC{0,60}", json in values()) {
        for text in [text, json.to_string(), format!("data: {json}\n\n")] {
            drop(api.read_request(&text, "m"));
            drop(api.read_response(&text));
            drop(api.assemble(&[text.as_bytes()]));
        }
    }
}

fn requests(api: Api) -> impl Strategy<Value = ModelRequest> {
    (setups(api), prop::collection::vec(turns(api), 1..4)).prop_map(|(setup, turns)| {
        let contents = turns.into_iter().flatten().enumerate();
        let contents = contents.map(|(place, content)| Arc::new(with_ids(content, place)));
        ModelRequest { setup: Arc::new(setup), contents: contents.collect() }
    })
}

/// Calls and their results get ids that are unique in the conversation: the results stand right after the calls.
fn with_ids(mut content: Content, place: usize) -> Content {
    for (number, part) in content.parts.iter_mut().enumerate() {
        match &mut part.data {
            PartData::FunctionCall(call) => call.id = Some(format!("id_{place}_{number}").as_str().into()),
            PartData::FunctionResponse(response) => {
                let number = response.response["to"].as_u64().unwrap();
                response.id = Some(format!("id_{}_{number}", place - 1).as_str().into());
            }
            _ => {}
        }
    }
    content
}

/// What a user says, what the model answers, and the results of the calls it makes.
fn turns(api: Api) -> impl Strategy<Value = Vec<Content>> {
    let user = prop::collection::vec(user_parts(), 1..3).prop_map(|parts| Content::new(Role::User, parts));
    (user, model_contents(api)).prop_map(|(user, model)| {
        let calls = model.parts.iter().enumerate().filter_map(|(number, part)| match &part.data {
            PartData::FunctionCall(call) => {
                Some(FunctionResponse::new(None, &call.name, json!({"to": number})))
            }
            _ => None,
        });
        let results: Vec<Part> = calls.map(Part::from).collect();
        let mut contents = vec![user, model];
        if !results.is_empty() {
            contents.push(Content::new(Role::User, results));
        }
        contents
    })
}

fn user_parts() -> impl Strategy<Value = Part> {
    let image = "[A-Za-z0-9+/]{4}".prop_map(|data| {
        PartData::InlineData(Blob { mime_type: Some("image/png".into()), data, extra: Map::new() }).into()
    });
    prop_oneof![3 => texts().prop_map(Part::text), 1 => image]
}

fn model_contents(api: Api) -> impl Strategy<Value = Content> {
    let thought = (texts(), "[A-Za-z0-9+/]{8}").prop_map(move |(text, signature)| {
        // Chat completions have no place for signatures; messages refuse thoughts without one.
        let signature = (api != Api::OpenAi).then_some(signature);
        Part { thought_signature: signature, ..Part::thought(text) }
    });
    let calls = prop::collection::vec(("[a-z_]{1,8}", objects()), 0..4);
    (prop::option::of(thought), prop::option::of(texts()), calls).prop_map(|(thought, text, calls)| {
        let mut parts: Vec<Part> = thought.into_iter().collect();
        parts.extend(text.map(Part::text));
        parts.extend(calls.into_iter().map(|(name, args)| {
            Part::from(FunctionCall { id: Some("id".into()), args, ..FunctionCall::new(name, Value::Null) })
        }));
        if parts.iter().all(|part| part.thought) {
            parts.push(Part::text("done"));
        }
        Content::new(Role::Model, parts)
    })
}

fn setups(api: Api) -> impl Strategy<Value = ModelSetup> {
    let tools =
        prop::collection::vec(("[a-z_]{1,8}", "\\PC{0,12}", objects(), prop::option::of(objects())), 0..3);
    let schema = prop::option::of(objects().prop_map(move |object| {
        // Messages take a part of JSON Schema only; the rest is changed on the way.
        Arc::new(if api == Api::Anthropic { closed_schema(&object) } else { Value::Object(object) })
    }));
    ("[a-z0-9-]{1,10}", prop::option::of(texts()), tools, schema, settings(api)).prop_map(
        move |(model, system, tools, output_schema, settings)| {
            let tools = tools.into_iter().map(|(name, description, parameters, output)| {
                Arc::new(ToolDeclaration {
                    name,
                    description,
                    parameters: Value::Object(parameters),
                    // Only Gemini's declarations have a place for the schema of the result.
                    output: output.filter(|_| api == Api::Gemini).map(Value::Object),
                })
            });
            ModelSetup { model, system, tools: tools.collect(), output_schema, settings }
        },
    )
}

/// A schema of an object with these members.
fn closed_schema(object: &Map<String, Value>) -> Value {
    let members = object.iter().map(|(name, value)| {
        let schema = if value.is_array() { json!({"type": "array"}) } else { json!({"const": value}) };
        let schema = value.as_object().map_or(schema, closed_schema);
        (name.clone(), schema)
    });
    let properties: Map<String, Value> = members.collect();
    json!({"type": "object", "properties": properties, "additionalProperties": false})
}

fn settings(api: Api) -> impl Strategy<Value = Settings> {
    let choices = prop_oneof![
        Just(ToolChoice::Auto),
        Just(ToolChoice::Required),
        Just(ToolChoice::None),
        "[a-z]{1,6}".prop_map(ToolChoice::Tool)
    ];
    let numbers = || prop::option::of((0..16u8).prop_map(|eighths| f64::from(eighths) / 8.0));
    let extra = prop::option::of((select(&["x_one", "x_two"][..]), values()));
    (
        numbers(),
        numbers(),
        prop::option::of(1..9999u64),
        prop::option::of(any::<i64>()),
        prop::collection::vec(texts(), 0..3),
        prop::option::of(choices),
        extra,
    )
        .prop_map(move |(temperature, top_p, max_tokens, seed, stop, tool_choice, extra)| Settings {
            temperature,
            top_p,
            max_tokens: if api == Api::Anthropic { max_tokens.or(Some(4096)) } else { max_tokens },
            seed: seed.filter(|_| api != Api::Anthropic),
            stop,
            tool_choice,
            extra: extra.into_iter().map(|(key, value)| (key.to_owned(), value)).collect(),
        })
}

fn responses(api: Api) -> impl Strategy<Value = ModelResponse> {
    let counts =
        (0..500u64, 0..500u64, 0..500u64, 0..500u64).prop_map(|(input, output, cached, thoughts)| Usage {
            input: input + cached,
            output: output + thoughts,
            cached,
            thoughts,
        });
    (model_contents(api), counts, 0..3usize, "[a-z0-9.-]{1,12}").prop_map(
        move |(content, usage, reason, model)| {
            let content = with_ids(content, 0);
            let natural = match content.calls().next() {
                Some(_) => FinishReason::ToolCalls,
                None => FinishReason::Stop,
            };
            let finish = [natural, FinishReason::MaxTokens, FinishReason::Safety][reason].clone();
            ModelResponse {
                content: Arc::new(content),
                finish: Some(finish),
                usage: Some(usage),
                model_version: Some(model),
            }
        },
    )
}

fn texts() -> impl Strategy<Value = String> {
    prop_oneof![4 => "[a-zA-Z ,.äß🦀\"\\\\\n]{1,24}", 1 => "\\PC{1,12}"]
}

fn objects() -> impl Strategy<Value = Map<String, Value>> {
    prop::collection::btree_map("[a-zA-Z_]{1,6}", values(), 0..4).prop_map(|map| map.into_iter().collect())
}

/// JSON without odd fractions: those may change in their last digit when they are read.
fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        (-100..100i8).prop_map(|quarters| Value::from(f64::from(quarters) / 4.0)),
        "\\PC{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(2, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::Array),
            prop::collection::btree_map("[a-z]{1,4}", inner, 0..3)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}
