//! What holds of every ledger and every state.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::sync::Arc;

use proptest::prelude::*;
use rehearsal_core::*;
use serde_json::{Map, Value, json};

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-5i64..5).prop_map(Value::from),
        any::<f64>().prop_filter_map("finite", |f| f.is_finite().then(|| Value::from(f))),
        "[a-zé\\n\"]{0,4}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            fields(inner).prop_map(Value::Object),
        ]
    })
}

fn fields(value: impl Strategy<Value = Value>) -> impl Strategy<Value = Map<String, Value>> {
    prop::collection::vec(("[a-d]", value), 0..4).prop_map(|pairs| pairs.into_iter().collect())
}

fn patch() -> impl Strategy<Value = StatePatch> {
    prop::collection::vec((prop_oneof!["session", "user", "patient"], fields(json_value())), 0..3).prop_map(
        |scopes| {
            let scopes = scopes.into_iter().map(|(scope, fields)| (scope, Value::Object(fields))).collect();
            StatePatch::from_value(Value::Object(scopes)).unwrap()
        },
    )
}

/// Events that can follow each other in any order.
fn body() -> impl Strategy<Value = EventBody> {
    let content = prop_oneof![
        any::<String>().prop_map(Content::user),
        (any::<String>(), fields(json_value()))
            .prop_map(|(name, args)| Content::new(Role::Model, vec![Part::call(name, Value::Object(args))])),
        json_value()
            .prop_map(|value| Content::new(Role::User, vec![FunctionResponse::new(None, "t", value).into()])),
    ];
    let content = content.prop_map(Arc::new);
    prop_oneof![
        content.clone().prop_map(|content| EventBody::UserMessage { content }),
        content.prop_map(|content| EventBody::ModelResponse(ModelResponse {
            content,
            ..ModelResponse::default()
        })),
        patch().prop_map(|changes| EventBody::StateChange { changes }),
        (json_value(), prop::collection::vec(patch(), 0..3))
            .prop_map(|(output, changes)| EventBody::AgentEnded { output, changes, transfer_to: None }),
        json_value().prop_map(|data| EventBody::Note { name: "n".into(), data }),
        json_value().prop_map(|output| EventBody::FinalResponse { output }),
    ]
}

prop_compose! {
    fn ledger()(state in patch(), bodies in prop::collection::vec((body(), 0i64..1_000_000), 0..12)) -> Ledger {
        let mut initial = State::default();
        initial.apply(&state);
        let mut ledger = Ledger::new("s".into());
        let start = SessionStarted { agent: "a".into(), state: initial, ..SessionStarted::default() };
        ledger.append(Draft::new(Timestamp::UNIX_EPOCH, "rehearsal", EventBody::SessionStarted(start))).unwrap();
        for (body, micros) in bodies {
            ledger.append(Draft::new(Timestamp::from_microsecond(micros).unwrap(), "a", body)).unwrap();
        }
        ledger
    }
}

proptest! {
    #[test]
    fn a_ledger_survives_its_file(ledger in ledger()) {
        let text = ledger.to_jsonl();
        let again = Ledger::from_jsonl(&text).unwrap();
        prop_assert_eq!(again.events(), ledger.events());
        prop_assert_eq!(again.to_jsonl(), text);
        prop_assert_eq!(again.state(), ledger.state());
    }

    #[test]
    fn state_is_the_fold_of_the_changes(ledger in ledger()) {
        let mut state = ledger.started().unwrap().state.to_value();
        for event in ledger.events() {
            for patch in event.body.changes() {
                merge_patch(&mut state, &serde_json::to_value(patch).unwrap());
            }
            prop_assert_eq!(&ledger.state_at(event.seq).to_value(), &state);
        }
        prop_assert_eq!(ledger.state().to_value(), state);
    }

    #[test]
    fn a_prefix_goes_on_to_the_same_ledger(ledger in ledger(), cut in any::<prop::sample::Index>()) {
        let cut = cut.index(ledger.events().len()) + 1;
        let mut fork = ledger.prefix(cut);
        for event in &ledger.events()[cut.min(ledger.events().len())..] {
            let mut draft = Draft::new(event.at, event.author.clone(), event.body.clone());
            draft.invocation.clone_from(&event.invocation);
            fork.append(draft).unwrap();
        }
        prop_assert_eq!(fork.to_jsonl(), ledger.to_jsonl());
    }

    #[test]
    fn replacing_gives_exactly_the_value(before in patch(), key in "[a-d]", value in json_value()) {
        let mut state = State::default();
        state.apply(&before);
        let patch = StatePatch::replacing(&state, "session", &key, value.clone());
        state.apply(&patch);
        let mut expected = json!({});
        merge_patch(&mut expected, &json!({ "value": value }));
        prop_assert_eq!(state.get("session", &key), expected.get("value"));
    }

    #[test]
    fn absorbing_changes_nothing(start in patch(), first in patch(), second in patch()) {
        let mut one_by_one = State::default();
        one_by_one.apply(&start);
        let mut at_once = one_by_one.clone();
        one_by_one.apply(&first);
        one_by_one.apply(&second);
        let mut joined = first;
        let rest = joined.absorb(second);
        at_once.apply(&joined);
        if let Some(rest) = rest {
            at_once.apply(&rest);
        }
        prop_assert_eq!(at_once, one_by_one);
    }

    #[test]
    fn reading_never_panics(text in "(?s).{0,200}") {
        let _ = Ledger::from_jsonl(&text).is_ok();
    }
}

/// The table of RFC 7396, appendix A.
#[test]
fn merging_is_as_the_rfc_has_it() {
    let table = [
        (json!({"a": "b"}), json!({"a": "c"}), json!({"a": "c"})),
        (json!({"a": "b"}), json!({"b": "c"}), json!({"a": "b", "b": "c"})),
        (json!({"a": "b"}), json!({"a": null}), json!({})),
        (json!({"a": "b", "b": "c"}), json!({"a": null}), json!({"b": "c"})),
        (json!({"a": ["b"]}), json!({"a": "c"}), json!({"a": "c"})),
        (json!({"a": "c"}), json!({"a": ["b"]}), json!({"a": ["b"]})),
        (json!({"a": {"b": "c"}}), json!({"a": {"b": "d", "c": null}}), json!({"a": {"b": "d"}})),
        (json!({"a": [{"b": "c"}]}), json!({"a": [1]}), json!({"a": [1]})),
        (json!(["a", "b"]), json!(["c", "d"]), json!(["c", "d"])),
        (json!({"a": "b"}), json!(["c"]), json!(["c"])),
        (json!({"a": "foo"}), json!(null), json!(null)),
        (json!({"a": "foo"}), json!("bar"), json!("bar")),
        (json!({"e": null}), json!({"a": 1}), json!({"e": null, "a": 1})),
        (json!([1, 2]), json!({"a": "b", "c": null}), json!({"a": "b"})),
        (json!({}), json!({"a": {"bb": {"ccc": null}}}), json!({"a": {"bb": {}}})),
    ];
    for (mut target, patch, expected) in table {
        merge_patch(&mut target, &patch);
        assert_eq!(target, expected);
    }
}
