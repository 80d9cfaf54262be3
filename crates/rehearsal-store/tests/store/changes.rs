//! Being told.

use std::time::Duration;

use rehearsal_core::SessionId;
use rehearsal_store::{Change, NewWork, WorkKind, Write};
use serde_json::json;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

use crate::support::*;

/// Far longer than it can take: a test that waits so long has failed.
const LONG: Duration = Duration::from_secs(30);

/// Waits until a change is told that fits.
async fn told(changes: &mut Receiver<Change>, fits: impl Fn(&Change) -> bool) {
    let wait = async {
        loop {
            match changes.recv().await {
                Ok(change) if fits(&change) => return,
                Ok(_) | Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => panic!("nobody tells anything any more"),
            }
        }
    };
    tokio::time::timeout(LONG, wait).await.expect("it was not told");
}

fn of(session: &SessionId) -> impl Fn(&Change) -> bool {
    let session = session.clone();
    move |change| *change == Change::Session(session.clone())
}

behaviours! {
    async fn a_change_is_told_in_the_same_process(home: &Home) {
        let session = home.session().await;
        let mut changes = home.store.changes();
        home.append(&session, note(), None).await.unwrap();
        told(&mut changes, of(&session)).await;
        let mut write = Write::new(session.clone(), NOW, 0);
        write.work = vec![NewWork { id: id(), host: "h".to_owned(), kind: WorkKind::Run, payload: json!({}) }];
        home.store.write(write).await.unwrap();
        told(&mut changes, |change| *change == Change::Work("h".to_owned())).await;
        let cue = home.ask(&session).await;
        home.store.abandon_cues(NOW + 10, NOW + 10).await.unwrap();
        home.store.touch_cues(&[cue], NOW + 20).await.unwrap();
        for _ in 0..3 {
            told(&mut changes, of(&session)).await;
        }
        home.store.delete_session(&session).await.unwrap();
        told(&mut changes, of(&session)).await;
    }

    async fn a_change_is_told_to_another_process(home: &Home) {
        let other = home.again().await;
        let session = home.session().await;
        for _ in 0..3 {
            let mut changes = other.changes();
            let before = other.session(&session).await.unwrap().unwrap().last_seq;
            home.append(&session, note(), None).await.unwrap();
            // Told that something changed, the other looks, and it is there.
            loop {
                told(&mut changes, |change| of(&session)(change) || *change == Change::Everything).await;
                if other.session(&session).await.unwrap().unwrap().last_seq > before {
                    break;
                }
            }
        }
    }

    async fn what_two_processes_write_is_one_ledger(home: &Home) {
        let other = home.again().await;
        let session = home.session().await;
        for last in (2..20).step_by(2) {
            home.store.write(append(&session, last, note(), None)).await.unwrap();
            other.write(append(&session, last + 1, note(), None)).await.unwrap();
        }
        assert_eq!(home.store.events(&session, 0, 100).await.unwrap().len(), 20);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres_tells_again_after_its_connections_were_cut() {
    let home = Home::postgres().await;
    let other = home.again().await;
    let session = home.session().await;
    let mut changes = other.changes();
    let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
        WHERE datname = current_database() AND pid <> pg_backend_pid()";
    home.database.as_ref().unwrap().sql(cut);
    told(&mut changes, |change| *change == Change::Everything).await;
    // Reading and writing go on over new connections.
    home.append(&session, note(), None).await.unwrap();
    assert_eq!(other.session(&session).await.unwrap().unwrap().last_seq, 3);
    // And so does the telling: the session is named only by a connection that listens again.
    let listens = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
        AND query LIKE 'LISTEN%' AND pid <> pg_backend_pid()";
    while home.database.as_ref().unwrap().sql(listens) != "2" {
        told(&mut changes, |change| *change == Change::Everything).await;
    }
    home.append(&session, note(), None).await.unwrap();
    told(&mut changes, of(&session)).await;
}
