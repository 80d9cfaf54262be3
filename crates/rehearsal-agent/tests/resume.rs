//! Stopping anywhere and going on from the ledger gives the same session.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::process::Command;
use std::sync::{Arc, Mutex};

use crate::support::*;
use async_trait::async_trait;
use rehearsal_agent::*;
use rehearsal_core::*;

/// Runs a play, putting the ledger into a file and taking it out again at every yield.
async fn suspended(play: &Play) -> Ledger {
    let mut file = session(&play.agent).into_ledger().to_jsonl();
    let mut inputs = play.inputs.clone().into_iter();
    loop {
        let mut session = Session::resume(Ledger::from_jsonl(&file).unwrap(), around());
        give(&mut session, &mut inputs);
        let flow = run(&play.agent, &mut session, &DirectPort).await.unwrap();
        file = session.into_ledger().to_jsonl();
        if let Flow::Done(_) = flow {
            return Ledger::from_jsonl(&file).unwrap();
        }
    }
}

#[tokio::test]
async fn resuming_at_every_yield_is_running_straight_through() {
    for play in plays() {
        let expected = straight(&play).await.to_jsonl();
        assert_eq!(suspended(&play).await.to_jsonl(), expected, "{}", play.name);
    }
}

/// Cuts a session off after every one of its events, as a crash would, and lets it go on.
#[tokio::test]
async fn going_on_from_any_event_gives_the_same_session() {
    for play in plays() {
        let whole = straight(&play).await;
        for cut in 1..=whole.events().len() {
            let before = whole.prefix(cut);
            let mut inputs = play.inputs.clone().into_iter().skip(given(&before));
            let mut session = Session::resume(before, around());
            // What comes from outside is given again only where it was lost.
            if given(session.ledger()) == 0 {
                give(&mut session, &mut inputs);
            }
            while let Flow::Waiting(_) = run(&play.agent, &mut session, &DirectPort).await.unwrap() {
                give_rest(&mut session, &mut inputs);
            }
            let went_on = session.into_ledger().to_jsonl();
            assert_eq!(went_on, whole.to_jsonl(), "{}: cut after event {cut}", play.name);
        }
    }
}

/// How many inputs are on a ledger.
fn given(ledger: &Ledger) -> usize {
    let from_outside = |event: &&Arc<Event>| match &event.body {
        EventBody::UserMessage { .. } => {
            event.invocation.as_ref().is_none_or(|path| path.enclosure().is_empty())
        }
        EventBody::ToolResult(_) => event.decision.is_none(),
        _ => false,
    };
    ledger.events().iter().filter(from_outside).count()
}

/// Gives what is still missing: a crash may have come between two answers to one yield.
fn give_rest(session: &mut Session, inputs: &mut impl Iterator<Item = Input>) {
    let open: Vec<CallId> = match session.ledger().open_yield() {
        Some(Yield::Tools { calls }) => calls.iter().map(|pending| pending.call.clone()).collect(),
        _ => return give(session, inputs),
    };
    for call in open {
        if session.ledger().call(&call).unwrap().answer.is_none() {
            let Some(Input::Answer(value)) = inputs.next() else { panic!("an answer is missing") };
            session.answer(&call, ToolOutcome::Output(value), vec![], None).unwrap();
        }
    }
}

/// The same test binary is started a second time as the other process.
#[tokio::test]
async fn another_process_goes_on_from_the_file() {
    const FILE: &str = "REHEARSAL_TEST_LEDGER";
    let play =
        plays().into_iter().find(|play| play.name.starts_with("a conversation with two yields")).unwrap();
    let mut inputs = play.inputs.clone().into_iter();
    if let Ok(file) = std::env::var(FILE) {
        let text = std::fs::read_to_string(&file).unwrap();
        let mut session = Session::resume(Ledger::from_jsonl(&text).unwrap(), around());
        let mut inputs = inputs.skip(given(session.ledger()));
        loop {
            give(&mut session, &mut inputs);
            if let Flow::Done(_) = run(&play.agent, &mut session, &DirectPort).await.unwrap() {
                break;
            }
        }
        std::fs::write(&file, session.into_ledger().to_jsonl()).unwrap();
        return;
    }
    let expected = straight(&play).await.to_jsonl();
    let mut session = session(&play.agent);
    give(&mut session, &mut inputs);
    run(&play.agent, &mut session, &DirectPort).await.unwrap();
    let file = std::env::temp_dir().join(format!("rehearsal-resume-{}.jsonl", std::process::id()));
    std::fs::write(&file, session.into_ledger().to_jsonl()).unwrap();
    let other = Command::new(std::env::current_exe().unwrap())
        .args(["resume::another_process_goes_on_from_the_file", "--exact"])
        .env(FILE, &file)
        .output()
        .unwrap();
    let went_on = std::fs::read_to_string(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    assert!(other.status.success(), "{}", String::from_utf8_lossy(&other.stdout));
    assert_eq!(went_on, expected);
}

#[derive(Debug, Default)]
struct MemoryJournal {
    kept: Mutex<Vec<Arc<Event>>>,
    room: usize,
}

#[async_trait]
impl Journal for MemoryJournal {
    async fn keep(&self, events: &[Arc<Event>]) -> std::io::Result<()> {
        let mut kept = self.kept.lock().unwrap();
        if kept.len() + events.len() > self.room {
            return Err(std::io::Error::other("no space left"));
        }
        kept.extend(events.iter().cloned());
        Ok(())
    }
}

#[tokio::test]
async fn every_event_is_kept_once_and_in_order() {
    for play in plays() {
        let journal = Arc::new(MemoryJournal { room: usize::MAX, ..MemoryJournal::default() });
        let around = Surroundings { journal: Some(journal.clone()), ..(*around()).clone() };
        let mut session = Session::new(play.agent.name(), State::default(), Arc::new(around)).unwrap();
        let mut inputs = play.inputs.clone().into_iter();
        give(&mut session, &mut inputs);
        while let Flow::Waiting(_) = run(&play.agent, &mut session, &DirectPort).await.unwrap() {
            give(&mut session, &mut inputs);
        }
        assert_eq!(*journal.kept.lock().unwrap(), session.ledger().events(), "{}", play.name);
    }
}

#[tokio::test]
async fn half_an_answer_is_kept_too() {
    let play =
        plays().into_iter().find(|play| play.name.starts_with("a conversation with two yields")).unwrap();
    let journal = Arc::new(MemoryJournal { room: usize::MAX, ..MemoryJournal::default() });
    let around = Surroundings { journal: Some(journal.clone()), ..(*around()).clone() };
    let mut session = Session::new(play.agent.name(), State::default(), Arc::new(around)).unwrap();
    for says in ["hi", "well"] {
        session.say(Content::user(says), None).unwrap();
        run(&play.agent, &mut session, &DirectPort).await.unwrap();
    }
    let call = session.ledger().calls().next().unwrap().call.clone();
    session.answer(&call, ToolOutcome::Output(serde_json::json!("one")), vec![], None).unwrap();
    let Flow::Waiting(Yield::Tools { calls }) = run(&play.agent, &mut session, &DirectPort).await.unwrap()
    else {
        panic!("it should wait for the other answer");
    };
    assert_eq!(calls.len(), 1);
    assert_eq!(*journal.kept.lock().unwrap(), session.ledger().events());
}

#[tokio::test]
async fn a_full_journal_stops_the_session_before_anything_is_done() {
    let play = plays().into_iter().next().unwrap();
    let journal = Arc::new(MemoryJournal { room: 3, ..MemoryJournal::default() });
    let around = Surroundings { journal: Some(journal.clone()), ..(*around()).clone() };
    let mut session = Session::new(play.agent.name(), State::default(), Arc::new(around)).unwrap();
    give(&mut session, &mut play.inputs.clone().into_iter());
    let error = run(&play.agent, &mut session, &DirectPort).await.unwrap_err();
    assert_eq!(error.kind(), "journal");
    let asked =
        session.ledger().events().iter().any(|event| matches!(event.body, EventBody::ModelResponse(_)));
    assert!(!asked, "the model must not be asked while its request is not kept");
}
