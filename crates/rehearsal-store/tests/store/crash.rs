//! A process that is killed while it writes.

use std::io::{BufRead, BufReader, Write as _};
use std::process::{Command, Stdio};

use rehearsal_core::SessionId;
use rehearsal_store::{SessionSource, open};

use crate::support::*;

/// Tells the child which file to write to.
const CHILD: &str = "REHEARSAL_TEST_STORE_CHILD";

/// Writes events without end and says of each, once it is acknowledged, which one it is.
async fn write_without_end(place: &str) {
    let store = open(place).await.unwrap();
    let writers = (0..4).map(|_| {
        let store = store.clone();
        tokio::spawn(async move {
            let session = fresh();
            store.write(create(&session, SessionSource::Run)).await.unwrap();
            for last in 0.. {
                let write = append(&session, last, note(), None);
                let id = write.events[0].event_id.clone();
                store.write(write).await.unwrap();
                let mut out = std::io::stdout().lock();
                writeln!(out, "kept {session} {id}").unwrap();
                out.flush().unwrap();
            }
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_killed_process_acknowledged_is_kept() {
    if let Ok(place) = std::env::var(CHILD) {
        return write_without_end(&place).await;
    }
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("s.db").display().to_string();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "crash::what_a_killed_process_acknowledged_is_kept", "--nocapture"])
        .env(CHILD, &place)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut kept: Vec<(SessionId, String)> = Vec::new();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let mut take = |line: &str| {
        if let Some((session, id)) = line.strip_prefix("kept ").and_then(|line| line.split_once(' ')) {
            kept.push((SessionId::from(session), id.to_owned()));
        }
    };
    lines.by_ref().take(300).for_each(|line| take(&line));
    child.kill().unwrap();
    child.wait().unwrap();
    // The last line may have been cut short by the end; a whole one has a whole id.
    lines.filter(|line| line.len() == "kept ".len() + 36 + 1 + 36).for_each(|line| take(&line));

    let store = open(&place).await.unwrap();
    assert!(kept.len() > 200, "{}", kept.len());
    for (session, id) in &kept {
        assert!(store.event(session, id).await.unwrap().is_some(), "event {id} of session {session} is lost");
    }
    // And it goes on where it was.
    let session = &kept[0].0;
    let last = store.session(session).await.unwrap().unwrap().last_seq;
    store.write(append(session, last, note(), None)).await.unwrap();
    assert_eq!(store.events(session, 0, 100_000).await.unwrap().len() as u64, last + 1);
}
