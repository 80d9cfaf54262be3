//! What a write does, and what it does not do.

use bytes::Bytes;
use futures::future::join_all;
use rehearsal_core::{SessionPart, TurnId};
use rehearsal_store::{
    CueChange, CueId, NewWork, Payload, RunAbout, RunLife, RunRecord, RunStatus, SessionSource,
    SessionStatus, StoreError, WorkKind, Write,
};
use serde_json::json;

use crate::support::*;

behaviours! {
    async fn everything_that_is_written_is_read_again(home: &Home) {
        let (session, turn) = (fresh(), id());
        let mut write = create(&session, SessionSource::Adksim);
        let new = write.create.as_mut().unwrap();
        (new.description, new.agent) = (Some("Ünïcode".to_owned()), Some("triage".to_owned()));
        (new.part, new.meta) = (SessionPart::User, json!({"host": {"b": 1, "a": 2.5}}));
        write.events = vec![event(1, started()), event(2, said("a\0b")), event(3, request())];
        let request = &mut write.events[2];
        std::sync::Arc::make_mut(&mut request.event).turn = Some(TurnId::from(turn.as_str()));
        (request.payload, request.blob) = (Payload::Request, Bytes::from_static(b"\x00\xff"));
        home.store.write(write.clone()).await.unwrap();

        let kept = home.store.session(&session).await.unwrap().unwrap();
        assert_eq!((kept.id, kept.created_at, kept.updated_at, kept.last_seq), (session.clone(), NOW, NOW, 3));
        assert_eq!((kept.status, kept.source, kept.part), (SessionStatus::Active, SessionSource::Adksim, SessionPart::User));
        assert_eq!((kept.description.as_deref(), kept.agent.as_deref()), (Some("Ünïcode"), Some("triage")));
        assert_eq!(kept.meta.to_string(), r#"{"host":{"b":1,"a":2.5}}"#);

        let events = home.store.events(&session, 0, 10).await.unwrap();
        assert_eq!(events.len(), 3);
        for (kept, written) in events.iter().zip(&write.events) {
            assert_eq!((&kept.event_id, &kept.event), (&written.event_id, &written.event));
            assert_eq!((kept.payload, &kept.blob), (written.payload, &written.blob));
            assert_eq!(kept.timestamp, written.event.at.as_millisecond());
        }
        assert_eq!(home.store.events(&session, 1, 1).await.unwrap(), [events[1].clone()]);
        let one = home.store.event(&session, &write.events[1].event_id).await.unwrap();
        assert_eq!(one.as_ref(), Some(&events[1]));
        assert_eq!(home.store.event(&fresh(), &write.events[1].event_id).await.unwrap(), None);
        let (asked, answered) = home.store.turn(&session, &TurnId::from(turn.as_str())).await.unwrap();
        assert_eq!((asked.as_ref(), answered), (Some(&events[2]), None));
    }

    async fn whoever_did_not_see_the_last_event_decides_again(home: &Home) {
        let session = home.session().await;
        home.store.write(append(&session, 2, note(), None)).await.unwrap();
        for known in [0, 2, 4] {
            let error = home.store.write(append(&session, known, note(), None)).await.unwrap_err();
            assert!(matches!(&error, StoreError::Moved { last_seq: 3, session: moved } if *moved == session), "{error:?}");
        }
        let mut write = create(&fresh(), SessionSource::Api);
        write.after = 1;
        write.events = vec![event(2, note())];
        assert!(matches!(home.store.write(write).await, Err(StoreError::Moved { last_seq: 0, .. })));
    }

    async fn a_session_is_made_once_and_not_by_writing_to_it(home: &Home) {
        let session = home.session().await;
        let error = home.store.write(create(&session, SessionSource::Api)).await.unwrap_err();
        assert!(matches!(error, StoreError::Exists { what: "session", .. }), "{error:?}");
        let error = home.store.write(Write::new(fresh(), NOW, 0)).await.unwrap_err();
        assert!(matches!(error, StoreError::NotFound { what: "session", .. }), "{error:?}");
        let mut write = create(&fresh(), SessionSource::Run);
        write.create.as_mut().unwrap().run = Some("r-1".to_owned());
        assert_refused(home.store.write(write).await, "keep the run first");
    }

    async fn a_write_happens_whole_or_not_at_all(home: &Home) {
        let (session, cue_id) = (home.session().await, CueId::new(id()));
        let mut write = append(&session, 2, note(), None);
        write.cues = vec![CueChange::Open(cue(&cue_id)), CueChange::Dismiss { cue: CueId::new("nobody's") }];
        write.agent = Some("late".to_owned());
        let error = home.store.write(write).await.unwrap_err();
        assert!(matches!(error, StoreError::NotFound { what: "cue", .. }), "{error:?}");
        let kept = home.store.session(&session).await.unwrap().unwrap();
        assert_eq!((kept.last_seq, kept.agent), (2, None));
        assert_eq!(home.store.cue(&cue_id).await.unwrap(), None);
        assert_eq!(home.store.events(&session, 2, 10).await.unwrap(), []);
    }

    async fn agent_and_meta_are_set_when_they_are_said(home: &Home) {
        let session = home.session().await;
        let mut write = Write::new(session.clone(), NOW + 5, 0);
        (write.agent, write.meta) = (Some("triage".to_owned()), Some(json!({"host": "h"})));
        home.store.write(write).await.unwrap();
        home.store.write(Write::new(session.clone(), NOW + 6, 0)).await.unwrap();
        let kept = home.store.session(&session).await.unwrap().unwrap();
        assert_eq!((kept.agent.as_deref(), kept.meta), (Some("triage"), json!({"host": "h"})));
        assert_eq!((kept.last_seq, kept.updated_at), (2, NOW));
    }

    async fn many_writers_at_once_lose_nothing(home: &Home) {
        let session = home.session().await;
        let others = join_all((0..4).map(|_| home.session())).await;
        let writers = (0..24).map(|number| {
            let (store, own, shared) = (home.store.clone(), others[number % 4].clone(), session.clone());
            tokio::spawn(async move {
                let mut mine = Vec::new();
                for session in [&own, &shared].into_iter().cycle().take(8) {
                    let mut last = 2;
                    loop {
                        let write = append(session, last, note(), None);
                        let id = write.events[0].event_id.clone();
                        match store.write(write).await {
                            Ok(()) => break mine.push((session.clone(), id)),
                            Err(StoreError::Moved { last_seq, .. }) => last = last_seq,
                            Err(other) => panic!("{other}"),
                        }
                    }
                }
                mine
            })
        });
        let mut acknowledged: Vec<_> = join_all(writers).await.into_iter().flat_map(Result::unwrap).collect();
        let mut kept = Vec::new();
        for session in others.iter().chain([&session]) {
            let events = home.store.events(session, 2, 1000).await.unwrap();
            let numbers: Vec<u64> = events.iter().map(|event| event.event.seq).collect();
            assert_eq!(numbers, (3..3 + numbers.len() as u64).collect::<Vec<_>>());
            assert_eq!(home.store.session(session).await.unwrap().unwrap().last_seq, numbers.len() as u64 + 2);
            kept.extend(events.into_iter().map(|event| (session.clone(), event.event_id)));
        }
        acknowledged.sort();
        kept.sort();
        assert_eq!(acknowledged, kept);
    }

    async fn one_that_is_refused_does_not_hurt_those_beside_it(home: &Home) {
        let sessions = join_all((0..20).map(|_| home.session())).await;
        let writes = sessions.iter().enumerate().map(|(at, session)| {
            let (store, body) = (home.store.clone(), if at % 3 == 0 { result("none") } else { note() });
            let write = append(session, 2, body, None);
            tokio::spawn(async move { store.write(write).await })
        });
        for (at, outcome) in join_all(writes).await.into_iter().enumerate() {
            assert_eq!(outcome.unwrap().is_ok(), at % 3 != 0);
            let last = home.store.session(&sessions[at]).await.unwrap().unwrap().last_seq;
            assert_eq!(last, if at % 3 == 0 { 2 } else { 3 });
        }
    }

    async fn a_session_goes_with_all_that_belongs_to_it(home: &Home) {
        let (gone, stays) = (home.session().await, home.session().await);
        let (cue, other) = (home.ask(&gone).await, home.ask(&stays).await);
        let mut write = Write::new(gone.clone(), NOW, 0);
        let work = id();
        write.work = vec![NewWork { id: work.clone(), host: "h".to_owned(), kind: WorkKind::Run, payload: json!({}) }];
        home.store.write(write).await.unwrap();
        home.store.delete_session(&gone).await.unwrap();
        assert_eq!(home.store.session(&gone).await.unwrap(), None);
        assert_eq!(home.store.events(&gone, 0, 10).await.unwrap(), []);
        assert_eq!(home.store.cue(&cue).await.unwrap(), None);
        assert_eq!(home.store.work(&work).await.unwrap(), None);
        assert!(home.store.cue(&other).await.unwrap().is_some());
        let error = home.store.delete_session(&gone).await.unwrap_err();
        assert!(matches!(error, StoreError::NotFound { what: "session", .. }), "{error:?}");
    }

    async fn a_run_goes_with_its_sessions(home: &Home) {
        let run = RunRecord {
            id: id(),
            started_at: NOW,
            ended_at: None,
            title: "cases.yaml".to_owned(),
            status: RunStatus::Running,
            about: RunAbout::default(),
            result: None,
            life: RunLife::default(),
        };
        home.store.put_run(&run).await.unwrap();
        let session = fresh();
        let mut write = create(&session, SessionSource::Run);
        write.create.as_mut().unwrap().run = Some(run.id.clone());
        home.store.write(write).await.unwrap();
        let done = RunRecord {
            ended_at: Some(NOW + 9),
            status: RunStatus::Passed,
            result: Some(json!({"cases": []})),
            ..run.clone()
        };
        home.store.put_run(&done).await.unwrap();
        assert_eq!(home.store.run(&run.id).await.unwrap(), Some(done.clone()));
        assert!(home.store.session(&session).await.unwrap().is_some());
        home.store.delete_run(&run.id).await.unwrap();
        assert_eq!(home.store.session(&session).await.unwrap(), None);
        assert!(matches!(home.store.delete_run(&run.id).await, Err(StoreError::NotFound { what: "run", .. })));
    }
}
