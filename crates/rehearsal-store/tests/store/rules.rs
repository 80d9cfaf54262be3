//! What never holds of anything that is kept.

use std::sync::Arc;

use bytes::Bytes;
use rehearsal_core::{EventBody, Ledger, TurnId};
use rehearsal_store::{
    CueChange, CueId, NewCue, NewWork, Payload, SessionSource, SessionStatus, StoreError, WorkKind, Write,
};
use serde_json::json;

use crate::support::*;

async fn end(
    home: &Home,
    session: &rehearsal_core::SessionId,
    status: SessionStatus,
) -> Result<(), StoreError> {
    let mut write = Write::new(session.clone(), NOW, 0);
    write.status = Some(status);
    home.store.write(write).await
}

behaviours! {
    /// The rules of the database know what stands beside the conversation as the ledger does.
    async fn what_stands_beside_the_conversation_may_come_before_it_and_after_its_end(home: &Home) {
        let ledger = Ledger::from_jsonl(include_str!("../../../rehearsal-core/tests/golden/beside.jsonl")).unwrap();
        let beside = || ledger.events().iter().map(|event| event.body.clone()).filter(EventBody::is_beside);
        let kinds: std::collections::BTreeSet<&str> = beside().map(|body| body.kind()).collect();
        assert_eq!(kinds.len(), 18, "{kinds:?}");
        let session = fresh();
        let mut write = create(&session, SessionSource::Api);
        write.events = vec![event(1, started())];
        home.store.write(write).await.unwrap();
        for body in beside() {
            home.append(&session, body, None).await.unwrap();
        }
        home.append(&session, said("hi"), None).await.unwrap();
        end(home, &session, SessionStatus::Cancelled).await.unwrap();
        for body in beside() {
            home.append(&session, body, None).await.unwrap();
        }
    }

    async fn a_turn_has_one_request_and_at_most_one_response(home: &Home) {
        let (session, turn) = (home.session().await, id());
        let turn = Some(turn.as_str());
        assert_refused(home.append(&session, response(), turn).await, "which session");
        home.append(&session, request(), turn).await.unwrap();
        assert_refused(home.append(&session, request(), turn).await, "has a request already");
        home.append(&session, response(), turn).await.unwrap();
        assert_refused(home.append(&session, response(), turn).await, "has a response already");
        assert_refused(home.append(&session, request(), None).await, "must name its turn");

        let elsewhere = home.session().await;
        assert_refused(home.append(&elsewhere, response(), turn).await, "which session");
        home.append(&elsewhere, request(), turn).await.unwrap();
    }

    async fn answers_without_a_turn_are_kept_as_often_as_they_come(home: &Home) {
        let session = home.session().await;
        home.append(&session, response(), None).await.unwrap();
        home.append(&session, response(), None).await.unwrap();
        let nothing = home.store.turn(&session, &TurnId::from("")).await.unwrap();
        assert_eq!(nothing, (None, None));
    }

    async fn a_status_changes_once(home: &Home) {
        let session = home.session().await;
        end(home, &session, SessionStatus::Active).await.unwrap();
        assert_refused(end(home, &session, SessionStatus::Completed).await, "has no final response");
        home.append(&session, final_response(), None).await.unwrap();
        end(home, &session, SessionStatus::Completed).await.unwrap();
        for status in [SessionStatus::Completed, SessionStatus::Cancelled, SessionStatus::Active] {
            assert_refused(end(home, &session, status).await, "is completed already");
        }
        let kept = home.store.session(&session).await.unwrap().unwrap();
        assert_eq!(kept.status, SessionStatus::Completed);
    }

    async fn the_end_and_the_last_events_are_one_write(home: &Home) {
        let session = home.session().await;
        let mut write = Write::new(session.clone(), NOW, 2);
        write.events = vec![event(3, final_response()), event(4, ended())];
        write.status = Some(SessionStatus::Completed);
        home.store.write(write).await.unwrap();
        assert_eq!(home.store.session(&session).await.unwrap().unwrap().last_seq, 4);
    }

    async fn nothing_that_is_said_follows_the_end(home: &Home) {
        let session = home.session().await;
        end(home, &session, SessionStatus::Cancelled).await.unwrap();
        assert_refused(home.append(&session, said("still there?"), None).await, "only what stands beside the conversation can follow");
        home.append(&session, note(), None).await.unwrap();
    }

    async fn events_are_numbered_without_a_gap(home: &Home) {
        let session = home.session().await;
        let mut write = Write::new(session.clone(), NOW, 2);
        write.events = vec![event(4, note())];
        assert_refused(home.store.write(write).await, "the next one of session");
        let mut write = Write::new(session.clone(), NOW, 2);
        write.events = vec![event(3, note()), event(3, note())];
        assert_refused(home.store.write(write).await, "the next one of session");
        assert_eq!(home.store.session(&session).await.unwrap().unwrap().last_seq, 2);
    }

    async fn an_event_id_is_used_once_in_the_whole_store(home: &Home) {
        let (one, other) = (home.session().await, home.session().await);
        let write = append(&one, 2, note(), None);
        let mut again = append(&other, 2, note(), None);
        again.events[0].event_id.clone_from(&write.events[0].event_id);
        home.store.write(write).await.unwrap();
        let error = home.store.write(again).await.unwrap_err();
        assert!(matches!(error, StoreError::Exists { what: "event", .. }), "{error:?}");
    }

    async fn a_call_is_made_once_and_answered_once(home: &Home) {
        let session = home.session().await;
        assert_refused(home.append(&session, result("c1"), None).await, "which session");
        home.append(&session, call("c1"), None).await.unwrap();
        assert_refused(home.append(&session, call("c1"), None).await, "is used twice");
        home.append(&session, result("c1"), None).await.unwrap();
        assert_refused(home.append(&session, result("c1"), None).await, "kept as a note");
        home.append(&home.session().await, call("c1"), None).await.unwrap();
    }

    async fn an_author_has_one_to_a_hundred_characters(home: &Home) {
        let session = home.session().await;
        let by = |author: &str, last| {
            let mut write = append(&session, last, note(), None);
            Arc::make_mut(&mut write.events[0].event).author = author.into();
            write
        };
        assert_refused(home.store.write(by("", 2)).await, "1 to 100 characters");
        assert_refused(home.store.write(by(&"é".repeat(101), 2)).await, "1 to 100 characters");
        assert_refused(home.store.write(by("a\0b", 2)).await, "NUL");
        home.store.write(by(&"é".repeat(100), 2)).await.unwrap();
        home.store.write(by("x", 3)).await.unwrap();
    }

    async fn a_session_of_the_wire_begins_with_what_the_user_says(home: &Home) {
        for source in [SessionSource::Api, SessionSource::Adksim] {
            let session = fresh();
            home.store.write(create(&session, source)).await.unwrap();
            home.append(&session, started(), None).await.unwrap();
            home.append(&session, note(), None).await.unwrap();
            let turn = id();
            for (body, turn) in
                [(request(), Some(turn.as_str())), (call("c"), None), (final_response(), None), (response(), None)]
            {
                assert_refused(home.append(&session, body, turn).await, "before any `user_message`");
            }
            home.append(&session, said("hi"), None).await.unwrap();
            home.append(&session, request(), Some(&turn)).await.unwrap();
        }
    }

    async fn a_session_that_was_asked_nothing_can_be_ended(home: &Home) {
        let session = fresh();
        home.store.write(create(&session, SessionSource::Api)).await.unwrap();
        let mut write = append(&session, 0, ended(), None);
        write.status = Some(SessionStatus::Cancelled);
        home.store.write(write).await.unwrap();
    }

    async fn a_run_may_open_with_the_agent(home: &Home) {
        for source in [SessionSource::Run, SessionSource::Import] {
            let session = fresh();
            home.store.write(create(&session, source)).await.unwrap();
            home.append(&session, call("c"), None).await.unwrap();
        }
    }

    async fn ids_of_the_wire_are_uuids(home: &Home) {
        let odd = create(&"s-1".into(), SessionSource::Api);
        assert_refused(home.store.write(odd).await, "the id of a session must be a UUIDv4");
        home.store.write(create(&"s-1".into(), SessionSource::Run)).await.unwrap();

        let session = home.session().await;
        assert_refused(home.append(&session, request(), Some("t-1")).await, "the id of a turn must be a UUIDv4");
        let mut write = append(&session, 2, note(), None);
        "e-1".clone_into(&mut write.events[0].event_id);
        assert_refused(home.store.write(write).await, "the id of an event must be a UUIDv4");
    }

    async fn a_long_description_is_cut_by_characters(home: &Home) {
        let session = fresh();
        let mut write = create(&session, SessionSource::Api);
        write.create.as_mut().unwrap().description = Some("ü".repeat(501));
        home.store.write(write).await.unwrap();
        let kept = home.store.session(&session).await.unwrap().unwrap();
        assert_eq!(kept.description, Some("ü".repeat(500)));
    }

    async fn a_payload_is_of_the_kind_its_event_is(home: &Home) {
        let session = home.session().await;
        let mut write = append(&session, 2, note(), None);
        write.events[0].payload = Payload::Request;
        assert_refused(home.store.write(write).await, "neither a request nor a response");
        let mut write = append(&session, 2, request(), Some(&id()));
        write.events[0].payload = Payload::Request;
        write.events[0].blob = Bytes::from_static(b"\x00\xff\x01");
        home.store.write(write).await.unwrap();
    }

    async fn what_is_kept_with_a_session_is_an_object(home: &Home) {
        let mut write = Write::new(home.session().await, NOW, 0);
        write.meta = Some(serde_json::json!([1]));
        assert_refused(home.store.write(write).await, "is no object");
    }

    /// Another program that writes to the same tables cannot break them either.
    async fn the_database_itself_keeps_the_rules(home: &Home) {
        let session = home.session_from(SessionSource::Adksim).await;
        let turn = id();
        home.append(&session, request(), Some(&turn)).await.unwrap();
        home.append(&session, call("c1"), None).await.unwrap();
        let cue = home.ask(&session).await;
        let ended = home.session().await;
        end(home, &ended, SessionStatus::Cancelled).await.unwrap();
        let empty = fresh();
        home.store.write(create(&empty, SessionSource::Api)).await.unwrap();

        let event = |session: &rehearsal_core::SessionId, seq: u64, kind: &str, turn: &str, call: &str, author: &str| {
            format!(
                "INSERT INTO events (event_id, session_id, timestamp, turn_id, agent_name, payload_type, proto_blob, \
                 seq, kind, call_id, event) VALUES ('{}', '{session}', 0, '{turn}', '{author}', 'other', '', {seq}, \
                 '{kind}', '{call}', '{{}}')",
                id()
            )
        };
        home.raw(&event(&session, 5, "note", "", "", "a")).unwrap();
        for broken in [
            event(&session, 7, "note", "", "", "a"),
            event(&session, 5, "note", "", "", "a"),
            event(&session, 6, "note", "", "", ""),
            event(&session, 6, "note", "", "", &"x".repeat(101)),
            event(&session, 6, "model_request", &turn, "", "a"),
            event(&session, 6, "model_request", "", "", "a"),
            event(&session, 6, "model_response", "none", "", "a"),
            event(&session, 6, "tool_call", "", "c1", "a"),
            event(&session, 6, "tool_result", "", "c2", "a"),
            event(&ended, 3, "user_message", "", "", "a"),
            event(&empty, 1, "tool_call", "", "c1", "a"),
            format!("UPDATE sessions SET status = 'completed' WHERE id = '{session}'"),
            format!("UPDATE sessions SET status = 'active' WHERE id = '{ended}'"),
            format!("UPDATE sessions SET status = 'asleep' WHERE id = '{session}'"),
            format!("UPDATE sessions SET source = 'elsewhere' WHERE id = '{session}'"),
            format!("UPDATE events SET event = '' WHERE session_id = '{session}'"),
            format!("UPDATE cues SET status = 'answered' WHERE id = '{cue}'"),
            "INSERT INTO uploads (id, size, updated_at) VALUES ('u', 268435457, 0)".to_owned(),
        ] {
            assert!(home.raw(&broken).is_err(), "{broken}");
        }
    }

    async fn what_could_not_be_read_again_is_refused(home: &Home) {
        let session = home.session().await;
        let nested = |levels: usize| (0..levels).fold(json!("]]\\\"[["), |inner, _| json!([inner]));
        let noted = |levels: usize| EventBody::Note { name: "deep".into(), data: nested(levels) };
        // An event adds two levels of its own.
        home.append(&session, noted(98), None).await.unwrap();
        assert_refused(home.append(&session, noted(99), None).await, "nested deeper than 100 levels");
        let change = async |with: &dyn Fn(&mut Write)| {
            let mut write = Write::new(session.clone(), NOW, 0);
            with(&mut write);
            home.store.write(write).await
        };
        let cue_id = CueId::new(id());
        let prompt = |levels: usize| CueChange::Open(NewCue { prompt: nested(levels), ..cue(&cue_id) });
        assert_refused(change(&|write| write.cues = vec![prompt(101)]).await, "nested deeper");
        change(&|write| write.cues = vec![prompt(100)]).await.unwrap();
        let answer = |levels: usize| CueChange::Answer {
            cue: cue_id.clone(), answer: nested(levels), key: None, event: None,
        };
        assert_refused(change(&|write| write.cues = vec![answer(101)]).await, "nested deeper");
        change(&|write| write.cues = vec![answer(100)]).await.unwrap();
        let work = |levels: usize| NewWork {
            id: id(), host: "h".to_owned(), kind: WorkKind::Run, payload: nested(levels),
        };
        assert_refused(change(&|write| write.work = vec![work(101)]).await, "nested deeper");
        change(&|write| write.work = vec![work(100)]).await.unwrap();

        assert_eq!(home.store.events(&session, 2, 9).await.unwrap().len(), 1);
        assert_eq!(home.store.cue(&cue_id).await.unwrap().unwrap().answer, Some(nested(100)));
        assert_eq!(home.store.take_work("h", NOW).await.unwrap().unwrap().payload, nested(100));
    }
}
