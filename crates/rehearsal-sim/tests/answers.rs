//! What people may answer, and what they are told when they may not.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::sync::Arc;

use proptest::prelude::*;
use rehearsal_core::*;
use rehearsal_sim::person::*;
use serde_json::{Value, json};

fn tool(name: &str, parameters: Value) -> Arc<ToolDeclaration> {
    Arc::new(ToolDeclaration::new(name, "").parameters(parameters))
}

fn refund() -> Arc<ToolDeclaration> {
    let order = json!({"order": {"type": "integer"}});
    tool("refund", json!({"type": "object", "properties": order, "required": ["order"]}))
}

fn setup() -> ModelSetup {
    ModelSetup { tools: vec![refund(), tool("note", json!({"type": "object"}))], ..ModelSetup::default() }
}

fn structured() -> ModelSetup {
    let schema = json!({"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]});
    ModelSetup { output_schema: Some(Arc::new(schema)), ..setup() }
}

#[track_caller]
fn gives(setup: &ModelSetup, answer: &Value, content: &Value, finish: FinishReason) {
    let response = check_model_answer(setup, answer).unwrap();
    assert_eq!(json!(response.content), *content, "{answer}");
    assert_eq!(response.finish, Some(finish), "{answer}");
}

#[track_caller]
fn refused(setup: &ModelSetup, answer: &Value, problems: &[&str]) {
    assert_eq!(check_model_answer(setup, answer).unwrap_err(), problems, "{answer}");
}

fn text(text: &str) -> Value {
    json!({"role": "model", "parts": [{"text": text}]})
}

#[test]
fn the_model_can_be_answered_in_five_forms() {
    let call = json!({"function_call": {"name": "refund", "args": {"order": 7}}});
    gives(&setup(), &json!({"text": "hi"}), &text("hi"), FinishReason::Stop);
    gives(
        &setup(),
        &json!({"calls": [{"tool": "refund", "args": {"order": 7}}, {"tool": "note"}]}),
        &json!({"role": "model", "parts": [call, {"function_call": {"name": "note", "args": {}}}]}),
        FinishReason::ToolCalls,
    );
    gives(
        &setup(),
        &json!({"text": "a moment", "calls": [{"tool": "refund", "args": {"order": 7}}]}),
        &json!({"role": "model", "parts": [{"text": "a moment"}, call]}),
        FinishReason::ToolCalls,
    );
    gives(&setup(), &json!({"final": "bye"}), &text("bye"), FinishReason::Stop);
    gives(&setup(), &json!({"final": {"a": [1]}}), &text(r#"{"a":[1]}"#), FinishReason::Stop);
    gives(&setup(), &json!({"final": null}), &text("null"), FinishReason::Stop);
    gives(&setup(), &json!({"content": {"parts": [{"text": "hi"}]}}), &text("hi"), FinishReason::Stop);
    gives(
        &setup(),
        &json!({"content": {"role": "model", "parts": [{"functionCall": {"name": "refund", "args": {"order": 7}}}]}}),
        &json!({"role": "model", "parts": [call]}),
        FinishReason::ToolCalls,
    );
    let candidate = |said: &str| json!({"content": text(said), "finishReason": "MAX_TOKENS", "index": 0});
    gives(
        &setup(),
        &json!({"candidates": [candidate("first"), candidate("second")]}),
        &text("first"),
        FinishReason::MaxTokens,
    );
}

#[test]
fn an_answer_of_the_model_has_exactly_one_form() {
    let forms = "`text`, `calls`, `final`, `content` and `candidates`";
    let one = |given: &str| format!("an answer has exactly one of {forms}; this one has {given}");
    refused(&setup(), &json!({}), &[&one("nothing")]);
    refused(&setup(), &json!({"text": "a", "final": "b"}), &[&one("`text` and `final`")]);
    refused(
        &setup(),
        &json!({"text": "a", "calls": [], "content": {}}),
        &[&one("`text`, `calls` and `content`")],
    );
    refused(&setup(), &json!({"txt": "a"}), &[&format!("an answer of the model has no `txt`, only {forms}")]);
    refused(
        &setup(),
        &json!("hi"),
        &[
            "an answer of the model must be an object of `text`, `calls`, `final`, `content` and `candidates`; this is text",
        ],
    );
    refused(&setup(), &json!({"text": " "}), &["`text` is empty"]);
    refused(&setup(), &json!({"text": 3}), &["`text` must be text; this is a number"]);
}

#[test]
fn calls_are_held_to_the_tools() {
    let call = |call: Value| json!({"calls": [call]});
    refused(
        &setup(),
        &call(json!({"tool": "refnd"})),
        &["`calls[0]`: there is no tool `refnd`; the tools are: `refund` and `note`"],
    );
    refused(
        &setup(),
        &json!({"calls": [{"tool": "note"}, {"tool": "refund", "args": {"order": "x"}}, {"tool": "refund"}]}),
        &[
            "`calls[1]`: the arguments break the schema of `refund`: $.order: \"x\" is not of type \"integer\"",
            "`calls[2]`: the arguments break the schema of `refund`: $: \"order\" is a required property",
        ],
    );
    refused(&setup(), &call(json!({"args": {}})), &["`calls[0]` needs `tool`"]);
    refused(&setup(), &call(json!({"tool": 1})), &["`calls[0].tool` must be text; this is a number"]);
    refused(
        &setup(),
        &call(json!({"tool": "note", "args": []})),
        &["`calls[0].args` must be an object; this is a list"],
    );
    refused(
        &setup(),
        &call(json!({"tool": "note", "arg": {}})),
        &["`calls[0]` has no `arg`, only `tool` and `args`"],
    );
    refused(&setup(), &json!({"calls": []}), &["`calls` is empty"]);
    refused(&setup(), &json!({"calls": {}}), &["`calls` must be a list; this is an object"]);
    refused(
        &setup(),
        &json!({"content": {"parts": [{"function_call": {"name": "go"}}]}}),
        &["`content.parts[0]`: there is no tool `go`; the tools are: `refund` and `note`"],
    );
    let broken = ModelSetup { tools: vec![tool("odd", json!({"type": "wish"}))], ..ModelSetup::default() };
    // Whoever answers cannot mend a declaration; the agent's own runtime takes the call or refuses it.
    check_model_answer(&broken, &call(json!({"tool": "odd"}))).unwrap();
}

#[test]
fn contents_have_something_in_them() {
    refused(
        &setup(),
        &json!({"content": null}),
        &["`content` must be an object with `role` and `parts`; this is null"],
    );
    refused(&setup(), &json!({"content": {"parts": []}}), &["`content.parts` is empty; one is needed"]);
    refused(&setup(), &json!({"content": {"parts": [{}]}}), &["`content.parts[0]` holds nothing"]);
    refused(
        &setup(),
        &json!({"content": {"role": "user", "parts": [{"text": "a"}]}}),
        &["`content.role` is `user`, but the model speaks"],
    );
    refused(
        &setup(),
        &json!({"content": {"parts": [{"function_response": {"name": "note", "response": {}}}]}}),
        &["`content.parts[0]`: the model answers for no tool"],
    );
    refused(&setup(), &json!({"candidates": []}), &["`candidates` is empty; one is needed"]);
    refused(
        &setup(),
        &json!({"candidates": [{"content": {"parts": []}}]}),
        &["`candidates[0].content.parts` is empty; one is needed"],
    );
    refused(
        &setup(),
        &json!({"candidates": [{"content": text("fine")}, {}]}),
        &["`candidates[1].content` must be an object with `role` and `parts`; this is null"],
    );
}

#[test]
fn a_last_answer_is_held_to_the_output_schema() {
    let setup = structured();
    gives(&setup, &json!({"final": {"age": 3}}), &text(r#"{"age":3}"#), FinishReason::Stop);
    gives(&setup, &json!({"text": " {\"age\": 3}"}), &text(" {\"age\": 3}"), FinishReason::Stop);
    refused(
        &setup,
        &json!({"final": {}}),
        &["`final` breaks the output schema: $: \"age\" is a required property"],
    );
    refused(
        &setup,
        &json!({"text": "{}"}),
        &["the text breaks the output schema: $: \"age\" is a required property"],
    );
    let problems = check_model_answer(&setup, &json!({"text": "three"})).unwrap_err();
    assert!(problems[0].contains("this text is not JSON"), "{problems:?}");
    let problems =
        check_model_answer(&setup, &json!({"content": {"parts": [{"text": "three"}]}})).unwrap_err();
    assert!(problems[0].contains("this text is not JSON"), "{problems:?}");
    // What is said beside a call ends nothing.
    check_model_answer(&setup, &json!({"text": "three", "calls": [{"tool": "note"}]})).unwrap();
}

#[test]
fn a_last_value_becomes_a_call_where_the_agent_takes_it_so() {
    let setup_with = |parameters: Value| ModelSetup {
        tools: vec![refund(), tool(SET_MODEL_RESPONSE, parameters)],
        ..ModelSetup::default()
    };
    let call = |args: Value| json!({"role": "model", "parts": [{"function_call": {"name": SET_MODEL_RESPONSE, "args": args}}]});
    let age = json!({"type": "object", "properties": {"age": {"type": "integer"}, "name": {}}, "required": ["age"]});
    let person = setup_with(age);
    gives(&person, &json!({"final": {"age": 3}}), &call(json!({"age": 3})), FinishReason::ToolCalls);
    refused(
        &person,
        &json!({"final": {}}),
        &["`final` breaks the output schema: $: \"age\" is a required property"],
    );
    refused(
        &person,
        &json!({"final": 3}),
        &["`final` breaks the output schema: it must be an object; this is a number"],
    );
    let items = json!({"type": "object", "properties": {"items": {"type": "array"}}, "required": ["items"]});
    let list = setup_with(items);
    gives(&list, &json!({"final": [1]}), &call(json!({"items": [1]})), FinishReason::ToolCalls);
    gives(&list, &json!({"final": {"items": []}}), &call(json!({"items": []})), FinishReason::ToolCalls);
    refused(
        &list,
        &json!({"final": 1}),
        &["`final` breaks the output schema: $.items: 1 is not of type \"array\""],
    );
}

#[test]
fn a_tool_gives_an_output_or_an_error() {
    let prompt = json!({"tool": "refund", "args": {}, "output_schema": {"type": "integer"}});
    let gives = |answer: Value| check_tool_answer(&prompt, &answer);
    assert_eq!(gives(json!({"output": 3})).unwrap(), ToolOutcome::Output(json!(3)));
    let error = ToolOutcome::Error(ToolError::new("Down", "try later"));
    assert_eq!(gives(json!({"error": {"type": "Down", "message": "try later"}})).unwrap(), error);
    assert_eq!(
        check_tool_answer(&json!({}), &json!({"output": null})).unwrap(),
        ToolOutcome::Output(Value::Null)
    );
    let refused = |answer: Value, problems: &[&str]| assert_eq!(gives(answer).unwrap_err(), problems);
    refused(
        json!({"output": "3"}),
        &["`output` breaks the output schema of the tool: $: \"3\" is not of type \"integer\""],
    );
    refused(json!({}), &["an answer has exactly one of `output` and `error`; this one has nothing"]);
    refused(
        json!({"output": 3, "error": {}}),
        &["an answer has exactly one of `output` and `error`; this one has `output` and `error`"],
    );
    refused(json!({"error": {}}), &["`error` needs `type`", "`error` needs `message`"]);
    refused(
        json!({"error": {"type": "", "message": 1}}),
        &["`error.type` is empty", "`error.message` must be text; this is a number"],
    );
    refused(json!({"error": "no"}), &["`error` must be an object of `type` and `message`; this is text"]);
}

#[test]
fn a_user_says_something_or_ends() {
    let said = UserReply::Say(Content::user("hi"));
    assert_eq!(check_user_answer(&json!({"text": "hi"})).unwrap(), said);
    assert_eq!(check_user_answer(&json!({"content": {"parts": [{"text": "hi"}]}})).unwrap(), said);
    assert_eq!(check_user_answer(&json!({"end": true})).unwrap(), UserReply::End);
    let refused =
        |answer: Value, problem: &str| assert_eq!(check_user_answer(&answer).unwrap_err(), [problem]);
    refused(json!({"end": false}), "`end` can only be true; say something with `text` to go on");
    refused(json!({"text": ""}), "`text` is empty");
    refused(
        json!({"text": "hi", "end": true}),
        "an answer has exactly one of `text`, `content` and `end`; this one has `text` and `end`",
    );
    refused(json!({"content": text("hi")}), "`content.role` is `model`, but the user speaks");
    refused(
        json!({"content": {"parts": [{"function_call": {"name": "x"}}]}}),
        "`content.parts[0]`: a user calls no tools and answers for none",
    );
}

/// JSON that looks like an answer now and then.
fn answers() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3..3).prop_map(Value::from),
        "[a-z{}\" ]{0,4}".prop_map(Value::from),
        Just(json!("refund")),
    ];
    let keys = prop::sample::select(vec![
        "text",
        "calls",
        "final",
        "content",
        "candidates",
        "tool",
        "args",
        "order",
        "parts",
        "role",
        "function_call",
        "name",
        "output",
        "error",
        "type",
        "message",
        "end",
        "zzz",
    ]);
    leaf.prop_recursive(4, 24, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map(keys.clone().prop_map(str::to_owned), inner, 0..3)
                .prop_map(|fields| json!(fields)),
        ]
    })
}

proptest! {
    #[test]
    fn whoever_checks_an_answer_says_the_same(answer in answers(), has_schema: bool, has_tool: bool) {
        let mut setup = if has_schema { structured() } else { setup() };
        if has_tool {
            setup.tools.push(tool(SET_MODEL_RESPONSE, json!({"type": "object", "properties": {"value": {}}})));
        }
        let request = ModelRequest { setup: Arc::new(setup), contents: vec![Arc::new(Content::user("hi"))] };
        let prompt = model_prompt(&request);
        // The server has the prompt, the player the request.
        let by_player = check_model_answer(&request.setup, &answer);
        prop_assert_eq!(check_answer(PersonPart::Model, &prompt, &answer), by_player.clone().map(drop));
        if let Ok(response) = by_player {
            prop_assert!(!response.content.parts.is_empty());
            prop_assert_eq!(response.content.role.clone(), Some(Role::Model));
            for call in response.content.calls() {
                prop_assert!(request.setup.tools.iter().any(|tool| tool.name == call.name));
            }
            // What was taken can be given again, as content.
            let again = check_model_answer(&request.setup, &json!({"content": response.content}));
            prop_assert_eq!(again.map(|again| again.content), Ok(response.content));
        }
        let tool = check_answer(PersonPart::Tool, &json!({}), &answer);
        prop_assert_eq!(tool, check_tool_answer(&json!({}), &answer).map(drop));
        let user = check_answer(PersonPart::User, &json!({}), &answer);
        prop_assert_eq!(user, check_user_answer(&answer).map(drop));
    }

    #[test]
    fn a_prompt_can_be_read_as_the_setup_it_shows(model in "[a-z]{0,3}", system: Option<String>, has_schema: bool) {
        let mut setup = if has_schema { structured() } else { setup() };
        (setup.model, setup.system) = (model, system);
        let request = ModelRequest { setup: Arc::new(setup.clone()), contents: Vec::new() };
        let read: ModelSetup = serde_json::from_value(model_prompt(&request)["request"].clone()).unwrap();
        prop_assert_eq!(read, setup);
    }
}

#[test]
fn a_cue_whose_request_cannot_be_read_takes_no_answer() {
    let problems = check_answer(PersonPart::Model, &json!({}), &json!({"text": "hi"})).unwrap_err();
    assert!(problems[0].starts_with("the request of the cue cannot be read"), "{problems:?}");
}

#[test]
fn a_schema_that_cannot_be_used_in_part_holds_in_all_the_rest() {
    for (odd, place) in [
        (json!({"pattern": "("}), "$.properties.odd.pattern"),
        (json!({"$ref": "#/$defs/none"}), r#"$.properties.odd["$ref"]"#),
        (json!({"$ref": "https://example.com/schema.json"}), r#"$.properties.odd["$ref"]"#),
        (json!({"type": "wishful"}), "$.properties.odd.type"),
    ] {
        let parameters = json!({"type": "object", "properties": {"odd": odd, "id": {"type": "integer"}}, "required": ["id"]});
        let setup = ModelSetup { tools: vec![tool("find", parameters)], ..ModelSetup::default() };
        let call =
            |args: Value| check_model_answer(&setup, &json!({"calls": [{"tool": "find", "args": args}]}));
        assert!(call(json!({"id": 1, "odd": "x"})).is_ok());
        let refused = call(json!({"odd": "x"})).unwrap_err();
        assert!(refused[0].contains(r#""id" is a required property"#), "{refused:?}");
        let request = ModelRequest { setup: Arc::new(setup.clone()), contents: Vec::new() };
        let said = &model_prompt(&request)["unchecked"][0];
        assert_eq!((&said["tool"], &said["place"]), (&json!("find"), &json!(place)));
    }
}

#[test]
fn a_schema_that_nobody_can_wait_for_is_refused() {
    let mut definitions = serde_json::Map::from_iter([("a0".to_owned(), json!({"type": "string"}))]);
    for level in 1..=30 {
        let before = json!({"$ref": format!("#/$defs/a{}", level - 1)});
        definitions.insert(format!("a{level}"), json!({"anyOf": [before, before]}));
    }
    let parameters =
        json!({"type": "object", "$defs": definitions, "properties": {"x": {"$ref": "#/$defs/a30"}}});
    let setup = ModelSetup { tools: vec![tool("deep", parameters)], ..ModelSetup::default() };
    let answer = json!({"calls": [{"tool": "deep", "args": {"x": 1}}]});
    let refused = check_model_answer(&setup, &answer).unwrap_err();
    assert!(refused[0].contains("multiply so often"), "{refused:?}");
}
