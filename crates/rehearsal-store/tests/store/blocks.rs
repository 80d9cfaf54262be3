//! Cases that nobody plays along with: drafts while they go on, blocks when they have ended. Readers see one form.

use rehearsal_core::{Event, SessionId, SessionPart};
use rehearsal_store::{
    Block, CueChange, CueId, CueStatus, Draft, EndedCase, FreeNumbers, GcPolicy, LastSeen, RunAbout, RunLife,
    RunRecord, RunStatus, SessionHead, SessionLines, SessionQuery, SessionSource, SessionStatus, StoreError,
    read_ledger, session_id,
};
use serde_json::json;

use crate::support::{
    Home, NOW, append, assert_refused, create, ended, event, final_response, id, note, request, response,
    said, started,
};

/// A run that goes on, by its id.
async fn run(home: &Home) -> String {
    let run = id();
    home.store.put_run(&record(&run, RunStatus::Running)).await.unwrap();
    run
}

fn record(run: &str, status: RunStatus) -> RunRecord {
    RunRecord {
        id: run.to_owned(),
        started_at: NOW,
        ended_at: (status != RunStatus::Running).then_some(NOW + 9),
        title: "t".to_owned(),
        status,
        about: RunAbout::default(),
        result: (status != RunStatus::Running).then(|| json!({"summary": {"total": 2}, "results": []})),
        life: RunLife::default(),
    }
}

fn head(part: SessionPart, number: u32, events: usize) -> SessionHead {
    SessionHead {
        part,
        created_at: NOW + i64::from(number),
        updated_at: NOW + 100,
        status: SessionStatus::Completed,
        agent: Some("clerk".to_owned()),
        description: Some(format!("Case {number}")),
        failure: None,
        events: events as u64,
    }
}

fn ledger(words: &str) -> Vec<Event> {
    let bodies = [started(), said(words), request(), response(), final_response(), ended()];
    let events = bodies.into_iter().zip(1..).map(|(body, seq)| {
        let mut event = (*event(seq, body).event).clone();
        event.turn = matches!(seq, 3 | 4).then(|| "turn-1".into());
        event
    });
    events.collect()
}

fn lines(events: &[Event]) -> Vec<u8> {
    let lines = events.iter().map(|event| rehearsal_core::json::to_string(event).unwrap() + "\n");
    lines.collect::<String>().into_bytes()
}

fn case(number: u32) -> EndedCase {
    let session = |part, words: &str| {
        let events = ledger(words);
        SessionLines { head: head(part, number, events.len()), lines: lines(&events) }
    };
    EndedCase {
        number,
        place: u64::from(9 - number),
        repeat: 0,
        result: json!({"name": format!("Case {number}")}).to_string(),
        sessions: vec![
            session(SessionPart::Main, &format!("hi {number}")),
            session(SessionPart::Judge, "was it?"),
        ],
    }
}

async fn listed(home: &Home, query: SessionQuery) -> Vec<SessionId> {
    let (mut query, mut ids) = (SessionQuery { limit: 3, ..query }, Vec::new());
    loop {
        let page = home.store.sessions(&query).await.unwrap();
        ids.extend(page.items.into_iter().map(|session| session.id));
        query.page_token = page.next;
        if query.page_token.is_none() {
            return ids;
        }
    }
}

behaviours! {
    async fn a_ledger_in_a_block_reads_as_any_other(home: &Home) {
        let run = run(home).await;
        let block = Block { number: 0, cases: (0..5).map(case).collect() };
        home.store.put_block(&run, &block).await.unwrap();
        // Kept again, because the word of it got lost.
        home.store.put_block(&run, &block).await.unwrap();

        let store = home.again().await;
        let main = session_id(&run, 3, SessionPart::Main).unwrap();
        let session = store.session(&main).await.unwrap().unwrap();
        assert_eq!((session.last_seq, session.status, session.source, session.run.as_deref()),
            (6, SessionStatus::Completed, SessionSource::Run, Some(&*run)));
        assert_eq!(session.description.as_deref(), Some("Case 3"));
        let events = ledger("hi 3");
        let kept = store.events(&main, 0, 100).await.unwrap();
        assert!(kept.iter().map(|kept| &*kept.event).eq(&events));
        assert_eq!(store.glance(&main, 0, 100).await.unwrap(), kept);
        assert_eq!(store.events(&main, 2, 2).await.unwrap(), kept[2..4]);
        assert_eq!(store.events(&main, 6, 2).await.unwrap(), []);
        assert_eq!(read_ledger(&*store, &main).await.unwrap().events().len(), 6);
        let (event_id, line) = store.line(&main, 2).await.unwrap().unwrap();
        assert_eq!((&event_id, line.into_bytes()), (&kept[1].event_id, lines(&events[1..2]).strip_suffix(b"\n").unwrap().to_vec()));
        assert_eq!(store.event(&main, &event_id).await.unwrap().as_ref(), Some(&kept[1]));
        assert_eq!(store.event(&main, &id()).await.unwrap(), None);
        let turn = "turn-1".into();
        assert_eq!(store.turn(&main, &turn).await.unwrap(), (Some(kept[2].clone()), Some(kept[3].clone())));
        assert_eq!(store.answer(&main, &turn).await.unwrap(), (true, Some(kept[3].clone())));
        assert_eq!(store.answer(&main, &"other".into()).await.unwrap(), (false, None));
        let judge = session_id(&run, 3, SessionPart::Judge).unwrap();
        assert_eq!(*store.events(&judge, 1, 1).await.unwrap()[0].event, ledger("was it?")[1]);
        for none in [session_id(&run, 3, SessionPart::User).unwrap(), session_id(&run, 7, SessionPart::Main).unwrap()] {
            assert_eq!(store.session(&none).await.unwrap(), None);
            assert_eq!(store.events(&none, 0, 9).await.unwrap(), []);
        }
        assert_refused(store.write(append(&main, 6, note(), None)).await, "nobody plays along");
    }

    async fn blocks_and_runs_are_read_as_they_were_kept(home: &Home) {
        let run = run(home).await;
        for (number, cases) in [(0, 0..3), (4, 3..4)] {
            let block = Block { number, cases: cases.map(case).collect() };
            home.store.put_block(&run, &block).await.unwrap();
        }
        home.store.put_run(&record(&run, RunStatus::Passed)).await.unwrap();
        let first = home.store.block(&run, None).await.unwrap().unwrap();
        assert_eq!((first.number, &first.cases[..]), (0, &(0..3).map(case).collect::<Vec<_>>()[..]));
        let second = home.store.block(&run, Some(0)).await.unwrap().unwrap();
        assert_eq!((second.number, &second.cases[..]), (4, &[case(3)][..]));
        assert!(home.store.block(&run, Some(4)).await.unwrap().is_none());
        assert!(home.store.block(&id(), None).await.unwrap().is_none());
        // Without its cases a run is what was put.
        assert_eq!(home.store.run_frame(&run).await.unwrap(), Some(record(&run, RunStatus::Passed)));
        assert_ne!(home.store.run(&run).await.unwrap(), Some(record(&run, RunStatus::Passed)));
        assert_eq!(home.store.run_frame(&id()).await.unwrap(), None);
    }

    async fn sessions_are_listed_whatever_their_form(home: &Home) {
        let run = run(home).await;
        let api = home.session().await;
        for number in 0..3 {
            let cases = (number * 3..number * 3 + 3).map(case).collect();
            home.store.put_block(&run, &Block { number: number.into(), cases }).await.unwrap();
        }
        let all = listed(home, SessionQuery::default()).await;
        let made = |id: &SessionId| {
            (0..9).find(|n| [SessionPart::Main, SessionPart::Judge].iter().any(|part| session_id(&run, *n, *part).unwrap() == *id))
        };
        assert_eq!(all.len(), 19);
        assert!(all.is_sorted_by_key(|id| std::cmp::Reverse(made(id).unwrap_or(0))), "{all:?}");
        let mut backwards = listed(home, SessionQuery { oldest_first: true, ..SessionQuery::default() }).await;
        backwards.reverse();
        assert_eq!(backwards, all);
        let of_run = SessionQuery { run: Some(run.clone()), ..SessionQuery::default() };
        assert_eq!(listed(home, of_run.clone()).await.len(), 18);
        let found = |text: &str| SessionQuery { search: Some(text.to_owned()), ..of_run.clone() };
        assert_eq!(listed(home, found("cAsE 4")).await.len(), 2);
        let main = session_id(&run, 4, SessionPart::Main).unwrap();
        assert_eq!(listed(home, found(&main.as_str()[..8])).await, [main]);
        let active = SessionQuery { statuses: vec![SessionStatus::Active], ..SessionQuery::default() };
        assert_eq!(listed(home, active).await, std::slice::from_ref(&api));
        let source = SessionQuery { source: Some(SessionSource::Api), ..SessionQuery::default() };
        assert_eq!(listed(home, source).await, [api]);
        let agent = SessionQuery { agent: Some("cook".to_owned()), ..SessionQuery::default() };
        assert_eq!(listed(home, agent).await, []);
    }

    async fn what_a_case_did_is_there_while_it_goes_on(home: &Home) {
        let run = run(home).await;
        let (events, main) = (ledger("hi 0"), session_id(&run, 0, SessionPart::Main).unwrap());
        for (since, until) in [(0, 2), (2, 5)] {
            let head = SessionHead { status: SessionStatus::Active, ..head(SessionPart::Main, 0, until) };
            let draft = Draft { case: 0, since: since as u64, head, lines: lines(&events[since..until]) };
            home.store.put_drafts(&run, std::slice::from_ref(&draft), &[]).await.unwrap();
            home.store.put_drafts(&run, &[draft], &[]).await.unwrap();
            let session = home.store.session(&main).await.unwrap().unwrap();
            assert_eq!((session.last_seq, session.status), (until as u64, SessionStatus::Active));
            let kept = home.store.events(&main, 0, 9).await.unwrap();
            assert!(kept.iter().map(|kept| &*kept.event).eq(&events[..until]));
        }
        assert_eq!(listed(home, SessionQuery::default()).await, std::slice::from_ref(&main));
        // Its process has gone without a word.
        home.store.interrupt_runs(NOW + 1, NOW + 1).await.unwrap();
        assert_eq!(home.store.session(&main).await.unwrap().unwrap().status, SessionStatus::Cancelled);
        home.store.put_block(&run, &Block { number: 0, cases: vec![case(0)] }).await.unwrap();
        assert_eq!(home.store.session(&main).await.unwrap().unwrap().last_seq, 6);
        assert_eq!(listed(home, SessionQuery::default()).await.len(), 2);
        let draft = Draft { case: 1, since: 0, head: head(SessionPart::Main, 1, 2), lines: lines(&events[..2]) };
        home.store.put_drafts(&run, &[draft], &[]).await.unwrap();
        assert_eq!(listed(home, SessionQuery::default()).await.len(), 3);
        home.store.remove_drafts(&run).await.unwrap();
        assert_eq!(listed(home, SessionQuery::default()).await.len(), 2);
    }

    async fn the_result_of_a_run_has_its_cases_in_the_order_of_the_suite(home: &Home) {
        let run = run(home).await;
        home.store.put_block(&run, &Block { number: 0, cases: vec![case(0), case(4)] }).await.unwrap();
        home.store.put_block(&run, &Block { number: 1, cases: vec![case(2)] }).await.unwrap();
        assert_eq!(home.store.run(&run).await.unwrap().unwrap().result, None);
        home.store.put_run(&record(&run, RunStatus::Passed)).await.unwrap();
        let result = home.store.run(&run).await.unwrap().unwrap().result.unwrap();
        let name = |number: u32| json!({"name": format!("Case {number}")});
        assert_eq!(result["results"], json!([name(4), name(2), name(0)]));
        let all = home.store.case_results(&run, None, 9).await.unwrap();
        let seen: Vec<_> = all.iter().map(|case| (case.block, case.number, case.place)).collect();
        assert_eq!(seen, [(0, 0, 9), (0, 4, 5), (1, 2, 7)]);
        assert_eq!(home.store.case_results(&run, Some(0), 9).await.unwrap(), all[2..]);
        assert_eq!(home.store.case_results(&run, None, 1).await.unwrap(), all[..2]);
    }

    async fn what_cases_have_in_common_is_kept_once(home: &Home) {
        let instructions = "You are a careful clerk. ".repeat(400);
        let common = |number: u32| {
            let mut case = case(number);
            case.sessions[0].lines = lines(&ledger(&format!("{instructions}, says {number}")));
            case.sessions[0].lines.extend(lines(&ledger(&instructions)));
            case
        };
        let (one, other) = (run(home).await, run(home).await);
        home.store.put_block(&one, &Block { number: 0, cases: vec![common(0), common(1)] }).await.unwrap();
        home.store.put_block(&one, &Block { number: 1, cases: vec![common(2), common(3)] }).await.unwrap();
        home.store.put_block(&other, &Block { number: 0, cases: vec![common(0), common(1)] }).await.unwrap();
        home.raw("CREATE TABLE seen (one INTEGER PRIMARY KEY)").unwrap();
        home.raw("INSERT INTO seen SELECT 1 FROM contents").expect("there is one, and it is there once");
        assert!(home.raw("INSERT INTO seen SELECT 1 FROM contents").is_err(), "there is one");
        assert!(home.raw("DELETE FROM contents").is_err(), "blocks refer to it");

        let store = home.again().await;
        for (run, case) in [(&one, 0), (&one, 3), (&other, 1)] {
            let main = session_id(run, case, SessionPart::Main).unwrap();
            let (_, line) = store.line(&main, 2).await.unwrap().unwrap();
            let said = lines(&ledger(&format!("{instructions}, says {case}"))[1..2]);
            assert_eq!(line.into_bytes(), said.strip_suffix(b"\n").unwrap());
        }
        // Kept again, without what it had in common.
        store.put_block(&one, &Block { number: 1, cases: vec![case(2), case(3)] }).await.unwrap();
        let first = session_id(&one, 0, SessionPart::Main).unwrap();
        store.delete_session(&first).await.unwrap();
        let second = session_id(&one, 1, SessionPart::Main).unwrap();
        assert_eq!(*store.events(&second, 1, 1).await.unwrap()[0].event, ledger(&format!("{instructions}, says 1"))[1]);
        let all = GcPolicy { before: Some(NOW + 10), ..GcPolicy::default() };
        store.put_run(&record(&one, RunStatus::Passed)).await.unwrap();
        assert_eq!(store.gc(all).await.unwrap().0, 1);
        assert!(home.raw("INSERT INTO seen SELECT 1 FROM contents").is_err(), "the other run refers to it");
        store.put_run(&record(&other, RunStatus::Passed)).await.unwrap();
        assert_eq!(store.gc(all).await.unwrap().0, 1);
        home.raw("INSERT INTO seen SELECT 1 FROM contents").expect("there is none any more");
    }

    async fn what_is_in_blocks_is_removed_like_anything_else(home: &Home) {
        let run = run(home).await;
        home.store.put_block(&run, &Block { number: 0, cases: (0..3).map(case).collect() }).await.unwrap();
        let [first, second] = [0, 1].map(|case| session_id(&run, case, SessionPart::Main).unwrap());
        home.store.delete_session(&first).await.unwrap();
        let gone = home.store.delete_session(&first).await;
        assert!(matches!(gone, Err(StoreError::NotFound { .. })), "{gone:?}");
        assert_eq!(home.store.session(&first).await.unwrap(), None);
        assert_eq!(*home.store.events(&second, 1, 1).await.unwrap()[0].event, ledger("hi 1")[1]);
        assert_eq!(home.store.case_results(&run, None, 9).await.unwrap().len(), 3);
        home.store.put_run(&record(&run, RunStatus::Passed)).await.unwrap();
        let old = GcPolicy { before: Some(NOW + 10), ..GcPolicy::default() };
        assert_eq!(home.store.gc(GcPolicy { dry_run: true, ..old }).await.unwrap(), (1, 5));
        assert_eq!(home.store.gc(old).await.unwrap(), (1, 5));
        assert_eq!(home.store.session(&second).await.unwrap(), None);
        assert_eq!(listed(home, SessionQuery::default()).await, []);
    }

    async fn a_run_is_taken_over_once_and_what_was_open_is_closed(home: &Home) {
        let run = run(home).await;
        home.store.put_block(&run, &Block { number: 4, cases: (0..5).map(case).collect() }).await.unwrap();
        let draft = Draft { case: 7, since: 0, head: head(SessionPart::Main, 7, 2), lines: lines(&ledger("a")[..2]) };
        home.store.put_drafts(&run, &[draft], &[]).await.unwrap();
        let (played, cue) = (session_id(&run, 9, SessionPart::Main).unwrap(), CueId::new(id()));
        let mut write = create(&played, SessionSource::Run);
        write.create.as_mut().unwrap().run = Some(run.clone());
        write.cues.push(CueChange::Open(crate::support::cue(&cue)));
        home.store.write(write).await.unwrap();

        let seen = home.store.last_seen(&run).await.unwrap().unwrap();
        assert_eq!(seen, LastSeen { status: RunStatus::Running, seen_at: NOW });
        let about = RunAbout { name: Some("goes on".to_owned()), ..RunAbout::default() };
        let taken = home.store.take_run(&run, seen, &about, NOW + 5).await.unwrap();
        assert_eq!(taken, Some(FreeNumbers { case: 10, block: 5 }));
        assert_eq!(home.again().await.take_run(&run, seen, &about, NOW + 5).await.unwrap(), None);
        let now = home.store.run(&run).await.unwrap().unwrap();
        assert_eq!((now.status, now.ended_at, now.about), (RunStatus::Running, None, about));
        assert_eq!(home.store.last_seen(&run).await.unwrap().unwrap().seen_at, NOW + 5);
        let draft = session_id(&run, 7, SessionPart::Main).unwrap();
        assert_eq!(home.store.session(&draft).await.unwrap(), None);
        assert_eq!(home.store.session(&played).await.unwrap().unwrap().status, SessionStatus::Cancelled);
        assert_eq!(home.store.cue(&cue).await.unwrap().unwrap().status, CueStatus::Dismissed);
        assert_eq!(home.store.last_seen(&id()).await.unwrap(), None);
    }

    async fn cases_that_are_run_again_leave_their_block(home: &Home) {
        let run = run(home).await;
        home.store.put_block(&run, &Block { number: 0, cases: (0..3).map(case).collect() }).await.unwrap();
        home.store.drop_cases(&run, 0, &[1]).await.unwrap();
        let left = home.store.case_results(&run, None, 9).await.unwrap();
        assert_eq!(left.iter().map(|case| case.number).collect::<Vec<_>>(), [0, 2]);
        let [first, second, third] = [0, 1, 2].map(|case| session_id(&run, case, SessionPart::Main).unwrap());
        for (session, words) in [(first, "hi 0"), (third, "hi 2")] {
            let kept = home.store.events(&session, 0, 9).await.unwrap();
            assert!(kept.iter().map(|kept| &*kept.event).eq(&ledger(words)));
        }
        assert_eq!(home.store.session(&second).await.unwrap(), None);
        home.store.drop_cases(&run, 0, &[0, 2]).await.unwrap();
        home.store.drop_cases(&run, 0, &[0, 2]).await.unwrap();
        assert_eq!(home.store.case_results(&run, None, 9).await.unwrap(), []);
    }
}
