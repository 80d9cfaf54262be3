//! What is old goes, what is needed stays.

use bytes::Bytes;
use rehearsal_core::SessionId;
use rehearsal_store::{
    GcPolicy, RunAbout, RunLife, RunRecord, RunStatus, SessionSource, SessionStatus, Write, give_back,
};

use crate::support::*;

/// A session that ended so many milliseconds after [`NOW`].
async fn ended_at(home: &Home, later: i64) -> SessionId {
    let session = fresh();
    let mut write = create(&session, SessionSource::Api);
    write.create.as_mut().unwrap().created_at += later;
    home.store.write(write).await.unwrap();
    let mut write = Write::new(session.clone(), NOW + later, 0);
    write.status = Some(SessionStatus::Cancelled);
    home.store.write(write).await.unwrap();
    session
}

/// A run with one session in it.
async fn run(
    home: &Home,
    id: &str,
    later: i64,
    ended: Option<i64>,
    status: Option<SessionStatus>,
) -> SessionId {
    let run = RunRecord {
        id: id.to_owned(),
        started_at: NOW + later,
        ended_at: ended,
        title: "t".to_owned(),
        status: if ended.is_some() { RunStatus::Passed } else { RunStatus::Running },
        about: RunAbout::default(),
        result: None,
        life: RunLife::default(),
    };
    home.store.put_run(&run).await.unwrap();
    let session = fresh();
    let mut write = create(&session, SessionSource::Run);
    write.create.as_mut().unwrap().run = Some(id.to_owned());
    home.store.write(write).await.unwrap();
    let mut write = Write::new(session.clone(), NOW, 0);
    write.status = status;
    home.store.write(write).await.unwrap();
    session
}

async fn there(home: &Home, session: &SessionId) -> bool {
    home.store.session(session).await.unwrap().is_some()
}

/// Puts 8 MiB into a store and takes them out again.
async fn fill_and_empty(home: &Home) {
    for number in 0..8 {
        home.store.put_chunk(&format!("u{number}"), 0, Bytes::from(vec![7; 1 << 20]), NOW).await.unwrap();
    }
    let policy = GcPolicy { before: Some(NOW + 1), ..GcPolicy::default() };
    home.store.gc(policy).await.unwrap();
}

fn size(home: &Home) -> u64 {
    std::fs::metadata(home.place()).unwrap().len()
}

/// The store stays open, as a server has it.
#[tokio::test(flavor = "multi_thread")]
async fn a_file_becomes_smaller_while_others_use_it() {
    let home = Home::sqlite().await;
    let session = home.session().await;
    let empty = give_back(home.place()).await.map(|_| size(&home)).unwrap();
    for _ in 0..2 {
        fill_and_empty(&home).await;
        let freed = give_back(home.place()).await.unwrap();
        assert!((8 << 20..10 << 20).contains(&freed), "{freed}");
        assert!(size(&home) < empty + (1 << 20), "{} after {empty}", size(&home));
        assert!(there(&home, &session).await);
        home.session().await;
    }
    assert_eq!(give_back(home.place()).await.unwrap(), 0);
}

/// Files were not always made such that they can shrink bit by bit.
#[tokio::test(flavor = "multi_thread")]
async fn a_file_of_an_earlier_version_becomes_smaller_too() {
    let home = Home::sqlite().await;
    let session = home.session().await;
    let old = rusqlite::Connection::open(home.place()).unwrap();
    old.pragma_update(None, "auto_vacuum", 0).unwrap();
    old.execute_batch("VACUUM").unwrap();
    let mode = || old.query_row("PRAGMA auto_vacuum", [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(mode(), 0);
    fill_and_empty(&home).await;
    let freed = give_back(home.place()).await.unwrap();
    assert!((8 << 20..10 << 20).contains(&freed), "{freed}");
    assert!(size(&home) < 1 << 20, "{}", size(&home));
    assert!(there(&home, &session).await);
    drop(old);
    fill_and_empty(&home).await;
    assert!(give_back(home.place()).await.unwrap() >= 8 << 20);
}

/// Others go before the disk space does.
#[tokio::test(flavor = "multi_thread")]
async fn who_reads_an_older_state_is_not_disturbed() {
    let home = Home::sqlite().await;
    home.session().await;
    let reader = rusqlite::Connection::open(home.place()).unwrap();
    let sessions =
        || reader.query_row("SELECT COUNT(*) FROM sessions", [], |row| row.get::<_, i64>(0)).unwrap();
    reader.execute_batch("BEGIN").unwrap();
    assert_eq!(sessions(), 1);
    fill_and_empty(&home).await;
    home.session().await;
    give_back(home.place()).await.unwrap();
    assert_eq!(sessions(), 1);
    reader.execute_batch("COMMIT").unwrap();
    assert_eq!(sessions(), 2);
    give_back(home.place()).await.unwrap();
    assert!(size(&home) < 1 << 20, "{}", size(&home));
}

behaviours! {
    async fn what_ended_before_a_moment_goes(home: &Home) {
        let (old, new) = (ended_at(home, 10).await, ended_at(home, 20).await);
        let active = home.session().await;
        home.store.put_chunk("old", 0, Bytes::from_static(b"x"), NOW + 10).await.unwrap();
        home.store.put_chunk("new", 0, Bytes::from_static(b"x"), NOW + 20).await.unwrap();
        let policy = GcPolicy { before: Some(NOW + 20), ..GcPolicy::default() };
        assert_eq!(home.store.gc(GcPolicy { dry_run: true, ..policy }).await.unwrap(), (0, 1));
        assert!(there(home, &old).await);
        assert_eq!(home.store.gc(policy).await.unwrap(), (0, 1));
        assert_eq!((there(home, &old).await, there(home, &new).await, there(home, &active).await), (false, true, true));
        assert_eq!(home.store.upload("old").await.unwrap(), None);
        assert!(home.store.upload("new").await.unwrap().is_some());
    }

    async fn only_the_newest_are_kept(home: &Home) {
        let mut sessions = Vec::new();
        for later in 0..30 {
            sessions.push(ended_at(home, later).await);
        }
        let active = home.session().await;
        let policy = GcPolicy { keep: Some(2), ..GcPolicy::default() };
        assert_eq!(home.store.gc(GcPolicy { dry_run: true, ..policy }).await.unwrap(), (0, 28));
        assert_eq!(home.store.gc(policy).await.unwrap(), (0, 28));
        for (at, session) in sessions.iter().enumerate() {
            assert_eq!(there(home, session).await, at >= 28, "{at}");
        }
        assert!(there(home, &active).await);
    }

    async fn a_run_goes_with_its_sessions_unless_something_in_it_goes_on(home: &Home) {
        let cancelled = Some(SessionStatus::Cancelled);
        let old = run(home, "old", 0, Some(NOW + 1), cancelled).await;
        let running = run(home, "running", 1, None, cancelled).await;
        let waits = run(home, "waits", 2, Some(NOW + 3), None).await;
        let new = run(home, "new", 9, Some(NOW + 100), cancelled).await;
        let policy = GcPolicy { before: Some(NOW + 50), ..GcPolicy::default() };
        assert_eq!(home.store.gc(GcPolicy { dry_run: true, ..policy }).await.unwrap(), (1, 1));
        assert_eq!(home.store.gc(policy).await.unwrap(), (1, 1));
        assert!(home.store.run("old").await.unwrap().is_none());
        let left = [there(home, &old).await, there(home, &running).await, there(home, &waits).await, there(home, &new).await];
        assert_eq!(left, [false, true, true, true]);
        assert_eq!(home.store.gc(GcPolicy { keep: Some(0), ..GcPolicy::default() }).await.unwrap(), (1, 1));
        assert!(home.store.run("new").await.unwrap().is_none());
        assert!(home.store.run("waits").await.unwrap().is_some());
    }

    async fn what_never_ended_goes_when_it_is_asked_for_and_nobody_is_there(home: &Home) {
        let left = home.session().await;
        let (abandoned, asked) = (home.session().await, home.session().await);
        home.ask(&abandoned).await;
        let there_is = home.ask(&asked).await;
        home.store.touch_cues(&[there_is], NOW + 60).await.unwrap();
        assert_eq!(home.store.abandon_cues(NOW + 50, NOW + 50).await.unwrap().len(), 1);
        let run = run(home, "ended", 2, Some(NOW + 3), None).await;
        let policy = GcPolicy { before: Some(NOW + 50), ..GcPolicy::default() };
        assert_eq!(home.store.gc(policy).await.unwrap(), (0, 0));
        let policy = GcPolicy { unfinished: true, ..policy };
        assert_eq!(home.store.gc(GcPolicy { dry_run: true, ..policy }).await.unwrap(), (1, 3));
        assert_eq!(home.store.gc(policy).await.unwrap(), (1, 3));
        let stay = [there(home, &left).await, there(home, &abandoned).await, there(home, &asked).await, there(home, &run).await];
        assert_eq!(stay, [false, false, true, false]);
    }

    async fn without_a_policy_nothing_goes(home: &Home) {
        let session = ended_at(home, 0).await;
        home.store.put_chunk("u", 0, Bytes::from_static(b"x"), NOW).await.unwrap();
        assert_eq!(home.store.gc(GcPolicy::default()).await.unwrap(), (0, 0));
        assert!(there(home, &session).await);
        assert!(home.store.upload("u").await.unwrap().is_some());
    }

    async fn a_run_whose_process_is_gone_is_interrupted_and_can_go(home: &Home) {
        let gone = run(home, "gone", 0, None, None).await;
        let cue = home.ask(&gone).await;
        let alive = run(home, "alive", 0, None, None).await;
        home.store.touch_run("gone", NOW + 10).await.unwrap();
        home.store.touch_run("alive", NOW + 60).await.unwrap();
        assert_eq!(home.store.interrupt_runs(NOW + 10, NOW + 70).await.unwrap(), Vec::<String>::new());
        assert_eq!(home.store.interrupt_runs(NOW + 50, NOW + 70).await.unwrap(), ["gone"]);
        let ended = home.store.run("gone").await.unwrap().unwrap();
        assert_eq!((ended.status, ended.ended_at), (RunStatus::Interrupted, Some(NOW + 10)));
        assert_eq!(home.store.cue(&cue).await.unwrap().unwrap().status, rehearsal_store::CueStatus::Dismissed);
        assert_eq!(home.store.session(&alive).await.unwrap().unwrap().status, SessionStatus::Active);
        // One that has ended stays as it ended.
        home.store.touch_run("gone", NOW + 99).await.unwrap();
        assert_eq!(home.store.run("gone").await.unwrap().unwrap(), ended);
        assert_eq!(home.store.gc(GcPolicy { keep: Some(0), ..GcPolicy::default() }).await.unwrap(), (1, 1));
        assert!(!there(home, &gone).await && there(home, &alive).await);
    }
}
