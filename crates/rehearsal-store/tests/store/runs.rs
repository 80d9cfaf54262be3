//! Runs that go on: how far they are, and what somebody wants of them.

use rehearsal_core::{CaseResult, RunProgress, Timestamp, Verdict};
use rehearsal_store::{
    Block, Change, EndedCase, RUN_SILENT_AFTER, RunAbout, RunLife, RunQuery, RunRecord, RunStatus, RunWish,
};
use serde_json::json;

use crate::support::*;

fn running() -> RunRecord {
    RunRecord {
        id: id(),
        started_at: NOW,
        ended_at: None,
        title: "t".to_owned(),
        status: RunStatus::Running,
        about: RunAbout::default(),
        result: None,
        life: RunLife { seen_at: Some(NOW), ..RunLife::default() },
    }
}

fn ended(run: &RunRecord) -> RunRecord {
    let result = Some(json!({"summary": {"total": 1}, "results": []}));
    RunRecord { status: RunStatus::Passed, ended_at: Some(NOW + 9), result, ..run.clone() }
}

fn progress() -> RunProgress {
    let mut progress = RunProgress::new(Timestamp::UNIX_EPOCH);
    progress.planned = 2000;
    progress.running = 7;
    progress.count(&CaseResult { cost: Some(0.25), ..CaseResult::new("c", Verdict::Failed, 1) });
    progress.held = true;
    progress.left_ms = Some(5);
    progress
}

fn case(number: u32, name: &str) -> EndedCase {
    let result = json!({"name": name}).to_string();
    EndedCase { number, place: u64::from(number), repeat: 0, result, sessions: Vec::new() }
}

behaviours! {
    async fn a_run_says_how_far_it_is_while_it_goes_on(home: &Home) {
        let run = running();
        home.store.put_run(&run).await.unwrap();
        assert_eq!(home.store.put_progress(&run.id, &progress(), NOW + 5).await.unwrap(), None);
        let other = home.again().await;
        let life = RunLife { seen_at: Some(NOW + 5), progress: Some(progress()), wish: None };
        assert_eq!(other.run(&run.id).await.unwrap().unwrap().life, life);
        let listed = other.runs(&RunQuery::default()).await.unwrap().items;
        assert_eq!(listed[0].life, life);
        home.store.touch_run(&run.id, NOW + 6).await.unwrap();
        assert_eq!(other.run(&run.id).await.unwrap().unwrap().life.seen_at, Some(NOW + 6));

        // What comes late changes nothing any more.
        home.store.put_run(&ended(&run)).await.unwrap();
        let later = RunProgress { planned: 9, ..progress() };
        home.store.put_progress(&run.id, &later, NOW + 7).await.unwrap();
        assert_eq!(other.run(&run.id).await.unwrap().unwrap().life.progress, Some(progress()));
    }

    async fn what_somebody_wants_of_a_run_is_heard_by_its_process(home: &Home) {
        let run = running();
        home.store.put_run(&run).await.unwrap();
        let other = home.again().await;
        assert!(other.wish_run(&run.id, Some(RunWish::Hold)).await.unwrap());
        assert_eq!(home.store.run_wish(&run.id).await.unwrap(), Some(RunWish::Hold));
        assert!(other.wish_run(&run.id, None).await.unwrap());
        assert_eq!(home.store.put_progress(&run.id, &progress(), NOW).await.unwrap(), None);
        assert!(other.wish_run(&run.id, Some(RunWish::Stop)).await.unwrap());
        assert_eq!(home.store.put_progress(&run.id, &progress(), NOW).await.unwrap(), Some(RunWish::Stop));
        // Whoever is asked to stop may have done so already.
        assert!(!other.wish_run(&run.id, None).await.unwrap());
        assert!(!other.wish_run(&run.id, Some(RunWish::Hold)).await.unwrap());

        home.store.put_run(&ended(&run)).await.unwrap();
        assert!(!other.wish_run(&run.id, Some(RunWish::Hold)).await.unwrap());
        // A run that goes on once more does not remember it.
        home.store.put_run(&run).await.unwrap();
        assert_eq!(home.store.run_wish(&run.id).await.unwrap(), None);
        assert!(!other.wish_run(&id(), Some(RunWish::Hold)).await.unwrap());
        assert_eq!(other.run_wish(&id()).await.unwrap(), None);
    }

    async fn a_change_of_a_run_is_told(home: &Home) {
        let run = running();
        let mut changes = home.store.changes();
        let mut told = async || loop {
            if let Ok(Change::Run(id)) = changes.recv().await
                && id == run.id
            {
                return;
            }
        };
        home.store.put_run(&run).await.unwrap();
        told().await;
        home.store.put_block(&run.id, &Block { number: 0, cases: vec![case(0, "a")] }).await.unwrap();
        told().await;
        home.store.put_progress(&run.id, &progress(), NOW).await.unwrap();
        told().await;
        home.store.wish_run(&run.id, Some(RunWish::Hold)).await.unwrap();
        told().await;
    }

    async fn cases_are_read_one_by_one_and_a_run_without_them(home: &Home) {
        let run = ended(&running());
        home.store.put_run(&run).await.unwrap();
        for (number, cases) in [(0, vec![case(3, "d"), case(0, "a")]), (1, vec![case(1, "b"), case(2, "c")])] {
            home.store.put_block(&run.id, &Block { number, cases }).await.unwrap();
        }
        for (number, name) in [(0, "a"), (1, "b"), (2, "c"), (3, "d")] {
            let found = home.store.case_result(&run.id, number).await.unwrap().unwrap();
            assert_eq!((found.number, found.result), (number, json!({"name": name}).to_string()));
        }
        assert_eq!(home.store.case_result(&run.id, 4).await.unwrap(), None);
        assert_eq!(home.store.case_result(&id(), 0).await.unwrap(), None);
        let alone = home.store.run_frame(&run.id).await.unwrap().unwrap();
        assert_eq!(alone.result.unwrap()["results"], json!([]));
        let whole = home.store.run(&run.id).await.unwrap().unwrap();
        assert_eq!(whole.result.unwrap()["results"].as_array().unwrap().len(), 4);
        assert_eq!(home.store.run_frame(&id()).await.unwrap(), None);
    }
}

#[test]
fn a_process_is_silent_after_a_while() {
    let seen = |at| RunLife { seen_at: at, ..RunLife::default() };
    let long = i64::try_from(RUN_SILENT_AFTER.as_millis()).unwrap();
    assert!(!seen(Some(NOW)).is_silent(NOW + long));
    assert!(seen(Some(NOW)).is_silent(NOW + long + 1));
    // Earlier versions were seen now and then, or not at all.
    assert!(!seen(None).is_silent(NOW + long + 1));
}
