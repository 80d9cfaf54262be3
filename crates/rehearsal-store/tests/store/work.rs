//! Hosts, their work, and uploads.

use std::collections::BTreeSet;

use bytes::Bytes;
use futures::future::join_all;
use rehearsal_store::{AgentRecord, Host, NewWork, StoreError, WorkKind, WorkOutcome, Write};
use serde_json::json;

use crate::support::*;

async fn give(home: &Home, host: &str, count: usize) -> Vec<String> {
    let session = home.session().await;
    let ids: Vec<String> = (0..count).map(|_| id()).collect();
    let mut write = Write::new(session, NOW, 0);
    let work = |id: &String| NewWork {
        id: id.clone(),
        host: host.to_owned(),
        kind: WorkKind::Run,
        payload: json!({"agent": "a"}),
    };
    write.work = ids.iter().map(work).collect();
    home.store.write(write).await.unwrap();
    ids
}

behaviours! {
    async fn a_host_is_kept_with_its_agents(home: &Home) {
        let about = json!({"description": "d", "tools": []}).as_object().unwrap().clone();
        let mut host = Host {
            id: id(),
            name: "laptop".to_owned(),
            agents: vec![AgentRecord { name: "triage".to_owned(), about }],
            seen_at: NOW,
        };
        home.store.put_host(&host).await.unwrap();
        (host.name, host.seen_at) = ("desk".to_owned(), NOW + 1);
        home.store.put_host(&host).await.unwrap();
        assert_eq!(home.store.hosts().await.unwrap(), [host.clone()]);
        let work = give(home, &host.id, 1).await;
        home.store.delete_host(&host.id).await.unwrap();
        assert_eq!(home.store.hosts().await.unwrap(), []);
        let outcome = home.store.work(&work[0]).await.unwrap().unwrap().outcome;
        assert!(matches!(&outcome, Some(WorkOutcome::Failed(why)) if why.contains("went away")), "{outcome:?}");
        assert_eq!(home.store.take_work(&host.id, NOW).await.unwrap(), None);
        assert!(matches!(home.store.delete_host(&host.id).await, Err(StoreError::NotFound { what: "host", .. })));
    }

    async fn work_is_taken_in_the_order_it_was_given(home: &Home) {
        let given = give(home, "h", 3).await;
        give(home, "other", 1).await;
        for id in &given {
            let work = home.store.take_work("h", NOW).await.unwrap().unwrap();
            assert_eq!((&work.id, work.taken, &work.payload), (id, true, &json!({"agent": "a"})));
        }
        assert_eq!(home.store.take_work("h", NOW).await.unwrap(), None);
    }

    async fn each_piece_of_work_is_taken_once(home: &Home) {
        let given: BTreeSet<String> = give(home, "h", 40).await.into_iter().collect();
        let takers = (0..8).map(|_| {
            let store = home.store.clone();
            tokio::spawn(async move {
                let mut taken = Vec::new();
                while let Some(work) = store.take_work("h", NOW).await.unwrap() {
                    taken.push(work.id);
                }
                taken
            })
        });
        let taken: Vec<String> = join_all(takers).await.into_iter().flat_map(Result::unwrap).collect();
        assert_eq!(taken.len(), 40);
        // A taker may be turned away while another has the last pieces locked, never given one twice.
        assert_eq!(taken.into_iter().collect::<BTreeSet<_>>(), given);
    }

    async fn work_is_finished_once(home: &Home) {
        let given = give(home, "h", 1).await;
        let done = WorkOutcome::Done(json!({"path": "x"}));
        home.store.finish_work(&given[0], done.clone()).await.unwrap();
        home.store.finish_work(&given[0], done.clone()).await.unwrap();
        let other = home.store.finish_work(&given[0], WorkOutcome::Failed("no".to_owned())).await;
        assert_refused(other, "another outcome already");
        assert_eq!(home.store.work(&given[0]).await.unwrap().unwrap().outcome, Some(done.clone()));
        let error = home.store.finish_work("none", done).await.unwrap_err();
        assert!(matches!(error, StoreError::NotFound { .. }), "{error:?}");
    }

    async fn an_upload_is_made_of_chunks_that_follow_each_other(home: &Home) {
        let put = |offset, bytes: &'static [u8]| home.store.put_chunk("u", offset, Bytes::from_static(bytes), NOW);
        assert_eq!(home.store.upload("u").await.unwrap(), None);
        assert_refused(put(3, b"x").await, "begins at 0, not at 3");
        assert_eq!(home.store.upload("u").await.unwrap(), None);
        put(0, b"").await.unwrap();
        assert_eq!(home.store.upload("u").await.unwrap(), Some(Vec::new()));
        put(0, b"abc").await.unwrap();
        put(0, b"abc").await.unwrap();
        put(3, b"\x00\xff").await.unwrap();
        assert_refused(put(0, b"abd").await, "other bytes at 0");
        assert_refused(put(1, b"bc").await, "begins at 5, not at 1");
        assert_refused(put(9, b"x").await, "begins at 5, not at 9");
        assert_eq!(home.store.upload("u").await.unwrap(), Some(b"abc\x00\xff".to_vec()));
        home.store.delete_upload("u").await.unwrap();
        home.store.delete_upload("u").await.unwrap();
        assert_eq!(home.store.upload("u").await.unwrap(), None);
    }

    async fn an_upload_has_bounds(home: &Home) {
        let chunk = Bytes::from(vec![7; 4 << 20]);
        let larger = Bytes::from(vec![7; (4 << 20) + 1]);
        assert_refused(home.store.put_chunk("u", 0, larger, NOW).await, "at most 4194304 bytes");
        for number in 0..64 {
            home.store.put_chunk("u", number << 22, chunk.clone(), NOW).await.unwrap();
        }
        let more = home.store.put_chunk("u", 256 << 20, Bytes::from_static(b"x"), NOW).await;
        assert_refused(more, "more than 268435456 bytes");
        assert_eq!(home.store.upload("u").await.unwrap().unwrap().len(), 256 << 20);
    }

    async fn a_host_that_is_seen_keeps_what_it_said(home: &Home) {
        let about = json!({"tools": []}).as_object().unwrap().clone();
        let agents = vec![AgentRecord { name: "triage".to_owned(), about }];
        let host = Host { id: id(), name: "laptop".to_owned(), agents, seen_at: NOW };
        assert!(!home.store.touch_host(&host.id, NOW).await.unwrap());
        home.store.put_host(&host).await.unwrap();
        assert!(home.store.touch_host(&host.id, NOW + 5).await.unwrap());
        assert_eq!(home.store.hosts().await.unwrap(), [Host { seen_at: NOW + 5, ..host }]);
    }

    async fn a_run_whose_reply_got_lost_is_given_again(home: &Home) {
        let given = give(home, "h", 1).await;
        let take = async |later: i64| home.store.take_work("h", NOW + later).await.unwrap().map(|work| work.id);
        assert_eq!(take(0).await.as_ref(), Some(&given[0]));
        assert_eq!(take(10_000).await, None);
        assert_eq!(take(20_000).await.as_ref(), Some(&given[0]));
        // It was given just now; nobody else gets it.
        assert_eq!(take(21_000).await, None);
        assert_eq!(home.store.take_work("other", NOW + 60_000).await.unwrap(), None);
        // What nobody has taken comes first.
        let newer = give(home, "h", 1).await;
        assert_eq!(take(60_000).await.as_ref(), Some(&newer[0]));
        assert_eq!(take(60_001).await.as_ref(), Some(&given[0]));
        home.store.finish_work(&given[0], WorkOutcome::Done(json!({}))).await.unwrap();
        home.store.finish_work(&newer[0], WorkOutcome::Failed("no".to_owned())).await.unwrap();
        assert_eq!(take(120_000).await, None);
    }

    async fn a_run_that_has_begun_is_given_once(home: &Home) {
        let given = give(home, "h", 1).await;
        let work = home.store.take_work("h", NOW).await.unwrap().unwrap();
        home.append(&work.session, request(), Some(&id())).await.unwrap();
        assert_eq!(home.store.take_work("h", NOW + 60_000).await.unwrap(), None);
        assert_eq!(home.store.open_runs("h").await.unwrap()[0].id, given[0]);
        home.store.finish_work(&given[0], WorkOutcome::Done(json!({}))).await.unwrap();
        assert_eq!(home.store.open_runs("h").await.unwrap(), []);
    }

    async fn uploads_nobody_used_go(home: &Home) {
        home.store.put_chunk("old", 0, Bytes::from_static(b"x"), NOW).await.unwrap();
        home.store.put_chunk("new", 0, Bytes::from_static(b"x"), NOW + 1).await.unwrap();
        assert_eq!(home.store.delete_uploads(NOW + 1).await.unwrap(), 1);
        assert_eq!(home.store.upload("old").await.unwrap(), None);
        assert!(home.store.upload("new").await.unwrap().is_some());
    }
}
