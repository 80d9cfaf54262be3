//! Whole ledgers, in and out.

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use rehearsal_core::{Ledger, SessionId};
use rehearsal_store::{
    NewSession, SessionQuery, SessionSource, SessionStatus, StoreError, import_ledger, read_ledger,
};
use rehearsal_testkit::ledger;

use crate::support::*;

fn import() -> NewSession {
    new_session(SessionSource::Import)
}

/// Any session that can be, step by step.
fn any_ledger() -> impl Strategy<Value = Ledger> {
    let step = prop_oneof![
        "[a-zé\"\\\\ %]{0,8}".prop_map(|text| format!("user: {text}")),
        "[a-z]{1,8}".prop_map(|text| format!("agent: {text}")),
        any::<f64>().prop_filter("finite", |number| number.is_finite()).prop_map(|number| format!(
            "call ask {{\"q\": {number:e}, \"a\": \"\\u0000\"}} / result ask [null, {number:e}]"
        )),
        Just("call ask / fail ask it broke".to_owned()),
        Just(r#"state {"session": {"b": 1, "a": {"c": [1.0, 2]}}}"#.to_owned()),
        Just("yield".to_owned()),
        Just(r#"final {"done": true}"#.to_owned()),
        Just(r#"note seen {"by": "me"}"#.to_owned()),
    ];
    let end = prop_oneof![Just(""), Just("/ end"), Just("/ end cancelled"), Just("/ end error / note later")];
    (prop::collection::vec(step, 1..12), end)
        .prop_map(|(steps, end)| ledger(&format!("{} {end}", steps.join(" / "))))
}

behaviours! {
    async fn a_ledger_comes_back_as_it_was(home: &Home) {
        let mut runner = TestRunner::new(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() });
        let handle = tokio::runtime::Handle::current();
        tokio::task::block_in_place(|| {
            let result = runner.run(&any_ledger(), |ledger| {
                let again = handle.block_on(async {
                    let id = import_ledger(&*home.store, &ledger, import()).await?;
                    read_ledger(&*home.store, &id).await
                });
                prop_assert_eq!(again.map_err(|error| TestCaseError::fail(error.to_string()))?.to_jsonl(), ledger.to_jsonl());
                Ok(())
            });
            result.unwrap();
        });
    }

    async fn a_long_ledger_is_written_and_read_in_pieces(home: &Home) {
        let steps: Vec<String> = (0..1203).map(|number| format!("user: {number}")).collect();
        let long = ledger(&format!(r#"{} / final "f" / end / note later"#, steps.join(" / ")));
        let id = import_ledger(&*home.store, &long, import()).await.unwrap();
        assert_eq!(read_ledger(&*home.store, &id).await.unwrap().to_jsonl(), long.to_jsonl());
        let kept = home.store.session(&id).await.unwrap().unwrap();
        assert_eq!((kept.last_seq, kept.status), (1207, SessionStatus::Completed));
    }

    async fn the_status_follows_the_end(home: &Home) {
        for (description, status) in [
            ("user: hi", SessionStatus::Active),
            (r#"user: hi / final "x""#, SessionStatus::Active),
            (r#"user: hi / final "x" / end"#, SessionStatus::Completed),
            (r#"user: hi / final "x" / end state_matches"#, SessionStatus::Completed),
            ("user: hi / end", SessionStatus::Cancelled),
            (r#"user: hi / final "x" / end cancelled"#, SessionStatus::Cancelled),
            (r#"user: hi / final "x" / end error / note n"#, SessionStatus::Cancelled),
        ] {
            let id = import_ledger(&*home.store, &ledger(description), import()).await.unwrap();
            assert_eq!(home.store.session(&id).await.unwrap().unwrap().status, status, "{description}");
        }
    }

    async fn an_own_id_is_kept_when_it_is_free(home: &Home) {
        let own = fresh();
        let renamed = ledger("user: hi").to_jsonl().replace("s-1", own.as_str());
        let renamed = Ledger::from_jsonl(&renamed).unwrap();
        assert_eq!(import_ledger(&*home.store, &renamed, import()).await.unwrap(), own);
        let other = import_ledger(&*home.store, &renamed, import()).await.unwrap();
        assert_ne!(other, own);
        let kept = read_ledger(&*home.store, &other).await.unwrap();
        assert_eq!((kept.session(), kept.to_jsonl()), (&own, renamed.to_jsonl()));
    }

    async fn nothing_is_left_of_a_ledger_that_is_refused(home: &Home) {
        let steps: Vec<String> = (0..600).map(|number| format!("user: {number}")).collect();
        let long_name = "x".repeat(101);
        let bad = ledger(&format!("{} / {long_name}: hi", steps.join(" / ")));
        assert!(matches!(import_ledger(&*home.store, &bad, import()).await, Err(StoreError::Refused(_))));
        assert_eq!(home.store.sessions(&SessionQuery::default()).await.unwrap().items, []);
    }

    async fn a_session_without_events_has_an_empty_ledger(home: &Home) {
        let session = fresh();
        home.store.write(create(&session, SessionSource::Api)).await.unwrap();
        let read = read_ledger(&*home.store, &session).await.unwrap();
        assert_eq!((read.session(), read.events().len()), (&session, 0));
        let none = read_ledger(&*home.store, &SessionId::from("none")).await.unwrap_err();
        assert!(matches!(none, StoreError::NotFound { what: "session", .. }), "{none:?}");
    }
}
