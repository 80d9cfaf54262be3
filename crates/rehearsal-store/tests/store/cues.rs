//! The life of a cue.

use rehearsal_core::SessionId;
use rehearsal_store::{Cue, CueChange, CueId, CueQuery, CueStatus, SessionStatus, StoreError, Write};
use serde_json::{Value, json};

use crate::support::*;

async fn change(home: &Home, session: &SessionId, at: i64, change: CueChange) -> Result<(), StoreError> {
    let mut write = Write::new(session.clone(), at, 0);
    write.cues = vec![change];
    home.store.write(write).await
}

fn answer(cue: &CueId, answer: Value) -> CueChange {
    CueChange::Answer { cue: cue.clone(), answer, key: Some("k".to_owned()), event: Some("e".to_owned()) }
}

async fn waiting(home: &Home, session: Option<&SessionId>) -> Vec<CueId> {
    let statuses = vec![CueStatus::Open, CueStatus::Abandoned];
    let query = CueQuery { session: session.cloned(), statuses, limit: 0 };
    home.store.cues(&query).await.unwrap().into_iter().map(|cue| cue.id).collect()
}

async fn look(home: &Home, cue: &CueId) -> Cue {
    home.store.cue(cue).await.unwrap().unwrap()
}

behaviours! {
    async fn cues_are_answered_in_the_order_they_came(home: &Home) {
        let session = home.session().await;
        let cues = [home.ask(&session).await, home.ask(&session).await, home.ask(&session).await];
        assert_eq!(waiting(home, Some(&session)).await, cues);
        change(home, &session, NOW, answer(&cues[0], json!({"text": "a"}))).await.unwrap();
        assert_eq!(waiting(home, Some(&session)).await, cues[1..]);
        let late = home.ask(&session).await;
        assert_eq!(look(home, &late).await.position, 4);
        let query = CueQuery { session: Some(session), ..CueQuery::default() };
        assert_eq!(home.store.cues(&query).await.unwrap().len(), 4);
        assert_eq!(home.store.cues(&CueQuery { limit: 2, ..query }).await.unwrap().len(), 2);
    }

    async fn cues_of_older_sessions_come_first(home: &Home) {
        let (old, new) = (home.session().await, fresh());
        let mut write = create(&new, rehearsal_store::SessionSource::Api);
        write.create.as_mut().unwrap().created_at += 10;
        home.store.write(write).await.unwrap();
        let second = home.ask(&new).await;
        let first = home.ask(&old).await;
        assert_eq!(waiting(home, None).await, [first, second]);
    }

    async fn an_answer_is_given_once(home: &Home) {
        let session = home.session().await;
        let cue = home.ask(&session).await;
        change(home, &session, NOW + 7, answer(&cue, Value::Null)).await.unwrap();
        let kept = look(home, &cue).await;
        assert_eq!((kept.status, kept.answer, kept.closed_at), (CueStatus::Answered, Some(Value::Null), Some(NOW + 7)));
        assert_eq!((kept.answer_key.as_deref(), kept.answer_event.as_deref()), (Some("k"), Some("e")));
        assert_refused(change(home, &session, NOW, answer(&cue, json!(2))).await, "is answered already");
        assert_refused(change(home, &session, NOW, CueChange::Dismiss { cue: cue.clone() }).await, "is answered already");
        home.store.touch_cues(std::slice::from_ref(&cue), NOW + 9).await.unwrap();
        assert_eq!(home.store.abandon_cues(NOW + 99, NOW + 99).await.unwrap(), []);
        assert_eq!(look(home, &cue).await.status, CueStatus::Answered);
    }

    async fn a_cue_is_answered_in_its_own_session(home: &Home) {
        let (session, other) = (home.session().await, home.session().await);
        let cue = home.ask(&session).await;
        let error = change(home, &other, NOW, answer(&cue, json!(1))).await.unwrap_err();
        assert!(matches!(error, StoreError::NotFound { what: "cue", .. }), "{error:?}");
        let error = change(home, &other, NOW, CueChange::Open(crate::support::cue(&cue))).await.unwrap_err();
        assert!(matches!(error, StoreError::Exists { what: "cue", .. }), "{error:?}");
    }

    async fn a_dismissed_cue_is_put_away(home: &Home) {
        let session = home.session().await;
        let (one, other) = (home.ask(&session).await, home.ask(&session).await);
        change(home, &session, NOW, CueChange::Dismiss { cue: one.clone() }).await.unwrap();
        assert_refused(change(home, &session, NOW, answer(&one, json!(1))).await, "is dismissed already");
        assert_eq!(waiting(home, Some(&session)).await, std::slice::from_ref(&other));
        change(home, &session, NOW, CueChange::DismissAll).await.unwrap();
        change(home, &session, NOW, CueChange::DismissAll).await.unwrap();
        assert_eq!(look(home, &other).await.status, CueStatus::Dismissed);
    }

    async fn a_cue_nobody_waits_for_is_abandoned_until_somebody_does(home: &Home) {
        let session = home.session().await;
        let (left, waited) = (home.ask(&session).await, home.ask(&session).await);
        home.store.touch_cues(&[waited.clone(), CueId::new("nobody's")], NOW + 100).await.unwrap();
        assert_eq!(home.store.abandon_cues(NOW, NOW).await.unwrap(), []);
        let abandoned = home.store.abandon_cues(NOW + 50, NOW + 50).await.unwrap();
        assert_eq!(abandoned.iter().map(|cue| &cue.id).collect::<Vec<_>>(), [&left]);
        assert_eq!(abandoned[0], look(home, &left).await);
        assert_eq!(abandoned[0].status, CueStatus::Abandoned);
        assert_eq!(home.store.abandon_cues(NOW + 50, NOW + 50).await.unwrap(), []);

        home.store.touch_cues(std::slice::from_ref(&left), NOW + 200).await.unwrap();
        let kept = look(home, &left).await;
        assert_eq!((kept.status, kept.seen_at, kept.opened_at), (CueStatus::Open, NOW + 200, NOW));
        home.store.touch_cues(std::slice::from_ref(&left), NOW + 150).await.unwrap();
        assert_eq!(look(home, &left).await.seen_at, NOW + 200);

        home.store.abandon_cues(NOW + 300, NOW + 300).await.unwrap();
        change(home, &session, NOW, answer(&left, json!("late"))).await.unwrap();
        assert_eq!(look(home, &left).await.status, CueStatus::Answered);
    }

    async fn the_end_of_a_session_puts_its_cues_away(home: &Home) {
        let session = home.session().await;
        let cue_id = home.ask(&session).await;
        let mut write = Write::new(session.clone(), NOW, 0);
        write.status = Some(SessionStatus::Cancelled);
        home.store.write(write).await.unwrap();
        assert_eq!(look(home, &cue_id).await.status, CueStatus::Dismissed);
        let more = CueChange::Open(cue(&CueId::new(id())));
        assert_refused(change(home, &session, NOW, more).await, "has ended");
    }

    async fn cues_that_somebody_waits_for_come_before_abandoned_ones(home: &Home) {
        let session = home.session().await;
        let left = [home.ask(&session).await, home.ask(&session).await];
        home.store.abandon_cues(NOW + 1, NOW + 1).await.unwrap();
        let open = home.ask(&session).await;
        assert_eq!(waiting(home, Some(&session)).await, [open.clone(), left[0].clone(), left[1].clone()]);
        let query = CueQuery { limit: 1, ..CueQuery::default() };
        assert_eq!(home.store.cues(&query).await.unwrap()[0].id, open);
    }

    async fn an_answer_is_found_by_its_key(home: &Home) {
        let (session, other) = (home.session().await, home.session().await);
        assert_eq!(home.store.answered_cue(&session, "k").await.unwrap(), None);
        for asked in [&session, &other, &session] {
            let cue = home.ask(asked).await;
            change(home, asked, NOW, answer(&cue, json!(1))).await.unwrap();
        }
        let found = home.store.answered_cue(&session, "k").await.unwrap().unwrap();
        assert_eq!((found.session, found.position), (session.clone(), 2));
        assert_eq!(home.store.answered_cue(&session, "other").await.unwrap(), None);
    }

    async fn a_cue_of_a_run_has_a_grace_of_its_own(home: &Home) {
        let (session, run) = (home.session().await, home.session_from(rehearsal_store::SessionSource::Run).await);
        let (left, waited) = (home.ask(&session).await, home.ask(&run).await);
        let abandoned = home.store.abandon_cues(NOW + 50, NOW).await.unwrap();
        assert_eq!(abandoned.iter().map(|cue| &cue.id).collect::<Vec<_>>(), [&left]);
        let abandoned = home.store.abandon_cues(NOW + 50, NOW + 50).await.unwrap();
        assert_eq!(abandoned.iter().map(|cue| &cue.id).collect::<Vec<_>>(), [&waited]);
    }
}
